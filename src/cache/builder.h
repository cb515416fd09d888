/* builder.h - brings the cache of one kind of feature up to date: text, mel, and what may come.
 * The builder decides for every utterance where its record comes from: the old state, what a killed run left
 * behind, or new work. It has the work done, keeps the order, writes and commits. What a record holds and
 * how it is made is the producer's: a new kind of cache is one producer and one line in prepare.c.
 * Two halves, so that the pre-flight of the audio comes before the long work on the text: open looks at every
 * source, run builds.
 * Threads: a builder belongs to one caller; only a producer's `produce` runs in other threads. */
#ifndef MYXTTS_BUILDER_H
#define MYXTTS_BUILDER_H

#include <stdint.h>

#include "base/hash.h"
#include "base/mem.h"
#include "cache/preparation.h"
#include "cache/store.h"

typedef struct Builder Builder;

/* What a producer made of one utterance: a record, or the reason why there is none. */
typedef struct Produced {
    RejectReason reason;
    char detail[256];
    uint32_t items, format; /* of the record, see store.h */
    uint64_t extra;
    Buf payload;
    Hash128 key; /* set by the builder */
    int is_old;  /* set by the builder: the old record holds for these bytes too, nothing was produced */
} Produced;

/* An audio file as it was read; the bytes are those that were hashed. */
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
    const Store *old;        /* NULL when there is no old state to use */
    const uint8_t *accepted; /* [store_build_count(build)] 1: the utterance is used */
} NewState;

typedef struct Producer {
    const char *store; /* its name; also that of the progress line */
    const char *unit;  /* of progress: "clips" */
    /* 1: a record is made from the bytes of the audio file; the file's stamp says whether they are still the
     * same. 0: from the metadata alone; the key says it. */
    int from_audio;
    Hash128 (*settings)(const Config *cfg); /* of everything that shapes the records; zeros: no memory */
    /* What a record holds for. audio: hash of the file's bytes; zeros unless from_audio. */
    Hash128 (*key)(Hash128 settings, const Utterance *u, Hash128 audio);
    int (*is_usable)(const StoreEntry *e); /* 1 when an old record can be kept */

    /* from_audio: each thread has a worker. first is that of the first thread, which the others may share
     * from (NULL for the first itself); it is closed last. produce never fails: what goes wrong is a
     * reason. */
    int (*open)(void **worker, const void *first, const Config *cfg, Err *err);
    void (*close)(void *worker); /* NULL is fine */
    void (*produce)(void *worker, Produced *out, const ProducerInput *in);
    /* Otherwise: fetches the utterances with builder_next and hands the results to builder_place, in that
     * order. */
    int (*run)(Builder *b, const Preparation *p, int workers, Err *err);

    /* Limits that choose among records without changing them. NULL: none. */
    RejectReason (*accept)(const Config *cfg, const StoreEntry *e, char *detail, size_t cap);
    /* What stands in the index for the store as a whole. */
    int (*describe)(const NewState *s, Buf *blob, Err *err);
} Producer;

typedef struct CacheReport {
    uint64_t built, reused;    /* utterances whose features are now in the store */
    uint64_t checked, damaged; /* records whose bytes were verified, and findings among them */
    double seconds;
} CacheReport;

/* *b is NULL after a failure. */
int builder_open(Builder **b, const Producer *producer, Preparation *p, CacheReport *report, Err *err);
int builder_run(Builder *b, Err *err);
void builder_close(Builder *b); /* NULL is fine; without a finished run what was written stays for the next */

/* For a producer's run. The next utterance that needs work, or NULL. */
const Utterance *builder_next(Builder *b);
/* The result for the oldest utterance of builder_next that has none. */
int builder_place(Builder *b, Produced *r, Err *err);

#endif
