/* preflight.h - checks a configuration against the machine and the data, before training.
 * Every finding is read or measured in this run; what cannot be measured here (no GPU, no dataset) is a note
 * that says so. Writes nothing. Threads: one. */
#ifndef MYXTTS_DIAG_PREFLIGHT_H
#define MYXTTS_DIAG_PREFLIGHT_H

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "cache/limits.h"
#include "config/config.h"
#include "config/schema.h"
#include "device/device.h"
#include "device/sim.h"
#include "diag/report/thresholds.h"

typedef enum { FINDING_ERROR, FINDING_WARNING, FINDING_NOTE } Severity;
const char *severity_name(Severity s); /* "error", "warning", "note", for JSON */

/* Parts of the report, in order. */
typedef enum {
    AREA_CONFIGURATION,
    AREA_LOADER,
    AREA_SHAPES,
    AREA_GRAPH,
    AREA_DEVICES,
    AREA_MEMORY,
    AREA_DATA,
    AREA_STORAGE,
    AREA_LIMITS,
    AREA_COUNT
} Area;
const char *area_name(Area a);  /* "configuration", for JSON */
const char *area_title(Area a); /* as people read it */

typedef struct Finding {
    Severity severity;
    Area area;
    const char *key;        /* of the configuration, or "" */
    const char *place;      /* "FILE:LINE", "default", "command line", or "" */
    const char *what, *why; /* sentences */
    const char *value;      /* as read or measured; may be "" */
    const char *fix;        /* what to do; may be "" */
    const char *set_value;  /* value of key that removes the finding; NULL: no value does */
} Finding;

typedef struct PreflightRow { /* a value that was read or measured, good or bad */
    Area area;
    const char *name, *value, *note;
    Status status;
} PreflightRow;

#define PREFLIGHT_SENTENCE 1200 /* bytes; what is longer is cut off */

typedef struct Preflight { /* zero-initialise */
    Finding *findings;
    size_t count, cap;
    PreflightRow *rows;
    size_t row_count, row_cap;
    LimitCosts limits; /* of the dataset; all zero where there is none */
    int data_findings; /* lines and clips that somebody should see to: `info` and `prepare` count the same */
    Block strings;     /* the strings above, unless they are constants */
    char sentence[PREFLIGHT_SENTENCE]; /* the one that is being made */
    int failed;                        /* 1: out of memory */
} Preflight;
void preflight_free(Preflight *p);                   /* a zeroed or freed one is allowed */
int preflight_tally(const Preflight *p, Severity s); /* number of findings */

typedef struct PreflightOptions {
    const Config *cfg;
    Device *data, *model;    /* NULL if they could not be opened */
    const Err *device_error; /* why they could not; otherwise NULL */
    Sim *sim;                /* NULL: none */
    const Buf *text;         /* the file of cfg; NULL: none */
    Log *log;
} PreflightOptions;

/* Adds the problems of the file `name` as errors, those that were fixed with their fix. */
int preflight_schema(Preflight *p, const SchemaReport *r, const char *name, Err *err);
/* Runs all other checks. Returns 0, whatever is found, or ERR_NOMEM. */
int preflight_run(Preflight *p, const PreflightOptions *o, Err *err);

#endif
