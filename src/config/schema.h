/* schema.h - finds everything in a configuration file that config_load would refuse, not only the first
 * problem, and repairs the text:
 *   - a misspelled word becomes the nearest known one;
 *   - a value that cannot be used becomes the default;
 *   - a line that cannot stay is commented out, so that nothing is lost.
 * Threads: any, each with its own text and report. */
#ifndef MYXTTS_SCHEMA_H
#define MYXTTS_SCHEMA_H

#include "base/err.h"
#include "base/mem.h"
#include "config/config.h"

typedef struct SchemaProblem {
    int line;                   /* in the text as it was given; 0: it concerns no line */
    char section[32], key[128]; /* "" if it concerns no key */
    char what[500];             /* a sentence, without the place */
    char fix[200];              /* "batch_size: 32", "rename it to 'batch_size'"; "" if there is none */
    char hint[400];             /* what the user can do; may be "" */
    int fixed;                  /* 1: the repaired text no longer has the problem */
} SchemaProblem;

typedef struct SchemaReport { /* zero-initialise */
    SchemaProblem *items;
    size_t count, cap;
    int loads; /* 1: config_load accepts the repaired text */
} SchemaReport;

/* Repairs the text as far as possible. name, argc and argv are as for config_load_text;
 * config_check_arguments must accept the arguments. Returns 0, whatever was found, or ERR_NOMEM. */
int schema_repair(SchemaReport *r, Buf *text, const char *name, int argc, char **argv, Err *err);
void schema_report_free(SchemaReport *r);

/* Sets a key in a text that config_load accepts, under the name and in the section that the text uses for it;
 * if the text has it more than once, everywhere. */
int schema_set(Buf *text, const char *key, const char *value, Err *err);
/* The section of a key in the table of options, or NULL. */
const char *schema_section(const char *key);

#endif
