/* test_speed.c - recordings faster and slower: what becomes of tones. */
#include <math.h>

#include "support/folder_testing.h"

#include "audio/speed.h"

#define RATE 22050.0
#define SAMPLES 8192
#define SHARE 0.5

static SpeedFilters *filters;

static int setup(void **state) { return speed_open(&filters, SHARE, NULL); }

static int teardown(void **state)
{
    speed_close(filters);
    return 0;
}

/* Amplitude of `hz` in x [SAMPLES], under a Hann window. */
static double amplitude(const float *x, double hz)
{
    double re = 0, im = 0, all = 0;
    for (int i = 0; i < SAMPLES; i++) {
        const double w = 0.5 - 0.5 * cos(2 * M_PI * i / SAMPLES), turn = 2 * M_PI * hz * i / RATE;
        re += w * (double)x[i] * cos(turn);
        im += w * (double)x[i] * sin(turn);
        all += w;
    }
    return 2 * sqrt(re * re + im * im) / all;
}

/* out [SAMPLES]: a tone of `hz` at the step. */
static void tone_at(float *out, double hz, int step)
{
    static float in[2 * SAMPLES + 2 * SPEED_REACH];
    assert_true(speed_span(SAMPLES, step) + 2 * SPEED_REACH <= (int64_t)(sizeof in / sizeof *in));
    for (int i = 0; i < (int)(sizeof in / sizeof *in); i++)
        in[i] = (float)sin(2 * M_PI * hz * (i - SPEED_REACH) / RATE + 1);
    speed_change(filters, out, SAMPLES, in + SPEED_REACH, step);
}

/* A tone moves with the speed and keeps its loudness. */
static void tones_move(void **state)
{
    static float x[SAMPLES];
    static const double tones[] = {300, 440, 1000, 3000, 5000};
    for (int step = 16; step <= 48; step++)
        for (size_t i = 0; i < sizeof tones / sizeof *tones; i++) {
            const double hz = tones[i] * step / SPEED_UNIT;
            tone_at(x, tones[i], step);
            assert_float_equal(amplitude(x, hz), 1, 2e-3);
            assert_true(amplitude(x, hz + 500) < 2e-3);
        }
}

/* What would lie above half of the rate is gone, and has not folded back. */
static void nothing_folds_back(void **state)
{
    static float x[SAMPLES];
    tone_at(x, 9500, 48); /* 14250 Hz, which would fold back to 7800 */
    double loudest = 0;
    for (int i = 0; i < SAMPLES; i++)
        loudest = fmax(loudest, fabs((double)x[i]));
    assert_true(loudest < 2e-3);
    tone_at(x, 9000, 24); /* slower: no image of it above 11025 * 24 / 32 */
    assert_float_equal(amplitude(x, 6750), 1, 2e-3);
    assert_true(amplitude(x, 2 * 11025 * 0.75 - 6750) < 2e-3);
}

static void steps_and_spans(void **state)
{
    SpeedFilters *narrow;
    assert_int_equal(speed_open(&narrow, 0.1, NULL), 0);
    assert_int_equal(speed_step(narrow, 0.5), 29);
    assert_int_equal(speed_step(narrow, 1), SPEED_UNIT);
    assert_int_equal(speed_step(narrow, 1.5), 35);
    assert_int_equal(speed_most(narrow, 100), speed_span(100, 35));
    speed_close(narrow);
    assert_int_equal(speed_span(0, 40), 0);
    assert_int_equal(speed_span(1, 40), 1);
    assert_int_equal(speed_span(33, 40), 41);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tones_move),
        cmocka_unit_test(nothing_folds_back),
        cmocka_unit_test(steps_and_spans),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
