/* speak.c - cached decoding over the same operations as training. */
#include "model/speak.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "model/run.h"

#define SITE_PRE 40000 /* dropouts of the pre-net while speaking, two for each step */

struct Speaker {
    Model *m;
    SpeakLimits limits;
    int G; /* most steps */
    void *memory;
    uint64_t bytes;
    StackScratch scratch;
    StackRun text;
    VoiceRun voice;
    int32_t *tokens, *length, *one, *steps;                /* [text], [1], [1], [1] */
    float *reference;                                      /* [reference, n] */
    void *vector, *vector_text, *vector_decoder, *encoded; /* [S], [Ct], [Cd], [text, Ct] */
    float *given;                                          /* [S] */
    void *zeros;                                           /* [max(G Cd, r n)] */
    void *positions;                                       /* [G, Cd] scaled positions and the voice */
    void *h1, *h2, *x;
    NormRun norm;                  /* [1, Cd] */
    void *sums[2], *y, *o, *q, *h; /* [1, Cd], ...; h [1, 4 Cd] */
    void *lse;
    void *qkv[MODEL_MAX_LAYERS]; /* [G, 3 Cd] */
    void *kv[MODEL_MAX_LAYERS];  /* [text, 2 Cd] */
    void *before, *after;        /* [G r, n] */
    void *post[MODEL_MAX_POSTNET];
    void *stop;
    float *stop_acc;  /* [1] */
    float *attention; /* [G, text] acc */
    float *mel;       /* [G r, n] acc */
};

static void cut_speaker(Speaker *s, const Ops *ops, Cut *c)
{
    const Model *m = s->m;
    const Config *cfg = &m->cfg;
    const uint64_t e = ops->real_bytes, n = (uint64_t)cfg->n_mels, G = (uint64_t)s->G, T = (uint64_t)s->limits.text;
    const uint64_t Cd = (uint64_t)cfg->decoder_dim, Ct = (uint64_t)cfg->text_encoder_dim, S = (uint64_t)cfg->speaker_embedding_dim;
    const uint64_t r = (uint64_t)cfg->reduction_factor, frames = G * r;
    const StackRun *stacks[2] = {&s->text, &s->voice.stack};
    stack_cut(&s->text, &m->at.text, ops, c, 1, s->limits.text, 0);
    if (m->use_voice)
        voice_cut(&s->voice, m, ops, c, 1, s->limits.reference, 0);
    stack_scratch_cut(&s->scratch, stacks, m->use_voice ? 2 : 1, ops, c, 0);
    s->tokens = cut_take(c, T * sizeof(int32_t));
    s->length = cut_take(c, sizeof(int32_t));
    s->one = cut_take(c, sizeof(int32_t));
    s->steps = cut_take(c, sizeof(int32_t));
    s->reference = cut_take(c, (uint64_t)s->limits.reference * n * sizeof(float));
    s->vector = cut_take(c, S * e);
    s->vector_text = cut_take(c, Ct * e);
    s->vector_decoder = cut_take(c, Cd * e);
    s->encoded = cut_take(c, T * Ct * e);
    s->given = cut_take(c, S * sizeof(float));
    s->zeros = cut_take(c, (G * Cd > r * n ? G * Cd : r * n) * e);
    s->positions = cut_take(c, G * Cd * e);
    s->h1 = cut_take(c, (uint64_t)cfg->prenet_dim * e);
    s->h2 = cut_take(c, (uint64_t)cfg->prenet_dim * e);
    s->x = cut_take(c, Cd * e);
    s->norm.out = cut_take(c, Cd * e);
    s->norm.mean = cut_take(c, ops->acc_bytes);
    s->norm.rstd = cut_take(c, ops->acc_bytes);
    s->sums[0] = cut_take(c, Cd * e);
    s->sums[1] = cut_take(c, Cd * e);
    s->y = cut_take(c, Cd * e);
    s->o = cut_take(c, Cd * e);
    s->q = cut_take(c, Cd * e);
    s->h = cut_take(c, 4 * Cd * e);
    s->lse = cut_take(c, (uint64_t)cfg->decoder_heads * ops->acc_bytes);
    for (int i = 0; i < cfg->decoder_layers; i++) {
        s->qkv[i] = cut_take(c, G * 3 * Cd * e);
        s->kv[i] = cut_take(c, T * 2 * Cd * e);
    }
    s->before = s->after = cut_take(c, frames * n * e);
    for (int i = 0; i < cfg->postnet_layers; i++)
        s->post[i] = cut_take(c, frames * (uint64_t)m->at.postnet[i].out * e);
    if (cfg->postnet_layers)
        s->after = cut_take(c, frames * n * e);
    s->stop = cut_take(c, e);
    s->stop_acc = cut_take(c, sizeof(float));
    s->attention = cut_take(c, G * T * sizeof(float));
    s->mel = cut_take(c, frames * n * sizeof(float));
}

static void shape_speaker(Speaker *s, const SpeakLimits *limits)
{
    int r = s->m->cfg.reduction_factor;
    s->limits = *limits;
    s->G = (limits->frames + r - 1) / r;
}

uint64_t speaker_bytes(const Model *m, const Ops *ops, const SpeakLimits *limits)
{
    Model copy = *m;
    Speaker *s = mem_calloc(1, sizeof *s);
    Cut c = {0};
    if (!s)
        return UINT64_MAX;
    s->m = &copy;
    shape_speaker(s, limits);
    cut_speaker(s, ops, &c);
    free(s);
    return c.used;
}

int speaker_open(Speaker **out, Model *m, const SpeakLimits *limits, Err *err)
{
    Speaker *s = *out = mem_calloc(1, sizeof *s);
    if (!s)
        return err_set(err, ERR_NOMEM, "no memory to speak");
    s->m = m;
    shape_speaker(s, limits);
    s->bytes = speaker_bytes(m, m->c->ops, limits);
    int rc = device_alloc(m->c->device, &s->memory, s->bytes, err);
    if (rc)
        return rc;
    Cut c = {.base = s->memory};
    cut_speaker(s, m->c->ops, &c);
    s->text.len = s->length;
    return 0;
}

void speaker_close(Speaker *s)
{
    if (!s)
        return;
    if (s->memory)
        device_free(s->m->c->device, s->memory, s->bytes);
    free(s);
}

static int wait_idle(const Speaker *s, Err *err) { return s->m->c->device->ops->stream_wait_idle(s->m->c->stream, err); }

static int put(const Speaker *s, void *to, const void *from, size_t bytes, Err *err)
{
    return s->m->c->device->ops->copy_in(s->m->c->stream, to, from, bytes, err);
}

static int fetch(const Speaker *s, void *to, const void *from, size_t bytes, Err *err)
{
    int rc = s->m->c->device->ops->copy_out(s->m->c->stream, to, from, bytes, err);
    return rc ? rc : wait_idle(s, err);
}

int speaker_listen(Speaker *s, float *voice, const float *mel, int frames, Err *err)
{
    Model *m = s->m;
    const Ops *ops = m->c->ops;
    const int S = m->cfg.speaker_embedding_dim, most = s->limits.reference;
    if (!m->use_voice)
        return err_set(err, ERR_CONFIG,
                       "this network was trained without voice conditioning: it has one voice and listens to no reference");
    int32_t length = frames < most ? frames : most;
    size_t bytes = (size_t)length * (size_t)m->cfg.n_mels * sizeof(float);
    int rc;
    if ((rc = put(s, s->length, &length, sizeof length, err)) || (rc = put(s, s->reference, mel, bytes, err)) ||
        (rc = wait_idle(s, err)))
        return rc;
    ModelInput in = {.B = 1, .M = most, .mel_length = s->length, .mel = s->reference};
    voice_forward(m, &s->voice, &s->scratch, &in, 0);
    ops->unconvert(m->c, s->given, s->voice.speaker, S);
    if ((rc = ops_check(m->c, err)))
        return rc;
    return fetch(s, voice, s->given, (size_t)S * sizeof *voice, err);
}

static void *at(const Speaker *s, void *p, int64_t elements) { return (char *)p + elements * (int64_t)s->m->c->ops->real_bytes; }

/* Text, voice, keys and values of the text, positions: everything that is the same in every step. */
static int begin(Speaker *s, const int32_t *tokens, int count, const float *voice, Err *err)
{
    Model *m = s->m;
    const Ops *ops = m->c->ops;
    const ModelAt *w = &m->at;
    const Config *cfg = &m->cfg;
    const int Ct = cfg->text_encoder_dim, Cd = cfg->decoder_dim, T = s->limits.text;
    int32_t length = count;
    int rc;
    ops->fill_zero(m->c, s->tokens, (size_t)T * sizeof *s->tokens);
    if ((rc = wait_idle(s, err)) || (rc = put(s, s->length, &length, sizeof length, err)) ||
        (rc = put(s, s->tokens, tokens, (size_t)count * sizeof *tokens, err)) ||
        (voice && (rc = put(s, s->given, voice, (size_t)cfg->speaker_embedding_dim * sizeof *voice, err))) ||
        (rc = wait_idle(s, err)))
        return rc;
    ops->fill_int(m->c, s->one, 1, 1);
    const size_t rows = (size_t)s->G * (size_t)Cd, frames = (size_t)(cfg->reduction_factor * cfg->n_mels);
    ops->fill_zero(m->c, s->zeros, (rows > frames ? rows : frames) * ops->real_bytes);
    ops->embed_forward(m->c, s->text.x, s->tokens, weight_at(m, w->symbols), NULL, weight_at(m, w->text_position), 1, T, Ct,
                       (Dropout){0});
    stack_forward(m, &s->text, &s->scratch, 0);
    const void *encoded = s->text.last.out;
    ops->embed_forward(m->c, s->positions, NULL, NULL, s->zeros, weight_at(m, w->decoder_position), 1, s->G, Cd, (Dropout){0});
    if (m->use_voice) {
        ops->convert(m->c, s->vector, s->given, cfg->speaker_embedding_dim);
        linear_run(m, &w->to_text, s->vector_text, s->vector, 1, ACT_NONE);
        linear_run(m, &w->to_decoder, s->vector_decoder, s->vector, 1, ACT_NONE);
        ops->add_vector_forward(m->c, s->encoded, encoded, s->vector_text, 1, T, Ct);
        ops->add_vector_forward(m->c, s->positions, s->positions, s->vector_decoder, 1, s->G, Cd);
        encoded = s->encoded;
    }
    for (int i = 0; i < cfg->decoder_layers; i++)
        linear_run(m, &w->decoder.layer[i].kv, s->kv[i], encoded, T, ACT_NONE);
    return ops_check(m->c, err);
}

/* The stream plus the branch y (NULL: none), normalised into norm.out; returns the stream. */
static void *chain(Speaker *s, const NormAt *n, void *stream, const void *y)
{
    Model *m = s->m;
    void *sum = !y ? stream : stream == s->sums[0] ? s->sums[1] : s->sums[0];
    m->c->ops->norm_forward(m->c, sum, s->norm.out, s->norm.mean, s->norm.rstd, stream, y, weight_at(m, n->w), weight_at(m, n->b),
                            1, m->cfg.decoder_dim, (Dropout){0});
    return sum;
}

static void step(Speaker *s, int g, uint64_t seed)
{
    Model *m = s->m;
    const Ops *ops = m->c->ops;
    const ModelAt *w = &m->at;
    const Config *cfg = &m->cfg;
    const int C = cfg->decoder_dim, P = cfg->prenet_dim, H = cfg->decoder_heads, wide = cfg->reduction_factor * cfg->n_mels;
    AttentionShape self = {.batch = 1, .heads = H, .head_size = C / H, .tq = 1, .tk = s->G, .ldq = 3 * (int64_t)C, .ldo = C};
    self.ldk = self.ldv = 3 * (int64_t)C, self.q_len = s->one, self.k_len = s->steps, self.scale = 1.0f / sqrtf((float)(C / H));
    AttentionShape cross = self;
    cross.tk = s->limits.text, cross.ldq = C, cross.ldk = cross.ldv = 2 * (int64_t)C, cross.k_len = s->length;
    Dropout drop = {(float)cfg->prenet_dropout, seed + (uint64_t)(SITE_PRE + 2 * g) * UINT64_C(0x9E3779B97F4A7C15)};
    ops->fill_int(m->c, s->steps, g + 1, 1);
    linear_run(m, &w->pre1, s->h1, g ? at(s, s->before, (int64_t)(g - 1) * wide) : s->zeros, 1, ACT_RELU);
    if (drop.p > 0)
        ops->dropout_forward(m->c, s->h1, s->h1, P, drop);
    drop.seed += UINT64_C(0x9E3779B97F4A7C15);
    linear_run(m, &w->pre2, s->h2, s->h1, 1, ACT_RELU);
    if (drop.p > 0)
        ops->dropout_forward(m->c, s->h2, s->h2, P / 2, drop);
    linear_run(m, &w->pre_out, s->x, s->h2, 1, ACT_NONE);
    ops->add_forward(m->c, s->x, s->x, at(s, s->positions, (int64_t)g * C), C);
    void *stream = s->x, *y = NULL;
    for (int i = 0; i < cfg->decoder_layers; i++) {
        const LayerAt *l = &w->decoder.layer[i];
        void *row = at(s, s->qkv[i], (int64_t)g * 3 * C);
        stream = chain(s, &l->norm_self, stream, y);
        linear_run(m, &l->qkv, row, s->norm.out, 1, ACT_NONE);
        ops->attention_forward(m->c, s->o, s->lse, NULL, row, at(s, s->qkv[i], C), at(s, s->qkv[i], 2 * C), &self);
        y = s->y;
        linear_run(m, &l->out, y, s->o, 1, ACT_NONE);
        stream = chain(s, &l->norm_cross, stream, y);
        linear_run(m, &l->cross_q, s->q, s->norm.out, 1, ACT_NONE);
        ops->attention_forward(m->c, s->o, s->lse, NULL, s->q, s->kv[i], at(s, s->kv[i], C), &cross);
        if (i == cfg->decoder_layers - 1)
            ops->attention_weights(m->c, s->attention + (size_t)g * (size_t)s->limits.text, s->q, s->kv[i], s->lse, &cross);
        linear_run(m, &l->cross_out, y, s->o, 1, ACT_NONE);
        stream = chain(s, &l->norm_feed, stream, y);
        linear_run(m, &l->up, s->h, s->norm.out, 1, ACT_RELU);
        linear_run(m, &l->down, y, s->h, 1, ACT_NONE);
    }
    chain(s, &w->decoder.norm, stream, y);
    linear_run(m, &w->mel, at(s, s->before, (int64_t)g * wide), s->norm.out, 1, ACT_NONE);
    linear_run(m, &w->stop, s->stop, s->norm.out, 1, ACT_NONE);
    ops->unconvert(m->c, s->stop_acc, s->stop, 1);
}

/* The post-net over all frames, and everything to the host. */
static int finish(Speaker *s, Speech *out, Err *err)
{
    Model *m = s->m;
    const Ops *ops = m->c->ops;
    const Config *cfg = &m->cfg;
    const int n = cfg->n_mels, frames = out->frames;
    const void *in = s->before;
    ops->fill_int(m->c, s->steps, frames, 1);
    for (int i = 0; i < cfg->postnet_layers; i++) {
        const LinearAt *l = &m->at.postnet[i];
        ops->conv_forward(m->c, s->post[i], in, weight_at(m, l->w), weight_at(m, l->b), s->steps, 1, frames, l->in, l->out,
                          CONV_KERNEL, i == cfg->postnet_layers - 1 ? ACT_NONE : ACT_TANH);
        in = s->post[i];
    }
    if (cfg->postnet_layers)
        ops->add_forward(m->c, s->after, s->before, in, (int64_t)frames * n);
    ops->unconvert(m->c, s->mel, s->after, (int64_t)frames * n);
    int rc = ops_check(m->c, err);
    if (rc)
        return rc;
    out->mel = malloc((size_t)frames * (size_t)n * sizeof(float));
    out->attention = malloc((size_t)out->steps * (size_t)out->text * sizeof(float));
    if (!out->mel || !out->attention)
        return err_set(err, ERR_NOMEM, "no memory for %d frames of speech", frames);
    for (int g = 0; g < out->steps && !rc; g++)
        rc = m->c->device->ops->copy_out(m->c->stream, out->attention + (size_t)g * (size_t)out->text,
                                         s->attention + (size_t)g * (size_t)s->limits.text, (size_t)out->text * sizeof(float), err);
    return rc ? rc : fetch(s, out->mel, s->mel, (size_t)frames * (size_t)n * sizeof(float), err);
}

int speaker_say(Speaker *s, Speech *out, const int32_t *tokens, int count, const float *voice, uint64_t seed, float stop, Err *err)
{
    memset(out, 0, sizeof *out);
    if (count < 1 || count > s->limits.text)
        return err_set(err, ERR_DATA, "an utterance has %d tokens, but from 1 to %d can be spoken at once", count, s->limits.text);
    int rc = begin(s, tokens, count, voice, err), g = 0, ended = 0;
    const OpsStep *kept = s->m->c->step; /* the seeds of training's steps are not for here */
    s->m->c->step = NULL;
    for (; !rc && g < s->G && !ended; g++) {
        float logit = 0;
        step(s, g, seed);
        rc = fetch(s, &logit, s->stop_acc, sizeof logit, err);
        ended = 1 / (1 + exp(-(double)logit)) > (double)stop;
    }
    if (!rc) {
        out->steps = g, out->text = count, out->capped = !ended;
        out->frames = g * s->m->cfg.reduction_factor;
        rc = finish(s, out, err);
    }
    s->m->c->step = kept;
    if (rc)
        speech_free(out);
    return rc;
}

void speech_free(Speech *s)
{
    free(s->mel), free(s->attention);
    memset(s, 0, sizeof *s);
}

double speech_diagonal(const Speech *s)
{
    double near = 0, all = 0;
    for (int i = 0; i < s->steps; i++)
        for (int j = 0; j < s->text; j++) {
            double p = (double)s->attention[(size_t)i * (size_t)s->text + (size_t)j];
            double away = fabs((j + 0.5) / s->text - (i + 0.5) / s->steps);
            all += p;
            near += away <= 0.25 ? p : 0;
        }
    return all > 0 ? near / all : 0;
}
