/* pitch_kernel.c - see pitch_kernel.h.
 * Compiled once per instruction set: -DINSTRUCTIONS=plain|avx2|avx512 -DREGISTER_BYTES=16|32|64 with that
 * set's flags. Every value is added up in the same order whatever the width, without contraction: the same
 * bits everywhere. */
#include "audio/pitch_kernel.h"

#include <string.h>

#include "base/variant.h"

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

#define WIDTH (REGISTER_BYTES / 4) /* floats in a register */
typedef float Part __attribute__((vector_size(4 * WIDTH)));

#if WIDTH == 16
#define EACH(DO) DO(0) DO(1)
#elif WIDTH == 8
#define EACH(DO) DO(0) DO(1) DO(2) DO(3)
#else
#define EACH(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)
#endif

#define ZERO(k) Part sum##k = {0};
#define PUT(k) memcpy(to + k * WIDTH, &sum##k, sizeof sum##k);

/* d [lags, a multiple of PITCH_GROUP]: d[lag] = sum over the n samples j from x on of (x[j - s] - x[j - s +
 * lag])^2, with s about lag / 2: the two lie on either side of j. s is one number for half a group. */
static void differences(float *d, const float *x, int64_t n, int lags)
{
    for (int lag = 0; lag < lags; lag += PITCH_GROUP) {
        const float *low = x - (lag + PITCH_GROUP / 4) / 2, *high = x - (lag + 3 * PITCH_GROUP / 4) / 2;
        float *to = d + lag;
        EACH(ZERO)
        for (int64_t j = 0; j < n; j++) {
#define ADD_SQUARE(k) \
    { \
        const float *from = (k)*WIDTH < PITCH_GROUP / 2 ? low : high; \
        Part v; \
        memcpy(&v, from + j + lag + (k)*WIDTH, sizeof v); \
        v = from[j] - v; \
        sum##k += v * v; \
    }
            EACH(ADD_SQUARE)
        }
        EACH(PUT)
    }
}

/* to [n, a multiple of PITCH_GROUP] = sum over k of taps[k] * phases[k % step][i + k / step]; the phases are
 * `stride` apart. */
static void filter(float *to, const float *phases, int64_t stride, int64_t n, int step, const float *taps,
                   int n_taps)
{
    for (int64_t i = 0; i < n; i += PITCH_GROUP, to += PITCH_GROUP) {
        EACH(ZERO)
        for (int k = 0, phase = 0, late = 0; k < n_taps; k++) {
            const float *from = phases + phase * stride + i + late;
#define ADD_TAP(part) \
    { \
        Part v; \
        memcpy(&v, from + (part)*WIDTH, sizeof v); \
        sum##part += v * taps[k]; \
    }
            EACH(ADD_TAP)
            if (++phase == step) {
                phase = 0;
                late++;
            }
        }
        EACH(PUT)
    }
}

const PitchVariant VARIANT(pitch_kernel, INSTRUCTIONS) = {VARIANT_STRING(INSTRUCTIONS), differences, filter};
