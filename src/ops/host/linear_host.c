/* linear_host.c - out = act(in w^T + bias) and its gradients.
 * Compiled twice, with -DREAL=float and -DREAL=double: see host_real.h. */
#include <string.h>

#include "ops/host/host_real.h"

#define LINEAR_ROWS 192     /* of a task: they stay in the cache while they meet all weights */
#define LINEAR_FEW 48       /* least rows of a task */
#define LINEAR_COLUMNS 64   /* least columns of a task */
#define LINEAR_SMALL 5e5    /* products below which a task costs more than it gains */
#define LINEAR_CHUNK 96     /* rows that are in the cache from their activation to their product */
#define LINEAR_PART_ROWS 96 /* least rows that have a sum of their own */

typedef struct LinearTask {
    HostOps *h;
    PRODUCT p;              /* of all rows and the columns j0 .. j0 + p.n - 1 */
    REAL *dw, *dout, *sums; /* sums: partial dbias, NULL when not wanted */
    const REAL *in, *result;
    int64_t M;
    int64_t rows, columns;   /* of a task */
    int N, K, parts, across; /* across: tasks side by side */
    Activation act;
} LinearTask;

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* A block of out: some rows, some columns. */
static void linear_forward_task(void *arg, int task, int slot)
{
    const LinearTask *t = arg;
    const int64_t i = task / t->across * t->rows, j = task % t->across * t->columns;
    PRODUCT p = t->p;
    p.m = least(p.m - i, t->rows);
    p.n = least(p.n - j, t->columns);
    p.a += i * p.lda;
    p.c += i * p.ldc + j;
    p.add = p.add ? p.add + i * p.ld_add + j : NULL;
    p.bias = p.bias ? p.bias + j : NULL;
    p.panels += j * p.k;
    multiply(t->h, &p);
    for (int64_t r = 0; r < p.m && t->act == ACT_TANH; r++)
        VEC(t->h)->bias_act(p.c + r * p.ldc, p.c + r * p.ldc, NULL, ACT_TANH, p.n);
}

/* out [M,N] = act(in w^T + bias) + add. */
static void forward(OpsContext *c, REAL *out, const REAL *add, const REAL *in, const REAL *w,
                    const REAL *bias, int64_t M, int N, int K, Activation act)
{
    LinearTask t = {.h = host_of(c), .act = act, .across = 1, .rows = M};
    const Weights weights = {.b = w, .ld = K, .depth = K, .taps = 1, .turned = 1};
    const int64_t most = weights_columns(&weights);
    const int large = (double)M * N * K > LINEAR_SMALL;
    if (large)
        t.rows = M > 8 * LINEAR_ROWS ? LINEAR_ROWS : M > 8 * LINEAR_FEW ? (M / 8 + 11) / 12 * 12 : LINEAR_FEW;
    for (int64_t j = 0; j < N; j += most) {
        t.p = (PRODUCT){.c = out + j, .a = in, .m = M, .n = least(N - j, most), .k = K, .lda = K, .ldc = N};
        t.p.scale = 1;
        t.p.panels = HOST(weights_pack)(t.h, &weights, j, t.p.n);
        t.p.add = add ? add + j : NULL;
        t.p.ld_add = N;
        t.p.bias = bias ? bias + j : NULL;
        t.p.relu = act == ACT_RELU;
        /* Rows are divided first; columns too where there are few rows. */
        const int64_t down = t.rows ? (M + t.rows - 1) / t.rows : 0;
        t.columns = whole_panels(large && down < 4 ? (t.p.n + 3) / 4 : t.p.n);
        if (t.columns < LINEAR_COLUMNS)
            t.columns = LINEAR_COLUMNS;
        t.across = (int)((t.p.n + t.columns - 1) / t.columns);
        host_pool_run(t.h->pool, (int)down * t.across, linear_forward_task, &t);
    }
}

void HOST(linear_forward)(OpsContext *c, void *out, const void *in, const void *w, const void *bias,
                          int64_t M, int N, int K, Activation act, int accumulate)
{
    ASSERT(!accumulate || act == ACT_NONE);
    forward(c, out, accumulate ? out : NULL, in, w, bias, M, N, K, act);
}

void HOST(linear_add)(OpsContext *c, void *out, const void *add, const void *in, const void *w,
                      const void *bias, int64_t M, int N, int K)
{
    forward(c, out, add, in, w, bias, M, N, K, ACT_NONE);
}

/* One part of the rows: the gradient through the activation, the part's share of dbias, din. */
static void linear_rows_task(void *arg, int task, int slot)
{
    LinearTask *t = arg;
    const int64_t end = host_begin(t->M, t->parts, task + 1);
    REAL *sums = t->sums ? t->sums + (int64_t)task * t->N : NULL;
    for (int64_t i0 = host_begin(t->M, t->parts, task), i1; i0 < end; i0 = i1) {
        i1 = least(end, i0 + LINEAR_CHUNK);
        for (int64_t i = i0; i < i1 && (sums || t->act != ACT_NONE); i++) {
            REAL *d = t->dout + i * t->N;
            if (t->act != ACT_NONE)
                VEC(t->h)->act_grad(d, t->result + i * t->N, t->act, t->N);
            if (sums)
                VEC(t->h)->add(sums, sums, d, t->N);
        }
        PRODUCT p = t->p;
        p.m = i1 - i0;
        p.a += i0 * p.lda;
        p.c += i0 * p.ldc;
        p.add = p.add ? p.add + i0 * p.ld_add : NULL;
        if (p.n)
            multiply(t->h, &p);
    }
}

/* A block of dw. The sum over M stays whole. */
static void linear_weights_task(void *arg, int task, int slot)
{
    const LinearTask *t = arg;
    const int64_t i = task / t->across * t->rows, j = task % t->across * t->columns;
    REAL *dw = t->dw + i * t->K + j;
    multiply(t->h, &(PRODUCT){.c = dw,
                              .add = dw,
                              .ldc = t->K,
                              .ld_add = t->K,
                              .a = t->dout + i,
                              .lda = t->N,
                              .turn_a = 1,
                              .b = t->in + j,
                              .ldb = t->K,
                              .m = least(t->N - i, t->rows),
                              .n = least(t->K - j, t->columns),
                              .k = t->M,
                              .scale = 1,
                              .room = product_room(t->h, slot)});
}

void HOST(linear_backward)(OpsContext *c, void *din, void *dw, void *dbias, void *dout, const void *out,
                           const void *in, const void *w, int64_t M, int N, int K, Activation act,
                           int accumulate)
{
    HostOps *h = host_of(c);
    LinearTask t = {.h = h, .dw = dw, .dout = dout, .result = out, .in = in, .M = M, .N = N, .K = K};
    const int large = (double)M * N * K > LINEAR_SMALL;
    const Weights weights = {.b = w, .ld = K, .depth = N, .taps = 1};
    const int64_t most = weights_columns(&weights);
    t.act = act;
    t.parts = large ? host_parts(M, LINEAR_PART_ROWS) : 1;
    if (dbias)
        t.sums = sums_begin(h, t.parts, N);
    /* First the rows, which change dout through the activation; then the weights, which read it. */
    for (int64_t j = 0; j < K && din; j += most) {
        t.p = (PRODUCT){.c = (REAL *)din + j, .a = dout, .lda = N, .ldc = K, .ld_add = K, .k = N, .scale = 1};
        t.p.n = least(K - j, most);
        t.p.panels = HOST(weights_pack)(h, &weights, j, t.p.n);
        t.p.add = accumulate ? t.p.c : NULL;
        host_pool_run(h->pool, t.parts, linear_rows_task, &t);
        t.act = ACT_NONE;
        if (dbias)
            sums_add(h, dbias, t.sums, t.parts, N);
        dbias = NULL;
        t.sums = NULL;
    }
    if (!din && (dbias || act != ACT_NONE)) {
        host_pool_run(h->pool, t.parts, linear_rows_task, &t);
        if (dbias)
            sums_add(h, dbias, t.sums, t.parts, N);
    }
    if (!dw)
        return;
    product_split(h, large, N, K, &t.rows, &t.columns);
    t.across = (int)((K + t.columns - 1) / t.columns);
    host_pool_run(h->pool, (int)((N + t.rows - 1) / t.rows) * t.across, linear_weights_task, &t);
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
