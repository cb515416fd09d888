/* doctor.c - see doctor.h. */
#include "diag/pipeline/doctor.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/words/words.h"
#include "diag/report/thresholds.h"
#include "pipeline/policy.h"

#define MOST_OF_IT 0.5 /* share of what can be gained that the removal of stalls must give */
/* And of what the model device waits: two stages that are slow alike hide what each could give. */
#define PART_OF_IT 0.25
#define ROUGHLY 1.1        /* times that vary have means that do */
#define AS_MUCH 0.9        /* as another fault gives */
#define SATURATED 0.90     /* share of time that a server works when it is the limit */
#define MODEL_WAITS 0.04   /* of the forecast: what the stages' times explain of the waiting */
#define OUTLIER_SHARE 0.05 /* of the time of steps */
#define SPARE_DISK 0.85    /* a disk that works less of the time than this has some to spare */
#define OTHERS_PART 0.4    /* of the time that threads stood in line: so much may have held the training up */
#define OTHERS_HIDE 3.0    /* times as much jitter of threads as others may have made is theirs, too */
#define OTHERS_TURN 10e-3  /* s: what a program keeps a core for when it has its turn */
#define NEARLY_ALL 0.8     /* of what a stage without any time would give */

const char *cause_name(Cause c)
{
    static const char *const names[] = {
        [CAUSE_NONE] = "none",       [CAUSE_STORAGE] = "storage",     [CAUSE_WORKERS] = "workers",
        [CAUSE_BUFFERS] = "buffers", [CAUSE_BANDWIDTH] = "bandwidth", [CAUSE_COMPUTE] = "compute",
        [CAUSE_STALL] = "stall",     [CAUSE_OUTLIERS] = "outliers",   [CAUSE_SETTING] = "setting",
    };
    return names[c];
}

Cause cause_find(const char *name)
{
    for (int c = CAUSE_NONE; c <= CAUSE_SETTING; c++)
        if (strcmp(name, cause_name((Cause)c)) == 0)
            return (Cause)c;
    return CAUSE_NONE;
}

const char *cause_shown(Cause c)
{
    static const Word shown[] = {
        [CAUSE_NONE] = SAY_CAUSE_NONE,           [CAUSE_STORAGE] = SAY_CAUSE_STORAGE,
        [CAUSE_WORKERS] = SAY_CAUSE_WORKERS,     [CAUSE_BUFFERS] = SAY_CAUSE_BUFFERS,
        [CAUSE_BANDWIDTH] = SAY_CAUSE_BANDWIDTH, [CAUSE_COMPUTE] = SAY_CAUSE_COMPUTE,
        [CAUSE_STALL] = SAY_CAUSE_STALL,         [CAUSE_OUTLIERS] = SAY_CAUSE_OUTLIERS,
        [CAUSE_SETTING] = SAY_CAUSE_SETTING,
    };
    return word(shown[c]);
}

/* What people read about a stage: "Decoding is too slow", "decoding twice as fast", and what to do about it.
 */
static const struct {
    Word subject, twice, advice;
} stage_words[STAGE_COUNT] = {
    [STAGE_READ] = {SAY_STAGE_READ, SAY_TWICE_READ, SAY_ADVICE_READ},
    [STAGE_DECODE] = {SAY_STAGE_DECODE, SAY_TWICE_DECODE, SAY_ADVICE_DECODE},
    [STAGE_H2D] = {SAY_STAGE_H2D, SAY_TWICE_H2D, SAY_ADVICE_H2D},
    [STAGE_PREPROCESS] = {SAY_STAGE_PREPROCESS, SAY_TWICE_PREPROCESS, SAY_ADVICE_PREPROCESS},
    [STAGE_PEER] = {SAY_STAGE_PEER, SAY_TWICE_PEER, SAY_ADVICE_PEER},
    [STAGE_STEP] = {SAY_STAGE_STEP, SAY_TWICE_STEP, SAY_ADVICE_STEP},
    [STAGE_SUM] = {SAY_STAGE_SUM, SAY_TWICE_SUM, SAY_ADVICE_SUM},
};
const char *stage_subject(StageId s) { return word(stage_words[s].subject); }
const char *stage_twice(StageId s) { return word(stage_words[s].twice); }
const char *stage_advice(StageId s) { return word(stage_words[s].advice); }

/* The trace that holds a stage's own time. */
TraceId stage_trace(StageId s) { return (TraceId)(TRACE_STAGE + s); }

/* Is it computed by the loader's workers, so that more of them would help? */
static int is_work_of_workers(const Observation *o, StageId s)
{
    const StageInfo *i = stage_info(s);
    return i->workers && (i->stream == STREAM_NONE || o->host_data);
}

/* Not every machine has every copy; where the data device is the CPU, only the workers' part is done. */
int stage_present(const Observation *o, StageId s)
{
    StageStream stream = stage_info(s)->stream;
    if (s == STAGE_SUM)
        return o->ranks > 1;
    if (stream == STREAM_NONE)
        return 1;
    return stream == STREAM_PEER ? o->two_devices : !o->host_data || is_work_of_workers(o, s);
}

/* Room for one more sentence; the last one is written over when there is none. */
static char *new_evidence(Verdict *v)
{
    return v->evidence[v->evidence_count < MOST_EVIDENCE ? v->evidence_count++ : MOST_EVIDENCE - 1];
}

double stage_period(const Observation *o, StageId s)
{
    int workers = o->report.workers > 0 ? o->report.workers : 1;
    double read = observation_mean(o, o->serial_disk ? TRACE_DISK : TRACE_READ), all = read;
    if (s == STAGE_READ)
        return o->serial_disk ? read : read / workers;
    /* The worker that decodes a batch has read it, and finishes it. */
    if (s == STAGE_DECODE) {
        for (int i = 0; i < STAGE_COUNT; i++)
            if (is_work_of_workers(o, (StageId)i))
                all += observation_mean(o, stage_trace((StageId)i));
        return all / workers;
    }
    double own = observation_mean(o, stage_trace(s));
    return is_work_of_workers(o, s) ? own / workers : own;
}

/* --- what is wrong with each stage --- */

/* Forecasts without each stage, and without its stalls or outliers. */
static int look_at_stages(Verdict *v, const Observation *o, Err *err)
{
    float *without = mem_calloc(2 * (size_t)o->n + 2, sizeof *without), *reads = without + o->n + 1;
    int rc = without ? 0 : err_set(err, ERR_NOMEM, "no memory to judge"),
        workers = o->report.workers > 0 ? o->report.workers : 1;
    for (int s = 0; s < STAGE_COUNT && !rc; s++) {
        v->stage_gain[s] = v->steady_gain[s] = 1;
        v->steady_period[s] = stage_period(o, (StageId)s);
        /* Why a rank waits for the others is not seen on this one: see rank_doctor.h. */
        if (!stage_present(o, (StageId)s) || s == STAGE_SUM)
            continue;
        ForecastSettings f;
        Forecast result;
        forecast_settings(&f, o);
        /* What would be gained if the stage took no time at all? */
        f.scale[s] = 0;
        rc = forecast_gain(&result, o, &f, &v->present, err);
        if (rc)
            break;
        v->stage_gain[s] = result.gain;
        TraceId t = stage_trace((StageId)s);
        double usual;
        /* A stall first: outliers that come at a fixed distance are one. */
        int found = cycle_find(&v->cycle[s], o->trace[t], o->n, CYCLE_LONGEST);
        if (found)
            cycle_remove(without, o->trace[t], o->n, &v->cycle[s]);
        else
            found = (v->outliers[s] = outliers_remove(without, o->trace[t], o->n, &usual)) > 0;
        if (!found)
            continue;
        /* And what would be gained if only its long batches were as the others? */
        f.scale[s] = 1;
        f.instead[t] = without;
        for (int64_t k = 0; k < o->n && t == TRACE_DISK; k++)
            reads[k] = o->trace[TRACE_READ][k] - o->trace[TRACE_DISK][k] + without[k];
        f.instead[TRACE_READ] = t == TRACE_DISK ? reads : NULL;
        rc = forecast_gain(&result, o, &f, &v->present, err);
        if (!rc)
            v->steady_gain[s] = result.gain;
        double less = 0;
        for (int64_t k = o->from; k < o->n; k++)
            less += (double)(o->trace[t][k] - without[k]) / (double)(o->n - o->from);
        v->steady_period[s] -= is_work_of_workers(o, (StageId)s) ? less / workers : less;
    }
    free(without);
    return rc;
}

/* The stage with the most to gain. */
static int best_of(const double gain[STAGE_COUNT], int with_step)
{
    int best = -1;
    for (int s = 0; s < (with_step ? STAGE_STEP + 1 : STAGE_STEP); s++)
        if (best < 0 || gain[s] > gain[best])
            best = s;
    return best;
}

/* The verdict, as far as it is numbers. */
static void name(Verdict *v, int stage, Cause cause)
{
    v->stage = stage;
    v->cause = cause;
    v->period = cause == CAUSE_STALL ? v->cycle[stage].period : 0;
}

/* --- the decision --- */

/* Would four times the slots and buffers help? */
static int more_buffers(Forecast *f, const Verdict *v, const Observation *o, Err *err)
{
    ForecastSettings s;
    forecast_settings(&s, o);
    int slots = s.slots * MANY_TIMES, buffers = s.most_buffers * MANY_TIMES;
    s.slots = slots < POLICY_MOST_SLOTS ? slots : POLICY_MOST_SLOTS;
    s.most_buffers = buffers < POLICY_MOST_BUFFERS ? buffers : POLICY_MOST_BUFFERS;
    s.start_buffers = s.most_buffers;
    return forecast_gain(f, o, &s, &v->present, err);
}

/* Would all the workers that the machine can carry help? */
static int more_workers(Forecast *f, const Verdict *v, const Observation *o, Err *err)
{
    ForecastSettings s;
    forecast_settings(&s, o);
    s.synchronous = 0;
    s.workers = doctor_most_workers(o);
    s.slots = s.slots < MANY_TIMES ? MANY_TIMES : s.slots;
    return forecast_gain(f, o, &s, &v->present, err);
}

/* Is it the unevenness of one stage that holds training up, rather than the stage that has most to gain? */
static int is_uneven(const Verdict *v, const Observation *o, int uneven, int slow, double idle)
{
    /* Where nothing consumes the batches there is always more to gain: what counts is what most of the time
     * of the slowest stage goes into. */
    if (o->no_step && uneven == slow)
        return v->steady_period[slow] <= (1 - MOST_OF_IT) * stage_period(o, (StageId)slow);
    double steady = v->steady_gain[uneven] - 1, most = v->stage_gain[slow] - 1;
    if (steady <= threshold(LIMIT_STALL_COST)->bad)
        return 0;
    /* Would the stage be fast enough without its long batches, whatever else is in the way? */
    int enough = !o->no_step && v->steady_period[slow] < observation_mean(o, TRACE_STEP);
    if (uneven != slow) /* two faults: the larger one comes first */
        return steady >= (enough ? MOST_OF_IT : AS_MUCH) * fmin(most, idle) && steady >= PART_OF_IT * idle;
    return steady >= MOST_OF_IT * fmin(most, idle) && (enough || steady >= PART_OF_IT * idle);
}

/* The trainer waits. */
static int name_the_slow(Verdict *v, const Observation *o, Err *err)
{
    int slow = best_of(v->stage_gain, 0), uneven = best_of(v->steady_gain, 1);
    Forecast buffers, workers;
    int rc = more_buffers(&buffers, v, o, err);
    if (!rc)
        rc = more_workers(&workers, v, o, err);
    if (rc)
        return rc;
    /* How much of the waiting each explanation covers decides between them. */
    double most = v->stage_gain[slow] - 1, idle = v->present.wait_share / (1 - v->present.wait_share);
    if (o->no_step) /* an idle consumer waits for everything */
        idle = most;
    if (is_uneven(v, o, uneven, slow, idle)) {
        name(v, uneven, v->cycle[uneven].period ? CAUSE_STALL : CAUSE_OUTLIERS);
        return 0;
    }
    /* A switch that is off explains most of it. */
    double on;
    rc = doctor_best_flag(&v->flag, &on, v, o, err);
    if (rc)
        return rc;
    if (v->flag && on - 1 >= MOST_OF_IT * fmin(most, idle)) {
        name(v, slow, CAUSE_SETTING);
        return 0;
    }
    v->flag = NULL;
    /* No stage is at its limit, and more buffers would do: then the stages only take turns badly. */
    const double *used = v->present.used;
    double fullest = 0;
    for (int s = 0; s < STAGE_STEP; s++)
        fullest = fmax(fullest, used[s]);
    int could_do = !o->synchronous && o->prefetch && o->overlap &&
                   v->steady_period[slow] < ROUGHLY * v->steady_period[STAGE_STEP];
    if (could_do && fullest < SATURATED && buffers.gain - 1 >= MOST_OF_IT * idle) {
        name(v, slow, CAUSE_BUFFERS);
        return 0;
    }
    /* What remains is a stage that is too slow; more workers help some of them. */
    double carried = (double)doctor_most_workers(o) / fmax(1, o->report.workers) - 1;
    double reached =
        o->no_step ? fmin(most, carried) : most; /* without a step there is always more to gain */
    int few_workers = workers.gain - 1 >= MOST_OF_IT * reached && doctor_most_workers(o) > o->report.workers;
    /* A disk with time to spare is not the limit: the one worker that waits for it is. */
    int spare_disk = o->serial_disk && !o->synchronous && used[STAGE_READ] < SPARE_DISK;
    if (slow == STAGE_READ && spare_disk && workers.gain - 1 >= NEARLY_ALL * most && few_workers)
        name(v, STAGE_DECODE, CAUSE_WORKERS);
    else if (few_workers && is_work_of_workers(o, (StageId)slow))
        name(v, slow, CAUSE_WORKERS);
    else
        name(v, slow, stage_info((StageId)slow)->cause);
    return 0;
}

/* The trainer does not wait: only the step itself can be meant. */
static void look_at_step(Verdict *v, const Observation *o)
{
    /* The slowest stage besides the step. */
    double next = 0;
    for (int s = 0; s < STAGE_STEP; s++)
        if (stage_present(o, (StageId)s))
            next = fmax(next, stage_period(o, (StageId)s));
    double step = observation_mean(o, TRACE_STEP), gain = v->steady_gain[STAGE_STEP] - 1;
    if (v->cycle[STAGE_STEP].period && gain > threshold(LIMIT_STALL_COST)->bad)
        name(v, STAGE_STEP, CAUSE_STALL);
    else if (v->outliers[STAGE_STEP] > 0 && gain > OUTLIER_SHARE)
        name(v, STAGE_STEP, CAUSE_OUTLIERS);
    else if (step > threshold(LIMIT_STEP_DOMINATES)->bad * next)
        name(v, STAGE_STEP, CAUSE_COMPUTE);
}

/* Stalls or outliers that cost something although the trainer waits little on the average. */
static int is_costly(const Verdict *v, const Observation *o)
{
    const double least = threshold(LIMIT_STALL_COST)->bad;
    for (int s = 0; s < STAGE_STEP; s++)
        if ((v->cycle[s].period || v->outliers[s] > 0) && v->steady_gain[s] - 1 > least &&
            o->wait_share > least)
            return 1;
    return 0;
}

/* --- words --- */

/* What it means that a switch is off. */
static const char *flag_words(const char *flag)
{
    return word(strcmp(flag, "prefetch_to_gpu") == 0            ? SAY_NO_PREFETCH
                : strcmp(flag, "optimize_cpu_gpu_overlap") == 0 ? SAY_NO_OVERLAP
                                                                : SAY_SHARED_COPY);
}

/* Of a pipeline that nothing consumes the batches of. */
static void write_alone(Verdict *v, const Observation *o)
{
    const char *stage = v->stage >= 0 ? stage_name((StageId)v->stage) : word(SAY_CAUSE_NONE);
    if (v->cause == CAUSE_STALL)
        say(v->sentence, sizeof v->sentence, SAY_ALONE_STALLS, o->utterances_per_s, stage,
            1e3 * v->cycle[v->stage].excess, v->period);
    else
        say(v->sentence, sizeof v->sentence, SAY_ALONE_STAGE, o->utterances_per_s, stage,
            cause_shown(v->cause));
}

/* A stage that is too slow, or the step where nothing is. */
static void write_slow(Verdict *v, const Observation *o)
{
    char *out = v->sentence;
    const size_t cap = sizeof v->sentence;
    const double wait = 100 * o->wait_share, period = 1e3 * stage_period(o, (StageId)v->stage);
    if (v->cause == CAUSE_STORAGE)
        say(out, cap, SAY_SLOW_DISK, 1e3 * stage_period(o, STAGE_READ), wait);
    else if (v->stage == STAGE_STEP)
        say(out, cap, SAY_STEP_LIMITS, period, wait);
    else
        say(out, cap, SAY_STAGE_SLOW, stage_subject((StageId)v->stage), period, wait);
}

static void write_few_workers(Verdict *v, const Observation *o)
{
    const double wait = 100 * o->wait_share, period = 1e3 * stage_period(o, STAGE_DECODE);
    if (o->report.workers == 0)
        say(v->sentence, sizeof v->sentence, SAY_NO_WORKERS, period, wait);
    else
        say_count(v->sentence, sizeof v->sentence, SAY_FEW_WORKERS, o->report.workers, o->report.workers,
                  period, wait);
}

/* One sentence that a user can act on, with the number that proves it. */
static void write_sentence(Verdict *v, const Observation *o)
{
    const char *stage = v->stage >= 0 ? stage_name((StageId)v->stage) : "";
    const double wait = 100 * o->wait_share, busy = 100 * o->busy_share;
    const Cycle *c = v->stage >= 0 ? &v->cycle[v->stage] : NULL;
    char *out = v->sentence;
    const size_t cap = sizeof v->sentence;
    if (v->disturbed) {
        say(out, cap, SAY_DISTURBED, 1e3 * o->disturbed);
        return;
    }
    if (o->synchronous && v->cause != CAUSE_NONE && v->stage != STAGE_STEP) {
        say(out, cap, SAY_NOTHING_OVERLAPS, wait, stage);
        return;
    }
    if (o->no_step) {
        write_alone(v, o);
        return;
    }
    switch (v->cause) {
    case CAUSE_NONE:
        if (swing_is_fault(&v->swing))
            say(out, cap, SAY_UNEVEN, busy, wait);
        else
            say(out, cap, SAY_ALL_WELL, busy, wait);
        break;
    case CAUSE_WORKERS:
        write_few_workers(v, o);
        break;
    case CAUSE_BUFFERS:
        say(out, cap, SAY_FEW_BUFFERS, stage, o->report.slots, o->report.buffers, wait);
        break;
    case CAUSE_STORAGE:
    case CAUSE_BANDWIDTH:
    case CAUSE_COMPUTE:
        write_slow(v, o);
        break;
    case CAUSE_SETTING:
        say(out, cap, SAY_FLAG_OFF, v->flag, flag_words(v->flag), wait);
        break;
    case CAUSE_STALL:
        say(out, cap, SAY_STALLS, stage, v->period, 1e3 * (c->usual + c->excess), 1e3 * c->usual,
            v->steady_gain[v->stage]);
        break;
    case CAUSE_OUTLIERS:
        say(out, cap, SAY_OUTLIERS, stage, (long long)v->outliers[v->stage], (long long)o->n,
            v->steady_gain[v->stage]);
        break;
    }
}

/* The stage that is named, and the step. */
static void prove_stages(Verdict *v, const Observation *o)
{
    const size_t cap = sizeof v->evidence[0];
    for (int s = 0; s < STAGE_COUNT; s++) {
        const char *name = stage_name((StageId)s);
        double own = 1e3 * observation_mean(o, stage_trace((StageId)s)), used = 100 * v->present.used[s];
        if (s == STAGE_STEP && !o->no_step)
            say(new_evidence(v), cap, SAY_PROOF_STEP, own, used);
        else if (s != v->stage || s == STAGE_STEP)
            continue;
        else if (o->no_step)
            say(new_evidence(v), cap, SAY_PROOF_STAGE_ALONE, name, own, used, v->stage_gain[s]);
        else
            say(new_evidence(v), cap, SAY_PROOF_STAGE, name, own, used, v->stage_gain[s]);
    }
}

/* Who waited for whom, and how many batches were ready. */
static void prove_queues(Verdict *v, const Observation *o)
{
    const size_t cap = sizeof v->evidence[0];
    const StageSnapshot *h = &o->stages[STAGE_H2D];
    double all = h->busy + h->blocked_in + h->blocked_out, host = 0, device = 0;
    if (all > 0)
        say(new_evidence(v), cap, SAY_PROOF_FEEDER, 100 * h->blocked_in / all, 100 * h->blocked_out / all);
    for (int64_t k = o->from; k < o->n; k++) {
        host += (double)o->host_ready[k];
        device += (double)o->device_ready[k];
    }
    say_count(new_evidence(v), cap, SAY_PROOF_STOCK, o->report.slots, host / (double)(o->n - o->from),
              o->report.slots, device / (double)(o->n - o->from), o->report.buffers);
}

/* What the sentence rests on, line by line. */
static void write_evidence(Verdict *v, const Observation *o)
{
    const size_t cap = sizeof v->evidence[0];
    prove_stages(v, o);
    prove_queues(v, o);
    for (int s = 0; s < STAGE_COUNT; s++)
        if (v->cycle[s].period)
            say(new_evidence(v), cap, SAY_PROOF_CYCLE, stage_name((StageId)s), 1e3 * v->cycle[s].excess,
                v->cycle[s].period, v->cycle[s].hits);
    if (o->cpu_share >= 0)
        say_count(new_evidence(v), cap, SAY_PROOF_CPU, o->cores, 100 * o->cpu_share, o->cores);
    char *check = new_evidence(v);
    say(check, cap, SAY_PROOF_CHECK, 1e3 * v->present.period, 1e3 * o->period, 100 * v->check);
    if (!v->trusted)
        say_more(check, cap, SAY_PROOF_UNTRUSTED);
}

/* The model is checked, every stage is taken away in it, and what explains the waiting is named. */
int doctor_decide(Verdict *v, const Observation *o, Err *err)
{
    *v = (Verdict){.stage = -1, .best = -1};
    ForecastSettings s;
    forecast_settings(&s, o);
    int rc = forecast_run(&v->present, o, &s, err);
    if (rc)
        return rc;
    /* The model of the pipeline must first give what was measured. */
    v->check = o->period > 0 ? v->present.period / o->period - 1 : 0;
    v->trusted = fabs(v->check) <= threshold(LIMIT_FORECAST)->bad;
    rc = look_at_stages(v, o, err);
    if (rc)
        return rc;
    /* Waiting that the stages' times do not explain is not blamed on a stage, unless the model is off
     * anyway. */
    int waits =
        o->wait_share >= threshold(LIMIT_WAIT)->good && (v->present.wait_share >= MODEL_WAITS || !v->trusted);
    if (waits || is_costly(v, o))
        rc = name_the_slow(v, o, err);
    else
        look_at_step(v, o);
    return rc;
}

/* What costs less than other programs may have cost, by taking the cores, is not named. */
static void mind_others(Verdict *v, const Observation *o)
{
    const double theirs = OTHERS_PART * o->disturbed;
    const double cost = v->stage == STAGE_STEP ? 1 - 1 / v->steady_gain[STAGE_STEP] : o->wait_share;
    if (!(theirs > 0))
        return;
    if (verdict_has_fault(v) && cost < theirs) {
        v->disturbed = 1;
        v->stage = v->best = -1;
        v->cause = CAUSE_NONE;
        v->period = v->wall_count = 0;
    }
    /* A few turns, each of which makes one step longer; a step that computes on the cores has to take them
     * all. */
    const double uneven =
        o->period > 0 ? fmax(o->disturbed, sqrt(o->disturbed * OTHERS_TURN / o->period)) : 0;
    /* Threads that read and decode are late themselves, and hide the rule in what looks like jitter. */
    const int stage = v->swing.stage;
    const int by_threads = v->swing.kind == SWING_JITTER && stage >= 0 &&
                           (stage == STAGE_READ || is_work_of_workers(o, (StageId)stage));
    if (swing_is_fault(&v->swing) && v->swing.variation < uneven * (by_threads ? OTHERS_HIDE : 1)) {
        v->disturbed = 1;
        v->swing = (Swing){.stage = -1, .status = STATUS_UNKNOWN, .variation = v->swing.variation};
    }
}

int doctor_judge(Verdict *v, const Observation *o, Err *err)
{
    int rc = doctor_decide(v, o, err);
    if (!rc)
        rc = doctor_gains(v, o, err);
    if (!rc)
        rc = doctor_walls(v, o, err);
    if (!rc)
        rc = swing_judge(&v->swing, o, err);
    if (rc)
        return rc;
    mind_others(v, o);
    write_sentence(v, o);
    write_evidence(v, o);
    return 0;
}

/* A step that is the limit is how it should be. */
int verdict_has_fault(const Verdict *v)
{
    return v->cause != CAUSE_NONE && !(v->stage == STAGE_STEP && v->cause == CAUSE_COMPUTE);
}
