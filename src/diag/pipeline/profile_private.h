/* profile_private.h - what the profiles share. */
#ifndef MYXTTS_DIAG_PROFILE_PRIVATE_H
#define MYXTTS_DIAG_PROFILE_PRIVATE_H

#include "diag/pipeline/profile.h"
#include "diag/report/sections.h"

/* Statistics of a series; times in ms. */
typedef struct Spread {
    double mean, std, min, max, median, p95, p99, variation;
    int lag;            /* the one of 2 .. 20 with the highest autocorrelation */
    double correlation; /* at that lag */
    int noise;          /* 1: with so few values the correlation may be chance */
} Spread;
int spread_of(Spread *s, const float *x, int64_t n, Err *err); /* x in seconds */
json_t *spread_json(const Spread *s);
/* v: what is to be said about the variation. */
void spread_rows(json_t *section, const Spread *s, const Verdict *v);
/* The doctor's verdict on an observation, added to the report; *v is the caller's to free. */
int profile_judge(json_t *report, Verdict **v, const Observation *o, Err *err);

json_t *profile_begin(const char *title, const Observation *o);
void profile_section(json_t *report, json_t *section);
void profile_chart(json_t *report, json_t *chart);
json_t *profile_line(const char *id, const char *title, const char *y, const float *x, int64_t n);
/* Observes; *times are the end-to-end times of the window, malloc'd, which the caller frees also after an
 * error; s: their spread. */
int profile_observe(Observation *o, float **times, Spread *s, const ObserveOptions *options, Err *err);

#endif
