/* test_sampler.c - which utterances form which batch: nothing lost or repeated, the order a function of seed
 * and epoch, buckets that waste little, shards that do not overlap. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/rng.h"
#include "pipeline/sampler.h"

/* Lengths as speech has them: most in the middle, a few very long; text goes roughly with the frames. */
static SampleLength *make_lengths(uint32_t n, uint32_t most, uint64_t seed)
{
    SampleLength *l = calloc(n + 1, sizeof *l);
    Rng rng;
    assert_non_null(l);
    rng_seed(&rng, seed);
    for (uint32_t i = 0; i < n; i++) {
        double x = (rng_uniform(&rng) + rng_uniform(&rng) + rng_uniform(&rng)) / 3;
        l[i].frames = 1 + (uint32_t)(x * (most - 1));
        l[i].tokens = 1 + (uint32_t)(x * 150 + rng_uniform(&rng) * 40);
    }
    return l;
}

static SamplerOptions options(int batch_size)
{
    return (SamplerOptions){.batch_size = batch_size, .buckets = 8, .frame_multiple = 1, .seed = 1};
}

static Sampler *open_sampler(const SamplerOptions *o, const SampleLength *l, uint32_t n)
{
    Sampler *s;
    Err err = {0};
    if (sampler_open(&s, o, l, n, &err))
        fail_msg("%s", err.msg);
    return s;
}

/* Walks one epoch; seen [n] counts. Returns the padded frames; every shape must hold its members. */
static uint64_t walk(Sampler *s, const SamplerOptions *o, const SampleLength *l, int64_t epoch,
                     uint32_t *seen, int *partial)
{
    uint64_t padded = 0;
    sampler_epoch(s, epoch);
    *partial = 0;
    for (int64_t i = 0; i < sampler_batches(s); i++) {
        int count, bucket;
        const uint32_t *items = sampler_batch(s, epoch, i, &count, &bucket);
        const SamplerBucket *b = sampler_bucket(s, bucket);
        assert_true(bucket < sampler_bucket_count(s) && count > 0 && count <= o->batch_size);
        assert_int_equal(b->frames % o->frame_multiple, 0);
        *partial += count < o->batch_size;
        padded += (uint64_t)o->batch_size * (uint64_t)b->frames;
        for (int k = 0; k < count; k++) {
            seen[items[k]]++;
            assert_true(l[items[k]].frames <= (uint32_t)b->frames);
            assert_true(l[items[k]].tokens <= (uint32_t)b->tokens);
        }
    }
    return padded;
}

static void test_every_utterance_once(void **state)
{
    const uint32_t sizes[] = {1, 2, 7, 8, 9, 15, 16, 17, 31, 101, 997, 1009, 5003};
    const int batch_sizes[] = {1, 8, 16, 32};
    for (size_t a = 0; a < sizeof sizes / sizeof *sizes; a++)
        for (size_t b = 0; b < sizeof batch_sizes / sizeof *batch_sizes; b++)
            for (int buckets = 1; buckets <= 64; buckets *= 4) {
                uint32_t n = sizes[a];
                SamplerOptions o = options(batch_sizes[b]);
                o.buckets = buckets;
                SampleLength *l = make_lengths(n, 700, n);
                Sampler *s = open_sampler(&o, l, n);
                assert_int_equal(sampler_batches(s),
                                 (n + (uint32_t)o.batch_size - 1) / (uint32_t)o.batch_size);
                for (int64_t epoch = 0; epoch < 3; epoch++) {
                    uint32_t *seen = calloc(n, sizeof *seen);
                    int partial;
                    walk(s, &o, l, epoch, seen, &partial);
                    for (uint32_t i = 0; i < n; i++)
                        assert_int_equal(seen[i], 1);
                    assert_int_equal(partial, n % (uint32_t)o.batch_size != 0);
                    free(seen);
                }
                sampler_close(s);
                free(l);
            }
}

static uint64_t order_hash(Sampler *s, int64_t epoch, int64_t from)
{
    uint64_t h = 0;
    sampler_epoch(s, epoch);
    for (int64_t i = from; i < sampler_batches(s); i++) {
        int count, bucket;
        const uint32_t *items = sampler_batch(s, epoch, i, &count, &bucket);
        for (int k = 0; k < count; k++)
            h = rng_mix(h, items[k]);
        h = rng_mix(h, (uint64_t)bucket + 1000000);
    }
    return h;
}

static void test_order_is_a_function_of_seed_and_epoch(void **state)
{
    SampleLength *l = make_lengths(500, 600, 3);
    SamplerOptions o = options(16);
    uint64_t h[4][4];
    for (int seed = 0; seed < 4; seed++) {
        o.seed = (uint64_t)seed;
        Sampler *s = open_sampler(&o, l, 500), *t = open_sampler(&o, l, 500);
        for (int epoch = 0; epoch < 4; epoch++)
            h[seed][epoch] = order_hash(s, epoch, 0);
        for (int epoch = 3; epoch >= 0; epoch--) /* whatever was planned before */
            assert_int_equal(order_hash(t, epoch, 0), h[seed][epoch]);
        sampler_close(s);
        sampler_close(t);
    }
    for (int a = 0; a < 16; a++)
        for (int b = 0; b < a; b++)
            assert_true(h[a / 4][a % 4] != h[b / 4][b % 4]);
    free(l);
}

/* The batch before an epoch's border and the one after it may both be asked for. */
static void test_two_epochs_are_kept(void **state)
{
    SampleLength *l = make_lengths(100, 300, 4);
    SamplerOptions o = options(8);
    Sampler *s = open_sampler(&o, l, 100);
    uint32_t kept[8];
    int count, bucket;
    sampler_epoch(s, 6);
    const uint32_t *items = sampler_batch(s, 6, 12, &count, &bucket);
    memcpy(kept, items, (size_t)count * sizeof *kept);
    sampler_epoch(s, 7);
    sampler_epoch(s, 6);
    assert_memory_equal(kept, sampler_batch(s, 6, 12, &count, &bucket), (size_t)count * sizeof *kept);
    sampler_close(s);
    free(l);
}

static void test_resume_continues(void **state)
{
    SampleLength *l = make_lengths(230, 600, 5);
    SamplerOptions o = options(16);
    Sampler *s = open_sampler(&o, l, 230);
    for (int64_t epoch = 0; epoch < 3; epoch++)
        for (int64_t index = 0; index < sampler_batches(s); index++) {
            Sampler *t = open_sampler(&o, l, 230); /* a new process that knows epoch and index */
            assert_int_equal(order_hash(s, epoch, index), order_hash(t, epoch, index));
            assert_int_equal(order_hash(s, epoch + 1, 0), order_hash(t, epoch + 1, 0));
            sampler_close(t);
        }
    sampler_close(s);
    free(l);
}

static uint64_t cost_of(const SampleLength *l, uint32_t n, const int *edges, int k)
{
    uint64_t cost = 0;
    for (uint32_t i = 0; i < n; i++) {
        int b = 0;
        while (b + 1 < k && l[i].frames > (uint32_t)edges[b])
            b++;
        cost += (uint64_t)edges[b];
    }
    return cost;
}

static int compare_u32(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void test_buckets_waste_least(void **state)
{
    for (int trial = 0; trial < 60; trial++) {
        uint32_t n = 50 + 37 * (uint32_t)trial, most = 100 + 6 * (uint32_t)trial, longest = 0;
        SamplerOptions o = options(8);
        o.buckets = 1 + trial % 12;
        o.frame_multiple = 1 + trial % 3;
        SampleLength *l = make_lengths(n, most, (uint64_t)trial);
        uint32_t *sorted = calloc(n, sizeof *sorted);
        int ours[64], equal[64], quantile[64];
        for (uint32_t i = 0; i < n; i++) {
            sorted[i] = l[i].frames;
            longest = l[i].frames > longest ? l[i].frames : longest;
        }
        qsort(sorted, n, sizeof *sorted, compare_u32);
        for (int b = 0; b < o.buckets; b++) {
            int e = (int)(longest * (uint32_t)(b + 1) / (uint32_t)o.buckets) + (b + 1 < o.buckets);
            int q = (int)sorted[(uint64_t)n * (uint64_t)(b + 1) / (uint64_t)o.buckets - 1];
            equal[b] = (e + o.frame_multiple - 1) / o.frame_multiple * o.frame_multiple;
            quantile[b] = (q + o.frame_multiple - 1) / o.frame_multiple * o.frame_multiple;
        }
        Sampler *s = open_sampler(&o, l, n);
        int k = sampler_bucket_count(s);
        assert_true(k >= 1 && k <= o.buckets);
        for (int b = 0; b < k; b++) {
            ours[b] = sampler_bucket(s, b)->frames;
            assert_true(b == 0 || ours[b] > ours[b - 1]);
            assert_true(sampler_bucket(s, b)->utterances > 0);
        }
        uint64_t cost = cost_of(l, n, ours, k);
        assert_true(cost <= cost_of(l, n, equal, o.buckets));
        assert_true(cost <= cost_of(l, n, quantile, o.buckets));
        sampler_close(s);
        free(sorted);
        free(l);
    }
}

/* Clips that are much longer than there are bins. */
static void test_long_clips(void **state)
{
    SampleLength *l = make_lengths(3000, 40000, 9);
    l[17].frames = 65535;
    SamplerOptions o = options(32);
    o.frame_multiple = 2;
    Sampler *s = open_sampler(&o, l, 3000);
    uint32_t *seen = calloc(3000, sizeof *seen);
    int partial;
    walk(s, &o, l, 0, seen, &partial);
    assert_int_equal(sampler_bucket(s, sampler_bucket_count(s) - 1)->frames, 65536);
    free(seen);
    sampler_close(s);
    free(l);
}

static void test_one_length_is_one_bucket(void **state)
{
    SampleLength l[40];
    for (int i = 0; i < 40; i++)
        l[i] = (SampleLength){12, 100};
    SamplerOptions o = options(8);
    Sampler *s = open_sampler(&o, l, 40);
    assert_int_equal(sampler_bucket_count(s), 1);
    assert_int_equal(sampler_bucket(s, 0)->frames, 100);
    assert_true(sampler_padding(s) == 0);
    sampler_close(s);
}

static void test_padding_is_what_a_count_says(void **state)
{
    for (int trial = 0; trial < 40; trial++) {
        uint32_t n = 1 + 53 * (uint32_t)trial;
        SamplerOptions o = options(1 + trial % 17);
        o.buckets = 1 + trial % 9;
        o.frame_multiple = 1 + trial % 4;
        if (trial % 5 == 4)
            o.fixed_frames = 801;
        SampleLength *l = make_lengths(n, 800, (uint64_t)trial + 100);
        Sampler *s = open_sampler(&o, l, n);
        uint32_t *seen = calloc(n, sizeof *seen);
        uint64_t real = 0;
        int partial;
        for (uint32_t i = 0; i < n; i++)
            real += l[i].frames;
        for (int64_t epoch = 0; epoch < 2; epoch++) {
            uint64_t padded = walk(s, &o, l, epoch, seen, &partial);
            assert_true(sampler_padding(s) == 1 - (double)real / (double)padded);
        }
        free(seen);
        sampler_close(s);
        free(l);
    }
}

static void test_fixed_shape(void **state)
{
    SampleLength *l = make_lengths(99, 400, 6);
    SamplerOptions o = options(10);
    l[7].tokens = 251;
    o.fixed_frames = 401;
    o.frame_multiple = 4;
    Sampler *s = open_sampler(&o, l, 99);
    assert_int_equal(sampler_bucket_count(s), 1);
    assert_int_equal(sampler_bucket(s, 0)->tokens, 256);
    assert_int_equal(sampler_bucket(s, 0)->frames, 404);
    uint32_t seen[99] = {0};
    int partial;
    walk(s, &o, l, 0, seen, &partial);
    for (int i = 0; i < 99; i++)
        assert_int_equal(seen[i], 1);
    sampler_close(s);
    Err err = {0};
    l[40].frames = 500;
    assert_int_equal(sampler_open(&s, &o, l, 99, &err), ERR_DATA);
    assert_non_null(strstr(err.msg, "500"));
    assert_null(s);
    free(l);
}

static void test_drop_last(void **state)
{
    SampleLength *l = make_lengths(107, 500, 8);
    SamplerOptions o = options(10);
    o.drop_last = 1;
    Sampler *s = open_sampler(&o, l, 107);
    assert_int_equal(sampler_batches(s), 10);
    uint32_t left_out[2][107];
    for (int epoch = 0; epoch < 2; epoch++) {
        uint32_t seen[107] = {0}, total = 0;
        int partial;
        walk(s, &o, l, epoch, seen, &partial);
        assert_int_equal(partial, 0);
        for (int i = 0; i < 107; i++) {
            assert_true(seen[i] <= 1);
            total += seen[i];
            left_out[epoch][i] = seen[i];
        }
        assert_int_equal(total, 100);
    }
    assert_memory_not_equal(left_out[0], left_out[1], sizeof left_out[0]); /* not always the same ones */
    sampler_close(s);
    Err err = {0};
    assert_int_equal(sampler_open(&s, &o, l, 9, &err), ERR_DATA); /* nothing would be left */
    assert_int_equal(sampler_open(&s, &o, l, 0, &err), ERR_DATA);
    free(l);
}

static void test_large_corpus(void **state)
{
    const uint32_t n = 100000;
    SampleLength *l = make_lengths(n, 1024, 10);
    SamplerOptions o = options(32);
    double start = clock_now();
    Sampler *s = open_sampler(&o, l, n);
    double opened = clock_now();
    sampler_epoch(s, 0);
    double planned = clock_now();
    uint32_t *seen = calloc(n, sizeof *seen);
    int partial;
    walk(s, &o, l, 0, seen, &partial);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(seen[i], 1);
    print_message("%u utterances: opened in %.1f ms, an epoch planned in %.2f ms, padding %.2f %%\n", n,
                  1e3 * (opened - start), 1e3 * (planned - opened), 100 * sampler_padding(s));
    free(seen);
    sampler_close(s);
    free(l);
}

/* Rows of an epoch whose speaker has no other row in their batch; every utterance is seen once. */
static uint32_t count_alone(Sampler *s, const SamplerOptions *o, const SampleLength *l,
                            const int32_t *speaker, uint32_t n, int64_t epoch)
{
    uint32_t *seen = calloc(n, sizeof *seen), alone = 0;
    int partial;
    assert_non_null(seen);
    walk(s, o, l, epoch, seen, &partial);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(seen[i], 1);
    free(seen);
    for (int64_t i = 0; i < sampler_batches(s); i++) {
        int count, bucket;
        const uint32_t *items = sampler_batch(s, epoch, i, &count, &bucket);
        for (int a = 0; a < count; a++) {
            int others = 0;
            for (int b = 0; b < count; b++)
                others += b != a && speaker[items[b]] == speaker[items[a]];
            alone += others == 0;
        }
    }
    return alone;
}

static int32_t *make_speakers(uint32_t n, int32_t speakers, uint64_t seed)
{
    int32_t *s = calloc(n, sizeof *s);
    Rng rng;
    assert_non_null(s);
    rng_seed(&rng, seed);
    for (uint32_t i = 0; i < n; i++)
        s[i] = (int32_t)rng_below(&rng, (uint64_t)speakers);
    return s;
}

static void test_speakers_have_partners(void **state)
{
    const struct {
        uint32_t utterances;
        int32_t speakers;
        int batch;
        double most; /* share of rows that may be alone */
    } cases[] = {{6000, 60, 48, 0.02}, {6000, 60, 16, 0.05}, {6000, 600, 48, 0.4}, {6000, 60, 15, 0.1},
                 {600, 6, 16, 0.02},   {600, 2, 2, 0.02},    {600, 3, 3, 0.4}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t n = cases[i].utterances;
        SampleLength *l = make_lengths(n, 900, i + 1);
        int32_t *speaker = make_speakers(n, cases[i].speakers, i + 20);
        SamplerOptions o = options(cases[i].batch), plain = o;
        o.speakers = speaker;
        o.speaker_count = cases[i].speakers;
        Sampler *s = open_sampler(&o, l, n), *t = open_sampler(&plain, l, n), *again = open_sampler(&o, l, n);
        assert_int_equal(sampler_batches(s), sampler_batches(t));
        assert_true(sampler_padding(s) == sampler_padding(t));
        for (int64_t epoch = 0; epoch < 3; epoch++) {
            uint32_t alone = count_alone(s, &o, l, speaker, n, epoch),
                     before = count_alone(t, &plain, l, speaker, n, epoch);
            if (alone > cases[i].most * n || alone > before)
                fail_msg("%u of %u rows are alone, without pairs %u", alone, n, before);
        }
        for (int64_t epoch = 2; epoch >= 0; epoch--)
            assert_int_equal(order_hash(s, epoch, 0), order_hash(again, epoch, 0));
        assert_int_not_equal(order_hash(s, 0, 0), order_hash(s, 1, 0));
        sampler_close(s);
        sampler_close(t);
        sampler_close(again);
        free(speaker);
        free(l);
    }
}

/* With 60 speakers and batches of 48, nearly half of the rows are alone where nobody looks for partners. */
static void test_random_batches_leave_speakers_alone(void **state)
{
    SampleLength *l = make_lengths(6000, 900, 1);
    int32_t *speaker = make_speakers(6000, 60, 2);
    SamplerOptions o = options(48);
    Sampler *s = open_sampler(&o, l, 6000);
    uint32_t alone = count_alone(s, &o, l, speaker, 6000, 0);
    assert_in_range(alone, 6000 * 42 / 100, 6000 * 49 / 100);
    sampler_close(s);
    free(speaker);
    free(l);
}

#define MEMBERS_OF_EPOCH_0 UINT64_C(0x114736cd4bd665ee)
#define MEMBERS_OF_EPOCH_1 UINT64_C(0x88ab0c47fdd2b073)
#define ORDER_OF_EPOCH_0 UINT64_C(0xc8e956595682a56d)
#define ORDER_OF_EPOCH_1 UINT64_C(0xa8d047652da5d01b)

static int by_number(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Of the utterances of every batch, whatever the order of its rows. */
static uint64_t members_hash(Sampler *s, int64_t epoch)
{
    uint64_t h = 0;
    sampler_epoch(s, epoch);
    for (int64_t i = 0; i < sampler_batches(s); i++) {
        uint32_t sorted[16];
        int count, bucket;
        const uint32_t *items = sampler_batch(s, epoch, i, &count, &bucket);
        memcpy(sorted, items, (size_t)count * sizeof *sorted);
        qsort(sorted, (size_t)count, sizeof *sorted, by_number);
        for (int k = 0; k < count; k++)
            h = rng_mix(h, sorted[k]);
        h = rng_mix(h, (uint64_t)bucket + 1000000);
    }
    return h;
}

/* Runs that began with an earlier version continue with the same batches; this one has another order of rows
 * than those before it. */
static void test_one_speaker_keeps_the_order(void **state)
{
    SampleLength *l = make_lengths(500, 600, 3);
    int32_t *speaker = make_speakers(500, 1, 3);
    SamplerOptions o = options(16);
    Sampler *plain = open_sampler(&o, l, 500);
    o.speakers = speaker;
    o.speaker_count = 1;
    Sampler *one = open_sampler(&o, l, 500);
    if (members_hash(plain, 0) != MEMBERS_OF_EPOCH_0 || order_hash(plain, 0, 0) != ORDER_OF_EPOCH_0)
        fail_msg("the order is 0x%llx of 0x%llx", (unsigned long long)order_hash(plain, 0, 0),
                 (unsigned long long)members_hash(plain, 0));
    if (members_hash(plain, 1) != MEMBERS_OF_EPOCH_1 || order_hash(plain, 1, 0) != ORDER_OF_EPOCH_1)
        fail_msg("the order is 0x%llx of 0x%llx", (unsigned long long)order_hash(plain, 1, 0),
                 (unsigned long long)members_hash(plain, 1));
    assert_true(order_hash(one, 0, 0) == ORDER_OF_EPOCH_0);
    assert_true(order_hash(one, 1, 0) == ORDER_OF_EPOCH_1);
    sampler_close(plain);
    sampler_close(one);
    free(speaker);
    free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_utterance_once),
        cmocka_unit_test(test_order_is_a_function_of_seed_and_epoch),
        cmocka_unit_test(test_two_epochs_are_kept),
        cmocka_unit_test(test_resume_continues),
        cmocka_unit_test(test_buckets_waste_least),
        cmocka_unit_test(test_long_clips),
        cmocka_unit_test(test_one_length_is_one_bucket),
        cmocka_unit_test(test_padding_is_what_a_count_says),
        cmocka_unit_test(test_fixed_shape),

        cmocka_unit_test(test_drop_last),
        cmocka_unit_test(test_large_corpus),
        cmocka_unit_test(test_speakers_have_partners),
        cmocka_unit_test(test_random_batches_leave_speakers_alone),
        cmocka_unit_test(test_one_speaker_keeps_the_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
