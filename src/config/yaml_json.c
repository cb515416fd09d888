/* yaml_json.c - see yaml_json.h. */
#include "config/yaml_json.h"

#include <stdlib.h>
#include <string.h>

/* A plain word in quotes; numbers, true, false, null and what has quotes already as they are. */
static void put_json_scalar(Buf *out, const char *s, size_t n)
{
    char word[64] = "", *end;
    if (n > 0 && n < sizeof word) {
        memcpy(word, s, n);
        strtod(word, &end);
        int number = *end == 0 && (word[0] == '-' || (word[0] >= '0' && word[0] <= '9'));
        if (number || word[0] == '"' || strcmp(word, "true") == 0 || strcmp(word, "false") == 0 ||
            strcmp(word, "null") == 0) {
            buf_add(out, s, n);
            return;
        }
    } else if (n > 0 && s[0] == '"') {
        buf_add(out, s, n);
        return;
    }
    buf_printf(out, "\"%.*s\"", (int)n, s);
}

void yaml_put_json(Buf *out, const char *value)
{
    size_t n = strlen(value);
    if (value[0] != '[' || value[n - 1] != ']' || strchr(value, '"')) {
        put_json_scalar(out, value, n);
        return;
    }
    buf_str(out, "[");
    for (const char *at = value + 1, *stop = value + n - 1; at < stop;) {
        at += strspn(at, " ");
        size_t length = strcspn(at, ",]");
        if (length)
            put_json_scalar(out, at, length);
        at += length + 1;
        if (at < stop)
            buf_str(out, ", ");
    }
    buf_str(out, "]");
}
