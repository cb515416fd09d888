/* test_store_damage.c - whatever happened to the files of a store: opening fails with a sentence or verifying
 * finds it, reading what opened never leaves the mapping, and the next build has the right state again. */
#include "support/store_testing.h"

#include "base/hash.h"
#include "cache/features.h"

static Item items[MAX_ITEMS];
static const char blob[] = "0123456789abcdef";
static const BuildOptions options = {.payload = 40, .blob = blob, .blob_size = sizeof blob - 1, .verify = 1};

static size_t small_store(Folder *f)
{
    *f = folder_make();
    size_t n = items_first(items, 4);
    build_ok(f, items, n, &options, NULL);
    return n;
}

static volatile uint8_t sink;

/* Every byte that a reader could reach. */
static void read_everything(const Store *s)
{
    for (uint64_t i = 0; i < s->count; i++) {
        StoreEntry e;
        store_entry(s, i, &e);
        for (uint32_t k = 0; k < e.id_size; k++)
            sink ^= (uint8_t)e.id[k];
        for (uint64_t k = 0; k < e.payload_size; k++)
            sink ^= e.payload[k];
        store_find(s, e.id, e.id_size);
        TextView t;
        MelView m;
        if (text_view(&t, &e) == 0)
            sink ^= (uint8_t)t.token_count;
        if (mel_view(&m, &e) == 0)
            sink ^= (uint8_t)m.frames;
    }
    for (uint64_t k = 0; k < s->blob_size; k++)
        sink ^= s->blob[k];
}

/* Opens, reads, verifies. 1 when the damage was found. */
static int is_found(const Folder *f)
{
    Store s;
    Err err = {0};
    uint8_t damaged[MAX_ITEMS] = {0};
    uint64_t other;
    int rc = store_open(&s, f->path, STORE, &err);
    if (rc) {
        assert_true(rc == ERR_DAMAGED || rc == ERR_FORMAT || rc == ERR_MISSING);
        assert_true(err.code == rc && err.msg[0] != 0);
        store_close(&s);
        return 1;
    }
    read_everything(&s);
    int64_t found = store_verify(&s, damaged, &other, NULL, NULL, &err);
    assert_true(found >= 0);
    store_close(&s);
    return found > 0;
}

static const char *const files[] = {"mel.index", "mel-0001.seg"};

static void test_every_flipped_byte_is_found(void **state)
{
    static const uint8_t flips[] = {0x01, 0x80, 0xFF};
    Folder f;
    small_store(&f);
    assert_false(is_found(&f));
    for (int k = 0; k < 2; k++) {
        char path[512];
        snprintf(path, sizeof path, "%s", folder_file(&f, files[k]));
        Buf b = file_bytes(path);
        for (size_t i = 0; i < b.size; i++) {
            for (size_t x = 0; x < sizeof flips; x++) {
                file_put_byte(path, i, (uint8_t)b.data[i] ^ flips[x]);
                if (!is_found(&f))
                    fail_msg("byte %zu of %s xor %02x was not found", i, files[k], flips[x]);
            }
            file_put_byte(path, i, (uint8_t)b.data[i]);
        }
        buf_free(&b);
    }
    assert_false(is_found(&f));
    folder_remove(&f);
}

/* After the flip a verifying build has every record again, in sound files; at most two records had to be made
 * anew. */
static void test_flipped_bytes_are_repaired(void **state)
{
    Folder f, sound;
    size_t n = small_store(&f), step = getenv("MYXTTS_LONG") ? 1 : 41;
    sound = folder_make();
    folder_copy(&sound, &f);
    for (int k = 0; k < 2; k++) {
        Buf b = file_bytes(folder_file(&sound, files[k]));
        for (size_t i = k * 7; i < b.size; i += step) {
            BuildReport r;
            folder_remove(&f);
            mkdir(f.path, 0777);
            folder_copy(&f, &sound);
            file_put_byte(folder_file(&f, files[k]), i, (uint8_t)b.data[i] ^ 0x10);
            build_ok(&f, items, n, &options, &r);
            if (k == 0 || i >= sizeof(SegmentHeader))
                assert_true(r.added <= 1);
            assert_state(&f, items, n, &options);
        }
        buf_free(&b);
    }
    folder_remove(&f);
    folder_remove(&sound);
}

static void test_every_length(void **state)
{
    Folder f;
    size_t n = small_store(&f);
    for (int k = 0; k < 2; k++) {
        Buf b = file_bytes(folder_file(&f, files[k]));
        buf_zero(&b, 200);
        for (size_t cut = 0; cut <= b.size; cut++) {
            file_put(folder_file(&f, files[k]), b.data, cut);
            if (is_found(&f) != (cut != b.size - 200))
                fail_msg("%s with %zu of %zu bytes", files[k], cut, b.size - 200);
        }
        file_put(folder_file(&f, files[k]), b.data, b.size - 200);
        buf_free(&b);
    }
    for (int k = 0; k < 2; k++) { /* cut, then built again */
        file_put(folder_file(&f, files[k]), "MYXTTS", 6);
        build_ok(&f, items, n, &options, NULL);
        assert_state(&f, items, n, &options);
        if (k == 0) {
            folder_remove(&f);
            small_store(&f);
        }
    }
    folder_remove(&f);
}

static void test_garbage(void **state)
{
    Folder f;
    size_t n = small_store(&f);
    Rng r;
    rng_seed(&r, 4);
    int rounds = getenv("MYXTTS_LONG") ? 3000 : 300;
    Buf sound[2] = {file_bytes(folder_file(&f, files[0])), file_bytes(folder_file(&f, files[1]))};
    for (int i = 0; i < rounds; i++) {
        for (int k = 0; k < 2; k++) {
            Buf b = {0};
            buf_add(&b, sound[k].data, sound[k].size);
            uint64_t from = rng_below(&r, b.size), length = rng_below(&r, b.size - from) + 1;
            for (uint64_t j = 0; j < length; j++)
                b.data[from + j] = (char)rng_u64(&r);
            file_put(folder_file(&f, files[k]), b.data, b.size);
            assert_true(is_found(&f));
            file_put(folder_file(&f, files[k]), sound[k].data, sound[k].size);
            buf_free(&b);
        }
    }
    assert_state(&f, items, n, &options);
    buf_free(&sound[0]);
    buf_free(&sound[1]);
    folder_remove(&f);
}

static void test_files_of_another_kind(void **state)
{
    Folder f;
    size_t n = small_store(&f);
    unlink(folder_file(&f, "mel-0001.seg"));
    assert_true(is_found(&f));
    mkdir(folder_file(&f, "mel-0001.seg"), 0777);
    assert_true(is_found(&f));
    rmdir(folder_file(&f, "mel-0001.seg"));
    mkfifo(folder_file(&f, "mel-0001.seg"), 0666);
    assert_true(is_found(&f)); /* and does not wait for a writer */
    build_ok(&f, items, n, &options, NULL);
    assert_state(&f, items, n, &options);
    /* A segment of another store, of another number. */
    assert_int_equal(rename(folder_file(&f, "mel-0002.seg"), folder_file(&f, "mel-0005.seg")), 0);
    build_ok(&f, items, n, &options, NULL);
    assert_state(&f, items, n, &options);
    folder_remove(&f);
}

/* Writes one number into the index and makes the checksum right again. */
static void put_hostile(const char *path, const Buf *sound, size_t at, uint64_t value, size_t width)
{
    uint8_t *copy = malloc(sound->size);
    memcpy(copy, sound->data, sound->size);
    memcpy(copy + at, &value, width);
    uint64_t sum = index_checksum(copy, sound->size);
    memcpy(copy + offsetof(IndexHeader, checksum), &sum, sizeof sum);
    file_put(path, copy, sound->size);
    free(copy);
}

/* An index whose checksum is right and whose sizes and places lie: refused. */
static void hostile_fields_are_refused(const char *folder, const char *path, const Buf *sound)
{
    IndexHeader h;
    memcpy(&h, sound->data, sizeof h);
    uint64_t size = sound->size;
#define IN_HEADER(member) offsetof(IndexHeader, member), sizeof h.member
#define IN_SEGMENT(member) \
    h.segments_offset + offsetof(IndexSegment, member), sizeof((IndexSegment *)0)->member
#define IN_ENTRY(i, member) \
    h.entries_offset + (i) * sizeof(IndexEntry) + offsetof(IndexEntry, member), \
        sizeof((IndexEntry *)0)->member
    const struct {
        const char *what;
        size_t at, width;
        uint64_t values[8];
        int count;
    } attacks[] = {
        {"version", IN_HEADER(version), {0, 2, UINT32_MAX}, 3},
        {"segment count", IN_HEADER(segment_count), {0, 2, 1000, UINT32_MAX}, 4},
        {"count", IN_HEADER(count), {h.count + 1, 1000, UINT32_MAX, UINT64_MAX, UINT64_MAX / 112 + 2}, 5},
        {"segments", IN_HEADER(segments_offset), {size, size + 8, UINT64_MAX - 7, 121, 0}, 5},
        {"entries", IN_HEADER(entries_offset), {size, size - 8, UINT64_MAX - 7, 137, 0}, 5},
        {"ids", IN_HEADER(ids_offset), {size + 1, size, UINT64_MAX, UINT64_MAX - 20}, 4},
        {"ids size", IN_HEADER(ids_size), {0, 1, size, UINT64_MAX, UINT64_MAX - h.ids_offset + 1}, 5},
        {"blob", IN_HEADER(blob_offset), {size + 8, size, UINT64_MAX - 7, h.blob_offset + 1}, 4},
        {"blob size",
         IN_HEADER(blob_size),
         {sizeof blob, size, UINT64_MAX, UINT64_MAX - h.blob_offset + 1},
         4},
        {"file size", IN_HEADER(file_size), {0, size - 1, size + 1, UINT64_MAX}, 4},
        {"segment number", IN_SEGMENT(number), {0, 2, UINT32_MAX}, 3},
        {"segment size", IN_SEGMENT(size), {0, 64, UINT64_MAX}, 3},
        {"offset", IN_ENTRY(2, offset), {0, 1, 63, 1 << 20, UINT64_MAX - 63, UINT64_MAX}, 6},
        {"size", IN_ENTRY(2, size), {0, 1, 255, 1 << 20, UINT64_MAX, UINT64_MAX - 127}, 6},
        {"payload size", IN_ENTRY(3, payload_size), {1 << 20, UINT64_MAX, UINT64_MAX - 191}, 3},
        {"payload offset",
         IN_ENTRY(3, payload_offset),
         {0, 64, 193, 1 << 20, UINT32_MAX - 63, UINT32_MAX},
         6},
        {"segment of an entry", IN_ENTRY(1, segment), {1, 1000, UINT32_MAX}, 3},
        {"id size", IN_ENTRY(3, id_size), {1000, UINT32_MAX}, 2},
        {"id offset", IN_ENTRY(0, id_offset), {h.ids_size, 1 << 20, UINT64_MAX, UINT64_MAX - 8}, 4},
    };
    for (size_t a = 0; a < sizeof attacks / sizeof *attacks; a++) {
        for (int v = 0; v < attacks[a].count; v++) {
            Store s;
            Err err = {0};
            put_hostile(path, sound, attacks[a].at, attacks[a].values[v], attacks[a].width);
            int rc = store_open(&s, folder, STORE, &err);
            if (rc != ERR_DAMAGED && rc != ERR_FORMAT)
                fail_msg("%s = %llu was taken: %d", attacks[a].what, (unsigned long long)attacks[a].values[v],
                         rc);
            assert_true(err.msg[0] != 0);
            store_close(&s);
        }
    }
}

static void test_hostile_index_with_a_valid_checksum(void **state)
{
    Folder f;
    small_store(&f);
    char path[512];
    snprintf(path, sizeof path, "%s", folder_file(&f, "mel.index"));
    Buf sound = file_bytes(path);
    hostile_fields_are_refused(f.path, path, &sound);
    /* Any number anywhere: refused, found, or without effect on what is read; never a crash. */
    Rng r;
    rng_seed(&r, 9);
    for (size_t at = 8; at + 8 <= sound.size; at += 4) {
        const uint64_t values[] = {
            0, 1, UINT32_MAX, UINT64_MAX, sound.size, rng_u64(&r), rng_below(&r, 4096) * 64};
        for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
            put_hostile(path, &sound, at, values[v], v % 2 ? 4 : 8);
            is_found(&f);
        }
    }
    file_put(path, sound.data, sound.size);
    assert_false(is_found(&f));
    buf_free(&sound);
    folder_remove(&f);
}

/* Records with valid checksums whose sizes point elsewhere. */
static void test_hostile_records(void **state)
{
    Folder f;
    small_store(&f);
    char path[512];
    snprintf(path, sizeof path, "%s", folder_file(&f, "mel-0001.seg"));
    Buf sound = file_bytes(path);
    const RecordHeader *head = (const RecordHeader *)(const void *)(sound.data + sizeof(SegmentHeader));
    uint64_t size = head->size;
    Rng r;
    rng_seed(&r, 10);
    uint8_t *copy = malloc(sound.size);
    for (size_t at = 0; at + 8 <= sizeof(RecordHeader) - 8; at += 4) {
        const uint64_t values[] = {0,          1,          127,         UINT32_MAX,
                                   UINT64_MAX, sound.size, rng_u64(&r), rng_below(&r, 64) * 64};
        for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
            memcpy(copy, sound.data, sound.size);
            memcpy(copy + sizeof(SegmentHeader) + at, &values[v], v % 2 ? 4 : 8);
            uint64_t sum = record_checksum(copy + sizeof(SegmentHeader), size);
            memcpy(copy + sizeof(SegmentHeader) + offsetof(RecordHeader, checksum), &sum, 8);
            file_put(path, copy, sound.size);
            is_found(&f);
            StoreBuild *b; /* and as a thing to be salvaged */
            if (store_build_open(&b, f.path, "mel", NULL, test_settings, 1, NULL) == 0)
                store_build_find_by_key(b, "clip-0000", 9, (Hash128){1, 2});
            store_build_close(b);
        }
    }
    free(copy);
    buf_free(&sound);
    folder_remove(&f);
}

/* Cut while it is mapped: what is gone reads as zeros and is known to be gone, and a build takes nothing
 * from it. */
static void test_cut_while_open(void **state)
{
    (void)state;
    enum { COUNT = 60 };
    static const BuildOptions large = {.payload = 3000};
    Folder f = folder_make();
    Store s;
    Err err = {0};
    size_t n = items_first(items, COUNT);
    build_ok(&f, items, n, &large, NULL);
    assert_int_equal(store_open(&s, f.path, STORE, &err), 0);
    read_everything(&s);
    assert_int_equal(store_entry_lost(&s, 0), 0);
    char *path = store_segment_path(f.path, STORE, 1, 0);
    assert_int_equal(truncate(path, 70000), 0);
    read_everything(&s);
    assert_true(store_entry_lost(&s, 0) > 0);
    int whole = 0;
    for (uint64_t i = 0; i < s.count; i++)
        whole += store_entry_whole(&s, i);
    print_message("%d of %d records are left\n", whole, COUNT);
    assert_in_range(whole, 10, 30);
    /* Keeps all, reads one behind the cut, and must not commit. */
    StoreBuild *b;
    StoreEntry e;
    assert_int_equal(store_build_open(&b, f.path, STORE, &s, test_settings, 1, &err), 0);
    for (uint64_t i = 0; i < s.count; i++)
        assert_int_equal(store_build_keep(b, i, NULL, &err), 0);
    assert_int_equal(store_build_entry(b, COUNT - 1, &e, &err), 0);
    sink ^= e.payload[0];
    assert_int_equal(store_build_commit(b, "new", 3, 0, &err), ERR_DAMAGED);
    assert_non_null(strstr(err.msg, "was cut short"));
    store_build_close(b);
    store_close(&s);
    free(path);
    folder_remove(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_flipped_byte_is_found),
        cmocka_unit_test(test_flipped_bytes_are_repaired),
        cmocka_unit_test(test_every_length),
        cmocka_unit_test(test_garbage),
        cmocka_unit_test(test_files_of_another_kind),
        cmocka_unit_test(test_hostile_index_with_a_valid_checksum),
        cmocka_unit_test(test_hostile_records),
        cmocka_unit_test(test_cut_while_open),
    };
    return cmocka_run_group_tests_name("store_damage", tests, NULL, NULL);
}
