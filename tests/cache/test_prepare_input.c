/* test_prepare_input.c - everything that can be wrong with a dataset, in one corpus: each line gets its
 * reason, the run goes on. */
#include "support/prepare_testing.h"
#include "support/wav_testing.h"

typedef struct Bad {
    const char *id, *reason; /* reason NULL: accepted */
} Bad;

static FILE *metadata;
static Bad expected[64];
static int expected_count;

static void line(const char *id, const char *text, const char *reason)
{
    fprintf(metadata, "%s|%s\n", id, text);
    expected[expected_count++] = (Bad){id, reason};
}

static const char *wav_of(const Corpus *c, const char *id)
{
    char name[256];
    snprintf(name, sizeof name, "wavs/%s.wav", id);
    return path_of(c->data, name);
}

static void sound(const Corpus *c, const char *id) { write_wav(wav_of(c, id), 3, 0.3, 22050, 1); }

static void add_bad_audio(const Corpus *c)
{
    size_t size;
    uint8_t *wav = make_wav(&size, 5, 0.3, 22050, 1), head[44];
    line("empty", "An empty file.", "audio_empty");
    file_put(wav_of(c, "empty"), "", 0);
    line("truncated", "A file cut short.", "audio_unreadable");
    file_put(wav_of(c, "truncated"), wav, size / 2);
    line("stub", "Only half of a header.", "audio_unreadable");
    file_put(wav_of(c, "stub"), wav, 20);
    line("prose", "A text that is called a sound.", "audio_unreadable");
    file_put(wav_of(c, "prose"), "This is not a sound, whatever its name says.\n", 45);
    line("nodata", "No samples at all.", "audio_empty");
    put_wav_header(head, 1, 1, 22050, 16, 0);
    file_put(wav_of(c, "nodata"), head, 44);
    line("zerohertz", "A header with zero hertz.", "audio_unreadable");
    memcpy(wav + 24, "\0\0\0\0", 4);
    file_put(wav_of(c, "zerohertz"), wav, size);
    free(wav);

    float samples[8000];
    for (int i = 0; i < 8000; i++)
        samples[i] = 0.3f * (float)sin(0.07 * i);
    samples[4321] = NAN;
    uint8_t *bytes = malloc(44 + sizeof samples);
    put_wav_header(bytes, 3, 1, 22050, 32, sizeof samples);
    memcpy(bytes + 44, samples, sizeof samples);
    line("notanumber", "One sample is not a number.", "audio_not_finite");
    file_put(wav_of(c, "notanumber"), bytes, 44 + sizeof samples);
    samples[4321] = INFINITY;
    memcpy(bytes + 44, samples, sizeof samples);
    line("infinite", "One sample is infinite.", "audio_not_finite");
    file_put(wav_of(c, "infinite"), bytes, 44 + sizeof samples);
    memset(bytes + 44, 0, sizeof samples);
    line("silent", "Nothing to hear.", "audio_silent");
    file_put(wav_of(c, "silent"), bytes, 44 + sizeof samples);
    for (int i = 0; i < 8000; i++)
        samples[i] = 0.25f + (float)(i % 3) / 32768;
    memcpy(bytes + 44, samples, sizeof samples);
    line("constant", "A microphone without a plug.", "audio_silent");
    file_put(wav_of(c, "constant"), bytes, 44 + sizeof samples);
    free(bytes);

    line("eight", "Eight channels are welcome.", NULL);
    write_wav(wav_of(c, "eight"), 7, 0.3, 48000, 8);
    line("blink", "Very short.", "audio_too_short");
    write_wav(wav_of(c, "blink"), 7, 0.02, 22050, 1);
}

/* Three hours of 16 bit at 22050 Hz: a file of that size, with nothing in its blocks. */
static void add_long_audio(const Corpus *c)
{
    uint8_t head[44];
    uint32_t bytes = 3u * 3600 * 22050 * 2;
    put_wav_header(head, 1, 1, 22050, 16, bytes);
    line("threehours", "Three hours of it.", "audio_too_long");
    file_put(wav_of(c, "threehours"), head, 44);
    assert_int_equal(truncate(wav_of(c, "threehours"), 44 + (off_t)bytes), 0);
    line("claims", "A header that promises three hours.", "audio_unreadable");
    size_t size;
    uint8_t *wav = make_wav(&size, 5, 0.3, 22050, 1);
    put_wav_header(wav, 1, 1, 22050, 16, bytes);
    file_put(wav_of(c, "claims"), wav, size);
    free(wav);
}

static void add_odd_files(const Corpus *c)
{
    line("nowhere", "No file for this one.", "audio_missing");
    line("folder", "A folder with the name of a sound.", "audio_missing");
    assert_int_equal(mkdir(wav_of(c, "folder"), 0777), 0);
    line("pipe", "A pipe that nobody writes to.", "audio_missing");
    assert_int_equal(mkfifo(wav_of(c, "pipe"), 0666), 0);
    line("loop", "A link that leads to itself.", "audio_missing");
    assert_int_equal(symlink("loop.wav", wav_of(c, "loop")), 0);
    line("dangling", "A link that leads nowhere.", "audio_missing");
    assert_int_equal(symlink("not-there.wav", wav_of(c, "dangling")), 0);
    line("linked", "A link to a good file.", NULL);
    assert_int_equal(symlink("good.wav", wav_of(c, "linked")), 0);
    line("device", "A device that never ends.", "audio_missing");
    assert_int_equal(symlink("/dev/zero", wav_of(c, "device")), 0);
}

static void add_bad_lines(const Corpus *c)
{
    line("../outside", "Out of the folder.", "unsafe_id");
    line("a/../../outside", "Out of the folder in a roundabout way.", "unsafe_id");
    line("/etc/passwd", "An absolute path.", "unsafe_id");
    line("good", "The same id for a second time.", "duplicate_id");
    sound(c, "quiet");
    line("quiet", "", "empty_text");
    sound(c, "dots");
    line("dots", "...", "no_phonemes");
    sound(c, "bangs");
    line("bangs", "!!! ?!", "no_phonemes");
    sound(c, "smile");
    line("smile", "\xF0\x9F\x98\x80\xF0\x9F\x8E\x89",
         NULL); /* reason set below: espeak-ng may have names for emoji */
    expected_count--;
    sound(c, "latin");
    line("latin", "caf\xE9", "invalid_utf8");
    sound(c, "overlong");
    line("overlong", "\xC0\xAF", "invalid_utf8");
    fprintf(metadata, "onlyanid\n");
    expected[expected_count++] = (Bad){"onlyanid", "wrong_columns"};
    fprintf(metadata, "far|too|many|columns|here\n");
    expected[expected_count++] = (Bad){"far", "wrong_columns"};
    fprintf(metadata, "|no id here\n");
    expected[expected_count++] = (Bad){"", "empty_id"};
    sound(c, "huge");
    fprintf(metadata, "huge|");
    for (int i = 0; i < 1 << 20; i++)
        fputc('a' + i % 26, metadata);
    fputc('\n', metadata);
    expected[expected_count++] = (Bad){"huge", "line_too_long"};
    sound(c, "windows");
    fprintf(metadata, "windows|A line with a carriage return.\r\n");
    expected[expected_count++] = (Bad){"windows", NULL};
    fprintf(metadata, "\n   \n");
    sound(c, "last");
    line("last", "And after all of it a good line, seven times \xE2\x82\xAC 5.", NULL);
}

static const char *reason_in(const char *tsv, const char *id, const char *reason)
{
    char want[512];
    snprintf(want, sizeof want, "\t%s\t%s\t", id, reason);
    return strstr(tsv, want);
}

/* How many lines are accepted, and how many rejected: all those that are expected, and none of them without
 * its reason. */
typedef struct Sums {
    int accepted, rejected;
    int smile_rejected; /* a matter of espeak-ng's version */
} Sums;

static Sums sums_expected(const char *tsv)
{
    Sums s = {.smile_rejected = reason_in(tsv, "smile", "no_phonemes") != NULL};
    for (int i = 0; i < expected_count; i++) {
        s.accepted += expected[i].reason == NULL;
        s.rejected += expected[i].reason != NULL;
        if (expected[i].reason && !reason_in(tsv, expected[i].id, expected[i].reason))
            fail_msg("'%s' was not rejected for %s:\n%s", expected[i].id, expected[i].reason, tsv);
    }
    s.accepted += !s.smile_rejected;
    s.rejected += s.smile_rejected;
    return s;
}

static void check_reasons(const json_t *report, const Sums *s)
{
    json_t *count;
    const char *reason;
    int64_t sum = 0;
    json_object_foreach(json_object_get(report, "reasons"), reason, count)
    {
        int want = s->smile_rejected && strcmp(reason, "no_phonemes") == 0;
        for (int i = 0; i < expected_count; i++)
            want += expected[i].reason && strcmp(expected[i].reason, reason) == 0;
        sum += json_integer_value(count);
        if (want != json_integer_value(count))
            fail_msg("%s: %lld times, not %d", reason, (long long)json_integer_value(count), want);
    }
    assert_int_equal(sum, s->rejected);
}

static void every_bad_thing_gets_its_reason(void **state)
{
    Corpus *c = *state;
    expected_count = 0;
    metadata = fopen(path_of(c->data, "metadata.csv"), "wb");
    assert_non_null(metadata);
    fputs("\xEF\xBB\xBF", metadata);
    sound(c, "good");
    line("good", "A good line to begin with.", NULL);
    add_bad_audio(c);
    add_long_audio(c);
    add_odd_files(c);
    add_bad_lines(c);
    assert_int_equal(fclose(metadata), 0);

    Run r;
    int code = run_program(&r, "prepare", "--data-path", c->data, "--cache-dir", c->cache, "--json",
                           "--num-workers", "2");
    if (code != 1)
        fail_msg("exit code %d: %s", code, r.stderr_text.data);
    if (!SANITIZED && r.peak_kib > 300 * 1024)
        fail_msg("%ld KiB of memory, though the long file (466 MB) need not be read", r.peak_kib);
    json_t *o = json_loads(r.stdout_text.data, 0, NULL);
    assert_non_null(o);
    Buf tsv = file_bytes(path_of(c->cache, "rejected.tsv"));
    const Sums sums = sums_expected(tsv.data);
    check_number(o, sums.accepted, "accepted", NULL);
    check_number(o, sums.rejected, "rejected", NULL);
    check_number(o, sums.accepted + sums.rejected, "lines", NULL);
    check_reasons(o, &sums);
    size_t lines = 0;
    for (const char *p = tsv.data; (p = strchr(p, '\n')); p++)
        lines++;
    assert_int_equal(lines, sums.rejected + 1);
    assert_non_null(strstr(tsv.data, "metadata.csv\t2\tempty\taudio_empty\t")); /* the number of the line */
    assert_non_null(strstr(tsv.data, "0 Hz"));
    assert_non_null(strstr(tsv.data, "first on line 1"));
    buf_free(&tsv);
    json_decref(o);
    run_free(&r);

    copy_folder(c->cache, path_of(c->root, "before")); /* a second run builds nothing and says the same */
    o = prepare(c, 0, "--num-workers", "1");
    check_number(o, 0, "text", "built");
    check_number(o, 0, "mel", "built");
    check_number(o, sums.accepted, "accepted", NULL);
    /* Two clips that are not finite and two without a sound fall out after the text. */
    check_number(o, sums.accepted + 4, "text", "reused");
    check_number(o, sums.accepted, "mel", "reused");
    json_decref(o);
    assert_same_folders(c->cache, path_of(c->root, "before"));
    for (int i = 0; i < 2; i++) { /* with any number of workers */
        const char *dir = path_of(c->root, i ? "inline" : "four");
        json_decref(prepare_with(c, dir, 0, (const char *const[]){"--num-workers", i ? "0" : "4", NULL}));
        assert_same_folders(dir, path_of(c->root, "before"));
    }
}

/* A file nobody may read. Root reads everything, so the program is copied and run as somebody else. */
static void unreadable_audio_is_told(void **state)
{
    Corpus *c = *state;
    corpus_fill(c, 3, 0.3);
    assert_int_equal(chmod(clip_path(c, 1), 0), 0);
    uid_t uid = geteuid() == 0 ? 65534 : 0;
    const char *binary = path_of(c->root, "program");
    Buf bytes = file_bytes(program());
    file_put(binary, bytes.data, bytes.size);
    buf_free(&bytes);
    assert_int_equal(chmod(binary, 0755), 0);
    assert_int_equal(chmod(c->root, 0755), 0);
    assert_int_equal(mkdir(c->cache, 0777), 0);
    assert_int_equal(chmod(c->cache, 0777), 0);
    Run r;
    const char *const args[] = {"prepare", "--data-path", c->data, "--cache-dir", c->cache, "--json", NULL};
    run_start_as(&r, uid, binary, args, NULL);
    run_wait(&r, 60);
    if (r.code != 1)
        fail_msg("exit code %d: %s", r.code, r.stderr_text.data);
    json_t *o = json_loads(r.stdout_text.data, 0, NULL);
    check_number(o, 2, "accepted", NULL);
    check_number(o, 1, "reasons", "audio_unreadable");
    json_decref(o);
    run_free(&r);
    Buf tsv = file_bytes(path_of(c->cache, "rejected.tsv"));
    assert_non_null(strstr(tsv.data, "Permission denied"));
    buf_free(&tsv);
}

static void nothing_usable_is_an_error(void **state)
{
    Corpus *c = *state;
    corpus_fill(c, 3, 0);
    json_t *o = prepare(c, 3, "--num-workers", "1");
    check_number(o, 0, "accepted", NULL);
    check_number(o, 3, "reasons", "audio_missing");
    json_decref(o);
    file_put(path_of(c->data, "metadata.csv"), "", 0);
    o = prepare(c, 3, "--num-workers", "1");
    check_number(o, 0, "lines", NULL);
    json_decref(o);
    Run r;
    unlink(path_of(c->data, "metadata.csv"));
    assert_int_equal(run_program(&r, "prepare", "--data-path", c->data), 3);
    assert_non_null(strstr(r.stderr_text.data, "metadata.csv"));
    assert_int_equal(r.stdout_text.size, 0);
    run_free(&r);
    assert_int_equal(mkfifo(path_of(c->data, "metadata.csv"), 0666), 0);
    assert_int_equal(run_program(&r, "prepare", "--data-path", c->data), 3);
    run_free(&r);
}

/* Folders whose names are no UTF-8 and ids with long names: the JSON is JSON all the same. */
static void odd_names_are_told_in_json(void **state)
{
    Corpus *c = *state;
    corpus_fill(c, 2, 0.3);
    char odd[256], id[512] = "", text[1024];
    for (int i = 0; i < 120; i++)
        strcat(id, "\xD9\x85");
    snprintf(text, sizeof text, "%s|%s\n%s|No such file.\n", c->clips[0].id, c->clips[0].text, id);
    file_put(path_of(c->data, "metadata.csv"), text, strlen(text));
    snprintf(odd, sizeof odd, "%s/odd\xFF\xFE", c->root);
    json_t *o = prepare_with(c, odd, 0, (const char *const[]){NULL});
    check_number(o, 1, "accepted", NULL);
    check_number(o, 1, "reasons", "audio_missing");
    json_decref(o);
    snprintf(odd, sizeof odd, "%s/data\xFF", c->root);
    assert_int_equal(rename(c->data, odd), 0);
    Run r;
    assert_int_equal(run_program(&r, "info", "--data-path", odd, "--json"), 1);
    o = json_loads(r.stdout_text.data, 0, NULL);
    assert_non_null(o);
    assert_int_equal(json_array_size(json_object_get(o, "rejected_lines")), 1);
    json_decref(o);
    run_free(&r);
    assert_int_equal(rename(odd, c->data), 0);
}

/* Lines without audio files, so that only the text counts: what each further line costs in memory. */
static void memory_grows_little_with_lines(void **state)
{
    Corpus *c = *state;
    long peak[2];
    if (SANITIZED) {
        print_message("SKIPPED: memory is not measured in a build with a sanitizer\n");
        skip();
    }
    static const int counts[2] = {2000, 20000};
    for (int i = 0; i < 2; i++) {
        while (c->count < counts[i])
            corpus_add(c, 0);
        corpus_write_metadata(c);
        Run r;
        int code =
            run_program(&r, "prepare", "--data-path", c->data, "--cache-dir", path_of(c->root, i ? "b" : "a"),
                        "--stages", "text", "--use-phonemes", "false", "--num-workers", "2", "--json");
        if (code != 0)
            fail_msg("exit code %d: %s", code, r.stderr_text.data);
        peak[i] = r.peak_kib;
        run_free(&r);
    }
    double per_line = (double)(peak[1] - peak[0]) * 1024 / (counts[1] - counts[0]);
    print_message("peak memory: %ld and %ld KiB, %.0f bytes a line\n", peak[0], peak[1], per_line);
    assert_true(per_line < 1024);
}

/* Clips do not stay in memory either. */
static void memory_does_not_grow_with_audio(void **state)
{
    Corpus *c = *state;
    long peak[2];
    if (SANITIZED) {
        print_message("SKIPPED: memory is not measured in a build with a sanitizer\n");
        skip();
    }
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < (i ? 60 : 20); k++)
            corpus_add(c, 3);
        corpus_write_metadata(c);
        Run r;
        assert_int_equal(run_program(&r, "prepare", "--data-path", c->data, "--cache-dir",
                                     path_of(c->root, i ? "b" : "a"), "--stages", "mel", "--num-workers", "1",
                                     "--json"),
                         0);
        peak[i] = r.peak_kib;
        run_free(&r);
    }
    print_message("peak memory: %ld KiB for 20 clips, %ld KiB for 80\n", peak[0], peak[1]);
    /* 60 clips more are 8 MB of samples and 5 MB of mels; mapped pages of the cache may count for a moment */
    const long most = getenv("MYXTTS_TEST_PATIENCE") ? 16 : 8; /* an emulator keeps what it has translated */
    assert_true(peak[1] - peak[0] < most * 1024);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(every_bad_thing_gets_its_reason), T(unreadable_audio_is_told),
        T(nothing_usable_is_an_error),      T(odd_names_are_told_in_json),
        T(memory_grows_little_with_lines),  T(memory_does_not_grow_with_audio),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
