/* decoder.c - the mel decoder: symbols with pitch and energy, repeated by their durations, through a stack;
 * and the backward pass. */
#include "model/voice_pass.h"

#define SITE_IN (m->at.decoder.site + 900) /* dropout of the input, clear of those of the layers */

void decoder_cut(DecoderPass *r, const Model *m, const Ops *ops, Cut *c, int B, int T, int M, int training)
{
    const Config *cfg = &m->cfg;
    const uint64_t e = ops->real_bytes, symbols = (uint64_t)B * (uint64_t)T,
                   frames = (uint64_t)B * (uint64_t)M;
    const uint64_t Ct = (uint64_t)cfg->text_encoder_dim, Cd = (uint64_t)cfg->decoder_dim,
                   n = (uint64_t)cfg->n_mels;
    r->B = B;
    r->T = T;
    r->M = M;
    r->d.frames = cut_take(c, symbols * sizeof(int32_t));
    r->d.start = cut_take(c, symbols * sizeof(int32_t));
    r->d.symbol = cut_take(c, frames * sizeof(int32_t));
    r->pitch = cut_take(c, symbols * sizeof(float));
    r->energy = cut_take(c, symbols * sizeof(float));
    r->prosody = cut_take(c, symbols * Ct * e);
    r->states = cut_take(c, symbols * Cd * e);
    r->frames = cut_take(c, frames * Cd * e);
    stack_cut(&r->stack, &m->at.decoder, ops, c, B, M, training);
    r->mel = cut_take(c, frames * n * e);
    /* From here on: what only the backward pass needs. */
    if (!training)
        return;
    r->dmel = cut_take(c, frames * n * e);
    r->dd = cut_take(c, frames * Cd * e);
    r->dstates = cut_take(c, symbols * Cd * e);
}

void decoder_forward(Model *m, DecoderPass *r, StackScratch *x, const void *memory, float drop)
{
    const Ops *ops = m->c->ops;
    const ModelAt *at = &m->at;
    const int B = r->B, T = r->T, M = r->M, Ct = m->cfg.text_encoder_dim, Cd = m->cfg.decoder_dim;
    model_mark(m, "frames", -1, 0);
    /* Pitch and energy as directions of the symbol's state, then to the decoder's width, then to frames. */
    ops->add_traits_forward(m->c, r->prosody, memory, r->pitch, r->energy, weight_at(m, at->pitch),
                            weight_at(m, at->energy), (int64_t)B * T, Ct);
    linear_forward(m, &at->lift, r->states, r->prosody, (int64_t)B * T, ACT_NONE);
    ops->repeat_forward(m->c, r->frames, r->states, &r->d, B, T, M, Cd);
    /* Positions count frames from the start of the clip. */
    ops->embed_forward(m->c, r->stack.x, NULL, NULL, r->frames, weight_at(m, at->decoder_position), B, M, Cd,
                       dropout_at(drop, SITE_IN));
    r->stack.len = r->len;
    stack_forward(m, &r->stack, x, drop);
    model_mark(m, "mel", -1, 0);
    linear_forward(m, &at->mel, r->mel, r->stack.last.out, (int64_t)B * M, ACT_NONE);
}

void decoder_backward(Model *m, DecoderPass *r, StackScratch *x, void *dmemory, const int32_t *text_len,
                      float drop)
{
    const Ops *ops = m->c->ops;
    const ModelAt *at = &m->at;
    const int B = r->B, T = r->T, M = r->M, Ct = m->cfg.text_encoder_dim, Cd = m->cfg.decoder_dim;
    model_mark(m, "mel", -1, 1);
    linear_backward(m, &at->mel, r->dd, r->dmel, NULL, r->stack.last.out, (int64_t)B * M, ACT_NONE, 0);
    model_final(m, at->mel.w, at->mel.b, 0);
    void *dx = stack_backward(m, &r->stack, x, r->dd, drop, 1);
    model_mark(m, "frames", -1, 1);
    /* r->dd is free again: the mel's gradient has passed through the stack. */
    ops->embed_backward(m->c, NULL, r->dd, grad_at(m, at->decoder_position), dx, NULL, r->len, B, M, Cd, 0,
                        dropout_at(drop, SITE_IN));
    /* A symbol's gradient is the sum over its frames. */
    ops->repeat_backward(m->c, r->dstates, r->dd, &r->d, B, T, M, Cd);
    linear_backward(m, &at->lift, dmemory, r->dstates, NULL, r->prosody, (int64_t)B * T, ACT_NONE, 0);
    /* The memory's gradient is the prosody's as it is: pitch and energy were only added. */
    ops->add_traits_backward(m->c, grad_at(m, at->pitch), grad_at(m, at->energy), dmemory, r->pitch,
                             r->energy, text_len, B, T, Ct);
    model_final(m, at->pitch, at->decoder_position, 0);
}
