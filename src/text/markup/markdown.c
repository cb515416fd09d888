/* markdown.c - see markdown.h. Lines become blocks as they come; the lines of a paragraph are put together,
 * then read from left to right (markdown_inline.c). */
#include "text/markup/markdown.h"

#include <string.h>

#include "text/markup/html.h"
#include "text/markup/markdown_inline.h"

enum { FENCE_NONE = 0, MOST_ITEMS = 8 /* that begin on one line */ };

typedef struct Document {
    Reading *r;
    const char *s;
    size_t n;
    Inline paragraph;
    int after_blank; /* the line before is empty, or there is none */
    int in_list;     /* what is indented belongs to an item */
    char fence;      /* of the block of code that is open: '`', '~', ' ' (indented) or 0 */
    size_t fence_size, code_lines, code_blank, code_at, tag, tag_size;
    int table; /* rows follow */
} Document;

typedef struct Row { /* a line of the text */
    size_t from, to; /* without its end */
} Row;

static int is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v'; }
static int is_digit(char c) { return c >= '0' && c <= '9'; }

static size_t skip_blanks(const char *s, size_t from, size_t to)
{
    while (from < to && is_blank(s[from]))
        from++;
    return from;
}

static Row next_row(const char *s, size_t n, size_t at)
{
    const char *end = memchr(s + at, '\n', n - at);
    Row row = {at, end ? (size_t)(end - s) : n};
    return row;
}

static size_t run_of(const char *s, size_t from, size_t to)
{
    size_t end = from;
    while (end < to && s[end] == s[from])
        end++;
    return end - from;
}

/* --- kinds of lines --- */

/* Columns of white space at the beginning. */
static size_t indent_of(const char *s, size_t from, size_t to)
{
    size_t columns = 0;
    for (; from < to && (s[from] == ' ' || s[from] == '\t'); from++)
        columns += s[from] == '\t' ? 4 - columns % 4 : 1;
    return columns;
}

/* "***", "- - -", "===": three or more of one sign and blanks; two of "=" will do. */
static int is_rule(const char *s, size_t from, size_t to)
{
    size_t count = 0;
    const char sign = from < to ? s[from] : 0;
    if (!sign || !strchr("*-_=", sign))
        return 0;
    for (; from < to; from++) {
        if (s[from] != sign && !is_blank(s[from]))
            return 0;
        count += s[from] == sign;
    }
    return count >= 3 || (sign == '=' && count >= 1);
}

/* Levels of a heading, or 0. */
static size_t heading_of(const char *s, size_t from, size_t to)
{
    if (from == to || s[from] != '#')
        return 0;
    const size_t level = run_of(s, from, to);
    return level <= 6 && (from + level == to || is_blank(s[from + level])) ? level : 0;
}

static size_t fence_of(const char *s, size_t from, size_t to)
{
    if (from == to || (s[from] != '`' && s[from] != '~'))
        return 0;
    const size_t size = run_of(s, from, to);
    /* "```x```" is a span of code. */
    if (size < 3 || (s[from] == '`' && memchr(s + from + size, '`', to - from - size)))
        return 0;
    return size;
}

/* Arabic and Persian digits have two bytes: their value, or -1. */
static int digit_at(const char *s, size_t from, size_t to, size_t *size)
{
    *size = 1;
    if (is_digit(s[from]))
        return s[from] - '0';
    *size = 2;
    if (to - from >= 2 && (uint8_t)s[from] == 0xDB && (uint8_t)s[from + 1] >= 0xB0 &&
        (uint8_t)s[from + 1] <= 0xB9)
        return (uint8_t)s[from + 1] - 0xB0;
    if (to - from >= 2 && (uint8_t)s[from] == 0xD9 && (uint8_t)s[from + 1] >= 0xA0 &&
        (uint8_t)s[from + 1] <= 0xA9)
        return (uint8_t)s[from + 1] - 0xA0;
    return -1;
}

/* Bytes of the mark of an item with its blank, or 0. *number: -1 where it has none. */
static size_t item_of(const char *s, size_t from, size_t to, long *number)
{
    size_t at = from, size;
    *number = -1;
    if (at == to)
        return 0;
    if (strchr("-*+", s[at])) {
        at++;
    } else {
        long value = 0;
        int digits = 0, digit;
        while (at < to && digits < 9 && (digit = digit_at(s, at, to, &size)) >= 0) {
            value = value * 10 + digit;
            digits++;
            at += size;
        }
        if (!digits || at == to || (s[at] != '.' && s[at] != ')'))
            return 0;
        at++;
        *number = value;
    }
    if (at < to && !is_blank(s[at]))
        return 0;
    return at - from + (at < to);
}

/* "|---|:-:|": nothing but these, a dash and a bar among them. */
static int is_delimiter(const char *s, size_t from, size_t to)
{
    int dashes = 0, bars = 0;
    for (; from < to; from++) {
        if (!strchr("|-: \t\r", s[from]) || !s[from])
            return 0;
        dashes += s[from] == '-';
        bars += s[from] == '|';
    }
    return dashes && bars;
}

/* "[label]: address"; *note: "[^label]: text", and where the text begins. */
static int is_definition(const char *s, size_t from, size_t to, size_t *note)
{
    *note = 0;
    if (from == to || s[from] != '[')
        return 0;
    const char *end = memchr(s + from, ']', to - from);
    const size_t close = end ? (size_t)(end - s) : to;
    if (close - from < 2 || to - close < 2 || s[close + 1] != ':')
        return 0;
    if (s[from + 1] == '^')
        *note = close + 2;
    return 1;
}

/* --- blocks --- */

static void end_paragraph(Document *d, size_t at)
{
    if (!d->paragraph.text.size)
        return;
    if (d->paragraph.places.data)
        reading_pause(d->r, PAUSE_STOP, *(const uint32_t *)(const void *)d->paragraph.places.data);
    inline_read(&d->paragraph, d->r);
    inline_clear(&d->paragraph);
    reading_pause(d->r, PAUSE_STOP, at);
}

static void begin_code(Document *d, char fence, size_t size, size_t at)
{
    end_paragraph(d, at);
    d->fence = fence;
    d->fence_size = size;
    d->code_lines = d->code_blank = 0;
    d->code_at = at;
    d->tag = d->tag_size = 0;
}

static void end_code(Document *d)
{
    if (d->code_lines)
        reading_code_block(d->r, d->s + d->tag, d->tag_size, d->code_lines, d->code_at);
    d->fence = FENCE_NONE;
}

/* Blank lines count when another follows them. */
static void count_code(Document *d, Row row)
{
    if (skip_blanks(d->s, row.from, row.to) == row.to) {
        d->code_blank += d->code_lines > 0;
        return;
    }
    d->code_lines += d->code_blank + 1;
    d->code_blank = 0;
}

/* 1: the line belongs to the block of code that is open. */
static int goes_on(Document *d, Row row)
{
    const char *s = d->s;
    const size_t from = skip_blanks(s, row.from, row.to);
    if (d->fence == ' ') {
        if (from == row.to || indent_of(s, row.from, row.to) >= 4) {
            count_code(d, row);
            return 1;
        }
        end_code(d);
        return 0;
    }
    const size_t size = from < row.to && s[from] == d->fence ? run_of(s, from, row.to) : 0;
    if (size >= d->fence_size && skip_blanks(s, from + size, row.to) == row.to)
        end_code(d);
    else
        count_code(d, row);
    return 1;
}

/* Cells with pauses between them; the bars inside of code are no borders. */
static void read_table_row(Document *d, size_t from, size_t to)
{
    const char *s = d->s;
    int cells = 0, code = 0;
    reading_pause(d->r, PAUSE_STOP, from);
    for (size_t i = from; i <= to; i++) {
        if (i < to && s[i] == '\\' && i + 1 < to) {
            i++;
            continue;
        }
        code ^= i < to && s[i] == '`';
        if (i < to && (s[i] != '|' || code))
            continue;
        if (skip_blanks(s, from, i) < i) {
            if (cells++)
                reading_pause(d->r, PAUSE_SHORT, from);
            inline_add(&d->paragraph, s, from, i);
            inline_read(&d->paragraph, d->r);
            inline_clear(&d->paragraph);
        }
        from = i + 1;
    }
    reading_pause(d->r, PAUSE_STOP, to);
}

/* Behind the mark of an item: its number, its box. Where its text begins. */
static size_t begin_item(Document *d, size_t from, size_t to, size_t mark, long number)
{
    const char *s = d->s;
    size_t at = skip_blanks(s, from + mark, to);
    end_paragraph(d, from);
    reading_pause(d->r, PAUSE_STOP, from);
    d->in_list = 1;
    if (number >= 0)
        reading_number(d->r, (unsigned long)number, from);
    if (to - at >= 4 && s[at] == '[' && s[at + 2] == ']' && is_blank(s[at + 3]) && strchr(" xX", s[at + 1])) {
        reading_task(d->r, s[at + 1] != ' ', at);
        at += 3;
    }
    return at;
}

static void read_heading(Document *d, size_t from, size_t to, size_t level)
{
    const char *s = d->s;
    size_t end = to;
    end_paragraph(d, from);
    while (end > from + level && is_blank(s[end - 1]))
        end--;
    size_t marks = end;
    while (marks > from + level && s[marks - 1] == '#')
        marks--;
    if (marks == from + level || is_blank(s[marks - 1]))
        end = marks;
    inline_add(&d->paragraph, s, from + level, end);
    end_paragraph(d, to);
}

/* A row of a table, or the one above its rows. */
static int try_table(Document *d, size_t from, size_t to)
{
    if (!memchr(d->s + from, '|', to - from)) {
        d->table = 0;
        return 0;
    }
    if (!d->table && to < d->n) {
        const Row next = next_row(d->s, d->n, to + 1);
        d->table = is_delimiter(d->s, skip_blanks(d->s, next.from, next.to), next.to);
    }
    if (!d->table)
        return 0;
    end_paragraph(d, from);
    if (!is_delimiter(d->s, from, to))
        read_table_row(d, from, to);
    return 1;
}

/* A line without the marks of quotes and items before it. */
static void read_line(Document *d, size_t from, size_t to)
{
    const char *s = d->s;
    size_t level = heading_of(s, from, to), fence = fence_of(s, from, to), note;
    if (fence) {
        begin_code(d, s[from], fence, from);
        d->tag = skip_blanks(s, from + fence, to);
        while (d->tag + d->tag_size < to && !is_blank(s[d->tag + d->tag_size]) &&
               s[d->tag + d->tag_size] != '{')
            d->tag_size++;
    } else if (level) {
        read_heading(d, from, to, level);
    } else if (is_rule(s, from, to)) { /* under a line it makes a heading of it */
        end_paragraph(d, from);
    } else if (try_table(d, from, to)) {
    } else if (!d->paragraph.text.size && is_definition(s, from, to, &note)) {
        if (note)
            inline_add(&d->paragraph, s, note, to);
    } else {
        inline_add(&d->paragraph, s, from, to);
    }
}

static void read_row(Document *d, Row row)
{
    const char *s = d->s;
    const int after_blank = d->after_blank;
    size_t from = skip_blanks(s, row.from, row.to), quotes = 0, mark = 0;
    long number;
    if (d->fence && goes_on(d, row))
        return;
    d->after_blank = from == row.to;
    if (d->after_blank) {
        end_paragraph(d, row.from);
        d->table = 0;
        return;
    }
    if (after_blank && !d->in_list && indent_of(s, row.from, row.to) >= 4) {
        begin_code(d, ' ', 0, row.from);
        count_code(d, row);
        return;
    }
    if (after_blank && !indent_of(s, row.from, row.to))
        d->in_list = 0;
    while (from < row.to && s[from] == '>') {
        from = skip_blanks(s, from + 1, row.to);
        quotes++;
    }
    if (quotes && from == row.to) {
        end_paragraph(d, row.from);
        return;
    }
    /* A number in the middle of a paragraph is part of it, unless it is the first. */
    for (int depth = 0; depth < MOST_ITEMS && !is_rule(s, from, row.to); depth++) {
        mark = item_of(s, from, row.to, &number);
        if (!mark || (number > 1 && !d->in_list && d->paragraph.text.size))
            break;
        from = begin_item(d, from, row.to, mark, number);
    }
    if (from < row.to)
        read_line(d, from, row.to);
}

static int has_definitions(const char *s, size_t n)
{
    size_t note;
    for (size_t at = 0; at < n;) {
        const Row row = next_row(s, n, at);
        if (is_definition(s, skip_blanks(s, row.from, row.to), row.to, &note) && !note)
            return 1;
        at = row.to + 1;
    }
    return 0;
}

int markdown_read(Reading *r, const char *text, size_t n)
{
    Document d = {.r = r, .s = text, .n = n, .after_blank = 1};
    d.paragraph.has_definitions = has_definitions(text, n);
    for (size_t at = 0; at < n;) {
        const Row row = next_row(text, n, at);
        read_row(&d, row);
        at = row.to + 1;
    }
    if (d.fence)
        end_code(&d);
    end_paragraph(&d, n);
    const int failed = d.paragraph.text.failed || d.paragraph.places.failed || d.paragraph.links.failed;
    inline_free(&d.paragraph);
    return failed ? ERR_NOMEM : reading_end(r, n);
}

/* --- is it Markdown --- */

/* A line that only Markdown has: a heading, a fence, the line under the head of a table. *items: in a row. */
static int is_telling(const char *s, Row row, int *items)
{
    const size_t from = skip_blanks(s, row.from, row.to), level = heading_of(s, from, row.to);
    long number;
    if (from == row.to)
        return 0;
    /* "3. Mai" may be a date. */
    *items = !is_rule(s, from, row.to) && item_of(s, from, row.to, &number) && number < 0 ? *items + 1 : 0;
    return (level && skip_blanks(s, from + level, row.to) < row.to) || fence_of(s, from, row.to) ||
           (is_delimiter(s, from, row.to) && row.to - from >= 5) || *items >= 2;
}

int markdown_is_likely(const char *text, size_t n)
{
    int items = 0;
    for (size_t at = 0; at < n;) {
        const Row row = next_row(text, n, at);
        if (is_telling(text, row, &items) || inline_is_likely(text + row.from, row.to - row.from))
            return 1;
        at = row.to + 1;
    }
    return 0;
}
