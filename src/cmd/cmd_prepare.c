/* cmd_prepare.c - myxtts prepare: a dataset folder -> caches. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/plural.h"
#include "base/progress.h"
#include "cache/prepare.h"
#include "cmd/cmd.h"
#include "cmd/line/format.h"
#include "cmd/line/join.h"
#include "cmd/line/options.h"
#include "cmd/line/output.h"
#include "dataset/dataset.h"
#include "diag/voice/findings_file.h"
#include "pipeline/data.h"

static const char usage_text[] =
    "myxtts prepare DIR [--cache-dir D] [--stages text|mel|audio|all] [--verify] [--prune] [--json]\n\n"
    "Reads the recordings and texts in DIR, whatever its layout (`myxtts info DIR` says which was found),\n"
    "and builds what is missing or outdated in the caches. Beside the caches, rejected.tsv lists every\n"
    "line that cannot be used, with the reason, and findings.tsv the recordings and texts to look at.\n"
    "Exit code 1: one of them is not empty.\n"
    "mpirun -n 4 myxtts prepare ... shares the work among four processes, on one host or several.";

/* What one stage built and reused; `checked` only where every byte was looked at. */
static json_t *stage_json(const CacheReport *r, int verified)
{
    json_t *o = json_pack("{s:I, s:I, s:f}", "built", (json_int_t)r->built, "reused", (json_int_t)r->reused,
                          "seconds", r->seconds);
    if (verified)
        json_object_set_new(o, "checked", json_integer((json_int_t)r->checked));
    json_object_set_new(o, "damaged", json_integer((json_int_t)r->damaged));
    return o;
}

/* Reasons with at least one line; unknown symbols with how often they came. */
static int print_json(const PrepareReport *r, const PrepareOptions *options, const Findings *findings,
                      Err *err)
{
    json_t *reasons = json_object(), *unknown = json_array();
    for (int i = 1; i < REJECT_COUNT; i++)
        if (r->by_reason[i])
            json_object_set_new(reasons, reject_code((RejectReason)i),
                                json_integer((json_int_t)r->by_reason[i]));
    for (size_t i = 0; i < r->unknown_count; i++) {
        char point[16], symbol[8];
        snprintf(point, sizeof point, "U+%04X", r->unknown[2 * i]);
        format_code_point(symbol, r->unknown[2 * i]);
        json_array_append_new(unknown, json_pack("{s:s, s:s, s:I}", "code_point", point, "symbol", symbol,
                                                 "count", (json_int_t)r->unknown[2 * i + 1]));
    }
    json_t *o = json_pack(
        "{s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:f, s:f, s:I, s:I, s:o}", "lines",
        (json_int_t)r->lines, "accepted", (json_int_t)r->accepted, "rejected", (json_int_t)r->rejected,
        "reasons", reasons, "text", stage_json(&r->text, options->verify), "mel",
        stage_json(&r->mel, options->verify), "audio", stage_json(&r->audio, options->verify), "cache_dir",
        json_from_text(r->cache_dir), "rejected_file", json_from_text(r->rejected_path), "audio_seconds",
        r->audio_seconds, "seconds", r->seconds, "tokens", (json_int_t)r->tokens, "mel_frames",
        (json_int_t)r->frames, "unknown_symbols", unknown);
    if (o) {
        json_object_set_new(o, "limits", limits_json(&r->limits));
        json_object_set_new(o, "clipped_clips", json_integer((json_int_t)r->clipped));
        json_object_set_new(o, "clipped_samples", json_from_double(r->clipped_share));
        json_object_set_new(o, "unchanged", json_boolean(r->unchanged));
        json_object_set_new(o, "caches", cache_list_json(&r->caches));
        if (options->prune)
            json_object_set_new(o, "freed_bytes", json_integer((json_int_t)r->freed));
        json_t *found = json_loadb(findings->json.data, findings->json.size, 0, NULL);
        json_object_update(o, found);
        json_decref(found);
    }
    return output_print(o, 6, err);
}

static void print_stage(const char *name, const CacheReport *r, int verified)
{
    printf("  %-9s built %llu, reused %llu, %.2f s", name, (unsigned long long)r->built,
           (unsigned long long)r->reused, r->seconds);
    if (verified)
        printf("; verified %llu record%s, %llu damaged", (unsigned long long)r->checked, plural(r->checked),
               (unsigned long long)r->damaged);
    putchar('\n');
}

/* Caches of other settings: those that were removed, or could be. */
static void print_others(const PrepareReport *r, const PrepareOptions *options)
{
    size_t count;
    char size[32];
    uint64_t bytes = cache_list_unused(&r->caches, &count);
    format_bytes(size, sizeof size, options->prune ? r->freed : bytes);
    if (options->prune)
        printf("  %-9s removed %zu cache%s of other settings, %s\n", "pruned", r->pruned,
               r->pruned == 1 ? "" : "s", size);
    else if (count)
        printf("  %-9s %zu cache%s of other settings, %s, in the same folder; --prune removes %s\n", "others",
               count, count == 1 ? "" : "s", size, count == 1 ? "it" : "them");
}

/* The same figures for people, and what each limit costs. */
static void print_text(const PrepareReport *r, const PrepareOptions *options, const Findings *findings,
                       const Config *cfg)
{
    printf("prepared %s in %.2f s%s, caches in %s\n", cfg->data_path, r->seconds,
           r->unchanged ? " (nothing has changed)" : "", r->cache_dir);
    printf("  %-9s %llu: accepted %llu, rejected %llu\n", "lines", (unsigned long long)r->lines,
           (unsigned long long)r->accepted, (unsigned long long)r->rejected);
    for (int i = 1; i < REJECT_COUNT; i++)
        if (r->by_reason[i])
            printf("  %-9s   %6llu %-18s %s\n", "", (unsigned long long)r->by_reason[i],
                   reject_code((RejectReason)i), reject_text((RejectReason)i));
    if (r->rejected)
        printf("  %-9s   listed with line and reason in %s\n", "", r->rejected_path);
    if (options->text)
        print_stage("text", &r->text, options->verify);
    if (options->mel)
        print_stage("mel", &r->mel, options->verify);
    if (options->audio)
        print_stage("audio", &r->audio, options->verify);
    if ((options->mel || options->audio) && r->accepted) {
        char length[64];
        progress_format_seconds(length, sizeof length, r->audio_seconds);
        printf("  %-9s %s of speech, %llu mel frames, longest clip %u frames\n", "clips", length,
               (unsigned long long)r->frames, r->longest_mel);
    }
    if (options->text && r->accepted)
        printf("  %-9s %llu, longest text %u\n", "tokens", (unsigned long long)r->tokens, r->longest_text);
    for (size_t i = 0; i < r->unknown_count; i++) {
        char symbol[8];
        format_code_point(symbol, r->unknown[2 * i]);
        printf("  %-9s U+%04X %s, %u times: not in the symbol table, left out of the tokens\n",
               i ? "" : "unknown", r->unknown[2 * i], symbol, r->unknown[2 * i + 1]);
    }
    for (int i = 0; i < LIMITS_COUNT; i++) {
        char sentence[200];
        if (*limit_sentence(&r->limits.limit[i], sentence, sizeof sentence))
            printf("  %-9s %s\n", "limit", sentence);
    }
    print_others(r, options);
    fputs(findings->text.size ? findings->text.data : "", stdout);
}

/* Looks at what was prepared and lists the clips that have a doubt beside rejected.tsv. */
static int check_corpus(Findings *findings, const Dataset *dataset, const PrepareReport *r, const Config *cfg,
                        Err *err)
{
    CorpusCheck check;
    char *path = file_join(r->cache_dir, "findings.tsv");
    int rc = path ? corpus_check_open(&check, cfg, dataset, NULL, 1, err)
                  : err_set(err, ERR_NOMEM, "no memory for a path");
    if (!rc) {
        rc = access(r->cache_dir, W_OK) ? 0 : corpus_check_write(&check, path, err);
        if (!rc)
            rc = findings_take(findings, &check, "all clips: findings.tsv beside the caches", err);
        corpus_check_close(&check);
    }
    free(path);
    return rc;
}

/* What was said last time where nothing has changed. Without recordings there is nothing to say. */
static int find(Findings *findings, Dataset *dataset, const PrepareReport *r, const PrepareOptions *options,
                const Config *cfg, Err *err)
{
    const int is_closed = !dataset->root;
    if (!r->accepted || (!options->mel && !options->audio)) {
        buf_str(&findings->json, "{}");
        return findings->json.failed ? err_set(err, ERR_NOMEM, "no memory for the findings") : 0;
    }
    if (is_closed && findings_file_read(findings, r->cache_dir, cfg, r->state))
        return 0;
    int rc = is_closed ? dataset_open(dataset, cfg, err) : 0;
    if (!rc)
        rc = check_corpus(findings, dataset, r, cfg, err);
    if (!rc && access(r->cache_dir, W_OK) == 0)
        findings_file_write(findings, r->cache_dir, cfg, r->state);
    return rc;
}

/* Stages, one or several with commas between them. `all` is what a voice is trained with; a vocoder needs
 * audio alone. */
static int parse_stages(PrepareOptions *options, const char *stages, Err *err)
{
    for (const char *at = stages;; at++) {
        size_t n = strcspn(at, ",");
        int all = n == 3 && strncmp(at, "all", n) == 0, text = n == 4 && strncmp(at, "text", n) == 0,
            mel = n == 3 && strncmp(at, "mel", n) == 0, audio = n == 5 && strncmp(at, "audio", n) == 0;
        if (!all && !text && !mel && !audio)
            return err_set(err, ERR_USAGE, "--stages is '%s', but must be text, mel, audio or all", stages);
        options->text |= text || all;
        options->mel |= mel || all;
        options->audio |= audio;
        at += n;
        if (!*at)
            return 0;
    }
}

/* Nothing usable is a failure; damage that was mended is a finding. */
static int judge(const PrepareReport *r, const Dataset *dataset, const Config *cfg, int *code, Log *log,
                 Err *err)
{
    if (r->accepted == 0)
        return data_unusable(dataset, cfg, r->rejected_path, err);
    if (r->text.damaged + r->mel.damaged + r->audio.damaged > 0) {
        log_warn(log,
                 "damaged records were found and rebuilt; unless someone edited the files, check the disk");
        *code = 1;
    }
    return 0;
}

/* As they were typed. */
typedef struct Given {
    const char *stages;
    int verify, prune;
} Given;

static const CmdOption own_options[] = {
    {"stages", "text|mel|audio|all", TEXT_AT(Given, stages), 0,
     "which caches to build, with commas between them: text (needs no recordings), mel, audio (samples for a "
     "vocoder), all (text and mel; the default)"},
    {"verify", NULL, 0, FLAG_AT(Given, verify),
     "check every byte of the caches; name and rebuild damaged records"},
    {"prune", NULL, 0, FLAG_AT(Given, prune),
     "afterwards remove the caches of other settings from the folder; names each with its size first"},
};
const CmdUsage prepare_usage = {usage_text, own_options, OPTION_COUNT(own_options)};

/* Exit code 3: no usable line; 1: lines that cannot be used, findings, or damage. */
int cmd_prepare(int argc, char **argv, Log *log)
{
    Given given = {.stages = "all"};
    PrepareOptions options = {0};
    CmdLine line;
    Ranks *ranks = NULL;
    Err err = {0};
    PrepareReport report = {0};
    Dataset dataset = {0};
    Findings findings = {0};
    int rc = cmd_line_parse(&line, &prepare_usage, &given, argc, argv, &err), code = 0;
    if (!rc && !line.help)
        rc = cmd_line_take_data(&line, &err);
    if (rc || line.help)
        goto done;
    cmd_line_set_log(&line, log);
    options.verify = given.verify;
    options.prune = given.prune;
    rc = parse_stages(&options, given.stages, &err);
    if (rc)
        goto done;
    if (!line.cfg.data_path[0]) {
        rc = err_set(&err, ERR_USAGE, "prepare needs DIR, the folder with recordings and their texts");
        goto done;
    }
    rc = join_ranks(&ranks, line.verbose, log, &err);
    options.keep = &dataset;
    options.keep_changed = 1;
    options.ranks = ranks;
    if (!rc)
        rc = prepare_run(&line.cfg, &options, &report, log, &err);
    if (rc)
        goto done;
    /* The setting makes prepare verify too; the report says so. */
    options.verify |= line.cfg.cache_verification == VERIFY_FULL;
    if (leads_ranks(ranks))
        rc = find(&findings, &dataset, &report, &options, &line.cfg, &err);
    if (!rc && leads_ranks(ranks) && line.json)
        rc = print_json(&report, &options, &findings, &err);
    else if (!rc && leads_ranks(ranks))
        print_text(&report, &options, &findings, &line.cfg);
    if (rc)
        goto done;
    code = report.rejected || findings.findings;
    rc = judge(&report, &dataset, &line.cfg, &code, log, &err);
done:
    if (!rc)
        code = highest_code(ranks, code);
    leave_ranks(ranks, rc, &err);
    if (rc)
        code = fail_ranks(log, &err);
    prepare_report_free(&report);
    findings_free(&findings);
    dataset_close(&dataset);
    cmd_line_close(&line);
    return code;
}
