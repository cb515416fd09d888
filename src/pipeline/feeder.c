/* feeder.c - see feeder.h. One mutex guards the buffers' states and the two queues; it is never held while
 * waiting for a device. */
#include "pipeline/feeder.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/mem.h"
#include "pipeline/feeder_private.h"

#define WATCH_SECONDS 0.5 /* how often a wait looks up to see whether a loader is stuck */

/* Rings of buffer numbers; there are never more than buffers. */
static void queue_put_int(int *queue, int head, int *count, int value)
{
    queue[(head + (*count)++) % POLICY_MOST_BUFFERS] = value;
}

static int queue_take_int(int *queue, int *head, int *count)
{
    int value = queue[*head];
    *head = (*head + 1) % POLICY_MOST_BUFFERS;
    --*count;
    return value;
}

/* One more buffer, free from now on; one that did not help before still has its memory. */
static int add_buffer(Feeder *f, Err *err)
{
    ASSERT_CMP(f->count, <, POLICY_MOST_BUFFERS);
    Buffer *b = &f->buffers[f->count];
    int rc = b->items ? 0 : feeder_buffer_open(f, b, err);
    if (rc)
        return rc;
    queue_put_int(f->free_queue, f->free_head, &f->free_count, f->count);
    f->count++;
    return 0;
}

/* The first error wins; everyone wakes up. */
static void fail(Feeder *f, const Err *err)
{
    pthread_mutex_lock(&f->mutex);
    if (err && err->code && err->code != ERR_STOPPED && !f->error.code)
        f->error = *err;
    f->stopped = 1;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->mutex);
    ring_stop(f->o.ring, err && err->code != ERR_STOPPED ? err : NULL);
}

/* Wakes up now and then even when nothing happens: a stuck loader makes no noise. */
static void wait_changed_locked(Feeder *f, double most)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (long)((most < WATCH_SECONDS ? most : WATCH_SECONDS) * 1e9);
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&f->changed, &f->mutex, &until);
}

/* The next READY slot; without loader threads it is filled here. */
static int next_slot(Feeder *f, Slot **s, Err *err)
{
    uint64_t since = counters_now(f->o.counters);
    int rc;
    for (;;) {
        rc = f->o.inline_loading ? loader_fill_next(f->o.loader, err) : 0;
        if (rc && rc != ERR_STOPPED)
            return rc;
        rc = ring_take(f->o.ring, s, WATCH_SECONDS, err);
        if (rc != 1)
            break;
        loader_watch(f->o.loader);
    }
    if (!f->o.inline_loading)
        counters_blocked_in(f->o.counters, STAGE_H2D, since);
    return rc;
}

static void grow_locked(Feeder *f)
{
    Err why = {0};
    if (add_buffer(f, &why)) {
        /* The memory cap is reached: do not try again. */
        f->o.most_buffers = f->wanted = f->count;
        log_info(f->o.log, "the pipeline stays at %d device buffers: %s", f->count, why.msg);
    } else
        log_debug(f->o.log, "the consumer had to wait: %d device buffers now", f->count);
}

/* The last buffer is removed when its turn comes and it is not in use. It keeps its memory: to free some
 * makes a GPU wait for all of its work. Returns 0 if that is later. */
static int shrink_locked(Feeder *f)
{
    const int last = f->count - 1;
    Buffer *b = &f->buffers[last];
    if (f->free_count == 0 || f->free_queue[f->free_head] != last || f->last_released == last ||
        f->last_consumed == last || (b->used && f->o.model->ops->event_happened(b->consumed) != 1))
        return 0;
    feeder_buffer_count(f, b);
    queue_take_int(f->free_queue, &f->free_head, &f->free_count);
    b->used = 0;
    b->order = NO_BATCH;
    f->count = last;
    log_debug(f->o.log, "the last buffers did not help: %d device buffers now", f->count);
    return 1;
}

/* More where they help, fewer where they did not. */
static void consider_buffers(Feeder *f)
{
    pthread_mutex_lock(&f->mutex);
    if (f->wanted >= f->count)
        f->wanted = policy_buffers_wanted(&f->window, f->started, f->count, f->o.most_buffers);
    while (f->count < f->wanted)
        grow_locked(f);
    while (f->count > f->wanted && shrink_locked(f))
        ;
    pthread_mutex_unlock(&f->mutex);
}

/* Every batch that was enqueued is on the model device. */
static int all_are_there_locked(const Feeder *f)
{
    for (int i = 0; i < f->count && f->started > 0; i++) {
        const Buffer *b = &f->buffers[i];
        if (b->order == f->started - 1)
            return feeder_ready_device(f)->ops->event_happened(feeder_ready_event(f, b)) == 1;
    }
    return 0;
}

/* Buffers whose batches the consumer has taken and not handed back. */
static int held_locked(const Feeder *f)
{
    int n = 0;
    for (int i = 0; i < f->count; i++)
        n += f->buffers[i].state == BUFFER_TRAINING;
    return n;
}

/* A consumer that holds on to its batches gets more buffers, as long as there may be more. 0: there may be
 * none, and only the consumer can continue. */
static int make_room_locked(Feeder *f)
{
    if (held_locked(f) == f->count && f->count < f->o.most_buffers) {
        grow_locked(f);
        f->wanted = f->count;
    }
    return held_locked(f) < f->count;
}

/* Each batch is counted once, whichever thread notices the wait. */
static void count_wait_locked(Feeder *f, Buffer *b)
{
    if (!b->late)
        policy_buffer_late(&f->window, b->order, b->starved);
    b->late = 1;
}

/* The model device is done with a batch. When its consumer has already taken the next one and that is not
 * there, the device now waits for it, however far ahead the host is. */
static void look_for_waiting(Feeder *f, int64_t order)
{
    pthread_mutex_lock(&f->mutex);
    for (int i = 0; i < f->count; i++) {
        Buffer *next = &f->buffers[i];
        /* FREE: the consumer has handed it back before the batch was there. */
        int taken = next->state == BUFFER_TRAINING || next->state == BUFFER_FREE;
        if (taken && next->order == order + 1 &&
            feeder_ready_device(f)->ops->event_happened(feeder_ready_event(f, next)) == 0)
            count_wait_locked(f, next);
    }
    pthread_mutex_unlock(&f->mutex);
}

/* A buffer whose last consumer is done. */
static int next_buffer(Feeder *f, Buffer **out, Err *err)
{
    uint64_t since = counters_now(f->o.counters);
    double start = clock_now();
    consider_buffers(f);
    pthread_mutex_lock(&f->mutex);
    int had_to_wait = f->free_count == 0;
    while (!f->stopped && f->free_count == 0) {
        make_room_locked(f);
        if (f->free_count == 0)
            wait_changed_locked(f, WATCH_SECONDS);
    }
    int stopped = f->stopped;
    Buffer *b = stopped ? NULL : &f->buffers[queue_take_int(f->free_queue, &f->free_head, &f->free_count)];
    if (b) { /* handed back is not yet free: the device may still be using it */
        b->state = BUFFER_PREPARING;
        had_to_wait |= b->used && f->o.model->ops->event_happened(b->consumed) == 0;
    }
    pthread_mutex_unlock(&f->mutex);
    if (stopped)
        return err_set(err, ERR_STOPPED, "stopped");
    int rc = b->used ? f->o.model->ops->event_wait(b->consumed, err) : 0;
    if (rc)
        return rc;
    counters_blocked_out(f->o.counters, STAGE_H2D, since);
    if (b->used)
        look_for_waiting(f, b->order);
    feeder_buffer_count(f, b);
    pthread_mutex_lock(&f->mutex);
    if (b->used)
        policy_buffer_counted(&f->window, f->queued);
    if (had_to_wait)
        policy_buffer_short(&f->window, all_are_there_locked(f), f->queued);
    pthread_mutex_unlock(&f->mutex);
    b->blocked = clock_now() - start;
    *out = b;
    return 0;
}

/* Settings that forbid running ahead. */
static int wait_for_turn(Feeder *f, Err *err)
{
    int before = NO_BUFFER;
    pthread_mutex_lock(&f->mutex);
    /* prefetch_to_gpu off: not before the consumer asks for the batch. */
    if (!f->o.cfg->prefetch_to_gpu)
        while (!f->stopped && f->started >= f->asked)
            wait_changed_locked(f, WATCH_SECONDS);
    /* optimize_cpu_gpu_overlap off: not before the batch ahead has been handed back and its step is over. */
    if (!f->o.cfg->optimize_cpu_gpu_overlap && f->started > 0) {
        while (!f->stopped && f->last_released == NO_BUFFER)
            wait_changed_locked(f, WATCH_SECONDS);
        before = f->last_released;
        f->last_released = NO_BUFFER;
    }
    int rc = f->stopped ? err_set(err, ERR_STOPPED, "stopped") : 0;
    pthread_mutex_unlock(&f->mutex);
    if (!rc && before != NO_BUFFER)
        rc = f->o.model->ops->event_wait(f->buffers[before].consumed, err);
    return rc;
}

/* The buffer may be taken. */
static int make_ready(Feeder *f, Buffer *b)
{
    pthread_mutex_lock(&f->mutex);
    b->state = BUFFER_READY;
    f->started++;
    queue_put_int(f->ready_queue, f->ready_head, &f->ready_count, (int)(b - f->buffers));
    int depth = f->ready_count;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->mutex);
    return depth;
}

/* One batch from slot to READY buffer. With a separate thread, a buffer is READY as soon as its work is
 * enqueued; without (synchronous) every stage is over first, and nothing overlaps. */
static int feed_one(Feeder *f, Err *err)
{
    Slot *s = NULL;
    Buffer *b = NULL;
    /* Synchronously it is always the turn: the consumer is here, and has released its last batch. */
    int rc = f->o.synchronous ? 0 : wait_for_turn(f, err);
    if (!rc)
        rc = next_slot(f, &s, err);
    if (!rc)
        rc = next_buffer(f, &b, err);
    if (rc)
        return rc;
    uint64_t since = counters_now(f->o.counters);
    rc = feeder_buffer_enqueue(f, b, s, err);
    if (rc)
        return rc;
    int depth = f->o.synchronous ? 0 : make_ready(f, b);
    counters_left(f->o.counters, STAGE_H2D, s->layout.bytes, (uint64_t)depth);
    rc = f->o.data->ops->event_wait(b->end[STAGE_H2D], err);
    if (rc)
        return rc;
    feeder_buffer_count_copy(f, b, since);
    ring_release(f->o.ring, s);
    b->used = 1;
    if (f->o.synchronous) {
        rc = feeder_ready_device(f)->ops->event_wait(feeder_ready_event(f, b), err);
        if (!rc)
            make_ready(f, b);
    }
    return rc;
}

/* Until the end of the data, a stop, or an error; the ring's error is older than the feeder's own. */
static void *feeder_main(void *arg)
{
    Feeder *f = arg;
    Err err = {0};
    int rc;
    do {
        err_clear(&err);
        rc = feed_one(f, &err);
    } while (!rc);
    /* The end: what is ready is still taken. */
    if (rc == ERR_STOPPED && ring_check(f->o.ring, NULL) == 0) {
        pthread_mutex_lock(&f->mutex);
        f->ended = 1;
        pthread_cond_broadcast(&f->changed);
        pthread_mutex_unlock(&f->mutex);
    } else {
        Err first = {0};
        fail(f, ring_check(f->o.ring, &first) && first.code != ERR_STOPPED ? &first : &err);
    }
    atomic_store(&f->finished, 1);
    return NULL;
}

/* Without loader threads the feeder's own thread may be stuck in a read: the consumer looks after it. */
static void watch_feeder_locked(Feeder *f)
{
    Err first = {0};
    pthread_mutex_unlock(&f->mutex);
    loader_watch(f->o.loader);
    if (ring_check(f->o.ring, &first))
        fail(f, &first);
    pthread_mutex_lock(&f->mutex);
}

/* Batches that are on the model device and whose step has not ended, less the one whose turn it is: what the
 * device has in stock, however far ahead the host is. */
static int batches_ahead_locked(Feeder *f)
{
    int n = 0;
    for (int i = 0; i < f->count && !f->o.counters->off; i++) {
        const Buffer *b = &f->buffers[i];
        int has_batch = b->state == BUFFER_READY || b->state == BUFFER_TRAINING ||
                        (b->state == BUFFER_FREE && b->order >= 0);
        if (has_batch && b->state == BUFFER_FREE)
            has_batch = f->o.model->ops->event_happened(b->consumed) == 0;
        n += has_batch && feeder_ready_device(f)->ops->event_happened(feeder_ready_event(f, b)) != 0;
    }
    return n > 0 ? n - 1 : 0;
}

/* native_loading off: the batch is made here and now. An error is kept: the next take fails with it too. */
static int feed_now(Feeder *f, Err *err)
{
    Err why = {0};
    int rc = feed_one(f, &why);
    if (rc && rc != ERR_STOPPED)
        fail(f, &why);
    if (rc && err)
        *err = why;
    return rc;
}

/* Why there is no batch: the first error, a stop, or the end. */
static int no_batch_locked(const Feeder *f, Err *err)
{
    if (!f->error.code)
        return err_set(err, ERR_STOPPED, f->stopped ? "stopped" : "the last batch has been taken");
    if (err)
        *err = f->error;
    return f->error.code;
}

/* The consumer's device is done with all its batches. */
static int device_is_idle_locked(const Feeder *f)
{
    return f->last_consumed == NO_BUFFER ||
           f->o.model->ops->event_happened(f->buffers[f->last_consumed].consumed) != 0;
}

/* The consumer would wait for a buffer that only it can hand back. */
static int holds_all_locked(Feeder *f, Err *err)
{
    const int held = held_locked(f);
    const int in_turn = !f->o.synchronous && !f->o.cfg->optimize_cpu_gpu_overlap;
    if (f->stopped || f->ended || f->ready_count > 0 || held == 0)
        return 0;
    if (in_turn && f->last_released == NO_BUFFER && f->started > 0) {
        err_set(err, ERR_BUSY, "the next batch is not loaded until the last one is released");
        return err_hint(err, "release it first, or turn optimize_cpu_gpu_overlap on");
    }
    if (make_room_locked(f))
        return 0;
    err_set(err, ERR_BUSY, "all %d device buffers hold batches that have not been released", f->count);
    return err_hint(err, "release batches before taking more, or raise pipeline_buffer_size (%d)",
                    f->o.cfg->pipeline_buffer_size);
}

/* Asks for the next batch, once, however often the consumer looks whether it is there. */
static void ask_locked(Feeder *f)
{
    if (f->has_request)
        return;
    f->has_request = 1;
    f->request = (Request){.order = f->asked++, .device_idle = device_is_idle_locked(f)};
    f->request.late = policy_device_waits(f->request.device_idle, f->ready_count > 0);
    pthread_cond_broadcast(&f->changed);
}

/* Waits for the next READY buffer and makes it the consumer's. */
static int claim_buffer(Feeder *f, Buffer **out, Request *r, double seconds, Err *err)
{
    const double until = clock_now() + seconds;
    pthread_mutex_lock(&f->mutex);
    ask_locked(f);
    int waits = f->ready_count == 0, rc = holds_all_locked(f, err);
    while (!rc && !f->stopped && !f->ended && f->ready_count == 0) {
        const double left = seconds < 0 ? WATCH_SECONDS : until - clock_now();
        if (left <= 0) {
            rc = 1;
            break;
        }
        wait_changed_locked(f, left);
        if (f->o.inline_loading && f->ready_count == 0)
            watch_feeder_locked(f);
    }
    f->request.waited |= waits;
    f->request.ran_dry |= waits && device_is_idle_locked(f);
    *r = f->request;
    if (!rc && (f->stopped || f->ready_count == 0))
        rc = no_batch_locked(f, err);
    else if (!rc) {
        *out = &f->buffers[queue_take_int(f->ready_queue, &f->ready_head, &f->ready_count)];
        (*out)->state = BUFFER_TRAINING;
        f->has_request = 0;
    }
    pthread_mutex_unlock(&f->mutex);
    return rc;
}

/* 1: the batch is on the model device; 0: on its way. A negative code: its device has failed, and what is in
 * the buffer is no batch. */
static int batch_is_there(Feeder *f, const Buffer *b, Err *err)
{
    const DeviceOps *d = feeder_ready_device(f)->ops;
    int happened = d->event_happened(feeder_ready_event(f, b));
    if (happened >= 0)
        return happened;
    Err why = {0};
    int rc = d->event_wait(feeder_ready_event(f, b), &why);
    fail(f, &why);
    if (err)
        *err = why;
    return rc ? rc : happened;
}

/* How full the pipeline was, and whether the model device had to wait. */
static void count_take(Feeder *f, Buffer *b, const Request *r, int is_there)
{
    int slots = f->o.counters->off ? 0 : ring_ready_count(f->o.ring);
    pthread_mutex_lock(&f->mutex);
    counters_depths(f->o.counters, r->order, slots, batches_ahead_locked(f));
    f->window.takes++;
    if (r->late || policy_device_waits(r->device_idle, is_there))
        count_wait_locked(f, b);
    pthread_mutex_unlock(&f->mutex);
    /* Host slots hide what happens before the feeder; a stall behind it is for device buffers to hide. */
    if (r->ran_dry && b->starved)
        ring_waited(f->o.ring, r->order);
}

/* Before anything is waited for. */
static int may_take(Feeder *f, Err *err)
{
    pthread_mutex_lock(&f->mutex);
    Stream *consumer = f->has_request ? NULL : f->consumer;
    int rc = f->o.synchronous ? holds_all_locked(f, err) : 0;
    pthread_mutex_unlock(&f->mutex);
    /* prefetch_to_gpu off: the batch is asked for when the device needs it. A host that runs ahead of its
     * device would ask, and so fetch, some steps too soon. */
    if (!rc && !f->o.cfg->prefetch_to_gpu && consumer)
        rc = f->o.model->ops->stream_wait_idle(consumer, err);
    return rc;
}

/* In four steps: make it (synchronous), claim it, look whether it is there, count. */
int feeder_take(Feeder *f, DeviceBatch *batch, double seconds, Err *err)
{
    Request request;
    Buffer *b = NULL;
    int rc = may_take(f, err);
    if (!rc && f->o.synchronous)
        rc = feed_now(f, err);
    if (!rc)
        rc = claim_buffer(f, &b, &request, seconds, err);
    if (rc)
        return rc;
    int is_there = batch_is_there(f, b, err);
    if (is_there < 0)
        return is_there;
    b->awaited = 0;
    count_take(f, b, &request, is_there);
    *batch = (DeviceBatch){.info = b->info,
                           .layout = b->layout,
                           .memory = b->final,
                           .ready = feeder_ready_event(f, b),
                           .items = b->items,
                           .was_there = is_there && !request.waited && !f->o.synchronous,
                           .buffer = (int)(b - f->buffers)};
    return 0;
}

/* The stream waits, not the caller. */
int feeder_await(Feeder *f, const DeviceBatch *b, Stream *consumer, Err *err)
{
    f->buffers[b->buffer].awaited = 1;
    return device_stream_wait(consumer, b->ready, err);
}

/* From here on the feeder may use the buffer again, once `consumed` has happened. */
int feeder_release(Feeder *f, DeviceBatch *batch, Stream *consumer, Err *err)
{
    Buffer *b = &f->buffers[batch->buffer];
    ASSERT_CMP(b->state, ==, BUFFER_TRAINING);
    /* `consumed` must not happen before `ready`: the next batch would overwrite this one on its way. */
    int rc = b->awaited ? 0 : feeder_await(f, batch, consumer, err);
    int recorded = f->o.model->ops->event_record(b->consumed, consumer, err);
    if (!rc)
        rc = recorded;
    if (!rc && f->o.synchronous)
        rc = f->o.model->ops->event_wait(b->consumed, err);
    pthread_mutex_lock(&f->mutex);
    b->state = BUFFER_FREE;
    queue_put_int(f->free_queue, f->free_head, &f->free_count, batch->buffer);
    f->last_released = batch->buffer;
    f->consumer = consumer;
    f->last_consumed = batch->buffer;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->mutex);
    return rc;
}

void feeder_stop(Feeder *f) { fail(f, NULL); }
int feeder_buffers(const Feeder *f)
{
    Feeder *w = (Feeder *)(uintptr_t)f;
    pthread_mutex_lock(&w->mutex);
    int n = f->count;
    pthread_mutex_unlock(&w->mutex);
    return n;
}
uint64_t feeder_data_bytes(const Feeder *f)
{
    /* A pinned batch is memory of the host, and is counted there. */
    size_t batch = feeder_batch_is_pinned(f->o.data, f->o.model) ? 0 : f->o.batch_bytes;
    return (uint64_t)feeder_buffers(f) * (f->o.raw_bytes + batch);
}
uint64_t feeder_model_bytes(const Feeder *f)
{
    return f->two_devices ? (uint64_t)feeder_buffers(f) * f->o.batch_bytes : 0;
}

/* The thread itself is counted as the copy. */
static int begin(Feeder *f, Err *err)
{
    for (int s = 0; s < STAGE_COUNT; s++)
        if (s == STAGE_H2D || feeder_does(f, (StageId)s))
            atomic_store(&f->o.counters->stage[s].threads, 1);
    return f->o.synchronous ? 0 : thread_start(&f->thread, "feeder", feeder_main, f, err);
}

/* *out is NULL after a failure. */
int feeder_open(Feeder **out, const FeederOptions *o, Err *err)
{
    *out = NULL;
    Feeder *f = mem_calloc(1, sizeof *f);
    if (!f)
        return err_set(err, ERR_NOMEM, "no memory for the feeder");
    f->o = *o;
    f->two_devices = !device_same(o->data, o->model);
    f->peer_device = feeder_batch_is_pinned(o->data, o->model) ? o->model : o->data;
    f->last_released = NO_BUFFER;
    f->last_consumed = NO_BUFFER;
    if (f->o.most_buffers > POLICY_MOST_BUFFERS)
        f->o.most_buffers = POLICY_MOST_BUFFERS;
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_init(&f->mutex, NULL);
    pthread_cond_init(&f->changed, &attr);
    pthread_condattr_destroy(&attr);
    const DeviceOps *d = o->data->ops;
    int rc = d->stream_open(o->data, &f->work, "preprocess", err);
    if (!rc && o->cfg->enhanced_gpu_prefetch)
        rc = d->stream_open(o->data, &f->copy, "h2d", err);
    else if (!rc)
        f->copy = f->work;
    if (!rc && f->two_devices)
        rc = f->peer_device->ops->stream_open(f->peer_device, &f->peer, "peer", err);
    for (int s = 0; s < STAGE_COUNT && !rc; s++) {
        Device *on = feeder_stage_device(f, (StageId)s);
        if (on && s != STAGE_H2D) /* the copy is counted when it ends, not by gaps */
            rc = on->ops->event_open(on, &f->prev_end[s], 1, err);
    }
    for (int i = 0; i < o->buffers && !rc; i++)
        rc = add_buffer(f, err);
    f->wanted = f->count;
    if (!rc)
        rc = begin(f, err);
    if (rc) {
        feeder_close(f);
        return rc;
    }
    *out = f;
    return 0;
}

/* Everything that was enqueued has ended before memory is used again. */
int feeder_restart(Feeder *f, Loader *loader, Err *err)
{
    int rc = f->o.data->ops->stream_wait_idle(f->copy, err);
    if (!rc)
        rc = f->o.data->ops->stream_wait_idle(f->work, err);
    if (!rc && f->peer)
        rc = f->peer_device->ops->stream_wait_idle(f->peer, err);
    for (int i = 0; i < f->count && !rc; i++)
        rc = f->buffers[i].used ? f->o.model->ops->event_wait(f->buffers[i].consumed, err) : 0;
    if (rc)
        return rc;
    f->free_head = f->free_count = f->ready_head = f->ready_count = 0;
    for (int i = 0; i < f->count; i++) {
        Buffer *b = &f->buffers[i];
        ASSERT(b->state != BUFFER_TRAINING);
        b->state = BUFFER_FREE;
        b->order = NO_BATCH;
        b->used = 0;
        queue_put_int(f->free_queue, f->free_head, &f->free_count, i);
    }
    f->asked = f->started = 0;
    f->last_released = f->last_consumed = NO_BUFFER;
    f->has_request = f->stopped = f->ended = f->has_prev = 0;
    f->consumer = NULL;
    f->window = (GrowWindow){0};
    f->wanted = f->count;
    err_clear(&f->error);
    atomic_store(&f->finished, 0);
    f->o.loader = loader;
    return begin(f, err);
}

/* The thread of a feeder that loads for itself may be stuck in a read. */
int feeder_pause(Feeder *f)
{
    fail(f, NULL);
    if (f->is_stuck)
        return 1;
    f->is_stuck = f->o.inline_loading && f->thread.running &&
                  !loader_await(&f->finished, clock_now() + loader_patience(f->o.loader));
    /* When it comes back it finds the ring stopped, and ends without touching a device. */
    if (f->is_stuck)
        pthread_detach(f->thread.handle);
    else
        thread_join(&f->thread);
    return f->is_stuck;
}

int feeder_close(Feeder *f)
{
    if (!f)
        return 0;
    int stuck = feeder_pause(f);
    const DeviceOps *d = f->o.data->ops;
    /* Streams first: closing them waits for the work that still uses the buffers. */
    if (f->peer)
        f->peer_device->ops->stream_close(f->peer);
    if (f->copy && f->copy != f->work)
        d->stream_close(f->copy);
    if (f->work)
        d->stream_close(f->work);
    for (int i = 0; i < POLICY_MOST_BUFFERS; i++) { /* also those that did not help */
        if (f->buffers[i].used)
            f->o.model->ops->event_wait(f->buffers[i].consumed, NULL);
        feeder_buffer_close(f, &f->buffers[i]);
    }
    for (int s = 0; s < STAGE_COUNT; s++)
        if (f->prev_end[s])
            feeder_stage_device(f, (StageId)s)->ops->event_close(f->prev_end[s]);
    if (stuck)
        return 1;
    pthread_mutex_destroy(&f->mutex);
    pthread_cond_destroy(&f->changed);
    free(f);
    return 0;
}
