/* pipeline_testing.c - see pipeline_testing.h. */
#include "pipeline_testing.h"

#include "config_testing.h"

#include "wav_testing.h"

Corpora corpora;

/* ---- the corpus ---- */

static double clip_seconds(int i) { return 0.2 + 1.3 * ((i * 37) % CLIPS) / CLIPS; }

void write_clip(const char *path, int kind, double seconds) { write_sweep(path, kind, seconds, 22050); }

const char *clip_file(int i)
{
    char name[64];
    snprintf(name, sizeof name, "data/wavs/clip%02d.wav", i);
    return folder_file(&corpora.folder, name);
}

static void make_dataset(void)
{
    static const char *const words[] = {"the", "old",   "lamp", "turned", "slowly", "over",
                                        "a",   "green", "hill", "and",    "stayed"};
    Err err = {0};
    corpora.folder = folder_make();
    snprintf(corpora.data, sizeof corpora.data, "%s", folder_file(&corpora.folder, "data"));
    snprintf(corpora.cache, sizeof corpora.cache, "%s", folder_file(&corpora.folder, "cache"));
    assert_int_equal(file_make_dirs(folder_file(&corpora.folder, "data/wavs"), &err), 0);
    FILE *f = fopen(folder_file(&corpora.folder, "data/metadata.csv"), "w");
    assert_non_null(f);
    for (int i = 0; i < CLIPS; i++) {
        char text[400] = "";
        int count = 2 + (i * 7) % 19,
            most = (int)((clip_seconds(i) * 22050 / 256 - 3) / 7); /* every symbol needs a frame */
        for (int w = 0; w < (count < most ? count : most); w++) {
            strcat(text, w ? " " : "");
            strcat(text, words[(i + 3 * w) % 11]);
        }
        fprintf(f, "clip%02d|%s|%s|voice%d\n", i, text, text, i % 3);
        write_clip(clip_file(i), i, clip_seconds(i));
    }
    fclose(f);
}

/* ---- settings ---- */

void pipeline_config(Config *cfg, const char *more)
{
    static const char base[] =
        "--use-phonemes false --text-cleaners basic --min-audio-length 0.05 --val-split 0 --batch-size 8 "
        "--enable-multispeaker true --num-workers 2 --data-gpu cpu --model-gpu cpu "
        "--preprocessing-mode precompute --seed 7 --n-mels 20 --length-buckets 3";
    char text[4000];
    int n = snprintf(text, sizeof text, "--data-path %s --cache-dir %s %s %s", corpora.data, corpora.cache,
                     base, more);
    assert_true(n > 0 && (size_t)n < sizeof text);
    load_options(cfg, text);
}

static void prepare(const char *more, PrepareOptions o)
{
    Config cfg;
    Log log;
    Err err = {0};
    PrepareReport report = {0};
    pipeline_config(&cfg, more);
    log_init(&log, LOG_ERROR);
    if (prepare_run(&cfg, &o, &report, &log, &err))
        fail_msg("%s", err.msg);
    assert_int_equal(report.accepted, CLIPS);
    prepare_report_free(&report);
    config_close(&cfg);
}

void prepare_caches(const char *more) { prepare(more, (PrepareOptions){.text = 1, .mel = 1}); }
void prepare_samples(const char *more) { prepare(more, (PrepareOptions){.audio = 1}); }

int setup_corpora(void **state)
{
    make_dataset();
    prepare_caches("");
    return 0;
}

int teardown_corpora(void **state)
{
    folder_remove(&corpora.folder);
    return 0;
}

/* ---- a run ---- */

void run_close(Run *r)
{
    if (r->stream)
        r->stream->device->ops->stream_close(r->stream);
    pipeline_close(r->pipeline);
    corpus_close(&r->corpus);
    devices_close(&r->devices);
    config_close(&r->cfg);
    if (r->log_file)
        fclose(r->log_file);
    free(r->log_text);
    free(r->host);
    *r = (Run){0};
}

int run_try(Run *r, const char *more, RunOptions o)
{
    *r = (Run){0};
    pipeline_config(&r->cfg, more);
    r->log_file = open_memstream(&r->log_text, &r->log_size);
    r->log = (Log){.out = r->log_file, .level = LOG_DEBUG};
    r->host = malloc(HOST_BYTES);
    assert_non_null(r->host);
    int rc = devices_open(&r->devices, &r->cfg, &r->log, &r->err);
    CorpusSource *source = NULL;
    if (!rc)
        rc = corpus_source_open(&source, &r->cfg, NULL, &r->err);
    if (!rc && o.mels)
        rc = corpus_source_follow(source, &r->cfg, *o.mels, &r->err);
    if (!rc)
        rc = corpus_open_split(&r->corpus, source, &r->cfg, SPLIT_TRAIN, &r->log, &r->err);
    if (rc) {
        corpus_source_close(source);
        return rc;
    }
    r->corpus.own = source; /* closed with it */
    if (o.spy)
        o.spy(r->devices.data, r->devices.model);
    PipelineOptions p = {.cfg = &r->cfg,
                         .corpus = &r->corpus,
                         .data = r->devices.data,
                         .model = r->devices.model,
                         .sim = r->devices.has_sim ? &r->devices.sim : NULL,
                         .start = o.start,
                         .rank = o.rank,
                         .ranks = o.ranks,
                         .epochs = o.epochs,
                         .stuck_seconds = o.stuck_seconds,
                         .no_step = o.no_step,
                         .log = &r->log};
    if (!p.start.seed)
        p.start.seed = (uint64_t)r->cfg.seed;
    rc = pipeline_open(&r->pipeline, &p, &r->err);
    return rc ? rc : r->devices.model->ops->stream_open(r->devices.model, &r->stream, "step", &r->err);
}

void run_open(Run *r, const char *more, RunOptions o)
{
    if (run_try(r, more, o))
        fail_msg("%s (%s)", r->err.msg, more);
}

PipelineReport check_plan(Run *r)
{
    PipelineOptions o = {.cfg = &r->cfg,
                         .corpus = &r->corpus,
                         .data = r->devices.data,
                         .model = r->devices.model,
                         .start = {.seed = 7},
                         .log = &r->log};
    uint64_t data, model, pinned;
    PipelineReport report;
    assert_int_equal(pipeline_plan(&data, &model, &pinned, &o, &r->err), 0);
    pipeline_report(r->pipeline, &report);
    assert_int_equal(data, report.data_bytes);
    assert_int_equal(model, report.model_bytes);
    assert_int_equal(pinned, report.pinned_bytes);
    return report;
}

const char *run_log(Run *r)
{
    fflush(r->log_file);
    return r->log_text ? r->log_text : "";
}

int run_next(Run *r, Hash128 *h)
{
    const DeviceOps *ops = r->devices.model->ops;
    int rc = pipeline_take(r->pipeline, &r->batch, &r->err);
    if (rc)
        return rc;
    assert_true(r->batch.layout.bytes <= HOST_BYTES);
    ops->stream_batch(r->stream, r->batch.info.number, 0);
    if ((rc = pipeline_await(r->pipeline, &r->batch, r->stream, &r->err)) ||
        (rc = ops->copy_out(r->stream, r->host, r->batch.memory, r->batch.layout.bytes, &r->err)) ||
        (rc = pipeline_release(r->pipeline, &r->batch, r->stream, &r->err)) ||
        (rc = ops->stream_wait_idle(r->stream, &r->err)))
        return rc;
    BatchShape shape = {.rows = r->cfg.batch_size, .bands = r->cfg.n_mels, .hop = batch_hop(&r->cfg)};
    if (h)
        *h = batch_hash(r->host, &r->batch.layout, &r->batch.info, &shape);
    return 0;
}

const int32_t *batch_ints(const Run *r, size_t offset)
{
    return (const int32_t *)(const void *)(r->host + offset);
}

const float *batch_mel(const Run *r, int row)
{
    return (const float *)(const void *)(r->host + r->batch.layout.mel) +
           (size_t)row * (size_t)r->batch.info.frames * (size_t)r->cfg.n_mels;
}

int run_all(const char *more, RunOptions o, Hash128 *hashes, int cap)
{
    Run r;
    int n = 0, rc;
    run_open(&r, more, o);
    Hash128 h;
    while ((rc = run_next(&r, &h)) == 0) {
        assert_true(n < cap);
        hashes[n++] = h;
    }
    if (rc != ERR_STOPPED)
        fail_msg("%s (%s)", r.err.msg, more);
    run_close(&r);
    return n;
}

void check_hashes(const Hash128 *a, int n, const Hash128 *b, int m, const char *what)
{
    if (n != m)
        fail_msg("%d batches, and %d with %s", n, m, what);
    for (int i = 0; i < n; i++)
        if (!hash_equal(a[i], b[i]))
            fail_msg("batch %d differs with %s", i, what);
}

/* ---- times ---- */

void nothing(void *arg) {}

static int compare_floats(const void *a, const void *b)
{
    const float *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static double median(float *x, size_t n)
{
    qsort(x, n, sizeof *x, compare_floats);
    return n ? x[n / 2] : 0;
}

Timing measure(const char *more, int batches)
{
    Run r;
    StepMeter m = {0};
    Timing t = {0};
    run_open(&r, more, (RunOptions){0});
    const DeviceOps *ops = r.devices.model->ops;
    assert_int_equal(
        step_meter_open(&m, r.devices.model, pipeline_counters(r.pipeline), batches / 10, &r.err), 0);
    DeviceBatch b;
    for (int i = 0; i < batches && !t.rc; i++)
        if (!(t.rc = pipeline_take(r.pipeline, &b, &t.err))) {
            ops->stream_batch(r.stream, b.info.number, 0);
            if ((t.rc = pipeline_await(r.pipeline, &b, r.stream, &t.err)) ||
                (t.rc = step_meter_begin(&m, r.stream, &t.err)) ||
                (t.rc = ops->run(r.stream, nothing, NULL, 0, STAGE_STEP, &t.err)) ||
                (t.rc = step_meter_end(&m, r.stream, &t.err)) ||
                (t.rc = pipeline_release(r.pipeline, &b, r.stream, &t.err)))
                break;
        }
    if (!t.rc)
        t.rc = step_meter_finish(&m, &t.err);
    pipeline_report(r.pipeline, &t.report);
    size_t n = (size_t)m.sample_count;
    float *x = calloc(n + 1, sizeof *x);
    assert_non_null(x);
    double *const out[] = {&t.wait, &t.busy, &t.period};
    for (int k = 0; k < 3; k++) {
        for (size_t i = 0; i < n; i++)
            x[i] = k == 0 ? m.samples[i].wait : k == 1 ? m.samples[i].busy : m.samples[i].step;
        *out[k] = median(x, n);
    }
    free(x);
    step_meter_close(&m);
    run_close(&r);
    return t;
}

/* ---- the process ---- */

int open_files(void) { return entries_of("/proc/self/fd"); }

int threads_now(void) { return entries_of("/proc/self/task"); }

void check_threads(int before)
{
    for (int i = 0; i < 2000 && threads_now() > before; i++)
        clock_sleep(1e-3);
    assert_true(threads_now() <= before); /* one of an earlier test may have been on its way out */
}
