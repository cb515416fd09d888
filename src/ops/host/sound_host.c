/* sound_host.c - from spectra to sound and back: the inverse transform of a network's spectrum, and rounds of
 * Griffin-Lim.
 * Compiled twice, with -DREAL=float and -DREAL=double: see host_real.h. */
#include <limits.h>

#include "audio/griffin_lim_rule.h"
#include "ops/host/sound_host.h"

#pragma GCC optimize("O3")

#define MOST_POINTS 4096
#define FEW_ITEMS 4    /* with fewer of them than this, parts of an item are tasks of their own */
#define PART_FRAMES 64 /* of such a part */

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

void HOST(sound_tables)(OpsContext *c, void *tables, int n, int window)
{
    REAL *turn = tables, *out = turn + n;
    const int from = (n - window) / 2;
    ASSERT(n >= 4 && n <= MOST_POINTS && (n & (n - 1)) == 0 && window >= 2 && window <= n);
    for (int k = 0; k < n / 2; k++) {
        turn[2 * k] = (REAL)cos(2 * M_PI * k / n);
        turn[2 * k + 1] = (REAL)-sin(2 * M_PI * k / n);
    }
    memset(out, 0, (size_t)n * sizeof *out);
    for (int k = 0; k < window; k++)
        out[from + k] = (REAL)(0.5 - 0.5 * cos(2 * M_PI * k / window));
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
    int parts; /* of an item; PART_FRAMES each where there are several */
} WaveTask;

/* 1 / overlap of the samples from .. to - 1. Away from the ends it repeats with every hop. */
static void inverse_overlap(const WaveTask *w, REAL *out, int64_t from, int64_t to)
{
    const int64_t samples = (int64_t)(w->T - 1) * w->hop;
    int64_t steady = -1; /* where a period without ends begins */
    for (int64_t s = from; s < to; s++) {
        const int inside = s >= w->n / 2 && s + w->n / 2 <= samples;
        if (!inside)
            steady = -1;
        else if (steady < 0)
            steady = s;
        out[s - from] = inside && s - w->hop >= steady ? out[s - from - w->hop]
                                                       : 1 / overlap(w->window, w->n, w->hop, w->T, s);
    }
}

/* Real and imaginary part of bin f of a row. *loud: 1 where its magnitude is at the limit. */
static void bin_of(const WaveTask *w, const REAL *row, const float *prior, int f, REAL *re, REAL *im,
                   int *loud)
{
    REAL m = EXP(row[f] + (REAL)prior[f]), phase = row[w->n / 2 + 1 + f];
    *loud = !(m < SOUND_LOUDEST);
    m = *loud ? SOUND_LOUDEST : m;
    *re = m * COS(phase);
    *im = m * SIN(phase);
}

/* The spectra of PAIRS frames from t on as those of LANES complex signals: two real ones make one. Frames at
 * and past T are silent. */
static void pack_spectra(const WaveTask *w, Point *z, int b, int t)
{
    const int n = w->n, F = n / 2 + 1;
    memset(z, 0, (size_t)n * sizeof *z);
    for (int i = 0; i < PAIRS && t + i < w->T; i++) {
        const int64_t at = (int64_t)b * w->T + t + i;
        const REAL *row = w->spectrum + at * w->ld;
        const float *prior = w->prior + at * F;
        const int l = i % LANES, second = i >= LANES;
        for (int f = 0; f < F; f++) {
            int loud;
            REAL re, im;
            Point *here = &z[f], *there = &z[(n - f) & (n - 1)];
            bin_of(w, row, prior, f, &re, &im, &loud);
            if (f == 0 || f == n / 2) { /* the middle of the spectrum and its end are real */
                here->re[l] += second ? 0 : re;
                here->im[l] += second ? re : 0;
            } else {
                here->re[l] += second ? -im : re;
                here->im[l] += second ? re : im;
                there->re[l] += second ? im : re;
                there->im[l] += second ? re : -im;
            }
        }
    }
}

/* Frames are added up in their order, whatever part they are computed for. */
static void wave_task(void *arg, int task, int slot)
{
    const WaveTask *w = arg;
    const int n = w->n, b = task / w->parts, part = task % w->parts, reach = n / 2 / w->hop + 1;
    const int64_t samples = (int64_t)(w->T - 1) * w->hop, size = (int64_t)PART_FRAMES * w->hop;
    const int64_t from = w->parts > 1 ? part * size : 0,
                  to = w->parts > 1 && from + size < samples ? from + size : samples;
    Point *z = host_slot(w->h, slot), *other = z + n;
    REAL *wave = w->wave + b * samples;
    const int first = from / w->hop > reach ? (int)(from / w->hop) - reach : 0;
    memset(wave + from, 0, (size_t)(to - from) * sizeof *wave);
    for (int t = first; t < w->T && (int64_t)t * w->hop - n / 2 < to; t += PAIRS) {
        pack_spectra(w, z, b, t);
        const Point *frames = transform(w->h, z, other, w->turn, n, -1);
        for (int i = 0; i < PAIRS && t + i < w->T; i++) {
            const int64_t start = (int64_t)(t + i) * w->hop - n / 2;
            const int64_t k0 = start < from ? from - start : 0, k1 = start + n > to ? to - start : n;
            for (int64_t k = k0; k < k1; k++)
                wave[start + k] +=
                    (i < LANES ? frames[k].re[i] : frames[k].im[i - LANES]) * w->window[k] / (REAL)n;
        }
    }
    REAL *inverse = (REAL *)(void *)(other + n);
    const int64_t room = (int64_t)((HOST_SLOT_BYTES - 2 * (size_t)n * sizeof *z) / sizeof *inverse);
    for (int64_t at = from; at < to; at += room) {
        const int64_t end = at + room < to ? at + room : to;
        inverse_overlap(w, inverse, at, end);
        for (int64_t s = at; s < end; s++)
            wave[s] *= inverse[s - at];
    }
}

static WaveTask wave_of(OpsContext *c, const void *spectrum, int ld, const float *prior, const SoundFrames *f,
                        int T)
{
    ASSERT(T >= 2 && f->hop <= f->n / 2 && ld >= f->n + 2);
    ASSERT_CMP((size_t)f->n * 3 * sizeof(Point), <=, HOST_SLOT_BYTES);
    WaveTask w = {.h = host_of(c), .spectrum = spectrum, .prior = prior, .turn = f->tables};
    w.window = w.turn + f->n;
    w.n = f->n;
    w.hop = f->hop;
    w.T = T;
    w.ld = ld;
    w.parts = 1;
    return w;
}

void HOST(wave_forward)(OpsContext *c, void *wave, const void *spectrum, int ld, const float *prior,
                        const SoundFrames *f, int B, int T)
{
    WaveTask w = wave_of(c, spectrum, ld, prior, f, T);
    w.wave = wave;
    w.parts = B < FEW_ITEMS ? (T - 2) / PART_FRAMES + 1 : 1;
    host_pool_run(w.h->pool, B * w.parts, wave_task, &w);
}

/* The gradients of frame t, from its transform among those of z. */
static void frame_backward(const WaveTask *w, const Point *z, int i, int b, int t)
{
    const int n = w->n, F = n / 2 + 1, l = i % LANES, second = i >= LANES;
    const int64_t at = (int64_t)b * w->T + t;
    const REAL *row = w->spectrum + at * w->ld;
    const float *prior = w->prior + at * F;
    REAL *d = w->dspectrum + at * w->ld;
    for (int f = 0; f < F; f++) {
        const Point *here = &z[f], *there = &z[(n - f) & (n - 1)];
        const int edge = f == 0 || f == n / 2;
        const REAL scale = (REAL)(edge ? 1 : 2) / (REAL)n;
        /* Of the two real signals in one: the first is what is symmetric, the second the rest. */
        REAL gr = second ? here->im[l] + there->im[l] : here->re[l] + there->re[l];
        REAL gi = second ? there->re[l] - here->re[l] : here->im[l] - there->im[l];
        int loud;
        REAL re, im;
        bin_of(w, row, prior, f, &re, &im, &loud);
        REAL dre = gr / 2 * scale, dim = edge ? 0 : gi / 2 * scale;
        d[f] = loud ? 0 : dre * re + dim * im;
        d[F + f] = dim * re - dre * im;
    }
    memset(d + 2 * F, 0, (size_t)(w->ld - 2 * F) * sizeof *d);
}

static void wave_back_task(void *arg, int b, int slot)
{
    const WaveTask *w = arg;
    const int n = w->n;
    const int64_t samples = (int64_t)(w->T - 1) * w->hop, span = (int64_t)(PAIRS - 1) * w->hop + n;
    Point *z = host_slot(w->h, slot), *other = z + n;
    REAL *inverse = (REAL *)(void *)(other + n);
    const REAL *dwave = w->dwave + b * samples;
    ASSERT_CMP(2 * (size_t)n * sizeof *z + (size_t)span * sizeof *inverse, <=, HOST_SLOT_BYTES);
    for (int t = 0; t < w->T; t += PAIRS) {
        const int64_t from = (int64_t)t * w->hop - n / 2, lo = from > 0 ? from : 0,
                      hi = from + span < samples ? from + span : samples;
        inverse_overlap(w, inverse, lo, hi);
        memset(z, 0, (size_t)n * sizeof *z);
        for (int i = 0; i < PAIRS && t + i < w->T; i++) {
            const int64_t start = from + (int64_t)i * w->hop;
            const int64_t k0 = start < 0 ? -start : 0, k1 = start + n > samples ? samples - start : n;
            for (int64_t k = k0; k < k1; k++) {
                REAL g = w->window[k] * dwave[start + k] * inverse[start + k - lo];
                *(i < LANES ? &z[k].re[i] : &z[k].im[i - LANES]) = g;
            }
        }
        const Point *g = transform(w->h, z, other, w->turn, n, 1);
        for (int i = 0; i < PAIRS && t + i < w->T; i++)
            frame_backward(w, g, i, b, t + i);
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

/* ---- rounds of Griffin-Lim ---- */

#define GAP 16 /* numbers between frames, which would else lie in the same lines of the cache */

typedef struct RoundTask {
    HostOps *h;
    REAL *wave, *frames, *previous; /* frames [B,T,n + GAP], previous [B,groups,F,re and im,PAIRS] */
    const REAL *turn, *window;
    const float *mel;
    const SoundBands *bands;
    int n, hop, T, groups, parts;
    int first; /* round: there is nothing previous */
} RoundTask;

/* Scratch of a task: spectra of LANES frames. */
typedef struct RoundRoom {
    Point *z, *other;            /* [n] */
    Lanes *re, *im, *own, *sums; /* [n / 2 + 1] own: magnitudes, sums: what the bands want of them */
    REAL *cover;                 /* [n / 2 + 1] sum of the weights */
} RoundRoom;

static RoundRoom round_room(const RoundTask *r, int slot)
{
    RoundRoom m = {.z = host_slot(r->h, slot)};
    const int F = r->n / 2 + 1;
    m.other = m.z + r->n;
    m.re = (Lanes *)(void *)(m.other + r->n);
    m.im = m.re + F;
    m.own = m.im + F;
    m.sums = m.own + F;
    m.cover = (REAL *)(void *)(m.sums + F);
    return m;
}

static size_t round_room_bytes(int n)
{
    return 2 * (size_t)n * sizeof(Point) + ((size_t)n / 2 + 1) * (4 * sizeof(Lanes) + sizeof(REAL));
}

/* PAIRS frames from t on: the first LANES in the real part, the others in the imaginary one. */
static void cut_pairs(const RoundTask *r, Point *z, int b, int t)
{
    const int n = r->n, samples = (r->T - 1) * r->hop, start = t * r->hop - n / 2;
    const int inside = start >= 0 && start + (PAIRS - 1) * r->hop + n <= samples && t + PAIRS <= r->T;
    const REAL *wave = r->wave + (int64_t)b * samples;
    for (int k = 0; k < n && inside; k++)
        for (int i = 0; i < LANES; i++) {
            z[k].re[i] = wave[start + i * r->hop + k] * r->window[k];
            z[k].im[i] = wave[start + (i + LANES) * r->hop + k] * r->window[k];
        }
    for (int i = 0; i < PAIRS && !inside; i++)
        for (int k = 0; k < n; k++) {
            const int s = mirrored(start + i * r->hop + k, samples);
            *(i < LANES ? &z[k].re[i] : &z[k].im[i - LANES]) = t + i < r->T ? wave[s] * r->window[k] : 0;
        }
}

/* The spectra of the first or the second LANES frames of z, and their magnitudes. */
static void take_spectra(const RoundRoom *m, const Point *z, int n, int second)
{
    for (int f = 0; f <= n / 2; f++) {
        const Point *a = &z[f], *b = &z[(n - f) & (n - 1)];
        for (int i = 0; i < LANES; i++) {
            const REAL re = (second ? a->im[i] + b->im[i] : a->re[i] + b->re[i]) / 2,
                       im = (second ? b->re[i] - a->re[i] : a->im[i] - b->im[i]) / 2;
            m->re[f].v[i] = re;
            m->im[f].v[i] = im;
            m->own[f].v[i] = SQRT(re * re + im * im);
        }
    }
}

/* m->sums over m->cover is what the magnitudes of `count` frames have to be multiplied by. */
static void want_bands(const RoundTask *r, const RoundRoom *m, const float *mel, int count)
{
    const SoundBands *bands = r->bands;
    const float floor = bands->floor, least = logf(floor) + GRIFFIN_LIM_ABOVE_FLOOR;
    memset(m->sums, 0, ((size_t)r->n / 2 + 1) * sizeof *m->sums);
    memset(m->cover, 0, ((size_t)r->n / 2 + 1) * sizeof *m->cover);
    for (int b = 0; b < bands->count; b++) {
        const float *weight = bands->weights + bands->at[b];
        const int first = bands->first[b], width = bands->width[b];
        Lanes have = {{0}}, ratio = {{0}};
        for (int k = 0; k < width; k++)
            for (int i = 0; i < LANES; i++)
                have.v[i] += (REAL)weight[k] * m->own[first + k].v[i];
        for (int i = 0; i < count; i++) {
            const float v = mel[(int64_t)i * bands->count + b];
            const REAL given = v > least ? EXP((REAL)(v < GRIFFIN_LIM_LOUDEST ? v : GRIFFIN_LIM_LOUDEST))
                                         : (REAL)(GRIFFIN_LIM_BELOW_FLOOR * floor);
            ratio.v[i] = given / (have.v[i] + (REAL)TINY);
        }
        for (int k = 0; k < width; k++) {
            m->cover[first + k] += (REAL)weight[k];
            for (int i = 0; i < LANES; i++)
                m->sums[first + k].v[i] += (REAL)weight[k] * ratio.v[i];
        }
    }
}

/* New spectra: their directions less momentum times the previous ones, with the magnitudes that are wanted.
 */
static void turn_spectra(const RoundTask *r, const RoundRoom *m, REAL *previous)
{
    const REAL momentum = (REAL)(r->first ? 0 : GRIFFIN_LIM_SHARE);
    for (int f = 0; f <= r->n / 2; f++, previous += 2 * PAIRS)
        for (int i = 0; i < LANES; i++) {
            const REAL was_re = r->first ? 0 : previous[i], was_im = r->first ? 0 : previous[PAIRS + i];
            const REAL re = m->re[f].v[i] - momentum * was_re, im = m->im[f].v[i] - momentum * was_im;
            const REAL size = SQRT(re * re + im * im),
                       factor = m->cover[f] > 0 ? m->sums[f].v[i] / m->cover[f] : 1,
                       scale = size > (REAL)TINY ? m->own[f].v[i] * factor / size : 0;
            previous[i] = m->re[f].v[i];
            previous[PAIRS + i] = m->im[f].v[i];
            m->re[f].v[i] = re * scale;
            m->im[f].v[i] = im * scale;
        }
}

/* Adds the spectra to z, of which the frames are the real or the imaginary part. */
static void put_spectra(const RoundRoom *m, Point *z, int n, int second)
{
    for (int f = 0; f <= n / 2; f++) {
        Point *here = &z[f], *there = &z[(n - f) & (n - 1)];
        const int edge = f == 0 || f == n / 2;
        for (int i = 0; i < LANES; i++) {
            const REAL re = m->re[f].v[i], im = edge ? 0 : m->im[f].v[i];
            here->re[i] += second ? -im : re;
            here->im[i] += second ? re : im;
            if (edge)
                continue;
            there->re[i] += second ? im : re;
            there->im[i] += second ? re : -im;
        }
    }
}

/* One group of PAIRS frames. */
static void round_task(void *arg, int task, int slot)
{
    const RoundTask *r = arg;
    const int n = r->n, F = n / 2 + 1, b = task / r->groups, t = task % r->groups * PAIRS;
    const RoundRoom m = round_room(r, slot);
    cut_pairs(r, m.z, b, t);
    Point *z = transform(r->h, m.z, m.other, r->turn, n, 1), *g = z == m.z ? m.other : m.z;
    memset(g, 0, (size_t)n * sizeof *g);
    for (int second = 0; second < 2; second++) {
        const int from = t + second * LANES, left = r->T - from, count = left < LANES ? left : LANES;
        take_spectra(&m, z, n, second);
        want_bands(r, &m, r->mel + ((int64_t)b * r->T + from) * r->bands->count, count);
        turn_spectra(r, &m, r->previous + (int64_t)task * F * 2 * PAIRS + second * LANES);
        put_spectra(&m, g, n, second);
    }
    const Point *out = transform(r->h, g, z, r->turn, n, -1);
    const int64_t ld = n + GAP;
    REAL *frames = r->frames + ((int64_t)b * r->T + t) * ld;
    for (int k = 0; k < n; k++) {
        const REAL scale = r->window[k] / (REAL)n;
        for (int i = 0; i < PAIRS && t + i < r->T; i++)
            frames[i * ld + k] = (i < LANES ? out[k].re[i] : out[k].im[i - LANES]) * scale;
    }
}

/* The samples of a part, from all frames that reach it. */
static void round_sum_task(void *arg, int task, int slot)
{
    const RoundTask *r = arg;
    const int n = r->n, b = task / r->parts, part = task % r->parts, reach = n / 2 / r->hop + 1;
    const WaveTask w = {.window = r->window, .n = n, .hop = r->hop, .T = r->T};
    const int64_t samples = (int64_t)(r->T - 1) * r->hop, size = (int64_t)PART_FRAMES * r->hop,
                  from = part * size, to = from + size < samples ? from + size : samples;
    REAL *wave = r->wave + b * samples, *inverse = host_slot(r->h, slot);
    const int64_t room = (int64_t)(HOST_SLOT_BYTES / sizeof *inverse);
    memset(wave + from, 0, (size_t)(to - from) * sizeof *wave);
    for (int64_t t = from / r->hop > reach ? from / r->hop - reach : 0; t < r->T; t++) {
        const int64_t start = t * r->hop - n / 2;
        const int64_t k0 = start < from ? from - start : 0, k1 = start + n > to ? to - start : n;
        const REAL *frame = r->frames + ((int64_t)b * r->T + t) * (n + GAP);
        if (start >= to)
            break;
        for (int64_t k = k0; k < k1; k++)
            wave[start + k] += frame[k];
    }
    for (int64_t at = from; at < to; at += room) {
        const int64_t end = at + room < to ? at + room : to;
        inverse_overlap(&w, inverse, at, end);
        for (int64_t s = at; s < end; s++)
            wave[s] *= inverse[s - at];
    }
}

static int round_groups(int T) { return (T + PAIRS - 1) / PAIRS; }

uint64_t HOST(sound_refine_bytes)(int B, int T, int n)
{
    const uint64_t previous = (uint64_t)round_groups(T) * ((uint64_t)n / 2 + 1) * 2 * PAIRS,
                   frames = (uint64_t)T * ((uint64_t)n + GAP);
    return (uint64_t)B * (previous + frames) * sizeof(REAL);
}

void HOST(sound_refine)(OpsContext *c, void *wave, void *room, const float *mel, const SoundFrames *f,
                        const SoundBands *bands, int B, int T, int rounds)
{
    ASSERT((T - 1) * f->hop > f->n / 2);
    ASSERT_CMP(round_room_bytes(f->n), <=, HOST_SLOT_BYTES);
    RoundTask r = {.h = host_of(c), .wave = wave, .frames = room, .mel = mel, .bands = bands, .n = f->n};
    r.hop = f->hop;
    r.T = T;
    r.turn = f->tables;
    r.window = r.turn + f->n;
    r.previous = r.frames + (int64_t)B * T * (f->n + GAP);
    r.groups = round_groups(T);
    r.parts = (T - 2) / PART_FRAMES + 1;
    for (int i = 0; i < rounds; i++) {
        r.first = i == 0;
        host_pool_run(r.h->pool, B * r.groups, round_task, &r);
        host_pool_run(r.h->pool, B * r.parts, round_sum_task, &r);
    }
}
