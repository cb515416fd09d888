/* rank_facts.h - what a rank tells about itself, so that all can be judged together (rank_doctor.h): its
 * latest steps, its stages, and what its own doctor says. A flat structure without pointers: it can be sent
 * to another rank as it is. All times are in seconds. Threads: any. */
#ifndef MYXTTS_DIAG_RANK_FACTS_H
#define MYXTTS_DIAG_RANK_FACTS_H

#include <stdint.h>

#include "diag/pipeline/observation.h"

#define RANK_STEPS 384 /* that are kept, the newest ones */

typedef struct RankFacts {
    int32_t rank;
    char host[64];
    /* The steps; all ranks count them alike. */
    int64_t first; /* number of the first one */
    int32_t steps;
    float wait[RANK_STEPS];    /* the device idle before the step: no batch was there */
    float own[RANK_STEPS];     /* the step's work on this rank */
    float sum[RANK_STEPS];     /* the step waits for the sum, or for ranks that are late */
    double clips;              /* of a batch, mean */
    double stage[STAGE_COUNT]; /* time per batch of the stage by itself, its workers together; < 0: no such
                                  stage */
    double data;               /* time per batch that the stages before the step could keep up */
    /* Of its own doctor: the stage that the rank would name if it were alone. */
    int32_t named;  /* StageId; -1: none */
    int32_t cause;  /* Cause */
    int32_t period; /* of a stall, in steps; 0: none */
    Exchange exchange;
} RankFacts;

/* From what was observed on a rank. host: its name. */
int rank_facts_take(RankFacts *f, const Observation *o, int rank, const char *host, Err *err);

#endif
