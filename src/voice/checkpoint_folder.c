/* checkpoint_folder.c - finding checkpoints in a folder, and the thread that writes them. */
#include "voice/checkpoint_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "base/thread.h"

#define SUFFIX ".safetensors"
#define BEST_NAME "best" SUFFIX
#define STEP_DIGITS 8
#define MOST_DIGITS 18    /* more do not fit into 63 bits */
#define OLD_SECONDS 86400 /* a temporary of this age is dead even if a process has its number again */
#define MOST_LOOKS 10     /* at a folder whose files vanish */

/* ---- names ---- */

/* The path of a file in a folder. */
static int join(char out[CHECKPOINT_PATH_SIZE], const char *dir, const char *name, Err *err)
{
    int n = snprintf(out, CHECKPOINT_PATH_SIZE, "%s/%s", dir, name);
    if (n < 0 || n >= CHECKPOINT_PATH_SIZE) {
        out[0] = 0;
        return err_set(err, ERR_DATA, "the path of the folder %.200s... is too long for a checkpoint", dir);
    }
    return 0;
}

/* The number in "step-00001000.safetensors", or -1. *end: what follows the suffix. */
static int64_t step_of(const char *name, const char **end)
{
    if (strncmp(name, "step-", 5) != 0)
        return -1;
    int64_t step = 0;
    int digits = 0;
    const char *p = name + 5;
    for (; *p >= '0' && *p <= '9' && digits < MOST_DIGITS; p++, digits++)
        step = step * 10 + (*p - '0');
    if (digits < STEP_DIGITS || strncmp(p, SUFFIX, sizeof SUFFIX - 1) != 0)
        return -1;
    *end = p + sizeof SUFFIX - 1;
    return step;
}

/* The process that writes, or wrote, the temporary file of this name; 0 when it is not one of ours. */
static long writer_of(const char *name)
{
    /* The pictures of the run are here too. */
    static const char *const others[] = {BEST_NAME, "loss.png", "alignment.png", "mel.png", "pitch.png"};
    const char *end = NULL;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strncmp(name, others[i], strlen(others[i])) == 0)
            end = name + strlen(others[i]);
    if (!end && step_of(name, &end) < 0)
        return 0;
    if (strncmp(end, ".tmp", 4) != 0 || end[4] < '1' || end[4] > '9')
        return 0;
    char *rest;
    long pid = strtol(end + 4, &rest, 10);
    return *rest ? 0 : pid;
}

typedef struct StepFile {
    int64_t step;
    char name[48];
} StepFile;

typedef struct StepList {
    StepFile *items; /* highest step first */
    size_t count, cap;
} StepList;

/* For qsort: the highest step first. */
static int compare_steps(const void *a, const void *b)
{
    const StepFile *x = a, *y = b;
    return x->step > y->step ? -1 : x->step < y->step ? 1 : strcmp(x->name, y->name);
}

/* All step files of a folder. The caller frees items. ERR_MISSING when there is no such folder. */
static int list_steps(StepList *list, const char *dir, Err *err)
{
    *list = (StepList){0};
    DIR *d = opendir(dir);
    if (!d)
        return err_set_errno(err, errno == ENOENT || errno == ENOTDIR ? ERR_MISSING : ERR_IO,
                             "cannot look into the folder %s", dir);
    int rc = 0;
    struct dirent *e;
    while (!rc) {
        /* Only errno tells the end of a folder from an error. */
        errno = 0;
        e = readdir(d);
        if (!e)
            break;
        const char *end;
        int64_t step = step_of(e->d_name, &end);
        if (step < 0 || *end)
            continue;
        rc = mem_grow(&list->items, &list->cap, list->count + 1, sizeof *list->items);
        if (rc) {
            err_set(err, rc, "no memory to list the folder %s", dir);
            break;
        }
        StepFile *f = &list->items[list->count++];
        f->step = step;
        snprintf(f->name, sizeof f->name, "%s", e->d_name);
    }
    if (!rc && errno)
        rc = err_set_errno(err, ERR_IO, "cannot read the folder %s", dir);
    closedir(d);
    if (rc) {
        free(list->items);
        *list = (StepList){0};
    } else if (list->count)
        qsort(list->items, list->count, sizeof *list->items, compare_steps);
    return rc;
}

/* ---- finding ---- */

/* Opening reads the whole file and its checksum. */
static int check_file(const char *path, Err *err)
{
    SafeTensors f;
    int rc = safetensors_open(&f, path, err);
    if (!rc)
        safetensors_close(&f);
    return rc;
}

static void warn_skipped(Log *log, const Err *e) { log_warn(log, "this checkpoint is skipped: %s", e->msg); }

/* One pass over the folder. *vanished: steps that a trainer removed while we looked. */
static int newest_valid(char path[CHECKPOINT_PATH_SIZE], int *vanished, const char *dir, Log *log, Err *err)
{
    StepList list;
    int rc = list_steps(&list, dir, err);
    if (rc)
        return rc;
    size_t bad = 0;
    Err reason = {0};
    *vanished = 0;
    rc = ERR_MISSING;
    for (size_t i = 0; i < list.count; i++) {
        Err e = {0};
        rc = join(path, dir, list.items[i].name, err);
        if (rc)
            break;
        rc = check_file(path, &e);
        if (rc == 0)
            break;
        /* Without memory nothing is known of the file: an older one must not be taken instead. */
        if (rc == ERR_NOMEM) {
            if (err)
                *err = e;
            break;
        }
        if (rc == ERR_MISSING)
            (*vanished)++;
        else {
            warn_skipped(log, &e);
            if (bad++ == 0)
                reason = e;
        }
        rc = ERR_MISSING;
    }
    free(list.items);
    if (rc)
        path[0] = 0;
    if (rc == ERR_MISSING && bad) {
        rc = err_set(err, ERR_DAMAGED, "none of the %zu checkpoints in %s can be used; the newest: %s", bad,
                     dir, reason.msg);
        err_hint(err, "bring back a copy, or start anew in another folder");
    } else if (rc == ERR_MISSING) {
        err_set(err, rc, "there is no checkpoint in %s", dir);
        err_hint(err, "a checkpoint is a file step-00001000" SUFFIX " (or another number) or " BEST_NAME);
    }
    return rc;
}

static int find_newest(char path[CHECKPOINT_PATH_SIZE], const char *dir, Log *log, Err *err)
{
    int rc = 0, vanished = 1;
    /* A trainer at work removes old files only after it has written a newer one: look again. */
    for (int looks = 0; looks < MOST_LOOKS && vanished; looks++) {
        vanished = 0;
        rc = newest_valid(path, &vanished, dir, log, err);
        if (!rc)
            break;
    }
    return rc;
}

/* The best one, or the newest where there is no usable best. */
static int find_in_folder(char path[CHECKPOINT_PATH_SIZE], const char *dir, Log *log, Err *err)
{
    Err e = {0};
    int rc = join(path, dir, BEST_NAME, err);
    if (rc)
        return rc;
    rc = check_file(path, &e);
    if (rc == 0)
        return 0;
    if (rc != ERR_MISSING)
        warn_skipped(log, &e);
    int found = find_newest(path, dir, log, err);
    /* There is one after all, and it is the damaged best. */
    if (found == ERR_MISSING && rc != ERR_MISSING) {
        if (err)
            *err = e;
        return rc;
    }
    return found;
}

/* A file that is found here has been opened and checked once. */
int checkpoint_find(char path[CHECKPOINT_PATH_SIZE], const char *what, const char *dir, Log *log, Err *err)
{
    path[0] = 0;
    dir = dir && dir[0] ? dir : ".";
    if (!what || strcmp(what, "auto") == 0)
        return find_newest(path, dir, log, err);
    struct stat st;
    int rc;
    if (strcmp(what, "best") == 0) {
        rc = join(path, dir, BEST_NAME, err);
    } else if (stat(what, &st) == 0 && S_ISDIR(st.st_mode)) {
        return find_in_folder(path, what, log, err);
    } else {
        int n = snprintf(path, CHECKPOINT_PATH_SIZE, "%s", what);
        rc = n >= CHECKPOINT_PATH_SIZE ? err_set(err, ERR_DATA, "the path %.200s... is too long", what) : 0;
    }
    if (!rc)
        rc = check_file(path, err);
    if (rc)
        path[0] = 0;
    if (rc == ERR_MISSING)
        err_hint(err,
                 "a checkpoint is named by auto, best, a file, or a folder that holds step-00001000" SUFFIX
                 " or " BEST_NAME);
    return rc;
}

/* ---- writing ---- */

typedef struct Job {
    int64_t step;
    int is_best, n_meta, n;
    MetaEntry *meta;
    TensorView *tensors;
    Block block; /* names and texts */
} Job;

/* state: IDLE -submit-> READY -thread-> BUSY -thread-> IDLE. The job belongs to the owner while IDLE, to the
 * thread otherwise; state, stop, result and good are under the mutex. */
struct CheckpointWriter {
    char *dir;
    int lock_plus1; /* the folder, held for this writer */
    int keep;
    Log *log;
    Thread thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    enum { IDLE, READY, BUSY } state;
    int stop, result;
    Job job;
    int warned_of_later;              /* the thread's */
    char good[CHECKPOINT_PATH_SIZE];  /* the last one written */
    char shown[CHECKPOINT_PATH_SIZE]; /* the owner's copy of it */
};

/* The best one is a second name of the step's file: it costs nothing and outlives the first name. */
static int make_best(CheckpointWriter *w, const char *step_path, Err *err)
{
    char best[CHECKPOINT_PATH_SIZE], tmp[CHECKPOINT_PATH_SIZE + 32];
    int rc = join(best, w->dir, BEST_NAME, err);
    if (rc)
        return rc;
    snprintf(tmp, sizeof tmp, "%s.tmp%ld", best, (long)getpid());
    unlink(tmp);
    /* Some file systems have no hard links: then it is written a second time. */
    if (link(step_path, tmp))
        return safetensors_write(best, w->job.meta, w->job.n_meta, w->job.tensors, w->job.n, err);
    if (rename(tmp, best))
        rc = err_set_errno(err, ERR_IO, "cannot rename %s to %s", tmp, best);
    /* Still there after a failure, and when both were names of one file already. */
    unlink(tmp);
    return rc ? rc : file_sync_dir_of(best, err);
}

/* After a step was written. What cannot be removed now is tried again the next time. */
static void prune(CheckpointWriter *w, int64_t written)
{
    StepList list;
    Err err = {0};
    int kept = 0;
    if (list_steps(&list, w->dir, &err)) {
        log_warn(w->log, "old checkpoints are not removed: %s", err.msg);
        return;
    }
    for (size_t i = 0; i < list.count; i++) {
        const StepFile *f = &list.items[i];
        char path[CHECKPOINT_PATH_SIZE];
        /* Never a step of a run that was further. */
        if (f->step > written) {
            if (!w->warned_of_later)
                log_warn(w->log,
                         "%s holds %s, from a run that was further than step %lld; it stays, and resuming "
                         "takes it",
                         w->dir, f->name, (long long)written);
            w->warned_of_later = 1;
        } else if (w->keep > 0 && kept++ >= w->keep && join(path, w->dir, f->name, NULL) == 0 &&
                   unlink(path) && errno != ENOENT)
            log_warn(w->log, "cannot remove the old checkpoint %s: %s", path, strerror(errno));
    }
    free(list.items);
}

/* Training goes on without this checkpoint; the user learns which one there still is. */
static void report_failure(CheckpointWriter *w, const Err *e, const char *good)
{
    char found[CHECKPOINT_PATH_SIZE] = "", rest[CHECKPOINT_PATH_SIZE + 32];
    if (!good[0] && checkpoint_find(found, "auto", w->dir, NULL, NULL) == 0)
        good = found;
    if (good[0])
        snprintf(rest, sizeof rest, "the last good one is %s", good);
    else
        snprintf(rest, sizeof rest, "there is no good one yet");
    log_error(w->log, "checkpoint at step %lld was not written: %s; training goes on, %s%s%s",
              (long long)w->job.step, e->msg, rest, e->hint[0] ? "\n  hint: " : "", e->hint);
}

/* In the thread, without the mutex: the job is ours. good: in, the last good file; out, the new one. */
static int run_job(CheckpointWriter *w, char good[CHECKPOINT_PATH_SIZE])
{
    const Job *job = &w->job;
    char path[CHECKPOINT_PATH_SIZE], name[48];
    Err err = {0};
    snprintf(name, sizeof name, "step-%0*lld" SUFFIX, STEP_DIGITS, (long long)job->step);
    int rc = join(path, w->dir, name, &err);
    if (!rc)
        rc = safetensors_write(path, job->meta, job->n_meta, job->tensors, job->n, &err);
    if (rc) {
        report_failure(w, &err, good);
        return rc;
    }
    memcpy(good, path, sizeof path);
    if (job->is_best)
        rc = make_best(w, path, &err);
    if (rc)
        log_error(w->log,
                  "checkpoint at step %lld was written, but not as the best one: %s; training goes on",
                  (long long)job->step, err.msg);
    prune(w, job->step);
    return rc;
}

/* Waits for a job, does it without the lock, leaves its result. A stop is obeyed when no job waits. */
static void *writer_thread(void *arg)
{
    CheckpointWriter *w = arg;
    char good[CHECKPOINT_PATH_SIZE] = "";
    pthread_mutex_lock(&w->mutex);
    for (;;) {
        while (w->state != READY && !w->stop)
            pthread_cond_wait(&w->changed, &w->mutex);
        if (w->state != READY)
            break;
        w->state = BUSY;
        pthread_mutex_unlock(&w->mutex);
        int rc = run_job(w, good);
        pthread_mutex_lock(&w->mutex);
        memcpy(w->good, good, sizeof good);
        w->result = rc;
        w->state = IDLE;
        pthread_cond_broadcast(&w->changed);
    }
    pthread_mutex_unlock(&w->mutex);
    return NULL;
}

/* A kill leaves the file that was being written. The number of its process may be in use again, in a
 * container even by us. */
static void remove_leftovers(CheckpointWriter *w)
{
    DIR *d = opendir(w->dir);
    struct dirent *e;
    while (d && (e = readdir(d))) {
        long pid = writer_of(e->d_name);
        char path[CHECKPOINT_PATH_SIZE];
        struct stat st;
        if (!pid || join(path, w->dir, e->d_name, NULL) || lstat(path, &st) || !S_ISREG(st.st_mode))
            continue;
        int dead = pid == (long)getpid() || (kill((pid_t)pid, 0) && errno == ESRCH) ||
                   st.st_mtime + OLD_SECONDS < time(NULL);
        if (dead && unlink(path) == 0)
            log_info(w->log, "removed %s, left by a run that was killed", path);
    }
    if (d)
        closedir(d);
}

/* The lock goes when the process does, however it ends. A file system without locks is used without. */
static int lock_folder(CheckpointWriter *w, Err *err)
{
    int fd = open(w->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    w->lock_plus1 = fd + 1;
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
        return 0;
    err_set(err, ERR_USAGE, "another run is writing its checkpoints to %s", w->dir);
    return err_hint(err, "wait for it, stop it, or name another --checkpoint-dir");
}

/* The lock comes before the tidying: leftovers of a run that is alive are not removed. */
int checkpoint_writer_open(CheckpointWriter **out, const char *dir, int keep, Log *log, Err *err)
{
    *out = NULL;
    CheckpointWriter *w = mem_calloc(1, sizeof *w);
    int rc = 0;
    if (!w)
        return err_set(err, ERR_NOMEM, "no memory for the writer of checkpoints");
    pthread_mutex_init(&w->mutex, NULL);
    pthread_cond_init(&w->changed, NULL);
    w->keep = keep;
    w->log = log;
    w->dir = strdup(dir && dir[0] ? dir : ".");
    if (!w->dir) {
        rc = err_set(err, ERR_NOMEM, "no memory for the writer of checkpoints");
        goto fail;
    }
    rc = file_make_dirs(w->dir, err);
    if (!rc)
        rc = lock_folder(w, err);
    if (rc)
        goto fail;
    remove_leftovers(w);
    /* Permissions may be mended while the run goes on. */
    if (access(w->dir, W_OK | X_OK))
        log_warn(log, "the folder %s cannot be written to (%s): no checkpoint will be saved", w->dir,
                 strerror(errno));
    rc = thread_start(&w->thread, "checkpoint", writer_thread, w, err);
    if (rc)
        goto fail;
    *out = w;
    return 0;
fail:
    checkpoint_writer_close(w);
    return rc;
}

/* Returns with the mutex held and the thread idle. */
static void lock_idle(CheckpointWriter *w)
{
    pthread_mutex_lock(&w->mutex);
    while (w->state != IDLE)
        pthread_cond_wait(&w->changed, &w->mutex);
}

int checkpoint_writer_wait(CheckpointWriter *w)
{
    lock_idle(w);
    int rc = w->result;
    pthread_mutex_unlock(&w->mutex);
    return rc;
}

/* Failures are gathered, and asked for once. */
static const char *copy_text(Block *b, const char *s, int *failed)
{
    const char *copy = block_strndup(b, s ? s : "", s ? strlen(s) : 0);
    *failed |= !copy;
    return copy;
}

int checkpoint_writer_submit(CheckpointWriter *w, int64_t step, int is_best, const MetaEntry *meta,
                             int n_meta, const TensorView *t, int n, Err *err)
{
    ASSERT_CMP(step, >=, 0);
    ASSERT(n_meta >= 0 && n >= 0);
    /* The thread touches the job only once it is READY: it is ours to fill without the lock. */
    lock_idle(w);
    pthread_mutex_unlock(&w->mutex);
    Job *job = &w->job;
    int failed = 0;
    block_free(&job->block);
    *job = (Job){.step = step, .is_best = is_best, .n_meta = n_meta, .n = n};
    job->meta = block_alloc(&job->block, ((size_t)n_meta + 1) * sizeof *meta, sizeof(void *));
    job->tensors = block_alloc(&job->block, ((size_t)n + 1) * sizeof *t, sizeof(void *));
    if (!job->meta || !job->tensors)
        return err_set(err, ERR_NOMEM, "no memory for the checkpoint at step %lld", (long long)step);
    for (int i = 0; i < n_meta; i++)
        job->meta[i] = (MetaEntry){copy_text(&job->block, meta[i].key, &failed),
                                   copy_text(&job->block, meta[i].value, &failed)};
    for (int i = 0; i < n; i++) {
        job->tensors[i] = t[i];
        job->tensors[i].name = copy_text(&job->block, t[i].name, &failed);
        job->tensors[i].dtype = copy_text(&job->block, t[i].dtype, &failed);
    }
    if (failed)
        return err_set(err, ERR_NOMEM, "no memory for the checkpoint at step %lld", (long long)step);
    pthread_mutex_lock(&w->mutex);
    w->state = READY;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->mutex);
    return 0;
}

/* Before the first job the folder is asked, so that a message can name what an earlier run left. */
const char *checkpoint_writer_last_good(CheckpointWriter *w)
{
    pthread_mutex_lock(&w->mutex);
    memcpy(w->shown, w->good, sizeof w->good);
    pthread_mutex_unlock(&w->mutex);
    if (!w->shown[0])
        checkpoint_find(w->shown, "auto", w->dir, NULL, NULL);
    return w->shown;
}

/* Waits for the job under way: a checkpoint that was handed over is written. */
void checkpoint_writer_close(CheckpointWriter *w)
{
    if (!w)
        return;
    if (w->thread.running) {
        lock_idle(w);
        w->stop = 1;
        pthread_cond_broadcast(&w->changed);
        pthread_mutex_unlock(&w->mutex);
    }
    thread_join(&w->thread);
    pthread_mutex_destroy(&w->mutex);
    pthread_cond_destroy(&w->changed);
    block_free(&w->job.block);
    if (w->lock_plus1)
        close(w->lock_plus1 - 1);
    free(w->dir);
    free(w);
}
