/* depthwise_host.c - convolution over time with one filter for each channel, and the norm behind it.
 * A task has a stretch of the channels of one item, so that its rows stay in the cache from tap to tap.
 * Compiled twice, with -DREAL=float and -DREAL=double: see host_real.h. */
#include <string.h>

#include "ops/host/host_real.h"

#define STRETCH 64 /* channels of a task */

typedef struct DepthwiseTask {
    HostOps *h;
    REAL *out, *din, *sums;
    const REAL *in, *w, *bias, *dout, *add;
    const int32_t *len;
    int B, T, C, K;
    int stretches;
} DepthwiseTask;

/* Rows of one item, `from` its first element: to[t] = start[t * start_step] + the sum over taps of from[t +
 * step * (k - half)] w[k], step 1 forward and -1 for the gradient of the input. Rows past the length are the
 * start where rest is 1, else zero. */
static void filter(REAL *to, const REAL *from, const DepthwiseTask *d, const REAL *start, int64_t start_step,
                   int c0, int n, int length, int step, int rest)
{
    for (int t = 0; t < length; t++) {
        REAL *row = to + (int64_t)t * d->C;
        /* The taps that meet rows of the item. */
        const int half = d->K / 2, before = step > 0 ? t : length - 1 - t, after = length - 1 - before,
                  k0 = before < half ? half - before : 0, k1 = after < half ? half + after + 1 : d->K;
        VEC(d->h)->filter(row, start + t * start_step, from + (t + (int64_t)step * (k0 - half)) * d->C,
                          (int64_t)step * d->C, d->w + (int64_t)k0 * d->C + c0, d->C, k1 - k0, n);
    }
    for (int t = length; t < d->T; t++)
        if (rest)
            memcpy(to + (int64_t)t * d->C, start + t * start_step, (size_t)n * sizeof *to);
        else
            memset(to + (int64_t)t * d->C, 0, (size_t)n * sizeof *to);
}

static void forward_task(void *arg, int task, int slot)
{
    DepthwiseTask *d = arg;
    int b = task / d->stretches, c0 = task % d->stretches * STRETCH, n = d->C - c0;
    int64_t at = (int64_t)b * d->T * d->C + c0;
    if (n > STRETCH)
        n = STRETCH;
    filter(d->out + at, d->in + at, d, d->bias + c0, 0, c0, n, host_len(d->len, b, d->T), 1, 0);
}

static DepthwiseTask task_of(OpsContext *ctx, const int32_t *len, int B, int T, int C, int K)
{
    ASSERT(K % 2 == 1);
    return (DepthwiseTask){.h = host_of(ctx),
                           .len = len,
                           .B = B,
                           .T = T,
                           .C = C,
                           .K = K,
                           .stretches = (C + STRETCH - 1) / STRETCH};
}

void HOST(filter_norm_forward)(OpsContext *ctx, void *out, void *deep, void *mean, void *rstd, const void *in,
                               const void *w, const void *bias, const void *norm_w, const void *norm_b,
                               const int32_t *len, int B, int T, int C, int K)
{
    DepthwiseTask d = task_of(ctx, len, B, T, C, K);
    d.out = deep;
    d.in = in;
    d.w = w;
    d.bias = bias;
    host_pool_run(d.h->pool, B * d.stretches, forward_task, &d);
    HOST(norm_forward)
    (ctx, deep, out, mean, rstd, deep, NULL, norm_w, norm_b, (int64_t)B * T, C, (Dropout){0, 0});
}

static void input_task(void *arg, int task, int slot)
{
    DepthwiseTask *d = arg;
    int b = task / d->stretches, c0 = task % d->stretches * STRETCH, n = d->C - c0;
    int64_t at = (int64_t)b * d->T * d->C + c0;
    if (n > STRETCH)
        n = STRETCH;
    filter(d->din + at, d->dout + at, d, d->add + at, d->C, c0, n, host_len(d->len, b, d->T), -1, 1);
}

/* The gradients of a stretch of the channels, over all items: dw [K], then dbias. */
static void weights_task(void *arg, int task, int slot)
{
    DepthwiseTask *d = arg;
    int c0 = task * STRETCH, n = d->C - c0;
    if (n > STRETCH)
        n = STRETCH;
    for (int b = 0; b < d->B; b++) {
        int length = host_len(d->len, b, d->T);
        const REAL *in = d->in + (int64_t)b * d->T * d->C + c0;
        const REAL *dout = d->dout + (int64_t)b * d->T * d->C + c0;
        VEC(d->h)->filter_grad(d->out + c0, d->sums + c0, in, dout, d->C, length, d->K, n);
    }
}

/* The norm's parameters too: their sums cost least where its gradient is computed. */
void HOST(filter_norm_backward)(OpsContext *ctx, void *din, const void *add, const FilterNorms *f,
                                const void *w, const void *norm_w, const int32_t *len, int B, int T, int C,
                                int K)
{
    DepthwiseTask d = task_of(ctx, len, B, T, C, K);
    HOST(norm_backward)
    (ctx, f->ddeep, NULL, f->dnorm_w, f->dnorm_b, NULL, f->dout, NULL, f->deep, f->mean, f->rstd, norm_w,
     (int64_t)B * T, C, (Dropout){0, 0});
    d.din = din;
    d.add = add;
    d.dout = f->ddeep;
    d.w = w;
    host_pool_run(d.h->pool, B * d.stretches, input_task, &d);
}

void HOST(filter_norm_weights)(OpsContext *ctx, const FilterNorms *f, const int32_t *len, int B, int T, int C,
                               int K)
{
    DepthwiseTask d = task_of(ctx, len, B, T, C, K);
    for (int i = 0; i < f->count; i++) {
        d.out = (REAL *)f->dw + i * f->param_step;
        d.sums = (REAL *)f->dbias + i * f->param_step;
        d.dout = (const REAL *)f->ddeep + i * f->real_step;
        d.in = (const REAL *)f->in + i * f->real_step;
        host_pool_run(d.h->pool, d.stretches, weights_task, &d);
    }
}
