/* rank_verdict.c - see rank_verdict.h. */
#include "ranks/rank_verdict.h"

#include <stdio.h>

#include "base/plural.h"

enum { FIRST_STEPS = 3 }; /* which take longer: kernels are chosen, files are read for the first time */
#define FIRST_STEP_SECONDS 60.0
#define LONG_STEPS 5 /* of its longest steps make a hang */

/* How a rank may take its time while others wait; 0: seconds, as the patience says. Long work calls
 * ranks_doing meanwhile. */
static const struct {
    const char *words;
    double seconds;
} doings[RANK_DOINGS] = {
    [RANK_STARTING] = {"starting", 120},
    [RANK_PREPARING] = {"preparing data", 120},
    [RANK_WAITING_FOR_DATA] = {"waiting for data", 150}, /* its pipeline gives up first, and names the file */
    [RANK_STEPPING] = {"computing", 0},
    [RANK_SUMMING] = {"summing gradients", 0},
    [RANK_VALIDATING] = {"validating", 0},
    [RANK_SPEAKING] = {"speaking samples", 60},
    [RANK_SAVING] = {"saving", 60},
    [RANK_ENDING] = {"ending", 60},
};

static RankDoing doing_of(const RankBeat *b)
{
    return b->doing >= 0 && b->doing < RANK_DOINGS ? (RankDoing)b->doing : RANK_STARTING;
}

void rank_state_beat(RankState *s, const RankBeat *beat, double now)
{
    if (beat->moved != s->beat.moved)
        s->moved = now;
    s->beat = *beat;
    s->heard = now;
}

static double limit_of(const RankBeat *b, double patience)
{
    double limit = doings[doing_of(b)].seconds;
    if (limit > 0)
        return limit > patience + 2 ? limit : patience + 2;
    limit = b->steps < FIRST_STEPS ? FIRST_STEP_SECONDS : patience + 2;
    return b->longest * LONG_STEPS > limit ? b->longest * LONG_STEPS : limit;
}

static int is_stuck(const RankState *s, double now, double patience)
{
    return now - s->moved > limit_of(&s->beat, patience);
}

/* Ranks that are in a collective call that `rank` has not come to; closing is no such call, since the last
 * rank may have a lot to do. */
static int waiting_for(const RankState *states, int count, int rank)
{
    int n = 0;
    for (int i = 0; i < count; i++) {
        int waits = 0;
        for (int lane = 0; lane < WIRE_LANES; lane++) {
            int call = states[i].beat.call[lane];
            waits |= call != CALL_NONE && call != CALL_CLOSE &&
                     states[rank].beat.entered[lane] < states[i].beat.entered[lane];
        }
        n += waits;
    }
    return n;
}

static int is_in_call(const RankBeat *b) { return b->call[0] != CALL_NONE || b->call[1] != CALL_NONE; }

static void say_hung(Err *err, const RankState *s, const WireHost *host, int rank, int waiting, double now)
{
    const RankBeat *b = &s->beat;
    char who[48];
    if (waiting)
        snprintf(who, sizeof who, "%d rank%s wait%s", waiting, plural((uint64_t)waiting),
                 waiting == 1 ? "s" : "");
    else
        snprintf(who, sizeof who, "the others are waiting");
    err_set(err, ERR_WORKER, "rank %d on %s is stuck: it has been %s at step %lld for %.0f s, and %s for it",
            rank, host->host, doings[doing_of(b)].words, (long long)b->step, now - s->moved, who);
    err_hint(err,
             "check its disk, its GPU (dmesg) and its load; MYXTTS_RANK_SECONDS gives slow ranks more time");
}

/* One who lags behind while others wait in a call of theirs. */
static int find_laggard(Err *err, const RankState *states, const WireHost *hosts, int count, double now,
                        double patience)
{
    int worst = -1, most = 0;
    for (int rank = 0; rank < count; rank++) {
        const RankState *s = &states[rank];
        int waiting = waiting_for(states, count, rank);
        if (!waiting)
            continue;
        if (s->gone || s->beat.call[0] == CALL_CLOSE || s->beat.call[1] == CALL_CLOSE) {
            err_set(err, ERR_WORKER, "rank %d on %s has finished, but %d rank%s still wait%s for it", rank,
                    hosts[rank].host, waiting, plural((uint64_t)waiting), waiting == 1 ? "s" : "");
            return rank;
        }
        if (is_stuck(s, now, patience) && waiting > most) {
            worst = rank;
            most = waiting;
        }
    }
    if (worst >= 0)
        say_hung(err, &states[worst], &hosts[worst], worst, most, now);
    return worst;
}

/* All stand still: on GPUs the others wait inside NCCL, where no call of ours is seen. The rank that is
 * behind is the cause. */
static int find_standstill(Err *err, const RankState *states, const WireHost *hosts, int count, double now,
                           double patience)
{
    int last = 0, as_late = 0, computing = 0;
    for (int rank = 0; rank < count; rank++) {
        const RankBeat *b = &states[rank].beat;
        RankDoing doing = doing_of(b);
        if (states[rank].gone || !is_stuck(&states[rank], now, patience) || b->call[0] == CALL_CLOSE)
            return -1;
        computing |= doing == RANK_STEPPING || doing == RANK_SUMMING || is_in_call(b);
        if (b->step < states[last].beat.step)
            last = rank;
    }
    for (int rank = 0; rank < count; rank++)
        as_late += states[rank].beat.step == states[last].beat.step;
    if (!computing)
        return -1; /* a disk that all of them wait for */
    if (as_late == 1) {
        say_hung(err, &states[last], &hosts[last], last, 0, now);
        return last;
    }
    err_set(err, ERR_WORKER, "no rank has made progress for %.0f s, at step %lld", now - states[0].moved,
            (long long)states[0].beat.step);
    err_hint(err, "is the network between the hosts (%s, %s, ...) working?", hosts[0].host,
             hosts[count - 1].host);
    return 0;
}

int rank_verdict(Err *err, const RankState *states, const WireHost *hosts, int count, double now,
                 double patience)
{
    if (count < 2)
        return -1;
    for (int rank = 1; rank < count; rank++) {
        if (states[rank].gone || now - states[rank].heard <= patience)
            continue;
        err_set(
            err, ERR_WORKER,
            "rank %d on %s has not answered for %.0f s: it was stopped, is being swapped out, or its network "
            "is gone",
            rank, hosts[rank].host, now - states[rank].heard);
        return rank;
    }
    int rank = find_laggard(err, states, hosts, count, now, patience);
    return rank >= 0 ? rank : find_standstill(err, states, hosts, count, now, patience);
}
