/* test_synthesis.c - the network speaks: the same numbers as in training, every symbol spoken, speed, pitch,
 * voices, limits. */
#include "support/model_testing.h"

#include <stdio.h>

#include "model/synthesis.h"

#define T 9  /* tokens of row 0 */
#define M 26 /* frames of row 0 */

static const char *const plain[] = {"--dropout", "0"};
static const char *const one_voice[] = {"--use-voice-conditioning", "false"};
typedef struct Style {
    double speed, pitch;
    int language;
} Style;
static const Style usual = {.speed = 1};
#define LIST(a) (int)(sizeof a / sizeof *a), a

static const Param *params_find(const ParamList *l, const char *name)
{
    for (int i = 0; i < l->count; i++)
        if (strcmp(l->items[i].name, name) == 0)
            return &l->items[i];
    fail_msg("there is no parameter %s", name);
    return NULL;
}

/* Three rows: 0 is spoken, 1 gives the voice, 2 is empty. Durations are around four frames. */
static void open_model(TestModel *t, int argc, const char *const *more)
{
    test_model_open(t, &ops_host_f32, 2, argc, more);
    test_model_randomise(t, 41);
    const Param *p = params_find(&t->m.params, "predictor.traits.bias");
    ((float *)t->m.masters)[p->offset + TRAIT_DURATION] = 1.4f;
    test_model_batch(t, 3, T, M, 42);
}

static Synthesiser *open_synthesiser(TestModel *t, int rows, int text, int frames, int grow)
{
    Synthesiser *s = NULL;
    Err err = {0};
    uint64_t before = t->device->used;
    SynthesisLimits limits = {rows, text, frames, M, grow};
    if (synthesiser_open(&s, &t->m, &limits, &err))
        fail_msg("%s", err.msg);
    assert_int_equal(t->device->used - before, synthesiser_bytes(&t->m, t->c.ops, &limits));
    return s;
}

static Speech speak(Synthesiser *s, const int32_t *tokens, int count, const float *voice, const Style *style)
{
    Speech out;
    Err err = {0};
    SynthesisText text = {.tokens = tokens,
                          .count = count,
                          .voice = voice,
                          .speed = style->speed,
                          .pitch = style->pitch,
                          .language = style->language};
    if (synthesiser_speak(s, &out, &text, 1, &err))
        fail_msg("%s", err.msg);
    return out;
}

static const float *row_mel(const TestModel *t, int row)
{
    return t->in.mel + (size_t)row * M * (size_t)t->cfg.n_mels;
}

static double worst_of(const float *a, const float *b, size_t n)
{
    double worst = 0;
    for (size_t i = 0; i < n; i++)
        worst = fmax(worst, fabs((double)a[i] - (double)b[i]));
    return worst;
}

/* The traits that training would have predicted for row 0 are those that speech is made of; and with the
 * durations, pitch and energy that it chose, the training network gives the same mel. */
static void speech_is_what_the_network_says(void **state)
{
    for (int variant = 0; variant < 2; variant++) {
        TestModel t;
        float voice[8] = {0};
        Err err = {0};
        PassOutput o;
        if (variant)
            open_model(&t, LIST(one_voice));
        else
            open_model(&t, LIST(plain));
        Synthesiser *s = open_synthesiser(&t, 1, T, 256, 0);
        if (t.m.use_voice)
            assert_int_equal(synthesiser_listen(s, voice, row_mel(&t, 1), t.in.mel_length[1], &err), 0);
        t.ints[t.in.language - t.ints] = 2;
        Speech out = speak(s, t.in.tokens, T, voice, &(Style){.speed = 1, .language = 2});
        pass_forward(t.run, 0);
        pass_output(t.run, &o);
        double wanted = 0, pitch = 0;
        int sum = 0;
        for (int i = 0; i < T; i++) {
            const float *traits = (const float *)o.traits + i * TRAIT_COUNT;
            wanted += exp((double)traits[TRAIT_DURATION]);
            sum += out.durations[i];
            assert_true(out.durations[i] >= 1);
            pitch = fmax(pitch, fabs((double)traits[TRAIT_PITCH] - (double)out.pitch[i]));
        }
        assert_int_equal(sum, out.frames);
        assert_true(pitch < 1e-5);
        printf("%s: %d symbols in %d frames, %.2f predicted; pitch differs from training's by %.1e\n",
               variant ? "one voice" : "voices", T, out.frames, wanted, pitch);
        assert_true(fabs(wanted - sum) <= 0.5 + T);
        speech_free(&out);
        synthesiser_close(s);
        assert_int_equal(t.device->used, 0);
        test_model_close(&t);
    }
}

static void durations_keep_the_length(void **state)
{
    float logs[400];
    int32_t out[400];
    Rng r;
    rng_seed(&r, 3);
    for (int i = 0; i < 400; i++)
        logs[i] = (float)(0.8 + 0.7 * rng_normal(&r));
    for (double speed = 0.5; speed <= 2; speed *= 2) {
        double wanted = 0;
        int64_t given = durations_round(out, logs, 400, speed), sum = 0;
        for (int i = 0; i < 400; i++) {
            wanted += exp((double)logs[i]) / speed;
            sum += out[i];
            assert_true(out[i] >= 1);
            if (speed < 1)
                assert_true(fabs(wanted - (double)sum) <= 0.5 + 1e-9 || out[i] == 1);
        }
        assert_int_equal(sum, given);
        printf("speed %.1f: %.2f frames wanted, %lld given\n", speed, wanted, (long long)given);
        assert_true(speed > 1 || fabs(wanted - (double)given) < 2);
    }
    const float broken[3] = {100, -100, 1}; /* no symbol lasts for ever, none is left out */
    assert_true(durations_round(out, broken, 3, 1) < 3000);
    assert_true(out[0] >= 1 && out[1] == 1 && out[2] >= 1);
}

static void speed_and_pitch_move(void **state)
{
    TestModel t;
    float voice[8] = {0.5f};
    open_model(&t, LIST(plain));
    Synthesiser *s = open_synthesiser(&t, 1, T, 64, 1);
    Speech a = speak(s, t.in.tokens, T, voice, &usual),
           b = speak(s, t.in.tokens, T, voice, &(Style){.speed = 0.5});
    Speech c = speak(s, t.in.tokens, T, voice, &(Style){.speed = 1, .pitch = 1.5});
    assert_true(abs(b.frames - 2 * a.frames) <= 2);
    assert_int_equal(a.frames, c.frames);
    for (int i = 0; i < T; i++)
        assert_true(fabs((double)c.pitch[i] - (double)a.pitch[i] - 1.5) < 1e-5);
    double moved = worst_of(a.mel, c.mel, (size_t)a.frames * (size_t)t.cfg.n_mels);
    printf("%d frames, %d at half speed; pitch moves the mel by up to %.2f\n", a.frames, b.frames, moved);
    assert_true(moved > 1e-3);
    speech_free(&a), speech_free(&b), speech_free(&c);
    synthesiser_close(s);
    test_model_close(&t);
}

static void together_as_alone(void **state)
{
    TestModel t;
    float one[8] = {0.5f, -1}, two[8] = {-0.3f, 0.2f, 1};
    Err err = {0};
    open_model(&t, LIST(plain));
    Synthesiser *s = open_synthesiser(&t, 3, T, 64, 1), *single = open_synthesiser(&t, 1, T, 64, 1);
    /* Each at a speed and a pitch of its own, and in a language. */
    static const Style style[3] = {
        {.speed = 1}, {.speed = 0.7, .pitch = 1, .language = 2}, {.speed = 1.3, .pitch = -1, .language = 1}};
    const float *const voices[3] = {one, two, one};
    static const int first[3] = {0, 2, 1}, count[3] = {T, 4, 1};
    SynthesisText texts[3];
    for (int i = 0; i < 3; i++)
        texts[i] = (SynthesisText){.tokens = t.in.tokens + first[i],
                                   .count = count[i],
                                   .voice = voices[i],
                                   .speed = style[i].speed,
                                   .pitch = style[i].pitch,
                                   .language = style[i].language};
    Speech out[3];
    if (synthesiser_speak(s, out, texts, 3, &err))
        fail_msg("%s", err.msg);
    double worst = 0;
    for (int i = 0; i < 3; i++) {
        Speech alone = speak(single, texts[i].tokens, texts[i].count, texts[i].voice, &style[i]);
        assert_int_equal(alone.frames, out[i].frames);
        worst = fmax(worst, worst_of(alone.mel, out[i].mel, (size_t)alone.frames * (size_t)t.cfg.n_mels));
        speech_free(&alone), speech_free(&out[i]);
    }
    printf("three utterances together differ from each alone by %.1e\n", worst);
    assert_true(worst < 1e-4);
    synthesiser_close(s), synthesiser_close(single);
    test_model_close(&t);
}

/* A clip listened to is the same vector as in training. */
static void voice_is_that_of_training(void **state)
{
    TestModel t;
    Err err = {0};
    PassOutput o;
    open_model(&t, LIST(plain));
    pass_forward(t.run, 0);
    pass_output(t.run, &o);
    Synthesiser *s = open_synthesiser(&t, 1, T, 64, 0);
    double worst = 0;
    for (int row = 0; row < 2; row++) {
        float voice[8];
        assert_int_equal(synthesiser_listen(s, voice, row_mel(&t, row), t.in.mel_length[row], &err), 0);
        worst = fmax(worst, worst_of(voice, (const float *)o.voice + row * 8, 8));
    }
    printf("the voice of a clip differs from that of training by %.1e\n", worst);
    assert_true(worst < 1e-5);
    synthesiser_close(s);
    test_model_close(&t);
}

static void limits_hold(void **state)
{
    TestModel t;
    Err err = {0};
    float voice[8] = {0};
    int32_t tokens[T + 1] = {1, 2, 3};
    Speech out;
    open_model(&t, LIST(plain));
    Synthesiser *s = open_synthesiser(&t, 1, T, 8, 0);
    static const int wrong[] = {0, -1, T + 1};
    for (int i = 0; i < 3; i++) {
        SynthesisText text = {.tokens = tokens, .count = wrong[i], .voice = voice, .speed = 1};
        assert_int_equal(synthesiser_speak(s, &out, &text, 1, &err), ERR_DATA);
        assert_null(out.mel);
        assert_non_null(strstr(err.msg, "1 to 9 can be spoken"));
    }
    printf("refused: %s\n", err.msg);
    SynthesisText text = {.tokens = t.in.tokens, .count = T, .voice = voice, .speed = 1}, slow = text;
    slow.speed = 0.25;
    assert_int_equal(synthesiser_speak(s, &out, &slow, 1, &err), ERR_DATA);
    printf("refused: %s\n", err.msg);
    ((float *)t.m.masters)[params_find(&t.m.params, "text.norm.bias")->offset] = NAN;
    assert_int_equal(synthesiser_speak(s, &out, &text, 1, &err), ERR_DATA);
    assert_non_null(strstr(err.msg, "not finite"));
    synthesiser_close(s);
    test_model_close(&t);
    open_model(&t, LIST(one_voice)); /* listens to nobody */
    s = open_synthesiser(&t, 1, T, M, 0);
    assert_int_equal(synthesiser_listen(s, voice, row_mel(&t, 0), 4, &err), ERR_CONFIG);
    printf("refused: %s\n", err.msg);
    synthesiser_close(s);
    test_model_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(speech_is_what_the_network_says),
        cmocka_unit_test(durations_keep_the_length),
        cmocka_unit_test(speed_and_pitch_move),
        cmocka_unit_test(together_as_alone),
        cmocka_unit_test(voice_is_that_of_training),
        cmocka_unit_test(limits_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
