/* test_mel.c - the mel against librosa's golden files, every instruction set against the others, pictures and
 * .npy files. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <glob.h>

#include "audio/mel.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/npy.h"
#include "base/rng.h"
#include "base/thread.h"
#include "dataset/audio_file.h"
#include "picture/picture.h"

#define GOLDEN "tests/golden/"

static const char *data_dir(void)
{
    const char *dir = getenv("MYXTTS_DATA");
    return dir && *dir ? dir : "../shared/data";
}

static Config settings(int n_fft, int win, int hop, int bands, double fmin, double fmax)
{
    return (Config){.sample_rate = 22050,
                    .n_fft = n_fft,
                    .win_length = win,
                    .hop_length = hop,
                    .n_mels = bands,
                    .mel_fmin = fmin,
                    .mel_fmax = fmax};
}

static void load(AudioBuffer *audio, const char *path)
{
    FileMap map = {0};
    char detail[300];
    Err err = {0};
    if (file_map(&map, path, &err))
        fail_msg("%s", err.msg);
    if (audio_decode(audio, map.data, map.size, path, 0, detail, sizeof detail))
        fail_msg("%s", detail);
    file_unmap(&map);
}

static float *mel_of(const Config *cfg, const float *x, int64_t n, const char *instructions, int64_t *frames)
{
    MelPlan *plan;
    MelScratch *scratch;
    assert_int_equal(mel_plan_open(&plan, cfg, NULL), 0);
    assert_int_equal(mel_scratch_open(&scratch, plan, NULL), 0);
    *frames = mel_frames(plan, n);
    float *out = NULL;
    if (!instructions || mel_use_instructions(plan, instructions)) {
        out = mem_calloc((size_t)*frames * (size_t)cfg->n_mels + 1, sizeof(float));
        out[*frames * cfg->n_mels] = 12345.0f; /* sentinel */
        mel_compute(plan, scratch, out, x, n);
        assert_true(out[*frames * cfg->n_mels] == 12345.0f);
    }
    mel_scratch_close(scratch);
    mel_plan_close(plan);
    return out;
}

/* Largest relative difference of the mel values (A) and of their logarithms (B). */
typedef struct Errors {
    double a, b;
} Errors;
static void compare(Errors *e, const float *ours, const float *golden, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double d = fabs((double)ours[i] - (double)golden[i]);
        assert_true(isfinite(ours[i]));
        e->a = fmax(e->a, fabs(expm1((double)ours[i] - (double)golden[i])));
        e->b = fmax(e->b, d / fmax(fabs((double)golden[i]), 1e-5));
    }
}

/* The same table as in tests/golden/make_mel.py. */
static const struct {
    const char *name;
    int64_t samples;
    int n_fft, win, hop, bands;
    double fmin, fmax;
} goldens[] = {
    {"default", 0, 1024, 1024, 256, 80, 0, 8000},  {"window", 0, 1024, 800, 200, 80, 0, 8000},
    {"hop", 0, 1024, 1024, 300, 40, 50, 7600},     {"large", 0, 2048, 2048, 512, 128, 0, 11025},
    {"small", 0, 512, 400, 100, 80, 0, 4000},      {"factors", 0, 600, 600, 150, 64, 0, 8000},
    {"prime", 0, 134, 134, 67, 20, 0, 11025},      {"odd", 0, 1023, 1023, 256, 80, 0, 8000},
    {"oddwindow", 0, 1024, 801, 256, 80, 0, 8000}, {"one", 1, 1024, 1024, 256, 80, 0, 8000},
    {"two", 2, 1024, 1024, 256, 80, 0, 8000},      {"five", 5, 1024, 1024, 256, 80, 0, 8000},
    {"short", 700, 1024, 1024, 256, 80, 0, 8000},
};

static void test_golden_cases(void **state)
{
    (void)state;
    static const char *const instructions[] = {"plain", "avx2", "avx512"};
    AudioBuffer audio = {0};
    load(&audio, GOLDEN "mel_signal.wav");
    assert_int_equal(audio.frames, 22050);
    for (size_t i = 0; i < sizeof goldens / sizeof goldens[0]; i++) {
        char path[200];
        float *golden;
        int64_t rows, cols, frames, n = goldens[i].samples ? goldens[i].samples : audio.frames;
        Err err = {0};
        snprintf(path, sizeof path, GOLDEN "mel_%s.npy", goldens[i].name);
        if (npy_read(path, &golden, &rows, &cols, &err))
            fail_msg("%s", err.msg);
        Config cfg = settings(goldens[i].n_fft, goldens[i].win, goldens[i].hop, goldens[i].bands,
                              goldens[i].fmin, goldens[i].fmax);
        /* exactly n samples in memory, so that a sanitizer sees any reading past them */
        float *x = mem_calloc((size_t)n, sizeof(float));
        memcpy(x, audio.samples, (size_t)n * sizeof(float));
        float *first = NULL;
        for (size_t k = 0; k < sizeof instructions / sizeof instructions[0]; k++) {
            float *ours = mel_of(&cfg, x, n, instructions[k], &frames);
            assert_int_equal(frames, rows);
            assert_int_equal(cfg.n_mels, cols);
            if (!ours) {
                print_message("%s: this processor has no %s\n", goldens[i].name, instructions[k]);
                continue;
            }
            if (first) { /* the same bits from every instruction set */
                assert_memory_equal(ours, first, (size_t)(rows * cols) * sizeof(float));
                free(ours);
            } else {
                first = ours;
            }
        }
        Errors e = {0, 0};
        compare(&e, first, golden, rows * cols);
        print_message("%-10s %4lld frames: mel within %.2g, log mel within %.2g\n", goldens[i].name,
                      (long long)rows, e.a, e.b);
        assert_true(e.a < 5e-6);
        assert_true(e.b < 5e-6);
        free(first);
        free(x);
        free(golden);
    }
    audio_buffer_free(&audio);
}

/* Every step-th frame of all clips of a pattern against the rows of a golden file. */
static void check_clips(const char *pattern, const char *golden_path, int step)
{
    glob_t clips = {0};
    assert_int_equal(glob(pattern, 0, NULL, &clips), 0);
    float *golden;
    int64_t rows, cols, row = 0;
    assert_int_equal(npy_read(golden_path, &golden, &rows, &cols, NULL), 0);
    assert_int_equal(cols, 80);
    Config cfg = settings(1024, 1024, 256, 80, 0, 8000);
    Errors e = {0, 0};
    AudioBuffer audio = {0};
    for (size_t i = 0; i < clips.gl_pathc; i++) {
        int64_t frames;
        load(&audio, clips.gl_pathv[i]);
        float *ours = mel_of(&cfg, audio.samples, audio.frames, NULL, &frames);
        for (int64_t f = 0; f < frames; f += step, row++) {
            assert_true(row < rows);
            compare(&e, ours + f * 80, golden + row * 80, 80);
        }
        free(ours);
    }
    assert_int_equal(row, rows);
    /* B is against librosa's float32, whose own logarithms are 2e-3 off beside a mel value of 1. */
    print_message("%zu clips, %lld golden frames: mel within %.2g, log mel within %.2g\n", clips.gl_pathc,
                  (long long)rows, e.a, e.b);
    assert_true(e.a < 1e-5);
    audio_buffer_free(&audio);
    globfree(&clips);
    free(golden);
}

static void test_clips(void **state)
{
    (void)state;
    check_clips("tests/data/ljspeech/wavs/*.wav", GOLDEN "mel_clips.npy", 4);
}

static void test_ljspeech(void **state)
{
    (void)state;
    char folder[500], pattern[600];
    snprintf(folder, sizeof folder, "%s/ljspeech-mini/wavs", data_dir());
    if (!file_exists(folder)) {
        print_message("SKIPPED: no clips at %s (set MYXTTS_DATA)\n", folder);
        skip();
    }
    snprintf(pattern, sizeof pattern, "%s/*.wav", folder);
    check_clips(pattern, GOLDEN "mel_ljspeech.npy", 16);
}

/* Each frame is a function of its own samples: not of its place in a batch, nor of the clip before. */
static void test_place_does_not_matter(void **state)
{
    (void)state;
    enum { HOP = 256, N = 40 * HOP };
    Config cfg = settings(1024, 1024, HOP, 80, 0, 8000);
    Rng rng;
    rng_seed(&rng, 5);
    float *x = mem_calloc(N + 5 * HOP, sizeof(float));
    for (int i = 0; i < N + 5 * HOP; i++)
        x[i] = (float)(0.1 * rng_normal(&rng));
    int64_t frames_a, frames_b;
    float *a = mel_of(&cfg, x, N + 5 * HOP, NULL, &frames_a),
          *b = mel_of(&cfg, x + 5 * HOP, N, NULL, &frames_b);
    for (int64_t f = 2; f < frames_b - 2; f++) /* the ends are reflected */
        assert_memory_equal(b + f * 80, a + (f + 5) * 80, 80 * sizeof(float));
    free(a);
    free(b);
    free(x);
}

typedef struct Job {
    const MelPlan *plan;
    const float *x;
    int64_t n;
    float *out;
} Job;
static void *run_job(void *arg)
{
    Job *job = arg;
    MelScratch *scratch;
    if (mel_scratch_open(&scratch, job->plan, NULL))
        return NULL;
    for (int i = 0; i < 5; i++)
        mel_compute(job->plan, scratch, job->out, job->x, job->n);
    mel_scratch_close(scratch);
    return job;
}

/* One plan, four threads, the same bits. */
static void test_threads(void **state)
{
    (void)state;
    enum { N = 20000 };
    Config cfg = settings(1024, 1024, 256, 80, 0, 8000);
    MelPlan *plan;
    assert_int_equal(mel_plan_open(&plan, &cfg, NULL), 0);
    Rng rng;
    rng_seed(&rng, 6);
    float *x = mem_calloc(N, sizeof(float));
    for (int i = 0; i < N; i++)
        x[i] = (float)(0.1 * rng_normal(&rng));
    size_t size = (size_t)mel_frames(plan, N) * 80 * sizeof(float);
    Thread threads[4] = {{0}};
    Job jobs[4];
    for (int i = 0; i < 4; i++) {
        jobs[i] = (Job){plan, x, N, malloc(size)};
        assert_int_equal(thread_start(&threads[i], "mel", run_job, &jobs[i], NULL), 0);
    }
    for (int i = 0; i < 4; i++)
        thread_join(&threads[i]);
    for (int i = 1; i < 4; i++)
        assert_memory_equal(jobs[i].out, jobs[0].out, size);
    for (int i = 0; i < 4; i++)
        free(jobs[i].out);
    free(x);
    mel_plan_close(plan);
}

static void test_known_tone(void **state)
{
    (void)state;
    /* A sine in the middle of a bin has magnitude n_fft / 4 there (Hann), and half of it in the two bins
     * beside. */
    Config cfg = settings(1024, 1024, 256, 80, 0, 8000);
    MelPlan *plan;
    assert_int_equal(mel_plan_open(&plan, &cfg, NULL), 0);
    const int bin = 100, n = 8192;
    float *x = mem_calloc((size_t)n, sizeof(float));
    for (int i = 0; i < n; i++)
        x[i] = (float)sin(2 * M_PI * bin * i / 1024.0);
    int64_t frames;
    float *mel = mel_of(&cfg, x, n, NULL, &frames);
    for (int b = 0; b < 80; b++) {
        const float *w = mel_filterbank(plan) + (size_t)b * 513;
        double want = fmax(256.0 * (double)w[bin] + 128.0 * ((double)w[bin - 1] + (double)w[bin + 1]), 1e-5);
        if (want > 1e-3)
            assert_true(fabs(exp((double)mel[10 * 80 + b]) / want - 1) < 1e-4);
    }
    free(mel);
    free(x);
    mel_plan_close(plan);
}

static void test_silence_and_bad_samples(void **state)
{
    (void)state;
    Config cfg = settings(1024, 1024, 256, 80, 0, 8000);
    float x[3000] = {0};
    int64_t frames;
    float *mel = mel_of(&cfg, x, 3000, NULL, &frames);
    for (int64_t i = 0; i < frames * 80; i++)
        assert_true(mel[i] == logf(1e-5f));
    free(mel);
    x[1000] = NAN;
    x[2000] = INFINITY;
    mel = mel_of(&cfg, x, 3000, NULL, &frames);
    for (int64_t i = 0; i < frames * 80; i++)
        assert_false(isnan(mel[i]));
    free(mel);
}

static void test_settings_are_checked(void **state)
{
    (void)state;
    MelPlan *plan;
    Err err = {0};
    Config cfg = settings(1024, 1024, 256, 80, 0, 12000);
    assert_int_equal(mel_plan_open(&plan, &cfg, &err), ERR_CONFIG);
    assert_non_null(strstr(err.msg, "12000"));
    assert_null(plan);
    cfg = settings(1024, 1025, 256, 80, 0, 8000);
    assert_int_equal(mel_plan_open(&plan, &cfg, &err), ERR_CONFIG);
    cfg = settings(1024, 1024, 0, 80, 0, 8000);
    assert_int_equal(mel_plan_open(&plan, &cfg, &err), ERR_CONFIG);
    cfg = settings(1024, 1024, 256, 80, 8000, 8000);
    assert_int_equal(mel_plan_open(&plan, &cfg, &err), ERR_CONFIG);
    mel_plan_close(NULL);
    mel_scratch_close(NULL);
}

/* Of a display, 0 to 1 (sRGB). */
static double luminance(Rgb c)
{
    return 0.2126 * pow(c.r / 255.0, 2.2) + 0.7152 * pow(c.g / 255.0, 2.2) + 0.0722 * pow(c.b / 255.0, 2.2);
}

static void test_files(void **state)
{
    (void)state;
    char dir[] = "/tmp/myxtts-mel-XXXXXX", npy[100], png[100];
    assert_non_null(mkdtemp(dir));
    snprintf(npy, sizeof npy, "%s/a.npy", dir);
    snprintf(png, sizeof png, "%s/a.png", dir);
    float data[6] = {1, 2, 3, -4, 5.5f, 6}, *back;
    int64_t rows, cols;
    Err err = {0};
    assert_int_equal(npy_write(npy, data, 3, 2, &err), 0);
    assert_int_equal(npy_read(npy, &back, &rows, &cols, &err), 0);
    assert_int_equal(rows, 3);
    assert_int_equal(cols, 2);
    assert_memory_equal(back, data, sizeof data);
    free(back);
    FileMap map;
    assert_int_equal(file_map(&map, npy, &err), 0);
    assert_int_equal(map.size, 128 + sizeof data);
    file_unmap(&map);
    assert_int_equal(truncate(npy, 130), 0);
    assert_int_equal(npy_read(npy, &back, &rows, &cols, &err), ERR_FORMAT);
    assert_int_equal(npy_read(dir, &back, &rows, &cols, &err) != 0, 1);

    assert_int_equal(picture_mel(png, data, 3, 2, NULL, &err), 0);
    assert_int_equal(file_map(&map, png, &err), 0);
    assert_memory_equal(map.data, "\x89PNG\r\n\x1a\n", 8);
    file_unmap(&map);
    data[0] = NAN;
    data[1] = INFINITY;
    assert_int_equal(picture_mel(png, data, 3, 2, NULL, &err), 0);
    assert_int_equal(picture_mel(png, data, 0, 2, NULL, &err), ERR_DATA);
    assert_int_not_equal(picture_mel("/nonexistent-folder/a.png", data, 3, 2, NULL, &err), 0);
    double before = luminance(picture_colour(-1));
    for (int i = 1; i <= 100; i++) { /* lightness rises all the way */
        double now = luminance(picture_colour(i / 100.0));
        assert_true(now > before);
        before = now;
    }
    assert_true(luminance(picture_colour(NAN)) < 0.02 && luminance(picture_colour(2)) > 0.8);
    unlink(npy);
    unlink(png);
    rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_cases),
        cmocka_unit_test(test_clips),
        cmocka_unit_test(test_ljspeech),
        cmocka_unit_test(test_place_does_not_matter),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_known_tone),
        cmocka_unit_test(test_silence_and_bad_samples),
        cmocka_unit_test(test_settings_are_checked),
        cmocka_unit_test(test_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
