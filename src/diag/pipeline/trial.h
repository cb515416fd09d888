/* trial.h - a run of the real pipeline into the real step, made only to be looked at: the parts that
 * observe() and the ranks of a simulated cluster (gang.c) share. Private to src/diag. Threads: one for each
 * trial. */
#ifndef MYXTTS_DIAG_TRIAL_H
#define MYXTTS_DIAG_TRIAL_H

#include "base/disturbance.h"
#include "diag/pipeline/observation.h"
#include "pipeline/step_meter.h"
#include "train/step/engine.h"

typedef struct Trial {
    const ObserveOptions *o;
    Pipeline *pipeline;
    Engine *engine;
    Stream *stream;
    int own_stream;
    StepMeter meter;
    Monitor *monitor;
    int64_t steps;
    Stats phase[PHASE_COUNT];
    StageSnapshot before[STAGE_COUNT];
    int64_t begin; /* of the window: number of steps before it */
    double cpu, wall;
    Disturbance quiet; /* at the begin of the window */
    double disturbed;
    EnginePlan plan;
    struct Gang *gang; /* the simulated ranks it trains with; NULL: none */
    int rank;
    /* With real ones: */
    void *scratch; /* of their sums */
    int wants_end; /* this rank has seen enough, */
    int64_t last;  /* and after this step all end; 0: not known yet */
} Trial;

/* Opens, runs and observes. After a failure o is closed. trial_close must follow in any case; 1: a reader is
 * stuck, and what it can reach must stay. */
int trial_observe(Trial *s, Observation *o, Err *err);
int trial_close(Trial *s);

#endif
