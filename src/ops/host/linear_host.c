/* linear_host.c - out = act(in w^T + bias) and its gradients.
 * Compiled twice, with -DREAL=float and -DREAL=double: see host_real.h. */
#include <string.h>

#include "ops/host/host_real.h"

#define LINEAR_ROWS 96 /* fewer rows per task leave the product's packing unpaid */
#define LINEAR_COLUMNS 64
#define LINEAR_SMALL 5e5 /* products below which a task costs more than it gains */

typedef struct LinearTask {
    HostOps *h;
    REAL *out, *din, *dw, *dout, *sums; /* sums: partial dbias, NULL when not wanted */
    const REAL *in, *w, *bias, *result, *add;
    int64_t M;
    int N, K, parts, columns; /* parts of the rows; parts of the columns (forward), of dw (backward) */
    Activation act;
    int accumulate;
} LinearTask;

/* A block of out: some rows, some columns. */
static void linear_forward_task(void *arg, int task, int slot)
{
    LinearTask *t = arg;
    int row = task / t->columns, column = task % t->columns;
    int64_t i0 = host_begin(t->M, t->parts, row), i1 = host_begin(t->M, t->parts, row + 1);
    int64_t j0 = host_begin(t->N, t->columns, column), j1 = host_begin(t->N, t->columns, column + 1);
    REAL *out = t->out + i0 * t->N + j0;
    for (int64_t i = i0; i < i1 && t->add && t->add != t->out; i++)
        memcpy(t->out + i * t->N + j0, t->add + i * t->N + j0, (size_t)(j1 - j0) * sizeof *out);
    gemm(0, 1, i1 - i0, j1 - j0, t->K, 1, t->in + i0 * t->K, t->K, t->w + j0 * t->K, t->K, t->accumulate, out,
         t->N);
    /* While the block is in the cache. */
    if (t->bias || t->act != ACT_NONE)
        for (int64_t i = i0; i < i1; i++, out += t->N)
            VEC(t->h)->bias_act(out, out, t->bias ? t->bias + j0 : NULL, t->act, j1 - j0);
}

static void forward(OpsContext *c, LinearTask *t)
{
    t->h = host_of(c);
    /* Rows are divided first; columns too where there are few rows. */
    int large = (double)t->M * t->N * t->K > LINEAR_SMALL;
    t->parts = large ? host_parts(t->M, LINEAR_ROWS) : 1;
    t->columns = large && t->parts < 4 ? host_parts(t->N, LINEAR_COLUMNS) : 1;
    host_pool_run(t->h->pool, t->parts * t->columns, linear_forward_task, t);
}

void HOST(linear_forward)(OpsContext *c, void *out, const void *in, const void *w, const void *bias,
                          int64_t M, int N, int K, Activation act, int accumulate)
{
    ASSERT(!accumulate || act == ACT_NONE);
    LinearTask t = {.out = out, .in = in, .w = w, .bias = bias, .M = M, .N = N, .K = K};
    t.act = act;
    t.accumulate = accumulate != 0;
    forward(c, &t);
}

void HOST(linear_add)(OpsContext *c, void *out, const void *add, const void *in, const void *w,
                      const void *bias, int64_t M, int N, int K)
{
    LinearTask t = {.out = out, .add = add, .in = in, .w = w, .bias = bias, .M = M, .N = N, .K = K};
    t.act = ACT_NONE;
    t.accumulate = 1;
    forward(c, &t);
}

/* One part of the rows: the gradient through the activation, the part's share of dbias, din. */
static void linear_rows_task(void *arg, int task, int slot)
{
    LinearTask *t = arg;
    int64_t i0 = host_begin(t->M, t->parts, task), i1 = host_begin(t->M, t->parts, task + 1);
    REAL *sums = t->sums ? t->sums + (int64_t)task * t->N : NULL;
    for (int64_t i = i0; i < i1 && (sums || t->act != ACT_NONE); i++) {
        REAL *d = t->dout + i * t->N;
        if (t->act != ACT_NONE)
            VEC(t->h)->act_grad(d, t->result + i * t->N, t->act, t->N);
        if (sums)
            VEC(t->h)->add(sums, sums, d, t->N);
    }
    if (t->din)
        gemm(0, 0, i1 - i0, t->K, t->N, 1, t->dout + i0 * t->N, t->N, t->w, t->K, t->accumulate,
             t->din + i0 * t->K, t->K);
}

/* One part of dw: of its rows when N is the larger dimension, else of its columns. The sum over M stays
 * whole. */
static void linear_weights_task(void *arg, int task, int slot)
{
    LinearTask *t = arg;
    int rows = t->N >= t->K;
    int64_t j0 = host_begin(rows ? t->N : t->K, t->columns, task),
            j1 = host_begin(rows ? t->N : t->K, t->columns, task + 1);
    if (rows)
        gemm(1, 0, j1 - j0, t->K, t->M, 1, t->dout + j0, t->N, t->in, t->K, 1, t->dw + j0 * t->K, t->K);
    else
        gemm(1, 0, t->N, j1 - j0, t->M, 1, t->dout, t->N, t->in + j0, t->K, 1, t->dw + j0, t->K);
}

void HOST(linear_backward)(OpsContext *c, void *din, void *dw, void *dbias, void *dout, const void *out,
                           const void *in, const void *w, int64_t M, int N, int K, Activation act,
                           int accumulate)
{
    HostOps *h = host_of(c);
    LinearTask t = {.h = h, .din = din, .dw = dw, .dout = dout, .result = out, .in = in, .w = w};
    t.M = M;
    t.N = N;
    t.K = K;
    t.act = act;
    t.accumulate = accumulate != 0;
    int large = (double)M * N * K > LINEAR_SMALL;
    t.parts = large ? host_parts(M, LINEAR_ROWS) : 1;
    if (dbias)
        t.sums = sums_begin(h, t.parts, N);
    /* First the rows, which change dout through the activation; then the weights, which read it. */
    if (din || dbias || act != ACT_NONE)
        host_pool_run(h->pool, t.parts, linear_rows_task, &t);
    if (dbias)
        sums_add(h, dbias, t.sums, t.parts, N);
    if (!dw)
        return;
    t.columns = large ? host_parts(N >= K ? N : K, LINEAR_ROWS) : 1;
    host_pool_run(h->pool, t.columns, linear_weights_task, &t);
}

void HOST(linear_weights)(OpsContext *c, const Linears *l, int64_t M, int N, int K)
{
    for (int i = 0; i < l->count; i++)
        HOST(linear_backward)
    (c, NULL, (REAL *)l->dw + i * l->param_step, (REAL *)l->dbias + i * l->param_step,
     /* without an activation it is only read */
     (REAL *)(uintptr_t)l->dout + i * l->dout_step, NULL, (const REAL *)l->in + i * l->in_step, NULL, M, N, K,
     ACT_NONE, 0);
}
