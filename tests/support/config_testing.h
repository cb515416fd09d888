/* config_testing.h - what the tests of the configuration share. */
#ifndef MYXTTS_CONFIG_TESTING_H
#define MYXTTS_CONFIG_TESTING_H

#include <string.h>

#include "config/option_table.h"

#define COUNT(a) ((int)(sizeof(a) / sizeof(a)[0]))

int load_text(Config *cfg, const char *yaml, Err *err);

/* Loads or fails the test with the error's own sentence. */
void must_load(Config *cfg, const char *yaml);
void row_of(const Config *cfg, const char *key, ConfigRow *row);
void assert_value(const Config *cfg, const char *key, const char *value, const char *origin);

/* Options in one string, separated by blanks, which it is cut up at; of a key that is given twice the last
 * one stands. Loads or fails the test. */
void load_options(Config *cfg, char *text);

#endif
