/* config_testing.h - what the tests of the configuration share. Include after cmocka.h. */
#ifndef MYXTTS_CONFIG_TESTING_H
#define MYXTTS_CONFIG_TESTING_H

#include <string.h>

#include "config/option_table.h"

#define COUNT(a) ((int)(sizeof(a) / sizeof(a)[0]))

static inline int load_text(Config *cfg, const char *yaml, Err *err)
{
    return config_load_text(cfg, "t.yaml", yaml, strlen(yaml), 0, NULL, err);
}

/* Loads or fails the test with the error's own sentence. */
static inline void must_load(Config *cfg, const char *yaml)
{
    Err err = {0};
    if (load_text(cfg, yaml, &err))
        fail_msg("%s (%s)\n%s", err.msg, err.hint, yaml);
}

static inline void row_of(const Config *cfg, const char *key, ConfigRow *row)
{
    int i = option_find(key, strlen(key));
    assert_true(i >= 0);
    config_row(cfg, i, row);
}

static inline void assert_value(const Config *cfg, const char *key, const char *value, const char *origin)
{
    ConfigRow row;
    row_of(cfg, key, &row);
    assert_string_equal(row.value, value);
    if (origin)
        assert_string_equal(row.origin, origin);
}

#endif
