/* sound_vocoder.c - the sound stage that was trained: a vocoder's checkpoint on a device. */
#include <stdlib.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "base/plural.h"
#include "base/thread.h"
#include "model/vocoder.h"
#include "voice/network_room.h"
#include "voice/sound.h"
#include "voice/vocoder_file.h"

#define FRAME_STEP 64  /* memory grows by this many frames */
#define LEAST_FRAMES 2 /* sound lies between frames */

typedef struct Stage {
    NetworkRoom network;
    Vocoder *vocoder; /* NULL: nothing has been heard yet */
    int64_t frames;   /* that there is memory for */
    int rounds;       /* of Griffin-Lim behind it */
} Stage;

static void stage_close(void *stage)
{
    Stage *s = stage;
    if (!s)
        return;
    vocoder_close(s->vocoder);
    network_room_close(&s->network);
    free(s);
}

/* The given mel must be of the kind that the vocoder was trained on. */
static int stage_open(void **out, const SoundOptions *o, Err *err)
{
    *out = NULL;
    if (!o->vocoder || !o->device)
        return err_set(err, ERR_CONFIG, "the sound stage vocoder needs a trained vocoder");
    int rc = vocoder_file_fits(o->vocoder, o->cfg, "this configuration", err);
    if (rc)
        return rc;
    Stage *s = mem_calloc(1, sizeof *s);
    if (!s)
        return err_set(err, ERR_NOMEM, "no memory for a vocoder");
    s->rounds = o->device->traits.library_kernels ? VOCODER_ROUNDS : VOCODER_ROUNDS_CPU;
    if (o->iterations)
        s->rounds = o->iterations == SOUND_NONE ? 0 : o->iterations;
    const Stage *lender = sound_stage(o->lender, &sound_vocoder);
    rc = network_room_open(&s->network, o->vocoder, lender ? &lender->network : NULL, o->device,
                           o->threads ? o->threads : thread_cores(), err);
    if (rc) {
        stage_close(s);
        return rc;
    }
    *out = s;
    return 0;
}

static int64_t stage_samples(const void *stage, int64_t frames)
{
    const Stage *s = stage;
    return frames < LEAST_FRAMES ? 0 : (frames - 1) * s->network.m.cfg.hop_length;
}

static int stage_context(const void *stage)
{
    return vocoder_context(&((const Stage *)stage)->network.m.cfg);
}

/* Memory for a mel of this many frames on its way. */
static int fit(Stage *s, int64_t frames, Err *err)
{
    if (frames <= s->frames)
        return 0;
    const int64_t wanted = (int64_t)round_up((uint64_t)frames, FRAME_STEP);
    vocoder_close(s->vocoder);
    s->vocoder = NULL;
    s->frames = 0;
    int rc = vocoder_open(&s->vocoder, &s->network.m, (int)wanted, err);
    if (!rc)
        s->frames = wanted;
    return rc;
}

static int stage_run(void *stage, float *samples, const float *log_mel, int64_t frames, Err *err)
{
    Stage *s = stage;
    if (frames < LEAST_FRAMES || frames > INT32_MAX / s->network.m.cfg.hop_length)
        return err_set(err, ERR_DATA, "a mel of %lld frame%s cannot be turned into sound", (long long)frames,
                       plural((uint64_t)frames));
    int rc = fit(s, frames, err);
    return rc ? rc : vocoder_run(s->vocoder, samples, log_mel, (int)frames, err);
}

static int stage_refine(void *stage, float *samples, const float *log_mel, int64_t frames, Err *err)
{
    Stage *s = stage;
    int rc = fit(s, frames, err);
    return rc ? rc : vocoder_refine(s->vocoder, samples, log_mel, (int)frames, s->rounds, err);
}

static int stage_refine_context(const void *stage)
{
    const Stage *s = stage;
    return vocoder_refine_context(&s->network.m.cfg, s->rounds);
}

const SoundKind sound_vocoder = {.name = "vocoder",
                                 .open = stage_open,
                                 .samples = stage_samples,
                                 .run = stage_run,
                                 .context = stage_context,
                                 .refine = stage_refine,
                                 .refine_context = stage_refine_context,
                                 .close = stage_close};
