/* audio_features.h - encoding of audio records, for audio_producer.c; features.h has the view that decodes
 * them. */
#ifndef MYXTTS_AUDIO_FEATURES_H
#define MYXTTS_AUDIO_FEATURES_H

#include "cache/builder.h"

/* Writes items, format and payload of n samples: their scale, then the samples as 16-bit numbers. 0 or
 * ERR_NOMEM. */
int audio_encode_payload(Produced *out, const float *samples, int64_t n);

#endif
