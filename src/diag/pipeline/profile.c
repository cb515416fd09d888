/* profile.c - see profile.h. */
#include "diag/pipeline/profile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/plural.h"
#include "base/thread.h"
#include "diag/pipeline/doctor.h"
#include "diag/pipeline/profile_private.h"
#include "diag/report/thresholds.h"

#define GRID_BATCHES 60 /* of each cell, when nothing is said */
#define LONGEST_LAG 20
#define NOISE 2.5 /* standard errors that the highest of so many lags reaches by chance */

/* An empty report with date and machine. */
json_t *profile_begin(const char *title, const Observation *o)
{
    char date[32], machine[200];
    time_t now = time(NULL);
    struct tm t;
    strftime(date, sizeof date, "%Y-%m-%d %H:%M", localtime_r(&now, &t));
    snprintf(machine, sizeof machine, "%s (%s)%s%s, %d core%s", o->model_name, o->model_model,
             o->two_devices ? ", data on " : "", o->two_devices ? o->data_name : "", o->cores,
             plural((uint64_t)o->cores));
    return json_pack("{s:s, s:s, s:s, s:[], s:[]}", "title", title, "date", date, "machine", machine,
                     "sections", "charts");
}

void profile_section(json_t *report, json_t *section)
{
    json_array_append_new(json_object_get(report, "sections"), section);
}
void profile_chart(json_t *report, json_t *chart)
{
    json_array_append_new(json_object_get(report, "charts"), chart);
}

/* Mean and percentiles of the times, and the cycle in them. */
int spread_of(Spread *s, const float *x, int64_t n, Err *err)
{
    double *copy = mem_calloc((size_t)n + 1, sizeof *copy);
    Stats all = {0};
    if (!copy)
        return err_set(err, ERR_NOMEM, "no memory for %lld times", (long long)n);
    for (int64_t i = 0; i < n; i++) {
        copy[i] = 1e3 * (double)x[i];
        stats_add(&all, copy[i]);
    }
    *s = (Spread){.mean = all.mean, .std = stats_std(&all), .min = all.min, .max = all.max};
    s->median = stats_percentile(copy, (size_t)n, 0.5);
    s->p95 = stats_percentile(copy, (size_t)n, 0.95);
    s->p99 = stats_percentile(copy, (size_t)n, 0.99);
    s->variation = s->mean > 0 ? s->std / s->mean : 0;
    s->lag = cycle_best_lag(x, n, LONGEST_LAG, &s->correlation);
    s->noise = s->correlation < NOISE / sqrt((double)(n > 0 ? n : 1));
    free(copy);
    return 0;
}

/* A cycle that noise explains is none. */
json_t *spread_json(const Spread *s)
{
    json_t *o = json_object();
    const struct {
        const char *key;
        double value;
    } values[] = {{"mean_ms", s->mean}, {"std_ms", s->std},         {"min_ms", s->min},
                  {"max_ms", s->max},   {"median_ms", s->median},   {"p95_ms", s->p95},
                  {"p99_ms", s->p99},   {"variation", s->variation}};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        json_object_set_new(o, values[i].key, json_from_double(values[i].value));
    json_object_set_new(o, "cycle_lag",
                        !s->noise && s->correlation >= threshold(LIMIT_CYCLE)->bad ? json_integer(s->lag)
                                                                                   : json_null());
    json_object_set_new(o, "cycle_correlation", json_from_double(s->correlation));
    return o;
}

/* The same for people. */
void spread_rows(json_t *section, const Spread *s, const Verdict *v)
{
    section_row(section, STATUS_INFO, "mean, deviation", "", "%.2f ms, %.2f ms", s->mean, s->std);
    section_row(section, STATUS_INFO, "least, median, most", "", "%.2f, %.2f, %.2f ms", s->min, s->median,
                s->max);
    section_row(section, STATUS_INFO, "p95, p99", "", "%.2f, %.2f ms", s->p95, s->p99);
    swing_rows(section, "variation", v);
    Status cycle = threshold_judge(LIMIT_CYCLE, s->noise ? 0 : s->correlation);
    section_row(section, cycle == STATUS_BAD && !swing_is_fault(&v->swing) ? STATUS_INFO : cycle, "cycle",
                "highest autocorrelation, lags 2-20",
                cycle == STATUS_BAD ? "every %d batches (%.2f)" : "none (lag %d: %.2f)", s->lag,
                s->correlation);
}

/* A line chart over the batches. */
json_t *profile_line(const char *id, const char *title, const char *y, const float *x, int64_t n)
{
    json_t *xs = json_array(), *ys = json_array();
    for (int64_t i = 0; i < n; i++) {
        json_array_append_new(xs, json_integer(i));
        json_array_append_new(ys, json_real(1e3 * (double)x[i]));
    }
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:[{s:s, s:o, s:o}]}", "id", id, "kind", "line", "title",
                     title, "x_label", "batch", "y_label", y, "series", "name", title, "x", xs, "y", ys);
}

/* Waiting and working. */
int profile_observe(Observation *o, float **times, Spread *s, const ObserveOptions *options, Err *err)
{
    *times = NULL;
    int rc = observe(o, options, err);
    if (rc)
        return rc;
    float *x = *times = mem_calloc((size_t)(o->n - o->from) + 1, sizeof *x);
    if (!x)
        return err_set(err, ERR_NOMEM, "no memory for the times");
    for (int64_t i = o->from; i < o->n; i++)
        x[i - o->from] = observation_step(o, i);
    return spread_of(s, x, o->n - o->from, err);
}

int profile_judge(json_t *report, Verdict **verdict, const Observation *o, Err *err)
{
    Verdict *v = *verdict = calloc(1, sizeof *v);
    int rc = v ? doctor_judge(v, o, err) : err_set(err, ERR_NOMEM, "no memory for a verdict");
    if (!rc)
        report_verdict(report, v, o);
    return rc;
}

/* --- data --- */

/* The pipeline alone: a consumer that takes batches and does nothing. */
int profile_data(json_t **report, const ObserveOptions *options, Err *err)
{
    ObserveOptions own = *options;
    Observation o = {0};
    Spread s;
    Verdict *v = NULL;
    own.no_step = 1;
    float *times = NULL;
    int rc = profile_observe(&o, &times, &s, &own, err);
    if (!rc) {
        *report = profile_begin("myxtts profile data", &o);
        rc = profile_judge(*report, &v, &o, err);
    }
    if (!rc) {
        json_t *r = *report,
               *section = section_begin("data", "From one batch to the next, nobody holding them up");
        spread_rows(section, &s, v);
        section_row(section, STATUS_INFO, "throughput", "", "%.0f utterances/s", o.utterances_per_s);
        section_row(section, threshold_judge(LIMIT_PADDING, o.padding), "padding", "", "%.1f %%",
                    100 * o.padding);
        section_row(section, STATUS_INFO, "settings", "",
                    "batch size %d, %d worker%s, %d host slot%s, %d device buffers", o.batch_size,
                    o.report.workers, plural((uint64_t)o.report.workers), o.report.slots,
                    plural((uint64_t)o.report.slots), o.report.buffers);
        profile_section(r, section);
        profile_chart(r, profile_line("batches", "time from batch to batch", "ms", times, o.n - o.from));
        json_object_set_new(r, "batch_times", spread_json(&s));
        json_object_set_new(r, "utterances_per_s", json_from_double(o.utterances_per_s));
        json_object_set_new(r, "batches", json_integer(o.n - o.from));
    }
    free(v);
    free(times);
    observation_close(&o);
    return rc;
}

/* --- the grid --- */

/* One pair of settings. */
typedef struct Cell {
    int size, workers;
    Stats rate; /* utterances/s */
} Cell;

/* One more repeat of it. */
static int measure_cell(Cell *c, const ObserveOptions *options, const Grid *g, Err *err)
{
    Config cfg = *options->cfg;
    ObserveOptions own = *options;
    cfg.batch_size = c->size;
    cfg.num_workers = c->workers;
    own.cfg = &cfg;
    own.no_step = 1;
    own.batches = g->batches ? g->batches : GRID_BATCHES;
    Observation o = {0};
    int rc = observe(&o, &own, err);
    if (!rc)
        stats_add(&c->rate, o.utterances_per_s);
    observation_close(&o);
    return rc;
}

/* How sure it is that a is faster than b: 0.5 .. 1, from the spread of the repeats (normal). */
static double surely_faster(const Cell *a, const Cell *b)
{
    double n = (double)a->rate.n, va = pow(stats_std(&a->rate), 2), vb = pow(stats_std(&b->rate), 2);
    double error = sqrt((va + vb) / (n > 1 ? n - 1 : 1));
    if (a->rate.n < 2 || !(error > 0))
        return 0.5;
    return 0.5 * (1 + erf((a->rate.mean - b->rate.mean) / error / M_SQRT2));
}

/* Every batch size with every number of workers. */
int profile_grid(json_t **report, const ObserveOptions *options, const Grid *g, Err *err)
{
    const int count = g->size_count * g->worker_count;
    Cell *cells = mem_calloc((size_t)count, sizeof *cells);
    int rc = cells ? 0 : err_set(err, ERR_NOMEM, "no memory for %d cells", count);
    for (int i = 0; i < count && !rc; i++)
        cells[i] = (Cell){.size = g->sizes[i / g->worker_count], .workers = g->workers[i % g->worker_count]};
    /* Round by round, so that a slow minute of the machine meets every cell. */
    for (int k = 0; k < g->repeats && !rc; k++)
        for (int i = 0; i < count && !rc; i++)
            rc = measure_cell(&cells[i], options, g, err);
    if (!rc) {
        /* How sure the choice is follows from the best and the next. */
        int best = 0, second = -1;
        for (int i = 1; i < count; i++)
            best = cells[i].rate.mean > cells[best].rate.mean ? i : best;
        for (int i = 0; i < count; i++)
            if (i != best && (second < 0 || cells[i].rate.mean > cells[second].rate.mean))
                second = i;
        double sure = second >= 0 ? surely_faster(&cells[best], &cells[second]) : 1;
        Observation names = {.cores = thread_cores()};
        snprintf(names.model_name, sizeof names.model_name, "%s", options->model->name);
        snprintf(names.model_model, sizeof names.model_model, "%s", options->model->model);
        json_t *r = *report = profile_begin("myxtts profile data --benchmark", &names), *list = json_array(),
               *categories = json_array(), *y = json_array();
        json_t *section = section_begin("grid", "Utterances per second, nobody holding the pipeline up");
        for (int i = 0; i < count; i++) {
            char name[48];
            snprintf(name, sizeof name, "batch %d, %d worker%s", cells[i].size, cells[i].workers,
                     plural((uint64_t)cells[i].workers));
            section_row(section, i == best ? STATUS_GOOD : STATUS_INFO, name, i == best ? "recommended" : "",
                        "%.0f +- %.0f", cells[i].rate.mean, stats_std(&cells[i].rate));
            json_array_append_new(list, json_pack("{s:i, s:i, s:f, s:f}", "batch_size", cells[i].size,
                                                  "num_workers", cells[i].workers, "utterances_per_s",
                                                  cells[i].rate.mean, "std", stats_std(&cells[i].rate)));
            json_array_append_new(categories, json_string(name));
            json_array_append_new(y, json_real(cells[i].rate.mean));
        }
        profile_section(r, section);
        profile_chart(r, json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:[{s:s, s:o}]}", "id", "grid", "kind",
                                   "bars", "title", "throughput", "x_label", "", "y_label", "utterances/s",
                                   "categories", categories, "series", "name", "utterances/s", "y", y));
        json_object_set_new(r, "grid", list);
        json_object_set_new(r, "recommended",
                            json_pack("{s:i, s:i, s:f, s:f}", "batch_size", cells[best].size, "num_workers",
                                      cells[best].workers, "utterances_per_s", cells[best].rate.mean, "sure",
                                      sure));
        char verdict[240];
        snprintf(verdict, sizeof verdict,
                 "batch_size %d with num_workers %d is the fastest: %.0f utterances/s; %.0f %% sure that it "
                 "beats the next (%.0f).",
                 cells[best].size, cells[best].workers, cells[best].rate.mean, 100 * sure,
                 second >= 0 ? cells[second].rate.mean : 0);
        json_object_set_new(r, "verdict", json_string(verdict));
    }
    free(cells);
    return rc;
}
