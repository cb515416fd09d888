/* test_pitch.c - the pitch of signals whose pitch is known: tones, sweeps, silence, noise; every instruction
 * set and every thread the same. `test_pitch --contour FILE` prints frame, Hz and voiced of an audio file,
 * for tests/golden/compare_pitch.py. */
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
#include "audio/pitch.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/thread.h"
#include "dataset/audio_file.h"

typedef struct Contour {
    int64_t frames;
    float *log_hz;
    uint8_t *voiced;
} Contour;

static Config settings(int rate, int n_fft, int hop)
{
    return (Config){.sample_rate = rate,
                    .n_fft = n_fft,
                    .win_length = n_fft,
                    .hop_length = hop,
                    .n_mels = 20,
                    .mel_fmax = rate / 2.0};
}

/* x is copied to memory of exactly n samples, so that a sanitizer sees any reading past them. */
static Contour contour_of(const Config *cfg, const float *x, int64_t n, const char *instructions)
{
    PitchPlan *plan;
    PitchScratch *scratch;
    Contour c = {0};
    assert_int_equal(pitch_plan_open(&plan, cfg, NULL), 0);
    assert_int_equal(pitch_scratch_open(&scratch, plan, NULL), 0);
    if (!instructions || pitch_use_instructions(plan, instructions)) {
        float *exact = mem_calloc((size_t)n, sizeof *exact);
        memcpy(exact, x, (size_t)n * sizeof *x);
        c.frames = pitch_frames(plan, n);
        c.log_hz = mem_calloc((size_t)c.frames + 1, sizeof *c.log_hz);
        c.voiced = mem_calloc((size_t)c.frames + 1, sizeof *c.voiced);
        c.log_hz[c.frames] = 123.0f; /* sentinels */
        c.voiced[c.frames] = 45;
        assert_int_equal(pitch_compute(plan, scratch, c.log_hz, c.voiced, exact, n), 0);
        assert_true(c.log_hz[c.frames] == 123.0f && c.voiced[c.frames] == 45);
        free(exact);
        for (int64_t t = 0; t < c.frames; t++) {
            assert_true(c.log_hz[t] >= (float)log(PITCH_LOW) - 1e-5f &&
                        c.log_hz[t] <= (float)log(PITCH_HIGH) + 1e-5f);
            assert_true(c.voiced[t] <= 1);
        }
    }
    pitch_scratch_close(scratch);
    pitch_plan_close(plan);
    return c;
}

static void contour_free(Contour *c)
{
    free(c->log_hz);
    free(c->voiced);
    *c = (Contour){0};
}

static float *new_samples(int64_t n)
{
    float *x = mem_calloc((size_t)n, sizeof *x);
    assert_non_null(x);
    return x;
}

/* A sawtooth without the harmonics that the rate cannot hold; hz from a to b in equal steps of the log. */
static double sweep_hz(double a, double b, double share) { return a * pow(b / a, share); }
static void fill_sawtooth(float *x, int64_t n, int rate, double a, double b, double loud)
{
    double phase = 0;
    for (int64_t i = 0; i < n; i++) {
        double hz = sweep_hz(a, b, (double)i / (double)n), sum = 0;
        phase += 2 * M_PI * hz / rate;
        for (int h = 1; h * hz < 0.45 * rate; h++)
            sum += sin(h * phase) / h;
        x[i] = (float)(loud * sum);
    }
}

static void check_steady(int rate, int n_fft, int hop, double hz, int is_sine, double most)
{
    Config cfg = settings(rate, n_fft, hop);
    int64_t n = rate;
    float *x = new_samples(n);
    if (is_sine)
        for (int64_t i = 0; i < n; i++)
            x[i] = (float)(0.3 * sin(2 * M_PI * hz * (double)i / rate) + 0.05); /* an offset is no voice */
    else
        fill_sawtooth(x, n, rate, hz, hz, 0.2);
    Contour c = contour_of(&cfg, x, n, NULL);
    for (int64_t t = 0; t < c.frames; t++)
        if (!c.voiced[t] || fabs(expm1((double)c.log_hz[t] - log(hz))) > most)
            fail_msg("%g Hz at %d Hz, frame %lld: %g Hz, voiced %d", hz, rate, (long long)t, exp(c.log_hz[t]),
                     c.voiced[t]);
    contour_free(&c);
    free(x);
}

static void test_steady_tones(void **state)
{
    static const double tones[] = {65, 80, 110, 131.7, 180, 220, 299, 350, 440, 490};
    for (size_t i = 0; i < sizeof tones / sizeof *tones; i++)
        for (int sine = 0; sine < 2; sine++) {
            check_steady(22050, 1024, 256, tones[i], sine, 0.01);
            check_steady(16000, 800, 200, tones[i], sine, 0.01);
            check_steady(24000, 1024, 300, tones[i], sine, 0.01);
            check_steady(48000, 2048, 512, tones[i], sine, 0.01);
            check_steady(8000, 512, 100, tones[i], sine, 0.01);
            check_steady(11025, 511, 128, tones[i], sine, 0.01);
        }
    check_steady(1600, 128, 16, 300, 1, 0.02); /* the highest pitch is just below 400 Hz here */
}

/* Frame t belongs to sample t * hop. */
static void check_sweep(double a, double b, double seconds)
{
    Config cfg = settings(22050, 1024, 256);
    int64_t n = (int64_t)(seconds * 22050);
    float *x = new_samples(n);
    fill_sawtooth(x, n, 22050, a, b, 0.2);
    Contour c = contour_of(&cfg, x, n, NULL);
    for (int64_t t = 3; t < c.frames - 3; t++) { /* at the ends the window stands still */
        double want = log(sweep_hz(a, b, 256.0 * (double)t / (double)n));
        if (!c.voiced[t] || fabs((double)c.log_hz[t] - want) > 0.01)
            fail_msg("sweep %g - %g, frame %lld: %g Hz instead of %g, voiced %d", a, b, (long long)t,
                     exp(c.log_hz[t]), exp(want), c.voiced[t]);
    }
    contour_free(&c);
    free(x);
}

static void test_sweeps(void **state)
{
    check_sweep(70, 480, 3);
    check_sweep(480, 70, 3);
    check_sweep(90, 180, 0.7);
    check_sweep(300, 120, 0.7);
}

static void check_default(const float *x, int64_t n)
{
    Config cfg = settings(22050, 1024, 256);
    Contour c = contour_of(&cfg, x, n, NULL);
    for (int64_t t = 0; t < c.frames; t++) {
        assert_int_equal(c.voiced[t], 0);
        assert_true(fabsf(c.log_hz[t] - logf(150.0f)) < 1e-6f);
    }
    contour_free(&c);
}

static void test_no_voice(void **state)
{
    enum { N = 22050 };
    float *x = new_samples(N);
    check_default(x, N); /* silence */
    for (int64_t i = 0; i < N; i++)
        x[i] = 0.7f; /* a constant */
    check_default(x, N);
    for (int64_t i = 0; i < N; i++) /* too quiet to be heard */
        x[i] = (float)(3e-5 * sin(2 * M_PI * 200 * (double)i / 22050));
    check_default(x, N);
    Rng rng;
    rng_seed(&rng, 3);
    for (int64_t i = 0; i < N; i++)
        x[i] = (float)(0.3 * rng_normal(&rng));
    Config cfg = settings(22050, 1024, 256);
    Contour c = contour_of(&cfg, x, N, NULL);
    int count = 0;
    for (int64_t t = 0; t < c.frames; t++)
        count += c.voiced[t];
    if (count > c.frames / 20)
        fail_msg("%d of %lld frames of noise have a voice", count, (long long)c.frames);
    contour_free(&c);
    free(x);
}

/* tone, silence, noise, tone, silence: a line through the middle, the edges held. */
static void test_gaps(void **state)
{
    enum { RATE = 22050, PART = RATE / 2, N = 6 * PART };
    float *x = new_samples(N);
    Rng rng;
    rng_seed(&rng, 9);
    fill_sawtooth(x + PART, PART, RATE, 110, 110, 0.2);
    for (int64_t i = 2 * PART; i < 3 * PART; i++)
        x[i] = (float)(0.02 * rng_normal(&rng));
    fill_sawtooth(x + 4 * PART, PART, RATE, 220, 220, 0.2);
    Config cfg = settings(RATE, 1024, 256);
    Contour c = contour_of(&cfg, x, N, NULL);
    int64_t last_low = -1, first_high = -1;
    for (int64_t t = 0; t < c.frames; t++) {
        int64_t at = t * 256;
        int part = (int)(at / PART);
        int64_t edge = at % PART < PART / 2 ? at % PART : PART - at % PART;
        if (edge > 800) /* beyond the reach of the windows */
            assert_int_equal(c.voiced[t], part == 1 || part == 4);
        if (c.voiced[t] && c.log_hz[t] < 5.0f)
            last_low = t;
        else if (c.voiced[t] && first_high < 0)
            first_high = t;
    }
    assert_true(last_low > 0 && first_high > last_low + 10);
    for (int64_t t = 0; t < c.frames; t++) {
        double share = t < last_low     ? 0
                       : t > first_high ? 1
                                        : (double)(t - last_low) / (double)(first_high - last_low);
        assert_true(fabs((double)c.log_hz[t] - (log(110) + share * log(2))) < 0.02);
    }
    contour_free(&c);
    free(x);
}

static void test_short_clips(void **state)
{
    static const int64_t lengths[] = {1,   2,   3,   4,   5,   15,  31,   32,   100,  255, 256,
                                      257, 400, 511, 512, 513, 700, 1000, 1023, 1500, 2049};
    static const int shapes[][3] = {{22050, 1024, 256}, {22050, 1023, 256}, {8000, 512, 100},
                                    {48000, 2048, 512}, {240, 16, 4},       {100, 7, 3}};
    float x[2049];
    for (int i = 0; i < 2049; i++)
        x[i] = (float)(0.3 * sin(2 * M_PI * 210 * i / 22050));
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        Config cfg = settings(shapes[k][0], shapes[k][1], shapes[k][2]);
        MelPlan *mel;
        assert_int_equal(mel_plan_open(&mel, &cfg, NULL), 0);
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
            Contour c = contour_of(&cfg, x, lengths[i], NULL);
            assert_int_equal(c.frames, mel_frames(mel, lengths[i]));
            contour_free(&c);
        }
        mel_plan_close(mel);
    }
    Config cfg = settings(22050, 1024, 256);
    PitchPlan *plan;
    PitchScratch *scratch;
    assert_int_equal(pitch_plan_open(&plan, &cfg, NULL), 0);
    assert_int_equal(pitch_scratch_open(&scratch, plan, NULL), 0);
    assert_int_equal(pitch_frames(plan, 0), 0);
    float one = 0.5f, out = 0;
    assert_int_equal(pitch_compute(plan, scratch, &out, NULL, &one, 1), 0);
    assert_true(fabsf(out - logf(150)) < 1e-6f);
    pitch_scratch_close(scratch);
    pitch_plan_close(plan);
    pitch_scratch_close(NULL);
    pitch_plan_close(NULL);
    cfg.hop_length = 0;
    Err err = {0};
    assert_int_equal(pitch_plan_open(&plan, &cfg, &err), ERR_CONFIG);
    assert_null(plan);
}

/* Something like speech: tones that glide, noise, pauses. */
static void fill_speech(float *x, int64_t n, uint64_t seed)
{
    Rng rng;
    rng_seed(&rng, seed);
    fill_sawtooth(x, n, 22050, 90 + 100 * rng_uniform(&rng), 120 + 200 * rng_uniform(&rng), 0.2);
    for (int64_t i = 0; i < n; i++) {
        double envelope = sin(2 * M_PI * (double)i / 9000);
        x[i] = (float)((envelope > 0 ? envelope : 0) * x[i] + 0.003 * rng_normal(&rng));
    }
}

static void check_same(const Contour *a, const Contour *b)
{
    assert_int_equal(a->frames, b->frames);
    assert_memory_equal(a->log_hz, b->log_hz, (size_t)a->frames * sizeof *a->log_hz);
    assert_memory_equal(a->voiced, b->voiced, (size_t)a->frames);
}

static void test_instructions_agree(void **state)
{
    static const int shapes[][3] = {
        {22050, 1024, 256}, {16000, 800, 200}, {48000, 2048, 512}, {8000, 512, 100}};
    enum { N = 40000 };
    float *x = new_samples(N);
    fill_speech(x, N, 5);
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        Config cfg = settings(shapes[k][0], shapes[k][1], shapes[k][2]);
        Contour plain = contour_of(&cfg, x, N, "plain"), avx2 = contour_of(&cfg, x, N, "avx2"),
                avx512 = contour_of(&cfg, x, N, "avx512");
        if (avx2.log_hz)
            check_same(&plain, &avx2);
        if (avx512.log_hz)
            check_same(&plain, &avx512);
        contour_free(&plain);
        contour_free(&avx2);
        contour_free(&avx512);
    }
    free(x);
}

enum { THREAD_CLIPS = 8, THREAD_MOST = 40000 };
typedef struct ThreadJob {
    const PitchPlan *plan;
    float **clips;
    Contour *want;
    Thread thread;
    int first, different;
} ThreadJob;
static int64_t clip_length(int i) { return THREAD_MOST - 4777 * i; }

/* Every clip with one scratch, which has held other clips before. */
static void *compute_all(void *arg)
{
    ThreadJob *j = arg;
    PitchScratch *scratch = NULL;
    float out[THREAD_MOST / 256 + 1];
    j->different = pitch_scratch_open(&scratch, j->plan, NULL) != 0;
    for (int i = 0; i < 2 * THREAD_CLIPS && !j->different; i++) {
        int k = (i + j->first) % THREAD_CLIPS;
        j->different = pitch_compute(j->plan, scratch, out, NULL, j->clips[k], clip_length(k)) != 0 ||
                       memcmp(out, j->want[k].log_hz, (size_t)j->want[k].frames * sizeof *out) != 0;
    }
    pitch_scratch_close(scratch);
    return NULL;
}

static void test_threads_agree(void **state)
{
    Config cfg = settings(22050, 1024, 256);
    PitchPlan *plan;
    float *clips[THREAD_CLIPS];
    Contour want[THREAD_CLIPS];
    ThreadJob jobs[4];
    assert_int_equal(pitch_plan_open(&plan, &cfg, NULL), 0);
    for (int i = 0; i < THREAD_CLIPS; i++) {
        clips[i] = new_samples(THREAD_MOST);
        fill_speech(clips[i], clip_length(i), 20 + (uint64_t)i);
        want[i] = contour_of(&cfg, clips[i], clip_length(i), NULL);
    }
    for (int i = 0; i < 4; i++) {
        jobs[i] = (ThreadJob){.plan = plan, .clips = clips, .want = want, .first = i};
        assert_int_equal(thread_start(&jobs[i].thread, "pitch", compute_all, &jobs[i], NULL), 0);
    }
    for (int i = 0; i < 4; i++) {
        thread_join(&jobs[i].thread);
        assert_int_equal(jobs[i].different, 0);
    }
    for (int i = 0; i < THREAD_CLIPS; i++) {
        free(clips[i]);
        contour_free(&want[i]);
    }
    pitch_plan_close(plan);
}

/* A little noise moves nothing. */
static void test_noise_is_borne(void **state)
{
    enum { N = 44100 };
    Config cfg = settings(22050, 1024, 256);
    float *x = new_samples(N);
    Rng rng;
    rng_seed(&rng, 31);
    fill_sawtooth(x, N, 22050, 100, 250, 0.2);
    for (int64_t i = 0; i < N; i++)
        x[i] += (float)(0.03 * rng_normal(&rng));
    Contour c = contour_of(&cfg, x, N, NULL);
    for (int64_t t = 3; t < c.frames - 3; t++) {
        assert_int_equal(c.voiced[t], 1);
        assert_true(fabs((double)c.log_hz[t] - log(sweep_hz(100, 250, 256.0 * (double)t / N))) < 0.03);
    }
    contour_free(&c);
    free(x);
}

static int print_contour(const char *path)
{
    Buf bytes = {0};
    AudioBuffer audio = {0};
    Err err = {0};
    char detail[256];
    if (file_read(&bytes, path, (size_t)1 << 30, &err) ||
        audio_decode(&audio, bytes.data, bytes.size, path, 0, detail, sizeof detail)) {
        fprintf(stderr, "test_pitch: cannot read %s\n", path);
        return 3;
    }
    Config cfg = settings((int)audio.rate, 1024, 256);
    Contour c = contour_of(&cfg, audio.samples, audio.frames, NULL);
    for (int64_t t = 0; t < c.frames; t++)
        printf("%lld\t%.4f\t%d\n", (long long)t, exp(c.log_hz[t]), c.voiced[t]);
    contour_free(&c);
    audio_buffer_free(&audio);
    buf_free(&bytes);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--contour") == 0)
        return print_contour(argv[2]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steady_tones),  cmocka_unit_test(test_sweeps),
        cmocka_unit_test(test_no_voice),      cmocka_unit_test(test_gaps),
        cmocka_unit_test(test_short_clips),   cmocka_unit_test(test_instructions_agree),
        cmocka_unit_test(test_threads_agree), cmocka_unit_test(test_noise_is_borne),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
