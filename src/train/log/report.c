/* report.c - what a run says: one line per interval, log.jsonl, the event file. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/progress.h"
#include "train/run_parts.h"

#define TIMES_KEPT 2000 /* in a line of log.jsonl */
/* Steps that the guard leaves out: this many in a row, or one in this many, are many. */
#define MANY_IN_A_ROW 3
#define MANY_OF 100

/* 1: the network that is trained learns from the loss term. */
static int is_term(const Trainer *t, int k) { return loss_term_is_of((LossTerm)k, t->cfg->network); }

/* The odd gradient that is too high is what the guard is for; one of many, or one that is not a number, is
 * worth a warning. Each is said once, then the line about steps counts them. */
static LogLevel left_out_level(Trainer *t, const StepResult *r)
{
    if (r->guard.skipped == 1)
        return telling_once(t, TELL_NOT_FINITE);
    if (r->guard.consecutive >= MANY_IN_A_ROW ||
        (t->skipped > MANY_IN_A_ROW && MANY_OF * t->skipped > t->state.step - t->first_step))
        return telling_once(t, TELL_TOO_HIGH);
    return telling_once(t, TELL_HIGH) == LOG_WARN ? LOG_INFO : LOG_DEBUG;
}

/* A finished step goes into the sums of its interval; a skipped step is reported. */
void report_step(Trainer *t, const StepResult *r)
{
    Interval *i = &t->interval;
    if (r->guard.skipped) {
        i->skipped++;
        t->skipped++;
        log_line(t->log, left_out_level(t, r),
                 "step %lld was skipped: its gradient %s (norm %g, usual %g); %d in a row",
                 (long long)r->step, r->guard.skipped == 1 ? "is not finite" : "is far too high",
                 (double)r->guard.norm, (double)r->guard.mean, r->guard.consecutive);
        char text[64];
        snprintf(text, sizeof text, "%s",
                 r->guard.skipped == 1 ? "gradient not finite" : "gradient far too high");
        report_event(t, "skipped", r->step, text);
        return;
    }
    /* Without a usable clip there is no loss. */
    if (!(r->frames > 0))
        return;
    for (int k = 0; k < TERM_COUNT; k++)
        i->terms[k] += r->terms[k];
    i->loss += r->loss;
    i->norm += (double)r->guard.norm;
    i->steps++;
    for (int p = 0; p < PHASE_COUNT; p++)
        i->phase[p] += r->seconds[p];
    /* As the step itself is measured: not in the first steps. */
    if (t->meter.sample_count > 0 && !r->opens)
        for (int p = 0; p < PHASE_COUNT; p++)
            stats_add(&t->phase[p], r->seconds[p]);
}

/* Mean, deviation, waiting and busy share of the meter's samples since the interval began. */
static void meter_part(const StepMeter *m, int64_t from, Stats *step, double *wait_share, double *busy_share)
{
    double wait = 0, busy = 0, all = 0;
    int64_t first = m->sample_count - from > METER_KEEP ? m->sample_count - METER_KEEP : from;
    for (int64_t k = first; k < m->sample_count; k++) {
        const StepSample *s = &m->samples[k % METER_KEEP];
        stats_add(step, (double)s->step);
        wait += (double)s->wait;
        busy += (double)s->busy;
        all += (double)s->step;
    }
    *wait_share = all > 0 ? wait / all : 0;
    *busy_share = all > 0 ? busy / all : 0;
}

/* A line of log.jsonl. A log that cannot be written is warned of; training continues. */
static void write_object(Trainer *t, json_t *o)
{
    Err err = {0};
    if (!t->run_log) { /* rank 0 has it */
        json_decref(o);
        return;
    }
    if (run_log_write(t->run_log, o, &err))
        log_warn(t->log, "log.jsonl: %s", err.msg);
}

static void number(json_t *o, const char *key, double v) { json_object_set_new(o, key, json_from_double(v)); }

/* The contents of a line, for the terminal and the log. */
typedef struct Line {
    int64_t at; /* step */
    double lr;
    double steps;               /* made, at least 1 */
    Stats step;                 /* seconds of a batch; n 0: not measured yet */
    double seconds, variation;  /* of a step; deviation over mean */
    double wait, busy, padding; /* shares */
    double clips_per_s, frames_per_s;
} Line;

/* Speed comes from the meter, which skips the first steps; losses from all steps of the interval. */
static Line measure(const Trainer *t, int64_t at, const PipelineReport *p)
{
    const Interval *i = &t->interval;
    Line l = {.at = at, .lr = trainer_rate(t, at), .steps = i->steps > 0 ? (double)i->steps : 1};
    meter_part(&t->meter, i->sample, &l.step, &l.wait, &l.busy);
    l.seconds = l.step.mean * t->each;
    l.variation = l.step.mean > 0 ? stats_std(&l.step) / l.step.mean : 0;
    if (p->padded_frames > i->padded)
        l.padding = 1 - (double)(p->real_frames - i->real) / (double)(p->padded_frames - i->padded);
    double per_batch = l.step.mean > 0 && i->batches > 0 ? 1 / (l.step.mean * (double)i->batches) : 0;
    l.clips_per_s = i->utterances * per_batch;
    l.frames_per_s = i->frames * per_batch;
    if (!l.step.n)
        l.seconds = l.variation = l.wait = l.busy = l.clips_per_s = l.frames_per_s = NAN;
    return l;
}

/* All of it in words, for --verbose; people get telling.c's line. */
static void say_line(Trainer *t, const Line *l)
{
    char terms[160] = "", remains[64], speed[200] = "speed is measured after the first steps";
    for (int k = 0; k < TERM_COUNT; k++) {
        size_t used = strlen(terms);
        if (is_term(t, k) && (loss_term_counts((LossTerm)k) || t->interval.terms[k] > 0))
            snprintf(terms + used, sizeof terms - used, "%s%s %.3f", used ? " " : "", loss_term_name(k),
                     t->interval.terms[k] / l->steps);
    }
    progress_format_seconds(remains, sizeof remains, (double)(t->total - l->at) * l->seconds);
    if (l->step.n)
        snprintf(speed, sizeof speed,
                 "%.0f clips/s %.0f frames/s | step %.1f ms +-%.1f %%  wait %.1f %%  busy %.1f %%  padding "
                 "%.1f %% | %s left",
                 l->clips_per_s, l->frames_per_s, l->seconds * 1e3, 100 * l->variation, 100 * l->wait,
                 100 * l->busy, 100 * l->padding, l->at >= t->total ? "nothing" : remains);
    log_debug(t->log, "step %lld/%lld  loss %.4f (%s)  lr %.2e | %s", (long long)l->at, (long long)t->total,
              t->loss, terms, l->lr, speed);
}

/* Milliseconds of the interval's batches, the newest TIMES_KEPT of them. */
static json_t *step_times(const Trainer *t)
{
    const StepMeter *m = &t->meter;
    int64_t from = t->interval.sample;
    if (m->sample_count - from > TIMES_KEPT)
        from = m->sample_count - TIMES_KEPT;
    json_t *times = json_array();
    for (int64_t k = from; k < m->sample_count; k++)
        json_array_append_new(times, json_real(round((double)m->samples[k % METER_KEEP].step * 1e6) / 1e3));
    return times;
}

/* For programs: log.jsonl. */
static void write_line(Trainer *t, const Line *l)
{
    const Interval *i = &t->interval;
    json_t *o = json_pack("{s:s, s:I}", "event", "step", "step", (json_int_t)l->at);
    json_object_set_new(o, "total_steps", json_integer(t->total)); /* --minutes moves it */
    number(o, "loss", t->loss);
    for (int k = 0; k < TERM_COUNT; k++)
        if (is_term(t, k))
            number(o, loss_term_name(k), i->terms[k] / l->steps);
    number(o, "gradient_norm", i->norm / l->steps);
    number(o, "lr", l->lr);
    number(o, "seconds", clock_now() - t->started);
    number(o, "seconds_left", telling_seconds_left(t, l->at));
    number(o, "utterances_per_s", l->clips_per_s);
    number(o, "frames_per_s", l->frames_per_s);
    number(o, "step_ms", l->seconds * 1e3);
    number(o, "step_variation", l->variation);
    number(o, "wait_share", l->wait);
    number(o, "busy_share", l->busy);
    number(o, "padding_share", l->padding);
    for (int k = 0; k < PHASE_COUNT; k++) {
        char key[24];
        snprintf(key, sizeof key, "%s_ms", phase_name(k));
        number(o, key, i->phase[k] / l->steps * 1e3);
    }
    json_object_set_new(o, "step_times_ms", step_times(t));
    json_object_set_new(o, "skipped", json_integer(i->skipped));
    json_object_set_new(o, "model_bytes", json_integer((json_int_t)t->o.model->used));
    json_object_set_new(o, "epoch", json_integer(t->state.data.epoch));
    if (t->monitor && monitor_measures(t->monitor)) {
        MonitorSummary gpu = {0};
        monitor_summary(t->monitor, 0, &gpu);
        if (gpu.values[MONITOR_UTILISATION].n)
            number(o, "gpu_utilisation", gpu.values[MONITOR_UTILISATION].mean / 100);
    }
    write_object(t, o);
}

/* For TensorBoard. */
static void draw_line(Trainer *t, const Line *l)
{
    const Interval *i = &t->interval;
    const struct {
        const char *tag;
        double value;
    } scalars[] = {{"loss/total", t->loss},
                   {"train/lr", l->lr},
                   {"train/gradient_norm", i->norm / l->steps},
                   {"speed/clips_per_s", l->clips_per_s},
                   {"speed/step_ms", l->seconds * 1e3},
                   {"speed/wait_percent", 100 * l->wait},
                   {"speed/busy_percent", 100 * l->busy},
                   {"speed/padding_percent", 100 * l->padding}};
    for (size_t k = 0; k < sizeof scalars / sizeof *scalars; k++)
        if (isfinite(scalars[k].value)) /* values that were not measured are not points of a curve */
            event_log_scalar(t->events, scalars[k].tag, l->at, scalars[k].value);
    for (int k = 0; k < TERM_COUNT; k++) {
        char tag[32];
        if (!is_term(t, k))
            continue;
        snprintf(tag, sizeof tag, "loss/%s", loss_term_name(k));
        event_log_scalar(t->events, tag, l->at, i->terms[k] / l->steps);
    }
    report_flush(t);
}

/* One interval ends, the next begins. */
void report_line(Trainer *t, int64_t at, int last)
{
    Interval *i = &t->interval;
    PipelineReport p;
    pipeline_report(t->pipeline, &p);
    Line l = measure(t, at, &p);
    /* An interval of skipped steps has no loss; that of the one before is shown again. */
    if (i->steps)
        t->loss = i->loss / l.steps;
    t->telling.waited = isfinite(l.wait) ? l.wait : t->telling.waited;
    say_line(t, &l);
    write_line(t, &l);
    draw_line(t, &l);
    if (t->o.watch) {
        TrainerView view = {t->pipeline, &t->meter, i->sample, at, t->since};
        t->o.watch(t->o.watch_arg, &view, last);
    }
    *i = (Interval){.padded = p.padded_frames, .real = p.real_frames, .sample = t->meter.sample_count};
}

/* What programs need to compare runs. */
void report_start(Trainer *t)
{
    const Config *cfg = t->cfg;
    /* The device has bf16 and graphs, or it has not, whatever is set. */
    const DeviceTraits *device = &t->o.model->traits;
    const Shares shares = pipeline_shares(t->pipeline);
    json_t *o = json_pack("{s:s, s:I, s:I, s:i, s:i, s:i, s:i, s:i, s:s, s:s, s:s, s:I, s:b, s:b, s:b}",
                          "event", "start", "step", (json_int_t)t->state.step, "total_steps",
                          (json_int_t)t->total, "batch_size", shares.rows, "global_batch_size", shares.batch,
                          "ranks", shares.ranks, "micro_batches", shares.micro, "gradient_accumulation_steps",
                          cfg->gradient_accumulation_steps, "model_gpu", t->o.model->name, "data_gpu",
                          t->o.data->name, "device", t->o.model->model, "parameters",
                          (json_int_t)t->plan.parameters, "mixed_precision",
                          device->bf16 && cfg->mixed_precision, "static_shapes", cfg->pad_to_fixed_length,
                          "graph_mode", device->graphs && cfg->enable_graph_mode && !cfg->enable_eager_debug);
    json_t *settings = json_object();
    ConfigRow row;
    for (int i = 0; i < config_row_count(); i++) {
        if (config_row(cfg, i, &row))
            continue;
        json_object_set_new(settings, row.key, json_from_text(row.value));
        if (strcmp(row.key, "model_size") == 0 || strcmp(row.key, "num_workers") == 0 ||
            strcmp(row.key, "network") == 0)
            json_object_set_new(o, row.key, json_string(row.value));
    }
    json_object_set_new(o, "settings", settings);
    write_object(t, o);
}

/* What was heard at once, and what is the best now. */
static void say_validation(Trainer *t, const Validation *v)
{
    const Choice *c = &t->state.choice;
    char ear[140] = "";
    const double *copies = t->state.copies;
    const char *verdict = "";
    if (c->best.step == t->state.step)
        verdict = c->best.ear.movement > 0 || c->best.taught ? ": the best so far" : ", the lowest so far";
    const int by_ear = v->ear.movement > 0;
    if (v->ear.movement > 0) {
        snprintf(ear, sizeof ear, "; ");
        ear_sentence(&v->ear, ear + 2, sizeof ear - 2);
    }
    if (copies[1] > 0)
        snprintf(ear, sizeof ear, "; its copies are %.3f away from the recordings, Griffin-Lim's %.3f",
                 copies[0], copies[1]);
    log_line(t->log, telling_news(t, &t->telling.validated, t->state.step == t->total),
             "validation at step %lld: loss %.4f%s%s", (long long)t->state.step, v->loss,
             by_ear ? ear : verdict, by_ear ? verdict : ear);
}

void report_validation(Trainer *t, const Validation *v)
{
    const int64_t at = t->state.step;
    json_t *o = json_pack("{s:s, s:I}", "event", "validation", "step", (json_int_t)at);
    say_validation(t, v);
    number(o, "loss", v->loss);
    for (int k = 0; k < TERM_COUNT; k++) {
        char tag[40];
        if (!is_term(t, k))
            continue;
        number(o, loss_term_name(k), v->terms[k]);
        snprintf(tag, sizeof tag, "validation/%s", loss_term_name(k));
        event_log_scalar(t->events, tag, at, v->terms[k]);
    }
    event_log_scalar(t->events, "validation/total", at, v->loss);
    if (t->cfg->network == NETWORK_VOICE) {
        number(o, "own_text", v->own_text);
        ear_json(o, &v->ear);
        number(o, "score", v->ear.movement > 0 ? ear_score(&v->ear) : NAN);
    }
    if (t->state.copies[1] > 0) {
        number(o, "copies", t->state.copies[0]);
        number(o, "griffin_lim_copies", t->state.copies[1]);
    }
    judged_json(o, &t->state.choice.best, t->cfg->network == NETWORK_VOICE);
    const struct {
        const char *tag;
        double value;
    } heard[] = {{"validation/own_text", v->own_text},
                 {"validation/movement", v->ear.movement},
                 {"validation/detail", v->ear.detail},
                 {"validation/pitch_range", v->ear.pitch_range},
                 {"validation/length_ratio", v->ear.length_ratio}};
    for (size_t i = 0; i < sizeof heard / sizeof *heard; i++)
        if (isfinite(heard[i].value) && (i == 0 || heard[i].value > 0)) /* 0: not known */
            event_log_scalar(t->events, heard[i].tag, at, heard[i].value);
    write_object(t, o);
}

void report_best(Trainer *t)
{
    json_t *o = json_pack("{s:s, s:I}", "event", "best", "step", (json_int_t)t->state.step);
    judged_json(o, &t->state.choice.best, t->cfg->network == NETWORK_VOICE);
    write_object(t, o);
}

/* What listeners say comes some steps after the clips were spoken: it is logged at the step of the clips. */
void report_heard(Trainer *t, const Heard *h)
{
    char sentence[400];
    if (t->log && t->log->level >= LOG_DEBUG)
        heard_sentence(h, sentence, sizeof sentence);
    else
        heard_words(h, sentence, sizeof sentence);
    log_line(t->log, telling_news(t, &t->telling.heard, h->step == t->total), "heard at step %lld: %s",
             (long long)h->step, sentence);
    json_t *o =
        json_pack("{s:s, s:I, s:i}", "event", "heard", "step", (json_int_t)h->step, "clips", h->clips);
    heard_json(o, h);
    const struct {
        const char *tag;
        double value;
    } numbers[] = {{"heard/words_wrong_percent", 100 * h->voice.share},
                   {"heard/recordings_words_wrong_percent", 100 * h->recordings.share},
                   {"heard/length_ratio", h->length_ratio},
                   {"heard/mcd_db", h->mcd_db},
                   {"heard/f0_rmse_semitones", h->f0_rmse_semitones}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (isfinite(numbers[i].value))
            event_log_scalar(t->events, numbers[i].tag, h->step, numbers[i].value);
    write_object(t, o);
}

void report_phase(Trainer *t, const char *phase)
{
    json_t *o =
        json_pack("{s:s, s:I, s:s}", "event", "phase", "step", (json_int_t)t->state.step, "text", phase);
    number(o, "seconds_left", telling_seconds_left(t, t->state.step));
    write_object(t, o);
}

void report_event(Trainer *t, const char *event, int64_t step, const char *text)
{
    json_t *o = json_pack("{s:s, s:I, s:s}", "event", event, "step", (json_int_t)step, "text", text);
    write_object(t, o);
}

void report_divergence(Trainer *t, double loss, double lowest)
{
    json_t *o = json_pack("{s:s, s:I, s:i}", "event", "diverged", "step", (json_int_t)t->state.step,
                          "skipped_in_a_row", t->state.guard.consecutive);
    number(o, "loss", loss);
    number(o, "lowest_loss", lowest);
    write_object(t, o);
}

/* Once per line, so that TensorBoard can follow. */
void report_flush(Trainer *t)
{
    Err err = {0};
    if (t->events && event_log_flush(t->events, &err) && !t->event_failed) {
        t->event_failed = 1;
        log_warn(t->log, "cannot write the event file any more: %s; training continues", err.msg);
    }
}
