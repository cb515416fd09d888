/* cycles.h - finds periodic stalls and outliers in a series of times. Threads: any. */
#ifndef MYXTTS_DIAG_CYCLES_H
#define MYXTTS_DIAG_CYCLES_H

#include <stdint.h>

#define CYCLE_LONGEST 200 /* longest period that is looked for, in steps */

typedef struct Cycle {
    int period;     /* steps; 0: there is no cycle */
    int phase;      /* the slow entries are those with index % period == phase */
    int hits;       /* number of slow entries */
    double usual;   /* time of an entry that is not slow, seconds */
    double excess;  /* mean additional time of a slow one, seconds */
    double certain; /* how far the slow ones are above the others, in standard errors */
} Cycle;

/* The correlation of x with itself shifted by `lag`, -1 .. 1; 0 if x does not vary. */
double cycle_autocorrelation(const float *x, int64_t n, int lag);
/* The lag in 2 .. longest (and at most n / 2 - 1) with the highest autocorrelation, and that correlation; 0
 * if there is none. For charts and the threshold of a cycle. */
int cycle_best_lag(const float *x, int64_t n, int longest, double *correlation);

/* Looks for a stall that comes every `period` entries; returns 1 if there is one. All periods and phases are
 * tried. There must be at least three entries of the phase, nearly all of them must be slow, and hardly any
 * other may be as slow. */
int cycle_find(Cycle *c, const float *x, int64_t n, int longest);
/* Copies the series to out [n] with the usual time in place of the slow entries. */
void cycle_remove(float *out, const float *x, int64_t n, const Cycle *c);

/* Finds outliers: a few entries so far above the others that the variation of the others does not explain
 * them. Copies the series to out [n] with the usual time in their place. Returns their number. */
int64_t outliers_remove(float *out, const float *x, int64_t n, double *usual);

#endif
