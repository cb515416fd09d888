/* test_prepare_places.c - two runs at once, folders that cannot be written, `info` and `inspect`. */
#include "support/command_testing.h"
#include "support/prepare_testing.h"

#include <sys/mount.h>

/* ---- settings side by side ---- */

/* How many caches the folder holds, by what `info` lists, and how many of them these settings do not use. */
static int listed(const Corpus *c, int *others, const char *const *more)
{
    const char *args[MAX_ARGS] = {"info", "--data-path", c->data, "--cache-dir", c->cache, "--json"};
    for (int i = 0; more[i]; i++)
        args[6 + i] = more[i];
    Run r;
    run_program_env(&r, args, NULL);
    json_t *o = json_loads(r.stdout_text.data, 0, NULL), *p;
    assert_non_null(o);
    size_t i;
    *others = 0;
    json_array_foreach(json_object_get(o, "caches"), i, p)
    {
        assert_true(json_integer_value(json_object_get(p, "bytes")) > 0);
        *others += json_is_false(json_object_get(p, "current"));
    }
    json_decref(o);
    run_free(&r);
    return (int)i;
}

static void caches_of_other_settings_stay(void **state)
{
    Corpus *c = *state;
    int others;
    const char *const none[] = {NULL}, *const rate[] = {"--sample-rate", "16000", NULL};
    corpus_fill(c, 5, 0.3);
    expect_built(c, 5, 5, "--num-workers", "1");
    copy_folder(c->cache, path_of(c->root, "first"));
    expect_built(c, 0, 5, "--sample-rate", "16000");
    expect_failure(3, ARGS("prepare", "--data-path", c->data, "--cache-dir", c->cache, "--language", "xx"),
                   WORDS("no voice 'xx'"), NULL); /* no line can be used; nothing is written */
    assert_int_equal(listed(c, &others, none), 3);
    assert_int_equal(others, 1);
    expect_built(c, 0, 0, "--num-workers", "1");
    assert_same_caches(c->cache, path_of(c->root, "first"));
    expect_built(c, 0, 0, "--sample-rate", "16000");
    /* Removes what these settings do not use, and says it. */
    json_t *o = prepare(c, 0, "--sample-rate", "16000", "--prune");
    assert_true(json_integer_value(json_object_get(o, "freed_bytes")) > 1000);
    json_decref(o);
    assert_int_equal(listed(c, &others, rate), 2);
    assert_int_equal(others, 0);
    expect_built(c, 0, 0, "--sample-rate", "16000");
    expect_built(c, 0, 5, "--num-workers", "1");
    assert_int_equal(listed(c, &others, none), 3);
    assert_verified(c, c->cache);
}

/* ---- two at once ---- */

static void two_runs_at_once(void **state)
{
    Corpus *c = *state;
    corpus_fill(c, 800, 0.12);
    char want[256];
    snprintf(want, sizeof want, "%s/want", c->root);
    json_decref(prepare_with(c, want, 0, (const char *const[]){NULL}));
    int waited = 0;
    for (int tries = 0; tries < 5; tries++) {
        remove_folder(c->cache);
        const char *const args[] = {"prepare",       "--data-path", c->data,  "--cache-dir", c->cache,
                                    "--num-workers", "1",           "--json", NULL};
        Run r[3];
        for (int i = 0; i < 3; i++)
            run_start(&r[i], args, NULL);
        int64_t built = 0;
        for (int i = 0; i < 3; i++) {
            run_wait(&r[i], 120);
            if (r[i].code != 0)
                fail_msg("exit code %d: %s", r[i].code, r[i].stderr_text.data);
            json_t *o = json_loads(r[i].stdout_text.data, 0, NULL);
            assert_non_null(o);
            check_number(o, 800, "accepted", NULL);
            built += number_at(o, "mel", "built") + number_at(o, "text", "built");
            json_decref(o);
            char *says = strstr(r[i].stderr_text.data, "another run (process ");
            if (says) { /* and it names the one it waits for */
                int holder = atoi(says + strlen("another run (process "));
                assert_true(holder == r[0].pid || holder == r[1].pid || holder == r[2].pid);
                assert_true(holder != r[i].pid);
                waited++;
            }
            run_free(&r[i]);
        }
        assert_int_equal(built, 1600); /* nothing was built twice */
        assert_same_folders(c->cache, want);
    }
    assert_true(waited >= 2);
}

/* A run that waited reads the metadata again: it may have changed meanwhile. */
static void waiting_run_sees_new_lines(void **state)
{
    Corpus *c = *state;
    corpus_fill(c, 3, 0.3);
    assert_int_equal(mkdir(c->cache, 0777), 0);
    FileLock lock;
    assert_int_equal(file_lock(&lock, path_of(c->cache, "lock"), 0, NULL, NULL), 0);
    Run r;
    const char *const args[] = {"prepare", "--data-path", c->data, "--cache-dir", c->cache, "--json", NULL};
    run_start(&r, args, NULL);
    char piece[4096];
    ssize_t n = read(r.err, piece, sizeof piece - 1); /* blocks until it says that it waits */
    assert_true(n > 0);
    piece[n] = 0;
    assert_non_null(strstr(piece, "waiting"));
    corpus_add(c, 0.3);
    corpus_write_metadata(c);
    file_unlock(&lock);
    run_wait(&r, 60);
    assert_int_equal(r.code, 0);
    json_t *o = json_loads(r.stdout_text.data, 0, NULL);
    check_number(o, 4, "accepted", NULL);
    json_decref(o);
    run_free(&r);
}

/* ---- folders that cannot be written ---- */

static void read_only_dataset(void **state)
{
    Corpus *c = *state;
    corpus_fill(c, 3, 0.3);
    int mounted = mount(c->data, c->data, NULL, MS_BIND, NULL) == 0;
    if (mounted && mount(NULL, c->data, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL)) {
        umount(c->data);
        mounted = 0;
    }
    if (!mounted) {
        if (geteuid() == 0) {
            print_message("SKIPPED: no read-only folder can be mounted here (%s)\n", strerror(errno));
            skip();
        }
        assert_int_equal(chmod(c->data, 0555), 0); /* enough for anybody but root */
    }
    Run bare, elsewhere, info;
    run_program(&bare, "prepare", "--data-path", c->data);
    run_program(&elsewhere, "prepare", "--data-path", c->data, "--cache-dir", c->cache, "--json");
    run_program(&info, "info", "--data-path", c->data);
    if (mounted)
        umount(c->data);
    else
        chmod(c->data, 0755);
    assert_int_equal(bare.code, 3);
    assert_non_null(strstr(bare.stderr_text.data, "hint:"));
    assert_non_null(strstr(bare.stderr_text.data, "--cache-dir"));
    if (elsewhere.code != 0)
        fail_msg("with --cache-dir: %s", elsewhere.stderr_text.data);
    assert_int_equal(info.code, 0);
    run_free(&bare);
    run_free(&elsewhere);
    run_free(&info);
    assert_same_caches(c->cache, prepare_fresh(c, "fresh"));
}

static void cache_dir_that_is_no_folder(void **state)
{
    Corpus *c = *state;
    corpus_fill(c, 2, 0.3);
    file_put(c->cache, "a file", 6);
    Run r;
    assert_int_equal(run_program(&r, "prepare", "--data-path", c->data, "--cache-dir", c->cache), 3);
    assert_non_null(strstr(r.stderr_text.data, c->cache));
    run_free(&r);
    assert_int_equal(
        run_program(&r, "prepare", "--data-path", c->data, "--cache-dir", path_of(c->cache, "below")), 3);
    run_free(&r);
    json_decref(
        prepare_with(c, path_of(c->root, "a/b/c"), 0, (const char *const[]){NULL})); /* folders are made */
}

/* ---- info ---- */

static void info_counts(void **state)
{
    Corpus *c = *state;
    corpus_fill(c, 6, 0.5); /* 0.50 .. 0.55 s */
    FILE *f = fopen(path_of(c->data, "metadata.csv"), "wb");
    fprintf(f, "id|text|speaker|language\n");
    for (int i = 0; i < 6; i++)
        fprintf(f, "%s|%s|%s|%s\n", c->clips[i].id, c->clips[i].text, i % 3 ? "anna" : "bert",
                i < 2 ? "de" : "en");
    fclose(f);
    char command[512];
    copy_folder(c->data, path_of(c->root, "before"));
    Run r;
    assert_int_equal(run_program(&r, "info", "--data-path", c->data, "--json"), 0);
    json_t *o = json_loads(r.stdout_text.data, 0, NULL);
    assert_non_null(o);
    check_number(o, 6, "clips", NULL);
    check_number(o, 6, "lines", NULL);
    check_number(o, 0, "rejected", NULL);
    assert_float_equal(json_real_value(json_object_get(o, "seconds")), 3.15, 0.001);
    assert_float_equal(json_real_value(json_object_get(o, "hours")), 3.15 / 3600, 1e-6);
    const json_t *speakers = json_object_get(o, "speakers"), *languages = json_object_get(o, "languages");
    assert_int_equal(json_array_size(speakers), 2);
    assert_string_equal(json_string_value(json_object_get(json_array_get(speakers, 0), "name")), "anna");
    assert_int_equal(json_integer_value(json_object_get(json_array_get(speakers, 0), "clips")), 4);
    assert_int_equal(json_array_size(languages), 2);
    assert_float_equal(json_real_value(json_object_get(json_object_get(o, "clip_seconds"), "max")), 0.55,
                       0.001);
    json_decref(o);
    run_free(&r);
    assert_int_equal(run_program(&r, "info", "--data-path", c->data), 0);
    const char *const lines[] = {
        "6 clips", "anna", "bert", "clip length", "text length", "22050 Hz, 1 channel", "\xE2\x96\x88"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (!strstr(r.stdout_text.data, lines[i]))
            fail_msg("no '%s' in: %s", lines[i], r.stdout_text.data);
    run_free(&r);
    snprintf(command, sizeof command, "diff -r '%s' '%s/before'", c->data, c->root); /* nothing was written */
    assert_int_equal(system(command), 0);
}

static void info_tells_rejections(void **state)
{
    Corpus *c = *state;
    corpus_fill(c, 5, 0.5);
    file_put(clip_path(c, 2), "not a sound", 11);
    unlink(clip_path(c, 4));
    Run r;
    assert_int_equal(run_program(&r, "info", "--data-path", c->data, "--json"), 1);
    json_t *o = json_loads(r.stdout_text.data, 0, NULL);
    check_number(o, 3, "clips", NULL);
    check_number(o, 2, "rejected", NULL);
    check_number(o, 1, "reasons", "audio_unreadable");
    check_number(o, 1, "reasons", "audio_missing");
    const json_t *first = json_array_get(json_object_get(o, "rejected_lines"), 0);
    assert_int_equal(json_integer_value(json_object_get(first, "line")), 3);
    assert_string_equal(json_string_value(json_object_get(first, "id")), c->clips[2].id);
    json_decref(o);
    run_free(&r);
    assert_int_equal(run_program(&r, "info", "--data-path", c->data), 1);
    assert_non_null(strstr(r.stdout_text.data, "audio_missing"));
    assert_non_null(strstr(r.stdout_text.data, "metadata.csv:5"));
    run_free(&r);
    for (int i = 0; i < 5; i++)
        unlink(clip_path(c, i));
    assert_int_equal(run_program(&r, "info", "--data-path", c->data, "--json"), 1); /* not one clip left */
    o = json_loads(r.stdout_text.data, 0, NULL);
    assert_non_null(o);
    check_number(o, 0, "clips", NULL);
    json_decref(o);
    run_free(&r);
    assert_int_equal(run_program(&r, "info", "--data-path", c->data), 1);
    run_free(&r);
    assert_int_equal(run_program(&r, "info"), 2);
    run_free(&r);
    assert_int_equal(run_program(&r, "info", "--data-path", path_of(c->root, "nowhere")), 3);
    run_free(&r);
}

/* ---- inspect ---- */

static json_t *inspect(const char *path, const char *id, int code)
{
    Run r;
    run_program_env(&r, (const char *const[]){"inspect", path, "--json", id ? "--utterance" : NULL, id, NULL},
                    NULL);
    if (r.code != code)
        fail_msg("inspect %s: exit code %d: %s", path, r.code, r.stderr_text.data);
    if (code >= 2) {
        assert_int_equal(r.stdout_text.size, 0);
        assert_non_null(strstr(r.stderr_text.data, "error: "));
    }
    json_t *o = json_loads(r.stdout_text.data, 0, NULL);
    run_free(&r);
    return o;
}

static void inspect_shows_what_is_there(void **state)
{
    Corpus *c = *state;
    corpus_fill(c, 4, 0.4);
    corpus_add(c, 0.4);
    Buf silence = file_bytes(clip_path(c, 4));
    memset(silence.data + 44, 0, silence.size - 44);
    file_put(clip_path(c, 4), silence.data, silence.size);
    buf_free(&silence);
    corpus_write_metadata(c);
    json_decref(prepare(c, 0, "--mel-storage", "float16"));
    json_t *o = inspect(c->cache, NULL, 0);
    check_number(o, 5, "text", "utterances");
    check_number(o, 0, "text", "rejected");
    check_number(o, 1, "mel", "rejected");
    check_number(o, 4, "mel", "utterances");
    check_number(o, 1, "mel", "segments");
    assert_int_equal(json_integer_value(
                         json_object_get(json_object_get(json_object_get(o, "mel"), "statistics"), "bands")),
                     80);
    assert_int_equal(
        json_array_size(json_object_get(json_object_get(json_object_get(o, "mel"), "statistics"), "mean")),
        80);
    json_decref(o);
    o = inspect(c->cache, c->clips[2].id, 0);
    const json_t *text = json_object_get(json_object_get(o, "text"), "utterance"),
                 *mel = json_object_get(json_object_get(o, "mel"), "utterance");
    assert_string_equal(json_string_value(json_object_get(text, "language")), "en");
    assert_string_equal(json_string_value(json_object_get(text, "cleaned")), c->clips[2].text);
    const json_t *tokens = json_object_get(text, "tokens");
    assert_int_equal(json_integer_value(json_array_get(tokens, 0)), 1);
    assert_int_equal(json_integer_value(json_array_get(tokens, json_array_size(tokens) - 1)), 2);
    assert_string_equal(json_string_value(json_object_get(mel, "storage")), "float16");
    assert_float_equal(json_real_value(json_object_get(mel, "source_seconds")), 0.42, 0.001);
    assert_true(json_integer_value(json_object_get(mel, "frames")) > 10);
    json_decref(o);
    o = inspect(c->cache, c->clips[4].id, 0);
    mel = json_object_get(json_object_get(o, "mel"), "utterance");
    assert_string_equal(json_string_value(json_object_get(mel, "rejected")), "audio_silent");
    json_decref(o);
    o = inspect(path_of(c->cache, "mel.index"), c->clips[1].id, 0);
    assert_null(json_object_get(o, "text"));
    check_number(o, 4, "mel", "utterances");
    json_decref(o);
    o = inspect(path_of(c->cache, "text-0001.seg"), NULL, 0);
    check_number(o, 5, "text", "utterances");
    json_decref(o);
    json_decref(inspect(c->cache, "nobody", 1));
    inspect(path_of(c->cache, "rejected.tsv"), NULL, 3);
    inspect(path_of(c->root, "nowhere"), NULL, 3);
    inspect(c->data, NULL, 3); /* a folder without a cache */
    Run r;
    assert_int_equal(run_program(&r, "inspect", c->cache, "--utterance", c->clips[0].id),
                     0); /* and for people */
    assert_non_null(strstr(r.stdout_text.data, "phonemes"));
    assert_non_null(strstr(r.stdout_text.data, c->clips[0].text));
    run_free(&r);
    assert_int_equal(run_program(&r, "inspect"), 2);
    run_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(caches_of_other_settings_stay), T(two_runs_at_once),
        T(waiting_run_sees_new_lines),    T(read_only_dataset),
        T(cache_dir_that_is_no_folder),   T(info_counts),
        T(info_tells_rejections),         T(inspect_shows_what_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
