/* measured.c - see measured.h. */
#include "config/measured.h"

#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "config/schema.h"

#define MARK "# measured: "

/* The line of a text, from its first byte to the line end. 0: there is none of that number. */
static int find_line(const Buf *text, int line, size_t *from, size_t *to)
{
    size_t at = 0;
    for (int i = 1; i < line && at < text->size; i++) {
        const char *end = memchr(text->data + at, '\n', text->size - at);
        at = end ? (size_t)(end - text->data) + 1 : text->size;
    }
    if (line < 1 || at >= text->size)
        return 0;
    const char *end = memchr(text->data + at, '\n', text->size - at);
    *from = at;
    *to = end ? (size_t)(end - text->data) : text->size;
    if (*to > *from && text->data[*to - 1] == '\r')
        --*to;
    return 1;
}

/* Where the remark of a line begins; `to` if it has none. */
static size_t find_mark(const Buf *text, size_t from, size_t to)
{
    const char *mark = memmem(text->data + from, to - from, MARK, sizeof MARK - 1);
    return mark ? (size_t)(mark - text->data) : to;
}

int measured_at(const Buf *text, int line)
{
    size_t from, to;
    return find_line(text, line, &from, &to) && find_mark(text, from, to) < to;
}

/* The value of a key and the line that it comes from; line 0: not from the text. */
static int look_up(const Buf *text, const char *key, ConfigRow *row, int *line, Err *err)
{
    Config cfg = {0};
    *line = 0;
    int rc = config_load_text(&cfg, "f", text->data, text->size, 0, NULL, err);
    for (int i = 0; i < config_row_count() && !rc; i++)
        if (config_row(&cfg, i, row) == 0 && strcmp(row->key, key) == 0) {
            *line = strncmp(row->origin, "f:", 2) == 0 ? atoi(row->origin + 2) : 0;
            break;
        }
    config_close(&cfg);
    return rc;
}

/* JSON knows no comments. */
static int is_json(const Buf *text)
{
    size_t at = 0;
    while (at < text->size && strchr(" \t\r\n", text->data[at]))
        at++;
    return at < text->size && text->data[at] == '{';
}

/* The text with the remark behind a line, in place of an older one; nothing if there is no room for it. */
static void add_remark(Buf *out, const Buf *text, int line, const char *remark)
{
    size_t from, to;
    if (is_json(text) || !find_line(text, line, &from, &to))
        return;
    size_t keep = find_mark(text, from, to);
    while (keep > from && (text->data[keep - 1] == ' ' || text->data[keep - 1] == '\t'))
        keep--;
    buf_add(out, text->data, keep);
    buf_str(out, "  " MARK);
    buf_str(out, remark);
    buf_add(out, text->data + to, text->size - to);
}

int measured_set(Buf *text, const char *key, const char *value, const char *remark, Err *err)
{
    ConfigRow now, then;
    int line, again;
    Err why = {0};
    int rc = schema_set(text, key, value, err);
    if (!rc)
        rc = look_up(text, key, &now, &line, err);
    if (rc)
        return rc;
    Buf with = {0};
    add_remark(&with, text, line, remark);
    /* A comment in the wrong place would swallow what follows it. */
    if (with.failed)
        rc = err_set(err, ERR_NOMEM, "no memory for a remark");
    else if (!with.size || look_up(&with, key, &then, &again, &why) || again != line ||
             strcmp(now.value, then.value) != 0)
        rc = 1;
    else {
        buf_clear(text);
        buf_add(text, with.data, with.size);
        rc = text->failed ? err_set(err, ERR_NOMEM, "no memory for a remark") : 0;
    }
    buf_free(&with);
    return rc;
}
