/* sections.c - the eight sections of a report. */
#include "diag/report/sections.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/words/words.h"
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
        f = json_pack("{s:s, s:s, s:s, s:s, s:s}", "severity", severity, "what", word(SAY_UNSHOWABLE), "why",
                      "", "value", "", "fix", "");
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
static const char *on_off(int on) { return word(on ? SAY_ON : SAY_OFF); }

/* --- 1 --- */

/* Name, model, memory. */
static void device_row(json_t *s, const char *name, Device *d)
{
    DeviceMemory m;
    char total[32];
    d->ops->memory_info(d, &m);
    section_row(s, STATUS_INFO, name, d->traits.simulated ? word(SAY_SIMULATED_TIMES) : "", "%s: %s, %s",
                d->name, d->model, bytes_text(total, (double)m.total));
}

/* The machine as this process sees it. */
static json_t *hardware(const ReportInput *in)
{
    json_t *s = section_begin("hardware", word(SAY_TITLE_HARDWARE));
    struct utsname u;
    const Observation *o = in->o;
    if (uname(&u) == 0)
        section_row(s, STATUS_INFO, word(SAY_SYSTEM), "", "%s %s, %s", u.sysname, u.release, u.machine);
    double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    char total[32];
    char cores[160];
    say_count(cores, sizeof cores, SAY_CORES_AND_MEMORY, o->cores, o->cores, bytes_text(total, memory));
    section_row(s, STATUS_INFO, word(SAY_HOST), "", "%s", cores);
    device_row(s, word(SAY_MODEL_DEVICE), in->model);
    if (in->data != in->model)
        device_row(s, word(SAY_DATA_DEVICE), in->data);
    if (o->has_gpu) {
        const MonitorSummary *g = &o->gpu[0];
        SECTION_ROW(s, STATUS_INFO, word(SAY_GPU_IN_RUN), "", SAY_GPU_NUMBERS,
                    g->values[MONITOR_UTILISATION].mean, bytes_text(total, g->values[MONITOR_MEMORY].mean),
                    g->values[MONITOR_POWER].mean, g->values[MONITOR_CLOCK].mean,
                    g->values[MONITOR_TEMPERATURE].mean);
    } else
        section_row(s, STATUS_UNKNOWN, word(SAY_GPU_IN_RUN),
                    in->model->traits.nvml ? word(SAY_NO_NVML) : word(SAY_NO_GPU), "%s",
                    word(SAY_NOT_MEASURED));
    add_preflight(s, in->preflight, AREA_DEVICES);
    add_preflight(s, in->preflight, AREA_LIMITS);
    return s;
}

/* --- 2 --- */

/* Only what somebody has set. */
static json_t *configuration(const ReportInput *in)
{
    json_t *s = section_begin("configuration", word(SAY_TITLE_CONFIGURATION));
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
    json_t *s = section_begin("code_path", word(SAY_TITLE_CODE_PATH));
    const Observation *o = in->o;
    const Config *cfg = in->cfg;
    section_row(s, o->synchronous ? STATUS_BAD : STATUS_GOOD, word(SAY_LOADING), "", "%s",
                o->synchronous           ? word(SAY_LOADING_ITSELF)
                : o->report.workers == 0 ? word(SAY_LOADING_FEEDER)
                                         : word(SAY_LOADING_WORKERS));
    if (o->synchronous)
        section_finding(s, "warning", word(SAY_FOUND_ITSELF), word(SAY_FOUND_ITSELF_WHY),
                        "native_loading: false", word(SAY_FOUND_ITSELF_FIX));
    section_row(s, STATUS_INFO, word(SAY_MEL_SOURCE),
                cfg->preprocessing_mode == PREPROCESS_AUTO ? word(SAY_CHOSEN_AUTO) : "", "%s",
                o->on_the_fly ? word(SAY_MEL_FROM_FILES) : word(SAY_MEL_FROM_CACHE));
    section_row(s, STATUS_INFO, word(SAY_CACHE_READ), "", "%s",
                cfg->enable_memory_mapping ? word(SAY_BY_MAPPING) : word(SAY_BY_PREAD));
    section_row(s, STATUS_INFO, word(SAY_PREPROCESSING), "", "%s%s",
                o->host_data ? word(SAY_BY_WORKERS) : word(SAY_BY_DEVICE),
                o->host_data ? "" : in->data->name);
    if (!o->host_data)
        SECTION_ROW(s, o->own_copy ? STATUS_GOOD : STATUS_ACCEPTABLE, word(SAY_COPY_DATA), "",
                    SAY_COPY_MEMORY, cfg->pin_memory ? word(SAY_PINNED) : word(SAY_PAGEABLE),
                    o->own_copy ? word(SAY_OWN_STREAM) : word(SAY_SHARED_STREAM));
    if (o->two_devices) {
        PeerPath p = in->data->ops->peer_path(in->data, in->model);
        section_row(s, p == PEER_STAGED && !o->host_data ? STATUS_ACCEPTABLE : STATUS_GOOD,
                    word(SAY_COPY_MODEL), "", "%s",
                    o->host_data       ? word(SAY_FROM_PINNED)
                    : p == PEER_DIRECT ? word(SAY_DIRECTLY)
                    : p == PEER_SAME   ? word(SAY_SAME_DEVICE)
                                       : word(SAY_THROUGH_HOST));
    }
    section_row(s, o->prefetch && o->overlap ? STATUS_GOOD : STATUS_BAD, word(SAY_OVERLAP), "", "%s",
                !o->prefetch  ? word(SAY_OVERLAP_NO_PREFETCH)
                : !o->overlap ? word(SAY_OVERLAP_NONE)
                              : word(SAY_OVERLAP_ALL));
    section_row(s, STATUS_INFO, word(SAY_TRAINING_STEP), "", "%s",
                o->simulated ? word(SAY_STEP_SIMULATED) : word(SAY_STEP_REAL));
    section_row(s, STATUS_INFO, word(SAY_ARITHMETIC), "", "%s",
                o->simulated                                     ? word(SAY_NONE_SIMULATED)
                : in->model->traits.bf16 && cfg->mixed_precision ? word(SAY_BF16)
                                                                 : word(SAY_FP32));
    return s;
}

/* --- 4 --- */

/* How batches are made, and whether any clip was lost. */
static json_t *loader(const ReportInput *in)
{
    json_t *s = section_begin("loader", word(SAY_TITLE_LOADER));
    const Observation *o = in->o;
    const PipelineReport *r = &o->report;
    char value[160];
    say_count(value, sizeof value, SAY_WORKERS_AND_CORES, o->cores, r->workers, o->cores);
    section_row(s, STATUS_INFO, word(SAY_WORKERS), "", "%s", value);
    if (r->most_slots > r->slots_at_start)
        SECTION_ROW(s, STATUS_INFO, word(SAY_SLOTS), word(SAY_SLOTS_GROW), SAY_SLOTS_GROWN, r->slots,
                    r->most_slots, r->slots_at_start, r->buffers, o->most_buffers);
    else
        SECTION_ROW(s, STATUS_INFO, word(SAY_SLOTS), word(SAY_BUFFERS_GROW), SAY_SLOTS_NOW, r->slots,
                    r->buffers, o->most_buffers);
    SECTION_ROW(s, STATUS_INFO, word(SAY_READ),
                o->serial_disk ? word(SAY_ONE_AT_A_TIME) : word(SAY_SIDE_BY_SIDE), SAY_MS_A_BATCH,
                1e3 * observation_mean(o, o->serial_disk ? TRACE_DISK : TRACE_READ));
    SECTION_ROW(s, STATUS_INFO, word(SAY_DECODE), word(SAY_ONE_WORKER), SAY_MS_A_BATCH,
                1e3 * observation_mean(o, TRACE_DECODE));
    double read_bytes = r->stages[STAGE_READ].items
                            ? (double)r->stages[STAGE_READ].bytes / (double)r->stages[STAGE_READ].items
                            : 0;
    char text[32];
    section_row(s, STATUS_INFO, word(SAY_BATCH_BYTES), "", "%s", bytes_text(text, read_bytes));
    SECTION_ROW(s, threshold_judge(LIMIT_PADDING, o->padding), word(SAY_PADDING), "", SAY_OF_FRAMES,
                100 * o->padding);
    SECTION_ROW(s, r->lost ? STATUS_BAD : STATUS_GOOD, word(SAY_LOST_CLIPS), "", SAY_NUMBER,
                (long long)r->lost);
    if (r->lost)
        section_finding(s, "warning", word(SAY_FOUND_LOST), word(SAY_FOUND_LOST_WHY), word(SAY_SEE_LOG),
                        word(SAY_FOUND_LOST_FIX));
    if (o->cpu_share >= 0) {
        say_count(value, sizeof value, SAY_OF_CORES, o->cores, 100 * o->cpu_share, o->cores);
        section_row(s, o->cpu_share > BUSY_HOST ? STATUS_ACCEPTABLE : STATUS_GOOD, word(SAY_HOST_CPU), "",
                    "%s", value);
    }
    add_preflight(s, in->preflight, AREA_LOADER);
    return s;
}

/* --- 5 --- */

/* Whether the step is captured, and what its phases take. */
static json_t *graph(const ReportInput *in)
{
    json_t *s = section_begin("graph", word(SAY_TITLE_GRAPH));
    const Observation *o = in->o;
    static const Word names[OBSERVED_PHASES] = {SAY_FORWARD, SAY_LOSS, SAY_BACKWARD, SAY_OPTIMISER};
    if (in->model->traits.graphs)
        section_row(s, o->graphs ? STATUS_GOOD : STATUS_ACCEPTABLE, word(SAY_CUDA_GRAPHS), "", "%s",
                    o->graphs ? word(SAY_CAPTURED) : word(SAY_NOT_CAPTURED));
    else
        section_row(s, STATUS_UNKNOWN, word(SAY_CUDA_GRAPHS), word(SAY_NO_GPU), "%s", word(SAY_NOT_MEASURED));
    section_row(s, STATUS_INFO, word(SAY_FUSED), "", "%s", on_off(in->cfg->enable_xla));
    double all = 0;
    for (int p = 0; p < OBSERVED_PHASES; p++)
        all += o->phase[p];
    for (int p = 0; o->has_phases && p < OBSERVED_PHASES; p++)
        SECTION_ROW(s, STATUS_INFO, word(names[p]), "", SAY_OF_THE_STEP, 1e3 * o->phase[p],
                    all > 0 ? 100 * o->phase[p] / all : 0);
    if (!o->has_phases)
        section_row(s, STATUS_UNKNOWN, word(SAY_PHASES), word(SAY_NO_PHASES), "%s", word(SAY_NOT_MEASURED));
    add_preflight(s, in->preflight, AREA_GRAPH);
    return s;
}

/* --- 6 --- */

/* What is in use, and the caps. */
static json_t *memory(const ReportInput *in)
{
    json_t *s = section_begin("memory", word(SAY_TITLE_MEMORY));
    const Observation *o = in->o;
    char a[32], b[32], c[32];
    SECTION_ROW(s, STATUS_INFO, word(SAY_BATCHES), "", SAY_BATCH_MEMORY,
                bytes_text(a, (double)o->report.data_bytes), bytes_text(b, (double)o->report.model_bytes),
                bytes_text(c, (double)o->report.pinned_bytes));
    if (o->engine_bytes)
        SECTION_ROW(s, STATUS_INFO, word(SAY_NETWORK), "", SAY_NETWORK_MEMORY,
                    bytes_text(a, (double)o->engine_bytes), (double)o->parameters * 1e-6);
    else
        section_row(s, STATUS_UNKNOWN, word(SAY_NETWORK), word(SAY_NO_NETWORK), "%s", word(SAY_NOT_MEASURED));
    const Device *both[] = {in->model, in->data};
    for (int i = 0; i < 2; i++)
        if (both[i]->cap && (i == 0 || both[0] != both[1]))
            section_row(s, STATUS_INFO, i ? word(SAY_CAP_DATA) : word(SAY_CAP_MODEL), "", "%s",
                        bytes_text(a, (double)both[i]->cap));
    add_preflight(s, in->preflight, AREA_MEMORY);
    return s;
}

/* --- 7 --- */

/* The disk by itself: the page cache may hide a slow one until the dataset outgrows it. */
static json_t *storage(const ReportInput *in)
{
    json_t *s = section_begin("storage", word(SAY_TITLE_STORAGE));
    const StorageTest *t = in->storage;
    const char *note = in->o->simulated ? word(SAY_REAL_DISK) : "";
    if (t->count == 0)
        section_row(s, STATUS_UNKNOWN, word(SAY_READS), t->why_not, "%s", word(SAY_NOT_MEASURED));
    else {
        Status status = threshold_judge(LIMIT_STORAGE, t->mean);
        char rate[32], value[64];
        SECTION_ROW(s, status, word(SAY_READS), note, SAY_READ_TIMES, 1e3 * t->mean, 1e3 * t->median,
                    1e3 * t->worst, t->count);
        SECTION_ROW(s, STATUS_INFO, word(SAY_READ_RATE), note, SAY_PER_SECOND,
                    bytes_text(rate, t->bytes_per_s));
        SECTION_ROW(s, STATUS_INFO, word(SAY_READ_HOW), "", SAY_READ_OF,
                    t->direct ? word(SAY_O_DIRECT) : word(SAY_DROPPED), t->files,
                    t->is_cache ? word(SAY_SEGMENTS) : word(SAY_AUDIO_FILES));
        say(value, sizeof value, SAY_MS_FOR_MIB, 1e3 * t->mean);
        if (status == STATUS_BAD)
            section_finding(s, "warning", word(SAY_FOUND_DISK), word(SAY_FOUND_DISK_WHY), value,
                            word(SAY_FOUND_DISK_FIX));
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
        SECTION_ROW(s, at_fault ? STATUS_BAD : STATUS_INFO, stage_name((StageId)i),
                    at_fault ? word(SAY_THE_BOTTLENECK) : "", SAY_STAGE_TIMES,
                    1e3 * observation_mean(o, stage_trace((StageId)i)), 100 * k->busy / all,
                    100 * k->blocked_in / all, 100 * k->blocked_out / all);
    }
}

/* The measured run against the table of thresholds. */
static json_t *run(const ReportInput *in)
{
    json_t *s = section_begin("run", word(SAY_TITLE_PIPELINE));
    const Observation *o = in->o;
    const Verdict *v = in->v;
    SECTION_ROW(s, STATUS_INFO, word(SAY_OBSERVED), word(SAY_AFTER_WARM_UP), SAY_BATCHES_OF,
                (long long)(o->n - o->from), o->batch_size);
    SECTION_ROW(s, STATUS_INFO, word(SAY_THROUGHPUT), "", SAY_UTTERANCES, o->utterances_per_s,
                1e3 * o->period);
    SECTION_ROW(s, threshold_judge(LIMIT_GPU_BUSY, o->busy_share), word(SAY_DEVICE_BUSY), "", SAY_PERCENT_1,
                100 * o->busy_share);
    SECTION_ROW(s, threshold_judge(LIMIT_WAIT, o->wait_share), word(SAY_WAITS_ON_DATA), "", SAY_OF_STEP_TIME,
                100 * o->wait_share);
    double correlation;
    swing_rows(s, word(SAY_STEP_VARIATION), v);
    float *steps = malloc((size_t)(o->n - o->from + 1) * sizeof *steps);
    if (steps) {
        for (int64_t k = o->from; k < o->n; k++)
            steps[k - o->from] = observation_step(o, k);
        int lag = cycle_best_lag(steps, o->n - o->from, LONGEST_LAG, &correlation);
        /* Lengths come in an order, too: only a stall is one that is bad. */
        Status cycle = threshold_judge(LIMIT_CYCLE, correlation);
        SECTION_ROW(s, cycle == STATUS_BAD && !swing_is_fault(&v->swing) ? STATUS_INFO : cycle,
                    word(SAY_STEP_CYCLE), "", SAY_HIGHEST_LAG, correlation, lag);
        free(steps);
    }
    if (o->has_gpu) {
        double points = swing(o);
        SECTION_ROW(s, threshold_judge(LIMIT_GPU_SWING, points), word(SAY_GPU_SWINGS), "", SAY_POINTS,
                    100 * points);
    }
    /* Else they are hidden behind the step, or named by the verdict. */
    if (o->synchronous && o->period > 0) {
        double load = (observation_mean(o, TRACE_READ) + observation_mean(o, TRACE_DECODE)) / o->period;
        double transfer = (observation_mean(o, TRACE_H2D) + observation_mean(o, TRACE_PEER)) / o->period;
        SECTION_ROW(s, threshold_judge(LIMIT_LOAD, load), word(SAY_LOADING_SHOWN), "", SAY_OF_STEP_TIME,
                    100 * load);
        SECTION_ROW(s, threshold_judge(LIMIT_TRANSFER, transfer), word(SAY_TRANSFER_SHOWN), "",
                    SAY_OF_STEP_TIME, 100 * transfer);
    }
    add_stage_rows(s, o, v);
    SECTION_ROW(s, threshold_judge(LIMIT_FORECAST, fabs(v->check)), word(SAY_SELF_CHECK),
                v->trusted ? "" : word(SAY_UNTRUSTED), SAY_PAGE_GAIN_1, 100 * v->check);
    char value[64];
    say(value, sizeof value, SAY_WAITS_OF_STEP, 100 * o->wait_share);
    if (verdict_has_fault(v))
        section_finding(s, "error", v->sentence, word(SAY_FOUND_IDLE_WHY), value, v->walls[0].remedy);
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
