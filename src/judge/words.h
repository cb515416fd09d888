/* words.h - counts the words of a text that were recognised wrong.
 * A word is a run of letters and apostrophes (' or U+2019); everything else separates words. Case, accents,
 * and apostrophes at either end of a word (often quotation marks) are ignored. Digits and signs are not
 * letters: the caller passes text in which they are spelled out. Threads: any. */
#ifndef MYXTTS_WORDS_H
#define MYXTTS_WORDS_H

#define WORDS_MOST 20000 /* maximum in one text */

/* The minimum number of substitutions, insertions and deletions that turn the words said into the words
 * heard. *words (may be NULL) is the number of words said. A text that is NULL counts as "". ERR_DATA if a
 * text has more than WORDS_MOST words, or ERR_NOMEM; *words is then 0. */
int words_wrong(const char *said, const char *heard, int *words);

#endif
