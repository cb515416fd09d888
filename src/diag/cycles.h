/* cycles.h - what repeats, and what sticks out, in a series of times.
 * Threads: any. */
#ifndef MYXTTS_DIAG_CYCLES_H
#define MYXTTS_DIAG_CYCLES_H

#include <stdint.h>

#define CYCLE_LONGEST 200 /* steps */

typedef struct Cycle {
    int period;     /* steps; 0: none */
    int phase;      /* index modulo period of the slow ones, from the beginning of the series */
    int hits;       /* how often it came */
    double usual;   /* what an entry takes that is not slow, s */
    double excess;  /* what a slow one takes above that, s, mean */
    double certain; /* how far the slow ones stand out, in standard errors */
} Cycle;

/* Correlation of x with itself `lag` later, -1 .. 1; 0 where x does not vary. */
double cycle_autocorrelation(const float *x, int64_t n, int lag);
/* The lag of 2 .. longest (and at most n / 2 - 1) with the highest autocorrelation, and that; 0: none. For
 * charts and the threshold of a cycle. */
int cycle_best_lag(const float *x, int64_t n, int longest, double *correlation);

/* A stall that comes every `period` entries: the series is folded at every period and phase, and the entries
 * of one phase must stand out from all others, nearly all of them, with hardly any other as long. At least
 * three must be there. 1 when there is one. */
int cycle_find(Cycle *c, const float *x, int64_t n, int longest);
/* out [n]: the series with the slow ones of the cycle at the usual time. */
void cycle_remove(float *out, const float *x, int64_t n, const Cycle *c);

/* Entries so far above the rest that the rest's variation does not explain them, a few of many. out [n]: the
 * series with them at the usual time. Returns how many. */
int64_t outliers_remove(float *out, const float *x, int64_t n, double *usual);

#endif
