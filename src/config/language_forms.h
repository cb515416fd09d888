/* language_forms.h - the longer tables of words that rows of languages.c point to: units, money, months and
 * abbreviations of languages other than English, and what is read aloud. Private to languages.c. Threads:
 * any; all is constant. */
#ifndef MYXTTS_LANGUAGE_FORMS_H
#define MYXTTS_LANGUAGE_FORMS_H

#include "config/languages.h"

extern const UnitName german_units[], dutch_units[], spanish_units[], french_units[], turkish_units[],
    arabic_units[], persian_units[];
extern const MoneyNames german_money[], dutch_money[], spanish_money[], french_money[], turkish_money[],
    arabic_money[], persian_money[];
extern const Abbreviation arabic_abbreviations[], persian_abbreviations[];
extern const Respelling arabic_respellings[], persian_respellings[];
extern const AloudWords english_aloud, german_aloud, persian_aloud, dutch_aloud, spanish_aloud, french_aloud,
    turkish_aloud, arabic_aloud;
extern const char *const persian_months[12];
extern const char *const arabic_hours[12];

#endif
