/* optimiser.c - see optimiser.h. */
#include "model/optimiser.h"

/* The step number and the learning rate are read from c->step; those given here are for tests without it. */
static void adamw_update(Model *m, int64_t from, int64_t n, void *scale)
{
    const Ops *ops = m->c->ops;
    const Config *cfg = &m->cfg;
    const size_t acc = (size_t)from * ops->acc_bytes;
    ops->adamw(m->c, (char *)m->masters + acc,
               m->weights == m->masters ? NULL : (char *)m->weights + (size_t)from * ops->real_bytes,
               (char *)m->moments1 + acc, (char *)m->moments2 + acc, (const char *)m->grads + acc,
               m->decay + from, scale, n, (float)cfg->learning_rate, (float)cfg->beta1, (float)cfg->beta2,
               (float)cfg->adam_eps, (float)cfg->weight_decay, 1);
}

static const Optimiser adamw = {adamw_update};

const Optimiser *optimiser_of(const Model *m) { return &adamw; }
