/* test_prepare.c - what `myxtts prepare` builds, and what it leaves alone: incremental runs, settings,
 * workers. */
#include "support/prepare_testing.h"

#include <sndfile.h>

#define CLIPS 9

static void edit(Corpus *c, int i, const char *text)
{
    snprintf(c->clips[i].text, sizeof c->clips[i].text, "%s", text);
    corpus_write_metadata(c);
}

static void first_builds_all_and_second_nothing(void **state)
{
    Corpus *c = *state;
    corpus_fill(c, CLIPS, 0.3);
    json_t *o = prepare(c, 0, "--num-workers", "2");
    check_number(o, CLIPS, "accepted", NULL);
    check_number(o, 0, "rejected", NULL);
    check_number(o, CLIPS, "text", "built");
    check_number(o, 0, "text", "reused");
    check_number(o, CLIPS, "mel", "built");
    assert_true(json_is_real(json_object_get(json_object_get(o, "text"), "seconds")));
    json_decref(o);
    copy_folder(c->cache, path_of(c->root, "before"));
    o = prepare(c, 0, "--num-workers", "2");
    check_number(o, 0, "text", "built");
    check_number(o, CLIPS, "text", "reused");
    check_number(o, 0, "mel", "built");
    check_number(o, CLIPS, "mel", "reused");
    check_number(o, CLIPS, "accepted", NULL);
    json_decref(o);
    assert_same_folders(c->cache, path_of(c->root, "before"));
}

static void edited_line_builds_one_text(void **state)
{
    Corpus *c = *state;
    corpus_fill(c, CLIPS, 0.3);
    expect_built(c, CLIPS, CLIPS, "--num-workers", "1");
    edit(c, 4, "Something else was written here.");
    expect_built(c, 1, 0, "--num-workers", "1");
    expect_built(c, 0, 0, "--num-workers", "1");
    assert_verified(c, c->cache);
    assert_same_caches(c->cache, prepare_fresh(c, "fresh"));
}

static void replaced_audio_builds_one_mel(void **state)
{
    Corpus *c = *state;
    corpus_fill(c, CLIPS, 0.3);
    expect_built(c, CLIPS, CLIPS, "--num-workers", "1");
    write_wav(clip_path(c, 2), 40, 0.4, 22050, 1);
    expect_built(c, 0, 1, "--num-workers", "1");
    expect_built(c, 0, 0, "--num-workers", "1");
    assert_verified(c, c->cache);
    assert_same_caches(c->cache, prepare_fresh(c, "fresh"));
}

/* The same size and the old times: only the time of the last change of the inode tells. */
static void replaced_audio_of_same_size_and_time(void **state)
{
    Corpus *c = *state;
    corpus_fill(c, CLIPS, 0.3);
    expect_built(c, CLIPS, CLIPS, "--num-workers", "1");
    struct stat before, after;
    char path[512];
    snprintf(path, sizeof path, "%s", clip_path(c, 3));
    assert_int_equal(stat(path, &before), 0);
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    fseek(f, 5000, SEEK_SET);
    fwrite("\x55\x12\x23\x44", 1, 4, f);
    fclose(f);
    struct timespec times[2] = {before.st_atim, before.st_mtim};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(before.st_size, after.st_size);
    assert_int_equal(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
    expect_built(c, 0, 1, "--num-workers", "1");
    expect_built(c, 0, 0, "--num-workers", "1");
}

static void touched_audio_builds_nothing(void **state)
{
    Corpus *c = *state;
    corpus_fill(c, CLIPS, 0.3);
    expect_built(c, CLIPS, CLIPS, "--num-workers", "1");
    for (int i = 0; i < CLIPS; i++)
        assert_int_equal(utimensat(AT_FDCWD, clip_path(c, i), NULL, 0), 0);
    json_t *o = prepare(c, 0, "--num-workers", "1");
    check_number(o, 0, "mel", "built");
    check_number(o, CLIPS, "mel", "reused");
    check_number(o, 0, "text", "built");
    json_decref(o);
    copy_folder(c->cache, path_of(c->root, "before"));
    expect_built(c, 0, 0, "--num-workers", "1");
    assert_same_folders(
        c->cache,
        path_of(c->root, "before")); /* the new stamps were kept: not even the index is written again */
    assert_same_caches(c->cache, prepare_fresh(c, "fresh"));
}

static void added_clip_builds_itself(void **state)
{
    Corpus *c = *state;
    corpus_fill(c, CLIPS, 0.3);
    expect_built(c, CLIPS, CLIPS, "--num-workers", "2");
    corpus_add(c, 0.35);
    corpus_write_metadata(c);
    expect_built(c, 1, 1, "--num-workers", "2");
    assert_verified(c, c->cache);
    assert_same_caches(c->cache, prepare_fresh(c, "fresh"));
}

static void removed_line_leaves_the_index(void **state)
{
    Corpus *c = *state;
    corpus_fill(c, CLIPS, 0.3);
    expect_built(c, CLIPS, CLIPS, "--num-workers", "1");
    c->clips[5].removed = 1;
    corpus_write_metadata(c);
    expect_built(c, 0, 0, "--num-workers", "1");
    const char *const stores[] = {TEXT_STORE, MEL_STORE};
    for (int i = 0; i < 2; i++) {
        Store s;
        assert_int_equal(store_open(&s, c->cache, stores[i], NULL), 0);
        assert_int_equal(s.count, CLIPS - 1);
        assert_int_equal(store_find(&s, c->clips[5].id, (uint32_t)strlen(c->clips[5].id)), -1);
        assert_true(store_find(&s, c->clips[6].id, (uint32_t)strlen(c->clips[6].id)) >= 0);
        store_close(&s);
    }
    assert_verified(c, c->cache);
    assert_same_caches(c->cache, prepare_fresh(c, "fresh"));
}

static void reordered_lines_build_nothing(void **state)
{
    Corpus *c = *state;
    corpus_fill(c, CLIPS, 0.3);
    expect_built(c, CLIPS, CLIPS, "--num-workers", "1");
    Clip first = c->clips[0];
    c->clips[0] = c->clips[CLIPS - 1];
    c->clips[CLIPS - 1] = first;
    corpus_write_metadata(c);
    expect_built(c, 0, 0, "--num-workers", "1");
    assert_verified(c, c->cache);
}

/* Which stages a setting touches. */
static const struct {
    const char *option, *value;
    int text, mel; /* 1: every clip is rebuilt */
} settings[] = {
    {"--add-blank", "true", 1, 0},
    {"--language", "de", 1, 0},
    {"--text-cleaners", "basic", 1, 0},
    {"--use-phonemes", "false", 1, 0},
    {"--phoneme-language", "en-gb", 1, 0},
    {"--n-mels", "64", 0, 1},
    {"--trim-top-db", "30", 0, 1},
    {"--trim-silence", "false", 0, 1},
    {"--mel-storage", "float16", 0, 1},
    {"--hop-length", "200", 0, 1},
    {"--sample-rate", "16000", 0, 1},
    {"--target-loudness-lufs", "-20", 0, 1},
    {"--enable-loudness-normalization", "false", 0, 1},
    {"--batch-size", "7", 0, 0},
    {"--num-workers", "3", 0, 0},
    {"--max-text-length", "400", 0, 0},
    {"--max-mel-frames", "900", 0, 0},
    {"--max-audio-length", "20", 0, 0},
    {"--min-audio-length", "0.2", 0, 0},
    {"--seed", "99", 0, 0},
    {"--val-split", "0.5", 0, 0},
    {"--phoneme-timeout-ms", "4000", 0, 0},
    {"--learning-rate", "0.01", 0, 0},
    {"--model-size", "small", 0, 0},
    {"--cache-verification", "full", 0, 0},
};

static void settings_touch_their_stages_only(void **state)
{
    Corpus *c = *state;
    corpus_fill(c, CLIPS, 0.3);
    expect_built(c, CLIPS, CLIPS, "--num-workers", "1");
    copy_folder(c->cache, path_of(c->root, "first"));
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        const char *option = settings[i].option, *value = settings[i].value;
        json_t *o = prepare(c, 0, option, value);
        if (number_at(o, "text", "built") != settings[i].text * CLIPS ||
            number_at(o, "mel", "built") != settings[i].mel * CLIPS)
            fail_msg("%s %s: text built %lld, mel built %lld", option, value,
                     (long long)number_at(o, "text", "built"), (long long)number_at(o, "mel", "built"));
        json_decref(o);
        expect_built(c, 0, 0, option, value);
        expect_built(c, 0, 0, "--num-workers", "1"); /* and back: both are there, side by side */
        assert_same_caches(c->cache, path_of(c->root, "first"));
    }
}

static void limits_choose_and_build_nothing(void **state)
{
    Corpus *c = *state;
    corpus_fill(c, CLIPS, 0.3); /* 0.30 .. 0.36 s */
    edit(c, 1, "One.");
    expect_built(c, CLIPS, CLIPS, "--num-workers", "1");
    static const struct {
        const char *option, *value, *reason;
        int rejected;
    } limits[] = {
        {"--max-text-length", "20", "text_too_long", CLIPS - 1},
        {"--max-audio-length", "0.335", "audio_too_long", 3}, /* clips 4, 5, 6: 0.34, 0.35, 0.36 s */
        {"--min-audio-length", "0.345", "audio_too_short", 7},
        {"--max-mel-frames", "25", "mel_too_long", 0}, /* filled in below */
    };
    for (int i = 0; i < 4; i++) {
        json_t *o = prepare(c, 0, limits[i].option, limits[i].value, "--num-workers", "1");
        check_number(o, 0, "text", "built");
        check_number(o, 0, "mel", "built");
        int64_t rejected = number_at(o, "rejected", NULL);
        if (i < 3)
            check_number(o, limits[i].rejected, "rejected", NULL);
        else
            assert_true(rejected > 0 && rejected < CLIPS);
        check_number(o, rejected, "reasons", limits[i].reason);
        check_number(o, CLIPS - rejected, "accepted", NULL);
        json_decref(o);
    }
    json_t *o = prepare(c, 0, "--num-workers", "1");
    check_number(o, CLIPS, "accepted", NULL);
    check_number(o, 0, "text", "built");
    check_number(o, 0, "mel", "built");
    json_decref(o);
}

/* A clip of exactly the least length is long enough, in a first run and in a second one. */
/* Mean and deviation are those of the clips that are accepted now, whatever was built before. */
static void statistics_forget_earlier_runs(void **state)
{
    Corpus *c = *state;
    corpus_fill(c, CLIPS, 0.3);
    json_decref(prepare(c, 0, "--num-workers", "1"));
    Store before, grown, fresh;
    Err err = {0};
    assert_int_equal(store_open(&before, c->cache, MEL_STORE, &err), 0);
    json_decref(prepare(c, 0, "--max-audio-length", "0.335"));
    const char *dir = path_of(c->root, "fresh");
    json_decref(prepare_with(c, dir, 0, (const char *const[]){"--max-audio-length", "0.335", NULL}));
    assert_int_equal(store_open(&grown, c->cache, MEL_STORE, &err), 0);
    assert_int_equal(store_open(&fresh, dir, MEL_STORE, &err), 0);
    assert_int_equal(grown.blob_size, fresh.blob_size);
    assert_memory_equal(grown.blob, fresh.blob, fresh.blob_size);
    assert_memory_not_equal(grown.blob, before.blob, before.blob_size);
    store_close(&before);
    store_close(&grown);
    store_close(&fresh);
}

static void exact_limits_hold(void **state)
{
    Corpus *c = *state;
    corpus_add(c, 0.29);
    corpus_write_metadata(c);
    write_wav(clip_path(c, 0), 1, 0.29, 44100, 1);
    for (int i = 0; i < 2; i++) {
        json_t *o = prepare(c, 0, "--min-audio-length", "0.29");
        check_number(o, 1, "accepted", NULL);
        json_decref(o);
    }
}

/* The length of an OGG is certain only after decoding; what was too long then is looked at again when the
 * limit is raised. */
static void raised_limit_takes_up_ogg(void **state)
{
    Corpus *c = *state;
    corpus_fill(c, 2, 0.3);
    SF_INFO info = {.samplerate = 22050, .channels = 1, .format = SF_FORMAT_OGG | SF_FORMAT_VORBIS};
    SNDFILE *f = sf_open(path_of(c->data, "wavs/long.ogg"), SFM_WRITE, &info);
    assert_non_null(f);
    static float tone[22050];
    for (int i = 0; i < 22050; i++)
        tone[i] = 0.3f * (float)sin(0.05 * i);
    assert_int_equal(sf_writef_float(f, tone, 22050), 22050);
    assert_int_equal(sf_writef_float(f, tone, 11025), 11025);
    sf_close(f);
    snprintf(c->clips[c->count].id, sizeof c->clips[0].id, "long");
    snprintf(c->clips[c->count++].text, sizeof c->clips[0].text, "A longer one.");
    corpus_write_metadata(c);
    json_t *o = prepare(c, 0, "--max-audio-length", "1.2");
    check_number(o, 2, "accepted", NULL);
    check_number(o, 1, "reasons", "audio_too_long");
    json_decref(o);
    o = prepare(c, 0, "--max-audio-length", "2");
    check_number(o, 3, "accepted", NULL);
    check_number(o, 1, "mel", "built");
    json_decref(o);
}

static void eval_file_joins_the_train_file(void **state)
{
    Corpus *c = *state;
    corpus_fill(c, CLIPS, 0.3);
    expect_built(c, CLIPS, CLIPS, "--num-workers", "1");
    corpus_add(c, 0.3);
    char line[256];
    snprintf(line, sizeof line, "%s|%s\n%s|%s\n", c->clips[CLIPS].id, c->clips[CLIPS].text, c->clips[0].id,
             "Twice.");
    file_put(path_of(c->data, "eval.csv"), line, strlen(line));
    json_t *o = prepare(c, 0, "--metadata-eval-file", "eval.csv");
    check_number(o, 1, "text", "built");
    check_number(o, 1, "mel", "built");
    check_number(o, CLIPS + 1, "accepted", NULL);
    check_number(o, 1, "reasons", "duplicate_id");
    json_decref(o);
    Buf tsv = file_bytes(path_of(c->cache, "rejected.tsv"));
    assert_non_null(strstr(tsv.data, "eval.csv\t2\tclip00000\tduplicate_id"));
    buf_free(&tsv);
    expect_built(c, 0, 0, "--num-workers", "1"); /* without it the clip is gone */
    expect_built(c, 1, 1, "--metadata-eval-file", "eval.csv");
}

static void stages_run_alone(void **state)
{
    Corpus *c = *state;
    corpus_fill(c, CLIPS, 0.3);
    expect_built(c, CLIPS, 0, "--stages", "text");
    expect_built(c, 0, CLIPS, "--stages", "mel");
    expect_built(c, 0, 0, "--stages", "all");
    assert_same_folders(c->cache, prepare_fresh(c, "fresh"));
    Run r;
    assert_int_equal(run_program(&r, "prepare", "--data-path", c->data, "--stages", "sound"), 2);
    assert_non_null(strstr(r.stderr_text.data, "sound"));
    run_free(&r);
}

static void workers_change_no_byte(void **state)
{
    Corpus *c = *state;
    corpus_fill(c, 60, 0.15);
    static const char *const workers[] = {"0", "1", "2", "4"};
    for (int i = 0; i < 4; i++) {
        char dir[64];
        snprintf(dir, sizeof dir, "cache%s", workers[i]);
        json_t *o = prepare_with(c, path_of(c->root, dir), 0,
                                 (const char *const[]){"--num-workers", workers[i], NULL});
        check_number(o, 60, "accepted", NULL);
        json_decref(o);
        assert_same_folders(path_of(c->root, dir), path_of(c->root, "cache0"));
    }
}

/* Nothing is spoken before every header has been looked at, and a clip without audio costs no phonemes. */
static void missing_audio_costs_nothing(void **state)
{
    Corpus *c = *state;
    corpus_fill(c, CLIPS, 0.3);
    unlink(clip_path(c, 3));
    json_t *o = prepare(c, 0, "--num-workers", "1");
    check_number(o, CLIPS - 1, "text", "built");
    check_number(o, CLIPS - 1, "mel", "built");
    check_number(o, 1, "reasons", "audio_missing");
    json_decref(o);
    write_wav(clip_path(c, 3), 3, 0.33, 22050, 1);
    expect_built(c, 1, 1, "--num-workers", "1");
    assert_verified(c, c->cache);
}

/* A language without a voice is looked for again each time: the voice may have been installed. */
static void unknown_language_is_tried_again(void **state)
{
    Corpus *c = *state;
    corpus_fill(c, 2, 0.3);
    const char text[] = "id|text|language\nclip00000|One of them.|en\nclip00001|Another one.|xx\n";
    file_put(path_of(c->data, "metadata.csv"), text, sizeof text - 1);
    for (int i = 0; i < 2; i++) {
        json_t *o = prepare(c, 0, "--num-workers", "1");
        check_number(o, 1, "accepted", NULL);
        check_number(o, 1, "reasons", "unknown_language");
        check_number(o, i ? 0 : 1, "text", "built");
        json_decref(o);
    }
    Store s;
    assert_int_equal(store_open(&s, c->cache, TEXT_STORE, NULL), 0);
    assert_int_equal(s.count, 1);
    store_close(&s);
}

static void cache_lies_in_the_dataset_by_default(void **state)
{
    Corpus *c = *state;
    corpus_fill(c, 2, 0.3);
    Run r;
    assert_int_equal(run_program(&r, "prepare", "--data-path", c->data), 0);
    assert_non_null(strstr(r.stdout_text.data, "accepted 2, rejected 0"));
    assert_non_null(strstr(r.stdout_text.data, "built 2, reused 0"));
    assert_non_null(strstr(r.stdout_text.data, "myxtts-cache"));
    run_free(&r);
    assert_true(file_exists(path_of(c->data, "myxtts-cache/mel.index")));
    assert_int_equal(run_program(&r, "prepare"), 2);
    assert_non_null(strstr(r.stderr_text.data, "prepare needs DIR"));
    run_free(&r);
    assert_int_equal(run_program(&r, "prepare", "--data-path", path_of(c->root, "nowhere")), 3);
    assert_non_null(strstr(r.stderr_text.data, "nowhere"));
    run_free(&r);
    assert_false(file_exists(path_of(c->root, "nowhere")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(first_builds_all_and_second_nothing),
        T(edited_line_builds_one_text),
        T(replaced_audio_builds_one_mel),
        T(replaced_audio_of_same_size_and_time),
        T(touched_audio_builds_nothing),
        T(added_clip_builds_itself),
        T(removed_line_leaves_the_index),
        T(reordered_lines_build_nothing),
        T(settings_touch_their_stages_only),
        T(limits_choose_and_build_nothing),
        T(statistics_forget_earlier_runs),
        T(exact_limits_hold),
        T(raised_limit_takes_up_ogg),
        T(eval_file_joins_the_train_file),
        T(stages_run_alone),
        T(workers_change_no_byte),
        T(missing_audio_costs_nothing),
        T(unknown_language_is_tried_again),
        T(cache_lies_in_the_dataset_by_default),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
