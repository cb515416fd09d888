/* output.c - see output.h. */
#include "cmd/line/output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/utf8.h"

/* Takes the object over also when it fails, so that callers have one path. */
int output_print(json_t *o, int digits, Err *err)
{
    char *text = o ? json_dumps(o, JSON_INDENT(2) | JSON_REAL_PRECISION((size_t)digits)) : NULL;
    json_decref(o);
    if (!text)
        return err_set(err, ERR_NOMEM, "no memory for the JSON text");
    puts(text);
    free(text);
    return 0;
}

void output_command(Buf *out, int argc, char **argv)
{
    buf_str(out, "myxtts");
    for (int i = 0; i < argc; i++)
        buf_printf(out, " %s", argv[i]);
}

/* A character may be cut at the end of what the stream hands over: its first bytes wait here. */
typedef struct Tamer {
    char held[4];
    size_t count;
} Tamer;

/* Bytes at the end that begin a character. */
static size_t unfinished(const char *s, size_t n)
{
    for (size_t back = 1; back <= 3 && back <= n; back++) {
        unsigned char c = (unsigned char)s[n - back];
        if (c >= 0xC0)
            return back < (c >= 0xF0 ? 4u : c >= 0xE0 ? 3u : 2u) ? back : 0;
        if (c < 0x80)
            return 0;
    }
    return 0;
}

static ssize_t write_tamed(void *cookie, const char *data, size_t n)
{
    Tamer *t = cookie;
    char *text = malloc(t->count + n + 1);
    if (!text)
        return 0;
    memcpy(text, t->held, t->count);
    memcpy(text + t->count, data, n);
    size_t size = t->count + n, rest = unfinished(text, size);
    t->count = rest;
    memcpy(t->held, text + size - rest, rest);
    int rc = file_write_all(STDOUT_FILENO, text, utf8_tame(text, size - rest), "standard output", NULL);
    free(text);
    return rc ? 0 : (ssize_t)n;
}

static int close_tamed(void *cookie)
{
    free(cookie);
    return 0;
}

void output_guard(void)
{
    if (!isatty(STDOUT_FILENO))
        return;
    Tamer *t = calloc(1, sizeof *t);
    FILE *f =
        t ? fopencookie(t, "w", (cookie_io_functions_t){.write = write_tamed, .close = close_tamed}) : NULL;
    if (!f) {
        free(t);
        return;
    }
    setvbuf(f, NULL, _IOLBF, BUFSIZ);
    stdout = f;
}

void output_control(const char *text, size_t size)
{
    fflush(stdout);
    file_write_all(STDOUT_FILENO, text, size, "standard output", NULL);
}
