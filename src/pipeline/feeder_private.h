/* feeder_private.h - shared by feeder.c (the thread, the queues) and feeder_buffer.c (one buffer). */
#ifndef MYXTTS_FEEDER_PRIVATE_H
#define MYXTTS_FEEDER_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/thread.h"
#include "pipeline/feeder.h"
#include "pipeline/policy.h"

#define NO_BUFFER -1
#define NO_BATCH -1 /* as the order of a buffer that has held none yet */

typedef struct Buffer {
    BufferState state;
    BatchInfo info;
    BatchLayout layout;
    int awaited;        /* the consumer's stream has been told to wait for it */
    uint8_t *raw, *out; /* on the data device: as copied, preprocessed */
    uint8_t *final;     /* on the model device; out itself when the devices are one */
    Event *start[STAGE_COUNT], *end[STAGE_COUNT]; /* of the stages on streams */
    Event *consumed;
    int64_t order;  /* of its batch since the start, or NO_BATCH */
    int late;       /* the consumer waited for it */
    int used;       /* its events belong to a batch that went through */
    double blocked; /* s the feeder waited for this buffer before that batch */
} Buffer;

struct Feeder {
    FeederOptions o;
    int two_devices;
    Device *peer_device;        /* whose stream carries batches to the model device */
    Stream *copy, *work, *peer; /* copy == work when copies have no stream of their own */
    Buffer buffers[POLICY_MOST_BUFFERS];
    int count;
    int free_queue[POLICY_MOST_BUFFERS], free_head, free_count;
    int ready_queue[POLICY_MOST_BUFFERS], ready_head, ready_count;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int64_t asked, started; /* batches the consumer has asked for, batches begun */
    int last_released;      /* buffer, or NO_BUFFER; taken by wait_for_turn */
    int last_consumed;      /* buffer that the consumer released last, or NO_BUFFER; the consumer's */
    int stopped, ended;     /* ended: the last batch has been enqueued */
    Err error;
    GrowWindow window;            /* are there enough buffers? */
    Event *prev_end[STAGE_COUNT]; /* of the batch accounted for last, for the gaps between batches */
    int has_prev;
    Thread thread;
    _Atomic int finished; /* the thread has nothing more to do */
};

/* The device on whose streams a stage runs; NULL: it has no stream. */
Device *feeder_stage_device(const Feeder *f, StageId s);
/* 1: the stage is on a stream, and there is something to do with these devices. */
int feeder_does(const Feeder *f, StageId s);

/* Memory and events for one more batch; closed after a failure. */
int feeder_buffer_open(Feeder *f, Buffer *b, Err *err);
void feeder_buffer_close(Feeder *f, Buffer *b); /* safe on a zeroed buffer */

/* The event that says that the batch is on the model device, and whose event it is. */
Event *feeder_ready_event(const Feeder *f, const Buffer *b);
Device *feeder_ready_device(const Feeder *f);

/* Enqueues everything for one batch: copy, preprocessing, peer copy. Waits for nothing. */
int feeder_buffer_enqueue(Feeder *f, Buffer *b, Slot *s, Err *err);

/* What the device stages of the buffer's last batch took. Its consumer is done, so every event has happened.
 * Buffers come by in the order of their batches. */
void feeder_buffer_count(Feeder *f, Buffer *b);
/* What the copy took that has just ended; since: when the feeder began with the batch. */
void feeder_buffer_count_copy(Feeder *f, const Buffer *b, uint64_t since);

#endif
