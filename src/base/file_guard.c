/* file_guard.c - see file_guard.h. */
#include "base/file_guard.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#define MOST_GUARDED 1024 /* two stores have some ten segments each */

typedef struct Guarded {
    atomic_uintptr_t begin; /* 0: free; set last, cleared first */
    size_t size;
    atomic_uint_fast64_t lost;
} Guarded;

static Guarded guarded[MOST_GUARDED];
static atomic_uint_fast64_t lost_in_all;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction before; /* the handler that was installed before ours */
static uintptr_t page_size;

/* Only what a handler may do: atomics and a system call. */
static void take_bus_error(int signal_number, siginfo_t *info, void *context)
{
    (void)signal_number, (void)context;
    uintptr_t at = (uintptr_t)info->si_addr;
    int saved = errno;
    for (int i = 0; i < MOST_GUARDED; i++) {
        uintptr_t begin = atomic_load(&guarded[i].begin);
        if (!begin || at < begin || at - begin >= guarded[i].size)
            continue;
        void *page = (void *)(at / page_size * page_size);
        if (mmap(page, page_size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
            break;
        atomic_fetch_add(&guarded[i].lost, 1);
        atomic_fetch_add(&lost_in_all, 1);
        errno = saved;
        return;
    }
    /* Not one of ours: the instruction runs again, and its fault goes where it went before. */
    sigaction(SIGBUS, &before, NULL);
    errno = saved;
}

/* Again with every mapping: a library may have set a handler of its own since. */
static void install(void)
{
    struct sigaction now, action = {.sa_sigaction = take_bus_error, .sa_flags = SA_SIGINFO | SA_NODEFER};
    if (sigaction(SIGBUS, NULL, &now) == 0 && now.sa_sigaction == take_bus_error)
        return;
    before = now;
    sigemptyset(&action.sa_mask);
    page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
    sigaction(SIGBUS, &action, NULL);
}

/* A forked child must not find it held by a thread that it does not have. */
static void hold(void) { pthread_mutex_lock(&mutex); }
static void let_go(void) { pthread_mutex_unlock(&mutex); }
static void follow_forks(void) { pthread_atfork(hold, let_go, let_go); }

int file_guard_add(const void *data, size_t size)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    int found = 0;
    pthread_once(&once, follow_forks);
    pthread_mutex_lock(&mutex);
    install();
    for (int i = 0; i < MOST_GUARDED && !found; i++)
        if (!atomic_load(&guarded[i].begin)) {
            guarded[i].size = size;
            atomic_store(&guarded[i].lost, 0);
            atomic_store(&guarded[i].begin, (uintptr_t)data);
            found = i + 1;
        }
    pthread_mutex_unlock(&mutex);
    return found;
}

void file_guard_remove(int guard)
{
    if (guard)
        atomic_store(&guarded[guard - 1].begin, 0);
}

uint64_t file_guard_lost(int guard) { return guard ? atomic_load(&guarded[guard - 1].lost) : 0; }

uint64_t file_guard_any(void) { return atomic_load(&lost_in_all); }
