/* preflight_private.h - what the files of the preflight share. */
#ifndef MYXTTS_DIAG_PREFLIGHT_PRIVATE_H
#define MYXTTS_DIAG_PREFLIGHT_PRIVATE_H

#include "diag/preflight.h"
#include "train/trainer.h"

/* What the checks learn from one another. */
typedef struct Survey {
    const PreflightOptions *o;
    const Config *cfg;
    Preflight *p;
    int cores, workers;   /* workers: of the loader */
    int on_gpu;           /* the model device is one */
    int apart;            /* a device has memory of its own: a GPU, real or simulated */
    int has_corpus;       /* train and validation are open */
    CorpusSource *source; /* what both look into */
    Corpus train, validation;
    uint64_t segments;       /* files of the caches */
    uint64_t cache_estimate; /* bytes that preparing would write; 0: unknown, or nothing */
    TrainPlan plan;          /* parameters 0: there is none */
} Survey;

/* A string in the report's memory; "" on no memory. */
const char *preflight_say(Preflight *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Adds a finding; strings that are NULL become "". place is filled from the key; where the command line set
 * the key, only an advice is left of set_value. fix NULL with a set_value: "key: value". */
void preflight_finding(Survey *s, Finding f);
void preflight_row(Survey *s, Area area, const char *name, const char *value, Status status,
                   const char *note);
const char *preflight_bytes(Preflight *p, uint64_t bytes); /* "1.2 GB" */

void preflight_devices(Survey *s); /* devices, their memory caps, arithmetic */
void preflight_data(Survey *s);    /* dataset, caches, padding; opens the corpora */
void preflight_memory(Survey *s);  /* the plan of a run */
void preflight_storage(Survey *s); /* room and rights where a run writes */
void preflight_limits(Survey *s);  /* ulimit */

#endif
