/* text_producer.c - text -> tokens: the producer of the text cache. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "cache/builder/producers.h"
#include "cache/features.h"
#include "cache/text_features.h"
#include "text/phonemes/phoneme_pool.h"
#include "text/phonemes/tokens.h"

/* A text has no file: its key is complete without the audio. */
static Hash128 key(Hash128 settings, const Utterance *u, Hash128 audio)
{
    (void)audio;
    return text_key(settings, u);
}

static int is_usable(const StoreEntry *e)
{
    TextView v;
    return e->status == 0 && text_view(&v, e) == 0;
}

/* ---- work: the phonemisers are processes, so the pool runs them, not the builder ---- */

typedef struct Run {
    Builder *builder;
    Produced result;
} Run;

/* The pool copies what it is given before it asks again. */
static int pool_next(void *user, PhonemeItem *item)
{
    Run *run = user;
    const Utterance *u = builder_next(run->builder);
    if (!u)
        return 0;
    *item = (PhonemeItem){u->text, u->language, u->id};
    return 1;
}

/* Results come back in the order in which the lines were handed out. No rejection is remembered: espeak-ng
 * without memory or without its files has no voice, or speaks nothing, and does not say why. */
static int pool_done(void *user, uint64_t index, RejectReason reason, const TextResult *r, Err *err)
{
    Run *run = user;
    Produced *out = &run->result;
    out->reason = reason;
    memcpy(out->detail, r->detail, sizeof out->detail);
    if (reason == REJECT_NONE) {
        text_encode_payload(&out->payload, r);
        out->items = (uint32_t)(r->tokens.size / sizeof(uint16_t));
        out->extra = r->unknown.size / sizeof(uint32_t);
    }
    return builder_place(run->builder, out, err);
}

/* No more processes than lines. */
static int run_pool(Builder *b, const Preparation *p, int workers, Err *err)
{
    Run run = {.builder = b};
    PhonemeCallbacks callbacks = {pool_next, pool_done, &run};
    PhonemePoolReport report = {0};
    int rc =
        phoneme_pool_run(p->cfg, TEXT_TO_LEARN, p->no_fork ? 0 : workers, &callbacks, &report, p->log, err);
    buf_free(&run.result.payload);
    return rc;
}

/* ---- the blob: symbol table and the unknown symbols of all entries ---- */

typedef struct SymbolCount {
    uint32_t code_point, count;
} SymbolCount;

static int compare_symbols(const void *a, const void *b)
{
    const SymbolCount *x = a, *y = b;
    return (x->code_point > y->code_point) - (x->code_point < y->code_point);
}

/* Every unknown code point of every entry, one uint32_t each. */
static int gather_unknown(Buf *seen, StoreBuild *build, Err *err)
{
    uint64_t n = store_build_count(build);
    for (uint64_t i = 0; i < n; i++) {
        StoreEntry e;
        TextView v;
        int rc = store_build_entry(build, i, &e, err);
        if (rc)
            return rc;
        if (e.status == 0 && e.extra > 0 && text_view(&v, &e) == 0)
            buf_add(seen, v.unknown, (size_t)v.unknown_count * sizeof *v.unknown);
    }
    return 0;
}

/* Sorts the code points and counts equal ones; returns how many kinds there are. */
static size_t count_symbols(SymbolCount *counts, const Buf *seen)
{
    size_t total = seen->size / sizeof(uint32_t), kinds = 0;
    for (size_t i = 0; i < total; i++)
        memcpy(&counts[i].code_point, seen->data + i * sizeof(uint32_t), sizeof(uint32_t));
    qsort(counts, total, sizeof *counts, compare_symbols);
    for (size_t i = 0; i < total; i++) {
        if (kinds == 0 || counts[kinds - 1].code_point != counts[i].code_point)
            counts[kinds++] = (SymbolCount){counts[i].code_point, 0};
        counts[kinds - 1].count++;
    }
    return kinds;
}

/* The table is in the cache, so that tokens can be read without this version of the program. */
static void write_symbols(Buf *blob, const SymbolCount *unknown, size_t kinds)
{
    TextSymbols head = {
        .version = TOKENS_VERSION, .count = (uint32_t)tokens_count(), .unknown_count = (uint32_t)kinds};
    buf_add(blob, &head, sizeof head);
    for (int id = 0; id < tokens_count(); id++) {
        uint32_t code_point = tokens_code_point(id);
        buf_add(blob, &code_point, sizeof code_point);
    }
    buf_add(blob, unknown, kinds * sizeof *unknown);
}

static int describe(const NewState *s, Buf *blob, Err *err)
{
    Buf seen = {0};
    int rc = gather_unknown(&seen, s->build, err);
    SymbolCount *counts = mem_calloc(seen.size / sizeof(uint32_t), sizeof *counts);
    if (!rc && (!counts || seen.failed))
        rc = err_set(err, ERR_NOMEM, "no memory for the list of unknown symbols");
    if (!rc) {
        write_symbols(blob, counts, count_symbols(counts, &seen));
        rc = blob->failed ? err_set(err, ERR_NOMEM, "no memory for the symbol table") : 0;
    }
    free(counts);
    buf_free(&seen);
    return rc;
}

const Producer text_producer = {.store = TEXT_STORE,
                                .unit = "lines",
                                .settings = text_settings_hash,
                                .key = key,
                                .is_usable = is_usable,
                                .run = run_pool,
                                .describe = describe};
