/* other_texts.h - the clips of a corpus with each other's texts: what a network has learned of the text shows
 * only beside a text that is not said. (The loss of the alignment alone proves nothing: it falls long before
 * sounds and symbols find each other, because silence, voice and noise can be told apart with any text.)
 * Threads: one. */
#ifndef MYXTTS_OTHER_TEXTS_H
#define MYXTTS_OTHER_TEXTS_H

#include "pipeline/corpus.h"
#include "train/listen/evaluate.h"

typedef struct OtherTexts {
    Corpus corpus;    /* items and lengths are its own, the rest is that of the corpus it was made from */
    uint8_t *changed; /* [corpus.count] 1: has another text; 0: none fits, it has kept its own */
    uint32_t count;   /* that are changed */
} OtherTexts;

/* Gives every clip the text of another clip, of about the same length but with other symbols. c must outlive
 * it. ERR_NOMEM: nothing is open. It is not to be closed while a pipeline may still read (ERR_WORKER). */
int other_texts_open(OtherTexts *o, const Corpus *c, Err *err);
void other_texts_close(OtherTexts *o); /* safe on a zeroed one */

/* What the clips' own texts explain of them that others do not, as a share of the alignment's loss: 0 if the
 * network has learned nothing about the text. align: that loss with their own texts (evaluate_batches). NaN
 * where no text can be changed. The errors of evaluate_batches. */
int evaluate_own_text(double *share, double align, Engine *e, const EvaluateOptions *o, Err *err);

#endif
