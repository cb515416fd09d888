/* speller.h - ICU's formatters for the numbers of one language. Private to numbers.c. Threads: one. */
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

/* Opens what ICU has for the language; a Speller without rules spells nothing. */
void speller_open(Speller *sp, const char *code);
void speller_close(Speller *sp); /* safe on a zeroed Speller */

#endif
