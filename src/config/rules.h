/* rules.h - THE table of rules: what must hold between settings, and for one setting beyond its range.
 * Loading refuses a configuration that breaks one; `validate` reports it, `validate --fix` mends the file.
 * Private to src/config. Threads: any; the table is constant. */
#ifndef MYXTTS_RULES_H
#define MYXTTS_RULES_H

#include <stddef.h>

#include "config/config.h"

typedef struct RuleReport { /* what a check has to say beyond the message of its row */
    char subject[100];      /* stands before the message: "'xx'"; may stay "" */
    char hint[400];         /* what to do about it; may stay "" */
} RuleReport;

typedef struct RuleFix {
    const char *key; /* the setting to change */
    char value[600]; /* as YAML writes it */
} RuleFix;

typedef struct Rule Rule;
struct Rule {
    const char *key, *other; /* the setting that is at fault; the one it conflicts with, or NULL */
    int (*is_broken)(const Rule *rule, const Config *cfg, RuleReport *report);
    const char *message; /* follows "win_length is 2048 (my.yaml:3) and n_fft is 1024 (default): " */
    /* 1 and the change that mends it; 0 when only a person can say. NULL: always a person's decision. */
    int (*fix)(const Rule *rule, const Config *cfg, RuleFix *fix);
};

/* The first rule that cfg breaks, in the order of the table, with ERR_CONFIG, its sentence and its hint in
 * err; NULL when all hold. cfg must have been loaded. */
const Rule *rules_first_broken(const Config *cfg, Err *err);
/* 1 and the change that mends the broken rule; 0 when there is none, or when the value to change stands on
 * the command line, which no file overrides. */
int rule_fix(const Rule *rule, const Config *cfg, RuleFix *fix);

#endif
