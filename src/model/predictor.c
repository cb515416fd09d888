/* predictor.c - duration, pitch and energy of every symbol, predicted from the text and the voice. It looks
 * at them and does not change them: no gradient leaves it, since durations are wild until the alignment has
 * settled. */
#include "model/voice_pass.h"

/* Dropout seeds, clear of those of the stacks. */
#define SITE_1 UINT64_C(4001)
#define SITE_2 UINT64_C(4002)

void predictor_cut(PredictorPass *p, const Model *m, const Ops *ops, Cut *c, int B, int T, int training)
{
    const int P = m->cfg.predictor_dim;
    const int64_t rows = (int64_t)B * T;
    const uint64_t wide = (uint64_t)rows * (uint64_t)P * ops->real_bytes;
    p->a1 = cut_take(c, wide);
    norm_cut(&p->n1, ops, c, rows, P);
    p->a2 = cut_take(c, wide);
    norm_cut(&p->n2, ops, c, rows, P);
    p->traits = cut_take(c, (uint64_t)rows * TRAIT_COUNT * ops->real_bytes);
    if (!training)
        return;
    p->dtraits = cut_take(c, (uint64_t)rows * TRAIT_COUNT * ops->real_bytes);
    /* Two that change places in the backward pass. */
    p->dp[0] = cut_take(c, wide);
    p->dp[1] = cut_take(c, wide);
}

/* out = drop(norm(in)). The norm's backward pass needs its input, not its output, so dropout is in place. */
static void normalise(Model *m, const NormPass *n, const NormAt *at, void *in, int64_t rows, float drop,
                      uint64_t site)
{
    const Ops *ops = m->c->ops;
    const int P = m->cfg.predictor_dim;
    ops->norm_forward(m->c, in, n->out, n->mean, n->rstd, in, NULL, weight_at(m, at->w), weight_at(m, at->b),
                      rows, P, (Dropout){0});
    if (drop > 0)
        ops->dropout_forward(m->c, n->out, n->out, rows * P, dropout_at(drop, site));
}

void predictor_forward(Model *m, PredictorPass *p, const void *memory, const int32_t *len, int B, int T,
                       float drop)
{
    const ModelAt *at = &m->at;
    const int64_t rows = (int64_t)B * T;
    model_mark(m, "predictor", -1, 0);
    /* Two convolutions, each with ReLU, norm and dropout; then a product to the traits. */
    conv_forward(m, &at->conv1, FEED_KERNEL, p->a1, memory, len, B, T, ACT_RELU);
    normalise(m, &p->n1, &at->norm1, p->a1, rows, drop, SITE_1);
    conv_forward(m, &at->conv2, FEED_KERNEL, p->a2, p->n1.out, len, B, T, ACT_RELU);
    normalise(m, &p->n2, &at->norm2, p->a2, rows, drop, SITE_2);
    linear_forward(m, &at->traits, p->traits, p->n2.out, rows, ACT_NONE);
}

/* d: gradient of drop(norm(in)), changed to that of `in`, which goes to din. */
static void normalise_backward(Model *m, const NormPass *n, const NormAt *at, void *din, void *d,
                               const void *in, int64_t rows, float drop, uint64_t site)
{
    const Ops *ops = m->c->ops;
    const int P = m->cfg.predictor_dim;
    if (drop > 0)
        ops->dropout_forward(m->c, d, d, rows * P, dropout_at(drop, site));
    ops->norm_backward(m->c, din, NULL, grad_at(m, at->w), grad_at(m, at->b), NULL, d, NULL, in, n->mean,
                       n->rstd, weight_at(m, at->w), rows, P, (Dropout){0});
}

void predictor_backward(Model *m, PredictorPass *p, const void *memory, const int32_t *len, int B, int T,
                        float drop)
{
    const ModelAt *at = &m->at;
    const int64_t rows = (int64_t)B * T;
    model_mark(m, "predictor", -1, 1);
    linear_backward(m, &at->traits, p->dp[0], p->dtraits, NULL, p->n2.out, rows, ACT_NONE, 0);
    normalise_backward(m, &p->n2, &at->norm2, p->dp[1], p->dp[0], p->a2, rows, drop, SITE_2);
    conv_backward(m, &at->conv2, FEED_KERNEL, p->dp[0], p->dp[1], p->a2, p->n1.out, len, B, T, ACT_RELU);
    normalise_backward(m, &p->n1, &at->norm1, p->dp[1], p->dp[0], p->a1, rows, drop, SITE_1);
    /* No gradient for the memory. */
    conv_backward(m, &at->conv1, FEED_KERNEL, NULL, p->dp[1], p->a1, memory, len, B, T, ACT_RELU);
    model_final(m, at->conv1.w, at->traits.b, 0);
}
