/* log.c - see log.h. A line takes several prints; flockfile keeps other threads from printing in between. */
#include "base/log.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/progress.h"
#include "base/utf8.h"

void log_init(Log *log, LogLevel level)
{
    *log = (Log){.out = stderr, .level = level, .is_tty = isatty(STDERR_FILENO)};
}

/* A message names ids, texts and paths of others. */
static void put_tamed(FILE *out, const char *fmt, va_list ap)
{
    char small[2048], *text = small;
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(small, sizeof small, fmt, ap);
    if (n >= (int)sizeof small) {
        text = malloc((size_t)n + 1);
        if (text)
            vsnprintf(text, (size_t)n + 1, fmt, again);
        else { /* what fits must do */
            text = small;
            n = (int)sizeof small - 1;
        }
    }
    va_end(again);
    if (n > 0)
        fwrite(text, 1, utf8_tame(text, (size_t)n), out);
    if (text != small)
        free(text);
}

/* A progress line on a terminal is erased first. It reappears with its next update. */
void log_line(Log *log, LogLevel level, const char *fmt, ...)
{
    static const char *const prefix[] = {"error: ", "warning: ", "", ""};
    if (level != LOG_ERROR && (!log || level > log->level))
        return;
    FILE *out = log && log->out ? log->out : stderr;
    flockfile(out);
    Progress *p = log ? log->progress : NULL;
    if (p && __atomic_load_n(&p->shown, __ATOMIC_RELAXED) && log->is_tty)
        fputs(LOG_ERASE_LINE, out);
    fputs(prefix[level], out);
    va_list ap;
    va_start(ap, fmt);
    put_tamed(out, fmt, ap);
    va_end(ap);
    fputc('\n', out);
    fflush(out);
    funlockfile(out);
}

/* The hint gets a line of its own, where it is easy to see below a long message. */
void log_err(Log *log, const Err *err)
{
    if (err->code == ERR_RANKS)
        return;
    if (err->hint[0])
        log_error(log, "%s\n  hint: %s", err->msg, err->hint);
    else
        log_error(log, "%s", err->msg);
}
