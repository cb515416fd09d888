/* test_sharpen.c - mels with their detail back (model/sharpen.h). */
#include "support/folder_testing.h"

#include <math.h>
#include <stdlib.h>

#include "base/rng.h"
#include "model/sharpen.h"

#define BANDS 80
#define FRAMES 50

static double detail(const float *mel)
{
    double sum = 0;
    for (int m = 0; m < FRAMES; m++)
        for (int b = 1; b < BANDS; b++)
            sum += pow((double)(mel[m * BANDS + b] - mel[m * BANDS + b - 1]), 2);
    return sum;
}

static void a_level_is_kept_and_differences_grow(void **state)
{
    static float matrix[(BANDS + 1) * BANDS], mel[FRAMES * BANDS];
    Rng rng;
    rng_seed(&rng, 5);
    for (int i = 0; i < FRAMES * BANDS; i++)
        mel[i] = (float)rng_normal(&rng);
    const double before = detail(mel);
    sharpen_matrix(matrix, BANDS, 0.3);
    for (int b = 0; b < BANDS; b++) {
        double sum = 0;
        for (int k = 0; k < BANDS; k++)
            sum += (double)matrix[b * BANDS + k];
        assert_float_equal(sum, 1, 1e-5);
    }
    sharpen_mel(mel, matrix + BANDS * BANDS, FRAMES, BANDS, matrix);
    assert_true(detail(mel) > 1.5 * before && detail(mel) < 1.8 * before);
    for (int b = 0; b < BANDS; b++)
        mel[b] = 2.5f;
    sharpen_mel(mel, matrix + BANDS * BANDS, 1, BANDS, matrix);
    for (int b = 0; b < BANDS; b++)
        assert_float_equal(mel[b], 2.5f, 1e-4);
}

static void the_matrix_says_all_of_it(void **state)
{
    enum { FEW = 7 };
    float matrix[(FEW + 1) * FEW], mel[FEW], wanted[FEW] = {0};
    sharpen_matrix(matrix, FEW, 0.4);
    for (int b = 0; b < FEW; b++)
        mel[b] = (float)(b * b % 5);
    for (int b = 0; b < FEW; b++)
        for (int k = 0; k < FEW; k++)
            wanted[b] += matrix[b * FEW + k] * mel[k];
    sharpen_mel(mel, matrix + FEW * FEW, 1, FEW, matrix);
    for (int b = 0; b < FEW; b++)
        assert_float_equal(mel[b], wanted[b], 1e-6);
    sharpen_matrix(matrix, FEW, 0);
    for (int i = 0; i < FEW * FEW; i++)
        assert_true(matrix[i] == (i % (FEW + 1) ? 0.0f : 1.0f));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_level_is_kept_and_differences_grow),
        cmocka_unit_test(the_matrix_says_all_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
