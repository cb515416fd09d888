/* test_ops.c - the host ops: every case's gradients against finite differences in double, single precision
 * against double, every instruction set, padding, dropout, numbers of threads, and AdamW against a slow
 * reference. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ops/host/host_pool.h"
#include "ops/host/ops_host.h"
#include "ops/ops_open.h"
#include "ops/philox.h"
#include "support/long_tests.h"
#include "support/ops_cases.h"

#define SEED 20240611

static Device *device;
static Stream *stream;

static int set_up(void **state)
{
    (void)state;
    return device_open(&device, "cpu", &(DeviceOptions){0}, NULL) ||
           device->ops->stream_open(device, &stream, "test", NULL);
}

static int tear_down(void **state)
{
    (void)state;
    device->ops->stream_close(stream);
    device_close(device);
    return 0;
}

static void context(OpsContext *c, const Ops *ops, int threads)
{
    Err err = {0};
    if (ops_context_open(c, ops, device, stream, threads, &err))
        fail_msg("%s", err.msg);
}

static void every_gradient_equals_differences(void **state)
{
    (void)state;
    OpsContext c;
    char problem[400];
    context(&c, &ops_host_f64, 0);
    for (int i = 0; i < ops_case_count; i++) {
        const OpsCase *k = &ops_cases[i];
        /* The large ones are there for their parts; single_precision_equals_double compares them. There a
         * sanitizer sees every case too: here a third is enough for it. */
        if ((k->flops && k->flops(k->shape) > 3e7) || (SANITIZED && i % 3))
            continue;
        if (ops_check_gradient(&c, k, SEED, 1e-6, problem, sizeof problem))
            fail_msg("%s", problem);
    }
    ops_context_close(&c);
}

static void single_precision_equals_double(void **state)
{
    (void)state;
    OpsContext a, b;
    char problem[400];
    double worst = 0;
    context(&a, &ops_host_f32, 2);
    context(&b, &ops_host_f64, 2);
    const char *sets[] = {"plain", "avx2", "avx512"};
    for (int s = 0; s < 3; s++) {
        const Vectors *v = vectors_choose(sets[s]);
        if (!v) {
            print_message("SKIPPED: this processor has no %s\n", sets[s]);
            continue;
        }
        ((HostOps *)a.own)->vectors = v;
        for (int i = 0; i < ops_case_count; i++)
            if (ops_compare(&a, &b, &ops_cases[i], SEED + 1, 1e-5, &worst, problem, sizeof problem))
                fail_msg("%s: %s", sets[s], problem);
    }
    print_message("worst error %.2g of the largest number\n", worst);
    ops_context_close(&a);
    ops_context_close(&b);
}

static void results_do_not_depend_on_threads(void **state)
{
    (void)state;
    const Ops *tables[] = {&ops_host_f32, &ops_host_f64};
    char problem[400];
    for (int t = 0; t < 2; t++)
        for (int threads = 1; threads <= 4; threads *= 2) {
            OpsContext a, b;
            context(&a, tables[t], threads);
            context(&b, tables[t], 0);
            for (int i = 0; i < ops_case_count; i++)
                if (ops_compare(&a, &b, &ops_cases[i], SEED, 0, NULL, problem, sizeof problem))
                    fail_msg("%d threads: %s", threads, problem);
            ops_context_close(&a);
            ops_context_close(&b);
        }
}

static void padding_changes_nothing(void **state)
{
    (void)state;
    const Ops *tables[] = {&ops_host_f32, &ops_host_f64};
    char problem[400];
    int hiding = 0;
    for (int t = 0; t < 2; t++) {
        OpsContext c;
        context(&c, tables[t], 2);
        for (int i = 0; i < ops_case_count; i++) {
            int rc = ops_check_hidden(&c, &ops_cases[i], SEED, problem, sizeof problem);
            if (rc < 0)
                fail_msg("%s", problem);
            hiding += rc == 0;
        }
        ops_context_close(&c);
    }
    assert_in_range(hiding, 40, 1000);
}

static void philox_is_philox(void **state)
{
    (void)state;
    uint32_t w[4];
    /* The known answers of Random123's kat_vectors for all zeros. */
    static const uint32_t ten[] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
    static const uint32_t seven[] = {0x5f6fb709, 0x0d893f64, 0x4f121f81, 0x4f730a48};
    philox4x32(w, 0, 0, 10);
    assert_memory_equal(w, ten, sizeof ten);
    philox4x32(w, 0, 0, PHILOX_ROUNDS);
    assert_memory_equal(w, seven, sizeof seven);
    assert_int_equal(philox_bits(w, 0), 0xb709);
    assert_int_equal(philox_bits(w, 7), 0x4f73);
    assert_int_equal(philox_threshold(0), 0);
    assert_int_equal(philox_threshold(0.5f), 1 << 15);
    assert_int_equal(philox_threshold(0.1f), 6554);
    assert_true(philox_scale(1 << 14) == 4.0f / 3.0f);
}

static void dropout_keeps_its_share(void **state)
{
    (void)state;
    enum { N = 400000 };
    float *x = malloc(N * sizeof *x), *y = malloc(N * sizeof *y), *z = malloc(N * sizeof *z);
    OpsContext c;
    context(&c, &ops_host_f32, 2);
    for (int i = 0; i < N; i++)
        x[i] = 1;
    for (int percent = 10; percent <= 90; percent += 40) {
        Dropout d = {(float)percent / 100, 77 + (uint64_t)percent};
        c.ops->dropout_forward(&c, y, x, N, d);
        double kept = 0, pairs = 0, p = 1 - (double)d.p;
        for (int i = 0; i < N; i++) {
            assert_true(y[i] == 0 || y[i] == philox_scale(philox_threshold(d.p)));
            assert_int_equal(y[i] != 0, philox_keep((uint64_t)i, d.seed, philox_threshold(d.p)));
            kept += y[i] != 0;
            pairs += i && y[i] != 0 && y[i - 1] != 0;
        }
        double noise = sqrt(p * (1 - p) / N);
        assert_true(fabs(kept / N - p) < 5 * noise);
        assert_true(fabs(pairs / N - p * p) < 10 * noise);
        c.ops->dropout_forward(&c, z, x, N, d);
        assert_memory_equal(y, z, N * sizeof *y);
        d.seed++;
        c.ops->dropout_forward(&c, z, x, N, d);
        int differ = 0;
        for (int i = 0; i < N; i++)
            differ += y[i] != z[i];
        assert_true(fabs((double)differ / N - 2 * p * (1 - p)) < 10 * noise);
        OpsStep step = {.seed = UINT64_MAX}; /* one less again */
        c.step = &step;
        c.ops->dropout_forward(&c, z, x, N, d);
        c.step = NULL;
        assert_memory_equal(y, z, N * sizeof *y);
    }
    ops_context_close(&c);
    free(x), free(y), free(z);
}

/* A batch is dropped out in the same places, whole or in shares: 6 rows of 5 x 21, so that a share begins in
 * the middle of the eight elements that one draw serves. */
static void shares_drop_out_as_the_batch(void **state)
{
    (void)state;
    enum { ROWS = 6, T = 5, C = 21, N = ROWS * T * C };
    float x[N], whole[N], parts[N], other[N], mean[ROWS * T], rstd[ROWS * T], w[C], b[C], one = 1;
    OpsContext c;
    OpsStep step = {.seed = 5};
    const Dropout d = {0.3f, 9};
    context(&c, &ops_host_f32, 2);
    for (int i = 0; i < N; i++)
        x[i] = 1 + (float)(i % 13);
    for (int i = 0; i < C; i++)
        w[i] = b[i] = 1;
    c.step = &step;
    for (int op = 0; op < 3; op++)
        for (int shares = 1; shares <= ROWS; shares++) {
            if (ROWS % shares)
                continue;
            const int rows = ROWS / shares, n = rows * T * C;
            for (step.share = 0; step.share < shares; step.share++) {
                float *to = (shares == 1 ? whole : parts) + step.share * n, *from = x + step.share * n;
                if (op == 0)
                    c.ops->dropout_forward(&c, to, from, n, d);
                else if (op == 1)
                    c.ops->embed_forward(&c, to, NULL, NULL, from, &one, rows, T, C, d);
                else
                    c.ops->norm_forward(&c, to, other, mean, rstd, from, from, w, b, rows * T, C, d);
            }
            if (shares > 1)
                assert_memory_equal(whole, parts, sizeof whole);
        }
    /* And every share in places of its own. */
    step.share = 1;
    c.ops->dropout_forward(&c, parts, x, N, d);
    step.share = 0;
    c.ops->dropout_forward(&c, whole, x, N, d);
    assert_memory_not_equal(whole, parts, sizeof whole);
    c.step = NULL;
    ops_context_close(&c);
}

/* The exponential against the C library's, where softmax uses it. */
static void exponential_is_close(void **state)
{
    (void)state;
    const char *sets[] = {"plain", "avx2", "avx512"};
    for (int s = 0; s < 3; s++) {
        const Vectors *v = vectors_choose(sets[s]);
        double worst = 0;
        for (int64_t i = 0; v && i < 200000; i++) {
            float x[1] = {-87.0f * (float)i / 200000}, b = (float)(i % 3) * 0.1f, in = x[0];
            v->f32->exp_minus(x, b, 1);
            float argument = in - b;
            if (argument > -87.0f)
                worst = fmax(worst, fabs((double)x[0] / exp((double)argument) - 1));
            v->f32->bias_act(x, &argument, NULL, ACT_TANH, 1);
            if (argument != 0)
                worst = fmax(worst, fabs((double)x[0] / tanh((double)argument) - 1));
        }
        assert_true(worst < 2e-7);
        float edge[] = {-1e4f, -200, NAN, 0};
        if (v)
            v->f32->exp_minus(edge, 0, 4);
        assert_true(!v || (edge[0] == 0 && edge[1] == 0 && isnan(edge[2]) && edge[3] == 1));
    }
}

static void adamw_equals_the_slow_one(void **state)
{
    (void)state;
    enum { N = 1003, STEPS = 12 };
    static double p[N], m[N], v[N], g[N], want[N], wm[N], wv[N];
    static uint8_t decay[N];
    Rng rng;
    rng_seed(&rng, SEED);
    OpsContext c;
    context(&c, &ops_host_f64, 2);
    for (int i = 0; i < N; i++)
        p[i] = want[i] = rng_normal(&rng), decay[i] = (uint8_t)(i % 2), m[i] = v[i] = wm[i] = wv[i] = 0;
    for (int step = 1, done = 1; step <= STEPS; step++) {
        double gscale = step % 5 == 0 ? 0 : 0.25;
        for (int i = 0; i < N; i++)
            g[i] = step % 5 == 0 ? NAN : rng_normal(&rng);
        c.ops->adamw(&c, p, NULL, m, v, g, decay, &gscale, N, 0.01f, 0.9f, 0.98f, 1e-8f, 0.1f, done);
        if (gscale == 0)
            continue; /* nothing may have changed */
        for (int i = 0; i < N; i++) {
            double x = g[i] * gscale, lr = 0.01f, b1 = 0.9f, b2 = 0.98f;
            wm[i] = b1 * wm[i] + (1 - b1) * x;
            wv[i] = b2 * wv[i] + (1 - b2) * x * x;
            want[i] -= decay[i] ? lr * (double)0.1f * want[i] : 0;
            want[i] -=
                lr * (wm[i] / (1 - pow(b1, done))) / (sqrt(wv[i] / (1 - pow(b2, done))) + (double)1e-8f);
        }
        done++;
    }
    for (int i = 0; i < N; i++) {
        assert_true(fabs(p[i] - want[i]) < 1e-12 * (1 + fabs(want[i])));
        assert_true(fabs(m[i] - wm[i]) < 1e-13 && fabs(v[i] - wv[i]) < 1e-13);
    }
    OpsStep step = {.number = 3, .lr = 0};
    double gscale = 1, before = p[0];
    c.step = &step; /* its learning rate, 0, replaces the argument */
    g[0] = 1;
    c.ops->adamw(&c, p, NULL, m, v, g, decay, &gscale, N, 0.01f, 0.9f, 0.98f, 1e-8f, 0.1f, 1);
    assert_true(p[0] == before);
    ops_context_close(&c);
}

static void norm2_sees_what_is_not_finite(void **state)
{
    (void)state;
    enum { N = 50000 };
    float *g = calloc(N, sizeof *g), norm2;
    int32_t finite;
    OpsContext c;
    context(&c, &ops_host_f32, 2);
    for (int i = 0; i < N; i++)
        g[i] = 0.5f;
    c.ops->norm2(&c, &norm2, &finite, g, N);
    assert_true(norm2 == 0.25f * N && finite == 1);
    const float bad[] = {NAN, INFINITY, -INFINITY, 1e30f};
    for (int i = 0; i < 4; i++) {
        g[N - 1 - i * 16000] = bad[i];
        c.ops->norm2(&c, &norm2, &finite, g, N);
        assert_int_equal(finite, 0);
        g[N - 1 - i * 16000] = 0.5f;
    }
    ops_context_close(&c);
    free(g);
}

static double guard_step(OpsContext *c, OpsGuard *g, double norm2, int32_t finite, double frames, float clip,
                         float spike)
{
    double gscale = -1;
    c->ops->guard(c, g, &gscale, &norm2, &finite, &frames, clip, spike);
    return gscale;
}

static void the_guard_leaves_bad_steps_out(void **state)
{
    (void)state;
    OpsContext c;
    OpsGuard g = {0};
    context(&c, &ops_host_f64, 0);
    assert_true(guard_step(&c, &g, 100, 0, 10, 0, 4) == 0); /* not finite, from the first step on */
    assert_true(g.skipped == 1 && g.consecutive == 1 && g.total == 1 && g.seen == 0 && g.mean == 0);
    assert_true(guard_step(&c, &g, NAN, 0, 10, 0, 4) == 0);
    assert_true(guard_step(&c, &g, INFINITY, 1, 10, 0, 4) == 0); /* the sum overflowed */
    assert_true(g.skipped == 1 && g.consecutive == 3 && g.total == 3);
    for (int i = 0; i < GUARD_SETTLE; i++) { /* norms 1, and one of 100: too early to count as a spike */
        double norm = i == 7 ? 100 : 1;
        assert_true(guard_step(&c, &g, norm * norm * 400, 1, 20, 0, 4) == 1.0 / 20);
        assert_true(g.skipped == 0 && g.consecutive == 0 && g.total == 3 && g.seen == i + 1);
        assert_true(g.norm == (float)norm);
    }
    assert_true(fabsf(g.mean - 119.0f / 20) < 1e-5f);
    float mean = g.mean;
    assert_true(guard_step(&c, &g, 24 * 24 * 400, 1, 20, 0, 4) == 0); /* 24 > 4 * 5.95 */
    assert_true(g.skipped == 2 && g.consecutive == 1 && g.total == 4 && g.seen == GUARD_SETTLE &&
                g.mean == mean && g.norm == 24);
    assert_true(guard_step(&c, &g, 24 * 24 * 400, 1, 20, 0, 4) == 0);
    assert_true(g.skipped == 2 && g.consecutive == 2 && g.total == 5);
    assert_true(guard_step(&c, &g, 23 * 23 * 400, 1, 20, 0, 4) == 1.0 / 20); /* high, and not too high */
    assert_true(g.skipped == 0 && g.consecutive == 0 && g.total == 5 && g.seen == GUARD_SETTLE + 1 &&
                g.mean > mean);
    /* Clipping: the norm after scaling is the limit; under it nothing changes; 0 is no limit. */
    assert_true(fabs(guard_step(&c, &g, 8.0 * 8 * 400, 1, 20, 0.5f, 4) * sqrt(8.0 * 8 * 400) - 0.5) < 1e-12);
    assert_true(guard_step(&c, &g, 0.25 * 0.25 * 400, 1, 20, 0.5f, 4) == 1.0 / 20);
    assert_true(guard_step(&c, &g, 0, 1, 0, 0.5f, 4) == 0 && g.skipped == 0); /* a batch without a frame */
    g = (OpsGuard){.mean = 10, .seen = 5000}; /* an old mean moves by a hundredth */
    assert_true(guard_step(&c, &g, 400, 1, 20, 0, 4) > 0 && fabsf(g.mean - 9.91f) < 1e-5f);
    ops_context_close(&c);
}

/* All ways to give frames m0 and later to symbols t and later; among the best of them the one whose last
 * symbol has most frames, then the one before it, and so on: what walking back takes. */
typedef struct Paths {
    int T, M, n, now[8], best[8];
    const float *mu, *mel;
    double most;
} Paths;

static void try_paths(Paths *p, int t, int m0, double sum)
{
    int last = t == p->T - 1;
    for (int m = m0; m < p->M - (p->T - 1 - t); m++) {
        for (int k = 0; k < p->n; k++) {
            double u = p->mu[t * p->n + k];
            sum += (double)p->mel[m * p->n + k] * u - u * u / 2;
        }
        p->now[t] = m - m0 + 1;
        if (!last) {
            try_paths(p, t + 1, m + 1, sum);
        } else if (m == p->M - 1) {
            int better = sum > p->most;
            for (int i = p->T - 1; i >= 0 && sum == p->most && !better; i--) {
                better = p->now[i] > p->best[i];
                if (p->now[i] != p->best[i])
                    break;
            }
            if (better)
                memcpy(p->best, p->now, sizeof p->now), p->most = sum;
        }
    }
}

static void the_search_finds_the_best_path(void **state)
{
    (void)state;
    OpsContext c;
    Rng rng;
    context(&c, &ops_host_f32, 0);
    rng_seed(&rng, SEED);
    for (int round = 0; round < 400; round++) {
        int T = 1 + (int)rng_below(&rng, 6), M = T + (int)rng_below(&rng, 6), n = 1 + (int)rng_below(&rng, 3);
        float mu[8 * 3], mel[16 * 3], cost = -1;
        for (int i = 0; i < T * n; i++)
            mu[i] = (float)rng_below(&rng, 5) - 2;
        for (int i = 0; i < M * n; i++)
            mel[i] = (float)rng_below(&rng, 5) - 2;
        int32_t frames[8], text = T, length = M;
        Paths p = {.T = T, .M = M, .n = n, .mu = mu, .mel = mel, .most = -INFINITY};
        try_paths(&p, 0, 0, 0);
        c.ops->align_search(&c, frames, &cost, mu, mel, &text, &length, 1, T, M, n);
        double want = 0;
        for (int t = 0, m = 0; t < T; t++) {
            assert_int_equal(frames[t], p.best[t]);
            for (int end = m + frames[t]; m < end; m++)
                for (int k = 0; k < n; k++)
                    want += pow((double)mel[m * n + k] - (double)mu[t * n + k], 2);
        }
        assert_true(fabs((double)cost - want / (M * n)) < 1e-6 * (1 + want));
    }
    ops_context_close(&c);
}

/* Ops without a gradient share their code between the host's tables: these have their results written out. */
static void small_ops_by_hand(void **state)
{
    (void)state;
    OpsContext c;
    context(&c, &ops_host_f32, 0);
    int32_t len[] = {0, 1, 4, 5, 8, 801}, groups[6], filled[3] = {1, 2, 3};
    const int32_t fours[] = {0, 1, 1, 2, 2, 201};
    float total = 2, in[] = {1, 2, 6, -1, 0, -5}, mean[2];
    c.ops->length_groups(&c, groups, &total, len, 6, 4);
    assert_memory_equal(groups, fours, sizeof groups);
    assert_true(total == 2 + 819);
    c.ops->length_groups(&c, groups, NULL, len, 6, 1);
    assert_memory_equal(groups, len, sizeof groups);
    c.ops->band_mean(&c, mean, in, 2, 3);
    assert_true(mean[0] == 3 && mean[1] == -2);
    c.ops->fill_int(&c, filled, -9, 2);
    assert_true(filled[0] == -9 && filled[1] == -9 && filled[2] == 3);
    const int32_t index[] = {2, 2, 0};
    float rows[] = {1, 2, 3, 4, 5, 6}, out[6];
    c.ops->gather_forward(&c, out, rows, index, 3, 2);
    assert_memory_equal(out, ((float[]){5, 6, 5, 6, 1, 2}), sizeof out);
    c.ops->gather_backward(&c, out, rows, index, 3, 2);
    assert_memory_equal(out, ((float[]){5, 6, 0, 0, 4, 6}), sizeof out);
    /* Two items: three symbols of which one has no frame; two that reach past the end. */
    int32_t frames[] = {2, 0, 1, 3, 4, 9}, start[6], symbol[10], length[2];
    const int32_t text_len[] = {3, 2}, mel_len[] = {3, 1};
    Durations d = {frames, start, symbol};
    c.ops->durations_place(&c, &d, length, text_len, 2, 3, 5);
    assert_memory_equal(start, ((int32_t[]){0, 2, 2, 0, 3, 5}), sizeof start);
    assert_memory_equal(symbol, ((int32_t[]){0, 0, 2, -1, -1, 0, 0, 0, 1, 1}), sizeof symbol);
    assert_memory_equal(length, ((int32_t[]){3, 5}), sizeof length);
    float values[] = {1, 2, 4, 100, 100, 3, 4, 5, 7, 8}, means[6], mel[20], grouped[16];
    c.ops->symbol_means(&c, means, values, &d, 2, 2 + 1, 5);
    assert_memory_equal(means, ((float[]){1.5f, 0, 4, 4, 7.5f, 0}), sizeof means);
    for (int i = 0; i < 20; i++)
        mel[i] = (float)i + 1;
    c.ops->group_frames(&c, grouped, mel, mel_len, 2, 3, 2, 2); /* three frames of two bands each, in pairs */
    assert_memory_equal(grouped, ((float[]){1, 2, 3, 4, 5, 6, 0, 0, 7, 8, 0, 0, 0, 0, 0, 0}), sizeof grouped);
    /* Duration 3 said to be exp(0), pitch 1 and energy -1 of nothing. */
    const float nothing[] = {0, 0}, weight[] = {1, 10, 100};
    const int32_t three[] = {3, 0}, one[] = {1};
    float pred[] = {0, 1, -1, 5, 5, 5}, dpred[6], losses[] = {1, 1, 1};
    c.ops->traits_loss(&c, losses, dpred, pred, three, nothing, nothing, one, 1, 2, weight);
    assert_true(fabsf(losses[0] - (1 + 1 - 3 + 3 * logf(3))) < 1e-6f && losses[1] == 11 && losses[2] == 101);
    assert_memory_equal(dpred, ((float[]){-2, 20, -200, 0, 0, 0}), sizeof dpred);
    ops_context_close(&c);
}

static void the_table_fits_the_device(void **state)
{
    (void)state;
    Device *sim = NULL;
    assert_ptr_equal(ops_table(device, 0, NULL), &ops_host_f32);
    assert_ptr_equal(ops_table(device, 1, NULL), &ops_host_f32);
    assert_int_equal(device_open(&sim, "sim0", &(DeviceOptions){0}, NULL), 0);
    assert_ptr_equal(ops_table(sim, 1, NULL), &ops_host_f32);
    device_close(sim);
}

typedef struct Count {
    int runs[1000];
    int slots;
} Count;

static void count_task(void *arg, int task, int slot)
{
    Count *c = arg;
    __atomic_fetch_add(&c->runs[task], 1, __ATOMIC_RELAXED);
    if (slot < 0 || slot >= c->slots)
        abort();
}

static void the_pool_runs_each_task_once(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 5; threads++) {
        HostPool *p;
        assert_int_equal(host_pool_open(&p, threads, NULL), 0);
        for (int round = 0; round < 300; round++) {
            Count c = {.slots = threads};
            int tasks = round * 7 % 1000;
            host_pool_run(p, tasks, count_task, &c);
            for (int i = 0; i < 1000; i++)
                assert_int_equal(c.runs[i], i < tasks);
            if (round % 100 == 99)
                clock_sleep(0.002); /* the workers go to sleep and must wake */
        }
        host_pool_close(p);
    }
    host_pool_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_pool_runs_each_task_once),
        cmocka_unit_test(philox_is_philox),
        cmocka_unit_test(shares_drop_out_as_the_batch),
        cmocka_unit_test(exponential_is_close),
        cmocka_unit_test(every_gradient_equals_differences),
        cmocka_unit_test(single_precision_equals_double),
        cmocka_unit_test(results_do_not_depend_on_threads),
        cmocka_unit_test(padding_changes_nothing),
        cmocka_unit_test(the_search_finds_the_best_path),
        cmocka_unit_test(dropout_keeps_its_share),
        cmocka_unit_test(adamw_equals_the_slow_one),
        cmocka_unit_test(norm2_sees_what_is_not_finite),
        cmocka_unit_test(the_guard_leaves_bad_steps_out),
        cmocka_unit_test(the_table_fits_the_device),
        cmocka_unit_test(small_ops_by_hand),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
