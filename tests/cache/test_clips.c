/* test_clips.c - from recordings to a voice on the four clips of tests/data: what `prepare` stores of them
 * beside librosa's mels and phonemizer's phonemes, a training of a few steps twice, a sentence spoken. */
#include "support/train_process.h"

#include "base/npy.h"
#include "dataset/audio_file.h"
#include "voice/safetensors.h"

#define CLIPS "tests/data/ljspeech"
#define COUNT 4

static void prepare_clips(const Corpus *c)
{
    Run r;
    if (run_program(&r, "prepare", "--data-path", CLIPS, "--cache-dir", c->cache, "--no-trim-silence",
                    "--disable-loudness-normalization", "--num-workers", "1"))
        fail_msg("%s", r.stderr_text.data);
    run_free(&r);
}

/* The phonemes of an id in the golden file; NULL: the last line was read. */
static char *golden_phonemes(char *line, size_t size, const char *id)
{
    FILE *f = fopen("tests/golden/phonemes_en.tsv", "r");
    assert_non_null(f);
    char *found = NULL;
    while (!found && fgets(line, (int)size, f)) {
        size_t n = strlen(id);
        if (strncmp(line, id, n) == 0 && line[n] == '\t')
            found = strchr(line + n + 1, '\t') + 1;
    }
    fclose(f);
    if (found)
        found[strcspn(found, "\n")] = 0;
    return found;
}

static void caches_hold_what_librosa_and_phonemizer_say(void **state)
{
    Corpus *c = *state;
    Err err = {0};
    Store text, mel;
    prepare_clips(c);
    assert_int_equal(store_open(&text, c->cache, TEXT_STORE, &err), 0);
    assert_int_equal(store_open(&mel, c->cache, MEL_STORE, &err), 0);
    assert_int_equal(text.count, COUNT);
    assert_int_equal(mel.count, COUNT);
    float *golden;
    int64_t rows, cols, row = 0;
    assert_int_equal(npy_read("tests/golden/mel_clips.npy", &golden, &rows, &cols, &err), 0);
    double worst = 0;
    for (uint64_t i = 0; i < COUNT; i++) { /* the order of the metadata is that of the golden rows */
        StoreEntry e;
        TextView t;
        MelView m;
        char id[64], line[1000];
        store_entry(&text, i, &e);
        assert_int_equal(text_view(&t, &e), 0);
        snprintf(id, sizeof id, "%.*s", (int)e.id_size, e.id);
        const char *want = golden_phonemes(line, sizeof line, id);
        assert_non_null(want);
        if (strlen(want) != t.phonemes_size || memcmp(want, t.phonemes, t.phonemes_size) != 0)
            fail_msg("%s: '%.*s', phonemizer says '%s'", id, (int)t.phonemes_size, t.phonemes, want);
        assert_int_equal(t.unknown_count, 0);
        store_entry(&mel, i, &e);
        assert_int_equal(mel_view(&m, &e), 0);
        assert_int_equal(m.bands, cols);
        assert_int_equal(m.storage, STORE_FLOAT32);
        for (uint32_t f = 0; f < m.frames; f += 4, row++) {
            assert_true(row < rows);
            for (uint32_t b = 0; b < m.bands; b++) {
                float stored = ((const float *)m.data)[(size_t)f * m.bands + b];
                worst = fmax(worst, fabs((double)stored - (double)golden[row * cols + b]));
            }
        }
    }
    assert_int_equal(row, rows);
    print_message("%lld frames: log mel within %.2g of librosa's\n", (long long)rows, worst);
    assert_true(worst < 1e-5);
    free(golden);
    store_close(&text);
    store_close(&mel);
}

static void train_clips(const Corpus *c, const char *folder)
{
    Run r;
    if (run_program(&r, "train", "--data-path", CLIPS, "--cache-dir", c->cache, "--checkpoint-dir", folder,
                    "--no-trim-silence", "--disable-loudness-normalization", "--model-size", "nano",
                    "--model-gpu", "cpu", "--data-gpu", "cpu", "--val-split", "0.3", "--batch-size", "2",
                    "--max-steps", "20", "--log-step", "5", "--listen-clips", "0"))
        fail_msg("%s", r.stderr_text.data);
    run_free(&r);
}

/* A copy of a checkpoint, without the checksum, in which one number of a tensor is not finite. */
static void poison(const char *to, const char *from, const char *tensor, float number)
{
    Buf b = file_bytes(from);
    SafeTensors file;
    Err err = {0};
    assert_int_equal(safetensors_open(&file, from, &err), 0);
    const TensorView *t = safetensors_find(&file, tensor);
    assert_non_null(t);
    char *at = memmem(b.data, b.size, t->data, t->bytes);
    assert_non_null(at);
    memcpy(at + t->bytes / 2 / 4 * 4, &number, sizeof number);
    static const char *const own[] = {"\"xxh128\"", "\"written_by\""};
    for (int i = 0; i < 2; i++) {
        char *key = memmem(b.data, b.size, own[i], strlen(own[i]));
        assert_non_null(key);
        key[1] = 'X';
    }
    file_put(to, b.data, b.size);
    safetensors_close(&file);
    buf_free(&b);
}

/* Silence with exit code 0 is what came of it. */
static void check_damaged_weights(const Corpus *c, const char *folder)
{
    static const struct {
        const char *tensor;
        float number;
    } cases[] = {{"text.symbols", NAN}, {"decoder.layers.0.qkv.bias", INFINITY}, {"mel.deviation", NAN}};
    char path[300], output[300];
    snprintf(path, sizeof path, "%s/damaged.safetensors", c->root);
    snprintf(output, sizeof output, "%s/damaged.wav", c->root);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Run r;
        poison(path, step_file(folder, 20), cases[i].tensor, cases[i].number);
        assert_int_equal(
            run_program(&r, "synth", "--checkpoint", path, "--text", "In modern form.", "--output", output),
            3);
        if (!strstr(r.stderr_text.data, cases[i].tensor) || !strstr(r.stderr_text.data, "damaged"))
            fail_msg("%s", r.stderr_text.data);
        assert_false(file_exists(output));
        run_free(&r);
    }
}

/* A resume that the settings rule out is refused before the caches are built for them. */
static void check_refused_resume(const Corpus *c, const char *folder)
{
    Run r;
    int code =
        run_program(&r, "train", "--data-path", CLIPS, "--cache-dir", c->cache, "--checkpoint-dir", folder,
                    "--hop-length", "200", "--model-size", "nano", "--model-gpu", "cpu", "--data-gpu", "cpu",
                    "--val-split", "0.3", "--batch-size", "2", "--max-steps", "30");
    if (code != 2 || !strstr(r.stderr_text.data, "hop_length"))
        fail_msg("exit code %d: %s", code, r.stderr_text.data);
    run_free(&r);
    DIR *d = opendir(c->cache);
    assert_non_null(d);
    for (struct dirent *f; (f = readdir(d)) != NULL;)
        if (strncmp(f->d_name, "mel-", 4) == 0 && strcmp(f->d_name, "mel-0001.seg") != 0)
            fail_msg("%s was made for a run that was refused", f->d_name);
    closedir(d);
}

/* The same seed gives the same bits; the loss falls; the voice speaks. */
static void training_learns_and_speaks(void **state)
{
    Corpus *c = *state;
    char one[256], two[256], path[300];
    snprintf(one, sizeof one, "%s/one", c->root);
    snprintf(two, sizeof two, "%s/two", c->root);
    snprintf(path, sizeof path, "%s/spoken.wav", c->root);
    prepare_clips(c);
    train_clips(c, one);
    train_clips(c, two);
    assert_int_equal(check_folder(one), 20);
    assert_true(compare_checkpoints(step_file(one, 20), step_file(two, 20), NULL) > 20);
    Err err = {0};
    Buf log = {0};
    assert_int_equal(file_read(&log, path_of(one, "log.jsonl"), 1 << 20, &err), 0);
    double first = NAN, last = NAN;
    for (char *line = strtok(log.data, "\n"); line; line = strtok(NULL, "\n")) {
        json_t *o = json_loads(line, 0, NULL);
        if (strcmp(json_string_value(json_object_get(o, "event")), "step") == 0) {
            last = json_number_value(json_object_get(o, "mel"));
            if (isnan(first))
                first = last;
        }
        json_decref(o);
    }
    buf_free(&log);
    print_message("mel loss %.3f, then %.3f\n", first, last);
    assert_true(last < first);
    Run r;
    if (run_program(&r, "synth", "--checkpoint", one, "--text", "In modern form.", "--output", path))
        fail_msg("%s", r.stderr_text.data);
    run_free(&r);
    Buf wav = file_bytes(path);
    AudioBuffer audio = {0};
    char detail[256];
    assert_int_equal(audio_decode(&audio, wav.data, wav.size, path, 0, detail, sizeof detail), REJECT_NONE);
    assert_true(audio.frames > audio.rate / 4);
    audio_buffer_free(&audio);
    buf_free(&wav);
    check_damaged_weights(c, one);
    check_refused_resume(c, one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(caches_hold_what_librosa_and_phonemizer_say),
        T(training_learns_and_speaks),
    };
    return cmocka_run_group_tests_name("clips", tests, NULL, NULL);
}
