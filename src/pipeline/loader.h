/* loader.h - workers that fill host slots from the mapped caches, or from audio files (on_the_fly).
 * A row that cannot be loaded is left empty (lengths 0), logged once, and counted; the batch continues
 * without it. A few batches in a row without a single row stop the ring with an error. Invariants of a
 * worker: it holds no lock while it reads, and it writes only to rows that it has claimed. Threads:
 * loader_open starts the workers; loader_fill_next is for callers without workers (num_workers 0). */
#ifndef MYXTTS_LOADER_H
#define MYXTTS_LOADER_H

#include "base/err.h"
#include "base/log.h"
#include "config/config.h"
#include "device/device.h"
#include "device/sim.h"
#include "pipeline/corpus.h"
#include "pipeline/counters.h"
#include "pipeline/ring.h"
#include "pipeline/sampler.h"

typedef struct LoaderOptions {
    const Config *cfg;
    const Corpus *corpus;
    Sampler *sampler;
    Ring *ring;
    Counters *counters;
    Sim *sim; /* may be NULL */
    BatchShape shape;
    Shares shares;
    int rank;
    int on_the_fly;
    Device *host; /* the data device if that is the CPU: workers preprocess their rows, into slot->batch; or
                     NULL */
    int workers;
    int64_t first_epoch, first_index;
    double stuck_seconds; /* a row that takes longer stops the run with an error that names it */
    /* Takes the memory of slots [from, to) of the ring; called by a worker. What fails leaves nothing. */
    int (*add_slots)(void *arg, int from, int to, Err *err);
    void *add_arg;
    Log *log;
} LoaderOptions;

typedef struct Loader Loader;
int loader_open(Loader **l, const LoaderOptions *o, Err *err);
/* Fills one batch in the calling thread (workers = 0). 0, or ERR_STOPPED at the end. */
int loader_fill_next(Loader *l, Err *err);
/* Stops the ring with an error if a worker has been busy with a row for longer than stuck_seconds; the error
 * names the row. To be called by a thread that does not read. Without overlap (native_loading off) the
 * consumer reads the clips itself, and no thread watches it. */
void loader_watch(Loader *l);
int64_t loader_lost(const Loader *l); /* utterances that could not be loaded so far, each counted once */
/* Call after ring_stop. Returns 1 if a worker is still in a read after loader_patience seconds: it is
 * abandoned, with everything that it can access. */
int loader_close(Loader *l);
void loader_stop(Loader *l); /* ends simulated waits of its threads, and of those in loader_fill_next */

/* Seconds after the stop until a thread that is still in a read is abandoned: stuck_seconds, or less. */
double loader_patience(const Loader *l);
/* Waits until *finished is not 0 or clock_now reaches `until`; returns *finished. */
int loader_await(const _Atomic int *finished, double until);

#endif
