/* loader_row.c - one row of a batch: from the caches or an audio file into the host slot.
 *
 * A mel is read from the mapped cache or by pread; if the data device is the CPU, it is not copied but
 * preprocessed in place. Samples come from the audio file (on_the_fly). The pitch always comes from the cache
 * and is processed here, so that it is identical on every device. A segment is cut from the samples of the
 * audio cache; its gain and its speed are applied here too, so that the mel and the samples that the model
 * compares have the same. Where segments bring their mels, these are cut at the same frame, keep their speed,
 * and get the same gain with the preprocessing. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "audio/mel.h"
#include "audio/normaliser.h"
#include "base/check.h"
#include "base/rng.h"
#include "cache/half.h"
#include "pipeline/loader_private.h"
#include "pipeline/policy.h"
#include "pipeline/preprocess_math.h"

#define TIMED_EVERY 4 /* rows from the cache are quick: only one in this many is timed, for all of them */
#define MAX_AUDIO_FILE ((size_t)1 << 30) /* bytes */
#define MOST_WHY 512                     /* bytes of the sentence that says why a row is lost */

/* Bits of Loader.known. */
enum { RECORD_WHOLE = 1, RECORD_DAMAGED = 2, RECORD_NAMED = 4 };

/* A record that a row is made from. */
typedef struct RowRecord {
    const Store *store;
    uint64_t entry;
} RowRecord;
#define MOST_RECORDS 2 /* of a row */

/* One utterance while its row is filled. */
typedef struct RowSource {
    const CorpusItem *item;
    TextView text;
    MelView mel;
    AudioView audio;      /* of a segment, which has no text and may have a mel */
    const float *pitch;   /* [mel.frames] */
    const void *in_place; /* the mel or the samples, where they need no copy; NULL: they are in the slot */
    int32_t samples;      /* of the clip; 0 when mels come from the cache */
    char why[MOST_WHY];   /* it is lost */
} RowSource;

/* Time stamps around a row. */
typedef struct RowClock {
    unsigned weight; /* rows that this one stands for; 0: it is not timed */
    int alone;       /* no other worker was reading when its read began */
    int read_over;
    uint64_t start, read_end;
    uint64_t disk; /* TRACE_DISK of its read, ns */
} RowClock;

/* ---- arrays of a slot ---- */

static int32_t *int_at(const Slot *s, size_t array, int row)
{
    return (int32_t *)(void *)(s->memory + array) + row;
}

static float *augment_of(const Slot *s, int row)
{
    return (float *)(void *)(s->memory + s->layout.augment) + AUGMENT_COUNT * (size_t)row;
}

static int32_t *tokens_of(const Slot *s, int row)
{
    return (int32_t *)(void *)(s->memory + s->layout.tokens) + (size_t)row * (size_t)s->info.text;
}

void loader_empty_row(const Slot *s, int row)
{
    const BatchLayout *b = &s->layout;
    const size_t arrays[] = {b->text_length, b->mel_length, b->speaker, b->language, b->sample_length};
    memset(tokens_of(s, row), 0, (size_t)s->info.text * sizeof(int32_t));
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        *int_at(s, arrays[i], row) = 0;
    memset(augment_of(s, row), 0, AUGMENT_COUNT * sizeof(float));
    *int_at(s, b->utterance, row) = -1;
}

/* ---- time ---- */

/* A simulated disk is counted where it is simulated. */
static void clock_begin(RowClock *c, Loader *l, Worker *w)
{
    *c = (RowClock){0};
    if (l->o.on_the_fly)
        c->weight = 1;
    else if (w->rows++ % TIMED_EVERY == 0)
        c->weight = TIMED_EVERY;
    if (!c->weight)
        return;
    c->start = l->o.sim ? counters_now(l->o.counters) : counters_read_begin(l->o.counters, &c->alone);
}

/* The bytes are there; what follows is decoding. Only the first call counts. */
static void clock_read_over(RowClock *c, Loader *l)
{
    if (c->read_over || !c->weight)
        return;
    c->read_over = 1;
    c->read_end = counters_now(l->o.counters);
    if (!l->o.sim)
        c->disk = counters_read_end(l->o.counters, c->start, c->read_end, c->alone);
}

static uint64_t clock_tick(const RowClock *c, Loader *l)
{
    return c->weight ? counters_now(l->o.counters) : 0;
}

/* ---- reading ---- */

static int is_segment(const Loader *l) { return l->o.corpus->segment_frames > 0; }

/* Which records the row is made from; returns how many. */
static int records_of(RowRecord out[MOST_RECORDS], const Loader *l, const CorpusItem *item)
{
    const Corpus *c = l->o.corpus;
    if (is_segment(l)) {
        out[0] = (RowRecord){&c->audio, item->audio_entry};
        out[1] = (RowRecord){&c->mel, item->mel_entry};
        return corpus_brings_mel(c) ? 2 : 1;
    }
    out[0] = (RowRecord){&c->text, item->text_entry};
    out[1] = (RowRecord){&c->mel, item->mel_entry};
    return 2;
}

/* What is known about the records of an item; the segments of a clip share it. */
static _Atomic uint8_t *known_of(Loader *l, uint32_t item)
{
    return &l->known[item - l->o.corpus->items[item].part];
}

/* Names an utterance that cannot be loaded, once. */
static void lose(Loader *l, uint32_t item, const char *why)
{
    const CorpusItem *c = &l->o.corpus->items[item];
    const Utterance *u = &l->o.corpus->dataset.utterances[c->utterance];
    pthread_mutex_lock(&l->o.ring->mutex);
    snprintf(l->why, sizeof l->why, "%.*s: %s", u->id.n > 80 ? 80 : (int)u->id.n, u->id.p, why);
    pthread_mutex_unlock(&l->o.ring->mutex);
    if (atomic_fetch_or(known_of(l, item), RECORD_NAMED) & RECORD_NAMED)
        return;
    atomic_fetch_add(&l->lost, 1);
    log_warn(l->o.log, "%.*s is skipped: %s", (int)u->id.n, u->id.p, why);
}

/* Some page of the caches that hold these records could not be read: the file was cut short, or its disk
 * failed. */
static int pages_lost(const Loader *l, const RowSource *r)
{
    RowRecord records[MOST_RECORDS];
    int n = records_of(records, l, r->item), lost = 0;
    for (int i = 0; i < n; i++)
        lost |= store_entry_lost(records[i].store, records[i].entry) > 0;
    return lost;
}

/* The records of an utterance against their checksums, once: a damaged one stays so in every epoch. The mel's
 * is checked on_the_fly too, because the pitch is in it. Where pages have been lost, a record that was whole
 * may be so no longer. */
static int check_records(Loader *l, uint32_t item, RowSource *r)
{
    int lost = pages_lost(l, r);
    if (l->o.cfg->cache_verification == VERIFY_OFF && !lost)
        return 0;
    uint8_t known = atomic_load(known_of(l, item));
    if (known & RECORD_WHOLE && !lost)
        return 0;
    RowRecord records[MOST_RECORDS];
    int n = records_of(records, l, r->item), whole = 0;
    while (whole < n && store_entry_whole(records[whole].store, records[whole].entry))
        whole++;
    if (!(known & RECORD_DAMAGED) && whole == n) {
        atomic_fetch_or(known_of(l, item), RECORD_WHOLE);
        return 0;
    }
    const Store *store = records[whole < n ? whole : n - 1].store;
    const int gone = pages_lost(l, r), predicted = strcmp(store->name, PREDICTED_STORE) == 0;
    atomic_fetch_or(known_of(l, item), RECORD_DAMAGED);
    snprintf(r->why, sizeof r->why,
             gone ? "its record in the %s cache can no longer be read: the file was cut short, or its disk "
                    "failed; `myxtts %s` rebuilds it"
                  : "its record in the %s cache is damaged; `myxtts %s` rebuilds it",
             store->name,
             predicted ? "train"
             : gone    ? "prepare"
                       : "prepare --verify");
    return ERR_DAMAGED;
}

static int record_damaged(RowSource *r)
{
    snprintf(r->why, sizeof r->why, "its record in the cache is damaged");
    return ERR_DAMAGED;
}

static int view_segment(Loader *l, uint32_t item, RowSource *r)
{
    const Corpus *c = l->o.corpus;
    StoreEntry e;
    store_entry(&c->audio, r->item->audio_entry, &e);
    int rc = audio_view(&r->audio, &e);
    if (!rc && corpus_brings_mel(c)) {
        store_entry(&c->mel, r->item->mel_entry, &e);
        rc = mel_view(&r->mel, &e);
    }
    return rc ? record_damaged(r) : check_records(l, item, r);
}

/* Views of both records; a record that does not fit into the slot is not the one the sampler saw. */
static int view_records(Loader *l, const Slot *s, uint32_t item, RowSource *r)
{
    StoreEntry text, mel;
    store_entry(&l->o.corpus->text, r->item->text_entry, &text);
    store_entry(&l->o.corpus->mel, r->item->mel_entry, &mel);
    if (text_view(&r->text, &text) || mel_view(&r->mel, &mel) ||
        r->text.token_count > (uint32_t)s->info.text || r->mel.frames > (uint32_t)s->info.frames)
        return record_damaged(r);
    return check_records(l, item, r);
}

/* Around the neutral value, by up to the setting. */
static float draw_around(const Loader *l, int which, Rng *rng)
{
    const double off = (rng_uniform(rng) * 2 - 1) * augmentation_setting(l->o.cfg, which);
    return (float)((double)augmentation(which)->neutral + off);
}

/* One value; of_clip: the numbers of the clip, for the augmentation without a salt. */
static float draw_one(const Loader *l, int which, const BatchInfo *batch, const CorpusItem *item,
                      Rng *of_clip)
{
    const Augmentation *a = augmentation(which);
    const uint64_t clip = (uint64_t)item->part << 32 | item->utterance,
                   whose = is_segment(l) ? clip : (uint64_t)item->speaker,
                   salted = (uint64_t)l->o.cfg->seed ^ a->salt;
    Rng own;
    if (a->drawn == DRAWN_AS_SET)
        return (float)augmentation_setting(l->o.cfg, which);
    if (!a->salt)
        return draw_around(l, which, of_clip);
    if (a->drawn == DRAWN_FOR_VOICE)
        rng_seed(&own, rng_mix(rng_mix(salted, (uint64_t)batch->whole), whose));
    else
        rng_seed(&own, rng_mix(rng_mix(salted, (uint64_t)batch->epoch), clip));
    return draw_around(l, which, &own);
}

/* A function of seed, batch and utterance (for a segment, and part of it): the same whichever worker loads
 * the row. */
static void draw_augmentation(const Loader *l, float out[AUGMENT_COUNT], const BatchInfo *batch,
                              const CorpusItem *item)
{
    Rng rng;
    const uint64_t clip = (uint64_t)item->part << 32 | item->utterance;
    rng_seed(&rng, rng_mix(rng_mix((uint64_t)l->o.cfg->seed, (uint64_t)batch->epoch), clip));
    for (int i = 0; i < AUGMENT_SEED; i++)
        out[i] = draw_one(l, i, batch, item, &rng);
    uint32_t bits = (uint32_t)rng_u64(&rng);
    memcpy(&out[AUGMENT_SEED], &bits, sizeof bits);
}

/* Copies a piece of a record of a store, through the mapping or with pread. */
static int read_piece(Loader *l, const Store *s, void *to, const void *piece, size_t bytes, RowSource *r)
{
    const uint8_t *at = piece;
    if (!l->segment_fd) {
        memcpy(to, at, bytes);
        return 0;
    }
    const int *fd = s == corpus_store(l->o.corpus) ? l->segment_fd : l->mel_fd;
    uint32_t segment = 0;
    while (segment < s->segment_count &&
           !(at >= s->segments[segment].data && at < s->segments[segment].data + s->segments[segment].size))
        segment++;
    ASSERT_CMP(segment, <, s->segment_count);
    Err err = {0};
    int rc =
        file_pread_all(fd[segment], to, bytes, (uint64_t)(at - s->segments[segment].data), s->name, &err);
    if (rc)
        snprintf(r->why, sizeof r->why, "%s", err.msg);
    return rc;
}

/* Where the cache is not mapped it is read into the worker's own array. */
static int read_pitch(Loader *l, Worker *w, RowSource *r)
{
    if (!l->segment_fd) {
        r->pitch = r->mel.pitch;
        return 0;
    }
    r->pitch = w->pitch;
    return read_piece(l, &l->o.corpus->mel, w->pitch, r->mel.pitch, (size_t)r->mel.frames * sizeof *w->pitch,
                      r);
}

/* The mel of the cache into the slot, or left where it is mapped: then it is read and finished
 * in one pass. */
static int read_mel(Loader *l, const Slot *s, int row, RowSource *r)
{
    if (s->batch && !l->segment_fd) {
        r->in_place = r->mel.data;
        return 0;
    }
    size_t frame = (size_t)l->o.shape.bands * (size_t)l->o.shape.mel_bytes;
    uint8_t *to = s->memory + s->layout.mel + (size_t)row * (size_t)s->info.frames * frame;
    return read_piece(l, &l->o.corpus->mel, to, r->mel.data, (size_t)r->mel.frames * frame, r);
}

/* The frames of a clip's mel that go with a segment of it. Behind the end of a short clip is silence. */
static int read_segment_mel(Loader *l, const Slot *s, int row, int64_t first, RowSource *r)
{
    const size_t bands = (size_t)l->o.shape.bands, frame = bands * (size_t)l->o.shape.mel_bytes;
    const int64_t want = s->info.frames, have = (int64_t)r->mel.frames - first;
    const size_t n = (size_t)(have < want ? have : want);
    uint8_t *to = s->memory + s->layout.mel + (size_t)row * (size_t)want * frame;
    const uint8_t *from = (const uint8_t *)r->mel.data + (size_t)first * frame;
    int rc = read_piece(l, &l->o.corpus->mel, to, from, n * frame, r);
    const float silence = MEL_LOG_FLOOR;
    for (size_t i = n * bands; i < (size_t)want * bands && !rc; i++) {
        if (l->o.shape.mel_bytes == 2)
            half_from_float((uint16_t *)(void *)to + i, &silence, 1);
        else
            ((float *)(void *)to)[i] = silence;
    }
    return rc;
}

/* out [count]: the samples from `from` on of a segment's clip, in their original speed; silence beyond its
 * ends. */
static int read_clip(Loader *l, Worker *w, RowSource *r, float *out, int64_t from, int64_t count, float gain)
{
    const AudioView *a = &r->audio;
    const int64_t lo = from > 0 ? from : 0, end = from + count < a->count ? from + count : a->count,
                  n = end > lo ? end - lo : 0;
    const int16_t *samples = a->data + lo;
    if (l->segment_fd && n) {
        int rc = read_piece(l, &l->o.corpus->audio, w->segment, samples, (size_t)n * sizeof *samples, r);
        if (rc)
            return rc;
        samples = w->segment;
    }
    const int64_t before = n ? lo - from : count, behind = n ? count - before - n : 0;
    memset(out, 0, (size_t)before * sizeof *out);
    audio_samples(out + before, samples, a->scale * gain, n);
    memset(out + before + n, 0, (size_t)behind * sizeof *out);
    return 0;
}

static int read_segment(Loader *l, Worker *w, const Slot *s, int row, RowSource *r)
{
    const int64_t size = s->info.samples;
    const CorpusItem *i = r->item;
    const SegmentDraw draw = {(uint64_t)l->o.cfg->seed, s->info.epoch, i->utterance, i->part, i->parts};
    const int brings_mel = corpus_brings_mel(l->o.corpus), hop = l->o.cfg->hop_length;
    float *to = (float *)(void *)(s->memory + s->layout.samples) + (size_t)row * (size_t)size;
    float augment[AUGMENT_COUNT];
    draw_augmentation(l, augment, &s->info, i);
    const float gain = preprocess_factor(augment[AUGMENT_GAIN]);
    const int step = l->speeds ? speed_step(l->speeds, (double)augment[AUGMENT_SPEED]) : SPEED_UNIT;
    const int64_t span = speed_span(size, step);
    int64_t start = policy_segment_start(&draw, r->audio.count, span);
    int rc;
    r->samples = (int32_t)size;
    if (step == SPEED_UNIT) {
        start -= brings_mel ? start % hop : 0; /* where a frame is */
        rc = read_clip(l, w, r, to, start, size, gain);
        return rc || !brings_mel ? rc : read_segment_mel(l, s, row, start / hop, r);
    }
    rc = read_clip(l, w, r, w->original, start - SPEED_REACH, span + 2 * SPEED_REACH, gain);
    if (!rc)
        speed_change(l->speeds, to, size, w->original + SPEED_REACH, step);
    return rc;
}

/* The bytes of the audio file into the worker's buffer. */
static int read_audio(Loader *l, Worker *w, char path[PATH_MAX], RowSource *r)
{
    const Dataset *d = &l->o.corpus->dataset;
    Err err = {0};
    buf_clear(&w->bytes);
    int rc = dataset_audio_path(d, &d->utterances[r->item->utterance], path, PATH_MAX, &err);
    if (!rc)
        rc = file_read(&w->bytes, path, MAX_AUDIO_FILE, &err);
    if (rc)
        snprintf(r->why, sizeof r->why, "%s", err.msg);
    return rc;
}

/* From the file's bytes to samples, which are the worker's until its next clip. */
static int decode_audio(Loader *l, Worker *w, const char *path, const float **samples, int64_t most,
                        RowSource *r)
{
    const Config *cfg = l->o.cfg;
    int64_t n;
    RejectReason reason = audio_decode(&w->audio, w->bytes.data, w->bytes.size, path, cfg->max_audio_length,
                                       r->why, sizeof r->why);
    if (!reason)
        reason = audio_process(w->processor, samples, &n, &w->audio, cfg->trim_silence,
                               cfg->enable_loudness_normalization, r->why, sizeof r->why);
    if (reason)
        return ERR_DATA;
    if (n > most) {
        snprintf(r->why, sizeof r->why,
                 "%s has changed since it was prepared: it has %lld samples, but at most %lld fit", path,
                 (long long)n, (long long)most);
        return ERR_DATA;
    }
    r->samples = (int32_t)n;
    return 0;
}

/* The samples of the clip into the slot, or left where they were decoded. Reading and decoding are timed
 * apart. */
static int read_samples(Loader *l, Worker *w, const Slot *s, int row, RowSource *r, RowClock *clock)
{
    char path[PATH_MAX];
    const float *samples = NULL;
    int rc = read_audio(l, w, path, r);
    clock_read_over(clock, l);
    if (!rc)
        rc = decode_audio(l, w, path, &samples, s->info.samples, r);
    if (rc)
        return rc;
    if (s->batch) {
        r->in_place = samples;
        return 0;
    }
    float *to = (float *)(void *)(s->memory + s->layout.samples) + (size_t)row * (size_t)s->info.samples;
    memcpy(to, samples, (size_t)r->samples * sizeof *to);
    return 0;
}

/* ---- writing ---- */

/* What is drawn for the row, as preprocessing sees it. */
static Drawn drawn_for(const Loader *l, const Slot *s, int row)
{
    Drawn d;
    int on[AUGMENT_SEED];
    augmentations_on(on, l->o.cfg);
    memcpy(&d, augment_of(s, row), sizeof d);
    preprocess_drawn(&d, on);
    return d;
}

/* The pitch of the row: that of the cache, resampled as the clip will be where its speed is changed, and
 * normalised. A faster clip is a higher one. */
static void write_pitch(const Loader *l, const Slot *s, int row, const RowSource *r)
{
    const Config *cfg = l->o.cfg;
    const MelStatistics *m = &l->o.corpus->statistics;
    const float *contour = r->pitch;
    const int64_t frames = r->mel.frames;
    float *out = (float *)(void *)(s->memory + s->layout.pitch) + (size_t)row * (size_t)s->info.frames;
    Clip clip;
    preprocess_plain_clip(&clip, (int)frames);
    if (l->o.on_the_fly) {
        const Drawn drawn = drawn_for(l, s, row);
        preprocess_clip(&clip, NULL, r->samples, &drawn, s->info.samples, s->info.frames, cfg->hop_length,
                        cfg->n_fft % 2);
    }
    int64_t there = frames < clip.frames ? frames : clip.frames;
    if (!preprocess_is_plain(&clip)) {
        const float higher = preprocess_higher(&clip);
        for (int t = 0; t < clip.frames; t++)
            out[t] = preprocess_pitch(&clip, contour, frames, higher, t);
        there = clip.frames;
        contour = out;
    }
    normaliser_pitch(out, contour, there, (float)m->pitch_mean, normaliser_deviation(m->pitch_deviation));
    /* A file that has become longer since it was prepared: its last pitch is held. */
    for (int64_t t = there; t < clip.frames; t++)
        out[t] = out[there - 1];
}

/* Everything but samples and mel. What is drawn is in the samples already; a mel that is brought along gets
 * its gain on the data device. */
static void write_segment_row(const Loader *l, const Slot *s, int row, const RowSource *r)
{
    float augment[AUGMENT_COUNT] = {0};
    const BatchLayout *b = &s->layout;
    if (corpus_brings_mel(l->o.corpus))
        draw_augmentation(l, augment, &s->info, r->item);
    for (int i = 0; i < AUGMENT_SEED; i++)
        if (augmentation(i)->segments != SEGMENTS_ALL)
            augment[i] = augmentation(i)->neutral;
    memset((float *)(void *)(s->memory + b->pitch) + (size_t)row * (size_t)s->info.frames, 0,
           (size_t)s->info.frames * sizeof(float));
    memcpy(augment_of(s, row), augment, sizeof augment);
    *int_at(s, b->text_length, row) = 0;
    *int_at(s, b->mel_length, row) = (int32_t)s->info.frames;
    *int_at(s, b->speaker, row) = r->item->speaker;
    *int_at(s, b->language, row) = 0;
    *int_at(s, b->utterance, row) = (int32_t)r->item->utterance;
    *int_at(s, b->sample_length, row) = r->samples;
}

/* Everything but the mel or the samples. */
static void write_row(const Loader *l, const Slot *s, int row, const RowSource *r)
{
    const BatchLayout *b = &s->layout;
    int32_t *tokens = tokens_of(s, row);
    uint32_t count = r->text.token_count;
    for (uint32_t i = 0; i < count; i++)
        tokens[i] = r->text.tokens[i];
    memset(tokens + count, 0, ((size_t)s->info.text - count) * sizeof *tokens);
    *int_at(s, b->text_length, row) = (int32_t)count;
    *int_at(s, b->mel_length, row) = (int32_t)r->mel.frames;
    *int_at(s, b->speaker, row) = r->item->speaker;
    *int_at(s, b->language, row) = l->o.corpus->language_number[r->item->language];
    *int_at(s, b->utterance, row) = (int32_t)r->item->utterance;
    *int_at(s, b->sample_length, row) = r->samples;
    draw_augmentation(l, augment_of(s, row), &s->info, r->item);
    write_pitch(l, s, row, r);
}

void loader_finish_row(Loader *l, Worker *w, const Slot *s, int row, const void *in_place)
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
                           .keeps_samples = shape->hop > 0,
                           .brings_mel = shape->brings_mel != 0,
                           .batch = s->info.number};
    batch_layout_device(&args.out_layout, shape, s->info.text, s->info.frames);
    preprocess_row(w->preprocess, &args, row, in_place);
}

/* ---- a row ---- */

/* What can fail; nothing is written to the row's numbers before it is over. */
static int load_row(Loader *l, Worker *w, const Slot *s, int row, RowSource *r, RowClock *clock)
{
    if (is_segment(l)) {
        int rc = view_segment(l, s->items[row], r);
        return rc ? rc : read_segment(l, w, s, row, r);
    }
    int rc = view_records(l, s, s->items[row], r);
    if (!rc)
        rc = read_pitch(l, w, r);
    if (rc)
        return rc;
    return l->o.on_the_fly ? read_samples(l, w, s, row, r, clock) : read_mel(l, s, row, r);
}

int loader_fill_row(Loader *l, Worker *w, Slot *s, int row, int injected, RowTimes *times)
{
    uint32_t item = s->items[row];
    RowSource r;
    RowClock clock;
    r.item = &l->o.corpus->items[item];
    r.in_place = NULL;
    r.samples = 0;
    r.why[0] = 0;
    clock_begin(&clock, l, w);
    int rc = injected ? ERR_DATA : load_row(l, w, s, row, &r, &clock);
    clock_read_over(&clock, l);
    if (rc) {
        loader_empty_row(s, row);
        lose(l, item, injected ? "simulated failure" : r.why);
    } else if (is_segment(l))
        write_segment_row(l, s, row, &r);
    else
        write_row(l, s, row, &r);
    uint64_t decoded = clock_tick(&clock, l);
    times->read += clock.weight * (clock.read_end - clock.start);
    times->disk += clock.weight * clock.disk;
    times->decode += clock.weight * (decoded - clock.read_end);
    if (s->batch) {
        loader_finish_row(l, w, s, row, r.in_place);
        times->finish += clock.weight * (clock_tick(&clock, l) - decoded);
    }
    /* A page may have gone while the row was read: then there are zeros in it. */
    if (!rc && pages_lost(l, &r) && check_records(l, item, &r)) {
        rc = ERR_DAMAGED;
        loader_empty_row(s, row);
        lose(l, item, r.why);
        if (s->batch)
            loader_finish_row(l, w, s, row, NULL);
    }
    return rc != 0;
}

/* ---- voice references ---- */

void loader_choose_references(const Loader *l, const Slot *s)
{
    const BatchLayout *b = &s->layout;
    const int32_t *speaker = int_at(s, b->speaker, 0), *utterance = int_at(s, b->utterance, 0);
    int32_t *reference = int_at(s, b->reference, 0);
    const int rows = l->o.shape.rows, count = s->info.count;
    for (int row = 0; row < rows; row++) {
        int other = row < count ? policy_partner(&l->o.shares, s->info.share, row, count) : row;
        int lends = utterance[row] >= 0 && utterance[other] >= 0 && speaker[other] == speaker[row];
        reference[row] = lends ? other : row;
    }
    /* The rows are finished already: this array was not there yet. */
    if (s->batch) {
        BatchLayout out;
        batch_layout_device(&out, &l->o.shape, s->info.text, s->info.frames);
        memcpy(s->batch + out.reference, reference, (size_t)rows * sizeof *reference);
    }
}
