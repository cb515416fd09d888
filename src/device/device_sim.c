/* device_sim.c - a GPU made of threads. See device.h, sim.h.
 *
 * A stream is a thread with a queue of commands. Each command does its real work and takes the time that the
 * simulated machine gives it. Time is kept as numbers, so that a thread that wakes up late does not make the
 * machine slower:
 *   start = max(end of the command before, event waited for, time it was enqueued, its copy engine is free)
 *   end   = start + max(modelled time, time the work really took)
 * The thread sleeps until `end`; one that is behind does not sleep, and so catches up. Events carry these
 * times. Copy engines: one for each direction (in, out, to peers), shared by the device's streams. Kernels of
 * two streams do not slow each other.
 * Closing a stream makes it hurry: it does all its work but sleeps no more, and makes those streams hurry
 * whose events it waits for. So a close never waits for simulated time.
 * Lifetimes: an event lives until it is closed and no queued command names it; a Gpu until it is closed and
 * has no event; the shell of a stream until it is closed and no event was last recorded on it. */
#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "device/device.h"
#include "device/sim.h"

#define QUEUE_CAP 1024              /* commands that a stream can hold */
#define QUEUE_ROOM (QUEUE_CAP - 64) /* whoever waits for room is woken at this fill, not for every place */
#define KEPT_RECORDS 8
#define ALIGNMENT 256
#define GARBAGE_BYTES \
    ((size_t)64 << 20)        /* fresh memory begins with 0xFF (NaNs): a GPU's is not zero either */
#define TIMER_SLACK_NS 1000UL /* of the threads' sleeps: they end when they should */

typedef enum { ENGINE_NONE = -1, ENGINE_IN, ENGINE_OUT, ENGINE_PEER, ENGINE_COUNT } Engine;

/* One simulated GPU. */
typedef struct Gpu {
    Device device;
    atomic_int references; /* the device itself and its events */
    atomic_int streams;    /* open */
    Sim own;               /* where no machine was given */
    pthread_mutex_t mutex; /* of everything below */
    double engine_free[ENGINE_COUNT];
    uint64_t memory_used;
    Err error;         /* the first failure */
    atomic_int failed; /* set after error; read without the mutex */
} Gpu;

/* One time that an event was recorded. */
typedef struct Record {
    double at; /* virtual time at which it happened */
    int failed;
} Record;

typedef struct SimStream SimStream;

/* An event may be recorded again before everyone has looked at it: the last few records are kept. */
typedef struct SimEvent {
    Event base;
    Gpu *gpu;
    atomic_int references; /* its owner and the commands that name it */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint64_t recorded, happened; /* how many times; happened <= recorded */
    Record kept[KEPT_RECORDS];   /* record n (from 1) is at n % KEPT_RECORDS */
    SimStream *stream;           /* of the last record, and its number there */
    uint64_t number;
} SimEvent;

typedef enum { CMD_COPY, CMD_ZERO, CMD_RUN, CMD_RECORD, CMD_WAIT, CMD_WAIT_FOREIGN } CommandKind;

/* One entry of a stream's queue. Cache lines of its own: the caller writes the next while the thread reads
 * this. */
typedef struct Command {
    _Alignas(64) CommandKind kind;
    Engine engine;
    int stage; /* whose time and failure apply, or STAGE_NONE */
    int64_t batch;
    double enqueued, seconds; /* seconds: as modelled */
    void *dst;
    const void *src;
    size_t bytes;
    Event *event;
    uint64_t generation; /* of the event */
    void (*fn)(void *arg);
    _Alignas(16) char arg[DEVICE_ARG_BYTES];
} Command;

struct SimStream {
    Stream base;
    Gpu *gpu;
    Thread thread;
    atomic_int references;
    /* of the caller's side */
    int64_t batch;
    uint64_t enqueued; /* commands, ever */
    /* of the thread's side */
    double time;   /* virtual end of the last command */
    uint64_t done; /* commands, ever */
    /* of both */
    pthread_mutex_t mutex;
    pthread_cond_t work, room, drained, wake;
    Command *ring;   /* [QUEUE_CAP] */
    int head, count; /* the command being executed is still counted */
    int idle, room_waiters, drained_waiters, closing;
    uint64_t hurry_to; /* commands up to this number do not sleep */
    SimEvent *awaited; /* by the thread now */
};

static int no_memory(const Device *d, const char *what, Err *err)
{
    return err_set(err, ERR_NOMEM, "device %s: no memory for %s", d->name, what);
}

/* ---- the device: failure, memory, lifetime ---- */

static Gpu *gpu_of(Device *d) { return d->impl; }

/* The last reference frees it: events may outlive the device they belong to. */
static void gpu_release(Gpu *g)
{
    if (atomic_fetch_sub(&g->references, 1) > 1)
        return;
    pthread_mutex_destroy(&g->mutex);
    sim_close(&g->own);
    free(g);
}

/* The first failure stays; what comes later is its consequence. */
static void gpu_fail(Gpu *g, const Err *err)
{
    pthread_mutex_lock(&g->mutex);
    if (!atomic_load(&g->failed)) {
        g->error = *err;
        atomic_store(&g->failed, 1);
    }
    pthread_mutex_unlock(&g->mutex);
}

/* 0, or the failure that sticks to the device. */
static int gpu_state(Gpu *g, Err *err)
{
    if (!atomic_load(&g->failed))
        return 0;
    if (err) /* written once, before `failed` */
        *err = g->error;
    return g->error.code;
}

static void sim_device_close(Device *d)
{
    Gpu *g = gpu_of(d);
    ASSERT_CMP(atomic_load(&g->streams), ==, 0);
    gpu_release(g);
}

/* The size stands before the memory, so that freeing can give it back. */
static int sim_memory_alloc(Device *d, void **p, size_t bytes, Err *err)
{
    Gpu *g = gpu_of(d);
    double mb = 1.0 / (double)(1 << 20);
    pthread_mutex_lock(&g->mutex);
    uint64_t used = g->memory_used, total = d->sim->memory;
    int fits = bytes <= total && used <= total - bytes;
    if (fits)
        g->memory_used += bytes;
    pthread_mutex_unlock(&g->mutex);
    if (!fits)
        return err_set(err, ERR_DEVICE,
                       "device %s is out of memory: %.1f MB asked for, %.1f MB in use, and it has %.1f MB",
                       d->name, (double)bytes * mb, (double)used * mb, (double)total * mb);
    char *block = mem_aligned(ALIGNMENT, bytes + ALIGNMENT, 1);
    if (!block) {
        pthread_mutex_lock(&g->mutex);
        g->memory_used -= bytes;
        pthread_mutex_unlock(&g->mutex);
        return no_memory(d, "its simulated memory", err);
    }
    memcpy(block, &bytes, sizeof bytes);
    memset(block + ALIGNMENT, 0xFF, bytes < GARBAGE_BYTES ? bytes : GARBAGE_BYTES);
    *p = block + ALIGNMENT;
    return 0;
}

static void sim_memory_free(Device *d, void *p)
{
    if (!p)
        return;
    Gpu *g = gpu_of(d);
    char *block = (char *)p - ALIGNMENT;
    size_t bytes;
    memcpy(&bytes, block, sizeof bytes);
    free(block);
    pthread_mutex_lock(&g->mutex);
    g->memory_used -= bytes;
    pthread_mutex_unlock(&g->mutex);
}

/* Any memory of the host will do: the copies are memmove. */
static int sim_pinned_alloc(Device *d, void **p, size_t bytes, Err *err)
{
    *p = mem_aligned(ALIGNMENT, bytes ? bytes : 1, 1);
    return *p ? 0 : no_memory(d, "pinned host memory", err);
}

static void sim_pinned_free(Device *d, void *p) { free(p); }

static void sim_memory_info(Device *d, DeviceMemory *m)
{
    *m = (DeviceMemory){d->cap, __atomic_load_n(&d->used, __ATOMIC_RELAXED), d->sim->memory};
}

/* Simulated GPUs reach each other directly. */
static PeerPath sim_peer_path(Device *d, Device *other)
{
    return device_same(d, other) ? PEER_SAME : other->ops->kind == DEVICE_SIM ? PEER_DIRECT : PEER_STAGED;
}

/* ---- hurrying ---- */

/* The shell of a stream: its thread has ended before. */
static void stream_release(SimStream *s)
{
    if (atomic_fetch_sub(&s->references, 1) > 1)
        return;
    pthread_mutex_destroy(&s->mutex);
    pthread_cond_destroy(&s->work);
    pthread_cond_destroy(&s->room);
    pthread_cond_destroy(&s->drained);
    pthread_cond_destroy(&s->wake);
    free(s->ring);
    free(s);
}

/* Lets go of the stream it was last recorded on, and of its device. */
static void event_release(SimEvent *e)
{
    if (atomic_fetch_sub(&e->references, 1) > 1)
        return;
    pthread_mutex_destroy(&e->mutex);
    pthread_cond_destroy(&e->changed);
    if (e->stream)
        stream_release(e->stream);
    gpu_release(e->gpu);
    free(e);
}

static void stream_hurry(SimStream *s, uint64_t to);

/* Makes the stream hurry that will record e. No two locks are held at once; what is used in between is held
 * by references. */
static void event_hurry(SimEvent *e)
{
    pthread_mutex_lock(&e->mutex);
    SimStream *s = e->happened < e->recorded ? e->stream : NULL;
    uint64_t number = e->number;
    if (s)
        atomic_fetch_add(&s->references, 1);
    pthread_mutex_unlock(&e->mutex);
    if (s) {
        stream_hurry(s, number);
        stream_release(s);
    }
}

static void stream_hurry(SimStream *s, uint64_t to)
{
    pthread_mutex_lock(&s->mutex);
    /* A stream that hurries that far already has passed it on: this ends the recursion. */
    int further = to > s->hurry_to;
    SimEvent *e = further ? s->awaited : NULL;
    if (further) {
        s->hurry_to = to;
        pthread_cond_broadcast(&s->wake);
    }
    if (e)
        atomic_fetch_add(&e->references, 1);
    pthread_mutex_unlock(&s->mutex);
    if (e) {
        event_hurry(e);
        event_release(e);
    }
}

/* ---- events ---- */

static int sim_event_open(Device *d, Event **e, int timed, Err *err)
{
    SimEvent *event = mem_calloc(1, sizeof *event);
    if (!event)
        return no_memory(d, "an event", err);
    event->base.device = d;
    event->gpu = gpu_of(d);
    atomic_fetch_add(&event->gpu->references, 1);
    atomic_init(&event->references, 1);
    pthread_mutex_init(&event->mutex, NULL);
    pthread_cond_init(&event->changed, NULL);
    *e = &event->base;
    return 0;
}

static void sim_event_close(Event *e)
{
    if (e)
        event_release((SimEvent *)e);
}

/* Called by the stream's thread when it gets to the record. */
static void event_happen(SimEvent *e, uint64_t generation, double at)
{
    pthread_mutex_lock(&e->mutex);
    e->kept[generation % KEPT_RECORDS] = (Record){at, atomic_load(&e->gpu->failed)};
    if (generation > e->happened)
        e->happened = generation;
    pthread_cond_broadcast(&e->changed);
    pthread_mutex_unlock(&e->mutex);
}

/* Waits until record `generation` has happened. One so old that it is not kept has the time of the oldest
 * that is. */
static Record event_await(SimEvent *e, uint64_t generation)
{
    pthread_mutex_lock(&e->mutex);
    while (e->happened < generation)
        pthread_cond_wait(&e->changed, &e->mutex);
    if (generation + KEPT_RECORDS <= e->happened)
        generation = e->happened - KEPT_RECORDS + 1;
    Record r = e->kept[generation % KEPT_RECORDS];
    pthread_mutex_unlock(&e->mutex);
    return r;
}

/* How often it has been recorded: a wait is for the last record made before it. */
static uint64_t event_recorded(SimEvent *e)
{
    pthread_mutex_lock(&e->mutex);
    uint64_t n = e->recorded;
    pthread_mutex_unlock(&e->mutex);
    return n;
}

/* A failed device is told here too, once the event has happened. */
static int sim_event_happened(Event *e)
{
    SimEvent *event = (SimEvent *)e;
    pthread_mutex_lock(&event->mutex);
    int done = event->happened == event->recorded;
    pthread_mutex_unlock(&event->mutex);
    int rc = done ? gpu_state(event->gpu, NULL) : 0;
    return rc ? rc : done;
}

static int sim_event_wait(Event *e, Err *err)
{
    SimEvent *event = (SimEvent *)e;
    event_await(event, event_recorded(event));
    return gpu_state(event->gpu, err);
}

/* Virtual time of the last record that happened. */
static double event_time(SimEvent *e)
{
    pthread_mutex_lock(&e->mutex);
    double at = e->kept[e->happened % KEPT_RECORDS].at;
    pthread_mutex_unlock(&e->mutex);
    return at;
}

static double sim_event_seconds(Event *a, Event *b)
{
    return event_time((SimEvent *)b) - event_time((SimEvent *)a);
}

/* ---- streams: the thread's side ---- */

/* Virtual time is reached, or the stream is told to hurry. */
static void sleep_until(SimStream *s, double when)
{
    if (when <= clock_now())
        return;
    struct timespec t = {(time_t)when, (long)((when - floor(when)) * 1e9)};
    pthread_mutex_lock(&s->mutex);
    while (s->done >= s->hurry_to && pthread_cond_timedwait(&s->wake, &s->mutex, &t) != ETIMEDOUT) {
    }
    pthread_mutex_unlock(&s->mutex);
}

/* A failure that was asked for with --sim fail=STAGE:AT. */
static int command_fails(SimStream *s, const Command *c)
{
    if (c->stage < 0 || !sim_fails(s->gpu->device.sim, (StageId)c->stage, c->batch))
        return 0;
    Err err;
    err_set(&err, ERR_DEVICE, "device %s: simulated failure of stage %s at batch %lld", s->gpu->device.name,
            stage_name((StageId)c->stage), (long long)c->batch);
    gpu_fail(s->gpu, &err);
    return 1;
}

/* The real work, so that the bytes are those of a real device. */
static void do_work(Command *c)
{
    if (c->kind == CMD_COPY)
        memmove(c->dst, c->src, c->bytes);
    else if (c->kind == CMD_ZERO)
        memset(c->dst, 0, c->bytes);
    else
        c->fn(c->arg);
}

/* Work: copy, fill or kernel. The engine is taken when the length of the command is known. */
static void execute_work(SimStream *s, Command *c)
{
    Gpu *g = s->gpu;
    if (atomic_load(&g->failed) || command_fails(s, c))
        return;
    double begun = clock_now();
    do_work(c);
    double took = fmax(c->seconds, clock_now() - begun);
    if (c->engine == ENGINE_NONE) {
        s->time += took;
    } else {
        pthread_mutex_lock(&g->mutex);
        s->time = g->engine_free[c->engine] = fmax(s->time, g->engine_free[c->engine]) + took;
        pthread_mutex_unlock(&g->mutex);
    }
    if (c->seconds > 0)
        sleep_until(s, s->time);
}

/* A failed event of another device is that device's failure: what follows here would work on memory that was
 * never written. */
static void execute_wait(SimStream *s, SimEvent *e, uint64_t generation)
{
    pthread_mutex_lock(&s->mutex);
    s->awaited = e;
    /* Set under the lock: whoever makes this stream hurry from now on sees what it waits for. */
    int hurried = s->done < s->hurry_to;
    pthread_mutex_unlock(&s->mutex);
    if (hurried)
        event_hurry(e);
    Record r = event_await(e, generation);
    pthread_mutex_lock(&s->mutex);
    s->awaited = NULL;
    pthread_mutex_unlock(&s->mutex);
    s->time = fmax(s->time, r.at);
    if (r.failed && e->gpu != s->gpu) {
        Err err;
        gpu_state(e->gpu, &err);
        gpu_fail(s->gpu, &err);
    }
    event_release(e);
}

/* One command. It begins when the one before has ended, and not before it was enqueued. */
static void execute(SimStream *s, Command *c)
{
    s->time = fmax(s->time, c->enqueued);
    switch (c->kind) {
    case CMD_COPY:
    case CMD_ZERO:
    case CMD_RUN:
        execute_work(s, c);
        break;
    case CMD_RECORD:
        event_happen((SimEvent *)c->event, c->generation, s->time);
        event_release((SimEvent *)c->event);
        break;
    case CMD_WAIT:
        execute_wait(s, (SimEvent *)c->event, c->generation);
        break;
    /* An event of a real GPU has no virtual time: it happens when it happens. */
    case CMD_WAIT_FOREIGN: {
        Err err = {0};
        if (c->event->device->ops->event_wait(c->event, &err))
            gpu_fail(s->gpu, &err);
        s->time = fmax(s->time, clock_now());
        break;
    }
    }
}

/* The thread of a stream: commands in order, each without the lock. */
static void *stream_main(void *arg)
{
    SimStream *s = arg;
    prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS);
    pthread_mutex_lock(&s->mutex);
    for (;;) {
        while (s->count == 0 && !s->closing) {
            s->idle = 1;
            pthread_cond_wait(&s->work, &s->mutex);
        }
        s->idle = 0;
        if (s->count == 0)
            break;
        Command *c = &s->ring[s->head];
        pthread_mutex_unlock(&s->mutex);
        execute(s, c);
        pthread_mutex_lock(&s->mutex);
        s->head = (s->head + 1) % QUEUE_CAP;
        s->count--;
        s->done++;
        /* Woken in groups: see QUEUE_ROOM. */
        if (s->room_waiters && s->count <= QUEUE_ROOM)
            pthread_cond_broadcast(&s->room);
        if (s->drained_waiters && s->count == 0)
            pthread_cond_broadcast(&s->drained);
    }
    pthread_mutex_unlock(&s->mutex);
    return NULL;
}

/* ---- streams: the caller's side ---- */

static int sim_stream_open(Device *d, Stream **out, const char *name, Err *err)
{
    SimStream *s = mem_calloc(1, sizeof *s);
    if (!s)
        return no_memory(d, "a stream", err);
    s->base.device = d;
    s->gpu = gpu_of(d);
    s->batch = -1;
    atomic_init(&s->references, 1);
    s->time = clock_now();
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    /* Sleeps are until a time of the monotonic clock. */
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&s->mutex, NULL);
    pthread_cond_init(&s->work, NULL);
    pthread_cond_init(&s->room, NULL);
    pthread_cond_init(&s->drained, NULL);
    pthread_cond_init(&s->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    char label[16];
    snprintf(label, sizeof label, "%.6s %s", d->name, name);
    s->ring = mem_aligned(_Alignof(Command), QUEUE_CAP, sizeof *s->ring);
    int rc = s->ring ? thread_start(&s->thread, label, stream_main, s, err)
                     : no_memory(d, "a stream's queue", err);
    if (rc) {
        stream_release(s);
        return rc;
    }
    atomic_fetch_add(&s->gpu->streams, 1);
    *out = &s->base;
    return 0;
}

/* All work is done, but no more simulated time passes. */
static void sim_stream_close(Stream *stream)
{
    if (!stream)
        return;
    SimStream *s = (SimStream *)stream;
    pthread_mutex_lock(&s->mutex);
    s->closing = 1;
    pthread_cond_broadcast(&s->work);
    pthread_mutex_unlock(&s->mutex);
    stream_hurry(s, UINT64_MAX);
    thread_join(&s->thread);
    atomic_fetch_sub(&s->gpu->streams, 1);
    free(s->ring);
    s->ring = NULL;
    stream_release(s);
}

static int sim_stream_wait_idle(Stream *stream, Err *err)
{
    SimStream *s = (SimStream *)stream;
    pthread_mutex_lock(&s->mutex);
    s->drained_waiters++;
    while (s->count > 0)
        pthread_cond_wait(&s->drained, &s->mutex);
    s->drained_waiters--;
    pthread_mutex_unlock(&s->mutex);
    return gpu_state(s->gpu, err);
}

static void sim_stream_batch(Stream *s, int64_t batch) { ((SimStream *)s)->batch = batch; }

static void *sim_stream_native(Stream *s) { return NULL; }

/* The next free place of the queue, to be filled and handed over by enqueue_end; the stream is locked in
 * between. */
static Command *enqueue_begin(SimStream *s, CommandKind kind, Engine engine, int stage)
{
    double now = clock_now();
    pthread_mutex_lock(&s->mutex);
    /* A host that runs a whole queue ahead waits, as with a real GPU. */
    if (s->count == QUEUE_CAP) {
        s->room_waiters++;
        while (s->count == QUEUE_CAP)
            pthread_cond_wait(&s->room, &s->mutex);
        s->room_waiters--;
        now = clock_now();
    }
    Command *c = &s->ring[(s->head + s->count) % QUEUE_CAP];
    c->kind = kind;
    c->engine = engine;
    c->stage = stage;
    c->batch = s->batch;
    c->enqueued = now;
    c->seconds = 0;
    return c;
}

/* Wakes the thread only when it sleeps. */
static void enqueue_end(SimStream *s)
{
    s->count++;
    s->enqueued++;
    if (s->idle) {
        s->idle = 0;
        pthread_cond_signal(&s->work);
    }
    pthread_mutex_unlock(&s->mutex);
}

/* seconds: as modelled; the real copy may take longer. */
static int enqueue_copy(SimStream *s, Engine engine, int stage, double seconds, void *dst, const void *src,
                        size_t bytes)
{
    Command *c = enqueue_begin(s, CMD_COPY, engine, stage);
    c->seconds = seconds;
    c->dst = dst;
    c->src = src;
    c->bytes = bytes;
    enqueue_end(s);
    return 0;
}

static int sim_copy_in(Stream *stream, void *dst, const void *src, size_t bytes, Err *err)
{
    SimStream *s = (SimStream *)stream;
    return enqueue_copy(s, ENGINE_IN, STAGE_H2D, sim_seconds(stream->device->sim, STAGE_H2D, s->batch, bytes),
                        dst, src, bytes);
}

/* The way back has no stage of its own: bandwidth and latency of h2d, without jitter, stalls and failures. */
static int sim_copy_out(Stream *stream, void *dst, const void *src, size_t bytes, Err *err)
{
    SimStream *s = (SimStream *)stream;
    return enqueue_copy(s, ENGINE_OUT, STAGE_NONE, sim_seconds(stream->device->sim, STAGE_H2D, -1, bytes),
                        dst, src, bytes);
}

/* Within a GPU a copy is a kernel; to another one it takes the peer engine. */
static int sim_copy_peer(Stream *stream, void *dst, Device *dst_device, const void *src, size_t bytes,
                         Err *err)
{
    SimStream *s = (SimStream *)stream;
    switch (sim_peer_path(stream->device, dst_device)) {
    case PEER_SAME:
        return enqueue_copy(s, ENGINE_NONE, STAGE_NONE, 0, dst, src, bytes);
    case PEER_DIRECT:
        return enqueue_copy(s, ENGINE_PEER, STAGE_PEER,
                            sim_seconds(stream->device->sim, STAGE_PEER, s->batch, bytes), dst, src, bytes);
    case PEER_STAGED:
        break;
    }
    return err_set(err, ERR_DEVICE, "device %s: simulated GPUs copy only to each other, not to device %s",
                   stream->device->name, dst_device->name);
}

static int sim_fill_zero(Stream *stream, void *dst, size_t bytes, Err *err)
{
    SimStream *s = (SimStream *)stream;
    Command *c = enqueue_begin(s, CMD_ZERO, ENGINE_NONE, STAGE_NONE);
    c->dst = dst;
    c->bytes = bytes;
    enqueue_end(s);
    return 0;
}

/* The time of a kernel is that of its stage, whatever the work takes in truth. */
static int sim_run(Stream *stream, void (*fn)(void *arg), const void *arg, size_t arg_bytes, int sim_stage,
                   Err *err)
{
    ASSERT_CMP(arg_bytes, <=, DEVICE_ARG_BYTES);
    SimStream *s = (SimStream *)stream;
    double seconds = sim_stage < 0 ? 0 : sim_seconds(stream->device->sim, (StageId)sim_stage, s->batch, 0);
    Command *c = enqueue_begin(s, CMD_RUN, ENGINE_NONE, sim_stage);
    c->seconds = seconds;
    c->fn = fn;
    if (arg_bytes)
        memcpy(c->arg, arg, arg_bytes);
    enqueue_end(s);
    return 0;
}

static void enqueue_event(SimStream *s, CommandKind kind, Event *e, uint64_t generation)
{
    Command *c = enqueue_begin(s, kind, ENGINE_NONE, STAGE_NONE);
    c->event = e;
    c->generation = generation;
    enqueue_end(s);
}

static int sim_event_record(Event *e, Stream *stream, Err *err)
{
    ASSERT(e->device == stream->device);
    SimEvent *event = (SimEvent *)e;
    SimStream *s = (SimStream *)stream, *old;
    atomic_fetch_add(&event->references, 1);
    atomic_fetch_add(&s->references, 1);
    pthread_mutex_lock(&event->mutex);
    uint64_t generation = ++event->recorded;
    /* For event_hurry: which stream will record it, and as which command. */
    old = event->stream;
    event->stream = s;
    event->number = s->enqueued + 1;
    pthread_mutex_unlock(&event->mutex);
    if (old)
        stream_release(old);
    enqueue_event(s, CMD_RECORD, e, generation);
    return 0;
}

static int sim_stream_wait_event(Stream *stream, Event *e, Err *err)
{
    SimStream *s = (SimStream *)stream;
    switch (e->device->ops->kind) {
    case DEVICE_HOST: /* has happened */
        return 0;
    case DEVICE_CUDA:
        enqueue_event(s, CMD_WAIT_FOREIGN, e, 0);
        return 0;
    case DEVICE_SIM:
        break;
    }
    SimEvent *event = (SimEvent *)e;
    uint64_t generation = event_recorded(event);
    if (generation == 0)
        return 0;
    atomic_fetch_add(&event->references, 1);
    enqueue_event(s, CMD_WAIT, e, generation);
    return 0;
}

/* ---- the table ---- */

static const DeviceOps sim_ops = {
    .kind = DEVICE_SIM,
    .traits = {.simulated = 1},
    .close = sim_device_close,
    .memory_alloc = sim_memory_alloc,
    .memory_free = sim_memory_free,
    .pinned_alloc = sim_pinned_alloc,
    .pinned_free = sim_pinned_free,
    .stream_open = sim_stream_open,
    .stream_close = sim_stream_close,
    .stream_wait_idle = sim_stream_wait_idle,
    .stream_batch = sim_stream_batch,
    .event_open = sim_event_open,
    .event_close = sim_event_close,
    .event_record = sim_event_record,
    .event_happened = sim_event_happened,
    .event_wait = sim_event_wait,
    .event_seconds = sim_event_seconds,
    .stream_wait_event = sim_stream_wait_event,
    .copy_in = sim_copy_in,
    .copy_out = sim_copy_out,
    .copy_peer = sim_copy_peer,
    .fill_zero = sim_fill_zero,
    .peer_path = sim_peer_path,
    .run = sim_run,
    .stream_native = sim_stream_native,
    .memory_info = sim_memory_info,
};

/* Without a description the machine takes no time. */
int device_sim_open(Device **d, int index, const DeviceOptions *options, Err *err)
{
    Gpu *g = mem_calloc(1, sizeof *g);
    if (!g)
        return err_set(err, ERR_NOMEM, "no memory for the simulated GPU sim%d", index);
    int rc = options->sim ? 0 : sim_parse(&g->own, "", err);
    if (rc) {
        free(g);
        return rc;
    }
    pthread_mutex_init(&g->mutex, NULL);
    atomic_init(&g->references, 1);
    g->device = (Device){
        .ops = &sim_ops,
        .model = "simulated GPU",
        .index = index,
        .cap = options->memory_cap,
        .sim = options->sim ? options->sim : &g->own,
        .impl = g,
    };
    snprintf(g->device.name, sizeof g->device.name, "sim%d", index);
    *d = &g->device;
    return 0;
}
