/* stage.c - what the text and the mel stage have in common. */
#include <stdlib.h>

#include "base/progress.h"
#include "cache/features.h"

int stage_reject(Stage *s, size_t i, RejectReason reason, const char *detail, Err *err)
{
    const Utterance *u = &s->dataset->utterances[i];
    if (s->reason[i] != REJECT_NONE) /* the first reason stands */
        return 0;
    s->reason[i] = (uint8_t)reason;
    if (dataset_reject(s->dataset, u->id, u->line, u->file, reason, detail))
        return err_set(err, ERR_NOMEM, "no memory for the list of rejected lines");
    return 0;
}

int stage_open_old(Stage *s, const char *store, Store *old, int *present, uint8_t **damaged,
                   StageReport *report, Err *err)
{
    *present = 0;
    *damaged = NULL;
    Err why = {0};
    int rc = store_open(old, s->dir, store, &why);
    if (rc == ERR_MISSING)
        return 0;
    if (rc == ERR_DAMAGED || rc == ERR_FORMAT) {
        log_warn(s->log, "%s; the %s cache is put together anew", why.msg, store);
        report->damaged++;
        return 0;
    }
    if (rc) {
        if (err)
            *err = why;
        return rc;
    }
    *present = 1;
    if (!s->verify)
        return 0;
    *damaged = mem_calloc(old->count, 1);
    if (!*damaged)
        return err_set(err, ERR_NOMEM, "no memory to verify the %s cache", store);
    Progress progress;
    progress_begin(&progress, s->log, store[0] == 't' ? "verify text" : "verify mel", "records", old->count);
    uint64_t other;
    int64_t findings = store_verify(old, *damaged, &other, s->log, &progress, err);
    progress_end(&progress);
    if (findings < 0)
        return (int)findings;
    report->checked += old->count;
    report->damaged += (uint64_t)findings;
    return 0;
}
