/* sections.c - the eight sections of a report. */
#include "diag/report/sections.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/plural.h"
#include "diag/report/thresholds.h"

#define LONGEST_LAG 20
#define BUSY_HOST 0.9 /* share of the cores */

/* Rows and findings are added as they are found. */
json_t *section_begin(const char *name, const char *title)
{
    return json_pack("{s:s, s:s, s:[], s:[]}", "name", name, "title", title, "rows", "findings");
}

/* A value that is not UTF-8 becomes a question mark, not a lost row. */
void section_row(json_t *section, Status status, const char *name, const char *note, const char *fmt, ...)
{
    char value[400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(value, sizeof value, fmt, args);
    va_end(args);
    json_t *row = json_pack("{s:s, s:s%, s:s, s:s}", "name", name, "value", value, strlen(value), "status",
                            status_name(status), "note", note ? note : "");
    json_array_append_new(json_object_get(section, "rows"),
                          row ? row : json_pack("{s:s, s:s}", "name", name, "value", "?"));
}

void section_finding(json_t *section, const char *severity, const char *what, const char *why,
                     const char *value, const char *fix)
{
    json_t *f = json_pack("{s:s, s:s, s:s, s:s, s:s}", "severity", severity, "what", what, "why", why,
                          "value", value, "fix", fix);
    if (!f) /* a path that is not UTF-8: the finding stays */
        f = json_pack("{s:s, s:s, s:s, s:s, s:s}", "severity", severity, "what",
                      "a finding whose text cannot be shown", "why", "", "value", "", "fix", "");
    json_array_append_new(json_object_get(section, "findings"), f);
}

/* Rows and findings of the checks before the run. */
static void add_preflight(json_t *section, const Preflight *p, Area area)
{
    for (size_t i = 0; p && i < p->row_count; i++)
        if (p->rows[i].area == area)
            section_row(section, p->rows[i].status, p->rows[i].name, p->rows[i].note, "%s", p->rows[i].value);
    for (size_t i = 0; p && i < p->count; i++)
        if (p->findings[i].area == area)
            section_finding(section, severity_name(p->findings[i].severity), p->findings[i].what,
                            p->findings[i].why, p->findings[i].value, p->findings[i].fix);
}

/* Powers of 1000, as disks are sold. */
static const char *bytes_text(char out[32], double bytes)
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB"};
    int u = 0;
    for (; bytes >= 1000 && u < 4; u++)
        bytes /= 1000;
    snprintf(out, 32, u ? "%.1f %s" : "%.0f %s", bytes, units[u]);
    return out;
}

/* As settings are shown. */
static const char *on_off(int on) { return on ? "on" : "off"; }

/* --- 1 --- */

/* Name, model, memory. */
static void device_row(json_t *s, const char *name, Device *d)
{
    DeviceMemory m;
    char total[32];
    d->ops->memory_info(d, &m);
    section_row(s, STATUS_INFO, name, d->traits.simulated ? "simulated: times are those of --sim" : "",
                "%s: %s, %s", d->name, d->model, bytes_text(total, (double)m.total));
}

/* The machine as this process sees it. */
static json_t *hardware(const ReportInput *in)
{
    json_t *s = section_begin("hardware", "Hardware");
    struct utsname u;
    const Observation *o = in->o;
    if (uname(&u) == 0)
        section_row(s, STATUS_INFO, "system", "", "%s %s, %s", u.sysname, u.release, u.machine);
    double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    char total[32];
    section_row(s, STATUS_INFO, "host", "", "%d core%s, %s", o->cores, plural((uint64_t)o->cores),
                bytes_text(total, memory));
    device_row(s, "model device", in->model);
    if (in->data != in->model)
        device_row(s, "data device", in->data);
    if (o->has_gpu) {
        const MonitorSummary *g = &o->gpu[0];
        section_row(s, STATUS_INFO, "GPU during the run (NVML)", "",
                    "%.0f %% utilisation, %s, %.0f W, %.0f MHz, %.0f degrees",
                    g->values[MONITOR_UTILISATION].mean, bytes_text(total, g->values[MONITOR_MEMORY].mean),
                    g->values[MONITOR_POWER].mean, g->values[MONITOR_CLOCK].mean,
                    g->values[MONITOR_TEMPERATURE].mean);
    } else
        section_row(s, STATUS_UNKNOWN, "GPU during the run (NVML)",
                    in->model->traits.nvml ? "NVML is not there" : "the model device is no GPU",
                    "not measured");
    add_preflight(s, in->preflight, AREA_DEVICES);
    add_preflight(s, in->preflight, AREA_LIMITS);
    return s;
}

/* --- 2 --- */

/* Only what somebody has set. */
static json_t *configuration(const ReportInput *in)
{
    json_t *s = section_begin("configuration", "Configuration");
    for (int i = 0; i < config_row_count(); i++) {
        ConfigRow row;
        if (config_row(in->cfg, i, &row) == 0 && strcmp(row.origin, "default") != 0 &&
            strncmp(row.origin, "preset", 6) != 0)
            section_row(s, STATUS_INFO, row.key, row.origin, "%s", row.value);
    }
    add_preflight(s, in->preflight, AREA_CONFIGURATION);
    add_preflight(s, in->preflight, AREA_SHAPES);
    add_preflight(s, in->preflight, AREA_DATA);
    return s;
}

/* --- 3 --- */

/* Which of the possible ways a batch takes in this run. */
static json_t *code_path(const ReportInput *in)
{
    json_t *s = section_begin("code_path", "Code path in use");
    const Observation *o = in->o;
    const Config *cfg = in->cfg;
    section_row(s, o->synchronous ? STATUS_BAD : STATUS_GOOD, "loading", "", "%s",
                o->synchronous ? "each batch by the trainer itself, nothing overlaps (native_loading off)"
                : o->report.workers == 0 ? "asynchronous, but the feeder reads itself (num_workers 0)"
                                         : "asynchronous, by worker threads");
    if (o->synchronous)
        section_finding(s, "warning", "The trainer loads each batch itself",
                        "the model device waits for every batch", "native_loading: false",
                        "set native_loading: true");
    section_row(s, STATUS_INFO, "source of the mels",
                cfg->preprocessing_mode == PREPROCESS_AUTO ? "chosen by preprocessing_mode auto" : "", "%s",
                o->on_the_fly ? "audio files, decoded in every epoch (on_the_fly)" : "the prepared cache");
    section_row(s, STATUS_INFO, "cache is read", "", "%s",
                cfg->enable_memory_mapping ? "through a mapping" : "with pread");
    section_row(s, STATUS_INFO, "preprocessing", "", "%s%s",
                o->host_data ? "by the loader's workers on the CPU"
                             : "on the data device, kernels of stream preprocess, ",
                o->host_data ? "" : in->data->name);
    if (!o->host_data)
        section_row(s, o->own_copy ? STATUS_GOOD : STATUS_ACCEPTABLE, "copy to the data device", "",
                    "%s memory, %s", cfg->pin_memory ? "pinned" : "pageable",
                    o->own_copy ? "on a stream of its own" : "on the preprocessing's stream");
    if (o->two_devices) {
        PeerPath p = in->data->ops->peer_path(in->data, in->model);
        section_row(s, p == PEER_STAGED && !o->host_data ? STATUS_ACCEPTABLE : STATUS_GOOD,
                    "copy to the model device", "", "%s",
                    o->host_data       ? "from pinned host memory"
                    : p == PEER_DIRECT ? "directly between the GPUs"
                    : p == PEER_SAME   ? "on one device"
                                       : "through host memory");
    }
    section_row(s, o->prefetch && o->overlap ? STATUS_GOOD : STATUS_BAD, "overlap", "", "%s",
                !o->prefetch
                    ? "a batch is copied when the device has nothing left to do (prefetch_to_gpu off)"
                : !o->overlap ? "the next batch waits for the step (optimize_cpu_gpu_overlap off)"
                              : "copy, preprocessing and step run side by side");
    section_row(s, STATUS_INFO, "training step", "", "%s",
                o->simulated ? "simulated: takes the machine's step_ms"
                             : "the real network, real gradients, no file written");
    section_row(s, STATUS_INFO, "arithmetic", "", "%s",
                o->simulated                                     ? "none (simulated)"
                : in->model->traits.bf16 && cfg->mixed_precision ? "bf16 with fp32 masters"
                                                                 : "fp32");
    return s;
}

/* --- 4 --- */

/* How batches are made, and whether any clip was lost. */
static json_t *loader(const ReportInput *in)
{
    json_t *s = section_begin("loader", "Loader");
    const Observation *o = in->o;
    const PipelineReport *r = &o->report;
    section_row(s, STATUS_INFO, "workers in use", "", "%d, %d core%s", r->workers, o->cores,
                plural((uint64_t)o->cores));
    if (r->most_slots > r->slots_at_start)
        section_row(s, STATUS_INFO, "host slots, device buffers", "both grow when the model device waits",
                    "%d of at most %d (%d at the start), %d of at most %d", r->slots, r->most_slots,
                    r->slots_at_start, r->buffers, o->most_buffers);
    else
        section_row(s, STATUS_INFO, "host slots, device buffers", "device buffers grow from 3",
                    "%d, %d of at most %d", r->slots, r->buffers, o->most_buffers);
    section_row(s, STATUS_INFO, "read", o->serial_disk ? "one at a time" : "side by side", "%.2f ms a batch",
                1e3 * observation_mean(o, o->serial_disk ? TRACE_DISK : TRACE_READ));
    section_row(s, STATUS_INFO, "decode", "work of one worker", "%.2f ms a batch",
                1e3 * observation_mean(o, TRACE_DECODE));
    double read_bytes = r->stages[STAGE_READ].items
                            ? (double)r->stages[STAGE_READ].bytes / (double)r->stages[STAGE_READ].items
                            : 0;
    char text[32];
    section_row(s, STATUS_INFO, "a batch on the host", "", "%s", bytes_text(text, read_bytes));
    section_row(s, threshold_judge(LIMIT_PADDING, o->padding), "padding", "", "%.2f %% of the frames",
                100 * o->padding);
    section_row(s, r->lost ? STATUS_BAD : STATUS_GOOD, "clips that could not be loaded", "", "%lld",
                (long long)r->lost);
    if (r->lost)
        section_finding(s, "warning", "Clips could not be loaded", "they are missing in training",
                        "see the log", "run myxtts prepare --verify");
    if (o->cpu_share >= 0)
        section_row(s, o->cpu_share > BUSY_HOST ? STATUS_ACCEPTABLE : STATUS_GOOD, "host CPU", "",
                    "%.0f %% of %d core%s", 100 * o->cpu_share, o->cores, plural((uint64_t)o->cores));
    add_preflight(s, in->preflight, AREA_LOADER);
    return s;
}

/* --- 5 --- */

/* Whether the step is captured, and what its phases take. */
static json_t *graph(const ReportInput *in)
{
    json_t *s = section_begin("graph", "Graph and fused kernels");
    const Observation *o = in->o;
    static const char *const names[OBSERVED_PHASES] = {"forward", "loss", "backward", "optimiser"};
    if (in->model->traits.graphs)
        section_row(s, o->graphs ? STATUS_GOOD : STATUS_ACCEPTABLE, "step as CUDA graphs", "", "%s",
                    o->graphs ? "captured for each shape" : "off: every kernel is launched by itself");
    else
        section_row(s, STATUS_UNKNOWN, "step as CUDA graphs", "the model device is no GPU", "not measured");
    section_row(s, STATUS_INFO, "fused kernels", "", "%s", on_off(in->cfg->enable_xla));
    double all = 0;
    for (int p = 0; p < OBSERVED_PHASES; p++)
        all += o->phase[p];
    for (int p = 0; o->has_phases && p < OBSERVED_PHASES; p++)
        section_row(s, STATUS_INFO, names[p], "", "%.2f ms, %.0f %% of the step", 1e3 * o->phase[p],
                    all > 0 ? 100 * o->phase[p] / all : 0);
    if (!o->has_phases)
        section_row(s, STATUS_UNKNOWN, "phases of the step", "a simulated step has none", "not measured");
    add_preflight(s, in->preflight, AREA_GRAPH);
    return s;
}

/* --- 6 --- */

/* What is in use, and the caps. */
static json_t *memory(const ReportInput *in)
{
    json_t *s = section_begin("memory", "Memory");
    const Observation *o = in->o;
    char a[32], b[32], c[32];
    section_row(s, STATUS_INFO, "batches", "",
                "%s on the data device, %s more on the model device, %s pinned",
                bytes_text(a, (double)o->report.data_bytes), bytes_text(b, (double)o->report.model_bytes),
                bytes_text(c, (double)o->report.pinned_bytes));
    if (o->engine_bytes)
        section_row(s, STATUS_INFO, "network", "", "%s for %.2f million parameters",
                    bytes_text(a, (double)o->engine_bytes), (double)o->parameters * 1e-6);
    else
        section_row(s, STATUS_UNKNOWN, "network", "there is none on a simulated GPU", "not measured");
    const Device *both[] = {in->model, in->data};
    for (int i = 0; i < 2; i++)
        if (both[i]->cap && (i == 0 || both[0] != both[1]))
            section_row(s, STATUS_INFO, i ? "cap of the data device" : "cap of the model device", "", "%s",
                        bytes_text(a, (double)both[i]->cap));
    add_preflight(s, in->preflight, AREA_MEMORY);
    return s;
}

/* --- 7 --- */

/* The disk by itself: the page cache may hide a slow one until the dataset outgrows it. */
static json_t *storage(const ReportInput *in)
{
    json_t *s = section_begin("storage", "Storage past the page cache");
    const StorageTest *t = in->storage;
    const char *note = in->o->simulated ? "the real disk, not the simulated one" : "";
    if (t->count == 0)
        section_row(s, STATUS_UNKNOWN, "1 MiB reads", t->why_not, "not measured");
    else {
        Status status = threshold_judge(LIMIT_STORAGE, t->mean);
        char rate[32], value[64];
        section_row(s, status, "1 MiB reads", note, "%.2f ms mean, %.2f ms median, %.2f ms worst of %d",
                    1e3 * t->mean, 1e3 * t->median, 1e3 * t->worst, t->count);
        section_row(s, STATUS_INFO, "rate", note, "%s/s", bytes_text(rate, t->bytes_per_s));
        section_row(s, STATUS_INFO, "how", "", "%s of %d %s",
                    t->direct ? "O_DIRECT reads" : "reads after dropping the pages", t->files,
                    t->is_cache ? "cache segments" : "audio files");
        snprintf(value, sizeof value, "%.1f ms for 1 MiB", 1e3 * t->mean);
        if (status == STATUS_BAD)
            section_finding(s, "warning", "The disk is slow", "data that is not in memory arrives late",
                            value, "copy the dataset to a local SSD, or use mel_storage: float16");
    }
    add_preflight(s, in->preflight, AREA_STORAGE);
    return s;
}

/* --- 8 --- */

/* Points between the quietest and the busiest tenth of the samples. */
static double swing(const Observation *o)
{
    double x[MONITOR_HISTORY];
    size_t n = 0;
    for (int i = 0; i < o->gpu_samples; i++)
        if (!isnan(o->gpu_history[i].values[MONITOR_UTILISATION]))
            x[n++] = (double)o->gpu_history[i].values[MONITOR_UTILISATION] / 100;
    return n >= 10 ? stats_percentile(x, n, 0.9) - stats_percentile(x, n, 0.1) : NAN;
}

/* What each stage did with its time. */
static void add_stage_rows(json_t *s, const Observation *o, const Verdict *v)
{
    for (int i = 0; i < STAGE_COUNT; i++) {
        const StageSnapshot *k = &o->stages[i];
        double all = k->busy + k->blocked_in + k->blocked_out;
        if (!stage_present(o, (StageId)i) || all <= 0)
            continue;
        int at_fault = i == v->stage && verdict_has_fault(v);
        section_row(s, at_fault ? STATUS_BAD : STATUS_INFO, stage_name((StageId)i),
                    at_fault ? "the bottleneck" : "",
                    "%.2f ms a batch; busy %.0f %%, blocked on input %.0f %%, on output %.0f %%",
                    1e3 * observation_mean(o, stage_trace((StageId)i)), 100 * k->busy / all,
                    100 * k->blocked_in / all, 100 * k->blocked_out / all);
    }
}

/* The measured run against the table of thresholds. */
static json_t *run(const ReportInput *in)
{
    json_t *s = section_begin("run", "Pipeline and training run");
    const Observation *o = in->o;
    const Verdict *v = in->v;
    section_row(s, STATUS_INFO, "observed", "after the warm-up", "%lld batches of %d",
                (long long)(o->n - o->from), o->batch_size);
    section_row(s, STATUS_INFO, "throughput", "", "%.1f utterances/s, %.2f ms a batch", o->utterances_per_s,
                1e3 * o->period);
    section_row(s, threshold_judge(LIMIT_GPU_BUSY, o->busy_share), "model device busy", "", "%.1f %%",
                100 * o->busy_share);
    section_row(s, threshold_judge(LIMIT_WAIT, o->wait_share), "trainer waits on data", "",
                "%.1f %% of step time", 100 * o->wait_share);
    double correlation;
    swing_rows(s, "step time variation", v);
    float *steps = malloc((size_t)(o->n - o->from + 1) * sizeof *steps);
    if (steps) {
        for (int64_t k = o->from; k < o->n; k++)
            steps[k - o->from] = observation_step(o, k);
        int lag = cycle_best_lag(steps, o->n - o->from, LONGEST_LAG, &correlation);
        /* Lengths come in an order, too: only a stall is one that is bad. */
        Status cycle = threshold_judge(LIMIT_CYCLE, correlation);
        section_row(s, cycle == STATUS_BAD && !swing_is_fault(&v->swing) ? STATUS_INFO : cycle,
                    "cycle of step times, lags 2-20", "", "highest autocorrelation %.2f at lag %d",
                    correlation, lag);
        free(steps);
    }
    if (o->has_gpu) {
        double points = swing(o);
        section_row(s, threshold_judge(LIMIT_GPU_SWING, points), "GPU utilisation swings", "", "%.0f points",
                    100 * points);
    }
    /* Else they are hidden behind the step, or named by the verdict. */
    if (o->synchronous && o->period > 0) {
        double load = (observation_mean(o, TRACE_READ) + observation_mean(o, TRACE_DECODE)) / o->period;
        double transfer = (observation_mean(o, TRACE_H2D) + observation_mean(o, TRACE_PEER)) / o->period;
        section_row(s, threshold_judge(LIMIT_LOAD, load), "loading, not hidden", "", "%.1f %% of step time",
                    100 * load);
        section_row(s, threshold_judge(LIMIT_TRANSFER, transfer), "transfer, not hidden", "",
                    "%.1f %% of step time", 100 * transfer);
    }
    add_stage_rows(s, o, v);
    section_row(s, threshold_judge(LIMIT_FORECAST, fabs(v->check)), "self-check of the forecast",
                v->trusted ? "" : "not to be trusted", "%+.1f %%", 100 * v->check);
    char value[64];
    snprintf(value, sizeof value, "waits %.1f %% of step time", 100 * o->wait_share);
    if (verdict_has_fault(v))
        section_finding(s, "error", v->sentence, "the model device is not used as it could be", value,
                        v->walls[0].remedy);
    return s;
}

/* The order of the report. */
json_t *sections_make(const ReportInput *in)
{
    json_t *all = json_array();
    json_array_append_new(all, hardware(in));
    json_array_append_new(all, configuration(in));
    json_array_append_new(all, code_path(in));
    json_array_append_new(all, loader(in));
    json_array_append_new(all, graph(in));
    json_array_append_new(all, memory(in));
    json_array_append_new(all, storage(in));
    json_array_append_new(all, run(in));
    return all;
}
