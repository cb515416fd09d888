/* runs_private.h - what the files of runs.h share. */
#ifndef MYXTTS_RUNS_PRIVATE_H
#define MYXTTS_RUNS_PRIVATE_H

#include <jansson.h>
#include <pthread.h>
#include <sys/stat.h>

#include "diag/report/run_voice.h"
#include "serve/runs.h"

/* What the lines of a log that were read so far come to. */
typedef struct RunSum {
    int64_t step, total_steps, lines, torn;
    double loss, validation_loss, words_wrong, recordings_words_wrong; /* newest; NaN: none */
    RunVoice voice;
    double busy, step_ms, seconds, line_seconds;
    double wait_sum;
    int64_t waits;
    char network[16], size[16], device[64];
    char end[24]; /* text of the last line, where that is an end; "": it is still in progress */
    char verdict[800];
} RunSum;

typedef struct Run {
    char *name;      /* as it is shown */
    char *path;      /* below the folder; "": the folder itself */
    struct stat log; /* of log.jsonl, when it was looked at last */
    double changed;  /* when the folder, its samples or its log changed last; seconds of the calendar */
    int64_t read;    /* bytes of the log that are in sum */
    RunSum sum;
    char *findings;       /* JSON of the doctor's, or NULL */
    int64_t findings_of;  /* bytes of the log that they were made from */
    double findings_when; /* clock_now */
    int seen;             /* in the scan that runs now */
} Run;

struct Runs {
    char *folder, *own_name;
    int root; /* the folder, open */
    pthread_mutex_t lock;
    Run *runs; /* [count], the one that changed last first */
    size_t count, cap;
    size_t hidden;  /* runs that are older than those of a full list */
    int incomplete; /* 1: not all folders were looked at */
    double scanned; /* clock_now of the last scan */
};

/* Opens a file below a folder that is open; no part of the path may be a symbolic link. -1 and errno. */
int runs_open_below(int root, const char *path, int flags);
/* Fills r->runs again from the disk. */
int runs_scan(Runs *r, Err *err);
void run_free(Run *run);

/* Whole lines of a log, from byte `from` on: at most `most` bytes. */
typedef struct LogLines {
    int64_t from, next; /* bytes; next: where the next call continues */
    int64_t torn;       /* lines that are not objects */
    int more;           /* there is more to read at once */
} LogLines;
/* fn is called with each line that is an object, as text and parsed. */
int run_lines(int fd, LogLines *l, size_t most, int (*fn)(void *arg, const char *line, size_t n, json_t *o),
              void *arg, Err *err);

void run_sum_clear(RunSum *s);
int run_sum_add(void *sum, const char *line, size_t n, json_t *o); /* for run_lines */
/* "running", "finished", "stopped", "empty", or what is done between steps: "preparing", "warm-up",
 * "validating", "listening"; age: seconds since the log was written. */
const char *run_state(const RunSum *s, double age);
/* About the voice, then about the hardware: the doctor's sentence in the log, or what the figures say; ""
 * while there are none. */
void run_verdict(char *out, size_t cap, const RunSum *s);

#endif
