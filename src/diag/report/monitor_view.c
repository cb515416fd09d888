/* monitor_view.c - see monitor_view.h. */
#include "diag/report/monitor_view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/stats.h"
#include "base/utf8.h"
#include "base/words/words.h"
#include "picture/svg.h"
#include "train/log/run_log.h"

#define SPARK 40         /* columns of a sparkline */
#define RECENT_TIMES 400 /* batch times in view */

/* A part of a line: two blanks keep it from what stands before. */
#define add_part(line, id, ...) \
    do { \
        buf_str(line, "  "); \
        buf_say(line, id, ##__VA_ARGS__); \
    } while (0)

/* Each column is the highest of its values: a spike must not vanish between two others. */
void monitor_view_sparkline(Buf *out, const double *y, size_t n, int columns, double low, double high)
{
    static const char *const signs[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    double lo = isnan(low) ? (double)INFINITY : low, hi = isnan(high) ? -(double)INFINITY : high;
    size_t wide = n < (size_t)columns ? n : (size_t)columns;
    for (size_t i = 0; i < n; i++)
        if (isfinite(y[i])) {
            lo = fmin(lo, y[i]);
            hi = fmax(hi, y[i]);
        }
    for (size_t c = 0; c < wide; c++) {
        double highest = (double)NAN;
        for (size_t i = n * c / wide; i < n * (c + 1) / wide; i++)
            if (isfinite(y[i]) && !(y[i] <= highest))
                highest = y[i];
        double share = hi > lo ? (highest - lo) / (hi - lo) : 0; /* NaN where hi - lo is too large */
        int sign = share >= 1 ? 7 : share > 0 ? (int)(share * 7.999) : 0;
        buf_str(out, isfinite(highest) ? signs[sign] : " ");
    }
}

/* The newest line of the log; NULL before the first. */
static const RunLine *last_line(const RunRecord *r)
{
    return r->line_count ? &r->lines[r->line_count - 1] : NULL;
}

/* Mean and deviation of the newest line's batch times. */
static Stats newest_times(const RunRecord *r)
{
    Stats s = {0};
    const RunLine *l = last_line(r);
    for (size_t i = 0; l && i < l->times; i++)
        stats_add(&s, r->times[l->first_time + i]);
    return s;
}

/* Seconds from one line to the next, lately. */
static double line_seconds(const RunRecord *r)
{
    size_t n = r->line_count;
    return n >= 2 ? r->lines[n - 1].seconds - r->lines[n - 2].seconds : n ? r->lines[0].seconds : (double)NAN;
}

/* What is done between steps explains a silence (run_voice.h); without that a run is silent after three times
 * its usual while. */
ViewState monitor_view_state(const MonitorView *v)
{
    const RunLine *l = last_line(v->run);
    if (v->run->ended || (l && v->run->total_steps > 0 && l->step >= v->run->total_steps))
        return VIEW_ENDED;
    if (run_voice_is_silent(&v->run->voice, v->age, line_seconds(v->run)))
        return VIEW_SILENT;
    return l || v->run->voice.phase[0] ? VIEW_RUNNING : VIEW_EMPTY;
}

/* Seconds to the last step at the pace of the newest line; NaN: the log does not say. */
static double time_left(const RunRecord *r)
{
    const RunLine *l = last_line(r);
    if (isfinite(r->voice.seconds_left))
        return r->voice.seconds_left;
    if (!l || r->total_steps <= 0)
        return (double)NAN;
    double ms = isfinite(l->step_ms) ? l->step_ms : newest_times(r).mean * (double)r->accumulation;
    return fmax(0, (double)(r->total_steps - l->step)) * ms / 1e3;
}

/* As people read what a run does now (report_phase). */
static const char *phase_word(const char *phase)
{
    static const struct {
        const char *phase;
        Word shown;
    } phases[] = {
        {"", SAY_VIEW_RUNNING},       {"training", SAY_VIEW_RUNNING},      {"preparing", SAY_VIEW_PREPARING},
        {"warm-up", SAY_VIEW_WARMUP}, {"validating", SAY_VIEW_VALIDATING}, {"listening", SAY_VIEW_LISTENING}};
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++)
        if (strcmp(phase, phases[i].phase) == 0)
            return word(phases[i].shown);
    return phase;
}

/* The state in words, with how long ago the last line was written. */
static void state_words(char *out, size_t cap, const MonitorView *v)
{
    char age[64] = "";
    const char *now = phase_word(v->run->voice.phase);
    const int known = isfinite(v->age);
    if (known)
        words_duration(age, sizeof age, v->age);
    switch (monitor_view_state(v)) {
    case VIEW_ENDED:
        if (known)
            say(out, cap, SAY_VIEW_ENDED_AGO, age);
        else
            say(out, cap, SAY_VIEW_ENDED);
        break;
    case VIEW_SILENT:
        say(out, cap, SAY_VIEW_SILENT, age);
        break;
    case VIEW_EMPTY:
        say(out, cap, SAY_VIEW_EMPTY);
        break;
    case VIEW_RUNNING:
        if (known)
            say(out, cap, SAY_VIEW_LAST_LINE, now, age);
        else
            snprintf(out, cap, "%s", now);
        break;
    }
}

/* Appends the line, cut to the width: letters are counted, not bytes. */
static void add_cut(Buf *out, const char *s, int width)
{
    buf_add(out, s, utf8_prefix(s, strlen(s), width > 0 ? (size_t)width : 0));
    buf_str(out, "\n");
}

/* Nothing for an empty line: what is not known takes no room. */
static void add_line(Buf *out, Buf *line, const MonitorView *v)
{
    if (line->size)
        add_cut(out, line->data, v->width);
    out->failed |= line->failed;
    buf_clear(line);
}

/* A member of the newest lines, as numbers in a row; returns how many. */
static size_t recent(double *out, size_t cap, const RunRecord *r, size_t member)
{
    size_t from = r->line_count > cap ? r->line_count - cap : 0;
    for (size_t i = from; i < r->line_count; i++)
        out[i - from] = *(const double *)(const void *)((const char *)&r->lines[i] + member);
    return r->line_count - from;
}

/* A share in percent, where it is known. */
static void share(Buf *line, Word name, double v)
{
    if (isfinite(v))
        add_part(line, SAY_VIEW_SHARE, word(name), 100 * v);
}

/* What a line is about, before it. */
static void label(Buf *line, Word name) { words_column(line, word(name), 9); }

/* A loss that is not finite is written as null. */
static void loss_words(char *out, size_t cap, double loss)
{
    if (isfinite(loss))
        snprintf(out, cap, "%.4f", loss);
    else
        say(out, cap, SAY_VIEW_NOT_A_NUMBER);
}

/* The newest validation. */
static void validation_words(Buf *line, const RunPoint *p)
{
    char loss[32];
    loss_words(loss, sizeof loss, p->loss);
    add_part(line, SAY_VIEW_VALIDATION, loss, (long long)p->step);
}

/* "12 000". */
static void whole(char out[32], int64_t n)
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%lld", (long long)(n < 0 ? 0 : n)), at = 0;
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0)
            out[at++] = ' ';
        out[at++] = digits[i];
    }
    out[at] = 0;
}

/* A bar where the last step is known. */
static void progress_line(Buf *line, const RunRecord *r)
{
    char a[32], b[32], left[64], bar[30 * 4] = " [";
    const RunLine *l = last_line(r);
    double step = l ? (double)l->step : 0, left_s = time_left(r);
    whole(a, l ? l->step : 0);
    label(line, SAY_VIEW_STEP);
    buf_str(line, a);
    if (r->total_steps <= 0)
        return;
    /* A budget in minutes may end a run before its last step. */
    double part = fmin(1, step / (double)r->total_steps);
    int full = (int)(part * 30);
    whole(b, r->total_steps);
    for (int i = 0; i < 30; i++)
        strcat(bar, i < full ? "█" : "·");
    strcat(bar, "]");
    buf_say(line, SAY_VIEW_OF_STEPS, b, bar, 100 * part);
    if (left_s > 0) {
        words_duration(left, sizeof left, left_s);
        add_part(line, SAY_VIEW_LEFT, left);
    }
}

/* Batch times of the newest line, and the last few hundred as a picture. */
static void times_line(Buf *line, const RunRecord *r)
{
    Stats s = newest_times(r);
    if (!s.n)
        return;
    size_t from = r->time_count > RECENT_TIMES ? r->time_count - RECENT_TIMES : 0;
    label(line, SAY_VIEW_BATCH);
    buf_say(line, SAY_VIEW_TIMES, s.mean, 100 * stats_std(&s) / s.mean);
    buf_str(line, "  ");
    monitor_view_sparkline(line, r->times + from, r->time_count - from, SPARK, 0, (double)NAN);
    add_part(line, SAY_VIEW_TIMES_RANGE, s.min, s.max);
}

/* The newest sample; the picture is its utilisation lately. */
static void gpu_line(Buf *line, const MonitorView *v, int k)
{
    const MonitorSummary *s = &v->summary[k];
    int n = v->history_count[k];
    if (!s->samples || !n)
        return;
    const float *now = v->history[k][n - 1].values;
    double y[60];
    for (int i = 0; i < n; i++)
        y[i] = (double)v->history[k][i].values[MONITOR_UTILISATION];
    buf_printf(line, "GPU %-4d", v->gpus[k]);
    if (isfinite(now[MONITOR_UTILISATION])) {
        buf_printf(line, " %3.0f %%  ", (double)now[MONITOR_UTILISATION]);
        monitor_view_sparkline(line, y, (size_t)n, 24, 0, 100);
    }
    if (isfinite(now[MONITOR_MEMORY]))
        add_part(line, SAY_VIEW_OF_GB, (double)now[MONITOR_MEMORY] / 1e9, s->memory_total / 1e9);
    if (isfinite(now[MONITOR_POWER]))
        add_part(line, SAY_VIEW_WATTS, (double)now[MONITOR_POWER]);
    if (isfinite(now[MONITOR_CLOCK]))
        add_part(line, SAY_VIEW_MHZ, (double)now[MONITOR_CLOCK]);
    if (isfinite(now[MONITOR_TEMPERATURE]))
        add_part(line, SAY_VIEW_DEGREES, (double)now[MONITOR_TEMPERATURE]);
}

/* Whether NVML measures anything. */
static int any_gpu(const MonitorView *v)
{
    for (int k = 0; k < v->gpu_count; k++)
        if (v->summary[k].samples)
            return 1;
    return 0;
}

/* The voice comes first: how it sounds, and how many words are wrong, or that nobody has counted them. */
static void voice_lines(Buf *out, Buf *line, const MonitorView *v)
{
    const RunVoice *voice = &v->run->voice;
    char sounds[500];
    run_voice_sentence(voice, sounds, sizeof sounds);
    if (sounds[0]) {
        label(line, SAY_VIEW_SOUNDS);
        buf_str(line, sounds);
    }
    add_line(out, line, v);
    if (!v->run->start || strcmp(voice->network, "vocoder") == 0)
        return;
    label(line, SAY_VIEW_WORDS);
    if (isfinite(voice->words_wrong))
        buf_say(line, SAY_VIEW_WRONG, 100 * voice->words_wrong);
    else
        buf_str(line, word(SAY_NOT_MEASURED));
    if (voice->recordings.words)
        buf_say(line, SAY_VIEW_WRONG_IN_RECORDINGS, 100 * voice->recordings.share);
    add_line(out, line, v);
}

/* What is of the newest line. */
static void newest_lines(Buf *out, Buf *line, const MonitorView *v, const RunLine *l)
{
    const RunRecord *r = v->run;
    char state[160], s[32], t[32];
    double y[200];
    size_t n = recent(y, sizeof y / sizeof *y, r, offsetof(RunLine, loss));
    loss_words(state, sizeof state, l->loss);
    label(line, SAY_VIEW_LOSS);
    buf_printf(line, "%s  ", state);
    monitor_view_sparkline(line, y, n, SPARK, (double)NAN, (double)NAN);
    if (r->validation_count)
        validation_words(line, &r->validation[r->validation_count - 1]);
    add_line(out, line, v);
    times_line(line, r);
    add_line(out, line, v);
    svg_number(s, l->utterances_per_s);
    svg_number(t, l->frames_per_s);
    if (isfinite(l->utterances_per_s)) {
        label(line, SAY_VIEW_SPEED);
        buf_say(line, SAY_CMP_CLIPS, s);
        add_part(line, SAY_CMP_FRAMES_S, t);
    }
    add_line(out, line, v);
    if (isfinite(l->wait_share)) {
        n = recent(y, sizeof y / sizeof *y, r, offsetof(RunLine, wait_share));
        label(line, SAY_VIEW_WAITS);
        buf_say(line, SAY_PERCENT_1, 100 * l->wait_share);
        buf_str(line, "  ");
        monitor_view_sparkline(line, y, n, SPARK, 0, 0.3);
        share(line, SAY_VIEW_BUSY, l->busy_share);
        share(line, SAY_VIEW_PADDING, l->padding_share);
    }
    add_line(out, line, v);
    if (isfinite(l->queue_ready)) {
        n = recent(y, sizeof y / sizeof *y, r, offsetof(RunLine, queue_ready));
        label(line, SAY_VIEW_QUEUE);
        if (isfinite(l->queue_slots))
            buf_say(line, SAY_VIEW_READY_OF, l->queue_ready, l->queue_slots);
        else
            buf_say(line, SAY_VIEW_READY, l->queue_ready);
        buf_str(line, "  ");
        monitor_view_sparkline(line, y, n, SPARK, 0, l->queue_slots);
    }
    add_line(out, line, v);
    if (isfinite(l->model_bytes)) {
        label(line, SAY_VIEW_MEMORY);
        buf_say(line, SAY_VIEW_ON_MODEL, l->model_bytes / 1e9);
    }
    add_line(out, line, v);
}

/* One screen; lines about what is not known are missing. */
void monitor_view_frame(Buf *out, const MonitorView *v)
{
    const RunRecord *r = v->run;
    const RunLine *l = last_line(r);
    Buf line = {0};
    char state[160], setting[4][64];
    state_words(state, sizeof state, v);
    buf_printf(&line, "%s  (%s)", r->path, state);
    add_line(out, &line, v);
    voice_lines(out, &line, v);
    if (r->start) {
        run_voice_network(&r->voice, setting[0], sizeof setting[0]);
        if (!setting[0][0])
            run_record_setting(r, "model_size", setting[0], sizeof setting[0]);
        run_record_setting(r, "batch_size", setting[1], sizeof setting[1]);
        run_record_setting(r, "model_gpu", setting[2], sizeof setting[2]);
        run_record_setting(r, "data_gpu", setting[3], sizeof setting[3]);
        label(&line, SAY_VIEW_RUN);
        buf_str(&line, setting[0]);
        if (setting[1][0])
            add_part(&line, SAY_VIEW_BATCHES_OF, setting[1]);
        if (setting[2][0])
            add_part(&line, SAY_VIEW_MODEL_ON, setting[2]);
        if (setting[3][0])
            add_part(&line, SAY_VIEW_DATA_ON, setting[3]);
        add_line(out, &line, v);
    }
    progress_line(&line, r);
    add_line(out, &line, v);
    if (l)
        newest_lines(out, &line, v, l);
    for (int k = 0; k < v->gpu_count; k++) {
        gpu_line(&line, v, k);
        add_line(out, &line, v);
    }
    /* Said once, not shown as zero. */
    if (v->wants_gpu && !any_gpu(v)) {
        buf_str(&line, "GPU      ");
        buf_str(&line, word(SAY_VIEW_NO_NVML));
        add_line(out, &line, v);
    }
    if (r->verdict[0]) {
        label(&line, SAY_VIEW_MACHINE);
        buf_str(&line, r->verdict);
        add_line(out, &line, v);
    }
    if (r->skipped || r->resumed) {
        char left_out[128];
        label(&line, SAY_VIEW_NOTES);
        say_count(left_out, sizeof left_out, SAY_VIEW_LEFT_OUT, r->skipped, (long long)r->skipped);
        say_more_count(left_out, sizeof left_out, SAY_VIEW_RESUMED, r->resumed, r->resumed);
        buf_str(&line, left_out);
        add_line(out, &line, v);
    }
    buf_free(&line);
}

/* The same on one line, for logs and pipes. */
void monitor_view_line(Buf *out, const MonitorView *v)
{
    const RunRecord *r = v->run;
    const RunLine *l = last_line(r);
    char words[160];
    if (!l) {
        state_words(words, sizeof words, v);
        buf_printf(out, "%s: %s\n", r->path, words);
        return;
    }
    Stats s = newest_times(r);
    if (r->total_steps > 0)
        buf_say(out, SAY_VIEW_STEP_OF_LINE, (long long)l->step, (long long)r->total_steps);
    else
        buf_say(out, SAY_VIEW_STEP_LINE, (long long)l->step);
    loss_words(words, sizeof words, l->loss);
    add_part(out, SAY_VIEW_LOSS_LINE, words);
    if (s.n) {
        say(words, sizeof words, SAY_VIEW_TIMES, s.mean, 100 * stats_std(&s) / s.mean);
        add_part(out, SAY_VIEW_BATCH_LINE, words);
    }
    share(out, SAY_VIEW_WORDS_WRONG, r->voice.words_wrong);
    share(out, SAY_VIEW_WAIT, l->wait_share);
    share(out, SAY_VIEW_BUSY, l->busy_share);
    share(out, SAY_VIEW_PADDING, l->padding_share);
    if (isfinite(l->queue_ready))
        add_part(out, SAY_VIEW_QUEUE_LINE, l->queue_ready);
    for (int k = 0; k < v->gpu_count; k++)
        if (v->history_count[k] &&
            isfinite(v->history[k][v->history_count[k] - 1].values[MONITOR_UTILISATION]))
            add_part(out, SAY_VIEW_GPU_LINE, v->gpus[k],
                     (double)v->history[k][v->history_count[k] - 1].values[MONITOR_UTILISATION]);
    double left = time_left(r);
    if (left > 0) {
        words_duration(words, sizeof words, left);
        add_part(out, SAY_VIEW_LEFT, words);
    }
    buf_str(out, "\n");
}

/* The same for programs. What is not known is null. */
json_t *monitor_view_json(const MonitorView *v)
{
    static const char *const states[] = {"empty", "running", "silent", "ended"};
    const RunRecord *r = v->run;
    const RunLine *l = last_line(r), none = {0};
    Stats s = newest_times(r);
    json_t *gpus = json_array(), *path = json_string(r->path);
    for (int k = 0; k < v->gpu_count; k++) {
        int n = v->history_count[k];
        if (!v->summary[k].samples || !n)
            continue;
        json_t *g = json_pack("{s:i, s:o}", "gpu", v->gpus[k], "memory_total",
                              json_from_double(v->summary[k].memory_total));
        for (int i = 0; i < MONITOR_COUNT; i++)
            json_object_set_new(g, monitor_value_name(i),
                                json_from_double((double)v->history[k][n - 1].values[i]));
        json_array_append_new(gpus, g);
    }
    json_t *o = json_pack("{s:o, s:s, s:I, s:I, s:o, s:o, s:o}", "run", path ? path : json_null(), "state",
                          states[monitor_view_state(v)], "step", (json_int_t)(l ? l->step : 0), "total_steps",
                          (json_int_t)r->total_steps, "seconds_left", json_from_double(time_left(r)), "age_s",
                          json_from_double(v->age), "gpus", gpus);
    char network[40], sounds[500];
    run_voice_network(&r->voice, network, sizeof network);
    run_voice_sentence(&r->voice, sounds, sizeof sounds);
    json_object_set_new(o, "phase", r->voice.phase[0] ? json_from_text(r->voice.phase) : json_null());
    json_object_set_new(o, "network", network[0] ? json_from_text(network) : json_null());
    json_object_set_new(o, "words_wrong_share", json_from_double(r->voice.words_wrong));
    json_object_set_new(o, "voice", sounds[0] ? json_from_text(sounds) : json_null());
    json_object_set_new(o, "hardware", r->verdict[0] ? json_from_text(r->verdict) : json_null());
    l = l ? l : &none;
    const struct {
        const char *name;
        double value;
    } numbers[] = {{"loss", l->loss},
                   {"batch_ms", s.n ? s.mean : (double)NAN},
                   {"variation", s.n ? stats_std(&s) / s.mean : (double)NAN},
                   {"wait_share", l->wait_share},
                   {"busy_share", l->busy_share},
                   {"padding_share", l->padding_share},
                   {"utterances_per_s", l->utterances_per_s},
                   {"frames_per_s", l->frames_per_s},
                   {"queue_ready", l->queue_ready},
                   {"model_bytes", l->model_bytes}};
    for (size_t i = 0; o && l != &none && i < sizeof numbers / sizeof *numbers; i++)
        json_object_set_new(o, numbers[i].name, json_from_double(numbers[i].value));
    return o;
}
