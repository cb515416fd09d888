/* exchange.c - see exchange.h. */
#include "diag/ranks/exchange.h"

#include <math.h>

#include "model/model.h"
#include "text/phonemes/tokens.h"

int exchange_describe(Exchange *x, const Config *cfg, const double *phase, Err *err)
{
    Model m;
    int rc = model_open(&m, cfg, tokens_count(), 0, err);
    if (rc)
        return rc;
    double bytes = (cfg->rank_sum == RANK_SUM_BF16 ? 2 : 4) * (double)m.params.numbers;
    model_close(&m);
    *x = (Exchange){.forward = EXCHANGE_FORWARD, .backward = EXCHANGE_BACKWARD, .bytes = bytes};
    double all = phase ? phase[0] + phase[1] + phase[2] + phase[3] : 0;
    if (all > 0) {
        x->forward = (phase[0] + phase[1]) / all;
        x->backward = phase[2] / all;
    }
    double buckets = ceil(bytes / EXCHANGE_BUCKET);
    x->buckets = (int)fmin(fmax(buckets, 1), EXCHANGE_MOST_BUCKETS);
    return 0;
}

double exchange_exposed(const Exchange *x, double own)
{
    double end = 0, one = x->seconds / x->buckets;
    for (int b = 1; b <= x->buckets; b++)
        end = fmax(end, own * (x->forward + x->backward * b / x->buckets)) + one;
    return fmax(0, end - own * (x->forward + x->backward));
}
