/* losses.c - the loss terms of one batch: their names, weights, and the ops that compute them with their
 * gradients. */
#include "model/pass.h"

/* The terms, then the frames that they are sums over. */
_Static_assert(TERM_COUNT + 1 <= SUM_COUNT, "there is no room for so many loss terms");
_Static_assert(TERM_PITCH - TERM_DURATION == (int)TRAIT_PITCH &&
                   TERM_ENERGY - TERM_DURATION == (int)TRAIT_ENERGY,
               "traits_loss adds three terms in the order of Trait");

const char *loss_term_name(LossTerm t)
{
#define NAME(term, name, weight) [term] = name,
    static const char *const names[TERM_COUNT] = {LOSS_TERMS(NAME)};
#undef NAME
    return names[t];
}

double loss_term_weight(LossTerm t, const Config *cfg)
{
#define WEIGHT(term, name, weight) [term] = cfg->weight,
    const double weights[TERM_COUNT] = {LOSS_TERMS(WEIGHT)};
#undef WEIGHT
    return weights[t];
}

/* Where loss term i is in the sums. */
static void *term(const Pass *r, void *sums, int i)
{
    return (char *)sums + (size_t)i * r->m->c->ops->acc_bytes;
}

void pass_losses(Pass *r, void *sums)
{
    Model *m = r->m;
    const Ops *ops = m->c->ops;
    const Config *cfg = &m->cfg;
    const ModelInput *in = &r->in;
    const DecoderPass *d = &r->decoder;
    const int B = in->B, T = in->T, M = in->M, n = cfg->n_mels;
    /* Every term is a sum over frames or symbols; weights are per number of a frame. */
    const LossKind kind = cfg->mel_loss == MEL_LOSS_HUBER ? LOSS_HUBER : LOSS_L1;
    float weight[TRAIT_COUNT];
    for (int i = 0; i < TRAIT_COUNT; i++)
        weight[i] = (float)loss_term_weight(TERM_DURATION + i, cfg);
    model_mark(m, "losses", -1, 0);
    /* The losses of symbols, in parallel with those of frames. */
    side_begin(m);
    ops->align_loss(m->c, term(r, sums, TERM_ALIGN), r->dmu, r->mu, in->mel, &d->d, in->text_length, B, T, M,
                    n, (float)(loss_term_weight(TERM_ALIGN, cfg) / (2 * n)));
    ops->traits_loss(m->c, term(r, sums, TERM_DURATION), r->predictor.dtraits, r->predictor.traits,
                     d->d.frames, d->pitch, d->energy, in->text_length, B, T, weight);
    side_end(m);
    /* Groups of one frame: wanted is the number of frames alone, by which the optimiser divides. */
    ops->length_groups(m->c, r->unused_len, term(r, sums, SUM_FRAMES), in->mel_length, B, 1);
    ops->loss_forward(m->c, term(r, sums, TERM_MEL), d->dmel, d->mel, in->mel, in->mel_length, B, M, n, kind,
                      (float)cfg->huber_delta, (float)(loss_term_weight(TERM_MEL, cfg) / n), 0);
    side_join(m);
}
