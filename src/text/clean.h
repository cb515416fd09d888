/* clean.h - what is written becomes what is said: abbreviations and numbers.
 *   none          the text as it is
 *   basic         the same, and lower case where characters are the symbols
 *   english       English abbreviations and numbers in English lines; other lines as basic
 *   multilingual  abbreviations and numbers by the line's language
 * All but none also write Arabic and East Asian sentence marks as their ASCII likes for espeak-ng, so that
 * they stay in the phonemes. Accents, cedillas, vowel signs and Hangul syllables are never touched. Case is
 * kept for espeak-ng, which uses it. Threads: one per Cleaner. */
#ifndef MYXTTS_CLEAN_H
#define MYXTTS_CLEAN_H

#include "base/mem.h"
#include "config/config.h"
#include "text/numbers.h"
#include "text/unicode.h"

#define CLEAN_VERSION 1 /* of the rules and tables; part of cache keys */

typedef struct Cleaner {
    TextCleaner kind;
    int lower;
    Numbers *numbers;
    UnicodeScratch *scratch; /* the caller's */
    Buf a, b;
} Cleaner;

int clean_open(Cleaner *c, TextCleaner kind, int lower, UnicodeScratch *scratch); /* 0 or ERR_NOMEM */
void clean_close(Cleaner *c); /* safe on a zeroed Cleaner */

/* Appends the cleaned form of normalised text (unicode_normalise). language: primary code. 0, or ERR_NOMEM.
 */
int clean_text(Cleaner *c, Buf *out, const char *text, size_t n, const char *language);

/* Appends text with abbreviations of the language written out; used by clean_text. 1 when anything changed.
 */
int clean_abbreviations(Buf *out, const char *text, size_t n, const char *language);

#endif
