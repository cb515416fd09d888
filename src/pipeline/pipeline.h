/* pipeline.h - delivers batches to the model device, in order, before they are needed.
 *
 *   sampler -> workers: caches or audio file -> host slot     FREE -> FILLING -> READY
 *           -> feeder: [h2d] data device: preprocess          PREPARING -> READY
 *              [peer] model device -> the consumer's step     TRAINING -> FREE
 *
 * There are POLICY_START_BUFFERS device buffers at first; more are added while the model device waits. With
 * prefetch_buffer_size auto host slots are added too, where these would have helped.
 *
 * The consumer calls pipeline_consume; or it calls pipeline_take and pipeline_await (its stream waits for the
 * batch), enqueues its work, and calls pipeline_release with the same stream. The host waits only if the
 * pipeline is too slow. Several batches may be held at once and released in any order; each holds a buffer,
 * and with all of them held pipeline_take is ERR_BUSY.
 *
 * The sampler's batches are for all ranks together. The pipeline delivers this rank's shares of each, one
 * after the other; BatchInfo says which, and "batch" means such a share in what follows.
 *
 * Order and bytes of the batches do not depend on workers, devices or timing. With native_loading = false the
 * same work is done in pipeline_take, one stage after the other: a baseline to compare the overlap with.
 *
 * Threads: one thread opens, takes and closes. Any thread may release a batch, if it may use the stream, and
 * call pipeline_stop, which ends every wait. */
#ifndef MYXTTS_PIPELINE_H
#define MYXTTS_PIPELINE_H

#include <stdint.h>

#include "base/err.h"
#include "base/log.h"
#include "device/device.h"
#include "device/sim.h"
#include "pipeline/batch.h"
#include "pipeline/corpus.h"
#include "pipeline/counters.h"
#include "pipeline/policy.h"
#include "pipeline/sampler.h"

typedef struct PipelineState { /* where to resume */
    int64_t epoch, index;      /* of the next batch whose shares the consumer takes; the same on all ranks */
    uint64_t seed;
} PipelineState;

typedef struct DeviceBatch { /* on the model device; valid from take to release */
    BatchInfo info;
    BatchLayout layout;
    const uint8_t *memory; /* device memory; arrays at layout's offsets */
    Event *ready;          /* happens when the batch is complete; pipeline_await waits for it */
    const uint32_t *items; /* [info.count] which items of the corpus, in the order of the rows; host memory */
    int was_there;         /* 1: it was complete when the consumer asked for it */
    int buffer;            /* private */
} DeviceBatch;

typedef struct PipelineOptions {
    const Config *cfg;
    const Corpus *corpus;
    Device *data, *model; /* may be the same */
    Sim *sim;             /* simulated read and decode times; NULL = none */
    PipelineState start;
    int rank, ranks;      /* whose shares; ranks 0: it is alone */
    int64_t epochs;       /* 0 = for ever */
    int no_step;          /* 1: the consumer takes no time, so it always waits, and no slots are added because
                           * of that */
    double stuck_seconds; /* loading an utterance for longer than this stops the run; 0 = 120 */
    Log *log;
} PipelineOptions;

typedef struct PipelineReport {
    StageSnapshot stages[STAGE_COUNT];
    int workers, slots, slots_at_start, most_slots, buffers, buffers_at_start;
    int64_t slots_added_at; /* batch, since the start, that first had this many slots */
    int on_the_fly;         /* 1: samples from audio files, 0: from the caches */
    uint64_t data_bytes, model_bytes, pinned_bytes; /* memory in use */
    int64_t batches, utterances;                    /* taken by the consumer, without lost utterances */
    int64_t lost; /* utterances that could not be loaded, counted once, not once per epoch */
    int64_t real_frames, padded_frames;
} PipelineReport;

typedef struct Pipeline Pipeline;
int pipeline_open(Pipeline **p, const PipelineOptions *o, Err *err);
/* Returns 0 and a batch; ERR_STOPPED at the end or after pipeline_stop; otherwise the first error of any
 * stage. */
int pipeline_take(Pipeline *p, DeviceBatch *b, Err *err);
/* The same, but returns 1 if there is no batch after this many seconds. */
int pipeline_take_within(Pipeline *p, DeviceBatch *b, double seconds, Err *err);
/* Makes the consumer's stream (of the model device) wait until the batch is complete; the caller does not
 * wait. */
int pipeline_await(Pipeline *p, const DeviceBatch *b, Stream *consumer, Err *err);
int pipeline_release(Pipeline *p, DeviceBatch *b, Stream *consumer, Err *err);
/* What a consumer does with a batch: enqueues work on its stream. */
typedef int (*PipelineUse)(void *arg, const DeviceBatch *b, Stream *consumer, Err *err);
/* Takes a batch, makes the stream wait for it, calls use, and releases the batch even if use has failed.
 * Returns the code of pipeline_take or of use. */
int pipeline_consume(Pipeline *p, Stream *consumer, PipelineUse use, void *arg, Err *err);
void pipeline_stop(Pipeline *p);
/* Starts again at another batch, also after a stop or an error, and reuses the memory instead of allocating
 * it again. No batch may be held. After a failure the pipeline can only be closed. */
int pipeline_restart(Pipeline *p, const PipelineState *start, Err *err);
void pipeline_state(const Pipeline *p, PipelineState *s);
void pipeline_report(Pipeline *p, PipelineReport *r);
Counters *pipeline_counters(Pipeline *p);
const Sampler *pipeline_sampler(const Pipeline *p);
Shares pipeline_shares(const Pipeline *p);
/* The consumer's stream must have finished with its batches. Returns 0, or 1 if a thread is stuck in a read
 * and was abandoned: corpus, configuration and log must then stay open until the process ends. */
int pipeline_close(Pipeline *p);

/* The memory that the pipeline needs at least on each device (POLICY_START_BUFFERS buffers and the tables),
 * and at most of pinned host memory (with the maximum number of slots). Allocates nothing on the devices. */
int pipeline_plan(uint64_t *data_bytes, uint64_t *model_bytes, uint64_t *pinned_bytes,
                  const PipelineOptions *o, Err *err);

#endif
