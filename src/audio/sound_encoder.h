/* sound_encoder.h - speech as bytes while it is made, for listeners who cannot wait for the end: nothing that
 * was given out is changed later. One channel. WAV and PCM are 16-bit samples (wav.h); the WAV is that of a
 * pipe, of unknown length. FLAC holds the same samples, its length and checksum are unknown. Opus and MP3 are
 * lossy. All are resampled to the rate that is wanted, and to one they can hold.
 *
 * Sound that is held back, measured at 16,000, 22,050, 24,000 and 44,100 samples per second with pieces of
 * 10 ms: WAV and PCM none; FLAC a block of 1,152 samples (72, 58, 42 and 26 ms); MP3 28 to 61 ms, and its
 * sound begins with two or three frames of silence; Opus 86 ms, with resampling 127 ms.
 *
 * AAC: aac_encoder.h.
 *
 * Threads: one per encoder. */
#ifndef MYXTTS_SOUND_ENCODER_H
#define MYXTTS_SOUND_ENCODER_H

#include <stdint.h>

#include "audio/sound_format.h"
#include "base/err.h"
#include "base/mem.h"

typedef struct SoundEncoder SoundEncoder;

/* rate: of the samples that are added. wanted: of those that come out; 0: the same. ERR_MISSING: the
 * libsndfile here cannot write this kind. ERR_NOMEM. */
int sound_encoder_open(SoundEncoder **e, SoundFormat format, int rate, int wanted, Err *err);
int sound_encoder_rate(const SoundEncoder *e); /* of what comes out */
/* Appends what is ready to out; with n 0 the header of a WAV at least. ERR_DATA: a WAV cannot hold more,
 * ERR_NOMEM, ERR_IO. */
int sound_encoder_add(SoundEncoder *e, Buf *out, const float *samples, int64_t n, Err *err);
/* Appends the rest; of no sample at all some kinds make no bytes. Afterwards only close is allowed. */
int sound_encoder_finish(SoundEncoder *e, Buf *out, Err *err);
void sound_encoder_close(SoundEncoder *e); /* at any moment; NULL is fine */

#endif
