/* number_rules.h - looks up words around numbers: currency signs, currencies and months of a language
 * (config/languages.h). Private to numbers.c. Threads: any; the tables are constant. */
#ifndef MYXTTS_NUMBER_RULES_H
#define MYXTTS_NUMBER_RULES_H

#include <stddef.h>

#include "config/languages.h"

/* If the text begins with a currency sign, its ISO code and length in bytes; otherwise NULL. */
const char *number_rules_currency(const char *text, size_t n, size_t *length);
/* The names of a currency in the language; NULL if ICU's are to be used. */
const MoneyNames *number_rules_money(const NumberRules *rules, const char *iso);
/* If the text begins with the name of a month as a whole word, its index 0-11 and length in bytes; otherwise
 * -1. */
int number_rules_month(const NumberRules *rules, const char *text, size_t n, size_t *length);

#endif
