/* layers.h - measures how long each part of the network takes, forward and backward, by events between the
 * parts of real steps on real batches, without graphs. Not for simulated GPUs, which run no network. Threads:
 * one. */
#ifndef MYXTTS_DIAG_LAYERS_H
#define MYXTTS_DIAG_LAYERS_H

#include "base/stats.h"
#include "diag/pipeline/observation.h"

#define MOST_PARTS 256

typedef struct LayerTime {
    const char *part;
    int layer;               /* -1: the part has no layers */
    Stats forward, backward; /* seconds */
} LayerTime;

typedef struct LayerTimes {
    LayerTime parts[MOST_PARTS];
    int count;
    int64_t steps;
} LayerTimes;

int layers_measure(LayerTimes *l, const ObserveOptions *o, int64_t steps, Err *err);

#endif
