/* known_clips.c - see known_clips.h. Of each kind the MOST smallest hashes are kept. Whatever another corpus
 * shares with this one and is not above the largest of them is then among them. */
#include "voice/known_clips.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/mem.h"

enum { TEXTS, RECORDINGS, NAMES, KINDS };
enum { MOST = 2048 };
static const char *const kinds[KINDS] = {"texts", "recordings", "names"};

typedef struct Hashes {
    uint32_t *of[KINDS]; /* [count], sorted, each once */
    size_t count[KINDS];
} Hashes;

static int compare(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void sort(Hashes *h, int kind)
{
    uint32_t *v = h->of[kind];
    size_t n = 0;
    if (h->count[kind])
        qsort(v, h->count[kind], sizeof *v, compare);
    for (size_t i = 0; i < h->count[kind]; i++)
        if (!n || v[i] != v[n - 1])
            v[n++] = v[i];
    h->count[kind] = n;
}

/* What is said in a clip; of a vocoder, whose clips have no text, their names stand for it. */
static uint32_t text_hash(const Corpus *c, const CorpusItem *item, const StoreEntry *sound)
{
    StoreEntry text;
    TextView v;
    if (c->segment_frames)
        return (uint32_t)hash64(sound->id, sound->id_size);
    store_entry(&c->text, item->text_entry, &text);
    if (text_view(&v, &text))
        return (uint32_t)text.key.lo;
    return (uint32_t)hash64(v.tokens, v.token_count * sizeof *v.tokens);
}

/* Of all clips. 0: without memory. */
static int hashes_open(Hashes *h, const Corpus *c)
{
    for (int k = 0; k < KINDS; k++) {
        h->of[k] = mem_calloc((size_t)c->count + 1, sizeof **h->of);
        if (!h->of[k])
            return 0;
    }
    for (uint32_t i = 0; i < c->count; i++) {
        const CorpusItem *item = &c->items[i];
        StoreEntry sound;
        if (item->part)
            continue;
        store_entry(corpus_store(c), c->segment_frames ? item->audio_entry : item->mel_entry, &sound);
        h->of[TEXTS][h->count[TEXTS]++] = text_hash(c, item, &sound);
        h->of[RECORDINGS][h->count[RECORDINGS]++] = (uint32_t)sound.key.lo;
        h->of[NAMES][h->count[NAMES]++] = (uint32_t)hash64(sound.id, sound.id_size);
    }
    for (int k = 0; k < KINDS; k++)
        sort(h, k);
    return 1;
}

static void hashes_close(Hashes *h)
{
    for (int k = 0; k < KINDS; k++)
        free(h->of[k]);
}

char *known_clips_write(const Corpus *c)
{
    Hashes h = {0};
    json_t *o = hashes_open(&h, c) ? json_object() : NULL;
    int failed = !o;
    for (int k = 0; k < KINDS && !failed; k++) {
        Buf text = {0};
        const size_t n = h.count[k] < MOST ? h.count[k] : MOST;
        base64_encode(&text, h.of[k], n * sizeof **h.of);
        failed = text.failed || json_object_set_new(o, kinds[k], json_stringn(text.data, text.size));
        buf_free(&text);
    }
    char *out = failed ? NULL : json_dumps(o, JSON_COMPACT);
    json_decref(o);
    hashes_close(&h);
    return out;
}

/* shared: of the corpus' hashes those that are known; should: that would be if all came from there. */
static void count(const Hashes *h, int kind, const Buf *known, size_t *shared, size_t *should)
{
    const size_t n = known->size / sizeof(uint32_t);
    const uint32_t *v = (const uint32_t *)(const void *)known->data;
    if (!n)
        return;
    for (size_t i = 0; i < h->count[kind]; i++) {
        const uint32_t hash = h->of[kind][i];
        *should += n < MOST || hash <= v[n - 1];
        *shared += bsearch(&hash, v, n, sizeof *v, compare) != NULL;
    }
}

/* Another person may read the same sentences: recordings tell, unless all of them were mended, when they keep
 * their names. */
int known_clips_disjoint(const char *known, const Corpus *c)
{
    Hashes h = {0};
    size_t shared[KINDS] = {0}, should[KINDS] = {0};
    json_t *o = known && hashes_open(&h, c) ? json_loads(known, 0, NULL) : NULL;
    for (int k = 0; k < KINDS; k++) {
        const char *text = json_string_value(json_object_get(o, kinds[k]));
        Buf bytes = {0};
        if (text && !base64_decode(&bytes, text, strlen(text)))
            count(&h, k, &bytes, &shared[k], &should[k]);
        buf_free(&bytes);
    }
    json_decref(o);
    hashes_close(&h);
    const int other_texts = should[TEXTS] > 0 && shared[TEXTS] == 0,
              other_names = should[NAMES] > 0 && shared[NAMES] == 0;
    return should[RECORDINGS] > 0 && shared[RECORDINGS] == 0 && (other_texts || other_names);
}
