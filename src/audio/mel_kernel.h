/* mel_kernel.h - the arithmetic of a few mel frames at once, one frame per vector lane. Private to src/audio,
 * except that the GPU takes its tables from here (mel_cuda.h). All of it is IEEE double without contraction,
 * so that the same clip gives the same bits with AVX-512, AVX2 or plain SSE2. */
#ifndef MYXTTS_MEL_KERNEL_H
#define MYXTTS_MEL_KERNEL_H

#include <stdint.h>

#include "audio/fft.h"

#define MEL_MAX_LANES 8

typedef struct MelBand {
    int first, count; /* bins with a weight */
    int weight;       /* index of the first weight */
} MelBand;

typedef struct MelTables {
    int n_fft, hop, n_bands, n_bins; /* n_bins: bins from 0 up that any band uses */
    int packed;                      /* n_fft is even: two samples make one complex point */
    FftPlan fft;                     /* n_fft / 2 points when packed, else n_fft */
    double *window;                  /* [n_fft]; halved when packed, see magnitudes() */
    int *offset;             /* [n_fft] into MelWork.across; NULL unless hop divides n_fft, which is even */
    int row_stride;          /* floats from one row of MelWork.across to the next; 0 when offset is NULL */
    double *unpack_twiddles; /* [n_fft / 4 + 1][cos, sin]: exp(-2 pi i k / n_fft), used when packed */
    MelBand *bands;          /* [n_bands] */
    double *weights;         /* of all bands, one behind the other */
} MelTables;

struct MelPlan;
const MelTables *mel_tables(const struct MelPlan *p); /* live as long as the plan */

/* Where numpy.pad(mode="reflect") takes sample i of a clip of n from: a mirror at both ends, without
 * repeating the end samples. */
static inline int64_t mel_reflect(int64_t i, int64_t n)
{
    if (n == 1)
        return 0;
    int64_t period = 2 * (n - 1);
    i %= period;
    if (i < 0)
        i += period;
    return i < n ? i : period - i;
}

/* Working memory for one group of frames; pointers aligned to 64 bytes. */
typedef struct MelWork {
    float *across;  /* [hop][row_stride]: sample i of the group at [i % hop][i / hop] */
    double *points; /* [fft.n_stored][re, im][lanes] */
    double *spare;  /* [fft.max_radix][re, im][lanes] */
    double *bins;   /* [n_bins][lanes] magnitudes */
    float *result;  /* [n_bands][lanes] log mel */
} MelWork;

/* segment: the samples of `lanes` frames, frame l from segment[l * hop] on. Fills w->result. */
typedef void (*MelKernel)(const MelTables *t, MelWork *w, const float *segment);

typedef struct MelVariant {
    const char *name; /* "avx512", "avx2", "plain" */
    int lanes;        /* frames per call */
    MelKernel run;
} MelVariant;

extern const MelVariant mel_kernel_plain, mel_kernel_avx2, mel_kernel_avx512;

#endif
