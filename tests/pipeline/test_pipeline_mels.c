/* test_pipeline_mels.c - segments that bring the mels a voice made of their clips: samples and mel are cut at
 * the same frame, whoever loads them. The mels of these tests count their frames. */
#include "support/pipeline_testing.h"

#include "audio/mel.h"
#include "cache/half.h"
#include "cache/mel_features.h"
#include "pipeline/policy.h"

#define VOCODER "--network vocoder --vocoder-segment-frames 21 "
#define HALVES "--mel-storage float16 "
#define HOP 256
#define SEGMENT (20 * HOP)
#define MOST_BATCHES 1024
#define WITHOUT 7 /* the clip of which there is no mel */
#define OTHER 11  /* the clip whose mel has another number of frames */

static const Hash128 floats = {1, 2}, halves = {3, 4};

/* The mel of every clip: its frame number in the first band, the clip's number in the others. */
static void write_mels(const char *more, Hash128 settings)
{
    Config cfg;
    Err err = {0};
    Store audio;
    StoreBuild *build;
    pipeline_config(&cfg, more);
    char *place = cache_place(corpora.cache, PREDICTED_STORE, settings);
    assert_int_equal(file_make_dirs(place, &err), 0);
    if (store_open(&audio, corpora.cache, AUDIO_STORE, &err) ||
        store_build_open(&build, place, PREDICTED_STORE, NULL, settings, 1, &err))
        fail_msg("%s", err.msg);
    for (uint64_t i = 0; i < audio.count; i++) {
        StoreEntry e;
        Buf payload = {0};
        store_entry(&audio, i, &e);
        const int bands = cfg.n_mels;
        const int64_t frames = mel_frames_with(&cfg, e.items) + (i == OTHER);
        float *mel = mem_calloc((size_t)(frames * bands), sizeof *mel);
        float *pitch = mem_calloc((size_t)frames, sizeof *pitch);
        for (int64_t k = 0; k < frames * bands; k++)
            mel[k] = (float)(k % bands ? (int64_t)i : k / bands);
        assert_int_equal(mel_encode_payload(&payload, mel, pitch, frames, bands, cfg.mel_storage), 0);
        StoreRecord r = {.id = e.id,
                         .id_size = e.id_size,
                         .key = {i, 9},
                         .items = (uint32_t)frames,
                         .format = mel_format(cfg.mel_storage, bands),
                         .payload = payload.data,
                         .payload_size = payload.size};
        if (i != WITHOUT)
            assert_int_equal(store_build_add(build, &r, &err), 0);
        buf_free(&payload);
        free(pitch);
        free(mel);
    }
    assert_int_equal(store_build_commit(build, "test", 4, 0, &err), 0);
    store_build_close(build);
    store_close(&audio);
    free(place);
    config_close(&cfg);
}

static int setup(void **state)
{
    setup_corpora(state);
    prepare_samples(VOCODER);
    write_mels(VOCODER, floats);
    write_mels(VOCODER HALVES, halves);
    return 0;
}

/* The first frame of a row says where the segment begins; all else follows. Returns 1 if the clip is shorter
 * than the segment. */
static int check_row(const Run *r, int row)
{
    const BatchLayout *l = &r->batch.layout;
    const int bands = r->cfg.n_mels, frames = r->batch.info.frames;
    const int32_t utterance = batch_ints(r, l->utterance)[row];
    const Utterance *u = &r->corpus.dataset.utterances[utterance];
    const float *mel = batch_mel(r, row);
    const float *x = (const float *)(const void *)(r->host + l->samples) + (size_t)row * SEGMENT;
    const int64_t first = (int64_t)mel[0];
    StoreEntry e;
    AudioView v;
    store_entry(&r->corpus.audio, (uint64_t)store_find(&r->corpus.audio, u->id.p, u->id.n), &e);
    assert_int_equal(audio_view(&v, &e), 0);
    const int64_t all = mel_frames_with(&r->cfg, v.count);
    assert_true(utterance != WITHOUT && utterance != OTHER);
    assert_int_equal(batch_ints(r, l->mel_length)[row], frames);
    assert_int_equal(batch_ints(r, l->sample_length)[row], SEGMENT);
    assert_true(first >= 0 && (first == 0 || first + frames <= all));
    float silence = MEL_LOG_FLOOR;
    if (r->cfg.mel_storage == STORE_FLOAT16) {
        uint16_t half;
        half_from_float(&half, &silence, 1);
        half_to_float(&silence, &half, 1);
    }
    for (int t = 0; t < frames; t++) {
        const int there = first + t < all;
        assert_float_equal(mel[t * bands], there ? (float)(first + t) : silence, 0);
        assert_float_equal(mel[t * bands + 1], there ? (float)utterance : silence, 0);
        assert_float_equal(mel[t * bands + bands - 1], there ? (float)utterance : silence, 0);
    }
    /* Frame t lies around sample t * HOP. */
    for (int64_t i = 0; i < SEGMENT; i++) {
        const int64_t at = first * HOP + i;
        assert_float_equal(x[i], at < v.count ? v.scale * (float)v.data[at] : 0, 0);
    }
    return all < frames;
}

static void samples_and_mels_are_cut_at_one_frame(void **state)
{
    for (int k = 0; k < 2; k++) {
        Run r;
        int rows = 0, padded = 0, starts[2] = {0};
        run_open(&r, k ? VOCODER HALVES : VOCODER, (RunOptions){.epochs = 2, .mels = k ? &halves : &floats});
        while (run_next(&r, NULL) == 0)
            for (int row = 0; row < r.batch.info.count; row++) {
                padded += check_row(&r, row);
                starts[(int)batch_mel(&r, row)[0] % 2]++;
                rows++;
            }
        assert_int_equal(rows, 2 * (int)r.corpus.count);
        assert_true(padded > 0 && starts[0] > 10 && starts[1] > 10);
        assert_non_null(
            strstr(run_log(&r), "2 clips of training are skipped: the voice made no mel for them"));
        run_close(&r);
    }
}

/* One gain for both. */
static void gain_is_in_both(void **state)
{
    Run r, plain;
    int louder = 0, softer = 0;
    run_open(&r, VOCODER "--augment-gain-db 6", (RunOptions){.epochs = 1, .mels = &floats});
    run_open(&plain, VOCODER, (RunOptions){.epochs = 1, .mels = &floats});
    while (run_next(&r, NULL) == 0) {
        assert_int_equal(run_next(&plain, NULL), 0);
        for (int row = 0; row < r.batch.info.count; row++) {
            const size_t at = r.batch.layout.samples + (size_t)row * SEGMENT * sizeof(float);
            const float *x = (const float *)(const void *)(r.host + at),
                        *y = (const float *)(const void *)(plain.host + at);
            int peak = 0;
            for (int i = 0; i < SEGMENT; i++)
                peak = fabsf(y[i]) > fabsf(y[peak]) ? i : peak;
            const float gain = x[peak] / y[peak];
            louder += gain > 1.05f;
            softer += gain < 0.95f;
            for (int i = 0; i < 21 * r.cfg.n_mels; i++)
                if (batch_mel(&plain, row)[i] >= 0) /* silence has a floor */
                    assert_float_equal(batch_mel(&r, row)[i], batch_mel(&plain, row)[i] + logf(gain), 1e-4);
        }
    }
    assert_true(louder > 5 && softer > 5);
    run_close(&r);
    run_close(&plain);
}

static void nothing_else_changes_a_bit(void **state)
{
    static const char *const others[] = {"--num-workers 0",
                                         "--native-loading false",
                                         "--enable-memory-mapping false",
                                         "--data-gpu sim0 --model-gpu sim0 --sim step_ms=0",
                                         "--data-gpu sim0 --model-gpu sim1 --sim step_ms=0",
                                         "--data-gpu cpu --model-gpu sim0 --sim step_ms=0",
                                         "--cache-verification full"};
    static Hash128 want[MOST_BATCHES], got[MOST_BATCHES];
    for (int k = 0; k < 2; k++) {
        const RunOptions o = {.epochs = 2, .mels = k ? &halves : &floats};
        const char *kind = k ? VOCODER HALVES : VOCODER;
        int n = run_all(kind, o, want, MOST_BATCHES);
        assert_true(n > 10);
        for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
            char more[300];
            snprintf(more, sizeof more, "%s %s", kind, others[i]);
            check_hashes(want, n, got, run_all(more, o, got, MOST_BATCHES), others[i]);
        }
    }
}

/* The plan counts what a slot holds now. */
static void the_plan_is_what_is_taken(void **state)
{
    Run r;
    run_open(&r, VOCODER "--prefetch-buffer-size 3 --data-gpu sim0 --model-gpu sim1 --sim step_ms=0",
             (RunOptions){.epochs = 1, .mels = &floats});
    check_plan(&r);
    run_close(&r);
}

static void without_a_store(void **state)
{
    Run r;
    const Hash128 none = {5, 6};
    assert_int_equal(run_try(&r, VOCODER, (RunOptions){.epochs = 1, .mels = &none}), ERR_MISSING);
    run_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_and_mels_are_cut_at_one_frame),
        cmocka_unit_test(gain_is_in_both),
        cmocka_unit_test(nothing_else_changes_a_bit),
        cmocka_unit_test(the_plan_is_what_is_taken),
        cmocka_unit_test(without_a_store),
    };
    return cmocka_run_group_tests(tests, setup, teardown_corpora);
}
