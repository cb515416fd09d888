/* doctor.h - one verdict from an observation: the stage that holds the training up, why, and what each
 * possible change would give. A stage is at fault when the forecast says that training would be faster if
 * only that stage were: busy shares alone do not tell a stage that works all the time from one that is merely
 * never idle. What is named is decided in this order: a stall or outliers whose removal gives most of what
 * can be gained; a stage that is too slow all the time; too few buffers. Where the trainer does not wait for
 * data nothing is at fault, but for a stall of the step itself, or a step that is slower by far than
 * everything else (LIMIT_STEP_DOMINATES): then the step is named, which is no fault of the pipeline. Threads:
 * any. */
#ifndef MYXTTS_DIAG_DOCTOR_H
#define MYXTTS_DIAG_DOCTOR_H

#include "diag/cycles.h"
#include "diag/forecast.h"

const char *cause_name(Cause c); /* as in JSON */

typedef struct Gain {
    char change[96];  /* "num_workers: 8", "storage twice as fast" */
    char key[40];     /* of the configuration; "" for a what-if */
    char value[40];   /* for that key; "" for a what-if */
    int what_if;      /* StageId that would be twice as fast; -1: a setting */
    double predicted; /* throughput after / before */
    double measured;  /* NaN: not measured */
} Gain;

#define MOST_GAINS (10 + STAGE_COUNT) /* settings, and each stage twice as fast */
#define MOST_EVIDENCE 10

typedef struct Verdict {
    int stage; /* StageId; -1: none */
    Cause cause;
    int period; /* steps, of a stall; 0: none */
    char sentence[400];
    char evidence[MOST_EVIDENCE][320];
    int evidence_count;
    Gain gains[MOST_GAINS]; /* settings first, then what-ifs */
    int gain_count;
    int best; /* the setting in gains that is worth changing; -1: none */

    /* what it rests on */
    Forecast present;
    double check;                    /* forecast of the present settings / measured - 1 */
    int trusted;                     /* |check| is small enough */
    double stage_gain[STAGE_COUNT];  /* throughput if the stage took no time / now */
    double steady_gain[STAGE_COUNT]; /* if its stalls or outliers were gone */
    Cycle cycle[STAGE_COUNT];        /* periodic stalls of each stage's own times */
    int64_t outliers[STAGE_COUNT];
} Verdict;

int doctor_judge(Verdict *v, const Observation *o, Err *err);
int verdict_has_fault(const Verdict *v); /* something holds the training up that could be better */

/* Of doctor_gains.c: what settings and faster stages would give. */
int doctor_gains(Verdict *v, const Observation *o, Err *err);
TraceId stage_trace(StageId s); /* a stage's own times */
int stage_present(const Observation *o, StageId s);
/* The setting of a gain, in a copy of a configuration (strings stay the Gain's). 0 when it is no setting. */
int gain_apply(const Gain *g, Config *cfg);
/* Workers that could be of use: more have no core to run on. */
int doctor_most_workers(const Observation *o);

#endif
