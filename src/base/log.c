/* log.c - see log.h. A line takes several prints; flockfile keeps other threads from printing in between. */
#include "base/log.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/progress.h"
#include "base/utf8.h"

#define NARROWEST 40 /* columns; a terminal that says less does not know */

void log_init(Log *log, LogLevel level)
{
    *log = (Log){.out = stderr, .level = level, .is_tty = isatty(STDERR_FILENO)};
}

int log_columns(const Log *log)
{
    struct winsize size;
    FILE *out = log && log->out ? log->out : stderr;
    if (!log || !log->is_tty || ioctl(fileno(out), TIOCGWINSZ, &size))
        return 0;
    return size.ws_col >= NARROWEST ? size.ws_col : 0;
}

void log_wrap(Buf *to, const char *line, int columns)
{
    size_t n = strlen(line), room = (size_t)columns;
    for (int first = 1; columns > 0 && utf8_count(line, n) > room; first = 0) {
        size_t cut = utf8_prefix(line, n, room + 1), end;
        while (cut > 0 && line[cut] != ' ' && line[cut] != '\n')
            cut--;
        const char *newline = memchr(line, '\n', cut);
        cut = newline ? (size_t)(newline - line) : cut;
        end = cut;
        while (end > 0 && line[end - 1] == ' ')
            end--;
        if (end == 0) /* a word, such as a path, as wide as that is left to the terminal */
            break;
        buf_add(to, line, end);
        buf_str(to, newline ? "\n" : "\n    ");
        line += cut + 1;
        n -= cut + 1;
        if (first)
            room -= 4;
    }
    buf_add(to, line, n);
}

/* A whole line in one piece: on stderr every piece is a write of its own, and other processes may write there
 * in between. The message names ids, texts and paths of others, which are tamed. */
static void put_line(const Log *log, LogLevel level, FILE *out, const char *before, const char *fmt,
                     va_list ap)
{
    char small[2048], *line = small;
    size_t from = strlen(before);
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(small + from, sizeof small - from - 1, fmt, ap);
    n = n < 0 ? 0 : n;
    if ((size_t)n >= sizeof small - from - 1) {
        line = malloc(from + (size_t)n + 2);
        if (line)
            vsnprintf(line + from, (size_t)n + 1, fmt, again);
        else { /* what fits must do */
            line = small;
            n = (int)(sizeof small - from - 2);
        }
    }
    va_end(again);
    memcpy(line, before, from);
    size_t end = from + utf8_tame(line + from, (size_t)n);
    const int columns = out ? log_columns(log) : 0;
    Buf wrapped = {0};
    line[end] = 0;
    if (columns && utf8_count(line, end) > (size_t)columns)
        log_wrap(&wrapped, line, columns);
    if (wrapped.size && !wrapped.failed) {
        buf_str(&wrapped, "\n");
        fwrite(wrapped.data, 1, wrapped.size, out);
    } else if (out) {
        line[end] = '\n';
        fwrite(line, 1, end + 1, out);
    } else {
        log->sink(log->sink_arg, level, line);
    }
    buf_free(&wrapped);
    if (line != small)
        free(line);
}

/* A progress line on a terminal is erased first. It reappears with its next update. */
static FILE *begin_line(Log *log)
{
    FILE *out = log && log->out ? log->out : stderr;
    flockfile(out);
    Progress *p = log ? log->progress : NULL;
    if (p && __atomic_load_n(&p->shown, __ATOMIC_RELAXED) && log->is_tty)
        fputs(LOG_ERASE_LINE, out);
    return out;
}

void log_line(Log *log, LogLevel level, const char *fmt, ...)
{
    static const char *const prefix[] = {"error: ", "warning: ", "", ""};
    if (level != LOG_ERROR && (!log || level > log->level))
        return;
    int to_sink = log && log->sink;
    FILE *out = to_sink ? NULL : begin_line(log);
    char before[40] = "";
    if (log && log->ranks > 1)
        snprintf(before, sizeof before, "[rank %d] ", log->rank);
    if (!to_sink)
        snprintf(before + strlen(before), sizeof before - strlen(before), "%s", prefix[level]);
    va_list ap;
    va_start(ap, fmt);
    put_line(log, level, out, before, fmt, ap);
    va_end(ap);
    if (to_sink)
        return;
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
