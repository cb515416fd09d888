/* doctor_pairs.h - simulated machines with two faults, for bench/doctor --combined. Each fault is put into a
 * machine where nobody waits, so that it can be taken out again: the machine without one of them, or without
 * both, is run as well, and what is then measured is what the doctor has to say.
 *
 * Both faults count: by the model of doctor_machines.h, taking out the one that costs more leaves another
 * that costs at least LEAST_COST. Which one is first is not drawn but measured: the one whose absence alone
 * gives more. */
#ifndef MYXTTS_DOCTOR_PAIRS_H
#define MYXTTS_DOCTOR_PAIRS_H

#include "doctor_machines.h"

typedef enum {
    SLOW_AND_SLOW,
    SLOW_AND_STALL,
    WORKERS_AND_SLOW,
    WORKERS_AND_STALL,
    STALL_AND_STALL,
    BUFFERS_AND_SLOW,
    LONG_AND_SLOW,
    PAIR_KINDS
} PairKind;

enum { ALL_PAIRS = 200 };
extern const ClassRow pair_kinds[PAIR_KINDS];

typedef struct Fault {
    int stage;
    unsigned causes; /* bits that are accepted */
    int period;      /* steps; 0: none */
} Fault;

typedef struct Pair {
    PairKind kind;
    int number; /* in its kind */
    Fault faults[2];
    Machine with;       /* both */
    Machine without[2]; /* one of them */
    Machine sound;      /* none */
    int draws;
} Pair;

/* The first `count` of ALL_PAIRS, every kind in its share from the start; only: of that kind, -1: all.
 * Returns how many; out has ALL_PAIRS places. */
int pairs_draw(Pair *out, int count, int only, uint64_t seed, const Sizes *sizes);

#endif
