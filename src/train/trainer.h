/* trainer.h - a run: batches from the pipeline, steps of the engine, validation, checkpoints, logs.
 * Where a run stands is in TrainState; resuming from a checkpoint gives, on the CPU and on one GPU, the same
 * bits as never having stopped. The folder checkpoint_dir holds the checkpoints, log.jsonl, the event file of
 * TensorBoard, and pictures. Threads: one, besides those of pipeline and checkpoint writer. */
#ifndef MYXTTS_TRAINER_H
#define MYXTTS_TRAINER_H

#include <stdint.h>

#include "base/err.h"
#include "base/log.h"
#include "config/config.h"
#include "device/device.h"
#include "device/sim.h"
#include "pipeline/corpus.h"
#include "pipeline/pipeline.h"
#include "pipeline/step_meter.h"
#include "train/listen/hearing.h"
#include "train/step/engine.h"
#include "voice/checkpoint.h"

/* What a watcher of the run gets to see. */
typedef struct TrainerView {
    Pipeline *pipeline;
    const StepMeter *meter;
    int64_t sample_from; /* of the meter: where the interval began */
    int64_t step;
    int64_t since; /* batch, since the start, since which steps have been of the present kind */
} TrainerView;

/* Time that a run spends outside its steps, while the model device is idle. */
typedef enum {
    BESIDE_VALIDATION, /* with the clips that are spoken and compared in it */
    BESIDE_SPEAKING,   /* samples */
    BESIDE_SAVING,
    BESIDE_PREPARING, /* the first steps of each shape: kernels are chosen, graphs captured */
    BESIDE_REPORTS,   /* lines, logs, and what else the trainer does between two steps */
    BESIDE_COUNT
} BesideKind;
const char *beside_name(BesideKind k);

typedef struct TrainerOptions {
    const Config *cfg;
    Device *data, *model;             /* may be the same */
    Sim *sim;                         /* NULL: none */
    Ranks *ranks;                     /* that train together; NULL: alone */
    const Corpus *train, *validation; /* the latter may be empty */
    int batch;                    /* clips of a batch over all ranks, as trainer_check says; 0: asked there */
    const struct TrainPlan *plan; /* what train_plan said of these options; NULL: trainer_open asks it */
    const volatile int *stop;     /* not 0: finish the step, save, return */
    /* Called at every log line and at the end (last), for observers; may be NULL. */
    void (*watch)(void *arg, const struct TrainerView *view, int last);
    void *watch_arg;
    int64_t poison_from, poison_count; /* for tests: steps whose gradient becomes NaN */
    Log *log;
} TrainerOptions;

/* Device memory of a run, computed before anything is allocated. */
typedef struct TrainPlan {
    EngineShape shape;           /* largest batch */
    uint64_t weights;            /* parameters, gradients, moments */
    uint64_t activations, other; /* other: batch, workspace, control */
    uint64_t synthesis;          /* for spoken samples */
    uint64_t pipeline_model;     /* batches in flight, of training and, while it runs, of validation */
    uint64_t pipeline_data;
    uint64_t pinned;                  /* host */
    uint64_t model_total, data_total; /* on one device: both are the sum */
    uint64_t model_limit, data_limit; /* cap, or what the device has; 0: unknown */
    int largest_batch;                /* that fits into the limits; 0: not even one clip */
    int buffers;                      /* maximum for the training pipeline */
    int64_t parameters;
} TrainPlan;
/* ERR_CONFIG when the batch does not fit, with the largest that does. The plan is filled in either case. */
int train_plan(TrainPlan *p, const TrainerOptions *o, Err *err);

typedef struct TrainSummary {
    int64_t first_step, step, total;        /* from, to, last one planned */
    double loss, validation;                /* of the last interval, of the last validation (NaN: none) */
    EarFigures ear;                         /* of the last validation */
    Judged best;                            /* step 0: none */
    double seconds;                         /* of steps, without what came before */
    double step_mean, step_std;             /* seconds, of the run after its first steps */
    double wait_share, busy_share, padding; /* shares, likewise */
    double utterances_per_s, frames_per_s;
    double beside[BESIDE_COUNT];      /* seconds that were neither steps nor waiting for data */
    double phase[PHASE_COUNT];        /* mean seconds */
    int ranks;                        /* that trained together */
    const char *transport;            /* between them */
    double exposed_share;             /* of a step: waiting for the sum over ranks; NaN: alone */
    int64_t warmup;                   /* last step of the warm-up */
    int64_t skipped;                  /* steps the guard left out in this run */
    int stopped;                      /* by the user */
    int early;                        /* validation stopped improving */
    uint64_t model_bytes, data_bytes; /* in use at most */
    double gpu_utilisation;           /* NVML; NaN: not measured */
    int on_cpu;                       /* the steps were made there */
    double vocoder_seconds; /* more until its copies are as close as Griffin-Lim's, as copies_steps_left */
    int checkpoint_failed;  /* the last one was not written */
    char last_checkpoint[CHECKPOINT_PATH_SIZE];
    Heard heard;      /* what was heard last; clips 0: nothing */
    TrainState state; /* where it stands */
    PipelineReport pipeline;
} TrainSummary;

/* What trainer_open would refuse for the settings alone (a resume with another seed or another network), to
 * be asked before the caches are built. *batch: clips of a batch over all ranks. A run that is resumed keeps
 * its batch, however many ranks there are now, unless batch_size or global_batch_size say otherwise. */
int trainer_check(int *batch, const Config *cfg, int ranks, Err *err);

typedef struct Trainer Trainer;
/* Allocates all memory, loads the checkpoint to resume from, opens the logs. A run with --resume none
 * overwrites nothing: existing checkpoints have to be moved away first. ERR_WORKER: a reader is stuck, as in
 * trainer_close; otherwise a failed opener leaves nothing open. */
int trainer_open(Trainer **t, const TrainerOptions *o, Err *err);
/* Runs to the end, to `stop`, or to an error. In all three cases the training state is saved, if the disk
 * allows it. */
int trainer_run(Trainer *t, Err *err);
void trainer_summary(Trainer *t, TrainSummary *s); /* of an open one */
Pipeline *trainer_pipeline(Trainer *t);
/* 0, or 1 when a reader is stuck (pipeline_close): corpora, configuration and log must then stay open. */
int trainer_close(Trainer *t);

#endif
