/* fft.h - the plan of a discrete Fourier transform of any length: factors, twiddles, and where each frequency
 * ends up. The transform itself runs on several signals at once, one per vector lane (fft_lanes.h), in
 * place and in double precision. Why not single precision: the rounding error of a float transform is about
 * 1e-7 of the loudest bin of the frame, which is 1e-3 of a quiet band beside a loud vowel. Of 1.53 million
 * mel values of LJSpeech, fftwf had 676 more than 1e-4 off (worst 1.0e-3); this transform is within 5e-7.
 * Decimation in frequency, radix 8, 4, 2, then the odd prime factors. The output is left in digit-reversed
 * order: `place` tells where frequency f is, which costs nothing when every element is a whole cache line.
 * Threads: read-only after fft_plan_open. */
#ifndef MYXTTS_FFT_H
#define MYXTTS_FFT_H

#include "base/err.h"

#define FFT_MAX_PASSES 24

typedef struct FftPass {
    int radix;
    int length; /* of the blocks this pass works on; there are n / length of them */
    /* [length / radix][radix - 1][cos, sin]: exp(-2 pi i p j / length), j = 1 .. radix - 1 */
    const double *twist;
    const double *roots; /* [radix][cos, sin]: exp(-2 pi i k / radix), for radices other than 8, 4, 2 */
} FftPass;

typedef struct FftPlan {
    int n; /* complex points */
    int n_passes, max_radix;
    FftPass passes[FFT_MAX_PASSES];
    /* Points in a block after the first pass, and from one block to the next in memory: one point more,
     * because blocks a power of two apart would fight for the same cache lines. */
    int block, block_step;
    int n_stored; /* points of memory that hold a transform: blocks and gaps */
    int *place;   /* [n]: where frequency f is, counted in points */
    double *tables;
} FftPlan;

int fft_plan_open(FftPlan *f, int n, Err *err); /* n >= 1; ERR_NOMEM */
void fft_plan_close(FftPlan *f);                /* safe on a zeroed plan */

#endif
