/* test_shares.c - a batch shared out: the same rows, voices and bytes for any number of ranks and parts, each
 * clip once in an epoch, and shares that are about equally long. */
#include "support/pipeline_testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/policy.h"
#include "pipeline/sampler.h"

enum { MOST_RANKS = 9, MOST_ROWS = 64, EPOCHS = 2 };

/* ---- the arithmetic ---- */

static void every_row_is_in_one_share(void **state)
{
    for (int batch = 1; batch <= 70; batch++)
        for (int ranks = 1; ranks <= MOST_RANKS; ranks++)
            for (int most = 1; most <= batch; most++) {
                Shares s = policy_shares(batch, ranks, most);
                assert_int_equal(s.batch, batch);
                assert_int_equal(s.ranks, ranks);
                assert_in_range(s.rows, 1, most);
                const int shares = ranks * s.micro;
                if (shares > 1 && batch / shares >= 4)
                    assert_int_equal(s.rows % 2, 0);
                /* The end of an epoch has fewer. */
                for (int count = 0; count <= batch; count += count < 3 ? 1 : batch / 3 + 1) {
                    int next = 0, first;
                    for (int k = 0; k < shares; k++) {
                        int rows = policy_share_rows(&s, k, count, &first);
                        assert_in_range(rows, 0, s.rows);
                        if (rows)
                            assert_int_equal(first, next);
                        next += rows;
                    }
                    assert_int_equal(next, count);
                }
            }
    /* No more parts than necessary. */
    assert_int_equal(policy_shares(16, 1, 16).micro, 1);
    assert_int_equal(policy_shares(16, 1, 15).micro, 2);
    assert_int_equal(policy_shares(16, 2, 8).micro, 1);
    assert_int_equal(policy_shares(16, 2, 7).micro, 2);
    assert_int_equal(policy_shares(16, 3, 16).rows, 6);
    assert_int_equal(policy_shares(64, 1, 8).micro, 8);
    Config cfg = {.batch_size = 8};
    assert_int_equal(policy_global_batch(&cfg, 1), 8);
    assert_int_equal(policy_global_batch(&cfg, 4), 32);
    cfg.global_batch_size = 20;
    assert_int_equal(policy_global_batch(&cfg, 4), 20);
}

static void partners_are_mutual(void **state)
{
    for (int rows = 1; rows <= 9; rows++)
        for (int shares = 1; shares <= 3; shares++)
            for (int count = 1; count <= rows; count++)
                for (int share = 0; share < shares; share++) {
                    Shares s = {.batch = rows * shares, .ranks = shares, .micro = 1, .rows = rows};
                    int alone = 0;
                    for (int row = 0; row < count; row++) {
                        int other = policy_partner(&s, share, row, count);
                        assert_in_range(other, 0, count - 1);
                        alone += policy_partner(&s, share, other, count) != row || other == row;
                    }
                    /* In an odd share a pair may be cut at either end. */
                    assert_true(alone <= (rows % 2 ? 2 : count % 2));
                }
}

static void the_spread_is_a_permutation(void **state)
{
    for (int bits = 0; bits <= 10; bits++) {
        uint8_t seen[1024] = {0};
        for (uint32_t i = 0; i < 1u << bits; i++)
            seen[policy_spread(i, bits)]++;
        for (uint32_t i = 0; i < 1u << bits; i++)
            assert_int_equal(seen[i], 1);
    }
}

/* ---- the pipeline ---- */

/* What a row of a batch was. */
typedef struct Row {
    int32_t utterance, lender; /* an utterance too; -1: empty */
    int32_t tokens, frames;
    Hash128 mel;
} Row;

/* [EPOCHS][batches][rows] */
typedef struct Seen {
    Row rows[EPOCHS * CLIPS * MOST_ROWS];
    int64_t batches;
} Seen;

static void see_share(Seen *seen, const Run *r, int batch)
{
    const BatchInfo *info = &r->batch.info;
    const BatchLayout *l = &r->batch.layout;
    Shares shares = pipeline_shares(r->pipeline);
    const int32_t *utterance = batch_ints(r, l->utterance), *reference = batch_ints(r, l->reference);
    for (int row = 0; row < shares.rows; row++) {
        const int at = info->share * shares.rows + row;
        if (row >= info->count) {
            assert_int_equal(utterance[row], -1);
            assert_int_equal(batch_ints(r, l->mel_length)[row], 0);
            continue;
        }
        assert_in_range(at, 0, batch - 1);
        Row *to = &seen->rows[info->whole * batch + at];
        assert_int_equal(to->utterance, -1); /* nobody else had it */
        to->utterance = utterance[row];
        to->lender = utterance[reference[row]];
        to->tokens = batch_ints(r, l->text_length)[row];
        to->frames = batch_ints(r, l->mel_length)[row];
        to->mel = hash_bytes(batch_mel(r, row), (size_t)info->frames * (size_t)r->cfg.n_mels * sizeof(float));
    }
}

/* Everything that `ranks` processes get, one after the other. */
static void see_all(Seen *seen, const char *options, int batch, int ranks)
{
    memset(seen->rows, 0xFF, sizeof seen->rows);
    for (int rank = 0; rank < ranks; rank++) {
        Run r;
        int64_t number = 0;
        run_open(&r, options, (RunOptions){.rank = rank, .ranks = ranks, .epochs = EPOCHS});
        const Shares shares = pipeline_shares(r.pipeline);
        assert_int_equal(shares.batch, batch);
        seen->batches = sampler_batches(pipeline_sampler(r.pipeline));
        while (run_next(&r, NULL) == 0) {
            const BatchInfo *info = &r.batch.info;
            PipelineState at;
            assert_int_equal(info->number, number);
            assert_int_equal(info->whole, number / shares.micro);
            assert_int_equal(info->share, rank * shares.micro + number % shares.micro);
            assert_int_equal(info->last, number % shares.micro == shares.micro - 1);
            see_share(seen, &r, batch);
            number++;
            /* A run that is resumed in the middle of a batch begins it again. */
            pipeline_state(r.pipeline, &at);
            assert_int_equal(at.epoch * seen->batches + at.index, number / shares.micro);
        }
        assert_int_equal(r.err.code, ERR_STOPPED);
        assert_int_equal(number, EPOCHS * seen->batches * shares.micro);
        run_close(&r);
    }
}

/* Every clip once in every epoch. */
static void check_epochs(const Seen *seen, int batch)
{
    for (int e = 0; e < EPOCHS; e++) {
        int count[CLIPS] = {0};
        for (int64_t i = e * seen->batches * batch; i < (e + 1) * seen->batches * batch; i++)
            if (seen->rows[i].utterance >= 0)
                count[seen->rows[i].utterance]++;
        for (int i = 0; i < CLIPS; i++)
            assert_int_equal(count[i], 1);
    }
}

static void ranks_see_what_one_sees(void **state)
{
    static const struct {
        const char *options;
        int batch, most; /* most: rows at once */
    } cases[] = {{"--enable-multispeaker false", 36, 36},
                 {"--augment-gain-db 6", 36, 4},
                 {"--data-gpu sim0 --model-gpu sim1 --num-workers 3", 16, 2},
                 {"--native-loading false", 11, 11},
                 {"--preprocessing-mode on_the_fly --augment-speed 0.2", 20, 6},
                 {"", 64, 7}};
    static Seen one, many;
    int same_voices = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char options[200];
        const int batch = cases[i].batch;
        snprintf(options, sizeof options, "%s --global-batch-size %d --batch-size %d", cases[i].options,
                 batch, batch);
        see_all(&one, options, batch, 1);
        check_epochs(&one, batch);
        for (int ranks = 1; ranks <= MOST_RANKS; ranks++) {
            snprintf(options, sizeof options, "%s --global-batch-size %d --batch-size %d", cases[i].options,
                     batch, cases[i].most);
            see_all(&many, options, batch, ranks);
            check_epochs(&many, batch);
            assert_int_equal(many.batches, one.batches);
            /* An odd share may cut a pair in two, an odd batch may leave its last row alone in a share. */
            const int even = (batch | policy_shares(batch, ranks, cases[i].most).rows) % 2 == 0;
            same_voices += even;
            for (int64_t k = 0; k < EPOCHS * one.batches * batch; k++) {
                Row a = one.rows[k], b = many.rows[k];
                if (!even)
                    a.lender = b.lender = 0;
                if (memcmp(&a, &b, sizeof a) != 0)
                    fail_msg("row %lld: clip %d with the voice of %d, not %d of %d (%d ranks, %s)",
                             (long long)k, b.utterance, b.lender, a.utterance, a.lender, ranks, options);
            }
        }
    }
    assert_true(same_voices >= 30); /* of 54 */
}

/* A run that continues with other shares sees the rest of the epoch, and nothing twice. */
static void shares_change_in_the_middle(void **state)
{
    static const int parts[] = {16, 8, 4, 6, 2, 16};
    int count[CLIPS] = {0};
    PipelineState at = {0};
    for (size_t i = 0; i < sizeof parts / sizeof *parts && at.epoch == 0; i++) {
        Run r;
        char options[100];
        snprintf(options, sizeof options, "--global-batch-size 16 --batch-size %d", parts[i]);
        run_open(&r, options, (RunOptions){.start = at, .epochs = 1});
        const Shares shares = pipeline_shares(r.pipeline);
        for (int k = 0; k < shares.micro; k++) {
            assert_int_equal(run_next(&r, NULL), 0);
            for (int row = 0; row < r.batch.info.count; row++)
                count[batch_ints(&r, r.batch.layout.utterance)[row]]++;
        }
        pipeline_state(r.pipeline, &at);
        run_close(&r);
    }
    assert_int_equal(at.epoch, 1);
    assert_int_equal(at.index, 0);
    for (int i = 0; i < CLIPS; i++)
        assert_int_equal(count[i], 1);
}

/* ---- the balance ---- */

typedef struct Imbalance { /* frames of the longest share over the mean of all, less 1 */
    double worst, sum;
    int batches;
} Imbalance;

static void weigh(Imbalance *m, const uint32_t *items, const SampleLength *l, const Shares *s, int count)
{
    double most = 0, all = 0;
    int shares = 0, first;
    for (int k = 0; k < s->ranks; k++) {
        int rows = policy_share_rows(s, k, count, &first);
        if (rows < s->rows)
            continue; /* the last may be smaller by the plan */
        double frames = 0;
        for (int i = 0; i < rows; i++)
            frames += l[items[first + i]].frames;
        most = frames > most ? frames : most;
        all += frames;
        shares++;
    }
    double over = shares ? most * shares / all - 1 : 0;
    m->worst = over > m->worst ? over : m->worst;
    m->sum += over;
    m->batches++;
}

/* Lengths as in LJSpeech: most of 3 to 9 s. */
static void shares_are_about_equally_long(void **state)
{
    enum { N = 6400 };
    static SampleLength l[N];
    static uint32_t drawn[512];
    Rng rng;
    rng_seed(&rng, 3);
    for (int i = 0; i < N; i++) {
        double x = (rng_uniform(&rng) + rng_uniform(&rng) + rng_uniform(&rng)) / 3;
        l[i] = (SampleLength){.tokens = 20 + (uint32_t)(120 * x), .frames = 90 + (uint32_t)(780 * x)};
    }
    static const int batches[] = {32, 64, 256};
    for (size_t b = 0; b < sizeof batches / sizeof *batches; b++) {
        SamplerOptions o = {.batch_size = batches[b], .buckets = 8, .frame_multiple = 8, .seed = 1};
        Sampler *s;
        Err err = {0};
        assert_int_equal(sampler_open(&s, &o, l, N, &err), 0);
        for (int ranks = 2; ranks <= 8; ranks++) {
            Imbalance ours = {0}, plain = {0};
            Shares shares = policy_shares(batches[b], ranks, batches[b]);
            for (int e = 0; e < 3; e++) {
                sampler_epoch(s, e);
                for (int64_t i = 0; i < sampler_batches(s); i++) {
                    int count, bucket;
                    const uint32_t *items = sampler_batch(s, e, i, &count, &bucket);
                    memcpy(drawn, items, (size_t)count * sizeof *drawn);
                    rng_shuffle_u32(&rng, drawn, (uint64_t)count);
                    weigh(&ours, items, l, &shares, count);
                    weigh(&plain, drawn, l, &shares, count);
                }
            }
            printf(
                "batch %d, %d shares of %d rows: %.2f %% over the mean, %.1f %% at worst; as drawn %.2f and "
                "%.1f %%\n",
                batches[b], ranks, shares.rows, 100 * ours.sum / ours.batches, 100 * ours.worst,
                100 * plain.sum / plain.batches, 100 * plain.worst);
            assert_true(ours.sum < plain.sum);
            if (shares.rows >= 8)
                assert_true(ours.sum < 0.5 * plain.sum);
        }
        sampler_close(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_in_one_share),   cmocka_unit_test(partners_are_mutual),
        cmocka_unit_test(the_spread_is_a_permutation), cmocka_unit_test(ranks_see_what_one_sees),
        cmocka_unit_test(shares_change_in_the_middle), cmocka_unit_test(shares_are_about_equally_long),
    };
    return cmocka_run_group_tests(tests, setup_corpora, teardown_corpora);
}
