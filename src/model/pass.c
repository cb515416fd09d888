/* pass.c - one batch through the network: memory, forward, losses, backward. */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "model/pass.h"

#define SITE_TEXT (m->at.text.site + 900) /* dropout of the embedding, clear of those of the layers */

/* Cuts the memory of a pass; with an empty Cut it only counts. One function does both, so that they agree. */
static void cut_pass(Pass *r, const Ops *ops, Cut *c)
{
    Model *m = r->m;
    const Config *cfg = &m->cfg;
    const int B = r->in.B, T = r->in.T, M = r->in.M;
    const uint64_t e = ops->real_bytes, n = (uint64_t)cfg->n_mels, b = (uint64_t)B, symbols = b * (uint64_t)T;
    const uint64_t Ct = (uint64_t)cfg->text_encoder_dim, S = (uint64_t)cfg->speaker_embedding_dim;
    r->unused_len = cut_take(c, b * sizeof *r->unused_len);
    stack_cut(&r->text, &m->at.text, ops, c, B, T, r->training);
    /* Memory: what the rest of the network sees of the text. With a voice it is the sum of both. */
    r->memory = r->text.last.out;
    if (m->use_voice) {
        voice_cut(&r->voice, m, ops, c, B, M, r->training);
        r->reference = cut_take(c, b * S * e);
        r->voice_text = cut_take(c, b * Ct * e);
        r->memory = cut_take(c, symbols * Ct * e);
    }
    r->mu = cut_take(c, symbols * n * e);
    r->cost = cut_take(c, b * sizeof *r->cost);
    r->energy = cut_take(c, b * (uint64_t)M * sizeof *r->energy);
    predictor_cut(&r->predictor, m, ops, c, B, T, r->training);
    decoder_cut(&r->decoder, m, ops, c, B, T, M, r->training);
    if (r->training) {
        r->dmu = cut_take(c, symbols * n * e);
        r->dmemory = cut_take(c, symbols * Ct * e);
    }
    if (r->training && m->use_voice) {
        r->dreference = cut_take(c, b * S * e);
        r->dvoice_text = cut_take(c, b * Ct * e);
    }
    /* Each stack has scratch of its own, since text and voice run in parallel. */
    const StackPass *text = &r->text, *voice = &r->voice.stack, *decoder = &r->decoder.stack;
    stack_scratch_cut(&r->text_scratch, &text, 1, ops, c, r->training);
    stack_scratch_cut(&r->decoder_scratch, &decoder, 1, ops, c, r->training);
    if (m->use_voice)
        stack_scratch_cut(&r->voice_scratch, &voice, 1, ops, c, r->training);
}

uint64_t pass_bytes(const Model *m, const Ops *ops, int B, int T, int M, int training)
{
    Pass *r = mem_calloc(1, sizeof *r);
    if (!r)
        return UINT64_MAX;
    /* Nothing is written through the copy; the cut only wants a model to ask. */
    Model copy = *m;
    Cut c = {0};
    r->m = &copy;
    r->in = (ModelInput){.B = B, .T = T, .M = M};
    r->training = training;
    cut_pass(r, ops, &c);
    free(r);
    return c.used;
}

int pass_open(Pass **out, Model *m, const ModelInput *in, void *memory, int training, Err *err)
{
    Pass *r = *out = mem_calloc(1, sizeof *r);
    if (!r)
        return err_set(err, ERR_NOMEM, "no memory to describe a batch of %d rows, %d symbols, %d frames",
                       in->B, in->T, in->M);
    Cut c = {.base = memory};
    r->m = m;
    r->in = *in;
    r->training = training;
    cut_pass(r, m->c->ops, &c);
    /* Lengths are read on the device; a captured graph sees those of the batch that is in place. */
    r->text.len = in->text_length;
    r->decoder.len = in->mel_length;
    return 0;
}

void pass_close(Pass *r) { free(r); }

void pass_clear(Model *m, void *sums)
{
    const Ops *ops = m->c->ops;
    ops->fill_zero(m->c, sums, SUM_COUNT * ops->acc_bytes);
    /* Gradients add up over the micro-batches of a step, so they begin at zero. */
    if (m->grads)
        ops->fill_zero(m->c, m->grads, (size_t)m->params.size * ops->acc_bytes);
}

static void text_forward(Pass *r, float drop)
{
    Model *m = r->m;
    const Ops *ops = m->c->ops;
    const ModelAt *at = &m->at;
    const ModelInput *in = &r->in;
    const int Ct = m->cfg.text_encoder_dim, S = m->cfg.speaker_embedding_dim;
    /* The voice is computed in parallel with the text: neither needs the other until they are added. */
    if (m->use_voice) {
        side_begin(m);
        model_mark(m, "voice in", -1, 0);
        voice_forward(m, &r->voice, &r->voice_scratch, in, drop);
        ops->gather_forward(m->c, r->reference, r->voice.speaker, in->reference, in->B, S);
        linear_forward(m, &at->to_text, r->voice_text, r->reference, in->B, ACT_NONE);
        side_end(m);
    }
    /* Symbols to states, which do not know the voice yet. */
    model_mark(m, "text in", -1, 0);
    ops->embed_forward(m->c, r->text.x, in->tokens, weight_at(m, at->symbols), NULL,
                       weight_at(m, at->text_position), in->B, in->T, Ct, dropout_at(drop, SITE_TEXT));
    stack_forward(m, &r->text, &r->text_scratch, drop);
    if (m->use_voice) {
        /* The voice of another clip of the same speaker is added to every symbol. */
        side_join(m);
        ops->add_vector_forward(m->c, r->memory, r->text.last.out, r->voice_text, in->B, in->T, Ct);
    }
}

/* Which frames belong to which symbol, and the pitch and energy of each. */
static void align(Pass *r)
{
    Model *m = r->m;
    const Ops *ops = m->c->ops;
    const ModelInput *in = &r->in;
    DecoderPass *d = &r->decoder;
    const int B = in->B, T = in->T, M = in->M, n = m->cfg.n_mels;
    model_mark(m, "alignment", -1, 0);
    /* mu: the mel that every symbol expects, which the search compares with the frames. */
    linear_forward(m, &m->at.prior, r->mu, r->memory, (int64_t)B * T, ACT_NONE);
    ops->align_search(m->c, d->d.frames, r->cost, r->mu, in->mel, in->text_length, in->mel_length, B, T, M,
                      n);
    ops->durations_place(m->c, &d->d, NULL, in->text_length, B, T, M);
    /* The energy of a frame is the mean of its log mel; a symbol has the mean of its frames. */
    ops->band_mean(m->c, r->energy, in->mel, (int64_t)B * M, n);
    ops->symbol_means(m->c, d->pitch, in->pitch, &d->d, B, T, M);
    ops->symbol_means(m->c, d->energy, r->energy, &d->d, B, T, M);
}

void pass_forward(Pass *r, int training)
{
    const ModelInput *in = &r->in;
    const float drop = training ? (float)r->m->cfg.dropout : 0;
    /* The predictor only reads what the text has become, so it runs in parallel with alignment and decoder.
     */
    text_forward(r, drop);
    side_begin(r->m);
    predictor_forward(r->m, &r->predictor, r->memory, in->text_length, in->B, in->T, drop);
    side_end(r->m);
    align(r);
    decoder_forward(r->m, &r->decoder, &r->decoder_scratch, r->memory, drop);
    side_join(r->m);
}

void pass_backward(Pass *r)
{
    Model *m = r->m;
    const Ops *ops = m->c->ops;
    const ModelAt *at = &m->at;
    const ModelInput *in = &r->in;
    const float drop = (float)m->cfg.dropout;
    const int B = in->B, T = in->T, Ct = m->cfg.text_encoder_dim, S = m->cfg.speaker_embedding_dim;
    /* No gradient leaves the predictor: it can run in parallel with everything else. */
    side_begin(m);
    predictor_backward(m, &r->predictor, r->memory, in->text_length, B, T, drop);
    side_end(m);
    decoder_backward(m, &r->decoder, &r->decoder_scratch, r->dmemory, in->text_length, drop);
    /* The memory has three readers: the decoder's gradient is there, that of the prior is added. */
    model_mark(m, "alignment", -1, 1);
    linear_backward(m, &at->prior, r->dmemory, r->dmu, NULL, r->memory, (int64_t)B * T, ACT_NONE, 1);
    /* The voice was added to every symbol: its gradient is the sum over them. It is computed in parallel with
     * the text's. */
    if (m->use_voice) {
        side_begin(m);
        model_mark(m, "voice out", -1, 1);
        ops->add_vector_backward(m->c, r->dvoice_text, r->dmemory, in->text_length, B, T, Ct, 0);
        linear_backward(m, &at->to_text, r->dreference, r->dvoice_text, NULL, r->reference, B, ACT_NONE, 0);
        ops->gather_backward(m->c, r->voice.dvector, r->dreference, in->reference, B, S);
        voice_backward(m, &r->voice, &r->voice_scratch, in, drop);
        side_end(m);
    }
    /* Down to the embedding of symbols. */
    void *dx = stack_backward(m, &r->text, &r->text_scratch, r->dmemory, drop, 0);
    model_mark(m, "text in", -1, 1);
    ops->embed_backward(m->c, grad_at(m, at->symbols), NULL, grad_at(m, at->text_position), dx, in->tokens,
                        in->text_length, B, T, Ct, m->symbols, dropout_at(drop, SITE_TEXT));
    side_join(m);
}

void pass_output(const Pass *r, PassOutput *o)
{
    const DecoderPass *d = &r->decoder;
    *o = (PassOutput){.mel = d->mel, .mu = r->mu, .traits = r->predictor.traits, .frames = d->d.frames};
    o->pitch = d->pitch;
    o->energy = d->energy;
    o->cost = r->cost;
    o->voice = r->m->use_voice ? r->voice.speaker : NULL;
}
