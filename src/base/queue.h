/* queue.h - a bounded first-in first-out queue of numbers (indices into someone's array) between threads.
 * Invariant, under the mutex: 0 <= count <= cap. Every wait also returns on queue_stop. */
#ifndef MYXTTS_QUEUE_H
#define MYXTTS_QUEUE_H

#include <pthread.h>
#include <stdint.h>

#include "base/err.h"

typedef struct Queue {
    pthread_mutex_t mutex;
    pthread_cond_t not_empty, not_full;
    uint32_t *items; /* [cap] */
    uint32_t cap, head, count;
    int stopped, ready;
} Queue;

int queue_open(Queue *q, uint32_t cap, Err *err);
void queue_close(Queue *q);               /* safe on a zeroed queue; no thread may be inside */
int queue_put(Queue *q, uint32_t item);   /* waits for room; 0, or ERR_STOPPED */
int queue_take(Queue *q, uint32_t *item); /* waits for an item; 0, or ERR_STOPPED once stopped and empty */
int queue_try_take(Queue *q, uint32_t *item); /* 1 taken, 0 nothing there */
void queue_stop(Queue *q);                    /* wakes every waiter; puts fail, takes drain what is left */
uint32_t queue_count(Queue *q);

#endif
