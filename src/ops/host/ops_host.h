/* ops_host.h - what the host ops of both precisions share. Private to src/ops.
 * The ops themselves are in <family>_host.c, written once over REAL (host_real.h). An op is cut into tasks by
 * its shape alone and no sum is split between tasks unless its parts are added in a fixed order, so results
 * do not depend on the number of threads. Products (product.h) are exact in this sense however they are cut.
 */
#ifndef MYXTTS_OPS_HOST_H
#define MYXTTS_OPS_HOST_H

#include <stdint.h>

#include "ops/host/host_pool.h"
#include "ops/host/vector.h"
#include "ops/ops.h"
#include "ops/philox.h"

#define HOST_PARTS 16              /* most parts a dimension is cut into */
#define HOST_SLOT_BYTES (2u << 20) /* scratch of one thread */
#define HOST_SUM_BYTES (4u << 20)  /* partial sums: HOST_PARTS rows */
#define HOST_PANELS (1u << 20)     /* numbers: weights in panels, which all threads read */

typedef struct HostOps {
    HostPool *pool;
    const Vectors *vectors;
    char *scratch; /* [threads][HOST_SLOT_BYTES] */
    void *sums;    /* HOST_SUM_BYTES */
    void *panels;  /* [HOST_PANELS] */
    char *rooms;   /* [threads][PRODUCT_ROOM] */
    int threads;
} HostOps;

static inline HostOps *host_of(OpsContext *c) { return c->own; }
static inline void *host_slot(HostOps *h, int slot) { return h->scratch + (size_t)slot * HOST_SLOT_BYTES; }

/* How many parts n things are cut into when a part should have at least `least`: 1, or an even number up to
 * HOST_PARTS. */
static inline int host_parts(int64_t n, int64_t least)
{
    int64_t parts = n / (least > 0 ? least : 1);
    if (parts > HOST_PARTS)
        parts = HOST_PARTS;
    return parts < 2 ? 1 : (int)(parts & ~INT64_C(1));
}

/* Where part i of n things begins (i = parts: the end), on a multiple of 16 in between. */
static inline int64_t host_begin(int64_t n, int parts, int i)
{
    return i >= parts ? n : (n * i / parts) & ~INT64_C(15);
}

static inline int host_len(const int32_t *len, int b, int most)
{
    int n = len ? len[b] : most;
    return n < 0 ? 0 : n > most ? most : n;
}

/* n: elements of the whole call. */
static inline VectorDropout host_dropout(const OpsContext *c, Dropout d, int64_t n)
{
    VectorDropout v = {.seed = d.seed + (c->step ? c->step->seed : 0), .threshold = 0, .scale = 1};
    v.first = c->step ? (uint64_t)c->step->share * (uint64_t)n : 0;
    if (d.p > 0) {
        v.threshold = philox_threshold(d.p);
        v.scale = philox_scale(v.threshold);
    }
    return v;
}

#endif
