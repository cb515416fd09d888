/* critic.c - the critics: small networks that learn to tell the voice's mels from recordings, while the voice
 * learns to be taken for one (docs/MODEL.md). One sees all bands, one all bands at half the frame rate, one a
 * quarter of the bands at a time. Each score and each layer is one for every frame, so that a clip says much.
 * They live in training alone. */
#include <stdio.h>

#include "model/voice_pass.h"

#define WINDOWS \
    7 /* of the critic that sees a quarter of the bands; half of a window is seen by the next one too */

/* Channels are rounded up to what matrix units like. */
static int even_channels(int n) { return (n + 7) / 8 * 8; }

static void views(CriticAt *at, int bands, int dim)
{
    const int quarter = bands / 4 > 0 ? bands / 4 : 1;
    const CriticView all = {1, bands, 1, even_channels(bands)}, slow = {1, bands, 2, even_channels(bands)},
                     part = {WINDOWS, quarter, 1, even_channels(quarter + WINDOWS)};
    at[0] = (CriticAt){.view = all, .dim = dim};
    at[1] = (CriticAt){.view = slow, .dim = dim};
    /* Seven times the rows: it has to be narrower. */
    at[2] = (CriticAt){.view = part, .dim = dim / 4 > 8 ? dim / 4 : 8};
}

void critics_list(Model *m)
{
    ParamList *l = &m->params;
    char name[24], layer[16];
    views(m->at.critic, m->cfg.n_mels, m->cfg.critic_dim);
    for (int k = 0; k < CRITIC_COUNT; k++) {
        CriticAt *at = &m->at.critic[k];
        snprintf(name, sizeof name, "critic.%d.", k);
        for (int i = 0; i < CRITIC_LAYERS; i++) {
            snprintf(layer, sizeof layer, "conv%d", i + 1);
            at->conv[i] =
                linear_list(l, name, layer, at->dim, i ? at->dim : at->view.channels, CRITIC_KERNEL, 1);
        }
        at->score = linear_list(l, name, "score", 1, at->dim, 1, 1);
    }
}

void critics_cut(CriticPass *critics, const Model *m, const Ops *ops, Cut *c, int B, int M)
{
    for (int k = 0; k < CRITIC_COUNT; k++) {
        const CriticAt *at = &m->at.critic[k];
        CriticPass *p = &critics[k];
        p->R = B * at->view.windows;
        p->V = M / at->view.pool;
        const uint64_t frames = (uint64_t)p->R * (uint64_t)p->V * ops->real_bytes,
                       wide = 2 * frames * (uint64_t)at->dim;
        p->len = cut_take(c, 2 * (uint64_t)p->R * sizeof *p->len);
        p->x = cut_take(c, 2 * frames * (uint64_t)at->view.channels);
        for (int i = 0; i < CRITIC_LAYERS; i++)
            p->a[i] = cut_take(c, wide);
        p->score = cut_take(c, 2 * frames);
        p->dcritic = cut_take(c, 2 * frames);
        p->dvoice = cut_take(c, frames);
        p->da[0] = cut_take(c, wide);
        p->da[1] = cut_take(c, wide);
        p->dx = cut_take(c, frames * (uint64_t)at->view.channels);
        p->nowhere = cut_take(c, ((uint64_t)at->dim + 64) * ops->acc_bytes);
    }
}

/* The second half of an array [2 R, V, n]: of the voice. */
static void *voices(const Model *m, const CriticPass *p, void *of, int n)
{
    return (char *)of + (size_t)p->R * (size_t)p->V * (size_t)n * m->c->ops->real_bytes;
}

/* Scores of recordings and voice in one go. */
static void score(Model *m, const CriticAt *at, CriticPass *p, const void *out, const ModelInput *in)
{
    const Ops *ops = m->c->ops;
    const int B = in->B, M = in->M, n = m->cfg.n_mels;
    ops->view_forward(m->c, p->x, p->len, NULL, in->mel, in->mel_length, B, M, n, at->view);
    ops->view_forward(m->c, voices(m, p, p->x, at->view.channels), p->len + p->R, out, NULL, in->mel_length,
                      B, M, n, at->view);
    for (int i = 0; i < CRITIC_LAYERS; i++)
        conv_forward(m, &at->conv[i], CRITIC_KERNEL, p->a[i], i ? p->a[i - 1] : p->x, p->len, 2 * p->R, p->V,
                     ACT_RELU);
    linear_forward(m, &at->score, p->score, p->a[CRITIC_LAYERS - 1], 2 * (int64_t)p->R * p->V, ACT_NONE);
}

/* Down to the mel, from the scores and from every layer; the critic itself learns nothing by this. */
static void teach_voice(Model *m, const CriticAt *at, CriticPass *p, void *value, void *dmel,
                        const ModelInput *in, float weight)
{
    const Ops *ops = m->c->ops;
    const int R = p->R, V = p->V, C = at->dim;
    const int32_t *len = p->len + R;
    void *d = p->da[0], *next = p->da[1];
    /* A product of a single column makes the gradient of its weights on the way, wanted or not. */
    ops->linear_backward(m->c, d, p->nowhere, NULL, p->dvoice, NULL, voices(m, p, p->a[CRITIC_LAYERS - 1], C),
                         weight_at(m, at->score.w), (int64_t)R * V, 1, C, ACT_NONE, 0);
    for (int i = CRITIC_LAYERS - 1; i >= 0; i--) {
        void *a = voices(m, p, p->a[i], C), *from = voices(m, p, i ? p->a[i - 1] : p->x, at->conv[i].in);
        ops->feature_loss(m->c, value, d, a, p->a[i], len, R, V, C, weight / (float)(CRITIC_LAYERS * C));
        ops->conv_backward(m->c, i ? next : p->dx, NULL, NULL, d, a, from, NULL, weight_at(m, at->conv[i].w),
                           len, R, V, at->conv[i].in, C, CRITIC_KERNEL, ACT_RELU);
        void *free_again = d;
        d = next;
        next = free_again;
    }
    ops->view_backward(m->c, dmel, p->dx, in->mel_length, in->B, in->M, m->cfg.n_mels, at->view);
}

/* Its own gradients, from both halves. */
static void teach_critic(Model *m, const CriticAt *at, CriticPass *p)
{
    const int rows = 2 * p->R;
    void *d = p->da[0], *next = p->da[1];
    linear_backward(m, &at->score, d, p->dcritic, NULL, p->a[CRITIC_LAYERS - 1], (int64_t)rows * p->V,
                    ACT_NONE, 0);
    for (int i = CRITIC_LAYERS - 1; i >= 0; i--) {
        conv_backward(m, &at->conv[i], CRITIC_KERNEL, i ? next : NULL, d, p->a[i], i ? p->a[i - 1] : p->x,
                      p->len, rows, p->V, ACT_RELU);
        void *free_again = d;
        d = next;
        next = free_again;
    }
}

void critics_learn(Model *m, CriticPass *critics, void *sums, void *dmel, const void *out,
                   const ModelInput *in)
{
    const Config *cfg = &m->cfg;
    model_mark(m, "critics", -1, 0);
    for (int k = 0; k < CRITIC_COUNT; k++) {
        const CriticAt *at = &m->at.critic[k];
        CriticPass *p = &critics[k];
        /* Every critic has the same weight, however many scores it gives a frame. */
        const float each = (float)at->view.pool / (float)(at->view.windows * CRITIC_COUNT);
        score(m, at, p, out, in);
        m->c->ops->critic_loss(m->c, term_at(m, sums, TERM_CRITIC), p->dcritic, p->dvoice, p->score, p->len,
                               p->R, p->V, each * (float)loss_term_weight(TERM_CRITIC, cfg),
                               each * (float)loss_term_weight(TERM_ADVERSARIAL, cfg));
        teach_voice(m, at, p, term_at(m, sums, TERM_FEATURES), dmel, in,
                    each * (float)loss_term_weight(TERM_FEATURES, cfg));
        teach_critic(m, at, p);
    }
}
