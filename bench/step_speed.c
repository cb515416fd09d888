/* step_speed.c - training steps alone: the real network, batches that are already on the device, no files.
 * Prints one JSON line. The voice has no critics.
 *   step_speed [--device cpu|0] [--size nano|tiny|...] [--batch 32] [--text 128] [--mel 800] [--steps 30]
 *              [--precision bf16|fp32] [--deterministic] [--no-graph]
 *   step_speed --network vocoder [--size small|large] [--batch 32] [--mel 48] ...
 *       steps of a vocoder instead, on segments of --mel frames at 16 kHz, a frame each 200 samples
 *   step_speed ... --epoch FILE [--buckets 8] [--epochs 2]
 *       whole epochs in length buckets; FILE: a line `tokens frames` for each clip
 *   step_speed --clips SETTINGS...
 *       prints such lines of a prepared corpus (--data-path DIR, ...) */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/rng.h"
#include "pipeline/corpus.h"
#include "text/phonemes/tokens.h"
#include "train/step/engine.h"

typedef struct Options {
    const char *device, *network, *size, *precision, *epoch;
    int batch, text, mel, steps, buckets, epochs, deterministic, graph;
} Options;

/* A batch of noise on the device, laid out as the pipeline does. */
typedef struct Noise {
    BatchLayout layout;
    BatchInfo info;
    uint8_t *memory;
} Noise;

/* The engine, and what its steps took. */
typedef struct Bench {
    const Options *o;
    const Config *cfg;
    Device *d;
    Engine *e;
    Event *ends[2];
    Stats phases[PHASE_COUNT], all;
    double *times; /* [room] seconds of steps since `from` */
    size_t count, room;
    int64_t step, from;
    double loss;
} Bench;

static int fail(const Err *err)
{
    fprintf(stderr, "step_speed: %s\n", err->msg);
    return 3;
}

/* Every row is full, its voice that of the next. */
static int noise_open(Noise *n, const Bench *b, int text, int mel, Err *err)
{
    const int rows = b->o->batch, bands = b->cfg->n_mels;
    BatchLayout *l = &n->layout;
    Rng r;
    rng_seed(&r, 1);
    const BatchShape shape = {
        .rows = rows, .text = text, .frames = mel, .bands = bands, .hop = batch_hop(b->cfg)};
    const int64_t samples = rows * batch_kept_samples(&shape, mel);
    batch_layout_device(l, &shape, text, mel);
    n->info = (BatchInfo){.count = rows, .text = text, .frames = mel, .real_frames = (int64_t)rows * mel};
    uint8_t *host = calloc(1, l->bytes);
    if (!host)
        return err_set(err, ERR_NOMEM, "no memory for a batch");
    for (int i = 0; i < rows; i++) {
        ((int32_t *)(void *)(host + l->text_length))[i] = text;
        ((int32_t *)(void *)(host + l->mel_length))[i] = mel;
        ((int32_t *)(void *)(host + l->reference))[i] = (i + 1) % rows;
        for (int k = 0; k < text; k++)
            ((int32_t *)(void *)(host + l->tokens))[i * text + k] =
                1 + (int)rng_below(&r, (uint64_t)tokens_count() - 1);
        for (int64_t k = 0; k < (int64_t)mel * bands; k++)
            ((float *)(void *)(host + l->mel))[(int64_t)i * mel * bands + k] =
                samples ? 2 * (float)rng_normal(&r) - 5 : (float)rng_normal(&r); /* segments: a log mel */
        for (int k = 0; k < mel; k++)
            ((float *)(void *)(host + l->pitch))[i * mel + k] = (float)rng_normal(&r);
    }
    for (int64_t k = 0; k < samples; k++)
        ((float *)(void *)(host + l->samples))[k] = 0.1F * (float)rng_normal(&r);
    void *memory = NULL;
    int rc = device_alloc(b->d, &memory, l->bytes, err);
    n->memory = memory;
    Stream *s = engine_stream(b->e);
    if (!rc && !(rc = b->d->ops->copy_in(s, memory, host, l->bytes, err)))
        rc = b->d->ops->stream_wait_idle(s, err);
    free(host);
    return rc;
}

static void noise_close(Noise *n, const Bench *b)
{
    if (n->memory)
        device_free(b->d, n->memory, n->layout.bytes);
}

static int bench_open(Bench *b, const EngineShape *largest, size_t steps, Err *err)
{
    EngineOptions eo = {
        .cfg = b->cfg, .device = b->d, .largest = *largest, .symbols = tokens_count(), .training = 1};
    int rc = engine_open(&b->e, &eo, err);
    for (int i = 0; i < 2 && !rc; i++)
        rc = b->d->ops->event_open(b->d, &b->ends[i], 1, err);
    b->room = steps;
    if (!rc && !(b->times = calloc(steps, sizeof *b->times)))
        rc = err_set(err, ERR_NOMEM, "no memory for the times of %zu steps", steps);
    return rc ? rc : engine_initialise(b->e, err);
}

static void bench_close(Bench *b)
{
    for (int i = 0; i < 2; i++)
        if (b->ends[i])
            b->d->ops->event_close(b->ends[i]);
    engine_close(b->e);
    free(b->times);
}

/* Steps that have happened; wait: all of them. */
static int harvest(Bench *b, int wait, Err *err)
{
    StepResult r = {0};
    int rc;
    while ((rc = engine_result(b->e, &r, wait, err)) == 1) {
        b->loss = r.loss;
        if (r.step <= b->from || b->count == b->room)
            continue;
        double sum = 0;
        for (int p = 0; p < PHASE_COUNT; p++)
            stats_add(&b->phases[p], r.seconds[p]), sum += r.seconds[p];
        stats_add(&b->all, sum);
        b->times[b->count++] = sum;
    }
    return rc;
}

static int step(Bench *b, const Noise *n, Err *err)
{
    BatchInfo info = n->info;
    info.number = info.whole = b->step++;
    int rc = engine_take(b->e, n->memory, &n->layout, &info, err);
    return rc || (rc = engine_step(b->e, b->step, 1, 1, 3e-4, err)) ? rc : harvest(b, 0, err);
}

/* What follows counts. */
static int begin(Bench *b, Err *err)
{
    int rc = harvest(b, 1, err);
    b->from = b->step;
    return rc ? rc : b->d->ops->event_record(b->ends[0], engine_stream(b->e), err);
}

static int end(Bench *b, double *seconds, Err *err)
{
    int rc = b->d->ops->event_record(b->ends[1], engine_stream(b->e), err);
    if (rc || (rc = harvest(b, 1, err)) || (rc = b->d->ops->event_wait(b->ends[1], err)))
        return rc;
    *seconds = b->d->ops->event_seconds(b->ends[0], b->ends[1]);
    return 0;
}

/* The sizes of the network, under the names of their settings: the peer takes them from here. */
static json_t *network_json(const Config *c)
{
    if (c->network == NETWORK_VOCODER)
        return json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:f, s:f}", "vocoder_dim", c->vocoder_dim,
                         "vocoder_layers", c->vocoder_layers, "n_mels", c->n_mels, "n_fft", c->n_fft,
                         "hop_length", c->hop_length, "sample_rate", c->sample_rate, "mel_fmin",
                         (double)c->mel_fmin, "mel_fmax", (double)c->mel_fmax);
    return json_pack(
        "{s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:b, s:b, s:i, s:i, s:i, s:i, s:f, s:i, s:i}",
        "text_encoder_dim", c->text_encoder_dim, "text_encoder_layers", c->text_encoder_layers,
        "text_encoder_heads", c->text_encoder_heads, "audio_encoder_dim", c->audio_encoder_dim,
        "audio_encoder_layers", c->audio_encoder_layers, "audio_encoder_heads", c->audio_encoder_heads,
        "decoder_dim", c->decoder_dim, "decoder_layers", c->decoder_layers, "decoder_heads", c->decoder_heads,
        "speaker_embedding_dim", c->speaker_embedding_dim, "use_voice_conditioning",
        c->use_voice_conditioning, "use_gst", c->use_gst, "gst_num_style_tokens", c->gst_num_style_tokens,
        "gst_num_heads", c->gst_num_heads, "predictor_dim", c->predictor_dim, "feed_forward_ratio",
        c->feed_forward_ratio, "dropout", c->dropout, "n_mels", c->n_mels, "symbols", tokens_count());
}

/* What both kinds of run say; more: the rest, which is taken. */
static void print(Bench *b, json_t *more)
{
    const Options *o = b->o;
    json_t *j = json_pack("{s:s, s:s, s:s, s:i, s:f, s:f, s:f, s:I, s:f}", "device", b->d->model, "size",
                          o->size, "precision", o->precision, "batch", o->batch, "median_ms",
                          stats_percentile(b->times, b->count, 0.5) * 1e3, "best_ms", b->all.min * 1e3,
                          "variation", b->all.mean > 0 ? stats_std(&b->all) / b->all.mean : 0, "parameters",
                          (json_int_t)engine_model(b->e)->params.numbers, "loss", b->loss);
    for (int p = 0; p < PHASE_COUNT; p++) {
        char key[32];
        snprintf(key, sizeof key, "%s_ms", phase_name(p));
        json_object_set_new(j, key, json_real(b->phases[p].mean * 1e3));
    }
    json_object_set_new(j, "model_bytes", json_integer((json_int_t)engine_bytes(b->e)));
    json_object_set_new(j, "network", network_json(b->cfg));
    json_object_update(j, more);
    json_decref(more);
    json_dumpf(j, stdout, JSON_REAL_PRECISION(6));
    putchar('\n');
    json_decref(j);
}

static int measure_step(Bench *b, Err *err)
{
    const Options *o = b->o;
    Noise n = {0};
    int rc = bench_open(b, &(EngineShape){o->batch, o->text, o->mel}, (size_t)o->steps, err);
    if (!rc)
        rc = noise_open(&n, b, o->text, o->mel, err);
    for (int i = b->d->ops->kind == DEVICE_HOST ? 2 : 8; i > 0 && !rc; i--)
        rc = step(b, &n, err);
    if (!rc)
        rc = begin(b, err);
    double from = clock_now(), seconds;
    for (int i = 0; i < o->steps && !rc; i++)
        rc = step(b, &n, err);
    if (!rc && !(rc = end(b, &seconds, err)))
        print(b,
              json_pack("{s:i, s:i, s:i, s:f, s:f, s:f}", "text", o->text, "mel", o->mel, "steps", o->steps,
                        "step_ms", seconds / o->steps * 1e3, "wall_ms", (clock_now() - from) / o->steps * 1e3,
                        "frames_per_s", (double)o->batch * o->mel * o->steps / seconds));
    noise_close(&n, b);
    return rc;
}

/* --- epochs --- */

static int read_clips(SampleLength **out, uint32_t *count, const char *path, Err *err)
{
    FILE *f = fopen(path, "r");
    if (!f)
        return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
    uint32_t room = 0, n = 0;
    SampleLength *clips = NULL, clip;
    int got;
    while ((got = fscanf(f, "%u %u", &clip.tokens, &clip.frames)) == 2) {
        if (n == room) {
            room = room ? 2 * room : 1024;
            SampleLength *more = realloc(clips, room * sizeof *clips);
            if (!more)
                break;
            clips = more;
        }
        clips[n++] = clip;
    }
    fclose(f);
    *out = clips, *count = n;
    if (got == 2)
        return err_set(err, ERR_NOMEM, "no memory for more than %u clips", n);
    return got == EOF ? 0 : err_set(err, ERR_DATA, "%s: line %u is not `tokens frames`", path, n + 1);
}

typedef struct Epoch {
    SampleLength *clips;
    uint32_t clip_count;
    Sampler *sampler;
    Noise noise[SAMPLER_MAX_BUCKETS]; /* of each bucket's shape; lengths are put in before a batch is used */
    int32_t *lengths;                 /* pinned [batches of epoch 0][text, mel][batch] */
} Epoch;

static int epoch_step(Bench *b, Epoch *e, int64_t index, Err *err)
{
    const int rows = b->o->batch;
    int count, bucket, rc;
    sampler_batch(e->sampler, 0, index, &count, &bucket);
    const Noise *n = &e->noise[bucket];
    const int32_t *lengths = e->lengths + index * 2 * rows;
    Stream *s = engine_stream(b->e);
    size_t bytes = (size_t)rows * sizeof *lengths;
    if ((rc = b->d->ops->copy_in(s, n->memory + n->layout.text_length, lengths, bytes, err)) ||
        (rc = b->d->ops->copy_in(s, n->memory + n->layout.mel_length, lengths + rows, bytes, err)))
        return rc;
    return step(b, n, err);
}

static int epoch_open(Epoch *e, Bench *b, Err *err)
{
    const Options *o = b->o;
    int rc = read_clips(&e->clips, &e->clip_count, o->epoch, err);
    SamplerOptions so = {
        .batch_size = o->batch, .buckets = o->buckets, .frame_multiple = SAMPLER_FRAME_MULTIPLE, .seed = 1};
    if (rc || (rc = sampler_open(&e->sampler, &so, e->clips, e->clip_count, err)))
        return rc;
    sampler_epoch(e->sampler, 0);
    int64_t batches = sampler_batches(e->sampler);
    const SamplerBucket *last = sampler_bucket(e->sampler, sampler_bucket_count(e->sampler) - 1);
    size_t bytes = (size_t)batches * 2 * (size_t)o->batch * sizeof *e->lengths;
    void *pinned = NULL;
    if ((rc = bench_open(b, &(EngineShape){o->batch, last->tokens, last->frames},
                         (size_t)(batches * o->epochs), err)) ||
        (rc = b->d->ops->pinned_alloc(b->d, &pinned, bytes, err)))
        return rc;
    e->lengths = pinned;
    memset(pinned, 0, bytes);
    for (int64_t i = 0; i < batches; i++) {
        int count, bucket;
        const uint32_t *clip = sampler_batch(e->sampler, 0, i, &count, &bucket);
        for (int k = 0; k < count; k++) {
            e->lengths[(2 * i) * o->batch + k] = (int32_t)e->clips[clip[k]].tokens;
            e->lengths[(2 * i + 1) * o->batch + k] = (int32_t)e->clips[clip[k]].frames;
        }
    }
    for (int i = 0; i < sampler_bucket_count(e->sampler) && !rc; i++)
        rc = noise_open(&e->noise[i], b, sampler_bucket(e->sampler, i)->tokens,
                        sampler_bucket(e->sampler, i)->frames, err);
    return rc;
}

static void epoch_close(Epoch *e, Bench *b)
{
    for (int i = 0; i < SAMPLER_MAX_BUCKETS; i++)
        noise_close(&e->noise[i], b);
    if (e->lengths)
        b->d->ops->pinned_free(b->d, e->lengths);
    sampler_close(e->sampler);
    free(e->clips);
}

static void print_epoch(Bench *b, const Epoch *e, double seconds)
{
    int64_t batches = sampler_batches(e->sampler), frames = 0;
    json_t *shapes = json_array();
    for (uint32_t i = 0; i < e->clip_count; i++)
        frames += e->clips[i].frames;
    for (int i = 0; i < sampler_bucket_count(e->sampler); i++)
        json_array_append_new(shapes, json_pack("[i, i]", sampler_bucket(e->sampler, i)->tokens,
                                                sampler_bucket(e->sampler, i)->frames));
    print(b, json_pack("{s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:o}", "batches", (json_int_t)batches, "clips",
                       (json_int_t)e->clip_count, "frames", (json_int_t)frames, "padding",
                       sampler_padding(e->sampler), "epoch_s", seconds, "step_ms",
                       seconds / (double)batches * 1e3, "frames_per_s", (double)frames / seconds, "shapes",
                       shapes));
}

static int measure_epoch(Bench *b, Err *err)
{
    Epoch e = {0};
    int rc = epoch_open(&e, b, err);
    int64_t batches = rc ? 0 : sampler_batches(e.sampler);
    int seen[SAMPLER_MAX_BUCKETS] = {0}, warm = b->d->ops->kind == DEVICE_HOST ? 1 : 4;
    for (int64_t i = 0; i < batches && !rc;
         i++) { /* every shape: products are timed the first time, graphs made the second */
        int count, bucket;
        sampler_batch(e.sampler, 0, i, &count, &bucket);
        for (; seen[bucket] < warm && !rc; seen[bucket]++)
            rc = epoch_step(b, &e, i, err);
    }
    if (!rc)
        rc = begin(b, err);
    for (int64_t i = 0; i < batches * b->o->epochs && !rc; i++)
        rc = epoch_step(b, &e, i % batches, err);
    double seconds;
    if (!rc && !(rc = end(b, &seconds, err)))
        print_epoch(b, &e, seconds / b->o->epochs);
    epoch_close(&e, b);
    return rc;
}

static int print_clips(int argc, char **argv)
{
    Config cfg;
    Corpus corpus = {0};
    Log log;
    Err err = {0};
    log_init(&log, LOG_WARN);
    if (config_load(&cfg, NULL, argc, argv, &err))
        return fail(&err);
    int rc = corpus_open(&corpus, &cfg, SPLIT_TRAIN, &log, &err);
    for (uint32_t i = 0; i < corpus.count && !rc; i++)
        printf("%u %u\n", corpus.lengths[i].tokens, corpus.lengths[i].frames);
    corpus_close(&corpus);
    config_close(&cfg);
    return rc ? fail(&err) : 0;
}

/* Also sets the sizes that were not given. */
static int load_settings(Config *cfg, Options *o, Err *err)
{
    const int is_vocoder = strcmp(o->network, "vocoder") == 0;
    if (!o->size)
        o->size = is_vocoder ? "large" : "tiny";
    if (!o->mel)
        o->mel = is_vocoder ? 48 : 800;
    if (is_vocoder)
        o->text = 0;
    char frames[16];
    snprintf(frames, sizeof frames, "%d", o->mel);
    const char *common[] = {"--network",           o->network,
                            "--mixed-precision",   strcmp(o->precision, "bf16") == 0 ? "true" : "false",
                            "--deterministic",     o->deterministic ? "true" : "false",
                            "--enable-graph-mode", o->graph ? "true" : "false"};
    const char *voice[] = {"--model-size", o->size, "--critic-dim",
                           "0"}; /* the peers' network has no critics */
    const char *vocoder[] = {"--vocoder-size",
                             o->size,
                             "--vocoder-segment-frames",
                             frames,
                             "--sample-rate",
                             "16000",
                             "--win-length",
                             "800",
                             "--hop-length",
                             "200",
                             "--mel-fmax",
                             "8000"};
    const int shared = (int)(sizeof common / sizeof *common),
              own = (int)(is_vocoder ? sizeof vocoder / sizeof *vocoder : sizeof voice / sizeof *voice);
    char *given[sizeof common / sizeof *common + sizeof vocoder / sizeof *vocoder];
    for (int i = 0; i < shared + own; i++)
        given[i] = (char *)(uintptr_t)(i < shared ? common[i] : (is_vocoder ? vocoder : voice)[i - shared]);
    return config_load(cfg, NULL, shared + own, given, err);
}

int main(int argc, char **argv)
{
    Options o = {.device = "cpu",
                 .network = "voice",
                 .precision = "bf16",
                 .batch = 32,
                 .text = 128,
                 .steps = 30,
                 .buckets = 8,
                 .epochs = 2,
                 .graph = 1};
    const struct {
        const char *name, **word;
        int *number, value; /* value: of an option that stands alone */
    } known[] = {{"--device", &o.device, NULL, 0},
                 {"--network", &o.network, NULL, 0},
                 {"--size", &o.size, NULL, 0},
                 {"--precision", &o.precision, NULL, 0},
                 {"--epoch", &o.epoch, NULL, 0},
                 {"--batch", NULL, &o.batch, -1},
                 {"--text", NULL, &o.text, -1},
                 {"--mel", NULL, &o.mel, -1},
                 {"--steps", NULL, &o.steps, -1},
                 {"--buckets", NULL, &o.buckets, -1},
                 {"--epochs", NULL, &o.epochs, -1},
                 {"--no-graph", NULL, &o.graph, 0},
                 {"--deterministic", NULL, &o.deterministic, 1}};
    if (argc > 1 && strcmp(argv[1], "--clips") == 0)
        return print_clips(argc - 2, argv + 2);
    for (int i = 1; i < argc; i++) {
        size_t k = 0;
        while (k < sizeof known / sizeof *known && strcmp(argv[i], known[k].name) != 0)
            k++;
        int alone = k < sizeof known / sizeof *known && known[k].number && known[k].value >= 0;
        if (k == sizeof known / sizeof *known || (!alone && i + 1 == argc)) {
            fprintf(stderr, "step_speed: what is %s?\n", argv[i]);
            return 2;
        }
        if (alone)
            *known[k].number = known[k].value;
        else if (known[k].word)
            *known[k].word = argv[++i];
        else
            *known[k].number = atoi(argv[++i]);
    }
    Config cfg;
    Err err = {0};
    Bench b = {.o = &o, .cfg = &cfg};
    if (load_settings(&cfg, &o, &err))
        return fail(&err);
    int rc = device_open(&b.d, o.device, &(DeviceOptions){0}, &err);
    if (!rc)
        rc = o.epoch ? measure_epoch(&b, &err) : measure_step(&b, &err);
    bench_close(&b);
    device_close(b.d);
    config_close(&cfg);
    return rc ? fail(&err) : 0;
}
