/* run_log.c - log.jsonl: lines appended with one write each, and read again. */
#include "train/log/run_log.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"

#define MAX_LINE ((size_t)64 << 20) /* bytes; times of some million steps */

struct RunLog {
    int fd_plus1;
    char *path;
    Buf line;
    int torn; /* the file does not end with a newline */
};

/* Looks whether a kill has left half a line at the end. */
static int ends_torn(RunLog *l, Err *err)
{
    int fd = l->fd_plus1 - 1;
    char last = '\n';
    off_t size = lseek(fd, 0, SEEK_END);
    if (size > 0) {
        int rc = file_pread_all(fd, &last, 1, (uint64_t)size - 1, l->path, err);
        if (rc)
            return rc;
    }
    l->torn = last != '\n';
    return 0;
}

/* Appending: several runs of one folder write to the same file. */
int run_log_open(RunLog **out, const char *path, Err *err)
{
    *out = NULL;
    RunLog *l = mem_calloc(1, sizeof *l);
    int rc = 0;
    if (l)
        l->path = strdup(path);
    if (!l || !l->path) {
        rc = err_set(err, ERR_NOMEM, "no memory for the log %s", path);
        goto fail;
    }
    int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0) {
        rc = err_set_errno(err, ERR_IO, "cannot open the log %s", path);
        goto fail;
    }
    l->fd_plus1 = fd + 1;
    rc = ends_torn(l, err);
    if (rc)
        goto fail;
    *out = l;
    return 0;
fail:
    run_log_close(l);
    return rc;
}

/* What jansson calls with every piece of a line. */
static int append(const char *p, size_t n, void *buf)
{
    buf_add(buf, p, n);
    return ((Buf *)buf)->failed ? -1 : 0;
}

/* One write for the whole line; a part of it may get through when the disk fills up. */
static int write_line(RunLog *l, Err *err)
{
    ssize_t n;
    do
        n = write(l->fd_plus1 - 1, l->line.data, l->line.size);
    while (n < 0 && errno == EINTR);
    if (n == (ssize_t)l->line.size) {
        l->torn = 0;
        return 0;
    }
    /* A second write tells why, or completes the line after all. */
    if (n > 0) {
        l->torn = 1;
        int rc = file_write_all(l->fd_plus1 - 1, l->line.data + n, l->line.size - (size_t)n, l->path, err);
        l->torn = rc != 0;
        return rc;
    }
    return err_set_errno(err, ERR_IO, "cannot write to %s", l->path);
}

/* Behind a torn line a new one begins, so that only the torn one is lost. */
int run_log_write(RunLog *l, json_t *object, Err *err)
{
    if (l->line.failed)
        buf_free(&l->line);
    buf_clear(&l->line);
    if (l->torn)
        buf_str(&l->line, "\n");
    int made =
        object && json_dump_callback(object, append, &l->line, JSON_COMPACT | JSON_REAL_PRECISION(9)) == 0;
    json_decref(object);
    buf_str(&l->line, "\n");
    if (!made || l->line.failed)
        return err_set(err, ERR_NOMEM, "no memory for a line of %s", l->path);
    return write_line(l, err);
}

int run_log_resume(RunLog *l, int64_t step, Err *err)
{
    if (step == 0)
        return 0;
    return run_log_write(l, json_pack("{s:s, s:I}", "event", "resume", "step", (json_int_t)step), err);
}

void run_log_close(RunLog *l)
{
    if (!l)
        return;
    if (l->fd_plus1)
        close(l->fd_plus1 - 1);
    free(l->path);
    buf_free(&l->line);
    free(l);
}

/* Line by line: a log of days is not read into memory as a whole. */
int run_log_each(const char *path, int (*fn)(void *arg, json_t *object), void *arg, int64_t *bad_lines,
                 Err *err)
{
    if (bad_lines)
        *bad_lines = 0;
    FILE *f;
    Buf line = {0};
    int rc = file_open_lines(&f, path, err);
    if (rc)
        return rc;
    while (rc == 0) {
        int got = file_next_line(f, &line, MAX_LINE, path, err);
        if (got <= 0) {
            rc = got;
            break;
        }
        if (line.size == 0)
            continue;
        json_t *object = json_loadb(line.data, line.size, 0, NULL);
        if (json_is_object(object))
            rc = fn(arg, object);
        else if (bad_lines)
            ++*bad_lines;
        json_decref(object);
    }
    buf_free(&line);
    fclose(f);
    return rc;
}
