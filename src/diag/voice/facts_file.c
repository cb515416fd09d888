/* facts_file.c - see facts_file.h. A head and an array of ClipFacts, written and read by the same program. */
#include "diag/voice/facts_file.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cache/features.h"
#include "cache/places.h"
#include "text/text.h"

#define FACTS_FILE "clip.facts"
#define FACTS_VERSION 1 /* count up when the same records give other facts */

static_assert(sizeof(ClipFacts) == 136, "no padding: every byte of a clip is written");

typedef struct FactsHead {
    char magic[8];
    uint32_t version, clip_size;
    Hash128 key;
    uint64_t count, speakers;
    double minutes;
    uint64_t checksum; /* of the clips */
} FactsHead;
static const char facts_magic[8] = "MYXTTSF\n";

/* ---- the key ---- */

/* The store of these settings as it is now; zeros where there is none. */
static void add_store(Hasher *h, const char *dir, const char *name, Hash128 settings)
{
    Err none = {0};
    uint64_t stamp = 0;
    char *place = cache_place(dir, name, settings);
    if (place)
        store_index_stamp(&stamp, place, name, &none);
    free(place);
    hasher_bytes(h, &settings, sizeof settings);
    hasher_u64(h, stamp);
}

/* The limits on length, and what turns frames into seconds. */
static void add_limits(Hasher *h, const Config *cfg)
{
    const double limits[] = {cfg->min_audio_length, cfg->max_audio_length, cfg->max_text_length,
                             cfg->max_mel_frames,   cfg->sample_rate,      cfg->hop_length};
    hasher_bytes(h, limits, sizeof limits);
}

Hash128 facts_file_key(const char *dir, const Config *cfg, const Dataset *d)
{
    Hasher h;
    if (hasher_open(&h))
        return (Hash128){0};
    add_store(&h, dir, TEXT_STORE, text_settings_hash(cfg));
    add_store(&h, dir, MEL_STORE, mel_settings_hash(cfg));
    add_store(&h, dir, AUDIO_STORE, audio_settings_hash(cfg));
    add_limits(&h, cfg);
    for (size_t i = 0; i < d->count; i++) {
        const Utterance *u = &d->utterances[i];
        hasher_bytes(&h, u->id.p, u->id.n);
        hasher_bytes(&h, u->text.p, u->text.n);
        hasher_bytes(&h, u->speaker.p, u->speaker.n);
    }
    return hasher_close(&h);
}

/* ---- the file ---- */

/* Of this version, with this key, whole; and every clip is one of the dataset's. */
static int is_valid(const FactsHead *h, const FileMap *m, const CorpusFacts *f, Hash128 key)
{
    const ClipFacts *clips = (const ClipFacts *)(const void *)(m->data + sizeof *h);
    const size_t bytes = m->size - sizeof *h;
    if (memcmp(h->magic, facts_magic, sizeof h->magic) != 0 || h->version != FACTS_VERSION ||
        h->clip_size != sizeof *clips || !hash_equal(h->key, key) || h->count > f->dataset->count ||
        bytes != h->count * sizeof *clips || h->checksum != hash64(clips, bytes))
        return 0;
    for (size_t i = 0; i < h->count; i++)
        if (clips[i].utterance >= f->dataset->count)
            return 0;
    return 1;
}

int facts_file_read(CorpusFacts *f, const char *dir, Hash128 key)
{
    Err none = {0};
    FactsHead h = {0};
    FileMap m = {0};
    char *path = file_join(dir, FACTS_FILE);
    int there =
        path && !hash_equal(key, (Hash128){0}) && file_map(&m, path, &none) == 0 && m.size >= sizeof h;
    free(path);
    if (there)
        memcpy(&h, m.data, sizeof h);
    if (!there || !is_valid(&h, &m, f, key)) {
        file_unmap(&m);
        return 0;
    }
    f->file = m;
    f->clip = (const ClipFacts *)(const void *)(m.data + sizeof h);
    f->count = h.count;
    f->speakers = h.speakers;
    f->minutes = h.minutes;
    return 1;
}

int facts_file_stamp(FileStamp *s, const char *dir)
{
    char *path = file_join(dir, FACTS_FILE);
    const int rc = path ? file_stamp(s, path, NULL) : ERR_NOMEM;
    free(path);
    return rc;
}

void facts_file_write(const CorpusFacts *f, const char *dir, Hash128 key)
{
    Err none = {0};
    FileWriter w = {0};
    FactsHead h = {.version = FACTS_VERSION,
                   .clip_size = sizeof *f->clip,
                   .key = key,
                   .count = f->count,
                   .speakers = f->speakers,
                   .minutes = f->minutes,
                   .checksum = hash64(f->clip, f->count * sizeof *f->clip)};
    memcpy(h.magic, facts_magic, sizeof h.magic);
    char *path = file_join(dir, FACTS_FILE);
    if (path && !hash_equal(key, (Hash128){0}) && !file_writer_open(&w, path, &none) &&
        !file_writer_write(&w, &h, sizeof h, &none) &&
        !file_writer_write(&w, f->clip, f->count * sizeof *f->clip, &none))
        file_writer_commit(&w, &none);
    file_writer_abort(&w);
    free(path);
}
