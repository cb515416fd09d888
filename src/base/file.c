/* file.c - see file.h. */
#include "base/file.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/drafts.h"
#include "base/file_guard.h"

#define READ_SIZE (1 << 16) /* bytes */

/* ---- reading ---- */

/* A regular file, and how long it is. O_NONBLOCK, because opening a named pipe would otherwise wait for a
 * writer; it is refused below. Returns the descriptor or a code. */
static int open_regular(const char *path, size_t *size, Err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return err_set_errno(err, errno == ENOENT ? ERR_MISSING : ERR_IO, "cannot open %s", path);
    struct stat st;
    int rc = 0;
    if (fstat(fd, &st))
        rc = err_set_errno(err, ERR_IO, "cannot read %s", path);
    else if (!S_ISREG(st.st_mode))
        rc = err_set(err, ERR_FORMAT, "%s is not a regular file", path);
    if (rc) {
        close(fd);
        return rc;
    }
    *size = (size_t)st.st_size;
    return fd;
}

int file_map(FileMap *m, const char *path, Err *err)
{
    size_t size;
    *m = (FileMap){0};
    int fd = open_regular(path, &size, err), rc = fd < 0 ? fd : 0;
    if (!rc && size > 0) {
        void *p = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
        if (p == MAP_FAILED)
            rc = err_set_errno(err, ERR_IO, "cannot map %s (%zu bytes)", path, size);
        else
            *m = (FileMap){p, size, file_guard_add(p, size)};
    }
    if (fd >= 0)
        close(fd);
    return rc;
}

uint64_t file_lost(const FileMap *m) { return file_guard_lost(m->guard); }

/* Separate pages, so that file_unmap can free both. */
int file_load(FileMap *m, const char *path, Err *err)
{
    size_t size;
    *m = (FileMap){0};
    int fd = open_regular(path, &size, err), rc = fd < 0 ? fd : 0;
    if (!rc && size > 0) {
        void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED)
            rc = err_set_errno(err, ERR_IO, "no memory for %s (%zu bytes)", path, size);
        else
            *m = (FileMap){p, size, 0};
        if (!rc)
            rc = file_pread_all(fd, p, size, 0, path, err);
        if (rc)
            file_unmap(m);
    }
    if (fd >= 0)
        close(fd);
    return rc;
}

void file_unmap(FileMap *m)
{
    file_guard_remove(m->guard);
    if (m->data)
        munmap((void *)(uintptr_t)m->data, m->size);
    *m = (FileMap){0};
}

/* The mapping stays valid; only its pages in memory are dropped. */
void file_forget(const FileMap *m)
{
    if (m->data)
        madvise((void *)(uintptr_t)m->data, m->size, MADV_DONTNEED);
}

/* Reads in pieces instead of st_size bytes at once: the file may be growing, or have no size (/proc). */
int file_read(Buf *out, const char *path, size_t limit, Err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_set_errno(err, errno == ENOENT ? ERR_MISSING : ERR_IO, "cannot open %s", path);
    int rc = file_read_fd(out, fd, path, limit, err);
    close(fd);
    return rc;
}

int file_read_fd(Buf *out, int fd, const char *path, size_t limit, Err *err)
{
    char piece[READ_SIZE];
    size_t total = 0;
    int rc = 0;
    for (;;) {
        ssize_t n = read(fd, piece, sizeof piece);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            rc = err_set_errno(err, ERR_IO, "cannot read %s", path);
            break;
        }
        if (n == 0)
            break;
        total += (size_t)n;
        if (total > limit) {
            rc = err_set(err, ERR_FORMAT, "%s is larger than %zu bytes", path, limit);
            break;
        }
        buf_add(out, piece, (size_t)n);
        if (out->failed) {
            rc = err_set(err, ERR_NOMEM, "no memory to read %s", path);
            break;
        }
    }
    return rc;
}

int file_open_lines(FILE **f, const char *path, Err *err)
{
    int own = strcmp(path, "-") != 0;
    struct stat st;
    *f = own ? fopen(path, "re") : stdin;
    if (!*f)
        return err_set_errno(err, errno == ENOENT ? ERR_MISSING : ERR_IO, "cannot open %s", path);
    int is_stream = fstat(fileno(*f), &st) == 0 && !S_ISDIR(st.st_mode) && !S_ISBLK(st.st_mode) &&
                    (!S_ISCHR(st.st_mode) || isatty(fileno(*f)));
    if (!own || is_stream)
        return 0;
    fclose(*f);
    *f = NULL;
    return err_set(err, ERR_FORMAT, "%s is a %s, not a file", path,
                   S_ISDIR(st.st_mode) ? "folder" : "device");
}

int file_next_line(FILE *f, Buf *out, size_t limit, const char *path, Err *err)
{
    char piece[4096];
    size_t n = 0, total = 0;
    int c;
    buf_clear(out);
    errno = 0;
    flockfile(f);
    while ((c = getc_unlocked(f)) != EOF && c != '\n' && total <= limit) {
        piece[n++] = (char)c;
        total++;
        if (n == sizeof piece) {
            buf_add(out, piece, n);
            n = 0;
        }
    }
    funlockfile(f);
    buf_add(out, piece, n);
    if (total > limit)
        return err_set(err, ERR_FORMAT, "%s has a line of more than %zu bytes",
                       strcmp(path, "-") ? path : "standard input", limit);
    if (out->failed)
        return err_set(err, ERR_NOMEM, "no memory for a line of %s", path);
    if (c == EOF && ferror(f))
        return err_set_errno(err, ERR_IO, "cannot read %s", path);
    if (c == EOF && total == 0)
        return 0;
    while (out->size > 0 && out->data[out->size - 1] == '\r')
        out->data[--out->size] = 0;
    return 1;
}

/* In nanoseconds, because a file may be written twice within a second. */
void file_stamp_from(FileStamp *s, const struct stat *st)
{
    s->size = (uint64_t)st->st_size;
    s->mtime_ns = (uint64_t)st->st_mtim.tv_sec * 1000000000u + (uint64_t)st->st_mtim.tv_nsec;
    s->ctime_ns = (uint64_t)st->st_ctim.tv_sec * 1000000000u + (uint64_t)st->st_ctim.tv_nsec;
    s->inode = (uint64_t)st->st_ino;
}

/* Needs only a stat, because every run compares the stamps of all clips. */
int file_stamp(FileStamp *s, const char *path, Err *err)
{
    struct stat st;
    *s = (FileStamp){0};
    if (stat(path, &st))
        return err_set_errno(err, errno == ENOENT || errno == ENOTDIR ? ERR_MISSING : ERR_IO,
                             "cannot look at %s", path);
    if (!S_ISREG(st.st_mode))
        return err_set(err, ERR_FORMAT, "%s is not a regular file", path);
    file_stamp_from(s, &st);
    return 0;
}

/* ---- writing ---- */

int file_write_all(int fd, const void *p, size_t n, const char *path, Err *err)
{
    const char *at = p;
    while (n > 0) {
        ssize_t w = write(fd, at, n);
        if (w < 0 && errno == EINTR)
            continue;
        if (w < 0) {
            int code = err_set_errno(err, ERR_IO, "cannot write %s", path);
            if (code == ERR_NOSPACE)
                err_hint(err, "free some space, or put the cache on another disk with --cache-dir, and run "
                              "the same command again");
            return code;
        }
        at += w;
        n -= (size_t)w;
    }
    return 0;
}

/* A file that ends early is damage, not an I/O error: it was longer when its index was written. */
int file_pread_all(int fd, void *p, size_t n, uint64_t offset, const char *path, Err *err)
{
    char *at = p;
    while (n > 0) {
        ssize_t r = pread(fd, at, n, (off_t)offset);
        if (r < 0 && errno == EINTR)
            continue;
        if (r < 0)
            return err_set_errno(err, ERR_IO, "cannot read %s", path);
        if (r == 0)
            return err_set(err, ERR_FORMAT, "%s ends at byte %llu, %zu bytes short", path,
                           (unsigned long long)offset, n);
        at += r;
        offset += (uint64_t)r;
        n -= (size_t)r;
    }
    return 0;
}

/* Without this a power cut may lose the name of a file whose bytes are safe. */
int file_sync_dir_of(const char *path, Err *err)
{
    char *dir = strdup(path);
    if (!dir)
        return err_set(err, ERR_NOMEM, "no memory for a path");
    char *slash = strrchr(dir, '/');
    if (!slash)
        strcpy(dir, ".");
    else
        /* "/x" is in "/", which keeps its slash. */
        slash[slash == dir] = 0;
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = 0;
    if (fd < 0)
        rc = err_set_errno(err, ERR_IO, "cannot open the folder %s", dir);
    /* Some network file systems cannot sync a folder; that is no failure. */
    else if (fsync(fd) && errno != EINVAL && errno != EROFS)
        rc = err_set_errno(err, ERR_IO, "cannot sync the folder %s", dir);
    if (fd >= 0)
        close(fd);
    free(dir);
    return rc;
}

#define TMP_ROOM 32 /* ".tmp", a pid, a NUL */

/* Where a symbolic link leads, also when nothing is there yet; malloc'd. NULL if out of memory. */
static char *follow_links(const char *path)
{
    enum { MOST_LINKS = 40 };
    char *now = strdup(path), target[PATH_MAX];
    for (int i = 0; now && i < MOST_LINKS; i++) {
        ssize_t n = readlink(now, target, sizeof target - 1);
        if (n <= 0)
            break;
        target[n] = 0;
        char *slash = target[0] == '/' ? NULL : strrchr(now, '/');
        if (slash)
            *slash = 0;
        char *next = slash ? file_join(slash == now ? "/" : now, target) : strdup(target);
        free(now);
        now = next;
    }
    return now;
}

/* Nothing is written to the final name until commit. */
int file_writer_open(FileWriter *w, const char *path, Err *err)
{
    *w = (FileWriter){0};
    struct stat st;
    /* Renaming onto it would replace a device or a pipe. */
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        return err_set(err, ERR_IO, "%s is not a regular file and is not written to", path);
    w->path = follow_links(path);
    size_t n = w->path ? strlen(w->path) : 0;
    w->tmp_path = malloc(n + TMP_ROOM);
    if (!w->path || !w->tmp_path) {
        free(w->tmp_path); /* it holds no name yet, and abort would unlink it */
        w->tmp_path = NULL;
        file_writer_abort(w);
        return err_set(err, ERR_NOMEM, "no memory for a path");
    }
    /* In the same folder, because rename works only within a file system; with the pid, so that two processes
     * do not write to the same file. */
    snprintf(w->tmp_path, n + TMP_ROOM, "%s.tmp%ld", w->path, (long)getpid());
    w->draft = draft_add(w->tmp_path);
    int fd = open(w->tmp_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) {
        int code = err_set_errno(err, ERR_IO, "cannot create %s", path);
        free(w->tmp_path);
        w->tmp_path = NULL;
        file_writer_abort(w);
        return code;
    }
    w->fd_plus1 = fd + 1;
    return 0;
}

int file_writer_write(FileWriter *w, const void *p, size_t n, Err *err)
{
    return file_write_all(w->fd_plus1 - 1, p, n, w->tmp_path, err);
}

/* After a failure the temporary file is still there; file_writer_abort removes it. */
int file_writer_commit(FileWriter *w, Err *err)
{
    int fd = w->fd_plus1 - 1;
    /* First the bytes, then the name, then the folder: after a power cut either the old file or the new one
     * is there, complete. */
    if (fsync(fd))
        return err_set_errno(err, ERR_IO, "cannot sync %s", w->tmp_path);
    w->fd_plus1 = 0;
    if (close(fd))
        return err_set_errno(err, ERR_IO, "cannot close %s", w->tmp_path);
    if (rename(w->tmp_path, w->path))
        return err_set_errno(err, ERR_IO, "cannot rename %s to %s", w->tmp_path, w->path);
    draft_remove(w->draft);
    w->draft = 0;
    int rc = file_sync_dir_of(w->path, err);
    free(w->tmp_path);
    w->tmp_path = NULL; /* it was renamed: abort has nothing to remove */
    file_writer_abort(w);
    return rc;
}

void file_writer_abort(FileWriter *w)
{
    if (w->fd_plus1)
        close(w->fd_plus1 - 1);
    if (w->tmp_path)
        unlink(w->tmp_path);
    draft_remove(w->draft);
    free(w->tmp_path);
    free(w->path);
    *w = (FileWriter){0};
}

/* For small files that are ready in memory. */
int file_replace(const char *path, const void *p, size_t n, Err *err)
{
    FileWriter w;
    int rc = file_writer_open(&w, path, err);
    if (rc)
        return rc;
    rc = file_writer_write(&w, p, n, err);
    if (!rc)
        rc = file_writer_commit(&w, err);
    if (rc)
        file_writer_abort(&w);
    return rc;
}

/* ---- folders and paths ---- */

int file_make_dirs(const char *path, Err *err)
{
    char *p = strdup(path);
    if (!p)
        return err_set(err, ERR_NOMEM, "no memory for a path");
    int rc = 0;
    /* Every prefix that ends before a slash, then the whole path. What exists already is fine if it is a
     * folder. */
    for (char *at = p + (p[0] == '/');; at++) {
        if (*at != '/' && *at != 0)
            continue;
        char saved = *at;
        *at = 0;
        struct stat st;
        int e = p[0] && mkdir(p, 0777) ? errno : 0;
        if (e && !(stat(p, &st) == 0 && S_ISDIR(st.st_mode))) {
            errno = e; /* that of mkdir, not of stat: it may be a full disk */
            rc = err_set_errno(err, ERR_IO, "cannot make the folder %s", p);
            break;
        }
        *at = saved;
        if (!saved)
            break;
    }
    free(p);
    return rc;
}

int file_exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

/* The file that this code is in: a shared library, or else the program, whose name dladdr takes from the
 * command line. A result that fills the buffer may have been cut, so it counts as too long. */
static int own_path(char *out, size_t cap)
{
    Dl_info info;
    const char *name = dladdr((void *)(uintptr_t)own_path, &info) ? info.dli_fname : NULL;
    if (name && strstr(name, ".so")) {
        char *whole = realpath(name, NULL);
        int fits = whole && strlen(whole) < cap;
        if (fits)
            strcpy(out, whole);
        free(whole);
        return fits ? 0 : -1;
    }
    ssize_t n = readlink("/proc/self/exe", out, cap - 1);
    if (n <= 0 || (size_t)n >= cap - 1)
        return -1;
    out[n] = 0;
    return 0;
}

int file_own_folder(char *out, size_t cap, int up)
{
    if (own_path(out, cap))
        return -1;
    for (int i = 0; i <= up; i++) {
        char *slash = strrchr(out, '/');
        if (!slash)
            return -1;
        *slash = 0;
    }
    return 0;
}

int file_own_stamp(FileStamp *s)
{
    char path[PATH_MAX];
    return own_path(path, sizeof path) ? -1 : file_stamp(s, path, NULL);
}

/* One slash between the two, whether or not dir ends in one. */
char *file_join(const char *dir, const char *name)
{
    if (!dir || !dir[0])
        return strdup(name);
    size_t d = strlen(dir), n = strlen(name);
    char *out = malloc(d + n + 2);
    if (!out)
        return NULL;
    memcpy(out, dir, d);
    if (out[d - 1] != '/')
        out[d++] = '/';
    memcpy(out + d, name, n + 1);
    return out;
}

/* ---- locks ---- */

/* Locks that threads of this process hold or wait for. Record locks know processes only, and closing any
 * descriptor of the file gives them up: nobody here may even open it a second time. */
struct FileHeld {
    dev_t device;
    ino_t file;
    pid_t process; /* a forked child holds none of its parent's */
    struct FileHeld *next;
};
static struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct FileHeld *first;
} held = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL};

/* A forked child must not find the mutex held by a thread that it does not have. */
static void hold_list(void) { pthread_mutex_lock(&held.mutex); }
static void free_list(void) { pthread_mutex_unlock(&held.mutex); }
static void follow_forks(void) { pthread_atfork(hold_list, free_list, free_list); }

static int is_held_here(const char *path)
{
    struct stat st;
    if (stat(path, &st))
        return 0;
    for (const struct FileHeld *h = held.first; h; h = h->next)
        if (h->device == st.st_dev && h->file == st.st_ino && h->process == getpid())
            return 1;
    return 0;
}

/* Opens the file for the only thread that may; with the mutex held. */
static int open_unheld(FileLock *l, const char *path, Err *err)
{
    struct stat st;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0 || fstat(fd, &st)) {
        int rc = err_set_errno(err, ERR_IO, "cannot open the lock file %s", path);
        if (fd >= 0)
            close(fd);
        return rc;
    }
    l->fd_plus1 = fd + 1;
    l->held = malloc(sizeof *l->held);
    if (!l->held)
        return err_set(err, ERR_NOMEM, "no memory for a lock");
    *l->held = (struct FileHeld){st.st_dev, st.st_ino, getpid(), held.first};
    held.first = l->held;
    return 0;
}

int file_lock(FileLock *l, const char *path, int wait, long *holder, Err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    *l = (FileLock){0};
    int rc = 0;
    pthread_once(&once, follow_forks);
    pthread_mutex_lock(&held.mutex);
    while (wait && is_held_here(path))
        pthread_cond_wait(&held.changed, &held.mutex);
    if (is_held_here(path)) {
        if (holder)
            *holder = (long)getpid();
        rc = err_set(err, ERR_STOPPED, "%s is locked by process %ld", path, (long)getpid());
    } else
        rc = open_unheld(l, path, err);
    pthread_mutex_unlock(&held.mutex);
    if (rc) {
        file_unlock(l);
        return rc;
    }
    /* Record locks instead of flock: they belong to the process, so forked workers do not share them. */
    const int fd = l->fd_plus1 - 1;
    struct flock fl = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    do {
        rc = fcntl(fd, wait ? F_SETLKW : F_SETLK, &fl);
    } while (rc && errno == EINTR);
    if (!rc)
        return 0;
    /* Another process holds it: find out which. */
    if (errno == EACCES || errno == EAGAIN) {
        struct flock who = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        long pid = fcntl(fd, F_GETLK, &who) == 0 && who.l_type != F_UNLCK ? (long)who.l_pid : 0;
        if (holder)
            *holder = pid;
        rc = err_set(err, ERR_STOPPED, "%s is locked by process %ld", path, pid);
    } else
        rc = err_set_errno(err, ERR_IO, "cannot lock %s", path);
    file_unlock(l);
    return rc;
}

void file_unlock(FileLock *l)
{
    pthread_mutex_lock(&held.mutex);
    if (l->fd_plus1)
        close(l->fd_plus1 - 1);
    struct FileHeld **at = &held.first;
    while (*at && *at != l->held)
        at = &(*at)->next;
    if (l->held && *at)
        *at = l->held->next;
    free(l->held);
    pthread_cond_broadcast(&held.changed);
    pthread_mutex_unlock(&held.mutex);
    *l = (FileLock){0};
}
