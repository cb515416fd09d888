/* schema_rules.c - the rules between keys (rules.c) for a text that is otherwise valid: each broken rule
 * becomes a problem and, if the table has a fix, a change of the text. */
#include <stdio.h>
#include <string.h>

#include "config/option_table.h"
#include "config/rules.h"
#include "config/schema_private.h"

/* A fix may break another rule, which is mended next; more than this many in a row would go round in
 * circles. */
#define MOST_RULES 40

/* The line that gave the key its value; 0 when none did, or when lines are not those of the file any more. */
static int line_of(const Config *cfg, const char *key, int lines)
{
    const Origin *o = &cfg->state->origins[option_find(key, strlen(key))];
    return lines && o->kind == ORIGIN_FILE ? o->line : 0;
}

/* A problem with what was said; key "" when it is about none. NULL: no memory. */
static SchemaProblem *report(SchemaReport *r, int line, const char *key, const char *sentence,
                             const Err *said, Err *err)
{
    SchemaProblem *p = schema_problem(r, line, key[0] ? schema_section(key) : "", key);
    if (!p) {
        err_set(err, ERR_NOMEM, "out of memory for the findings");
        return NULL;
    }
    snprintf(p->what, sizeof p->what, "%.499s", sentence);
    snprintf(p->hint, sizeof p->hint, "%s", said->hint);
    return p;
}

/* One broken rule as a problem; 1 when it was repaired, 0 when it is left, ERR_NOMEM. */
static int one_rule(SchemaReport *r, Buf *text, int lines, const Rule *rule, const Config *cfg,
                    const Err *said, Err *err)
{
    RuleFix fix;
    Err why = {0};
    SchemaProblem *p = report(r, line_of(cfg, rule->key, lines), rule->key, said->msg, said, err);
    if (!p)
        return ERR_NOMEM;
    if (!rule_fix(rule, cfg, &fix))
        return 0;
    int rc = schema_set(text, fix.key, fix.value, &why);
    if (rc == ERR_NOMEM)
        return err_set(err, rc, "%s", why.msg);
    if (rc) /* written in a way that cannot be edited */
        return 0;
    snprintf(p->fix, sizeof p->fix, "%s: %.150s", fix.key, fix.value);
    p->fixed = 1;
    return 1;
}

/* Loads the text and looks for the first broken rule. Returns 1 if it was repaired and the text must be
 * checked again, 0 if no rule is broken or it cannot be repaired, or ERR_NOMEM. */
static int one_look(SchemaReport *r, Buf *text, const char *name, int lines, int argc, char **argv, Err *err)
{
    Config cfg;
    Err said = {0};
    const Rule *rule = NULL;
    int rc = config_read(&cfg, name, text->data, text->size, argc, argv, &said);
    if (rc == ERR_NOMEM) {
        err_set(err, rc, "%s", said.msg);
    } else if (rc) { /* no rule: the loader knows something that the schema does not */
        const char *sentence = said.msg;
        schema_cut_place(&sentence, name);
        rc = report(r, 0, "", sentence, &said, err) ? 0 : ERR_NOMEM;
    } else if ((rule = rules_first_broken(&cfg, &said))) {
        rc = one_rule(r, text, lines, rule, &cfg, &said, err);
    } else {
        r->loads = 1;
    }
    config_close(&cfg);
    return rc;
}

int schema_rules(SchemaReport *r, Buf *text, const char *name, int lines, int argc, char **argv, Err *err)
{
    int rc = 1;
    for (int i = 0; i < MOST_RULES && rc > 0; i++)
        rc = one_look(r, text, name, lines, argc, argv, err);
    return rc < 0 ? rc : 0;
}
