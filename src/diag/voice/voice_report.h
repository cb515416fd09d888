/* voice_report.h - facts and findings about a voice, as JSON, as text, and as a list of lines to listen to.
 * Threads: one. */
#ifndef MYXTTS_DIAG_VOICE_REPORT_H
#define MYXTTS_DIAG_VOICE_REPORT_H

#include <jansson.h>

#include "base/log.h"
#include "diag/voice/voice_facts.h"
#include "train/listen/hearing.h"

typedef struct VoiceReportOptions {   /* what is NULL or 0 is not examined */
    const char *run;                  /* folder of a run, or its log; a missing log is not an error */
    const Config *cfg;                /* of the voice */
    const Corpus *train, *validation; /* of the dataset that the voice is made from */
    int look;                         /* number of recordings to decode: VOICE_LOOK */
    Engine *engine;                   /* with its weights loaded; set together with align */
    const EvaluateOptions *align;     /* the clips to align */
    const double *terms;              /* [TERM_COUNT] of a validation at `step`; used if the log has none */
    int64_t step;                     /* of the checkpoint; -1: unknown */
    const VoiceHeard *heard;          /* newer than those of the log */
} VoiceReportOptions;

typedef struct VoiceReport {
    VoiceFacts facts;
    VoiceFinding findings[VOICE_CAUSE_COUNT]; /* worst first */
    int count;
    int has_log, has_corpus, has_alignment;
    int64_t step; /* as in the options */
} VoiceReport;

/* ERR_NOMEM, ERR_IO, ERR_DEVICE, or an error of the pipeline. Call voice_report_close even after an error. */
int voice_report(VoiceReport *r, const VoiceReportOptions *o, Err *err);
void voice_report_close(VoiceReport *r); /* a zeroed one is allowed */

/* The result of a hearing as a fact; all 0 if there was none. */
VoiceHeard voice_heard(const Heard *h);

/* {"findings": [{cause, evidence, advice, step, clips}], "facts": {...}}; a new reference, NULL if out of
 * memory. */
json_t *voice_report_json(const VoiceReport *r);
/* One finding; clips are the ids it concerns, as far as they are known. */
json_t *voice_finding_json(const VoiceFinding *v, const VoiceFacts *f);
void voice_report_text(Buf *out, const VoiceReport *r);
/* Writes the suspects atomically, worst first: a header, then id, score, cost, other_cost, text. If there are
 * none, only the header, so that no older list remains. */
int voice_report_suspects(const VoiceReport *r, const char *path, Err *err);

#endif
