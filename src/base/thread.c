/* thread.c - see thread.h. */
#include "base/thread.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/plain_locale.h"

#define NICENESS 10

typedef struct Start {
    void *(*run)(void *);
    void *arg;
} Start;

static void *run_plainly(void *arg)
{
    const Start start = *(Start *)arg;
    free(arg);
    plain_locale_enter();
    return start.run(start.arg);
}

int thread_start(Thread *t, const char *name, void *(*run)(void *), void *arg, Err *err)
{
    *t = (Thread){0};
    Start *start = malloc(sizeof *start);
    if (!start)
        return err_set(err, ERR_NOMEM, "no memory for the thread %s", name);
    *start = (Start){run, arg};
    /* Only the main thread handles signals: all are blocked around the start, and the new thread inherits the
     * mask. Faults of the thread itself stay unblocked, so that they are reported. */
    sigset_t all, old;
    sigfillset(&all);
    static const int own_faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    for (size_t i = 0; i < sizeof own_faults / sizeof *own_faults; i++)
        sigdelset(&all, own_faults[i]);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int e = pthread_create(&t->handle, NULL, run_plainly, start);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (e) {
        free(start);
        errno = e;
        return err_set_errno(err, ERR_NOMEM, "cannot start the thread %s", name);
    }
    pthread_setname_np(t->handle, name);
    t->running = 1;
    return 0;
}

void thread_join(Thread *t)
{
    if (t->running)
        pthread_join(t->handle, NULL);
    t->running = 0;
}

/* Linux has a niceness for every thread, which its children inherit. */
void thread_step_back(void) { setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICENESS); }

int thread_cores(void)
{
    /* The cores that the scheduler grants (containers, taskset), not those of the machine. */
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return CPU_COUNT(&set);
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}
