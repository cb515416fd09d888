/* test_config.c - the option table, the command line, precedence and origins, and what is derived from the
 * table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "config/languages.h"
#include "config/option_table.h"
#include "support/config_testing.h"

/* --- the table itself --- */

static size_t field_size(OptionType t)
{
    switch (t) {
    case OPT_INT64:
        return sizeof(int64_t);
    case OPT_FLOAT:
        return sizeof(double);
    case OPT_LIST:
        return sizeof(StringList);
    case OPT_STRING:
    case OPT_CHOICE:
    case OPT_DEVICE:
        return sizeof(char *);
    default:
        return sizeof(int);
    }
}

static void test_every_field_has_one_row(void **state)
{
    enum { SIZE = offsetof(Config, state) };
    char *covered = calloc(1, SIZE);
    for (int i = 0; i < option_count(); i++) {
        const Option *o = &option_table[i];
        for (size_t b = 0; b < field_size(o->type); b++) {
            if (covered[o->offset + b])
                fail_msg("%s lies on another row's field", o->key);
            covered[o->offset + b] = 1;
        }
    }
    for (size_t b = 0; b < SIZE;) {
        size_t gap = 0;
        while (b + gap < SIZE && !covered[b + gap])
            gap++;
        /* what is left uncovered can only be the four bytes that align the next 8-byte field */
        if (gap && (gap != 4 || (b + gap) % 8))
            fail_msg("bytes %zu..%zu of Config have no row", b, b + gap - 1);
        b += gap ? gap : 1;
    }
    free(covered);
}

static void test_rows_are_sound(void **state)
{
    Config cfg;
    assert_int_equal(config_defaults(&cfg, NULL), 0);
    for (int i = 0; i < option_count(); i++) {
        const Option *o = &option_table[i];
        ConfigRow row;
        assert_true(strlen(o->help) > 4 && o->help[strlen(o->help) - 1] == '.');
        assert_true(strcmp(o->section, "model") == 0 || strcmp(o->section, "data") == 0 ||
                    strcmp(o->section, "training") == 0);
        assert_int_equal(option_find(o->key, strlen(o->key)), i); /* no alias of another row hides it */
        for (const char *p = o->aliases; p && *p;) {
            size_t n = strcspn(p, " ");
            assert_int_equal(option_find(p, n), i);
            p += n + (p[n] == ' ');
        }
        config_row(&cfg, i, &row);
        assert_true(row.value[0] && row.range[0] && row.origin[0]);
        const char *word, *preset = option_preset(o, &cfg, &word);
        if (!preset) {
            assert_string_equal(row.origin, "default");
            continue;
        }
        assert_string_equal(row.origin + strlen("preset "), word);
        /* The table's own default is the preset's, so that help and docs agree. */
        assert_string_equal(o->def, preset);
    }
    config_close(&cfg);
}

static void test_defaults(void **state)
{
    Config c;
    assert_int_equal(config_defaults(&c, NULL), 0);
    assert_int_equal(c.model_size, SIZE_TINY);
    assert_int_equal(c.decoder_dim, 384);
    assert_int_equal(c.sample_rate, 22050);
    assert_int_equal(c.n_fft, 1024);
    assert_int_equal(c.hop_length, 256);
    assert_true(c.mel_fmax == 8000 && c.mel_fmin == 0);
    assert_string_equal(c.metadata_train_file, "metadata.csv");
    assert_string_equal(c.data_path, "");
    assert_int_equal(c.seed, 1234);
    assert_int_equal(c.supported_languages.count, 17);
    for (int i = 0; i < 17; i++) /* the default is the table of languages, row by row */
        assert_string_equal(c.supported_languages.items[i], language_code(i));
    assert_null(language_code(17));
    assert_string_equal(c.supported_languages.items[12], "fa");
    assert_int_equal(c.text_cleaners, CLEANER_MULTILINGUAL);
    assert_int_equal(c.num_workers, CONFIG_AUTO);
    assert_int_equal(c.prefetch_buffer_size, CONFIG_AUTO);
    assert_int_equal(c.cache_verification, VERIFY_FAST);
    assert_int_equal(c.preprocessing_mode, PREPROCESS_AUTO);
    assert_int_equal(c.batch_size, 32);
    assert_true(c.trim_top_db == 40 && c.target_loudness_lufs == -23);
    assert_string_equal(c.data_gpu, "auto");
    assert_true(c.learning_rate == 1e-3 && c.adam_eps == 1e-8 && c.beta2 == 0.98);
    assert_int_equal(c.text2audio_texts.count, 1);
    config_close(&c);
    config_close(&c); /* always safe */
    config_close(NULL);
}

static void test_presets(void **state)
{
    static const struct {
        const char *name;
        int text[3], audio[3], decoder[3], voice, predictor;
    } want[] = {
        {"nano", {128, 3, 2}, {128, 1, 2}, {128, 4, 2}, 64, 128},
        {"tiny", {384, 4, 6}, {256, 2, 4}, {384, 6, 6}, 256, 256},
        {"small", {512, 5, 8}, {384, 3, 6}, {512, 8, 8}, 320, 256},
        {"normal", {640, 6, 10}, {512, 4, 8}, {640, 10, 10}, 512, 384},
        {"big", {768, 8, 12}, {512, 6, 8}, {768, 12, 12}, 640, 384},
    };
    for (int i = 0; i < COUNT(want); i++) {
        Config c;
        char size[20], origin[40];
        snprintf(size, sizeof size, "%s", want[i].name);
        char arg[] = "--model-size", *argv[] = {arg, size};
        assert_int_equal(config_load(&c, NULL, 2, argv, NULL), 0);
        assert_int_equal(c.text_encoder_dim, want[i].text[0]);
        assert_int_equal(c.text_encoder_layers, want[i].text[1]);
        assert_int_equal(c.text_encoder_heads, want[i].text[2]);
        assert_int_equal(c.audio_encoder_dim, want[i].audio[0]);
        assert_int_equal(c.audio_encoder_layers, want[i].audio[1]);
        assert_int_equal(c.audio_encoder_heads, want[i].audio[2]);
        assert_int_equal(c.decoder_dim, want[i].decoder[0]);
        assert_int_equal(c.decoder_layers, want[i].decoder[1]);
        assert_int_equal(c.decoder_heads, want[i].decoder[2]);
        assert_int_equal(c.speaker_embedding_dim, want[i].voice);
        assert_int_equal(c.predictor_dim, want[i].predictor);
        snprintf(origin, sizeof origin, "preset %s", size);
        ConfigRow row;
        row_of(&c, "decoder_dim", &row);
        assert_string_equal(row.origin, origin);
        config_close(&c);
    }
}

/* What a vocoder is trained with, and its sizes; a key that is given wins over both. */
static void test_presets_of_the_vocoder(void **state)
{
    char *argv[] = {"--network", "vocoder", "--vocoder-size", "large", "--beta1", "0.7"};
    Config c;
    ConfigRow row;
    assert_int_equal(config_load(&c, NULL, 0, NULL, NULL), 0);
    assert_true(c.network == NETWORK_VOICE && c.vocoder_dim == 256 && c.vocoder_layers == 8);
    assert_true(c.learning_rate == 1e-3 && c.beta1 == 0.9 && c.beta2 == 0.98 && c.gradient_clip_norm == 1);
    row_of(&c, "beta2", &row);
    assert_string_equal(row.origin, "default");
    config_close(&c);
    assert_int_equal(config_load(&c, NULL, COUNT(argv), argv, NULL), 0);
    assert_true(c.network == NETWORK_VOCODER && c.vocoder_dim == 512 && c.vocoder_layers == 8);
    assert_true(c.learning_rate == 5e-4 && c.beta1 == 0.7 && c.beta2 == 0.95 && c.warmup_steps == 0);
    row_of(&c, "beta2", &row);
    assert_string_equal(row.origin, "preset vocoder");
    row_of(&c, "vocoder_dim", &row);
    assert_string_equal(row.origin, "preset large");
    row_of(&c, "decoder_dim", &row);
    assert_string_equal(row.origin, "preset tiny");
    config_close(&c);
}

/* --- precedence and origins --- */

static void test_precedence_and_origins(void **state)
{
    static const char yaml[] = "model:\n"
                               "  model_size: nano\n"
                               "  decoder_dim: 256\n"
                               "data:\n"
                               "  batch_size: 16\n"
                               "  add_blank: no\n"
                               "training:\n"
                               "  lr: 1e-4\n";
    char a[] = "--batch-size", b[] = "48", d[] = "--no-trim-silence", e[] = "--model-size=small",
         f[] = "--add-blank", g[] = "true";
    char *argv[] = {a, b, d, e, f, g};
    Config c;
    Err err = {0};

    must_load(&c, yaml);
    assert_value(&c, "model_size", "nano", "t.yaml:2");
    assert_value(&c, "decoder_dim", "256", "t.yaml:3");
    assert_value(&c, "text_encoder_dim", "128", "preset nano");
    assert_value(&c, "batch_size", "16", "t.yaml:5");
    assert_value(&c, "add_blank", "false", "t.yaml:6");
    assert_value(&c, "learning_rate", "0.0001", "t.yaml:8");
    assert_value(&c, "n_mels", "80", "default");
    config_close(&c);

    assert_int_equal(config_load_text(&c, "t.yaml", yaml, strlen(yaml), COUNT(argv), argv, &err), 0);
    assert_value(&c, "batch_size", "48", "command line");
    assert_value(&c, "model_size", "small", "command line");
    assert_value(&c, "text_encoder_dim", "512", "preset small");
    assert_value(&c, "decoder_dim", "256", "t.yaml:3");
    assert_value(&c, "trim_silence", "false", "command line");
    assert_value(&c, "add_blank", "true", "command line");
    config_close(&c);
}

/* --- command line --- */

static void test_argument_errors(void **state)
{
    static const struct {
        const char *args[3], *message, *hint;
    } cases[] = {
        {{"--bach-size", "3"}, "--bach-size: unknown option", "did you mean '--batch-size'?"},
        {{"--batch-size", "0"}, "--batch-size: batch_size is 0, but must be between 1 and 4096", ""},
        {{"--batch-size=x"}, "--batch-size: batch_size is 'x', but must be an integer", ""},
        {{"--batch-size"}, "--batch-size: needs a value", ""},
        {{"--batch-size", "--seed", "3"},
         "--batch-size: needs a value, but is followed by --seed",
         "--batch-size=VALUE"},
        {{"--no-add-blank=true"}, "--no-add-blank: takes no value", ""},
        {{"--no-batch-size"}, "--no-batch-size: unknown option", ""},
        {{"--add-blank", "maybe"}, "unexpected argument 'maybe'", ""},
        {{"--add-blank=maybe"}, "--add-blank: add_blank is 'maybe'", ""},
        {{"--lr", "fast"}, "--lr: learning_rate is 'fast'", ""},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        Config c;
        Err err = {0};
        char text[3][40], *argv[3];
        int argc = 0;
        for (; argc < 3 && cases[i].args[argc]; argc++) {
            snprintf(text[argc], sizeof text[argc], "%s", cases[i].args[argc]);
            argv[argc] = text[argc];
        }
        int rc = config_load(&c, NULL, argc, argv, &err);
        if (rc != ERR_CONFIG || !strstr(err.msg, cases[i].message) || !strstr(err.hint, cases[i].hint))
            fail_msg("%s gives %d '%s' (hint '%s'), expected '%s'", argv[0], rc, err.msg, err.hint,
                     cases[i].message);
    }
}

static void test_argument_values(void **state)
{
    static const struct {
        const char *args[2], *key, *value;
    } cases[] = {
        {{"--batch-size", "16"}, "batch_size", "16"},
        {{"--batch_size=16"}, "batch_size", "16"},
        {{"--batch-size", "۳۲"}, "batch_size", "32"}, /* Persian digits */
        {{"--batch-size", "٤٨"}, "batch_size", "48"}, /* Arabic ones */
        {{"--learning-rate", "۰٫۰۰۱"}, "learning_rate", "0.001"},
        {{"--train-data", "/x y"}, "data_path", "\"/x y\""},
        {{"--enable-static-shapes"}, "pad_to_fixed_length", "true"},
        {{"--enable-static-shapes", "off"}, "pad_to_fixed_length", "false"},
        {{"--disable-static-shapes"}, "pad_to_fixed_length", "false"},
        {{"--disable-graph-mode"}, "enable_graph_mode", "false"},
        {{"--enable-memory-isolation"}, "enable_memory_isolation", "true"},
        {{"--lr", "8e-5"}, "learning_rate", "0.00008"},
        {{"--grad-accum", "2"}, "gradient_accumulation_steps", "2"},
        {{"--buffer-size", "50"}, "pipeline_buffer_size", "50"},
        {{"--data-gpu", "1"}, "data_gpu", "1"},
        {{"--model-gpu-memory", "16384"}, "model_gpu_memory", "16384"},
        {{"--target-loudness-lufs", "-20"}, "target_loudness_lufs", "-20"},
        {{"--supported-languages", "en, fa"}, "supported_languages", "[en, fa]"},
        {{"--text2audio-texts", "One, two.|Three."}, "text2audio_texts", "[\"One, two.\", Three.]"},
        {{"--cache-dir=--x=1"}, "cache_dir", "\"--x=1\""},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        Config c;
        Err err = {0};
        char text[2][40], *argv[2];
        int argc = 0;
        for (; argc < 2 && cases[i].args[argc]; argc++) {
            snprintf(text[argc], sizeof text[argc], "%s", cases[i].args[argc]);
            argv[argc] = text[argc];
        }
        if (config_load(&c, NULL, argc, argv, &err))
            fail_msg("%s: %s", argv[0], err.msg);
        assert_value(&c, cases[i].key, cases[i].value, "command line");
        config_close(&c);
    }
}

static void test_names(void **state)
{
    int distance;
    assert_true(config_is_key("batch_size") && config_is_key("--batch-size") &&
                config_is_key("--batch-size=3"));
    assert_true(config_is_key("lr") && config_is_key("--no-add-blank") && config_is_key("--disable-xla"));
    assert_false(config_is_key("--output") || config_is_key("--no-batch-size") || config_is_key("") ||
                 config_is_key("--"));
    assert_true(config_takes_value("--batch-size", "3") && config_takes_value("--batch-size", NULL));
    assert_false(config_takes_value("--batch-size=3", "4"));
    assert_true(config_takes_value("--add-blank", "off"));
    assert_false(config_takes_value("--add-blank", "x.wav") || config_takes_value("--add-blank", NULL));
    assert_false(config_takes_value("--no-add-blank", "true") || config_takes_value("--output", "x"));
    assert_int_equal(config_name_distance("batch-size", "batch_size"), 0);
    assert_int_equal(config_name_distance("bacth_size", "batch_size"), 1); /* two letters swapped */
    assert_int_equal(config_name_distance("", "abc"), 3);
    assert_int_equal(config_name_distance("kitten", "sitting"), 3);
    assert_string_equal(config_nearest_key("use_tf_native_loadin", &distance), "native_loading");
    assert_int_equal(distance, 1);
    assert_null(config_nearest_key("something_else_entirely", NULL));
}

/* --- texts derived from the table --- */

static void test_default_yaml(void **state)
{
    Buf text = {0}, file = {0};
    Config loaded, defaults;
    Err err = {0};
    ConfigRow a, b;
    assert_int_equal(config_write_default_yaml(&text), 0);
    if (file_read(&file, "configs/default.yaml", 1 << 20, &err))
        fail_msg("%s (tests run in the root of the sources)", err.msg);
    if (file.size != text.size || memcmp(file.data, text.data, text.size) != 0)
        fail_msg("configs/default.yaml is not what the table says: build/myxtts config --default-yaml > "
                 "configs/default.yaml");
    assert_int_equal(config_defaults(&defaults, &err), 0);
    if (config_load(&loaded, "configs/default.yaml", 0, NULL, &err))
        fail_msg("%s", err.msg);
    for (int i = 0; i < config_row_count(); i++) {
        config_row(&loaded, i, &a);
        config_row(&defaults, i, &b);
        assert_string_equal(a.value, b.value);
        char line[100];
        snprintf(line, sizeof line, "%s%s: ", option_follows(&option_table[i], 0) ? "\n  #" : "\n  ", a.key);
        assert_non_null(strstr(text.data, line));
        if (!option_follows(&option_table[i], 0))
            assert_non_null(strstr(a.origin, "configs/default.yaml:"));
    }
    config_close(&loaded);
    config_close(&defaults);
    buf_free(&text);
    buf_free(&file);
}

/* Every value of an unusual Config, written as YAML and read again, is the same. */
static void test_round_trip(void **state)
{
    static const char yaml[] =
        "model:\n  dropout: 0.123456789012345\n"
        "data:\n  cache_dir: \"a \\\"b\\\" \\\\ \\x07 # : c\"\n  wavs_train_dir: 'yes'\n  data_path: '- x'\n"
        "  phoneme_language: 'n'\n  speaker_id_pattern: \"\\u0085(\xD8\xB3)\"\n  data_gpu: 3\n  num_workers: "
        "7\n"
        "training:\n  weight_decay: 1.25e-7\n  resume: ''\n"
        "  text2audio_texts: ['a, b', '[c]', 'd: e']\n";
    Config first, second;
    Buf text = {0};
    must_load(&first, "data:\n  data_path: x\n");
    config_close(&first);
    char *no_resume = strdup(yaml); /* resume may not be empty: the one line that must be refused */
    assert_int_equal(load_text(&first, no_resume, NULL), ERR_CONFIG);
    memcpy(strstr(no_resume, "resume: ''"), "resume: aa", 10);
    must_load(&first, no_resume);
    free(no_resume);
    for (int s = 0; s < 3; s++) {
        buf_printf(&text, "%s:\n", option_sections[s]);
        for (int i = 0; i < option_count(); i++) {
            if (strcmp(option_table[i].section, option_sections[s]) != 0)
                continue;
            buf_printf(&text, "  %s: ", option_table[i].key);
            option_format(&text, &option_table[i], &first);
            buf_str(&text, "\n");
        }
    }
    must_load(&second, text.data);
    for (int i = 0; i < config_row_count(); i++) {
        ConfigRow a, b;
        config_row(&first, i, &a);
        config_row(&second, i, &b);
        assert_string_equal(a.value, b.value);
        if (a.kind == KIND_STRING)
            assert_string_equal(a.string, b.string);
    }
    assert_string_equal(second.cache_dir, "a \"b\" \\ \x07 # : c");
    assert_true(second.dropout == 0.123456789012345 && second.weight_decay == 1.25e-7);
    config_close(&first);
    config_close(&second);
    buf_free(&text);
}

static void test_number_text(void **state)
{
    static const struct {
        double x;
        const char *text;
    } cases[] = {{0, "0"},      {1, "1"},         {-23, "-23"},
                 {0.1, "0.1"},  {3e-4, "0.0003"}, {1e-8, "1.0e-08"},
                 {1e300, NULL}, {1.0 / 3, NULL},  {9007199254740991.0, "9007199254740991"}};
    for (int i = 0; i < COUNT(cases); i++) {
        char text[400];
        option_format_double(text, sizeof text, cases[i].x);
        assert_true(strtod(text, NULL) == cases[i].x);
        if (cases[i].text)
            assert_string_equal(text, cases[i].text);
    }
}

static void test_help(void **state)
{
    Buf all = {0}, model = {0};
    config_write_help(&all, NULL);
    config_write_help(&model, "model");
    assert_non_null(strstr(all.data, "  --batch-size N "));
    assert_non_null(strstr(all.data, "[1 .. 4096]"));
    assert_non_null(strstr(all.data, "--[no-]add-blank "));
    assert_non_null(strstr(model.data, "--decoder-dim N"));
    assert_null(strstr(model.data, "--batch-size"));
    assert_null(strstr(all.data, " \n"));
    buf_free(&all);
    buf_free(&model);
}

/* As the same options behind each other on one command line; the first settings stay what they are. */
static void test_settings_are_varied(void **state)
{
    char *both[] = {"--network", "both", "--batch-size", "3"},
         *whole[] = {"--network", "both", "--batch-size", "3", "--network", "vocoder", "--num-workers", "2"};
    Config from, varied, expected;
    Err err = {0};
    assert_int_equal(config_load(&from, NULL, 4, both, &err), 0);
    const ConfigSetting settings[] = {{"network", "vocoder"}, {"num_workers", "2"}, {"batch_size", NULL}};
    assert_int_equal(config_vary(&varied, &from, settings, 3, &err), 0);
    assert_int_equal(config_load(&expected, NULL, 8, whole, &err), 0);
    for (int i = 0; i < config_row_count(); i++) {
        ConfigRow is, should;
        assert_int_equal(config_row(&varied, i, &is) | config_row(&expected, i, &should), 0);
        assert_string_equal(is.value, should.value);
        assert_string_equal(is.origin, should.origin);
    }
    assert_int_equal(from.network, NETWORK_BOTH);
    assert_true(varied.learning_rate == 0.0005 && from.learning_rate != 0.0005);
    const ConfigSetting wrong[] = {{"batch_size", "0"}};
    assert_int_equal(config_vary(&varied, &from, wrong, 1, &err), ERR_CONFIG);
    config_close(&varied); /* closed after an error, and again: always safe */
    config_close(&expected);
    config_close(&from);
}

/* Each is a setting that is off at 0, and is drawn from numbers of its own. */
static void test_augmentations(void **state)
{
    for (int i = 0; i < AUGMENT_SEED; i++) {
        const Augmentation *a = augmentation(i);
        const int at = option_find(a->key, strlen(a->key));
        char yaml[100];
        Config cfg;
        int on[AUGMENT_SEED];
        assert_true(at >= 0 && option_table[at].min == 0 && option_table[at].max > 0);
        assert_string_equal(option_table[at].def, "0");
        for (int k = 0; k < i; k++)
            assert_true(a->drawn == DRAWN_AS_SET || a->salt != augmentation(k)->salt);
        snprintf(yaml, sizeof yaml, "data:\n  %s: %g\n", a->key, option_table[at].max);
        must_load(&cfg, yaml);
        augmentations_on(on, &cfg);
        for (int k = 0; k < AUGMENT_SEED; k++) {
            assert_int_equal(on[k], k == i);
            assert_true(augmentation_setting(&cfg, k) == (k == i ? option_table[at].max : 0));
        }
        const char *of_recordings = augmentation_of_recordings(&cfg);
        if (a->of == OF_RECORDING)
            assert_string_equal(of_recordings, a->key);
        else
            assert_null(of_recordings);
        augmentations_turn_off(&cfg);
        assert_true(augmentation_setting(&cfg, i) == 0);
        config_close(&cfg);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_field_has_one_row),
        cmocka_unit_test(test_rows_are_sound),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_presets),
        cmocka_unit_test(test_presets_of_the_vocoder),
        cmocka_unit_test(test_precedence_and_origins),
        cmocka_unit_test(test_argument_errors),
        cmocka_unit_test(test_argument_values),
        cmocka_unit_test(test_settings_are_varied),
        cmocka_unit_test(test_augmentations),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_default_yaml),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_number_text),
        cmocka_unit_test(test_help),
    };
    return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
