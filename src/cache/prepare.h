/* prepare.h - a dataset folder -> caches that are complete and verified.
 * Reads the metadata, checks every audio header, builds what is missing or changed, and writes rejected.tsv
 * next to the caches. Of two runs on one cache folder, the second waits for the first and then finds the work
 * done. Ranks that see the same folder share the work out, and one store results; a host whose folder is its
 * own prepares for itself. Threads: call from a process with no other threads (it forks phonemiser
 * processes), unless no_fork is set. */
#ifndef MYXTTS_PREPARE_H
#define MYXTTS_PREPARE_H

#include <stdint.h>

#include "base/err.h"
#include "base/log.h"
#include "cache/builder/builder.h"
#include "cache/features.h"
#include "cache/limits.h"
#include "cache/places.h"
#include "config/config.h"
#include "dataset/dataset.h"

typedef struct PrepareOptions {
    int text, mel, audio; /* 1: build this cache */
    int prune;            /* 1: remove the caches of other settings, when all else went well */
    int verify;           /* 1: check every byte of the caches and rebuild what is damaged */
    Dataset *keep;        /* receives the dataset that was read; the caller closes it. May be NULL */
    int keep_changed;     /* 1: keep may stay closed where nothing has changed: its root is NULL then */
    Ranks *ranks; /* who prepares together; NULL: this process alone. prepare_run is then collective */
    int no_fork;  /* 1: phonemes are made in this process, one line at a time; see phoneme_pool.h */
    /* Ends with ERR_STOPPED soon after another thread has set it; what was built by then stays. NULL: nobody
     * does. */
    const int *stop;
} PrepareOptions;

typedef struct PrepareReport {
    char *cache_dir, *rejected_path; /* malloc'd */
    uint64_t lines, accepted, rejected;
    uint64_t by_reason[REJECT_COUNT];
    CacheReport text, mel, audio; /* of all ranks of the folder; only the lowest of them knows */
    double seconds;               /* that the run took */
    double audio_seconds;         /* length of the accepted clips before trimming */
    uint64_t clipped;             /* accepted clips that are clipped, and the share of their samples */
    double clipped_share;
    uint64_t tokens, frames;            /* of the accepted utterances */
    uint32_t longest_text, longest_mel; /* tokens and frames, of all utterances, before the limits */
    uint32_t *unknown;                  /* [unknown_count] pairs: code point, occurrences; malloc'd */
    size_t unknown_count;
    CacheList caches; /* all in the folder, those of other settings too */
    size_t pruned;    /* caches that were removed, and their bytes */
    uint64_t freed;
    LimitCosts limits;
    int unchanged; /* 1: everything is as the last run left it */
    Hash128 state; /* of everything that was found; zeros: it was not noted */
} PrepareReport;

int prepare_run(const Config *cfg, const PrepareOptions *options, PrepareReport *report, Log *log, Err *err);
void prepare_report_free(PrepareReport *r);
#define PREPARE_MUCH_CLIPPED 0.02 /* of the clips: worth a warning */
/* "3 of 12 clips are clipped: 4.1 % of their samples ...". Returns out; "" if none is. */
const char *prepare_clipped_sentence(const PrepareReport *r, char *out, size_t cap);
/* Takes the lock of a cache folder, which has to be there; waits for another run, which is said. *waited: it
 * did, so that what was read before may be old by now. */
int prepare_lock(FileLock *lock, int *waited, const char *dir, Log *log, Err *err);
char *prepare_cache_dir(const Config *cfg); /* cache_dir, or <data_path>/myxtts-cache; malloc'd */

#endif
