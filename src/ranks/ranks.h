/* ranks.h - several processes ("ranks") that train one voice: how they communicate, and how all end when one
 * fails. A Ranks handle is passed along as a Device is. NULL means a single process: every function accepts
 * it and acts as for one rank. A GPU's memory is summed by ranks_nccl.h; everything here is about host
 * memory. Transports. Under mpirun it is MPI, whose library is loaded at run time; under torchrun or srun a
 * star of TCP connections with rank 0 in the middle. In both cases every rank also has a control connection
 * to rank 0 and a thread for it, which sends heartbeats and reports faults. Collective calls have to be made
 * by every rank, with the same sizes and in the same order. There are two lanes: ranks_sum on one, all others
 * on the other. Each lane has its own order, and one thread at a time; two threads may use a lane each.
 * Waiting takes hardly any CPU time.
 *
 * Faults. When a rank is killed, frozen, stuck while others wait for it, or calls ranks_fail, every rank is
 * told: rank 0 (or the lowest that is left) prints one message, collective calls return ERR_RANKS,
 * ranks_failed becomes 1, and a second later all remaining processes exit with code 3. An Err with ERR_RANKS
 * has the sentence, but log_err does not print it again. */
#ifndef MYXTTS_RANKS_H
#define MYXTTS_RANKS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "ranks/rank_place.h"

typedef struct Ranks Ranks;

/* What a rank is doing, for the message about a stuck rank. It also determines how long others will wait for
 * it: seconds for a step, longer for slow work. */
typedef enum {
    RANK_STARTING,
    RANK_PREPARING,
    RANK_WAITING_FOR_DATA,
    RANK_STEPPING,
    RANK_SUMMING,
    RANK_VALIDATING,
    RANK_SPEAKING,
    RANK_SAVING,
    RANK_ENDING,
    RANK_DOINGS
} RankDoing;

/* The format in which numbers are sent; they are always added in fp32. */
typedef enum {
    SUM_FP32,
    SUM_BF16 /* each rank's numbers, and the sums, are rounded to bf16 */
} SumType;

/* Collective; waits for the others (MYXTTS_JOIN_SECONDS, else 60) and then reports which are missing. *r is
 * NULL for a single process, unless MYXTTS_RANKS=1 asks for a handle anyway; then every call works as with
 * several ranks. log must outlive the handle. ERR_MISSING says what to install. */
int ranks_open(Ranks **r, const RankPlace *p, Log *log, Err *err);
/* Waits until the others close too, so that no rank leaves while another still needs it. After a fault it
 * does not wait. NULL is allowed. */
void ranks_close(Ranks *r);

/* Results without a handle: 0, 1, 0, 1. */
int ranks_rank(const Ranks *r);
int ranks_count(const Ranks *r);
int ranks_local(const Ranks *r);  /* number among the ranks of this host */
int ranks_locals(const Ranks *r); /* how many this host has */
const char *ranks_host(const Ranks *r, int rank);
const char *ranks_transport(const Ranks *r); /* "MPI", "TCP" or, without a handle, "none" */

/* 1: the launcher kills ranks soon after it has asked them to end; OpenMPI's mpirun does so a second after
 * Ctrl-C. */
int ranks_are_hurried(const Ranks *r);

/* ---- collective calls, host memory ---- */

/* all [count][bytes]: what every rank gave as `mine`. */
int ranks_gather(Ranks *r, void *all, const void *mine, size_t bytes, Err *err);
/* The same for pieces of different sizes, one after the other in `all` (cleared first); sizes [count]. */
int ranks_gather_any(Ranks *r, Buf *all, size_t *sizes, const void *mine, size_t bytes, Err *err);
int ranks_broadcast(Ranks *r, void *p, size_t bytes, int from, Err *err); /* of any size */
int ranks_barrier(Ranks *r, Err *err);
/* Fails on all ranks unless every one has the same value: the message has both values, ranks and hosts. */
int ranks_agree(Ranks *r, const char *what, const char *value, Err *err);

/* p [n] becomes the sum over ranks, added in the order of ranks: the same bits on all of them and in every
 * run. scratch has ranks_sum_scratch bytes; nothing is allocated. */
int ranks_sum(Ranks *r, float *p, int64_t n, SumType type, void *scratch, Err *err);
size_t ranks_sum_scratch(const Ranks *r, int64_t n, SumType type);
/* The elements [*from, *to) of n that belong to a rank; some have none when n is small. */
void ranks_slice(const Ranks *r, int64_t n, int rank, int64_t *from, int64_t *to);

/* ---- faults; any thread ---- */

/* Costs two atomic stores; call it often, because a rank that others wait for counts as stuck if it has not
 * called this for a while. */
void ranks_doing(Ranks *r, RankDoing doing, int64_t step);
/* This rank cannot continue. All ranks end with the message "rank 2 on host-b: ...". Returns when they have
 * been told, and sets err's code to ERR_RANKS so that the message is not printed twice. Without a handle it
 * has no effect. */
void ranks_fail(Ranks *r, Err *err);
/* What another rank last reported with ranks_doing, at most half a second ago. Rank 0 hears all of them, the
 * others rank 0 alone; 0: nothing yet. */
int64_t ranks_step(const Ranks *r, int rank);
int ranks_failed(const Ranks *r); /* 1: a rank has failed, this one or another; for loops that wait */

#endif
