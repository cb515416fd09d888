/* observation.c - see observation.h. */
#include "diag/observation.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/progress.h"
#include "base/thread.h"
#include "pipeline/policy.h"
#include "pipeline/step_meter.h"
#include "text/tokens.h"
#include "train/engine_feed.h"
#include "train/schedule.h"
#include "train/trainer.h"

#define DEFAULT_SECONDS 8.0
#define LONG_RUN 1000000  /* steps that the schedule is made for: the rate does not matter here */
#define LEAST_BATCHES 160 /* when nothing is said: three periods of 50, after the warm-up */
#define MOST_BATCHES 420
#define FEWEST_BATCHES 12 /* when even these take long */
#define SIM_SKIP 24       /* the warm-up; the buffers grow in it */
#define MOST_SKIP 160     /* slots that are added before make the warm-up longer */
#define TUNED_SKIP 40     /* every shape is tuned, and captured as a graph the second time it comes */
#define MONITOR_SECONDS 0.05
#define HOST_SKIP 3
/* A disk serves one read at a time when a read beside others adds at least this share of a read alone. */
#define SERIAL_RATIO 0.7
#define SERIAL_SAMPLES 20

_Static_assert(OBSERVED_PHASES == PHASE_COUNT, "phases of the step");

/* A run of the real pipeline into the real step, made only to be looked at. */
typedef struct Trial {
    const ObserveOptions *o;
    Pipeline *pipeline;
    Engine *engine;
    Stream *stream;
    int own_stream;
    StepMeter meter;
    Monitor *monitor;
    int64_t steps;
    Stats phase[PHASE_COUNT];
    StageSnapshot before[STAGE_COUNT];
    int64_t begin; /* of the window: number of steps before it */
    double cpu, wall;
    EnginePlan plan;
} Trial;

void observation_close(Observation *o)
{
    for (int t = 0; t < TRACE_COUNT; t++)
        free(o->trace[t]);
    free(o->host_ready);
    free(o->device_ready);
    free(o->rows);
    free(o->frames);
    free(o->gpu_history);
    *o = (Observation){0};
}

double observation_mean(const Observation *o, TraceId t)
{
    double sum = 0;
    for (int64_t k = o->from; k < o->n; k++)
        sum += (double)o->trace[t][k];
    return o->n > o->from ? sum / (double)(o->n - o->from) : 0;
}

/* --- from the counters --- */

/* One more than needed: no array is NULL when there are no batches. */
static int take_arrays(Observation *o, Err *err)
{
    size_t n = (size_t)o->n + 1;
    int failed = 0;
    for (int t = 0; t < TRACE_COUNT; t++)
        failed |= !(o->trace[t] = mem_calloc(n, sizeof(float)));
    failed |=
        !(o->host_ready = mem_calloc(n, sizeof(float))) | !(o->device_ready = mem_calloc(n, sizeof(float)));
    failed |= !(o->rows = mem_calloc(n, sizeof(int))) | !(o->frames = mem_calloc(n, sizeof(int)));
    return failed ? err_set(err, ERR_NOMEM, "no memory for the times of %lld batches", (long long)o->n) : 0;
}

/* Does the disk serve one reader at a time? Then a read beside others gains only what is its own. */
static int is_serial(const Counters *c)
{
    /* Nothing to compare: the careful guess. */
    ReadTimes alone = counters_read_times(c, 1), shared = counters_read_times(c, 0);
    if (alone.n < SERIAL_SAMPLES || shared.n < SERIAL_SAMPLES)
        return 1;
    return shared.mean > SERIAL_RATIO * alone.mean || shared.median > SERIAL_RATIO * alone.median;
}

/* The settings, as the forecast wants them. */
static void describe(Observation *o, const Config *cfg, const Device *data, const Device *model)
{
    o->batch_size = cfg->batch_size;
    o->num_workers = config_workers(cfg);
    o->start_buffers = o->report.buffers_at_start;
    o->most_buffers = policy_most_buffers(cfg->pipeline_buffer_size);
    o->synchronous = !cfg->native_loading;
    o->two_devices = !device_same(data, model);
    o->host_data = data->traits.host_memory;
    o->host_model = model->traits.inline_streams;
    o->simulated = model->traits.simulated;
    o->on_the_fly = o->report.on_the_fly;
    o->prefetch = cfg->prefetch_to_gpu;
    o->overlap = cfg->optimize_cpu_gpu_overlap;
    o->own_copy = cfg->enhanced_gpu_prefetch;
    o->cores = thread_cores();
    memcpy(o->data_name, data->name, sizeof o->data_name);
    memcpy(o->model_name, model->name, sizeof o->model_name);
    memcpy(o->model_model, model->model, sizeof o->model_model);
}

/* Shares and rates over the window. */
static void summarise(Observation *o)
{
    Stats step = {0};
    double wait = 0, busy = 0, rows = 0;
    for (int64_t k = o->from; k < o->n; k++) {
        double w = (double)o->trace[TRACE_WAIT][k], b = (double)o->trace[TRACE_STEP][k];
        stats_add(&step, w + b);
        wait += w;
        busy += b;
        rows += o->rows[k];
    }
    double all = wait + busy;
    o->period = o->step_mean = step.mean;
    o->step_std = stats_std(&step);
    o->wait_share = all > 0 ? wait / all : 0;
    o->busy_share = all > 0 ? busy / all : 0;
    o->utterances_per_s = all > 0 ? rows / all : 0;
    const PipelineReport *r = &o->report;
    o->padding = r->padded_frames ? 1 - (double)r->real_frames / (double)r->padded_frames : 0;
    const StageSnapshot *h = &r->stages[STAGE_H2D], *p = &r->stages[STAGE_PEER];
    o->h2d_bytes = h->items ? h->bytes / h->items : 0;
    o->peer_bytes = p->items ? p->bytes / p->items : 0;
}

/* The device times of a batch are known when its buffer is used again, those of its step METER_LAG steps
 * later: the last ones are not. */
static int64_t unknown_tail(const PipelineReport *r)
{
    return r->buffers > METER_LAG + 1 ? r->buffers : METER_LAG + 1;
}

/* Slots that were added have changed the pipeline: what came before them is no longer true. Only when most of
 * the batches came before, they are what there is. */
static int64_t window_begin(const PipelineReport *r, int64_t skip, int64_t end)
{
    return r->slots_added_at > skip && end - r->slots_added_at >= (end - skip) / 2 ? r->slots_added_at : skip;
}

/* 1 when there are too few batches to say anything. */
int observation_from_pipeline(Observation *o, Pipeline *p, const Config *cfg, const Device *data,
                              const Device *model, int64_t skip, int held, Err *err)
{
    /* The newest batches that are complete; the oldest rows of the ring may be overwritten while they are
     * read. */
    const Counters *c = pipeline_counters(p);
    *o = (Observation){.cpu_share = -1, .held = held};
    pipeline_report(p, &o->report);
    memcpy(o->stages, o->report.stages, sizeof o->stages);
    describe(o, cfg, data, model);
    int64_t end = o->report.batches - unknown_tail(&o->report),
            first = end > TRACE_KEEP - 64 ? end - (TRACE_KEEP - 64) : 0;
    skip = window_begin(&o->report, skip, end);
    o->n = end - first;
    o->from_start = first == 0;
    o->from = skip > first ? skip - first : 0;
    if (o->n - o->from < FEWEST_BATCHES / 2) {
        *o = (Observation){0};
        return 1;
    }
    int rc = take_arrays(o, err);
    if (rc) {
        observation_close(o);
        return rc;
    }
    for (int64_t k = 0; k < o->n; k++) {
        const TraceRow *row = &c->trace[(first + k) % TRACE_KEEP];
        for (int t = 0; t < TRACE_COUNT; t++)
            o->trace[t][k] = (float)counters_trace(c, first + k, (TraceId)t);
        o->rows[k] = (int)row->rows;
        o->frames[k] = (int)row->frames;
        o->host_ready[k] = (float)row->host_ready;
        o->device_ready[k] = (float)row->device_ready;
    }
    o->serial_disk = is_serial(c);
    summarise(o);
    return 0;
}

/* --- a run of its own --- */

/* With a network where there can be one; else a stream that takes the simulated time. */
static int open_trial(Trial *s, int64_t skip, Err *err)
{
    const ObserveOptions *o = s->o;
    const DeviceOps *ops = o->model->ops;
    int rc = 0;
    if (!o->model->traits.simulated && !o->no_step) {
        TrainerOptions to = {.cfg = o->cfg,
                             .data = o->data,
                             .model = o->model,
                             .sim = o->sim,
                             .train = o->corpus,
                             .log = o->log};
        TrainPlan plan;
        rc = train_plan(&plan, &to, err);
        if (rc)
            return rc;
        EngineOptions e = {.cfg = o->cfg,
                           .device = o->model,
                           .largest = plan.shape,
                           .symbols = tokens_count(),
                           .training = 1,
                           .log = o->log};
        rc = engine_plan(&s->plan, &e, err);
        if (!rc)
            rc = engine_open(&s->engine, &e, err);
        if (!rc)
            rc = engine_initialise(s->engine, err);
        if (rc)
            return rc;
        s->stream = engine_stream(s->engine);
    } else {
        rc = ops->stream_open(o->model, &s->stream, "step", err);
        if (rc)
            return rc;
        s->own_stream = 1;
    }
    PipelineOptions po = {.cfg = o->cfg,
                          .corpus = o->corpus,
                          .no_step = o->no_step,
                          .data = o->data,
                          .model = o->model,
                          .sim = o->sim,
                          .start = {.seed = (uint64_t)o->cfg->seed},
                          .log = o->log};
    rc = pipeline_open(&s->pipeline, &po, err);
    if (!rc)
        rc = step_meter_open(&s->meter, o->model, pipeline_counters(s->pipeline), skip, err);
    if (rc)
        return rc;
    if (!o->model->traits.nvml)
        return 0;
    return monitor_open_devices(&s->monitor, (Device *const[]){o->model, o->data}, 2, MONITOR_SECONDS, o->log,
                                err);
}

static void nothing(void *arg) { (void)arg; }

/* Phases are counted after the warm-up, as the steps are. */
static int take_results(Trial *s, int wait, Err *err)
{
    StepResult r;
    int rc;
    while ((rc = engine_result(s->engine, &r, wait, err)) == 1)
        for (int p = 0; p < PHASE_COUNT && s->steps > s->begin; p++)
            stats_add(&s->phase[p], r.seconds[p]);
    return rc;
}

/* Without an engine: a step that only takes its time, or none at all. */
static int simulated_step(void *arg, const DeviceBatch *b, Stream *stream, Err *err)
{
    Trial *s = arg;
    s->steps++;
    int rc = step_meter_begin_batch(&s->meter, stream, b->info.number, b->layout.bytes, err);
    if (!rc && !s->o->no_step)
        rc = s->o->model->ops->run(stream, nothing, NULL, 0, STAGE_STEP, err);
    return rc ? rc : step_meter_end(&s->meter, stream, err);
}

/* As the trainer does it, but nothing is saved. */
static int one_step(Trial *s, Err *err)
{
    if (!s->engine)
        return pipeline_consume(s->pipeline, s->stream, simulated_step, s, err);
    int rc = engine_feed(s->engine, s->pipeline, &s->meter, NULL, err);
    if (rc)
        return rc;
    s->steps++;
    rc = engine_step(s->engine, s->steps, 1, 1, schedule_rate(s->o->cfg, s->steps, LONG_RUN), err);
    if (!rc)
        rc = step_meter_end(&s->meter, s->stream, err);
    return rc ? rc : take_results(s, 0, err);
}

/* Until the number that was asked for, or until the time is up and there are enough to judge. */
static int enough(const Trial *s, int64_t done, double seconds)
{
    const ObserveOptions *o = s->o;
    if (o->batches > 0)
        return done >= o->batches;
    double budget = o->seconds > 0 ? o->seconds : DEFAULT_SECONDS;
    int64_t least = o->model->traits.simulated ? LEAST_BATCHES : FEWEST_BATCHES;
    return done >= MOST_BATCHES || (done >= least && seconds > budget) ||
           (done >= FEWEST_BATCHES && seconds > 2.5 * budget);
}

/* The window begins: everything is counted from here on. */
static void begin_window(Trial *s)
{
    counters_snapshot(pipeline_counters(s->pipeline), s->before);
    if (s->monitor)
        monitor_restart(s->monitor);
    memset(s->phase, 0, sizeof s->phase);
    s->cpu = clock_cpu();
    s->wall = clock_now();
}

/* Warm-up, then the window; a little more, because the last batches are not complete. */
static int run_trial(Trial *s, int64_t skip, Err *err)
{
    const ObserveOptions *o = s->o;
    Progress progress;
    /* without a number of batches the time is the limit: what is shown is the most there may be */
    progress_begin(
        &progress, o->log, "observing", "batches",
        (uint64_t)((o->batches > 0 ? o->batches : MOST_BATCHES) + skip + o->cfg->pipeline_buffer_size));
    int rc = 0;
    double start = clock_now();
    s->begin = skip;
    for (int64_t i = 0; !rc; i++) {
        PipelineReport now;
        pipeline_report(s->pipeline, &now);
        /* Slots were added: another pipeline, another window. */
        if (now.slots_added_at > s->begin && now.slots_added_at <= MOST_SKIP)
            s->begin = now.slots_added_at;
        if (i == s->begin)
            begin_window(s);
        /* The last ones come on top. */
        if (i >= s->begin && enough(s, i - s->begin - unknown_tail(&now), clock_now() - start))
            break;
        rc = one_step(s, err);
        progress_add(&progress, 1);
    }
    if (!rc)
        rc = step_meter_finish(&s->meter, err);
    if (!rc && s->engine)
        rc = take_results(s, 1, err);
    s->cpu = clock_cpu() - s->cpu;
    s->wall = clock_now() - s->wall;
    progress_end(&progress);
    return rc;
}

/* Counters of the window alone. */
static void keep_window(Observation *o, const Trial *s)
{
    for (int i = 0; i < STAGE_COUNT; i++) {
        StageSnapshot *now = &o->stages[i];
        const StageSnapshot *old = &s->before[i];
        now->busy -= old->busy;
        now->blocked_in -= old->blocked_in;
        now->blocked_out -= old->blocked_out;
        now->items -= old->items;
        now->bytes -= old->bytes;
    }
    o->cpu_share = s->wall > 0 ? s->cpu / s->wall / o->cores : -1;
    if (s->engine) {
        o->has_phases = s->phase[0].n > 0;
        for (int p = 0; p < PHASE_COUNT; p++) {
            o->phase[p] = s->phase[p].mean;
            o->phase_std[p] = stats_std(&s->phase[p]);
        }
        o->parameters = s->plan.parameters;
        o->engine_bytes = engine_bytes(s->engine);
        o->graphs =
            s->o->model->traits.graphs && s->o->cfg->enable_graph_mode && !s->o->cfg->enable_eager_debug;
    }
    if (!s->monitor || !monitor_measures(s->monitor))
        return;
    o->has_gpu = 1;
    monitor_summary(s->monitor, 0, &o->gpu[0]);
    if (o->two_devices && !o->host_data)
        monitor_summary(s->monitor, 1, &o->gpu[1]);
    o->gpu_history = mem_calloc(MONITOR_HISTORY, sizeof *o->gpu_history);
    o->gpu_samples = o->gpu_history ? monitor_history(s->monitor, 0, o->gpu_history, MONITOR_HISTORY) : 0;
}

/* 1: a reader is stuck, and what it can reach must stay. */
static int close_trial(Trial *s)
{
    if (s->pipeline)
        pipeline_stop(s->pipeline);
    monitor_close(s->monitor);
    if (s->stream && s->own_stream)
        s->stream->device->ops->stream_close(s->stream);
    else if (s->stream)
        s->o->model->ops->stream_wait_idle(s->stream, NULL);
    step_meter_close(&s->meter);
    int stuck = pipeline_close(s->pipeline);
    engine_close(s->engine);
    return stuck;
}

/* o is closed after a failure. */
int observe(Observation *o, const ObserveOptions *options, Err *err)
{
    *o = (Observation){0};
    Trial *s = mem_calloc(1, sizeof *s);
    if (!s)
        return err_set(err, ERR_NOMEM, "no memory to observe the pipeline");
    s->o = options;
    const DeviceTraits *traits = &options->model->traits;
    int64_t skip = traits->simulated ? SIM_SKIP : traits->tunes_shapes ? TUNED_SKIP : HOST_SKIP;
    int rc = open_trial(s, skip, err);
    if (!rc)
        rc = run_trial(s, skip, err);
    if (!rc) {
        rc = observation_from_pipeline(o, s->pipeline, options->cfg, options->data, options->model, s->begin,
                                       !s->engine, err);
        if (rc > 0)
            rc = err_set(err, ERR_USAGE, "too few batches to say anything: at least %d are needed",
                         FEWEST_BATCHES);
        if (!rc)
            keep_window(o, s);
        o->no_step = options->no_step;
    }
    if (close_trial(s)) { /* a reader is stuck: what it looks at stays */
        observation_close(o);
        return rc ? rc : err_set(err, ERR_WORKER, "a loader does not come back from a read");
    }
    free(s);
    return rc;
}
