/* attention_host.c - attention of one batch item and head per task, over tiles of queries; scores live in the
 * thread's scratch, beside keys and values in panels (product.h). Forward, a tile has the scores of all keys.
 * Backward, some keys at a time meet all queries.
 * Compiled twice, with -DREAL=float and -DREAL=double: see host_real.h. */
#include <string.h>

#include "ops/host/host_real.h"

#define TILE_BYTES (192u << 10)         /* of scores: they stay in the second-level cache */
#define TILE_MOST (HOST_SLOT_BYTES / 4) /* when rows are so long that TILE_BYTES would be few of them */
#define TILE_ROWS 16                    /* queries that pay for a product */
#define SLOT_NUMBERS ((int64_t)(HOST_SLOT_BYTES / sizeof(REAL)))

/* Backward: queries of a tile and keys that meet, of heads of 64 numbers; fewer of larger ones. */
#define BACK_ROWS 96
#define BACK_KEYS 256
#define APART 16 /* numbers between rows of a tile, which would else lie in the same lines of the cache */

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
    ASSERT(p.kl == 0 || tile > 0);     /* else: more keys than a scratch row holds */
    tile -= tile > 12 ? tile % 12 : 0; /* whole tiles of the product */
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
    const int D = s->head_size, panel = PRODUCTS(h)->panel;
    const int64_t wide = whole_panels(D);
    AttentionPart p = attention_part(s, task / s->heads, task % s->heads);
    /* Keys whose panels are there at once: nearly always all of them, and then they are packed once. */
    const int64_t room = (SLOT_NUMBERS - (int64_t)(TILE_MOST / sizeof(REAL))) / (2 * wide) / PRODUCT_PANEL *
                         PRODUCT_PANEL,
                  keys = p.kl < room ? p.kl : room;
    ASSERT_CMP(room, >, 0);
    REAL *score = host_slot(h, slot), *key = score + TILE_MOST / sizeof(REAL),
         *value = key + whole_panels(keys) * wide;
    for (int i0 = 0; i0 < p.ql; i0 += p.tile) {
        const int rows = p.ql - i0 < p.tile ? p.ql - i0 : p.tile, packs = i0 == 0 || keys < p.kl;
        REAL *o = t->o + p.o + i0 * s->ldo;
        PRODUCT scores = {.a = t->q + p.q + i0 * s->ldq, .panels = key, .m = rows, .k = D, .lda = s->ldq},
                values = {.c = o, .panels = value, .m = rows, .n = D, .lda = p.kl, .ldc = s->ldo};
        scores.ldc = p.kl;
        scores.scale = (REAL)s->scale;
        values.scale = 1;
        values.ld_add = s->ldo;
        /* Scores of a tile, their exponentials, the values weighted with them. */
        for (int64_t k0 = 0; k0 < p.kl; k0 += keys) {
            scores.n = p.kl - k0 < keys ? p.kl - k0 : keys;
            scores.c = score + k0;
            if (packs)
                PRODUCTS(h)->pack(key, (int64_t)D * panel, t->k + p.k + k0 * s->ldk, s->ldk, 1, D, scores.n);
            multiply(h, &scores);
        }
        for (int i = 0; i < rows; i++)
            t->lse[p.row + i0 + i] = VEC(h)->softmax(score + (int64_t)i * p.kl, p.kl);
        for (int64_t k0 = 0; k0 < p.kl; k0 += keys) {
            values.k = p.kl - k0 < keys ? p.kl - k0 : keys;
            values.a = score + k0;
            values.add = k0 ? o : NULL;
            if (packs)
                PRODUCTS(h)->pack(value, values.k * panel, t->v + p.v + k0 * s->ldv, s->ldv, 0, values.k, D);
            multiply(h, &values);
        }
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

/* Scratch of the gradients. */
typedef struct BackRoom {
    REAL *key, *key_turned, *value_turned; /* panels of some keys */
    REAL *query, *dout;                    /* panels of a tile of queries */
    REAL *weight, *d;                      /* [rows][ld] softmax of the tile, and its gradient */
    int64_t rows, keys, ld;
} BackRoom;

static BackRoom back_room(HostOps *h, int slot, int D)
{
    const int64_t wide = whole_panels(D);
    BackRoom r = {.rows = D <= 64 ? BACK_ROWS : BACK_ROWS * 64 / wide / 12 * 12,
                  .keys = D <= 64 ? BACK_KEYS : BACK_KEYS * 64 / wide / PRODUCT_PANEL * PRODUCT_PANEL};
    r.rows = r.rows < 12 ? 12 : r.rows;
    r.keys = r.keys < PRODUCT_PANEL ? PRODUCT_PANEL : r.keys;
    r.ld = r.keys + APART;
    r.key = host_slot(h, slot);
    r.key_turned = r.key + r.keys * wide;
    r.value_turned = r.key_turned + r.keys * wide;
    r.query = r.value_turned + r.keys * wide;
    r.dout = r.query + r.rows * wide;
    r.weight = r.dout + r.rows * wide;
    r.d = r.weight + r.rows * r.ld;
    ASSERT_CMP(3 * r.keys * wide + 2 * r.rows * (wide + r.ld), <=, SLOT_NUMBERS);
    return r;
}

/* Queries i0 .. i0 + rows - 1 and keys k0 .. k0 + keys - 1.
 * With P = softmax(scale Q K^T) and dP = dO V^T: dS = scale P (dP - rowsum(P dP)), and
 * rowsum(P dP) = dO . O. */
static void back_tile(const AttentionTask *t, const AttentionPart *p, const BackRoom *r, int64_t i0,
                      int64_t rows, int64_t k0, int64_t keys)
{
    const AttentionShape *s = t->s;
    HostOps *h = t->h;
    const int D = s->head_size, panel = PRODUCTS(h)->panel;
    const REAL *q = t->q + p->q + i0 * s->ldq, *dout = t->dout + p->o + i0 * s->ldo,
               *o = t->result + p->o + i0 * s->ldo;
    REAL *dq = t->dq + p->q + i0 * s->ldq, *dk = t->dk + p->k + k0 * s->ldk, *dv = t->dv + p->v + k0 * s->ldv;
    PRODUCT scores = {.c = r->weight, .a = q, .panels = r->key_turned, .m = rows, .n = keys, .k = D};
    scores.lda = s->ldq;
    scores.ldc = r->ld;
    scores.scale = (REAL)s->scale;
    multiply(h, &scores);
    scores.c = r->d;
    scores.a = dout;
    scores.panels = r->value_turned;
    scores.lda = s->ldo;
    scores.scale = 1;
    multiply(h, &scores);
    for (int64_t i = 0; i < rows; i++) {
        REAL *weight = r->weight + i * r->ld, *d = r->d + i * r->ld;
        REAL delta = VEC(h)->dot(dout + i * s->ldo, o + i * s->ldo, D);
        VEC(h)->exp_minus(weight, t->lse[p->row + i0 + i], keys);
        VEC(h)->softmax_grad(d, weight, delta, (REAL)s->scale, keys);
    }
    PRODUCT back = {.c = dq, .a = r->d, .panels = r->key, .m = rows, .n = D, .k = keys, .lda = r->ld};
    back.ldc = back.ld_add = s->ldq;
    back.add = k0 ? dq : NULL;
    back.scale = 1;
    multiply(h, &back);
    /* Sums over queries. */
    PRODUCTS(h)->pack(r->query, rows * panel, q, s->ldq, 0, rows, D);
    PRODUCTS(h)->pack(r->dout, rows * panel, dout, s->ldo, 0, rows, D);
    back = (PRODUCT){.c = dk, .a = r->d, .turn_a = 1, .panels = r->query, .m = keys, .n = D, .k = rows};
    back.lda = r->ld;
    back.ldc = back.ld_add = s->ldk;
    back.add = i0 ? dk : NULL;
    back.scale = 1;
    multiply(h, &back);
    back.c = dv;
    back.a = r->weight;
    back.panels = r->dout;
    back.ldc = back.ld_add = s->ldv;
    back.add = i0 ? dv : NULL;
    multiply(h, &back);
}

static void attention_backward_task(void *arg, int task, int slot)
{
    const AttentionTask *t = arg;
    const AttentionShape *s = t->s;
    HostOps *h = t->h;
    const int D = s->head_size, panel = PRODUCTS(h)->panel;
    const AttentionPart p = attention_part(s, task / s->heads, task % s->heads);
    const BackRoom r = back_room(h, slot, D);
    for (int64_t k0 = 0, keys; k0 < p.kl && p.ql; k0 += keys) {
        keys = p.kl - k0 < r.keys ? p.kl - k0 : r.keys;
        const REAL *k = t->k + p.k + k0 * s->ldk, *v = t->v + p.v + k0 * s->ldv;
        PRODUCTS(h)->pack(r.key, keys * panel, k, s->ldk, 0, keys, D);
        PRODUCTS(h)->pack(r.key_turned, (int64_t)D * panel, k, s->ldk, 1, D, keys);
        PRODUCTS(h)->pack(r.value_turned, (int64_t)D * panel, v, s->ldv, 1, D, keys);
        for (int64_t i0 = 0, rows; i0 < p.ql; i0 += rows) {
            rows = p.ql - i0 < r.rows ? p.ql - i0 : r.rows;
            back_tile(t, &p, &r, i0, rows, k0, keys);
        }
    }
    rows_zero(t->dq + p.q, s->ldq, p.ql, s->tq, D);
    rows_zero(t->dk + p.k, s->ldk, p.ql ? p.kl : 0, s->tk, D);
    rows_zero(t->dv + p.v, s->ldv, p.ql ? p.kl : 0, s->tk, D);
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
