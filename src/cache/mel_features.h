/* mel_features.h - encoding of mel records, for mel_producer.c; features.h has the views that decode them. */
#ifndef MYXTTS_MEL_FEATURES_H
#define MYXTTS_MEL_FEATURES_H

#include "audio/measure.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "config/config.h"
#include "dataset/dataset.h"

uint32_t mel_format(MelStorage storage, int bands); /* StoreRecord.format */
/* Writes the payload of mel [frames, bands] and pitch [frames] to out: the values, then sums and sums of
 * squares (double) of each band and of the pitch. 0 or ERR_NOMEM. */
int mel_encode_payload(Buf *out, const float *mel, const float *pitch, int64_t frames, int bands,
                       MelStorage storage);
/* Appends what was measured of the recording. 0 or ERR_NOMEM. */
int mel_encode_measure(Buf *out, const AudioMeasure *m);

#endif
