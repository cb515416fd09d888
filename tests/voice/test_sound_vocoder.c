/* test_sound_vocoder.c - the sound stage of a trained vocoder: pieces of a mel give the sound of the whole,
 * another mel and numbers that are none are refused, and every device makes the same sound. */
#include "support/folder_testing.h"
#include "support/vocoder_testing.h"

#include <math.h>

#include "audio/mel.h"
#include "base/rng.h"
#include "voice/sound.h"
#include "voice/vocoder_file.h"

#define SMALL "\"vocoder_dim\": 16, \"vocoder_layers\": 2, " SMALL_MEL
#define BANDS 16
#define HOP 100
/* 3 for the first filter, 3 for that of every block, 2 for transforms of 256 points. */
#define CONTEXT (3 + 2 * 3 + 2)

typedef struct Lab {
    Folder folder;
    Checkpoint vocoder;
    Device *device;
    SoundOptions o;
} Lab;

static int setup_lab(void **state)
{
    Lab *lab = calloc(1, sizeof *lab);
    Err err = {0};
    lab->folder = folder_make();
    write_vocoder(folder_file(&lab->folder, "step-00000007.safetensors"), SMALL, NULL);
    if (vocoder_file_open(&lab->vocoder, lab->folder.path, NULL, &err) ||
        device_open(&lab->device, "cpu", &(DeviceOptions){0}, &err))
        fail_msg("%s", err.msg);
    lab->o = (SoundOptions){.cfg = &lab->vocoder.cfg, .vocoder = &lab->vocoder, .device = lab->device};
    *state = lab;
    return 0;
}

static int teardown_lab(void **state)
{
    Lab *lab = *state;
    device_close(lab->device);
    checkpoint_close(&lab->vocoder);
    folder_remove(&lab->folder);
    free(lab);
    return 0;
}

static float *random_mel(int64_t frames)
{
    float *mel = calloc((size_t)frames * BANDS, sizeof *mel);
    Rng r;
    rng_seed(&r, (uint64_t)frames);
    for (int64_t i = 0; i < frames * BANDS; i++)
        mel[i] = (float)(-6 + 6 * rng_uniform(&r));
    return mel;
}

typedef struct Collected {
    float *samples;
    int64_t count, first;
    int pieces, stop_at;
} Collected;

static int take(void *arg, float *samples, int64_t count, Err *err)
{
    Collected *c = arg;
    c->samples = realloc(c->samples, (size_t)(c->count + count) * sizeof *samples);
    memcpy(c->samples + c->count, samples, (size_t)count * sizeof *samples);
    c->count += count;
    c->first = c->pieces++ ? c->first : count;
    return c->pieces == c->stop_at ? ERR_STOPPED : 0;
}

/* With this many rounds behind it. Returns the largest difference. */
static double compare_pieces(Lab *lab, int rounds)
{
    static const int64_t lengths[] = {2, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 200, 700};
    Sound *s;
    void *stage;
    Err err = {0};
    double worst = 0;
    SoundOptions o = lab->o;
    o.iterations = rounds;
    assert_int_equal(sound_open(&s, &o, &err), 0);
    assert_int_equal(sound_vocoder.open(&stage, &o, &err), 0);
    assert_int_equal(sound_vocoder.context(stage), CONTEXT);
    /* A window of 200 samples is two hops. */
    assert_int_equal(sound_vocoder.refine_context(stage), rounds == SOUND_NONE ? 0 : 2 * rounds + 1);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        const int64_t frames = lengths[i], count = (frames - 1) * HOP;
        float *mel = random_mel(frames), *whole = calloc((size_t)count, sizeof *whole), *made;
        int64_t n;
        Collected c = {0};
        assert_int_equal(sound_vocoder.samples(stage, frames), count);
        assert_int_equal(sound_vocoder.run(stage, whole, mel, frames, &err), 0);
        assert_int_equal(sound_vocoder.refine(stage, whole, mel, frames, &err), 0);
        assert_int_equal(sound_make(s, &made, &n, mel, frames, 30, &err), 0);
        assert_int_equal(sound_stream(s, mel, frames, 30, take, &c, &err), 0);
        assert_int_equal(n, count + 30);
        assert_int_equal(c.count, n);
        assert_memory_equal(c.samples, made, (size_t)n * sizeof *made);
        double loud = 0, error = 0;
        for (int64_t k = 0; k < count; k++) {
            loud = fmax(loud, fabs((double)whole[k]));
            error = fmax(error, fabs((double)whole[k] - (double)made[k]));
        }
        for (int64_t k = count; k < n; k++)
            assert_true(made[k] == 0);
        assert_true(loud > 0.001);
        worst = fmax(worst, error / loud);
        /* The first comes long before the last. */
        assert_int_equal(c.pieces > 1, frames >= 32);
        assert_true(frames < 32 || c.first == 16 * HOP);
        free(mel);
        free(whole);
        free(made);
        free(c.samples);
    }
    sound_vocoder.close(stage);
    sound_close(s);
    return worst;
}

static void pieces_give_the_whole(void **state)
{
    static const int rounds[] = {SOUND_NONE, 1, 16, 32};
    for (size_t i = 0; i < sizeof rounds / sizeof *rounds; i++) {
        double worst = compare_pieces(*state, rounds[i]);
        print_message("%d rounds: pieces and the whole differ by %.1e of the loudest sample at most\n",
                      rounds[i], worst);
        assert_true(worst < 1e-5);
    }
}

/* |log mel of the sound - log mel|, on the average. */
static double mel_distance(const Lab *lab, const float *samples, const float *mel, int64_t frames)
{
    MelPlan *plan;
    MelScratch *scratch;
    double sum = 0;
    float *own = calloc((size_t)frames * BANDS, sizeof *own);
    assert_int_equal(mel_plan_open(&plan, &lab->vocoder.cfg, NULL), 0);
    assert_int_equal(mel_scratch_open(&scratch, plan, NULL), 0);
    mel_compute(plan, scratch, own, samples, (frames - 1) * HOP);
    for (int64_t i = 0; i < frames * BANDS; i++)
        sum += fabs((double)own[i] - (double)mel[i]);
    mel_scratch_close(scratch);
    mel_plan_close(plan);
    free(own);
    return sum / (double)(frames * BANDS);
}

/* The mel of the sound comes closer to the one that was given, round by round. */
static void rounds_bring_the_mel_closer(void **state)
{
    Lab *lab = *state;
    static const int rounds[] = {SOUND_NONE, 2, 8, 32};
    const int64_t frames = 200;
    float *mel = random_mel(frames);
    double last = 1e9;
    for (size_t i = 0; i < sizeof rounds / sizeof *rounds; i++) {
        Sound *s;
        float *made;
        int64_t n;
        SoundOptions o = lab->o;
        o.iterations = rounds[i];
        assert_int_equal(sound_open(&s, &o, NULL), 0);
        assert_int_equal(sound_make(s, &made, &n, mel, frames, 0, NULL), 0);
        double distance = mel_distance(lab, made, mel, frames);
        print_message("%d rounds: %.3f from the mel\n", rounds[i], distance);
        assert_true(distance < last);
        last = distance;
        free(made);
        sound_close(s);
    }
    free(mel);
}

static void a_sink_that_has_enough_ends_it(void **state)
{
    Lab *lab = *state;
    Sound *s;
    Err err = {0};
    float *mel = random_mel(300);
    Collected c = {.stop_at = 2};
    assert_int_equal(sound_open(&s, &lab->o, &err), 0);
    assert_int_equal(sound_stream(s, mel, 300, 0, take, &c, &err), ERR_STOPPED);
    assert_int_equal(c.pieces, 2);
    free(c.samples);
    free(mel);
    sound_close(s);
}

static void threads_and_devices_do_not_change_it(void **state)
{
    Lab *lab = *state;
    static const struct {
        const char *device;
        int threads;
    } cases[] = {{"cpu", 1}, {"cpu", 2}, {"cpu", 3}, {"sim0", 1}};
    float *mel = random_mel(150), *first = NULL;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Sound *s;
        Err err = {0};
        float *made;
        int64_t n;
        SoundOptions o = lab->o;
        assert_int_equal(device_open(&o.device, cases[i].device, &(DeviceOptions){0}, &err), 0);
        o.threads = cases[i].threads;
        assert_int_equal(sound_open(&s, &o, &err), 0);
        assert_int_equal(sound_make(s, &made, &n, mel, 150, 0, &err), 0);
        if (first)
            assert_memory_equal(made, first, (size_t)n * sizeof *made);
        sound_close(s);
        device_close(o.device);
        if (!first)
            first = made;
        else
            free(made);
    }
    free(first);
    free(mel);
}

static void another_mel_is_refused_with_both_values(void **state)
{
    Lab *lab = *state;
    Config other = lab->vocoder.cfg;
    SoundOptions o = lab->o;
    Sound *s = (Sound *)&other;
    Err err = {0};
    other.hop_length = 64;
    o.cfg = &other;
    assert_int_equal(sound_open(&s, &o, &err), ERR_CONFIG);
    assert_null(s);
    print_message("%s\n", err.msg);
    assert_true(strstr(err.msg, "hop_length 100") && strstr(err.msg, "hop_length 64"));
    assert_non_null(strstr(err.hint, "griffin_lim"));
    /* What does not change a mel may differ. */
    other = lab->vocoder.cfg;
    other.batch_size++;
    other.mel_loss_weight *= 2;
    assert_int_equal(sound_open(&s, &o, &err), 0);
    sound_close(s);
}

static void numbers_that_are_none_are_errors(void **state)
{
    Lab *lab = *state;
    const char *file = folder_file(&lab->folder, "nan.safetensors");
    Checkpoint bad;
    SoundOptions o = lab->o;
    Sound *s;
    Err err = {0};
    write_vocoder(file, SMALL, "vocoder.head.weight");
    assert_int_equal(vocoder_file_open(&bad, file, NULL, &err), 0);
    o.vocoder = &bad;
    assert_int_equal(sound_open(&s, &o, &err), ERR_DATA);
    assert_null(s);
    print_message("%s\n", err.msg);
    assert_true(strstr(err.msg, "vocoder.head.weight") && strstr(err.msg, "nan.safetensors"));
    checkpoint_close(&bad);
    /* A mel can be wrong too. */
    float *mel = random_mel(40), *made;
    int64_t n;
    err_clear(&err);
    mel[20 * BANDS + 3] = NAN;
    assert_int_equal(sound_open(&s, &lab->o, &err), 0);
    assert_int_equal(sound_make(s, &made, &n, mel, 40, 0, &err), ERR_DATA);
    assert_null(made);
    assert_non_null(strstr(err.msg, "not finite"));
    for (int64_t frames = 0; frames < 2; frames++) {
        err_clear(&err);
        assert_int_equal(sound_make(s, &made, &n, mel, frames, 5, &err), ERR_DATA);
        assert_null(made);
    }
    free(mel);
    sound_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_give_the_whole),
        cmocka_unit_test(rounds_bring_the_mel_closer),
        cmocka_unit_test(a_sink_that_has_enough_ends_it),
        cmocka_unit_test(threads_and_devices_do_not_change_it),
        cmocka_unit_test(another_mel_is_refused_with_both_values),
        cmocka_unit_test(numbers_that_are_none_are_errors),
    };
    return cmocka_run_group_tests(tests, setup_lab, teardown_lab);
}
