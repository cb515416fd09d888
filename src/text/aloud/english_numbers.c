/* english_numbers.c - see english_numbers.h. Where a form has several readings, the one of an American reader
 * is taken: 3/4/2021 is the fourth of March. */
#include "text/aloud/english_numbers.h"

#include <string.h>
#include <strings.h>

#include "text/unicode.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* ---- the words around ---- */

void english_word_before(const Scan *sc, size_t at, char word[WORD])
{
    word[0] = 0;
    size_t end = at && sc->s[at - 1] == ' ' ? at - 1 : at, from = end;
    while (from && ((sc->s[from - 1] | 32) >= 'a' && (sc->s[from - 1] | 32) <= 'z'))
        from--;
    if (end - from >= WORD || (from && unicode_is_letter(unicode_before(sc->s, from))))
        return;
    memcpy(word, sc->s + from, end - from);
    word[end - from] = 0;
}

int english_has_word(const char *word, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strcasecmp(word, list[i]))
            return 1;
    return 0;
}

static int is_upper(char c) { return c >= 'A' && c <= 'Z'; }

/* Bytes of an apostrophe or a prime at `at` (feet), of quotation marks or a double prime (inches). */
static size_t feet_mark(const Scan *sc, size_t at)
{
    return scan_prefix(sc, at, "'", 1) + scan_prefix(sc, at, "\u2019", 3) + scan_prefix(sc, at, "\u2032", 3);
}
static size_t inch_mark(const Scan *sc, size_t at)
{
    return scan_prefix(sc, at, "\"", 1) + scan_prefix(sc, at, "\u201D", 3) + scan_prefix(sc, at, "\u2033", 3);
}

size_t english_dash_at(const Scan *sc, size_t at)
{
    return scan_prefix(sc, at, "-", 1) + scan_prefix(sc, at, "\u2013", 3);
}

/* ---- words made of numbers ---- */

/* The plural of the word that was said last: "nineties", "sixes", "tens". */
static void make_plural(Scan *sc)
{
    if (scan_has_said(sc->out, "y")) {
        sc->out->size--;
        scan_say(sc, "ies");
    } else {
        scan_say(sc, scan_has_said(sc->out, "x") ? "es" : "s");
    }
}

static void say_two_digits(Scan *sc, int64_t value)
{
    if (value < 10)
        scan_say(sc, "oh ");
    scan_say_integer(sc, NULL, value);
}

/* As numbers of houses, rooms and flights are read: one oh five, four seventy-six, sixteen hundred. */
static void say_in_pairs(Scan *sc, const Figure *f)
{
    if (f->digits == 3 && f->whole % 100) {
        scan_say_integer(sc, NULL, f->whole / 100);
        scan_say(sc, " ");
        say_two_digits(sc, f->whole % 100);
    } else if (f->digits == 4 && f->whole >= 1000) {
        scan_say_year(sc, f->whole);
    } else if (f->digits == 5) {
        scan_say_digits(sc, f->text, 5);
    } else {
        scan_say_integer(sc, NULL, f->whole);
    }
}

/* ---- fractions, dates and other things with slashes ---- */

/* one half, three quarters, a third: `one` is the word for one. */
static void say_fraction(Scan *sc, int64_t count, int64_t parts, int article)
{
    if (count == 1 && article)
        scan_say(sc, parts == 8 || parts == 11 || parts == 18 ? "an" : "a");
    else
        scan_say_integer(sc, NULL, count);
    scan_say(sc, " ");
    if (parts == 2)
        scan_say(sc, "half");
    else if (parts == 4)
        scan_say(sc, "quarter");
    else
        scan_say_integer(sc, sc->sp->ordinal, parts);
    if (count > 1)
        scan_say(sc, "s");
}

/* Up to three numbers with one mark between them: 3/4/2021, 555-123-4567. Returns how many there are and sets
 * *end after the last; a letter or another number right after them makes it 0. */
enum { MAX_GROUPS = 5 };
typedef struct Groups {
    size_t at[MAX_GROUPS], digits[MAX_GROUPS], end;
    int count;
} Groups;
static void read_groups(const Scan *sc, Groups *g, size_t at, const char *marks)
{
    memset(g, 0, sizeof *g);
    for (;;) {
        size_t run = scan_digits(sc, at);
        if (!run)
            break;
        if (g->count == MAX_GROUPS) {
            g->count = 0;
            return;
        }
        g->at[g->count] = at;
        g->digits[g->count++] = run;
        at += run;
        g->end = at;
        if (at + 1 >= sc->n || !strchr(marks, sc->s[at]) || !scan_is_digit(sc->s[at + 1]))
            break;
        at++;
    }
    if (!scan_word_ends(sc, g->end))
        g->count = 0;
}
static int group(const Scan *sc, const Groups *g, int i)
{
    return g->digits[i] > 4 ? -1 : (int)scan_parse(sc->s + g->at[i], g->digits[i]);
}
static int has_shape(const Groups *g, int count, const size_t *digits)
{
    if (g->count != count)
        return 0;
    for (int i = 0; i < count; i++)
        if (g->digits[i] != digits[i])
            return 0;
    return 1;
}

/* Month first, unless only the other order is a date. Years of two digits are those around 2000. */
static int say_date_parts(Scan *sc, int month, int day, int year, int digits)
{
    if (month > 12 && day <= 12) {
        int swap = month;
        month = day;
        day = swap;
    }
    if (month < 1 || month > 12 || day < 1 || day > 31)
        return 0;
    if (digits == 2)
        year += year < 70 ? 2000 : 1900;
    scan_say_date(sc, year, month, day);
    return 1;
}

/* 3/4/2021, 03/04/21, 2021/03/04, 12-25-1999. */
static int try_date_groups(Scan *sc, size_t at)
{
    for (const char *mark = "/-"; *mark; mark++) {
        Groups g;
        const char one[2] = {*mark, 0};
        read_groups(sc, &g, at, one);
        if (g.count != 3)
            continue;
        int a = group(sc, &g, 0), b = group(sc, &g, 1), c = group(sc, &g, 2), said = 0;
        if (g.digits[0] == 4 && g.digits[1] <= 2 && g.digits[2] <= 2 && b >= 1 && b <= 12)
            said = say_date_parts(sc, b, c, a, 4);
        else if (g.digits[0] <= 2 && g.digits[1] <= 2 &&
                 (g.digits[2] == 4 || (g.digits[2] == 2 && *mark == '/')))
            said = say_date_parts(sc, a, b, c, (int)g.digits[2]);
        if (said) {
            scan_after_number(sc, g.end);
            return 1;
        }
    }
    return 0;
}

/* One of the words stands before `at`, in the same sentence. */
static int sentence_has(const Scan *sc, size_t at, const char *const *list, size_t count)
{
    enum { FAR = 200 };
    char word[WORD];
    size_t from = at > FAR ? at - FAR : 0;
    for (size_t i = at; i > from; i--) {
        if (strchr(".!?;", sc->s[i - 1]) && i < at && sc->s[i] == ' ')
            break;
        if (sc->s[i - 1] == ' ') {
            english_word_before(sc, i, word);
            if (english_has_word(word, list, count))
                return 1;
        }
    }
    return 0;
}

/* "7/10" as a mark, "4.5/5". */
static int try_score(Scan *sc, size_t at, const Figure *f)
{
    static const char *const marks[] = {"rate", "rated", "rating", "score", "scored", "scores", "give",
                                        "gave", "gives", "got",    "gets",  "stars",  "marks",  "rates"};
    size_t run = scan_prefix(sc, f->end, "/", 1) ? scan_digits(sc, f->end + 1) : 0, end = f->end + 1 + run;
    if (!run || run > 3 || f->dotted || f->grouped || !scan_word_ends(sc, end) ||
        scan_prefix(sc, end, "/", 1))
        return 0;
    int64_t of = scan_parse(sc->s + f->end + 1, run);
    int usual = of == 5 || of == 10 || of == 20 || of == 100;
    if (!usual || figure_value(f) > (double)of ||
        (!f->fraction_digits && !sentence_has(sc, at, marks, COUNT(marks))))
        return 0;
    scan_say_value(sc, f, 0);
    scan_say(sc, " out of ");
    scan_say_integer(sc, NULL, of);
    scan_after_number(sc, end);
    return 1;
}

/* "2012/13", "24/7/365": the parts one after the other. */
static int try_joined(Scan *sc, size_t at)
{
    Groups g;
    read_groups(sc, &g, at, "/");
    int a = g.count ? group(sc, &g, 0) : 0, b = g.count > 1 ? group(sc, &g, 1) : 0;
    int season =
        g.count == 2 && g.digits[0] == 4 && g.digits[1] == 2 && a >= 1800 && a < 2100 && (a + 1) % 100 == b;
    int always = g.count == 3 && a == 24 && b == 7 && group(sc, &g, 2) == 365;
    if (!season && !always)
        return 0;
    if (season)
        scan_say_year(sc, a);
    else
        scan_say(sc, "twenty-four seven");
    scan_say(sc, " ");
    if (season)
        say_two_digits(sc, b);
    else
        scan_say(sc, "three sixty-five");
    scan_after_number(sc, g.end);
    return 1;
}

/* Two numbers around a slash: a half, a day of the year, twenty-four seven. */
static int try_slash(Scan *sc, size_t at)
{
    static const char *const before_dates[] = {"on", "by", "until", "since", "due", "before"};
    Groups g;
    read_groups(sc, &g, at, "/");
    if (g.count != 2 || g.digits[0] > 3 || g.digits[1] > 3 || sc->s[at] == '0')
        return 0;
    int a = group(sc, &g, 0), b = group(sc, &g, 1);
    char word[WORD];
    english_word_before(sc, at, word);
    if (english_has_word(word, before_dates, COUNT(before_dates)) && a >= 1 && a <= 12 && b >= 1 && b <= 31) {
        static const char *const months[] = {"January",   "February", "March",    "April",
                                             "May",       "June",     "July",     "August",
                                             "September", "October",  "November", "December"};
        scan_say(sc, months[a - 1]);
        scan_say(sc, " ");
        scan_say_integer(sc, sc->sp->ordinal, b);
    } else if (a >= 1 && b >= 2 && a < b && !(a == 9 && b == 11)) {
        say_fraction(sc, a, b, 0);
        g.end = english_unit_after(sc, g.end, 1);
    } else {
        scan_say_integer(sc, NULL, a);
        scan_say(sc, a == b || (a == 24 && b == 7) || (a == 9 && b == 11) ? " " : " over ");
        scan_say_integer(sc, NULL, b);
    }
    scan_after_number(sc, g.end);
    return 1;
}

/* "3 3/4": three and three quarters. */
static int try_mixed(Scan *sc, const Figure *f)
{
    Groups g;
    if (f->fraction_digits || f->digits > 4 || !scan_prefix(sc, f->end, " ", 1))
        return 0;
    read_groups(sc, &g, f->end + 1, "/");
    if (g.count != 2 || g.digits[0] > 2 || g.digits[1] > 3)
        return 0;
    int a = group(sc, &g, 0), b = group(sc, &g, 1);
    if (a < 1 || b < 2 || a >= b)
        return 0;
    scan_say_integer(sc, NULL, f->whole);
    scan_say(sc, " and ");
    say_fraction(sc, a, b, 1);
    scan_after_number(sc, english_unit_after(sc, g.end, 0));
    return 1;
}

/* ---- phone numbers ---- */

static void say_groups(Scan *sc, const Groups *g, int from)
{
    for (int i = from; i < g->count; i++) {
        if (i > from)
            scan_say(sc, ", ");
        const char *p = sc->s + g->at[i];
        if (g->digits[i] == 3 && p[1] == '0' && p[2] == '0' && p[0] != '0' && i == 1) /* 1-800 */
            scan_say_integer(sc, NULL, scan_parse(p, 3));
        else
            scan_say_digits(sc, p, g->digits[i]);
    }
    scan_after_number(sc, g->end);
}

/* abroad: a plus stands before it. */
static int try_phone(Scan *sc, size_t at, int abroad)
{
    static const size_t local[] = {3, 4}, full[] = {3, 3, 4}, trunk[] = {1, 3, 3, 4}, security[] = {3, 2, 4};
    Groups g;
    read_groups(sc, &g, at, abroad ? "- ." : "-.");
    size_t digits = 0;
    for (int i = 0; i < g.count; i++)
        digits += g.digits[i];
    int phone = has_shape(&g, 3, full) || has_shape(&g, 4, trunk) || has_shape(&g, 3, security) ||
                (abroad && g.count > 1 && digits >= 8 && digits <= 15);
    /* 900-1200 is a range. */
    if (has_shape(&g, 2, local) && sc->s[at + 3] == '-')
        phone = group(sc, &g, 0) % 50 || group(sc, &g, 1) % 50;
    /* 5551234567: no area begins with 0 or 1. */
    if (g.count == 1 && g.digits[0] == 10 && sc->s[at] >= '2' && !abroad) {
        g = (Groups){.at = {at, at + 3, at + 6}, .digits = {3, 3, 4}, .end = g.end, .count = 3};
        phone = 1;
    }
    if (!phone) {
        read_groups(sc, &g, at, " ");
        phone = has_shape(&g, 3, full) || has_shape(&g, 4, trunk);
    }
    if (phone)
        say_groups(sc, &g, 0);
    return phone;
}

/* "(555) 123-4567" at the bracket. */
static int try_area_code(Scan *sc)
{
    static const size_t local[] = {3, 4};
    size_t at = sc->at;
    if (scan_digits(sc, at + 1) != 3 || !scan_prefix(sc, at + 4, ")", 1))
        return 0;
    size_t next = at + 5 + scan_prefix(sc, at + 5, " ", 1);
    Groups g;
    read_groups(sc, &g, next, "-. ");
    if (!has_shape(&g, 2, local))
        return 0;
    scan_say_digits(sc, sc->s + at + 1, 3);
    scan_say(sc, ", ");
    say_groups(sc, &g, 0);
    return 1;
}

/* ---- houses, rooms, years of two digits ---- */

/* Capitalised words follow, and among the first four is one that streets end with, or the first is a
 * direction: "1026 North Beckley". */
static int names_street(const Scan *sc, size_t at)
{
    static const char *const directions[] = {" North ", " South ", " East ", " West "};
    for (size_t i = 0; i < COUNT(directions); i++) {
        size_t n = strlen(directions[i]);
        if (scan_prefix(sc, at, directions[i], n) && at + n < sc->n && is_upper(sc->s[at + n]))
            return 1;
    }
    static const char *const streets[] = {"Street",    "Avenue",  "Road",   "Drive",   "Lane",
                                          "Boulevard", "Court",   "Square", "Place",   "Parkway",
                                          "Way",       "Terrace", "Circle", "Highway", "Broadway"};
    for (int words = 0; words < 4; words++) {
        if (!scan_prefix(sc, at, " ", 1) || at + 1 >= sc->n ||
            (!is_upper(sc->s[at + 1]) && !scan_is_digit(sc->s[at + 1])))
            return 0;
        size_t from = ++at;
        while (at < sc->n && sc->s[at] != ' ' && sc->s[at] != ',')
            at++;
        for (size_t i = 0; i < COUNT(streets); i++) {
            size_t n = strlen(streets[i]);
            if (scan_prefix(sc, from, streets[i], n) && scan_word_ends(sc, from + n))
                return 1;
        }
        if (at < sc->n && sc->s[at] == ',')
            return 0;
    }
    return 0;
}

static int try_place(Scan *sc, size_t at, const Figure *f)
{
    static const char *const rooms[] = {"Room",  "Suite",  "Apartment", "Flight",    "Highway",
                                        "Route", "Boeing", "Airbus",    "Extension", "Interstate",
                                        "AD",    "Gate",   "I"};
    static const char *const calls[] = {"call", "called", "dial", "dialed", "dialled", "calling"};
    char word[WORD];
    if (f->grouped || f->fraction_digits || f->digits < 3 || sc->s[at] == '0')
        return 0;
    english_word_before(sc, at - (at && sc->s[at - 1] == '-'), word);
    if (english_has_word(word, calls, COUNT(calls)) && f->digits == 3 && scan_word_ends(sc, f->end)) {
        scan_say_digits(sc, f->text, 3);
        scan_after_number(sc, f->end);
        return 1;
    }
    /* Box 2915, #12345, C2766, V510210. */
    int box = !strcmp(word, "Box") || !strcmp(word, "box");
    int order = at && sc->s[at - 1] == '#' && f->digits >= 5;
    int serial = at && is_upper(sc->s[at - 1]) && f->digits >= 4 && f->whole % 100 &&
                 (at == 1 || !scan_word_ends(sc, at - 1)) && (at < 2 || sc->s[at - 2] == ' ');
    if ((box || order || serial) && f->digits <= MAX_DIGITS && scan_word_ends(sc, f->end)) {
        scan_say_digits(sc, f->text, (size_t)f->digits);
        scan_after_number(sc, f->end);
        return 1;
    }
    /* "In 606, Nineveh fell." */
    int in_pairs = f->digits == 3 && !strcmp(word, "In") && scan_prefix(sc, f->end, ", ", 2);
    /* "484 BC", "Exhibit 133-B". */
    in_pairs |= scan_prefix(sc, f->end, " BC", 3) &&
                scan_word_ends(sc, f->end + 3 + scan_prefix(sc, f->end + 3, "E", 1));
    in_pairs |= f->digits == 3 && scan_prefix(sc, f->end, "-", 1) && f->end + 1 < sc->n &&
                is_upper(sc->s[f->end + 1]) && scan_word_ends(sc, f->end + 2);
    size_t letter = f->end + (f->end + 1 < sc->n && is_upper(sc->s[f->end]) && sc->s[f->end + 1] == ' ');
    if (in_pairs || names_street(sc, letter) ||
        (f->digits == 3 && is_upper(word[0]) && english_has_word(word, rooms, COUNT(rooms)))) {
        say_in_pairs(sc, f);
        scan_after_number(sc, f->end);
        return 1;
    }
    return 0;
}

/* 1080p, 720p. */
static int try_lines(Scan *sc, const Figure *f)
{
    if (f->digits < 3 || f->digits > 4 || f->grouped || !scan_prefix(sc, f->end, "p", 1) ||
        !scan_word_ends(sc, f->end + 1))
        return 0;
    scan_say_integer(sc, NULL, f->whole / 100);
    scan_say(sc, " ");
    say_two_digits(sc, f->whole % 100);
    scan_after_number(sc, f->end);
    return 1;
}

/* "the 1890s", "'60s", "in her 40s", "747s"; and "'69". An apostrophe before the digits is not said. */
static int try_plural(Scan *sc, size_t at, const Figure *f)
{
    if (f->grouped || f->fraction_digits)
        return 0;
    size_t mark = at && sc->s[at - 1] == '\'' ? 1
                  : at >= 3 && (scan_prefix(sc, at - 3, "\u2019", 3) || scan_prefix(sc, at - 3, "\u2018", 3))
                      ? 3
                      : 0;
    int opens = mark && (at == mark || strchr(" (", sc->s[at - mark - 1]));
    int plural = scan_prefix(sc, f->end, "s", 1) && scan_word_ends(sc, f->end + 1);
    /* '69 without a closing mark: a year; in quotation marks it is any number. */
    int short_year =
        opens && !plural && f->digits == 2 && scan_word_ends(sc, f->end) && !feet_mark(sc, f->end);
    if (!plural && !short_year)
        return 0;
    if (opens && sc->out->size >= mark)
        sc->out->size -= mark;
    if (figure_is_year(f))
        scan_say_year(sc, f->whole);
    else if (short_year)
        say_two_digits(sc, f->whole);
    else if (f->digits == 3)
        say_in_pairs(sc, f);
    else
        scan_say_integer(sc, NULL, f->whole);
    if (plural)
        make_plural(sc);
    scan_after_number(sc, f->end + (size_t)plural);
    return 1;
}

/* ---- heights, sizes, odds ---- */

/* No quotation of the same mark is open before `at`: what stands after a number is a measure. Quotations
 * that are longer than FAR are not seen. */
static int is_measure(const Scan *sc, size_t at, char mark)
{
    enum { FAR = 400 };
    int open = 0;
    for (size_t i = at > FAR ? at - FAR : 0; i < at; i++)
        if (sc->s[i] == mark && (mark == '"' || i == 0 || sc->s[i - 1] == ' '))
            open++;
    return mark == '"' ? open % 2 == 0 : open == 0;
}

int english_is_before_noun(const Scan *sc, size_t at, size_t end)
{
    char word[WORD];
    english_word_before(sc, at, word);
    return (!strcasecmp(word, "a") || !strcasecmp(word, "an")) && scan_prefix(sc, end, " ", 1) &&
           scan_letter_at(sc, end + 1);
}

/* 5'10", 6', 12". */
static int try_height(Scan *sc, size_t at, const Figure *f)
{
    if (f->digits > 4 || f->grouped)
        return 0;
    size_t mark = feet_mark(sc, f->end);
    if (mark && !is_measure(sc, at, '\''))
        return 0;
    size_t next = f->end + mark, inches = mark ? scan_digits(sc, next) : 0;
    if (mark && inches >= 1 && inches <= 2 && !f->fraction_digits) {
        size_t end = next + inches + inch_mark(sc, next + inches);
        scan_say_integer(sc, NULL, f->whole);
        scan_say(sc, " foot ");
        scan_say_integer(sc, NULL, scan_parse(sc->s + next, inches));
        scan_after_number(sc, end);
        return 1;
    }
    int feet = mark != 0;
    if (!feet)
        mark = is_measure(sc, at, '"') ? inch_mark(sc, f->end) : 0;
    if (!mark || !scan_word_ends(sc, f->end + mark))
        return 0;
    size_t end = f->end + mark;
    int one = (f->whole == 1 && !f->fraction_digits) || english_is_before_noun(sc, at, end);
    scan_say_value(sc, f, 0);
    scan_say(sc, feet ? one ? " foot" : " feet" : one ? " inch" : " inches");
    scan_after_number(sc, end);
    return 1;
}

/* 4x4, 1920x1080: by. 10x: times. */
static int try_by(Scan *sc, const Figure *f)
{
    size_t mark = scan_prefix(sc, f->end, "x", 1) + scan_prefix(sc, f->end, "\u00D7", 2);
    if (!mark)
        return 0;
    if (scan_digits(sc, f->end + mark)) {
        if (figure_is_year(f))
            scan_say_year(sc, f->whole);
        else
            scan_say_value(sc, f, 0);
        scan_say(sc, " by ");
        sc->at = f->end + mark; /* the other number is left to the scan */
        return 1;
    }
    if (!scan_word_ends(sc, f->end + mark))
        return 0;
    scan_say_value(sc, f, 0);
    scan_say(sc, " times");
    scan_after_number(sc, f->end + mark);
    return 1;
}

/* Odds and verses: 3:1, Genesis 1:1. Times of day have been taken before. */
static int try_ratio(Scan *sc, size_t at, const Figure *f)
{
    static const char *const books[] = {"Genesis", "Exodus",   "Psalm",      "Psalms",      "Isaiah",
                                        "Matthew", "Mark",     "Luke",       "John",        "Acts",
                                        "Romans",  "Proverbs", "Job",        "Corinthians", "James",
                                        "Peter",   "Hebrews",  "Revelation", "Daniel",      "Ezekiel"};
    if (!scan_prefix(sc, f->end, ":", 1) || !scan_digits(sc, f->end + 1) || f->fraction_digits)
        return 0;
    char word[WORD];
    english_word_before(sc, at, word);
    scan_say_integer(sc, NULL, f->whole);
    scan_say(sc, english_has_word(word, books, COUNT(books)) ? " " : " to ");
    sc->at = f->end + 1;
    return 1;
}

/* ---- what numbers.c calls ---- */

int english_figure(Scan *sc, size_t at, const Figure *f, int negative)
{
    if (try_phone(sc, at, 0))
        return 1;
    if (f->dotted)
        return 0;
    if (try_date_groups(sc, at) || try_joined(sc, at) || try_score(sc, at, f) || try_slash(sc, at))
        return 1;
    if (f->digits > MAX_DIGITS || negative)
        return 0;
    return try_mixed(sc, f) || try_plural(sc, at, f) || try_height(sc, at, f) || try_by(sc, f) ||
           try_ratio(sc, at, f) || try_lines(sc, f) || try_place(sc, at, f);
}

/* ".38 Special", ".22-caliber rifle": no point is said. */
static int is_calibre(const Scan *sc, size_t end)
{
    static const char *const guns[] = {"caliber", "calibre", "cal",      "special", "revolver",
                                       "pistol",  "rifle",   "magnum",   "bullet",  "bullets",
                                       "handgun", "gun",     "automatic"};
    char word[WORD];
    size_t n = 0;
    if (end >= sc->n || !strchr(" -", sc->s[end]))
        return 0;
    while (end + 1 + n < sc->n && n + 1 < WORD && (sc->s[end + 1 + n] | 32) >= 'a' &&
           (sc->s[end + 1 + n] | 32) <= 'z')
        n++;
    memcpy(word, sc->s + end + 1, n);
    word[n] = 0;
    return english_has_word(word, guns, COUNT(guns));
}

int english_sign(Scan *sc)
{
    static const struct {
        const char *sign, *word;
    } signs[] = {{"+", "plus"},         {"\u00B1", "plus or minus"}, {"~", "about"},
                 {"\u2248", "about"},   {"<", "less than"},          {">", "more than"},
                 {"\u2264", "at most"}, {"\u2265", "at least"},      {"\u00A7 ", "section"},
                 {"\u00A7", "section"}, {"\u2116 ", "number"},       {"\u2116", "number"},
                 {"#", "number"}};
    size_t at = sc->at;
    if (sc->s[at] == '(')
        return try_area_code(sc);
    if (sc->s[at] == '.') { /* .5 */
        if (!scan_digits(sc, at + 1) || (at && !strchr(" (", sc->s[at - 1])))
            return 0;
        if (is_calibre(sc, at + 1 + scan_digits(sc, at + 1))) {
            scan_say_integer(sc, NULL, scan_parse(sc->s + at + 1, scan_digits(sc, at + 1)));
        } else {
            scan_say(sc, "point ");
            scan_say_digits(sc, sc->s + at + 1, scan_digits(sc, at + 1));
        }
        scan_after_number(sc, at + 1 + scan_digits(sc, at + 1));
        return 1;
    }
    for (size_t i = 0; i < COUNT(signs); i++) {
        size_t n = strlen(signs[i].sign);
        if (!scan_prefix(sc, at, signs[i].sign, n) || !scan_digits(sc, at + n))
            continue;
        if (sc->out->size && !scan_has_said(sc->out, " ") && !scan_has_said(sc->out, "("))
            scan_say(sc, " ");
        scan_say(sc, signs[i].word);
        scan_say(sc, " ");
        sc->at = at + n;
        if (sc->s[at] == '+')
            try_phone(sc, at + n, 1);
        return 1;
    }
    return 0;
}

int english_dash(const Scan *sc, size_t next)
{
    Figure g;
    scan_figure(sc, &g, next);
    if (!sc->said_plain || figure_value(&sc->said) < figure_value(&g))
        return !(sc->said_plain && sc->said.whole == 1 && g.whole == 800); /* 1-800-FLOWERS */
    static const char *const results[] = {"beat",   "beats", "won",   "win",      "wins", "lost",
                                          "lead",   "led",   "leads", "defeated", "over", "score",
                                          "scored", "ended", "voted", "passed"};
    if (figure_value(&sc->said) == 50 && figure_value(&g) == 50)
        return 0; /* fifty fifty */
    static const char *const odds[] = {"odds", "ratio", "shot"};
    return (sc->said.digits <= 2 && g.digits <= 2) ||
           (g.whole == 1 && sentence_has(sc, next, odds, COUNT(odds))) ||
           (g.digits == 3 && sc->said.digits == 3 && sentence_has(sc, next, results, COUNT(results))) ||
           (figure_is_year(&sc->said) && g.digits == 2 && g.whole > sc->said.whole % 100);
}
