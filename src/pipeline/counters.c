/* counters.c - see counters.h. */
#include "pipeline/counters.h"

#include <time.h>

/* 0 when switched off, so that nothing is ever added. */
uint64_t counters_now(const Counters *c)
{
    struct timespec t;
    if (c->off)
        return 0;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Relaxed everywhere: numbers are only added up; no other memory access is ordered by them. */
static void add_since(const Counters *c, _Atomic uint64_t *to, uint64_t since)
{
    uint64_t now = counters_now(c);
    if (now > since)
        atomic_fetch_add_explicit(to, now - since, memory_order_relaxed);
}

void counters_busy(Counters *c, StageId s, uint64_t since) { add_since(c, &c->stage[s].busy_ns, since); }
void counters_blocked_in(Counters *c, StageId s, uint64_t since)
{
    add_since(c, &c->stage[s].blocked_in_ns, since);
}
void counters_blocked_out(Counters *c, StageId s, uint64_t since)
{
    add_since(c, &c->stage[s].blocked_out_ns, since);
}

void counters_add(Counters *c, StageId s, double busy, double blocked_in, double blocked_out)
{
    if (c->off)
        return;
    StageCounter *k = &c->stage[s];
    atomic_fetch_add_explicit(&k->busy_ns, (uint64_t)(busy * 1e9), memory_order_relaxed);
    atomic_fetch_add_explicit(&k->blocked_in_ns, (uint64_t)(blocked_in * 1e9), memory_order_relaxed);
    atomic_fetch_add_explicit(&k->blocked_out_ns, (uint64_t)(blocked_out * 1e9), memory_order_relaxed);
}

/* A batch has left the stage; queue: how many wait behind it. */
void counters_left(Counters *c, StageId s, uint64_t bytes, uint64_t queue)
{
    if (c->off)
        return;
    StageCounter *k = &c->stage[s];
    atomic_fetch_add_explicit(&k->items, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&k->bytes, bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&k->queue_sum, queue, memory_order_relaxed);
    atomic_fetch_add_explicit(&k->queue_n, 1, memory_order_relaxed);
}

/* Not one moment for all counters: they go on counting while they are read. */
void counters_snapshot(const Counters *c, StageSnapshot out[STAGE_COUNT])
{
    for (int i = 0; i < STAGE_COUNT; i++) {
        const StageCounter *k = &c->stage[i];
        uint64_t n = atomic_load_explicit(&k->queue_n, memory_order_relaxed);
        out[i] = (StageSnapshot){
            .busy = 1e-9 * (double)atomic_load_explicit(&k->busy_ns, memory_order_relaxed),
            .blocked_in = 1e-9 * (double)atomic_load_explicit(&k->blocked_in_ns, memory_order_relaxed),
            .blocked_out = 1e-9 * (double)atomic_load_explicit(&k->blocked_out_ns, memory_order_relaxed),
            .items = atomic_load_explicit(&k->items, memory_order_relaxed),
            .bytes = atomic_load_explicit(&k->bytes, memory_order_relaxed),
            .queue = n ? (double)atomic_load_explicit(&k->queue_sum, memory_order_relaxed) / (double)n : 0,
            .threads = atomic_load_explicit(&k->threads, memory_order_relaxed),
        };
    }
}

/* A ring over the newest batches. */
static TraceRow *row_of(Counters *c, int64_t batch) { return &c->trace[(uint64_t)batch % TRACE_KEEP]; }

/* The row still holds a batch from TRACE_KEEP batches ago. */
void counters_trace_begin(Counters *c, int64_t batch, int rows, int frames)
{
    TraceRow *r = row_of(c, batch);
    for (int t = 0; t < TRACE_COUNT; t++)
        atomic_store_explicit(&r->ns[t], 0, memory_order_relaxed);
    atomic_store_explicit(&r->rows, (uint32_t)rows, memory_order_relaxed);
    atomic_store_explicit(&r->frames, (uint32_t)frames, memory_order_relaxed);
    atomic_store_explicit(&r->apart, 0, memory_order_relaxed);
}

/* Added by several workers, in any order. */
void counters_trace_add(Counters *c, int64_t batch, TraceId t, uint64_t ns)
{
    if (!c->off)
        atomic_fetch_add_explicit(&row_of(c, batch)->ns[t], ns, memory_order_relaxed);
}

/* Known by one thread alone. */
void counters_trace_set(Counters *c, int64_t batch, TraceId t, double seconds)
{
    if (!c->off)
        atomic_store_explicit(&row_of(c, batch)->ns[t], seconds > 0 ? (uint64_t)(seconds * 1e9) : 0,
                              memory_order_relaxed);
}

void counters_set_apart(Counters *c, int64_t batch)
{
    if (!c->off)
        atomic_store_explicit(&row_of(c, batch)->apart, 1, memory_order_relaxed);
}

void counters_depths(Counters *c, int64_t batch, int host_ready, int device_ready)
{
    if (c->off)
        return;
    TraceRow *r = row_of(c, batch);
    atomic_store_explicit(&r->host_ready, (uint16_t)host_ready, memory_order_relaxed);
    atomic_store_explicit(&r->device_ready, (uint16_t)device_ready, memory_order_relaxed);
}

double counters_trace(const Counters *c, int64_t batch, TraceId t)
{
    return 1e-9 *
           (double)atomic_load_explicit(&c->trace[(uint64_t)batch % TRACE_KEEP].ns[t], memory_order_relaxed);
}

/* Reads that overlap are told apart from those that had the disk for themselves. */
uint64_t counters_read_begin(Counters *c, int *alone)
{
    *alone = atomic_fetch_add_explicit(&c->reading, 1, memory_order_relaxed) == 0;
    return counters_now(c);
}

/* The highest bit says the octave, the next three the place in it. */
static int bin_of(uint64_t ns)
{
    int octave = 60 - __builtin_clzll(ns | 8);
    int bin = 8 * octave + (int)((ns | 8) >> octave & 7);
    return bin < READ_BINS ? bin : READ_BINS - 1;
}

uint64_t counters_read_end(Counters *c, uint64_t start, uint64_t end, int alone)
{
    uint64_t before = atomic_load_explicit(&c->read_end, memory_order_relaxed);
    atomic_fetch_sub_explicit(&c->reading, 1, memory_order_relaxed);
    if (c->off)
        return 0;
    /* The end of the read that ended last, in any worker. */
    while (end > before && !atomic_compare_exchange_weak_explicit(
                               &c->read_end, &before, end, memory_order_relaxed, memory_order_relaxed)) {
    }
    /* Time the disk spent on this read alone: what had passed before the last read ended was another's. */
    uint64_t from = before > start ? before : start, disk = end > from ? end - from : 0;
    uint64_t took = alone ? end - start : disk;
    atomic_fetch_add_explicit(alone ? &c->alone_ns : &c->shared_ns, took, memory_order_relaxed);
    atomic_fetch_add_explicit(alone ? &c->alone[bin_of(took)] : &c->shared[bin_of(took)], 1,
                              memory_order_relaxed);
    return disk;
}

ReadTimes counters_read_times(const Counters *c, int alone)
{
    const _Atomic uint32_t *bins = alone ? c->alone : c->shared;
    ReadTimes t = {0};
    uint64_t seen = 0;
    int i = 0;
    for (int k = 0; k < READ_BINS; k++)
        t.n += bins[k];
    if (!t.n)
        return t;
    while (i < READ_BINS - 1 && (seen += bins[i]) * 2 < t.n)
        i++;
    t.mean = 1e-9 * (double)(alone ? c->alone_ns : c->shared_ns) / (double)t.n;
    t.median = 1e-9 * (8.5 + i % 8) * (double)((uint64_t)1 << (i / 8));
    return t;
}
