/* english.c - see english.h. One pass from left to right; each rule looks at the word that begins here. */
#include "text/english.h"

#include <string.h>
#include <strings.h>

#include "text/unicode.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))
enum { WORD = 24 }; /* longer ones are in no list */

typedef struct Line {
    const char *s;
    size_t n, at, copied; /* copied: what is before it is in out */
    Buf *out;
} Line;

static int is_digit(char c) { return c >= '0' && c <= '9'; }
static int is_upper(char c) { return c >= 'A' && c <= 'Z'; }
static int is_alpha(char c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; }

static void say(Line *l, const char *words) { buf_add(l->out, words, strlen(words)); }

/* Copies what was passed over and drops the next `length` bytes; the caller says what they stand for. */
static void take(Line *l, size_t length)
{
    buf_add(l->out, l->s + l->copied, l->at - l->copied);
    l->at += length;
    l->copied = l->at;
}

static int begins(const Line *l, size_t at, const char *word)
{
    size_t n = strlen(word);
    return at <= l->n && l->n - at >= n && !memcmp(l->s + at, word, n);
}

/* The word of letters at `at`; its length, 0 if there is none or it is too long for any list. */
static size_t word_at(const Line *l, size_t at, char word[WORD])
{
    size_t n = 0;
    while (at + n < l->n && is_alpha(l->s[at + n]))
        n++;
    if (n >= WORD)
        n = 0;
    memcpy(word, l->s + at, n);
    word[n] = 0;
    return n;
}

/* The word of letters before the blank before `at`, which may have a full stop; where it begins, or `at`. */
static size_t word_before(const Line *l, size_t at, char word[WORD])
{
    word[0] = 0;
    if (!at || l->s[at - 1] != ' ')
        return at;
    size_t end = at - 1, from;
    if (end && l->s[end - 1] == '.')
        end--;
    for (from = end; from && is_alpha(l->s[from - 1]); from--)
        ;
    if (end == from || end - from >= WORD || (from && (uint8_t)l->s[from - 1] >= 0x80))
        return at;
    memcpy(word, l->s + from, end - from);
    word[end - from] = 0;
    return from;
}

static int in_list(const char *word, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(word, list[i]))
            return 1;
    return 0;
}

/* ---- web and mail addresses ---- */

/* Ends of names that are known without "www" before them. */
static int is_domain_end(const char *label, size_t n)
{
    static const char *const ends[] = {"com", "org", "net", "edu", "gov", "io",
                                       "ai",  "uk",  "dev", "app", "info"};
    for (size_t i = 0; i < COUNT(ends); i++)
        if (strlen(ends[i]) == n && !strncasecmp(ends[i], label, n))
            return 1;
    return 0;
}

/* Where the name of a host that begins at `at` ends; 0 if there is none. *known: its last label is. */
static size_t host_end(const Line *l, size_t at, int *known)
{
    size_t label = at, i = at;
    int labels = 0;
    for (;;) {
        while (i < l->n && (is_alpha(l->s[i]) || is_digit(l->s[i]) || (l->s[i] == '-' && i > label)))
            i++;
        if (i == label)
            return 0;
        labels++;
        if (i + 1 < l->n && l->s[i] == '.' && (is_alpha(l->s[i + 1]) || is_digit(l->s[i + 1])))
            label = ++i;
        else
            break;
    }
    *known = is_domain_end(l->s + label, i - label);
    return labels >= 2 && is_alpha(l->s[label]) ? i : 0;
}

static void say_address(Line *l, size_t from, size_t to, size_t host)
{
    static const struct {
        char mark;
        const char *word;
    } marks[] = {{'.', "dot"},           {'@', "at"},     {'/', "slash"}, {'-', "dash"}, {'_', "underscore"},
                 {'?', "question mark"}, {'=', "equals"}, {'&', "and"},   {'#', "hash"}, {'%', "percent"},
                 {'+', "plus"},          {':', "colon"},  {'~', "tilde"}, {',', "comma"}};
    if (to > from && l->s[to - 1] == '/')
        to--;
    for (size_t i = from; i < to; i++) {
        const char *word = NULL;
        for (size_t m = 0; m < COUNT(marks) && !word; m++)
            if (l->s[i] == marks[m].mark)
                word = marks[m].word;
        if (word) {
            if (i > from)
                say(l, " ");
            say(l, word);
            if (i + 1 < to)
                say(l, " ");
            continue;
        }
        /* A country of two letters is spelled, and so is www. */
        size_t run = i;
        while (run < to && is_alpha(l->s[run]))
            run++;
        if (run - i == 3 && !strncasecmp(l->s + i, "www", 3)) {
            say(l, "w w w");
            i += 2;
        } else if (run - i == 2 && run == host && i > from && l->s[i - 1] == '.') {
            char upper[2] = {(char)(l->s[i] & ~32), (char)(l->s[i + 1] & ~32)};
            buf_add(l->out, upper, 2);
            i++;
        } else {
            buf_add(l->out, l->s + i, 1);
        }
    }
}

/* The scheme is not said. Only at the beginning of what blanks and brackets separate. */
static int try_address(Line *l)
{
    if (l->at && !strchr(" (\"'<[", l->s[l->at - 1]))
        return 0;
    size_t at = l->at, end = at, scheme = begins(l, at, "https://") ? 8 : begins(l, at, "http://") ? 7 : 0;
    while (end < l->n && l->s[end] != ' ')
        end++;
    while (end > at && strchr(".,;:!?)\"'>]", l->s[end - 1]))
        end--;
    int known = 0;
    size_t host = host_end(l, at + scheme, &known);
    if (scheme || (host && begins(l, at, "www."))) {
        if (!host)
            return 0;
    } else {
        /* A name before an '@', or a host with a known end and nothing but a path after it. */
        size_t name = at;
        while (name < end && (is_alpha(l->s[name]) || is_digit(l->s[name]) || strchr("._%+-", l->s[name])))
            name++;
        if (name > at && name < end && l->s[name] == '@') {
            host = host_end(l, name + 1, &known);
            if (!host)
                return 0;
            end = host;
        } else if (!host || !known || (host < end && l->s[host] != '/' && l->s[host] != '\'')) {
            return 0;
        } else if (host < l->n && l->s[host] == '\'') {
            end = host; /* "Amazon.com's" */
        }
    }
    take(l, end - at);
    say_address(l, at + scheme, end, host);
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

/* Words before a numeral that counts. */
static int is_part(const char *word)
{
    static const char *const parts[] = {
        "Chapter", "Book",     "Part",    "Volume", "Act",      "Scene",  "Section",  "Article",  "Title",
        "Type",    "Class",    "Phase",   "Stage",  "Appendix", "Figure", "Table",    "Level",    "Grade",
        "War",     "Bowl",     "Episode", "Mark",   "Canto",    "Psalm",  "Schedule", "Division", "Apollo",
        "Vatican", "Plate",    "Lesson",  "Unit",   "Round",    "Rocky",  "Gemini",   "Saturn",   "Factor",
        "Quarto",  "Symphony", "chapter", "part",   "book",     "volume", "act",      "scene",    "section",
        "article", "phase",    "stage",   "type",   "class",    "figure", "table",    "page"};
    return in_list(word, parts, COUNT(parts));
}

/* 1 if one of the capitalised words before `at`, initials among them, is somebody's given name; *titled: a
 * title stands before them. */
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

static void say_number(Line *l, int value, int ordinal)
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

/* "I" and "X" are words and letters as well: they count only after a title or a part of a book. */
static int try_roman(Line *l)
{
    char word[WORD], before[WORD], next[WORD];
    size_t length = word_at(l, l->at, word);
    int value = length ? roman_value(word) : 0;
    if (!value || value > 3999 || (l->at + length < l->n && is_digit(l->s[l->at + length])))
        return 0;
    int titled, ordinal = 0, counts = 0;
    word_before(l, l->at, before);
    size_t after = l->at + length;
    if (is_part(before)) {
        counts = length > 1 || (is_upper(before[0]) && strchr("IVX", word[0])); /* "this chapter I wrote" */
    } else if (begins(l, after, " ") && word_at(l, after + 1, next) && !strncasecmp(next, "centur", 6) &&
               length > 1) {
        take(l, length);
        say_number(l, value, 1);
        return 1;
    } else if (follows_person(l, l->at, &titled) && value <= 40) {
        ordinal =
            length > 1 || (titled && word[0] != 'L') || (word[0] == 'V' && strcmp(before, "Malcolm") != 0);
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
    say_number(l, value, ordinal);
    return 1;
}

/* ---- states ---- */

/* "CA 90210": the state by its name, the code digit by digit. */
static int try_zip(Line *l)
{
    static const char *const states[][2] = {
        {"AL", "Alabama"},        {"AK", "Alaska"},         {"AZ", "Arizona"},
        {"AR", "Arkansas"},       {"CA", "California"},     {"CO", "Colorado"},
        {"CT", "Connecticut"},    {"DE", "Delaware"},       {"DC", "DC"},
        {"FL", "Florida"},        {"GA", "Georgia"},        {"HI", "Hawaii"},
        {"ID", "Idaho"},          {"IL", "Illinois"},       {"IN", "Indiana"},
        {"IA", "Iowa"},           {"KS", "Kansas"},         {"KY", "Kentucky"},
        {"LA", "Louisiana"},      {"ME", "Maine"},          {"MD", "Maryland"},
        {"MA", "Massachusetts"},  {"MI", "Michigan"},       {"MN", "Minnesota"},
        {"MS", "Mississippi"},    {"MO", "Missouri"},       {"MT", "Montana"},
        {"NE", "Nebraska"},       {"NV", "Nevada"},         {"NH", "New Hampshire"},
        {"NJ", "New Jersey"},     {"NM", "New Mexico"},     {"NY", "New York"},
        {"NC", "North Carolina"}, {"ND", "North Dakota"},   {"OH", "Ohio"},
        {"OK", "Oklahoma"},       {"OR", "Oregon"},         {"PA", "Pennsylvania"},
        {"RI", "Rhode Island"},   {"SC", "South Carolina"}, {"SD", "South Dakota"},
        {"TN", "Tennessee"},      {"TX", "Texas"},          {"UT", "Utah"},
        {"VT", "Vermont"},        {"VA", "Virginia"},       {"WA", "Washington"},
        {"WV", "West Virginia"},  {"WI", "Wisconsin"},      {"WY", "Wyoming"}};
    size_t at = l->at;
    if (at + 8 > l->n || l->s[at + 2] != ' ')
        return 0;
    for (size_t i = 3; i < 8; i++)
        if (!is_digit(l->s[at + i]))
            return 0;
    if (at + 8 < l->n && (is_digit(l->s[at + 8]) || is_alpha(l->s[at + 8])))
        return 0;
    for (size_t i = 0; i < COUNT(states); i++) {
        if (memcmp(l->s + at, states[i][0], 2) != 0)
            continue;
        take(l, 8);
        say(l, states[i][1]);
        for (size_t d = 3; d < 8; d++) {
            say(l, " ");
            buf_add(l->out, l->s + at + d, 1);
        }
        return 1;
    }
    return 0;
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
            done = try_address(&l) || (is_upper(c) && (try_roman(&l) || try_zip(&l)));
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
