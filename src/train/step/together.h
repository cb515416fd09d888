/* together.h - a run of several ranks: what they agree on before the first step, and what rank 0 tells the
 * others. Rank 0 leads: it alone reads and writes the folder of the run, listens and reports. Everything that
 * changes the training is the same on all ranks, because it follows from sums over all of them or is told by
 * rank 0. Private to src/train; without ranks nothing here does anything. */
#ifndef MYXTTS_TOGETHER_H
#define MYXTTS_TOGETHER_H

#include "train/run_parts.h"

/* Settings and data are the same everywhere; the others learn where the run begins (after beginning_open on
 * rank 0). */
int together_open(Trainer *t, Err *err);
/* The others take weights, moments and guard of rank 0 (after beginning_load there). */
int together_load(Trainer *t, Err *err);
/* What rank 0 has decided by the clock: the last step and what follows from it. */
int together_decide(Trainer *t, Err *err);
/* Which checkpoint is the best, and whether it is the newest (*better). */
int together_choose(Trainer *t, int *better, Err *err);
/* *n becomes the sum over ranks. */
int together_count(Ranks *ranks, int64_t *n, Err *err);

#endif
