/* log.h - status lines on stderr, or handed to a function. stdout is for the product (src/cmd).
 * A Log is passed along in contexts. A NULL Log prints errors only. Threads: any. */
#ifndef MYXTTS_LOG_H
#define MYXTTS_LOG_H

#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"

#define LOG_ERASE_LINE "\r\033[K" /* ANSI: go to the first column, erase to the end of the line */

typedef enum { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG } LogLevel;

typedef struct Log {
    FILE *out;       /* where lines go; NULL: stderr */
    LogLevel level;  /* the most detailed level that is printed */
    int is_tty;      /* `out` is a terminal: a progress line may be rewritten in place */
    int rank, ranks; /* with ranks > 1 every line begins with "[rank N] " */
    void *progress;  /* the Progress that is running, or NULL; log_line erases its line before it prints */
    /* Gets every line, without its "error: " or "warning: " and without a newline, instead of `out`; NULL:
     * nobody does. Called by the thread that logs. */
    void (*sink)(void *arg, LogLevel level, const char *line);
    void *sink_arg;
} Log;

void log_init(Log *log, LogLevel level); /* to stderr */
void log_line(Log *log, LogLevel level, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
#define log_error(log, ...) log_line(log, LOG_ERROR, __VA_ARGS__)
#define log_warn(log, ...) log_line(log, LOG_WARN, __VA_ARGS__)
#define log_info(log, ...) log_line(log, LOG_INFO, __VA_ARGS__)
#define log_debug(log, ...) log_line(log, LOG_DEBUG, __VA_ARGS__)
/* Columns of the terminal that the lines go to, which are broken at words there; 0: none, or not known. */
int log_columns(const Log *log);
/* Appends the line, broken at words into pieces of this many columns, all but the first indented. */
void log_wrap(Buf *to, const char *line, int columns);
/* "error: sentence" and "  hint: ..."; nothing for ERR_RANKS, which has been told already. */
void log_err(Log *log, const Err *err);

#endif
