/* progress.c - see progress.h. */
#include "base/progress.h"

#include <math.h>
#include <stdio.h>

#include "base/clock.h"

#define QUIET_SECONDS 2.0 /* shorter work needs no line */
#define TTY_EVERY 0.2
#define PLAIN_EVERY 5.0

void progress_format_seconds(char *out, size_t cap, double seconds)
{
    const double most = 1e15; /* NaN and infinities must not reach the conversion */
    long s = !(seconds > 0) ? 0 : (long)(fmin(seconds, most) + 0.5);
    if (s >= 3600)
        snprintf(out, cap, "%ld h %02ld min", s / 3600, s / 60 % 60);
    else if (s >= 60)
        snprintf(out, cap, "%ld min %02ld s", s / 60, s % 60);
    else
        snprintf(out, cap, "%ld s", s);
}

/* log_line looks at log->progress and its `shown` under the lock of the stream; so they change under it. */
static void log_attach(Log *log, Progress *p)
{
    if (!log)
        return;
    FILE *out = log->out ? log->out : stderr;
    flockfile(out);
    log->progress = p;
    funlockfile(out);
}

/* Lines of the log know from now on that they may have to erase ours. */
void progress_begin(Progress *p, Log *log, const char *what, const char *unit, uint64_t total)
{
    *p = (Progress){.log = log, .what = what, .unit = unit, .total = total, .start = clock_now()};
    p->last_print = p->start;
    pthread_mutex_init(&p->mutex, NULL);
    log_attach(log, p);
}

/* "mel 120/2000 clips (6 %), 40 clips/s, 47 s left"; the last line has the time it took instead. */
static void print_line(Progress *p, double now, int last)
{
    Log *log = p->log;
    double elapsed = now - p->start, rate = elapsed > 0 ? (double)p->done / elapsed : 0;
    char left[64] = "";
    if (last)
        progress_format_seconds(left, sizeof left, elapsed);
    else if (rate > 0)
        progress_format_seconds(left, sizeof left,
                                p->total > p->done ? (double)(p->total - p->done) / rate : 0);
    FILE *out = log->out ? log->out : stderr;
    flockfile(out);
    fprintf(out, "%s%s %llu/%llu %s (%.0f %%), %.4g %s/s%s%s%s", log->is_tty ? "\r\033[K" : "", p->what,
            (unsigned long long)p->done, (unsigned long long)p->total, p->unit,
            p->total ? 100.0 * (double)p->done / (double)p->total : 100.0, rate, p->unit, left[0] ? ", " : "",
            left, left[0] ? (last ? "" : " left") : "");
    fputs(log->is_tty && !last ? "" : "\n", out);
    fflush(out);
    /* Under the lock of the stream; atomic only because the thread sanitizer does not know that lock. */
    __atomic_store_n(&p->shown, 1, __ATOMIC_RELAXED);
    funlockfile(out);
    p->last_print = now;
}

void progress_add(Progress *p, uint64_t n)
{
    pthread_mutex_lock(&p->mutex);
    p->done += n;
    /* Short work stays silent; later lines keep their distance, on a terminal a shorter one. */
    if (p->log && p->log->level >= LOG_INFO) {
        double now = clock_now();
        if (now - p->start >= QUIET_SECONDS &&
            now - p->last_print >= (p->log->is_tty ? TTY_EVERY : PLAIN_EVERY))
            print_line(p, now, 0);
    }
    pthread_mutex_unlock(&p->mutex);
}

/* The last line stays, with the time it all took. */
void progress_end(Progress *p)
{
    pthread_mutex_lock(&p->mutex);
    if (p->shown)
        print_line(p, clock_now(), 1);
    log_attach(p->log, NULL);
    pthread_mutex_unlock(&p->mutex);
    pthread_mutex_destroy(&p->mutex);
}
