/* checkpoint_aside.c - see checkpoint_aside.h. */
#include "voice/checkpoint_aside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define PIECE ((size_t)1 << 20)

/* 1: another disk than that of st, with room for it. */
static int is_roomy(const char *dir, const struct stat *st)
{
    struct stat there;
    struct statvfs disk;
    return stat(dir, &there) == 0 && S_ISDIR(there.st_mode) && there.st_dev != st->st_dev &&
           statvfs(dir, &disk) == 0 && (uint64_t)disk.f_bavail * disk.f_frsize > (uint64_t)st->st_size &&
           access(dir, W_OK | X_OK) == 0;
}

static const char *find_place(const struct stat *st)
{
    const char *const places[] = {getenv("TMPDIR"), "/var/tmp", "/tmp", "/dev/shm"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (places[i] && places[i][0] == '/' && is_roomy(places[i], st))
            return places[i];
    return NULL;
}

/* All bytes, and on the disk. */
static int copy_bytes(int to, const char *to_path, const char *path, Err *err)
{
    struct stat st;
    int rc = 0, from = open(path, O_RDONLY | O_CLOEXEC);
    char *piece = malloc(PIECE);
    if (from < 0 || fstat(from, &st))
        rc = err_set_errno(err, ERR_IO, "cannot read %s", path);
    else if (!piece)
        rc = err_set(err, ERR_NOMEM, "no memory to copy %s", path);
    for (uint64_t at = 0; !rc && at < (uint64_t)st.st_size;) {
        const uint64_t rest = (uint64_t)st.st_size - at;
        const size_t n = rest < PIECE ? (size_t)rest : PIECE;
        rc = file_pread_all(from, piece, n, at, path, err);
        if (!rc)
            rc = file_write_all(to, piece, n, to_path, err);
        at += n;
    }
    if (!rc && fsync(to))
        rc = err_set_errno(err, ERR_IO, "cannot write %s", to_path);
    if (from >= 0)
        close(from);
    free(piece);
    return rc;
}

/* The link takes the file's place in one moment. */
static int put_link(const Aside *a, Err *err)
{
    char tmp[CHECKPOINT_PATH_SIZE + 32];
    snprintf(tmp, sizeof tmp, "%s.tmp%ld", a->path, (long)getpid());
    unlink(tmp);
    if (symlink(a->copy, tmp) || rename(tmp, a->path)) {
        int rc = err_set_errno(err, ERR_IO, "cannot link %s to %s", a->path, a->copy);
        unlink(tmp);
        return rc;
    }
    return file_sync_dir_of(a->path, err);
}

int aside_put(Aside *a, const char *path, Err *err)
{
    struct stat st;
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    snprintf(a->path, sizeof a->path, "%s", path);
    if (lstat(path, &st) || !S_ISREG(st.st_mode))
        return err_set(err, ERR_IO, "%s is not a regular file and cannot be moved", path);
    const char *place = find_place(&st);
    if (!place)
        return err_set(err, ERR_NOSPACE, "no other disk has room for %s", path);
    snprintf(a->copy, sizeof a->copy, "%s/myxtts-XXXXXX-%s", place, name);
    int fd = mkostemps(a->copy, (int)strlen(name) + 1, O_CLOEXEC);
    if (fd < 0)
        return err_set_errno(err, ERR_IO, "cannot write to %s", place);
    int rc = copy_bytes(fd, a->copy, path, err);
    if (close(fd) && !rc)
        rc = err_set_errno(err, ERR_IO, "cannot write %s", a->copy);
    if (!rc)
        rc = file_sync_dir_of(a->copy, err);
    if (!rc)
        rc = put_link(a, err);
    if (rc)
        unlink(a->copy);
    return rc;
}

/* A FileWriter would follow the link. */
int aside_bring_back(const Aside *a, Err *err)
{
    char tmp[CHECKPOINT_PATH_SIZE + 32];
    snprintf(tmp, sizeof tmp, "%s.tmp%ld", a->path, (long)getpid());
    int fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return err_set_errno(err, ERR_IO, "cannot create %s", tmp);
    int rc = copy_bytes(fd, tmp, a->copy, err);
    close(fd);
    if (!rc && rename(tmp, a->path))
        rc = err_set_errno(err, ERR_IO, "cannot rename %s to %s", tmp, a->path);
    if (rc)
        unlink(tmp);
    else
        unlink(a->copy);
    return rc ? rc : file_sync_dir_of(a->path, err);
}

void aside_drop(const Aside *a)
{
    unlink(a->path);
    unlink(a->copy);
}
