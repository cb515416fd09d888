/* checkpoint.h - what is in a checkpoint, and how it gets in and out. The bytes are in docs/FORMATS.md.
 * A checkpoint holds parameters and moments by name, the state of the run, the configuration, the symbol
 * table, the statistics of the mels, the speakers and clips of their voices. Threads: a Snapshot and a
 * Checkpoint belong to one; an open Checkpoint may be read by any. */
#ifndef MYXTTS_CHECKPOINT_H
#define MYXTTS_CHECKPOINT_H

#include <stdint.h>

#include "base/err.h"
#include "config/config.h"
#include "judge/choice.h"
#include "model/synthesis.h"
#include "pipeline/corpus.h"
#include "pipeline/pipeline.h"
#include "voice/checkpoint_folder.h"
#include "voice/voice_clips.h"

#define CHECKPOINT_FORMAT "myxtts-checkpoint-2"
#define CHECKPOINT_VOCODER "vocoder." /* what names of a vocoder in the file of a voice begin with */
#define CHECKPOINT_FORMAT_1 "myxtts-checkpoint-1" /* the autoregressive network */

/* Where a run stands. */
typedef struct TrainState {
    int64_t step; /* made */
    PipelineState data;
    Choice choice;         /* the best so far */
    int64_t total;         /* last step, where --minutes has set it; 0: not yet, or not by --minutes */
    int64_t schedule_from; /* step where the schedule began: 0, or the step where the run was continued with
                            * other mels or for more minutes */
    int64_t warmup;        /* steps of it, where --minutes has set them; 0: warmup_steps */
    int64_t batch;         /* clips of a batch over all ranks; 0 in older files: their batch_size */
    int64_t critic_step;   /* first step with critics; 0: they have not begun */
    double copies[2];      /* distance of a vocoder's copies from the recordings (judge/spectra.h), and of
                              Griffin-Lim's copies of the same clips; 0: not measured */
    Manner manner;         /* how what is predicted is corrected */
    OpsGuard guard;
} TrainState;

/* The content of a checkpoint besides the parameters; checkpoint_fields.h says how it is written. */
typedef struct CheckpointContent {
    TrainState state;
    const float *mean, *deviation; /* [n_mels] of the log mel: what the network's mels are normalised with */
    VoiceClips clips;
} CheckpointContent;

/* Which data a run has learned from. */
typedef struct CheckpointData {
    int64_t clips, validation_clips; /* -1: not known */
    int64_t seconds;                 /* of the clips it learns from; 0: not known */
    int speakers;
    char hash[33], validation_hash[33]; /* of corpus_hash, in hexadecimal digits */
} CheckpointData;
void checkpoint_data(CheckpointData *d, const Corpus *train, const Corpus *validation);

/* Flat numbers [params.size] in a checkpoint. */
typedef enum {
    CHECKPOINT_WEIGHTS,
    CHECKPOINT_MOMENTS1,
    CHECKPOINT_MOMENTS2,
    CHECKPOINT_GROUPS
} CheckpointGroup;

/* Host copies of a run's numbers, ready to be written. */
typedef struct Snapshot {
    const Model *m;
    float *flat[CHECKPOINT_GROUPS]; /* [params.size] each; pinned on the device's behalf */
    void *memory;
    Device *device;
    TensorView *tensors; /* [tensor_room] */
    int tensor_count, tensor_room;
    MetaEntry *meta; /* [meta_count]; values are malloc'd, but for step_text */
    int meta_count;
    char *names;               /* of the tensors of parameters */
    uint8_t *packed;           /* the numbers of the state as the file has them */
    float *statistics;         /* [2, n_mels] */
    CheckpointContent content; /* state: that of the last snapshot_set; clips: a view */
    char step_text[24];
} Snapshot;
/* What the entries of its metadata are made of; needed while it is opened only. */
typedef struct CheckpointSource {
    const Config *cfg;
    const Corpus *corpus, *validation; /* the latter may be NULL */
    const struct Checkpoint *begun;    /* what the run began with; NULL: nothing */
    int resumed;                       /* 1: begun is of the run itself */
} CheckpointSource;
/* clips must outlive it. A failed one is closed. */
int snapshot_open(Snapshot *s, const Model *m, const CheckpointSource *from, const VoiceClips *clips,
                  Device *device, Err *err);
void snapshot_close(Snapshot *s);                        /* always safe */
void snapshot_set(Snapshot *s, const TrainState *state); /* before it is submitted */

/* A checkpoint that was read. Pointers live until checkpoint_close. */
typedef struct Checkpoint {
    SafeTensors file;
    char path[CHECKPOINT_PATH_SIZE];
    const char *inside; /* "", or CHECKPOINT_VOCODER: it is one beside the file's voice */
    Config cfg;         /* its own settings, those of argv on top */
    int has_cfg;
    int argc; /* settings that win over those in the file; the caller's */
    char **argv;
    CheckpointContent content;          /* views into the file */
    int can_resume;                     /* the whole state of the run is there */
    double pitch_mean, pitch_deviation; /* 0: not there */
    int longest_text;                   /* symbols of the longest text it was trained on; 0: not known */
    CheckpointData data;                /* what it was trained on */
    char mel[33];                       /* config_mel_hash of the mels it knows, in hexadecimal digits */
    char **speakers;                    /* [speaker_count] */
    int speaker_count;
    char language[LANGUAGE_MAX]; /* of lines that name none, by its own settings */
    LanguageList languages;      /* of the texts it was trained on; of an older file `language` alone */
    int knows_languages;         /* 0: an older file */
    int language_input;          /* how many of them its network tells apart: all, or 0 */
    ScriptSet scripts;           /* of the texts it was trained on; empty in an older file */
} Checkpoint;
/* what, dir: as checkpoint_find. argv: settings that win over those in the file. ERR_FORMAT for files of
 * another kind, with what they are. A failed one is closed. */
int checkpoint_open(Checkpoint *v, const char *what, const char *dir, int argc, char **argv, Log *log,
                    Err *err);
/* The vocoder that an exported file (export.h) holds beside its voice; path: of that file. ERR_MISSING: it
 * holds none. */
int checkpoint_open_vocoder(Checkpoint *v, const char *path, Err *err);
/* What was loaded of it is all that is needed: what remains is copied and the file is closed, so that writing
 * into it has no effect any more. Tensors cannot be found from then on. ERR_DAMAGED: it was changed
 * meanwhile. */
int checkpoint_settle(Checkpoint *v, Err *err);
void checkpoint_close(Checkpoint *v); /* always safe on a zeroed or closed one */

/* A tensor and an entry of the metadata by the name that checkpoints have for it. NULL: not there. */
const TensorView *checkpoint_tensor(const Checkpoint *v, const char *name);
const char *checkpoint_text(const Checkpoint *v, const char *key);

/* ERR_FORMAT, with what it is, for a checkpoint that holds no voice. */
int checkpoint_check_voice(const Checkpoint *v, Err *err);

/* 0 if a network trained with `was` may be trained on or speak with `is`: the same heads, mels and tokens.
 * Shapes are for checkpoint_params to check. path: of the checkpoint, for the message. */
int checkpoint_same(const char *path, const Config *was, const Config *is, Err *err);
/* Flat host numbers [m->params.size] of the file, for the network m; weights of two bytes are widened.
 * ERR_CONFIG names the first tensor that is missing or of another shape, ERR_DATA the first number that is
 * not finite. */
int checkpoint_params(const Checkpoint *v, const Model *m, CheckpointGroup group, float *flat, Err *err);
/* The weights for a network that is to learn more languages than the file has: first values, then all that
 * the file holds. Errors as above. */
int checkpoint_first_params(const Checkpoint *v, const Model *m, uint64_t seed, float *flat, Err *err);
/* The state to resume from; ERR_FORMAT where it is not whole. An older file knows the lowest loss as that of
 * the best. */
int checkpoint_state(const Checkpoint *v, TrainState *state, Err *err);

#endif
