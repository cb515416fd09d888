/* gang.h - the ranks of a simulated cluster, in one process: where their steps meet. Each rank has its own
 * thread and simulated devices. The backward pass of its step is cut into parts, one for each bucket of
 * gradients, with an event behind each. On the stream of the links, which is one for all, the sum of a bucket
 * begins when its event has happened on every rank and the bucket before it is done. The ranks' optimisers
 * wait for the last. So overlap, stragglers and what is not hidden come out of the simulation itself.
 *
 * The host of a rank enqueues a step, then waits until all have, because only then their events can be waited
 * for; it is still ahead of its device. Threads: gang_step by the threads of the ranks; one for the rest. */
#ifndef MYXTTS_DIAG_GANG_H
#define MYXTTS_DIAG_GANG_H

#include "device/device.h"
#include "device/sim.h"
#include "diag/ranks/exchange.h"
#include "pipeline/step_meter.h"

#define GANG_LINKS "links" /* the name of the device that stands for them */

typedef struct Gang Gang;

/* devices [ranks]: of the steps, simulated ones, which must outlive the gang. x: of the gradients; its
 * seconds become what the cluster's links make of it. */
int gang_open(Gang **g, const Sim *cluster, Device *const *devices, Exchange *x, Err *err);
void gang_close(Gang *g); /* when no rank is in a step any more; NULL is allowed */
/* Enqueues the step of a rank for this batch, between step_meter_begin_batch and step_meter_end. All ranks
 * must come. ERR_STOPPED: another one has failed. */
int gang_step(Gang *g, int rank, StepMeter *m, Stream *s, int64_t batch, Err *err);
/* This rank has left: nothing waits for it any more. */
void gang_leave(Gang *g);
/* Step `last` is the last one of all ranks. By rank 0, before it enqueues that step. */
void gang_end(Gang *g, int64_t last);
int gang_is_over(Gang *g, int64_t step); /* this one is not made any more */

#endif
