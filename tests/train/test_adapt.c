/* test_adapt.c - a voice that begins with another: with the file of an export, with the base that comes with
 * the program where there is little speech, and when that base does not fit; what the network, the symbols
 * and the notes of the new voice take from it. */
#include "support/command_testing.h"
#include "support/train_process.h"

#include <math.h>
#include <sys/stat.h>

#include "config/bindings.h"
#include "text/phonemes/tokens.h"

#define LIST ARGS
#define BASE "english-nano.safetensors"

/* Settings of the recordings and the machine: sizes are the base's to give. */
static const char sound_yaml[] =
    "model:\n"
    "  sample_rate: 8000\n  n_fft: 256\n  win_length: 200\n  hop_length: 100\n  n_mels: 16\n  mel_fmax: "
    "4000\n"
    "data:\n"
    "  use_phonemes: false\n  text_cleaners: basic\n  val_split: 0\n  length_buckets: 2\n"
    "  data_gpu: cpu\n  model_gpu: cpu\n  num_workers: 1\n  mixed_precision: false\n  max_mel_frames: 100\n"
    "  vocoder_segment_frames: 12\n"
    "training:\n"
    "  log_step: 5\n  text2audio_interval_steps: 0\n  listen_clips: 0\n";

static struct {
    Corpus *c, person;
    char run[256], base[300], voice_alone[300];
} lab;

static const char *at(const char *name) { return path_of(lab.c->root, name); }

/* Other recordings, of somebody whose texts have letters that the base never saw. */
static void make_person(void)
{
    Corpus *p = &lab.person;
    *p = *lab.c;
    snprintf(p->data, sizeof p->data, "%s/person", lab.c->root);
    snprintf(p->cache, sizeof p->cache, "%s/person-cache", lab.c->root);
    assert_int_equal(mkdir(p->data, 0777), 0);
    assert_int_equal(mkdir(path_of(p->data, "wavs"), 0777), 0);
    FILE *f = fopen(path_of(p->data, "metadata.csv"), "wb");
    for (int i = 0; i < 12; i++) {
        char name[32];
        snprintf(name, sizeof name, "wavs/p%02d.wav", i);
        write_wav(path_of(p->data, name), 40 + i, 0.4, 8000, 1);
        fprintf(f, "p%02d|%s hill|%s hill\n", i, i % 2 ? "green" : "fuzzy", i % 2 ? "green" : "fuzzy");
    }
    fclose(f);
}

static void export_to(const char *file, const char *vocoder)
{
    json_decref(run_json(ARGS("export", "--checkpoint", lab.run, "--output", file, "--licence", "CC0-1.0",
                              "--note", "tones of a test", "--json", vocoder ? "--vocoder" : "--quiet",
                              vocoder ? vocoder : "--quiet"),
                         NULL));
}

/* A program with a base beside it, as installed: the tests run that one from here on. */
static int setup_lab(void **state)
{
    void *made = NULL;
    char command[1200];
    const char *program = getenv("MYXTTS_BIN");
    if (corpus_setup(&made))
        return -1;
    lab.c = made;
    make_voice_corpus(lab.c);
    make_person();
    file_put(at("sound.yaml"), sound_yaml, strlen(sound_yaml));
    snprintf(lab.run, sizeof lab.run, "%s/run", lab.c->root);
    train_to_end(lab.c, lab.run, 20, 20,
                 LIST("--val-split", "0", "--network", "both", "--vocoder-dim", "16", "--vocoder-layers", "1",
                      "--vocoder-segment-frames", "12", "--init-from", "none"),
                 0);
    snprintf(lab.base, sizeof lab.base, "%s/share/myxtts/bases/" BASE, lab.c->root);
    snprintf(lab.voice_alone, sizeof lab.voice_alone, "%s/alone.safetensors", lab.c->root);
    snprintf(command, sizeof command, "mkdir -p %s/share/myxtts/bases %s/bin && cp %s %s/bin/myxtts",
             lab.c->root, lab.c->root, program ? program : "build/myxtts", lab.c->root);
    assert_int_equal(system(command), 0);
    export_to(lab.base, NULL);
    export_to(lab.voice_alone, "griffin_lim");
    setenv("MYXTTS_BIN", at("bin/myxtts"), 1);
    return 0;
}

static int teardown_lab(void **state)
{
    void *made = lab.c;
    return corpus_teardown(&made);
}

/* Two steps on the person's clips; what stderr has to say, and must not (NULL: nothing). */
static void train_says(const char *folder, const char *const *more, int code, const char *const *texts,
                       const char *not_said)
{
    Run r;
    const char *args[MAX_ARGS] = {"train",          "--config",         at("sound.yaml"),
                                  "--data-path",    lab.person.data,    "--cache-dir",
                                  lab.person.cache, "--checkpoint-dir", folder};
    int n = 9;
    for (int i = 0; more && more[i]; i++)
        args[n++] = more[i];
    run_program_env(&r, args, NULL);
    const char *said = r.stderr_text.data;
    if (r.code != code)
        fail_msg("exit code %d where %d was expected: %s", r.code, code, said);
    for (int i = 0; texts && texts[i]; i++)
        if (!strstr(said, texts[i]))
            fail_msg("\"%s\" is not said: %s", texts[i], said);
    if (not_said && strstr(said, not_said))
        fail_msg("\"%s\" is said: %s", not_said, said);
    run_free(&r);
}

/* The largest difference of a tensor in two files; of two bytes in the first. */
static float difference(const char *base, const char *file, const char *name)
{
    SafeTensors x, y;
    Err err = {0};
    float most = 0;
    if (safetensors_open(&x, base, &err) || safetensors_open(&y, file, &err))
        fail_msg("%s", err.msg);
    const TensorView *t = safetensors_find(&x, name), *u = safetensors_find(&y, name);
    assert_true(t && u && t->bytes * 2 == u->bytes);
    for (uint64_t i = 0; i < u->bytes / 4; i++) {
        uint32_t bits = (uint32_t)((const uint16_t *)t->data)[i] << 16;
        float was;
        memcpy(&was, &bits, sizeof was);
        most = fmaxf(most, fabsf(was - ((const float *)u->data)[i]));
    }
    safetensors_close(&y);
    safetensors_close(&x);
    return most;
}

#define STEPS "--max-steps", "2", "--learning-rate", "0.000001", "--min-learning-rate", "0"

/* ---- the base that comes with the program ---- */

static const char begins[] = "are little: the run starts with the base english-nano";

static void little_speech_begins_with_the_base(void **state)
{
    const char *folder = at("little"), *file = at("little.safetensors");
    train_says(folder, LIST(STEPS), 0,
               LIST(begins, "starting with the weights of", "decoder_dim",
                    "50 (it starts with trained weights)",
                    "8 (little speech on a CPU: more steps in the same time)"),
               NULL);
    assert_true(difference(lab.base, step_file(folder, 2), "decoder.layers.0.qkv.weight") < 1e-4f);
    /* It says so, and so does what is made of it. */
    json_decref(run_json(ARGS("export", "--checkpoint", folder, "--output", file, "--json"), NULL));
    const char *const who[] = {folder, file};
    for (int i = 0; i < 2; i++) {
        json_t *o = run_json(ARGS("info", "--checkpoint", who[i], "--json"), NULL);
        const json_t *base = json_object_get(o, "base");
        assert_string_equal(text_at(base, "name"), "english-nano");
        assert_string_equal(text_at(base, "licence"), "CC0-1.0");
        assert_string_equal(text_at(base, "note"), "tones of a test");
        assert_int_equal(json_integer_value(json_object_get(base, "step")), 20);
        json_decref(o);
    }
    /* The same command goes on, with the sizes that it had. */
    train_says(folder, LIST("--max-steps", "4"), 0, LIST("resuming from", "(as in "), begins);
    json_t *o = run_json(ARGS("info", "--checkpoint", folder, "--json"), NULL);
    assert_string_equal(text_at(json_object_get(o, "base"), "name"), "english-nano");
    json_decref(o);
}

static void none_is_none(void **state)
{
    train_says(at("none"), LIST("--init-from", "none", "--max-steps", "1", "--model-size", "nano"), 0, NULL,
               "trained weights");
    json_t *o = run_json(ARGS("info", "--checkpoint", at("none"), "--json"), NULL);
    assert_true(json_is_null(json_object_get(o, "base")));
    json_decref(o);
}

/* The reason is named; training begins all the same. */
static void a_base_that_does_not_fit(void **state)
{
    const char *scratch = "it starts from scratch";
    train_says(at("a"), LIST("--max-steps", "1", "--text-encoder-dim", "64", "--model-size", "nano"), 0,
               LIST("text_encoder_dim is 64 (command line), but 16 in the base", scratch), "starting with");
    train_says(at("b"), LIST("--max-steps", "1", "--n-mels", "20"), 0,
               LIST("n_mels is 20 (command line), but 16 in the base", scratch), "starting with");
    train_says(at("c"), LIST("--max-steps", "1", "--model-size", "nano"), 0,
               LIST("text_encoder_dim is 128 (preset nano)", scratch), "starting with");
    train_says(at("d"), LIST("--max-steps", "1", "--language", "de"), 0,
               LIST("some texts are in de, which the base does not speak", scratch), "starting with");
}

/* ---- one file for both networks ---- */

static void both_networks_of_one_file(void **state)
{
    const char *folder = at("both");
    char vocoder[300];
    snprintf(vocoder, sizeof vocoder, "%s/vocoder", folder);
    train_says(folder, LIST("--network", "both", "--init-from", lab.base, STEPS), 0,
               LIST("starting with the weights of"), begins);
    assert_true(difference(lab.base, step_file(folder, 2), "decoder.layers.0.qkv.weight") < 1e-4f);
    assert_true(difference(lab.base, step_file(vocoder, 2), "vocoder.input.weight") < 1e-4f);
    /* And by itself. */
    train_says(at("both-little"), LIST("--network", "both", STEPS), 0, LIST(begins), NULL);
    snprintf(vocoder, sizeof vocoder, "%s/vocoder", at("both-little"));
    assert_true(difference(lab.base, step_file(vocoder, 2), "vocoder.input.weight") < 1e-4f);
    /* A vocoder alone. */
    train_says(at("sound"), LIST("--network", "vocoder", "--init-from", lab.base, STEPS), 0,
               LIST("starting with the weights of"), NULL);
    /* A voice that has none. */
    train_says(at("both-alone"),
               LIST("--network", "both", "--init-from", lab.voice_alone, "--vocoder-dim", "16",
                    "--vocoder-layers", "1", STEPS),
               0, LIST("has a voice, but no vocoder: the vocoder starts from scratch"), NULL);
    train_says(at("sound-alone"), LIST("--network", "vocoder", "--init-from", lab.voice_alone, STEPS), 3,
               LIST("has a voice, but no vocoder"), NULL);
}

/* The base's vocoder is small enough for a CPU; a GPU has no need of it. */
static void a_gpu_learns_a_larger_vocoder(void **state)
{
#define ON_GPU "--network", "vocoder", "--model-gpu", "sim0", "--data-gpu", "sim0", "--max-steps", "1"
    train_says(at("gpu"), LIST(ON_GPU), 0, LIST("a GPU learns a large vocoder", "vocoder_size large"),
               "starting with");
    train_says(at("gpu-none"), LIST(ON_GPU, "--init-from", "none"), 0, LIST("vocoder_size large"), NULL);
    train_says(at("gpu-small"), LIST(ON_GPU, "--vocoder-size", "nano"), 0, NULL, "a GPU learns");
}

static void sizes_by_hand_are_refused(void **state)
{
    train_says(at("by-hand"), LIST("--init-from", lab.base, "--model-size", "nano"), 2,
               LIST("was trained with", "cannot be changed to", "(preset nano)"), NULL);
}

/* ---- what stays ---- */

static void frozen_parts_stay(void **state)
{
    static const char *const names[] = {"text.layers.0.qkv.weight", "voice.conv1.weight",
                                        "decoder.layers.0.qkv.weight", "text.prior.weight"};
    static const struct {
        const char *freeze;
        int stays[4];
    } cases[] = {{"none", {0}}, {"text", {1}}, {"encoders", {1, 1}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char name[32];
        snprintf(name, sizeof name, "freeze-%s", cases[i].freeze);
        const char *folder = at(name);
        train_says(folder, LIST("--init-from", lab.base, "--max-steps", "2", "--freeze", cases[i].freeze), 0,
                   NULL, NULL);
        for (int k = 0; k < 4; k++) {
            const float d = difference(lab.base, step_file(folder, 2), names[k]);
            if ((d == 0) != cases[i].stays[k])
                fail_msg("--freeze %s: %s differs by %g", cases[i].freeze, names[k], (double)d);
        }
    }
    train_says(at("frozen"), LIST("--init-from", "none", "--freeze", "text", "--model-size", "nano"), 2,
               LIST("--freeze keeps part of a trained voice as it is, but this run starts from scratch"),
               NULL);
}

/* ---- settings that follow ---- */

static void settings_follow_what_is_not_given(void **state)
{
    Config cfg, from;
    Err err = {0};
    char *sizes[] = {"--model-size", "nano", "--decoder-layers", "5", "--add-blank", "true"},
         *hand[] = {"--decoder-dim", "256", "--decoder-heads", "4", "--learning-rate", "0.5"};
    assert_int_equal(config_load(&from, NULL, 6, sizes, &err), 0);
    assert_int_equal(config_load(&cfg, NULL, 6, hand, &err), 0);
    assert_int_equal(config_follow(&cfg, &from, BOUND_CHECKPOINT, "as in x", &err), 0);
    assert_int_equal(cfg.decoder_layers, 5);
    assert_int_equal(cfg.text_encoder_dim, 128);
    assert_int_equal(cfg.decoder_dim, 256); /* given */
    assert_int_equal(cfg.model_size, SIZE_NANO);
    assert_true(cfg.add_blank);
    assert_true(cfg.learning_rate == 0.5);
    config_close(&cfg);
    /* What nobody gave has the preset of the size that was taken. */
    assert_int_equal(config_load(&cfg, NULL, 0, NULL, &err), 0);
    assert_int_equal(config_follow(&cfg, &from, BOUND_CHECKPOINT, "as in x", &err), 0);
    assert_true(cfg.learning_rate == 0.002);
    config_close(&cfg);
    /* A size that was given speaks for all that follow it. */
    char *tiny[] = {"--model-size", "tiny"};
    assert_int_equal(config_load(&cfg, NULL, 2, tiny, &err), 0);
    assert_int_equal(config_follow(&cfg, &from, BOUND_CHECKPOINT, "as in x", &err), 0);
    assert_int_equal(cfg.text_encoder_dim, 384);
    assert_int_equal(cfg.decoder_layers, 6);
    config_close(&cfg);
    config_close(&from);
}

/* ---- symbols ---- */

/* 1: the file's list of symbols has it. */
static int has_seen(const char *file, char letter)
{
    SafeTensors f;
    Err err = {0};
    int found = 0;
    if (safetensors_open(&f, file, &err))
        fail_msg("%s", err.msg);
    json_t *all = json_loads(safetensors_meta(&f, "seen"), 0, NULL), *id;
    size_t i;
    json_array_foreach(all, i, id) found |= json_integer_value(id) == tokens_find((uint32_t)letter);
    json_decref(all);
    safetensors_close(&f);
    return found;
}

/* How far the vectors of two symbols are from each other. */
static float apart(const char *file, char a, char b)
{
    SafeTensors f;
    Err err = {0};
    float most = 0;
    if (safetensors_open(&f, file, &err))
        fail_msg("%s", err.msg);
    const TensorView *t = safetensors_find(&f, "text.symbols");
    for (int64_t k = 0; k < t->shape[1]; k++) {
        const float *x = t->data;
        most = fmaxf(most, fabsf(x[tokens_find((uint32_t)a) * t->shape[1] + k] -
                                 x[tokens_find((uint32_t)b) * t->shape[1] + k]));
    }
    safetensors_close(&f);
    return most;
}

/* What the base has seen stays seen, and the new texts come on top. */
static void the_list_of_symbols_grows(void **state)
{
    const char *folder = at("symbols");
    assert_true(has_seen(lab.base, 'g') && has_seen(lab.base, 'd') && !has_seen(lab.base, 'z'));
    train_says(folder, LIST("--init-from", lab.base, STEPS), 0,
               LIST("symbols of these texts are new to it and start from similar symbols", "z"), NULL);
    const char *file = step_file(folder, 2);
    assert_true(has_seen(file, 'g') && has_seen(file, 'd') && has_seen(file, 'z')); /* d: of the base alone */
    assert_true(apart(file, 'y', 'i') < 1e-4f && apart(file, 'd', 'i') > 0.1f);     /* y is new */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(little_speech_begins_with_the_base),
        cmocka_unit_test(none_is_none),
        cmocka_unit_test(a_base_that_does_not_fit),
        cmocka_unit_test(both_networks_of_one_file),
        cmocka_unit_test(a_gpu_learns_a_larger_vocoder),
        cmocka_unit_test(sizes_by_hand_are_refused),
        cmocka_unit_test(frozen_parts_stay),
        cmocka_unit_test(settings_follow_what_is_not_given),
        cmocka_unit_test(the_list_of_symbols_grows),
    };
    return cmocka_run_group_tests(tests, setup_lab, teardown_lab);
}
