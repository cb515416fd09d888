/* preflight.c - the list of findings, and the checks that need only the configuration and the number of
 * cores. */
#include "diag/preflight/preflight.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "config/measured.h"
#include "diag/preflight/preflight_private.h"

const char *severity_name(Severity s)
{
    return s == FINDING_ERROR ? "error" : s == FINDING_WARNING ? "warning" : "note";
}

/* The areas in the order of the report. */
static const struct {
    const char *name;
    Word title;
} areas[AREA_COUNT] = {
    {"configuration", SAY_AREA_CONFIGURATION},
    {"loader", SAY_AREA_LOADER},
    {"shapes", SAY_AREA_SHAPES},
    {"graph", SAY_AREA_GRAPH},
    {"devices", SAY_AREA_DEVICES},
    {"memory", SAY_AREA_MEMORY},
    {"data", SAY_AREA_DATA},
    {"storage", SAY_AREA_STORAGE},
    {"limits", SAY_AREA_LIMITS},
};
const char *area_name(Area a) { return areas[a].name; }
const char *area_title(Area a) { return word(areas[a].title); }

/* ---- the list ---- */

void preflight_free(Preflight *p)
{
    free(p->findings);
    free(p->rows);
    block_free(&p->strings);
    *p = (Preflight){0};
}

/* How many findings of a severity. */
int preflight_tally(const Preflight *p, Severity s)
{
    int n = 0;
    for (size_t i = 0; i < p->count; i++)
        n += p->findings[i].severity == s;
    return n;
}

const char *preflight_keep(Preflight *p, const char *text)
{
    const char *copy = block_strndup(&p->strings, text, strlen(text));
    p->failed |= !copy;
    return copy ? copy : "";
}

const char *preflight_format(Preflight *p, const char *fmt, ...)
{
    char text[PREFLIGHT_SENTENCE];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return preflight_keep(p, text);
}

const char *preflight_bytes(Preflight *p, uint64_t bytes)
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB"};
    double x = (double)bytes;
    int u = 0;
    for (; x >= 1024 && u < 4; u++) /* as the caps of devices count them */
        x /= 1024;
    return preflight_format(p, u ? "%.1f %s" : "%.0f %s", x, units[u]);
}

/* No member is NULL afterwards, so that reports need not ask. */
static void append(Preflight *p, Finding f)
{
    if (mem_grow(&p->findings, &p->cap, p->count + 1, sizeof *p->findings)) {
        p->failed = 1;
        return;
    }
    const char **strings[] = {&f.key, &f.place, &f.what, &f.why, &f.value, &f.fix};
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
        if (!*strings[i])
            *strings[i] = "";
    p->findings[p->count++] = f;
}

/* The row of the option table, for value and origin. */
static int find_row(const Config *cfg, const char *key, ConfigRow *row)
{
    for (int i = 0; i < config_row_count(); i++)
        if (config_row(cfg, i, row) == 0 && strcmp(row->key, key) == 0)
            return 1;
    return 0;
}

/* 1: the line of the file that the value comes from says that it was measured. */
static int is_measured(const Survey *s, const ConfigRow *row)
{
    const char *line = strrchr(row->origin, ':');
    return s->o->text && line && measured_at(s->o->text, atoi(line + 1));
}

void preflight_finding(Survey *s, Finding f)
{
    Preflight *p = s->p;
    ConfigRow row;
    /* Value and place come from the configuration; the fix is the setting, unless a better one was given. */
    if (f.key && find_row(s->cfg, f.key, &row)) {
        f.place = preflight_keep(p, row.origin);
        if (!f.value)
            f.value = preflight_keep(p, row.value);
        if (f.set_value && !f.fix)
            f.fix = preflight_format(p, "%s: %s", f.key, f.set_value);
        /* What a measurement showed counts more than what is a guess here. */
        if (f.set_value && f.severity == FINDING_WARNING && is_measured(s, &row)) {
            f.severity = FINDING_NOTE;
            f.fix = word(SAY_CHECK_MEASURED);
            f.set_value = NULL;
        }
        /* A file cannot mend what the command line says. */
        if (f.set_value && strcmp(row.origin, "command line") == 0) {
            char option[64];
            snprintf(option, sizeof option, "%s", f.key);
            for (char *c = option; *c; c++)
                *c = *c == '_' ? '-' : *c;
            f.fix = preflight_say(p, SAY_CHECK_COMMAND_LINE, option, f.set_value);
            f.set_value = NULL;
        }
    }
    append(p, f);
}

/* Something that was looked at, good or bad. */
void preflight_row(Survey *s, Area area, const char *name, const char *value, Status status, const char *note)
{
    Preflight *p = s->p;
    if (mem_grow(&p->rows, &p->row_cap, p->row_count + 1, sizeof *p->rows))
        p->failed = 1;
    else
        p->rows[p->row_count++] = (PreflightRow){area, name, value, note ? note : "", status};
}

/* ---- the file ---- */

/* What the YAML file itself has wrong. */
int preflight_schema(Preflight *p, const SchemaReport *r, const char *name, Err *err)
{
    for (size_t i = 0; i < r->count; i++) {
        const SchemaProblem *q = &r->items[i];
        append(p, (Finding){.severity = FINDING_ERROR,
                            .area = AREA_CONFIGURATION,
                            .key = preflight_keep(p, q->key),
                            .place = q->line ? preflight_format(p, "%s:%d", name, q->line)
                                             : preflight_keep(p, name),
                            .what = preflight_keep(p, q->what),
                            .why = word(SAY_CHECK_UNREADABLE),
                            .fix = preflight_keep(p, q->fixed ? q->fix : q->hint)});
    }
    return p->failed ? err_set(err, ERR_NOMEM, "out of memory for the findings") : 0;
}

/* ---- loading ---- */

/* Switches that make training faster, and are off. Without a GPU most of them have nothing to do. */
static void check_switches(Survey *s)
{
    const Config *c = s->cfg;
    const struct {
        const char *key;
        Word what, why;
        int on, matters;
    } switches[] = {
        {"native_loading", SAY_CHECK_NATIVE, SAY_CHECK_NATIVE_WHY, c->native_loading, 1},
        {"prefetch_to_gpu", SAY_CHECK_PREFETCH, SAY_CHECK_PREFETCH_WHY, c->prefetch_to_gpu, s->apart},
        {"enhanced_gpu_prefetch", SAY_CHECK_STREAM, SAY_CHECK_STREAM_WHY, c->enhanced_gpu_prefetch, s->apart},
        {"optimize_cpu_gpu_overlap", SAY_CHECK_OVERLAP, SAY_CHECK_OVERLAP_WHY, c->optimize_cpu_gpu_overlap,
         s->apart},
        {"pin_memory", SAY_CHECK_PIN, SAY_CHECK_PIN_WHY, c->pin_memory, s->apart},
    };
    for (size_t i = 0; i < sizeof switches / sizeof *switches; i++) {
        if (switches[i].on)
            continue;
        if (switches[i].matters)
            preflight_finding(s, (Finding){.severity = FINDING_WARNING,
                                           .area = AREA_LOADER,
                                           .key = switches[i].key,
                                           .what = word(switches[i].what),
                                           .why = word(switches[i].why),
                                           .set_value = "true"});
        else
            preflight_finding(
                s, (Finding){.severity = FINDING_NOTE,
                             .area = AREA_LOADER,
                             .key = switches[i].key,
                             .what = preflight_say(s->p, SAY_CHECK_OFF_HERE, switches[i].key,
                                                   s->o->model ? s->o->model->name : s->cfg->model_gpu),
                             .why = word(SAY_CHECK_OFF_HERE_WHY),
                             .fix = word(SAY_CHECK_LEAVE_OUT)});
    }
}

/* Too few, too many, or none. */
static void check_workers(Survey *s)
{
    const Config *c = s->cfg;
    preflight_row(s, AREA_LOADER, word(SAY_CHECK_CORES), preflight_format(s->p, "%d", s->cores), STATUS_INFO,
                  word(SAY_CHECK_CORES_NOTE));
    preflight_row(s, AREA_LOADER, word(SAY_CHECK_WORKERS), preflight_format(s->p, "%d", s->workers),
                  STATUS_INFO, c->num_workers == CONFIG_AUTO ? "auto" : "");
    Finding f = {.severity = FINDING_WARNING, .area = AREA_LOADER, .key = "num_workers", .set_value = "auto"};
    if (c->num_workers == 0 && c->native_loading) {
        f.what = word(SAY_CHECK_NO_WORKERS);
        f.why = word(SAY_CHECK_NO_WORKERS_WHY);
        preflight_finding(s, f);
    } else if (c->num_workers > config_most_workers(s->cores, s->o->sim != NULL)) {
        f.what = preflight_say_count(s->p, SAY_CHECK_MANY_WORKERS, s->cores, c->num_workers, s->cores);
        f.why = word(SAY_CHECK_MANY_WORKERS_WHY);
        preflight_finding(s, f);
    } else if (c->num_workers != CONFIG_AUTO && c->num_workers > 0 &&
               (c->preprocessing_mode == PREPROCESS_ON_THE_FLY ||
                (c->preprocessing_mode == PREPROCESS_AUTO && augmentation_of_recordings(c))) &&
               c->network != NETWORK_VOCODER && c->num_workers * 2 < s->cores) {
        f.what = preflight_say_count(s->p, SAY_CHECK_FEW_WORKERS, c->num_workers, c->num_workers, s->cores);
        f.why = word(SAY_CHECK_FEW_WORKERS_WHY);
        preflight_finding(s, f);
    }
    if (c->prefetch_buffer_size == 1)
        preflight_finding(s, (Finding){.severity = FINDING_WARNING,
                                       .area = AREA_LOADER,
                                       .key = "prefetch_buffer_size",
                                       .what = word(SAY_CHECK_ONE_SLOT),
                                       .why = word(SAY_CHECK_ONE_SLOT_WHY),
                                       .set_value = "auto"});
    /* Damage would be trained on in silence. */
    if (c->cache_verification == VERIFY_OFF)
        preflight_finding(s, (Finding){.severity = FINDING_WARNING,
                                       .area = AREA_LOADER,
                                       .key = "cache_verification",
                                       .what = word(SAY_CHECK_UNVERIFIED),
                                       .why = word(SAY_CHECK_UNVERIFIED_WHY),
                                       .set_value = "fast"});
    if (!c->enable_memory_mapping)
        preflight_finding(s, (Finding){.severity = FINDING_NOTE,
                                       .area = AREA_LOADER,
                                       .key = "enable_memory_mapping",
                                       .what = word(SAY_CHECK_UNMAPPED),
                                       .why = word(SAY_CHECK_UNMAPPED_WHY)});
}

/* ---- graph, kernels ---- */

/* A switch of GPUs that is off where there is none: the file may go to another machine. */
static void note_off(Survey *s, const char *key, int on)
{
    if (!on)
        preflight_finding(s, (Finding){.severity = FINDING_NOTE,
                                       .area = AREA_GRAPH,
                                       .key = key,
                                       .what = preflight_say(s->p, SAY_CHECK_OFF_NO_GPU, key),
                                       .why = word(SAY_CHECK_OFF_NO_GPU_WHY),
                                       .fix = word(SAY_CHECK_LEAVE_OUT)});
}

/* What makes the step itself slower than it need be. */
static void check_graph(Survey *s)
{
    const Config *c = s->cfg;
    if (c->enable_eager_debug)
        preflight_finding(s, (Finding){.severity = FINDING_WARNING,
                                       .area = AREA_GRAPH,
                                       .key = "enable_eager_debug",
                                       .what = word(SAY_CHECK_EAGER),
                                       .why = word(SAY_CHECK_EAGER_WHY),
                                       .set_value = "false"});
    /* Without a GPU there is nothing to capture and nothing to judge. */
    if (!s->on_gpu) {
        note_off(s, "enable_graph_mode", c->enable_graph_mode);
        note_off(s, "enable_xla", c->enable_xla);
        note_off(s, "mixed_precision", c->mixed_precision);
        preflight_row(s, AREA_GRAPH, word(SAY_CHECK_GRAPH), c->enable_graph_mode ? "true" : "false",
                      STATUS_UNKNOWN, word(SAY_CHECK_GRAPH_NOTE));
        return;
    }
    preflight_row(s, AREA_GRAPH, word(SAY_CHECK_GRAPH), c->enable_graph_mode ? "true" : "false",
                  c->enable_graph_mode ? STATUS_GOOD : STATUS_BAD, "");
    if (!c->enable_graph_mode)
        preflight_finding(s, (Finding){.severity = FINDING_WARNING,
                                       .area = AREA_GRAPH,
                                       .key = "enable_graph_mode",
                                       .what = word(SAY_CHECK_NO_GRAPH),
                                       .why = word(SAY_CHECK_NO_GRAPH_WHY),
                                       .set_value = "true"});
    if (!c->enable_xla)
        preflight_finding(s, (Finding){.severity = FINDING_WARNING,
                                       .area = AREA_GRAPH,
                                       .key = "enable_xla",
                                       .what = word(SAY_CHECK_NO_FUSION),
                                       .why = word(SAY_CHECK_NO_FUSION_WHY),
                                       .set_value = "true"});
}

/* A run that is over before its learning rate has risen. */
static void check_schedule(Survey *s)
{
    const Config *c = s->cfg;
    if (c->max_steps <= 0 || c->max_steps >= c->warmup_steps)
        return;
    preflight_finding(
        s,
        (Finding){.severity = FINDING_WARNING,
                  .area = AREA_CONFIGURATION,
                  .key = "warmup_steps",
                  .what = preflight_say(s->p, SAY_CHECK_SHORT_RUN, (long long)c->max_steps, c->warmup_steps),
                  .why = word(SAY_CHECK_SHORT_RUN_WHY),
                  .set_value = preflight_format(s->p, "%lld", (long long)(c->max_steps / 10))});
}

/* Each check adds what it finds; none stops the others. */
int preflight_run(Preflight *p, const PreflightOptions *o, Err *err)
{
    Survey s = {.o = o, .cfg = o->cfg, .p = p, .cores = thread_cores()};
    s.workers = config_workers(o->cfg);
    s.on_gpu = o->model && o->model->traits.graphs;
    s.apart = (o->model && !o->model->traits.host_memory) || (o->data && !o->data->traits.host_memory);
    check_switches(&s);
    check_workers(&s);
    check_graph(&s);
    check_schedule(&s);
    preflight_devices(&s);
    preflight_data(&s);
    preflight_memory(&s);
    preflight_storage(&s);
    preflight_limits(&s);
    if (s.has_corpus) {
        corpus_close(&s.train);
        corpus_close(&s.validation);
        corpus_source_close(s.source);
    }
    return p->failed ? err_set(err, ERR_NOMEM, "out of memory for the findings") : 0;
}
