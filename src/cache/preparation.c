/* preparation.c - see preparation.h. */
#include "cache/preparation.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
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
    free(p->stamps);
    buf_free(&p->told);
    p->rejected = p->probed = NULL;
    p->stamps = NULL;
}

uint64_t preparation_stamp(const FileStamp *s)
{
    const uint64_t hash = hash64(s, sizeof *s);
    return hash ? hash : 1;
}

int preparation_check(const Preparation *p, Err *err)
{
    if (!p->stop || !__atomic_load_n(p->stop, __ATOMIC_RELAXED))
        return 0;
    return err_set(err, ERR_STOPPED, "stopped while %s was being prepared", p->cfg->data_path);
}

int preparation_reject(Preparation *p, size_t i, RejectReason reason, const char *detail, Err *err)
{
    const Utterance *u = &p->dataset->utterances[i];
    /* One line, one reason: rejected.tsv lists an utterance once. */
    if (p->rejected[i] != REJECT_NONE)
        return 0;
    p->rejected[i] = (uint8_t)reason;
    told_add(&p->told, i, (int)reason, detail, strlen(detail));
    if (dataset_reject(p->dataset, u->id, u->line, u->file, reason, detail))
        return err_set(err, ERR_NOMEM, "no memory for the list of rejected lines");
    return 0;
}

int preparation_reject_told(Preparation *p, const Told *t, const void *data, Err *err)
{
    char detail[sizeof((Err){0}).msg];
    if (t->utterance >= p->dataset->count || t->reason >= REJECT_COUNT)
        return 0;
    snprintf(detail, sizeof detail, "%.*s", (int)t->size, (const char *)data);
    return preparation_reject(p, t->utterance, (RejectReason)t->reason, detail, err);
}

/* ---- the pre-flight ---- */

typedef struct ProbeResult {
    RejectReason reason;
    char detail[256];
} ProbeResult;

typedef struct Probe {
    Preparation *p;
    const uint32_t *utterances; /* [count] of this rank */
    ProbeResult *results;       /* [slots] */
    Buf told;                   /* those that cannot be used */
    uint64_t done;
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
    Share *share = probe->p->share;
    const ProbeResult *r = &probe->results[slot];
    share_tell(share, ++probe->done);
    progress_set(&probe->progress, probe->done + share_done(share));
    if (r->reason != REJECT_NONE)
        told_add(&probe->told, probe->utterances[item], (int)r->reason, r->detail, strlen(r->detail));
    return preparation_check(probe->p, err);
}

/* Gathers what all have found. */
static int probe_tell(Probe *probe, Err *err)
{
    Preparation *p = probe->p;
    SharePieces pieces;
    Told t;
    const void *data;
    int rc = share_exchange(p->share, &pieces, &probe->told, err);
    for (int k = 0; k < share_count(p->share) && !rc; k++)
        while (!rc && told_next(&pieces.of[k], &t, &data))
            rc = preparation_reject_told(p, &t, data, err);
    share_pieces_free(&pieces);
    return rc;
}

int preparation_probe(Preparation *p, const uint32_t *utterances, size_t count, Err *err)
{
    const int lookers = preparation_lookers(p->workers);
    size_t slots = (size_t)(lookers > 0 ? lookers : 1) * SLOTS_PER_WORKER, left = 0;
    size_t members = (size_t)share_count(p->share), me = (size_t)p->share->rank;
    uint32_t *all = mem_calloc(count, sizeof *all);
    Probe probe = {.p = p, .results = mem_calloc(slots, sizeof *probe.results)};
    int rc = all && probe.results ? 0 : err_set(err, ERR_NOMEM, "no memory for the pre-flight");
    /* Another cache may have looked at the same file before. */
    for (size_t k = 0; k < count && !rc; k++)
        if (!p->probed[utterances[k]]) {
            p->probed[utterances[k]] = 1;
            all[left++] = utterances[k];
        }
    size_t first = left * me / members, end = left * (me + 1) / members;
    probe.utterances = all + first;
    OrderedJob job = {.name = "probe",
                      .items = end - first,
                      .workers = lookers,
                      .slots = (int)slots,
                      .user = &probe,
                      .work = probe_work,
                      .finish = probe_finish};
    uint64_t total;
    if (!rc)
        rc = share_begin(p->share, job.items, &total, err);
    if (!rc) {
        progress_begin(&probe.progress, p->log, "audio headers", "files", total);
        rc = job.items > 0 ? ordered_run(&job, err) : 0;
        if (!rc)
            rc = probe_tell(&probe, err);
        progress_end(&probe.progress);
    }
    buf_free(&probe.told);
    free(all);
    free(probe.results);
    return rc;
}
