/* book.c - see book.h. */
#include "corpus/book.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/utf8.h"
#include "config/languages.h"
#include "text/language.h"
#include "text/unicode.h"

enum {
    LONG_SENTENCE = 160, /* characters: longer ones are divided at commas; about ten seconds */
    SHORT_PART = 50,     /* characters that a part of one has at least */
};

/* Ends of sentences, those after which no blank need follow, and what may stand between the end and the
 * blank. */
static int is_end(uint32_t c) { return c == '.' || c == '!' || c == '?' || c == 0x2026; }
static int is_wide_end(uint32_t c)
{
    return c == 0x3002 || c == 0xFF01 || c == 0xFF1F || c == 0x061F || c == 0x06D4;
}
static int is_closer(uint32_t c)
{
    return c == '"' || c == '\'' || c == ')' || c == ']' || c == 0x201D || c == 0x2019 || c == 0x00BB ||
           c == 0x203A || c == 0x201C || c == 0x300D;
}
static int is_comma(uint32_t c)
{
    return c == ',' || c == ';' || c == ':' || c == 0x2014 || c == 0x2013 || c == 0x060C || c == 0xFF0C;
}

static int has_words(const char *p, size_t n)
{
    for (size_t at = 0; at < n;) {
        uint32_t c = unicode_next(p, n, &at);
        if (unicode_is_letter(c) || (c < 128 && isdigit((int)c)))
            return 1;
    }
    return 0;
}

/* The word that ends at the full stop [stop] is an initial or an abbreviation. */
static int is_abbreviation(const char *p, size_t stop, const Language *l)
{
    size_t begin = stop;
    while (begin > 0 && p[begin - 1] != ' ')
        begin--;
    if (utf8_count(p + begin, stop - begin) == 1 && !isdigit((unsigned char)p[begin]))
        return 1;
    for (const Abbreviation *a = l ? l->abbreviations : NULL; a && a->written; a++)
        if (strlen(a->written) == stop + 1 - begin &&
            strncasecmp(a->written, p + begin, stop + 1 - begin) == 0)
            return 1;
    return 0;
}

/* Bytes of the first sentence of a paragraph with its blank. */
static size_t sentence_length(const char *p, size_t n, const Language *l)
{
    for (size_t at = 0; at < n;) {
        const size_t mark = at;
        uint32_t c = unicode_next(p, n, &at);
        if (!is_end(c) && !is_wide_end(c))
            continue;
        const int wide = is_wide_end(c), one_stop = c == '.' && !(at < n && p[at] == '.');
        while (at < n) { /* "?!", quotes and brackets that close */
            size_t next = at;
            uint32_t d = unicode_next(p, n, &next);
            if (!is_end(d) && !is_wide_end(d) && !is_closer(d))
                break;
            at = next;
        }
        if (at == n || wide)
            return at + (at < n && p[at] == ' ');
        if (p[at] != ' ')
            continue;
        size_t next = at + 1;
        uint32_t follows = next < n ? unicode_next(p, n, &next) : 'A';
        if (unicode_is_letter(follows) && !unicode_is_upper(follows) && follows < 0x500)
            continue; /* in scripts with capitals a sentence begins with one */
        if (one_stop && is_abbreviation(p, mark, l))
            continue;
        return at + 1;
    }
    return n;
}

/* Bytes of the first part of a sentence: all of it, or up to a comma. */
static size_t part_length(const char *p, size_t n)
{
    if (utf8_count(p, n) <= LONG_SENTENCE)
        return n;
    const size_t least = utf8_prefix(p, n, SHORT_PART);
    for (size_t at = 0; at < n;) {
        uint32_t c = unicode_next(p, n, &at);
        if (is_comma(c) && at >= least && at < n && p[at] == ' ' && utf8_count(p + at, n - at) >= SHORT_PART)
            return at + 1;
    }
    return n;
}

static int add_unit(Book *b, const char *p, size_t n, int line, int paragraph)
{
    while (n && p[n - 1] == ' ')
        n--;
    if (!has_words(p, n))
        return 0;
    if (mem_grow(&b->units, &b->cap, (size_t)b->count + 1, sizeof *b->units))
        return ERR_NOMEM;
    BookUnit *u = &b->units[b->count];
    *u = (BookUnit){block_strndup(&b->block, p, n), b->sentences, line, paragraph};
    b->count++;
    return u->text ? 0 : ERR_NOMEM;
}

static int add_paragraph(Book *b, const char *p, size_t n, int line, int paragraph, const Language *l)
{
    int rc = 0;
    for (size_t at = 0; at < n && !rc;) {
        const size_t sentence = sentence_length(p + at, n - at, l);
        const int before = b->count;
        for (size_t done = 0; done < sentence && !rc;) {
            const size_t part = part_length(p + at + done, sentence - done);
            rc = add_unit(b, p + at + done, part, line, paragraph);
            done += part;
        }
        b->sentences += b->count > before;
        at += sentence;
    }
    return rc;
}

/* The next line without its end; *at moves behind it. */
static Str next_line(const char *text, size_t n, size_t *at)
{
    const char *begin = text + *at, *end = memchr(begin, '\n', n - *at);
    const size_t length = end ? (size_t)(end - begin) : n - *at;
    *at += length + (end != NULL);
    return (Str){begin, (uint32_t)(length && begin[length - 1] == '\r' ? length - 1 : length)};
}

/* Whether line ends are ends of sentences: nearly every line ends like one. */
static int lines_are_sentences(const char *text, size_t n)
{
    size_t lines = 0, ends = 0;
    for (size_t at = 0; at < n;) {
        Str l = next_line(text, n, &at);
        size_t end = l.n;
        if (!has_words(l.p, l.n))
            continue;
        lines++;
        while (end && (is_closer(unicode_before(l.p, end)) || unicode_is_space(unicode_before(l.p, end)))) {
            do
                end--;
            while (end && utf8_continues(l.p[end]));
        }
        uint32_t last = unicode_before(l.p, end);
        ends += is_end(last) || is_wide_end(last);
    }
    return (double)ends >= 0.8 * (double)lines;
}

static int parse(Book *b, const char *text, size_t n, const Language *l)
{
    const int by_line = lines_are_sentences(text, n);
    UnicodeScratch scratch = {0};
    Buf raw = {0}, clean = {0};
    int rc = 0, line = 0, first = 0, paragraph = 0;
    for (size_t at = 0; at <= n && !rc;) {
        const int past = at == n;
        Str s = past ? (Str){"", 0} : next_line(text, n, &at);
        const int blank = !has_words(s.p, s.n);
        line++;
        if (!blank) {
            first = raw.size ? first : line;
            buf_add(&raw, s.p, s.n);
            buf_str(&raw, " ");
        }
        if (raw.size && (blank || by_line || past)) {
            buf_clear(&clean);
            rc = unicode_normalise(&scratch, &clean, raw.data, raw.size);
            if (!rc)
                rc = add_paragraph(b, clean.data, clean.size, first, paragraph++, l);
            buf_clear(&raw);
        }
        rc = rc || raw.failed || clean.failed ? ERR_NOMEM : 0;
        if (past)
            break;
    }
    unicode_scratch_free(&scratch);
    buf_free(&raw);
    buf_free(&clean);
    return rc;
}

int book_parse(Book *b, const char *text, size_t n, const char *name, const char *language, Err *err)
{
    char primary[LANGUAGE_MAX];
    *b = (Book){0};
    if (n >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) {
        text += 3;
        n -= 3;
    }
    const size_t valid = utf8_valid(text, n);
    if (valid < n) {
        err_set(err, ERR_FORMAT, "%s: byte %zu is not UTF-8", name, valid);
        return err_hint(err, "convert it: iconv -f ISO-8859-1 -t UTF-8 IN > OUT");
    }
    language_primary(primary, language);
    if (parse(b, text, n, language_find(primary))) {
        book_close(b);
        return err_set(err, ERR_NOMEM, "%s: no memory for its sentences", name);
    }
    if (b->count == 0) {
        book_close(b);
        err_set(err, ERR_DATA, "%s has no text in it", name);
        return err_hint(err, "without --text the recording is only cut at its silences");
    }
    return 0;
}

void book_close(Book *b)
{
    free(b->units);
    block_free(&b->block);
    *b = (Book){0};
}
