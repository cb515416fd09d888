/* test_sharpness.c - how much mels are sharpened (train/listen/sharpness.h): sentences that are the
 * recordings themselves, with less detail, or more, or none. */
#include "support/pipeline_testing.h"

#include "audio/normaliser.h"
#include "cache/features.h"
#include "cache/half.h"
#include "model/sharpen.h"
#include "train/listen/sharpness.h"

#define SPOKEN 8

typedef struct Lab {
    Config cfg;
    CorpusSource *source;
    Corpus corpus;
    int bands;
    float *mean, *deviation;
    Speech speech[SPOKEN];
    uint32_t items[SPOKEN];
} Lab;

/* The recordings as the network sees them, sharpened by `amount`; below 0 they are flatter. */
static void speak(Lab *l, double amount)
{
    const size_t n = (size_t)l->bands;
    float *matrix = calloc((n + 1) * n, sizeof *matrix);
    sharpen_matrix(matrix, l->bands, amount);
    for (int i = 0; i < SPOKEN; i++) {
        StoreEntry e;
        MelView v;
        Speech *s = &l->speech[i];
        l->items[i] = (uint32_t)(5 * i);
        store_entry(&l->corpus.mel, l->corpus.items[l->items[i]].mel_entry, &e);
        assert_int_equal(mel_view(&v, &e), 0);
        const size_t values = (size_t)v.frames * n;
        *s = (Speech){.mel = calloc(values, sizeof(float)),
                      .durations = calloc(1, sizeof(int32_t)),
                      .pitch = calloc(1, sizeof(float)),
                      .text = 1,
                      .frames = (int)v.frames};
        if (v.storage == STORE_FLOAT16)
            half_to_float(s->mel, v.data, values);
        else
            memcpy(s->mel, v.data, values * sizeof(float));
        s->durations[0] = s->frames;
        normaliser_mel(s->mel, s->mel, l->mean, l->deviation, s->frames, l->bands);
        sharpen_mel(s->mel, matrix + n * n, s->frames, l->bands, matrix);
    }
    free(matrix);
}

static void fall_silent(Lab *l)
{
    for (int i = 0; i < SPOKEN; i++) {
        free(l->speech[i].mel);
        free(l->speech[i].durations);
        free(l->speech[i].pitch);
        l->speech[i] = (Speech){0};
    }
}

static double settle(const Lab *l, int count, EarFigures *ear)
{
    Err err = {0};
    double amount = 99;
    const SpokenClips spoken = {.speech = l->speech,
                                .items = l->items,
                                .count = count,
                                .corpus = &l->corpus,
                                .mean = l->mean,
                                .deviation = l->deviation,
                                .pitch_deviation = 0.3};
    assert_int_equal(sharpness_settle(&amount, ear, &spoken, &err), count);
    return amount;
}

static int setup_lab(void **state)
{
    static Lab l;
    Err err = {0};
    Log log;
    setup_corpora(state);
    pipeline_config(&l.cfg, "");
    log_init(&log, LOG_ERROR);
    if (corpus_source_open(&l.source, &l.cfg, NULL, &err) ||
        corpus_open_split(&l.corpus, l.source, &l.cfg, SPLIT_TRAIN, &log, &err))
        fail_msg("%s", err.msg);
    l.bands = (int)l.corpus.statistics.bands;
    l.mean = calloc((size_t)l.bands, sizeof *l.mean);
    l.deviation = calloc((size_t)l.bands, sizeof *l.deviation);
    normaliser_statistics(l.mean, l.deviation, l.corpus.mean, l.corpus.deviation, l.bands);
    *state = &l;
    return 0;
}

static int teardown_lab(void **state)
{
    Lab *l = *state;
    free(l->mean);
    free(l->deviation);
    corpus_close(&l->corpus);
    corpus_source_close(l->source);
    config_close(&l->cfg);
    return teardown_corpora(state);
}

/* What was taken is given back, and the mels have it. */
static void flat_mels_get_their_detail_back(void **state)
{
    Lab *l = *state;
    EarFigures ear;
    for (int count = SPOKEN; count >= 1; count -= SPOKEN - 1) {
        speak(l, -0.15);
        const double amount = settle(l, count, &ear);
        print_message("%d clips: sharpened by %.3f, detail %.4f\n", count, amount, ear.detail);
        assert_true(amount > 0.1 && amount < SHARPEN_MOST);
        assert_float_equal(ear.detail, 1, 0.01);
        fall_silent(l);
    }
}

/* More than that was not listened to. */
static void there_is_a_limit(void **state)
{
    Lab *l = *state;
    EarFigures ear;
    speak(l, -0.9);
    assert_true(settle(l, SPOKEN, &ear) == SHARPEN_MOST);
    assert_true(ear.detail < 1);
    fall_silent(l);
}

static void what_has_its_detail_stays(void **state)
{
    Lab *l = *state;
    EarFigures ear;
    speak(l, 0.2);
    const float before = l->speech[3].mel[7];
    assert_true(settle(l, SPOKEN, &ear) == 0);
    assert_true(ear.detail > 1);
    assert_true(l->speech[3].mel[7] == before);
    fall_silent(l);
}

/* A broken network says nothing that could be measured: nothing is done to it. */
static void what_is_no_number_stays(void **state)
{
    static const float broken[] = {NAN, INFINITY, 1e38f};
    Lab *l = *state;
    EarFigures ear;
    for (size_t k = 0; k < sizeof broken / sizeof *broken; k++) {
        speak(l, -0.15);
        l->speech[2].mel[11] = broken[k];
        assert_true(settle(l, SPOKEN, &ear) == 0);
        fall_silent(l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flat_mels_get_their_detail_back),
        cmocka_unit_test(there_is_a_limit),
        cmocka_unit_test(what_has_its_detail_stays),
        cmocka_unit_test(what_is_no_number_stays),
    };
    return cmocka_run_group_tests(tests, setup_lab, teardown_lab);
}
