/* side_by_side.h - jobs that run at the same time, each in a separate process: `train --network both` on two
 * devices. Log lines are prefixed with the job's name, and one line shows the steps of all jobs. What a job
 * prints on stdout is kept until all have ended. A job ends when this process does. */
#ifndef MYXTTS_CMD_SIDE_BY_SIDE_H
#define MYXTTS_CMD_SIDE_BY_SIDE_H

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"

typedef struct SideJob {
    const char *name;
    int (*run)(void *arg, Log *log); /* in the new process; returns its exit code */
    void *arg;
    /* Afterwards: */
    Buf out;  /* its stdout, with a zero behind it; the caller frees it */
    int code; /* its exit code; 128 and the signal that killed it */
} SideJob;

/* Runs all of them. Call before any thread is started. begun: called when they run, to take over the signals.
 * stop: when it is set, the jobs are asked to end (SIGTERM). */
int side_by_side(SideJob *jobs, int count, void (*begun)(void), const volatile int *stop, Log *log, Err *err);

#endif
