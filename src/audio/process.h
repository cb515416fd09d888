/* process.h - from the samples of a file to the samples that the mel sees: resample, trim, loudness.
 * Order: resample to sample_rate, trim_silence, loudness. Same input, same output, whichever thread runs it
 * and whichever clip went before. Threads: one AudioProcessor per thread. */
#ifndef MYXTTS_PROCESS_H
#define MYXTTS_PROCESS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "config/config.h"
#include "dataset/audio_file.h"

#define AUDIO_SILENCE_RMS 1e-5 /* -100 dBFS: a clip whose loudest frame is below this holds only silence */

typedef struct AudioProcessor AudioProcessor;
int audio_processor_open(AudioProcessor **p, const Config *cfg, Err *err); /* ERR_NOMEM */
void audio_processor_close(AudioProcessor *p);                             /* NULL is fine */

/* in: decoded clip. Afterwards *samples [*n] at cfg->sample_rate, valid until the next call or until `in`
 * changes (a clip that needs no step is handed through). trim, loudness: whether to do these steps (the `mel`
 * command does neither). Returns REJECT_NONE or a reason with detail: REJECT_AUDIO_SILENT (only when trim is
 * on), REJECT_AUDIO_EMPTY. */
RejectReason audio_process(AudioProcessor *p, const float **samples, int64_t *n, const AudioBuffer *in,
                           int trim, int loudness, char *detail, size_t cap);

/* The steps, for tests and other callers. */

/* soxr, quality HQ (what librosa.resample calls soxr_hq); exactly ceil(n * rate_out / rate_in) samples, at
 * least 1, owned by p. */
int audio_resample(AudioProcessor *p, const float **out, int64_t *n_out, const float *in, int64_t n,
                   int rate_in, int rate_out, Err *err);
/* Trim as librosa.effects.trim(ref=np.max): frames of `frame` samples centred on multiples of hop, zeros
 * beyond the ends; silence = RMS at or below the loudest frame's by top_db. First and past-last kept sample.
 * Returns the RMS of the loudest frame. */
double audio_trim_range(int64_t *first, int64_t *last, const float *x, int64_t n, int frame, int hop,
                        double top_db);
/* Integrated loudness (EBU R128, libebur128, one channel counted once) in LUFS. A clip shorter than one
 * gating block (400 ms) is measured as if it were repeated, whole, until it fills one. -HUGE_VAL when it
 * cannot be measured (silent), NaN when there is no memory. */
double audio_loudness(const float *x, int64_t n, int rate);
/* The factor that brings a clip to target LUFS, made smaller where the highest sample would exceed 1 (no
 * limiter: the shape of the sound is kept, the clip stays softer). 1 when the loudness cannot be measured,
 * NaN when there is no memory. */
double audio_gain(const float *x, int64_t n, int rate, double target_lufs);

/* Samples of a recording at full scale, and those of flat tops below it: where its peaks were cut off. For
 * samples as they were decoded; resampling makes ripples of flat tops. */
int64_t audio_clipped(const float *x, int64_t n);
#define AUDIO_CLIPPED_SHARE 5e-4 /* of the samples of a clip that is called clipped */

#endif
