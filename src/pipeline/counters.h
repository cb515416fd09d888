/* counters.h - what every stage did with its time; cheap enough to stay on.
 * A stage is busy, blocked on its input (nothing to do) or blocked on its output (nowhere to put the result). Several threads of one stage add
 * up; `threads` says how many. Everything in diag/ is arithmetic on these numbers.
 * A Counters on the heap wants memory aligned to 64 bytes (mem_aligned). Threads: adding from any (relaxed atomics, one cache line a stage); a snapshot from any. */
#ifndef MYXTTS_COUNTERS_H
#define MYXTTS_COUNTERS_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/stats.h"
#include "device/sim.h"

typedef struct StageCounter {
    _Alignas(64) _Atomic uint64_t busy_ns;
    _Atomic uint64_t blocked_in_ns, blocked_out_ns;
    _Atomic uint64_t items, bytes;       /* batches and bytes that left the stage */
    _Atomic uint64_t queue_sum, queue_n; /* depth of its output queue, sampled when a batch leaves */
    _Atomic int threads;
} StageCounter;

typedef struct Counters {
    StageCounter stage[STAGE_COUNT];
    _Atomic int off; /* for measuring what counting costs */
} Counters;

typedef struct StageSnapshot {
    double busy, blocked_in, blocked_out; /* seconds, all threads together */
    uint64_t items, bytes;
    double queue; /* mean depth of the output queue */
    int threads;
} StageSnapshot;

uint64_t counters_now(const Counters *c);                   /* ns; 0 when off */
void counters_busy(Counters *c, StageId s, uint64_t since); /* adds now - since */
void counters_blocked_in(Counters *c, StageId s, uint64_t since);
void counters_blocked_out(Counters *c, StageId s, uint64_t since);
/* Times measured elsewhere (device events), in seconds. */
void counters_add(Counters *c, StageId s, double busy, double blocked_in, double blocked_out);
void counters_left(Counters *c, StageId s, uint64_t bytes, uint64_t queue); /* one batch has left the stage */
void counters_snapshot(const Counters *c, StageSnapshot out[STAGE_COUNT]);

#endif
