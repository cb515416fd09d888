/* test_validate.c - myxtts validate: the repair of files, the checks of machine and data, and the command
 * with its backups and exit codes. */
#include "support/doctor_testing.h"
#include "support/pipeline_testing.h"

#include <fcntl.h>
#include <jansson.h>
#include <sys/resource.h>

#include "base/rng.h"
#include "base/thread.h"
#include "cmd/cmd.h"
#include "config/measured.h"
#include "config/schema.h"
#include "diag/pipeline/doctor.h"
#include "diag/preflight/preflight_private.h"
#include "diag/report/text_diff.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* ---- the schema ---- */

static void repaired(const char *before, const char *after, int problems)
{
    SchemaReport r = {0};
    Err err = {0};
    Buf text = {0};
    buf_str(&text, before);
    assert_int_equal(schema_repair(&r, &text, "t.yaml", 0, NULL, &err), 0);
    if (strcmp(text.data, after) != 0)
        fail_msg("wanted\n%s\ngot\n%s", after, text.data);
    if ((int)r.count != problems)
        fail_msg("%zu problems, not %d, in\n%s", r.count, problems, before);
    if (!r.loads)
        fail_msg("does not load: %s", text.data);
    for (size_t i = 0; i < r.count; i++)
        assert_true(r.items[i].fixed && r.items[i].fix[0] && r.items[i].what[0]);
    schema_report_free(&r);
    buf_free(&text);
}

static const struct {
    const char *before, *after;
    int problems;
} repairs[] = {
    {"", "", 0},
    {"data:\n  batch_size: 8\n", "data:\n  batch_size: 8\n", 0},
    {"data:\n  bach_size: 8 # c\n", "data:\n  batch_size: 8 # c\n", 1},
    {"data:\n  bach_size: 0\n", "data:\n  batch_size: 32\n", 2},
    {"data:\n  batch_size: 0\n  num_workers: 999\n", "data:\n  batch_size: 32\n  num_workers: auto\n", 2},
    {"data:\n  batch_size: \"many\"\n", "data:\n  batch_size: \"32\"\n", 1},
    {"data:\n  batch_size: 08\n", "data:\n  batch_size: 8\n", 1},
    {"data:\n  batch_size: 8.6\n", "data:\n  batch_size: 9\n", 1},
    {"data:\n  pin_memory: ture\n", "data:\n  pin_memory: true\n", 1},
    {"data:\n  data_gpu: cuda:1\n", "data:\n  data_gpu: 1\n", 1},
    {"data:\n  batch_size: 8\n  batch_size: 9 # two\n", "data:\n  # batch_size: 8\n  batch_size: 9 # two\n",
     1}, /* the last one, as other readers of YAML do */
    {"data:\n  batch_size: 8\n  batch_size: 8\n", "data:\n  # batch_size: 8\n  batch_size: 8\n", 1},
    {"data:\n  seed: 1\n  seed: 2\n  seed: 3\n", "data:\n  # seed: 1\n  # seed: 2\n  seed: 3\n", 2},
    {"data:\n  batch_size: [1, # one\n    2]\n  num_workers: 999\n",
     "data:\n  batch_size: 32\n  # one\n  num_workers: auto\n", 2},
    {"x: &s\n  trim_top_db: 5\nata:\n  <<: *s\n",
     "# x: &s\n#   trim_top_db: 5\ndata:\n  trim_top_db: 5\n  # <<: *s\n", 3},
    {"data:\n  batch_size:\n", "data:\n  # batch_size:\n", 1},
    {"data:\n  epochs: 3\ntraining:\n  lr: 0.001\n",
     "data:\n  # epochs: 3\ntraining:\n  lr: 0.001\n  epochs: 3\n", 1},
    {"data:\n  epochs: 3\n", "data:\n  # epochs: 3\ntraining:\n  epochs: 3\n", 1},
    {"batch_size: 8\n", "# batch_size: 8\ndata:\n  batch_size: 8\n", 1},
    {"dat:\n  batch_size: 8\n", "data:\n  batch_size: 8\n", 1},
    {"data:\n  batch_size: 8\ndata:\n  num_workers: 2\n  batch_size: 8\n",
     "data:\n  batch_size: 8\n  num_workers: 2\n# data:\n#   num_workers: 2\n#   batch_size: 8\n", 1},
    /* JSON stays JSON. */
    {"{\"model\": {\"model_size\": \"nano\"}, \"batch_size\": 4}\n",
     "{\"model\": {\"model_size\": \"nano\"}, \"data\": {\"batch_size\": 4}}\n", 1},
    {"{\"data\": {\"num_workers\": 999, \"seed\": 1}}\n",
     "{\"data\": {\"num_workers\": \"auto\", \"seed\": 1}}\n", 1},
    /* Digits that nobody would write do not appear. */
    {"training:\n  lr: 1.0e-5\n  min_learning_rate: 0.1\n",
     "training:\n  lr: 1.0e-5\n  min_learning_rate: 1.0e-07\n", 1},
    {"x: &s\n  trim_top_db: 35\ndata:\n  <<: *s\n  batch_size: 8\n",
     "# x: &s\n#   trim_top_db: 35\ndata:\n  # <<: *s\n  batch_size: 8\n  trim_top_db: 35\n", 2},
    {"data:\n  quux: 3\n", "data:\n  # quux: 3\n", 1},
    {"data: 5\n", "# data: 5\n", 1},
    {"data:\n\tbatch_size: 8\n", "data:\n  batch_size: 8\n", 1},
    {"model:\n  win_length: 2048\n", "model:\n  win_length: 1024\n", 1},
    {"model:\n  n_fft: 1023\n  win_length: 1024\n", "model:\n  n_fft: 1024\n  win_length: 1024\n", 1},
    {"model:\n  sample_rate: 8000\n", "model:\n  sample_rate: 8000\n  mel_fmax: 4000\n", 1},
    {"model:\n  decoder_heads: 5\n", "model:\n  decoder_heads: 4\n", 1},
    {"model:\n  decoder_heads: 1\n", "model:\n  decoder_heads: 3\n", 1},
    {"model:\n  model_size: nano\n  decoder_dim: 9\n", "model:\n  model_size: nano\n  decoder_dim: 128\n", 1},
    {"training:\n  learning_rate: 0\n", "training:\n  learning_rate: 0.0003\n", 1},
    {"data:\n  supported_languages: [en, xx, fa, en]\n", "data:\n  supported_languages: [en, fa]\n", 1},
    {"data:\n  supported_languages: en, xx\n", "data:\n  supported_languages: [en]\n", 1},
    {"model:\n  hop_length: 5000\n", "model:\n  hop_length: 256\n", 1},
    {"model:\n  mel_fmin: 9000\n", "model:\n  mel_fmin: 0\n", 1},
    {"model:\n  network: vocoder\n  n_fft: 1200\n", "model:\n  network: vocoder\n  n_fft: 2048\n", 1},
    {"model:\n  network: vocoder\n  hop_length: 600\n", "model:\n  network: vocoder\n  hop_length: 256\n", 1},
    {"model:\n  network: vocoder\n  hop_length: 128\ndata:\n  vocoder_segment_frames: 9\n",
     "model:\n  network: vocoder\n  hop_length: 128\ndata:\n  vocoder_segment_frames: 10\n", 1},
    {"model:\n  n_mels: 512\n  n_fft: 512\n  win_length: 512\n",
     "model:\n  n_mels: 256\n  n_fft: 512\n  win_length: 512\n", 1},
    {"data:\n  min_audio_length: 40\n", "data:\n  min_audio_length: 0.1\n", 1},
    {"training:\n  learning_rate: 0.001\n  min_learning_rate: 0.01\n",
     "training:\n  learning_rate: 0.001\n  min_learning_rate: 0.00001\n", 1},
    {"data:\n  language: fa\n  supported_languages: [en]\n  language_detection_method: auto\n",
     "data:\n  language: fa\n  supported_languages: [en, fa]\n  language_detection_method: auto\n", 1},
    /* a tag that names nothing */
    {"data:\n  ! pin_memory: ! true\n", "data:\n  ! pin_memory: ! true\n", 0},
};

static void test_repairs(void **state)
{
    for (size_t i = 0; i < COUNT(repairs); i++)
        repaired(repairs[i].before, repairs[i].after, repairs[i].problems);
}

/* Lines are those of the file as it is, and what cannot be put right stays and says why. */
static void test_problems(void **state)
{
    SchemaReport r = {0};
    Err err = {0};
    Buf text = {0};
    buf_str(&text, "training:\n  epoch: 3\n  speling: 1\ndata:\n  batch_size: 0\n");
    assert_int_equal(schema_repair(&r, &text, "t.yaml", 0, NULL, &err), 0);
    assert_int_equal(r.count, 3);
    assert_int_equal(r.items[0].line, 2);
    assert_int_equal(r.items[2].line, 5);
    assert_string_equal(r.items[2].what, "batch_size is 0, but must be between 1 and 4096");
    assert_string_equal(r.items[2].fix, "batch_size: 32");
    schema_report_free(&r);
    buf_clear(&text);
    buf_str(&text, "data:\n  language: 77\n  batch_size: 0\n");
    assert_int_equal(schema_repair(&r, &text, "t.yaml", 0, NULL, &err), 0);
    assert_false(r.loads);
    assert_int_equal(r.count, 2);
    assert_true(r.items[0].fixed && !r.items[1].fixed && r.items[1].hint[0]);
    assert_string_equal(r.items[1].key, "language");
    schema_report_free(&r);
    buf_free(&text);
}

static void test_what_cannot_be_repaired(void **state)
{
    SchemaReport r = {0};
    Err err = {0};
    Buf text = {0};
    static const char *const hopeless[] = {"data: [1\n", "- a\n", "data:\n  a: 1\n---\ndata:\n",
                                           ("\xFF\xFE"
                                            "d")};
    for (size_t i = 0; i < COUNT(hopeless); i++) {
        buf_clear(&text);
        buf_str(&text, hopeless[i]);
        assert_int_equal(schema_repair(&r, &text, "t.yaml", 0, NULL, &err), 0);
        assert_true(r.count == 1 && !r.loads && !r.items[0].fixed && r.items[0].what[0]);
        assert_string_equal(text.data, hopeless[i]);
        schema_report_free(&r);
    }
    buf_free(&text);
}

/* Two values, and nobody but the user knows which was meant; a second document is named before all else. */
static void test_what_only_the_user_knows(void **state)
{
    SchemaReport r = {0};
    Err err = {0};
    Buf text = {0};
    static const struct {
        const char *text, *what;
        int line;
    } asked[] = {
        {"data:\n  native_loading: true\n  use_tf_native_loading: false\n", "already set it to true", 3},
        {"data: {batch_size: 8, batch_size: 9}\n", "is given", 1},
        {"data:\n  seed: 8\ndata:\n  seed: 9\n", "section 'data' is given", 3},
        {"data:\n  seed: 8\n  seed: 8\n---\ndata:\n  seed: 8\n", "a second YAML document starts here", 4},
    };
    for (size_t i = 0; i < COUNT(asked); i++) {
        buf_clear(&text);
        buf_str(&text, asked[i].text);
        assert_int_equal(schema_repair(&r, &text, "t.yaml", 0, NULL, &err), 0);
        assert_true(r.count == 1 && !r.loads && !r.items[0].fixed && r.items[0].hint[0]);
        assert_non_null(strstr(r.items[0].what, asked[i].what));
        assert_int_equal(r.items[0].line, asked[i].line);
        assert_string_equal(text.data, asked[i].text);
        schema_report_free(&r);
    }
    buf_free(&text);
}

static void test_the_command_line_is_not_repaired(void **state)
{
    SchemaReport r = {0};
    Err err = {0};
    Buf text = {0};
    char *argv[] = {"--win-length", "4000"};
    buf_clear(&text);
    buf_str(&text, "model:\n  n_fft: 2048\n");
    assert_int_equal(schema_repair(&r, &text, "t.yaml", 2, argv, &err), 0);
    assert_true(!r.loads && r.count == 1 && !r.items[0].fixed);
    assert_string_equal(text.data, "model:\n  n_fft: 2048\n");
    schema_report_free(&r);
    char *languages[] = {"--supported-languages", "fr", "--language-detection-method", "auto"};
    assert_int_equal(schema_repair(&r, &text, "t.yaml", 4, languages, &err), 0);
    assert_true(!r.loads && r.count == 1 && !r.items[0].fixed);
    assert_string_equal(text.data, "model:\n  n_fft: 2048\n");
    schema_report_free(&r);
    buf_free(&text);
}

/* ---- the difference ---- */

static void test_difference(void **state)
{
    static const struct {
        const char *a, *b, *diff;
    } cases[] = {
        {"x\n", "x\n", ""},
        {"", "a\n", "--- a\n+++ b\n@@ -0,0 +1,1 @@\n+a\n"},
        {"a\n", "", "--- a\n+++ b\n@@ -1,1 +0,0 @@\n-a\n"},
        {"a\nb\nc\n", "a\nB\nc\n", "--- a\n+++ b\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"},
        {"a", "a\n", "--- a\n+++ b\n@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n"},
        {"1\n2\n3\n4\n5\n6\n7\n8\n9\n0\n1\n2\n", "1\n3\n4\n5\n6\n7\n8\n9\n0\n1\nx\n2\n",
         "--- a\n+++ b\n@@ -1,5 +1,4 @@\n 1\n-2\n 3\n 4\n 5\n@@ -9,4 +8,5 @@\n 9\n 0\n 1\n+x\n 2\n"},
        {"a\nb\na\nb\n", "b\na\nb\na\n", "--- a\n+++ b\n@@ -1,4 +1,4 @@\n-a\n b\n a\n b\n+a\n"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        Buf out = {0};
        buf_str(&out, "");
        assert_int_equal(
            text_diff(&out, "a", cases[i].a, strlen(cases[i].a), "b", cases[i].b, strlen(cases[i].b)), 0);
        assert_string_equal(out.data, cases[i].diff);
        buf_free(&out);
    }
    Buf a = {0}, b = {0}, out = {0}; /* too many changes: still a difference, as one piece */
    for (int i = 0; i < 3000; i++) {
        buf_printf(&a, "a%d\n", i);
        buf_printf(&b, "b%d\n", i);
    }
    assert_int_equal(text_diff(&out, "a", a.data, a.size, "b", b.data, b.size), 0);
    assert_non_null(strstr(out.data, "@@ -1,3000 +1,3000 @@"));
    buf_free(&a);
    buf_free(&b);
    buf_free(&out);
}

/* ---- machine and data ---- */

/* The finding about a key, or NULL; "" finds by a part of its sentence. */
static const Finding *find(const Preflight *p, const char *key, const char *part)
{
    for (size_t i = 0; i < p->count; i++)
        if ((!*key || strcmp(p->findings[i].key, key) == 0) && (!*part || strstr(p->findings[i].what, part)))
            return &p->findings[i];
    return NULL;
}

static const PreflightRow *row_of(const Preflight *p, Area area, const char *name)
{
    for (size_t i = 0; i < p->row_count; i++)
        if (p->rows[i].area == area && strcmp(p->rows[i].name, name) == 0)
            return &p->rows[i];
    return NULL;
}

static void examine(Preflight *p, const char *more)
{
    Config cfg;
    Devices devices;
    Log log;
    Err why = {0}, err = {0};
    pipeline_config(&cfg, more);
    log_init(&log, LOG_ERROR);
    int failed = devices_open(&devices, &cfg, &log, &why);
    PreflightOptions o = {.cfg = &cfg,
                          .data = failed ? NULL : devices.data,
                          .model = failed ? NULL : devices.model,
                          .device_error = failed ? &why : NULL,
                          .log = &log};
    assert_int_equal(preflight_run(p, &o, &err), 0);
    for (size_t i = 0; i < p->count; i++)
        assert_true(p->findings[i].what[0] && p->findings[i].why[0]);
    if (!failed)
        devices_close(&devices);
    config_close(&cfg);
}

static void test_a_sound_machine(void **state)
{
    Preflight p = {0};
    examine(&p, "--checkpoint-dir /tmp --resume none --length-buckets 16 --batch-size 4 --model-size "
                "nano");
    for (size_t i = 0; i < p.count; i++)
        if (p.findings[i].severity != FINDING_NOTE &&
            !strstr(p.findings[i].what, "have no sound above")) /* its sounds are tones */
            fail_msg("%s", p.findings[i].what);
    const PreflightRow *padding = row_of(&p, AREA_SHAPES, "padding"),
                       *caches = row_of(&p, AREA_DATA, "caches");
    assert_true(padding && caches && padding->status != STATUS_UNKNOWN);
    assert_string_equal(caches->value, "60 of 60 clips");
    assert_true(row_of(&p, AREA_MEMORY, "device cpu") && row_of(&p, AREA_LIMITS, "open files"));
    preflight_free(&p);
}

static void test_settings_that_hold_a_run_up(void **state)
{
    static const struct {
        const char *option, *key, *value;
    } cases[] = {
        {"--native-loading false", "native_loading", "true"},
        {"--num-workers 0", "num_workers", "auto"},
        {"--num-workers 250", "num_workers", "auto"},
        {"--prefetch-buffer-size 1", "prefetch_buffer_size", "auto"},
        {"--cache-verification off", "cache_verification", "fast"},
        {"--enable-eager-debug true", "enable_eager_debug", "false"},
        {"--model-gpu sim0 --data-gpu sim0 --pin-memory false", "pin_memory", "true"},
        {"--model-gpu sim0 --data-gpu sim0 --prefetch-to-gpu false", "prefetch_to_gpu", "true"},
        {"--model-gpu-memory 4000 --enable-memory-isolation false", "enable_memory_isolation", "true"},
        {"--pad-to-fixed-length true --max-mel-frames 2000", "pad_to_fixed_length", "false"},
        {"--length-buckets 1 --batch-size 4", "length_buckets", NULL},
        {"--batch-size 500", "batch_size", "60"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        Preflight p = {0};
        examine(&p, cases[i].option);
        const Finding *f = find(&p, cases[i].key, "");
        if (!f || f->severity != FINDING_WARNING)
            fail_msg("%s: not found", cases[i].option);
        /* it came from the command line: an advice, nothing for the file */
        assert_null(f->set_value);
        if (cases[i].value && !strstr(f->fix, cases[i].value))
            fail_msg("%s: the fix is %s", cases[i].option, f->fix);
        preflight_free(&p);
    }
}

static void test_devices_and_memory(void **state)
{
    Preflight p = {0};
    examine(&p, "--data-gpu 63 --model-gpu cpu");
    const Finding *f = find(&p, "data_gpu", "GPU 63");
    assert_true(f && f->severity == FINDING_ERROR);
    preflight_free(&p);
    examine(&p, "--sim step_ns=3");
    assert_non_null(find(&p, "sim", "step_ns"));
    preflight_free(&p);
    examine(&p, "--model-gpu sim0 --data-gpu sim0 --model-gpu-memory 30 --data-gpu-memory 30");
    f = find(&p, "batch_size", "needs");
    assert_true(f && f->severity == FINDING_ERROR && f->fix[0]);
    preflight_free(&p);
    examine(&p, "--model-gpu sim0 --data-gpu sim0 --model-gpu-memory 1000000 --model-size nano");
    assert_non_null(find(&p, "model_gpu_memory", "more than device"));
    preflight_free(&p);
}

static void test_data_that_is_not_ready(void **state)
{
    Preflight p = {0};
    char more[700];
    examine(&p, "--data-path /nonexistent-dataset");
    const Finding *f = find(&p, "data_path", "");
    assert_true(f && f->severity == FINDING_ERROR);
    preflight_free(&p);
    snprintf(more, sizeof more, "--cache-dir %s", folder_file(&corpora.folder, "elsewhere"));
    examine(&p, more);
    f = find(&p, "", "no");
    const PreflightRow *row = row_of(&p, AREA_DATA, "caches"), *room = row_of(&p, AREA_STORAGE, "caches");
    assert_true(f && row && strcmp(row->value, "not prepared") == 0 && room && strstr(room->note, "needed"));
    preflight_free(&p);
    examine(&p, "--n-mels 24");
    assert_non_null(find(&p, "", "other settings"));
    preflight_free(&p);
    /* a recording that changed, one that is gone */
    Buf first = file_bytes(clip_file(3)), second = file_bytes(clip_file(4));
    file_put(clip_file(3), first.data, first.size / 2 * 2 - 200);
    unlink(clip_file(4));
    examine(&p, "");
    f = find(&p, "", "out of date");
    assert_true(f && strstr(f->what, "changed recordings: 1") &&
                find(&p, "", "1 line of the metadata has no recording"));
    preflight_free(&p);
    file_put(clip_file(4), second.data, second.size);
    file_put(clip_file(3), first.data, first.size);
    buf_free(&first);
    buf_free(&second);
    prepare_caches("");
}

static void test_places_and_limits(void **state)
{
    Preflight p = {0};
    struct rlimit files, few;
    char more[700];
    snprintf(more, sizeof more, "--checkpoint-dir %s/x", clip_file(0)); /* below a file */
    examine(&p, more);
    const Finding *f = find(&p, "checkpoint_dir", "not a folder");
    assert_true(f && f->severity == FINDING_ERROR);
    preflight_free(&p);
    examine(&p, "--resume /nonexistent.safetensors");
    assert_non_null(find(&p, "resume", "nothing to resume from"));
    preflight_free(&p);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    few = files;
    few.rlim_cur = 64;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    examine(&p, "");
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
    f = find(&p, "", "open files");
    assert_true(f && f->severity == FINDING_ERROR && strstr(f->fix, "ulimit -n"));
    preflight_free(&p);
}

/* Every finding is said in the language that was chosen, but for the words of errors. */
static void test_in_persian(void **state)
{
    static const char *const cases[] = {
        "--native-loading false --num-workers 250 --prefetch-buffer-size 1 --cache-verification off",
        "--enable-eager-debug true --mixed-precision false --enable-memory-mapping false --max-steps 2",
        "--model-gpu sim0 --data-gpu sim0 --pin-memory false --model-gpu-memory 1000000 --num-workers 0",
        "--data-gpu 63 --model-gpu cpu --batch-size 500 --val-split 0 --pad-to-fixed-length true",
        "--cache-dir /proc --batch-size 1 --model-size big --resume /nonexistent.safetensors",
    };
    int count = 0;
    for (size_t i = 0; i < COUNT(cases); i++) {
        Preflight p = {0};
        words_choose(MESSAGES_PERSIAN);
        examine(&p, cases[i]);
        for (int a = 0; a < AREA_COUNT; a++)
            assert_true(words_are_persian(area_title((Area)a)));
        words_choose(MESSAGES_ENGLISH);
        for (size_t k = 0; k < p.count; k++)
            if (!words_are_persian(p.findings[k].what) || !words_are_persian(p.findings[k].why))
                fail_msg("%s: %s", p.findings[k].what, p.findings[k].why);
        for (size_t k = 0; k < p.row_count; k++)
            if (p.rows[k].area != AREA_DEVICES && p.rows[k].note[0] && !words_are_persian(p.rows[k].note))
                fail_msg("%s: %s", p.rows[k].name, p.rows[k].note);
        count += (int)p.count;
        preflight_free(&p);
    }
    assert_true(count > 20);
}

/* ---- the command ---- */

/* Runs `myxtts validate --config FILE MORE --json`; its exit code and its report. */
static int validate(const char *path, const char *more, json_t **report)
{
    char text[2000], *argv[MOST_OPTIONS] = {0}, *save = NULL, name[] = "validate";
    int argc = 0;
    Log log;
    log_init(&log, LOG_ERROR);
    FILE *silent = fopen("/dev/null", "w");
    log.out = silent;
    snprintf(text, sizeof text, "--config %s --json %s", path, more);
    argv[argc++] = name;
    for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save))
        argv[argc++] = w;
    fflush(stdout);
    FILE *out = tmpfile();
    int old = dup(1);
    assert_true(out && old >= 0 && dup2(fileno(out), 1) == 1);
    int code = cmd_validate(argc, argv, &log);
    fflush(stdout);
    dup2(old, 1);
    close(old);
    rewind(out);
    *report = json_loadf(out, 0, NULL);
    fclose(out);
    fclose(silent);
    return code;
}

static json_int_t errors_of(const json_t *report, const char *kind)
{
    return json_integer_value(json_object_get(json_object_get(report, "counts"), kind));
}

static void test_fix_in_place(void **state)
{
    static const char before[] =
        "# mine\r\ndata:\r\n   batch_size : 0 # zero\r\n   native_loading: off\r\nmodel: {use_gst: ture}";
    static const char after[] =
        "# mine\r\ndata:\r\n   batch_size : 32 # zero\r\n   native_loading: true\r\nmodel: {use_gst: true}";
    Folder folder = folder_make();
    char path[300], link[300];
    json_t *report;
    snprintf(path, sizeof path, "%s", folder_file(&folder, "c.yaml"));
    snprintf(link, sizeof link, "%s", folder_file(&folder, "link.yaml"));
    file_put(path, before, strlen(before));
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(validate(path, "--data-gpu cpu --model-gpu cpu --model-size nano", &report), 1);
    assert_int_equal(errors_of(report, "error"), 2);
    assert_int_equal(errors_of(report, "warning"), 1);
    json_decref(report);
    assert_string_equal(folder_names(&folder), "c.yaml ");

    assert_int_equal(
        validate(path, "--fix --strict --data-gpu cpu --model-gpu cpu --model-size nano", &report), 0);
    assert_int_equal(errors_of(report, "error"), 0);
    const char *diff = json_string_value(json_object_get(report, "diff"));
    assert_true(diff && strstr(diff, "-   batch_size : 0 # zero\r\n") &&
                strstr(diff, "+   batch_size : 32 # zero\r\n"));
    json_decref(report);
    Buf now = file_bytes(path), backup = file_bytes(folder_file(&folder, "c.yaml.bak.1"));
    assert_string_equal(now.data, after);
    assert_string_equal(backup.data, before);
    struct stat st;
    assert_true(stat(path, &st) == 0 && (st.st_mode & 0777) == 0640);
    buf_free(&now);
    buf_free(&backup);

    /* nothing to change, no backup */
    assert_int_equal(validate(path, "--fix --data-gpu cpu --model-gpu cpu", &report), 0);
    assert_true(json_is_null(json_object_get(report, "backup")));
    json_decref(report);
    assert_string_equal(folder_names(&folder), "c.yaml c.yaml.bak.1 ");

    /* the next number, and through a link */
    file_put(path, "data:\n  batch_size: 0\n", 22);
    assert_int_equal(symlink(path, link), 0);
    assert_int_equal(validate(link, "--fix --data-gpu cpu --model-gpu cpu", &report), 0);
    json_decref(report);
    assert_int_equal(validate(path, "--data-gpu cpu --model-gpu cpu", &report), 0);
    json_decref(report);
    file_put(path, "data:\n  batch_size: 0\n", 22);
    assert_int_equal(validate(path, "--fix --data-gpu cpu --model-gpu cpu", &report), 0);
    json_decref(report);
    assert_string_equal(folder_names(&folder), "c.yaml c.yaml.bak.1 c.yaml.bak.2 link.yaml link.yaml.bak.1 ");
    assert_true(lstat(link, &st) == 0 && S_ISLNK(st.st_mode));
    folder_remove(&folder);
}

static void test_exit_codes(void **state)
{
    Folder folder = folder_make();
    char path[300];
    json_t *report;
    const char *cpu = "--data-gpu cpu --model-gpu cpu";
    char more[200];
    snprintf(path, sizeof path, "%s", folder_file(&folder, "c.yaml"));
    file_put(path, "data:\n  native_loading: false\n", 30);
    assert_int_equal(validate(path, cpu, &report), 0); /* a warning */
    json_decref(report);
    snprintf(more, sizeof more, "--strict %s", cpu);
    assert_int_equal(validate(path, more, &report), 1);
    json_decref(report);
    file_put(path, "data:\n  language: 77\n", 21); /* only a person knows */
    snprintf(more, sizeof more, "--fix %s", cpu);
    assert_int_equal(validate(path, more, &report), 1);
    assert_int_equal(errors_of(report, "error"), 1);
    json_decref(report);
    assert_string_equal(folder_names(&folder), "c.yaml ");
    assert_int_equal(validate(folder_file(&folder, "none.yaml"), cpu, &report), 2);
    assert_null(report);
    assert_int_equal(validate(path, "--batch-size none", &report), 2);
    assert_null(report);
    /* sound only together with the file */
    file_put(path, "model:\n  n_fft: 4096\n", 21);
    snprintf(more, sizeof more, "--win-length 4000 %s", cpu);
    assert_int_equal(validate(path, more, &report), 0);
    json_decref(report);
    folder_remove(&folder);
}

/* ---- what is not wrong, but worth a word ---- */

static void test_remarks_on_settings(void **state)
{
    static const struct {
        const char *option, *key, *part;
        Severity severity;
    } cases[] = {
        {"--model-size big", "model_size", "million parameters on", FINDING_WARNING},
        {"--batch-size 1", "batch_size", "each batch is a single clip", FINDING_WARNING},
        {"--mixed-precision false", "mixed_precision", "makes no difference without a GPU", FINDING_NOTE},
        {"--enable-graph-mode false", "enable_graph_mode", "makes no difference without a GPU", FINDING_NOTE},
        {"--enable-xla false", "enable_xla", "makes no difference without a GPU", FINDING_NOTE},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        Preflight p = {0};
        if (i == 0 && thread_cores() > 8) /* many cores carry it */
            continue;
        examine(&p, cases[i].option);
        const Finding *f = find(&p, cases[i].key, cases[i].part);
        if (!f || f->severity != cases[i].severity || !*f->fix || f->set_value)
            fail_msg("%s: %s", cases[i].option, f ? f->fix : "nothing is said");
        preflight_free(&p);
        examine(&p, "--model-size nano --batch-size 8");
        assert_null(find(&p, cases[i].key, cases[i].part));
        preflight_free(&p);
    }
}

/* A copy has other dates; prepare reuses all of it. */
static void test_a_copied_dataset(void **state)
{
    Preflight p = {0};
    const struct timespec then[2] = {{.tv_sec = 1e9}, {.tv_sec = 1e9}};
    assert_int_equal(utimensat(AT_FDCWD, clip_file(0), then, 0), 0);
    examine(&p, "--model-size nano");
    assert_null(find(&p, "", "out of date"));
    const Finding *f = find(&p, "", "1 recording has a different date");
    assert_true(f && f->severity == FINDING_NOTE);
    assert_string_equal(row_of(&p, AREA_DATA, "caches")->value, "60 of 60 clips");
    preflight_free(&p);
}

/* MB are those of the caps, 1048576 bytes, wherever they stand. */
static void test_one_megabyte(void **state)
{
    Preflight p = {0};
    assert_string_equal(preflight_bytes(&p, (uint64_t)64 << 20), "64.0 MB");
    assert_string_equal(preflight_bytes(&p, (uint64_t)3 << 29), "1.5 GB");
    preflight_free(&p);
}

/* ---- what was measured ---- */

static void test_remarks(void **state)
{
    static const struct {
        const char *before, *after;
        int rc;
    } cases[] = {
        {"", "data:\n  num_workers: 5  # measured: it helped\n", 0},
        {"data:\n  num_workers: 2   # two cores\r\n  seed: 1\r\n",
         "data:\n  num_workers: 5   # two cores  # measured: it helped\r\n  seed: 1\r\n", 0},
        {"data:\n  num_workers: 2  # measured: 1.1 times\n",
         "data:\n  num_workers: 5  # measured: it helped\n", 0},
        /* No room for a comment. */
        {"{\"data\": {\"num_workers\": 2, \"seed\": 3}}\n", "{\"data\": {\"num_workers\": 5, \"seed\": 3}}\n",
         1},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        Buf text = {0};
        Err err = {0};
        buf_str(&text, cases[i].before);
        assert_int_equal(measured_set(&text, "num_workers", "5", "it helped", &err), cases[i].rc);
        buf_add(&text, "", 1);
        assert_string_equal(text.data, cases[i].after);
        buf_free(&text);
    }
}

/* A machine by chance, as the doctor sees it: which changes would help? */
static void draw_verdict(Verdict *v, Rng *rng)
{
    char sim[300];
    double step = 5 + 15 * rng_uniform(rng), most = 0.3 + 2.2 * rng_uniform(rng);
    snprintf(sim, sizeof sim,
             "read_ms=%.2f,decode_ms=%.2f,h2d_us=%.0f,preprocess_ms=%.2f,peer_us=%.0f,step_ms=%.2f,"
             "jitter=%.2f,seed=%d",
             step * most * rng_uniform(rng), 4 * step * most * rng_uniform(rng),
             1e3 * step * most * rng_uniform(rng), step * most * rng_uniform(rng),
             1e3 * step * most * rng_uniform(rng), step, 0.8 * rng_uniform(rng), (int)rng_below(rng, 1000));
    Machine m = {.sim = sim,
                 .workers = 1 + (int)rng_below(rng, 3),
                 .slots = 2 + (int)rng_below(rng, 3),
                 .most_buffers = 3 + (int)rng_below(rng, 2),
                 .two = 1};
    Observation o;
    Err err = {0};
    make_observation(&o, &m);
    o.cores = thread_cores();
    o.simulated = (int)rng_below(rng, 2);
    o.cpu_share = rng_uniform(rng);
    o.own_copy = (int)rng_below(rng, 2);
    assert_int_equal(doctor_judge(v, &o, &err), 0);
    observation_close(&o);
}

/* What `diagnose --apply` set, `validate --fix` leaves as it is. */
static void test_agreement(void **state)
{
    enum { MACHINES = 200 };
    Folder folder = folder_make();
    char path[PATH_MAX];
    Verdict *v = calloc(1, sizeof *v);
    Rng rng;
    int changes = 0, workers = 0;
    assert_non_null(v);
    rng_seed(&rng, 20261117);
    snprintf(path, sizeof path, "%s", folder_file(&folder, "c.yaml"));
    for (int i = 0; i < MACHINES; i++) {
        draw_verdict(v, &rng);
        Err err = {0};
        Buf text = {0}, left = {0};
        const Gain *set[MOST_GAINS];
        int n = 0;
        for (int k = 0; k < v->gain_count; k++)
            if (v->gains[k].key[0] && strcmp(v->gains[k].key, "data_gpu") != 0 &&
                v->gains[k].predicted > 1.03) {
                set[n++] = &v->gains[k];
                assert_int_equal(measured_set(&text, v->gains[k].key, v->gains[k].value, "it helped", &err),
                                 0);
                workers += strcmp(v->gains[k].key, "num_workers") == 0;
            }
        changes += n;
        if (!n)
            continue;
        file_put(path, text.data, text.size);
        json_t *report = NULL;
        validate(path, "--fix --data-gpu cpu --model-gpu cpu", &report);
        json_decref(report);
        assert_int_equal(file_read(&left, path, 1 << 20, &err), 0);
        for (int k = 0; k < n; k++) {
            char line[120];
            snprintf(line, sizeof line, "%s: %s", set[k]->key, set[k]->value);
            buf_add(&left, "", 1);
            if (!strstr(left.data, line))
                fail_msg("machine %d: %s became\n%s", i, line, left.data);
        }
        buf_free(&text);
        buf_free(&left);
    }
    print_message("%d changes on %d machines, %d of them workers: none was undone\n", changes, MACHINES,
                  workers);
    assert_true(workers > 20);
    free(v);
    folder_remove(&folder);
}

/* Without a remark the same rule holds: as many workers as the doctor may propose are no finding. */
static void test_one_rule_for_workers(void **state)
{
    Folder folder = folder_make();
    char path[PATH_MAX], text[80];
    const int most = config_most_workers(thread_cores(), 0);
    Observation o = {.cores = thread_cores(), .cpu_share = 0.05, .report.workers = 1};
    assert_true(doctor_most_workers(&o) <= most);
    snprintf(path, sizeof path, "%s", folder_file(&folder, "c.yaml"));
    for (int more = 0; more < 2; more++) {
        json_t *report = NULL;
        int n = snprintf(text, sizeof text, "data:\n  num_workers: %d\n", most + more);
        file_put(path, text, (size_t)n);
        validate(path, "--data-gpu cpu --model-gpu cpu", &report);
        char *all = json_dumps(report, 0);
        assert_int_equal(strstr(all, "take turns") != NULL, more);
        free(all);
        json_decref(report);
    }
    folder_remove(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_repairs),
        cmocka_unit_test(test_problems),
        cmocka_unit_test(test_what_cannot_be_repaired),
        cmocka_unit_test(test_what_only_the_user_knows),
        cmocka_unit_test(test_the_command_line_is_not_repaired),
        cmocka_unit_test(test_difference),
        cmocka_unit_test(test_a_sound_machine),
        cmocka_unit_test(test_settings_that_hold_a_run_up),
        cmocka_unit_test(test_devices_and_memory),
        cmocka_unit_test(test_data_that_is_not_ready),
        cmocka_unit_test(test_places_and_limits),
        cmocka_unit_test(test_in_persian),
        cmocka_unit_test(test_fix_in_place),
        cmocka_unit_test(test_exit_codes),
        cmocka_unit_test(test_remarks_on_settings),
        cmocka_unit_test(test_a_copied_dataset),
        cmocka_unit_test(test_one_megabyte),
        cmocka_unit_test(test_remarks),
        cmocka_unit_test(test_agreement),
        cmocka_unit_test(test_one_rule_for_workers),
    };
    return cmocka_run_group_tests(tests, setup_corpora, teardown_corpora);
}
