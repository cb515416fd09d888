/* safetensors_format.h - what the writer and the reader of safetensors.h agree on. Included by those two
 * files alone. */
#ifndef MYXTTS_SAFETENSORS_FORMAT_H
#define MYXTTS_SAFETENSORS_FORMAT_H

#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/utf8.h"
#include "voice/safetensors.h"

#define LENGTH_SIZE 8
#define DATA_ALIGN 64
#define HEADER_LIMIT 100000000 /* the Python package's own limit */

/* The writer puts the checksum first, so its digits have a fixed place in the file. */
#define HEADER_START "{\"__metadata__\":{\"xxh128\":\""
#define DIGITS 32
#define ZEROS "00000000000000000000000000000000"
#define DIGITS_AT (LENGTH_SIZE + sizeof HEADER_START - 1)
#define OWN_NAME "myxtts"

static const struct {
    const char *name;
    uint64_t size;
} dtypes[] = {
    {"F64", 8},  {"I64", 8}, {"U64", 8}, {"F32", 4}, {"I32", 4}, {"U32", 4},  {"F16", 2},
    {"BF16", 2}, {"I16", 2}, {"U16", 2}, {"I8", 1},  {"U8", 1},  {"BOOL", 1},
};

static inline int dtype_find(const char *name)
{
    for (int i = 0; name && i < (int)(sizeof dtypes / sizeof *dtypes); i++)
        if (strcmp(dtypes[i].name, name) == 0)
            return i;
    return -1;
}

/* A name from a file, fit for a message: no control characters, not too long. */
typedef struct Shown {
    char text[84];
} Shown;

static inline Shown show(const char *s)
{
    Shown out = {{0}};
    utf8_show(out.text, sizeof out.text, s);
    return out;
}

/* Bytes of a tensor, or -1 when they do not fit into 63 bits. */
static inline int64_t bytes_of(const int64_t *shape, int dims, uint64_t element)
{
    int64_t n = (int64_t)element;
    for (int i = 0; i < dims; i++)
        if (shape[i] < 0 || __builtin_mul_overflow(n, shape[i], &n))
            return -1;
    return n;
}

static inline void digest_text(char out[DIGITS + 1], const XXH3_state_t *state)
{
    XXH128_canonical_t bytes;
    XXH128_canonicalFromHash(&bytes, XXH3_128bits_digest(state));
    for (size_t i = 0; i < sizeof bytes.digest; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes.digest[i]);
}

#endif
