/* clip_facts.h - what is known of every clip of a dataset: from the caches where it is prepared, else from a
 * look at some of its recordings. corpus_doubts.h judges it. Threads: any. */
#ifndef MYXTTS_DIAG_CLIP_FACTS_H
#define MYXTTS_DIAG_CLIP_FACTS_H

#include "audio/measure.h"
#include "base/err.h"
#include "cache/store/store.h"
#include "config/config.h"
#include "dataset/dataset.h"

#define VOICE_NUMBERS 13 /* twelve of the mean spectrum, and the pitch in semitones */

typedef struct ClipFacts {
    uint32_t utterance;
    double seconds;             /* of the file; 0: not known */
    double kept;                /* seconds after trimming; 0: not known */
    double clipped;             /* share of the samples */
    double symbols;             /* that are spoken */
    int is_measured;            /* measure is known */
    AudioMeasure measure;       /* of the file */
    int has_voice;              /* voice is known */
    float voice[VOICE_NUMBERS]; /* how the clip sounds as a whole */
} ClipFacts;

typedef struct CorpusFacts {
    const Config *cfg;
    const Dataset *dataset;
    ClipFacts *clip; /* [count] that can be used, in the order of the dataset */
    size_t count;
    size_t measured; /* clips whose measure is known; others were left out to save time */
    size_t speakers;
    double minutes; /* of speech, after trimming where that is known */
} CorpusFacts;

typedef struct FactsInput {
    const Config *cfg;
    const Dataset *dataset;
    const Store *text, *mel, *audio; /* closed or NULL: not prepared */
    const double *seconds;           /* [dataset->count] by the headers, 0: unusable; NULL: the stores know */
} FactsInput;

/* Recordings that no cache tells of are decoded, MOST_LOOKS of them at most, evenly spread. The facts point
 * into cfg and dataset. Closed after a failure. ERR_NOMEM. */
#define MOST_LOOKS 200
int corpus_facts_open(CorpusFacts *f, const FactsInput *in, Err *err);
void corpus_facts_close(CorpusFacts *f); /* a zeroed one is allowed */

#endif
