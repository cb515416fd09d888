/* critic.c - see critic.h. Of a voice's mel one critic sees all bands, one all bands at half the frame rate,
 * one a quarter of the bands at a time. Of a vocoder's resolutions each has one that sees all bands, and the
 * finer ones in frequency one more that sees a quarter at a time. Each score and each layer is one for every
 * frame, so that a clip says much. */
#include "model/critic.h"

#include <stdio.h>

#include "base/check.h"

#define WINDOWS \
    7 /* of a critic that sees a quarter of the bands; half of a window is seen by the next one too */
#define LEAST_PARTS 40 /* bands of a mel that is also looked at in parts */

/* Channels are rounded up to what matrix units like. */
static int even_channels(int n) { return (n + 7) / 8 * 8; }

static CriticAt whole(int bands, int pool, int sight, int dim)
{
    return (CriticAt){.view = {1, bands, pool, even_channels(bands)}, .sight = sight, .dim = dim};
}

/* Seven times the rows: it has to be narrower. */
static CriticAt in_parts(int bands, int sight, int dim)
{
    const int quarter = bands / 4 > 0 ? bands / 4 : 1;
    return (CriticAt){.view = {WINDOWS, quarter, 1, even_channels(quarter + WINDOWS)},
                      .sight = sight,
                      .dim = dim / 4 > 8 ? dim / 4 : 8};
}

static void views(Model *m, const int *bands, int sights, int dim)
{
    for (int i = 0; i < sights; i++)
        m->critic[m->critics++] = whole(bands[i], 1, i, dim);
    if (sights == 1)
        m->critic[m->critics++] = whole(bands[0], 2, 0, dim);
    for (int i = 0; i < sights; i++)
        if (sights == 1 || bands[i] >= LEAST_PARTS)
            m->critic[m->critics++] = in_parts(bands[i], i, dim);
    ASSERT_CMP(m->critics, <=, CRITICS_MOST);
}

void critics_list(Model *m, const int *bands, int sights, int dim)
{
    ParamList *l = &m->params;
    char name[24], layer[16];
    if (dim)
        views(m, bands, sights, dim);
    for (int k = 0; k < m->critics; k++) {
        CriticAt *at = &m->critic[k];
        snprintf(name, sizeof name, "critic.%d.", k);
        for (int i = 0; i < CRITIC_LAYERS; i++) {
            snprintf(layer, sizeof layer, "conv%d", i + 1);
            at->conv[i] =
                linear_list(l, name, layer, at->dim, i ? at->dim : at->view.channels, CRITIC_KERNEL, 1);
        }
        at->score = linear_list(l, name, "score", 1, at->dim, 1, 1);
    }
}

void critics_cut(CriticPass *critics, const Model *m, const Ops *ops, Cut *c, int B, const int *T)
{
    for (int k = 0; k < m->critics; k++) {
        const CriticAt *at = &m->critic[k];
        CriticPass *p = &critics[k];
        p->R = B * at->view.windows;
        p->V = T[at->sight] / at->view.pool;
        const uint64_t frames = (uint64_t)p->R * (uint64_t)p->V * ops->real_bytes,
                       wide = 2 * frames * (uint64_t)at->dim;
        p->len = cut_take(c, 2 * (uint64_t)p->R * sizeof *p->len);
        p->x = cut_take(c, 2 * frames * (uint64_t)at->view.channels);
        for (int i = 0; i < CRITIC_LAYERS; i++)
            p->a[i] = cut_take(c, wide);
        p->score = cut_take(c, 2 * frames);
        p->dcritic = cut_take(c, 2 * frames);
        p->dmade = cut_take(c, frames);
        p->da[0] = cut_take(c, wide);
        p->da[1] = cut_take(c, wide);
        p->dx = cut_take(c, frames * (uint64_t)at->view.channels);
        p->nowhere = cut_take(c, ((uint64_t)at->dim + 64) * ops->acc_bytes);
    }
}

/* The second half of an array [2 R, V, n]: of what was made. */
static void *made(const Model *m, const CriticPass *p, void *of, int n)
{
    return (char *)of + (size_t)p->R * (size_t)p->V * (size_t)n * m->c->ops->real_bytes;
}

/* Scores of recordings and of what was made in one go. */
static void score(Model *m, const CriticAt *at, CriticPass *p, const CriticSight *s, int B)
{
    const Ops *ops = m->c->ops;
    ops->view_forward(m->c, p->x, p->len, s->recorded, s->recorded_mel, s->len, B, s->T, s->bands, at->view);
    ops->view_forward(m->c, made(m, p, p->x, at->view.channels), p->len + p->R, s->made, NULL, s->len, B,
                      s->T, s->bands, at->view);
    for (int i = 0; i < CRITIC_LAYERS; i++)
        conv_forward(m, &at->conv[i], CRITIC_KERNEL, p->a[i], i ? p->a[i - 1] : p->x, p->len, 2 * p->R, p->V,
                     ACT_RELU);
    linear_forward(m, &at->score, p->score, p->a[CRITIC_LAYERS - 1], 2 * (int64_t)p->R * p->V, ACT_NONE);
}

/* Down to the mel, from the scores and from every layer; the critic itself learns nothing by this. */
static void teach_network(Model *m, const CriticAt *at, CriticPass *p, void *value, const CriticSight *s,
                          int B, float weight)
{
    const Ops *ops = m->c->ops;
    const int R = p->R, V = p->V, C = at->dim;
    const int32_t *len = p->len + R;
    void *d = p->da[0], *next = p->da[1];
    /* A product of a single column makes the gradient of its weights on the way, wanted or not. */
    ops->linear_backward(m->c, d, p->nowhere, NULL, p->dmade, NULL, made(m, p, p->a[CRITIC_LAYERS - 1], C),
                         weight_at(m, at->score.w), (int64_t)R * V, 1, C, ACT_NONE, 0);
    for (int i = CRITIC_LAYERS - 1; i >= 0; i--) {
        void *a = made(m, p, p->a[i], C), *from = made(m, p, i ? p->a[i - 1] : p->x, at->conv[i].in);
        ops->feature_loss(m->c, value, d, a, p->a[i], len, R, V, C, weight / (float)(CRITIC_LAYERS * C));
        ops->conv_backward(m->c, i ? next : p->dx, NULL, NULL, d, a, from, NULL, weight_at(m, at->conv[i].w),
                           len, R, V, at->conv[i].in, C, CRITIC_KERNEL, ACT_RELU);
        void *free_again = d;
        d = next;
        next = free_again;
    }
    ops->view_backward(m->c, s->dmade, p->dx, s->len, B, s->T, s->bands, at->view);
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

void critics_learn(Model *m, CriticPass *critics, void *sums, const CriticSight *sights, int B, int M)
{
    const Config *cfg = &m->cfg;
    model_mark(m, "critics", -1, 0);
    for (int k = 0; k < m->critics; k++) {
        const CriticAt *at = &m->critic[k];
        const CriticSight *s = &sights[at->sight];
        CriticPass *p = &critics[k];
        /* Every critic has the same weight, however many scores it gives for a frame of the batch. */
        const float each = (float)((double)M / ((double)p->V * at->view.windows * m->critics));
        score(m, at, p, s, B);
        m->c->ops->critic_loss(m->c, term_at(m, sums, TERM_CRITIC), p->dcritic, p->dmade, p->score, p->len,
                               p->R, p->V, each * (float)loss_term_weight(TERM_CRITIC, cfg),
                               each * (float)loss_term_weight(TERM_ADVERSARIAL, cfg));
        teach_network(m, at, p, term_at(m, sums, TERM_FEATURES), s, B,
                      each * (float)loss_term_weight(TERM_FEATURES, cfg));
        teach_critic(m, at, p);
    }
}

void critics_final(Model *m, int side)
{
    if (m->critics)
        model_final(m, m->critic[0].conv[0].w, m->critic[m->critics - 1].score.b, side);
}
