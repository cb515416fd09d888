/* pipeline.c - connects sampler, loader and feeder; computes the memory plan. */
#include "pipeline/pipeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/mem.h"
#include "pipeline/feeder.h"
#include "pipeline/policy.h"

#define STUCK_SECONDS 120.0 /* a read that takes longer stops the run */
#define PAGE 4096

typedef struct Sizes { /* everything that follows from the settings and the corpus, before anything is
                          allocated */
    Shares shares;
    BatchShape shape;
    size_t raw_bytes, batch_bytes; /* of the largest batch */
    int slots, most_slots, workers, on_the_fly, synchronous;
    int host_data; /* the data device is the CPU: the loader's workers preprocess */
} Sizes;

struct Pipeline {
    PipelineOptions o;
    Sizes sizes;
    Sampler *sampler;
    Ring ring;
    Loader *loader;
    Preprocess *preprocess;
    Feeder *feeder;
    Counters counters;
    SampleLength *lengths; /* [corpus->count] with room for slower speech */
    int64_t taken;
    int64_t utterances, real_frames, padded_frames;
    int is_stuck; /* a thread hangs in a read, and was abandoned */
};

/* A rank alone is one of one. */
static Shares shares_of(const PipelineOptions *o)
{
    const int ranks = o->ranks > 0 ? o->ranks : 1;
    return policy_shares(policy_global_batch(o->cfg, ranks), ranks, o->cfg->batch_size);
}

/* The sampler sees clips as long as augmentation can make them: a batch has room for the slowest. */
static int open_sampler(Sampler **s, SampleLength **lengths, const PipelineOptions *o, int on_the_fly,
                        Err *err)
{
    const Config *cfg = o->cfg;
    uint32_t n = o->corpus->count;
    SamplerOptions so = {.batch_size = shares_of(o).batch,
                         .buckets = cfg->length_buckets,
                         .frame_multiple = SAMPLER_FRAME_MULTIPLE,
                         .seed = o->start.seed};
    if (o->corpus->segment_frames) { /* all segments have one shape */
        so.fixed_frames = o->corpus->segment_frames;
        so.frame_multiple = 1;
    } else if (cfg->pad_to_fixed_length)
        so.fixed_frames = (int)policy_stretched_frames(cfg->max_mel_frames, cfg->augment_speed, on_the_fly);
    /* Rows of a voice lend each other their voices; segments do not. */
    const int paired =
        cfg->use_voice_conditioning && !o->corpus->segment_frames && o->corpus->speaker_count > 1;
    int32_t *speakers = mem_calloc(n, sizeof *speakers);
    *lengths = mem_calloc(n, sizeof **lengths);
    if (!*lengths || !speakers) {
        free(speakers);
        return err_set(err, ERR_NOMEM, "no memory for %u utterances", n);
    }
    for (uint32_t i = 0; i < n; i++) {
        (*lengths)[i] = o->corpus->lengths[i];
        (*lengths)[i].frames =
            (uint32_t)policy_stretched_frames((*lengths)[i].frames, cfg->augment_speed, on_the_fly);
        if (paired)
            speakers[i] = o->corpus->items[i].speaker;
    }
    if (paired) {
        so.speakers = speakers;
        so.speaker_count = o->corpus->speaker_count;
    }
    int rc = sampler_open(s, &so, *lengths, n, err);
    free(speakers);
    return rc;
}

/* The largest batch that the buckets can ask for; slots and buffers are as large as that. */
static void find_sizes(Sizes *z, const PipelineOptions *o, const Sampler *sampler)
{
    const Config *cfg = o->cfg;
    z->shares = shares_of(o);
    z->on_the_fly = corpus_on_the_fly(o->corpus, cfg);
    z->synchronous = !cfg->native_loading;
    z->host_data = o->data->traits.host_memory;
    z->workers = z->synchronous ? 0 : config_workers(cfg);
    z->slots = z->synchronous ? 1 : policy_slots(cfg->prefetch_buffer_size, z->shares.rows);
    z->shape = (BatchShape){.rows = z->shares.rows,
                            .bands = cfg->n_mels,
                            .mel_bytes = cfg->mel_storage == STORE_FLOAT16 ? 2 : 4,
                            .hop = o->corpus->segment_frames ? cfg->hop_length : 0,
                            .brings_mel = corpus_brings_mel(o->corpus)};
    for (int i = 0; i < sampler_bucket_count(sampler); i++) {
        const SamplerBucket *b = sampler_bucket(sampler, i);
        BatchLayout raw, batch;
        int64_t kept = batch_kept_samples(&z->shape, b->frames);
        int64_t samples = kept ? kept : policy_most_samples(b->frames, cfg->hop_length, z->on_the_fly);
        batch_layout_host(&raw, &z->shape, b->tokens, b->frames, samples);
        batch_layout_device(&batch, &z->shape, b->tokens, b->frames);
        z->raw_bytes = raw.bytes > z->raw_bytes ? raw.bytes : z->raw_bytes;
        z->batch_bytes = batch.bytes > z->batch_bytes ? batch.bytes : z->batch_bytes;
        z->shape.text = b->tokens > z->shape.text ? b->tokens : z->shape.text;
        z->shape.frames = b->frames > z->shape.frames ? b->frames : z->shape.frames;
        z->shape.samples = samples > z->shape.samples ? samples : z->shape.samples;
    }
    uint64_t slot_bytes = z->raw_bytes + (z->host_data ? z->batch_bytes : 0);
    /* A feeder that loads for itself has no use for stock, nor has a consumer that is never behind. */
    z->most_slots = z->workers == 0 || o->no_step
                        ? z->slots
                        : policy_most_slots(cfg->prefetch_buffer_size, z->slots, slot_bytes, mem_available());
}

/* Finished batches that wait in the slots, where the data device is the CPU. */
static uint64_t slot_batch_bytes(const Sizes *z, int slots)
{
    return z->host_data ? (uint64_t)slots * z->batch_bytes : 0;
}

/* Pinned memory of the host: slots where pin_memory is on, finished batches that a GPU copies from. */
static uint64_t pinned_bytes(const Sizes *z, const PipelineOptions *o, int slots, int buffers)
{
    uint64_t bytes = o->cfg->pin_memory ? (uint64_t)slots * z->raw_bytes : 0;
    if (feeder_batch_is_pinned(o->data, o->model))
        bytes += (uint64_t)buffers * z->batch_bytes + slot_batch_bytes(z, slots);
    return bytes;
}

/* Least memory of the buffers: what a cap has to leave room for. */
static void least_bytes(uint64_t *data, uint64_t *model, const Sizes *z, const PipelineOptions *o)
{
    uint64_t batches = (uint64_t)POLICY_START_BUFFERS * z->batch_bytes + slot_batch_bytes(z, z->slots);
    int is_pinned = feeder_batch_is_pinned(o->data, o->model);
    *data = (is_pinned ? 0 : batches) + (z->host_data ? 0 : (uint64_t)POLICY_START_BUFFERS * z->raw_bytes);
    *model = device_same(o->data, o->model) ? 0 : (uint64_t)POLICY_START_BUFFERS * z->batch_bytes;
}

/* The sampler is opened for its buckets alone. */
int pipeline_plan(uint64_t *data, uint64_t *model, uint64_t *pinned, const PipelineOptions *o, Err *err)
{
    Sampler *sampler = NULL;
    SampleLength *lengths = NULL;
    Sizes z = {0};
    int rc = open_sampler(&sampler, &lengths, o, corpus_on_the_fly(o->corpus, o->cfg), err);
    if (!rc) {
        find_sizes(&z, o, sampler);
        least_bytes(data, model, &z, o);
        *pinned = pinned_bytes(&z, o, z.most_slots, POLICY_START_BUFFERS);
    }
    sampler_close(sampler);
    free(lengths);
    return rc;
}

/* Before anything is allocated: the user learns the least cap at once, not the first that was too small. */
static int check_cap(const Device *d, uint64_t need, const char *key, int segments, Err *err)
{
    if (d->cap == 0 || d->used + need <= d->cap)
        return 0;
    uint64_t megabytes = (d->used + need + (1 << 20) - 1) >> 20;
    err_set(err, ERR_CONFIG, "%s is %llu MB, but the pipeline needs %llu MB on device %s for three buffers",
            key, (unsigned long long)(d->cap >> 20), (unsigned long long)megabytes, d->name);
    return err_hint(err, "set %s to at least %llu, or lower batch_size or %s", key,
                    (unsigned long long)megabytes, segments ? "vocoder_segment_frames" : "max_mel_frames");
}

static void free_slots(Pipeline *p, int from, int to)
{
    for (int i = from; i < to; i++) {
        Slot *s = &p->ring.slots[i];
        feeder_batch_free(s->batch, p->o.data, p->o.model, p->sizes.batch_bytes);
        if (s->block && p->o.cfg->pin_memory)
            p->o.data->ops->pinned_free(p->o.data, s->block);
        else
            free(s->block);
        s->batch = s->block = s->memory = NULL;
    }
}

/* One block for these slots: pinning is slow, and is done once. */
static int take_slots(void *arg, int from, int to, Err *err)
{
    Pipeline *p = arg;
    const Sizes *z = &p->sizes;
    size_t bytes = (size_t)(to - from) * z->raw_bytes;
    void *memory = NULL;
    if (p->o.cfg->pin_memory) {
        int rc = p->o.data->ops->pinned_alloc(p->o.data, &memory, bytes, err);
        if (rc)
            return rc;
    } else {
        memory = mem_aligned(PAGE, bytes, 1);
        if (!memory)
            return err_set(err, ERR_NOMEM, "no memory for %d host slots of %zu bytes", to - from,
                           z->raw_bytes);
    }
    memset(memory, 0, bytes);
    p->ring.slots[from].block = memory;
    for (int i = from; i < to; i++)
        p->ring.slots[i].memory = (uint8_t *)memory + (size_t)(i - from) * z->raw_bytes;
    /* Where the workers preprocess, each slot also has room for the finished batch. */
    int rc = 0;
    for (int i = from; i < to && z->host_data && !rc; i++)
        rc = feeder_batch_alloc(&p->ring.slots[i].batch, p->o.data, p->o.model, z->batch_bytes, err);
    if (rc)
        free_slots(p, from, to);
    return rc;
}

/* Everything the loader needs to know, in one place. */
static int open_loader(Pipeline *p, Err *err)
{
    const PipelineOptions *o = &p->o;
    LoaderOptions lo = {.cfg = o->cfg,
                        .corpus = o->corpus,
                        .sampler = p->sampler,
                        .ring = &p->ring,
                        .counters = &p->counters,
                        .sim = o->sim,
                        .shape = p->sizes.shape,
                        .shares = p->sizes.shares,
                        .rank = o->rank,
                        .on_the_fly = p->sizes.on_the_fly,
                        .host = p->sizes.host_data ? o->data : NULL,
                        .workers = p->sizes.workers,
                        .first_epoch = o->start.epoch,
                        .first_index = o->start.index,
                        .stuck_seconds = o->stuck_seconds > 0 ? o->stuck_seconds : STUCK_SECONDS,
                        .add_slots = take_slots,
                        .add_arg = p,
                        .log = o->log};
    return loader_open(&p->loader, &lo, err);
}

static int open_feeder(Pipeline *p, Err *err)
{
    const PipelineOptions *o = &p->o;
    FeederOptions fo = {.cfg = o->cfg,
                        .data = o->data,
                        .model = o->model,
                        .preprocess = p->preprocess,
                        .ring = &p->ring,
                        .loader = p->loader,
                        .counters = &p->counters,
                        .shape = p->sizes.shape,
                        .raw_bytes = p->sizes.host_data ? 0 : p->sizes.raw_bytes,
                        .batch_bytes = p->sizes.batch_bytes,
                        .buffers = POLICY_START_BUFFERS,
                        .most_buffers = policy_most_buffers(o->cfg->pipeline_buffer_size),
                        .synchronous = p->sizes.synchronous,
                        .inline_loading = p->sizes.workers == 0,
                        .log = o->log};
    return feeder_open(&p->feeder, &fo, err);
}

/* An augmentation that is set, and that a vocoder's segments do not get. */
static void say_segments(const PipelineOptions *o, int which)
{
    const Augmentation *a = augmentation(which);
    if (!(augmentation_setting(o->cfg, which) > 0))
        return;
    if (a->segments == SEGMENTS_NONE)
        log_warn(o->log, "%s has no effect on a vocoder's segments: their samples must match the mel",
                 a->key);
    if (a->segments == SEGMENTS_OF_RECORDINGS && corpus_brings_mel(o->corpus))
        log_warn(o->log, "%s has no effect on segments that come with their mels", a->key);
}

/* Settings that turn out to mean something, or nothing, for this corpus. */
static void say_settings(const PipelineOptions *o, int on_the_fly)
{
    const Config *cfg = o->cfg;
    if (o->corpus->segment_frames) {
        for (int i = 0; i < AUGMENT_SEED; i++)
            say_segments(o, i);
        return;
    }
    const char *of_recordings = augmentation_of_recordings(cfg);
    if (on_the_fly && cfg->preprocessing_mode == PREPROCESS_AUTO && of_recordings)
        log_info(o->log, "preprocessing_mode auto is on_the_fly here: %s can only change samples, not mels",
                 of_recordings);
    else if (on_the_fly && cfg->preprocessing_mode == PREPROCESS_AUTO)
        log_info(o->log, "preprocessing_mode auto is on_the_fly here: the mels do not fit into free memory, "
                         "and the audio files take less than half of their space");
    if (of_recordings && !on_the_fly)
        log_warn(o->log, "%s has no effect on mels from the cache; it needs preprocessing_mode on_the_fly",
                 of_recordings);
}

/* How many there are from the start on. A run that is resumed begins in the middle of an epoch. */
static int count_batches(const Pipeline *p, int64_t *batches, Err *err)
{
    const PipelineState *start = &p->o.start;
    int64_t per_epoch = sampler_batches(p->sampler), left = INT64_MAX;
    if (start->index >= per_epoch)
        return err_set(err, ERR_DATA,
                       "batch %lld of epoch %lld does not exist: an epoch has %lld batches now",
                       (long long)start->index, (long long)start->epoch, (long long)per_epoch);
    if (p->o.epochs > 0)
        left = (p->o.epochs * per_epoch - (start->epoch * per_epoch + start->index)) * p->sizes.shares.micro;
    *batches = left > 0 ? left : 0;
    return 0;
}

/* The tables of the preprocessing first: on a GPU they count against the cap as well. */
int pipeline_open(Pipeline **out, const PipelineOptions *o, Err *err)
{
    *out = NULL;
    /* The counters need separate cache lines. */
    Pipeline *p = mem_aligned(_Alignof(Pipeline), 1, sizeof *p);
    if (!p)
        return err_set(err, ERR_NOMEM, "no memory for the pipeline");
    memset(p, 0, sizeof *p);
    p->o = *o;
    ASSERT(o->rank >= 0 && o->rank < (o->ranks > 0 ? o->ranks : 1));
    const Config *cfg = o->cfg;
    int same = device_same(o->data, o->model);
    int rc = open_sampler(&p->sampler, &p->lengths, o, corpus_on_the_fly(o->corpus, cfg), err);
    if (rc)
        goto fail;
    find_sizes(&p->sizes, o, p->sampler);
    say_settings(o, p->sizes.on_the_fly);
    rc = preprocess_open(&p->preprocess, o->data, cfg, o->corpus->mean, o->corpus->deviation, err);
    if (rc)
        goto fail;
    uint64_t data, model;
    least_bytes(&data, &model, &p->sizes, o);
    int segments = o->corpus->segment_frames;
    rc = check_cap(o->data, data, same && cfg->model_gpu_memory > 0 ? "model_gpu_memory" : "data_gpu_memory",
                   segments, err);
    if (!rc)
        rc = check_cap(o->model, model, "model_gpu_memory", segments, err);
    if (rc)
        goto fail;
    int64_t batches;
    rc = count_batches(p, &batches, err);
    if (rc)
        goto fail;
    rc = ring_open(&p->ring, p->sizes.slots, p->sizes.most_slots, p->sizes.shape.rows, batches, err);
    if (!rc)
        rc = take_slots(p, 0, p->sizes.slots, err);
    if (rc)
        goto fail;
    rc = open_loader(p, err);
    if (!rc)
        rc = open_feeder(p, err);
    if (rc)
        goto fail;
    *out = p;
    return 0;
fail:
    pipeline_close(p);
    return rc;
}

int pipeline_take(Pipeline *p, DeviceBatch *b, Err *err) { return pipeline_take_within(p, b, -1, err); }

int pipeline_take_within(Pipeline *p, DeviceBatch *b, double seconds, Err *err)
{
    int rc = feeder_take(p->feeder, b, seconds, err);
    if (rc)
        return rc;
    p->taken++;
    p->utterances += b->info.count - b->info.lost;
    p->real_frames += b->info.real_frames;
    p->padded_frames += (int64_t)p->sizes.shape.rows * b->info.frames;
    return 0;
}

int pipeline_await(Pipeline *p, const DeviceBatch *b, Stream *consumer, Err *err)
{
    return feeder_await(p->feeder, b, consumer, err);
}
int pipeline_release(Pipeline *p, DeviceBatch *b, Stream *consumer, Err *err)
{
    return feeder_release(p->feeder, b, consumer, err);
}

int pipeline_consume(Pipeline *p, Stream *consumer, PipelineUse use, void *arg, Err *err)
{
    DeviceBatch b;
    int rc = pipeline_take(p, &b, err);
    if (rc)
        return rc;
    rc = pipeline_await(p, &b, consumer, err);
    if (!rc)
        rc = use(arg, &b, consumer, err);
    /* The first error is the one to tell. */
    int released = pipeline_release(p, &b, consumer, rc ? NULL : err);
    return rc ? rc : released;
}

/* Simulated waits of the loader end first, so that no worker keeps sleeping. */
void pipeline_stop(Pipeline *p)
{
    loader_stop(p->loader);
    feeder_stop(p->feeder);
}

int pipeline_restart(Pipeline *p, const PipelineState *start, Err *err)
{
    int64_t batches;
    ASSERT(start->seed == p->o.start.seed);
    p->o.start = *start;
    int rc = count_batches(p, &batches, err);
    if (rc)
        return rc;
    pipeline_stop(p);
    p->is_stuck = feeder_pause(p->feeder) || loader_close(p->loader);
    if (p->is_stuck)
        return err_set(err, ERR_IO, "a thread is stuck in a read");
    p->loader = NULL;
    const int off = p->counters.off;
    memset(&p->counters, 0, sizeof p->counters);
    p->counters.off = off;
    p->taken = p->utterances = p->real_frames = p->padded_frames = 0;
    ring_restart(&p->ring, batches);
    rc = open_loader(p, err);
    return rc ? rc : feeder_restart(p->feeder, p->loader, err);
}

/* Of the next batch that the consumer will take, however far ahead the loader is; of the same one as long as
 * it has not taken all shares. */
void pipeline_state(const Pipeline *p, PipelineState *s)
{
    int64_t per_epoch = sampler_batches(p->sampler);
    int64_t position = p->o.start.index + p->taken / p->sizes.shares.micro;
    *s = (PipelineState){.epoch = p->o.start.epoch + position / per_epoch,
                         .index = position % per_epoch,
                         .seed = p->o.start.seed};
}

Counters *pipeline_counters(Pipeline *p) { return &p->counters; }
const Sampler *pipeline_sampler(const Pipeline *p) { return p->sampler; }
Shares pipeline_shares(const Pipeline *p) { return p->sizes.shares; }

/* A snapshot; the counters keep counting. */
void pipeline_report(Pipeline *p, PipelineReport *r)
{
    int64_t added_at;
    int most, slots = ring_count(&p->ring, &most, &added_at), buffers = feeder_buffers(p->feeder);
    int is_pinned = feeder_batch_is_pinned(p->o.data, p->o.model);
    *r = (PipelineReport){.workers = p->sizes.workers,
                          .slots = slots,
                          .slots_at_start = p->sizes.slots,
                          .most_slots = most,
                          .slots_added_at = added_at,
                          .on_the_fly = p->sizes.on_the_fly,
                          .buffers = buffers,
                          .buffers_at_start = POLICY_START_BUFFERS,
                          .data_bytes = feeder_data_bytes(p->feeder) + preprocess_bytes(p->preprocess) +
                                        (is_pinned ? 0 : slot_batch_bytes(&p->sizes, slots)),
                          .model_bytes = feeder_model_bytes(p->feeder),
                          .pinned_bytes = pinned_bytes(&p->sizes, &p->o, slots, buffers),
                          .batches = p->taken,
                          .utterances = p->utterances,
                          .lost = loader_lost(p->loader),
                          .real_frames = p->real_frames,
                          .padded_frames = p->padded_frames};
    counters_snapshot(&p->counters, r->stages);
}

int pipeline_close(Pipeline *p)
{
    if (!p)
        return 0;
    /* The feeder uses the loader, and both use the ring: they end in this order. */
    if (p->ring.is_open)
        ring_stop(&p->ring, NULL);
    if (p->loader && !p->is_stuck)
        loader_stop(p->loader);
    int stuck = feeder_close(p->feeder) || p->is_stuck || loader_close(p->loader);
    preprocess_close(p->preprocess);
    /* A worker may still write to its slot: what it can reach is left to the end of the process. */
    if (stuck)
        return 1;
    if (p->ring.is_open)
        free_slots(p, 0, p->ring.count);
    ring_close(&p->ring);
    sampler_close(p->sampler);
    free(p->lengths);
    free(p);
    return 0;
}
