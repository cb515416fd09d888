/* run_record.h - a training run, read from its log.jsonl: settings, one entry per line of the log, every step
 * time. Steps that a later resume discarded ("resume" at step N: those after N) are left out; `seconds`
 * continues across resumes. Threads: any; a record belongs to one at a time. */
#ifndef MYXTTS_RUN_RECORD_H
#define MYXTTS_RUN_RECORD_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "diag/report/run_voice.h"

typedef struct RunLine {
    int64_t step;
    double seconds; /* of training, since the run began */
    /* All of these are NaN if the line does not have them. */
    double loss, step_ms, wait_share, busy_share, padding_share, utterances_per_s, frames_per_s;
    double gpu_utilisation;
    double queue_ready, queue_slots; /* batches that are ready for the trainer, and their maximum */
    double model_bytes;
    size_t first_time, times; /* first index and number of the line's entries in RunRecord.times */
} RunLine;

typedef struct RunPoint {
    int64_t step;
    double loss;
} RunPoint;

typedef struct RunRecord {
    char *path;           /* of the log */
    json_t *start;        /* the {"event": "start"} line of the last steps, with the settings; NULL: none */
    json_t *newest_start; /* the last one; it counts once a step has been made with its settings */
    int64_t total_steps;  /* planned; 0: unknown */
    int64_t batch_size;   /* rows of a batch; 0: unknown */
    int64_t accumulation; /* batches of a step; 1 if unknown */
    RunLine *lines;       /* [line_count] */
    size_t line_count, line_cap;
    double *times; /* [time_count] ms of each batch, in order */
    size_t time_count, time_cap;
    size_t time_from, line_from; /* the first that were made with the present batch size and accumulation */
    RunPoint *validation;        /* [validation_count] */
    size_t validation_count, validation_cap;
    int64_t skipped, bad_lines;
    int resumed; /* how often */
    int ended;   /* 1: the last line is "end" */
    RunVoice voice;
    char verdict[800];   /* about the hardware, at the end of a run; "": none */
    double base_seconds; /* seconds of training before the last resume */
} RunRecord;

/* where: a log, or a folder that contains log.jsonl. An empty log is not an error. ERR_MISSING, ERR_IO,
 * ERR_NOMEM, ERR_DATA as of run_record_check; the record is then closed. */
int run_record_load(RunRecord *r, const char *where, Err *err);
/* 0 if the file may be a log of `myxtts train`, also if it is empty or not there; ERR_DATA, with a sentence
 * that says what to give instead, if its first line is something else: what a program printed, or the .log of
 * another one. */
int run_record_check(const char *path, Err *err);
void run_record_close(RunRecord *r); /* a zeroed record is allowed */

/* A setting of the start line as text ("32", "cuda:0", "yes"); "" if it is not there. Returns out. */
const char *run_record_setting(const RunRecord *r, const char *key, char *out, size_t cap);
/* Clips per batch: batch_size, or derived from the rates of the lines; NaN if neither is known. */
double run_record_clips(const RunRecord *r);
/* The mean of a member of RunLine, given by its offset, over the lines that have it; NaN if none has. */
double run_record_mean(const RunRecord *r, size_t member);

#endif
