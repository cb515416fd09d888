/* cmd_bench.c - myxtts bench pipeline: the real pipeline into a consumer that takes a set time per step. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/plural.h"
#include "base/progress.h"
#include "base/thread.h"
#include "cmd/cmd.h"
#include "cmd/line/format.h"
#include "cmd/line/options.h"
#include "device/cuda_library.h"
#include "device/devices.h"
#include "device/monitor.h"
#include "pipeline/pipeline.h"
#include "pipeline/step_meter.h"

static const char usage_text[] =
    "myxtts bench pipeline --data-path DIR [--data-gpu D --model-gpu D] [--batch-size N] [--num-batches N] "
    "[--step-ms X] [--json]\n\n"
    "Runs the real pipeline on a prepared dataset. A consumer takes a batch every X ms (0: as fast as it\n"
    "can). Reports how long the consumer waited and how each stage spent its time. Devices: cpu, sim0,\n"
    "sim1, 0, 1, ...; --sim describes a simulated machine.";

#define MOST_BATCH_BYTES ((size_t)1 << 28)
#define MONITOR_SECONDS 0.1 /* between two looks at the GPUs */

typedef struct Bench {
    const Config *cfg;
    Devices devices;
    Corpus corpus;
    Pipeline *pipeline;
    StepMeter meter;
    Stream *stream;
    Monitor *monitor;
    const char *batches_text, *step_text; /* as they were typed */
    int64_t batches;
    double step_seconds; /* < 0: the simulated machine's own */
    int checksum, no_counters;
    Hash128 hash; /* of all batches, in order */
    uint8_t *host;
    int (*cuda_spin)(Stream *s, double seconds, Err *err); /* of the CUDA part */
    int64_t done;                                          /* batches so far */
    double start, first_batch, counted_from, elapsed, cpu;
    PipelineReport report;
} Bench;

/* Devices, corpus, pipeline, a stream for the steps, the meter; a monitor if there is a GPU. */
static int open_bench(Bench *b, Log *log, Err *err)
{
    int rc = devices_open(&b->devices, b->cfg, log, err);
    if (rc)
        return rc;
    if (b->step_seconds >= 0) /* --step-ms wins over the machine's step_ms; jitter and stalls stay */
        b->devices.sim.seconds[STAGE_STEP] = b->step_seconds;
    if ((rc = corpus_open(&b->corpus, b->cfg, SPLIT_TRAIN, log, err)))
        return rc;
    const Sim *sim = &b->devices.sim;
    PipelineOptions o = {.cfg = b->cfg,
                         .corpus = &b->corpus,
                         .no_step = sim->seconds[STAGE_STEP] <= 0 && sim->per_byte[STAGE_STEP] <= 0,
                         .data = b->devices.data,
                         .model = b->devices.model,
                         .sim = b->devices.has_sim ? &b->devices.sim : NULL,
                         .start = {.seed = (uint64_t)b->cfg->seed},
                         .log = log};
    Device *model = b->devices.model;
    rc = pipeline_open(&b->pipeline, &o, err);
    if (!rc)
        rc = model->ops->stream_open(model, &b->stream, "step", err);
    if (rc)
        return rc;
    pipeline_counters(b->pipeline)->off = b->no_counters;
    /* The first steps fill queues and caches; they are not counted. */
    int64_t skip = b->batches / 10 < 10 ? b->batches / 10 : 10;
    if ((rc = step_meter_open(&b->meter, model, pipeline_counters(b->pipeline), skip, err)))
        return rc;
    return monitor_open_devices(&b->monitor, (Device *const[]){model, b->devices.data}, 2, MONITOR_SECONDS,
                                log, err);
}

/* The bytes of a batch join the checksum, in order. */
static int add_to_hash(Bench *b, const DeviceBatch *batch, Err *err)
{
    const DeviceOps *ops = b->devices.model->ops;
    if (!b->host && !(b->host = malloc(MOST_BATCH_BYTES)))
        return err_set(err, ERR_NOMEM, "no memory to read batches back");
    int rc = ops->copy_out(b->stream, b->host, batch->memory, batch->layout.bytes, err);
    if (!rc)
        rc = ops->stream_wait_idle(b->stream, err);
    if (rc)
        return rc;
    BatchShape shape = {
        .rows = pipeline_shares(b->pipeline).rows, .bands = b->cfg->n_mels, .hop = batch_hop(b->cfg)};
    Hash128 both[2] = {b->hash, batch_hash(b->host, &batch->layout, &batch->info, &shape)};
    b->hash = hash_bytes(both, sizeof both);
    return 0;
}

static void nothing(void *arg) { (void)arg; }
static void sleep_a_while(void *arg) { clock_sleep(*(double *)arg); }

/* The step itself: keeps the model device's stream busy for the set time. */
static int step_work(Bench *b, Err *err)
{
    const Device *d = b->devices.model;
    double seconds = b->step_seconds > 0 ? b->step_seconds : 0;
    if (d->traits.simulated)
        return d->ops->run(b->stream, nothing, NULL, 0, STAGE_STEP, err);
    if (seconds == 0)
        return 0;
    if (!d->traits.library_kernels)
        return d->ops->run(b->stream, sleep_a_while, &seconds, sizeof seconds, STAGE_NONE, err);
    if (!b->cuda_spin) {
        void *symbol = cuda_library_symbol(d, "myxtts_cuda_spin", err);
        if (!symbol)
            return err->code;
        memcpy(&b->cuda_spin, &symbol, sizeof symbol);
    }
    return b->cuda_spin(b->stream, seconds, err);
}

static int bench_step(void *arg, const DeviceBatch *batch, Stream *stream, Err *err)
{
    Bench *b = arg;
    if (b->done == 0)
        b->first_batch = clock_now() - b->start;
    if (b->done == b->meter.skip) {
        b->counted_from = clock_now();
        b->cpu = clock_cpu();
    }
    b->done++;
    int rc = step_meter_begin_batch(&b->meter, stream, batch->info.number, batch->layout.bytes, err);
    if (!rc)
        rc = step_work(b, err);
    if (!rc)
        rc = step_meter_end(&b->meter, stream, err);
    return rc || !b->checksum ? rc : add_to_hash(b, batch, err);
}

static int run_bench(Bench *b, Log *log, Err *err)
{
    Progress progress;
    int rc = 0;
    progress_begin(&progress, log, "bench", "batches", (uint64_t)b->batches);
    for (int64_t i = 0; i < b->batches && !rc; i++) {
        rc = pipeline_consume(b->pipeline, b->stream, bench_step, b, err);
        progress_add(&progress, !rc);
    }
    if (!rc)
        rc = step_meter_finish(&b->meter, err);
    b->elapsed = clock_now() - b->counted_from;
    b->cpu = clock_cpu() - b->cpu;
    progress_end(&progress);
    pipeline_report(b->pipeline, &b->report);
    return rc;
}

/* Stop first, so that no thread waits for a stream that is being closed. */
static void close_bench(Bench *b)
{
    if (b->pipeline)
        pipeline_stop(b->pipeline);
    monitor_close(b->monitor);
    if (b->stream)
        b->devices.model->ops->stream_close(b->stream);
    step_meter_close(&b->meter);
    free(b->host);
    if (pipeline_close(b->pipeline)) /* a reader is stuck and may come back: what it looks at stays */
        return;
    corpus_close(&b->corpus);
    devices_close(&b->devices);
}

typedef struct Figures {
    double utterances_per_s, frames_per_s, wait_share, wait_p99, variation, padding, cpu_share;
} Figures;

/* Device time where steps fill most of it; otherwise wall time, as when steps take no time at all. */
static void compute(const Bench *b, Figures *f)
{
    const StepMeter *m = &b->meter;
    double steps = (double)m->step.n, share = b->report.batches ? steps / (double)b->report.batches : 0;
    double total = m->step.mean * steps; /* device time from the first counted step to the last */
    double seconds = total > 0 && total > 0.5 * b->elapsed ? total : b->elapsed;
    f->utterances_per_s = seconds > 0 ? (double)b->report.utterances * share / seconds : 0;
    f->frames_per_s = seconds > 0 ? (double)b->report.real_frames * share / seconds : 0;
    f->wait_share = total > 0 ? m->wait.mean * steps / total : 0;
    f->wait_p99 = step_meter_wait_quantile(m, 0.99);
    f->variation = m->step.mean > 0 ? stats_std(&m->step) / m->step.mean : 0;
    f->padding =
        b->report.padded_frames ? 1 - (double)b->report.real_frames / (double)b->report.padded_frames : 0;
    f->cpu_share = b->elapsed > 0 ? b->cpu / b->elapsed / thread_cores() : 0;
}

/* What NVML saw; null without a GPU. */
static json_t *monitor_json(const Bench *b)
{
    MonitorSummary s;
    if (!b->monitor || !monitor_measures(b->monitor))
        return json_null();
    monitor_summary(b->monitor, 0, &s);
    json_t *o = json_object();
    for (int k = 0; k < MONITOR_COUNT; k++)
        if (s.values[k].n)
            json_object_set_new(o, monitor_value_name((MonitorValue)k), json_real(s.values[k].mean));
    return o;
}

/* Every figure under the name that docs and benchmarks use. */
static void print_json(const Bench *b, const Figures *f)
{
    const PipelineReport *r = &b->report;
    json_t *stages = json_array();
    for (int i = 0; i <= STAGE_STEP; i++) {
        const StageSnapshot *s = &r->stages[i];
        json_array_append_new(
            stages, json_pack("{s:s, s:f, s:f, s:f, s:f, s:I, s:i}", "name", stage_name((StageId)i), "busy",
                              s->busy, "blocked_in", s->blocked_in, "blocked_out", s->blocked_out, "queue",
                              s->queue, "batches", (json_int_t)s->items, "threads", s->threads));
    }
    json_t *o = json_pack(
        "{s:s, s:s, s:f, s:f, s:f, s:f, s:{s:f, s:f}, s:f, s:f, s:f, s:I, s:I, s:f, s:f, s:o}", "data_gpu",
        b->devices.data->name, "model_gpu", b->devices.model->name, "utterances_per_s", f->utterances_per_s,
        "frames_per_s", f->frames_per_s, "wait_share", f->wait_share, "wait_p99_ms", f->wait_p99 * 1e3,
        "step_ms", "mean", b->meter.step.mean * 1e3, "std", stats_std(&b->meter.step) * 1e3, "step_variation",
        f->variation, "padding_share", f->padding, "host_cpu_share", f->cpu_share, "batches",
        (json_int_t)r->batches, "lost", (json_int_t)r->lost, "first_batch_ms", b->first_batch * 1e3,
        "seconds", b->elapsed, "stages", stages);
    json_object_set_new(o, "memory",
                        json_pack("{s:I, s:I, s:I}", "data_bytes", (json_int_t)r->data_bytes, "model_bytes",
                                  (json_int_t)r->model_bytes, "pinned_bytes", (json_int_t)r->pinned_bytes));
    json_object_set_new(o, "workers", json_integer(r->workers));
    json_object_set_new(o, "slots", json_integer(r->slots));
    json_object_set_new(o, "slots_at_start", json_integer(r->slots_at_start));
    json_object_set_new(o, "most_slots", json_integer(r->most_slots));
    json_object_set_new(o, "buffers", json_integer(r->buffers));
    json_object_set_new(o, "gpu", monitor_json(b));
    if (b->checksum) {
        char text[40];
        snprintf(text, sizeof text, "%016llx%016llx", (unsigned long long)b->hash.hi,
                 (unsigned long long)b->hash.lo);
        json_object_set_new(o, "checksum", json_string(text));
    }
    json_dumpf(o, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(7));
    putchar('\n');
    json_decref(o);
}

/* Stages without threads, or without a moment of work, are left out. */
static void print_text(const Bench *b, const Figures *f)
{
    const PipelineReport *r = &b->report;
    char data[32], model[32], pinned[32];
    format_bytes(data, sizeof data, r->data_bytes);
    format_bytes(model, sizeof model, r->model_bytes);
    format_bytes(pinned, sizeof pinned, r->pinned_bytes);
    printf("pipeline on %s (%s)%s%s, %lld batches of %d, %d worker%s, %d host slot%s (%d at the start), %d "
           "device buffers (3 at the start)\n",
           b->devices.model->name, b->devices.model->model,
           b->devices.data == b->devices.model ? "" : ", data on ",
           b->devices.data == b->devices.model ? "" : b->devices.data->name, (long long)r->batches,
           b->cfg->batch_size, r->workers, plural((uint64_t)r->workers), r->slots, plural((uint64_t)r->slots),
           r->slots_at_start, r->buffers);
    printf("  %-22s %.0f utterances/s, %.0f mel frames/s\n", "throughput", f->utterances_per_s,
           f->frames_per_s);
    printf("  %-22s %.2f %% of the time, p99 %.3f ms\n", "the consumer waited", f->wait_share * 100,
           f->wait_p99 * 1e3);
    printf("  %-22s %.3f ms, std %.3f, variation %.1f %%\n", "step", b->meter.step.mean * 1e3,
           stats_std(&b->meter.step) * 1e3, f->variation * 100);
    printf("  %-22s %.2f %%\n", "padding", f->padding * 100);
    printf("  %-22s %.0f %% of %d core%s; first batch after %.0f ms\n", "host CPU", f->cpu_share * 100,
           thread_cores(), plural((uint64_t)thread_cores()), b->first_batch * 1e3);
    printf("  %-22s %s on %s, %s more on %s, %s pinned\n", "memory", data, b->devices.data->name, model,
           b->devices.model->name, pinned);
    if (r->lost)
        printf("  %-22s %lld\n", "utterances skipped", (long long)r->lost);
    MonitorSummary s;
    if (b->monitor && monitor_measures(b->monitor)) {
        monitor_summary(b->monitor, 0, &s);
        printf("  %-22s %.0f %% utilisation, %.0f MB, %.0f W, %.0f MHz\n", "GPU (NVML)",
               s.values[MONITOR_UTILISATION].mean, s.values[MONITOR_MEMORY].mean / 1e6,
               s.values[MONITOR_POWER].mean, s.values[MONITOR_CLOCK].mean);
    }
    printf("\n  %-12s %8s %12s %12s %7s\n", "stage", "busy", "blocked in", "blocked out", "queue");
    for (int i = 0; i < STAGE_COUNT; i++) {
        const StageSnapshot *k = &r->stages[i];
        double total = k->busy + k->blocked_in + k->blocked_out;
        if (k->threads == 0 || total <= 0)
            continue;
        printf("  %-12s %6.1f %% %10.1f %% %10.1f %% %7.1f\n", stage_name((StageId)i), 100 * k->busy / total,
               100 * k->blocked_in / total, 100 * k->blocked_out / total, k->queue);
    }
    if (b->checksum)
        printf("\n  checksum of all batches %016llx%016llx\n", (unsigned long long)b->hash.hi,
               (unsigned long long)b->hash.lo);
}

static const CmdOption options[] = {
    {"num-batches", "N", TEXT_AT(Bench, batches_text), 0, "how many batches to take (200)"},
    {"step-ms", "X", TEXT_AT(Bench, step_text), 0,
     "how long the consumer takes for each batch; 0: as fast as it can (default 0, or step_ms of --sim)"},
    {"checksum", NULL, 0, FLAG_AT(Bench, checksum), "read every batch back and print one checksum over all"},
    {"no-counters", NULL, 0, FLAG_AT(Bench, no_counters), "turn the counters off, to see what they cost"},
};
const CmdUsage bench_usage = {usage_text, options, OPTION_COUNT(options)};

/* Exit code 0, or that of the failure: a benchmark has no findings. */
int cmd_bench(int argc, char **argv, Log *log)
{
    Bench b = {.start = clock_now(), .step_seconds = -1, .batches_text = "200"};
    CmdLine line;
    Err err = {0};
    int code = 0;
    int rc = cmd_line_parse(&line, &bench_usage, &b, argc, argv, &err);
    if (!rc && !line.help)
        rc = cmd_line_expect(&line, 1, 1, "what to measure (pipeline)", &err);
    if (rc || line.help)
        goto done;
    cmd_line_set_log(&line, log);
    char *end = NULL;
    char *step_end = NULL;
    b.batches = strtoll(b.batches_text, &end, 10);
    if (b.step_text)
        b.step_seconds = strtod(b.step_text, &step_end) * 1e-3;
    if (strcmp(line.positional[0], "pipeline") != 0)
        rc = err_set(&err, ERR_USAGE, "unknown benchmark '%s'; the only one is pipeline", line.positional[0]);
    else if (*end || b.batches < 1)
        rc = err_set(&err, ERR_USAGE, "--num-batches is '%s', but must be a number of at least 1",
                     b.batches_text);
    else if (b.step_text && (b.step_seconds < 0 || *step_end))
        rc = err_set(&err, ERR_USAGE, "--step-ms is '%s', but must be a number of at least 0", b.step_text);
    else if (!line.cfg.data_path[0])
        rc = err_set(&err, ERR_USAGE, "bench pipeline needs --data-path DIR, a prepared dataset");
    if (rc)
        goto done;
    b.cfg = &line.cfg;
    rc = open_bench(&b, log, &err);
    if (!rc)
        rc = run_bench(&b, log, &err);
    if (!rc) {
        Figures f;
        compute(&b, &f);
        if (line.json)
            print_json(&b, &f);
        else
            print_text(&b, &f);
    }
done:
    if (rc)
        code = cmd_fail(log, &err);
    close_bench(&b);
    cmd_line_close(&line);
    return code;
}
