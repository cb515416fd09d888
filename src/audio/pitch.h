/* pitch.h - the fundamental frequency of a voice, one value for every frame of the mel: frame t is centred on
 * sample t * hop, as in mel.h. YIN (de Cheveigne and Kawahara 2002): the cumulative mean normalised
 * difference function, with the lag's two windows placed symmetrically about the frame's centre; then the
 * cheapest path through its dips and through silence (as RAPT, Talkin 1995, finds it). The difference is
 * taken of the signal at about 5.5 kHz: everything of a voice that counts lies below, and at that rate the
 * sum itself costs less than the Fourier transforms that would replace it, without their cancellation.
 * Result: natural log of Hz, PITCH_LOW .. PITCH_HIGH; a straight line (in the log) through frames without
 * voice, held at the edges; log(PITCH_DEFAULT) everywhere when no frame has a voice. The same bits on every
 * processor and for any number of threads. Threads: a PitchPlan is read-only after pitch_plan_open and may be
 * shared; each thread has its own PitchScratch. */
#ifndef MYXTTS_PITCH_H
#define MYXTTS_PITCH_H

#include <stdint.h>

#include "base/err.h"
#include "config/config.h"

#define PITCH_LOW 60.0   /* Hz */
#define PITCH_HIGH 500.0 /* and below a quarter of the sample rate */
#define PITCH_DEFAULT 150.0

typedef struct PitchPlan PitchPlan;
typedef struct PitchScratch PitchScratch;

/* Uses sample_rate, hop_length, n_fft (its parity: an odd one may have one frame less). ERR_CONFIG,
 * ERR_NOMEM. The close functions accept NULL. */
int pitch_plan_open(PitchPlan **p, const Config *cfg, Err *err);
void pitch_plan_close(PitchPlan *p);
int pitch_scratch_open(PitchScratch **s, const PitchPlan *p, Err *err);
void pitch_scratch_close(PitchScratch *s);

int64_t pitch_frames(const PitchPlan *p, int64_t n_samples); /* equals mel_frames */
/* out [frames] log F0; voiced [frames] 1 or 0, may be NULL. Any n_samples >= 1. 0, or ERR_NOMEM: the scratch
 * grows with the longest clip so far and nothing else is allocated. */
int pitch_compute(const PitchPlan *p, PitchScratch *s, float *out, uint8_t *voiced, const float *samples,
                  int64_t n_samples);

/* For tests: "avx512", "avx2" or "plain" instead of the fastest. 1 when this processor has it, else 0 and the
 * plan stays as it was. */
int pitch_use_instructions(PitchPlan *p, const char *name);

#endif
