/* test_vocode.c - vocoders in use: `synth` and `eval` with the vocoder of a run, `vocode` of recordings and
 * mels, and a sentence for vocoders and inputs that do not fit. The vocoders are not trained. */
#include "support/command_testing.h"
#include "support/train_process.h"
#include "support/vocoder_testing.h"
#include "support/wav_testing.h"

#include <math.h>
#include <sndfile.h>

#include "base/npy.h"

#define SMALL "\"vocoder_dim\": 16, \"vocoder_layers\": 2, " SMALL_MEL
#define OTHER_MEL \
    "\"vocoder_dim\": 16, \"vocoder_layers\": 2, \"sample_rate\": 8000, \"n_fft\": 256, " \
    "\"win_length\": 200, \"hop_length\": 64, \"n_mels\": 16, \"mel_fmax\": 4000"

static struct {
    Corpus *c;
    char run[256];     /* a voice with a vocoder */
    char vocoder[300]; /* its folder */
} lab;

static const char *at(const char *name) { return path_of(lab.c->root, name); }

static int setup_lab(void **state)
{
    void *made = NULL;
    if (corpus_setup(&made))
        return -1;
    lab.c = made;
    make_voice_corpus(lab.c);
    snprintf(lab.run, sizeof lab.run, "%s/run", lab.c->root);
    snprintf(lab.vocoder, sizeof lab.vocoder, "%s/vocoder", lab.run);
    train_to_end(lab.c, lab.run, 20, 20, NULL, 0);
    assert_int_equal(file_make_dirs(lab.vocoder, NULL), 0);
    write_vocoder(path_of(lab.vocoder, "step-00000007.safetensors"), SMALL, NULL);
    return 0;
}

static int teardown_lab(void **state)
{
    void *made = lab.c;
    return corpus_teardown(&made);
}

static int16_t *read_samples(const char *path, int64_t *n, int *rate)
{
    SF_INFO info = {0};
    SNDFILE *f = sf_open(path, SFM_READ, &info);
    if (!f)
        fail_msg("%s cannot be read", path);
    int16_t *samples = calloc((size_t)info.frames + 1, sizeof *samples);
    assert_int_equal(sf_readf_short(f, samples, info.frames), info.frames);
    sf_close(f);
    *n = info.frames;
    *rate = info.samplerate;
    return samples;
}

/* ---- synth ---- */

#define SYNTH "synth", "--checkpoint", lab.run, "--text", "old hill. green hill.", "--json"

static void synth_takes_the_vocoder_of_the_run(void **state)
{
    const char *own = at("own.wav"), *named = at("named.wav"), *plain = at("plain.wav");
    json_t *o = run_json(ARGS(SYNTH, "--output", own, "--verbose"), "sound: by the vocoder");
    assert_non_null(strstr(text_at(o, "vocoder"), "run/vocoder/step-00000007.safetensors"));
    assert_true(json_number_value(json_object_get(o, "first_sound_seconds")) > 0);
    int64_t frames = json_integer_value(json_object_get(o, "frames")), n;
    int rate;
    /* Two sentences of this many frames, a pause between them. */
    free(read_samples(own, &n, &rate));
    assert_int_equal(n, (frames - 2) * 100 + (int64_t)(0.2 * 8000));
    assert_int_equal(rate, 8000);
    json_decref(o);
    json_decref(
        run_json(ARGS(SYNTH, "--output", named, "--vocoder", lab.vocoder, "--model-gpu", "sim0"), NULL));
    same_bytes(own, named, 1);
    o = run_json(ARGS(SYNTH, "--output", plain, "--vocoder", "griffin_lim", "--verbose"),
                 "sound: by Griffin-Lim");
    assert_string_equal(text_at(o, "vocoder"), "griffin_lim");
    json_decref(o);
    same_bytes(own, plain, 0);
    /* Rounds behind the vocoder: none by default, some when asked for. */
    json_decref(run_json(ARGS(SYNTH, "--output", named, "--iterations", "0"), NULL));
    same_bytes(own, named, 1);
    json_decref(run_json(ARGS(SYNTH, "--output", named, "--iterations", "3"), NULL));
    same_bytes(own, named, 0);
    json_decref(run_json(ARGS(SYNTH, "--output", plain, "--iterations", "16"), NULL));
    same_bytes(plain, named, 0);
    same_bytes(plain, own, 0);
}

static void lines_and_pipes_have_the_same_sound(void **state)
{
    const char *alone = at("alone.wav"), *lines = at("lines.txt"), *dir = at("lines");
    static const char text[] = "old hill. green hill.\ngreen hill\n";
    file_put(lines, text, sizeof text - 1);
    json_decref(run_json(ARGS(SYNTH, "--output", alone), NULL));
    Run r;
    run_program(&r, "synth", "--checkpoint", lab.run, "--lines", lines, "--output-dir", dir);
    assert_int_equal(r.code, 0);
    run_free(&r);
    same_bytes(alone, path_of(dir, "01.wav"), 1);
    run_program(&r, "synth", "--checkpoint", lab.run, "--text", "old hill. green hill.", "--output", "-");
    assert_int_equal(r.code, 0);
    Buf file = file_bytes(alone);
    assert_int_equal(file.size, r.stdout_text.size);
    assert_memory_equal(file.data + 44, r.stdout_text.data + 44, file.size - 44);
    buf_free(&file);
    run_free(&r);
}

/* Another run, whose vocoder is this file's bytes. */
static const char *run_with(const char *name, const void *bytes, size_t size)
{
    const char *run = at(name);
    char folder[512];
    snprintf(folder, sizeof folder, "%s/vocoder", run);
    assert_int_equal(file_make_dirs(folder, NULL), 0);
    Buf voice = file_bytes(step_file(lab.run, 20));
    file_put(path_of(run, "best.safetensors"), voice.data, voice.size);
    buf_free(&voice);
    if (bytes)
        file_put(path_of(folder, "best.safetensors"), bytes, size);
    return run;
}

static void vocoders_that_do_not_fit_get_a_sentence(void **state)
{
    const char *out = at("none.wav");
    write_vocoder(at("other.safetensors"), OTHER_MEL, NULL);
    Buf other = file_bytes(at("other.safetensors"));
    const char *run = run_with("other-mel", other.data, other.size);
    expect_failure(
        2, ARGS("synth", "--checkpoint", run, "--text", "old", "--output", out),
        WORDS("hop_length 64", "hop_length 100", "other-mel/vocoder/best", "--vocoder griffin_lim"), NULL);
    json_decref(run_json(ARGS("synth", "--checkpoint", run, "--text", "old", "--output", at("ok.wav"),
                              "--vocoder", "griffin_lim", "--json"),
                         NULL));
    expect_failure(2, ARGS("export", "--checkpoint", run, "--output", at("none.safetensors")),
                   WORDS("hop_length 64", "hop_length 100"), NULL);
    assert_true(access(at("none.safetensors"), F_OK) != 0);
    /* Cut off, and with numbers that are none. */
    run = run_with("cut", other.data, other.size / 2);
    expect_failure(3, ARGS("synth", "--checkpoint", run, "--text", "old", "--output", out), WORDS("cut off"),
                   NULL);
    buf_free(&other);
    write_vocoder(at("nan.safetensors"), SMALL, "vocoder.input.weight");
    expect_failure(3,
                   ARGS("synth", "--checkpoint", lab.run, "--text", "old", "--output", out, "--vocoder",
                        at("nan.safetensors")),
                   WORDS("nan.safetensors", "vocoder.input.weight is nan"), NULL);
    expect_failure(3,
                   ARGS("export", "--checkpoint", lab.run, "--output", at("none.safetensors"), "--vocoder",
                        at("nan.safetensors")),
                   WORDS("vocoder.input.weight is nan"), NULL);
    /* A voice in the place of a vocoder, and the other way round. */
    expect_failure(3,
                   ARGS("synth", "--checkpoint", lab.run, "--text", "old", "--output", out, "--vocoder",
                        step_file(at("cut"), 1)),
                   WORDS("cut/step-00000001"), NULL);
    run = run_with("voice-alone", NULL, 0);
    expect_failure(3,
                   ARGS("synth", "--checkpoint", lab.run, "--text", "old", "--output", out, "--vocoder",
                        path_of(run, "best.safetensors")),
                   WORDS("has a voice, but no vocoder"), NULL);
    expect_failure(3, ARGS("synth", "--checkpoint", lab.vocoder, "--text", "old", "--output", out),
                   WORDS("is a vocoder", "--vocoder"), NULL);
    assert_true(access(out, F_OK) != 0);
    /* A training that has only begun. */
    json_t *o =
        run_json(ARGS("synth", "--checkpoint", run, "--text", "old", "--output", at("ok.wav"), "--json"),
                 "without a vocoder");
    assert_string_equal(text_at(o, "vocoder"), "griffin_lim");
    json_decref(o);
}

/* The pitch of what is heard is not that of Griffin-Lim. */
static void eval_says_which_it_used(void **state)
{
    double pitch[2];
    for (int plain = 0; plain < 2; plain++) {
        const char *args[MAX_ARGS] = {"eval",        "--checkpoint", lab.run,  "--data-path", lab.c->data,
                                      "--cache-dir", lab.c->cache,   "--json", "--clips",     "3"};
        args[10] = plain ? "--vocoder" : NULL;
        args[11] = "griffin_lim";
        Run r;
        run_program_env(&r, args, NULL);
        json_t *o = json_loads((const char *)r.stdout_text.data, 0, NULL);
        if (r.code < 0 || r.code > 1 || !o)
            fail_msg("exit code %d: %s", r.code, (const char *)r.stderr_text.data);
        assert_non_null(strstr(text_at(o, "vocoder"), plain ? "griffin_lim" : "vocoder/step-00000007"));
        pitch[plain] = json_number_value(json_object_get(o, "f0_rmse_semitones"));
        json_decref(o);
        run_free(&r);
    }
    print_message("pitch off by %g semitones, by Griffin-Lim %g\n", pitch[0], pitch[1]);
    assert_true(fabs(pitch[0] - pitch[1]) > 1e-6);
}

/* ---- vocode ---- */

#define VOCODE "vocode", "--json", "--checkpoint", lab.vocoder, "--output"

static void copies_are_as_long(void **state)
{
    const char *clip = clip_path(lab.c, 1), *out = at("copy.wav"), *npy = at("mel.npy"),
               *again = at("again.wav");
    int64_t n, m, k;
    int rate, rate_out;
    json_t *o = run_json(ARGS(VOCODE, out, clip), NULL);
    assert_non_null(strstr(text_at(o, "vocoder"), "vocoder/step-00000007"));
    assert_int_equal(json_integer_value(json_object_get(o, "step")), 7);
    const json_t *file = json_array_get(json_object_get(o, "files"), 0);
    assert_string_equal(text_at(file, "input"), clip);
    assert_string_equal(text_at(file, "output"), out);
    const int64_t frames = json_integer_value(json_object_get(file, "frames"));
    free(read_samples(clip, &n, &rate));
    int16_t *copy = read_samples(out, &m, &rate_out);
    assert_int_equal(rate_out, 8000);
    assert_int_equal(m, (n * 8000 + rate - 1) / rate);
    assert_int_equal(frames, 1 + m / 100);
    json_decref(o);
    /* The mel of the clip, from a file, in both layouts. */
    Run r;
    run_program(&r, "mel", clip, "--config", at("voice.yaml"), "--output", npy);
    assert_int_equal(r.code, 0);
    run_free(&r);
    json_decref(run_json(ARGS(VOCODE, again, npy), NULL));
    int16_t *from_mel = read_samples(again, &k, &rate_out);
    assert_int_equal(k, (frames - 1) * 100);
    assert_memory_equal(from_mel, copy, (size_t)k * sizeof *copy);
    for (int64_t i = k; i < m; i++)
        assert_int_equal(copy[i], 0);
    float *mel, *turned = calloc((size_t)frames * 16, sizeof *turned);
    int64_t rows, cols;
    assert_int_equal(npy_read(npy, &mel, &rows, &cols, NULL), 0);
    assert_int_equal(rows, frames);
    for (int64_t i = 0; i < rows * cols; i++)
        turned[i % cols * rows + i / cols] = mel[i];
    assert_int_equal(npy_write(at("turned.npy"), turned, cols, rows, NULL), 0);
    json_decref(run_json(ARGS(VOCODE, at("turned.wav"), at("turned.npy")), NULL));
    same_bytes(again, at("turned.wav"), 1);
    free(mel), free(turned), free(copy), free(from_mel);
}

static void several_files_go_to_a_folder(void **state)
{
    const char *dir = at("copies"), *one = clip_path(lab.c, 1), *two = clip_path(lab.c, 2);
    json_t *o = run_json(ARGS(VOCODE, dir, one, two), NULL);
    assert_int_equal(json_array_size(json_object_get(o, "files")), 2);
    for (int i = 0; i < 2; i++)
        assert_int_equal(
            access(text_at(json_array_get(json_object_get(o, "files"), (size_t)i), "output"), F_OK), 0);
    json_decref(o);
    /* Griffin-Lim, with the mel of the vocoder, of the run, or of the settings. */
    const char *const mels[][2] = {
        {"--checkpoint", lab.vocoder}, {"--checkpoint", lab.run}, {"--config", at("voice.yaml")}};
    for (int i = 0; i < 3; i++) {
        o = run_json(ARGS("vocode", one, "--output", at("plain.wav"), "--vocoder", "griffin_lim", "--json",
                          mels[i][0], mels[i][1]),
                     NULL);
        assert_string_equal(text_at(o, "vocoder"), "griffin_lim");
        json_decref(o);
    }
    expect_failure(2, ARGS(VOCODE, dir, one, one), WORDS("would both become"), NULL);
}

/* One bad file of several costs that file. */
static void a_bad_file_is_left_out(void **state)
{
    const char *dir = at("rest"), *one = clip_path(lab.c, 1), *two = clip_path(lab.c, 2);
    Run r;
    run_program_env(&r, ARGS(VOCODE, dir, one, at("nowhere.wav"), two), NULL);
    assert_int_equal(r.code, 1);
    assert_non_null(strstr((const char *)r.stderr_text.data, "left out: "));
    json_t *o = json_loads((const char *)r.stdout_text.data, 0, NULL), *bad = json_object_get(o, "left_out");
    assert_int_equal(json_array_size(json_object_get(o, "files")), 2);
    assert_int_equal(json_array_size(bad), 1);
    assert_non_null(strstr(text_at(json_array_get(bad, 0), "input"), "nowhere.wav"));
    assert_non_null(strstr(text_at(json_array_get(bad, 0), "error"), "nowhere.wav"));
    json_decref(o);
    run_free(&r);
    expect_failure(3, ARGS(VOCODE, dir, at("nowhere.wav"), at("nothing.wav")), WORDS("none of the 2 files"),
                   NULL);
}

static void inputs_that_are_no_sound_get_a_sentence(void **state)
{
    const char *out = at("none.wav"), *npy = at("bad.npy");
    float mel[40 * 16] = {0};
    expect_failure(3, ARGS(VOCODE, out, at("nowhere.wav")), WORDS("nowhere.wav"), NULL);
    expect_failure(3, ARGS(VOCODE, out, at("nowhere.npy")), WORDS("nowhere.npy"), NULL);
    expect_failure(3, ARGS(VOCODE, out, at("voice.yaml")), WORDS("voice.yaml"), NULL);
    file_put(npy, "no numbers", 10);
    expect_failure(3, ARGS(VOCODE, out, npy), WORDS("not a .npy file"), NULL);
    assert_int_equal(npy_write(npy, mel, 40, 15, NULL), 0);
    expect_failure(3, ARGS(VOCODE, out, npy), WORDS("40 x 15", "16 bands"), NULL);
    assert_int_equal(npy_write(npy, mel, 1, 16, NULL), 0);
    expect_failure(3, ARGS(VOCODE, out, npy), WORDS("bad.npy", "1 frame"), NULL);
    mel[7] = NAN;
    assert_int_equal(npy_write(npy, mel, 40, 16, NULL), 0);
    expect_failure(3, ARGS(VOCODE, out, npy), WORDS("number 7 is nan"), NULL);
    Buf whole = file_bytes(npy);
    file_put(npy, whole.data, whole.size - 4);
    expect_failure(3, ARGS(VOCODE, out, npy), WORDS("cut off"), NULL);
    buf_free(&whole);
    expect_failure(2, ARGS("vocode", clip_path(lab.c, 1), "--output", out), WORDS("--checkpoint"), NULL);
    expect_failure(2, ARGS("vocode", clip_path(lab.c, 1), "--checkpoint", lab.vocoder), WORDS("--output"),
                   NULL);
    expect_failure(2, ARGS("vocode", "--checkpoint", lab.vocoder, "--output", out), WORDS("recordings"),
                   NULL);
    expect_failure(2, ARGS(VOCODE, out, "--vocoder", lab.vocoder, clip_path(lab.c, 1)), WORDS("griffin_lim"),
                   NULL);
    expect_failure(2, ARGS(VOCODE, at("none.xyz"), clip_path(lab.c, 1)), WORDS(".wav, .flac"), NULL);
    assert_true(access(out, F_OK) != 0);
}

/* As numpy writes them: later versions, doubles, columns first. */
static void numpys_other_layouts_are_read(void **state)
{
    static const char *const heads[] = {
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }\n",
        "{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3), }\n",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (6,), }\n",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 3), }\n",
        "{'descr': '<i8', 'fortran_order': False, 'shape': (2, 3), }\n",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (9999999999, 9999999999), }\n",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (9223372036854775807, 0), }\n"};
    const double numbers[6] = {1, 2, 3, 4, 5, 6};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        for (int version = 1; version <= 2; version++) {
            uint8_t bytes[256] = "\x93NUMPY";
            const size_t lead = version == 1 ? 10 : 12, n = strlen(heads[i]);
            bytes[6] = (uint8_t)version;
            bytes[8] = (uint8_t)n;
            memcpy(bytes + lead, heads[i], n);
            memcpy(bytes + lead + n, numbers, sizeof numbers);
            file_put(at("x.npy"), bytes, lead + n + (i == 6 ? 0 : sizeof numbers));
            float *data;
            int64_t rows, cols;
            Err err = {0};
            int rc = npy_read(at("x.npy"), &data, &rows, &cols, &err);
            assert_int_equal(rc, i < 2 ? 0 : ERR_FORMAT);
            assert_true(rc ? data == NULL : rows == 2 && cols == 3);
            /* The second number of the file is one further in its row, or the first of the next. */
            if (!rc)
                assert_true(data[0] == 1 && data[5] == 6 && data[i ? 3 : 1] == 2);
            free(data);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(synth_takes_the_vocoder_of_the_run),
        cmocka_unit_test(lines_and_pipes_have_the_same_sound),
        cmocka_unit_test(vocoders_that_do_not_fit_get_a_sentence),
        cmocka_unit_test(eval_says_which_it_used),
        cmocka_unit_test(copies_are_as_long),
        cmocka_unit_test(several_files_go_to_a_folder),
        cmocka_unit_test(a_bad_file_is_left_out),
        cmocka_unit_test(inputs_that_are_no_sound_get_a_sentence),
        cmocka_unit_test(numpys_other_layouts_are_read),
    };
    return cmocka_run_group_tests(tests, setup_lab, teardown_lab);
}
