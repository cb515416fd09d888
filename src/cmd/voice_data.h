/* voice_data.h - a trained network and the dataset it is to look at, for commands that need both. Devices and
 * folders are those of the command line, everything else is the checkpoint's: a network sees texts and mels
 * as it was trained on them.
 * Threads: one. */
#ifndef MYXTTS_CMD_VOICE_DATA_H
#define MYXTTS_CMD_VOICE_DATA_H

#include "cmd/devices.h"
#include "cmd/options.h"
#include "pipeline/corpus.h"
#include "train/engine.h"
#include "voice/checkpoint.h"

typedef struct VoiceData {
    Checkpoint file; /* file.cfg: the settings to work with */
    Devices devices;
    CorpusSource *source; /* the prepared dataset */
    double *statistics;   /* [2 n_mels] of the checkpoint's mels: means, deviations */
    Engine *engine;
} VoiceData;

/* Reads the checkpoint (a file, or a folder of them), prepares what is not prepared of --data-path, opens
 * devices. line and its settings must outlive v. Call before threads are started. It is closed
 * after a failure. */
int voice_data_open(VoiceData *v, const char *checkpoint, const CmdLine *line, Log *log, Err *err);
/* A split of the dataset, normalised as the checkpoint has it. The caller closes it, before v. */
int voice_data_corpus(VoiceData *v, Corpus *c, Split split, Log *log, Err *err);
/* The network with its weights, not for training, for batches of this shape. */
int voice_data_engine(VoiceData *v, const EngineShape *largest, Log *log, Err *err);
void voice_data_close(VoiceData *v); /* safe on anything zeroed */

#endif
