/* symbols_host.c - what passes between symbols and their frames: repeating symbols, means over frames, pitch
 * and energy as vectors, and the losses of alignment and traits. One batch item per task.
 * Compiled twice, with -DREAL=float and -DREAL=double: see host_real.h. */
#include <math.h>
#include <string.h>

#include "ops/host/host_real.h"

typedef struct SymbolsTask {
    HostOps *h;
    const Durations *d;
    REAL *out;
    const REAL *in, *mu;
    float *means;
    const float *values, *mel;
    double *sums; /* [B] */
    const int32_t *text_len;
    int T, M, C;
    REAL weight;
} SymbolsTask;

/* Frames without a symbol, past the end of the clip, are zero. */
static void repeat_forward_task(void *arg, int b, int slot)
{
    const SymbolsTask *a = arg;
    const size_t row = (size_t)a->C * sizeof(REAL);
    for (int m = 0; m < a->M; m++) {
        int t = a->d->symbol[(int64_t)b * a->M + m];
        REAL *to = a->out + ((int64_t)b * a->M + m) * a->C;
        if (t >= 0)
            memcpy(to, a->in + ((int64_t)b * a->T + t) * a->C, row);
        else
            memset(to, 0, row);
    }
}

void HOST(repeat_forward)(OpsContext *c, void *out, const void *in, const Durations *d, int B, int T, int M,
                          int C)
{
    SymbolsTask a = {.h = host_of(c), .out = out, .in = in, .d = d, .T = T, .M = M, .C = C};
    host_pool_run(a.h->pool, B, repeat_forward_task, &a);
}

/* The last frame of symbol t, plus one; frames past M were cut off. */
static int symbol_end(const SymbolsTask *a, int b, int t)
{
    int64_t i = (int64_t)b * a->T + t;
    int end = a->d->start[i] + a->d->frames[i];
    return end < a->M ? end : a->M;
}

/* A symbol's gradient is the sum over its frames. */
static void repeat_backward_task(void *arg, int b, int slot)
{
    const SymbolsTask *a = arg;
    memset(a->out + (int64_t)b * a->T * a->C, 0, (size_t)a->T * (size_t)a->C * sizeof(REAL));
    for (int m = 0; m < a->M; m++) {
        int t = a->d->symbol[(int64_t)b * a->M + m];
        REAL *to = a->out + ((int64_t)b * a->T + t) * a->C;
        if (t >= 0)
            VEC(a->h)->add(to, to, a->in + ((int64_t)b * a->M + m) * a->C, a->C);
    }
}

void HOST(repeat_backward)(OpsContext *c, void *din, const void *dout, const Durations *d, int B, int T,
                           int M, int C)
{
    SymbolsTask a = {.h = host_of(c), .out = din, .in = dout, .d = d, .T = T, .M = M, .C = C};
    host_pool_run(a.h->pool, B, repeat_backward_task, &a);
}

/* Symbols without a frame have 0. */
static void symbol_means_task(void *arg, int b, int slot)
{
    const SymbolsTask *a = arg;
    for (int t = 0; t < a->T; t++) {
        int64_t i = (int64_t)b * a->T + t;
        int from = a->d->start[i], end = symbol_end(a, b, t);
        float sum = 0;
        for (int m = from; m < end; m++)
            sum += a->values[(int64_t)b * a->M + m];
        a->means[i] = end > from ? sum / (float)(end - from) : 0;
    }
}

void HOST(symbol_means)(OpsContext *c, float *out, const float *in, const Durations *d, int B, int T, int M)
{
    SymbolsTask a = {.h = host_of(c), .means = out, .values = in, .d = d, .T = T, .M = M};
    host_pool_run(a.h->pool, B, symbol_means_task, &a);
}

/* Pitch and energy, each multiplied by its own vector. */
void HOST(add_traits_forward)(OpsContext *c, void *out, const void *in, const float *pitch,
                              const float *energy, const void *w_pitch, const void *w_energy, int64_t rows,
                              int C)
{
    HostOps *h = host_of(c);
    for (int64_t r = 0; r < rows; r++) {
        REAL *to = (REAL *)out + r * C;
        VEC(h)->add_scaled(to, (const REAL *)in + r * C, (REAL)pitch[r], w_pitch, C);
        VEC(h)->add_scaled(to, to, (REAL)energy[r], w_energy, C);
    }
}

void HOST(add_traits_backward)(OpsContext *c, void *dw_pitch, void *dw_energy, const void *dout,
                               const float *pitch, const float *energy, const int32_t *len, int B, int T,
                               int C)
{
    HostOps *h = host_of(c);
    for (int b = 0; b < B; b++)
        for (int64_t r = (int64_t)b * T, end = r + host_len(len, b, T); r < end; r++) {
            const REAL *d = (const REAL *)dout + r * C;
            VEC(h)->add_scaled(dw_pitch, dw_pitch, (REAL)pitch[r], d, C);
            VEC(h)->add_scaled(dw_energy, dw_energy, (REAL)energy[r], d, C);
        }
}

/* --- losses --- */

/* Squared distance of every frame from what its symbol expects. */
static void align_loss_task(void *arg, int b, int slot)
{
    const SymbolsTask *a = arg;
    const int n = a->C, text = host_len(a->text_len, b, a->T);
    double sum = 0;
    if (a->out)
        memset(a->out + (int64_t)b * a->T * n, 0, (size_t)a->T * (size_t)n * sizeof(REAL));
    for (int t = 0; t < text; t++) {
        int64_t row = (int64_t)b * a->T + t;
        const REAL *mu = a->mu + row * n;
        for (int m = a->d->start[row], end = symbol_end(a, b, t); m < end; m++) {
            const float *mel = a->mel + ((int64_t)b * a->M + m) * n;
            REAL frame = 0;
            for (int k = 0; k < n; k++) {
                REAL d = mu[k] - (REAL)mel[k];
                /* The gradient adds up over the symbol's frames. */
                frame += d * d;
                if (a->out)
                    a->out[row * n + k] += 2 * a->weight * d;
            }
            sum += (double)frame;
        }
    }
    a->sums[b] = sum;
}

void HOST(align_loss)(OpsContext *c, void *value, void *dmu, const void *mu, const float *mel,
                      const Durations *d, const int32_t *text_len, int B, int T, int M, int n, float weight)
{
    HostOps *h = host_of(c);
    SymbolsTask a = {.h = h,
                     .out = dmu,
                     .mu = mu,
                     .mel = mel,
                     .d = d,
                     .text_len = text_len,
                     .sums = loss_sums(h, B),
                     .T = T,
                     .M = M,
                     .C = n,
                     .weight = weight};
    host_pool_run(h->pool, B, align_loss_task, &a);
    loss_add(value, a.sums, B, (double)weight);
}

void HOST(traits_loss)(OpsContext *c, void *values, void *dpred, const void *pred, const int32_t *frames,
                       const float *pitch, const float *energy, const int32_t *len, int B, int T,
                       const float weight[TRAIT_COUNT])
{
    double sum[TRAIT_COUNT] = {0};
    for (int b = 0; b < B; b++)
        for (int t = 0; t < T; t++) {
            int64_t row = (int64_t)b * T + t;
            const REAL *p = (const REAL *)pred + row * TRAIT_COUNT;
            /* Without a gradient only the loss is wanted. */
            REAL *g = dpred ? (REAL *)dpred + row * TRAIT_COUNT : NULL;
            /* Padding and symbols without a frame have a duration of 1, which keeps the logarithm finite. */
            int counts = t < host_len(len, b, T);
            double d = counts && frames[row] > 0 ? frames[row] : 1, l = (double)p[TRAIT_DURATION], e = exp(l);
            double dp = (double)p[TRAIT_PITCH] - (double)pitch[row],
                   de = (double)p[TRAIT_ENERGY] - (double)energy[row];
            if (counts) {
                /* Duration: the Poisson deviance over 2, of a rate e = exp(l) where d frames were counted. */
                sum[TRAIT_DURATION] += e - d + d * (log(d) - l);
                sum[TRAIT_PITCH] += dp * dp;
                sum[TRAIT_ENERGY] += de * de;
            }
            if (!g)
                continue;
            g[TRAIT_DURATION] = counts ? (REAL)((double)weight[TRAIT_DURATION] * (e - d)) : 0;
            g[TRAIT_PITCH] = counts ? (REAL)((double)weight[TRAIT_PITCH] * 2 * dp) : 0;
            g[TRAIT_ENERGY] = counts ? (REAL)((double)weight[TRAIT_ENERGY] * 2 * de) : 0;
        }
    for (int i = 0; i < TRAIT_COUNT; i++)
        ((REAL *)values)[i] += (REAL)((double)weight[i] * sum[i]);
}
