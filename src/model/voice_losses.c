/* voice_losses.c - the loss terms of one batch of the voice: the ops that compute them with their gradients.
 */
#include "model/voice_pass.h"

_Static_assert(TERM_PITCH - TERM_DURATION == (int)TRAIT_PITCH &&
                   TERM_ENERGY - TERM_DURATION == (int)TRAIT_ENERGY,
               "traits_loss adds three terms in the order of Trait");

void voice_pass_losses(Pass *p, void *sums)
{
    SpeechPass *r = speech_of(p);
    Model *m = p->m;
    const Ops *ops = m->c->ops;
    const Config *cfg = &m->cfg;
    const ModelInput *in = &p->in;
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
    ops->align_loss(m->c, term_at(m, sums, TERM_ALIGN), r->dmu, r->mu, in->mel, &d->d, in->text_length, B, T,
                    M, n, (float)(loss_term_weight(TERM_ALIGN, cfg) / (2 * n)));
    ops->traits_loss(m->c, term_at(m, sums, TERM_DURATION), r->predictor.dtraits, r->predictor.traits,
                     d->d.frames, d->pitch, d->energy, in->text_length, B, T, weight);
    side_end(m);
    /* Groups of one frame: wanted is the number of frames alone, by which the optimiser divides. */
    ops->length_groups(m->c, r->unused_len, term_at(m, sums, SUM_FRAMES), in->mel_length, B, 1);
    ops->loss_forward(m->c, term_at(m, sums, TERM_MEL), d->dmel, d->mel, in->mel, in->mel_length, B, M, n,
                      kind, (float)cfg->huber_delta, (float)(loss_term_weight(TERM_MEL, cfg) / n), 0);
    const CriticSight mel = {
        .T = M, .bands = n, .len = in->mel_length, .made = d->mel, .recorded_mel = in->mel, .dmade = d->dmel};
    if (m->critics_speak && p->learning)
        critics_learn(m, r->critic, sums, &mel, B, M);
    side_join(m);
}
