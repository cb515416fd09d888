/* library.h - what the parts of the C library share: options and settings on their way in, errors and log
 * lines on their way out. */
#ifndef MYXTTS_LIBRARY_H
#define MYXTTS_LIBRARY_H

#include <pthread.h>
#include <sys/types.h>

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
/* Waits until no other thread is in the caller's function. From then on it is not called. */
void library_log_mute(LibraryLog *l);
void library_log_close(LibraryLog *l);

/* Fills *to (NULL is allowed) and returns the code. */
int library_error(myxtts_error *to, const Err *from);
/* The same for who has passed NULL where `what`, as "a voice", is needed. */
int library_misuse(myxtts_error *to, const char *what);
/* What belongs to the process `owner` is used by another one, a forked child: it has none of the threads, and
 * locks may be held for ever. 0: it is this process. whose: "the voice". */
int library_check_process(pid_t owner, const char *whose, myxtts_error *to);

/* Copies a structure of options, which begins with its size, over *to, which holds the defaults: programs
 * that were built with an older header have a smaller one. ERR_USAGE if from is NULL, or newer than this
 * library; whose: "a loader". */
int library_options(void *to, size_t size, const void *from, const char *whose, Err *err);

/* Settings as options of config_load, each "--key=value". Zero-initialise. */
typedef struct LibraryArguments {
    char **of;
    int count;
    int names_device; /* data_gpu or model_gpu is among them */
} LibraryArguments;
/* settings: "key", "value", ..., NULL; or NULL. */
int library_arguments_read(LibraryArguments *a, const char *const *settings, Err *err);
int library_arguments_add(LibraryArguments *a, const char *key, const char *value, Err *err);
void library_arguments_free(LibraryArguments *a);

/* "cuda:1" is what other programs call GPU 1. */
const char *library_device(const char *name);

#endif
