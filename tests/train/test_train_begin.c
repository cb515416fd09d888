/* test_train_begin.c - what a training begins with: a resume with another network is refused by the name of
 * the setting, with another dataset altogether; one with changed data or another loss says so and begins the
 * best anew; fine-tuning from given weights; folders whose names are no UTF-8; loading without overlap is
 * said. */
#include "support/train_process.h"

#include <math.h>

/* Runs `train`, checks the exit code and that stderr says each text (NULL at the end). */
static void train_says(const Corpus *c, const char *folder, int steps, const char *const *more, int code,
                       const char *const *texts)
{
    Run r;
    train_start(&r, c, folder, steps, 100, more, NULL);
    run_wait(&r, 120);
    if (r.code != code)
        fail_msg("exit code %d where %d was expected: %s", r.code, code, (const char *)r.stderr_text.data);
    for (int i = 0; texts && texts[i]; i++)
        if (!strstr((const char *)r.stderr_text.data, texts[i]))
            fail_msg("\"%s\" is not said: %s", texts[i], (const char *)r.stderr_text.data);
    run_free(&r);
}

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

static double best_loss(const char *file, int64_t *step)
{
    SafeTensors f;
    double best;
    Err err = {0};
    if (safetensors_open(&f, file, &err))
        fail_msg("%s", err.msg);
    memcpy(&best, safetensors_find(&f, "train.best")->data, sizeof best);
    *step = ((const int64_t *)safetensors_find(&f, "train.state")->data)[4];
    safetensors_close(&f);
    return best;
}

/* ---- resuming ---- */

static void another_network_is_refused_by_name(void **state)
{
    static const struct {
        const char *option, *value, *was;
    } changes[] = {{"--use-gst", "false", "use_gst true"},
                   {"--use-voice-conditioning", "false", "use_voice_conditioning true"},
                   {"--gst-num-style-tokens", "5", "gst_num_style_tokens 4"},
                   {"--decoder-dim", "64", "decoder_dim 32"},
                   {"--text-encoder-layers", "2", "text_encoder_layers 1"},
                   {"--audio-encoder-dim", "32", "audio_encoder_dim 16"},
                   {"--speaker-embedding-dim", "16", "speaker_embedding_dim 8"},
                   {"--predictor-dim", "32", "predictor_dim 16"}};
    Corpus *c = *state;
    char folder[256];
    make_voice_corpus(c);
    snprintf(folder, sizeof folder, "%s/run", c->root);
    train_to_end(c, folder, 4, 2, NULL, 0);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        train_says(c, folder, 8, LIST(changes[i].option, changes[i].value), 2,
                   LIST(changes[i].was, "cannot be changed to", changes[i].value));
    assert_int_equal(check_folder(folder), 4);
}

/* What the best was says nothing about losses of another kind, or of other clips. */
static void the_best_begins_anew(void **state)
{
    Corpus *c = *state;
    char folder[256];
    int64_t step;
    make_voice_corpus(c);
    snprintf(folder, sizeof folder, "%s/run", c->root);
    train_says(c, folder, 10, LIST("--val-step", "5"), 0, NULL);
    double before = best_loss(step_file(folder, 10), &step);
    assert_true(before > 0 && before < 100 && step > 0);
    /* The same again: nothing is said, and the best is the same. */
    Run r;
    train_start(&r, c, folder, 11, 100, LIST("--val-step", "100"), NULL);
    run_wait(&r, 120);
    assert_int_equal(r.code, 0);
    assert_null(strstr((const char *)r.stderr_text.data, "a new best"));
    assert_null(strstr((const char *)r.stderr_text.data, "data have changed"));
    run_free(&r);
    assert_true(best_loss(step_file(folder, 11), &step) <= before);
    /* A loss a hundred times as high is the best of its kind. */
    train_says(c, folder, 12, LIST("--mel-loss-weight", "100"), 0,
               LIST("mel_loss_weight was 1 and is 100 now", "a new best is chosen"));
    assert_true(best_loss(step_file(folder, 12), &step) > 5 * before && step == 12);
    train_says(c, folder, 13, LIST("--mel-loss", "huber", "--mel-loss-weight", "100"), 0,
               LIST("mel_loss was l1 and is huber now", "a new best is chosen"));
    best_loss(step_file(folder, 13), &step);
    assert_int_equal(step, 13);
    const char *const huber[] = {"--mel-loss", "huber", "--mel-loss-weight", "100", "--enable-multispeaker",
                                 "false",      NULL};
    train_says(c, folder, 14, huber, 0,
               LIST("the data have changed since", "4 speakers then", "the validation clips have changed",
                    "a new best is chosen"));
    /* One text is another. */
    FILE *f = fopen(path_of(c->data, "metadata.csv"), "wb");
    for (int i = 0; i < c->count; i++)
        fprintf(f, "%s|%s|%s\n", c->clips[i].id, i ? c->clips[i].text : "cold hill",
                i ? c->clips[i].text : "cold hill");
    fclose(f);
    train_says(c, folder, 15, huber, 0, LIST("other ids, texts, recordings or speakers"));
    /* And one clip is gone. */
    f = fopen(path_of(c->data, "metadata.csv"), "wb");
    for (int i = 1; i < c->count; i++)
        fprintf(f, "%s|%s|%s\n", c->clips[i].id, c->clips[i].text, c->clips[i].text);
    fclose(f);
    train_says(c, folder, 16, huber, 0, LIST("the data have changed since"));
}

/* ---- names of folders ---- */

static void paths_of_any_bytes(void **state)
{
    static const char *const names[] = {"caf\xe9 \xff", "control \x01\x7f\xc2\x9f", "quote \" \\ ' %s",
                                        "\xf0\x9f\x98\x80"};
    Corpus *c = *state;
    make_voice_corpus(c);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char folder[256], data[300], text[300];
        Run r;
        snprintf(folder, sizeof folder, "%s/run %s", c->root, names[i]);
        snprintf(data, sizeof data, "%s/data %s", c->root, names[i]);
        snprintf(text, sizeof text, "old hill");
        assert_int_equal(symlink(c->data, data), 0);
        run_program(&r, "train", "--config", path_of(c->root, "voice.yaml"), "--data-path", data,
                    "--cache-dir", c->cache, "--checkpoint-dir", folder, "--max-steps", "2", "--json");
        if (r.code)
            fail_msg("%s: %s", names[i], (const char *)r.stderr_text.data);
        run_free(&r);
        run_program(&r, "synth", "--checkpoint", folder, "--text", text, "--model-gpu", "cpu", "--output",
                    path_of(c->root, "out.wav"));
        if (r.code)
            fail_msg("%s: %s", names[i], (const char *)r.stderr_text.data);
        run_free(&r);
        run_program(&r, "train", "--config", path_of(c->root, "voice.yaml"), "--data-path", data,
                    "--cache-dir", c->cache, "--checkpoint-dir", folder, "--max-steps", "4");
        if (r.code || !strstr((const char *)r.stderr_text.data, "resuming from"))
            fail_msg("%s: %s", names[i], (const char *)r.stderr_text.data);
        run_free(&r);
    }
}

/* ---- fine-tuning ---- */

/* Other recordings, higher, of other speakers, with a letter that the first voice has not seen. */
static void make_other_corpus(Corpus *other, const Corpus *c)
{
    *other = *c;
    snprintf(other->data, sizeof other->data, "%s/other", c->root);
    snprintf(other->cache, sizeof other->cache, "%s/other-cache", c->root);
    assert_int_equal(mkdir(other->data, 0777), 0);
    assert_int_equal(mkdir(path_of(other->data, "wavs"), 0777), 0);
    FILE *f = fopen(path_of(other->data, "metadata.csv"), "wb");
    for (int i = 0; i < 12; i++) {
        char name[32];
        snprintf(name, sizeof name, "wavs/other%02d.wav", i);
        write_wav(path_of(other->data, name), 40 + i, 0.4, 8000, 1);
        fprintf(f, "other%02d|%s hill|%s hill|%s\n", i, i % 2 ? "green" : "fuzzy", i % 2 ? "green" : "fuzzy",
                i % 2 ? "anna" : "zoe");
    }
    fclose(f);
}

static float largest_difference(const char *a, const char *b, const char *name)
{
    SafeTensors x, y;
    Err err = {0};
    float most = 0;
    if (safetensors_open(&x, a, &err) || safetensors_open(&y, b, &err))
        fail_msg("%s", err.msg);
    const TensorView *t = safetensors_find(&x, name), *u = safetensors_find(&y, name);
    assert_true(t && u && t->bytes == u->bytes);
    for (uint64_t i = 0; i < t->bytes / 4; i++)
        most = fmaxf(most, fabsf(((const float *)t->data)[i] - ((const float *)u->data)[i]));
    safetensors_close(&x);
    safetensors_close(&y);
    return most;
}

static void fine_tuning(void **state)
{
    Corpus *c = *state, other;
    char voice[256], folder[256], fresh[256], given[300];
    make_voice_corpus(c);
    make_other_corpus(&other, c);
    snprintf(voice, sizeof voice, "%s/voice", c->root);
    snprintf(folder, sizeof folder, "%s/tuned", c->root);
    snprintf(fresh, sizeof fresh, "%s/fresh", c->root);
    train_to_end(c, voice, 40, 20, NULL, 0);
    snprintf(given, sizeof given, "%s", step_file(voice, 40));
    /* Another seed and rate; step 0, the given weights, their statistics. */
    const char *const small[] = {
        "--init-from", voice,         "--seed", "99", "--learning-rate", "0.000001", "--min-learning-rate",
        "0",           "--val-split", "0",      NULL};
    train_says(&other, folder, 2, small, 0,
               LIST("starting with the weights of", "(step 40 of its run)", "3 of its 4 speakers are not in",
                    "boris, dora", "symbols of these texts are new to it and start from similar symbols"));
    train_to_end(&other, fresh, 2, 1, LIST("--seed", "99", "--val-split", "0"), 0);
    static const char *const names[] = {"text.prior.weight", "decoder.layers.0.qkv.weight",
                                        "voice.style_tokens"};
    for (int i = 0; i < 3; i++) {
        assert_true(largest_difference(given, step_file(folder, 2), names[i]) < 1e-4f);
        assert_true(largest_difference(given, step_file(fresh, 2), names[i]) > 1e-2f);
    }
    assert_true(largest_difference(given, step_file(folder, 2), "mel.mean") == 0);
    assert_true(largest_difference(given, step_file(folder, 2), "mel.deviation") == 0);
    assert_true(largest_difference(given, step_file(fresh, 2), "mel.mean") > 0.01f);
    /* The same command again resumes its own run, with the same statistics. */
    train_says(&other, folder, 4, small, 0, LIST("which is resumed; --init-from is ignored", "resuming"));
    assert_true(largest_difference(given, step_file(folder, 4), "mel.mean") == 0);
    /* What does not go together. */
    train_says(&other, path_of(c->root, "a"), 2, LIST("--init-from", given, "--decoder-dim", "64"), 2,
               LIST("decoder_dim 32, which cannot be changed to 64", "change the setting back"));
    train_says(&other, path_of(c->root, "b"), 2, LIST("--init-from", given, "--add-blank", "true"), 2,
               LIST("add_blank false"));
    train_says(&other, path_of(c->root, "c"), 2, LIST("--init-from", "/nowhere/at/all"), 3,
               LIST("--init-from: cannot open /nowhere/at/all"));
    train_says(&other, path_of(c->root, "d"), 2, LIST("--init-from", given, "--resume", given), 2,
               LIST("init_from", "a run can only start in one way"));
}

/* ---- another dataset ---- */

/* Its texts, one for all clips; of the corpus of make_other_corpus. */
static void say_everywhere(const Corpus *c, const char *text, const char *language)
{
    FILE *f = fopen(path_of(c->data, "metadata.csv"), "wb");
    fprintf(f, "id|text|language\n");
    for (int i = 0; i < 12; i++)
        fprintf(f, "other%02d|%s|%s\n", i, text, language);
    fclose(f);
}

/* Into the folder of a voice: it stays as it is, to the last file. */
static void another_dataset_is_refused(void **state)
{
    Corpus *c = *state, other;
    char folder[256], wav[600];
    Run r;
    make_voice_corpus(c);
    make_other_corpus(&other, c);
    snprintf(folder, sizeof folder, "%s/run", c->root);
    train_to_end(c, folder, 4, 2, NULL, 0);
    say_everywhere(&other, "my cup", "en");
    train_says(
        &other, folder, 8, LIST("--val-split", "0"), 2,
        LIST("was trained on other recordings: none of those in", "--init-from", "another --checkpoint-dir"));
    train_says(&other, folder, 8, LIST("--val-split", "0", "--minutes", "1"), 2, LIST("other recordings"));
    say_everywhere(&other, "old hill", "de");
    train_says(&other, folder, 8, LIST("--val-split", "0"), 2,
               LIST("has a voice that speaks en", "are in de"));
    assert_int_equal(check_folder(folder), 4);
    /* Somebody else reads the same text; under a name of before it is a recording that was mended. */
    say_everywhere(&other, "old hill", "en");
    train_says(&other, folder, 8, LIST("--val-split", "0"), 2, LIST("other recordings"));
    assert_int_equal(check_folder(folder), 4);
    snprintf(wav, sizeof wav, "%s/wavs/%s.wav", other.data, c->clips[0].id);
    assert_int_equal(link(path_of(other.data, "wavs/other00.wav"), wav), 0);
    FILE *f = fopen(path_of(other.data, "metadata.csv"), "ab");
    fprintf(f, "%s|old hill|en\n", c->clips[0].id);
    fclose(f);
    train_says(&other, folder, 8, LIST("--val-split", "0"), 0, LIST("the data have changed since"));
    /* Where nobody names a folder, each dataset has its own. */
    run_program(&r, "config", "--data-path", other.data, "--json");
    if (!strstr((const char *)r.stdout_text.data, "checkpoints/other\""))
        fail_msg("%s", (const char *)r.stdout_text.data);
    run_free(&r);
}

/* It learns faster than from nothing. */
static void fine_tuning_helps(void **state)
{
    Corpus *c = *state, other;
    char voice[256];
    double loss[2];
    make_voice_corpus(c);
    make_other_corpus(&other, c);
    snprintf(voice, sizeof voice, "%s/voice", c->root);
    train_to_end(c, voice, 300, 300, LIST("--epochs", "1000"), 0);
    for (int i = 0; i < 2; i++) {
        Run r;
        train_start(&r, &other, path_of(c->root, i ? "tuned" : "fresh"), 15, 100,
                    LIST("--json", "--val-split", "0", i ? "--init-from" : "--log-step", i ? voice : "5"),
                    NULL);
        run_wait(&r, 120);
        if (r.code)
            fail_msg("%s", (const char *)r.stderr_text.data);
        json_t *o = json_loads((const char *)r.stdout_text.data, 0, NULL);
        loss[i] = json_number_value(json_object_get(o, "loss"));
        json_decref(o);
        run_free(&r);
    }
    print_message("loss after 15 steps: %.3f from nothing, %.3f from a voice\n", loss[0], loss[1]);
    assert_true(loss[1] < loss[0]);
}

/* ---- settings that cost time ---- */

static void no_overlap_is_said(void **state)
{
    Corpus *c = *state;
    Run r;
    make_voice_corpus(c);
    train_says(c, path_of(c->root, "slow"), 1, LIST("--native-loading", "false"), 0,
               LIST("warning: native_loading is off", "--native-loading true"));
    train_start(&r, c, path_of(c->root, "fast"), 1, 100, NULL, NULL);
    run_wait(&r, 120);
    assert_int_equal(r.code, 0);
    assert_null(strstr((const char *)r.stderr_text.data, "native_loading is off"));
    run_free(&r);
}

/* ---- how long ---- */

/* All clips are one batch: the 1,000 epochs of the default are 1,000 steps. */
static void a_time_is_not_cut_short_by_epochs(void **state)
{
    Corpus *c = *state;
    make_voice_corpus(c);
    const char *folder = path_of(c->root, "run");
    train_to_end(c, folder, 1040, 1040, LIST("--minutes", "10", "--batch-size", "32", "--val-split", "0"), 0);
    assert_int_equal(check_folder(folder), 1040);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(another_network_is_refused_by_name),
        T(the_best_begins_anew),
        T(paths_of_any_bytes),
        T(fine_tuning),
        T(another_dataset_is_refused),
        T(fine_tuning_helps),
        T(no_overlap_is_said),
        T(a_time_is_not_cut_short_by_epochs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
