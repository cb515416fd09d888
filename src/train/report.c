/* report.c - what a run says: one line per interval, log.jsonl, the event file. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/progress.h"
#include "train/run_parts.h"
#include "train/schedule.h"

void report_step(Trainer *t, const StepResult *r)
{
    Interval *i = &t->interval;
    if (r->guard.skipped) {
        i->skipped++;
        t->skipped++;
        log_warn(t->log, "step %lld was left out: its gradient %s (norm %g, usual %g); %d in a row",
                 (long long)r->step, r->guard.skipped == 1 ? "is not finite" : "is far too high",
                 (double)r->guard.norm, (double)r->guard.mean, r->guard.consecutive);
        char text[64];
        snprintf(text, sizeof text, "%s",
                 r->guard.skipped == 1 ? "gradient not finite" : "gradient far too high");
        report_event(t, "skipped", r->step, text);
        return;
    }
    for (int k = 0; k < TERM_COUNT; k++)
        i->terms[k] += r->terms[k];
    i->loss += r->loss;
    i->norm += (double)r->guard.norm;
    i->steps++;
    for (int p = 0; p < PHASE_COUNT; p++)
        i->phase[p] += r->seconds[p];
    if (t->meter.sample_count > 0) /* as the step is measured: not in the first steps */
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

static void number(json_t *o, const char *key, double v) { json_object_set_new(o, key, json_from_double(v)); }

void report_line(Trainer *t, int64_t at, int last)
{
    const double lr = schedule_rate(t->cfg, at, t->total);
    Interval *i = &t->interval;
    PipelineReport p;
    Stats step = {0};
    double wait = 0, busy = 0, n = i->steps > 0 ? (double)i->steps : 1;
    pipeline_report(t->pipeline, &p);
    meter_part(&t->meter, i->sample, &step, &wait, &busy);
    int accumulate = t->cfg->gradient_accumulation_steps;
    double seconds = step.mean * accumulate, left = (double)(t->total - at) * seconds;
    double variation = step.mean > 0 ? stats_std(&step) / step.mean : 0;
    double share = p.padded_frames > i->padded
                       ? 1 - (double)(p.real_frames - i->real) / (double)(p.padded_frames - i->padded)
                       : 0;
    double per_batch = step.mean > 0 && i->batches > 0 ? 1 / (step.mean * (double)i->batches) : 0;
    double frames = i->frames * per_batch, clips = i->utterances * per_batch;
    char terms[160] = "", remains[64];
    for (int k = 0; k < TERM_COUNT; k++) {
        size_t used = strlen(terms);
        snprintf(terms + used, sizeof terms - used, "%s%s %.3f", k ? " " : "", loss_term_name(k),
                 i->terms[k] / n);
    }
    progress_format_seconds(remains, sizeof remains, left);
    char speed[200] = "speed is measured after the first steps";
    if (step.n)
        snprintf(speed, sizeof speed,
                 "%.0f clips/s %.0f frames/s | step %.1f ms +-%.1f %%  wait %.1f %%  busy %.1f %%  padding "
                 "%.1f %% | %s left",
                 clips, frames, seconds * 1e3, 100 * variation, 100 * wait, 100 * busy, 100 * share,
                 at >= t->total ? "nothing" : remains);
    t->loss = i->steps ? i->loss / n : t->loss;
    log_info(t->log, "step %lld/%lld  loss %.4f (%s)  lr %.2e | %s", (long long)at, (long long)t->total,
             t->loss, terms, lr, speed);
    json_t *o = json_pack("{s:s, s:I}", "event", "step", "step", (json_int_t)at);
    number(o, "loss", t->loss);
    for (int k = 0; k < TERM_COUNT; k++)
        number(o, loss_term_name(k), i->terms[k] / n);
    number(o, "gradient_norm", i->norm / n);
    number(o, "lr", lr);
    number(o, "seconds", clock_now() - t->started);
    number(o, "utterances_per_s", clips);
    number(o, "frames_per_s", frames);
    number(o, "step_ms", seconds * 1e3);
    number(o, "step_variation", variation);
    number(o, "wait_share", wait);
    number(o, "busy_share", busy);
    number(o, "padding_share", share);
    for (int k = 0; k < PHASE_COUNT; k++) {
        char key[24];
        snprintf(key, sizeof key, "%s_ms", phase_name(k));
        number(o, key, i->phase[k] / n * 1e3);
    }
    json_t *times = json_array();
    int64_t kept = t->meter.sample_count - i->sample;
    for (int64_t k = kept > 2000 ? t->meter.sample_count - 2000 : i->sample; k < t->meter.sample_count; k++)
        json_array_append_new(times,
                              json_real(round((double)t->meter.samples[k % METER_KEEP].step * 1e6) / 1e3));
    json_object_set_new(o, "step_times_ms", times);
    json_object_set_new(o, "skipped", json_integer(i->skipped));
    json_object_set_new(o, "model_bytes", json_integer((json_int_t)t->o.model->used));
    json_object_set_new(o, "epoch", json_integer(t->state.data.epoch));
    MonitorSummary gpu = {0};
    if (t->monitor && monitor_measures(t->monitor)) {
        monitor_summary(t->monitor, 0, &gpu);
        if (gpu.values[MONITOR_UTILISATION].n)
            number(o, "gpu_utilisation", gpu.values[MONITOR_UTILISATION].mean / 100);
    }
    Err err = {0};
    if (run_log_write(t->run_log, o, &err))
        log_warn(t->log, "log.jsonl: %s", err.msg);
    if (t->events) {
        const struct {
            const char *tag;
            double value;
        } scalars[] = {{"loss/total", t->loss},
                       {"train/lr", lr},
                       {"train/gradient_norm", i->norm / n},
                       {"speed/clips_per_s", clips},
                       {"speed/step_ms", seconds * 1e3},
                       {"speed/wait_percent", 100 * wait},
                       {"speed/busy_percent", 100 * busy},
                       {"speed/padding_percent", 100 * share}};
        for (size_t k = 0; k < sizeof scalars / sizeof *scalars; k++)
            event_log_scalar(t->events, scalars[k].tag, at, scalars[k].value);
        for (int k = 0; k < TERM_COUNT; k++) {
            char tag[32];
            snprintf(tag, sizeof tag, "loss/%s", loss_term_name(k));
            event_log_scalar(t->events, tag, at, i->terms[k] / n);
        }
    }
    report_flush(t);
    if (t->o.watch) {
        TrainerView view = {t->pipeline, &t->meter, i->sample, at};
        t->o.watch(t->o.watch_arg, &view, last);
    }
    *i = (Interval){.padded = p.padded_frames, .real = p.real_frames, .sample = t->meter.sample_count};
}

void report_start(Trainer *t)
{
    const Config *cfg = t->cfg;
    const DeviceTraits *device = &t->o.model->traits; /* has bf16 and graphs, or not, whatever is set */
    Err err = {0};
    json_t *o =
        json_pack("{s:s, s:I, s:I, s:i, s:i, s:s, s:s, s:s, s:I, s:b, s:b, s:b}", "event", "start", "step",
                  (json_int_t)t->state.step, "total_steps", (json_int_t)t->total, "batch_size",
                  cfg->batch_size, "gradient_accumulation_steps", cfg->gradient_accumulation_steps,
                  "model_gpu", t->o.model->name, "data_gpu", t->o.data->name, "device", t->o.model->model,
                  "parameters", (json_int_t)t->plan.parameters, "mixed_precision",
                  device->bf16 && cfg->mixed_precision, "static_shapes", cfg->pad_to_fixed_length,
                  "graph_mode", device->graphs && cfg->enable_graph_mode && !cfg->enable_eager_debug);
    ConfigRow row;
    for (int i = 0; i < config_row_count(); i++)
        if (config_row(cfg, i, &row) == 0 &&
            (strcmp(row.key, "model_size") == 0 || strcmp(row.key, "num_workers") == 0))
            json_object_set_new(o, row.key, json_string(row.value));
    if (run_log_write(t->run_log, o, &err))
        log_warn(t->log, "log.jsonl: %s", err.msg);
}

void report_validation(Trainer *t, const double terms[TERM_COUNT], double loss, double own_text)
{
    json_t *o = json_pack("{s:s, s:I}", "event", "validation", "step", (json_int_t)t->state.step);
    number(o, "loss", loss);
    for (int k = 0; k < TERM_COUNT; k++) {
        char tag[40];
        number(o, loss_term_name(k), terms[k]);
        snprintf(tag, sizeof tag, "validation/%s", loss_term_name(k));
        event_log_scalar(t->events, tag, t->state.step, terms[k]);
    }
    event_log_scalar(t->events, "validation/total", t->state.step, loss);
    number(o, "own_text", own_text);
    if (isfinite(own_text))
        event_log_scalar(t->events, "validation/own_text", t->state.step, own_text);
    Err err = {0};
    if (run_log_write(t->run_log, o, &err))
        log_warn(t->log, "log.jsonl: %s", err.msg);
}

void report_heard(Trainer *t, const Heard *h)
{
    char sentence[400];
    heard_sentence(h, sentence, sizeof sentence);
    log_info(t->log, "heard at step %lld: %s", (long long)h->step, sentence);
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
    Err err = {0};
    if (run_log_write(t->run_log, o, &err))
        log_warn(t->log, "log.jsonl: %s", err.msg);
}

void report_event(Trainer *t, const char *event, int64_t step, const char *text)
{
    Err err = {0};
    json_t *o = json_pack("{s:s, s:I, s:s}", "event", event, "step", (json_int_t)step, "text", text);
    if (run_log_write(t->run_log, o, &err))
        log_warn(t->log, "log.jsonl: %s", err.msg);
}

void report_flush(Trainer *t)
{
    Err err = {0};
    if (t->events && event_log_flush(t->events, &err) && !t->event_failed) {
        t->event_failed = 1;
        log_warn(t->log, "the event file is not written any more: %s; training goes on", err.msg);
    }
}
