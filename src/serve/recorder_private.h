/* recorder_private.h - what recorder.c and recorder_scan.c share. */
#ifndef MYXTTS_RECORDER_PRIVATE_H
#define MYXTTS_RECORDER_PRIVATE_H

#include <pthread.h>

#include "audio/wav.h"
#include "base/file.h"
#include "serve/record/recorder.h"
#include "serve/record/sentences.h"

typedef struct RecorderItem {
    const char *id;
    double seconds; /* 0: not recorded */
    unsigned findings;
} RecorderItem;

struct Recorder {
    char *folder, *language, *command;
    Log *log;
    FileLock only;
    Sentences sentences;
    Block names; /* the IDs */
    /* under the lock, but for the IDs */
    pthread_mutex_t lock;
    RecorderItem *items; /* [sentences.count] */
    size_t done, others; /* recorded sentences of the list; pairs of others */
    double seconds, other_seconds;
    int enough; /* it was said */
};

char *recorder_path(const Recorder *r, const char *id, const char *ending); /* malloc'd; NULL: no memory */
/* Finds what the folder has, and gives every sentence its ID. */
int recorder_scan(Recorder *r, Err *err);

#endif
