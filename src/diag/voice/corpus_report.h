/* corpus_report.h - a dataset looked at as a whole: facts, doubts, and how they are told (terminal, JSON,
 * findings.tsv). `info`, `prepare`, `validate` and `train` come through here, so that they say the same.
 * Threads: one. */
#ifndef MYXTTS_DIAG_CORPUS_REPORT_H
#define MYXTTS_DIAG_CORPUS_REPORT_H

#include <jansson.h>

#include "base/err.h"
#include "base/mem.h"
#include "diag/voice/corpus_doubts.h"

typedef struct CorpusCheck {
    CorpusFacts facts;
    Doubts doubts;
} CorpusCheck;

/* Reads the caches of these settings, where there are any. seconds and keep: as in FactsInput. Closed after a
 * failure. */
int corpus_check_open(CorpusCheck *c, const Config *cfg, const Dataset *d, const double *seconds, int keep,
                      Err *err);
void corpus_check_close(CorpusCheck *c); /* a zeroed one is allowed */

/* 1: training should not begin without a word about it: a finding, or too little to learn from. */
int corpus_check_warns(const Doubt *d);

/* For the terminal: the usual recording, then findings and remarks with their worst clips and what to do.
 * more: where all clips are listed, as a whole sentence without full stop. */
void corpus_check_print(Buf *out, const CorpusCheck *c, const char *more);
/* "a.wav (3 dB), b.wav (5 dB), ...": the worst few clips of a doubt. Returns out; "" if it names none. */
const char *corpus_check_worst(const CorpusCheck *c, const Doubt *d, char *out, size_t cap);
/* Adds `findings` and `recordings` to an object. 0 or -1, as jansson has it. */
int corpus_check_json(json_t *o, const CorpusCheck *c);
/* All clips of all doubts. Written whole or not at all. */
int corpus_check_write(const CorpusCheck *c, const char *path, Err *err);

#endif
