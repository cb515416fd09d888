/* beside.h - clips of a corpus that were spoken from their texts, beside their recordings in the caches: the
 * figures of ear.h, at once and without sound. Threads: any. */
#ifndef MYXTTS_BESIDE_H
#define MYXTTS_BESIDE_H

#include "judge/ear.h"
#include "model/synthesis.h"
#include "pipeline/corpus.h"

/* Clips that were spoken. */
typedef struct SpokenClips {
    const Speech *speech;  /* [count] */
    const uint32_t *items; /* [count] of the corpus */
    int count;
    const Corpus *corpus;
    const float *mean, *deviation; /* [n_mels] undo the normalisation of their mels */
    double pitch_deviation;        /* that of their pitch; 0: not known, as in older checkpoints */
} SpokenClips;

/* Clips whose record is damaged are left out; returns how many were compared. ERR_NOMEM. */
int beside_recordings(EarFigures *out, const SpokenClips *spoken, Err *err);

#endif
