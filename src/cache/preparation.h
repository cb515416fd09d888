/* preparation.h - the state of a run of `prepare`: the dataset, and what has been rejected so far.
 * Threads: belongs to one caller, which holds the lock of the cache folder. */
#ifndef MYXTTS_PREPARATION_H
#define MYXTTS_PREPARATION_H

#include <stdint.h>

#include "base/err.h"
#include "base/log.h"
#include "cache/builder/share.h"
#include "config/config.h"
#include "dataset/dataset.h"

typedef struct Preparation {
    const Config *cfg;
    Dataset *dataset;
    const char *dir;   /* cache folder, locked */
    uint8_t *rejected; /* [dataset->count] RejectReason so far; set by preparation_reject */
    Buf told;          /* Told of each of them */
    uint8_t *probed;   /* [dataset->count] 1: the header of its audio file has been checked */
    uint64_t *stamps;  /* [dataset->count] preparation_stamp, 0: no recording; NULL: not looked */
    int unsteady;      /* 1: the next run has something to do, even if nothing changes */
    int workers;       /* >= 0 */
    int verify;        /* 1: check every byte of the old caches first */
    int no_fork;       /* 1: no process may be started */
    int read_only;     /* 1: the folder cannot be written to: all must be there, and nothing is locked */
    const int *stop;   /* see PrepareOptions */
    Log *log;
    Share *share; /* the ranks that prepare the folder together; they all have the same dataset */
} Preparation;

/* The caller has set cfg, dataset, dir, workers, verify, log and share; this allocates the rest. */
int preparation_open(Preparation *p, Err *err);
/* Frees what preparation_open allocated; a zeroed one is allowed. */
void preparation_close(Preparation *p);

/* Threads that look at files: more than compute, as a server that keeps the files answers many at once. */
#define LEAST_LOOKERS 16
static inline int preparation_lookers(int workers)
{
    return workers > 0 && workers < LEAST_LOOKERS ? LEAST_LOOKERS : workers;
}
/* A hash of a recording's stamp, never 0. */
uint64_t preparation_stamp(const FileStamp *s);

/* ERR_STOPPED if somebody wants the run to end, else 0. */
int preparation_check(const Preparation *p, Err *err);

/* Rejects an utterance; later reasons for the same one are ignored. detail is copied. 0 or ERR_NOMEM. */
int preparation_reject(Preparation *p, size_t utterance, RejectReason reason, const char *detail, Err *err);

/* The same with what a member of the group has found; data is its detail. */
int preparation_reject_told(Preparation *p, const Told *t, const void *data, Err *err);

/* The pre-flight check: reads the audio headers of these utterances, many at once, and rejects what cannot be
 * used, so that a bad corpus is known before the long work begins. Each header is read once in a run.
 * Collective: each member of the group reads some of them. */
int preparation_probe(Preparation *p, const uint32_t *utterances, size_t count, Err *err);

#endif
