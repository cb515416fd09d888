/* schema.h - everything that is wrong with a configuration file, not only the first thing, and a text in
 * which it is repaired. Wrong here is what config_load refuses. Values are never guessed: a misspelling
 * becomes the nearest word, a value that cannot be used becomes the default; a line that cannot stay becomes
 * a comment, so that nothing is lost. Threads: any, each with its own text and report. */
#ifndef MYXTTS_SCHEMA_H
#define MYXTTS_SCHEMA_H

#include "base/err.h"
#include "base/mem.h"
#include "config/config.h"

typedef struct SchemaProblem {
    int line;                   /* of the text as it was given; 0: no line of it */
    char section[32], key[128]; /* "" when it is about no key */
    char what[500];             /* sentence without the place */
    char fix[200];              /* "batch_size: 32", "rename it to 'batch_size'"; "" when there is none */
    char hint[400];             /* what a person can do, may be "" */
    int fixed;                  /* the repaired text does not have it any more */
} SchemaProblem;

typedef struct SchemaReport { /* zero-initialise */
    SchemaProblem *items;
    size_t count, cap;
    int loads; /* the repaired text does */
} SchemaReport;

/* text: in, as the file is; out, repaired as far as it can be. name, argc, argv: as in config_load_text,
 * whose arguments must be sound by themselves. 0 whatever was found; ERR_NOMEM. */
int schema_repair(SchemaReport *r, Buf *text, const char *name, int argc, char **argv, Err *err);
void schema_report_free(SchemaReport *r);

/* Sets a key in a text that loads, under the name and in the section where it stands; in all of them where it
 * stands more than once. */
int schema_set(Buf *text, const char *key, const char *value, Err *err);
/* The section that the table gives a key, or NULL. */
const char *schema_section(const char *key);

#endif
