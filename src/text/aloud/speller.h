/* speller.h - ICU's number and date formatters of one language. For numbers.c and ssml_values.c. Threads:
 * one. */
#ifndef MYXTTS_SPELLER_H
#define MYXTTS_SPELLER_H

#include <unicode/udat.h>
#include <unicode/unum.h>
#include <unicode/upluralrules.h>

#include "config/languages.h"

/* Formatters that the language does not have are NULL. */
typedef struct Speller {
    char code[16];
    const NumberRules *rules; /* NULL: unknown language, digits stay as they are */
    UNumberFormat *cardinal, *before_noun, *ordinal, *ordinal_feminine, *ordinal_dative, *year;
    UPluralRules *plural;
    UDateFormat *month;
} Speller;

/* Opens the formatters that ICU has for the language. */
void speller_open(Speller *sp, const char *code);
void speller_close(Speller *sp); /* a zeroed Speller is allowed */

#endif
