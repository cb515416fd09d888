/* normaliser.c - see normaliser.h. */
#include "audio/normaliser.h"

#include <math.h>
#include <stddef.h>

#define LEAST_DEVIATION 1e-5
#define SEMITONES_PER_OCTAVE 12

/* As many values at once as the CPU has room for. Not under the thread sanitizer: the variant is chosen
 * before the sanitizer is ready. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
#define WIDE __attribute__((target_clones("avx512f", "avx2", "default"), optimize("O3")))
#else
#define WIDE
#endif

float normaliser_deviation(double deviation)
{
    return (float)(deviation > LEAST_DEVIATION ? deviation : LEAST_DEVIATION); /* false for a NaN */
}

void normaliser_statistics(float *mean, float *deviation, const double *from_mean,
                           const double *from_deviation, int bands)
{
    for (int b = 0; b < bands; b++) {
        mean[b] = from_mean ? (float)from_mean[b] : 0.0f;
        deviation[b] = from_deviation ? normaliser_deviation(from_deviation[b]) : 1.0f;
    }
}

/* The loops below write out normaliser_value: the compiler makes vectors of them. Subtracting and dividing
 * cannot be fused, so the bits are the same at every width. */
WIDE void normaliser_mel(float *out, const float *mel, const float *mean, const float *deviation,
                         int64_t frames, int bands)
{
    for (int64_t f = 0; f < frames; f++, mel += bands, out += bands)
        for (int b = 0; b < bands; b++)
            out[b] = (mel[b] - mean[b]) / deviation[b];
}

WIDE void normaliser_pitch(float *out, const float *pitch, int64_t n, float mean, float deviation)
{
    for (int64_t t = 0; t < n; t++)
        out[t] = (pitch[t] - mean) / deviation;
}

/* Not WIDE: a processor with fused multiply-add would round differently. */
void normaliser_restore_mel(float *out, const float *mel, const float *mean, const float *deviation,
                            int64_t frames, int bands)
{
    for (int64_t f = 0; f < frames; f++, mel += bands, out += bands)
        for (int b = 0; b < bands; b++)
            out[b] = mel[b] * deviation[b] + mean[b];
}

double normaliser_pitch_value(double log_f0, double mean, double deviation)
{
    return (log_f0 - mean) / deviation;
}

double normaliser_pitch_hz(double value, double mean, double deviation)
{
    return exp(value * deviation + mean);
}

double normaliser_pitch_shift(double semitones, double deviation)
{
    return semitones * log(2) / SEMITONES_PER_OCTAVE / (deviation > 0 ? deviation : 1);
}
