/* guard.h - whether a step is made, and by how much its gradient is scaled: the same arithmetic on every
 * device. Private to src/ops. */
#ifndef MYXTTS_GUARD_H
#define MYXTTS_GUARD_H

#include <math.h>

#include "ops/ops.h"

#ifdef __CUDACC__
#define GUARD_CALL static __host__ __device__ inline
#else
#define GUARD_CALL static inline
#endif

#define GUARD_MEAN 100 /* steps that the running mean looks back on */

/* The gradient is a sum over `frames` mel frames. Returns what it has to be multiplied with; 0: the step is
 * left out. */
GUARD_CALL double guard_decide(OpsGuard *g, double norm2, int finite, double frames, double clip,
                               double spike)
{
    /* A batch without a frame has no gradient, and tells nothing about those that have one. */
    if (!(frames > 0)) {
        g->skipped = 0;
        return 0;
    }
    double norm = sqrt(norm2) / frames;
    g->norm = (float)norm;
    g->skipped = !finite || !isfinite(norm) ? 1 : g->seen >= GUARD_SETTLE && norm > spike * g->mean ? 2 : 0;
    if (g->skipped) {
        g->consecutive++;
        g->total++;
        return 0;
    }
    /* The mean of all steps made, from then on over about a hundred. */
    double share = 1.0 / (g->seen < GUARD_MEAN - 1 ? g->seen + 1 : GUARD_MEAN);
    g->mean = (float)(g->mean + (norm - g->mean) * share);
    g->seen++;
    g->consecutive = 0;
    return (clip > 0 && norm > clip ? clip / norm : 1) / frames;
}

#endif
