/* numbers.h - digits spelled out as words of the line's language, by ICU's spell-out rules.
 * Integers (1,000 and 1.000 by the language's habit), decimals, negative numbers, ordinals (1st, 2e, 3º),
 * years, decades (1890s), money, per cent, clock times, ISO dates, day and month, ranges of years; Arabic,
 * Persian and full-width digits. What has more than 15 digits or begins with 0 is read digit by digit.
 * Threads: one per Numbers. Formatters are opened when a language is first met and kept. */
#ifndef MYXTTS_NUMBERS_H
#define MYXTTS_NUMBERS_H

#include "base/mem.h"

typedef struct Numbers Numbers;
Numbers *numbers_open(void); /* NULL on no memory */
void numbers_close(Numbers *n);

/* Appends text to out with its numbers spelled out. 1; 0 with out untouched when there is no digit in it
 * (costs one look at each byte) or the language has no rules; ERR_NOMEM. language: a primary code, "en". */
int numbers_expand(Numbers *n, Buf *out, const char *text, size_t len, const char *language);

#endif
