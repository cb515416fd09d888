/* profile.h - the profiles as reports (the JSON of sections.h): data, its grid, step, dual. Each runs the
 * real pipeline. *report is the caller's. Threads: one. */
#ifndef MYXTTS_DIAG_PROFILE_H
#define MYXTTS_DIAG_PROFILE_H

#include <jansson.h>

#include "diag/observation.h"

#define GRID_MOST 16

typedef struct Grid {
    int sizes[GRID_MOST], workers[GRID_MOST];
    int size_count, worker_count;
    int repeats;     /* of every cell */
    int64_t batches; /* of every repeat; 0: chosen */
} Grid;

int profile_data(json_t **report, const ObserveOptions *o, Err *err);
int profile_grid(json_t **report, const ObserveOptions *o, const Grid *g, Err *err);
int profile_step(json_t **report, const ObserveOptions *o, int layers, Err *err);
int profile_dual(json_t **report, const ObserveOptions *o, Err *err);
void profile_text(Buf *out, const json_t *report);

#endif
