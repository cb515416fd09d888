/* clip_facts.h - what is known about every clip of a dataset: from the caches where it is prepared, else from
 * a look at some of its recordings. corpus_doubts.h judges it. Threads: any. */
#ifndef MYXTTS_DIAG_CLIP_FACTS_H
#define MYXTTS_DIAG_CLIP_FACTS_H

#include "audio/measure.h"
#include "base/err.h"
#include "cache/store/store.h"
#include "config/config.h"
#include "dataset/dataset.h"

#define VOICE_NUMBERS 13 /* twelve of the mean spectrum, and the pitch in semitones */

typedef struct ClipFacts {      /* also as it is on disk, see facts_file.h */
    double seconds;             /* of the file; 0: not known */
    double kept;                /* seconds after trimming; 0: not known */
    double clipped;             /* share of the samples */
    double symbols;             /* that are spoken */
    AudioMeasure measure;       /* of the file */
    float voice[VOICE_NUMBERS]; /* how the clip sounds as a whole */
    uint32_t utterance;
    int32_t is_measured; /* measure is known */
    int32_t has_voice;   /* voice is known */
    int32_t has_note;    /* the text has one, see text_notes.h */
    uint64_t text_hash;  /* dataset_text_hash */
} ClipFacts;

typedef struct CorpusFacts {
    const Config *cfg;
    const Dataset *dataset;
    const ClipFacts *clip; /* [count] that can be used, in the order of the dataset */
    size_t count;
    size_t measured; /* clips whose measure is known; others were left out to save time */
    size_t speakers;
    double minutes;    /* of speech, after trimming where that is known */
    ClipFacts *looked; /* clip, when it was gathered here; NULL: it is in file */
    FileMap file;
} CorpusFacts;

typedef struct FactsInput {
    const Config *cfg;
    const Dataset *dataset;
    const char *dir;       /* of the caches, whether they are there or not */
    const double *seconds; /* [dataset->count] by the headers, 0: unusable; NULL: the caches know */
    int keep;              /* 1: what was gathered is kept in dir for the next start (without seconds) */
} FactsInput;

/* Recordings that no cache tells of are decoded, MOST_LOOKS of them at most, evenly spread. The facts point
 * into cfg and dataset. Closed after a failure. ERR_NOMEM. */
#define MOST_LOOKS 200
int corpus_facts_open(CorpusFacts *f, const FactsInput *in, Err *err);
void corpus_facts_close(CorpusFacts *f); /* a zeroed one is allowed */

#endif
