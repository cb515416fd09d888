/* mel.c - plan, padding and batching of the mel. Reproduces librosa 0.11 feature.melspectrogram(power=1,
 * center=True, pad_mode="reflect") and filters.mel(htk=False, norm="slaney"); numpy.pad(mode="reflect") at
 * the ends. */
#include "audio/mel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "audio/mel_kernel.h"
#include "base/bytes.h"
#include "base/mem.h"
#include "base/variant.h"

struct MelPlan {
    MelTables t;
    const MelVariant *variant;
    float *dense;  /* [n_bands][n_fft / 2 + 1] */
    double *edges; /* [n_bands + 2] Hz */
};

struct MelScratch {
    MelWork work;
    float *segment; /* [(MEL_MAX_LANES - 1) * hop + n_fft]: batches that reach over an end of the clip */
};

/* The Slaney scale: linear below 1 kHz (15 mel = 1 kHz), then logarithmic with 27 mel for a factor of 6.4. */
static double hz_to_mel(double hz)
{
    return hz < 1000.0 ? 3.0 * hz / 200.0 : 15.0 + 27.0 * log(hz / 1000.0) / log(6.4);
}
static double mel_to_hz(double mel)
{
    return mel < 15.0 ? 200.0 * mel / 3.0 : 1000.0 * exp(log(6.4) * (mel - 15.0) / 27.0);
}

/* Triangle of band b at frequency hz, with unit area. */
static double band_weight(const double *edges, int b, double hz)
{
    /* The lower of the two sides; Slaney's norm divides by half the width. */
    double up = (hz - edges[b]) / (edges[b + 1] - edges[b]),
           down = (edges[b + 2] - hz) / (edges[b + 2] - edges[b + 1]);
    double w = up < down ? up : down;
    return w > 0.0 ? w * 2.0 / (edges[b + 2] - edges[b]) : 0.0;
}

/* Band edges, evenly spaced in mel: band b rises from edge b to b + 1 and falls to b + 2. */
static void fill_edges(MelPlan *p, const Config *cfg)
{
    double low = hz_to_mel(cfg->mel_fmin), high = hz_to_mel(cfg->mel_fmax);
    for (int i = 0; i < cfg->n_mels + 2; i++)
        p->edges[i] = mel_to_hz(low + (high - low) * i / (cfg->n_mels + 1));
}

/* The triangles: sparse for the kernels, dense for whoever inverts them. 0 or ERR_NOMEM. */
static int fill_bands(MelPlan *p, const Config *cfg)
{
    int bins = cfg->n_fft / 2 + 1, n_weights = 0;
    /* Counts, then fills. */
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1) {
            p->t.weights = mem_calloc((size_t)n_weights + 1, sizeof *p->t.weights);
            if (!p->t.weights)
                return ERR_NOMEM;
        }
        n_weights = 0;
        for (int b = 0; b < cfg->n_mels; b++) {
            MelBand band = {.weight = n_weights};
            for (int k = 0; k < bins; k++) {
                double w = band_weight(p->edges, b, (double)k * cfg->sample_rate / cfg->n_fft);
                /* A band's bins are neighbours: from the first with a weight to the last. */
                if (w <= 0.0)
                    continue;
                if (band.count == 0)
                    band.first = k;
                band.count = k - band.first + 1;
                if (pass == 1) {
                    p->t.weights[band.weight + k - band.first] = w;
                    p->dense[(size_t)b * (size_t)bins + (size_t)k] = (float)w;
                }
            }
            n_weights += band.count;
            p->t.bands[b] = band;
            /* Bins above the last band are never computed. */
            if (band.first + band.count > p->t.n_bins)
                p->t.n_bins = band.first + band.count;
        }
    }
    return 0;
}

/* A periodic Hann window of win samples, in the middle of the frame; its highest value is 2 * half. */
static void fill_window(double *window, int n_fft, int win, double half)
{
    int at = (n_fft - win) / 2;
    for (int i = 0; i < win; i++)
        window[at + i] = half - half * cos(2.0 * M_PI * i / win);
}

/* Where the frames' sample j begins in MelWork.across. */
static int fill_offsets(MelTables *t)
{
    /* Only where frames begin on a multiple of the hop apart can one transposed segment serve them all. */
    if (t->n_fft % t->hop != 0 || !t->packed)
        return 0;
    t->row = (int)round_up((uint64_t)(MEL_MAX_LANES + t->n_fft / t->hop - 1), 8);
    t->offset = mem_calloc((size_t)t->n_fft, sizeof *t->offset);
    if (!t->offset)
        return ERR_NOMEM;
    for (int j = 0; j < t->n_fft; j++)
        t->offset[j] = j % t->hop * t->row + j / t->hop;
    return 0;
}

static int check_settings(const Config *cfg, Err *err)
{
    /* In the order in which one would fix them. */
    if (cfg->n_fft < 2 || cfg->hop_length < 1 || cfg->n_mels < 1 || cfg->sample_rate < 1)
        return err_set(err, ERR_CONFIG, "no mel with n_fft %d, hop_length %d, n_mels %d at %d Hz", cfg->n_fft,
                       cfg->hop_length, cfg->n_mels, cfg->sample_rate);
    if (cfg->win_length < 1 || cfg->win_length > cfg->n_fft)
        return err_set(err, ERR_CONFIG, "win_length %d is not within 1 .. n_fft (%d)", cfg->win_length,
                       cfg->n_fft);
    if (!(cfg->mel_fmin >= 0.0) || !(cfg->mel_fmax > cfg->mel_fmin)) {
        err_set(err, ERR_CONFIG, "no mel bands between %g Hz (mel_fmin) and %g Hz (mel_fmax)", cfg->mel_fmin,
                cfg->mel_fmax);
        return err_hint(err, "mel_fmin must be at least 0 and mel_fmax above it");
    }
    if (cfg->mel_fmax > cfg->sample_rate / 2.0) {
        err_set(err, ERR_CONFIG, "mel_fmax %g Hz is above half of sample_rate (%d Hz)", cfg->mel_fmax,
                cfg->sample_rate);
        return err_hint(err, "set mel_fmax to %g or less", cfg->sample_rate / 2.0);
    }
    return 0;
}

int mel_plan_open(MelPlan **out, const Config *cfg, Err *err)
{
    *out = NULL;
    int rc = check_settings(cfg, err);
    if (rc)
        return rc;
    MelPlan *p = mem_calloc(1, sizeof *p);
    if (!p)
        goto no_memory;
    /* Tables of the plan; all of them are read-only once it is open. */
    size_t n_fft = (size_t)cfg->n_fft, bands = (size_t)cfg->n_mels;
    p->t.n_fft = cfg->n_fft;
    p->t.hop = cfg->hop_length;
    p->t.n_bands = cfg->n_mels;
    p->t.packed = cfg->n_fft % 2 == 0;
    p->t.window = mem_calloc(n_fft, sizeof(double));
    p->t.half_turn = mem_calloc(2 * (n_fft / 4 + 1), sizeof(double));
    p->t.bands = mem_calloc(bands, sizeof *p->t.bands);
    p->dense = mem_calloc(bands * (n_fft / 2 + 1), sizeof(float));
    p->edges = mem_calloc(bands + 2, sizeof(double));
    if (!p->t.window || !p->t.half_turn || !p->t.bands || !p->dense || !p->edges)
        goto no_memory;
    if (fft_plan_open(&p->t.fft, p->t.packed ? cfg->n_fft / 2 : cfg->n_fft, err))
        goto no_memory;
    /* When two samples make one complex point, the transform is taken apart with halves: they are in the
     * window. */
    fill_window(p->t.window, cfg->n_fft, cfg->win_length, p->t.packed ? 0.25 : 0.5);
    /* Twiddles that take the packed transform apart. */
    for (size_t k = 0; k <= n_fft / 4; k++) {
        p->t.half_turn[2 * k] = cos(2.0 * M_PI * (double)k / (double)n_fft);
        p->t.half_turn[2 * k + 1] = -sin(2.0 * M_PI * (double)k / (double)n_fft);
    }
    fill_edges(p, cfg);
    if (fill_bands(p, cfg) || fill_offsets(&p->t))
        goto no_memory;
    mel_use_instructions(p, NULL);
    *out = p;
    return 0;
no_memory:
    mel_plan_close(p);
    return err_set(err, ERR_NOMEM, "no memory for the mel plan (n_fft %d, %d bands)", cfg->n_fft,
                   cfg->n_mels);
}

void mel_plan_close(MelPlan *p)
{
    if (!p)
        return;
    fft_plan_close(&p->t.fft);
    free(p->t.window);
    free(p->t.offset);
    free(p->t.half_turn);
    free(p->t.bands);
    free(p->t.weights);
    free(p->dense);
    free(p->edges);
    free(p);
}

int mel_scratch_open(MelScratch **out, const MelPlan *p, Err *err)
{
    const MelTables *t = &p->t;
    MelScratch *s = mem_calloc(1, sizeof *s);
    *out = s;
    if (!s)
        return err_set(err, ERR_NOMEM, "no memory for the mel buffers");
    /* For the widest variant, so that any may be chosen later. */
    size_t point = 2 * MEL_MAX_LANES, bins = t->n_bins > 1 ? (size_t)t->n_bins : 1;
    s->work.across = mem_aligned(64, (size_t)t->hop * (size_t)t->row + 1, sizeof(float));
    s->work.points = mem_aligned(64, (size_t)t->fft.n_stored * point, sizeof(double));
    s->work.spare = mem_aligned(64, (size_t)t->fft.max_radix * point, sizeof(double));
    s->work.bins = mem_aligned(64, bins * MEL_MAX_LANES, sizeof(double));
    s->work.result = mem_aligned(64, (size_t)t->n_bands * MEL_MAX_LANES, sizeof(float));
    s->segment =
        mem_aligned(64, (size_t)(MEL_MAX_LANES - 1) * (size_t)t->hop + (size_t)t->n_fft, sizeof(float));
    if (!s->work.across || !s->work.points || !s->work.spare || !s->work.bins || !s->work.result ||
        !s->segment) {
        mel_scratch_close(s);
        *out = NULL;
        return err_set(err, ERR_NOMEM, "no memory for the mel buffers");
    }
    return 0;
}

void mel_scratch_close(MelScratch *s)
{
    if (!s)
        return;
    free(s->work.across);
    free(s->work.points);
    free(s->work.spare);
    free(s->work.bins);
    free(s->work.result);
    free(s->segment);
    free(s);
}

int64_t mel_frames(const MelPlan *p, int64_t n) { return n <= 0 ? 0 : 1 + (n - p->t.n_fft % 2) / p->t.hop; }
int mel_bands(const MelPlan *p) { return p->t.n_bands; }
const float *mel_filterbank(const MelPlan *p) { return p->dense; }
const double *mel_edges(const MelPlan *p) { return p->edges; }
const MelTables *mel_tables(const MelPlan *p) { return &p->t; }

int mel_use_instructions(MelPlan *p, const char *name)
{
    /* The fastest first. */
    static const MelVariant *const variants[] = {
#if VARIANT_X86
        &mel_kernel_avx512,
        &mel_kernel_avx2,
#endif
        &mel_kernel_plain,
    };
    for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++)
        if (variant_fits(variants[i]->name, name)) {
            p->variant = variants[i];
            return 1;
        }
    return 0;
}

void mel_compute(const MelPlan *p, MelScratch *s, float *out, const float *samples, int64_t n)
{
    const MelTables *t = &p->t;
    const int width = p->variant->lanes;
    const int64_t frames = mel_frames(p, n), span = (int64_t)(width - 1) * t->hop + t->n_fft;
    for (int64_t f = 0; f < frames; f += width) {
        /* Batches within the clip are read in place; at its ends the samples are mirrored into a copy. */
        int64_t first = f * t->hop - t->n_fft / 2;
        const float *segment = s->segment;
        if (first >= 0 && first + span <= n)
            segment = samples + first;
        else
            for (int64_t i = 0; i < span; i++) {
                int64_t at = first + i;
                s->segment[i] = samples[at >= 0 && at < n ? at : mel_reflect(at, n)];
            }
        p->variant->run(t, &s->work, segment);
        /* The last batch has lanes that belong to no frame. */
        int lanes = frames - f < width ? (int)(frames - f) : width;
        for (int l = 0; l < lanes; l++)
            for (int b = 0; b < t->n_bands; b++)
                out[(f + l) * t->n_bands + b] = s->work.result[b * width + l];
    }
}
