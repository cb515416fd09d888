/* voice_params.c - the voice: the list of its parameters (docs/MODEL.md), and its table of functions. */
#include <math.h>
#include <stdio.h>

#include "model/voice_pass.h"

LinearAt linear_list(ParamList *l, const char *prefix, const char *name, int out, int in, int kernel,
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

LinearAt plain_list(ParamList *l, const char *prefix, const char *name, int out, int in)
{
    return linear_list(l, prefix, name, out, in, 1, 1);
}

void stack_list(ParamList *l, StackAt *s, const char *name, int dim, int heads, int layers, int ratio,
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
        w->norm_self = norm_list(l, at, "norm_self", dim);
        w->qkv = plain_list(l, at, "qkv", 3 * dim, dim);
        w->out = linear_list(l, at, "out", dim, dim, 1, gain);
        w->norm_feed = norm_list(l, at, "norm_feed", dim);
        w->up = linear_list(l, at, "up", s->feed, dim, FEED_KERNEL, 1);
        w->down = linear_list(l, at, "down", dim, s->feed, 1, gain);
    }
    snprintf(end, sizeof end, "%s.", name);
    s->norm = norm_list(l, end, "norm", dim);
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
    /* What every symbol of a line in that language gets added: small beside the symbol itself. */
    if (m->languages)
        at->languages = params_add(l, "text.", "languages", INIT_NORMAL, 0.1, 1, m->languages, Ct, -1);
    at->text_position = params_add(l, "text.", "position", INIT_VALUE, 1, 0, 1, -1, -1);
    stack_list(l, &at->text, "text", Ct, cfg->text_encoder_heads, cfg->text_encoder_layers,
               cfg->feed_forward_ratio, 1000);
    if (m->use_voice) {
        voice_encoder_of(m)->list(m);
        /* Added to every symbol. */
        at->to_text = plain_list(l, "voice.", "to_text", Ct, cfg->speaker_embedding_dim);
    }
    /* The mel that a symbol expects: what the alignment compares with frames. */
    at->prior = plain_list(l, "text.", "prior", n, Ct);
    /* The predictor of duration, pitch and energy. */
    at->conv1 = linear_list(l, "predictor.", "conv1", P, Ct, FEED_KERNEL, 1);
    at->norm1 = norm_list(l, "predictor.", "norm1", P);
    at->conv2 = linear_list(l, "predictor.", "conv2", P, P, FEED_KERNEL, 1);
    at->norm2 = norm_list(l, "predictor.", "norm2", P);
    at->traits = plain_list(l, "predictor.", "traits", TRAIT_COUNT, P);
    /* The decoder: pitch and energy as vectors, the frames' stack, and the mel. */
    at->pitch = params_add(l, "decoder.", "pitch", INIT_NORMAL, 0.1, 0, Ct, -1, -1);
    at->energy = params_add(l, "decoder.", "energy", INIT_NORMAL, 0.1, 0, Ct, -1, -1);
    at->lift = plain_list(l, "decoder.", "lift", Cd, Ct);
    at->decoder_position = params_add(l, "decoder.", "position", INIT_VALUE, 1, 0, 1, -1, -1);
    stack_list(l, &at->decoder, "decoder", Cd, cfg->decoder_heads, cfg->decoder_layers,
               cfg->feed_forward_ratio, 3000);
    at->mel = plain_list(l, "decoder.", "mel", n, Cd);
    critics_list(m, &n, 1, cfg->critic_dim);
}

/* Heads must divide the width; sines and cosines of the positions need an even one. */
static int check_heads(const char *what, int dim, int heads, Err *err)
{
    if (dim % heads == 0 && dim % 2 == 0)
        return 0;
    return err_set(err, ERR_CONFIG, "%s is %d wide, which %d heads do not divide evenly", what, dim, heads);
}

/* Style tokens are a part of the voice: without one there are none. */
static int list(Model *m, Err *err)
{
    const Config *cfg = &m->cfg;
    int rc = check_heads("the text encoder", cfg->text_encoder_dim, cfg->text_encoder_heads, err);
    if (!rc)
        rc = check_heads("the voice encoder", cfg->audio_encoder_dim, cfg->audio_encoder_heads, err);
    if (!rc)
        rc = check_heads("the decoder", cfg->decoder_dim, cfg->decoder_heads, err);
    if (!rc)
        rc = check_heads("the voice vector", cfg->speaker_embedding_dim, cfg->gst_num_heads, err);
    if (rc)
        return rc;
    m->use_voice = cfg->use_voice_conditioning;
    m->use_style = cfg->use_voice_conditioning && cfg->use_gst;
    list_all(m);
    return 0;
}

const Network network_voice = {.list = list,
                               .pass_bytes = sizeof(SpeechPass),
                               .cut = voice_pass_cut,
                               .forward = voice_pass_forward,
                               .losses = voice_pass_losses,
                               .backward = voice_pass_backward,
                               .output = voice_pass_output};
