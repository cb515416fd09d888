/* optimiser.h - computes new parameters from gradients and moments, as a table of functions. Another
 * optimiser is another table, and a word in optimiser_of; its work on the device is an operation (ops/ops.h).
 * Private to src/model. */
#ifndef MYXTTS_OPTIMISER_H
#define MYXTTS_OPTIMISER_H

#include "model/model.h"

typedef struct Optimiser {
    /* Numbers [from, from + n) of flat memory. scale: of the gradients, on the device; 0: nothing changes. */
    void (*update)(Model *m, int64_t from, int64_t n, void *scale);
} Optimiser;
const Optimiser *optimiser_of(const Model *m);

#endif
