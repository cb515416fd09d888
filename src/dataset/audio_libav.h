/* audio_libav.h - sound files that libsndfile does not read and libav does: MP4 and M4A, WebM and Matroska,
 * AAC, WMA, AMR. libavfilter is loaded when such a file comes, and is not needed to build or to run anything
 * else. Its headers are not needed either: a filter graph (amovie, aformat, abuffersink) has one interface in
 * all its versions, and of its structures only the beginning of AVFrame is looked at. Threads: any. */
#ifndef MYXTTS_AUDIO_LIBAV_H
#define MYXTTS_AUDIO_LIBAV_H

#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "dataset/dataset.h"

#define AUDIO_LIBAV_HEAD 12 /* bytes that tell the format */

/* The name of the format when the bytes begin as one of these; NULL: they do not. */
const char *audio_libav_format(const uint8_t *head, size_t n);
/* Decodes size bytes, all channels as they are, to a WAV file of floats in out (empty before), as libsndfile
 * reads it. Ends soon after max_seconds. Where the library is missing, the detail says what to install. A
 * file that is cut short is taken as far as it goes: these formats do not tell. Returns REJECT_NONE, or the
 * reason with detail. */
RejectReason audio_libav_wav(Buf *out, const void *bytes, size_t size, const char *path, double max_seconds,
                             char *detail, size_t cap);

/* The library, as dlopen gives it, with what it needs of libav's others; NULL: it is not installed. */
void *audio_libav_library(void);

#endif
