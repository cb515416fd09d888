/* share.h - the ranks that prepare one cache folder together.
 * Of the ranks of a run, those that see the same folder form a group; if each host keeps its caches on its
 * own disk, each host is a group. The lowest rank of a group leads: it holds the lock, decides what has to be
 * done and commits. Every rank does a share of the work.
 *
 * A zeroed Share is one process alone: everything below is allowed and does what one process does.
 * Collective calls have to be made by every rank of the run, of all groups, in the same order; they return
 * ERR_RANKS when another rank has failed. Threads: one; share_tell and share_done: any. */
#ifndef MYXTTS_SHARE_H
#define MYXTTS_SHARE_H

#include <semaphore.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/thread.h"
#include "ranks/ranks.h"

#define SHARE_TOKEN "ranks-" /* begins the names of the files by which ranks find each other in a folder */

typedef struct Share {
    Ranks *ranks;     /* NULL: alone */
    int rank, others; /* number in the group, from 0, the leader, on; how many more members there are */
    int *members;     /* [others + 1] their ranks; NULL: alone */
    int cores;        /* of this host, for this rank; 0: alone, all of them */
    /* Progress is told as the number of items since share_open. [ranks_count] items of each rank before this
     * work, and in it. */
    uint64_t *before, *items;
    uint64_t told; /* of this rank */
    struct ShareWatch {
        Thread thread;
        void (*look)(void *user);
        void *user;
        sem_t end;
    } watch;
} Share;

/* Collective. dir is there and can be written. Closed after a failure. */
int share_open(Share *s, Ranks *ranks, const char *dir, Err *err);
void share_close(Share *s); /* a zeroed or closed one is allowed */

static inline int share_count(const Share *s) { return s->others + 1; }
static inline int share_leads(const Share *s) { return s->rank == 0; }
/* "rank 2 on host-b": member k of the group. Returns out. */
const char *share_name(const Share *s, int k, char *out, size_t cap);

/* What every member gave, in their order; valid until share_pieces_free. */
typedef struct SharePiece {
    const char *data;
    size_t size;
} SharePiece;
typedef struct SharePieces {
    SharePiece *of; /* [share_count] */
    Buf all;
} SharePieces;
/* Collective. mine is cleared. Nothing is allocated after a failure. */
int share_exchange(Share *s, SharePieces *out, Buf *mine, Err *err);
void share_pieces_free(SharePieces *p); /* a zeroed or freed one is allowed */
/* Collective: data becomes that of the leader. */
int share_follow(Share *s, Buf *data, Err *err);
/* Collective: ERR_CONFIG unless all ranks have the same value. what: "the metadata". */
int share_agree(Share *s, const char *what, uint64_t value, Err *err);

/* Collective: begins work of which this rank does `items`; *all is that of all ranks. */
int share_begin(Share *s, uint64_t items, uint64_t *all, Err *err);
/* Tells the others that this many of its items are done. */
void share_tell(Share *s, uint64_t done);
/* Says that this rank gets ahead: a rank that others wait for and that reports nothing for two minutes counts
 * as stuck. share_tell says so too. */
void share_alive(Share *s);
/* From begin to end a thread says so again and again, and calls look (NULL: nothing), for work that takes
 * its time in one piece, as an fsync. No process may be forked meanwhile. */
void share_watch_begin(Share *s, void (*look)(void *user), void *user);
void share_watch_end(Share *s);
/* The number that the other ranks have done of this work, as far as they have told. */
uint64_t share_done(const Share *s);
int share_failed(const Share *s); /* 1: a rank has failed, the work is in vain */

/* ---- what members say about utterances ---- */

typedef struct Told {
    uint32_t utterance;
    uint16_t reason; /* RejectReason; then the data is the detail, without a NUL */
    uint16_t size;   /* of the data that follows */
} Told;
void told_add(Buf *out, size_t utterance, int reason, const void *data, size_t size);
/* The next one of a piece, which moves on; *data is not aligned. 0: there is none. */
int told_next(SharePiece *p, Told *t, const void **data);

#endif
