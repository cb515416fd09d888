/* file.h - files: mapped for reading, replaced atomically; folders; locks.
 * Errors name the path. Paths are bytes as the system gives them (UTF-8 in practice). */
#ifndef MYXTTS_FILE_H
#define MYXTTS_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/mem.h"

/* The bytes of a file, read-only, valid until file_unmap. data is NULL for an empty file. Unmapping a zeroed
 * or unmapped one is allowed. */
typedef struct FileMap {
    const uint8_t *data;
    size_t size;
    int guard; /* see file_guard.h; 0: none */
} FileMap;
/* For large files that only this program writes. Should the file become shorter or its disk fail, what is
 * gone reads as zeros, and file_lost tells the number of pages: ask when you have read. */
int file_map(FileMap *m, const char *path, Err *err);
uint64_t file_lost(const FileMap *m);
/* For files that others may change while they are read: a copy in memory. */
int file_load(FileMap *m, const char *path, Err *err);
void file_unmap(FileMap *m);
/* Lets the system drop the pages of the mapping from memory; they are read again when touched. For passes
 * over files larger than memory. */
void file_forget(const FileMap *m);

/* Reads a whole file of at most `limit` bytes into out (appended). ERR_FORMAT when larger. */
int file_read(Buf *out, const char *path, size_t limit, Err *err);
int file_read_fd(Buf *out, int fd, const char *path, size_t limit, Err *err); /* until its end */

/* Text that comes line by line. file_open_lines opens a file or a pipe ("-": standard input); a folder or a
 * device, whose end may never come, is ERR_FORMAT. file_next_line puts the next line, without its end, into
 * out (cleared first). It returns 1, or 0 at the end; ERR_FORMAT for a line of more than `limit` bytes,
 * ERR_IO, ERR_NOMEM. path is for messages. */
int file_open_lines(FILE **f, const char *path, Err *err);
int file_next_line(FILE *f, Buf *out, size_t limit, const char *path, Err *err);

/* Identity of a file's content without reading it: any write, rename or copy changes at least one member. */
typedef struct FileStamp {
    uint64_t size, mtime_ns, ctime_ns, inode;
} FileStamp;
int file_stamp(FileStamp *s, const char *path, Err *err); /* ERR_MISSING when there is no such file */
void file_stamp_from(FileStamp *s, const struct stat *st);

/* FileWriter: a new file that appears under its name only when complete.
 *   - open creates a temporary file in the same folder. A symbolic link is followed.
 *   - commit makes it the file: fsync, rename, fsync of the folder.
 *   - abort removes it. After any failed call, call file_writer_abort.
 * Aborting a zeroed, committed or aborted writer is allowed and does nothing. */
typedef struct FileWriter {
    int fd_plus1; /* 0: closed, so that {0} is a closed writer */
    int draft;    /* see drafts.h */
    char *path, *tmp_path;
} FileWriter;
int file_writer_open(FileWriter *w, const char *path, Err *err);
int file_writer_write(FileWriter *w, const void *p, size_t n, Err *err);
int file_writer_commit(FileWriter *w, Err *err);
void file_writer_abort(FileWriter *w);
/* Open, write and commit in one call. */
int file_replace(const char *path, const void *p, size_t n, Err *err);

/* write() or pread() until all n bytes are done; path is for the message. A file that ends too early is
 * ERR_FORMAT ("ends at byte N"). */
int file_write_all(int fd, const void *p, size_t n, const char *path, Err *err);
int file_pread_all(int fd, void *p, size_t n, uint64_t offset, const char *path, Err *err);
int file_sync_dir_of(const char *path, Err *err); /* fsync of the folder that holds path */

int file_make_dirs(const char *path, Err *err); /* mkdir -p */
int file_exists(const char *path);
/* The folder that holds the running program, or the shared library that this is part of (up = 0); or the one
 * `up` levels above it; without a slash at the end. 0, or -1 if the system does not tell or the path does not
 * fit. */
int file_own_folder(char *out, size_t cap, int up);
int file_own_stamp(FileStamp *s); /* of that file: another build has another. 0 or an error */
/* "dir/name", or just the name if dir is "" or NULL; malloc'd. NULL if out of memory. */
char *file_join(const char *dir, const char *name);

/* FileLock: one process, and one thread of it, at a time. file_lock takes an advisory lock on path, which is
 * created if necessary. If another holds the lock, it waits, or with wait = 0 returns ERR_STOPPED and
 * the holder's pid in *holder (may be NULL). The lock is not inherited by forked children and ends with the
 * process, however it dies. */
typedef struct FileLock {
    int fd_plus1;
    struct FileHeld *held;
} FileLock;
int file_lock(FileLock *l, const char *path, int wait, long *holder, Err *err);
void file_unlock(FileLock *l);

#endif
