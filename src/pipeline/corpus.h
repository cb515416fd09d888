/* corpus.h - the prepared dataset as the loader needs it: for every usable utterance its tokens, its mel and
 * its speaker. Opens metadata and caches (no audio file is looked at) and keeps what prepare accepted and
 * what is not over the limits of length. cache_verification full: every record is checked here and a damaged
 * one left out; otherwise the loader checks each when it is first used, unless off. Threads: read-only after
 * corpus_open. */
#ifndef MYXTTS_CORPUS_H
#define MYXTTS_CORPUS_H

#include <stdint.h>

#include "base/err.h"
#include "base/log.h"
#include "cache/features.h"
#include "config/config.h"
#include "dataset/dataset.h"
#include "pipeline/sampler.h"

typedef struct CorpusItem {
    uint32_t utterance; /* in dataset.utterances */
    uint32_t text_entry, mel_entry;
    int32_t speaker; /* 0 .. speaker_count - 1 */
} CorpusItem;

typedef struct Corpus {
    Dataset dataset;
    Store text, mel;
    CorpusItem *items;     /* [count] in dataset order, of one split */
    SampleLength *lengths; /* [count] */
    uint32_t count;
    const Str *speakers; /* [speaker_count] sorted by name, over the whole dataset, so that both splits number
                            them alike */
    int32_t speaker_count;
    MelStatistics statistics;
    const double *mean, *deviation; /* [bands] */
    uint64_t left_out; /* utterances of this split that are rejected, missing in a cache, or over a limit */
    void *own;
} Corpus;

/* ERR_MISSING with a hint to run prepare when a cache is not there or holds for other settings. */
int corpus_open(Corpus *c, const Config *cfg, Split split, Log *log, Err *err);
void corpus_close(Corpus *c);

#endif
