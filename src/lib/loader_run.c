/* loader_run.c - batches from the pipeline to the caller and back. See loader_private.h. */
#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/plain_locale.h"
#include "lib/loader_private.h"

/* ---- opening and closing ---- */

/* Batches that a resumed run begins in the middle of: shares of one that were given out before. */
static int64_t to_skip(const myxtts_loader *l) { return l->start % l->micro; }

static void close_run(myxtts_loader *l, LoaderRun *r)
{
    step_meter_close(&r->meter);
    int stuck = pipeline_close(r->pipeline);
    free(r);
    /* A thread that hangs in a read may touch what it was given at any time: it remains a user. */
    if (!stuck)
        loader_leave(l);
}

static PipelineState start_of(const myxtts_loader *l)
{
    int64_t whole = l->start / l->micro, per_epoch = l->batches / l->micro;
    return (PipelineState){
        .epoch = whole / per_epoch, .index = whole % per_epoch, .seed = (uint64_t)l->cfg.seed};
}

/* r is the Run in use from here on, for a caller who may have stopped the loader meanwhile. */
static void use_run(myxtts_loader *l, LoaderRun *r)
{
    pthread_mutex_lock(&l->mutex);
    l->run = r;
    if (l->stopped)
        pipeline_stop(r->pipeline);
    pthread_mutex_unlock(&l->mutex);
}

int loader_run_open(myxtts_loader *l, Err *err)
{
    LoaderRun *r = mem_calloc(1, sizeof *r);
    if (!r)
        return err_set(err, ERR_NOMEM, "no memory for a loader");
    PipelineOptions o = {.cfg = &l->cfg,
                         .corpus = &l->corpus,
                         .data = l->devices.data,
                         .model = l->devices.model,
                         .sim = l->devices.has_sim ? &l->devices.sim : NULL,
                         .start = start_of(l),
                         .rank = l->rank,
                         .ranks = l->ranks,
                         .epochs = l->epochs,
                         .log = &l->log.log};
    r->loader = l;
    pthread_mutex_lock(&l->mutex);
    l->users++;
    pthread_mutex_unlock(&l->mutex);
    int rc = pipeline_open(&r->pipeline, &o, err);
    if (!rc)
        rc = step_meter_open(&r->meter, l->devices.model, pipeline_counters(r->pipeline), 0, err);
    if (rc) {
        close_run(l, r);
        return rc;
    }
    use_run(l, r);
    return 0;
}

int loader_run_restart(myxtts_loader *l, Err *err)
{
    PipelineState start = start_of(l);
    /* Others cannot stop what is half a pipeline. */
    pthread_mutex_lock(&l->mutex);
    LoaderRun *r = l->run;
    l->run = NULL;
    pthread_mutex_unlock(&l->mutex);
    r->stepping = 0;
    int rc = pipeline_restart(r->pipeline, &start, err);
    step_meter_close(&r->meter);
    if (!rc)
        rc = step_meter_open(&r->meter, l->devices.model, pipeline_counters(r->pipeline), 0, err);
    r->given = r->skipped = 0;
    if (rc)
        close_run(l, r);
    else
        use_run(l, r);
    return rc;
}

/* Its threads have nothing to do from here on. */
void loader_run_retire(myxtts_loader *l)
{
    pthread_mutex_lock(&l->mutex);
    LoaderRun *r = l->run;
    l->run = NULL;
    if (r) {
        pipeline_stop(r->pipeline);
        r->next = l->older;
        l->older = r;
    }
    pthread_mutex_unlock(&l->mutex);
}

/* A Run that is not needed any more, taken out of the list; NULL: there is none. */
static LoaderRun *take_unused(myxtts_loader *l)
{
    pthread_mutex_lock(&l->mutex);
    LoaderRun **at = &l->older;
    while (*at && (*at)->held > 0)
        at = &(*at)->next;
    LoaderRun *r = *at;
    if (r)
        *at = r->next;
    pthread_mutex_unlock(&l->mutex);
    return r;
}

void loader_run_reap(myxtts_loader *l)
{
    for (LoaderRun *r = take_unused(l); r; r = take_unused(l))
        close_run(l, r);
}

/* ---- giving out ---- */

/* The caller's stream as one of the device; devices without streams of others have one for all. */
static int find_stream(myxtts_loader *l, Stream **out, void *native, Err *err)
{
    Device *d = l->devices.model;
    native = d->ops->stream_wrap ? native : NULL;
    for (int i = 0; i < l->stream_count; i++)
        if (l->streams[i].native == native) {
            *out = l->streams[i].stream;
            return 0;
        }
    LoaderStream *more = realloc(l->streams, (size_t)(l->stream_count + 1) * sizeof *more);
    if (!more)
        return err_set(err, ERR_NOMEM, "no memory for a stream");
    l->streams = more;
    int rc = d->ops->stream_wrap ? d->ops->stream_wrap(d, out, native, err)
                                 : d->ops->stream_open(d, out, "consumer", err);
    if (!rc)
        l->streams[l->stream_count++] = (LoaderStream){native, *out};
    return rc;
}

/* From here on the stream may use the batch. Where the caller has no stream that could wait, it waits. */
static int hand_over(LoaderRun *r, const DeviceBatch *b, Stream *stream, Err *err)
{
    const Device *d = r->loader->devices.model;
    int rc = pipeline_await(r->pipeline, b, stream, err);
    if (!rc && d->traits.simulated)
        rc = d->ops->stream_wait_idle(stream, err);
    return rc ? rc
              : step_meter_begin_batch(&r->meter, stream, b->info.number, (uint64_t)b->layout.bytes, err);
}

static int end_step(LoaderRun *r, Err *err)
{
    int rc = r->stepping ? step_meter_end(&r->meter, r->stream, err) : 0;
    r->stepping = 0;
    return rc;
}

/* The next batch, or 1 if there is none in time. After an error nothing is held. */
static int take(LoaderRun *r, DeviceBatch *b, Stream *stream, double seconds, Err *err)
{
    int rc = end_step(r, err);
    if (!rc)
        rc = pipeline_take_within(r->pipeline, b, seconds, err);
    if (rc)
        return rc;
    rc = hand_over(r, b, stream, err);
    if (rc) {
        pipeline_release(r->pipeline, b, stream, NULL);
        return rc;
    }
    r->stepping = 1;
    r->stream = stream;
    return 0;
}

static int take_and_skip(LoaderRun *r, DeviceBatch *b, Stream *stream, double seconds, Err *err)
{
    int rc = 0;
    while (!rc && r->skipped < to_skip(r->loader)) {
        rc = take(r, b, stream, seconds, err);
        if (!rc) {
            r->skipped++;
            rc = pipeline_release(r->pipeline, b, stream, err);
        }
    }
    return rc ? rc : take(r, b, stream, seconds, err);
}

/* 1 and a batch, 2: none in time, or a code. */
static int give_out(myxtts_loader *l, myxtts_batch **out, void *native, double seconds, Err *err)
{
    LoaderRun *r = l->run;
    Stream *stream = NULL;
    DeviceBatch taken;
    if (!r)
        return err_set(err, ERR_USAGE, "the loader failed earlier and has no position");
    loader_run_reap(l);
    int rc = find_stream(l, &stream, native, err);
    if (!rc)
        rc = take_and_skip(r, &taken, stream, seconds, err);
    if (rc)
        return rc == 1 ? 2 : rc;
    const int64_t number = l->start + r->given;
    myxtts_batch *b = &r->batches[taken.buffer];
    *b = (myxtts_batch){.run = r,
                        .batch = taken,
                        .stream = stream,
                        .epoch = number / l->batches,
                        .index = number % l->batches,
                        .references = 1};
    pthread_mutex_lock(&l->mutex);
    r->given++;
    r->held++;
    pthread_mutex_unlock(&l->mutex);
    *out = b;
    return 1;
}

/* The pipeline says the same at the end as when it is stopped. */
static int is_end(myxtts_loader *l)
{
    pthread_mutex_lock(&l->mutex);
    int end = !l->stopped && l->epochs > 0 && l->run && l->start + l->run->given >= l->epochs * l->batches;
    pthread_mutex_unlock(&l->mutex);
    return end;
}

int myxtts_loader_poll(myxtts_loader *l, myxtts_batch **b, void *stream, double seconds, myxtts_error *e)
{
    PLAIN_LOCALE;
    Err err = {0};
    if (!l || !b)
        return library_misuse(e, l ? "a place for the batch" : "a loader");
    *b = NULL;
    int rc = library_check_process(l->process, LOADER, e);
    if (rc)
        return rc;
    const int visits = l->devices.model->traits.library_kernels;
    void *before = visits ? device_visit_begin() : NULL;
    rc = give_out(l, b, stream, seconds, &err);
    if (visits)
        device_visit_end(before);
    if (rc >= 0)
        return rc;
    return rc == ERR_STOPPED && is_end(l) ? 0 : library_error(e, &err);
}

int myxtts_loader_next(myxtts_loader *l, myxtts_batch **b, void *stream, myxtts_error *e)
{
    PLAIN_LOCALE;
    return myxtts_loader_poll(l, b, stream, -1, e);
}

/* A device that has failed says so when the next batch is taken. */
void myxtts_loader_pause(myxtts_loader *l)
{
    LoaderRun *r = l->run;
    if (!r || !r->stepping)
        return;
    const int visits = l->devices.model->traits.library_kernels;
    void *before = visits ? device_visit_begin() : NULL;
    end_step(r, NULL);
    step_meter_pause(&r->meter);
    if (visits)
        device_visit_end(before);
}

/* ---- taking back ---- */

void myxtts_batch_release(myxtts_batch *b)
{
    if (!b || library_check_process(b->run->loader->process, LOADER, NULL) ||
        __atomic_sub_fetch(&b->references, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    LoaderRun *r = b->run;
    myxtts_loader *l = r->loader;
    const int visits = l->devices.model->traits.library_kernels;
    void *before = visits ? device_visit_begin() : NULL;
    /* What fails here fails again when the next batch is taken, and is said there. */
    pipeline_release(r->pipeline, &b->batch, b->stream, NULL);
    pthread_mutex_lock(&l->mutex);
    ASSERT_CMP(r->held, >, 0);
    r->held--;
    const int closes = l->closed && r->held == 0;
    l->users += closes;
    pthread_mutex_unlock(&l->mutex);
    if (closes) {
        loader_run_reap(l);
        loader_leave(l);
    }
    if (visits)
        device_visit_end(before);
}
