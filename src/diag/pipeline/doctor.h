/* doctor.h - one verdict from an observation: the stage that is the bottleneck of training, the cause, and
 * what each possible change would gain.
 *
 * A stage is the bottleneck if the forecast predicts faster training with that stage alone made faster;
 * shares of busy time do not tell. The causes are tried in this order:
 *   - a stall or outliers whose removal gives most of what can be gained;
 *   - a stage that is always too slow;
 *   - too few buffers.
 * If the trainer does not wait for data, there is no bottleneck, except for a stall of the step itself, or a
 * step that is much slower than everything else (LIMIT_STEP_DOMINATES), which is not a fault of the pipeline.
 *
 * A fault may hide another. The walls are what holds training up now, what would hold it up without that, and
 * so on until the step is the limit. A wall is gone when a stage that is too slow takes no time, a stage that
 * stalls (or has outliers) takes its usual time, there are as many workers as the machine can carry and their
 * work takes no time, or there are four times the slots and buffers.
 *
 * Threads: any. */
#ifndef MYXTTS_DIAG_DOCTOR_H
#define MYXTTS_DIAG_DOCTOR_H

#include "diag/pipeline/cycles.h"
#include "diag/pipeline/forecast.h"
#include "diag/pipeline/swings.h"

const char *cause_name(Cause c);      /* as in JSON */
Cause cause_find(const char *name);   /* CAUSE_NONE for anything else */
const char *cause_shown(Cause c);     /* as people read it, as are these: */
const char *stage_subject(StageId s); /* "... is too slow" */
const char *stage_twice(StageId s);   /* "... twice as fast" */
const char *stage_advice(StageId s);  /* what to do, apart from settings that the forecast knows */

typedef struct Gain {
    char change[160]; /* "num_workers: 8", "storage twice as fast" */
    char key[40];     /* the setting to change; "" for a what-if */
    char value[40];   /* its new value; "" for a what-if */
    int what_if;      /* StageId that would be twice as fast; -1: it is a setting */
    double predicted; /* throughput after / before */
    double measured;  /* NaN: not measured */
} Gain;

/* What holds training up once the walls before it are gone. */
typedef struct Wall {
    int stage; /* StageId */
    Cause cause;
    int period;         /* of a stall, in steps; 0: none */
    double gain_alone;  /* throughput without this wall / now */
    double gain_so_far; /* throughput without this wall and all before it / now */
    char evidence[500]; /* what it takes, when the walls before it are gone */
    char remedy[500];   /* a setting, or what to change in the machine */
    int is_setting;     /* 1: the remedy is the best of the gains */
} Wall;

#define MOST_WALLS 8
#define MANY_TIMES 4                  /* as many slots and buffers: enough to see whether they are missing */
#define MOST_GAINS (10 + STAGE_COUNT) /* settings, and each stage twice as fast */
#define MOST_EVIDENCE 10

typedef struct Verdict {
    int stage; /* StageId; -1: none */
    Cause cause;
    int period;       /* of a stall, in steps; 0: none */
    const char *flag; /* the switch that is off, with CAUSE_SETTING; otherwise NULL */
    char sentence[800];
    char evidence[MOST_EVIDENCE][500];
    int evidence_count;
    Gain gains[MOST_GAINS]; /* settings first, then what-ifs */
    int gain_count;
    int best;               /* index in gains of the setting that is most worth changing; -1: none */
    Wall walls[MOST_WALLS]; /* the first is the verdict; none if the step is the limit */
    int wall_count;
    Swing swing;   /* how evenly the steps come */
    int disturbed; /* 1: other programs could be what was found: nothing is named */

    /* The numbers behind the verdict. */
    Forecast present;
    double check;                      /* forecast of the present settings / measured - 1 */
    int trusted;                       /* |check| is small enough */
    double stage_gain[STAGE_COUNT];    /* throughput if the stage took no time / throughput now */
    double steady_gain[STAGE_COUNT];   /* the same if the stage had no stalls or outliers */
    double steady_period[STAGE_COUNT]; /* time per batch that the stage could then keep up */
    Cycle cycle[STAGE_COUNT];          /* periodic stalls in the times of each stage */
    int64_t outliers[STAGE_COUNT];
} Verdict;

int doctor_judge(Verdict *v, const Observation *o, Err *err);
int verdict_has_fault(const Verdict *v); /* 1 if there is a bottleneck that could be removed */

/* The numbers of a verdict: what holds up the run of an observation, or of one that is only imagined. No
 * words, gains and walls. */
int doctor_decide(Verdict *v, const Observation *o, Err *err);
/* Time per batch that a stage could keep up, if nothing else held it up. */
double stage_period(const Observation *o, StageId s);
/* In doctor_walls.c: fills v->walls. v has been decided and has its gains. */
int doctor_walls(Verdict *v, const Observation *o, Err *err);
/* In doctor_gains.c: the switch that is off and would gain most if it were on; NULL: none is off. A
 * synchronous pipeline has none. */
int doctor_best_flag(const char **key, double *gain, const Verdict *v, const Observation *o, Err *err);
void doctor_set_flag(Observation *o, const char *key); /* on, in an observation that is only imagined */
/* In doctor_gains.c: fills v->gains, what other settings and faster stages would gain. */
int doctor_gains(Verdict *v, const Observation *o, Err *err);
TraceId stage_trace(StageId s); /* the trace with the times of a stage */
int stage_present(const Observation *o, StageId s);
/* Sets the setting of a gain in a copy of a configuration (strings belong to the Gain). 0 if it is not a
 * setting. */
int gain_apply(const Gain *g, Config *cfg);
/* The maximum of workers that could be useful: more would have no core to run on. */
int doctor_most_workers(const Observation *o);

#endif
