/* test_prepare_damage.c - flipped bytes, missing and cut files: `prepare --verify` finds and heals them, and
 * no reader crashes. MYXTTS_LONG=1: every byte of every cache file. */
#include "support/prepare_testing.h"

static const char *const files[] = {"text.index", "text-0001.seg", "mel.index", "mel-0001.seg"};
enum { FILES = 4 };
static const char *const more[] = {"--num-workers", "0", "--n-mels", "8", NULL};
static const char *const verify[] = {"--num-workers", "0", "--n-mels", "8", "--verify", NULL};

typedef struct Good {
    Corpus *c;
    char cache[256]; /* undamaged */
    Buf bytes[FILES];
} Good;

static void open_good(Good *g, Corpus *c, int clips)
{
    *g = (Good){.c = c};
    corpus_fill(c, clips, 0.12);
    snprintf(g->cache, sizeof g->cache, "%s/good", c->root);
    json_decref(prepare_with(c, g->cache, 0, more));
    for (int i = 0; i < FILES; i++)
        g->bytes[i] = file_bytes(path_of(g->cache, files[i]));
}

static void close_good(Good *g)
{
    for (int i = 0; i < FILES; i++)
        buf_free(&g->bytes[i]);
}

static void restore(const Good *g)
{
    remove_folder(g->c->cache);
    assert_int_equal(mkdir(g->c->cache, 0777), 0);
    for (int i = 0; i < FILES; i++)
        file_put(path_of(g->c->cache, files[i]), g->bytes[i].data, g->bytes[i].size);
}

/* A reader may find fault, but it ends by itself and says why. */
static void assert_reads(const Good *g, const char *what, const char *const *args)
{
    Run r;
    run_program_env(&r, args, NULL);
    if (r.code < 0 || r.code > 3)
        fail_msg("%s: %s ended with %d: %s", what, args[0], r.code, r.stderr_text.data);
    if (r.code >= 2 && r.stderr_text.size < 10)
        fail_msg("%s: %s says nothing", what, args[0]);
    if (r.code == 0) {
        json_t *o = json_loads(r.stdout_text.data, JSON_ALLOW_NUL, NULL); /* damaged text may hold any byte */
        if (!o)
            fail_msg("%s: %s prints no JSON: %s", what, args[0], r.stdout_text.data);
        json_decref(o);
    }
    run_free(&r);
}

static void assert_readers_live(const Good *g, const char *what)
{
    const Corpus *c = g->c;
    assert_reads(g, what,
                 (const char *const[]){"inspect", c->cache, "--json", "--utterance", c->clips[1].id, NULL});
    assert_reads(g, what,
                 (const char *const[]){"inspect", path_of(c->cache, "mel-0001.seg"), "--json", NULL});
}

/* --verify finds the damage and heals it; afterwards all is as it was. */
static void assert_heals(const Good *g, const char *what)
{
    const Corpus *c = g->c;
    const char *args[MAX_ARGS] = {"prepare", "--data-path", c->data, "--cache-dir", c->cache, "--json"};
    for (int i = 0; verify[i]; i++)
        args[6 + i] = verify[i];
    Run r;
    run_program_env(&r, args, NULL);
    if (r.code != 1 || !strstr(r.stderr_text.data, "damage"))
        fail_msg("%s: --verify ended with %d: %s", what, r.code, r.stderr_text.data);
    json_t *o = json_loads(r.stdout_text.data, 0, NULL);
    assert_non_null(o);
    if (number_at(o, "text", "damaged") + number_at(o, "mel", "damaged") < 1)
        fail_msg("%s: no finding in the JSON", what);
    check_number(o, c->count, "accepted", NULL);
    json_decref(o);
    run_free(&r);
    run_program_env(&r, args, NULL);
    if (r.code != 0)
        fail_msg("%s: the second --verify ended with %d: %s", what, r.code, r.stderr_text.data);
    run_free(&r);
    if (!file_exists(path_of(g->cache, "rejected.tsv")))
        fail_msg("no rejected.tsv");
    assert_same_caches(c->cache, g->cache);
}

static void flip(const Good *g, int file, size_t at, uint8_t mask)
{
    char *p = g->bytes[file].data + at;
    *p = (char)(*p ^ mask);
    file_put(path_of(g->c->cache, files[file]), g->bytes[file].data, g->bytes[file].size);
    *p = (char)(*p ^ mask);
}

static void try_flip(const Good *g, int file, size_t at, uint8_t mask, int readers)
{
    char what[128];
    snprintf(what, sizeof what, "%s byte %zu xor %02x", files[file], at, mask);
    restore(g);
    flip(g, file, at, mask);
    if (readers) {
        assert_readers_live(g, what);
        const Corpus *c = g->c; /* a plain run need not see it, but must not fall over it */
        assert_reads(g, what,
                     (const char *const[]){"prepare", "--data-path", c->data, "--cache-dir", c->cache,
                                           "--json", more[0], more[1], more[2], more[3], NULL});
        restore(g);
        flip(g, file, at, mask);
    }
    assert_heals(g, what);
}

static void flipped_bytes_are_found_and_healed(void **state)
{
    Good g;
    Rng rng;
    uint64_t seed = (uint64_t)clock_now() * 1000003u + (uint64_t)getpid();
    rng_seed(&rng, seed);
    print_message("seed %llu\n", (unsigned long long)seed);
    int every = is_long() && !SANITIZED;
    open_good(&g, *state, every ? 2 : 5);
    for (int file = 0; file < FILES; file++) {
        size_t size = g.bytes[file].size;
        int tries = every ? (int)size : SANITIZED && !is_long() ? 12 : 30;
        for (int i = 0; i < tries; i++) {
            /* a third among the first bytes, where the header is */
            size_t at = every ? (size_t)i : rng_below(&rng, i % 3 ? size : 192);
            uint8_t mask = i % 2 ? (uint8_t)(1u << rng_below(&rng, 8)) : (uint8_t)(1 + rng_below(&rng, 255));
            try_flip(&g, file, at, mask, i % (every ? 10 : 3) == 1);
        }
    }
    close_good(&g);
}

/* Half a file, or none: a plain run puts it right, whatever is missing. */
static void cut_and_missing_files_are_healed(void **state)
{
    Good g;
    open_good(&g, *state, 5);
    const Corpus *c = g.c;
    for (int file = 0; file < FILES; file++)
        for (int part = 0; part < 6; part++) {
            char what[128];
            const char *path = path_of(c->cache, files[file]);
            size_t size = g.bytes[file].size, left = size * (size_t)part / 5;
            snprintf(what, sizeof what, "%s cut to %zu of %zu bytes", files[file], left, size);
            restore(&g);
            if (part == 0)
                unlink(path);
            else if (part == 5)
                assert_int_equal(truncate(path, (off_t)size + 100), 0);
            else
                assert_int_equal(truncate(path, (off_t)left), 0);
            assert_readers_live(&g, what);
            Run r;
            run_program(&r, "prepare", "--data-path", c->data, "--cache-dir", c->cache, "--json", more[0],
                        more[1], more[2], more[3]);
            if (r.code != 0 && r.code != 1)
                fail_msg("%s: exit code %d: %s", what, r.code, r.stderr_text.data);
            if (part && r.code != 1)
                fail_msg("%s: not a word about it", what);
            run_free(&r);
            json_decref(prepare_with(c, c->cache, 0, verify));
            assert_same_caches(c->cache, g.cache);
        }
    close_good(&g);
}

/* Without --verify too: a damaged index costs no features, they are found in the segments. */
static void lost_index_costs_no_work(void **state)
{
    Good g;
    open_good(&g, *state, 5);
    for (int i = 0; i < 4; i += 2) {
        restore(&g);
        if (i == 0)
            flip(&g, i, g.bytes[i].size / 2, 0x10);
        else
            unlink(path_of(g.c->cache, files[i]));
        json_t *o = prepare_with(g.c, g.c->cache, i == 0 ? 1 : 0, more);
        check_number(o, 0, "text", "built");
        check_number(o, 0, "mel", "built");
        check_number(o, 5, "accepted", NULL);
        json_decref(o);
        assert_same_caches(g.c->cache, g.cache);
    }
    close_good(&g);
}

/* Files of an unknown kind in the cache folder are nobody's business. */
static void strangers_are_left_alone(void **state)
{
    Good g;
    open_good(&g, *state, 5);
    const Corpus *c = g.c;
    static const char *const strangers[] = {"notes.txt", "mel-0001.seg.bak", "mel-x.seg", "text-0001.segment",
                                            "melody-0001.seg"};
    restore(&g);
    for (int i = 0; i < 5; i++)
        file_put(path_of(c->cache, strangers[i]), "mine", 4);
    file_put(path_of(c->cache, "rejected.tsv.tmp12345"), "draft", 5);
    file_put(path_of(c->cache, "mel.index.tmp12345"), "draft", 5);
    file_put(path_of(c->cache, "mel-0007.part"), "draft", 5);
    json_t *o = prepare_with(c, c->cache, 0, verify);
    check_number(o, 0, "mel", "built");
    json_decref(o);
    for (int i = 0; i < 5; i++)
        assert_true(file_exists(path_of(c->cache, strangers[i])));
    assert_false(file_exists(path_of(c->cache, "rejected.tsv.tmp12345")));
    assert_false(file_exists(path_of(c->cache, "mel.index.tmp12345")));
    assert_false(file_exists(path_of(c->cache, "mel-0007.part")));
    close_good(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(flipped_bytes_are_found_and_healed),
        T(cut_and_missing_files_are_healed),
        T(lost_index_costs_no_work),
        T(strangers_are_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
