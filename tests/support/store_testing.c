/* store_testing.c - see store_testing.h. */
#include "store_testing.h"

const Hash128 test_settings = {77, 88};

static Hash128 item_key(Item it) { return hash_bytes(&it, sizeof it); }

static size_t item_payload(uint8_t *out, Item it, size_t size)
{
    Rng r;
    rng_seed(&r, rng_mix(it.number, it.version));
    size_t n = size ? size : (size_t)rng_below(&r, 700);
    if (size >= 1 << 20) { /* large ones are mostly zeros, to be quick */
        memset(out, 0, n);
        memcpy(out, &it, sizeof it);
        return n;
    }
    for (size_t i = 0; i < n; i++)
        out[i] = (uint8_t)rng_u64(&r);
    return n;
}

StoreRecord item_record(Item it, char id[32], uint8_t *payload, size_t size)
{
    StoreRecord r = {.id = id,
                     .id_size = (uint32_t)snprintf(id, 32, "clip-%0*u", (int)(4 + it.number % 7), it.number),
                     .key = item_key(it),
                     .stamp = {it.number, it.version, 3, 4},
                     .items = it.number * 3,
                     .status = it.number % 5 == 4,
                     .format = it.number % 2,
                     .extra = (uint64_t)it.version << 32,
                     .payload = payload};
    r.payload_size = item_payload(payload, it, size);
    return r;
}

int build_one(StoreBuild *b, const Store *old, const uint8_t *damaged, Item it, const BuildOptions *o,
              uint8_t *payload, BuildReport *report, Err *err)
{
    char id[32];
    StoreRecord rec = item_record(it, id, payload, o->payload);
    int64_t at = old ? store_find(old, rec.id, rec.id_size) : -1;
    if (at >= 0 && !(damaged && damaged[at])) {
        StoreEntry e;
        store_entry(old, (uint64_t)at, &e);
        if (hash_equal(e.key, rec.key)) {
            report->kept++;
            return store_build_keep(b, (uint64_t)at, NULL, err);
        }
    }
    at = store_build_find_by_key(b, rec.id, rec.id_size, rec.key);
    if (at >= 0) {
        report->salvaged++;
        return store_build_salvage(b, at, NULL, err);
    }
    report->added++;
    int rc = store_build_add(b, &rec, err);
    if (!rc && o->pause)
        usleep(o->pause);
    return rc;
}

int build(const Folder *f, const Item *items, size_t n, const BuildOptions *o, BuildReport *report, Err *err)
{
    static const BuildOptions plain = {0};
    BuildReport unused;
    o = o ? o : &plain;
    report = report ? report : &unused;
    *report = (BuildReport){0};
    Store old;
    StoreBuild *b = NULL;
    uint8_t *payload = malloc(o->payload > 1024 ? o->payload : 1024), *damaged = NULL;
    int rc = store_open(&old, f->path, STORE, err), present = rc == 0, rewrite = o->rewrite;
    if (rc == ERR_MISSING || rc == ERR_DAMAGED || rc == ERR_FORMAT) {
        rewrite |= rc != ERR_MISSING;
        rc = 0;
    }
    if (!rc && present && o->verify) {
        uint64_t other;
        damaged = calloc(old.count + 1, 1);
        int64_t found = store_verify(&old, damaged, &other, NULL, NULL, err);
        report->findings = found < 0 ? 0 : (uint64_t)found;
        rewrite |= found > 0;
        rc = found < 0 ? (int)found : 0;
    }
    if (!rc)
        rc = store_build_open(&b, f->path, STORE, present ? &old : NULL, test_settings, 1, err);
    for (size_t i = 0; i < n && !rc && !(o->stop_after && i == o->stop_after); i++)
        rc = build_one(b, present ? &old : NULL, damaged, items[i], o, payload, report, err);
    if (!rc && !o->stop_after)
        rc = store_build_commit(b, o->blob, o->blob_size, rewrite, err);
    store_build_close(b);
    store_close(&old);
    free(payload);
    free(damaged);
    return rc;
}

void build_ok(const Folder *f, const Item *items, size_t n, const BuildOptions *o, BuildReport *report)
{
    Err err = {0};
    if (build(f, items, n, o, report, &err))
        fail_msg("build: %s", err.msg);
}

void assert_state(const Folder *f, const Item *items, size_t n, const BuildOptions *o)
{
    size_t size = o ? o->payload : 0;
    uint8_t *payload = malloc(size > 1024 ? size : 1024), damaged[MAX_ITEMS] = {0};
    Err err = {0};
    Store s;
    if (store_open(&s, f->path, STORE, &err))
        fail_msg("open: %s", err.msg);
    assert_int_equal(s.count, n);
    for (size_t i = 0; i < n; i++) {
        char id[32];
        StoreRecord want = item_record(items[i], id, payload, size);
        StoreEntry got;
        assert_int_equal(store_find(&s, want.id, want.id_size), i);
        store_entry(&s, i, &got);
        assert_int_equal(got.id_size, want.id_size);
        assert_memory_equal(got.id, want.id, want.id_size);
        assert_true(hash_equal(got.key, want.key));
        assert_memory_equal(&got.stamp, &want.stamp, sizeof got.stamp);
        assert_true(got.items == want.items && got.status == want.status && got.format == want.format &&
                    got.extra == want.extra);
        assert_int_equal(got.payload_size, want.payload_size);
        assert_memory_equal(got.payload, payload, want.payload_size);
        assert_int_equal((uintptr_t)got.payload % STORE_ALIGN, 0);
    }
    assert_int_equal(store_find(&s, "nobody", 6), -1);
    uint64_t other;
    assert_int_equal(store_verify(&s, damaged, &other, NULL, NULL, &err), 0);
    assert_int_equal(other, 0);
    store_close(&s);
    free(payload);
}

size_t items_first(Item *items, size_t n)
{
    for (size_t i = 0; i < n; i++)
        items[i] = (Item){(uint32_t)i, 1};
    return n;
}

size_t items_next(Item *out, const Item *items, size_t n)
{
    size_t k = 0;
    out[k++] = (Item){5000, 1};
    for (size_t i = 0; i < n; i++)
        if (i % 7 != 3)
            out[k++] = (Item){items[i].number, items[i].version + (i % 5 == 2)};
    out[k++] = (Item){5001, 1};
    out[k++] = (Item){5002, 1};
    return k;
}
