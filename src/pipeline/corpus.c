/* corpus.c - see corpus.h. */
#include "pipeline/corpus.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "cache/accept.h"
#include "cache/places.h"
#include "cache/prepare.h"
#include "pipeline/policy.h"
#include "text/text.h"

struct CorpusSource {
    Dataset dataset;
    Store text, mel;
    Hash128 text_settings;
    MelStatistics statistics;
    const double *mean, *deviation; /* [bands] */
    Str *speakers;                  /* [speaker_count] */
    int32_t *speaker_of;            /* [dataset.count] */
    int32_t speaker_count;
    int prefers_audio;
};

/* By bytes; the shorter first where one begins like the other. */
static int compare_str(const void *a, const void *b)
{
    const Str *x = a, *y = b;
    uint32_t n = x->n < y->n ? x->n : y->n;
    int c = n ? memcmp(x->p, y->p, n) : 0;
    return c ? c : (x->n > y->n) - (x->n < y->n);
}

/* Numbers the speakers by name: the number never depends on the order of lines or on the split. */
static int number_speakers(CorpusSource *s, Err *err)
{
    size_t n = s->dataset.count;
    const Utterance *u = s->dataset.utterances;
    s->speakers = mem_calloc(n, sizeof *s->speakers);
    s->speaker_of = mem_calloc(n, sizeof *s->speaker_of);
    if (!s->speakers || !s->speaker_of)
        return err_set(err, ERR_NOMEM, "no memory for the speakers of %zu utterances", n);
    /* Lines of one speaker mostly stand together: taking only the changes keeps the sort short. */
    size_t changes = 0;
    for (size_t i = 0; i < n; i++)
        if (i == 0 || compare_str(&u[i].speaker, &u[i - 1].speaker) != 0)
            s->speakers[changes++] = u[i].speaker;
    qsort(s->speakers, changes, sizeof *s->speakers, compare_str);
    size_t unique = 0;
    for (size_t i = 0; i < changes; i++)
        if (i == 0 || compare_str(&s->speakers[i], &s->speakers[unique - 1]) != 0)
            s->speakers[unique++] = s->speakers[i];
    for (size_t i = 0; i < n; i++) {
        const Str *at = bsearch(&u[i].speaker, s->speakers, unique, sizeof *s->speakers, compare_str);
        s->speaker_of[i] = (int32_t)(at - s->speakers);
    }
    s->speaker_count = (int32_t)unique;
    return 0;
}

/* A store that was made with other settings is as good as none. */
static int open_store(Store *s, const char *dir, const char *name, Hash128 settings, const Config *cfg,
                      Err *err)
{
    int rc = cache_open(s, dir, name, settings, err);
    if (!rc && !hash_equal(s->settings, settings))
        rc = err_set(err, ERR_MISSING, "the %s cache in %s was made with other settings", name, dir);
    if (rc == ERR_MISSING || rc == ERR_DAMAGED || rc == ERR_FORMAT)
        err_hint(err, "run: myxtts prepare --data-path %s, with the same settings", cfg->data_path);
    return rc;
}

/* Asked once, so that everything in a run gets the same answer. */
static int prefers_audio(const CorpusSource *s)
{
    uint64_t mel = 0, audio = 0;
    for (uint64_t i = 0; i < s->mel.count; i++) {
        StoreEntry e;
        store_entry(&s->mel, i, &e);
        mel += e.record_size;
        audio += e.stamp.size;
    }
    return policy_prefers_audio(mel, audio, mem_available());
}

/* Metadata, both stores, statistics, speakers. */
int corpus_source_open(CorpusSource **out, const Config *cfg, Dataset *dataset, Err *err)
{
    *out = NULL;
    CorpusSource *s = mem_calloc(1, sizeof *s);
    char *dir = prepare_cache_dir(cfg);
    int rc = s && dir ? 0 : err_set(err, ERR_NOMEM, "no memory for the corpus");
    /* The dataset changes hands even when something fails later. */
    if (s && dataset) {
        s->dataset = *dataset;
        *dataset = (Dataset){0};
    } else if (dataset)
        dataset_close(dataset);
    else if (!rc)
        rc = dataset_open(&s->dataset, cfg, err);
    if (!rc) {
        s->text_settings = text_settings_hash(cfg);
        rc = open_store(&s->text, dir, TEXT_STORE, s->text_settings, cfg, err);
    }
    if (!rc)
        rc = open_store(&s->mel, dir, MEL_STORE, mel_settings_hash(cfg), cfg, err);
    if (!rc && (mel_statistics(&s->statistics, &s->mean, &s->deviation, &s->mel) ||
                s->statistics.bands != (uint32_t)cfg->n_mels))
        rc = err_set(err, ERR_DAMAGED, "the statistics in the mel cache of %s are damaged", dir);
    if (!rc)
        rc = number_speakers(s, err);
    if (!rc)
        s->prefers_audio = prefers_audio(s);
    free(dir);
    if (rc) {
        corpus_source_close(s);
        return rc;
    }
    *out = s;
    return 0;
}

void corpus_source_close(CorpusSource *s)
{
    if (!s)
        return;
    free(s->speakers);
    free(s->speaker_of);
    store_close(&s->text);
    store_close(&s->mel);
    dataset_close(&s->dataset);
    free(s);
}

/* cache_verification full: every byte before the first batch. */
static int records_whole(const CorpusSource *s, const Utterance *u, const AcceptedRecords *r, Log *log)
{
    const char *damaged = !store_entry_whole(&s->text, r->text_entry) ? TEXT_STORE
                          : !store_entry_whole(&s->mel, r->mel_entry) ? MEL_STORE
                                                                      : NULL;
    if (damaged)
        log_warn(log,
                 "%.*s is left out: its record in the %s cache is damaged; `myxtts prepare --verify` builds "
                 "it anew",
                 (int)u->id.n, u->id.p, damaged);
    return !damaged;
}

/* Counts the clips that are too short for their texts; the first is named. */
static int long_enough(uint64_t *too_short, const AcceptedRecords *r, const Utterance *u, Log *log)
{
    if (accept_fits(r->text.token_count, r->mel.frames))
        return 1;
    if (!(*too_short)++)
        log_warn(log, "%.*s is left out: its text has %u symbols, its recording only %u frames", (int)u->id.n,
                 u->id.p, r->text.token_count, r->mel.frames);
    return 0;
}

/* Limits may have changed since prepare: they are asked again. */
static int within_limits(const Config *cfg, const Utterance *u, const AcceptedRecords *r)
{
    return !accept_text(cfg, u->text, NULL, 0) && !accept_frames(cfg, r->mel.frames, NULL, 0) &&
           !accept_seconds(cfg, r->mel.source_seconds, NULL, 0);
}

/* In the order of the dataset; what is left out is counted. */
static int choose_items(Corpus *c, const CorpusSource *s, const Config *cfg, Split split, Log *log, Err *err)
{
    size_t n = s->dataset.count;
    uint64_t too_short = 0;
    c->items = mem_calloc(n, sizeof *c->items);
    c->lengths = mem_calloc(n, sizeof *c->lengths);
    if (!c->items || !c->lengths)
        return err_set(err, ERR_NOMEM, "no memory for %zu utterances", n);
    for (size_t i = 0; i < n; i++) {
        const Utterance *u = &s->dataset.utterances[i];
        AcceptedRecords r;
        if (u->split != split)
            continue;
        if (!accept_records(&r, cfg, &s->text, &s->mel, s->text_settings, u) || !within_limits(cfg, u, &r) ||
            !long_enough(&too_short, &r, u, log) ||
            (cfg->cache_verification == VERIFY_FULL && !records_whole(s, u, &r, log))) {
            c->left_out++;
            continue;
        }
        c->items[c->count] =
            (CorpusItem){(uint32_t)i, (uint32_t)r.text_entry, (uint32_t)r.mel_entry, s->speaker_of[i]};
        c->lengths[c->count++] = (SampleLength){r.text.token_count, r.mel.frames};
    }
    if (too_short > 1)
        log_warn(log, "%llu clips are left out because they are too short for their texts",
                 (unsigned long long)too_short);
    return 0;
}

/* Views of the source: nothing is copied but the list of items. */
int corpus_open_split(Corpus *c, const CorpusSource *s, const Config *cfg, Split split, Log *log, Err *err)
{
    *c = (Corpus){.dataset = s->dataset,
                  .text = s->text,
                  .mel = s->mel,
                  .speakers = s->speakers,
                  .speaker_count = s->speaker_count,
                  .statistics = s->statistics,
                  .mean = s->mean,
                  .deviation = s->deviation,
                  .prefers_audio = s->prefers_audio};
    int rc = choose_items(c, s, cfg, split, log, err);
    if (!rc && c->left_out > 0)
        log_debug(log, "%llu of %llu utterances are left out: prepare says why",
                  (unsigned long long)c->left_out, (unsigned long long)(c->left_out + c->count));
    if (rc)
        corpus_close(c);
    return rc;
}

/* For those who need one split only. */
int corpus_open(Corpus *c, const Config *cfg, Split split, Log *log, Err *err)
{
    *c = (Corpus){0};
    CorpusSource *own;
    int rc = corpus_source_open(&own, cfg, NULL, err);
    if (!rc)
        rc = corpus_open_split(c, own, cfg, split, log, err);
    if (rc)
        corpus_source_close(own);
    else
        c->own = own;
    return rc;
}

/* The keys of the records are hashes of what they were made from. */
Hash128 corpus_hash(const Corpus *c)
{
    Hasher h;
    if (hasher_open(&h))
        return (Hash128){0};
    for (uint32_t i = 0; i < c->count; i++) {
        const CorpusItem *item = &c->items[i];
        const Str *speaker = &c->speakers[item->speaker];
        StoreEntry text, mel;
        store_entry(&c->text, item->text_entry, &text);
        store_entry(&c->mel, item->mel_entry, &mel);
        hasher_bytes(&h, text.id, text.id_size);
        hasher_bytes(&h, &text.key, sizeof text.key);
        hasher_bytes(&h, &mel.key, sizeof mel.key);
        hasher_bytes(&h, speaker->p, speaker->n);
    }
    return hasher_close(&h);
}

int corpus_on_the_fly(const Corpus *c, const Config *cfg)
{
    return cfg->preprocessing_mode == PREPROCESS_ON_THE_FLY ||
           (cfg->preprocessing_mode == PREPROCESS_AUTO && (cfg->augment_speed > 0 || c->prefers_audio));
}

void corpus_close(Corpus *c)
{
    free(c->items);
    free(c->lengths);
    corpus_source_close(c->own);
    *c = (Corpus){0};
}
