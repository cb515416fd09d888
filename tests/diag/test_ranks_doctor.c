/* test_ranks_doctor.c - ranks that train together: the model of their exchange, the forecast of many of them,
 * and the verdict on clusters with a known fault. Everything is made of drawn times; nothing depends on the
 * clock. Clusters that really run: test_cluster.sh. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "diag/pipeline/doctor.h"
#include "diag/ranks/rank_doctor.h"
#include "diag/ranks/rank_forecast.h"
#include "support/doctor_testing.h"

enum { STEPS = 100, MOST = 16 };

/* Stages that eight ranks on one disk do not wait for. */
#define QUICK "read_ms=1,decode_ms=6,h2d_us=2000,preprocess_ms=4,"

/* ---- the exchange ---- */

static void test_exposed(void **state)
{
    Exchange x = {.forward = 0.3, .backward = 0.6, .bytes = 1e8, .buckets = 10, .seconds = 0.010};
    /* A fast link: only the last bucket is not hidden. */
    assert_float_equal(exchange_exposed(&x, 0.1), 0.001, 1e-9);
    /* A slow one: it begins with the first bucket and is busy from there on. */
    x.seconds = 0.2;
    assert_float_equal(exchange_exposed(&x, 0.1), 0.036 + 0.2 - 0.09, 1e-9);
    x.seconds = 0;
    assert_float_equal(exchange_exposed(&x, 0.1), 0, 1e-12);
    x.buckets = 1;
    x.seconds = 0.010;
    assert_float_equal(exchange_exposed(&x, 0.1), 0.010, 1e-9);
}

/* ---- clusters of drawn times ---- */

typedef struct Drawn {
    int ranks, hosts;
    double step, jitter, sum; /* seconds; deviation / mean; of all buckets on the link */
    int slow;                 /* rank whose step takes `factor` times as long; -1: none */
    double factor;
    int late;          /* host whose batches come only every `data` seconds; -1: none */
    int late_rank;     /* the same for one rank */
    double data;       /* 0: in time */
    double data_stall; /* every 20th batch of late_rank comes so much later */
} Drawn;

/* Steps as the ranks would see them: all wait for the slowest, then for the sum. */
static void draw(RankFacts *f, const Drawn *d, uint64_t seed)
{
    Rng rng;
    rng_seed(&rng, seed);
    Exchange x = {.forward = 0.33, .backward = 0.62, .bytes = 1e8, .buckets = 20, .seconds = d->sum};
    double variance = log1p(d->jitter * d->jitter), ready[MOST] = {0}, start[MOST][4] = {{0}}, end = 0;
    for (int r = 0; r < d->ranks; r++) {
        int host = r / (d->ranks / d->hosts), late = r == d->late_rank || host == d->late;
        f[r] = (RankFacts){.rank = r, .first = 24 + r % 2, .steps = STEPS - r % 3, .clips = 8, .named = -1};
        snprintf(f[r].host, sizeof f[r].host, "host-%d", host);
        f[r].exchange = x;
        for (int s = 0; s < STAGE_STEP; s++)
            f[r].stage[s] = s == STAGE_PEER ? -1 : 0.004 + 0.0005 * rng_uniform(&rng);
        f[r].stage[STAGE_READ] = late && d->data > 0 ? d->data : 0.006;
        f[r].data = late && d->data > 0 ? d->data * (1 + 0.01 * r) : 0.006;
        if (late && (d->data > d->step || d->data_stall > 0)) {
            f[r].named = STAGE_READ;
            f[r].cause = d->data_stall > 0 ? CAUSE_STALL : CAUSE_STORAGE;
            f[r].period = d->data_stall > 0 ? 20 : 0;
        }
    }
    for (int k = -60; k < STEPS + 2; k++) { /* the first ones fill the stock */
        double arrive[MOST], wait[MOST], own[MOST], slowest = 0;
        for (int r = 0; r < d->ranks; r++) {
            own[r] = d->step * exp(sqrt(variance) * rng_normal(&rng) - 0.5 * variance);
            own[r] *= r == d->slow ? d->factor : 1;
            /* Batches come at their own pace; up to four are in stock. */
            int at = (k + 60) % 4;
            ready[r] = fmax(ready[r], start[r][at]) + f[r].data;
            ready[r] += r == d->late_rank && k >= 0 && k % 20 == 19 ? d->data_stall : 0;
            start[r][at] = fmax(end, ready[r]);
            wait[r] = start[r][at] - end;
            arrive[r] = wait[r] + own[r];
            slowest = fmax(slowest, arrive[r]);
        }
        double exposed = exchange_exposed(&x, slowest);
        end += slowest + exposed;
        for (int r = 0; r < d->ranks; r++) {
            int i = k + 24 - (int)f[r].first;
            if (i < 0 || i >= f[r].steps)
                continue;
            f[r].wait[i] = (float)wait[r];
            f[r].own[i] = (float)own[r];
            f[r].sum[i] = (float)(slowest + exposed - arrive[r]);
        }
    }
}

static void judge(RanksVerdict *v, const Drawn *d, uint64_t seed)
{
    RankFacts *f = calloc((size_t)d->ranks, sizeof *f);
    Err err = {0};
    assert_non_null(f);
    draw(f, d, seed);
    /* In any order. */
    RankFacts first = f[0];
    f[0] = f[d->ranks - 1];
    f[d->ranks - 1] = first;
    if (ranks_judge(v, f, d->ranks, &err))
        fail_msg("%s", err.msg);
    free(f);
}

static const Drawn healthy = {.ranks = 8,
                              .hosts = 2,
                              .step = 0.04,
                              .jitter = 0.05,
                              .sum = 0.005,
                              .slow = -1,
                              .late = -1,
                              .late_rank = -1};

/* No rank is blamed for what all do by chance. */
static void test_healthy(void **state)
{
    static const int sizes[] = {2, 4, 8, 16};
    for (uint64_t seed = 0; seed < 80; seed++) {
        Drawn d = healthy;
        d.ranks = sizes[seed % 4];
        d.hosts = seed % 3 ? 2 : 1;
        d.jitter = 0.01 * (double)(seed % 16);
        RanksVerdict v;
        judge(&v, &d, seed);
        if (v.fault != RANKS_WELL)
            fail_msg("seed %llu: %s", (unsigned long long)seed, v.sentence);
        assert_true(v.hidden_not < 0.05 && v.rank == -1 && v.stage == -1);
        assert_int_equal(v.ranks, d.ranks);
        assert_int_equal(v.hosts, d.hosts);
        ranks_verdict_close(&v);
    }
}

static void test_slow_rank(void **state)
{
    for (uint64_t seed = 0; seed < 40; seed++) {
        Drawn d = healthy;
        d.jitter = 0.01 * (double)(seed % 8);
        d.slow = (int)(seed % 8);
        d.factor = 1.15 + 0.02 * (double)(seed % 20);
        RanksVerdict v;
        judge(&v, &d, seed);
        if (v.fault != RANKS_SLOW_RANK || v.rank != d.slow || v.stage != STAGE_STEP ||
            v.cause != CAUSE_COMPUTE)
            fail_msg("seed %llu: %s", (unsigned long long)seed, v.sentence);
        assert_non_null(strstr(v.sentence, "computes more slowly"));
        assert_string_equal(v.host, d.slow < 4 ? "host-0" : "host-1");
        assert_true(v.rows[d.slow].at_fault && !v.rows[(d.slow + 1) % 8].at_fault);
        assert_true(v.gains[0].predicted > 1.05 && v.gains[0].predicted < d.factor + 0.05);
        ranks_verdict_close(&v);
    }
}

/* The data of one rank, or of all ranks of a host, of which only the slowest can be seen to wait. */
static void test_late_data(void **state)
{
    for (uint64_t seed = 0; seed < 40; seed++) {
        Drawn d = healthy;
        int host = seed % 2;
        *(host ? &d.late : &d.late_rank) = host ? (int)(seed / 2 % 2) : (int)(seed / 2 % 8);
        d.data = 0.050 + 0.001 * (double)(seed % 30);
        RanksVerdict v;
        judge(&v, &d, seed);
        if (v.fault != (host ? RANKS_SLOW_HOST : RANKS_SLOW_RANK) || v.stage != STAGE_READ ||
            v.cause != CAUSE_STORAGE || v.rank != (host ? -1 : d.late_rank))
            fail_msg("seed %llu: %s", (unsigned long long)seed, v.sentence);
        assert_non_null(strstr(v.sentence, host ? "wait for their disk: reading takes"
                                                : "waits for its disk: reading takes"));
        ranks_verdict_close(&v);
    }
}

static void test_slow_link(void **state)
{
    for (uint64_t seed = 0; seed < 40; seed++) {
        Drawn d = healthy;
        d.ranks = seed % 2 ? 8 : 2;
        d.sum = 0.035 + 0.002 * (double)(seed % 20);
        RanksVerdict v;
        judge(&v, &d, seed);
        if (v.fault != RANKS_SLOW_LINK || v.stage != STAGE_SUM || v.cause != CAUSE_BANDWIDTH)
            fail_msg("seed %llu: %s", (unsigned long long)seed, v.sentence);
        /* What a link of twice the speed gives, by drawing that cluster. */
        Drawn faster = d;
        faster.sum /= 2;
        RanksVerdict then;
        judge(&then, &faster, seed);
        assert_float_equal(v.gains[0].predicted, v.seconds / then.seconds, 0.03);
        assert_non_null(strstr(v.gains[0].change, "twice as fast"));
        ranks_verdict_close(&v);
        ranks_verdict_close(&then);
    }
}

static void test_stall_of_a_rank(void **state)
{
    Drawn d = healthy;
    d.late_rank = 5;
    d.data_stall = 0.4;
    RanksVerdict v;
    judge(&v, &d, 3);
    assert_int_equal(v.fault, RANKS_SLOW_RANK);
    assert_int_equal(v.rank, 5);
    assert_int_equal(v.cause, CAUSE_STALL);
    assert_int_equal(v.period, 20);
    json_t *o = ranks_verdict_json(&v);
    assert_string_equal(json_string_value(json_object_get(o, "fault")), "rank");
    assert_int_equal(json_integer_value(json_object_get(o, "rank")), 5);
    assert_int_equal(json_array_size(json_object_get(o, "per_rank")), 8);
    json_decref(o);
    ranks_verdict_close(&v);
    ranks_verdict_close(&v);
}

static void test_all_wait_alike(void **state)
{
    Drawn d = healthy;
    d.hosts = 1;
    d.late = 0;
    d.data = 0.08;
    RanksVerdict v;
    judge(&v, &d, 1);
    assert_int_equal(v.fault, RANKS_SLOW_DATA);
    assert_int_equal(v.stage, STAGE_READ);
    ranks_verdict_close(&v);
}

static void test_too_few_steps(void **state)
{
    RankFacts f[2] = {{.rank = 0, .first = 0, .steps = 20}, {.rank = 1, .first = 15, .steps = 20}};
    RanksVerdict v;
    Err err = {0};
    assert_int_equal(ranks_judge(&v, f, 2, &err), ERR_DATA);
    assert_non_null(strstr(err.msg, "2 ranks have only 5 steps in common"));
}

/* ---- the forecast ---- */

/* Of one observed rank, against N ranks that are drawn. */
static void test_forecast(void **state)
{
    static const struct {
        const char *sim;
        double gbps, jitter, sum_share; /* least share that is not hidden */
    } machines[] = {
        {QUICK "step_ms=31", 400, 0, 0},
        {QUICK "step_ms=31,jitter=step:0.1", 400, 0.1, 0},
        {QUICK "step_ms=31,jitter=step:0.3", 50, 0.3, 0},
        {QUICK "step_ms=31,jitter=step:0.05", 4, 0.05, 0.1},
    };
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        Machine m = {"one rank", machines[i].sim, 2, 8, 8, 0, "", "", 0};
        Observation o;
        make_observation(&o, &m);
        Exchange x = {.forward = 0.33, .backward = 0.62, .bytes = 111e6, .buckets = 28};
        RankNetwork net = {.said = {.near = {machines[i].gbps * 1e9, 3e-6}, .far.seconds = -1},
                           .per_host = 8};
        for (int n = 1; n <= 8; n *= 2) {
            RankForecast f;
            Err err = {0};
            assert_int_equal(rank_forecast(&f, &o, &x, &net, n, &err), 0);
            Rng rng;
            rng_seed(&rng, 77);
            Exchange real = x;
            double mean = 0, variance = log1p(machines[i].jitter * machines[i].jitter);
            real.seconds = x.buckets * links_latency(&f.links) + x.bytes * links_per_byte(&f.links);
            for (int k = 0; k < 4000; k++) {
                double slowest = 0;
                for (int r = 0; r < n; r++)
                    slowest = fmax(slowest, 0.031 * exp(sqrt(variance) * rng_normal(&rng) - 0.5 * variance));
                mean += (slowest + (n > 1 ? exchange_exposed(&real, slowest) : 0)) / 4000;
            }
            if (fabs(f.seconds / mean - 1) > 0.05)
                fail_msg("%s, %d ranks: %.2f ms, should be %.2f", machines[i].sim, n, 1e3 * f.seconds,
                         1e3 * mean);
            assert_true(f.hidden_not >= (n > 1 ? machines[i].sum_share : 0));
            assert_true(n > 1 || (f.efficiency > 0.999 && f.hidden_not == 0));
            if (n == 8)
                assert_int_equal(f.bound, machines[i].sum_share > 0 ? BOUND_LINK
                                          : machines[i].jitter > 0  ? BOUND_JITTER
                                                                    : BOUND_STEP);
        }
        observation_close(&o);
    }
}

/* Beyond what can be seen, the tail follows the law; efficiency never grows with the ranks. */
static void test_forecast_of_thousands(void **state)
{
    Machine m = {"one rank", QUICK "step_ms=31,jitter=step:0.05", 2, 8, 8, 0, "", "", 0};
    Observation o;
    Err err = {0};
    double factor, before = 2;
    make_observation(&o, &m);
    /* The expected maximum of 1,024 normal values is 3.24 deviations. */
    assert_int_equal(rank_slowest(&factor, &o, 1024, &err), 0);
    assert_float_equal(factor, 1 + 0.05 * 3.35, 0.025);
    Exchange x = {.forward = 0.33, .backward = 0.62, .bytes = 111e6, .buckets = 28};
    RankNetwork net = {.said = {.near.seconds = -1, .far.seconds = -1}, .per_host = 8};
    for (int n = 1; n <= 1024; n *= 2) {
        RankForecast f;
        assert_int_equal(rank_forecast(&f, &o, &x, &net, n, &err), 0);
        assert_int_equal(f.links.hosts, n <= 8 ? 1 : n / 8);
        assert_true(f.efficiency <= before + 1e-9);
        before = f.efficiency;
    }
    json_t *lines = rank_forecast_assumptions(&o, &x, &net);
    assert_true(json_array_size(lines) >= 6);
    json_decref(lines);
    assert_int_equal(rank_hosts(12, 8), 2);
    assert_int_equal(rank_hosts(7, 4), 7);
    assert_int_equal(rank_hosts(1, 8), 1);
    observation_close(&o);
}

/* One disk for all: eight ranks read eight times as much from it. */
static void test_forecast_of_a_shared_disk(void **state)
{
    Machine m = {
        "one rank", "read_ms=10,decode_ms=2,h2d_us=500,preprocess_ms=2,step_ms=31", 2, 8, 8, 0, "", "", 0};
    Observation o;
    Err err = {0};
    make_observation(&o, &m);
    Exchange x = {.forward = 0.33, .backward = 0.62, .bytes = 111e6, .buckets = 28};
    for (int shared = 0; shared < 2; shared++) {
        RankNetwork net = {
            .said = {.near.seconds = -1, .far.seconds = -1}, .per_host = 2, .shared_disk = shared};
        RankForecast f;
        assert_int_equal(rank_forecast(&f, &o, &x, &net, 8, &err), 0);
        assert_int_equal(f.bound == BOUND_DISK, shared);
        assert_float_equal(f.seconds, shared ? 0.080 : 0.031, 0.004);
    }
    observation_close(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exposed),
        cmocka_unit_test(test_healthy),
        cmocka_unit_test(test_slow_rank),
        cmocka_unit_test(test_late_data),
        cmocka_unit_test(test_slow_link),
        cmocka_unit_test(test_stall_of_a_rank),
        cmocka_unit_test(test_all_wait_alike),
        cmocka_unit_test(test_too_few_steps),
        cmocka_unit_test(test_forecast),
        cmocka_unit_test(test_forecast_of_thousands),
        cmocka_unit_test(test_forecast_of_a_shared_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
