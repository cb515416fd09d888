/* run.c - one batch through the network: memory, forward, losses, backward. */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "model/run.h"

#define SITE_TEXT (m->at.text.site + 900)

static void cut_run(Run *r, const Ops *ops, Cut *c)
{
    Model *m = r->m;
    const Config *cfg = &m->cfg;
    const int B = r->in.B, T = r->in.T, M = r->in.M;
    const uint64_t e = ops->real_bytes, n = (uint64_t)cfg->n_mels, rows = (uint64_t)B * (uint64_t)r->G,
                   frames = (uint64_t)B * (uint64_t)M;
    const uint64_t P = (uint64_t)cfg->prenet_dim, Cd = (uint64_t)cfg->decoder_dim, Ct = (uint64_t)cfg->text_encoder_dim;
    const uint64_t S = (uint64_t)cfg->speaker_embedding_dim, b = (uint64_t)B;
    r->group_len = cut_take(c, b * sizeof *r->group_len);
    stack_cut(&r->text, &m->at.text, ops, c, B, T, 0);
    if (m->use_voice) {
        voice_cut(&r->voice, m, ops, c, B, M, r->training);
        r->reference = cut_take(c, b * S * e);
        r->voice_text = cut_take(c, b * Ct * e);
        r->voice_decoder = cut_take(c, b * Cd * e);
        r->memory = cut_take(c, b * (uint64_t)T * Ct * e);
    } else {
        r->memory = r->text.last.out;
    }
    r->frames = cut_take(c, frames * n * e);
    r->h1 = cut_take(c, rows * P * e);
    r->h2 = cut_take(c, rows * (P / 2) * e);
    r->x = cut_take(c, rows * Cd * e);
    stack_cut(&r->decoder, &m->at.decoder, ops, c, B, r->G, T);
    r->before = r->after = cut_take(c, frames * n * e);
    r->stop = cut_take(c, rows * e);
    r->pitch = m->use_pitch ? cut_take(c, frames * e) : NULL;
    r->energy = m->use_energy ? cut_take(c, frames * e) : NULL;
    r->energy_target = m->use_energy ? cut_take(c, frames * sizeof(float)) : NULL;
    uint64_t widest = (uint64_t)cfg->postnet_dim > n ? (uint64_t)cfg->postnet_dim : n;
    for (int i = 0; i < cfg->postnet_layers; i++)
        r->post[i] = cut_take(c, frames * (uint64_t)m->at.postnet[i].out * e);
    if (cfg->postnet_layers)
        r->after = cut_take(c, frames * n * e);
    if (r->training) {
        r->dbefore = cut_take(c, frames * n * e);
        r->dafter = cfg->postnet_layers ? cut_take(c, frames * n * e) : NULL;
        r->dstop = cut_take(c, rows * e);
        r->dpitch = m->use_pitch ? cut_take(c, frames * e) : NULL;
        r->denergy = m->use_energy ? cut_take(c, frames * e) : NULL;
        for (int i = 0; i < 2 && cfg->postnet_layers; i++)
            r->dpost[i] = cut_take(c, frames * widest * e);
        r->dd = cut_take(c, rows * Cd * e);
        r->dmemory = cut_take(c, b * (uint64_t)T * Ct * e);
        r->dh1 = cut_take(c, rows * P * e);
        r->dh2 = cut_take(c, rows * (P / 2) * e);
        if (m->use_voice) {
            r->dreference = cut_take(c, b * S * e);
            r->dvoice_text = cut_take(c, b * Ct * e);
            r->dvoice_decoder = cut_take(c, b * Cd * e);
        }
    }
    const StackRun *stacks[] = {&r->text, &r->decoder, &r->voice.stack};
    stack_scratch_cut(&r->scratch, stacks, m->use_voice ? 3 : 2, ops, c, r->training);
}

static void shape_run(Run *r, Model *m, const ModelInput *in, int training)
{
    const Config *cfg = &m->cfg;
    ASSERT_CMP(in->M % cfg->reduction_factor, ==, 0);
    r->m = m;
    r->in = *in;
    r->G = in->M / cfg->reduction_factor;
    r->training = training;
}

uint64_t run_bytes(const Model *m, const Ops *ops, int B, int T, int M, int training)
{
    Run *r = mem_calloc(1, sizeof *r);
    if (!r)
        return UINT64_MAX;
    Model copy = *m;
    Cut c = {0};
    shape_run(r, &copy, &(ModelInput){.B = B, .T = T, .M = M}, training);
    cut_run(r, ops, &c);
    free(r);
    return c.used;
}

int run_open(Run **out, Model *m, const ModelInput *in, void *memory, int training, Err *err)
{
    Run *r = *out = mem_calloc(1, sizeof *r);
    if (!r)
        return err_set(err, ERR_NOMEM, "no memory to describe a batch of %d rows, %d symbols, %d frames", in->B, in->T, in->M);
    const Config *cfg = &m->cfg;
    Cut c = {.base = memory};
    shape_run(r, m, in, training);
    cut_run(r, m->c->ops, &c);
    r->text.len = in->text_length;
    r->decoder.causal = 1;
    r->decoder.len = r->group_len;
    r->decoder.memory = r->memory;
    r->decoder.memory_len = in->text_length;
    r->decoder.guide_width = (float)cfg->guided_attention_width;
    r->decoder.guide_weight =
        (float)(cfg->attention_loss_weight * cfg->reduction_factor / ((double)cfg->decoder_heads * cfg->decoder_layers));
    return 0;
}

void run_close(Run *r) { free(r); }

void run_clear(Model *m, void *sums)
{
    const Ops *ops = m->c->ops;
    ops->fill_zero(m->c, sums, SUM_COUNT * ops->acc_bytes);
    if (m->grads)
        ops->fill_zero(m->c, m->grads, (size_t)m->params.size * ops->acc_bytes);
}

void run_forward(Run *r, int training)
{
    Model *m = r->m;
    const Ops *ops = m->c->ops;
    const ModelAt *at = &m->at;
    const Config *cfg = &m->cfg;
    const ModelInput *in = &r->in;
    const float drop = training ? (float)cfg->dropout : 0, pre_drop = training ? (float)cfg->prenet_dropout : 0;
    const int Ct = cfg->text_encoder_dim, S = cfg->speaker_embedding_dim;
    model_mark(m, "text in", -1, 0);
    ops->length_groups(m->c, r->group_len, NULL, in->mel_length, in->B, cfg->reduction_factor);
    ops->embed_forward(m->c, r->text.x, in->tokens, weight_at(m, at->symbols), NULL, weight_at(m, at->text_position), in->B, in->T,
                       Ct, dropout_at(drop, SITE_TEXT));
    stack_forward(m, &r->text, &r->scratch, drop);
    if (m->use_voice) {
        model_mark(m, "voice in", -1, 0);
        voice_forward(m, &r->voice, &r->scratch, in, drop);
        model_mark(m, "voice out", -1, 0);
        ops->gather_forward(m->c, r->reference, r->voice.speaker, in->reference, in->B, S);
        linear_run(m, &at->to_text, r->voice_text, r->reference, in->B, ACT_NONE);
        linear_run(m, &at->to_decoder, r->voice_decoder, r->reference, in->B, ACT_NONE);
        ops->add_vector_forward(m->c, r->memory, r->text.last.out, r->voice_text, in->B, in->T, Ct);
    }
    decoder_forward(r, drop, pre_drop);
}

static void *term(const Run *r, void *sums, int i) { return (char *)sums + (size_t)i * r->m->c->ops->acc_bytes; }

void run_losses(Run *r, void *sums)
{
    Model *m = r->m;
    const Ops *ops = m->c->ops;
    const Config *cfg = &m->cfg;
    const ModelInput *in = &r->in;
    const int B = in->B, M = in->M, n = cfg->n_mels, G = r->G;
    const LossKind kind = cfg->mel_loss == MEL_LOSS_HUBER ? LOSS_HUBER : LOSS_L1;
    const float delta = (float)cfg->huber_delta, mel = (float)(cfg->mel_loss_weight / n);
    ops->length_groups(m->c, r->group_len, term(r, sums, SUM_FRAMES), in->mel_length, B, cfg->reduction_factor);
    ops->loss_forward(m->c, term(r, sums, TERM_MEL), r->dbefore, r->before, in->mel, in->mel_length, B, M, n, kind, delta, mel, 0);
    if (cfg->postnet_layers)
        ops->loss_forward(m->c, term(r, sums, TERM_MEL), r->dafter, r->after, in->mel, in->mel_length, B, M, n, kind, delta, mel,
                          0);
    ops->stop_loss(m->c, term(r, sums, TERM_STOP), r->dstop, r->stop, r->group_len, B, G, 0, (float)cfg->stop_token_positive_weight,
                   (float)(cfg->stop_loss_weight * cfg->reduction_factor));
    if (r->decoder.guide_weight != 0)
        for (int i = 0; i < cfg->decoder_layers; i++)
            ops->guide_loss(m->c, term(r, sums, TERM_ATTENTION), r->decoder.layer[i].guide, r->group_len, B, cfg->decoder_heads, G,
                            r->decoder.guide_weight);
    if (m->use_pitch)
        ops->loss_forward(m->c, term(r, sums, TERM_PITCH), r->dpitch, r->pitch, in->pitch, in->mel_length, B, M, 1, LOSS_L1, 1,
                          (float)cfg->pitch_loss_weight, 0);
    if (m->use_energy) {
        ops->band_mean(m->c, r->energy_target, in->mel, (int64_t)B * M, n);
        ops->loss_forward(m->c, term(r, sums, TERM_ENERGY), r->denergy, r->energy, r->energy_target, in->mel_length, B, M, 1,
                          LOSS_L1, 1, (float)cfg->energy_loss_weight, 0);
    }
}

void run_backward(Run *r)
{
    Model *m = r->m;
    const Ops *ops = m->c->ops;
    const ModelAt *at = &m->at;
    const Config *cfg = &m->cfg;
    const ModelInput *in = &r->in;
    const float drop = (float)cfg->dropout, pre_drop = (float)cfg->prenet_dropout;
    const int Ct = cfg->text_encoder_dim, S = cfg->speaker_embedding_dim;
    decoder_backward(r, drop, pre_drop);
    if (m->use_voice) {
        model_mark(m, "voice out", -1, 1);
        ops->add_vector_backward(m->c, r->dvoice_text, r->dmemory, in->text_length, in->B, in->T, Ct, 0);
        linear_back(m, &at->to_text, r->dreference, r->dvoice_text, NULL, r->reference, in->B, ACT_NONE, 0);
        linear_back(m, &at->to_decoder, r->dreference, r->dvoice_decoder, NULL, r->reference, in->B, ACT_NONE, 1);
        ops->gather_backward(m->c, r->voice.dvector, r->dreference, in->reference, in->B, S);
        voice_backward(m, &r->voice, &r->scratch, in, drop);
    }
    model_mark(m, "text out", -1, 1);
    void *dx = stack_backward(m, &r->text, &r->scratch, NULL, r->dmemory, drop);
    model_mark(m, "text in", -1, 1);
    ops->embed_backward(m->c, grad_at(m, at->symbols), NULL, grad_at(m, at->text_position), dx, in->tokens, in->text_length, in->B,
                        in->T, Ct, m->symbols, dropout_at(drop, SITE_TEXT));
}

void run_output(const Run *r, RunOutput *o)
{
    *o = (RunOutput){.before = r->before, .after = r->after, .stop = r->stop, .G = r->G};
    o->voice = r->m->use_voice ? r->voice.speaker : NULL;
}

void run_attention(Run *r, void *p)
{
    const AttentionShape shape = stack_cross_shape(&r->decoder);
    const LayerRun *l = &r->decoder.layer[r->m->cfg.decoder_layers - 1];
    r->m->c->ops->attention_weights(r->m->c, p, l->q, l->kv, l->cross_lse, &shape);
}

void *run_spare(const Run *r, uint64_t bytes)
{
    const Model *m = r->m;
    uint64_t room = 4 * (uint64_t)r->in.B * (uint64_t)r->G * (uint64_t)m->cfg.decoder_dim * m->c->ops->real_bytes;
    return bytes <= room ? r->decoder.layer[m->cfg.decoder_layers - 1].h : NULL;
}
