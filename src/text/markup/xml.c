/* xml.c - see xml.h. The grammar is that of XML 1.0, fifth edition. */
#include "text/markup/xml.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "text/unicode.h"

#define SHOWN 60 /* bytes of the document in a message */

void xml_open(XmlReader *r, const char *p, size_t n) { *r = (XmlReader){.p = p, .n = n}; }

void xml_close(XmlReader *r) { buf_free(&r->values); }

void xml_place(const char *p, size_t at, size_t *line, size_t *column)
{
    size_t from = 0;
    *line = 1;
    for (size_t i = 0; i < at; i++)
        if (p[i] == '\n') {
            (*line)++;
            from = i + 1;
        }
    *column = utf8_count(p + from, at - from) + 1;
}

int xml_fail(const XmlReader *r, size_t at, Err *err, const char *fmt, ...)
{
    char what[400];
    size_t line, column;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    xml_place(r->p, at, &line, &column);
    return err_set(err, ERR_DATA, "line %zu, column %zu: %s", line, column, what);
}

/* --- characters --- */

static int begins(const XmlReader *r, const char *what)
{
    const size_t n = strlen(what);
    return r->n - r->at >= n && !memcmp(r->p + r->at, what, n);
}

static int is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

static size_t skip_blanks(XmlReader *r)
{
    const size_t from = r->at;
    while (r->at < r->n && is_blank(r->p[r->at]))
        r->at++;
    return r->at - from;
}

static int is_character(uint32_t cp)
{
    return cp == '\t' || cp == '\n' || cp == '\r' || (cp >= 0x20 && cp <= 0xD7FF) ||
           (cp >= 0xE000 && cp <= 0xFFFD) || (cp >= 0x10000 && cp <= 0x10FFFF);
}

/* The bytes are UTF-8, and characters of XML. */
static int check_characters(const XmlReader *r, Err *err)
{
    const size_t valid = utf8_valid(r->p, r->n);
    for (size_t i = 0; i < valid;) {
        const size_t from = i;
        const uint32_t cp = unicode_next(r->p, valid, &i);
        if (!is_character(cp))
            return xml_fail(r, from, err, "U+%04X is not allowed in XML", cp);
    }
    return valid == r->n ? 0 : xml_fail(r, valid, err, "this is not valid UTF-8");
}

static int is_name(char c, int first)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':' ||
           (unsigned char)c >= 0x80 || (!first && ((c >= '0' && c <= '9') || c == '-' || c == '.'));
}

static int read_name(XmlReader *r, Str *name, const char *of, Err *err)
{
    const size_t from = r->at;
    while (r->at < r->n && is_name(r->p[r->at], r->at == from))
        r->at++;
    *name = (Str){r->p + from, (uint32_t)(r->at - from)};
    return name->n ? 0 : xml_fail(r, from, err, "the name of %s is missing here", of);
}

/* "ssml:break" is "break". */
static Str local_name(Str name)
{
    const char *colon = memchr(name.p, ':', name.n);
    if (!colon || (name.n > 4 && !memcmp(name.p, "xml:", 4)))
        return name;
    return (Str){colon + 1, name.n - (uint32_t)(colon + 1 - name.p)};
}

/* "&lt;", "&#233;", "&#xE9;" */
static int read_reference(XmlReader *r, uint32_t *cp, Err *err)
{
    static const struct {
        const char *name;
        char is;
    } known[] = {{"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&apos;", '\''}};
    const size_t from = r->at;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (begins(r, known[i].name)) {
            r->at += strlen(known[i].name);
            *cp = (uint32_t)known[i].is;
            return 0;
        }
    const int hex = begins(r, "&#x");
    if (!begins(r, "&#")) {
        size_t end = from + 1;
        while (end < r->n && end - from < SHOWN && is_name(r->p[end], end == from + 1))
            end++;
        if (end > from + 1 && end < r->n && r->p[end] == ';')
            return xml_fail(r, from, err, "unknown entity '%.*s'", (int)(end - from + 1), r->p + from);
        return xml_fail(r, from, err, "a bare & is not allowed; write &amp;");
    }
    uint32_t value = 0;
    size_t digits = 0;
    for (r->at += hex ? 3 : 2; r->at < r->n && value <= 0x10FFFF; r->at++, digits++) {
        const char c = r->p[r->at], low = (char)(c | 32);
        if (c >= '0' && c <= '9')
            value = value * (hex ? 16 : 10) + (uint32_t)(c - '0');
        else if (hex && low >= 'a' && low <= 'f')
            value = value * 16 + (uint32_t)(low - 'a' + 10);
        else
            break;
    }
    if (!digits || r->at >= r->n || r->p[r->at] != ';' || !is_character(value))
        return xml_fail(r, from, err, "this is not the number of a character");
    r->at++;
    *cp = value;
    return 0;
}

/* --- what has no effect --- */

/* Up to and including `end`. */
static int skip_to(XmlReader *r, size_t begin, const char *end, const char *what, Err *err)
{
    const size_t from = r->at;
    const char *found = memmem(r->p + from + begin, r->n - from - begin, end, strlen(end));
    if (!found)
        return xml_fail(r, from, err, "the %s that starts here does not end", what);
    r->at = (size_t)(found - r->p) + strlen(end);
    return 0;
}

static int skip_comment(XmlReader *r, Err *err)
{
    const char *dashes = memmem(r->p + r->at + 4, r->n - r->at - 4, "--", 2);
    if (dashes && (dashes + 2 == r->p + r->n || dashes[2] != '>'))
        return xml_fail(r, (size_t)(dashes - r->p), err, "-- is not allowed in a comment");
    return skip_to(r, 4, "-->", "comment", err);
}

/* It may name a file, which is not read; it may define nothing. */
static int skip_document_type(XmlReader *r, Err *err)
{
    const size_t from = r->at;
    char quote = 0;
    for (; r->at < r->n; r->at++) {
        const char c = r->p[r->at];
        if (quote)
            quote = c == quote ? 0 : quote;
        else if (c == '"' || c == '\'')
            quote = c;
        else if (c == '[')
            return xml_fail(r, r->at, err, "definitions inside the document type are not supported");
        else if (c == '>') {
            r->at++;
            return 0;
        }
    }
    return xml_fail(r, from, err, "the document type that starts here does not end");
}

/* --- elements --- */

static int read_value(XmlReader *r, XmlAttribute *a, Err *err)
{
    const size_t from = r->at;
    const char quote = r->at < r->n ? r->p[r->at] : 0;
    if (quote != '"' && quote != '\'')
        return xml_fail(r, from, err, "the value of '%.*s' must be in quotes",
                        (int)(a->name.n < SHOWN ? a->name.n : SHOWN), a->name.p);
    a->value = (uint32_t)r->values.size;
    for (r->at++; r->at < r->n && r->p[r->at] != quote;) {
        const char c = r->p[r->at];
        uint32_t cp;
        if (c == '<')
            return xml_fail(r, r->at, err, "< is not allowed in a value; write &lt;");
        if (c != '&') {
            buf_add(&r->values, is_blank(c) ? " " : &c, 1);
            r->at++;
            continue;
        }
        int rc = read_reference(r, &cp, err);
        if (rc)
            return rc;
        unicode_append(&r->values, cp);
    }
    if (r->at >= r->n)
        return xml_fail(r, from, err, "the value that starts here does not end");
    r->at++;
    a->size = (uint32_t)r->values.size - a->value;
    buf_add(&r->values, "", 1);
    return r->values.failed ? err_set(err, ERR_NOMEM, "no memory for an attribute") : 0;
}

static int same(Str a, Str b) { return a.n == b.n && !memcmp(a.p, b.p, a.n); }

static int read_attribute(XmlReader *r, Err *err)
{
    XmlAttribute *a = &r->attributes[r->attribute_count];
    const size_t from = r->at;
    if (r->attribute_count == XML_ATTRIBUTES)
        return xml_fail(r, from, err, "an element may have at most %d attributes", XML_ATTRIBUTES);
    int rc = read_name(r, &a->name, "an attribute", err);
    if (rc)
        return rc;
    for (int i = 0; i < r->attribute_count; i++)
        if (same(r->attributes[i].name, a->name))
            return xml_fail(r, from, err, "the attribute '%.*s' is given twice",
                            (int)(a->name.n < SHOWN ? a->name.n : SHOWN), a->name.p);
    skip_blanks(r);
    if (!begins(r, "="))
        return xml_fail(r, r->at, err, "= must follow the name of an attribute");
    r->at++;
    skip_blanks(r);
    r->attribute_count++;
    return read_value(r, a, err);
}

static int open_element(XmlReader *r, Err *err)
{
    Str name;
    r->at++;
    int rc = read_name(r, &name, "an element", err);
    if (rc)
        return rc;
    if (r->depth == XML_DEPTH)
        return xml_fail(r, r->from, err, "elements are nested more than %d deep", XML_DEPTH);
    if (!r->depth && r->has_root)
        return xml_fail(r, r->from, err, "there is a second element after the first");
    r->attribute_count = 0;
    buf_clear(&r->values);
    for (;;) {
        const size_t blanks = skip_blanks(r);
        if (r->at >= r->n)
            return xml_fail(r, r->from, err, "the tag that starts here does not end");
        if (begins(r, ">") || begins(r, "/>"))
            break;
        if (!blanks)
            return xml_fail(r, r->at, err, "a space is missing before the attribute");
        rc = read_attribute(r, err);
        if (rc)
            return rc;
    }
    r->closes = r->p[r->at] == '/';
    r->at += r->closes ? 2 : 1;
    r->open[r->depth] = name;
    r->open_at[r->depth++] = r->from;
    r->has_root = 1;
    r->name = local_name(name);
    return XML_OPEN;
}

static int close_element(XmlReader *r, Err *err)
{
    Str name;
    r->at += 2;
    int rc = read_name(r, &name, "an element", err);
    if (rc)
        return rc;
    skip_blanks(r);
    if (!begins(r, ">"))
        return xml_fail(r, r->at, err, "> must follow here");
    r->at++;
    const Str open = r->depth ? r->open[r->depth - 1] : (Str){"", 0};
    if (!same(open, name)) {
        size_t line = 0, column;
        if (!r->depth)
            return xml_fail(r, r->from, err, "</%.*s> closes nothing", (int)(name.n < SHOWN ? name.n : SHOWN),
                            name.p);
        xml_place(r->p, r->open_at[r->depth - 1], &line, &column);
        return xml_fail(r, r->from, err, "</%.*s> where </%.*s> should be, for the element of line %zu",
                        (int)(name.n < SHOWN ? name.n : SHOWN), name.p,
                        (int)(open.n < SHOWN ? open.n : SHOWN), open.p, line);
    }
    r->depth--;
    r->name = local_name(name);
    return XML_CLOSE;
}

/* --- text --- */

enum { NOTHING = XML_TEXT + 1 }; /* blanks outside */

static int read_text(XmlReader *r, Err *err)
{
    const size_t from = r->at;
    uint32_t cp;
    if (!r->in_cdata && r->p[r->at] == '&') {
        int rc = read_reference(r, &cp, err);
        if (rc)
            return rc;
        r->text = r->character;
        r->text_size = utf8_put(r->character, cp);
    } else {
        for (; r->at < r->n; r->at++) {
            if (r->in_cdata ? begins(r, "]]>") : r->p[r->at] == '<' || r->p[r->at] == '&')
                break;
            if (!r->in_cdata && begins(r, "]]>"))
                return xml_fail(r, r->at, err, "]]> is not allowed in text");
        }
        r->text = r->p + from;
        r->text_size = r->at - from;
    }
    if (r->depth)
        return XML_TEXT;
    for (size_t i = from; i < r->at; i++)
        if (!is_blank(r->p[i]))
            return xml_fail(r, i, err, "there is text outside the first element");
    return NOTHING;
}

static int at_end(const XmlReader *r, Err *err)
{
    if (r->in_cdata)
        return xml_fail(r, r->n, err, "the text ends inside <![CDATA[");
    if (r->depth) {
        const Str name = r->open[r->depth - 1];
        return xml_fail(r, r->open_at[r->depth - 1], err, "the element <%.*s> is not closed",
                        (int)(name.n < SHOWN ? name.n : SHOWN), name.p);
    }
    return r->has_root ? XML_END : xml_fail(r, r->n, err, "there is no element");
}

int xml_next(XmlReader *r, Err *err)
{
    int rc = 0;
    if (!r->at) {
        if (r->n > XML_MOST_BYTES)
            return err_set(err, ERR_DATA, "the document has %zu bytes; the maximum is %zu", r->n,
                           XML_MOST_BYTES);
        rc = check_characters(r, err);
        if (!rc && begins(r, "\xEF\xBB\xBF"))
            r->at += 3;
        skip_blanks(r);
        if (!rc && begins(r, "<?xml"))
            rc = skip_to(r, 2, "?>", "declaration", err);
    }
    if (rc)
        return rc;
    if (r->closes) {
        r->closes = 0;
        r->name = local_name(r->open[--r->depth]);
        return XML_CLOSE;
    }
    while (!rc) {
        r->from = r->at;
        if (r->at >= r->n)
            return at_end(r, err);
        if (r->in_cdata && begins(r, "]]>")) {
            r->in_cdata = 0;
            r->at += 3;
        } else if (r->in_cdata || r->p[r->at] != '<') {
            rc = read_text(r, err);
            if (rc != NOTHING)
                return rc;
            rc = 0;
        } else if (begins(r, "<!--")) {
            rc = skip_comment(r, err);
        } else if (begins(r, "<![CDATA[") && r->depth) {
            r->in_cdata = 1;
            r->at += 9;
        } else if (begins(r, "<!DOCTYPE") && !r->has_root) {
            rc = skip_document_type(r, err);
        } else if (begins(r, "<?")) {
            rc = skip_to(r, 2, "?>", "instruction", err);
        } else {
            return begins(r, "</") ? close_element(r, err) : open_element(r, err);
        }
    }
    return rc;
}

const char *xml_value(const XmlReader *r, const char *name)
{
    const Str wanted = {name, (uint32_t)strlen(name)};
    for (int i = 0; i < r->attribute_count; i++)
        if (same(r->attributes[i].name, wanted))
            return r->values.data + r->attributes[i].value;
    return NULL;
}
