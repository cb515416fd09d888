/* prepare.h - the first whole capability: a dataset folder -> caches that can be trusted.
 * Reads the metadata, looks at every audio header, builds what is missing or changed, writes rejected.tsv
 * beside the caches. Two runs on one cache folder: the second waits for the first and then finds the work
 * done. Threads: call from one, in a process with no other threads (phonemiser processes are forked). */
#ifndef MYXTTS_PREPARE_H
#define MYXTTS_PREPARE_H

#include <stdint.h>

#include "base/err.h"
#include "base/log.h"
#include "cache/builder.h"
#include "cache/features.h"
#include "config/config.h"
#include "dataset/dataset.h"

typedef struct PrepareOptions {
    int text, mel; /* caches to build */
    int verify;    /* check every byte of the caches, rebuild what is damaged */
    Dataset *keep; /* gets the dataset as it was read, for the caller to close; NULL: not wanted */
} PrepareOptions;

typedef struct PrepareReport {
    char *cache_dir, *rejected_path; /* malloc'd */
    uint64_t lines, accepted, rejected;
    uint64_t by_reason[REJECT_COUNT];
    CacheReport text, mel;
    double seconds, audio_seconds;      /* audio_seconds: of the accepted clips, before trimming */
    uint64_t tokens, frames;            /* of the accepted ones */
    uint32_t longest_text, longest_mel; /* over everything built, before the limits */
    uint32_t *unknown;                  /* pairs code point, occurrences; malloc'd */
    size_t unknown_count;
} PrepareReport;

int prepare_run(const Config *cfg, const PrepareOptions *options, PrepareReport *report, Log *log, Err *err);
void prepare_report_free(PrepareReport *r);
char *prepare_cache_dir(const Config *cfg); /* cache_dir, or <data_path>/myxtts-cache; malloc'd */

#endif
