/* decoder.c - the mel decoder: pre-net, stack, heads, post-net; and the way back. */
#include "model/run.h"

#define SITE_PRE1 (m->at.decoder.site + 901)
#define SITE_PRE2 (m->at.decoder.site + 902)
#define SITE_IN (m->at.decoder.site + 900)

static void postnet_forward(Run *r)
{
    Model *m = r->m;
    const Config *cfg = &m->cfg;
    const void *in = r->before;
    for (int i = 0; i < cfg->postnet_layers; i++) {
        const LinearAt *w = &m->at.postnet[i];
        m->c->ops->conv_forward(m->c, r->post[i], in, weight_at(m, w->w), weight_at(m, w->b), r->in.mel_length, r->in.B, r->in.M,
                                w->in, w->out, CONV_KERNEL, i == cfg->postnet_layers - 1 ? ACT_NONE : ACT_TANH);
        in = r->post[i];
    }
    if (cfg->postnet_layers)
        m->c->ops->add_forward(m->c, r->after, r->before, in, (int64_t)r->in.B * r->in.M * cfg->n_mels);
}

/* From dafter; adds to dbefore. */
static void postnet_backward(Run *r)
{
    Model *m = r->m;
    const Config *cfg = &m->cfg;
    const int64_t n = (int64_t)r->in.B * r->in.M * cfg->n_mels;
    if (!cfg->postnet_layers)
        return;
    m->c->ops->add_forward(m->c, r->dbefore, r->dbefore, r->dafter, n);
    void *d = r->dafter;
    for (int i = cfg->postnet_layers - 1; i >= 0; i--) {
        const LinearAt *w = &m->at.postnet[i];
        void *din = d == r->dpost[0] ? r->dpost[1] : r->dpost[0];
        m->c->ops->conv_backward(m->c, din, grad_at(m, w->w), grad_at(m, w->b), d, r->post[i], i ? r->post[i - 1] : r->before,
                                 weight_at(m, w->w), r->in.mel_length, r->in.B, r->in.M, w->in, w->out, CONV_KERNEL,
                                 i == cfg->postnet_layers - 1 ? ACT_NONE : ACT_TANH);
        d = din;
    }
    m->c->ops->add_forward(m->c, r->dbefore, r->dbefore, d, n);
}

void decoder_forward(Run *r, float drop, float pre_drop)
{
    Model *m = r->m;
    const Ops *ops = m->c->ops;
    const ModelAt *at = &m->at;
    const Config *cfg = &m->cfg;
    const int B = r->in.B, G = r->G, C = cfg->decoder_dim, P = cfg->prenet_dim;
    const int64_t rows = (int64_t)B * G;
    model_mark(m, "pre-net", -1, 0);
    ops->shift_frames(m->c, r->frames, r->in.mel, r->in.mel_length, B, r->in.M, cfg->reduction_factor, cfg->n_mels);
    linear_run(m, &at->pre1, r->h1, r->frames, rows, ACT_RELU);
    if (pre_drop > 0) /* in place: what is dropped is 0, as if the ReLU had closed */
        ops->dropout_forward(m->c, r->h1, r->h1, rows * P, dropout_at(pre_drop, SITE_PRE1));
    linear_run(m, &at->pre2, r->h2, r->h1, rows, ACT_RELU);
    if (pre_drop > 0)
        ops->dropout_forward(m->c, r->h2, r->h2, rows * (P / 2), dropout_at(pre_drop, SITE_PRE2));
    linear_run(m, &at->pre_out, r->x, r->h2, rows, ACT_NONE);
    if (m->use_voice)
        ops->add_vector_forward(m->c, r->x, r->x, r->voice_decoder, B, G, C);
    ops->embed_forward(m->c, r->decoder.x, NULL, NULL, r->x, weight_at(m, at->decoder_position), B, G, C,
                       dropout_at(drop, SITE_IN));
    stack_forward(m, &r->decoder, &r->scratch, drop);
    const void *d = r->decoder.last.out;
    model_mark(m, "heads", -1, 0);
    linear_run(m, &at->mel, r->before, d, rows, ACT_NONE);
    linear_run(m, &at->stop, r->stop, d, rows, ACT_NONE);
    if (m->use_pitch)
        linear_run(m, &at->pitch, r->pitch, d, rows, ACT_NONE);
    if (m->use_energy)
        linear_run(m, &at->energy, r->energy, d, rows, ACT_NONE);
    model_mark(m, "post-net", -1, 0);
    postnet_forward(r);
}

void decoder_backward(Run *r, float drop, float pre_drop)
{
    Model *m = r->m;
    const Ops *ops = m->c->ops;
    const ModelAt *at = &m->at;
    const Config *cfg = &m->cfg;
    const int B = r->in.B, G = r->G, C = cfg->decoder_dim, P = cfg->prenet_dim;
    const int64_t rows = (int64_t)B * G;
    const void *d = r->decoder.last.out;
    model_mark(m, "post-net", -1, 1);
    postnet_backward(r);
    model_mark(m, "heads", -1, 1);
    linear_back(m, &at->mel, r->dd, r->dbefore, NULL, d, rows, ACT_NONE, 0);
    linear_back(m, &at->stop, r->dd, r->dstop, NULL, d, rows, ACT_NONE, 1);
    if (m->use_pitch)
        linear_back(m, &at->pitch, r->dd, r->dpitch, NULL, d, rows, ACT_NONE, 1);
    if (m->use_energy)
        linear_back(m, &at->energy, r->dd, r->denergy, NULL, d, rows, ACT_NONE, 1);
    void *dx = stack_backward(m, &r->decoder, &r->scratch, r->dmemory, r->dd, drop);
    void *din = r->dd; /* its content has been used up */
    model_mark(m, "pre-net", -1, 1);
    ops->embed_backward(m->c, NULL, din, grad_at(m, at->decoder_position), dx, NULL, r->group_len, B, G, C, 0,
                        dropout_at(drop, SITE_IN));
    if (m->use_voice)
        ops->add_vector_backward(m->c, r->dvoice_decoder, din, r->group_len, B, G, C, 0);
    linear_back(m, &at->pre_out, r->dh2, din, NULL, r->h2, rows, ACT_NONE, 0);
    if (pre_drop > 0)
        ops->dropout_forward(m->c, r->dh2, r->dh2, rows * (P / 2), dropout_at(pre_drop, SITE_PRE2));
    linear_back(m, &at->pre2, r->dh1, r->dh2, r->h2, r->h1, rows, ACT_RELU, 0);
    if (pre_drop > 0)
        ops->dropout_forward(m->c, r->dh1, r->dh1, rows * P, dropout_at(pre_drop, SITE_PRE1));
    linear_back(m, &at->pre1, NULL, r->dh1, r->h1, r->frames, rows, ACT_RELU, 0);
}
