/* scripts.h - the scripts that texts are written in, by Unicode's properties: Latin, Cyrillic, Han. Only
 * letters count; digits, marks and accents belong to every script. Threads: any. */
#ifndef MYXTTS_SCRIPTS_H
#define MYXTTS_SCRIPTS_H

#include <stddef.h>
#include <stdint.h>

#include "text/language.h"

/* Scripts, each once. Numbers are ICU's. */
#define SCRIPTS_MOST 64
typedef struct ScriptSet {
    int count;
    int scripts[SCRIPTS_MOST];
} ScriptSet;

void script_add(ScriptSet *s, int script);       /* one too many is forgotten */
const char *script_short_name(int script);       /* "Latn", as ISO 15924 has it */
int script_by_name(const char *name);            /* of a short or a long one; -1: there is none */
void script_long_name(char out[64], int script); /* "Latin" */

/* Adds the scripts that a language is written in. Those that ICU knows none for add nothing. */
void scripts_of_language(ScriptSet *s, const char *code);

/* Letters of a text or of many, by script. Zero-initialise. */
typedef struct ScriptCount {
    int64_t all; /* letters */
    ScriptSet set;
    int64_t letters[SCRIPTS_MOST]; /* of each of the set */
} ScriptCount;
void script_count(ScriptCount *c, const char *text, size_t n);
/* Adds what makes up at least `share` of the letters: a Greek letter in a formula makes no Greek text. */
void scripts_used(ScriptSet *s, const ScriptCount *c, double share);
/* The script of most letters that are in none of the known ones, where these are more than half; otherwise
 * -1. */
int script_foreign(const ScriptCount *c, const ScriptSet *known);

#endif
