/* normaliser.h - log mel and log pitch <-> what the network sees: (x - mean) / deviation, and back.
 * The mel has a mean and a deviation for every band, the pitch one of each; both are those of the training
 * corpus, kept in the mel cache and in every checkpoint. Everything that normalises, on the CPU or on the
 * GPU, goes through this file, so that the loader, the voice's reference clips and synthesis agree to the
 * bit. Layout: mels are [frames, bands], row major; mean and deviation are [bands].
 * Included by C files and by .cu files; the latter see only what exact.h makes a device function.
 * Threads: any; nothing here fails or allocates. */
#ifndef MYXTTS_NORMALISER_H
#define MYXTTS_NORMALISER_H

#include <stdint.h>

#include "audio/exact.h"

/* One value; deviation comes from normaliser_deviation and is not 0. */
EXACT float normaliser_value(float x, float mean, float deviation)
{
    return exact_divf(exact_subf(x, mean), deviation);
}

#ifndef __CUDACC__

/* The deviation to divide by: a band that never changes, or a NaN, is not divided by zero. */
float normaliser_deviation(double deviation);
/* The statistics as the network uses them. mean or deviation NULL: none, the mel stays as it is. */
void normaliser_statistics(float *mean, float *deviation, const double *from_mean,
                           const double *from_deviation, int bands);

/* Whole frames. out may be mel. */
void normaliser_mel(float *out, const float *mel, const float *mean, const float *deviation, int64_t frames,
                    int bands);
void normaliser_restore_mel(float *out, const float *mel, const float *mean, const float *deviation,
                            int64_t frames, int bands);

/* Log F0 of n frames; deviation comes from normaliser_deviation. out may be pitch. */
void normaliser_pitch(float *out, const float *pitch, int64_t n, float mean, float deviation);
/* Statistics want one value in double precision. */
double normaliser_pitch_value(double log_f0, double mean, double deviation);
double normaliser_pitch_hz(double value, double mean, double deviation);
/* How far `semitones` move a normalised pitch. deviation 0: not known, taken as 1. */
double normaliser_pitch_shift(double semitones, double deviation);

#endif
#endif
