/* output.c - see output.h. */
#include "cmd/output.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

json_t *output_text(const char *s, size_t n)
{
    json_t *value = json_stringn(n ? s : "", n);
    if (value)
        return value;
    char *copy = malloc(n + 1);
    if (!copy)
        return NULL;
    for (size_t i = 0; i < n; i++)
        copy[i] = (unsigned char)s[i] >= 0x80 ? '?' : s[i];
    value = json_stringn(copy, n);
    free(copy);
    return value;
}

json_t *output_number(double x) { return isfinite(x) ? json_real(x) : json_null(); }

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
