/* preflight_private.h - what the files of the preflight share. */
#ifndef MYXTTS_DIAG_PREFLIGHT_PRIVATE_H
#define MYXTTS_DIAG_PREFLIGHT_PRIVATE_H

#include "base/words/words.h"
#include "diag/preflight/preflight.h"
#include "train/trainer.h"

/* State that the checks share. */
typedef struct Survey {
    const PreflightOptions *o;
    const Config *cfg;
    Preflight *p;
    int cores, workers;   /* workers: of the loader */
    int on_gpu;           /* 1: the model device is a GPU */
    int apart;            /* 1: a device has its own memory, i.e. is a GPU, real or simulated */
    int has_corpus;       /* 1: train and validation are open */
    CorpusSource *source; /* of train and validation */
    Corpus train, validation;
    uint64_t segments;       /* number of files of the caches */
    uint64_t cache_estimate; /* bytes that `prepare` would write; 0: unknown, or nothing */
    TrainPlan plan;          /* not valid if its parameters are 0 */
} Survey;

/* A copy of the text in the memory of the report; "" if out of memory, which is remembered and told once. */
const char *preflight_keep(Preflight *p, const char *text);
/* A value in any language: a number, a name, a setting. */
const char *preflight_format(Preflight *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A sentence of words.h. */
#define preflight_say(p, id, ...) \
    (say((p)->sentence, sizeof(p)->sentence, id, ##__VA_ARGS__), preflight_keep(p, (p)->sentence))
#define preflight_say_count(p, id, n, ...) \
    (say_count((p)->sentence, sizeof(p)->sentence, id, n, ##__VA_ARGS__), preflight_keep(p, (p)->sentence))
/* Adds a finding; strings that are NULL become "". place is derived from the key; if fix is NULL and
 * set_value is not, fix becomes "key: value". If the command line set the key, set_value is dropped and only
 * the advice stays. */
void preflight_finding(Survey *s, Finding f);
void preflight_row(Survey *s, Area area, const char *name, const char *value, Status status,
                   const char *note);
const char *preflight_bytes(Preflight *p, uint64_t bytes); /* "1.2 GB" */

void preflight_devices(Survey *s); /* devices, their memory caps, arithmetic */
void preflight_data(Survey *s);    /* dataset, caches, padding; opens the corpora */
void preflight_memory(Survey *s);  /* the memory plan of a run */
void preflight_storage(Survey *s); /* free space and permissions of the folders that a run writes to */
void preflight_limits(Survey *s);  /* ulimit */

#endif
