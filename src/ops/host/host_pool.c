/* host_pool.c - see host_pool.h.
 * An operation of a small network takes 50 us, a sleeping thread 20 us to wake: so workers poll for work for
 * a while before they sleep, and the caller does not wait for workers that came too late to take a task. */
#include "ops/host/host_pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/thread.h"

#define WATCH_ROUNDS 3000 /* about 50 us */
#define TASK_BITS 20
#define TASK_MASK ((1u << TASK_BITS) - 1)

typedef struct Worker {
    HostPool *pool;
    Thread thread;
    int slot;
} Worker;

/* ticket: generation | tasks | next task. Number of tasks and next task change together, so a worker that was
 * late for one operation can never take a task of another with the wrong function: its exchange fails. */
struct HostPool {
    _Atomic uint64_t ticket;
    _Atomic(HostTask) fn;
    _Atomic(void *) arg;
    atomic_int done; /* tasks finished */
    atomic_int sleeping, stop;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    int n_workers;
    Worker workers[];
};

static inline void pause_briefly(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* The next task is one of those that there are. */
static int has_work(uint64_t ticket) { return (ticket & TASK_MASK) < ((ticket >> TASK_BITS) & TASK_MASK); }

static void take_tasks(HostPool *p, int slot)
{
    uint64_t ticket = atomic_load(&p->ticket);
    while (has_work(ticket)) {
        HostTask fn = atomic_load_explicit(&p->fn, memory_order_relaxed);
        void *arg = atomic_load_explicit(&p->arg, memory_order_relaxed);
        if (!atomic_compare_exchange_weak(&p->ticket, &ticket, ticket + 1))
            continue; /* ticket now holds what is there */
        fn(arg, (int)(ticket & TASK_MASK), slot);
        atomic_fetch_add_explicit(&p->done, 1, memory_order_release);
        ticket = atomic_load(&p->ticket);
    }
}

static void *work(void *arg)
{
    Worker *w = arg;
    HostPool *p = w->pool;
    while (!atomic_load(&p->stop)) {
        for (int i = 0; i < WATCH_ROUNDS && !has_work(atomic_load(&p->ticket)) && !atomic_load(&p->stop); i++)
            pause_briefly();
        /* Sleeps until it is woken; host_pool_run looks at `sleeping` after it has set the ticket, so no
         * work is missed. */
        if (!has_work(atomic_load(&p->ticket))) {
            pthread_mutex_lock(&p->lock);
            atomic_fetch_add(&p->sleeping, 1);
            while (!has_work(atomic_load(&p->ticket)) && !atomic_load(&p->stop))
                pthread_cond_wait(&p->wake, &p->lock);
            atomic_fetch_sub(&p->sleeping, 1);
            pthread_mutex_unlock(&p->lock);
        }
        take_tasks(p, w->slot);
    }
    return NULL;
}

int host_pool_open(HostPool **out, int threads, Err *err)
{
    *out = NULL;
    ASSERT_CMP(threads, >=, 1);
    HostPool *p = mem_calloc(1, sizeof *p + (size_t)(threads - 1) * sizeof(Worker));
    if (!p)
        return err_set(err, ERR_NOMEM, "no memory for a pool of %d threads", threads);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->wake, NULL);
    for (int i = 0; i < threads - 1; i++) {
        p->workers[i].pool = p;
        p->workers[i].slot = i + 1;
        int rc = thread_start(&p->workers[i].thread, "ops", work, &p->workers[i], err);
        if (rc) {
            host_pool_close(p);
            return rc;
        }
        p->n_workers++;
    }
    *out = p;
    return 0;
}

void host_pool_close(HostPool *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    atomic_store(&p->stop, 1);
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->lock);
    for (int i = 0; i < p->n_workers; i++)
        thread_join(&p->workers[i].thread);
    pthread_cond_destroy(&p->wake);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

void host_pool_run(HostPool *p, int tasks, HostTask fn, void *arg)
{
    ASSERT_CMP(tasks, <=, HOST_POOL_TASKS);
    /* Not worth waking anybody. */
    if (tasks <= 1 || p->n_workers == 0) {
        for (int i = 0; i < tasks; i++)
            fn(arg, i, 0);
        return;
    }
    atomic_store_explicit(&p->fn, fn, memory_order_relaxed);
    atomic_store_explicit(&p->arg, arg, memory_order_relaxed);
    atomic_store_explicit(&p->done, 0, memory_order_relaxed);
    /* Function and argument are there before the ticket that makes them visible. */
    uint64_t generation = (atomic_load(&p->ticket) >> (2 * TASK_BITS)) + 1;
    atomic_store(&p->ticket, generation << (2 * TASK_BITS) | (uint64_t)tasks << TASK_BITS);
    if (atomic_load(&p->sleeping)) {
        pthread_mutex_lock(&p->lock);
        pthread_cond_broadcast(&p->wake);
        pthread_mutex_unlock(&p->lock);
    }
    /* The caller works too, then waits for tasks that others have begun. */
    take_tasks(p, 0);
    for (int i = 0; atomic_load_explicit(&p->done, memory_order_acquire) < tasks; i++) {
        pause_briefly();
        if (i % 256 == 255) /* the thread with the last task may be waiting for this very core */
            sched_yield();
    }
}
