/* rank_doctor.h - one verdict on ranks that train together, from what each of them tells (rank_facts.h): the
 * rank or the host that holds the others up, its stage and cause; how much of a step is communication that
 * nothing hides; and what a better link, larger batches or fewer ranks would give.
 *
 * Every step ends when the slowest rank's gradients are summed. The rank that comes last waits for
 * communication alone, so what it waits is communication that is not hidden; what the others wait beyond that
 * is for it. No clocks are compared. A rank is slow if the steps would be shorter with another, typical rank
 * in its place, by more than chance explains; a host, if that holds for its ranks together. Its stage is the
 * one that takes longer there than elsewhere.
 *
 * Threads: any. */
#ifndef MYXTTS_DIAG_RANK_DOCTOR_H
#define MYXTTS_DIAG_RANK_DOCTOR_H

#include <jansson.h>

#include "diag/ranks/rank_facts.h"

typedef enum {
    RANKS_WELL,
    RANKS_SLOW_RANK,
    RANKS_SLOW_HOST,
    RANKS_SLOW_LINK,
    RANKS_SLOW_DATA /* all ranks wait for their data alike: what each one's doctor says */
} RanksFault;
const char *ranks_fault_name(RanksFault f); /* as in JSON */

typedef struct RanksGain {
    char change[200];
    double predicted; /* clips/s of all ranks after / before */
    double per_rank;  /* of each rank */
} RanksGain;

/* Means of one rank. */
typedef struct RankRow {
    int rank;
    char host[64];
    double wait, own, sum;
    double late; /* comes to the sum so much later than the typical rank; negative: earlier */
    double stage[STAGE_COUNT];
    int at_fault;
} RankRow;

#define RANKS_MOST_GAINS 6
#define RANKS_MOST_EVIDENCE 8

typedef struct RanksVerdict {
    RanksFault fault;
    int rank;      /* the slow one; -1: none, or a whole host */
    char host[64]; /* of the slow rank, or the slow host; "" if none is */
    int stage;     /* StageId; -1: none */
    Cause cause;
    int period; /* of a stall, in steps; 0: none */
    char sentence[900];
    char evidence[RANKS_MOST_EVIDENCE][480];
    int evidence_count;
    RanksGain gains[RANKS_MOST_GAINS];
    int gain_count;

    int ranks, hosts;
    int64_t steps;      /* that all ranks have in common */
    double seconds;     /* per step */
    double clips_per_s; /* of all ranks */
    double hidden_not;  /* share of a step that is communication nothing hides */
    double late_share;  /* share of its time that a rank waits for later ones, mean of all */
    double wait_share;  /* that a rank waits for its data, mean of all */
    double
        uneven_share; /* by which the steps are longer because the slowest rank is now this, now that one */
    RankRow *rows;    /* [ranks] */
} RanksVerdict;

/* facts [n], in any order; the ranks' numbers are in them. ERR_DATA if they have too few steps in common. */
int ranks_judge(RanksVerdict *v, const RankFacts *facts, int n, Err *err);
void ranks_verdict_close(RanksVerdict *v); /* a zeroed one is allowed */
json_t *ranks_verdict_json(const RanksVerdict *v);
/* Adds `cluster` to a report, a section with the ranks, and puts a fault in the place of the verdict that one
 * rank alone has. */
void ranks_verdict_report(json_t *report, const RanksVerdict *v);

#endif
