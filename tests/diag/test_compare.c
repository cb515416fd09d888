/* test_compare.c - runs made with known differences: found where they are, not where they are not; settings,
 * resumes, losses, scaling. */
#include <math.h>

#include "support/folder_testing.h"

#include "base/rng.h"
#include "diag/report/compare.h"
#include "diag/report/html.h"
#include "train/log/run_log.h"

typedef struct Made {
    double ms, noise; /* of a batch; deviation as a share of it */
    double memory;    /* of the noise: 0 every step for itself, 0.8: slow waves */
    int period;       /* every this many steps one takes twice as long; 0: none */
    int steps, per_line;
    int batch, accumulation; /* batch 0: no start line */
    double loss_from, loss_per_step, wait;
    uint64_t seed;
} Made;

static void make_times(double *out, const Made *m, int n)
{
    Rng rng;
    double wave = 0;
    rng_seed(&rng, rng_mix(m->seed, 77));
    for (int i = 0; i < n; i++) {
        wave = m->memory * wave + sqrt(1 - m->memory * m->memory) * rng_normal(&rng);
        out[i] =
            fmax(m->ms * 0.05, m->ms * (1 + m->noise * wave) * (m->period && i % m->period == 0 ? 2 : 1));
    }
}

static const char *make_log(const Folder *f, const char *name, Made m)
{
    const char *path = folder_file(f, name);
    RunLog *l;
    double *t = calloc((size_t)m.steps, sizeof *t), seconds = 0;
    assert_int_equal(run_log_open(&l, path, NULL), 0);
    if (m.batch)
        run_log_write(l,
                      json_pack("{s:s, s:i, s:i, s:i, s:s, s:s, s:i, s:i, s:b}", "event", "start", "step", 0,
                                "batch_size", m.batch, "gradient_accumulation_steps",
                                m.accumulation ? m.accumulation : 1, "model_gpu", "cpu", "model_size", "nano",
                                "total_steps", m.steps, "num_workers", 4, "mixed_precision", 0),
                      NULL);
    make_times(t, &m, m.steps);
    for (int i = 0; i + m.per_line <= m.steps; i += m.per_line) {
        double sum = 0;
        json_t *times = json_array();
        for (int k = i; k < i + m.per_line; k++) {
            sum += t[k];
            json_array_append_new(times, json_real(t[k]));
        }
        seconds += sum / 1e3;
        int rows = m.batch ? m.batch : 24, parts = m.accumulation ? m.accumulation : 1;
        run_log_write(l,
                      json_pack("{s:s, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:o, s:I}", "event", "step", "step",
                                i + m.per_line, "loss", m.loss_from - m.loss_per_step * i, "seconds", seconds,
                                "step_ms", sum / m.per_line * parts, "wait_share",
                                m.wait * (1 + 0.1 * sin(i)), "busy_share", 1 - m.wait, "utterances_per_s",
                                rows * m.per_line / sum * 1e3, "step_times_ms", times, "model_bytes",
                                (json_int_t)(100000000 + 2000000 * rows)),
                      NULL);
    }
    run_log_close(l);
    free(t);
    return path;
}

static const Made usual = {.ms = 40,
                           .noise = 0.05,
                           .steps = 1000,
                           .per_line = 50,
                           .batch = 16,
                           .loss_from = 3,
                           .loss_per_step = 0.001,
                           .wait = 0.02};

static RunRecord load(const char *path)
{
    RunRecord r;
    Err err = {0};
    if (run_record_load(&r, path, &err))
        fail_msg("%s", err.msg);
    return r;
}

static Compare compared(RunRecord *a, RunRecord *b, double target)
{
    Compare c;
    Err err = {0};
    if (compare_runs(&c, a, b, -1, target, &err))
        fail_msg("%s", err.msg);
    return c;
}

static void test_known_difference(void **state)
{
    (void)state;
    Folder f = folder_make();
    Made second = usual;
    second.ms = 40 / 1.12, second.seed = 1;
    RunRecord a = load(make_log(&f, "a.jsonl", usual)), b = load(make_log(&f, "b.jsonl", second));
    Compare c = compared(&a, &b, (double)NAN);
    const Comparison *t = &c.rows[COMPARE_THROUGHPUT];
    assert_int_equal(c.verdict_sure, 1);
    assert_int_equal(t->sure, 1);
    assert_true(t->low < 1.12 && t->high > 1.12 && t->low > 1.10 && t->high < 1.14);
    assert_int_equal(c.rows[COMPARE_STEP].sure, -1);
    assert_true(fabs(c.rows[COMPARE_STEP].a - 40) < 0.5 && fabs(t->a - 400) < 5);
    char words[500];
    compare_verdict(words, sizeof words, &c);
    if (strncmp(words, "B is 12 % faster than A (95 % sure: 11 to 13 %).", 20) != 0 ||
        !strstr(words, "95 % sure"))
        fail_msg("%s", words);
    compare_row_change(words, sizeof words, &c.rows[COMPARE_STEP]);
    assert_non_null(strstr(words, "11 % lower (95 % sure: "));
    /* the other way round */
    c = compared(&b, &a, (double)NAN);
    assert_int_equal(c.verdict_sure, -1);
    compare_verdict(words, sizeof words, &c);
    assert_non_null(strstr(words, "B is 11 % slower than A"));
    run_record_close(&a);
    run_record_close(&b);
    folder_remove(&f);
}

/* Equal runs are called different in at most 5 of 100; a difference of 10 % is seen. Over noise of each kind.
 */
static void test_false_alarms(void **state)
{
    (void)state;
    static const Made kinds[] = {
        {.ms = 40, .noise = 0.05, .steps = 1000},
        {.ms = 40, .noise = 0.3, .steps = 200},
        {.ms = 40, .noise = 0.1, .memory = 0.8, .steps = 1000},
        {.ms = 40, .noise = 0.1, .memory = 0.5, .steps = 150},
        {.ms = 40, .noise = 0.02, .period = 16, .steps = 500},
        {.ms = 40, .noise = 0.1, .steps = 24},
    };
    static double x[1000], y[1000];
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        int called = 0, seen = 0, wrong = 0;
        for (int i = 0; i < 100; i++) {
            Made a = kinds[k], b = kinds[k];
            a.seed = rng_mix(k, (uint64_t)i), b.seed = rng_mix(k + 1000, (uint64_t)i);
            make_times(x, &a, a.steps);
            make_times(y, &b, b.steps);
            Comparison c;
            assert_int_equal(compare_samples(&c, COMPARE_MEAN, x, (size_t)a.steps, y, (size_t)b.steps, NULL),
                             0);
            called += c.sure != 0;
            for (int j = 0; j < b.steps; j++)
                y[j] *= 1.1;
            assert_int_equal(compare_samples(&c, COMPARE_MEAN, x, (size_t)a.steps, y, (size_t)b.steps, NULL),
                             0);
            seen += c.sure > 0, wrong += c.sure < 0;
        }
        print_message("kind %zu: called different %d of 100, 10 %% seen %d of 100\n", k, called, seen);
        assert_in_range(called, 0, 5);
        assert_int_equal(wrong, 0);
        if (k != 1 && k != 3 && k != 5) /* too noisy or too short for that */
            assert_in_range(seen, 95, 100);
    }
}

static void test_variation_and_shares(void **state)
{
    (void)state;
    Folder f = folder_make();
    Made calm = usual, wild = usual;
    wild.noise = 0.15, wild.wait = 0.2, wild.seed = 5;
    RunRecord a = load(make_log(&f, "a.jsonl", calm)), b = load(make_log(&f, "b.jsonl", wild));
    Compare c = compared(&a, &b, (double)NAN);
    const Comparison *v = &c.rows[COMPARE_SPREAD], *w = &c.rows[COMPARE_WAIT];
    assert_int_equal(v->sure, 1);
    assert_true(v->low < 3 && v->high > 3);
    assert_int_equal(w->sure, 1);
    assert_true(fabs(w->change - 0.18) < 0.01 && w->low < w->change && w->high > w->change);
    assert_int_equal(c.rows[COMPARE_BUSY].sure, -1);
    assert_int_equal(c.verdict_sure, 0);
    char words[500];
    compare_verdict(words, sizeof words, &c);
    assert_non_null(strstr(words, "No clear difference in speed"));
    compare_row_change(words, sizeof words, w);
    assert_non_null(strstr(words, "+17."));
    assert_non_null(strstr(words, "points"));
    assert_true(isnan(c.rows[COMPARE_UTILISATION].a)); /* nobody measured it */
    run_record_close(&a);
    run_record_close(&b);
    folder_remove(&f);
}

/* Twice the batch in 1.6 times the time is faster; accumulation makes steps longer and nothing slower. */
static void test_batches_and_accumulation(void **state)
{
    (void)state;
    Folder f = folder_make();
    Made larger = usual, parts = usual;
    larger.batch = 32, larger.ms = 64, larger.seed = 2;
    parts.accumulation = 4, parts.seed = 3;
    RunRecord a = load(make_log(&f, "a.jsonl", usual)), b = load(make_log(&f, "b.jsonl", larger)),
              d = load(make_log(&f, "d.jsonl", parts));
    Compare c = compared(&a, &b, (double)NAN);
    assert_int_equal(c.rows[COMPARE_STEP].sure, 1);
    assert_int_equal(c.verdict_sure, 1);
    assert_true(fabs(c.rows[COMPARE_THROUGHPUT].change - 1.25) < 0.02);
    json_t *o = compare_json(&c);
    assert_string_equal(json_string_value(json_object_get(o, "faster")), "b");
    json_t *settings = json_object_get(o, "settings");
    assert_int_equal(json_array_size(settings), 1);
    assert_string_equal(json_string_value(json_object_get(json_array_get(settings, 0), "key")), "batch_size");
    assert_string_equal(json_string_value(json_object_get(json_array_get(settings, 0), "b")), "32");
    json_decref(o);
    c = compared(&a, &d, (double)NAN);
    assert_true(fabs(c.rows[COMPARE_STEP].change - 4) < 0.1);
    assert_int_equal(c.verdict_sure, 0);
    run_record_close(&a);
    run_record_close(&b);
    run_record_close(&d);
    folder_remove(&f);
}

static void test_time_to_loss(void **state)
{
    (void)state;
    Folder f = folder_make();
    Made slow = usual, quick = usual;
    quick.loss_per_step = 0.002;
    RunRecord a = load(make_log(&f, "a.jsonl", slow)), b = load(make_log(&f, "b.jsonl", quick));
    Compare c = compared(&a, &b, (double)NAN);
    /* A ends at 2.05, smoothed over three lines 2.1; B is there after half the steps */
    assert_true(fabs(c.target - 2.1) < 1e-6);
    assert_int_equal(c.target_step_a, 1000);
    assert_in_range(c.target_step_b, 550, 600);
    assert_true(fabs(c.rows[COMPARE_TIME_TO_LOSS].change - 0.55) < 0.06);
    c = compared(&a, &b, 0.5);
    assert_int_equal(c.target_step_a, -1);
    assert_true(isnan(c.rows[COMPARE_TIME_TO_LOSS].a));
    run_record_close(&a);
    run_record_close(&b);
    folder_remove(&f);
}

static void test_logs_of_odd_kinds(void **state)
{
    (void)state;
    Folder f = folder_make();
    Made bare = usual;
    Err err = {0};
    RunRecord r, empty;
    Compare c;
    bare.batch = 0;
    /* without a start line the batch size comes from the rates */
    r = load(make_log(&f, "bare.jsonl", bare));
    assert_true(fabs(run_record_clips(&r) - 24) < 0.5);
    file_put(folder_file(&f, "empty.jsonl"), "", 0);
    empty = load(folder_file(&f, "empty.jsonl"));
    assert_int_equal(compare_runs(&c, &r, &empty, -1, (double)NAN, &err), ERR_DATA);
    assert_non_null(strstr(err.msg, "empty.jsonl"));
    run_record_close(&empty);
    run_record_close(&r);
    assert_int_equal(run_record_load(&r, folder_file(&f, "none.jsonl"), &err), ERR_MISSING);
    run_record_close(&r);
    /* a folder stands for the log in it; steps that a resume took back do not count; seconds go on */
    static const char text[] =
        "{\"event\":\"start\",\"batch_size\":8,\"total_steps\":100}\n"
        "{\"event\":\"step\",\"step\":10,\"seconds\":5,\"loss\":3,\"step_times_ms\":[1,2,3]}\n"
        "{\"event\":\"step\",\"step\":20,\"seconds\":10,\"loss\":2,\"step_times_ms\":[4,5,null,-1]}\n"
        "{\"event\":\"validation\",\"step\":20,\"loss\":2.5}\n"
        "{\"event\":\"resume\",\"step\":12}\n{\"event\":\"start\",\"batch_size\":16}\n[1]\nnot json\n"
        "{\"event\":\"step\",\"step\":20,\"seconds\":4,\"loss\":1,\"step_times_ms\":[7]}\n{\"event\":\"end\"}"
        "\n{\"ev";
    file_put(folder_file(&f, "log.jsonl"), text, sizeof text - 1);
    r = load(f.path);
    assert_int_equal(r.line_count, 2);
    assert_int_equal(r.time_count, 4);
    assert_true(r.times[3] == 7 && r.lines[1].seconds == 9 && r.lines[1].loss == 1);
    assert_int_equal(r.validation_count, 0);
    assert_int_equal(r.resumed, 1);
    assert_int_equal(r.ended, 1);
    assert_int_equal(r.batch_size, 16);
    assert_int_equal(r.total_steps, 100);
    assert_int_equal(r.bad_lines, 3);
    /* too few steps: values, but no claim */
    c = compared(&r, &r, (double)NAN);
    assert_true(isnan(c.rows[COMPARE_STEP].low) && c.verdict_sure == 0);
    run_record_close(&r);
    folder_remove(&f);
}

/* A restart that finds nothing to do says what it was asked for; the steps of the log were made otherwise. */
static void test_restart_with_nothing_to_do(void **state)
{
    (void)state;
    Folder f = folder_make();
    RunRecord a = load(make_log(&f, "a.jsonl", usual)), b;
    const char *path = make_log(&f, "b.jsonl", usual);
    FILE *log = fopen(path, "a");
    fprintf(log,
            "{\"event\":\"resume\",\"step\":%d}\n{\"event\":\"start\",\"step\":%d,\"batch_size\":8,"
            "\"gradient_accumulation_steps\":4,\"total_steps\":%d}\n{\"event\":\"end\"}\n",
            usual.steps, usual.steps, usual.steps);
    fclose(log);
    b = load(path);
    assert_int_equal(b.accumulation, 1);
    assert_int_equal(b.batch_size, usual.batch);
    Compare c = compared(&a, &b, (double)NAN);
    assert_int_equal(c.verdict_sure, 0);
    assert_true(fabs(c.rows[COMPARE_STEP].change - 1) < 0.01);
    run_record_close(&b);
    /* Steps that it does make count, and those before, of other batches, do not. */
    log = fopen(path, "a");
    fprintf(log,
            "{\"event\":\"resume\",\"step\":%d}\n{\"event\":\"start\",\"batch_size\":8,"
            "\"gradient_accumulation_steps\":4}\n",
            usual.steps);
    for (int i = 1; i <= 3; i++)
        fprintf(
            log,
            "{\"event\":\"step\",\"step\":%d,\"seconds\":1,\"loss\":1,\"busy_share\":%s,\"step_times_ms\":["
            "%s]}\n",
            usual.steps + i, i == 1 ? "0" : "0.9", i == 1 ? "" : "5,5,5,5,5,5,5,5");
    fclose(log);
    b = load(path);
    assert_int_equal(b.accumulation, 4);
    assert_int_equal(b.time_count - b.time_from, 16);
    /* A line in which nothing was measured says 0 % busy; that is not a share. */
    assert_true(fabs(run_record_mean(&b, offsetof(RunLine, busy_share)) - 0.9) < 1e-9);
    c = compared(&a, &b, (double)NAN);
    assert_true(fabs(c.rows[COMPARE_STEP].b - 20) < 1e-9);
    json_t *notes = compare_notes(&c);
    assert_int_equal(json_array_size(notes), 1);
    json_decref(notes);
    run_record_close(&a);
    run_record_close(&b);
    folder_remove(&f);
}

/* Settings are compared whether they are the default or not; a run within its warm-up is named. */
static void test_settings_and_warm_up(void **state)
{
    (void)state;
    Folder f = folder_make();
    const char *paths[2];
    for (int k = 0; k < 2; k++) {
        char text[2000];
        int n =
            snprintf(text, sizeof text,
                     "{\"event\":\"start\",\"batch_size\":8,\"settings\":{\"native_loading\":\"%s\","
                     "\"checkpoint_dir\":\"%d\",\"warmup_steps\":\"%d\"}}\n"
                     "{\"event\":\"step\",\"step\":20,\"seconds\":1,\"loss\":1,\"step_times_ms\":[5,6]}\n",
                     k ? "true" : "false", k, k ? 10 : 400);
        paths[k] = folder_file(&f, k ? "1.jsonl" : "0.jsonl");
        file_put(paths[k], text, (size_t)n);
    }
    RunRecord a = load(paths[0]), b = load(paths[1]);
    Compare c = compared(&a, &b, (double)NAN);
    json_t *o = compare_json(&c);
    char *all = json_dumps(json_object_get(o, "settings"), 0),
         *notes = json_dumps(json_object_get(o, "notes"), 0);
    assert_non_null(strstr(all, "{\"key\": \"native_loading\", \"a\": \"false\", \"b\": \"true\"}"));
    assert_null(strstr(all, "checkpoint_dir"));
    assert_non_null(strstr(notes, "A ended at step 20, within its warm-up of 400 steps"));
    assert_null(strstr(notes, "B ended"));
    free(all);
    free(notes);
    json_decref(o);
    run_record_close(&a);
    run_record_close(&b);
    folder_remove(&f);
}

static void test_pages_and_pictures(void **state)
{
    (void)state;
    Folder f = folder_make();
    Made second = usual;
    Err err = {0};
    second.ms = 30, second.batch = 32;
    RunRecord runs[2] = {load(make_log(&f, "a.jsonl", usual)), load(make_log(&f, "b.jsonl", second))};
    Compare c = compared(&runs[0], &runs[1], (double)NAN);
    json_t *report = compare_report(&c);
    assert_non_null(report);
    assert_int_equal(html_write(folder_file(&f, "page.html"), report, &err), 0);
    Buf page = file_bytes(folder_file(&f, "page.html"));
    buf_add(&page, "", 1);
    assert_non_null(strstr(page.data, "times as fast as A (95 % sure: "));
    assert_non_null(strstr(page.data, "batch_size"));
    assert_non_null(strstr(page.data, "chart-loss"));
    buf_free(&page);
    json_decref(report);
    Scaling s;
    assert_int_equal(compare_picture(&c, folder_file(&f, "c.png"), &err), 0);
    assert_int_equal(scaling_runs(&s, runs, 2, -1, &err), 0);
    assert_int_equal(scaling_picture(&s, folder_file(&f, "s.png"), &err), 0);
    Buf png = file_bytes(folder_file(&f, "s.png"));
    assert_true(png.size > 1000);
    buf_free(&png);
    scaling_close(&s);
    run_record_close(&runs[0]);
    run_record_close(&runs[1]);
    folder_remove(&f);
}

static void test_scaling(void **state)
{
    (void)state;
    Folder f = folder_make();
    Err err = {0};
    /* 8: 20 ms, 16: 22 ms, 32: 30 ms, 64: 60 ms: no gain after 32; given in another order */
    static const int batch[] = {32, 8, 64, 16};
    static const double ms[] = {30, 20, 60, 22};
    RunRecord runs[4];
    Scaling s;
    for (int i = 0; i < 4; i++) {
        Made m = usual;
        char name[32];
        m.batch = batch[i], m.ms = ms[i], m.seed = (uint64_t)i, m.noise = 0.03;
        snprintf(name, sizeof name, "%d.jsonl", i);
        runs[i] = load(make_log(&f, name, m));
    }
    assert_int_equal(scaling_runs(&s, runs, 4, -1, &err), 0);
    assert_true(s.runs[0].batch == 8 && s.runs[3].batch == 64);
    assert_true(fabs(s.runs[2].clips_per_s - 1067) < 20);
    assert_true(s.runs[2].low < s.runs[2].clips_per_s && s.runs[2].high > s.runs[2].clips_per_s &&
                s.runs[2].high < 1.02 * s.runs[2].clips_per_s);
    assert_true(fabs(s.runs[1].linear - 0.909) < 0.02);
    assert_int_equal(s.enough, 2);
    assert_true(fabs(s.bytes_per_clip - 2e6) < 1e3);
    char words[700];
    scaling_verdict(words, sizeof words, &s);
    assert_non_null(
        strstr(words, s.best == 2 ? "Batches of 32 are the fastest" : "Batches of 32 are enough"));
    assert_non_null(strstr(words, "2.0 MB"));
    scaling_caution(words, sizeof words, &s);
    assert_string_equal(words, "");
    json_t *o = scaling_json(&s);
    assert_int_equal(json_array_size(json_object_get(o, "runs")), 4);
    assert_true(json_number_value(json_object_get(o, "enough_batch_size")) == 32);
    json_decref(o);
    scaling_close(&s);
    /* What a run derives from its batch size is no other setting. */
    for (int i = 0; i < 4; i++)
        json_object_set_new(runs[i].start, "global_batch_size", json_integer(8 << i));
    assert_int_equal(scaling_runs(&s, runs, 4, -1, &err), 0);
    scaling_caution(words, sizeof words, &s);
    assert_string_equal(words, "");
    scaling_close(&s);
    json_object_set_new(runs[0].start, "num_workers", json_integer(9));
    assert_int_equal(scaling_runs(&s, runs, 4, -1, &err), 0);
    scaling_caution(words, sizeof words, &s);
    assert_non_null(strstr(words, "num_workers"));
    scaling_close(&s);
    for (int i = 0; i < 4; i++)
        run_record_close(&runs[i]);
    folder_remove(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_difference),
        cmocka_unit_test(test_false_alarms),
        cmocka_unit_test(test_variation_and_shares),
        cmocka_unit_test(test_batches_and_accumulation),
        cmocka_unit_test(test_time_to_loss),
        cmocka_unit_test(test_logs_of_odd_kinds),
        cmocka_unit_test(test_restart_with_nothing_to_do),
        cmocka_unit_test(test_settings_and_warm_up),
        cmocka_unit_test(test_pages_and_pictures),
        cmocka_unit_test(test_scaling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
