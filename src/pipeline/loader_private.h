/* loader_private.h - shared by loader.c (threads, slots) and loader_row.c (what a row holds). */
#ifndef MYXTTS_LOADER_PRIVATE_H
#define MYXTTS_LOADER_PRIVATE_H

#include <stdatomic.h>
#include <stdint.h>

#include "audio/process.h"
#include "base/mem.h"
#include "base/thread.h"
#include "dataset/audio_file.h"
#include "pipeline/loader.h"
#include "pipeline/preprocess.h"

typedef struct Worker {
    Loader *loader;
    Thread thread;
    _Atomic uint64_t busy_since; /* ns; 0 = not in a row */
    _Atomic uint32_t item;       /* corpus item it is working on */
    _Atomic int finished;
    AudioProcessor *processor; /* on_the_fly only */
    AudioBuffer audio;
    Buf bytes;
    Preprocess *preprocess; /* where the data device is the CPU */
    float *pitch;           /* [shape.frames] of a clip, when the cache is not read through the mapping */
    unsigned rows;          /* loaded so far */
} Worker;

struct Loader {
    LoaderOptions o;
    Worker *workers; /* [max(1, workers)] */
    int64_t batches_per_epoch;
    int *segment_fd;        /* [segments] of the mel store, when it is not to be read through the mapping */
    _Atomic uint8_t *known; /* [corpus->count] what is known of an item's records; bits of loader_row.c */
    _Atomic int64_t lost;
    int stop; /* ends simulated waits; __atomic */
};

/* What some rows took, in ns; added to the shared counters once. */
typedef struct RowTimes {
    uint64_t read, disk, decode, finish; /* disk: see TRACE_DISK */
} RowTimes;

/* Loads one row and adds what it took. 0, or 1 when the utterance is lost and the row empty. injected: fails,
 * as the simulated machine wants it. */
int loader_fill_row(Loader *l, Worker *w, Slot *s, int row, int injected, RowTimes *times);
void loader_empty_row(const Slot *s, int row);
/* What the data device would do, done here for one row. in_place: its mel in the mapped cache or its samples,
 * when they were not copied into the slot. */
void loader_finish_row(Loader *l, Worker *w, const Slot *s, int row, const void *in_place);
/* Which row of the batch lends its voice to which. Once all of them are loaded: only then it is known which
 * are lost. */
void loader_choose_references(const Loader *l, const Slot *s);

#endif
