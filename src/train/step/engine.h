/* engine.h - runs the network on one device: memory, steps, graphs, results.
 * A step is one or more batches (gradient accumulation): clear, then for each batch forward, losses,
 * backward, then the optimiser. Everything is enqueued; the host runs up to ENGINE_LAG batches ahead and
 * reads results once they are ready. On CUDA the phases of each shape are captured as graphs the second time
 * the shape occurs. All memory is allocated in engine_open, except the description of each new shape.
 * Threads: one. */
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

/* The result of one step. */
typedef struct StepResult {
    int64_t step;                /* from 1 */
    double terms[TERM_COUNT];    /* per frame */
    double loss;                 /* their sum */
    double frames;               /* real mel frames */
    OpsGuard guard;              /* skipped, norm, ... after this step */
    double seconds[PHASE_COUNT]; /* of all its batches. On GPUs most steps are timed as a whole; their time is
                                  * divided in proportion to the last step that was timed phase by phase */
    double exposed;              /* seconds of the backward pass in which it waited for the sum over ranks */
    int opens;                   /* as engine_opens */
    int stop;                    /* a rank has asked to stop */
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

/* Sets the weights to initial values from the configuration's seed, or to given values: host floats
 * [params.size]; moments NULL: zero. Waits for the device. */
int engine_initialise(Engine *e, Err *err);
int engine_load(Engine *e, const float *masters, const float *moments1, const float *moments2,
                const OpsGuard *guard, Err *err);
/* Copies masters (and, when not NULL, moments) to the host. Waits for the steps enqueued. */
int engine_save(Engine *e, float *masters, float *moments1, float *moments2, OpsGuard *guard, Err *err);

/* Copies a device batch (memory on the engine's device, offsets as in layout); once the stream has executed
 * this, the batch may be released. The stream must have been made to wait for the batch (pipeline_await). */
int engine_take(Engine *e, const uint8_t *memory, const BatchLayout *l, const BatchInfo *info, Err *err);

/* One batch of a step. step: number from 1. first, last: of its batches. lr: of the optimiser. With ranks the
 * last one sums gradients and losses over them. */
int engine_step(Engine *e, int64_t step, int first, int last, double lr, Err *err);
/* 1: the newest step was one of the first with its shape, in which kernels are chosen and graphs captured, so
 * its time is not typical. */
int engine_opens(const Engine *e);
/* From the next step on, the results on all ranks say that this rank asks to stop. */
void engine_wish_stop(Engine *e);
/* Results of finished steps in order: 1 and *r, 0 when none has finished. wait: until the oldest outstanding
 * one has. Negative: the device failed. */
int engine_result(Engine *e, StepResult *r, int wait, Err *err);

/* Teacher-forced, without dropout: adds the sums of the batch taken; engine_evaluate_end waits and gives loss
 * terms per frame. */
int engine_evaluate_begin(Engine *e, Err *err);
int engine_evaluate(Engine *e, Err *err);
int engine_evaluate_end(Engine *e, double terms[TERM_COUNT], double *frames, Err *err);
/* The network's output for one row of the batch evaluated last, with the clip's own durations. The arrays are
 * malloc'd and have the lengths of the row. Waits for the device. */
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

/* Switches the critics of a voice on or off from the next step on (model.h). afresh: this is the first step
 * with critics, so its gradient norm is not compared with earlier ones. Waits for the device if something
 * changes. */
int engine_set_critics(Engine *e, int speak, int afresh, Err *err);

/* For tests: the gradient of the steps from..from + count - 1 becomes NaN. */
void engine_poison(Engine *e, int64_t from, int64_t count);

#endif
