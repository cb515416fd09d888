/* text_notes.c - see text_notes.h. */
#include "diag/voice/text_notes.h"

#include <string.h>
#include <strings.h>
#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include "base/utf8.h"

#define LONGEST_NOTE 60 /* bytes between brackets */

/* Parentheses belong to sentences, except around such a word, or one that begins with it. */
static const char *const note_words[] = {
    "noise", "laugh",         "chuckl",  "giggl",   "cough",   "sneez",  "sigh",   "breath", "inhal",
    "exhal", "music",         "appla",   "inaudib", "uncle",   "uninte", "silen",  "pause",  "cross",
    "beep",  "click",         "unknown", "sic",     "whisper", "cries",  "crying", "lacht",  "lache",
    "huste", "ger\xC3\xA4us", "musik",   "unver",   "seufz",   "rires",  "bruit",  "risas",  "ruido"};

static int is_note_word(const char *p, size_t n)
{
    for (size_t i = 0; i < sizeof note_words / sizeof *note_words; i++) {
        const size_t size = strlen(note_words[i]);
        if (n >= size && !strncasecmp(p, note_words[i], size) && !memchr(p, ',', n) && n < size + 12)
            return 1;
    }
    return 0;
}

/* The bytes of a bracket that begins here, or 0. */
static size_t bracket(const char *p, size_t n)
{
    static const char open[] = "[{<*(", close[] = "]}>*)";
    const char *kind = *p ? strchr(open, *p) : NULL;
    if (!kind || n < 3)
        return 0;
    const char *end = memchr(p + 1, close[kind - open], n - 1 < LONGEST_NOTE ? n - 1 : LONGEST_NOTE);
    if (!end || end == p + 1 || p[1] == ' ')
        return 0;
    const size_t inside = (size_t)(end - p - 1);
    if (*p == '(' && !is_note_word(p + 1, inside))
        return 0;
    return inside + 2;
}

/* Until the next blank. */
static size_t address(const char *p, size_t n)
{
    if (!(n > 7 && !strncasecmp(p, "http://", 7)) && !(n > 8 && !strncasecmp(p, "https://", 8)) &&
        !(n > 4 && !strncasecmp(p, "www.", 4)))
        return 0;
    size_t size = 0;
    while (size < n && (unsigned char)p[size] > ' ')
        size++;
    return size;
}

/* "&amp;", "&#39;" */
static size_t entity(const char *p, size_t n)
{
    size_t size = 1;
    if (*p != '&')
        return 0;
    while (size < n && size < 10 && (p[size] == '#' || u_isalnum((UChar32)(unsigned char)p[size])))
        size++;
    return size > 2 && size < n && p[size] == ';' ? size + 1 : 0;
}

/* Symbols that nobody can read out; signs of money, degrees, arithmetic and the like can be. */
static int is_odd(UChar32 c, UChar32 next)
{
    if (c < 0x80)
        return c == '_' || c == '~' || c == '^' || c == '\\' || c == '|' || c == '{' || c == '}' ||
               c == '<' || c == '>' || c == '[' || c == ']';
    /* UTF-8 that was taken for Latin-1: the two halves of a letter. */
    if ((c == 0xC2 || c == 0xC3) && next >= 0x80 && next < 0xC0)
        return 1;
    if (c == 0xE2 && (next == 0x20AC || next == 0x80))
        return 1;
    switch (u_charType(c)) {
    case U_OTHER_SYMBOL:
        return c != 0xB0 && c != 0x2116; /* degree, numero */
    case U_PRIVATE_USE_CHAR:
    case U_UNASSIGNED:
    case U_CONTROL_CHAR:
        return 1;
    default:
        return 0;
    }
}

static int tell(char *out, size_t cap, const char *p, size_t n)
{
    const size_t size = utf8_cut(p, n, cap - 1);
    memcpy(out, p, size);
    out[size] = 0;
    return 1;
}

int text_find_note(char *out, size_t cap, Str text)
{
    out[0] = 0;
    for (int32_t at = 0, n = (int32_t)text.n; at < n;) {
        const char *p = text.p + at;
        const size_t left = (size_t)(n - at);
        size_t size = bracket(p, left);
        if (!size)
            size = address(p, left);
        if (!size)
            size = entity(p, left);
        if (size)
            return tell(out, cap, p, size);
        UChar32 c, next = 0;
        const int32_t from = at;
        U8_NEXT_OR_FFFD(text.p, at, n, c);
        if (at < n) {
            int32_t ahead = at;
            U8_NEXT_OR_FFFD(text.p, ahead, n, next);
        }
        if (is_odd(c, next))
            return tell(out, cap, p, (size_t)(at - from));
    }
    return 0;
}
