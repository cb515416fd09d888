/* data.c - see data.h. */
#include "pipeline/data.h"

#include "base/plural.h"
#include "cache/prepare.h"

int data_unusable(const Dataset *d, const Config *cfg, const char *rejected_path, Err *err)
{
    size_t same = 0;
    if (!d->lines) {
        err_set(err, ERR_DATA, d->has_header ? "%s has only a header line" : "%s is empty",
                d->metadata_path[0]);
        return err_hint(err, "write one line for each clip: id|text, with the recording in wavs/id.wav");
    }
    for (size_t i = 0; i < d->rejected_count; i++)
        same += d->rejected[i].reason == d->rejected[0].reason;
    if (!d->rejected_count)
        return err_set(err, ERR_DATA, "no line of %s can be used", cfg->data_path);
    const Rejection *first = &d->rejected[0];
    if (same < d->rejected_count)
        return err_set(err, ERR_DATA, "no line of %s can be used; the reasons are in %s", cfg->data_path,
                       rejected_path);
    if (first->reason == REJECT_LANGUAGE && first->detail[0])
        err_set(err, ERR_DATA, "no line of %s can be used: %s", cfg->data_path, first->detail);
    else
        err_set(err, ERR_DATA, "no line of %s can be used: %s%s%s", cfg->data_path,
                reject_text(first->reason), first->detail[0] ? ": " : "", first->detail);
    return first->reason == REJECT_LANGUAGE
               ? err_hint(err,
                          "`espeak-ng --voices` lists the languages; --language en, for example, chooses one")
               : err_hint(err, "%s lists the lines", rejected_path);
}

int data_none_to_train(const Config *cfg, Err *err)
{
    err_set(err, ERR_DATA,
            "no clips of %s are left to train on: val_split %g holds them out, or the clips are too short "
            "for their texts",
            cfg->data_path, cfg->val_split);
    return err_hint(err, "a smaller --val-split such as 0.05 leaves most clips for training; 0 leaves all");
}

/* Prepares and opens. *unchanged: as in PrepareReport. */
static int prepare_and_open(CorpusSource **source, int *unchanged, const Config *cfg, const DataOptions *o,
                            int verify, Log *log, Err *err)
{
    Dataset dataset = {0};
    PrepareReport report = {0};
    int audio = cfg->network == NETWORK_VOCODER;
    PrepareOptions options = {.text = !audio,
                              .mel = !audio,
                              .audio = audio,
                              .verify = verify,
                              .keep = &dataset,
                              .ranks = o->ranks,
                              .no_fork = o->no_fork,
                              .stop = o->stop};
    int quiet = o->quiet;
    int rc = prepare_run(cfg, &options, &report, log, err);
    *unchanged = report.unchanged;
    if (!rc && report.accepted == 0)
        rc = data_unusable(&dataset, cfg, report.rejected_path, err);
    if (!rc)
        log_line(log, quiet ? LOG_DEBUG : LOG_INFO,
                 "data: %llu clip%s (%llu built now, %llu line%s rejected%s%s)",
                 (unsigned long long)report.accepted, plural(report.accepted),
                 (unsigned long long)(report.mel.built + report.audio.built),
                 (unsigned long long)report.rejected, plural(report.rejected),
                 report.rejected ? ", see " : "", report.rejected ? report.rejected_path : "");
    for (int i = 0; i < LIMITS_COUNT && !rc; i++) {
        char sentence[200];
        const LimitCost *l = &report.limits.limit[i];
        if (*limit_sentence(l, sentence, sizeof sentence))
            log_line(log, limit_costs_much(l) ? LOG_WARN : quiet ? LOG_DEBUG : LOG_INFO, "%s", sentence);
    }
    char clipped[200];
    if (!rc && *prepare_clipped_sentence(&report, clipped, sizeof clipped)) {
        const int much = (double)report.clipped > PREPARE_MUCH_CLIPPED * (double)report.accepted;
        log_line(log, much ? LOG_WARN : quiet ? LOG_DEBUG : LOG_INFO, "%s", clipped);
    }
    if (o->limits)
        *o->limits = report.limits;
    prepare_report_free(&report);
    if (rc) {
        dataset_close(&dataset);
        return rc;
    }
    return corpus_source_open(source, cfg, &dataset, err);
}

/* Everything that trains or judges opens its data here, so that stale caches are never used. A disk that
 * loses bits does not change the stamps that tell whether anything has changed: that a cache is damaged may
 * show only when it is opened. */
int data_open(CorpusSource **source, const Config *cfg, const DataOptions *o, Log *log, Err *err)
{
    Err why = {0};
    int unchanged;
    *source = NULL;
    int rc = prepare_and_open(source, &unchanged, cfg, o, 0, log, &why);
    if (unchanged && (rc == ERR_DAMAGED || rc == ERR_FORMAT)) {
        log_warn(log, "%s; all caches are checked", why.msg);
        return prepare_and_open(source, &unchanged, cfg, o, 1, log, err);
    }
    if (rc && err)
        *err = why;
    return rc;
}
