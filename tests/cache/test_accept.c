/* test_accept.c - the rules that choose among prepared utterances, at their limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cache/accept.h"

static const Config cfg = {
    .min_audio_length = 0.5, .max_audio_length = 12, .max_text_length = 200, .max_mel_frames = 1000};

static void test_limits(void **state)
{
    (void)state;
    char detail[64] = "";
    assert_int_equal(accept_seconds(&cfg, 0.5, detail, sizeof detail), REJECT_NONE);
    assert_int_equal(accept_seconds(&cfg, 12, detail, sizeof detail), REJECT_NONE);
    assert_string_equal(detail, "");
    assert_int_equal(accept_seconds(&cfg, 0.49, detail, sizeof detail), REJECT_AUDIO_TOO_SHORT);
    assert_string_equal(detail, "0.49 s, min_audio_length is 0.5 s");
    assert_int_equal(accept_seconds(&cfg, 12.5, detail, sizeof detail), REJECT_AUDIO_TOO_LONG);
    assert_string_equal(detail, "12.50 s, max_audio_length is 12 s");
    /* Characters, whatever number of bytes they take. */
    char text[403];
    for (int i = 0; i < 201; i++)
        memcpy(text + 2 * i, "\xC3\xA9", 2);
    assert_int_equal(accept_text(&cfg, (Str){text, 400}, NULL, 0), REJECT_NONE);
    assert_int_equal(accept_text(&cfg, (Str){text, 402}, detail, sizeof detail), REJECT_TEXT_TOO_LONG);
    assert_string_equal(detail, "201 characters, but max_text_length is 200");
    assert_int_equal(accept_frames(&cfg, 1000, NULL, 0), REJECT_NONE);
    assert_int_equal(accept_frames(&cfg, 1001, detail, sizeof detail), REJECT_MEL_TOO_LONG);
    assert_string_equal(detail, "1001 frames, but max_mel_frames is 1000");
}

static void test_text_and_sound(void **state)
{
    (void)state;
    assert_int_equal(accept_fits(40, 40), 1);
    assert_int_equal(accept_fits(41, 40), 0);
}

static void test_what_is_remembered(void **state)
{
    (void)state;
    for (int r = REJECT_NONE; r < REJECT_COUNT; r++)
        assert_int_equal(accept_is_lasting((RejectReason)r),
                         r == REJECT_AUDIO_SILENT || r == REJECT_AUDIO_NOT_FINITE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_text_and_sound),
        cmocka_unit_test(test_what_is_remembered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
