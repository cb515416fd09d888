/* griffin_lim_kernel.h - the arithmetic of griffin_lim.h on eight frames at once, one per vector lane, in
 * single precision. Private to src/audio. No contraction: the same bits with AVX2 and without. A signal lies
 * across: its sample m * hop + j is at [j * row + m]. Sample i of frames f .. f + 7 is then eight floats in a
 * row, from offset[i] + f on, whatever the hop. Frame f begins at sample f * hop; the clip itself begins
 * n_fft / 2 after the first frame. */
#ifndef MYXTTS_GRIFFIN_LIM_KERNEL_H
#define MYXTTS_GRIFFIN_LIM_KERNEL_H

#include <stdint.h>

#include "audio/mel_kernel.h"

#define GRIFFIN_LIM_LANES 8

typedef struct GriffinLimTables {
    const MelTables *mel;        /* packed: n_fft is even */
    float *analysis, *synthesis; /* [n_fft]: window / 2; window / n_fft */
    int *natural;                /* [n_fft / 2]: where point k of an unsorted transform is stored */
    float *weights;              /* of the bands, as in mel->weights */
    float *per_band, *per_bin;   /* [n_bands], [n_bins]: 1 / sum of the weights; 0 if there are none */
} GriffinLimTables;

/* pointers aligned to 64 bytes */
typedef struct GriffinLimWork {
    float *points;   /* [fft.n_stored][re, im][8] */
    float *spare;    /* [fft.max_radix][re, im][8] */
    float *ratio;    /* [n_bands][8] */
    float *gather;   /* [n_bins][8] */
    float *spectrum; /* [n_bins][re, im][8] */
    float *own;      /* [n_bins][8] */
} GriffinLimWork;

/* magnitudes [n_bins][8] for the bands mel [n_bands][8] (all > 0), after `updates` multiplicative updates. */
typedef void (*GriffinLimInvert)(const GriffinLimTables *t, GriffinLimWork *w, float *magnitudes,
                                 const float *mel, int updates);

/* One round for eight frames: the transform of `in`, in the direction less momentum times `previous` (which
 * it then replaces), with magnitudes between the given ones and its own, back into samples, added to `out`.
 * in == NULL: the spectrum is taken from `previous` as it is, and that is cleared. */
typedef struct GriffinLimRound {
    float *out;              /* across, at the first of the frames */
    const float *in;         /* likewise */
    const int *offset;       /* [n_fft] */
    float *previous;         /* [n_bins][re, im][8] */
    const float *magnitudes; /* [n_bins][8] */
    const float *mel;        /* [n_bands][8] */
    float momentum;
} GriffinLimRound;
typedef void (*GriffinLimTurn)(const GriffinLimTables *t, GriffinLimWork *w, const GriffinLimRound *r);

typedef struct GriffinLimVariant {
    const char *name;
    GriffinLimInvert invert;
    GriffinLimTurn turn;
} GriffinLimVariant;

extern const GriffinLimVariant griffin_lim_kernel_plain, griffin_lim_kernel_avx2;

#endif
