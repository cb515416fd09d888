/* english_units.c - see english_numbers.h: numbers with units, halves of the day, scales ("5M") and money. */
#include <string.h>

#include "text/aloud/english_numbers.h"
#include "text/aloud/number_rules.h"
#include "text/unicode.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static int is_lower(char c) { return c >= 'a' && c <= 'z'; }

/* ---- units ---- */

/* The unit that begins at `at` and ends its word, or NULL. */
static const UnitName *find_unit(const Scan *sc, size_t at, size_t *length)
{
    const UnitName *best = NULL;
    *length = 0;
    for (const UnitName *u = sc->rules->units; u && u->sign; u++) {
        size_t n = strlen(u->sign);
        if (n > *length && scan_prefix(sc, at, u->sign, n) && scan_word_ends(sc, at + n) &&
            !(scan_prefix(sc, at + n, "'", 1) && scan_letter_at(sc, at + n + 1))) { /* "5 A's" */
            best = u;
            *length = n;
        }
    }
    return best;
}

size_t english_unit_after(Scan *sc, size_t end, int one)
{
    size_t length;
    const UnitName *unit = scan_prefix(sc, end, " ", 1) ? find_unit(sc, end + 1, &length) : NULL;
    if (!unit || unit->flags & (UNIT_JOINED | UNIT_NEEDS_STOP) || !scan_letter_at(sc, end + 1))
        return end;
    scan_say(sc, " ");
    scan_say(sc, one ? unit->one : unit->many);
    end += 1 + length;
    return end + (unit->flags & UNIT_STOPPED && scan_prefix(sc, end, ".", 1) && end + 1 < sc->n);
}

/* "per hour", "per kilogram" after a slash; returns where the text continues. */
static size_t say_per(Scan *sc, size_t end)
{
    size_t length;
    if (!scan_prefix(sc, end, "/", 1) || !scan_letter_at(sc, end + 1))
        return end;
    const UnitName *per = find_unit(sc, end + 1, &length);
    scan_say(sc, " per ");
    if (!per)
        return end + 1;
    scan_say(sc, per->one);
    return end + 1 + length;
}

size_t english_half_of_day(const Scan *sc, size_t at, const char **word)
{
    at += scan_prefix(sc, at, " ", 1);
    if (at + 2 > sc->n || !strchr("aApP", sc->s[at]))
        return 0;
    *word = (sc->s[at] | 32) == 'a' ? " AM" : " PM";
    if (strchr("mM", sc->s[at + 1]) && scan_word_ends(sc, at + 2))
        return at + 2;
    if (!scan_prefix(sc, at + 1, ".m.", 3) && !scan_prefix(sc, at + 1, ".M.", 3))
        return 0;
    return at + 4 == sc->n ? at + 3 : at + 4; /* the last full stop also ends the sentence */
}

/* "3pm", "3 PM". */
static int try_half_of_day(Scan *sc, const Figure *f)
{
    const char *word;
    if (f->whole > 12 || f->fraction_digits)
        return 0;
    size_t end = english_half_of_day(sc, f->end, &word);
    if (!end)
        return 0;
    scan_say_integer(sc, NULL, f->whole);
    scan_say(sc, word);
    scan_after_number(sc, end);
    return 1;
}

/* "3.2m people": no metres. */
static int counts_people(const Scan *sc, size_t at)
{
    static const char *const counted[] = {
        "people",    "users",  "viewers",  "votes",   "voters",    "jobs",      "homes",       "households",
        "customers", "copies", "children", "workers", "residents", "tourists",  "visitors",    "refugees",
        "barrels",   "tonnes", "tons",     "cars",    "vehicles",  "followers", "subscribers", "passengers",
        "patients",  "shares", "students", "women",   "men",       "doses",     "years"};
    char word[WORD];
    size_t n = 0;
    if (!scan_prefix(sc, at, " ", 1))
        return 0;
    while (at + 1 + n < sc->n && n + 1 < WORD && is_lower(sc->s[at + 1 + n]))
        n++;
    memcpy(word, sc->s + at + 1, n);
    word[n] = 0;
    return english_has_word(word, counted, COUNT(counted));
}

/* 5M, 2.5bn, 50k: the letters that stand for a scale; money: those that do so after a currency sign only. */
static const char *scale_at(const Scan *sc, size_t at, int money, size_t *length)
{
    static const struct {
        const char *sign, *word;
        int money;
    } scales[] = {{"bn", "billion", 0},         {"mn", "million", 0},       {"mln", "million", 0},
                  {"tn", "trillion", 0},        {"M", "million", 0},        {"k", "thousand", 0},
                  {"m", "million", 1},          {"K", "thousand", 1},       {"b", "billion", 1},
                  {"B", "billion", 1},          {"T", "trillion", 1},       {"MM", "million", 1},
                  {" thousand", "thousand", 1}, {" million", "million", 1}, {" billion", "billion", 1},
                  {" trillion", "trillion", 1}, {" bn", "billion", 1},      {" m", "million", 1}};
    for (size_t i = 0; i < COUNT(scales); i++) {
        *length = strlen(scales[i].sign);
        int people = !money && !strcmp(scales[i].sign, "m") && counts_people(sc, at + 1);
        if ((money || people || !scales[i].money) && scan_prefix(sc, at, scales[i].sign, *length) &&
            scan_word_ends(sc, at + *length))
            return scales[i].word;
    }
    return NULL;
}

int english_unit(Scan *sc, size_t at, const Figure *f, int negative)
{
    size_t length;
    if (try_half_of_day(sc, f))
        return 1;
    const char *scale = scale_at(sc, f->end, 0, &length);
    if (scale) {
        scan_say_value(sc, f, negative);
        scan_say(sc, " ");
        scan_say(sc, scale);
        scan_after_number(sc, f->end + length);
        return 1;
    }
    size_t apart = scan_prefix(sc, f->end, " ", 1), hyphen = scan_prefix(sc, f->end, "-", 1);
    const UnitName *unit = find_unit(sc, f->end + apart + hyphen, &length);
    if (!unit || (unit->flags & UNIT_JOINED && apart) ||
        (unit->flags & UNIT_APART && !apart && !f->fraction_digits))
        return 0;
    size_t end = f->end + apart + hyphen + length;
    /* "6 ft. long": the full stop belongs to the unit unless it ends the sentence. */
    size_t stop = unit->flags & UNIT_STOPPED && scan_prefix(sc, end, ".", 1);
    if (unit->flags & UNIT_NEEDS_STOP && apart && !stop)
        return 0;
    if (stop && end + 2 < sc->n && sc->s[end + 1] == ' ' && is_lower(sc->s[end + 2]))
        end++;
    int one = (f->whole == 1 && !f->fraction_digits) || hyphen ||
              english_is_before_noun(sc, at - (size_t)negative, end);
    scan_say_value(sc, f, negative);
    scan_say(sc, " ");
    scan_say(sc, one ? unit->one : unit->many);
    scan_after_number(sc, say_per(sc, end));
    return 1;
}

/* ---- money ---- */

/* US$, C$: which dollars. The letters have been copied already and are taken back. */
static const char *take_country(Scan *sc, const MoneyNames *m)
{
    static const struct {
        const char *letters, *name;
    } countries[] = {{"US", "US "},         {"CA", "Canadian "},  {"C", "Canadian "},
                     {"AU", "Australian "}, {"A", "Australian "}, {"NZ", "New Zealand "},
                     {"HK", "Hong Kong "},  {"S", "Singapore "}};
    if (strcmp(m->iso, "USD") != 0)
        return "";
    for (size_t i = 0; i < COUNT(countries); i++) {
        size_t n = strlen(countries[i].letters), size = sc->out->size;
        if (scan_has_said(sc->out, countries[i].letters) &&
            (size == n || !unicode_is_letter(unicode_before(sc->out->data, size - n)))) {
            sc->out->size -= n;
            return countries[i].name;
        }
    }
    return "";
}

/* "five dollars and one cent", "one cent", "five point five dollars". */
static void say_sum(Scan *sc, const Figure *f, const MoneyNames *m, const char *country, int one)
{
    if (f->fraction_digits != 2) {
        /* "$1500", but not "$1,500": fifteen hundred dollars. */
        if (f->digits == 4 && !f->grouped && !f->fraction_digits && f->whole % 1000 && f->whole % 100 == 0) {
            scan_say_integer(sc, NULL, f->whole / 100);
            scan_say(sc, " hundred");
        } else {
            scan_say_value(sc, f, 0);
        }
        scan_say(sc, " ");
        scan_say(sc, country);
        scan_say(sc, one || (f->whole == 1 && !f->fraction_digits) ? m->one : m->many);
        return;
    }
    if (f->whole || !f->fraction) {
        scan_say_integer(sc, NULL, f->whole);
        scan_say(sc, " ");
        scan_say(sc, country);
        scan_say(sc, f->whole == 1 ? m->one : m->many);
    }
    if (f->fraction) {
        if (f->whole)
            scan_say(sc, " and ");
        scan_say_integer(sc, NULL, f->fraction);
        scan_say(sc, " ");
        scan_say(sc, f->fraction == 1 ? m->small_one : m->small_many);
    }
}

size_t english_money(Scan *sc, const Figure *f, const MoneyNames *m, size_t sign, size_t end)
{
    const char *country = take_country(sc, m);
    scan_before_number(sc);
    Figure g = *f;
    size_t length, dash = english_dash_at(sc, end);
    /* "$5-10": five to ten dollars. */
    if (dash && scan_digits(sc, end + dash)) {
        scan_figure(sc, &g, end + dash);
        if (!g.dotted && figure_value(&g) > figure_value(f) && !english_dash_at(sc, g.end)) {
            scan_say_value(sc, f, 0);
            scan_say(sc, " to ");
            end = g.end;
        } else {
            g = *f;
        }
    }
    /* "$5 million" is five million dollars: the scale goes before the currency. */
    const char *scale = scale_at(sc, end, 1, &length);
    if (scale) {
        end += length;
        scan_say_value(sc, &g, 0);
        scan_say(sc, " ");
        scan_say(sc, scale);
        scan_say(sc, " ");
        scan_say(sc, country);
        scan_say(sc, english_is_before_noun(sc, sign, end) ? m->one : m->many);
    } else {
        say_sum(sc, &g, m, country, english_is_before_noun(sc, sign, end));
    }
    return say_per(sc, end);
}
