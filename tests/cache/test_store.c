/* test_store.c - states of a store: built, taken over, interrupted, tidied; a kill or a full disk at any
 * moment costs nothing. */
#include "cache/store/store_part.h"
#include "support/store_testing.h"

#include <errno.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/hash.h"

static Item first[MAX_ITEMS], next[MAX_ITEMS];

static void test_build_and_reopen(void **state)
{
    Folder f = folder_make();
    BuildReport r;
    size_t n = items_first(first, 50);
    BuildOptions o = {.blob = "statistics", .blob_size = 10};
    build_ok(&f, first, n, &o, &r);
    assert_int_equal(r.added, 50);
    assert_string_equal(folder_names(&f), "mel-0001.seg mel.index ");
    assert_state(&f, first, n, NULL);
    Store s;
    assert_int_equal(store_open(&s, f.path, STORE, NULL), 0);
    assert_int_equal(s.blob_size, 10);
    assert_memory_equal(s.blob, "statistics", 10);
    assert_true(hash_equal(s.settings, test_settings));
    store_close(&s);
    store_close(&s);
    folder_remove(&f);
}

static void test_missing_store(void **state)
{
    Folder f = folder_make();
    Store s;
    Err err = {0};
    assert_int_equal(store_open(&s, f.path, STORE, &err), ERR_MISSING);
    assert_true(err.msg[0] != 0);
    store_close(&s);
    folder_remove(&f);
}

static void test_nothing_changed_writes_nothing(void **state)
{
    Folder f = folder_make();
    BuildReport r;
    FileStamp index[2], segment[2];
    size_t n = items_first(first, 20);
    build_ok(&f, first, n, NULL, NULL);
    assert_int_equal(file_stamp(&index[0], folder_file(&f, "mel.index"), NULL), 0);
    assert_int_equal(file_stamp(&segment[0], folder_file(&f, "mel-0001.seg"), NULL), 0);
    build_ok(&f, first, n, NULL, &r);
    assert_int_equal(r.kept, 20);
    assert_int_equal(file_stamp(&index[1], folder_file(&f, "mel.index"), NULL), 0);
    assert_int_equal(file_stamp(&segment[1], folder_file(&f, "mel-0001.seg"), NULL), 0);
    assert_memory_equal(&index[0], &index[1], sizeof index[0]);
    assert_memory_equal(&segment[0], &segment[1], sizeof segment[0]);
    assert_string_equal(folder_names(&f), "mel-0001.seg mel.index ");
    folder_remove(&f);
}

static void test_next_state_keeps_what_holds(void **state)
{
    Folder f = folder_make();
    BuildReport r;
    size_t n = items_first(first, 70), m = items_next(next, first, n);
    build_ok(&f, first, n, NULL, NULL);
    build_ok(&f, next, m, NULL, &r);
    assert_state(&f, next, m, NULL);
    uint64_t changed = 0;
    for (size_t i = 0; i < m; i++)
        changed += next[i].version != 1 || next[i].number >= 5000;
    assert_int_equal(r.added, changed);
    assert_int_equal(r.kept, m - changed);
    /* A small store is tidied to one segment. */
    assert_string_equal(folder_names(&f), "mel-0003.seg mel.index ");
    folder_remove(&f);
}

static void test_order_alone_is_a_change(void **state)
{
    Folder f = folder_make();
    BuildReport r;
    size_t n = items_first(first, 10);
    build_ok(&f, first, n, NULL, NULL);
    Item t = first[2];
    first[2] = first[7];
    first[7] = t;
    build_ok(&f, first, n, NULL, &r);
    assert_int_equal(r.kept, 10);
    assert_state(&f, first, n, NULL);
    folder_remove(&f);
}

static void test_blob_alone_is_a_change(void **state)
{
    Folder f = folder_make();
    size_t n = items_first(first, 5);
    build_ok(&f, first, n, NULL, NULL);
    BuildOptions o = {.blob = "new", .blob_size = 3};
    build_ok(&f, first, n, &o, NULL);
    Store s;
    assert_int_equal(store_open(&s, f.path, STORE, NULL), 0);
    assert_int_equal(s.blob_size, 3);
    store_close(&s);
    folder_remove(&f);
}

static void test_empty_store(void **state)
{
    Folder f = folder_make();
    build_ok(&f, first, 0, NULL, NULL);
    assert_state(&f, first, 0, NULL);
    size_t n = items_first(first, 3);
    build_ok(&f, first, n, NULL, NULL);
    assert_state(&f, first, n, NULL);
    build_ok(&f, first, 0, NULL, NULL);
    assert_state(&f, first, 0, NULL);
    assert_string_equal(folder_names(&f), "mel.index ");
    folder_remove(&f);
}

static void test_removed_entries_are_tidied_away(void **state)
{
    Folder f = folder_make();
    BuildReport r;
    size_t n = items_first(first, 10);
    build_ok(&f, first, n, NULL, NULL);
    Buf before = file_bytes(folder_file(&f, "mel-0001.seg"));
    build_ok(&f, first, 7, NULL, &r); /* the last three go; nothing is added */
    assert_int_equal(r.kept, 7);
    assert_state(&f, first, 7, NULL);
    Store s;
    assert_int_equal(store_open(&s, f.path, STORE, NULL), 0);
    assert_int_equal(s.segment_count, 1);
    assert_true(store_bytes(&s) < before.size);
    store_close(&s);
    buf_free(&before);
    folder_remove(&f);
}

static void test_rewrite_on_request(void **state)
{
    Folder f = folder_make();
    BuildReport r;
    size_t n = items_first(first, 10);
    build_ok(&f, first, n, NULL, NULL);
    BuildOptions o = {.rewrite = 1};
    build_ok(&f, first, n, &o, &r);
    assert_int_equal(r.kept, 10);
    assert_state(&f, first, n, NULL);
    assert_string_equal(folder_names(&f), "mel-0002.seg mel.index ");
    folder_remove(&f);
}

static void test_closed_build_is_taken_up(void **state)
{
    Folder f = folder_make(), whole = folder_make();
    BuildReport r;
    size_t n = items_first(first, 40);
    BuildOptions stop = {.stop_after = 25};
    build_ok(&f, first, n, &stop, NULL);
    assert_string_equal(folder_names(&f), "mel-0001.part ");
    Store s;
    assert_int_equal(store_open(&s, f.path, STORE, NULL), ERR_MISSING);
    build_ok(&f, first, n, NULL, &r);
    assert_int_equal(r.salvaged, 25);
    assert_int_equal(r.added, 15);
    build_ok(&whole, first, n, NULL, NULL);
    assert_folders_equal(&whole, &f);
    folder_remove(&f);
    folder_remove(&whole);
}

/* The part cut at every length: the whole records before the cut are salvaged, the end is the same. */
static void test_torn_part_at_every_length(void **state)
{
    Folder f = folder_make(), whole = folder_make();
    size_t n = items_first(first, 4);
    BuildOptions stop = {.stop_after = 4}, small = {.payload = 40};
    stop.payload = 40;
    build_ok(&f, first, n, &stop, NULL);
    Buf part = file_bytes(folder_file(&f, "mel-0001.part"));
    build_ok(&whole, first, n, &small, NULL);
    size_t record = (part.size - sizeof(SegmentHeader)) / 4;
    int all = getenv("MYXTTS_LONG") != NULL;
    for (size_t cut = 0; cut <= part.size; cut += all ? 1 : 13) {
        BuildReport r;
        folder_remove(&f);
        mkdir(f.path, 0777);
        file_put(folder_file(&f, "mel-0001.part"), part.data, cut);
        build_ok(&f, first, n, &small, &r);
        assert_int_equal(r.salvaged,
                         cut < sizeof(SegmentHeader) ? 0 : (cut - sizeof(SegmentHeader)) / record);
        assert_folders_equal(&whole, &f);
    }
    buf_free(&part);
    folder_remove(&f);
    folder_remove(&whole);
}

static void test_salvage_wants_key_or_stamp_and_settings(void **state)
{
    Folder f = folder_make();
    size_t n = items_first(first, 3);
    BuildOptions stop = {.stop_after = 3};
    build_ok(&f, first, n, &stop, NULL);
    StoreBuild *b;
    char id[32];
    uint8_t payload[1024];
    StoreRecord rec = item_record(first[1], id, payload, 0);
    FileStamp other = rec.stamp;
    other.mtime_ns++;
    assert_int_equal(store_build_open(&b, f.path, STORE, NULL, test_settings, 1, NULL), 0);
    assert_true(store_build_find_by_key(b, rec.id, rec.id_size, rec.key) >= 0);
    assert_true(store_build_find_by_stamp(b, rec.id, rec.id_size, &rec.stamp) >= 0);
    assert_int_equal(store_build_find_by_stamp(b, rec.id, rec.id_size, &other), -1);
    assert_int_equal(store_build_find_by_key(b, rec.id, rec.id_size, (Hash128){1, 2}), -1);
    assert_int_equal(store_build_find_by_key(b, "clip", 4, rec.key), -1);
    store_build_close(b);
    assert_int_equal(store_build_open(&b, f.path, STORE, NULL, (Hash128){1, 1}, 1, NULL), 0);
    assert_int_equal(store_build_find_by_key(b, rec.id, rec.id_size, rec.key), -1);
    assert_int_equal(store_build_find_by_stamp(b, rec.id, rec.id_size, &rec.stamp), -1);
    store_build_close(b);
    folder_remove(&f);
}

static void test_entries_can_be_seen_before_the_commit(void **state)
{
    Folder f = folder_make();
    size_t n = items_first(first, 30), m = items_next(next, first, n);
    build_ok(&f, first, n, NULL, NULL);
    Store old;
    StoreBuild *b;
    BuildReport r = {0};
    BuildOptions o = {0};
    uint8_t payload[1024];
    char id[32];
    assert_int_equal(store_open(&old, f.path, STORE, NULL), 0);
    assert_int_equal(store_build_open(&b, f.path, STORE, &old, test_settings, 1, NULL), 0);
    for (size_t i = 0; i < m; i++) {
        assert_int_equal(build_one(b, &old, NULL, next[i], &o, payload, &r, NULL), 0);
        for (size_t k = i % 3 ? i : 0; k <= i; k++) { /* looked at while it grows */
            StoreEntry e;
            StoreRecord want = item_record(next[k], id, payload, 0);
            assert_int_equal(store_build_entry(b, k, &e, NULL), 0);
            assert_int_equal(e.payload_size, want.payload_size);
            assert_memory_equal(e.payload, payload, e.payload_size);
            assert_memory_equal(e.id, want.id, want.id_size);
        }
    }
    assert_int_equal(store_build_count(b), m);
    assert_int_equal(store_build_changed(b, NULL, 0), 1);
    store_build_close(b);
    store_close(&old);
    assert_state(&f, first, n, NULL); /* no commit, no change */
    folder_remove(&f);
}

/* Killed between the rename of the segment and the index: with and without an old state. */
static void test_segment_without_index(void **state)
{
    Folder f = folder_make(), whole = folder_make();
    BuildReport r;
    size_t n = items_first(first, 30), m = items_next(next, first, n);
    build_ok(&whole, first, n, NULL, NULL);
    folder_copy(&f, &whole);
    unlink(folder_file(&f, "mel.index"));
    build_ok(&f, first, n, NULL, &r);
    assert_int_equal(r.salvaged, n);
    assert_folders_equal(&whole, &f);

    BuildOptions stop = {.stop_after = m};
    build_ok(&f, next, m, &stop, NULL);
    assert_int_equal(rename(folder_file(&f, "mel-0002.part"), folder_file(&f, "mel-0002.seg")), 0);
    assert_state(&f, first, n, NULL);
    build_ok(&f, next, m, NULL, &r);
    assert_int_equal(r.added, 0);
    build_ok(&whole, next, m, NULL, NULL);
    assert_folders_equal(&whole, &f);
    folder_remove(&f);
    folder_remove(&whole);
}

/* Three processes write a part each; what is not in the old state goes round among them. With commit = 0 they
 * are killed: one has finished its part, one is in the middle of a record. */
static void build_in_parts(const Folder *f, const Item *items, size_t n, int commit)
{
    enum { PARTS = 3 };
    StorePart parts[PARTS];
    StoreBuild *b;
    Store old;
    Err err = {0};
    uint8_t payload[1024];
    char id[32];
    int present = store_open(&old, f->path, STORE, NULL) == 0, next_part = 0;
    assert_int_equal(store_build_open(&b, f->path, STORE, present ? &old : NULL, test_settings, PARTS, &err),
                     0);
    for (int k = 0; k < PARTS; k++) {
        uint32_t number;
        uint64_t size;
        store_build_part(b, k, &number, &size);
        assert_int_equal(store_part_open(&parts[k], f->path, STORE, number, size, test_settings, &err), 0);
    }
    for (size_t i = 0; i < n; i++) {
        StoreRecord rec = item_record(items[i], id, payload, 0);
        int64_t at = present ? store_find(&old, rec.id, rec.id_size) : -1;
        StoreEntry e;
        IndexEntry added;
        if (at >= 0)
            store_entry(&old, (uint64_t)at, &e);
        if (at >= 0 && hash_equal(e.key, rec.key)) {
            assert_int_equal(store_build_keep(b, (uint64_t)at, NULL, &err), 0);
            continue;
        }
        int k = next_part++ % PARTS;
        assert_int_equal(store_part_add(&parts[k], &added, &rec, &err), 0);
        assert_int_equal(store_build_enter(b, k, &added, rec.id, &err), 0);
    }
    for (int k = 0; k < PARTS; k++)
        if (commit || k == 1) {
            assert_int_equal(store_part_finish(&parts[k], &err), 0);
            store_build_finished(b, k, parts[k].size);
        }
    if (commit && store_build_commit(b, NULL, 0, 0, &err))
        fail_msg("%s", err.msg);
    for (int k = 0; k < PARTS; k++) {
        if (!commit && k == 2)
            assert_int_equal(write(parts[k].fd_plus1 - 1, "MREC, and no more", 17), 17);
        store_part_close(&parts[k]);
    }
    store_build_close(b);
    store_close(&old);
}

static void test_parts_of_several_processes(void **state)
{
    for (int from_old = 0; from_old < 2; from_old++) {
        Folder f = folder_make(), g = folder_make();
        BuildReport r;
        size_t n = items_first(first, 40), m = items_next(next, first, n);
        if (from_old)
            build_ok(&f, first, n, NULL, NULL);
        folder_copy(&g, &f);
        build_in_parts(&f, next, m, 1);
        assert_state(&f, next, m, NULL);
        assert_null(strstr(folder_names(&f), ".part"));
        /* Killed: one process goes on, and has nothing left to do. */
        build_in_parts(&g, next, m, 0);
        assert_non_null(strstr(folder_names(&g), ".part"));
        if (from_old)
            assert_state(&g, first, n, NULL);
        build_ok(&g, next, m, NULL, &r);
        assert_int_equal(r.added, 0);
        assert_true(r.salvaged > 0);
        assert_state(&g, next, m, NULL);
        assert_null(strstr(folder_names(&g), ".part"));
        folder_remove(&f);
        folder_remove(&g);
    }
}

/* Many processes on a large corpus: what each has written stays where it is, and a second build finds nothing
 * to tidy up. Small pieces become one. */
static void test_large_parts_are_not_moved(void **state)
{
    for (int large = 0; large < 2; large++) {
        Folder f = folder_make();
        StoreBuild *b;
        size_t n = items_first(first, 10), size = large ? (9u << 20) : 500;
        BuildOptions o = {.payload = size};
        uint8_t *payload = malloc(size);
        char id[32];
        assert_int_equal(store_build_open(&b, f.path, STORE, NULL, test_settings, 2, NULL), 0);
        for (size_t i = 0; i < n; i += 5) {
            StorePart part;
            uint32_t number;
            uint64_t left;
            store_build_part(b, i > 0, &number, &left);
            assert_int_equal(store_part_open(&part, f.path, STORE, number, left, test_settings, NULL), 0);
            for (size_t k = i; k < i + 5; k++) {
                StoreRecord rec = item_record(first[k], id, payload, size);
                IndexEntry added;
                assert_int_equal(store_part_add(&part, &added, &rec, NULL), 0);
                assert_int_equal(store_build_enter(b, i > 0, &added, rec.id, NULL), 0);
            }
            assert_int_equal(store_part_finish(&part, NULL), 0);
            store_build_finished(b, i > 0, part.size);
            store_part_close(&part);
        }
        assert_int_equal(store_build_commit(b, NULL, 0, 0, NULL), 0);
        store_build_close(b);
        const char *want = large ? "mel-0001.seg mel-0002.seg mel.index " : "mel-0003.seg mel.index ";
        assert_string_equal(folder_names(&f), want);
        build_ok(&f, first, n, &o, NULL);
        assert_string_equal(folder_names(&f), want);
        assert_state(&f, first, n, &o);
        free(payload);
        folder_remove(&f);
    }
}

static void test_strays_are_removed(void **state)
{
    Folder f = folder_make();
    size_t n = items_first(first, 5);
    build_ok(&f, first, n, NULL, NULL);
    static const char *const strays[] = {"mel-0009.seg", "mel-0007.part", "mel.index.tmp123"};
    static const char *const others[] = {"mel-1.seg", "melody-0001.seg", "mel-0001.segment", "text-0001.seg",
                                         "mel-0002.txt"};
    for (size_t i = 0; i < 3; i++)
        file_put(folder_file(&f, strays[i]), "x", 1);
    for (size_t i = 0; i < 5; i++)
        file_put(folder_file(&f, others[i]), "x", 1);
    build_ok(&f, first, n, NULL, NULL);
    for (size_t i = 0; i < 3; i++)
        assert_false(file_exists(folder_file(&f, strays[i])));
    for (size_t i = 0; i < 5; i++)
        assert_true(file_exists(folder_file(&f, others[i])));
    assert_state(&f, first, n, NULL);
    folder_remove(&f);
}

static void test_lost_index_brings_records_back(void **state)
{
    Folder f = folder_make();
    BuildReport r;
    size_t n = items_first(first, 25);
    build_ok(&f, first, n, NULL, NULL);
    file_put_byte(folder_file(&f, "mel.index"), 200, 0xA5);
    file_put_byte(folder_file(&f, "mel.index"), 201, 0x5A);
    Store s;
    Err err = {0};
    assert_int_equal(store_open(&s, f.path, STORE, &err), ERR_DAMAGED);
    build_ok(&f, first, n, NULL, &r);
    assert_int_equal(r.salvaged, n);
    assert_int_equal(r.added, 0);
    assert_state(&f, first, n, NULL);
    folder_remove(&f);
}

static void test_big_store_keeps_its_segments(void **state)
{
    Folder f = folder_make();
    BuildReport r;
    BuildOptions o = {.payload = (1 << 20) + 100};
    size_t n = items_first(first, 68);
    build_ok(&f, first, n, &o, NULL);
    first[10].version = 2;
    build_ok(&f, first, n, &o, &r);
    assert_int_equal(r.added, 1);
    assert_string_equal(folder_names(&f), "mel-0001.seg mel-0002.seg mel.index ");
    assert_state(&f, first, n, &o);
    /* A damaged byte in the record that nobody uses any more is found too. */
    Store s;
    uint8_t damaged[MAX_ITEMS] = {0};
    uint64_t other;
    StoreEntry e;
    assert_int_equal(store_open(&s, f.path, STORE, NULL), 0);
    store_entry(&s, 9, &e);
    uint64_t dead = e.offset + e.record_size;
    store_close(&s);
    file_put_byte(folder_file(&f, "mel-0001.seg"), dead + 5000, 1);
    assert_int_equal(store_open(&s, f.path, STORE, NULL), 0);
    assert_int_equal(store_verify(&s, damaged, &other, NULL, NULL, NULL), 1);
    assert_int_equal(other, 1);
    store_close(&s);
    /* A quarter gone: not worth keeping as it is. */
    build_ok(&f, first, 48, &o, NULL);
    assert_string_equal(folder_names(&f), "mel-0003.seg mel.index ");
    assert_state(&f, first, 48, &o);
    folder_remove(&f);
}

static void test_too_many_segments_become_one(void **state)
{
    Folder f = folder_make();
    BuildOptions o = {.payload = 2 << 20};
    size_t n = items_first(first, 40);
    build_ok(&f, first, n, &o, NULL);
    for (int i = 0; i < 8; i++) {
        Store s;
        first[i].version = 2;
        build_ok(&f, first, n, &o, NULL);
        assert_int_equal(store_open(&s, f.path, STORE, NULL), 0);
        assert_int_equal(s.segment_count, i < 7 ? i + 2 : 1);
        store_close(&s);
    }
    assert_state(&f, first, n, &o);
    folder_remove(&f);
}

/* A child goes through the states; it is killed at random moments and started again, until it comes to the
 * end by itself. */
static void test_kills(void **state)
{
    enum { STATES = 3 };
    static Item items[STATES][MAX_ITEMS];
    size_t n[STATES] = {items_first(items[0], 120)};
    n[1] = items_next(items[1], items[0], n[0]);
    n[2] = n[1] - 20; /* only removals: the rewrite without additions */
    memcpy(items[2], items[1], sizeof items[1]);
    Folder whole[STATES];
    BuildOptions o = {.pause = 50};
    double longest = 0;
    for (int k = 0; k < STATES; k++) {
        whole[k] = folder_make();
        if (k)
            folder_copy(&whole[k], &whole[k - 1]);
        double start = clock_now();
        build_ok(&whole[k], items[k], n[k], &o, NULL);
        longest = clock_now() - start > longest ? clock_now() - start : longest;
    }
    int want = getenv("MYXTTS_LONG") ? 200 : 40, kills = 0, finished = 0;
    Rng r;
    rng_seed(&r, (uint64_t)getpid());
    for (int round = 0; kills < want && round < 50 * want; round++) {
        Folder f = folder_make();
        for (int k = 0; k < STATES;) {
            pid_t child = fork();
            if (child == 0)
                _exit(build(&f, items[k], n[k], &o, NULL, NULL) ? 1 : 0);
            clock_sleep(rng_uniform(&r) * longest * 1.2);
            kill(child, SIGKILL);
            int status;
            waitpid(child, &status, 0);
            if (WIFSIGNALED(status)) {
                kills++;
                continue;
            }
            assert_int_equal(WEXITSTATUS(status), 0);
            finished++;
            assert_folders_equal(&whole[k], &f);
            k++;
        }
        folder_remove(&f);
    }
    print_message("%d kills, %d builds that came to the end, all the same bytes\n", kills, finished);
    assert_true(kills >= want);
    for (int k = 0; k < STATES; k++)
        folder_remove(&whole[k]);
}

static void set_file_limit(rlim_t bytes)
{
    struct rlimit l;
    getrlimit(RLIMIT_FSIZE, &l);
    l.rlim_cur = bytes < l.rlim_max ? bytes : l.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &l), 0);
}

static void test_write_fails_in_the_segment(void **state)
{
    Folder f = folder_make(), whole = folder_make();
    signal(SIGXFSZ, SIG_IGN);
    size_t n = items_first(first, 30), m = items_next(next, first, n);
    build_ok(&f, first, n, NULL, NULL);
    folder_copy(&whole, &f);
    build_ok(&whole, next, m, NULL, NULL);
    Err err = {0};
    BuildReport r;
    set_file_limit(3000);
    int rc = build(&f, next, m, NULL, &r, &err);
    set_file_limit(RLIM_INFINITY);
    assert_int_equal(rc, ERR_NOSPACE);
    assert_non_null(strstr(err.msg, "mel-0002.part"));
    assert_state(&f, first, n, NULL);
    build_ok(&f, next, m, NULL, &r);
    assert_true(r.salvaged > 0);
    assert_folders_equal(&whole, &f);
    folder_remove(&f);
    folder_remove(&whole);
}

static void test_write_fails_in_the_index(void **state)
{
    Folder f = folder_make();
    signal(SIGXFSZ, SIG_IGN);
    size_t n = items_first(first, 10);
    uint8_t *blob = calloc(1, 100000);
    BuildOptions o = {.blob = blob, .blob_size = 100000};
    build_ok(&f, first, n - 1, NULL, NULL);
    Err err = {0};
    BuildReport r;
    set_file_limit(90000);
    int rc = build(&f, first, n, &o, &r, &err);
    set_file_limit(RLIM_INFINITY);
    assert_int_equal(rc, ERR_NOSPACE);
    assert_non_null(strstr(err.msg, "mel.index"));
    assert_null(strstr(folder_names(&f), "tmp"));
    assert_state(&f, first, n - 1, NULL);
    build_ok(&f, first, n, &o, &r);
    assert_int_equal(r.salvaged, 1);
    assert_state(&f, first, n, NULL);
    free(blob);
    folder_remove(&f);
}

static Folder mounted;

static int unmount(void **state)
{
    if (mounted.path[0])
        umount2(mounted.path, MNT_DETACH);
    return 0;
}

/* A disk of one MiB. */
static void test_full_disk(void **state)
{
    Folder f = folder_make();
    if (mount("tmpfs", f.path, "tmpfs", 0, "size=1m") == 0)
        mounted = f;
    else {
        print_message("SKIPPED: a small tmpfs cannot be mounted here (%s); the full disk is not tested\n",
                      strerror(errno));
        folder_remove(&f);
        skip();
    }
    BuildOptions o = {.payload = 20000};
    BuildReport r;
    Err err = {0};
    size_t n = items_first(first, 60);
    build_ok(&f, first, 30, &o, NULL);
    int rc = build(&f, first, n, &o, &r, &err), rc2 = build(&f, first, n, &o, NULL, NULL);
    assert_int_equal(rc, ERR_NOSPACE);
    assert_int_equal(rc2, ERR_NOSPACE);
    assert_non_null(strstr(err.msg, "No space left"));
    assert_true(err.hint[0] != 0);
    assert_state(&f, first, 30, &o);
    /* No room for the tidy copy: the new state stands, untidy, and nothing is left lying about. */
    build_ok(&f, first, 28, &o, NULL);
    assert_string_equal(folder_names(&f), "mel-0001.seg mel.index ");
    assert_state(&f, first, 28, &o);
    /* Asked for, the copy is an error; the state stands all the same. */
    o.rewrite = 1;
    assert_int_equal(build(&f, first, 28, &o, NULL, &err), ERR_NOSPACE);
    assert_state(&f, first, 28, &o);
    assert_string_equal(folder_names(&f), "mel-0001.seg mel.index ");
    o.rewrite = 0;
    assert_int_equal(build(&f, first, n, &o, NULL, &err), ERR_NOSPACE);
    assert_int_equal(mount("tmpfs", f.path, "tmpfs", MS_REMOUNT, "size=8m"), 0);
    build_ok(&f, first, n, &o, &r);
    assert_int_equal(r.kept, 28);
    assert_true(r.salvaged > 0);
    assert_state(&f, first, n, &o);
    umount(f.path);
    folder_remove(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_build_and_reopen),
        cmocka_unit_test(test_missing_store),
        cmocka_unit_test(test_nothing_changed_writes_nothing),
        cmocka_unit_test(test_next_state_keeps_what_holds),
        cmocka_unit_test(test_order_alone_is_a_change),
        cmocka_unit_test(test_blob_alone_is_a_change),
        cmocka_unit_test(test_empty_store),
        cmocka_unit_test(test_removed_entries_are_tidied_away),
        cmocka_unit_test(test_rewrite_on_request),
        cmocka_unit_test(test_closed_build_is_taken_up),
        cmocka_unit_test(test_torn_part_at_every_length),
        cmocka_unit_test(test_salvage_wants_key_or_stamp_and_settings),
        cmocka_unit_test(test_entries_can_be_seen_before_the_commit),
        cmocka_unit_test(test_segment_without_index),
        cmocka_unit_test(test_strays_are_removed),
        cmocka_unit_test(test_lost_index_brings_records_back),
        cmocka_unit_test(test_big_store_keeps_its_segments),
        cmocka_unit_test(test_parts_of_several_processes),
        cmocka_unit_test(test_large_parts_are_not_moved),
        cmocka_unit_test(test_too_many_segments_become_one),
        cmocka_unit_test(test_kills),
        cmocka_unit_test(test_write_fails_in_the_segment),
        cmocka_unit_test(test_write_fails_in_the_index),
        cmocka_unit_test_teardown(test_full_disk, unmount),
    };
    return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
