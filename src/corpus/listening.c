/* listening.c - see listening.h. Sound comes in pieces, is resampled, and becomes log-mels in blocks of some
 * seconds. A block overlaps its neighbours by two frames, so that its edges do not show. */
#include "corpus/listening.h"

#include <math.h>
#include <soxr.h>
#include <stdlib.h>
#include <string.h>

#include "audio/mel.h"
#include "base/check.h"
#include "base/mem.h"
#include "cache/half.h"
#include "corpus/recording.h"

enum {
    BANDS = 26,
    HOP = LISTEN_RATE / LISTEN_LEVEL_HZ,
    EDGE = 2,                    /* frames of 10 ms computed beyond each side of a block and not used */
    BLOCK = 1000,                /* frames of 10 ms */
    NEAR = 20 * LISTEN_LEVEL_HZ, /* levels among which loud and soft are told apart */
};

typedef struct Ear {
    MelPlan *plan;
    MelScratch *scratch;
    soxr_t resampler;
    float *samples; /* not yet heard, at LISTEN_RATE; begins EDGE frames before the next frame, or at 0 */
    size_t cap;
    int64_t count, first;   /* first: frame of 10 ms that samples[0] is the centre of */
    float *mel, *resampled; /* [BLOCK + 2 * EDGE + 1, BANDS] */
    size_t resampled_cap;
    float dct[LISTEN_CEPSTRA][BANDS];
} Ear;

static void ear_close(Ear *e)
{
    mel_scratch_close(e->scratch);
    mel_plan_close(e->plan);
    if (e->resampler)
        soxr_delete(e->resampler);
    free(e->samples);
    free(e->mel);
    free(e->resampled);
    *e = (Ear){0};
}

static int ear_open(Ear *e, int rate, Err *err)
{
    const Config cfg = {.sample_rate = LISTEN_RATE,
                        .n_fft = 512,
                        .win_length = 400,
                        .hop_length = HOP,
                        .n_mels = BANDS,
                        .mel_fmin = 100,
                        .mel_fmax = 7600};
    soxr_error_t bad = NULL;
    *e = (Ear){0};
    for (int c = 0; c < LISTEN_CEPSTRA; c++)
        for (int b = 0; b < BANDS; b++)
            e->dct[c][b] = (float)(sqrt((c ? 2.0 : 1.0) / BANDS) * cos(M_PI * c * (b + 0.5) / BANDS));
    int rc = mel_plan_open(&e->plan, &cfg, err);
    if (!rc)
        rc = mel_scratch_open(&e->scratch, e->plan, err);
    if (rc)
        return rc;
    if (rate != LISTEN_RATE)
        e->resampler = soxr_create(rate, LISTEN_RATE, 1, &bad, NULL, NULL, NULL);
    e->mel = mem_calloc((BLOCK + 2 * EDGE + 2) * BANDS, sizeof *e->mel);
    return e->mel && !bad ? 0 : err_set(err, ERR_NOMEM, "no memory to listen to a recording");
}

static uint8_t level_of(const float *mel)
{
    double sum = 0;
    for (int b = 0; b < BANDS; b++)
        sum += exp(2.0 * (double)mel[b]);
    double half_decibels = 2.0 * (10.0 * log10(sum / BANDS + 1e-12) + 100.0);
    return (uint8_t)(half_decibels < 0 ? 0 : half_decibels > 255 ? 255 : half_decibels + 0.5);
}

/* An even number of mel frames becomes levels and cepstra. */
static int keep(Listening *h, const Ear *e, const float *mel, int64_t count, Err *err)
{
    const size_t frames = (size_t)h->frames, more = (size_t)count / 2;
    if (mem_grow(&h->cepstra, &h->cepstra_cap, (frames + more) * LISTEN_CEPSTRA, sizeof *h->cepstra) ||
        mem_grow(&h->level, &h->level_cap, 2 * (frames + more), sizeof *h->level))
        return err_set(err, ERR_NOMEM, "no memory for what was heard (%.1f hours so far)",
                       (double)h->frames / LISTEN_HZ / 3600);
    for (size_t i = 0; i < more; i++) {
        const float *a = mel + 2 * i * BANDS, *b = a + BANDS;
        float c[LISTEN_CEPSTRA] = {0};
        for (int k = 0; k < LISTEN_CEPSTRA; k++)
            for (int j = 0; j < BANDS; j++)
                c[k] += e->dct[k][j] * 0.5f * (a[j] + b[j]);
        half_from_float(h->cepstra + (frames + i) * LISTEN_CEPSTRA, c, LISTEN_CEPSTRA);
        h->level[2 * (frames + i)] = level_of(a);
        h->level[2 * (frames + i) + 1] = level_of(b);
    }
    h->frames += (int64_t)more;
    return 0;
}

/* Turns what has come so far into frames; at the end also the rest. */
static int ear_digest(Ear *e, Listening *h, int at_end, Err *err)
{
    for (;;) {
        const int64_t front = e->first ? EDGE : 0; /* frames in front that were given out already */
        const int64_t need = (front + BLOCK + EDGE) * HOP;
        const int last = e->count < need;
        if (last && !at_end)
            return 0;
        int64_t count = last ? (e->count / HOP - front) & ~INT64_C(1) : BLOCK;
        if (count <= 0)
            return 0;
        mel_compute(e->plan, e->scratch, e->mel, e->samples, last ? e->count : need);
        int rc = keep(h, e, e->mel + front * BANDS, count, err);
        if (rc || last)
            return rc;
        const int64_t drop = (front + BLOCK - EDGE) * HOP;
        memmove(e->samples, e->samples + drop, (size_t)(e->count - drop) * sizeof *e->samples);
        e->count -= drop;
        e->first = 1;
    }
}

/* samples NULL: the end. */
static int ear_take(Ear *e, Listening *h, const float *samples, int64_t n, int rate, Err *err)
{
    const int at_end = !samples;
    size_t done = 0;
    if (e->resampler) {
        const size_t room = (size_t)((double)n * LISTEN_RATE / rate) + 4096;
        if (mem_grow(&e->resampled, &e->resampled_cap, room, sizeof *e->resampled))
            return err_set(err, ERR_NOMEM, "no memory to resample a recording");
        if (soxr_process(e->resampler, samples, (size_t)n, NULL, e->resampled, room, &done))
            return err_set(err, ERR_NOMEM, "no memory to resample a recording");
        samples = e->resampled;
        n = (int64_t)done;
    }
    if (mem_grow(&e->samples, &e->cap, (size_t)(e->count + n), sizeof *e->samples))
        return err_set(err, ERR_NOMEM, "no memory to listen to a recording");
    if (n)
        memcpy(e->samples + e->count, samples, (size_t)n * sizeof *samples);
    e->count += n;
    return ear_digest(e, h, at_end, err);
}

static ListenedFile *begin_file(Listening *h, const char *path, int rate)
{
    if (mem_grow(&h->files, &h->file_cap, (size_t)h->file_count + 1, sizeof *h->files))
        return NULL;
    ListenedFile *f = &h->files[h->file_count++];
    *f = (ListenedFile){.path = path, .first = h->frames, .rate = rate};
    return f;
}

int listening_add(Listening *h, const char *path, Progress *progress, Log *log, Err *err)
{
    Recording *r = NULL;
    Ear e = {0};
    ListenedFile *f = NULL;
    double told = 0;
    int rc = recording_open(&r, path, err);
    if (!rc)
        rc = ear_open(&e, recording_rate(r), err);
    if (!rc && !(f = begin_file(h, path, recording_rate(r))))
        rc = err_set(err, ERR_NOMEM, "no memory for a recording");
    while (!rc) {
        const float *samples;
        int64_t n;
        recording_next(r, &samples, &n);
        rc = ear_take(&e, h, n ? samples : NULL, n, f->rate, err);
        f->samples += n;
        for (; progress && told + 1 < (double)f->samples / f->rate; told++)
            progress_add(progress, 1);
        if (n == 0)
            break;
    }
    if (!rc) {
        f->frames = h->frames - f->first;
        f->damaged = recording_damage(r) != NULL;
        if (f->damaged)
            log_warn(log, "%s: %s", path, recording_damage(r));
    }
    ear_close(&e);
    recording_close(r);
    return rc;
}

int listening_add_samples(Listening *h, const int16_t *samples, int64_t n, int rate, Err *err)
{
    Ear e = {0};
    float *x = mem_calloc((size_t)n + 1, sizeof *x);
    ListenedFile *f = begin_file(h, NULL, rate);
    int rc = x && f ? ear_open(&e, rate, err) : err_set(err, ERR_NOMEM, "no memory for speech");
    for (int64_t i = 0; !rc && i < n; i++)
        x[i] = (float)samples[i] / 32768.0f;
    if (!rc)
        rc = ear_take(&e, h, x, n, rate, err);
    if (!rc)
        rc = ear_take(&e, h, NULL, 0, rate, err);
    if (!rc) {
        f->frames = h->frames - f->first;
        f->samples = n;
    }
    ear_close(&e);
    free(x);
    return rc;
}

/* The level that `share` of the levels are below. */
static double quantile(const int64_t counts[256], double share)
{
    int64_t all = 0, sum = 0;
    for (int i = 0; i < 256; i++)
        all += counts[i];
    for (int i = 0; i < 256; i++) {
        sum += counts[i];
        if ((double)sum > share * (double)all)
            return i;
    }
    return 255;
}

/* Marks what is quiet for its neighbourhood: nearer to the soft than to the loud levels around. The level of
 * three neighbours is averaged first. */
static void mark_quiet(Listening *h, const ListenedFile *f)
{
    const int64_t begin = 2 * f->first, end = 2 * (f->first + f->frames);
    for (int64_t at = begin; at < end; at += NEAR / 4) {
        const int64_t from = at - NEAR / 2 < begin ? begin : at - NEAR / 2,
                      to = at + NEAR * 3 / 4 > end ? end : at + NEAR * 3 / 4;
        int64_t counts[256] = {0};
        for (int64_t i = from; i < to; i++)
            counts[h->level[i]]++;
        const double soft = quantile(counts, 0.05), loud = quantile(counts, 0.95);
        double limit = soft + fmax(0.3 * (loud - soft), 12.0); /* at least 6 dB above what is softest */
        if (loud - soft < 16.0)
            limit = soft + 0.5 * (loud - soft); /* all alike: hum, music, silence */
        if (loud < 40.0)
            limit = 255; /* below -80 dB there is nothing to hear */
        for (int64_t i = at; i < end && i < at + NEAR / 4; i++) {
            double mean = h->level[i];
            mean += i > begin ? h->level[i - 1] : h->level[i];
            mean += i + 1 < end ? h->level[i + 1] : h->level[i];
            h->quiet[i] = mean / 3.0 < limit;
        }
    }
}

static int list_pauses(Listening *h, const ListenedFile *f, int64_t shortest)
{
    const int64_t begin = 2 * f->first, end = 2 * (f->first + f->frames);
    for (int64_t i = begin; i < end;) {
        int64_t n = 1;
        while (i + n < end && h->quiet[i + n] == h->quiet[i])
            n++;
        if (h->quiet[i] && n >= shortest) {
            if (mem_grow(&h->pauses, &h->pause_cap, (size_t)h->pause_count + 1, sizeof *h->pauses))
                return ERR_NOMEM;
            h->pauses[h->pause_count++] = (Pause){i, i + n};
        } else if (h->quiet[i]) {
            memset(h->quiet + i, 0, (size_t)n);
        }
        i += n;
    }
    return 0;
}

static void measure_voice(Listening *h)
{
    double sum[LISTEN_CEPSTRA] = {0}, square[LISTEN_CEPSTRA] = {0}, n = 0;
    for (int64_t t = 0; t < h->frames; t++) {
        float c[LISTEN_CEPSTRA];
        if (h->quiet[2 * t] || h->quiet[2 * t + 1])
            continue;
        half_to_float(c, h->cepstra + t * LISTEN_CEPSTRA, LISTEN_CEPSTRA);
        for (int k = 0; k < LISTEN_CEPSTRA; k++) {
            sum[k] += (double)c[k];
            square[k] += (double)c[k] * (double)c[k];
        }
        n++;
    }
    for (int k = 0; k < LISTEN_CEPSTRA; k++) {
        const double mean = n ? sum[k] / n : 0, var = n ? square[k] / n - mean * mean : 1;
        h->mean[k] = (float)mean;
        h->scale[k] = (float)(1.0 / sqrt(fmax(var, 1e-3)));
    }
}

int listening_find_pauses(Listening *h, double shortest, Err *err)
{
    free(h->quiet);
    h->pause_count = 0;
    h->quiet = mem_calloc((size_t)(2 * h->frames) + 1, 1);
    if (!h->quiet)
        return err_set(err, ERR_NOMEM, "no memory for pauses");
    for (int i = 0; i < h->file_count; i++) {
        mark_quiet(h, &h->files[i]);
        if (list_pauses(h, &h->files[i], (int64_t)(shortest * LISTEN_LEVEL_HZ + 0.5)))
            return err_set(err, ERR_NOMEM, "no memory for pauses");
    }
    measure_voice(h);
    return 0;
}

void listening_close(Listening *h)
{
    free(h->files);
    free(h->cepstra);
    free(h->level);
    free(h->quiet);
    free(h->pauses);
    *h = (Listening){0};
}

static void normal(const Listening *h, int64_t frame, float *out)
{
    frame = frame < 0 ? 0 : frame >= h->frames ? h->frames - 1 : frame;
    half_to_float(out, h->cepstra + frame * LISTEN_CEPSTRA, LISTEN_CEPSTRA);
    for (int k = 0; k < LISTEN_CEPSTRA; k++)
        out[k] = (out[k] - h->mean[k]) * h->scale[k];
}

/* The change is the slope of a line through five frames. */
void listening_feature(const Listening *h, int64_t frame, float *out)
{
    float near[5][LISTEN_CEPSTRA];
    for (int i = 0; i < 5; i++)
        normal(h, frame + i - 2, near[i]);
    for (int k = 0; k < LISTEN_CEPSTRA; k++) {
        out[k] = near[2][k];
        out[LISTEN_CEPSTRA + k] = 0.4f * (near[4][k] - near[0][k]) + 0.2f * (near[3][k] - near[1][k]);
    }
}

int64_t listening_pause_at(const Listening *h, int64_t level)
{
    int64_t low = 0, high = h->pause_count;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (h->pauses[middle].end <= level)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const ListenedFile *listening_file_of(const Listening *h, int64_t frame)
{
    int i = h->file_count - 1;
    while (i > 0 && h->files[i].first > frame)
        i--;
    return &h->files[i];
}

double listening_contrast(const Listening *h, int64_t begin, int64_t end)
{
    const ListenedFile *f = listening_file_of(h, begin / 2);
    const int64_t first = 2 * f->first, last = 2 * (f->first + f->frames);
    const int64_t from = begin - LISTEN_LEVEL_HZ < first ? first : begin - LISTEN_LEVEL_HZ,
                  to = end + LISTEN_LEVEL_HZ > last ? last : end + LISTEN_LEVEL_HZ;
    int64_t loud[256] = {0}, soft[256] = {0};
    int any = 0;
    for (int64_t i = from; i < to; i++) {
        if (h->quiet[i])
            soft[h->level[i]]++;
        else if (i >= begin && i < end)
            loud[h->level[i]]++;
        any |= h->quiet[i];
    }
    return any ? (quantile(loud, 0.7) - quantile(soft, 0.5)) / 2.0 : 0.0;
}
