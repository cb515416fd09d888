/* The simulated machine: its list of keys and the sentences for wrong ones, the times it draws, its failures,
 * its disk. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/stats.h"
#include "base/thread.h"
#include "device/sim.h"

static void test_stage_names(void **state)
{
    static const char *const names[] = {"read", "decode", "h2d", "preprocess", "peer", "step", "sum"};
    for (int i = 0; i < STAGE_COUNT; i++) {
        assert_string_equal(stage_name((StageId)i), names[i]);
        assert_int_equal(stage_find(names[i], (int)strlen(names[i])), i);
    }
    assert_int_equal(stage_find("steps", 5), -1);
    assert_int_equal(stage_find("steps", 4), STAGE_STEP);
    assert_int_equal(stage_find("", 0), -1);
}

/* Reports loop over them. */
static void test_stage_rows(void **state)
{
    for (int i = 0; i < STAGE_COUNT; i++) {
        const StageInfo *s = stage_info((StageId)i);
        assert_int_equal(s->id, i);
        assert_non_null(s->name);
        assert_true(s->cause == CAUSE_STORAGE || s->cause == CAUSE_BANDWIDTH || s->cause == CAUSE_COMPUTE);
        /* The sum's keys are those of the links, which belong to the cluster. */
        assert_true(i == STAGE_SUM
                        ? !s->keys[0].name
                        : s->keys[0].name && strncmp(s->keys[0].name, s->name, strlen(s->name)) == 0);
    }
    assert_int_equal(STAGE_STEP, STAGE_SUM - 1);
    assert_int_equal(STAGE_SUM, STAGE_COUNT - 1);
}

static void test_nothing_takes_no_time(void **state)
{
    static const char *const specs[] = {"", "  ", NULL};
    for (int k = 0; k < 3; k++) {
        Sim sim;
        assert_int_equal(sim_parse(&sim, specs[k], NULL), 0);
        for (int i = 0; i < STAGE_COUNT; i++) {
            assert_true(sim_seconds(&sim, (StageId)i, 3, 1 << 30) == 0);
            assert_false(sim_fails(&sim, (StageId)i, 0));
        }
        assert_int_equal(sim.memory, (uint64_t)16 << 30);
        sim_close(&sim);
        sim_close(&sim);
    }
}

static void test_every_key(void **state)
{
    Sim sim;
    Err err = {0};
    const char *spec = "read_ms=10, decode_ms=20,h2d_gbps=25,h2d_us=5,preprocess_ms=0.5 "
                       ",peer_gbps=300,peer_us=2,step_ms=150,seed=7,"
                       "stall=h2d:50:400,stall=read:3:1.5,fail=peer:20,fail=step:9,memory_gb=0.5";
    assert_int_equal(sim_parse(&sim, spec, &err), 0);
    assert_float_equal(sim_seconds(&sim, STAGE_READ, 0, 0), 10e-3, 1e-12);
    assert_float_equal(sim_seconds(&sim, STAGE_READ, 2, 0), 11.5e-3,
                       1e-12); /* the last of each group of three stalls */
    assert_float_equal(sim_seconds(&sim, STAGE_READ, 3, 0), 10e-3, 1e-12);
    assert_float_equal(sim_seconds(&sim, STAGE_READ, 5, 0), 11.5e-3, 1e-12);
    assert_float_equal(sim_seconds(&sim, STAGE_DECODE, 0, 0), 20e-3, 1e-12);
    assert_float_equal(sim_seconds(&sim, STAGE_H2D, 0, 25000000), 5e-6 + 1e-3, 1e-12);
    assert_float_equal(sim_seconds(&sim, STAGE_H2D, 49, 0), 5e-6 + 0.4, 1e-12);
    assert_float_equal(sim_seconds(&sim, STAGE_H2D, -1, 0), 5e-6, 1e-12);
    assert_float_equal(sim_seconds(&sim, STAGE_PREPROCESS, 0, 0), 0.5e-3, 1e-12);
    assert_float_equal(sim_seconds(&sim, STAGE_PEER, 0, 300000000), 2e-6 + 1e-3, 1e-12);
    assert_float_equal(sim_seconds(&sim, STAGE_STEP, 0, 12345), 0.15, 1e-12);
    assert_true(sim_fails(&sim, STAGE_PEER, 20) && sim_fails(&sim, STAGE_STEP, 9));
    assert_false(sim_fails(&sim, STAGE_PEER, 19) || sim_fails(&sim, STAGE_H2D, 20) ||
                 sim_fails(&sim, STAGE_STEP, -1));
    assert_int_equal(sim.seed, 7);
    assert_int_equal(sim.memory, (uint64_t)512 << 20);
    sim_close(&sim);
}

static const struct {
    const char *spec, *sentence, *hint;
} wrong_specs[] = {
    {"setp_ms=3", "'setp_ms'", "'step_ms'"},
    {"jiter=3", "'jiter'", "'jitter'"},
    {"memory=3", "'memory'", "'memory_gb'"},
    {"bananas=3", "'bananas'", "the keys are read_ms"},
    {"read_ms", "'read_ms' has no value", ""},
    {"stall=", "stall=STAGE:EVERY:MS", ""},
    {"read_ms=fast", "'fast' is not a number", ""},
    {"read_ms=3x", "'3x' is not a number", ""},
    {"read_ms=-1", "-1 is out of range in 'read_ms=-1': it must be 0 to 3600000", ""},
    {"read_ms=nan", "out of range", ""},
    {"read_ms=inf", "out of range", ""},
    {"h2d_gbps=0", "it must be 0.001 to 1000000", ""},
    {"jitter=5.5", "it must be 0 to 5", ""},
    {"jitter=bananas:1", "unknown stage 'bananas'", "the stages are read, decode"},
    {"jitter=h2d:x", "'x' is not a number", ""},
    {"jitter=1,jitter=2", "the same jitter twice ('jitter=2'", ""},
    {"jitter=step:1,jitter=step:2", "the same jitter twice", ""},
    {"seed=1.5", "whole number", ""},
    {"seed=1,read_ms=2,seed=3", "seed is given twice ('seed=3'", ""},
    {"read_ms=1,,step_ms=2", "between two commas", ""},
    {"read_ms=1,", "after the last one", ""},
    {"stall=h2d:5", "should be stall=STAGE:EVERY:MS", ""},
    {"stall=h2d:5:6:7", "should be stall=STAGE:EVERY:MS", ""},
    {"stall=d2h:5:6", "unknown stage 'd2h'", "'h2d'"},
    {"stall=bananas:5:6", "unknown stage 'bananas'", "the stages are read, decode"},
    {"stall=h2d:0:6", "it must be 1 to", ""},
    {"stall=h2d:2.5:6", "whole number", ""},
    {"stall=h2d:2:-6", "out of range", ""},
    {"fail=step", "should be fail=STAGE:AT", ""},
    {"fail=step:-1", "out of range", ""},
    {"fail=step:1,fail=step:2", "two failures of stage step", ""},
    {"memory_gb=0", "it must be 0.001 to 4096", ""},
    {"rank=8", "'rank=8' should be rank=R:KEY=VALUE", ""},
    {"raks=8", "'raks'", "'ranks'"},
    {"ranks=0", "it must be 1 to 64", ""},
    {"ranks=2.5", "whole number", ""},
    {"ranks=8,hosts=3", "8 ranks cannot be spread evenly over 3 hosts", ""},
    {"slow_rank=3", "should be slow_rank=R:FACTOR", ""},
    {"slow_rank=1:2,ranks=4,slow_rank=1:3", "rank 1 is slow twice", ""},
    {"ranks=4,slow_rank=4:2", "slow_rank names rank 4, but ranks=4: they are 0 to 3", ""},
    {"slow_rank=1:2", "ranks=1", ""},
    {"ranks=4,slow_rank=1:0.5", "it must be 1 to 1000", ""},
    {"ranks=4,rank=4:read_ms=3", "'rank=4:read_ms=3' names rank 4, but ranks=4", ""},
    {"ranks=4,hosts=2,host=2:read_ms=3", "names host 2, but hosts=2", ""},
    {"ranks=4,rank=1:read_ms=x", "'x' is not a number", ""},
    {"ranks=4,rank=1:raed_ms=3", "'raed_ms'", "'read_ms'"},
    {"ranks=4,rank=1:seed=3", "'seed' cannot be set for a single rank", "times of stages"},
    {"ranks=4,rank=x:read_ms=3", "'x' is not a number", ""},
    {"link_gbps=0", "it must be 0.001", ""},
};

static void test_wrong_specs(void **state)
{
    for (size_t i = 0; i < sizeof wrong_specs / sizeof *wrong_specs; i++) {
        Sim sim;
        Err err = {0};
        assert_int_equal(sim_parse(&sim, wrong_specs[i].spec, &err), ERR_CONFIG);
        if (!strstr(err.msg, wrong_specs[i].sentence) || !strstr(err.hint, wrong_specs[i].hint) ||
            (!wrong_specs[i].hint[0] && err.hint[0]))
            fail_msg("'%s' gave '%s' with the hint '%s'", wrong_specs[i].spec, err.msg, err.hint);
        sim_close(&sim);
    }
    char many[1024] = "stall=step:1:1", large[400];
    for (int i = 1; i <= SIM_MAX_STALLS; i++)
        strcat(many, ",stall=step:1:1");
    memset(large, 'x', sizeof large - 1);
    large[sizeof large - 1] = 0;
    Sim sim;
    Err err = {0};
    assert_int_equal(sim_parse(&sim, many, &err), ERR_CONFIG);
    assert_non_null(strstr(err.msg, "more than 16 stalls"));
    assert_int_equal(sim_parse(&sim, large, &err), ERR_CONFIG);
    assert_non_null(strstr(err.msg, "too long"));
}

/* One stage may jitter by itself, and the step may take longer for larger batches. */
static void test_stages_of_their_own(void **state)
{
    static const char *const specs[] = {
        "step_ms=2,read_ms=2,h2d_us=2000,step_gbps=1,jitter=0.1,jitter=read:0",
        "jitter=read:0,step_gbps=1,jitter=0.1,h2d_us=2000,read_ms=2,step_ms=2"};
    for (int i = 0; i < 2; i++) {
        Sim sim;
        assert_int_equal(sim_parse(&sim, specs[i], NULL), 0);
        assert_true(sim.jitter[STAGE_READ] == 0 && sim.jitter[STAGE_STEP] == 0.1);
        assert_true(sim_seconds(&sim, STAGE_READ, 3, 0) == 2e-3);
        assert_true(sim_seconds(&sim, STAGE_H2D, 3, 0) != 2e-3);
        assert_float_equal(sim_seconds(&sim, STAGE_STEP, -1, 5000000), 7e-3, 1e-12);
        sim_close(&sim);
    }
}

/* Every rank is a machine of its own: what its host has, what itself has, its own times, its host's disk. */
static void test_ranks(void **state)
{
    Sim sim, *all;
    Err err = {0};
    const char *spec = "ranks=8,hosts=2,read_ms=6,step_ms=30,jitter=0.1,seed=5,fail=step:9,slow_rank=3:1.5,"
                       "host=1:read_ms=40,host=1:decode_ms=9,rank=6:decode_ms=7,rank=6:read_ms=3,"
                       "rank=2:stall=h2d:5:100,rank=2:jitter=step:0,rank=2:fail=h2d:3,jitter=sum:0.5";
    assert_int_equal(sim_parse(&sim, spec, &err), 0);
    assert_int_equal(sim_ranks_open(&all, &sim, &err), 0);
    sim_close(&sim); /* the ranks stay */
    for (int r = 0; r < 8; r++) {
        assert_int_equal(all[r].rank, r);
        assert_int_equal(sim_host_of(&all[r], r), r / 4);
        assert_float_equal(sim_seconds(&all[r], STAGE_READ, -1, 0),
                           r == 6  ? 3e-3
                           : r < 4 ? 6e-3
                                   : 40e-3,
                           1e-12);
        assert_float_equal(sim_seconds(&all[r], STAGE_DECODE, -1, 0),
                           r == 6  ? 7e-3
                           : r < 4 ? 0
                                   : 9e-3,
                           1e-12);
        assert_float_equal(sim_seconds(&all[r], STAGE_STEP, -1, 0), r == 3 ? 45e-3 : 30e-3, 1e-12);
        assert_int_equal(sim_fails(&all[r], STAGE_STEP, 9), r != 2);
        assert_int_equal(sim_fails(&all[r], STAGE_H2D, 3), r == 2);
        assert_float_equal(sim_seconds(&all[r], STAGE_H2D, 4, 0), r == 2 ? 0.1 : 0, 1e-12);
        /* One disk for each host; a rank with its own reads lends it to nobody. */
        for (int other = 0; other < r; other++) {
            assert_int_equal(all[r].disk == all[other].disk, r / 4 == other / 4 && r != 6 && other != 6);
            assert_true(sim_seconds(&all[r], STAGE_READ, 7, 0) != sim_seconds(&all[other], STAGE_READ, 7, 0));
        }
        /* A sum takes the same time on all of them. */
        sim_set_sum(&all[r], 4);
        assert_true(sim_seconds(&all[r], STAGE_SUM, 7, 1000) == sim_seconds(&all[0], STAGE_SUM, 7, 1000));
    }
    assert_true(sim_seconds(&all[2], STAGE_STEP, 7, 0) == 30e-3);
    sim_ranks_close(all, 8);
    sim_ranks_close(NULL, 8);
    assert_int_equal(sim_parse(&sim, "ranks=4,hosts=2,shared_disk=1", &err), 0);
    assert_int_equal(sim_ranks_open(&all, &sim, &err), 0);
    assert_true(all[0].disk == all[3].disk);
    sim_ranks_close(all, 4);
    sim_close(&sim);
}

/* Twice (N - 1) / N of the bytes over the slowest link, and a latency for every step of the ring. */
static void test_links(void **state)
{
    static const struct {
        const char *spec;
        double latency, gbps; /* us; as every rank sees it */
    } cases[] = {
        {"", 0, INFINITY},
        {"link_gbps=10", 0, INFINITY},
        {"ranks=8,link_gbps=400,link_us=5", 2 * 7 * 5, 400 * 8 / 14.0},
        {"ranks=8", 2 * 7 * LINK_NEAR_US, LINK_NEAR_GBPS * 8 / 14.0},
        {"ranks=8,link_gbps=10,nvlink_gbps=200,nvlink_us=1", 2 * 7, 200 * 8 / 14.0},
        {"ranks=16,hosts=2,link_gbps=50,link_us=7", 2 * (7 * LINK_NEAR_US + 7), 50 * 16 / 30.0},
        {"ranks=16,hosts=2,link_gbps=500,link_us=0,nvlink_us=0", 0, LINK_NEAR_GBPS * 16 / 30.0},
        {"ranks=4,hosts=4,link_gbps=500,link_us=1", 6, 500 * 4 / 6.0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Sim sim;
        assert_int_equal(sim_parse(&sim, cases[i].spec, NULL), 0);
        sim_set_sum(&sim, 3);
        assert_float_equal(1e6 * sim_seconds(&sim, STAGE_SUM, -1, 0), 3 * cases[i].latency, 1e-6);
        double bytes = sim_seconds(&sim, STAGE_SUM, -1, 1000000000) - sim_seconds(&sim, STAGE_SUM, -1, 0);
        assert_float_equal(bytes, 1 / cases[i].gbps, 1e-9);
        sim_close(&sim);
    }
}

/* 10,000 draws have the mean and the deviation asked for, stages and seeds differ, and the same batch has the
 * same time every time. */
static void test_drawn_times(void **state)
{
    static const double jitters[] = {0.05, 0.5, 1.0};
    for (size_t k = 0; k < sizeof jitters / sizeof *jitters; k++) {
        Sim a, b;
        char spec[128];
        snprintf(spec, sizeof spec, "read_ms=45,decode_ms=45,jitter=%g,seed=3", jitters[k]);
        assert_int_equal(sim_parse(&a, spec, NULL), 0);
        snprintf(spec, sizeof spec, "read_ms=45,decode_ms=45,jitter=%g,seed=4", jitters[k]);
        assert_int_equal(sim_parse(&b, spec, NULL), 0);
        assert_float_equal(sim_seconds(&a, STAGE_READ, -1, 0), 0.045,
                           1e-15); /* work of no batch takes the mean */
        Stats drawn = {0}, product = {0};
        for (int64_t i = 0; i < 10000; i++) {
            double t = sim_seconds(&a, STAGE_READ, i, 0), other = sim_seconds(&a, STAGE_DECODE, i, 0);
            assert_true(t > 0);
            assert_true(t == sim_seconds(&a, STAGE_READ, i, 0));
            assert_true(t != other);
            assert_true(t != sim_seconds(&b, STAGE_READ, i, 0));
            stats_add(&drawn, t);
            stats_add(&product, (t / 0.045 - 1) * (other / 0.045 - 1));
        }
        double j = jitters[k];
        assert_float_equal(drawn.mean, 0.045,
                           0.045 * 4 * j / 100); /* four deviations of the mean of 10,000 */
        assert_float_equal(stats_std(&drawn) / drawn.mean, j, 0.1 * j);
        assert_float_equal(product.mean, 0, 5 * j * j / 100); /* stages are independent */
        sim_close(&a);
        sim_close(&b);
    }
}

typedef struct Reader {
    Sim *sim;
    int reads;
    double seconds;
    int *stop;
    Thread thread;
} Reader;

static void *read_many(void *arg)
{
    Reader *r = arg;
    for (int i = 0; i < r->reads; i++)
        sim_disk_read(r->sim, r->seconds, r->stop);
    return NULL;
}

/* One disk: what four readers read takes at least the sum of their times. */
static void test_disk_is_one(void **state)
{
    Sim sim;
    assert_int_equal(sim_parse(&sim, "", NULL), 0);
    Reader readers[4];
    double begun = clock_now();
    for (int i = 0; i < 4; i++) {
        readers[i] = (Reader){&sim, 5, 2e-3, NULL, {0}};
        assert_int_equal(thread_start(&readers[i].thread, "reader", read_many, &readers[i], NULL), 0);
    }
    for (int i = 0; i < 4; i++)
        thread_join(&readers[i].thread);
    assert_true(clock_now() - begun >= 4 * 5 * 2e-3);
    sim_disk_read(&sim, 0, NULL);
    sim_close(&sim);
}

/* A read of an hour ends when asked to; without that the test would not return. */
static void test_disk_stops(void **state)
{
    Sim sim;
    int stop = 0;
    assert_int_equal(sim_parse(&sim, "", NULL), 0);
    Reader reader = {&sim, 1, 3600, &stop, {0}};
    assert_int_equal(thread_start(&reader.thread, "reader", read_many, &reader, NULL), 0);
    clock_sleep(5e-3);
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    thread_join(&reader.thread);
    sim_close(&sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stage_names),
        cmocka_unit_test(test_stage_rows),
        cmocka_unit_test(test_nothing_takes_no_time),
        cmocka_unit_test(test_every_key),
        cmocka_unit_test(test_wrong_specs),
        cmocka_unit_test(test_stages_of_their_own),
        cmocka_unit_test(test_ranks),
        cmocka_unit_test(test_links),
        cmocka_unit_test(test_drawn_times),
        cmocka_unit_test(test_disk_is_one),
        cmocka_unit_test(test_disk_stops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
