/* feeder.h - host slots -> data device -> model device. Private to src/pipeline: consumers use pipeline.h.
 *
 *   FREE -> PREPARING -> READY -> TRAINING -> FREE
 *
 * A buffer is memory for one batch on both devices. One thread carries each batch through: waits for a READY
 * slot and a free buffer, enqueues copy, preprocessing and peer copy on a stream each, ordered by events, and
 * gives the slot back when its copy is done. Nobody synchronises a device. Two events a buffer matter to the
 * consumer: `ready`, which its stream waits for, and `consumed`, which it records. */
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
    size_t raw_bytes;   /* of the largest batch as it is copied; 0: slots come finished */
    size_t batch_bytes; /* of the largest batch on the device */
    int buffers, most_buffers;
    int synchronous;    /* no thread: feeder_take does everything, one stage after the other */
    int inline_loading; /* num_workers 0: the feeder fills the slots itself */
    Log *log;
} FeederOptions;

/* Memory for one finished batch beside the data device: pinned where a GPU will copy from it. For the buffers
 * and, where the data device is the CPU, for the slots, which trade places with them. */
int feeder_batch_is_pinned(const Device *data, const Device *model);
int feeder_batch_alloc(uint8_t **p, Device *data, Device *model, size_t bytes, Err *err);
void feeder_batch_free(uint8_t *p, Device *data, Device *model, size_t bytes);

typedef struct Feeder Feeder;
int feeder_open(Feeder **f, const FeederOptions *o, Err *err);
int feeder_take(Feeder *f, DeviceBatch *b, Err *err);
int feeder_await(Feeder *f, const DeviceBatch *b, Stream *consumer, Err *err);
int feeder_release(Feeder *f, DeviceBatch *b, Stream *consumer, Err *err);
void feeder_stop(Feeder *f); /* ends every wait */
int feeder_buffers(const Feeder *f);
uint64_t feeder_data_bytes(const Feeder *f); /* device memory of the buffers now */
uint64_t feeder_model_bytes(const Feeder *f);
/* After ring_stop and loader_stop. 1 when its thread, reading itself (inline_loading), is stuck and left
 * behind with the Feeder, the ring and the loader; everything on the devices is closed all the same. */
int feeder_close(Feeder *f);

#endif
