/* faults_preload.c - LD_PRELOAD library that lets the N-th call of a kind fail in the program under test.
 *   MYXTTS_FAIL_MALLOC=N   malloc, calloc, realloc, aligned_alloc, posix_memalign: no memory
 *   MYXTTS_FAIL_WRITE=N    write, pwrite, writev on files: ENOSPC        MYXTTS_FAIL_READ=N    read, pread,
 * mmap of files: EIO MYXTTS_FAIL_FSYNC=N    EIO    MYXTTS_FAIL_RENAME=N   EIO             MYXTTS_FAIL_OPEN=N
 * open, openat, fopen: EMFILE MYXTTS_FAIL_STICKY=1   every later one fails too    MYXTTS_FAIL_MAIN_ONLY=1 not
 * in forked children MYXTTS_FAIL_OWN=1      memory: only calls from the program's own code (libsndfile 1.2
 * dies of NULL in its WAV header reader) MYXTTS_FAIL_COUNT=FILE appends the number of calls of each kind at
 * the end, to know how far N may go N counts from 1, from the moment main begins, separately in each forked
 * child. Only the program named myxtts is touched. Standard streams and pipes are left alone: the message
 * about the fault has to come out. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

typedef enum { F_MALLOC, F_WRITE, F_READ, F_FSYNC, F_RENAME, F_OPEN, F_KINDS } Kind;
static const char *const kind_names[F_KINDS] = {"MALLOC", "WRITE", "READ", "FSYNC", "RENAME", "OPEN"};

static atomic_int active; /* 0 until set_up has seen that this is the program */
static atomic_long calls[F_KINDS];
static long fail_at[F_KINDS];
static int sticky, main_only, own_only;
static uintptr_t own_begin, own_end; /* code of the program itself */
static pid_t main_pid;
static __thread int busy; /* our own work does not count */

#define REAL(type, name, ...) \
    static type (*real)(__VA_ARGS__); \
    if (!real) { \
        busy++; \
        *(void **)&real = dlsym(RTLD_NEXT, #name); \
        busy--; \
    }

static int hit(Kind k)
{
    if (!atomic_load(&active) || busy)
        return 0;
    if (main_only && getpid() != main_pid)
        return 0;
    long n = atomic_fetch_add(&calls[k], 1) + 1;
    return fail_at[k] && (n == fail_at[k] || (sticky && n > fail_at[k]));
}

static int hit_memory(const void *caller)
{
    uintptr_t at = (uintptr_t)caller;
    return (!own_only || (at >= own_begin && at < own_end)) && hit(F_MALLOC);
}

static int find_program(struct dl_phdr_info *info, size_t size, void *user)
{
    (void)size, (void)user;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X) {
            own_begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            own_end = own_begin + info->dlpi_phdr[i].p_memsz;
        }
    return 1; /* the program comes first */
}

static int is_file(int fd)
{
    struct stat st;
    int saved = errno, yes = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    errno = saved;
    return yes;
}

static void count_anew(void)
{
    for (int k = 0; k < F_KINDS; k++)
        atomic_store(&calls[k], 0);
}

static void report(void)
{
    const char *path = getenv("MYXTTS_FAIL_COUNT");
    if (!path || getpid() != main_pid)
        return;
    busy++;
    char text[400];
    int n = 0;
    for (int k = 0; k < F_KINDS; k++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%s %ld\n", kind_names[k], atomic_load(&calls[k]));
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd >= 0 && write(fd, text, (size_t)n) < 0)
        perror(path);
    if (fd >= 0)
        close(fd);
    busy--;
}

extern int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *);

__attribute__((constructor)) static void set_up(void)
{
    const char *slash = strrchr(program_invocation_name, '/');
    if (strcmp(slash ? slash + 1 : program_invocation_name, "myxtts") != 0)
        return;
    for (int k = 0; k < F_KINDS; k++) {
        char name[40];
        snprintf(name, sizeof name, "MYXTTS_FAIL_%s", kind_names[k]);
        const char *value = getenv(name);
        fail_at[k] = value ? atol(value) : 0;
    }
    const char *value = getenv("MYXTTS_FAIL_STICKY");
    sticky = value && value[0] == '1';
    value = getenv("MYXTTS_FAIL_MAIN_ONLY");
    main_only = value && value[0] == '1';
    value = getenv("MYXTTS_FAIL_OWN");
    own_only = value && value[0] == '1';
    dl_iterate_phdr(find_program, NULL);
    main_pid = getpid();
    __register_atfork(NULL, NULL, count_anew, NULL);
    atexit(report);
    atomic_store(&active, 1);
}

/* The allocator behind ours: dlsym itself may allocate, so these names are used instead of it. */
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static void *no_memory(void)
{
    errno = ENOMEM;
    return NULL;
}

void *malloc(size_t n) { return hit_memory(__builtin_return_address(0)) ? no_memory() : __libc_malloc(n); }
void *calloc(size_t n, size_t size)
{
    return hit_memory(__builtin_return_address(0)) ? no_memory() : __libc_calloc(n, size);
}
void *realloc(void *p, size_t n)
{
    return hit_memory(__builtin_return_address(0)) ? no_memory() : __libc_realloc(p, n);
}
void *aligned_alloc(size_t align, size_t n)
{
    return hit_memory(__builtin_return_address(0)) ? no_memory() : __libc_memalign(align, n);
}
int posix_memalign(void **p, size_t align, size_t n)
{
    void *q = hit_memory(__builtin_return_address(0)) ? NULL : __libc_memalign(align, n);
    if (!q)
        return ENOMEM;
    *p = q;
    return 0;
}

static int fails(Kind k, int error)
{
    if (!hit(k))
        return 0;
    errno = error;
    return 1;
}

ssize_t write(int fd, const void *p, size_t n)
{
    REAL(ssize_t, write, int, const void *, size_t)
    return is_file(fd) && fails(F_WRITE, ENOSPC) ? -1 : real(fd, p, n);
}

ssize_t pwrite(int fd, const void *p, size_t n, off_t at)
{
    REAL(ssize_t, pwrite, int, const void *, size_t, off_t)
    return is_file(fd) && fails(F_WRITE, ENOSPC) ? -1 : real(fd, p, n, at);
}

ssize_t writev(int fd, const struct iovec *parts, int n)
{
    REAL(ssize_t, writev, int, const struct iovec *, int)
    return is_file(fd) && fails(F_WRITE, ENOSPC) ? -1 : real(fd, parts, n);
}

ssize_t read(int fd, void *p, size_t n)
{
    REAL(ssize_t, read, int, void *, size_t)
    return is_file(fd) && fails(F_READ, EIO) ? -1 : real(fd, p, n);
}

ssize_t pread(int fd, void *p, size_t n, off_t at)
{
    REAL(ssize_t, pread, int, void *, size_t, off_t)
    return is_file(fd) && fails(F_READ, EIO) ? -1 : real(fd, p, n, at);
}

void *mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset)
{
    REAL(void *, mmap, void *, size_t, int, int, int, off_t)
    return fd >= 0 && is_file(fd) && fails(F_READ, EIO) ? MAP_FAILED
                                                        : real(at, n, protection, flags, fd, offset);
}

int fsync(int fd)
{
    REAL(int, fsync, int)
    return fails(F_FSYNC, EIO) ? -1 : real(fd);
}

int rename(const char *from, const char *to)
{
    REAL(int, rename, const char *, const char *)
    return fails(F_RENAME, EIO) ? -1 : real(from, to);
}

/* The mode is there only when the flags say so. */
#define MODE(flags, mode) \
    unsigned mode = 0; \
    if (flags & (O_CREAT | O_TMPFILE)) { \
        va_list ap; \
        va_start(ap, flags); \
        mode = va_arg(ap, unsigned); \
        va_end(ap); \
    }

int open(const char *path, int flags, ...)
{
    REAL(int, open, const char *, int, ...)
    MODE(flags, mode)
    return fails(F_OPEN, EMFILE) ? -1 : real(path, flags, mode);
}

int openat(int dir, const char *path, int flags, ...)
{
    REAL(int, openat, int, const char *, int, ...)
    MODE(flags, mode)
    return fails(F_OPEN, EMFILE) ? -1 : real(dir, path, flags, mode);
}

FILE *fopen(const char *path, const char *how)
{
    REAL(FILE *, fopen, const char *, const char *)
    return fails(F_OPEN, EMFILE) ? NULL : real(path, how);
}

/* The same calls under the names that large-file builds use. */
int open64(const char *path, int flags, ...)
{
    MODE(flags, mode)
    return open(path, flags, mode);
}
FILE *fopen64(const char *path, const char *how) { return fopen(path, how); }
ssize_t pread64(int fd, void *p, size_t n, off_t at) { return pread(fd, p, n, at); }
ssize_t pwrite64(int fd, const void *p, size_t n, off_t at) { return pwrite(fd, p, n, at); }
void *mmap64(void *at, size_t n, int protection, int flags, int fd, off_t offset)
{
    return mmap(at, n, protection, flags, fd, offset);
}
