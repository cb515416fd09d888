/* feeder.h - host slots -> data device -> model device. Private to src/pipeline: consumers use pipeline.h.
 *
 *   FREE -> PREPARING -> READY -> TRAINING -> FREE
 *
 * A buffer is memory for one batch on both devices. One thread takes every batch from its slot: it waits for
 * a READY slot and a FREE buffer, enqueues copy, preprocessing and peer copy on three streams that are
 * ordered by events, and releases the slot when the copy is done. No device is synchronised. Two events of a
 * buffer matter to the consumer: `ready`, for which its stream waits, and `consumed`, which it records. */
#ifndef MYXTTS_FEEDER_H
#define MYXTTS_FEEDER_H

#include "pipeline/loader.h"
#include "pipeline/pipeline.h"
#include "pipeline/preprocess.h"
#include "pipeline/ring.h"

typedef enum { BUFFER_FREE, BUFFER_PREPARING, BUFFER_READY, BUFFER_TRAINING } BufferState;

typedef struct FeederOptions {
    const Config *cfg;
    Device *data, *model;
    Preprocess *preprocess;
    Ring *ring;
    Loader *loader;
    Counters *counters;
    BatchShape shape;
    size_t raw_bytes;   /* size of the largest batch as it is copied; 0: workers preprocess in the slots */
    size_t batch_bytes; /* size of the largest batch on the device */
    int buffers, most_buffers;
    int synchronous;    /* no thread: feeder_take runs all stages, one after the other */
    int inline_loading; /* num_workers 0: the feeder fills the slots itself */
    Log *log;
} FeederOptions;

/* Memory for a finished batch on the data device; pinned host memory if that is the CPU and a GPU will copy
 * from it. Used for the buffers and, if the data device is the CPU, for the slots, which swap their memory
 * with buffers. */
int feeder_batch_is_pinned(const Device *data, const Device *model);
int feeder_batch_alloc(uint8_t **p, Device *data, Device *model, size_t bytes, Err *err);
void feeder_batch_free(uint8_t *p, Device *data, Device *model, size_t bytes);

typedef struct Feeder Feeder;
int feeder_open(Feeder **f, const FeederOptions *o, Err *err);
/* seconds < 0: waits as long as it takes. Else 1 if there is no batch after that time. */
int feeder_take(Feeder *f, DeviceBatch *b, double seconds, Err *err);
int feeder_await(Feeder *f, const DeviceBatch *b, Stream *consumer, Err *err);
int feeder_release(Feeder *f, DeviceBatch *b, Stream *consumer, Err *err);
void feeder_stop(Feeder *f); /* ends every wait */
int feeder_buffers(const Feeder *f);
uint64_t feeder_data_bytes(const Feeder *f); /* current device memory of the buffers */
uint64_t feeder_model_bytes(const Feeder *f);
/* Call after ring_stop and loader_stop: its thread ends, and nothing is enqueued from then on. Returns 1 as
 * feeder_close does: all that can be done is to close it. */
int feeder_pause(Feeder *f);
/* Starts again after that, with the loader that was opened in the meantime. No batch may be held. */
int feeder_restart(Feeder *f, Loader *loader, Err *err);
/* Call after ring_stop and loader_stop. Returns 1 if its thread (with inline_loading) is stuck in a read:
 * thread, Feeder, ring and loader are then abandoned, but everything on the devices is closed. */
int feeder_close(Feeder *f);

#endif
