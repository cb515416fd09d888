/* alignment.h - which frames of a recording belong to which symbol, for every clip of a corpus: the durations
 * that a trained network finds, by the search of docs/MODEL.md. And what follows from them: times, phones,
 * words.
 * Threads: align_clips one, the sink is called in the caller's; the others any. */
#ifndef MYXTTS_ALIGNMENT_H
#define MYXTTS_ALIGNMENT_H

#include <stdint.h>

#include "base/err.h"
#include "train/listen/evaluate.h"
#include "train/step/engine.h"

typedef struct ClipAlignment { /* valid inside of the sink */
    uint32_t item;             /* of the corpus */
    const int32_t *tokens;     /* [text] */
    const int32_t *durations;  /* [text] frames, each at least 1; they sum to `frames` */
    int text, frames;
    float cost; /* mean squared distance of the normalised mel from mu, over frames and bands */
    int row;    /* of the batch in the engine: engine_look(e, row, ...) shows more */
} ClipAlignment;

/* What is not 0 ends the pass and is returned. */
typedef int (*AlignmentSink)(void *arg, const ClipAlignment *clip, Err *err);

/* Every clip of the corpus once, in any order, batch by batch. A clip that cannot be loaded is named on the
 * log and not handed over. e: its weights loaded, large enough for the corpus (corpus_shape). ERR_NOMEM,
 * ERR_DEVICE, the pipeline's errors. */
int align_clips(Engine *e, const EvaluateOptions *o, AlignmentSink sink, void *arg, Err *err);

/* --- times --- */

/* Where a clip is in its file. Silence is cut off before the mel is made; frame m is centred on sample m *
 * hop of what is left, so that a symbol which begins with frame m begins half a hop before. */
typedef struct ClipTime {
    double offset;   /* seconds that were cut off at the beginning */
    int64_t samples; /* that were left */
    int rate, hop;   /* of the mel */
} ClipTime;
/* Seconds from the beginning of the file to the beginning of a frame, not outside of what was left. */
double clip_seconds(const ClipTime *t, int64_t frame);

/* --- what symbols belong together --- */

typedef struct SymbolSpan {
    int from, to; /* symbols from .. to - 1; a blank belongs to what comes before it */
} SymbolSpan;
/* Words: symbols without a space or punctuation between them; an apostrophe between letters is part of a
 * word. out [text]; returns how many. */
int alignment_words(SymbolSpan *out, const int32_t *tokens, int text);
/* Phones: a phoneme with the stress before it and the marks behind it (length, tone, diacritics). Space,
 * punctuation, begin and end belong to none. out [text]; returns how many. */
int alignment_phones(SymbolSpan *out, const int32_t *tokens, int text);

#endif
