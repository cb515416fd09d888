/* trial.c - see trial.h. */
#include "diag/pipeline/trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/progress.h"
#include "diag/ranks/gang.h"
#include "diag/ranks/observe_ranks.h"
#include "text/phonemes/tokens.h"
#include "train/step/engine_feed.h"
#include "train/step/schedule.h"
#include "train/trainer.h"

#define DEFAULT_SECONDS 8.0
#define LONG_RUN 1000000  /* length of the learning rate schedule; the rate does not matter here */
#define LEAST_BATCHES 160 /* batches by default: three periods of 50, after the warm-up */
#define MOST_BATCHES 420
#define SIM_SKIP 24   /* the warm-up; the buffers grow in it */
#define MOST_SKIP 160 /* slots that are added before this make the warm-up longer */
#define TUNED_SKIP 40 /* each shape is tuned, and captured as a graph the second time it occurs */
#define MONITOR_SECONDS 0.05
#define HOST_SKIP 3

_Static_assert(OBSERVED_PHASES == PHASE_COUNT, "phases of the step");
_Static_assert(ENGINE_LAG <= METER_LAG, "the result of a step is ready before the meter reads it");

/* Pipeline, meter and monitor. */
static int open_parts(Trial *s, int64_t skip, Err *err)
{
    const ObserveOptions *o = s->o;
    PipelineOptions po = {.cfg = o->cfg,
                          .corpus = o->corpus,
                          .no_step = o->no_step,
                          .data = o->data,
                          .model = o->model,
                          .sim = o->sim,
                          .rank = ranks_rank(o->ranks),
                          .ranks = ranks_count(o->ranks),
                          .start = {.seed = (uint64_t)o->cfg->seed},
                          .log = o->log};
    int rc = pipeline_open(&s->pipeline, &po, err);
    if (!rc)
        rc = step_meter_open(&s->meter, o->model, pipeline_counters(s->pipeline), skip, err);
    if (rc)
        return rc;
    if (!o->model->traits.nvml)
        return 0;
    return monitor_open_devices(&s->monitor, (Device *const[]){o->model, o->data}, 2, MONITOR_SECONDS, o->log,
                                err);
}

/* Uses a network if the device can run one; otherwise a stream that takes the simulated time. */
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
                             .ranks = o->ranks,
                             .log = o->log};
        TrainPlan plan;
        rc = train_plan(&plan, &to, err);
        if (rc)
            return rc;
        EngineOptions e = {.cfg = o->cfg,
                           .device = o->model,
                           .largest = plan.shape,
                           .symbols = tokens_count(),
                           .languages = o->corpus->languages.count,
                           .training = 1,
                           .ranks = o->ranks,
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
        s->scratch = o->ranks ? mem_aligned(64, ranks_sum_scratch(o->ranks, 1, SUM_FP32), 1) : NULL;
        if (o->ranks && !s->scratch)
            return err_set(err, ERR_NOMEM, "no memory to wait for the other ranks");
    }
    return open_parts(s, skip, err);
}

/* Phases are counted after the warm-up, as the steps are. */
static int take_results(Trial *s, int wait, Err *err)
{
    StepResult r;
    int rc;
    while ((rc = engine_result(s->engine, &r, wait, err)) == 1) {
        if (s->o->ranks)
            step_meter_sum_took(&s->meter, r.step - 1, r.exposed);
        /* By then every rank has seen this result, because no rank gets further ahead than that. */
        if (r.stop && !s->last)
            s->last = r.step + ENGINE_LAG;
        r.seconds[PHASE_BACKWARD] = fmax(0, r.seconds[PHASE_BACKWARD] - r.exposed);
        for (int p = 0; p < PHASE_COUNT && s->steps > s->begin; p++)
            stats_add(&s->phase[p], r.seconds[p]);
    }
    return rc;
}

/* A step that only takes its time has no gradients to sum: a number stands for them, which also says when a
 * rank wants to stop. */
static int meet_ranks(Trial *s, Stream *stream, Err *err)
{
    float ends = (float)s->wants_end;
    int rc = step_meter_sum(&s->meter, stream, 0, err);
    if (!rc)
        rc = stream->device->ops->stream_wait_idle(stream, err);
    ranks_doing(s->o->ranks, RANK_SUMMING, s->steps);
    if (!rc)
        rc = ranks_sum(s->o->ranks, &ends, 1, SUM_FP32, s->scratch, err);
    if (ends > 0)
        s->last = s->steps;
    return rc ? rc : step_meter_sum(&s->meter, stream, 1, err);
}

/* Without an engine the step only takes its time, or there is none. */
static int simulated_step(void *arg, const DeviceBatch *b, Stream *stream, Err *err)
{
    Trial *s = arg;
    s->steps++;
    int rc = step_meter_begin_batch(&s->meter, stream, b->info.number, b->layout.bytes, err);
    if (b->was_there)
        step_meter_had_data(&s->meter);
    if (!rc && s->gang)
        rc = gang_step(s->gang, s->rank, &s->meter, stream, b->info.number, err);
    else if (!rc && !s->o->no_step)
        rc = device_sim_pass(stream, STAGE_STEP, 1, err);
    if (!rc && s->o->ranks)
        rc = meet_ranks(s, stream, err);
    return rc ? rc : step_meter_end(&s->meter, stream, err);
}

/* As the trainer does it, but nothing is saved. */
static int one_step(Trial *s, Err *err)
{
    ranks_doing(s->o->ranks, RANK_WAITING_FOR_DATA, s->steps);
    int rc = s->engine ? 0 : step_meter_ask(&s->meter, s->stream, err);
    if (!s->engine)
        return rc ? rc : pipeline_consume(s->pipeline, s->stream, simulated_step, s, err);
    rc = engine_feed(s->engine, s->pipeline, &s->meter, NULL, err);
    if (rc)
        return rc;
    s->steps++;
    ranks_doing(s->o->ranks, RANK_STEPPING, s->steps);
    rc = engine_step(s->engine, s->steps, 1, 1, schedule_rate(s->o->cfg, s->steps, LONG_RUN), err);
    if (engine_opens(s->engine))
        step_meter_set_apart(&s->meter);
    if (!rc)
        rc = step_meter_end(&s->meter, s->stream, err);
    return rc ? rc : take_results(s, 0, err);
}

/* Until the requested number of batches, or until the time is up and there are enough to judge. */
static int enough(const Trial *s, int64_t done, double seconds)
{
    const ObserveOptions *o = s->o;
    if (o->batches > 0)
        return done >= o->batches;
    double budget = o->seconds > 0 ? o->seconds : DEFAULT_SECONDS;
    int64_t least = o->model->traits.simulated ? LEAST_BATCHES : OBSERVE_FEWEST;
    return done >= MOST_BATCHES || (done >= least && seconds > budget) ||
           (done >= OBSERVE_FEWEST && seconds > 2.5 * budget);
}

/* Ranks end together: rank 0 decides, and makes one more step, or a few. done: in the window. */
static int is_over(Trial *s, int64_t step, int64_t done, double seconds)
{
    int over = step >= s->begin && enough(s, done, seconds);
    if (s->o->ranks) {
        if (over && !s->wants_end && ranks_rank(s->o->ranks) == 0) {
            s->wants_end = 1;
            if (s->engine)
                engine_wish_stop(s->engine);
        }
        return s->last && s->steps >= s->last;
    }
    if (!s->gang)
        return over;
    if (over && s->rank == 0 && !gang_is_over(s->gang, step))
        gang_end(s->gang, step);
    return gang_is_over(s->gang, step);
}

/* The window begins: everything is counted from here on. */
static void begin_window(Trial *s)
{
    counters_snapshot(pipeline_counters(s->pipeline), s->before);
    if (s->monitor)
        monitor_restart(s->monitor);
    memset(s->phase, 0, sizeof s->phase);
    s->cpu = clock_cpu();
    disturbance_read(&s->quiet);
    s->wall = clock_now();
}

/* Warm-up, then the window; a little more, because the last batches are not complete. */
static int run_trial(Trial *s, int64_t skip, Err *err)
{
    const ObserveOptions *o = s->o;
    Progress progress;
    /* if no number of batches was given, the time is the limit, and the number shown is the maximum */
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
        /* The last batches are added. */
        if (is_over(s, i, i - s->begin - observation_tail(&now), clock_now() - start))
            break;
        rc = one_step(s, err);
        progress_add(&progress, 1);
    }
    if (!rc && s->engine)
        rc = take_results(s, 1, err);
    if (!rc)
        rc = step_meter_finish(&s->meter, err);
    Disturbance end;
    disturbance_read(&end);
    s->disturbed = disturbance_between(&s->quiet, &end);
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
    o->disturbed = s->disturbed;
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

int trial_close(Trial *s)
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
    free(s->scratch);
    return stuck;
}

int trial_observe(Trial *s, Observation *o, Err *err)
{
    const ObserveOptions *options = s->o;
    const DeviceTraits *traits = &options->model->traits;
    int64_t skip = traits->simulated ? SIM_SKIP : traits->tunes_shapes ? TUNED_SKIP : HOST_SKIP;
    *o = (Observation){0};
    int rc = open_trial(s, skip, err);
    if (!rc)
        rc = run_trial(s, skip, err);
    if (rc)
        return rc;
    rc = observation_from_pipeline(o, s->pipeline, options->cfg, options->data, options->model, s->begin,
                                   !s->engine, err);
    if (rc > 0)
        rc = err_set(err, ERR_USAGE, "too few batches to judge: at least %d are needed", OBSERVE_FEWEST);
    if (!rc)
        keep_window(o, s);
    o->no_step = options->no_step;
    return rc;
}

/* o is closed after a failure. */
int observe(Observation *o, const ObserveOptions *options, Err *err)
{
    if (options->sim && options->sim->links.ranks > 1 && !options->no_step && !options->alone)
        return observe_ranks(o, NULL, options, err);
    *o = (Observation){0};
    Trial *s = mem_calloc(1, sizeof *s);
    if (!s)
        return err_set(err, ERR_NOMEM, "no memory to observe the pipeline");
    s->o = options;
    int rc = trial_observe(s, o, err);
    if (trial_close(s)) { /* a reader is stuck and still uses this memory */
        observation_close(o);
        return rc ? rc : err_set(err, ERR_WORKER, "a loader is stuck in a read");
    }
    free(s);
    return rc;
}
