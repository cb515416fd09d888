/* queue.c - see queue.h. */
#include "base/queue.h"

#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"

int queue_open(Queue *q, uint32_t cap, Err *err)
{
    *q = (Queue){0};
    ASSERT(cap > 0);
    q->items = mem_calloc(cap, sizeof *q->items);
    if (!q->items)
        return err_set(err, ERR_NOMEM, "no memory for a queue of %u", cap);
    q->cap = cap;
    pthread_mutex_init(&q->mutex, NULL);
    pthread_cond_init(&q->not_empty, NULL);
    pthread_cond_init(&q->not_full, NULL);
    q->ready = 1;
    return 0;
}

void queue_close(Queue *q)
{
    if (q->ready) {
        pthread_mutex_destroy(&q->mutex);
        pthread_cond_destroy(&q->not_empty);
        pthread_cond_destroy(&q->not_full);
        free(q->items);
    }
    *q = (Queue){0};
}

int queue_put(Queue *q, uint32_t item)
{
    pthread_mutex_lock(&q->mutex);
    while (q->count == q->cap && !q->stopped)
        pthread_cond_wait(&q->not_full, &q->mutex);
    int rc = q->stopped ? ERR_STOPPED : 0;
    if (!rc) {
        q->items[(q->head + q->count++) % q->cap] = item;
        pthread_cond_signal(&q->not_empty);
    }
    pthread_mutex_unlock(&q->mutex);
    return rc;
}

static int take_locked(Queue *q, uint32_t *item)
{
    if (q->count == 0)
        return 0;
    *item = q->items[q->head];
    q->head = (q->head + 1) % q->cap;
    q->count--;
    pthread_cond_signal(&q->not_full);
    return 1;
}

int queue_take(Queue *q, uint32_t *item)
{
    pthread_mutex_lock(&q->mutex);
    while (q->count == 0 && !q->stopped)
        pthread_cond_wait(&q->not_empty, &q->mutex);
    int rc = take_locked(q, item) ? 0 : ERR_STOPPED;
    pthread_mutex_unlock(&q->mutex);
    return rc;
}

int queue_try_take(Queue *q, uint32_t *item)
{
    pthread_mutex_lock(&q->mutex);
    int taken = take_locked(q, item);
    pthread_mutex_unlock(&q->mutex);
    return taken;
}

void queue_stop(Queue *q)
{
    pthread_mutex_lock(&q->mutex);
    q->stopped = 1;
    pthread_cond_broadcast(&q->not_empty);
    pthread_cond_broadcast(&q->not_full);
    pthread_mutex_unlock(&q->mutex);
}

uint32_t queue_count(Queue *q)
{
    pthread_mutex_lock(&q->mutex);
    uint32_t n = q->count;
    pthread_mutex_unlock(&q->mutex);
    return n;
}
