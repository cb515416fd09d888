/* predicted.h - the mels that a voice makes of the clips of a corpus, with the durations and the pitch of the
 * recordings (as validation computes them), so that their frames are those of the recordings. They lie beside
 * the caches, in a store for each voice: what `train --from-voice` trains a vocoder on.
 * The clips go through the network in groups of neighbours, so that a build which was interrupted goes on
 * with the next group and gives the same mels: a clip's voice may come from another clip of its batch.
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
    const Checkpoint *voice; /* its cfg: with the data_path and the cache_dir of the clips */
    const Corpus *corpus[2]; /* both splits, normalised as the voice has learned it */
    MelStorage storage;      /* of the values in the store */
    Log *log;
} PredictedOptions;

/* The settings of the store: which voice, which texts and mels it was asked for. Zeros without memory. */
Hash128 predicted_settings(const Checkpoint *voice, MelStorage storage);

typedef struct Predicted Predicted;
/* Finds out which mels are there. Holds the lock of the cache folder until it is closed. *p is NULL after a
 * failure. */
int predicted_open(Predicted **p, const PredictedOptions *o, Err *err);
uint64_t predicted_clips(const Predicted *p);
uint64_t predicted_missing(const Predicted *p);
/* Makes the missing ones and commits the store. e: the voice on `model`, large enough for both corpora; not
 * looked at where nothing is missing. A clip that cannot be loaded is named on the log and stays without. */
int predicted_make(Predicted *p, Engine *e, Device *data, Device *model, Err *err);
void predicted_close(Predicted *p); /* NULL is fine; without a commit what was made stays for the next time */

#endif
