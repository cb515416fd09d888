/* preparation.c - see preparation.h. */
#include "cache/preparation.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/ordered.h"
#include "base/progress.h"
#include "dataset/audio_file.h"

#define SLOTS_PER_WORKER 4 /* results that may wait for their turn */

/* Closed after a failure. */
int preparation_open(Preparation *p, Err *err)
{
    p->rejected = mem_calloc(p->dataset->count, 1);
    p->probed = mem_calloc(p->dataset->count, 1);
    if (p->rejected && p->probed)
        return 0;
    preparation_close(p);
    return err_set(err, ERR_NOMEM, "no memory for %zu utterances", p->dataset->count);
}

void preparation_close(Preparation *p)
{
    free(p->rejected);
    free(p->probed);
    p->rejected = p->probed = NULL;
}

int preparation_reject(Preparation *p, size_t i, RejectReason reason, const char *detail, Err *err)
{
    const Utterance *u = &p->dataset->utterances[i];
    /* One line, one reason: rejected.tsv lists an utterance once. */
    if (p->rejected[i] != REJECT_NONE)
        return 0;
    p->rejected[i] = (uint8_t)reason;
    if (dataset_reject(p->dataset, u->id, u->line, u->file, reason, detail))
        return err_set(err, ERR_NOMEM, "no memory for the list of rejected lines");
    return 0;
}

/* ---- the pre-flight ---- */

typedef struct ProbeResult {
    RejectReason reason;
    char detail[256];
} ProbeResult;

typedef struct Probe {
    Preparation *p;
    const uint32_t *utterances; /* [count] */
    ProbeResult *results;       /* [slots] */
    Progress progress;
} Probe;

/* Runs in any thread; the result waits in its slot. */
static void probe_work(void *user, int thread, int slot, uint64_t item)
{
    Probe *probe = user;
    const Preparation *p = probe->p;
    ProbeResult *r = &probe->results[slot];
    char path[PATH_MAX];
    AudioInfo info;
    Err err = {0};
    r->detail[0] = 0;
    if (dataset_audio_path(p->dataset, &p->dataset->utterances[probe->utterances[item]], path, sizeof path,
                           &err)) {
        r->reason = REJECT_AUDIO_MISSING;
        snprintf(r->detail, sizeof r->detail, "%s", err.msg);
        return;
    }
    r->reason = audio_probe(&info, path, p->cfg->min_audio_length, p->cfg->max_audio_length, r->detail,
                            sizeof r->detail);
}

/* In the caller's thread, in the order of the utterances: rejected.tsv does not depend on who was first. */
static int probe_finish(void *user, int slot, uint64_t item, Err *err)
{
    Probe *probe = user;
    const ProbeResult *r = &probe->results[slot];
    uint32_t i = probe->utterances[item];
    progress_add(&probe->progress, 1);
    probe->p->probed[i] = 1;
    return r->reason == REJECT_NONE ? 0 : preparation_reject(probe->p, i, r->reason, r->detail, err);
}

int preparation_probe(Preparation *p, const uint32_t *utterances, size_t count, Err *err)
{
    int slots = (p->workers > 0 ? p->workers : 1) * SLOTS_PER_WORKER;
    uint32_t *left = mem_calloc(count, sizeof *left);
    Probe probe = {.p = p, .utterances = left, .results = mem_calloc((size_t)slots, sizeof *probe.results)};
    OrderedJob job = {.name = "probe",
                      .workers = p->workers,
                      .slots = slots,
                      .user = &probe,
                      .work = probe_work,
                      .finish = probe_finish};
    int rc = left && probe.results ? 0 : err_set(err, ERR_NOMEM, "no memory for the pre-flight");
    /* Another cache may have looked at the same file before. */
    for (size_t k = 0; k < count && !rc; k++)
        if (!p->probed[utterances[k]])
            left[job.items++] = utterances[k];
    if (!rc && job.items > 0) {
        progress_begin(&probe.progress, p->log, "audio headers", "files", job.items);
        rc = ordered_run(&job, err);
        progress_end(&probe.progress);
    }
    free(left);
    free(probe.results);
    return rc;
}
