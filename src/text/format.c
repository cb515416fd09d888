/* format.c - see format.h. */
#include "text/format.h"

#include <string.h>

#include "text/ssml.h"

typedef struct Row {
    const char *name;
    int (*is)(const char *p, size_t n); /* NULL: never found out */
    int (*read)(Markup *s, const char *p, size_t n, const TextFormatUse *use, Err *err); /* NULL: plain */
} Row;

static const Row rows[TEXT_FORMATS] = {
    [TEXT_FORMAT_AUTO] = {"auto", NULL, NULL},
    [TEXT_FORMAT_PLAIN] = {"plain", NULL, NULL},
    [TEXT_FORMAT_SSML] = {"ssml", ssml_is, ssml_read},
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
