/* corpus.c - see corpus.h. */
#include "pipeline/corpus.h"

#include <stdlib.h>
#include <string.h>

#include "audio/mel.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/plural.h"
#include "base/stats.h"
#include "cache/accept.h"
#include "cache/places.h"
#include "cache/prepare.h"
#include "pipeline/policy.h"
#include "text/text.h"

#define SCRIPT_LINES 4096 /* of a dataset whose letters are looked at */
#define SCRIPT_SHARE 0.01 /* of all letters, that a script must have to be one of the dataset's */

/* What is left of the clips for a vocoder. */
typedef struct Segments {
    int frames;              /* of a segment; 0: the corpus has whole utterances */
    uint64_t clips, shorter; /* in the audio store, and those of them that are shorter than a segment */
    uint64_t most;           /* segments of all of them in an epoch */
    double seconds;          /* of a segment */
} Segments;

struct CorpusSource {
    Dataset dataset;
    Store text, mel, audio;
    Segments segments;
    Hash128 text_settings;
    MelStatistics statistics;
    const double *mean, *deviation; /* [bands] */
    Str *speakers;                  /* [speaker_count] */
    int32_t *speaker_of;            /* [dataset.count] */
    int32_t speaker_count;
    LanguageList languages; /* of the texts, sorted */
    ScriptSet scripts;
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

/* Sorted: as with speakers, neither the order of lines nor the split matters. A damaged record must not add a
 * language to the network. */
static int list_languages(CorpusSource *s, Err *err)
{
    for (uint64_t i = 0; i < s->text.count; i++) {
        StoreEntry e;
        TextView v;
        store_entry(&s->text, i, &e);
        if (e.status != 0 || text_view(&v, &e) || language_list_find(&s->languages, v.language) >= 0 ||
            !store_entry_whole(&s->text, i))
            continue;
        if (language_list_add(&s->languages, v.language) < 0)
            return err_set(err, ERR_DATA, "the texts are in more than %d languages", LANGUAGES_MOST);
    }
    language_list_sort(&s->languages);
    return 0;
}

/* Some lines tell it all. */
static void list_scripts(CorpusSource *s)
{
    ScriptCount count = {0};
    const size_t n = s->dataset.count, step = n / SCRIPT_LINES + 1;
    for (size_t i = 0; i < n; i += step)
        script_count(&count, s->dataset.utterances[i].text.p, s->dataset.utterances[i].text.n);
    scripts_used(&s->scripts, &count, SCRIPT_SHARE);
}

/* A store that was made with other settings is as good as none. */
static int open_store(Store *s, const char *dir, const char *name, Hash128 settings, const Config *cfg,
                      Err *err)
{
    int rc = cache_open(s, dir, name, settings, err);
    if (!rc && !hash_equal(s->settings, settings))
        rc = err_set(err, ERR_MISSING, "the %s cache in %s was made with other settings", name, dir);
    if (rc == ERR_MISSING || rc == ERR_DAMAGED || rc == ERR_FORMAT)
        err_hint(err, "run: myxtts prepare --data-path %s%s, with the same settings", cfg->data_path,
                 cfg->network == NETWORK_VOCODER ? " --stages audio" : "");
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

/* What a voice learns from: both stores and the statistics of the mels. */
static int open_voice_stores(CorpusSource *s, const Config *cfg, const char *dir, Err *err)
{
    s->text_settings = text_settings_hash(cfg);
    int rc = open_store(&s->text, dir, TEXT_STORE, s->text_settings, cfg, err);
    if (!rc)
        rc = open_store(&s->mel, dir, MEL_STORE, mel_settings_hash(cfg), cfg, err);
    if (!rc && (mel_statistics(&s->statistics, &s->mean, &s->deviation, &s->mel) ||
                s->statistics.bands != (uint32_t)cfg->n_mels))
        rc = err_set(err, ERR_DAMAGED, "the statistics in the mel cache of %s are damaged", dir);
    if (!rc)
        rc = list_languages(s, err);
    if (rc)
        return rc;
    list_scripts(s);
    s->prefers_audio = prefers_audio(s);
    return 0;
}

/* Most clips padded with silence would teach a vocoder silence. */
static int refuse_short_clips(const Segments *g, double *lengths, const Config *cfg, Err *err)
{
    if (g->shorter * 2 <= g->clips)
        return 0;
    /* The longest segment that nine of ten clips fill. */
    int fits = (int)(stats_percentile(lengths, (size_t)g->clips, 0.1) / cfg->hop_length) + 1;
    err_set(err, ERR_DATA,
            "%llu of %llu clips are shorter than a segment of vocoder_segment_frames %d (%.2f s)",
            (unsigned long long)g->shorter, (unsigned long long)g->clips, g->frames, g->seconds);
    return err_hint(
        err, "with %d frames or less, nine of ten clips are long enough; or join short recordings", fits);
}

/* Counts the clips that are shorter than a segment, over both splits. */
static int measure_segments(CorpusSource *s, const Config *cfg, Err *err)
{
    Segments *g = &s->segments;
    int64_t segment = (int64_t)(cfg->vocoder_segment_frames - 1) * cfg->hop_length;
    double *lengths = mem_calloc((size_t)s->audio.count + 1, sizeof *lengths);
    if (!lengths)
        return err_set(err, ERR_NOMEM, "no memory for the lengths of %llu clips",
                       (unsigned long long)s->audio.count);
    *g = (Segments){.frames = cfg->vocoder_segment_frames, .seconds = (double)segment / cfg->sample_rate};
    for (uint64_t i = 0; i < s->audio.count; i++) {
        StoreEntry e;
        store_entry(&s->audio, i, &e);
        if (e.status != 0)
            continue;
        lengths[g->clips++] = e.items;
        g->shorter += e.items < segment;
        g->most += policy_segments(e.items, segment);
    }
    int rc = refuse_short_clips(g, lengths, cfg, err);
    free(lengths);
    return rc;
}

static int open_stores(CorpusSource *s, const Config *cfg, const char *dir, Err *err)
{
    if (cfg->network != NETWORK_VOCODER)
        return open_voice_stores(s, cfg, dir, err);
    int rc = open_store(&s->audio, dir, AUDIO_STORE, audio_settings_hash(cfg), cfg, err);
    return rc ? rc : measure_segments(s, cfg, err);
}

int corpus_source_follow(CorpusSource *s, const Config *cfg, Hash128 settings, Err *err)
{
    ASSERT(s->segments.frames > 0);
    char *dir = prepare_cache_dir(cfg);
    int rc = dir ? cache_open(&s->mel, dir, PREDICTED_STORE, settings, err)
                 : err_set(err, ERR_NOMEM, "no memory for a path");
    free(dir);
    return rc;
}

/* Metadata, stores, speakers. */
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
    if (!rc)
        rc = open_stores(s, cfg, dir, err);
    if (!rc)
        rc = number_speakers(s, err);
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
    store_close(&s->audio);
    dataset_close(&s->dataset);
    free(s);
}

/* cache_verification full: every byte before the first batch. */
static int record_whole(const Store *s, uint64_t entry, const Utterance *u, Log *log)
{
    if (store_entry_whole(s, entry))
        return 1;
    log_warn(log,
             "%.*s is skipped: its record in the %s cache is damaged; `myxtts prepare --verify` rebuilds it",
             (int)u->id.n, u->id.p, s->name);
    return 0;
}

static int records_whole(const CorpusSource *s, const Utterance *u, const AcceptedRecords *r, Log *log)
{
    return record_whole(&s->text, r->text_entry, u, log) && record_whole(&s->mel, r->mel_entry, u, log);
}

/* Counts the clips that are too short for their texts; the first is named. */
static int long_enough(uint64_t *too_short, const AcceptedRecords *r, const Utterance *u, Log *log)
{
    if (accept_fits(r->text.token_count, r->mel.frames))
        return 1;
    if (!(*too_short)++)
        log_warn(log, "%.*s is skipped: its text has %u symbols, but its recording only %u frames",
                 (int)u->id.n, u->id.p, r->text.token_count, r->mel.frames);
    return 0;
}

/* Limits may have changed since prepare: they are asked again. */
static int within_limits(const Config *cfg, const Utterance *u, const AcceptedRecords *r)
{
    return !accept_text(cfg, u->text, NULL, 0) && !accept_frames(cfg, r->mel.frames, NULL, 0) &&
           !accept_seconds(cfg, r->mel.source_seconds, NULL, 0);
}

static int room_for_items(Corpus *c, size_t n, Err *err)
{
    c->items = mem_calloc(n, sizeof *c->items);
    c->lengths = mem_calloc(n, sizeof *c->lengths);
    return c->items && c->lengths ? 0 : err_set(err, ERR_NOMEM, "no memory for %zu utterances", n);
}

/* The record of a clip from which a segment can be cut. The limits are those of a voice, so that both
 * networks learn from the same recordings. */
static int usable_audio(const CorpusSource *s, const Config *cfg, const Utterance *u, uint32_t *entry,
                        Log *log)
{
    int64_t at = store_find(&s->audio, u->id.p, u->id.n);
    StoreEntry e;
    AudioView v;
    if (at < 0)
        return 0;
    store_entry(&s->audio, (uint64_t)at, &e);
    *entry = (uint32_t)at;
    return e.status == 0 && audio_view(&v, &e) == 0 && !accept_text(cfg, u->text, NULL, 0) &&
           !accept_frames(cfg, (uint32_t)mel_frames_with(cfg, v.count), NULL, 0) &&
           !accept_seconds(cfg, v.source_seconds, NULL, 0) &&
           (cfg->cache_verification != VERIFY_FULL || record_whole(&s->audio, *entry, u, log));
}

/* The voice's mel of a clip: frame by frame that of the samples. */
static int usable_predicted(const CorpusSource *s, const Config *cfg, const Utterance *u, int64_t samples,
                            uint32_t *entry, Log *log)
{
    int64_t at = store_find(&s->mel, u->id.p, u->id.n);
    StoreEntry e;
    MelView v;
    if (at < 0)
        return 0;
    store_entry(&s->mel, (uint64_t)at, &e);
    *entry = (uint32_t)at;
    return e.status == 0 && mel_view(&v, &e) == 0 && v.bands == (uint32_t)cfg->n_mels &&
           v.storage == cfg->mel_storage && v.frames == (uint32_t)mel_frames_with(cfg, samples) &&
           (cfg->cache_verification != VERIFY_FULL || record_whole(&s->mel, *entry, u, log));
}

/* Every clip gives as many segments as it is long. */
static int choose_segments(Corpus *c, const CorpusSource *s, const Config *cfg, Split split, Log *log,
                           Err *err)
{
    const Segments *g = &s->segments;
    const int64_t segment = (int64_t)(g->frames - 1) * cfg->hop_length;
    uint64_t unspoken = 0;
    int rc = room_for_items(c, (size_t)g->most + 1, err);
    for (size_t i = 0; i < s->dataset.count && !rc; i++) {
        const Utterance *u = &s->dataset.utterances[i];
        CorpusItem item = {.utterance = (uint32_t)i, .speaker = s->speaker_of[i]};
        if (u->split != split)
            continue;
        if (!usable_audio(s, cfg, u, &item.audio_entry, log)) {
            c->left_out++;
            continue;
        }
        StoreEntry e;
        store_entry(&s->audio, item.audio_entry, &e);
        if (s->mel.count && !usable_predicted(s, cfg, u, e.items, &item.mel_entry, log)) {
            c->left_out++;
            unspoken++;
            continue;
        }
        item.parts = policy_segments(e.items, segment);
        ASSERT_CMP((uint64_t)c->count + item.parts, <=, g->most);
        for (; item.part < item.parts; item.part++) {
            c->items[c->count] = item;
            c->lengths[c->count++] = (SampleLength){0, (uint32_t)g->frames};
        }
    }
    if (!rc && unspoken)
        log_warn(
            log,
            "%llu clip%s of %s skipped: the voice made no mel for %s (no usable text, or over its limits)",
            (unsigned long long)unspoken, plural(unspoken),
            split == SPLIT_TRAIN ? "training are" : "validation are", unspoken == 1 ? "it" : "them");
    if (!rc && g->shorter && split == SPLIT_TRAIN)
        log_warn(log,
                 "%llu of %llu clips are shorter than a segment of %d frames (%.2f s) and are padded with "
                 "silence",
                 (unsigned long long)g->shorter, (unsigned long long)g->clips, g->frames, g->seconds);
    return rc;
}

/* In the order of the dataset; what is left out is counted. */
static int choose_items(Corpus *c, const CorpusSource *s, const Config *cfg, Split split, Log *log, Err *err)
{
    size_t n = s->dataset.count;
    uint64_t too_short = 0;
    int rc = room_for_items(c, n, err);
    if (rc)
        return rc;
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
        const int language = language_list_find(&s->languages, r.text.language);
        c->items[c->count] = (CorpusItem){.utterance = (uint32_t)i,
                                          .text_entry = (uint32_t)r.text_entry,
                                          .mel_entry = (uint32_t)r.mel_entry,
                                          .speaker = s->speaker_of[i],
                                          .language = language < 0 ? 0 : language,
                                          .parts = 1};
        c->lengths[c->count++] = (SampleLength){r.text.token_count, r.mel.frames};
    }
    if (too_short > 1)
        log_warn(log, "%llu clips are skipped because they are too short for their texts",
                 (unsigned long long)too_short);
    return 0;
}

/* Views of the source: nothing is copied but the list of items. */
int corpus_open_split(Corpus *c, const CorpusSource *s, const Config *cfg, Split split, Log *log, Err *err)
{
    *c = (Corpus){.dataset = s->dataset,
                  .text = s->text,
                  .mel = s->mel,
                  .audio = s->audio,
                  .segment_frames = s->segments.frames,
                  .speakers = s->speakers,
                  .speaker_count = s->speaker_count,
                  .found_languages = &s->languages,
                  .scripts = &s->scripts,
                  .statistics = s->statistics,
                  .mean = s->mean,
                  .deviation = s->deviation,
                  .prefers_audio = s->prefers_audio};
    corpus_take_languages(c, &s->languages);
    int rc = s->segments.frames ? choose_segments(c, s, cfg, split, log, err)
                                : choose_items(c, s, cfg, split, log, err);
    if (!rc && c->left_out > 0)
        log_debug(log, "%llu of %llu utterances are skipped; `myxtts prepare` says why",
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

void corpus_take_languages(Corpus *c, const LanguageList *languages)
{
    c->languages = *languages;
    for (int i = 0; i < c->found_languages->count; i++) {
        int number = language_list_near(languages, c->found_languages->codes[i]);
        c->language_number[i] = number < 0 ? 0 : number;
    }
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
        StoreEntry text, sound;
        /* Shorter segments of the same clips are no other clips. */
        if (item->part)
            continue;
        store_entry(corpus_store(c), c->segment_frames ? item->audio_entry : item->mel_entry, &sound);
        hasher_bytes(&h, sound.id, sound.id_size);
        if (!c->segment_frames) {
            store_entry(&c->text, item->text_entry, &text);
            hasher_bytes(&h, &text.key, sizeof text.key);
        }
        hasher_bytes(&h, &sound.key, sizeof sound.key);
        if (corpus_brings_mel(c)) { /* of which voice */
            store_entry(&c->mel, item->mel_entry, &text);
            hasher_bytes(&h, &text.key, sizeof text.key);
        }
        hasher_bytes(&h, speaker->p, speaker->n);
    }
    return hasher_close(&h);
}

const Store *corpus_store(const Corpus *c) { return c->segment_frames ? &c->audio : &c->mel; }

int corpus_brings_mel(const Corpus *c) { return c->segment_frames && c->mel.count > 0; }

int corpus_on_the_fly(const Corpus *c, const Config *cfg)
{
    if (c->segment_frames)
        return 0;
    return cfg->preprocessing_mode == PREPROCESS_ON_THE_FLY ||
           (cfg->preprocessing_mode == PREPROCESS_AUTO &&
            (augmentation_of_recordings(cfg) || c->prefers_audio));
}

void corpus_close(Corpus *c)
{
    free(c->items);
    free(c->lengths);
    corpus_source_close(c->own);
    *c = (Corpus){0};
}
