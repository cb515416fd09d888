/* device_sim_private.h - shared by device_sim.c (the device), sim_event.c and sim_stream.c. */
#ifndef MYXTTS_DEVICE_SIM_PRIVATE_H
#define MYXTTS_DEVICE_SIM_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/thread.h"
#include "device/device.h"
#include "device/sim.h"

#define KEPT_RECORDS 8 /* of an event */

typedef enum { ENGINE_NONE = -1, ENGINE_IN, ENGINE_OUT, ENGINE_PEER, ENGINE_COUNT } Engine;

/* One simulated GPU. */
typedef struct Gpu {
    Device device;
    atomic_int references;            /* by the device itself and by its events */
    atomic_int streams;               /* number of open streams */
    Sim own;                          /* used if no machine was given */
    pthread_mutex_t mutex;            /* protects everything below */
    double engine_free[ENGINE_COUNT]; /* virtual time at which the engine becomes free */
    uint64_t memory_used;
    Err error;         /* the first failure */
    atomic_int failed; /* set after error; read without the mutex */
} Gpu;

/* One recording of an event. */
typedef struct Record {
    double at; /* virtual time at which it happened */
    int failed;
} Record;

typedef struct SimStream SimStream;

/* An event may be recorded again before everyone has waited for it, so the last few records are kept. */
typedef struct SimEvent {
    Event base;
    Gpu *gpu;
    atomic_int references; /* by its owner and by the commands that refer to it */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint64_t recorded, happened; /* how often; happened <= recorded */
    Record kept[KEPT_RECORDS];   /* record n (from 1) is at n % KEPT_RECORDS */
    SimStream *stream;           /* of the last record */
    uint64_t number;             /* of the last record's command in that stream */
} SimEvent;

typedef enum { CMD_COPY, CMD_ZERO, CMD_RUN, CMD_RECORD, CMD_WAIT, CMD_WAIT_FOREIGN } CommandKind;

/* One entry of a stream's queue, in cache lines of its own: the caller writes the next one while the thread
 * reads this one. */
typedef struct Command {
    _Alignas(64) CommandKind kind;
    Engine engine;
    int stage; /* StageId whose simulated time and failure apply, or STAGE_NONE */
    int64_t batch;
    double enqueued; /* time of the call */
    double seconds;  /* simulated duration */
    void *dst;
    const void *src;
    size_t bytes;
    Event *event;
    uint64_t generation; /* which record of the event */
    void (*fn)(void *arg);
    _Alignas(16) char arg[DEVICE_ARG_BYTES];
} Command;

struct SimStream {
    Stream base;
    Gpu *gpu;
    Thread thread;
    atomic_int references;
    /* Used by the caller only. */
    int64_t batch;
    uint64_t batch_bytes;
    uint64_t enqueued; /* commands since the stream was opened */
    /* Used by the thread only. */
    double time;   /* virtual end of the last command */
    uint64_t done; /* commands since the stream was opened */
    /* Used by both, under the mutex. */
    pthread_mutex_t mutex;
    pthread_cond_t work, room, drained, wake;
    Command *ring;   /* [QUEUE_CAP] */
    int head, count; /* count includes the command being executed */
    int idle, room_waiters, drained_waiters, closing;
    uint64_t hurry_to; /* commands up to this number do not sleep */
    SimEvent *awaited; /* the event that the thread is waiting for, or NULL */
};

static inline Gpu *sim_gpu(Device *d) { return d->impl; }
int sim_no_memory(const Device *d, const char *what, Err *err);

/* ---- device_sim.c ---- */

/* Drops a reference; the last one frees the GPU. Events may outlive the device they belong to. */
void sim_gpu_release(Gpu *g);
/* Marks the GPU as failed. Only the first failure is kept; later ones are its consequences. */
void sim_gpu_fail(Gpu *g, const Err *err);
/* 0, or the failure of the device. */
int sim_gpu_state(Gpu *g, Err *err);
PeerPath sim_peer_path(Device *d, Device *other);

/* ---- sim_event.c ---- */

void sim_event_release(SimEvent *e);
/* Calls sim_stream_hurry for the stream that will record e, up to that record. */
void sim_event_hurry(SimEvent *e);
/* Called by the stream's thread when it gets to the record. */
void sim_event_happen(SimEvent *e, uint64_t generation, double at);
/* Waits until record `generation` has happened. If it is so old that it is no longer kept, returns the oldest
 * that is. */
Record sim_event_await(SimEvent *e, uint64_t generation);
/* How often the event has been recorded. A wait is for the last record made before it. */
uint64_t sim_event_recorded(SimEvent *e);

/* ---- sim_stream.c ---- */

/* Drops a reference; the last one frees the stream, whose thread has ended. */
void sim_stream_release(SimStream *s);
/* From now on commands up to number `to` skip their simulated delays. */
void sim_stream_hurry(SimStream *s, uint64_t to);

/* ---- functions of the table of device_sim.c that are in sim_event.c and sim_stream.c ---- */

void sim_event_close(Event *e);
int sim_event_happened(Event *e);
int sim_event_open(Device *d, Event **e, int timed, Err *err);
double sim_event_seconds(Event *a, Event *b);
int sim_event_wait(Event *e, Err *err);
int sim_copy_in(Stream *stream, void *dst, const void *src, size_t bytes, Err *err);
int sim_copy_out(Stream *stream, void *dst, const void *src, size_t bytes, Err *err);
int sim_copy_peer(Stream *stream, void *dst, Device *dst_device, const void *src, size_t bytes, Err *err);
int sim_event_record(Event *e, Stream *stream, Err *err);
int sim_fill_zero(Stream *stream, void *dst, size_t bytes, Err *err);
int sim_run(Stream *stream, void (*fn)(void *arg), const void *arg, size_t arg_bytes, int sim_stage,
            Err *err);
void sim_stream_batch(Stream *s, int64_t batch, uint64_t bytes);
void sim_stream_close(Stream *stream);
void *sim_stream_native(Stream *s);
int sim_stream_open(Device *d, Stream **out, const char *name, Err *err);
int sim_stream_wait_event(Stream *stream, Event *e, Err *err);
int sim_stream_wait_idle(Stream *stream, Err *err);

#endif
