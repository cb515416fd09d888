/* budget.c - limits a run to its minutes: its last step is set from the time that steps take, and set
 * again when they take another time. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/progress.h"
#include "train/run_parts.h"
#include "train/step/together.h"

#define FIRST_SHARE 0.04  /* of the time, before the number of steps is set */
#define FIRST_SECONDS 3.0 /* at least; less where the whole time is short */
#define LAST_SECONDS 20.0 /* at most: people want to know in the first half minute */
#define SHORT_SHARE 0.2   /* of a short time, then */
#define LOOKS 10          /* at the clock in a run */
#define SOON 40           /* parts of the time: how long steps that have changed settle, then are measured */
#define LAST_LOOK 0.85    /* of the time; then the learning rate is nearly at its end and the steps stay */
#define TOLERANCE 0.03    /* a last step that is off by less stays as it is */
#define RESERVE 0.98      /* of the time that is left; the rest is for validations and checkpoints */
#define VALIDATIONS 10    /* in a run, unless val_step is set */
#define LOOK_EVERY 8      /* steps, with ranks */
#define CHECKPOINTS 5     /* likewise save_step */
#define WARMUP_PART 10    /* of the steps, one part at most */

static int64_t part_of(int64_t total, int parts) { return total / parts > 0 ? total / parts : 1; }

/* The last step, and with it how often is validated, saved and spoken. */
static void set_steps(Trainer *t, int64_t total)
{
    const Config *cfg = t->cfg;
    t->total = total;
    if (config_is_default(cfg, "val_step"))
        t->val_step = part_of(total, VALIDATIONS);
    if (config_is_default(cfg, "save_step"))
        t->save_step = part_of(total, CHECKPOINTS);
    if (config_is_default(cfg, "text2audio_interval_steps"))
        t->sample_step = part_of(total, CHECKPOINTS);
}

/* 1: the steps that this run should make are made, or were limited by something else than time. */
static int has_time_anew(const Trainer *t)
{
    const TrainState *s = &t->state;
    return t->cfg->minutes > 0 && s->step > 0 && config_is_given(t->cfg, "minutes") &&
           (!s->total || s->step >= s->total) && s->step < t->most_steps;
}

/* The present weights with a new schedule, as if the run started here. */
static void go_on(Trainer *t)
{
    TrainState *s = &t->state;
    char time[64];
    progress_format_seconds(time, sizeof time, 60 * t->cfg->minutes);
    if (t->leads && s->schedule_from != s->step)
        log_info(
            t->log,
            "the run continues from step %lld for %s more, with its weights and a new learning rate schedule",
            (long long)s->step, time);
    s->schedule_from = s->step;
    s->total = s->warmup = s->choice.stale = 0;
    t->total = t->total < t->most_steps - s->step ? t->total + s->step : t->most_steps;
}

/* A run that resumes and has a last step keeps it; a run without a last step, or one that has reached it,
 * starts to measure. */
void budget_open(Trainer *t)
{
    t->val_step = t->cfg->val_step;
    t->save_step = t->cfg->save_step;
    t->sample_step = t->cfg->text2audio_interval_steps;
    t->most_steps = t->total;
    /* Who gives a time and no epochs wants the time: those of the default would end a small corpus early. */
    if (t->cfg->minutes > 0 && config_is_default(t->cfg, "epochs"))
        t->most_steps = t->cfg->max_steps ? t->cfg->max_steps : INT64_MAX;
    if (has_time_anew(t))
        go_on(t);
    t->measuring = t->cfg->minutes > 0 && t->state.total == 0;
    if (t->cfg->minutes > 0 && t->state.total > 0)
        set_steps(t, t->state.total < t->most_steps ? t->state.total : t->most_steps);
}

static void begin_measuring(Trainer *t, double now)
{
    t->measure_from = now;
    t->measure_step = t->state.step;
    t->measure_aside = t->aside;
    t->measure_apart = t->meter.apart_seconds;
    t->measure_apart_count = t->meter.apart_count;
}

/* Seconds of a step since then. Validations and checkpoints are timed separately; the first steps of each
 * shape, for which kernels are chosen and graphs made, come once and do not count, unless there are no
 * others. */
static double step_seconds(const Trainer *t, double now)
{
    const double all = now - t->measure_from - (t->aside - t->measure_aside),
                 apart = t->meter.apart_seconds - t->measure_apart;
    const int64_t steps = t->state.step - t->measure_step, shares = t->each > 1 ? t->each : 1,
                  usual = steps - (t->meter.apart_count - t->measure_apart_count) / shares;
    return fmax(1e-6, usual >= 2 && apart < all ? (all - apart) / (double)usual : all / (double)steps);
}

/* From here on steps take another time: kernels are loaded and graphs made first. However late this comes,
 * the last step follows, or the run would go on for minutes after its time. */
void budget_steps_change(Trainer *t)
{
    t->measure_from = 0;
    t->settles = clock_now() + t->cfg->minutes * 60 / SOON;
    t->looks_soon = 1;
}

/* A run that continues after a stop keeps its last step: the time before the stop is not known. */
static void look_at_clock(Trainer *t)
{
    const double budget = t->cfg->minutes * 60, now = clock_now(), elapsed = now - t->started;
    /* The first steps are slow, so that few seem to fit, of which critic_from is soon over. */
    t->critics_wait = t->first_step <= t->state.schedule_from && elapsed < t->cfg->critic_from * budget;
    if (budget <= 0 || t->first_step > t->state.schedule_from ||
        (elapsed > LAST_LOOK * budget && !t->measuring && !t->looks_soon))
        return;
    /* A run that would end now, with time left, is looked at again: its first steps, which load kernels and
     * make graphs, can take so long that few seemed to fit. */
    const int ends = !t->measuring && t->state.step >= t->total;
    /* The default's epochs are over before a step was measured: they do not end the run. */
    if (t->measuring && t->state.step == t->total && t->total < t->most_steps)
        t->total = t->total < t->most_steps / 2 ? 2 * t->total : t->most_steps;
    const double first =
        fmin(LAST_SECONDS, fmax(FIRST_SHARE * budget, fmin(FIRST_SECONDS, SHORT_SHARE * budget)));
    if (t->measure_from <= 0) {
        if (elapsed > first / 2 && now > t->settles)
            begin_measuring(t, now);
        return;
    }
    const int64_t steps = t->state.step - t->measure_step;
    if (elapsed < first || steps < (ends ? 1 : 2) ||
        (!t->measuring && !ends && now - t->measure_from < budget / (t->looks_soon ? SOON : LOOKS)))
        return;
    /* As many steps as fit into the rest of the time, and a small correction is not worth it: the learning
     * rate would jump. */
    const double each = step_seconds(t, now);
    /* What is between steps comes again as often as it came. */
    const double between = t->aside / (double)(t->state.step - t->first_step);
    int64_t total = t->state.step + (int64_t)fmax(1, RESERVE * (budget - elapsed) / (each + between));
    total = total < t->most_steps ? total : t->most_steps;
    begin_measuring(t, now);
    t->looks_soon = 0;
    if (!t->measuring && fabs((double)(total - t->total)) < TOLERANCE * (double)t->total)
        return;
    const int64_t warmup = (total - t->state.schedule_from) / WARMUP_PART;
    if (t->measuring && !config_is_given(t->cfg, "warmup_steps") && warmup < t->cfg->warmup_steps)
        t->state.warmup = warmup > 0 ? warmup : 1;
    t->measuring = 0;
    t->state.total = total;
    set_steps(t, total);
    if (t->telling.forecast)
        log_debug(t->log, "a step takes %.1f ms: the last step is now %lld", each * 1e3, (long long)t->total);
    telling_forecast(t, each);
}

/* Of several ranks the first looks at the clock, now and then and before the run would end, and tells the
 * others: all make the same steps. */
int budget_step(Trainer *t, Err *err)
{
    if (!t->o.ranks) {
        look_at_clock(t);
        return 0;
    }
    if (t->cfg->minutes <= 0 || (t->state.step % LOOK_EVERY && t->state.step != t->total))
        return 0;
    if (t->leads)
        look_at_clock(t);
    return together_decide(t, err);
}
