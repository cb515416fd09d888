/* test_sound.c - the sound stage: it gives what Griffin-Lim gives, silence behind it where that is asked for,
 * and errors leave nothing open. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "audio/griffin_lim.h"
#include "voice/sound.h"

#define FRAMES 20
#define SILENCE 300

static void fill_mel(float *mel, int bands)
{
    for (int i = 0; i < FRAMES * bands; i++)
        mel[i] = -6 + 3 * (float)((i * 37) % 11) / 11;
}

/* `iterations` of the stage against as many of Griffin-Lim. */
static void compare(int iterations, int expected)
{
    Config cfg;
    Err err = {0};
    assert_int_equal(config_defaults(&cfg, &err), 0);
    float *mel = calloc((size_t)FRAMES * (size_t)cfg.n_mels, sizeof *mel), *samples;
    fill_mel(mel, cfg.n_mels);
    Sound *s;
    int64_t count;
    assert_int_equal(sound_open(&s, &(SoundOptions){.cfg = &cfg, .iterations = iterations}, &err), 0);
    assert_int_equal(sound_make(s, &samples, &count, mel, FRAMES, SILENCE, &err), 0);

    GriffinLim *g;
    assert_int_equal(griffin_lim_open(&g, &cfg, &err), 0);
    int64_t n = griffin_lim_samples(g, FRAMES);
    float *want = calloc((size_t)n, sizeof *want);
    assert_int_equal(griffin_lim_run(g, want, mel, FRAMES, expected, 1, &err), 0);
    assert_int_equal(count, n + SILENCE);
    assert_memory_equal(samples, want, (size_t)n * sizeof *want);
    for (int64_t i = n; i < count; i++)
        assert_true(samples[i] == 0);

    free(samples);
    free(want);
    free(mel);
    griffin_lim_close(g);
    sound_close(s);
    config_close(&cfg);
}

static void it_is_griffin_lim(void **state)
{
    compare(3, 3);
    compare(0, GRIFFIN_LIM_ITERATIONS);
}

static void errors_leave_nothing(void **state)
{
    Config cfg;
    Err err = {0};
    assert_int_equal(config_defaults(&cfg, &err), 0);
    Sound *s = (Sound *)&cfg;
    assert_int_equal(sound_open(&s, &(SoundOptions){.cfg = &cfg, .kind = "gramophone"}, &err), ERR_CONFIG);
    assert_null(s);
    assert_non_null(strstr(err.msg, "gramophone"));
    assert_non_null(strstr(err.hint, "griffin-lim"));

    cfg.n_fft = 1023; /* Griffin-Lim wants an even one */
    s = (Sound *)&cfg;
    err = (Err){0};
    assert_int_equal(sound_open(&s, &(SoundOptions){.cfg = &cfg, .kind = "griffin-lim"}, &err), ERR_CONFIG);
    assert_null(s);
    sound_close(s);
    cfg.n_fft = 1024;

    err = (Err){0};
    float mel[1] = {0}, *samples = mel;
    int64_t count;
    assert_int_equal(sound_open(&s, &(SoundOptions){.cfg = &cfg}, &err), 0);
    assert_int_equal(sound_make(s, &samples, &count, mel, 0, 5, &err), ERR_DATA);
    assert_null(samples);
    sound_close(s);
    config_close(&cfg);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_griffin_lim),
        cmocka_unit_test(errors_leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
