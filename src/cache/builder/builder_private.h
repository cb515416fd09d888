/* builder_private.h - what builder.c, builder_audio.c and builder_share.c have in common. */
#ifndef MYXTTS_BUILDER_PRIVATE_H
#define MYXTTS_BUILDER_PRIVATE_H

#include "base/progress.h"
#include "cache/builder/builder.h"
#include "cache/store/store_part.h"

/* Where the record of an utterance comes from. */
enum { FROM_NOWHERE, FROM_OLD, FROM_SALVAGE, FROM_WORK };
typedef struct Source {
    FileStamp stamp; /* from_audio; zeros otherwise */
    int64_t number;  /* old entry or salvage token; of FROM_WORK the old entry to compare with, or -1 */
    Hash128 old_key; /* of FROM_WORK: the key of that entry; zeros: there is none */
    uint8_t from;
} Source;

typedef struct Worker { /* one per thread */
    void *state;        /* the producer's */
    Buf bytes;
} Worker;

struct Builder {
    const Producer *producer;
    char *dir; /* of its store; see places.h */
    Preparation *p;
    CacheReport *report;
    StoreBuild *build; /* the leader's; NULL on others */
    StorePart part;    /* records of this process */
    Store old_store;
    const Store *old; /* the leader's; NULL when there is no old state to use */
    uint8_t *damaged; /* [old->count], or NULL when it was not verified */
    Hash128 settings;
    Source *sources;   /* [dataset->count]; on others than the leader FROM_WORK alone is known */
    uint8_t *accepted; /* [entries of the new state] */
    uint32_t *work;    /* [work_count] utterances to produce, by whomever, in order */
    int *owners;       /* [work_count] member of the group that does it */
    size_t work_count;
    uint32_t *mine; /* [mine_count] those of this process */
    size_t mine_count;
    size_t handed; /* of mine, given out by builder_next */
    size_t placed; /* of mine, with a record or the reason why there is none */
    Buf told;      /* Told of those, each with its IndexEntry, with nothing (the old one holds) or a detail */
    Worker *workers;
    Produced *results; /* [slots] */
    int threads, slots;
    Progress progress;
    char verifying[24]; /* name of the progress line */
};

/* builder_audio.c: has this process's utterances made from their audio files, by threads. */
int builder_run_audio(Builder *b, Err *err);

/* builder_share.c. All are collective. */

/* Finds the stamps of all audio files, each member some of them, and rejects utterances without one. */
int builder_stamp(Builder *b, Err *err);
/* The leader tells what work there is and where to write; all others take it over. */
int builder_plan(Builder *b, Err *err);
/* Gives every utterance of b->work to a member. */
int builder_share_out(Builder *b, Err *err);
/* What the members made of their utterances, for builder_told_of, after it the sizes of parts; the part of
 * this process is a segment by then. */
int builder_tell(Builder *b, SharePieces *pieces, Err *err);
/* After the commit: rejections that the leader made of records; the new index can be seen. */
int builder_follow_commit(Builder *b, Buf *rejections, Err *err);

#endif
