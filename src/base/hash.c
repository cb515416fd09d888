/* hash.c - content hashes of file.h: XXH3 (xxHash 0.8), 64 and 128 bits. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
#define XXH_STATIC_LINKING_ONLY /* for a state on the stack */
#include <xxhash.h>

#include "base/file.h"

static Hash128 from_xxh(XXH128_hash_t h) { return (Hash128){h.low64, h.high64}; }

Hash128 hash_bytes(const void *p, size_t n) { return from_xxh(XXH3_128bits(p, n)); }
uint64_t hash64(const void *p, size_t n) { return XXH3_64bits(p, n); }

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

int file_hash(Hash128 *h, const char *path, Err *err)
{
    enum { PIECE = 1 << 20 };
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_set_errno(err, errno == ENOENT ? ERR_MISSING : ERR_IO, "cannot open %s", path);
    int rc = 0;
    char *piece = malloc(PIECE);
    XXH3_state_t *state = XXH3_createState();
    if (!piece || !state)
        rc = err_set(err, ERR_NOMEM, "no memory to hash %s", path);
    else
        XXH3_128bits_reset(state);
    while (!rc) {
        ssize_t n = read(fd, piece, PIECE);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            rc = err_set_errno(err, ERR_IO, "cannot read %s", path);
        if (n <= 0)
            break;
        XXH3_128bits_update(state, piece, (size_t)n);
    }
    if (!rc)
        *h = from_xxh(XXH3_128bits_digest(state));
    XXH3_freeState(state);
    free(piece);
    close(fd);
    return rc;
}

int hasher_open(Hasher *h)
{
    h->state = XXH3_createState();
    if (!h->state)
        return ERR_NOMEM;
    XXH3_128bits_reset(h->state);
    return 0;
}

void hasher_bytes(Hasher *h, const void *p, size_t n)
{
    uint64_t length = n;
    XXH3_128bits_update(h->state, &length, sizeof length);
    XXH3_128bits_update(h->state, p, n);
}

void hasher_str(Hasher *h, const char *s) { hasher_bytes(h, s ? s : "", s ? strlen(s) : 0); }
void hasher_u64(Hasher *h, uint64_t v) { hasher_bytes(h, &v, sizeof v); }
void hasher_f64(Hasher *h, double v)
{
    if (v == 0)
        v = 0; /* -0.0 and 0.0 are one setting */
    hasher_bytes(h, &v, sizeof v);
}

Hash128 hasher_close(Hasher *h)
{
    Hash128 out = from_xxh(XXH3_128bits_digest(h->state));
    XXH3_freeState(h->state);
    h->state = NULL;
    return out;
}
