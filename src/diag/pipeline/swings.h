/* swings.h - how even step times are, and why not: the one rule of all tools.
 *
 * Step times (from the end of one step to the end of the next) that vary by less than LIMIT_VARIATION's good
 * are even. What batches of different lengths explain is not a fault. The rest is one, with the stage whose
 * own variation makes most of it:
 *   - a stall that recurs with a fixed period, if the rest is at least LIMIT_VARIATION's good;
 *   - irregular jitter, if it is more than LIMIT_VARIATION's bad.
 * Batches that nothing consumes (profile data) come in bursts, which buffers even out. There the question is
 * what a trainer would see that wants a little less than the pipeline gives: if it hardly waits, all is well.
 *
 * Threads: any. */
#ifndef MYXTTS_DIAG_SWINGS_H
#define MYXTTS_DIAG_SWINGS_H

#include "diag/pipeline/forecast.h"
#include "diag/report/thresholds.h"

typedef enum { SWING_NONE, SWING_LENGTHS, SWING_PERIODIC, SWING_JITTER } SwingKind;

typedef struct Swing {
    double variation;  /* deviation / mean of step times, as measured */
    double usual;      /* variation without a few steps that are far longer; 0: there are none */
    double by_lengths; /* share of their variance that the lengths of the batches explain */
    double rest;       /* variation that is left, of the steps that a trainer sees */
    SwingKind kind;
    int assumed;   /* 1: there was no trainer; rest is that of an assumed one */
    int stage;     /* StageId; -1: none */
    int period;    /* steps; 0: none */
    Status status; /* of the variation */
    char sentence[500];
    char advice[500];
} Swing;

const char *swing_name(SwingKind kind); /* as in JSON */
int swing_judge(Swing *s, const Observation *o, Err *err);
int swing_is_fault(const Swing *s);

#endif
