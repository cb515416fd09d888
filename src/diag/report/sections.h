/* sections.h - the report of `myxtts diagnose` as one JSON object, from which text, JSON and HTML are made,
 * so that no number is computed twice. It has eight sections (hardware, configuration, code path, loader,
 * graph and kernels, memory, storage, run), with ranks a ninth, the verdict, recommendations, and charts.
 * Threads: one. */
#ifndef MYXTTS_DIAG_SECTIONS_H
#define MYXTTS_DIAG_SECTIONS_H

#include <jansson.h>
#include <stdio.h>

#include "base/words/words.h"
#include "diag/pipeline/doctor.h"
#include "diag/pipeline/storage.h"
#include "diag/preflight/preflight.h"
#include "diag/ranks/rank_doctor.h"

typedef struct ReportInput {
    const Config *cfg;
    Device *data, *model;
    const Corpus *corpus;
    const Observation *o;
    const Verdict *v;
    const Preflight *preflight; /* NULL: none */
    const StorageTest *storage;
    const RanksVerdict *ranks; /* NULL: this one trains alone */
    const char *command;       /* as typed */
    const char *title;
    const char *run; /* folder of a training run whose pictures are added to the report; NULL: none */
} ReportInput;

/* NULL if out of memory. */
json_t *report_make(const ReportInput *in);
int report_findings(const json_t *report); /* number of errors, warnings and bottlenecks */
void report_text(Buf *out, const json_t *report);

/* What people read for a status, a severity or a stage (or "none") of the JSON. */
Word status_word(const char *name);
Word severity_word(const char *name);
const char *stage_shown(const char *name);

/* Parts of reports, also used by other tools. */
json_t *section_begin(const char *name, const char *title);
void section_row(json_t *section, Status status, const char *name, const char *note, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
/* The same with a sentence of the table. */
#define SECTION_ROW(section, status, name, note, id, ...) \
    do { \
        char value_[700]; \
        say(value_, sizeof value_, id, ##__VA_ARGS__); \
        section_row(section, status, name, note, "%s", value_); \
    } while (0)
void section_finding(json_t *section, const char *severity, const char *what, const char *why,
                     const char *value, const char *fix);
json_t *swing_json(const Swing *s);
/* A row with the variation of step times, and a finding where it is a fault that the verdict does not name.
 */
void swing_rows(json_t *section, const char *name, const Verdict *v);
/* Adds bottleneck, cause, period_steps, verdict, evidence, gains, walls and swing. */
void report_verdict(json_t *report, const Verdict *v, const Observation *o);
json_t *charts_make(const Observation *o, const Verdict *v);
json_t *thresholds_json(void);
void thresholds_text(Buf *out);

/* In sections.c: the eight sections. */
json_t *sections_make(const ReportInput *in);

#endif
