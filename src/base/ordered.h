/* ordered.h - many threads work on items, one takes the results in order.
 * Any thread may work on item i; it leaves the result in slot i % slots. `finish` gets the items strictly in
 * order, in the calling thread. No thread runs more than `slots` items ahead of finish, so memory is limited
 * to `slots` results, whatever the number of items. With workers = 0 everything runs in the calling thread,
 * with the same results.
 *
 * Invariant, under the mutex: finished <= done-in-order <= started <= finished + slots. */
#ifndef MYXTTS_ORDERED_H
#define MYXTTS_ORDERED_H

#include <stdint.h>

#include "base/err.h"

typedef struct OrderedJob {
    const char *name;   /* of the threads; cut to 11 bytes */
    uint64_t items;     /* how many */
    int workers, slots; /* slots >= 1; with workers = 0 only slot 0 and thread 0 are used */
    void *user;
    /* Runs in thread `thread` (0 .. workers - 1). Cannot fail: an error is stored in the slot like any other
     * result. */
    void (*work)(void *user, int thread, int slot, uint64_t item);
    /* A return value other than 0 stops everything; err is that of ordered_run. */
    int (*finish)(void *user, int slot, uint64_t item, Err *err);
} OrderedJob;

/* Returns 0, the code of finish, or ERR_NOMEM if no thread could be started. When it returns, all threads
 * have ended. */
int ordered_run(const OrderedJob *job, Err *err);

#endif
