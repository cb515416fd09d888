/* test_voice.c - `myxtts synth` and `myxtts eval` with checkpoints of a tiny trained run: what they write,
 * whose voice it is, long texts, and a sentence for everything that is no checkpoint. */
#include "support/train_process.h"
#include "support/wav_testing.h"

#include <sndfile.h>

static struct {
    Corpus *c;
    char folder[256]; /* of checkpoints */
} lab;

static int setup_lab(void **state)
{
    void *made = NULL;
    if (corpus_setup(&made))
        return -1;
    lab.c = made;
    make_voice_corpus(lab.c);
    snprintf(lab.folder, sizeof lab.folder, "%s/voice", lab.c->root);
    train_to_end(lab.c, lab.folder, 60, 20, (const char *const[]){"--val-step", "20", NULL}, 0);
    return 0;
}

static int teardown_lab(void **state)
{
    void *made = lab.c;
    return corpus_teardown(&made);
}

/* `synth --json` with the text to out.wav; more: NULL at the end. Exit code 1 is a voice that does not end by
 * itself. */
static json_t *synth(const char *text, const char *out, const char *const *more)
{
    const char *args[MAX_ARGS] = {"synth", "--checkpoint", lab.folder,     "--text", text, "--output",
                                  out,     "--json",       "--iterations", "4"};
    int n = 10;
    for (int i = 0; more && more[i]; i++)
        args[n++] = more[i];
    Run r;
    run_program_env(&r, args, NULL);
    if (r.code != 0 && r.code != 1)
        fail_msg("exit code %d: %s", r.code, (const char *)r.stderr_text.data);
    json_t *o = json_loads((const char *)r.stdout_text.data, 0, NULL);
    if (!json_is_object(o))
        fail_msg("stdout is no JSON object: %s", (const char *)r.stdout_text.data);
    assert_int_equal(json_integer_value(json_object_get(o, "left_out")) > 0, r.code);
    run_free(&r);
    return o;
}
#define SYNTH(text, out, ...) synth(text, out, (const char *const[]){__VA_ARGS__, NULL})

static double real_at(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    if (!json_is_number(v))
        fail_msg("there is no number %s", key);
    return json_number_value(v);
}

/* The program fails with this code, and says all the words. */
static void expect_failure(int code, const char *const *args, const char *const *words)
{
    Run r;
    run_program_env(&r, args, NULL);
    const char *said = strstr((const char *)r.stderr_text.data, "error: ");
    said = said ? said : (const char *)r.stderr_text.data;
    print_message("%d: %.*s\n", r.code, (int)strcspn(said, "\n"), said);
    if (r.code != code)
        fail_msg("exit code %d where %d was expected: %s", r.code, code, (const char *)r.stderr_text.data);
    for (int i = 0; words[i]; i++)
        if (!strstr((const char *)r.stderr_text.data, words[i]))
            fail_msg("\"%s\" is not said: %s", words[i], (const char *)r.stderr_text.data);
    assert_int_equal(r.stdout_text.size, 0);
    run_free(&r);
}
#define ARGS(...) \
    (const char *const[]) { __VA_ARGS__, NULL }
#define WORDS ARGS

/* ---- speaking ---- */

static void text_becomes_a_wav(void **state)
{
    const char *out = path_of(lab.c->root, "out.wav"), *png = path_of(lab.c->root, "mel.png");
    json_t *o = SYNTH("old hill", out, "--png", png);
    static const char *const keys[] = {
        "seconds",          "frames",       "parts",       "left_out",      "step",
        "real_time_factor", "text_seconds", "mel_seconds", "audio_seconds", "first_sound_seconds"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        real_at(o, keys[i]);
    SF_INFO info = {0};
    SNDFILE *f = sf_open(out, SFM_READ, &info);
    assert_non_null(f);
    float *samples = calloc((size_t)info.frames, sizeof *samples);
    assert_int_equal(sf_readf_float(f, samples, info.frames), info.frames);
    double loud = 0;
    for (sf_count_t i = 0; i < info.frames; i++) {
        assert_true(isfinite(samples[i]));
        loud = fmax(loud, fabs((double)samples[i]));
    }
    sf_close(f);
    free(samples);
    assert_int_equal(info.samplerate, 8000);
    assert_int_equal(info.channels, 1);
    assert_true(fabs((double)info.frames / 8000 - real_at(o, "seconds")) < 1e-4);
    assert_true(llabs(info.frames - 100 * (int64_t)real_at(o, "frames")) <= 200);
    assert_true(loud > 0.001 && loud <= 1);
    int64_t step = (int64_t)real_at(o, "step");
    assert_true(step == 20 || step == 40 || step == 60);
    assert_non_null(strstr(json_string_value(json_object_get(o, "checkpoint")), "best.safetensors"));
    print_message("%.2f s of speech from step %lld, loudest sample %.3f, real-time factor %.3f\n",
                  real_at(o, "seconds"), (long long)step, loud, real_at(o, "real_time_factor"));
    Buf a = file_bytes(png);
    assert_true(a.size > 100 && memcmp(a.data, "\x89PNG", 4) == 0);
    buf_free(&a);
    json_decref(o);
}

/* The checkpoint, the text and how to say it decide; nothing else. */
static void same_again(void **state)
{
    const char *one = path_of(lab.c->root, "one.wav"), *two = path_of(lab.c->root, "two.wav"),
               *three = path_of(lab.c->root, "three.wav"), *four = path_of(lab.c->root, "four.wav");
    json_decref(SYNTH("green hill", one, "--speed", "1"));
    json_decref(SYNTH("green hill", two, "--pitch", "+0", "--model-gpu", "sim0"));
    json_decref(SYNTH("green hill", three, "--pitch", "3"));
    same_bytes(one, two, 1);
    same_bytes(one, three, 0);
    Run r;
    run_program(&r, "synth", "--checkpoint", step_file(lab.folder, 20), "--text", "green hill",
                "--iterations", "4", "--output", four, "--verbose");
    assert_true(r.code == 0 || r.code == 1);
    assert_non_null(strstr((const char *)r.stdout_text.data, "from step 20"));
    run_free(&r);
    /* From a file, with what editors put into it. */
    static const char text[] = "\xEF\xBB\xBFgreen hill\r\n";
    file_put(path_of(lab.c->root, "say.txt"), text, sizeof text - 1);
    run_program(&r, "synth", "--checkpoint", lab.folder, "--text-file", path_of(lab.c->root, "say.txt"),
                "--iterations", "4", "--output", four);
    assert_true(r.code == 0 || r.code == 1);
    run_free(&r);
    same_bytes(one, four, 1);
}

/* Many lines at once: each is what it is alone; an empty one is named and costs itself. */
static void lines_become_files(void **state)
{
    const char *lines = path_of(lab.c->root, "lines.txt"), *dir = path_of(lab.c->root, "lines"),
               *alone = path_of(lab.c->root, "alone.wav");
    static const char text[] = "green hill\n\nold stone\r\n";
    file_put(lines, text, sizeof text - 1);
    Run r;
    run_program(&r, "synth", "--checkpoint", lab.folder, "--lines", lines, "--output-dir", dir,
                "--iterations", "4", "--json");
    assert_int_equal(r.code, 1);
    int found = 0;
    for (char *save = NULL, *line = strtok_r((char *)r.stdout_text.data, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save)) {
        json_t *o = json_loads(line, 0, NULL);
        assert_int_equal(json_integer_value(json_object_get(o, "line")), ++found);
        assert_int_equal(json_is_null(json_object_get(o, "error")), found != 2);
        json_decref(o);
    }
    assert_int_equal(found, 3);
    run_free(&r);
    json_decref(SYNTH("old stone", alone, "--speed", "1"));
    same_bytes(alone, path_of(dir, "03.wav"), 1);
    /* Half the speed is far longer than twice the speed. */
    json_t *slow = SYNTH("old stone", alone, "--speed", "0.5"),
           *fast = SYNTH("old stone", alone, "--speed", "2");
    assert_true(real_at(slow, "frames") > 1.5 * real_at(fast, "frames"));
    json_decref(slow), json_decref(fast);
}

static void long_text_is_cut(void **state)
{
    static const struct {
        const char *text;
        int parts;
    } cases[] = {{"Old hill.", 1},
                 {"Old hill. Green hill! Old? Yes; no", 5},
                 {"Old hill.\n\n  Green hill.\n", 2},
                 {"old h.ill", 1}, /* no blank behind the point */
                 {"old hill, green hill, old hill, green hill, old hill", 4},
                 {"old hill green hill old hill green hill old hill green hill", 4},
                 {"قیمت چند است؟ سلام۔", 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *o = SYNTH(cases[i].text, path_of(lab.c->root, "long.wav"), "--max-text-length", "34",
                          "--force-language");
        int parts = (int)real_at(o, "parts");
        print_message("%d parts, %.2f s: %s\n", parts, real_at(o, "seconds"), cases[i].text);
        if (cases[i].parts > 1 && i >= 4 && i <= 5)
            assert_true(parts >= 2); /* how many depends on the tokens of each */
        else
            assert_int_equal(parts, cases[i].parts);
        /* Between sentences there is a fifth of a second, between pieces of one a twentieth. */
        double pause = i >= 4 && i <= 5 ? 0.05 : 0.2;
        assert_true(fabs(real_at(o, "seconds") - real_at(o, "frames") * 100 / 8000 - pause * (parts - 1)) <
                    0.03 * parts);
        json_decref(o);
    }
    const char *out = path_of(lab.c->root, "none.wav");
    expect_failure(3, ARGS("synth", "--checkpoint", lab.folder, "--text", " \n ", "--output", out),
                   WORDS("nothing to speak"));
    expect_failure(3, ARGS("synth", "--checkpoint", lab.folder, "--text", "", "--output", out),
                   WORDS("nothing to speak"));
    assert_true(access(out, F_OK) != 0);
}

/* A number is read whole, a word longer than the network's memory in pieces, a foreign character costs
 * itself: nothing is missing that is not named. */
static void nothing_is_dropped(void **state)
{
    const char *out = path_of(lab.c->root, "all.wav");
    static const struct {
        const char *text;
        int left_out, line, column;
    } cases[] = {{"The code is 123456.", 0, 0, 0},
                 {"Old\n日本 \xEE\x80\x80 hill.", 1, 2, 4},
                 {"Old ★ hill <green> Привет ─── ४२ hill.", 0, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *o = SYNTH(cases[i].text, out, "--max-text-length", "34"),
               *piece = json_array_get(json_object_get(o, "left_out_pieces"), 0);
        assert_int_equal(json_array_size(json_object_get(o, "left_out_pieces")), cases[i].left_out);
        assert_int_equal(real_at(o, "left_out"), cases[i].left_out);
        if (cases[i].left_out) {
            assert_int_equal(real_at(piece, "line"), cases[i].line);
            assert_int_equal(real_at(piece, "column"), cases[i].column);
        }
        json_decref(o);
    }
    char word[900];
    memset(word, 'a', sizeof word - 1);
    word[sizeof word - 1] = 0;
    json_t *o = SYNTH(word, out, "--max-text-length", "34");
    assert_true(real_at(o, "parts") >= 2);
    assert_true(real_at(o, "symbols") > 890);
    json_decref(o);
    unlink(out);
}

static void whose_voice_it_is(void **state)
{
    const char *first = path_of(lab.c->root, "v1.wav"), *anna = path_of(lab.c->root, "v2.wav"),
               *boris = path_of(lab.c->root, "v3.wav"), *third = path_of(lab.c->root, "v4.wav"),
               *heard = path_of(lab.c->root, "v5.wav");
    json_decref(synth("old hill", first, NULL));
    json_decref(SYNTH("old hill", anna, "--speaker", "anna"));
    json_decref(SYNTH("old hill", boris, "--speaker", "boris"));
    json_decref(SYNTH("old hill", third, "--speaker", "چارلی"));
    json_decref(SYNTH("old hill", heard, "--reference", clip_path(lab.c, 1)));
    same_bytes(first, anna, 1);
    same_bytes(anna, boris, 0);
    json_decref(synth("<speak><voice name='boris'>old hill</voice></speak>", first, NULL));
    same_bytes(first, boris, 1);
    same_bytes(boris, third, 0);
    same_bytes(boris, heard, 0); /* one clip, not the mean of four */
    const char *out = path_of(lab.c->root, "none.wav");
    expect_failure(
        3, ARGS("synth", "--checkpoint", lab.folder, "--text", "old", "--output", out, "--speaker", "carla"),
        WORDS("carla", "4: anna, boris, dora, چارلی"));
    expect_failure(3,
                   ARGS("synth", "--checkpoint", lab.folder, "--text", "old", "--output", out, "--reference",
                        "/nowhere.wav"),
                   WORDS("/nowhere.wav"));
    expect_failure(3,
                   ARGS("synth", "--checkpoint", lab.folder, "--text", "old", "--output", out, "--reference",
                        path_of(lab.c->root, "voice.yaml")),
                   WORDS("voice.yaml", "reference"));
    expect_failure(2,
                   ARGS("synth", "--checkpoint", lab.folder, "--text", "old", "--output", out, "--reference",
                        clip_path(lab.c, 1), "--speaker", "anna"),
                   WORDS("--reference", "--speaker"));
    size_t n = 44 + 16000;
    uint8_t *silence = calloc(1, n);
    put_wav_header(silence, 1, 1, 8000, 16, 16000);
    file_put(path_of(lab.c->root, "silence.wav"), silence, n);
    free(silence);
    Run r; /* a second of nothing: refused with a sentence or spoken, but no crash */
    run_program(&r, "synth", "--checkpoint", lab.folder, "--text", "old", "--output", out, "--reference",
                path_of(lab.c->root, "silence.wav"));
    print_message("a silent reference: %d: %s", r.code,
                  (const char *)(r.code == 3 ? r.stderr_text.data : r.stdout_text.data));
    assert_true(r.code == 3 ? strstr((const char *)r.stderr_text.data, "silence.wav") != NULL
                            : r.code >= 0 && r.code <= 1);
    run_free(&r);
}

static float *read_samples(const char *path, int64_t *n)
{
    SF_INFO info = {0};
    SNDFILE *f = sf_open(path, SFM_READ, &info);
    assert_non_null(f);
    float *samples = calloc((size_t)info.frames + 1, sizeof *samples);
    assert_int_equal(sf_readf_float(f, samples, info.frames), info.frames);
    sf_close(f);
    *n = info.frames;
    return samples;
}

/* A speaker with one clip: that clip as a recording is the same voice. */
static void recording_is_heard_as_in_training(void **state)
{
    char folder[256];
    const char *known = path_of(lab.c->root, "known.wav"), *heard = path_of(lab.c->root, "heard.wav"),
               *other = path_of(lab.c->root, "other.wav");
    const char *const whose[][2] = {
        {"--speaker", "dora"}, {"--reference", clip_path(lab.c, 18)}, {"--reference", clip_path(lab.c, 3)}};
    const char *const out[] = {known, heard, other};
    snprintf(folder, sizeof folder, "%s/dora", lab.c->root);
    train_to_end(lab.c, folder, 60, 60, (const char *const[]){"--val-split", "0", NULL}, 0);
    for (int i = 0; i < 3; i++) {
        Run r;
        run_program(&r, "synth", "--checkpoint", folder, "--text", "old hill", "--output", out[i],
                    whose[i][0], whose[i][1], "--iterations", "4");
        if (r.code != 0 && r.code != 1)
            fail_msg("exit code %d: %s", r.code, (const char *)r.stderr_text.data);
        run_free(&r);
    }
    int64_t n, m, k;
    float *a = read_samples(known, &n), *b = read_samples(heard, &m), *c = read_samples(other, &k);
    double power = 0, error = 0, away = 0;
    assert_int_equal(n, m);
    for (int64_t i = 0; i < n; i++) {
        power += (double)(a[i] * a[i]), error += (double)((a[i] - b[i]) * (a[i] - b[i]));
        away += i < k ? (double)((a[i] - c[i]) * (a[i] - c[i])) : 0;
    }
    print_message("the speaker's clip as a reference: %.1e of the sound differs; another clip: %.1e\n",
                  error / power, away / power);
    assert_true(error / power < 1e-6);
    assert_true(k != n || away / power > 1e-4);
    free(a), free(b), free(c);
}

static void without_voice_conditioning(void **state)
{
    char folder[256];
    const char *out = path_of(lab.c->root, "plain.wav");
    snprintf(folder, sizeof folder, "%s/plain", lab.c->root);
    train_to_end(lab.c, folder, 4, 4, (const char *const[]){"--use-voice-conditioning", "false", NULL}, 0);
    Run r;
    run_program(&r, "synth", "--checkpoint", folder, "--text", "old hill", "--output", out, "--iterations",
                "2");
    assert_true(r.code == 0 || r.code == 1);
    run_free(&r);
    expect_failure(2,
                   ARGS("synth", "--checkpoint", folder, "--text", "old", "--output", out, "--reference",
                        clip_path(lab.c, 1)),
                   WORDS("without voice conditioning"));
}

/* ---- files that are no checkpoint ---- */

/* A copy of a checkpoint with one entry of its metadata, or one tensor, another. */
static void write_variant(const char *to, const char *key, const char *value, const char *without_tensor)
{
    SafeTensors f;
    Err err = {0};
    if (safetensors_open(&f, step_file(lab.folder, 60), &err))
        fail_msg("%s", err.msg);
    MetaEntry meta[32];
    TensorView *tensors = calloc((size_t)f.count, sizeof *tensors);
    int m = 0, n = 0;
    for (int i = 0; i < f.n_meta; i++)
        if (strcmp(f.meta[i].key, "xxh128") != 0 && strcmp(f.meta[i].key, "written_by") != 0) {
            meta[m] = f.meta[i];
            if (key && strcmp(meta[m].key, key) == 0)
                meta[m].value = value;
            m += meta[m].value != NULL;
        }
    for (int i = 0; i < f.count; i++)
        if (!without_tensor || strcmp(f.tensors[i].name, without_tensor) != 0)
            tensors[n++] = f.tensors[i];
    assert_true(!without_tensor || n == f.count - 1);
    if (safetensors_write(to, meta, m, tensors, n, &err))
        fail_msg("%s", err.msg);
    free(tensors);
    safetensors_close(&f);
}

static void not_a_checkpoint(const char *name, const char *word)
{
    const char *path = path_of(lab.c->root, name), *out = path_of(lab.c->root, "none.wav");
    expect_failure(3, ARGS("synth", "--checkpoint", path, "--text", "old", "--output", out),
                   WORDS(path, word));
    expect_failure(
        3, ARGS("eval", "--checkpoint", path, "--data-path", lab.c->data, "--cache-dir", lab.c->cache),
        WORDS(path, word));
    assert_true(access(out, F_OK) != 0);
}

static void foreign_files_get_a_sentence(void **state)
{
    const char *root = lab.c->root;
    static const uint8_t png[] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1";
    file_put(path_of(root, "a.png"), png, sizeof png);
    file_put(path_of(root, "a.txt"), "hello, I am a text\n", 19);
    file_put(path_of(root, "empty.safetensors"), "", 0);
    float numbers[4] = {1, 2, 3, 4};
    TensorView t = {"weight", "F32", 1, {4, 1, 1, 1}, numbers, sizeof numbers};
    MetaEntry other = {"format", "pt"};
    assert_int_equal(safetensors_write(path_of(root, "foreign.safetensors"), NULL, 0, &t, 1, NULL), 0);
    assert_int_equal(safetensors_write(path_of(root, "torch.safetensors"), &other, 1, &t, 1, NULL), 0);
    not_a_checkpoint("a.png", "safetensors");
    not_a_checkpoint("a.txt", "safetensors");
    not_a_checkpoint("empty.safetensors", "safetensors");
    not_a_checkpoint("foreign.safetensors", "not a checkpoint of myxtts");
    not_a_checkpoint("torch.safetensors", "not a checkpoint of myxtts");
    not_a_checkpoint("nowhere", "nowhere");
    assert_int_equal(mkdir(path_of(root, "nothing"), 0777), 0);
    not_a_checkpoint("nothing", "no checkpoint");
    /* Ours, but damaged or of another program. */
    write_variant(path_of(root, "same.safetensors"), NULL, NULL, NULL);
    Run r;
    run_program(&r, "synth", "--checkpoint", path_of(root, "same.safetensors"), "--text", "old", "--output",
                path_of(root, "s.wav"), "--iterations", "2");
    assert_true(r.code == 0 || r.code == 1); /* so the copies below fail for what was changed */
    run_free(&r);
    write_variant(path_of(root, "symbols.safetensors"), "symbols",
                  "{\"version\": 99, \"code_points\": [1, 2, 3]}", NULL);
    not_a_checkpoint("symbols.safetensors", "symbol table");
    write_variant(path_of(root, "nosymbols.safetensors"), "symbols", "what?", NULL);
    not_a_checkpoint("nosymbols.safetensors", "symbol table");
    write_variant(path_of(root, "nospeakers.safetensors"), "speakers", "{}", NULL);
    not_a_checkpoint("nospeakers.safetensors", "speakers");
    write_variant(path_of(root, "format.safetensors"), "format", "myxtts-checkpoint-77", NULL);
    not_a_checkpoint("format.safetensors", "another format");
    write_variant(path_of(root, "nomean.safetensors"), NULL, NULL, "mel.mean");
    not_a_checkpoint("nomean.safetensors", "statistics");
    Buf whole = file_bytes(step_file(lab.folder, 60));
    file_put(path_of(root, "cut.safetensors"), whole.data, whole.size * 2 / 3);
    not_a_checkpoint("cut.safetensors", "cut");
    whole.data[whole.size / 2] ^= 4;
    file_put(path_of(root, "changed.safetensors"), whole.data, whole.size);
    not_a_checkpoint("changed.safetensors", "changed after it was written");
    buf_free(&whole);
    /* A setting the program does not have, a network that is not in the file: wrong settings. */
    const char *out = path_of(root, "none.wav"), *bad = path_of(root, "config.safetensors"),
               *lost = path_of(root, "lost.safetensors");
    write_variant(bad, "config", "{\"model\": {\"n_mels\": \"many\"}}", NULL);
    expect_failure(2, ARGS("synth", "--checkpoint", bad, "--text", "old", "--output", out),
                   WORDS("config.safetensors", "n_mels"));
    write_variant(lost, NULL, NULL, "decoder.mel.weight");
    expect_failure(2, ARGS("synth", "--checkpoint", lost, "--text", "old", "--output", out),
                   WORDS("lost.safetensors", "decoder.mel.weight"));
    expect_failure(
        2, ARGS("synth", "--checkpoint", lab.folder, "--decoder-dim", "48", "--text", "old", "--output", out),
        WORDS("decoder_dim", "48"));
}

/* ---- wrong use ---- */

static void wrong_use_gets_a_sentence(void **state)
{
    const char *out = path_of(lab.c->root, "none.wav");
    rmdir("checkpoints"); /* where it would look; other tests leave it, empty */
    expect_failure(2, ARGS("synth", "--text", "old", "--output", out), WORDS("--checkpoint"));
    expect_failure(2, ARGS("synth", "--checkpoint", lab.folder, "--output", out), WORDS("--text"));
    expect_failure(
        2, ARGS("synth", "--checkpoint", lab.folder, "--text", "a", "--text-file", "b", "--output", out),
        WORDS("synth needs"));
    expect_failure(
        2, ARGS("synth", "--checkpoint", lab.folder, "--text", "a", "--output", out, "--iterations", "many"),
        WORDS("many"));
    expect_failure(3,
                   ARGS("synth", "--checkpoint", lab.folder, "--text-file", "/nowhere.txt", "--output", out),
                   WORDS("/nowhere.txt"));
    expect_failure(3,
                   ARGS("synth", "--checkpoint", lab.folder, "--text", "old", "--iterations", "2", "--output",
                        "/nowhere/a.wav"),
                   WORDS("/nowhere/a.wav"));
    expect_failure(2, ARGS("eval", "--data-path", lab.c->data), WORDS("--checkpoint"));
    expect_failure(2, ARGS("eval", "--checkpoint", lab.folder), WORDS("--data-path"));
    expect_failure(2,
                   ARGS("eval", "--checkpoint", lab.folder, "--data-path", lab.c->data, "--cache-dir",
                        lab.c->cache, "--clips", "some"),
                   WORDS("--clips", "some"));
    expect_failure(3, ARGS("eval", "--checkpoint", lab.folder, "--data-path", "/nowhere"), WORDS("/nowhere"));
    expect_failure(2, ARGS("train", "--checkpoint-dir", path_of(lab.c->root, "new")),
                   WORDS("train needs DIR"));
}

/* ---- eval ---- */

static double validation_loss(int64_t step)
{
    Buf text = file_bytes(path_of(lab.folder, "log.jsonl"));
    double loss = NAN;
    for (char *save = NULL, *line = strtok_r((char *)text.data, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save)) {
        json_t *o = json_loads(line, 0, NULL);
        const char *event = json_string_value(json_object_get(o, "event"));
        if (event && strcmp(event, "validation") == 0 &&
            json_integer_value(json_object_get(o, "step")) == step)
            loss = json_number_value(json_object_get(o, "loss"));
        json_decref(o);
    }
    buf_free(&text);
    return loss;
}

static void eval_gives_what_training_saw(void **state)
{
    static const char *const numbers[] = {"step", "clips", "loss", "spoken", "length_ratio", "mcd_db"};
    for (int k = 0; k < 3; k++) {
        const char *path = k == 0 ? lab.folder : step_file(lab.folder, k * 20);
        Run r;
        run_program(&r, "eval", "--checkpoint", path, "--data-path", lab.c->data, "--cache-dir", lab.c->cache,
                    "--json", "--clips", "3");
        json_t *o = json_loads((const char *)r.stdout_text.data, 0, NULL);
        if (r.code < 0 || r.code > 1 || !o)
            fail_msg("exit code %d: %s", r.code, (const char *)r.stderr_text.data);
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
            real_at(o, numbers[i]);
        assert_true(json_is_true(json_object_get(o, "held_out")));
        const json_t *terms = json_object_get(o, "terms");
        double sum = 0;
        for (const char *const *t =
                 (const char *const[]){"mel", "align", "duration", "pitch", "energy", NULL};
             *t; t++)
            sum += real_at(terms, *t);
        double loss = real_at(o, "loss"), seen = validation_loss((int64_t)real_at(o, "step"));
        print_message("step %.0f: loss %.7g in eval, %.7g while training; %.1f dB from the recordings\n",
                      real_at(o, "step"), loss, seen, real_at(o, "mcd_db"));
        assert_true(fabs(sum / loss - 1) < 1e-5);
        assert_true(fabs(loss / seen - 1) < 1e-5);
        assert_int_equal((int)real_at(o, "spoken"), 3);
        json_decref(o);
        run_free(&r);
    }
    /* Other data: all of it, if nothing is held out; and its own statistics are not used. */
    Run r;
    run_program(&r, "eval", "--checkpoint", lab.folder, "--data-path", lab.c->data, "--cache-dir",
                path_of(lab.c->root, "cache2"), "--val-split", "0", "--clips", "0", "--json");
    json_t *o = json_loads((const char *)r.stdout_text.data, 0, NULL);
    if (r.code < 0 || r.code > 1 || !o) /* 1: findings */
        fail_msg("exit code %d: %s", r.code, (const char *)r.stderr_text.data);
    assert_int_equal((int)real_at(o, "clips"), 19);
    assert_true(json_is_false(json_object_get(o, "held_out")));
    json_decref(o);
    run_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_becomes_a_wav),
        cmocka_unit_test(same_again),
        cmocka_unit_test(lines_become_files),
        cmocka_unit_test(long_text_is_cut),
        cmocka_unit_test(nothing_is_dropped),
        cmocka_unit_test(whose_voice_it_is),
        cmocka_unit_test(recording_is_heard_as_in_training),
        cmocka_unit_test(without_voice_conditioning),
        cmocka_unit_test(foreign_files_get_a_sentence),
        cmocka_unit_test(wrong_use_gets_a_sentence),
        cmocka_unit_test(eval_gives_what_training_saw),
    };
    return cmocka_run_group_tests(tests, setup_lab, teardown_lab);
}
