/* clusters.c - does the doctor name the rank, the link or the disk that holds a cluster up? 60 simulated
 * clusters with one fault each and 20 with none, shown to `myxtts diagnose --json`.
 *
 * usage: build/bench/clusters [--forecast | --efficiency] [--program FILE] [--clusters N] [--skip N] [--seed
 * S]
 *                             [--steps N] [--list]
 *
 * The faults come in turn: a slow rank (its step, its decoding or its preprocessing), a slow link, a slow
 * disk on one host; every fourth cluster is healthy. A fault costs 10 % or more of the throughput. An answer
 * is right if it names the kind of fault, the rank or host, and the stage. --clusters, --skip: only some of
 * them, so that a run can be made in parts.
 * --forecast: 16 healthy clusters instead; `myxtts scaling --forecast 2,4,8 --check` runs them at each size
 * and holds the forecast from one rank against that. --efficiency: what 8 ranks over 400 GB/s and 16 ranks on
 * 2 hosts over 50 GB/s lose, with the gradients of `tiny` and steps of 31 ms. Prints a line for each and one
 * JSON line. Exit status 0 when the targets hold: at most one of 60 faults missed and no alarm on a healthy
 * cluster; every forecast within 5 %; efficiency of 95 % and 90 %. 1 otherwise, 3 when it cannot work. */
#include <stdio.h>

#include "base/log.h"
#include "base/rng.h"
#include "support/bench_options.h"
#include "support/doctor_run.h"

enum { ALL = 80, FORECASTS = 16 };
#define GRADIENTS 111.2e6 /* bytes, of `tiny` */
#define WITHIN 0.05
#define MOST_TRIES 4
#define QUIET 0.005 /* share of the time that one rank may wait */

typedef enum { HEALTHY, SLOW_RANK, SLOW_LINK, SLOW_DISK, KINDS } Kind;
static const char *const kind_words[KINDS] = {"none", "rank", "link", "host"};

typedef struct Cluster {
    Kind kind;
    int ranks, hosts;
    int rank, host;    /* at fault */
    const char *stage; /* that is to be named */
    char spec[400];
} Cluster;

typedef struct Options {
    const char *program;
    int forecast, efficiency, list;
    int clusters, skip, steps;
    uint64_t seed;
} Options;

/* ---- clusters ---- */

static double between(Rng *rng, double low, double high) { return low + (high - low) * rng_uniform(rng); }

/* Everything before the step is done in half its time, the sum in half of the backward pass. */
static void draw(Cluster *c, int number, uint64_t seed)
{
    static const int shapes[][2] = {{2, 1}, {4, 1}, {8, 1}, {4, 2}, {8, 2}, {4, 4}, {2, 2}};
    static const char *const stages[] = {"step", "decode", "preprocess"};
    Rng rng;
    rng_seed(&rng, rng_mix(seed, (uint64_t)number));
    *c = (Cluster){.kind = (Kind)(number % KINDS), .rank = -1, .host = -1, .stage = "none"};
    const int *shape = shapes[c->kind == SLOW_DISK ? 3 + rng_below(&rng, 4) : rng_below(&rng, 7)];
    c->ranks = shape[0];
    c->hosts = shape[1];
    int on_host = c->ranks / c->hosts;
    double step = between(&rng, 40, 80), read = between(&rng, 0.1, 0.4) * step / on_host;
    double decode = between(&rng, 0.1, 0.8) * step, preprocess = between(&rng, 0.05, 0.5) * step;
    double moved = 2 * (c->ranks - 1.0) / c->ranks * GRADIENTS; /* bytes over each link */
    double sum = between(&rng, 0.02, 0.3) * step, late = between(&rng, 1.3, 2.2) * step;
    char fault[80] = "";
    if (c->kind == SLOW_LINK) {
        sum = between(&rng, 0.9, 2) * step;
        c->stage = "sum";
    }
    if (c->kind == SLOW_RANK) {
        int what = (int)rng_below(&rng, 3);
        c->rank = (int)rng_below(&rng, (uint64_t)c->ranks);
        c->stage = stages[what];
        if (what == 0)
            snprintf(fault, sizeof fault, ",slow_rank=%d:%.3f", c->rank, between(&rng, 1.2, 2));
        else
            snprintf(fault, sizeof fault, ",rank=%d:%s_ms=%.2f", c->rank, c->stage,
                     what == 1 ? 2 * late : late);
    }
    if (c->kind == SLOW_DISK) {
        c->host = (int)rng_below(&rng, (uint64_t)c->hosts);
        c->stage = "read";
        snprintf(fault, sizeof fault, ",host=%d:read_ms=%.2f", c->host, late / on_host);
    }
    snprintf(c->spec, sizeof c->spec,
             "ranks=%d,hosts=%d,link_gbps=%.3f,link_us=%.1f,read_ms=%.2f,decode_ms=%.2f,preprocess_ms=%.2f,"
             "h2d_us=%.0f,step_ms=%.2f,jitter=%.3f,seed=%d%s",
             c->ranks, c->hosts, moved / (sum * 1e-3) * 1e-9, between(&rng, 1, 10), read, decode, preprocess,
             1e3 * between(&rng, 0.02, 0.2) * step, step, between(&rng, 0, 0.08), number, fault);
}

/* ---- asking ---- */

static void call_begin(Call *c, const Options *o, const char *dir, const char *command, const char *spec)
{
    c->folder = dir;
    call_add(c, o->program);
    call_add(c, command);
    call_add(c, "--json");
    call_add(c, "--quiet");
    call_set(c, "data-path", dir);
    call_set(c, "val-split", "0");
    call_set(c, "preprocessing-mode", "precompute");
    call_set(c, "model-gpu", "sim0");
    call_set(c, "model-size", "tiny");
    call_set_int(c, "batch-size", 8);
    call_set_int(c, "num-workers", 2);
    call_set(c, "sim", spec);
}

/* A host with one rank is that rank. */
static int is_right(const Cluster *c, const json_t *answer)
{
    const char *fault = json_word(answer, "fault");
    char host[16];
    snprintf(host, sizeof host, "host-%d", c->host);
    if (c->kind == HEALTHY)
        return strcmp(fault, "none") == 0;
    if (strcmp(json_word(answer, "stage"), c->stage))
        return 0;
    if (c->kind == SLOW_RANK)
        return strcmp(fault, "rank") == 0 && (int)json_at(answer, "rank", NULL) == c->rank;
    if (c->kind == SLOW_DISK)
        return (strcmp(fault, "host") == 0 || (c->ranks == c->hosts && strcmp(fault, "rank") == 0)) &&
               strcmp(json_word(answer, "host"), host) == 0;
    return strcmp(fault, kind_words[c->kind]) == 0;
}

static int judge_all(const Options *o, const char *dir, int *held, Err *err)
{
    int right[KINDS] = {0}, all[KINDS] = {0}, rc = 0;
    double start = clock_now();
    for (int i = o->skip; i < o->skip + o->clusters && i < ALL && !rc; i++) {
        Cluster c;
        draw(&c, i, o->seed);
        if (o->list) {
            printf("%2d %-5s %s\n", i, kind_words[c.kind], c.spec);
            continue;
        }
        Call call = {0};
        json_t *answer = NULL;
        call_begin(&call, o, dir, "diagnose", c.spec);
        call_set_int(&call, "num-batches", o->steps);
        rc = call_run(&answer, &call, err);
        const json_t *cluster = json_object_get(answer, "cluster");
        int well = !rc && is_right(&c, cluster);
        right[c.kind] += well;
        all[c.kind] += !rc;
        if (!rc)
            printf("%2d %-5s %-5s %d on %d, %s: %s\n", i, kind_words[c.kind], well ? "right" : "WRONG",
                   c.ranks, c.hosts, c.stage, json_word(cluster, "verdict"));
        if (!rc && !well)
            printf("         %s\n", c.spec);
        fflush(stdout);
        json_decref(answer);
        call_free(&call);
    }
    int faults = all[SLOW_RANK] + all[SLOW_LINK] + all[SLOW_DISK],
        named = right[SLOW_RANK] + right[SLOW_LINK] + right[SLOW_DISK];
    *held = named + 1 >= faults && right[HEALTHY] == all[HEALTHY];
    if (!rc && !o->list)
        printf("{\"faults\": %d, \"named\": %d, \"rank\": [%d, %d], \"link\": [%d, %d], \"disk\": [%d, %d], "
               "\"healthy\": %d, \"alarms\": %d, \"holds\": %s, \"seconds\": %.0f}\n",
               faults, named, right[SLOW_RANK], all[SLOW_RANK], right[SLOW_LINK], all[SLOW_LINK],
               right[SLOW_DISK], all[SLOW_DISK], all[HEALTHY], all[HEALTHY] - right[HEALTHY],
               *held ? "true" : "false", clock_now() - start);
    return rc;
}

/* ---- forecasts ---- */

/* Runs `scaling --forecast --check`; the caller's answer. One rank alone never waits on these machines: where
 * it did, this computer disturbed it, and it is measured again. What was forecast plays no part in that. */
static int forecast(json_t **answer, const Options *o, const char *dir, const char *ranks, const char *spec,
                    const char *per_host, Err *err)
{
    Call call = {0};
    int rc = 0;
    call_begin(&call, o, dir, "scaling", spec);
    call_set(&call, "forecast", ranks);
    call_add(&call, "--check");
    call_set_int(&call, "num-steps", o->steps);
    call_set(&call, "ranks-per-host", per_host);
    for (int i = 0; i < MOST_TRIES && !rc; i++) {
        json_decref(*answer);
        rc = call_run(answer, &call, err);
        if (json_at(json_object_get(*answer, "measured"), "wait_share", NULL) < QUIET)
            break;
    }
    call_free(&call);
    return rc;
}

/* Simulated clips/s of each rank / that of the one that was measured. */
static double efficiency_of(const json_t *answer, const json_t *row)
{
    return json_at(row, "simulated", "clips_per_s") / json_at(row, "ranks", NULL) /
           json_at(json_object_get(answer, "measured"), "clips_per_s", NULL);
}

static int forecast_all(const Options *o, const char *dir, int *held, Err *err)
{
    double worst = 0, sum = 0;
    int rc = 0, count = 0;
    for (int i = o->skip; i < o->skip + o->clusters && i < FORECASTS && !rc; i++) {
        Rng rng;
        char spec[300];
        rng_seed(&rng, rng_mix(o->seed, 1000 + (uint64_t)i));
        double step = between(&rng, 40, 70), comm = between(&rng, 0.05, 1.5) * step;
        snprintf(spec, sizeof spec,
                 "link_gbps=%.3f,link_us=%.1f,read_ms=%.2f,decode_ms=%.2f,preprocess_ms=%.2f,step_ms=%.2f,"
                 "jitter=%.3f,seed=%d",
                 1.75 * GRADIENTS / (comm * 1e-3) * 1e-9, between(&rng, 1, 10),
                 between(&rng, 0.01, 0.25) * step, between(&rng, 0.1, 0.8) * step,
                 between(&rng, 0.1, 0.8) * step, step, i % 4 ? between(&rng, 0, 0.15) : 0, i);
        json_t *answer = NULL, *row;
        size_t k;
        rc = forecast(&answer, o, dir, "2,4,8", spec, i % 2 ? "8" : "2", err);
        printf("%2d %s\n", i, spec);
        json_array_foreach(json_object_get(answer, "forecast"), k, row)
        {
            double error = json_at(row, "simulated", "error");
            printf("   %d ranks: efficiency %.1f %%, simulated %.1f %%; bound by %s; forecast %+.1f %%\n",
                   (int)json_at(row, "ranks", NULL), 100 * json_at(row, "efficiency", NULL),
                   100 * efficiency_of(answer, row), json_word(row, "bound"), 100 * error);
            worst = fmax(worst, fabs(error));
            sum += fabs(error);
            count++;
        }
        fflush(stdout);
        json_decref(answer);
    }
    *held = worst <= WITHIN;
    if (!rc)
        printf("{\"forecasts\": %d, \"mean_error\": %.4f, \"worst_error\": %.4f, \"holds\": %s}\n", count,
               count ? sum / count : 0, worst, *held ? "true" : "false");
    return rc;
}

static int efficiency_all(const Options *o, const char *dir, int *held, Err *err)
{
    static const struct {
        const char *ranks, *spec;
        double least;
    } cases[] = {
        {"8", "step_ms=31,read_ms=1,decode_ms=8,preprocess_ms=4,link_gbps=400,link_us=5", 0.95},
        {"8", "step_ms=31,read_ms=1,decode_ms=8,preprocess_ms=4,link_gbps=400,link_us=5,jitter=step:0.02",
         0.95},
        {"16", "step_ms=31,read_ms=1,decode_ms=8,preprocess_ms=4,link_gbps=50,link_us=5", 0.90},
        {"16", "step_ms=31,read_ms=1,decode_ms=8,preprocess_ms=4,link_gbps=50,link_us=5,jitter=step:0.02",
         0.90},
    };
    int rc = 0;
    *held = 1;
    for (size_t i = 0; i < sizeof cases / sizeof *cases && !rc; i++) {
        json_t *answer = NULL;
        rc = forecast(&answer, o, dir, cases[i].ranks, cases[i].spec, "8", err);
        const json_t *row = json_array_get(json_object_get(answer, "forecast"), 0);
        double reached = rc ? 0 : efficiency_of(answer, row);
        *held &= reached >= cases[i].least;
        if (!rc)
            printf("%s ranks on %d host(s), %s: %.1f %% (at least %.0f %%), not hidden %.2f %%; forecast "
                   "%.1f %%\n",
                   cases[i].ranks, (int)json_at(row, "hosts", NULL), cases[i].spec, 100 * reached,
                   100 * cases[i].least, 100 * json_at(row, "simulated", "exposed_share"),
                   100 * json_at(row, "efficiency", NULL));
        fflush(stdout);
        json_decref(answer);
    }
    return rc;
}

/* ---- the command line ---- */

static int options_parse(Options *o, int argc, char **argv, Err *err)
{
    int seed = (int)o->seed;
    const BenchOption rows[] = {{"--forecast", BENCH_SWITCH, &o->forecast, 0, 0},
                                {"--efficiency", BENCH_SWITCH, &o->efficiency, 0, 0},
                                {"--list", BENCH_SWITCH, &o->list, 0, 0},
                                {"--program", BENCH_TEXT, &o->program, 0, 0},
                                {"--clusters", BENCH_INT, &o->clusters, 1, ALL},
                                {"--skip", BENCH_INT, &o->skip, 0, ALL},
                                {"--steps", BENCH_INT, &o->steps, 20, 1000},
                                {"--seed", BENCH_INT, &seed, 0, INT32_MAX}};
    const int rc = bench_options(rows, sizeof rows / sizeof *rows, argc, argv, err);
    o->seed = (uint64_t)seed;
    return rc;
}

int main(int argc, char **argv)
{
    char program[512], dir[256];
    const char *slash = strrchr(argv[0], '/'), *tmp = getenv("TMPDIR");
    snprintf(program, sizeof program, "%.*s/../myxtts", slash ? (int)(slash - argv[0]) : 1,
             slash ? argv[0] : ".");
    snprintf(dir, sizeof dir, "%s/myxtts-clusters-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    Options o = {.program = program, .clusters = ALL, .steps = 60, .seed = 1};
    Err err = {0};
    Log log;
    log_init(&log, LOG_INFO);
    int held = 1, rc = options_parse(&o, argc, argv, &err);
    char *whole = rc ? NULL : realpath(o.program, NULL);
    if (!rc && !whole)
        rc = err_set_errno(&err, ERR_MISSING, "there is no program %s", o.program);
    o.program = whole;
    if (!rc && !mkdtemp(dir))
        rc = err_set_errno(&err, ERR_IO, "cannot make %s", dir);
    else if (!rc) {
        rc = o.list ? 0 : corpus_write(o.program, dir, 64, 0.6, 0, 0, &err);
        if (!rc)
            rc = o.forecast     ? forecast_all(&o, dir, &held, &err)
                 : o.efficiency ? efficiency_all(&o, dir, &held, &err)
                                : judge_all(&o, dir, &held, &err);
        folder_remove(dir);
    }
    free(whole);
    if (rc)
        log_err(&log, &err);
    return rc ? err_exit_code(rc) : !held;
}
