/* counters.h - how each stage spends its time; cheap enough to be always on.
 * A stage is busy, blocked on its input (nothing to do) or blocked on its output (nowhere to put the result).
 * The times of several threads of a stage are added up; `threads` says how many there are. Everything in
 * diag/ is computed from these numbers. A Counters on the heap needs 64-byte alignment (mem_aligned).
 * Threads: any may add (relaxed atomics, one cache line per stage) and take snapshots. */
#ifndef MYXTTS_COUNTERS_H
#define MYXTTS_COUNTERS_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/stage.h"
#include "base/stats.h"

typedef struct StageCounter {
    _Alignas(64) _Atomic uint64_t busy_ns;
    _Atomic uint64_t blocked_in_ns, blocked_out_ns;
    _Atomic uint64_t items, bytes;       /* number of batches and bytes that left the stage */
    _Atomic uint64_t queue_sum, queue_n; /* depth of its output queue when a batch leaves: sum, samples */
    _Atomic int threads;
} StageCounter;

/* Times that are kept for every batch, so that a slow batch can be distinguished from a slow stage. The times
 * of several workers are added up. */
typedef enum {
    TRACE_STAGE, /* TRACE_STAGE + a StageId is that stage's own time; these have names: */
    /* The part of TRACE_READ after all earlier reads had ended: the work of the disk for this batch, if it
     * serves one read at a time. */
    TRACE_DISK = TRACE_STAGE + STAGE_READ,
    TRACE_DECODE = TRACE_STAGE + STAGE_DECODE,
    TRACE_H2D = TRACE_STAGE + STAGE_H2D, /* the copy itself */
    /* On the data device, or in the workers if that is the CPU. */
    TRACE_PREPROCESS = TRACE_STAGE + STAGE_PREPROCESS,
    TRACE_PEER = TRACE_STAGE + STAGE_PEER,
    TRACE_STEP = TRACE_STAGE + STAGE_STEP,  /* the work of the step */
    TRACE_SUM = TRACE_STAGE + STAGE_SUM,    /* the step waits for the sum over ranks, or for other ranks */
    TRACE_READ = TRACE_STAGE + STAGE_COUNT, /* workers inside a read, including waiting for the disk */
    TRACE_FEED,  /* the feeder's thread, from enqueuing the batch to the end of its copy */
    TRACE_WAIT,  /* the model device idle before the step, for want of data */
    TRACE_ASIDE, /* and before that, because the consumer had not yet asked for the batch */
    TRACE_COUNT
} TraceId;

#define TRACE_KEEP 4096 /* number of batches that are kept, the newest ones */

typedef struct TraceRow {
    _Atomic uint64_t ns[TRACE_COUNT];
    _Atomic uint32_t rows;   /* utterances of the batch */
    _Atomic uint32_t frames; /* mel frames that each of them is padded to */
    /* When the consumer took the batch: host slots that were ready, and batches that were ready on the model
     * device besides this one. */
    _Atomic uint16_t host_ready, device_ready;
    _Atomic int apart; /* 1: its step is not like the others (step_meter.h) */
} TraceRow;

#define READ_BINS 256 /* of durations, eight to an octave of ns, up to 34 s */

typedef struct Counters {
    StageCounter stage[STAGE_COUNT];
    _Atomic int off; /* 1: count nothing, to measure what counting costs */
    int64_t first;   /* number of the first batch; traces count from it */
    /* Whether the disk serves one read at a time: number of reads by duration (see counters_read_median), of
     * those that began while no other was running (alone), and by their TRACE_DISK part of the others
     * (shared). Their medians and means are about equal if it does; those of shared are much smaller if reads
     * run in parallel. Means are moved by stalls, which meet one kind more often than the other, and medians
     * of short reads by threads that wake up late. */
    _Alignas(64) _Atomic int reading; /* number of reads that are running */
    _Atomic uint64_t read_end;        /* ns, end of the read that ended last */
    _Atomic uint32_t alone[READ_BINS], shared[READ_BINS];
    _Atomic uint64_t alone_ns, shared_ns;
    TraceRow trace[TRACE_KEEP]; /* batch n is in n % TRACE_KEEP */
} Counters;

typedef struct StageSnapshot {
    double busy, blocked_in, blocked_out; /* seconds, of all threads together */
    uint64_t items, bytes;
    double queue; /* mean depth of the output queue */
    int threads;
} StageSnapshot;

uint64_t counters_now(const Counters *c);                   /* ns; 0 when off */
void counters_busy(Counters *c, StageId s, uint64_t since); /* adds now - since */
void counters_blocked_in(Counters *c, StageId s, uint64_t since);
void counters_blocked_out(Counters *c, StageId s, uint64_t since);
/* Adds times that were measured elsewhere (device events), in seconds. */
void counters_add(Counters *c, StageId s, double busy, double blocked_in, double blocked_out);
void counters_left(Counters *c, StageId s, uint64_t bytes, uint64_t queue); /* one batch has left the stage */
void counters_snapshot(const Counters *c, StageSnapshot out[STAGE_COUNT]);

/* Traces. batch counts from the first one of the pipeline. The thread that opens a batch calls begin before
 * any thread adds to its trace. */
void counters_trace_begin(Counters *c, int64_t batch, int rows, int frames);
void counters_trace_add(Counters *c, int64_t batch, TraceId t, uint64_t ns);
void counters_trace_set(Counters *c, int64_t batch, TraceId t, double seconds);
void counters_set_apart(Counters *c, int64_t batch);
/* Sets host_ready and device_ready of a batch. */
void counters_depths(Counters *c, int64_t batch, int host_ready, int device_ready);
double counters_trace(const Counters *c, int64_t batch, TraceId t); /* seconds */
/* Around a read. begin returns the time and sets *alone to 1 if no other read is running; end returns the
 * TRACE_DISK part of the read, in ns. */
uint64_t counters_read_begin(Counters *c, int *alone);
uint64_t counters_read_end(Counters *c, uint64_t start, uint64_t end, int alone);
typedef struct ReadTimes {
    uint64_t n;
    double mean, median; /* seconds */
} ReadTimes;
ReadTimes counters_read_times(const Counters *c, int alone); /* of the reads alone, or of the shared ones */

#endif
