/* test_vocoder.c - the vocoder: its gradients against differences, its sound, loss and gradients against
 * PyTorch, and the sound it makes when it is trained. */
#include "support/model_testing.h"

#include <stdio.h>

#include "audio/mel.h"
#include "model/vocoder.h"
#include "voice/safetensors.h"

/* Windows and steps that do not divide each other; longer than half of the longest spectrum of the loss. */
static const char *const small[] = {"--network",  "vocoder", "--vocoder-dim", "16",  "--vocoder-layers", "2",
                                    "--n-fft",    "128",     "--win-length",  "100", "--hop-length",     "61",
                                    "--mel-fmin", "30"};
#define SMALL (int)(sizeof small / sizeof *small), small
#define FRAMES 19

static double whole_loss(TestModel *t, const Param *p) { return test_model_loss(t, 1, 0); }

static void gradients_are_those_of_the_loss(void **state)
{
    TestModel t;
    test_model_open(&t, &ops_host_f64, 1, SMALL);
    test_model_randomise(&t, 5);
    test_vocoder_batch(&t, 3, FRAMES, 6);
    test_gradients(&t, 5, 1e-6, whole_loss);
    assert_true(test_number(&t, t.sums, SUM_FRAMES) == 2 * FRAMES); /* a row is empty */
    test_model_close(&t);
}

/* Critics learn to tell, the vocoder to be taken for a recording: each from terms of its own. */
static double loss_with_critics(TestModel *t, const Param *p)
{
    const double all = whole_loss(t, p), frames = test_number(t, t->sums, SUM_FRAMES);
    if (strncmp(p->name, "critic.", 7) == 0)
        return test_number(t, t->sums, TERM_CRITIC) / frames;
    return all +
           (test_number(t, t->sums, TERM_ADVERSARIAL) + test_number(t, t->sums, TERM_FEATURES)) / frames;
}

static const char *const with_critics[] = {"--network",
                                           "vocoder",
                                           "--vocoder-dim",
                                           "16",
                                           "--vocoder-layers",
                                           "2",
                                           "--n-fft",
                                           "128",
                                           "--win-length",
                                           "100",
                                           "--hop-length",
                                           "61",
                                           "--mel-fmin",
                                           "30",
                                           "--vocoder-critic-dim",
                                           "16",
                                           "--adversarial-loss-weight",
                                           "0.7",
                                           "--feature-loss-weight",
                                           "2"};
#define CRITICS_WORDS (int)(sizeof with_critics / sizeof *with_critics)

static void gradients_with_critics_are_those_of_the_losses(void **state)
{
    TestModel t;
    test_model_open(&t, &ops_host_f64, 1, CRITICS_WORDS, with_critics);
    assert_int_equal(t.m.critics, 7);
    t.m.critics_speak = 1;
    test_model_randomise(&t, 5);
    test_vocoder_batch(&t, 3, FRAMES, 6);
    test_gradients(&t, 5, 1e-6, loss_with_critics);
    test_model_close(&t);
}

/* Before their time, in validation, and if there are none: the same numbers, to the bit. */
static void silent_critics_change_nothing(void **state)
{
    double loss[2], norm[2];
    for (int v = 0; v < 2; v++) {
        TestModel t;
        test_model_open(&t, &ops_host_f32, 1, CRITICS_WORDS - (v ? 0 : 6), with_critics);
        params_initialise(&t.m.params, t.m.masters, 3);
        test_vocoder_batch(&t, 3, FRAMES, 6);
        loss[v] = test_model_loss(&t, 1, 1);
        norm[v] = 0;
        for (int i = 0; i < t.m.params.count; i++)
            norm[v] += test_norm(&t, t.m.grads, &t.m.params.items[i]);
        t.m.critics_speak = v;
        test_model_loss(&t, 0, 0);
        assert_true(test_number(&t, t.sums, TERM_CRITIC) == 0);
        test_model_loss(&t, 1, 1);
        assert_true((test_number(&t, t.sums, TERM_CRITIC) > 0) == v);
        for (int i = 0; i < t.m.params.count; i++)
            assert_true(test_norm(&t, t.m.grads, &t.m.params.items[i]) > 0);
        test_model_close(&t);
    }
    assert_true(loss[0] == loss[1] && norm[0] == norm[1]);
}

static void gradients_become_final(void **state)
{
    TestModel t;
    test_model_open(&t, &ops_host_f32, 1, SMALL);
    params_initialise(&t.m.params, t.m.masters, 3);
    test_vocoder_batch(&t, 3, FRAMES, 6);
    assert_true(test_finals(&t) >= 2);
    test_model_close(&t);
}

/* What an empty row holds changes nothing, and every parameter learns. */
static void empty_rows_count_nothing(void **state)
{
    TestModel t;
    test_model_open(&t, &ops_host_f32, 1, SMALL);
    params_initialise(&t.m.params, t.m.masters, 3);
    test_vocoder_batch(&t, 3, FRAMES, 6);
    const size_t bytes = (size_t)t.m.params.size * sizeof(float);
    double loss = test_model_loss(&t, 1, 1);
    assert_true(isfinite(loss) && loss > 0);
    for (int i = 0; i < t.m.params.count; i++)
        assert_true(test_norm(&t, t.m.grads, &t.m.params.items[i]) > 0);
    float *grads = malloc(bytes);
    memcpy(grads, t.m.grads, bytes);
    const size_t mel = (size_t)FRAMES * (size_t)t.cfg.n_mels, sound = (size_t)(FRAMES - 1) * 61;
    for (size_t i = 0; i < mel; i++)
        t.floats[mel + i] = (float)(i % 3) - 9;
    for (size_t i = 0; i < sound; i++)
        t.floats[3 * mel + sound + i] = (float)(i % 7) / 7;
    assert_true(test_model_loss(&t, 1, 1) == loss);
    assert_memory_equal(grads, t.m.grads, bytes);
    /* All rows empty: no loss, no frames, no gradient. */
    memset(t.ints, 0, 3 * sizeof *t.ints);
    test_model_loss(&t, 1, 1);
    assert_true(test_number(&t, t.sums, TERM_SPECTRAL) == 0 && test_number(&t, t.sums, SUM_FRAMES) == 0);
    for (int i = 0; i < t.m.params.count; i++)
        assert_true(test_norm(&t, t.m.grads, &t.m.params.items[i]) == 0);
    free(grads);
    test_model_close(&t);
}

static void threads_give_the_same_bits(void **state)
{
    void *grads = NULL;
    double loss = 0;
    for (int threads = 1; threads <= 3; threads++) {
        TestModel t;
        test_model_open(&t, &ops_host_f32, threads, SMALL);
        params_initialise(&t.m.params, t.m.masters, 3);
        test_vocoder_batch(&t, 5, FRAMES, 8);
        double now = test_model_loss(&t, 1, 1);
        size_t bytes = (size_t)t.m.params.size * sizeof(float);
        if (grads) {
            assert_true(now == loss);
            assert_memory_equal(grads, t.m.grads, bytes);
        }
        free(grads);
        grads = malloc(bytes);
        memcpy(grads, t.m.grads, bytes);
        loss = now;
        test_model_close(&t);
    }
    free(grads);
}

/* ---- PyTorch ---- */

static const TensorView *golden(const SafeTensors *f, const char *prefix, const char *name)
{
    char full[96];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    const TensorView *v = safetensors_find(f, full);
    if (!v)
        fail_msg("the golden file has no %s", full);
    return v;
}

static void compare_with_pytorch(void **state)
{
    static const char path[] = "tests/golden/vocoder.safetensors";
    SafeTensors f;
    TestModel t = {0};
    Err err = {0};
    if (safetensors_open(&f, path, &err))
        fail_msg("%s", err.msg);
    const char *yaml = safetensors_meta(&f, "config");
    if (config_load_text(&t.cfg, path, yaml, strlen(yaml), 0, NULL, &err))
        fail_msg("%s", err.msg);
    test_model_open_loaded(&t, &ops_host_f32, 2, 13, 0);
    for (int i = 0; i < t.m.params.count; i++) {
        const Param *p = &t.m.params.items[i];
        const TensorView *v = golden(&f, "param.", p->name);
        assert_int_equal(v->bytes, (uint64_t)p->count * sizeof(float));
        memcpy((float *)t.m.masters + p->offset, v->data, v->bytes);
    }
    const TensorView *mel = golden(&f, "", "batch.mel");
    t.in = (ModelInput){.B = (int)mel->shape[0],
                        .M = (int)mel->shape[1],
                        .mel_length = golden(&f, "", "batch.mel_length")->data,
                        .mel = mel->data,
                        .samples = golden(&f, "", "batch.samples")->data};
    t.run_memory = aligned_alloc(256, pass_bytes(&t.m, &ops_host_f32, t.in.B, 0, t.in.M, 1));
    assert_int_equal(pass_open(&t.run, &t.m, &t.in, t.run_memory, 1, &err), 0);
    double loss = test_model_loss(&t, 1, 1), frames = test_number(&t, t.sums, SUM_FRAMES), worst = 0;
    double theirs = (double)*(const float *)golden(&f, "", "loss")->data;
    if (!(fabs(loss - theirs) < 1e-5 * theirs))
        fail_msg("the loss is %.8g, PyTorch says %.8g", loss, theirs);
    /* Rows 0 and 2 of ours are the two of the golden file. */
    PassOutput out;
    pass_output(t.run, &out);
    const int64_t samples = (int64_t)(t.in.M - 1) * t.cfg.hop_length;
    const float *wave = golden(&f, "", "out.wave")->data;
    double sound = test_relative(out.wave, wave, samples);
    sound = fmax(sound, test_relative((const float *)out.wave + 2 * samples, wave + samples, samples));
    if (!(sound < 2e-5))
        fail_msg("the sound differs from PyTorch's by %.3g of its size", sound);
    for (int i = 0; i < t.m.params.count; i++) {
        const Param *p = &t.m.params.items[i];
        float *grad = (float *)t.m.grads + p->offset;
        for (int64_t k = 0; k < p->count; k++)
            grad[k] /= (float)frames;
        double d = test_relative(grad, golden(&f, "grad.", p->name)->data, p->count);
        worst = fmax(worst, d);
        if (d > 1e-3)
            fail_msg("gradient of %s: relative difference %.3g from PyTorch's", p->name, d);
    }
    printf("loss %.7g, PyTorch %.7g; sound %.1e; %d gradients, worst relative difference %.1e\n", loss,
           theirs, sound, t.m.params.count, worst);
    test_model_close(&t);
    safetensors_close(&f);
}

/* ---- sound ---- */

/* What vocoder_run makes is what a pass makes, and in pieces with enough around them it is the same. */
static void it_makes_sound_in_pieces(void **state)
{
    TestModel t;
    Vocoder *v;
    PassOutput o;
    Err err = {0};
    enum { LONG = 60, PIECE = 10 };
    test_model_open(&t, &ops_host_f32, 2, SMALL);
    test_model_randomise(&t, 3);
    test_vocoder_batch(&t, 1, LONG, 6);
    test_model_loss(&t, 0, 0);
    pass_output(t.run, &o);
    const int hop = t.cfg.hop_length, n = t.cfg.n_mels, context = vocoder_context(&t.cfg);
    const float *whole = o.wave;
    float *samples = calloc((size_t)LONG * (size_t)hop, sizeof *samples);
    assert_int_equal(context, 3 + 2 * 3 + 2);
    assert_int_equal(vocoder_open(&v, &t.m, LONG, &err), 0);
    assert_int_equal(vocoder_run(v, samples, t.in.mel, LONG, &err), 0);
    assert_memory_equal(samples, whole, (size_t)(LONG - 1) * (size_t)hop * sizeof *samples);
    for (int from = 0; from + 1 < LONG; from += PIECE) {
        int to = from + PIECE < LONG - 1 ? from + PIECE : LONG - 1,
            first = from > context ? from - context : 0,
            last = to + context < LONG - 1 ? to + context : LONG - 1;
        assert_int_equal(vocoder_run(v, samples, t.in.mel + first * n, last - first + 1, &err), 0);
        for (int i = from * hop; i < to * hop; i++)
            if (!(fabsf(samples[i - first * hop] - whole[i]) < 1e-5f * (1 + fabsf(whole[i]))))
                fail_msg("sample %d is %g in a piece and %g in the whole", i,
                         (double)samples[i - first * hop], (double)whole[i]);
    }
    /* Weights that are no numbers are an error, not noise. */
    test_set(&t, t.m.masters, t.m.vocoder.input.b, NAN);
    assert_int_equal(vocoder_run(v, samples, t.in.mel, LONG, &err), ERR_DATA);
    vocoder_close(v);
    vocoder_close(NULL);
    free(samples);
    test_model_close(&t);
}

/* The prior alone, before anything is learned: silence stays silent, and what is loud is loud. */
static void it_begins_with_the_envelope(void **state)
{
    TestModel t;
    Vocoder *v;
    Err err = {0};
    enum { LONG = 40 };
    test_model_open(&t, &ops_host_f32, 1, SMALL);
    params_initialise(&t.m.params, t.m.masters, 3);
    const int hop = t.cfg.hop_length, n = t.cfg.n_mels;
    float *mel = calloc((size_t)LONG * (size_t)n, sizeof *mel);
    float *samples = calloc((size_t)LONG * (size_t)hop, sizeof *samples);
    for (int i = 0; i < LONG * n; i++)
        mel[i] = i < LONG / 2 * n ? MEL_LOG_FLOOR : -1;
    assert_int_equal(vocoder_open(&v, &t.m, LONG, &err), 0);
    assert_int_equal(vocoder_run(v, samples, mel, LONG, &err), 0);
    double quiet = 0, loud = 0;
    for (int i = 0; i < 15 * hop; i++) {
        quiet = fmax(quiet, (double)fabsf(samples[i]));
        loud = fmax(loud, (double)fabsf(samples[(LONG - 1) * hop - 1 - i]));
    }
    assert_true(quiet < 1e-3 && loud > 1e-2);
    vocoder_close(v);
    free(mel);
    free(samples);
    test_model_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_those_of_the_loss),
        cmocka_unit_test(gradients_with_critics_are_those_of_the_losses),
        cmocka_unit_test(silent_critics_change_nothing),
        cmocka_unit_test(gradients_become_final),
        cmocka_unit_test(empty_rows_count_nothing),
        cmocka_unit_test(threads_give_the_same_bits),
        cmocka_unit_test(compare_with_pytorch),
        cmocka_unit_test(it_makes_sound_in_pieces),
        cmocka_unit_test(it_begins_with_the_envelope),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
