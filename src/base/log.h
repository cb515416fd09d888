/* log.h - status lines on stderr. stdout belongs to the product (src/cmd).
 * The Log travels in contexts; a NULL Log is silent except that errors still print. Threads: any. */
#ifndef MYXTTS_LOG_H
#define MYXTTS_LOG_H

#include <stdio.h>

#include "base/err.h"

typedef enum { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG } LogLevel;

typedef struct Log {
    FILE *out;      /* where lines go; NULL: stderr */
    LogLevel level; /* lines above it are dropped */
    int is_tty;     /* a progress line may be rewritten in place */
    void *progress; /* the Progress on the last line, if any; it is erased before another line */
} Log;

void log_init(Log *log, LogLevel level); /* to stderr */
void log_line(Log *log, LogLevel level, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
#define log_error(log, ...) log_line(log, LOG_ERROR, __VA_ARGS__)
#define log_warn(log, ...) log_line(log, LOG_WARN, __VA_ARGS__)
#define log_info(log, ...) log_line(log, LOG_INFO, __VA_ARGS__)
#define log_debug(log, ...) log_line(log, LOG_DEBUG, __VA_ARGS__)
void log_err(Log *log, const Err *err); /* "error: sentence" and "  hint: ..." */

#endif
