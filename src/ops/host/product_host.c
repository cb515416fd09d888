/* product_host.c - weights in panels (product.h), which all tasks of an op share.
 * Compiled twice, with -DREAL=float and -DREAL=double: see host_real.h. */
#include "ops/host/host_real.h"

#define PART_NUMBERS 16384 /* least in a task */

typedef struct PackTask {
    HostOps *h;
    const Weights *w;
    int64_t j0, n, part; /* part: columns of a task */
} PackTask;

static void pack_task(void *arg, int task, int slot)
{
    const PackTask *t = arg;
    const Weights *w = t->w;
    const int panel = PRODUCTS(t->h)->panel;
    const int64_t k = w->depth * w->taps, from = task * t->part,
                  n = t->n - from < t->part ? t->n - from : t->part;
    for (int tap = 0; tap < w->taps; tap++)
        PRODUCTS(t->h)->pack((REAL *)t->h->panels + from * k + tap * w->depth * panel, k * panel,
                             w->b + tap * w->tap_step + (t->j0 + from) * (w->turned ? w->ld : 1), w->ld,
                             w->turned, w->depth, n);
}

const REAL *HOST(weights_pack)(HostOps *h, const Weights *w, int64_t j0, int64_t n)
{
    PackTask t = {.h = h, .w = w, .j0 = j0, .n = n};
    t.part = whole_panels(PART_NUMBERS / (w->depth * w->taps) + 1);
    host_pool_run(h->pool, (int)((n + t.part - 1) / t.part), pack_task, &t);
    return h->panels;
}
