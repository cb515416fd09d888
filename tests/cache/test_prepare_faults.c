/* test_prepare_faults.c - a full disk, and the N-th call of the system failing: a sentence, an exit code, the
 * old cache untouched, and a clean run afterwards that gives the very same caches. The calls fail through a
 * preloaded library, tests/faults.so in the build. */
#include "support/prepare_testing.h"

#include <sys/mount.h>

static const char *const more[] = {"--num-workers", "1", "--n-mels", "16", NULL};

/* ---- a full disk ---- */

static int mount_disk(const char *dir, long kib, unsigned long flags)
{
    char options[64];
    snprintf(options, sizeof options, "size=%ldk", kib);
    return mount("myxtts-test", dir, "tmpfs", flags, options);
}

static void assert_old_state_whole(const Corpus *c, const char *store, uint64_t count)
{
    Store s;
    Err err = {0};
    uint64_t other;
    if (store_open(&s, c->cache, store, &err))
        fail_msg("%s", err.msg);
    assert_true(s.count == count);
    uint8_t *damaged = calloc(s.count + 1, 1);
    assert_int_equal(store_verify(&s, damaged, &other, NULL, NULL, &err), 0);
    for (uint64_t i = 0; i < s.count; i++) {
        StoreEntry e;
        store_entry(&s, i, &e);
        assert_true(e.status == 0 && e.id_size == strlen(c->clips[i].id) &&
                    memcmp(e.id, c->clips[i].id, e.id_size) == 0);
    }
    free(damaged);
    store_close(&s);
}

/* What a run that the disk was too small for leaves: either the ten clips from before or all forty. */
static void assert_one_of_both(const Corpus *c, const Run *r, long kib)
{
    if (!strstr(r->stderr_text.data, "No space left") || !strstr(r->stderr_text.data, c->cache) ||
        !strstr(r->stderr_text.data, "hint:"))
        fail_msg("%ld KiB: %s", kib, r->stderr_text.data);
    static const char *const stores[] = {MEL_STORE, TEXT_STORE};
    for (int i = 0; i < 2; i++) {
        Store s;
        int whole = store_open(&s, c->cache, stores[i], NULL) == 0;
        uint64_t count = whole ? s.count : 0;
        store_close(&s);
        if (!whole || (count != 10 && count != 40))
            fail_msg("%ld KiB: %s holds %llu clips", kib, stores[i], (unsigned long long)count);
        assert_old_state_whole(c, stores[i], count);
    }
}

/* From ten clips to forty on disks of many sizes: some too small at once, some too small in the middle, some
 * only for tidying up. */
static void full_disk_leaves_the_old_cache(void **state)
{
    Corpus *c = *state;
    char old[256], want[256];
    snprintf(old, sizeof old, "%s/old", c->root);
    snprintf(want, sizeof want, "%s/want", c->root);
    assert_int_equal(mkdir(c->cache, 0777), 0);
    if (mount_disk(c->cache, 1024, 0)) {
        print_message("SKIPPED: no small disk can be mounted here (%s); a full disk is tried with failing "
                      "writes alone\n",
                      strerror(errno));
        skip();
    }
    assert_int_equal(umount(c->cache), 0);
    corpus_fill(c, 10, 0.3);
    json_decref(prepare_with(c, old, 0, (const char *const[]){NULL}));
    for (int i = 0; i < 30; i++)
        corpus_add(c, 0.3);
    corpus_write_metadata(c);
    copy_folder(old, want);
    json_decref(prepare_with(c, want, 0, (const char *const[]){NULL}));
    int full = 0, enough = 0;
    long step = is_long() ? 12 : 36;
    for (long kib = 116; kib < 760; kib += step) {
        char command[700];
        assert_int_equal(mount_disk(c->cache, kib, 0), 0);
        snprintf(command, sizeof command, "cp -a '%s'/* '%s' 2>/dev/null", old, c->cache);
        if (system(command) == 0) {
            Run r;
            run_program(&r, "prepare", "--data-path", c->data, "--cache-dir", c->cache, "--json");
            if (r.code == 3) {
                full++;
                assert_one_of_both(c, &r, kib);
            } else if (r.code == 0)
                enough++;
            else
                fail_msg("%ld KiB: exit code %d: %s", kib, r.code, r.stderr_text.data);
            run_free(&r);
            assert_int_equal(mount_disk(c->cache, 4096, MS_REMOUNT), 0); /* room is made */
            json_t *o = prepare_with(c, c->cache, 0, (const char *const[]){"--verify", NULL});
            check_number(o, 40, "accepted", NULL);
            json_decref(o);
            assert_same_caches(c->cache, want);
        }
        assert_int_equal(umount(c->cache), 0);
    }
    print_message("%d disks too small, %d large enough\n", full, enough);
    assert_true(full > 2 && enough > 0);
}

/* ---- failing calls ---- */

typedef struct Faults {
    Corpus *c;
    char old[256], want[256], preload[4200];
    int runs, failures, crashes;
} Faults;

/* 0 when the library is not there, or the program does not live with it (it is built with a sanitizer). */
static int open_faults(Faults *f, Corpus *c, int from_old)
{
    *f = (Faults){.c = c};
    const char *library = fault_library();
    if (!library)
        return 0;
    snprintf(f->preload, sizeof f->preload, "LD_PRELOAD=%s", library);
    Run r;
    run_program_env(&r, (const char *const[]){"--help", NULL}, (const char *const[]){f->preload, NULL});
    int usable = r.code == 0 && r.stderr_text.size == 0;
    run_free(&r);
    if (!usable) {
        print_message("SKIPPED: the fault library cannot be loaded into this build of the program\n");
        return 0;
    }
    snprintf(f->old, sizeof f->old, "%s/old", c->root);
    snprintf(f->want, sizeof f->want, "%s/want", c->root);
    corpus_fill(c, 4, 0.15);
    if (from_old) {
        json_decref(prepare_with(c, f->old, 0, more));
        corpus_add(c, 0.15);
        snprintf(c->clips[1].text, sizeof c->clips[1].text, "Another text.");
        corpus_write_metadata(c);
        copy_folder(f->old, f->want);
    } else
        f->old[0] = 0;
    json_decref(prepare_with(c, f->want, 0, more));
    return 1;
}

/* The program with the N-th call of a kind failing; returns its exit code. */
static int run_with_fault(Faults *f, Run *r, const char *kind, long n, const char *const extra[2])
{
    char fault[64];
    const Corpus *c = f->c;
    const char *args[MAX_ARGS] = {"prepare", "--data-path", c->data, "--cache-dir", c->cache, "--json"};
    for (int i = 0; more[i]; i++)
        args[6 + i] = more[i];
    snprintf(fault, sizeof fault, "MYXTTS_FAIL_%s=%ld", kind, n);
    remove_folder(c->cache);
    if (f->old[0])
        copy_folder(f->old, c->cache);
    return run_program_env(r, args, (const char *const[]){f->preload, fault, extra[0], extra[1], NULL});
}

static int count_files(const char *dir)
{
    struct dirent **list;
    int n = scandir(dir, &list, is_kept, alphasort);
    for (int i = 0; i < n; i++)
        free(list[i]);
    free(list);
    return n;
}

/* Memory denied to the libraries too: libsndfile 1.2 dies of it when it reads the header of a WAV, and
 * espeak-ng may. The caches must come out right even then. */
static int is_library_crash(const char *kind, const char *const extra[2], int code)
{
    return strcmp(kind, "MALLOC") == 0 && extra[1] == NULL && (code == -SIGSEGV || code == -SIGABRT);
}

static void try_fault(Faults *f, const char *kind, long n, const char *const extra[2])
{
    const Corpus *c = f->c;
    Run r;
    int code = run_with_fault(f, &r, kind, n, extra);
    f->runs++;
    f->failures += code == 3;
    if (is_library_crash(kind, extra, code))
        f->crashes++;
    else if (code < 0 || code > 3)
        fail_msg("%s number %ld: ended with %d: %s", kind, n, code, r.stderr_text.data);
    if (code >= 2 && !strstr(r.stderr_text.data, "error: "))
        fail_msg("%s number %ld: exit code %d without a sentence: %s", kind, n, code, r.stderr_text.data);
    if ((code == 0 || code == 1) &&
        (strcmp(kind, "MALLOC") != 0 || extra[1])) { /* jansson leaves out what it has no memory for */
        json_t *o = json_loads(r.stdout_text.data, 0, NULL);
        if (!o)
            fail_msg("%s number %ld: exit code %d, but no JSON: %s", kind, n, code, r.stdout_text.data);
        json_decref(o);
    }
    run_free(&r);
    json_t *o = prepare_with(c, c->cache, 0, more);
    check_number(o, c->count, "accepted", NULL);
    json_decref(o);
    assert_same_caches(c->cache, f->want);
    assert_int_equal(count_files(c->cache), count_files(f->want));
}

/* How many calls of a kind the program makes. */
static long count_calls(Faults *f, const char *kind, const char *own)
{
    char count[300], want[32];
    snprintf(count, sizeof count, "MYXTTS_FAIL_COUNT=%s/calls", f->c->root);
    unlink(path_of(f->c->root, "calls"));
    Run r;
    assert_int_equal(run_with_fault(f, &r, kind, 0, (const char *const[2]){count, own}), 0);
    run_free(&r);
    Buf text = file_bytes(path_of(f->c->root, "calls"));
    snprintf(want, sizeof want, "%s ", kind);
    const char *at = strstr(text.data, want);
    assert_non_null(at);
    long n = atol(at + strlen(want));
    buf_free(&text);
    return n;
}

#define MAIN_ONLY "MYXTTS_FAIL_MAIN_ONLY=1"
#define OWN "MYXTTS_FAIL_OWN=1" /* memory: calls from the program's own code */

static void loop(Faults *f, const char *kind, const char *own, long most)
{
    long calls = count_calls(f, kind, own), step = is_long() ? 1 : calls / most + 1;
    print_message("%s%s: %ld calls, every %ld%s\n", kind, own ? "" : " in libraries too", calls, step,
                  f->old[0] ? ", from an old state" : "");
    assert_true(calls > 0);
    for (long n = 1; n <= calls; n += step)
        try_fault(f, kind, n, (const char *const[2]){MAIN_ONLY, own});
}

static void run_loops(Corpus *c, int from_old)
{
    Faults f;
    if (!open_faults(&f, c, from_old))
        skip();
    loop(&f, "WRITE", OWN, 20);
    loop(&f, "FSYNC", OWN, 20);
    loop(&f, "RENAME", OWN, 20);
    loop(&f, "OPEN", OWN, 25);
    loop(&f, "READ", OWN, 25);
    loop(&f, "MALLOC", OWN, 40);
    loop(&f, "MALLOC", NULL, 20);
    print_message("%d runs, %d of them ended with an error, %d inside a library\n", f.runs, f.failures,
                  f.crashes);
    assert_true(f.failures > 10);
}

static void failing_calls_in_a_first_build(void **state) { run_loops(*state, 0); }
static void failing_calls_in_an_incremental_build(void **state) { run_loops(*state, 1); }

/* In the worker processes (and the program itself): at most a line is lost, or the run ends with a sentence.
 */
static void failing_calls_in_workers(void **state)
{
    Faults f;
    if (!open_faults(&f, *state, 0))
        skip();
    for (long n = 1; n < 4000; n += is_long() ? 13 : 97 + n / 8)
        try_fault(&f, "MALLOC", n, (const char *const[2]){NULL, NULL});
    for (long n = 1; n < 40; n += is_long() ? 1 : 5)
        try_fault(&f, "OPEN", n, (const char *const[2]){NULL, NULL});
}

/* Every write from the N-th on fails, as on a disk that stays full. */
static void no_write_succeeds_any_more(void **state)
{
    Faults f;
    if (!open_faults(&f, *state, 1))
        skip();
    const char *const sticky[2] = {"MYXTTS_FAIL_STICKY=1", NULL};
    long calls = count_calls(&f, "WRITE", NULL);
    for (long n = 1; n <= calls; n++) {
        Run r;
        int code = run_with_fault(&f, &r, "WRITE", n, sticky);
        if (code == 3 && !strstr(r.stderr_text.data, "No space left"))
            fail_msg("write %ld: %s", n, r.stderr_text.data);
        /* The last ones are of files that only save time. */
        if (n == 1)
            assert_int_equal(code, 3);
        run_free(&r);
        try_fault(&f, "WRITE", n, sticky);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(full_disk_leaves_the_old_cache),
        T(failing_calls_in_a_first_build),
        T(failing_calls_in_an_incremental_build),
        T(failing_calls_in_workers),
        T(no_write_succeeds_any_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
