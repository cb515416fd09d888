/* recording.h - a long recording as a stream of mono samples, piece by piece, so that hours of sound are
 * never in memory at once. libsndfile reads it (the formats of dataset/audio_file.h). Threads: one per
 * stream. */
#ifndef MYXTTS_RECORDING_H
#define MYXTTS_RECORDING_H

#include <stdint.h>

#include "base/err.h"

typedef struct Recording Recording;

/* ERR_MISSING, ERR_IO, ERR_FORMAT (not a sound that can be read). *r is NULL after an error. */
int recording_open(Recording **r, const char *path, Err *err);
void recording_close(Recording *r); /* NULL is allowed */
int recording_rate(const Recording *r);
int64_t recording_length(const Recording *r); /* samples by its header; an estimate for MP3 and OGG */

/* The next samples, owned by r until the next call; *n is 0 at the end. A recording that is damaged ends
 * where the damage begins; recording_damage then says so. */
void recording_next(Recording *r, const float **samples, int64_t *n);
const char *recording_damage(const Recording *r); /* NULL: none was met */

#endif
