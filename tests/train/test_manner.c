/* test_manner.c - what makes up for prosody that is predicted as an average (train/manner.h). */
#include "support/folder_testing.h"

#include <math.h>

#include "train/listen/manner.h"

#define SYMBOLS 6

/* A clip whose inner symbols last 10 frames and whose pitch goes up and down by 1; predicted: lengths and
 * movements of this many times that. The silence at the ends is predicted far too long. */
static void add(MannerSums *s, double length, double movement)
{
    float traits[SYMBOLS * TRAIT_COUNT] = {0}, pitch[SYMBOLS] = {0};
    int32_t durations[SYMBOLS];
    for (int t = 0; t < SYMBOLS; t++) {
        const int inner = t > 0 && t < SYMBOLS - 1;
        durations[t] = inner ? 10 : 3;
        pitch[t] = inner ? (t % 2 ? 1.0f : -1.0f) : 0;
        traits[t * TRAIT_COUNT + TRAIT_DURATION] = (float)log(inner ? 10 * length : 30);
        traits[t * TRAIT_COUNT + TRAIT_PITCH] = (float)movement * pitch[t];
    }
    manner_add(s, &(EngineLook){.traits = traits, .durations = durations, .pitch = pitch, .text = SYMBOLS});
}

static void what_is_short_and_flat_is_made_up_for(void **state)
{
    MannerSums s = {0};
    Manner found;
    for (int i = 0; i < 45; i++)
        add(&s, 0.9, 0.8);
    manner_measure(&s, &found);
    assert_float_equal(found.pace, 1 + (1 / 0.9 - 1) * 45 / 47, 1e-4); /* some doubt is left */
    assert_float_equal(found.spread, 1.25, 1e-4);
}

static void nobody_is_made_flatter_nor_stretched_without_end(void **state)
{
    MannerSums lively = {0}, broken = {0};
    Manner found;
    for (int i = 0; i < 45; i++) {
        add(&lively, 1, 2);
        add(&broken, 0.01, 0.01);
    }
    manner_measure(&lively, &found);
    assert_float_equal(found.pace, 1, 1e-6);
    assert_float_equal(found.spread, 1, 1e-6);
    manner_measure(&broken, &found);
    assert_true(found.pace > 1.2 && found.pace <= 1.25);
    assert_float_equal(found.spread, 1.6, 1e-6);
}

static void two_clips_say_nothing(void **state)
{
    MannerSums s = {0};
    Manner found;
    add(&s, 0.5, 0.5);
    add(&s, 0.5, 0.5);
    manner_measure(&s, &found);
    assert_float_equal(found.pace, 1, 0);
    assert_float_equal(found.spread, 1, 0);
}

/* All recordings of these texts are read at half the usual speed, which says nothing about the voice. */
static void slow_recordings_do_not_count(void **state)
{
    int32_t tokens[SYMBOLS], durations[SYMBOLS] = {9, 5, 5, 5, 5, 9};
    UsualLengths usual;
    Err err = {0};
    MannerSums s = {.usual = &usual};
    Manner found;
    for (int t = 0; t < SYMBOLS; t++)
        tokens[t] = t % 2 ? 7 : 8;
    assert_int_equal(usual_lengths_open(&usual, 9, &err), 0);
    for (int i = 0; i < 10; i++)
        usual_lengths_add(&usual, &(ClipAlignment){.tokens = tokens, .durations = durations, .text = SYMBOLS},
                          &err);
    float traits[SYMBOLS * TRAIT_COUNT] = {0}, pitch[SYMBOLS] = {0};
    int32_t slow[SYMBOLS] = {9, 10, 10, 10, 10, 9};
    for (int t = 0; t < SYMBOLS; t++)
        traits[t * TRAIT_COUNT + TRAIT_DURATION] = (float)log(4);
    for (int i = 0; i < 48; i++)
        manner_add(
            &s, &(EngineLook){
                    .traits = traits, .durations = slow, .tokens = tokens, .pitch = pitch, .text = SYMBOLS});
    manner_measure(&s, &found);
    assert_float_equal(found.pace, 1 + 0.25 * 48 / 48.5, 1e-6);
    usual_lengths_close(&usual);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_short_and_flat_is_made_up_for),
        cmocka_unit_test(nobody_is_made_flatter_nor_stretched_without_end),
        cmocka_unit_test(two_clips_say_nothing),
        cmocka_unit_test(slow_recordings_do_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
