/* spectra.h - how far a copy of a recording is from it: spectral convergence (Arik 2018), the norm of the
 * difference of the two magnitude spectra over that of the recording's, as the mean of three resolutions.
 * Phase does not count, so that copies by Griffin-Lim and by a vocoder can be compared. It is no judge of
 * naturalness: on a person's hour a good vocoder has 1.3 times the distance of Griffin-Lim and sounds better
 * (NISQA-TTS 3.61, 3.26), one that never heard her 2.1 times, and sounds worse, one of ten steps 3.8 times.
 * Threads: any. */
#ifndef MYXTTS_SPECTRA_H
#define MYXTTS_SPECTRA_H

#include <stdint.h>

#include "base/err.h"

/* n samples of both, at the same time. 0: equal; NaN: nothing is to be heard in the recording, or it is
 * shorter than the longest transform. */
int spectra_distance(double *out, const float *copy, const float *recording, int64_t n, Err *err);

#endif
