/* run_record.h - a training run as its log.jsonl tells it: settings, one entry per line of the log, every
 * step time. Steps that a later resume took back ("resume" at step N: those after N) are not in it; `seconds`
 * goes on across resumes. Threads: any, one record at a time. */
#ifndef MYXTTS_RUN_RECORD_H
#define MYXTTS_RUN_RECORD_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

typedef struct RunLine {
    int64_t step;
    double seconds; /* of steps, since the run began */
    double loss, step_ms, wait_share, busy_share, padding_share, utterances_per_s, frames_per_s,
        gpu_utilisation;             /* NaN: not said */
    double queue_ready, queue_slots; /* batches that wait for the trainer, of how many; NaN: not said */
    double model_bytes;              /* NaN: not said */
    size_t first_time, times;        /* this line's part of step_times_ms */
} RunLine;

typedef struct RunPoint {
    int64_t step;
    double loss;
} RunPoint;

typedef struct RunRecord {
    char *path;           /* of the log */
    json_t *start;        /* the last {"event": "start"} line: settings; NULL: the log has none */
    int64_t total_steps;  /* planned; 0: not said */
    int64_t batch_size;   /* rows of a batch; 0: not said */
    int64_t accumulation; /* batches of a step; 1 where not said */
    RunLine *lines;       /* [line_count] */
    size_t line_count, line_cap;
    double *times; /* [time_count] ms of one batch each, in order */
    size_t time_count, time_cap;
    RunPoint *validation; /* [validation_count] */
    size_t validation_count, validation_cap;
    int64_t skipped, bad_lines;
    int resumed;         /* times */
    int ended;           /* an "end" line is the last word */
    double base_seconds; /* of the runs before the last resume */
} RunRecord;

/* where: a log, or the folder that holds log.jsonl. ERR_MISSING, ERR_IO, ERR_NOMEM; a log without any line is
 * not an error. The record is closed after a failure. */
int run_record_load(RunRecord *r, const char *where, Err *err);
void run_record_close(RunRecord *r); /* safe on a zeroed record */

/* Text of a setting of the start line ("32", "cuda:0", "yes"); "" where it does not say. Returns out. */
const char *run_record_setting(const RunRecord *r, const char *key, char *out, size_t cap);
/* Clips of one batch: batch_size, else what the rates of the lines come to; NaN when neither is known. */
double run_record_clips(const RunRecord *r);
/* Mean of a member of the lines, given by its offset in RunLine, over those that have it; NaN
 * when none has. */
double run_record_mean(const RunRecord *r, size_t member);

#endif
