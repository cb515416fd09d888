/* html.c - see html.h. */
#include "text/markup/html.h"

#include <string.h>
#include <strings.h>

#include "base/utf8.h"
#include "config/languages.h"
#include "text/unicode.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))
enum { MOST_WASTE = 8 }; /* times the text */

/* --- entities --- */

/* U+00A0 .. U+00FF. */
static const char *const latin[96] = {
    "nbsp",   "iexcl",  "cent",   "pound",  "curren", "yen",    "brvbar", "sect",   "uml",    "copy",
    "ordf",   "laquo",  "not",    "shy",    "reg",    "macr",   "deg",    "plusmn", "sup2",   "sup3",
    "acute",  "micro",  "para",   "middot", "cedil",  "sup1",   "ordm",   "raquo",  "frac14", "frac12",
    "frac34", "iquest", "Agrave", "Aacute", "Acirc",  "Atilde", "Auml",   "Aring",  "AElig",  "Ccedil",
    "Egrave", "Eacute", "Ecirc",  "Euml",   "Igrave", "Iacute", "Icirc",  "Iuml",   "ETH",    "Ntilde",
    "Ograve", "Oacute", "Ocirc",  "Otilde", "Ouml",   "times",  "Oslash", "Ugrave", "Uacute", "Ucirc",
    "Uuml",   "Yacute", "THORN",  "szlig",  "agrave", "aacute", "acirc",  "atilde", "auml",   "aring",
    "aelig",  "ccedil", "egrave", "eacute", "ecirc",  "euml",   "igrave", "iacute", "icirc",  "iuml",
    "eth",    "ntilde", "ograve", "oacute", "ocirc",  "otilde", "ouml",   "divide", "oslash", "ugrave",
    "uacute", "ucirc",  "uuml",   "yacute", "thorn",  "yuml"};

static const struct {
    const char *name;
    uint32_t code_point;
} entities[] = {
    {"amp", '&'},       {"lt", '<'},       {"gt", '>'},        {"quot", '"'},      {"apos", '\''},
    {"ndash", 0x2013},  {"mdash", 0x2014}, {"lsquo", 0x2018},  {"rsquo", 0x2019},  {"sbquo", 0x201A},
    {"ldquo", 0x201C},  {"rdquo", 0x201D}, {"bdquo", 0x201E},  {"bull", 0x2022},   {"hellip", 0x2026},
    {"prime", 0x2032},  {"euro", 0x20AC},  {"trade", 0x2122},  {"larr", 0x2190},   {"uarr", 0x2191},
    {"rarr", 0x2192},   {"darr", 0x2193},  {"minus", 0x2212},  {"infin", 0x221E},  {"asymp", 0x2248},
    {"ne", 0x2260},     {"le", 0x2264},    {"ge", 0x2265},     {"ensp", ' '},      {"emsp", ' '},
    {"thinsp", ' '},    {"zwnj", 0x200C},  {"zwj", 0x200D},    {"lrm", 0x200E},    {"rlm", 0x200F},
    {"OElig", 0x152},   {"oelig", 0x153},  {"Scaron", 0x160},  {"scaron", 0x161},  {"Yuml", 0x178},
    {"alpha", 0x3B1},   {"beta", 0x3B2},   {"gamma", 0x3B3},   {"delta", 0x3B4},   {"lambda", 0x3BB},
    {"mu", 0x3BC},      {"pi", 0x3C0},     {"sigma", 0x3C3},   {"omega", 0x3C9},   {"Omega", 0x3A9},
    {"check", 0x2713},  {"star", 0x2606},  {"hearts", 0x2665}, {"dagger", 0x2020}, {"lsaquo", 0x2039},
    {"rsaquo", 0x203A}, {"sum", 0x2211},   {"radic", 0x221A},  {"lbrack", '['},    {"rbrack", ']'},
    {"num", '#'},       {"percnt", '%'},   {"ast", '*'},       {"colon", ':'},     {"excl", '!'}};

static uint32_t numeric_entity(const char *p, size_t n)
{
    const int hex = n > 2 && (p[1] | 32) == 'x';
    uint32_t value = 0;
    for (size_t i = hex ? 2 : 1; i < n; i++) {
        const char c = (char)(p[i] | 32);
        int digit = p[i] >= '0' && p[i] <= '9' ? p[i] - '0' : hex && c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (digit < 0 || value > 0x10FFFF)
            return 0;
        value = value * (hex ? 16 : 10) + (uint32_t)digit;
    }
    return value > 0x10FFFF || (value >= 0xD800 && value < 0xE000) ? 0 : value;
}

uint32_t html_entity(const char *text, size_t n, size_t at, size_t *size)
{
    enum { LONGEST = 12 };
    const char *name = text + at + 1;
    size_t length = 0;
    while (at + 1 + length < n && length < LONGEST && name[length] != ';')
        length++;
    if (!length || length == LONGEST || at + 1 + length >= n)
        return 0;
    *size = length + 2;
    if (name[0] == '#')
        return length > 1 ? numeric_entity(name, length) : 0;
    for (size_t i = 0; i < COUNT(latin); i++)
        if (strlen(latin[i]) == length && !memcmp(latin[i], name, length))
            return (uint32_t)(0xA0 + i);
    for (size_t i = 0; i < COUNT(entities); i++)
        if (strlen(entities[i].name) == length && !memcmp(entities[i].name, name, length))
            return entities[i].code_point;
    return 0;
}

void html_put(Reading *r, const char *text, size_t n, size_t from, size_t to)
{
    size_t i = from;
    while (from < to) {
        const char *mark = i < to ? memchr(text + i, '&', to - i) : NULL;
        const size_t at = mark ? (size_t)(mark - text) : to;
        size_t size = 0;
        uint32_t cp = mark ? html_entity(text, n < to ? n : to, at, &size) : 0;
        if (mark && !cp) {
            i = at + 1;
            continue;
        }
        reading_put(r, text + from, at - from, from);
        if (cp == ' ' || cp == 0xA0) {
            reading_pause(r, PAUSE_BLANK, at);
        } else if (cp) {
            char bytes[4];
            reading_say(r, bytes, (size_t)utf8_put(bytes, cp), at);
        }
        i = at + size;
        from = mark ? i : to;
    }
}

/* --- tags --- */

static const struct {
    const char *names;
    TagKind kind;
} kinds[] = {
    {"a abbr acronym b bdi bdo big center cite code data del dfn em font i ins kbd mark "
     "q s samp small span strike strong sub sup time tt u var wbr picture source",
     TAG_INLINE},
    {"address article aside blockquote body button caption dd details dialog div dl dt fieldset figcaption "
     "figure "
     "footer form input label h1 h2 h3 h4 h5 h6 head header hr html legend li link main meta nav ol optgroup "
     "option p "
     "pre "
     "section select summary table tbody td tfoot th thead title tr ul",
     TAG_BLOCK},
    {"br", TAG_BREAK},
    {"script style template svg math noscript iframe object canvas audio video textarea", TAG_SKIPPED},
    {"img", TAG_IMAGE},
};

static TagKind kind_of(const char *name)
{
    for (size_t i = 0; i < COUNT(kinds); i++)
        if (language_has_word(kinds[i].names, name))
            return kinds[i].kind;
    return TAG_UNKNOWN;
}

static int is_letter(char c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; }
static int is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }

/* Where the value of an attribute at `at` ends; *from, *to: without its quotes. 0: it does not end. */
static size_t value_end(const char *s, size_t n, size_t at, size_t *from, size_t *to)
{
    const char quote = at < n ? s[at] : 0;
    if (quote == '"' || quote == '\'') {
        const char *end = memchr(s + at + 1, quote, n - at - 1);
        *from = at + 1;
        *to = end ? (size_t)(end - s) : n;
        return end ? *to + 1 : 0;
    }
    *from = at;
    while (at < n && !is_blank(s[at]) && s[at] != '>')
        at++;
    *to = at;
    return at;
}

static int is_name(const char *s, size_t n, const char *name)
{
    return n == strlen(name) && !strncasecmp(s, name, n);
}

/* Attributes from `at` to behind the '>'; 0: it is not a tag. *seen: where it stopped. */
static size_t read_attributes(Tag *t, const char *s, size_t n, size_t at, size_t *seen)
{
    while (at < n && s[at] != '>') {
        *seen = at;
        if (s[at] == '<')
            return 0;
        if (is_blank(s[at]) || s[at] == '/') {
            at++;
            continue;
        }
        const size_t name = at;
        size_t from = at, to = at;
        while (at < n && !is_blank(s[at]) && !strchr("=></\"'", s[at]))
            at++;
        const size_t length = at - name;
        if (!length) { /* a quote, or an equals sign: of no name */
            *seen = n;
            at = value_end(s, n, at + (s[at] == '='), &from, &to);
            if (!at)
                return 0;
            continue;
        }
        if (at < n && s[at] == '=') {
            *seen = n;
            at = value_end(s, n, at + 1, &from, &to);
            if (!at)
                return 0;
        }
        if (is_name(s + name, length, "alt")) {
            t->alt = from;
            t->alt_size = to - from;
        } else if (is_name(s + name, length, "class")) {
            t->class_at = from;
            t->class_size = to - from;
        } else if (is_name(s + name, length, "hidden") ||
                   (is_name(s + name, length, "aria-hidden") && is_name(s + from, to - from, "true"))) {
            t->is_hidden = 1;
        }
    }
    *seen = at;
    return at < n ? at + 1 : 0;
}

static size_t find(const char *s, size_t n, size_t at, const char *what)
{
    const size_t length = strlen(what);
    while (at + length <= n) {
        const char *p = memchr(s + at, what[0], n - at - length + 1);
        if (!p)
            return 0;
        if (!memcmp(p, what, length))
            return (size_t)(p - s) + length;
        at = (size_t)(p - s) + 1;
    }
    return 0;
}

int html_tag(Tag *t, const char *s, size_t n, size_t at, size_t *wasted)
{
    size_t i = at + 1, end = 0, seen = n;
    memset(t, 0, sizeof *t);
    if (i >= n || *wasted > MOST_WASTE * n || !(is_letter(s[i]) || s[i] == '/' || s[i] == '!' || s[i] == '?'))
        return 0;
    if (s[i] == '!' || s[i] == '?') { /* a comment, a declaration */
        t->kind = TAG_SKIPPED;
        if (s[i] == '!' && n - i > 2 && s[i + 1] == '-' && s[i + 2] == '-')
            end = find(s, n, i + 3, "-->");
        else if (s[i] == '?' || (i + 1 < n && is_letter(s[i + 1])))
            end = find(s, n, i, ">");
        else
            return 0;
    } else {
        t->closes = s[i] == '/';
        i += (size_t)t->closes;
        size_t length = 0;
        while (i < n && length + 1 < sizeof t->name && (is_letter(s[i]) || (s[i] >= '0' && s[i] <= '9')))
            t->name[length++] = (char)(s[i++] | 32); /* a digit has that bit */
        if (!length || !is_letter(t->name[0]) || i >= n || !(is_blank(s[i]) || s[i] == '>' || s[i] == '/'))
            return 0;
        t->kind = kind_of(t->name);
        end = read_attributes(t, s, n, i, &seen);
    }
    if (!end) {
        *wasted += seen - at;
        return 0;
    }
    t->size = end - at;
    return 1;
}

/* --- the text --- */

enum { DEEPEST = 32 }; /* lists in lists whose items have numbers */

typedef struct Page {
    Reading *r;
    const char *s;
    size_t n, at, wasted;
    unsigned long numbers[DEEPEST]; /* of the next item; 0: without */
    size_t depth;                   /* of lists */
    size_t pre, pre_lines, pre_at;  /* in <pre>: 1 */
    int pre_open;                   /* text has followed the last end of a line */
    char tag[24];
    size_t code; /* depth of <code> */
    Buf plain;   /* scratch */
    int cells;   /* of the row, so far */
} Page;

static int is_void(const char *name)
{
    return language_has_word("br hr img input link meta source wbr", name);
}

/* Passes over an element with all that is in it; what is never closed is passed over by its tag alone. */
static void skip_element(Page *p, const Tag *open)
{
    const size_t begin = p->at + open->size;
    size_t at = begin, depth = 1;
    const size_t length = strlen(open->name);
    /* There are no tags in them. */
    const int raw = !strcmp(open->name, "script") || !strcmp(open->name, "style");
    while (at < p->n && p->wasted <= MOST_WASTE * p->n) {
        const char *next = memchr(p->s + at, '<', p->n - at);
        Tag t;
        if (!next)
            break;
        at = (size_t)(next - p->s);
        if ((raw &&
             (p->n - at < length + 2 || next[1] != '/' || strncasecmp(next + 2, open->name, length))) ||
            !html_tag(&t, p->s, p->n, at, &p->wasted)) {
            at++;
            continue;
        }
        at += t.size;
        if (!strcmp(t.name, open->name))
            depth += t.closes ? (size_t)-1 : 1;
        if (!depth) {
            p->at = at;
            return;
        }
    }
    p->wasted += p->n - begin;
    p->at = begin;
}

/* Code has entities, too. */
static void put_code(Page *p, size_t from, size_t to)
{
    buf_clear(&p->plain);
    for (size_t i = from; i < to;) {
        size_t size = 1;
        const uint32_t cp = p->s[i] == '&' ? html_entity(p->s, to, i, &size) : 0;
        if (cp)
            unicode_append(&p->plain, cp);
        else
            buf_add(&p->plain, p->s + i, 1);
        i += cp ? size : 1;
    }
    reading_code(p->r, p->plain.data ? p->plain.data : "", p->plain.size, from);
}

static void put(Page *p, size_t from, size_t to)
{
    if (p->pre) {
        for (size_t i = from; i < to; i++) {
            p->pre_lines += p->s[i] == '\n' && (p->pre_open || p->pre_lines);
            p->pre_open = p->s[i] == '\n' ? 0 : p->pre_open || !is_blank(p->s[i]);
        }
        return;
    }
    if (p->code)
        put_code(p, from, to);
    else
        html_put(p->r, p->s, p->n, from, to);
}

static void begin_item(Page *p)
{
    unsigned long *number = p->depth && p->depth <= DEEPEST ? &p->numbers[p->depth - 1] : NULL;
    reading_pause(p->r, PAUSE_STOP, p->at);
    if (number && *number)
        reading_number(p->r, (*number)++, p->at);
}

/* "language-python", "lang-c". */
static void keep_language(Page *p, const Tag *t)
{
    static const char *const prefixes[] = {"language-", "lang-"};
    for (size_t i = t->class_at; i < t->class_at + t->class_size; i++)
        for (size_t k = 0; k < COUNT(prefixes); k++) {
            size_t from = i + strlen(prefixes[k]), to = from, end = t->class_at + t->class_size;
            if (from >= end || memcmp(p->s + i, prefixes[k], from - i) != 0)
                continue;
            while (to < end && !is_blank(p->s[to]))
                to++;
            if (to - from < sizeof p->tag) {
                memcpy(p->tag, p->s + from, to - from);
                p->tag[to - from] = 0;
            }
            return;
        }
}

static void do_pre(Page *p, const Tag *t)
{
    if (!t->closes && !p->pre) {
        p->pre = 1;
        p->pre_lines = 0;
        p->pre_open = 0;
        p->pre_at = p->at;
        p->tag[0] = 0;
        keep_language(p, t);
    } else if (t->closes && p->pre) {
        p->pre = 0;
        if (p->pre_lines || p->pre_open)
            reading_code_block(p->r, p->tag, strlen(p->tag), p->pre_lines + (size_t)p->pre_open, p->pre_at);
    }
}

static void do_block(Page *p, const Tag *t)
{
    const int list = !strcmp(t->name, "ol") || !strcmp(t->name, "ul");
    const int cell = !strcmp(t->name, "td") || !strcmp(t->name, "th");
    if (!strcmp(t->name, "pre")) {
        do_pre(p, t);
    } else if (list) {
        reading_pause(p->r, PAUSE_STOP, p->at);
        if (!t->closes && ++p->depth <= DEEPEST)
            p->numbers[p->depth - 1] = t->name[0] == 'o';
        else if (t->closes && p->depth)
            p->depth--;
    } else if (!strcmp(t->name, "li") && !t->closes) {
        begin_item(p);
    } else if (cell) {
        if (!t->closes && p->cells++)
            reading_pause(p->r, PAUSE_SHORT, p->at);
    } else {
        p->cells = 0;
        reading_pause(p->r, PAUSE_STOP, p->at);
    }
}

static void do_tag(Page *p, const Tag *t)
{
    const size_t behind = p->at + t->size;
    const int code = !strcmp(t->name, "code") || !strcmp(t->name, "kbd") || !strcmp(t->name, "samp");
    if ((t->is_hidden && !t->closes && !is_void(t->name)) || (t->kind == TAG_SKIPPED && *t->name)) {
        if (!t->closes) {
            skip_element(p, t);
            return;
        }
    } else if (code) {
        if (p->pre && !t->closes)
            keep_language(p, t);
        p->code = t->closes ? p->code - (p->code > 0) : p->code + 1;
    } else if (t->kind == TAG_BLOCK) {
        do_block(p, t);
    } else if (t->kind == TAG_BREAK && !p->pre) {
        reading_pause(p->r, PAUSE_SHORT, p->at);
    } else if (t->kind == TAG_IMAGE && !t->is_hidden && !p->pre) {
        html_put(p->r, p->s, p->n, t->alt, t->alt + t->alt_size);
        p->r->pause = p->r->pause == PAUSE_BLANK ? PAUSE_NONE : p->r->pause;
    }
    p->at = behind;
}

int html_read(Reading *r, const char *text, size_t n)
{
    Page p = {.r = r, .s = text, .n = n};
    size_t from = 0;
    while (p.at < n) {
        const char *mark = memchr(text + p.at, '<', n - p.at);
        Tag t;
        const size_t at = mark ? (size_t)(mark - text) : n;
        p.at = at;
        if (mark && !html_tag(&t, text, n, at, &p.wasted)) {
            p.at++;
            continue;
        }
        put(&p, from, at);
        if (mark)
            do_tag(&p, &t);
        from = p.at;
    }
    put(&p, from, n);
    if (p.pre && (p.pre_lines || p.pre_open))
        reading_code_block(r, p.tag, strlen(p.tag), p.pre_lines + (size_t)p.pre_open, p.pre_at);
    reading_pause(r, PAUSE_STOP, n);
    const int failed = p.plain.failed;
    buf_free(&p.plain);
    return failed ? ERR_NOMEM : reading_end(r, n);
}

int html_is_likely(const char *text, size_t n)
{
    size_t at = 0, wasted = 0;
    int found = 0;
    char open[16] = "";
    while (at < n && is_blank(text[at]))
        at++;
    if (n - at >= 14 && !strncasecmp(text + at, "<!doctype html", 14))
        return 1;
    while (!found && at < n) {
        const char *mark = memchr(text + at, '<', n - at);
        Tag t;
        if (!mark)
            break;
        at = (size_t)(mark - text);
        if (!html_tag(&t, text, n, at, &wasted)) {
            at++;
            continue;
        }
        at += t.size;
        if (t.kind == TAG_UNKNOWN || !*t.name)
            continue;
        if (!t.closes)
            memcpy(open, t.name, sizeof open);
        found =
            is_void(t.name) ? t.kind == TAG_BREAK || t.kind == TAG_IMAGE : t.closes && !strcmp(open, t.name);
    }
    return found;
}
