/* voice_facts.h - the facts of voice_doctor.h, from where they are: a run's log, the caches and recordings of
 * a corpus, a network and its alignment. Each function adds its part to facts that voice_facts_clear or
 * another of them has filled. Threads: one. */
#ifndef MYXTTS_DIAG_VOICE_FACTS_H
#define MYXTTS_DIAG_VOICE_FACTS_H

#include "diag/voice_doctor.h"
#include "pipeline/corpus.h"
#include "train/alignment.h"

/* where: a log, or the folder that holds log.jsonl. Steps that a later resume took back are left out.
 * ERR_MISSING, ERR_IO, ERR_NOMEM. */
int voice_facts_from_log(VoiceFacts *f, const char *where, Err *err);

/* The weights of the loss, which the log does not tell. */
void voice_facts_from_config(VoiceFacts *f, const Config *cfg);

#define VOICE_LOOK 200 /* recordings that are decoded, evenly spread */

/* Both splits of a dataset; validation may be NULL. From the caches, but for up to `look` recordings that are
 * decoded (0: none). ERR_NOMEM; a recording that cannot be read is not looked at. */
int voice_facts_from_corpus(VoiceFacts *f, const Config *cfg, const Corpus *train, const Corpus *validation,
                            int look, Err *err);

/* All clips of o->corpus through the network twice: with their own texts, and with those of others; then
 * voice_suspects. The engine's weights are loaded and it is large enough (corpus_shape). Needs two clips with
 * different texts at the least; with fewer nothing is filled. The errors of align_clips. */
int voice_facts_from_alignment(VoiceFacts *f, Engine *e, const EvaluateOptions *o, Err *err);

#endif
