/* process.h - from the samples of a file to the samples that the mel sees: resample, trim, loudness.
 * Order: resample to sample_rate, trim_silence, loudness. Same input, same output, whatever thread runs it.
 * Threads: one AudioProcessor per thread. */
#ifndef MYXTTS_PROCESS_H
#define MYXTTS_PROCESS_H

#include <stdint.h>

#include "base/err.h"
#include "config/config.h"
#include "dataset/audio_file.h"

typedef struct AudioProcessor AudioProcessor;
int audio_processor_open(AudioProcessor **p, const Config *cfg, Err *err);
void audio_processor_close(AudioProcessor *p);

/* in: decoded clip. Afterwards *samples [*n] at cfg->sample_rate, owned by p until the next call.
 * trim, loudness: whether to do these steps (the `mel` command does neither). Returns REJECT_NONE or a reason with detail. */
RejectReason audio_process(AudioProcessor *p, const float **samples, int64_t *n, const AudioBuffer *in, int trim, int loudness,
                           char *detail, size_t cap);

/* The three steps, for tests and other callers. */
int audio_resample(AudioProcessor *p, const float **out, int64_t *n_out, const float *in, int64_t n, int rate_in, int rate_out, Err *err);
/* Trim as librosa.effects.trim: frames of n_fft, hop; silence = RMS below max by top_db. First and past-last kept sample. */
void audio_trim_range(int64_t *first, int64_t *last, const float *x, int64_t n, int frame, int hop, double top_db);
/* Integrated loudness (EBU R128, libebur128) in LUFS; -HUGE_VAL when it cannot be measured (too short or silent). */
double audio_loudness(const float *x, int64_t n, int rate);

#endif
