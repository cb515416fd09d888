/* pipeline.h - batches on the model device, in order, ahead of need.
 *
 *   sampler -> workers: cache or audio file -> host slot      FREE -> FILLING -> READY
 *           -> feeder: [h2d] data device: preprocess          PREPARING -> READY
 *              [peer] model device -> the consumer's step     TRAINING -> FREE
 *
 * There are POLICY_START_BUFFERS device buffers at first; more are added while the model device waits.
 *
 * The consumer calls pipeline_consume, or by itself pipeline_take, pipeline_await (its stream waits for the
 * batch), enqueues its work, and calls pipeline_release with the same stream. Nobody waits on the host unless
 * the pipeline is behind. A batch is released before the next is taken: a consumer that holds every buffer
 * would wait for itself.
 *
 * Order and bytes of the batches do not depend on workers, devices or timing. native_loading = false does the
 * same work inside pipeline_take, one stage after the other: the baseline that overlap is compared with.
 *
 * Threads: open, take, release and close from one thread. Every wait ends on pipeline_stop, which any thread
 * may call. */
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
#include "pipeline/sampler.h"

typedef struct PipelineState { /* all that is needed to go on exactly here */
    int64_t epoch, index;      /* of the next batch the consumer will take */
    uint64_t seed;
} PipelineState;

typedef struct DeviceBatch { /* on the model device; valid from take to release */
    BatchInfo info;
    BatchLayout layout;
    const uint8_t *memory; /* device memory; arrays at layout's offsets */
    Event *ready;          /* happens when the batch is there; pipeline_await waits for it */
    int buffer;            /* private */
} DeviceBatch;

typedef struct PipelineOptions {
    const Config *cfg;
    const Corpus *corpus;
    Device *data, *model; /* may be the same */
    Sim *sim;             /* simulated read and decode times; NULL = none */
    PipelineState start;
    int64_t epochs;       /* 0 = for ever */
    double stuck_seconds; /* a loader silent for longer on one utterance stops the run; 0 = 120 */
    Log *log;
} PipelineOptions;

typedef struct PipelineReport {
    StageSnapshot stages[STAGE_COUNT];
    int workers, slots, buffers, buffers_at_start;
    uint64_t data_bytes, model_bytes, pinned_bytes; /* memory in use */
    int64_t batches, utterances;                    /* taken by the consumer; without those that are lost */
    int64_t lost; /* utterances that could not be loaded, each counted once, however many epochs */
    int64_t real_frames, padded_frames;
} PipelineReport;

typedef struct Pipeline Pipeline;
int pipeline_open(Pipeline **p, const PipelineOptions *o, Err *err);
/* 0 and a batch; ERR_STOPPED at the end or after pipeline_stop; the first error of any stage otherwise. */
int pipeline_take(Pipeline *p, DeviceBatch *b, Err *err);
/* Makes the consumer's stream (of the model device) wait until the batch is there; the caller goes on. */
int pipeline_await(Pipeline *p, const DeviceBatch *b, Stream *consumer, Err *err);
int pipeline_release(Pipeline *p, DeviceBatch *b, Stream *consumer, Err *err);
/* What a consumer does with a batch: enqueues work on its stream. */
typedef int (*PipelineUse)(void *arg, const DeviceBatch *b, Stream *consumer, Err *err);
/* The consumer's turn: takes a batch, lets the stream wait for it, calls use and hands the batch back, also
 * when use has failed. The codes of pipeline_take, or that of use. */
int pipeline_consume(Pipeline *p, Stream *consumer, PipelineUse use, void *arg, Err *err);
void pipeline_stop(Pipeline *p);
void pipeline_state(const Pipeline *p, PipelineState *s);
void pipeline_report(Pipeline *p, PipelineReport *r);
Counters *pipeline_counters(Pipeline *p);
const Sampler *pipeline_sampler(const Pipeline *p);
/* 0, or 1 when a thread does not come back from a read and is left behind: corpus, configuration and log must
 * then stay open to the end of the process. The consumer's stream has to be idle, or done with the batches it
 * has. */
int pipeline_close(Pipeline *p);

/* Device memory that the pipeline needs at the least on each device, before anything is allocated: three
 * buffers and the tables. */
int pipeline_plan(uint64_t *data_bytes, uint64_t *model_bytes, uint64_t *pinned_bytes,
                  const PipelineOptions *o, Err *err);

#endif
