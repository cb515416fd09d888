/* doctor_machines.h - the simulated machines of bench/doctor: drawn from a seed, each with one fault whose
 * stage and cause are known because it was put there. For doctor.c. Nothing here comes from the
 * doctor that is judged.
 *
 * A fault counts only when it costs something: a small model of the pipeline (below) runs each machine with
 * and without it, and a machine whose fault costs less than LEAST_COST of its speed, or that something else
 * explains as well, is drawn anew. Times are ms per batch. */
#ifndef MYXTTS_DOCTOR_MACHINES_H
#define MYXTTS_DOCTOR_MACHINES_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/rng.h"

enum { READ, DECODE, H2D, PREPROCESS, PEER, STEP, STAGES };

extern const char *const stage_words[STAGES];

enum { STORAGE, WORKERS, BUFFERS, BANDWIDTH, COMPUTE, STALL, OUTLIERS, NO_CAUSE, CAUSES };

extern const char *const cause_words[CAUSES];

typedef enum {
    HEALTHY,
    SLOW_DISK,
    SLOW_DECODE,
    FEW_WORKERS,
    SLOW_H2D,
    SLOW_PEER,
    SLOW_PREPROCESS,
    SLOW_STEP,
    FEW_BUFFERS,
    PERIODIC,
    LONG_CLIPS,
    TWO_CAUSES,
    CLASSES
} Class;

struct Machine;

typedef struct ClassRow {
    const char *name;
    int count; /* of all machines */
    /* Draws one; 0: it is no fair one. */
    int (*draw)(struct Machine *m, Rng *rng, int stage, unsigned causes);
    int stage; /* what is at fault, where that is one thing */
    unsigned causes;
} ClassRow;
extern const ClassRow classes[CLASSES];

/* The class whose next machine is due first, so that every class has its share from the start. */
int class_due(int *next, const ClassRow *rows, int count);

enum { ALL_MACHINES = 300, MOST_STALLS = 12, BATCH_SIZES = 3 };

extern const int batch_sizes[BATCH_SIZES];

#define LEAST_COST 0.10 /* of the speed: what an injected fault has to take away */

/* Bytes of a batch on its way to the data device and to the model device, measured. */
typedef struct Sizes {
    double h2d[BATCH_SIZES], peer[BATCH_SIZES];
} Sizes;

typedef struct StallAt {
    int stage, every;
    double ms;
} StallAt;

typedef struct Machine {
    Class class;
    int number; /* in its class */
    double ms[STAGES];
    double jitter, own_jitter[STAGES]; /* of all stages; of one, 0: as the others */
    double step_gbps;                  /* what its bytes add to the step; 0: nothing */
    StallAt stalls[MOST_STALLS];
    int stall_count;
    int size; /* row of batch_sizes */
    int workers, slots, buffers, one_device, long_clips, mixed_clips;
    unsigned seed;
    /* the truth; stage STAGES = none */
    int stages[2], stage_count; /* the larger cause first */
    unsigned causes;            /* bits that are accepted */
    int period;                 /* steps; 0: none */
    double cost;                /* share of the speed that the fault takes, by the model */
    double period_ms;           /* of a step, by the model */
    int draws;                  /* until it was a fair one */
    char spec[1024];
} Machine;

/* ---- drawing ---- */

/* A machine as the user would write it. Copies are given as a bandwidth, with a tenth of their time as
 * latency. */
void write_spec(Machine *m, const Sizes *sizes);

/* The same machine with one stage twice as fast, its stalls too. */
void speed_up(Machine *m, int stage, const Sizes *sizes);

/* ---- for other kinds of machines: doctor_pairs.c, doctor_swings.c ---- */

typedef struct ModelRun {
    double period, busy; /* ms a step; share of the time the step works */
    double variation;    /* deviation / mean of the times of steps */
} ModelRun;

ModelRun model_run(const Machine *m);
double between(Rng *rng, double low, double high);
int from(Rng *rng, int low, int high);
/* A machine where nobody waits for anything: every stage takes `low` to `high` of the step's period. */
void draw_sound(Machine *m, Rng *rng, double low, double high);
int is_irregular(const Machine *m); /* the batches that stall show no period */

/* The machines of the first `count` of ALL_MACHINES, every class in its share from the start. Returns how
 * many; out has ALL_MACHINES places. */
int machines_draw(Machine *out, int count, int only, uint64_t seed, const Sizes *sizes);

#endif
