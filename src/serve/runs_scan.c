/* runs_scan.c - which runs there are below a folder. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/utf8.h"
#include "serve/runs_private.h"

#define MOST_RUNS 2000
#define MOST_ENTRIES 1000000 /* of all folders together */

/* Part by part: with O_NOFOLLOW only the last part of a path is looked at. */
int runs_open_below(int root, const char *path, int flags)
{
    int at = dup(root);
    while (at >= 0 && *path) {
        char part[256];
        size_t n = strcspn(path, "/");
        if (n == 0 || n >= sizeof part || path[0] == '.') {
            close(at);
            errno = ENOENT;
            return -1;
        }
        memcpy(part, path, n);
        part[n] = 0;
        path += n + (path[n] == '/');
        /* O_NONBLOCK: a pipe in the place of a file must not hold the server up. */
        int next =
            openat(at, part, (*path ? O_RDONLY | O_DIRECTORY : flags) | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        close(at);
        at = next;
    }
    return at;
}

void run_free(Run *run)
{
    free(run->name);
    free(run->path);
    free(run->findings);
    *run = (Run){0};
}

static double seconds_of(const struct timespec *t) { return (double)t->tv_sec + 1e-9 * (double)t->tv_nsec; }

static Run *find(Runs *r, const char *path)
{
    for (size_t i = 0; i < r->count; i++)
        if (strcmp(r->runs[i].path, path) == 0)
            return &r->runs[i];
    return NULL;
}

/* When something in a run's folder changed last. */
static double changed_last(int dir, const struct stat *log)
{
    struct stat st;
    double last = seconds_of(&log->st_mtim);
    if (fstat(dir, &st) == 0 && seconds_of(&st.st_mtim) > last)
        last = seconds_of(&st.st_mtim);
    if (fstatat(dir, "samples", &st, AT_SYMLINK_NOFOLLOW) == 0 && seconds_of(&st.st_mtim) > last)
        last = seconds_of(&st.st_mtim);
    return last;
}

/* Makes room in a list that is full: the run that changed longest ago is dropped, unless the new one is even
 * older. 0: it is. */
static int remove_oldest(Runs *r, double changed)
{
    size_t oldest = 0;
    for (size_t i = 1; i < r->count; i++)
        if (r->runs[i].changed < r->runs[oldest].changed)
            oldest = i;
    r->hidden++;
    if (r->runs[oldest].changed >= changed)
        return 0;
    run_free(&r->runs[oldest]);
    r->runs[oldest] = r->runs[--r->count];
    return 1;
}

/* A folder that has a log: a new run, or one that is known. */
static int add_run(Runs *r, int dir, const char *path, const struct stat *log, Err *err)
{
    Run *run = find(r, path);
    const double changed = changed_last(dir, log);
    if (!run) {
        if (r->count >= MOST_RUNS && !remove_oldest(r, changed))
            return 0;
        if (mem_grow(&r->runs, &r->cap, r->count + 1, sizeof *r->runs))
            return err_set(err, ERR_NOMEM, "no memory for a list of trainings");
        run = &r->runs[r->count];
        *run = (Run){.name = strdup(*path ? path : r->own_name), .path = strdup(path)};
        run_sum_clear(&run->sum);
        if (!run->name || !run->path) {
            run_free(run);
            return err_set(err, ERR_NOMEM, "no memory for a list of trainings");
        }
        r->count++;
    }
    /* Another file, or one that was cut: it is read from its beginning. */
    if (run->log.st_ino != log->st_ino || log->st_size < run->read) {
        run_sum_clear(&run->sum);
        run->read = 0;
    }
    run->log = *log;
    run->seen = 1;
    run->changed = changed;
    return 0;
}

/* A name that can be shown and asked for. */
static int is_plain(const char *name)
{
    if (name[0] == '.' || strcmp(name, "samples") == 0 || utf8_valid(name, strlen(name)) != strlen(name))
        return 0;
    for (const char *c = name; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127 || *c == '\\')
            return 0;
    return 1;
}

/* dir is closed. */
static int scan_folder(Runs *r, int dir, const char *path, int depth, int *entries, Err *err)
{
    struct stat st;
    int rc = 0;
    if (fstatat(dir, "log.jsonl", &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
        rc = add_run(r, dir, path, &st, err);
    DIR *d = depth < RUNS_DEPTH && !rc ? fdopendir(dir) : NULL;
    if (!d) {
        close(dir);
        return rc;
    }
    struct dirent *e;
    while (!rc && (e = readdir(d))) {
        if (++*entries > MOST_ENTRIES) {
            r->incomplete = 1;
            break;
        }
        if (!is_plain(e->d_name) || (e->d_type != DT_DIR && e->d_type != DT_UNKNOWN))
            continue;
        int below = openat(dir, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (below < 0)
            continue;
        char *name = file_join(path, e->d_name);
        if (name)
            rc = scan_folder(r, below, name, depth + 1, entries, err);
        else
            close(below);
        free(name);
    }
    closedir(d);
    return rc;
}

static int newer_first(const void *a, const void *b)
{
    const Run *x = a, *y = b;
    if (x->changed != y->changed)
        return x->changed < y->changed ? 1 : -1;
    return strcmp(x->name, y->name);
}

int runs_scan(Runs *r, Err *err)
{
    int entries = 0, rc;
    for (size_t i = 0; i < r->count; i++)
        r->runs[i].seen = 0;
    r->hidden = 0;
    r->incomplete = 0;
    int dir = openat(r->root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return err_set_errno(err, ERR_IO, "cannot read the folder of trainings, %s", r->folder);
    rc = scan_folder(r, dir, "", 0, &entries, err);
    size_t kept = 0;
    for (size_t i = 0; i < r->count; i++) {
        if (r->runs[i].seen)
            r->runs[kept++] = r->runs[i];
        else
            run_free(&r->runs[i]);
    }
    r->count = kept;
    if (kept)
        qsort(r->runs, kept, sizeof *r->runs, newer_first);
    r->scanned = clock_now();
    return rc;
}
