/* ranks_nccl.h - sums over the GPUs of all ranks: NCCL moves the numbers, a kernel of ours adds them, so that
 * they are added in the order of ranks as ranks_sum does it: the same bits on all, in every run. libnccl.so.2
 * is loaded at run time.
 *
 * Calls are enqueued on a stream of the device and return at once; they may be captured in a CUDA graph.
 * Every rank makes the same calls in the same order. Errors are ERR_DEVICE, or ERR_MISSING with what to
 * install. Threads: one at a time. */
#ifndef MYXTTS_RANKS_NCCL_H
#define MYXTTS_RANKS_NCCL_H

#include "device/device.h"
#include "ranks/ranks.h"

typedef struct RanksNccl RanksNccl;

/* Collective. d is a CUDA device (traits.library_kernels), another for every rank of a host. */
int ranks_nccl_open(RanksNccl **c, Ranks *r, Device *d, Err *err);
void ranks_nccl_close(RanksNccl *c); /* its work must have ended; NULL is allowed */

/* p [n] becomes the sum over ranks, as by ranks_sum. p and scratch (ranks_nccl_scratch bytes) are memory of
 * the device. */
int ranks_nccl_sum(RanksNccl *c, Stream *s, float *p, int64_t n, SumType type, void *scratch, Err *err);
size_t ranks_nccl_scratch(const Ranks *r, int64_t n, SumType type);

#endif
