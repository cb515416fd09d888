/* builder.c - see builder.h.
 *
 * A record from audio holds for the bytes of its file and the settings. Hashing a whole corpus at every start
 * would take as long as reading it, so a record also holds the file's stamp (size, both times, inode): the
 * same stamp means the same bytes. Only a file whose stamp has changed is read again; if its bytes turn out
 * the same, the record stays and gets the new stamp. */
#include "cache/builder.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/ordered.h"
#include "base/progress.h"
#include "cache/accept.h"
#include "cache/places.h"

#define SLOTS_PER_WORKER 4               /* results that may wait for their turn */
#define MAX_AUDIO_FILE ((size_t)1 << 30) /* bytes; no clip within max_audio_length comes near it */
#define MOST_DETAIL 500                  /* bytes of a detail that was kept as a record */

/* Where the record of an utterance comes from. */
enum { FROM_NOWHERE, FROM_OLD, FROM_SALVAGE, FROM_WORK };
typedef struct Source {
    FileStamp stamp; /* from_audio; zeros otherwise */
    int64_t number;  /* old entry or salvage token; of FROM_WORK the old entry to compare with, or -1 */
    uint8_t from;
} Source;

typedef struct Worker { /* one per thread */
    void *state;        /* the producer's */
    Buf bytes;
} Worker;

struct Builder {
    const Producer *producer;
    char *dir; /* of its store; see places.h */
    Preparation *p;
    CacheReport *report;
    StoreBuild *build;
    Store old_store;
    const Store *old; /* NULL when there is no old state to use */
    uint8_t *damaged; /* [old->count], or NULL when it was not verified */
    Hash128 settings;
    Source *sources;   /* [dataset->count] */
    uint8_t *accepted; /* [entries of the new state] */
    uint32_t *work;    /* [work_count] utterances to produce, in order */
    size_t work_count;
    size_t handed; /* of work, given out by builder_next */
    size_t placed; /* utterances that have their place in the new state, or none */
    Worker *workers;
    Produced *results; /* [slots] */
    int threads, slots;
    Progress progress;
    char verifying[24]; /* name of the progress line */
};

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

/* An old state that is missing or damaged as a whole is no error: everything is built anew. */
static int open_old(Builder *b, Err *err)
{
    Err why = {0};
    int rc = store_open(&b->old_store, b->dir, b->producer->store, &why);
    if (rc == ERR_MISSING)
        return 0;
    if (rc == ERR_DAMAGED || rc == ERR_FORMAT) {
        log_warn(b->p->log, "%s; the %s cache is put together anew", why.msg, b->producer->store);
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

/* The stamp of the audio file. 1: there is none, and the utterance is rejected. */
static int stamp_audio(Builder *b, size_t i, Err *err)
{
    const Utterance *u = &b->p->dataset->utterances[i];
    char path[PATH_MAX];
    Err why = {0};
    int missing = dataset_audio_path(b->p->dataset, u, path, sizeof path, &why);
    if (!missing)
        missing = file_stamp(&b->sources[i].stamp, path, &why);
    if (!missing)
        return 0;
    RejectReason reason = missing == ERR_MISSING ? REJECT_AUDIO_MISSING : REJECT_AUDIO_UNREADABLE;
    int rc = preparation_reject(b->p, i, reason, why.msg, err);
    return rc ? rc : 1;
}

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
static int find_sources(Builder *b, Err *err)
{
    const Dataset *d = b->p->dataset;
    for (size_t i = 0; i < d->count; i++) {
        const Utterance *u = &d->utterances[i];
        Source *s = &b->sources[i];
        Hash128 key = {0};
        if (b->producer->from_audio) {
            int rc = stamp_audio(b, i, err);
            if (rc < 0)
                return rc;
            if (rc)
                continue;
        } else
            key = b->producer->key(b->settings, u, key);
        look_at_old(b, s, u, key);
        if (s->from == FROM_NOWHERE)
            look_at_salvage(b, s, u, key);
        if (s->from == FROM_NOWHERE && b->p->rejected[i] == REJECT_NONE) {
            s->from = FROM_WORK;
            b->work[b->work_count++] = (uint32_t)i;
        }
    }
    return 0;
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

/* Those that need no work, up to the next that does. */
static int place_reused(Builder *b, Err *err)
{
    int rc = 0;
    for (; !rc && b->placed < b->p->dataset->count; b->placed++) {
        const Source *s = &b->sources[b->placed];
        if (s->from == FROM_WORK)
            break;
        if (s->from == FROM_NOWHERE)
            continue;
        if (s->from == FROM_OLD)
            rc = store_build_keep(b->build, (uint64_t)s->number, new_stamp(b, s), err);
        else
            rc = store_build_salvage(b->build, s->number, new_stamp(b, s), err);
        b->report->reused += b->p->rejected[b->placed] == REJECT_NONE;
    }
    return rc;
}

/* The file was touched, but its bytes are the same. */
static int keep_old(Builder *b, const Source *s, Err *err)
{
    StoreEntry e;
    store_entry(b->old, (uint64_t)s->number, &e);
    b->report->reused += e.status == 0;
    return store_build_keep(b->build, (uint64_t)s->number, new_stamp(b, s), err);
}

static int add_record(Builder *b, const Source *s, const Utterance *u, const Produced *r, Err *err)
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
        b->report->built++;
    }
    return store_build_add(b->build, &rec, err);
}

int builder_place(Builder *b, Produced *r, Err *err)
{
    int rc = place_reused(b, err);
    if (rc)
        return rc;
    size_t i = b->placed++;
    const Utterance *u = &b->p->dataset->utterances[i];
    progress_add(&b->progress, 1);
    /* A rejection that may be bad luck leaves no trace in the store. */
    if (r->reason != REJECT_NONE && !accept_is_lasting(r->reason))
        return preparation_reject(b->p, i, r->reason, r->detail, err);
    if (r->is_old)
        return keep_old(b, &b->sources[i], err);
    if (r->payload.failed)
        return err_set(err, ERR_NOMEM, "no memory for the %s of %.*s", b->producer->store, (int)u->id.n,
                       u->id.p);
    /* From audio the worker has made the key: only it has the bytes. */
    if (!b->producer->from_audio)
        r->key = b->producer->key(b->settings, u, (Hash128){0});
    return add_record(b, &b->sources[i], u, r, err);
}

const Utterance *builder_next(Builder *b)
{
    return b->handed < b->work_count ? &b->p->dataset->utterances[b->work[b->handed++]] : NULL;
}

/* ---- work on audio files ---- */

/* The file's bytes, and a check that they did not change while being read. 0, or a negative code with the
 * reason in detail. */
static int read_audio(Buf *bytes, const char *path, const FileStamp *expected, char *detail, size_t cap)
{
    Err err = {0};
    FileStamp after;
    buf_clear(bytes);
    int rc = file_read(bytes, path, MAX_AUDIO_FILE, &err);
    if (!rc)
        rc = file_stamp(&after, path, &err);
    if (rc)
        snprintf(detail, cap, "%s", err.msg);
    else if (memcmp(&after, expected, sizeof after) != 0) {
        snprintf(detail, cap, "the file changed while it was being read");
        rc = ERR_DATA;
    }
    return rc;
}

/* In any thread: reads the file, and has a record made when the old one does not hold. */
static void work(void *user, int thread, int slot, uint64_t item)
{
    Builder *b = user;
    Worker *w = &b->workers[thread];
    Produced *r = &b->results[slot];
    size_t i = b->work[item];
    const Utterance *u = &b->p->dataset->utterances[i];
    const Source *s = &b->sources[i];
    char path[PATH_MAX];
    Err err = {0};
    *r = (Produced){.payload = r->payload};
    int rc = dataset_audio_path(b->p->dataset, u, path, sizeof path, &err);
    if (rc)
        snprintf(r->detail, sizeof r->detail, "%s", err.msg);
    else
        rc = read_audio(&w->bytes, path, &s->stamp, r->detail, sizeof r->detail);
    if (rc) {
        r->reason = rc == ERR_MISSING ? REJECT_AUDIO_MISSING : REJECT_AUDIO_UNREADABLE;
        return;
    }
    r->key = b->producer->key(b->settings, u, hash_bytes(w->bytes.data, w->bytes.size));
    /* The stamp has changed; have the bytes? */
    if (s->number >= 0) {
        StoreEntry e;
        store_entry(b->old, (uint64_t)s->number, &e);
        r->is_old = hash_equal(e.key, r->key) && !is_damaged(b, s->number);
    }
    if (!r->is_old)
        b->producer->produce(w->state, r, &(ProducerInput){path, w->bytes.data, w->bytes.size});
}

/* In the caller's thread, in order. */
static int finish(void *user, int slot, uint64_t item, Err *err)
{
    Builder *b = user;
    return builder_place(b, &b->results[slot], err);
}

/* The first worker holds what the others share. */
static int open_workers(Builder *b, Err *err)
{
    int rc = 0;
    b->workers = mem_calloc((size_t)b->threads, sizeof *b->workers);
    b->results = mem_calloc((size_t)b->slots, sizeof *b->results);
    if (!b->workers || !b->results)
        return err_set(err, ERR_NOMEM, "no memory for %d workers", b->threads);
    for (int i = 0; i < b->threads && !rc; i++)
        rc = b->producer->open(&b->workers[i].state, i ? b->workers[0].state : NULL, b->p->cfg, err);
    return rc;
}

/* The first one last. */
static void close_workers(Builder *b)
{
    for (int i = b->threads - 1; i >= 0 && b->workers; i--) {
        b->producer->close(b->workers[i].state);
        buf_free(&b->workers[i].bytes);
    }
    for (int i = 0; i < b->slots && b->results; i++)
        buf_free(&b->results[i].payload);
    free(b->workers);
    free(b->results);
    b->workers = NULL;
    b->results = NULL;
}

/* Memory is bounded by the slots, not by the corpus. */
static int run_workers(Builder *b, Err *err)
{
    OrderedJob job = {.name = b->producer->store,
                      .items = b->work_count,
                      .workers = b->p->workers,
                      .slots = b->slots,
                      .user = b,
                      .work = work,
                      .finish = finish};
    int rc = open_workers(b, err);
    if (!rc)
        rc = ordered_run(&job, err);
    close_workers(b);
    return rc;
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

/* Rejects the utterances that have a record and are not used all the same; marks the others as accepted. */
static int pass_on_rejections(Builder *b, Err *err)
{
    uint64_t next = 0, n = store_build_count(b->build);
    int rc = 0;
    b->accepted = mem_calloc(n, 1);
    if (!b->accepted)
        return err_set(err, ERR_NOMEM, "no memory for %llu clips", (unsigned long long)n);
    /* Entries have the order of the utterances; an utterance without one is passed over. */
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
    if (strcmp(b->dir, b->p->dir) == 0 || file_exists(b->dir))
        return 0;
    log_info(b->p->log, "the %s cache in %s was made with other settings and stays; the new one is in %s",
             b->producer->store, b->p->dir, b->dir);
    return file_make_dirs(b->dir, err);
}

/* Everything that can fail before the first file is read. */
static int open_parts(Builder *b, Err *err)
{
    size_t count = b->p->dataset->count;
    b->settings = b->producer->settings(b->p->cfg);
    if (hash_equal(b->settings, (Hash128){0}))
        return settings_unknown(b->producer->store, err);
    int rc = choose_place(b, err);
    if (!rc)
        rc = open_old(b, err);
    if (!rc)
        rc = store_build_open(&b->build, b->dir, b->producer->store, b->old, b->settings, err);
    if (rc)
        return rc;
    b->sources = mem_calloc(count, sizeof *b->sources);
    b->work = mem_calloc(count, sizeof *b->work);
    if (!b->sources || !b->work)
        return err_set(err, ERR_NOMEM, "no memory for %zu utterances", count);
    return find_sources(b, err);
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
    if (!rc && producer->from_audio && b->work_count > 0)
        rc = preparation_probe(p, b->work, b->work_count, err);
    report->seconds += clock_now() - start;
    if (rc) {
        builder_close(b);
        return rc;
    }
    *out = b;
    return 0;
}

int builder_run(Builder *b, Err *err)
{
    double start = clock_now();
    int rc = 0;
    /* The other cache's work, since open, may have rejected some. */
    drop_rejected(b);
    if (b->work_count > 0) {
        uint64_t most = b->work_count; /* no more workers than there is work */
        int workers = (uint64_t)b->p->workers > most ? (int)most : b->p->workers;
        progress_begin(&b->progress, b->p->log, b->producer->store, b->producer->unit, b->work_count);
        rc = b->producer->run ? b->producer->run(b, b->p, workers, err) : run_workers(b, err);
        progress_end(&b->progress);
    }
    if (!rc)
        rc = place_reused(b, err);
    /* Records that are not made from audio are never rejections, and no limit applies to them. */
    if (!rc && b->producer->from_audio)
        rc = pass_on_rejections(b, err);
    if (!rc)
        rc = commit(b, err);
    b->report->seconds += clock_now() - start;
    return rc;
}

void builder_close(Builder *b)
{
    if (!b)
        return;
    store_build_close(b->build);
    store_close(&b->old_store);
    free(b->damaged);
    free(b->sources);
    free(b->accepted);
    free(b->work);
    free(b->dir);
    free(b);
}
