/* english.c - see english.h. One pass from left to right; each rule looks at the word that begins here. */
#include "text/aloud/english.h"

#include <string.h>
#include <strings.h>

#include "text/aloud/addresses.h"
#include "text/aloud/english_line.h"
#include "text/unicode.h"

/* ---- web and mail addresses ---- */

static int try_address(Line *l)
{
    Address a;
    if (!address_find(&a, l->s, l->n, l->at, "en"))
        return 0;
    take(l, a.end - l->at);
    address_say(l->out, l->s, &a, "en");
    return 1;
}

/* ---- Roman numerals ---- */

/* The value of a numeral written in the usual way, or 0. */
static int roman_value(const char *word)
{
    static const struct {
        const char *letters;
        int value;
    } parts[] = {{"M", 1000}, {"CM", 900}, {"D", 500}, {"CD", 400}, {"C", 100}, {"XC", 90}, {"L", 50},
                 {"XL", 40},  {"X", 10},   {"IX", 9},  {"V", 5},    {"IV", 4},  {"I", 1}};
    int value = 0;
    for (size_t i = 0; i < COUNT(parts); i++) {
        size_t n = strlen(parts[i].letters);
        for (int times = 0; !strncmp(word, parts[i].letters, n) && times < (n == 1 ? 3 : 1); times++) {
            value += parts[i].value;
            word += n;
        }
    }
    return *word ? 0 : value;
}

static int is_title(const char *word)
{
    static const char *const titles[] = {"King",   "Queen",  "Pope", "Emperor", "Empress", "Tsar", "Czar",
                                         "Kaiser", "Sultan", "Shah", "Pharaoh", "Prince",  "Saint"};
    return in_list(word, titles, COUNT(titles));
}

static int is_given_name(const char *word)
{
    static const char *const names[] = {
        "Henry",      "Charles",     "Louis",     "George",     "William",  "Edward",    "James",
        "Richard",    "Elizabeth",   "Mary",      "Philip",     "Francis",  "Pius",      "John",
        "Paul",       "Benedict",    "Gregory",   "Leo",        "Innocent", "Urban",     "Clement",
        "Alexander",  "Nicholas",    "Peter",     "Catherine",  "Ivan",     "Frederick", "Wilhelm",
        "Otto",       "Napoleon",    "Ramses",    "Ramesses",   "Thutmose", "Ptolemy",   "Cleopatra",
        "Emmanuel",   "Christian",   "Gustav",    "Haakon",     "Olaf",     "Harald",    "Magnus",
        "Alfonso",    "Ferdinand",   "Carlos",    "Felipe",     "Pedro",    "Malcolm",   "Robert",
        "David",      "Constantine", "Justinian", "Theodosius", "Darius",   "Xerxes",    "Cyrus",
        "Artaxerxes", "Antiochus",   "Mehmed",    "Selim",      "Murad",    "Suleiman",  "Rama",
        "Sixtus",     "Boniface",    "Celestine", "Honorius",   "Adrian",   "Martin",    "Stephen",
        "Eugene",     "Julius",      "Joseph",    "Thomas",     "Michael",  "Walter",    "Franz",
        "Leopold",    "Albert",      "Baldwin",   "Margaret",   "Anne",     "Victor",    "Umberto",
        "Seti",       "Amenhotep",   "Edgar",     "Edmund",     "Harold",   "Samuel"};
    return in_list(word, names, COUNT(names));
}

/* Words before a numeral that counts, also in the plural; lower: written with a small letter. */
static int is_part(const char *word, int *lower)
{
    static const char *const parts[] = {"chapter", "book",    "part",    "volume",   "act",       "scene",
                                        "section", "article", "type",    "class",    "phase",     "stage",
                                        "figure",  "table",   "page",    "appendix", "paragraph", "clause",
                                        "verse",   "note",    "footnote"};
    static const char *const titles[] = {"title",   "level",  "grade",  "war",      "bowl",     "episode",
                                         "mark",    "canto",  "psalm",  "schedule", "division", "apollo",
                                         "vatican", "plate",  "lesson", "unit",     "round",    "rocky",
                                         "gemini",  "saturn", "factor", "quarto",   "symphony"};
    char small[WORD];
    size_t n = strlen(word);
    *lower = !is_upper(word[0]);
    for (size_t i = 0; i <= n; i++)
        small[i] = is_upper(word[i]) ? (char)(word[i] | 32) : word[i];
    if (in_list(small, parts, COUNT(parts)) || (!*lower && in_list(small, titles, COUNT(titles))))
        return 1;
    if (n < 2 || small[n - 1] != 's')
        return 0;
    small[n - 1] = 0;
    return in_list(small, parts, COUNT(parts));
}

/* 1 if one of the capitalised words before `at`, which may be initials, is a given name; *titled: a title
 * stands before them. */
static int follows_person(const Line *l, size_t at, int *titled)
{
    char word[WORD];
    int named = 0;
    *titled = 0;
    for (int words = 0; words < 4; words++) {
        size_t from = word_before(l, at, word);
        if (from == at || !is_upper(word[0]))
            break;
        *titled |= is_title(word);
        named |= is_given_name(word) || *titled;
        at = from;
    }
    return named;
}

void english_say_number(Line *l, int value, int ordinal)
{
    char digits[16];
    size_t n = sizeof digits;
    int tail = value % 100;
    digits[--n] = 0;
    if (ordinal) {
        const char *suffix = tail >= 11 && tail <= 13 ? "th"
                             : value % 10 == 1        ? "st"
                             : value % 10 == 2        ? "nd"
                             : value % 10 == 3        ? "rd"
                                                      : "th";
        digits[--n] = suffix[1];
        digits[--n] = suffix[0];
    }
    for (; value; value /= 10)
        digits[--n] = (char)('0' + value % 10);
    say(l, digits + n);
}

/* "of James ", "under Charles ". */
static int follows_reign(const Line *l, size_t at)
{
    static const char *const words[] = {"of", "under", "by", "to", "from", "when", "and"};
    char word[WORD];
    word_before(l, word_before(l, at, word), word);
    return in_list(word, words, COUNT(words));
}

/* The value of a numeral in capitals or in small letters, as prefaces have it; 0 for neither. */
static int numeral_value(const char *word, int *lower)
{
    char upper[WORD];
    size_t n = strlen(word);
    *lower = !is_upper(word[0]);
    if (!n || !strchr("IVXLCDMivxlc", word[0]))
        return 0;
    if (!*lower)
        return roman_value(word);
    for (size_t i = 0; i <= n; i++) {
        if (is_upper(word[i]))
            return 0;
        upper[i] = word[i] ? (char)(word[i] & ~32) : 0;
    }
    int value = roman_value(upper);
    return value < 100 ? value : 0; /* not "mix" */
}

/* The word that a numeral at `at` belongs to: the one before, or, in "chapters iv and v", the one before the
 * other numeral. */
static void word_of_numeral(const Line *l, size_t at, char word[WORD])
{
    char other[WORD];
    int lower;
    size_t from = word_before(l, at, word);
    if (strcmp(word, "and") != 0 && strcmp(word, "to") != 0 && strcmp(word, "or") != 0)
        return;
    size_t numeral = word_before(l, from, other);
    if (numeral < from && numeral_value(other, &lower))
        word_before(l, numeral, word);
}

/* "I" and "X" are words and letters as well: they count only after a title or a part of a book. */
static int try_roman(Line *l)
{
    char word[WORD], before[WORD], next[WORD];
    int lower, small_part, titled, ordinal = 0, counts = 0;
    size_t length = word_at(l, l->at, word);
    int value = length ? numeral_value(word, &lower) : 0;
    if (!value || value > 3999 || (l->at + length < l->n && is_digit(l->s[l->at + length])))
        return 0;
    word_of_numeral(l, l->at, before);
    size_t after = l->at + length;
    int ends = after == l->n || strchr(".,;:)", l->s[after]) || begins(l, after, " of ") ||
               begins(l, after, " and ") || begins(l, after, " to ");
    if (is_part(before, &small_part)) {
        /* Not "this chapter I wrote". */
        counts = length > 1 || (small_part ? lower && ends : strchr("IVXivx", word[0]) != NULL);
    } else if (lower) {
        return 0;
    } else if (begins(l, after, " ") && word_at(l, after + 1, next) && !strncasecmp(next, "centur", 6) &&
               length > 1) {
        take(l, length);
        english_say_number(l, value, 1);
        return 1;
    } else if (follows_person(l, l->at, &titled) && value <= 40) {
        ordinal = length > 1 || (titled && word[0] != 'L') ||
                  (word[0] == 'V' && strcmp(before, "Malcolm") != 0) ||
                  (word[0] == 'I' && (begins(l, after, ".,") || /* "the reign of James I., who" */
                                      (begins(l, after, ".") && follows_reign(l, l->at))));
    } else {
        /* "Rocky II", "Pentium III": only these two are nothing else. */
        counts = is_upper(before[0]) && before[1] && (!strcmp(word, "II") || !strcmp(word, "III"));
    }
    if (!ordinal && !counts)
        return 0;
    /* Old books write "Charles I., who". */
    size_t stop = begins(l, after, ".,") || (begins(l, after, ". ") && after + 2 < l->n &&
                                             l->s[after + 2] >= 'a' && l->s[after + 2] <= 'z');
    take(l, length + stop);
    if (ordinal)
        say(l, "the ");
    english_say_number(l, value, ordinal);
    return 1;
}

/* ---- capitals ---- */

/* Nothing but capitals from here to the end of the line, and at least two words. */
static int is_shouted(const Line *l)
{
    int blanks = 0;
    for (size_t i = 0; i < l->n; i++) {
        if (l->s[i] >= 'a' && l->s[i] <= 'z')
            return 0;
        blanks += l->s[i] == ' ';
    }
    return blanks > 0;
}

/* Letters that espeak-ng takes for a word, and words in shouted lines that it takes for letters. */
static int try_initials(Line *l)
{
    static const char *const initials[] = {"WHO", "VIP", "VIPs", "ISS", "UPS", "LOL", "FAQ", "FAQs"};
    static const char *const words[] = {"IT", "US", "IS", "AM"};
    char word[WORD];
    size_t length = word_at(l, l->at, word);
    if (length < 2 || length > 4)
        return 0;
    int shouted = is_shouted(l);
    if (shouted && in_list(word, words, COUNT(words))) {
        take(l, length);
        for (size_t i = 0; i < length; i++)
            word[i] = (char)(word[i] | 32);
        say(l, word);
        return 1;
    }
    if (shouted || !in_list(word, initials, COUNT(initials)))
        return 0;
    take(l, length);
    for (size_t i = 0; i < length; i++) {
        if (i && is_upper(word[i]))
            say(l, " ");
        else if (i)
            say(l, "'");
        buf_add(l->out, word + i, 1);
    }
    return 1;
}

/* ---- signs ---- */

/* ½ as 1/2, with a blank after a digit; squares and cubes; signs between words; @name, #name. */
static int try_sign(Line *l)
{
    static const struct {
        const char *sign, *digits;
    } fractions[] = {{"\u00BD", "1/2"}, {"\u00BC", "1/4"}, {"\u00BE", "3/4"}, {"\u2153", "1/3"},
                     {"\u2154", "2/3"}, {"\u2155", "1/5"}, {"\u2156", "2/5"}, {"\u2157", "3/5"},
                     {"\u2158", "4/5"}, {"\u2159", "1/6"}, {"\u215A", "5/6"}, {"\u215B", "1/8"},
                     {"\u215C", "3/8"}, {"\u215D", "5/8"}, {"\u215E", "7/8"}};
    static const struct {
        const char *sign, *word; /* between two blanks */
    } words[] = {{"@", "at"},
                 {"+", "plus"},
                 {"=", "equals"},
                 {"\u00D7", "times"},
                 {"\u00F7", "divided by"},
                 {"<", "is less than"},
                 {">", "is greater than"}};
    size_t at = l->at;
    char before = at ? l->s[at - 1] : ' ';
    for (size_t i = 0; i < COUNT(fractions); i++)
        if (begins(l, at, fractions[i].sign)) {
            take(l, strlen(fractions[i].sign));
            if (is_digit(before))
                say(l, " ");
            say(l, fractions[i].digits);
            return 1;
        }
    for (size_t i = 0; i < COUNT(words); i++) {
        size_t n = strlen(words[i].sign);
        if (begins(l, at, words[i].sign) && before == ' ' && at && at + n < l->n && l->s[at + n] == ' ') {
            take(l, n);
            say(l, words[i].word);
            return 1;
        }
    }
    int named = at + 1 < l->n && is_alpha(l->s[at + 1]) && strchr(" (\"", before);
    if (named && (l->s[at] == '@' || l->s[at] == '#')) {
        take(l, 1);
        say(l, l->s[at] == '@' ? "at " : "hashtag ");
        return 1;
    }
    /* "100+ people", "an A+". */
    if (l->s[at] == '+' && (is_digit(before) || is_upper(before)) &&
        (at + 1 == l->n || strchr(" .,;:!?)", l->s[at + 1]))) {
        take(l, 1);
        say(l, " plus");
        return 1;
    }
    if ((begins(l, at, "\u00B2") || begins(l, at, "\u00B3")) && at >= 1 && is_alpha(before) &&
        (at < 2 || !is_alpha(l->s[at - 2])) && (at < 3 || !is_digit(l->s[at - 3]))) {
        int square = begins(l, at, "\u00B2");
        if (at >= 2 && is_digit(l->s[at - 2]))
            return 0; /* 5m² is read with its unit */
        take(l, 2);
        say(l, square ? " squared" : " cubed");
        return 1;
    }
    return 0;
}

/* "minutes/day": the slash between a word and a measure of time or distance. */
static int try_per(Line *l)
{
    static const char *const measures[] = {"second", "minute", "hour", "day",    "night", "week",  "month",
                                           "year",   "mile",   "acre", "gallon", "liter", "person"};
    char word[WORD];
    size_t at = l->at;
    if (!at || !is_alpha(l->s[at - 1]) || !word_at(l, at + 1, word) ||
        !in_list(word, measures, COUNT(measures)))
        return 0;
    take(l, 1);
    say(l, " per ");
    return 1;
}

int english_rewrite(Buf *out, const char *text, size_t n)
{
    Line l = {.s = text, .n = n, .out = out};
    while (l.at < n) {
        char c = text[l.at];
        int done = 0;
        if (is_alpha(c) || is_digit(c)) {
            done = try_address(&l) || english_try_formula(&l) || try_roman(&l) ||
                   (is_upper(c) && (english_try_zip(&l) || english_try_name(&l) || try_initials(&l)));
            /* Words are looked at once. */
            while (!done && l.at + 1 < n && (is_alpha(text[l.at + 1]) || is_digit(text[l.at + 1])))
                l.at++;
        } else if (c & 0x80 || strchr("@#+=<>", c)) {
            done = try_sign(&l);
        } else if (c == '/') {
            done = try_per(&l);
        }
        if (!done)
            l.at++;
    }
    if (!l.copied)
        return 0;
    buf_add(out, text + l.copied, n - l.copied);
    return 1;
}
