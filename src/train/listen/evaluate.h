/* evaluate.h - how good a network is on clips it has not seen: its loss, and how it speaks. */
#ifndef MYXTTS_EVALUATE_H
#define MYXTTS_EVALUATE_H

#include "model/synthesis.h"
#include "pipeline/corpus.h"
#include "train/step/engine.h"
#include "voice/checkpoint.h"
#include "voice/speak.h"

typedef struct EvaluateOptions {
    const Config *cfg;
    const Corpus *corpus;
    Device *data, *model;
    Log *log;
    /* Raised to what the devices have in use while the clips go through; may be NULL. */
    uint64_t *peak_model, *peak_data;
    int64_t *lost; /* raised by the clips that could not be loaded, on all ranks; may be NULL */
    Ranks *ranks;  /* that share the clips out; those of the engine. NULL: alone */
} EvaluateOptions;

/* All clips of the corpus once through the network, with their own durations, without dropout and
 * augmentation: the loss per frame, NaN where no clip could be loaded. `each` (NULL: none) is called behind
 * every batch, numbered from 0, while the engine has what became of it; what is not 0 ends the pass. */
typedef int (*EvaluatedBatch)(void *arg, Engine *e, int64_t number, Err *err);
int evaluate_batches(double terms[TERM_COUNT], Engine *e, const EvaluateOptions *o, EvaluatedBatch each,
                     void *arg, Err *err);

/* The padded size of the largest batch (of a share, see policy_shares) of both corpora; b may be NULL. */
EngineShape corpus_shape(const Config *cfg, int ranks, const Corpus *a, const Corpus *b);
/* Of the speech that a training tries itself on; of a vocoder the frames count alone. */
SynthesisLimits synthesis_limits(const Config *cfg, const EngineShape *largest);

#endif
