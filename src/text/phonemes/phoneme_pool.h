/* phoneme_pool.h - many TextEngines, each in a worker process, because libespeak-ng is not thread-safe.
 * The pool sends lines to the workers and returns the results in the order of the items.
 *   - If a worker dies or takes longer than cfg->phoneme_timeout_ms on a line, that line is rejected
 *     (REJECT_PHONEMES_FAILED, detail says which of the two), the worker is replaced, and its other lines are
 *     done again. If it dies between lines, none is rejected.
 *   - With workers = 0 there is one TextEngine in this process, no time limit, and a crash of espeak-ng is a
 *     crash of the program.
 *   - Memory is bounded: a few items per worker, whatever the number of items.
 * Call from a process that has no other threads running (it forks). Workers die with the parent and hold no
 * locks or files. */
#ifndef MYXTTS_PHONEME_POOL_H
#define MYXTTS_PHONEME_POOL_H

#include <stdint.h>

#include "base/err.h"
#include "base/log.h"
#include "config/config.h"
#include "text/text.h"

typedef struct PhonemeItem {
    Str text, language, id;
} PhonemeItem;

/* Both are called in this process. */
typedef struct PhonemeCallbacks {
    /* Fills *item and returns 1, or returns 0 at the end. The slices are copied before the next call. While
     * it waits for input, finished results wait too. */
    int (*next)(void *user, PhonemeItem *item);
    /* Called for every item in order; index counts from 0, result is valid until it returns. A return value
     * other than 0 stops the run with that code; err is then filled by it. */
    int (*done)(void *user, uint64_t index, RejectReason reason, const TextResult *result, Err *err);
    void *user;
} PhonemeCallbacks;

typedef struct PhonemePoolReport {
    int workers, restarts;
    uint64_t timeouts, deaths;
} PhonemePoolReport;

/* Returns 0, the code of `done`, ERR_NOMEM, or ERR_WORKER if workers cannot be started at all. */
int phoneme_pool_run(const Config *cfg, TextAim aim, int workers, const PhonemeCallbacks *cb,
                     PhonemePoolReport *report, Log *log, Err *err);

#endif
