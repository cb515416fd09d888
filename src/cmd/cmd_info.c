/* cmd_info.c - myxtts info: what is in a dataset. Reads, never writes: the metadata and the header of every
 * audio file; of the sound, what prepare has measured, else some recordings. */
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/map.h"
#include "base/ordered.h"
#include "base/plural.h"
#include "base/progress.h"
#include "base/stats.h"
#include "base/utf8.h"
#include "cache/prepare.h"
#include "cmd/cmd.h"
#include "cmd/line/format.h"
#include "cmd/line/options.h"
#include "cmd/line/output.h"
#include "cmd/work/info_target.h"
#include "cmd/work/show_checkpoint.h"
#include "cmd/work/show_graph.h"
#include "dataset/audio_file.h"
#include "dataset/dataset.h"
#include "diag/voice/corpus_report.h"
#include "pipeline/data.h"
#include "text/language_doubt.h"

#define MOST_LINES 20 /* rejected lines shown in the terminal; --json has all */

typedef struct Tally { /* name -> clips and seconds; few names, so a list does */
    char name[256];    /* UTF-8, cut between characters */
    uint64_t clips;
    double seconds;
} Tally;
typedef struct Tallies {
    Tally *items;
    size_t count, cap;
} Tallies;

/* Adds a clip under a name; the first of its name makes a new row. */
static int tally_add(Tallies *t, const char *name, size_t n, double seconds)
{
    char key[sizeof t->items->name] = "";
    n = utf8_cut(name, n, sizeof key - 1);
    memcpy(key, name, n);
    size_t i = 0;
    while (i < t->count && strcmp(t->items[i].name, key) != 0)
        i++;
    if (i == t->count) {
        if (mem_grow(&t->items, &t->cap, t->count + 1, sizeof *t->items))
            return ERR_NOMEM;
        t->items[t->count] = (Tally){0};
        memcpy(t->items[t->count++].name, key, sizeof key);
    }
    t->items[i].clips++;
    t->items[i].seconds += seconds;
    return 0;
}

static int compare_tallies(const void *a, const void *b)
{
    return strcmp(((const Tally *)a)->name, ((const Tally *)b)->name);
}

typedef struct Info {
    const Config *cfg;
    Dataset dataset;
    LanguageDoubt doubt;
    int doubts_language;
    Tallies speakers, languages, rates;
    double *seconds, *characters; /* [accepted] */
    double *header_seconds;       /* [dataset.count] within the limits or not; 0: unusable */
    size_t accepted, validation;
    size_t texts, repeated_texts; /* different texts of the clips; those that several clips have */
    Map text_map;                 /* text -> index of its first clip */
    uint8_t *text_repeated;       /* [dataset.count] of that clip: 1: another one has its text */
    double total_seconds;
    LimitCosts limits;
    CorpusCheck check;
    CacheList caches;
    Progress progress;
    struct Slot {
        AudioInfo audio;
        RejectReason reason;
        char detail[256], language[LANGUAGE_MAX];
    } * slots;
} Info;

/* In a worker: the language of the line and the header of its audio file. */
static void look(void *user, int thread, int slot, uint64_t item)
{
    Info *info = user;
    struct Slot *s = &info->slots[slot];
    const Utterance *u = &info->dataset.utterances[item];
    char path[PATH_MAX];
    Err err = {0};
    *s = (struct Slot){0};
    language_choose(s->language, info->cfg, u->language, u->id, u->text.p, u->text.n);
    if (dataset_audio_path(&info->dataset, u, path, sizeof path, &err)) {
        s->reason = REJECT_AUDIO_MISSING;
        snprintf(s->detail, sizeof s->detail, "%s", err.msg);
    } else
        s->reason = audio_probe(&s->audio, path, info->cfg->min_audio_length, info->cfg->max_audio_length,
                                s->detail, sizeof s->detail);
}

/* Compared byte by byte. 0 or ERR_NOMEM. */
static int count_text(Info *info, uint32_t item)
{
    const Utterance *all = info->dataset.utterances;
    Str text = all[item].text;
    uint64_t hash = hash64(text.p, text.n);
    uint32_t i;
    for (MapWalk w = map_walk(&info->text_map, hash); map_next(&w, &i);) {
        if (all[i].text.n != text.n || memcmp(all[i].text.p, text.p, text.n) != 0)
            continue;
        info->repeated_texts += !info->text_repeated[i];
        info->text_repeated[i] = 1;
        return 0;
    }
    info->texts++;
    return map_add(&info->text_map, hash, item);
}

/* In order: the line joins the figures or the rejections. */
static int count(void *user, int slot, uint64_t item, Err *err)
{
    Info *info = user;
    struct Slot *s = &info->slots[slot];
    const Utterance *u = &info->dataset.utterances[item];
    progress_add(&info->progress, 1);
    if (s->audio.rate > 0 && (s->reason == REJECT_NONE || s->reason == REJECT_AUDIO_TOO_SHORT ||
                              s->reason == REJECT_AUDIO_TOO_LONG))
        info->header_seconds[item] = (double)s->audio.frames / s->audio.rate;
    int rc;
    if (s->reason != REJECT_NONE)
        rc = dataset_reject(&info->dataset, u->id, u->line, u->file, s->reason, s->detail);
    else {
        double seconds = (double)s->audio.frames / s->audio.rate;
        char rate[32];
        snprintf(rate, sizeof rate, "%d Hz, %d channel%s", s->audio.rate, s->audio.channels,
                 s->audio.channels == 1 ? "" : "s");
        info->seconds[info->accepted] = seconds;
        info->characters[info->accepted++] = (double)utf8_count(u->text.p, u->text.n);
        info->validation += u->split == SPLIT_VAL;
        info->total_seconds += seconds;
        rc = tally_add(&info->speakers, u->speaker.p, u->speaker.n, seconds);
        if (!rc)
            rc = tally_add(&info->languages, s->language, strlen(s->language), seconds);
        if (!rc)
            rc = tally_add(&info->rates, rate, strlen(rate), seconds);
        if (!rc)
            rc = count_text(info, (uint32_t)item);
    }
    return rc ? err_set(err, ERR_NOMEM, "no memory for the report") : 0;
}

/* By the mels of a cache that is there already; clips it lacks by their headers. */
static int measure_limits(Info *info, Err *err)
{
    Store mel = {0};
    char *dir = prepare_cache_dir(info->cfg);
    if (!dir)
        return err_set(err, ERR_NOMEM, "no memory for a path");
    Err none = {0};
    cache_open(&mel, dir, MEL_STORE, mel_settings_hash(info->cfg), &none); /* closed if there is none */
    LimitsInput in = {
        .cfg = info->cfg, .dataset = &info->dataset, .mel = &mel, .seconds = info->header_seconds};
    int rc = limits_measure(&info->limits, &in, err);
    store_close(&mel);
    free(dir);
    return rc;
}

/* Everything the report needs, in one pass over the dataset. */
static int gather(Info *info, Log *log, Err *err)
{
    int rc = dataset_open(&info->dataset, info->cfg, err);
    if (rc)
        return rc;
    info->doubts_language = language_doubt(&info->doubt, &info->dataset, info->cfg);
    size_t n = info->dataset.count;
    int workers = config_workers(info->cfg);
    int slots = workers > 0 ? workers * 8 : 1;
    info->slots = mem_calloc((size_t)slots, sizeof *info->slots);
    info->seconds = mem_calloc(n, sizeof *info->seconds);
    info->characters = mem_calloc(n, sizeof *info->characters);
    info->header_seconds = mem_calloc(n, sizeof *info->header_seconds);
    info->text_repeated = mem_calloc(n, 1);
    if (!info->text_repeated || !info->slots || !info->seconds || !info->characters || !info->header_seconds)
        return err_set(err, ERR_NOMEM, "no memory for %zu utterances", n);
    OrderedJob job = {.name = "info",
                      .items = n,
                      .workers = workers,
                      .slots = slots,
                      .user = info,
                      .work = look,
                      .finish = count};
    progress_begin(&info->progress, log, "audio headers", "files", n);
    rc = ordered_run(&job, err);
    progress_end(&info->progress);
    if (!rc)
        rc = measure_limits(info, err);
    if (!rc)
        rc = corpus_check_open(&info->check, info->cfg, &info->dataset, info->header_seconds, 0, err);
    if (!rc)
        rc = cache_list(&info->caches, info->cfg, err);
    dataset_sort_rejected(&info->dataset);
    if (info->accepted) { /* otherwise the lists are NULL */
        qsort(info->speakers.items, info->speakers.count, sizeof(Tally), compare_tallies);
        qsort(info->languages.items, info->languages.count, sizeof(Tally), compare_tallies);
    }
    return rc;
}

static json_t *tallies_json(const Tallies *t)
{
    json_t *a = json_array();
    for (size_t i = 0; i < t->count; i++)
        json_array_append_new(a,
                              json_pack("{s:o, s:I, s:f}", "name", json_from_text(t->items[i].name), "clips",
                                        (json_int_t)t->items[i].clips, "seconds", t->items[i].seconds));
    return a;
}

/* Sorts x, whose order is not needed any more. */
static json_t *lengths_json(double *x, size_t n)
{
    double p50 = stats_percentile(x, n, 0.5), p95 = stats_percentile(x, n, 0.95);
    Stats s = {0};
    for (size_t i = 0; i < n; i++)
        stats_add(&s, x[i]);
    return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f}", "mean", s.mean, "std", stats_std(&s), "min", s.min,
                     "median", p50, "p95", p95, "max", s.max);
}

/* All rejected lines, where the terminal shows the first few. */
static int print_json(Info *info, Err *err)
{
    const Dataset *d = &info->dataset;
    json_t *rejected = json_array(), *reasons = json_object();
    int failed = 0;
    for (size_t i = 0; i < d->rejected_count; i++) {
        const Rejection *r = &d->rejected[i];
        const char *code = reject_code(r->reason);
        uint32_t at;
        const char *file = dataset_place(d, r->file, r->line, &at);
        failed |= json_array_append_new(rejected, json_pack("{s:o, s:I, s:o, s:s, s:o}", "file",
                                                            json_from_text(file), "line", (json_int_t)at,
                                                            "id", json_from_bytes(r->id.p, r->id.n), "reason",
                                                            code, "detail", json_from_text(r->detail)));
        json_object_set_new(reasons, code,
                            json_integer(json_integer_value(json_object_get(reasons, code)) + 1));
    }
    json_t *o = json_pack(
        "{s:I, s:I, s:I, s:I, s:f, s:f, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "lines", (json_int_t)d->lines,
        "clips", (json_int_t)info->accepted, "rejected", (json_int_t)d->rejected_count, "validation_clips",
        (json_int_t)info->validation, "seconds", info->total_seconds, "hours", info->total_seconds / 3600,
        "speakers", tallies_json(&info->speakers), "languages", tallies_json(&info->languages), "formats",
        tallies_json(&info->rates), "clip_seconds", lengths_json(info->seconds, info->accepted),
        "text_characters", lengths_json(info->characters, info->accepted), "reasons", reasons,
        "rejected_lines", rejected);
    if (o) {
        json_object_set_new(o, "layout", json_string(d->layout));
        json_object_set_new(o, "texts", json_integer((json_int_t)info->texts));
        json_object_set_new(o, "repeated_texts", json_integer((json_int_t)info->repeated_texts));
        if (info->doubts_language)
            json_object_set_new(o, "language_doubt",
                                json_pack("{s:s, s:s, s:I, s:I}", "language", info->doubt.is, "read_as",
                                          info->doubt.read_as, "texts", (json_int_t)info->doubt.other,
                                          "looked_at", (json_int_t)info->doubt.looked_at));
        json_object_set_new(o, "limits", limits_json(&info->limits));
        json_object_set_new(o, "caches", cache_list_json(&info->caches));
        failed |= corpus_check_json(o, &info->check);
    }
    if (failed) {
        json_decref(o);
        o = NULL;
    }
    return output_print(o, 6, err);
}

static void print_tallies(const char *title, const Tallies *t)
{
    for (size_t i = 0; i < t->count; i++)
        printf("  %-10s %-24s %8llu clip%-2s %9.2f min\n", i ? "" : title,
               t->items[i].name[0] ? t->items[i].name : "(one)", (unsigned long long)t->items[i].clips,
               plural(t->items[i].clips), t->items[i].seconds / 60);
}

/* Those of other settings only take up room. */
static void print_caches(const CacheList *l)
{
    for (size_t i = 0; i < l->count; i++) {
        const CachePlace *p = &l->items[i];
        char size[32];
        format_bytes(size, sizeof size, p->bytes);
        printf("%s  %-5s %8llu records %10s  %s%s\n", i ? "" : "\ncaches\n", p->store,
               (unsigned long long)p->records, size, p->dir, p->current ? "" : " (other settings)");
    }
    size_t unused;
    cache_list_unused(l, &unused);
    if (unused)
        printf("  `myxtts prepare --prune` with these settings removes the caches of other settings\n");
}

/* Two histograms, each in a dozen rows. */
static void print_lengths(Info *info)
{
    Buf out = {0};
    buf_str(&out, "\nclip length\n");
    stats_draw_histogram(&out, info->seconds, info->accepted, 12, 40, "s ");
    buf_str(&out, "\ntext length\n");
    stats_draw_histogram(&out, info->characters, info->accepted, 12, 40, "ch");
    if (!out.failed && info->accepted)
        fputs(out.data, stdout);
    buf_free(&out);
}

/* How often each reason, then the first lines themselves. */
static void print_rejected(const Dataset *d)
{
    if (!d->rejected_count)
        return;
    printf("\nrejected\n");
    for (int reason = 1; reason < REJECT_COUNT; reason++) {
        size_t n = 0;
        for (size_t i = 0; i < d->rejected_count; i++)
            n += d->rejected[i].reason == (RejectReason)reason;
        if (n)
            printf("  %6zu %-18s %s\n", n, reject_code((RejectReason)reason),
                   reject_text((RejectReason)reason));
    }
    for (size_t i = 0; i < d->rejected_count && i < MOST_LINES; i++) {
        const Rejection *r = &d->rejected[i];
        uint32_t at;
        const char *file = dataset_place(d, r->file, r->line, &at);
        printf("  %s:%u %.*s: %s%s%s\n", file, at, (int)r->id.n, r->id.p ? r->id.p : "",
               reject_code(r->reason), r->detail[0] ? ", " : "", r->detail);
    }
    if (d->rejected_count > MOST_LINES)
        printf("  ... and %zu more (--json lists all)\n", d->rejected_count - MOST_LINES);
}

/* Figures, what is wrong, then the rest. */
static void print_text(Info *info)
{
    const Dataset *d = &info->dataset;
    char length[64];
    progress_format_seconds(length, sizeof length, info->total_seconds);
    printf("%s: %zu clip%s, %.2f hours (%s), %zu line%s, %zu rejected\n", d->root, info->accepted,
           plural(info->accepted), info->total_seconds / 3600, length, d->lines, plural(d->lines),
           d->rejected_count);
    printf("  %-10s %s: %s\n", "layout", d->layout, d->found);
    printf("  %-10s %zu train, %zu validation\n", "split", info->accepted - info->validation,
           info->validation);
    print_tallies("speakers", &info->speakers);
    print_tallies("languages", &info->languages);
    if (info->doubts_language)
        printf("  %-10s %zu of %zu texts are in the language '%s', not '%s': name it with --language %s\n",
               "", info->doubt.other, info->doubt.looked_at, info->doubt.is, info->doubt.read_as,
               info->doubt.is);
    print_tallies("formats", &info->rates);
    for (int i = 0, first = 1; i < LIMITS_COUNT; i++) {
        char sentence[200];
        if (!*limit_sentence(&info->limits.limit[i], sentence, sizeof sentence))
            continue;
        printf("%s  %s\n", first ? "\nlimits\n" : "", sentence);
        first = 0;
    }
    Buf found = {0};
    corpus_check_print(&found, &info->check, "--json lists all clips");
    fputs(found.failed || !found.size ? "" : found.data, stdout);
    buf_free(&found);
    print_rejected(d);
    print_lengths(info);
    print_caches(&info->caches);
}

/* As they were typed. */
typedef struct Given {
    const char *checkpoint;
} Given;

static const CmdOption options[] = {{"checkpoint", "D", TEXT_AT(Given, checkpoint), 0,
                                     "D is a trained voice, whatever it looks like (inspect shows more)"}};
const CmdUsage info_usage = {
    "myxtts info DIR | RUN | FILE [--json]\n\n"
    "For a folder with recordings: clips, hours, speakers, languages, what is wrong with the recordings\n"
    "and texts, lengths, the lines that cannot be used. For a voice: steps made, licence, speakers,\n"
    "languages; a voice is the folder of a training, a .safetensors or .onnx file, a folder that `export`\n"
    "wrote a voice into, or `base`. --data-path and --checkpoint say which of the two is meant. Writes\n"
    "nothing to disk. Exit code 1: findings.",
    options, OPTION_COUNT(options)};

/* A voice, named with --checkpoint or by a plain word. *shown: it was one. */
static int show_voice(const Given *given, CmdLine *line, int *shown, Log *log, Err *err)
{
    const int plain = !given->checkpoint && line->positional_count == 1;
    const char *typed = plain ? line->positional[0] : given->checkpoint;
    InfoTarget target = {0};
    int rc = typed ? info_target_find(&target, typed, err) : 0;
    *shown = given->checkpoint || (!rc && target.kind != INFO_DATASET);
    if (rc || !*shown)
        return rc;
    return target.kind == INFO_GRAPH ? show_graph(target.path, line, err)
                                     : show_checkpoint(target.path, line, 0, log, err);
}

/* Exit code 1: some lines cannot be used, are over a limit, or have findings. */
int cmd_info(int argc, char **argv, Log *log)
{
    Given given = {0};
    CmdLine line;
    Err err = {0};
    Info info = {0};
    int code = 0, shown = 0;
    int rc = cmd_line_parse(&line, &info_usage, &given, argc, argv, &err);
    if (rc || line.help)
        goto done;
    cmd_line_set_log(&line, log);
    rc = show_voice(&given, &line, &shown, log, &err);
    if (!rc && !shown)
        rc = cmd_line_take_data(&line, &err);
    if (rc || shown)
        goto done;
    if (!line.cfg.data_path[0]) {
        err_set(&err, ERR_USAGE, "info needs DIR, the folder with recordings and their texts");
        rc = err_hint(&err, "or the folder that `myxtts train` wrote, or an exported voice");
        goto done;
    }
    info.cfg = &line.cfg;
    rc = gather(&info, log, &err);
    if (!rc && !info.dataset.lines)
        rc = data_unusable(&info.dataset, &line.cfg, "", &err);
    if (rc)
        goto done;
    if (line.json)
        rc = print_json(&info, &err);
    else
        print_text(&info);
    code = info.dataset.rejected_count || info.check.doubts.findings || info.doubts_language;
    for (int i = 0; i < LIMITS_COUNT; i++)
        code |= info.limits.limit[i].lost > 0;
done:
    if (rc)
        code = cmd_fail(log, &err);
    corpus_check_close(&info.check);
    dataset_close(&info.dataset);
    free(info.speakers.items);
    free(info.languages.items);
    free(info.rates.items);
    free(info.seconds);
    free(info.characters);
    free(info.header_seconds);
    free(info.text_repeated);
    map_free(&info.text_map);
    free(info.slots);
    cache_list_free(&info.caches);
    cmd_line_close(&line);
    return code;
}
