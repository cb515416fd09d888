/* pitch_kernel.h - the two inner loops of the pitch, PITCH_GROUP values side by side. Private to src/audio.
 */
#ifndef MYXTTS_PITCH_KERNEL_H
#define MYXTTS_PITCH_KERNEL_H

#include <stdint.h>

#define PITCH_GROUP 32 /* values that are worked on side by side, on every processor */

typedef struct PitchVariant {
    const char *name; /* "avx512", "avx2", "plain" */
    /* d [lags, a multiple of PITCH_GROUP]: d[lag] = sum over the n samples j from x on of
     * (x[j - s] - x[j - s + lag])^2, with s about lag / 2: the two lie on either side of j. */
    void (*differences)(float *d, const float *x, int64_t n, int lags);
    /* to [n, a multiple of PITCH_GROUP] = sum over k of taps[k] * phases[k % step][i + k / step]; the phases
     * are `stride` apart. */
    void (*filter)(float *to, const float *phases, int64_t stride, int64_t n, int step, const float *taps,
                   int n_taps);
} PitchVariant;

extern const PitchVariant pitch_kernel_plain, pitch_kernel_avx2, pitch_kernel_avx512;

#endif
