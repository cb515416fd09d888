/* thread.h - named threads. For work on many items use ordered.h, which can also run without threads. */
#ifndef MYXTTS_THREAD_H
#define MYXTTS_THREAD_H

#include <pthread.h>
#include <stdint.h>

#include "base/err.h"

typedef struct Thread {
    pthread_t handle;
    int running;
} Thread;
/* name: at most 15 bytes, shown by top and gdb. All signals are blocked in the new thread. */
int thread_start(Thread *t, const char *name, void *(*run)(void *), void *arg, Err *err);
void thread_join(Thread *t); /* does nothing if the thread is not running */
void thread_step_back(void); /* the calling thread: others come first where cores are short */
int thread_cores(void);      /* cores this process may use, >= 1 */

#endif
