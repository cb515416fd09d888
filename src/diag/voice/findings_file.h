/* findings_file.h - prepared.findings, beside the caches: what prepare has said about recordings and texts,
 * so that it can repeat it for an unchanged dataset without looking at every clip. Threads: any.
 */
#ifndef MYXTTS_DIAG_FINDINGS_FILE_H
#define MYXTTS_DIAG_FINDINGS_FILE_H

#include "base/hash.h"
#include "diag/voice/corpus_report.h"

typedef struct Findings {
    int findings; /* as in Doubts */
    Buf text;     /* corpus_check_print */
    Buf json;     /* an object, corpus_check_json */
} Findings;

/* 0 or ERR_NOMEM. */
int findings_take(Findings *f, const CorpusCheck *check, const char *more, Err *err);
void findings_free(Findings *f); /* a zeroed or freed one is allowed */

/* state: PrepareReport.state. 1, or 0 if the file was made of another state, with other settings, in another
 * language or by another program, or if findings.tsv or clip.facts are not as they were left. */
int findings_file_read(Findings *f, const char *dir, const Config *cfg, Hash128 state);
/* When findings.tsv is written. Failing is allowed: the next run looks at the clips. */
void findings_file_write(const Findings *f, const char *dir, const Config *cfg, Hash128 state);

#endif
