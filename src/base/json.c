/* json.c - see json.h. */
#include "base/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_EXACT 1e15 /* integers below this are exact as a double */

json_t *json_from_double(double x) { return isfinite(x) ? json_real(x) : json_null(); }

json_t *json_from_bytes(const char *s, size_t n)
{
    json_t *value = json_stringn(n ? s : "", n);
    if (value)
        return value;
    /* jansson refuses bytes that are not UTF-8; '?' shows that there was something. */
    char *copy = malloc(n + 1);
    if (!copy)
        return NULL;
    for (size_t i = 0; i < n; i++)
        copy[i] = (unsigned char)s[i] >= 0x80 ? '?' : s[i];
    value = json_stringn(copy, n);
    free(copy);
    return value;
}

json_t *json_from_text(const char *s) { return json_from_bytes(s, strlen(s)); }

double json_get_double(const json_t *object, const char *key)
{
    const json_t *v = json_object_get(object, key);
    return json_is_number(v) ? json_number_value(v) : (double)NAN;
}

int64_t json_get_count(const json_t *object, const char *key, int64_t otherwise)
{
    double v = json_get_double(object, key);
    return v >= 0 && v < MAX_EXACT ? (int64_t)v : otherwise;
}

const char *json_get_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}
