/* file.h - files: mapped for reading, replaced atomically; folders; locks.
 * Errors name the path. Paths are bytes as the system gives them (UTF-8 in practice). */
#ifndef MYXTTS_FILE_H
#define MYXTTS_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/mem.h"

/* A read-only mapping. data is NULL for an empty file. Valid until file_unmap, which is always safe. */
typedef struct FileMap {
    const uint8_t *data;
    size_t size;
} FileMap;
int file_map(FileMap *m, const char *path, Err *err);
void file_unmap(FileMap *m);
/* Gives the pages of the mapping back to the system; they are read again when touched. For passes over files
 * larger than memory. */
void file_forget(const FileMap *m);

/* Reads a whole file of at most `limit` bytes into out (appended). ERR_FORMAT when larger. */
int file_read(Buf *out, const char *path, size_t limit, Err *err);

/* Identity of a file's content without reading it: any write, rename or copy changes at least one member. */
typedef struct FileStamp {
    uint64_t size, mtime_ns, ctime_ns, inode;
} FileStamp;
int file_stamp(FileStamp *s, const char *path, Err *err); /* ERR_MISSING when there is no such file */
void file_stamp_from(FileStamp *s, const struct stat *st);

/* FileWriter: a new file that appears under its name only when complete.
 * open writes to a temporary neighbour; commit = flush, fsync, rename, fsync of the folder; abort removes it.
 * After any failed call, call file_writer_abort. Zero-initialise; abort is always safe. */
typedef struct FileWriter {
    int fd_plus1; /* 0: closed, so that {0} is a closed writer */
    char *path, *tmp_path;
} FileWriter;
int file_writer_open(FileWriter *w, const char *path, Err *err);
int file_writer_write(FileWriter *w, const void *p, size_t n, Err *err);
int file_writer_commit(FileWriter *w, Err *err);
void file_writer_abort(FileWriter *w);
/* All three at once. */
int file_replace(const char *path, const void *p, size_t n, Err *err);

/* write() / pread() until all n bytes are done; path is for the message. Short reads are ERR_FORMAT ("ends at
 * byte N"). */
int file_write_all(int fd, const void *p, size_t n, const char *path, Err *err);
int file_pread_all(int fd, void *p, size_t n, uint64_t offset, const char *path, Err *err);
int file_sync_dir_of(const char *path, Err *err); /* fsync of the folder that holds path */

int file_make_dirs(const char *path, Err *err); /* mkdir -p */
int file_exists(const char *path);
/* The folder of the program, `up` levels above it, without a slash at the end. 0, or -1 when the system does
 * not say or it does not fit. */
int file_own_folder(char *out, size_t cap, int up);
char *file_join(const char *dir,
                const char *name); /* "dir/name", malloc'd; NULL on no memory; dir "" or NULL: name */

/* FileLock: one process at a time. file_lock takes an advisory lock on path (created if needed). When another
 * process holds it and wait is 0, returns ERR_STOPPED and *holder (may be NULL) is its pid; with wait != 0 it
 * blocks. The lock is not inherited by forked children and vanishes with the process, however it dies. */
typedef struct FileLock {
    int fd_plus1;
} FileLock;
int file_lock(FileLock *l, const char *path, int wait, long *holder, Err *err);
void file_unlock(FileLock *l);

#endif
