/* voice_data.h - opens a trained network and a dataset, for commands that need both. Devices and folders come
 * from the command line, all other settings from the checkpoint, because the network must see texts and mels
 * as in training. Threads: one. */
#ifndef MYXTTS_CMD_VOICE_DATA_H
#define MYXTTS_CMD_VOICE_DATA_H

#include "cmd/line/options.h"
#include "device/devices.h"
#include "pipeline/corpus.h"
#include "train/step/engine.h"
#include "voice/checkpoint.h"

typedef struct VoiceData {
    Checkpoint file; /* file.cfg: the settings to work with */
    Devices devices;
    CorpusSource *source; /* the prepared dataset */
    double *statistics;   /* [2 n_mels] of the checkpoint: means, then standard deviations of the mel bands */
    Engine *engine;
} VoiceData;

/* Reads the checkpoint (a file, or a folder of them), prepares the dataset in --data-path if needed, opens
 * devices. line must outlive v. Call before any thread is started. v is closed after a failure. */
int voice_data_open(VoiceData *v, const char *checkpoint, const CmdLine *line, Log *log, Err *err);
/* The same: argv [argc] are settings that win over those of the checkpoint, `where` has devices and folders.
 */
int voice_data_open_with(VoiceData *v, const char *checkpoint, int argc, char **argv, const Config *where,
                         Log *log, Err *err);
/* Opens a split of the dataset, with the normalisation of the checkpoint. The caller closes it before v. */
int voice_data_corpus(VoiceData *v, Corpus *c, Split split, Log *log, Err *err);
/* Opens v->engine: the network with its weights, for inference, for batches up to this shape. */
int voice_data_engine(VoiceData *v, const EngineShape *largest, Log *log, Err *err);
void voice_data_close(VoiceData *v); /* a zeroed one is allowed */

#endif
