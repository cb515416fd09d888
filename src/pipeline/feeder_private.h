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
#define NO_BATCH -1 /* Buffer.order before its first batch */

typedef struct Buffer {
    BufferState state;
    BatchInfo info;
    BatchLayout layout;
    uint32_t *items;    /* [rows] of its batch */
    int awaited;        /* pipeline_await was called: the consumer's stream waits for it */
    uint8_t *raw, *out; /* on the data device: as copied, and preprocessed */
    uint8_t *final;     /* on the model device; equals out if there is only one device */
    Event *start[STAGE_COUNT], *end[STAGE_COUNT]; /* of each stage on a stream; NULL for the others */
    Event *consumed;
    int64_t order;  /* number of its batch since the start, or NO_BATCH */
    int late;       /* the consumer had to wait for it */
    int starved;    /* the feeder had to wait for its slot */
    int used;       /* its events belong to a batch that was processed */
    double blocked; /* seconds that the feeder waited for this buffer before that batch */
} Buffer;

/* What the consumer found when it asked for a batch. */
typedef struct Request {
    int64_t order;   /* of the batch it asked for */
    int device_idle; /* its device had nothing left to do */
    int late;        /* ... and no batch was ready */
    int waited;      /* no batch was ready when it asked, even if its device was still busy */
    int ran_dry;     /* ... or it had nothing left by the time there was one */
} Request;

struct Feeder {
    FeederOptions o;
    int two_devices;
    Device *peer_device;        /* the device of the stream `peer` */
    Stream *copy, *work, *peer; /* copy == work if copies have no separate stream */
    Buffer buffers[POLICY_MOST_BUFFERS];
    int count;
    int free_queue[POLICY_MOST_BUFFERS], free_head, free_count;
    int ready_queue[POLICY_MOST_BUFFERS], ready_head, ready_count;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int64_t asked, started; /* number of batches that the consumer has asked for, and of those begun */
    int last_released;      /* buffer, or NO_BUFFER; reset by wait_for_turn */
    Request request;        /* that the consumer has made and gave up waiting for, with has_request */
    int has_request;
    Stream *consumer;   /* stream of the consumer, from its first release on */
    int last_consumed;  /* buffer that the consumer released last, or NO_BUFFER */
    int stopped, ended; /* ended: the last batch has been enqueued */
    Err error;
    GrowWindow window;            /* observations: are there enough buffers? */
    int wanted;                   /* buffers; fewer than there are: some are to be closed */
    int queued;                   /* the newest batch that was counted */
    Event *prev_end[STAGE_COUNT]; /* of the batch that was counted last, to find gaps between batches */
    int has_prev;
    Thread thread;
    int is_stuck;         /* the thread hangs in a read, and was abandoned */
    _Atomic int finished; /* the thread has nothing more to do */
};

/* The device on whose stream a stage runs; NULL if it has no stream. */
Device *feeder_stage_device(const Feeder *f, StageId s);
/* 1 if the stage is on a stream and has work to do with these devices. */
int feeder_does(const Feeder *f, StageId s);

/* Allocates memory and events of a buffer; it is closed after a failure. */
int feeder_buffer_open(Feeder *f, Buffer *b, Err *err);
void feeder_buffer_close(Feeder *f, Buffer *b); /* a zeroed buffer is allowed */

/* The event that happens when the batch is on the model device, and the device of that event. */
Event *feeder_ready_event(const Feeder *f, const Buffer *b);
Device *feeder_ready_device(const Feeder *f);

/* Enqueues copy, preprocessing and peer copy of one batch, without waiting. */
int feeder_buffer_enqueue(Feeder *f, Buffer *b, Slot *s, Err *err);

/* Counts the times of the device stages of the buffer's last batch. The consumer is done with it, so every
 * event has happened. Call it for the buffers in the order of their batches. */
void feeder_buffer_count(Feeder *f, Buffer *b);
/* Counts the time of the copy that has just ended. since: when the feeder began with the batch. */
void feeder_buffer_count_copy(Feeder *f, const Buffer *b, uint64_t since);

#endif
