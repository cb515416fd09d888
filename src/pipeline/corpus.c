/* corpus.c - see corpus.h. */
#include "pipeline/corpus.h"

#include <stdlib.h>
#include <string.h>

#include "cache/prepare.h"
#include "text/text.h"

typedef struct Own {
    Str *speakers;
    int32_t *speaker_of; /* [dataset.count] */
} Own;

static int compare_str(const void *a, const void *b)
{
    const Str *x = a, *y = b;
    uint32_t n = x->n < y->n ? x->n : y->n;
    int c = n ? memcmp(x->p, y->p, n) : 0;
    return c ? c : (x->n > y->n) - (x->n < y->n);
}

/* Numbers the speakers by name: the number never depends on the order of lines or on the split. */
static int number_speakers(Corpus *c, Own *own, Err *err)
{
    size_t n = c->dataset.count;
    own->speakers = mem_calloc(n, sizeof *own->speakers);
    own->speaker_of = mem_calloc(n, sizeof *own->speaker_of);
    if (!own->speakers || !own->speaker_of)
        return err_set(err, ERR_NOMEM, "no memory for the speakers of %zu utterances", n);
    size_t kinds = 0;
    for (size_t i = 0; i < n; i++)
        if (i == 0 ||
            compare_str(&c->dataset.utterances[i].speaker, &c->dataset.utterances[i - 1].speaker) != 0)
            own->speakers[kinds++] = c->dataset.utterances[i].speaker;
    qsort(own->speakers, kinds, sizeof *own->speakers, compare_str);
    size_t unique = 0;
    for (size_t i = 0; i < kinds; i++)
        if (i == 0 || compare_str(&own->speakers[i], &own->speakers[unique - 1]) != 0)
            own->speakers[unique++] = own->speakers[i];
    for (size_t i = 0; i < n; i++) {
        const Str *at = bsearch(&c->dataset.utterances[i].speaker, own->speakers, unique,
                                sizeof *own->speakers, compare_str);
        own->speaker_of[i] = (int32_t)(at - own->speakers);
    }
    c->speakers = own->speakers;
    c->speaker_count = (int32_t)unique;
    return 0;
}

static int open_store(Store *s, const char *dir, const char *name, Hash128 settings, const Config *cfg,
                      Err *err)
{
    int rc = store_open(s, dir, name, err);
    if (!rc && !hash_equal(s->settings, settings))
        rc = err_set(err, ERR_MISSING, "the %s cache in %s was made with other settings", name, dir);
    if (rc == ERR_MISSING || rc == ERR_DAMAGED || rc == ERR_FORMAT)
        err_hint(err, "run: myxtts prepare --data-path %s, with the same settings", cfg->data_path);
    return rc;
}

/* cache_verification full: every byte before the first batch. */
static int records_whole(const Corpus *c, const Utterance *u, uint64_t text, uint64_t mel, Log *log)
{
    const char *damaged = !store_entry_whole(&c->text, text) ? TEXT_STORE
                          : !store_entry_whole(&c->mel, mel) ? MEL_STORE
                                                             : NULL;
    if (damaged)
        log_warn(log,
                 "%.*s is left out: its record in the %s cache is damaged; `myxtts prepare --verify` builds "
                 "it anew",
                 (int)u->id.n, u->id.p, damaged);
    return !damaged;
}

static int choose_items(Corpus *c, const Config *cfg, Split split, const Own *own, Log *log, Err *err)
{
    size_t n = c->dataset.count;
    Hash128 settings = text_settings_hash(cfg);
    uint64_t too_short = 0;
    c->items = mem_calloc(n, sizeof *c->items);
    c->lengths = mem_calloc(n, sizeof *c->lengths);
    if (!c->items || !c->lengths)
        return err_set(err, ERR_NOMEM, "no memory for %zu utterances", n);
    for (size_t i = 0; i < n; i++) {
        const Utterance *u = &c->dataset.utterances[i];
        if (u->split != split)
            continue;
        int64_t t = store_find(&c->text, u->id.p, u->id.n), m = store_find(&c->mel, u->id.p, u->id.n);
        StoreEntry te, me;
        TextView tv;
        MelView mv;
        c->left_out++;
        if (t < 0 || m < 0)
            continue;
        store_entry(&c->text, (uint64_t)t, &te);
        store_entry(&c->mel, (uint64_t)m, &me);
        if (te.status || me.status || !hash_equal(te.key, text_key(settings, u)) || text_view(&tv, &te) ||
            mel_view(&mv, &me) || mv.bands != c->statistics.bands || mv.storage != cfg->mel_storage ||
            mv.frames == 0)
            continue;
        if (tv.token_count > (uint32_t)cfg->max_text_length || mv.frames > (uint32_t)cfg->max_mel_frames ||
            mv.source_seconds < cfg->min_audio_length || mv.source_seconds > cfg->max_audio_length)
            continue;
        if (tv.token_count > mv.frames) { /* every symbol needs a frame of its own */
            if (!too_short++)
                log_warn(log, "%.*s is left out: its text has %u symbols, its recording only %u frames",
                         (int)u->id.n, u->id.p, tv.token_count, mv.frames);
            continue;
        }
        if (cfg->cache_verification == VERIFY_FULL && !records_whole(c, u, (uint64_t)t, (uint64_t)m, log))
            continue;
        c->left_out--;
        c->items[c->count] = (CorpusItem){(uint32_t)i, (uint32_t)t, (uint32_t)m, own->speaker_of[i]};
        c->lengths[c->count++] = (SampleLength){tv.token_count, mv.frames};
    }
    if (too_short > 1)
        log_warn(log, "%llu clips are left out because they are too short for their texts",
                 (unsigned long long)too_short);
    return 0;
}

int corpus_open(Corpus *c, const Config *cfg, Split split, Log *log, Err *err)
{
    *c = (Corpus){0};
    Own *own = mem_calloc(1, sizeof *own);
    c->own = own;
    char *dir = prepare_cache_dir(cfg);
    int rc = own && dir ? 0 : err_set(err, ERR_NOMEM, "no memory for the corpus");
    if (!rc)
        rc = dataset_open(&c->dataset, cfg, err);
    if (!rc)
        rc = open_store(&c->text, dir, TEXT_STORE, text_settings_hash(cfg), cfg, err);
    if (!rc)
        rc = open_store(&c->mel, dir, MEL_STORE, mel_settings_hash(cfg), cfg, err);
    if (!rc && mel_statistics(&c->statistics, &c->mean, &c->deviation, &c->mel))
        rc = err_set(err, ERR_DAMAGED, "the statistics in the mel cache of %s are damaged", dir);
    if (!rc)
        rc = number_speakers(c, own, err);
    if (!rc)
        rc = choose_items(c, cfg, split, own, log, err);
    if (!rc && c->left_out > 0)
        log_debug(log, "%llu of %llu utterances are left out: prepare says why",
                  (unsigned long long)c->left_out, (unsigned long long)(c->left_out + c->count));
    free(dir);
    if (rc)
        corpus_close(c);
    return rc;
}

void corpus_close(Corpus *c)
{
    Own *own = c->own;
    if (own) {
        free(own->speakers);
        free(own->speaker_of);
    }
    free(own);
    free(c->items);
    free(c->lengths);
    store_close(&c->text);
    store_close(&c->mel);
    dataset_close(&c->dataset);
    *c = (Corpus){0};
}
