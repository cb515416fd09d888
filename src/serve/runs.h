/* runs.h - the trainings in a folder, for display: which ones there are, how far they have got, their logs,
 * pictures and samples. A run is a folder with a log.jsonl, at most RUNS_DEPTH levels below the folder (or
 * the folder itself). Nothing is ever written.
 * A name that comes from outside is looked up among those that were found; it never becomes a path. Symbolic
 * links below the folder are not followed. What one call reads is bounded, so that it may run in a thread
 * that must not block: a long log that is seen for the first time is read over several calls.
 * Threads: any. Errors: ERR_MISSING (no such run or file), ERR_USAGE (a path that is never shown), ERR_IO,
 * ERR_NOMEM. */
#ifndef MYXTTS_RUNS_H
#define MYXTTS_RUNS_H

#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"

#define RUNS_DEPTH 3

typedef struct Runs Runs;

int runs_open(Runs **r, const char *folder, Err *err);
void runs_close(Runs *r); /* NULL is fine */

/* These append a JSON object to out; docs/SERVER.md describes them. */
int runs_list(Runs *r, Buf *out, Err *err);
/* Whole lines from byte `after` of the log on. */
int runs_log(Runs *r, Buf *out, const char *name, int64_t after, Err *err);
int runs_files(Runs *r, Buf *out, const char *name, Err *err);
/* What the doctor finds in the curves. */
int runs_about(Runs *r, Buf *out, const char *name, Err *err);

/* A picture, a sample or a log: its bytes are appended to out, *type is its media type. */
int runs_file(Runs *r, Buf *out, const char **type, const char *name, const char *path, Err *err);

#endif
