/* number_forms.c - see number_forms.h. */
#include "text/aloud/number_forms.h"

#include <string.h>

#include "text/aloud/number_rules.h"
#include "text/unicode.h"

/* ---- dates and times ---- */

/* Three numbers with the same mark between them; end: behind the last. 1 if they are there. */
static int read_three(const Scan *sc, size_t at, int parts[3], size_t digits[3], size_t *end)
{
    char mark = 0;
    for (int i = 0; i < 3; i++) {
        digits[i] = scan_digits(sc, at);
        if (!digits[i] || digits[i] > 4)
            return 0;
        parts[i] = (int)scan_parse(sc->s + at, digits[i]);
        at += digits[i];
        if (i == 2)
            break;
        if (at >= sc->n || !strchr("./-", sc->s[at]) || (mark && sc->s[at] != mark))
            return 0;
        mark = sc->s[at++];
    }
    *end = at;
    return scan_word_ends(sc, at);
}

/* 3.10.2021, 03/10/1990, 1402/5/12. */
static int try_date(Scan *sc, size_t at)
{
    int parts[3];
    size_t digits[3], end;
    if (!read_three(sc, at, parts, digits, &end))
        return 0;
    int first = digits[0] == 4;
    int year = first ? parts[0] : parts[2], month = parts[1], day = first ? parts[2] : parts[0];
    if ((!first && digits[2] != 4) || digits[1] > 2 || (first && !sc->rules->year_first) || month < 1 ||
        month > 12 || day < 1 || day > 31)
        return 0;
    scan_say_date(sc, year, month, day);
    scan_after_number(sc, end);
    return 1;
}

/* "am 24.12.": two numbers, each with its full stop. */
static int try_day_and_month(Scan *sc, size_t at)
{
    size_t d = scan_digits(sc, at), m = at + d + 1, n = scan_digits(sc, m);
    if (!sc->rules->ordinal_days || d < 1 || d > 2 || n < 1 || n > 2 || !scan_prefix(sc, at + d, ".", 1) ||
        !scan_prefix(sc, m + n, ".", 1) || scan_digits(sc, m + n + 1))
        return 0;
    int day = (int)scan_parse(sc->s + at, d), month = (int)scan_parse(sc->s + m, n);
    if (day < 1 || day > 31 || month < 1 || month > 12)
        return 0;
    scan_say_date(sc, 0, month, day);
    scan_after_number(sc, m + n + (m + n + 1 < sc->n));
    return 1;
}

static void say_hours(Scan *sc, int hours)
{
    const NumberRules *r = sc->rules;
    if (hours == 1 && r->one_hour)
        scan_say(sc, r->one_hour);
    else
        scan_say_integer(sc, NULL, hours);
    if (r->hour) {
        scan_say(sc, " ");
        scan_say(sc, hours < 2 && r->hour_below_two ? r->hour_below_two : r->hour);
    }
}

/* "14.30 Uhr", "14h30", "14 h 30", "9h". */
static int try_hours(Scan *sc, size_t at)
{
    const NumberRules *r = sc->rules;
    size_t h = scan_digits(sc, at), next = at + h;
    if (h < 1 || h > 2)
        return 0;
    int hours = (int)scan_parse(sc->s + at, h), minutes = 0;
    size_t end;
    if (r->hour_sign) {
        size_t blank = scan_prefix(sc, next, " ", 1), sign = strlen(r->hour_sign);
        if (!scan_prefix(sc, next + blank, r->hour_sign, sign) || scan_letter_at(sc, next + blank + sign))
            return 0;
        end = next + blank + sign;
        size_t gap = scan_prefix(sc, end, " ", 1);
        if (scan_digits(sc, end + gap) == 2) {
            minutes = (int)scan_parse(sc->s + end + gap, 2);
            end += gap + 2;
        }
    } else {
        if (!r->dotted_times || !scan_prefix(sc, next, ".", 1) || scan_digits(sc, next + 1) != 2)
            return 0;
        minutes = (int)scan_parse(sc->s + next + 1, 2);
        end = next + 3;
        size_t word = r->hour ? strlen(r->hour) : 0;
        int named = word && scan_prefix(sc, end, " ", 1) && scan_prefix(sc, end + 1, r->hour, word);
        if ((r->dotted_times == 2 && !named) || scan_prefix(sc, end, ".", 1))
            return 0;
        end += named ? 1 + word : 0;
    }
    if (hours > 24 || minutes > 59 || !scan_word_ends(sc, end))
        return 0;
    say_hours(sc, hours);
    if (minutes) {
        scan_say(sc, " ");
        scan_say_integer(sc, NULL, minutes);
    }
    scan_after_number(sc, end);
    return 1;
}

/* The half of the day behind the clock; returns where it ends. */
static size_t say_half_of_day(Scan *sc, size_t end)
{
    for (int i = 0; i < 4 && sc->rules->halves_of_day[i]; i += 2) {
        size_t n = strlen(sc->rules->halves_of_day[i]);
        if (scan_prefix(sc, end, " ", 1) && scan_prefix(sc, end + 1, sc->rules->halves_of_day[i], n) &&
            scan_word_ends(sc, end + 1 + n)) {
            scan_say(sc, " ");
            scan_say(sc, sc->rules->halves_of_day[i + 1]);
            return end + 1 + n;
        }
    }
    return end;
}

size_t form_clock(Scan *sc, int hours, int minutes, size_t end)
{
    const NumberRules *r = sc->rules;
    if (!r->minute_link && !(r->zero_minute && minutes && minutes < 10))
        return 0;
    if (r->hours && hours >= 1 && hours <= 12)
        scan_say(sc, r->hours[hours - 1]);
    else
        say_hours(sc, hours);
    if (minutes && r->hours && (minutes == 15 || minutes == 30)) {
        scan_say(sc, " ");
        scan_say(sc, r->quarter_and_half[minutes == 30]);
    } else if (minutes) {
        scan_say(sc, " ");
        scan_say(sc, r->minute_link ? r->minute_link : r->zero_minute);
        /* Arabic joins its "and" to the next word. */
        if (!r->hours)
            scan_say(sc, " ");
        scan_say_integer(sc, NULL, minutes);
        if (r->minute) {
            scan_say(sc, " ");
            scan_say(sc, r->minute);
        }
    }
    return say_half_of_day(sc, end);
}

/* ---- figures ---- */

void form_ordinal(Scan *sc, int64_t value, int feminine)
{
    scan_say_integer(sc, feminine ? sc->sp->ordinal_feminine : sc->sp->ordinal, value);
    const char *end = sc->rules->ordinal_end;
    if (!end || sc->sp->ordinal)
        return;
    if (scan_has_said(sc->out, "سه")) { /* sevvom */
        sc->out->size -= 2;
        scan_say(sc, "و");
    }
    scan_say(sc, scan_has_said(sc->out, "ی") ? "\u200C\u0627" : "");
    scan_say(sc, end);
}

/* "3. g\u00FCn": an ordinal, if the sentence continues. */
static int try_stopped_ordinal(Scan *sc, const Figure *f)
{
    size_t next = f->end + 2;
    if (!sc->rules->stopped_ordinal || f->fraction_digits || f->digits > 3 ||
        !scan_prefix(sc, f->end, ". ", 2) || !scan_letter_at(sc, next))
        return 0;
    size_t at = next;
    if (unicode_is_upper(unicode_next(sc->s, sc->n, &at)))
        return 0;
    form_ordinal(sc, f->whole, 0);
    scan_after_number(sc, f->end + 1);
    return 1;
}

/* "3/5" before the word for percent: Persian writes decimals so. */
static int try_slash_decimal(Scan *sc, const Figure *f)
{
    size_t run = scan_prefix(sc, f->end, "/", 1) ? scan_digits(sc, f->end + 1) : 0, end = f->end + 1 + run;
    size_t word = strlen(sc->rules->percent[0]);
    if (!sc->rules->slash_decimal || !run || run > 2 || f->fraction_digits || !scan_prefix(sc, end, " ", 1) ||
        !scan_prefix(sc, end + 1, sc->rules->percent[0], word))
        return 0;
    scan_say_integer(sc, NULL, f->whole);
    scan_say(sc, " \u0645\u0645\u06CC\u0632 ");
    scan_say_integer(sc, NULL, scan_parse(sc->s + f->end + 1, run));
    scan_after_number(sc, end);
    return 1;
}

int form_figure(Scan *sc, size_t at, const Figure *f)
{
    return try_date(sc, at) || try_day_and_month(sc, at) || try_hours(sc, at) || try_stopped_ordinal(sc, f) ||
           try_slash_decimal(sc, f);
}

/* ---- units and money ---- */

/* The number before a noun: "ein Kilometer", "veinti\u00FAn euros". */
static int say_count(Scan *sc, const Figure *f, int negative)
{
    int one = f->whole == 1 && !f->fraction_digits && !negative;
    if (one && sc->rules->one_before_noun)
        scan_say(sc, sc->rules->one_before_noun);
    else if (sc->sp->before_noun && !f->fraction_digits)
        scan_say_integer(sc, sc->sp->before_noun, negative ? -f->whole : f->whole);
    else
        scan_say_value(sc, f, negative);
    return one;
}

int form_unit(Scan *sc, const Figure *f, int negative)
{
    size_t apart = scan_prefix(sc, f->end, " ", 1), length = 0;
    const UnitName *unit = NULL;
    for (const UnitName *u = sc->rules->units; u && u->sign; u++) {
        size_t n = strlen(u->sign), at = f->end + apart;
        if (n > length && scan_prefix(sc, at, u->sign, n) && scan_word_ends(sc, at + n) &&
            !(u->flags & UNIT_YEAR && !figure_is_year(f))) {
            unit = u;
            length = n;
        }
    }
    if (!unit || (unit->flags & UNIT_APART && !apart))
        return 0;
    size_t end = f->end + apart + length;
    /* The full stop belongs to the unit unless it ends the text. */
    if (unit->flags & UNIT_STOPPED && scan_prefix(sc, end, ".", 1) && end + 1 < sc->n)
        end++;
    int one = say_count(sc, f, negative);
    scan_say(sc, " ");
    scan_say(sc, one ? unit->one : unit->many);
    scan_after_number(sc, end);
    return 1;
}

void form_money(Scan *sc, const Figure *f, const MoneyNames *m)
{
    Figure whole = *f;
    int cents = f->fraction_digits == 2 && sc->rules->cents_after;
    if (cents)
        whole.fraction_digits = 0;
    int one = say_count(sc, &whole, 0);
    scan_say(sc, " ");
    scan_say(sc, one ? m->one : m->many);
    if (!cents || !f->fraction)
        return;
    scan_say(sc, " ");
    if (*sc->rules->cents_after) {
        scan_say(sc, sc->rules->cents_after);
        scan_say(sc, " ");
    }
    scan_say_integer(sc, NULL, f->fraction);
    if (m->small_many) {
        scan_say(sc, " ");
        scan_say(sc, m->small_many);
    }
}
