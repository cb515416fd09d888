/* english_numbers.h - how English reads figures that are more than a number: phone numbers, dates with
 * slashes, fractions, sums of money, units, house numbers, scores, heights. Private to numbers.c.
 * Threads: one per Scan. */
#ifndef MYXTTS_ENGLISH_NUMBERS_H
#define MYXTTS_ENGLISH_NUMBERS_H

#include "text/markup/scan.h"

/* f is the figure at `at`. Returns 1 if it has been said, with what belongs to it; 0 if it is a plain number,
 * a year, an ordinal or anything else that numbers.c reads. */
int english_figure(Scan *sc, size_t at, const Figure *f, int negative);

/* Units after a number ("5 kg", "20°C", "3pm", "10x", "2.5bn"): says number and unit. Returns 1 if there was
 * one. */
int english_unit(Scan *sc, size_t at, const Figure *f, int negative);

/* The unit that stands a blank behind a fraction, in the singular or the plural: "3/4 tsp". Returns where it
 * ends, or `end` if there is none. */
size_t english_unit_after(Scan *sc, size_t end, int one);

/* A sign before a figure ("+5", "±5", "~5", "<5", ".5", "(555) 123-4567"). Returns 1 if it has been said; the
 * figure may be left to the scan. */
int english_sign(Scan *sc);

/* A sum of money; sign: where its currency sign or figure begins, end: after the figure and its sign. Returns
 * where the text continues. */
size_t english_money(Scan *sc, const Figure *f, const MoneyNames *m, size_t sign, size_t end);

/* "pm", " p.m." at `at`: where it ends, and the word that is said; 0 if it is not there. */
size_t english_half_of_day(const Scan *sc, size_t at, const char **word);

/* A dash between what was said last and the figure at `next`: 1 for "to", 0 for a mere gap. */
int english_dash(const Scan *sc, size_t next);

/* ---- the words around, for english_numbers.c and english_units.c ---- */

enum { WORD = 24 }; /* longer ones are in no list */
/* The word of ASCII letters that ends just before `at`, one blank skipped; "" if there is none. */
void english_word_before(const Scan *sc, size_t at, char word[WORD]);
int english_has_word(const char *word, const char *const *list, size_t n); /* in either case */
/* A word follows that the measure belongs to ("a 12-inch record"): then it stays in the singular. */
int english_is_before_noun(const Scan *sc, size_t at, size_t end);
size_t english_dash_at(const Scan *sc, size_t at); /* bytes of a hyphen or an en dash */

#endif
