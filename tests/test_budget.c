/* test_budget.c - the steps of a run that has so many minutes. The clock is not waited for: the run is said
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slow_beginning_does_not_end_the_run),
        cmocka_unit_test(a_time_that_is_over_unmeasured_ends_the_run),
        cmocka_unit_test(the_warm_up_follows_the_time),
        cmocka_unit_test(a_validation_is_no_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
