/* cmd_profile.c - myxtts profile data | step | dual: where the time goes, on the real pipeline and the real
 * step. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/thread.h"
#include "cmd/cmd.h"
#include "cmd/line/options.h"
#include "cmd/line/output.h"
#include "device/devices.h"
#include "diag/pipeline/profile.h"
#include "diag/report/html.h"
#include "diag/report/sections.h"
#include "pipeline/data.h"

static const char usage_text[] =
    "myxtts profile data --data-path DIR [--batch-size N] [--num-batches N] [--benchmark] [--output F] "
    "[--json]\n"
    "       myxtts profile step --data-path DIR [--num-steps N] [--batch-size N] [--layers] [--json]\n"
    "       myxtts profile dual --data-path DIR --data-gpu D --model-gpu D [--num-steps N] [--json]\n\n"
    "data: how evenly batches arrive when nothing slows them down; --benchmark tries batch sizes and\n"
    "numbers of workers.\n"
    "step: the time a real training step spends on waiting for data, forward, loss, backward and\n"
    "optimiser; --layers: on each layer.\n"
    "dual: loading, preprocessing, transfer, training and gaps on two devices (or twice the same),\n"
    "compared with one device. --sim describes a simulated machine. Writes only the files of --output and\n"
    "--html. Exit code 0: nothing found, 1: findings.";

typedef struct Profile {
    Config cfg;
    Devices devices;
    CorpusSource *source;
    Corpus corpus;
    json_t *report;
} Profile;

/* Data first: devices are not opened for a corpus that cannot be used. */
static int open_profile(Profile *p, const Config *cfg, Log *log, Err *err)
{
    p->cfg = *cfg;
    int rc = data_open(&p->source, cfg, &(DataOptions){.quiet = 1}, log, err);
    if (!rc)
        rc = devices_open_ranks(&p->devices, &p->cfg, log, err);
    if (rc)
        return rc;
    return corpus_open_split(&p->corpus, p->source, &p->cfg, SPLIT_TRAIN, log, err);
}

/* "8,16,32" -> numbers; 0 on a wrong list. */
static int read_list(int *out, int most, const char *text)
{
    int n = 0;
    for (const char *p = text; *p;) {
        char *end;
        long v = strtol(p, &end, 10);
        if (end == p || v < 0 || v > 4096 || n == most || (*end && *end != ','))
            return 0;
        out[n++] = (int)v;
        p = *end ? end + 1 : end;
    }
    return n;
}

/* A whole number of an option; *out stays as it is where the option was not given. */
static int positive(const char *option, const char *text, int64_t least, int64_t *out, Err *err)
{
    char *end = NULL;
    if (!text)
        return 0;
    *out = strtoll(text, &end, 10);
    if (*end || *out < least)
        return err_set(err, ERR_USAGE, "--%s is '%s', but must be a number of at least %lld", option, text,
                       (long long)least);
    return 0;
}

/* The report as text, as a page and as JSON, all from the same object. */
static int finish(Profile *p, int argc, char **argv, const char *output, const char *html, int json, Err *err)
{
    Buf text = {0}, command = {0};
    output_command(&command, argc, argv);
    json_object_set_new(p->report, "command", json_from_bytes(command.data, command.size));
    profile_text(&text, p->report);
    int rc = text.failed || command.failed ? err_set(err, ERR_NOMEM, "no memory for the report") : 0;
    if (!rc && output)
        rc = file_replace(output, text.data, text.size, err);
    if (!rc && html)
        rc = html_write(html, p->report, err);
    if (!rc && json)
        rc = output_print(json_incref(p->report), 9, err);
    else if (!rc)
        fwrite(text.data, 1, text.size, stdout);
    buf_free(&text);
    buf_free(&command);
    return rc;
}

/* As they were typed. */
typedef struct Given {
    const char *batches, *steps, *sizes, *workers, *repeats, *output, *html;
    int benchmark, layers, overwrite;
} Given;

static const CmdOption options[] = {
    {"num-batches", "N", TEXT_AT(Given, batches), 0,
     "data: how many batches to take (default: as many as fit into a few seconds)"},
    {"num-steps", "N", TEXT_AT(Given, steps), 0, "step, dual: how many steps to run"},
    {"benchmark", NULL, 0, FLAG_AT(Given, benchmark),
     "data: try a grid of batch sizes and numbers of workers"},
    {"grid-batch", "LIST", TEXT_AT(Given, sizes), 0, "data: batch sizes of the grid (8,16,32)"},
    {"grid-workers", "LIST", TEXT_AT(Given, workers), 0,
     "data: numbers of workers of the grid (1, 2, 4, ... up to the number of cores)"},
    {"repeats", "N", TEXT_AT(Given, repeats), 0, "data: how often to measure each cell of the grid (3)"},
    {"layers", NULL, 0, FLAG_AT(Given, layers), "step: also show the time of each layer"},
    {"output", "FILE", TEXT_AT(Given, output), 0, "also write the report as text to FILE"},
    {"html", "FILE", TEXT_AT(Given, html), 0, "also write the report as a web page with pictures to FILE"},
    {"overwrite", NULL, 0, FLAG_AT(Given, overwrite), PLACE_OVERWRITE},
};
const CmdUsage profile_usage = {usage_text, options, OPTION_COUNT(options)};

/* Batch sizes and numbers of workers of --benchmark; without a list of workers powers of two up to the cores,
 * and the cores themselves. */
static int profile_in_grid(json_t **report, const ObserveOptions *o, const Given *given, int repeats,
                           Err *err)
{
    Grid g = {.repeats = repeats, .batches = o->batches};
    g.size_count = read_list(g.sizes, GRID_MOST, given->sizes);
    if (given->workers)
        g.worker_count = read_list(g.workers, GRID_MOST, given->workers);
    for (int w = 1, cores = thread_cores(); !given->workers && g.worker_count < GRID_MOST;
         w = w * 2 < cores ? w * 2 : cores) {
        g.workers[g.worker_count++] = w;
        if (w == cores)
            break;
    }
    if (!g.size_count || !g.worker_count || g.sizes[0] < 1)
        return err_set(err, ERR_USAGE, "--grid-batch and --grid-workers must be lists such as 8,16,32");
    return profile_grid(report, o, &g, err);
}

/* Three ways to look; all open the same data and devices. */
static int profile(Profile *p, const Given *given, const CmdLine *line, Log *log, Err *err)
{
    const char *what = line->positional[0];
    const int data = strcmp(what, "data") == 0, step = strcmp(what, "step") == 0;
    int64_t n = 0, again = 3;
    int rc = 0;
    if (!data && !step && strcmp(what, "dual"))
        rc = err_set(err, ERR_USAGE, "unknown profile '%s'; choose data, step or dual", what);
    else if (!line->cfg.data_path[0])
        rc = err_set(err, ERR_USAGE,
                     "profile needs --data-path DIR, the folder with recordings and their texts");
    else if (!(rc = positive("num-batches", given->batches, 12, &n, err)) &&
             !(rc = positive("num-steps", given->steps, 12, &n, err)) &&
             !(rc = positive("repeats", given->repeats, 1, &again, err)))
        rc = open_profile(p, &line->cfg, log, err);
    if (rc)
        return rc;
    ObserveOptions o = {.cfg = &p->cfg,
                        .data = p->devices.data,
                        .model = p->devices.model,
                        .sim = p->devices.has_sim ? &p->devices.sim : NULL,
                        .corpus = &p->corpus,
                        .batches = n,
                        .log = log};
    if (data && given->benchmark)
        return profile_in_grid(&p->report, &o, given, (int)again, err);
    return data   ? profile_data(&p->report, &o, err)
           : step ? profile_step(&p->report, &o, given->layers, err)
                  : profile_dual(&p->report, &o, err);
}

int cmd_profile(int argc, char **argv, Log *log)
{
    Given given = {.sizes = "8,16,32"};
    CmdLine line;
    Err err = {0};
    Profile *p = calloc(1, sizeof *p);
    int code = 0, rc = cmd_line_parse(&line, &profile_usage, &given, argc, argv, &err);
    if (!rc && !line.help)
        rc = cmd_line_expect(&line, 1, 1, "what to profile (data, step or dual)", &err);
    if (rc || line.help)
        goto done;
    cmd_line_set_log(&line, log);
    rc = p ? profile(p, &given, &line, log, &err) : err_set(&err, ERR_NOMEM, "no memory to profile");
    if (!rc)
        rc = finish(p, argc, argv, given.output, given.html, line.json, &err);
    const char *status = rc ? NULL : json_string_value(json_object_get(p->report, "verdict_status"));
    code = !rc && (report_findings(p->report) || (status && !strcmp(status, "bad")));
done:
    if (rc)
        code = cmd_fail(log, &err);
    if (rc == ERR_WORKER) /* a reader is stuck and may come back: what it looks at stays until the end */
        return code;
    if (p) {
        json_decref(p->report);
        corpus_close(&p->corpus);
        corpus_source_close(p->source);
        devices_close(&p->devices);
        free(p);
    }
    cmd_line_close(&line);
    return code;
}
