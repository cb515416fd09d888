/* persian.h - how everyday Persian is spoken where its spelling leaves it open. Persian writes no short
 * vowels: espeak-ng knows many words, but not the forms of spoken verbs ("mishe"), nor endings such as -o,
 * -esh and -et behind a noun, nor the -e that links a noun to the next word (ezafe). These are written into
 * the text that espeak-ng gets, as vowel signs; persian_words.h has the words. Threads: any. */
#ifndef MYXTTS_PERSIAN_H
#define MYXTTS_PERSIAN_H

#include "base/mem.h"

/* Appends the cleaned text to out with its vowels where they are known. Out of memory is remembered in
 * out->failed. */
void persian_respell(Buf *out, const char *text, size_t n);

/* Mends the phonemes of espeak-ng's voice "fa" from byte `from` on: "q1" is q, and a glide stands between i
 * and another vowel ("ziy\u0101d"). */
void persian_mend(Buf *phonemes, size_t from);

#endif
