/* voice_encoder.c - the voice encoder: a mel -> the vector of its voice. Convolutions, a stack, the mean over
 * time, style tokens. */
#include <math.h>

#include "model/voice_pass.h"

static void list(Model *m)
{
    ParamList *l = &m->params;
    const Config *cfg = &m->cfg;
    ModelAt *at = &m->at;
    const int A = cfg->audio_encoder_dim, S = cfg->speaker_embedding_dim;
    /* Groups of frames, twice convolved, through a stack, to one vector. */
    at->voice_conv1 = linear_list(l, "voice.", "conv1", A, VOICE_FRAMES * cfg->n_mels, VOICE_KERNEL, 1);
    at->voice_conv2 = linear_list(l, "voice.", "conv2", A, A, VOICE_KERNEL, 1);
    at->voice_position = params_add(l, "voice.", "position", INIT_VALUE, 1, 0, 1, -1, -1);
    stack_list(l, &at->voice, "voice", A, cfg->audio_encoder_heads, cfg->audio_encoder_layers,
               cfg->feed_forward_ratio, 2000);
    at->speaker = plain_list(l, "voice.", "speaker", S, A);
    if (m->use_style) {
        at->style_tokens =
            params_add(l, "voice.", "style_tokens", INIT_NORMAL, 0.5, 1, cfg->gst_num_style_tokens, S, -1);
        at->style_query = plain_list(l, "voice.", "style_query", S, A);
        /* A bias of the keys would move every score alike: it would have no gradient. */
        at->style_key = (LinearAt){.b = -1, .out = S, .in = S};
        at->style_key.w =
            params_add(l, "voice.", "style_key.weight", INIT_UNIFORM, sqrt(6.0 / (2 * S)), 1, S, S, -1);
        at->style_value = plain_list(l, "voice.", "style_value", S, S);
        at->style_out = plain_list(l, "voice.", "style_out", S, S);
    }
}

static void cut(VoicePass *v, const Model *m, const Ops *ops, Cut *c, int B, int M, int training)
{
    const Config *cfg = &m->cfg;
    const uint64_t e = ops->real_bytes,
                   rows = (uint64_t)B * (uint64_t)((M + VOICE_FRAMES - 1) / VOICE_FRAMES);
    const uint64_t A = (uint64_t)cfg->audio_encoder_dim, S = (uint64_t)cfg->speaker_embedding_dim * e,
                   b = (uint64_t)B;
    const uint64_t K = (uint64_t)cfg->gst_num_style_tokens;
    v->M4 = (M + VOICE_FRAMES - 1) / VOICE_FRAMES;
    v->len = cut_take(c, b * sizeof *v->len);
    v->frames = cut_take(c, rows * (uint64_t)(VOICE_FRAMES * cfg->n_mels) * e);
    v->a1 = cut_take(c, rows * A * e);
    v->a2 = cut_take(c, rows * A * e);
    stack_cut(&v->stack, &m->at.voice, ops, c, B, v->M4, training);
    v->stack.len = v->len;
    v->pooled = cut_take(c, b * A * e);
    v->speaker = cut_take(c, b * S);
    /* Keys and values are made of the tokens once and then copied for every row, as attention wants them. */
    if (m->use_style) {
        v->query = cut_take(c, b * S);
        v->key = cut_take(c, K * S);
        v->value = cut_take(c, K * S);
        v->keys = cut_take(c, b * K * S);
        v->values = cut_take(c, b * K * S);
        v->o = cut_take(c, b * S);
        v->lse = cut_take(c, b * (uint64_t)cfg->gst_num_heads * ops->acc_bytes);
        v->style = cut_take(c, b * S);
        v->one = cut_take(c, b * sizeof *v->one);
        v->tokens = cut_take(c, b * sizeof *v->tokens);
    }
    if (!training)
        return;
    /* Gradients that the stack's scratch has no place for. */
    v->dvector = cut_take(c, b * S);
    v->dpooled = cut_take(c, b * A * e);
    if (m->use_style) {
        v->dO = cut_take(c, b * S);
        v->dquery = cut_take(c, b * S);
        v->dkeys = cut_take(c, b * K * S);
        v->dvalues = cut_take(c, b * K * S);
        v->dkey_sum = cut_take(c, K * (uint64_t)cfg->speaker_embedding_dim * ops->acc_bytes);
        v->dkey = cut_take(c, K * S);
        v->dtokens = cut_take(c, K * S);
    }
}

/* One query per row, the pooled mel, over all style tokens. */
static AttentionShape style_shape(const Model *m, const VoicePass *v, int B)
{
    const int S = m->cfg.speaker_embedding_dim, heads = m->cfg.gst_num_heads;
    return (AttentionShape){.batch = B,
                            .heads = heads,
                            .head_size = S / heads,
                            .tq = 1,
                            .tk = m->cfg.gst_num_style_tokens,
                            .ldq = S,
                            .ldk = S,
                            .ldv = S,
                            .ldo = S,
                            .q_len = v->one,
                            .k_len = v->tokens,
                            .scale = 1.0f / sqrtf((float)(S / heads))};
}

static void forward(Model *m, VoicePass *v, StackScratch *x, const ModelInput *in, float drop)
{
    const Ops *ops = m->c->ops;
    const ModelAt *at = &m->at;
    const Config *cfg = &m->cfg;
    const int A = cfg->audio_encoder_dim, S = cfg->speaker_embedding_dim, K = cfg->gst_num_style_tokens,
              B = in->B;
    /* VOICE_FRAMES frames are one step of time here: a voice needs no finer view, and attention is
     * cheaper. */
    ops->length_groups(m->c, v->len, NULL, in->mel_length, B, VOICE_FRAMES);
    ops->group_frames(m->c, v->frames, in->mel, in->mel_length, B, in->M, VOICE_FRAMES, cfg->n_mels);
    conv_forward(m, &at->voice_conv1, VOICE_KERNEL, v->a1, v->frames, v->len, B, v->M4, ACT_RELU);
    conv_forward(m, &at->voice_conv2, VOICE_KERNEL, v->a2, v->a1, v->len, B, v->M4, ACT_RELU);
    ops->embed_forward(m->c, v->stack.x, NULL, NULL, v->a2, weight_at(m, at->voice_position), B, v->M4, A,
                       dropout_at(drop, at->voice.site + 900));
    stack_forward(m, &v->stack, x, drop);
    model_mark(m, "voice out", -1, 0);
    /* The mean over time is all that is kept of the clip. */
    ops->pool_forward(m->c, v->pooled, v->stack.last.out, v->len, B, v->M4, A);
    linear_forward(m, &at->speaker, v->speaker, v->pooled, B, ACT_NONE);
    if (!m->use_style)
        return;
    /* Style: attention of the clip over learned tokens, added to the vector. */
    const AttentionShape shape = style_shape(m, v, B);
    const void *tokens = weight_at(m, at->style_tokens);
    ops->fill_int(m->c, v->one, 1, B);
    ops->fill_int(m->c, v->tokens, K, B);
    linear_forward(m, &at->style_query, v->query, v->pooled, B, ACT_NONE);
    linear_forward(m, &at->style_key, v->key, tokens, K, ACT_NONE);
    linear_forward(m, &at->style_value, v->value, tokens, K, ACT_NONE);
    ops->broadcast_forward(m->c, v->keys, v->key, B, (int64_t)K * S);
    ops->broadcast_forward(m->c, v->values, v->value, B, (int64_t)K * S);
    ops->attention_forward(m->c, v->o, v->lse, v->query, v->keys, v->values, &shape);
    linear_forward(m, &at->style_out, v->style, v->o, B, ACT_NONE);
    ops->add_forward(m->c, v->speaker, v->speaker, v->style, (int64_t)B * S);
}

/* Gradient of keys or values of every row [B, K, S] -> of the product that made them, and of the tokens. */
static void tokens_backward(Model *m, VoicePass *v, const LinearAt *l, const void *drows, int B,
                            int accumulate)
{
    const Ops *ops = m->c->ops;
    const int64_t n = (int64_t)m->cfg.gst_num_style_tokens * m->cfg.speaker_embedding_dim;
    /* Summed over the rows in the precision of gradients, then rounded to that of the ops. */
    ops->fill_zero(m->c, v->dkey_sum, (size_t)n * ops->acc_bytes);
    ops->broadcast_backward(m->c, v->dkey_sum, drows, B, n);
    ops->convert(m->c, v->dkey, v->dkey_sum, n);
    linear_backward(m, l, v->dtokens, v->dkey, NULL, weight_at(m, m->at.style_tokens),
                    m->cfg.gst_num_style_tokens, ACT_NONE, accumulate);
}

static void backward(Model *m, VoicePass *v, StackScratch *x, const ModelInput *in, float drop)
{
    const Ops *ops = m->c->ops;
    const ModelAt *at = &m->at;
    const Config *cfg = &m->cfg;
    const int A = cfg->audio_encoder_dim, S = cfg->speaker_embedding_dim, K = cfg->gst_num_style_tokens,
              B = in->B;
    linear_backward(m, &at->speaker, v->dpooled, v->dvector, NULL, v->pooled, B, ACT_NONE, 0);
    if (m->use_style) {
        const AttentionShape shape = style_shape(m, v, B);
        linear_backward(m, &at->style_out, v->dO, v->dvector, NULL, v->o, B, ACT_NONE, 0);
        ops->attention_backward(m->c, v->dquery, v->dkeys, v->dvalues, v->dO, v->o, v->lse, v->query, v->keys,
                                v->values, &shape);
        tokens_backward(m, v, &at->style_key, v->dkeys, B, 0);
        tokens_backward(m, v, &at->style_value, v->dvalues, B, 1);
        /* One row: this only adds the gradient to the parameter's. */
        ops->broadcast_backward(m->c, grad_at(m, at->style_tokens), v->dtokens, 1, (int64_t)K * S);
        /* The pooled mel has two readers: this gradient is added to the vector's. */
        linear_backward(m, &at->style_query, v->dpooled, v->dquery, NULL, v->pooled, B, ACT_NONE, 1);
    }
    model_final(m, at->speaker.w, m->use_style ? at->style_out.b : at->speaker.b, 0);
    /* Back through time; x->y and x->dn are free now, the stack has them only while it runs. */
    ops->pool_backward(m->c, x->y, v->dpooled, v->len, B, v->M4, A);
    void *d = stack_backward(m, &v->stack, x, x->y, drop, 0);
    model_mark(m, "voice in", -1, 1);
    ops->embed_backward(m->c, NULL, x->dn, grad_at(m, at->voice_position), d, NULL, v->len, B, v->M4, A, 0,
                        dropout_at(drop, at->voice.site + 900));
    conv_backward(m, &at->voice_conv2, VOICE_KERNEL, x->dO, x->dn, v->a2, v->a1, v->len, B, v->M4, ACT_RELU);
    conv_backward(m, &at->voice_conv1, VOICE_KERNEL, NULL, x->dO, v->a1, v->frames, v->len, B, v->M4,
                  ACT_RELU);
    model_final(m, at->voice_conv1.w, at->voice_position, 0);
}

/* Convolutions, a stack and style tokens. */
static const VoiceEncoder tokens = {list, cut, forward, backward};

const VoiceEncoder *voice_encoder_of(const Model *m) { return &tokens; }
