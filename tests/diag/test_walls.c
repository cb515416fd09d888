/* test_walls.c - what the doctor says of several faults at once (walls), and of steps that come unevenly (the
 * one rule of swings), on machines that are made of drawn times. */
#include "base/disturbance.h"
#include "base/thread.h"
#include "support/doctor_testing.h"
#include "support/pipeline_testing.h"

#include "diag/pipeline/doctor.h"

/* ---- walls ---- */

typedef struct Expected {
    const char *stage, *cause;
    int period;
} Expected;

typedef struct Blocked {
    Machine m; /* its own verdict is that of the first wall */
    Expected walls[3];
    Machine mended; /* without any of them; no name: the gain is not compared */
} Blocked;

#define MENDED FAST "step_ms=20"
static const Blocked blocked[] = {
    {{"a slow disk, and preprocessing as slow",
      "read_ms=40,decode_ms=6,h2d_us=2000,preprocess_ms=38,peer_us=2000,step_ms=20", 2, 8, 8, 1, "", "", 0},
     {{"read", "storage", 0}, {"preprocess", "compute", 0}},
     {"mended", MENDED, 2, 8, 8, 1, "", "", 0}},
    {{"a slow disk that hides a stall of the peer copy",
      "read_ms=40,decode_ms=6,h2d_us=2000,preprocess_ms=4,peer_us=2000,step_ms=20,stall=peer:20:300", 2, 8, 8,
      1, "", "", 0},
     {{"read", "storage", 0}, {"peer", "stall", 20}},
     {"mended", MENDED, 2, 8, 8, 1, "", "", 0}},
    {{"a long stall", FAST "step_ms=20,stall=h2d:10:900", 1, 8, 8, 1, "", "", 0},
     {{"h2d", "stall", 10}},
     {"mended", MENDED, 2, 8, 8, 1, "", "", 0}},
    {{"one worker, and a slow copy",
      "read_ms=2,decode_ms=80,h2d_us=35000,preprocess_ms=4,peer_us=2000,step_ms=20", 1, 8, 8, 1, "", "", 0},
     {{"decode", "workers", 0}, {"h2d", "bandwidth", 0}},
     {"mended", MENDED, 2, 8, 8, 1, "", "", 0}},
    {{"two stalls", FAST "step_ms=20,stall=read:20:700,stall=peer:13:180", 2, 4, 4, 1, "", "", 0},
     {{"read", "stall", 20}, {"peer", "stall", 13}},
     {"mended", MENDED, 2, 4, 4, 1, "", "", 0}},
    {{"three of them", "read_ms=60,decode_ms=6,h2d_us=45000,preprocess_ms=30,peer_us=2000,step_ms=20", 2, 8,
      8, 1, "", "", 0},
     {{"read", "storage", 0}, {"h2d", "bandwidth", 0}, {"preprocess", "compute", 0}},
     {"mended", MENDED, 2, 8, 8, 1, "", "", 0}},
    {{"the step is the limit", FAST "step_ms=60", 2, 8, 8, 1, "", "", 0}, {{0}}, {0}},
    {{"nothing is", "read_ms=9,decode_ms=12,h2d_us=4000,preprocess_ms=12,peer_us=4000,step_ms=20,jitter=0.1",
      2, 8, 8, 1, "", "", 0},
     {{0}},
     {0}},
    {{"the step stalls", FAST "step_ms=10,stall=step:17:80", 2, 8, 8, 1, "", "", 0},
     {{"step", "stall", 17}},
     {"mended", FAST "step_ms=10", 2, 8, 8, 1, "", "", 0}},
};

static void check_walls(const Blocked *b, const Verdict *v)
{
    int count = 0;
    while (count < 3 && b->walls[count].stage)
        count++;
    for (int i = 0; i < v->wall_count; i++)
        print_message("%s: %d. %s/%s/%d, %.2f alone, %.2f so far; %s; %s\n", b->m.name, i + 1,
                      stage_name((StageId)v->walls[i].stage), cause_name(v->walls[i].cause),
                      v->walls[i].period, v->walls[i].gain_alone, v->walls[i].gain_so_far,
                      v->walls[i].evidence, v->walls[i].remedy);
    assert_int_equal(v->wall_count, count);
    assert_int_equal(count > 0, verdict_has_fault(v));
    if (count) { /* the first is the verdict */
        assert_int_equal(v->walls[0].stage, v->stage);
        assert_int_equal(v->walls[0].cause, v->cause);
        assert_true(v->walls[0].gain_alone == v->walls[0].gain_so_far);
    }
    for (int i = 0; i < count; i++) {
        const Wall *w = &v->walls[i];
        assert_string_equal(stage_name((StageId)w->stage), b->walls[i].stage);
        assert_string_equal(cause_name(w->cause), b->walls[i].cause);
        assert_int_equal(w->period, b->walls[i].period);
        assert_true(w->evidence[0] && w->remedy[0]);
        assert_true(w->gain_so_far >= (i ? v->walls[i - 1].gain_so_far : 1));
    }
}

/* What limits, what limits then, and what it gives to be rid of them all. */
static void test_walls(void **state)
{
    for (size_t i = 0; i < sizeof blocked / sizeof *blocked; i++) {
        const Blocked *b = &blocked[i];
        Observation o, mended;
        Verdict v;
        Err err = {0};
        make_observation(&o, &b->m);
        assert_int_equal(doctor_judge(&v, &o, &err), 0);
        check_walls(b, &v);
        if (b->mended.name) {
            make_observation(&mended, &b->mended);
            double truth = o.period / mended.period, said = v.walls[v.wall_count - 1].gain_so_far;
            if (!(fabs(said / truth - 1) < 0.05))
                fail_msg("%s: without all walls %.3f times, said %.3f", b->m.name, truth, said);
            observation_close(&mended);
        }
        observation_close(&o);
    }
}

/* The disk takes 20 ms of 20.7: with native_loading off it is the disk, whatever more workers would give. */
static void test_synchronous(void **state)
{
    const Machine m = {
        "", "read_ms=20,decode_ms=0.3,h2d_us=200,preprocess_ms=0.2,step_ms=30", 0, 1, 3, 0, "", "", 0};
    Observation o;
    Verdict v;
    Err err = {0};
    make_observation(&o, &m);
    o.synchronous = 1;
    o.num_workers = 2;
    measure_steps(&o);
    assert_int_equal(doctor_judge(&v, &o, &err), 0);
    assert_int_equal(v.stage, STAGE_READ);
    assert_int_equal(v.cause, CAUSE_STORAGE);
    assert_non_null(strstr(v.sentence, "native_loading"));
    assert_int_equal(v.walls[0].stage, STAGE_READ);
    assert_non_null(strstr(v.walls[0].remedy, "native_loading: true"));
    observation_close(&o);
}

/* ---- swings ---- */

static void test_swings(void **state)
{
    static const struct {
        Machine m;
        const char *kind;
    } cases[] = {
        {{"even", FAST "step_ms=20,jitter=0.1", 2, 8, 8, 1, "none", "", 0}, "none"},
        {{"a little jitter", FAST "step_ms=20,jitter=0.25", 2, 8, 8, 1, "none", "", 0}, "none"},
        {{"much before the step", FAST "step_ms=20,jitter=0.35,jitter=step:0.1", 2, 8, 8, 1, "none", "", 0},
         "none"},
        {{"too much in the step", FAST "step_ms=20,jitter=0.1,jitter=step:0.4", 2, 8, 8, 1, "step", "", 0},
         "jitter"},
        {{"the step jitters", FAST "step_ms=20,jitter=0.8", 2, 8, 8, 1, "step", "", 0}, "jitter"},
        {{"the copy jitters", "read_ms=4,decode_ms=6,h2d_us=18000,preprocess_ms=4,step_ms=20,jitter=h2d:1.4",
          2, 2, 3, 0, "h2d", "", 0},
         "jitter"},
        {{"the disk stalls", FAST "step_ms=20,jitter=0.1,stall=read:20:300", 2, 8, 8, 1, "read", "", 20},
         "periodic"},
        {{"the step stalls", FAST "step_ms=20,jitter=0.1,stall=step:9:20", 2, 8, 8, 1, "step", "", 9},
         "periodic"},
        {{"a stall that buffers hide", FAST "step_ms=20,stall=read:20:60", 2, 8, 8, 1, "none", "", 0},
         "none"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Observation o;
        Swing s;
        Err err = {0};
        make_observation(&o, &cases[i].m);
        measure_steps(&o);
        assert_int_equal(swing_judge(&s, &o, &err), 0);
        const char *stage = s.stage < 0 ? "none" : stage_name((StageId)s.stage);
        if (strcmp(swing_name(s.kind), cases[i].kind) || strcmp(stage, cases[i].m.stage) ||
            s.period != cases[i].m.period)
            fail_msg("%s: %s/%s/%d, variation %.2f, rest %.2f: %s", cases[i].m.name, swing_name(s.kind),
                     stage, s.period, s.variation, s.rest, s.sentence);
        assert_int_equal(swing_is_fault(&s), s.status == STATUS_BAD);
        assert_true(!swing_is_fault(&s) || (s.sentence[0] && s.advice[0]));
        observation_close(&o);
    }
}

/* Long batches take longer: no fault. What jitters besides is one. */
static void test_lengths(void **state)
{
    const Machine m = {"", FAST "step_ms=20,jitter=0.05", 2, 8, 8, 1, "", "", 0};
    for (int i = 0; i < 3; i++)
        for (int many = 0; many < 2; many++) { /* a few lengths, and one of its own for each batch */
            Observation o;
            Swing s;
            Err err = {0};
            Rng rng;
            const int jitters = i == 1, once = i == 2; /* once: one step that is far too long is no jitter */
            rng_seed(&rng, 3);
            make_observation(&o, &m);
            for (int k = 0; k < BATCHES; k++) {
                o.frames[k] = many ? 100 + (int)rng_below(&rng, 900) : 100 << rng_below(&rng, 4);
                o.trace[TRACE_STEP][k] *= (float)o.frames[k] / 400;
                if (jitters)
                    o.trace[TRACE_STEP][k] *= (float)exp(1.1 * rng_normal(&rng));
            }
            if (once)
                o.trace[TRACE_STEP][100] = 4;
            measure_steps(&o);
            assert_int_equal(swing_judge(&s, &o, &err), 0);
            print_message("variation %.2f, by lengths %.2f, rest %.2f: %s\n", s.variation, s.by_lengths,
                          s.rest, s.sentence);
            assert_true(s.variation > 0.4);
            assert_int_equal(s.kind, jitters ? SWING_JITTER : SWING_LENGTHS);
            assert_int_equal(s.stage, jitters ? STAGE_STEP : -1);
            assert_true(jitters ? s.by_lengths < 0.7 : s.by_lengths > 0.9);
            assert_int_equal(s.status, jitters ? STATUS_BAD : STATUS_GOOD);
            observation_close(&o);
        }
}

/* Batches that nobody holds up come in bursts. That is a fault only if a trainer would see it. */
static void test_bursts(void **state)
{
    static const struct {
        const char *sim;
        int fault;
    } cases[] = {{"read_ms=1,decode_ms=40,h2d_us=500,preprocess_ms=1,jitter=0.3", 0},
                 {"read_ms=0.02,decode_ms=0.3,preprocess_ms=0.05,jitter=1.5", 0},
                 {"read_ms=4,decode_ms=4,h2d_us=2000,preprocess_ms=2,stall=h2d:9:90", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Machine m = {"", cases[i].sim, 4, 4, 4, 0, "", "", 0};
        Observation o;
        Verdict v;
        Err err = {0};
        make_observation(&o, &m);
        o.no_step = 1;
        measure_steps(&o);
        assert_int_equal(doctor_judge(&v, &o, &err), 0);
        print_message("variation %.2f, a trainer's %.2f: %s\n", v.swing.variation, v.swing.rest,
                      v.swing.sentence);
        assert_true(v.swing.variation > 0.2);
        assert_int_equal(swing_is_fault(&v.swing), cases[i].fault);
        assert_true(v.wall_count > 0 && v.walls[0].stage == v.stage);
        observation_close(&o);
    }
}

/* ---- other programs ---- */

/* What they may have made is not named; what is larger than that is. */
static void test_disturbed(void **state)
{
    static const struct {
        const char *sim;
        double disturbed;
        int says_so;
        const char *stage;
    } cases[] = {
        {"read_ms=22,decode_ms=6,h2d_us=2000,preprocess_ms=4,peer_us=2000,step_ms=20", 0, 0, "read"},
        {"read_ms=22,decode_ms=6,h2d_us=2000,preprocess_ms=4,peer_us=2000,step_ms=20", 0.8, 1, "none"},
        {"read_ms=60,decode_ms=6,h2d_us=2000,preprocess_ms=4,peer_us=2000,step_ms=20", 0.8, 0, "read"},
        {FAST "step_ms=20,jitter=step:0.4", 0, 0, "none"},
        {FAST "step_ms=20,jitter=step:0.4", 0.8, 1, "none"},
        {FAST "step_ms=20", 0.8, 0, "none"}, /* nothing was found: others have not made that */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Observation o;
        Err err = {0};
        Machine m = {.sim = cases[i].sim, .workers = 2, .slots = 8, .most_buffers = 8, .two = 1};
        Verdict *v = calloc(1, sizeof *v);
        assert_non_null(v);
        make_observation(&o, &m);
        measure_steps(&o);
        o.disturbed = cases[i].disturbed;
        assert_int_equal(doctor_judge(v, &o, &err), 0);
        const int step = v->stage == STAGE_STEP; /* is the limit, as it should be */
        const char *stage = v->stage < 0 || step ? "none" : stage_name((StageId)v->stage);
        if (v->disturbed != cases[i].says_so || strcmp(stage, cases[i].stage) != 0 ||
            (strstr(v->sentence, "Too disturbed to judge") != NULL) != cases[i].says_so ||
            (cases[i].says_so && (v->wall_count || swing_is_fault(&v->swing))))
            fail_msg("case %zu: %d, %s: %s", i, v->disturbed, stage, v->sentence);
        observation_close(&o);
        free(v);
    }
    /* Threads that wait for each other are not disturbed by anybody. */
    const double cores = thread_cores();
    const Disturbance a = {.now = 10, .own = 5, .busy = 100, .delay = 1},
                      alone = {.now = 12, .own = 7, .busy = 102.1, .delay = 2},
                      beside = {.now = 12, .own = 7, .busy = 102 + cores, .delay = 2};
    assert_true(disturbance_between(&a, &alone) == 0);
    assert_true(fabs(disturbance_between(&a, &beside) - 0.5) < 1e-9);
    assert_true(disturbance_between(&(Disturbance){0}, &beside) == 0); /* not known */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_walls),     cmocka_unit_test(test_synchronous), cmocka_unit_test(test_swings),
        cmocka_unit_test(test_disturbed), cmocka_unit_test(test_lengths),     cmocka_unit_test(test_bursts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
