/* test_corpus_thin.c - the clips that a validation hears: how many, which, and that training has no more. */
#include "support/pipeline_testing.h"

typedef struct Held {
    Config cfg;
    CorpusSource *source;
    Corpus all, heard, train;
} Held;

static void open_held(Held *h, const char *options)
{
    Err err = {0};
    Log log;
    log_init(&log, LOG_ERROR);
    pipeline_config(&h->cfg, options);
    int rc = corpus_source_open(&h->source, &h->cfg, NULL, &err);
    if (!rc)
        rc = corpus_open_split(&h->all, h->source, &h->cfg, SPLIT_VAL, &log, &err);
    if (!rc)
        rc = corpus_open_split(&h->train, h->source, &h->cfg, SPLIT_TRAIN, &log, &err);
    if (!rc)
        rc = corpus_open_validation(&h->heard, h->source, &h->cfg, &log, &err);
    if (rc)
        fail_msg("%s", err.msg);
    assert_true(h->all.count > 20);
    assert_int_equal(h->all.count + h->train.count, CLIPS);
}

static void close_held(Held *h)
{
    corpus_close(&h->all);
    corpus_close(&h->heard);
    corpus_close(&h->train);
    corpus_source_close(h->source);
    config_close(&h->cfg);
}

/* Where in `all` the clip stands that is heard, with its own lengths. */
static uint32_t place_of(const Held *h, uint32_t k)
{
    uint32_t i = 0;
    while (i < h->all.count && h->all.items[i].utterance != h->heard.items[k].utterance)
        i++;
    assert_true(i < h->all.count);
    assert_memory_equal(&h->heard.items[k], &h->all.items[i], sizeof h->all.items[i]);
    assert_memory_equal(&h->heard.lengths[k], &h->all.lengths[i], sizeof h->all.lengths[i]);
    return i;
}

/* In the order of the dataset, from its beginning to its end. */
static void test_some(void **state)
{
    Held h;
    open_held(&h, "--val-split 0.5 --validation-clips 8");
    assert_int_equal(h.heard.count, 8);
    uint32_t first = place_of(&h, 0), last = place_of(&h, 7);
    for (uint32_t k = 1; k < 8; k++)
        assert_true(place_of(&h, k) > place_of(&h, k - 1));
    assert_true(first < h.all.count / 2 && last >= h.all.count - h.all.count / 4);
    close_held(&h);
}

/* The clips of the three speakers take turns: any eight of them need not be pairs. */
static void test_pairs(void **state)
{
    Held h;
    int of[3] = {0};
    open_held(&h, "--val-split 0.5 --validation-clips 8");
    assert_int_equal(h.heard.speaker_count, 3);
    for (uint32_t k = 0; k < h.heard.count; k++)
        of[h.heard.items[k].speaker]++;
    for (int s = 0; s < 3; s++)
        assert_int_equal(of[s] % 2, 0);
    close_held(&h);
}

/* Exactly as many as wanted, also where pairs do not come out even. */
static void test_odd(void **state)
{
    Held h;
    open_held(&h, "--val-split 0.5 --validation-clips 0");
    const uint32_t count = h.all.count;
    close_held(&h);
    for (uint32_t most = 1; most < count; most++) {
        char options[80];
        snprintf(options, sizeof options, "--val-split 0.5 --validation-clips %u", most);
        open_held(&h, options);
        assert_int_equal(h.heard.count, most);
        close_held(&h);
    }
}

static void test_all(void **state)
{
    Held h;
    open_held(&h, "--val-split 0.5 --validation-clips 0");
    assert_int_equal(h.heard.count, h.all.count);
    close_held(&h);
    open_held(&h, "--val-split 0.5 --validation-clips 60");
    assert_int_equal(h.heard.count, h.all.count);
    close_held(&h);
    open_held(&h, "--val-split 0.5");
    assert_int_equal(h.cfg.validation_clips, 2000);
    assert_int_equal(h.heard.count, h.all.count);
    close_held(&h);
}

/* Each time the same, so that losses can be compared. */
static void test_the_same(void **state)
{
    Held a, b;
    open_held(&a, "--val-split 0.5 --validation-clips 10");
    open_held(&b, "--val-split 0.5 --validation-clips 10");
    assert_memory_equal(a.heard.items, b.heard.items, a.heard.count * sizeof *a.heard.items);
    close_held(&a);
    close_held(&b);
}

/* Some of an open corpus: the same choice, and the corpus keeps all of its own. */
static void test_some_of_an_open_one(void **state)
{
    Held h;
    Corpus some;
    Err err = {0};
    open_held(&h, "--val-split 0.5 --validation-clips 8");
    const uint32_t count = h.all.count;
    assert_int_equal(corpus_some(&some, &h.all, 8, &err), 0);
    assert_int_equal(some.count, 8);
    assert_memory_equal(some.items, h.heard.items, 8 * sizeof *some.items);
    assert_memory_equal(some.lengths, h.heard.lengths, 8 * sizeof *some.lengths);
    corpus_some_close(&some);
    assert_int_equal(h.all.count, count);
    place_of(&h, 0);
    assert_int_equal(corpus_some(&some, &h.all, count + 1, &err), 0);
    assert_int_equal(some.count, count);
    corpus_some_close(&some);
    corpus_some_close(&some);
    close_held(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_some),     cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_odd),      cmocka_unit_test(test_all),
        cmocka_unit_test(test_the_same), cmocka_unit_test(test_some_of_an_open_one),
    };
    return cmocka_run_group_tests(tests, setup_corpora, teardown_corpora);
}
