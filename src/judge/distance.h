/* distance.h - how far synthesised speech is from the recording of the same sentence, whatever the speed of
 * either: mel-cepstral distortion (Kubichek 1993) and pitch error.
 *
 * The cepstrum of a log-mel frame x (natural log of magnitudes, mel.h) is
 *
 *     c_k = 2 / bands * sum_m x_m cos(pi k (m + 1/2) / bands),
 *
 * a DCT-II scaled so that x_m = c_0 / 2 + sum_k c_k cos(..). The distance between two frames is
 *
 *     10 / ln 10 * sqrt(2 * sum_k (c_k - c'_k)^2) dB,  k = 1 .. 13 (fewer if there are fewer bands):
 *
 * the root mean square, in dB, of the difference of the two smoothed spectra without loudness (c_0). It does
 * not depend on the number of bands.
 *
 * Frames are matched by dynamic time warping: the path from the first pair to the last, with steps (1,0),
 * (0,1) and (1,1), that has the smallest sum; among equal steps the diagonal one. The distortion is the mean
 * along the path. The pitch error is the root mean square along the same path, in semitones, over pairs that
 * are voiced in both.
 *
 * Threads: any. */
#ifndef MYXTTS_DISTANCE_H
#define MYXTTS_DISTANCE_H

#include <stdint.h>

#include "base/err.h"

#define SOUND_DISTANCE_FRAMES 4000 /* maximum of either sound; it then needs 16 MB while it runs */

typedef struct SoundDistance {
    double mcd_db;
    double f0_rmse_semitones; /* NaN if no pair is voiced in both */
    int64_t frames, voiced;   /* number of pairs on the path, and of those voiced in both */
} SoundDistance;

/* mel: [frames, bands] log mel. f0: [frames] natural log of Hz, voiced: [frames] 1 or 0, both from
 * pitch_compute; if they are NULL, no frame is voiced. ERR_DATA for no frames, more than
 * SOUND_DISTANCE_FRAMES, fewer than two bands, or NaN; ERR_NOMEM. */
int sound_distance(SoundDistance *out, const float *mel_a, const float *f0_a, const uint8_t *voiced_a,
                   int64_t frames_a, const float *mel_b, const float *f0_b, const uint8_t *voiced_b,
                   int64_t frames_b, int bands, Err *err);

#endif
