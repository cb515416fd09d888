/* engine.h - the network on one device: memory, steps, graphs, and what comes back from them.
 * A step is one or more batches (gradient accumulation): clear, then for each batch forward, losses,
 * backward, then the optimiser. Everything is enqueued; the host runs up to ENGINE_LAG batches ahead and
 * reads results when they have happened. On CUDA the phases of each shape are captured as graphs the second
 * time the shape comes. Memory is taken once, in engine_open; nothing is allocated later, but for the
 * description of a shape that is new. Threads: one. */
#ifndef MYXTTS_ENGINE_H
#define MYXTTS_ENGINE_H

#include <stdint.h>

#include "base/err.h"
#include "base/log.h"
#include "base/stats.h"
#include "config/config.h"
#include "device/device.h"
#include "model/model.h"
#include "model/synthesis.h"
#include "pipeline/batch.h"
#include "ranks/ranks.h"

#define ENGINE_LAG 4

typedef enum { PHASE_FORWARD, PHASE_LOSS, PHASE_BACKWARD, PHASE_OPTIMISER, PHASE_COUNT } Phase;
const char *phase_name(Phase p);

typedef struct EngineShape {
    int rows, text, frames;
} EngineShape;

/* What one step gave. */
typedef struct StepResult {
    int64_t step;                /* from 1 */
    double terms[TERM_COUNT];    /* per frame */
    double loss;                 /* their sum */
    double frames;               /* real mel frames */
    OpsGuard guard;              /* skipped, norm, ... after this step */
    double seconds[PHASE_COUNT]; /* of all its batches. On GPUs most steps are timed as a whole, and
                                    divided like the last one that was done phase by phase */
    double exposed;              /* seconds of the backward pass in which it waited for the sum over ranks */
    int opens;                   /* as engine_opens */
    int stop;                    /* a rank wishes to stop */
} StepResult;

typedef struct Engine Engine;

typedef struct EngineOptions {
    const Config *cfg;
    Device *device;
    EngineShape largest;    /* of any batch */
    int symbols, languages; /* as model_open */
    int training;
    Ranks *ranks; /* whose gradients are summed; NULL: this process is alone */
    Log *log;
} EngineOptions;

/* Device bytes that engine_open will take. */
typedef struct EnginePlan {
    uint64_t weights, activations, total;
    int64_t parameters;
} EnginePlan;
int engine_plan(EnginePlan *p, const EngineOptions *o, Err *err);
/* And a Synthesiser on it, or a Vocoder for the frames of the limits. */
uint64_t engine_plan_synthesis(const EngineOptions *o, const SynthesisLimits *limits);

int engine_open(Engine **e, const EngineOptions *o, Err *err);
void engine_close(Engine *e); /* NULL is fine; finishes what is enqueued */

Model *engine_model(Engine *e);
Stream *engine_stream(Engine *e);
uint64_t engine_bytes(const Engine *e); /* device memory taken */

/* First values from the seed of the configuration, or given ones: host floats [params.size]; moments NULL:
 * zero. Waits. */
int engine_initialise(Engine *e, Err *err);
int engine_load(Engine *e, const float *masters, const float *moments1, const float *moments2,
                const OpsGuard *guard, Err *err);
/* Copies masters (and, when not NULL, moments) to the host. Waits for the steps enqueued. */
int engine_save(Engine *e, float *masters, float *moments1, float *moments2, OpsGuard *guard, Err *err);

/* Takes a copy of a device batch (memory on the engine's device, offsets as in layout): when the stream got
 * here the batch may be released. The stream must wait for the batch before (pipeline_await). */
int engine_take(Engine *e, const uint8_t *memory, const BatchLayout *l, const BatchInfo *info, Err *err);

/* One batch of a step. step: number from 1. first, last: of its batches. lr: of the optimiser. With ranks the
 * last one sums gradients and losses over them. */
int engine_step(Engine *e, int64_t step, int first, int last, double lr, Err *err);
/* 1: the newest step was one of the first of its shape, for which the device opens and captures what the
 * later ones use: its time says nothing about theirs. */
int engine_opens(const Engine *e);
/* From the next step on its result says, on all ranks, that this one wishes to stop. */
void engine_wish_stop(Engine *e);
/* Results of finished steps in order: 1 and *r, 0 when none has finished. wait: until the oldest outstanding
 * one has. Negative: the device failed. */
int engine_result(Engine *e, StepResult *r, int wait, Err *err);

/* Teacher-forced, without dropout: adds the sums of the batch taken; engine_evaluate_end waits and gives loss
 * terms per frame. */
int engine_evaluate_begin(Engine *e, Err *err);
int engine_evaluate(Engine *e, Err *err);
int engine_evaluate_end(Engine *e, double terms[TERM_COUNT], double *frames, Err *err);
/* What the network made of one row of the batch evaluated last, with the clip's own durations. The arrays are
 * malloc'd; lengths are those of the row. Waits. */
typedef struct EngineLook {
    float *predicted, *target;   /* [frames, bands] */
    float *mu;                   /* [text, bands] */
    float *traits;               /* [text, TRAIT_COUNT] predicted */
    int32_t *tokens, *durations; /* [text] */
    float *pitch;                /* [text] of the clip */
    int frames, bands, text;
} EngineLook;
int engine_look(Engine *e, int row, EngineLook *l, Err *err);
void engine_look_free(EngineLook *l);
/* The alignment of the batch evaluated last: durations [rows, info.text] and cost [rows]. Waits. */
int engine_alignment(Engine *e, int32_t *durations, float *cost, Err *err);
/* The batch taken last: device memory with its arrays at l's offsets, until the next is taken. */
const uint8_t *engine_batch(const Engine *e, const BatchLayout **l, const BatchInfo **info);
int engine_rows(const Engine *e); /* of every batch */

/* From the next step on the critics of a voice take part, or do not (model.h). afresh: this is the first such
 * step, and its gradients are not held against those before it. Waits when it changes something. */
int engine_set_critics(Engine *e, int speak, int afresh, Err *err);

/* For tests: the gradient of the steps from..from + count - 1 becomes NaN. */
void engine_poison(Engine *e, int64_t from, int64_t count);

#endif
