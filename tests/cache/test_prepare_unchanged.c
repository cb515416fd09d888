/* test_prepare_unchanged.c - `prepare` of a dataset that has not changed says what it said before without
 * looking at its records, and every kind of change is noticed all the same. */
#include "support/prepare_testing.h"

#include "cache/prepare.h"
#include "config/config.h"

#define CLIPS 6

/* Whether the next run finds everything as it was. The report is checked against the usual way. */
static int is_unchanged(const Corpus *c, const char *const *more)
{
    json_t *o = prepare_with(c, c->cache, 0, more);
    const int unchanged = json_is_true(json_object_get(o, "unchanged"));
    if (unchanged) {
        const char *args[MAX_ARGS] = {"--verify"};
        for (int i = 0; more[i]; i++)
            args[1 + i] = more[i];
        json_t *checked = prepare_with(c, c->cache, 0, args);
        static const char *const same[] = {"lines",        "accepted",   "rejected",   "reasons",
                                           "tokens",       "limits",     "mel_frames", "unknown_symbols",
                                           "findings",     "recordings", "caches",     "audio_seconds",
                                           "clipped_clips"};
        for (size_t i = 0; i < sizeof same / sizeof *same; i++)
            if (json_object_get(o, same[i]) != json_object_get(checked, same[i]) && /* neither is there */
                !json_equal(json_object_get(o, same[i]), json_object_get(checked, same[i])))
                fail_msg("%s: %s, not %s", same[i], json_dumps(json_object_get(o, same[i]), JSON_ENCODE_ANY),
                         json_dumps(json_object_get(checked, same[i]), JSON_ENCODE_ANY));
        check_number(o, number_at(checked, "text", "reused"), "text", "reused");
        check_number(o, number_at(checked, "mel", "reused"), "mel", "reused");
        check_number(o, 0, "text", "built");
        check_number(o, 0, "mel", "built");
        json_decref(checked);
    }
    json_decref(o);
    return unchanged;
}
#define UNCHANGED(c, ...) is_unchanged(c, (const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

/* As it stays after one usual run. */
static void settle(const Corpus *c)
{
    json_decref(prepare(c, 0, "--num-workers", "2"));
    assert_true(UNCHANGED(c, "--num-workers", "2"));
}

/* The next run notices, and the one after it finds nothing any more. */
static void assert_noticed(const Corpus *c, const char *what)
{
    if (UNCHANGED(c, "--num-workers", "2"))
        fail_msg("not noticed: %s", what);
    if (!UNCHANGED(c, "--num-workers", "2"))
        fail_msg("still noticed: %s", what);
}

static void says_the_same_again(void **state)
{
    Corpus *c = *state;
    corpus_fill(c, CLIPS, 0.3);
    snprintf(c->clips[2].text, sizeof c->clips[2].text, "[laughs] A note, and a \xE2\x98\x83.");
    corpus_write_metadata(c);
    Run first, second;
    json_decref(prepare(c, 0, "--num-workers", "2"));
    run_program(&first, "prepare", "--data-path", c->data, "--cache-dir", c->cache, "--verify");
    json_decref(prepare(c, 0, "--num-workers", "2"));
    run_program(&second, "prepare", "--data-path", c->data, "--cache-dir", c->cache, "--num-workers", "2");
    assert_int_equal(first.code, 1);
    assert_int_equal(second.code, 1);
    assert_non_null(strstr(second.stdout_text.data, "(nothing has changed)"));
    const char *said = strstr(first.stdout_text.data, "recordings"),
               *again = strstr(second.stdout_text.data, "recordings");
    assert_non_null(said);
    assert_non_null(again);
    assert_string_equal(said, again);
    assert_non_null(strstr(again, "[laughs]"));
    run_free(&first);
    run_free(&second);
    settle(c);
    /* What decides neither caches nor findings: the lines are read, and nothing more is done. */
    assert_true(UNCHANGED(c, "--num-workers", "1"));
    assert_true(UNCHANGED(c, "--num-workers", "2"));
}

/* The language of messages is not the dataset's. */
static void says_it_in_another_language(void **state)
{
    Corpus *c = *state;
    Run r;
    corpus_fill(c, CLIPS, 0.3);
    settle(c);
    run_program(&r, "prepare", "--data-path", c->data, "--cache-dir", c->cache, "--num-workers", "2",
                "--messages", "fa");
    assert_non_null(strstr(r.stdout_text.data, "(nothing has changed)"));
    assert_null(strstr(r.stdout_text.data, "\nrecordings\n"));
    run_free(&r);
}

/* A vocoder does not mind that all clips have one text: what was found with its settings is not said of a
 * voice, nor the other way round. */
static void says_it_with_other_settings(void **state)
{
    Corpus *c = *state;
    Run r;
    corpus_fill(c, CLIPS, 0.3);
    for (int i = 0; i < CLIPS; i++)
        snprintf(c->clips[i].text, sizeof c->clips[i].text, "One text.");
    corpus_write_metadata(c);
    settle(c);
    for (int k = 0; k < 4; k++) {
        const int vocoder = k % 2;
        run_program(&r, "prepare", "--data-path", c->data, "--cache-dir", c->cache, "--num-workers", "2",
                    "--network", vocoder ? "vocoder" : "voice");
        assert_non_null(strstr(r.stdout_text.data, "(nothing has changed)"));
        assert_true((strstr(r.stdout_text.data, "1 text between them") == NULL) == vocoder);
        run_free(&r);
    }
}

static void notices_lines(void **state)
{
    Corpus *c = *state;
    corpus_fill(c, CLIPS, 0.3);
    settle(c);
    const char *path = path_of(c->data, "metadata.csv");
    struct stat st;
    /* As long as before, and with the old time. */
    assert_int_equal(stat(path, &st), 0);
    c->clips[1].text[0] ^= 0x20;
    corpus_write_metadata(c);
    assert_int_equal(utimensat(AT_FDCWD, path, (struct timespec[2]){st.st_atim, st.st_mtim}, 0), 0);
    assert_noticed(c, "a letter of a line");
    corpus_add(c, 0.3);
    corpus_write_metadata(c);
    assert_noticed(c, "a new line");
    c->clips[0].removed = 1;
    corpus_write_metadata(c);
    assert_noticed(c, "a line that is gone");
    /* The same bytes in a new file are no change, nor is another path to the folder. */
    corpus_write_metadata(c);
    assert_true(UNCHANGED(c, "--num-workers", "2"));
    Corpus other = *c;
    snprintf(other.data, sizeof other.data, "%s/../data", c->data);
    assert_true(UNCHANGED(&other, "--num-workers", "2"));
}

static void notices_recordings(void **state)
{
    Corpus *c = *state;
    char other[300];
    corpus_fill(c, CLIPS, 0.3);
    settle(c);
    write_wav(clip_path(c, 2), 40, 0.3, 22050, 1);
    assert_noticed(c, "another recording");
    assert_int_equal(utimensat(AT_FDCWD, clip_path(c, 3), NULL, 0), 0);
    assert_noticed(c, "a recording that was touched");
    snprintf(other, sizeof other, "%s.away", clip_path(c, 4));
    assert_int_equal(rename(clip_path(c, 4), other), 0);
    assert_noticed(c, "a recording that is gone");
    assert_int_equal(rename(other, clip_path(c, 4)), 0);
    assert_noticed(c, "a recording that is there again");
    /* What is found first counts. */
    snprintf(other, sizeof other, "%s/wavs/clip00005.flac", c->data);
    assert_int_equal(rename(clip_path(c, 5), other), 0);
    assert_noticed(c, "a recording of another name");
    write_wav(clip_path(c, 5), 41, 0.3, 22050, 1);
    assert_noticed(c, "a recording that comes first");
}

/* What is rejected is looked at again, as always. */
static void notices_what_was_rejected(void **state)
{
    Corpus *c = *state;
    corpus_fill(c, CLIPS, 0.3);
    corpus_add(c, 0);    /* without a recording */
    corpus_add(c, 0.01); /* too short */
    corpus_add(c, 0.3);  /* no sound file */
    file_put(clip_path(c, CLIPS + 2), "none", 4);
    corpus_write_metadata(c);
    settle(c);
    json_t *o = prepare(c, 0, "--num-workers", "2");
    check_number(o, CLIPS, "accepted", NULL);
    check_number(o, 3, "rejected", NULL);
    json_decref(o);
    write_wav(clip_path(c, CLIPS), 42, 0.3, 22050, 1);
    assert_noticed(c, "a recording for a line that had none");
    write_wav(clip_path(c, CLIPS + 1), 43, 0.4, 22050, 1);
    assert_noticed(c, "a longer recording");
    write_wav(clip_path(c, CLIPS + 2), 44, 0.3, 22050, 1);
    assert_noticed(c, "a recording that was none");
}

static void notices_settings(void **state)
{
    Corpus *c = *state;
    corpus_fill(c, CLIPS, 0.3);
    settle(c);
    assert_false(UNCHANGED(c, "--max-text-length", "42"));
    assert_true(UNCHANGED(c, "--max-text-length", "42"));
    assert_false(UNCHANGED(c, "--max-text-length", "500"));
    assert_false(UNCHANGED(c, "--text-cleaners", "basic"));
    assert_false(UNCHANGED(c, "--n-mels", "16"));
    settle(c);
    assert_false(UNCHANGED(c, "--metadata-delimiter", "|"));
    assert_false(UNCHANGED(c, "--stages", "text"));
    assert_true(UNCHANGED(c, "--stages", "text"));
    settle(c);
    /* What was found is about all clips, or about those of each speaker. */
    assert_true(UNCHANGED(c, "--enable-multispeaker", "true"));
}

/* Folders decide where recordings are, and what an id means. */
static void notices_folders(void **state)
{
    Corpus *c = *state;
    corpus_fill(c, CLIPS, 0.3);
    settle(c);
    assert_int_equal(mkdir(path_of(c->data, "wavs/wavs"), 0777), 0);
    assert_noticed(c, "a folder that an id may mean");
    assert_int_equal(rename(path_of(c->data, "wavs"), path_of(c->data, "sounds")), 0);
    json_decref(prepare_with(c, c->cache, 3, (const char *const[]){NULL}));
    assert_int_equal(rename(path_of(c->data, "sounds"), path_of(c->data, "wavs")), 0);
    assert_noticed(c, "the folder that is there again");
}

/* What lies beside the caches is whole again afterwards. */
static void notices_files_of_the_cache(void **state)
{
    static const char *const files[] = {
        "rejected.tsv",     "findings.tsv", "clip.facts",    "text.index",
        "mel.index",        "mel-0001.seg", "text-0001.seg", "prepared-text-mel.state",
        "prepared.findings"};
    Corpus *c = *state;
    corpus_fill(c, CLIPS, 0.3);
    settle(c);
    copy_folder(c->cache, path_of(c->root, "before"));
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[400];
        snprintf(path, sizeof path, "%s", path_of(c->cache, files[i]));
        assert_int_equal(unlink(path), 0);
        /* A store without a segment is damaged, which is said. */
        json_decref(prepare(c, strstr(files[i], ".seg") ? 1 : 0, "--num-workers", "2"));
        if (!file_exists(path) && !strstr(files[i], ".seg"))
            fail_msg("%s is not there again", files[i]);
        settle(c);
        assert_same_stores(c->cache, path_of(c->root, "before"), "mel");
        assert_same_stores(c->cache, path_of(c->root, "before"), "text");
    }
    /* Cut short: the index says how long it was. */
    assert_int_equal(truncate(path_of(c->cache, "rejected.tsv"), 3), 0);
    assert_noticed(c, "a rejected.tsv that was cut");
    /* A byte on the disk is another. */
    FILE *f = fopen(path_of(c->cache, "mel.index"), "r+b");
    assert_non_null(f);
    fseek(f, 200, SEEK_SET);
    fputc('!', f);
    fclose(f);
    json_t *o = prepare(c, 1, "--num-workers", "2");
    check_number(o, 1, "mel", "damaged");
    json_decref(o);
    /* What a killed run left behind is taken away. */
    file_put(path_of(c->cache, "mel-0009.part"), "x", 1);
    assert_noticed(c, "a part that was left behind");
    assert_false(file_exists(path_of(c->cache, "mel-0009.part")));
}

/* With a byte another, or cut short, the notes say nothing, or the truth. They are made anew each time. */
static void damage_notes(const Corpus *c, const char *file, size_t tries, int cut)
{
    char path[400];
    size_t size = tries;
    snprintf(path, sizeof path, "%s", path_of(c->cache, file));
    for (size_t k = 0; k < tries; k++) {
        json_decref(prepare(c, 0, "--num-workers", "2"));
        Buf b = file_bytes(path);
        const size_t at = k * (b.size - 1) / (tries - 1);
        size = b.size;
        b.data[at] ^= 0x41;
        file_put(path, b.data, cut ? at : b.size);
        buf_free(&b);
        is_unchanged(c, (const char *const[]){"--num-workers", "2", NULL});
    }
    print_message("%s: %zu of %zu bytes %s\n", file, tries, size, cut ? "cut" : "changed");
}

static void damaged_notes_do_no_harm(void **state)
{
    Corpus *c = *state;
    corpus_fill(c, CLIPS, 0.3);
    settle(c);
    const size_t tries = is_long() ? 800 : 60;
    damage_notes(c, "prepared-text-mel.state", tries, 0);
    damage_notes(c, "prepared-text-mel.state", tries / 10, 1);
    damage_notes(c, "prepared.findings", tries / 2, 0);
    damage_notes(c, "prepared.findings", tries / 10, 1);
    settle(c);
}

/* Texts in files of their own: all of them are read, nothing is built. */
static void reads_other_layouts(void **state)
{
    Corpus *c = *state;
    corpus_fill(c, CLIPS, 0.3);
    assert_int_equal(unlink(path_of(c->data, "metadata.csv")), 0);
    for (int i = 0; i < CLIPS; i++) {
        char name[60];
        snprintf(name, sizeof name, "wavs/%s.txt", c->clips[i].id);
        file_put(path_of(c->data, name), c->clips[i].text, strlen(c->clips[i].text));
    }
    settle(c);
    file_put(path_of(c->data, "wavs/clip00001.txt"), "Other words.", 12);
    assert_noticed(c, "a text");
    file_put(path_of(c->data, "wavs/clip00090.txt"), "One more.", 9);
    write_wav(path_of(c->data, "wavs/clip00090.wav"), 50, 0.3, 22050, 1);
    assert_noticed(c, "a pair");
}

static void load_config(Config *cfg, Corpus *c, char *val_split)
{
    char *argv[] = {"--data-path",   c->data, "--cache-dir", c->cache,
                    "--num-workers", "2",     "--val-split", val_split};
    Err err = {0};
    assert_int_equal(config_load(cfg, NULL, 8, argv, &err), 0);
}

/* In this process. Returns PrepareReport.unchanged. */
static int prepare_here(const Config *cfg)
{
    Log log;
    Err err = {0};
    PrepareReport report;
    log_init(&log, LOG_ERROR);
    if (prepare_run(cfg, &(PrepareOptions){.text = 1, .mel = 1}, &report, &log, &err))
        fail_msg("%s", err.msg);
    const int unchanged = report.unchanged;
    prepare_report_free(&report);
    return unchanged;
}

/* This one, which might read the lines in another way. */
static void notices_another_program(void **state)
{
    Corpus *c = *state;
    Config cfg;
    corpus_fill(c, CLIPS, 0.3);
    settle(c);
    load_config(&cfg, c, "0.05");
    assert_false(prepare_here(&cfg));
    assert_true(prepare_here(&cfg));
    assert_noticed(c, "another program");
    config_close(&cfg);
}

/* Who trains gets the whole dataset with all its rejections. */
static void keeps_the_dataset(void **state)
{
    Corpus *c = *state;
    corpus_fill(c, CLIPS, 0.3);
    corpus_add(c, 0);
    corpus_write_metadata(c);
    for (int way = 0; way < 4; way++) {
        /* Also where the split is another: it is not what the caches are made of. */
        const int lazily = way > 1;
        Config cfg;
        Log log;
        Err err = {0};
        Dataset kept;
        PrepareReport report;
        const PrepareOptions o = {.text = 1, .mel = 1, .keep = &kept, .keep_changed = lazily};
        log_init(&log, LOG_ERROR);
        load_config(&cfg, c, way == 3 ? "0.2" : "0.05");
        assert_int_equal(prepare_run(&cfg, &o, &report, &log, &err), 0);
        assert_int_equal(report.unchanged, way > 0);
        assert_int_equal(kept.count, lazily ? 0 : CLIPS + 1);
        assert_int_equal(kept.rejected_count, lazily ? 0 : 1);
        assert_true(lazily || kept.rejected[0].reason == REJECT_AUDIO_MISSING);
        assert_true(lazily || strstr(kept.rejected[0].detail, "no file"));
        prepare_report_free(&report);
        dataset_close(&kept);
        config_close(&cfg);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(says_the_same_again),
        T(says_it_in_another_language),
        T(says_it_with_other_settings),
        T(notices_lines),
        T(notices_recordings),
        T(notices_what_was_rejected),
        T(notices_settings),
        T(notices_folders),
        T(notices_files_of_the_cache),
        T(damaged_notes_do_no_harm),
        T(reads_other_layouts),
        T(keeps_the_dataset),
        T(notices_another_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
