/* rank_forecast.h - the throughput of N ranks, forecast from one that was observed and a description of the
 * network. Every rank is like the observed one and keeps its batch, so N ranks make N times the clips in a
 * step that is longer by what they lose:
 *   - a step lasts as long as the slowest of N steps, which vary as the observed ones do;
 *   - communication that the backward pass does not hide (exchange.h, links.h);
 *   - the disk, if it serves one read at a time and ranks share it.
 * The model of the pipeline (forecast.h) says what becomes of that. Threads: any. */
#ifndef MYXTTS_DIAG_RANK_FORECAST_H
#define MYXTTS_DIAG_RANK_FORECAST_H

#include <jansson.h>

#include "device/links.h"
#include "diag/pipeline/observation.h"

/* What holds N ranks up most. */
typedef enum { BOUND_STEP, BOUND_DATA, BOUND_LINK, BOUND_DISK, BOUND_JITTER } RankBound;
const char *rank_bound_name(RankBound b);

typedef struct RankNetwork {
    Links said;      /* links as they were named; what was not is filled in for each number of ranks */
    int per_host;    /* ranks of a host, at most */
    int shared_disk; /* all hosts read from one disk; otherwise each has one */
} RankNetwork;

typedef struct RankForecast {
    Links links;
    double seconds; /* per step */
    double clips_per_s, efficiency;
    double hidden_not; /* share of a step that is communication nothing hides */
    /* Of a step: what it would be shorter by without the cost of links; if all steps took their usual time;
     * if every rank had its own disk. */
    double by_link, by_jitter, by_disk;
    RankBound bound;
    double check; /* the model's step of one rank / that measured - 1 */
} RankForecast;

/* The fewest hosts for n ranks that share them evenly. */
int rank_hosts(int n, int per_host);
int rank_forecast(RankForecast *f, const Observation *o, const Exchange *x, const RankNetwork *net, int n,
                  Err *err);
/* How many times its usual time the slowest of n steps takes, on the average. */
int rank_slowest(double *factor, const Observation *o, int n, Err *err);
/* What all of this assumes: an array of sentences. */
json_t *rank_forecast_assumptions(const Observation *o, const Exchange *x, const RankNetwork *net);

#endif
