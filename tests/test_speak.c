/* test_speak.c - the network speaks: cached decoding gives what the network gives when it is told its own frames, the end, the cap, the
 * voice, the seed. */
#include "model_testing.h"

#include <stdio.h>

#include "model/speak.h"

#define T 9  /* tokens of row 0 */
#define M 26 /* frames of row 0: the cap */
#define NEVER 2.0f

static const char *const without_postnet[] = {"--prenet-dropout", "0", "--dropout", "0", "--postnet-layers", "0"};
static const char *const with_postnet[] = {"--prenet-dropout", "0", "--dropout", "0"};
static const char *const one_voice[] = {"--prenet-dropout", "0", "--postnet-layers", "0", "--use-voice-conditioning", "false"};
static const char *const dropped[] = {"--prenet-dropout", "0.5", "--dropout", "0.1"};

static Speaker *open_speaker(TestModel *t, int text, int frames, int reference)
{
    Speaker *s = NULL;
    Err err = {0};
    uint64_t before = t->device->used;
    SpeakLimits limits = {text, frames, reference};
    if (speaker_open(&s, &t->m, &limits, &err))
        fail_msg("%s", err.msg);
    assert_int_equal(t->device->used - before, speaker_bytes(&t->m, t->c.ops, &limits));
    return s;
}

static Speech say(Speaker *s, const int32_t *tokens, int count, const float *voice, uint64_t seed, float stop)
{
    Speech out;
    Err err = {0};
    if (speaker_say(s, &out, tokens, count, voice, seed, stop, &err))
        fail_msg("%s", err.msg);
    return out;
}

/* Three rows: 0 is spoken, 1 gives the voice, 2 is empty. */
static void open_model(TestModel *t, int argc, const char *const *more)
{
    test_model_open(t, &ops_host_f32, 2, argc, more);
    test_model_randomise(t, 41);
    test_model_batch(t, 3, T, M, 42);
}

static const float *row_mel(const TestModel *t, int row) { return t->in.mel + (size_t)row * M * (size_t)t->cfg.n_mels; }

static double worst_of(const float *a, const float *b, size_t n)
{
    double worst = 0;
    for (size_t i = 0; i < n; i++) {
        double d = fabs((double)a[i] - (double)b[i]);
        worst = d > worst || isnan(d) ? d : worst;
        if (isnan(d))
            break;
    }
    return worst;
}

/* Says row 0 in the voice of row 1, tells the network the frames that it said (those before the post-net), and compares. */
static void compare(const char *what, int argc, const char *const *more, int plain_argc, const char *const *plain)
{
    TestModel t, p; /* p: the same weights without the post-net, which come last in the list: its mel is what was fed back */
    float voice[8] = {0};
    Err err = {0};
    open_model(&t, argc, more);
    open_model(&p, plain_argc, plain);
    for (int i = 0; i < p.m.params.count; i++) {
        const Param *same = params_find(&t.m.params, p.m.params.items[i].name);
        assert_non_null(same);
        memcpy((float *)p.m.masters + p.m.params.items[i].offset, (float *)t.m.masters + same->offset,
               (size_t)same->count * sizeof(float));
    }
    const int n = t.cfg.n_mels, G = M / t.cfg.reduction_factor;
    Speaker *s = open_speaker(&t, T + 4, M, M), *q = open_speaker(&p, T, M + 3, M + 7);
    if (t.m.use_voice)
        assert_int_equal(speaker_listen(s, voice, row_mel(&t, 1), t.in.mel_length[1], &err), 0);
    const float *given = t.m.use_voice ? voice : NULL;
    Speech after = say(s, t.in.tokens, T, given, 1, NEVER), before = say(q, p.in.tokens, T, given, 2, NEVER);
    assert_int_equal(after.frames, M);
    assert_int_equal(after.steps, G);
    assert_int_equal(after.capped, 1);
    assert_int_equal(after.text, T);
    assert_true(before.frames >= M && before.capped);
    memcpy(t.floats, before.mel, (size_t)M * (size_t)n * sizeof(float));
    run_forward(t.run, 0);
    RunOutput o;
    run_output(t.run, &o);
    float *weights = calloc((size_t)3 * (size_t)G * T, sizeof *weights);
    run_attention(t.run, weights);
    double size = 0, mel = worst_of(after.mel, o.after, (size_t)M * (size_t)n),
           fed = worst_of(before.mel, o.before, (size_t)M * (size_t)n),
           attention = worst_of(after.attention, weights, (size_t)G * T), rows = 0;
    for (int i = 0; i < M * n; i++)
        size = fmax(size, fabs((double)after.mel[i]));
    for (int g = 0; g < G; g++) {
        double sum = 0;
        for (int j = 0; j < T; j++)
            sum += (double)after.attention[g * T + j];
        rows = fmax(rows, fabs(sum - 1));
    }
    printf(
        "%s: %d steps, values up to %.2f: cached decoding differs from the whole network by %.1e (before the post-net %.1e), its "
        "attention by %.1e; rows sum to 1 within %.1e\n",
        what, G, size, mel, fed, attention, rows);
    assert_true(size > 0.3 && mel < 1e-4 && fed < 1e-4 && attention < 1e-5 && rows < 1e-5);
    /* The end: the first step whose probability passes the threshold, for thresholds between those that come. */
    int ends = 0, seen[M + 1] = {0};
    for (int k = 0; k < G; k++) {
        double logit = (double)((const float *)o.stop)[k], stop = 1 / (1 + exp(-logit)) - 1e-4;
        int expected = 0;
        while (expected < G && 1 / (1 + exp(-(double)((const float *)o.stop)[expected])) <= stop)
            expected++;
        Speech part = say(s, t.in.tokens, T, given, 3, (float)stop);
        assert_int_equal(part.steps, expected + 1);
        assert_int_equal(part.capped, 0);
        ends += !seen[part.steps]++;
        speech_free(&part);
    }
    printf("  ended where the network ends, at %d different steps\n", ends);
    assert_true(ends >= 2);
    free(weights);
    speech_free(&after), speech_free(&before);
    speaker_close(s), speaker_close(q);
    assert_int_equal(t.device->used, 0);
    test_model_close(&t), test_model_close(&p);
}

#define LIST(a) (int)(sizeof a / sizeof *a), a

static void decoding_step_by_step_is_the_whole_network(void **state)
{
    compare("plain", LIST(without_postnet), LIST(without_postnet));
}
static void with_a_post_net_too(void **state) { compare("post-net", LIST(with_postnet), LIST(without_postnet)); }
static void with_one_voice_too(void **state) { compare("one voice", LIST(one_voice), LIST(one_voice)); }

/* A clip listened to is the same vector as in training, however much room there is behind it. */
static void voice_is_that_of_training(void **state)
{
    TestModel t;
    Err err = {0};
    RunOutput o;
    double worst = 0;
    open_model(&t, LIST(with_postnet));
    run_forward(t.run, 0);
    run_output(t.run, &o);
    static const int rooms[] = {M, M + 1, M + 38, M + 230};
    for (int k = 0; k < 4; k++) {
        Speaker *s = open_speaker(&t, T, M, rooms[k]);
        for (int row = 0; row < 2; row++) {
            float voice[8];
            assert_int_equal(speaker_listen(s, voice, row_mel(&t, row), t.in.mel_length[row], &err), 0);
            worst = fmax(worst, worst_of(voice, (const float *)o.voice + row * 8, 8));
        }
        speaker_close(s);
    }
    /* What is over the limit is left out. */
    Speaker *s = open_speaker(&t, T, M, 8), *whole = open_speaker(&t, T, M, 100);
    float cut[8], first[8], all[8];
    assert_int_equal(speaker_listen(s, cut, row_mel(&t, 0), M, &err), 0);
    assert_int_equal(speaker_listen(whole, first, row_mel(&t, 0), 8, &err), 0);
    assert_int_equal(speaker_listen(whole, all, row_mel(&t, 0), M, &err), 0);
    printf("the voice of a clip differs from that of training by %.1e; of the first 8 frames alone by %.1e, of all %d by %.2f\n",
           worst, worst_of(cut, first, 8), M, worst_of(all, first, 8));
    assert_true(worst < 1e-5 && worst_of(cut, first, 8) < 1e-6 && worst_of(all, first, 8) > 1e-3);
    speaker_close(s), speaker_close(whole);
    test_model_close(&t);
}

static void other_voice_is_heard(void **state)
{
    TestModel t;
    Err err = {0};
    float one[8], two[8];
    open_model(&t, LIST(with_postnet));
    Speaker *s = open_speaker(&t, T, M, M);
    assert_int_equal(speaker_listen(s, one, row_mel(&t, 0), t.in.mel_length[0], &err), 0);
    assert_int_equal(speaker_listen(s, two, row_mel(&t, 1), t.in.mel_length[1], &err), 0);
    Speech a = say(s, t.in.tokens, T, one, 1, NEVER), b = say(s, t.in.tokens, T, two, 1, NEVER);
    double d = worst_of(a.mel, b.mel, (size_t)M * (size_t)t.cfg.n_mels);
    printf("two voices: the mels differ by up to %.3f\n", d);
    assert_true(d > 1e-3);
    speech_free(&a), speech_free(&b);
    speaker_close(s);
    test_model_close(&t);
}

static void limits_hold(void **state)
{
    TestModel t;
    Err err = {0};
    float voice[8] = {0};
    int32_t tokens[T + 1] = {1, 2, 3};
    Speech out;
    open_model(&t, LIST(with_postnet));
    Speaker *s = open_speaker(&t, T, 7, M); /* 7 frames: 4 steps of 2 */
    Speech one = say(s, tokens, 1, voice, 1, NEVER);
    assert_int_equal(one.steps, 4);
    assert_int_equal(one.frames, 8);
    assert_int_equal(one.capped, 1);
    for (int g = 0; g < one.steps; g++)
        assert_true(fabsf(one.attention[g] - 1) < 1e-6f);  /* there is only one token to look at */
    assert_true(fabs(speech_diagonal(&one) - 0.5) < 1e-6); /* half the steps lie within a quarter of its middle */
    speech_free(&one);
    Speech none = say(s, tokens, 3, voice, 1, -1.0f); /* every probability passes */
    assert_int_equal(none.steps, 1);
    assert_int_equal(none.capped, 0);
    speech_free(&none);
    static const int wrong[] = {0, -1, T + 1};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(speaker_say(s, &out, tokens, wrong[i], voice, 1, 0.5f, &err), ERR_DATA);
        assert_null(out.mel);
        assert_non_null(strstr(err.msg, "from 1 to 9"));
    }
    printf("refused: %s\n", err.msg);
    speaker_close(s);
    test_model_close(&t);
    /* A network of one voice listens to nobody. */
    open_model(&t, LIST(one_voice));
    s = open_speaker(&t, T, M, M);
    assert_int_equal(speaker_listen(s, voice, row_mel(&t, 0), 4, &err), ERR_CONFIG);
    printf("refused: %s\n", err.msg);
    speaker_close(s);
    test_model_close(&t);
}

static void seed_decides(void **state)
{
    TestModel t;
    float voice[8] = {0.5f};
    open_model(&t, LIST(dropped));
    const size_t bytes = (size_t)M * (size_t)t.cfg.n_mels * sizeof(float);
    Speaker *s = open_speaker(&t, T, M, M), *other = open_speaker(&t, T, M, M);
    Speech a = say(s, t.in.tokens, T, voice, 7, NEVER);
    OpsStep step = {.seed = 99, .number = 5};
    t.c.step = &step; /* as while training: its seed is not for speaking, and stays */
    Speech b = say(s, t.in.tokens, T, voice, 8, NEVER), c = say(other, t.in.tokens, T, voice, 7, NEVER);
    assert_ptr_equal(t.c.step, &step);
    double far = worst_of(a.mel, b.mel, bytes / sizeof(float));
    assert_memory_equal(a.mel, c.mel, bytes);
    printf("seed 7 twice: the same %zu bytes; seed 8 differs by up to %.3f\n", bytes, far);
    assert_true(far > 1e-3);
    speech_free(&a), speech_free(&b), speech_free(&c);
    speaker_close(s), speaker_close(other);
    test_model_close(&t);
}

static void set_to_zero(TestModel *t, const char *name)
{
    const Param *p = params_find(&t->m.params, name);
    if (!p)
        fail_msg("there is no parameter %s", name);
    memset((float *)t->m.masters + p->offset, 0, (size_t)p->count * sizeof(float));
}

/* A network that says the same frame in every step, and whose steps know neither their place nor the steps before: all that is left to make its
 * attention another from step to step is the mask of the pre-net. */
static void every_step_has_a_mask_of_its_own(void **state)
{
    float voice[8] = {0.5f};
    for (int dropping = 0; dropping < 2; dropping++) {
        TestModel t;
        int different = 0;
        if (dropping)
            open_model(&t, LIST(dropped));
        else
            open_model(&t, LIST(with_postnet));
        set_to_zero(&t, "decoder.mel.weight");
        set_to_zero(&t, "decoder.position");
        for (int i = 0; i < t.cfg.decoder_layers; i++) {
            char name[64];
            snprintf(name, sizeof name, "decoder.layers.%d.out.weight", i);
            set_to_zero(&t, name);
        }
        Speaker *s = open_speaker(&t, T, M, M);
        Speech a = say(s, t.in.tokens, T, voice, 7, NEVER);
        for (int g = 2; g < a.steps; g++) /* the first step has another input */
            different += worst_of(a.attention + T, a.attention + (size_t)g * T, T) > 1e-5;
        printf("%s dropout: %d of %d steps look elsewhere than the second\n", dropping ? "with" : "without", different,
               a.steps - 2);
        assert_true(dropping ? different > (a.steps - 2) / 2 : different == 0);
        speech_free(&a);
        speaker_close(s);
        test_model_close(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decoding_step_by_step_is_the_whole_network),
        cmocka_unit_test(with_a_post_net_too),
        cmocka_unit_test(with_one_voice_too),
        cmocka_unit_test(voice_is_that_of_training),
        cmocka_unit_test(other_voice_is_heard),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(seed_decides),
        cmocka_unit_test(every_step_has_a_mask_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
