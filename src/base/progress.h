/* progress.h - one line for anything longer than two seconds: done/total, rate, time left.
 * On a terminal the line is rewritten in place; elsewhere a plain line is printed every few seconds.
 * Nothing is printed during the first two seconds. Threads: progress_add from any; begin and end from one. */
#ifndef MYXTTS_PROGRESS_H
#define MYXTTS_PROGRESS_H

#include <pthread.h>
#include <stdint.h>

#include "base/log.h"

typedef struct Progress {
    Log *log;
    const char *what, *unit; /* "mel", "clips" */
    uint64_t total, done;
    double start, last_print;
    int shown; /* a line of ours is on the terminal */
    pthread_mutex_t mutex;
} Progress;

void progress_begin(Progress *p, Log *log, const char *what, const char *unit, uint64_t total);
void progress_add(Progress *p, uint64_t n);
void progress_end(Progress *p); /* leaves the last state on a line of its own, if anything was shown */

/* "1 h 02 min", "3 min 20 s", "12 s" into out. */
void progress_format_seconds(char *out, size_t cap, double seconds);

#endif
