/* run_record.c - see run_record.h. */
#include "diag/report/run_record.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/stats.h"
#include "base/utf8.h"
#include "train/log/run_log.h"

/* Everything after `step` does not count any more. */
static void take_back(RunRecord *r, int64_t step)
{
    while (r->line_count && r->lines[r->line_count - 1].step > step)
        r->line_count--;
    while (r->validation_count && r->validation[r->validation_count - 1].step > step)
        r->validation_count--;
    const RunLine *last = r->line_count ? &r->lines[r->line_count - 1] : NULL;
    r->time_count = last ? last->first_time + last->times : 0;
    r->time_from = r->time_from < r->time_count ? r->time_from : r->time_count;
    r->line_from = r->line_from < r->line_count ? r->line_from : r->line_count;
    r->base_seconds = last ? last->seconds : 0;
}

/* The settings of a start count from the first step on that was made with them: a restart that finds nothing
 * to do changes nothing. Times of other batches are no longer those of this run. */
static void use_settings(RunRecord *r)
{
    const json_t *o = r->newest_start;
    if (!o || o == r->start)
        return;
    json_decref(r->start);
    r->start = json_incref(r->newest_start);
    int64_t batch = json_get_count(o, "batch_size", r->batch_size),
            steps = json_get_count(o, "gradient_accumulation_steps", r->accumulation);
    steps = steps < 1 ? 1 : steps;
    /* Where a batch is worked on in parts, each of them has a time of its own. */
    int64_t parts = json_get_count(o, "micro_batches", 1);
    steps *= parts < 1 ? 1 : parts;
    if (r->line_count && (batch != r->batch_size || steps != r->accumulation)) {
        r->time_from = r->time_count;
        r->line_from = r->line_count;
    }
    r->batch_size = batch;
    r->accumulation = steps;
}

/* A line of `step`: its numbers, and the times of its batches in one long array. */
static int add_line(RunRecord *r, const json_t *o)
{
    const json_t *times = json_object_get(o, "step_times_ms");
    size_t n = json_array_size(times);
    use_settings(r);
    if (mem_grow(&r->lines, &r->line_cap, r->line_count + 1, sizeof *r->lines) ||
        mem_grow(&r->times, &r->time_cap, r->time_count + n, sizeof *r->times))
        return ERR_NOMEM;
    RunLine *l = &r->lines[r->line_count];
    *l = (RunLine){.step = json_get_count(o, "step", 0),
                   .seconds = r->base_seconds + json_get_double(o, "seconds"),
                   .loss = json_get_double(o, "loss"),
                   .step_ms = json_get_double(o, "step_ms"),
                   .wait_share = json_get_double(o, "wait_share"),
                   .busy_share = json_get_double(o, "busy_share"),
                   .padding_share = json_get_double(o, "padding_share"),
                   .utterances_per_s = json_get_double(o, "utterances_per_s"),
                   .frames_per_s = json_get_double(o, "frames_per_s"),
                   .gpu_utilisation = json_get_double(o, "gpu_utilisation"),
                   .queue_ready = json_get_double(o, "queue_ready"),
                   .queue_slots = json_get_double(o, "queue_slots"),
                   .model_bytes = json_get_double(o, "model_bytes"),
                   .first_time = r->time_count};
    /* Times that were not measured are null. */
    for (size_t i = 0; i < n; i++) {
        const json_t *t = json_array_get(times, i);
        if (json_is_number(t) && json_number_value(t) > 0)
            r->times[r->time_count++] = json_number_value(t);
    }
    l->times = r->time_count - l->first_time;
    r->total_steps = json_get_count(o, "total_steps", r->total_steps);
    /* No batch of it was measured: older logs have zeros for what nobody knows. */
    if (!l->times && json_is_array(times))
        l->step_ms = l->wait_share = l->busy_share = l->utterances_per_s = l->frames_per_s = (double)NAN;
    r->line_count++;
    return 0;
}

/* Events of the log, one after the other. What is not known is passed over. */
static int add(void *arg, json_t *o)
{
    RunRecord *r = arg;
    const char *event = json_string_value(json_object_get(o, "event"));
    if (!event)
        return 0;
    if (strcmp(event, "verdict") == 0) { /* also of a run that has ended */
        const char *text = json_get_text(o, "text");
        snprintf(r->verdict, sizeof r->verdict, "%s", text ? text : "");
        return 0;
    }
    run_voice_add(&r->voice, o);
    /* Only when it is the last line: a run that was resumed goes on. */
    r->ended = strcmp(event, "end") == 0;
    if (strcmp(event, "step") == 0)
        return add_line(r, o);
    if (strcmp(event, "resume") == 0) {
        r->resumed++;
        take_back(r, json_get_count(o, "step", 0));
    } else if (strcmp(event, "start") == 0) {
        json_decref(r->newest_start);
        r->newest_start = json_incref(o);
        r->total_steps = json_get_count(o, "total_steps", r->total_steps);
        if (!r->line_count)
            use_settings(r);
    } else if (strcmp(event, "validation") == 0) {
        if (mem_grow(&r->validation, &r->validation_cap, r->validation_count + 1, sizeof *r->validation))
            return ERR_NOMEM;
        r->validation[r->validation_count++] =
            (RunPoint){json_get_count(o, "step", 0), json_get_double(o, "loss")};
    } else if (strcmp(event, "skipped") == 0) {
        r->skipped++;
    }
    return 0;
}

/* By the first character: a log is objects, one in each line. */
int run_record_check(const char *path, Err *err)
{
    struct stat st;
    char head[64] = "", shown[4 * sizeof head];
    if (stat(path, &st) || !S_ISREG(st.st_mode))
        return 0;
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(head, 1, sizeof head - 1, f) : 0;
    if (f)
        fclose(f);
    head[n] = 0;
    size_t at = strspn(head, " \t\r\n");
    if (at == n || head[at] == '{' || head[at] == '[')
        return 0;
    head[at + strcspn(head + at, "\r\n")] = 0;
    utf8_show(shown, sizeof shown, head + at);
    err_set(err, ERR_DATA,
            "%s is not a log of `myxtts train`: it starts with \"%s\", but a log.jsonl has a JSON object in "
            "each line",
            path, shown);
    return err_hint(err, "the output of a program (a .log of the Python tools, a redirected terminal) has no "
                         "step times; give the --checkpoint-dir of a run, or the log.jsonl in it");
}

/* A folder with log.jsonl, or the file itself. */
int run_record_load(RunRecord *r, const char *where, Err *err)
{
    struct stat st;
    *r = (RunRecord){.accumulation = 1};
    run_voice_clear(&r->voice);
    r->path = stat(where, &st) == 0 && S_ISDIR(st.st_mode) ? file_join(where, "log.jsonl") : strdup(where);
    if (!r->path)
        return err_set(err, ERR_NOMEM, "no memory for the log of %s", where);
    int rc = run_record_check(r->path, err);
    if (!rc)
        rc = run_log_each(r->path, add, r, &r->bad_lines, err);
    if (rc == ERR_MISSING)
        err_hint(err, "give a folder that `myxtts train` wrote, or the log.jsonl in it");
    else if (rc == ERR_NOMEM)
        err_set(err, ERR_NOMEM, "no memory for the log %s", r->path);
    if (rc)
        run_record_close(r);
    return rc;
}

void run_record_close(RunRecord *r)
{
    free(r->path);
    free(r->lines);
    free(r->times);
    free(r->validation);
    json_decref(r->start);
    json_decref(r->newest_start);
    *r = (RunRecord){0};
}

/* A setting of the start line as text; "" when it is not there. */
const char *run_record_setting(const RunRecord *r, const char *key, char *out, size_t cap)
{
    const json_t *v = json_object_get(r->start, key);
    if (!v)
        v = json_object_get(json_object_get(r->start, "settings"), key);
    if (json_is_string(v))
        snprintf(out, cap, "%s", json_string_value(v));
    else if (json_is_number(v))
        snprintf(out, cap, "%.10g", json_number_value(v));
    else if (json_is_boolean(v))
        snprintf(out, cap, "%s", json_is_true(v) ? "yes" : "no");
    else if (cap)
        out[0] = 0;
    return out;
}

/* Clips of a batch, from the settings or from the speeds that were logged. */
double run_record_clips(const RunRecord *r)
{
    if (r->batch_size)
        return (double)r->batch_size;
    /* The median line: the first one counts clips of steps whose time is not in it. */
    double *clips = mem_calloc(r->line_count ? r->line_count : 1, sizeof *clips), found;
    size_t n = 0;
    for (size_t i = 0; clips && i < r->line_count; i++) {
        const RunLine *l = &r->lines[i];
        double v = l->utterances_per_s * l->step_ms / 1e3 / (double)r->accumulation;
        if (v > 0)
            clips[n++] = v;
    }
    found = n ? fmax(1, round(stats_percentile(clips, n, 0.5))) : (double)NAN;
    free(clips);
    return found;
}

/* Over the lines that have the number, each as much as it has batches. The first lines of a log where nothing
 * was timed count alike. */
double run_record_mean(const RunRecord *r, size_t member)
{
    double sum = 0, weights = 0;
    int timed = r->time_count > r->time_from;
    for (size_t i = r->line_from; i < r->line_count; i++) {
        double v = *(const double *)(const void *)((const char *)&r->lines[i] + member),
               weight = timed ? (double)r->lines[i].times : 1;
        if (isfinite(v)) {
            sum += v * weight;
            weights += weight;
        }
    }
    return weights > 0 ? sum / weights : (double)NAN;
}
