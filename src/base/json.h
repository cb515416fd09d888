/* json.h - jansson values that are always valid JSON: numbers that are not finite become null, bytes that are
 * not UTF-8 become '?'. The json_from_ functions return new references, or NULL if out of memory, as
 * jansson's own do. Threads: any. */
#ifndef MYXTTS_JSON_H
#define MYXTTS_JSON_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

json_t *json_from_double(double x);
json_t *json_from_bytes(const char *s, size_t n); /* if it is not UTF-8, each byte over 0x7F becomes '?' */
json_t *json_from_text(const char *s);

/* A member of an object as a number; NaN if it is missing or not a number. */
double json_get_double(const json_t *object, const char *key);
/* A member of an object as text; "" if it is missing or not a text. */
const char *json_get_text(const json_t *object, const char *key);
/* A member of an object as an integer >= 0; `otherwise` if it is missing, negative or not a number. */
int64_t json_get_count(const json_t *object, const char *key, int64_t otherwise);

#endif
