/* test_policy.c - the pipeline's rules, each against values worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pipeline/policy.h"

static void test_slots(void **state)
{
    (void)state;
    const int auto_for[][2] = {{1, 8}, {8, 8}, {9, 7}, {16, 4}, {21, 3}, {31, 2}, {32, 2}, {4096, 2}};
    for (size_t i = 0; i < sizeof auto_for / sizeof *auto_for; i++)
        assert_int_equal(policy_slots(CONFIG_AUTO, auto_for[i][0]), auto_for[i][1]);
    assert_int_equal(policy_slots(1, 16), 2); /* one slot would be filled and copied in turns */
    assert_int_equal(policy_slots(5, 16), 5);
    const uint64_t M = 1 << 20;
    assert_int_equal(policy_most_slots(CONFIG_AUTO, 4, M, 8 * 1024 * M), 32);
    assert_int_equal(policy_most_slots(CONFIG_AUTO, 4, 100 * M, 8 * 1024 * M), 10); /* an eighth of it */
    assert_int_equal(policy_most_slots(CONFIG_AUTO, 4, 300 * M, 8 * 1024 * M), 4);
    assert_int_equal(policy_most_slots(CONFIG_AUTO, 4, M, 0), 4); /* nobody knows */
    assert_int_equal(policy_most_slots(13, 13, M, 8 * 1024 * M), 13);
}

static void test_adding_slots(void **state)
{
    (void)state;
    SlotWindow w = {0};
    assert_int_equal(policy_slots_wanted(&w, 10, 4, 32), 4); /* no slot was ever missing */
    w.full = 1;
    assert_int_equal(policy_slots_wanted(&w, 20, 4, 32), 4);
    assert_int_equal(policy_slots_wanted(&w, 21, 4, 32), 4); /* the same stall */
    w.full = 1;
    assert_int_equal(policy_slots_wanted(&w, 85, 4, 32), 4); /* too far away, but it counts from here */
    w.full = 1;
    assert_int_equal(policy_slots_wanted(&w, 149, 4, 32), 8);
    w.full = 1;
    assert_int_equal(policy_slots_wanted(&w, 152, 8, 10), 10);
    w.full = 1;
    assert_int_equal(policy_slots_wanted(&w, 154, 10, 10), 10);
    assert_int_equal(w.full, 0);
    /* Full again after 20 batches, of which the device waited for 11, then 10. */
    for (int waits = 11; waits >= 10; waits--) {
        w = (SlotWindow){.ebbed = 1, .last = 100};
        for (int i = 1; i < waits; i++)
            assert_int_equal(policy_slots_wanted(&w, 100 + i, 4, 32), 4);
        w.full = 1;
        assert_int_equal(policy_slots_wanted(&w, 120, 4, 32), waits == 11 ? 4 : 8);
    }
}

static void test_buffers(void **state)
{
    (void)state;
    assert_int_equal(policy_most_buffers(1), POLICY_START_BUFFERS);
    assert_int_equal(policy_most_buffers(8), 8);
}

static void test_rows_at_once(void **state)
{
    (void)state;
    assert_int_equal(policy_rows_at_once(64, 4, 0), 8);
    assert_int_equal(policy_rows_at_once(32, 4, 0), 4);
    assert_int_equal(policy_rows_at_once(3, 4, 0), 1);
    assert_int_equal(policy_rows_at_once(64, 4, 1), 1);
    assert_int_equal(policy_rows_at_once(6, 0, 0), 3);
}

static void test_stretched_frames(void **state)
{
    (void)state;
    assert_int_equal(policy_stretched_frames(100, 0.2, 1), 126);
    assert_int_equal(policy_stretched_frames(100, 0.0, 1), 100);
    assert_int_equal(policy_stretched_frames(100, 0.2, 0), 100);
    assert_int_equal(policy_most_samples(100, 256, 1), 25600);
    assert_int_equal(policy_most_samples(100, 256, 0), 0);
}

static void test_source_of_the_mels(void **state)
{
    (void)state;
    const uint64_t G = 1 << 30;
    assert_int_equal(policy_prefers_audio(10 * G, 2 * G, 64 * G), 0); /* everything stays in memory */
    assert_int_equal(policy_prefers_audio(100 * G, 20 * G, 64 * G), 1);
    assert_int_equal(policy_prefers_audio(100 * G, 51 * G, 64 * G), 0); /* hardly fewer bytes */
    assert_int_equal(policy_prefers_audio(100 * G, 20 * G, 0), 0);      /* nobody knows */
    assert_int_equal(policy_prefers_audio(100 * G, 0, 64 * G), 0);
}

/* A stall every 20 batches that the buffers do not cover: one wait each, too few for a window. */
static int after_stalls(GrowWindow *w, int from, int stalls, int full, int starved)
{
    int buffers = 3;
    for (int batch = from; batch < from + 20 * stalls; batch++) {
        buffers = policy_buffers_wanted(w, batch, buffers, 32);
        w->takes++;
        if (batch % 20 == 18 && full)
            policy_buffer_short(w, 1, 0);
        if (batch % 20 == 19)
            policy_buffer_late(w, batch, starved);
    }
    return policy_buffers_wanted(w, from + 20 * stalls, buffers, 32);
}

static void test_growing_for_stalls(void **state)
{
    (void)state;
    GrowWindow w = {0};
    assert_int_equal(after_stalls(&w, 0, 1, 1, 0), 3); /* once is no rule */
    w = (GrowWindow){0};
    assert_int_equal(after_stalls(&w, 0, 2, 1, 0), 4);
    w = (GrowWindow){0};
    assert_int_equal(after_stalls(&w, 0, 4, 1, 0), 9); /* 4, 6, 9 */
    w = (GrowWindow){0};
    assert_int_equal(after_stalls(&w, 0, 4, 0, 0), 3); /* they were never full: more would hold nothing */
    w = (GrowWindow){0};
    assert_int_equal(after_stalls(&w, 0, 4, 1, 1), 3); /* the loader's stall is for host slots to hide */
}

/* What was added and was never needed goes again, and is not tried for a long time. */
static void test_shrinking(void **state)
{
    (void)state;
    const GrowWindow needy = {.takes = 3, .waits = 2, .shortage = 1, .counted = 3};
    GrowWindow w = needy;
    assert_int_equal(policy_buffers_wanted(&w, 10, 3, 8), 4);
    policy_buffer_short(&w, 0, 1); /* a stage has a queue now */
    assert_int_equal(policy_buffers_wanted(&w, 73, 4, 8), 4);
    assert_int_equal(policy_buffers_wanted(&w, 74, 4, 8), 3);
    w.takes = needy.takes;
    w.waits = needy.waits;
    w.shortage = needy.shortage;
    w.counted = needy.counted;
    assert_int_equal(policy_buffers_wanted(&w, 80, 3, 8), 3);
    assert_int_equal(policy_buffers_wanted(&w, 74 + 1024, 3, 8), 4);
    /* Used, without a queue: they stay. */
    w = needy;
    assert_int_equal(policy_buffers_wanted(&w, 10, 3, 8), 4);
    policy_buffer_short(&w, 0, 0);
    assert_int_equal(policy_buffers_wanted(&w, 74, 4, 8), 4);
}

static void test_growing(void **state)
{
    (void)state;
    GrowWindow w = {.takes = 3, .waits = 2, .shortage = 1, .counted = 3};
    assert_int_equal(policy_buffers_wanted(&w, 3, 8, 8), 8); /* as many as there may be */
    assert_int_equal(w.waits, 2);
    assert_int_equal(policy_buffers_wanted(&w, 3, 7, 8), 8);
    assert_int_equal(w.takes + w.waits + w.shortage, 0);
    w = (GrowWindow){.takes = 15, .waits = 1, .shortage = 1, .counted = 15};
    assert_int_equal(policy_buffers_wanted(&w, 15, 3, 8), 3);
    assert_int_equal(w.waits, 1);
    w.takes = 16;
    assert_int_equal(policy_buffers_wanted(&w, 16, 3, 8), 3); /* the window is over: one wait is not enough */
    assert_int_equal(w.waits, 0);
    w = (GrowWindow){.takes = 5, .waits = 5};
    assert_int_equal(policy_buffers_wanted(&w, 5, 3, 8), 3); /* the feeder has buffers */
    w = (GrowWindow){.takes = 5, .waits = 5, .shortage = 1, .counted = 5, .queued = 5};
    assert_int_equal(policy_buffers_wanted(&w, 5, 3, 8), 3); /* they would only make the queue longer */
    assert_int_equal(policy_device_waits(1, 0), 1);
    assert_int_equal(policy_device_waits(1, 1), 0);
    assert_int_equal(policy_device_waits(0, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slots),        cmocka_unit_test(test_buffers),
        cmocka_unit_test(test_rows_at_once), cmocka_unit_test(test_stretched_frames),
        cmocka_unit_test(test_growing),      cmocka_unit_test(test_growing_for_stalls),
        cmocka_unit_test(test_shrinking),    cmocka_unit_test(test_source_of_the_mels),
        cmocka_unit_test(test_adding_slots),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
