/* test_griffin_lim.c - mel to audio: the mel of the result is the given one, nearly; short, silent, broken
 * and loud input; same seed, same bits. How close librosa comes is in tests/golden/compare_griffin_lim.py. */
#include <glob.h>
#include <math.h>

#include "support/folder_testing.h"

#include "audio/griffin_lim.h"
#include "audio/mel.h"
#include "base/rng.h"
#include "dataset/audio_file.h"

#define RATE 22050

static Config settings(int n_fft, int win, int hop, int bands, double fmax)
{
    return (Config){.sample_rate = RATE,
                    .n_fft = n_fft,
                    .win_length = win,
                    .hop_length = hop,
                    .n_mels = bands,
                    .mel_fmax = fmax};
}

typedef struct Voice {
    MelPlan *plan;
    MelScratch *scratch;
    GriffinLim *g;
    int bands;
} Voice;

static Voice voice_open(Config cfg)
{
    Voice v = {.bands = cfg.n_mels};
    Err err = {0};
    if (mel_plan_open(&v.plan, &cfg, &err) || mel_scratch_open(&v.scratch, v.plan, &err) ||
        griffin_lim_open(&v.g, &cfg, &err))
        fail_msg("%s", err.msg);
    return v;
}
static Voice voice_default(void) { return voice_open(settings(1024, 1024, 256, 80, 8000)); }
static void voice_close(Voice *v)
{
    griffin_lim_close(v->g);
    mel_scratch_close(v->scratch);
    mel_plan_close(v->plan);
}

static float *floats(int64_t n) { return mem_calloc((size_t)(n > 0 ? n : 1), sizeof(float)); }

static float *mel_of(Voice *v, const float *x, int64_t n, int64_t *frames)
{
    *frames = mel_frames(v->plan, n);
    float *mel = floats(*frames * v->bands);
    mel_compute(v->plan, v->scratch, mel, x, n);
    return mel;
}

/* Exactly as many samples as announced are in memory, so that a sanitizer sees any writing past them. */
static float *speak(const Voice *v, const float *mel, int64_t frames, int iterations, uint64_t seed)
{
    Err err = {0};
    int64_t n = griffin_lim_samples(v->g, frames);
    float *x = floats(n);
    if (griffin_lim_run(v->g, x, mel, frames, iterations, seed, &err))
        fail_msg("%s", err.msg);
    for (int64_t i = 0; i < n; i++)
        assert_true(x[i] >= -1.0f && x[i] <= 1.0f);
    return x;
}

/* Mean of |log mel - log mel| between mel and what comes back from it. */
static double difference(Voice *v, const float *mel, int64_t frames, int iterations)
{
    float *x = speak(v, mel, frames, iterations, 1);
    int64_t again;
    float *back = mel_of(v, x, griffin_lim_samples(v->g, frames), &again);
    assert_int_equal(again, frames);
    double sum = 0.0;
    for (int64_t i = 0; i < frames * v->bands; i++)
        sum += fabs((double)mel[i] - (double)back[i]);
    free(x);
    free(back);
    return sum / (double)(frames * v->bands);
}

/* A voice-like buzz with a little noise: 120 Hz, falling to 100, harmonics up to half of the rate. */
static float *buzz(int64_t n)
{
    float *x = floats(n);
    Rng rng;
    rng_seed(&rng, 5);
    double phase = 0.0;
    for (int64_t i = 0; i < n; i++) {
        double f = 120.0 - 20.0 * (double)i / (double)n, v = 0.0;
        phase += 2 * M_PI * f / RATE;
        for (int k = 1; k < 40; k++)
            v += cos(phase * k + k * k) / k;
        x[i] = (float)(0.1 * v + 0.003 * rng_normal(&rng));
    }
    return x;
}

static void test_lengths(void **state)
{
    (void)state;
    static const int hops[] = {256, 100, 2, 3, 300};
    for (size_t h = 0; h < sizeof hops / sizeof hops[0]; h++) {
        Voice v = voice_open(settings(1024, 1024, hops[h], 80, 8000));
        assert_int_equal(griffin_lim_samples(v.g, 0), 0);
        for (int64_t f = 1; f < 40; f++)
            assert_int_equal(mel_frames(v.plan, griffin_lim_samples(v.g, f)), f);
        voice_close(&v);
    }
}

static void test_settings(void **state)
{
    (void)state;
    /* n_fft, window, hop, bands; the difference is what these settings give, rounded up: few bands say
     * little, much overlap helps */
    static const struct {
        int n_fft, win, hop, bands;
        double fmax, limit;
    } cases[] = {
        {1024, 1024, 256, 80, 8000, 0.07},  {1024, 800, 200, 80, 8000, 0.06},
        {1024, 1024, 300, 40, 7600, 0.025}, {2048, 2048, 512, 128, 11025, 0.12},
        {512, 400, 100, 80, 4000, 0.1},     {600, 600, 150, 64, 8000, 0.065},
        {134, 134, 67, 20, 11025, 0.04},    {1022, 801, 256, 80, 8000, 0.045},
        {1024, 1024, 64, 80, 8000, 0.075},
    };
    const int64_t n = 16000;
    float *x = buzz(n);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Voice v =
            voice_open(settings(cases[i].n_fft, cases[i].win, cases[i].hop, cases[i].bands, cases[i].fmax));
        int64_t frames;
        float *mel = mel_of(&v, x, n, &frames);
        double start = difference(&v, mel, frames, 0),
               end = difference(&v, mel, frames, GRIFFIN_LIM_ITERATIONS);
        print_message("n_fft %4d, window %4d, hop %3d, %3d bands: mean |log mel difference| %.3f, %.3f with "
                      "random phases\n",
                      cases[i].n_fft, cases[i].win, cases[i].hop, cases[i].bands, end, start);
        assert_true(end < cases[i].limit);
        assert_true(end < start / 2);
        free(mel);
        voice_close(&v);
    }
    free(x);
}

static void test_tone(void **state)
{
    (void)state;
    Voice v = voice_default();
    const int64_t n = 22050;
    float *x = floats(n);
    for (int64_t i = 0; i < n; i++)
        x[i] = 0.25f * (float)sin(2 * M_PI * 1000.0 * (double)i / RATE);
    int64_t frames;
    float *mel = mel_of(&v, x, n, &frames), *y = speak(&v, mel, frames, GRIFFIN_LIM_ITERATIONS, 1);
    int64_t m = griffin_lim_samples(v.g, frames), crossings = 0;
    double power = 0.0;
    for (int64_t i = 1; i < m; i++) {
        crossings += y[i - 1] < 0.0f && y[i] >= 0.0f;
        power += (double)y[i] * (double)y[i];
    }
    double hz = (double)crossings * RATE / (double)m, rms = sqrt(power / (double)m);
    print_message("a tone of 1000 Hz, rms %.3f: %.0f Hz, rms %.3f\n", 0.25 / sqrt(2.0), hz, rms);
    assert_true(fabs(hz - 1000) < 20);    /* the band that holds it is 90 Hz wide */
    assert_true(rms > 0.10 && rms < 0.2); /* and not louder than it was */
    free(x);
    free(mel);
    free(y);
    voice_close(&v);
}

static void test_ljspeech(void **state)
{
    (void)state;
    const char *data = getenv("MYXTTS_DATA"), *all = getenv("MYXTTS_LONG");
    char pattern[512];
    glob_t found = {0};
    assert_int_equal(glob("tests/data/ljspeech/wavs/*.wav", 0, NULL, &found), 0);
    if (all && *all && data && *data) { /* those of the whole folder too */
        snprintf(pattern, sizeof pattern, "%s/ljspeech-mini/wavs/*.wav", data);
        glob(pattern, GLOB_APPEND, NULL, &found);
    }
    Voice v = voice_default();
    AudioBuffer audio = {0};
    double sum = 0.0;
    int clips = 0;
    for (size_t i = 0; i < found.gl_pathc; i++, clips++) {
        Buf b = file_bytes(found.gl_pathv[i]);
        char detail[256];
        if (audio_decode(&audio, b.data, b.size, found.gl_pathv[i], 0, detail, sizeof detail))
            fail_msg("%s", detail);
        buf_free(&b);
        /* Half as loud: phases found anew can add up to more than the recording's peak, and the limit to -1
         * .. 1, which is tested elsewhere, would then count as a difference in every band. */
        for (int64_t k = 0; k < audio.frames; k++)
            audio.samples[k] *= 0.5f;
        int64_t frames;
        float *mel = mel_of(&v, audio.samples, audio.frames, &frames);
        double d = difference(&v, mel, frames, 32);
        assert_true(d < 0.09);
        sum += d;
        free(mel);
    }
    print_message("%d clips of LJSpeech, 32 iterations: mean |log mel difference| %.4f\n", clips,
                  sum / clips);
    assert_true(sum / clips < 0.085);
    audio_buffer_free(&audio);
    globfree(&found);
    voice_close(&v);
}

static void test_short_and_silent(void **state)
{
    (void)state;
    Voice v = voice_default();
    float *x = buzz(4000);
    for (int64_t frames = 1; frames <= 9; frames++) {
        int64_t n = griffin_lim_samples(v.g, frames), again;
        float *mel = mel_of(&v, x, n, &again);
        assert_int_equal(again, frames);
        double d = difference(&v, mel, frames, GRIFFIN_LIM_ITERATIONS);
        print_message("%lld frames: mean |log mel difference| %.3f\n", (long long)frames, d);
        assert_true(d < 0.25);
        free(mel);
    }
    free(x);
    const int64_t frames = 21;
    float *mel = floats(frames * v.bands);
    for (int64_t i = 0; i < frames * v.bands; i++)
        mel[i] = logf(MEL_FLOOR);
    float *y = speak(&v, mel, frames, GRIFFIN_LIM_ITERATIONS, 1);
    for (int64_t i = 0; i < griffin_lim_samples(v.g, frames); i++)
        assert_true(fabsf(y[i]) < 1.0f / 65536); /* silence in a 16-bit file */
    free(y);
    assert_true(difference(&v, mel, frames, GRIFFIN_LIM_ITERATIONS) < 0.01);
    free(mel);
    voice_close(&v);
}

/* The largest sample of a mel that has nothing but these values, one after the other. */
static float peak_of(const Voice *v, const float *values, int count, int64_t frames)
{
    float peak = 0.0f, *mel = floats(frames * v->bands);
    for (int64_t i = 0; i < frames * v->bands; i++)
        mel[i] = values[i % count];
    float *y = speak(v, mel, frames, 10, 1); /* asserts -1 .. 1, which NaN is not */
    for (int64_t i = 0; i < griffin_lim_samples(v->g, frames); i++)
        peak = fmaxf(peak, fabsf(y[i]));
    free(y);
    free(mel);
    return peak;
}

static void test_broken_mels(void **state)
{
    (void)state;
    Voice v = voice_default();
    static const float bad[] = {NAN, HUGE_VALF, -HUGE_VALF, 3e38f, -3e38f, 50.0f, -50.0f, 0.0f};
    static const float nothing[] = {NAN};
    float peak = peak_of(&v, bad, 8, 20);
    assert_true(peak > 0.999f && peak <= 1.0f); /* made softer, all of it, until it just fits */
    assert_true(peak_of(&v, nothing, 1, 20) < 1.0f / 65536);
    Err err = {0};
    float one, *mel = floats(v.bands);
    assert_int_equal(griffin_lim_run(v.g, &one, mel, 0, 10, 1, &err), ERR_DATA);
    assert_int_equal(griffin_lim_run(v.g, &one, mel, 1, -1, 1, &err), ERR_DATA);
    assert_int_equal(griffin_lim_run(v.g, &one, mel, INT64_C(1) << 40, 1, 1, &err), ERR_DATA);
    free(mel);
    voice_close(&v);
}

/* The limit changes the level and nothing else: too loud by a factor of 100, and the same clip within the
 * limit. */
static void test_too_loud(void **state)
{
    (void)state;
    Voice v = voice_default();
    const int64_t frames = 20;
    float *x = buzz(5000), loud = 0.0f, soft = 0.0f;
    int64_t n = griffin_lim_samples(v.g, frames), given;
    assert_true(n <= 5000);
    float *quiet = mel_of(&v, x, n, &given), *shout = floats(frames * v.bands);
    assert_int_equal(given, frames);
    for (int64_t i = 0; i < frames * v.bands; i++) {
        quiet[i] = fmaxf(quiet[i], -6.0f); /* well above the floor, so that both are the same sound */
        shout[i] = quiet[i] + logf(100.0f);
    }
    float *a = speak(&v, quiet, frames, 10, 1), *b = speak(&v, shout, frames, 10, 1);
    for (int64_t i = 0; i < n; i++)
        soft = fmaxf(soft, fabsf(a[i])), loud = fmaxf(loud, fabsf(b[i]));
    assert_true(soft > 0.05f && soft < 0.99f && loud > 0.999f);
    for (int64_t i = 0; i < n; i++)
        assert_true(fabsf(a[i] / soft - b[i] / loud) < 0.02f);
    free(x);
    free(quiet);
    free(shout);
    free(a);
    free(b);
    voice_close(&v);
}

static void test_settings_it_cannot_turn_back(void **state)
{
    (void)state;
    Config cfg = settings(1023, 1023, 256, 80, 8000);
    Err err = {0};
    GriffinLim *g;
    assert_int_equal(griffin_lim_open(&g, &cfg, &err), ERR_CONFIG);
    assert_null(g);
    cfg = settings(1024, 200, 256, 80, 8000);
    assert_int_equal(griffin_lim_open(&g, &cfg, &err), ERR_CONFIG);
    cfg = settings(1024, 1024, 1, 80, 8000);
    assert_int_equal(griffin_lim_open(&g, &cfg, &err), ERR_CONFIG);
    cfg = settings(1024, 1024, 256, 80, 80000);
    assert_int_equal(griffin_lim_open(&g, &cfg, &err), ERR_CONFIG);
    cfg = settings(1024, 1024, 256, 8, 12);
    cfg.mel_fmin = 11;
    assert_int_equal(griffin_lim_open(&g, &cfg, &err), ERR_CONFIG);
    griffin_lim_close(NULL);
}

static void test_same_bits(void **state)
{
    (void)state;
    Voice v = voice_default(), w = voice_default();
    const int64_t n = 9000;
    int64_t frames;
    float *x = buzz(n), *mel = mel_of(&v, x, n, &frames);
    size_t bytes = (size_t)griffin_lim_samples(v.g, frames) * sizeof(float);
    float *a = speak(&v, mel, frames, 12, 7), *b = speak(&w, mel, frames, 12, 7),
          *other = speak(&w, mel, frames, 12, 8);
    assert_memory_equal(a, b, bytes);
    assert_memory_not_equal(a, other, bytes);
    free(b);
    /* whatever went before: a shorter clip, a longer one */
    float *twice = floats(2 * frames * v.bands);
    memcpy(twice, mel, (size_t)(frames * v.bands) * sizeof(float));
    memcpy(twice + frames * v.bands, mel, (size_t)(frames * v.bands) * sizeof(float));
    free(speak(&w, twice, 2 * frames, 3, 1));
    free(speak(&w, mel, 3, 3, 1));
    b = speak(&w, mel, frames, 12, 7);
    assert_memory_equal(a, b, bytes);
    free(b);
    /* whatever the processor */
    assert_int_equal(griffin_lim_use_instructions(w.g, "abacus"), 0);
    assert_int_equal(griffin_lim_use_instructions(w.g, "plain"), 1);
    b = speak(&w, mel, frames, 12, 7);
    assert_memory_equal(a, b, bytes);
    free(a);
    free(b);
    free(other);
    free(twice);
    free(x);
    free(mel);
    voice_close(&v);
    voice_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_tone),
        cmocka_unit_test(test_ljspeech),
        cmocka_unit_test(test_short_and_silent),
        cmocka_unit_test(test_broken_mels),
        cmocka_unit_test(test_too_loud),
        cmocka_unit_test(test_settings_it_cannot_turn_back),
        cmocka_unit_test(test_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
