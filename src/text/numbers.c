/* numbers.c - see numbers.h. A line is scanned once from left to right; what each number is decides how it is
 * spelled. The habits of the languages are in config/languages.c. */
#include "text/numbers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unicode/ucurr.h>

#include "text/number_rules.h"
#include "text/speller.h"
#include "text/unicode.h"

/* A double holds 15 digits exactly; longer numbers are read digit by digit. */
enum { MAX_SPELLERS = 32, MAX_DIGITS = 15, MAX_FRACTION = 15 };

struct Numbers {
    Speller spellers[MAX_SPELLERS];
    int count;
    Buf plain; /* the text with ASCII digits */
};

/* One pass over a line. */
typedef struct Scan {
    Speller *sp;
    const NumberRules *rules;
    Buf *out;
    const char *s;
    size_t n, at; /* at: next byte not yet copied */
} Scan;

typedef struct Figure {
    size_t end; /* past its last byte */
    int64_t whole;
    double value;
    int digits, fraction_digits; /* how many */
    int fraction;                /* the first two of them as a number, for cents */
    int grouped, dotted;         /* 1,000; 1.2.3 */
    char text[MAX_DIGITS + MAX_FRACTION + 3];
} Figure;

/* ---- reading a number ---- */

static int is_digit(char c) { return c >= '0' && c <= '9'; }

static int64_t parse(const char *digits, size_t n)
{
    int64_t v = 0;
    for (size_t i = 0; i < n; i++)
        v = v * 10 + (digits[i] - '0');
    return v;
}

/* Opened when the language is first met. NULL when there are too many, and the digits stay. */
static Speller *find_speller(Numbers *n, const char *code)
{
    for (int i = 0; i < n->count; i++)
        if (!strcmp(n->spellers[i].code, code))
            return &n->spellers[i];
    if (n->count == MAX_SPELLERS)
        return NULL;
    Speller *sp = &n->spellers[n->count++];
    speller_open(sp, code);
    return sp;
}

Numbers *numbers_open(void) { return mem_calloc(1, sizeof(Numbers)); }

void numbers_close(Numbers *n)
{
    if (!n)
        return;
    for (int i = 0; i < n->count; i++)
        speller_close(&n->spellers[i]);
    buf_free(&n->plain);
    free(n);
}

/* ICU hyphenates long words with soft hyphens; nobody speaks those. */
static void append_words(Buf *out, const UChar *words, int32_t n)
{
    for (int32_t i = 0, from = 0; i <= n; i++)
        if (i == n || words[i] == 0xAD) {
            unicode_append_utf16(out, (const uint16_t *)words + from, (size_t)(i - from));
            from = i + 1;
        }
}

/* f NULL: the plain cardinal. */
static void say_integer(Scan *sc, UNumberFormat *f, int64_t value)
{
    UChar words[512];
    UErrorCode status = U_ZERO_ERROR;
    int32_t n = unum_formatInt64(f ? f : sc->sp->cardinal, value, words, 512, NULL, &status);
    if (U_SUCCESS(status))
        append_words(sc->out, words, n);
}

/* With its decimals, as ICU reads them. */
static void say_value(Scan *sc, const Figure *f, int negative)
{
    if (!f->fraction_digits) {
        say_integer(sc, NULL, negative ? -f->whole : f->whole);
        return;
    }
    UChar words[512];
    UErrorCode status = U_ZERO_ERROR;
    int32_t n =
        unum_formatDouble(sc->sp->cardinal, negative ? -f->value : f->value, words, 512, NULL, &status);
    if (U_SUCCESS(status))
        append_words(sc->out, words, n);
}

static void say(Scan *sc, const char *word) { buf_add(sc->out, word, strlen(word)); }
static void gap(Scan *sc)
{
    if (!sc->rules->joined)
        say(sc, " ");
}

/* Digit by digit, whatever stands between them. */
static void say_digits(Scan *sc, const char *s, size_t n)
{
    for (size_t i = 0, said = 0; i < n; i++)
        if (is_digit(s[i])) {
            if (said++)
                gap(sc);
            say_integer(sc, NULL, s[i] - '0');
        }
}

/* Letters before or after a number need a space: "MP3", "5km". */
static void before_number(Scan *sc)
{
    if (!sc->rules->joined && sc->out->size &&
        unicode_is_letter(unicode_before(sc->out->data, sc->out->size)))
        say(sc, " ");
}
static int letter_at(const Scan *sc, size_t at)
{
    return at < sc->n && unicode_is_letter(unicode_next(sc->s, sc->n, &at));
}
static void after_number(Scan *sc, size_t end)
{
    sc->at = end;
    if (!sc->rules->joined && letter_at(sc, end))
        say(sc, " ");
}

/* How many digits begin at `at`. */
static size_t digit_run(const Scan *sc, size_t at)
{
    size_t n = 0;
    while (at + n < sc->n && is_digit(sc->s[at + n]))
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
static void read_figure(const Scan *sc, Figure *f, size_t at)
{
    memset(f, 0, sizeof *f);
    const NumberRules *r = sc->rules;
    size_t used = 0, run = digit_run(sc, at);
    add_digits(f, &used, sc->s + at, run);
    at += run;
    /* 1,000,000: groups of three, and only after one to three digits. */
    if (run <= 3)
        while (at < sc->n && sc->s[at] == r->group && digit_run(sc, at + 1) == 3) {
            add_digits(f, &used, sc->s + at + 1, 3);
            f->grouped = 1;
            at += 4;
        }
    f->end = at;
    char mark = at < sc->n ? sc->s[at] : 0;
    if (mark != r->decimal && mark != '.')
        return;
    run = digit_run(sc, at + 1);
    if (!run)
        return;
    if (at + 1 + run + 1 < sc->n && sc->s[at + 1 + run] == mark && is_digit(sc->s[at + run + 2])) {
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
static int word_ends(const Scan *sc, size_t at)
{
    return !letter_at(sc, at) && !(at < sc->n && is_digit(sc->s[at]));
}

static size_t prefix_at(const Scan *sc, size_t at, const char *word, size_t n)
{
    return at <= sc->n && sc->n - at >= n && !memcmp(sc->s + at, word, n) ? n : 0;
}

/* Bytes of an ordinal suffix at `at`, 0 when there is none. */
static size_t ordinal_suffix(const Scan *sc, size_t at, int *feminine)
{
    const char *p = sc->rules->ordinals;
    *feminine = 0;
    while (*p) {
        size_t n = strcspn(p, " |");
        if (n && prefix_at(sc, at, p, n) && word_ends(sc, at + n))
            return n;
        p += n;
        if (*p == '|')
            *feminine = 1;
        p += *p != 0;
    }
    return 0;
}

/* 0: one, 1: a few, 2: many; keyword: what CLDR calls it. */
static int plural_form(const Scan *sc, double value, char keyword[16])
{
    UChar wide[16];
    UErrorCode status = U_ZERO_ERROR;
    strcpy(keyword, "other");
    if (sc->sp->plural && uplrules_select(sc->sp->plural, value, wide, 16, &status) > 0 && U_SUCCESS(status))
        u_austrncpy(keyword, wide, 15);
    return !strcmp(keyword, "one") ? 0 : !strcmp(keyword, "few") || !strcmp(keyword, "two") ? 1 : 2;
}

static double figure_value(const Figure *f) { return f->fraction_digits ? f->value : (double)f->whole; }

/* Returns where the text goes on, behind the sign. */
static size_t say_percent(Scan *sc, const Figure *f, size_t at, int negative)
{
    char keyword[16];
    const char *word = sc->rules->percent[plural_form(sc, figure_value(f), keyword)];
    if (!word)
        word = sc->rules->percent[0];
    if (sc->rules->percent_first) {
        say(sc, word);
        gap(sc);
    }
    say_value(sc, f, negative);
    if (!sc->rules->percent_first) {
        gap(sc);
        say(sc, word);
    }
    return at + 1;
}

/* "five dollars and one cent", "one cent", "five point five dollars". */
static void say_english_money(Scan *sc, const Figure *f, const MoneyNames *m)
{
    if (f->fraction_digits != 2) {
        say_value(sc, f, 0);
        say(sc, " ");
        say(sc, f->whole == 1 && !f->fraction_digits ? m->one : m->many);
        return;
    }
    if (f->whole || !f->fraction) {
        say_integer(sc, NULL, f->whole);
        say(sc, " ");
        say(sc, f->whole == 1 ? m->one : m->many);
    }
    if (f->fraction) {
        if (f->whole)
            say(sc, " and ");
        say_integer(sc, NULL, f->fraction);
        say(sc, " ");
        say(sc, f->fraction == 1 ? m->small_one : m->small_many);
    }
}

/* Returns where the text goes on. */
static size_t say_money(Scan *sc, const Figure *f, const char *iso, size_t end)
{
    static const char *const scales[] = {" thousand", " million", " billion", " trillion"};
    const MoneyNames *m = number_rules_money(sc->rules, iso);
    /* "$5 million" is five million dollars: the scale goes before the currency. */
    if (m) {
        for (size_t i = 0; i < sizeof scales / sizeof scales[0]; i++) {
            size_t n = strlen(scales[i]);
            if (prefix_at(sc, end, scales[i], n) && word_ends(sc, end + n)) {
                say_value(sc, f, 0);
                say(sc, scales[i]);
                say(sc, " ");
                say(sc, m->many);
                return end + n;
            }
        }
        say_english_money(sc, f, m);
        return end;
    }
    char keyword[16];
    UChar wide[4];
    UErrorCode status = U_ZERO_ERROR;
    int32_t n = 0;
    plural_form(sc, figure_value(f), keyword);
    u_uastrcpy(wide, iso);
    const UChar *name = ucurr_getPluralName(wide, sc->sp->code, NULL, keyword, &n, &status);
    say_value(sc, f, 0);
    if (name && U_SUCCESS(status)) {
        gap(sc);
        append_words(sc->out, name, n);
    }
    return end;
}

/* Four plain digits from 1100 to 2099; others are more likely to be numbers. */
static int is_year(const Figure *f)
{
    return f->digits == 4 && !f->grouped && !f->fraction_digits && !f->dotted && f->whole >= 1100 &&
           f->whole < 2100;
}

static void say_year(Scan *sc, int64_t year) { say_integer(sc, sc->sp->year, year); }

/* hh:mm or hh:mm:ss at `at`; 1 when it was one and has been said. */
static int try_time(Scan *sc, size_t at)
{
    size_t h = digit_run(sc, at), m = at + h;
    if (h < 1 || h > 2 || m >= sc->n || sc->s[m] != ':' || digit_run(sc, m + 1) != 2)
        return 0;
    int hours = (int)parse(sc->s + at, h), minutes = (int)parse(sc->s + m + 1, 2), seconds = -1;
    size_t end = m + 3;
    if (end < sc->n && sc->s[end] == ':') {
        if (digit_run(sc, end + 1) != 2)
            return 0;
        seconds = (int)parse(sc->s + end + 1, 2);
        end += 3;
    }
    if (hours > 24 || minutes > 59 || seconds > 59)
        return 0;
    /* "5:00" is five o'clock unless a.m. or p.m. follows; "5:07" is five oh seven. */
    int english = sc->rules->english;
    size_t next = end + (end < sc->n && sc->s[end] == ' ');
    int half =
        next + 1 < sc->n && strchr("aApP", sc->s[next]) && strchr(".mM", sc->s[next + 1]); /* a.m., pm */
    before_number(sc);
    if (hours == 1 && sc->rules->one_hour)
        say(sc, sc->rules->one_hour);
    else
        say_integer(sc, NULL, hours);
    if (sc->rules->hour) {
        say(sc, " ");
        say(sc, hours < 2 && sc->rules->hour_below_two ? sc->rules->hour_below_two : sc->rules->hour);
        size_t word = strlen(sc->rules->hour);
        if (next > end && prefix_at(sc, next, sc->rules->hour, word) && word_ends(sc, next + word))
            end = next + word; /* "12:30 Uhr" has it already */
    }
    if (minutes) {
        gap(sc);
        if (english && minutes < 10)
            say(sc, "oh ");
        say_integer(sc, NULL, minutes);
    } else if (english && !half && seconds < 0) {
        say(sc, hours <= 12 ? " o'clock" : " hundred");
    }
    if (seconds >= 0) {
        say(sc, english ? " and " : sc->rules->joined ? "" : " ");
        say_integer(sc, NULL, seconds);
        if (english)
            say(sc, seconds == 1 ? " second" : " seconds");
    }
    after_number(sc, end);
    return 1;
}

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
        append_words(sc->out, name, n);
}

/* yyyy-mm-dd at `at`; 1 when it was one and has been said. */
static int try_date(Scan *sc, size_t at)
{
    const char *p = sc->s + at;
    if (sc->n - at < 10 || digit_run(sc, at) != 4 || p[4] != '-' || digit_run(sc, at + 5) != 2 ||
        p[7] != '-' || digit_run(sc, at + 8) != 2)
        return 0;
    int year = (int)parse(p, 4), month = (int)parse(p + 5, 2), day = (int)parse(p + 8, 2);
    const NumberRules *r = sc->rules;
    if (month < 1 || month > 12 || day < 1 || day > 31)
        return 0;
    before_number(sc);
    switch (r->date) {
    case DATE_MARKED:
        say_integer(sc, r->spelled_years ? sc->sp->year : NULL, year);
        say(sc, r->date_signs[0]);
        say_integer(sc, NULL, month);
        say(sc, r->date_signs[1]);
        say_integer(sc, NULL, day);
        say(sc, r->date_signs[2]);
        break;
    case DATE_MONTH_DAY_YEAR:
        say_month(sc, month);
        say(sc, " ");
        say_integer(sc, sc->sp->ordinal, day);
        say(sc, ", ");
        say_year(sc, year);
        break;
    case DATE_YEAR_MONTH_DAY:
        say_integer(sc, NULL, year);
        say(sc, " ");
        say_month(sc, month);
        say(sc, " ");
        say_integer(sc, NULL, day);
        break;
    case DATE_DAY_MONTH_YEAR:
        say_integer(sc, r->ordinal_days ? sc->sp->ordinal_dative : NULL, day);
        say(sc, " ");
        say_month(sc, month);
        say(sc, " ");
        say_integer(sc, r->years == YEARS_ALWAYS ? sc->sp->year : NULL, year);
        break;
    }
    after_number(sc, at + 10);
    return 1;
}

/* "1890s": eighteen nineties. */
static void say_decade(Scan *sc, int64_t year)
{
    say_year(sc, year);
    Buf *b = sc->out;
    if (b->size && b->data[b->size - 1] == 'y') {
        b->size--;
        say(sc, "ies");
    } else {
        say(sc, "s");
    }
}

static int ends_with(const Buf *b, const char *word)
{
    size_t n = strlen(word);
    return b->size >= n && !memcmp(b->data + b->size - n, word, n);
}

/* A day beside a month's name, in English and German; 1 when it has been said. */
static int try_day(Scan *sc, const Figure *f)
{
    size_t length;
    if (f->digits > 2 || f->fraction_digits || f->whole < 1 || f->whole > 31 || !f->digits)
        return 0;
    if (sc->rules->ordinal_days) {
        if (!prefix_at(sc, f->end, ". ", 2) ||
            number_rules_month(sc->rules, sc->s + f->end + 2, sc->n - f->end - 2, &length) < 0)
            return 0;
        say_integer(sc, sc->sp->ordinal_dative, f->whole);
        after_number(sc, f->end + 1);
        return 1;
    }
    if (!sc->rules->english)
        return 0;
    if (prefix_at(sc, f->end, " ", 1) &&
        number_rules_month(sc->rules, sc->s + f->end + 1, sc->n - f->end - 1, &length) >= 0) {
        if (!ends_with(sc->out, "the ") && !ends_with(sc->out, "The "))
            say(sc, "the ");
        say_integer(sc, sc->sp->ordinal, f->whole);
        say(sc, " of");
        after_number(sc, f->end);
        return 1;
    }
    /* The month may stand before the day: "May 3". */
    for (size_t back = 4; back <= 10; back++) { /* "May " .. "September " */
        if (sc->out->size < back)
            break;
        const char *p = sc->out->data + sc->out->size - back;
        if (number_rules_month(sc->rules, p, back, &length) >= 0 && length + 1 == back && p[length] == ' ' &&
            (back == sc->out->size || !unicode_is_letter((uint8_t)p[-1]))) {
            say_integer(sc, sc->sp->ordinal, f->whole);
            after_number(sc, f->end);
            return 1;
        }
    }
    return 0;
}

/* "3/4" in English; 1 when it has been said. */
static int try_fraction(Scan *sc, const Figure *f)
{
    size_t run = prefix_at(sc, f->end, "/", 1) ? digit_run(sc, f->end + 1) : 0, end = f->end + 1 + run;
    if (!sc->rules->english || run < 1 || run > 2 || f->fraction_digits || f->whole < 1 || f->digits > 2 ||
        !word_ends(sc, end) || prefix_at(sc, end, "/", 1))
        return 0;
    int64_t parts = parse(sc->s + f->end + 1, run);
    if (parts < 2 || f->whole >= parts)
        return 0;
    say_integer(sc, NULL, f->whole);
    say(sc, " ");
    if (parts == 2)
        say(sc, "half");
    else if (parts == 4)
        say(sc, "quarter");
    else
        say_integer(sc, sc->sp->ordinal, parts);
    if (f->whole > 1)
        say(sc, "s");
    after_number(sc, end);
    return 1;
}

/* Versions and addresses: the parts one after the other. */
static void say_dotted(Scan *sc, size_t at)
{
    for (size_t run; (run = digit_run(sc, at)); at++) {
        if (run > MAX_DIGITS || (run > 1 && sc->s[at] == '0'))
            say_digits(sc, sc->s + at, run);
        else
            say_integer(sc, NULL, parse(sc->s + at, run));
        at += run;
        if (at + 1 >= sc->n || (sc->s[at] != '.' && sc->s[at] != ',') || !is_digit(sc->s[at + 1]))
            break;
        say(sc, sc->rules->english ? " point " : " ");
    }
    after_number(sc, at);
}

/* "1939-1945" with a hyphen or an en dash: the second year is left to the scan. */
static size_t range_dash(const Scan *sc, const Figure *f)
{
    size_t dash = prefix_at(sc, f->end, "-", 1) + prefix_at(sc, f->end, "\xE2\x80\x93", 3);
    if (!dash || !sc->rules->to || !digit_run(sc, f->end + dash))
        return 0;
    Figure next;
    read_figure(sc, &next, f->end + dash);
    return dash == 3 || (is_year(f) && is_year(&next)) ? dash : 0;
}

/* What kind of number it is, from the surest sign to the weakest: dots, leading zero, suffix, sign, date,
 * year. */
static void speak_figure(Scan *sc, size_t at, int negative)
{
    Figure f;
    int feminine;
    size_t length, end;
    read_figure(sc, &f, at);
    before_number(sc);
    if (f.dotted) {
        say_dotted(sc, at);
        return;
    }
    if (f.digits > MAX_DIGITS || (f.digits > 1 && sc->s[at] == '0' && !f.fraction_digits)) {
        say_digits(sc, sc->s + at, f.end - at);
        after_number(sc, f.end);
        return;
    }
    if (!f.fraction_digits && (length = ordinal_suffix(sc, f.end, &feminine))) {
        say_integer(sc, feminine ? sc->sp->ordinal_feminine : sc->sp->ordinal, f.whole);
        after_number(sc, f.end + length);
        return;
    }
    end = f.end + (f.end < sc->n && sc->s[f.end] == ' ');
    if (end < sc->n && sc->s[end] == '%') {
        after_number(sc, say_percent(sc, &f, end, negative));
        return;
    }
    /* "5 €": the sign behind the number. */
    const char *iso = end < sc->n ? number_rules_currency(sc->s + end, sc->n - end, &length) : NULL;
    if (iso && !digit_run(sc, end + length)) {
        after_number(sc, say_money(sc, &f, iso, end + length));
        return;
    }
    if (try_day(sc, &f) || try_fraction(sc, &f))
        return;
    if (sc->rules->english && is_year(&f) && f.whole % 10 == 0 && prefix_at(sc, f.end, "s", 1) &&
        word_ends(sc, f.end + 1)) {
        say_decade(sc, f.whole);
        after_number(sc, f.end + 1);
        return;
    }
    const char *sign = sc->rules->date_signs[0];
    int as_year = sc->rules->years == YEARS_ALWAYS ||
                  (sc->rules->years == YEARS_BEFORE_SIGN && prefix_at(sc, f.end, sign, strlen(sign)));
    if (!negative && as_year && is_year(&f))
        say_year(sc, f.whole);
    else if (sc->sp->before_noun && !f.fraction_digits && prefix_at(sc, f.end, " ", 1) &&
             letter_at(sc, f.end + 1))
        say_integer(sc, sc->sp->before_noun, negative ? -f.whole : f.whole);
    else
        say_value(sc, &f, negative);
    if ((length = range_dash(sc, &f))) {
        gap(sc);
        say(sc, sc->rules->to);
        gap(sc);
        sc->at = f.end + length;
        return;
    }
    after_number(sc, f.end);
}

/* Digits of other scripts and their separators as ASCII. */
static void to_ascii_digits(Buf *out, const char *s, size_t n)
{
    size_t from = 0;
    for (size_t i = 0; i < n;) {
        size_t start = i;
        if (!((uint8_t)s[i] & 0x80)) {
            i++;
            continue;
        }
        uint32_t cp = unicode_next(s, n, &i);
        char c = cp >= 0x660 && cp <= 0x669     ? (char)('0' + cp - 0x660)
                 : cp >= 0x6F0 && cp <= 0x6F9   ? (char)('0' + cp - 0x6F0)
                 : cp >= 0xFF10 && cp <= 0xFF19 ? (char)('0' + cp - 0xFF10)
                 : cp == 0x66B                  ? '.'
                 : cp == 0x66C                  ? ','
                 : cp == 0x66A || cp == 0xFF05  ? '%'
                                                : 0;
        if (c) {
            buf_add(out, s + from, start - from);
            buf_add(out, &c, 1);
            from = i;
        }
    }
    buf_add(out, s + from, n - from);
}

/* One look at each byte; *other: there are digits of other scripts. */
static int has_digit(const char *s, size_t n, int *other)
{
    int any = 0;
    *other = 0;
    for (size_t i = 0; i < n; i++) {
        if (is_digit(s[i]))
            any = 1;
        else if (i + 1 < n &&
                 ((s[i] == (char)0xD9 && (uint8_t)s[i + 1] >= 0xA0 && (uint8_t)s[i + 1] <= 0xA9) ||
                  (s[i] == (char)0xDB && (uint8_t)s[i + 1] >= 0xB0 && (uint8_t)s[i + 1] <= 0xB9) ||
                  (s[i] == (char)0xEF && s[i + 1] == (char)0xBC)))
            any = *other = 1;
    }
    return any;
}

/* A sign before a number: minus after a space or an opening bracket, money, '#'. 1 when it took the number
 * with it. */
static int try_sign(Scan *sc)
{
    size_t at = sc->at, length = prefix_at(sc, at, "-", 1) + prefix_at(sc, at, "\xE2\x88\x92", 3);
    if (length && digit_run(sc, at + length) && (at == 0 || strchr(" (['\"", sc->s[at - 1]))) {
        speak_figure(sc, at + length, 1);
        return 1;
    }
    /* "#5" is number five. */
    if (sc->s[at] == '#' && digit_run(sc, at + 1) && sc->rules->english) {
        before_number(sc);
        say(sc, "number ");
        speak_figure(sc, at + 1, 0);
        return 1;
    }
    Figure f;
    if (sc->s[at] == '%' && sc->rules->percent_first && digit_run(sc, at + 1)) {
        read_figure(sc, &f, at + 1);
        before_number(sc);
        say_percent(sc, &f, at, 0);
        after_number(sc, f.end);
        return 1;
    }
    /* "$5", "$ 5": the sign before the number. */
    const char *iso = number_rules_currency(sc->s + at, sc->n - at, &length);
    if (!iso)
        return 0;
    size_t digits = at + length + (at + length < sc->n && sc->s[at + length] == ' ');
    if (!digit_run(sc, digits))
        return 0;
    read_figure(sc, &f, digits);
    if (f.dotted || f.digits > MAX_DIGITS)
        return 0;
    before_number(sc);
    after_number(sc, say_money(sc, &f, iso, f.end));
    return 1;
}

/* ---- the line ----
 *
 * Each number is looked at once, from the left. */
int numbers_expand(Numbers *n, Buf *out, const char *text, size_t len, const char *language)
{
    int other;
    if (!has_digit(text, len, &other))
        return 0;
    Speller *sp = find_speller(n, language);
    if (!sp || !sp->rules)
        return 0;
    if (other) {
        buf_clear(&n->plain);
        to_ascii_digits(&n->plain, text, len);
        if (n->plain.failed)
            return ERR_NOMEM;
        text = n->plain.data;
        len = n->plain.size;
    }
    /* Bytes that are no number are copied as they are. */
    Scan sc = {.sp = sp, .rules = sp->rules, .out = out, .s = text, .n = len};
    while (sc.at < sc.n) {
        size_t at = sc.at;
        char c = text[at];
        if (is_digit(c)) {
            if (!try_date(&sc, at) && !try_time(&sc, at))
                speak_figure(&sc, at, 0);
        } else if ((!strchr("-#$%", c) && !(c & 0x80)) || !try_sign(&sc)) {
            buf_add(out, text + at, 1);
            sc.at++;
        }
    }
    return out->failed ? ERR_NOMEM : 1;
}
