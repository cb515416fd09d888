/* trainer.c - the run: steps, validation, checkpoints, and how it ends. */
#include "train/trainer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "train/run_parts.h"
#include "train/step/engine_feed.h"
#include "train/step/schedule.h"
#include "train/step/together.h"

#define GOOD_FACTOR 2.0 /* weights are good up to this many times the lowest loss */
#define GOOD_STEPS 10   /* steps that the running mean of the loss looks back on */

/* --- steps --- */

/* The loss that weights of this run are measured by. */
static double reference_loss(const Trainer *t)
{
    const double validation = t->state.choice.lowest_loss;
    return t->made && t->lowest_loss < validation ? t->lowest_loss : validation;
}

/* Weights whose loss is this are good: training can resume from them. NaN is not. */
static int is_good_loss(const Trainer *t, double loss) { return loss <= GOOD_FACTOR * reference_loss(t); }

/* The gradient of a step is that of the weights before it: a usable one and a loss as usual show that the
 * checkpoint before it is good. */
static void judge_weights(Trainer *t, const StepResult *r)
{
    if (r->guard.skipped) {
        t->left_out_loss += r->loss;
        t->left_out++;
        return;
    }
    if (!(r->frames > 0))
        return;
    t->left_out_loss = 0;
    t->left_out = 0;
    t->made++;
    t->usual_loss += (r->loss - t->usual_loss) / (double)(t->made < GOOD_STEPS ? t->made : GOOD_STEPS);
    if (t->made == 1 || t->usual_loss < t->lowest_loss)
        t->lowest_loss = t->usual_loss;
    if (t->leads && r->step > t->saved && is_good_loss(t, r->loss) && is_good_loss(t, t->usual_loss))
        checkpoint_writer_confirm(t->writer, t->saved);
}

/* What the guard says about a finished step. */
static int take_result(Trainer *t, const StepResult *r, Err *err)
{
    report_step(t, r);
    judge_weights(t, r);
    t->state.guard = r->guard;
    if (t->o.ranks) {
        t->interval.frames += r->frames;
        t->frames += (int64_t)r->frames;
        if (r->frames > 0 && t->meter.sample_count > 0)
            stats_add(&t->exposed, r->exposed);
    }
    /* By then every rank has seen this result, because no rank gets further ahead than that. */
    if (r->stop && !t->stop_after)
        t->stop_after = r->step + ENGINE_LAG;
    /* When the step has happened, not when it was enqueued: a line is never waited for. */
    if (r->step % t->cfg->log_step == 0)
        report_line(t, r->step, 0);
    /* What was heard is told as soon as it is known, before lines about later steps. */
    Err unheard = {0};
    if (telling_step(t, r->step) && hear_results(t, 0, &unheard))
        log_warn(t->log, "what the voice says was not judged: %s", unheard.msg);
    if (r->guard.consecutive < t->cfg->guard_max_skips || t->gave_up)
        return 0;
    t->gave_up = 1;
    return err_set(err, ERR_DATA, "%d steps in a row gave no usable gradient (step %lld: %s)",
                   r->guard.consecutive, (long long)r->step,
                   r->guard.skipped == 1 ? "not finite" : "far too high");
}

/* Results that are there; with drain all that are outstanding. */
static int take_results(Trainer *t, int drain, Err *err)
{
    for (;;) {
        StepResult r;
        int rc = engine_result(t->engine, &r, drain, err);
        if (rc == 1)
            rc = take_result(t, &r, err);
        else
            return rc;
        if (rc)
            return rc;
    }
}

/* Clips and frames, for the speed. Of several ranks all clips of the batch count; the frames come
 * with the result. */
static void count_batch(Trainer *t, const BatchInfo *info)
{
    const int clips = t->o.ranks ? info->clips : info->count - info->lost;
    if (!t->o.ranks) {
        t->interval.frames += (double)info->real_frames;
        t->frames += info->real_frames;
    }
    t->interval.utterances += clips;
    t->interval.batches++;
    t->utterances += clips;
}

/* The critics take part from critic_from of the run on. The step is remembered: the end of the run may still
 * move, and a resumed run must continue as it was. */
static int ask_critics(Trainer *t, Err *err)
{
    const Config *cfg = t->cfg;
    const int64_t next = t->state.step + 1;
    const int is_voice = cfg->network == NETWORK_VOICE;
    if (!(is_voice ? cfg->critic_dim : cfg->vocoder_critic_dim))
        return 0;
    if (!t->state.critic_step && !t->measuring && !t->critics_wait && cfg->critic_from < 1 &&
        (double)t->state.step >= cfg->critic_from * (double)t->total) {
        PipelineReport p;
        pipeline_report(t->pipeline, &p);
        t->since = p.batches;
        t->state.critic_step = next;
        budget_steps_change(t);
        log_info(t->log,
                 "the critics take part from step %lld on: the %s learns to sound like the recordings",
                 (long long)next, is_voice ? "voice" : "vocoder");
    }
    return engine_set_critics(t->engine, t->state.critic_step > 0, t->state.critic_step == next, err);
}

/* The shares of one step are enqueued; results of earlier ones are taken as they come. */
static int one_step(Trainer *t, double lr, Err *err)
{
    const int each = t->each;
    int64_t clips_before = t->utterances;
    int rc = ask_critics(t, err);
    if (rc)
        return rc;
    for (int k = 0; k < each; k++) {
        BatchInfo info = {0};
        ranks_doing(t->o.ranks, RANK_WAITING_FOR_DATA, t->state.step);
        rc = engine_feed(t->engine, t->pipeline, &t->meter, &info, err);
        ranks_doing(t->o.ranks, RANK_STEPPING, t->state.step);
        if (!rc)
            rc = clip_trace_batch(t, err);
        if (!rc)
            rc = engine_step(t->engine, t->state.step + 1, k == 0, k == each - 1, lr, err);
        if (engine_opens(t->engine))
            step_meter_set_apart(&t->meter);
        if (!rc)
            rc = step_meter_end(&t->meter, engine_stream(t->engine), err);
        if (rc)
            return rc;
        count_batch(t, &info);
        if (k < each - 1)
            rc = take_results(t, 0, err);
        if (rc)
            return rc;
    }
    if (t->utterances > clips_before)
        t->empty_steps = 0;
    else if (t->empty_steps++ == 0)
        t->before_empty = t->state;
    /* From here on a checkpoint would resume behind this step. */
    t->state.step++;
    pipeline_state(t->pipeline, &t->state.data);
    ranks_doing(t->o.ranks, RANK_SUMMING, t->state.step);
    return take_results(t, 0, err);
}

/* Everything enqueued is done and counted; the time until the next step does not count as waiting. */
static int settle(Trainer *t, Err *err)
{
    int rc = take_results(t, 1, err);
    if (!rc)
        rc = step_meter_finish(&t->meter, err);
    t->meter.has_previous = 0;
    return rc;
}

/* --- checkpoints and validation --- */

static void forget_best(Trainer *t)
{
    if (t->best_pending)
        choosing_forget(t);
    t->best_pending = 0;
}

/* Waits for the writer's last job. If it failed, that was said. */
static void take_written(Trainer *t)
{
    if (!t->leads)
        return;
    if (checkpoint_writer_wait(t->writer)) {
        t->checkpoint_failed = 1;
        forget_best(t);
    }
    t->best_pending = 0;
}

/* Copies the weights and hands them to the writer's thread. A checkpoint that cannot be written must not stop
 * the run: a warning is printed, and training continues. */
static int write_checkpoint(Trainer *t, int is_best, Err *err)
{
    if (!t->leads) {
        t->saved = t->state.step;
        return 0;
    }
    ranks_doing(t->o.ranks, RANK_SAVING, t->state.step);
    /* The memory of the one before is needed again. */
    take_written(t);
    t->checkpoint_failed = 0;
    t->best_pending = is_best;
    float *const *flat = t->snapshot.flat;
    int rc = engine_save(t->engine, flat[CHECKPOINT_WEIGHTS], flat[CHECKPOINT_MOMENTS1],
                         flat[CHECKPOINT_MOMENTS2], &t->state.guard, err);
    if (rc)
        return rc;
    snapshot_set(&t->snapshot, &t->state);
    rc = checkpoint_writer_submit(t->writer, t->state.step, is_best, t->snapshot.meta, t->snapshot.meta_count,
                                  t->snapshot.tensors, t->snapshot.tensor_count, err);
    if (rc) {
        log_warn(t->log, "no checkpoint at step %lld: %s; training continues", (long long)t->state.step,
                 err->msg);
        t->checkpoint_failed = 1;
        forget_best(t);
        err_clear(err);
        return 0;
    }
    t->saved = t->state.step;
    return 0;
}

static int save(Trainer *t, int is_best, Err *err)
{
    const double from = clock_now();
    int rc = write_checkpoint(t, is_best, err);
    t->beside[BESIDE_SAVING] += clock_now() - from;
    return rc;
}

/* Rank 0 has heard the voice; the others are told what follows. *better: the weights are the best now. */
static int choose(Trainer *t, const Validation *v, int *better, Err *err)
{
    if (t->leads) {
        choosing_hear(t);
        *better = choosing_validate(t, v);
    }
    return t->o.ranks ? together_choose(t, better, err) : 0;
}

/* A validation that is better than all before it makes the best checkpoint; too many that are not stop the
 * run. */
static int validate(Trainer *t, int last, Err *err)
{
    Validation v;
    int better = 0;
    ranks_doing(t->o.ranks, RANK_VALIDATING, t->state.step);
    t->telling.phase = 0;
    report_phase(t, "validating");
    int rc = evaluate_run(t, &v, last, err);
    if (rc)
        return rc < 0 ? rc : 0;
    t->validation = v.loss;
    t->ear = v.ear;
    take_written(t);
    rc = choose(t, &v, &better, err);
    if (rc)
        return rc;
    report_validation(t, &v);
    if (better)
        rc = save(t, 1, err);
    /* The first one is always better than none; the training's losses tell whether it is good. */
    if (!rc && better && t->leads && is_good_loss(t, v.loss))
        checkpoint_writer_confirm(t->writer, t->state.step);
    const Choice *c = &t->state.choice;
    if (!rc && t->cfg->early_stopping_patience && c->stale >= t->cfg->early_stopping_patience) {
        char why[300];
        judged_why(&c->best, t->cfg->network == NETWORK_VOICE, why, sizeof why);
        t->early = 1;
        log_info(t->log, "no improvement in %lld validations, stopping; the best was %s", (long long)c->stale,
                 why);
    }
    return rc;
}

/* What is due after a step: a line, a validation, samples, a checkpoint. Most steps have none of them, and
 * then nothing waits for the device. last: the run ends here. */
static int afterwards(Trainer *t, int last, Err *err)
{
    const Config *cfg = t->cfg;
    const int64_t step = t->state.step;
    int validates =
        t->o.validation && t->o.validation->count && (step % t->val_step == 0 || last) && !t->measuring;
    int saves = (step % t->save_step == 0 && !t->measuring) || last;
    int speaks = t->leads && t->samples && ((step % t->sample_step == 0 && !t->measuring) || last);
    const double from = validates || saves || speaks || last ? clock_now() : 0;
    int rc = from > 0 ? settle(t, err) : 0;
    double begun = clock_now(), saving = t->beside[BESIDE_SAVING];
    if (last && t->leads)
        checkpoint_writer_end(t->writer);
    if (!rc && last && step % cfg->log_step)
        report_line(t, step, 1);
    if (!rc && validates)
        rc = validate(t, last, err);
    if (validates)
        t->beside[BESIDE_VALIDATION] += clock_now() - begun - (t->beside[BESIDE_SAVING] - saving);
    begun = clock_now();
    if (!rc && speaks) {
        ranks_doing(t->o.ranks, RANK_SPEAKING, step);
        rc = t->copies ? copies_write(t, err) : samples_speak(t, err);
        t->beside[BESIDE_SPEAKING] += clock_now() - begun;
    }
    if (!rc && saves && t->saved != step)
        rc = save(t, 0, err);
    if (from > 0)
        t->aside += clock_now() - from;
    return rc;
}

/* --- the run --- */

static int is_stopped(const Trainer *t) { return t->o.stop && *t->o.stop; }

int64_t trainer_warmup(const Trainer *t) { return t->state.warmup ? t->state.warmup : t->cfg->warmup_steps; }

double trainer_rate(const Trainer *t, int64_t step)
{
    const int64_t from = t->state.schedule_from;
    return schedule_rate_after(t->cfg, trainer_warmup(t), step - from, t->total - from);
}

/* 1: no further step. A rank that is asked to stop tells the others with its next step; all stop together. */
static int has_to_stop(Trainer *t)
{
    if (!t->o.ranks)
        return is_stopped(t);
    if (is_stopped(t))
        engine_wish_stop(t->engine);
    return t->stop_after && t->state.step >= t->stop_after;
}

/* Agreeing on the last step takes a few steps, which is more than a launcher in a hurry waits for. So rank 0
 * saves at once, and again when all have stopped. */
static void save_in_a_hurry(Trainer *t)
{
    Err err = {0};
    if (!t->leads || t->hurried || !is_stopped(t) || !ranks_are_hurried(t->o.ranks) ||
        t->state.step <= t->saved)
        return;
    t->hurried = 1;
    checkpoint_writer_outlive(t->writer);
    if (settle(t, &err) || save(t, 0, &err))
        log_warn(t->log, "no checkpoint at step %lld: %s", (long long)t->state.step, err.msg);
}

/* Steps until the last one, a request to stop, early stopping or an error. */
static int run_steps(Trainer *t, Err *err)
{
    int rc = 0;
    while (!rc && t->state.step < t->total && !t->early) {
        if (has_to_stop(t)) {
            t->stopped = 1;
            break;
        }
        save_in_a_hurry(t);
        rc = one_step(t, trainer_rate(t, t->state.step + 1), err);
        /* The first steps are not like the others: what the GPU did in them does not count. */
        if (t->monitor && t->state.step == t->first_step + METER_SKIP)
            monitor_restart(t->monitor);
        if (!rc)
            rc = budget_step(t, err);
        if (!rc)
            rc = afterwards(t, t->state.step == t->total, err);
    }
    t->seconds = clock_now() - t->started;
    if (rc == ERR_STOPPED && is_stopped(t) && !t->o.ranks) {
        t->stopped = 1;
        err_clear(err);
        rc = 0;
    }
    return rc;
}

/* What was trained since the last checkpoint is saved on request, on early stopping, and after an error of
 * the data; a failed device has nothing left to save. */
static void save_the_end(Trainer *t, int rc)
{
    Err err = {0};
    /* Steps without a clip changed nothing: their clips are still to come. */
    if (t->empty_steps) {
        t->state.step = t->before_empty.step;
        t->state.data = t->before_empty.data;
    }
    if (t->state.step <= t->saved || !(t->stopped || t->early || (rc && rc != ERR_DEVICE)))
        return;
    /* Where one rank fails, the others cannot finish the step; the last checkpoint has to do. */
    if (t->o.ranks && rc && !t->gave_up)
        return;
    int failed = settle(t, &err);
    if (!failed) {
        report_line(t, t->state.step, 1);
        if (t->leads)
            checkpoint_writer_end(t->writer);
        failed = save(t, 0, &err);
    }
    if (failed)
        log_warn(t->log, "no checkpoint at step %lld: %s", (long long)t->state.step, err.msg);
}

/* After this many steps without a usable gradient. Weights do not change in skipped steps, so the present
 * weights gave the losses of these steps: with losses as usual they are good, and the clips are at fault.
 * Otherwise they were broken by the steps before, and the next run has to begin with older ones. */
static void give_up(Trainer *t, int rc, Err *err)
{
    if (!t->leads) /* rank 0 does it */
        return;
    const double loss = t->left_out_loss / (double)t->left_out;
    const int good = is_good_loss(t, loss);
    char found[CHECKPOINT_PATH_SIZE];
    if (good) {
        save_the_end(t, rc);
        take_written(t);
    } else {
        checkpoint_writer_abandon(t->writer, t->state.step - t->state.guard.consecutive, t->state.step);
        report_divergence(t, loss, reference_loss(t));
    }
    snprintf(found, sizeof found, "%s", checkpoint_writer_last_good(t->writer));
    size_t n = strlen(err->msg);
    if (!good)
        n += (size_t)snprintf(err->msg + n, sizeof err->msg - n, ", and the loss is %.3g, having been %.3g",
                              loss, reference_loss(t));
    if (n < sizeof err->msg)
        snprintf(err->msg + n, sizeof err->msg - n, "; the last good checkpoint is %s",
                 *found ? found : "none: no checkpoint was written");
    if (good)
        err_hint(err, "check the clips of the last batches; a lower --learning-rate often helps too");
    else
        err_hint(err, "%s with a lower --learning-rate: this one was %g",
                 *found ? "the same command resumes there" : "start again", t->cfg->learning_rate);
}

/* A device that has failed serves this process no more, but most serve the next one. */
static void say_how_to_go_on(Trainer *t, Err *err)
{
    if (!t->leads || err->hint[0])
        return;
    const char *saved = checkpoint_writer_last_good(t->writer);
    if (*saved)
        err_hint(err,
                 "the same command continues from %s; if it fails again, see the driver's messages (dmesg)",
                 saved);
    else
        err_hint(err, "nothing was saved yet: the same command starts again");
}

/* The last lines of the logs. */
static void report_the_end(Trainer *t, int rc)
{
    Err err = {0};
    if (!rc && t->hearing && !t->stopped)
        report_phase(t, "listening");
    if (!rc && hear_results(t, !t->stopped, &err))
        log_warn(t->log, "what the voice says was not judged: %s", err.msg);
    take_written(t);
    if (t->leads) {
        choosing_hear(t);
        choosing_end(t);
    }
    const char *how = rc ? "error" : t->stopped ? "stopped" : t->early ? "no improvement" : "done";
    report_event(t, "end", t->state.step, how);
    report_curve(t);
}

/* A run that cannot save anything is refused before its first step. */
static int look_for_room(Trainer *t, Err *err)
{
    const Snapshot *s = &t->snapshot;
    uint64_t bytes = checkpoint_file_bytes(s->meta, s->meta_count, s->tensors, s->tensor_count);
    return checkpoint_writer_room(t->writer, t->first_step, bytes, err);
}

/* However the steps end, what was trained is saved, the logs are finished and the writer is waited for. */
int trainer_run(Trainer *t, Err *err)
{
    int rc = t->leads && t->state.step < t->total ? look_for_room(t, err) : 0;
    if (rc)
        return rc;
    t->started = clock_now();
    report_start(t);
    telling_open(t);
    if (t->state.step >= t->total)
        log_info(t->log, "step %lld of %lld: nothing left to do; --minutes 10 trains for ten minutes more",
                 (long long)t->state.step, (long long)t->total);
    rc = run_steps(t, err);
    telling_close(t);
    if (t->gave_up)
        give_up(t, rc, err);
    else
        save_the_end(t, rc);
    if (rc == ERR_DEVICE)
        say_how_to_go_on(t, err);
    report_the_end(t, rc);
    return rc;
}

/* --- what others see --- */

const char *beside_name(BesideKind k)
{
    static const char *const names[BESIDE_COUNT] = {"validation", "speaking", "saving", "preparing",
                                                    "reports"};
    return names[k];
}

Pipeline *trainer_pipeline(Trainer *t) { return t->pipeline; }

/* Times and shares of the steps that the meter has seen. */
static void sum_up_steps(const Trainer *t, TrainSummary *s)
{
    const StepMeter *m = &t->meter;
    const int each = t->each;
    const double all = m->step.mean * (double)m->step.n;
    const int64_t batches = (t->state.step - t->first_step) * each;
    /* Clips and frames are counted from the first step on, the meter skips some. */
    const double counted = batches > 0 ? (double)m->step.n / (double)batches : 0;
    s->step_mean = all > 0 ? m->step.mean * each : NAN;
    s->step_std = m->step.n > 1 ? stats_std(&m->step) * each : NAN;
    s->wait_share = all > 0 ? m->wait.mean * (double)m->wait.n / all : NAN;
    s->busy_share = all > 0 ? m->busy.mean * (double)m->busy.n / all : NAN;
    s->utterances_per_s = all > 0 ? (double)t->utterances * counted / all : NAN;
    s->frames_per_s = all > 0 ? (double)t->frames * counted / all : NAN;
    for (int p = 0; p < PHASE_COUNT; p++)
        s->phase[p] = t->phase[p].n ? t->phase[p].mean : NAN;
    memcpy(s->beside, t->beside, sizeof t->beside);
    s->beside[BESIDE_PREPARING] = m->apart_seconds;
    s->beside[BESIDE_REPORTS] = m->aside;
}

/* Memory, the GPU's load, and the pipeline's own report. */
static void sum_up_machine(Trainer *t, TrainSummary *s)
{
    s->model_bytes = t->peak_model > t->o.model->used ? t->peak_model : t->o.model->used;
    s->data_bytes = t->peak_data > t->o.data->used ? t->peak_data : t->o.data->used;
    s->gpu_utilisation = NAN;
    if (t->monitor && monitor_measures(t->monitor)) {
        MonitorSummary gpu = {0};
        monitor_summary(t->monitor, 0, &gpu);
        if (gpu.values[MONITOR_UTILISATION].n)
            s->gpu_utilisation = gpu.values[MONITOR_UTILISATION].mean / 100;
    }
    const PipelineReport *p = &s->pipeline;
    pipeline_report(t->pipeline, &s->pipeline);
    s->padding = p->padded_frames ? 1 - (double)p->real_frames / (double)p->padded_frames : NAN;
}

/* Figures for the end of a run; NaN where nothing was measured. */
void trainer_summary(Trainer *t, TrainSummary *s)
{
    memset(s, 0, sizeof *s);
    s->first_step = t->first_step;
    s->step = t->state.step;
    s->total = t->total;
    s->state = t->state;
    s->loss = t->loss;
    s->validation = t->validation;
    s->best = t->state.choice.best;
    s->ear = t->ear;
    s->seconds = t->seconds;
    s->heard = t->heard;
    s->warmup = t->state.schedule_from + trainer_warmup(t);
    s->skipped = t->skipped;
    s->stopped = t->stopped;
    s->early = t->early;
    s->checkpoint_failed = t->checkpoint_failed;
    s->on_cpu = t->o.model->traits.host_memory && !t->o.model->traits.simulated;
    const int64_t made = t->state.step - t->first_step;
    s->vocoder_seconds = made > 0 ? copies_steps_left(t) * t->seconds / (double)made : NAN;
    if (t->leads)
        snprintf(s->last_checkpoint, sizeof s->last_checkpoint, "%s", checkpoint_writer_last_good(t->writer));
    sum_up_steps(t, s);
    s->ranks = ranks_count(t->o.ranks);
    s->transport = t->o.model->traits.library_kernels ? "NCCL" : ranks_transport(t->o.ranks);
    s->exposed_share = t->exposed.n && s->step_mean > 0 ? t->exposed.mean / s->step_mean : NAN;
    sum_up_machine(t, s);
}
