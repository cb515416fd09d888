/* phoneme_pool.h - many TextEngines, each in a worker process: libespeak-ng is not thread-safe.
 * The pool feeds lines to the workers and hands results back in the order of the items. A worker that dies or
 * takes longer than cfg->phoneme_timeout_ms on a line costs that line (REJECT_PHONEMES_FAILED, detail says
 * which happened) and is replaced; the other lines it held are done again. A worker that dies while it works
 * on no line costs none. workers = 0: one TextEngine in this process; then there is no time limit, and a
 * crash is a crash of the program. Memory is bounded: a window of items per worker, whatever the number of
 * items. Call from a process that has no other threads running (it forks). Children die with the parent and
 * hold no locks or files. */
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

/* next: fills *item and returns 1, or returns 0 at the end. Called in order from this process; the slices are
 * copied before next is called again. While it waits for input, finished results wait too. done: called in
 * item order, index counting from 0; result lives until it returns; a non-zero return stops the run with that
 * code (err filled by done). Returns 0, the code of done, ERR_NOMEM, or ERR_WORKER when workers cannot be
 * started at all. */
typedef struct PhonemeCallbacks {
    int (*next)(void *user, PhonemeItem *item);
    int (*done)(void *user, uint64_t index, RejectReason reason, const TextResult *result, Err *err);
    void *user;
} PhonemeCallbacks;

typedef struct PhonemePoolReport {
    int workers, restarts;
    uint64_t timeouts, deaths;
} PhonemePoolReport;

int phoneme_pool_run(const Config *cfg, int workers, const PhonemeCallbacks *cb, PhonemePoolReport *report,
                     Log *log, Err *err);

#endif
