/* json.h - values of jansson that are always JSON: what is not finite becomes null, bytes that are not UTF-8
 * become '?'. The makers return new references, NULL on no memory, as jansson's own do. Threads: any. */
#ifndef MYXTTS_JSON_H
#define MYXTTS_JSON_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

json_t *json_from_double(double x);
json_t *json_from_bytes(const char *s, size_t n); /* not UTF-8: each byte over 0x7F becomes '?' */
json_t *json_from_text(const char *s);

/* A member of an object as a number; NaN when it is missing or no number. */
double json_get_double(const json_t *object, const char *key);
/* The same as a count from 0; `otherwise` when it is none. */
int64_t json_get_count(const json_t *object, const char *key, int64_t otherwise);

#endif
