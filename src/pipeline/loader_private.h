/* loader_private.h - shared by loader.c (threads, slots) and loader_row.c (contents of a row). */
#ifndef MYXTTS_LOADER_PRIVATE_H
#define MYXTTS_LOADER_PRIVATE_H

#include <stdatomic.h>
#include <stdint.h>

#include "audio/process.h"
#include "audio/speed.h"
#include "base/mem.h"
#include "base/thread.h"
#include "dataset/audio_file.h"
#include "pipeline/loader.h"
#include "pipeline/preprocess.h"

#define LOADER_WHY 600 /* bytes of the sentence that says which row is lost, and why */

typedef struct Worker {
    Loader *loader;
    Thread thread;
    _Atomic uint64_t busy_since; /* ns, when it began with its row; 0: it is in none */
    _Atomic uint32_t item;       /* corpus item that it is loading */
    _Atomic int finished;
    AudioProcessor *processor; /* on_the_fly only */
    AudioBuffer audio;
    Buf bytes;
    Preprocess *preprocess; /* if the data device is the CPU */
    /* If the cache is not read through the mapping: */
    float *pitch;     /* [shape.frames] of a clip */
    int16_t *segment; /* [samples_of_segment] of a clip, for segments */
    float *original;  /* likewise, of a segment whose speed is changed */
    unsigned rows;    /* number of rows loaded so far */
} Worker;

struct Loader {
    LoaderOptions o;
    Worker *workers; /* [max(1, workers)] */
    int64_t batches_per_epoch;
    SpeedFilters *speeds; /* of segments; NULL: they are as fast as they are */
    /* [segments] files of corpus_store and, where segments bring their mels, of those; NULL: they are read
     * through the mapping. */
    int *segment_fd, *mel_fd;
    _Atomic uint8_t *known; /* [corpus->count] what is known about an item's records; bits of loader_row.c */
    _Atomic int64_t lost;
    _Atomic int empty_batches, empty_rows; /* the newest batches in a row without a usable row */
    char why[LOADER_WHY];                  /* of the row that was lost last; under the ring's lock */
    int stop;                              /* ends simulated waits; __atomic */
};

/* Times of several rows, in ns, which are added to the shared counters together. */
typedef struct RowTimes {
    uint64_t read, disk, decode, finish; /* disk: see TRACE_DISK */
} RowTimes;

/* Loads one row and adds its times. Returns 0, or 1 if the utterance is lost and the row empty. injected: 1
 * if it must fail, as the simulated machine demands. */
int loader_fill_row(Loader *l, Worker *w, Slot *s, int row, int injected, RowTimes *times);
void loader_empty_row(const Slot *s, int row);
/* Preprocesses one row, if the data device is the CPU. in_place: its mel in the mapped cache or its samples,
 * if they were not copied into the slot; else NULL. */
void loader_finish_row(Loader *l, Worker *w, const Slot *s, int row, const void *in_place);
/* Chooses the voice reference of each row (BatchLayout.reference). Call when all rows are loaded: only then
 * it is known which are lost. */
void loader_choose_references(const Loader *l, const Slot *s);

#endif
