/* griffin_lim.c - memory, padding and the rounds. Reproduces Perraudin, Balazs and Sondergaard, "A fast
 * Griffin-Lim algorithm", 2013, in the form of librosa 0.11 griffinlim: the direction of c[n] - m / (1 + m)
 * c[n-1] is that of c[n] + m (c[n] - c[n-1]). */
#include "audio/griffin_lim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "audio/griffin_lim_kernel.h"
#include "audio/griffin_lim_rule.h"
#include "audio/mel.h"
#include "base/bytes.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/variant.h"

#define LANES GRIFFIN_LIM_LANES
#define UPDATES 40         /* of the first guess; 10 leave a little, 150 gain nothing */
#define LEAST_WINDOW 1e-6f /* a smaller sum of squared windows: no frame reaches this sample */
#define SMALLEST 1e-9f     /* smaller magnitudes are 0: slow denormal numbers, and never heard */

struct GriffinLim {
    MelPlan *plan;
    const GriffinLimVariant *variant;
    GriffinLimTables t;
    GriffinLimWork work;
    int *offset; /* [n_fft], for the present row */
    int64_t row; /* of the signals that lie across, see griffin_lim_kernel.h */

    int64_t frames_cap;
    float *signal[2], *gain; /* [hop * row] */
    float *mel;              /* [groups][n_bands][8], not its logarithm */
    float *magnitudes;       /* [groups][n_bins][8]: the first guess */
    float *previous;         /* [groups][n_bins][re, im][8] */
};

/* What the inverse needs beyond what the mel does. */
static int check_settings(const Config *cfg, Err *err)
{
    if (cfg->n_fft % 2)
        return err_set(err, ERR_CONFIG, "n_fft is %d, but only an even n_fft can be turned into sound",
                       cfg->n_fft);
    if (cfg->hop_length < 2 || cfg->hop_length > cfg->win_length)
        return err_set(err, ERR_CONFIG, "hop_length is %d, but must be 2 to win_length (%d) to make sound",
                       cfg->hop_length, cfg->win_length);
    return 0;
}

/* The mel's tables in single precision, and what only the inverse needs. */
static int open_tables(GriffinLim *g)
{
    GriffinLimTables *t = &g->t;
    const MelTables *m = t->mel;
    size_t n_weights = 0;
    for (int b = 0; b < m->n_bands; b++)
        n_weights += (size_t)m->bands[b].count;
    t->analysis = mem_calloc((size_t)m->n_fft, sizeof(float));
    t->synthesis = mem_calloc((size_t)m->n_fft, sizeof(float));
    t->natural = mem_calloc((size_t)m->fft.n, sizeof(int));
    t->weights = mem_calloc(n_weights + 1, sizeof(float));
    t->per_band = mem_calloc((size_t)m->n_bands, sizeof(float));
    t->per_bin = mem_calloc((size_t)m->n_bins + 1, sizeof(float));
    g->offset = mem_calloc((size_t)m->n_fft, sizeof(int));
    if (!t->analysis || !t->synthesis || !t->natural || !t->weights || !t->per_band || !t->per_bin ||
        !g->offset)
        return ERR_NOMEM;
    /* The mel's window is halved. */
    for (int i = 0; i < m->n_fft; i++) {
        t->analysis[i] = (float)m->window[i];
        t->synthesis[i] = (float)(2.0 * m->window[i] / m->n_fft);
    }
    /* Where point k is stored before the first pass: blocks have a gap behind them. */
    for (int k = 0; k < m->fft.n; k++)
        t->natural[k] = k / m->fft.block * m->fft.block_step + k % m->fft.block;
    /* Sums of the weights per band and per bin, then their inverses. */
    for (int b = 0; b < m->n_bands; b++)
        for (int k = 0; k < m->bands[b].count; k++) {
            float w = (float)m->weights[m->bands[b].weight + k];
            t->weights[m->bands[b].weight + k] = w;
            t->per_band[b] += w;
            t->per_bin[m->bands[b].first + k] += w;
        }
    for (int b = 0; b < m->n_bands; b++)
        t->per_band[b] = t->per_band[b] > 0.0f ? 1.0f / t->per_band[b] : 0.0f;
    for (int k = 0; k < m->n_bins; k++)
        t->per_bin[k] = t->per_bin[k] > 0.0f ? 1.0f / t->per_bin[k] : 0.0f;
    return 0;
}

static float *lanes_alloc(int64_t n)
{
    return mem_aligned(64, (size_t)(n > 0 ? n : 1) * LANES, sizeof(float));
}

static int open_work(GriffinLim *g)
{
    const MelTables *m = g->t.mel;
    g->work.points = lanes_alloc(2 * m->fft.n_stored);
    g->work.spare = lanes_alloc(2 * m->fft.max_radix);
    g->work.ratio = lanes_alloc(m->n_bands);
    g->work.gather = lanes_alloc(m->n_bins);
    g->work.spectrum = lanes_alloc(2 * m->n_bins);
    g->work.own = lanes_alloc(m->n_bins);
    const GriffinLimWork *w = &g->work;
    return w->points && w->spare && w->ratio && w->gather && w->spectrum && w->own ? 0 : ERR_NOMEM;
}

int griffin_lim_open(GriffinLim **out, const Config *cfg, Err *err)
{
    *out = NULL;
    int rc = 0;
    GriffinLim *g = mem_calloc(1, sizeof *g);
    if (!g)
        return err_set(err, ERR_NOMEM, "no memory to make audio with");
    rc = mel_plan_open(&g->plan, cfg, err);
    if (rc == 0)
        rc = check_settings(cfg, err);
    if (rc)
        goto fail;
    g->t.mel = mel_tables(g->plan);
    /* Narrow bands between two bins hold nothing that could be heard. */
    if (g->t.mel->n_bins == 0) {
        rc = err_set(err, ERR_CONFIG,
                     "n_fft %d has no frequency between mel_fmin (%g Hz) and mel_fmax (%g Hz)", cfg->n_fft,
                     cfg->mel_fmin, cfg->mel_fmax);
        goto fail;
    }
    griffin_lim_use_instructions(g, NULL);
    if (open_tables(g) || open_work(g)) {
        rc = err_set(err, ERR_NOMEM, "no memory to make audio with (n_fft %d)", cfg->n_fft);
        goto fail;
    }
    *out = g;
    return 0;
fail:
    griffin_lim_close(g);
    return rc;
}

static void free_clip(GriffinLim *g)
{
    free(g->signal[0]);
    free(g->signal[1]);
    free(g->gain);
    free(g->mel);
    free(g->magnitudes);
    free(g->previous);
    g->signal[0] = g->signal[1] = g->gain = g->mel = g->magnitudes = g->previous = NULL;
    g->frames_cap = 0;
}

void griffin_lim_close(GriffinLim *g)
{
    if (!g)
        return;
    free_clip(g);
    free(g->t.analysis);
    free(g->t.synthesis);
    free(g->t.natural);
    free(g->t.weights);
    free(g->t.per_band);
    free(g->t.per_bin);
    free(g->work.points);
    free(g->work.spare);
    free(g->work.ratio);
    free(g->work.gather);
    free(g->work.spectrum);
    free(g->work.own);
    free(g->offset);
    mel_plan_close(g->plan);
    free(g);
}

int64_t griffin_lim_samples(const GriffinLim *g, int64_t frames)
{
    return frames < 1 ? 0 : (frames - 1) * g->t.mel->hop + g->t.mel->hop / 2;
}

int griffin_lim_use_instructions(GriffinLim *g, const char *name)
{
    /* The fastest first. */
    static const GriffinLimVariant *const variants[] = {
#if VARIANT_X86
        &griffin_lim_kernel_avx2,
#endif
        &griffin_lim_kernel_plain,
    };
    for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++)
        if (variant_fits(variants[i]->name, name)) {
            g->variant = variants[i];
            return 1;
        }
    return 0;
}

/* ---- signals */

static int64_t group_count(int64_t frames) { return (frames + LANES - 1) / LANES; }

/* An odd number of cache lines, so that rows do not fight for the same place in the cache. */
static int64_t row_for(const MelTables *m, int64_t frames)
{
    int64_t need = group_count(frames) * LANES + (m->n_fft + m->hop - 1) / m->hop, lines = (need + 15) / 16;
    return (lines | 1) * 16;
}

/* Buffers for a clip of that many frames; they grow and are kept for the next clip. */
static int reserve(GriffinLim *g, int64_t frames, Err *err)
{
    const MelTables *m = g->t.mel;
    /* Offsets into a signal are ints. */
    if (frames > (INT32_MAX - 4096) / m->hop - m->n_fft)
        return err_set(err, ERR_DATA, "%lld frames are too many for one clip", (long long)frames);
    /* Offsets depend on the row, so they are filled for every clip. */
    g->row = row_for(m, frames);
    for (int i = 0; i < m->n_fft; i++)
        g->offset[i] = (int)(i % m->hop * g->row + i / m->hop);
    if (frames <= g->frames_cap)
        return 0;
    free_clip(g);
    /* Two signals that change places, and the gain of every sample. */
    size_t samples = (size_t)m->hop * (size_t)g->row;
    int64_t bins = group_count(frames) * m->n_bins;
    g->signal[0] = mem_aligned(64, samples, sizeof(float));
    g->signal[1] = mem_aligned(64, samples, sizeof(float));
    g->gain = mem_aligned(64, samples, sizeof(float));
    g->mel = lanes_alloc(group_count(frames) * m->n_bands);
    g->magnitudes = lanes_alloc(bins);
    g->previous = lanes_alloc(2 * bins);
    if (!g->signal[0] || !g->signal[1] || !g->gain || !g->mel || !g->magnitudes || !g->previous) {
        free_clip(g);
        return err_set(err, ERR_NOMEM, "no memory for %lld frames of audio", (long long)frames);
    }
    g->frames_cap = frames;
    return 0;
}

/* Where position p is: sample p - n_fft / 2 of the clip, or a mirrored one. */
static float *at_position(const GriffinLim *g, float *x, int64_t p)
{
    return x + p % g->t.mel->hop * g->row + p / g->t.mel->hop;
}

/* What the frames hold of mirrored samples belongs to the samples themselves. */
static void fold(const GriffinLim *g, float *x, int64_t n, int64_t frames)
{
    const int64_t pad = g->t.mel->n_fft / 2, end = (frames - 1) * g->t.mel->hop + g->t.mel->n_fft;
    for (int64_t p = 0; p < end; p = p + 1 == pad ? pad + n : p + 1)
        *at_position(g, x, pad + mel_reflect(p - pad, n)) += *at_position(g, x, p);
}

/* Samples beyond the ends are copies of those inside, as the mel pads a clip. */
static void mirror(const GriffinLim *g, float *x, int64_t n, int64_t frames)
{
    const int64_t pad = g->t.mel->n_fft / 2, end = (frames - 1) * g->t.mel->hop + g->t.mel->n_fft;
    for (int64_t p = 0; p < end; p = p + 1 == pad ? pad + n : p + 1)
        *at_position(g, x, p) = *at_position(g, x, pad + mel_reflect(p - pad, n));
}

/* 1 / sum of the squared windows over every sample of the clip; 0 outside of it and where no window reaches.
 */
static void fill_gain(GriffinLim *g, int64_t n, int64_t frames)
{
    const MelTables *m = g->t.mel;
    const int64_t pad = m->n_fft / 2, all = m->hop * g->row;
    memset(g->gain, 0, (size_t)all * sizeof(float));
    for (int i = 0; i < m->n_fft; i++) {
        /* Frame f has its sample i at to[f]. */
        float *to = g->gain + g->offset[i], square = (float)(4.0 * m->window[i] * m->window[i]);
        for (int64_t f = 0; f < frames; f++)
            to[f] += square;
    }
    /* A mirrored sample's window counts for the sample it mirrors. */
    fold(g, g->gain, n, frames);
    for (int j = 0; j < m->hop; j++)
        for (int64_t r = 0; r < g->row; r++) {
            int64_t p = r * m->hop + j;
            float *v = g->gain + j * g->row + r;
            int inside = p >= pad && p < pad + n;
            *v = inside && *v > LEAST_WINDOW ? 1.0f / *v : 0.0f;
        }
}

/* ---- the run */

/* From the log mel to magnitudes per bin, the first guess. Lanes behind the last frame stay silent. */
static void fill_magnitudes(GriffinLim *g, const float *log_mel, int64_t frames)
{
    const int bands = g->t.mel->n_bands, bins = g->t.mel->n_bins;
    const float floor = MEL_LOG_FLOOR + GRIFFIN_LIM_ABOVE_FLOOR;
    for (int64_t group = 0; group < group_count(frames); group++) {
        float *mel = g->mel + group * bands * LANES;
        for (int b = 0; b < bands; b++)
            for (int l = 0; l < LANES; l++) {
                int64_t f = group * LANES + l;
                float v = f < frames ? log_mel[f * bands + b] : -HUGE_VALF;
                mel[b * LANES + l] = v > floor ? expf(v < GRIFFIN_LIM_LOUDEST ? v : GRIFFIN_LIM_LOUDEST)
                                               : GRIFFIN_LIM_BELOW_FLOOR * MEL_FLOOR;
            }
        float *to = g->magnitudes + group * bins * LANES;
        g->variant->invert(&g->t, &g->work, to, mel, UPDATES);
        for (int i = 0; i < bins * LANES; i++)
            if (!(to[i] >= SMALLEST) || group * LANES + i % LANES >= frames)
                to[i] = 0.0f;
    }
}

/* Frame by frame, so that a frame's phases do not depend on the lanes. */
static void fill_phases(GriffinLim *g, int64_t frames, uint64_t seed)
{
    const int64_t bins = g->t.mel->n_bins;
    Rng rng;
    rng_seed(&rng, seed);
    for (int64_t f = 0; f < group_count(frames) * LANES; f++) {
        int64_t at = f / LANES * bins * LANES + f % LANES;
        for (int64_t k = 0; k < bins; k++, at += LANES) {
            /* A random phase for every bin. */
            double turn = 2.0 * M_PI * rng_uniform(&rng);
            /* Real parts of eight lanes, then the imaginary ones. */
            int64_t to = at / LANES * 2 * LANES + at % LANES;
            g->previous[to] = g->magnitudes[at] * (float)cos(turn);
            g->previous[to + LANES] = g->magnitudes[at] * (float)sin(turn);
        }
    }
}

/* One round over all frames: the samples of out become the least-squares ones for the new spectra. */
static void turn_all(GriffinLim *g, float *out, const float *in, int64_t n, int64_t frames)
{
    const int64_t bins = g->t.mel->n_bins, all = g->t.mel->hop * g->row;
    /* Frames are added up where they overlap, then divided by the windows that were added. */
    memset(out, 0, (size_t)all * sizeof(float));
    for (int64_t group = 0; group < group_count(frames); group++) {
        GriffinLimRound r = {.out = out + group * LANES,
                             .in = in ? in + group * LANES : NULL,
                             .offset = g->offset,
                             .previous = g->previous + group * bins * 2 * LANES,
                             .magnitudes = g->magnitudes + group * bins * LANES,
                             .mel = g->mel + group * g->t.mel->n_bands * LANES,
                             .momentum = (float)GRIFFIN_LIM_SHARE};
        g->variant->turn(&g->t, &g->work, &r);
    }
    fold(g, out, n, frames);
    for (int64_t i = 0; i < all; i++)
        out[i] *= g->gain[i];
    mirror(g, out, n, frames);
}

int griffin_lim_run(GriffinLim *g, float *samples, const float *log_mel, int64_t frames, int iterations,
                    uint64_t seed, Err *err)
{
    if (frames < 1 || iterations < 0)
        return err_set(err, ERR_DATA, "cannot make sound from %lld frames in %d iterations",
                       (long long)frames, iterations);
    int rc = reserve(g, frames, err);
    if (rc)
        return rc;
    const int64_t n = griffin_lim_samples(g, frames), pad = g->t.mel->n_fft / 2;
    fill_gain(g, n, frames);
    fill_magnitudes(g, log_mel, frames);
    fill_phases(g, frames, seed);
    /* The first signal comes from the guess with random phases. */
    turn_all(g, g->signal[0], NULL, n, frames);
    for (int i = 0; i < iterations; i++)
        turn_all(g, g->signal[(i + 1) % 2], g->signal[i % 2], n, frames);
    float *result = g->signal[iterations % 2], peak = 1.0f;
    for (int64_t i = 0; i < n; i++) {
        samples[i] = *at_position(g, result, pad + i);
        peak = fabsf(samples[i]) > peak ? fabsf(samples[i]) : peak;
    }
    for (int64_t i = 0; peak > 1.0f && i < n; i++)
        samples[i] /= peak;
    return 0;
}
