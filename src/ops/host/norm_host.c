/* norm_host.c - residual sum with dropout, layer norm, and their gradients.
 * Compiled twice, with -DREAL=float and -DREAL=double: see host_real.h. */
#include <string.h>

#include "ops/host/host_real.h"

#define NORM_NUMBERS 8192 /* least numbers in a task */

typedef struct NormTask {
    HostOps *h;
    REAL *sum, *out, *mean, *rstd, *dx, *dy, *dw;
    const REAL *x, *y, *w, *b, *dout, *dsum;
    int64_t R;
    int C, parts, sums_dy;
    VectorDropout drop;
} NormTask;

/* Sum, dropout and norm row by row, while the row is in the cache. */
static void norm_forward_task(void *arg, int task, int slot)
{
    NormTask *t = arg;
    const int64_t C = t->C, end = host_begin(t->R, t->parts, task + 1);
    for (int64_t r = host_begin(t->R, t->parts, task); r < end; r++) {
        REAL *sum = t->sum + r * C;
        if (t->y)
            VEC(t->h)->dropout(sum, t->x + r * C, t->y + r * C, t->drop, (uint64_t)(r * C), C);
        else if (sum != t->x + r * C)
            memcpy(sum, t->x + r * C, (size_t)C * sizeof *sum);
        VEC(t->h)->norm(t->out + r * C, t->mean + r, t->rstd + r, sum, t->w, t->b, C);
    }
}

void HOST(norm_forward)(OpsContext *c, void *sum, void *out, void *mean, void *rstd, const void *x,
                        const void *y, const void *w, const void *b, int64_t R, int C, Dropout drop)
{
    HostOps *h = host_of(c);
    NormTask t = {.h = h,
                  .sum = sum,
                  .out = out,
                  .mean = mean,
                  .rstd = rstd,
                  .x = x,
                  .y = y,
                  .w = w,
                  .b = b,
                  .R = R,
                  .C = C};
    t.drop = host_dropout(c, drop, R * C);
    t.parts = host_parts(R, NORM_NUMBERS / C + 1);
    host_pool_run(h->pool, t.parts, norm_forward_task, &t);
}

/* Each task has its own sums of dw, db and dy. */
static void norm_backward_task(void *arg, int task, int slot)
{
    NormTask *t = arg;
    const int64_t C = t->C, end = host_begin(t->R, t->parts, task + 1);
    REAL *dw = t->dw + task * 3 * C, *db = dw + C, *dy_sum = db + C;
    for (int64_t r = host_begin(t->R, t->parts, task); r < end; r++) {
        VEC(t->h)->norm_grad(t->dx + r * C, dw, db, t->dout + r * C, t->dsum ? t->dsum + r * C : NULL,
                             t->x + r * C, t->mean[r], t->rstd[r], t->w, C);
        if (!t->dy)
            continue;
        /* The branch has the same gradient, through the dropout of the forward pass. */
        VEC(t->h)->dropout(t->dy + r * C, NULL, t->dx + r * C, t->drop, (uint64_t)(r * C), C);
        if (t->sums_dy)
            VEC(t->h)->add(dy_sum, dy_sum, t->dy + r * C, C);
    }
}

void HOST(norm_backward)(OpsContext *c, void *dx, void *dy, void *dw, void *db, void *dy_sum,
                         const void *dout, const void *dsum, const void *sum, const void *mean,
                         const void *rstd, const void *w, int64_t R, int C, Dropout drop)
{
    HostOps *h = host_of(c);
    NormTask t = {.h = h, .dx = dx, .dy = dy, .dout = dout, .dsum = dsum, .x = sum, .w = w, .R = R, .C = C};
    t.sums_dy = dy_sum != NULL;
    /* only read */
    t.mean = (REAL *)(uintptr_t)mean;
    t.rstd = (REAL *)(uintptr_t)rstd;
    t.drop = host_dropout(c, drop, R * C);
    t.parts = host_parts(R, NORM_NUMBERS / C + 1);
    REAL *sums = sums_begin(h, t.parts, 3 * (int64_t)C); /* [parts][dw, db, dy_sum] */
    t.dw = sums;
    host_pool_run(h->pool, t.parts, norm_backward_task, &t);
    /* The tasks' sums in their order. */
    for (int p = 0; p < t.parts; p++) {
        VEC(h)->add(dw, dw, sums + p * 3 * (int64_t)C, C);
        VEC(h)->add(db, db, sums + (p * 3 + 1) * (int64_t)C, C);
        if (dy_sum)
            VEC(h)->add(dy_sum, dy_sum, sums + (p * 3 + 2) * (int64_t)C, C);
    }
}
