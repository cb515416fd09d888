/* corpus_doubts.h - what is wrong with a corpus that training would not stumble over, and that its owner has
 * to know before the first step: too little, always the same, a few clips far too loud, recordings without
 * high frequencies. `train` warns of it, `validate` lists it. Threads: any. */
#ifndef MYXTTS_CORPUS_DOUBTS_H
#define MYXTTS_CORPUS_DOUBTS_H

#include "config/config.h"
#include "pipeline/corpus.h"

typedef enum { DOUBT_FEW, DOUBT_SAME_TEXT, DOUBT_LOUD, DOUBT_NARROW, DOUBT_COUNT } DoubtKind;

typedef struct Doubt {
    DoubtKind kind;
    const char *key; /* of the setting that it is about; NULL: none */
    char what[300];  /* sentences without a full stop at the end */
    char why[300];
    char fix[300];
} Doubt;

/* Writes the doubts about a prepared corpus, at most one of each kind, and returns their number. Reads the
 * caches, and the headers of some recordings. */
int corpus_doubts(Doubt out[DOUBT_COUNT], const Corpus *train, const Config *cfg);

#endif
