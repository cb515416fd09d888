/* profile.h - the profiles of `myxtts profile` as reports (the JSON of sections.h): data, data over a grid of
 * settings, step, dual. Each runs the real pipeline. The caller owns *report. Threads: one. */
#ifndef MYXTTS_DIAG_PROFILE_H
#define MYXTTS_DIAG_PROFILE_H

#include <jansson.h>

#include "diag/pipeline/observation.h"

#define GRID_MOST 16 /* maximum of values in each direction */

typedef struct Grid {
    int sizes[GRID_MOST], workers[GRID_MOST]; /* batch sizes, num_workers */
    int size_count, worker_count;
    int repeats;     /* runs per cell */
    int64_t batches; /* per run; 0: chosen automatically */
} Grid;

int profile_data(json_t **report, const ObserveOptions *o, Err *err);
int profile_grid(json_t **report, const ObserveOptions *o, const Grid *g, Err *err);
int profile_step(json_t **report, const ObserveOptions *o, int layers, Err *err);
int profile_dual(json_t **report, const ObserveOptions *o, Err *err);
void profile_text(Buf *out, const json_t *report);

#endif
