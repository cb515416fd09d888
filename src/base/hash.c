/* hash.c - see hash.h. */
#include <string.h>
#include <sys/uio.h>
#define XXH_STATIC_LINKING_ONLY /* for a state on the stack */
#include <xxhash.h>

#include "base/err.h"

#include "base/hash.h"

static Hash128 from_xxh(XXH128_hash_t h) { return (Hash128){h.low64, h.high64}; }

Hash128 hash_bytes(const void *p, size_t n) { return from_xxh(XXH3_128bits(p, n)); }
uint64_t hash64(const void *p, size_t n) { return XXH3_64bits(p, n); }

/* The state is on the stack: a checksum must not fail because memory is short. */
uint64_t hash64_parts(const struct iovec *parts, int n)
{
    XXH3_state_t state;
    XXH3_INITSTATE(&state);
    XXH3_64bits_reset(&state);
    for (int i = 0; i < n; i++)
        XXH3_64bits_update(&state, parts[i].iov_base, parts[i].iov_len);
    return XXH3_64bits_digest(&state);
}

int hash_equal(Hash128 a, Hash128 b) { return a.lo == b.lo && a.hi == b.hi; }

/* The state is on the heap, because it needs more alignment than a plain struct member has. */
int hasher_open(Hasher *h)
{
    h->state = XXH3_createState();
    if (!h->state)
        return ERR_NOMEM;
    XXH3_128bits_reset(h->state);
    return 0;
}

/* The length goes first, so that ("ab", "c") and ("a", "bc") differ. */
void hasher_bytes(Hasher *h, const void *p, size_t n)
{
    uint64_t length = n;
    XXH3_128bits_update(h->state, &length, sizeof length);
    XXH3_128bits_update(h->state, p, n);
}

void hasher_str(Hasher *h, const char *s) { hasher_bytes(h, s ? s : "", s ? strlen(s) : 0); }
void hasher_u64(Hasher *h, uint64_t v) { hasher_bytes(h, &v, sizeof v); }
/* Numbers are hashed by their bits, but 0.0 and -0.0 are the same setting. */
void hasher_f64(Hasher *h, double v)
{
    if (v == 0)
        v = 0; /* no longer -0.0 */
    hasher_bytes(h, &v, sizeof v);
}

Hash128 hasher_close(Hasher *h)
{
    if (!h->state)
        return (Hash128){0, 0};
    Hash128 out = from_xxh(XXH3_128bits_digest(h->state));
    XXH3_freeState(h->state);
    h->state = NULL;
    return out;
}
