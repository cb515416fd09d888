/* griffin_lim.c - mel to audio on one thread: how long it takes and how close the mel of the result is to the
 * given one. usage: griffin_lim ITERATIONS [--write DIR] FILE...     the audio files' own mels are given
 * prints {"clips": N, "audio_s": A, "seconds": S, "rtf": R, "difference": D}; D is the mean of |log mel - log
 * mel|.
 * --write leaves the samples of every clip as DIR/<name of the file>.npy, float32 [1, n]. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audio/griffin_lim.h"
#include "audio/mel.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/npy.h"
#include "dataset/audio_file.h"

typedef struct Sums {
    double audio, seconds, difference;
    int64_t values;
} Sums;

static int one_clip(Sums *sums, GriffinLim *g, MelPlan *plan, MelScratch *scratch, int rate, const char *path,
                    int iterations, const char *dir, Err *err)
{
    Buf bytes = {0};
    AudioBuffer audio = {0};
    char detail[256];
    int rc = file_read(&bytes, path, (size_t)1 << 30, err);
    if (rc == 0 && audio_decode(&audio, bytes.data, bytes.size, path, 0, detail, sizeof detail))
        rc = err_set(err, ERR_DATA, "%s", detail);
    buf_free(&bytes);
    if (rc)
        return rc;
    int64_t frames = mel_frames(plan, audio.frames), n = griffin_lim_samples(g, frames),
            values = frames * mel_bands(plan);
    float *given = malloc(sizeof *given * (size_t)values), *got = malloc(sizeof *got * (size_t)values);
    float *samples = malloc(sizeof *samples * (size_t)n);
    mel_compute(plan, scratch, given, audio.samples, audio.frames);
    double start = clock_now();
    rc = griffin_lim_run(g, samples, given, frames, iterations, 1, err);
    sums->seconds += clock_now() - start;
    sums->audio += (double)n / rate;
    if (rc == 0) {
        mel_compute(plan, scratch, got, samples, n);
        for (int64_t i = 0; i < values; i++)
            sums->difference += fabs((double)given[i] - (double)got[i]);
        sums->values += values;
    }
    if (rc == 0 && dir) {
        Buf to = {0};
        const char *name = strrchr(path, '/');
        buf_printf(&to, "%s/%s.npy", dir, name ? name + 1 : path);
        rc = npy_write(to.data, samples, 1, n, err);
        buf_free(&to);
    }
    free(given);
    free(got);
    free(samples);
    audio_buffer_free(&audio);
    return rc;
}

int main(int argc, char **argv)
{
    Config cfg;
    Err err = {0};
    MelPlan *plan = NULL;
    MelScratch *scratch = NULL;
    GriffinLim *g = NULL;
    const char *dir = argc > 3 && strcmp(argv[2], "--write") == 0 ? argv[3] : NULL;
    int first = dir ? 4 : 2, rc = 0;
    if (argc <= first || config_defaults(&cfg, &err) || mel_plan_open(&plan, &cfg, &err) ||
        mel_scratch_open(&scratch, plan, &err) || griffin_lim_open(&g, &cfg, &err)) {
        fprintf(stderr, "usage: griffin_lim ITERATIONS [--write DIR] FILE...  %s\n", err.msg);
        return 2;
    }
    Sums sums = {0};
    for (int i = first; i < argc && rc == 0; i++)
        rc = one_clip(&sums, g, plan, scratch, cfg.sample_rate, argv[i], atoi(argv[1]), dir, &err);
    if (rc)
        fprintf(stderr, "griffin_lim: %s\n", err.msg);
    else
        printf("{\"clips\": %d, \"audio_s\": %.3f, \"seconds\": %.4f, \"rtf\": %.5f, \"difference\": %.5f}\n",
               argc - first, sums.audio, sums.seconds, sums.seconds / sums.audio,
               sums.difference / (double)sums.values);
    griffin_lim_close(g);
    mel_scratch_close(scratch);
    mel_plan_close(plan);
    config_close(&cfg);
    return rc ? 3 : 0;
}
