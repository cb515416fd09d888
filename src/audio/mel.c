/* mel.c - the mel spectrogram of a clip: the plan (window, twiddles, filterbank), the reflected padding at
 * both ends, and the loop that hands groups of frames to a vector kernel. Reproduces librosa 0.11
 * feature.melspectrogram(power=1, center=True, pad_mode="reflect") with filters.mel(htk=False,
 * norm="slaney"). */
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
    float *filterbank; /* [n_bands][n_fft / 2 + 1], for mel_filterbank(); kernels use t.bands and t.weights */
    double *edges;     /* [n_bands + 2] Hz */
};

struct MelScratch {
    MelWork work;
    float *segment; /* [(MEL_MAX_LANES - 1) * hop + n_fft]: samples of a group that needs padding */
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

/* Band edges, evenly spaced in mel: band b is a triangle that rises from edge b to edge b + 1 and falls to
 * edge b + 2. */
static void fill_edges(MelPlan *p, const Config *cfg)
{
    double low = hz_to_mel(cfg->mel_fmin), high = hz_to_mel(cfg->mel_fmax);
    for (int i = 0; i < cfg->n_mels + 2; i++)
        p->edges[i] = mel_to_hz(low + (high - low) * i / (cfg->n_mels + 1));
}

/* Weight of FFT bin k in band b: the height of the band's triangle there. Zero outside of it. */
static double bin_weight(const MelPlan *p, const Config *cfg, int b, int k)
{
    const double *e = p->edges + b;
    double hz = (double)k * cfg->sample_rate / cfg->n_fft;
    /* The triangle is the lower of its rising and its falling line; outside of it that is negative. */
    double up = (hz - e[0]) / (e[1] - e[0]), down = (e[2] - hz) / (e[2] - e[1]);
    double w = up < down ? up : down;
    /* Slaney's norm: unit area, so a height of 2 / width. */
    return w > 0.0 ? w * 2.0 / (e[2] - e[0]) : 0.0;
}

/* The bins with a weight in band b, which are neighbours; count is 0 when the band falls between two bins. */
static MelBand band_bins(const MelPlan *p, const Config *cfg, int b)
{
    MelBand band = {0};
    for (int k = 0; k <= cfg->n_fft / 2; k++) {
        if (bin_weight(p, cfg, b, k) <= 0.0)
            continue;
        if (band.count == 0)
            band.first = k;
        band.count = k - band.first + 1;
    }
    return band;
}

/* The bands' weights, sparse for the kernels and dense for mel_filterbank(). 0 or ERR_NOMEM. */
static int fill_bands(MelPlan *p, const Config *cfg)
{
    int n_weights = 0;
    for (int b = 0; b < cfg->n_mels; b++) {
        MelBand *band = &p->t.bands[b];
        *band = band_bins(p, cfg, b);
        band->weight = n_weights;
        n_weights += band->count;
        /* n_bins is one more than the highest bin of any band; bins above it are not computed. */
        if (band->first + band->count > p->t.n_bins)
            p->t.n_bins = band->first + band->count;
    }
    p->t.weights = mem_calloc((size_t)n_weights + 1, sizeof *p->t.weights); /* + 1: never zero bytes */
    if (!p->t.weights)
        return ERR_NOMEM;
    for (int b = 0; b < cfg->n_mels; b++) {
        const MelBand *band = &p->t.bands[b];
        double *sparse = p->t.weights + band->weight;
        float *dense = p->filterbank + (size_t)b * (size_t)(cfg->n_fft / 2 + 1) + band->first;
        for (int i = 0; i < band->count; i++) {
            sparse[i] = bin_weight(p, cfg, b, band->first + i);
            dense[i] = (float)sparse[i];
        }
    }
    return 0;
}

/* A periodic Hann window of win samples with maximum `peak`, centred in the frame. */
static void fill_window(double *window, int n_fft, int win, double peak)
{
    int at = (n_fft - win) / 2;
    for (int i = 0; i < win; i++)
        window[at + i] = 0.5 * peak * (1.0 - cos(2.0 * M_PI * i / win));
}

/* MelWork.across holds the samples of a group transposed, sample i of the group at [i % hop][i / hop]. Frame
 * l begins at sample l * hop, so its sample j is at [j % hop][j / hop + l]: sample j of all frames is one
 * vector, and offset[j] is where that begins. 0 or ERR_NOMEM. */
static int fill_offsets(MelTables *t)
{
    /* Without a transposition (offset stays NULL) the kernels gather their samples one by one. */
    if (t->n_fft % t->hop != 0 || !t->packed)
        return 0;
    /* Rounded up, because the kernels store several columns at once and may run past the last. */
    t->row_stride = (int)round_up((uint64_t)(MEL_MAX_LANES + t->n_fft / t->hop - 1), 8);
    t->offset = mem_calloc((size_t)t->n_fft, sizeof *t->offset);
    if (!t->offset)
        return ERR_NOMEM;
    for (int j = 0; j < t->n_fft; j++)
        t->offset[j] = j % t->hop * t->row_stride + j / t->hop;
    return 0;
}

static int check_settings(const Config *cfg, Err *err)
{
    if (cfg->n_fft < 2 || cfg->hop_length < 1 || cfg->n_mels < 1 || cfg->sample_rate < 1) {
        err_set(err, ERR_CONFIG,
                "cannot compute a mel with n_fft %d, hop_length %d, n_mels %d, sample_rate %d", cfg->n_fft,
                cfg->hop_length, cfg->n_mels, cfg->sample_rate);
        return err_hint(err, "n_fft must be at least 2, the others at least 1");
    }
    if (cfg->win_length < 1 || cfg->win_length > cfg->n_fft)
        return err_set(err, ERR_CONFIG, "win_length is %d, but must be 1 to n_fft (%d)", cfg->win_length,
                       cfg->n_fft);
    /* Negated comparisons, so that NaN is refused too. */
    if (!(cfg->mel_fmin >= 0.0) || !(cfg->mel_fmax > cfg->mel_fmin)) {
        err_set(err, ERR_CONFIG, "there can be no mel bands between %g Hz (mel_fmin) and %g Hz (mel_fmax)",
                cfg->mel_fmin, cfg->mel_fmax);
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
    size_t n_fft = (size_t)cfg->n_fft, bands = (size_t)cfg->n_mels;
    p->t.n_fft = cfg->n_fft;
    p->t.hop = cfg->hop_length;
    p->t.n_bands = cfg->n_mels;
    /* A frame of even length is transformed as half as many complex points: the even samples are their real
     * parts, the odd ones their imaginary parts. */
    p->t.packed = cfg->n_fft % 2 == 0;
    p->t.window = mem_calloc(n_fft, sizeof(double));
    p->t.unpack_twiddles = mem_calloc(2 * (n_fft / 4 + 1), sizeof(double));
    p->t.bands = mem_calloc(bands, sizeof *p->t.bands);
    p->filterbank = mem_calloc(bands * (n_fft / 2 + 1), sizeof(float));
    p->edges = mem_calloc(bands + 2, sizeof(double));
    if (!p->t.window || !p->t.unpack_twiddles || !p->t.bands || !p->filterbank || !p->edges)
        goto no_memory;
    rc = fft_plan_open(&p->t.fft, p->t.packed ? cfg->n_fft / 2 : cfg->n_fft, err);
    if (rc)
        goto fail;
    /* Unpacking the spectrum needs a factor of 1/2; the window carries it. */
    fill_window(p->t.window, cfg->n_fft, cfg->win_length, p->t.packed ? 0.5 : 1.0);
    /* exp(-2 pi i k / n_fft). A quarter turn is enough, since each twiddle serves two mirrored bins. */
    for (size_t k = 0; k <= n_fft / 4; k++) {
        p->t.unpack_twiddles[2 * k] = cos(2.0 * M_PI * (double)k / (double)n_fft);
        p->t.unpack_twiddles[2 * k + 1] = -sin(2.0 * M_PI * (double)k / (double)n_fft);
    }
    fill_edges(p, cfg);
    if (fill_bands(p, cfg) || fill_offsets(&p->t))
        goto no_memory;
    mel_use_instructions(p, NULL); /* the widest that this processor has */
    *out = p;
    return 0;
no_memory:
    rc = err_set(err, ERR_NOMEM, "no memory for the mel plan (n_fft %d, %d bands)", cfg->n_fft, cfg->n_mels);
fail:
    mel_plan_close(p);
    return rc;
}

void mel_plan_close(MelPlan *p)
{
    if (!p)
        return;
    fft_plan_close(&p->t.fft);
    free(p->t.window);
    free(p->t.offset);
    free(p->t.unpack_twiddles);
    free(p->t.bands);
    free(p->t.weights);
    free(p->filterbank);
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
    /* Large enough for the widest kernel, so that any may be chosen later. */
    const size_t point = 2 * MEL_MAX_LANES; /* doubles of one complex point in all lanes */
    /* + 1: never zero bytes, and bin 0 is computed even when no band uses it. */
    const size_t across = (size_t)t->hop * (size_t)t->row_stride + 1, bins = (size_t)t->n_bins + 1;
    s->work.across = mem_aligned(64, across, sizeof(float));
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

/* As many frames as fit into the clip with n_fft / 2 samples of padding at both ends. */
static int64_t frames_of(int64_t n, int n_fft, int hop)
{
    if (n <= 0)
        return 0;
    /* The last sample of the padded clip at which a frame may begin: n + 2 * (n_fft / 2) - n_fft. */
    int64_t last_start = n - n_fft % 2;
    return 1 + last_start / hop;
}

int64_t mel_frames(const MelPlan *p, int64_t n) { return frames_of(n, p->t.n_fft, p->t.hop); }
int64_t mel_frames_with(const Config *cfg, int64_t n) { return frames_of(n, cfg->n_fft, cfg->hop_length); }

int mel_bands(const MelPlan *p) { return p->t.n_bands; }
const float *mel_filterbank(const MelPlan *p) { return p->filterbank; }
const double *mel_edges(const MelPlan *p) { return p->edges; }
const MelTables *mel_tables(const MelPlan *p) { return &p->t; }

int mel_use_instructions(MelPlan *p, const char *instructions)
{
    /* The widest first. */
    static const MelVariant *const variants[] = {
#if VARIANT_X86
        &mel_kernel_avx512,
        &mel_kernel_avx2,
#endif
        &mel_kernel_plain,
    };
    for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++)
        if (variant_fits(variants[i]->name, instructions)) {
            p->variant = variants[i];
            return 1;
        }
    return 0;
}

/* Copies samples [first, first + count) of the clip; those past its ends are reflected. */
static void copy_reflected(float *to, const float *samples, int64_t n, int64_t first, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        int64_t at = first + i;
        if (at < 0 || at >= n)
            at = mel_reflect(at, n); /* costs a division: only for the few samples past the ends */
        to[i] = samples[at];
    }
}

void mel_compute(const MelPlan *p, MelScratch *s, float *out, const float *samples, int64_t n)
{
    const MelTables *t = &p->t;
    const int lanes = p->variant->lanes;
    const int64_t frames = mel_frames(p, n), span = (int64_t)(lanes - 1) * t->hop + t->n_fft;
    for (int64_t f = 0; f < frames; f += lanes) {
        /* Groups within the clip are read in place, those past its ends from a padded copy. */
        int64_t first = f * t->hop - t->n_fft / 2;
        const float *segment = s->segment;
        if (first >= 0 && first + span <= n)
            segment = samples + first;
        else
            copy_reflected(s->segment, samples, n, first, span);
        p->variant->run(t, &s->work, segment);
        /* The last group may have fewer frames than lanes. */
        int valid = frames - f < lanes ? (int)(frames - f) : lanes;
        for (int l = 0; l < valid; l++)
            for (int b = 0; b < t->n_bands; b++)
                out[(f + l) * t->n_bands + b] = s->work.result[b * lanes + l];
    }
}
