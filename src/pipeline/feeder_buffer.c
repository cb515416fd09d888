/* feeder_buffer.c - one device buffer of the feeder: its memory, its events, the work of a batch on three
 * streams, and what that took. */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "pipeline/feeder_private.h"

#define NS 1e-9 /* s */
#define QUEUE_GAP \
    0.05 /* of the work of a stage: a batch that begins so soon after the one before it stood in a queue */

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

Device *feeder_stage_device(const Feeder *f, StageId s)
{
    StageStream stream = stage_info(s)->stream;
    return stream == STREAM_NONE ? NULL : stream == STREAM_PEER ? f->peer_device : f->o.data;
}

/* raw_bytes 0: the loader's workers finish the batch, and nothing is left to do on the data device. */
int feeder_does(const Feeder *f, StageId s)
{
    StageStream stream = stage_info(s)->stream;
    return stream == STREAM_NONE ? 0 : stream == STREAM_PEER ? f->two_devices : f->o.raw_bytes > 0;
}

/* Where there is nothing to do the batch passes all the same, but for the peer stream of one device. */
static int is_passed(const Feeder *f, StageId s)
{
    StageStream stream = stage_info(s)->stream;
    return stream == STREAM_PEER ? f->two_devices : stream != STREAM_NONE;
}

/* The last stage that a batch passes on its way to the model device. */
static StageId last_stage(const Feeder *f)
{
    int s = STAGE_COUNT - 1;
    while (!is_passed(f, (StageId)s))
        s--;
    return (StageId)s;
}

/* Anything that was not opened is NULL. */
void feeder_buffer_close(Feeder *f, Buffer *b)
{
    for (int s = 0; s < STAGE_COUNT; s++) {
        Device *on = feeder_stage_device(f, (StageId)s);
        if (b->start[s])
            on->ops->event_close(b->start[s]);
        if (b->end[s])
            on->ops->event_close(b->end[s]);
    }
    if (b->consumed)
        f->o.model->ops->event_close(b->consumed);
    free(b->items);
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
    void *p = NULL;
    *b = (Buffer){.order = NO_BATCH};
    b->items = mem_calloc((size_t)f->o.shape.rows, sizeof *b->items);
    int rc = b->items ? 0 : err_set(err, ERR_NOMEM, "no memory for a batch of %d rows", f->o.shape.rows);
    if (!rc && f->o.raw_bytes)
        rc = device_alloc(f->o.data, &p, f->o.raw_bytes, err);
    b->raw = rc ? NULL : p;
    if (!rc)
        rc = feeder_batch_alloc(&b->out, f->o.data, f->o.model, f->o.batch_bytes, err);
    if (!rc && f->two_devices) {
        rc = device_alloc(f->o.model, &p, f->o.batch_bytes, err);
        b->final = rc ? NULL : p;
    }
    if (!rc && !f->two_devices)
        b->final = b->out;
    for (int s = 0; s < STAGE_COUNT && !rc; s++) {
        Device *on = feeder_stage_device(f, (StageId)s);
        if (!on)
            continue;
        rc = on->ops->event_open(on, &b->start[s], 1, err);
        if (!rc)
            rc = on->ops->event_open(on, &b->end[s], 1, err);
    }
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
static void count_stage(Feeder *f, StageId stage, const Buffer *b)
{
    const DeviceOps *d = feeder_stage_device(f, stage)->ops;
    double gap = f->has_prev ? d->event_seconds(f->prev_end[stage], b->start[stage]) : 0;
    gap = gap > 0 ? gap : 0;
    double out = gap < b->blocked ? gap : b->blocked;
    double busy = d->event_seconds(b->start[stage], b->end[stage]);
    f->queued |= f->has_prev && gap <= QUEUE_GAP * busy;
    counters_add(f->o.counters, stage, busy, gap - out, out);
    counters_left(f->o.counters, stage, b->layout.bytes, 0);
    counters_trace_set(f->o.counters, b->order, (TraceId)(TRACE_STAGE + stage), busy);
}

/* What the device stages of the buffer's last batch took. Its consumer is done, so every event has happened.
 * Buffers come by in the order of their batches; the end of this one is kept by trading events. */
void feeder_buffer_count(Feeder *f, Buffer *b)
{
    f->queued = 0;
    if (!b->used || f->o.counters->off)
        return;
    for (int s = 0; s < STAGE_COUNT; s++)
        if (s != STAGE_H2D && feeder_does(f, (StageId)s)) { /* the copy is counted when it ends */
            count_stage(f, (StageId)s, b);
            swap_events(&f->prev_end[s], &b->end[s]);
        }
    f->has_prev = 1;
}

Event *feeder_ready_event(const Feeder *f, const Buffer *b) { return b->end[last_stage(f)]; }

Device *feeder_ready_device(const Feeder *f) { return feeder_stage_device(f, last_stage(f)); }

/* --- the work of a batch --- */

/* The slot's bytes to the data device. */
static int copy_to_data(Feeder *f, Stream *on, Buffer *b, Slot *s, Err *err)
{
    return f->o.data->ops->copy_in(on, b->raw, s->memory, s->layout.bytes, err);
}

static int preprocess(Feeder *f, Stream *on, Buffer *b, Slot *s, Err *err)
{
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
                           .keeps_samples = f->o.shape.hop > 0,
                           .brings_mel = f->o.shape.brings_mel != 0,
                           .batch = s->info.number};
    return preprocess_run(f->o.preprocess, on, &args, err);
}

/* The finished batch to the model device. */
static int copy_to_model(Feeder *f, Stream *on, Buffer *b, Slot *s, Err *err)
{
    return device_copy(on, b->final, f->o.model, b->out, f->o.data, b->layout.bytes, err);
}

/* What each stage on a stream enqueues. */
typedef int (*StageWork)(Feeder *f, Stream *on, Buffer *b, Slot *s, Err *err);
static const StageWork work_of[STAGE_COUNT] = {
    [STAGE_H2D] = copy_to_data,
    [STAGE_PREPROCESS] = preprocess,
    [STAGE_PEER] = copy_to_model,
};

static Stream *stream_of(const Feeder *f, StageId s)
{
    StageStream stream = stage_info(s)->stream;
    return stream == STREAM_COPY ? f->copy : stream == STREAM_WORK ? f->work : f->peer;
}

/* A batch that the workers have finished: slot and buffer trade memory, and nothing is copied. */
static void trade_memory(const Feeder *f, Buffer *b, Slot *s)
{
    uint8_t *finished = s->batch;
    s->batch = b->out;
    b->out = finished;
    if (!f->two_devices)
        b->final = b->out;
}

/* One stage between its two events; before: the end of the stage ahead, where that was on another stream. */
static int enqueue_stage(Feeder *f, Buffer *b, Slot *s, StageId stage, Event *before, Err *err)
{
    const DeviceOps *d = feeder_stage_device(f, stage)->ops;
    Stream *on = stream_of(f, stage);
    d->stream_batch(on, s->info.number, b->layout.bytes);
    int rc = before ? device_stream_wait(on, before, err) : 0;
    if (!rc)
        rc = d->event_record(b->start[stage], on, err);
    if (!rc && feeder_does(f, stage)) {
        ASSERT(work_of[stage] != NULL);
        rc = work_of[stage](f, on, b, s, err);
    }
    return rc ? rc : d->event_record(b->end[stage], on, err);
}

/* Enqueues everything for one batch. Waits for nothing. */
int feeder_buffer_enqueue(Feeder *f, Buffer *b, Slot *s, Err *err)
{
    b->info = s->info;
    b->order = f->started;
    b->late = 0;
    b->starved = s->starved;
    memcpy(b->items, s->items, (size_t)s->info.count * sizeof *b->items);
    batch_layout_device(&b->layout, &f->o.shape, s->info.text, s->info.frames);
    if (s->batch)
        trade_memory(f, b, s);
    int rc = 0, ahead = STAGE_NONE;
    for (int i = 0; i < STAGE_COUNT && !rc; i++) {
        if (!is_passed(f, (StageId)i))
            continue;
        int moves = ahead != STAGE_NONE && stream_of(f, (StageId)ahead) != stream_of(f, (StageId)i);
        rc = enqueue_stage(f, b, s, (StageId)i, moves ? b->end[ahead] : NULL, err);
        ahead = i;
    }
    return rc;
}

/* The copy itself is busy time; what else passed was spent on later stages (on the host they run in this
 * thread). */
void feeder_buffer_count_copy(Feeder *f, const Buffer *b, uint64_t since)
{
    uint64_t now = counters_now(f->o.counters);
    if (f->o.counters->off)
        return;
    double busy = f->o.data->ops->event_seconds(b->start[STAGE_H2D], b->end[STAGE_H2D]);
    double rest = NS * (double)(now - since) - busy;
    counters_trace_set(f->o.counters, b->order, TRACE_H2D, busy);
    counters_trace_set(f->o.counters, b->order, TRACE_FEED, busy + rest);
    counters_add(f->o.counters, STAGE_H2D, busy, 0, rest > 0 ? rest : 0);
}
