/* counters.h - what every stage did with its time; cheap enough to stay on.
 * A stage is busy, blocked on its input (nothing to do) or blocked on its output (nowhere to put the result).
 * Several threads of one stage add up; `threads` says how many. Everything in diag/ is arithmetic on these
 * numbers. A Counters on the heap wants memory aligned to 64 bytes (mem_aligned). Threads: adding from any
 * (relaxed atomics, one cache line a stage); a snapshot from any. */
#ifndef MYXTTS_COUNTERS_H
#define MYXTTS_COUNTERS_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/stage.h"
#include "base/stats.h"

typedef struct StageCounter {
    _Alignas(64) _Atomic uint64_t busy_ns;
    _Atomic uint64_t blocked_in_ns, blocked_out_ns;
    _Atomic uint64_t items, bytes;       /* batches and bytes that left the stage */
    _Atomic uint64_t queue_sum, queue_n; /* depth of its output queue, sampled when a batch leaves */
    _Atomic int threads;
} StageCounter;

/* What is kept of every batch, so that a slow one can be told from a slow stage. Seconds; workers of one
 * batch add up. */
typedef enum {
    TRACE_STAGE,                           /* + StageId: the stage's own time */
    TRACE_DISK = TRACE_STAGE + STAGE_READ, /* while nobody who came before was still being served: what one
                                              disk had to do for this batch */
    TRACE_DECODE = TRACE_STAGE + STAGE_DECODE,
    TRACE_H2D = TRACE_STAGE + STAGE_H2D,               /* the copy itself */
    TRACE_PREPROCESS = TRACE_STAGE + STAGE_PREPROCESS, /* on the data device, or by the workers where that is
                                                          the CPU */
    TRACE_PEER = TRACE_STAGE + STAGE_PEER,
    TRACE_STEP = TRACE_STAGE + STAGE_STEP,  /* the step's own work */
    TRACE_READ = TRACE_STAGE + STAGE_COUNT, /* workers inside a read, waiting for the disk included */
    TRACE_FEED, /* the feeder's thread, from enqueuing the batch to the end of its copy */
    TRACE_WAIT, /* the model device idle before the step */
    TRACE_COUNT
} TraceId;

#define TRACE_KEEP 4096 /* newest batches */

typedef struct TraceRow {
    _Atomic uint64_t ns[TRACE_COUNT];
    _Atomic uint32_t rows;                     /* utterances of the batch */
    _Atomic uint16_t host_ready, device_ready; /* when the consumer took it: host slots that were ready,
                                                  batches on the model device beside the one in work */
} TraceRow;

typedef struct Counters {
    StageCounter stage[STAGE_COUNT];
    _Atomic int off; /* for measuring what counting costs */
    int64_t first;   /* number of the first batch; traces count from it */
    /* How long reads took that began while no other was under way, and what of the others was TRACE_DISK:
     * about as much where one disk serves one after the other, much less where reads go on side by side. */
    _Alignas(64) _Atomic int reading;
    _Atomic uint64_t read_end; /* ns, of the read that ended last */
    _Atomic uint64_t alone_ns, alone_n, shared_ns, shared_n;
    TraceRow trace[TRACE_KEEP]; /* of batch n in n % TRACE_KEEP */
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

/* Traces. batch: counted from the first of the pipeline. Whoever opens a batch begins its row, before anyone
 * adds to it. */
void counters_trace_begin(Counters *c, int64_t batch, int rows);
void counters_trace_add(Counters *c, int64_t batch, TraceId t, uint64_t ns);
void counters_trace_set(Counters *c, int64_t batch, TraceId t, double seconds);
/* What the consumer found when it asked for the batch. */
void counters_depths(Counters *c, int64_t batch, int host_ready, int device_ready);
double counters_trace(const Counters *c, int64_t batch, TraceId t); /* seconds */
/* A read: *alone is 1 when no other is under way. read_end returns what of it is TRACE_DISK, in ns. */
uint64_t counters_read_begin(Counters *c, int *alone);
uint64_t counters_read_end(Counters *c, uint64_t start, uint64_t end, int alone);

#endif
