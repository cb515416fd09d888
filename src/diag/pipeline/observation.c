/* observation.c - see observation.h. */
#include "diag/pipeline/observation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/thread.h"
#include "pipeline/policy.h"
#include "pipeline/step_meter.h"

/* A disk serves one read at a time when a read beside others adds at least this share of a read alone. */
#define SERIAL_RATIO 0.7
#define SERIAL_SAMPLES 20

void observation_close(Observation *o)
{
    for (int t = 0; t < TRACE_COUNT; t++)
        free(o->trace[t]);
    free(o->host_ready);
    free(o->device_ready);
    free(o->rows);
    free(o->frames);
    free(o->gpu_history);
    *o = (Observation){0};
}

double observation_mean(const Observation *o, TraceId t)
{
    double sum = 0;
    for (int64_t k = o->from; k < o->n; k++)
        sum += (double)o->trace[t][k];
    return o->n > o->from ? sum / (double)(o->n - o->from) : 0;
}

float observation_step(const Observation *o, int64_t k)
{
    return o->trace[TRACE_WAIT][k] + o->trace[TRACE_STEP][k] + o->trace[TRACE_SUM][k];
}

/* --- from the counters --- */

/* One more than needed: no array is NULL when there are no batches. */
static int take_arrays(Observation *o, Err *err)
{
    size_t n = (size_t)o->n + 1;
    int failed = 0;
    for (int t = 0; t < TRACE_COUNT; t++)
        failed |= !(o->trace[t] = mem_calloc(n, sizeof(float)));
    failed |= !(o->host_ready = mem_calloc(n, sizeof(float)));
    failed |= !(o->device_ready = mem_calloc(n, sizeof(float)));
    failed |= !(o->rows = mem_calloc(n, sizeof(int)));
    failed |= !(o->frames = mem_calloc(n, sizeof(int)));
    return failed ? err_set(err, ERR_NOMEM, "no memory for the times of %lld batches", (long long)o->n) : 0;
}

/* Does the disk serve one reader at a time? Then a read beside others gains only what is its own. */
static int is_serial(const Counters *c)
{
    /* Nothing to compare: the careful guess. */
    ReadTimes alone = counters_read_times(c, 1), shared = counters_read_times(c, 0);
    if (alone.n < SERIAL_SAMPLES || shared.n < SERIAL_SAMPLES)
        return 1;
    return shared.mean > SERIAL_RATIO * alone.mean || shared.median > SERIAL_RATIO * alone.median;
}

/* The settings, as the forecast wants them. */
static void describe(Observation *o, const Config *cfg, const Device *data, const Device *model)
{
    o->batch_size = policy_shares(policy_global_batch(cfg, 1), 1, cfg->batch_size).rows;
    o->num_workers = config_workers(cfg);
    o->start_buffers = o->report.buffers_at_start;
    o->most_buffers = policy_most_buffers(cfg->pipeline_buffer_size);
    o->synchronous = !cfg->native_loading;
    o->two_devices = !device_same(data, model);
    o->host_data = data->traits.host_memory;
    o->host_model = model->traits.inline_streams;
    o->simulated = model->traits.simulated;
    o->on_the_fly = o->report.on_the_fly;
    o->prefetch = cfg->prefetch_to_gpu;
    o->overlap = cfg->optimize_cpu_gpu_overlap;
    o->own_copy = cfg->enhanced_gpu_prefetch;
    o->cores = thread_cores();
    memcpy(o->data_name, data->name, sizeof o->data_name);
    memcpy(o->model_name, model->name, sizeof o->model_name);
    memcpy(o->model_model, model->model, sizeof o->model_model);
}

/* Steps that were set apart (step_meter.h) say nothing about the others: each gets the time of the newest
 * step before it of the same length, or of the next one. The order of batches stays, for periods. */
static void even_out(Observation *o, const int *apart)
{
    for (int64_t k = 0; k < o->n; k++) {
        int64_t like = -1;
        for (int64_t i = k - 1; apart[k] && i >= 0 && like < 0; i--)
            if (!apart[i] && o->frames[i] == o->frames[k])
                like = i;
        for (int64_t i = k + 1; apart[k] && i < o->n && like < 0; i++)
            if (!apart[i])
                like = i;
        if (like < 0)
            continue;
        o->trace[TRACE_STEP][k] = o->trace[TRACE_STEP][like];
        o->trace[TRACE_WAIT][k] = 0;
    }
}

/* Shares and rates over the window. */
static void summarise(Observation *o)
{
    Stats step = {0};
    double wait = 0, busy = 0, rows = 0;
    for (int64_t k = o->from; k < o->n; k++) {
        stats_add(&step, (double)observation_step(o, k));
        wait += (double)o->trace[TRACE_WAIT][k];
        busy += (double)o->trace[TRACE_STEP][k];
        rows += o->rows[k];
    }
    double all = step.mean * (double)step.n;
    o->period = o->step_mean = step.mean;
    o->step_std = stats_std(&step);
    o->wait_share = all > 0 ? wait / all : 0;
    o->busy_share = all > 0 ? busy / all : 0;
    o->sum_share = all > 0 ? fmax(0, 1 - o->wait_share - o->busy_share) : 0;
    o->utterances_per_s = all > 0 ? rows / all : 0;
    const PipelineReport *r = &o->report;
    o->padding = r->padded_frames ? 1 - (double)r->real_frames / (double)r->padded_frames : 0;
    const StageSnapshot *h = &r->stages[STAGE_H2D], *p = &r->stages[STAGE_PEER];
    o->h2d_bytes = h->items ? h->bytes / h->items : 0;
    o->peer_bytes = p->items ? p->bytes / p->items : 0;
}

/* The device times of a batch are known when its buffer is used again, those of its step METER_LAG steps
 * later: the last ones are not. */
int64_t observation_tail(const PipelineReport *r)
{
    return r->buffers > METER_LAG + 1 ? r->buffers : METER_LAG + 1;
}

/* Slots that were added have changed the pipeline: what came before them is no longer true. Only when most of
 * the batches came before, they are what there is. */
static int64_t window_begin(const PipelineReport *r, int64_t skip, int64_t end)
{
    return r->slots_added_at > skip && end - r->slots_added_at >= (end - skip) / 2 ? r->slots_added_at : skip;
}

/* 1 when there are too few batches to say anything. */
int observation_from_pipeline(Observation *o, Pipeline *p, const Config *cfg, const Device *data,
                              const Device *model, int64_t skip, int held, Err *err)
{
    /* The newest batches that are complete; the oldest rows of the ring may be overwritten while they are
     * read. */
    const Counters *c = pipeline_counters(p);
    *o = (Observation){.cpu_share = -1, .held = held};
    pipeline_report(p, &o->report);
    memcpy(o->stages, o->report.stages, sizeof o->stages);
    describe(o, cfg, data, model);
    int64_t end = o->report.batches - observation_tail(&o->report),
            first = end > TRACE_KEEP - 64 ? end - (TRACE_KEEP - 64) : 0;
    skip = window_begin(&o->report, skip, end);
    o->n = end - first;
    o->first = first;
    o->from_start = first == 0;
    o->from = skip > first ? skip - first : 0;
    if (o->n - o->from < OBSERVE_FEWEST / 2) {
        *o = (Observation){0};
        return 1;
    }
    int rc = take_arrays(o, err), *apart = mem_calloc((size_t)o->n + 1, sizeof *apart);
    if (!rc && !apart)
        rc = err_set(err, ERR_NOMEM, "no memory for the times of %lld batches", (long long)o->n);
    if (rc) {
        free(apart);
        observation_close(o);
        return rc;
    }
    for (int64_t k = 0; k < o->n; k++) {
        const TraceRow *row = &c->trace[(first + k) % TRACE_KEEP];
        for (int t = 0; t < TRACE_COUNT; t++)
            o->trace[t][k] = (float)counters_trace(c, first + k, (TraceId)t);
        o->rows[k] = (int)row->rows;
        o->frames[k] = (int)row->frames;
        apart[k] = row->apart;
        o->host_ready[k] = (float)row->host_ready;
        o->device_ready[k] = (float)row->device_ready;
    }
    even_out(o, apart);
    free(apart);
    o->serial_disk = is_serial(c);
    summarise(o);
    return 0;
}
