/* loss_terms.c - names, weights and networks of the loss terms. */
#include "model/model.h"

/* From the table in loss_terms.h. */
const char *loss_term_name(LossTerm t)
{
#define NAME(term, name, weight, network) [term] = name,
    static const char *const names[TERM_COUNT] = {LOSS_TERMS(NAME)};
#undef NAME
    return names[t];
}

double loss_term_weight(LossTerm t, const Config *cfg)
{
#define WEIGHT(term, name, weight, network) [term] = cfg->weight,
    const double weights[TERM_COUNT] = {LOSS_TERMS(WEIGHT)};
#undef WEIGHT
    return weights[t];
}

const char *loss_term_weight_key(LossTerm t)
{
#define KEY(term, name, weight, network) [term] = #weight,
    static const char *const keys[TERM_COUNT] = {LOSS_TERMS(KEY)};
#undef KEY
    return keys[t];
}

int loss_term_is_of(LossTerm t, NetworkKind network)
{
#define OWNER(term, name, weight, network) [term] = network,
    static const NetworkKind owners[TERM_COUNT] = {LOSS_TERMS(OWNER)};
#undef OWNER
    return owners[t] == network || owners[t] == NETWORK_BOTH;
}

int loss_term_counts(LossTerm t) { return t != TERM_CRITIC && t != TERM_ADVERSARIAL && t != TERM_FEATURES; }
