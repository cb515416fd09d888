/* snapshot.h - what is in a checkpoint, and how it gets in and out. The bytes are in docs/FORMATS.md.
 *   parameters and moments by name, the state of the run, the configuration, the symbol table, mel
 * statistics, speakers and clips of their voices. Threads: a Snapshot belongs to one. */
#ifndef MYXTTS_SNAPSHOT_H
#define MYXTTS_SNAPSHOT_H

#include <stdint.h>

#include "base/err.h"
#include "config/config.h"
#include "model/model.h"
#include "pipeline/corpus.h"
#include "pipeline/pipeline.h"
#include "voice/checkpoint_folder.h"

#define CHECKPOINT_FORMAT "myxtts-checkpoint-2"
#define CHECKPOINT_FORMAT_1 "myxtts-checkpoint-1" /* the autoregressive network */

/* Where a run stands. */
typedef struct TrainState {
    int64_t step; /* made */
    PipelineState data;
    int64_t best_step;
    double best_loss; /* of validation; INFINITY before the first */
    int64_t stale;    /* validations since the best one */
    int64_t total;    /* last step, where --minutes has set it; 0: not yet, or not by --minutes */
    OpsGuard guard;
} TrainState;

/* Clips that stand for the speakers' voices. */
typedef struct VoiceClips {
    int count, frames, bands; /* frames: room of each */
    float *mel;               /* [count, frames, bands] normalised */
    int32_t *length;          /* [count] */
    int32_t *speaker;         /* [count] */
} VoiceClips;
/* Up to 4 clips of each speaker, one of each where there are many; of more than 256 speakers none beyond
 * those. */
int voice_clips_open(VoiceClips *v, const Corpus *corpus, Err *err);
void voice_clips_close(VoiceClips *v);

/* The normalised mel [frames, bands] of an item of the corpus; returns its frames, at most `most`, or a
 * negative code. */
int corpus_mel(float *out, const Corpus *corpus, uint32_t item, int most, Err *err);

#define CHECKPOINT_STATE 7 /* numbers of train.state */

/* Host copies of a run's numbers, ready to be written. */
typedef struct Snapshot {
    const Model *m;
    float *masters, *moments1, *moments2; /* [params.size]; pinned on the device's behalf */
    void *memory;
    size_t bytes;
    Device *device;
    TensorView *tensors;
    MetaEntry *meta;
    int tensor_count, meta_count;
    int64_t state[CHECKPOINT_STATE];
    double best;
    OpsGuard guard;
    float *mean, *deviation; /* [n_mels] */
    char *config, *speakers, *symbols, *pitch, *longest;
    char step_text[24];
} Snapshot;
/* corpus and clips must outlive it. */
int snapshot_open(Snapshot *s, const Model *m, const Config *cfg, const Corpus *corpus,
                  const VoiceClips *clips, Device *device, Err *err);
void snapshot_close(Snapshot *s);                        /* always safe */
void snapshot_set(Snapshot *s, const TrainState *state); /* before it is submitted */

/* A checkpoint that was read. Pointers live until checkpoint_close. */
typedef struct Checkpoint {
    SafeTensors file;
    char path[CHECKPOINT_PATH_SIZE];
    Config cfg; /* its own settings, those of argv on top */
    int has_cfg;
    const float *mean, *deviation;      /* [n_mels] */
    double pitch_mean, pitch_deviation; /* 0: not there */
    int64_t step;
    int longest_text; /* symbols of the longest text it was trained on; 0: not known */
    char **speakers;  /* [speaker_count] */
    int speaker_count;
    VoiceClips clips; /* views */
} Checkpoint;
/* what, dir: as checkpoint_find. argv: settings that win over those in the file. ERR_FORMAT for files of
 * another kind, with what they are. */
int checkpoint_open(Checkpoint *v, const char *what, const char *dir, int argc, char **argv, Log *log,
                    Err *err);
void checkpoint_close(Checkpoint *v);
/* 0 when a network trained with `was` may go on or speak with `is`: the same heads, mels and tokens. Shapes
 * are checkpoint_params' to check. */
int checkpoint_same(const char *path, const Config *was, const Config *is, Err *err);
/* Flat host numbers [m->params.size] of the file, for the network m; prefix "" (weights), "adam.m." or
 * "adam.v.". ERR_CONFIG names the first tensor that is missing or of another shape. */
int checkpoint_params(const Checkpoint *v, const Model *m, const char *prefix, float *flat, Err *err);
int checkpoint_state(const Checkpoint *v, TrainState *state, Err *err);

#endif
