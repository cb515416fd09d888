/* compare_report.c - what is said about compared runs (compare.h): words, JSON, the page, pictures. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/words/words.h"
#include "diag/report/compare.h"
#include "picture/chart.h"
#include "picture/svg.h"
#include "train/log/run_log.h"

typedef enum { UNIT_MS, UNIT_CLIPS, UNIT_FRAMES, UNIT_SHARE, UNIT_BYTES, UNIT_LOSS, UNIT_SECONDS } Unit;

/* Name in JSON, title, unit. */
static const struct {
    const char *name;
    Word title;
    Unit unit;
} rows[COMPARE_COUNT] = {
    [COMPARE_STEP] = {"step_ms", SAY_CMP_STEP, UNIT_MS},
    [COMPARE_THROUGHPUT] = {"clips_per_s", SAY_CMP_THROUGHPUT, UNIT_CLIPS},
    [COMPARE_FRAMES] = {"frames_per_s", SAY_CMP_FRAMES, UNIT_FRAMES},
    [COMPARE_SPREAD] = {"variation", SAY_CMP_SPREAD, UNIT_SHARE},
    [COMPARE_WAIT] = {"wait_share", SAY_CMP_WAIT, UNIT_SHARE},
    [COMPARE_BUSY] = {"busy_share", SAY_CMP_BUSY, UNIT_SHARE},
    [COMPARE_UTILISATION] = {"gpu_utilisation", SAY_CMP_UTILISATION, UNIT_SHARE},
    [COMPARE_PADDING] = {"padding_share", SAY_CMP_PADDING, UNIT_SHARE},
    [COMPARE_MEMORY] = {"model_bytes", SAY_CMP_MEMORY, UNIT_BYTES},
    [COMPARE_LOSS] = {"loss", SAY_CMP_LOSS, UNIT_LOSS},
    [COMPARE_TIME_TO_LOSS] = {"seconds_to_loss", SAY_CMP_TIME_TO_LOSS, UNIT_SECONDS},
};

/* What a ratio is called: above 1, from 2 on, below 1. */
typedef struct RatioWords {
    Word up, times, down;
} RatioWords;

static const RatioWords height = {SAY_CMP_HIGHER, SAY_CMP_TIMES_HIGH, SAY_CMP_LOWER},
                        speed_of_b = {SAY_CMP_FASTER, SAY_CMP_TIMES_FAST, SAY_CMP_SLOWER};

void compare_row_title(char *out, size_t cap, CompareRow row, double target)
{
    words_write(out, cap, rows[row].title, target);
}

/* As people read it; "-" for what was not measured. */
void compare_row_value(char *out, size_t cap, CompareRow row, double v)
{
    char s[64];
    if (!isfinite(v)) {
        snprintf(out, cap, "-");
        return;
    }
    switch (rows[row].unit) {
    case UNIT_MS:
        say(out, cap, SAY_CMP_MS, v < 99.95 ? 2 : 1, v);
        break;
    case UNIT_CLIPS:
        svg_number(s, v);
        say(out, cap, SAY_CMP_CLIPS, s);
        break;
    case UNIT_FRAMES:
        svg_number(s, v);
        say(out, cap, SAY_CMP_FRAMES_S, s);
        break;
    case UNIT_SHARE:
        say(out, cap, SAY_PERCENT_1, 100 * v);
        break;
    case UNIT_BYTES:
        if (v < 1e9)
            say(out, cap, SAY_CMP_MB, v / 1e6);
        else
            say(out, cap, SAY_CMP_GB, v / 1e9);
        break;
    case UNIT_LOSS:
        snprintf(out, cap, "%.4f", v);
        break;
    case UNIT_SECONDS:
        words_duration(out, cap, v);
        break;
    }
}

/* A ratio in words: "12 % lower", "2.4 times as high". */
static void ratio_words(char *out, size_t cap, double ratio, const RatioWords *w)
{
    double percent = fabs(ratio - 1) * 100;
    if (ratio >= 2)
        words_write(out, cap, w->times, ratio);
    else
        words_write(out, cap, ratio >= 1 ? w->up : w->down, percent < 9.95 ? 1 : 0, percent);
}

/* The interval of a change that is sure: "10 to 14 %", the smaller number first. */
static void interval_words(char *out, size_t cap, double low, double high)
{
    if (low >= 2) {
        say(out, cap, SAY_CMP_FROM_TO_TIMES, low, high);
        return;
    }
    double a = fabs(low - 1) * 100, b = fabs(high - 1) * 100, least = fmin(a, b), most = fmax(a, b);
    int decimals = most - least < 0.05 ? 2 : least < 9.95 || most - least < 1 ? 1 : 0;
    say(out, cap, SAY_CMP_FROM_TO, decimals, least, decimals, most);
}

/* A change without an interval is told as it is; one that is not sure is not told as a change. */
static void ratio_change(char *out, size_t cap, const Comparison *r)
{
    char change[128], low[128], high[128];
    ratio_words(change, sizeof change, r->change, &height);
    if (!isfinite(r->low)) {
        snprintf(out, cap, "%s", fabs(r->change - 1) < 0.0005 ? word(SAY_CMP_SAME) : change);
    } else if (r->sure) {
        interval_words(low, sizeof low, r->low, r->high);
        say(out, cap, SAY_CMP_SURE, change, low);
    } else {
        ratio_words(low, sizeof low, r->low, &height);
        ratio_words(high, sizeof high, r->high, &height);
        say(out, cap, SAY_CMP_UNSURE, low, high);
    }
}

/* Shares differ by points, everything else by a factor. */
void compare_row_change(char *out, size_t cap, const Comparison *r)
{
    if (!isfinite(r->change))
        out[0] = 0;
    else if (r->what != COMPARE_DIFFERENCE)
        ratio_change(out, cap, r);
    else if (!isfinite(r->low))
        say(out, cap, SAY_CMP_POINTS, 100 * r->change);
    else if (r->sure)
        say(out, cap, SAY_CMP_POINTS_SURE, 100 * r->change, 100 * r->low, 100 * r->high);
    else
        say(out, cap, SAY_CMP_POINTS_UNSURE, 100 * r->low, 100 * r->high);
}

/* One sentence: faster, slower, or not to be told apart. */
void compare_verdict(char *out, size_t cap, const Compare *c)
{
    /* Speed is clips per second; where those are not known, steps. */
    Comparison speed = c->rows[COMPARE_THROUGHPUT];
    const Comparison *s = &c->rows[COMPARE_STEP];
    const char *in = "";
    if (!isfinite(speed.change)) {
        speed.change = 1 / s->change;
        speed.low = 1 / s->high;
        speed.high = 1 / s->low;
        speed.sure = -s->sure;
        in = word(SAY_CMP_IN_STEPS);
    }
    char change[128], low[128], high[128];
    ratio_words(change, sizeof change, speed.change, &speed_of_b);
    if (!isfinite(speed.low)) {
        say(out, cap, SAY_CMP_FEW_STEPS, change, in);
    } else if (speed.sure) {
        interval_words(low, sizeof low, speed.low, speed.high);
        say(out, cap, SAY_CMP_VERDICT, change, in, low);
    } else {
        ratio_words(low, sizeof low, speed.low, &height);
        ratio_words(high, sizeof high, speed.high, &height);
        say(out, cap, SAY_CMP_NO_VERDICT, in, low, high);
    }
}

/* The numbers, and in one word what they allow to say. */
static json_t *interval_json(const Comparison *r)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:s}", "a", json_from_double(r->a), "b",
                     json_from_double(r->b), r->what == COMPARE_DIFFERENCE ? "difference" : "ratio",
                     json_from_double(r->change), "low", json_from_double(r->low), "high",
                     json_from_double(r->high), "sure",
                     !isfinite(r->low) ? "not measured"
                     : r->sure > 0     ? "higher"
                     : r->sure < 0     ? "lower"
                                       : "no difference");
}

/* Keys of the start line that are no settings. */
static int is_setting(const char *key)
{
    static const char *const other[] = {"event",   "step", "total_steps", "time",           "date",
                                        "seconds", "text", "settings",    "checkpoint_dir", "resume"};
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (strcmp(key, other[i]) == 0)
            return 0;
    return 1;
}

/* Every key of either start line once: what was in effect first, then what was set. A log that does not have
 * the settings (an older one) cannot differ in them. */
static json_t *settings_that_differ(const RunRecord *a, const RunRecord *b)
{
    json_t *list = json_array(), *seen = json_object();
    const json_t *set[2] = {json_object_get(a->start, "settings"), json_object_get(b->start, "settings")};
    const json_t *from[4] = {a->start, b->start, set[0], set[1]};
    for (int pass = 0; pass < (set[0] && set[1] ? 4 : 2); pass++) {
        const char *key;
        json_t *v;
        json_object_foreach((json_t *)(uintptr_t)from[pass], key, v)
        {
            char x[200], y[200];
            if (!is_setting(key) || json_object_get(seen, key))
                continue;
            json_object_set_new(seen, key, json_true());
            run_record_setting(a, key, x, sizeof x);
            run_record_setting(b, key, y, sizeof y);
            if (strcmp(x, y) != 0)
                json_array_append_new(list, json_pack("{s:o, s:o, s:o}", "key", json_from_text(key), "a",
                                                      json_from_text(x), "b", json_from_text(y)));
        }
    }
    json_decref(seen);
    return list;
}

json_t *compare_notes(const Compare *c)
{
    json_t *list = json_array();
    for (int k = 0; k < 2; k++) {
        const RunRecord *r = k ? c->b : c->a;
        char text[500];
        run_record_setting(r, "warmup_steps", text, sizeof text);
        long long warmup = strtoll(text, NULL, 10),
                  last = r->line_count ? r->lines[r->line_count - 1].step : 0;
        if (warmup > 0 && last < warmup) {
            say(text, sizeof text, SAY_CMP_WARMUP, k ? "B" : "A", last, warmup);
            json_array_append_new(list, json_string(text));
        }
        if (r->time_from) {
            say(text, sizeof text, SAY_CMP_OTHER_BATCHES, k ? "B" : "A", r->time_from);
            json_array_append_new(list, json_string(text));
        }
    }
    return list;
}

/* A key for each row. */
json_t *compare_json(const Compare *c)
{
    char verdict[700];
    compare_verdict(verdict, sizeof verdict, c);
    json_t *o = json_pack("{s:s, s:s, s:o, s:o, s:[I, I], s:o, s:[I, I], s:o}", "verdict", verdict, "faster",
                          c->verdict_sure > 0   ? "b"
                          : c->verdict_sure < 0 ? "a"
                                                : "neither",
                          "a", json_from_text(c->name_a), "b", json_from_text(c->name_b), "step_times",
                          (json_int_t)(c->a->time_count - c->skip_a),
                          (json_int_t)(c->b->time_count - c->skip_b), "loss_target",
                          json_from_double(c->target), "loss_target_steps", (json_int_t)c->target_step_a,
                          (json_int_t)c->target_step_b, "settings", settings_that_differ(c->a, c->b));
    for (int i = 0; o && i < COMPARE_COUNT; i++)
        json_object_set_new(o, rows[i].name, interval_json(&c->rows[i]));
    json_object_set_new(o, "notes", compare_notes(c));
    return o;
}

static json_t *numbers(const double *v, size_t n)
{
    json_t *a = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(a, json_from_double(v[i]));
    return a;
}

/* Over time, not over steps: that is what is being compared. */
static json_t *loss_series(const char *name, const RunRecord *r)
{
    json_t *x = json_array(), *y = json_array();
    for (size_t i = 0; i < r->line_count; i++) {
        json_array_append_new(x, json_from_double(r->lines[i].seconds));
        json_array_append_new(y, json_from_double(r->lines[i].loss));
    }
    return json_pack("{s:s, s:o, s:o}", "name", name, "x", x, "y", y);
}

/* A chart with one series of each run. */
static json_t *two(const char *id, const char *kind, const char *title, const char *x_label,
                   const char *y_label, json_t *a, json_t *b)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:[o, o]}", "id", id, "kind", kind, "title", title, "x_label",
                     x_label, "y_label", y_label, "series", a, b);
}

/* Times as a line and as a histogram, then the loss. */
static json_t *compare_charts(const Compare *c)
{
    const RunRecord *a = c->a, *b = c->b;
    json_t *list = json_array();
    for (int k = 0; k < 2; k++)
        json_array_append_new(
            list, two(k ? "histogram" : "step_times", k ? "histogram" : "line",
                      word(k ? SAY_CMP_CHART_HOW_LONG : SAY_CMP_CHART_TIMES),
                      k ? word(SAY_MS) : word(SAY_BATCH), k ? word(SAY_BATCHES) : word(SAY_MS),
                      json_pack("{s:s, s:o}", "name", "A", "y", numbers(a->times, a->time_count)),
                      json_pack("{s:s, s:o}", "name", "B", "y", numbers(b->times, b->time_count))));
    json_array_append_new(list, two("loss", "line", word(SAY_CMP_CHART_LOSS), word(SAY_SECONDS), "",
                                    loss_series("A", a), loss_series("B", b)));
    return list;
}

static json_t *row(const char *name, const char *value, const char *status, const char *note)
{
    return json_pack("{s:s, s:o, s:s, s:o}", "name", name, "value", json_from_text(value), "status", status,
                     "note", json_from_text(note));
}

/* For the page: rows, settings that differ, pictures. */
json_t *compare_report(const Compare *c)
{
    /* Rows that neither run has are left out. */
    char verdict[700], date[64] = "", line[600], va[128], vb[128], note[500], title[160];
    time_t now = time(NULL);
    struct tm tm;
    if (localtime_r(&now, &tm))
        strftime(date, sizeof date, "%Y-%m-%d %H:%M", &tm);
    compare_verdict(verdict, sizeof verdict, c);
    json_t *measures = json_array(), *settings = json_array(), *differ = settings_that_differ(c->a, c->b), *v;
    for (int i = 0; i < COMPARE_COUNT; i++) {
        const Comparison *r = &c->rows[i];
        if (!isfinite(r->a) && !isfinite(r->b))
            continue;
        compare_row_value(va, sizeof va, i, r->a);
        compare_row_value(vb, sizeof vb, i, r->b);
        compare_row_change(note, sizeof note, r);
        say(line, sizeof line, SAY_CMP_BOTH, va, vb);
        compare_row_title(title, sizeof title, i, c->target);
        json_array_append_new(measures, row(title, line, "info", note));
    }
    json_array_append_new(settings, row("A", c->name_a, "info", ""));
    json_array_append_new(settings, row("B", c->name_b, "info", ""));
    size_t k;
    json_array_foreach(differ, k, v)
    {
        say(line, sizeof line, SAY_CMP_BOTH, json_string_value(json_object_get(v, "a")),
            json_string_value(json_object_get(v, "b")));
        json_array_append_new(settings, row(json_string_value(json_object_get(v, "key")), line, "info", ""));
    }
    json_decref(differ);
    return json_pack("{s:s, s:s, s:s, s:s, s:[s, s], s:[{s:s, s:s, s:o}, {s:s, s:s, s:o}], s:o}", "title",
                     word(SAY_CMP_TITLE), "date", date, "verdict", verdict, "verdict_status",
                     c->verdict_sure > 0   ? "good"
                     : c->verdict_sure < 0 ? "bad"
                                           : "info",
                     "evidence", word(SAY_CMP_BOOTSTRAP), word(SAY_CMP_ONCE), "sections", "name", "measures",
                     "title", word(SAY_CMP_MEASURES), "rows", measures, "name", "runs", "title",
                     word(SAY_CMP_RUNS), "rows", settings, "charts", compare_charts(c));
}

int compare_picture(const Compare *c, const char *path, Err *err)
{
    ChartSeries s[2] = {
        {.name = "A", .y = c->a->times, .n = (int64_t)c->a->time_count, .colour = chart_colour(0)},
        {.name = "B", .y = c->b->times, .n = (int64_t)c->b->time_count, .colour = chart_colour(1)}};
    return chart_lines(path, "Batch times of two runs", "batch", "ms", s, 2, 0, err);
}

/* ---- scaling ---- */

/* From which batch size on a larger one brings no more. */
void scaling_verdict(char *out, size_t cap, const Scaling *s)
{
    const ScalingRun *first = &s->runs[0], *best = &s->runs[s->best], *enough = &s->runs[s->enough];
    char a[32], b[32];
    svg_number(a, best->clips_per_s);
    svg_number(b, enough->clips_per_s);
    if (s->count == 1) {
        say(out, cap, SAY_SCALING_ONE, a, first->batch);
        return;
    }
    if (s->best == 0)
        say(out, cap, SAY_SCALING_SMALLEST, first->batch, a);
    else if (s->enough == s->best)
        say(out, cap, SAY_SCALING_FASTEST, best->batch, a, best->clips_per_s / first->clips_per_s,
            first->batch, 100 * best->linear);
    else
        say(out, cap, SAY_SCALING_ENOUGH, enough->batch, b, best->batch, a);
    if (s->best > 0 && s->enough == s->best && s->best == s->count - 1)
        say_more(out, cap, SAY_SCALING_GROWS);
    if (isfinite(s->bytes_per_clip) && s->bytes_per_clip > 0)
        say_more(out, cap, SAY_SCALING_MEMORY, s->bytes_per_clip / 1e6);
}

/* Runs that differ in more than the batch size compare more than that. */
void scaling_caution(char *out, size_t cap, const Scaling *s)
{
    /* Each key once, however many runs differ in it. */
    Buf keys = {0};
    json_t *named = json_object();
    for (int i = 1; i < s->count; i++) {
        json_t *differ = settings_that_differ(s->runs[0].run, s->runs[i].run), *v;
        size_t k;
        json_array_foreach(differ, k, v)
        {
            const char *key = json_string_value(json_object_get(v, "key"));
            /* global_batch_size is the batch itself, derived where nobody gave it. */
            if (strcmp(key, "batch_size") == 0 || strcmp(key, "global_batch_size") == 0 ||
                json_object_get(named, key))
                continue;
            json_object_set_new(named, key, json_true());
            buf_printf(&keys, "%s%s", keys.size ? ", " : "", key);
        }
        json_decref(differ);
    }
    if (keys.size && !keys.failed)
        say(out, cap, SAY_SCALING_DIFFER, keys.data);
    else
        out[0] = 0;
    buf_free(&keys);
    json_decref(named);
}

/* One object for each run, in the order of the batch sizes. */
json_t *scaling_json(const Scaling *s)
{
    char verdict[700], caution[600];
    scaling_verdict(verdict, sizeof verdict, s);
    scaling_caution(caution, sizeof caution, s);
    json_t *runs = json_array();
    for (int i = 0; i < s->count; i++) {
        const ScalingRun *r = &s->runs[i];
        json_array_append_new(
            runs, json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "run",
                            json_from_text(r->name), "batch_size", json_from_double(r->batch), "batch_ms",
                            json_from_double(r->step_ms.a), "clips_per_s", json_from_double(r->clips_per_s),
                            "low", json_from_double(r->low), "high", json_from_double(r->high), "linear",
                            json_from_double(r->linear), "variation", json_from_double(r->variation),
                            "wait_share", json_from_double(r->wait_share), "busy_share",
                            json_from_double(r->busy_share), "gpu_utilisation",
                            json_from_double(r->utilisation), "model_bytes", json_from_double(r->bytes)));
    }
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o}", "verdict", verdict, "caution", caution,
                     "best_batch_size", json_from_double(s->runs[s->best].batch), "enough_batch_size",
                     json_from_double(s->runs[s->enough].batch), "bytes_per_clip",
                     json_from_double(s->bytes_per_clip), "runs", runs);
}

int scaling_picture(const Scaling *s, const char *path, Err *err)
{
    size_t n = (size_t)s->count;
    double *v = mem_calloc(n * 2 + 4, sizeof *v);
    if (!v)
        return err_set(err, ERR_NOMEM, "no memory for the picture %s", path);
    double *x = v, *y = v + n, *line = y + n;
    for (size_t i = 0; i < n; i++) {
        x[i] = s->runs[i].batch;
        y[i] = s->runs[i].clips_per_s;
    }
    line[1] = x[n - 1];
    /* From nothing to what the smallest batch promises. */
    line[3] = y[0] / x[0] * x[n - 1];
    ChartSeries series[2] = {{"measured", x, y, s->count, chart_colour(0)},
                             {"linear", line, line + 2, 2, chart_colour(7)}};
    int rc = chart_lines(path, "Throughput over batch size", "batch size", "clips/s", series, 2, 0, err);
    free(v);
    return rc;
}
