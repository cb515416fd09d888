/* test_export.c - `myxtts export`: a file that speaks like its checkpoint, with nothing of the training and
 * of this machine in it, and a sentence for everything that goes wrong. */
#include "support/command_testing.h"
#include "support/train_process.h"
#include "support/vocoder_testing.h"

#include <math.h>
#include <sys/stat.h>

#include "base/bf16.h"

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
    train_to_end(lab.c, lab.folder, 20, 20, (const char *const[]){"--val-split", "0", NULL}, 0);
    return 0;
}

static int teardown_lab(void **state)
{
    void *made = lab.c;
    return corpus_teardown(&made);
}

static const char *at(const char *name) { return path_of(lab.c->root, name); }

static void export_to(const char *file, const char *precision)
{
    json_decref(run_json(ARGS("export", "--checkpoint", lab.folder, "--output", file, "--precision",
                              precision, "--licence", "CC0-1.0", "--note", "tones of a test", "--json"),
                         NULL));
}

/* What a checkpoint says, as bytes of a WAV file. */
static Buf spoken(const char *checkpoint, const char *out)
{
    Run r;
    run_program(&r, "synth", "--checkpoint", checkpoint, "--text", "old hill. green hill.", "--output", out,
                "--iterations", "4", "--speaker", "boris");
    if (r.code != 0)
        fail_msg("%s: exit code %d: %s", checkpoint, r.code, (const char *)r.stderr_text.data);
    run_free(&r);
    return file_bytes(out);
}

static void same_sound(const char *a, const char *b, int expected)
{
    Buf x = spoken(a, at("a.wav")), y = spoken(b, at("b.wav"));
    int same = x.size == y.size && memcmp(x.data, y.data, x.size) == 0;
    if (same != expected)
        fail_msg("%s and %s speak %s", a, b, same ? "alike" : "differently");
    buf_free(&x);
    buf_free(&y);
}

/* 1: one of the tensors that a network's parameters are. */
static int is_weight(const TensorView *t)
{
    static const char *const others[] = {"adam.", "mel.", "train.", "voice_clips."};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strncmp(t->name, others[i], strlen(others[i])) == 0)
            return 0;
    return 1;
}

/* A copy of a checkpoint with its weights changed: rounded to bf16, or with a NaN in one of them. */
static void write_changed(const char *to, const char *from, int nan)
{
    SafeTensors f;
    Err err = {0};
    if (safetensors_open(&f, from, &err))
        fail_msg("%s", err.msg);
    MetaEntry meta[32];
    TensorView *tensors = calloc((size_t)f.count, sizeof *tensors);
    float **numbers = calloc((size_t)f.count, sizeof *numbers);
    int m = 0;
    for (int i = 0; i < f.n_meta; i++)
        if (strcmp(f.meta[i].key, "xxh128") != 0 && strcmp(f.meta[i].key, "written_by") != 0)
            meta[m++] = f.meta[i];
    for (int i = 0; i < f.count; i++) {
        tensors[i] = f.tensors[i];
        if (!is_weight(&tensors[i]))
            continue;
        numbers[i] = malloc(tensors[i].bytes);
        memcpy(numbers[i], tensors[i].data, tensors[i].bytes);
        for (size_t k = 0; k < tensors[i].bytes / sizeof(float); k++)
            numbers[i][k] = bf16_to_float(bf16_from_float(numbers[i][k]));
        if (nan && strcmp(tensors[i].name, "decoder.mel.weight") == 0)
            numbers[i][3] = NAN;
        tensors[i].data = numbers[i];
    }
    if (safetensors_write(to, meta, m, tensors, f.count, &err))
        fail_msg("%s", err.msg);
    for (int i = 0; i < f.count; i++)
        free(numbers[i]);
    free(numbers);
    free(tensors);
    safetensors_close(&f);
}

/* ---- rounding ---- */

static void floats_are_rounded_to_nearest_even(void **state)
{
    static const struct {
        uint32_t bits;
        uint16_t half;
    } cases[] = {{0x3F800000, 0x3F80}, {0x3F808000, 0x3F80}, {0x3F818000, 0x3F82}, {0x3F808001, 0x3F81},
                 {0xBF817FFF, 0xBF81}, {0x00000001, 0x0000}, {0x80000000, 0x8000}, {0x3FFFFFFF, 0x4000},
                 {0x7F7FFFFF, 0x7F80}, {0x7F800000, 0x7F80}, {0x7F800001, 0x7FC0}, {0x7FFFFFFF, 0x7FFF},
                 {0xFFFFFFFF, 0xFFFF}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float x;
        memcpy(&x, &cases[i].bits, sizeof x);
        assert_int_equal(bf16_from_float(x), cases[i].half);
        assert_int_equal(bf16_from_float(bf16_to_float(cases[i].half)), cases[i].half);
    }
}

/* ---- speaking ---- */

static void float32_speaks_byte_for_byte(void **state)
{
    export_to(at("full.safetensors"), "float32");
    same_sound(lab.folder, at("full.safetensors"), 1);
}

/* Two bytes a weight: the sound is that of the rounded weights, whoever rounded them. */
static void bf16_speaks_as_the_rounded_weights(void **state)
{
    export_to(at("half.safetensors"), "bf16");
    write_changed(at("rounded.safetensors"), step_file(lab.folder, 20), 0);
    same_sound(at("half.safetensors"), at("rounded.safetensors"), 1);
    same_sound(at("half.safetensors"), lab.folder, 0);
    /* Exported again, in either precision, it stays what it is. */
    json_decref(run_json(ARGS("export", "--checkpoint", at("half.safetensors"), "--output",
                              at("again.safetensors"), "--precision", "float32", "--json"),
                         NULL));
    same_sound(at("half.safetensors"), at("again.safetensors"), 1);
}

/* ---- with a vocoder ---- */

#define VOCODER "\"vocoder_dim\": 16, \"vocoder_layers\": 2, " SMALL_MEL

/* A run with the voice and a vocoder beside it; the weights of both are rounded or not. */
static void make_run(const char *run, int rounded)
{
    char folder[512];
    snprintf(folder, sizeof folder, "%s/vocoder", run);
    assert_int_equal(file_make_dirs(folder, NULL), 0);
    Buf voice = file_bytes(step_file(lab.folder, 20));
    file_put(path_of(run, "best.safetensors"), voice.data, voice.size);
    buf_free(&voice);
    write_vocoder(path_of(folder, "best.safetensors"), VOCODER, NULL);
    if (!rounded)
        return;
    write_changed(path_of(run, "best.safetensors"), step_file(lab.folder, 20), 0);
    write_changed(path_of(folder, "best.safetensors"), path_of(folder, "best.safetensors"), 0);
}

/* One clip of each speaker instead of four: each still speaks, from a smaller file. */
static void fewer_clips_of_each_speaker(void **state)
{
    const char *all = at("all.safetensors"), *one = at("one.safetensors");
    json_decref(run_json(ARGS("export", "--checkpoint", lab.folder, "--output", all, "--json"), NULL));
    json_decref(run_json(
        ARGS("export", "--checkpoint", lab.folder, "--output", one, "--voice-clips", "1", "--json"), NULL));
    const char *const files[] = {all, one};
    for (int i = 0; i < 2; i++) {
        json_t *o = run_json(ARGS("info", "--checkpoint", files[i], "--json"), NULL), *s;
        size_t k;
        json_array_foreach(json_object_get(o, "speakers"), k, s)
        {
            const int clips = (int)json_integer_value(json_object_get(s, "voice_clips"));
            assert_int_equal(clips, i || strcmp(text_at(s, "name"), "dora") == 0 ? 1 : 4);
        }
        assert_int_equal((int)k, 4);
        json_decref(o);
    }
    same_sound(all, one, 0); /* boris is the mean of four clips, or one */
    expect_failure(2, ARGS("export", "--checkpoint", lab.folder, "--output", one, "--voice-clips", "none"),
                   WORDS("voice-clips"), NULL);
}

static void a_vocoder_inside_sounds_as_the_one_beside(void **state)
{
    const char *run = at("both"), *rounded = at("both-rounded"), *full = at("with.safetensors"),
               *half = at("with-half.safetensors"), *alone = at("alone.safetensors"),
               *without = at("without.safetensors");
    make_run(run, 0);
    make_run(rounded, 1);
    json_t *o = run_json(
        ARGS("export", "--checkpoint", run, "--output", full, "--precision", "float32", "--json"), NULL);
    int64_t parameters = json_integer_value(json_object_get(o, "vocoder_parameters"));
    assert_true(parameters > 1000);
    assert_non_null(strstr(text_at(o, "vocoder"), "both/vocoder/best.safetensors"));
    json_decref(o);
    same_sound(run, full, 1);
    json_decref(run_json(ARGS("export", "--checkpoint", run, "--output", half, "--json"), NULL));
    same_sound(rounded, half, 1);
    same_sound(run, half, 0);
    o = run_json(ARGS("info", "--checkpoint", half, "--json"), NULL);
    const json_t *vocoder = json_object_get(o, "vocoder");
    assert_int_equal(json_integer_value(json_object_get(vocoder, "parameters")), parameters);
    assert_int_equal(json_integer_value(json_object_get(vocoder, "step")), 7);
    json_t *was = run_json(ARGS("info", "--checkpoint", lab.folder, "--json"), NULL);
    assert_int_equal(json_integer_value(json_object_get(o, "parameters")),
                     json_integer_value(json_object_get(was, "parameters")));
    json_decref(was);
    json_decref(o);
    /* What is inside goes along when it is exported again, and can be left out. */
    json_decref(run_json(ARGS("export", "--checkpoint", half, "--output", alone, "--json"), NULL));
    same_sound(half, alone, 1);
    json_decref(run_json(
        ARGS("export", "--checkpoint", half, "--output", without, "--vocoder", "griffin_lim", "--json"),
        NULL));
    same_sound(half, without, 0);
    same_sound(without, at("half.safetensors"), 1);
    /* A vocoder alone, put inside in its place. */
    json_decref(
        run_json(ARGS("export", "--checkpoint", path_of(run, "vocoder"), "--output", alone, "--json"), NULL));
    o = run_json(ARGS("info", "--checkpoint", alone, "--json"), NULL);
    assert_string_equal(text_at(o, "network"), "vocoder");
    assert_int_equal(json_integer_value(json_object_get(o, "parameters")), parameters);
    json_decref(o);
    json_decref(run_json(
        ARGS("export", "--checkpoint", without, "--output", full, "--vocoder", alone, "--json"), NULL));
    same_sound(half, full, 1);
}

/* ---- what is in it ---- */

static int64_t size_of(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_size;
}

static void nothing_of_the_training_is_in_it(void **state)
{
    const char *file = at("plain.safetensors");
    json_t *o = run_json(ARGS("export", "--checkpoint", lab.folder, "--output", file, "--json"), NULL);
    assert_string_equal(text_at(o, "precision"), "bf16");
    assert_true(json_is_null(json_object_get(o, "vocoder")));
    int64_t parameters = json_integer_value(json_object_get(o, "parameters"));
    assert_int_equal(json_integer_value(json_object_get(o, "bytes")), size_of(file));
    assert_int_equal(json_integer_value(json_object_get(o, "step")), 20);
    json_decref(o);
    SafeTensors f;
    Err err = {0};
    assert_int_equal(safetensors_open(&f, file, &err), 0);
    int64_t clips = 0;
    for (int i = 0; i < f.count; i++) {
        const char *name = f.tensors[i].name;
        if (strncmp(name, "adam.", 5) == 0 || strncmp(name, "train.", 6) == 0)
            fail_msg("%s is in it", name);
        if (strncmp(name, "voice_clips.", 12) == 0)
            clips += (int64_t)f.tensors[i].bytes;
    }
    safetensors_close(&f);
    print_message("%lld parameters, %lld bytes of clips, %lld bytes\n", (long long)parameters,
                  (long long)clips, (long long)size_of(file));
    assert_true(clips > 0);
    assert_true(size_of(file) < 2 * parameters + clips + 40000);
    /* Neither is where it all lay. */
    Buf bytes = file_bytes(file);
    assert_null(memmem(bytes.data, bytes.size, lab.c->root, strlen(lab.c->root)));
    buf_free(&bytes);
}

static void info_shows_what_others_have_to_know(void **state)
{
    export_to(at("half.safetensors"), "bf16");
    json_t *o = run_json(ARGS("info", "--checkpoint", at("half.safetensors"), "--json"), NULL);
    assert_string_equal(text_at(o, "licence"), "CC0-1.0");
    assert_string_equal(text_at(o, "note"), "tones of a test");
    assert_string_equal(text_at(o, "precision"), "bf16");
    assert_string_equal(text_at(o, "network"), "voice");
    assert_int_equal(json_integer_value(json_object_get(o, "step")), 20);
    assert_true(json_is_false(json_object_get(o, "can_resume")));
    assert_int_equal(json_array_size(json_object_get(o, "speakers")), 4);
    json_t *was = run_json(ARGS("info", "--checkpoint", lab.folder, "--json"), NULL);
    assert_int_equal(json_integer_value(json_object_get(o, "parameters")),
                     json_integer_value(json_object_get(was, "parameters")));
    assert_string_equal(text_at(was, "precision"), "float32");
    assert_string_equal(text_at(was, "mel"), text_at(o, "mel"));
    assert_true(json_is_null(json_object_get(was, "licence")));
    json_decref(was);
    json_decref(o);
    Run r;
    run_program(&r, "info", "--checkpoint", at("half.safetensors"));
    const char *said = (const char *)r.stdout_text.data;
    assert_true(strstr(said, "CC0-1.0") && strstr(said, "tones of a test") && strstr(said, "weights only"));
    run_free(&r);
    /* Exporting an exported file keeps what is not given anew. */
    json_decref(run_json(ARGS("export", "--checkpoint", at("half.safetensors"), "--output",
                              at("again.safetensors"), "--licence", "MIT", "--json"),
                         NULL));
    o = run_json(ARGS("info", "--checkpoint", at("again.safetensors"), "--json"), NULL);
    assert_string_equal(text_at(o, "licence"), "MIT");
    assert_string_equal(text_at(o, "note"), "tones of a test");
    json_decref(o);
}

/* As long as the recordings are, but for the silence that is cut off. */
static void a_voice_knows_how_much_it_learned_from(void **state)
{
    json_t *o =
        run_json(ARGS("info", "--data-path", lab.c->data, "--cache-dir", lab.c->cache, "--json"), NULL);
    const double all = json_number_value(json_object_get(o, "seconds"));
    json_decref(o);
    SafeTensors f;
    export_to(at("half.safetensors"), "bf16");
    assert_int_equal(safetensors_open(&f, at("half.safetensors"), NULL), 0);
    o = json_loads(safetensors_meta(&f, "data"), 0, NULL);
    const double learned = json_number_value(json_object_get(o, "seconds"));
    print_message("%.0f of %.1f s\n", learned, all);
    assert_true(learned <= all && learned > 0.8 * all - 1);
    json_decref(o);
    safetensors_close(&f);
}

static void what_nobody_says_of_a_voice_is_unknown(void **state)
{
    const char *file = at("nameless.safetensors");
    Run r;
    run_program(&r, "export", "--checkpoint", lab.folder, "--output", file);
    assert_int_equal(r.code, 0);
    const char *said = (const char *)r.stderr_text.data;
    if (!strstr(said, "warning") || !strstr(said, "--licence") || !strstr(said, "--source"))
        fail_msg("export of a voice without a licence says: %s", said);
    run_free(&r);
    json_t *o = run_json(ARGS("info", "--checkpoint", file, "--json"), NULL);
    assert_string_equal(text_at(o, "licence"), "unknown");
    assert_string_equal(text_at(o, "source"), "unknown");
    assert_true(json_is_null(json_object_get(o, "note")));
    json_decref(o);
    /* Given later, it is there and stays; nothing is left to warn of. */
    run_program(&r, "export", "--checkpoint", file, "--output", at("named.safetensors"), "--licence",
                "CC BY 4.0", "--source", "tones \342\200\223 2026");
    assert_int_equal(r.code, 0);
    assert_null(strstr((const char *)r.stderr_text.data, "warning"));
    run_free(&r);
    o = run_json(ARGS("export", "--checkpoint", at("named.safetensors"), "--output", file, "--json"), NULL);
    assert_string_equal(text_at(o, "source"), "tones \342\200\223 2026");
    assert_string_equal(text_at(o, "licence"), "CC BY 4.0");
    json_decref(o);
    expect_failure(2,
                   ARGS("export", "--checkpoint", lab.folder, "--output", at("odd.safetensors"), "--source",
                        "tones \377"),
                   WORDS("source", "UTF-8"), at("odd.safetensors"));
}

/* ---- what goes wrong ---- */

static void a_damaged_export_gets_a_sentence(void **state)
{
    const char *file = at("cut.safetensors"), *out = at("none.wav");
    export_to(file, "bf16");
    Buf whole = file_bytes(file);
    static const double shares[] = {0, 0.0001, 0.1, 0.9};
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        file_put(file, whole.data, (size_t)((double)whole.size * shares[i]));
        expect_failure(3, ARGS("synth", "--checkpoint", file, "--text", "old", "--output", out),
                       WORDS("cut.safetensors"), out);
    }
    file_put(file, whole.data, whole.size - 1);
    expect_failure(3, ARGS("synth", "--checkpoint", file, "--text", "old", "--output", out),
                   WORDS("cut.safetensors", "cut off"), out);
    whole.data[whole.size / 2] ^= 4;
    file_put(file, whole.data, whole.size);
    expect_failure(3, ARGS("synth", "--checkpoint", file, "--text", "old", "--output", out),
                   WORDS("cut.safetensors", "changed after it was written"), out);
    expect_failure(3, ARGS("info", "--checkpoint", file), WORDS("changed after it was written"), NULL);
    buf_free(&whole);
}

static void weights_that_are_no_numbers_are_not_exported(void **state)
{
    const char *file = at("never.safetensors");
    write_changed(at("nan.safetensors"), step_file(lab.folder, 20), 1);
    expect_failure(3, ARGS("export", "--checkpoint", at("nan.safetensors"), "--output", file),
                   WORDS("nan.safetensors", "decoder.mel.weight", "nan"), file);
}

static void wrong_use_gets_a_sentence(void **state)
{
    const char *file = at("never.safetensors"), *step = step_file(lab.folder, 20);
    expect_failure(2, ARGS("export", "--output", file), WORDS("--checkpoint"), file);
    expect_failure(2, ARGS("export", "--checkpoint", lab.folder), WORDS("--output"), file);
    expect_failure(2, ARGS("export", "--checkpoint", lab.folder, "--output", at("voice.bin")),
                   WORDS(".safetensors"), at("voice.bin"));
    expect_failure(2, ARGS("export", "--checkpoint", lab.folder, "--output", file, "--precision", "int8"),
                   WORDS("int8", "bf16", "float32"), file);
    expect_failure(2, ARGS("export", "--checkpoint", lab.folder, "--output", step),
                   WORDS("a name that training uses for checkpoints"), NULL);
    expect_failure(3, ARGS("export", "--checkpoint", at("nothing"), "--output", file), WORDS("nothing"),
                   file);
    expect_failure(3, ARGS("export", "--checkpoint", lab.folder, "--output", at("no/where.safetensors")),
                   WORDS("no/where.safetensors"), NULL);
    expect_failure(3, ARGS("export", "--checkpoint", lab.folder, "--output", file, "--vocoder", lab.folder),
                   WORDS("has a voice, but no vocoder", "train --network vocoder"), file);
    assert_true(size_of(step) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_are_rounded_to_nearest_even),
        cmocka_unit_test(float32_speaks_byte_for_byte),
        cmocka_unit_test(bf16_speaks_as_the_rounded_weights),
        cmocka_unit_test(fewer_clips_of_each_speaker),
        cmocka_unit_test(a_vocoder_inside_sounds_as_the_one_beside),
        cmocka_unit_test(nothing_of_the_training_is_in_it),
        cmocka_unit_test(info_shows_what_others_have_to_know),
        cmocka_unit_test(a_voice_knows_how_much_it_learned_from),
        cmocka_unit_test(what_nobody_says_of_a_voice_is_unknown),
        cmocka_unit_test(a_damaged_export_gets_a_sentence),
        cmocka_unit_test(weights_that_are_no_numbers_are_not_exported),
        cmocka_unit_test(wrong_use_gets_a_sentence),
    };
    return cmocka_run_group_tests(tests, setup_lab, teardown_lab);
}
