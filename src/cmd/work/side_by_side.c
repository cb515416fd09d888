/* side_by_side.c - see side_by_side.h. */
#include "cmd/work/side_by_side.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#define TELL_EVERY 4.0 /* seconds */

enum { LOGGED, PRINTED, PIPES }; /* of a job: what it logs, what it prints */

typedef struct Process {
    SideJob *job;
    pid_t pid;      /* 0: it does not run */
    int fd[PIPES];  /* ends to read from; -1: closed */
    Buf line;       /* of the log, as far as it has come */
    char steps[64]; /* "step 50/1287, 3 min 20 s left"; "" before the first */
} Process;

typedef struct Side {
    Process *processes; /* [count] */
    int count;
    Log log;     /* prints all that the jobs have let through */
    double told; /* clock: when steps were told */
} Side;

/* ---- what a job logs ---- */

/* The parts of a line about steps (train/telling.h) that two jobs have room for. 2: it was the last. 0: it is
 * another line; those of
 * --verbose have bars. */
static int read_steps(char *out, size_t cap, const char *line)
{
    const char *end = strstr(line, "  "), *left = strstr(line, " left  ");
    long long at, total = -1;
    if (!end || strchr(line, '|') || sscanf(line, "step %lld/%lld", &at, &total) < 1)
        return 0;
    snprintf(out, cap, "%.*s", (int)(end - line), line);
    const size_t n = strlen(line);
    if (!left && n > 5 && strcmp(line + n - 5, " left") == 0)
        left = line + n - 5;
    const char *time = left;
    while (time && time > end + 2 && strncmp(time - 2, "  ", 2) != 0)
        time--;
    if (left)
        snprintf(out + strlen(out), cap - strlen(out), ", %.*s left", (int)(left - time), time);
    return at == total ? 2 : 1;
}

/* One line for the steps of all, as seldom as one of them tells its own. */
static void tell_steps(Side *s, int last)
{
    Buf all = {0};
    if (!last && clock_now() - s->told < TELL_EVERY)
        return;
    s->told = clock_now();
    for (int i = 0; i < s->count; i++)
        if (s->processes[i].steps[0])
            buf_printf(&all, "%s%s %s", all.size ? " | " : "", s->processes[i].job->name,
                       s->processes[i].steps);
    if (!all.failed)
        log_info(&s->log, "%.*s", (int)all.size, (const char *)all.data);
    buf_free(&all);
}

static void tell_line(Side *s, Process *p, const char *line)
{
    static const char warning[] = "warning: ", error[] = "error: ";
    const char *name = p->job->name;
    const int steps = read_steps(p->steps, sizeof p->steps, line);
    if (steps)
        tell_steps(s, steps == 2);
    else if (strncmp(line, warning, strlen(warning)) == 0)
        log_warn(&s->log, "%s: %s", name, line + strlen(warning));
    else if (strncmp(line, error, strlen(error)) == 0)
        log_error(&s->log, "%s: %s", name, line + strlen(error));
    else
        log_info(&s->log, "%s: %s", name, line);
}

/* Whole lines are told, the rest waits. */
static void take_logged(Side *s, Process *p, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (bytes[i] != '\n') {
            buf_add(&p->line, &bytes[i], 1);
            continue;
        }
        buf_add(&p->line, "", 1);
        if (!p->line.failed)
            tell_line(s, p, p->line.data);
        buf_clear(&p->line);
    }
}

/* Reads what is there; closes a pipe at its end. */
static void take(Side *s, Process *p, int which)
{
    char bytes[4096];
    ssize_t n = read(p->fd[which], bytes, sizeof bytes);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n <= 0) {
        close(p->fd[which]);
        p->fd[which] = -1;
    } else if (which == LOGGED) {
        take_logged(s, p, bytes, (size_t)n);
    } else {
        buf_add(&p->job->out, bytes, (size_t)n);
    }
}

/* ---- processes ---- */

/* The new process: its output goes into the pipes, and it does not outlive its parent. */
static void run_job(const SideJob *job, const int ends[PIPES], pid_t parent, LogLevel level)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    FILE *out = getppid() == parent ? fdopen(ends[LOGGED], "w") : NULL;
    if (!out || dup2(ends[LOGGED], STDERR_FILENO) < 0 || dup2(ends[PRINTED], STDOUT_FILENO) < 0)
        _exit(3);
    close(ends[PRINTED]);
    setvbuf(out, NULL, _IOLBF, BUFSIZ);
    Log log = {.out = out, .level = level};
    int code = job->run(job->arg, &log);
    fflush(stdout);
    fflush(out);
    _exit(code);
}

static int start(Side *s, int i, LogLevel level, Err *err)
{
    Process *p = &s->processes[i];
    int pipes[PIPES][2] = {{-1, -1}, {-1, -1}}, ends[PIPES];
    if (pipe(pipes[LOGGED]) || pipe(pipes[PRINTED])) {
        int rc = err_set_errno(err, ERR_IO, "cannot make a pipe for %s", p->job->name);
        for (int k = 0; k < PIPES; k++)
            for (int e = 0; e < 2; e++)
                if (pipes[k][e] >= 0)
                    close(pipes[k][e]);
        return rc;
    }
    for (int k = 0; k < PIPES; k++) {
        p->fd[k] = pipes[k][0];
        ends[k] = pipes[k][1];
    }
    fflush(NULL);
    pid_t parent = getpid();
    p->pid = fork();
    if (p->pid == 0) {
        for (int k = 0; k <= i; k++)
            for (int e = 0; e < PIPES; e++)
                close(s->processes[k].fd[e]);
        run_job(p->job, ends, parent, level);
    }
    for (int k = 0; k < PIPES; k++)
        close(ends[k]);
    if (p->pid > 0)
        return 0;
    p->pid = 0;
    return err_set_errno(err, ERR_IO, "cannot start a process for %s", p->job->name);
}

static void ask_to_end(const Side *s)
{
    for (int i = 0; i < s->count; i++)
        if (s->processes[i].pid)
            kill(s->processes[i].pid, SIGTERM);
}

/* Until every pipe is closed. A signal ends poll, so that the request is passed on at once. */
static void listen_to_all(Side *s, const volatile int *stop)
{
    struct pollfd *fds = calloc((size_t)s->count * PIPES, sizeof *fds);
    for (int open = 1, asked = 0; fds && open;) {
        open = 0;
        if (*stop && !asked) {
            ask_to_end(s);
            asked = 1;
        }
        for (int i = 0; i < s->count * PIPES; i++) {
            fds[i] = (struct pollfd){.fd = s->processes[i / PIPES].fd[i % PIPES], .events = POLLIN};
            open |= fds[i].fd >= 0;
        }
        if (!open || poll(fds, (nfds_t)(s->count * PIPES), -1) <= 0)
            continue;
        for (int i = 0; i < s->count * PIPES; i++)
            if (fds[i].fd >= 0 && fds[i].revents)
                take(s, &s->processes[i / PIPES], i % PIPES);
    }
    free(fds);
}

static void await(Process *p)
{
    int status = 0;
    while (p->pid && waitpid(p->pid, &status, 0) < 0 && errno == EINTR)
        ;
    p->job->code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    p->pid = 0;
}

int side_by_side(SideJob *jobs, int count, void (*begun)(void), const volatile int *stop, Log *log, Err *err)
{
    /* A job prints what its own level lets through; here all of it is shown. */
    Side s = {.processes = calloc((size_t)count, sizeof *s.processes), .count = count, .log = *log};
    s.log.level = LOG_DEBUG;
    if (!s.processes)
        return err_set(err, ERR_NOMEM, "no memory for %d jobs", count);
    for (int i = 0; i < count; i++)
        s.processes[i] = (Process){.job = &jobs[i], .fd = {-1, -1}};
    int rc = 0;
    for (int i = 0; i < count && !rc; i++)
        rc = start(&s, i, log->level, err);
    begun();
    if (rc)
        ask_to_end(&s);
    listen_to_all(&s, stop);
    for (int i = 0; i < count; i++) {
        await(&s.processes[i]);
        buf_free(&s.processes[i].line);
        buf_add(&jobs[i].out, "", 1);
        if (jobs[i].out.failed && !rc)
            rc = err_set(err, ERR_NOMEM, "no memory for what %s printed", jobs[i].name);
        for (int k = 0; k < PIPES; k++)
            if (s.processes[i].fd[k] >= 0)
                close(s.processes[i].fd[k]);
    }
    free(s.processes);
    return rc;
}
