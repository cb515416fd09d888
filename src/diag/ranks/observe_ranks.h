/* observe_ranks.h - observes ranks that train together.
 *
 * A simulated cluster (`ranks` of --sim) runs in this process: each rank has its own thread, pipeline and
 * simulated devices, and a Gang is the barrier where their steps meet. All ranks see the same batches: a real
 * sampler gives them shares with about as many frames. Threads: one. */
#ifndef MYXTTS_DIAG_OBSERVE_RANKS_H
#define MYXTTS_DIAG_OBSERVE_RANKS_H

#include "diag/pipeline/observation.h"
#include "diag/ranks/rank_facts.h"

/* *o: of rank 0; facts (may be NULL): malloc'd, of all options->sim->links.ranks of them. After a failure o
 * is closed and *facts NULL. */
int observe_ranks(Observation *o, RankFacts **facts, const ObserveOptions *options, Err *err);
/* Real ranks, of options->ranks: collective. Each runs its shares of the batches, and every step waits for
 * all of them. *o: of this one; facts: as above, of all. */
int observe_together(Observation *o, RankFacts **facts, const ObserveOptions *options, Err *err);

#endif
