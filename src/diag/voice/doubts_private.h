/* doubts_private.h - between corpus_doubts.c and doubts_sound.c. */
#ifndef MYXTTS_DIAG_DOUBTS_PRIVATE_H
#define MYXTTS_DIAG_DOUBTS_PRIVATE_H

#include "diag/voice/corpus_doubts.h"

/* What the judges of one kind share. */
typedef struct Judging {
    Doubts *d;
    const CorpusFacts *f;
    double *values;  /* [clips] scratch, of which medians sort a part */
    uint8_t *is_odd; /* [clips] 1: the sound has another doubt, so that it says nothing about the voice */
    int failed;      /* out of memory */
} Judging;

/* Begins a doubt, which counts only when it has a sentence in `what`. */
Doubt *doubt_begin(Judging *j, DoubtKind kind, int is_finding);
/* Adds a clip by its place in facts; order: lower is worse. */
void doubt_add(Judging *j, Doubt *d, size_t clip, double value, double order);

/* The usual recording first, then those that are not. */
void judge_sound(Judging *j);

#endif
