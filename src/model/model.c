/* model.c - the parameters of a network: their memory, and the optimiser's step. */
#include "model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "model/network.h"
#include "model/optimiser.h"

/* Weights of 1 and biases of 0: a norm begins as a plain normalisation. */
NormAt norm_list(ParamList *l, const char *prefix, const char *name, int dim)
{
    char full[56];
    NormAt at;
    snprintf(full, sizeof full, "%s.weight", name);
    at.w = params_add(l, prefix, full, INIT_VALUE, 1, 0, dim, -1, -1);
    snprintf(full, sizeof full, "%s.bias", name);
    at.b = params_add(l, prefix, full, INIT_VALUE, 0, 0, dim, -1, -1);
    return at;
}

/* NULL: `both` is two trainings, not a network. */
static const Network *network_of(NetworkKind kind)
{
    static const Network *const networks[] = {
        [NETWORK_VOICE] = &network_voice, [NETWORK_VOCODER] = &network_vocoder};
    return (size_t)kind < sizeof networks / sizeof *networks ? networks[kind] : NULL;
}

int model_open(Model *m, const Config *cfg, int symbols, int languages, Err *err)
{
    memset(m, 0, sizeof *m);
    m->network = network_of(cfg->network);
    if (!m->network) {
        err_set(err, ERR_CONFIG, "network both means two networks, which `train` trains one after the other");
        return err_hint(err, "choose one of them here: --network voice or --network vocoder");
    }
    m->cfg = *cfg;
    m->symbols = symbols;
    m->languages = languages > 1 && cfg->network == NETWORK_VOICE ? languages : 0;
    int rc = m->network->list(m, err);
    if (!rc && m->params.failed)
        rc = err_set(err, ERR_NOMEM, "no memory for the list of parameters");
    if (rc)
        model_close(m);
    return rc;
}

void model_close(Model *m)
{
    free(m->constants);
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
    uint64_t tables = m->network->table_bytes ? even(m->network->table_bytes(m, ops)) : 0;
    return acc + working + (training ? 3 * acc + even(n) : 0) + tables;
}

int model_attach(Model *m, OpsContext *c, void *memory, int training, Err *err)
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
    if (training) {
        m->grads = p;
        p += acc;
        m->moments1 = p;
        p += acc;
        m->moments2 = p;
        p += acc;
        m->decay = (uint8_t *)p;
        p += even(n);
    }
    m->tables = (uint8_t *)p;
    return m->network->attach ? m->network->attach(m, err) : 0;
}

void model_share(Model *m, OpsContext *c, const Model *lender)
{
    m->c = c;
    m->masters = lender->masters;
    m->weights = lender->weights;
    m->tables = lender->tables;
    m->grads = m->moments1 = m->moments2 = m->decay = NULL;
}

/* Copies from host memory; zeros if there is nothing to copy. */
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

/* 1: it stays as the voice has it that the run began with. The projection to the mel of a symbol is none of
 * the encoder: the alignment with other recordings is learned by it. */
static int is_frozen(const Model *m, const Param *p)
{
    const int text = strncmp(p->name, "text.", 5) == 0 && strncmp(p->name, "text.prior.", 11) != 0,
              voice = strncmp(p->name, "voice.", 6) == 0;
    return m->cfg.freeze != FREEZE_NONE && (text || (voice && m->cfg.freeze == FREEZE_ENCODERS));
}

/* The parameters from number i on that are learned or, where the first is not, those that are not: their end
 * in flat memory, and the number behind them. */
static int64_t same_fate(const Model *m, int *i)
{
    const ParamList *l = &m->params;
    const int frozen = is_frozen(m, &l->items[*i]);
    while (*i < l->count && is_frozen(m, &l->items[*i]) == frozen)
        ++*i;
    return *i < l->count ? l->items[*i].offset : l->size;
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
    for (int i = 0; i < m->params.count;) {
        const Param *first = &m->params.items[i];
        const int64_t at = first->offset, behind = same_fate(m, &i);
        if (is_frozen(m, first))
            continue;
        optimiser_of(m)->update(m, at, behind - at, scale);
    }
}
