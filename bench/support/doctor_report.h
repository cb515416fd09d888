/* doctor_report.h - what the machines of bench/doctor were judged to be: the results, their sums per class,
 * the table. For doctor.c. */
#ifndef MYXTTS_DOCTOR_REPORT_H
#define MYXTTS_DOCTOR_REPORT_H

#include <jansson.h>
#include <stdatomic.h>

#include "base/file.h"
#include "base/progress.h"
#include "base/stats.h"
#include "base/thread.h"
#include "doctor_machines.h"

#define NEAR 0.10    /* of a period, of a gain */
#define MOST_GAINS 3 /* measured on one machine */
#define MOST_TRIES 3 /* of a run that is disturbed */

typedef struct Gain {
    char change[96], key[64], value[64];
    int stage; /* that is twice as fast, where the change is no setting; STAGES: it is one */
    double predicted, measured, noise; /* NAN: not measured */
} Gain;

typedef struct Result {
    Machine m;
    int done, answered;
    char stage[64], cause[64], problem[320];
    double period; /* NAN: none */
    Gain gains[MOST_GAINS];
    int gain_count, listed, unknown; /* measured; named; of a kind that cannot be made here */
    int stage_right, cause_right, period_right, first_right, left_out;
    double diagnose_s, before_ms, wait_share,
        noise; /* noise: the share of the diagnosis that this computer lost to other work */
} Result;

typedef struct Options {
    const char *program;
    int machines, skip, only, jobs, batches, no_gains, list, combined, swings;
    const char *only_word; /* as written; NULL: all */
    uint64_t seed;
} Options;

/* A thread that wants to wake up every two milliseconds and notes how late it does: other work on this
 * computer stops simulated machines in the same way, and a machine that was really stopped is not the one
 * that was drawn. */
typedef struct Watch {
    Thread thread;
    _Atomic int stop;
    _Atomic uint64_t late_us;
} Watch;

typedef struct Judge {
    Options o;
    Watch watch;
    _Atomic int repeated, noisy; /* runs */
    _Atomic int disturbed;       /* answers that say that they were too disturbed to judge: not wrong ones */
    char short_clips[320], long_clips[320], mixed_clips[320];
    Result *results; /* [count] */
    int count;
    _Atomic int next;
    Progress progress;
} Judge;

/* ---- what came out ---- */

typedef struct Tally {
    int total, stage, first, cause, periods, periods_right, gains, gains_near, material, material_near,
        listed, unknown, mendable, mended, left_out, no_answer;
} Tally;

typedef struct Summary {
    Tally class[CLASSES], faulty, healthy, all;
    double diagnose_s, model_error; /* mean; median of |model / measured - 1| */
    int holds[5];                   /* stages, false alarms, periods, gains, gains worth having */
} Summary;

void summarise(Summary *s, const Judge *j);
void print_table(const Summary *s);
void print_verdicts(const Judge *j, const Summary *s);
void print_json(const Judge *j, const Summary *s, double seconds);
void print_failures(const Judge *j); /* with what is needed to see them again */
void print_list(const Judge *j);

#endif
