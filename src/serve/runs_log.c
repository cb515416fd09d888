/* runs_log.c - lines of a log that may be growing, or cut off, and what they come to. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/utf8.h"
#include "diag/report/thresholds.h"
#include "serve/runs_private.h"

/* Where the line that begins at `at`, and does not end within a buffer, ends; -1: it has no end yet. */
static int64_t skip_line(int fd, int64_t at, char *buf, size_t cap)
{
    for (;;) {
        ssize_t n = pread(fd, buf, cap, at);
        if (n <= 0)
            return -1;
        const char *end = memchr(buf, '\n', (size_t)n);
        if (end)
            return at + (end - buf) + 1;
        at += n;
    }
}

int run_lines(int fd, LogLines *l, size_t most, int (*fn)(void *arg, const char *line, size_t n, json_t *o),
              void *arg, Err *err)
{
    int rc = 0;
    char *buf = malloc(most);
    if (!buf)
        return err_set(err, ERR_NOMEM, "no memory for a part of a log");
    l->next = l->from;
    l->more = 0;
    ssize_t n = pread(fd, buf, most, l->from);
    if (n < 0)
        rc = err_set_errno(err, ERR_IO, "cannot read a log");
    const char *p = buf, *end = buf + (n > 0 ? n : 0);
    while (!rc && p < end) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        if (!newline)
            break; /* it may be completed by and by */
        size_t size = (size_t)(newline - p);
        json_t *o = size ? json_loadb(p, size, 0, NULL) : NULL;
        if (json_is_object(o))
            rc = fn(arg, p, size, o);
        else if (size)
            l->torn++;
        json_decref(o);
        p = newline + 1;
    }
    l->next = l->from + (p - buf);
    l->more = n == (ssize_t)most;
    if (!rc && l->more && p == buf) { /* a line as long as that is no line of ours */
        int64_t behind = skip_line(fd, l->from, buf, most);
        l->more = behind >= 0;
        if (behind >= 0) {
            l->next = behind;
            l->torn++;
        }
    }
    free(buf);
    return rc ? (rc == ERR_NOMEM ? err_set(err, ERR_NOMEM, "no memory for the lines of a log") : rc) : 0;
}

void run_sum_clear(RunSum *s)
{
    *s = (RunSum){.loss = NAN,
                  .validation_loss = NAN,
                  .words_wrong = NAN,
                  .recordings_words_wrong = NAN,
                  .busy = NAN,
                  .step_ms = NAN,
                  .seconds = NAN,
                  .line_seconds = NAN};
    run_voice_clear(&s->voice);
}

static void take_text(char *out, size_t cap, const json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));
    if (text)
        utf8_show(out, cap, text);
}

static void add_step(RunSum *s, const json_t *o)
{
    double seconds = json_get_double(o, "seconds"), wait = json_get_double(o, "wait_share"),
           gpu = json_get_double(o, "gpu_utilisation");
    s->step = json_get_count(o, "step", s->step);
    s->total_steps = json_get_count(o, "total_steps", s->total_steps);
    s->loss = json_get_double(o, "loss");
    s->busy = isfinite(gpu) ? gpu : json_get_double(o, "busy_share");
    s->step_ms = json_get_double(o, "step_ms");
    s->line_seconds = isfinite(s->seconds) && seconds > s->seconds ? seconds - s->seconds : seconds;
    s->seconds = seconds;
    s->lines++;
    if (isfinite(wait)) {
        s->wait_sum += wait;
        s->waits++;
    }
}

int run_sum_add(void *sum, const char *line, size_t n, json_t *o)
{
    RunSum *s = sum;
    const char *event = json_string_value(json_object_get(o, "event"));
    if (!event)
        return 0;
    if (strcmp(event, "verdict") == 0) { /* comes behind the end, too */
        take_text(s->verdict, sizeof s->verdict, o, "text");
        return 0;
    }
    s->end[0] = 0;
    run_voice_add(&s->voice, o);
    if (strcmp(event, "start") == 0) {
        s->total_steps = json_get_count(o, "total_steps", s->total_steps);
        s->seconds = NAN;
        take_text(s->network, sizeof s->network, o, "network");
        take_text(s->size, sizeof s->size, o, "model_size");
        take_text(s->device, sizeof s->device, o, "device");
    } else if (strcmp(event, "resume") == 0) {
        s->step = json_get_count(o, "step", s->step);
    } else if (strcmp(event, "step") == 0) {
        add_step(s, o);
    } else if (strcmp(event, "validation") == 0) {
        s->validation_loss = json_get_double(o, "loss");
    } else if (strcmp(event, "heard") == 0) {
        s->words_wrong = json_get_double(o, "words_wrong_share");
        s->recordings_words_wrong = json_get_double(o, "recordings_words_wrong_share");
    } else if (strcmp(event, "end") == 0) {
        snprintf(s->end, sizeof s->end, "%s", "ended");
        take_text(s->end, sizeof s->end, o, "text");
    }
    return 0;
}

/* A log may say anything; the page knows these. */
static int is_phase(const char *phase)
{
    static const char *const known[] = {"preparing", "warm-up", "validating", "listening"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(phase, known[i]) == 0)
            return 1;
    return 0;
}

/* As `myxtts monitor` has it. */
const char *run_state(const RunSum *s, double age)
{
    if (strcmp(s->end, "stopped") == 0 || strcmp(s->end, "error") == 0)
        return "stopped";
    if (s->end[0] || (s->lines && s->total_steps > 0 && s->step >= s->total_steps))
        return "finished";
    const char *phase = s->voice.phase;
    if (run_voice_is_silent(&s->voice, age, s->line_seconds))
        return "stopped";
    if (phase[0] && strcmp(phase, "training") != 0)
        return is_phase(phase) ? phase : "running";
    return s->lines || phase[0] ? "running" : "empty";
}

void run_verdict(char *out, size_t cap, const RunSum *s)
{
    run_voice_sentence(&s->voice, out, cap);
    const size_t used = strlen(out);
    if (used && used + 1 < cap)
        snprintf(out + used, cap - used, " ");
    cap -= strlen(out);
    out += strlen(out);
    if (s->verdict[0]) {
        snprintf(out, cap, "%s", s->verdict);
    } else if (s->waits) {
        double wait = s->wait_sum / (double)s->waits;
        if (threshold_judge(LIMIT_WAIT, wait) == STATUS_GOOD)
            snprintf(out, cap, "Data arrives fast enough: the model device waits for it %.1f %% of the time.",
                     100 * wait);
        else
            snprintf(out, cap,
                     "The model device waits for data %.0f %% of the time; `myxtts diagnose` says why.",
                     100 * wait);
    }
}
