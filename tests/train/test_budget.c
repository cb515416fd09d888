/* test_budget.c - the steps of a run with --minutes. The clock is not waited for: the run is said
 * to have begun earlier. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "train/run_parts.h"

/* A run of ten minutes. */
static void begin(Trainer *t, Config *cfg)
{
    Err err = {0};
    memset(t, 0, sizeof *t);
    assert_int_equal(config_defaults(cfg, &err), 0);
    cfg->minutes = 10;
    t->cfg = cfg;
    t->total = 100000;
    budget_open(t);
    t->started = clock_now();
}

/* `steps` more steps, which took `seconds`. */
static void pass(Trainer *t, int steps, double seconds)
{
    t->started -= seconds;
    if (t->measure_from > 0)
        t->measure_from -= seconds;
    if (t->settles > 0)
        t->settles -= seconds;
    t->state.step += steps;
    assert_int_equal(budget_step(t, NULL), 0);
}

static void a_slow_beginning_does_not_end_the_run(void **state)
{
    (void)state;
    Trainer t;
    Config cfg;
    begin(&t, &cfg);
    pass(&t, 1, 20);
    pass(&t, 2, 40); /* 20 s a step: kernels are loaded, graphs made */
    assert_in_range(t.total, 20, 40);
    /* The rest is quick and over before the next look at the clock. */
    int64_t expected = t.total;
    pass(&t, (int)(t.total - t.state.step), 10);
    assert_true(t.total > expected);
    assert_true(t.total > t.state.step);
    assert_in_range(t.total, 900, 1600); /* 530 s are left, 0.4 s a step */
    config_close(&cfg);
}

static void a_time_that_is_over_unmeasured_ends_the_run(void **state)
{
    (void)state;
    Trainer t;
    Config cfg;
    begin(&t, &cfg);
    pass(&t, 1, 590); /* the first step took it all */
    for (int i = 0; i < 4 && t.state.step < t.total; i++)
        pass(&t, 1, 20);
    assert_true(t.state.step >= t.total);
    config_close(&cfg);
}

/* A slow beginning makes a third of the steps seem near; of the time it is far. */
static void critics_wait_for_their_share_of_the_time(void **state)
{
    (void)state;
    Trainer t;
    Config cfg;
    begin(&t, &cfg);
    pass(&t, 1, 20);
    pass(&t, 2, 40);
    pass(&t, (int)(t.total - t.state.step), 10);
    assert_true(t.critics_wait);
    pass(&t, 1, 100); /* 170 s of 600 */
    assert_true(t.critics_wait);
    pass(&t, 1, 15);
    assert_false(t.critics_wait);
    config_close(&cfg);
}

/* Steps of 0.1 s that critics make three times as long, after most of the time. */
static void late_critics_keep_the_time(void **state)
{
    (void)state;
    Trainer t;
    Config cfg;
    begin(&t, &cfg);
    double seconds = 0;
    for (; seconds < 530; seconds += 1)
        pass(&t, 10, 1);
    assert_in_range(t.total, 5700, 6000);
    budget_steps_change(&t);
    pass(&t, 1, 6); /* the first one takes its time */
    for (seconds += 6; t.state.step < t.total; seconds += 3)
        pass(&t, 10, 3);
    assert_in_range((int)seconds, 580, 610);
    config_close(&cfg);
}

/* A time that gives few steps has a warm-up of a tenth of them, and one that was given stays. */
static void the_warm_up_follows_the_time(void **state)
{
    (void)state;
    for (int given = 0; given < 2; given++) {
        Trainer t;
        Config cfg;
        char *args[] = {"--warmup-steps", "300"};
        Err err = {0};
        begin(&t, &cfg);
        config_close(&cfg);
        assert_int_equal(config_load(&cfg, NULL, given ? 2 : 0, args, &err), 0);
        cfg.minutes = 10;
        t.cfg = &cfg;
        pass(&t, 10, 20);
        pass(&t, 10, 20); /* 2 s a step: about 290 */
        assert_true(!t.measuring && t.total > 200 && t.total < 320);
        assert_int_equal(trainer_warmup(&t), given ? 300 : t.total / 10);
        config_close(&cfg);
    }
}

/* What comes between steps does not make a step longer. */
static void a_validation_is_no_step(void **state)
{
    (void)state;
    Trainer t;
    Config cfg;
    begin(&t, &cfg);
    pass(&t, 10, 15);
    t.aside += 10; /* of these 15 seconds */
    pass(&t, 10, 15);
    /* 0.5 s a step, and as long between steps: about 570 s hold 570. */
    assert_in_range(t.total, 500, 700);
    config_close(&cfg);
}

/* Nor do the first steps of a shape, which come once. */
static void a_graph_is_no_step(void **state)
{
    (void)state;
    Trainer t;
    Config cfg;
    begin(&t, &cfg);
    pass(&t, 10, 15);
    t.meter.apart_seconds += 14; /* of the next 15 seconds, */
    t.meter.apart_count += 5;    /* and of the next 10 steps */
    pass(&t, 10, 15);
    assert_in_range(t.total, 2700, 2900); /* 0.2 s a step */
    config_close(&cfg);
    /* Where all were first ones nothing else is known. */
    begin(&t, &cfg);
    pass(&t, 10, 15);
    t.meter.apart_seconds += 14;
    t.meter.apart_count += 10;
    pass(&t, 10, 15);
    assert_in_range(t.total, 350, 420); /* 1.5 s */
    config_close(&cfg);
}

/* The line about steps fits, whatever there is to tell; a warning comes once. */
static void the_line_fits(void **state)
{
    (void)state;
    Trainer t;
    Config cfg;
    char line[200];
    begin(&t, &cfg);
    t.measuring = 0;
    t.made = 1;
    t.usual_loss = 0.25;
    t.skipped = 299;
    t.heard.voice = (WordScore){.words = 100, .wrong = 27, .share = 0.27};
    telling_line(&t, line, sizeof line, 1250000, 99);
    assert_non_null(strstr(line, "step 1250000/100000  loss 0.2500  "));
    assert_non_null(strstr(line, "10 min 00 s left  27 % of the words wrong  299 steps skipped"));
    assert_true(strlen(line) <= 99);
    telling_line(&t, line, sizeof line, 1250000, 60);
    assert_true(strlen(line) <= 60 && !strstr(line, "words"));
    assert_int_equal(telling_once(&t, TELL_TOO_HIGH), LOG_WARN);
    assert_int_equal(telling_once(&t, TELL_TOO_HIGH), LOG_DEBUG);
    assert_int_equal(telling_once(&t, TELL_NOT_FINITE), LOG_WARN);
    assert_int_equal(telling_news(&t, &t.telling.heard, 0), LOG_INFO);
    assert_int_equal(telling_news(&t, &t.telling.heard, 0), LOG_DEBUG);
    assert_int_equal(telling_news(&t, &t.telling.heard, 1), LOG_INFO);
    config_close(&cfg);
}

/* A line is broken at words, a word that is wider than the terminal is left to it. */
static void lines_are_broken_at_words(void **state)
{
    (void)state;
    Buf b = {0};
    log_wrap(&b, "one two three four five six seven", 14);
    buf_add(&b, "", 1);
    assert_string_equal(b.data, "one two three\n    four five\n    six seven");
    buf_free(&b);
    log_wrap(&b, "/a/path/that/is/long and more", 10);
    buf_add(&b, "", 1);
    assert_string_equal(b.data, "/a/path/that/is/long and more");
    buf_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slow_beginning_does_not_end_the_run),
        cmocka_unit_test(a_time_that_is_over_unmeasured_ends_the_run),
        cmocka_unit_test(critics_wait_for_their_share_of_the_time),
        cmocka_unit_test(late_critics_keep_the_time),
        cmocka_unit_test(the_warm_up_follows_the_time),
        cmocka_unit_test(a_validation_is_no_step),
        cmocka_unit_test(a_graph_is_no_step),
        cmocka_unit_test(the_line_fits),
        cmocka_unit_test(lines_are_broken_at_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
