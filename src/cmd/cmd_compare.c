/* cmd_compare.c - myxtts compare and myxtts scaling: compare runs by their logs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/words/words.h"
#include "cmd/cmd.h"
#include "cmd/line/options.h"
#include "cmd/line/output.h"
#include "cmd/work/scaling_forecast.h"
#include "diag/report/compare.h"
#include "diag/report/html.h"
#include "picture/svg.h"

static const char compare_text[] =
    "myxtts compare A B [--png F] [--html F] [--json]\n\nCompares two training runs. A and B are the folders "
    "of the runs, or the log.jsonl in them. Says which is faster, and how certain that is (95 % intervals "
    "from a bootstrap over blocks of consecutive steps).";
static const char scaling_text[] =
    "myxtts scaling RUN... [--png F] [--json]\nmyxtts scaling --forecast 1,2,4,8 --data-path DIR "
    "[--link-gbps X --link-us Y] [--json]\n\nThroughput by batch size, from the logs of runs that differ "
    "only in batch size. Says at which size a larger batch stops helping.\nWith --forecast: the throughput "
    "of N GPUs, estimated from a measurement of one GPU here and from the network given by the "
    "options.\nPrints its assumptions.";

/* A number of an option; otherwise where it was not given. */
static int number_option(double *out, const char *name, const char *value, double otherwise, Err *err)
{
    char *end;
    *out = otherwise;
    if (!value)
        return 0;
    *out = strtod(value, &end);
    if (end == value || *end || !isfinite(*out) || *out < 0)
        return err_set(err, ERR_USAGE, "--%s is '%s', but must be a number of at least 0", name, value);
    return 0;
}

static void add_row(Buf *out, const char *title, const char *a, const char *b)
{
    words_column(out, title, 28);
    buf_str(out, " ");
    words_column(out, a, -20);
    buf_str(out, " ");
    words_column(out, b, -20);
}

static void add_settings(Buf *out, const json_t *settings)
{
    const json_t *v;
    size_t k;
    if (json_array_size(settings))
        buf_printf(out, "\n%s\n", word(SAY_CMP_SETTINGS_DIFFER));
    json_array_foreach(settings, k, v)
    {
        const char *x = json_get_text(v, "a"), *y = json_get_text(v, "b");
        add_row(out, json_get_text(v, "key"), x[0] ? x : "-", y[0] ? y : "-");
        buf_str(out, "\n");
    }
}

/* The table, the settings that differ, the verdict. */
static void print_compare(const Compare *c)
{
    char verdict[700], a[128], b[128], change[500], title[160];
    Buf out = {0};
    buf_say(&out, SAY_CMP_TIMES_OF, "A", c->name_a, c->a->time_count - c->skip_a);
    buf_str(&out, "\n");
    buf_say(&out, SAY_CMP_TIMES_OF, "B", c->name_b, c->b->time_count - c->skip_b);
    buf_str(&out, "\n\n");
    add_row(&out, "", "A", "B");
    buf_printf(&out, "   %s\n", word(SAY_CMP_AGAINST));
    for (int i = 0; i < COMPARE_COUNT; i++) {
        const Comparison *r = &c->rows[i];
        /* Neither log has it. */
        if (!isfinite(r->a) && !isfinite(r->b))
            continue;
        compare_row_title(title, sizeof title, i, c->target);
        compare_row_value(a, sizeof a, i, r->a);
        compare_row_value(b, sizeof b, i, r->b);
        compare_row_change(change, sizeof change, r);
        add_row(&out, title, a, b);
        buf_printf(&out, "   %s\n", change);
    }
    json_t *all = compare_json(c), *v;
    size_t note;
    add_settings(&out, json_object_get(all, "settings"));
    json_array_foreach(json_object_get(all, "notes"), note, v)
        buf_printf(&out, "%s%s\n", note ? "" : "\n", json_string_value(v));
    json_decref(all);
    if (!c->a->start && !c->b->start)
        buf_printf(&out, "\n%s\n", word(SAY_CMP_NO_SETTINGS));
    else if (!c->a->start || !c->b->start) {
        buf_str(&out, "\n");
        buf_say(&out, SAY_CMP_ONE_WITHOUT_SETTINGS, c->a->start ? "B" : "A");
        buf_str(&out, "\n");
    }
    compare_verdict(verdict, sizeof verdict, c);
    printf("%s\n%s\n%s\n", out.data, verdict, word(SAY_CMP_ONCE));
    buf_free(&out);
}

/* As they were typed. */
typedef struct CompareGiven {
    const char *png, *html, *loss, *skip;
    int overwrite;
} CompareGiven;

static const CmdOption compare_options[] = {
    {"png", "FILE", TEXT_AT(CompareGiven, png), 0, "draw the step times"},
    {"html", "FILE", TEXT_AT(CompareGiven, html), 0, "write the whole comparison as a web page"},
    {"overwrite", NULL, 0, FLAG_AT(CompareGiven, overwrite), PLACE_OVERWRITE},
    {"loss", "L", TEXT_AT(CompareGiven, loss), 0,
     "compare the time to this loss (default: the lowest loss that both runs reach)"},
    {"skip", "N", TEXT_AT(CompareGiven, skip), 0,
     "batches to skip at the start (default: a tenth, at most 100)"},
};
const CmdUsage compare_usage = {compare_text, compare_options, OPTION_COUNT(compare_options)};

/* Two logs in; a table, a picture, a page or JSON out. */
int cmd_compare(int argc, char **argv, Log *log)
{
    CompareGiven given = {0};
    CmdLine line;
    Err err = {0};
    RunRecord a = {0}, b = {0};
    Compare c;
    double target, first;
    int rc = cmd_line_parse(&line, &compare_usage, &given, argc, argv, &err);
    if (rc || line.help)
        goto done;
    cmd_line_set_log(&line, log);
    rc = cmd_line_expect(&line, 2, 2, "two runs", &err);
    if (!rc)
        rc = number_option(&target, "loss", given.loss, (double)NAN, &err);
    if (!rc)
        rc = number_option(&first, "skip", given.skip, -1, &err);
    if (!rc)
        rc = run_record_load(&a, line.positional[0], &err);
    if (!rc)
        rc = run_record_load(&b, line.positional[1], &err);
    if (!rc)
        rc = compare_runs(&c, &a, &b, (int64_t)fmin(first, 1e12), target, &err);
    if (rc)
        goto done;
    if (given.png && (rc = compare_picture(&c, given.png, &err)))
        goto done;
    if (given.html) {
        json_t *report = compare_report(&c);
        rc = report ? html_write(given.html, report, &err)
                    : err_set(&err, ERR_NOMEM, "no memory for the page %s", given.html);
        json_decref(report);
        if (rc)
            goto done;
    }
    if (line.json)
        rc = output_print(compare_json(&c), 7, &err);
    else
        print_compare(&c);
done:
    run_record_close(&a);
    run_record_close(&b);
    cmd_line_close(&line);
    return rc ? cmd_fail(log, &err) : 0;
}

/* A share as "12.3 %", or "-". */
static const char *share(char out[16], double v)
{
    if (isfinite(v))
        snprintf(out, 16, "%.1f %%", 100 * v);
    else
        snprintf(out, 16, "-");
    return out;
}

/* One line per run; interval and caution tell how far to trust it. */
static void print_scaling(const Scaling *s)
{
    char text[700], a[16], b[16], c[16], d[16], memory[32];
    printf("%6s %10s %22s %10s %10s %8s %8s %8s %10s  run\n", "batch", "ms/batch", "clips/s (95 % sure)",
           "of linear", "variation", "wait", "busy", "GPU", "memory");
    for (int i = 0; i < s->count; i++) {
        const ScalingRun *r = &s->runs[i];
        char rate[80], n[3][32];
        svg_number(n[0], r->clips_per_s);
        svg_number(n[1], r->low);
        svg_number(n[2], r->high);
        snprintf(rate, sizeof rate, isfinite(r->low) ? "%s (%s to %s)" : "%s", n[0], n[1], n[2]);
        compare_row_value(memory, sizeof memory, COMPARE_MEMORY, r->bytes);
        printf("%6.4g %10.2f %22s %8.0f %% %10s %8s %8s %8s %10s  %s\n", r->batch, r->step_ms.a, rate,
               100 * r->linear, share(a, r->variation), share(b, r->wait_share), share(c, r->busy_share),
               share(d, r->utilisation), memory, r->name);
    }
    scaling_verdict(text, sizeof text, s);
    printf("\n%s\n", text);
    scaling_caution(text, sizeof text, s);
    if (text[0])
        printf("%s\n", text);
}

/* As they were typed. */
typedef struct ScalingGiven {
    const char *png, *skip;
    int overwrite;
    ForecastWords words;
} ScalingGiven;

static const CmdOption scaling_options[] = {
    {"png", "FILE", TEXT_AT(ScalingGiven, png), 0, "draw clips/s by batch size"},
    {"overwrite", NULL, 0, FLAG_AT(ScalingGiven, overwrite), PLACE_OVERWRITE},
    {"skip", "N", TEXT_AT(ScalingGiven, skip), 0,
     "batches to skip at the start (default: a tenth, at most 100)"},
    {"forecast", "LIST", TEXT_AT(ScalingGiven, words.ranks), 0,
     "forecast the throughput of these numbers of GPUs"},
    {"link-gbps", "X", TEXT_AT(ScalingGiven, words.link_gbps), 0,
     "forecast: bandwidth of a host's network in GB/s (50)"},
    {"link-us", "X", TEXT_AT(ScalingGiven, words.link_us), 0,
     "forecast: latency of that network in microseconds (5)"},
    {"nvlink-gbps", "X", TEXT_AT(ScalingGiven, words.nvlink_gbps), 0,
     "forecast: bandwidth between the GPUs of a host in GB/s (400; with a single host, --link-gbps if "
     "given)"},
    {"nvlink-us", "X", TEXT_AT(ScalingGiven, words.nvlink_us), 0,
     "forecast: latency between the GPUs of a host in microseconds (3)"},
    {"ranks-per-host", "N", TEXT_AT(ScalingGiven, words.per_host), 0, "forecast: GPUs per host (8)"},
    {"shared-disk", NULL, 0, FLAG_AT(ScalingGiven, words.shared_disk),
     "forecast: all hosts read from one disk"},
    {"num-steps", "N", TEXT_AT(ScalingGiven, words.batches), 0, "forecast: how many steps to measure"},
    {"check", NULL, 0, FLAG_AT(ScalingGiven, words.check),
     "forecast: also simulate the GPUs (--sim), and compare"},
};
const CmdUsage scaling_usage = {scaling_text, scaling_options, OPTION_COUNT(scaling_options)};

/* Many logs in, ordered by batch size. */
int cmd_scaling(int argc, char **argv, Log *log)
{
    ScalingGiven given = {0};
    CmdLine line;
    Err err = {0};
    Scaling s = {0};
    RunRecord *runs = NULL;
    int n = 0;
    double first;
    int rc = cmd_line_parse(&line, &scaling_usage, &given, argc, argv, &err);
    if (rc || line.help)
        goto done;
    cmd_line_set_log(&line, log);
    if (given.words.ranks) {
        rc = cmd_line_expect(&line, 0, 0, "no run when --forecast is given", &err);
        if (!rc)
            rc = scaling_forecast(&line, &given.words, log, &err);
        goto done;
    }
    rc = cmd_line_expect(&line, 1, 10000, "one or more runs", &err);
    if (!rc)
        rc = number_option(&first, "skip", given.skip, -1, &err);
    if (rc)
        goto done;
    runs = mem_calloc((size_t)line.positional_count, sizeof *runs);
    if (!runs)
        rc = err_set(&err, ERR_NOMEM, "no memory for %d runs", line.positional_count);
    for (; !rc && n < line.positional_count; n++)
        rc = run_record_load(&runs[n], line.positional[n], &err);
    if (!rc)
        rc = scaling_runs(&s, runs, n, (int64_t)fmin(first, 1e12), &err);
    if (!rc && given.png)
        rc = scaling_picture(&s, given.png, &err);
    if (!rc && line.json)
        rc = output_print(scaling_json(&s), 7, &err);
    else if (!rc)
        print_scaling(&s);
done:
    scaling_close(&s);
    for (int i = 0; runs && i < line.positional_count; i++)
        run_record_close(&runs[i]);
    free(runs);
    cmd_line_close(&line);
    return rc ? cmd_fail(log, &err) : 0;
}
