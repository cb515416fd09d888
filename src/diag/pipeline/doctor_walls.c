/* doctor_walls.c - what holds training up, what would hold it up without that, and so on until the step is
 * the limit. Each wall is taken down in a copy of the observation, and the doctor looks at what is left. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/words/words.h"
#include "diag/pipeline/doctor.h"
#include "diag/report/thresholds.h"
#include "pipeline/policy.h"

#define MOST_OF_IT 0.5 /* of what a wall costs: a setting that gives so much is its remedy */
/* Of the present time per batch: where nothing consumes the batches, the last stage has no wall behind it. */
#define HARDLY_ANYTHING 0.02

/* A copy whose times can be changed; the rest is shared. */
static int world_open(Observation *w, const Observation *o, Err *err)
{
    *w = *o;
    float *all = mem_calloc((size_t)TRACE_COUNT * ((size_t)o->n + 1), sizeof *all);
    if (!all)
        return err_set(err, ERR_NOMEM, "no memory to look behind a bottleneck");
    for (int t = 0; t < TRACE_COUNT; t++) {
        w->trace[t] = all + (size_t)t * ((size_t)o->n + 1);
        memcpy(w->trace[t], o->trace[t], (size_t)o->n * sizeof *all);
    }
    return 0;
}

static void world_close(Observation *w) { free(w->trace[0]); }

/* The stage takes `times` [n] instead; NULL: no time. Reads and the feeder's time contain that of a stage. */
static void set_times(Observation *w, StageId s, const float *times)
{
    float *own = w->trace[stage_trace(s)], *read = w->trace[TRACE_READ], *feed = w->trace[TRACE_FEED];
    for (int64_t k = 0; k < w->n; k++) {
        float to = times ? times[k] : 0, less = own[k] - to;
        own[k] = to;
        if (s == STAGE_READ)
            read[k] = times ? fmaxf(read[k] - less, to) : 0;
        if (s == STAGE_H2D)
            feed[k] = fmaxf(feed[k] - less, to);
    }
}

/* Takes the verdict's fault away; see doctor.h for what that means. */
static int take_down(Observation *w, const Verdict *v, Err *err)
{
    StageId s = (StageId)v->stage;
    if (v->cause == CAUSE_WORKERS) {
        if (w->synchronous)
            w->report.slots = policy_slots(CONFIG_AUTO, w->batch_size);
        w->synchronous = 0;
        w->report.workers = doctor_most_workers(w);
        w->report.slots = w->report.slots < MANY_TIMES ? MANY_TIMES : w->report.slots;
        set_times(w, s, NULL);
    } else if (v->cause == CAUSE_SETTING) {
        doctor_set_flag(w, v->flag);
    } else if (v->cause == CAUSE_BUFFERS) {
        int slots = w->report.slots * MANY_TIMES, buffers = w->most_buffers * MANY_TIMES;
        w->report.slots = slots < POLICY_MOST_SLOTS ? slots : POLICY_MOST_SLOTS;
        w->most_buffers = buffers < POLICY_MOST_BUFFERS ? buffers : POLICY_MOST_BUFFERS;
        w->start_buffers = w->report.buffers = w->most_buffers;
    } else if (v->cause == CAUSE_STALL || v->cause == CAUSE_OUTLIERS) {
        float *without = mem_calloc((size_t)w->n + 1, sizeof *without);
        if (!without)
            return err_set(err, ERR_NOMEM, "no memory to look behind a stall");
        double usual;
        if (v->cause == CAUSE_STALL)
            cycle_remove(without, w->trace[stage_trace(s)], w->n, &v->cycle[s]);
        else
            outliers_remove(without, w->trace[stage_trace(s)], w->n, &usual);
        set_times(w, s, without);
        free(without);
    } else
        set_times(w, s, NULL);
    return 0;
}

/* What the model of the pipeline makes of it is what would be measured. */
static int run_world(Observation *w, Err *err)
{
    ForecastSettings s;
    Forecast f;
    forecast_settings(&s, w);
    int rc = forecast_run(&f, w, &s, err);
    w->period = f.period;
    w->wait_share = f.wait_share;
    w->busy_share = 1 - f.wait_share;
    return rc;
}

/* The throughput without this fault alone / now. */
static int gain_alone(double *gain, const Verdict *now, const Observation *o, const Verdict *v, Err *err)
{
    Observation w;
    int rc = world_open(&w, o, err);
    if (rc)
        return rc;
    rc = take_down(&w, v, err);
    if (!rc)
        rc = run_world(&w, err);
    *gain = w.period > 0 ? now->present.period / w.period : 1;
    world_close(&w);
    return rc;
}

/* --- words --- */

static void write_evidence(Wall *wall, const Verdict *v, const Observation *w)
{
    char *out = wall->evidence;
    const size_t cap = sizeof wall->evidence;
    const Cycle *c = &v->cycle[v->stage];
    const double period = 1e3 * stage_period(w, (StageId)v->stage);
    if (v->cause == CAUSE_STALL)
        say(out, cap, SAY_WALL_STALL, 1e3 * (c->usual + c->excess), 1e3 * c->usual, c->period, c->hits);
    else if (v->cause == CAUSE_OUTLIERS)
        say(out, cap, SAY_WALL_OUTLIERS, (long long)v->outliers[v->stage], (long long)w->n);
    else if (v->cause == CAUSE_SETTING)
        say(out, cap, SAY_WALL_SETTING, v->flag);
    else if (w->synchronous)
        say(out, cap, SAY_WALL_TRAINER, 1e3 * observation_mean(w, stage_trace((StageId)v->stage)));
    else if (v->cause == CAUSE_WORKERS)
        say_count(out, cap, SAY_WALL_WORKERS, w->report.workers, w->report.workers, period);
    else if (v->cause == CAUSE_BUFFERS)
        say(out, cap, SAY_WALL_BUFFERS, w->report.slots, w->report.buffers);
    else
        say(out, cap, SAY_WALL_SLOW, period, 100 * v->present.used[v->stage]);
    if (!w->no_step)
        say_more(out, cap, SAY_WALL_WAITS, 100 * v->present.wait_share);
}

/* A setting that gives most of it; else what can be done about the machine. */
static void write_remedy(Wall *wall, const Verdict *v, const Observation *w, int synchronous, double gain)
{
    const char *advice = stage_advice((StageId)v->stage);
    wall->is_setting =
        v->best >= 0 && (synchronous || v->gains[v->best].predicted - 1 >= MOST_OF_IT * (gain - 1));
    if (wall->is_setting) {
        say(wall->remedy, sizeof wall->remedy, SAY_SET_THIS, v->gains[v->best].change);
        return;
    }
    if (v->cause == CAUSE_WORKERS)
        advice = word(w->on_the_fly ? SAY_ADVICE_PRECOMPUTE : SAY_ADVICE_CORES);
    else if (v->cause == CAUSE_BUFFERS)
        advice = word(SAY_ADVICE_BUFFERS);
    else if (v->cause == CAUSE_STALL)
        advice = word(SAY_ADVICE_STALL);
    else if (v->cause == CAUSE_OUTLIERS)
        advice = word(SAY_ADVICE_OUTLIERS);
    snprintf(wall->remedy, sizeof wall->remedy, "%s", advice);
}

/* --- one after the other --- */

/* 1 if the fault is there already: taking it down did not help. A stage that varies more than any buffers
 * cover is not slow, either. */
static int is_known(const Verdict *v, const Verdict *next)
{
    for (int i = 0; i < v->wall_count; i++)
        if (v->walls[i].stage == next->stage &&
            (v->walls[i].cause == next->cause || v->walls[i].cause == CAUSE_BUFFERS))
            return 1;
    return 0;
}

/* Takes the fault that `next` names down in w, and adds it to the walls of v. 1 if it is none worth naming:
 * the first one always is, since the verdict names it. */
static int add_wall(Verdict *v, const Observation *o, Observation *w, const Verdict *next, Err *err)
{
    Wall wall = {.stage = next->stage, .cause = next->cause, .period = next->period};
    int synchronous = w->synchronous;
    double before = w->period, least = 1 + threshold(LIMIT_GAIN)->good;
    write_evidence(&wall, next, w);
    int rc = take_down(w, next, err);
    if (!rc)
        rc = run_world(w, err);
    if (!rc)
        rc = gain_alone(&wall.gain_alone, v, o, next, err);
    if (rc)
        return rc;
    double gain = w->period > 0 ? before / w->period : 1;
    if (v->wall_count > 0 &&
        (gain < least || (o->no_step && w->period < HARDLY_ANYTHING * v->present.period)))
        return 1;
    wall.gain_so_far = w->period > 0 ? v->present.period / w->period : 1;
    write_remedy(&wall, next, w, synchronous, gain);
    v->walls[v->wall_count++] = wall;
    return 0;
}

int doctor_walls(Verdict *v, const Observation *o, Err *err)
{
    Observation w;
    Verdict *next = mem_calloc(1, sizeof *next);
    int rc = next ? world_open(&w, o, err) : err_set(err, ERR_NOMEM, "no memory for a second verdict");
    if (rc) {
        free(next);
        return rc;
    }
    w.period = v->present.period; /* so that gains are those of the model alone */
    *next = *v;
    while (!rc && v->wall_count < MOST_WALLS && verdict_has_fault(next) && !is_known(v, next)) {
        rc = add_wall(v, o, &w, next, err);
        if (!rc)
            rc = doctor_decide(next, &w, err);
        if (!rc)
            rc = doctor_gains(next, &w, err);
    }
    world_close(&w);
    free(next);
    return rc < 0 ? rc : 0;
}
