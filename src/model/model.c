/* model.c - the list of parameters of docs/MODEL.md, their memory, and the optimiser's step. */
#include "model/model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"

/* A product with bias; gain scales its first values. kernel > 1: a convolution. */
static LinearAt linear(ParamList *l, const char *prefix, const char *name, int out, int in, int kernel,
                       double gain)
{
    char full[56];
    /* Glorot and Bengio 2010: uniform within +-sqrt(6 / (in + out)). */
    double half = gain * sqrt(6.0 / ((double)(in + out) * kernel));
    LinearAt at = {.out = out, .in = in};
    snprintf(full, sizeof full, "%s.weight", name);
    at.w = kernel > 1 ? params_add(l, prefix, full, INIT_UNIFORM, half, 1, out, kernel, in)
                      : params_add(l, prefix, full, INIT_UNIFORM, half, 1, out, in, -1);
    snprintf(full, sizeof full, "%s.bias", name);
    at.b = params_add(l, prefix, full, INIT_VALUE, 0, 0, out, -1, -1);
    return at;
}

/* A product whose first values keep the variance of what passes through it. */
static LinearAt plain(ParamList *l, const char *prefix, const char *name, int out, int in)
{
    return linear(l, prefix, name, out, in, 1, 1);
}

/* Weights of 1 and biases of 0: a norm begins as a plain normalisation. Not decayed. */
static NormAt norm(ParamList *l, const char *prefix, const char *name, int dim)
{
    char full[56];
    NormAt at;
    snprintf(full, sizeof full, "%s.weight", name);
    at.w = params_add(l, prefix, full, INIT_VALUE, 1, 0, dim, -1, -1);
    snprintf(full, sizeof full, "%s.bias", name);
    at.b = params_add(l, prefix, full, INIT_VALUE, 0, 0, dim, -1, -1);
    return at;
}

/* The parameters of a transformer stack. site: where its dropout seeds begin, apart from all others. */
static void stack(ParamList *l, StackAt *s, const char *name, int dim, int heads, int layers, int ratio,
                  uint64_t site)
{
    char at[40], end[16];
    /* Both branches of every layer end in the residual stream; begun this small, the stream keeps its
     * size. */
    double gain = 1 / sqrt(2.0 * layers);
    *s = (StackAt){
        .name = name, .dim = dim, .heads = heads, .layers = layers, .feed = ratio * dim, .site = site};
    for (int i = 0; i < layers; i++) {
        LayerAt *w = &s->layer[i];
        /* Names are those in checkpoints; they never change. */
        snprintf(at, sizeof at, "%s.layers.%d.", name, i);
        w->norm_self = norm(l, at, "norm_self", dim);
        w->qkv = plain(l, at, "qkv", 3 * dim, dim);
        w->out = linear(l, at, "out", dim, dim, 1, gain);
        w->norm_feed = norm(l, at, "norm_feed", dim);
        w->up = linear(l, at, "up", s->feed, dim, FEED_KERNEL, 1);
        w->down = linear(l, at, "down", dim, s->feed, 1, gain);
    }
    snprintf(end, sizeof end, "%s.", name);
    s->norm = norm(l, end, "norm", dim);
}

/* What only a network with voice conditioning has. */
static void list_voice(Model *m)
{
    ParamList *l = &m->params;
    const Config *cfg = &m->cfg;
    ModelAt *at = &m->at;
    const int A = cfg->audio_encoder_dim, S = cfg->speaker_embedding_dim;
    /* Groups of frames, twice convolved, through a stack, to one vector. */
    at->voice_conv1 = linear(l, "voice.", "conv1", A, VOICE_FRAMES * cfg->n_mels, VOICE_KERNEL, 1);
    at->voice_conv2 = linear(l, "voice.", "conv2", A, A, VOICE_KERNEL, 1);
    at->voice_position = params_add(l, "voice.", "position", INIT_VALUE, 1, 0, 1, -1, -1);
    stack(l, &at->voice, "voice", A, cfg->audio_encoder_heads, cfg->audio_encoder_layers,
          cfg->feed_forward_ratio, 2000);
    at->speaker = plain(l, "voice.", "speaker", S, A);
    if (m->use_style) {
        at->style_tokens =
            params_add(l, "voice.", "style_tokens", INIT_NORMAL, 0.5, 1, cfg->gst_num_style_tokens, S, -1);
        at->style_query = plain(l, "voice.", "style_query", S, A);
        /* A bias of the keys would move every score alike: it would have no gradient. */
        at->style_key = (LinearAt){.b = -1, .out = S, .in = S};
        at->style_key.w =
            params_add(l, "voice.", "style_key.weight", INIT_UNIFORM, sqrt(6.0 / (2 * S)), 1, S, S, -1);
        at->style_value = plain(l, "voice.", "style_value", S, S);
        at->style_out = plain(l, "voice.", "style_out", S, S);
    }
    /* Added to every symbol. */
    at->to_text = plain(l, "voice.", "to_text", cfg->text_encoder_dim, S);
}

/* All parameters, in the order of docs/MODEL.md: memory, checkpoints and counts follow this list. */
static void list_all(Model *m)
{
    ParamList *l = &m->params;
    const Config *cfg = &m->cfg;
    ModelAt *at = &m->at;
    const int Ct = cfg->text_encoder_dim, Cd = cfg->decoder_dim, n = cfg->n_mels, P = cfg->predictor_dim;
    /* Text: embedding, positions, stack. */
    at->symbols = params_add(l, "text.", "symbols", INIT_NORMAL, 1, 1, m->symbols, Ct, -1);
    at->text_position = params_add(l, "text.", "position", INIT_VALUE, 1, 0, 1, -1, -1);
    stack(l, &at->text, "text", Ct, cfg->text_encoder_heads, cfg->text_encoder_layers,
          cfg->feed_forward_ratio, 1000);
    if (m->use_voice)
        list_voice(m);
    /* The mel that a symbol expects: what the alignment compares with frames. */
    at->prior = plain(l, "text.", "prior", n, Ct);
    /* The predictor of duration, pitch and energy. */
    at->conv1 = linear(l, "predictor.", "conv1", P, Ct, FEED_KERNEL, 1);
    at->norm1 = norm(l, "predictor.", "norm1", P);
    at->conv2 = linear(l, "predictor.", "conv2", P, P, FEED_KERNEL, 1);
    at->norm2 = norm(l, "predictor.", "norm2", P);
    at->traits = plain(l, "predictor.", "traits", TRAIT_COUNT, P);
    /* The decoder: pitch and energy as vectors, the frames' stack, and the mel. */
    at->pitch = params_add(l, "decoder.", "pitch", INIT_NORMAL, 0.1, 0, Ct, -1, -1);
    at->energy = params_add(l, "decoder.", "energy", INIT_NORMAL, 0.1, 0, Ct, -1, -1);
    at->lift = plain(l, "decoder.", "lift", Cd, Ct);
    at->decoder_position = params_add(l, "decoder.", "position", INIT_VALUE, 1, 0, 1, -1, -1);
    stack(l, &at->decoder, "decoder", Cd, cfg->decoder_heads, cfg->decoder_layers, cfg->feed_forward_ratio,
          3000);
    at->mel = plain(l, "decoder.", "mel", n, Cd);
}

/* Heads must divide the width; sines and cosines of the positions need an even one. */
static int check_heads(const char *what, int dim, int heads, Err *err)
{
    if (dim % heads == 0 && dim % 2 == 0)
        return 0;
    return err_set(err, ERR_CONFIG, "%s is %d wide, which %d heads do not divide evenly", what, dim, heads);
}

int model_open(Model *m, const Config *cfg, int symbols, Err *err)
{
    memset(m, 0, sizeof *m);
    int rc = check_heads("the text encoder", cfg->text_encoder_dim, cfg->text_encoder_heads, err);
    if (!rc)
        rc = check_heads("the voice encoder", cfg->audio_encoder_dim, cfg->audio_encoder_heads, err);
    if (!rc)
        rc = check_heads("the decoder", cfg->decoder_dim, cfg->decoder_heads, err);
    if (!rc)
        rc = check_heads("the voice vector", cfg->speaker_embedding_dim, cfg->gst_num_heads, err);
    if (rc)
        return rc;
    /* Style tokens are a part of the voice: without one there are none. */
    m->cfg = *cfg;
    m->symbols = symbols;
    m->use_voice = cfg->use_voice_conditioning;
    m->use_style = cfg->use_voice_conditioning && cfg->use_gst;
    list_all(m);
    if (m->params.failed) {
        model_close(m);
        return err_set(err, ERR_NOMEM, "no memory for the list of parameters");
    }
    return 0;
}

void model_close(Model *m)
{
    params_close(&m->params);
    memset(m, 0, sizeof *m);
}

#define MEMORY_ALIGN 256 /* bytes: where every array of the model begins */

static uint64_t even(uint64_t bytes) { return (bytes + MEMORY_ALIGN - 1) / MEMORY_ALIGN * MEMORY_ALIGN; }

uint64_t model_bytes(const Model *m, const Ops *ops, int training)
{
    uint64_t n = (uint64_t)m->params.size, acc = even(n * ops->acc_bytes);
    /* bf16 has working weights besides the masters. */
    uint64_t working = ops->real == REAL_BF16 ? even(n * ops->real_bytes) : 0;
    /* Training adds the gradients, both moments, and a byte per number that says whether it decays. */
    return acc + working + (training ? 3 * acc + even(n) : 0);
}

void model_attach(Model *m, OpsContext *c, void *memory, int training)
{
    uint64_t n = (uint64_t)m->params.size, acc = even(n * c->ops->acc_bytes);
    char *p = memory;
    m->c = c;
    m->masters = p;
    p += acc;
    /* Without bf16 the masters themselves are what the ops work with. */
    m->weights = m->masters;
    if (c->ops->real == REAL_BF16) {
        m->weights = p;
        p += even(n * c->ops->real_bytes);
    }
    /* Synthesis needs the weights alone. */
    m->grads = m->moments1 = m->moments2 = m->decay = NULL;
    if (!training)
        return;
    m->grads = p;
    p += acc;
    m->moments1 = p;
    p += acc;
    m->moments2 = p;
    p += acc;
    m->decay = (uint8_t *)p;
}

/* Copies from host memory; zeros where there is nothing to copy. */
static int load(Model *m, void *to, const float *from, Err *err)
{
    size_t bytes = (size_t)m->params.size * sizeof(float);
    const DeviceOps *d = m->c->device->ops;
    return from ? d->copy_in(m->c->stream, to, from, bytes, err) : d->fill_zero(m->c->stream, to, bytes, err);
}

int model_load(Model *m, const float *masters, const float *moments1, const float *moments2,
               const uint8_t *decay, Err *err)
{
    ASSERT_CMP(m->c->ops->acc_bytes, ==, sizeof(float));
    int rc = load(m, m->masters, masters, err);
    /* The working weights follow from the masters; checkpoints hold only these. */
    if (!rc && m->weights != m->masters)
        m->c->ops->convert(m->c, m->weights, m->masters, m->params.size);
    if (rc || !m->grads)
        return rc;
    rc = load(m, m->moments1, moments1, err);
    if (!rc)
        rc = load(m, m->moments2, moments2, err);
    if (rc)
        return rc;
    return m->c->device->ops->copy_in(m->c->stream, m->decay, decay, (size_t)m->params.size, err);
}

void model_update(Model *m, OpsGuard *guard, void *scale, void *norm2, int32_t *finite, const void *sums)
{
    const Ops *ops = m->c->ops;
    const Config *cfg = &m->cfg;
    const int64_t n = m->params.size;
    /* Nothing of this waits for the device: the guard decides there whether the step is made. */
    ops->norm2(m->c, norm2, finite, m->grads, n);
    ops->guard(m->c, guard, scale, norm2, finite, (const char *)sums + SUM_FRAMES * ops->acc_bytes,
               (float)cfg->gradient_clip_norm, (float)cfg->max_loss_spike_threshold);
    /* The step number and the learning rate are read from c->step; those given here are for tests without
     * it. */
    ops->adamw(m->c, m->masters, m->weights == m->masters ? NULL : m->weights, m->moments1, m->moments2,
               m->grads, m->decay, scale, n, (float)cfg->learning_rate, (float)cfg->beta1, (float)cfg->beta2,
               (float)cfg->adam_eps, (float)cfg->weight_decay, 1);
}
