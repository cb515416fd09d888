/* scan.c - see scan.h. */
#include "text/markup/scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/unicode.h"

int scan_is_digit(char c) { return c >= '0' && c <= '9'; }

#define SCAN_MOST 100000000000000000 /* 18 digits: nobody counts further, and there is room to calculate */

int64_t scan_parse(const char *digits, size_t n)
{
    int64_t v = 0;
    for (size_t i = 0; i < n; i++)
        v = v < SCAN_MOST ? v * 10 + (digits[i] - '0') : SCAN_MOST;
    return v;
}

/* ICU hyphenates long words with soft hyphens; nobody speaks those. */
void scan_say_wide(Buf *out, const UChar *words, int32_t n)
{
    for (int32_t i = 0, from = 0; i <= n; i++)
        if (i == n || words[i] == 0xAD) {
            unicode_append_utf16(out, (const uint16_t *)words + from, (size_t)(i - from));
            from = i + 1;
        }
}

/* What was said from byte `from` on, in the language's own spelling; that is never longer. */
static void respell(Buf *out, size_t from, const Respelling *list)
{
    for (; list->from; list++) {
        int first = list->from[0] == '^';
        const char *old = list->from + first;
        size_t n = strlen(old), m = strlen(list->to);
        for (size_t at = from; at + n <= out->size; at++) {
            if (!memcmp(out->data + at, old, n)) {
                memcpy(out->data + at, list->to, m);
                memmove(out->data + at + m, out->data + at + n, out->size - at - n);
                out->size -= n - m;
            }
            if (first)
                break;
        }
    }
}

/* f NULL: the plain cardinal. */
void scan_say_integer(Scan *sc, UNumberFormat *f, int64_t value)
{
    UChar words[512];
    UErrorCode status = U_ZERO_ERROR;
    int32_t n = unum_formatInt64(f ? f : sc->sp->cardinal, value, words, 512, NULL, &status);
    size_t from = sc->out->size;
    if (U_SUCCESS(status))
        scan_say_wide(sc->out, words, n);
    if (sc->rules->respellings)
        respell(sc->out, from, sc->rules->respellings);
}

/* With its decimals, as ICU reads them. */
void scan_say_value(Scan *sc, const Figure *f, int negative)
{
    if (!f->fraction_digits) {
        scan_say_integer(sc, NULL, negative ? -f->whole : f->whole);
        return;
    }
    /* ICU drops zeros at the end: 2.50. */
    const char *point = strchr(f->text, '.');
    if (sc->rules->english && f->fraction_digits <= MAX_FRACTION && point) {
        if (negative)
            scan_say(sc, "minus ");
        scan_say_integer(sc, NULL, f->whole);
        scan_say(sc, " point ");
        scan_say_digits(sc, point + 1, (size_t)f->fraction_digits);
        return;
    }
    UChar words[512];
    UErrorCode status = U_ZERO_ERROR;
    int32_t n =
        unum_formatDouble(sc->sp->cardinal, negative ? -f->value : f->value, words, 512, NULL, &status);
    if (U_SUCCESS(status))
        scan_say_wide(sc->out, words, n);
}

void scan_say(Scan *sc, const char *word) { buf_add(sc->out, word, strlen(word)); }
void scan_gap(Scan *sc)
{
    if (!sc->rules->joined)
        scan_say(sc, " ");
}

/* Digit by digit, whatever stands between them. */
void scan_say_digits(Scan *sc, const char *s, size_t n)
{
    for (size_t i = 0, said = 0; i < n; i++)
        if (scan_is_digit(s[i])) {
            if (said++)
                scan_gap(sc);
            scan_say_integer(sc, NULL, s[i] - '0');
        }
}

/* Letters before or after a number need a space: "MP3", "5km". */
void scan_before_number(Scan *sc)
{
    if (!sc->rules->joined && sc->out->size &&
        unicode_is_letter(unicode_before(sc->out->data, sc->out->size)))
        scan_say(sc, " ");
}
int scan_letter_at(const Scan *sc, size_t at)
{
    return at < sc->n && unicode_is_letter(unicode_next(sc->s, sc->n, &at));
}
void scan_after_number(Scan *sc, size_t end)
{
    sc->at = end;
    if (!sc->rules->joined && scan_letter_at(sc, end))
        scan_say(sc, " ");
}

/* How many digits begin at `at`. */
size_t scan_digits(const Scan *sc, size_t at)
{
    size_t n = 0;
    while (at + n < sc->n && scan_is_digit(sc->s[at + n]))
        n++;
    return n;
}

/* Digits of the whole part; more than MAX_DIGITS are counted, but not kept. */
static void add_digits(Figure *f, size_t *used, const char *s, size_t n)
{
    for (size_t i = 0; i < n && *used < MAX_DIGITS; i++) {
        f->text[(*used)++] = s[i];
        f->whole = f->whole * 10 + (s[i] - '0');
    }
    f->digits += (int)n;
}

/* A number at `at`: digits, groups of three, decimals. A second decimal mark makes it dotted. */
void scan_figure(const Scan *sc, Figure *f, size_t at)
{
    memset(f, 0, sizeof *f);
    const NumberRules *r = sc->rules;
    size_t used = 0, run = scan_digits(sc, at);
    add_digits(f, &used, sc->s + at, run);
    at += run;
    /* 1,000,000: groups of three, and only after one to three digits. */
    if (run <= 3)
        while (at < sc->n && sc->s[at] == r->group && scan_digits(sc, at + 1) == 3) {
            add_digits(f, &used, sc->s + at + 1, 3);
            f->grouped = 1;
            at += 4;
        }
    f->end = at;
    char mark = at < sc->n ? sc->s[at] : 0;
    if (mark != r->decimal && mark != '.')
        return;
    run = scan_digits(sc, at + 1);
    if (!run)
        return;
    if (at + 1 + run + 1 < sc->n && sc->s[at + 1 + run] == mark && scan_is_digit(sc->s[at + run + 2])) {
        f->dotted = 1; /* a version, an address: not one number */
        return;
    }
    f->text[used++] = '.';
    for (size_t i = 0; i < run && i < MAX_FRACTION; i++)
        f->text[used++] = sc->s[at + 1 + i];
    f->fraction_digits = (int)run;
    f->fraction = (sc->s[at + 1] - '0') * 10 + (run > 1 ? sc->s[at + 2] - '0' : 0);
    f->end = at + 1 + run;
    f->value = strtod(f->text, NULL);
}

/* Neither a letter nor a digit follows. */
int scan_word_ends(const Scan *sc, size_t at)
{
    return !scan_letter_at(sc, at) && !(at < sc->n && scan_is_digit(sc->s[at]));
}

size_t scan_prefix(const Scan *sc, size_t at, const char *word, size_t n)
{
    return at <= sc->n && sc->n - at >= n && !memcmp(sc->s + at, word, n) ? n : 0;
}

/* Four plain digits from 1100 to 2099; others are more likely to be numbers. */
int figure_is_year(const Figure *f)
{
    return f->digits == 4 && !f->grouped && !f->fraction_digits && !f->dotted && f->whole >= 1100 &&
           f->whole < 2100;
}

void scan_say_year(Scan *sc, int64_t year) { scan_say_integer(sc, sc->sp->year, year); }

int scan_has_said(const Buf *b, const char *word)
{
    size_t n = strlen(word);
    return b->size >= n && !memcmp(b->data + b->size - n, word, n);
}

double figure_value(const Figure *f) { return f->fraction_digits ? f->value : (double)f->whole; }

/* ICU's own name for the month, in the form that stands alone in a date. */
static void say_month(Scan *sc, int month)
{
    static const UChar pattern[] = {'M', 'M', 'M', 'M', 0}, utc[] = {'U', 'T', 'C', 0};
    UErrorCode status = U_ZERO_ERROR;
    if (!sc->sp->month) {
        char locale[48];
        snprintf(locale, sizeof locale, "%s@calendar=gregorian", sc->sp->code);
        sc->sp->month = udat_open(UDAT_PATTERN, UDAT_PATTERN, locale, utc, -1, pattern, -1, &status);
    }
    UChar name[64];
    double day_ms = 86400e3, middle = (month - 1) * 30.44 + 15; /* some day inside that month of 1970 */
    int32_t n = U_SUCCESS(status) ? udat_format(sc->sp->month, middle * day_ms, name, 64, NULL, &status) : 0;
    if (U_SUCCESS(status))
        scan_say_wide(sc->out, name, n);
}

static void say_link(Scan *sc)
{
    scan_say(sc, " ");
    if (sc->rules->date_link) {
        scan_say(sc, sc->rules->date_link);
        scan_say(sc, " ");
    }
}

void scan_say_date(Scan *sc, int year, int month, int day)
{
    const NumberRules *r = sc->rules;
    switch (r->date) {
    case DATE_MARKED:
        scan_say_integer(sc, r->spelled_years ? sc->sp->year : NULL, year);
        scan_say(sc, r->date_signs[0]);
        scan_say_integer(sc, NULL, month);
        scan_say(sc, r->date_signs[1]);
        scan_say_integer(sc, NULL, day);
        scan_say(sc, r->date_signs[2]);
        break;
    case DATE_MONTH_DAY_YEAR:
        say_month(sc, month);
        scan_say(sc, " ");
        scan_say_integer(sc, sc->sp->ordinal, day);
        scan_say(sc, ", ");
        scan_say_year(sc, year);
        break;
    case DATE_YEAR_MONTH_DAY:
        scan_say_integer(sc, NULL, year);
        scan_say(sc, " ");
        say_month(sc, month);
        scan_say(sc, " ");
        scan_say_integer(sc, NULL, day);
        break;
    case DATE_DAY_MONTH_YEAR:
        if (day == 1 && r->first_day)
            scan_say(sc, r->first_day);
        else
            scan_say_integer(sc, r->ordinal_days ? sc->sp->ordinal_dative : NULL, day);
        say_link(sc);
        if (r->own_months && year < r->own_years)
            scan_say(sc, r->own_months[month - 1]);
        else
            say_month(sc, month);
        if (!year)
            break;
        say_link(sc);
        scan_say_integer(sc, r->years == YEARS_ALWAYS ? sc->sp->year : NULL, year);
        break;
    }
}
