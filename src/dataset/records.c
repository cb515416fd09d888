/* records.c - see records.h. Quoting follows RFC 4180, and forgives white space around quoted fields. */
#include "dataset/records.h"

#include <string.h>

#define ID_PEEK 1024 /* how far into an overlong line its id is looked for */

static int is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

Str str_trim(Str s)
{
    while (s.n && is_space(s.p[0])) {
        s.p++;
        s.n--;
    }
    while (s.n && is_space(s.p[s.n - 1]))
        s.n--;
    return s;
}

int str_equal(Str a, Str b) { return a.n == b.n && (!a.n || !memcmp(a.p, b.p, a.n)); }

/* Skips a byte order mark. A file without any newline may come from an old Mac. */
void records_open(Records *r, const uint8_t *bytes, size_t size, char delimiter)
{
    const char *p = size ? (const char *)bytes : "";
    *r = (Records){.p = p, .end = p + size, .line = 1, .delimiter = delimiter, .newline = '\n'};
    if (size >= 3 && !memcmp(p, "\xEF\xBB\xBF", 3))
        r->p += 3;
    if (!memchr(p, '\n', size) && memchr(p, '\r', size))
        r->newline = '\r';
}

/* The next c, or end. */
static const char *find_or(const char *p, const char *end, char c)
{
    const char *at = p < end ? memchr(p, c, (size_t)(end - p)) : NULL;
    return at ? at : end;
}

static int is_blank(const char *p, const char *end)
{
    while (p < end && is_space(*p))
        p++;
    return p == end;
}

/* Fields beyond the most are counted, so that the line can be refused. */
static void add_field(Record *rec, const char *p, const char *end, int escaped)
{
    int i = rec->columns++;
    if (i >= RECORD_MAX_FIELDS)
        return;
    rec->fields[i] = str_trim((Str){p, (uint32_t)(end - p)});
    if (escaped)
        rec->escaped |= 1u << i;
}

/* Without quotes every delimiter separates. */
static void split_plain(Record *rec, const char *p, const char *end, char delimiter)
{
    for (;;) {
        const char *at = find_or(p, end, delimiter);
        add_field(rec, p, at, 0);
        if (at == end)
            return;
        p = at + 1;
    }
}

/* The closing quote of the field whose content begins at p, or NULL. */
static const char *closing_quote(const char *p, const char *end, int *escaped)
{
    *escaped = 0;
    while (p < end) {
        p = memchr(p, '"', (size_t)(end - p));
        if (!p)
            return NULL;
        if (p + 1 == end || p[1] != '"')
            return p;
        *escaped = 1;
        p += 2;
    }
    return NULL;
}

/* Splits one record with quoted fields that begins at p and may use bytes up to end (a line end or the end of
 * the file). Returns where the record stops (its line end, or end), or NULL when the quoting is wrong. */
static const char *split_quoted(Record *rec, const char *p, const char *end, char delimiter, char newline)
{
    rec->columns = 0;
    rec->escaped = 0;
    for (;;) {
        while (p < end && is_space(*p) && *p != newline)
            p++;
        const char *at;
        if (p < end && *p == '"') {
            int escaped;
            const char *close = closing_quote(p + 1, end, &escaped);
            if (!close)
                return NULL;
            add_field(rec, p + 1, close, escaped);
            /* Blanks are allowed between the quote and the delimiter, nothing else. */
            for (at = close + 1; at < end && is_space(*at) && *at != newline; at++)
                ;
            if (at < end && *at != delimiter && *at != newline)
                return NULL;
        } else {
            for (at = p; at < end && *at != delimiter && *at != newline; at++)
                ;
            add_field(rec, p, at, 0);
        }
        if (at == end || *at == newline)
            return at;
        p = at + 1;
    }
}

/* The last line end that a record beginning at p may reach when its first line, up to eol, leaves a quote
 * open. */
static const char *furthest_end(const Records *r, const char *p, const char *eol)
{
    const char *last = eol;
    for (int lines = 1; lines < RECORD_MAX_LINES && last < r->end; lines++) {
        const char *next = find_or(last + 1, r->end, r->newline);
        if (next - p > RECORD_MAX_BYTES)
            break;
        last = next;
    }
    return last;
}

/* The next line as a record. Line numbers are those an editor shows, also after quoted line ends. */
int records_next(Records *r, Record *rec)
{
    if (r->p == r->end)
        return 0;
    const char *p = r->p, *eol = find_or(p, r->end, r->newline);
    size_t bytes = (size_t)(eol - p);
    rec->line = r->line;
    rec->bytes = bytes;
    rec->columns = 0;
    rec->escaped = 0;
    rec->all = (Str){p, (uint32_t)(bytes < RECORD_MAX_BYTES ? bytes : RECORD_MAX_BYTES)};
    const char *stop = eol;
    /* An overlong line is not split; its id is looked for at the front, for the message. */
    if (bytes > RECORD_MAX_BYTES) {
        const char *at = find_or(p, p + ID_PEEK, r->delimiter);
        rec->kind = RECORD_TOO_LONG;
        rec->fields[0] = at < p + ID_PEEK ? str_trim((Str){p, (uint32_t)(at - p)}) : (Str){p, 0};
    } else if (is_blank(p, eol)) {
        rec->kind = RECORD_BLANK;
    } else if (r->delimiter != ',' || !memchr(p, '"', bytes)) {
        rec->kind = RECORD_FIELDS;
        split_plain(rec, p, eol, r->delimiter);
    } else {
        rec->kind = RECORD_FIELDS;
        /* A quoted field may reach over line ends; only when the line alone does not work are more lines
         * tried. */
        stop = split_quoted(rec, p, eol, ',', r->newline);
        if (!stop && eol < r->end)
            stop = split_quoted(rec, p, furthest_end(r, p, eol), ',', r->newline);
        /* The quoting is wrong: the line alone is lost, not those after it. */
        if (!stop) {
            rec->kind = RECORD_QUOTE;
            rec->columns = 0;
            rec->escaped = 0;
            split_plain(rec, p, eol, ',');
            stop = eol;
        }
        rec->all.n = (uint32_t)(stop - p);
        rec->bytes = rec->all.n;
    }
    r->line++;
    for (const char *at = eol; at < stop; r->line++)
        at = find_or(at + 1, stop, r->newline);
    r->p = stop < r->end ? stop + 1 : r->end;
    return 1;
}
