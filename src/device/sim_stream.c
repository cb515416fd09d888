/* sim_stream.c - streams of a simulated GPU: a thread with a queue of commands; device_sim.c says how time is
 * kept. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/mem.h"
#include "device/device_sim_private.h"

#define QUEUE_CAP 1024              /* commands that a stream can hold */
#define QUEUE_ROOM (QUEUE_CAP - 64) /* waiting threads are woken at this fill level, not for every place */
#define TIMER_SLACK_NS 1000UL       /* of the threads' sleeps: they end when they should */

/* ---- lifetime and hurrying ---- */

/* The shell of a stream: its thread has ended before. */
void sim_stream_release(SimStream *s)
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

void sim_stream_hurry(SimStream *s, uint64_t to)
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
        sim_event_hurry(e);
        sim_event_release(e);
    }
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
    err_about(&err, ERR_ABOUT_DEVICE, s->gpu->device.name);
    sim_gpu_fail(s->gpu, &err);
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
        sim_event_hurry(e);
    Record r = sim_event_await(e, generation);
    pthread_mutex_lock(&s->mutex);
    s->awaited = NULL;
    pthread_mutex_unlock(&s->mutex);
    s->time = fmax(s->time, r.at);
    if (r.failed && e->gpu != s->gpu) {
        Err err;
        sim_gpu_state(e->gpu, &err);
        sim_gpu_fail(s->gpu, &err);
    }
    sim_event_release(e);
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
        sim_event_happen((SimEvent *)c->event, c->generation, s->time);
        sim_event_release((SimEvent *)c->event);
        break;
    case CMD_WAIT:
        execute_wait(s, (SimEvent *)c->event, c->generation);
        break;
    /* An event of a real GPU has no virtual time: it happens when it happens. */
    case CMD_WAIT_FOREIGN: {
        Err err = {0};
        if (c->event->device->ops->event_wait(c->event, &err))
            sim_gpu_fail(s->gpu, &err);
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

/* Its thread runs from here on; *out is set when it does. */
int sim_stream_open(Device *d, Stream **out, const char *name, Err *err)
{
    *out = NULL;
    SimStream *s = mem_calloc(1, sizeof *s);
    if (!s)
        return sim_no_memory(d, "a stream", err);
    s->base.device = d;
    s->gpu = sim_gpu(d);
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
                     : sim_no_memory(d, "a stream's queue", err);
    if (rc) {
        sim_stream_release(s);
        return rc;
    }
    atomic_fetch_add(&s->gpu->streams, 1);
    *out = &s->base;
    return 0;
}

/* All work is done, but no more simulated time passes. */
void sim_stream_close(Stream *stream)
{
    if (!stream)
        return;
    SimStream *s = (SimStream *)stream;
    pthread_mutex_lock(&s->mutex);
    s->closing = 1;
    pthread_cond_broadcast(&s->work);
    pthread_mutex_unlock(&s->mutex);
    sim_stream_hurry(s, UINT64_MAX);
    thread_join(&s->thread);
    atomic_fetch_sub(&s->gpu->streams, 1);
    free(s->ring);
    s->ring = NULL;
    sim_stream_release(s);
}

/* Until the queue is empty; then the device's failure, if there was one. */
int sim_stream_wait_idle(Stream *stream, Err *err)
{
    SimStream *s = (SimStream *)stream;
    pthread_mutex_lock(&s->mutex);
    s->drained_waiters++;
    while (s->count > 0)
        pthread_cond_wait(&s->drained, &s->mutex);
    s->drained_waiters--;
    pthread_mutex_unlock(&s->mutex);
    return sim_gpu_state(s->gpu, err);
}

void sim_stream_batch(Stream *s, int64_t batch, uint64_t bytes)
{
    ((SimStream *)s)->batch = batch;
    ((SimStream *)s)->batch_bytes = bytes;
}

void *sim_stream_native(Stream *s) { return NULL; }

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

/* Host to device: the time of stage h2d. */
int sim_copy_in(Stream *stream, void *dst, const void *src, size_t bytes, Err *err)
{
    SimStream *s = (SimStream *)stream;
    return enqueue_copy(s, ENGINE_IN, STAGE_H2D, sim_seconds(stream->device->sim, STAGE_H2D, s->batch, bytes),
                        dst, src, bytes);
}

/* Copies to the host have no stage: they use bandwidth and latency of h2d, without jitter, stalls and
 * failures. */
int sim_copy_out(Stream *stream, void *dst, const void *src, size_t bytes, Err *err)
{
    SimStream *s = (SimStream *)stream;
    return enqueue_copy(s, ENGINE_OUT, STAGE_NONE, sim_seconds(stream->device->sim, STAGE_H2D, -1, bytes),
                        dst, src, bytes);
}

/* Within a GPU a copy is a kernel; to another one it takes the peer engine. */
int sim_copy_peer(Stream *stream, void *dst, Device *dst_device, const void *src, size_t bytes, Err *err)
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

/* Takes no simulated time. */
int sim_fill_zero(Stream *stream, void *dst, size_t bytes, Err *err)
{
    SimStream *s = (SimStream *)stream;
    Command *c = enqueue_begin(s, CMD_ZERO, ENGINE_NONE, STAGE_NONE);
    c->dst = dst;
    c->bytes = bytes;
    enqueue_end(s);
    return 0;
}

/* A kernel takes the time of its stage, however long the work really takes. */
int sim_run(Stream *stream, void (*fn)(void *arg), const void *arg, size_t arg_bytes, int sim_stage, Err *err)
{
    ASSERT_CMP(arg_bytes, <=, DEVICE_ARG_BYTES);
    SimStream *s = (SimStream *)stream;
    double seconds =
        sim_stage < 0 ? 0 : sim_seconds(stream->device->sim, (StageId)sim_stage, s->batch, s->batch_bytes);
    Command *c = enqueue_begin(s, CMD_RUN, ENGINE_NONE, sim_stage);
    c->seconds = seconds;
    c->fn = fn;
    if (arg_bytes)
        memcpy(c->arg, arg, arg_bytes);
    enqueue_end(s);
    return 0;
}

static void nothing(void *arg) { (void)arg; }

int device_sim_pass(Stream *stream, int sim_stage, double share, Err *err)
{
    SimStream *s = (SimStream *)stream;
    double seconds = share * sim_seconds(stream->device->sim, (StageId)sim_stage, s->batch, s->batch_bytes);
    Command *c = enqueue_begin(s, CMD_RUN, ENGINE_NONE, sim_stage);
    c->seconds = seconds;
    c->fn = nothing;
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

/* The event now belongs to this stream: it holds a reference to it. */
int sim_event_record(Event *e, Stream *stream, Err *err)
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
        sim_stream_release(old);
    enqueue_event(s, CMD_RECORD, e, generation);
    return 0;
}

/* Nothing is enqueued for what has happened or was never recorded. */
int sim_stream_wait_event(Stream *stream, Event *e, Err *err)
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
    uint64_t generation = sim_event_recorded(event);
    if (generation == 0)
        return 0;
    atomic_fetch_add(&event->references, 1);
    enqueue_event(s, CMD_WAIT, e, generation);
    return 0;
}
