/* mel_features.h - what mel_features.c offers to mel_cache.c; views are in features.h. */
#ifndef MYXTTS_MEL_FEATURES_H
#define MYXTTS_MEL_FEATURES_H

#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "config/config.h"
#include "dataset/dataset.h"

Hash128 mel_key(Hash128 settings, Str id, Hash128 content);
uint64_t mel_extra(double seconds); /* as kept in the index: whole microseconds, see mel_seconds */
uint32_t mel_format(MelStorage storage, int bands);
/* out = the payload of mel [frames, bands] and pitch [frames]: the values, then sums and sums of squares
 * (double) per band and of the pitch. 0 or ERR_NOMEM. */
int mel_encode_payload(Buf *out, const float *mel, const float *pitch, int64_t frames, int bands,
                       MelStorage storage);

#endif
