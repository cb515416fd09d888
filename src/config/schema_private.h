/* schema_private.h - what schema.c and schema_rules.c share. */
#ifndef MYXTTS_SCHEMA_PRIVATE_H
#define MYXTTS_SCHEMA_PRIVATE_H

#include "config/schema.h"

SchemaProblem *schema_problem(SchemaReport *r, int line, const char *section,
                              const char *key); /* NULL: no memory */
/* Moves *sentence behind the place "NAME:LINE: " at its front; the line, or 0 when there is no place. */
int schema_cut_place(const char **sentence, const char *name);
/* The rules between keys, for a text without any other problem: each violation, repaired where there is one
 * way to do it, until the text loads or one is left. lines: those of the text are still those of the file. */
int schema_rules(SchemaReport *r, Buf *text, const char *name, int lines, int argc, char **argv, Err *err);

#endif
