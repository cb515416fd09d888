/* test_process.c - resample, trim, loudness, and the chain. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "audio/mel.h"
#include "audio/process.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/rng.h"

#define RATE 22050
#define CLIPS "tests/data/ljspeech/wavs/"

static const char *data_dir(void)
{
    const char *dir = getenv("MYXTTS_DATA");
    return dir && *dir ? dir : "../shared/data";
}

static Config settings(void)
{
    return (Config){.sample_rate = RATE,
                    .n_fft = 1024,
                    .win_length = 1024,
                    .hop_length = 256,
                    .n_mels = 80,
                    .mel_fmax = 8000,
                    .trim_top_db = 40,
                    .target_loudness_lufs = -23};
}

static AudioProcessor *open_processor(void)
{
    Config cfg = settings();
    AudioProcessor *p;
    assert_int_equal(audio_processor_open(&p, &cfg, NULL), 0);
    return p;
}

/* 0 or -1 when there is no such file. */
static int load(AudioBuffer *audio, const char *path)
{
    FileMap map = {0};
    char detail[300];
    if (file_map(&map, path, NULL))
        return -1;
    if (audio_decode(audio, map.data, map.size, path, 0, detail, sizeof detail))
        fail_msg("%s", detail);
    file_unmap(&map);
    return 0;
}

static float *sine(int64_t n, int rate, double hz, double amplitude)
{
    float *x = mem_calloc((size_t)n, sizeof(float));
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)(amplitude * sin(2 * M_PI * hz * (double)i / rate));
    return x;
}

/* Modified Bessel function of order 0, for the Kaiser window. */
static double bessel(double x)
{
    double sum = 1, term = 1;
    for (int k = 1; k < 60; k++) {
        term *= x * x / (4.0 * k * k);
        sum += term;
    }
    return sum;
}

/* Another resampler, slow and by definition: Kaiser-windowed sinc, 192 zero crossings a side, -120 dB, cut at
 * 0.97 of the lower Nyquist frequency. It makes the 48 kHz and 8 kHz versions of a clip, so that soxr is not
 * tested against itself. */
static float *sinc_resample(const float *x, int64_t n, int from, int to, int64_t *n_out)
{
    double cut = 0.97 * (to < from ? (double)to / from : 1.0), reach = 192 / cut, beta = 12.3;
    enum { STEPS = 4096 };
    double *kernel = mem_calloc((size_t)192 * STEPS + 2, sizeof(double));
    for (int i = 0; i <= 192 * STEPS; i++) {
        double t = (double)i / STEPS, u = t / 192;
        kernel[i] = (i ? sin(M_PI * t) / (M_PI * t) : 1.0) * bessel(beta * sqrt(1 - u * u)) / bessel(beta);
    }
    *n_out = (int64_t)ceil((double)n * to / from);
    float *out = mem_calloc((size_t)*n_out, sizeof(float));
    for (int64_t k = 0; k < *n_out; k++) {
        double at = (double)k * from / to, sum = 0;
        int64_t first = (int64_t)ceil(at - reach), last = (int64_t)floor(at + reach);
        for (int64_t i = first < 0 ? 0 : first; i <= last && i < n; i++) {
            double t = fabs(at - (double)i) * cut * STEPS;
            int j = (int)t;
            sum += (double)x[i] * (kernel[j] + (t - j) * (kernel[j + 1] - kernel[j]));
        }
        out[k] = (float)(sum * cut);
    }
    free(kernel);
    return out;
}

static float *mel_of(const float *x, int64_t n, int64_t *frames)
{
    Config cfg = settings();
    MelPlan *plan;
    MelScratch *scratch;
    assert_int_equal(mel_plan_open(&plan, &cfg, NULL), 0);
    assert_int_equal(mel_scratch_open(&scratch, plan, NULL), 0);
    *frames = mel_frames(plan, n);
    float *out = mem_calloc((size_t)*frames * 80, sizeof(float));
    mel_compute(plan, scratch, out, x, n);
    mel_scratch_close(scratch);
    mel_plan_close(plan);
    return out;
}

static int by_size(const void *a, const void *b)
{
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

/* The mel of a version at another rate, resampled back by us, beside the mel of the original: bands whose
 * upper edge is below 0.9 of the version's Nyquist frequency; the first and last two frames, which see
 * samples that do not exist, are left out. */
static void compare_mels(const char *what, const AudioBuffer *clip, int rate)
{
    AudioProcessor *p = open_processor();
    Config cfg = settings();
    MelPlan *plan;
    int64_t n_version, n_back, frames, frames_back;
    const float *back;
    assert_int_equal(mel_plan_open(&plan, &cfg, NULL), 0);
    float *version = sinc_resample(clip->samples, clip->frames, RATE, rate, &n_version);
    assert_int_equal(audio_resample(p, &back, &n_back, version, n_version, rate, RATE, NULL), 0);
    assert_true(llabs(n_back - clip->frames) <= 3);
    float *a = mel_of(clip->samples, clip->frames, &frames), *b = mel_of(back, n_back, &frames_back);
    int bands = 0;
    while (bands < 80 && mel_edges(plan)[bands + 2] <= 0.9 * fmin(rate / 2.0, RATE / 2.0))
        bands++;
    int64_t used = (frames < frames_back ? frames : frames_back) - 2, count = 0, over = 0;
    double *relative = mem_calloc((size_t)(frames * 80), sizeof(double)), difference = 0, power = 0;
    for (int64_t f = 2; f < used; f++)
        for (int i = 0; i < bands; i++) {
            double x = exp((double)a[f * 80 + i]), y = exp((double)b[f * 80 + i]);
            difference += (x - y) * (x - y);
            power += x * x;
            relative[count] = fabs(x - y) / x;
            over += relative[count++] > 0.01;
        }
    qsort(relative, (size_t)count, sizeof(double), by_size);
    double l2 = sqrt(difference / power);
    print_message("%s at %d Hz, %d bands: relative L2 %.3g %%; elements: median %.3g %%, 99 %% within %.3g "
                  "%%, worst %.3g %%, over 1 %%: "
                  "%lld of %lld\n",
                  what, rate, bands, 100 * l2, 100 * relative[count / 2], 100 * relative[count * 99 / 100],
                  100 * relative[count - 1], (long long)over, (long long)count);
    assert_true(bands > 40);
    assert_true(l2 < 0.01);
    assert_true(relative[count * 99 / 100] < 0.01);
    free(relative);
    free(version);
    free(a);
    free(b);
    mel_plan_close(plan);
    audio_processor_close(p);
}

static void test_resampled_mel(void **state)
{
    (void)state;
    AudioBuffer clip = {0};
    assert_int_equal(load(&clip, "tests/golden/mel_signal.wav"), 0);
    clip.frames = 12000; /* without the digital silence, where a ratio means nothing */
    compare_mels("signal", &clip, 48000);
    compare_mels("signal", &clip, 8000);
    audio_buffer_free(&clip);
}

static void test_resampled_speech(void **state)
{
    (void)state;
    AudioBuffer clip = {0};
    assert_int_equal(load(&clip, CLIPS "LJ001-0002.wav"), 0);
    compare_mels("speech", &clip, 48000);
    compare_mels("speech", &clip, 8000);
    audio_buffer_free(&clip);
}

static void test_resample(void **state)
{
    (void)state;
    AudioProcessor *p = open_processor();
    static const int rates[] = {8000, 11025, 16000, 24000, 44100, 48000, 96000, 192000, 22050, 7, 768000};
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        int rate = rates[i];
        int64_t n = rate + 3, got;
        float *x = sine(n, rate, 440, 0.5);
        const float *y;
        assert_int_equal(audio_resample(p, &y, &got, x, n, rate, RATE, NULL), 0);
        assert_int_equal(got, (int64_t)ceil((double)n * RATE / rate));
        double worst = 0;
        for (int64_t k = 2000; k < got - 2000; k++)
            worst = fmax(worst, fabs((double)y[k] - 0.5 * sin(2 * M_PI * 440 * (double)k / RATE)));
        if (rate >= 8000)
            assert_true(worst < 1e-4);
        /* Again, after another clip: the same bits. */
        float *copy = mem_calloc((size_t)got, sizeof(float));
        memcpy(copy, y, (size_t)got * sizeof(float));
        float *other = sine(5000, rate, 1000, 0.9);
        int64_t again;
        assert_int_equal(audio_resample(p, &y, &again, other, 5000, rate, RATE, NULL), 0);
        assert_int_equal(audio_resample(p, &y, &again, x, n, rate, RATE, NULL), 0);
        assert_int_equal(again, got);
        assert_memory_equal(y, copy, (size_t)got * sizeof(float));
        AudioProcessor *fresh = open_processor();
        assert_int_equal(audio_resample(fresh, &y, &again, x, n, rate, RATE, NULL), 0);
        assert_memory_equal(y, copy, (size_t)got * sizeof(float));
        audio_processor_close(fresh);
        /* Very short clips. */
        for (int64_t few = 1; few < 5; few++) {
            assert_int_equal(audio_resample(p, &y, &again, x, few, rate, RATE, NULL), 0);
            assert_int_equal(again, (int64_t)ceil((double)few * RATE / rate));
        }
        free(other);
        free(copy);
        free(x);
    }
    audio_processor_close(p);
}

/* Four of the clips are in tests/data, the others where MYXTTS_DATA says. */
static void test_trim_equals_librosa(void **state)
{
    (void)state;
    char line_name[100], path[500];
    double top_db;
    long long want_first, want_last;
    int checked = 0, missing = 0;
    FILE *golden = fopen("tests/golden/trim_ljspeech.txt", "r");
    assert_non_null(golden);
    AudioBuffer clip = {0};
    while (fscanf(golden, "%99s %lf %lld %lld", line_name, &top_db, &want_first, &want_last) == 4) {
        snprintf(path, sizeof path, CLIPS "%s", line_name);
        if (!file_exists(path))
            snprintf(path, sizeof path, "%s/ljspeech-mini/wavs/%s", data_dir(), line_name);
        if (!file_exists(path)) {
            missing++;
            continue;
        }
        assert_int_equal(load(&clip, path), 0);
        int64_t first, last;
        audio_trim_range(&first, &last, clip.samples, clip.frames, 1024, 256, top_db);
        if (first != want_first || last != want_last)
            fail_msg("%s at %g dB: %lld .. %lld, librosa %lld .. %lld", line_name, top_db, (long long)first,
                     (long long)last, want_first, want_last);
        checked++;
    }
    print_message("%d trims equal to librosa's, the clips of %d are not there\n", checked, missing);
    assert_true(checked >= 12 && checked + missing == 96);
    fclose(golden);
    audio_buffer_free(&clip);
}

static void test_trim_made(void **state)
{
    (void)state;
    int64_t first, last, n = 40000;
    float *x = sine(n, RATE, 300, 0.5);
    for (int64_t i = 0; i < n; i++)
        if (i < 10240 || i >= 30720)
            x[i] = 0;
    double loudest = audio_trim_range(&first, &last, x, n, 1024, 256, 60);
    assert_true(fabs(loudest - 0.5 / sqrt(2)) < 0.01);
    assert_true(first <= 10240 && first > 10240 - 1024);
    assert_true(last >= 30720 && last < 30720 + 1024);
    memset(x, 0, (size_t)n * sizeof(float));
    assert_true(audio_trim_range(&first, &last, x, n, 1024, 256, 60) == 0);
    assert_int_equal(first, 0);
    assert_int_equal(last, n);
    x[0] = 1;
    for (int64_t few = 1; few < 600; few += 37) {
        audio_trim_range(&first, &last, x, few, 1024, 256, 60);
        assert_true(first >= 0 && first < last && last <= few);
    }
    free(x);
}

static void test_loudness(void **state)
{
    (void)state;
    /* EBU Tech 3341: a 1 kHz sine with a peak of -23 dBFS in both of two channels is -23 LUFS; in one
     * channel 3.01 less. */
    double amplitude = pow(10, -23 / 20.0);
    float *x = sine(RATE * 5, RATE, 1000, amplitude);
    double lufs = audio_loudness(x, RATE * 5, RATE);
    print_message("1 kHz at -23 dBFS: %.3f LUFS\n", lufs);
    assert_true(fabs(lufs + 26.01) < 0.1);
    /* Short clips are repeated: 100 ms of the same tone is as loud. */
    assert_true(fabs(audio_loudness(x, RATE / 10, RATE) - lufs) < 0.3);
    assert_true(audio_loudness(x, RATE / 10, RATE) == audio_loudness(x, RATE / 10, RATE));
    assert_true(fabs(audio_gain(x, RATE * 5, RATE, -26.01) - 1) < 0.02);
    /* No sample over 1: the gain is held back. */
    x[500] = 0.5f;
    assert_true(audio_gain(x, RATE * 5, RATE, 0) <= 2.0);
    memset(x, 0, RATE * sizeof(float));
    assert_true(isinf(audio_loudness(x, RATE, RATE)));
    assert_true(audio_gain(x, RATE, RATE, -23) == 1.0);
    x[0] = 0.3f;
    audio_loudness(x, 1, RATE);
    audio_loudness(x, 1, 768000);
    assert_true(isinf(audio_loudness(x, 0, RATE)));
    free(x);
}

static void test_chain(void **state)
{
    (void)state;
    AudioProcessor *p = open_processor();
    char detail[200];
    const float *y;
    int64_t n;
    AudioBuffer in = {.frames = 48000 * 2, .rate = 48000};
    in.samples = sine(in.frames, in.rate, 1000, 0.05);
    memset(in.samples, 0, 24000 * sizeof(float));
    assert_int_equal(audio_process(p, &y, &n, &in, 0, 0, detail, sizeof detail), REJECT_NONE);
    assert_int_equal(n, RATE * 2);
    assert_int_equal(audio_process(p, &y, &n, &in, 1, 1, detail, sizeof detail), REJECT_NONE);
    assert_true(n > RATE * 3 / 2 - 1 && n < RATE * 3 / 2 + 1024); /* half a second of silence is gone */
    assert_true(fabs(audio_loudness(y, n, RATE) + 23) < 0.2);
    memset(in.samples, 0, (size_t)in.frames * sizeof(float));
    assert_int_equal(audio_process(p, &y, &n, &in, 1, 1, detail, sizeof detail), REJECT_AUDIO_SILENT);
    assert_true(strlen(detail) > 10);
    assert_int_equal(n, 0);
    in.frames = 0;
    assert_int_equal(audio_process(p, &y, &n, &in, 1, 1, detail, sizeof detail), REJECT_AUDIO_EMPTY);
    in.frames = 1;
    in.rate = RATE;
    in.samples[0] = 1;
    assert_int_equal(audio_process(p, &y, &n, &in, 1, 1, detail, sizeof detail), REJECT_NONE);
    assert_int_equal(n, 1);
    free(in.samples);
    audio_processor_close(p);
    audio_processor_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resample),
        cmocka_unit_test(test_resampled_mel),
        cmocka_unit_test(test_resampled_speech),
        cmocka_unit_test(test_trim_made),
        cmocka_unit_test(test_trim_equals_librosa),
        cmocka_unit_test(test_loudness),
        cmocka_unit_test(test_chain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
