/* critic_host.c - what critics see of mels, and what is learned from their scores. Sums are in double, one
 * per row, added in the rows' order. Compiled twice, with -DREAL=float and -DREAL=double: see host_real.h. */
#include <math.h>
#include <string.h>

#include "ops/host/host_real.h"

typedef struct ViewTask {
    REAL *out, *din;
    int32_t *view_len;
    const REAL *in, *dout;
    const float *mel;
    const int32_t *len;
    int T, n;
    CriticView v;
} ViewTask;

/* One window of one item. */
static void view_task(void *arg, int row, int slot)
{
    const ViewTask *t = arg;
    const CriticView v = t->v;
    const int b = row / v.windows, window = row % v.windows, frames = host_len(t->len, b, t->T) / v.pool;
    const int first = CRITIC_VIEW_FIRST(v, t->n, window);
    REAL *out = t->out + (int64_t)row * (t->T / v.pool) * v.channels;
    t->view_len[row] = frames;
    memset(out, 0, (size_t)(t->T / v.pool) * (size_t)v.channels * sizeof *out);
    for (int m = 0; m < frames; m++, out += v.channels) {
        for (int i = 0; i < v.width; i++) {
            REAL sum = 0;
            for (int k = 0; k < v.pool; k++) {
                int64_t at = ((int64_t)b * t->T + m * v.pool + k) * t->n + first + i;
                sum += t->in ? t->in[at] : (REAL)t->mel[at];
            }
            out[i] = sum / (REAL)v.pool;
        }
        if (v.windows > 1)
            out[v.width + window] = 1;
    }
}

void HOST(view_forward)(OpsContext *c, void *out, int32_t *view_len, const void *in, const float *mel,
                        const int32_t *len, int B, int T, int n, CriticView v)
{
    HostOps *h = host_of(c);
    ViewTask t = {.out = out, .view_len = view_len, .in = in, .mel = mel, .len = len, .T = T, .n = n, .v = v};
    host_pool_run(h->pool, B * v.windows, view_task, &t);
}

/* One item: its windows overlap, so they are added one after the other. */
static void view_back_task(void *arg, int b, int slot)
{
    const ViewTask *t = arg;
    const CriticView v = t->v;
    const int frames = host_len(t->len, b, t->T) / v.pool;
    for (int window = 0; window < v.windows; window++) {
        const int first = CRITIC_VIEW_FIRST(v, t->n, window);
        const REAL *dout = t->dout + ((int64_t)b * v.windows + window) * (t->T / v.pool) * v.channels;
        for (int m = 0; m < frames * v.pool; m++)
            for (int i = 0; i < v.width; i++)
                t->din[((int64_t)b * t->T + m) * t->n + first + i] +=
                    dout[(int64_t)(m / v.pool) * v.channels + i] / (REAL)v.pool;
    }
}

void HOST(view_backward)(OpsContext *c, void *din, const void *dout, const int32_t *len, int B, int T, int n,
                         CriticView v)
{
    HostOps *h = host_of(c);
    ViewTask t = {.din = din, .dout = dout, .len = len, .T = T, .n = n, .v = v};
    host_pool_run(h->pool, B, view_back_task, &t);
}

void HOST(critic_loss)(OpsContext *c, void *values, void *dcritic, void *dvoice, const void *score,
                       const int32_t *len, int R, int T, float critic, float voice)
{
    const REAL *real = score, *fake = real + (int64_t)R * T;
    REAL *dreal = dcritic, *dfake = dreal + (int64_t)R * T, *d = dvoice, *value = values;
    double critics = 0, voices = 0;
    for (int r = 0; r < R; r++)
        for (int t = 0; t < T; t++) {
            const int64_t at = (int64_t)r * T + t;
            const int counts = t < host_len(len, r, T);
            const double missing = 1 - (double)real[at], taken = (double)fake[at], left = 1 - taken;
            if (counts) {
                critics += missing * missing + taken * taken;
                voices += left * left;
            }
            dreal[at] = counts ? (REAL)(-2 * (double)critic * missing) : 0;
            dfake[at] = counts ? (REAL)(2 * (double)critic * taken) : 0;
            d[at] = counts ? (REAL)(-2 * (double)voice * left) : 0;
        }
    value[0] += (REAL)((double)critic * critics);
    value[1] += (REAL)((double)voice * voices);
}

typedef struct FeatureTask {
    REAL *din;
    const REAL *in, *target;
    const int32_t *len;
    double *sums; /* [R] */
    int T, C;
    REAL weight;
} FeatureTask;

static void feature_task(void *arg, int r, int slot)
{
    const FeatureTask *t = arg;
    const int64_t first = (int64_t)r * t->T * t->C, count = (int64_t)host_len(t->len, r, t->T) * t->C;
    REAL sum = 0;
    double all = 0;
    for (int64_t i = first; i < first + count; i++) {
        const REAL d = t->in[i] - t->target[i];
        sum += d < 0 ? -d : d;
        t->din[i] += d > 0 ? t->weight : d < 0 ? -t->weight : d;
        if ((i - first) % t->C == t->C - 1) { /* a row at a time: float is exact enough for it */
            all += (double)sum;
            sum = 0;
        }
    }
    t->sums[r] = all;
}

void HOST(feature_loss)(OpsContext *c, void *value, void *din, const void *in, const void *target,
                        const int32_t *len, int R, int T, int C, float weight)
{
    HostOps *h = host_of(c);
    FeatureTask t = {
        .din = din, .in = in, .target = target, .len = len, .sums = loss_sums(h, R), .T = T, .C = C};
    t.weight = (REAL)weight;
    host_pool_run(h->pool, R, feature_task, &t);
    loss_add(value, t.sums, R, (double)weight);
}
