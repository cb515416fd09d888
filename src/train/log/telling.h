/* telling.h - what a run tells a person: a status line at intervals, what the time is enough for, news at a
 * readable pace, and each warning once. Private to src/train. Threads: that of the trainer. */
#ifndef MYXTTS_TELL_H
#define MYXTTS_TELL_H

#include <stdint.h>

#include "base/log.h"
#include "base/progress.h"

struct Trainer;

/* Warnings that may come again. */
typedef enum {
    TELL_NOT_FINITE, /* a step whose gradient is not a number */
    TELL_TOO_HIGH,   /* steps with a far too high one, more than the odd one, */
    TELL_HIGH,       /* and that */
    TELL_CANNOT_SPEAK,
    TELL_NO_SAMPLE,
    TELL_NO_COPY,
    TELL_KINDS
} TellKind;

typedef struct Telling {
    Progress line;
    int open;
    double last;             /* clock: when something was said */
    double validated, heard; /* clocks, for telling_news */
    double waited;           /* share of the newest steps' time that they waited for data */
    int forecast;            /* it was said */
    double phase;            /* clock: when the log was told that steps are made; 0: something else is done */
    int64_t told[TELL_KINDS];
} Telling;

void telling_open(struct Trainer *t);
void telling_close(struct Trainer *t); /* may be called again */
/* After a step: 1 when it was time for a line. */
int telling_step(struct Trainer *t, int64_t at);
/* The line about steps in at most this many columns; what has no room is left out. */
void telling_line(const struct Trainer *t, char *out, size_t cap, int64_t at, int columns);
/* Once, when it is known how long a step takes: how many there will be, and when words can be expected. */
void telling_forecast(struct Trainer *t, double each);
double telling_seconds_left(const struct Trainer *t, int64_t at); /* NaN: not known */
/* How a line about news is logged: some come so often that they are for --verbose. always: not this one. */
LogLevel telling_news(struct Trainer *t, double *last, int always);
/* LOG_WARN for the first warning of a kind; the others are counted. */
LogLevel telling_once(struct Trainer *t, TellKind kind);

#endif
