/* voice_report.h - facts and findings about a voice together, as JSON, as text, and as a list of lines to
 * listen to. Threads: one. */
#ifndef MYXTTS_DIAG_VOICE_REPORT_H
#define MYXTTS_DIAG_VOICE_REPORT_H

#include <jansson.h>

#include "base/log.h"
#include "diag/voice_facts.h"
#include "train/hearing.h"

typedef struct VoiceReportOptions {   /* what is NULL or 0 is not looked at */
    const char *run;                  /* folder of a run, or its log; one without a log is no error */
    const Config *cfg;                /* of the voice */
    const Corpus *train, *validation; /* of the dataset it is made from */
    int look;                         /* recordings to decode: VOICE_LOOK */
    Engine *engine;                   /* with its weights loaded; goes together with align */
    const EvaluateOptions *align;     /* the clips that are aligned, twice */
    const double *terms;     /* [TERM_COUNT] of a validation at `step`; used where the log has none */
    int64_t step;            /* of the checkpoint; -1: not known */
    const VoiceHeard *heard; /* newer than what the log has */
} VoiceReportOptions;

typedef struct VoiceReport {
    VoiceFacts facts;
    VoiceFinding findings[VOICE_CAUSE_COUNT]; /* worst first */
    int count;
    int has_log, has_corpus, has_alignment;
    int64_t step; /* as in the options */
} VoiceReport;

/* ERR_NOMEM, ERR_IO, ERR_DEVICE, the pipeline's errors. Call voice_report_close in every case. */
int voice_report(VoiceReport *r, const VoiceReportOptions *o, Err *err);
void voice_report_close(VoiceReport *r); /* safe on a zeroed one */

/* What a listener has heard, as a fact; all 0 where nobody has. */
VoiceHeard voice_heard(const Heard *h);

/* {"findings": [{cause, evidence, advice, step, clips}], "facts": {...}}; new, NULL on no memory. */
json_t *voice_report_json(const VoiceReport *r);
/* One finding; clips are the ids it is about, as far as they are known. */
json_t *voice_finding_json(const VoiceFinding *v, const VoiceFacts *f);
void voice_report_text(Buf *out, const VoiceReport *r);
/* The suspects, worst first: id, score, cost, other_cost, text, with a header. Also where there are none: an
 * older list does not stay. Atomic. */
int voice_report_suspects(const VoiceReport *r, const char *path, Err *err);

#endif
