/* voice_pass.c - one batch through the voice: memory, forward, losses, backward. */
#include "model/voice_pass.h"

#define SITE_TEXT (m->at.text.site + 900) /* dropout of the embedding, clear of those of the layers */

/* Lays out the memory of a pass; with an empty Cut it only counts bytes. One function does both, so that they
 * agree. */
void voice_pass_cut(Pass *p, const Ops *ops, Cut *c)
{
    SpeechPass *r = speech_of(p);
    Model *m = r->pass.m;
    const Config *cfg = &m->cfg;
    const int B = r->pass.in.B, T = r->pass.in.T, M = r->pass.in.M;
    const uint64_t e = ops->real_bytes, n = (uint64_t)cfg->n_mels, b = (uint64_t)B, symbols = b * (uint64_t)T;
    const uint64_t Ct = (uint64_t)cfg->text_encoder_dim, S = (uint64_t)cfg->speaker_embedding_dim;
    r->unused_len = cut_take(c, b * sizeof *r->unused_len);
    stack_cut(&r->text, &m->at.text, ops, c, B, T, r->pass.training);
    /* Memory: what the rest of the network sees of the text. With a voice it is the sum of both. */
    r->memory = r->text.last.out;
    if (m->use_voice) {
        voice_encoder_of(m)->cut(&r->voice, m, ops, c, B, M, r->pass.training);
        r->reference = cut_take(c, b * S * e);
        r->voice_text = cut_take(c, b * Ct * e);
        r->memory = cut_take(c, symbols * Ct * e);
    }
    if (m->languages)
        r->language = cut_take(c, b * Ct * e);
    r->mu = cut_take(c, symbols * n * e);
    r->cost = cut_take(c, b * sizeof *r->cost);
    r->energy = cut_take(c, b * (uint64_t)M * sizeof *r->energy);
    predictor_cut(&r->predictor, m, ops, c, B, T, r->pass.training);
    decoder_cut(&r->decoder, m, ops, c, B, T, M, r->pass.training);
    if (r->pass.training)
        critics_cut(r->critic, m, ops, c, B, &M);
    if (r->pass.training) {
        r->dmu = cut_take(c, symbols * n * e);
        r->dmemory = cut_take(c, symbols * Ct * e);
    }
    if (r->pass.training && m->use_voice) {
        r->dreference = cut_take(c, b * S * e);
        r->dvoice_text = cut_take(c, b * Ct * e);
    }
    /* Each stack has its own scratch, since text and voice run in parallel. */
    const StackPass *text = &r->text, *voice = &r->voice.stack, *decoder = &r->decoder.stack;
    stack_scratch_cut(&r->text_scratch, &text, 1, ops, c, r->pass.training);
    stack_scratch_cut(&r->decoder_scratch, &decoder, 1, ops, c, r->pass.training);
    if (m->use_voice)
        stack_scratch_cut(&r->voice_scratch, &voice, 1, ops, c, r->pass.training);
    /* Lengths are read on the device; a captured graph sees those of the batch that is in place. */
    r->text.len = r->pass.in.text_length;
    r->decoder.len = r->pass.in.mel_length;
}

void language_forward(Model *m, void *x, void *vector, const int32_t *language, int B, int T)
{
    const Ops *ops = m->c->ops;
    const int Ct = m->cfg.text_encoder_dim;
    if (!m->languages)
        return;
    ops->gather_forward(m->c, vector, weight_at(m, m->at.languages), language, B, Ct);
    ops->add_vector_forward(m->c, x, x, vector, B, T, Ct);
}

/* From the gradient dx [B, T, Ct] of the symbols. */
static void language_backward(SpeechPass *r, const void *dx)
{
    Model *m = r->pass.m;
    const Ops *ops = m->c->ops;
    const ModelInput *in = &r->pass.in;
    const int Ct = m->cfg.text_encoder_dim;
    if (!m->languages)
        return;
    ops->add_vector_backward(m->c, r->language, dx, in->text_length, in->B, in->T, Ct, 0);
    ops->embed_backward(m->c, grad_at(m, m->at.languages), NULL, NULL, r->language, in->language, NULL, in->B,
                        1, Ct, m->languages, (Dropout){0});
}

static void text_forward(SpeechPass *r, float drop)
{
    Model *m = r->pass.m;
    const Ops *ops = m->c->ops;
    const ModelAt *at = &m->at;
    const ModelInput *in = &r->pass.in;
    const int Ct = m->cfg.text_encoder_dim, S = m->cfg.speaker_embedding_dim;
    /* The voice is computed in parallel with the text: neither needs the other until they are added. */
    if (m->use_voice) {
        side_begin(m);
        model_mark(m, "voice in", -1, 0);
        voice_encoder_of(m)->forward(m, &r->voice, &r->voice_scratch, in, drop);
        ops->gather_forward(m->c, r->reference, r->voice.speaker, in->reference, in->B, S);
        linear_forward(m, &at->to_text, r->voice_text, r->reference, in->B, ACT_NONE);
        side_end(m);
    }
    /* Symbols to states, which do not know the voice yet. */
    model_mark(m, "text in", -1, 0);
    ops->embed_forward(m->c, r->text.x, in->tokens, weight_at(m, at->symbols), NULL,
                       weight_at(m, at->text_position), in->B, in->T, Ct, dropout_at(drop, SITE_TEXT));
    language_forward(m, r->text.x, r->language, in->language, in->B, in->T);
    stack_forward(m, &r->text, &r->text_scratch, drop);
    if (m->use_voice) {
        /* The voice of another clip of the same speaker is added to every symbol. */
        side_join(m);
        ops->add_vector_forward(m->c, r->memory, r->text.last.out, r->voice_text, in->B, in->T, Ct);
    }
}

/* Which frames belong to which symbol, and the pitch and energy of each. */
static void align(SpeechPass *r)
{
    Model *m = r->pass.m;
    const Ops *ops = m->c->ops;
    const ModelInput *in = &r->pass.in;
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

void voice_pass_forward(Pass *p, int training)
{
    SpeechPass *r = speech_of(p);
    const ModelInput *in = &r->pass.in;
    const float drop = training ? (float)r->pass.m->cfg.dropout : 0;
    /* The predictor only reads what the text has become, so it runs in parallel with alignment and decoder.
     */
    text_forward(r, drop);
    side_begin(r->pass.m);
    predictor_forward(r->pass.m, &r->predictor, r->memory, in->text_length, in->B, in->T, drop);
    side_end(r->pass.m);
    align(r);
    decoder_forward(r->pass.m, &r->decoder, &r->decoder_scratch, r->memory, drop);
    side_join(r->pass.m);
}

void voice_pass_backward(Pass *p)
{
    SpeechPass *r = speech_of(p);
    Model *m = r->pass.m;
    const Ops *ops = m->c->ops;
    const ModelAt *at = &m->at;
    const ModelInput *in = &r->pass.in;
    const float drop = (float)m->cfg.dropout;
    const int B = in->B, T = in->T, Ct = m->cfg.text_encoder_dim, S = m->cfg.speaker_embedding_dim;
    /* Those of the critics came with the losses. */
    critics_final(m, 0);
    /* No gradient leaves the predictor: it can run in parallel with everything else. */
    side_begin(m);
    predictor_backward(m, &r->predictor, r->memory, in->text_length, B, T, drop);
    side_end(m);
    decoder_backward(m, &r->decoder, &r->decoder_scratch, r->dmemory, in->text_length, drop);
    /* The memory has three readers: the decoder's gradient is there, that of the prior is added. */
    model_mark(m, "alignment", -1, 1);
    linear_backward(m, &at->prior, r->dmemory, r->dmu, NULL, r->memory, (int64_t)B * T, ACT_NONE, 1);
    model_final(m, at->prior.w, at->prior.b, 0);
    /* The voice was added to every symbol: its gradient is the sum over them. It is computed in parallel with
     * the text's. */
    if (m->use_voice) {
        side_begin(m);
        model_mark(m, "voice out", -1, 1);
        ops->add_vector_backward(m->c, r->dvoice_text, r->dmemory, in->text_length, B, T, Ct, 0);
        linear_backward(m, &at->to_text, r->dreference, r->dvoice_text, NULL, r->reference, B, ACT_NONE, 0);
        model_final(m, at->to_text.w, at->to_text.b, 0);
        ops->gather_backward(m->c, r->voice.dvector, r->dreference, in->reference, B, S);
        voice_encoder_of(m)->backward(m, &r->voice, &r->voice_scratch, in, drop);
        side_end(m);
    }
    /* Down to the embedding of symbols. */
    void *dx = stack_backward(m, &r->text, &r->text_scratch, r->dmemory, drop, 0);
    model_mark(m, "text in", -1, 1);
    language_backward(r, dx);
    ops->embed_backward(m->c, grad_at(m, at->symbols), NULL, grad_at(m, at->text_position), dx, in->tokens,
                        in->text_length, B, T, Ct, m->symbols, dropout_at(drop, SITE_TEXT));
    model_final(m, at->symbols, at->text_position, 0);
    side_join(m);
}

void voice_pass_output(const Pass *p, PassOutput *o)
{
    const SpeechPass *r = (const SpeechPass *)(const void *)p;
    const DecoderPass *d = &r->decoder;
    *o = (PassOutput){.mel = d->mel, .mu = r->mu, .traits = r->predictor.traits, .frames = d->d.frames};
    o->pitch = d->pitch;
    o->energy = d->energy;
    o->cost = r->cost;
    o->voice = r->pass.m->use_voice ? r->voice.speaker : NULL;
}
