/* loader_private.h - shared by loader.c (opening, state, report), loader_run.c (a pipeline and who holds
 * batches of it) and loader_batch.c (what is in a batch).
 *
 * A loader has a Run: a pipeline from some batch on. Resuming begins another one. A Run lives until its last
 * batch is released, and the loader until its last Run has gone, however early it was closed: tensors that
 * the caller keeps stay valid. */
#ifndef MYXTTS_LOADER_LIBRARY_H
#define MYXTTS_LOADER_LIBRARY_H

#include <pthread.h>
#include <stdint.h>

#include "config/config.h"
#include "device/devices.h"
#include "lib/library.h"
#include "pipeline/corpus.h"
#include "pipeline/pipeline.h"
#include "pipeline/step_meter.h"

typedef struct LoaderRun LoaderRun;

struct myxtts_batch {
    LoaderRun *run;
    DeviceBatch batch;
    Stream *stream; /* whose work has to end before the buffer is free */
    int64_t epoch, index;
    int references; /* the caller's, and one for each tensor; atomic */
};

struct LoaderRun {
    myxtts_loader *loader;
    Pipeline *pipeline;
    StepMeter meter;
    int stepping;           /* the step of the last batch is not over */
    Stream *stream;         /* of the last batch */
    int held;               /* batches given out and not released; under the loader's mutex */
    int64_t given, skipped; /* batches that were taken: given out, and left out at the beginning */
    LoaderRun *next;        /* among those that are no longer in use */
    myxtts_batch batches[POLICY_MOST_BUFFERS]; /* [buffer] */
};

/* A stream of the caller, or the only one of a device that has none. */
typedef struct LoaderStream {
    void *native;
    Stream *stream;
} LoaderStream;

#define LOADER "the loader"

struct myxtts_loader {
    pid_t process; /* that opened it */
    pthread_mutex_t mutex;
    LibraryLog log;
    Config cfg;
    Devices devices;
    CorpusSource *source;
    Corpus corpus;
    char **speakers;      /* [corpus.speaker_count] */
    char device_name[16]; /* as the settings have it */
    int rank, ranks;
    int64_t epochs;
    Hash128 order;    /* of everything that the order of the batches depends on */
    int64_t batches;  /* of an epoch */
    int micro;        /* batches of this process that one batch of all ranks gives */
    int64_t start;    /* number of the first batch of the run: epoch * batches + index */
    LoaderRun *run;   /* under the mutex, as the rest; NULL: it could not be opened again */
    LoaderRun *older; /* that still hold batches, or are to be closed */
    int stopped, closed;
    int users; /* who may still touch it: the caller, each Run, each thread that is releasing a batch */
    LoaderStream *streams;
    int stream_count;
};

/* A Run from batch number l->start on becomes l->run. */
int loader_run_open(myxtts_loader *l, Err *err);
/* The same with the Run in use, if none of its batches is held; it is closed and gone if that fails. */
int loader_run_restart(myxtts_loader *l, Err *err);
/* The Run in use is so no longer. It is closed as soon as none of its batches is held. */
void loader_run_retire(myxtts_loader *l);
/* Closes older Runs that are no longer needed. Not for threads that release batches: threads of a Run may be
 * waiting for them, as in a log function. */
void loader_run_reap(myxtts_loader *l);
/* The last user frees it. */
void loader_leave(myxtts_loader *l);

#endif
