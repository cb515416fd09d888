/* predicted.c - see predicted.h. */
#include "train/listen/predicted.h"

#include <stdlib.h>
#include <string.h>

#include "audio/normaliser.h"
#include "base/mem.h"
#include "base/progress.h"
#include "cache/mel_features.h"
#include "cache/places.h"
#include "cache/prepare.h"
#include "cache/store/store.h"
#include "model/sharpen.h"
#include "text/text.h"
#include "train/listen/alignment.h"

#define PREDICTED_VERSION 1 /* raised when the same voice would give other mels */
#define GROUP 512           /* lines of the metadata whose clips go through the network together */

typedef enum { FROM_OLD, FROM_SALVAGE, FROM_WORK } From;

typedef struct PredictedClip {
    const Utterance *u;
    Hash128 key;
    From from;
    int64_t number; /* of the old entry, or the token of the leftover */
    Buf payload;    /* FROM_WORK: the record, once it is made */
    uint32_t frames;
} PredictedClip;

struct Predicted {
    PredictedOptions o;
    Hash128 settings;
    FileLock lock;
    char *place; /* folder of the store */
    Store old_store;
    const Store *old; /* NULL: none that can be used */
    StoreBuild *build;
    Corpus all;           /* a view with the clips of both splits, in the order of the dataset */
    PredictedClip *clips; /* [all.count] */
    uint64_t missing;
    float *no_pitch; /* [longest] zeros */
    float *sharpen;  /* [bands + 1, bands]: the matrix of the voice's sharpness, and scratch; NULL: none */
    Progress progress;
};

Hash128 predicted_settings(const Checkpoint *voice, MelStorage storage)
{
    const Hash128 parts[] = {hash_bytes(voice->file.map.data, voice->file.map.size),
                             mel_settings_hash(&voice->cfg), text_settings_hash(&voice->cfg)};
    Hasher h;
    if (hasher_open(&h))
        return (Hash128){0};
    hasher_str(&h, PREDICTED_STORE);
    hasher_u64(&h, PREDICTED_VERSION);
    hasher_u64(&h, (uint64_t)storage);
    hasher_bytes(&h, parts, sizeof parts);
    return hasher_close(&h);
}

/* ---- what is there ---- */

/* Both lists are in the order of the dataset, and so is what becomes of them. */
static int merge_splits(Predicted *p, Err *err)
{
    const Corpus *a = p->o.corpus[0], *b = p->o.corpus[1];
    const size_t n = (size_t)a->count + b->count;
    uint32_t longest = 0;
    p->all = *a;
    p->all.own = NULL;
    p->all.count = 0;
    p->all.items = mem_calloc(n + 1, sizeof *p->all.items);
    p->all.lengths = mem_calloc(n + 1, sizeof *p->all.lengths);
    p->clips = mem_calloc(n + 1, sizeof *p->clips);
    if (!p->all.items || !p->all.lengths || !p->clips)
        return err_set(err, ERR_NOMEM, "no memory for %zu clips", n);
    for (uint32_t i = 0, k = 0; i + k < n;) {
        const int first = k == b->count || (i < a->count && a->items[i].utterance < b->items[k].utterance);
        const Corpus *from = first ? a : b;
        const uint32_t at = first ? i++ : k++, to = p->all.count++;
        p->all.items[to] = from->items[at];
        p->all.lengths[to] = from->lengths[at];
        longest = from->lengths[at].frames > longest ? from->lengths[at].frames : longest;
    }
    p->no_pitch = mem_calloc((size_t)longest + 1, sizeof *p->no_pitch);
    return p->no_pitch ? 0 : err_set(err, ERR_NOMEM, "no memory for a clip of %u frames", longest);
}

/* Everything that a clip's mel depends on besides the voice. */
static Hash128 key_of(const Predicted *p, const CorpusItem *item, const Utterance *u)
{
    StoreEntry text, mel;
    store_entry(&p->all.text, item->text_entry, &text);
    store_entry(&p->all.mel, item->mel_entry, &mel);
    const Hash128 parts[] = {p->settings, hash_bytes(u->id.p, u->id.n), text.key, mel.key};
    return hash_bytes(parts, sizeof parts);
}

static void find_source(Predicted *p, PredictedClip *c)
{
    StoreEntry e;
    const Str id = c->u->id;
    c->number = p->old ? store_find(p->old, id.p, id.n) : -1;
    if (c->number >= 0) {
        store_entry(p->old, (uint64_t)c->number, &e);
        c->from = FROM_OLD;
        if (hash_equal(e.key, c->key) && store_entry_whole(p->old, (uint64_t)c->number))
            return;
    }
    c->number = store_build_find_by_key(p->build, id.p, id.n, c->key);
    c->from = c->number >= 0 ? FROM_SALVAGE : FROM_WORK;
    p->missing += c->from == FROM_WORK;
}

static void find_sources(Predicted *p)
{
    for (uint32_t i = 0; i < p->all.count; i++) {
        const CorpusItem *item = &p->all.items[i];
        PredictedClip *c = &p->clips[i];
        c->u = &p->all.dataset.utterances[item->utterance];
        c->key = key_of(p, item, c->u);
        find_source(p, c);
    }
}

static int open_store(Predicted *p, Err *err)
{
    int waited;
    Err why = {0};
    char *dir = prepare_cache_dir(&p->o.voice->cfg);
    int rc = dir ? prepare_lock(&p->lock, &waited, dir, p->o.log, err)
                 : err_set(err, ERR_NOMEM, "no memory for a path");
    p->place = rc ? NULL : cache_place(dir, PREDICTED_STORE, p->settings);
    free(dir);
    if (!rc && !p->place)
        rc = err_set(err, ERR_NOMEM, "no memory for a path");
    if (!rc)
        rc = file_make_dirs(p->place, err);
    if (rc)
        return rc;
    /* A damaged mel is made again. */
    if (store_open(&p->old_store, p->place, PREDICTED_STORE, &why) == 0)
        p->old = &p->old_store;
    else if (why.code != ERR_MISSING)
        log_warn(p->o.log, "%s: making the voice's mels again", why.msg);
    return store_build_open(&p->build, p->place, PREDICTED_STORE, p->old, p->settings, 1, err);
}

static int open_sharpening(Predicted *p, Err *err)
{
    const double sharpness = p->o.voice->content.state.manner.sharpness;
    const int bands = p->o.voice->cfg.n_mels;
    if (!(sharpness > 0))
        return 0;
    p->sharpen = mem_calloc((size_t)(bands + 1) * (size_t)bands, sizeof *p->sharpen);
    if (!p->sharpen)
        return err_set(err, ERR_NOMEM, "no memory to sharpen mels of %d bands", bands);
    sharpen_matrix(p->sharpen, bands, sharpness);
    return 0;
}

int predicted_open(Predicted **out, const PredictedOptions *o, Err *err)
{
    *out = NULL;
    Predicted *p = mem_calloc(1, sizeof *p);
    if (!p)
        return err_set(err, ERR_NOMEM, "no memory for the mels of a voice");
    p->o = *o;
    p->settings = predicted_settings(o->voice, o->storage);
    int rc = hash_equal(p->settings, (Hash128){0}) ? settings_unknown(PREDICTED_STORE, err) : 0;
    if (!rc)
        rc = open_store(p, err);
    if (!rc)
        rc = merge_splits(p, err);
    if (!rc)
        rc = open_sharpening(p, err);
    if (rc) {
        predicted_close(p);
        return rc;
    }
    find_sources(p);
    *out = p;
    return 0;
}

uint64_t predicted_clips(const Predicted *p) { return p->all.count; }
uint64_t predicted_missing(const Predicted *p) { return p->missing; }

void predicted_close(Predicted *p)
{
    if (!p)
        return;
    store_build_close(p->build);
    store_close(&p->old_store);
    for (uint32_t i = 0; p->clips && i < p->all.count; i++)
        buf_free(&p->clips[i].payload);
    free(p->clips);
    free(p->all.items);
    free(p->all.lengths);
    free(p->no_pitch);
    free(p->sharpen);
    free(p->place);
    file_unlock(&p->lock);
    free(p);
}

/* ---- making them ---- */

/* A group on its way through the network. */
typedef struct Group {
    Predicted *p;
    Engine *e;
    PredictedClip *clips;
} Group;

/* What the voice made of one clip, as the vocoder is given it at synthesis. */
static int take_clip(void *arg, const ClipAlignment *found, Err *err)
{
    Group *g = arg;
    Predicted *p = g->p;
    const CheckpointContent *voice = &p->o.voice->content;
    PredictedClip *c = &g->clips[found->item];
    EngineLook look = {0};
    /* It goes through the network for the sake of its neighbours. */
    if (c->from != FROM_WORK)
        return 0;
    int rc = engine_look(g->e, found->row, &look, err);
    if (!rc && look.predicted) {
        if (p->sharpen)
            sharpen_mel(look.predicted, p->sharpen + (size_t)look.bands * (size_t)look.bands, look.frames,
                        look.bands, p->sharpen);
        normaliser_restore_mel(look.predicted, look.predicted, voice->mean, voice->deviation, look.frames,
                               look.bands);
        c->frames = (uint32_t)look.frames;
        if (mel_encode_payload(&c->payload, look.predicted, p->no_pitch, look.frames, look.bands,
                               p->o.storage))
            rc = err_set(err, ERR_NOMEM, "no memory for the mel of %.*s", (int)c->u->id.n, c->u->id.p);
    }
    engine_look_free(&look);
    progress_add(&p->progress, 1);
    return rc;
}

/* The group's records into the new state, in the order of the dataset. */
static int place_group(Predicted *p, PredictedClip *clips, uint32_t n, Err *err)
{
    const int bands = p->o.voice->cfg.n_mels;
    int rc = 0;
    for (uint32_t i = 0; i < n && !rc; i++) {
        PredictedClip *c = &clips[i];
        if (c->from == FROM_OLD)
            rc = store_build_keep(p->build, (uint64_t)c->number, NULL, err);
        else if (c->from == FROM_SALVAGE)
            rc = store_build_salvage(p->build, c->number, NULL, err);
        else if (c->payload.size)
            rc = store_build_add(p->build,
                                 &(StoreRecord){.id = c->u->id.p,
                                                .id_size = c->u->id.n,
                                                .key = c->key,
                                                .items = c->frames,
                                                .format = mel_format(p->o.storage, bands),
                                                .payload = c->payload.data,
                                                .payload_size = c->payload.size},
                                 err);
        buf_free(&c->payload);
    }
    return rc;
}

static int make_group(Predicted *p, Engine *e, Device *data, Device *model, uint32_t from, uint32_t n,
                      Err *err)
{
    Group g = {p, e, p->clips + from};
    Corpus corpus = p->all; /* a view of the group alone */
    EvaluateOptions o = {
        .cfg = &p->o.voice->cfg, .corpus = &corpus, .data = data, .model = model, .log = p->o.log};
    uint32_t wanted = 0;
    corpus.items += from;
    corpus.lengths += from;
    corpus.count = n;
    for (uint32_t i = 0; i < n; i++)
        wanted += g.clips[i].from == FROM_WORK;
    int rc = wanted ? align_clips(e, &o, take_clip, &g, err) : 0;
    return rc ? rc : place_group(p, g.clips, n, err);
}

int predicted_make(Predicted *p, Engine *e, Device *data, Device *model, Err *err)
{
    const char *voice = p->o.voice->path;
    const CorpusItem *items = p->all.items;
    int rc = 0;
    progress_begin(&p->progress, p->o.log, "mels of the voice", "clips", p->missing);
    for (uint32_t from = 0, end; from < p->all.count && !rc; from = end) {
        const uint32_t group = items[from].utterance / GROUP;
        for (end = from; end < p->all.count && items[end].utterance / GROUP == group; end++)
            ;
        rc = make_group(p, e, data, model, from, end - from, err);
    }
    progress_end(&p->progress);
    return rc ? rc : store_build_commit(p->build, voice, strlen(voice), 0, err);
}
