/* slow_preload.c - LD_PRELOAD library that makes a folder as slow as one on a network: each call on a file
 * below MYXTTS_SLOW_FOLDER (open, stat, and the reads of files opened there) takes MYXTTS_SLOW_MS
 * milliseconds more. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { FILES = 4096 };
static atomic_char slow_file[FILES]; /* by descriptor */

#define REAL(type, name, ...) \
    static type (*real)(__VA_ARGS__); \
    if (!real) \
    *(void **)&real = dlsym(RTLD_NEXT, #name)

static void take_time(void)
{
    const char *ms = getenv("MYXTTS_SLOW_MS");
    const long ns = ms ? (long)(atof(ms) * 1e6) : 0;
    const struct timespec t = {ns / 1000000000, ns % 1000000000};
    nanosleep(&t, NULL);
}

static int is_slow(const char *path)
{
    const char *folder = getenv("MYXTTS_SLOW_FOLDER");
    return folder && path && strncmp(path, folder, strlen(folder)) == 0;
}

static int opened(const char *path, int fd)
{
    if (fd >= 0 && fd < FILES)
        slow_file[fd] = (char)is_slow(path);
    if (is_slow(path))
        take_time();
    return fd;
}

static mode_t mode_of(int flags, va_list ap)
{
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, mode_t) : 0;
}

int open(const char *path, int flags, ...)
{
    REAL(int, open, const char *, int, ...);
    va_list ap;
    va_start(ap, flags);
    const mode_t mode = mode_of(flags, ap);
    va_end(ap);
    return opened(path, real(path, flags, mode));
}

int openat(int folder, const char *path, int flags, ...)
{
    REAL(int, openat, int, const char *, int, ...);
    va_list ap;
    va_start(ap, flags);
    const mode_t mode = mode_of(flags, ap);
    va_end(ap);
    return opened(path, real(folder, path, flags, mode));
}

int stat(const char *path, struct stat *st)
{
    REAL(int, stat, const char *, struct stat *);
    if (is_slow(path))
        take_time();
    return real(path, st);
}

ssize_t read(int fd, void *p, size_t n)
{
    REAL(ssize_t, read, int, void *, size_t);
    if (fd >= 0 && fd < FILES && slow_file[fd])
        take_time();
    return real(fd, p, n);
}

ssize_t pread(int fd, void *p, size_t n, off_t at)
{
    REAL(ssize_t, pread, int, void *, size_t, off_t);
    if (fd >= 0 && fd < FILES && slow_file[fd])
        take_time();
    return real(fd, p, n, at);
}
