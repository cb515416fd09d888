/* test_dataset.c - rejected.tsv, speakers, split, lookup of audio, mistyped paths, real corpora. */
#include "support/dataset_folder.h"

/* ---- rejections ---- */

static void test_reject_codes(void **state)
{
    assert_string_equal(reject_code(REJECT_AUDIO_MISSING), "audio_missing");
    assert_string_equal(reject_text(REJECT_DUPLICATE_ID), "the id is used by an earlier line");
    assert_string_equal(reject_code(REJECT_MEL_TOO_LONG), "mel_too_long");
    assert_string_equal(reject_code(REJECT_NONE), "none");
    assert_string_equal(reject_code(REJECT_COUNT), "unknown");
    for (int r = REJECT_NONE; r < REJECT_COUNT; r++)
        for (int q = REJECT_NONE; q < r; q++)
            assert_string_not_equal(reject_code((RejectReason)r), reject_code((RejectReason)q));
}

static void test_rejected_tsv(void **state)
{
    Folder *f = *state;
    char path[512];
    open_text(f, "good,text\n\"a\tb\nc\",text\nd,\n");
    assert_int_equal(
        dataset_reject(&f->d, f->d.utterances[0].id, 1, 0, REJECT_AUDIO_EMPTY, "0\tsamples\r\nin it"), 0);
    snprintf(path, sizeof path, "%s/rejected.tsv", f->path);
    assert_int_equal(dataset_write_rejected(&f->d, path, &f->err), 0);
    Buf b = {0};
    assert_int_equal(file_read(&b, path, 1 << 20, &f->err), 0);
    buf_zero(&b, 1);
    assert_string_equal(b.data, "file\tline\tid\treason\tdetail\n"
                                "metadata.csv\t2\ta b c\tunsafe_id\ta control character in the id\n"
                                "metadata.csv\t4\td\tempty_text\t\n"
                                "metadata.csv\t1\tgood\taudio_empty\t0 samples  in it\n");
    buf_free(&b);
    snprintf(path, sizeof path, "%s/no/such/folder.tsv", f->path);
    assert_true(dataset_write_rejected(&f->d, path, &f->err) < 0);
}

/* ---- speakers, split ---- */

static void test_speaker_pattern(void **state)
{
    Folder *f = *state;
    f->cfg.speaker_id_pattern = "^(p\\d+)_";
    open_text(f, "p225_001|one\nx_001|two\np31_7|three\n");
    check(f, 0, "p225_001", "one", "p225", 1);
    check(f, 1, "x_001", "two", "", 2);
    check(f, 2, "p31_7", "three", "p31", 3);
    f->cfg.speaker_id_pattern = "^([\\da-c]+)_|^z(q)";
    open_text(f, "1a2_x|one|one|ann\n3b_y|two|two|\nzq|three|three|\nd_z|four|four|\n");
    check(f, 0, "1a2_x", "one", "ann", 1); /* the column wins */
    check(f, 1, "3b_y", "two", "3b", 2);
    check(f, 2, "zq", "three", "", 3); /* matches, but not with group 1 */
    f->cfg.enable_multispeaker = 0;
    open_ok(f);
    check(f, 1, "3b_y", "two", "", 2);
    f->cfg.enable_multispeaker = 1;
    f->cfg.speaker_id_pattern = "(";
    assert_int_equal(open_code(f), ERR_CONFIG);
    f->cfg.speaker_id_pattern = "p[0-9]+";
    assert_int_equal(open_code(f), ERR_CONFIG);
    assert_non_null(strstr(f->err.hint, "parentheses"));
}

static void test_split(void **state)
{
    int held_out = 0, moved = 0;
    for (int i = 0; i < 20000; i++) {
        char name[32];
        Str text = {name, (uint32_t)snprintf(name, sizeof name, "Text %d of many.", i)};
        Split s = dataset_split(text, 1, 0.05);
        assert_int_equal(s, dataset_split(text, 1, 0.05));
        if (s == SPLIT_VAL)
            assert_int_equal(dataset_split(text, 1, 0.2), SPLIT_VAL); /* a larger share only adds */
        held_out += s == SPLIT_VAL;
        moved += s != dataset_split(text, 2, 0.05);
        assert_int_equal(dataset_split(text, 1, 0), SPLIT_TRAIN);
        assert_int_equal(dataset_split(text, 1, 1), SPLIT_VAL);
    }
    assert_in_range(held_out, 900, 1100);
    assert_in_range(moved, 1500, 2300); /* 2 x 5 % x 95 % of 20,000 */
    /* Pinned: the split of a dataset must not change between versions of the program. */
    char pinned[65] = "";
    for (int i = 0; i < 64; i++) {
        char name[16];
        Str text = {name, (uint32_t)snprintf(name, sizeof name, "clip%d", i)};
        pinned[i] = dataset_split(text, 42, 0.3) == SPLIT_VAL ? 'v' : '.';
    }
    assert_string_equal(pinned, "....v....v...v.vvv......v.vv.v.vvv....v..v..v...v.....v..v.v..v.");
}

static uint64_t text_hash(const char *text) { return dataset_text_hash((Str){text, (uint32_t)strlen(text)}); }

/* Takes of one sentence are on one side, however it was written down. */
static void test_split_by_text(void **state)
{
    Folder *f = *state;
    static const char *const same[] = {"It's late, Mr. Ol\u00e9!", "its late mr ol\u00e9",
                                       "  IT\u2019S  LATE -- MR OLE\u0301 ",
                                       "\u201cIt's late, Mr Ol\u00e9\u201d"};
    for (size_t i = 1; i < sizeof same / sizeof *same; i++)
        assert_int_equal(text_hash(same[i]), text_hash(same[0]));
    assert_int_not_equal(text_hash("It's later, Mr. Ol\u00e9!"), text_hash(same[0]));
    assert_int_not_equal(text_hash("a nice cream"), text_hash("an ice cream"));
    assert_int_not_equal(text_hash("?"), text_hash("!")); /* without a word the bytes decide */
    char text[8192] = "";
    for (int i = 0; i < 200; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "c%d|%s %d%s\n", i, i % 2 ? "line" : "Line",
                 i / 4, i % 3 ? "." : "");
    f->cfg.val_split = 0.3;
    open_text(f, text);
    int held = 0;
    for (size_t i = 0; i < f->d.count; i++) {
        assert_int_equal(f->d.utterances[i].split, f->d.utterances[i / 4 * 4].split);
        held += f->d.utterances[i].split == SPLIT_VAL;
    }
    assert_in_range(held, 20, 100);
    /* One sentence alone is learned, whatever share is drawn and whatever the seed is. */
    f->cfg.val_split = 0.9;
    for (f->cfg.seed = 0; f->cfg.seed < 5; f->cfg.seed++) {
        open_text(f, "a|one text\nb|One text.\n");
        assert_int_equal(f->d.utterances[0].split, SPLIT_TRAIN);
        assert_int_equal(f->d.utterances[1].split, SPLIT_TRAIN);
    }
}

/* ---- paths ---- */

static void expect_path(Folder *f, size_t i, const char *want)
{
    char path[512], full[768];
    assert_true(i < f->d.count);
    if (dataset_audio_path(&f->d, &f->d.utterances[i], path, sizeof path, &f->err))
        fail_msg("%s (%s)", f->err.msg, want);
    snprintf(full, sizeof full, "%s/%s", f->path, want);
    assert_string_equal(path, full);
}

static void test_audio_lookup(void **state)
{
    Folder *f = *state;
    char path[512];
    make_folder(f, "wavs/spk1");
    make_folder(f, "wavs/folder.wav");
    static const char *const files[] = {"wavs/a.wav",     "wavs/b.flac",      "wavs/c.OPUS",
                                        "wavs/d.ogg",     "wavs/spk1/1.mp3",  "wavs/e.f",
                                        "wavs/g.wav.wav", "wavs/\xC3\xA9.wav"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        put(f, files[i], "x");
    open_text(f,
              "a|t\nb|t\nc|t\nd.ogg|t\nwavs/spk1/"
              "1|t\ne.f|t\ng.wav|t\nspk1\\1.mp3|t\n\xC3\xA9|t\nmissing|t\nfolder|t\nno.wav|t\n./a.wav|t\n");
    assert_int_equal(f->d.rejected_count, 0);
    static const char *const want[] = {"wavs/a.wav",     "wavs/b.flac",     "wavs/c.OPUS",
                                       "wavs/d.ogg",     "wavs/spk1/1.mp3", "wavs/e.f",
                                       "wavs/g.wav.wav", "wavs/spk1/1.mp3", "wavs/\xC3\xA9.wav"};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        expect_path(f, i, want[i]);
    expect_path(f, 12, "wavs/a.wav");
    assert_int_equal(dataset_audio_path(&f->d, &f->d.utterances[9], path, sizeof path, &f->err), ERR_MISSING);
    assert_non_null(strstr(f->err.msg, "/wavs/missing with .wav"));
    assert_int_equal(dataset_audio_path(&f->d, &f->d.utterances[10], path, sizeof path, &f->err),
                     ERR_MISSING);
    assert_int_equal(dataset_audio_path(&f->d, &f->d.utterances[11], path, sizeof path, &f->err),
                     ERR_MISSING);
    assert_int_equal(dataset_audio_path(&f->d, &f->d.utterances[0], path, 8, &f->err), ERR_MISSING);
    /* Links are followed: clusters are full of them. */
    char link[512];
    snprintf(path, sizeof path, "%s/wavs/a.wav", f->path);
    snprintf(link, sizeof link, "%s/wavs/missing.wav", f->path);
    assert_int_equal(symlink(path, link), 0);
    expect_path(f, 9, "wavs/missing.wav");
}

static void test_audio_folders(void **state)
{
    Folder *f = *state;
    char path[512];
    put(f, "top.wav", "x");
    open_text(f, "top|t\n"); /* no wavs folder: the root itself */
    expect_path(f, 0, "top.wav");
    make_folder(f, "clips/en");
    make_folder(f, "wavs");
    put(f, "clips/en/x.wav", "x");
    f->cfg.wavs_train_dir = "clips/en/";
    open_text(f, "clips/en/x.wav|t\n");
    expect_path(f, 0, "clips/en/x.wav");
    open_text(f, "wavs/x.wav|t\n");
    expect_path(f, 0, "clips/en/x.wav");
    make_folder(f, "clips/en/wavs"); /* now wavs/ in an id means that folder */
    put(f, "clips/en/wavs/x.wav", "x");
    open_ok(f);
    expect_path(f, 0, "clips/en/wavs/x.wav");
    f->cfg.wavs_train_dir = ".";
    put(f, "wavs/y.wav", "x");
    open_text(f, "wavs/y|t\n");
    expect_path(f, 0, "./wavs/y.wav");
    f->cfg.wavs_train_dir = "nowhere";
    open_ok(f);
    assert_int_equal(dataset_audio_path(&f->d, &f->d.utterances[0], path, sizeof path, &f->err), ERR_MISSING);
    assert_non_null(strstr(f->err.msg, "nowhere does not exist"));
    assert_non_null(strstr(f->err.hint, "--wavs-train-dir"));
    /* The eval file: its own setting, or wavs beside it, or as for training. */
    make_folder(f, "dev/wavs");
    put(f, "dev/wavs/e.wav", "x");
    put(f, "dev/list.csv", "e|t\n");
    f->cfg.wavs_train_dir = "clips/en";
    f->cfg.metadata_eval_file = "dev/list.csv";
    open_text(f, "x|t\n");
    expect_path(f, 0, "clips/en/x.wav");
    expect_path(f, 1, "dev/wavs/e.wav");
    f->cfg.wavs_eval_dir = "dev/wavs";
    open_ok(f);
    expect_path(f, 1, "dev/wavs/e.wav");
    f->cfg.wavs_eval_dir = "";
    f->cfg.metadata_eval_file = "eval.csv";
    put(f, "eval.csv", "x2|t\n");
    put(f, "clips/en/x2.wav", "x");
    open_ok(f);
    expect_path(f, 1, "clips/en/x2.wav");
}

static int open_fails(Folder *f, const char *in_msg, const char *in_hint)
{
    int rc = open_code(f);
    assert_int_equal(rc, f->err.code);
    if (!strstr(f->err.msg, in_msg) || !strstr(f->err.hint, in_hint))
        fail_msg("'%s' (%s) does not hold '%s' (%s)", f->err.msg, f->err.hint, in_msg, in_hint);
    assert_int_equal(f->d.count, 0);
    return rc;
}

static void test_mistyped_paths(void **state)
{
    Folder *f = *state;
    char missing[512];
    assert_int_equal(open_fails(f, "is empty", "ID.wav and ID.txt"), ERR_MISSING);
    put(f, "list.txt", "a|b\n");
    put(f, "notes.md", "x");
    assert_int_equal(open_fails(f, "metadata.csv not found in", "found: list.txt; use --metadata-train-file"),
                     ERR_MISSING);
    make_folder(f, "inner");
    put(f, "inner/metadata.csv", "a|b\n");
    assert_int_equal(open_fails(f, "metadata.csv not found in", "/inner"), ERR_MISSING);
    f->cfg.metadata_train_file = "list.txt";
    f->cfg.metadata_eval_file = "evil.csv";
    assert_int_equal(open_fails(f, "evil.csv not found in", "--metadata-eval-file"), ERR_MISSING);
    f->cfg.metadata_eval_file = "";
    f->cfg.metadata_train_file = "inner";
    assert_int_equal(open_fails(f, "is a folder", "--metadata-train-file"), ERR_MISSING);
    f->cfg.metadata_train_file = "metadata.csv";
    snprintf(missing, sizeof missing, "%s/a/b/c", f->path);
    f->cfg.data_path = missing;
    assert_int_equal(open_fails(f, "/a/b/c does not exist", "inner"), ERR_MISSING);
    assert_false(file_exists(missing));
    snprintf(missing, sizeof missing, "%s/a", f->path);
    assert_false(file_exists(missing));
    snprintf(missing, sizeof missing, "%s/list.txt", f->path);
    assert_int_equal(open_fails(f, "is not a folder", "--metadata-train-file"), ERR_MISSING);
    f->cfg.data_path = "";
    assert_int_equal(open_fails(f, "no dataset", "--data-path"), ERR_MISSING);
    f->cfg.data_path = "no-such-folder-here";
    assert_int_equal(open_fails(f, "no-such-folder-here", "holds"), ERR_MISSING);
    /* With a slash at the end, or absolute names, it is the same dataset. */
    snprintf(missing, sizeof missing, "%s/inner//", f->path);
    f->cfg.data_path = missing;
    open_ok(f);
    assert_null(strstr(f->d.metadata_path[0], "//"));
    char absolute[512];
    snprintf(absolute, sizeof absolute, "%s/list.txt", f->path);
    f->cfg.metadata_train_file = absolute;
    open_ok(f);
    assert_string_equal(f->d.metadata_path[0], absolute);
}

/* ---- real corpora ---- */

static void open_corpus(Folder *f, const char *name)
{
    static char path[1024];
    const char *data = getenv("MYXTTS_DATA");
    snprintf(path, sizeof path, "%s/%s", data && data[0] ? data : "../shared/data", name);
    if (!file_exists(path)) {
        fprintf(stderr, "SKIPPED: %s is not there; set MYXTTS_DATA to the folder that holds %s\n", path,
                name);
        skip();
    }
    f->cfg.data_path = path;
    open_ok(f);
}

static void test_clips(void **state)
{
    Folder *f = *state;
    char path[1024];
    f->cfg.data_path = "tests/data/ljspeech";
    open_ok(f);
    assert_int_equal(f->d.count, 4);
    assert_int_equal(f->d.rejected_count, 0);
    check(f, 3, "LJ001-0013", "than in the same operations with ugly ones.", "", 4);
    for (size_t i = 0; i < f->d.count; i++)
        assert_int_equal(dataset_audio_path(&f->d, &f->d.utterances[i], path, sizeof path, &f->err), 0);
}

static void test_ljspeech(void **state)
{
    Folder *f = *state;
    open_corpus(f, "ljspeech-text");
    if (f->d.rejected_count)
        fail_msg("line %u: %s %s", f->d.rejected[0].line, reject_code(f->d.rejected[0].reason),
                 f->d.rejected[0].detail);
    assert_int_equal(f->d.count, 13100);
    assert_int_equal(f->d.lines, 13100);
    assert_int_equal(f->d.speaker_guessed, 0);
    check(f, 1, "LJ001-0002", "in being comparatively modern.", "", 2);
    assert_str(f->d.utterances[13099].id, "LJ050-0278");
    size_t held_out = 0;
    for (size_t i = 0; i < f->d.count; i++)
        held_out += f->d.utterances[i].split == SPLIT_VAL;
    assert_in_range(held_out, 550, 760);
}

static void test_fsdd(void **state)
{
    Folder *f = *state;
    char path[1024];
    open_corpus(f, "fsdd");
    assert_int_equal(f->d.count, 1500);
    assert_int_equal(f->d.rejected_count, 0);
    Str speakers[16];
    size_t n = 0;
    for (size_t i = 0; i < f->d.count; i++) {
        Str s = f->d.utterances[i].speaker;
        size_t k = 0;
        while (k < n && !(speakers[k].n == s.n && !memcmp(speakers[k].p, s.p, s.n)))
            k++;
        if (k == n) {
            assert_true(n < 16);
            speakers[n++] = s;
        }
        assert_int_equal(dataset_audio_path(&f->d, &f->d.utterances[i], path, sizeof path, &f->err), 0);
    }
    assert_int_equal(n, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_reject_codes),  T(test_rejected_tsv),   T(test_speaker_pattern),
        T(test_split),         T(test_split_by_text),  T(test_audio_lookup),
        T(test_audio_folders), T(test_mistyped_paths), T(test_clips),
        T(test_ljspeech),      T(test_fsdd),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
