/* library.h - what the parts of the C library share: errors and log lines on their way out. */
#ifndef MYXTTS_LIBRARY_H
#define MYXTTS_LIBRARY_H

#include <pthread.h>

#include "base/err.h"
#include "base/log.h"
#include "lib/myxtts.h"

/* A Log whose lines go to the caller's function. It must not move: its Log refers to it. Threads: any. */
typedef struct LibraryLog {
    Log log;
    myxtts_log to;
    void *to_arg;
    pthread_mutex_t mutex; /* the caller's function is called by one thread at a time */
} LibraryLog;

/* to: may be NULL; then errors and warnings go to stderr. */
void library_log_open(LibraryLog *l, myxtts_log to, void *arg);
/* Waits until nobody is in the caller's function. From then on it is not called. */
void library_log_mute(LibraryLog *l);
void library_log_close(LibraryLog *l);

/* Fills *to (NULL is allowed) and returns the code. */
int library_error(myxtts_error *to, const Err *from);

/* 1 if a structure of options that says this size of itself has the field that ends at this offset: programs
 * that were built with an older header have a smaller one. */
#define LIBRARY_HAS(o, field) ((o)->size >= offsetof(__typeof__(*(o)), field) + sizeof(o)->field)

#endif
