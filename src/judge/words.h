/* words.h - text as words, and how many of them were heard wrong.
 * A word is a run of letters and apostrophes (' or U+2019); everything else separates. Case does not count,
 * nor do accents, nor apostrophes at either end of a word, which are quotation marks as often as not. Digits
 * and signs are no letters: the caller passes text that is spelled out.
 * Threads: any. */
#ifndef MYXTTS_WORDS_H
#define MYXTTS_WORDS_H

#define WORDS_MOST 20000 /* in one text */

/* Substitutions, insertions and deletions that turn the words said into the words heard, the fewest possible.
 * *words (may be NULL): the number of words said. NULL counts as "". Negative: ERR_DATA when a text has more
 * than WORDS_MOST words, ERR_NOMEM; *words is 0 then. */
int words_wrong(const char *said, const char *heard, int *words);

#endif
