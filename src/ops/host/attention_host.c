/* attention_host.c - attention of one batch item and head per task, over tiles of queries; scores live in the
 * thread's scratch.
 * Compiled twice, with -DREAL=float and -DREAL=double: see host_real.h. */
#include <string.h>

#include "ops/host/host_real.h"

#define TILE_BYTES (192u << 10)         /* of scores: two such tiles stay in the second-level cache */
#define TILE_MOST (HOST_SLOT_BYTES / 4) /* when rows are so long that TILE_BYTES would be few of them */

#define TILE_ROWS 16 /* queries that pay for a product */

typedef struct AttentionTask {
    HostOps *h;
    const AttentionShape *s;
    REAL *o, *lse, *dq, *dk, *dv;
    const REAL *q, *k, *v, *dout, *result;
} AttentionTask;

/* One batch item and head: lengths, and where its rows are. */
typedef struct AttentionPart {
    int b, h, ql, kl, tile;  /* tile: queries at once */
    int64_t q, k, v, o, row; /* offsets of the first element; row: of [B,H,Tq] */
} AttentionPart;

static AttentionPart attention_part(const AttentionShape *s, int b, int h)
{
    AttentionPart p = {
        .b = b, .h = h, .ql = host_len(s->q_len, b, s->tq), .kl = host_len(s->k_len, b, s->tk)};
    /* Heads are next to each other in a row. */
    int64_t head = (int64_t)h * s->head_size;
    p.q = (int64_t)b * s->tq * s->ldq + head;
    p.k = (int64_t)b * s->tk * s->ldk + head;
    p.v = (int64_t)b * s->tk * s->ldv + head;
    p.o = (int64_t)b * s->tq * s->ldo + head;
    p.row = ((int64_t)b * s->heads + h) * s->tq;
    if (p.kl == 0)
        p.ql = 0; /* nothing to look at: every query gives zeros */
    int64_t row = (int64_t)p.kl * (int64_t)sizeof(REAL), tile = row ? TILE_BYTES / row : 0;
    if (tile < TILE_ROWS)
        tile = row ? TILE_MOST / row : 0;
    ASSERT(p.kl == 0 || tile > 0); /* else: more keys than a scratch row holds */
    p.tile = tile > p.ql ? p.ql : (int)tile;
    return p;
}

static void rows_zero(REAL *x, int64_t ld, int from, int to, int n)
{
    for (int i = from; i < to; i++)
        memset(x + i * ld, 0, (size_t)n * sizeof *x);
}

static void attention_forward_task(void *arg, int task, int slot)
{
    AttentionTask *t = arg;
    const AttentionShape *s = t->s;
    HostOps *h = t->h;
    const int D = s->head_size;
    AttentionPart p = attention_part(s, task / s->heads, task % s->heads);
    REAL *score = host_slot(h, slot);
    /* Scores of a tile, their softmax, the weighted values. */
    for (int i0 = 0; i0 < p.ql; i0 += p.tile) {
        int rows = p.ql - i0 < p.tile ? p.ql - i0 : p.tile;
        gemm(0, 1, rows, p.kl, D, (REAL)s->scale, t->q + p.q + i0 * s->ldq, s->ldq, t->k + p.k, s->ldk, 0,
             score, p.kl);
        for (int i = 0; i < rows; i++)
            t->lse[p.row + i0 + i] = VEC(h)->softmax(score + (int64_t)i * p.kl, p.kl);
        gemm(0, 0, rows, D, p.kl, 1, score, p.kl, t->v + p.v, s->ldv, 0, t->o + p.o + i0 * s->ldo, s->ldo);
    }
    /* Padding is zero, whatever was there. */
    rows_zero(t->o + p.o, s->ldo, p.ql, s->tq, D);
    rows_zero(t->lse + p.row, 1, p.ql, s->tq, 1);
}

void HOST(attention_forward)(OpsContext *c, void *o, void *lse, const void *q, const void *k, const void *v,
                             const AttentionShape *s)
{
    AttentionTask t = {.h = host_of(c), .s = s, .o = o, .lse = lse, .q = q, .k = k, .v = v};
    host_pool_run(t.h->pool, s->batch * s->heads, attention_forward_task, &t);
}

/* With P = softmax(scale Q K^T) and dP = dO V^T: dS = scale P (dP - rowsum(P dP)), and
 * rowsum(P dP) = dO . O. */
static void attention_backward_task(void *arg, int task, int slot)
{
    AttentionTask *t = arg;
    const AttentionShape *s = t->s;
    HostOps *h = t->h;
    const int D = s->head_size;
    AttentionPart p = attention_part(s, task / s->heads, task % s->heads);
    /* Two tiles: the weights, made again from the scores and lse, and their gradients. */
    REAL *weight = host_slot(h, slot), *d = weight + TILE_MOST / sizeof(REAL);
    const REAL *q = t->q + p.q, *k = t->k + p.k, *v = t->v + p.v, *dout = t->dout + p.o, *o = t->result + p.o;
    /* Keys and values get their gradients tile by tile. */
    rows_zero(t->dk + p.k, s->ldk, 0, s->tk, D);
    rows_zero(t->dv + p.v, s->ldv, 0, s->tk, D);
    rows_zero(t->dq + p.q, s->ldq, p.ql, s->tq, D);
    for (int i0 = 0; i0 < p.ql; i0 += p.tile) {
        int rows = p.ql - i0 < p.tile ? p.ql - i0 : p.tile;
        const REAL *qi = q + i0 * s->ldq, *di = dout + i0 * s->ldo, *oi = o + i0 * s->ldo;
        gemm(0, 1, rows, p.kl, D, (REAL)s->scale, qi, s->ldq, k, s->ldk, 0, weight, p.kl);
        gemm(0, 1, rows, p.kl, D, 1, di, s->ldo, v, s->ldv, 0, d, p.kl);
        for (int i = 0; i < rows; i++) {
            REAL *wi = weight + (int64_t)i * p.kl, *dp = d + (int64_t)i * p.kl;
            REAL delta = VEC(h)->dot(di + i * s->ldo, oi + i * s->ldo, D);
            VEC(h)->exp_minus(wi, t->lse[p.row + i0 + i], p.kl);
            VEC(h)->softmax_grad(dp, wi, delta, (REAL)s->scale, p.kl);
        }
        gemm(0, 0, rows, D, p.kl, 1, d, p.kl, k, s->ldk, 0, t->dq + p.q + i0 * s->ldq, s->ldq);
        gemm(1, 0, p.kl, D, rows, 1, d, p.kl, qi, s->ldq, 1, t->dk + p.k, s->ldk);
        gemm(1, 0, p.kl, D, rows, 1, weight, p.kl, di, s->ldo, 1, t->dv + p.v, s->ldv);
    }
}

void HOST(attention_backward)(OpsContext *c, void *dq, void *dk, void *dv, const void *dout, const void *o,
                              const void *lse, const void *q, const void *k, const void *v,
                              const AttentionShape *s)
{
    AttentionTask t = {.h = host_of(c),
                       .s = s,
                       .dq = dq,
                       .dk = dk,
                       .dv = dv,
                       .dout = dout,
                       .result = o,
                       .q = q,
                       .k = k,
                       .v = v};
    t.lse = (REAL *)(uintptr_t)lse; /* only read */
    host_pool_run(t.h->pool, s->batch * s->heads, attention_backward_task, &t);
}
