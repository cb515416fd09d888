/* doctor_testing.c - see doctor_testing.h. */
#include "doctor_testing.h"

#include "pipeline_testing.h"

void make_observation(Observation *o, const Machine *m)
{
    static const struct {
        TraceId trace;
        StageId stage;
    } drawn[] = {{TRACE_READ, STAGE_READ}, {TRACE_DISK, STAGE_READ}, {TRACE_DECODE, STAGE_DECODE},
                 {TRACE_H2D, STAGE_H2D},   {TRACE_FEED, STAGE_H2D},  {TRACE_PREPROCESS, STAGE_PREPROCESS},
                 {TRACE_PEER, STAGE_PEER}, {TRACE_STEP, STAGE_STEP}};
    Sim sim;
    Err err = {0};
    assert_int_equal(sim_parse(&sim, m->sim, &err), 0);
    *o = (Observation){.n = BATCHES,
                       .from = 24,
                       .from_start = 1,
                       .cores = 8,
                       .serial_disk = 1,
                       .batch_size = ROWS,
                       .num_workers = m->workers,
                       .most_buffers = m->most_buffers,
                       .start_buffers = 3,
                       .two_devices = m->two,
                       .prefetch = 1,
                       .overlap = 1,
                       .own_copy = 1,
                       .held = 1,
                       .simulated = 1,
                       .model_name = "sim1"};
    o->report.workers = m->workers, o->report.slots = m->slots;
    for (int t = 0; t < TRACE_COUNT; t++)
        assert_non_null(o->trace[t] = calloc(BATCHES, sizeof(float)));
    assert_non_null(o->rows = calloc(BATCHES, sizeof(int)));
    assert_non_null(o->frames = calloc(BATCHES, sizeof(int)));
    assert_non_null(o->host_ready = calloc(BATCHES, sizeof(float)));
    assert_non_null(o->device_ready = calloc(BATCHES, sizeof(float)));
    for (int k = 0; k < BATCHES; k++) {
        o->rows[k] = ROWS;
        for (size_t i = 0; i < sizeof drawn / sizeof *drawn; i++)
            o->trace[drawn[i].trace][k] = (float)sim_seconds(&sim, drawn[i].stage, k, 0);
    }
    sim_close(&sim);
    ForecastSettings s;
    Forecast f;
    forecast_settings(&s, o);
    assert_int_equal(forecast_run(&f, o, &s, &err), 0);
    o->period = o->step_mean = f.period;
    o->wait_share = f.wait_share;
    o->busy_share = 1 - f.wait_share;
    o->report.buffers = f.buffers;
    o->utterances_per_s = ROWS / f.period;
}

void measure_steps(Observation *o)
{
    float times[BATCHES];
    ForecastSettings s;
    Forecast f;
    Err err = {0};
    forecast_settings(&s, o);
    s.times = times;
    assert_int_equal(forecast_run(&f, o, &s, &err), 0);
    for (int k = 0; k < BATCHES; k++)
        o->trace[TRACE_WAIT][k] = times[k] - o->trace[TRACE_STEP][k];
    o->period = o->step_mean = f.period;
    o->wait_share = f.wait_share;
    o->busy_share = 1 - f.wait_share;
}
