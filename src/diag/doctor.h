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
 * Threads: any. */
#ifndef MYXTTS_DIAG_DOCTOR_H
#define MYXTTS_DIAG_DOCTOR_H

#include "diag/cycles.h"
#include "diag/forecast.h"

const char *cause_name(Cause c); /* as in JSON */

typedef struct Gain {
    char change[96];  /* "num_workers: 8", "storage twice as fast" */
    char key[40];     /* the setting to change; "" for a what-if */
    char value[40];   /* its new value; "" for a what-if */
    int what_if;      /* StageId that would be twice as fast; -1: it is a setting */
    double predicted; /* throughput after / before */
    double measured;  /* NaN: not measured */
} Gain;

#define MOST_GAINS (10 + STAGE_COUNT) /* settings, and each stage twice as fast */
#define MOST_EVIDENCE 10

typedef struct Verdict {
    int stage; /* StageId; -1: none */
    Cause cause;
    int period; /* of a stall, in steps; 0: none */
    char sentence[400];
    char evidence[MOST_EVIDENCE][320];
    int evidence_count;
    Gain gains[MOST_GAINS]; /* settings first, then what-ifs */
    int gain_count;
    int best; /* index in gains of the setting that is most worth changing; -1: none */

    /* The numbers behind the verdict. */
    Forecast present;
    double check;                    /* forecast of the present settings / measured - 1 */
    int trusted;                     /* |check| is small enough */
    double stage_gain[STAGE_COUNT];  /* throughput if the stage took no time / throughput now */
    double steady_gain[STAGE_COUNT]; /* the same if the stage had no stalls or outliers */
    Cycle cycle[STAGE_COUNT];        /* periodic stalls in the times of each stage */
    int64_t outliers[STAGE_COUNT];
} Verdict;

int doctor_judge(Verdict *v, const Observation *o, Err *err);
int verdict_has_fault(const Verdict *v); /* 1 if there is a bottleneck that could be removed */

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
