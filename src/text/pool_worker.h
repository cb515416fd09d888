/* pool_worker.h - the far side of the phoneme pool: the worker process and the bytes between it and the pool.
 * Private to phoneme_pool.c and pool_worker.c. Both sides are one program, so structs travel as they are. */
#ifndef MYXTTS_POOL_WORKER_H
#define MYXTTS_POOL_WORKER_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "config/config.h"
#include "text/text.h"

/* Followed by text, language, id. */
typedef struct PoolRequest {
    uint32_t text, language, id; /* bytes */
} PoolRequest;

enum { POOL_READY, POOL_RESULT, POOL_NO_ENGINE, POOL_WORN }; /* worn: the worker ends now, in good order */

/* Followed by unknown, tokens, cleaned, phonemes and a NUL, in this order: each is aligned when the answer
 * is. POOL_NO_ENGINE: `cleaned` is the sentence of the error, `phonemes` its hint. */
typedef struct PoolAnswer {
    uint32_t kind, reason;
    uint32_t unknown, tokens, cleaned, phonemes; /* bytes */
    char language[16], detail[256];
} PoolAnswer;

static inline size_t pool_answer_size(const PoolAnswer *a)
{
    return sizeof *a + (size_t)a->unknown + a->tokens + a->cleaned + a->phonemes + 1;
}

/* Shared between pool and worker: which item is in work. Items count from 1 in the order they were sent to
 * this worker; started == finished: none. It names the culprit even when answers before it were not sent yet.
 */
typedef struct PoolMark {
    _Atomic uint32_t started, finished;
    char pad[56];
} PoolMark;

/* Forks a worker. 0 with its pid and our end of the socket, or an error. The child never returns. */
int pool_worker_start(pid_t *pid, int *fd, PoolMark *mark, const Config *cfg, Err *err);

#endif
