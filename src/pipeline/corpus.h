/* corpus.h - the prepared dataset as the loader needs it: for every usable utterance of one split its tokens,
 * its mel and its speaker. Opens the metadata and the caches; no audio file is looked at. Keeps what
 * cache/accept.h accepts. cache_verification full: every record is checked here and a damaged one left out;
 * otherwise the loader checks each record when it is first used, unless the setting is off.
 * Threads: read-only after corpus_open. */
#ifndef MYXTTS_CORPUS_H
#define MYXTTS_CORPUS_H

#include <stdint.h>

#include "base/err.h"
#include "base/log.h"
#include "cache/features.h"
#include "config/config.h"
#include "dataset/dataset.h"
#include "pipeline/sampler.h"

/* Metadata and caches, opened once: the corpora of both splits look into it. */
typedef struct CorpusSource CorpusSource;
/* dataset: one that is open already (of prepare_run), so that the metadata is not read again; it becomes the
 * source's and is left closed, also on failure. NULL: read here. ERR_MISSING with a hint to run prepare when
 * a cache is not there or was made with other settings. *s is NULL after a failure. */
int corpus_source_open(CorpusSource **s, const Config *cfg, Dataset *dataset, Err *err);
void corpus_source_close(CorpusSource *s); /* NULL is fine; its corpora must be closed before */

typedef struct CorpusItem {
    uint32_t utterance; /* in dataset.utterances */
    uint32_t text_entry, mel_entry;
    int32_t speaker; /* 0 .. speaker_count - 1 */
} CorpusItem;

typedef struct Corpus {
    Dataset dataset;       /* a view of the source's, as are the stores */
    Store text, mel;       /* views */
    CorpusItem *items;     /* [count] in dataset order, of one split */
    SampleLength *lengths; /* [count] */
    uint32_t count;
    const Str *speakers; /* [speaker_count] sorted by name, over the whole dataset, so that both splits number
                            them alike */
    int32_t speaker_count;
    MelStatistics statistics;
    const double *mean, *deviation; /* [bands] */
    uint64_t left_out; /* utterances of this split that are rejected, missing in a cache, or over a limit */
    CorpusSource *own; /* opened by corpus_open, and closed with the corpus; NULL: the caller's */
} Corpus;

/* One split of a source, which must outlive it. c is closed after a failure. */
int corpus_open_split(Corpus *c, const CorpusSource *source, const Config *cfg, Split split, Log *log,
                      Err *err);
/* The same with a source of its own. */
int corpus_open(Corpus *c, const Config *cfg, Split split, Log *log, Err *err);
void corpus_close(Corpus *c); /* always safe */

#endif
