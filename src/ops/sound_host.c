/* sound_host.c - from spectra to sound and back: the inverse transform of a network's spectrum, and the loss
 * between the bands of two signals.
 * Compiled twice, with -DREAL=float and -DREAL=double: see host_real.h. */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "ops/host_real.h"

#define MOST_POINTS 4096
#define TINY 1e-12 /* a magnitude below it has no direction */

typedef struct Point {
    REAL re, im;
} Point;

typedef struct FramesTask {
    HostOps *h;
    REAL *out;
    float *spread;
    const float *in;
    const int32_t *len;
    const SoundBands *bands;
    int T, n;
    float shift, scale;
} FramesTask;

static void scale_task(void *arg, int b, int slot)
{
    const FramesTask *t = arg;
    const int64_t all = (int64_t)t->T * t->n, valid = (int64_t)host_len(t->len, b, t->T) * t->n;
    REAL *out = t->out + b * all;
    for (int64_t i = 0; i < valid; i++)
        out[i] = ((REAL)t->in[b * all + i] + (REAL)t->shift) * (REAL)t->scale;
    memset(out + valid, 0, (size_t)(all - valid) * sizeof *out);
}

void HOST(scale_frames)(OpsContext *c, void *out, const float *in, const int32_t *len, int B, int T, int n,
                        float shift, float scale)
{
    FramesTask t = {.h = host_of(c), .out = out, .in = in, .len = len, .T = T, .n = n, .shift = shift};
    t.scale = scale;
    host_pool_run(t.h->pool, B, scale_task, &t);
}

/* One row. */
static void spread_task(void *arg, int row, int slot)
{
    const FramesTask *t = arg;
    const SoundBands *bands = t->bands;
    const float *in = t->in + (int64_t)row * t->n;
    float *power = host_slot(t->h, slot), *out = t->spread + (int64_t)row * bands->count;
    for (int i = 0; i < t->n; i++)
        power[i] = expf(in[i]);
    for (int k = 0; k < bands->count; k++) {
        const float *weight = bands->weights + bands->at[k];
        float sum = 0;
        for (int i = 0; i < bands->width[k]; i++)
            sum += weight[i] * power[bands->first[k] + i];
        out[k] = t->shift + logf(sum > bands->floor ? sum : bands->floor);
    }
}

void HOST(log_spread)(OpsContext *c, float *out, const float *in, const SoundBands *bands, int64_t rows,
                      int n, float shift)
{
    ASSERT_CMP((size_t)n * sizeof(float), <=, HOST_SLOT_BYTES);
    ASSERT_CMP(rows, <=, INT_MAX);
    FramesTask t = {.h = host_of(c), .spread = out, .in = in, .bands = bands, .n = n, .shift = shift};
    host_pool_run(t.h->pool, (int)rows, spread_task, &t);
}

void HOST(sound_tables)(OpsContext *c, void *tables, int n)
{
    REAL *turn = tables, *window = turn + n;
    ASSERT(n >= 4 && n <= MOST_POINTS && (n & (n - 1)) == 0);
    for (int k = 0; k < n / 2; k++) {
        turn[2 * k] = (REAL)cos(2 * M_PI * k / n);
        turn[2 * k + 1] = (REAL)-sin(2 * M_PI * k / n);
    }
    for (int k = 0; k < n; k++)
        window[k] = (REAL)(0.5 - 0.5 * cos(2 * M_PI * k / n));
}

/* Transforms z [n], with other [n] as scratch (Stockham's order, radix 2), and returns which of the two holds
 * the result. sign 1: exp(-i ...), -1: exp(+i ...). Not scaled. */
static Point *transform(Point *z, Point *other, const REAL *turn, int n, int sign)
{
    for (int half = n / 2, stride = 1; half >= 1; half /= 2, stride *= 2) {
        for (int p = 0; p < half; p++) {
            REAL wr = turn[2 * p * stride], wi = (REAL)sign * turn[2 * p * stride + 1];
            for (int q = 0; q < stride; q++) {
                Point a = z[q + stride * p], b = z[q + stride * (p + half)];
                Point d = {a.re - b.re, a.im - b.im};
                other[q + stride * 2 * p] = (Point){a.re + b.re, a.im + b.im};
                other[q + stride * (2 * p + 1)] = (Point){d.re * wr - d.im * wi, d.re * wi + d.im * wr};
            }
        }
        Point *swap = z;
        z = other;
        other = swap;
    }
    return z;
}

/* Sum of the squared windows at a sample. */
static REAL overlap(const REAL *window, int n, int hop, int T, int64_t sample)
{
    REAL sum = 0;
    int64_t first = sample - n / 2 + 1;
    for (int64_t t = first <= 0 ? 0 : (first + hop - 1) / hop; t < T && t * hop <= sample + n / 2; t++) {
        int64_t k = sample + n / 2 - t * hop;
        if (k >= 0 && k < n)
            sum += window[k] * window[k];
    }
    return sum;
}

typedef struct WaveTask {
    HostOps *h;
    REAL *wave, *dspectrum;
    const REAL *dwave, *spectrum;
    const float *prior;
    const REAL *turn, *window;
    int n, hop, T, ld;
} WaveTask;

/* Bin f of a row: its magnitude. *loud: 1 where that is at the limit. */
static REAL magnitude(const WaveTask *w, const REAL *row, const float *prior, int f, int *loud)
{
    REAL m = (REAL)exp((double)row[f] + (double)prior[f]);
    *loud = !(m < SOUND_LOUDEST);
    return *loud ? SOUND_LOUDEST : m;
}

static void wave_task(void *arg, int b, int slot)
{
    WaveTask *w = arg;
    const int n = w->n, F = n / 2 + 1;
    const int64_t samples = (int64_t)(w->T - 1) * w->hop;
    Point *z = host_slot(w->h, slot), *other = z + n;
    REAL *wave = w->wave + b * samples;
    memset(wave, 0, (size_t)samples * sizeof *wave);
    for (int t = 0; t < w->T; t++) {
        const REAL *row = w->spectrum + ((int64_t)b * w->T + t) * w->ld;
        const float *prior = w->prior + ((int64_t)b * w->T + t) * F;
        memset(z, 0, (size_t)n * sizeof *z);
        for (int f = 0; f < F; f++) {
            int loud, edge = f == 0 || f == n / 2;
            REAL m = magnitude(w, row, prior, f, &loud) * (REAL)(edge ? 1 : 2);
            z[f] = (Point){m * (REAL)cos((double)row[F + f]), edge ? 0 : m * (REAL)sin((double)row[F + f])};
        }
        const Point *frame = transform(z, other, w->turn, n, -1);
        for (int k = 0; k < n; k++) {
            int64_t s = (int64_t)t * w->hop + k - n / 2;
            if (s >= 0 && s < samples)
                wave[s] += frame[k].re * w->window[k] / (REAL)n;
        }
    }
    for (int64_t s = 0; s < samples; s++)
        wave[s] /= overlap(w->window, n, w->hop, w->T, s);
}

static WaveTask wave_of(OpsContext *c, const void *spectrum, int ld, const float *prior, const SoundFrames *f,
                        int T)
{
    ASSERT(T >= 2 && f->hop <= f->n / 2 && ld >= f->n + 2);
    ASSERT_CMP((size_t)f->n * 4 * sizeof(Point), <=, HOST_SLOT_BYTES);
    WaveTask w = {.h = host_of(c), .spectrum = spectrum, .prior = prior, .turn = f->tables};
    w.window = w.turn + f->n;
    w.n = f->n;
    w.hop = f->hop;
    w.T = T;
    w.ld = ld;
    return w;
}

void HOST(wave_forward)(OpsContext *c, void *wave, const void *spectrum, int ld, const float *prior,
                        const SoundFrames *f, int B, int T)
{
    WaveTask w = wave_of(c, spectrum, ld, prior, f, T);
    w.wave = wave;
    host_pool_run(w.h->pool, B, wave_task, &w);
}

static void wave_back_task(void *arg, int b, int slot)
{
    WaveTask *w = arg;
    const int n = w->n, F = n / 2 + 1;
    const int64_t samples = (int64_t)(w->T - 1) * w->hop;
    Point *z = host_slot(w->h, slot), *other = z + n;
    const REAL *dwave = w->dwave + b * samples;
    for (int t = 0; t < w->T; t++) {
        const REAL *row = w->spectrum + ((int64_t)b * w->T + t) * w->ld;
        const float *prior = w->prior + ((int64_t)b * w->T + t) * F;
        REAL *d = w->dspectrum + ((int64_t)b * w->T + t) * w->ld;
        for (int k = 0; k < n; k++) {
            int64_t s = (int64_t)t * w->hop + k - n / 2;
            REAL g = 0;
            if (s >= 0 && s < samples)
                g = w->window[k] * dwave[s] / overlap(w->window, n, w->hop, w->T, s);
            z[k] = (Point){g, 0};
        }
        const Point *g = transform(z, other, w->turn, n, 1);
        for (int f = 0; f < F; f++) {
            int loud, edge = f == 0 || f == n / 2;
            REAL m = magnitude(w, row, prior, f, &loud), scale = (REAL)(edge ? 1 : 2) / (REAL)n;
            REAL re = m * (REAL)cos((double)row[F + f]), im = m * (REAL)sin((double)row[F + f]);
            REAL dre = g[f].re * scale, dim = edge ? 0 : g[f].im * scale;
            d[f] = loud ? 0 : dre * re + dim * im;
            d[F + f] = dim * re - dre * im;
        }
        memset(d + 2 * F, 0, (size_t)(w->ld - 2 * F) * sizeof *d);
    }
}

void HOST(wave_backward)(OpsContext *c, void *dspectrum, const void *dwave, const void *spectrum, int ld,
                         const float *prior, const SoundFrames *f, int B, int T)
{
    WaveTask w = wave_of(c, spectrum, ld, prior, f, T);
    w.dspectrum = dspectrum;
    w.dwave = dwave;
    host_pool_run(w.h->pool, B, wave_back_task, &w);
}

typedef struct BandTask {
    HostOps *h;
    REAL *dwave;
    double *sums; /* [B] */
    const REAL *wave, *turn, *window;
    const float *target;
    const int32_t *len;
    const SoundBands *bands;
    int n, hop, samples;
    REAL weight;
} BandTask;

/* Sample i of a signal of n that is reflected at its ends. */
static int mirrored(int i, int n) { return i < 0 ? -i : i >= n ? 2 * (n - 1) - i : i; }

/* The loss of one frame; z: its transform, of the wave in the real and the target in the imaginary part.
 * g [n] = the gradient of the spectrum of the wave, one-sided. */
static double frame_loss(const BandTask *l, Point *g, const Point *z)
{
    const int n = l->n;
    double sum = 0;
    memset(g, 0, (size_t)n * sizeof *g);
    for (int b = 0; b < l->bands->count; b++) {
        const float *weight = l->bands->weights + l->bands->at[b];
        const int first = l->bands->first[b], width = l->bands->width[b];
        REAL ours = 0, theirs = 0;
        for (int i = 0; i < width; i++) {
            Point a = z[first + i], m = z[(n - first - i) % n];
            ours += (REAL)weight[i] * (REAL)hypot((double)(a.re + m.re) / 2, (double)(a.im - m.im) / 2);
            theirs += (REAL)weight[i] * (REAL)hypot((double)(a.im + m.im) / 2, (double)(m.re - a.re) / 2);
        }
        REAL floor = (REAL)l->bands->floor;
        double difference =
            log((double)(ours > floor ? ours : floor)) - log((double)(theirs > floor ? theirs : floor));
        sum += fabs(difference);
        if (!(ours > floor) || difference == 0)
            continue;
        REAL slope = (REAL)(difference > 0 ? 1 : -1) / ours;
        for (int i = 0; i < width; i++) {
            Point a = z[first + i], m = z[(n - first - i) % n];
            REAL re = (a.re + m.re) / 2, im = (a.im - m.im) / 2, size = (REAL)hypot((double)re, (double)im);
            if (size > (REAL)TINY) {
                g[first + i].re += slope * (REAL)weight[i] * re / size;
                g[first + i].im += slope * (REAL)weight[i] * im / size;
            }
        }
    }
    return sum;
}

static void loss_task(void *arg, int b, int slot)
{
    BandTask *l = arg;
    l->sums[b] = 0;
    if (l->len && l->len[b] == 0)
        return;
    const int n = l->n, frames = l->samples / l->hop + 1;
    Point *z = host_slot(l->h, slot), *other = z + n, *g = other + n, *more = g + n;
    const REAL *wave = l->wave + (int64_t)b * l->samples;
    const float *target = l->target + (int64_t)b * l->samples;
    double sum = 0;
    for (int t = 0; t < frames; t++) {
        for (int k = 0; k < n; k++) {
            int s = mirrored(t * l->hop + k - n / 2, l->samples);
            z[k] = (Point){wave[s] * l->window[k], (REAL)target[s] * l->window[k]};
        }
        sum += frame_loss(l, g, transform(z, other, l->turn, n, 1));
        if (!l->dwave)
            continue;
        REAL *dwave = l->dwave + (int64_t)b * l->samples;
        const Point *d = transform(g, more, l->turn, n, -1);
        for (int k = 0; k < n; k++)
            dwave[mirrored(t * l->hop + k - n / 2, l->samples)] += l->weight * d[k].re * l->window[k];
    }
    l->sums[b] = sum;
}

void HOST(spectral_loss)(OpsContext *c, void *value, void *dwave, const void *wave, const float *target,
                         const int32_t *len, const SoundFrames *f, const SoundBands *bands, int B,
                         int samples, float weight)
{
    ASSERT_CMP(samples, >, f->n / 2);
    ASSERT_CMP((size_t)f->n * 4 * sizeof(Point), <=, HOST_SLOT_BYTES);
    BandTask l = {.h = host_of(c), .dwave = dwave, .wave = wave, .target = target, .bands = bands};
    l.len = len;
    l.turn = f->tables;
    l.window = l.turn + f->n;
    l.n = f->n;
    l.hop = f->hop;
    l.samples = samples;
    l.weight = (REAL)weight;
    l.sums = loss_sums(l.h, B);
    host_pool_run(l.h->pool, B, loss_task, &l);
    loss_add(value, l.sums, B, weight);
}
