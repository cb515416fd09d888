/* reading.c - see reading.h. */
#include "text/markup/reading.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "config/languages.h"
#include "text/aloud/addresses.h"
#include "text/unicode.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* --- words --- */

static const AloudWords others = {.block = "Code", .block_in = "Code "};

static const AloudWords *words_of(const Reading *r)
{
    const Language *l = r->language ? language_find(r->language) : NULL;
    return l && l->aloud ? l->aloud : &others;
}

/* What the tag of a block stands for, where it is not the name itself. */
static const struct {
    const char *tag, *name;
} tags[] = {{"py", "Python"},       {"python3", "Python"},
            {"js", "JavaScript"},   {"javascript", "JavaScript"},
            {"ts", "TypeScript"},   {"typescript", "TypeScript"},
            {"sh", "Shell"},        {"zsh", "Shell"},
            {"console", "Shell"},   {"c++", "C plus plus"},
            {"cpp", "C plus plus"}, {"c#", "C sharp"},
            {"cs", "C sharp"},      {"csharp", "C sharp"},
            {"rs", "Rust"},         {"rb", "Ruby"},
            {"golang", "Go"},       {"md", "Markdown"},
            {"yml", "YAML"},        {"yaml", "YAML"},
            {"json", "JSON"},       {"html", "HTML"},
            {"css", "CSS"},         {"xml", "XML"},
            {"sql", "SQL"},         {"php", "PHP"},
            {"toml", "TOML"},       {"kt", "Kotlin"},
            {"ps1", "PowerShell"},  {"powershell", "PowerShell"}};
/* Tags that say that there is no language. */
static const char *const no_tags[] = {"text", "txt", "plain", "plaintext", "none", "nohighlight"};

/* --- text and pauses --- */

void reading_free(Reading *r)
{
    buf_free(&r->text);
    buf_free(&r->places);
    buf_free(&r->scratch);
}

static void add(Reading *r, const char *p, size_t n, size_t at, int moves)
{
    buf_add(&r->text, p, n);
    for (size_t i = 0; i < n; i++) {
        const uint32_t place = (uint32_t)(at + (moves ? i : 0));
        r->last = place > r->last ? place : r->last; /* what is named stands behind what is in it */
        buf_add(&r->places, &r->last, sizeof r->last);
    }
}

/* Whether a mark already makes a pause at the end of the text, inside of quotes and brackets or not. */
static int has_pause(const Reading *r)
{
    static const uint32_t marks[] = {'.',    ',',    ';',    ':',    '!',    '?',    0x2026,
                                     0x60C,  0x61B,  0x61F,  0x6D4,  0x3001, 0x3002, 0xFF01,
                                     0xFF0C, 0xFF1A, 0xFF1F, 0x2014, 0x2013};
    static const uint32_t closing[] = {')', ']', '"', '\'', 0xBB, 0x201D, 0x2019, 0x300D};
    size_t at = r->text.size;
    for (int steps = 0; at && steps < 4; steps++) {
        uint32_t cp = unicode_before(r->text.data, at);
        int closes = 0;
        for (size_t i = 0; i < COUNT(marks); i++)
            if (cp == marks[i])
                return 1;
        for (size_t i = 0; i < COUNT(closing); i++)
            closes |= cp == closing[i];
        if (!closes)
            return 0;
        do
            at--;
        while (at && ((uint8_t)r->text.data[at] & 0xC0) == 0x80);
    }
    return 0;
}

/* The pause that is due, before more text. */
static void make_pause(Reading *r)
{
    const Pause pause = r->pause;
    r->pause = PAUSE_NONE;
    if (pause == PAUSE_NONE || !r->text.size)
        return;
    if (pause >= PAUSE_SHORT && !has_pause(r))
        add(r, pause == PAUSE_SHORT ? "," : ".", 1, r->pause_at, 0);
    add(r, pause == PAUSE_STOP ? "\n" : " ", 1, r->pause_at, 0);
}

void reading_pause(Reading *r, Pause pause, size_t at)
{
    if (pause <= r->pause)
        return;
    r->pause = pause;
    r->pause_at = at;
}

void reading_put(Reading *r, const char *p, size_t n, size_t at)
{
    size_t from = 0;
    for (size_t i = 0; i <= n; i++) {
        if (i < n && !strchr(" \t\n\r\f\v", p[i]))
            continue;
        if (i < n && p[i] == 0)
            continue;
        if (i > from) {
            make_pause(r);
            add(r, p + from, i - from, at + from, 1);
        }
        if (i < n)
            reading_pause(r, PAUSE_BLANK, at + i);
        from = i + 1;
    }
}

void reading_say(Reading *r, const char *words, size_t n, size_t at)
{
    if (!n)
        return;
    make_pause(r);
    add(r, words, n, at, 0);
}

int reading_end(Reading *r, size_t size)
{
    const uint32_t end = (uint32_t)size;
    if (r->pause >= PAUSE_SHORT && r->text.size && !has_pause(r))
        add(r, ".", 1, r->pause_at, 0);
    r->pause = PAUSE_NONE;
    buf_add(&r->places, &end, sizeof end);
    return r->text.failed || r->places.failed || r->scratch.failed ? ERR_NOMEM : 0;
}

/* --- code --- */

static int is_lower(char c) { return c >= 'a' && c <= 'z'; }
static int is_upper(char c) { return c >= 'A' && c <= 'Z'; }
static int is_word(char c)
{
    return is_lower(c) || is_upper(c) || (c >= '0' && c <= '9') || ((uint8_t)c & 0x80);
}

/* A name is split where a capital begins a word: camel|Case, HTTP|Server. */
static int is_hump(const char *p, size_t n, size_t i)
{
    if (!i || !is_upper(p[i]))
        return 0;
    return is_lower(p[i - 1]) || (is_upper(p[i - 1]) && i + 1 < n && is_lower(p[i + 1]));
}

/* Signs that are said; the others are silent, and a mark at the end of a word is a mark. */
static const char *code_sign(const Reading *r, const char *p, size_t n, size_t i)
{
    const int before = i && is_word(p[i - 1]), behind = i + 1 < n && is_word(p[i + 1]);
    switch (p[i]) {
    case '.':
    case '/':
    case '-':
    case '@':
    case '\\':
    case ':':
    case '~':
    case '&':
    case '#':
    case '+':
        if ((p[i] == ':' && !(before && behind)) || (p[i] == '.' && !behind) ||
            (p[i] == '\\' && i + 1 < n && p[i + 1] == '|'))
            return NULL;
        return before || behind || p[i] == '-' || p[i] == '/' ? address_sign(p[i], r->language) : NULL;
    case '=':
    case '%':
    case '*':
    case '<':
    case '>':
        return address_sign(p[i], r->language);
    default:
        return NULL;
    }
}

static int is_decimal(const char *p, size_t n, size_t i)
{
    return i && i + 1 < n && p[i] == '.' && p[i - 1] >= '0' && p[i - 1] <= '9' && p[i + 1] >= '0' &&
           p[i + 1] <= '9';
}

void reading_code(Reading *r, const char *p, size_t n, size_t at)
{
    for (size_t i = 0; i < n;) {
        const size_t scheme = address_scheme(p + i, n - i);
        if (scheme) {
            i += scheme;
            continue;
        }
        if (is_word(p[i])) {
            size_t end = i + 1;
            while (end < n && (is_word(p[end]) || is_decimal(p, n, end)) && !is_hump(p, n, end))
                end++;
            reading_put(r, p + i, end - i, at + i);
            if (end < n && is_hump(p, n, end))
                reading_pause(r, PAUSE_BLANK, at + end);
            i = end;
            continue;
        }
        const char *word = r->language ? code_sign(r, p, n, i) : NULL;
        if (word) {
            if (i)
                reading_pause(r, PAUSE_BLANK, at + i);
            reading_say(r, word, strlen(word), at + i);
        }
        if (!strchr("'", p[i])) {
            reading_pause(r, PAUSE_BLANK, at + i + 1);
        } else {
            reading_put(r, p + i, 1, at + i);
        }
        i++;
    }
    if (r->pause == PAUSE_BLANK)
        r->pause = PAUSE_NONE;
}

void reading_code_block(Reading *r, const char *tag, size_t n, size_t lines, size_t at)
{
    const AloudWords *w = words_of(r);
    char name[24] = "";
    Buf *out = &r->scratch;
    if (n && n < sizeof name) {
        memcpy(name, tag, n);
        name[n] = 0;
        if (is_lower(name[0]))
            name[0] = (char)(name[0] & ~32);
    }
    const char *said = name;
    for (size_t i = 0; *name && i < COUNT(tags); i++)
        if (!strcasecmp(name, tags[i].tag))
            said = tags[i].name;
    for (size_t i = 0; i < COUNT(no_tags); i++)
        if (!strcasecmp(name, no_tags[i]))
            said = "";
    buf_clear(out);
    buf_str(out, *said ? w->block_in : w->block);
    buf_str(out, said);
    if (lines == 1 && w->one_line)
        buf_printf(out, ", %s", w->one_line);
    else if (w->lines)
        buf_printf(out, ", %zu %s", lines, w->lines);
    reading_pause(r, PAUSE_STOP, at);
    reading_say(r, out->data ? out->data : "", out->size, at);
    reading_pause(r, PAUSE_STOP, at);
}

/* --- items --- */

void reading_number(Reading *r, unsigned long number, size_t at)
{
    char text[32];
    const int n = snprintf(text, sizeof text, "%lu", number);
    reading_say(r, text, (size_t)n, at);
    reading_pause(r, PAUSE_SHORT, at);
}

void reading_task(Reading *r, int done, size_t at)
{
    const AloudWords *w = words_of(r);
    const char *word = done ? w->done : w->open;
    if (!word)
        return;
    reading_say(r, word, strlen(word), at);
    reading_say(r, ": ", 2, at);
}
