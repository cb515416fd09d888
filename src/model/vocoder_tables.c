/* vocoder_tables.c - the constants of a vocoder, computed on the host and copied to the device as one piece.
 */
#include "model/vocoder_tables.h"

#include <stdlib.h>
#include <string.h>

#include "audio/mel.h"
#include "base/bytes.h"
#include "model/vocoder.h"

#define PIECE 256        /* bytes: where every array begins */
#define LEAST_COVER 1e-3 /* a bin with less of all bands over it has those of its neighbour */
#define TRANSFORMS (VOCODER_LOSSES + 2)
#define MATRICES (VOCODER_LOSSES + 2) /* of the losses, the spread, and the mel */

/* The longest first: rows of different size on the device are longest together. */
static const struct {
    int n, bands;
} losses[VOCODER_LOSSES] = {{2048, 80}, {1024, 80}, {512, 40}, {256, 20}};

/* ---- weighted sums ---- */

/* Sums over rows of a dense matrix [count, columns], as far as its numbers are not 0. */
typedef struct Dense {
    const float *weights;
    int count, columns;
} Dense;

static void extent(const Dense *d, int row, int *first, int *width)
{
    const float *w = d->weights + (size_t)row * (size_t)d->columns;
    int from = 0, to = d->columns;
    while (from < to && w[from] == 0)
        from++;
    while (to > from && w[to - 1] == 0)
        to--;
    *first = from < d->columns ? from : 0;
    *width = to - from;
}

/* Lays the arrays out behind *used; with an image they are written there. */
static BandsAt pack(const Dense *d, uint8_t *image, size_t *used)
{
    BandsAt at = {.count = d->count};
    const size_t ints = round_up((size_t)d->count * sizeof(int32_t), PIECE);
    int32_t all = 0;
    at.first = *used;
    at.width = at.first + ints;
    at.at = at.width + ints;
    at.weights = at.at + ints;
    for (int i = 0; i < d->count; i++) {
        int first, width;
        extent(d, i, &first, &width);
        if (image) {
            ((int32_t *)(void *)(image + at.first))[i] = first;
            ((int32_t *)(void *)(image + at.width))[i] = width;
            ((int32_t *)(void *)(image + at.at))[i] = all;
            memcpy((float *)(void *)(image + at.weights) + all,
                   d->weights + (size_t)i * (size_t)d->columns + first, (size_t)width * sizeof(float));
        }
        all += width;
    }
    *used = at.weights + round_up((size_t)all * sizeof(float), PIECE);
    return at;
}

/* ---- the matrices ---- */

/* The bands of one resolution of the loss, up to half of the sample rate. */
static int open_loss(MelPlan **p, const Config *cfg, int i, Err *err)
{
    Config of = *cfg;
    of.n_fft = of.win_length = losses[i].n;
    of.hop_length = losses[i].n / 4;
    of.n_mels = losses[i].bands;
    of.mel_fmin = 0;
    of.mel_fmax = cfg->sample_rate / 2.0;
    return mel_plan_open(p, &of, err);
}

/* The magnitude of a bin, guessed from the bands over it: every band is taken as flat, so that its value
 * divided by the sum of its weights is the magnitude inside of it, and where bands overlap they count as high
 * as their triangles stand there. Bins that no band covers have the guess of the nearest that has one. out
 * [bins, bands] of filters [bands, bins]. */
static int spread(float **out, const float *filters, int bands, int bins, Err *err)
{
    double *cover = calloc((size_t)bins, sizeof *cover);
    float *w = *out = calloc((size_t)bins * (size_t)bands, sizeof *w);
    if (!cover || !w) {
        free(cover);
        return err_set(err, ERR_NOMEM, "no memory for the bands of a vocoder");
    }
    for (int b = 0; b < bands; b++) {
        const float *f = filters + (size_t)b * (size_t)bins;
        double sum = 0, most = 0;
        for (int k = 0; k < bins; k++) {
            sum += (double)f[k];
            most = (double)f[k] > most ? (double)f[k] : most;
        }
        for (int k = 0; k < bins && most > 0; k++) {
            double height = (double)f[k] / most;
            cover[k] += height;
            w[(size_t)k * (size_t)bands + (size_t)b] = (float)(height / sum);
        }
    }
    for (int k = 0; k < bins; k++)
        for (int b = 0; b < bands && cover[k] > LEAST_COVER; b++)
            w[(size_t)k * (size_t)bands + (size_t)b] /= (float)cover[k];
    for (int k = 0; k < bins; k++) {
        int nearest = -1;
        for (int j = 0; j < bins && !(cover[k] > LEAST_COVER); j++)
            if (cover[j] > LEAST_COVER && (nearest < 0 || abs(j - k) < abs(nearest - k)))
                nearest = j;
        if (nearest >= 0)
            memcpy(w + (size_t)k * (size_t)bands, w + (size_t)nearest * (size_t)bands,
                   (size_t)bands * sizeof *w);
    }
    free(cover);
    return 0;
}

/* ---- making ---- */

/* All of them; image NULL: only counted. */
static void lay_out(VocoderTables *t, const Dense dense[MATRICES], uint8_t *image)
{
    t->bytes = 0;
    for (int i = 0; i < VOCODER_LOSSES; i++) {
        t->loss[i].n = losses[i].n;
        t->loss[i].hop = losses[i].n / 4;
        t->loss[i].bands = pack(&dense[i], image, &t->bytes);
    }
    t->spread = pack(&dense[VOCODER_LOSSES], image, &t->bytes);
    t->mel = pack(&dense[VOCODER_LOSSES + 1], image, &t->bytes);
}

int vocoder_tables_make(VocoderTables **out, const Config *cfg, Err *err)
{
    MelPlan *plans[VOCODER_LOSSES] = {0}, *own = NULL;
    Dense dense[MATRICES];
    float *over = NULL;
    *out = NULL;
    int rc = 0;
    for (int i = 0; i < VOCODER_LOSSES && !rc; i++) {
        rc = open_loss(&plans[i], cfg, i, err);
        if (!rc)
            dense[i] = (Dense){mel_filterbank(plans[i]), losses[i].bands, losses[i].n / 2 + 1};
    }
    const int bins = cfg->n_fft / 2 + 1;
    if (!rc)
        rc = mel_plan_open(&own, cfg, err);
    if (!rc)
        rc = spread(&over, mel_filterbank(own), cfg->n_mels, bins, err);
    if (!rc) {
        VocoderTables count;
        dense[VOCODER_LOSSES] = (Dense){over, bins, cfg->n_mels};
        dense[VOCODER_LOSSES + 1] = (Dense){mel_filterbank(own), cfg->n_mels, bins};
        lay_out(&count, dense, NULL);
        *out = calloc(1, sizeof **out + count.bytes);
        if (*out)
            lay_out(*out, dense, (*out)->image);
        else
            rc = err_set(err, ERR_NOMEM, "no memory for the tables of a vocoder");
    }
    free(over);
    mel_plan_close(own);
    for (int i = 0; i < VOCODER_LOSSES; i++)
        mel_plan_close(plans[i]);
    return rc;
}

static const VocoderTables *tables(const Model *m) { return m->constants; }

void vocoder_spread_matrix(const Model *m, float *weights)
{
    const BandsAt *at = &tables(m)->spread;
    const uint8_t *image = tables(m)->image;
    const size_t bands = (size_t)m->cfg.n_mels;
    const int32_t *first = (const int32_t *)(const void *)(image + at->first),
                  *width = (const int32_t *)(const void *)(image + at->width),
                  *from = (const int32_t *)(const void *)(image + at->at);
    const float *numbers = (const float *)(const void *)(image + at->weights);
    memset(weights, 0, (size_t)at->count * bands * sizeof *weights);
    for (int k = 0; k < at->count; k++)
        memcpy(weights + (size_t)k * bands + first[k], numbers + from[k], (size_t)width[k] * sizeof *weights);
}

/* ---- on the device ---- */

/* Points of transform i: those of the losses, then that of the sound and that of the mel. */
static int points(const Model *m, int i) { return i < VOCODER_LOSSES ? tables(m)->loss[i].n : m->cfg.n_fft; }

/* Where the tables of transform i begin; of the one behind the last: where they end. */
static uint64_t transform_at(const Model *m, const Ops *ops, int i)
{
    uint64_t at = tables(m)->bytes;
    for (int k = 0; k < i; k++)
        at += round_up(2 * (uint64_t)points(m, k) * ops->acc_bytes, PIECE);
    return at;
}

uint64_t vocoder_tables_bytes(const Model *m, const Ops *ops) { return transform_at(m, ops, TRANSFORMS); }

int vocoder_tables_attach(Model *m, Err *err)
{
    const Ops *ops = m->c->ops;
    const VocoderTables *t = tables(m);
    int rc = m->c->device->ops->copy_in(m->c->stream, m->tables, t->image, t->bytes, err);
    for (int i = 0; i < TRANSFORMS && !rc; i++)
        ops->sound_tables(m->c, m->tables + transform_at(m, ops, i), points(m, i),
                          i < TRANSFORMS - 1 ? points(m, i) : m->cfg.win_length);
    return rc;
}

static SoundBands bands_at(const Model *m, const BandsAt *at)
{
    const uint8_t *p = m->tables;
    return (SoundBands){.count = at->count,
                        .first = (const int32_t *)(const void *)(p + at->first),
                        .width = (const int32_t *)(const void *)(p + at->width),
                        .at = (const int32_t *)(const void *)(p + at->at),
                        .weights = (const float *)(const void *)(p + at->weights),
                        .floor = MEL_FLOOR};
}

SoundBands vocoder_spread(const Model *m) { return bands_at(m, &tables(m)->spread); }
SoundBands vocoder_mel_bands(const Model *m) { return bands_at(m, &tables(m)->mel); }
SoundBands vocoder_bands(const Model *m, int loss) { return bands_at(m, &tables(m)->loss[loss].bands); }

int vocoder_band_count(const Model *m, int loss) { return tables(m)->loss[loss].bands.count; }
int vocoder_hop(const Model *m, int loss) { return tables(m)->loss[loss].hop; }

SoundFrames vocoder_loss_frames(const Model *m, const Ops *ops, int loss)
{
    return (SoundFrames){tables(m)->loss[loss].n, tables(m)->loss[loss].hop,
                         m->tables + transform_at(m, ops, loss)};
}

SoundFrames vocoder_frames(const Model *m, const Ops *ops)
{
    return (SoundFrames){m->cfg.n_fft, m->cfg.hop_length, m->tables + transform_at(m, ops, VOCODER_LOSSES)};
}

SoundFrames vocoder_mel_frames(const Model *m, const Ops *ops)
{
    return (SoundFrames){m->cfg.n_fft, m->cfg.hop_length, m->tables + transform_at(m, ops, TRANSFORMS - 1)};
}
