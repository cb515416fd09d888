/* test_preprocess.c - the preprocessing on the devices cpu and sim0, against its definition rewritten with
 * libm. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "audio/mel.h"
#include "device/sim.h"
#include "pipeline/preprocess_math.h"
#include "support/preprocess_testing.h"

/* Runs b on a device; the result is in b->out. */
static void run_on(const char *device, TestBatch *b, const Config *cfg, int normalise)
{
    Err err = {0};
    Device *d;
    Stream *s = NULL;
    Preprocess *p = NULL;
    if (device_open(&d, device, NULL, &err) || d->ops->stream_open(d, &s, "test", &err) ||
        preprocess_open(&p, d, cfg, normalise ? b->mean : NULL, normalise ? b->deviation : NULL, &err))
        fail_msg("%s", err.msg);
    memset(b->out, POISON, b->args.out_layout.bytes);
    if (preprocess_run(p, s, &b->args, &err) || d->ops->stream_wait_idle(s, &err))
        fail_msg("%s", err.msg);
    assert_int_equal(preprocess_bytes(p), 0);
    preprocess_close(p);
    d->ops->stream_close(s);
    device_close(d);
}

static float raw_value(const TestBatch *b, int row, int frame, int band)
{
    size_t at = ((size_t)row * (size_t)b->args.frames + (size_t)frame) * (size_t)b->args.bands + (size_t)band;
    float v;
    if (b->args.mel_bytes == 2)
        half_to_float(&v, (const uint16_t *)(const void *)(b->raw + b->args.in_layout.mel) + at, 1);
    else
        v = floats(b->raw, b->args.in_layout.mel)[at];
    return v;
}

static float *out_frame(const TestBatch *b, int row, int frame)
{
    return floats(b->out, b->args.out_layout.mel) +
           ((size_t)row * (size_t)b->args.frames + (size_t)frame) * (size_t)b->args.bands;
}

static void check_numbers(const TestBatch *b)
{
    const BatchLayout *in = &b->args.in_layout, *out = &b->args.out_layout;
    for (int r = 0; r < b->args.rows; r++) {
        int n = ints(b->raw, in->text_length)[r];
        assert_int_equal(ints(b->out, out->text_length)[r], n);
        assert_int_equal(ints(b->out, out->speaker)[r], ints(b->raw, in->speaker)[r]);
        assert_int_equal(ints(b->out, out->language)[r], ints(b->raw, in->language)[r]);
        assert_int_equal(ints(b->out, out->utterance)[r], ints(b->raw, in->utterance)[r]);
        assert_int_equal(ints(b->out, out->reference)[r], ints(b->raw, in->reference)[r]);
        assert_memory_equal(b->out + out->augment + (size_t)r * 16, b->raw + in->augment + (size_t)r * 16,
                            16);
        for (int i = 0; i < b->args.text; i++) {
            size_t at = (size_t)(r * b->args.text + i);
            assert_int_equal(ints(b->out, out->tokens)[at], i < n ? ints(b->raw, in->tokens)[at] : 0);
        }
    }
}

/* The pitch goes through as it is; everything behind the frames of each row is 0, bit by bit. */
static void check_padding(const TestBatch *b)
{
    for (int r = 0; r < b->args.rows; r++)
        for (int f = 0; f < b->args.frames; f++) {
            int used = f < ints(b->out, b->args.out_layout.mel_length)[r];
            size_t at = (size_t)r * (size_t)b->args.frames + (size_t)f;
            assert_int_equal(exact_bitsf(floats(b->out, b->args.out_layout.pitch)[at]),
                             used ? exact_bitsf(floats(b->raw, b->args.in_layout.pitch)[at]) : 0);
        }
    for (int r = 0; r < b->args.rows; r++)
        for (int f = ints(b->out, b->args.out_layout.mel_length)[r]; f < b->args.frames; f++)
            for (int k = 0; k < b->args.bands; k++)
                assert_int_equal(exact_bitsf(out_frame(b, r, f)[k]), 0);
}

static void check_cached(int mel_bytes, int normalise)
{
    const int shapes[][4] = {{3, 7, 11, 80}, {1, 1, 1, 80}, {5, 33, 129, 7}, {2, 4, 64, 13}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const int *s = shapes[i];
        Config cfg = mel_settings(1024, 1024, 256, s[3]);
        TestBatch b;
        batch_make(&b, &cfg, s[0], s[1], s[2], mel_bytes, 0, i + 1);
        run_on("cpu", &b, &cfg, normalise);
        check_numbers(&b);
        check_padding(&b);
        for (int r = 0; r < s[0]; r++) {
            int frames = ints(b.raw, b.args.in_layout.mel_length)[r];
            assert_int_equal(ints(b.out, b.args.out_layout.mel_length)[r], frames);
            assert_int_equal(ints(b.out, b.args.out_layout.sample_length)[r],
                             ints(b.raw, b.args.in_layout.sample_length)[r]);
            for (int f = 0; f < frames; f++)
                for (int k = 0; k < s[3]; k++) {
                    double x = raw_value(&b, r, f, k), d = fmax(b.deviation[k], 1e-5);
                    double want = normalise ? (x - (double)(float)b.mean[k]) / d : x;
                    assert_true(fabs(out_frame(&b, r, f)[k] - want) <= 1e-6 * fmax(1.0, fabs(want)));
                }
        }
        batch_free(&b);
    }
}

static void test_cached(void **state)
{
    check_cached(4, 1);
    check_cached(2, 1);
    check_cached(4, 0);
    check_cached(2, 0);
}

static void test_exact(void **state)
{
    for (int i = -12000; i <= 8000; i++) {
        double x = i * 1e-3 + 1e-7, e = exp(x);
        assert_true(fabs(exact_exp(x) - e) <= 1e-13 * e);
        assert_true(fabs(exact_log(e) - x) <= 1e-11 * fmax(1.0, fabs(x)));
        assert_true(fabs(exact_magnitude(e, x) - hypot(e, x)) <= 1e-9 * hypot(e, x));
    }
    assert_true(exact_magnitude(0.0, 0.0) == 0.0);
    assert_true(MEL_LOG_FLOOR == (float)exact_log((double)MEL_FLOOR));
}

static void test_gain(void **state)
{
    Config cfg = mel_settings(1024, 1024, 256, 80);
    cfg.augment_gain_db = 12;
    TestBatch b;
    batch_make(&b, &cfg, 6, 5, 40, 4, 0, 7);
    run_on("cpu", &b, &cfg, 0);
    int floored = 0, moved = 0;
    for (int r = 0; r < 6; r++) {
        double gain = floats(b.raw, b.args.in_layout.augment)[4 * r];
        for (int f = 0; f < ints(b.raw, b.args.in_layout.mel_length)[r]; f++)
            for (int k = 0; k < 80; k++) {
                double x = raw_value(&b, r, f, k), want = x + log(pow(10, gain / 20));
                floored += gain < 0 && want < log(1e-5);
                moved += gain != 0;
                if (gain != 0 && want < log(1e-5))
                    want = log(1e-5);
                assert_true(fabs(out_frame(&b, r, f)[k] - want) < 2e-6);
            }
    }
    assert_true(floored > 0 && moved > 0);
    check_padding(&b);
    batch_free(&b);
}

static void test_noise(void **state)
{
    Config cfg = mel_settings(1024, 1024, 256, 80);
    cfg.augment_noise_db = 30;
    TestBatch b;
    batch_make(&b, &cfg, 6, 5, 150, 2, 0, 8);
    run_on("cpu", &b, &cfg, 0);
    int noisy = 0;
    for (int r = 0; r < 6; r++) {
        int frames = ints(b.raw, b.args.in_layout.mel_length)[r];
        double db = floats(b.raw, b.args.in_layout.augment)[4 * r + 1], sum = 0, added = 0, least = 1e9,
               most = 0;
        for (int f = 0; f < frames; f++)
            for (int k = 0; k < 80; k++)
                sum += exp(raw_value(&b, r, f, k));
        double level = sum / (frames * 80.0) * pow(10, -db / 20);
        for (int f = 0; f < frames; f++)
            for (int k = 0; k < 80; k++) {
                double n = exp(out_frame(&b, r, f)[k]) - exp(raw_value(&b, r, f, k));
                if (db == 0) {
                    assert_true(out_frame(&b, r, f)[k] == raw_value(&b, r, f, k));
                    continue;
                }
                added += n;
                if (raw_value(&b, r, f, k) < -6) { /* where the rounding of a float does not matter */
                    least = fmin(least, n / level);
                    most = fmax(most, n / level);
                }
            }
        if (db == 0 || frames * 80 < 3000)
            continue;
        noisy++;
        assert_true(least > 0.499 && least < 0.51 && most < 1.501 && most > 1.49);
        assert_true(fabs(added / (frames * 80.0) / level - 1) < 0.03);
    }
    assert_true(noisy >= 2);
    check_padding(&b);
    /* Another seed: another noise. The same row elsewhere: the same noise. */
    float before = out_frame(&b, 0, 3)[5];
    floats(b.raw, b.args.in_layout.augment)[3] = 1.5f;
    run_on("cpu", &b, &cfg, 0);
    assert_true(out_frame(&b, 0, 3)[5] != before);
    size_t row = (size_t)b.args.frames * 80 * 2;
    memcpy(b.raw + b.args.in_layout.mel + 2 * row, b.raw + b.args.in_layout.mel, row);
    memcpy(b.raw + b.args.in_layout.augment + 2 * 16, b.raw + b.args.in_layout.augment, 16);
    ints(b.raw, b.args.in_layout.mel_length)[2] = ints(b.raw, b.args.in_layout.mel_length)[0];
    run_on("cpu", &b, &cfg, 0);
    assert_memory_equal(out_frame(&b, 0, 0), out_frame(&b, 2, 0), (size_t)b.args.frames * 80 * 4);
    batch_free(&b);
}

/* Log mel of samples, by the definition. */
static float *mel_of(const Config *cfg, const float *x, int64_t n, int64_t *frames)
{
    MelPlan *plan;
    MelScratch *scratch;
    assert_int_equal(mel_plan_open(&plan, cfg, NULL), 0);
    assert_int_equal(mel_scratch_open(&scratch, plan, NULL), 0);
    *frames = mel_frames(plan, n);
    float *mel = calloc((size_t)*frames * (size_t)cfg->n_mels + 1, sizeof *mel);
    assert_non_null(mel);
    if (n > 0)
        mel_compute(plan, scratch, mel, x, n);
    mel_scratch_close(scratch);
    mel_plan_close(plan);
    return mel;
}

static void test_on_the_fly(void **state)
{
    const int settings[][4] = {{1024, 1024, 256, 80}, {512, 400, 100, 40}, {63, 63, 16, 8}};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        const int *s = settings[i];
        Config cfg = mel_settings(s[0], s[1], s[2], s[3]);
        TestBatch b;
        batch_make(&b, &cfg, 4, 3, 30, 4, 30 * s[2] + 5, 20 + i);
        run_on("cpu", &b, &cfg, 0);
        check_numbers(&b);
        check_padding(&b);
        for (int r = 0; r < 4; r++) {
            int64_t n = ints(b.raw, b.args.in_layout.sample_length)[r], frames;
            float *mel =
                mel_of(&cfg, floats(b.raw, b.args.in_layout.samples) + r * b.args.samples, n, &frames);
            assert_int_equal(ints(b.out, b.args.out_layout.sample_length)[r], n);
            assert_int_equal(ints(b.out, b.args.out_layout.mel_length)[r], frames);
            assert_memory_equal(out_frame(&b, r, 0), mel, (size_t)frames * (size_t)s[3] * 4);
            free(mel);
        }
        batch_free(&b);
    }
}

/* speed 0.5 .. 2, where there is room for the result and where there is not. */
static void test_speed(void **state)
{
    Config cfg = mel_settings(1024, 1024, 256, 80);
    cfg.augment_speed = 0.5;
    TestBatch b;
    const int frames = 60, samples = 60 * 256;
    batch_make(&b, &cfg, 4, 3, frames, 4, samples, 40);
    const double speeds[] = {1.25, 0.8, 0.5, 1.0};
    const int32_t lengths[] = {9001, 9002, 15000, 9004};
    Rng rng;
    rng_seed(&rng, 1);
    for (int r = 0; r < 4; r++) {
        floats(b.raw, b.args.in_layout.augment)[4 * r + 2] = (float)speeds[r];
        ints(b.raw, b.args.in_layout.sample_length)[r] = lengths[r];
        make_samples(floats(b.raw, b.args.in_layout.samples) + (int64_t)r * samples, lengths[r], &rng);
    }
    run_on("cpu", &b, &cfg, 0);
    check_padding(&b);
    for (int r = 0; r < 4; r++) {
        const float *x = floats(b.raw, b.args.in_layout.samples) + (int64_t)r * samples;
        double speed = (double)(float)speeds[r];
        int64_t n = (int64_t)(lengths[r] / speed), got_frames, most = frames * 256 - 1;
        if (r == 2) { /* would take 30,000 samples: as slow as there is room for, and its end is not lost */
            n = most;
            speed = (double)lengths[r] / (double)most;
        }
        float *y = calloc((size_t)n, sizeof *y);
        for (int64_t i = 0; i < n; i++) {
            double at = (double)i * speed, left = floor(at);
            double a = x[(int64_t)left],
                   c = x[(int64_t)left + 1 < lengths[r] ? (int64_t)left + 1 : (int64_t)left];
            y[i] = (float)(a + (c - a) * (at - left));
        }
        float *mel = mel_of(&cfg, y, n, &got_frames);
        assert_int_equal(ints(b.out, b.args.out_layout.sample_length)[r], n);
        assert_int_equal(ints(b.out, b.args.out_layout.mel_length)[r], got_frames);
        assert_true(got_frames <= frames);
        for (int64_t i = 0; i < got_frames * 80; i++)
            assert_true(fabsf(out_frame(&b, r, 0)[i] - mel[i]) < 1e-4f);
        free(mel);
        free(y);
    }
    batch_free(&b);
}

static void test_off_is_off(void **state)
{
    Config cfg = mel_settings(1024, 1024, 256, 80), on = cfg;
    TestBatch a, b;
    batch_make(&a, &cfg, 4, 3, 30, 4, 30 * 256, 50);
    batch_make(&b, &cfg, 4, 3, 30, 4, 30 * 256, 50);
    for (int r = 0; r < 4; r++) {
        float off[] = {0, 0, 1};
        memcpy(floats(b.raw, b.args.in_layout.augment) + 4 * r, off, sizeof off);
    }
    run_on("cpu", &a, &cfg, 1);
    run_on("cpu", &b, &cfg, 1);
    assert_memory_equal(out_frame(&a, 0, 0), out_frame(&b, 0, 0), (size_t)4 * 30 * 80 * 4);
    on.augment_gain_db = on.augment_noise_db = 10;
    on.augment_speed = 0.4;
    run_on("cpu", &a, &on, 1);
    assert_memory_not_equal(out_frame(&a, 0, 0), out_frame(&b, 0, 0), (size_t)4 * 30 * 80 * 4);
    run_on("cpu", &b, &on, 1); /* on, and the rows say: nothing */
    run_on("cpu", &a, &cfg, 1);
    assert_memory_equal(out_frame(&a, 0, 0), out_frame(&b, 0, 0), (size_t)4 * 30 * 80 * 4);
    batch_free(&a);
    batch_free(&b);
}

/* Lengths that no loader writes: nothing outside the row is touched. */
static void test_wild_lengths(void **state)
{
    Config cfg = mel_settings(1024, 1024, 256, 80);
    cfg.augment_speed = 0.5;
    for (int from_samples = 0; from_samples < 2; from_samples++) {
        TestBatch b;
        batch_make(&b, &cfg, 5, 6, 9, 2, from_samples ? 9 * 256 + 77 : 0, 60);
        const int32_t wild[] = {INT32_MAX, -1, INT32_MIN, 100, 9 * 256};
        const float speeds[] = {0.5f, NAN, -1.0f, 1e30f, 0.0f};
        for (int r = 0; r < 5; r++) {
            ints(b.raw, b.args.in_layout.mel_length)[r] = ints(b.raw, b.args.in_layout.sample_length)[r] =
                wild[r];
            ints(b.raw, b.args.in_layout.text_length)[r] = r == 2 ? INT32_MIN : r == 3 ? INT32_MAX : 2;
            floats(b.raw, b.args.in_layout.augment)[4 * r + 2] = speeds[r];
            if (from_samples)
                memset(floats(b.raw, b.args.in_layout.samples) + r * b.args.samples, 0,
                       (size_t)b.args.samples * 4);
        }
        run_on("cpu", &b, &cfg, 0);
        check_padding(&b);
        for (int r = 0; r < 5; r++) {
            int32_t frames = ints(b.out, b.args.out_layout.mel_length)[r];
            assert_in_range(frames, 0, 9);
            assert_int_equal(frames == 0, wild[r] < 0);
        }
        batch_free(&b);
    }
}

static void test_sim_is_the_same(void **state)
{
    Config cfg = mel_settings(512, 512, 128, 20);
    cfg.augment_gain_db = cfg.augment_noise_db = 10;
    cfg.augment_speed = 0.4;
    for (int kind = 0; kind < 3; kind++) {
        TestBatch a, b;
        batch_make(&a, &cfg, 5, 9, 25, kind == 1 ? 2 : 4, kind == 2 ? 25 * 128 : 0, 70);
        batch_make(&b, &cfg, 5, 9, 25, kind == 1 ? 2 : 4, kind == 2 ? 25 * 128 : 0, 70);
        run_on("cpu", &a, &cfg, 1);
        run_on("sim0", &b, &cfg, 1);
        assert_int_equal(batch_differences(&a.args, a.out, b.out), 0);
        b.out[b.args.out_layout.mel] ^= 1; /* the comparison can fail */
        assert_int_equal(batch_differences(&a.args, a.out, b.out), 1);
        batch_free(&a);
        batch_free(&b);
    }
}

/* Segments keep their samples, with zeros behind them. */
static void test_segments(void **state)
{
    Config cfg = mel_settings(512, 512, 128, 20);
    enum { FRAMES = 25, SAMPLES = (FRAMES - 1) * 128, ROWS = 5 };
    cfg.network = NETWORK_VOCODER;
    TestBatch a, b;
    batch_make(&a, &cfg, ROWS, 0, FRAMES, 4, SAMPLES, 90);
    batch_make(&b, &cfg, ROWS, 0, FRAMES, 4, SAMPLES, 90);
    run_on("cpu", &a, &cfg, 0);
    run_on("sim0", &b, &cfg, 0);
    assert_int_equal(batch_differences(&a.args, a.out, b.out), 0);
    for (int row = 0; row < ROWS; row++) {
        const float *from = floats(a.raw, a.args.in_layout.samples) + row * SAMPLES;
        const float *kept = floats(a.out, a.args.out_layout.samples) + row * SAMPLES;
        int n = ints(a.raw, a.args.in_layout.sample_length)[row];
        assert_int_equal(ints(a.out, a.args.out_layout.sample_length)[row], n);
        assert_int_equal(ints(a.out, a.args.out_layout.mel_length)[row], n ? 1 + n / 128 : 0);
        for (int i = 0; i < SAMPLES; i++)
            assert_true(kept[i] == (i < n ? from[i] : 0));
    }
    b.out[b.args.out_layout.samples] ^= 1; /* the comparison can fail */
    assert_int_equal(batch_differences(&a.args, a.out, b.out), 1);
    batch_free(&a);
    batch_free(&b);
}

static void test_too_long(void **state)
{
    Config cfg = mel_settings(512, 512, 128, 20);
    cfg.augment_speed = 0.25;
    cfg.max_mel_frames = 10;
    TestBatch b;
    Err err = {0};
    Device *d;
    Stream *s;
    Preprocess *p;
    batch_make(&b, &cfg, 2, 3, 40, 4, 40 * 128, 80);
    assert_int_equal(device_open(&d, "cpu", NULL, &err), 0);
    assert_int_equal(d->ops->stream_open(d, &s, "test", &err), 0);
    assert_int_equal(preprocess_open(&p, d, &cfg, b.mean, b.deviation, &err), 0);
    assert_int_equal(preprocess_run(p, s, &b.args, &err), ERR_CONFIG);
    assert_non_null(strstr(err.msg, "max_mel_frames"));
    preprocess_close(p);
    cfg.n_mels = 0;
    assert_int_equal(preprocess_open(&p, d, &cfg, NULL, NULL, &err), ERR_CONFIG);
    assert_null(p);
    preprocess_close(NULL);
    d->ops->stream_close(s);
    device_close(d);
    batch_free(&b);
}

/* Every number that is drawn for a row has its place, however many there are. */
static void test_augment_has_room(void **state)
{
    const BatchShape shape = {.rows = 256, .text = 4, .frames = 8, .bands = 4, .mel_bytes = 4};
    BatchLayout in;
    batch_layout_host(&in, &shape, 4, 8, 0);
    assert_true(in.sample_length - in.augment >= 256 * AUGMENT_COUNT * sizeof(float));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_augment_has_room),
        cmocka_unit_test(test_exact),
        cmocka_unit_test(test_cached),
        cmocka_unit_test(test_gain),
        cmocka_unit_test(test_noise),
        cmocka_unit_test(test_on_the_fly),
        cmocka_unit_test(test_speed),
        cmocka_unit_test(test_off_is_off),
        cmocka_unit_test(test_wild_lengths),
        cmocka_unit_test(test_sim_is_the_same),
        cmocka_unit_test(test_segments),
        cmocka_unit_test(test_too_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
