/* test_prepare_audio.c - the audio cache: its samples are those that the mels were computed from, it rejects
 * the same clips, and it is built, verified, resumed and pruned like the other caches. */
#include "support/prepare_testing.h"

#include "audio/mel.h"
#include "config/config.h"
#include "support/wav_testing.h"

#define RATE 22050
#define CLIPS 6

#define expect_samples(c, want, ...) \
    do { \
        json_t *built_ = prepare(c, 0, "--stages", "audio", __VA_ARGS__); \
        check_number(built_, want, "audio", "built"); \
        json_decref(built_); \
    } while (0)

/* A file of floats: a tone of this height. nan: with one sample that is no number. */
static void write_floats(const char *path, float height, int nan)
{
    enum { N = RATE / 2 };
    static uint8_t file[44 + 4 * N];
    put_wav_header(file, 3, 1, RATE, 32, 4 * N);
    for (int i = 0; i < N; i++) {
        float x = nan && i == N / 2 ? NAN : height * (float)(sin(0.05 * i) * 0.8 + 0.2 * sin(0.31 * i));
        memcpy(file + 44 + 4 * i, &x, 4);
    }
    file_put(path, file, sizeof file);
}

typedef struct Stores {
    Config cfg;
    Store mel, audio;
    MelPlan *plan;
    MelScratch *scratch;
} Stores;

static void open_stores(Stores *s, const char *cache)
{
    Err err = {0};
    *s = (Stores){0};
    assert_int_equal(config_load(&s->cfg, NULL, 0, NULL, &err), 0);
    assert_int_equal(store_open(&s->mel, cache, MEL_STORE, &err), 0);
    assert_int_equal(store_open(&s->audio, cache, AUDIO_STORE, &err), 0);
    assert_int_equal(mel_plan_open(&s->plan, &s->cfg, &err), 0);
    assert_int_equal(mel_scratch_open(&s->scratch, s->plan, &err), 0);
}

static void close_stores(Stores *s)
{
    mel_scratch_close(s->scratch);
    mel_plan_close(s->plan);
    store_close(&s->mel);
    store_close(&s->audio);
    config_close(&s->cfg);
}

/* The greatest difference between the magnitudes of the clip's mel in the cache and of the mel of its samples
 * in the audio cache. */
static double mel_distance(const Stores *s, const char *id)
{
    uint32_t n = (uint32_t)strlen(id);
    int64_t m = store_find(&s->mel, id, n), a = store_find(&s->audio, id, n);
    assert_true(m >= 0 && a >= 0);
    StoreEntry mel_entry, audio_entry;
    MelView mel;
    AudioView audio;
    store_entry(&s->mel, (uint64_t)m, &mel_entry);
    store_entry(&s->audio, (uint64_t)a, &audio_entry);
    assert_int_equal(mel_view(&mel, &mel_entry), 0);
    assert_int_equal(audio_view(&audio, &audio_entry), 0);
    assert_int_equal(mel_frames(s->plan, audio.count), mel.frames);
    assert_int_equal(mel_frames_with(&s->cfg, audio.count), mel.frames);
    assert_float_equal(audio.source_seconds, mel.source_seconds, 0);
    float *samples = mem_calloc(audio.count, sizeof *samples);
    float *out = mem_calloc((size_t)mel.frames * mel.bands, sizeof *out);
    assert_true(samples && out);
    audio_samples(samples, audio.data, audio.scale, audio.count);
    mel_compute(s->plan, s->scratch, out, samples, audio.count);
    double worst = 0;
    for (size_t i = 0; i < (size_t)mel.frames * mel.bands; i++) {
        double d = fabs(exp(out[i]) - exp(((const float *)mel.data)[i]));
        worst = d > worst ? d : worst;
    }
    free(samples);
    free(out);
    return worst;
}

/* Rounding to 16 bits adds noise of 1 / sqrt(12) steps. In a magnitude of this window, whose squares add up
 * to 384, that is sqrt(384 / 12) steps, in a band times the sum of its weights, about 0.05; six times as much
 * does not occur among this many frames. */
static void mels_are_those_of_the_samples(void **state)
{
    Corpus *c = *state;
    const double most = 6 * sqrt(384.0 / 12) / 32768 * 0.05;
    corpus_fill(c, CLIPS, 0.6);
    write_wav(clip_path(c, 1), 1, 0.6, 44100, 1);
    write_wav(clip_path(c, 2), 2, 0.6, 16000, 2);
    write_floats(clip_path(c, 3), 0.9f, 0);
    json_t *o = prepare(c, 0, "--stages", "mel,audio");
    check_number(o, CLIPS, "mel", "built");
    check_number(o, CLIPS, "audio", "built");
    check_number(o, 0, "text", "built");
    json_decref(o);
    Stores s;
    open_stores(&s, c->cache);
    for (int i = 0; i < CLIPS; i++) {
        double d = mel_distance(&s, c->clips[i].id);
        if (!(d > 0 && d < most))
            fail_msg("%s: the mels are %g apart, at most %g are explained", c->clips[i].id, d, most);
    }
    close_stores(&s);
}

/* A file of 16 bits that needs no change comes through bit by bit; one that is louder than full scale keeps
 * its shape. */
static void loud_and_plain_clips_keep_their_shape(void **state)
{
    Corpus *c = *state;
    corpus_fill(c, 3, 0.4);
    write_floats(clip_path(c, 1), 3.0f, 0);
    write_floats(clip_path(c, 2), 1.0f, 0);
    json_decref(prepare(c, 0, "--stages", "mel,audio", "--trim-silence", "false",
                        "--enable-loudness-normalization", "false"));
    Stores s;
    open_stores(&s, c->cache);
    assert_float_equal(mel_distance(&s, c->clips[0].id), 0, 0);
    double loud = mel_distance(&s, c->clips[1].id);
    assert_true(loud > 0 && loud < 3 * 6 * sqrt(384.0 / 12) / 32768 * 0.05);
    close_stores(&s);
    json_t *o = prepare(c, 0, "--stages", "audio", "--trim-silence", "false",
                        "--enable-loudness-normalization", "false");
    check_number(o, 0, "audio", "built");
    json_decref(o);
}

/* What is left out, and why, does not depend on the cache that is built. */
static void the_same_clips_are_rejected(void **state)
{
    Corpus *c = *state;
    corpus_fill(c, 10, 0.5);
    write_floats(clip_path(c, 1), 0, 0); /* silent */
    write_floats(clip_path(c, 2), 0.5f, 1);
    file_put(clip_path(c, 3), "no sound", 8);
    unlink(clip_path(c, 4));
    write_wav(clip_path(c, 5), 5, 0.05, RATE, 1); /* below min_audio_length */
    write_wav(clip_path(c, 6), 6, 1.8, RATE, 1);  /* above max_mel_frames */
    write_wav(clip_path(c, 7), 7, 2.5, RATE, 1);  /* above max_audio_length */
    char mel[256], audio[256];
    snprintf(mel, sizeof mel, "%s/mel", c->root);
    snprintf(audio, sizeof audio, "%s/audio", c->root);
    for (int i = 0; i < 2; i++) { /* the second time from what was stored */
        json_t *m = prepare_with(c, mel, 0,
                                 (const char *const[]){"--stages", "mel", "--max-mel-frames", "90",
                                                       "--max-audio-length", "2", NULL});
        json_t *a = prepare_with(c, audio, 0,
                                 (const char *const[]){"--stages", "audio", "--max-mel-frames", "90",
                                                       "--max-audio-length", "2", NULL});
        check_number(a, 3, "accepted", NULL);
        check_number(a, 7, "rejected", NULL);
        static const char *const same[] = {"reasons",    "accepted",      "rejected",
                                           "mel_frames", "audio_seconds", "limits"};
        for (size_t k = 0; k < sizeof same / sizeof *same; k++)
            if (!json_equal(json_object_get(m, same[k]), json_object_get(a, same[k])))
                fail_msg("%s differs", same[k]);
        check_number(a, i ? 0 : 4, "audio", "built"); /* with the one that has too many frames */
        json_decref(m);
        json_decref(a);
        Buf x = file_bytes(path_of(mel, "rejected.tsv")), y = file_bytes(path_of(audio, "rejected.tsv"));
        assert_string_equal(x.data, y.data);
        buf_free(&x);
        buf_free(&y);
    }
}

/* A square wave whose samples are all at full scale, or a tone whose peaks are cut off. */
static void write_clipped(const char *path, int square)
{
    enum { N = RATE };
    static int16_t x[N];
    static uint8_t file[44 + 2 * N];
    for (int i = 0; i < N; i++) {
        double y = 60000 * sin(0.05 * i);
        x[i] = (int16_t)(y > 32767 || (square && y > 0) ? 32767 : y < -32768 || square ? -32768 : y);
    }
    put_wav_header(file, 1, 1, RATE, 16, 2 * N);
    memcpy(file + 44, x, sizeof x);
    file_put(path, file, sizeof file);
}

/* They are used, and it is said how many they are, also when the samples come from the store, resampled or
 * not. */
static void clipped_recordings_are_counted(void **state)
{
    Corpus *c = *state;
    corpus_fill(c, CLIPS, 1);
    write_clipped(clip_path(c, 1), 1);
    write_clipped(clip_path(c, 2), 1);
    write_clipped(clip_path(c, 4), 0);
    static const char *const stages[] = {"audio", "mel", "audio", "mel,audio"};
    for (int i = 0; i < 4; i++) {
        json_t *o = prepare(c, 0, "--stages", stages[i], "--sample-rate", i < 2 ? "22050" : "16000");
        check_number(o, CLIPS, "accepted", NULL);
        check_number(o, 3, "clipped_clips", NULL);
        /* 32767 / 60000 is passed for 64 % of the time. */
        double share = json_real_value(json_object_get(o, "clipped_samples"));
        if (!(share > 0.85 && share < 0.91))
            fail_msg("%s: %.3f of the samples are said to be clipped, not (1 + 1 + 0.64) / 3", stages[i],
                     share);
        assert_true(fabs(json_real_value(json_object_get(o, "audio_seconds")) - CLIPS) < 0.1);
        json_decref(o);
    }
    Run r;
    assert_int_equal(
        run_program(&r, "prepare", "--data-path", c->data, "--cache-dir", c->cache, "--stages", "audio"), 1);
    assert_non_null(strstr(r.stdout_text.data, "3 of 6 clips are clipped: "));
    run_free(&r);
}

/* A few steps of a small vocoder; code: what the program ends with. said: a sentence of it. */
static void train_vocoder(const Corpus *c, const char *run, int code, const char *said, double losses[2])
{
    Run r;
    int got = run_program(&r, "train", "--network", "vocoder", "--vocoder-dim", "16", "--vocoder-layers", "1",
                          "--data-path", c->data, "--cache-dir", c->cache, "--checkpoint-dir", run,
                          "--batch-size", "4", "--max-steps", "6", "--warmup-steps", "1", "--val-split",
                          "0.4", "--save-step", "2", "--model-gpu", "cpu", "--data-gpu", "cpu", "--json");
    if (got != code || !strstr(r.stderr_text.data, said))
        fail_msg("exit code %d, not %d with \"%s\": %s", got, code, said,
                 r.stderr_text.size > 600 ? (char *)r.stderr_text.data + r.stderr_text.size - 600
                                          : (char *)r.stderr_text.data);
    if (!code) {
        json_t *o = json_loads(r.stdout_text.data, 0, NULL);
        losses[0] = json_real_value(json_object_get(o, "loss"));
        losses[1] = json_real_value(json_object_get(o, "validation_loss"));
        json_decref(o);
    }
    run_free(&r);
}

/* Clipped recordings are learned from with a warning, silent ones are left out; where nothing else is left,
 * that is said, and neither caches nor checkpoints are touched. */
static void a_vocoder_learns_from_what_is_usable(void **state)
{
    Corpus *c = *state;
    char run[192];
    snprintf(run, sizeof run, "%s/run", c->root);
    double losses[2] = {0};
    corpus_fill(c, 8, 1);
    for (int i = 0; i < 8; i++)
        write_clipped(clip_path(c, i), 1);
    train_vocoder(c, run, 0, "warning: 8 of 8 clips are clipped: ", losses);
    assert_true(losses[0] > 0 && isfinite(losses[0]) && losses[1] > 0 && isfinite(losses[1]));
    for (int i = 0; i < 8; i++) {
        write_wav(clip_path(c, i), i, 1, RATE, 1);
        if (i % 3 == 0)
            write_floats(clip_path(c, i), 0, 0);
    }
    train_vocoder(c, path_of(c->root, "rest"), 0, "data: 5 clips (5 built now, 3 lines rejected", losses);
    assert_true(losses[0] > 0 && isfinite(losses[0]));
    copy_folder(run, path_of(c->root, "run.before"));
    for (int i = 0; i < 8; i++)
        write_floats(clip_path(c, i), 0, 0);
    train_vocoder(c, run, 3, "can be used: the audio is silent throughout: the loudest 1024 samples", losses);
    /* That it was tried is in the log; nothing else has changed. */
    Buf log = file_bytes(path_of(run, "log.jsonl"));
    file_put(path_of(c->root, "run.before/log.jsonl"), log.data, log.size);
    buf_free(&log);
    assert_same_folders(run, path_of(c->root, "run.before"));
    Run r;
    assert_int_equal(
        run_program(&r, "prepare", "--data-path", c->data, "--cache-dir", c->cache, "--stages", "audio"), 3);
    assert_non_null(strstr(r.stderr_text.data, "rejected.tsv lists the lines"));
    run_free(&r);
    /* The recordings are back, and so is the run. */
    for (int i = 0; i < 8; i++)
        write_clipped(clip_path(c, i), 1);
    train_vocoder(c, run, 0, "8 of 8 clips", losses);
}

static void only_what_changes_samples_builds_them(void **state)
{
    Corpus *c = *state;
    corpus_fill(c, CLIPS, 0.3);
    expect_samples(c, CLIPS, "--num-workers", "2");
    expect_samples(c, 0, "--num-workers", "0");
    static const char *const idle[][2] = {
        {"--n-mels", "64"},       {"--mel-fmax", "7000"},       {"--win-length", "800"},
        {"--add-blank", "false"}, {"--mel-storage", "float16"}, {"--max-mel-frames", "500"},
    };
    for (size_t i = 0; i < sizeof idle / sizeof *idle; i++)
        expect_samples(c, 0, idle[i][0], idle[i][1]);
    static const char *const others[][2] = {{"--sample-rate", "16000"},
                                            {"--trim-top-db", "30"},
                                            {"--trim-silence", "false"},
                                            {"--target-loudness-lufs", "-20"},
                                            {"--enable-loudness-normalization", "false"}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        expect_samples(c, CLIPS, others[i][0], others[i][1]);
    expect_samples(c, 0, "--num-workers", "2"); /* nothing was replaced */
    write_wav(clip_path(c, 2), 9, 0.4, RATE, 1);
    expect_samples(c, 1, "--num-workers", "2");
    json_t *o = prepare(c, 0, "--stages", "audio", "--prune");
    assert_int_equal(json_array_size(json_object_get(o, "caches")), 1);
    assert_true(json_integer_value(json_object_get(o, "freed_bytes")) > 1000);
    json_decref(o);
    expect_samples(c, 0, "--num-workers", "2");
    /* What a voice needs does not touch the samples, and does not prune them. */
    o = prepare(c, 0, "--prune");
    check_number(o, CLIPS, "mel", "built");
    check_number(o, 0, "audio", "built");
    assert_int_equal(json_array_size(json_object_get(o, "caches")), 3);
    json_decref(o);
    expect_samples(c, 0, "--num-workers", "2");
}

/* A flipped byte of a record, and an index that is gone. */
static void damage_is_found_and_mended(void **state)
{
    Corpus *c = *state;
    corpus_fill(c, CLIPS, 0.3);
    expect_samples(c, CLIPS, "--num-workers", "1");
    copy_folder(c->cache, path_of(c->root, "whole"));
    Buf segment = file_bytes(path_of(c->cache, "audio-0001.seg"));
    segment.data[segment.size / 2] ^= 4;
    file_put(path_of(c->cache, "audio-0001.seg"), segment.data, segment.size);
    buf_free(&segment);
    json_t *o = prepare(c, 1, "--stages", "audio", "--verify");
    check_number(o, 1, "audio", "damaged");
    check_number(o, 1, "audio", "built");
    check_number(o, CLIPS, "audio", "checked");
    json_decref(o);
    o = prepare(c, 0, "--stages", "audio", "--verify");
    check_number(o, 0, "audio", "damaged");
    json_decref(o);
    assert_int_equal(unlink(path_of(c->cache, "audio.index")), 0);
    expect_samples(c, 0, "--num-workers", "1"); /* the records are found in the segment */
}

static void inspect_shows_samples(void **state)
{
    Corpus *c = *state;
    corpus_fill(c, 2, 0.4);
    expect_samples(c, 2, "--trim-silence", "false");
    Run r;
    assert_int_equal(run_program(&r, "inspect", c->cache, "--utterance", c->clips[1].id, "--json"), 0);
    json_t *o = json_loads(r.stdout_text.data, 0, NULL), *audio = json_object_get(o, "audio");
    assert_non_null(audio);
    check_number(audio, 2, "utterances", NULL);
    check_number(audio, RATE, "information", "sample_rate");
    check_number(audio, (int)(0.41 * RATE + 0.5), "utterance", "samples");
    double peak = json_real_value(json_object_get(json_object_get(audio, "utterance"), "peak"));
    assert_true(peak > 0.01 && peak <= 1);
    json_decref(o);
    run_free(&r);
}

static void stages_are_words_with_commas(void **state)
{
    Corpus *c = *state;
    corpus_fill(c, 2, 0.3);
    static const char *const wrong[] = {"audio,", "", "sound", "audio,mels", "audio mel"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        Run r;
        assert_int_equal(run_program(&r, "prepare", "--data-path", c->data, "--stages", wrong[i]), 2);
        assert_non_null(strstr(r.stderr_text.data, "text, mel, audio or all"));
        run_free(&r);
    }
    json_t *o = prepare(c, 0, "--stages", "all,audio");
    check_number(o, 2, "text", "built");
    check_number(o, 2, "mel", "built");
    check_number(o, 2, "audio", "built");
    json_decref(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(mels_are_those_of_the_samples),        T(loud_and_plain_clips_keep_their_shape),
        T(the_same_clips_are_rejected),          T(clipped_recordings_are_counted),
        T(a_vocoder_learns_from_what_is_usable), T(only_what_changes_samples_builds_them),
        T(damage_is_found_and_mended),           T(inspect_shows_samples),
        T(stages_are_words_with_commas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
