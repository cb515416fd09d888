/* layers.c - see layers.h. */
#include "diag/pipeline/layers.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "text/phonemes/tokens.h"
#include "train/step/engine_feed.h"
#include "train/step/schedule.h"
#include "train/trainer.h"

#define HOST_WARM 2
#define MOST_WARM 300
#define MOST_MARKS 1024

/* Where the network was when an event was recorded. */
typedef struct Mark {
    const char *part;
    int layer, backward;
} Mark;

/* The marks of one step. */
typedef struct Recorder {
    Device *device;
    Stream *stream;
    Event *events[MOST_MARKS];
    Mark marks[MOST_MARKS];
    int count, failed;
    Err err;
} Recorder;

/* Called by the network as it enqueues its parts; it cannot fail there, so an error waits. */
static void on_mark(void *arg, const char *part, int layer, int backward)
{
    Recorder *r = arg;
    if (r->count == MOST_MARKS || r->failed)
        return;
    Event **e = &r->events[r->count];
    if ((!*e && r->device->ops->event_open(r->device, e, 1, &r->err)) ||
        r->device->ops->event_record(*e, r->stream, &r->err)) {
        r->failed = 1;
        return;
    }
    r->marks[r->count++] = (Mark){part, layer, backward};
}

/* The row of a part; a new one when it has none yet. */
static LayerTime *find_part(LayerTimes *l, const Mark *m)
{
    for (int i = 0; i < l->count; i++)
        if (l->parts[i].layer == m->layer && strcmp(l->parts[i].part, m->part) == 0)
            return &l->parts[i];
    if (l->count == MOST_PARTS)
        return NULL;
    LayerTime *t = &l->parts[l->count++];
    *t = (LayerTime){.part = m->part, .layer = m->layer};
    return t;
}

/* The times between the marks of one step; a part that was marked more than once counts once,
 * with the sum. */
static void add_step(LayerTimes *l, const Recorder *r)
{
    /* Forward and backward apart. */
    double sums[MOST_PARTS][2] = {{0}};
    for (int i = 0; i + 1 < r->count; i++) {
        LayerTime *t = find_part(l, &r->marks[i]);
        if (t && r->marks[i].part[0])
            sums[t - l->parts][r->marks[i].backward] +=
                r->device->ops->event_seconds(r->events[i], r->events[i + 1]);
    }
    for (int i = 0; i < l->count; i++) {
        if (sums[i][0] > 0)
            stats_add(&l->parts[i].forward, sums[i][0]);
        if (sums[i][1] > 0)
            stats_add(&l->parts[i].backward, sums[i][1]);
    }
    l->steps++;
}

/* Steps without graphs: inside a graph there are no marks. */
static int run_steps(LayerTimes *l, Recorder *r, Engine *e, Pipeline *p, const Config *cfg, int64_t steps,
                     Err *err)
{
    Model *m = engine_model(e);
    /* On a GPU a shape has its products tuned when it first comes: an epoch goes by before anything is
     * measured. */
    int64_t warm = HOST_WARM;
    if (r->device->traits.tunes_shapes)
        warm = sampler_batches(pipeline_sampler(p)) < MOST_WARM ? sampler_batches(pipeline_sampler(p))
                                                                : MOST_WARM;
    int rc = 0;
    for (int64_t i = 0; i < steps + warm && !rc; i++) {
        StepResult result;
        /* Marks only after the warm-up. */
        r->count = 0;
        m->mark = i >= warm ? on_mark : NULL;
        m->mark_arg = r;
        rc = engine_feed(e, p, NULL, NULL, err);
        if (!rc)
            rc = engine_step(e, i + 1, 1, 1, schedule_rate(cfg, i + 1, 1000000), err);
        if (rc)
            break;
        if (m->mark)
            on_mark(r, "", -1, 0); /* the end of the last part */
        while ((rc = engine_result(e, &result, 1, err)) == 1)
            ;
        if (!rc && r->failed) {
            *err = r->err;
            rc = r->err.code;
        }
        if (!rc && m->mark)
            add_step(l, r);
    }
    m->mark = NULL;
    return rc;
}

/* A separate short training, with an event at every part. */
int layers_measure(LayerTimes *l, const ObserveOptions *o, int64_t steps, Err *err)
{
    *l = (LayerTimes){0};
    if (o->model->traits.simulated)
        return err_set(err, ERR_USAGE, "a simulated GPU has no layers to measure: its step only takes time");
    Config cfg = *o->cfg;
    cfg.enable_graph_mode = 0;
    Recorder *r = mem_calloc(1, sizeof *r);
    Engine *e = NULL;
    Pipeline *p = NULL;
    TrainPlan plan;
    TrainerOptions to = {.cfg = &cfg, .data = o->data, .model = o->model, .train = o->corpus, .log = o->log};
    PipelineOptions po = {.cfg = &cfg,
                          .corpus = o->corpus,
                          .data = o->data,
                          .model = o->model,
                          .start = {.seed = (uint64_t)cfg.seed},
                          .log = o->log};
    int rc = r ? train_plan(&plan, &to, err) : err_set(err, ERR_NOMEM, "no memory to measure layers");
    if (!rc) {
        EngineOptions eo = {.cfg = &cfg,
                            .device = o->model,
                            .largest = plan.shape,
                            .symbols = tokens_count(),
                            .languages = o->corpus->languages.count,
                            .training = 1,
                            .log = o->log};
        rc = engine_open(&e, &eo, err);
        if (!rc)
            rc = engine_initialise(e, err);
        if (!rc)
            rc = pipeline_open(&p, &po, err);
    }
    if (!rc) {
        r->device = o->model;
        r->stream = engine_stream(e);
        rc = run_steps(l, r, e, p, &cfg, steps, err);
    }
    /* The pipeline stops first, then the stream ends what it has, then memory goes. */
    if (p)
        pipeline_stop(p);
    if (e)
        o->model->ops->stream_wait_idle(engine_stream(e), NULL);
    for (int i = 0; r && i < MOST_MARKS; i++)
        if (r->events[i])
            o->model->ops->event_close(r->events[i]);
    int stuck = pipeline_close(p);
    engine_close(e);
    free(r);
    if (stuck && !rc)
        rc = err_set(err, ERR_WORKER, "a loader is stuck in a read");
    return rc;
}
