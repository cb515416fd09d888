/* audio_file.h - audio files -> samples. libsndfile reads WAV, FLAC, OGG, MP3; any rate, any channel count.
 * Threads: any, each with its own buffers. */
#ifndef MYXTTS_AUDIO_FILE_H
#define MYXTTS_AUDIO_FILE_H

#include <stdint.h>

#include "base/err.h"
#include "dataset/dataset.h"

typedef struct AudioInfo {
    int64_t frames; /* samples per channel, as the header says */
    int rate, channels;
} AudioInfo;

/* The pre-flight of one file: opens it and judges the header against min/max_audio_length (seconds; 0 = no limit).
 * Returns REJECT_NONE or the reason, with value and place in detail. */
RejectReason audio_probe(AudioInfo *info, const char *path, double min_seconds, double max_seconds, char *detail, size_t cap);

/* Samples of one clip, mono, float [-1,1] nominal. Grown on demand and reused: zero-initialise, audio_buffer_free is safe. */
typedef struct AudioBuffer {
    float *samples; /* [frames] */
    int64_t frames, cap;
    float *scratch; /* interleaved input, private */
    int64_t scratch_cap;
    int rate; /* of the file */
} AudioBuffer;
void audio_buffer_free(AudioBuffer *a);

/* Decodes from memory (a mapped file, so that the bytes hashed are the bytes decoded), mixes to mono by the mean.
 * Stops at max_seconds + 1 s whatever the header claimed. REJECT_NONE or the reason with detail (path is for messages). */
RejectReason audio_decode(AudioBuffer *out, const void *bytes, size_t size, const char *path, double max_seconds, char *detail,
                          size_t cap);

#endif
