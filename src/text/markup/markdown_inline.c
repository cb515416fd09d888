/* markdown_inline.c - see markdown_inline.h. First it is found out what belongs together, each kind in one
 * pass from left to right: spans of code, brackets, marks of emphasis. Then the text is read. */
#include "text/markup/markdown_inline.h"

#include <string.h>

#include "base/utf8.h"
#include "text/markup/html.h"

enum { LONGEST_TICKS = 32 }; /* of a span of code */

void inline_add(Inline *p, const char *s, size_t from, size_t to)
{
    if (p->text.size) {
        const uint32_t place = (uint32_t)from;
        buf_add(&p->text, "\n", 1);
        buf_add(&p->places, &place, sizeof place);
    }
    while (to > from && s[to - 1] == '\r')
        to--;
    buf_add(&p->text, s + from, to - from);
    for (; from < to; from++) {
        const uint32_t place = (uint32_t)from;
        buf_add(&p->places, &place, sizeof place);
    }
}

void inline_clear(Inline *p)
{
    buf_clear(&p->text);
    buf_clear(&p->places);
}

void inline_free(Inline *p)
{
    buf_free(&p->text);
    buf_free(&p->places);
    buf_free(&p->links);
    buf_free(&p->stacks);
}

static int is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static int is_mark(char c) /* ASCII punctuation */
{
    return (c > ' ' && c < '0') || (c > '9' && c < 'A') || (c > 'Z' && c < 'a') || (c > 'z' && c < 0x7F);
}

static size_t run_of(const char *s, size_t n, size_t at)
{
    size_t end = at;
    while (end < n && s[end] == s[at])
        end++;
    return end - at;
}

/* --- what belongs together --- */

/* links[i] of the first backtick: behind the last one of the span. From right to left, so that each run finds
 * the next of its length at once. */
static void find_code(const char *s, size_t n, uint32_t *links)
{
    uint32_t next[LONGEST_TICKS + 1] = {0};
    for (size_t i = n; i > 0;) {
        if (s[i - 1] != '`') {
            i--;
            continue;
        }
        const size_t end = i;
        while (i > 0 && s[i - 1] == '`')
            i--;
        const size_t size = end - i;
        if (size <= LONGEST_TICKS) {
            links[i] = next[size];
            next[size] = (uint32_t)end;
        }
    }
}

/* Bytes at `at` in which no mark counts: a span of code, or an escaped character; else 0. */
static size_t solid_size(const char *s, size_t n, size_t at, const uint32_t *links)
{
    if (s[at] == '`')
        return links[at] ? links[at] - at : run_of(s, n, at);
    return s[at] == '\\' && at + 1 < n && is_mark(s[at + 1]) ? 2 : 0;
}

/* links[i] of '[' and '(': their closing ones. The stack of open links is kept in `links` itself: each holds
 * the one before it until it is closed. */
static void find_brackets(const char *s, size_t n, uint32_t *links)
{
    uint32_t open[2] = {0}; /* place + 1 */
    for (size_t i = 0; i < n;) {
        const size_t solid = solid_size(s, n, i, links);
        const char *kind = solid ? NULL : strchr("[(", s[i]), *closing = solid ? NULL : strchr("])", s[i]);
        if (kind && *kind) {
            const int k = *kind == '(';
            links[i] = open[k];
            open[k] = (uint32_t)i + 1;
        } else if (closing && *closing) {
            const int k = *closing == ')';
            const uint32_t from = open[k];
            if (from) {
                open[k] = links[from - 1];
                links[from - 1] = (uint32_t)i;
            }
        }
        i += solid ? solid : 1;
    }
    for (int k = 0; k < 2; k++) /* those that are never closed */
        while (open[k]) {
            const uint32_t from = open[k];
            open[k] = links[from - 1];
            links[from - 1] = 0;
        }
}

typedef struct Emphasis {
    uint32_t at, left; /* marks that are not matched yet: the last ones of the run */
} Emphasis;

/* Whether a run of marks may begin or end emphasis, by what stands on both sides. */
static void judge_run(const char *s, size_t n, size_t at, size_t size, int *opens, int *closes)
{
    const size_t behind = at + size;
    const int blank_before = !at || is_blank(s[at - 1]), blank_behind = behind >= n || is_blank(s[behind]);
    const int mark_before = at && is_mark(s[at - 1]), mark_behind = behind < n && is_mark(s[behind]);
    *opens = !blank_behind && (!mark_behind || blank_before || mark_before);
    *closes = !blank_before && (!mark_before || blank_behind || mark_behind);
    if (s[at] == '_') { /* not inside of a word */
        const int left = *opens, right = *closes;
        *opens = left && (!right || mark_before);
        *closes = right && (!left || mark_behind);
    }
}

/* links of marks that are silent: 1. */
static void find_emphasis(const char *s, size_t n, uint32_t *links, Buf *stacks)
{
    static const char kinds[] = "*_~";
    for (int k = 0; k < 3; k++) {
        buf_clear(stacks);
        for (size_t i = 0; i < n;) {
            const size_t solid = solid_size(s, n, i, links);
            if (solid || s[i] != kinds[k]) {
                i += solid ? solid : 1;
                continue;
            }
            const size_t size = run_of(s, n, i);
            size_t used = 0;
            int opens, closes;
            judge_run(s, n, i, size, &opens, &closes);
            while (closes && used < size && stacks->size) {
                Emphasis *top = (Emphasis *)(void *)(stacks->data + stacks->size) - 1;
                links[top->at + --top->left] = 1;
                links[i + used++] = 1;
                if (!top->left)
                    stacks->size -= sizeof *top;
            }
            const Emphasis run = {(uint32_t)(i + used), (uint32_t)(size - used)};
            if (opens && run.left)
                buf_add(stacks, &run, sizeof run);
            i += size;
        }
    }
}

/* --- reading --- */

typedef struct Walk {
    const Inline *p;
    Reading *r;
    const char *s;
    size_t n, wasted;
    uint32_t *links;
    const uint32_t *places;
} Walk;

static void put(Walk *w, size_t from, size_t to)
{
    /* Piece by piece: a line's end is not where the next line begins. */
    for (size_t end; from < to; from = end) {
        end = from + 1;
        while (end < to && w->places[end] == w->places[end - 1] + 1)
            end++;
        reading_put(w->r, w->s + from, end - from, w->places[from]);
    }
}

/* Behind "](address)" or "][label]", or 0. */
static size_t link_end(const Walk *w, size_t close)
{
    const size_t next = close + 1;
    if (next >= w->n || !w->links[next])
        return 0;
    return w->s[next] == '(' || (w->s[next] == '[' && w->p->has_definitions) ? w->links[next] + 1u : 0;
}

static size_t read_code(Walk *w, size_t at)
{
    const size_t ticks = run_of(w->s, w->n, at), end = w->links[at];
    if (!end) {
        put(w, at, at + ticks);
        return at + ticks;
    }
    reading_code(w->r, w->s + at + ticks, end - at - 2 * ticks, w->places[at + ticks]);
    return end;
}

/* '[', '![': a link is read by its text. Where reading goes on. */
static size_t read_bracket(Walk *w, size_t at)
{
    const size_t from = at + (w->s[at] == '!'), close = w->links[from];
    if (close && w->s[from + 1] == '^') /* of a footnote */
        return close + 1;
    /* [[IPA]] stays. */
    const size_t end = close ? link_end(w, close) : 0;
    if (!end) {
        put(w, at, from + 1);
        return from + 1;
    }
    w->links[close] = (uint32_t)end;
    return from + 1;
}

/* '<': an address, or a tag. Where reading goes on. */
static size_t read_angle(Walk *w, size_t at)
{
    enum { LONGEST = 2048 };
    Tag t;
    if (html_tag(&t, w->s, w->n, at, &w->wasted) && t.kind != TAG_UNKNOWN) {
        if (t.kind == TAG_BREAK)
            reading_pause(w->r, PAUSE_SHORT, w->places[at]);
        else if (t.kind == TAG_BLOCK)
            reading_pause(w->r, PAUSE_STOP, w->places[at]);
        else if (t.kind == TAG_IMAGE && t.alt_size)
            put(w, t.alt, t.alt + t.alt_size);
        return at + t.size;
    }
    size_t end = at + 1;
    int address = 0;
    while (end < w->n && end - at < LONGEST && !is_blank(w->s[end]) && w->s[end] != '<' && w->s[end] != '>') {
        address |= w->s[end] == ':' || w->s[end] == '@';
        end++;
    }
    if (address && end < w->n && w->s[end] == '>') {
        put(w, at + 1, end);
        return end + 1;
    }
    put(w, at, at + 1);
    return at + 1;
}

/* The end of a line: a break where two blanks or a backslash stand before it. */
static void read_newline(Walk *w, size_t at)
{
    const int hard = at >= 2 && w->s[at - 1] == ' ' && w->s[at - 2] == ' ';
    reading_pause(w->r, hard ? PAUSE_SHORT : PAUSE_BLANK, w->places[at]);
}

/* One character of a kind of its own at `at`: where reading continues; 0: it is text. */
static size_t read_special(Walk *w, size_t at)
{
    const char *s = w->s;
    size_t size;
    uint32_t cp;
    char bytes[4];
    switch (s[at]) {
    case '`':
        return read_code(w, at);
    case '\\':
        if (at + 1 < w->n && s[at + 1] == '\n') {
            reading_pause(w->r, PAUSE_SHORT, w->places[at]);
            return at + 2;
        }
        if (at + 1 == w->n || !is_mark(s[at + 1]))
            return 0;
        put(w, at + 1, at + 2);
        return at + 2;
    case '\n':
        read_newline(w, at);
        return at + 1;
    case '!':
        return at + 1 < w->n && s[at + 1] == '[' ? read_bracket(w, at) : 0;
    case '[':
        return read_bracket(w, at);
    case ']':
        return w->links[at];
    case '<':
        return read_angle(w, at);
    case '&':
        cp = html_entity(s, w->n, at, &size);
        if (!cp)
            return 0;
        reading_say(w->r, bytes, utf8_put(bytes, cp), w->places[at]);
        return at + size;
    case '*':
    case '_':
    case '~':
        return w->links[at] ? at + 1 : 0;
    default:
        return 0;
    }
}

void inline_read(Inline *p, Reading *r)
{
    const size_t n = p->text.size;
    buf_clear(&p->links);
    buf_zero(&p->links, n * sizeof(uint32_t));
    if (p->text.failed || p->places.failed || p->links.failed || !n)
        return;
    Walk w = {.p = p,
              .r = r,
              .s = p->text.data,
              .n = n,
              .links = (uint32_t *)(void *)p->links.data,
              .places = (const uint32_t *)(const void *)p->places.data};
    find_code(w.s, n, w.links);
    find_brackets(w.s, n, w.links);
    find_emphasis(w.s, n, w.links, &p->stacks);
    size_t from = 0;
    for (size_t i = 0; i < n;) {
        if (!strchr("`\\\n![]<&*_~", w.s[i])) {
            i++;
            continue;
        }
        put(&w, from, i);
        const size_t next = read_special(&w, i);
        from = next ? next : i;
        i = next ? next : i + 1;
    }
    put(&w, from, n);
}

/* --- is it Markdown --- */

/* Emphasis on its own: "*word*", "**two words**", "~~gone~~", not "2 * 3", "5*", "a*b*c". */
static int is_emphasis(const char *s, size_t n, size_t at)
{
    const size_t size = run_of(s, n, at);
    if (size > 3 || (at && !is_blank(s[at - 1]) && !strchr("(\"'[>*_", s[at - 1])) || at + size >= n ||
        is_blank(s[at + size]) || (is_mark(s[at + size]) && !strchr("\"'`[(*_", s[at + size])) ||
        (s[at] == '~' && size != 2))
        return 0;
    for (size_t i = at + size; i + size <= n; i++) {
        if (s[i] != s[at])
            continue;
        const size_t closing = run_of(s, n, i), behind = i + closing;
        if (closing == size && !is_blank(s[i - 1]) &&
            (behind == n || is_blank(s[behind]) || strchr(".,;:!?)\"']*_-", s[behind])))
            return 1;
        if (closing == size || is_blank(s[i - 1])) /* another begins */
            return 0;
        i = behind - 1;
    }
    return 0;
}

/* "[text](address)", "![text](address)". */
static int is_link(const char *s, size_t n, size_t at)
{
    static const char *const begins[] = {"http", "mailto:", "/", "#", "./", "../"};
    if (s[at] != ']' || at + 2 >= n || s[at + 1] != '(' || !memchr(s, '[', at))
        return 0;
    const char *end = memchr(s + at, ')', n - at);
    const size_t from = at + 2, size = end ? (size_t)(end - s) - from : 0;
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (size > strlen(begins[i]) && !memcmp(s + from, begins[i], strlen(begins[i])))
            return 1;
    /* A file: a dot, and no blank. */
    return size && memchr(s + from, '.', size) && !memchr(s + from, ' ', size);
}

/* "`name`": one backtick on each side. */
static int is_code(const char *s, size_t n, size_t at)
{
    if (run_of(s, n, at) != 1 || (at && s[at - 1] == '`') || at + 1 >= n || is_blank(s[at + 1]))
        return 0;
    const char *end = memchr(s + at + 1, '`', n - at - 1);
    return end && !is_blank(end[-1]) && (end + 1 == s + n || end[1] != '`');
}

int inline_is_likely(const char *s, size_t n)
{
    enum { MOST_TRIES = 64 }; /* that look at the rest of the line */
    int tries = 0;
    for (size_t i = 0; i < n && tries < MOST_TRIES; i++) {
        if (!strchr("*_~`]", s[i]) || !s[i])
            continue;
        tries++;
        if (s[i] == ']' ? is_link(s, n, i) : s[i] == '`' ? is_code(s, n, i) : is_emphasis(s, n, i))
            return 1;
        if (s[i] != ']')
            i += run_of(s, n, i) - 1;
    }
    return 0;
}
