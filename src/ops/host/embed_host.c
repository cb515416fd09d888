/* embed_host.c - table rows plus scaled sinusoidal positions, and the gradients.
 * Compiled twice, with -DREAL=float and -DREAL=double: see host_real.h. */
#include <math.h>
#include <string.h>

#include "ops/host/host_real.h"

#define LONGEST_WAVE 10000.0 /* of the positions, in steps, over 2 pi */
#define PART_POSITIONS 4     /* least in a task */
#define PART_CHANNELS 32

typedef struct EmbedTask {
    HostOps *h;
    REAL *out, *dtable, *din, *sums;
    const int32_t *id, *len;
    const REAL *table, *in, *dout;
    REAL alpha;
    int B, T, C, parts;
    VectorDropout drop;
} EmbedTask;

/* Positions are those of Vaswani et al. 2017: sines in even channels, cosines in odd ones. rate [c1 - c0]:
 * radians per step of channels c0 .. c1 - 1. */
static void position_rates(double *rate, int c0, int c1, int C)
{
    for (int i = c0; i < c1; i++)
        rate[i - c0] = pow(LONGEST_WAVE, -(double)(i - i % 2) / C);
}

/* Channels c0 .. c1 - 1 of position t. */
static void position_fill(REAL *pe, const double *rate, int c0, int c1, int t)
{
    for (int i = c0; i < c1; i++)
        pe[i - c0] = (REAL)(i % 2 ? cos(t * rate[i - c0]) : sin(t * rate[i - c0]));
}

/* A part of the time, so that each position is computed once for all items. */
static void embed_forward_task(void *arg, int task, int slot)
{
    EmbedTask *e = arg;
    const int64_t C = e->C;
    double *rate = host_slot(e->h, slot);
    REAL *pe = (REAL *)(void *)(rate + C); /* the slot is scratch for both types */
    position_rates(rate, 0, e->C, e->C);
    int end = e->T * (task + 1) / e->parts;
    for (int t = e->T * task / e->parts; t < end; t++) {
        position_fill(pe, rate, 0, e->C, t);
        for (int b = 0; b < e->B; b++) {
            int64_t row = ((int64_t)b * e->T + t) * C;
            const REAL *from = e->id ? e->table + e->id[row / C] * C : e->in + row;
            /* A row of the table, or of the input where there are no symbols. */
            VEC(e->h)->add_scaled(e->out + row, from, e->alpha, pe, C);
            if (e->drop.threshold)
                VEC(e->h)->dropout(e->out + row, NULL, e->out + row, e->drop, (uint64_t)row, C);
        }
    }
}

void HOST(embed_forward)(OpsContext *c, void *out, const int32_t *id, const void *table, const void *in,
                         const void *alpha, int B, int T, int C, Dropout drop)
{
    ASSERT_CMP((size_t)C * (sizeof(double) + sizeof(REAL)), <=, HOST_SLOT_BYTES);
    EmbedTask e = {
        .h = host_of(c), .out = out, .id = id, .table = table, .in = in, .alpha = *(const REAL *)alpha};
    e.B = B;
    e.T = T;
    e.C = C;
    e.drop = host_dropout(c, drop, (int64_t)B * T * C);
    e.parts = host_parts(T, PART_POSITIONS);
    host_pool_run(e.h->pool, e.parts, embed_forward_task, &e);
}

/* A part of the channels: rows of the table meet in no other task. */
static void embed_backward_task(void *arg, int task, int slot)
{
    EmbedTask *e = arg;
    const int c0 = (int)host_begin(e->C, e->parts, task), c1 = (int)host_begin(e->C, e->parts, task + 1),
              n = c1 - c0;
    double *rate = host_slot(e->h, slot), dalpha = 0;
    REAL *pe = (REAL *)(void *)(rate + n), *d = pe + n;
    position_rates(rate, c0, c1, e->C);
    for (int t = 0; t < e->T; t++) {
        position_fill(pe, rate, c0, c1, t);
        for (int b = 0; b < e->B; b++) {
            int64_t row = (int64_t)b * e->T + t, at = row * e->C + c0;
            int valid = t < host_len(e->len, b, e->T);
            if (!valid && e->din)
                memset(e->din + at, 0, (size_t)n * sizeof *d);
            if (!valid)
                continue;
            /* The same dropout as forward: it is a function of the element's number. */
            VEC(e->h)->dropout(d, NULL, e->dout + at, e->drop, (uint64_t)at, n);
            dalpha += (double)VEC(e->h)->dot(d, pe, n);
            if (e->din)
                memcpy(e->din + at, d, (size_t)n * sizeof *d);
            if (e->dtable && e->id) {
                REAL *to = e->dtable + (int64_t)e->id[row] * e->C + c0;
                VEC(e->h)->add(to, to, d, n);
            }
        }
    }
    e->sums[task] = (REAL)dalpha;
}

void HOST(embed_backward)(OpsContext *c, void *dtable, void *din, void *dalpha, const void *dout,
                          const int32_t *id, const int32_t *len, int B, int T, int C, int V, Dropout drop)
{
    ASSERT_CMP((size_t)C * (sizeof(double) + 2 * sizeof(REAL)), <=, HOST_SLOT_BYTES);
    EmbedTask e = {
        .h = host_of(c), .dtable = dtable, .din = id ? NULL : din, .dout = dout, .id = id, .len = len};
    e.B = B;
    e.T = T;
    e.C = C;
    e.drop = host_dropout(c, drop, (int64_t)B * T * C);
    e.parts = host_parts(C, PART_CHANNELS);
    e.sums = sums_begin(e.h, e.parts, 1);
    host_pool_run(e.h->pool, e.parts, embed_backward_task, &e);
    if (dalpha)
        sums_add(e.h, dalpha, e.sums, e.parts, 1);
}
