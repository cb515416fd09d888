/* engine.c - steps on a device: batches in, phases enqueued, results out. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/rng.h"
#include "device/sim.h"
#include "ops/ops_open.h"
#include "train/step/engine_private.h"

const char *phase_name(Phase p)
{
    static const char *const names[PHASE_COUNT] = {"forward", "loss", "backward", "optimiser"};
    return names[p];
}

Model *engine_model(Engine *e) { return &e->m; }
Stream *engine_stream(Engine *e) { return e->stream; }
uint64_t engine_bytes(const Engine *e) { return e->bytes; }

void engine_poison(Engine *e, int64_t from, int64_t count)
{
    e->poison_from = from;
    e->poison_count = count;
}

int engine_opens(const Engine *e) { return e->opens; }

void engine_wish_stop(Engine *e) { e->wishes_stop = 1; }

/* --- batches --- */

/* e->now becomes the shape of this size; a new one gets a pass over the engine's memory. */
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
                     .language = (int32_t *)(void *)(b + l->language),
                     .mel = (float *)(void *)(b + l->mel),
                     .pitch = (float *)(void *)(b + l->pitch),
                     .samples = (float *)(void *)(b + l->samples)};
    *shape = (Shape){.size = *s};
    int rc = pass_open(&shape->pass, &e->m, &in, e->activations, e->o.training, err);
    if (rc)
        return rc;
    e->shape_count++;
    e->now = shape;
    return 0;
}

/* The copy goes into the engine's own memory: the buffer is free at once, and a graph that was captured finds
 * every batch of its shape at the same place. */
int engine_take(Engine *e, const uint8_t *memory, const BatchLayout *l, const BatchInfo *info, Err *err)
{
    EngineShape s = {e->o.largest.rows, info->text, info->frames};
    Device *d = e->o.device;
    if (info->text > e->o.largest.text || info->frames > engine_largest(&e->o).frames ||
        l->bytes > e->batch_bytes)
        return err_set(err, ERR_DATA,
                       "a batch of %d symbols and %d frames is larger than planned (%d and %d)", info->text,
                       info->frames, e->o.largest.text, e->o.largest.frames);
    e->layout = *l;
    e->info = *info;
    int rc = find_shape(e, &s, err);
    return rc ? rc : d->ops->copy_peer(e->stream, e->batch, d, memory, l->bytes, err);
}

/* --- phases --- */

/* Work that is not a phase of a step; a Phase is never negative. */
enum { WORK_STEP = -2, WORK_EVALUATE = -1 };

typedef struct Work {
    Engine *e;
    Shape *shape;
    int phase; /* a Phase, or WORK_... */
    int first; /* a forward pass that begins a step: sums and gradients are cleared */
    int sums;  /* a backward pass that ends a step of several ranks: gradients are summed over them */
} Work;

/* Enqueues a piece of work, or does it, as the device's ops do. */
static void do_work(void *arg)
{
    const Work *w = arg;
    Engine *e = w->e;
    switch (w->phase) {
    case WORK_STEP:
        for (int p = 0; p < PHASE_COUNT; p++)
            do_work(&(Work){e, w->shape, p, w->first, w->sums});
        break;
    case WORK_EVALUATE:
        pass_forward(w->shape->pass, 0);
        pass_losses(w->shape->pass, e->sums);
        break;
    case PHASE_FORWARD:
        if (w->first)
            pass_clear(&e->m, e->sums);
        pass_forward(w->shape->pass, 1);
        break;
    case PHASE_LOSS:
        pass_losses(w->shape->pass, e->sums);
        break;
    case PHASE_BACKWARD:
        if (w->sums)
            gradient_sum_begin(e->over);
        pass_backward(w->shape->pass);
        if (w->sums)
            gradient_sum_end(e->over);
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
    e->opens |= uses < 1 || (e->graphs && !*graph);
    /* The first use runs as it is: it opens what a capture must not open. */
    if (!e->graphs || uses < 1) {
        do_work(&w);
        if (e->o.cfg->enable_eager_debug)
            rc = d->ops->stream_wait_idle(e->stream, err);
        return rc ? rc : ops_check(&e->c, err);
    }
    if (!*graph) {
        rc = e->graphs->begin(e->stream, err);
        if (rc)
            return rc;
        do_work(&w);
        rc = e->graphs->end(e->stream, graph, err);
        if (rc)
            return rc;
    }
    return e->graphs->launch(*graph, e->stream, err);
}

static int is_poisoned(const Engine *e, int64_t step)
{
    return step >= e->poison_from && step < e->poison_from + e->poison_count;
}

/* The optimiser, behind the last batch of a step. */
static int update(Engine *e, const Slot *s, Err *err)
{
    int rc = 0;
    if (is_poisoned(e, s->number))
        rc = e->o.device->ops->copy_in(e->stream, e->m.grads, e->nan, sizeof *e->nan, err);
    return rc ? rc : perform(e, (Work){e, NULL, PHASE_OPTIMISER, 0, 0}, &e->update_graph, e->updates++, err);
}

/* A step of one batch is a single graph, without the gaps between those of its phases, once it was done phase
 * by phase; and every PHASES_EVERY steps it is again, to know what they take. */
static int runs_whole(const Engine *e, const Slot *s)
{
    return e->graphs && s->first && s->last && e->now->uses > PHASES_FIRST && s->number % PHASES_EVERY != 0 &&
           !is_poisoned(e, s->number);
}

/* One by one, with an event between them that tells later how long each took. */
static int run_phases(Engine *e, const Slot *s, Err *err)
{
    const DeviceOps *d = e->o.device->ops;
    Shape *shape = e->now;
    int rc = 0;
    for (int p = PHASE_FORWARD; p <= PHASE_BACKWARD && !rc; p++) {
        const int clears = s->first && p == PHASE_FORWARD, sums = s->last && e->over && p == PHASE_BACKWARD;
        void **graph = clears ? &shape->first_forward : sums ? &shape->summing : &shape->graph[p];
        rc = perform(e, (Work){e, shape, p, clears, sums}, graph, shape->uses, err);
        if (!rc)
            rc = d->event_record(s->at[p + 1], e->stream, err);
    }
    return rc || !s->last ? rc : update(e, s, err);
}

/* Nothing here waits for the device. What changes from step to step is copied in first; what the optimiser
 * decided goes to the slot. */
int engine_step(Engine *e, int64_t step, int first, int last, double lr, Err *err)
{
    const DeviceOps *d = e->o.device->ops;
    Shape *shape = e->now;
    Slot *s = &e->slots[e->enqueued % ENGINE_LAG];
    /* engine_result is called after every batch, so a slot is free. */
    ASSERT_CMP(e->enqueued - e->harvested, <, ENGINE_LAG);
    *s->step = (OpsStep){.seed = rng_mix((uint64_t)e->o.cfg->seed, (uint64_t)e->info.whole + 1),
                         .number = step,
                         .lr = (float)lr,
                         .stop = (float)e->wishes_stop,
                         .share = e->info.share};
    s->number = step;
    s->first = first;
    s->last = last;
    s->whole = runs_whole(e, s);
    e->opens = 0;
    int rc = d->copy_in(e->stream, &e->control->step, s->step, sizeof *s->step, err);
    if (!rc)
        rc = d->event_record(s->at[PHASE_FORWARD], e->stream, err);
    if (!rc)
        rc = s->whole ? perform(e, (Work){e, shape, WORK_STEP, 1, e->over != NULL}, &shape->whole,
                                shape->uses, err)
                      : run_phases(e, s, err);
    if (!rc && last && e->over)
        rc = gradient_sum_check(e->over, err);
    if (rc)
        return rc;
    shape->uses++;
    s->opens = e->opens;
    if (last)
        rc = d->copy_out(e->stream, s->outcome, &e->control->outcome, sizeof *s->outcome, err);
    if (!rc)
        rc = d->event_record(s->at[PHASE_COUNT], e->stream, err);
    e->enqueued += !rc;
    return rc;
}

/* Adds what the phases of a batch took; for a batch that ran as a whole, its time in the proportions of the
 * last batch that ran phase by phase. */
static void add_seconds(Engine *e, const Slot *s)
{
    const DeviceOps *d = e->o.device->ops;
    double all = 0;
    for (int p = 0; p < PHASE_COUNT; p++) {
        if (!s->whole)
            e->measured[p] = d->event_seconds(s->at[p], s->at[p + 1]);
        all += e->measured[p];
    }
    const double scale = s->whole && all > 0 ? d->event_seconds(s->at[0], s->at[PHASE_COUNT]) / all : 1;
    for (int p = 0; p < PHASE_COUNT; p++)
        e->seconds[p] += scale * e->measured[p];
}

/* Sums become means per frame; the phases' times are those of all batches of the step. */
static void read_slot(Engine *e, const Slot *s, StepResult *r)
{
    const Outcome *o = s->outcome;
    memset(r, 0, sizeof *r);
    r->step = s->number;
    r->opens = s->opens;
    r->frames = (double)o->sums[SUM_FRAMES];
    for (int i = 0; i < TERM_COUNT; i++) {
        r->terms[i] = r->frames > 0 ? (double)o->sums[i] / r->frames : 0;
        r->loss += loss_term_counts((LossTerm)i) ? r->terms[i] : 0;
    }
    r->guard = o->guard;
    memcpy(r->seconds, e->seconds, sizeof r->seconds);
    memset(e->seconds, 0, sizeof e->seconds);
    if (!e->over)
        return;
    r->exposed = (double)(o->times.summed - o->times.computed) * 1e-9;
    r->stop = o->sums[SUM_STOP] > 0;
}

/* Batches are harvested in order. When all slots are taken the oldest batch has to be waited for: that is how
 * the host is kept from running further ahead. */
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
        add_seconds(e, s);
        if (s->last) {
            read_slot(e, s, r);
            return 1;
        }
    }
    return 0;
}

/* --- evaluation --- */

/* The sums of a validation use the memory of the steps' sums: no step is under way meanwhile. */
int engine_evaluate_begin(Engine *e, Err *err)
{
    return e->o.device->ops->fill_zero(e->stream, e->sums, sizeof e->control->outcome.sums, err);
}

/* Shapes of held-out clips come a few times: timing products for them would take longer than they do. */
int engine_evaluate(Engine *e, Err *err)
{
    const int kept = e->c.deterministic;
    e->c.deterministic = 1;
    int rc =
        perform(e, (Work){e, e->now, WORK_EVALUATE, 0, 0}, &e->now->evaluate, e->now->evaluations++, err);
    e->c.deterministic = kept;
    return rc;
}

/* The sums of all ranks, in host memory, added in their order. */
static int add_ranks(Ranks *ranks, float sums[SUM_COUNT], Err *err)
{
    const int count = ranks_count(ranks);
    float *all = malloc((size_t)count * SUM_COUNT * sizeof *all);
    int rc = all ? ranks_gather(ranks, all, sums, SUM_COUNT * sizeof *all, err)
                 : err_set(err, ERR_NOMEM, "no memory for the sums of %d ranks", count);
    if (!rc)
        memset(sums, 0, SUM_COUNT * sizeof *sums);
    for (int i = 0; i < count * SUM_COUNT && !rc; i++)
        sums[i % SUM_COUNT] += all[i];
    free(all);
    return rc;
}

int engine_evaluate_end(Engine *e, double terms[TERM_COUNT], double *frames, Err *err)
{
    const DeviceOps *d = e->o.device->ops;
    Outcome *o = e->slots[0].outcome;
    int rc = d->stream_wait_idle(e->stream, err);
    ASSERT_CMP(e->harvested, ==, e->enqueued);
    if (!rc)
        rc = d->copy_out(e->stream, o, &e->control->outcome, sizeof *o, err);
    if (!rc)
        rc = d->stream_wait_idle(e->stream, err);
    if (!rc && e->o.ranks)
        rc = add_ranks(e->o.ranks, o->sums, err);
    if (rc)
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
        /* bf16 is the upper half of a float. */
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
    *to = malloc(bytes);
    if (!*to)
        return err_set(err, ERR_NOMEM, "no memory for a picture");
    return e->o.device->ops->copy_out(e->stream, *to, from, bytes, err);
}

/* As p, `n` elements of the working type further on. */
static const void *real_at(const Engine *e, const void *p, int64_t n)
{
    return (const char *)p + n * (int64_t)e->ops->real_bytes;
}

/* How many symbols and frames of a row are real. */
static int fetch_lengths(Engine *e, size_t row, EngineLook *l, Err *err)
{
    const DeviceOps *d = e->o.device->ops;
    const uint8_t *b = e->batch;
    const BatchLayout *at = &e->layout;
    int32_t text = 0, frames = 0;
    int rc = d->copy_out(e->stream, &text, b + at->text_length + row * sizeof text, sizeof text, err);
    if (!rc)
        rc = d->copy_out(e->stream, &frames, b + at->mel_length + row * sizeof frames, sizeof frames, err);
    if (!rc)
        rc = d->stream_wait_idle(e->stream, err);
    l->text = text;
    l->frames = frames;
    return rc;
}

/* For pictures: a few copies that wait, once in a validation. */
int engine_look(Engine *e, int row, EngineLook *l, Err *err)
{
    const uint8_t *b = e->batch;
    const BatchLayout *at = &e->layout;
    const size_t word = sizeof(int32_t);
    PassOutput o;
    memset(l, 0, sizeof *l);
    pass_output(e->now->pass, &o);
    l->bands = e->o.cfg->n_mels;
    int rc = fetch_lengths(e, (size_t)row, l, err);
    if (rc || !l->text || !l->frames)
        return rc;
    /* Where the row begins, in symbols and in frames of the batch; how much of it there is. */
    const int64_t symbol = (int64_t)row * e->now->size.text, frame = (int64_t)row * e->now->size.frames;
    const int64_t text = l->text, mel = (int64_t)l->frames * l->bands;
    const uint8_t *target = b + at->mel + (size_t)(frame * l->bands) * sizeof(float);
    const uint8_t *tokens = b + at->tokens + (size_t)symbol * word;
    rc = fetch(e, &l->predicted, real_at(e, o.mel, frame * l->bands), mel, err);
    if (!rc)
        rc = fetch(e, &l->mu, real_at(e, o.mu, symbol * l->bands), text * l->bands, err);
    if (!rc)
        rc = fetch(e, &l->traits, real_at(e, o.traits, symbol * TRAIT_COUNT), text * TRAIT_COUNT, err);
    if (!rc)
        rc = fetch_plain(e, &l->target, target, (size_t)mel * sizeof(float), err);
    if (!rc)
        rc = fetch_plain(e, &l->tokens, tokens, (size_t)text * word, err);
    if (!rc)
        rc = fetch_plain(e, &l->durations, o.frames + symbol, (size_t)text * word, err);
    if (!rc)
        rc = fetch_plain(e, &l->pitch, o.pitch + symbol, (size_t)text * sizeof(float), err);
    if (!rc)
        rc = e->o.device->ops->stream_wait_idle(e->stream, err);
    return rc;
}

void engine_look_free(EngineLook *l)
{
    free(l->predicted);
    free(l->target);
    free(l->mu);
    free(l->traits);
    free(l->tokens);
    free(l->durations);
    free(l->pitch);
    memset(l, 0, sizeof *l);
}

/* Of the whole batch, padding included; the caller knows the lengths. */
int engine_alignment(Engine *e, int32_t *durations, float *cost, Err *err)
{
    const EngineShape *s = &e->now->size;
    PassOutput o;
    pass_output(e->now->pass, &o);
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
