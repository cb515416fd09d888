/* conv_host.c - convolution over time as one product.
 * The valid rows of all items are laid end to end with K / 2 zero rows between them ("the line"):
 * row v of the output then needs rows v - K / 2 .. v + K / 2 of the line, whichever item they belong to, and
 * padding costs nothing. These K rows are next to each other: they are one row of the product, whose rows
 * overlap. A task computes a stretch of the line.
 * Compiled twice, with -DREAL=float and -DREAL=double: see host_real.h. */
#include <string.h>

#include "ops/host/host_real.h"

#define STRETCH_ROWS 192 /* of the line in a task: enough for a product, few enough for the cache */
#define PART_ROWS 64     /* least rows of dout in a task */
#define WINDOW_ROWS 256  /* of an item that meet in a product for dw */

typedef struct ConvTask {
    HostOps *h;
    REAL *out, *dw, *sums;
    const REAL *in, *w, *bias, *dout, *result;
    const REAL *panels; /* of the weights, for columns j0 .. j0 + columns - 1 of what is computed */
    int64_t j0, columns;
    const int32_t *len;
    int B, T, C, N, K;
    int parts;            /* of the rows; dw: rows at once */
    int stretches;        /* of the line */
    int64_t line;         /* rows of the line */
    int64_t rows, across; /* dw: rows and columns of a task */
    Activation act;
    int back; /* the stretch is of din, not of out */
} ConvTask;

/* Rows of the line: every item with the zero rows after it. */
static int64_t conv_line(const int32_t *len, int B, int T, int half)
{
    int64_t n = 0;
    for (int b = 0; b < B; b++)
        n += host_len(len, b, T) + half;
    return n;
}

/* A place on the line; t outside 0 .. n - 1: a zero row. */
typedef struct ConvPlace {
    int b, t, n;
} ConvPlace;

static ConvPlace conv_place(const ConvTask *c, int64_t v)
{
    ConvPlace p = {0, (int)v, host_len(c->len, 0, c->T)};
    if (v < 0)
        return p;
    int64_t left = v;
    for (;;) {
        p.n = host_len(c->len, p.b, c->T);
        if (left < p.n + c->K / 2 || p.b == c->B - 1)
            break;
        left -= p.n + c->K / 2;
        p.b++;
    }
    p.t = (int)left;
    return p;
}

/* To the next row of the line. */
static void conv_step(const ConvTask *c, ConvPlace *p)
{
    p->t++;
    while (p->t >= p->n + c->K / 2 && p->b < c->B - 1) {
        p->b++;
        p->t = 0;
        p->n = host_len(c->len, p->b, c->T);
    }
}

/* Rows v0 .. v1 - 1 of the line of x [B,T,n], zero rows if there is nothing. */
static void conv_gather(const ConvTask *c, REAL *to, const REAL *x, int n, int64_t v0, int64_t v1)
{
    ConvPlace p = conv_place(c, v0);
    for (int64_t v = v0; v < v1; v++, to += n, conv_step(c, &p))
        if (p.t >= 0 && p.t < p.n)
            memcpy(to, x + ((int64_t)p.b * c->T + p.t) * n, (size_t)n * sizeof *to);
        else
            memset(to, 0, (size_t)n * sizeof *to);
}

/* A stretch of out, or of din with the taps in reverse: gathered, multiplied, put in place. */
static void conv_stretch_task(void *arg, int task, int slot)
{
    ConvTask *c = arg;
    const int half = c->K / 2, from = c->back ? c->N : c->C, to = c->back ? c->C : c->N;
    const int64_t v0 = host_begin(c->line, c->stretches, task),
                  v1 = host_begin(c->line, c->stretches, task + 1), rows = v1 - v0;
    REAL *in = host_slot(c->h, slot), *out = in + (rows + 2 * half) * from;
    conv_gather(c, in, c->back ? c->dout : c->in, from, v0 - half, v1 + half);
    multiply(c->h, &(PRODUCT){.c = out,
                              .a = in,
                              .panels = c->panels,
                              .bias = c->bias ? c->bias + c->j0 : NULL,
                              .m = rows,
                              .n = c->columns,
                              .k = (int64_t)c->K * from,
                              .lda = from,
                              .ldc = c->columns,
                              .scale = 1,
                              .relu = c->act == ACT_RELU});
    /* Rows between the items are computed and thrown away. */
    ConvPlace p = conv_place(c, v0);
    for (int64_t v = v0; v < v1; v++, out += c->columns, conv_step(c, &p))
        if (p.t < p.n)
            VEC(c->h)->bias_act(c->out + ((int64_t)p.b * c->T + p.t) * to + c->j0, out, NULL,
                                c->act == ACT_TANH ? ACT_TANH : ACT_NONE, c->columns);
}

/* All stretches. */
static void conv_stretches(ConvTask *c)
{
    const int64_t tap = (int64_t)c->K * c->C, n = c->back ? c->C : c->N;
    const Weights forward = {.b = c->w, .ld = tap, .depth = tap, .taps = 1, .turned = 1},
                  back = {.b = c->w + (c->K - 1) * (int64_t)c->C,
                          .ld = tap,
                          .depth = c->N,
                          .taps = c->K,
                          .tap_step = -c->C};
    const Weights *w = c->back ? &back : &forward;
    const int64_t most = weights_columns(w);
    for (c->j0 = 0; c->j0 < n; c->j0 += most) {
        c->columns = n - c->j0 < most ? n - c->j0 : most;
        c->panels = HOST(weights_pack)(c->h, w, c->j0, c->columns);
        host_pool_run(c->h->pool, c->stretches, conv_stretch_task, c);
    }
}

/* Cuts the line so that a stretch with its input fits into the scratch. */
static void conv_cut(ConvTask *c)
{
    int64_t room =
        (int64_t)(HOST_SLOT_BYTES / sizeof(REAL)) - 2 * (int64_t)(c->K / 2) * (c->C > c->N ? c->C : c->N);
    int64_t most = room / (c->C + c->N) - 16; /* host_begin moves ends by up to 15 */
    ASSERT_CMP(most, >, 0);
    c->line = conv_line(c->len, c->B, c->T, c->K / 2);
    int64_t rows = most < STRETCH_ROWS ? most : STRETCH_ROWS, n = (c->line + rows - 1) / rows;
    c->stretches = n < 2 ? 1 : (int)((n + 1) & ~INT64_C(1));
}

/* The stretches write valid rows alone. */
static void conv_clear_padding(const ConvTask *c, REAL *x, int n)
{
    for (int b = 0; b < c->B; b++) {
        int len = host_len(c->len, b, c->T);
        memset(x + ((int64_t)b * c->T + len) * n, 0, (size_t)(c->T - len) * (size_t)n * sizeof *x);
    }
}

/* The line is gathered again in the backward pass. */
uint64_t HOST(unfolded_bytes)(int64_t rows, int C, int K) { return 0; }

void HOST(conv_forward)(OpsContext *ctx, void *out, void *unfolded, const void *in, const void *w,
                        const void *bias, const int32_t *len, int B, int T, int C, int N, int K,
                        Activation act)
{
    ASSERT(K % 2 == 1);
    ConvTask c = {.h = host_of(ctx), .out = out, .in = in, .w = w, .bias = bias, .len = len, .act = act};
    c.B = B;
    c.T = T;
    c.C = C;
    c.N = N;
    c.K = K;
    conv_clear_padding(&c, out, N);
    conv_cut(&c);
    conv_stretches(&c);
}

/* dout through the activation, zero in the padding; the part's share of dbias. */
static void conv_rows_task(void *arg, int task, int slot)
{
    ConvTask *c = arg;
    REAL *sums = c->sums + (int64_t)task * c->N, *dout = c->out;
    int64_t rows = (int64_t)c->B * c->T, end = host_begin(rows, c->parts, task + 1);
    for (int64_t r = host_begin(rows, c->parts, task); r < end; r++) {
        REAL *d = dout + r * c->N;
        if ((int)(r % c->T) >= host_len(c->len, (int)(r / c->T), c->T)) {
            memset(d, 0, (size_t)c->N * sizeof *d);
            continue;
        }
        VEC(c->h)->act_grad(d, c->result + r * c->N, c->act, c->N);
        VEC(c->h)->add(sums, sums, d, c->N);
    }
}

/* Some rows and columns of dw; items are added in their order. */
static void conv_weights_task(void *arg, int task, int slot)
{
    ConvTask *c = arg;
    const int half = c->K / 2;
    const int64_t tap = (int64_t)c->K * c->C, blocks = (tap + c->across - 1) / c->across,
                  n = task / blocks * c->rows, j = task % blocks * c->across;
    REAL *window = host_slot(c->h, slot), *dw = c->dw + n * tap + j;
    for (int b = 0; b < c->B; b++) {
        const int len = host_len(c->len, b, c->T);
        const int64_t first = (int64_t)b * c->T;
        for (int t = 0, rows; t < len; t += rows) {
            rows = len - t < c->parts ? len - t : c->parts;
            /* Rows t - half .. t + rows + half - 1, zero outside of the item. */
            const int t0 = t - half, t1 = t + rows + half, from = t0 < 0 ? 0 : t0, to = t1 > len ? len : t1;
            memset(window, 0, (size_t)(from - t0) * (size_t)c->C * sizeof *window);
            memcpy(window + (int64_t)(from - t0) * c->C, c->in + (first + from) * c->C,
                   (size_t)(to - from) * (size_t)c->C * sizeof *window);
            memset(window + (int64_t)(to - t0) * c->C, 0, (size_t)(t1 - to) * (size_t)c->C * sizeof *window);
            multiply(c->h, &(PRODUCT){.c = dw,
                                      .add = dw,
                                      .ldc = tap,
                                      .ld_add = tap,
                                      .a = c->dout + (first + t) * c->N + n,
                                      .lda = c->N,
                                      .turn_a = 1,
                                      .b = window + j,
                                      .ldb = c->C,
                                      .m = c->N - n < c->rows ? c->N - n : c->rows,
                                      .n = tap - j < c->across ? tap - j : c->across,
                                      .k = rows,
                                      .scale = 1,
                                      .room = product_room(c->h, slot)});
        }
    }
}

void HOST(conv_backward)(OpsContext *ctx, void *din, void *dw, void *dbias, void *dout, const void *out,
                         const void *in, const void *unfolded, const void *w, const int32_t *len, int B,
                         int T, int C, int N, int K, Activation act)
{
    ASSERT(K % 2 == 1);
    HostOps *h = host_of(ctx);
    ConvTask c = {.h = h, .dw = dw, .in = in, .w = w, .dout = dout, .result = out, .len = len, .back = 1};
    c.B = B;
    c.T = T;
    c.C = C;
    c.N = N;
    c.K = K;
    c.parts = host_parts((int64_t)B * T, PART_ROWS);
    c.out = dout;
    c.act = act;
    if (dbias || act != ACT_NONE) {
        c.sums = sums_begin(h, c.parts, N);
        host_pool_run(h->pool, c.parts, conv_rows_task, &c);
        if (dbias)
            sums_add(h, dbias, c.sums, c.parts, N);
    }
    if (din) {
        c.out = din;
        c.act = ACT_NONE;
        conv_clear_padding(&c, din, C);
        conv_cut(&c);
        conv_stretches(&c);
    }
    if (!dw)
        return;
    const int64_t room = (int64_t)(HOST_SLOT_BYTES / sizeof(REAL)) / C - K;
    ASSERT_CMP(room, >, 0);
    c.parts = room < WINDOW_ROWS ? (int)room : WINDOW_ROWS;
    product_split(h, 1, N, (int64_t)K * C, &c.rows, &c.across);
    const int64_t blocks = ((int64_t)K * C + c.across - 1) / c.across;
    host_pool_run(h->pool, (int)((N + c.rows - 1) / c.rows * blocks), conv_weights_task, &c);
}
