/* mel.h - log-mel features from mono audio: the one definition for training, validation and synthesis.
 * Equal to librosa 0.10+: stft(center=True, pad_mode="reflect", window="hann" periodic, n_fft, hop, win),
 * magnitude (power 1), filters.mel(htk=False, norm="slaney"), then the natural log of max(x, MEL_FLOOR).
 * Computed in double precision throughout and rounded once, at the end: a single precision transform misses
 * 1e-4 in the quiet bands of loud frames. The same bits on every processor, whatever its vector width, and
 * for every position in a batch. Units: samples are float [-1,1] at the configured rate; out is [frames,
 * n_mels], row major. Threads: a MelPlan is read-only after mel_plan_open and may be shared; each thread has
 * its own MelScratch. No locks. */
#ifndef MYXTTS_MEL_H
#define MYXTTS_MEL_H

#include <stdint.h>

#include "base/err.h"
#include "config/config.h"

#define MEL_FLOOR 1e-5f                /* of a magnitude, before the log */
#define MEL_LOG_FLOOR (-11.512925490f) /* its log, as exact_log has it: the lowest value in a mel */

typedef struct MelPlan MelPlan;
typedef struct MelScratch MelScratch;

/* ERR_CONFIG for settings that describe no filterbank, ERR_NOMEM. Uses sample_rate, n_fft (any number >= 2,
 * also odd), win_length
 * (<= n_fft, centred in the frame), hop_length, n_mels, mel_fmin, mel_fmax. The close functions accept NULL.
 */
int mel_plan_open(MelPlan **p, const Config *cfg, Err *err);
void mel_plan_close(MelPlan *p);
int mel_scratch_open(MelScratch **s, const MelPlan *p, Err *err);
void mel_scratch_close(MelScratch *s);

int64_t mel_frames(const MelPlan *p, int64_t n_samples); /* 1 + n / hop (n_fft even); 0 when n_samples is 0 */
int64_t mel_frames_with(const Config *cfg, int64_t n_samples); /* the same, without a plan */
int mel_bands(const MelPlan *p);
const float *mel_filterbank(const MelPlan *p); /* [n_mels, n_fft/2 + 1] dense, for inversion and the GPU */
/* Never fails. Any n_samples >= 1 (short clips are reflected as often as needed, as numpy.pad does). */
void mel_compute(const MelPlan *p, MelScratch *s, float *out, const float *samples, int64_t n_samples);

/* Centre frequencies in Hz of all bands, the edges included: [n_mels + 2]. For pictures. */
const double *mel_edges(const MelPlan *p);
/* For tests: computes with "avx512", "avx2" or "plain" from now on; NULL: the widest that this processor has.
 * 1 if it has them, else 0, and the plan stays as it was. */
int mel_use_instructions(MelPlan *p, const char *instructions);

#endif
