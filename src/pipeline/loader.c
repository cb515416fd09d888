/* loader.c - see loader.h. */
#include "pipeline/loader.h"

#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audio/process.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/thread.h"
#include "dataset/audio_file.h"
#include "pipeline/policy.h"
#include "pipeline/preprocess.h"
#include "pipeline/preprocess_math.h"

#define TIMED_EVERY \
    4 /* of the quick rows from the cache one in so many is timed, and counts for all of them */
#define CLOSE_SECONDS 3.0
#define MAX_AUDIO_FILE ((size_t)1 << 30)
#define REFERENCE_SALT 0x7265666572656e63u /* keeps its numbers apart from those of the augmentation */

/* What is known of an utterance's records; bits of Loader.known. */
enum { RECORD_WHOLE = 1, RECORD_DAMAGED = 2, RECORD_NAMED = 4 };

typedef struct Worker {
    Loader *loader;
    Thread thread;
    _Atomic uint64_t busy_since; /* ns; 0 = not in a row */
    _Atomic uint32_t item;       /* corpus item it is working on */
    _Atomic int finished;
    AudioProcessor *processor; /* on_the_fly only */
    AudioBuffer audio;
    Buf bytes;
    Preprocess *preprocess; /* where the data device is the CPU */
    float *pitch;           /* [shape.frames] of a clip, when the cache is not read through the mapping */
    unsigned rows;          /* loaded so far */
    int alone;              /* nobody else was reading when its read began */
    uint64_t disk;          /* TRACE_DISK of its last read, ns */
} Worker;

struct Loader {
    LoaderOptions o;
    Worker *workers; /* [max(1, workers)] */
    int64_t batches_per_epoch;
    int *segment_fd;        /* [segments] of the mel store, when it is not to be read through the mapping */
    _Atomic uint8_t *known; /* [corpus->count] RECORD_... */
    _Atomic int64_t lost;
    int stop; /* ends simulated waits; __atomic */
};

static uint64_t now_ns(void) { return (uint64_t)(clock_now() * 1e9); }

/* Names an utterance that cannot be loaded, once. */
static void lose(Loader *l, uint32_t item, const char *why)
{
    const CorpusItem *c = &l->o.corpus->items[item];
    const Utterance *u = &l->o.corpus->dataset.utterances[c->utterance];
    if (atomic_fetch_or(&l->known[item], RECORD_NAMED) & RECORD_NAMED)
        return;
    atomic_fetch_add(&l->lost, 1);
    log_warn(l->o.log, "%.*s is left out: %s", (int)u->id.n, u->id.p, why);
}

static void write_augmentation(const Loader *l, float out[4], int64_t epoch, uint32_t utterance)
{
    const Config *cfg = l->o.cfg;
    Rng rng;
    rng_seed(&rng, rng_mix(rng_mix((uint64_t)cfg->seed, (uint64_t)epoch), utterance));
    out[0] = (float)((rng_uniform(&rng) * 2 - 1) * cfg->augment_gain_db);
    out[1] = (float)cfg->augment_noise_db;
    out[2] = (float)(1 + (rng_uniform(&rng) * 2 - 1) * cfg->augment_speed);
    uint32_t bits = (uint32_t)rng_u64(&rng);
    memcpy(&out[3], &bits, 4);
}

/* The records of an utterance against their checksums, once: a damaged one stays so in every epoch.
 * on_the_fly takes the pitch from the mel's. */
static int check_records(Loader *l, uint32_t item, char *why, size_t cap)
{
    const CorpusItem *c = &l->o.corpus->items[item];
    if (l->o.cfg->cache_verification == VERIFY_OFF)
        return 0;
    uint8_t known = atomic_load(&l->known[item]);
    if (known & RECORD_WHOLE)
        return 0;
    int text = store_entry_whole(&l->o.corpus->text, c->text_entry);
    if (!(known & RECORD_DAMAGED) && text && store_entry_whole(&l->o.corpus->mel, c->mel_entry)) {
        atomic_fetch_or(&l->known[item], RECORD_WHOLE);
        return 0;
    }
    atomic_fetch_or(&l->known[item], RECORD_DAMAGED);
    snprintf(why, cap, "its record in the %s cache is damaged; `myxtts prepare --verify` builds it anew",
             text ? "mel" : "text");
    return ERR_DAMAGED;
}

/* Copies a piece of a record of the mel store, through the mapping or with pread. */
static int read_piece(Loader *l, void *to, const void *piece, size_t bytes, char *why, size_t cap)
{
    const uint8_t *at = piece;
    if (!l->segment_fd) {
        memcpy(to, at, bytes);
        return 0;
    }
    const Store *s = &l->o.corpus->mel;
    uint32_t row = 0;
    while (row < s->segment_count &&
           !(at >= s->segments[row].data && at < s->segments[row].data + s->segments[row].size))
        row++;
    ASSERT_CMP(row, <, s->segment_count);
    Err err = {0};
    int rc = file_pread_all(l->segment_fd[row], to, bytes, (uint64_t)(at - s->segments[row].data),
                            "the mel cache", &err);
    if (rc)
        snprintf(why, cap, "%s", err.msg);
    return rc;
}

/* Time stamps around a read; 0 for a row that is not timed. A simulated disk is counted where it is
 * simulated. */
static uint64_t begin_read(Loader *l, Worker *w, unsigned weight)
{
    w->disk = 0;
    return !weight    ? 0
           : l->o.sim ? counters_now(l->o.counters)
                      : counters_read_begin(l->o.counters, &w->alone);
}

static uint64_t end_read(Loader *l, Worker *w, uint64_t start, unsigned weight)
{
    uint64_t now = weight ? counters_now(l->o.counters) : 0;
    if (weight && !l->o.sim)
        w->disk = counters_read_end(l->o.counters, start, now, w->alone);
    return now;
}

/* The samples of a clip into the row, or with to == NULL only into *samples (the worker's, until the next
 * clip). read and decode are timed apart. */
static int read_samples(Loader *l, Worker *w, float *to, const float **samples, int32_t *length,
                        const CorpusItem *c, int64_t most, uint64_t start, uint64_t *read_ended, char *why,
                        size_t cap)
{
    const Config *cfg = l->o.cfg;
    char path[PATH_MAX];
    Err err = {0};
    int64_t n;
    buf_clear(&w->bytes);
    int rc = dataset_audio_path(&l->o.corpus->dataset, &l->o.corpus->dataset.utterances[c->utterance], path,
                                sizeof path, &err);
    if (!rc)
        rc = file_read(&w->bytes, path, MAX_AUDIO_FILE, &err);
    *read_ended = end_read(l, w, start, 1);
    if (rc) {
        snprintf(why, cap, "%s", err.msg);
        return rc;
    }
    RejectReason r =
        audio_decode(&w->audio, w->bytes.data, w->bytes.size, path, cfg->max_audio_length, why, cap);
    if (!r)
        r = audio_process(w->processor, samples, &n, &w->audio, cfg->trim_silence,
                          cfg->enable_loudness_normalization, why, cap);
    if (r)
        return ERR_DATA;
    if (n > most) {
        snprintf(why, cap, "%s has changed since it was prepared: %lld samples, at most %lld fit", path,
                 (long long)n, (long long)most);
        return ERR_DATA;
    }
    if (to)
        memcpy(to, *samples, (size_t)n * sizeof *to);
    *length = (int32_t)n;
    return 0;
}

/* The pitch of the row: that of the cache, resampled as the clip will be where its speed is changed, and
 * normalised. Done here on every machine, so that no device computes it in its own way. */
static void write_pitch(const Loader *l, const Slot *s, int row, const float *contour, int64_t frames,
                        int32_t sample_length)
{
    const Config *cfg = l->o.cfg;
    const MelStatistics *m = &l->o.corpus->statistics;
    const float mean = (float)m->pitch_mean;
    const float deviation = normaliser_deviation(m->pitch_deviation);
    float *out = (float *)(void *)(s->memory + s->layout.pitch) + (size_t)row * (size_t)s->info.frames,
          higher = 0;
    Clip clip = {.step = 1.0, .frames = (int)frames};
    if (l->o.on_the_fly) {
        const float *augment =
            (const float *)(const void *)(s->memory + s->layout.augment) + AUGMENT_COUNT * (size_t)row;
        preprocess_clip(&clip, NULL, sample_length, cfg->augment_speed > 0 ? augment[AUGMENT_SPEED] : 1.0f,
                        s->info.samples, s->info.frames, cfg->hop_length, cfg->n_fft % 2);
        higher = clip.step == 1.0 ? 0.0f : (float)exact_log(clip.step);
    }
    clip.x = contour;
    clip.from = frames;
    int64_t there = clip.step == 1.0 && frames < clip.frames ? frames : clip.frames;
    if (clip.step != 1.0) {
        for (int t = 0; t < clip.frames; t++)
            out[t] = exact_addf(preprocess_sample(&clip, t), higher);
        contour = out;
    }
    normaliser_pitch(out, contour, there, mean, deviation);
    for (int64_t t = there; t < clip.frames; t++) /* the file is longer now than it was: held */
        out[t] = out[there - 1];
}

/* Which row of the batch lends its voice to which, once all of them are loaded. */
static void choose_references(const Loader *l, const Slot *s)
{
    const BatchLayout *b = &s->layout;
    const int32_t *speaker = (const int32_t *)(const void *)(s->memory + b->speaker);
    const int32_t *utterance = (const int32_t *)(const void *)(s->memory + b->utterance);
    int32_t *reference = (int32_t *)(void *)(s->memory + b->reference);
    uint64_t seed = rng_mix(rng_mix((uint64_t)l->o.cfg->seed, REFERENCE_SALT), (uint64_t)s->info.number);
    int rows = l->o.shape.rows, count = s->info.count;
    for (int row = 0; row < rows; row++) {
        uint64_t others = 0;
        reference[row] = row;
        if (row >= count || utterance[row] < 0)
            continue;
        for (int k = 0; k < count; k++)
            others += (k != row) & (utterance[k] >= 0) & (speaker[k] == speaker[row]);
        if (others == 0)
            continue;
        Rng rng;
        rng_seed(&rng, rng_mix(seed, (uint64_t)row));
        uint64_t left = rng_below(&rng, others) + 1;
        for (int k = 0; k < count && left > 0; k++)
            if (k != row && utterance[k] >= 0 && speaker[k] == speaker[row]) {
                reference[row] = k;
                left--;
            }
    }
    if (s->batch) { /* the rows are finished: this array was not there yet */
        BatchLayout out;
        batch_layout_device(&out, &l->o.shape, s->info.text, s->info.frames);
        memcpy(s->batch + out.reference, reference, (size_t)rows * sizeof *reference);
    }
}

static void empty_row(const Slot *s, int row)
{
    const BatchLayout *b = &s->layout;
    memset(s->memory + b->tokens + (size_t)row * (size_t)s->info.text * 4, 0, (size_t)s->info.text * 4);
    const size_t arrays[] = {b->text_length, b->mel_length, b->speaker, b->sample_length};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        memset(s->memory + arrays[i] + (size_t)row * 4, 0, 4);
    memset(s->memory + b->augment + (size_t)row * 16, 0, 16);
    memset(s->memory + b->utterance + (size_t)row * 4, 0xFF, 4); /* -1 */
}

/* What some rows took, in ns; added to the shared counters once. */
typedef struct RowTimes {
    uint64_t read, disk, decode, finish; /* disk: see TRACE_DISK */
} RowTimes;

/* The stages of one worker take turns: while one is busy, those before it cannot hand on and those behind it
 * have nothing to do. */
static void count_rows(Loader *l, int64_t number, const RowTimes *t)
{
    Counters *c = l->o.counters;
    if (t->read + t->decode + t->finish == 0)
        return;
    int64_t batch =
        number - c->first; /* beside a simulated disk the copy from the mapped cache is work of the worker */
    counters_trace_add(c, batch, l->o.sim ? TRACE_DECODE : TRACE_READ, t->read);
    counters_trace_add(c, batch, TRACE_DECODE, t->decode);
    if (!l->o.sim)
        counters_trace_add(c, batch, TRACE_DISK, t->disk);
    if (l->o.host)
        counters_trace_add(c, batch, TRACE_PREPROCESS, t->finish);
    counters_add(c, STAGE_READ, 1e-9 * (double)t->read, 0, 1e-9 * (double)(t->decode + t->finish));
    counters_add(c, STAGE_DECODE, 1e-9 * (double)t->decode, 1e-9 * (double)t->read, 1e-9 * (double)t->finish);
    if (l->o.host)
        counters_add(c, STAGE_PREPROCESS, 1e-9 * (double)t->finish, 1e-9 * (double)(t->read + t->decode), 0);
}

/* What the data device would do, done here for one row. stored: its mel in the mapped cache or its samples,
 * when they were not copied. */
static void finish_row(Loader *l, Worker *w, const Slot *s, int row, const void *stored)
{
    const BatchShape *shape = &l->o.shape;
    PreprocessArgs args = {.raw = s->memory,
                           .out = s->batch,
                           .in_layout = s->layout,
                           .rows = shape->rows,
                           .text = s->info.text,
                           .frames = s->info.frames,
                           .bands = shape->bands,
                           .mel_bytes = shape->mel_bytes,
                           .samples = s->info.samples,
                           .batch = s->info.number};
    batch_layout_device(&args.out_layout, shape, s->info.text, s->info.frames);
    preprocess_row(w->preprocess, &args, row, stored);
}

static uint64_t tick(const Loader *l, unsigned weight) { return weight ? counters_now(l->o.counters) : 0; }

/* One row. 0, or 1 when the utterance is lost and the row empty. */
static int fill_row(Loader *l, Worker *w, Slot *s, int row, int injected, RowTimes *times)
{
    const unsigned weight = l->o.on_the_fly                ? 1
                            : w->rows++ % TIMED_EVERY == 0 ? TIMED_EVERY
                                                           : 0; /* 0: not timed */
    const Corpus *corpus = l->o.corpus;
    uint32_t item = s->items[row];
    const CorpusItem *c = &corpus->items[item];
    const BatchLayout *b = &s->layout;
    char why[512] = "simulated failure";
    StoreEntry te, me;
    TextView tv;
    MelView mv;
    uint64_t start = begin_read(l, w, weight), read_ended;
    int rc = injected ? ERR_DATA : 0;
    int32_t sample_length = 0;
    const void *stored = NULL;
    const float *contour = w->pitch;
    store_entry(&corpus->text, c->text_entry, &te);
    store_entry(&corpus->mel, c->mel_entry, &me);
    if (!rc && (text_view(&tv, &te) || mel_view(&mv, &me) || tv.token_count > (uint32_t)s->info.text ||
                mv.frames > (uint32_t)s->info.frames)) {
        snprintf(why, sizeof why, "its record in the cache is damaged");
        rc = ERR_DAMAGED;
    }
    if (!rc)
        rc = check_records(l, item, why, sizeof why);
    if (!rc && l->segment_fd)
        rc = read_piece(l, w->pitch, mv.pitch, (size_t)mv.frames * sizeof *mv.pitch, why, sizeof why);
    else if (!rc)
        contour = mv.pitch;
    if (!rc && l->o.on_the_fly) {
        const float *samples = NULL;
        float *to = s->batch
                        ? NULL
                        : (float *)(void *)(s->memory + b->samples) + (size_t)row * (size_t)s->info.samples;
        rc = read_samples(l, w, to, &samples, &sample_length, c, s->info.samples, start, &read_ended, why,
                          sizeof why);
        if (!rc && s->batch)
            stored = samples;
    } else if (!rc && s->batch && !l->segment_fd) {
        stored = mv.data; /* read and finished in one pass, below */
        read_ended = end_read(l, w, start, weight);
    } else if (!rc) {
        size_t stride = (size_t)s->info.frames * (size_t)l->o.shape.bands * (size_t)l->o.shape.mel_bytes;
        rc = read_piece(l, s->memory + b->mel + (size_t)row * stride, mv.data,
                        (size_t)mv.frames * mv.bands * (size_t)l->o.shape.mel_bytes, why, sizeof why);
        read_ended = end_read(l, w, start, weight);
    } else
        read_ended = end_read(l, w, start, weight);
    if (rc) {
        empty_row(s, row);
        lose(l, item, why);
    } else {
        int32_t *tokens = (int32_t *)(void *)(s->memory + b->tokens) + (size_t)row * (size_t)s->info.text;
        for (uint32_t i = 0; i < tv.token_count; i++)
            tokens[i] = tv.tokens[i];
        memset(tokens + tv.token_count, 0, ((size_t)s->info.text - tv.token_count) * 4);
        ((int32_t *)(void *)(s->memory + b->text_length))[row] = (int32_t)tv.token_count;
        ((int32_t *)(void *)(s->memory + b->mel_length))[row] = (int32_t)mv.frames;
        ((int32_t *)(void *)(s->memory + b->speaker))[row] = c->speaker;
        ((int32_t *)(void *)(s->memory + b->utterance))[row] = (int32_t)c->utterance;
        ((int32_t *)(void *)(s->memory + b->sample_length))[row] = sample_length;
        write_augmentation(l, (float *)(void *)(s->memory + b->augment) + 4 * (size_t)row, s->info.epoch,
                           c->utterance);
        write_pitch(l, s, row, contour, mv.frames, sample_length);
    }
    uint64_t decoded = tick(l, weight);
    times->read += weight * (read_ended - start);
    times->disk += weight * w->disk;
    times->decode += weight * (decoded - read_ended);
    if (s->batch) {
        finish_row(l, w, s, row, stored);
        times->finish += weight * (tick(l, weight) - decoded);
    }
    return rc != 0;
}

/* Simulated read and decode times: the share of these rows in the batch's. */
static void simulate(Loader *l, const Slot *s, int rows)
{
    Sim *sim = l->o.sim;
    double share = (double)rows / s->info.count;
    Counters *k = l->o.counters;
    int alone;
    int64_t batch = s->info.number - k->first;
    uint64_t read_ended, start = counters_read_begin(k, &alone);
    sim_disk_read(sim, share * sim_seconds(sim, STAGE_READ, s->info.number, s->layout.bytes), &l->stop);
    read_ended = counters_now(k);
    counters_trace_add(k, batch, TRACE_DISK, counters_read_end(k, start, read_ended, alone));
    counters_trace_add(k, batch, TRACE_READ, read_ended - start);
    counters_busy(l->o.counters, STAGE_READ, start);
    counters_blocked_in(l->o.counters, STAGE_DECODE, start);
    double until = clock_now() + share * sim_seconds(sim, STAGE_DECODE, s->info.number, s->layout.bytes);
    for (double left; (left = until - clock_now()) > 0 && !__atomic_load_n(&l->stop, __ATOMIC_ACQUIRE);)
        clock_sleep(left < 0.05 ? left : 0.05);
    counters_trace_add(k, batch, TRACE_DECODE, counters_now(k) - read_ended);
    counters_busy(l->o.counters, STAGE_DECODE, read_ended);
    counters_blocked_out(l->o.counters, STAGE_READ, read_ended);
}

static void fill_rows(Loader *l, Worker *w, Slot *s, int first, int rows)
{
    LostRows lost = {0};
    RowTimes times = {0};
    if (l->o.sim)
        simulate(l, s, rows);
    atomic_store(&w->busy_since,
                 now_ns()); /* once for the few rows: what it is for is minutes, not microseconds */
    for (int row = first; row < first + rows; row++) {
        int injected = row == 0 && l->o.sim &&
                       (sim_fails(l->o.sim, STAGE_READ, s->info.number) ||
                        sim_fails(l->o.sim, STAGE_DECODE, s->info.number));
        atomic_store(&w->item, s->items[row]);
        if (fill_row(l, w, s, row, injected, &times)) {
            lost.rows++;
            lost.tokens += l->o.corpus->lengths[s->items[row]].tokens;
            lost.frames += l->o.corpus->lengths[s->items[row]].frames;
        }
    }
    atomic_store(&w->busy_since, 0);
    if (s->batch &&
        first + rows == s->info.count) /* the rows that stay empty belong to whoever has the last */
        for (int row = s->info.count; row < l->o.shape.rows; row++)
            finish_row(l, w, s, row, NULL);
    count_rows(l, s->info.number, &times);
    size_t bytes = s->layout.bytes;
    if (ring_filled(l->o.ring, s, rows, &lost)) {
        choose_references(l, s);
        ring_ready(l->o.ring, s); /* from here on the slot is another's */
        counters_left(l->o.counters, STAGE_READ, bytes, 0);
        counters_left(l->o.counters, STAGE_DECODE, bytes, (uint64_t)ring_ready_count(l->o.ring));
        if (l->o.host)
            counters_left(l->o.counters, STAGE_PREPROCESS, bytes, (uint64_t)ring_ready_count(l->o.ring));
    }
}

/* Gives the next batch to a FREE slot. The ring is locked. */
static void open_slot_locked(Loader *l, Slot *s)
{
    Ring *r = l->o.ring;
    const BatchShape *shape = &l->o.shape;
    int64_t position = l->o.first_index + r->opened;
    BatchInfo *info = &s->info;
    int bucket;
    *info = (BatchInfo){.number = l->o.first_epoch * l->batches_per_epoch + position,
                        .epoch = l->o.first_epoch + position / l->batches_per_epoch,
                        .index = position % l->batches_per_epoch};
    sampler_epoch(l->o.sampler, info->epoch);
    const uint32_t *items = sampler_batch(l->o.sampler, info->epoch, info->index, &info->count, &bucket);
    const SamplerBucket *b = sampler_bucket(l->o.sampler, bucket);
    memcpy(s->items, items, (size_t)info->count * sizeof *items);
    info->text = b->text;
    info->frames = b->frames;
    info->samples = policy_most_samples(b->frames, l->o.cfg->hop_length, l->o.on_the_fly);
    for (int i = 0; i < info->count; i++) {
        info->real_tokens += l->o.corpus->lengths[items[i]].tokens;
        info->real_frames += l->o.corpus->lengths[items[i]].frames;
    }
    batch_layout_host(&s->layout, shape, info->text, info->frames, info->samples);
    for (int row = info->count; row < shape->rows; row++)
        empty_row(s, row);
    counters_trace_begin(l->o.counters, r->opened, info->count);
    s->claimed = s->done = 0;
    s->state = SLOT_FILLING;
    r->opened++;
}

/* Claims rows. 0 when there are none now; -1 at the end. The ring is locked. */
static int claim_locked(Loader *l, Slot **slot, int *first)
{
    Ring *r = l->o.ring;
    Slot *s = ring_find_work_locked(r);
    if (!s)
        return r->opened >= r->end ? -1 : 0;
    if (s->state == SLOT_FREE) {
        open_slot_locked(l, s);
        pthread_cond_broadcast(&r->work); /* rows for the others */
    }
    int rows = policy_rows_at_once(s->info.count, l->o.workers, l->o.on_the_fly);
    if (rows > s->info.count - s->claimed)
        rows = s->info.count - s->claimed;
    *slot = s;
    *first = s->claimed;
    s->claimed += rows;
    return rows;
}

static void *worker_main(void *arg)
{
    Worker *w = arg;
    Loader *l = w->loader;
    Ring *r = l->o.ring;
    pthread_mutex_lock(&r->mutex);
    while (!r->stopped) { /* the loop starts with the ring locked */
        Slot *s;
        int first, rows = claim_locked(l, &s, &first);
        if (rows < 0)
            break;
        if (rows == 0) {
            uint64_t since = counters_now(l->o.counters);
            pthread_cond_wait(&r->work, &r->mutex);
            counters_blocked_out(l->o.counters, STAGE_READ, since);
            counters_blocked_out(l->o.counters, STAGE_DECODE, since);
            if (l->o.host)
                counters_blocked_out(l->o.counters, STAGE_PREPROCESS, since);
            continue;
        }
        pthread_mutex_unlock(&r->mutex);
        fill_rows(l, w, s, first, rows);
        pthread_mutex_lock(&r->mutex);
    }
    pthread_mutex_unlock(&r->mutex);
    atomic_store(&w->finished, 1);
    return NULL;
}

int loader_fill_next(Loader *l, Err *err)
{
    Ring *r = l->o.ring;
    Slot *s;
    int first, rows;
    for (;;) {
        pthread_mutex_lock(&r->mutex);
        rows = r->stopped ? -1 : claim_locked(l, &s, &first);
        pthread_mutex_unlock(&r->mutex);
        if (rows < 0)
            return ring_check(r, err) ? err ? err->code : ERR_STOPPED
                                      : err_set(err, ERR_STOPPED, "the last batch has been filled");
        if (rows == 0)
            return 0; /* every slot is full */
        fill_rows(l, &l->workers[0], s, first, rows);
        if (first + rows == s->info.count)
            return 0;
    }
}

void loader_watch(Loader *l)
{
    for (int i = 0; i < (l->o.workers > 0 ? l->o.workers : 1); i++) {
        uint64_t since = atomic_load(&l->workers[i].busy_since);
        double seconds = since ? 1e-9 * (double)(now_ns() - since) : 0;
        if (seconds < l->o.stuck_seconds)
            continue;
        const CorpusItem *c = &l->o.corpus->items[atomic_load(&l->workers[i].item)];
        const Utterance *u = &l->o.corpus->dataset.utterances[c->utterance];
        Err err = {0};
        err_set(&err, ERR_WORKER, "loader %d has been reading %.*s for %.0f s", i, (int)u->id.n, u->id.p,
                seconds);
        err_hint(&err, "the disk or network file system does not answer; remove the file, or copy the "
                       "dataset to a local disk");
        ring_stop(l->o.ring, &err);
    }
}

int64_t loader_lost(const Loader *l) { return atomic_load(&((Loader *)(uintptr_t)l)->lost); }

double loader_patience(const Loader *l)
{
    return l->o.stuck_seconds < CLOSE_SECONDS ? l->o.stuck_seconds : CLOSE_SECONDS;
}

int loader_await(const _Atomic int *finished, double until)
{
    double nap = 20e-6;
    while (!atomic_load(finished) && clock_now() < until) {
        clock_sleep(nap);
        nap = nap < 5e-3 ? nap * 2 : nap;
    }
    return atomic_load(finished);
}

static int open_segments(Loader *l, Err *err)
{
    const Store *s = &l->o.corpus->mel;
    l->segment_fd = mem_calloc(s->segment_count, sizeof *l->segment_fd);
    if (!l->segment_fd)
        return err_set(err, ERR_NOMEM, "no memory for the segments");
    for (uint32_t i = 0; i < s->segment_count; i++)
        l->segment_fd[i] = -1;
    for (uint32_t i = 0; i < s->segment_count; i++) {
        StoreEntry e;
        uint32_t number = 0;
        for (uint64_t k = 0; k < s->count && number == 0;
             k++) { /* the number of the segment that this mapping is */
            store_entry(s, k, &e);
            if (e.payload >= s->segments[i].data && e.payload < s->segments[i].data + s->segments[i].size)
                number = e.segment;
        }
        char *path = store_segment_path(s->dir, s->name, number, 0);
        if (!path)
            return err_set(err, ERR_NOMEM, "no memory for a path");
        l->segment_fd[i] = open(path, O_RDONLY | O_CLOEXEC);
        int rc = l->segment_fd[i] < 0 ? err_set_errno(err, ERR_IO, "cannot open %s", path) : 0;
        free(path);
        if (rc)
            return rc;
    }
    return 0;
}

int loader_open(Loader **out, const LoaderOptions *o, Err *err)
{
    *out = NULL;
    Loader *l = mem_calloc(1, sizeof *l);
    if (!l)
        return err_set(err, ERR_NOMEM, "no memory for the loader");
    l->o = *o;
    l->batches_per_epoch = sampler_batches(o->sampler);
    o->counters->first = o->first_epoch * l->batches_per_epoch + o->first_index;
    int states = o->workers > 0 ? o->workers : 1, rc = 0;
    l->workers = mem_calloc((size_t)states, sizeof *l->workers);
    l->known = mem_calloc(o->corpus->count, sizeof *l->known);
    if (!l->workers || !l->known)
        rc = err_set(err, ERR_NOMEM, "no memory for %d loader workers", states);
    if (!rc && !o->cfg->enable_memory_mapping)
        rc = open_segments(l, err);
    for (int i = 0; i < states && !rc; i++) {
        l->workers[i].loader = l;
        l->workers[i].pitch = l->segment_fd ? mem_calloc((size_t)o->shape.frames, sizeof(float)) : NULL;
        if (l->segment_fd && !l->workers[i].pitch)
            rc = err_set(err, ERR_NOMEM, "no memory for %d loader workers", states);
        if (!rc && o->on_the_fly)
            rc = audio_processor_open(&l->workers[i].processor, o->cfg, err);
        if (!rc && o->host)
            rc = preprocess_open(&l->workers[i].preprocess, o->host, o->cfg, o->corpus->mean,
                                 o->corpus->deviation, err);
    }
    if (o->host)
        atomic_store(&o->counters->stage[STAGE_PREPROCESS].threads, states);
    atomic_store(&o->counters->stage[STAGE_READ].threads, states);
    atomic_store(&o->counters->stage[STAGE_DECODE].threads, states);
    for (int i = 0; i < o->workers && !rc; i++) {
        char name[16];
        snprintf(name, sizeof name, "loader-%d", i);
        rc = thread_start(&l->workers[i].thread, name, worker_main, &l->workers[i], err);
    }
    if (rc) {
        ring_stop(o->ring, NULL);
        loader_close(l);
        return rc;
    }
    *out = l;
    return 0;
}

void loader_stop(Loader *l) { __atomic_store_n(&l->stop, 1, __ATOMIC_RELEASE); }

int loader_close(Loader *l)
{
    if (!l)
        return 0;
    loader_stop(l);
    int stuck = 0, states = l->o.workers > 0 ? l->o.workers : 1;
    double until = clock_now() + loader_patience(l);
    for (int i = 0; l->workers && i < states; i++) {
        Worker *w = &l->workers[i];
        if (w->thread.running &&
            !loader_await(&w->finished, until)) { /* it may come back to its row at any time */
            pthread_detach(w->thread.handle);
            stuck++;
            continue;
        }
        thread_join(&w->thread);
        audio_processor_close(w->processor);
        preprocess_close(w->preprocess);
        audio_buffer_free(&w->audio);
        buf_free(&w->bytes);
        free(w->pitch);
    }
    if (stuck)
        return 1;
    for (uint32_t i = 0; l->segment_fd && i < l->o.corpus->mel.segment_count; i++)
        if (l->segment_fd[i] >= 0)
            close(l->segment_fd[i]);
    free(l->segment_fd);
    free((void *)(uintptr_t)l->known);
    free(l->workers);
    free(l);
    return 0;
}
