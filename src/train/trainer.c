/* trainer.c - the run. */
#include "train/trainer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/thread.h"
#include "text/tokens.h"
#include "train/engine_feed.h"
#include "train/evaluate.h"
#include "train/run_parts.h"
#include "train/schedule.h"

#define MONITOR_SECONDS 0.1 /* between two looks at the GPU */
#define METER_SKIP 10       /* first steps that are not counted: the pipeline fills, graphs are captured */

/* --- opening --- */

/* Where to go on from. A fresh start into a folder that has checkpoints is refused: they would be mixed up.
 */
static int load_state(Trainer *t, Err *err)
{
    const Config *cfg = t->cfg;
    Checkpoint v;
    char found[CHECKPOINT_PATH_SIZE];
    int fresh = strcmp(cfg->resume, "none") == 0, automatic = strcmp(cfg->resume, "auto") == 0;
    t->state = (TrainState){.data = {.seed = (uint64_t)cfg->seed}, .best_loss = INFINITY};
    int there = checkpoint_find(found, "auto", cfg->checkpoint_dir, NULL, err) == 0;
    if (fresh && (there || err->code == ERR_DAMAGED)) {
        err_set(err, ERR_USAGE, "--resume none would begin anew in %s, which holds checkpoints (%s)",
                cfg->checkpoint_dir, there ? found : "damaged ones");
        return err_hint(err, "move them away or name another --checkpoint-dir");
    }
    if (fresh || (automatic && !there && err->code == ERR_MISSING)) {
        err_clear(err);
        return engine_initialise(t->engine, err);
    }
    err_clear(err);
    int rc = checkpoint_open(&v, cfg->resume, cfg->checkpoint_dir, 0, NULL, t->log, err);
    Model *m = engine_model(t->engine);
    if (!rc)
        rc = checkpoint_state(&v, &t->state, err);
    if (!rc && t->state.data.seed != (uint64_t)cfg->seed) {
        err_set(err, ERR_CONFIG, "%s was trained with --seed %llu, this run has %lld", v.path,
                (unsigned long long)t->state.data.seed, (long long)cfg->seed);
        err_hint(err,
                 "a run goes on with the seed it began with; to begin anew use another --checkpoint-dir");
        rc = err->code;
    }
    if (!rc)
        rc = checkpoint_same(v.path, &v.cfg, cfg, err);
    if (t->state.guard.consecutive >=
        cfg->guard_max_skips) /* a run that gave up is given as many tries again */
        t->state.guard.consecutive = 0;
    float *const *flat = t->snapshot.flat;
    for (int g = 0; g < CHECKPOINT_GROUPS && !rc; g++)
        rc = checkpoint_params(&v, m, (CheckpointGroup)g, flat[g], err);
    if (!rc)
        rc = engine_load(t->engine, flat[CHECKPOINT_WEIGHTS], flat[CHECKPOINT_MOMENTS1],
                         flat[CHECKPOINT_MOMENTS2], &t->state.guard, err);
    if (!rc)
        log_info(t->log, "going on from %s (step %lld, epoch %lld)", v.path, (long long)t->state.step,
                 (long long)t->state.data.epoch);
    checkpoint_close(&v);
    return rc;
}

static int open_logs(Trainer *t, Err *err)
{
    char path[CHECKPOINT_PATH_SIZE + 16];
    snprintf(path, sizeof path, "%s/log.jsonl", t->cfg->checkpoint_dir);
    int rc = run_log_open(&t->run_log, path, err);
    if (!rc)
        rc = run_log_resume(t->run_log, t->state.step, err);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (!rc)
        rc = event_log_open(&t->events, t->cfg->checkpoint_dir, (double)now.tv_sec,
                            t->state.step ? t->state.step + 1 : 0, err);
    return rc;
}

static int open_pipeline(Trainer *t, Err *err)
{
    t->pipeline_cfg = *t->cfg;
    t->pipeline_cfg.pipeline_buffer_size = t->plan.buffers;
    PipelineOptions o = {.cfg = &t->pipeline_cfg,
                         .corpus = t->o.train,
                         .data = t->o.data,
                         .model = t->o.model,
                         .sim = t->o.sim,
                         .start = t->state.data,
                         .log = t->log};
    int rc = pipeline_open(&t->pipeline, &o, err);
    if (rc == ERR_DATA && o.start.index) { /* other clips or another batch size than when it was saved: the
                                              place in the epoch is gone */
        log_warn(t->log, "%s; going on with epoch %lld", err->msg, (long long)o.start.epoch + 1);
        err_clear(err);
        t->state.data.epoch++, t->state.data.index = 0;
        o.start = t->state.data;
        rc = pipeline_open(&t->pipeline, &o, err);
    }
    if (rc)
        return rc;
    int64_t batches = sampler_batches(pipeline_sampler(t->pipeline)),
            each = t->cfg->gradient_accumulation_steps;
    int64_t by_epochs = (int64_t)t->cfg->epochs * batches / each;
    t->total = t->cfg->max_steps && t->cfg->max_steps < by_epochs ? t->cfg->max_steps
               : by_epochs > 0                                    ? by_epochs
                                                                  : 1;
    budget_open(t);
    return step_meter_open(&t->meter, t->o.model, pipeline_counters(t->pipeline), METER_SKIP, err);
}

int trainer_open(Trainer **out, const TrainerOptions *o, Err *err)
{
    Trainer *t = *out = mem_calloc(1, sizeof *t);
    if (!t)
        return err_set(err, ERR_NOMEM, "no memory for the trainer");
    t->o = *o, t->cfg = o->cfg, t->log = o->log;
    t->loss = t->validation = NAN;
    int rc = train_plan(&t->plan, o, err);
    if (rc)
        return rc;
    EngineOptions e = {.cfg = o->cfg,
                       .device = o->model,
                       .largest = t->plan.shape,
                       .symbols = tokens_count(),
                       .training = 1,
                       .log = o->log};
    if ((rc = engine_open(&t->engine, &e, err)) || (rc = voice_clips_open(&t->clips, o->train, err)) ||
        (rc = snapshot_open(&t->snapshot, engine_model(t->engine), o->cfg, o->train, &t->clips, o->model,
                            err)) ||
        (rc = checkpoint_writer_open(&t->writer, o->cfg->checkpoint_dir, o->cfg->keep_checkpoints, o->log,
                                     err)) ||
        (rc = load_state(t, err)) || (rc = open_logs(t, err)) || (rc = open_pipeline(t, err)) ||
        (rc = samples_open(t, err)))
        return rc;
    SynthesisLimits limits = synthesis_limits(&t->plan.shape);
    if ((rc = synthesiser_open(&t->synthesiser, engine_model(t->engine), &limits, err)))
        return rc;
    if (o->validation && o->validation->count && o->cfg->listen_clips &&
        (rc = hearing_open(&t->hearing, o->cfg, o->validation, o->cfg->listen_clips, thread_cores() / 4,
                           o->log, err)))
        return rc;
    engine_poison(t->engine, o->poison_from, o->poison_count);
    t->first_step = t->saved = t->state.step;
    return monitor_open_devices(&t->monitor, &o->model, 1, MONITOR_SECONDS, o->log, err);
}

int trainer_close(Trainer *t)
{
    if (!t)
        return 0;
    if (t->pipeline)
        pipeline_stop(t->pipeline);
    hearing_close(t->hearing);
    monitor_close(t->monitor);
    checkpoint_writer_close(t->writer);
    synthesiser_close(t->synthesiser);
    samples_close(t);
    step_meter_close(&t->meter);
    if (t->engine) {
        Err ignored = {0};
        t->o.model->ops->stream_wait_idle(engine_stream(t->engine), &ignored);
    }
    int stuck = pipeline_close(t->pipeline);
    snapshot_close(&t->snapshot);
    voice_clips_close(&t->clips);
    engine_close(t->engine);
    event_log_close(t->events);
    run_log_close(t->run_log);
    free(t);
    return stuck;
}

/* --- running --- */

/* What the guard says about a finished step. */
static int take_result(Trainer *t, const StepResult *r, Err *err)
{
    report_step(t, r);
    t->state.guard = r->guard;
    if (r->step % t->cfg->log_step ==
        0) /* when the step has happened, not when it was enqueued: nobody waits for a line */
        report_line(t, r->step, 0);
    if (r->guard.consecutive < t->cfg->guard_max_skips || t->gave_up)
        return 0;
    t->gave_up = 1;
    err_set(err, ERR_DATA, "%d steps in a row gave no usable gradient (step %lld: %s)", r->guard.consecutive,
            (long long)r->step, r->guard.skipped == 1 ? "not finite" : "far too high");
    return err_hint(err,
                    "a lower --learning-rate often helps; so does looking at the clips of the last batches");
}

/* Results that are there; with drain all that are outstanding. */
static int take_results(Trainer *t, int drain, Err *err)
{
    StepResult r;
    int rc;
    while ((rc = engine_result(t->engine, &r, drain, err)) == 1)
        if ((rc = take_result(t, &r, err)))
            return rc;
    return rc;
}

static int one_step(Trainer *t, double lr, Err *err)
{
    const int each = t->cfg->gradient_accumulation_steps;
    for (int k = 0; k < each; k++) {
        BatchInfo info;
        int rc = engine_feed(t->engine, t->pipeline, &t->meter, &info, err);
        if (!rc)
            rc = engine_step(t->engine, t->state.step + 1, k == 0, k == each - 1, lr, err);
        if (!rc)
            rc = step_meter_end(&t->meter, engine_stream(t->engine), err);
        if (rc)
            return rc;
        int64_t frames = info.real_frames, clips = info.count - info.lost;
        t->interval.frames += (double)frames, t->interval.utterances += (double)clips, t->interval.batches++;
        t->frames += frames, t->utterances += clips;
        if (k < each - 1 && (rc = take_results(t, 0, err)))
            return rc;
    }
    t->state.step++;
    pipeline_state(t->pipeline, &t->state.data);
    return take_results(t, 0, err);
}

/* Everything enqueued is done and counted; the time until the next step is nobody's wait. */
static int settle(Trainer *t, Err *err)
{
    int rc = take_results(t, 1, err);
    if (!rc)
        rc = step_meter_finish(&t->meter, err);
    t->meter.has_previous = 0;
    return rc;
}

static int save(Trainer *t, int is_best, Err *err)
{
    checkpoint_writer_wait(
        t->writer); /* for the one before: the staging memory is free then. If it failed, it was said */
    t->checkpoint_failed = 0;
    float *const *flat = t->snapshot.flat;
    int rc = engine_save(t->engine, flat[CHECKPOINT_WEIGHTS], flat[CHECKPOINT_MOMENTS1],
                         flat[CHECKPOINT_MOMENTS2], &t->state.guard, err);
    if (rc)
        return rc;
    snapshot_set(&t->snapshot, &t->state);
    rc = checkpoint_writer_submit(t->writer, t->state.step, is_best, t->snapshot.meta, t->snapshot.meta_count,
                                  t->snapshot.tensors, t->snapshot.tensor_count, err);
    if (rc) { /* a full memory is no reason to stop either */
        log_warn(t->log, "no checkpoint at step %lld: %s; training goes on", (long long)t->state.step,
                 err->msg);
        t->checkpoint_failed = 1;
        err_clear(err);
        return 0;
    }
    t->saved = t->state.step;
    return 0;
}

static int validate(Trainer *t, int last, Err *err)
{
    double loss;
    int rc = evaluate_run(t, &loss, last, err);
    if (rc)
        return rc;
    t->validation = loss;
    const int first = !isfinite(t->state.best_loss),
              better = isfinite(loss) && (first || loss < t->state.best_loss);
    const int much =
        first || loss < t->state.best_loss - t->cfg->early_stopping_min_delta; /* enough to go on for */
    log_info(t->log, "validation at step %lld: loss %.4f%s", (long long)t->state.step, loss,
             better ? ", the best so far" : "");
    if (better) {
        t->state.best_loss = loss, t->state.best_step = t->state.step;
        t->state.stale = much ? 0 : t->state.stale + 1;
        rc = save(t, 1, err);
    } else {
        t->state.stale++;
    }
    if (!rc && t->cfg->early_stopping_patience && t->state.stale >= t->cfg->early_stopping_patience) {
        t->early = 1;
        log_info(t->log, "no improvement in %lld validations: stopping, the best was step %lld with %.4f",
                 (long long)t->state.stale, (long long)t->state.best_step, t->state.best_loss);
    }
    return rc;
}

/* What comes after a step that is due; last: the run ends here. */
static int afterwards(Trainer *t, int last, Err *err)
{
    const Config *cfg = t->cfg;
    const int64_t step = t->state.step;
    int validates =
        t->o.validation && t->o.validation->count && (step % t->val_step == 0 || last) && !t->measuring;
    int saves = (step % t->save_step == 0 && !t->measuring) || last;
    int speaks = t->samples && ((step % t->sample_step == 0 && !t->measuring) || last);
    int rc = 0;
    if (validates || saves || speaks || last)
        rc = settle(t, err);
    if (!rc && last && step % cfg->log_step)
        report_line(t, step, 1);
    if (!rc && validates)
        rc = validate(t, last, err);
    if (!rc && speaks)
        rc = samples_speak(t, err);
    if (!rc && saves && t->saved != step)
        rc = save(t, 0, err);
    return rc;
}

int trainer_run(Trainer *t, Err *err)
{
    int rc = 0;
    t->started = clock_now();
    report_start(t);
    if (t->state.step >= t->total)
        log_info(t->log, "step %lld of %lld: nothing is left to do; raise --max-steps or --epochs to go on",
                 (long long)t->state.step, (long long)t->total);
    while (!rc && t->state.step < t->total && !t->early) {
        if (t->o.stop && *t->o.stop) {
            t->stopped = 1;
            break;
        }
        rc = one_step(t, schedule_rate(t->cfg, t->state.step + 1, t->total), err);
        if (t->monitor && t->state.step == t->first_step + METER_SKIP)
            monitor_restart(t->monitor);
        budget_step(t);
        if (!rc)
            rc = afterwards(t, t->state.step == t->total, err);
    }
    t->seconds = clock_now() - t->started;
    if (rc == ERR_STOPPED && t->o.stop && *t->o.stop)
        t->stopped = 1, rc = 0, err_clear(err);
    /* Saved on request, on early stopping, and after an error of the data; a failed device has nothing left
     * to save. */
    if (t->state.step > t->saved && (t->stopped || t->early || (rc && rc != ERR_DEVICE))) {
        Err second = {0};
        if (settle(t, &second) || (report_line(t, t->state.step, 1), save(t, 0, &second)))
            log_warn(t->log, "no checkpoint at step %lld: %s", (long long)t->state.step, second.msg);
    }
    Err unheard = {0};
    if (!rc && hear_results(t, !t->stopped, &unheard))
        log_warn(t->log, "what the voice says was not judged: %s", unheard.msg);
    report_event(t, "end", t->state.step,
                 rc           ? "error"
                 : t->stopped ? "stopped"
                 : t->early   ? "no improvement"
                              : "done");
    report_curve(t);
    if (checkpoint_writer_wait(t->writer))
        t->checkpoint_failed = 1;
    if (t->gave_up) { /* weights did not change in the steps that were left out: what was saved last is good
                       */
        const char *good = checkpoint_writer_last_good(t->writer);
        size_t n = strlen(err->msg);
        snprintf(err->msg + n, sizeof err->msg - n, "; the last good checkpoint is %s",
                 *good ? good : "not there: none was written");
    }
    return rc;
}

Pipeline *trainer_pipeline(Trainer *t) { return t->pipeline; }

void trainer_summary(Trainer *t, TrainSummary *s)
{
    const StepMeter *m = &t->meter;
    memset(s, 0, sizeof *s);
    s->first_step = t->first_step, s->step = t->state.step, s->total = t->total;
    s->loss = t->loss, s->validation = t->validation, s->best_loss = t->state.best_loss,
    s->best_step = t->state.best_step;
    s->seconds = t->seconds;
    s->heard = t->heard;
    double all = m->step.mean * (double)m->step.n,
           counted = t->state.step > t->first_step
                         ? (double)m->step.n /
                               (double)((t->state.step - t->first_step) * t->cfg->gradient_accumulation_steps)
                         : 0;
    const int each = t->cfg->gradient_accumulation_steps;
    s->step_mean = all > 0 ? m->step.mean * each : NAN,
    s->step_std = m->step.n > 1 ? stats_std(&m->step) * each : NAN;
    s->wait_share = all > 0 ? m->wait.mean * (double)m->wait.n / all : NAN;
    s->busy_share = all > 0 ? m->busy.mean * (double)m->busy.n / all : NAN;
    s->utterances_per_s = all > 0 ? (double)t->utterances * counted / all : NAN;
    s->frames_per_s = all > 0 ? (double)t->frames * counted / all : NAN;
    for (int p = 0; p < PHASE_COUNT; p++)
        s->phase[p] = t->phase[p].n ? t->phase[p].mean : NAN;
    s->skipped = t->skipped, s->stopped = t->stopped, s->early = t->early;
    s->model_bytes = t->peak_model > t->o.model->used ? t->peak_model : t->o.model->used;
    s->data_bytes = t->peak_data > t->o.data->used ? t->peak_data : t->o.data->used;
    s->checkpoint_failed = t->checkpoint_failed;
    s->gpu_utilisation = NAN;
    MonitorSummary gpu = {0};
    if (t->monitor && monitor_measures(t->monitor)) {
        monitor_summary(t->monitor, 0, &gpu);
        if (gpu.values[MONITOR_UTILISATION].n)
            s->gpu_utilisation = gpu.values[MONITOR_UTILISATION].mean / 100;
    }
    if (t->writer)
        snprintf(s->last_checkpoint, sizeof s->last_checkpoint, "%s", checkpoint_writer_last_good(t->writer));
    if (t->pipeline) {
        pipeline_report(t->pipeline, &s->pipeline);
        const PipelineReport *p = &s->pipeline;
        s->padding = p->padded_frames ? 1 - (double)p->real_frames / (double)p->padded_frames : NAN;
    }
}
