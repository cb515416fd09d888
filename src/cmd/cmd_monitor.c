/* cmd_monitor.c - myxtts monitor: a live view of a run in the terminal. It only reads: the run's log and
 * NVML. */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/line/options.h"
#include "cmd/line/output.h"
#include "diag/report/monitor_view.h"

static const char usage_text[] =
    "myxtts monitor [RUN] [--once] [--interval S] [--json]\n\n"
    "A live view of a training run: progress, loss, step times, time spent waiting, queued batches, GPU.\n"
    "RUN is the folder of a run, or the log.jsonl in it; the default is the newest run under\n"
    "checkpoint_dir. Ctrl-C ends the view, not the run. If the output is not a terminal, prints one line\n"
    "for each line of the log.";

typedef struct Watch {
    char *log_path;
    struct timespec seen; /* of the log when it was read */
    off_t size;
    RunRecord run;
    Monitor *gpus;
    MonitorView view;
    int tty, json;
    int drawn; /* lines on the screen, to be drawn over */
} Watch;

/* ---- which run ---- */

/* Keeps the path when its file is newer than the best so far; frees it otherwise. */
static void newer(char **best, struct timespec *when, char *path)
{
    struct stat st;
    if (path && stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
        (!*best || st.st_mtim.tv_sec > when->tv_sec ||
         (st.st_mtim.tv_sec == when->tv_sec && st.st_mtim.tv_nsec > when->tv_nsec))) {
        free(*best);
        *best = path;
        *when = st.st_mtim;
        return;
    }
    free(path);
}

/* dir/log.jsonl and dir/x/log.jsonl: the one written last; NULL when there is none. */
static char *newest_log(const char *dir)
{
    char *best = NULL;
    struct timespec when = {0};
    newer(&best, &when, file_join(dir, "log.jsonl"));
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        char *folder = e->d_name[0] != '.' ? file_join(dir, e->d_name) : NULL;
        if (folder)
            newer(&best, &when, file_join(folder, "log.jsonl"));
        free(folder);
    }
    if (d)
        closedir(d);
    return best;
}

/* A log itself, a folder with one, or a folder of such folders. */
static int find_run(Watch *w, const CmdLine *line, Err *err)
{
    const char *dir = line->positional_count ? line->positional[0] : line->cfg.checkpoint_dir;
    struct stat st;
    if (stat(dir, &st) == 0 && !S_ISDIR(st.st_mode)) {
        w->log_path = strdup(dir);
        return w->log_path ? 0 : err_set(err, ERR_NOMEM, "no memory for the path of a log");
    }
    w->log_path = newest_log(dir);
    if (w->log_path)
        return 0;
    err_set(err, ERR_MISSING, "no run found: neither %s/log.jsonl nor %s/*/log.jsonl exists", dir, dir);
    return err_hint(err, "`myxtts train` writes log.jsonl; `myxtts monitor RUN` looks in another folder");
}

/* ---- what it does now ---- */

/* Reads the log again when it has changed. 1: it had, 0: not, or an error. */
static int refresh(Watch *w, Err *err)
{
    struct stat st;
    if (stat(w->log_path, &st))
        return err_set_errno(err, errno == ENOENT ? ERR_MISSING : ERR_IO, "cannot look at %s", w->log_path);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    w->view.age =
        fmax(0, (double)(now.tv_sec - st.st_mtim.tv_sec) + 1e-9 * (double)(now.tv_nsec - st.st_mtim.tv_nsec));
    /* Size and time together: two lines within one tick of the clock change the size. */
    if (w->run.path && st.st_size == w->size && st.st_mtim.tv_sec == w->seen.tv_sec &&
        st.st_mtim.tv_nsec == w->seen.tv_nsec)
        return 0;
    RunRecord next;
    int rc = run_record_load(&next, w->log_path, err);
    if (rc)
        return rc;
    run_record_close(&w->run);
    w->run = next;
    w->size = st.st_size;
    w->seen = st.st_mtim;
    w->view.run = &w->run;
    return 1;
}

/* The GPUs the run names; those that can be seen when it does not say. */
static int open_gpus(Watch *w, Log *log, Err *err)
{
    static const char *const keys[] = {"model_gpu", "data_gpu"};
    MonitorView *v = &w->view;
    for (int i = 0; i < 2; i++) {
        char name[64], *end;
        run_record_setting(&w->run, keys[i], name, sizeof name);
        const char *digits = strncmp(name, "cuda:", 5) == 0 ? name + 5 : name;
        long k = strtol(digits, &end, 10);
        if (end == digits || *end || k < 0 || k > 1000 || (v->gpu_count && v->gpus[0] == (int)k))
            continue;
        v->gpus[v->gpu_count++] = (int)k;
    }
    v->wants_gpu = v->gpu_count > 0;
    if (!w->run.start)
        for (; v->gpu_count < VIEW_GPUS; v->gpu_count++)
            v->gpus[v->gpu_count] = v->gpu_count;
    Log quiet = {.out = log->out, .level = LOG_ERROR};
    return monitor_open(&w->gpus, v->gpus, v->gpu_count, 0.5, &quiet, err);
}

/* The newest samples, as many as the view draws. */
static void look_at_gpus(Watch *w)
{
    for (int k = 0; k < w->view.gpu_count; k++) {
        MonitorSample kept[MONITOR_HISTORY];
        int most = (int)(sizeof w->view.history[k] / sizeof *w->view.history[k]);
        int n = monitor_history(w->gpus, k, kept, MONITOR_HISTORY), from = n > most ? n - most : 0;
        memcpy(w->view.history[k], kept + from, (size_t)(n - from) * sizeof *kept);
        w->view.history_count[k] = n - from;
        monitor_summary(w->gpus, k, &w->view.summary[k]);
    }
}

/* ---- the screen ---- */

/* Without a terminal: wide, and no limit on lines. */
static void screen(int *columns, int *rows)
{
    struct winsize size;
    int known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
    *columns = known && size.ws_col > 20 ? size.ws_col : 120;
    *rows = known && size.ws_row > 0 ? size.ws_row : 1000;
}

static void control(const char *sequence) { output_control(sequence, strlen(sequence)); }

/* 0, or ERR_NOMEM. What cannot be written is seen by main. */
static int show(Watch *w, int whole, Err *err)
{
    Buf b = {0};
    int wide, high;
    screen(&wide, &high);
    w->view.width = w->tty ? wide - 1 : 200;
    if (w->json) {
        json_t *o = monitor_view_json(&w->view);
        char *text = o ? json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(7)) : NULL;
        json_decref(o);
        buf_str(&b, text ? text : "");
        buf_str(&b, "\n");
        b.failed |= !text;
        free(text);
    } else if (whole) {
        monitor_view_frame(&b, &w->view);
    } else {
        monitor_view_line(&b, &w->view);
    }
    int rc = b.failed ? err_set(err, ERR_NOMEM, "no memory for the view") : 0;
    if (!rc) {
        /* Taller than the screen: it has scrolled, so the whole screen is redrawn. */
        if (w->tty && w->drawn >= high)
            control("\033[H\033[J");
        else if (w->tty && w->drawn) {
            char up[40];
            snprintf(up, sizeof up, "\033[%dA\033[J", w->drawn);
            control(up);
        }
        fwrite(b.data, 1, b.size, stdout);
        fflush(stdout);
        w->drawn = 0;
        for (size_t i = 0; i < b.size; i++)
            w->drawn += b.data[i] == '\n';
    }
    buf_free(&b);
    return rc;
}

/* Until Ctrl-C or the end of the run. Signals are taken by waiting for them, so that no handler has to reach
 * in here. */
static int follow(Watch *w, double interval, Err *err)
{
    sigset_t wanted, before;
    struct timespec pause = {(time_t)interval, (long)((interval - floor(interval)) * 1e9)};
    int rc = 0, changed = 1;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGINT);
    sigaddset(&wanted, SIGTERM);
    sigaddset(&wanted, SIGHUP);
    sigprocmask(SIG_BLOCK, &wanted, &before);
    int live = w->tty && !w->json;
    if (live)
        control("\033[?25l"); /* no cursor while lines are drawn over */
    for (;;) {
        look_at_gpus(w);
        if ((live || changed) && (rc = show(w, live, err)))
            break;
        /* The run has ended, or the reader has gone. */
        if (monitor_view_state(&w->view) == VIEW_ENDED || ferror(stdout))
            break;
        if (sigtimedwait(&wanted, NULL, &pause) > 0)
            break;
        changed = refresh(w, err);
        if (changed < 0) {
            rc = changed;
            break;
        }
    }
    if (live) {
        control("\033[?25h");
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return rc;
}

/* As they were typed. */
typedef struct Given {
    const char *every;
    int once;
} Given;

static const CmdOption options[] = {
    {"once", NULL, 0, FLAG_AT(Given, once), "print one frame and exit"},
    {"interval", "S", TEXT_AT(Given, every), 0, "seconds between updates (1)"},
};
const CmdUsage monitor_usage = {usage_text, options, OPTION_COUNT(options)};

/* Only reads; the run does not notice. */
int cmd_monitor(int argc, char **argv, Log *log)
{
    Given given = {0};
    CmdLine line;
    Err err = {0};
    Watch w = {0};
    double interval = 1;
    int rc = cmd_line_parse(&line, &monitor_usage, &given, argc, argv, &err);
    if (rc || line.help)
        goto done;
    cmd_line_set_log(&line, log);
    if ((rc = cmd_line_expect(&line, 0, 1, "at most one run", &err)))
        goto done;
    if (given.every) {
        char *end;
        interval = strtod(given.every, &end);
        if (end == given.every || *end || !(interval >= 0.05 && interval <= 3600)) {
            rc = err_set(&err, ERR_USAGE, "--interval is '%s', but must be seconds between 0.05 and 3600",
                         given.every);
            goto done;
        }
    }
    w.json = line.json;
    w.tty = isatty(STDOUT_FILENO);
    rc = find_run(&w, &line, &err);
    if (!rc)
        rc = refresh(&w, &err); /* 1: it was read */
    if (rc >= 0)
        rc = open_gpus(&w, log, &err);
    if (rc)
        goto done;
    if (given.once) {
        for (int i = 0; i < 10 && monitor_measures(w.gpus) && w.view.history_count[0] == 0; i++) {
            clock_sleep(0.1);
            look_at_gpus(&w);
        }
        rc = show(&w, 1, &err);
    } else {
        rc = follow(&w, interval, &err);
    }
done:
    monitor_close(w.gpus);
    run_record_close(&w.run);
    free(w.log_path);
    cmd_line_close(&line);
    return rc < 0 ? cmd_fail(log, &err) : 0;
}
