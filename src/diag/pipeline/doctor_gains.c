/* doctor_gains.c - what each change would give, by the forecast. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diag/pipeline/doctor.h"
#include "diag/report/thresholds.h"
#include "pipeline/policy.h"

#define MOSTLY_WORK 0.7 /* of the cores busy: the workers compute and do not wait */
#define LEAST_BUSY 0.02 /* share of the cores; less is not measured well */
#define FULL 0.95       /* share of the cores that workers may fill */
/* Of the most that a setting can give: the smallest value that gives so much is named. */
#define NEARLY 0.98

/* Workers that wait may be many; workers that compute need a core each. */
int doctor_most_workers(const Observation *o)
{
    int now = o->report.workers > 0 ? o->report.workers : 1,
        most = config_most_workers(o->cores, o->simulated);
    if (!o->simulated || o->cpu_share > MOSTLY_WORK) { /* work, not waiting: it needs cores */
        double busy = o->cpu_share > LEAST_BUSY ? o->cpu_share : LEAST_BUSY;
        double room = now * FULL / busy;
        most = room > o->cores ? (int)fmin(room, config_most_workers(o->cores, 0)) : o->cores;
    }
    return most < now ? now : most;
}

/* The last place is used again when there are too many. */
static Gain *add_gain(Verdict *v)
{
    Gain *g = &v->gains[v->gain_count < MOST_GAINS ? v->gain_count++ : MOST_GAINS - 1];
    *g = (Gain){.what_if = -1, .measured = NAN, .predicted = 1};
    return g;
}

/* A change that a user can write into the file. */
static void add_setting(Verdict *v, const char *key, const char *value, double predicted)
{
    Gain *g = add_gain(v);
    snprintf(g->key, sizeof g->key, "%s", key);
    snprintf(g->value, sizeof g->value, "%s", value);
    snprintf(g->change, sizeof g->change, "%s: %s", key, value);
    g->predicted = predicted;
}

/* A number of the settings: how the forecast is told. */
typedef void (*SetNumber)(ForecastSettings *s, int value);
static void set_workers(ForecastSettings *s, int value) { s->workers = value; }
/* A number that a user sets is not added to. */
static void set_slots(ForecastSettings *s, int value) { s->slots = s->most_slots = value; }
static void set_buffers(ForecastSettings *s, int value) { s->most_buffers = value; }

static int gain_of(double *gain, const Verdict *v, const Observation *o, SetNumber set, int value, Err *err)
{
    ForecastSettings s;
    Forecast f;
    forecast_settings(&s, o);
    set(&s, value);
    int rc = forecast_gain(&f, o, &s, &v->present, err);
    *gain = f.gain;
    return rc;
}

/* The smallest value from `first` to `last` that gives nearly as much as the best of them; when none gives
 * anything: `first`. */
static int add_number(Verdict *v, const Observation *o, const char *key, SetNumber set, int first, int last,
                      Err *err)
{
    char text[24];
    /* The most that this setting can give, then the smallest value that gives nearly that. */
    double most, gain = 1;
    int value = first;
    if (first > last)
        return 0;
    int rc = gain_of(&most, v, o, set, last, err);
    for (; !rc; value = value < 2 * first ? value + 1 : value + value / 4 < last ? value + value / 4 : last) {
        rc = gain_of(&gain, v, o, set, value, err);
        if (value >= last || gain >= NEARLY * most)
            break;
    }
    if (rc)
        return rc;
    snprintf(text, sizeof text, "%d", value);
    add_setting(v, key, text, gain);
    return 0;
}

/* Switches of the asynchronous pipeline. */
static const char *const flags[] = {"prefetch_to_gpu", "optimize_cpu_gpu_overlap", "enhanced_gpu_prefetch"};
enum { FLAGS = 3 };

static int is_on(const Observation *o, int i)
{
    return i == 0 ? o->prefetch : i == 1 ? o->overlap : o->own_copy;
}

void doctor_set_flag(Observation *o, const char *key)
{
    o->prefetch |= strcmp(flags[0], key) == 0;
    o->overlap |= strcmp(flags[1], key) == 0;
    if (strcmp(flags[2], key) != 0)
        return;
    o->own_copy = 1;
    /* What the feeder took besides the copy was waiting for the work in front of it. */
    memcpy(o->trace[TRACE_FEED], o->trace[TRACE_H2D], (size_t)o->n * sizeof(float));
}

int doctor_best_flag(const char **key, double *gain, const Verdict *v, const Observation *o, Err *err)
{
    *key = NULL;
    *gain = 1;
    for (int i = 0; i < FLAGS && !o->synchronous; i++) {
        if (is_on(o, i) || (i == 2 && o->host_data))
            continue;
        ForecastSettings s;
        Forecast f;
        forecast_settings(&s, o);
        s.prefetch |= i == 0;
        s.overlap |= i == 1;
        s.own_copy |= i == 2;
        int rc = forecast_gain(&f, o, &s, &v->present, err);
        if (rc)
            return rc;
        if (f.gain > *gain) {
            *gain = f.gain;
            *key = flags[i];
        }
    }
    return 0;
}

/* Switches that are off. */
static int add_switches(Verdict *v, const Observation *o, Err *err)
{
    const struct {
        const char *key;
        int on;
    } switches[] = {{"native_loading", !o->synchronous},
                    {"prefetch_to_gpu", o->prefetch},
                    {"optimize_cpu_gpu_overlap", o->overlap},
                    {"enhanced_gpu_prefetch", o->own_copy}};
    int rc = 0;
    for (int i = 0; i < 4 && !rc; i++) {
        if (switches[i].on || (i > 0 && o->synchronous) || (i == 3 && o->host_data))
            continue;
        ForecastSettings s;
        Forecast f;
        forecast_settings(&s, o);
        /* native_loading off has neither workers nor slots: what would it have? */
        if (i == 0) {
            s.synchronous = 0;
            s.workers = o->num_workers;
            s.slots = policy_slots(CONFIG_AUTO, o->batch_size);
        }
        s.prefetch |= i == 1;
        s.overlap |= i == 2;
        s.own_copy |= i == 3;
        rc = forecast_gain(&f, o, &s, &v->present, err);
        add_setting(v, switches[i].key, "true", f.gain);
    }
    return rc;
}

/* Data and model on one device: no copy between them. On a GPU the work on the batch then takes its time from
 * the step. */
static int add_one_device(Verdict *v, const Observation *o, Err *err)
{
    if (!o->two_devices || o->host_data || o->synchronous)
        return 0;
    ForecastSettings s;
    Forecast f;
    forecast_settings(&s, o);
    s.two_devices = 0;
    double step = observation_mean(o, TRACE_STEP);
    for (int i = 0; i < STAGE_COUNT && !o->simulated && step > 0; i++)
        if (stage_info((StageId)i)->stream == STREAM_WORK)
            s.scale[STAGE_STEP] += observation_mean(o, stage_trace((StageId)i)) / step;
    int rc = forecast_gain(&f, o, &s, &v->present, err);
    if (!rc)
        add_setting(v, "data_gpu", o->model_name, f.gain);
    return rc;
}

/* No settings: machines that are faster somewhere. They show where money would help. */
static int add_what_ifs(Verdict *v, const Observation *o, Err *err)
{
    int rc = 0;
    for (int i = 0; i < STAGE_COUNT && !rc; i++) {
        if (!stage_present(o, (StageId)i) || i == STAGE_SUM || (i == STAGE_STEP && o->no_step))
            continue;
        ForecastSettings s;
        Forecast f;
        forecast_settings(&s, o);
        s.scale[i] = 0.5;
        rc = forecast_gain(&f, o, &s, &v->present, err);
        if (rc)
            break;
        Gain *g = add_gain(v);
        snprintf(g->change, sizeof g->change, "%s", stage_twice((StageId)i));
        g->what_if = i;
        g->predicted = f.gain;
    }
    return rc;
}

/* Every setting that could help, each by itself; the best one that is worth it is the advice. */
int doctor_gains(Verdict *v, const Observation *o, Err *err)
{
    int rc = add_switches(v, o, err), workers = o->report.workers;
    if (!rc && !o->synchronous) {
        int most = doctor_most_workers(o);
        rc = add_number(v, o, "num_workers", set_workers, workers + 1, most, err);
        int slots = o->report.slots * 2, buffers = o->most_buffers + 1;
        if (!rc)
            rc = add_number(v, o, "prefetch_buffer_size", set_slots, slots,
                            slots * 4 < POLICY_MOST_SLOTS ? slots * 4 : POLICY_MOST_SLOTS, err);
        if (!rc)
            rc = add_number(v, o, "pipeline_buffer_size", set_buffers, buffers,
                            buffers * 6 < POLICY_MOST_BUFFERS ? buffers * 6 : POLICY_MOST_BUFFERS, err);
    }
    if (!rc)
        rc = add_one_device(v, o, err);
    double least = 1 + threshold(LIMIT_GAIN)->good;
    for (int i = 0; i < v->gain_count; i++)
        if (v->gains[i].predicted >= least &&
            (v->best < 0 || v->gains[i].predicted > v->gains[v->best].predicted))
            v->best = i;
    return rc ? rc : add_what_ifs(v, o, err);
}

/* Writes the change into the configuration, for a run that measures it. */
int gain_apply(const Gain *g, Config *cfg)
{
    int number = atoi(g->value);
    const struct {
        const char *key;
        int *to;
        int value;
    } settings[] = {
        {"num_workers", &cfg->num_workers, number},
        {"prefetch_buffer_size", &cfg->prefetch_buffer_size, number},
        {"pipeline_buffer_size", &cfg->pipeline_buffer_size, number},
        {"native_loading", &cfg->native_loading, 1},
        {"prefetch_to_gpu", &cfg->prefetch_to_gpu, 1},
        {"optimize_cpu_gpu_overlap", &cfg->optimize_cpu_gpu_overlap, 1},
        {"enhanced_gpu_prefetch", &cfg->enhanced_gpu_prefetch, 1},
    };
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (strcmp(settings[i].key, g->key) == 0) {
            *settings[i].to = settings[i].value;
            return 1;
        }
    if (strcmp(g->key, "data_gpu") == 0) {
        cfg->data_gpu = g->value;
        return 1;
    }
    return 0;
}
