/* drafts.c - see drafts.h. */
#include "base/drafts.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/signals.h"

enum { MOST_DRAFTS = 32, PATH_SIZE = 4096 };

static struct {
    atomic_int process; /* that writes it; 0: free. Set last, cleared first */
    char path[PATH_SIZE];
} drafts[MOST_DRAFTS];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* A forked child must not find it held by a thread that it does not have. */
static void hold(void) { pthread_mutex_lock(&mutex); }
static void let_go(void) { pthread_mutex_unlock(&mutex); }
static void follow_forks(void) { pthread_atfork(hold, let_go, let_go); }

int draft_add(const char *path)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    int found = 0;
    if (strlen(path) >= PATH_SIZE)
        return 0;
    pthread_once(&once, follow_forks);
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < MOST_DRAFTS && !found; i++)
        if (!atomic_load(&drafts[i].process)) {
            strcpy(drafts[i].path, path);
            atomic_store(&drafts[i].process, (int)getpid());
            found = i + 1;
        }
    pthread_mutex_unlock(&mutex);
    return found;
}

void draft_remove(int draft)
{
    if (draft)
        atomic_store(&drafts[draft - 1].process, 0);
}

/* What a handler may do, and no more. A forked child leaves those of its parent alone. */
void drafts_remove_all(void)
{
    for (int i = 0; i < MOST_DRAFTS; i++)
        if (atomic_load(&drafts[i].process) == (int)getpid())
            unlink(drafts[i].path);
}

static void end_by(int number)
{
    drafts_remove_all();
    signal(number, SIG_DFL);
    raise(number);
}

int drafts_have(int signal_number)
{
    struct sigaction now;
    return sigaction(signal_number, NULL, &now) == 0 &&
           (now.sa_handler == SIG_DFL || now.sa_handler == end_by);
}

void drafts_catch_signals(void)
{
    signal_catch(SIGINT, end_by);
    signal_catch(SIGTERM, end_by);
    signal_catch(SIGHUP, end_by);
}
