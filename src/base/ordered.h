/* ordered.h - work done by many threads, results taken in order by one.
 * Item i is worked on by any thread and left in slot i % slots; `finish` sees items strictly in order, in the
 * calling thread. A thread never runs more than `slots` items ahead of finish, so memory is slots times one
 * result, whatever the number of items. Invariant, under the mutex: finished <= done-in-order <= started <=
 * finished + slots. workers = 0: everything inline in the caller; the results are the same by construction.
 */
#ifndef MYXTTS_ORDERED_H
#define MYXTTS_ORDERED_H

#include <stdint.h>

#include "base/err.h"

typedef struct OrderedJob {
    const char *name; /* of the threads, at most 12 bytes */
    uint64_t items;
    int workers, slots; /* slots >= 1; with workers = 0 slot 0 and thread 0 are used */
    void *user;
    /* Runs in thread `thread` (0 .. workers - 1). Never fails: a result that is an error is stored in the
     * slot like any other. */
    void (*work)(void *user, int thread, int slot, uint64_t item);
    /* Non-zero stops everything; err is the caller's. */
    int (*finish)(void *user, int slot, uint64_t item, Err *err);
} OrderedJob;

/* 0, the code of finish, or ERR_NOMEM when no thread could be started. All threads have ended when it
 * returns. */
int ordered_run(const OrderedJob *job, Err *err);

#endif
