/* ranks_private.h - the handle of ranks.h, for the files of this folder: ranks.c has the collective calls,
 * rank_watch.c the thread, ranks_wire.c and ranks_mpi.c move data. */
#ifndef MYXTTS_RANKS_PRIVATE_H
#define MYXTTS_RANKS_PRIVATE_H

#include <pthread.h>

#include "base/thread.h"
#include "ranks/rank_verdict.h"
#include "ranks/ranks.h"
#include "ranks/wire.h"

enum { LANE_TALK, LANE_SUM }; /* of WIRE_LANES */

/* How host memory gets from rank to rank. Errors other than ERR_RANKS may be the first sign of a fault that
 * the thread will know more about. */
typedef struct RankTransport {
    const char *name;
    int (*gather)(Ranks *r, void *all, const void *mine, size_t bytes, Err *err);
    int (*broadcast)(Ranks *r, void *p, size_t bytes, int from, Err *err);
    int (*sum)(Ranks *r, float *p, int64_t n, SumType type, void *scratch, Err *err);
    size_t (*scratch)(const Ranks *r, int64_t n, SumType type);
    /* orderly: all ranks are here, none has failed. */
    void (*close)(Ranks *r, int orderly);
} RankTransport;

extern const RankTransport ranks_wire_transport; /* own: WireLanes */
/* ERR_MISSING when the library is not there. Afterwards the meeting can be exchanged by MPI. */
int ranks_mpi_open(Ranks *r, Err *err);
int ranks_wire_open(Ranks *r, Err *err);

struct Ranks {
    RankPlace place;
    int local, locals;
    Log *log;
    Wire wire;
    const RankTransport *transport; /* NULL until there is one */
    void *own;                      /* the transport's */

    /* What this rank does, for its heartbeats; atomic. */
    int doing, calls[WIRE_LANES], steps;
    int64_t step;
    uint64_t moved, entered[WIRE_LANES];
    uint64_t step_us, longest_us, doing_since_us; /* the time of this step, of the longest, of this doing */

    int64_t *heard; /* [count] atomic: the step of each rank's last heartbeat; 0 of those not heard here */

    /* The thread (rank_watch.c). */
    Thread thread;
    int wake;    /* an eventfd: something to do for the thread */
    int stop;    /* an eventfd, readable from the first fault on: ends waiting */
    int failed;  /* atomic; `fault` is valid once it is 1 */
    int catches; /* SIGTERM is ours */
    pthread_mutex_t lock;
    pthread_cond_t told;
    Err fault;     /* of the run: the whole sentence */
    Err own_fault; /* lock: what ranks_fail was given; code 0: nothing */
    int everyones; /* lock: own_fault is known to every rank and needs no name before it */
    int closing;   /* lock: 1 the thread is to end */
    double patience;
};

/* The thread. All connections are there. */
int rank_watch_open(Ranks *r, Err *err);
void rank_watch_close(Ranks *r); /* says goodbye unless there was a fault, and ends the thread */
/* Hands a fault of this rank to the thread and waits until all have been told. everyones: all ranks know the
 * same sentence; only rank 0 says it. err becomes ERR_RANKS with the sentence of the run's fault. */
void rank_watch_fail(Ranks *r, Err *err, int everyones);
/* The fault as an error to return, after waiting a little for the thread to find one. 0: there is none. */
int rank_watch_fault(Ranks *r, double seconds, Err *err);

#endif
