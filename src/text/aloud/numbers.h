/* numbers.h - spells out digits in the language of the line, by ICU's spell-out rules.
 * Covers integers (1,000 or 1.000, depending on the language), decimals, negative numbers, ordinals (1st, 2e,
 * 3º), years, decades (1890s), money, per cent, clock times, ISO dates, day and month, and ranges of years,
 * also in Arabic, Persian and full-width digits. A number that has more than 15 digits or begins with 0 is
 * read digit by digit. Threads: one per Numbers. ICU's formatters are opened when a language is first used,
 * and kept. */
#ifndef MYXTTS_NUMBERS_H
#define MYXTTS_NUMBERS_H

#include "base/mem.h"

typedef struct Numbers Numbers;
Numbers *numbers_open(void); /* NULL if out of memory */
void numbers_close(Numbers *n);

/* Appends the text to out with its numbers spelled out and returns 1. Returns 0, with out unchanged, if the
 * text has no digit or the language no rules; or ERR_NOMEM. language is a primary code ("en"). */
int numbers_expand(Numbers *n, Buf *out, const char *text, size_t len, const char *language);

#endif
