/* loss_host.c - losses over valid rows. Sums are in double, one per batch item, added in the items' order.
 * Compiled twice, with -DREAL=float and -DREAL=double: see host_real.h. */
#include <string.h>

#include "ops/host/host_real.h"

typedef struct LossTask {
    HostOps *h;
    double *sums; /* [B] */
    REAL *d;
    const REAL *pred;
    const float *target;
    const int32_t *len;
    int T, n, accumulate;
    LossKind kind;
    REAL delta, weight;
} LossTask;

/* One item: the loss of its valid rows; the gradient of padding is zero. */
static void loss_task(void *arg, int b, int slot)
{
    LossTask *t = arg;
    int64_t first = (int64_t)b * t->T * t->n, valid = (int64_t)host_len(t->len, b, t->T) * t->n,
            all = (int64_t)t->T * t->n;
    /* An accumulated gradient keeps what is in the padding: zeros of the first loss. */
    t->sums[b] = VEC(t->h)->loss(t->d ? t->d + first : NULL, t->pred + first, t->target + first, t->kind,
                                 t->delta, t->weight, t->accumulate, valid);
    if (t->d && !t->accumulate)
        memset(t->d + first + valid, 0, (size_t)(all - valid) * sizeof *t->d);
}

void HOST(loss_forward)(OpsContext *c, void *value, void *dpred, const void *pred, const float *target,
                        const int32_t *len, int B, int T, int n, LossKind kind, float delta, float weight,
                        int accumulate)
{
    HostOps *h = host_of(c);
    LossTask t = {.h = h,
                  .sums = loss_sums(h, B),
                  .d = dpred,
                  .pred = pred,
                  .target = target,
                  .len = len,
                  .T = T,
                  .n = n};
    t.kind = kind;
    t.delta = delta;
    t.weight = weight;
    t.accumulate = accumulate;
    host_pool_run(h->pool, B, loss_task, &t);
    loss_add(value, t.sums, B, (double)t.weight);
}
