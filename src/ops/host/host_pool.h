/* host_pool.h - threads that share the tasks of one operation. Which thread runs a task does not affect the
 * result: an operation is cut into tasks by its shape alone. One caller at a time. */
#ifndef MYXTTS_HOST_POOL_H
#define MYXTTS_HOST_POOL_H

#include "base/err.h"

typedef struct HostPool HostPool;

/* task: 0 .. tasks - 1; slot: 0 .. threads - 1, which thread runs it (for scratch memory). */
typedef void (*HostTask)(void *arg, int task, int slot);

int host_pool_open(HostPool **p, int threads, Err *err); /* threads: the caller among them, >= 1 */
void host_pool_close(HostPool *p);                       /* NULL is fine */
/* Runs fn for every task and returns when all are done. At most HOST_POOL_TASKS tasks. */
void host_pool_run(HostPool *p, int tasks, HostTask fn, void *arg);

#define HOST_POOL_TASKS ((1 << 20) - 1)

#endif
