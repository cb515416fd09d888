/* loader.c - the workers: which batch goes into which slot, who fills which rows. loader_row.c fills them. */
#include "pipeline/loader.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "pipeline/loader_private.h"
#include "pipeline/policy.h"

#define EMPTY_BATCHES 3   /* in a row without a usable row, of at least ... */
#define EMPTY_ROWS 8      /* ... this many rows, end a run */
#define CLOSE_SECONDS 3.0 /* a worker that is still reading so long after the stop is left behind */
#define NAP_LEAST 20e-6   /* s between two looks at a thread that should end; doubled up to NAP_MOST */
#define NAP_MOST 5e-3
#define SIM_NAP 0.05 /* s of a simulated wait between two looks at `stop` */
#define NS 1e-9      /* s */
#define NO_MORE_ROWS -1
#define NO_ROWS_NOW -2

static int worker_states(const Loader *l) { return l->o.workers > 0 ? l->o.workers : 1; }

/* For busy_since, which is one atomic number. */
static uint64_t now_ns(void) { return (uint64_t)(clock_now() * 1e9); }

/* The stages of one worker take turns: while one is busy, those before it cannot hand on and those behind it
 * have nothing to do. Beside a simulated disk the copy from the mapped cache is work of the worker. */
static void count_rows(Loader *l, int64_t number, const RowTimes *t)
{
    Counters *c = l->o.counters;
    int64_t batch = number - c->first;
    double read = NS * (double)t->read, decode = NS * (double)t->decode, finish = NS * (double)t->finish;
    if (t->read + t->decode + t->finish == 0)
        return;
    counters_trace_add(c, batch, l->o.sim ? TRACE_DECODE : TRACE_READ, t->read);
    counters_trace_add(c, batch, TRACE_DECODE, t->decode);
    if (!l->o.sim)
        counters_trace_add(c, batch, TRACE_DISK, t->disk);
    if (l->o.host)
        counters_trace_add(c, batch, TRACE_PREPROCESS, t->finish);
    counters_add(c, STAGE_READ, read, 0, NS * (double)(t->decode + t->finish));
    counters_add(c, STAGE_DECODE, decode, read, finish);
    if (l->o.host)
        counters_add(c, STAGE_PREPROCESS, finish, NS * (double)(t->read + t->decode), 0);
}

/* Sleeps until then, or until the loader is stopped. */
static void sleep_until(const Loader *l, double until)
{
    for (;;) {
        double left = until - clock_now();
        if (left <= 0 || __atomic_load_n(&l->stop, __ATOMIC_ACQUIRE))
            return;
        clock_sleep(left < SIM_NAP ? left : SIM_NAP);
    }
}

/* Simulated read and decode times: the share of these rows in the batch's. */
static void simulate(Loader *l, const Slot *s, int rows)
{
    Sim *sim = l->o.sim;
    Counters *c = l->o.counters;
    double share = (double)rows / s->info.count;
    double read = share * sim_seconds(sim, STAGE_READ, s->info.number, s->layout.bytes);
    double decode = share * sim_seconds(sim, STAGE_DECODE, s->info.number, s->layout.bytes);
    int64_t batch = s->info.number - c->first;
    int alone;
    uint64_t start = counters_read_begin(c, &alone);
    sim_disk_read(sim, read, &l->stop);
    uint64_t read_end = counters_now(c);
    counters_trace_add(c, batch, TRACE_DISK, counters_read_end(c, start, read_end, alone));
    counters_trace_add(c, batch, TRACE_READ, read_end - start);
    counters_busy(c, STAGE_READ, start);
    counters_blocked_in(c, STAGE_DECODE, start);
    sleep_until(l, clock_now() + decode);
    counters_trace_add(c, batch, TRACE_DECODE, counters_now(c) - read_end);
    counters_busy(c, STAGE_DECODE, read_end);
    counters_blocked_out(c, STAGE_READ, read_end);
}

/* 1: the simulated machine wants the batch to fail here. One row is lost then. */
static int fails_on_purpose(const Loader *l, const Slot *s, int row)
{
    const Sim *sim = l->o.sim;
    return row == 0 && sim &&
           (sim_fails(sim, STAGE_READ, s->info.number) || sim_fails(sim, STAGE_DECODE, s->info.number));
}

/* A clip here and there may be damaged. When nothing can be read any more, the disk has gone or the folder
 * was moved, and continuing would mean training on nothing. */
static void watch_for_empty(Loader *l, const BatchInfo *info)
{
    if (info->count == 0) /* by the plan: it says nothing about the disk */
        return;
    if (info->lost < info->count) {
        atomic_store(&l->empty_batches, 0);
        atomic_store(&l->empty_rows, 0);
        return;
    }
    int batches = atomic_fetch_add(&l->empty_batches, 1) + 1;
    int rows = atomic_fetch_add(&l->empty_rows, info->count) + info->count;
    if (batches < EMPTY_BATCHES || rows < EMPTY_ROWS)
        return;
    Ring *r = l->o.ring;
    Err err = {0};
    pthread_mutex_lock(&r->mutex);
    err_set(&err, ERR_DATA, "none of the clips of %d batches in a row could be loaded; %s", batches, l->why);
    pthread_mutex_unlock(&r->mutex);
    err_hint(
        &err,
        "the folder may have been moved, or its disk unmounted; when it is back, the same command resumes");
    ring_stop(r, &err);
}

/* The whole batch is loaded: what depends on all rows, then the slot goes to the feeder. */
static void hand_on(Loader *l, Slot *s)
{
    Counters *c = l->o.counters;
    size_t bytes = s->layout.bytes;
    watch_for_empty(l, &s->info);
    loader_choose_references(l, s);
    ring_ready(l->o.ring, s); /* from here on the slot is the feeder's */
    uint64_t depth = (uint64_t)ring_ready_count(l->o.ring);
    counters_left(c, STAGE_READ, bytes, 0);
    counters_left(c, STAGE_DECODE, bytes, depth);
    if (l->o.host)
        counters_left(c, STAGE_PREPROCESS, bytes, depth);
}

/* Rows of one slot that this worker has claimed. */
static void fill_rows(Loader *l, Worker *w, Slot *s, int first, int rows)
{
    LostRows lost = {0};
    RowTimes times = {0};
    if (l->o.sim && rows)
        simulate(l, s, rows);
    /* Once for these few rows: loader_watch looks for minutes, not for microseconds. */
    atomic_store(&w->busy_since, now_ns());
    for (int row = first; row < first + rows; row++) {
        uint32_t item = s->items[row];
        atomic_store(&w->item, item);
        if (loader_fill_row(l, w, s, row, fails_on_purpose(l, s, row), &times)) {
            lost.rows++;
            lost.tokens += l->o.corpus->lengths[item].tokens;
            lost.frames += l->o.corpus->lengths[item].frames;
        }
    }
    atomic_store(&w->busy_since, 0);
    /* The rows that stay empty belong to the worker with the last row. */
    if (s->batch && first + rows == s->info.count)
        for (int row = s->info.count; row < l->o.shape.rows; row++)
            loader_finish_row(l, w, s, row, NULL);
    count_rows(l, s->info.number, &times);
    if (ring_filled(l->o.ring, s, rows, &lost))
        hand_on(l, s);
}

/* Which share of which batch is the one with this number since the start. */
static void number_share(const Loader *l, BatchInfo *info, int64_t since)
{
    const int micro = l->o.shares.micro, part = (int)(since % micro);
    const int64_t position = l->o.first_index + since / micro;
    *info = (BatchInfo){.whole = l->o.first_epoch * l->batches_per_epoch + position,
                        .epoch = l->o.first_epoch + position / l->batches_per_epoch,
                        .index = position % l->batches_per_epoch,
                        .share = l->o.rank * micro + part,
                        .last = part == micro - 1};
    info->number = info->whole * micro + part;
}

/* Gives the next batch to a FREE slot. The ring is locked. */
static void open_slot_locked(Loader *l, Slot *s)
{
    Ring *r = l->o.ring;
    const BatchShape *shape = &l->o.shape;
    BatchInfo *info = &s->info;
    int bucket, whole, first;
    number_share(l, info, r->opened);
    /* The worker that opens the first batch of an epoch makes its order. */
    sampler_epoch(l->o.sampler, info->epoch);
    const uint32_t *items = sampler_batch(l->o.sampler, info->epoch, info->index, &whole, &bucket);
    const SamplerBucket *b = sampler_bucket(l->o.sampler, bucket);
    info->clips = info->last ? whole : 0;
    info->count = policy_share_rows(&l->o.shares, info->share, whole, &first);
    items += info->count > 0 ? first : 0;
    memcpy(s->items, items, (size_t)info->count * sizeof *items);
    info->text = b->tokens;
    info->frames = b->frames;
    info->samples = batch_kept_samples(shape, b->frames);
    if (!info->samples)
        info->samples = policy_most_samples(b->frames, l->o.cfg->hop_length, l->o.on_the_fly);
    /* Sums as if every row will load; ring_filled takes away what is lost. */
    for (int i = 0; i < info->count; i++) {
        info->real_tokens += l->o.corpus->lengths[items[i]].tokens;
        info->real_frames += l->o.corpus->lengths[items[i]].frames;
    }
    batch_layout_host(&s->layout, shape, info->text, info->frames, info->samples);
    for (int row = info->count; row < shape->rows; row++)
        loader_empty_row(s, row);
    counters_trace_begin(l->o.counters, r->opened, info->count, info->frames);
    ring_opened_locked(r, s);
}

/* Claims rows and returns how many, 0 of a batch that has none: the caller hands it on. NO_ROWS_NOW, or
 * NO_MORE_ROWS at the end. The ring is locked. */
static int claim_locked(Loader *l, Slot **slot, int *first)
{
    Ring *r = l->o.ring;
    Slot *s = ring_find_work_locked(r);
    if (!s)
        return r->opened >= r->end ? NO_MORE_ROWS : NO_ROWS_NOW;
    if (s->state == SLOT_FREE) {
        open_slot_locked(l, s);
        pthread_cond_broadcast(&r->work); /* rows for the others */
    }
    int rows = policy_rows_at_once(s->info.count, l->o.workers, l->o.on_the_fly);
    if (rows > s->info.count - s->claimed)
        rows = s->info.count - s->claimed;
    *slot = s;
    *first = s->claimed;
    s->claimed += rows;
    return rows;
}

/* Everything is loaded, so there is time for it. The ring is locked, but not while memory is taken. */
static void add_slots_locked(Loader *l, int slots)
{
    Ring *r = l->o.ring;
    int now = r->count;
    Err why = {0};
    pthread_mutex_unlock(&r->mutex);
    int rc = l->o.add_slots(l->o.add_arg, now, slots, &why);
    if (rc)
        log_info(l->o.log, "the pipeline stays at %d host slots: %s", now, why.msg);
    else
        log_debug(l->o.log, "the model device had to wait for batches to be loaded: %d host slots now",
                  slots);
    ring_added(r, slots, rc == 0);
    pthread_mutex_lock(&r->mutex);
}

/* A worker: claims rows under the ring's lock, fills them without it. */
static void *worker_main(void *arg)
{
    Worker *w = arg;
    Loader *l = w->loader;
    Ring *r = l->o.ring;
    pthread_mutex_lock(&r->mutex);
    while (!r->stopped) { /* every turn begins with the ring locked */
        Slot *s;
        int first, rows = claim_locked(l, &s, &first);
        if (rows == NO_MORE_ROWS)
            break;
        int slots;
        if (rows == NO_ROWS_NOW && ring_should_add_locked(r, &slots)) {
            add_slots_locked(l, slots);
            continue;
        }
        if (rows == NO_ROWS_NOW) {
            uint64_t since = counters_now(l->o.counters);
            pthread_cond_wait(&r->work, &r->mutex);
            counters_blocked_out(l->o.counters, STAGE_READ, since);
            counters_blocked_out(l->o.counters, STAGE_DECODE, since);
            if (l->o.host)
                counters_blocked_out(l->o.counters, STAGE_PREPROCESS, since);
            continue;
        }
        pthread_mutex_unlock(&r->mutex);
        fill_rows(l, w, s, first, rows);
        pthread_mutex_lock(&r->mutex);
    }
    pthread_mutex_unlock(&r->mutex);
    atomic_store(&w->finished, 1);
    return NULL;
}

/* The same in the caller's thread, for one batch. */
int loader_fill_next(Loader *l, Err *err)
{
    Ring *r = l->o.ring;
    Slot *s;
    int first, rows;
    for (;;) {
        pthread_mutex_lock(&r->mutex);
        rows = r->stopped ? NO_MORE_ROWS : claim_locked(l, &s, &first);
        pthread_mutex_unlock(&r->mutex);
        if (rows == NO_MORE_ROWS) {
            if (ring_check(r, err))
                return err ? err->code : ERR_STOPPED;
            return err_set(err, ERR_STOPPED, "the last batch has been filled");
        }
        if (rows == NO_ROWS_NOW)
            return 0; /* every slot is full */
        fill_rows(l, &l->workers[0], s, first, rows);
        if (first + rows == s->info.count)
            return 0;
    }
}

/* A read that never comes back cannot be interrupted; the run can be stopped with its name. */
void loader_watch(Loader *l)
{
    for (int i = 0; i < worker_states(l); i++) {
        uint64_t since = atomic_load(&l->workers[i].busy_since);
        double seconds = since ? NS * (double)(now_ns() - since) : 0;
        if (seconds < l->o.stuck_seconds)
            continue;
        const CorpusItem *c = &l->o.corpus->items[atomic_load(&l->workers[i].item)];
        const Utterance *u = &l->o.corpus->dataset.utterances[c->utterance];
        Err err = {0};
        err_set(&err, ERR_WORKER, "loader %d has been reading %.*s for %.0f s", i, (int)u->id.n, u->id.p,
                seconds);
        err_hint(&err, "the disk or network file system does not answer; remove the file, or copy the "
                       "dataset to a local disk");
        ring_stop(l->o.ring, &err);
    }
}

int64_t loader_lost(const Loader *l) { return atomic_load(&((Loader *)(uintptr_t)l)->lost); }

/* No longer than a user who pressed Ctrl-C has patience for. */
double loader_patience(const Loader *l)
{
    return l->o.stuck_seconds < CLOSE_SECONDS ? l->o.stuck_seconds : CLOSE_SECONDS;
}

/* Short naps first: most threads end at once. */
int loader_await(const _Atomic int *finished, double until)
{
    double nap = NAP_LEAST;
    while (!atomic_load(finished) && clock_now() < until) {
        clock_sleep(nap);
        nap = nap < NAP_MOST ? nap * 2 : nap;
    }
    return atomic_load(finished);
}

/* The number, in the file name, of the i-th mapped segment: that of an entry that lies in it. */
static uint32_t segment_number(const Store *s, uint32_t i)
{
    const FileMap *map = &s->segments[i];
    for (uint64_t k = 0; k < s->count; k++) {
        StoreEntry e;
        store_entry(s, k, &e);
        if (e.payload >= map->data && e.payload < map->data + map->size)
            return e.segment;
    }
    return 0;
}

/* For reading with pread: enable_memory_mapping off. */
static int open_segments(int **fds, const Store *s, Err *err)
{
    int *fd = *fds = mem_calloc(s->segment_count, sizeof *fd);
    if (!fd)
        return err_set(err, ERR_NOMEM, "no memory for the segments");
    for (uint32_t i = 0; i < s->segment_count; i++)
        fd[i] = -1;
    for (uint32_t i = 0; i < s->segment_count; i++) {
        char *path = store_segment_path(s->dir, s->name, segment_number(s, i), 0);
        if (!path)
            return err_set(err, ERR_NOMEM, "no memory for a path");
        fd[i] = open(path, O_RDONLY | O_CLOEXEC);
        int rc = fd[i] < 0 ? err_set_errno(err, ERR_IO, "cannot open %s", path) : 0;
        free(path);
        if (rc)
            return rc;
    }
    return 0;
}

static void close_segments(int *fd, const Store *s)
{
    for (uint32_t i = 0; fd && i < s->segment_count; i++)
        if (fd[i] >= 0)
            close(fd[i]);
    free(fd);
}

/* Samples of a clip that a segment may be made from. */
static size_t samples_of_segment(const Loader *l)
{
    const int64_t n = l->o.shape.samples;
    return (size_t)(l->speeds ? speed_most(l->speeds, n) + 2 * SPEED_REACH : n);
}

/* What a worker needs besides its thread. */
static int open_worker(Worker *w, Loader *l, Err *err)
{
    const LoaderOptions *o = &l->o;
    int rc = 0;
    w->loader = l;
    if (l->segment_fd) {
        w->pitch = mem_calloc((size_t)o->shape.frames, sizeof *w->pitch);
        /* A voice's samples, where it reads any, come from files. */
        if (o->corpus->segment_frames)
            w->segment = mem_calloc(samples_of_segment(l), sizeof *w->segment);
        rc = w->pitch && (w->segment || !o->corpus->segment_frames) ? 0 : ERR_NOMEM;
    }
    if (l->speeds) {
        w->original = mem_calloc(samples_of_segment(l), sizeof *w->original);
        rc = w->original ? rc : ERR_NOMEM;
    }
    if (rc)
        err_set(err, rc, "no memory for %d loader workers", worker_states(l));
    if (!rc && o->on_the_fly)
        rc = audio_processor_open(&w->processor, o->cfg, err);
    if (!rc && o->host)
        rc = preprocess_open(&w->preprocess, o->host, o->cfg, o->corpus->mean, o->corpus->deviation, err);
    return rc;
}

static void close_worker(Worker *w)
{
    audio_processor_close(w->processor);
    preprocess_close(w->preprocess);
    audio_buffer_free(&w->audio);
    buf_free(&w->bytes);
    free(w->pitch);
    free(w->segment);
    free(w->original);
}

/* *out is NULL after a failure; threads that have started are stopped. */
int loader_open(Loader **out, const LoaderOptions *o, Err *err)
{
    *out = NULL;
    Loader *l = mem_calloc(1, sizeof *l);
    if (!l)
        return err_set(err, ERR_NOMEM, "no memory for the loader");
    l->o = *o;
    l->batches_per_epoch = sampler_batches(o->sampler);
    o->counters->first = (o->first_epoch * l->batches_per_epoch + o->first_index) * o->shares.micro;
    int states = worker_states(l), rc = 0;
    l->workers = mem_calloc((size_t)states, sizeof *l->workers);
    l->known = mem_calloc(o->corpus->count, sizeof *l->known);
    if (!l->workers || !l->known)
        rc = err_set(err, ERR_NOMEM, "no memory for %d loader workers", states);
    if (!rc && !o->cfg->enable_memory_mapping)
        rc = open_segments(&l->segment_fd, corpus_store(o->corpus), err);
    if (!rc && !o->cfg->enable_memory_mapping && corpus_brings_mel(o->corpus))
        rc = open_segments(&l->mel_fd, &o->corpus->mel, err);
    if (!rc && o->corpus->segment_frames && !corpus_brings_mel(o->corpus) && o->cfg->augment_speed > 0)
        rc = speed_open(&l->speeds, o->cfg->augment_speed, err);
    for (int i = 0; i < states && !rc; i++)
        rc = open_worker(&l->workers[i], l, err);
    if (o->host)
        atomic_store(&o->counters->stage[STAGE_PREPROCESS].threads, states);
    atomic_store(&o->counters->stage[STAGE_READ].threads, states);
    atomic_store(&o->counters->stage[STAGE_DECODE].threads, states);
    for (int i = 0; i < o->workers && !rc; i++) {
        char name[16];
        snprintf(name, sizeof name, "loader-%d", i);
        rc = thread_start(&l->workers[i].thread, name, worker_main, &l->workers[i], err);
    }
    if (rc) {
        ring_stop(o->ring, NULL);
        loader_close(l);
        return rc;
    }
    *out = l;
    return 0;
}

void loader_stop(Loader *l) { __atomic_store_n(&l->stop, 1, __ATOMIC_RELEASE); }

/* Waits for every worker together, not for each in turn. */
int loader_close(Loader *l)
{
    if (!l)
        return 0;
    loader_stop(l);
    int stuck = 0;
    double until = clock_now() + loader_patience(l);
    for (int i = 0; l->workers && i < worker_states(l); i++) {
        Worker *w = &l->workers[i];
        /* It may come back to its row at any time: what it can reach stays. */
        if (w->thread.running && !loader_await(&w->finished, until)) {
            pthread_detach(w->thread.handle);
            stuck++;
            continue;
        }
        thread_join(&w->thread);
        close_worker(w);
    }
    if (stuck)
        return 1;
    close_segments(l->segment_fd, corpus_store(l->o.corpus));
    close_segments(l->mel_fd, &l->o.corpus->mel);
    speed_close(l->speeds);
    free((void *)(uintptr_t)l->known);
    free(l->workers);
    free(l);
    return 0;
}
