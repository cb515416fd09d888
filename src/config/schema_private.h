/* schema_private.h - what schema.c and schema_rules.c share. */
#ifndef MYXTTS_SCHEMA_PRIVATE_H
#define MYXTTS_SCHEMA_PRIVATE_H

#include "config/option_table.h"
#include "config/schema.h"

/* Adds a problem to the report; NULL if out of memory. */
SchemaProblem *schema_problem(SchemaReport *r, int line, const char *section, const char *key);
/* Moves *sentence past the place "NAME:LINE: " with which it begins and returns the line, or 0 if it does not
 * begin with one. */
int schema_cut_place(const char **sentence, const char *name);
/* Checks the rules between keys of a text without any other problem. Reports each violation, and repairs it
 * if there is one way to do so, until the text loads or a violation is left. lines: 1 if the text still has
 * the line numbers of the file. */
int schema_rules(SchemaReport *r, Buf *text, const char *name, int lines, int argc, char **argv, Err *err);
/* A value that the key takes, in place of raw: what was meant, where that is plain; else the preset's value
 * or the default. */
void schema_suggest(char *out, size_t cap, const Config *defaults, const Config *choices, const Option *o,
                    const RawValue *raw);

#endif
