/* bindings.h - which settings a cache or a checkpoint is bound to: another value makes it useless.
 * The marks are in the option table (options.c: BINDS, and WITH for numbers that a switch makes idle); the
 * caches hash the marked settings, checkpoints compare them. Threads: any. */
#ifndef MYXTTS_BINDINGS_H
#define MYXTTS_BINDINGS_H

#include "base/hash.h"
#include "config/config.h"

typedef enum {
    BOUND_TEXT_CACHE = 1,   /* it changes a token of a line */
    BOUND_MEL_CACHE = 2,    /* it changes a mel or a pitch */
    BOUND_CHECKPOINT = 4,   /* with another value a trained voice can neither train on nor speak */
    BOUND_LOSS = 8,         /* a loss means something else with another value */
    BOUND_AUDIO_CACHE = 16, /* it changes a sample of a clip */
    BOUND_VOCODER = 32      /* with another value a trained vocoder can neither train on nor make sound */
} Binding;

/* Adds the values of the settings that b is bound to. The order is part of every cache's key: first all that
 * are not floating-point numbers, in the order of the table, then those that are. */
void config_hash_bound(Hasher *h, const Config *cfg, Binding b);

/* Of all settings. Zeros without memory. */
Hash128 config_hash_all(const Config *cfg);

/* Of the settings that give a mel's numbers their meaning: sample rate, transform, bands. A voice and a
 * vocoder go together if it is the same. Zeros without memory. */
Hash128 config_mel_hash(const Config *cfg);
/* The first of these settings that differs, as config_bound_differs. */
int config_mel_differs(const Config *was, const Config *is, ConfigRow *row_was, ConfigRow *row_is);

/* The first setting that b is bound to and that differs: 1, with its rows in both. 0: none differs. Settings
 * that a switch makes idle in both do not count. */
int config_bound_differs(const Config *was, const Config *is, Binding b, ConfigRow *row_was,
                         ConfigRow *row_is);

/* 1: row i (config_row) is about a network that is not trained with these settings. */
int config_row_is_idle(const Config *cfg, int i);

#endif
