/* checkpoint_writer.c - the thread that writes checkpoints, and what it keeps of the old ones. */
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
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "base/thread.h"
#include "voice/checkpoint_aside.h"
#include "voice/checkpoint_folder_private.h"

#define OLD_SECONDS 86400  /* a temporary of this age is dead even if a process has its number again */
#define HEADER_ROOM 0x4000 /* bytes of a file besides its tensors and texts; more than enough */

/* ---- the writer ---- */

typedef struct Job {
    int64_t step;
    int is_best, n_meta, n;
    MetaEntry *meta;
    TensorView *tensors;
    Block block; /* names and texts */
} Job;

/* state: IDLE -submit-> READY -thread-> BUSY -thread-> IDLE. The job belongs to the owner while IDLE, to the
 * thread otherwise; state, stop, result, good and confirmed are under the mutex. */
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
    int outlives;                     /* a separate process writes the next job; as is_last */
    int is_last;                      /* nothing comes after the next job; the owner's, as the job is */
    int64_t confirmed;                /* step whose weights are known to be good; -1: none */
    int warned_of_later;              /* the thread's */
    char good[CHECKPOINT_PATH_SIZE];  /* the last one written */
    char shown[CHECKPOINT_PATH_SIZE]; /* the owner's copy of it */
};

/* A second name for a file: it costs nothing and outlives the first one. ERR_CONFIG: the file is not there,
 * or the file system has no hard links. */
static int second_name(const char *path, const char *file, Err *err)
{
    char tmp[CHECKPOINT_PATH_SIZE + 32];
    int rc = 0;
    snprintf(tmp, sizeof tmp, "%s.tmp%ld", path, (long)getpid());
    unlink(tmp);
    if (link(file, tmp))
        return err_set_errno(err, ERR_CONFIG, "cannot link %s to %s", path, file);
    if (rename(tmp, path))
        rc = err_set_errno(err, ERR_IO, "cannot rename %s to %s", tmp, path);
    /* Still there after a failure, and when both were names of one file already. */
    unlink(tmp);
    return rc ? rc : file_sync_dir_of(path, err);
}

/* The same for names in the folder. */
static int second_name_of(const CheckpointWriter *w, const char *name, const char *file_name, Err *err)
{
    char path[CHECKPOINT_PATH_SIZE], file[CHECKPOINT_PATH_SIZE];
    int rc = folder_join(path, w->dir, name, err);
    if (!rc)
        rc = folder_join(file, w->dir, file_name, err);
    return rc ? rc : second_name(path, file, err);
}

/* The best one is a second name of the step's file. Without hard links it is written a second time. */
static int make_best(CheckpointWriter *w, const char *step_path, Err *err)
{
    char best[CHECKPOINT_PATH_SIZE];
    int rc = folder_join(best, w->dir, BEST_NAME, err);
    if (!rc)
        rc = second_name(best, step_path, err);
    if (rc == ERR_CONFIG) {
        err_clear(err);
        rc = safetensors_write(best, w->job.meta, w->job.n_meta, w->job.tensors, w->job.n, err);
    }
    return rc;
}

static void step_name(char name[48], int64_t step)
{
    snprintf(name, 48, "step-%0*lld" SUFFIX, STEP_DIGITS, (long long)step);
}

/* ---- old checkpoints ---- */

static int64_t confirmed_step(CheckpointWriter *w)
{
    pthread_mutex_lock(&w->mutex);
    int64_t step = w->confirmed;
    pthread_mutex_unlock(&w->mutex);
    return step;
}

/* The newest file whose weights are known to be good; it is kept whatever else is removed. -1: there is
 * none. */
static int64_t protected_step(CheckpointWriter *w, const StepList *list)
{
    int64_t confirmed = confirmed_step(w);
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].step <= confirmed)
            return list->items[i].step;
    return -1;
}

/* 1: it is gone. */
static int remove_step(CheckpointWriter *w, const StepFile *f)
{
    char path[CHECKPOINT_PATH_SIZE];
    if (folder_join(path, w->dir, f->name, NULL))
        return 0;
    if (unlink(path) == 0)
        return 1;
    if (errno != ENOENT)
        log_warn(w->log, "cannot remove the old checkpoint %s: %s", path, strerror(errno));
    return 0;
}

/* Never a step of a run that was further. */
static void warn_of_later(CheckpointWriter *w, const StepFile *f, int64_t written)
{
    if (!w->warned_of_later)
        log_warn(
            w->log,
            "%s has %s, from a run that got further than step %lld; it is kept, and resuming will use it",
            w->dir, f->name, (long long)written);
    w->warned_of_later = 1;
}

/* Keeps the newest `keep`, and the one that is known to be good. What cannot be removed now is tried again
 * the next time. */
static void prune(CheckpointWriter *w, int64_t written)
{
    StepList list;
    Err err = {0};
    int kept = 0;
    if (folder_list_steps(&list, w->dir, &err)) {
        log_warn(w->log, "cannot remove old checkpoints: %s", err.msg);
        return;
    }
    int64_t stays = protected_step(w, &list);
    for (size_t i = 0; i < list.count; i++) {
        const StepFile *f = &list.items[i];
        if (f->step > written)
            warn_of_later(w, f, written);
        else if (w->keep > 0 && kept++ >= w->keep && f->step != stays)
            remove_step(w, f);
    }
    free(list.items);
}

/* ---- room on the disk ---- */

/* What a file of this size leaves free; negative: so much is missing. A disk that does not tell is large. */
static int64_t room_after(const CheckpointWriter *w, uint64_t bytes)
{
    struct statvfs st;
    if (statvfs(w->dir, &st))
        return 0;
    return (int64_t)((uint64_t)st.f_bavail * st.f_frsize) - (int64_t)bytes;
}

/* 1: it is gone. */
static int remove_previous_best(CheckpointWriter *w)
{
    char path[CHECKPOINT_PATH_SIZE];
    return !folder_join(path, w->dir, PREVIOUS_NAME, NULL) && unlink(path) == 0;
}

/* Removes the oldest step up to `most`, but for the one that is known to be good or, where none is, the
 * newest. 1: one is gone. */
static int remove_oldest(CheckpointWriter *w, int64_t most)
{
    StepList list;
    if (folder_list_steps(&list, w->dir, NULL))
        return 0;
    int64_t stays = protected_step(w, &list);
    size_t newest = 0;
    int gone = 0;
    while (newest < list.count && list.items[newest].step > most)
        newest++;
    if (stays < 0 && newest < list.count)
        stays = list.items[newest].step;
    for (size_t i = list.count; i > newest && !gone; i--) {
        const StepFile *f = &list.items[i - 1];
        gone = f->step != stays && remove_step(w, f);
        if (gone)
            log_warn(w->log, "the disk is full: removed %s to make room", f->name);
    }
    free(list.items);
    return gone;
}

/* 1: the best is a whole checkpoint, and another file than `path`. */
static int has_other_best(const CheckpointWriter *w, const char *path)
{
    char best[CHECKPOINT_PATH_SIZE];
    SafeTensors f;
    struct stat a, b;
    if (folder_join(best, w->dir, BEST_NAME, NULL) || stat(best, &a) || stat(path, &b) ||
        a.st_ino == b.st_ino || safetensors_open(&f, best, NULL))
        return 0;
    safetensors_close(&f);
    return 1;
}

/* The only step there is, up to `most`, where its room would be enough: 1. */
static int find_only(const CheckpointWriter *w, char path[CHECKPOINT_PATH_SIZE], StepFile *only, int64_t most,
                     uint64_t bytes)
{
    StepList list;
    struct stat st;
    if (folder_list_steps(&list, w->dir, NULL))
        return 0;
    const int64_t left = room_after(w, bytes);
    const int one = list.count == 1 && list.items[0].step <= most &&
                    !folder_join(path, w->dir, list.items[0].name, NULL) && !stat(path, &st) && left < 0 &&
                    left + st.st_size >= 0;
    if (one)
        *only = list.items[0];
    free(list.items);
    return one;
}

/* The newest step may go when the best is a good checkpoint beside it. 1: it is gone. */
static int remove_newest(CheckpointWriter *w, int64_t most, uint64_t bytes)
{
    char path[CHECKPOINT_PATH_SIZE];
    StepFile only;
    if (!find_only(w, path, &only, most, bytes) || !has_other_best(w, path) || !remove_step(w, &only))
        return 0;
    log_warn(w->log, "the disk is full: removed %s to make room", only.name);
    return 1;
}

static double megabytes(double bytes) { return bytes * 1e-6; }

int checkpoint_writer_room(CheckpointWriter *w, int64_t step, uint64_t bytes, Err *err)
{
    while (room_after(w, bytes) < 0 && remove_oldest(w, step))
        ;
    int64_t left = room_after(w, bytes);
    if (left >= 0)
        return 0;
    err_set(err, ERR_NOSPACE, "a checkpoint takes %.1f MB, but %s has only %.1f MB left: %.1f MB are missing",
            megabytes((double)bytes), w->dir, megabytes((double)bytes + (double)left),
            megabytes(-(double)left));
    return err_hint(err, "free some space, or name a folder on another disk with --checkpoint-dir");
}

/* ---- writing ---- */

/* Of the file; a little more than it will be. */
uint64_t checkpoint_file_bytes(const MetaEntry *meta, int n_meta, const TensorView *t, int n)
{
    enum { DESCRIPTION = 160 }; /* of a tensor, besides its name */
    uint64_t bytes = HEADER_ROOM;
    for (int i = 0; i < n; i++)
        bytes += t[i].bytes + strlen(t[i].name) + DESCRIPTION;
    for (int i = 0; i < n_meta; i++)
        bytes += strlen(meta[i].key) + 2 * strlen(meta[i].value);
    return bytes;
}

/* Training continues without this checkpoint; the message says which one remains. */
static void report_failure(CheckpointWriter *w, const Err *e, const char *good)
{
    char found[CHECKPOINT_PATH_SIZE] = "", rest[CHECKPOINT_PATH_SIZE + 32];
    if (!good[0] && checkpoint_find(found, "auto", w->dir, NULL, NULL) == 0)
        good = found;
    if (good[0])
        snprintf(rest, sizeof rest, "the last good checkpoint is %s", good);
    else
        snprintf(rest, sizeof rest, "there is no good checkpoint yet");
    log_error(w->log, "checkpoint at step %lld was not written: %s; training continues, %s%s%s",
              (long long)w->job.step, e->msg, rest, e->hint[0] ? "\n  hint: " : "", e->hint);
}

/* The lock goes when the process does, however it ends. A file system without locks is used without. */
static int lock_folder(CheckpointWriter *w, Err *err)
{
    int fd = open(w->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    w->lock_plus1 = fd + 1;
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
        return 0;
    err_set(err, ERR_USAGE, "another run is writing checkpoints to %s", w->dir);
    return err_hint(err, "wait for it, stop it, or name another --checkpoint-dir");
}

/* A folder that was moved or removed is made again: what was learned since must not be lost for it. */
static void find_folder(CheckpointWriter *w)
{
    char link[48], now[CHECKPOINT_PATH_SIZE];
    Err err = {0};
    if (access(w->dir, F_OK) == 0 || errno != ENOENT || file_make_dirs(w->dir, &err))
        return;
    snprintf(link, sizeof link, "/proc/self/fd/%d", w->lock_plus1 - 1);
    const ssize_t n = w->lock_plus1 ? readlink(link, now, sizeof now - 1) : -1;
    now[n > 0 ? n : 0] = 0;
    const int moved = n > 0 && now[0] == '/' && access(now, F_OK) == 0;
    if (moved)
        log_warn(w->log,
                 "the folder %s was moved to %s: checkpoints go to a new folder with the old name, the log "
                 "stays in the moved one",
                 w->dir, now);
    else
        log_warn(w->log, "the folder %s is gone: checkpoints go to a new folder with that name", w->dir);
    if (w->lock_plus1)
        close(w->lock_plus1 - 1);
    if (lock_folder(w, &err))
        log_warn(w->log, "%s", err.msg);
}

/* The last resort: the end of a run is worth more than the only checkpoint that it has. That one is gone when
 * the new one is there, and not before. A file with a second name would free nothing. */
static int write_instead(CheckpointWriter *w, const char *path, uint64_t bytes, Err *err)
{
    const Job *job = &w->job;
    char old[CHECKPOINT_PATH_SIZE];
    struct stat st;
    StepFile only;
    Aside aside = {0};
    Err why = {0};
    if (!find_only(w, old, &only, job->step - 1, bytes) || stat(old, &st) || st.st_nlink != 1)
        return ERR_NOSPACE;
    if (aside_put(&aside, old, &why)) {
        log_warn(w->log, "the disk is full, and %s is kept: %s", only.name, why.msg);
        return ERR_NOSPACE;
    }
    log_info(w->log, "the disk is full: while step %lld is written, %s waits in %s", (long long)job->step,
             only.name, aside.copy);
    int rc = safetensors_write(path, job->meta, job->n_meta, job->tensors, job->n, err);
    if (!rc) {
        aside_drop(&aside);
        log_warn(w->log, "the disk is full: removed %s to make room", only.name);
    } else if (aside_bring_back(&aside, &why)) {
        log_error(w->log, "%s is now in %s and stays there: %s", only.name, aside.copy, why.msg);
    }
    return rc;
}

/* The step's file. A full disk costs older ones first. */
static int write_step(CheckpointWriter *w, const char *path, Err *err)
{
    const Job *job = &w->job;
    uint64_t bytes = checkpoint_file_bytes(job->meta, job->n_meta, job->tensors, job->n);
    int rc;
    do
        rc = safetensors_write(path, job->meta, job->n_meta, job->tensors, job->n, err);
    while (rc == ERR_NOSPACE && (remove_previous_best(w) || remove_oldest(w, job->step - 1) ||
                                 remove_newest(w, job->step - 1, bytes)));
    if (rc == ERR_NOSPACE && w->is_last)
        rc = write_instead(w, path, bytes, err);
    int64_t left = room_after(w, bytes);
    if (rc == ERR_NOSPACE && left < 0)
        err_hint(err,
                 "free some space, or put the checkpoints on another disk; a checkpoint takes %.1f MB, and "
                 "%.1f MB are missing",
                 megabytes((double)bytes), megabytes(-(double)left));
    return rc;
}

/* In the thread, without the mutex: the job is ours. good: in, the last good file; out, the new one. */
static int run_job(CheckpointWriter *w, char good[CHECKPOINT_PATH_SIZE])
{
    const Job *job = &w->job;
    char path[CHECKPOINT_PATH_SIZE], name[48];
    Err err = {0};
    step_name(name, job->step);
    find_folder(w);
    /* A checkpoint that was kept only because the newer ones were not known to be good can be removed now. */
    prune(w, job->step);
    int rc = folder_join(path, w->dir, name, &err);
    if (!rc)
        rc = write_step(w, path, &err);
    if (rc) {
        report_failure(w, &err, good);
        return rc;
    }
    memcpy(good, path, sizeof path);
    if (job->is_best)
        rc = make_best(w, path, &err);
    if (rc)
        log_error(w->log,
                  "checkpoint at step %lld was written, but not as the best one: %s; training continues",
                  (long long)job->step, err.msg);
    prune(w, job->step);
    return rc;
}

/* The numbers may be in memory that a forked process does not have, such as memory pinned for a GPU. */
static int copy_tensors(Job *job)
{
    for (int i = 0; i < job->n; i++) {
        void *copy = job->tensors[i].bytes ? block_alloc(&job->block, job->tensors[i].bytes, 16) : NULL;
        if (!copy && job->tensors[i].bytes)
            return ERR_NOMEM;
        if (copy)
            memcpy(copy, job->tensors[i].data, job->tensors[i].bytes);
        job->tensors[i].data = copy;
    }
    return 0;
}

/* In a detached process, in a separate session: it ends its work when this one is killed. */
static int run_job_apart(CheckpointWriter *w, char good[CHECKPOINT_PATH_SIZE])
{
    char name[48];
    int status;
    const pid_t child = copy_tensors(&w->job) ? -1 : fork();
    if (child < 0)
        return run_job(w, good);
    if (child == 0) {
        setsid();
        signal(SIGINT, SIG_IGN);
        signal(SIGTERM, SIG_IGN);
        signal(SIGHUP, SIG_IGN);
        signal(SIGPIPE, SIG_IGN);
        _exit(-run_job(w, good));
    }
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return ERR_WORKER;
    if (!WIFEXITED(status))
        return ERR_WORKER;
    step_name(name, w->job.step);
    return WEXITSTATUS(status) ? -WEXITSTATUS(status) : folder_join(good, w->dir, name, NULL);
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
        int rc = w->outlives ? run_job_apart(w, good) : run_job(w, good);
        pthread_mutex_lock(&w->mutex);
        memcpy(w->good, good, sizeof good);
        w->result = rc;
        w->state = IDLE;
        pthread_cond_broadcast(&w->changed);
    }
    pthread_mutex_unlock(&w->mutex);
    return NULL;
}

/* The process that writes, or wrote, the temporary file of this name; 0 when it is not one of ours. */
static long writer_of(const char *name)
{
    /* The pictures of the run are here too. */
    static const char *const others[] = {BEST_NAME,       PREVIOUS_NAME, BEST_NOTE,  "loss.png",
                                         "alignment.png", "mel.png",     "pitch.png"};
    const char *end = NULL;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strncmp(name, others[i], strlen(others[i])) == 0)
            end = name + strlen(others[i]);
    if (!end && folder_step_of(name, &end) < 0)
        return 0;
    if (strncmp(end, ".tmp", 4) != 0 || end[4] < '1' || end[4] > '9')
        return 0;
    char *rest;
    long pid = strtol(end + 4, &rest, 10);
    return *rest ? 0 : pid;
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
        if (!pid || folder_join(path, w->dir, e->d_name, NULL) || lstat(path, &st) || !S_ISREG(st.st_mode))
            continue;
        int dead = pid == (long)getpid() || (kill((pid_t)pid, 0) && errno == ESRCH) ||
                   st.st_mtime + OLD_SECONDS < time(NULL);
        if (dead && unlink(path) == 0)
            log_info(w->log, "removed %s, left by a run that was killed", path);
    }
    if (d)
        closedir(d);
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
    w->confirmed = -1;
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
    remove_previous_best(w); /* what the previous run spoke will not be judged any more */
    /* Permissions may be repaired while the run continues. */
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

int checkpoint_writer_keep_best(CheckpointWriter *w, Err *err)
{
    checkpoint_writer_wait(w);
    return second_name_of(w, PREVIOUS_NAME, BEST_NAME, err);
}

int checkpoint_writer_return_best(CheckpointWriter *w, Err *err)
{
    checkpoint_writer_wait(w);
    int rc = second_name_of(w, BEST_NAME, PREVIOUS_NAME, err);
    if (!rc)
        remove_previous_best(w);
    return rc;
}

int checkpoint_writer_choose_best(CheckpointWriter *w, int64_t step, Err *err)
{
    char name[48];
    step_name(name, step);
    checkpoint_writer_wait(w);
    return second_name_of(w, BEST_NAME, name, err);
}

void checkpoint_writer_drop_previous(CheckpointWriter *w)
{
    checkpoint_writer_wait(w);
    remove_previous_best(w);
}

void checkpoint_writer_end(CheckpointWriter *w)
{
    lock_idle(w);
    w->is_last = 1;
    pthread_mutex_unlock(&w->mutex);
}

void checkpoint_writer_outlive(CheckpointWriter *w)
{
    lock_idle(w);
    w->outlives = 1;
    pthread_mutex_unlock(&w->mutex);
}

void checkpoint_writer_confirm(CheckpointWriter *w, int64_t step)
{
    pthread_mutex_lock(&w->mutex);
    if (step > w->confirmed)
        w->confirmed = step;
    pthread_mutex_unlock(&w->mutex);
}

/* The newest becomes DIVERGED_NAME, for those who want to look at it; the others hold nothing more. */
void checkpoint_writer_abandon(CheckpointWriter *w, int64_t from, int64_t to)
{
    StepList list;
    Err err = {0};
    char path[CHECKPOINT_PATH_SIZE], aside[CHECKPOINT_PATH_SIZE];
    lock_idle(w);
    if (w->confirmed >= 0)
        from = w->confirmed + 1;
    w->good[0] = 0;
    pthread_mutex_unlock(&w->mutex);
    if (folder_list_steps(&list, w->dir, &err)) {
        log_warn(w->log, "%s", err.msg);
        return;
    }
    int moved = 0;
    for (size_t i = 0; i < list.count; i++) {
        const StepFile *f = &list.items[i];
        if (f->step > to || f->step < from)
            continue;
        if (moved)
            remove_step(w, f);
        else if (!folder_join(path, w->dir, f->name, NULL) &&
                 !folder_join(aside, w->dir, DIVERGED_NAME, NULL) && !rename(path, aside)) {
            moved = 1;
            log_warn(w->log, "%s was renamed to %s: its weights have diverged", f->name, aside);
        }
    }
    free(list.items);
    if (moved && file_sync_dir_of(aside, &err))
        log_warn(w->log, "%s", err.msg);
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
