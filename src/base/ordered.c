/* ordered.c - see ordered.h. One mutex and two conditions: workers wait for a free slot, the caller for the
 * next result. */
#include "base/ordered.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/thread.h"

typedef struct Shared {
    const OrderedJob *job;
    pthread_mutex_t mutex;
    pthread_cond_t room, ready;
    uint64_t started, finished;
    uint8_t *done; /* [slots] 1: the slot holds a result */
    int stop;
} Shared;

typedef struct Worker {
    Shared *shared;
    Thread thread;
    int number;
} Worker;

/* Takes an item, works on it without the lock, marks its slot as done, and so on. */
static void *worker_main(void *arg)
{
    Worker *w = arg;
    Shared *s = w->shared;
    const OrderedJob *job = s->job;
    pthread_mutex_lock(&s->mutex);
    for (;;) { /* each round starts with the mutex held */
        /* Wait while the slot of the next item still holds a result that finish has not seen. */
        while (!s->stop && s->started < job->items && s->started >= s->finished + (uint64_t)job->slots)
            pthread_cond_wait(&s->room, &s->mutex);
        if (s->stop || s->started >= job->items)
            break;
        uint64_t item = s->started++;
        int slot = (int)(item % (uint64_t)job->slots);
        pthread_mutex_unlock(&s->mutex);
        job->work(job->user, w->number, slot, item);
        pthread_mutex_lock(&s->mutex);
        s->done[slot] = 1;
        /* Only the item that finish is waiting for wakes the caller. */
        if (item == s->finished)
            pthread_cond_signal(&s->ready);
    }
    pthread_mutex_unlock(&s->mutex);
    return NULL;
}

/* The same two functions, one item after the other. */
static int run_inline(const OrderedJob *job, Err *err)
{
    for (uint64_t i = 0; i < job->items; i++) {
        job->work(job->user, 0, 0, i);
        int rc = job->finish(job->user, 0, i, err);
        if (rc)
            return rc;
    }
    return 0;
}

int ordered_run(const OrderedJob *job, Err *err)
{
    ASSERT(job->slots >= 1);
    if (job->workers <= 0)
        return run_inline(job, err);
    Shared s = {.job = job};
    Worker *workers = mem_calloc((size_t)job->workers, sizeof *workers);
    s.done = mem_calloc((size_t)job->slots, 1);
    int rc = workers && s.done ? 0 : err_set(err, ERR_NOMEM, "no memory for %d workers", job->workers);
    int running = 0;
    pthread_mutex_init(&s.mutex, NULL);
    pthread_cond_init(&s.room, NULL);
    pthread_cond_init(&s.ready, NULL);
    /* With fewer threads than asked for the work is slower; having none at all is an error. */
    for (int i = 0; i < job->workers && !rc; i++) {
        char name[32];
        snprintf(name, sizeof name, "%.11s-%d", job->name, i);
        workers[i] = (Worker){.shared = &s, .number = i};
        Err thread_err;
        if (thread_start(&workers[i].thread, name, worker_main, &workers[i], &thread_err) == 0)
            running++;
        else if (running == 0 && i + 1 == job->workers) {
            rc = thread_err.code;
            if (err)
                *err = thread_err;
        }
    }
    /* The caller takes the results in order and gives each slot back. */
    for (uint64_t i = 0; i < job->items && !rc; i++) {
        int slot = (int)(i % (uint64_t)job->slots);
        pthread_mutex_lock(&s.mutex);
        while (!s.done[slot])
            pthread_cond_wait(&s.ready, &s.mutex);
        pthread_mutex_unlock(&s.mutex);
        rc = job->finish(job->user, slot, i, err);
        pthread_mutex_lock(&s.mutex);
        s.done[slot] = 0;
        s.finished++;
        pthread_cond_broadcast(&s.room);
        pthread_mutex_unlock(&s.mutex);
    }
    pthread_mutex_lock(&s.mutex);
    s.stop = 1;
    pthread_cond_broadcast(&s.room);
    pthread_mutex_unlock(&s.mutex);
    for (int i = 0; workers && i < job->workers; i++)
        thread_join(&workers[i].thread);
    pthread_mutex_destroy(&s.mutex);
    pthread_cond_destroy(&s.room);
    pthread_cond_destroy(&s.ready);
    free(workers);
    free(s.done);
    return rc;
}
