/* depthwise_host.c - convolution over time with one filter for each channel.
 * A task has a stretch of the channels of one item, so that its rows stay in the cache from tap to tap.
 * Compiled twice, with -DREAL=float and -DREAL=double: see host_real.h. */
#include <string.h>

#include "ops/host_real.h"

#define STRETCH 64 /* channels of a task */

typedef struct DepthwiseTask {
    HostOps *h;
    REAL *out, *din, *sums;
    const REAL *in, *w, *bias, *dout;
    const int32_t *len;
    int B, T, C, K;
    int stretches;
} DepthwiseTask;

/* out row += in row * w, element by element. */
static void multiply_add(REAL *restrict out, const REAL *restrict in, const REAL *restrict w, int n)
{
    for (int i = 0; i < n; i++)
        out[i] += in[i] * w[i];
}

/* Rows of one item, `from` its first element: to[t] = start + the sum over taps of from[t + step * (k -
 * half)] w[k], step 1 forward and -1 for the gradient of the input. */
static void filter(REAL *to, const REAL *from, const DepthwiseTask *d, const REAL *start, int c0, int n,
                   int length, int step)
{
    for (int t = 0; t < length; t++) {
        REAL *row = to + (int64_t)t * d->C;
        if (start)
            memcpy(row, start, (size_t)n * sizeof *row);
        else
            memset(row, 0, (size_t)n * sizeof *row);
        for (int k = 0; k < d->K; k++) {
            int at = t + step * (k - d->K / 2);
            if (at >= 0 && at < length)
                multiply_add(row, from + (int64_t)at * d->C, d->w + (int64_t)k * d->C + c0, n);
        }
    }
    for (int t = length; t < d->T; t++)
        memset(to + (int64_t)t * d->C, 0, (size_t)n * sizeof *to);
}

static void forward_task(void *arg, int task, int slot)
{
    DepthwiseTask *d = arg;
    int b = task / d->stretches, c0 = task % d->stretches * STRETCH, n = d->C - c0;
    int64_t at = (int64_t)b * d->T * d->C + c0;
    if (n > STRETCH)
        n = STRETCH;
    filter(d->out + at, d->in + at, d, d->bias + c0, c0, n, host_len(d->len, b, d->T), 1);
}

void HOST(depthwise_forward)(OpsContext *ctx, void *out, const void *in, const void *w, const void *bias,
                             const int32_t *len, int B, int T, int C, int K)
{
    ASSERT(K % 2 == 1);
    DepthwiseTask d = {.h = host_of(ctx), .out = out, .in = in, .w = w, .bias = bias, .len = len};
    d.B = B;
    d.T = T;
    d.C = C;
    d.K = K;
    d.stretches = (C + STRETCH - 1) / STRETCH;
    host_pool_run(d.h->pool, B * d.stretches, forward_task, &d);
}

static void input_task(void *arg, int task, int slot)
{
    DepthwiseTask *d = arg;
    int b = task / d->stretches, c0 = task % d->stretches * STRETCH, n = d->C - c0;
    int64_t at = (int64_t)b * d->T * d->C + c0;
    if (n > STRETCH)
        n = STRETCH;
    filter(d->din + at, d->dout + at, d, NULL, c0, n, host_len(d->len, b, d->T), -1);
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
        for (int t = 0; t < length; t++) {
            const REAL *g = dout + (int64_t)t * d->C;
            for (int k = 0; k < d->K; k++) {
                int at = t + k - d->K / 2;
                if (at >= 0 && at < length)
                    multiply_add(d->out + (int64_t)k * d->C + c0, in + (int64_t)at * d->C, g, n);
            }
            VEC(d->h)->add(d->sums + c0, d->sums + c0, g, n);
        }
    }
}

void HOST(depthwise_backward)(OpsContext *ctx, void *din, void *dw, void *dbias, const void *dout,
                              const void *in, const void *w, const int32_t *len, int B, int T, int C, int K)
{
    DepthwiseTask d = {.h = host_of(ctx), .din = din, .out = dw, .sums = dbias, .dout = dout, .in = in};
    d.w = w;
    d.len = len;
    d.B = B;
    d.T = T;
    d.C = C;
    d.K = K;
    d.stretches = (C + STRETCH - 1) / STRETCH;
    if (din)
        host_pool_run(d.h->pool, B * d.stretches, input_task, &d);
    host_pool_run(d.h->pool, d.stretches, weights_task, &d);
}
