/* counters.c - see counters.h. */
#include "pipeline/counters.h"

#include <time.h>

uint64_t counters_now(const Counters *c)
{
    struct timespec t;
    if (c->off)
        return 0;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void add_since(const Counters *c, _Atomic uint64_t *to, uint64_t since)
{
    uint64_t now = counters_now(c);
    if (now > since)
        atomic_fetch_add_explicit(to, now - since, memory_order_relaxed);
}

void counters_busy(Counters *c, StageId s, uint64_t since) { add_since(c, &c->stage[s].busy_ns, since); }
void counters_blocked_in(Counters *c, StageId s, uint64_t since) { add_since(c, &c->stage[s].blocked_in_ns, since); }
void counters_blocked_out(Counters *c, StageId s, uint64_t since) { add_since(c, &c->stage[s].blocked_out_ns, since); }

void counters_add(Counters *c, StageId s, double busy, double blocked_in, double blocked_out)
{
    if (c->off)
        return;
    StageCounter *k = &c->stage[s];
    atomic_fetch_add_explicit(&k->busy_ns, (uint64_t)(busy * 1e9), memory_order_relaxed);
    atomic_fetch_add_explicit(&k->blocked_in_ns, (uint64_t)(blocked_in * 1e9), memory_order_relaxed);
    atomic_fetch_add_explicit(&k->blocked_out_ns, (uint64_t)(blocked_out * 1e9), memory_order_relaxed);
}

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
