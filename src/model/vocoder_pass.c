/* vocoder_pass.c - one batch through the vocoder: memory, forward, losses, backward. */
#include "model/vocoder_pass.h"

#include "base/bytes.h"
#include "model/vocoder_tables.h"

static VocoderPass *vocoder_of(Pass *r) { return (VocoderPass *)(void *)r; }

static const Dropout no_dropout = {0, 0};

/* What critics see: log bands of speech at about mean 0 and deviation 1. */
#define SEEN_SHIFT 3.0f
#define SEEN_SCALE (1 / 3.0f)

static int rows_of(const VocoderPass *r) { return r->pass.in.B * r->pass.in.M; }
static int samples_of(const VocoderPass *r) { return (r->pass.in.M - 1) * r->pass.m->cfg.hop_length; }

/* ---- memory ---- */

/* From a block's array to that of the next, in bytes. */
static uint64_t wide_step(const VocoderPass *r, const Ops *ops)
{
    return round_up((uint64_t)rows_of(r) * (uint64_t)r->pass.m->cfg.vocoder_dim * ops->real_bytes, CUT_ALIGN);
}
static uint64_t row_step(const VocoderPass *r, const Ops *ops)
{
    return round_up((uint64_t)rows_of(r) * ops->acc_bytes, CUT_ALIGN);
}

/* Frames of resolution i. */
static int seen_frames(const VocoderPass *r, int i) { return samples_of(r) / vocoder_hop(r->pass.m, i) + 1; }

static void seen_cut(VocoderPass *r, const Ops *ops, Cut *c)
{
    const Model *m = r->pass.m;
    const int B = r->pass.in.B;
    int T[VOCODER_LOSSES];
    for (int i = 0; i < VOCODER_LOSSES; i++) {
        T[i] = seen_frames(r, i);
        const uint64_t bytes =
            (uint64_t)B * (uint64_t)T[i] * (uint64_t)vocoder_band_count(m, i) * ops->real_bytes;
        r->seen[i].len = cut_take(c, (uint64_t)B * sizeof *r->seen[i].len);
        r->seen[i].ours = cut_take(c, bytes);
        r->seen[i].theirs = cut_take(c, bytes);
        r->seen[i].dours = cut_take(c, bytes);
    }
    critics_cut(r->critic, m, ops, c, B, T);
}

void vocoder_pass_cut(Pass *p, const Ops *ops, Cut *c)
{
    VocoderPass *r = vocoder_of(p);
    const Model *m = p->m;
    const Config *cfg = &m->cfg;
    const int64_t rows = rows_of(r);
    const uint64_t R = (uint64_t)rows, e = ops->real_bytes, wide = wide_step(r, ops), row = row_step(r, ops),
                   samples = (uint64_t)p->in.B * (uint64_t)samples_of(r);
    const uint64_t unfolded = ops->unfolded_bytes(rows, cfg->n_mels, VOCODER_KERNEL);
    BlockPass *b = &r->block;
    r->unused_len = cut_take(c, (uint64_t)p->in.B * sizeof *r->unused_len);
    r->mel = cut_take(c, R * (uint64_t)cfg->n_mels * e);
    r->prior = cut_take(c, R * (uint64_t)(cfg->n_fft / 2 + 1) * sizeof *r->prior);
    r->unfolded = p->training && unfolded ? cut_take(c, unfolded) : NULL;
    /* The backward pass reads what every block was given; without one the blocks share their memory. */
    r->kept = p->training ? cfg->vocoder_layers : 1;
    const uint64_t kept = (uint64_t)r->kept;
    b->x = cut_take(c, kept * wide);
    b->deep = cut_take(c, kept * wide);
    b->out = cut_take(c, kept * wide);
    b->mean = cut_take(c, kept * row);
    b->rstd = cut_take(c, kept * row);
    b->h = cut_take(c, kept * VOCODER_WIDEN * wide);
    r->first.sum = cut_take(c, wide);
    r->first.out = b->x;
    r->first.mean = cut_take(c, row);
    r->first.rstd = cut_take(c, row);
    norm_cut(&r->last, ops, c, rows, cfg->vocoder_dim);
    r->spectrum = cut_take(c, R * (uint64_t)m->vocoder.head.out * e);
    r->wave = cut_take(c, samples * ops->acc_bytes);
    if (!p->training)
        return;
    /* Every block has its own gradients where those of several blocks' weights are computed at once. */
    r->grads = ops->layers_at_once > 1 ? cfg->vocoder_layers : 1;
    const uint64_t grads = (uint64_t)r->grads;
    r->dwave = cut_take(c, samples * ops->acc_bytes);
    r->dspectrum = cut_take(c, R * (uint64_t)m->vocoder.head.out * e);
    r->dx = cut_take(c, (grads + 1) * wide);
    r->dedge = cut_take(c, wide);
    b->dn = cut_take(c, grads * wide);
    b->dd = cut_take(c, grads * wide);
    b->dh = cut_take(c, grads * VOCODER_WIDEN * wide);
    if (m->critics)
        seen_cut(r, ops, c);
}

static void *further(void *p, uint64_t bytes) { return p ? (char *)p + bytes : NULL; }

static BlockPass block_of(const VocoderPass *r, int i)
{
    const Ops *ops = r->pass.m->c->ops;
    const uint64_t wide = wide_step(r, ops), row = row_step(r, ops);
    const uint64_t kept = r->kept > 1 ? (uint64_t)i : 0, grads = r->grads > 1 ? (uint64_t)i : 0;
    const BlockPass *b = &r->block;
    return (BlockPass){.x = !i || r->kept > 1 ? further(b->x, kept * wide) : r->last.sum,
                       .deep = further(b->deep, kept * wide),
                       .out = further(b->out, kept * wide),
                       .mean = further(b->mean, kept * row),
                       .rstd = further(b->rstd, kept * row),
                       .h = further(b->h, kept * VOCODER_WIDEN * wide),
                       .dn = further(b->dn, grads * wide),
                       .dd = further(b->dd, grads * wide),
                       .dh = further(b->dh, grads * VOCODER_WIDEN * wide)};
}

/* The gradient of the input of block i; of what comes out of the last one, with the number behind it. */
static void *dx_of(const VocoderPass *r, int i)
{
    return further(r->dx, (uint64_t)(r->grads > 1 ? i : i % 2) * wide_step(r, r->pass.m->c->ops));
}

/* ---- forward ---- */

static void norm_forward(Model *m, const NormAt *at, void *in, void *out, void *mean, void *rstd,
                         int64_t rows)
{
    m->c->ops->norm_forward(m->c, in, out, mean, rstd, in, NULL, weight_at(m, at->w), weight_at(m, at->b),
                            rows, m->cfg.vocoder_dim, no_dropout);
}

static void block_forward(VocoderPass *r, int i)
{
    Model *m = r->pass.m;
    const Ops *ops = m->c->ops;
    const BlockAt *at = &m->vocoder.block[i];
    const BlockPass b = block_of(r, i);
    const ModelInput *in = &r->pass.in;
    const int64_t rows = rows_of(r);
    void *to = i + 1 < m->cfg.vocoder_layers ? block_of(r, i + 1).x : r->last.sum;
    model_mark(m, "vocoder", i, 0);
    ops->filter_norm_forward(m->c, b.out, b.deep, b.mean, b.rstd, b.x, weight_at(m, at->depthwise.w),
                             weight_at(m, at->depthwise.b), weight_at(m, at->norm.w),
                             weight_at(m, at->norm.b), in->mel_length, in->B, in->M, m->cfg.vocoder_dim,
                             VOCODER_KERNEL);
    linear_forward(m, &at->up, b.h, b.out, rows, ACT_RELU);
    ops->linear_add(m->c, to, b.x, b.h, weight_at(m, at->down.w), weight_at(m, at->down.b), rows,
                    at->down.out, at->down.in);
}

void vocoder_pass_forward(Pass *p, int training)
{
    VocoderPass *r = vocoder_of(p);
    Model *m = p->m;
    const Ops *ops = m->c->ops;
    const Config *cfg = &m->cfg;
    const ModelInput *in = &p->in;
    const VocoderAt *at = &m->vocoder;
    const SoundBands spread = vocoder_spread(m);
    const SoundFrames frames = vocoder_frames(m, ops);
    const int64_t rows = rows_of(r);
    /* The prior only reads the mel. */
    side_begin(m);
    ops->log_spread(m->c, r->prior, in->mel, &spread, rows, cfg->n_mels, VOCODER_PRIOR_SHIFT);
    side_end(m);
    model_mark(m, "vocoder in", -1, 0);
    ops->scale_frames(m->c, r->mel, in->mel, in->mel_length, in->B, in->M, cfg->n_mels, -VOCODER_MEL_MEAN,
                      1.0f / VOCODER_MEL_DEVIATION);
    ops->conv_forward(m->c, r->first.sum, r->unfolded, r->mel, weight_at(m, at->input.w),
                      weight_at(m, at->input.b), in->mel_length, in->B, in->M, cfg->n_mels, cfg->vocoder_dim,
                      VOCODER_KERNEL, ACT_NONE);
    norm_forward(m, &at->norm_in, r->first.sum, r->first.out, r->first.mean, r->first.rstd, rows);
    for (int i = 0; i < cfg->vocoder_layers; i++)
        block_forward(r, i);
    model_mark(m, "vocoder out", -1, 0);
    norm_forward(m, &at->norm_out, r->last.sum, r->last.out, r->last.mean, r->last.rstd, rows);
    linear_forward(m, &at->head, r->spectrum, r->last.out, rows, ACT_NONE);
    side_join(m);
    model_mark(m, "sound", -1, 0);
    ops->wave_forward(m->c, r->wave, r->spectrum, at->head.out, r->prior, &frames, in->B, in->M);
}

/* ---- losses ---- */

/* The critics see the logarithms of all bands, shifted and scaled like the vocoder's own mel; what they teach
 * goes back to the sound through the transforms of the loss. */
static void ask_critics(VocoderPass *r, void *sums, SoundScale *scales)
{
    Model *m = r->pass.m;
    const Ops *ops = m->c->ops;
    const ModelInput *in = &r->pass.in;
    CriticSight sights[VOCODER_LOSSES];
    for (int i = 0; i < VOCODER_LOSSES; i++) {
        const int T = seen_frames(r, i), bands = scales[i].bands.count;
        ops->sound_bands(m->c, r->seen[i].ours, r->seen[i].theirs, r->seen[i].len, r->wave, in->samples,
                         in->mel_length, &scales[i], in->B, samples_of(r), SEEN_SHIFT, SEEN_SCALE);
        ops->fill_zero(m->c, r->seen[i].dours, (size_t)in->B * (size_t)T * (size_t)bands * ops->real_bytes);
        sights[i] = (CriticSight){.T = T,
                                  .bands = bands,
                                  .len = r->seen[i].len,
                                  .made = r->seen[i].ours,
                                  .recorded = r->seen[i].theirs,
                                  .dmade = r->seen[i].dours};
        scales[i].dbands = r->seen[i].dours;
        scales[i].dbands_scale = SEEN_SCALE;
    }
    critics_learn(m, r->critic, sums, sights, in->B, in->M);
}

/* The mean over resolutions of the mean over frames and bands, for every row. It counts as often as the row
 * has frames of its mel, since the sums of a step are divided by those. */
void vocoder_pass_losses(Pass *p, void *sums)
{
    VocoderPass *r = vocoder_of(p);
    Model *m = p->m;
    const Ops *ops = m->c->ops;
    const ModelInput *in = &p->in;
    const int samples = samples_of(r);
    model_mark(m, "losses", -1, 0);
    ops->length_groups(m->c, r->unused_len, term_at(m, sums, SUM_FRAMES), in->mel_length, in->B, 1);
    SoundScale scales[VOCODER_LOSSES];
    for (int i = 0; i < VOCODER_LOSSES; i++) {
        scales[i] = (SoundScale){.frames = vocoder_loss_frames(m, ops, i), .bands = vocoder_bands(m, i)};
        const double count =
            (double)VOCODER_LOSSES * (samples / scales[i].frames.hop + 1) * scales[i].bands.count;
        scales[i].weight = (float)(loss_term_weight(TERM_SPECTRAL, &m->cfg) * in->M / count);
    }
    if (m->critics && m->critics_speak && p->learning)
        ask_critics(r, sums, scales);
    ops->spectral_loss(m->c, term_at(m, sums, TERM_SPECTRAL), r->dwave, r->wave, in->samples, in->mel_length,
                       scales, VOCODER_LOSSES, in->B, samples);
}

/* ---- backward ---- */

static void norm_backward(Model *m, const NormAt *at, void *din, const void *dout, const void *in,
                          const void *mean, const void *rstd, int64_t rows)
{
    m->c->ops->norm_backward(m->c, din, NULL, grad_at(m, at->w), grad_at(m, at->b), NULL, dout, NULL, in,
                             mean, rstd, weight_at(m, at->w), rows, m->cfg.vocoder_dim, no_dropout);
}

/* Elements from a parameter of a block to that of the next: all blocks have the same list. */
static int64_t param_step(const Model *m)
{
    return m->cfg.vocoder_layers > 1 ? m->vocoder.block[1].up.w - m->vocoder.block[0].up.w : 0;
}

static Linears linears_of(Model *m, const LinearAt *at, int count, const void *dout, uint64_t dout_step,
                          const void *in, uint64_t in_step)
{
    const uint64_t real = m->c->ops->real_bytes;
    return (Linears){.count = count,
                     .dw = grad_at(m, at->w),
                     .dbias = grad_at(m, at->b),
                     .dout = dout,
                     .in = in,
                     .param_step = param_step(m),
                     .dout_step = (int64_t)(dout_step / real),
                     .in_step = (int64_t)(in_step / real)};
}

static FilterNorms filters_of(const VocoderPass *r, int i, int count)
{
    Model *m = r->pass.m;
    const Ops *ops = m->c->ops;
    const BlockAt *at = &m->vocoder.block[i];
    const BlockPass b = block_of(r, i);
    return (FilterNorms){.count = count,
                         .dw = grad_at(m, at->depthwise.w),
                         .dbias = grad_at(m, at->depthwise.b),
                         .dnorm_w = grad_at(m, at->norm.w),
                         .dnorm_b = grad_at(m, at->norm.b),
                         .in = b.x,
                         .deep = b.deep,
                         .dout = b.dn,
                         .ddeep = b.dd,
                         .mean = b.mean,
                         .rstd = b.rstd,
                         .param_step = param_step(m),
                         .real_step = (int64_t)(wide_step(r, ops) / ops->real_bytes),
                         .row_step = (int64_t)(row_step(r, ops) / ops->acc_bytes)};
}

/* The gradients of the weights of both products, of `count` blocks from i on. */
static void products_weights(VocoderPass *r, int i, int count)
{
    Model *m = r->pass.m;
    const BlockAt *at = &m->vocoder.block[i];
    const BlockPass b = block_of(r, i);
    const int64_t rows = rows_of(r);
    const uint64_t wide = wide_step(r, m->c->ops);
    const Linears down = linears_of(m, &at->down, count, dx_of(r, i + 1), wide, b.h, VOCODER_WIDEN * wide),
                  up = linears_of(m, &at->up, count, b.dh, VOCODER_WIDEN * wide, b.out, wide);
    side_begin(m);
    m->c->ops->linear_weights(m->c, &down, rows, at->down.out, at->down.in);
    m->c->ops->linear_weights(m->c, &up, rows, at->up.out, at->up.in);
    side_end(m);
}

/* The gradient of a block's output -> the gradient of its input. `count` blocks from here on have waited for
 * the gradients of their weights; 0: they still do. Nothing waits for these: they are computed on the side
 * lane as soon as what they read is there. */
static void block_backward(VocoderPass *r, int i, int count)
{
    Model *m = r->pass.m;
    const Ops *ops = m->c->ops;
    const BlockAt *at = &m->vocoder.block[i];
    const BlockPass b = block_of(r, i);
    const ModelInput *in = &r->pass.in;
    const int C = m->cfg.vocoder_dim;
    const int64_t rows = rows_of(r);
    const void *up = weight_at(m, at->up.w);
    void *dout = dx_of(r, i + 1);
    model_mark(m, "vocoder", i, 1);
    ops->linear_backward(m->c, b.dh, NULL, NULL, dout, NULL, NULL, weight_at(m, at->down.w), rows,
                         at->down.out, at->down.in, ACT_NONE, 0);
    /* The ReLU first, which the gradients of the weights need as well. */
    ops->linear_backward(m->c, NULL, NULL, NULL, b.dh, b.h, NULL, up, rows, at->up.out, at->up.in, ACT_RELU,
                         0);
    if (count)
        products_weights(r, i, count);
    ops->linear_backward(m->c, b.dn, NULL, NULL, b.dh, NULL, NULL, up, rows, at->up.out, at->up.in, ACT_NONE,
                         0);
    const FilterNorms one = filters_of(r, i, 1);
    ops->filter_norm_backward(m->c, dx_of(r, i), dout, &one, weight_at(m, at->depthwise.w),
                              weight_at(m, at->norm.w), in->mel_length, in->B, in->M, C, VOCODER_KERNEL);
    if (!count)
        return;
    const FilterNorms all = filters_of(r, i, count);
    side_begin(m);
    ops->filter_norm_weights(m->c, &all, in->mel_length, in->B, in->M, C, VOCODER_KERNEL);
    side_end(m);
}

void vocoder_pass_backward(Pass *p)
{
    VocoderPass *r = vocoder_of(p);
    Model *m = p->m;
    const Ops *ops = m->c->ops;
    const ModelInput *in = &p->in;
    const VocoderAt *at = &m->vocoder;
    const SoundFrames frames = vocoder_frames(m, ops);
    const int64_t rows = rows_of(r);
    const int layers = m->cfg.vocoder_layers;
    const Linears head = linears_of(m, &at->head, 1, r->dspectrum, 0, r->last.out, 0);
    /* Those of the critics came with the losses. */
    critics_final(m, 0);
    model_mark(m, "sound", -1, 1);
    ops->wave_backward(m->c, r->dspectrum, r->dwave, r->spectrum, at->head.out, r->prior, &frames, in->B,
                       in->M);
    model_mark(m, "vocoder out", -1, 1);
    side_begin(m);
    ops->linear_weights(m->c, &head, rows, at->head.out, at->head.in);
    side_end(m);
    ops->linear_backward(m->c, r->dedge, NULL, NULL, r->dspectrum, NULL, NULL, weight_at(m, at->head.w), rows,
                         at->head.out, at->head.in, ACT_NONE, 0);
    norm_backward(m, &at->norm_out, dx_of(r, layers), r->dedge, r->last.sum, r->last.mean, r->last.rstd,
                  rows);
    model_final(m, at->norm_out.w, at->head.b, !m->mark);
    for (int i = layers - 1, waiting = 0; i >= 0; i--) {
        /* What is left for the side lane at the end should be short. */
        const int now = ++waiting == ops->layers_at_once || i <= 1;
        block_backward(r, i, now ? waiting : 0);
        if (now)
            model_final(m, at->block[i].depthwise.w, at->block[i + waiting - 1].down.b, !m->mark);
        waiting = now ? 0 : waiting;
    }
    model_mark(m, "vocoder in", -1, 1);
    norm_backward(m, &at->norm_in, r->dedge, dx_of(r, 0), r->first.sum, r->first.mean, r->first.rstd, rows);
    ops->conv_backward(m->c, NULL, grad_at(m, at->input.w), grad_at(m, at->input.b), r->dedge, NULL, r->mel,
                       r->unfolded, weight_at(m, at->input.w), in->mel_length, in->B, in->M, m->cfg.n_mels,
                       m->cfg.vocoder_dim, VOCODER_KERNEL, ACT_NONE);
    model_final(m, at->input.w, at->norm_in.b, 0);
    side_join(m);
}

void vocoder_pass_output(const Pass *p, PassOutput *o)
{
    const VocoderPass *r = (const VocoderPass *)(const void *)p;
    *o = (PassOutput){.wave = r->wave};
}
