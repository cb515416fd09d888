/* format.c - see format.h. */
#include "text/markup/format.h"

#include <string.h>

#include "text/language.h"
#include "text/markup/html.h"
#include "text/markup/markdown.h"
#include "text/markup/ssml.h"

typedef struct Row {
    const char *name;
    int (*is)(const char *p, size_t n); /* NULL: never found out */
    int (*read)(Markup *s, const char *p, size_t n, const TextFormatUse *use, Err *err); /* NULL: plain */
} Row;

/* --- what becomes plain text --- */

/* Bytes of a reading that lie side by side in the text too, or all stand for the same. */
static size_t run_of(const uint32_t *places, size_t from, size_t to, int *moves)
{
    size_t end = from + 1;
    *moves = end < to && places[end] == places[from] + 1;
    while (end < to && places[end] == places[end - 1] + (uint32_t)*moves)
        end++;
    return end - from;
}

/* A noncharacter must not pass for a control. */
static void blank_controls(Buf *text)
{
    static const char control[] = "\xEF\xBF\xBF";
    for (size_t i = 0; i + 3 <= text->size; i++)
        if (!memcmp(text->data + i, control, 3))
            memset(text->data + i, ' ', 3);
}

static int read_with(int (*reader)(Reading *, const char *, size_t), Markup *m, const char *p, size_t n,
                     const TextFormatUse *use, Err *err)
{
    char language[LANGUAGE_MAX];
    language_primary(language, use->language ? use->language : "");
    Reading r = {.language = language};
    const int rc = reader(&r, p, n);
    const uint32_t *places = (const uint32_t *)(const void *)r.places.data;
    markup_begin_section(m, 0, 0);
    blank_controls(&r.text);
    for (size_t i = 0; !rc && i < r.text.size;) {
        int moves;
        const size_t size = run_of(places, i, r.text.size, &moves), next = places[i + size];
        markup_add(m, r.text.data + i, size, places[i], moves ? 0 : next > places[i] ? next - places[i] : 1);
        i += size;
    }
    reading_free(&r);
    return rc ? err_set(err, ERR_NOMEM, "no memory for a text of %zu bytes", n) : 0;
}

static int read_html(Markup *m, const char *p, size_t n, const TextFormatUse *use, Err *err)
{
    return read_with(html_read, m, p, n, use, err);
}

static int read_markdown(Markup *m, const char *p, size_t n, const TextFormatUse *use, Err *err)
{
    return read_with(markdown_read, m, p, n, use, err);
}

/* Markdown may have tags in it, but seldom begins with one. */
static int is_html(const char *p, size_t n)
{
    size_t at = 0;
    while (at < n && strchr(" \t\r\n", p[at]) && p[at])
        at++;
    return html_is_likely(p, n) && (p[at] == '<' || !markdown_is_likely(p, n));
}

/* --- the table --- */

static const Row rows[TEXT_FORMATS] = {
    [TEXT_FORMAT_AUTO] = {"auto", NULL, NULL},
    [TEXT_FORMAT_PLAIN] = {"plain", NULL, NULL},
    [TEXT_FORMAT_SSML] = {"ssml", ssml_is, ssml_read},
    [TEXT_FORMAT_HTML] = {"html", is_html, read_html},
    [TEXT_FORMAT_MARKDOWN] = {"markdown", markdown_is_likely, read_markdown},
};

int text_format_find(TextFormat *f, const char *name)
{
    for (int i = 0; i < TEXT_FORMATS; i++)
        if (!strcmp(rows[i].name, name)) {
            *f = (TextFormat)i;
            return 0;
        }
    return -1;
}

TextFormat text_format_of(TextFormat f, const char *p, size_t n)
{
    for (int i = 0; f == TEXT_FORMAT_AUTO && i < TEXT_FORMATS; i++)
        if (rows[i].is && rows[i].is(p, n))
            return (TextFormat)i;
    return f == TEXT_FORMAT_AUTO ? TEXT_FORMAT_PLAIN : f;
}

int text_format_read(Markup *s, TextFormat f, const char *p, size_t n, const TextFormatUse *use, Err *err)
{
    const Row *row = &rows[text_format_of(f, p, n)];
    if (!row->read)
        return 0;
    int rc = row->read(s, p, n, use, err);
    if (!rc && markup_failed(s))
        rc = err_set(err, ERR_NOMEM, "no memory for a text of %zu bytes", n);
    if (rc)
        markup_free(s);
    return rc ? rc : 1;
}
