/* fuzz_store.c - any bytes as the files of a store. The first byte chooses: the rest is cut at the next
 * number into an index and a segment, with the checksums as they come or made right, so that what lies behind
 * them is reached. Whatever opens is read through, looked at as text and as mel, verified, and built upon. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "base/hash.h"
#include "cache/features.h"
#include "cache/store/store_private.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint8_t sink;

/* One folder per process; $TMPDIR, which the script points at memory. */
static const char *folder(void)
{
    static char path[256];
    if (!path[0]) {
        const char *tmp = getenv("TMPDIR");
        snprintf(path, sizeof path, "%s/fuzz-store-XXXXXX", tmp ? tmp : "/tmp");
        ASSERT(mkdtemp(path));
    }
    return path;
}

static void put(const char *name, const void *p, size_t n)
{
    char path[320];
    snprintf(path, sizeof path, "%s/%s", folder(), name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    ASSERT(fd >= 0 && write(fd, p, n) == (ssize_t)n);
    close(fd);
}

static void make_index_right(uint8_t *p, size_t n)
{
    IndexHeader h;
    if (n < sizeof h)
        return;
    memcpy(&h, p, sizeof h);
    memcpy(h.magic, INDEX_MAGIC, 8);
    h.version = STORE_VERSION;
    h.file_size = n;
    memcpy(p, &h, sizeof h);
    h.checksum = index_checksum(p, n);
    memcpy(p, &h, sizeof h);
}

static void make_segment_right(uint8_t *p, size_t n)
{
    SegmentHeader s = {.version = STORE_VERSION, .number = 1, .store = "mel"};
    if (n < sizeof s)
        return;
    memcpy(s.magic, SEGMENT_MAGIC, 8);
    s.checksum = segment_header_checksum(&s);
    memcpy(p, &s, sizeof s);
    for (size_t at = sizeof s; n - at >= sizeof(RecordHeader);) {
        RecordHeader r;
        memcpy(&r, p + at, sizeof r);
        if (r.size < sizeof r || r.size % STORE_ALIGN || r.size > n - at)
            break;
        r.magic = RECORD_MAGIC;
        memcpy(p + at, &r, sizeof r);
        r.checksum = record_checksum(p + at, r.size);
        memcpy(p + at, &r, sizeof r);
        at += r.size;
    }
}

static void look_at(const StoreEntry *e)
{
    for (uint32_t k = 0; k < e->id_size; k++)
        sink ^= (uint8_t)e->id[k];
    for (uint64_t k = 0; k < e->payload_size; k++)
        sink ^= e->payload[k];
    TextView t;
    if (text_view(&t, e) == 0) {
        for (uint32_t k = 0; k < t.token_count; k++)
            sink ^= (uint8_t)t.tokens[k];
        for (uint32_t k = 0; k < t.unknown_count; k++)
            sink ^= (uint8_t)t.unknown[k];
        for (uint32_t k = 0; k < t.phonemes_size; k++)
            sink ^= (uint8_t)t.phonemes[k];
        for (uint32_t k = 0; k < t.cleaned_size; k++)
            sink ^= (uint8_t)t.cleaned[k];
        ASSERT(memchr(t.language, 0, sizeof t.language));
    }
    MelView m;
    if (mel_view(&m, e) == 0) {
        size_t bytes = (size_t)m.frames * m.bands * (m.storage == STORE_FLOAT32 ? 4 : 2);
        for (size_t k = 0; k < bytes; k++)
            sink ^= ((const uint8_t *)m.data)[k];
        for (uint32_t k = 0; k < m.bands; k++)
            sink ^= (uint8_t)(m.sum[k] > m.sum_squares[k]);
        for (uint32_t k = 0; k < m.frames; k++)
            sink ^= (uint8_t)(m.pitch[k] > m.pitch_sums[0] + m.pitch_sums[1]);
    }
}

static void read_through(const Store *s)
{
    for (uint64_t i = 0; i < s->count; i++) {
        StoreEntry e;
        store_entry(s, i, &e);
        look_at(&e);
        ASSERT(store_find(s, e.id, e.id_size) >= 0);
    }
    MelStatistics mel;
    TextSymbols text;
    const double *mean, *deviation;
    const uint32_t *points, *unknown;
    if (mel_statistics(&mel, &mean, &deviation, s) == 0)
        for (uint32_t k = 0; k < mel.bands; k++)
            sink ^= (uint8_t)(mean[k] > deviation[k]);
    if (text_symbols(&text, &points, &unknown, s) == 0) {
        for (uint32_t k = 0; k < text.count; k++)
            sink ^= (uint8_t)points[k];
        for (uint32_t k = 0; k < 2 * text.unknown_count; k++)
            sink ^= (uint8_t)unknown[k];
    }
    uint8_t *damaged = calloc(s->count + 1, 1);
    uint64_t other;
    ASSERT(damaged && store_verify(s, damaged, &other, NULL, NULL, NULL) >= 0);
    free(damaged);
}

/* Keeps every second entry, salvages what it can find under those names, adds one, commits. */
static void build_upon(const Store *old)
{
    StoreBuild *b;
    Err err = {0};
    StoreRecord rec = {.id = "new", .id_size = 3, .payload = "payload", .payload_size = 7};
    int rc = store_build_open(&b, folder(), "mel", old, (Hash128){0, 0}, 1, &err);
    for (uint64_t i = 0; !rc && old && i < old->count && i < 16; i += 2) {
        StoreEntry e;
        store_entry(old, i, &e);
        int64_t token = store_build_find_by_key(b, e.id, e.id_size, e.key);
        rc = token >= 0 ? store_build_salvage(b, token, NULL, &err) : store_build_keep(b, i, NULL, &err);
    }
    int64_t token = rc ? -1 : store_build_find_by_key(b, "clip-0000", 9, (Hash128){0, 0});
    if (token >= 0)
        rc = store_build_salvage(b, token, NULL, &err);
    if (!rc)
        rc = store_build_add(b, &rec, &err);
    for (uint64_t i = 0; !rc && i < store_build_count(b); i++) {
        StoreEntry e;
        rc = store_build_entry(b, i, &e, &err);
        if (!rc)
            look_at(&e);
    }
    uint64_t count = rc ? 0 : store_build_count(b);
    if (!rc)
        rc = store_build_commit(b, NULL, 0, 0, &err);
    store_build_close(b);
    ASSERT(rc == 0 || err.msg[0]);
    if (rc)
        return;
    Store s;
    if (store_open(&s, folder(), "mel", &err)) {
        fprintf(stderr, "what was built does not open: %s\n", err.msg);
        abort();
    }
    ASSERT_CMP(s.count, ==, count);
    ASSERT(store_find(&s, "new", 3) >= 0);
    store_close(&s);
}

static void empty_folder(void)
{
    char path[320];
    for (uint32_t i = 1; i < 8; i++)
        for (int part = 0; part < 2; part++) {
            char *p = store_segment_path(folder(), "mel", i, part);
            unlink(p);
            free(p);
        }
    snprintf(path, sizeof path, "%s/mel.index", folder());
    unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3)
        return 0;
    uint8_t how = data[0];
    size_t n = size - 3, cut = (size_t)(data[1] | data[2] << 8);
    cut = cut < n ? cut : n;
    uint8_t *copy = malloc(n + 1);
    ASSERT(copy);
    memcpy(copy, data + 3, n);
    if (how & 1)
        make_index_right(copy, cut);
    if (how & 2)
        make_segment_right(copy + cut, n - cut);
    empty_folder();
    put("mel.index", copy, cut);
    put(how & 4 ? "mel-0001.part" : "mel-0001.seg", copy + cut, n - cut);
    free(copy);
    Store s;
    Err err = {0};
    int rc = store_open(&s, folder(), "mel", &err);
    ASSERT(rc == 0 || ((rc == ERR_DAMAGED || rc == ERR_FORMAT) && err.msg[0]));
    if (!rc)
        read_through(&s);
    if (how & 8)
        build_upon(rc ? NULL : &s);
    store_close(&s);
    return 0;
}
