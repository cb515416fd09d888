/* rank_verdict.h - from the ranks' heartbeats: has one of them stopped, or does one hang while others wait?
 * Rank 0 asks this a few times a second. Pure functions of their arguments. Threads: any. */
#ifndef MYXTTS_RANK_VERDICT_H
#define MYXTTS_RANK_VERDICT_H

#include <stdint.h>

#include "base/err.h"
#include "ranks/ranks.h"
#include "ranks/wire.h"

/* A collective call that a rank is in. */
typedef enum { CALL_NONE, CALL_GATHER, CALL_BROADCAST, CALL_SUM, CALL_CLOSE } RankCall;

/* A heartbeat, as it travels. */
typedef struct RankBeat {
    int32_t doing; /* RankDoing */
    int32_t call[WIRE_LANES];
    int32_t steps;                /* that it has begun since it started, up to a few */
    int64_t step;                 /* as given to ranks_doing */
    uint64_t moved;               /* changes whenever the rank gets ahead with anything */
    uint64_t entered[WIRE_LANES]; /* collective calls begun */
    double longest;               /* seconds of its longest step of late */
} RankBeat;

/* What is known of a rank; times are those of clock_now. */
typedef struct RankState {
    RankBeat beat;
    double heard; /* when the last heartbeat came */
    double moved; /* when beat.moved last changed */
    int gone;     /* it has said goodbye */
} RankState;

/* Seconds without a heartbeat that a rank may take; a rank that is stuck may take two more. */
#define RANK_PATIENCE 5.0

void rank_state_beat(RankState *s, const RankBeat *beat, double now);
/* The rank that is at fault, with its sentence in err, or -1: none. If no rank can be blamed but the whole
 * run hangs, it is rank 0 that is returned, with a sentence about the network. */
int rank_verdict(Err *err, const RankState *states, const WireHost *hosts, int count, double now,
                 double patience);

#endif
