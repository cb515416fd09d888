/* charts.c - pictures of an observation, as numbers. */
#include <math.h>
#include <stdlib.h>

#include "base/json.h"
#include "diag/report/sections.h"

#define BINS 40
#define LAGS 60

/* A chart as svg.h draws it; series, categories and marks are added. */
static json_t *chart(const char *id, const char *kind, const char *title, const char *x, const char *y)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:[], s:[], s:[]}", "id", id, "kind", kind, "title", title,
                     "x_label", x, "y_label", y, "series", "categories", "marks");
}

/* n numbers v(i); x NULL: 0, 1, ... */
static void add_series(json_t *c, const char *name, const double *x, const double *y, int64_t n)
{
    json_t *xs = json_array(), *ys = json_array();
    for (int64_t i = 0; i < n; i++) {
        json_array_append_new(xs, x ? json_from_double(x[i]) : json_integer(i));
        json_array_append_new(ys, json_from_double(y[i]));
    }
    json_array_append_new(json_object_get(c, "series"),
                          json_pack("{s:s, s:o, s:o}", "name", name, "x", xs, "y", ys));
}

static void add_mark(json_t *c, double x, const char *label)
{
    json_array_append_new(json_object_get(c, "marks"), json_pack("{s:f, s:s}", "x", x, "label", label));
}

/* The time from step to step, and its parts. */
static json_t *step_times(const Observation *o, double *scratch)
{
    json_t *c = chart("step_times", "line", word(SAY_CHART_STEPS), word(SAY_STEP), word(SAY_MS));
    int64_t n = o->n - o->from;
    const TraceId traces[] = {TRACE_STEP, TRACE_WAIT, TRACE_SUM};
    static const Word names[] = {SAY_BUSY, SAY_WAITING_DATA, SAY_WAITING_RANKS};
    for (int64_t k = 0; k < n; k++)
        scratch[k] = 1e3 * (double)observation_step(o, o->from + k);
    add_series(c, word(SAY_STEP_END_TO_END), NULL, scratch, n);
    for (int t = 0; t < (stage_present(o, STAGE_SUM) ? 3 : 2); t++) {
        for (int64_t k = 0; k < n; k++)
            scratch[k] = 1e3 * (double)o->trace[traces[t]][o->from + k];
        add_series(c, word(names[t]), NULL, scratch, n);
    }
    return c;
}

/* Bins between the shortest and the longest step. */
static json_t *histogram(const Observation *o, double *scratch)
{
    json_t *c =
        chart("step_histogram", "histogram", word(SAY_CHART_HISTOGRAM), word(SAY_MS), word(SAY_STEPS));
    int64_t n = o->n - o->from;
    /* All bins have the same width. */
    double low = INFINITY, high = 0, x[BINS], y[BINS] = {0};
    for (int64_t k = 0; k < n; k++) {
        scratch[k] = 1e3 * (double)observation_step(o, o->from + k);
        low = fmin(low, scratch[k]);
        high = fmax(high, scratch[k]);
    }
    double width = high > low ? (high - low) / BINS : 1;
    for (int b = 0; b < BINS; b++)
        x[b] = low + ((double)b + 0.5) * width;
    for (int64_t k = 0; k < n; k++) {
        int b = (int)((scratch[k] - low) / width);
        y[b < 0 ? 0 : b >= BINS ? BINS - 1 : b]++;
    }
    add_series(c, word(SAY_STEPS), x, y, BINS);
    return c;
}

/* For each stage that exists: busy, blocked on its input, blocked on its output. */
static json_t *stages(const Observation *o)
{
    json_t *c = chart("stages", "stacked", word(SAY_CHART_STAGES), "", word(SAY_OF_ITS_TIME));
    double y[3][STAGE_COUNT];
    int n = 0;
    for (int i = 0; i < STAGE_COUNT; i++) {
        const StageSnapshot *k = &o->stages[i];
        double all = k->busy + k->blocked_in + k->blocked_out;
        if (!stage_present(o, (StageId)i) || all <= 0)
            continue;
        y[0][n] = 100 * k->busy / all;
        y[1][n] = 100 * k->blocked_in / all;
        y[2][n] = 100 * k->blocked_out / all;
        n++;
        json_array_append_new(json_object_get(c, "categories"), json_string(stage_name((StageId)i)));
    }
    static const Word names[] = {SAY_BUSY, SAY_BLOCKED_IN, SAY_BLOCKED_OUT};
    for (int i = 0; i < 3; i++)
        add_series(c, word(names[i]), NULL, y[i], n);
    return c;
}

/* How many batches waited in host slots and in device buffers when each was taken. */
static json_t *queues(const Observation *o, double *scratch)
{
    json_t *c = chart("queues", "line", word(SAY_CHART_STOCK), word(SAY_STEP), word(SAY_BATCH_COUNT));
    int64_t n = o->n - o->from;
    for (int t = 0; t < 2; t++) {
        const float *x = t ? o->device_ready : o->host_ready;
        for (int64_t k = 0; k < n; k++)
            scratch[k] = (double)x[o->from + k];
        add_series(c, t ? word(SAY_ON_MODEL_DEVICE) : word(SAY_SLOTS_READY), NULL, scratch, n);
    }
    return c;
}

/* All stages but the step, which has its own picture. */
static json_t *stage_times(const Observation *o, double *scratch)
{
    json_t *c = chart("stage_times", "line", word(SAY_CHART_STAGE_TIMES), word(SAY_BATCH), word(SAY_MS));
    int64_t n = o->n - o->from;
    for (int s = 0; s < STAGE_STEP; s++) {
        if (!stage_present(o, (StageId)s))
            continue;
        for (int64_t k = 0; k < n; k++)
            scratch[k] = 1e3 * (double)o->trace[stage_trace((StageId)s)][o->from + k];
        add_series(c, stage_name((StageId)s), NULL, scratch, n);
    }
    return c;
}

/* A stall that comes back shows as a peak at its period. */
static json_t *autocorrelation(const Observation *o, const Verdict *v)
{
    json_t *c = chart("autocorrelation", "line", word(SAY_CHART_AUTOCORRELATION), word(SAY_LAG),
                      word(SAY_CORRELATION));
    int64_t n = o->n - o->from;
    float *steps = malloc((size_t)(n + 1) * sizeof *steps);
    double x[LAGS], y[LAGS];
    int lags = 0;
    for (int64_t k = 0; steps && k < n; k++)
        steps[k] = observation_step(o, o->from + k);
    for (int lag = 1; steps && lag <= LAGS && lag < n / 2; lag++, lags++) {
        x[lags] = lag;
        y[lags] = cycle_autocorrelation(steps, n, lag);
    }
    free(steps);
    add_series(c, word(SAY_STEP_TIMES), x, y, lags);
    if (v->period && v->period <= LAGS)
        add_mark(c, v->period, word(SAY_STALL_PERIOD));
    return c;
}

/* What NVML saw, where there is a GPU. */
static json_t *utilisation(const Observation *o, double *scratch)
{
    json_t *c = chart("gpu", "line", word(SAY_CHART_GPU), word(SAY_SECONDS), "%");
    double *x = scratch, *y = scratch + MONITOR_HISTORY;
    int n = 0;
    for (int i = 0; i < o->gpu_samples && i < MONITOR_HISTORY; i++)
        if (!isnan(o->gpu_history[i].values[MONITOR_UTILISATION])) {
            x[n] = o->gpu_history[i].at;
            y[n++] = (double)o->gpu_history[i].values[MONITOR_UTILISATION];
        }
    add_series(c, word(SAY_MODEL_GPU), x, y, n);
    return c;
}

json_t *charts_make(const Observation *o, const Verdict *v)
{
    json_t *all = json_array();
    /* Room for the longest series that any of them makes. */
    size_t n = (size_t)(o->n > 2 * MONITOR_HISTORY ? o->n : 2 * MONITOR_HISTORY);
    double *scratch = malloc(n * sizeof *scratch);
    if (!scratch)
        return all;
    json_array_append_new(all, step_times(o, scratch));
    json_array_append_new(all, histogram(o, scratch));
    json_array_append_new(all, stages(o));
    json_array_append_new(all, stage_times(o, scratch));
    json_array_append_new(all, queues(o, scratch));
    json_array_append_new(all, autocorrelation(o, v));
    if (o->gpu_samples > 1)
        json_array_append_new(all, utilisation(o, scratch));
    free(scratch);
    return all;
}
