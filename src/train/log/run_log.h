/* run_log.h - log.jsonl: one JSON object per line, for programs to read. Every line is one write(2) to the
 * end of the file, so that a kill leaves whole lines and at most one torn one, and readers may follow the
 * file while it grows. A run that resumes appends to the file of the run before it: later steps of that run
 * stay, and the line {"event": "resume", "step": N} says that they do not count any more. Threads: a RunLog
 * belongs to one thread; several processes may append. */
#ifndef MYXTTS_RUN_LOG_H
#define MYXTTS_RUN_LOG_H

#include <jansson.h>
#include <stdint.h>

#include "base/err.h"

typedef struct RunLog RunLog;

/* Opens or creates; existing lines are kept, and a torn last line is terminated. ERR_IO, ERR_NOSPACE,
 * ERR_NOMEM. */
int run_log_open(RunLog **l, const char *path, Err *err);
/* object is stolen, also on failure; NULL is ERR_NOMEM (what jansson returns then). After a failed write the
 * next line starts on a new line. */
int run_log_write(RunLog *l, json_t *object, Err *err);
/* Writes the line of a resumed run; step is the last one that still counts. Nothing when step is 0. */
int run_log_resume(RunLog *l, int64_t step, Err *err);
void run_log_close(RunLog *l); /* NULL is fine */

/* Calls fn for every line that is an object, in order (borrowed: fn does not free it). Anything but 0 from fn
 * ends the reading and is returned. Lines that are not objects are counted in *bad_lines (may be NULL): a
 * kill leaves one. ERR_MISSING, ERR_IO, ERR_NOMEM; ERR_FORMAT for a device, or a line that has no end. */
int run_log_each(const char *path, int (*fn)(void *arg, json_t *object), void *arg, int64_t *bad_lines,
                 Err *err);

#endif
