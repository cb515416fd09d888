/* engine_open.c - memory and life of an engine: what it takes, what it gives back, weights in and out. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "base/thread.h"
#include "device/cuda_library.h"
#include "model/vocoder.h"
#include "ops/ops_open.h"
#include "pipeline/sampler.h"
#include "train/step/engine_private.h"

#define ALIGNMENT 256 /* bytes: of every block on the device and of every piece of pinned memory */

/* --- sizes --- */

/* Bytes of a batch on the device. */
static uint64_t batch_room(const Config *cfg, const EngineShape *s)
{
    BatchLayout l;
    BatchShape shape = {
        .rows = s->rows, .text = s->text, .frames = s->frames, .bands = cfg->n_mels, .hop = batch_hop(cfg)};
    batch_layout_device(&l, &shape, s->text, s->frames);
    return l.bytes;
}

EngineShape engine_largest(const EngineOptions *o)
{
    EngineShape s = o->largest;
    s.frames = round_to_multiple(s.frames, SAMPLER_FRAME_MULTIPLE);
    return s;
}

static uint64_t even(uint64_t n) { return round_up(n, ALIGNMENT); }

static SumType sum_type(const Config *cfg) { return cfg->rank_sum == RANK_SUM_BF16 ? SUM_BF16 : SUM_FP32; }

/* The sizes of all the engine's blocks, for the plan and for the real thing. */
static void size_blocks(Engine *e)
{
    EngineShape s = engine_largest(&e->o);
    e->weight_bytes = model_bytes(&e->m, e->ops, e->o.training);
    e->activation_bytes = pass_bytes(&e->m, e->ops, s.rows, s.text, s.frames, e->o.training);
    e->workspace_bytes = even(e->ops->workspace_bytes);
    e->batch_bytes = even(batch_room(e->o.cfg, &s));
    e->bytes =
        e->weight_bytes + e->activation_bytes + e->workspace_bytes + e->batch_bytes + even(sizeof(Control));
    if (e->o.training)
        e->bytes += gradient_sum_bytes(e->o.ranks, e->o.device, sum_type(e->o.cfg));
}

/* An engine that is never opened tells its sizes. */
int engine_plan(EnginePlan *p, const EngineOptions *o, Err *err)
{
    Engine *e = mem_calloc(1, sizeof *e);
    if (!e)
        return err_set(err, ERR_NOMEM, "no memory to plan");
    e->o = *o;
    e->ops = ops_table(o->device, o->cfg->mixed_precision, err);
    int rc = e->ops ? model_open(&e->m, o->cfg, o->symbols, o->languages, err) : err->code;
    if (!rc) {
        size_blocks(e);
        *p = (EnginePlan){e->weight_bytes, e->activation_bytes, e->bytes, e->m.params.numbers};
        model_close(&e->m);
    }
    free(e);
    return rc;
}

/* 0 where it cannot be known; opening will say why. */
uint64_t engine_plan_synthesis(const EngineOptions *o, const SynthesisLimits *limits)
{
    Model m;
    Err err = {0};
    const Ops *ops = ops_table(o->device, o->cfg->mixed_precision, &err);
    if (!ops || model_open(&m, o->cfg, o->symbols, o->languages, &err))
        return 0;
    uint64_t bytes = o->cfg->network == NETWORK_VOCODER ? vocoder_bytes(&m, ops, limits->frames)
                                                        : synthesiser_bytes(&m, ops, limits);
    model_close(&m);
    return bytes;
}

/* --- opening --- */

/* Memory that the host writes and reads without waiting, and the events that say when. */
static int open_slots(Engine *e, Err *err)
{
    Device *d = e->o.device;
    int rc = d->ops->pinned_alloc(d, &e->pinned, (2 * ENGINE_LAG + 1) * ALIGNMENT, err);
    if (rc)
        return rc;
    char *p = e->pinned;
    memset(p, 0, (2 * ENGINE_LAG + 1) * ALIGNMENT);
    for (int i = 0; i < ENGINE_LAG; i++) {
        Slot *s = &e->slots[i];
        s->step = (OpsStep *)(void *)p;
        s->outcome = (Outcome *)(void *)(p + ALIGNMENT);
        p += 2 * ALIGNMENT;
        for (int k = 0; k <= PHASE_COUNT && !rc; k++)
            rc = d->ops->event_open(d, &s->at[k], 1, err);
    }
    e->nan = (float *)(void *)p;
    *e->nan = NAN;
    return rc;
}

/* The network's description, and the ops on a separate stream. */
static int open_ops(Engine *e, Err *err)
{
    const Config *cfg = e->o.cfg;
    Device *d = e->o.device;
    const Ops *ops = ops_table(d, cfg->mixed_precision, err);
    if (!ops)
        return err->code;
    int rc = model_open(&e->m, cfg, e->o.symbols, e->o.languages, err);
    if (!rc)
        rc = d->ops->stream_open(d, &e->stream, "step", err);
    if (rc)
        return rc;
    e->c.threads = thread_cores();
    /* Without training few batches have the same size: timing products for each would take longer. */
    e->c.deterministic = cfg->deterministic || !e->o.training;
    e->c.unfused = !cfg->enable_xla;
    e->ops = ops;
    return ops->open(&e->c, d, e->stream, err);
}

/* All device memory, in the sizes that were planned. */
static int take_memory(Engine *e, Err *err)
{
    size_blocks(e);
    const struct {
        void **block;
        uint64_t bytes;
    } blocks[] = {{&e->weights, e->weight_bytes},
                  {&e->activations, e->activation_bytes},
                  {&e->workspace, e->workspace_bytes},
                  {&e->batch, e->batch_bytes},
                  {(void **)&e->control, even(sizeof(Control))}};
    int rc = 0;
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks && !rc; i++)
        if (blocks[i].bytes)
            rc = device_alloc(e->o.device, blocks[i].block, blocks[i].bytes, err);
    return rc;
}

/* Ops and network learn where their memory is. */
static int attach_memory(Engine *e, Err *err)
{
    e->c.workspace = e->workspace;
    e->c.workspace_bytes = e->workspace_bytes;
    e->c.step = &e->control->step;
    e->sums = e->control->outcome.sums;
    int rc = e->o.device->ops->fill_zero(e->stream, e->control, sizeof *e->control, err);
    return rc ? rc : model_attach(&e->m, &e->c, e->weights, e->o.training, err);
}

/* Captured graphs, if the device supports them and single phases are not being timed. */
static int find_graphs(Engine *e, Err *err)
{
    const Config *cfg = e->o.cfg;
    Device *d = e->o.device;
    if (!d->traits.graphs || !cfg->enable_graph_mode || cfg->enable_eager_debug)
        return 0;
    CudaGraphGet get;
    void *symbol = cuda_library_symbol(d, CUDA_GRAPH_SYMBOL, err);
    if (!symbol)
        return err->code;
    memcpy(&get, &symbol, sizeof get);
    e->graphs = get();
    return 0;
}

/* What adds up the gradients of the ranks. */
static int open_sum(Engine *e, Err *err)
{
    if (!e->o.ranks || !e->o.training)
        return 0;
    GradientSumOptions o = {.ranks = e->o.ranks,
                            .type = sum_type(e->o.cfg),
                            .model = &e->m,
                            .device = e->o.device,
                            .sums = e->sums,
                            .stop = &e->control->step.stop,
                            .times = &e->control->outcome.times};
    return gradient_sum_open(&e->over, &o, err);
}

/* The order matters: sizes follow from model and ops, slots and graphs need the memory. */
int engine_open(Engine **out, const EngineOptions *o, Err *err)
{
    *out = NULL;
    Engine *e = mem_calloc(1, sizeof *e);
    if (!e)
        return err_set(err, ERR_NOMEM, "no memory for the engine");
    e->o = *o;
    int rc = open_ops(e, err);
    if (!rc)
        rc = take_memory(e, err);
    if (!rc)
        rc = open_slots(e, err);
    if (!rc)
        rc = attach_memory(e, err);
    if (!rc)
        rc = find_graphs(e, err);
    if (!rc)
        rc = open_sum(e, err);
    if (rc) {
        engine_close(e);
        return rc;
    }
    *out = e;
    return 0;
}

static void destroy_graph(Engine *e, void **graph)
{
    e->graphs->destroy(*graph);
    *graph = NULL;
}

/* Those that a training step is made of. */
static void destroy_step_graphs(Engine *e)
{
    for (int i = 0; i < e->shape_count; i++) {
        Shape *s = &e->shapes[i];
        for (int k = 0; k < PHASE_COUNT; k++)
            destroy_graph(e, &s->graph[k]);
        destroy_graph(e, &s->first_forward);
        destroy_graph(e, &s->whole);
        destroy_graph(e, &s->summing);
    }
}

/* Graphs hold on to the memory they were captured with, so they go first. */
static void destroy_graphs(Engine *e)
{
    destroy_step_graphs(e);
    for (int i = 0; i < e->shape_count; i++)
        destroy_graph(e, &e->shapes[i].evaluate);
    destroy_graph(e, &e->update_graph);
}

int engine_set_critics(Engine *e, int speak, int afresh, Err *err)
{
    const DeviceOps *d = e->o.device->ops;
    if (e->m.critics_speak == speak)
        return 0;
    int rc = d->stream_wait_idle(e->stream, err);
    if (rc)
        return rc;
    /* What was captured is another step. */
    e->m.critics_speak = speak;
    if (e->graphs)
        destroy_step_graphs(e);
    for (int i = 0; i < e->shape_count; i++)
        e->shapes[i].uses = 0;
    int32_t *seen = &e->control->outcome.guard.seen;
    return afresh ? d->fill_zero(e->stream, seen, sizeof *seen, err) : 0;
}

/* In the reverse order; nothing is freed while the device may still use it. */
void engine_close(Engine *e)
{
    if (!e)
        return;
    Device *d = e->o.device;
    Err ignored = {0};
    if (e->stream)
        d->ops->stream_wait_idle(e->stream, &ignored);
    if (e->graphs)
        destroy_graphs(e);
    gradient_sum_close(e->over);
    for (int i = 0; i < e->shape_count; i++)
        pass_close(e->shapes[i].pass);
    for (int i = 0; i < ENGINE_LAG; i++)
        for (int k = 0; k <= PHASE_COUNT; k++)
            if (e->slots[i].at[k])
                d->ops->event_close(e->slots[i].at[k]);
    if (e->ops)
        e->ops->close(&e->c);
    if (e->stream)
        d->ops->stream_close(e->stream);
    if (e->pinned)
        d->ops->pinned_free(d, e->pinned);
    if (e->control)
        device_free(d, e->control, even(sizeof(Control)));
    if (e->batch)
        device_free(d, e->batch, e->batch_bytes);
    if (e->workspace)
        device_free(d, e->workspace, e->workspace_bytes);
    if (e->activations)
        device_free(d, e->activations, e->activation_bytes);
    if (e->weights)
        device_free(d, e->weights, e->weight_bytes);
    model_close(&e->m);
    free(e);
}

/* --- weights --- */

/* Waits before, because steps that are enqueued may still read the old weights, and after, because the
 * caller's memory may go. */
int engine_load(Engine *e, const float *masters, const float *moments1, const float *moments2,
                const OpsGuard *guard, Err *err)
{
    const DeviceOps *d = e->o.device->ops;
    uint8_t *decay = NULL;
    /* Which parameters decay is the optimiser's to know. */
    if (e->o.training) {
        decay = malloc((size_t)e->m.params.size);
        if (!decay)
            return err_set(err, ERR_NOMEM, "no memory to load %lld parameters",
                           (long long)e->m.params.numbers);
        params_decay(&e->m.params, decay);
    }
    int rc = d->stream_wait_idle(e->stream, err);
    if (!rc)
        rc = model_load(&e->m, masters, moments1, moments2, decay, err);
    if (!rc && guard)
        rc = d->copy_in(e->stream, &e->control->outcome.guard, guard, sizeof *guard, err);
    if (!rc)
        rc = d->stream_wait_idle(e->stream, err);
    free(decay);
    return rc ? rc : ops_check(&e->c, err);
}

/* Each parameter has its own stream of random numbers: the same seed gives the same network, whatever else is
 * in it. */
int engine_initialise(Engine *e, Err *err)
{
    float *flat = mem_aligned(64, (size_t)e->m.params.size, sizeof *flat);
    if (!flat)
        return err_set(err, ERR_NOMEM, "no memory for the first values of %lld parameters",
                       (long long)e->m.params.numbers);
    params_initialise(&e->m.params, flat, (uint64_t)e->o.cfg->seed);
    OpsGuard guard = {0};
    int rc = engine_load(e, flat, NULL, NULL, &guard, err);
    free(flat);
    return rc;
}

/* The working copies in bf16 are not saved; they follow from the masters. */
int engine_save(Engine *e, float *masters, float *moments1, float *moments2, OpsGuard *guard, Err *err)
{
    const DeviceOps *d = e->o.device->ops;
    const size_t bytes = (size_t)e->m.params.size * sizeof(float);
    int rc = d->stream_wait_idle(e->stream, err);
    if (!rc)
        rc = d->copy_out(e->stream, masters, e->m.masters, bytes, err);
    if (!rc && moments1)
        rc = d->copy_out(e->stream, moments1, e->m.moments1, bytes, err);
    if (!rc && moments2)
        rc = d->copy_out(e->stream, moments2, e->m.moments2, bytes, err);
    if (!rc && guard)
        rc = d->copy_out(e->stream, guard, &e->control->outcome.guard, sizeof *guard, err);
    return rc ? rc : d->stream_wait_idle(e->stream, err);
}
