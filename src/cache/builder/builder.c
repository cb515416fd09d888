/* builder.c - see builder.h.
 *
 * A record from audio holds for the bytes of its file and the settings. Hashing a whole corpus at every start
 * would take as long as reading it, so a record also holds the file's stamp (size, both times, inode): the
 * same stamp means the same bytes. Only a file whose stamp has changed is read again; if its bytes turn out
 * the same, the record stays and gets the new stamp. */
#include "cache/builder/builder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "cache/accept.h"
#include "cache/builder/builder_private.h"
#include "cache/places.h"

#define SLOTS_PER_WORKER 4 /* results that may wait for their turn */
#define MOST_DETAIL 500    /* bytes of a detail that was kept as a record */

/* ---- the old state ---- */

/* Checks every byte and marks the damaged entries. */
static int verify_old(Builder *b, Err *err)
{
    const char *store = b->producer->store;
    uint64_t other;
    b->damaged = mem_calloc(b->old->count, 1);
    if (!b->damaged)
        return err_set(err, ERR_NOMEM, "no memory to verify the %s cache", store);
    snprintf(b->verifying, sizeof b->verifying, "verify %s", store);
    progress_begin(&b->progress, b->p->log, b->verifying, "records", b->old->count);
    int64_t findings = store_verify(b->old, b->damaged, &other, b->p->log, &b->progress, err);
    progress_end(&b->progress);
    if (findings < 0)
        return (int)findings;
    b->report->checked += b->old->count;
    b->report->damaged += (uint64_t)findings;
    return 0;
}

/* An old state that is missing or wholly damaged is not an error: everything is rebuilt. */
static int open_old(Builder *b, Err *err)
{
    Err why = {0};
    int rc = store_open(&b->old_store, b->dir, b->producer->store, &why);
    if (rc == ERR_MISSING)
        return 0;
    if (rc == ERR_DAMAGED || rc == ERR_FORMAT) {
        log_warn(b->p->log, "%s; the %s cache is put together again", why.msg, b->producer->store);
        b->report->damaged++;
        return 0;
    }
    if (rc) {
        if (err)
            *err = why;
        return rc;
    }
    b->old = &b->old_store;
    return b->p->verify ? verify_old(b, err) : 0;
}

/* ---- where each record comes from ---- */

static int is_damaged(const Builder *b, int64_t entry) { return b->damaged && b->damaged[entry]; }

/* The old entry: taken as it is, kept for a comparison of bytes, or of no use. */
static void look_at_old(Builder *b, Source *s, const Utterance *u, Hash128 key)
{
    StoreEntry e;
    int from_audio = b->producer->from_audio;
    s->number = b->old ? store_find(b->old, u->id.p, u->id.n) : -1;
    if (s->number < 0)
        return;
    store_entry(b->old, (uint64_t)s->number, &e);
    /* A key names the settings. A stamp does not, so there they must be the same for the whole store. */
    int usable = !is_damaged(b, s->number) && b->producer->is_usable(&e) &&
                 (!from_audio || hash_equal(b->old->settings, b->settings));
    int same = from_audio ? memcmp(&e.stamp, &s->stamp, sizeof s->stamp) == 0 : hash_equal(e.key, key);
    if (usable && same)
        s->from = FROM_OLD;
    else if (!usable || !from_audio)
        s->number = -1;
    else
        s->old_key = e.key;
}

/* A record that an interrupted build left behind is as good as an old one. */
static void look_at_salvage(Builder *b, Source *s, const Utterance *u, Hash128 key)
{
    int64_t token = b->producer->from_audio ? store_build_find_by_stamp(b->build, u->id.p, u->id.n, &s->stamp)
                                            : store_build_find_by_key(b->build, u->id.p, u->id.n, key);
    if (token < 0)
        return;
    s->from = FROM_SALVAGE;
    s->number = token;
}

/* Old state, leftovers, work, in this order; what is rejected already and has no record gets none. */
static void find_sources(Builder *b)
{
    const Dataset *d = b->p->dataset;
    const FileStamp none = {0};
    for (size_t i = 0; i < d->count; i++) {
        const Utterance *u = &d->utterances[i];
        Source *s = &b->sources[i];
        Hash128 key = {0};
        if (b->producer->from_audio && memcmp(&s->stamp, &none, sizeof none) == 0)
            continue;
        if (!b->producer->from_audio)
            key = b->producer->key(b->settings, u, key);
        look_at_old(b, s, u, key);
        if (s->from == FROM_NOWHERE)
            look_at_salvage(b, s, u, key);
        if (s->from == FROM_NOWHERE && b->p->rejected[i] == REJECT_NONE) {
            s->from = FROM_WORK;
            b->work[b->work_count++] = (uint32_t)i;
        }
    }
}

/* Utterances that were rejected in the meantime need no work. */
static void drop_rejected(Builder *b)
{
    size_t kept = 0;
    for (size_t k = 0; k < b->work_count; k++) {
        uint32_t i = b->work[k];
        if (b->p->rejected[i] == REJECT_NONE)
            b->work[kept++] = i;
        else
            b->sources[i].from = FROM_NOWHERE;
    }
    b->work_count = kept;
}

/* ---- placing: records go into the new state in the order of the utterances ---- */

/* The stamp that a kept record gets. */
static const FileStamp *new_stamp(const Builder *b, const Source *s)
{
    return b->producer->from_audio ? &s->stamp : NULL;
}

/* An utterance that needs no work. */
static int place_reused(Builder *b, size_t i, Err *err)
{
    const Source *s = &b->sources[i];
    b->report->reused += b->p->rejected[i] == REJECT_NONE;
    return s->from == FROM_OLD ? store_build_keep(b->build, (uint64_t)s->number, new_stamp(b, s), err)
                               : store_build_salvage(b->build, s->number, new_stamp(b, s), err);
}

/* The file was touched, but its bytes are the same. */
static int keep_old(Builder *b, const Source *s, Err *err)
{
    StoreEntry e;
    store_entry(b->old, (uint64_t)s->number, &e);
    b->report->reused += e.status == 0;
    return store_build_keep(b->build, (uint64_t)s->number, new_stamp(b, s), err);
}

/* What a member of the group made of an utterance. */
static int place_told(Builder *b, size_t i, int member, SharePiece *piece, Err *err)
{
    const Utterance *u = &b->p->dataset->utterances[i];
    Told t;
    const void *data;
    char name[128];
    IndexEntry e;
    if (!told_next(piece, &t, &data) || t.utterance != i)
        return err_set(err, ERR_DATA, "%s reported nothing about %.*s, which it had to prepare",
                       share_name(b->p->share, member, name, sizeof name), (int)u->id.n, u->id.p);
    if (t.reason != REJECT_NONE)
        return preparation_reject_told(b->p, &t, data, err);
    if (!b->build) /* the rest is the leader's */
        return 0;
    if (t.size != sizeof e)
        return keep_old(b, &b->sources[i], err);
    memcpy(&e, data, sizeof e);
    b->report->built += e.status == 0;
    return store_build_enter(b->build, member, &e, u->id.p, err);
}

/* The new state, in the order of the utterances. */
static int place_all(Builder *b, SharePieces *pieces, Err *err)
{
    int rc = 0;
    size_t work = 0;
    for (size_t i = 0; i < b->p->dataset->count && !rc; i++) {
        uint8_t from = b->sources[i].from;
        if (from == FROM_WORK) {
            int member = b->owners[work++];
            rc = place_told(b, i, member, &pieces->of[member], err);
        } else if (from != FROM_NOWHERE && b->build)
            rc = place_reused(b, i, err);
    }
    return rc;
}

static int add_record(Builder *b, const Source *s, const Utterance *u, const Produced *r, IndexEntry *added,
                      Err *err)
{
    StoreRecord rec = {.id = u->id.p,
                       .id_size = u->id.n,
                       .key = r->key,
                       .stamp = s->stamp,
                       .status = (uint32_t)r->reason,
                       .extra = r->extra};
    /* A rejection that lasts: its detail is the payload. */
    if (r->reason != REJECT_NONE) {
        rec.payload = r->detail;
        rec.payload_size = strlen(r->detail);
    } else {
        rec.items = r->items;
        rec.format = r->format;
        rec.payload = r->payload.data;
        rec.payload_size = r->payload.size;
    }
    return store_part_add(&b->part, added, &rec, err);
}

/* For the line of rank 0: what all ranks have done. */
static void show_progress(Builder *b)
{
    share_tell(b->p->share, b->placed);
    progress_set(&b->progress, b->placed + share_done(b->p->share));
}

int builder_place(Builder *b, Produced *r, Err *err)
{
    size_t i = b->mine[b->placed++];
    const Utterance *u = &b->p->dataset->utterances[i];
    IndexEntry added;
    show_progress(b);
    if (share_failed(b->p->share))
        return err_set(err, ERR_RANKS, "another rank has failed");
    int rc = preparation_check(b->p, err);
    if (rc)
        return rc;
    /* No fault of the recording. */
    if (r->reason == REJECT_NO_MEMORY) {
        err_set(err, ERR_NOMEM, "%.*s: %s", (int)u->id.n, u->id.p, r->detail);
        return err_hint(
            err,
            "stop other programs, or raise the limit (ulimit -v); fewer workers need less: --num-workers 1");
    }
    /* A rejection that may be bad luck leaves no trace in the store. */
    if (r->reason != REJECT_NONE && !accept_is_lasting(r->reason)) {
        told_add(&b->told, i, (int)r->reason, r->detail, strlen(r->detail));
        return 0;
    }
    if (r->is_old) {
        told_add(&b->told, i, 0, NULL, 0);
        return 0;
    }
    if (r->payload.failed)
        return err_set(err, ERR_NOMEM, "no memory for the %s of %.*s", b->producer->store, (int)u->id.n,
                       u->id.p);
    /* From audio the worker has made the key: only it has the bytes. */
    if (!b->producer->from_audio)
        r->key = b->producer->key(b->settings, u, (Hash128){0});
    rc = add_record(b, &b->sources[i], u, r, &added, err);
    if (!rc)
        told_add(&b->told, i, 0, &added, sizeof added);
    return rc;
}

const Utterance *builder_next(Builder *b)
{
    return b->handed < b->mine_count ? &b->p->dataset->utterances[b->mine[b->handed++]] : NULL;
}

/* ---- the end ---- */

/* What is wrong with an entry of the new state: a rejection that was kept as a record, or a limit. */
static RejectReason judge_entry(const Builder *b, const StoreEntry *e, char *detail, size_t cap)
{
    if (e->status == 0)
        return b->producer->accept ? b->producer->accept(b->p->cfg, e, detail, cap) : REJECT_NONE;
    int n = (int)(e->payload_size < MOST_DETAIL ? e->payload_size : MOST_DETAIL);
    snprintf(detail, cap, "%.*s", n, (const char *)e->payload);
    return e->status < REJECT_COUNT ? (RejectReason)e->status : REJECT_AUDIO_UNREADABLE;
}

/* Rejects the utterances that have a record but are not used; marks the others as accepted. */
static int pass_on_rejections(Builder *b, Buf *passed_on, Err *err)
{
    uint64_t next = 0, n = store_build_count(b->build);
    int rc = 0;
    b->accepted = mem_calloc(n, 1);
    if (!b->accepted)
        return err_set(err, ERR_NOMEM, "no memory for %llu clips", (unsigned long long)n);
    /* Entries have the order of the utterances; an utterance without a record is skipped. */
    for (size_t i = 0; i < b->p->dataset->count && next < n && !rc; i++) {
        const Utterance *u = &b->p->dataset->utterances[i];
        char detail[MOST_DETAIL + 12];
        StoreEntry e;
        rc = store_build_entry(b->build, next, &e, err);
        if (rc || e.id_size != u->id.n || memcmp(e.id, u->id.p, u->id.n) != 0)
            continue;
        uint64_t entry = next++;
        if (b->p->rejected[i] != REJECT_NONE)
            continue;
        RejectReason reason = judge_entry(b, &e, detail, sizeof detail);
        if (reason == REJECT_NONE) {
            b->accepted[entry] = 1;
            continue;
        }
        b->report->reused -= b->sources[i].from == FROM_OLD || b->sources[i].from == FROM_SALVAGE;
        told_add(passed_on, i, (int)reason, detail, strlen(detail));
        rc = preparation_reject(b->p, i, reason, detail, err);
    }
    return rc;
}

/* The blob is made last: it sums up what the state holds. */
static int commit(Builder *b, Err *err)
{
    Buf blob = {0};
    NewState state = {
        .cfg = b->p->cfg, .settings = b->settings, .build = b->build, .old = b->old, .accepted = b->accepted};
    int rc = b->producer->describe(&state, &blob, err);
    if (!rc)
        rc = store_build_commit(b->build, blob.data, blob.size, b->report->damaged > 0, err);
    b->p->unsteady |= store_build_untidy(b->build);
    buf_free(&blob);
    return rc;
}

/* ---- the builder ---- */

/* Beside the caches of other settings. */
static int choose_place(Builder *b, Err *err)
{
    b->dir = cache_place(b->p->dir, b->producer->store, b->settings);
    if (!b->dir)
        return err_set(err, ERR_NOMEM, "no memory for a path");
    if (strcmp(b->dir, b->p->dir) == 0 || file_exists(b->dir) || b->p->read_only)
        return 0;
    log_info(b->p->log, "the %s cache in %s was made with other settings and is kept; the new one is in %s",
             b->producer->store, b->p->dir, b->dir);
    return file_make_dirs(b->dir, err);
}

/* Records that are not there at all cannot be made where nothing can be written; what only looks changed is
 * compared, as always. */
static int check_writable(const Builder *b, Err *err)
{
    size_t missing = b->old ? 0 : b->p->dataset->count;
    for (size_t i = 0; i < b->work_count; i++)
        missing += b->old && b->sources[b->work[i]].number < 0;
    if (!b->p->read_only || !missing)
        return 0;
    err_set(err, ERR_IO, "cannot write to the cache folder %s, whose %s cache lacks %zu of %zu clips",
            b->p->dir, b->producer->store, missing, b->p->dataset->count);
    return err_hint(err, "have its owner run `myxtts prepare` with the same options, or choose another "
                         "folder with --cache-dir");
}

/* The old state and the place of the new one are the leader's business. */
static int open_states(Builder *b, Err *err)
{
    int rc = choose_place(b, err);
    if (!rc)
        rc = open_old(b, err);
    if (!rc)
        rc = check_writable(b, err);
    if (!rc)
        rc = store_build_open(&b->build, b->dir, b->producer->store, b->old, b->settings,
                              share_count(b->p->share), err);
    return rc;
}

/* What the next start compares the recordings with. Each cache has looked at them by itself, and they may
 * have changed in between. */
static void keep_stamps(Builder *b)
{
    Preparation *p = b->p;
    const FileStamp none = {0};
    const int again = p->stamps != NULL;
    if (!again)
        p->stamps = mem_calloc(p->dataset->count, sizeof *p->stamps);
    p->unsteady |= !p->stamps;
    for (size_t i = 0; i < p->dataset->count && p->stamps; i++) {
        const FileStamp *s = &b->sources[i].stamp;
        const uint64_t stamp = memcmp(s, &none, sizeof none) ? preparation_stamp(s) : 0;
        p->unsteady |= again && p->stamps[i] != stamp;
        p->stamps[i] = stamp;
    }
}

/* Everything that can fail before the first file is read. */
static int open_parts(Builder *b, Err *err)
{
    size_t count = b->p->dataset->count;
    char what[64];
    b->settings = b->producer->settings(b->p->cfg);
    if (hash_equal(b->settings, (Hash128){0}))
        return settings_unknown(b->producer->store, err);
    snprintf(what, sizeof what, "what %s records depend on", b->producer->store);
    int rc = share_agree(b->p->share, what, b->settings.lo, err);
    if (!rc && share_leads(b->p->share)) {
        share_watch_begin(b->p->share, NULL, NULL);
        rc = open_states(b, err);
        share_watch_end(b->p->share);
    }
    if (rc)
        return rc;
    b->sources = mem_calloc(count, sizeof *b->sources);
    b->work = mem_calloc(count, sizeof *b->work);
    if (!b->sources || !b->work)
        return err_set(err, ERR_NOMEM, "no memory for %zu utterances", count);
    if (b->producer->from_audio && (rc = builder_stamp(b, err)))
        return rc;
    if (b->producer->from_audio)
        keep_stamps(b);
    if (share_leads(b->p->share))
        find_sources(b);
    rc = check_writable(b, err);
    return rc ? rc : builder_plan(b, err);
}

int builder_open(Builder **out, const Producer *producer, Preparation *p, CacheReport *report, Err *err)
{
    double start = clock_now();
    *out = NULL;
    Builder *b = mem_calloc(1, sizeof *b);
    if (!b)
        return err_set(err, ERR_NOMEM, "no memory for the builder of the %s cache", producer->store);
    b->producer = producer;
    b->p = p;
    b->report = report;
    b->threads = p->workers > 0 ? p->workers : 1;
    b->slots = b->threads * SLOTS_PER_WORKER;
    int rc = open_parts(b, err);
    /* Headers of the files that will be read; those of kept records were looked at when they were made. */
    if (!rc && producer->from_audio)
        rc = preparation_probe(p, b->work, b->work_count, err);
    report->seconds += clock_now() - start;
    if (rc) {
        builder_close(b);
        return rc;
    }
    *out = b;
    return 0;
}

static void look_at_others(void *user) { show_progress(user); }

/* Waits for the results of all, and shows how far the others are. */
static int gather_results(Builder *b, SharePieces *pieces, Err *err)
{
    share_watch_begin(b->p->share, look_at_others, b);
    int rc = builder_tell(b, pieces, err);
    share_watch_end(b->p->share);
    return rc;
}

/* Has this process's share done and gathers what all have made. */
static int run_share(Builder *b, SharePieces *pieces, Err *err)
{
    uint64_t all;
    int rc = builder_share_out(b, err);
    if (!rc)
        rc = share_begin(b->p->share, b->mine_count, &all, err);
    if (rc)
        return rc;
    progress_begin(&b->progress, b->p->log, b->producer->store, b->producer->unit, all);
    if (b->mine_count > 0) {
        uint64_t most = b->mine_count; /* no more workers than there is work */
        int workers = (uint64_t)b->p->workers > most ? (int)most : b->p->workers;
        rc = b->producer->run ? b->producer->run(b, b->p, workers, err) : builder_run_audio(b, err);
    }
    if (!rc)
        rc = gather_results(b, pieces, err);
    progress_end(&b->progress);
    return rc;
}

int builder_run(Builder *b, Err *err)
{
    double start = clock_now();
    SharePieces pieces = {0};
    Buf passed_on = {0};
    /* The other cache's work, since open, may have rejected some. */
    drop_rejected(b);
    int rc = run_share(b, &pieces, err);
    share_watch_begin(b->p->share, NULL, NULL);
    if (!rc)
        rc = place_all(b, &pieces, err);
    share_pieces_free(&pieces);
    /* Records that are not made from audio are never rejections, and no limit applies to them. */
    if (!rc && b->build && b->producer->from_audio)
        rc = pass_on_rejections(b, &passed_on, err);
    if (!rc && b->build && !b->p->read_only)
        rc = commit(b, err);
    share_watch_end(b->p->share);
    if (!rc)
        rc = builder_follow_commit(b, &passed_on, err);
    buf_free(&passed_on);
    b->report->seconds += clock_now() - start;
    return rc;
}

void builder_close(Builder *b)
{
    if (!b)
        return;
    store_part_close(&b->part);
    store_build_close(b->build);
    store_close(&b->old_store);
    buf_free(&b->told);
    free(b->damaged);
    free(b->sources);
    free(b->accepted);
    free(b->work);
    free(b->owners);
    free(b->mine);
    free(b->dir);
    free(b);
}
