/* test_pipeline.c - the batches: the same bytes for any number of workers, on any devices, with and without
 * overlap, after stopping anywhere and going on; every utterance once an epoch; what the report counts. */
#include "base/hash.h"
#include "diag/pipeline/observation.h"
#include "support/pipeline_testing.h"

enum { MOST = 200 };

/* Two epochs of 60 clips in batches of 8. */
enum { PER_EPOCH = 8, TWO_EPOCHS = 16 };

static void same_bytes(const char *base, const char *const *others)
{
    Hash128 want[MOST], got[MOST];
    char all[1000];
    snprintf(all, sizeof all, "%s --num-workers 1", base);
    int n = run_all(all, (RunOptions){.epochs = 2}, want, MOST);
    assert_int_equal(n, TWO_EPOCHS);
    for (int i = 0; others[i]; i++) {
        snprintf(all, sizeof all, "%s %s", base, others[i]);
        int m = run_all(all, (RunOptions){.epochs = 2}, got, MOST);
        check_hashes(want, n, got, m, all);
    }
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            assert_false(hash_equal(want[i], want[k])); /* the hash tells batches apart */
}

static const char *const machines[] = {
    "--num-workers 0",
    "--num-workers 2",
    "--num-workers 8",
    "--native-loading false",
    "--num-workers 2 --data-gpu sim0 --model-gpu sim0",
    "--num-workers 0 --data-gpu sim0 --model-gpu sim0",
    "--num-workers 8 --data-gpu sim0 --model-gpu sim1",
    "--num-workers 2 --data-gpu cpu --model-gpu sim0",
    "--num-workers 2 --data-gpu sim0 --model-gpu cpu",
    "--native-loading false --data-gpu sim0 --model-gpu sim1",
    "--native-loading false --data-gpu sim0 --model-gpu cpu",
    "--num-workers 2 --data-gpu sim0 --model-gpu sim1 --pin-memory false --enhanced-gpu-prefetch false",
    "--num-workers 2 --data-gpu sim0 --model-gpu sim1 --prefetch-to-gpu false",
    "--num-workers 2 --data-gpu sim0 --model-gpu sim1 --optimize-cpu-gpu-overlap false",
    "--num-workers 2 --enable-memory-mapping false --prefetch-buffer-size 2",
    "--num-workers 8 --prefetch-buffer-size 20 --cache-verification off",
    /* random times, so that stages overtake each other where they can */
    "--num-workers 4 --data-gpu sim0 --model-gpu sim1 --sim "
    "read_ms=1,decode_ms=3,h2d_us=500,preprocess_ms=2,peer_us=700,step_ms=2,jitter=1.5",
    "--num-workers 4 --data-gpu sim0 --model-gpu sim0 --pipeline-buffer-size 6 --sim "
    "read_ms=1,decode_ms=3,h2d_us=900,preprocess_ms=1,jitter=2,seed=3",
    NULL,
};

static void test_bytes_precompute(void **state) { same_bytes("--preprocessing-mode precompute", machines); }

static void test_bytes_on_the_fly(void **state) { same_bytes("--preprocessing-mode on_the_fly", machines); }

static void test_bytes_augmented(void **state)
{
    same_bytes(
        "--preprocessing-mode on_the_fly --augment-gain-db 6 --augment-noise-db 30 --augment-speed 0.2",
        machines + 5);
}

static void test_bytes_fixed_shape(void **state)
{
    same_bytes("--pad-to-fixed-length true --max-mel-frames 140 --max-text-length 300", machines + 3);
}

static void test_bytes_float16(void **state)
{
    char base[500];
    snprintf(base, sizeof base, "--cache-dir %s/half --mel-storage float16", corpora.folder.path);
    prepare_caches(base);
    same_bytes(base, machines);
    Hash128 half[MOST], whole[MOST];
    int n = run_all(base, (RunOptions){.epochs = 1}, half, MOST);
    assert_int_equal(run_all("", (RunOptions){.epochs = 1}, whole, MOST), n);
    assert_false(hash_equal(half[0], whole[0]));
}

/* Stopped after k batches and opened anew from the state: the rest is the same. */
static void resume_everywhere(const char *options)
{
    Hash128 want[MOST], h;
    int n = run_all(options, (RunOptions){.epochs = 2}, want, MOST);
    for (int stop = 0; stop <= n; stop++) {
        Run r;
        PipelineState at;
        run_open(&r, options, (RunOptions){.epochs = 2});
        for (int i = 0; i < stop; i++)
            assert_int_equal(run_next(&r, NULL), 0);
        pipeline_state(r.pipeline, &at);
        run_close(&r);
        assert_int_equal(at.epoch, stop / PER_EPOCH);
        assert_int_equal(at.index, stop % PER_EPOCH);
        assert_int_equal(at.seed, 7);
        run_open(&r, options, (RunOptions){.epochs = 2, .start = at});
        for (int i = stop; i < n; i++) {
            assert_int_equal(run_next(&r, &h), 0);
            if (!hash_equal(h, want[i]))
                fail_msg("batch %d differs after stopping at %d (%s)", i, stop, options);
            assert_int_equal(r.batch.info.number, i);
            assert_int_equal(r.batch.info.epoch, i / PER_EPOCH);
            assert_int_equal(r.batch.info.index, i % PER_EPOCH);
        }
        assert_int_equal(run_next(&r, &h), ERR_STOPPED);
        assert_int_equal(run_next(&r, &h), ERR_STOPPED); /* and stays so */
        run_close(&r);
    }
}

static void test_resume_anywhere(void **state)
{
    resume_everywhere("--num-workers 2");
    resume_everywhere("--num-workers 3 --data-gpu sim0 --model-gpu sim1");
    resume_everywhere("--native-loading false");
    resume_everywhere("--preprocessing-mode on_the_fly --augment-noise-db 40 --augment-speed 0.1");
}

static void test_a_state_that_does_not_exist(void **state)
{
    Run r;
    assert_int_equal(run_try(&r, "", (RunOptions){.start = {.epoch = 1, .index = PER_EPOCH}}), ERR_DATA);
    assert_non_null(strstr(r.err.msg, "batch 8 of epoch 1"));
    run_close(&r);
    run_open(&r, "",
             (RunOptions){.epochs = 2,
                          .start = {.epoch = 5, .index = 3}}); /* more epochs were done than are wanted now */
    assert_int_equal(run_next(&r, NULL), ERR_STOPPED);
    run_close(&r);
}

static void test_other_seeds_other_order(void **state)
{
    Hash128 a[MOST], b[MOST];
    run_all("--seed 7", (RunOptions){.epochs = 1}, a, MOST);
    run_all("--seed 8", (RunOptions){.epochs = 1}, b, MOST);
    assert_false(hash_equal(a[0], b[0]) && hash_equal(a[1], b[1]));
}

/* Every utterance once an epoch, with what its line and its file say, over the border of epochs. */
static void check_content(const char *options)
{
    Run r;
    int seen[3][CLIPS] = {{0}};
    run_open(&r, options, (RunOptions){.epochs = 3});
    while (run_next(&r, NULL) == 0) {
        const BatchLayout *l = &r.batch.layout;
        const BatchInfo *info = &r.batch.info;
        int64_t tokens = 0, frames = 0;
        for (int row = 0; row < r.cfg.batch_size; row++) {
            int32_t u = batch_ints(&r, l->utterance)[row], t = batch_ints(&r, l->text_length)[row];
            int32_t m = batch_ints(&r, l->mel_length)[row], speaker = batch_ints(&r, l->speaker)[row];
            const int32_t *ids = batch_ints(&r, l->tokens) + (size_t)row * (size_t)info->text;
            const float *mel = batch_mel(&r, row);
            assert_int_equal(u >= 0, row < info->count);
            tokens += t;
            frames += m;
            for (int i = t; i < info->text; i++)
                assert_int_equal(ids[i], 0);
            for (int64_t i = (int64_t)m * r.cfg.n_mels; i < (int64_t)info->frames * r.cfg.n_mels; i++)
                assert_true(mel[i] == 0);
            if (u < 0) {
                assert_int_equal(u, -1);
                assert_true(t == 0 && m == 0 && speaker == 0);
                continue;
            }
            assert_true(u < CLIPS);
            assert_int_equal(speaker, u % 3);
            assert_true(t > 0 && t <= info->text && m > 0 && m <= info->frames);
            assert_int_equal(ids[0], 1);
            assert_int_equal(ids[t - 1], 2);
            seen[info->epoch][u]++;
        }
        assert_int_equal(info->real_tokens, tokens);
        assert_int_equal(info->real_frames, frames);
        assert_int_equal(info->frames % SAMPLER_FRAME_MULTIPLE, 0);
    }
    assert_int_equal(r.err.code, ERR_STOPPED);
    for (int e = 0; e < 3; e++)
        for (int i = 0; i < CLIPS; i++)
            assert_int_equal(seen[e][i], 1);
    run_close(&r);
}

static void test_every_utterance_once_an_epoch(void **state)
{
    check_content("--num-workers 8");
    check_content("--data-gpu sim0 --model-gpu sim1 --batch-size 7 --length-buckets 5");
    check_content("--batch-size 59");
    check_content("--batch-size 61 --native-loading false");
    check_content("--preprocessing-mode on_the_fly --batch-size 1");
}

static void test_normalised(void **state)
{
    Run r;
    double sum = 0, squares = 0, n = 0;
    run_open(&r, "", (RunOptions){.epochs = 1});
    while (run_next(&r, NULL) == 0)
        for (int row = 0; row < r.batch.info.count; row++)
            for (int i = 0; i < batch_ints(&r, r.batch.layout.mel_length)[row] * r.cfg.n_mels; i++, n++) {
                sum += batch_mel(&r, row)[i];
                squares += (double)batch_mel(&r, row)[i] * batch_mel(&r, row)[i];
            }
    assert_true(fabs(sum / n) < 1e-3 && fabs(squares / n - 1) < 1e-2);
    run_close(&r);
}

/* on_the_fly makes the mel that the cache holds. */
static void test_modes_agree(void **state)
{
    Run a, b;
    run_open(&a, "--preprocessing-mode precompute", (RunOptions){.epochs = 1});
    run_open(&b, "--preprocessing-mode on_the_fly", (RunOptions){.epochs = 1});
    for (int i = 0; i < PER_EPOCH; i++) {
        assert_int_equal(run_next(&a, NULL), 0);
        assert_int_equal(run_next(&b, NULL), 0);
        assert_int_equal(a.batch.layout.bytes, b.batch.layout.bytes);
        assert_int_equal(a.batch.info.real_frames, b.batch.info.real_frames);
        for (int row = 0; row < 8; row++) {
            assert_int_equal(batch_ints(&a, a.batch.layout.mel_length)[row],
                             batch_ints(&b, b.batch.layout.mel_length)[row]);
            for (int k = 0; k < a.batch.info.frames * a.cfg.n_mels; k++)
                assert_true(fabsf(batch_mel(&a, row)[k] - batch_mel(&b, row)[k]) < 1e-3f);
        }
    }
    run_close(&a);
    run_close(&b);
}

static void test_report(void **state)
{
    Run r;
    PipelineReport p;
    int64_t utterances = 0, padded = 0, real = 0;
    run_open(&r, "--num-workers 2 --data-gpu sim0 --model-gpu sim1 --prefetch-buffer-size 5",
             (RunOptions){.epochs = 2});
    for (int i = 0; i < 11; i++) {
        assert_int_equal(run_next(&r, NULL), 0);
        utterances += r.batch.info.count;
        padded += 8 * r.batch.info.frames;
        real += r.batch.info.real_frames;
    }
    pipeline_report(r.pipeline, &p);
    assert_int_equal(p.batches, 11);
    assert_int_equal(p.utterances, utterances);
    assert_int_equal(p.padded_frames, padded);
    assert_int_equal(p.real_frames, real);
    assert_int_equal(p.lost, 0);
    assert_int_equal(p.workers, 2);
    assert_int_equal(p.slots, 5);
    assert_int_equal(p.buffers_at_start, 3);
    assert_int_equal(p.data_bytes, r.devices.data->used);
    assert_int_equal(p.model_bytes, r.devices.model->used);
    assert_int_equal(p.stages[STAGE_READ].threads, 2);
    while (run_next(&r, NULL) == 0) {
    }
    pipeline_report(r.pipeline, &p);
    assert_int_equal(p.batches, TWO_EPOCHS);
    assert_int_equal(p.utterances, 2 * CLIPS);
    for (int s = 0; s < 3; s++)
        assert_int_equal(p.stages[s].items, TWO_EPOCHS);
    assert_true(p.stages[STAGE_PEER].items > 0 && p.stages[STAGE_PEER].items <= TWO_EPOCHS);
    assert_true(p.stages[STAGE_READ].busy > 0 && p.stages[STAGE_H2D].bytes > 0);
    double share = 1 - (double)p.real_frames / (double)p.padded_frames;
    assert_true(fabs(share - sampler_padding(pipeline_sampler(r.pipeline))) < 1e-12);
    run_close(&r);
}

/* Pinned memory is planned for all the slots that there may be; at first there are fewer. */
static void test_plan_is_what_is_taken(void **state)
{
    const char *const pairs[] = {"--data-gpu sim0 --model-gpu sim1", "--data-gpu sim0 --model-gpu sim0",
                                 "--data-gpu cpu --model-gpu sim0 --preprocessing-mode on_the_fly"};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        Run r;
        uint64_t data, model, pinned;
        PipelineReport p;
        run_open(&r, pairs[i], (RunOptions){0});
        PipelineOptions o = {
            .cfg = &r.cfg, .corpus = &r.corpus, .data = r.devices.data, .model = r.devices.model};
        assert_int_equal(pipeline_plan(&data, &model, &pinned, &o, &r.err), 0);
        pipeline_report(r.pipeline, &p);
        assert_int_equal(p.data_bytes, data);
        assert_int_equal(p.model_bytes, model);
        assert_int_equal(p.most_slots, 8 * p.slots);
        assert_true(p.pinned_bytes < pinned);
        if (r.devices.data->ops->kind !=
            DEVICE_HOST) /* memory of the host may be taken as pinned memory of the other device */
            assert_int_equal(r.devices.data->used, data + (r.devices.data == r.devices.model ? model : 0));
        run_close(&r);
        char options[200];
        snprintf(options, sizeof options, "%s --prefetch-buffer-size %d", pairs[i], p.most_slots);
        run_open(&r, options, (RunOptions){0});
        pipeline_report(r.pipeline, &p);
        assert_int_equal(p.pinned_bytes, pinned);
        run_close(&r);
    }
}

/* A consumer that hands batches back without having waited for them does not spoil those that follow. */
static void test_release_without_await(void **state)
{
    const char *options = "--data-gpu sim0 --model-gpu sim1 --sim preprocess_ms=3,peer_us=3000,h2d_us=500";
    Hash128 want[MOST], h;
    Run r;
    int n = run_all("", (RunOptions){.epochs = 2}, want, MOST);
    run_open(&r, options, (RunOptions){.epochs = 2});
    for (int i = 0; i < n; i++) {
        if (i % 4 == 3) {
            assert_int_equal(run_next(&r, &h), 0);
            assert_true(hash_equal(h, want[i]));
            continue;
        }
        DeviceBatch b;
        assert_int_equal(pipeline_take(r.pipeline, &b, &r.err), 0);
        assert_int_equal(pipeline_release(r.pipeline, &b, r.stream, &r.err), 0);
    }
    run_close(&r);
}

/* Steps and waits as the meter sees them on a machine whose times are known. */
static void test_step_meter(void **state)
{
    Run r;
    StepMeter m;
    run_open(&r, "--data-gpu sim0 --model-gpu sim1 --sim step_ms=10,h2d_us=1000,preprocess_ms=1",
             (RunOptions){.epochs = 3});
    const DeviceOps *ops = r.devices.model->ops;
    assert_int_equal(step_meter_open(&m, r.devices.model, pipeline_counters(r.pipeline), 4, &r.err), 0);
    int n = 0;
    DeviceBatch b;
    while (pipeline_take(r.pipeline, &b, &r.err) == 0) {
        ops->stream_batch(r.stream, b.info.number, 0);
        assert_int_equal(pipeline_await(r.pipeline, &b, r.stream, &r.err), 0);
        assert_int_equal(step_meter_begin(&m, r.stream, &r.err), 0);
        assert_int_equal(ops->run(r.stream, nothing, NULL, 0, STAGE_STEP, &r.err), 0);
        assert_int_equal(step_meter_end(&m, r.stream, &r.err), 0);
        assert_int_equal(pipeline_release(r.pipeline, &b, r.stream, &r.err), 0);
        n++;
    }
    assert_int_equal(step_meter_finish(&m, &r.err), 0);
    assert_int_equal(m.begun, n);
    assert_int_equal(m.read, n);
    assert_int_equal(m.sample_count, n - 4);
    for (int i = 0; i < n - 4; i++) {
        assert_true(m.samples[i].busy > 0.00999f && m.samples[i].wait >= 0);
        assert_true(fabsf(m.samples[i].step - m.samples[i].busy - m.samples[i].wait) < 1e-6f);
    }
    assert_true(step_meter_wait_quantile(&m, 0.5) < 0.002); /* 2 ms of work are hidden behind steps of 10 */
    assert_true(step_meter_wait_quantile(&m, 0) <= step_meter_wait_quantile(&m, 0.5));
    assert_true(step_meter_wait_quantile(&m, 0.5) <= step_meter_wait_quantile(&m, 0.99));
    StageSnapshot s[STAGE_COUNT];
    counters_snapshot(pipeline_counters(r.pipeline), s);
    assert_int_equal(s[STAGE_STEP].items, n - 4);
    step_meter_close(&m);
    step_meter_close(&m);
    run_close(&r);
}

/* What the consumer does between two steps is no waiting for data, and a step that was set apart is no step
 * like the others. */
static void test_step_meter_aside(void **state)
{
    enum { EVERY = 5, PAUSE_US = 20000 };
    Run r;
    StepMeter m;
    run_open(&r, "--data-gpu sim0 --model-gpu sim1 --sim step_ms=4,h2d_us=500,preprocess_ms=1",
             (RunOptions){.epochs = 3});
    const DeviceOps *ops = r.devices.model->ops;
    Counters *c = pipeline_counters(r.pipeline);
    assert_int_equal(step_meter_open(&m, r.devices.model, c, 4, &r.err), 0);
    int n = 0, pauses = 0;
    DeviceBatch b;
    for (;; n++) {
        if (n % EVERY == EVERY - 1) { /* as a trainer that writes a report */
            assert_int_equal(ops->stream_wait_idle(r.stream, &r.err), 0);
            usleep(PAUSE_US);
        }
        assert_int_equal(step_meter_ask(&m, r.stream, &r.err), 0);
        if (pipeline_take(r.pipeline, &b, &r.err))
            break;
        pauses += n % EVERY == EVERY - 1;
        ops->stream_batch(r.stream, b.info.number, 0);
        assert_int_equal(pipeline_await(r.pipeline, &b, r.stream, &r.err), 0);
        assert_int_equal(step_meter_begin(&m, r.stream, &r.err), 0);
        for (int times = n == 6 ? 10 : 1; times > 0; times--) /* it captures a graph, say */
            assert_int_equal(ops->run(r.stream, nothing, NULL, 0, STAGE_STEP, &r.err), 0);
        if (n == 6)
            step_meter_set_apart(&m);
        assert_int_equal(step_meter_end(&m, r.stream, &r.err), 0);
        assert_int_equal(pipeline_release(r.pipeline, &b, r.stream, &r.err), 0);
    }
    assert_int_equal(step_meter_finish(&m, &r.err), 0);
    assert_int_equal(m.sample_count, n - 5);
    const double slept = 1e-6 * PAUSE_US * pauses, waited = m.wait.mean * (double)m.wait.n;
    printf("%d steps, %.0f ms slept: %.0f ms aside, %.1f ms waiting for data\n", n, 1e3 * slept,
           1e3 * m.aside, 1e3 * waited);
    assert_true(m.aside >= 0.9 * slept);
    assert_true(waited < 0.5 * slept);
    assert_true(m.apart_seconds >= 0.0399);
    assert_true(m.busy.max < 0.04);
    assert_int_equal(c->trace[6].apart, 1);
    assert_int_equal(c->trace[7].apart, 0);
    /* The doctor sees the time of its neighbours instead. */
    Observation o;
    assert_int_equal(
        observation_from_pipeline(&o, r.pipeline, &r.cfg, r.devices.data, r.devices.model, 4, 1, &r.err), 0);
    assert_true(o.trace[TRACE_STEP][6] < 0.02f && o.trace[TRACE_STEP][6] > 0.003f);
    assert_true(o.wait_share < 0.3);
    observation_close(&o);
    step_meter_close(&m);
    run_close(&r);
}

static void test_counters_off(void **state)
{
    Run r;
    PipelineReport p;
    run_open(&r, "--data-gpu sim0 --model-gpu sim1 --prefetch-to-gpu false", (RunOptions){.epochs = 2});
    pipeline_counters(r.pipeline)->off = 1;
    while (run_next(&r, NULL) == 0) {
    }
    pipeline_report(r.pipeline, &p);
    assert_int_equal(p.batches, TWO_EPOCHS);
    assert_int_equal(p.stages[STAGE_H2D].items, 0);
    run_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_precompute),
        cmocka_unit_test(test_bytes_on_the_fly),
        cmocka_unit_test(test_bytes_augmented),
        cmocka_unit_test(test_bytes_fixed_shape),
        cmocka_unit_test(test_bytes_float16),
        cmocka_unit_test(test_resume_anywhere),
        cmocka_unit_test(test_a_state_that_does_not_exist),
        cmocka_unit_test(test_other_seeds_other_order),
        cmocka_unit_test(test_every_utterance_once_an_epoch),
        cmocka_unit_test(test_normalised),
        cmocka_unit_test(test_modes_agree),
        cmocka_unit_test(test_report),
        cmocka_unit_test(test_plan_is_what_is_taken),
        cmocka_unit_test(test_release_without_await),
        cmocka_unit_test(test_step_meter),
        cmocka_unit_test(test_step_meter_aside),
        cmocka_unit_test(test_counters_off),
    };
    return cmocka_run_group_tests(tests, setup_corpora, teardown_corpora);
}
