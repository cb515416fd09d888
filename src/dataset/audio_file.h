/* audio_file.h - audio files -> samples. libsndfile reads WAV, FLAC, OGG, MP3 (and AIFF, AU, CAF, W64, RF64,
 * NIST), libav what audio_libav.h lists, at rates up to 768 kHz and with up to 64 channels. Formats without a
 * header are never guessed. Threads: any, each with its own buffers. */
#ifndef MYXTTS_AUDIO_FILE_H
#define MYXTTS_AUDIO_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "dataset/dataset.h"

#define AUDIO_MAX_RATE 768000
#define AUDIO_MAX_CHANNELS 64
#define AUDIO_MAX_SECONDS (4 * 3600.0) /* the limit if max_audio_length sets none */

typedef struct AudioInfo {
    int64_t frames; /* samples per channel, according to the header */
    int rate, channels;
} AudioInfo;

/* The pre-flight check of one file: opens it and checks its header against the limits (0 = no limit). A WAV
 * or AIFF file that is shorter than its header says is found here, other damage only by audio_decode. For MP3
 * and OGG the length is an estimate; a FLAC file whose header does not know it is decoded to find out.
 * Returns REJECT_NONE, or the reason with value and place in detail (always NUL-terminated). *info is also
 * known of a clip outside the limits; of others it is zeroed. */
RejectReason audio_probe(AudioInfo *info, const char *path, double min_seconds, double max_seconds,
                         char *detail, size_t cap);

/* Samples of one clip, mono, nominally in [-1, 1]. Zero-initialise once, reuse for every clip; it grows as
 * needed. Freeing a zeroed or freed one is allowed. */
typedef struct AudioBuffer {
    float *samples; /* [frames] */
    int64_t frames, cap;
    float *scratch; /* interleaved input, private */
    int64_t scratch_cap;
    int rate; /* of the file */
    int channels;
    double loudest_channel, softest_channel, mixed; /* mean squares, of several channels and of their mean */
} AudioBuffer;
void audio_buffer_free(AudioBuffer *a);

/* Decodes from memory, so that the bytes decoded are the bytes hashed, and averages the channels. Stops as
 * soon as it has more than max_seconds (0 = no limit), whatever the header says. A clip with a damaged or
 * missing part is rejected if its format makes that detectable (audio_damage.h). Returns REJECT_NONE, or the
 * reason with detail (path is for the message); out->frames is then 0. */
RejectReason audio_decode(AudioBuffer *out, const void *bytes, size_t size, const char *path,
                          double max_seconds, char *detail, size_t cap);

#endif
