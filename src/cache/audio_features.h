/* audio_features.h - encoding of audio records, for audio_producer.c; features.h has the view that decodes
 * them. */
#ifndef MYXTTS_AUDIO_FEATURES_H
#define MYXTTS_AUDIO_FEATURES_H

#include "cache/builder/builder.h"

/* Writes items, format (the scale) and payload (16-bit numbers) of n samples. 0 or ERR_NOMEM. */
int audio_encode_payload(Produced *out, const float *samples, int64_t n);

#endif
