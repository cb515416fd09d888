/* beside.h - clips of a corpus that were spoken from their texts, beside their recordings in the caches: the
 * figures of ear.h, at once and without sound. Threads: any. */
#ifndef MYXTTS_BESIDE_H
#define MYXTTS_BESIDE_H

#include "judge/ear.h"
#include "model/synthesis.h"
#include "pipeline/corpus.h"

/* speech [n] of the items [n]. mean and deviation [n_mels] undo the normalisation of their mels,
 * pitch_deviation that of their pitch (0: not known, as in older checkpoints). Clips whose record is damaged
 * are left out; returns how many were compared. ERR_NOMEM. */
int beside_recordings(EarFigures *out, const Speech *speech, const uint32_t *items, int n, const Corpus *c,
                      const float *mean, const float *deviation, double pitch_deviation, Err *err);

#endif
