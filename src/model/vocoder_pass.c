/* vocoder_pass.c - one batch through the vocoder: memory, forward, losses, backward. */
#include "model/vocoder_pass.h"

#include "model/vocoder_tables.h"

#define PRIOR_SHIFT 0.3f /* what the flat bands of the prior lack of a spectrum's peaks, on the average */

static VocoderPass *vocoder_of(Pass *r) { return (VocoderPass *)(void *)r; }

static const Dropout no_dropout = {0, 0};

static int rows_of(const VocoderPass *r) { return r->pass.in.B * r->pass.in.M; }
static int samples_of(const VocoderPass *r) { return (r->pass.in.M - 1) * r->pass.m->cfg.hop_length; }

void vocoder_pass_cut(Pass *p, const Ops *ops, Cut *c)
{
    VocoderPass *r = vocoder_of(p);
    const Model *m = p->m;
    const Config *cfg = &m->cfg;
    const int64_t rows = rows_of(r);
    const uint64_t R = (uint64_t)rows, C = (uint64_t)cfg->vocoder_dim, e = ops->real_bytes, wide = R * C * e,
                   samples = (uint64_t)p->in.B * (uint64_t)samples_of(r);
    const uint64_t unfolded = ops->unfolded_bytes(rows, cfg->n_mels, VOCODER_KERNEL);
    r->unused_len = cut_take(c, (uint64_t)p->in.B * sizeof *r->unused_len);
    r->mel = cut_take(c, R * (uint64_t)cfg->n_mels * e);
    r->prior = cut_take(c, R * (uint64_t)(cfg->n_fft / 2 + 1) * sizeof *r->prior);
    norm_cut(&r->first, ops, c, rows, cfg->vocoder_dim);
    r->unfolded = p->training && unfolded ? cut_take(c, unfolded) : NULL;
    for (int i = 0; i < cfg->vocoder_layers; i++) {
        BlockPass *b = &r->block[i];
        /* The backward pass reads what every block was given; without one the blocks share their memory. */
        if (i && !p->training) {
            *b = r->block[0];
            b->x = r->last.sum;
            continue;
        }
        b->x = i ? cut_take(c, wide) : r->first.out;
        b->deep = cut_take(c, wide);
        b->out = cut_take(c, wide);
        b->mean = cut_take(c, R * ops->acc_bytes);
        b->rstd = cut_take(c, R * ops->acc_bytes);
        b->h = cut_take(c, VOCODER_WIDEN * wide);
        if (!i)
            norm_cut(&r->last, ops, c, rows, cfg->vocoder_dim);
    }
    r->y = cut_take(c, wide);
    r->spectrum = cut_take(c, R * (uint64_t)m->vocoder.head.out * e);
    r->wave = cut_take(c, samples * ops->acc_bytes);
    if (!p->training)
        return;
    r->dwave = cut_take(c, samples * ops->acc_bytes);
    r->dspectrum = cut_take(c, R * (uint64_t)m->vocoder.head.out * e);
    r->dx[0] = cut_take(c, wide);
    r->dx[1] = cut_take(c, wide);
    r->dn = cut_take(c, wide);
    r->dd = cut_take(c, wide);
    r->dh = cut_take(c, VOCODER_WIDEN * wide);
}

/* ---- forward ---- */

static void norm_forward(Model *m, const NormAt *at, void *in, void *out, void *mean, void *rstd,
                         int64_t rows)
{
    m->c->ops->norm_forward(m->c, in, out, mean, rstd, in, NULL, weight_at(m, at->w), weight_at(m, at->b),
                            rows, m->cfg.vocoder_dim, no_dropout);
}

/* to: x of the next block, or the sum of the last norm. */
static void block_forward(VocoderPass *r, int i, void *to)
{
    Model *m = r->pass.m;
    const Ops *ops = m->c->ops;
    const BlockAt *at = &m->vocoder.block[i];
    const BlockPass *b = &r->block[i];
    const ModelInput *in = &r->pass.in;
    const int C = m->cfg.vocoder_dim;
    const int64_t rows = rows_of(r);
    model_mark(m, "vocoder", i, 0);
    ops->depthwise_forward(m->c, b->deep, b->x, weight_at(m, at->depthwise.w), weight_at(m, at->depthwise.b),
                           in->mel_length, in->B, in->M, C, VOCODER_KERNEL);
    norm_forward(m, &at->norm, b->deep, b->out, b->mean, b->rstd, rows);
    linear_forward(m, &at->up, b->h, b->out, rows, ACT_RELU);
    linear_forward(m, &at->down, r->y, b->h, rows, ACT_NONE);
    ops->add_forward(m->c, to, b->x, r->y, rows * C);
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
    ops->log_spread(m->c, r->prior, in->mel, &spread, rows, cfg->n_mels, PRIOR_SHIFT);
    side_end(m);
    model_mark(m, "vocoder in", -1, 0);
    ops->scale_frames(m->c, r->mel, in->mel, in->mel_length, in->B, in->M, cfg->n_mels, -VOCODER_MEL_MEAN,
                      1.0f / VOCODER_MEL_DEVIATION);
    ops->conv_forward(m->c, r->first.sum, r->unfolded, r->mel, weight_at(m, at->input.w),
                      weight_at(m, at->input.b), in->mel_length, in->B, in->M, cfg->n_mels, cfg->vocoder_dim,
                      VOCODER_KERNEL, ACT_NONE);
    norm_forward(m, &at->norm_in, r->first.sum, r->first.out, r->first.mean, r->first.rstd, rows);
    for (int i = 0; i < cfg->vocoder_layers; i++)
        block_forward(r, i, i + 1 < cfg->vocoder_layers ? r->block[i + 1].x : r->last.sum);
    model_mark(m, "vocoder out", -1, 0);
    norm_forward(m, &at->norm_out, r->last.sum, r->last.out, r->last.mean, r->last.rstd, rows);
    linear_forward(m, &at->head, r->spectrum, r->last.out, rows, ACT_NONE);
    side_join(m);
    model_mark(m, "sound", -1, 0);
    ops->wave_forward(m->c, r->wave, r->spectrum, at->head.out, r->prior, &frames, in->B, in->M);
}

/* ---- losses ---- */

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
    if (r->dwave)
        ops->fill_zero(m->c, r->dwave, (size_t)in->B * (size_t)samples * ops->acc_bytes);
    for (int i = 0; i < VOCODER_LOSSES; i++) {
        const SoundFrames f = vocoder_loss_frames(m, ops, i);
        const SoundBands bands = vocoder_bands(m, i);
        const double count = (double)VOCODER_LOSSES * (samples / f.hop + 1) * bands.count;
        ops->spectral_loss(m->c, term_at(m, sums, TERM_SPECTRAL), r->dwave, r->wave, in->samples,
                           in->mel_length, &f, &bands, in->B, samples,
                           (float)(loss_term_weight(TERM_SPECTRAL, &m->cfg) * in->M / count));
    }
}

/* ---- backward ---- */

static void norm_backward(Model *m, const NormAt *at, void *din, const void *dout, const void *in,
                          const void *mean, const void *rstd, int64_t rows)
{
    m->c->ops->norm_backward(m->c, din, NULL, grad_at(m, at->w), grad_at(m, at->b), NULL, dout, NULL, in,
                             mean, rstd, weight_at(m, at->w), rows, m->cfg.vocoder_dim, no_dropout);
}

/* The gradient of what came out of a block -> that of what went in, in the same memory. */
static void block_backward(VocoderPass *r, int i, void *dx)
{
    Model *m = r->pass.m;
    const Ops *ops = m->c->ops;
    const BlockAt *at = &m->vocoder.block[i];
    const BlockPass *b = &r->block[i];
    const ModelInput *in = &r->pass.in;
    const int C = m->cfg.vocoder_dim;
    const int64_t rows = rows_of(r);
    model_mark(m, "vocoder", i, 1);
    linear_backward(m, &at->down, r->dh, dx, NULL, b->h, rows, ACT_NONE, 0);
    linear_backward(m, &at->up, r->dn, r->dh, b->h, b->out, rows, ACT_RELU, 0);
    norm_backward(m, &at->norm, r->dd, r->dn, b->deep, b->mean, b->rstd, rows);
    ops->depthwise_backward(m->c, r->dn, grad_at(m, at->depthwise.w), grad_at(m, at->depthwise.b), r->dd,
                            b->x, weight_at(m, at->depthwise.w), in->mel_length, in->B, in->M, C,
                            VOCODER_KERNEL);
    ops->add_forward(m->c, dx, dx, r->dn, rows * C);
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
    model_mark(m, "sound", -1, 1);
    ops->wave_backward(m->c, r->dspectrum, r->dwave, r->spectrum, at->head.out, r->prior, &frames, in->B,
                       in->M);
    model_mark(m, "vocoder out", -1, 1);
    linear_backward(m, &at->head, r->dn, r->dspectrum, NULL, r->last.out, rows, ACT_NONE, 0);
    norm_backward(m, &at->norm_out, r->dx[0], r->dn, r->last.sum, r->last.mean, r->last.rstd, rows);
    for (int i = m->cfg.vocoder_layers - 1; i >= 0; i--)
        block_backward(r, i, r->dx[0]);
    model_mark(m, "vocoder in", -1, 1);
    norm_backward(m, &at->norm_in, r->dx[1], r->dx[0], r->first.sum, r->first.mean, r->first.rstd, rows);
    ops->conv_backward(m->c, NULL, grad_at(m, at->input.w), grad_at(m, at->input.b), r->dx[1], NULL, r->mel,
                       r->unfolded, weight_at(m, at->input.w), in->mel_length, in->B, in->M, m->cfg.n_mels,
                       m->cfg.vocoder_dim, VOCODER_KERNEL, ACT_NONE);
}

void vocoder_pass_output(const Pass *p, PassOutput *o)
{
    const VocoderPass *r = (const VocoderPass *)(const void *)p;
    *o = (PassOutput){.wave = r->wave};
}
