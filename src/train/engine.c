/* engine.c - steps on a device: memory, slots of the host's lead, graphs. */
#include "train/engine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/thread.h"
#include "device/cuda_graph.h"
#include "device/cuda_library.h"
#include "device/sim.h"
#include "ops/ops_open.h"
#include "pipeline/sampler.h"

#define MAX_SHAPES \
    160 /* of training and validation together: two for each length bucket are 128 at the most */

const char *phase_name(Phase p)
{
    static const char *const names[PHASE_COUNT] = {"forward", "loss", "backward", "optimiser"};
    return names[p];
}

/* What a step leaves on the device, copied to the host as one piece. */
typedef struct Outcome {
    float sums[SUM_COUNT];
    OpsGuard guard;
} Outcome;

/* Device memory of the engine besides parameters and activations. */
typedef struct Control {
    OpsStep step;
    Outcome outcome;
    float scale, norm2;
    int32_t finite;
} Control;

/* One batch that the host has enqueued: pinned memory and events. */
typedef struct Slot {
    OpsStep *step;    /* pinned */
    Outcome *outcome; /* pinned */
    Event *at[PHASE_COUNT + 1];
    int64_t number; /* step */
    int last;       /* the optimiser ran */
} Slot;

typedef struct Shape {
    EngineShape size;
    Pass *run;
    int uses, evaluations;
    void *graph[PHASE_COUNT]; /* of forward, loss, backward */
    void *evaluate;
} Shape;

struct Engine {
    EngineOptions o;
    const Ops *ops;
    OpsContext c;
    Model m;
    Stream *stream;
    void *weights, *activations, *workspace, *batch;
    uint64_t weight_bytes, activation_bytes, workspace_bytes, batch_bytes, bytes;
    Control *control; /* device */
    float *sums;      /* device: inside control */
    Slot slots[ENGINE_LAG];
    int64_t enqueued, harvested; /* batches */
    double seconds[PHASE_COUNT]; /* of the harvested batches of the step */
    void *pinned;
    size_t pinned_bytes;
    Shape shapes[MAX_SHAPES];
    int shape_count;
    Shape *now; /* of the batch that was taken */
    BatchInfo info;
    BatchLayout layout;
    const CudaGraphOps *graphs;
    void *update_graph, *clear_graph;
    int updates, clears;
    int64_t poison_from, poison_count;
    float *nan; /* pinned */
};

/* --- memory --- */

static uint64_t batch_room(const Config *cfg, const EngineShape *s)
{
    BatchLayout l;
    BatchShape shape = {.rows = s->rows, .text = s->text, .frames = s->frames, .bands = cfg->n_mels};
    batch_layout_device(&l, &shape, s->text, s->frames);
    return l.bytes;
}

static EngineShape rounded(const EngineOptions *o)
{
    EngineShape s = o->largest;
    const int r = SAMPLER_FRAME_MULTIPLE;
    s.frames = (s.frames + r - 1) / r * r;
    return s;
}

static uint64_t even(uint64_t n) { return (n + 255) / 256 * 256; }

/* The sizes of all the engine's blocks. */
static void size_blocks(Engine *e)
{
    EngineShape s = rounded(&e->o);
    e->weight_bytes = model_bytes(&e->m, e->ops, e->o.training);
    e->activation_bytes = pass_bytes(&e->m, e->ops, s.rows, s.text, s.frames, e->o.training);
    e->workspace_bytes = even(e->ops->workspace_bytes);
    e->batch_bytes = even(batch_room(e->o.cfg, &s));
    e->bytes =
        e->weight_bytes + e->activation_bytes + e->workspace_bytes + e->batch_bytes + even(sizeof(Control));
}

int engine_plan(EnginePlan *p, const EngineOptions *o, Err *err)
{
    Engine *e = mem_calloc(1, sizeof *e);
    if (!e)
        return err_set(err, ERR_NOMEM, "no memory to plan");
    e->o = *o;
    e->ops = ops_table(o->device, o->cfg->mixed_precision, err);
    int rc = e->ops ? model_open(&e->m, o->cfg, o->symbols, err) : err->code;
    if (!rc) {
        size_blocks(e);
        *p = (EnginePlan){e->weight_bytes, e->activation_bytes, e->bytes, e->m.params.numbers};
        model_close(&e->m);
    }
    free(e);
    return rc;
}

uint64_t engine_plan_synthesis(const EngineOptions *o, const SynthesisLimits *limits)
{
    Model m;
    Err err = {0};
    const Ops *ops = ops_table(o->device, o->cfg->mixed_precision, &err);
    if (!ops || model_open(&m, o->cfg, o->symbols, &err))
        return 0;
    uint64_t bytes = synthesiser_bytes(&m, ops, limits);
    model_close(&m);
    return bytes;
}

static int open_slots(Engine *e, Err *err)
{
    Device *d = e->o.device;
    const size_t room = 256;
    e->pinned_bytes = room * (2 * ENGINE_LAG + 1);
    int rc = d->ops->pinned_alloc(d, &e->pinned, e->pinned_bytes, err);
    if (rc)
        return rc;
    char *p = e->pinned;
    memset(p, 0, e->pinned_bytes);
    for (int i = 0; i < ENGINE_LAG; i++) {
        Slot *s = &e->slots[i];
        s->step = (OpsStep *)(void *)p, p += room;
        s->outcome = (Outcome *)(void *)p, p += room;
        for (int k = 0; k <= PHASE_COUNT; k++)
            if ((rc = d->ops->event_open(d, &s->at[k], 1, err)))
                return rc;
    }
    e->nan = (float *)(void *)p;
    *e->nan = NAN;
    return 0;
}

int engine_open(Engine **out, const EngineOptions *o, Err *err)
{
    Device *d = o->device;
    Engine *e = *out = mem_calloc(1, sizeof *e);
    if (!e)
        return err_set(err, ERR_NOMEM, "no memory for the engine");
    e->o = *o;
    int rc;
    if (!(e->ops = ops_table(d, o->cfg->mixed_precision, err)))
        return err->code;
    if ((rc = model_open(&e->m, o->cfg, o->symbols, err)) ||
        (rc = d->ops->stream_open(d, &e->stream, "step", err)))
        return rc;
    e->c.threads = thread_cores();
    e->c.deterministic =
        o->cfg->deterministic || !o->training; /* few texts have the same length: no timing */
    e->c.unfused = !o->cfg->enable_xla;
    if ((rc = e->ops->open(&e->c, d, e->stream, err)))
        return rc;
    size_blocks(e);
    if ((rc = device_alloc(d, &e->weights, e->weight_bytes, err)) ||
        (rc = device_alloc(d, &e->activations, e->activation_bytes, err)) ||
        (e->workspace_bytes && (rc = device_alloc(d, &e->workspace, e->workspace_bytes, err))) ||
        (rc = device_alloc(d, &e->batch, e->batch_bytes, err)) ||
        (rc = device_alloc(d, (void **)&e->control, even(sizeof(Control)), err)) || (rc = open_slots(e, err)))
        return rc;
    e->c.workspace = e->workspace, e->c.workspace_bytes = e->workspace_bytes;
    e->c.step = &e->control->step;
    e->sums = e->control->outcome.sums;
    if ((rc = d->ops->fill_zero(e->stream, e->control, sizeof *e->control, err)))
        return rc;
    model_attach(&e->m, &e->c, e->weights, o->training);
    if (d->ops->traits.graphs && o->cfg->enable_graph_mode && !o->cfg->enable_eager_debug) {
        CudaGraphGet get;
        void *symbol = cuda_library_symbol(d, CUDA_GRAPH_SYMBOL, err);
        if (!symbol)
            return err->code;
        memcpy(&get, &symbol, sizeof get);
        e->graphs = get();
    }
    return 0;
}

static void destroy_graphs(Engine *e)
{
    for (int i = 0; i < e->shape_count; i++) {
        for (int k = 0; k < PHASE_COUNT; k++)
            e->graphs->destroy(e->shapes[i].graph[k]);
        e->graphs->destroy(e->shapes[i].evaluate);
    }
    e->graphs->destroy(e->update_graph);
    e->graphs->destroy(e->clear_graph);
}

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
    for (int i = 0; i < e->shape_count; i++)
        pass_close(e->shapes[i].run);
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

Model *engine_model(Engine *e) { return &e->m; }
Stream *engine_stream(Engine *e) { return e->stream; }
uint64_t engine_bytes(const Engine *e) { return e->bytes; }
void engine_poison(Engine *e, int64_t from, int64_t count) { e->poison_from = from, e->poison_count = count; }

/* --- weights --- */

int engine_load(Engine *e, const float *masters, const float *moments1, const float *moments2,
                const OpsGuard *guard, Err *err)
{
    const DeviceOps *d = e->o.device->ops;
    uint8_t *decay = NULL;
    if (e->o.training) {
        if (!(decay = malloc((size_t)e->m.params.size)))
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

/* --- batches --- */

static int find_shape(Engine *e, const EngineShape *s, Err *err)
{
    for (int i = 0; i < e->shape_count; i++)
        if (memcmp(&e->shapes[i].size, s, sizeof *s) == 0) {
            e->now = &e->shapes[i];
            return 0;
        }
    if (e->shape_count == MAX_SHAPES)
        return err_set(err, ERR_CONFIG, "more than %d shapes of batches: use fewer length_buckets",
                       MAX_SHAPES);
    Shape *shape = &e->shapes[e->shape_count];
    uint8_t *b = e->batch;
    const BatchLayout *l = &e->layout;
    ModelInput in = {.B = s->rows,
                     .T = s->text,
                     .M = s->frames,
                     .tokens = (int32_t *)(void *)(b + l->tokens),
                     .text_length = (int32_t *)(void *)(b + l->text_length),
                     .mel_length = (int32_t *)(void *)(b + l->mel_length),
                     .reference = (int32_t *)(void *)(b + l->reference),
                     .mel = (float *)(void *)(b + l->mel),
                     .pitch = (float *)(void *)(b + l->pitch)};
    *shape = (Shape){.size = *s};
    int rc = pass_open(&shape->run, &e->m, &in, e->activations, e->o.training, err);
    if (rc)
        return rc;
    e->shape_count++;
    e->now = shape;
    return 0;
}

int engine_take(Engine *e, const uint8_t *memory, const BatchLayout *l, const BatchInfo *info, Err *err)
{
    EngineShape s = {e->o.largest.rows, info->text, info->frames};
    Device *d = e->o.device;
    if (info->text > e->o.largest.text || info->frames > rounded(&e->o).frames || l->bytes > e->batch_bytes)
        return err_set(err, ERR_DATA,
                       "a batch of %d symbols and %d frames is larger than the %d and %d that were planned",
                       info->text, info->frames, e->o.largest.text, e->o.largest.frames);
    e->layout = *l;
    e->info = *info;
    int rc = find_shape(e, &s, err);
    return rc ? rc : d->ops->copy_peer(e->stream, e->batch, d, memory, l->bytes, err);
}

/* --- phases --- */

/* Pieces of work that are no phase of a step. */
enum { WORK_EVALUATE = -2, WORK_CLEAR = -1 };

typedef struct Work {
    Engine *e;
    Shape *shape;
    int phase; /* a Phase, or WORK_... */
} Work;

static void do_work(void *arg)
{
    const Work *w = arg;
    Engine *e = w->e;
    switch (w->phase) {
    case WORK_CLEAR:
        pass_clear(&e->m, e->sums);
        break;
    case WORK_EVALUATE:
        pass_forward(w->shape->run, 0);
        pass_losses(w->shape->run, e->sums);
        break;
    case PHASE_FORWARD:
        pass_forward(w->shape->run, 1);
        break;
    case PHASE_LOSS:
        pass_losses(w->shape->run, e->sums);
        break;
    case PHASE_BACKWARD:
        pass_backward(w->shape->run);
        break;
    case PHASE_OPTIMISER:
        model_mark(&e->m, "optimiser", -1, 1);
        model_update(&e->m, &e->control->outcome.guard, &e->control->scale, &e->control->norm2,
                     &e->control->finite, e->sums);
        break;
    }
}

/* Runs a piece of work: as a kernel of the stream, or enqueued; from the second use on as a graph where there
 * are graphs. */
static int perform(Engine *e, Work w, void **graph, int uses, Err *err)
{
    Device *d = e->o.device;
    if (d->ops->run) {
        /* A simulated step takes its time once. */
        int timed = w.phase == PHASE_FORWARD || w.phase == WORK_EVALUATE;
        return d->ops->run(e->stream, do_work, &w, sizeof w, timed ? STAGE_STEP : STAGE_NONE, err);
    }
    int rc = 0;
    if (!e->graphs || uses < 1) {
        do_work(&w);
        if (e->o.cfg->enable_eager_debug)
            rc = d->ops->stream_wait_idle(e->stream, err);
        return rc ? rc : ops_check(&e->c, err);
    }
    if (!*graph) {
        if ((rc = e->graphs->begin(e->stream, err)))
            return rc;
        do_work(&w);
        if ((rc = e->graphs->end(e->stream, graph, err)))
            return rc;
    }
    return e->graphs->launch(*graph, e->stream, err);
}

int engine_step(Engine *e, int64_t step, int first, int last, double lr, Err *err)
{
    const DeviceOps *d = e->o.device->ops;
    Shape *shape = e->now;
    Slot *s = &e->slots[e->enqueued % ENGINE_LAG];
    int rc;
    ASSERT_CMP(e->enqueued - e->harvested, <, ENGINE_LAG); /* engine_result is called after every batch */
    *s->step = (OpsStep){.seed = rng_mix((uint64_t)e->o.cfg->seed, (uint64_t)e->info.number + 1),
                         .number = step,
                         .lr = (float)lr};
    s->number = step, s->last = last;
    if ((rc = d->copy_in(e->stream, &e->control->step, s->step, sizeof *s->step, err)) ||
        (rc = d->event_record(s->at[PHASE_FORWARD], e->stream, err)) ||
        (first && (rc = perform(e, (Work){e, NULL, WORK_CLEAR}, &e->clear_graph, e->clears++, err))))
        return rc;
    for (int p = PHASE_FORWARD; p <= PHASE_BACKWARD; p++)
        if ((rc = perform(e, (Work){e, shape, p}, &shape->graph[p], shape->uses, err)) ||
            (rc = d->event_record(s->at[p + 1], e->stream, err)))
            return rc;
    shape->uses++;
    if (last) {
        if (step >= e->poison_from && step < e->poison_from + e->poison_count &&
            (rc = d->copy_in(e->stream, e->m.grads, e->nan, sizeof *e->nan, err)))
            return rc;
        if ((rc = perform(e, (Work){e, NULL, PHASE_OPTIMISER}, &e->update_graph, e->updates++, err)) ||
            (rc = d->copy_out(e->stream, s->outcome, &e->control->outcome, sizeof *s->outcome, err)))
            return rc;
    }
    rc = d->event_record(s->at[PHASE_COUNT], e->stream, err);
    e->enqueued += !rc;
    return rc;
}

static void read_slot(Engine *e, const Slot *s, StepResult *r)
{
    const Outcome *o = s->outcome;
    memset(r, 0, sizeof *r);
    r->step = s->number;
    r->frames = (double)o->sums[SUM_FRAMES];
    for (int i = 0; i < TERM_COUNT; i++) {
        r->terms[i] = r->frames > 0 ? (double)o->sums[i] / r->frames : 0;
        r->loss += r->terms[i];
    }
    r->guard = o->guard;
    memcpy(r->seconds, e->seconds, sizeof r->seconds);
    memset(e->seconds, 0, sizeof e->seconds);
}

int engine_result(Engine *e, StepResult *r, int wait, Err *err)
{
    const DeviceOps *d = e->o.device->ops;
    while (e->harvested < e->enqueued) {
        Slot *s = &e->slots[e->harvested % ENGINE_LAG];
        int must = wait || e->enqueued - e->harvested == ENGINE_LAG; /* the next batch needs the slot */
        int rc = must ? d->event_wait(s->at[PHASE_COUNT], err) : d->event_happened(s->at[PHASE_COUNT]);
        if (rc < 0)
            return err->code ? rc
                             : err_set(err, ERR_DEVICE, "device %s failed in step %lld", e->o.device->name,
                                       (long long)s->number);
        if (!must && rc == 0)
            return 0;
        e->harvested++;
        for (int p = 0; p < PHASE_COUNT; p++)
            e->seconds[p] += d->event_seconds(s->at[p], s->at[p + 1]);
        if (s->last) {
            read_slot(e, s, r);
            return 1;
        }
    }
    return 0;
}

/* --- evaluation --- */

int engine_evaluate_begin(Engine *e, Err *err)
{
    return e->o.device->ops->fill_zero(e->stream, e->sums, sizeof e->control->outcome.sums, err);
}

int engine_evaluate(Engine *e, Err *err)
{
    return perform(e, (Work){e, e->now, WORK_EVALUATE}, &e->now->evaluate, e->now->evaluations++, err);
}

int engine_evaluate_end(Engine *e, double terms[TERM_COUNT], double *frames, Err *err)
{
    const DeviceOps *d = e->o.device->ops;
    Outcome *o = e->slots[0].outcome;
    int rc = d->stream_wait_idle(e->stream, err);
    ASSERT_CMP(e->harvested, ==, e->enqueued);
    if (rc || (rc = d->copy_out(e->stream, o, &e->control->outcome, sizeof *o, err)) ||
        (rc = d->stream_wait_idle(e->stream, err)))
        return rc;
    *frames = (double)o->sums[SUM_FRAMES];
    for (int i = 0; i < TERM_COUNT; i++)
        terms[i] = *frames > 0 ? (double)o->sums[i] / *frames : 0;
    return ops_check(&e->c, err);
}

/* Device numbers of the working type -> host floats. */
static int fetch(Engine *e, float **out, const void *real, int64_t n, Err *err)
{
    Device *d = e->o.device;
    size_t bytes = (size_t)n * e->ops->real_bytes;
    void *raw = malloc(bytes);
    *out = malloc((size_t)n * sizeof **out);
    int rc = raw && *out ? d->ops->copy_out(e->stream, raw, real, bytes, err)
                         : err_set(err, ERR_NOMEM, "no memory for a picture");
    if (!rc)
        rc = d->ops->stream_wait_idle(e->stream, err);
    for (int64_t i = 0; i < n && !rc; i++) {
        if (e->ops->real == REAL_BF16) {
            uint32_t bits = (uint32_t)((uint16_t *)raw)[i] << 16;
            memcpy(&(*out)[i], &bits, sizeof bits);
        } else {
            (*out)[i] = ((float *)raw)[i];
        }
    }
    free(raw);
    return rc;
}

/* Plain device memory -> a new host array. */
static int fetch_plain(Engine *e, void *out, const void *from, size_t bytes, Err *err)
{
    void **to = out;
    if (!(*to = malloc(bytes)))
        return err_set(err, ERR_NOMEM, "no memory for a picture");
    return e->o.device->ops->copy_out(e->stream, *to, from, bytes, err);
}

/* As p, `n` elements of the working type further on. */
static const void *real_at(const Engine *e, const void *p, int64_t n)
{
    return (const char *)p + n * (int64_t)e->ops->real_bytes;
}

int engine_look(Engine *e, int row, EngineLook *l, Err *err)
{
    Device *d = e->o.device;
    PassOutput o;
    int32_t text = 0, frames = 0;
    const uint8_t *b = e->batch;
    const BatchLayout *at = &e->layout;
    const size_t r = (size_t)row, T = (size_t)e->now->size.text, M = (size_t)e->now->size.frames;
    const size_t word = sizeof(int32_t);
    int rc;
    memset(l, 0, sizeof *l);
    pass_output(e->now->run, &o);
    l->bands = e->o.cfg->n_mels;
    if ((rc = d->ops->copy_out(e->stream, &text, b + at->text_length + r * word, word, err)) ||
        (rc = d->ops->copy_out(e->stream, &frames, b + at->mel_length + r * word, word, err)) ||
        (rc = d->ops->stream_wait_idle(e->stream, err)))
        return rc;
    l->text = text, l->frames = frames;
    const int64_t n = (int64_t)frames * l->bands, symbol = (int64_t)(r * T), frame = (int64_t)(r * M);
    const size_t symbols = (size_t)text, mel = (size_t)frame * (size_t)l->bands;
    if (!n || !text)
        return 0;
    const void *out = real_at(e, o.mel, frame * l->bands), *mu = real_at(e, o.mu, symbol * l->bands),
               *traits = real_at(e, o.traits, symbol * TRAIT_COUNT);
    if ((rc = fetch(e, &l->predicted, out, n, err)) ||
        (rc = fetch(e, &l->mu, mu, (int64_t)text * l->bands, err)) ||
        (rc = fetch(e, &l->traits, traits, (int64_t)text * TRAIT_COUNT, err)) ||
        (rc = fetch_plain(e, &l->target, b + at->mel + mel * 4, (size_t)n * sizeof(float), err)) ||
        (rc = fetch_plain(e, &l->tokens, b + at->tokens + r * T * word, symbols * word, err)) ||
        (rc = fetch_plain(e, &l->durations, o.frames + symbol, symbols * word, err)) ||
        (rc = fetch_plain(e, &l->pitch, o.pitch + symbol, symbols * sizeof(float), err)))
        return rc;
    return d->ops->stream_wait_idle(e->stream, err);
}

void engine_look_free(EngineLook *l)
{
    free(l->predicted), free(l->target), free(l->mu), free(l->traits), free(l->tokens), free(l->durations),
        free(l->pitch);
    memset(l, 0, sizeof *l);
}

int engine_alignment(Engine *e, int32_t *durations, float *cost, Err *err)
{
    const EngineShape *s = &e->now->size;
    PassOutput o;
    pass_output(e->now->run, &o);
    const DeviceOps *d = e->o.device->ops;
    int rc = d->copy_out(e->stream, durations, o.frames,
                         (size_t)s->rows * (size_t)s->text * sizeof *durations, err);
    if (!rc)
        rc = d->copy_out(e->stream, cost, o.cost, (size_t)s->rows * sizeof *cost, err);
    return rc ? rc : d->stream_wait_idle(e->stream, err);
}

const uint8_t *engine_batch(const Engine *e, const BatchLayout **l, const BatchInfo **info)
{
    *l = &e->layout;
    *info = &e->info;
    return e->batch;
}

int engine_rows(const Engine *e) { return e->o.largest.rows; }
