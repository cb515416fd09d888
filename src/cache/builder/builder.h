/* builder.h - brings the cache of one kind of feature (text, mel) up to date.
 * For every utterance the builder decides where its record comes from: the old state, the leftovers of a
 * killed run, or new work. It has the work done, keeps the order, writes and commits. A Producer defines what
 * a record contains and how it is made; a new kind of cache is a producer and a line in prepare.c.
 *
 * There are two steps, builder_open (looks at every source) and builder_run (builds), so that all audio
 * headers are checked before the long work on the text begins.
 *
 * Threads: a builder belongs to one caller; only a producer's `produce` runs in other threads. */
#ifndef MYXTTS_BUILDER_H
#define MYXTTS_BUILDER_H

#include <stdint.h>

#include "base/hash.h"
#include "base/mem.h"
#include "cache/preparation.h"
#include "cache/store/store.h"

typedef struct Builder Builder;

/* What a producer made of one utterance: a record, or the reason why there is none. */
typedef struct Produced {
    RejectReason reason;
    char detail[256];
    uint32_t items, format; /* of the record, see store.h */
    uint64_t extra;
    Buf payload;
    Hash128 key; /* set by the builder */
    int is_old;  /* set by the builder: the old record is valid for these bytes too, nothing was produced */
} Produced;

/* The contents of an audio file, the bytes that were hashed. */
typedef struct ProducerInput {
    const char *path; /* for messages */
    const void *bytes;
    size_t size;
} ProducerInput;

/* The new state before it is committed. */
typedef struct NewState {
    const Config *cfg;
    Hash128 settings;
    StoreBuild *build;
    const Store *old;        /* NULL if there is no usable old state */
    const uint8_t *accepted; /* [store_build_count(build)] 1: the utterance is used */
} NewState;

typedef struct Producer {
    const char *store; /* name of the store and of the progress line */
    const char *unit;  /* of the progress line: "clips" */
    /* 1: a record is made from the bytes of the audio file; if the file's stamp is unchanged, so are they. 0:
     * it is made from the metadata alone, and the key tells whether they changed. */
    int from_audio;
    /* A hash of all settings and files that records depend on; zeros if it cannot be made. */
    Hash128 (*settings)(const Config *cfg);
    /* A hash of everything a record depends on. audio: hash of the file's bytes; zeros unless from_audio. */
    Hash128 (*key)(Hash128 settings, const Utterance *u, Hash128 audio);
    int (*is_usable)(const StoreEntry *e); /* 1 if an old record can be kept */

    /* With from_audio: open and close make the worker of one thread. `first` is the worker of the first
     * thread (NULL for itself), with which the others may share data; it is closed last. produce cannot fail:
     * errors become a reason. */
    int (*open)(void **worker, const void *first, const Config *cfg, Err *err);
    void (*close)(void *worker); /* NULL is allowed */
    void (*produce)(void *worker, Produced *out, const ProducerInput *in);
    /* Without from_audio: gets the utterances from builder_next and passes the results to builder_place, in
     * the same order. */
    int (*run)(Builder *b, const Preparation *p, int workers, Err *err);

    /* Limits that select among records without changing them. NULL: none. */
    RejectReason (*accept)(const Config *cfg, const StoreEntry *e, char *detail, size_t cap);
    /* Makes the blob of the index, which describes the store as a whole. */
    int (*describe)(const NewState *s, Buf *blob, Err *err);
} Producer;

typedef struct CacheReport {
    uint64_t built, reused;    /* number of utterances whose features are now in the store */
    uint64_t checked, damaged; /* number of records verified, and of damages found */
    double seconds;
} CacheReport;

/* *b is NULL after a failure. */
int builder_open(Builder **b, const Producer *producer, Preparation *p, CacheReport *report, Err *err);
int builder_run(Builder *b, Err *err);
/* NULL is allowed. If the run was not finished, what was written stays for the next one. */
void builder_close(Builder *b);

/* For Producer.run: the next utterance that needs work, or NULL. */
const Utterance *builder_next(Builder *b);
/* For Producer.run: the result for the oldest utterance from builder_next that has none yet. */
int builder_place(Builder *b, Produced *r, Err *err);

#endif
