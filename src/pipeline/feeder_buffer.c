/* feeder_buffer.c - one device buffer of the feeder: its memory, its events, the work of a batch on three
 * streams, and what that took. */
#include <stdlib.h>

#include "base/check.h"
#include "pipeline/feeder_private.h"

#define NS 1e-9 /* s */

/* A GPU copies from the batch: its memory must be pinned. */
int feeder_batch_is_pinned(const Device *data, const Device *model)
{
    return data->traits.host_memory && !model->traits.host_memory;
}

/* *p is NULL after a failure. */
int feeder_batch_alloc(uint8_t **p, Device *data, Device *model, size_t bytes, Err *err)
{
    void *memory = NULL;
    int rc = feeder_batch_is_pinned(data, model) ? model->ops->pinned_alloc(model, &memory, bytes, err)
                                                 : device_alloc(data, &memory, bytes, err);
    *p = rc ? NULL : memory;
    return rc;
}

void feeder_batch_free(uint8_t *p, Device *data, Device *model, size_t bytes)
{
    if (p && feeder_batch_is_pinned(data, model))
        model->ops->pinned_free(model, p);
    else if (p)
        device_free(data, p, bytes);
}

/* Anything that was not opened is NULL. */
void feeder_buffer_close(Feeder *f, Buffer *b)
{
    Event *const events[] = {b->copy_start, b->copied, b->work_start, b->worked};
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        if (events[i])
            f->o.data->ops->event_close(events[i]);
    if (b->peer_start)
        f->peer_device->ops->event_close(b->peer_start);
    if (b->peered)
        f->peer_device->ops->event_close(b->peered);
    if (b->consumed)
        f->o.model->ops->event_close(b->consumed);
    if (b->raw)
        device_free(f->o.data, b->raw, f->o.raw_bytes);
    feeder_batch_free(b->out, f->o.data, f->o.model, f->o.batch_bytes);
    if (b->final && f->two_devices)
        device_free(f->o.model, b->final, f->o.batch_bytes);
    *b = (Buffer){0};
}

/* Memory and events for one more batch; everything is given back when one of them fails. */
int feeder_buffer_open(Feeder *f, Buffer *b, Err *err)
{
    const DeviceOps *d = f->o.data->ops;
    void *p = NULL;
    *b = (Buffer){.order = NO_BATCH};
    int rc = f->o.raw_bytes ? device_alloc(f->o.data, &p, f->o.raw_bytes, err) : 0;
    b->raw = rc ? NULL : p;
    if (!rc)
        rc = feeder_batch_alloc(&b->out, f->o.data, f->o.model, f->o.batch_bytes, err);
    if (!rc && f->two_devices) {
        rc = device_alloc(f->o.model, &p, f->o.batch_bytes, err);
        b->final = rc ? NULL : p;
    }
    if (!rc && !f->two_devices)
        b->final = b->out;
    Event **const events[] = {&b->copy_start, &b->copied, &b->work_start, &b->worked};
    for (size_t i = 0; i < sizeof events / sizeof *events && !rc; i++)
        rc = d->event_open(f->o.data, events[i], 1, err);
    if (!rc)
        rc = f->peer_device->ops->event_open(f->peer_device, &b->peer_start, 1, err);
    if (!rc)
        rc = f->peer_device->ops->event_open(f->peer_device, &b->peered, 1, err);
    if (!rc)
        rc = f->o.model->ops->event_open(f->o.model, &b->consumed, 0, err);
    if (rc) {
        feeder_buffer_close(f, b);
        return rc;
    }
    return 0;
}

static void swap_events(Event **a, Event **b)
{
    Event *t = *a;
    *a = *b;
    *b = t;
}

/* A device stage between two batches did nothing: it was blocked on its output for as long as the feeder had
 * no buffer to begin with, and on its input for the rest. */
static void count_stage(Feeder *f, StageId stage, const DeviceOps *d, Event *prev_end, Event *start,
                        Event *end, const Buffer *b)
{
    double gap = f->has_prev ? d->event_seconds(prev_end, start) : 0;
    gap = gap > 0 ? gap : 0;
    double out = gap < b->blocked ? gap : b->blocked;
    double busy = d->event_seconds(start, end);
    counters_add(f->o.counters, stage, busy, gap - out, out);
    counters_left(f->o.counters, stage, b->layout.bytes, 0);
    counters_trace_set(f->o.counters, b->order, stage == STAGE_PEER ? TRACE_PEER : TRACE_PREPROCESS, busy);
}

/* What the device stages of the buffer's last batch took. Its consumer is done, so every event has happened.
 * Buffers come by in the order of their batches; the end of this one is kept by trading events. */
void feeder_buffer_count(Feeder *f, Buffer *b)
{
    if (!b->used || f->o.counters->off)
        return;
    if (f->o.raw_bytes) { /* else the loader's workers have done and counted it */
        count_stage(f, STAGE_PREPROCESS, f->o.data->ops, f->prev_worked, b->work_start, b->worked, b);
        swap_events(&f->prev_worked, &b->worked);
    }
    if (f->two_devices) {
        count_stage(f, STAGE_PEER, f->peer_device->ops, f->prev_peered, b->peer_start, b->peered, b);
        swap_events(&f->prev_peered, &b->peered);
    }
    f->has_prev = 1;
}

Event *feeder_ready_event(const Feeder *f, const Buffer *b) { return f->two_devices ? b->peered : b->worked; }

Device *feeder_ready_device(const Feeder *f) { return f->two_devices ? f->peer_device : f->o.data; }

/* A batch that the workers have finished: slot and buffer trade memory, and nothing is copied. */
static void trade_memory(const Feeder *f, Buffer *b, Slot *s)
{
    uint8_t *finished = s->batch;
    s->batch = b->out;
    b->out = finished;
    if (!f->two_devices)
        b->final = b->out;
}

/* Enqueues everything for one batch. Waits for nothing. */
int feeder_buffer_enqueue(Feeder *f, Buffer *b, Slot *s, Err *err)
{
    const DeviceOps *d = f->o.data->ops;
    b->info = s->info;
    b->order = f->started;
    b->late = 0;
    batch_layout_device(&b->layout, &f->o.shape, s->info.text, s->info.frames);
    PreprocessArgs args = {.raw = b->raw,
                           .out = b->out,
                           .in_layout = s->layout,
                           .out_layout = b->layout,
                           .rows = f->o.shape.rows,
                           .text = s->info.text,
                           .frames = s->info.frames,
                           .bands = f->o.shape.bands,
                           .mel_bytes = f->o.shape.mel_bytes,
                           .samples = s->info.samples,
                           .batch = s->info.number};
    d->stream_batch(f->copy, s->info.number);
    d->stream_batch(f->work, s->info.number);
    /* The slot's bytes to the data device, on the copy stream. */
    int rc = d->event_record(b->copy_start, f->copy, err);
    if (s->batch)
        trade_memory(f, b, s);
    else if (!rc)
        rc = d->copy_in(f->copy, b->raw, s->memory, s->layout.bytes, err);
    if (!rc)
        rc = d->event_record(b->copied, f->copy, err);
    /* Preprocessing, on the work stream. */
    if (!rc && f->work != f->copy)
        rc = d->stream_wait_event(f->work, b->copied, err);
    if (!rc)
        rc = d->event_record(b->work_start, f->work, err);
    if (!rc && !s->batch)
        rc = preprocess_run(f->o.preprocess, f->work, &args, err);
    if (!rc)
        rc = d->event_record(b->worked, f->work, err);
    if (rc || !f->two_devices)
        return rc;
    /* The finished batch to the model device, on the peer stream. */
    const DeviceOps *p = f->peer_device->ops;
    p->stream_batch(f->peer, s->info.number);
    rc = device_stream_wait(f->peer, b->worked, err);
    if (!rc)
        rc = p->event_record(b->peer_start, f->peer, err);
    if (!rc)
        rc = device_copy(f->peer, b->final, f->o.model, b->out, f->o.data, b->layout.bytes, err);
    return rc ? rc : p->event_record(b->peered, f->peer, err);
}

/* The copy itself is busy time; what else passed was spent on later stages (on the host they run in this
 * thread). */
void feeder_buffer_count_copy(Feeder *f, const Buffer *b, uint64_t since)
{
    uint64_t now = counters_now(f->o.counters);
    if (f->o.counters->off)
        return;
    double busy = f->o.data->ops->event_seconds(b->copy_start, b->copied);
    double rest = NS * (double)(now - since) - busy;
    counters_trace_set(f->o.counters, b->order, TRACE_H2D, busy);
    counters_trace_set(f->o.counters, b->order, TRACE_FEED, busy + rest);
    counters_add(f->o.counters, STAGE_H2D, busy, 0, rest > 0 ? rest : 0);
}
