/* number_rules.h - names around numbers: money signs, money and months of a language (config/languages.h).
 * Private to numbers.c. Threads: any; constant. */
#ifndef MYXTTS_NUMBER_RULES_H
#define MYXTTS_NUMBER_RULES_H

#include <stddef.h>

#include "config/languages.h"

/* Money sign at text: its ISO code and length in bytes; NULL when there is none. */
const char *number_rules_currency(const char *text, size_t n, size_t *length);
/* The language's own names of a currency; NULL when ICU names it well enough. */
const MoneyNames *number_rules_money(const NumberRules *rules, const char *iso);
/* Index 0-11 when a month's name stands at text and ends there; -1 otherwise. */
int number_rules_month(const NumberRules *rules, const char *text, size_t n, size_t *length);

#endif
