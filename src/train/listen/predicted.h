/* predicted.h - mels that a voice makes for the clips of a corpus, for `train --from-voice` to train a
 * vocoder on. The voice uses the durations and the pitch of the recordings (as in validation), so that its
 * frames line up with those of the recordings. The mels are kept beside the caches, in one store for each
 * voice.
 * The clips go through the network in fixed groups, because a clip's reference may be another clip of its
 * batch: an interrupted build continues with the next group and gives the same mels.
 * Threads: one. */
#ifndef MYXTTS_PREDICTED_H
#define MYXTTS_PREDICTED_H

#include <stdint.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/log.h"
#include "pipeline/corpus.h"
#include "train/step/engine.h"
#include "voice/checkpoint.h"

typedef struct PredictedOptions {
    const Checkpoint *voice; /* with data_path and cache_dir of the clips in its cfg */
    const Corpus *corpus[2]; /* both splits, normalised with the voice's own statistics */
    MelStorage storage;      /* of the values in the store */
    Log *log;
} PredictedOptions;

/* A hash of what the store depends on: the voice, the texts and the mels. All zeros if there is no memory. */
Hash128 predicted_settings(const Checkpoint *voice, MelStorage storage);

typedef struct Predicted Predicted;
/* Finds out which mels are there. Holds the lock of the cache folder until it is closed. *p is NULL after a
 * failure. */
int predicted_open(Predicted **p, const PredictedOptions *o, Err *err);
uint64_t predicted_clips(const Predicted *p);
uint64_t predicted_missing(const Predicted *p);
/* Makes the missing ones and commits the store. e: the voice on `model`, large enough for both corpora; not
 * used if nothing is missing. A clip that cannot be loaded is named in the log and gets no mel. */
int predicted_make(Predicted *p, Engine *e, Device *data, Device *model, Err *err);
void predicted_close(Predicted *p); /* NULL is fine; mels that were made but not committed are kept for the
                                     * next time */

#endif
