/* fuzz_audio.c - any bytes as an audio file: a reason or finite samples, then a mel without NaN. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "audio/mel.h"
#include "audio/process.h"
#include "base/check.h"
#include "base/mem.h"
#include "dataset/audio_file.h"

/* libsndfile 1.2.0 loses 6 kB when it opens an OGG file that is cut off; nothing of ours is on that path. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) { return "leak:vorbis_info_init\n"; }

#define MAX_SECONDS 0.5

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const Config cfg = {.sample_rate = 8000,
                               .n_fft = 256,
                               .win_length = 256,
                               .hop_length = 64,
                               .n_mels = 20,
                               .mel_fmax = 4000,
                               .trim_top_db = 40,
                               .target_loudness_lufs = -23};
    char detail[200];
    AudioBuffer audio = {0};
    AudioProcessor *processor = NULL;
    MelPlan *plan = NULL;
    MelScratch *scratch = NULL;
    float *mel = NULL;
    const float *samples;
    int64_t n;
    if (audio_decode(&audio, data, size, "fuzz", MAX_SECONDS, detail, sizeof detail))
        goto done;
    ASSERT_CMP(audio.frames, >, 0);
    ASSERT_CMP(audio.frames, <=, (int64_t)(MAX_SECONDS * audio.rate));
    if (audio_processor_open(&processor, &cfg, NULL) || mel_plan_open(&plan, &cfg, NULL) ||
        mel_scratch_open(&scratch, plan, NULL))
        goto done;
    if (audio_process(processor, &samples, &n, &audio, size & 1, size >> 1 & 1, detail, sizeof detail))
        goto done;
    int64_t count = mel_frames(plan, n) * mel_bands(plan);
    mel = mem_calloc((size_t)count, sizeof(float));
    if (!mel)
        goto done;
    mel_compute(plan, scratch, mel, samples, n);
    for (int64_t i = 0; i < count; i++)
        ASSERT(isfinite(mel[i]));
done:
    free(mel);
    mel_scratch_close(scratch);
    mel_plan_close(plan);
    audio_processor_close(processor);
    audio_buffer_free(&audio);
    return 0;
}
