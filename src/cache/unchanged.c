/* unchanged.c - see unchanged.h. */
#include "cache/unchanged.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/ordered.h"
#include "cache/places.h"
#include "cache/state_file.h"
#include "dataset/audio_file.h"
#include "text/text.h"

#define SLOTS_PER_WORKER 4

/* ---- keys ---- */

typedef struct Stage {
    const char *name;
    Hash128 settings; /* zeros: it is not wanted, or its settings are not known */
} Stage;

/* 1 if the settings of all wanted stages are known. */
static int list_stages(Stage stages[STATE_STORES], const Config *cfg, const PrepareOptions *o)
{
    const Hash128 none = {0};
    stages[0] = (Stage){TEXT_STORE, o->text ? text_settings_hash(cfg) : none};
    stages[1] = (Stage){MEL_STORE, o->mel ? mel_settings_hash(cfg) : none};
    stages[2] = (Stage){AUDIO_STORE, o->audio ? audio_settings_hash(cfg) : none};
    return o->text == !hash_equal(stages[0].settings, none) &&
           o->mel == !hash_equal(stages[1].settings, none) &&
           o->audio == !hash_equal(stages[2].settings, none);
}

/* What is prepared, and what is accepted of it. Zeros without memory. */
static Hash128 settings_key(const Config *cfg, const Stage stages[STATE_STORES])
{
    const double limits[] = {cfg->min_audio_length, cfg->max_audio_length, cfg->max_text_length,
                             cfg->max_mel_frames,   cfg->sample_rate,      cfg->hop_length};
    Hasher h;
    if (hasher_open(&h))
        return (Hash128){0};
    for (int i = 0; i < STATE_STORES; i++)
        hasher_bytes(&h, &stages[i].settings, sizeof stages[i].settings);
    hasher_bytes(&h, limits, sizeof limits);
    return hasher_close(&h);
}

/* The keys that need no dataset. 0, or -1 if one cannot be made. */
static int make_keys(StateKeys *k, const Config *cfg, const PrepareOptions *o, const char *dir)
{
    Stage stages[STATE_STORES];
    const Hash128 none = {0};
    *k = (StateKeys){0};
    char *rejected = file_join(dir, "rejected.tsv");
    int rc = rejected && list_stages(stages, cfg, o) ? file_stamp(&k->rejected, rejected, NULL) : -1;
    free(rejected);
    if (!rc)
        rc = file_own_stamp(&k->program);
    for (int i = 0; i < STATE_STORES && !rc; i++) {
        const int wanted = !hash_equal(stages[i].settings, none);
        k->stores[i] = wanted ? cache_stamp(dir, stages[i].name, stages[i].settings) : 0;
        rc = wanted && !k->stores[i] ? -1 : 0;
    }
    if (rc)
        return -1;
    k->settings = settings_key(cfg, stages);
    return hash_equal(k->settings, none) ? -1 : 0;
}

/* All but what the dataset tells. */
static int keys_hold(const StateKeys *was, const StateKeys *is)
{
    return hash_equal(was->settings, is->settings) &&
           memcmp(was->stores, is->stores, sizeof was->stores) == 0 &&
           memcmp(&was->rejected, &is->rejected, sizeof was->rejected) == 0 &&
           memcmp(&was->program, &is->program, sizeof was->program) == 0;
}

/* ---- the dataset ---- */

/* Its lines need not be read where they would be read from the same bytes. *d is open after 1: with its
 * utterances where they were *read, else only with its folders. */
static int dataset_holds(Dataset *d, int *read, const StateKeys *was, const Config *cfg, int wanted)
{
    const Hash128 none = {0};
    *read = 0;
    if (!wanted && !hash_equal(was->origin, none)) {
        const Hash128 origin = dataset_look(d, cfg);
        if (hash_equal(origin, was->origin))
            return 1;
        dataset_close(d);
        if (!hash_equal(origin, none))
            return 0;
    }
    if (dataset_open(d, cfg, NULL))
        return 0;
    *read = 1;
    if (state_dataset(d) == was->utterances)
        return 1;
    dataset_close(d);
    return 0;
}

/* ---- the recordings ---- */

typedef struct Looking {
    const Config *cfg;
    const StateFile *state;
    const Dataset *d;
    const int *stop;
    Buf *pieces;    /* [threads] */
    uint8_t *holds; /* [slots] */
} Looking;

/* Found where it was found then, or not found again; a header that was rejected is rejected again. */
static int recording_holds(const Config *cfg, const Dataset *d, const StateClip *c)
{
    const Utterance u = {.id = c->id, .audio = c->audio, .file = (uint8_t)c->file};
    char path[PATH_MAX], detail[256];
    FileStamp stamp;
    AudioInfo info;
    if (!d->audio_dir[c->file])
        return 0;
    const int there = !dataset_audio_stamp(d, &u, path, sizeof path, &stamp, NULL);
    if ((there ? preparation_stamp(&stamp) : 0) != c->stamp)
        return 0;
    return c->header == REJECT_NONE || audio_probe(&info, path, cfg->min_audio_length, cfg->max_audio_length,
                                                   detail, sizeof detail) == c->header;
}

/* In any thread. */
static void look(void *user, int thread, int slot, uint64_t piece)
{
    const Looking *l = user;
    Buf *bytes = &l->pieces[thread];
    StateClip c;
    int holds = state_piece(l->state, piece, bytes);
    SharePiece at = {bytes->data, bytes->size};
    while (holds && state_clip(&at, &c))
        holds = recording_holds(l->cfg, l->d, &c);
    l->holds[slot] = holds && !at.size;
}

/* The first that differs ends it, as does whoever wants the run to end: the usual way then says so. */
static int looked(void *user, int slot, uint64_t piece, Err *err)
{
    const Looking *l = user;
    (void)piece;
    (void)err;
    return !l->holds[slot] || (l->stop && __atomic_load_n(l->stop, __ATOMIC_RELAXED));
}

static int recordings_hold(const Config *cfg, const StateFile *s, const Dataset *d, int workers,
                           const int *stop)
{
    const int lookers = preparation_lookers(workers), threads = lookers > 0 ? lookers : 1,
              slots = threads * SLOTS_PER_WORKER;
    Looking l = {.cfg = cfg, .state = s, .d = d, .stop = stop};
    const OrderedJob job = {.name = "recordings",
                            .items = s->head.pieces,
                            .workers = s->head.pieces > 1 ? lookers : 0,
                            .slots = slots,
                            .user = &l,
                            .work = look,
                            .finish = looked};
    l.pieces = mem_calloc((size_t)threads, sizeof *l.pieces);
    l.holds = mem_calloc((size_t)slots, 1);
    const int holds = l.pieces && l.holds && ordered_run(&job, NULL) == 0;
    for (int i = 0; l.pieces && i < threads; i++)
        buf_free(&l.pieces[i]);
    free(l.pieces);
    free(l.holds);
    return holds;
}

/* ---- the report ---- */

static const RejectReason may_pass[] = {REJECT_LANGUAGE, REJECT_NO_PHONEMES, REJECT_PHONEMES_FAILED,
                                        REJECT_NO_MEMORY};

/* 1: the next run would find the same. */
static int will_repeat(const PrepareReport *r)
{
    uint64_t passing = 0;
    for (size_t i = 0; i < sizeof may_pass / sizeof *may_pass; i++)
        passing += r->by_reason[may_pass[i]];
    return r->accepted && !passing;
}

/* Adds what prepare had rejected. 0 or -1. */
static int repeat_rejections(Dataset *d, const StateFile *s)
{
    SharePiece at = state_told(s);
    Told t;
    const void *data;
    while (told_next(&at, &t, &data)) {
        char detail[sizeof((Err){0}).msg];
        if (t.utterance >= d->count || t.reason >= REJECT_COUNT)
            return -1;
        const Utterance *u = &d->utterances[t.utterance];
        snprintf(detail, sizeof detail, "%.*s", (int)t.size, (const char *)data);
        if (dataset_reject(d, u->id, u->line, u->file, (RejectReason)t.reason, detail))
            return -1;
    }
    dataset_sort_rejected(d);
    return 0;
}

/* 0 or -1. */
static int repeat_report(PrepareReport *r, const StateFile *s)
{
    size_t pairs;
    const uint32_t *unknown = state_unknown(s, &pairs);
    *r = s->head.report;
    for (int i = 0; i < LIMITS_COUNT; i++)
        r->limits.limit[i].key = limits_key(i);
    r->unknown_count = pairs;
    r->unchanged = 1;
    r->state = state_file_hash(s);
    r->unknown = mem_calloc(pairs, 8);
    if (!r->unknown)
        return -1;
    memcpy(r->unknown, unknown, pairs * 8);
    return 0;
}

int unchanged_since(PrepareReport *report, const Config *cfg, const PrepareOptions *options, const char *dir,
                    int workers, Log *log)
{
    StateFile s = {0};
    StateKeys now;
    Dataset d = {0};
    int read = 0;
    const int wanted = options->keep && !options->keep_changed;
    const int holds = state_file_open(&s, dir, options) && make_keys(&now, cfg, options, dir) == 0 &&
                      keys_hold(&s.head.keys, &now) && dataset_holds(&d, &read, &s.head.keys, cfg, wanted) &&
                      recordings_hold(cfg, &s, &d, workers, options->stop) &&
                      (!read || repeat_rejections(&d, &s) == 0) && repeat_report(report, &s) == 0;
    if (holds)
        log_info(log, "layout %s", state_found(&s));
    if (holds && read && options->keep)
        *options->keep = d;
    else
        dataset_close(&d);
    if (!holds)
        prepare_report_free(report);
    state_file_close(&s);
    return holds;
}

Hash128 unchanged_note(const Preparation *p, const PrepareOptions *options, const PrepareReport *report,
                       uint64_t utterances)
{
    StateKeys keys;
    if (!will_repeat(report) || p->unsteady || make_keys(&keys, p->cfg, options, p->dir))
        return (Hash128){0};
    keys.origin = p->dataset->origin;
    keys.utterances = utterances;
    return state_file_write(p, options, report, &keys);
}
