/* numbers.c - see numbers.h. A line is scanned once from left to right; what each number is decides how it is
 * spelled. The habits of the languages are in config/languages.c. */
#include "text/aloud/numbers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unicode/ucurr.h>
#include <unicode/ustring.h>

#include "text/aloud/english_numbers.h"
#include "text/aloud/number_forms.h"
#include "text/aloud/number_rules.h"
#include "text/markup/scan.h"
#include "text/unicode.h"

enum { MAX_SPELLERS = 32 };

struct Numbers {
    Speller spellers[MAX_SPELLERS];
    int count;
    Buf plain; /* the text with ASCII digits */
};

/* ---- reading a number ---- */

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

/* Bytes of a hyphen or an en dash at `at`. */
static size_t dash_at(const Scan *sc, size_t at)
{
    return scan_prefix(sc, at, "-", 1) + scan_prefix(sc, at, "\u2013", 3);
}

/* Bytes of an ordinal suffix at `at`, 0 when there is none. */
static size_t ordinal_suffix(const Scan *sc, size_t at, int *feminine)
{
    const char *p = sc->rules->ordinals;
    *feminine = 0;
    while (*p) {
        size_t n = strcspn(p, " |");
        int same = sc->rules->english ? at + n <= sc->n && !strncasecmp(sc->s + at, p, n) /* "11TH" */
                                      : scan_prefix(sc, at, p, n) != 0;
        if (n && same && scan_word_ends(sc, at + n))
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

/* Returns where the text continues after the sign. */
static size_t say_percent(Scan *sc, const Figure *f, size_t at, int negative)
{
    char keyword[16];
    const char *word = sc->rules->percent[plural_form(sc, figure_value(f), keyword)];
    if (!word)
        word = sc->rules->percent[0];
    if (sc->rules->percent_first) {
        scan_say(sc, word);
        scan_gap(sc);
    }
    scan_say_value(sc, f, negative);
    if (!sc->rules->percent_first) {
        scan_gap(sc);
        scan_say(sc, word);
    }
    return at + 1;
}

/* sign: where the sum begins, end: where the figure and its sign end. Returns where the text continues. */
static size_t say_money(Scan *sc, const Figure *f, const char *iso, size_t sign, size_t end)
{
    const MoneyNames *m = number_rules_money(sc->rules, iso);
    if (m && sc->rules->english)
        return english_money(sc, f, m, sign, end);
    if (m) {
        form_money(sc, f, m);
        return end;
    }
    char keyword[16];
    UChar wide[4];
    UErrorCode status = U_ZERO_ERROR;
    int32_t n = 0;
    plural_form(sc, figure_value(f), keyword);
    u_uastrcpy(wide, iso);
    const UChar *name = ucurr_getPluralName(wide, sc->sp->code, NULL, keyword, &n, &status);
    scan_say_value(sc, f, 0);
    if (name && U_SUCCESS(status)) {
        scan_gap(sc);
        scan_say_wide(sc->out, name, n);
    }
    return end;
}

/* The words of a time, whose digits end at `end`. next: what follows them. half: a.m. or p.m. does. Returns
 * where the time ends. */
static size_t say_time(Scan *sc, int hours, int minutes, int seconds, size_t end, size_t next, int half)
{
    const int english = sc->rules->english;
    if (hours == 1 && sc->rules->one_hour)
        scan_say(sc, sc->rules->one_hour);
    else
        scan_say_integer(sc, NULL, hours);
    if (sc->rules->hour) {
        scan_say(sc, " ");
        scan_say(sc, hours < 2 && sc->rules->hour_below_two ? sc->rules->hour_below_two : sc->rules->hour);
        size_t word = strlen(sc->rules->hour);
        if (next > end && scan_prefix(sc, next, sc->rules->hour, word) && scan_word_ends(sc, next + word))
            end = next + word; /* "12:30 Uhr" has it already */
    }
    if (minutes) {
        scan_gap(sc);
        if (english && minutes < 10)
            scan_say(sc, "oh ");
        scan_say_integer(sc, NULL, minutes);
    } else if (english && !half && seconds < 0) {
        scan_say(sc, hours <= 12 ? " o'clock" : " hundred");
    }
    if (seconds >= 0) {
        scan_say(sc, english ? " and " : sc->rules->joined ? "" : " ");
        scan_say_integer(sc, NULL, seconds);
        if (english)
            scan_say(sc, seconds == 1 ? " second" : " seconds");
    }
    return end;
}

/* hh:mm or hh:mm:ss at `at`; 1 when it was one and has been said. */
static int try_time(Scan *sc, size_t at)
{
    size_t h = scan_digits(sc, at), m = at + h;
    if (h < 1 || h > 2 || m >= sc->n || sc->s[m] != ':' || scan_digits(sc, m + 1) != 2)
        return 0;
    int hours = (int)scan_parse(sc->s + at, h), minutes = (int)scan_parse(sc->s + m + 1, 2), seconds = -1;
    size_t end = m + 3;
    if (end < sc->n && sc->s[end] == ':') {
        if (scan_digits(sc, end + 1) != 2)
            return 0;
        seconds = (int)scan_parse(sc->s + end + 1, 2);
        end += 3;
    }
    if (hours > 24 || minutes > 59 || seconds > 59)
        return 0;
    /* "5:00" is five o'clock unless a.m. or p.m. follows; "5:07" is five oh seven. */
    size_t next = end + (end < sc->n && sc->s[end] == ' ');
    const char *half_word = "";
    size_t half = sc->rules->english ? english_half_of_day(sc, end, &half_word) : 0;
    scan_before_number(sc);
    size_t after = seconds < 0 ? form_clock(sc, hours, minutes, end) : 0;
    if (after) {
        scan_after_number(sc, after);
        return 1;
    }
    end = say_time(sc, hours, minutes, seconds, end, next, half > 0);
    const char *sign = sc->rules->clock_sign;
    if (sign && next > end && scan_prefix(sc, next, sign, strlen(sign)) &&
        scan_word_ends(sc, next + strlen(sign)))
        end = next + strlen(sign);
    if (half) {
        scan_say(sc, half_word);
        end = half;
    }
    scan_after_number(sc, end);
    return 1;
}

/* yyyy-mm-dd at `at`; 1 when it was one and has been said. */
static int try_date(Scan *sc, size_t at)
{
    const char *p = sc->s + at;
    if (sc->n - at < 10 || scan_digits(sc, at) != 4 || p[4] != '-' || scan_digits(sc, at + 5) != 2 ||
        p[7] != '-' || scan_digits(sc, at + 8) != 2)
        return 0;
    int year = (int)scan_parse(p, 4), month = (int)scan_parse(p + 5, 2), day = (int)scan_parse(p + 8, 2);
    if (month < 1 || month > 12 || day < 1 || day > 31)
        return 0;
    scan_before_number(sc);
    scan_say_date(sc, year, month, day);
    scan_after_number(sc, at + 10);
    return 1;
}

/* "May 5-7": to seventh. Returns where the text continues. */
static size_t say_last_day(Scan *sc, const Figure *f)
{
    size_t dash = dash_at(sc, f->end), digits = dash ? scan_digits(sc, f->end + dash) : 0;
    if (digits < 1 || digits > 2 || !scan_word_ends(sc, f->end + dash + digits))
        return f->end;
    int64_t last = scan_parse(sc->s + f->end + dash, digits);
    if (last <= f->whole || last > 31)
        return f->end;
    scan_say(sc, " to ");
    scan_say_integer(sc, sc->sp->ordinal, last);
    return f->end + dash + digits;
}

/* A day beside a month's name, in English and German; 1 when it has been said. */
static int try_day(Scan *sc, const Figure *f)
{
    size_t length;
    if (f->digits > 2 || f->fraction_digits || f->whole < 1 || f->whole > 31 || !f->digits)
        return 0;
    if (sc->rules->ordinal_days) {
        if (!scan_prefix(sc, f->end, ". ", 2) ||
            number_rules_month(sc->rules, sc->s + f->end + 2, sc->n - f->end - 2, &length) < 0)
            return 0;
        scan_say_integer(sc, sc->sp->ordinal_dative, f->whole);
        scan_after_number(sc, f->end + 1);
        return 1;
    }
    if (!sc->rules->english)
        return 0;
    if (scan_prefix(sc, f->end, " ", 1) &&
        number_rules_month(sc->rules, sc->s + f->end + 1, sc->n - f->end - 1, &length) >= 0) {
        if (!scan_has_said(sc->out, "the ") && !scan_has_said(sc->out, "The "))
            scan_say(sc, "the ");
        scan_say_integer(sc, sc->sp->ordinal, f->whole);
        scan_say(sc, " of");
        scan_after_number(sc, f->end);
        return 1;
    }
    /* The month may stand before the day: "May 3". */
    for (size_t back = 4; back <= 10; back++) { /* "May " .. "September " */
        if (sc->out->size < back)
            break;
        const char *p = sc->out->data + sc->out->size - back;
        if (number_rules_month(sc->rules, p, back, &length) >= 0 && length + 1 == back && p[length] == ' ' &&
            (back == sc->out->size || !unicode_is_letter((uint8_t)p[-1]))) {
            scan_say_integer(sc, sc->sp->ordinal, f->whole);
            scan_after_number(sc, say_last_day(sc, f));
            return 1;
        }
    }
    return 0;
}

/* Versions and addresses: the parts one after the other. */
static void say_dotted(Scan *sc, size_t at)
{
    for (size_t run; (run = scan_digits(sc, at)); at++) {
        if (run > MAX_DIGITS || (run > 1 && sc->s[at] == '0'))
            scan_say_digits(sc, sc->s + at, run);
        else
            scan_say_integer(sc, NULL, scan_parse(sc->s + at, run));
        at += run;
        if (at + 1 >= sc->n || (sc->s[at] != '.' && sc->s[at] != ',') || !scan_is_digit(sc->s[at + 1]))
            break;
        scan_say(sc, sc->rules->english ? " point " : " ");
    }
    scan_after_number(sc, at);
}

/* What kind of number it is, from the surest sign to the weakest: dots, leading zero, suffix, sign, date,
 * year. */
static void speak_figure(Scan *sc, size_t at, int negative)
{
    Figure f;
    int feminine;
    size_t length, end;
    scan_figure(sc, &f, at);
    scan_before_number(sc);
    if (sc->rules->english ? english_figure(sc, at, &f, negative) : !negative && form_figure(sc, at, &f))
        return;
    if (f.dotted) {
        say_dotted(sc, at);
        return;
    }
    if (f.digits > MAX_DIGITS || (f.digits > 1 && sc->s[at] == '0' && !f.fraction_digits)) {
        scan_say_digits(sc, sc->s + at, f.end - at);
        scan_after_number(sc, f.end);
        return;
    }
    if (!f.fraction_digits && (length = ordinal_suffix(sc, f.end, &feminine))) {
        form_ordinal(sc, f.whole, feminine);
        scan_after_number(sc, f.end + length);
        return;
    }
    end = f.end + (f.end < sc->n && sc->s[f.end] == ' ');
    if (end < sc->n && sc->s[end] == '%') {
        scan_after_number(sc, say_percent(sc, &f, end, negative));
        return;
    }
    /* "5 €": the sign behind the number. */
    const char *iso = end < sc->n ? number_rules_currency(sc->s + end, sc->n - end, &length) : NULL;
    if (iso && !scan_digits(sc, end + length)) {
        scan_after_number(sc, say_money(sc, &f, iso, at, end + length));
        return;
    }
    if (sc->rules->english ? english_unit(sc, at, &f, negative) : form_unit(sc, &f, negative))
        return;
    if (try_day(sc, &f))
        return;
    const char *sign = sc->rules->date_signs[0];
    int as_year = sc->rules->years == YEARS_ALWAYS ||
                  (sc->rules->years == YEARS_BEFORE_SIGN && scan_prefix(sc, f.end, sign, strlen(sign)));
    if (!negative && as_year && figure_is_year(&f))
        scan_say_year(sc, f.whole);
    else if (sc->sp->before_noun && !f.fraction_digits && scan_prefix(sc, f.end, " ", 1) &&
             scan_letter_at(sc, f.end + 1))
        scan_say_integer(sc, sc->sp->before_noun, negative ? -f.whole : f.whole);
    else
        scan_say_value(sc, &f, negative);
    sc->said = f;
    sc->said_plain = 1;
    scan_after_number(sc, f.end);
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
        if (scan_is_digit(s[i]))
            any = 1;
        else if (i + 1 < n &&
                 ((s[i] == (char)0xD9 && (uint8_t)s[i + 1] >= 0xA0 && (uint8_t)s[i + 1] <= 0xA9) ||
                  (s[i] == (char)0xDB && (uint8_t)s[i + 1] >= 0xB0 && (uint8_t)s[i + 1] <= 0xB9) ||
                  (s[i] == (char)0xEF && s[i + 1] == (char)0xBC)))
            any = *other = 1;
    }
    return any;
}

/* A currency sign and digits at `at`. */
static int is_money(const Scan *sc, size_t at)
{
    size_t length;
    return at < sc->n && number_rules_currency(sc->s + at, sc->n - at, &length) &&
           scan_digits(sc, at + length);
}

/* A sign before a number: minus after a space or an opening bracket, money, and what English has. 1 when it
 * has been said. */
static int try_sign(Scan *sc)
{
    size_t at = sc->at, length = scan_prefix(sc, at, "-", 1) + scan_prefix(sc, at, "\u2212", 3);
    int first = at == 0 || strchr(" (['\"", sc->s[at - 1]);
    if (length && scan_digits(sc, at + length) && first) {
        speak_figure(sc, at + length, 1);
        return 1;
    }
    if (length && sc->rules->english && first && is_money(sc, at + length)) {
        scan_say(sc, "minus ");
        sc->at += length;
        return 1;
    }
    if (sc->rules->english && english_sign(sc))
        return 1;
    Figure f;
    if (sc->s[at] == '%' && !sc->rules->english && scan_digits(sc, at + 1)) {
        scan_figure(sc, &f, at + 1);
        scan_before_number(sc);
        say_percent(sc, &f, at, 0);
        scan_after_number(sc, f.end);
        return 1;
    }
    /* "$5", "$ 5": the sign before the number. */
    const char *iso = number_rules_currency(sc->s + at, sc->n - at, &length);
    if (!iso)
        return 0;
    size_t digits = at + length + (at + length < sc->n && sc->s[at + length] == ' ');
    if (!scan_digits(sc, digits))
        return 0;
    scan_figure(sc, &f, digits);
    if (f.dotted || f.digits > MAX_DIGITS)
        return 0;
    if (!sc->rules->english)
        scan_before_number(sc); /* else the letters may say which dollars: "US$5" */
    scan_after_number(sc, say_money(sc, &f, iso, at, f.end));
    return 1;
}

/* A dash right behind what was said last, and another number: "10-12", "$5-$10", "9am-5pm", "6 - 9". 1 when
 * its word has been said; the second number is left to the scan. */
static int try_range(Scan *sc)
{
    size_t at = sc->at;
    if (!sc->said_end || at != sc->said_end || !sc->rules->to)
        return 0;
    size_t blank = scan_prefix(sc, at, " ", 1), dash = dash_at(sc, at + blank), next = at + blank + dash;
    if (!dash || (blank && !scan_prefix(sc, next, " ", 1)))
        return 0;
    next += blank;
    if (!scan_digits(sc, next) && !is_money(sc, next))
        return 0;
    /* More than two numbers are no range: 36-24-36. */
    Figure f;
    scan_figure(sc, &f, next);
    size_t more = dash_at(sc, f.end);
    int chain = sc->in_chain || (more && scan_digits(sc, f.end + more));
    int ascends = figure_value(&sc->said) < figure_value(&f), english = sc->rules->english;
    if (blank && !(sc->said_plain && ascends))
        return 0;
    if (english ? !chain && english_dash(sc, next)
                : dash == 3 || (!chain && sc->said_plain && ascends && sc->s[next] != '0')) {
        scan_gap(sc);
        scan_say(sc, sc->rules->to);
        scan_gap(sc);
    } else if (english) {
        scan_say(sc, " ");
    } else {
        return 0;
    }
    sc->in_chain = chain;
    sc->at = next;
    sc->said_end = 0;
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
        if (try_range(&sc))
            continue;
        sc.said_plain = 0;
        if (scan_is_digit(c)) {
            if (!try_date(&sc, at) && !try_time(&sc, at))
                speak_figure(&sc, at, 0);
        } else if ((!strchr("-#$%+~<>(.", c) && !(c & 0x80)) || !try_sign(&sc)) {
            buf_add(out, text + at, 1);
            sc.at++;
            sc.in_chain = 0;
            continue;
        }
        sc.said_end = sc.at;
    }
    return out->failed ? ERR_NOMEM : 1;
}
