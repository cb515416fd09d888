/* test_doctor.c - the doctor and what it stands on: traces of the pipeline, cycles, the forecast, the verdict
 * on machines with a known fault, the report. Most machines are made of drawn times alone, so that nothing
 * depends on the clock; a few are run through the real pipeline. Walls and swings: test_walls.c. */
#include "support/doctor_testing.h"
#include "support/pipeline_testing.h"

#include <jansson.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "diag/pipeline/doctor.h"
#include "diag/report/sections.h"
#include "diag/report/thresholds.h"

/* ---- cycles ---- */

static void fill(float *x, int n, double usual, double jitter, uint64_t seed)
{
    Rng rng;
    rng_seed(&rng, seed);
    double variance = log1p(jitter * jitter);
    for (int i = 0; i < n; i++)
        x[i] = (float)(usual * exp(sqrt(variance) * rng_normal(&rng) - 0.5 * variance));
}

static void test_cycle_found(void **state)
{
    static const int periods[] = {2, 5, 7, 20, 37, 50, 90};
    float x[BATCHES], without[BATCHES];
    Cycle c;
    for (size_t p = 0; p < sizeof periods / sizeof *periods; p++)
        for (int jitter = 0; jitter < 3; jitter++) {
            fill(x, BATCHES, 0.010, 0.2 * jitter, 7 + p);
            for (int i = periods[p] - 1; i < BATCHES; i += periods[p])
                x[i] += 0.100F;
            assert_int_equal(cycle_find(&c, x, BATCHES, CYCLE_LONGEST), 1);
            assert_int_equal(c.period, periods[p]);
            assert_int_equal(c.phase, periods[p] - 1);
            assert_true(c.excess > 0.09 && c.excess < 0.11);
            cycle_remove(without, x, BATCHES, &c);
            assert_int_equal(cycle_find(&c, without, BATCHES, CYCLE_LONGEST), 0);
        }
}

static void test_cycle_not_invented(void **state)
{
    float x[BATCHES];
    Cycle c;
    for (uint64_t seed = 0; seed < 200; seed++) {
        fill(x, BATCHES, 0.010, 0.05 + 0.005 * (double)(seed % 120), seed);
        if (cycle_find(&c, x, BATCHES, CYCLE_LONGEST))
            fail_msg("seed %llu: a cycle of %d in noise", (unsigned long long)seed, c.period);
    }
    fill(x, BATCHES, 0.010, 0.1, 1); /* spikes, but at no regular distance */
    const int spikes[] = {11, 30, 33, 80, 131, 150, 204, 266, 281};
    for (size_t i = 0; i < sizeof spikes / sizeof *spikes; i++)
        x[spikes[i]] += 0.2F;
    assert_int_equal(cycle_find(&c, x, BATCHES, CYCLE_LONGEST), 0);
    float without[BATCHES];
    double usual;
    assert_int_equal(outliers_remove(without, x, BATCHES, &usual), 9);
    assert_true(usual > 0.009 && usual < 0.011);
    for (size_t i = 0; i < sizeof spikes / sizeof *spikes; i++)
        assert_true(without[spikes[i]] < 0.02F);
}

static void test_autocorrelation(void **state)
{
    float x[60];
    double c;
    for (int i = 0; i < 60; i++)
        x[i] = i % 6 == 0 ? 2 : 1;
    assert_int_equal(cycle_best_lag(x, 60, 20, &c), 6);
    assert_true(c > 0.8);
    assert_true(cycle_autocorrelation(x, 60, 3) < 0);
    for (int i = 0; i < 60; i++)
        x[i] = 1;
    assert_true(cycle_autocorrelation(x, 60, 3) == 0);
}

/* ---- machines made of drawn times ---- */

static const Machine machines[] = {
    {"slow disk", "read_ms=50,decode_ms=6,h2d_us=2000,preprocess_ms=4,peer_us=2000,step_ms=20,jitter=0.2", 2,
     8, 8, 1, "read", "storage", 0},
    {"slow disk, many workers", "read_ms=35,decode_ms=40,h2d_us=2000,preprocess_ms=4,step_ms=20,jitter=0.1",
     8, 8, 8, 0, "read", "storage", 0},
    {"slow decoding", "read_ms=4,decode_ms=120,h2d_us=2000,preprocess_ms=4,step_ms=20,jitter=0.2", 2, 8, 8, 0,
     "decode", "workers", 0},
    {"one worker", "read_ms=4,decode_ms=40,h2d_us=2000,preprocess_ms=4,peer_us=2000,step_ms=20", 1, 8, 8, 1,
     "decode", "workers", 0},
    {"slow copy", "read_ms=4,decode_ms=6,h2d_us=45000,preprocess_ms=4,peer_us=2000,step_ms=20,jitter=0.2", 2,
     8, 8, 1, "h2d", "bandwidth", 0},
    {"slow preprocessing",
     "read_ms=4,decode_ms=6,h2d_us=2000,preprocess_ms=45,peer_us=2000,step_ms=20,jitter=0.2", 2, 8, 8, 1,
     "preprocess", "compute", 0},
    {"slow peer copy",
     "read_ms=4,decode_ms=6,h2d_us=2000,preprocess_ms=4,peer_us=45000,step_ms=20,jitter=0.2", 2, 8, 8, 1,
     "peer", "bandwidth", 0},
    {"slow step", FAST "step_ms=60,jitter=0.2", 2, 8, 8, 1, "step", "compute", 0},
    {"healthy", "read_ms=9,decode_ms=12,h2d_us=4000,preprocess_ms=12,peer_us=4000,step_ms=20,jitter=0.1", 2,
     8, 8, 1, "none", "none", 0},
    {"healthy, uneven",
     "read_ms=9,decode_ms=12,h2d_us=4000,preprocess_ms=11,peer_us=4000,step_ms=20,jitter=0.4", 2, 8, 8, 1,
     "none", "none", 0},
    {"healthy, one device", "read_ms=12,decode_ms=20,h2d_us=8000,preprocess_ms=9,step_ms=20,jitter=0.2", 4, 2,
     8, 0, "none", "none", 0},
    {"healthy, one worker", "read_ms=6,decode_ms=8,h2d_us=4000,preprocess_ms=8,step_ms=20", 1, 8, 8, 0,
     "none", "none", 0},
    {"a short stall that buffers hide", FAST "step_ms=10,stall=read:40:30", 2, 8, 8, 1, "none", "none", 0},
    {"the disk stalls", FAST "step_ms=20,jitter=0.2,stall=read:20:300", 2, 8, 8, 1, "read", "stall", 20},
    {"decoding stalls", FAST "step_ms=20,jitter=0.2,stall=decode:31:1500", 2, 8, 8, 1, "decode", "stall", 31},
    {"the copy stalls", FAST "step_ms=20,jitter=0.2,stall=h2d:7:150", 2, 8, 8, 1, "h2d", "stall", 7},
    {"preprocessing stalls", FAST "step_ms=20,stall=preprocess:50:400", 2, 8, 8, 1, "preprocess", "stall",
     50},
    {"the peer copy stalls", FAST "step_ms=20,jitter=0.3,stall=peer:13:200", 2, 8, 8, 1, "peer", "stall", 13},
    {"the step stalls", FAST "step_ms=10,jitter=0.1,stall=step:17:80", 2, 8, 8, 1, "step", "stall", 17},
    {"stalls without a rule", FAST "step_ms=20,jitter=0.1,stall=h2d:43:400,stall=h2d:59:400,stall=h2d:31:400",
     2, 8, 8, 1, "h2d", "outliers", 0},
    {"three buffers for a long way",
     "read_ms=4,decode_ms=6,h2d_us=16000,preprocess_ms=16,peer_us=16000,step_ms=20", 2, 8, 3, 1, "h2d",
     "buffers", 0},
    {"a slow disk and slower preprocessing",
     "read_ms=30,decode_ms=6,h2d_us=2000,preprocess_ms=60,step_ms=20,jitter=0.1", 2, 8, 8, 0, "preprocess",
     "compute", 0},
};

static void test_verdicts(void **state)
{
    int wrong = 0;
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        const Machine *m = &machines[i];
        Observation o;
        Verdict v;
        Err err = {0};
        make_observation(&o, m);
        assert_int_equal(doctor_judge(&v, &o, &err), 0);
        const char *stage = v.stage < 0 ? "none" : stage_name((StageId)v.stage);
        if (strcmp(stage, m->stage) || strcmp(cause_name(v.cause), m->cause) || v.period != m->period) {
            print_message("%s: %s/%s/%d instead of %s/%s/%d: %s\n", m->name, stage, cause_name(v.cause),
                          v.period, m->stage, m->cause, m->period, v.sentence);
            wrong++;
        }
        assert_true(fabs(v.check) < 1e-6 && v.trusted);
        assert_true(v.sentence[0] && v.evidence_count > 2 && v.gain_count > 4);
        observation_close(&o);
    }
    assert_int_equal(wrong, 0);
}

/* ---- the forecast ---- */

static double period_with(const Observation *o, void (*change)(ForecastSettings *))
{
    ForecastSettings s;
    Forecast f;
    Err err = {0};
    forecast_settings(&s, o);
    if (change)
        change(&s);
    assert_int_equal(forecast_run(&f, o, &s, &err), 0);
    return f.period;
}

static void no_overlap(ForecastSettings *s) { s->synchronous = 1; }
static void inline_reading(ForecastSettings *s) { s->workers = 0; }
static void two_workers(ForecastSettings *s) { s->workers = 2; }
static void eight_workers(ForecastSettings *s) { s->workers = 8; }
static void parallel_disk(ForecastSettings *s) { s->serial_disk = 0, s->workers = 8; }
static void no_peer(ForecastSettings *s) { s->two_devices = 0; }
static void fast_copy(ForecastSettings *s) { s->scale[STAGE_H2D] = 0.5; }
static void eight_buffers(ForecastSettings *s) { s->most_buffers = 8; }
static void one_after_the_other(ForecastSettings *s) { s->overlap = 0; }
static void one_slot(ForecastSettings *s) { s->slots = 1; }
static void shared_stream(ForecastSettings *s) { s->own_copy = 0; }
static void twice_the_rows(ForecastSettings *s) { s->rows_factor = 2; }

static void check_near(double a, double b)
{
    if (!(fabs(a - b) < 0.02 * b))
        fail_msg("%.3f ms instead of %.3f ms", 1e3 * a, 1e3 * b);
}

/* Machines without variation, where the answer can be worked out by hand. */
static void test_forecast(void **state)
{
    const Machine slow = {
        "", "read_ms=10,decode_ms=60,h2d_us=5000,preprocess_ms=8,peer_us=6000,step_ms=20", 1, 8, 8, 1, "", "",
        0};
    Observation o;
    make_observation(&o, &slow);
    check_near(period_with(&o, NULL), 0.070); /* one worker reads and decodes */
    check_near(period_with(&o, two_workers), 0.035);
    check_near(period_with(&o, eight_workers), 0.020); /* the step */
    check_near(period_with(&o, inline_reading), 0.075);
    check_near(period_with(&o, no_overlap), 0.109);
    check_near(period_with(&o, twice_the_rows), 0.140);
    observation_close(&o);
    const Machine disk = {
        "", "read_ms=40,decode_ms=1,h2d_us=5000,preprocess_ms=8,peer_us=6000,step_ms=20", 2, 8, 8, 1, "", "",
        0};
    make_observation(&o, &disk);
    check_near(period_with(&o, eight_workers), 0.040); /* one disk, however many workers */
    check_near(period_with(&o, parallel_disk), 0.020);
    observation_close(&o);
    const Machine far = {"", "read_ms=4,decode_ms=6,h2d_us=16000,preprocess_ms=16,peer_us=16000,step_ms=20",
                         2,  8,
                         3,  1,
                         "", "",
                         0};
    make_observation(&o, &far);
    check_near(period_with(&o, NULL), 0.068 / 3); /* three buffers go round the whole way */
    check_near(period_with(&o, eight_buffers), 0.020);
    check_near(period_with(&o, one_after_the_other), 0.068);
    check_near(period_with(&o, shared_stream), 0.032); /* copy and preprocessing take turns */
    observation_close(&o);
    const Machine host = {
        "", "read_ms=20,decode_ms=20,h2d_us=30000,preprocess_ms=1,step_ms=20", 8, 2, 8, 0, "", "", 0};
    make_observation(&o, &host);
    check_near(period_with(&o, NULL), 0.030);
    check_near(
        period_with(&o, one_slot),
        0.0525); /* filled, copied, filled: the rows are read one after the other, the last is decoded last */
    observation_close(&o);
    const Machine peer = {
        "", "read_ms=1,decode_ms=1,h2d_us=26000,preprocess_ms=8,peer_us=30000,step_ms=20", 2, 8, 8, 1, "", "",
        0};
    make_observation(&o, &peer);
    check_near(period_with(&o, NULL), 0.030);
    check_near(period_with(&o, no_peer), 0.026);
    check_near(period_with(&o, fast_copy), 0.030);
    observation_close(&o);
}

static void sixteen_slots(ForecastSettings *s) { s->slots = s->most_slots = 16; }
static void up_to_sixteen_slots(ForecastSettings *s) { s->most_slots = 16; }

/* A stall of 15 steps: four slots and three buffers do not last, sixteen slots do. Where they may be added,
 * that is what is forecast, but for the first few stalls. A disk that is too slow fills no slot. */
static void test_forecast_adds_slots(void **state)
{
    const Machine stalls = {"", FAST "step_ms=20,stall=read:30:300", 2, 4, 3, 1, "", "", 0};
    const Machine slow = {"", FAST "step_ms=20,stall=read:30:600", 2, 4, 3, 1, "", "", 0};
    Observation o;
    ForecastSettings s;
    Forecast f;
    Err err = {0};
    make_observation(&o, &stalls);
    double four = period_with(&o, NULL), sixteen = period_with(&o, sixteen_slots);
    assert_true(four > 1.2 * sixteen);
    check_near(sixteen, 0.020);
    assert_true(period_with(&o, up_to_sixteen_slots) < sixteen + 0.4 * (four - sixteen));
    forecast_settings(&s, &o);
    assert_int_equal(forecast_run(&f, &o, &s, &err), 0);
    assert_int_equal(f.slots, 4); /* a number that was set stays */
    s.most_slots = 16;
    assert_int_equal(forecast_run(&f, &o, &s, &err), 0);
    assert_int_equal(f.slots, 16);
    observation_close(&o);
    make_observation(&o, &slow);
    forecast_settings(&s, &o);
    s.slots = 8;
    s.most_slots = 64;
    assert_int_equal(forecast_run(&f, &o, &s, &err), 0);
    assert_true(f.slots < 64);
    observation_close(&o);
}

static void test_gains_apply(void **state)
{
    Config cfg;
    Err err = {0};
    assert_int_equal(config_defaults(&cfg, &err), 0);
    Gain g = {.key = "num_workers", .value = "7"};
    assert_int_equal(gain_apply(&g, &cfg), 1);
    assert_int_equal(cfg.num_workers, 7);
    g = (Gain){.key = "prefetch_buffer_size", .value = "16"};
    assert_int_equal(gain_apply(&g, &cfg), 1);
    assert_int_equal(cfg.prefetch_buffer_size, 16);
    g = (Gain){.change = "storage twice as fast", .what_if = STAGE_READ};
    assert_int_equal(gain_apply(&g, &cfg), 0);
    config_close(&cfg);
}

/* ---- the table ---- */

static void test_thresholds(void **state)
{
    assert_int_equal(threshold_judge(LIMIT_GPU_BUSY, 0.80), STATUS_GOOD);
    assert_int_equal(threshold_judge(LIMIT_GPU_BUSY, 0.79), STATUS_ACCEPTABLE);
    assert_int_equal(threshold_judge(LIMIT_GPU_BUSY, 0.49), STATUS_BAD);
    assert_int_equal(threshold_judge(LIMIT_WAIT, 0.049), STATUS_GOOD);
    assert_int_equal(threshold_judge(LIMIT_WAIT, 0.30), STATUS_ACCEPTABLE);
    assert_int_equal(threshold_judge(LIMIT_WAIT, 0.31), STATUS_BAD);
    assert_int_equal(threshold_judge(LIMIT_CYCLE, 0.29), STATUS_GOOD);
    assert_int_equal(threshold_judge(LIMIT_CYCLE, 0.30), STATUS_BAD);
    assert_int_equal(threshold_judge(LIMIT_STORAGE, 0.060), STATUS_BAD);
    assert_int_equal(threshold_judge(LIMIT_PADDING, NAN), STATUS_UNKNOWN);
    for (int i = 0; i < LIMIT_COUNT; i++)
        assert_true(threshold((LimitId)i)->name && threshold((LimitId)i)->measure &&
                    threshold((LimitId)i)->note);
    Buf b = {0};
    thresholds_text(&b);
    assert_non_null(strstr(b.data, "trainer waits on data"));
    buf_free(&b);
}

/* ---- real runs ---- */

static void look(Observation *o, const char *options, int64_t batches)
{
    Config cfg;
    Devices d;
    Corpus c;
    Log log;
    Err err = {0};
    pipeline_config(&cfg, options);
    log_init(&log, LOG_ERROR);
    if (devices_open(&d, &cfg, &log, &err) || corpus_open(&c, &cfg, SPLIT_TRAIN, &log, &err))
        fail_msg("%s", err.msg);
    ObserveOptions oo = {.cfg = &cfg,
                         .data = d.data,
                         .model = d.model,
                         .sim = d.has_sim ? &d.sim : NULL,
                         .corpus = &c,
                         .batches = batches,
                         .log = &log};
    if (observe(o, &oo, &err))
        fail_msg("%s", err.msg);
    corpus_close(&c);
    devices_close(&d);
    config_close(&cfg);
}

/* One disk that is asked by two at once: the second read's time begins when the first is over. */
static void test_disk_time(void **state)
{
    Counters *c = mem_aligned(_Alignof(Counters), 1, sizeof *c);
    int alone;
    assert_non_null(c);
    memset(c, 0, sizeof *c);
    counters_read_begin(c, &alone);
    assert_int_equal(alone, 1);
    int second;
    counters_read_begin(c, &second);
    assert_int_equal(second, 0);
    assert_int_equal(counters_read_end(c, 1000, 2000, alone), 1000);
    assert_int_equal(counters_read_end(c, 1500, 3100, second), 1100);
    counters_read_begin(c, &alone);
    assert_int_equal(alone, 1);
    assert_int_equal(counters_read_end(c, 5000, 5600, alone), 600); /* idle before: its own time alone */
    /* One disk: a few stalls meet reads of one kind, but the usual read of both takes the same. */
    for (int i = 0; i < 100; i++) {
        counters_read_begin(c, &alone);
        counters_read_end(c, (uint64_t)i << 32, ((uint64_t)i << 32) + (i % 5 < 2 ? 9000000 : 700000), 1);
        counters_read_begin(c, &alone);
        counters_read_end(c, ((uint64_t)i << 32) + 10000000, ((uint64_t)i << 32) + 10700000, 0);
    }
    ReadTimes own = counters_read_times(c, 1), shared = counters_read_times(c, 0);
    assert_true(own.n == 102 && own.median > 0.65e-3 && own.median < 0.75e-3 && own.mean > 3e-3);
    assert_true(shared.n == 101 && shared.median == own.median && shared.mean < 0.75e-3);
    counters_trace_begin(c, 3, 8, 100);
    counters_trace_add(c, 3, TRACE_DECODE, 2000);
    counters_trace_add(c, 3, TRACE_DECODE, 500);
    assert_true(fabs(counters_trace(c, 3, TRACE_DECODE) - 2.5e-6) < 1e-12);
    counters_trace_begin(c, 3 + TRACE_KEEP, 8, 100); /* takes its place */
    assert_true(counters_trace(c, 3, TRACE_DECODE) == 0);
    free(c);
}

/* The traces hold what the machine took for every batch: at least that, since threads wake up late. */
static void test_traces(void **state)
{
    static const char spec[] = "read_ms=3,decode_ms=5,h2d_us=2000,preprocess_ms=2,peer_us=1000,step_ms=4,"
                               "jitter=0.3,seed=5,stall=peer:9:12";
    static const struct {
        TraceId trace;
        StageId stage;
    } pairs[] = {{TRACE_DECODE, STAGE_DECODE},
                 {TRACE_H2D, STAGE_H2D},
                 {TRACE_PREPROCESS, STAGE_PREPROCESS},
                 {TRACE_PEER, STAGE_PEER},
                 {TRACE_STEP, STAGE_STEP}};
    Observation o;
    Sim sim;
    Err err = {0};
    char options[300];
    snprintf(options, sizeof options, "--data-gpu sim0 --model-gpu sim1 --num-workers 3 --sim %s", spec);
    look(&o, options, 40);
    assert_int_equal(sim_parse(&sim, spec, &err), 0);
    assert_true(o.n >= 40 + o.from - 1 && o.from_start);
    double disk = 0, drawn = 0;
    for (int64_t k = 0; k < o.n; k++) {
        for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
            double least = sim_seconds(&sim, pairs[i].stage, k, 0), seen = (double)o.trace[pairs[i].trace][k];
            if (seen < 0.999 * least - 1e-6)
                fail_msg("%s of batch %lld: %.3f ms, less than the machine's %.3f ms",
                         stage_name(pairs[i].stage), (long long)k, 1e3 * seen, 1e3 * least);
        }
        disk += (double)o.trace[TRACE_DISK][k];
        drawn += sim_seconds(&sim, STAGE_READ, k, 0);
        assert_true(o.trace[TRACE_READ][k] >= o.trace[TRACE_DISK][k]);
        assert_true(o.rows[k] > 0 && o.rows[k] <= 8);
        assert_true(o.host_ready[k] <= (float)o.report.slots && o.device_ready[k] <= (float)o.report.buffers);
    }
    assert_true(disk > 0.99 * drawn); /* the disk's own time: waiting in its queue is not counted twice */
    assert_int_equal(o.serial_disk, 1);
    sim_close(&sim);
    observation_close(&o);
}

static void test_real_pipelines(void **state)
{
    static const struct {
        const char *options, *stage, *cause;
        int period;
    } runs[] = {
        {"--data-gpu sim0 --model-gpu sim1 --sim "
         "read_ms=40,decode_ms=2,h2d_us=1000,preprocess_ms=2,peer_us=1000,step_ms=10",
         "read", "storage", 0},
        {"--data-gpu sim0 --model-gpu sim0 --num-workers 1 --sim "
         "read_ms=1,decode_ms=40,h2d_us=1000,preprocess_ms=2,step_ms=10",
         "decode", "workers", 0},
        {"--data-gpu sim0 --model-gpu sim1 --sim "
         "read_ms=2,decode_ms=2,h2d_us=1000,preprocess_ms=2,peer_us=1000,step_ms=10,stall=h2d:10:250",
         "h2d", "stall", 10},
        {"--data-gpu sim0 --model-gpu sim1 --sim "
         "read_ms=8,decode_ms=8,h2d_us=1000,preprocess_ms=8,peer_us=1000,step_ms=20",
         "none", "none", 0},
    };
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        Observation o;
        Verdict v;
        Err err = {0};
        look(&o, runs[i].options, 60);
        assert_int_equal(doctor_judge(&v, &o, &err), 0);
        const char *stage = v.stage < 0 ? "none" : stage_name((StageId)v.stage);
        if (strcmp(stage, runs[i].stage) || strcmp(cause_name(v.cause), runs[i].cause) ||
            v.period != runs[i].period)
            fail_msg("%s: %s/%s/%d, check %+.1f %%: %s", runs[i].options, stage, cause_name(v.cause),
                     v.period, 100 * v.check, v.sentence);
        observation_close(&o);
    }
}

/* Slots that are added make another pipeline: what came before is not in the window. */
static void test_window_after_added_slots(void **state)
{
    Observation o;
    look(&o,
         "--data-gpu sim0 --model-gpu sim1 --num-workers 2 --batch-size 16 --sim "
         "read_ms=1,step_ms=8,stall=read:20:110",
         60);
    assert_int_equal(o.report.slots_at_start, 4);
    assert_true(o.report.slots > 4);
    assert_true(o.from >= o.report.slots_added_at && o.report.slots_added_at > 0);
    assert_true(o.n - o.from >= 60);
    observation_close(&o);
}

/* The real training step on the CPU; and a run that is looked at when it is over. */
static void test_on_cpu(void **state)
{
    Observation o;
    Verdict v;
    Err err = {0};
    look(&o, "--model-size nano --decoder-layers 1 --batch-size 2 --num-workers 1", 12);
    assert_true(o.has_phases && o.phase[2] > 0 && o.parameters > 0 && !o.simulated && o.host_model);
    assert_int_equal(doctor_judge(&v, &o, &err), 0);
    assert_true(v.cause == CAUSE_COMPUTE ? v.stage == STAGE_STEP : 1);
    assert_false(entries_of(corpora.folder.path) > 2); /* nothing but the dataset and its cache */
    observation_close(&o);
}

/* ---- the command ---- */

static int run_command(char **text, const char *command, const char *options)
{
    char words[2000], *argv[MOST_OPTIONS] = {(char *)(uintptr_t)command}, *save = NULL, path[400];
    int argc = 1;
    Log log;
    log_init(&log, LOG_ERROR);
    snprintf(words, sizeof words,
             "--data-path %s --cache-dir %s --use-phonemes false --text-cleaners basic --min-audio-length "
             "0.05 --val-split 0 "
             "--batch-size 8 "
             "--num-workers 2 --seed 7 --n-mels 20 --length-buckets 3 --quiet %s",
             corpora.data, corpora.cache, options);
    for (char *w = strtok_r(words, " ", &save); w; w = strtok_r(NULL, " ", &save))
        argv[argc++] = w;
    snprintf(path, sizeof path, "%s", folder_file(&corpora.folder, "out"));
    fflush(stdout);
    int saved = dup(1), fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_true(saved >= 0 && fd >= 0);
    dup2(fd, 1);
    int code = strcmp(command, "diagnose") ? cmd_profile(argc, argv, &log) : cmd_diagnose(argc, argv, &log);
    fflush(stdout);
    dup2(saved, 1);
    close(saved);
    close(fd);
    Buf b = {0};
    Err err = {0};
    assert_int_equal(file_read(&b, path, 1 << 24, &err), 0);
    buf_add(&b, "", 1);
    *text = b.data;
    unlink(path);
    return code;
}

static int diagnose(char **text, const char *options) { return run_command(text, "diagnose", options); }

/* The first wall is the bottleneck, and no advice stands beside the sentence that there is none. */
static void check_report_walls(const json_t *r)
{
    const json_t *first = json_array_get(json_object_get(r, "walls"), 0);
    assert_non_null(first);
    assert_string_equal(json_string_value(json_object_get(first, "stage")),
                        json_string_value(json_object_get(r, "bottleneck")));
    assert_string_equal(json_string_value(json_object_get(first, "cause")),
                        json_string_value(json_object_get(r, "cause")));
    assert_true(json_equal(json_object_get(first, "period_steps"), json_object_get(r, "period_steps")));
    assert_true(json_is_number(json_object_get(first, "gain_alone")) &&
                json_is_number(json_object_get(first, "gain_so_far")));
    char *all = json_dumps(r, 0);
    assert_null(strstr(all, "o setting helps"));
    free(all);
}

/* `profile data` of a sound pipeline finds nothing; one that stalls has a stage, a period and an exit code.
 * The same for `profile dual`. */
static void test_profiles(void **state)
{
    static const struct {
        const char *options, *kind, *stage;
        int code;
    } runs[] = {
        {"data --sim read_ms=2,decode_ms=8,h2d_us=1000,preprocess_ms=2,peer_us=500,jitter=0.3", "none",
         "none", 0},
        {"data --sim read_ms=2,decode_ms=4,h2d_us=2000,preprocess_ms=2,peer_us=500,stall=h2d:9:90",
         "periodic", "h2d", 1},
        {"dual --sim read_ms=20,decode_ms=2,h2d_us=1000,preprocess_ms=2,peer_us=500,step_ms=10", "none",
         "none", 1},
    };
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        char *text, options[400];
        json_error_t error;
        snprintf(options, sizeof options, "%s --data-gpu sim0 --model-gpu sim1 --num-%s 60 --json",
                 runs[i].options, runs[i].options[1] == 'a' ? "batches" : "steps");
        int code = run_command(&text, "profile", options);
        json_t *r = json_loads(text, 0, &error), *swing = json_object_get(r, "swing");
        assert_non_null(swing);
        check_report_walls(r);
        assert_string_equal(json_string_value(json_object_get(swing, "kind")), runs[i].kind);
        assert_string_equal(json_string_value(json_object_get(swing, "stage")), runs[i].stage);
        assert_int_equal(code, runs[i].code);
        if (!strcmp(runs[i].kind, "none") && runs[i].options[1] == 'a')
            assert_null(strstr(text, "\"variation\", \"status\": \"bad\""));
        json_decref(r);
        free(text);
    }
}

static void check_report_json(const char *text)
{
    json_error_t error;
    json_t *r = json_loads(text, 0, &error);
    assert_non_null(r);
    assert_string_equal(json_string_value(json_object_get(r, "bottleneck")), "decode");
    assert_string_equal(json_string_value(json_object_get(r, "cause")), "workers");
    assert_true(json_is_null(json_object_get(r, "period_steps")));
    check_report_walls(r);
    assert_int_equal(json_array_size(json_object_get(r, "sections")), 8);
    assert_true(json_array_size(json_object_get(r, "charts")) >= 6);
    assert_int_equal(json_array_size(json_object_get(r, "configuration_changes")) > 0, 1);
    assert_int_equal(json_array_size(json_object_get(r, "pictures")), 1); /* of the run's folder */
    int measured = 0;
    size_t i;
    json_t *g;
    json_array_foreach(json_object_get(r, "gains"), i, g)
    {
        assert_true(json_is_string(json_object_get(g, "change")) &&
                    json_is_number(json_object_get(g, "predicted")));
        measured += json_is_number(json_object_get(g, "measured"));
    }
    assert_int_equal(measured, 1);
    json_decref(r);
}

static void check_report_files(const char *report, const char *page)
{
    Err err = {0};
    Buf b = {0};
    assert_int_equal(file_read(&b, page, 1 << 20, &err), 0);
    assert_non_null(
        memmem(b.data, b.size, "<img alt=\"Loss\" src=\"data:image/png;base64,iVBORw0KGgoA\"", 50));
    buf_clear(&b);
    assert_int_equal(file_read(&b, report, 1 << 20, &err), 0);
    buf_add(&b, "", 1);
    for (const char *const *w =
             (const char *const[]){"ISSUES", "RECOMMENDATIONS", "CONFIGURATION CHANGES", "VERDICT", "[8]",
                                   "what limits training, in order", NULL};
         *w; w++)
        assert_non_null(strstr(b.data, *w));
    buf_free(&b);
}

static void test_command(void **state)
{
    char *text, options[900], report[300], page[300], picture[300];
    Err err = {0};
    snprintf(picture, sizeof picture, "%s", folder_file(&corpora.folder, "loss.png"));
    assert_int_equal(file_replace(picture, "\x89PNG\r\n\x1a\n\0", 9, &err), 0);
    snprintf(report, sizeof report, "%s", folder_file(&corpora.folder, "report.txt"));
    snprintf(page, sizeof page, "%s", folder_file(&corpora.folder, "report.html"));
    snprintf(
        options, sizeof options,
        "%s --data-gpu sim0 --model-gpu sim1 --num-batches 40 --json --apply --output %s --html %s --sim "
        "read_ms=1,decode_ms=60,h2d_us=1000,preprocess_ms=2,peer_us=1000,step_ms=10",
        corpora.folder.path, report, page);
    assert_int_equal(diagnose(&text, options), 1);
    check_report_json(text);
    free(text);
    assert_true(file_exists(report) && file_exists(page));
    check_report_files(report, page);
    unlink(report);
    unlink(page);
    unlink(picture);
    assert_int_equal(diagnose(&text, "/nowhere/at/all --num-batches 12"), 3);
    free(text);
    assert_int_equal(diagnose(&text, "--thresholds"), 0);
    assert_non_null(strstr(text, "padding share"));
    free(text);
    assert_int_equal(diagnose(&text, "--num-batches 3"), 2);
    free(text);
}

/* Every stage and every cause has its words, in both languages, and no two the same. */
static void test_stage_words(void **state)
{
    for (int m = MESSAGES_ENGLISH; m <= MESSAGES_PERSIAN; m++) {
        words_choose((Messages)m);
        for (int i = 0; i < STAGE_COUNT; i++)
            for (int k = 0; k < i; k++) {
                assert_string_not_equal(stage_subject((StageId)i), stage_subject((StageId)k));
                assert_string_not_equal(stage_twice((StageId)i), stage_twice((StageId)k));
                assert_string_not_equal(stage_advice((StageId)i), stage_advice((StageId)k));
            }
        for (int c = CAUSE_NONE; c <= CAUSE_SETTING; c++) {
            assert_int_equal(cause_find(cause_name((Cause)c)), c);
            for (int k = 0; k < c; k++)
                assert_string_not_equal(cause_shown((Cause)c), cause_shown((Cause)k));
        }
    }
    words_choose(MESSAGES_ENGLISH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stage_words),
        cmocka_unit_test(test_cycle_found),
        cmocka_unit_test(test_cycle_not_invented),
        cmocka_unit_test(test_autocorrelation),
        cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_profiles),
        cmocka_unit_test(test_forecast),
        cmocka_unit_test(test_forecast_adds_slots),
        cmocka_unit_test(test_window_after_added_slots),
        cmocka_unit_test(test_gains_apply),
        cmocka_unit_test(test_thresholds),
        cmocka_unit_test(test_disk_time),
        cmocka_unit_test(test_traces),
        cmocka_unit_test(test_real_pipelines),
        cmocka_unit_test(test_on_cpu),
        cmocka_unit_test(test_command),
    };
    return cmocka_run_group_tests(tests, setup_corpora, teardown_corpora);
}
