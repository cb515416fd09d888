/* text_cache.c - text -> tokens, kept on disk. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/progress.h"
#include "cache/features.h"
#include "text/phoneme_pool.h"
#include "text/tokens.h"

typedef struct TextPayload { /* then tokens (u16), zeros to 4, unknown (u32), phonemes, cleaned text */
    uint32_t token_count, unknown_count, phonemes_size, cleaned_size;
    char language[16];
} TextPayload;

int text_view(TextView *v, const StoreEntry *e)
{
    TextPayload p;
    if (e->payload_size < sizeof p)
        return ERR_DAMAGED;
    memcpy(&p, e->payload, sizeof p);
    uint64_t tokens_bytes = ((uint64_t)p.token_count * 2 + 3) & ~(uint64_t)3;
    if (sizeof p + tokens_bytes + (uint64_t)p.unknown_count * 4 + p.phonemes_size + p.cleaned_size !=
            e->payload_size ||
        p.language[15] != 0 || p.token_count != e->items)
        return ERR_DAMAGED;
    const uint8_t *at = e->payload + sizeof p;
    v->tokens = (const uint16_t *)(const void *)at;
    at += tokens_bytes;
    v->unknown = (const uint32_t *)(const void *)at;
    at += (size_t)p.unknown_count * 4;
    v->phonemes = (const char *)at;
    v->cleaned = (const char *)at + p.phonemes_size;
    v->token_count = p.token_count;
    v->unknown_count = p.unknown_count;
    v->phonemes_size = p.phonemes_size;
    v->cleaned_size = p.cleaned_size;
    memcpy(v->language, p.language, sizeof v->language);
    return 0;
}

static void encode_payload(Buf *out, const TextResult *r)
{
    TextPayload p = {.token_count = (uint32_t)(r->tokens.size / 2),
                     .unknown_count = (uint32_t)(r->unknown.size / 4),
                     .phonemes_size = (uint32_t)r->phonemes.size,
                     .cleaned_size = (uint32_t)r->cleaned.size};
    snprintf(p.language, sizeof p.language, "%s", r->language);
    buf_clear(out);
    buf_add(out, &p, sizeof p);
    buf_add(out, r->tokens.data, r->tokens.size);
    buf_zero(out, p.token_count % 2 * 2);
    buf_add(out, r->unknown.data, r->unknown.size);
    buf_add(out, r->phonemes.data, r->phonemes.size);
    buf_add(out, r->cleaned.data, r->cleaned.size);
}

Hash128 text_key(Hash128 settings, const Utterance *u)
{
    struct {
        Hash128 settings, id, text, language;
    } parts = {settings, hash_bytes(u->id.p, u->id.n), hash_bytes(u->text.p, u->text.n),
               hash_bytes(u->language.p, u->language.n)};
    return hash_bytes(&parts, sizeof parts);
}

/* Where the entry of an utterance comes from. */
enum { FROM_NOWHERE, FROM_OLD, FROM_SALVAGE, FROM_BUILD };
typedef struct Plan {
    int64_t number; /* old entry or salvage token */
    uint8_t from;
} Plan;

typedef struct TextBuild {
    Stage *stage;
    StoreBuild *build;
    Hash128 settings;
    Plan *plan;    /* [dataset->count] */
    size_t handed; /* utterances before it have been offered to the pool */
    size_t placed; /* utterances before it have their entry in the build */
    StageReport *report;
    Progress *progress;
    Buf payload;
} TextBuild;

static int pool_next(void *user, PhonemeItem *item)
{
    TextBuild *t = user;
    const Dataset *d = t->stage->dataset;
    while (t->handed < d->count && t->plan[t->handed].from != FROM_BUILD)
        t->handed++;
    if (t->handed == d->count)
        return 0;
    const Utterance *u = &d->utterances[t->handed++];
    *item = (PhonemeItem){u->text, u->language, u->id};
    return 1;
}

/* Entries are placed in the order of the utterances: those that need no work, up to the next that does. */
static int place_reused(TextBuild *t, Err *err)
{
    int rc = 0;
    for (; !rc && t->placed < t->stage->dataset->count && t->plan[t->placed].from != FROM_BUILD;
         t->placed++) {
        const Plan *p = &t->plan[t->placed];
        if (p->from == FROM_NOWHERE)
            continue;
        rc = p->from == FROM_OLD ? store_build_keep(t->build, (uint64_t)p->number, NULL, err)
                                 : store_build_salvage(t->build, p->number, NULL, err);
        t->report->reused += t->stage->reason[t->placed] == REJECT_NONE;
    }
    return rc;
}

static int pool_done(void *user, uint64_t index, RejectReason reason, const TextResult *r, Err *err)
{
    TextBuild *t = user;
    (void)index; /* items come back in the order they were handed out, which is the order of the plan */
    int rc = place_reused(t, err);
    if (rc)
        return rc;
    size_t i = t->placed++;
    const Utterance *u = &t->stage->dataset->utterances[i];
    StoreRecord rec = {.id = u->id.p, .id_size = u->id.n, .key = text_key(t->settings, u)};
    progress_add(t->progress, 1);
    /* No rejection is remembered: espeak-ng without memory or without its files has no voice, or speaks
     * nothing, and does not say why. The few lines it is about are tried again by the next run. */
    if (reason != REJECT_NONE)
        return stage_reject(t->stage, i, reason, r->detail, err);
    encode_payload(&t->payload, r);
    if (t->payload.failed)
        return err_set(err, ERR_NOMEM, "no memory for the tokens of %.*s", (int)u->id.n, u->id.p);
    rec.items = (uint32_t)(r->tokens.size / 2);
    rec.extra = r->unknown.size / 4;
    rec.payload = t->payload.data;
    rec.payload_size = t->payload.size;
    t->report->built++;
    return store_build_add(t->build, &rec, err);
}

static int compare_pairs(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return (x[0] > y[0]) - (x[0] < y[0]);
}

/* Symbol table and the unknown symbols of all entries. */
static int finish_blob(TextBuild *t, Buf *blob, Err *err)
{
    Buf seen = {0}; /* every unknown code point, one uint32_t each */
    int rc = 0;
    uint64_t n = store_build_count(t->build);
    for (uint64_t i = 0; i < n && !rc; i++) {
        StoreEntry e;
        TextView v;
        rc = store_build_entry(t->build, i, &e, err);
        if (!rc && e.status == 0 && e.extra > 0 && text_view(&v, &e) == 0)
            buf_add(&seen, v.unknown, (size_t)v.unknown_count * 4);
    }
    size_t total = seen.size / 4;
    uint32_t *pairs = mem_calloc(total, 8);
    if (!rc && (!pairs || seen.failed))
        rc = err_set(err, ERR_NOMEM, "no memory for the list of unknown symbols");
    if (!rc) {
        for (size_t i = 0; i < total; i++)
            memcpy(&pairs[2 * i], seen.data + 4 * i, 4);
        qsort(pairs, total, 8, compare_pairs);
        size_t kinds = 0;
        for (size_t i = 0; i < total; i++) {
            if (kinds == 0 || pairs[2 * (kinds - 1)] != pairs[2 * i])
                pairs[2 * kinds++] = pairs[2 * i], pairs[2 * kinds - 1] = 0;
            pairs[2 * kinds - 1]++;
        }
        TextSymbols head = {
            .version = TOKENS_VERSION, .count = (uint32_t)tokens_count(), .unknown_count = (uint32_t)kinds};
        buf_add(blob, &head, sizeof head);
        for (int id = 0; id < tokens_count(); id++) {
            uint32_t cp = tokens_code_point(id);
            buf_add(blob, &cp, 4);
        }
        buf_add(blob, pairs, kinds * 8);
        if (blob->failed)
            rc = err_set(err, ERR_NOMEM, "no memory for the symbol table");
    }
    free(pairs);
    buf_free(&seen);
    return rc;
}

int text_symbols(TextSymbols *head, const uint32_t **code_points, const uint32_t **unknown_pairs,
                 const Store *s)
{
    if (s->blob_size < sizeof *head)
        return ERR_DAMAGED;
    memcpy(head, s->blob, sizeof *head);
    if (sizeof *head + (uint64_t)head->count * 4 + (uint64_t)head->unknown_count * 8 != s->blob_size)
        return ERR_DAMAGED;
    *code_points = (const uint32_t *)(const void *)(s->blob + sizeof *head);
    *unknown_pairs = *code_points + head->count;
    return 0;
}

static void make_plan(TextBuild *t, const Store *old, int present, const uint8_t *damaged, uint64_t *to_build)
{
    const Dataset *d = t->stage->dataset;
    *to_build = 0;
    for (size_t i = 0; i < d->count; i++) {
        const Utterance *u = &d->utterances[i];
        Plan *p = &t->plan[i];
        Hash128 key = text_key(t->settings, u);
        p->number = present ? store_find(old, u->id.p, u->id.n) : -1;
        if (p->number >= 0) {
            StoreEntry e;
            store_entry(old, (uint64_t)p->number, &e);
            TextView v;
            if (hash_equal(e.key, key) && !(damaged && damaged[p->number]) && e.status == 0 &&
                text_view(&v, &e) == 0)
                p->from = FROM_OLD;
        }
        if (p->from == FROM_NOWHERE) {
            p->number = store_build_find_by_key(t->build, u->id.p, u->id.n, key);
            if (p->number >= 0)
                p->from = FROM_SALVAGE;
        }
        if (p->from == FROM_NOWHERE && t->stage->reason[i] == REJECT_NONE) {
            p->from = FROM_BUILD;
            ++*to_build;
        }
    }
}

int text_cache_build(Stage *s, StageReport *report, Err *err)
{
    double start = clock_now();
    Store old = {0};
    int present = 0;
    uint8_t *damaged = NULL;
    Buf blob = {0};
    Progress progress;
    TextBuild t = {
        .stage = s, .settings = text_settings_hash(s->cfg), .report = report, .progress = &progress};
    int rc = hash_equal(t.settings, (Hash128){0, 0})
                 ? err_set(err, ERR_NOMEM, "no memory to hash the settings")
                 : 0;
    if (!rc)
        rc = stage_open_old(s, TEXT_STORE, &old, &present, &damaged, report, err);
    if (!rc)
        rc = store_build_open(&t.build, s->dir, TEXT_STORE, present ? &old : NULL, t.settings, err);
    if (!rc) {
        t.plan = mem_calloc(s->dataset->count, sizeof *t.plan);
        rc = t.plan ? 0 : err_set(err, ERR_NOMEM, "no memory for %zu utterances", s->dataset->count);
    }
    if (rc)
        goto done;
    uint64_t to_build;
    make_plan(&t, &old, present, damaged, &to_build);
    if (to_build > 0) {
        PhonemeCallbacks callbacks = {pool_next, pool_done, &t};
        PhonemePoolReport pool = {0};
        int workers = (uint64_t)s->workers > to_build ? (int)to_build : s->workers;
        progress_begin(&progress, s->log, "text", "lines", to_build);
        rc = phoneme_pool_run(s->cfg, workers, &callbacks, &pool, s->log, err);
        progress_end(&progress);
    }
    if (!rc)
        rc = place_reused(&t, err);
    if (!rc)
        rc = finish_blob(&t, &blob, err);
    if (!rc)
        rc = store_build_commit(t.build, blob.data, blob.size, report->damaged > 0, err);
done:
    store_build_close(t.build);
    store_close(&old);
    free(damaged);
    free(t.plan);
    buf_free(&t.payload);
    buf_free(&blob);
    report->seconds = clock_now() - start;
    return rc;
}
