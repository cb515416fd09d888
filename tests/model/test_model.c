/* test_model.c - the network: its gradients against differences and against PyTorch, what is hidden stays
 * hidden, every parameter learns. */
#include "support/model_testing.h"

#include <stdio.h>

#include "voice/safetensors.h"

#define NONE 0, NULL

/* The loss as far as a parameter learns from it: the predictor's terms pass no gradient on. */
static double loss_seen_by(TestModel *t, const Param *p)
{
    double all = test_model_loss(t, 1, 0);
    if (strncmp(p->name, "predictor.", 10) == 0)
        return all;
    return (test_number(t, t->sums, TERM_MEL) + test_number(t, t->sums, TERM_ALIGN)) /
           test_number(t, t->sums, SUM_FRAMES);
}

static void gradients_are_those_of_the_loss(void **state)
{
    const char *more[] = {"--dropout", "0.2"};
    TestModel t;
    test_model_open(&t, &ops_host_f64, 1, 2, more);
    test_model_randomise(&t, 5);
    test_model_batch(&t, 5, 7, 18, 6);
    test_gradients(&t, 6, 1e-5, loss_seen_by);
    test_model_close(&t);
}

/* Critics learn to tell, the voice to be taken for a recording: each from terms of its own. */
static double loss_with_critics(TestModel *t, const Param *p)
{
    double all = loss_seen_by(t, p), frames = test_number(t, t->sums, SUM_FRAMES);
    if (strncmp(p->name, "critic.", 7) == 0)
        return test_number(t, t->sums, TERM_CRITIC) / frames;
    if (strncmp(p->name, "predictor.", 10) == 0)
        return all;
    return all +
           (test_number(t, t->sums, TERM_ADVERSARIAL) + test_number(t, t->sums, TERM_FEATURES)) / frames;
}

static void gradients_with_critics_are_those_of_the_losses(void **state)
{
    const char *more[] = {"--dropout", "0.2", "--adversarial-loss-weight", "0.7", "--feature-loss-weight",
                          "2"};
    TestModel t;
    test_model_open(&t, &ops_host_f64, 1, 6, more);
    t.m.critics_speak = 1;
    test_model_randomise(&t, 5);
    test_model_batch(&t, 5, 7, 18, 6);
    test_gradients(&t, 6, 1e-6, loss_with_critics);
    test_model_close(&t);
}

/* Before their time, in validation, and if there are none: the same numbers, to the bit. */
static void silent_critics_change_nothing(void **state)
{
    static const char *const variants[][2] = {{"--critic-dim", "0"}, {"--critic-dim", "16"}};
    double loss[2], norm[2];
    for (int v = 0; v < 2; v++) {
        TestModel t;
        test_model_open(&t, &ops_host_f32, 1, 2, variants[v]);
        params_initialise(&t.m.params, t.m.masters, 3);
        test_model_batch(&t, 5, 7, 12, 6);
        loss[v] = test_model_loss(&t, 1, 1);
        norm[v] = 0;
        for (int i = 0; i < t.m.params.count; i++)
            norm[v] += test_norm(&t, t.m.grads, &t.m.params.items[i]);
        t.m.critics_speak = v;
        test_model_loss(&t, 0, 0);
        assert_true(test_number(&t, t.sums, TERM_CRITIC) == 0);
        if (v) {
            test_model_loss(&t, 1, 0);
            assert_true(test_number(&t, t.sums, TERM_CRITIC) > 0);
        }
        test_model_close(&t);
    }
    assert_true(loss[0] == loss[1] && norm[0] == norm[1]);
}

static void every_parameter_has_a_gradient(void **state)
{
    static const char *const variants[][2] = {{"--use-gst", "true"},
                                              {"--use-gst", "false"},
                                              {"--use-voice-conditioning", "false"},
                                              {"--feed-forward-ratio", "1"},
                                              {"--mel-loss", "huber"}};
    for (size_t v = 0; v < sizeof variants / sizeof *variants; v++) {
        TestModel t;
        test_model_open(&t, &ops_host_f32, 1, 2, variants[v]);
        t.m.critics_speak = 1;
        params_initialise(&t.m.params, t.m.masters, 3);
        test_model_batch(&t, 5, 7, 12, 6);
        assert_true(isfinite(test_model_loss(&t, 1, 1)));
        for (int i = 0; i < t.m.params.count; i++) {
            double size = test_norm(&t, t.m.grads, &t.m.params.items[i]);
            if (!(size > 0) || !isfinite(size))
                fail_msg("%s %s: %s has a gradient of norm %g", variants[v][0], variants[v][1],
                         t.m.params.items[i].name, size);
        }
        test_model_close(&t);
    }
}

/* In many ranges: a layer may be on its way to other ranks while the next one is computed. */
static void gradients_become_final(void **state)
{
    static const char *const variants[][4] = {
        {"--use-gst", "true", "--dropout", "0.1"},
        {"--use-gst", "false", "--decoder-layers", "3"},
        {"--use-voice-conditioning", "false", "--text-encoder-layers", "2"}};
    for (size_t v = 0; v < sizeof variants / sizeof *variants; v++) {
        TestModel t;
        test_model_open(&t, &ops_host_f32, 1, 4, variants[v]);
        params_initialise(&t.m.params, t.m.masters, 3);
        test_model_batch(&t, 5, 7, 12, 6);
        int layers = t.cfg.text_encoder_layers + t.cfg.decoder_layers +
                     (t.m.use_voice ? t.cfg.audio_encoder_layers : 0);
        assert_int_equal(test_finals(&t), layers + (t.m.use_voice ? 12 : 8));
        test_model_close(&t);
    }
}

/* All gradients, or an output, as bytes to compare. */
static void *copy_of(const void *p, size_t bytes)
{
    void *c = malloc(bytes);
    memcpy(c, p, bytes);
    return c;
}

static void padding_changes_nothing(void **state)
{
    TestModel t;
    test_model_open(&t, &ops_host_f32, 1, NONE);
    t.m.critics_speak = 1;
    params_initialise(&t.m.params, t.m.masters, 3);
    test_model_batch(&t, 5, 9, 16, 8);
    size_t bytes = (size_t)t.m.params.size * sizeof(float);
    double loss = test_model_loss(&t, 1, 1);
    void *grads = copy_of(t.m.grads, bytes);
    const int n = t.cfg.n_mels;
    Rng r;
    rng_seed(&r, 1);
    int changed = 0;
    for (int b = 0; b < t.in.B; b++) {
        for (int i = t.in.text_length[b]; i < t.in.T; i++, changed++)
            t.ints[b * t.in.T + i] = (int32_t)rng_below(&r, 13);
        for (int i = t.in.mel_length[b]; i < t.in.M; i++, changed++) {
            for (int k = 0; k < n; k++)
                t.floats[(b * t.in.M + i) * n + k] = (float)rng_normal(&r);
            t.floats[t.in.B * t.in.M * n + b * t.in.M + i] = (float)rng_normal(&r);
        }
    }
    assert_true(changed > 20);
    /* The last group of four that the voice encoder sees holds frames behind the end: they may not count. */
    double again = test_model_loss(&t, 1, 1);
    if (loss != again)
        fail_msg("other values in the padding change the loss from %.9g to %.9g", loss, again);
    assert_memory_equal(grads, t.m.grads, bytes);
    free(grads);
    test_model_close(&t);
}

/* The search inside the network: all frames are given away, in order, and no symbol goes without. */
static void every_symbol_has_its_frames(void **state)
{
    TestModel t;
    PassOutput o;
    test_model_open(&t, &ops_host_f32, 1, NONE);
    params_initialise(&t.m.params, t.m.masters, 3);
    test_model_batch(&t, 6, 9, 40, 8);
    test_model_loss(&t, 0, 0);
    pass_output(t.run, &o);
    for (int b = 0; b < t.in.B; b++) {
        int sum = 0, text = t.in.text_length[b], frames = t.in.mel_length[b];
        for (int i = 0; i < t.in.T; i++) {
            int d = o.frames[b * t.in.T + i];
            assert_true(i < text ? d >= (text <= frames) : d == 0);
            sum += d;
        }
        assert_int_equal(sum, text ? frames : 0);
        assert_true(o.cost[b] >= 0 && isfinite(o.cost[b]));
    }
    test_model_close(&t);
}

static void micro_batches_add_up(void **state)
{
    const char *more[] = {"--dropout", "0"};
    TestModel t;
    Err err = {0};
    test_model_open(&t, &ops_host_f64, 1, 2, more);
    t.m.critics_speak = 1;
    test_model_randomise(&t, 4);
    test_model_batch(&t, 4, 6, 10, 2);
    for (int b = 0; b < 4; b++) /* references stay within the halves */
        t.ints[4 * 6 + 8 + b] = b ^ 1;
    double whole = test_model_loss(&t, 1, 1);
    double *grads = copy_of(t.m.grads, (size_t)t.m.params.size * sizeof(double));
    static const int32_t local[2] = {1, 0};
    pass_clear(&t.m, t.sums);
    for (int half = 0; half < 2; half++) {
        ModelInput in = t.in;
        Pass *run;
        int b = 2 * half;
        in.B = 2, in.tokens += b * in.T, in.text_length += b, in.mel_length += b, in.reference = local;
        in.language += b;
        in.mel += b * in.M * t.cfg.n_mels, in.pitch += b * in.M;
        assert_int_equal(pass_open(&run, &t.m, &in, t.run_memory, 1, &err), 0);
        pass_forward(run, 1), pass_losses(run, t.sums), pass_backward(run);
        pass_close(run);
    }
    double loss = 0;
    for (int i = 0; i < TERM_COUNT; i++)
        loss += loss_term_counts(i) * test_number(&t, t.sums, i) / test_number(&t, t.sums, SUM_FRAMES);
    assert_true(fabs(loss - whole) < 1e-12 * fabs(whole));
    for (int64_t i = 0; i < t.m.params.size; i++)
        assert_true(fabs(grads[i] - test_number(&t, t.m.grads, i)) < 1e-9);
    free(grads);
    test_model_close(&t);
}

static void threads_give_the_same_bits(void **state)
{
    void *grads = NULL;
    double loss = 0;
    for (int threads = 1; threads <= 3; threads++) {
        TestModel t;
        test_model_open(&t, &ops_host_f32, threads, NONE);
        t.m.critics_speak = 1;
        params_initialise(&t.m.params, t.m.masters, 3);
        test_model_batch(&t, 5, 9, 16, 8);
        double now = test_model_loss(&t, 1, 1);
        size_t bytes = (size_t)t.m.params.size * sizeof(float);
        if (grads) {
            assert_true(now == loss);
            assert_memory_equal(grads, t.m.grads, bytes);
        }
        free(grads);
        grads = copy_of(t.m.grads, bytes), loss = now;
        test_model_close(&t);
    }
    free(grads);
}

/* --- PyTorch --- */

typedef struct Golden {
    SafeTensors f;
    TestModel t;
} Golden;

static const TensorView *golden(const Golden *g, const char *prefix, const char *name)
{
    char full[96];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    const TensorView *v = safetensors_find(&g->f, full);
    if (!v)
        fail_msg("the golden file has no %s", full);
    return v;
}

static void golden_open(Golden *g, const char *path)
{
    Err err = {0};
    memset(g, 0, sizeof *g);
    if (safetensors_open(&g->f, path, &err))
        fail_msg("%s", err.msg);
    TestModel *t = &g->t;
    const char *yaml = safetensors_meta(&g->f, "config");
    char *without[] = {"--critic-dim", "0"}; /* what PyTorch has to agree with is the voice */
    if (config_load_text(&t->cfg, path, yaml, strlen(yaml), 2, without, &err))
        fail_msg("%s", err.msg);
    const char *languages = safetensors_meta(&g->f, "languages");
    test_model_open_loaded(t, &ops_host_f32, 2, atoi(safetensors_meta(&g->f, "symbols")),
                           languages ? atoi(languages) : 0);
    int parameters = 0;
    for (int i = 0; i < g->f.count; i++)
        parameters += strncmp(g->f.tensors[i].name, "param.", 6) == 0;
    assert_int_equal(parameters, t->m.params.count);
    for (int i = 0; i < t->m.params.count; i++) {
        const Param *p = &t->m.params.items[i];
        const TensorView *v = golden(g, "param.", p->name);
        if (v->bytes != (uint64_t)p->count * sizeof(float))
            fail_msg("%s has %lld numbers, the golden file %llu bytes", p->name, (long long)p->count,
                     (unsigned long long)v->bytes);
        memcpy((float *)t->m.masters + p->offset, v->data, v->bytes);
    }
    const TensorView *mel = golden(g, "", "batch.mel"), *tokens = golden(g, "", "batch.tokens");
    t->in = (ModelInput){.B = (int)mel->shape[0],
                         .T = (int)tokens->shape[1],
                         .M = (int)mel->shape[1],
                         .tokens = tokens->data,
                         .text_length = golden(g, "", "batch.text_length")->data,
                         .mel_length = golden(g, "", "batch.mel_length")->data,
                         .reference = golden(g, "", "batch.reference")->data,
                         .language = languages ? golden(g, "", "batch.language")->data : NULL,
                         .mel = mel->data,
                         .pitch = golden(g, "", "batch.pitch")->data};
    t->run_memory = aligned_alloc(256, pass_bytes(&t->m, &ops_host_f32, t->in.B, t->in.T, t->in.M, 1));
    assert_int_equal(pass_open(&t->run, &t->m, &t->in, t->run_memory, 1, &err), 0);
}

static void compare_with_pytorch(const char *path)
{
    Golden g;
    golden_open(&g, path);
    TestModel *t = &g.t;
    double loss = test_model_loss(t, 1, 1), frames = test_number(t, t->sums, SUM_FRAMES), worst = 0;
    const float *terms = golden(&g, "", "loss.terms")->data, *total = golden(&g, "", "loss.total")->data;
    for (int i = 0; i < TERM_COUNT; i++)
        if (loss_term_is_of(i, NETWORK_VOICE) && loss_term_counts(i) &&
            fabs(test_number(t, t->sums, i) / frames - (double)terms[i]) > 1e-5 * fabs((double)terms[i]))
            fail_msg("term %s is %.8g, PyTorch says %.8g", loss_term_name(i),
                     test_number(t, t->sums, i) / frames, (double)terms[i]);
    assert_true(fabs(loss - (double)*total) < 1e-5 * (double)*total);
    PassOutput out;
    pass_output(t->run, &out);
    assert_memory_equal(out.frames, golden(&g, "", "out.durations")->data,
                        (size_t)(t->in.B * t->in.T) * sizeof(int32_t));
    const char *name = "";
    for (int i = 0; i < t->m.params.count; i++) {
        const Param *p = &t->m.params.items[i];
        float *grad = (float *)t->m.grads + p->offset;
        for (int64_t k = 0; k < p->count; k++)
            grad[k] /= (float)frames;
        double d = test_relative(grad, golden(&g, "grad.", p->name)->data, p->count);
        if (d > worst)
            worst = d, name = p->name;
        if (d > 1e-4)
            fail_msg("gradient of %s: relative difference %.3g from PyTorch's", p->name, d);
    }
    printf("loss %.7g, PyTorch %.7g; %d gradients, worst relative difference %.1e (%s)\n", loss,
           (double)*total, t->m.params.count, worst, name);

    OpsGuard guard = {0};
    OpsStep step = {.number = 1, .lr = (float)t->cfg.learning_rate};
    float scale, norm2;
    int32_t finite;
    t->c.step = &step;
    const float *losses = golden(&g, "", "losses")->data;
    for (int i = 0; i < 10; i++) {
        loss = test_model_loss(t, 1, 1);
        if (fabs(loss - (double)losses[i]) > 1e-4 * fabs((double)losses[i]))
            fail_msg("loss of step %d is %.8g, PyTorch says %.8g", i + 1, loss, (double)losses[i]);
        step.number = i + 1;
        model_update(&t->m, &guard, &scale, &norm2, &finite, t->sums);
    }
    printf("10 steps of AdamW: loss %.6f, PyTorch %.6f\n", loss, (double)losses[9]);
    safetensors_close(&g.f);
    test_model_close(t);
}

static void the_same_as_pytorch(void **state)
{
    const char *path = getenv("MYXTTS_GOLDEN_MODEL");
    compare_with_pytorch(path ? path : "tests/golden/model.safetensors");
    if (path)
        return;
    compare_with_pytorch("tests/golden/model_plain.safetensors");
    compare_with_pytorch("tests/golden/model_languages.safetensors");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_with_critics_are_those_of_the_losses),
        cmocka_unit_test(silent_critics_change_nothing),
        cmocka_unit_test(gradients_are_those_of_the_loss),
        cmocka_unit_test(every_parameter_has_a_gradient),
        cmocka_unit_test(gradients_become_final),
        cmocka_unit_test(padding_changes_nothing),
        cmocka_unit_test(every_symbol_has_its_frames),
        cmocka_unit_test(micro_batches_add_up),
        cmocka_unit_test(threads_give_the_same_bits),
        cmocka_unit_test(the_same_as_pytorch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
