/* profile_step.c - profiles of the parts of a training step, and of two devices compared with one. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diag/pipeline/doctor.h"
#include "diag/pipeline/layers.h"
#include "diag/pipeline/profile_private.h"
#include "diag/report/thresholds.h"
#include "train/step/engine.h"

/* One phase as a row for people and as numbers. */
static void add_phase(json_t *section, json_t *phases, const char *name, double mean, double std,
                      double period, Status status)
{
    section_row(section, status, name, "", "%8.3f ms +- %.3f, %5.1f %%", 1e3 * mean, 1e3 * std,
                period > 0 ? 100 * mean / period : 0);
    json_object_set_new(phases, name,
                        json_pack("{s:f, s:f, s:f}", "mean_ms", 1e3 * mean, "std_ms", 1e3 * std, "share",
                                  period > 0 ? mean / period : 0));
}

/* Needs a separate run, without graphs. */
static int add_layers(json_t *report, const ObserveOptions *options, Err *err)
{
    LayerTimes *l = calloc(1, sizeof *l);
    if (!l)
        return err_set(err, ERR_NOMEM, "no memory for the times of layers");
    int rc = layers_measure(l, options, 12, err);
    json_t *section = section_begin("layers", "Parts of the network: forward, backward"),
           *list = json_array();
    for (int i = 0; i < l->count && !rc; i++) {
        const LayerTime *t = &l->parts[i];
        char name[48];
        if (!t->part[0])
            continue;
        snprintf(name, sizeof name, t->layer >= 0 ? "%s layer %d" : "%s", t->part, t->layer);
        section_row(section, STATUS_INFO, name, "", "%8.3f ms, %8.3f ms", 1e3 * t->forward.mean,
                    1e3 * t->backward.mean);
        json_array_append_new(list, json_pack("{s:s, s:f, s:f}", "part", name, "forward_ms",
                                              1e3 * t->forward.mean, "backward_ms", 1e3 * t->backward.mean));
    }
    profile_section(report, section);
    json_object_set_new(report, "layers", list);
    free(l);
    return rc;
}

/* Where the time of a step goes: waiting for data, then the phases. */
int profile_step(json_t **report, const ObserveOptions *options, int layers, Err *err)
{
    Observation o = {0};
    Spread s;
    Verdict *v = NULL;
    float *times = NULL;
    int rc = profile_observe(&o, &times, &s, options, err);
    if (!rc) {
        *report = profile_begin("myxtts profile step", &o);
        rc = profile_judge(*report, &v, &o, err);
    }
    if (!rc) {
        json_t *r = *report, *phases = json_object();
        json_t *section = section_begin("step", "The training step"),
               *spread = section_begin("times", "From step to step");
        /* What the step waited for comes first: it is not part of the network. */
        Stats wait = {0};
        for (int64_t i = o.from; i < o.n; i++)
            stats_add(&wait, (double)o.trace[TRACE_WAIT][i]);
        add_phase(section, phases, "data", wait.mean, stats_std(&wait), o.period,
                  threshold_judge(LIMIT_WAIT, o.wait_share));
        if (o.has_phases)
            for (int p = 0; p < PHASE_COUNT; p++)
                add_phase(section, phases, phase_name(p), o.phase[p], o.phase_std[p], o.period, STATUS_INFO);
        else
            add_phase(section, phases, "step", observation_mean(&o, TRACE_STEP), 0, o.period, STATUS_INFO);
        if (stage_present(&o, STAGE_SUM))
            add_phase(section, phases, stage_name(STAGE_SUM), observation_mean(&o, TRACE_SUM), 0, o.period,
                      STATUS_INFO);
        section_row(section, threshold_judge(LIMIT_GPU_BUSY, o.busy_share), "device busy",
                    "from events on its stream", "%.1f %%", 100 * o.busy_share);
        if (o.has_gpu && o.gpu[0].values[MONITOR_UTILISATION].n)
            section_row(section, STATUS_INFO, "NVML utilisation", "", "%.0f %%",
                        o.gpu[0].values[MONITOR_UTILISATION].mean);
        else
            section_row(section, STATUS_UNKNOWN, "NVML utilisation", "", "not measured: no GPU");
        section_row(section, STATUS_INFO, "throughput", "", "%.0f utterances/s", o.utterances_per_s);
        spread_rows(spread, &s, v);
        profile_section(r, section);
        profile_section(r, spread);
        profile_chart(r, profile_line("steps", "time from step to step", "ms", times, o.n - o.from));
        json_object_set_new(r, "phases", phases);
        json_object_set_new(r, "step_times", spread_json(&s));
        if (layers)
            rc = add_layers(r, options, err);
    }
    free(v);
    free(times);
    observation_close(&o);
    return rc;
}

/* The traces of a stream's stages; returns their number. */
static int traces_of(TraceId out[STAGE_COUNT], StageStream stream)
{
    int n = 0;
    for (int s = 0; s < STAGE_COUNT; s++)
        if (stage_info((StageId)s)->stream == stream)
            out[n++] = stage_trace((StageId)s);
    return n;
}

/* What a batch takes in one phase: the sum of these traces. */
static void phase_times(float *out, const Observation *o, const TraceId *traces, int n)
{
    for (int64_t k = o->from; k < o->n; k++) {
        out[k - o->from] = 0;
        for (int i = 0; i < n; i++)
            out[k - o->from] += o->trace[traces[i]][k];
    }
}

/* Loading: the workers share the work, but the disk may serve only one of them at a time. Two workers that
 * wait for one disk do not make it two disks' work. */
static void load_times(float *out, const Observation *o)
{
    int workers = o->report.workers > 1 ? o->report.workers : 1;
    for (int64_t k = o->from; k < o->n; k++) {
        float read = o->trace[o->serial_disk ? TRACE_DISK : TRACE_READ][k],
              decode = o->trace[TRACE_DECODE][k], each = (read + decode) / (float)workers;
        out[k - o->from] = o->serial_disk && read > each ? read : each;
    }
}

/* One phase of the way of a batch through two devices; returns its mean in seconds. times: of every batch;
 * the order is lost. */
static double phase_row(json_t *section, json_t *stages, const char *name, const Observation *o, float *times,
                        LimitId limit, double shown, Err *err)
{
    Spread s;
    if (spread_of(&s, times, o->n - o->from, err))
        return NAN;
    double sum = 1e-3 * s.mean, share = o->period > 0 ? sum / o->period : 0;
    /* Work that is hidden behind the step costs nothing: only with a waiting trainer it is judged. */
    Status status = limit < LIMIT_COUNT && shown > threshold(LIMIT_WAIT)->good ? threshold_judge(limit, share)
                                                                               : STATUS_INFO;
    section_row(section, status, name, "per batch",
                "%8.3f ms +- %.3f (p50 %.3f, p95 %.3f), %5.1f %% of the time from step to step", s.mean,
                s.std, s.median, s.p95, 100 * share);
    json_object_set_new(stages, name,
                        json_pack("{s:f, s:f, s:f, s:f, s:f}", "mean_ms", s.mean, "share", share, "std_ms",
                                  s.std, "p50_ms", s.median, "p95_ms", s.p95));
    return sum;
}

/* The share of the time in which the device had work of ours, by events on its streams (simulated devices
 * have them too); then what NVML saw of it. */
static void gpu_rows(json_t *report, json_t *section, const char *name, const char *key, double busy,
                     const MonitorSummary *g)
{
    char title[48];
    snprintf(title, sizeof title, "%s busy", name);
    section_row(section, STATUS_INFO, title, "from events on its streams", "%.1f %%", 100 * busy);
    json_t *devices = json_object_get(report, "devices");
    json_object_set_new(devices, key, json_pack("{s:f}", "busy_share", busy));
    if (!g->samples)
        return;
    section_row(section, STATUS_INFO, name, "NVML", "%.0f %% utilisation, %.0f MB, %.0f W",
                g->values[MONITOR_UTILISATION].mean, g->values[MONITOR_MEMORY].mean / 1e6,
                g->values[MONITOR_POWER].mean);
}

/* Of the data device: the longest of its streams, which work side by side. */
static double data_busy(const Observation *o, double copy, double work)
{
    double longest = copy > work ? copy : work;
    return o->period > 0 ? fmin(1, longest / o->period) : 0;
}

/* What one device instead of two would give, by the forecast. */
static int single_device(json_t *report, json_t *section, const Observation *o, Err *err)
{
    Forecast now, one;
    ForecastSettings s;
    if (!o->two_devices || o->host_data || o->synchronous) {
        section_row(section, STATUS_INFO, "one device", "", "%s",
                    !o->two_devices ? "data and model are on one already"
                    : o->host_data
                        ? "the data is on the CPU"
                        : "not forecast: with native_loading off nothing overlaps, on one device or two");
        json_object_set_new(report, "single_device", json_null());
        return 0;
    }
    /* The model of the pipeline without the second device. */
    forecast_settings(&s, o);
    int rc = forecast_run(&now, o, &s, err);
    s.two_devices = 0;
    if (!rc)
        rc = forecast_gain(&one, o, &s, &now, err);
    if (rc)
        return rc;
    section_row(section, STATUS_INFO, "one device instead of two", "forecast",
                "%.3f ms a batch instead of %.3f: %.2f times the throughput", 1e3 * one.period,
                1e3 * now.period, one.gain);
    json_object_set_new(report, "single_device",
                        json_pack("{s:f, s:f}", "predicted", one.gain, "step_ms", 1e3 * one.period));
    return 0;
}

enum { PHASES = 6 };

/* A row of each phase; sum: its time. The last one exists only where there are ranks. */
static int phase_rows(json_t *section, json_t *stages, double sum[PHASES], const Observation *o, Err *err)
{
    static const TraceId training[] = {TRACE_STEP}, gaps[] = {TRACE_WAIT}, sums[] = {TRACE_SUM};
    TraceId preprocess[STAGE_COUNT], transfer[STAGE_COUNT];
    int works = traces_of(preprocess, STREAM_WORK), copies = traces_of(transfer, STREAM_COPY);
    copies += traces_of(transfer + copies, STREAM_PEER);
    const struct {
        const char *name;
        const TraceId *traces; /* NULL: loading */
        int n;
        LimitId limit;
        double shown;
    } phases[PHASES] = {{"load", NULL, 0, LIMIT_LOAD, o->wait_share},
                        {"preprocess", preprocess, works, LIMIT_COUNT, 0},
                        {"transfer", transfer, copies, LIMIT_TRANSFER, o->wait_share},
                        {"training", training, 1, LIMIT_COUNT, 0},
                        {"gaps", gaps, 1, LIMIT_WAIT, 1},
                        {"sum", sums, 1, LIMIT_COUNT, 0}};
    int phase_count = stage_present(o, STAGE_SUM) ? 6 : 5;
    float *each = mem_calloc((size_t)(o->n - o->from) + 1, sizeof *each);
    int rc = each ? 0 : err_set(err, ERR_NOMEM, "no memory for the times");
    for (int i = 0; i < phase_count && !rc; i++) {
        if (phases[i].traces)
            phase_times(each, o, phases[i].traces, phases[i].n);
        else
            load_times(each, o);
        sum[i] = phase_row(section, stages, phases[i].name, o, each, phases[i].limit, phases[i].shown, err);
        rc = isnan(sum[i]) ? ERR_NOMEM : 0;
    }
    free(each);
    return rc;
}

/* The way of a batch through two devices, and what overlaps. */
int profile_dual(json_t **report, const ObserveOptions *options, Err *err)
{
    Observation o = {0};
    Verdict *v = NULL;
    Spread s;
    float *times = NULL;
    int rc = profile_observe(&o, &times, &s, options, err);
    if (!rc) {
        *report = profile_begin("myxtts profile dual", &o);
        rc = profile_judge(*report, &v, &o, err);
    }
    if (!rc) {
        json_t *r = *report, *stages = json_object();
        json_t *section = section_begin("stages", "The way of a batch"),
               *gpus = section_begin("devices", "Devices");
        json_object_set_new(r, "devices", json_object());
        double sum[PHASES] = {0};
        rc = phase_rows(section, stages, sum, &o, err);
        /* Without overlap the stages would take their sum, with perfect overlap the longest of them. */
        double all = sum[0] + sum[1] + sum[2] + sum[3], longest = 0;
        for (int i = 0; i < 4; i++)
            longest = sum[i] > longest ? sum[i] : longest;
        double possible = all > 0 ? 1 - longest / all : 0, achieved = all > 0 ? 1 - o.period / all : 0;
        achieved = achieved > 0 ? achieved : 0;
        section_row(section, STATUS_INFO, "overlap", "share of the work that is hidden behind other work",
                    "%.1f %% of the %.1f %% that are possible", 100 * achieved, 100 * possible);
        spread_rows(section, &s, v);
        gpu_rows(r, gpus, "model device", "model", o.busy_share, &o.gpu[0]);
        if (!o.host_data && o.two_devices)
            gpu_rows(r, gpus, "data device", "data", data_busy(&o, observation_mean(&o, TRACE_H2D), sum[1]),
                     &o.gpu[1]);
        if (!rc)
            rc = single_device(r, gpus, &o, err);
        profile_section(r, section);
        profile_section(r, gpus);
        profile_chart(r, profile_line("steps", "time from step to step", "ms", times, o.n - o.from));
        json_object_set_new(r, "stages", stages);
        json_object_set_new(r, "overlap",
                            json_pack("{s:f, s:f}", "achieved", achieved, "possible", possible));
        json_object_set_new(r, "step_times", spread_json(&s));
    }
    free(v);
    free(times);
    observation_close(&o);
    return rc;
}

/* Text is drawn from the JSON, so that both say the same. */
void profile_text(Buf *out, const json_t *report)
{
    size_t i, k;
    json_t *section, *row;
    buf_printf(out, "%s, %s\n%s\n", json_string_value(json_object_get(report, "title")),
               json_string_value(json_object_get(report, "date")),
               json_string_value(json_object_get(report, "machine")));
    json_array_foreach(json_object_get(report, "sections"), i, section)
    {
        buf_printf(out, "\n%s\n", json_string_value(json_object_get(section, "title")));
        json_array_foreach(json_object_get(section, "rows"), k, row)
        {
            const char *status = json_string_value(json_object_get(row, "status")),
                       *note = json_string_value(json_object_get(row, "note"));
            int plain = strcmp(status, "info") == 0;
            buf_printf(out, "  %-26s %s%s%s%s%s%s\n", json_string_value(json_object_get(row, "name")),
                       json_string_value(json_object_get(row, "value")), plain ? "" : "  [",
                       plain ? "" : status, plain ? "" : "]", note && *note ? "  " : "", note ? note : "");
        }
    }
    json_array_foreach(json_object_get(report, "sections"), i, section)
        json_array_foreach(json_object_get(section, "findings"), k, row)
            buf_printf(out, "\n%s: %s Fix: %s\n", json_string_value(json_object_get(row, "severity")),
                       json_string_value(json_object_get(row, "what")),
                       json_string_value(json_object_get(row, "fix")));
    /* The verdict and what it rests on, at the end. */
    const char *verdict = json_string_value(json_object_get(report, "verdict"));
    json_t *gain, *walls = json_object_get(report, "wall_lines");
    if (verdict)
        buf_printf(out, "\nverdict: %s\n", verdict);
    json_array_foreach(json_object_get(report, "evidence"), i, row)
        buf_printf(out, "  - %s\n", json_string_value(row));
    if (json_array_size(walls))
        buf_str(out, "what limits training, in order:\n");
    json_array_foreach(walls, i, row) buf_printf(out, "  %zu. %s\n", i + 1, json_string_value(row));
    json_array_foreach(json_object_get(report, "gains"), i, gain)
        buf_printf(out, "  %-40s %.2f times the throughput, predicted\n",
                   json_string_value(json_object_get(gain, "change")),
                   json_number_value(json_object_get(gain, "predicted")));
}
