/* test_html.c - the page of a report as text. `test_html --sample FILE` writes the page that test_html.sh
 * looks at in a browser. */
#include <jansson.h>
#include <math.h>

#include "support/folder_testing.h"

#include "base/rng.h"
#include "base/words/words.h"
#include "diag/report/html.h"
#include "picture/svg.h"

#define ODD \
    "<script>alert(1)</script> & \"quoted\" 'single' \xD8\xB3\xD9\x84\xD8\xA7\xD9\x85 \xF0\x9F\x8E\x99"

static json_t *series(const char *name, const double *x, const double *y, size_t n)
{
    json_t *xs = json_array(), *ys = json_array();
    for (size_t i = 0; i < n; i++) {
        if (x)
            json_array_append_new(xs, json_real(x[i]));
        json_array_append_new(ys, isfinite(y[i]) ? json_real(y[i]) : json_null());
    }
    json_t *s = json_pack("{s:s, s:o}", "name", name, "y", ys);
    if (x)
        json_object_set_new(s, "x", xs);
    else
        json_decref(xs);
    return s;
}

static json_t *chart(const char *id, const char *kind, const char *title, const char *x_label,
                     const char *y_label)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:[]}", "id", id, "kind", kind, "title", title, "x_label",
                     x_label, "y_label", y_label, "series");
}

static void add(json_t *c, json_t *s) { json_array_append_new(json_object_get(c, "series"), s); }
static void mark(json_t *c, double x, const char *text)
{
    if (!json_object_get(c, "marks"))
        json_object_set_new(c, "marks", json_array());
    json_array_append_new(json_object_get(c, "marks"), json_pack("{s:f, s:s}", "x", x, "label", text));
}

/* Step times of 10,000 steps with a stall every 16, and everything drawn from them. */
static void step_charts(json_t *charts)
{
    enum { N = 10000 };
    static double x[N], y[N], r[21], depth[300], gpu[300];
    Rng rng;
    rng_seed(&rng, 7);
    for (int i = 0; i < N; i++)
        x[i] = i, y[i] = 42 + 2 * rng_normal(&rng) + (i % 16 == 0 ? 22 : 0) + (i == 6000 ? 300 : 0);
    json_t *c = chart("step_times", "line", "Step times", "step", "ms");
    add(c, series("step", x, y, N));
    mark(c, 6000, "validation");
    json_array_append_new(charts, c);
    c = chart("histogram", "histogram", "How long a step takes", "ms", "steps");
    add(c, series("", NULL, y, 2000));
    mark(c, 43.4, "mean");
    mark(c, 64, "p95");
    json_array_append_new(charts, c);
    for (int i = 0; i < 21; i++)
        x[i] = i + 1, r[i] = i == 15 ? 0.62 : 0.04 * rng_normal(&rng);
    c = chart("autocorrelation", "bars", "Autocorrelation of step times", "lag, steps", "");
    add(c, series("r", x, r, 21));
    mark(c, 16, "period 16");
    json_array_append_new(charts, c);
    for (int i = 0; i < 300; i++)
        depth[i] = (double)rng_below(&rng, 5),
        gpu[i] = i > 100 && i < 110 ? (double)NAN : 60 + 10 * rng_normal(&rng);
    c = chart("queues", "line", "Batches that wait, per queue", "step", "batches");
    add(c, series("host", NULL, depth, 300));
    add(c, series("device", NULL, depth, 150));
    json_array_append_new(charts, c);
    c = chart("gpu", "line", "GPU utilisation", "s", "%");
    add(c, series("GPU 0", NULL, gpu, 300));
    json_array_append_new(charts, c);
}

static void other_charts(json_t *charts)
{
    static const char *const stages[] = {"read", "decode", "h2d", "preprocess", "peer", "step"};
    const double busy[] = {12, 88, 5, 9, 3, 47}, in[] = {0, 4, 80, 70, 81, 51},
                 out[] = {86, 6, 13, 19, 14, 0};
    json_t *names = json_array(),
           *c = chart("stages", "stacked", "What each stage does", "", "% of the time");
    for (int i = 0; i < 6; i++)
        json_array_append_new(names, json_string(stages[i]));
    json_object_set_new(c, "categories", names);
    add(c, series("busy", NULL, busy, 6));
    add(c, series("waits for input", NULL, in, 6));
    add(c, series("waits for output", NULL, out, 6));
    json_array_append_new(charts, c);
    c = chart("before", "bars", "Before and after", "", "clips/s");
    json_object_set_new(c, "categories", json_pack("[s, s, s]", "num_workers: 8", "pin_memory", ODD));
    add(c, series("before", NULL, (double[]){400, 400, 400}, 3));
    add(c, series("after", NULL, (double[]){610, 430, 400}, 3));
    json_array_append_new(charts, c);
    c = chart("edges", "histogram", "A histogram that is counted already", "MB", "");
    add(c, series("", (double[]){5, 15, 25, 35, 45}, (double[]){3, 9, 4, 1, 0}, 5));
    json_array_append_new(charts, c);
    c = chart("all_edges", "histogram", "The same with all edges", "MB", "");
    add(c, series("", (double[]){5, 15, 25, 35, 45}, (double[]){3, 9, 4, 1, 0}, 5));
    json_array_append_new(json_object_get(json_array_get(json_object_get(c, "series"), 0), "x"),
                          json_real(55));
    json_array_append_new(charts, c);
    c = chart("empty_line", "line", "A line without values", "step", "ms");
    add(c, series("none", NULL, NULL, 0));
    json_array_append_new(charts, c);
    json_array_append_new(charts, chart("empty_stacked", "stacked", "Stacked, without series", "", ""));
    c = chart("empty_histogram", "histogram", "A histogram without values", "", "");
    add(c, series("none", NULL, NULL, 0));
    json_array_append_new(charts, c);
    c = chart("one", "line", "One value, and " ODD, ODD, ODD);
    add(c, series(ODD, NULL, (double[]){5}, 1));
    add(c, series("always 5", NULL, (double[]){5, 5, 5}, 3));
    json_array_append_new(charts, c);
}

static json_t *sample(void)
{
    json_t *r =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:s, s:[s, s, s]}", "title", "Why the GPU waits",
                  "date", "2025-01-31 12:00", "machine", "16 cores, 64 GB, one GPU", "command",
                  "myxtts diagnose --data-path ./data --html report.html", "bottleneck", "decode", "cause",
                  "workers", "period_steps", 16, "verdict",
                  "Decoding holds the run up: 4 workers are busy 88 % of the time while the model GPU waits "
                  "51 % of every step.",
                  "evidence", "decode is busy 88 % of the time; no other stage is busy more than 47 %",
                  "read waits 86 % of the time for room in the queue after it", ODD);
    json_object_set_new(
        r, "gains",
        json_pack("[{s:s, s:s, s:s, s:f, s:f}, {s:s, s:s, s:s, s:f, s:n}, {s:s, s:s, s:s, s:f, s:n}]",
                  "change", "num_workers: 8", "key", "num_workers", "value", "8", "predicted", 1.82,
                  "measured", 1.79, "change", "preprocessing_mode: precompute", "key", "preprocessing_mode",
                  "value", "precompute", "predicted", 2.05, "measured", "change", "prefetch_buffer_size: 16",
                  "key", "prefetch_buffer_size", "value", "16", "predicted", 1.004, "measured"));
    json_object_set_new(r, "issues",
                        json_pack("[s, s]", "The model GPU waits 51 % of the time on data.", ODD));
    json_object_set_new(r, "recommendations",
                        json_pack("[s, s]", "Raise num_workers to 8: the machine has 16 cores.",
                                  "Prepare the mels once: myxtts prepare --data-path ./data"));
    json_object_set_new(
        r, "configuration_changes",
        json_pack("[{s:s, s:s, s:s, s:s}, {s:s, s:s, s:s, s:s}]", "key", "num_workers", "from", "4", "to",
                  "8", "why", "decoding is the bottleneck and 12 cores are idle", "key", "checkpoint_dir",
                  "from", ODD, "to",
                  "/a/very/long/path/without/any/space/in/it/that/would/push/a/narrow/page/wide/open", "why",
                  ODD));
    json_object_set_new(
        r, "sections",
        json_pack("[{s:s, s:s, s:[{s:s, s:s, s:s, s:s}, {s:s, s:s, s:s, s:s}], s:[]},"
                  " {s:s, s:s, s:[{s:s, s:s, s:s, s:s}, {s:s, s:s, s:s, s:s}, {s:s, s:s, s:s, s:s}], "
                  "s:[{s:s, s:s, s:s, s:s, s:s},"
                  " {s:s, s:s, s:s}]}]",
                  "name", "hardware", "title", "Hardware", "rows", "name", "cores", "value", "16", "status",
                  "info", "note", "", "name", "GPU 0", "value", "not there", "status", "unknown", "note",
                  "no NVIDIA driver on this machine", "findings", "name", "pipeline", "title",
                  "Pipeline and training", "rows", "name", "model GPU busy", "value", "49 %", "status", "bad",
                  "note", "good from 80 %", "name", "step time variation", "value", "24 %", "status",
                  "acceptable", "note", "", "name", "padding", "value", "1.2 %", "status", "good", "note",
                  ODD, "findings", "severity", "error", "what", "Too few workers", "why",
                  "A GPU that waits does not train.", "value", "num_workers = 4", "fix", "num_workers: 8",
                  "severity", "warning", "what", ODD, "why", ODD));
    json_t *charts = json_array();
    step_charts(charts);
    other_charts(charts);
    json_object_set_new(r, "charts", charts);
    return r;
}

static char *page_of(json_t *report)
{
    Folder f = folder_make();
    Err err = {0};
    const char *path = folder_file(&f, "page.html");
    if (html_write(path, report, &err))
        fail_msg("%s", err.msg);
    Buf b = file_bytes(path);
    buf_add(&b, "", 1);
    folder_remove(&f);
    json_decref(report);
    return b.data;
}

static int count(const char *page, const char *what)
{
    int n = 0;
    for (const char *p = page; (p = strstr(p, what)); p++)
        n++;
    return n;
}

static void test_whole(void **state)
{
    (void)state;
    char *page = page_of(sample());
    assert_non_null(strstr(page, "Decoding holds the run up"));
    assert_non_null(strstr(page, "<section class=\"verdict bad\">"));
    assert_int_equal(count(page, "<svg "), 13);
    assert_int_equal(count(page, "</svg>"), 13);
    assert_int_equal(count(page, "no data"), 3);
    assert_int_equal(count(page, "<title>10 to 20: 9</title>"), 1); /* from centres */
    assert_int_equal(count(page, "<title>15 to 25: 9</title>"), 1); /* from edges */
    assert_non_null(strstr(page, "+82 %"));
    assert_non_null(strstr(page, "+79 %"));
    assert_non_null(strstr(page, "+0.4 %"));
    assert_non_null(strstr(page, "name=\"viewport\""));
    assert_non_null(strstr(page, "@media print"));
    assert_null(strstr(page, "nan"));
    assert_null(strstr(page, "inf\""));
    free(page);
}

static void test_foreign_text_stays_text(void **state)
{
    (void)state;
    char *page = page_of(sample());
    assert_null(strstr(page, "<script"));
    assert_null(strstr(page, "'single'"));
    assert_true(
        count(page, "&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;quoted&quot; &#39;single&#39;") >= 8);
    free(page);
    Buf b = {0};
    svg_escape(&b, "a\x01\x7F\n<\0>", 7);
    buf_add(&b, "", 1);
    assert_string_equal(b.data, "a\xEF\xBF\xBD\xEF\xBF\xBD\n&lt;\xEF\xBF\xBD&gt;");
    buf_free(&b);
}

static void test_nothing_from_elsewhere(void **state)
{
    (void)state;
    static const char *const forbidden[] = {"http:",   "https:", " src=", " href=", "url(",
                                            "@import", "<link",  "<img",  "<iframe"};
    char *page = page_of(sample());
    for (size_t i = 0; i < sizeof forbidden / sizeof *forbidden; i++)
        if (strstr(page, forbidden[i]))
            fail_msg("the page has %s", forbidden[i]);
    assert_non_null(strstr(page, "default-src 'none'"));
    free(page);
}

static void test_little(void **state)
{
    (void)state;
    char *page = page_of(json_object());
    assert_non_null(strstr(page, "</html>"));
    assert_null(strstr(page, "<h2>"));
    free(page);
    page = page_of(json_pack("{s:s, s:s, s:[]}", "verdict", "All well.", "bottleneck", "none", "issues"));
    assert_non_null(strstr(page, "<section class=\"verdict good\">"));
    assert_non_null(strstr(page, "None found."));
    free(page);
    /* members of the wrong kind are left out */
    page = page_of(json_pack("{s:i, s:s, s:{}, s:[i, n, {}], s:[n, i], s:[{s:[s, n]}]}", "title", 5,
                             "verdict", "", "gains", "issues", 1, "charts", 3, "sections", "rows", "x"));
    assert_non_null(strstr(page, "</html>"));
    free(page);
}

/* The points of the first line of a page. */
static int points(const char *page)
{
    const char *d = strstr(page, "class=\"line s0\" d=\"");
    assert_non_null(d);
    int n = 0;
    for (d += 19; *d != '"'; d++)
        n += *d == 'M' || *d == 'L';
    return n;
}

static json_t *with_chart(json_t *c) { return json_pack("{s:[o]}", "charts", c); }

static void test_long_lines_are_thinned(void **state)
{
    (void)state;
    enum { N = 10000 };
    static double y[N];
    for (int i = 0; i < N; i++)
        y[i] = 10 + (i % 7) * 0.1;
    y[1234] = 400; /* one peak, which must not be lost */
    json_t *c = chart("a", "line", "t", "x", "y");
    add(c, series("s", NULL, y, N));
    char *page = page_of(with_chart(c));
    assert_in_range(points(page), 200, 400);
    /* the axis ends at 400, and the line reaches it: y 22 is the top of the drawing */
    assert_non_null(strstr(page, " 22.0L"));
    free(page);
    c = chart("a", "line", "t", "x", "y");
    add(c, series("s", NULL, y, 300));
    page = page_of(with_chart(c));
    assert_int_equal(points(page), 300);
    free(page);
}

static void test_gaps_and_extremes(void **state)
{
    (void)state;
    json_t *c = chart("a", "line", "t", "x", "y");
    add(c, series("s", NULL, (double[]){1, (double)NAN, 2, 3, (double)NAN}, 5));
    char *page = page_of(with_chart(c));
    const char *d = strstr(page, "class=\"line s0\" d=\"") + 19;
    int moves = 0;
    for (; *d != '"'; d++)
        moves += *d == 'M';
    assert_int_equal(moves, 2);
    free(page);
    const double wild[][3] = {{1e300, -1e300, 1}, {1e-300, 1e-300, 1e-300}, {0, 0, 0},
                              {-5, -5, -5},       {1e29, 1e29, 1e29},       {1e15, 1e15 + 1, 1e15 + 2}};
    static const char *const kinds[] = {"line", "histogram", "bars", "stacked"};
    for (size_t i = 0; i < sizeof wild / sizeof *wild; i++)
        for (size_t k = 0; k < 4; k++)
            for (int with_x = 0; with_x < 2; with_x++) {
                c = chart("a", kinds[k], "t", "x", "y");
                add(c, series("s", with_x ? wild[i] : NULL, wild[i], 3));
                mark(c, wild[i][0], "m");
                page = page_of(with_chart(c));
                assert_non_null(strstr(page, "</svg>"));
                const char *svg = strstr(page, "<svg");
                if (strstr(svg, "nan") || strstr(svg, "inf"))
                    fail_msg("%s of values %zu: a number that is none", kinds[k], i);
                free(page);
            }
}

/* Two series of samples share their bins: the one with twice the samples is twice as high. */
static void test_histograms_share_bins(void **state)
{
    (void)state;
    double few[100], many[200];
    for (int i = 0; i < 200; i++)
        many[i] = 10 + i % 10, few[i / 2] = 10 + i / 2 % 10;
    json_t *c = chart("a", "histogram", "t", "ms", "n");
    add(c, series("few", NULL, few, 100));
    add(c, series("many", NULL, many, 200));
    char *page = page_of(with_chart(c));
    assert_int_equal(count(page, ": 10</title>"), 10);
    assert_int_equal(count(page, ": 20</title>"), 10);
    free(page);
}

static void test_cannot_write(void **state)
{
    (void)state;
    Folder f = folder_make();
    Err err = {0};
    json_t *r = json_object();
    assert_int_not_equal(html_write(folder_file(&f, "no/such/page.html"), r, &err), 0);
    assert_non_null(strstr(err.msg, "no/such"));
    json_decref(r);
    folder_remove(&f);
}

static void test_numbers(void **state)
{
    (void)state;
    static const struct {
        double v;
        const char *s;
    } cases[] = {{0, "0"},        {0.25, "0.25"},    {12.34, "12.3"}, {999.4, "999"},
                 {1200, "1 200"}, {-1200, "-1 200"}, {35000, "35k"},  {2.5e6, "2.5M"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char s[32];
        svg_number(s, cases[i].v);
        assert_string_equal(s, cases[i].s);
    }
}

static void test_gains_of_other_machines_stand_apart(void **state)
{
    (void)state;
    json_t *r =
        json_pack("{s:[{s:s, s:f, s:n}, {s:s, s:f, s:s}, {s:s, s:f, s:s}]}", "gains", "change",
                  "num_workers: 8", "predicted", 1.5, "what_if", "change", "a disk twice as fast",
                  "predicted", 0.9, "what_if", "read", "change", "x", "predicted", 1.0, "what_if", "step");
    char *page = page_of(r);
    assert_int_equal(count(page, "another machine"), 1);
    assert_true(strstr(page, "<code>num_workers: 8</code>") < strstr(page, "another machine"));
    assert_true(strstr(page, "another machine") < strstr(page, "a disk twice as fast</td>"));
    assert_non_null(strstr(page, "−10 %"));
    free(page);
}

/* Files become part of the page; what is not there or is no PNG is left out without a word. */
static void test_pictures(void **state)
{
    (void)state;
    Folder f = folder_make();
    Err err = {0};
    static const uint8_t png[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n', 0, 0xFB, 0xFF};
    assert_int_equal(file_replace(folder_file(&f, "a.png"), png, sizeof png, &err), 0);
    assert_int_equal(file_replace(folder_file(&f, "b.png"), png, sizeof png - 1, &err), 0);
    assert_int_equal(file_replace(folder_file(&f, "text.png"), "no picture at all", 17, &err), 0);
    json_t *r = json_pack("{s:[{s:s, s:s}, {s:s, s:s, s:s}, {s:s, s:s}, {s:s, s:s}]}", "pictures", "title",
                          ODD, "path", folder_file(&f, "a.png"), "title", "b", "path",
                          folder_file(&f, "b.png"), "note", ODD, "title", "c", "path",
                          folder_file(&f, "text.png"), "title", "d", "path", folder_file(&f, "missing.png"));
    assert_non_null(r);
    char *page = page_of(r);
    assert_int_equal(count(page, "<img "), 2);
    assert_int_equal(count(page, "src=\"data:image/png;base64,iVBORw0KGgoA+/8=\""), 1);
    assert_int_equal(count(page, "src=\"data:image/png;base64,iVBORw0KGgoA+w==\""), 1);
    assert_int_equal(count(page, "<script>"), 0);
    assert_int_equal(count(page, "img-src data:"), 1);
    free(page);
    folder_remove(&f);
}

/* From right to left, with headings in Persian; what is not Persian keeps its own direction. */
static void test_persian(void **state)
{
    words_choose(MESSAGES_PERSIAN);
    char *page = page_of(json_pack("{s:s, s:s, s:s, s:s, s:[s, s], s:[]}", "title", "myxtts diagnose",
                                   "verdict", "دیسک کند است", "bottleneck", "read", "cause", "storage",
                                   "evidence", "--sim x", "خواندن", "issues"));
    words_choose(MESSAGES_ENGLISH);
    assert_int_equal(count(page, "<html lang=\"fa\" dir=\"rtl\">"), 1);
    assert_int_equal(count(page, "dir=\"auto\""), 0);
    assert_int_equal(count(page, "<p class=\"say\">دیسک کند است</p>"), 1);
    assert_int_equal(count(page, "گلوگاه: <bdi dir=\"ltr\">read</bdi>"), 1);
    assert_int_equal(count(page, "علت: دیسک"), 1);
    assert_int_equal(count(page, "<li><bdi dir=\"ltr\">--sim x</bdi></li>"), 1);
    assert_int_equal(count(page, "<h2>ایرادها</h2>"), 1);
    free(page);
}

static int write_page(const char *path, json_t *report)
{
    Err err = {0};
    int rc = report ? html_write(path, report, &err) : ERR_FORMAT;
    if (rc)
        fprintf(stderr, "cannot write %s: %s\n", path, err.msg);
    json_decref(report);
    return rc != 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--sample") == 0)
        return write_page(argv[2], sample());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),
        cmocka_unit_test(test_foreign_text_stays_text),
        cmocka_unit_test(test_nothing_from_elsewhere),
        cmocka_unit_test(test_little),
        cmocka_unit_test(test_long_lines_are_thinned),
        cmocka_unit_test(test_gaps_and_extremes),
        cmocka_unit_test(test_histograms_share_bins),
        cmocka_unit_test(test_cannot_write),
        cmocka_unit_test(test_gains_of_other_machines_stand_apart),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_pictures),
        cmocka_unit_test(test_persian),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
