/* english.h - English written forms that are neither abbreviations nor numbers: web and mail addresses, Roman
 * numerals, states before ZIP codes, fractions that are one character, signs between words. Used by clean.c,
 * before abbreviations and numbers are written out. Threads: any. */
#ifndef MYXTTS_ENGLISH_H
#define MYXTTS_ENGLISH_H

#include "base/mem.h"

/* Appends the text to out with these forms in words, or in digits that numbers.c reads, and returns 1.
 * Returns 0, with out unchanged, if there are none. Out of memory is remembered in out->failed. */
int english_rewrite(Buf *out, const char *text, size_t n);

#endif
