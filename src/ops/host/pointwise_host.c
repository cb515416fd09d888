/* pointwise_host.c - dropout, sums, mean over time, copies over the batch, groups of frames, conversion.
 * Compiled twice, with -DREAL=float and -DREAL=double: see host_real.h. */
#include <string.h>

#include "ops/host/host_real.h"

#define TASK_NUMBERS 16384 /* least numbers in a task */

/* One part of the numbers or one batch item per task; a task needs only some of the fields. */
typedef struct PointwiseTask {
    HostOps *h;
    REAL *out;
    const REAL *a, *b;
    const float *target;
    const int32_t *len;
    int64_t n;
    int B, T, C, r, parts, accumulate;
    VectorDropout drop;
} PointwiseTask;

static void dropout_task(void *arg, int task, int slot)
{
    PointwiseTask *t = arg;
    int64_t i = host_begin(t->n, t->parts, task), end = host_begin(t->n, t->parts, task + 1);
    VEC(t->h)->dropout(t->out + i, NULL, t->a + i, t->drop, (uint64_t)i, end - i);
}

void HOST(dropout_forward)(OpsContext *c, void *out, const void *in, int64_t n, Dropout drop)
{
    PointwiseTask t = {.h = host_of(c),
                       .out = out,
                       .a = in,
                       .n = n,
                       .parts = host_parts(n, TASK_NUMBERS),
                       .drop = host_dropout(c, drop, n)};
    host_pool_run(t.h->pool, t.parts, dropout_task, &t);
}

static void add_task(void *arg, int task, int slot)
{
    PointwiseTask *t = arg;
    int64_t i = host_begin(t->n, t->parts, task), end = host_begin(t->n, t->parts, task + 1);
    VEC(t->h)->add(t->out + i, t->a + i, t->b + i, end - i);
}

void HOST(add_forward)(OpsContext *c, void *out, const void *a, const void *b, int64_t n)
{
    PointwiseTask t = {
        .h = host_of(c), .out = out, .a = a, .b = b, .n = n, .parts = host_parts(n, TASK_NUMBERS)};
    host_pool_run(t.h->pool, t.parts, add_task, &t);
}

/* One vector to every row of an item. */
static void add_vector_task(void *arg, int b, int slot)
{
    PointwiseTask *t = arg;
    for (int64_t r = (int64_t)b * t->T; r < (int64_t)(b + 1) * t->T; r++)
        VEC(t->h)->add(t->out + r * t->C, t->a + r * t->C, t->b + (int64_t)b * t->C, t->C);
}

void HOST(add_vector_forward)(OpsContext *c, void *out, const void *in, const void *v, int B, int T, int C)
{
    PointwiseTask t = {.h = host_of(c), .out = out, .a = in, .b = v, .T = T, .C = C};
    host_pool_run(t.h->pool, B, add_vector_task, &t);
}

/* The sum of an item's valid rows. */
static void sum_rows_task(void *arg, int b, int slot)
{
    PointwiseTask *t = arg;
    REAL *out = t->out + (int64_t)b * t->C;
    int n = host_len(t->len, b, t->T);
    if (!t->accumulate)
        memset(out, 0, (size_t)t->C * sizeof *out);
    for (int64_t i = 0; i < n; i++)
        VEC(t->h)->add(out, out, t->a + ((int64_t)b * t->T + i) * t->C, t->C);
}

void HOST(add_vector_backward)(OpsContext *c, void *dv, const void *dout, const int32_t *len, int B, int T,
                               int C, int accumulate)
{
    PointwiseTask t = {
        .h = host_of(c), .out = dv, .a = dout, .len = len, .T = T, .C = C, .accumulate = accumulate};
    host_pool_run(t.h->pool, B, sum_rows_task, &t);
}

/* Their mean; zeros for an item without rows. */
static void pool_forward_task(void *arg, int b, int slot)
{
    PointwiseTask *t = arg;
    REAL *out = t->out + (int64_t)b * t->C;
    int n = host_len(t->len, b, t->T);
    sum_rows_task(arg, b, slot);
    for (int i = 0; i < t->C && n; i++)
        out[i] /= (REAL)n;
}

void HOST(pool_forward)(OpsContext *c, void *out, const void *in, const int32_t *len, int B, int T, int C)
{
    PointwiseTask t = {.h = host_of(c), .out = out, .a = in, .len = len, .T = T, .C = C};
    host_pool_run(t.h->pool, B, pool_forward_task, &t);
}

/* Every valid row has the same share. */
static void pool_backward_task(void *arg, int b, int slot)
{
    PointwiseTask *t = arg;
    REAL *out = t->out + (int64_t)b * t->T * t->C;
    const REAL *d = t->a + (int64_t)b * t->C;
    int n = host_len(t->len, b, t->T);
    for (int64_t i = 0; i < (int64_t)n * t->C; i++)
        out[i] = d[i % t->C] / (REAL)n;
    /* Zero in the padding. */
    memset(out + (int64_t)n * t->C, 0, (size_t)(t->T - n) * (size_t)t->C * sizeof *out);
}

void HOST(pool_backward)(OpsContext *c, void *din, const void *dout, const int32_t *len, int B, int T, int C)
{
    PointwiseTask t = {.h = host_of(c), .out = din, .a = dout, .len = len, .T = T, .C = C};
    host_pool_run(t.h->pool, B, pool_backward_task, &t);
}

void HOST(broadcast_forward)(OpsContext *c, void *out, const void *in, int B, int64_t N)
{
    for (int b = 0; b < B; b++)
        memcpy((REAL *)out + b * N, in, (size_t)N * sizeof(REAL));
}

/* The sum over the batch. */
void HOST(broadcast_backward)(OpsContext *c, void *din, const void *dout, int B, int64_t N)
{
    for (int b = 0; b < B; b++)
        VEC(host_of(c))->add(din, din, (const REAL *)dout + b * N, N);
}

/* r frames become one row; rows of a mel are already contiguous, so it is a copy with zeros
 * after the clip. */
static void group_frames_task(void *arg, int b, int slot)
{
    PointwiseTask *t = arg;
    int64_t groups = (t->T + t->r - 1) / t->r, valid = (int64_t)host_len(t->len, b, t->T) * t->C,
            all = groups * t->r * t->C;
    REAL *out = t->out + b * all;
    const float *mel = t->target + (int64_t)b * t->T * t->C;
    for (int64_t i = 0; i < valid; i++)
        out[i] = (REAL)mel[i];
    memset(out + valid, 0, (size_t)(all - valid) * sizeof *out);
}

void HOST(group_frames)(OpsContext *c, void *out, const float *mel, const int32_t *len, int B, int T, int r,
                        int n)
{
    PointwiseTask t = {.h = host_of(c), .out = out, .target = mel, .len = len, .T = T, .C = n, .r = r};
    host_pool_run(t.h->pool, B, group_frames_task, &t);
}

/* Working weights and master weights have one type here. */
void HOST(convert)(OpsContext *c, void *out, const void *in, int64_t n)
{
    if (out != in)
        memcpy(out, in, (size_t)n * sizeof(REAL));
}

void HOST(unconvert)(OpsContext *c, void *out, const void *in, int64_t n) { HOST(convert)(c, out, in, n); }
