/* test_monitor_view.c - what `myxtts monitor` shows, from records made by hand. */
#include <math.h>

#include "support/folder_testing.h"

#include "diag/report/monitor_view.h"

static void assert_spark(const char *expected, const double *y, size_t n, int columns, double low,
                         double high)
{
    Buf b = {0};
    monitor_view_sparkline(&b, y, n, columns, low, high);
    buf_add(&b, "", 1);
    assert_string_equal(b.data, expected);
    buf_free(&b);
}

static void test_sparkline(void **state)
{
    (void)state;
    const double y[] = {0, 1, 2, 3, 4, 5, 6, 7};
    const double gap[] = {1, (double)NAN, 2};
    const double peak[] = {1, 1, 1, 1, 1, 9, 1, 1};
    assert_spark("▁▂▃▄▅▆▇█", y, 8, 40, (double)NAN, (double)NAN);
    assert_spark("▁▁▂▂▃▃▄▄", y, 8, 40, 0, 14);
    assert_spark("▄ █", gap, 3, 40, 0, (double)NAN);
    assert_spark("▁▁█▁", peak, 8, 4, (double)NAN, (double)NAN); /* a peak is not averaged away */
    assert_spark("▁▁", (const double[]){3, 3}, 2, 8, (double)NAN, (double)NAN);
    assert_spark("", NULL, 0, 8, 0, 0);
    assert_spark("▁▁", (const double[]){-1e308, 1e308}, 2, 8, (double)NAN, (double)NAN); /* too far apart */
}

static RunRecord load(const Folder *f, const char *text)
{
    RunRecord r;
    Err err = {0};
    file_put(folder_file(f, "log.jsonl"), text, strlen(text));
    if (run_record_load(&r, f->path, &err))
        fail_msg("%s", err.msg);
    return r;
}

#define START \
    "{\"event\":\"start\",\"batch_size\":32,\"model_size\":\"tiny\",\"model_gpu\":\"0\",\"total_steps\":" \
    "12000}\n"
#define LINE_1 \
    "{\"event\":\"step\",\"step\":100,\"seconds\":5,\"loss\":3,\"step_ms\":50,\"wait_share\":0.4,\"busy_" \
    "share\":0.6,\"step_times_" \
    "ms\":[40,60]}\n"
#define LINE_2 \
    "{\"event\":\"step\",\"step\":6000,\"seconds\":300,\"loss\":1.25,\"step_ms\":50,\"wait_share\":0.02," \
    "\"busy_share\":0.98," \
    "\"padding_share\":0.015,\"utterances_per_s\":640,\"frames_per_s\":52000,\"queue_ready\":3,\"queue_" \
    "slots\":4,\"model_bytes\":" \
    "2500000000," \
    "\"step_times_ms\":[45,55,50,50]}\n"

static char *frame(const MonitorView *v)
{
    Buf b = {0};
    monitor_view_frame(&b, v);
    assert_false(b.failed);
    buf_add(&b, "", 1);
    return b.data;
}

static void assert_has(const char *text, const char *what)
{
    if (!strstr(text, what))
        fail_msg("'%s' is not in:\n%s", what, text);
}

static void test_frame(void **state)
{
    (void)state;
    Folder f = folder_make();
    RunRecord r =
        load(&f, START LINE_1 LINE_2
             "{\"event\":\"validation\",\"step\":6000,\"loss\":1.5}\n{\"event\":\"skipped\",\"step\":3}\n");
    static MonitorView v;
    v = (MonitorView){.run = &r, .age = 2, .width = 200, .gpu_count = 1, .wants_gpu = 1};
    char *text = frame(&v);
    assert_has(text, "log.jsonl  (running, last line 2 s ago)");
    assert_has(text, "run      tiny  batches of 32  model on 0");
    assert_has(text, "step     6 000 of 12 000  [███████████████···············] 50 %  5 min 00 s left");
    assert_has(text, "loss     1.2500  █▁  validation 1.5000 at step 6000");
    assert_has(text, "batch    50.00 ms ±7.1 %  ");
    assert_has(text, "45.0 to 55.0 ms");
    assert_has(text, "640 clips/s  52k frames/s");
    assert_has(text, "waits    2.0 %  █▁  busy 98.0 %  padding 1.5 %");
    assert_has(text, "queue    3.0 of 4 batches ready  ");
    assert_has(text, "memory   2.50 GB");
    assert_has(text, "GPU      not measured");
    assert_has(text, "1 step left out");
    free(text);
    v.summary[0].samples = 2, v.summary[0].memory_total = 80e9, v.history_count[0] = 2;
    for (int i = 0; i < MONITOR_COUNT; i++)
        v.history[0][0].values[i] = v.history[0][1].values[i] = NAN;
    v.history[0][0].values[MONITOR_UTILISATION] = 50, v.history[0][1].values[MONITOR_UTILISATION] = 97;
    v.history[0][1].values[MONITOR_MEMORY] = 61e9f, v.history[0][1].values[MONITOR_POWER] = 412;
    text = frame(&v);
    assert_has(text, "GPU 0     97 %  ▄█  61.0 of 80.0 GB  412 W\n");
    assert_null(strstr(text, "GPU      not measured"));
    assert_has(text, "words    not measured");
    free(text);
    v.width = 30; /* no line is wider, counted in letters */
    text = frame(&v);
    for (char *save, *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        int letters = 0;
        for (char *p = line; *p; p++)
            letters += ((unsigned char)*p & 0xC0) != 0x80;
        assert_in_range(letters, 1, 30);
    }
    free(text);
    Buf b = {0};
    monitor_view_line(&b, &v);
    assert_has(b.data, "step 6000/12000  loss 1.2500  batch 50.00 ms ±7.1 %  wait 2.0 %  busy 98.0 %  "
                       "padding 1.5 %  queue 3.0  GPU 0 97 %  "
                       "5 min 00 s left\n");
    buf_free(&b);
    json_t *o = monitor_view_json(&v);
    assert_string_equal(json_string_value(json_object_get(o, "state")), "running");
    assert_true(json_number_value(json_object_get(o, "seconds_left")) == 300);
    assert_int_equal(json_array_size(json_object_get(o, "gpus")), 1);
    json_decref(o);
    run_record_close(&r);
    folder_remove(&f);
}

static void test_states(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double age;
        ViewState expected;
        const char *words;
    } cases[] = {
        {"", 1, VIEW_EMPTY, "no step yet"},
        {START, 1, VIEW_EMPTY, "no step yet"},
        {START, 100, VIEW_SILENT, "no new line for 1 min 40 s"},
        {START LINE_1, 20, VIEW_RUNNING, "running"},
        {START LINE_1, 40, VIEW_SILENT, "no new line for 40 s"},
        {START LINE_1 LINE_2, 800, VIEW_RUNNING, "running"}, /* lines come every 295 s */
        {START LINE_1 LINE_2, 900, VIEW_SILENT, "no new line for 15 min 00 s"},
        {START LINE_1 "{\"event\":\"end\"}\n", 1, VIEW_ENDED, "ended"},
        {START LINE_1 "{\"event\":\"end\"}\n{\"event\":\"verdict\",\"text\":\"well\"}\n", 1, VIEW_ENDED,
         "ended"},
        {START "{\"event\":\"step\",\"step\":50,\"total_steps\":50}\n", 1, VIEW_ENDED, "ended"},
        {START LINE_1 "{\"event\":\"end\"}\n{\"event\":\"resume\",\"step\":100}\n", 1, VIEW_RUNNING,
         "running"},
        {START "{\"event\":\"step\",\"step\":12000,\"seconds\":5}\n", 900, VIEW_ENDED,
         "ended, 15 min 00 s ago"},
    };
    Folder f = folder_make();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        RunRecord r = load(&f, cases[i].text);
        static MonitorView v;
        v = (MonitorView){.run = &r, .age = cases[i].age, .width = 200};
        if (monitor_view_state(&v) != cases[i].expected)
            fail_msg("case %zu is %d", i, monitor_view_state(&v));
        char *text = frame(&v);
        assert_has(text, cases[i].words);
        assert_null(strstr(text, "nan"));
        free(text);
        json_decref(monitor_view_json(&v));
        Buf b = {0};
        monitor_view_line(&b, &v);
        assert_true(b.size > 5);
        buf_free(&b);
        run_record_close(&r);
    }
    folder_remove(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sparkline),
        cmocka_unit_test(test_frame),
        cmocka_unit_test(test_states),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
