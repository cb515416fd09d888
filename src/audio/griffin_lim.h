/* griffin_lim.h - log mel -> audio, without a trained vocoder. The inverse of mel.h, with the same window,
 * hop, centring and padding. First the bands become magnitudes of all frequencies: a non-negative spectrum
 * whose bands are the given ones, by multiplicative updates from a smooth start. Then the phases are found by
 * the fast Griffin-Lim algorithm (Perraudin, Balazs, Sondergaard 2013, momentum 0.99) from random ones;
 * unlike theirs, the magnitudes may follow the signal where the bands allow it, since a mel leaves them open.
 * The transform back is the least-squares one, the mirrored ends included. Units: log_mel is [frames,
 * n_mels], natural log of the mel as mel_compute gives it; samples are float [-1, 1] at cfg->sample_rate.
 * Same input and seed, same bits, on every processor. Threads: one GriffinLim per thread. */
#ifndef MYXTTS_GRIFFIN_LIM_H
#define MYXTTS_GRIFFIN_LIM_H

#include <stdint.h>

#include "base/err.h"
#include "config/config.h"

#define GRIFFIN_LIM_ITERATIONS 60 /* a good default; 32 are nearly as good */

typedef struct GriffinLim GriffinLim;

/* Uses the settings of the mel. ERR_CONFIG where mel_plan_open says so, for an odd n_fft, and for a hop below
 * 2 or above the window (samples between the windows would be lost), for bands without a single frequency;
 * ERR_NOMEM. The configuration is not needed afterwards. */
int griffin_lim_open(GriffinLim **g, const Config *cfg, Err *err);
void griffin_lim_close(GriffinLim *g); /* NULL is fine */

/* Samples that `frames` frames become: (frames - 1) * hop and half a hop, so that mel_frames of them is
 * `frames` again; 0 for 0. */
int64_t griffin_lim_samples(const GriffinLim *g, int64_t frames);
/* Fills samples [griffin_lim_samples]. Whatever is louder than 1 makes the whole clip softer; nothing is ever
 * made louder. Values that are not numbers count as silence, values beyond any possible mel as the loudest.
 * Memory is kept from call to call and grows with the longest clip. ERR_DATA for frames < 1 or iterations <
 * 0, ERR_NOMEM. */
int griffin_lim_run(GriffinLim *g, float *samples, const float *log_mel, int64_t frames, int iterations,
                    uint64_t seed, Err *err);

/* For tests: another variant by that name. 1 when this processor has it, else 0 and everything stays as it
 * was. */
int griffin_lim_use_instructions(GriffinLim *g, const char *name);

#endif
