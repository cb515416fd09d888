/* english_names.c - see english_line.h. Short names of months, days and states are written out where the
 * words around them leave no doubt: "Mar", "Sun" and "OR" are words, too. */
#include <stdlib.h>
#include <strings.h>

#include "text/aloud/english_line.h"

typedef struct ShortName {
    const char *brief, *full;
    int doubtful; /* another word or name is written like it, with a full stop as well */
} ShortName;

static const ShortName months[] = {
    {"Jan", "January", 1}, {"Feb", "February", 0},   {"Mar", "March", 1},    {"Apr", "April", 0},
    {"Jun", "June", 1},    {"Jul", "July", 1},       {"Aug", "August", 0},   {"Sep", "September", 0},
    {"Oct", "October", 0}, {"Sept", "September", 0}, {"Nov", "November", 0}, {"Dec", "December", 0},
};
static const ShortName days[] = {
    {"Mon", "Monday", 0},   {"Tue", "Tuesday", 0},   {"Tues", "Tuesday", 0}, {"Wed", "Wednesday", 1},
    {"Thu", "Thursday", 0}, {"Thur", "Thursday", 0}, {"Fri", "Friday", 0},   {"Thurs", "Thursday", 0},
    {"Sat", "Saturday", 1}, {"Sun", "Sunday", 1},
};

/* Letters of the post, and what newspapers write behind a town. doubtful: not without a ZIP code. */
static const ShortName states[] = {
    {"AL", "Alabama", 0},        {"AK", "Alaska", 0},         {"AZ", "Arizona", 0},
    {"AR", "Arkansas", 0},       {"CA", "California", 0},     {"CO", "Colorado", 1},
    {"CT", "Connecticut", 0},    {"DE", "Delaware", 1},       {"DC", "DC", 0},
    {"FL", "Florida", 0},        {"GA", "Georgia", 0},        {"HI", "Hawaii", 1},
    {"ID", "Idaho", 1},          {"IL", "Illinois", 0},       {"IN", "Indiana", 1},
    {"IA", "Iowa", 0},           {"KS", "Kansas", 0},         {"KY", "Kentucky", 0},
    {"LA", "Louisiana", 1},      {"ME", "Maine", 1},          {"MD", "Maryland", 1},
    {"MA", "Massachusetts", 1},  {"MI", "Michigan", 0},       {"MN", "Minnesota", 0},
    {"MS", "Mississippi", 1},    {"MO", "Missouri", 0},       {"MT", "Montana", 0},
    {"NE", "Nebraska", 0},       {"NV", "Nevada", 0},         {"NH", "New Hampshire", 0},
    {"NJ", "New Jersey", 0},     {"NM", "New Mexico", 0},     {"NY", "New York", 0},
    {"NC", "North Carolina", 0}, {"ND", "North Dakota", 0},   {"OH", "Ohio", 1},
    {"OK", "Oklahoma", 1},       {"OR", "Oregon", 1},         {"PA", "Pennsylvania", 1},
    {"RI", "Rhode Island", 0},   {"SC", "South Carolina", 0}, {"SD", "South Dakota", 0},
    {"TN", "Tennessee", 0},      {"TX", "Texas", 0},          {"UT", "Utah", 0},
    {"VT", "Vermont", 0},        {"VA", "Virginia", 1},       {"WA", "Washington", 0},
    {"WV", "West Virginia", 0},  {"WI", "Wisconsin", 0},      {"WY", "Wyoming", 0},
};
static const ShortName press_states[] = {
    {"Ala", "Alabama", 0},      {"Ariz", "Arizona", 0},    {"Ark", "Arkansas", 0},
    {"Calif", "California", 0}, {"Colo", "Colorado", 0},   {"Conn", "Connecticut", 0},
    {"Del", "Delaware", 0},     {"Fla", "Florida", 0},     {"Ga", "Georgia", 0},
    {"Ill", "Illinois", 0},     {"Ind", "Indiana", 0},     {"Kan", "Kansas", 0},
    {"Ky", "Kentucky", 0},      {"La", "Louisiana", 0},    {"Mass", "Massachusetts", 0},
    {"Md", "Maryland", 0},      {"Mich", "Michigan", 0},   {"Minn", "Minnesota", 0},
    {"Miss", "Mississippi", 0}, {"Mo", "Missouri", 0},     {"Mont", "Montana", 0},
    {"Neb", "Nebraska", 0},     {"Nev", "Nevada", 0},      {"Okla", "Oklahoma", 0},
    {"Ore", "Oregon", 0},       {"Pa", "Pennsylvania", 0}, {"Tenn", "Tennessee", 0},
    {"Tex", "Texas", 0},        {"Va", "Virginia", 0},     {"Vt", "Vermont", 0},
    {"Wash", "Washington", 0},  {"Wis", "Wisconsin", 0},   {"Wyo", "Wyoming", 0},
};

static const ShortName *find_name(const ShortName *list, size_t n, const char *word)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(list[i].brief, word))
            return &list[i];
    return NULL;
}

static const ShortName *day_at(const Line *l, size_t at, size_t *length)
{
    char word[WORD];
    *length = word_at(l, at, word);
    return *length ? find_name(days, COUNT(days), word) : NULL;
}

/* A number of one or two digits, perhaps an ordinal, stands before the blank before l->at. */
static int follows_day(const Line *l)
{
    size_t end = l->at, at;
    if (!end || l->s[end - 1] != ' ')
        return 0;
    end--;
    while (end && is_alpha(l->s[end - 1]) && !is_upper(l->s[end - 1]))
        end--;
    for (at = end; at && is_digit(l->s[at - 1]); at--)
        ;
    return end - at >= 1 && end - at <= 2 && (!at || l->s[at - 1] == ' ');
}

/* Words before a date. */
static int follows_preposition(const Line *l)
{
    static const char *const words[] = {"in",     "on",      "since",   "until", "till",  "by",
                                        "from",   "last",    "next",    "this",  "early", "late",
                                        "during", "through", "every",   "In",    "On",    "Since",
                                        "Until",  "By",      "between", "of",    "mid",   "each"};
    char word[WORD];
    word_before(l, l->at, word);
    return in_list(word, words, COUNT(words));
}

/* Says the name for `length` bytes and the full stop behind them, which stays if it ends the sentence. */
static void say_name(Line *l, const ShortName *name, size_t length, int stop)
{
    char next[WORD];
    size_t after = l->at + length + (size_t)stop;
    int ends = stop && after == l->n;
    if (stop && begins(l, after, " ") && after + 1 < l->n && is_upper(l->s[after + 1])) {
        word_at(l, after + 1, next);
        ends = !find_name(months, COUNT(months), next);
    }
    take(l, length + (size_t)stop);
    say(l, name->full);
    if (ends)
        say(l, ".");
}

/* "Dec. 5", "5 Dec", "in Dec."; months whose short names are other words, too, need such a neighbour. */
static int try_month(Line *l, const char *word, size_t length)
{
    const ShortName *name = find_name(months, COUNT(months), word);
    if (!name)
        return 0;
    size_t after = l->at + length, stop = begins(l, after, ".");
    size_t next = after + stop + begins(l, after + stop, " ");
    int dated = (next < l->n && is_digit(l->s[next])) || follows_day(l);
    if (!dated && !(stop && (!name->doubtful || follows_preposition(l))))
        return 0;
    say_name(l, name, length, (int)stop);
    return 1;
}

/* "Mon., Feb. 3", "on Tues.", "Mon-Fri". */
static int try_day(Line *l, const char *word, size_t length)
{
    const ShortName *name = find_name(days, COUNT(days), word);
    if (!name)
        return 0;
    size_t after = l->at + length, stop = begins(l, after, "."), more;
    size_t dash = after + stop +
                  (begins(l, after + stop, "-")        ? 1
                   : begins(l, after + stop, "\u2013") ? 3
                                                       : 0);
    const ShortName *last = dash > after + stop ? day_at(l, dash, &more) : NULL;
    if (last) {
        size_t end = dash + more, last_stop = stop && begins(l, end, ".") && end + 1 < l->n;
        take(l, end + last_stop - l->at);
        say(l, name->full);
        say(l, " to ");
        say(l, last->full);
        return 1;
    }
    size_t next = after + stop + begins(l, after + stop, " ");
    int dated = begins(l, after, ".,") || (next > after && next < l->n && is_digit(l->s[next]));
    if (!stop || !(dated || !name->doubtful || follows_preposition(l)))
        return 0;
    say_name(l, name, length, 1);
    return 1;
}

/* Behind a town and a comma ("Austin, TX"), or a party ("D-Mass."). */
static int try_state(Line *l, const char *word, size_t length)
{
    size_t at = l->at, after = at + length;
    const ShortName *name = find_name(states, COUNT(states), word);
    size_t stop = 0;
    if (!name) {
        name = find_name(press_states, COUNT(press_states), word);
        stop = name && begins(l, after, ".");
        if (!stop)
            return 0;
    }
    int party =
        at >= 2 && l->s[at - 1] == '-' && strchr("DRI", l->s[at - 2]) && (at == 2 || !is_alpha(l->s[at - 3]));
    size_t from = at >= 2 && begins(l, at - 2, ", ") ? at - 2 : 0, end = from;
    while (from && is_alpha(l->s[from - 1]))
        from--;
    /* A town has small letters, too: no list of capitals. */
    int town = end > from + 2 && is_upper(l->s[from]) && !is_upper(l->s[from + 1]) && !name->doubtful;
    if ((!party && !town) || (after < l->n && (is_digit(l->s[after]) || l->s[after] == '-')))
        return 0;
    if (party) {
        l->at--;
        take(l, 1);
        say(l, " ");
    }
    say_name(l, name, length, (int)stop);
    return 1;
}

int english_try_name(Line *l)
{
    char word[WORD];
    size_t length = word_at(l, l->at, word);
    if (length < 2 || length > 5)
        return 0;
    return try_month(l, word, length) || try_day(l, word, length) || try_state(l, word, length);
}

int english_try_zip(Line *l)
{
    size_t at = l->at;
    char word[3] = "";
    if (at + 8 > l->n || l->s[at + 2] != ' ')
        return 0;
    for (size_t i = 3; i < 8; i++)
        if (!is_digit(l->s[at + i]))
            return 0;
    if (at + 8 < l->n && (is_digit(l->s[at + 8]) || is_alpha(l->s[at + 8])))
        return 0;
    memcpy(word, l->s + at, 2);
    const ShortName *state = find_name(states, COUNT(states), word);
    if (!state)
        return 0;
    take(l, 8);
    say(l, state->full);
    for (size_t d = 3; d < 8; d++) {
        say(l, " ");
        buf_add(l->out, l->s + at + d, 1);
    }
    return 1;
}
