/* swings.c - see swings.h. */
#include "diag/pipeline/swings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/stats.h"
#include "base/words/words.h"
#include "diag/pipeline/cycles.h"
#include "diag/pipeline/doctor.h"

#define MOST_LENGTHS 64   /* different ones that are told apart by their own means */
#define FEW_OF_A_LENGTH 4 /* batches of a length, on the average: with fewer a straight line is fitted */
#define LEAST_STEPS 12    /* fewer say nothing */
#define FASTEST_STEP 5e-3 /* s: no trainer takes less for a batch */
#define RESERVE 1.25      /* the time per batch that is asked of a pipeline / the one it can keep up */
#define MOST_OF_IT 0.5    /* of the variance: a stall that makes so much of it is the reason */
#define WORTH_SAYING 0.05 /* share of the variance */
#define RARE 0.01         /* of the steps: so few long ones are no jitter, whatever they do to a deviation */

const char *swing_name(SwingKind kind)
{
    static const char *const names[] = {"none", "lengths", "periodic", "jitter"};
    return names[kind];
}

int swing_is_fault(const Swing *s) { return s->kind == SWING_PERIODIC || s->kind == SWING_JITTER; }

/* --- what lengths explain --- */

/* What there is to work with: times of all batches of an observation. */
typedef struct Work {
    const Observation *o;
    ForecastSettings settings; /* with a trainer, where there was none */
    float *seen;               /* [n] step times */
    float *fit[TRACE_COUNT];   /* [n] what the length of each batch makes of the times of each stage */
    float *scratch, *spare;    /* [n] */
    float *memory;             /* all of these */
    int lengths;               /* number of parameters that lengths have in a fit; 1: all are alike */
} Work;

/* The different lengths in the window; MOST_LENGTHS + 1 if there are more. */
static int different_lengths(int out[MOST_LENGTHS], const Observation *o)
{
    int n = 0;
    for (int64_t k = o->from; k < o->n; k++) {
        int i = 0;
        while (i < n && out[i] != o->frames[k])
            i++;
        if (i == n && n == MOST_LENGTHS)
            return MOST_LENGTHS + 1;
        if (i == n)
            out[n++] = o->frames[k];
    }
    return n;
}

/* The mean of the batches of each length. */
static void fit_means(float *out, const float *x, const Observation *o, const int *lengths, int count)
{
    for (int i = 0; i < count; i++) {
        Stats of = {0};
        for (int64_t k = o->from; k < o->n; k++)
            if (o->frames[k] == lengths[i])
                stats_add(&of, (double)x[k]);
        for (int64_t k = 0; k < o->n; k++)
            if (o->frames[k] == lengths[i])
                out[k] = (float)of.mean;
    }
}

/* A straight line through (length, time). */
static void fit_line(float *out, const float *x, const Observation *o)
{
    Stats length = {0}, time = {0};
    double both = 0;
    for (int64_t k = o->from; k < o->n; k++) {
        stats_add(&length, o->frames[k]);
        stats_add(&time, (double)x[k]);
    }
    for (int64_t k = o->from; k < o->n; k++)
        both += (o->frames[k] - length.mean) * ((double)x[k] - time.mean);
    double slope = length.m2 > 0 ? both / length.m2 : 0;
    for (int64_t k = 0; k < o->n; k++)
        out[k] = (float)fmax(0, time.mean + slope * (o->frames[k] - length.mean));
}

/* Returns the number of parameters of the fit. */
static int fit_lengths(float *out, const float *x, const Observation *o)
{
    int lengths[MOST_LENGTHS], count = different_lengths(lengths, o);
    Stats all = {0};
    for (int64_t k = o->from; k < o->n; k++)
        stats_add(&all, (double)x[k]);
    for (int64_t k = 0; k < o->n; k++) /* batches before the window may have other lengths */
        out[k] = (float)all.mean;
    if (count <= 1)
        return 1;
    if (count <= MOST_LENGTHS && (int64_t)count * FEW_OF_A_LENGTH <= o->n - o->from) {
        fit_means(out, x, o, lengths, count);
        return count;
    }
    fit_line(out, x, o);
    return 2;
}

/* The share of the variance of x that y explains; y has so many parameters. */
static double explained(const float *x, const float *y, const Observation *o, int parameters)
{
    Stats all = {0}, rest = {0};
    for (int64_t k = o->from; k < o->n; k++) {
        stats_add(&all, (double)x[k]);
        stats_add(&rest, (double)x[k] - (double)y[k]);
    }
    double n = (double)all.n, free = n - parameters;
    if (!(all.m2 > 0) || free < 1)
        return 0;
    double share = 1 - rest.m2 / all.m2 * (n - 1) / free;
    return share > 0 ? share : 0;
}

static double variation_of(const float *x, const Observation *o)
{
    Stats all = {0};
    for (int64_t k = o->from; k < o->n; k++)
        stats_add(&all, (double)x[k]);
    return all.mean > 0 ? stats_std(&all) / all.mean : 0;
}

/* --- where the rest comes from --- */

/* The traces that the forecast takes the times of a stage from. */
static TraceId trace_used(const Observation *o, StageId s)
{
    return s == STAGE_READ && !o->serial_disk ? TRACE_READ : stage_trace(s);
}

/* The times of a stage, with those of a trainer that was only assumed. */
static const float *times_of(const Work *w, TraceId t)
{
    return w->settings.instead[t] ? w->settings.instead[t] : w->o->trace[t];
}

/* The variation of step times if a stage took these times. */
static int variation_with(double *variation, const Work *w, TraceId t, const float *times, Err *err)
{
    ForecastSettings s = w->settings;
    Forecast f;
    s.instead[t] = times;
    int rc = forecast_run(&f, w->o, &s, err);
    *variation = f.variation;
    return rc;
}

/* Every stage takes what the length of the batch makes it take: what then varies is due to lengths. */
static int by_lengths(double *share, const Work *w, Err *err)
{
    ForecastSettings s = w->settings;
    Forecast f;
    for (int t = 0; t < TRACE_COUNT; t++)
        s.instead[t] = w->fit[t];
    s.times = w->scratch;
    int rc = forecast_run(&f, w->o, &s, err);
    if (rc)
        return rc;
    *share = explained(w->seen, w->scratch, w->o, w->lengths);
    /* The batch's own length may say more than the model, which is not exact. */
    int parameters = fit_lengths(w->scratch, w->seen, w->o);
    *share = fmax(*share, explained(w->seen, w->scratch, w->o, parameters));
    return 0;
}

/* The stage whose evening out leaves the least variation; how often it stalls, if that is the reason. */
static int find_stage(Swing *s, const Work *w, Err *err)
{
    const Observation *o = w->o;
    double now, best = INFINITY, then;
    Forecast f;
    int rc = forecast_run(&f, o, &w->settings, err);
    now = f.variation;
    for (int i = 0; i < STAGE_COUNT && !rc; i++) {
        TraceId t = trace_used(o, (StageId)i);
        if (!stage_present(o, (StageId)i))
            continue;
        rc = variation_with(&then, w, t, w->fit[t], err);
        if (!rc && then < best) {
            best = then;
            s->stage = i;
        }
    }
    if (rc || s->stage < 0)
        return rc;
    Cycle c;
    TraceId t = trace_used(o, (StageId)s->stage);
    if (cycle_find(&c, times_of(w, t), o->n, CYCLE_LONGEST)) {
        cycle_remove(w->scratch, times_of(w, t), o->n, &c);
        rc = variation_with(&then, w, t, w->scratch, err);
        if (!rc && now * now - then * then >= MOST_OF_IT * (now * now - best * best))
            s->period = c.period;
    } else if (cycle_find(&c, w->seen + o->from, o->n - o->from, CYCLE_LONGEST))
        s->period = c.period;
    return rc;
}

/* --- the rule --- */

/* Step times as measured, or those of a trainer that takes a little less than the pipeline gives. Returns 1
 * if that one would hardly wait. */
static int look(Swing *s, Work *w, Err *err)
{
    const Observation *o = w->o;
    forecast_settings(&w->settings, o);
    for (int64_t k = 0; k < o->n; k++)
        w->seen[k] = observation_step(o, k);
    s->variation = variation_of(w->seen, o);
    if (!o->no_step)
        return 0;
    s->assumed = 1;
    Forecast f;
    int rc = forecast_run(&f, o, &w->settings, err);
    if (rc)
        return rc;
    float *step = w->fit[TRACE_STEP];
    for (int64_t k = 0; k < o->n; k++)
        step[k] = (float)fmax(FASTEST_STEP, RESERVE * fmax(f.period, o->period));
    w->settings.instead[TRACE_STEP] = step;
    w->settings.times = w->seen;
    rc = forecast_run(&f, o, &w->settings, err);
    w->settings.times = NULL;
    if (rc)
        return rc;
    return f.wait_share < threshold(LIMIT_WAIT)->good;
}

static void write_advice(Swing *s)
{
    const size_t cap = sizeof s->advice;
    if (s->kind == SWING_PERIODIC)
        say(s->advice, cap, SAY_SWING_FIND_CYCLE, s->period);
    else if (s->kind == SWING_JITTER && s->stage == STAGE_STEP)
        say(s->advice, cap, SAY_SWING_FIND_STEP);
    else if (s->kind == SWING_JITTER)
        say(s->advice, cap, SAY_SWING_FIND_STAGE, s->stage >= 0 ? stage_name((StageId)s->stage) : "");
}

static void write_words(Swing *s, const Observation *o)
{
    const char *stage = s->stage >= 0 ? stage_name((StageId)s->stage) : "";
    const double shown = 100 * (o->no_step ? s->rest : s->variation), lengths = 100 * s->by_lengths;
    char *out = s->sentence;
    const size_t cap = sizeof s->sentence;
    write_advice(s);
    if (s->kind == SWING_NONE)
        return;
    if (s->kind == SWING_LENGTHS && s->usual > 0) {
        say(out, cap, SAY_SWING_LENGTHS_RARE, 100 * s->usual, lengths);
        return;
    }
    if (s->kind == SWING_LENGTHS) {
        say(out, cap, SAY_SWING_LENGTHS, shown, lengths);
        return;
    }
    if (s->assumed)
        say(out, cap, SAY_SWING_WOULD_VARY, shown);
    else
        say(out, cap, SAY_SWING_VARY, shown);
    if (s->by_lengths >= WORTH_SAYING)
        say_more(out, cap, SAY_SWING_EXPLAINED, lengths);
    if (s->kind == SWING_PERIODIC)
        say_more(out, cap, SAY_SWING_PERIODIC, stage, s->period);
    else
        say_more(out, cap, SAY_SWING_JITTER, stage);
}

/* More than this is jitter. Stages before the step may vary more: buffers take some of it. */
static double most_jitter(const Swing *s)
{
    return s->stage == STAGE_STEP && !s->assumed ? threshold(LIMIT_JITTER)->bad
                                                 : threshold(LIMIT_VARIATION)->bad;
}

/* The part of the variation that lengths do not explain, without steps that are long once in a long time. */
static double usual_rest(Swing *s, const Work *w)
{
    const Observation *o = w->o;
    double usual;
    const int64_t n = o->n - o->from;
    const int64_t rare = outliers_remove(w->scratch + o->from, w->seen + o->from, n, &usual);
    if (rare == 0 || (double)rare > RARE * (double)n)
        return s->rest;
    const int parameters = fit_lengths(w->spare, w->scratch, o);
    s->by_lengths = fmax(s->by_lengths, explained(w->scratch, w->spare, o, parameters));
    s->usual = variation_of(w->scratch, o);
    return s->usual * sqrt(1 - s->by_lengths);
}

static int judge(Swing *s, Work *w, Err *err)
{
    const Observation *o = w->o;
    const Limit *limit = threshold(LIMIT_VARIATION);
    int rc = look(s, w, err), hardly_waits = rc == 1;
    if (rc < 0)
        return rc;
    double shown = variation_of(w->seen, o);
    s->status = STATUS_GOOD;
    s->rest = shown;
    if (hardly_waits || shown < limit->good || o->n - o->from < LEAST_STEPS)
        return 0;
    for (int t = 0; t < TRACE_COUNT; t++)
        if (t != TRACE_STEP || !o->no_step) /* the assumed trainer's are even */
            w->lengths = fit_lengths(w->fit[t], o->trace[t], o);
    rc = by_lengths(&s->by_lengths, w, err);
    if (rc)
        return rc;
    s->rest = shown * sqrt(1 - s->by_lengths);
    const double usual = usual_rest(s, w);
    if (fmin(s->rest, usual) < limit->good && s->by_lengths >= WORTH_SAYING)
        s->kind = SWING_LENGTHS;
    else {
        rc = find_stage(s, w, err);
        s->status = STATUS_ACCEPTABLE;
        if (!rc && (s->period || usual > most_jitter(s))) {
            s->kind = s->period ? SWING_PERIODIC : SWING_JITTER;
            s->status = STATUS_BAD;
        } else
            s->stage = -1;
    }
    write_words(s, o);
    return rc;
}

int swing_judge(Swing *s, const Observation *o, Err *err)
{
    *s = (Swing){.stage = -1, .status = STATUS_GOOD};
    Work w = {.o = o};
    size_t n = (size_t)o->n + 1;
    w.memory = mem_calloc((TRACE_COUNT + 3) * n, sizeof *w.memory);
    if (!w.memory)
        return err_set(err, ERR_NOMEM, "no memory for the times of %lld steps", (long long)o->n);
    w.seen = w.memory;
    w.scratch = w.memory + n;
    w.spare = w.memory + (size_t)(TRACE_COUNT + 2) * n;
    for (int t = 0; t < TRACE_COUNT; t++)
        w.fit[t] = w.memory + (size_t)(t + 2) * n;
    int rc = judge(s, &w, err);
    free(w.memory);
    return rc;
}
