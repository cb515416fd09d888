/* data.c - see data.h. */
#include "cmd/data.h"

#include "cache/prepare.h"

/* Commands that train or judge come through here, so none of them works on stale caches. */
int data_open(CorpusSource **source, LimitCosts *limits, const Config *cfg, int quiet, Log *log, Err *err)
{
    *source = NULL;
    Dataset dataset = {0};
    PrepareReport report = {0};
    int rc = prepare_run(cfg, &(PrepareOptions){.text = 1, .mel = 1, .keep = &dataset}, &report, log, err);
    if (!rc && report.accepted == 0)
        rc = err_set(err, ERR_DATA, "no line of %s can be used; the reasons are in %s", cfg->data_path,
                     report.rejected_path);
    if (!rc)
        log_line(log, quiet ? LOG_DEBUG : LOG_INFO,
                 "data: %llu clips (%llu built now, %llu lines rejected%s%s)",
                 (unsigned long long)report.accepted, (unsigned long long)report.mel.built,
                 (unsigned long long)report.rejected, report.rejected ? ", see " : "",
                 report.rejected ? report.rejected_path : "");
    for (int i = 0; i < LIMITS_COUNT && !rc; i++) {
        char sentence[200];
        const LimitCost *l = &report.limits.limit[i];
        if (*limit_sentence(l, sentence, sizeof sentence))
            log_line(log, limit_costs_much(l) ? LOG_WARN : quiet ? LOG_DEBUG : LOG_INFO, "%s", sentence);
    }
    if (limits)
        *limits = report.limits;
    prepare_report_free(&report);
    if (rc) {
        dataset_close(&dataset);
        return rc;
    }
    return corpus_source_open(source, cfg, &dataset, err);
}
