/* mel_producer.c - audio -> log mel and pitch: the producer of the mel cache. */
#include <math.h>
#include <stdlib.h>

#include "audio/mel.h"
#include "audio/pitch.h"
#include "base/hash.h"
#include "cache/builder/clip.h"
#include "cache/builder/producers.h"
#include "cache/features.h"
#include "cache/mel_features.h"

#define FORGET_EVERY 64 /* entries looked at before their memory is given back */

typedef struct MelWorker { /* of one thread */
    const Config *cfg;
    MelPlan *plan;
    PitchPlan *pitch_plan;
    int owns_plans; /* the first worker's; the others share them */
    MelScratch *scratch;
    PitchScratch *pitch_scratch;
    ClipReader clip;
    float *mel, *pitch;
    size_t mel_cap, pitch_cap;
} MelWorker;

/* A rejection that was kept as a record stands as well as a mel. */
static int is_usable(const StoreEntry *e)
{
    MelView v;
    return e->status != 0 || mel_view(&v, e) == 0;
}

/* ---- work ---- */

static void close_worker(void *worker)
{
    MelWorker *w = worker;
    if (!w)
        return;
    mel_scratch_close(w->scratch);
    pitch_scratch_close(w->pitch_scratch);
    clip_reader_close(&w->clip);
    /* Workers are closed in reverse order, so these are no longer in use. */
    if (w->owns_plans) {
        mel_plan_close(w->plan);
        pitch_plan_close(w->pitch_plan);
    }
    free(w->mel);
    free(w->pitch);
    free(w);
}

/* Plans hold tables and are read-only; scratch is for one thread. */
static int open_plans(MelWorker *w, const MelWorker *first, Err *err)
{
    if (first) {
        w->plan = first->plan;
        w->pitch_plan = first->pitch_plan;
        return 0;
    }
    w->owns_plans = 1;
    int rc = mel_plan_open(&w->plan, w->cfg, err);
    return rc ? rc : pitch_plan_open(&w->pitch_plan, w->cfg, err);
}

static int open_worker(void **out, const void *first, const Config *cfg, Err *err)
{
    *out = NULL;
    MelWorker *w = mem_calloc(1, sizeof *w);
    if (!w)
        return err_set(err, ERR_NOMEM, "no memory for a worker of the mel cache");
    w->cfg = cfg;
    int rc = open_plans(w, first, err);
    if (!rc)
        rc = mel_scratch_open(&w->scratch, w->plan, err);
    if (!rc)
        rc = pitch_scratch_open(&w->pitch_scratch, w->pitch_plan, err);
    if (!rc)
        rc = clip_reader_open(&w->clip, cfg, err);
    if (rc) {
        close_worker(w);
        return rc;
    }
    *out = w;
    return 0;
}

/* Mel and pitch of n samples into the payload. 0 or ERR_NOMEM. */
static int encode(MelWorker *w, Produced *out, const float *samples, int64_t n)
{
    int64_t frames = mel_frames(w->plan, n);
    int bands = mel_bands(w->plan);
    if (frames > UINT32_MAX / 2 ||
        mem_grow(&w->mel, &w->mel_cap, (size_t)frames * (size_t)bands, sizeof *w->mel) ||
        mem_grow(&w->pitch, &w->pitch_cap, (size_t)frames, sizeof *w->pitch))
        return ERR_NOMEM;
    mel_compute(w->plan, w->scratch, w->mel, samples, n);
    if (pitch_compute(w->pitch_plan, w->pitch_scratch, w->pitch, NULL, samples, n))
        return ERR_NOMEM;
    out->items = (uint32_t)frames;
    out->format = mel_format(w->cfg->mel_storage, bands);
    int rc = mel_encode_payload(&out->payload, w->mel, w->pitch, frames, bands, w->cfg->mel_storage);
    return rc ? rc : mel_encode_measure(&out->payload, &w->clip.measure);
}

/* The first thing that goes wrong is the reason. */
static void produce(void *worker, Produced *out, const ProducerInput *in)
{
    MelWorker *w = worker;
    const float *samples;
    int64_t n;
    clip_read(&w->clip, &samples, &n, out, in);
    if (out->reason == REJECT_NONE && encode(w, out, samples, n))
        clip_no_memory(out);
}

/* ---- the blob: statistics of the corpus ---- */

static int no_memory_for_statistics(Err *err)
{
    return err_set(err, ERR_NOMEM, "no memory for the statistics");
}

/* The clips that count, by their keys alone: the same set has the same statistics. */
static int hash_of_set(const NewState *s, uint64_t *set, Err *err)
{
    Hasher h;
    int rc = hasher_open(&h) ? no_memory_for_statistics(err) : 0;
    if (rc)
        return rc;
    for (uint64_t i = 0; i < store_build_count(s->build) && !rc; i++) {
        StoreEntry e;
        rc = store_build_entry(s->build, i, &e, err);
        if (!rc && s->accepted[i])
            hasher_bytes(&h, &e.key, sizeof e.key);
    }
    *set = hasher_close(&h).lo;
    return rc;
}

/* Adds up the sums of the clips that count, in entry order, so that the result never depends on who finished
 * first. sums [2 * bands + 2]: as in the records, the pitch at the end. */
static int add_sums(const NewState *s, MelStatistics *head, double *sums, Err *err)
{
    size_t bands = head->bands;
    for (uint64_t i = 0; i < store_build_count(s->build); i++) {
        StoreEntry e;
        MelView v;
        int rc = store_build_entry(s->build, i, &e, err);
        if (rc)
            return rc;
        if (!s->accepted[i] || mel_view(&v, &e) || v.bands != bands)
            continue;
        if (i % FORGET_EVERY == 0) /* each look maps a piece of the segment */
            store_build_forget(s->build);
        head->clips++;
        head->frames += v.frames;
        for (size_t b = 0; b < bands; b++) {
            sums[b] += v.sum[b];
            sums[bands + b] += v.sum_squares[b];
        }
        sums[2 * bands] += v.pitch_sums[0];
        sums[2 * bands + 1] += v.pitch_sums[1];
    }
    return 0;
}

/* Turns sum and sum of squares into mean and deviation. */
static void finish_sums(double *sum, double *squares, uint64_t frames)
{
    double n = frames ? (double)frames : 1, average = *sum / n, variance = *squares / n - average * average;
    *sum = average;
    *squares = variance > 0 ? sqrt(variance) : 0;
}

/* Mean and deviation per band and of the pitch over the clips that are accepted so far: a function of the
 * dataset and the settings, not of earlier runs. */
static int describe(const NewState *s, Buf *blob, Err *err)
{
    const Config *cfg = s->cfg;
    MelStatistics head = {.bands = (uint32_t)cfg->n_mels,
                          .sample_rate = (uint32_t)cfg->sample_rate,
                          .n_fft = (uint32_t)cfg->n_fft,
                          .win_length = (uint32_t)cfg->win_length,
                          .hop_length = (uint32_t)cfg->hop_length,
                          .fmin = cfg->mel_fmin,
                          .fmax = cfg->mel_fmax};
    MelStatistics before;
    const double *mean, *deviation;
    int rc = hash_of_set(s, &head.set, err);
    if (rc)
        return rc;
    if (s->old && hash_equal(s->old->settings, s->settings) &&
        mel_statistics(&before, &mean, &deviation, s->old) == 0 && before.set == head.set) {
        buf_add(blob, s->old->blob, s->old->blob_size);
        return blob->failed ? no_memory_for_statistics(err) : 0;
    }
    size_t bands = head.bands;
    double *sums = mem_calloc(bands * 2 + 2, sizeof *sums);
    rc = sums ? add_sums(s, &head, sums, err) : no_memory_for_statistics(err);
    for (size_t b = 0; b < bands && !rc; b++)
        finish_sums(&sums[b], &sums[bands + b], head.frames);
    if (!rc) {
        finish_sums(&sums[2 * bands], &sums[2 * bands + 1], head.frames);
        head.pitch_mean = sums[2 * bands];
        head.pitch_deviation = sums[2 * bands + 1];
        buf_add(blob, &head, sizeof head);
        buf_add(blob, sums, bands * 2 * sizeof *sums);
        rc = blob->failed ? no_memory_for_statistics(err) : 0;
    }
    free(sums);
    return rc;
}

const Producer mel_producer = {.store = MEL_STORE,
                               .unit = "clips",
                               .from_audio = 1,
                               .settings = mel_settings_hash,
                               .key = clip_key,
                               .is_usable = is_usable,
                               .open = open_worker,
                               .close = close_worker,
                               .produce = produce,
                               .accept = clip_accept,
                               .describe = describe};
