/* speller.c - see speller.h. */
#include "text/aloud/speller.h"

#include <stdio.h>
#include <string.h>
#include <unicode/ustring.h>

/* ICU's spell-out with the first of the rule sets that the language has; NULL list: its usual one. NULL when
 * it has none of them. */
static UNumberFormat *open_format(const char *code, const char *const *rule_sets)
{
    UErrorCode status = U_ZERO_ERROR;
    UNumberFormat *f = unum_open(UNUM_SPELLOUT, NULL, 0, code, NULL, &status);
    if (U_FAILURE(status))
        return NULL;
    for (; rule_sets && *rule_sets; rule_sets++) {
        UChar name[64];
        u_uastrcpy(name, *rule_sets);
        status = U_ZERO_ERROR;
        unum_setTextAttribute(f, UNUM_DEFAULT_RULESET, name, -1, &status);
        if (U_SUCCESS(status))
            return f;
    }
    if (!rule_sets)
        return f;
    unum_close(f);
    return NULL;
}

void speller_close(Speller *sp)
{
    UNumberFormat *formats[] = {sp->cardinal,         sp->before_noun,    sp->ordinal,
                                sp->ordinal_feminine, sp->ordinal_dative, sp->year};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (formats[i])
            unum_close(formats[i]);
    if (sp->plural)
        uplrules_close(sp->plural);
    if (sp->month)
        udat_close(sp->month);
    memset(sp, 0, sizeof *sp);
}

/* What ICU lacks for a language stays NULL and is spelled by the plain cardinal. */
void speller_open(Speller *sp, const char *code)
{
    static const char *const ordinal[] = {"%spellout-ordinal-masculine", "%spellout-ordinal", NULL};
    static const char *const feminine[] = {"%spellout-ordinal-feminine", "%spellout-ordinal", NULL};
    static const char *const dative[] = {"%spellout-ordinal-n", NULL};
    static const char *const masculine[] = {"%spellout-cardinal-masculine", NULL};
    static const char *const year[] = {"%spellout-numbering-year", NULL};
    UErrorCode status = U_ZERO_ERROR;
    snprintf(sp->code, sizeof sp->code, "%s", code);
    const Language *l = language_find(code);
    sp->rules = l ? &l->numbers : NULL;
    if (!sp->rules)
        return;
    sp->cardinal = open_format(code, sp->rules->masculine ? masculine : NULL);
    if (sp->rules->masculine_before_noun)
        sp->before_noun = open_format(code, masculine);
    sp->ordinal = open_format(code, ordinal);
    sp->ordinal_feminine = open_format(code, feminine);
    sp->ordinal_dative = open_format(code, dative);
    sp->year = open_format(code, year);
    sp->plural = uplrules_open(code, &status);
    if (U_FAILURE(status))
        sp->plural = NULL;
    if (!sp->cardinal)
        sp->rules = NULL;
}
