/* scaling_forecast.c - see scaling_forecast.h. */
#include "cmd/work/scaling_forecast.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/mem.h"
#include "cmd/line/output.h"
#include "device/devices.h"
#include "diag/ranks/observe_ranks.h"
#include "diag/ranks/rank_doctor.h"
#include "diag/ranks/rank_forecast.h"
#include "diag/report/thresholds.h"
#include "pipeline/data.h"

#define MOST_COUNTS 32
#define MOST_RANKS 1048576
#define RANKS_PER_HOST 8 /* when nobody says it */
#define LEAST_BATCHES 12

/* A simulated cluster of as many ranks. */
typedef struct Check {
    int done;
    double clips_per_s, seconds, hidden_not;
} Check;

typedef struct Work {
    Config cfg;
    Devices devices;
    CorpusSource *source;
    Corpus corpus;
    Observation o;
    Exchange x;
    RankNetwork net;
    int counts[MOST_COUNTS], count;
    RankForecast forecasts[MOST_COUNTS];
    Check checks[MOST_COUNTS];
} Work;

/* "1,2,4" -> numbers. */
static int read_counts(Work *w, const char *text, Err *err)
{
    for (const char *p = text; *p;) {
        char *end;
        long n = strtol(p, &end, 10);
        if (end == p || n < 1 || n > MOST_RANKS || w->count == MOST_COUNTS || (*end && *end != ','))
            return err_set(err, ERR_USAGE,
                           "--forecast is '%s', but must be numbers of ranks from 1 to %d, such as 1,2,4,8",
                           text, MOST_RANKS);
        w->counts[w->count++] = (int)n;
        p = *end ? end + 1 : end;
    }
    return w->count ? 0 : err_set(err, ERR_USAGE, "--forecast needs numbers of ranks, such as 1,2,4,8");
}

/* A number of an option; *out stays as it is where the option was not given. */
static int read_number(double *out, const char *option, const char *text, double least, double factor,
                       Err *err)
{
    char *end;
    if (!text)
        return 0;
    double x = strtod(text, &end);
    if (end == text || *end || !isfinite(x) || x < least)
        return err_set(err, ERR_USAGE, "--%s is '%s', but must be a number of at least %g", option, text,
                       least);
    *out = x * factor;
    return 0;
}

/* What --sim says of the links, and the options on top. */
static int read_network(Work *w, const ForecastWords *words, Err *err)
{
    const Sim *sim = &w->devices.sim;
    double per_host = sim->links.ranks > 1 ? sim->links.ranks / sim->links.hosts : RANKS_PER_HOST;
    w->net = (RankNetwork){.said = sim->said, .shared_disk = words->shared_disk || sim->shared_disk};
    Link *far = &w->net.said.far, *near = &w->net.said.near;
    int rc = read_number(&far->bytes_per_s, "link-gbps", words->link_gbps, 1e-3, 1e9, err);
    if (!rc)
        rc = read_number(&far->seconds, "link-us", words->link_us, 0, 1e-6, err);
    if (!rc)
        rc = read_number(&near->bytes_per_s, "nvlink-gbps", words->nvlink_gbps, 1e-3, 1e9, err);
    if (!rc)
        rc = read_number(&near->seconds, "nvlink-us", words->nvlink_us, 0, 1e-6, err);
    if (!rc)
        rc = read_number(&per_host, "ranks-per-host", words->per_host, 1, 1, err);
    w->net.per_host = (int)per_host;
    return rc;
}

static ObserveOptions options_for(Work *w, int64_t batches, Log *log)
{
    return (ObserveOptions){.cfg = &w->cfg,
                            .data = w->devices.data,
                            .model = w->devices.model,
                            .sim = w->devices.has_sim ? &w->devices.sim : NULL,
                            .corpus = &w->corpus,
                            .batches = batches,
                            .alone = 1,
                            .log = log};
}

/* Runs the ranks of a forecast as a simulated cluster. */
static int check_one(Check *c, Work *w, const RankForecast *f, int64_t batches, Log *log, Err *err)
{
    Sim cluster = w->devices.sim; /* its disk is not used: every host gets its own */
    ObserveOptions options = options_for(w, batches, log);
    Observation first;
    RankFacts *facts = NULL;
    RanksVerdict v = {0};
    cluster.links = f->links;
    cluster.shared_disk = w->net.shared_disk;
    options.sim = &cluster;
    options.alone = 0;
    int rc = observe_ranks(&first, &facts, &options, err);
    if (!rc)
        rc = ranks_judge(&v, facts, f->links.ranks, err);
    if (!rc)
        *c = (Check){1, v.clips_per_s, v.seconds, v.hidden_not};
    ranks_verdict_close(&v);
    free(facts);
    observation_close(&first);
    return rc;
}

/* One rank is measured as `profile step` does it; the rest is arithmetic. */
static int run(Work *w, const ForecastWords *words, Log *log, Err *err)
{
    double number = 0;
    int rc = read_counts(w, words->ranks, err);
    if (!rc)
        rc = read_number(&number, "num-steps", words->batches, LEAST_BATCHES, 1, err);
    if (!rc && !w->cfg.data_path[0])
        rc = err_set(err, ERR_USAGE,
                     "scaling --forecast needs --data-path DIR, the folder with recordings and their texts");
    if (!rc)
        rc = data_open(&w->source, &w->cfg, &(DataOptions){.quiet = 1}, log, err);
    if (!rc)
        rc = devices_open_ranks(&w->devices, &w->cfg, log, err);
    if (!rc)
        rc = read_network(w, words, err);
    if (!rc && words->check && !w->devices.model->traits.simulated)
        rc = err_set(err, ERR_USAGE, "--check simulates the ranks: it needs --sim and --model-gpu sim0");
    if (!rc)
        rc = corpus_open_split(&w->corpus, w->source, &w->cfg, SPLIT_TRAIN, log, err);
    if (!rc && !w->corpus.count)
        rc = data_none_to_train(&w->cfg, err);
    if (rc)
        return rc;
    ObserveOptions options = options_for(w, (int64_t)number, log);
    rc = observe(&w->o, &options, err);
    if (!rc)
        rc = exchange_describe(&w->x, &w->cfg, w->o.has_phases ? w->o.phase : NULL, err);
    for (int i = 0; i < w->count && !rc; i++) {
        rc = rank_forecast(&w->forecasts[i], &w->o, &w->x, &w->net, w->counts[i], err);
        if (!rc && words->check && w->counts[i] > 1 && w->counts[i] <= SIM_MAX_RANKS)
            rc = check_one(&w->checks[i], w, &w->forecasts[i], (int64_t)number, log, err);
    }
    return rc;
}

/* --- output --- */

static json_t *forecast_json(const RankForecast *f, const Check *c)
{
    json_t *o = json_pack("{s:i, s:i, s:s}", "ranks", f->links.ranks, "hosts", f->links.hosts, "bound",
                          rank_bound_name(f->bound));
    const struct {
        const char *key;
        double value;
    } numbers[] = {{"clips_per_s", f->clips_per_s}, {"efficiency", f->efficiency},
                   {"step_ms", 1e3 * f->seconds},   {"exposed_share", f->hidden_not},
                   {"link_cost", f->by_link},       {"jitter_cost", f->by_jitter},
                   {"disk_cost", f->by_disk}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        json_object_set_new(o, numbers[i].key, json_from_double(numbers[i].value));
    if (!c->done)
        return o;
    json_t *s = json_object();
    json_object_set_new(s, "clips_per_s", json_from_double(c->clips_per_s));
    json_object_set_new(s, "step_ms", json_from_double(1e3 * c->seconds));
    json_object_set_new(s, "exposed_share", json_from_double(c->hidden_not));
    json_object_set_new(s, "error", json_from_double(f->clips_per_s / c->clips_per_s - 1));
    json_object_set_new(o, "simulated", s);
    return o;
}

static int print_json(const Work *w, Err *err)
{
    json_t *o = json_object(), *measured = json_object(), *all = json_array();
    json_object_set_new(measured, "clips_per_s", json_from_double(w->o.utterances_per_s));
    json_object_set_new(measured, "step_ms", json_from_double(1e3 * w->o.period));
    json_object_set_new(measured, "wait_share", json_from_double(w->o.wait_share));
    json_object_set_new(measured, "forecast_check", json_from_double(w->forecasts[0].check));
    json_object_set_new(measured, "batch_size", json_integer(w->o.batch_size));
    json_object_set_new(measured, "gradient_bytes", json_from_double(w->x.bytes));
    json_object_set_new(measured, "buckets", json_integer(w->x.buckets));
    json_object_set_new(measured, "device", json_string(w->o.model_model));
    for (int i = 0; i < w->count; i++)
        json_array_append_new(all, forecast_json(&w->forecasts[i], &w->checks[i]));
    json_object_set_new(o, "measured", measured);
    json_object_set_new(o, "forecast", all);
    json_object_set_new(o, "assumptions", rank_forecast_assumptions(&w->o, &w->x, &w->net));
    return output_print(o, 7, err);
}

static void print_text(const Work *w, int check)
{
    printf("measured on %s (%s): %.2f ms per step of %d clips, %.1f clips/s, %.1f %% of the time waiting for "
           "data\n\n",
           w->o.model_name, w->o.model_model, 1e3 * w->o.period, w->o.batch_size, w->o.utterances_per_s,
           100 * w->o.wait_share);
    printf("%8s %6s %14s %11s %10s %20s  %-8s%s\n", "ranks", "hosts", "clips/s", "efficiency", "ms/step",
           "exchange not hidden", "bound by", check ? "  simulated" : "");
    for (int i = 0; i < w->count; i++) {
        const RankForecast *f = &w->forecasts[i];
        const Check *c = &w->checks[i];
        printf("%8d %6d %14.1f %9.1f %% %10.2f %18.1f %%  %-8s", f->links.ranks, f->links.hosts,
               f->clips_per_s, 100 * f->efficiency, 1e3 * f->seconds, 100 * f->hidden_not,
               rank_bound_name(f->bound));
        if (c->done)
            printf("  %.1f clips/s, forecast %+.1f %%", c->clips_per_s,
                   100 * (f->clips_per_s / c->clips_per_s - 1));
        printf("\n");
    }
    if (fabs(w->forecasts[0].check) > threshold(LIMIT_FORECAST)->good)
        printf(
            "\nThe pipeline model is %+.1f %% off the measured step; the forecast may be off by as much.\n",
            100 * w->forecasts[0].check);
    printf("\nassumed:\n");
    json_t *lines = rank_forecast_assumptions(&w->o, &w->x, &w->net), *line;
    size_t i;
    json_array_foreach(lines, i, line) printf("  - %s\n", json_string_value(line));
    json_decref(lines);
}

int scaling_forecast(const CmdLine *line, const ForecastWords *words, Log *log, Err *err)
{
    Work *w = mem_calloc(1, sizeof *w);
    if (!w)
        return err_set(err, ERR_NOMEM, "no memory for a forecast");
    w->cfg = line->cfg;
    int rc = run(w, words, log, err);
    if (!rc && line->json)
        rc = print_json(w, err);
    else if (!rc)
        print_text(w, words->check);
    if (rc == ERR_WORKER) /* a reader is stuck and may come back: what it looks at stays until the end */
        return rc;
    observation_close(&w->o);
    corpus_close(&w->corpus);
    corpus_source_close(w->source);
    devices_close(&w->devices);
    free(w);
    return rc;
}
