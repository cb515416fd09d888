/* hash.h - content hashes: XXH3 of xxHash 0.8, 64 and 128 bits. Threads: any; a Hasher belongs to one. */
#ifndef MYXTTS_HASH_H
#define MYXTTS_HASH_H

#include <stddef.h>
#include <stdint.h>

/* 128-bit content hash (XXH3). */
typedef struct Hash128 {
    uint64_t lo, hi;
} Hash128;
Hash128 hash_bytes(const void *p, size_t n);
uint64_t hash64(const void *p, size_t n);
struct iovec;
uint64_t hash64_parts(const struct iovec *parts, int n); /* hash64 of the concatenated parts */
int hash_equal(Hash128 a, Hash128 b);

/* Hasher: a 128-bit hash of a sequence of fields. Each counts with its length, so that ("ab", "c") and
 * ("a", "bc") differ. */
typedef struct Hasher {
    void *state;
} Hasher;
int hasher_open(Hasher *h); /* 0 or ERR_NOMEM */
void hasher_bytes(Hasher *h, const void *p, size_t n);
void hasher_str(Hasher *h, const char *s); /* NULL counts as "" */
void hasher_u64(Hasher *h, uint64_t v);
void hasher_f64(Hasher *h, double v);
/* Returns the hash and frees the state; the hasher may be opened again. Zeros if it was closed. */
Hash128 hasher_close(Hasher *h);

#endif
