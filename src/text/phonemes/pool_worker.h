/* pool_worker.h - the worker process of the phoneme pool, and the messages between the two. Private to
 * phoneme_pool.c and pool_worker.c. Both sides are the same program, so structs are sent as they are. */
#ifndef MYXTTS_POOL_WORKER_H
#define MYXTTS_POOL_WORKER_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "config/config.h"
#include "text/text.h"

/* Followed by the bytes of text, language and id. */
typedef struct PoolRequest {
    uint32_t text, language, id; /* sizes in bytes */
} PoolRequest;

/* Kinds of answers. */
enum {
    POOL_READY,     /* the worker has started */
    POOL_RESULT,    /* of one request */
    POOL_NO_ENGINE, /* the engine could not be opened: `cleaned` is the error message, `phonemes` its hint */
    POOL_WORN       /* the worker exits because it has leaked too much (text_engine_is_worn) */
};

/* Followed by the bytes of losses, spans, unknown, tokens, cleaned, phonemes and a NUL. In this order each is
 * aligned if the answer is. */
typedef struct PoolAnswer {
    uint32_t kind, reason;
    uint32_t losses, spans, unknown, tokens, cleaned, phonemes; /* sizes in bytes */
    char language[16], detail[256];
} PoolAnswer;

static inline size_t pool_answer_size(const PoolAnswer *a)
{
    return sizeof *a + (size_t)a->losses + a->spans + a->unknown + a->tokens + a->cleaned + a->phonemes + 1;
}

/* Memory shared between pool and worker that tells which item the worker is working on, even if its earlier
 * answers were not sent yet. Items are numbered from 1 in the order in which they were sent to this worker.
 * If started == finished, it is working on none. */
typedef struct PoolMark {
    _Atomic uint32_t started, finished;
    char pad[56]; /* to a cache line */
} PoolMark;

/* Forks a worker. Returns 0 with its pid and our end of the socket, or an error. In the child it never
 * returns. */
int pool_worker_start(pid_t *pid, int *fd, PoolMark *mark, const Config *cfg, TextAim aim, Err *err);

#endif
