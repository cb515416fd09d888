/* rules.h - the one table of rules: what must hold between settings, and for one setting beyond its range.
 * Loading refuses a configuration that breaks one; `validate` reports it, `validate --fix` repairs the file.
 * Private to src/config. Threads: any; the table is constant. */
#ifndef MYXTTS_RULES_H
#define MYXTTS_RULES_H

#include <stddef.h>

#include "config/config.h"

/* What a check may add to the message of its row. */
typedef struct RuleReport {
    char subject[100]; /* goes before the message: "'xx'"; may stay "" */
    char hint[400];    /* what to do about it; may stay "" */
} RuleReport;

typedef struct RuleFix {
    const char *key; /* the setting to change */
    char value[600]; /* as YAML */
} RuleFix;

typedef struct Rule Rule;
struct Rule {
    const char *key, *other; /* the setting at fault; the one that it conflicts with, or NULL */
    int (*is_broken)(const Rule *rule, const Config *cfg, RuleReport *report);
    const char *message; /* follows "win_length is 2048 (my.yaml:3) and n_fft is 1024 (default): " */
    /* Returns 1 and the change that repairs it, or 0 if only the user can decide. NULL: only the user can. */
    int (*fix)(const Rule *rule, const Config *cfg, RuleFix *fix);
};

/* The first rule, in the order of the table, that cfg breaks, with ERR_CONFIG, message and hint in err; NULL
 * if all hold. cfg must have been loaded. */
const Rule *rules_first_broken(const Config *cfg, Err *err);
/* Returns 1 and the change that repairs the broken rule; 0 if there is none, or if the value to change was
 * given on the command line, which overrides the file. */
int rule_fix(const Rule *rule, const Config *cfg, RuleFix *fix);

#endif
