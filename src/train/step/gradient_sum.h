/* gradient_sum.h - sums gradients over all ranks, in buckets of a few megabytes, while the backward pass is
 * still running.
 *
 * The backward pass says which parameters' gradients are final (Model.final). Neighbouring ranges are
 * collected into a bucket; a full bucket is summed on a separate lane: a stream of a GPU, part of the
 * captured graph, or a thread of the host. The order of buckets is that of the backward pass, so it is the
 * same on all ranks, and each bucket is added in the order of ranks (ranks_sum).
 *
 * Threads: the thread that runs the step calls begin and end; the lane is its own. */
#ifndef MYXTTS_GRADIENT_SUM_H
#define MYXTTS_GRADIENT_SUM_H

#include "base/err.h"
#include "device/device.h"
#include "model/model.h"
#include "ranks/ranks.h"

typedef struct GradientSum GradientSum;

/* When the backward pass had computed all gradients, and when they were summed: nanoseconds of the device's
 * clock. The difference is what the backward pass did not hide, or what the slowest rank was waited for. */
typedef struct SumTimes {
    uint64_t computed, summed;
} SumTimes;

typedef struct GradientSumOptions {
    Ranks *ranks; /* not NULL */
    SumType type;
    Model *model; /* attached */
    Device *device;
    float *sums;       /* [SUM_COUNT] on the device: summed as well */
    const float *stop; /* on the device: goes into the sums as SUM_STOP */
    SumTimes *times;   /* on the device */
} GradientSumOptions;

/* Device bytes that it will take. */
uint64_t gradient_sum_bytes(const Ranks *ranks, const Device *d, SumType type);
/* Collective, as everything of ranks. */
int gradient_sum_open(GradientSum **g, const GradientSumOptions *o, Err *err);
void gradient_sum_close(GradientSum *g); /* NULL is fine; the step's stream is idle */

/* Around the backward pass of the last batch of a step. After end all is summed (on a GPU: for what is
 * enqueued later). A failure is kept for gradient_sum_check. */
void gradient_sum_begin(GradientSum *g);
void gradient_sum_end(GradientSum *g);
int gradient_sum_check(GradientSum *g, Err *err);

#endif
