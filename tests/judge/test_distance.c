/* test_distance.c - the distance of two sounds: of a sound to itself, to a slower copy, to another; in dB; in
 * pitch. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "judge/distance.h"

typedef struct Sound {
    float *mel, *f0;
    uint8_t *voiced;
    int64_t frames;
    int bands;
} Sound;

/* Something like speech: formants that wander, every third stretch without voice. */
static Sound sound_make(int64_t frames, int bands, double speed, uint64_t seed)
{
    Sound s = {.frames = frames, .bands = bands};
    s.mel = mem_calloc((size_t)(frames * bands), sizeof *s.mel);
    s.f0 = mem_calloc((size_t)frames, sizeof *s.f0);
    s.voiced = mem_calloc((size_t)frames, 1);
    Rng rng;
    rng_seed(&rng, seed);
    double phase = 6 * rng_uniform(&rng), rate = 0.5 + rng_uniform(&rng);
    for (int64_t t = 0; t < frames; t++) {
        double time = (double)t * speed / 20;
        for (int m = 0; m < bands; m++) {
            double at = (m + 0.5) / bands, first = 0.25 + 0.15 * sin(rate * time + phase);
            double second = 0.65 + 0.2 * cos(1.7 * rate * time);
            double x = exp(-200 * (at - first) * (at - first)) + exp(-150 * (at - second) * (at - second));
            s.mel[t * bands + m] = (float)(-6 + 5 * x);
        }
        s.f0[t] = (float)(log(180) + 0.2 * sin(time));
        s.voiced[t] = (int64_t)(time * 2) % 3 != 0;
    }
    return s;
}

static void sound_free(Sound *s)
{
    free(s->mel);
    free(s->f0);
    free(s->voiced);
    *s = (Sound){0};
}

static SoundDistance distance_of(const Sound *a, const Sound *b)
{
    SoundDistance d;
    Err err = {0};
    const float *x = a->mel, *y = b->mel;
    int64_t n_x = a->frames, n_y = b->frames;
    int rc = sound_distance(&d, x, a->f0, a->voiced, n_x, y, b->f0, b->voiced, n_y, a->bands, &err);
    if (rc)
        fail_msg("%s", err.msg);
    return d;
}

static void test_distance_to_itself(void **state)
{
    Sound a = sound_make(200, 80, 1, 1);
    SoundDistance d = distance_of(&a, &a);
    int voiced = 0;
    for (int64_t t = 0; t < a.frames; t++)
        voiced += a.voiced[t];
    assert_true(d.mcd_db == 0 && d.f0_rmse_semitones == 0);
    assert_true(d.frames == 200 && d.voiced == voiced && voiced > 50 && voiced < 200);
    sound_free(&a);
}

static void test_distance_of_a_stretched_copy(void **state)
{
    Sound a = sound_make(200, 80, 1, 1), slow = sound_make(260, 80, 200.0 / 260, 1);
    Sound other = sound_make(260, 80, 1, 9), noise = sound_make(260, 80, 1, 1);
    Rng rng;
    rng_seed(&rng, 3);
    for (int64_t i = 0; i < noise.frames * noise.bands; i++)
        noise.mel[i] = (float)(-5 + 2 * rng_normal(&rng));
    SoundDistance d = distance_of(&a, &slow), turned = distance_of(&slow, &a);
    double far = distance_of(&a, &other).mcd_db, none = distance_of(&a, &noise).mcd_db;
    print_message("stretched %.2f dB, another sound %.2f, noise %.2f\n", d.mcd_db, far, none);
    assert_true(d.mcd_db > 0 && d.mcd_db < 1);
    assert_true(d.f0_rmse_semitones < 0.2);
    assert_true(d.frames >= 260 && d.frames < 300);
    assert_true(far > 4 && none > 10);
    assert_true(fabs(turned.mcd_db - d.mcd_db) < 1e-9 && turned.frames == d.frames);
    sound_free(&a);
    sound_free(&slow);
    sound_free(&other);
    sound_free(&noise);
}

/* A ripple of height h with k half waves over the bands is one coefficient; its root mean square is h /
 * sqrt(2). */
static void check_ripple(int bands, int k, double expected)
{
    Sound a = sound_make(1, bands, 1, 1), b = sound_make(1, bands, 1, 1);
    double h = 0.3;
    for (int m = 0; m < bands; m++)
        b.mel[m] += (float)(h * cos(M_PI * k * (m + 0.5) / bands));
    double db = distance_of(&a, &b).mcd_db;
    if (fabs(db - expected * 20 / log(10) * h / sqrt(2)) > 1e-5)
        fail_msg("%d bands, ripple %d: %g dB", bands, k, db);
    sound_free(&a);
    sound_free(&b);
}

static void test_distance_in_db(void **state)
{
    for (int k = 1; k <= 13; k++) {
        check_ripple(80, k, 1);
        check_ripple(40, k, 1);
    }
    check_ripple(80, 0, 0); /* louder, or finer than the 13th: not heard */
    check_ripple(80, 14, 0);
    check_ripple(8, 7, 1);
}

/* The least sum over all paths, by trying them all. */
static double least_sum(const Sound *a, int64_t i, const Sound *b, int64_t j)
{
    Sound x = {a->mel + i * a->bands, NULL, NULL, 1, a->bands};
    Sound y = {b->mel + j * b->bands, NULL, NULL, 1, b->bands};
    double here = distance_of(&x, &y).mcd_db, best = INFINITY;
    if (i == 0 && j == 0)
        return here;
    if (i && j)
        best = least_sum(a, i - 1, b, j - 1);
    if (i)
        best = fmin(best, least_sum(a, i - 1, b, j));
    if (j)
        best = fmin(best, least_sum(a, i, b, j - 1));
    return best + here;
}

static void test_distance_takes_the_best_path(void **state)
{
    for (int n = 1; n <= 6; n++)
        for (uint64_t seed = 0; seed < 6; seed++) {
            Sound a = sound_make(n, 20, 20, seed), b = sound_make(5, 20, 15, seed + 1);
            SoundDistance d = distance_of(&a, &b);
            double least = least_sum(&a, a.frames - 1, &b, b.frames - 1);
            assert_true(fabs(d.mcd_db * (double)d.frames - least) < 1e-9);
            assert_true(d.frames >= (n > 5 ? n : 5) && d.frames <= n + 4);
            sound_free(&a);
            sound_free(&b);
        }
}

static void test_distance_of_pitch(void **state)
{
    Sound a = sound_make(150, 40, 1, 2), b = sound_make(150, 40, 1, 2);
    for (int64_t t = 0; t < b.frames; t++)
        b.f0[t] += (float)(2 * M_LN2 / 12);
    SoundDistance d = distance_of(&a, &b);
    assert_true(fabs(d.f0_rmse_semitones - 2) < 1e-4 && d.mcd_db == 0);
    for (int64_t t = 0; t < b.frames; t++) /* half of what is voiced is an octave off, the rest right */
        b.f0[t] = a.f0[t] + (t % 2 ? (float)M_LN2 : 0);
    memset(a.voiced, 1, (size_t)a.frames);
    memset(b.voiced, 1, (size_t)b.frames);
    assert_true(fabs(distance_of(&a, &b).f0_rmse_semitones - 12 / sqrt(2)) < 1e-4);
    memset(a.voiced, 0, 75); /* voiced in one of them does not count */
    memset(b.voiced + 75, 0, 75);
    d = distance_of(&a, &b);
    assert_true(isnan(d.f0_rmse_semitones) && d.voiced == 0 && d.mcd_db == 0);
    assert_int_equal(sound_distance(&d, a.mel, NULL, NULL, 150, b.mel, b.f0, b.voiced, 150, 40, NULL), 0);
    assert_true(isnan(d.f0_rmse_semitones) && d.voiced == 0);
    sound_free(&a);
    sound_free(&b);
}

static int distance_code(const Sound *a, int64_t frames_a, const Sound *b, int64_t frames_b, int bands)
{
    SoundDistance d;
    Err err = {0};
    int rc = sound_distance(&d, a->mel, NULL, NULL, frames_a, b->mel, NULL, NULL, frames_b, bands, &err);
    assert_int_equal(rc, err.code);
    return rc;
}

static void test_distance_limits(void **state)
{
    int64_t most = SOUND_DISTANCE_FRAMES;
    Sound a = sound_make(most + 1, 16, 0.1, 2), b = sound_make(most, 16, 0.1, 3);
    assert_int_equal(distance_code(&a, most, &b, most, 16), 0);
    assert_int_equal(distance_code(&a, most + 1, &b, most, 16), ERR_DATA);
    assert_int_equal(distance_code(&b, most, &a, most + 1, 16), ERR_DATA);
    assert_int_equal(distance_code(&a, 0, &b, 10, 16), ERR_DATA);
    assert_int_equal(distance_code(&a, 10, &b, 0, 16), ERR_DATA);
    assert_int_equal(distance_code(&a, 10, &b, 10, 1), ERR_DATA);
    assert_int_equal(distance_code(&a, 10, &b, 10, 2), 0);
    b.mel[100] = NAN;
    assert_int_equal(distance_code(&a, 10, &b, 10, 16), ERR_DATA);
    b.mel[100] = INFINITY;
    assert_int_equal(distance_code(&b, 10, &a, 10, 16), ERR_DATA);
    sound_free(&a);
    sound_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distance_to_itself), cmocka_unit_test(test_distance_of_a_stretched_copy),
        cmocka_unit_test(test_distance_in_db),     cmocka_unit_test(test_distance_takes_the_best_path),
        cmocka_unit_test(test_distance_of_pitch),  cmocka_unit_test(test_distance_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
