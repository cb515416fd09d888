/* audio_file.h - audio files -> samples. libsndfile reads WAV, FLAC, OGG, MP3 (and AIFF, AU, CAF, W64, RF64,
 * NIST); any rate up to 768 kHz, up to 64 channels. Formats without a header are never guessed. Threads: any,
 * each with its own buffers. */
#ifndef MYXTTS_AUDIO_FILE_H
#define MYXTTS_AUDIO_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "dataset/dataset.h"

#define AUDIO_MAX_RATE 768000
#define AUDIO_MAX_CHANNELS 64
#define AUDIO_MAX_SECONDS (4 * 3600.0) /* when max_audio_length sets no limit */

typedef struct AudioInfo {
    int64_t frames; /* samples per channel, as the header says */
    int rate, channels;
} AudioInfo;

/* The pre-flight of one file: opens it and judges the header against min/max_audio_length (seconds; 0 = no
 * limit). A WAV or AIFF that is shorter than its header says is found here; a cut FLAC only by audio_decode.
 * For MP3 and OGG the length is an estimate. Returns REJECT_NONE or the reason, with value and place in
 * detail (which always ends with NUL). */
RejectReason audio_probe(AudioInfo *info, const char *path, double min_seconds, double max_seconds,
                         char *detail, size_t cap);

/* Samples of one clip, mono, float [-1,1] nominal. Grown on demand and reused: zero-initialise,
 * audio_buffer_free is safe. */
typedef struct AudioBuffer {
    float *samples; /* [frames] */
    int64_t frames, cap;
    float *scratch; /* interleaved input, private */
    int64_t scratch_cap;
    int rate; /* of the file */
} AudioBuffer;
void audio_buffer_free(AudioBuffer *a);

/* Decodes from memory (a mapped file, so that the bytes hashed are the bytes decoded), mixes to mono by the
 * mean. Stops as soon as more than max_seconds (0 = no limit) have come out, whatever the header claimed.
 * REJECT_NONE or the reason with detail (path is for messages). After a rejection out->frames is 0. */
RejectReason audio_decode(AudioBuffer *out, const void *bytes, size_t size, const char *path,
                          double max_seconds, char *detail, size_t cap);

#endif
