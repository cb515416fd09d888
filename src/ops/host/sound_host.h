/* sound_host.h - what sound_host.c and spectral_host.c share: LANES transforms at once. Both are compiled
 * twice, see host_real.h. */
#ifndef MYXTTS_SOUND_HOST_H
#define MYXTTS_SOUND_HOST_H

#include <math.h>
#include <string.h>

#include "ops/host/host_real.h"

#define CHOOSE(name) _Generic((REAL)0, float : name##f, double : name)
#define EXP CHOOSE(exp)
#define SIN CHOOSE(sin)
#define COS CHOOSE(cos)
#define LOG CHOOSE(log)
#define SQRT CHOOSE(sqrt)

#define LANES TRANSFORM_LANES
#define PAIRS (2 * LANES) /* frames of real numbers that are transformed at once */
#define TINY 1e-12        /* a magnitude below it has no direction */

/* A point of LANES transforms. */
typedef struct Point {
    REAL re[LANES], im[LANES];
} Point;

/* Lanes of one number: of a bin, or of a band. */
typedef struct Lanes {
    REAL v[LANES];
} Lanes;

static inline Point *transform(const HostOps *h, Point *z, Point *other, const REAL *turn, int n, int sign)
{
    return (Point *)(void *)VEC(h)->transform((REAL *)z, (REAL *)other, turn, n, sign);
}

/* Sample i of a signal of n that is reflected at its ends. */
static inline int mirrored(int i, int n) { return i < 0 ? -i : i >= n ? 2 * (n - 1) - i : i; }

#endif
