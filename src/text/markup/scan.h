/* scan.h - one pass over a line with numbers: reading figures and the words around them, and saying them in
 * the line's language. Private to numbers.c, number_forms.c and english_numbers.c. Threads: one per Scan. */
#ifndef MYXTTS_SCAN_H
#define MYXTTS_SCAN_H

#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "text/aloud/speller.h"

/* A double holds 15 digits exactly; longer numbers are read digit by digit. */
enum { MAX_DIGITS = 15, MAX_FRACTION = 15 };

typedef struct Figure {
    size_t end; /* past its last byte */
    int64_t whole;
    double value;
    int digits, fraction_digits; /* how many */
    int fraction;                /* the first two of them as a number, for cents */
    int grouped, dotted;         /* 1,000; 1.2.3 */
    char text[MAX_DIGITS + MAX_FRACTION + 3];
} Figure;

typedef struct Scan {
    Speller *sp;
    const NumberRules *rules;
    Buf *out;
    const char *s;
    size_t n, at; /* at: next byte not yet copied */
    /* What was said last, for the dash of a range: its end in s (0: nothing yet), and the figure if it was a
     * plain number without unit or sign. */
    size_t said_end;
    Figure said;
    int said_plain;
    int in_chain; /* a dash stands before it, too */
} Scan;

/* ---- reading ---- */

int scan_is_digit(char c);
int64_t scan_parse(const char *digits, size_t n);                          /* of more than 18 digits: 10^17 */
size_t scan_digits(const Scan *sc, size_t at);                             /* how many begin at `at` */
size_t scan_prefix(const Scan *sc, size_t at, const char *word, size_t n); /* n if the word is there, or 0 */
int scan_letter_at(const Scan *sc, size_t at);                             /* a letter begins at `at` */
int scan_word_ends(const Scan *sc, size_t at); /* neither letter nor digit follows */
/* A number at `at`: digits, groups of three, decimals. A second decimal mark makes it dotted. */
void scan_figure(const Scan *sc, Figure *f, size_t at);
double figure_value(const Figure *f);
int figure_is_year(const Figure *f); /* four plain digits from 1100 to 2099 */

/* ---- saying: words are appended to out ---- */

void scan_say(Scan *sc, const char *word);
void scan_gap(Scan *sc); /* a blank, where the language has blanks between words */
void scan_say_wide(Buf *out, const UChar *words, int32_t n);
void scan_say_integer(Scan *sc, UNumberFormat *f, int64_t value); /* f NULL: the plain cardinal */
void scan_say_value(Scan *sc, const Figure *f, int negative);     /* with its decimals, as ICU reads them */
void scan_say_digits(Scan *sc, const char *s, size_t n); /* digit by digit, whatever is between them */
void scan_say_year(Scan *sc, int64_t year);
void scan_say_date(Scan *sc, int year, int month, int day); /* year 0: day and month only */
int scan_has_said(const Buf *out, const char *word);        /* 1 if out ends with it */
/* Letters before or after a number need a space: "MP3", "5km". The second also moves on to `end`. */
void scan_before_number(Scan *sc);
void scan_after_number(Scan *sc, size_t end);

#endif
