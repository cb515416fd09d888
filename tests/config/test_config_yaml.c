/* test_config_yaml.c - YAML files that load, those that do not and what is said about them, and the rules
 * between keys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "config/option_table.h"
#include "config/yaml_tree.h"
#include "support/config_testing.h"

/* --- YAML that loads --- */

static const struct {
    const char *yaml, *key, *value;
} yaml_values[] = {
    {"training:\n  learning_rate: 1e-4\n", "learning_rate", "0.0001"}, /* a string to YAML 1.1 readers */
    {"training:\n  learning_rate: \"3e-4\"\n", "learning_rate", "0.0003"},
    {"training:\n  learning_rate: .5\n", "learning_rate", "0.5"},
    {"training:\n  warmup_steps: 1e3\n", "warmup_steps", "1000"},
    {"training:\n  max_steps: 1_000_000\n", "max_steps", "1000000"},
    {"training:\n  max_steps: '2000'\n", "max_steps", "2000"},
    {"data:\n  batch_size: 32.0\n", "batch_size", "32"},
    {"data:\n  phoneme_language: no\n", "phoneme_language", "\"no\""}, /* Norwegian, not false */
    {"data:\n  language: no\n", "language", "\"no\""},
    {"data:\n  data_path: 2024\n", "data_path", "\"2024\""},
    {"data:\n  data_path: ~user\n", "data_path", "\"~user\""},
    {"data:\n  data_path: \"null\"\n", "data_path", "\"null\""},
    {"data:\n  cache_dir: \"\"\n", "cache_dir", "\"\""},
    {"data:\n  add_blank: no\n", "add_blank", "false"},
    {"data:\n  add_blank: Off\n", "add_blank", "false"},
    {"data:\n  pad_to_fixed_length: YES\n", "pad_to_fixed_length", "true"},
    {"data:\n  use_tf_native_loading: false\n", "native_loading", "false"},
    {"data:\n  enable_xla: false\ntraining:\n  enable_xla_compilation: false\n", "enable_xla", "false"},
    {"training:\n  mixed_precision: false\n", "mixed_precision", "false"},
    {"data:\n  mixed_precision: true\ntraining:\n  mixed_precision: yes\n", "mixed_precision", "true"},
    {"data:\n  cache_verification: true\n", "cache_verification", "full"},
    {"data:\n  cache_verification: false\n", "cache_verification", "off"},
    {"data:\n  cache_verification: off\n", "cache_verification", "off"},
    {"data:\n  cache_verification: fast\n", "cache_verification", "fast"},
    {"data:\n  preprocessing_mode: \"precompute\"\n", "preprocessing_mode", "precompute"},
    {"data:\n  preprocessing_mode: on-the-fly\n", "preprocessing_mode", "on_the_fly"},
    {"data:\n  data_gpu: 0\n", "data_gpu", "0"},
    {"data:\n  model_gpu: sim1\n", "model_gpu", "sim1"},
    {"data:\n  dataset_path: /corpus\n", "data_path", "/corpus"},
    {"data:\n  num_workers: auto\n", "num_workers", "auto"},
    {"data:\n  num_workers: 0\n", "num_workers", "0"},
    {"data:\n  text_cleaners: [english_cleaners]\n", "text_cleaners", "english"},
    {"data:\n  text_cleaners: basic\n", "text_cleaners", "basic"},
    {"data:\n  text_cleaners: multilingual_cleaners\n", "text_cleaners", "multilingual"},
    {"data:\n  text_cleaners: none\n", "text_cleaners", "none"},
    {"data:\n  metadata_delimiter: \"\\t\"\n", "metadata_delimiter", "tab"},
    {"data:\n  metadata_delimiter: '|'\n", "metadata_delimiter", "\"|\""},
    {"data:\n  supported_languages: [en, fa]\n", "supported_languages", "[en, fa]"},
    {"data:\n  supported_languages: en, fa\n", "supported_languages", "[en, fa]"},
    {"data:\n  sample_rate: 24000\n", "sample_rate", "24000"},
    {"data: {batch_size: 7}\n", "batch_size", "7"},
    {"data:\n  batch_size: &n 24\n  num_workers: *n\n", "num_workers", "24"}, /* anchor and alias */
    {"\xEF\xBB\xBF"
     "data:\r\n  batch_size: 9\r\n",
     "batch_size", "9"}, /* BOM, CRLF */
    {"---\ndata:\n  batch_size: 8\n...\n", "batch_size", "8"},
    {"data:\n  batch_size: !!int \"5\"\n", "batch_size", "5"},
    {"data:\n  # nothing here\ntraining:\n", "batch_size", "32"},
    {"", "batch_size", "32"},
    {"# only a comment\n", "batch_size", "32"},
    {"training:\n  text2audio_texts: []\n", "text2audio_texts", "[]"},
    {"training:\n  text2audio_texts:\n    - One, two.\n    - \"\xD8\xB3\xD9\x84\xD8\xA7\xD9\x85\"\n",
     "text2audio_texts", "[\"One, two.\", \"\xD8\xB3\xD9\x84\xD8\xA7\xD9\x85\"]"},
};

static void test_yaml_values(void **state)
{
    for (int i = 0; i < COUNT(yaml_values); i++) {
        Config c;
        ConfigRow row;
        must_load(&c, yaml_values[i].yaml);
        row_of(&c, yaml_values[i].key, &row);
        if (strcmp(row.value, yaml_values[i].value) != 0)
            fail_msg("%s gives %s: %s, expected %s", yaml_values[i].yaml, yaml_values[i].key, row.value,
                     yaml_values[i].value);
        config_close(&c);
    }
}

/* --- YAML that does not --- */

typedef struct WrongYaml {
    const char *yaml, *message, *hint;
} WrongYaml;

static const WrongYaml yaml_errors[] = {
    {"data:\n  bach_size: 3\n", "t.yaml:2: unknown key 'bach_size' in section data",
     "did you mean 'batch_size'?"},
    {"data:\n  batch_size: 0\n", "t.yaml:2: batch_size is 0, but must be between 1 and 4096", ""},
    {"data:\n\n  batch_size: 5000\n", "t.yaml:3: batch_size is 5000, but must be between 1 and 4096", ""},
    {"data:\n  batch_size: many\n",
     "t.yaml:2: batch_size is 'many', but must be an integer between 1 and 4096", ""},
    {"data:\n  batch_size: 1.5\n", "t.yaml:2: batch_size is '1.5', but must be an integer", ""},
    {"data:\n  batch_size: 0x10\n", "t.yaml:2: batch_size is '0x10', but must be an integer", ""},
    {"data:\n  batch_size: 1:30\n", "t.yaml:2: batch_size is '1:30', but must be an integer", ""},
    {"data:\n  batch_size: 010\n", "t.yaml:2: batch_size is '010'", "leading zero"},
    {"data:\n  batch_size: true\n", "t.yaml:2: batch_size is 'true', but must be an integer", ""},
    {"data:\n  batch_size: [1]\n", "t.yaml:2: batch_size is a list, but must be an integer", ""},
    {"data:\n  batch_size: {a: 1}\n", "t.yaml:2: batch_size is a mapping", ""},
    {"data:\n  batch_size:\n", "t.yaml:2: batch_size has no value", "remove the key"},
    {"data:\n  data_path: null\n", "t.yaml:2: data_path has no value", "\"\" for an empty text"},
    {"data:\n  num_workers: 1000\n", "num_workers is 1000, but must be auto or between 0 and 256", ""},
    {"training:\n  learning_rate: .inf\n", "t.yaml:2: learning_rate is '.inf'", "finite"},
    {"training:\n  learning_rate: nan\n", "t.yaml:2: learning_rate is 'nan'", "finite"},
    {"training:\n  learning_rate: 1e999\n", "t.yaml:2: learning_rate is '1e999'", "finite"},
    {"training:\n  scheduler: cosin\n",
     "t.yaml:2: scheduler is 'cosin', but must be one of cosine, noam, constant", "did you mean 'cosine'?"},
    {"data:\n  add_blank: maybe\n", "t.yaml:2: add_blank is 'maybe', but must be true or false", ""},
    {"data:\n  data_gpu: gpu0\n", "t.yaml:2: data_gpu is 'gpu0', but must be auto, cpu", ""},
    {"data:\n  data_gpu: 64\n", "t.yaml:2: data_gpu is '64'", ""},
    {"data:\n  supported_languages: []\n", "t.yaml:2: supported_languages has 0 items", ""},
    {"data:\n  supported_languages: [en, [fa]]\n", "t.yaml:2: item 2 of supported_languages is a list", ""},
    {"data:\n  text_cleaners: [basic, english]\n", "t.yaml:2: text_cleaners is a list", ""},
    {"training:\n  batch_size: 3\n",
     "t.yaml:2: key 'batch_size' is in section training, but belongs in section data",
     "move the line under `data:`"},
    {"training:\n  bach_size: 3\n", "t.yaml:2: unknown key 'bach_size' in section training",
     "did you mean 'batch_size' of section data?"},
    {"batch_size: 3\n", "t.yaml:1: key 'batch_size' is not in any section", "under `data:`"},
    {"dta:\n  batch_size: 3\n", "t.yaml:1: unknown section 'dta'", "did you mean 'data'?"},
    {"trainig:\n  epochs: 3\n", "t.yaml:1: unknown section 'trainig'", "did you mean 'training'?"},
    {"data:\n  batch_size: 3\n  batch_size: 3\n",
     "t.yaml:3: key 'batch_size' is given twice, first in line 2", ""},
    {"data:\n  seed: 3\ndata:\n  seed: 3\n", "t.yaml:3: key 'data' is given twice, first in line 1", ""},
    {"data:\n  mixed_precision: true\ntraining:\n  mixed_precision: false\n",
     "t.yaml:4: mixed_precision is 'false', but line 2 already set it to 'true'", "same value"},
    {"data:\n  native_loading: true\n  use_tf_native_loading: false\n",
     "t.yaml:3: native_loading is 'false', but line 2 already set it to 'true'", ""},
    {"data:\n  a: &x {batch_size: 3}\n", "t.yaml:2: unknown key 'a'", ""},
    {"data:\n  <<: {batch_size: 3}\n", "t.yaml:2: merge keys (<<) are not supported", ""},
    {"data:\n  seed: 3\n---\ndata:\n  seed: 4\n", "t.yaml:3: a second YAML document starts here", ""},
    {"data:\n\tbatch_size: 3\n", "t.yaml:2: the indentation contains a tab", "spaces"},
    {"data: 3\n", "t.yaml:1: section data is a single value", ""},
    {"- data\n", "t.yaml:1: the file is a list, but must contain the sections", ""},
    {"hello\n", "t.yaml:1: the file is a single value", ""},
    {"data:\n  batch_size: [1\n", "not valid YAML", ""},
    {"data:\n  seed: 1\n  cache_dir: \xFF\n", "t.yaml:3: not valid YAML", "UTF-8"},
    {"data:\n  cache_dir: \"a\\0b\"\n", "t.yaml:2: the text of cache_dir contains a NUL", ""},
    {"data:\n  batch_size: !mine 3\n", "t.yaml:2: batch_size has the tag '!mine'", ""},
    {"data:\n  batch_size: *nowhere\n", "t.yaml:2: not valid YAML", ""},
    {"data:\n  language: x\n", "t.yaml:2: language is 'x', but must be a text of 2 to 15 bytes", ""},
    {"model:\n  model_size: huge\n",
     "t.yaml:2: model_size is 'huge', but must be one of nano, light, tiny, small, normal, big", ""},
};

static void expect_wrong(const WrongYaml *w)
{
    Config c;
    Err err = {0};
    int rc = load_text(&c, w->yaml, &err);
    if (rc != ERR_CONFIG || !strstr(err.msg, w->message) || !strstr(err.hint, w->hint))
        fail_msg("%s\ngives %d '%s' (hint '%s'),\nexpected '%s' (hint '%s')", w->yaml, rc, err.msg, err.hint,
                 w->message, w->hint);
    assert_null(c.state);
}

static void test_yaml_errors(void **state)
{
    for (int i = 0; i < COUNT(yaml_errors); i++) {
        Config c;
        expect_wrong(&yaml_errors[i]);
        /* An error without an Err is one too. */
        assert_int_equal(load_text(&c, yaml_errors[i].yaml, NULL), ERR_CONFIG);
    }
}

/* --- rules between keys --- */

static const WrongYaml broken_rules[] = {
    {"model:\n  win_length: 2048\n", "win_length is 2048 (t.yaml:2) and n_fft is 1024 (default)",
     "n_fft to 2048 or more"},
    {"model:\n  network: vocoder\n  n_fft: 1200\n",
     "n_fft is 1200 (t.yaml:3) and network is vocoder (t.yaml:2): a vocoder needs a power of two", "2048"},
    {"model:\n  network: both\n  n_fft: 8192\n", "a power of two, at most 4096", "n_fft to 4096"},
    {"model:\n  network: vocoder\n  hop_length: 600\n",
     "hop_length is 600 (t.yaml:3) and n_fft is 1024 (default): a vocoder needs windows that overlap", "512"},
    {"model:\n  network: vocoder\n  hop_length: 128\ndata:\n  vocoder_segment_frames: 9\n",
     "vocoder_segment_frames is 9 (t.yaml:5) and hop_length is 128", "10 or more"},
    {"model:\n  n_fft: 1025\n", "n_fft is 1025 (t.yaml:2): the FFT length must be even", ""},
    {"model:\n  hop_length: 1025\n", "hop_length is 1025 (t.yaml:2) and win_length is 1024 (default)",
     "1024 or less"},
    {"model:\n  sample_rate: 8000\n", "mel_fmax is 8000 (default) and sample_rate is 8000 (t.yaml:2)",
     "4000 or less"},
    {"model:\n  mel_fmin: 8000\n", "mel_fmin is 8000 (t.yaml:2) and mel_fmax is 8000 (default)", ""},
    {"model:\n  n_mels: 512\n  n_fft: 1022\n  win_length: 400\n",
     "n_mels is 512 (t.yaml:2) and n_fft is 1022 (t.yaml:3)", "511"},
    {"model:\n  decoder_heads: 2\n", "at most 128 of the width", "decoder_heads to 3"},
    {"model:\n  decoder_heads: 7\n", "decoder_heads is 7 (t.yaml:2) and decoder_dim is 384 (preset tiny)",
     "decoder_heads to 6"},
    {"model:\n  text_encoder_heads: 5\n", "text_encoder_heads is 5 (t.yaml:2) and text_encoder_dim is 384",
     ""},
    {"model:\n  audio_encoder_dim: 132\n",
     "audio_encoder_dim is 132 (t.yaml:2): the width must be a multiple of 8", "136"},
    {"model:\n  gst_num_heads: 5\n", "gst_num_heads is 5 (t.yaml:2) and speaker_embedding_dim is 256", ""},
    {"data:\n  min_audio_length: 30\n",
     "min_audio_length is 30 (t.yaml:2) and max_audio_length is 30 (default)", ""},
    {"data:\n  speaker_id_pattern: \"(a\"\n", "speaker_id_pattern is \"(a\" (t.yaml:2): not a POSIX", ""},
    {"data:\n  speaker_id_pattern: \"abc\"\n", "speaker_id_pattern is abc (t.yaml:2): it has no group",
     "parentheses"},
    {"data:\n  language: english\n", "language is english (t.yaml:2): not a language code", "two letters"},
    {"data:\n  supported_languages: [en, xx]\n",
     "supported_languages is [en, xx] (t.yaml:2): 'xx' is not a language", "known languages: en"},
    {"data:\n  supported_languages: [en, en]\n", "'en' is in the list twice", ""},
    {"data:\n  language: fa\n  supported_languages: [en]\n  language_detection_method: auto\n",
     "language is fa (t.yaml:2) and supported_languages is [en] (t.yaml:3)", ""},
    {"training:\n  learning_rate: 1e-6\n",
     "min_learning_rate is 0.00001 (default) and learning_rate is 0.000001 (t.yaml:2)", ""},
    {"training:\n  learning_rate: 0\n  min_learning_rate: 0\n",
     "learning_rate is 0 (t.yaml:2): nothing would be learned", ""},
};

static void test_rules(void **state)
{
    for (int i = 0; i < COUNT(broken_rules); i++)
        expect_wrong(&broken_rules[i]);
    Config c;
    must_load(
        &c,
        "model:\n  sample_rate: 8000\n  n_fft: 512\n  win_length: 400\n  hop_length: 100\n  mel_fmax: 4000\n"
        "data:\n  language: en-us\n  speaker_id_pattern: ^[0-9]_([a-z]+)_\n");
    config_close(&c);
}

/* --- the YAML blocks of the ancestor's documents --- */

/* The same settings, written here by hand, so that they are tested without the documents too. */
static void test_documented_settings(void **state)
{
    static const char yaml[] = "data:\n"
                               "  use_tf_native_loading: true          # \xD8\xAD\xD8\xB0\xD9\x81\n"
                               "  num_workers: 16\n"
                               "  prefetch_buffer_size: 16\n"
                               "  \n"
                               "  pad_to_fixed_length: true\n"
                               "  max_text_length: 200\n"
                               "  max_mel_frames: 800\n"
                               "  enable_xla: true\n"
                               "  mixed_precision: true\n"
                               "  prefetch_to_gpu: true\n"
                               "  enhanced_gpu_prefetch: true\n"
                               "  optimize_cpu_gpu_overlap: true\n"
                               "  pin_memory: true\n"
                               "  enable_memory_mapping: true\n"
                               "  batch_size: 32\n"
                               "  data_gpu: 0\n"
                               "  model_gpu: 1\n"
                               "  pipeline_buffer_size: 50\n"
                               "  preprocessing_mode: \"precompute\"\n"
                               "  cache_verification: true\n"
                               "training:\n"
                               "  enable_graph_mode: true\n"
                               "  enable_xla_compilation: true\n"
                               "  enable_eager_debug: false\n"
                               "  mixed_precision: true\n";
    Config c;
    must_load(&c, yaml);
    assert_int_equal(c.num_workers, 16);
    assert_int_equal(c.pipeline_buffer_size, 50);
    assert_int_equal(c.preprocessing_mode, PREPROCESS_PRECOMPUTE);
    assert_int_equal(c.cache_verification, VERIFY_FULL);
    assert_string_equal(c.data_gpu, "0");
    assert_string_equal(c.model_gpu, "1");
    config_close(&c);
}

/* Loads every ```yaml block of one document, its indentation taken off; returns how many there were. */
static int load_blocks(const char *path)
{
    Buf text = {0}, block = {0};
    Err err = {0};
    int blocks = 0, inside = 0, line_number = 0, begin = 0;
    size_t indent = 0;
    if (file_read(&text, path, 1 << 20, &err))
        fail_msg("%s", err.msg);
    buf_str(&text, "");
    for (char *line = text.data; line && *line; line_number++) {
        char *end = strchr(line, '\n');
        size_t n = end ? (size_t)(end - line + 1) : strlen(line), blank = strspn(line, " ");
        if (!inside && strncmp(line + blank, "```yaml", 7) == 0) {
            inside = 1;
            indent = blank;
            begin = line_number + 1;
            buf_clear(&block);
        } else if (inside && strncmp(line + blank, "```", 3) == 0) {
            Config c;
            inside = 0;
            blocks++;
            if (config_load_text(&c, path, block.data, block.size, 0, NULL, &err))
                fail_msg("the block at line %d: %s (%s)", begin, err.msg, err.hint);
            config_close(&c);
        } else if (inside) {
            size_t skip = blank < indent ? blank : indent;
            buf_add(&block, line + skip, n - skip);
        }
        line += n;
    }
    buf_free(&text);
    buf_free(&block);
    return blocks;
}

static void test_seed_documents(void **state)
{
    static const char *const names[] = {"000_2f3a83042772ef64.txt", "001_ef3d3eca4f1f9deb.txt",
                                        "002_48c8c7ab217fc2a0.txt", "003_17927805ee4ccf12.txt",
                                        "004_f92d1bfab2ff2ecb.txt"};
    const char *data = getenv("MYXTTS_DATA");
    int blocks = 0;
    for (int i = 0; i < COUNT(names); i++) {
        char path[1000];
        snprintf(path, sizeof path, "%s/../seeds/%s", data ? data : "../shared/data", names[i]);
        if (!file_exists(path)) {
            printf("SKIPPED: the YAML blocks of the documents: there is no %s\n", path);
            skip();
        }
        blocks += load_blocks(path);
    }
    assert_int_equal(blocks, 15);
}

/* What takes libyaml the square of the time: a sentence comes before it. */
static void test_hostile_yaml(void **state)
{
    static const struct {
        const char *begin, *repeated, *message;
        int counted; /* the repeated part has a number in it */
    } cases[] = {
        {"data: ", "[", "t.yaml:1: nested more than 64 levels deep", 0},
        {"data: ", "{a: ", "t.yaml:1: nested more than 64 levels deep", 0},
        {"", "- ", "t.yaml:1: nested more than 64 levels deep", 0},
        {"", "? ", "t.yaml:1: nested more than 64 levels deep", 0},
        {"data:\n  batch_size: 3\n---\na: ", "[", "t.yaml:4: nested more than 64 levels deep", 0},
        {"data: [", "&a%d x, ", "t.yaml:1: more than 1000 anchors or aliases", 1},
        {"data: [&a x, ", "*a, ", "t.yaml:1: more than 1000 anchors or aliases", 0},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        Buf text = {0};
        Config c;
        YamlTree tree;
        Err err = {0};
        buf_str(&text, cases[i].begin);
        for (int k = 0; k < 50000; k++) {
            char piece[40];
            if (cases[i].counted)
                snprintf(piece, sizeof piece, "&a%d x, ", k);
            else
                snprintf(piece, sizeof piece, "%s", cases[i].repeated);
            buf_str(&text, piece);
        }
        assert_int_equal(config_load_text(&c, "t.yaml", text.data, text.size, 0, NULL, &err), ERR_CONFIG);
        if (!strstr(err.msg, cases[i].message))
            fail_msg("'%s', not '%s'", err.msg, cases[i].message);
        assert_int_equal(yaml_tree_parse(&tree, text.data, text.size, &err), ERR_CONFIG);
        assert_non_null(strstr(err.msg, strchr(cases[i].message, ':') + 3));
        buf_free(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hostile_yaml),        cmocka_unit_test(test_yaml_values),
        cmocka_unit_test(test_yaml_errors),         cmocka_unit_test(test_rules),
        cmocka_unit_test(test_documented_settings), cmocka_unit_test(test_seed_documents),
    };
    return cmocka_run_group_tests_name("config_yaml", tests, NULL, NULL);
}
