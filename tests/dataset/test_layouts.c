/* test_layouts.c - every layout of a dataset folder gives the utterances that metadata.csv gives, with place
 * and reason of what cannot be used; folders that are none say what is missing. */
#include "dataset/audio_file.h"
#include "dataset/audio_libav.h"
#include "support/dataset_folder.h"

#define CLIPS 3
static const char *const ids[CLIPS] = {"a1", "a2", "b1"};
static const char *const texts[CLIPS] = {"First: one.", "Second, \"two\".", "Third \xC3\xBC."};

/* Names of files with their folders; the sound is never opened here. */
static void put_in(const Folder *f, const char *name, const char *text)
{
    char folder[256];
    snprintf(folder, sizeof folder, "%s", name);
    char *slash = strrchr(folder, '/');
    if (slash) {
        *slash = 0;
        make_folder(f, folder);
    }
    put(f, name, text);
}

static void put_named(const Folder *f, const char *pattern, int i, const char *text)
{
    char name[256];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(name, sizeof name, pattern, ids[i]);
#pragma GCC diagnostic pop
    put_in(f, name, text);
}

/* The three clips, in this order, each with the recording `audio` names. */
static void check_clips(Folder *f, const char *layout, const char *speaker, const char *audio)
{
    open_ok(f);
    assert_string_equal(f->d.layout, layout);
    assert_true(f->d.found && *f->d.found);
    assert_int_equal(f->d.count, CLIPS);
    assert_int_equal(f->d.lines, f->d.count + f->d.rejected_count);
    for (int i = 0; i < CLIPS; i++) {
        char path[1024], want[1024], name[256];
        const Utterance *u = &f->d.utterances[i];
        assert_str(u->id, ids[i]);
        assert_str(u->text, texts[i]);
        assert_str(u->speaker, speaker);
        assert_int_equal(u->split, dataset_split(u->id, f->cfg.seed, f->cfg.val_split));
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(name, sizeof name, audio, ids[i]);
#pragma GCC diagnostic pop
        snprintf(want, sizeof want, "%s/%s", f->path, name);
        if (dataset_audio_path(&f->d, u, path, sizeof path, &f->err))
            fail_msg("%s", f->err.msg);
        assert_string_equal(path, want);
    }
}

static void test_metadata(void **state)
{
    Folder *f = *state;
    for (int i = 0; i < CLIPS; i++)
        put_named(f, "wavs/%s.wav", i, "");
    open_text(f, "a1|First: one.||ann\na2|Second, \"two\".||ann\nb1|Third \xC3\xBC.||ann\n");
    check_clips(f, "ljspeech", "ann", "wavs/%s.wav");
}

static void test_pairs(void **state)
{
    Folder *f = *state;
    for (int i = 0; i < CLIPS; i++) {
        put_named(f, "%s.flac", i, "");
        put_named(f, "%s.wav", i, "");
        put_named(f, i == 1 ? "%s.lab" : "%s.txt", i, texts[i]);
    }
    put(f, "README.txt", "No recording belongs to it.");
    check_clips(f, "pairs", "", "%s.wav");
    assert_int_equal(f->d.rejected_count, 0);
    assert_string_equal(f->d.found, "3 texts beside their recordings");
    /* metadata.csv wins. */
    open_text(f, "b1|Only this.\n");
    assert_string_equal(f->d.layout, "ljspeech");
    assert_int_equal(f->d.count, 1);
}

static void check_rejected_names_files(Folder *f)
{
    char path[512];
    Buf b = {0};
    snprintf(path, sizeof path, "%s/rejected.tsv", f->path);
    assert_int_equal(dataset_write_rejected(&f->d, path, &f->err), 0);
    assert_int_equal(file_read(&b, path, 1 << 20, &f->err), 0);
    assert_non_null(strstr(b.data, "\ni.wav\t1\ti\ttext_missing\t\n"));
    assert_non_null(strstr(b.data, "\nj.txt\t1\tj\taudio_missing\t\n"));
    buf_free(&b);
}

/* A byte order mark, line ends, UTF-16, labels with times, a text that is too long, empty, missing. */
static void test_texts_of_pairs(void **state)
{
    Folder *f = *state;
    static const struct {
        const char *name, *text, *want;
        size_t n;
        RejectReason reason;
    } cases[] = {
        {"a.txt", "\xEF\xBB\xBF  One\r\n  two \n", "One two", 17, REJECT_NONE},
        {"b.txt", "\xFF\xFEx\0", NULL, 4, REJECT_UTF8},
        {"c.txt", "a\xFFz", NULL, 3, REJECT_UTF8},
        {"d.txt", "a\0z", NULL, 3, REJECT_UTF8},
        {"e.lab", "0 3400000 sil\n3400000 5000000 ax\n", NULL, 33, REJECT_MALFORMED},
        {"f.lab", "0 is a number", "0 is a number", 13, REJECT_NONE},
        {"g.txt", " \n", NULL, 2, REJECT_EMPTY_TEXT},
    };
    enum { CASES = sizeof cases / sizeof *cases };
    size_t used = 0, refused = 0;
    for (int i = 0; i < CASES; i++) {
        char name[16];
        put_bytes(f, cases[i].name, cases[i].text, cases[i].n);
        snprintf(name, sizeof name, "%.1s.wav", cases[i].name);
        put(f, name, "");
    }
    char *much = malloc(70000);
    memset(much, 'x', 70000);
    put_bytes(f, "h.txt", much, 70000);
    free(much);
    put(f, "h.wav", "");
    put(f, "i.wav", "");
    put(f, "j.txt", "There is no recording.");
    open_ok(f);
    for (int i = 0; i < CASES; i++) {
        if (!cases[i].reason) {
            Str text = f->d.utterances[used++].text;
            assert_str(text, cases[i].want);
            continue;
        }
        const Rejection *r = &f->d.rejected[refused++];
        uint32_t line;
        const char *place = dataset_place(&f->d, r->file, r->line, &line);
        assert_int_equal(r->reason, cases[i].reason);
        assert_int_equal(line, 1);
        assert_string_equal(strrchr(place, '/') + 1, cases[i].name);
    }
    assert_int_equal(f->d.rejected[refused++].reason, REJECT_LINE_TOO_LONG);
    assert_int_equal(f->d.rejected[refused++].reason, REJECT_TEXT_MISSING);
    assert_int_equal(f->d.rejected[refused++].reason, REJECT_AUDIO_MISSING);
    assert_int_equal(f->d.count, used);
    assert_int_equal(f->d.rejected_count, refused);
    assert_int_equal(f->d.lines, used + refused);
    check_rejected_names_files(f);
}

/* Several folders with pairs are speakers; one is not; folders without pairs are left out. */
static void test_folders_of_pairs(void **state)
{
    Folder *f = *state;
    put_in(f, "data/ann/1.wav", "");
    put_in(f, "data/ann/1.txt", "One.");
    put_in(f, "data/ann/day2/2.mp3", "");
    put_in(f, "data/ann/day2/2.txt", "Two.");
    put_in(f, "masters/long.wav", "");
    put_in(f, "myxtts-cache/x.txt", "x");
    put_in(f, ".git/x.txt", "x");
    open_ok(f);
    assert_int_equal(f->d.count, 2);
    assert_int_equal(f->d.rejected_count, 0);
    assert_str(f->d.utterances[0].id, "data/ann/1");
    assert_str(f->d.utterances[1].speaker, "");
    assert_non_null(strstr(f->d.found, "1 file in folders without such pairs left out"));
    put_in(f, "data/ben/1.wav", "");
    put_in(f, "data/ben/1.txt", "One.");
    open_ok(f);
    assert_int_equal(f->d.count, 3);
    assert_str(f->d.utterances[0].speaker, "ann");
    assert_str(f->d.utterances[1].speaker, "ann");
    assert_str(f->d.utterances[2].speaker, "ben");
    assert_non_null(strstr(f->d.found, "2 folders, taken as 2 speakers"));
    f->cfg.enable_multispeaker = 0;
    open_ok(f);
    assert_str(f->d.utterances[2].speaker, "");
    f->cfg.enable_multispeaker = 1;
    /* A folder that leads back to itself. */
    char here[512];
    snprintf(here, sizeof here, "%s/data/ben/again", f->path);
    assert_int_equal(symlink("..", here), 0);
    open_ok(f);
    assert_int_equal(f->d.count, 3);
}

static void test_vctk(void **state)
{
    Folder *f = *state;
    for (int i = 0; i < CLIPS; i++) {
        put_named(f, "wav48_silence_trimmed/ann/ann_%s_mic1.flac", i, "");
        put_named(f, "wav48_silence_trimmed/ann/ann_%s_mic2.flac", i, "");
        put_named(f, "wav48/ann/ann_%s.wav", i, "");
        put_named(f, "txt/ann/ann_%s.txt", i, texts[i]);
    }
    put_in(f, "wav48_silence_trimmed/p315/p315_001_mic1.flac", "");
    put_in(f, "wav48_silence_trimmed/p315/p315_001_mic2.flac", "");
    put_in(f, "txt/ann/ann_z.txt", "Never recorded.");
    put(f, "speaker-info.txt", "ID  AGE\n");
    open_ok(f);
    assert_string_equal(f->d.layout, "vctk");
    assert_int_equal(f->d.count, CLIPS);
    for (int i = 0; i < CLIPS; i++) {
        char id[32], path[1024];
        const Utterance *u = &f->d.utterances[i];
        snprintf(id, sizeof id, "ann_%s", ids[i]);
        assert_str(u->id, id);
        assert_str(u->text, texts[i]);
        assert_str(u->speaker, "ann");
        assert_int_equal(dataset_audio_path(&f->d, u, path, sizeof path, &f->err), 0);
        assert_non_null(strstr(path, "/wav48_silence_trimmed/ann/ann_"));
        assert_non_null(strstr(path, "_mic1.flac"));
    }
    assert_int_equal(f->d.rejected_count, 2);
    check_reject(f, 0, REJECT_AUDIO_MISSING, 4, "ann_z", "");
    check_reject(f, 1, REJECT_TEXT_MISSING, 5, "p315_001", "");
}

/* The same without speakers. */
static void test_two_folders(void **state)
{
    Folder *f = *state;
    for (int i = 0; i < CLIPS; i++) {
        put_named(f, "wav/%s.ogg", i, "");
        put_named(f, "txt/%s.txt", i, texts[i]);
    }
    check_clips(f, "vctk", "", "wav/%s.ogg");
}

static void test_libritts(void **state)
{
    Folder *f = *state;
    for (int i = 0; i < CLIPS; i++) {
        put_named(f, "train-clean-100/84/121123/%s.wav", i, "");
        put_named(f, "train-clean-100/84/121123/%s.normalized.txt", i, texts[i]);
        put_named(f, "train-clean-100/84/121123/%s.original.txt", i, "As it was printed.");
    }
    put_in(f, "train-clean-100/84/121123/84_121123.trans.tsv", "x\ty\n");
    check_clips(f, "libritts", "84", "train-clean-100/84/121123/%s.wav");
    assert_int_equal(f->d.rejected_count, 0);
}

static void test_common_voice(void **state)
{
    Folder *f = *state;
    for (int i = 0; i < CLIPS; i++)
        put_named(f, "clips/%s.mp3", i, "");
    put(f, "other.tsv", "client_id\tpath\tsentence\nx\tz.mp3\tNot validated.\n");
    put(f, "validated.tsv",
        "client_id\tpath\tsentence\tup_votes\tlocale\nann\ta1.mp3\tFirst: one.\t2\ten\n"
        "ann\ta2.mp3\tSecond, \"two\".\t2\ten\nann\tb1.mp3\tThird \xC3\xBC.\t2\ten\n"
        "ann\tc1.mp3\t\t0\ten\nann\t../x.mp3\tOutside.\t2\ten\nann\ta1.mp3\tAgain.\t2\ten\n");
    check_clips(f, "commonvoice", "ann", "clips/%s.mp3");
    assert_str(f->d.utterances[0].language, "en");
    assert_int_equal(f->d.rejected_count, 3);
    check_reject(f, 0, REJECT_EMPTY_TEXT, 5, "c1", "");
    check_reject(f, 1, REJECT_UNSAFE_ID, 6, "../x", "..");
    check_reject(f, 2, REJECT_DUPLICATE_ID, 7, "a1", "first on line 2");
}

static void test_jsonl(void **state)
{
    Folder *f = *state;
    char text[4096];
    for (int i = 0; i < CLIPS; i++)
        put_named(f, "wavs/%s.wav", i, "");
    snprintf(
        text, sizeof text,
        "{\"audio_filepath\": \"wavs/a1.wav\", \"text\": \"First: one.\", \"duration\": 1.5, \"speaker\": "
        "12}\n"
        "\n"
        "{\"audio_filepath\": \"%s/wavs/a2.wav\", \"text\": \"Second, \\\"two\\\".\", \"speaker\": \"12\"}\n"
        "{\"audio_filepath\": \"/elsewhere/corpus/wavs/b1.wav\", \"id\": \"b1\", \"text\": \"raw\", "
        "\"normalized_text\": \"Third \\u00fc.\", \"speaker\": \"12\", \"other\": [1, {}]}\n"
        "{\"audio_filepath\": \"wavs/x.wav\", \"text\": \n"
        "[1, 2]\n"
        "{\"text\": \"No sound.\"}\n"
        "{\"audio_filepath\": \"wavs/y.wav\", \"text\": \"A part.\", \"offset\": 3.5}\n"
        "{\"audio_filepath\": \"wavs/z.wav\", \"text\": null}\n",
        f->path);
    put(f, "manifest.jsonl", text);
    put(f, "dev.jsonl", "{}\n");
    check_clips(f, "jsonl", "12", "wavs/%s.wav");
    assert_int_equal(f->d.rejected_count, 5);
    check_reject(f, 0, REJECT_MALFORMED, 5, "", "not valid JSON");
    check_reject(f, 1, REJECT_MALFORMED, 6, "", "not an object");
    check_reject(f, 2, REJECT_MALFORMED, 7, "", "audio_filepath");
    check_reject(f, 3, REJECT_MALFORMED, 8, "wavs/y", "offset");
    check_reject(f, 4, REJECT_EMPTY_TEXT, 9, "z", "");
    /* Two files that are named, one for each side. */
    put(f, "dev.jsonl", "{\"audio_filepath\": \"wavs/d.wav\", \"text\": \"Held out.\"}\n");
    f->cfg.metadata_train_file = "manifest.jsonl";
    f->cfg.metadata_eval_file = "dev.jsonl";
    open_ok(f);
    assert_int_equal(f->d.count, CLIPS + 1);
    assert_int_equal(f->d.utterances[CLIPS].split, SPLIT_VAL);
    assert_int_equal(f->d.utterances[0].split, SPLIT_TRAIN);
}

static void test_several_jsonl(void **state)
{
    Folder *f = *state;
    put(f, "one.jsonl", "{\"audio\": \"x.wav\", \"text\": \"x\"}\n");
    open_ok(f);
    assert_str(f->d.utterances[0].id, "x");
    put(f, "two.jsonl", "{}\n");
    assert_int_equal(open_code(f), ERR_MISSING);
    assert_non_null(strstr(f->err.hint, "--metadata-train-file"));
}

static void test_kaldi(void **state)
{
    Folder *f = *state;
    char scp[2048];
    for (int i = 0; i < CLIPS; i++)
        put_named(f, "sound/%s.wav", i, "");
    snprintf(scp, sizeof scp,
             "a1 sound/a1.wav\na2\t%s/sound/a2.wav\nb1 exp/recipe/sound/b1.wav\n"
             "c1 sph2pipe -f wav c1.sph |\nd1 d1.wav\n",
             f->path);
    put(f, "wav.scp", scp);
    put(f, "text",
        "a1 First: one.\na2\tSecond, \"two\".\r\nb1 Third \xC3\xBC.\nc1 A command.\ne1 No sound.\na1 "
        "Again.\n");
    put(f, "utt2spk", "a1 ann\na2 ann\nb1 ann\n");
    check_clips(f, "kaldi", "ann", "sound/%s.wav");
    assert_int_equal(f->d.rejected_count, 3);
    check_reject(f, 0, REJECT_AUDIO_UNREADABLE, 4, "c1", "line 4 of wav.scp is a command");
    check_reject(f, 1, REJECT_AUDIO_MISSING, 5, "e1", "wav.scp");
    check_reject(f, 2, REJECT_DUPLICATE_ID, 6, "a1", "first on line 1");
    assert_non_null(strstr(f->d.found, "1 entries of wav.scp without a text"));
    put(f, "segments", "a1 rec1 0.0 1.5\n");
    assert_int_equal(open_code(f), ERR_FORMAT);
    assert_non_null(strstr(f->err.msg, "segments"));
}

/* Folders that are no dataset say what they lack. */
static void test_nothing_to_take(void **state)
{
    Folder *f = *state;
    put(f, "a.jpg", "x");
    assert_int_equal(open_code(f), ERR_MISSING);
    assert_non_null(strstr(f->err.msg, "neither recordings nor texts, only 1 other file (such as a.jpg)"));
    put_in(f, "sub/a.wav", "");
    assert_int_equal(open_code(f), ERR_MISSING);
    assert_non_null(strstr(f->err.msg, "1 recording, but no texts"));
    assert_non_null(strstr(f->err.hint, "X.txt"));
    for (int i = 0; i < 12; i++) {
        char name[16];
        snprintf(name, sizeof name, "%d.txt", i);
        put(f, name, "");
    }
    assert_int_equal(open_code(f), ERR_MISSING);
    assert_non_null(strstr(f->err.msg, "12 texts (such as 0.txt) and recordings with other names"));
    /* A corpus one folder deeper is found by its metadata. */
    put_in(f, "sub/metadata.csv", "a|x\n");
    assert_int_equal(open_code(f), ERR_MISSING);
    assert_non_null(strstr(f->err.hint, "/sub"));
}

/* metadata.csv beside audio/ID.webm, as people have it. */
static void test_other_names_of_wavs(void **state)
{
    Folder *f = *state;
    char path[512];
    put_in(f, "audio/a.webm", "");
    open_text(f, "a|One.\n");
    assert_int_equal(dataset_audio_path(&f->d, &f->d.utterances[0], path, sizeof path, &f->err), 0);
    assert_non_null(strstr(path, "/audio/a.webm"));
}

/* With libav the samples are those of the WAV, about; without it, the sentence says what to install. */
static void test_libav(void **state)
{
    static const char *const files[] = {"LJ001-0002.m4a", "LJ001-0002.webm"};
    AudioBuffer wav = {0}, other = {0};
    char path[256], detail[300];
    Buf b = {0};
    Err err = {0};
    assert_int_equal(file_read(&b, "tests/data/ljspeech/wavs/LJ001-0002.wav", 1 << 20, &err), 0);
    assert_int_equal(audio_decode(&wav, b.data, b.size, "wav", 0, detail, sizeof detail), REJECT_NONE);
    for (int i = 0; i < 2; i++) {
        AudioInfo info;
        snprintf(path, sizeof path, "tests/data/formats/%s", files[i]);
        buf_clear(&b);
        assert_int_equal(file_read(&b, path, 1 << 20, &err), 0);
        assert_non_null(audio_libav_format((const uint8_t *)b.data, b.size));
        RejectReason r = audio_decode(&other, b.data, b.size, path, 0, detail, sizeof detail);
        assert_int_equal(audio_probe(&info, path, 0, 0, detail, sizeof detail), r);
        if (strstr(detail, "not installed (apt-get install ffmpeg)")) {
            assert_int_equal(r, REJECT_AUDIO_UNREADABLE);
            assert_non_null(strstr(detail, path));
            print_message("SKIPPED: libavfilter is not installed; %s was not decoded\n", path);
            continue;
        }
        assert_int_equal(r, REJECT_NONE);
        assert_int_equal(info.frames, other.frames);
        assert_true(llabs(other.frames * wav.rate / other.rate - wav.frames) < wav.rate / 20);
        assert_int_equal(audio_probe(&info, path, 0, 1.0, detail, sizeof detail), REJECT_AUDIO_TOO_LONG);
        assert_int_equal(audio_decode(&other, b.data, b.size, path, 1.0, detail, sizeof detail),
                         REJECT_AUDIO_TOO_LONG);
        /* Cut in two it is damaged or shorter, never a crash. */
        audio_decode(&other, b.data, b.size / 2, path, 0, detail, sizeof detail);
        audio_decode(&other, b.data, 40, path, 0, detail, sizeof detail);
        printf("%s: %lld samples at %d Hz\n", path, (long long)info.frames, info.rate);
    }
    buf_free(&b);
    audio_buffer_free(&wav);
    audio_buffer_free(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_metadata),
        T(test_pairs),
        T(test_texts_of_pairs),
        T(test_folders_of_pairs),
        T(test_vctk),
        T(test_two_folders),
        T(test_libritts),
        T(test_common_voice),
        T(test_jsonl),
        T(test_several_jsonl),
        T(test_kaldi),
        T(test_nothing_to_take),
        T(test_other_names_of_wavs),
        cmocka_unit_test(test_libav),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
