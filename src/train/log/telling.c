/* telling.c - what a run tells the person who waits for it: where it stands, by the clock and not by steps,
 * and in its first half minute what its time is enough for. Programs read log.jsonl (report.c). */
#include "train/log/telling.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/plural.h"
#include "base/progress.h"
#include "base/utf8.h"
#include "train/run_parts.h"

/* Seconds. */
#define ON_TERMINAL 1.0    /* between two lines: the current line is rewritten */
#define AT_FIRST 5.0       /* elsewhere: for the first half minute, */
#define THEN 10.0          /* for ten minutes, */
#define LATER 30.0         /* and from then on */
#define NEWS 10.0          /* between two validations, or two results of the listeners, that are told */
#define FORECAST_AT 4.0    /* steps without a limit of time are measured until then, */
#define FORECAST_LATE 25.0 /* or until then, where they are long */
#define PHASE_EVERY 30.0   /* between two lines of the log that say that steps are made */
#define COLUMNS 99         /* of a line about steps */
#define MUCH_WAITING 0.05  /* of the time, which is worth being told */
/* What voices needed until now, on two cores as on a GPU (docs/SPEED.md): steps until a recogniser gets most
 * words right, and until it gets as many right as it will. The first is that of `nano` and `tiny`. */
#define WORDS_MOST 500
#define WORDS_ALL 1200
#define WORDS_BEGUN 150 /* for a run that starts with a trained voice */

/* --- the line --- */

/* Seconds between two of its lines, so long after the first step. */
static double pause_at(const Trainer *t, double elapsed)
{
    if (t->log->is_tty)
        return ON_TERMINAL;
    return elapsed < 30 ? AT_FIRST : elapsed < 600 ? THEN : LATER;
}

static int has_listeners(const Trainer *t) { return t->log && t->log->level >= LOG_INFO && t->leads; }

/* Seconds of a step, without what comes between steps. Half of the newest steps are quicker: a listener that
 * takes a core for some of them changes nothing. NaN: not measured yet. */
static double step_seconds(const Trainer *t) { return step_meter_step_median(&t->meter) * t->each; }

/* Until the last step: the given time, or the steps and the work between them at the present pace. */
double telling_seconds_left(const Trainer *t, int64_t at)
{
    const double elapsed = clock_now() - t->started, made = (double)(at - t->first_step);
    if (t->cfg->minutes > 0 && t->first_step == t->state.schedule_from && !t->measuring)
        return fmax(0, 60 * t->cfg->minutes - elapsed);
    return made > 0 && !t->measuring ? (double)(t->total - at) * elapsed / made : NAN;
}

/* Adds a part to the line while there is room. */
static void add(char *line, size_t cap, int columns, const char *fmt, ...)
{
    char part[80];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(part, sizeof part, fmt, ap);
    va_end(ap);
    const size_t used = strlen(line);
    if (used + strlen(part) <= (size_t)columns && used + strlen(part) < cap)
        memcpy(line + used, part, strlen(part) + 1);
}

void telling_line(const Trainer *t, char *out, size_t cap, int64_t at, int columns)
{
    char time[64], wrong[60];
    const double left = telling_seconds_left(t, at), step = step_seconds(t);
    snprintf(out, cap, "step %lld", (long long)at);
    if (!t->measuring)
        add(out, cap, columns, "/%lld", (long long)t->total);
    add(out, cap, columns, "%s", at - t->state.schedule_from < trainer_warmup(t) ? "  warm-up" : "");
    add(out, cap, columns, "  loss %.4f", t->made ? t->usual_loss : t->loss);
    if (isfinite(left)) {
        progress_format_seconds(time, sizeof time, left);
        add(out, cap, columns, "  %s left", time);
    }
    if (t->heard.voice.words) {
        judged_words(wrong, sizeof wrong, t->heard.voice.wrong, t->heard.voice.words);
        add(out, cap, columns, "  %s", wrong);
    }
    if (t->skipped)
        add(out, cap, columns, "  %lld step%s skipped", (long long)t->skipped, plural((uint64_t)t->skipped));
    if (isfinite(step))
        add(out, cap, columns, "  %.*f ms per step", step < 0.1, step * 1e3);
    if (t->telling.waited > MUCH_WAITING)
        add(out, cap, columns, "  %.0f %% waiting for data", 100 * t->telling.waited);
}

static void say_line(Trainer *t, int64_t at)
{
    char line[COLUMNS + 1];
    const int wide = log_columns(t->log);
    telling_line(t, line, sizeof line, at, wide && wide <= COLUMNS ? wide - 1 : COLUMNS);
    progress_text(&t->telling.line, line);
    t->telling.last = clock_now();
}

/* --- what the time is enough for --- */

/* Steps until the words are right, in two stages; 0: it is a vocoder. */
static int64_t steps_to_words(const Trainer *t, int64_t *all)
{
    *all = t->begins == BEGINS_WITH_WEIGHTS ? WORDS_BEGUN : WORDS_ALL;
    return t->cfg->network != NETWORK_VOICE ? 0 : t->begins == BEGINS_WITH_WEIGHTS ? WORDS_BEGUN : WORDS_MOST;
}

/* What would make words of a time that is too short for them. */
static void say_too_short(Trainer *t, int64_t words, int64_t all, double each)
{
    const int smaller = t->cfg->model_size > 0, fewer = t->o.batch > 16;
    log_warn(t->log,
             "that is too short to learn words, which took other voices about %lld steps. --minutes %.0f "
             "would be enough%s%s",
             (long long)words, ceil(all * each / 60 * 1.1),
             smaller ? "; --model-size nano makes more steps in the same time" : "",
             fewer ? "; --batch-size 16 does too" : "");
}

static void say_words(Trainer *t, double each)
{
    int64_t all, words = steps_to_words(t, &all);
    const Judged *best = &t->state.choice.best;
    char soon[64], late[64];
    if (!words)
        return;
    if (t->begins == BEGINS_RESUMED) { /* it is past all that, or knows its own words */
        judged_words(soon, sizeof soon, best->wrong, best->words);
        if (best->words)
            log_info(t->log, "  last judged: %s (step %lld)", soon, (long long)best->step);
        return;
    }
    if (t->total - t->first_step < words) {
        say_too_short(t, words, all, each);
        return;
    }
    progress_format_seconds(soon, sizeof soon, (double)words * each);
    progress_format_seconds(late, sizeof late, (double)all * each);
    if (words < all)
        log_info(t->log,
                 "  most words should be right after about %s, and their number stop growing after %s: "
                 "estimated from the %lld and %lld steps that other voices needed",
                 soon, late, (long long)words, (long long)all);
    else
        log_info(
            t->log,
            "  most words should be right after about %s, the %lld steps that other voices needed; how it "
            "sounds improves until the end",
            soon, (long long)words);
}

/* With three digits that count: 0.5, 97, 1,030. */
static void times(char *out, size_t cap, double n)
{
    const double digits = n >= 1000 ? pow(10, floor(log10(n)) - 2) : 1;
    const long long whole = llround(n / digits) * (long long)digits;
    if (n < 1000)
        snprintf(out, cap, "%.3g", n);
    else if (whole < 1000000)
        snprintf(out, cap, "%lld,%03lld", whole / 1000, whole % 1000);
    else
        snprintf(out, cap, "%lld,%03lld,%03lld", whole / 1000000, whole / 1000 % 1000, whole % 1000);
}

void telling_forecast(Trainer *t, double each)
{
    char time[64], seen[40];
    const int64_t steps = t->total - t->first_step;
    if (t->telling.forecast || !t->log)
        return;
    t->telling.forecast = 1;
    /* Steps that were measured one by one know better than the clock, which has seen the first ones too. */
    const double one = isfinite(step_seconds(t)) ? step_seconds(t) : each;
    const double clips = t->o.train ? t->o.train->count : 0;
    const int timed = t->cfg->minutes > 0;
    progress_format_seconds(time, sizeof time, timed ? 60 * t->cfg->minutes : (double)steps * one);
    times(seen, sizeof seen, clips > 0 ? (double)steps * t->o.batch / clips : 0);
    log_info(t->log, "a step takes %.*f ms: %lld steps in %s%s, so each clip is seen about %s times%s",
             one < 0.1, one * 1e3, (long long)steps, timed ? "" : "about ", time, seen,
             timed ? "" : "; --minutes M trains for M minutes instead");
    if (t->cfg->minutes > 0 && trainer_warmup(t) > 0 && trainer_warmup(t) < t->cfg->warmup_steps)
        log_info(t->log, "  the warm-up takes %lld steps instead of %d", (long long)trainer_warmup(t),
                 t->cfg->warmup_steps);
    say_words(t, each);
}

/* --- when --- */

void telling_open(Trainer *t)
{
    if (!has_listeners(t))
        return;
    progress_begin(&t->telling.line, t->log, "", "", 0);
    t->telling.open = 1;
    t->telling.last = t->started;
}

void telling_close(Trainer *t)
{
    if (t->telling.open)
        progress_drop(&t->telling.line);
    t->telling.open = 0;
}

int telling_step(Trainer *t, int64_t at)
{
    const double now = clock_now(), elapsed = now - t->started;
    if (now - t->telling.phase > PHASE_EVERY) {
        t->telling.phase = now;
        report_phase(t, at - t->state.schedule_from < trainer_warmup(t) ? "warm-up" : "training");
    }
    if (!t->telling.open)
        return 0;
    if (t->cfg->minutes <= 0 && !t->telling.forecast && t->total - at > 0 &&
        ((elapsed > FORECAST_AT && t->meter.sample_count > 2) || elapsed > FORECAST_LATE))
        telling_forecast(t, elapsed / (double)(at - t->first_step));
    const int last = at >= t->total && !t->log->is_tty; /* the summary has a terminal to itself */
    if (!last && now - t->telling.last < pause_at(t, elapsed))
        return 0;
    say_line(t, at);
    return 1;
}

LogLevel telling_news(Trainer *t, double *last, int always)
{
    const double now = clock_now();
    if (!always && *last > 0 && now - *last < NEWS)
        return LOG_DEBUG;
    *last = now;
    if (!t->log || !t->log->is_tty)
        t->telling.last = now; /* a line that tells something stands for one about steps */
    return LOG_INFO;
}

LogLevel telling_once(Trainer *t, TellKind kind) { return t->telling.told[kind]++ ? LOG_DEBUG : LOG_WARN; }
