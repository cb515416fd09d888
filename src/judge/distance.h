/* distance.h - how far spoken sound is from the recording of the same sentence, whatever the speed of either.
 * Mel-cepstral distortion (Kubichek 1993). Of each log-mel frame x (natural log of magnitudes, mel.h) the
 * cepstrum is
 *   c_k = 2 / bands * sum_m x_m cos(pi k (m + 1/2) / bands),
 * a DCT-II scaled so that x_m = c_0 / 2 + sum_k c_k cos(..). Two frames are
 *   10 / ln 10 * sqrt(2 * sum_k (c_k - c'_k)^2) dB
 * apart, k = 1 .. 13 (fewer where there are fewer bands): the root mean square, in dB, of the difference of
 * the two smoothed spectra, loudness (c_0) left out. The number of bands does not matter.
 * Frames are matched by dynamic time warping: the path from the first pair to the last with steps (1,0),
 * (0,1), (1,1) whose sum is least; a step on the diagonal where several are equal. The distortion is the mean
 * along it.
 * The pitch error is the root mean square along the same path, in semitones, over pairs voiced in both.
 * Threads: any. */
#ifndef MYXTTS_DISTANCE_H
#define MYXTTS_DISTANCE_H

#include <stdint.h>

#include "base/err.h"

#define SOUND_DISTANCE_FRAMES 4000 /* the most in one sound: 16 MB while it runs */

typedef struct SoundDistance {
    double mcd_db;
    double f0_rmse_semitones; /* NaN where no pair is voiced in both */
    int64_t frames, voiced;   /* pairs on the path, and those of them that are voiced in both */
} SoundDistance;

/* mel: [frames, bands] log mel; f0: [frames] natural log of Hz and voiced: [frames] 1 or 0, both of
 * pitch_compute. f0 and voiced may be NULL: nothing is voiced then. ERR_DATA for no frames, more than
 * SOUND_DISTANCE_FRAMES, fewer than two bands, values that are no number; ERR_NOMEM. */
int sound_distance(SoundDistance *out, const float *mel_a, const float *f0_a, const uint8_t *voiced_a,
                   int64_t frames_a, const float *mel_b, const float *f0_b, const uint8_t *voiced_b,
                   int64_t frames_b, int bands, Err *err);

#endif
