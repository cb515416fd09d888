/* clean.h - turns written text into spoken words: abbreviations and numbers are written out. The cleaners:
 *   - none          leaves the text as it is
 *   - basic         the same, but in lower case if the characters are the symbols
 *   - english       writes out English abbreviations and numbers in English lines; other lines as basic
 *   - multilingual  writes out abbreviations and numbers by the language of the line
 * All but none also replace Arabic and East Asian sentence marks by their ASCII equivalents, so that
 * espeak-ng keeps them in the phonemes. Accents, cedillas, vowel signs and Hangul syllables are never
 * changed, nor is the case of text for espeak-ng, which uses it. Threads: one per Cleaner. */
#ifndef MYXTTS_CLEAN_H
#define MYXTTS_CLEAN_H

#include "base/mem.h"
#include "config/config.h"
#include "text/aloud/numbers.h"
#include "text/unicode.h"

#define CLEAN_VERSION 4 /* part of cache keys; raise it when the rules or tables change */

typedef struct Cleaner {
    TextCleaner kind;
    int lower; /* convert to lower case */
    Numbers *numbers;
    UnicodeScratch *scratch; /* owned by the caller */
    Buf english, a, b;       /* results of the steps in between */
} Cleaner;

int clean_open(Cleaner *c, TextCleaner kind, int lower, UnicodeScratch *scratch); /* 0 or ERR_NOMEM */
void clean_close(Cleaner *c); /* a zeroed Cleaner is allowed */

/* Appends the cleaned form of normalised text (unicode_normalise). language is a primary code. Returns 0 or
 * ERR_NOMEM. */
int clean_text(Cleaner *c, Buf *out, const char *text, size_t n, const char *language);

/* Appends the text with the abbreviations of the language written out; clean_text uses it. Returns 1 if
 * anything changed, else 0. */
int clean_abbreviations(Buf *out, const char *text, size_t n, const char *language);

/* 1: an abbreviation of the language is written at `at`. */
int clean_is_abbreviation(const char *text, size_t n, size_t at, const char *language);

#endif
