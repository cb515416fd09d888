/* progress.h - a progress line for work that takes more than two seconds: done/total, rate, time left.
 * On a terminal the line is rewritten in place, elsewhere a new line is printed every few seconds.
 * Nothing is printed during the first two seconds. Threads: any may call progress_add; one calls begin and
 * end. */
#ifndef MYXTTS_PROGRESS_H
#define MYXTTS_PROGRESS_H

#include <pthread.h>
#include <stdint.h>

#include "base/log.h"

typedef struct Progress {
    Log *log;
    const char *what, *unit; /* "mel", "clips" */
    uint64_t total, done;
    double start, last_print; /* clock_now */
    int shown;                /* a line was printed */
    pthread_mutex_t mutex;
} Progress;

void progress_begin(Progress *p, Log *log, const char *what, const char *unit, uint64_t total);
void progress_add(Progress *p, uint64_t n);
void progress_set(Progress *p, uint64_t done); /* for work whose count is known elsewhere; it never falls */
/* Any text in the place of the line, now. */
void progress_text(Progress *p, const char *line);
/* Ends it without a last line; a bar on the terminal is erased. */
void progress_drop(Progress *p);
/* If a line was shown, prints a last one with the total time, which stays. */
void progress_end(Progress *p);

/* Writes "1 h 02 min", "3 min 20 s" or "12 s" to out. NaN and negative times are 0. */
void progress_format_seconds(char *out, size_t cap, double seconds);

#endif
