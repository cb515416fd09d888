/* loader.h - workers that fill host slots from the mapped cache, or from audio files (on_the_fly).
 * A row that cannot be loaded stays empty (lengths 0), is named on the log once, and is counted; the batch
 * goes on without it. Invariants of a worker: it holds no lock while it reads; what it writes lies in rows
 * that only it has claimed. Threads: loader_open starts the workers; loader_fill_next is for callers without
 * workers (num_workers 0). */
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
    int on_the_fly;
    Device *host; /* set where the data device is the CPU: the workers finish their rows themselves, in
                     slot->batch */
    int workers;
    int64_t first_epoch, first_index;
    double stuck_seconds; /* a row that takes longer stops the run with its name */
    Log *log;
} LoaderOptions;

typedef struct Loader Loader;
int loader_open(Loader **l, const LoaderOptions *o, Err *err);
/* Fills one batch in the calling thread (workers = 0). 0, or ERR_STOPPED at the end. */
int loader_fill_next(Loader *l, Err *err);
/* Looks for a row that has been worked on for longer than stuck_seconds; stops the ring with its name. For a
 * thread that does not read itself: without overlap (native_loading off) the consumer does, and nobody
 * watches it. */
void loader_watch(Loader *l);
int64_t loader_lost(const Loader *l); /* utterances that could not be loaded so far, each counted once */
/* After ring_stop. A worker that is still in a read loader_patience later is left behind, and all it can
 * reach with it: 1 is returned then. */
int loader_close(Loader *l);
void loader_stop(Loader *l); /* ends simulated waits of its threads, and of those in loader_fill_next */

/* A thread that reads and does not end by itself this many seconds after the stop is left behind:
 * stuck_seconds, or less. */
double loader_patience(const Loader *l);
/* Waits until *finished is not 0, or it is `until` (clock_now); returns *finished. */
int loader_await(const _Atomic int *finished, double until);

#endif
