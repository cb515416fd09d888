/* prepare.c - see prepare.h. */
#include "cache/prepare.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audio/mel.h"
#include "audio/process.h"
#include "base/clock.h"
#include "cache/accept.h"
#include "cache/builder/producers.h"
#include "cache/limits.h"
#include "cache/places.h"
#include "cache/state_file.h"
#include "cache/unchanged.h"
#include "config/languages.h"
#include "text/language.h"
#include "text/language_doubt.h"
#include "text/text.h"

/* Beside the data unless the user wants them elsewhere. */
char *prepare_cache_dir(const Config *cfg)
{
    return cfg->cache_dir[0] ? strdup(cfg->cache_dir) : file_join(cfg->data_path, "myxtts-cache");
}

void prepare_report_free(PrepareReport *r)
{
    free(r->cache_dir);
    free(r->rejected_path);
    free(r->unknown);
    cache_list_free(&r->caches);
    *r = (PrepareReport){0};
}

int prepare_lock(FileLock *lock, int *waited, const char *dir, Log *log, Err *err)
{
    char *path = file_join(dir, "lock");
    if (!path)
        return err_set(err, ERR_NOMEM, "no memory for a path");
    long holder = 0;
    int rc = file_lock(lock, path, 0, &holder, err);
    *waited = rc == ERR_STOPPED;
    /* Not an error: the other run may be about to build the very same. */
    if (*waited) {
        log_info(log, "another run (process %ld) is preparing %s: waiting for it to finish", holder, dir);
        rc = file_lock(lock, path, 1, NULL, err);
    }
    free(path);
    return rc;
}

/* The stores that were built, as they are now, after the builders have committed; the others are closed. */
typedef struct Built {
    Store text, mel, audio;
} Built;

static int open_built(Built *b, const Preparation *s, const PrepareOptions *options, Err *err)
{
    const Config *cfg = s->cfg;
    *b = (Built){0};
    int rc = options->text ? cache_open(&b->text, s->dir, TEXT_STORE, text_settings_hash(cfg), err) : 0;
    if (!rc && options->mel)
        rc = cache_open(&b->mel, s->dir, MEL_STORE, mel_settings_hash(cfg), err);
    if (!rc && options->audio)
        rc = cache_open(&b->audio, s->dir, AUDIO_STORE, audio_settings_hash(cfg), err);
    return rc;
}

static void close_built(Built *b)
{
    store_close(&b->text);
    store_close(&b->mel);
    store_close(&b->audio);
}

/* Zeros if the store has no record of the utterance. */
static StoreEntry entry_of(const Store *s, const Utterance *u)
{
    StoreEntry e = {0};
    int64_t at = s->count ? store_find(s, u->id.p, u->id.n) : -1;
    if (at >= 0)
        store_entry(s, (uint64_t)at, &e);
    return e;
}

/* Over the clipped clips, in seconds. */
typedef struct ClippedSums {
    double clipped, seconds;
} ClippedSums;

/* The limits on length choose among the features and never change them. */
static int apply_limits_to(Preparation *s, const Built *b, PrepareReport *report, ClippedSums *sums, size_t i,
                           Err *err)
{
    const Config *cfg = s->cfg;
    const Utterance *u = &s->dataset->utterances[i];
    StoreEntry text = entry_of(&b->text, u), mel = entry_of(&b->mel, u), audio = entry_of(&b->audio, u);
    /* Either store knows how many frames the clip has. */
    uint32_t frames = mel.items ? mel.items : (uint32_t)mel_frames_with(cfg, audio.items);
    const StoreEntry *sound = mel.items ? &mel : &audio;
    double seconds = source_seconds(sound), clipped = source_clipped(sound);
    /* Over everything that was built, within the limits or not. */
    report->longest_text = text.items > report->longest_text ? text.items : report->longest_text;
    report->longest_mel = frames > report->longest_mel ? frames : report->longest_mel;
    char detail[128];
    RejectReason reason = accept_text(cfg, u->text, detail, sizeof detail);
    if (reason == REJECT_NONE)
        reason = accept_frames(cfg, frames, detail, sizeof detail);
    if (reason != REJECT_NONE)
        return preparation_reject(s, i, reason, detail, err);
    report->accepted++;
    report->tokens += text.items;
    report->frames += frames;
    report->audio_seconds += seconds;
    if (clipped > AUDIO_CLIPPED_SHARE) {
        report->clipped++;
        sums->clipped += clipped * seconds;
        sums->seconds += seconds;
    }
    return 0;
}

const char *prepare_clipped_sentence(const PrepareReport *r, char *out, size_t cap)
{
    *out = 0;
    if (r->clipped)
        snprintf(out, cap,
                 "%llu of %llu clips %s clipped: the peaks of %.1f %% of %s samples are cut off and cannot "
                 "be restored; vocoder and voice learn the distortion along with the speech",
                 (unsigned long long)r->clipped, (unsigned long long)r->accepted,
                 r->clipped == 1 ? "is" : "are", 100 * r->clipped_share, r->clipped == 1 ? "its" : "their");
    return out;
}

/* Symbols outside the table, for the report. */
static void copy_unknown(PrepareReport *report, const Store *text)
{
    TextSymbols head;
    const uint32_t *symbols, *pairs;
    if (text_symbols(&head, &symbols, &pairs, text) || head.unknown_count == 0)
        return;
    report->unknown = mem_calloc(head.unknown_count, 8);
    if (!report->unknown)
        return;
    memcpy(report->unknown, pairs, (size_t)head.unknown_count * 8);
    report->unknown_count = head.unknown_count;
}

static int apply_limits(Preparation *s, const PrepareOptions *options, PrepareReport *report, Err *err)
{
    Built b;
    ClippedSums sums = {0};
    int rc = open_built(&b, s, options, err);
    for (size_t i = 0; i < s->dataset->count && !rc; i++)
        if (s->rejected[i] == REJECT_NONE)
            rc = apply_limits_to(s, &b, report, &sums, i, err);
    report->clipped_share = sums.seconds > 0 ? sums.clipped / sums.seconds : 0;
    if (!rc)
        rc = limits_measure(
            &report->limits,
            &(LimitsInput){.cfg = s->cfg,
                           .dataset = s->dataset,
                           .mel = &b.mel,
                           .audio = &b.audio,
                           .rejected = s->rejected,
                           .most_headers = options->mel || options->audio ? s->dataset->count : 0},
            err);
    if (!rc && options->text)
        copy_unknown(report, &b.text);
    close_built(&b);
    return rc;
}

/* A draft of a file that is written without the lock: its writer may be alive. */
static int is_orphan(const char *name)
{
    static const char *const drafts[] = {"findings.tsv.tmp", "clip.facts.tmp", "prepared.findings.tmp"};
    long writer = 0;
    for (size_t i = 0; i < sizeof drafts / sizeof *drafts; i++)
        if (strncmp(name, drafts[i], strlen(drafts[i])) == 0)
            writer = atol(name + strlen(drafts[i]));
    return writer > 0 && kill((pid_t)writer, 0) && errno == ESRCH;
}

/* A draft of a file that is written under the lock: its writer is dead. */
static int is_draft(const char *name)
{
    return strncmp(name, "rejected.tsv.tmp", 16) == 0 ||
           (strncmp(name, "prepared-", 9) == 0 && strstr(name, ".state.tmp"));
}

/* Drafts of the files above, and tokens of ranks, that a kill left behind. */
static void remove_drafts(const char *dir)
{
    DIR *d = opendir(dir);
    for (struct dirent *f; d && (f = readdir(d)) != NULL;)
        if (is_draft(f->d_name) || is_orphan(f->d_name) ||
            strncmp(f->d_name, SHARE_TOKEN, sizeof SHARE_TOKEN - 1) == 0)
            unlinkat(dirfd(d), f->d_name, 0);
    if (d)
        closedir(d);
}

/* Made when it is not there. A folder that another user has prepared may be read-only. */
static int cache_folder(char **dir, int *read_only, const Config *cfg, Err *err)
{
    *dir = prepare_cache_dir(cfg);
    if (!*dir)
        return err_set(err, ERR_NOMEM, "no memory for a path");
    int rc = file_make_dirs(*dir, err);
    *read_only = !rc && access(*dir, W_OK) != 0;
    if (rc && !cfg->cache_dir[0])
        err_hint(err, "for a read-only dataset, choose another folder for the caches with --cache-dir");
    return rc;
}

/* Every cache that is wanted. They are opened in reverse: the pre-flight of the audio comes first, and what
 * it rejects needs no phonemes. */
static int build_caches(Preparation *p, const PrepareOptions *options, PrepareReport *report, Err *err)
{
    const struct {
        const Producer *producer;
        int wanted;
        CacheReport *report;
    } caches[] = {
        {&text_producer, options->text, &report->text},
        {&mel_producer, options->mel, &report->mel},
        {&audio_producer, options->audio, &report->audio},
    };
    /* One line here is all that a new kind of cache needs. */
    enum { CACHES = sizeof caches / sizeof *caches };
    Builder *builders[CACHES] = {0};
    int rc = 0;
    for (int i = CACHES - 1; i >= 0 && !rc; i--)
        if (caches[i].wanted)
            rc = builder_open(&builders[i], caches[i].producer, p, caches[i].report, err);
    for (int i = 0; i < CACHES && !rc; i++)
        if (builders[i])
            rc = builder_run(builders[i], err);
    for (int i = 0; i < CACHES; i++)
        builder_close(builders[i]);
    return rc;
}

/* The lock is the leader's. Afterwards all ranks have the same dataset. */
static int lock_shared(Dataset *dataset, FileLock *lock, Share *share, const PrepareReport *report,
                       const Config *cfg, Log *log, Err *err)
{
    int waited = 0;
    Buf word = {0};
    int rc = 0;
    if (share_leads(share)) {
        share_watch_begin(share, NULL, NULL);
        rc = prepare_lock(lock, &waited, report->cache_dir, log, err);
        share_watch_end(share);
    }
    buf_add(&word, &waited, sizeof waited);
    if (!rc)
        rc = share_follow(share, &word, err);
    if (!rc)
        memcpy(&waited, word.data, sizeof waited);
    buf_free(&word);
    /* The other run's user may have changed the metadata in the meantime. */
    if (!rc && waited) {
        dataset_close(dataset);
        rc = dataset_open(dataset, cfg, err);
    }
    if (!rc && share->ranks)
        rc = share_agree(share, "the metadata", state_dataset(dataset), err);
    return rc;
}

/* A language that cannot be spoken is reported before anything is written. Lines may name others. */
static int check_language(const Config *cfg, const Dataset *d, Err *err)
{
    char code[LANGUAGE_MAX];
    const Str language = {cfg->language, (uint32_t)strlen(cfg->language)};
    TextEngine *t;
    TextResult r = {0};
    language_primary(code, cfg->language);
    if (!d->count || strcmp(cfg->language, "auto") == 0 || language_find(code))
        return 0;
    for (size_t i = 0; i < d->count; i++)
        if (d->utterances[i].language.n)
            return 0;
    int rc = text_engine_open(&t, cfg, TEXT_TO_LEARN, err);
    if (rc)
        return rc;
    if (text_process(t, &r, d->utterances[0].text, language, d->utterances[0].id) == REJECT_LANGUAGE) {
        rc = err_set(err, ERR_DATA, "no line of %s can be used: %s", cfg->data_path, r.detail);
        err_hint(err, "`espeak-ng --voices` lists the languages; --language en, for example, chooses one");
    }
    text_result_free(&r);
    text_engine_close(t);
    return rc;
}

/* Where one rank can only read, none writes: there is nothing to share out. */
static int agree_on_reading(int *read_only, Ranks *ranks, Err *err)
{
    if (!ranks)
        return 0;
    const int count = ranks_count(ranks);
    int *all = mem_calloc((size_t)count, sizeof *all);
    if (!all)
        return err_set(err, ERR_NOMEM, "no memory for %d ranks", count);
    int rc = ranks_gather(ranks, all, read_only, sizeof *all, err);
    for (int i = 0; i < count && !rc; i++)
        *read_only |= all[i];
    free(all);
    return rc;
}

/* Texts that are read as another language than their own teach nothing. */
static int check_texts(const Config *cfg, const Dataset *d, Err *err)
{
    LanguageDoubt doubt;
    if (!language_doubt(&doubt, d, cfg))
        return 0;
    err_set(err, ERR_USAGE, "%zu of %zu texts of %s are in the language '%s', but would be read as '%s'",
            doubt.other, doubt.looked_at, cfg->data_path, doubt.is, doubt.read_as);
    return err_hint(
        err, "--language %s reads them as what they are; --language %s reads them as '%s' all the same",
        doubt.is, doubt.read_as, doubt.read_as);
}

/* The dataset under the lock of its cache folder. */
static int open_locked(Dataset *dataset, FileLock *lock, Share *share, const PrepareOptions *options,
                       PrepareReport *report, const Config *cfg, int *read_only, Log *log, Err *err)
{
    Ranks *ranks = options->ranks;
    int rc = dataset_open(dataset, cfg, err);
    if (!rc && options->text)
        rc = check_language(cfg, dataset, err);
    if (!rc && options->text)
        rc = check_texts(cfg, dataset, err);
    if (!rc)
        rc = cache_folder(&report->cache_dir, read_only, cfg, err);
    if (!rc)
        rc = agree_on_reading(read_only, ranks, err);
    if (!rc)
        rc = share_open(share, *read_only ? NULL : ranks, report->cache_dir, err);
    return rc || *read_only ? rc : lock_shared(dataset, lock, share, report, cfg, log, err);
}

/* In the order of the lines, as people read the file. */
static void sum_up(PrepareReport *report, Dataset *dataset)
{
    report->lines = dataset->lines;
    report->rejected = dataset->rejected_count;
    dataset_sort_rejected(dataset);
    for (size_t i = 0; i < dataset->rejected_count; i++)
        report->by_reason[dataset->rejected[i].reason]++;
}

/* What lies beside these caches; gone afterwards if that is wanted. */
static int list_caches(PrepareReport *report, const PrepareOptions *options, const Config *cfg, Log *log,
                       Err *err)
{
    int rc = cache_list(&report->caches, cfg, err);
    if (rc || !options->prune)
        return rc;
    rc = cache_prune(&report->caches, log, err);
    report->freed = cache_list_unused(&report->caches, &report->pruned);
    cache_list_free(&report->caches);
    return rc ? rc : cache_list(&report->caches, cfg, err);
}

/* What the leader of a group writes, when all is built. */
static int write_results(Dataset *dataset, const PrepareOptions *options, PrepareReport *report,
                         const Config *cfg, Log *log, Err *err)
{
    int rc = dataset_write_rejected(dataset, report->rejected_path, err);
    return rc ? rc : list_caches(report, options, cfg, log, err);
}

static int paths(PrepareReport *report, Err *err)
{
    report->rejected_path = file_join(report->cache_dir, "rejected.tsv");
    return report->rejected_path ? 0 : err_set(err, ERR_NOMEM, "no memory for a path");
}

/* 1: nothing has changed since the last run, and its report holds; 0: it must be looked at more closely. */
static int prepare_nothing(PrepareReport *report, const Config *cfg, const PrepareOptions *options,
                           int workers, Log *log)
{
    FileLock lock = {0};
    Dataset none = {0};
    char *dir = prepare_cache_dir(cfg);
    const int read_only = dir && access(dir, W_OK) != 0;
    int holds = dir && !options->ranks && !options->verify && !options->prune &&
                cfg->cache_verification != VERIFY_FULL && file_exists(dir);
    /* Where another run is at work, its end is waited for in the usual way, which says so. */
    char *path = holds && !read_only ? file_join(dir, "lock") : NULL;
    if (holds && !read_only)
        holds = path && file_lock(&lock, path, 0, NULL, NULL) == 0;
    holds = holds && unchanged_since(report, cfg, options, dir, workers, log);
    if (holds) {
        report->cache_dir = dir;
        dir = NULL;
        holds = !paths(report, NULL) && !list_caches(report, options, cfg, log, NULL);
        if (!read_only)
            remove_drafts(report->cache_dir);
    }
    file_unlock(&lock);
    free(path);
    free(dir);
    if (!holds) {
        prepare_report_free(report);
        dataset_close(options->keep ? options->keep : &none);
    }
    return holds;
}

/* The lock is held until rejected.tsv is written: it belongs to the state of the caches. */
static int prepare(const Config *cfg, const PrepareOptions *options, PrepareReport *report, int *workers,
                   Log *log, Err *err)
{
    double start = clock_now();
    *report = (PrepareReport){0};
    if (prepare_nothing(report, cfg, options, config_workers(cfg), log)) {
        report->seconds = clock_now() - start;
        return 0;
    }
    Dataset dataset = {0};
    FileLock lock = {0};
    Share share = {0};
    Preparation p = {.cfg = cfg,
                     .dataset = &dataset,
                     .share = &share,
                     .verify = options->verify || cfg->cache_verification == VERIFY_FULL,
                     .no_fork = options->no_fork,
                     .stop = options->stop,
                     .log = log};
    int rc = open_locked(&dataset, &lock, &share, options, report, cfg, &p.read_only, log, err);
    if (rc)
        goto done;
    log_info(log, "layout %s: %s", dataset.layout, dataset.found);
    if (p.read_only)
        log_debug(log, "cannot write to %s: using the caches that are there", report->cache_dir);
    else if (share_leads(&share))
        remove_drafts(report->cache_dir);
    if (*workers < 0)
        *workers = share.cores && cfg->num_workers == CONFIG_AUTO ? share.cores : config_workers(cfg);
    p.workers = *workers;
    p.dir = report->cache_dir;
    const uint64_t utterances = state_dataset(&dataset);
    rc = paths(report, err);
    if (!rc)
        rc = preparation_open(&p, err);
    if (!rc)
        rc = build_caches(&p, options, report, err);
    if (!rc)
        rc = apply_limits(&p, options, report, err);
    if (rc)
        goto done;
    sum_up(report, &dataset);
    if (!p.read_only && share_leads(&share))
        rc = write_results(&dataset, options, report, cfg, log, err);
    if (!rc && !p.read_only && !options->ranks)
        report->state = unchanged_note(&p, options, report, utterances);
    /* No rank continues, or reports success, before everything is written. */
    if (!rc)
        rc = ranks_barrier(options->ranks, err);
done:
    preparation_close(&p);
    share_close(&share);
    file_unlock(&lock);
    if (!rc && options->keep)
        *options->keep = dataset;
    else
        dataset_close(&dataset);
    report->seconds = clock_now() - start;
    return rc;
}

/* What was built stays: the next attempt continues there. */
int prepare_run(const Config *cfg, const PrepareOptions *options, PrepareReport *report, Log *log, Err *err)
{
    int workers = -1;
    if (options->keep)
        *options->keep = (Dataset){0};
    for (;;) {
        const int rc = prepare(cfg, options, report, &workers, log, err);
        if (rc != ERR_NOMEM || workers <= 1 || options->ranks)
            return rc;
        log_warn(log, "%s; trying again with %d worker%s instead of %d", err->msg, workers / 2,
                 workers / 2 == 1 ? "" : "s", workers);
        workers /= 2;
        err_clear(err);
        prepare_report_free(report);
    }
}
