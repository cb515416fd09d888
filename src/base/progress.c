/* progress.c - see progress.h. */
#include "base/progress.h"

#include <math.h>
#include <stdio.h>

#include "base/clock.h"

/* Seconds. */
#define QUIET_TIME 2.0     /* shorter work shows no line */
#define TTY_INTERVAL 0.2   /* between lines on a terminal */
#define PLAIN_INTERVAL 5.0 /* between lines in a file or pipe */

void progress_format_seconds(char *out, size_t cap, double seconds)
{
    /* Converting NaN or a too large double to long is undefined: NaN fails the comparison, fmin caps the
     * rest. */
    long s = 0;
    if (seconds > 0)
        s = (long)(fmin(seconds, 1e15) + 0.5);
    if (s >= 3600)
        snprintf(out, cap, "%ld h %02ld min", s / 3600, s / 60 % 60);
    else if (s >= 60)
        snprintf(out, cap, "%ld min %02ld s", s / 60, s % 60);
    else
        snprintf(out, cap, "%ld s", s);
}

/* log_line reads log->progress and its `shown` while it holds the lock of the stream (flockfile), so both are
 * written only under that lock. */
static void log_attach(Log *log, Progress *p)
{
    if (!log)
        return;
    FILE *out = log->out ? log->out : stderr;
    flockfile(out);
    log->progress = p;
    funlockfile(out);
}

/* From here on, log_line erases the progress line before it prints its own. */
void progress_begin(Progress *p, Log *log, const char *what, const char *unit, uint64_t total)
{
    *p = (Progress){.log = log, .what = what, .unit = unit, .total = total, .start = clock_now()};
    p->last_print = p->start;
    pthread_mutex_init(&p->mutex, NULL);
    log_attach(log, p);
}

/* On a terminal the next line overwrites this one, unless it is the last. */
static void put(Progress *p, const char *line, double now, int last)
{
    Log *log = p->log;
    p->last_print = now;
    if (log->sink) {
        p->shown = 1;
        log_info(log, "%s", line);
        return;
    }
    FILE *out = log->out ? log->out : stderr;
    flockfile(out);
    if (log->is_tty)
        fputs(LOG_ERASE_LINE, out);
    if (log->ranks > 1)
        fprintf(out, "[rank %d] ", log->rank);
    fputs(line, out);
    if (!log->is_tty || last)
        fputc('\n', out);
    fflush(out);
    /* Atomic only because the thread sanitizer does not know the lock of a stream. */
    __atomic_store_n(&p->shown, 1, __ATOMIC_RELAXED);
    funlockfile(out);
}

/* "mel 120/2000 clips (6 %), 40 clips/s, 47 s left"; the last line ends with the total time instead. */
static void print_line(Progress *p, double now, int last)
{
    double elapsed = now - p->start, rate = elapsed > 0 ? (double)p->done / elapsed : 0;
    double percent = p->total ? 100.0 * (double)p->done / (double)p->total : 100.0;
    char time[64], tail[80] = "";
    if (last) {
        progress_format_seconds(time, sizeof time, elapsed);
        snprintf(tail, sizeof tail, ", %s", time);
    } else if (rate > 0) {
        double left = p->total > p->done ? (double)(p->total - p->done) / rate : 0;
        progress_format_seconds(time, sizeof time, left);
        snprintf(tail, sizeof tail, ", %s left", time);
    }
    char speed[32]; /* four digits, and never 1.234e+04 */
    snprintf(speed, sizeof speed, rate < 9999.5 ? "%.4g" : "%.0f", rate);
    char line[320];
    snprintf(line, sizeof line, "%s %llu/%llu %s (%.0f %%), %s %s/s%s", p->what, (unsigned long long)p->done,
             (unsigned long long)p->total, p->unit, percent, speed, p->unit, tail);
    put(p, line, now, last);
}

/* Nothing is printed at first, then at most one line per interval. */
static void print_at_times(Progress *p)
{
    if (!p->log || p->log->level < LOG_INFO)
        return;
    double now = clock_now(), interval = p->log->is_tty ? TTY_INTERVAL : PLAIN_INTERVAL;
    if (now - p->start >= QUIET_TIME && now - p->last_print >= interval)
        print_line(p, now, 0);
}

void progress_add(Progress *p, uint64_t n)
{
    pthread_mutex_lock(&p->mutex);
    p->done += n;
    print_at_times(p);
    pthread_mutex_unlock(&p->mutex);
}

void progress_set(Progress *p, uint64_t done)
{
    pthread_mutex_lock(&p->mutex);
    p->done = done > p->done ? done : p->done;
    print_at_times(p);
    pthread_mutex_unlock(&p->mutex);
}

void progress_text(Progress *p, const char *line)
{
    pthread_mutex_lock(&p->mutex);
    put(p, line, clock_now(), 0);
    pthread_mutex_unlock(&p->mutex);
}

void progress_drop(Progress *p)
{
    Log *log = p->log;
    pthread_mutex_lock(&p->mutex);
    FILE *out = log->out ? log->out : stderr;
    flockfile(out);
    if (p->shown && log->is_tty && !log->sink) {
        fputs(LOG_ERASE_LINE, out);
        fflush(out);
    }
    funlockfile(out);
    log_attach(log, NULL);
    pthread_mutex_unlock(&p->mutex);
    pthread_mutex_destroy(&p->mutex);
}

void progress_end(Progress *p)
{
    pthread_mutex_lock(&p->mutex);
    if (p->shown)
        print_line(p, clock_now(), 1);
    log_attach(p->log, NULL);
    pthread_mutex_unlock(&p->mutex);
    pthread_mutex_destroy(&p->mutex);
}
