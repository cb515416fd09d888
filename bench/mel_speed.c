/* mel_speed.c - mel frames per second on one thread, samples already in memory.
 * usage: mel_speed SECONDS FILE...     prints {"frames": N, "seconds": S, "frames_per_s": F} */
#include <stdio.h>
#include <stdlib.h>

#include "audio/mel.h"
#include "audio/process.h"
#include "base/clock.h"
#include "base/file.h"
#include "dataset/audio_file.h"

int main(int argc, char **argv)
{
    Config cfg;
    Err err = {0};
    MelPlan *plan = NULL;
    MelScratch *scratch = NULL;
    if (argc < 3 || config_defaults(&cfg, &err) || mel_plan_open(&plan, &cfg, &err) ||
        mel_scratch_open(&scratch, plan, &err)) {
        fprintf(stderr, "usage: mel_speed SECONDS FILE...  %s\n", err.msg);
        return 2;
    }
    double limit = atof(argv[1]);
    int clips = argc - 2;
    AudioBuffer *audio = calloc((size_t)clips, sizeof *audio);
    int64_t longest = 0;
    for (int i = 0; i < clips; i++) {
        Buf bytes = {0};
        char detail[256];
        if (file_read(&bytes, argv[i + 2], (size_t)1 << 30, &err) ||
            audio_decode(&audio[i], bytes.data, bytes.size, argv[i + 2], 60, detail, sizeof detail)) {
            fprintf(stderr, "mel_speed: cannot read %s\n", argv[i + 2]);
            return 3;
        }
        buf_free(&bytes);
        longest = audio[i].frames > longest ? audio[i].frames : longest;
    }
    float *out = malloc(sizeof *out * (size_t)mel_frames(plan, longest) * (size_t)mel_bands(plan));
    for (int i = 0; i < clips; i++) /* warm up */
        mel_compute(plan, scratch, out, audio[i].samples, audio[i].frames);
    int64_t frames = 0;
    double start = clock_now(), now;
    do {
        for (int i = 0; i < clips; i++) {
            mel_compute(plan, scratch, out, audio[i].samples, audio[i].frames);
            frames += mel_frames(plan, audio[i].frames);
        }
        now = clock_now();
    } while (now - start < limit);
    printf("{\"frames\": %lld, \"seconds\": %.6f, \"frames_per_s\": %.0f}\n", (long long)frames, now - start,
           (double)frames / (now - start));
    for (int i = 0; i < clips; i++)
        audio_buffer_free(&audio[i]);
    free(audio);
    free(out);
    mel_scratch_close(scratch);
    mel_plan_close(plan);
    config_close(&cfg);
    return 0;
}
