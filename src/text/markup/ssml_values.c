/* ssml_values.c - see ssml_values.h. Labels, and percentages and numbers without a sign, are relative to the
 * voice's usual manner; those with a sign are relative to the enclosing element. */
#include "text/markup/ssml_values.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "text/aloud/speller.h"
#include "text/unicode.h"

typedef struct Label {
    const char *name;
    double value;
} Label;

static int find_label(const Label *all, size_t count, const char *name, double *value)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(all[i].name, name)) {
            *value = all[i].value;
            return 1;
        }
    return 0;
}
#define FIND_LABEL(all, name, value) find_label(all, sizeof(all) / sizeof *(all), name, value)

/* "+10%": 10, its sign and what follows. NULL: it is no number. */
static const char *read_number(const char *s, double *value, int *is_signed)
{
    char *end;
    s += strspn(s, " ");
    *is_signed = *s == '+' || *s == '-';
    const char *first = s + *is_signed;
    if (!(*first >= '0' && *first <= '9') && *first != '.')
        return NULL;
    if (strspn(first, "0123456789.") > 12) /* nobody means that */
        return NULL;
    *value = strtod(s, &end);
    if (end - s > (ptrdiff_t)(strspn(first, "0123456789.") + (size_t)*is_signed)) /* 0x10, 1e9 */
        return NULL;
    return end == first || !isfinite(*value) ? NULL : end;
}

static int is_unit(const char *behind, const char *unit)
{
    const size_t n = strlen(unit);
    behind += strspn(behind, " ");
    return !strncasecmp(behind, unit, n) && !behind[n + strspn(behind + n, " ")];
}

static double within(double x, double low, double high) { return x < low ? low : x > high ? high : x; }

int ssml_rate(MarkupManner *m, const char *value)
{
    static const Label labels[] = {{"x-slow", 0.5}, {"slow", 0.75}, {"medium", 1},
                                   {"default", 1},  {"fast", 1.25}, {"x-fast", 1.6}};
    double x, rate;
    int is_signed;
    const char *behind = read_number(value, &x, &is_signed);
    if (FIND_LABEL(labels, value, &x))
        rate = x;
    else if (behind && is_unit(behind, "%"))
        rate = is_signed ? m->rate * (1 + x / 100) : x / 100;
    else if (behind && is_unit(behind, "") && !is_signed)
        rate = x;
    else
        return 0;
    m->rate = within(rate, 0.25, 4);
    return 1;
}

int ssml_pitch(MarkupManner *m, const char *value)
{
    static const Label labels[] = {{"x-low", -6},  {"low", -3}, {"medium", 0},
                                   {"default", 0}, {"high", 3}, {"x-high", 6}};
    double x;
    int is_signed;
    const char *behind = read_number(value, &x, &is_signed);
    if (FIND_LABEL(labels, value, &x)) {
        m->pitch = x;
        m->hz = m->base_hz = 0;
        return 1;
    }
    if (!behind)
        return 0;
    if (is_unit(behind, "st") && is_signed)
        m->pitch += x;
    else if (is_unit(behind, "%") && (is_signed ? x > -100 : x > 0))
        m->pitch = is_signed ? m->pitch + 12 * log2(1 + x / 100) : 12 * log2(x / 100);
    else if (is_unit(behind, "hz") && is_signed)
        m->hz += x;
    else if (is_unit(behind, "hz") && x > 0) {
        m->base_hz = x;
        m->pitch = m->hz = 0;
    } else
        return 0;
    m->pitch = within(m->pitch, -24, 24);
    return 1;
}

int ssml_volume(MarkupManner *m, const char *value)
{
    static const Label labels[] = {{"silent", 0},  {"x-soft", 0.25}, {"soft", 0.5}, {"medium", 1},
                                   {"default", 1}, {"loud", 2},      {"x-loud", 4}};
    double x, volume;
    int is_signed;
    const char *behind = read_number(value, &x, &is_signed);
    if (FIND_LABEL(labels, value, &x))
        volume = x;
    else if (behind && is_unit(behind, "db"))
        volume = (is_signed ? m->volume : 1) * pow(10, within(x, -100, 100) / 20);
    else if (behind && is_unit(behind, "%") && is_signed)
        volume = m->volume * (1 + x / 100);
    else if (behind && (is_unit(behind, "") || is_unit(behind, "%"))) /* 0 to 100, which is as it is */
        volume = is_signed ? m->volume + x / 100 : x / 100;
    else
        return 0;
    m->volume = within(volume, 0, 16);
    return 1;
}

int ssml_emphasis(MarkupManner *m, const char *value)
{
    static const Label labels[] = {{"strong", 1}, {"moderate", 0.5}, {"reduced", -0.5}, {"none", 0}};
    m->emphasis = 0.5;
    return !value || FIND_LABEL(labels, value, &m->emphasis);
}

int ssml_time(double *seconds, const char *value)
{
    double x;
    int is_signed;
    const char *behind = read_number(value, &x, &is_signed);
    if (!behind || x < 0 || (!is_unit(behind, "s") && !is_unit(behind, "ms")))
        return 0;
    *seconds = is_unit(behind, "ms") ? x / 1000 : x;
    return 1;
}

int ssml_strength(double *seconds, const char *value)
{
    static const Label labels[] = {{"none", 0},     {"x-weak", 0.1}, {"weak", 0.2},
                                   {"medium", 0.4}, {"strong", 0.7}, {"x-strong", 1.2}};
    return FIND_LABEL(labels, value, seconds);
}

/* --- say-as --- */

static int is_digit(char c) { return c >= '0' && c <= '9'; }

/* A mark that would otherwise be a pause; NULL: it is none. */
static const char *sign_name(uint32_t cp)
{
    static const struct {
        char sign;
        const char *name;
    } names[] = {{'.', "dot"},           {',', "comma"},   {'-', "dash"},      {'/', "slash"},
                 {'_', "underscore"},    {':', "colon"},   {';', "semicolon"}, {'!', "exclamation mark"},
                 {'?', "question mark"}, {'(', "bracket"}, {')', "bracket"},   {'\'', "apostrophe"},
                 {'"', "quote"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (cp == (uint32_t)names[i].sign)
            return names[i].name;
    return NULL;
}

/* Letter by letter, capitals; but "A" alone is an article. */
static void say_characters(Buf *out, const char *p, size_t n, int english, int phonemes)
{
    for (size_t i = 0; i < n;) {
        const size_t from = i;
        uint32_t cp = unicode_next(p, n, &i);
        if (unicode_is_space(cp))
            continue;
        if (out->size)
            buf_str(out, " ");
        if (english && phonemes && (cp | 32) == 'a')
            buf_str(out, "[[ˈeɪ]]");
        else if (sign_name(cp))
            buf_str(out, english ? sign_name(cp) : ",");
        else if (cp >= 'a' && cp <= 'z')
            unicode_append(out, cp - 32);
        else
            buf_add(out, p + from, i - from);
    }
}

/* Digit by digit, with a pause where something else stands between them. */
static void say_digits(Buf *out, const char *p, size_t n, int groups)
{
    int apart = 0;
    for (size_t i = 0; i < n; i++) {
        if (groups && p[i] == '+' && !out->size) {
            buf_str(out, "plus");
            continue;
        }
        if (!is_digit(p[i])) {
            apart = 1;
            continue;
        }
        if (out->size)
            buf_str(out, groups && apart && out->size && is_digit(out->data[out->size - 1]) ? ", " : " ");
        buf_add(out, p + i, 1);
        apart = 0;
    }
}

static int roman(const char *p, size_t n)
{
    static const char digits[] = "IVXLCDM";
    static const int values[] = {1, 5, 10, 50, 100, 500, 1000};
    int sum = 0;
    for (size_t i = 0; i < n; i++) {
        const char *at = strchr(digits, p[i]), *next = i + 1 < n ? strchr(digits, p[i + 1]) : NULL;
        if (!at || !p[i] || sum > 4000)
            return 0;
        const int value = values[at - digits];
        sum += next && p[i + 1] && values[next - digits] > value ? -value : value;
    }
    return sum > 0 && sum < 4000 ? sum : 0;
}

/* The digits of a number, without blanks; a Roman one in digits. */
static void say_number(Buf *out, const char *p, size_t n)
{
    const int value = roman(p, n);
    if (value)
        buf_printf(out, "%d", value);
    for (size_t i = 0; i < n && !value; i++)
        if (p[i] != ' ' || !i || i + 1 == n || !is_digit(p[i - 1]) || !is_digit(p[i + 1]))
            buf_add(out, p + i, 1);
}

/* In words, by ICU; a language without ordinals has a number. */
static void say_ordinal(Buf *out, const char *p, size_t n, const char *language)
{
    enum { MOST_UNITS = 400 };
    Speller sp = {0};
    UErrorCode status = U_ZERO_ERROR;
    UChar words[MOST_UNITS];
    Buf number = {0};
    say_number(&number, p, n);
    const char *digits = number.data ? number.data : "";
    const size_t count = strspn(digits, "0123456789");
    speller_open(&sp, language);
    const int32_t units =
        sp.ordinal && count && count == number.size && count < 16
            ? unum_formatInt64(sp.ordinal, strtoll(digits, NULL, 10), words, MOST_UNITS, NULL, &status)
            : 0;
    if (units > 0 && units < MOST_UNITS && U_SUCCESS(status))
        unicode_append_utf16(out, (const uint16_t *)words, (size_t)units);
    else
        buf_add(out, digits, number.size);
    speller_close(&sp);
    buf_free(&number);
}

/* Figures in the order of the format ("mdy"): 1, and what is read as a date; 0: they are no date. */
static int say_date(Buf *out, const char *p, size_t n, const char *format, const char *language)
{
    static const char *const months[] = {"January",   "February", "March",    "April",
                                         "May",       "June",     "July",     "August",
                                         "September", "October",  "November", "December"};
    long year = -1, month = -1, day = -1;
    size_t i = 0;
    for (const char *f = format; *f; f++) {
        long value = 0;
        while (i < n && !is_digit(p[i])) {
            if (!strchr("-/. ", p[i]))
                return 0; /* the month is a word: it is read as it is */
            i++;
        }
        if (i == n)
            return 0;
        /* 20060512 with "ymd": four digits, two, two */
        for (size_t most = *f == 'y' ? 4 : 2; i < n && is_digit(p[i]) && most; i++, most--)
            value = value * 10 + (p[i] - '0');
        *(*f == 'y' ? &year : *f == 'm' ? &month : &day) = value;
    }
    while (i < n && strchr("-/. ", p[i]))
        i++;
    if (i < n || (month != -1 && (month < 1 || month > 12)) || (day != -1 && (day < 1 || day > 31)))
        return 0;
    const int whole = year >= 0 && month > 0 && day > 0;
    if (!strcmp(language, "en")) {
        if (month > 0)
            buf_printf(out, "%s", months[month - 1]);
        if (day > 0)
            buf_printf(out, "%s%ld", out->size ? " " : "", day);
        if (year >= 0)
            buf_printf(out, "%s%ld", out->size ? (day > 0 ? ", " : " ") : "", year);
        return 1;
    }
    if (whole && year > 31) {
        buf_printf(out, "%04ld-%02ld-%02ld", year, month, day);
        return 1;
    }
    return 0;
}

/* "USD45.30" is $45.30. */
static void say_currency(Buf *out, const char *p, size_t n)
{
    static const struct {
        const char *code, *sign;
    } known[] = {{"USD", "$"}, {"EUR", "€"}, {"GBP", "£"}, {"JPY", "¥"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const int before = n > 3 && !memcmp(p, known[i].code, 3),
                  behind = n > 3 && !before && !memcmp(p + n - 3, known[i].code, 3);
        if (!before && !behind)
            continue;
        const char *from = before ? p + 3 : p;
        size_t left = n - 3;
        for (; left && *from == ' '; left--)
            from++;
        while (left && from[left - 1] == ' ')
            left--;
        buf_str(out, known[i].sign);
        buf_add(out, from, left);
        return;
    }
    buf_add(out, p, n);
}

static int is_one_of(const char *what, const char *const *all)
{
    for (; *all; all++)
        if (!strcmp(what, *all))
            return 1;
    return 0;
}

int ssml_say_as(Buf *out, const char *p, size_t n, const char *as, const char *format, const char *language,
                int phonemes)
{
    static const char *const
        letters[] = {"characters", "spell-out", "verbatim", NULL},
        *const digits[] = {"digits", NULL}, *const numbers[] = {"cardinal", "number", NULL},
        *const phones[] = {"telephone", "phone", NULL}, *const plain[] = {"time",    "fraction", "unit",
                                                                          "address", "name",     NULL};
    const size_t before = out->size;
    while (n && strchr(" \t\r\n", *p)) {
        p++;
        n--;
    }
    while (n && strchr(" \t\r\n", p[n - 1]))
        n--;
    if (!n)
        return 1;
    if (is_one_of(as, letters))
        say_characters(out, p, n, !strcmp(language, "en"), phonemes);
    else if (is_one_of(as, digits))
        say_digits(out, p, n, 0);
    else if (is_one_of(as, phones))
        say_digits(out, p, n, 1);
    else if (!strcmp(as, "ordinal") || (!strcmp(as, "number") && format && !strcmp(format, "ordinal")))
        say_ordinal(out, p, n, language);
    else if (!strcmp(as, "number") && format && (!strcmp(format, "digits") || !strcmp(format, "telephone")))
        say_digits(out, p, n, *format == 't');
    else if (is_one_of(as, numbers))
        say_number(out, p, n);
    else if (!strcmp(as, "currency"))
        say_currency(out, p, n);
    else if (!strcmp(as, "date"))
        say_date(out, p, n, format && strspn(format, "ymd") == strlen(format) && *format ? format : "mdy",
                 language);
    else if (!is_one_of(as, plain)) {
        buf_add(out, p, n);
        return 0;
    }
    if (out->size == before) /* it is no number, date, ...: as it is */
        buf_add(out, p, n);
    return 1;
}
