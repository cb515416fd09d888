/* exchange.h - a model of the exchange of gradients between ranks: how much of it is hidden behind the
 * backward pass. Gradients become final evenly over the backward pass, from its beginning to its end; they
 * are summed in buckets, one after the other on a separate stream, each as soon as it is final on every rank.
 * The optimiser waits for the last one. Threads: any. */
#ifndef MYXTTS_DIAG_EXCHANGE_H
#define MYXTTS_DIAG_EXCHANGE_H

#include "base/err.h"
#include "config/config.h"

#define EXCHANGE_BUCKET 4e6      /* bytes */
#define EXCHANGE_MOST_BUCKETS 32 /* larger buckets where there would be more */
#define EXCHANGE_FORWARD 0.33    /* share of a simulated step before its first gradient, */
#define EXCHANGE_BACKWARD 0.62   /* and of its backward pass; the optimiser has the rest */

typedef struct Exchange {
    double forward, backward; /* shares of the step's own time */
    double bytes;             /* of all gradients */
    int buckets;
    double seconds; /* that the sums take on the links, all buckets together; 0: not known */
} Exchange;

/* Of the gradients of the network that cfg describes. phase: seconds of forward, loss, backward and
 * optimiser; NULL: those of a simulated step. Sets no seconds. */
int exchange_describe(Exchange *x, const Config *cfg, const double *phase, Err *err);
/* How long the step waits for the sums if its own work takes `own` seconds and all ranks are alike. */
double exchange_exposed(const Exchange *x, double own);

#endif
