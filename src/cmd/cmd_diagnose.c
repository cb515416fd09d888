/* cmd_diagnose.c - myxtts diagnose: finds the bottleneck of training by running the real pipeline and the
 * real step. Given the folder of a run, it finds defects of the voice instead (diagnose_voice.c). */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cmd/cmd.h"
#include "cmd/line/join.h"
#include "cmd/line/options.h"
#include "cmd/line/output.h"
#include "cmd/work/diagnose_voice.h"
#include "config/measured.h"
#include "device/devices.h"
#include "diag/ranks/observe_ranks.h"
#include "diag/report/html.h"
#include "diag/report/sections.h"
#include "pipeline/data.h"
#include "pipeline/policy.h"
#include "voice/checkpoint.h"

static const char usage_text[] =
    "myxtts diagnose --data-path DIR [--config F] [--output F] [--html F] [--num-batches N] [--apply] "
    "[--thresholds]\n"
    "                [--json]\n"
    "myxtts diagnose RUN [--data-path DIR] [--output F] [--json]\n"
    "myxtts diagnose RUN --html F [--data-path DIR] ...\n\n"
    "Runs the real pipeline and the real training step for some batches (on simulated GPUs, --sim, a step\n"
    "that only takes the described time) and says which stage slows training down, why, and what each\n"
    "change would gain. Prepares the dataset if needed. Writes no checkpoint. --apply runs again with the\n"
    "best change, shows what it really gained, and if it helped writes it to the file of --config, with a\n"
    "comment that makes `validate --fix` leave it alone.\n"
    "With several ranks (mpirun -n 8 myxtts diagnose ..., or --sim ranks=8, ...) it also says which rank\n"
    "slows the others down, and why. Given RUN, a folder that `myxtts train` wrote, it says what is wrong\n"
    "with the voice: from the log alone, or with --data-path also from the recordings and the alignment\n"
    "of every clip. Lines whose text does not seem to match the speech go to suspects.tsv in RUN. With\n"
    "--html, the settings, data and pictures of RUN go into the page. Exit code 0: nothing found, 1:\n"
    "findings.";

#define MOST_BYTES ((size_t)1 << 20) /* of a configuration */
#define LEAST_BATCHES 12             /* fewer say nothing about how evenly they come */

typedef struct Diagnosis {
    Config cfg;      /* a copy: --apply changes it */
    const char *run; /* folder; NULL: none */
    Checkpoint file; /* of the run, where its settings are used */
    Ranks *ranks;    /* this is one of several; NULL: alone */
    Devices devices;
    CorpusSource *source;
    Corpus corpus;
    Observation o, after;
    Verdict v;
    int has_ranks;        /* several train together, really or simulated, */
    RanksVerdict cluster; /* and this is what is said of them */
    Preflight preflight;
    StorageTest storage;
    int64_t batches;
} Diagnosis;

static ObserveOptions options_for(const Diagnosis *d, const Devices *devices, const Config *cfg,
                                  int64_t batches, Log *log)
{
    return (ObserveOptions){.cfg = cfg,
                            .data = devices->data,
                            .model = devices->model,
                            .sim = devices->has_sim ? (Sim *)(uintptr_t)&devices->sim : NULL,
                            .corpus = &d->corpus,
                            .batches = batches,
                            .ranks = d->ranks,
                            .log = log};
}

/* A run of the real pipeline into the real step. */
static int observe_now(Observation *o, const Diagnosis *d, const Devices *devices, const Config *cfg,
                       int64_t batches, Log *log, Err *err)
{
    ObserveOptions options = options_for(d, devices, cfg, batches, log);
    return observe(o, &options, err);
}

/* Several ranks: one of them (this one, or of simulated ones rank 0), and all of them together. */
static int observe_cluster(Diagnosis *d, Log *log, Err *err)
{
    RankFacts *facts = NULL;
    ObserveOptions options = options_for(d, &d->devices, &d->cfg, d->batches, log);
    int rc = d->ranks ? observe_together(&d->o, &facts, &options, err)
                      : observe_ranks(&d->o, &facts, &options, err);
    if (!rc)
        rc = ranks_judge(&d->cluster, facts, d->o.ranks, err);
    d->has_ranks = !rc && d->o.ranks > 1;
    free(facts);
    return rc;
}

/* The command line counts more than the file: what it says is not the file's to mend. */
static int is_of_command_line(const Config *cfg, const char *key)
{
    ConfigRow row;
    for (int i = 0; i < config_row_count(); i++)
        if (config_row(cfg, i, &row) == 0 && strcmp(row.key, key) == 0)
            return strcmp(row.origin, "command line") == 0;
    return 0;
}

/* A change that has proved itself goes into the file, with a remark that keeps `validate --fix` from undoing
 * it. */
static int write_change(const Gain *g, const char *path, int simulated, Log *log, Err *err)
{
    char remark[120];
    Buf text = {0};
    if (!(g->measured >= 1 + threshold(LIMIT_GAIN)->good)) {
        log_info(log, "%s was not changed: %s gave only %.2f times the throughput", path, g->change,
                 g->measured);
        return 0;
    }
    snprintf(remark, sizeof remark, "%.2f times the throughput%s (diagnose --apply)", g->measured,
             simulated ? " on a simulated machine" : "");
    int rc = file_read(&text, path, MOST_BYTES, err);
    if (!rc)
        rc = measured_set(&text, g->key, g->value, remark, err);
    const int bare = rc == 1;
    if (rc >= 0)
        rc = file_replace(path, text.data, text.size, err);
    if (!rc)
        log_info(log, "%s now sets %s, which gave %.2f times the throughput%s", path, g->change, g->measured,
                 bare ? "; no comment could be added to the line" : "");
    buf_free(&text);
    return rc;
}

/* Once more with the best change; what it gives stands beside what was predicted. */
static int apply_best(Diagnosis *d, const char *path, Log *log, Err *err)
{
    if (d->v.best < 0) {
        log_info(log, "nothing to apply: no setting of the pipeline would help here");
        return 0;
    }
    Gain *g = &d->v.gains[d->v.best];
    Config cfg = d->cfg;
    if (!gain_apply(g, &cfg))
        return 0;
    log_info(log, "running again with %s", g->change);
    Devices devices;
    int rc = devices_open_ranks(&devices, &cfg, log, err);
    if (!rc)
        rc = observe_now(&d->after, d, &devices, &cfg, d->o.n - d->o.from, log, err);
    if (!rc && d->o.utterances_per_s > 0)
        g->measured = d->after.utterances_per_s / d->o.utterances_per_s;
    devices_close(&devices);
    return rc || !path || is_of_command_line(&d->cfg, g->key)
               ? rc
               : write_change(g, path, d->devices.has_sim, log, err);
}

/* The settings to look at: the command line's, or those of the run's newest checkpoint with these on top. */
static int choose_settings(Diagnosis *d, const CmdLine *line, Log *log, Err *err)
{
    d->cfg = line->cfg;
    if (line->cfg.data_path[0])
        return 0;
    int rc = checkpoint_open(&d->file, "auto", d->run, line->setting_count, line->settings, log, err);
    if (rc)
        return rc;
    d->cfg = d->file.cfg;
    return 0;
}

/* Steps of different batches say nothing about the ranks. */
static int agree(const Diagnosis *d, Err *err)
{
    char value[64];
    snprintf(value, sizeof value, "%u clips in batches of %d", d->corpus.count,
             policy_global_batch(&d->cfg, ranks_count(d->ranks)));
    return ranks_agree(d->ranks, "what is trained on", value, err);
}

/* What can be judged without running. Of several ranks the first does it. */
static int look_around(Diagnosis *d, Log *log, Err *err)
{
    PreflightOptions po = {.cfg = &d->cfg,
                           .data = d->devices.data,
                           .model = d->devices.model,
                           .sim = d->devices.has_sim ? &d->devices.sim : NULL,
                           .log = log};
    int rc = preflight_run(&d->preflight, &po, err);
    if (!rc)
        storage_measure(&d->storage, &d->cfg, &d->corpus);
    return rc;
}

/* Settings, data, devices; what can be judged without running; then the run and its doctor. */
static int run(Diagnosis *d, const CmdLine *line, int apply, Log *log, Err *err)
{
    int rc = choose_settings(d, line, log, err);
    if (!rc)
        rc = data_open(&d->source, &d->cfg, &(DataOptions){.ranks = d->ranks, .quiet = 1}, log, err);
    if (!rc)
        rc = d->ranks ? devices_open_local(&d->devices, &d->cfg, ranks_local(d->ranks), log, err)
                      : devices_open_ranks(&d->devices, &d->cfg, log, err);
    if (!rc)
        rc = corpus_open_split(&d->corpus, d->source, &d->cfg, SPLIT_TRAIN, log, err);
    if (rc)
        return rc;
    if (!d->corpus.count)
        return data_none_to_train(&d->cfg, err);
    if ((rc = agree(d, err)) || (leads_ranks(d->ranks) && (rc = look_around(d, log, err))))
        return rc;
    rc = d->ranks || d->devices.sim.links.ranks > 1
             ? observe_cluster(d, log, err)
             : observe_now(&d->o, d, &d->devices, &d->cfg, d->batches, log, err);
    if (!rc)
        rc = doctor_judge(&d->v, &d->o, err);
    if (rc)
        return rc;
    return apply ? apply_best(d, line->config_path, log, err) : 0;
}

/* path NULL: stdout. */
static int write_text(const char *path, const json_t *report, Err *err)
{
    Buf text = {0};
    report_text(&text, report);
    int rc = text.failed ? err_set(err, ERR_NOMEM, "no memory for the report") : 0;
    if (!rc && path)
        rc = file_replace(path, text.data, text.size, err);
    else if (!rc)
        fwrite(text.data, 1, text.size, stdout);
    buf_free(&text);
    return rc;
}

static int print_thresholds(int json, Err *err)
{
    if (json)
        return output_print(thresholds_json(), 9, err);
    Buf text = {0};
    thresholds_text(&text);
    int rc = text.failed ? err_set(err, ERR_NOMEM, "no memory for the table") : 0;
    if (!rc)
        fwrite(text.data, 1, text.size, stdout);
    buf_free(&text);
    return rc;
}

/* One object; text, page and JSON are drawn from it. */
static int report(Diagnosis *d, const char *command, const char *output, const char *html, int json,
                  int *findings, Err *err)
{
    ReportInput in = {.cfg = &d->cfg,
                      .data = d->devices.data,
                      .model = d->devices.model,
                      .corpus = &d->corpus,
                      .o = &d->o,
                      .v = &d->v,
                      .preflight = &d->preflight,
                      .storage = &d->storage,
                      .ranks = d->has_ranks ? &d->cluster : NULL,
                      .command = command,
                      .title = "myxtts diagnose",
                      .run = d->run};
    json_t *r = report_make(&in);
    if (!r)
        return err_set(err, ERR_NOMEM, "no memory for the report");
    *findings = report_findings(r);
    int rc = output ? write_text(output, r, err) : 0;
    if (!rc && html)
        rc = html_write(html, r, err);
    if (!rc)
        rc = json ? output_print(json_incref(r), 9, err) : write_text(NULL, r, err);
    json_decref(r);
    return rc;
}

/* As they were typed. */
typedef struct Given {
    const char *batches, *output, *html;
    int overwrite, apply, thresholds;
} Given;

static const CmdOption options[] = {
    {"num-batches", "N", TEXT_AT(Given, batches), 0,
     "batches to observe after the warm-up (default: as many as fit into a few seconds)"},
    {"output", "FILE", TEXT_AT(Given, output), 0, "also write the report as text to FILE"},
    {"html", "FILE", TEXT_AT(Given, html), 0, "also write the report as a web page with pictures to FILE"},
    {"overwrite", NULL, 0, FLAG_AT(Given, overwrite), PLACE_OVERWRITE},
    {"apply", NULL, 0, FLAG_AT(Given, apply),
     "run again with the best change, show what it gains, and write it to the --config file if it helps"},
    {"thresholds", NULL, 0, FLAG_AT(Given, thresholds),
     "print the limits between good, acceptable and bad, and exit"},
};
const CmdUsage diagnose_usage = {usage_text, options, OPTION_COUNT(options)};

/* The speed of a training, on one rank or several. *code: 1 where there are findings. */
static int diagnose_speed(Diagnosis *d, const Given *given, CmdLine *line, int ranks, const char *command,
                          int *code, Log *log, Err *err)
{
    char *end = NULL;
    int findings = 0, rc = 0;
    d->batches = given->batches ? strtoll(given->batches, &end, 10) : 0;
    d->run = line->positional_count ? line->positional[0] : NULL;
    if (given->batches && (d->batches < LEAST_BATCHES || *end))
        return err_set(err, ERR_USAGE, "--num-batches is '%s', but must be a number of at least %d",
                       given->batches, LEAST_BATCHES);
    if (!given->thresholds && !line->cfg.data_path[0] && !d->run)
        return err_set(
            err, ERR_USAGE,
            "diagnose needs --data-path DIR, the folder with recordings and their texts, or a RUN");
    if (given->apply && ranks > 1)
        return err_set(err, ERR_USAGE, "--apply works with one rank only, but %d were started", ranks);
    if (given->thresholds)
        return print_thresholds(line->json, err);
    rc = join_ranks(&d->ranks, line->verbose, log, err);
    if (!rc && d->run && !file_exists(d->run))
        rc =
            err_set(err, ERR_MISSING, "%s does not exist; RUN is the --checkpoint-dir of a training", d->run);
    if (!rc)
        rc = run(d, line, given->apply, log, err);
    if (!rc && leads_ranks(d->ranks))
        rc = report(d, command, given->output, given->html, line->json, &findings, err);
    if (!rc)
        *code = highest_code(d->ranks, findings > 0);
    return rc;
}

static void diagnosis_close(Diagnosis *d)
{
    observation_close(&d->o);
    observation_close(&d->after);
    ranks_verdict_close(&d->cluster);
    preflight_free(&d->preflight);
    corpus_close(&d->corpus);
    corpus_source_close(d->source);
    devices_close(&d->devices);
    checkpoint_close(&d->file);
    free(d);
}

/* Exit code 1: findings. */
int cmd_diagnose(int argc, char **argv, Log *log)
{
    Given given = {0};
    CmdLine line;
    Err err = {0};
    Buf command = {0};
    RankPlace place;
    int code = 0, findings = 0;
    Diagnosis *d = mem_calloc(1, sizeof *d);
    int rc = cmd_line_parse(&line, &diagnose_usage, &given, argc, argv, &err);
    if (!rc && !line.help)
        rc = cmd_line_expect(&line, 0, 1, "one folder that `myxtts train` wrote", &err);
    if (!rc && !line.help)
        rc = rank_place_read(&place, &err);
    if (rc || line.help)
        goto done;
    cmd_line_set_log(&line, log);
    output_command(&command, argc, argv);
    /* A folder alone is about its voice; with any of these options it is about speed. */
    const int voice =
        line.positional_count && !given.batches && !given.html && !given.apply && !given.thresholds;
    if ((voice || given.thresholds) && place.rank > 0) /* rank 0 does it */
        goto done;
    if (!d || command.failed) {
        rc = err_set(&err, ERR_NOMEM, "no memory to diagnose");
    } else if (voice) {
        rc = diagnose_voice(&line, line.positional[0], given.output, &findings, log, &err);
        code = findings > 0;
    } else {
        rc = diagnose_speed(d, &given, &line, place.count, command.data, &code, log, &err);
    }
done:
    if (d)
        leave_ranks(d->ranks, rc, &err);
    if (rc)
        code = fail_ranks(log, &err);
    buf_free(&command);
    if (rc == ERR_WORKER) /* a reader is stuck and may come back: what it looks at stays until the end */
        return code;
    if (d)
        diagnosis_close(d);
    cmd_line_close(&line);
    return code;
}
