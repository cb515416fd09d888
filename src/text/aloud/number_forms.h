/* number_forms.h - how languages other than English read figures that are more than a number: dates, times,
 * sums of money, units. Their habits are in the rows of config/languages.c. Private to numbers.c.
 * Threads: one per Scan. */
#ifndef MYXTTS_NUMBER_FORMS_H
#define MYXTTS_NUMBER_FORMS_H

#include "text/markup/scan.h"

/* f is the figure at `at`. Returns 1 if it has been said, with what belongs to it: 3.10.2021, 14.30 Uhr,
 * 14h30, "3. g\u00FCn". */
int form_figure(Scan *sc, size_t at, const Figure *f);

/* "5 km": says number and unit. Returns 1 if there was one. */
int form_unit(Scan *sc, const Figure *f, int negative);

/* A sum of money that ends at `end`. */
void form_money(Scan *sc, const Figure *f, const MoneyNames *m);

/* Hours and minutes by the language's habit. Returns where the text continues, 0 if it has none. */
size_t form_clock(Scan *sc, int hours, int minutes, size_t end);

/* An ordinal, also where ICU has none. */
void form_ordinal(Scan *sc, int64_t value, int feminine);

#endif
