/* voice_facts.h - gathers the facts of voice_doctor.h from the log of a run, the caches and recordings of a
 * corpus, and a network and its alignment. Call voice_facts_clear first; each function then adds its part.
 * Threads: one. */
#ifndef MYXTTS_DIAG_VOICE_FACTS_H
#define MYXTTS_DIAG_VOICE_FACTS_H

#include "diag/voice/voice_doctor.h"
#include "pipeline/corpus.h"
#include "train/listen/alignment.h"

/* where: a log, or a folder that contains log.jsonl. Steps that a later resume discarded are left out.
 * ERR_MISSING, ERR_IO, ERR_NOMEM. */
int voice_facts_from_log(VoiceFacts *f, const char *where, Err *err);

/* The weights of the loss as they are set now; the log has those that the run began with. */
void voice_facts_from_config(VoiceFacts *f, const Config *cfg);

#define VOICE_LOOK 200 /* number of recordings to decode, evenly spread */

/* Facts about both splits of a dataset (validation may be NULL), from the caches and from up to `look`
 * recordings that are decoded. Recordings that cannot be read are skipped. ERR_NOMEM. */
int voice_facts_from_corpus(VoiceFacts *f, const Config *cfg, const Corpus *train, const Corpus *validation,
                            int look, Err *err);

/* Runs all clips of o->corpus through the network twice, with their own texts and with those of others, then
 * calls voice_suspects. The engine must have its weights and be large enough (corpus_shape). If there are not
 * at least two clips with different texts, nothing is filled. Errors: those of align_clips. */
int voice_facts_from_alignment(VoiceFacts *f, Engine *e, const EvaluateOptions *o, Err *err);

#endif
