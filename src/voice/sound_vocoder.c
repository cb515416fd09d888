/* sound_vocoder.c - the sound stage that was trained: a vocoder's checkpoint on a device. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "base/plural.h"
#include "base/thread.h"
#include "voice/network_room.h"
#include "voice/sound.h"
#include "voice/vocoder_file.h"

#define FRAME_STEP 64 /* memory grows by so many frames */
#define LENGTH_BYTES 256
#define LEAST_FRAMES 2 /* sound lies between frames */

typedef struct Stage {
    NetworkRoom network;
    void *memory; /* on the device: the length, the mel, activations */
    uint64_t bytes;
    int64_t frames; /* that there is memory for */
} Stage;

static void stage_close(void *stage)
{
    Stage *s = stage;
    if (!s)
        return;
    if (s->memory)
        device_free(s->network.device, s->memory, s->bytes);
    network_room_close(&s->network);
    free(s);
}

/* The mel that is given must be the one that the vocoder has learned from. */
static int stage_open(void **out, const SoundOptions *o, Err *err)
{
    *out = NULL;
    if (!o->vocoder || !o->device)
        return err_set(err, ERR_CONFIG, "the sound stage vocoder needs a trained one");
    int rc = vocoder_file_fits(o->vocoder, o->cfg, "what is to be heard", err);
    if (rc)
        return rc;
    Stage *s = mem_calloc(1, sizeof *s);
    if (!s)
        return err_set(err, ERR_NOMEM, "no memory for a vocoder");
    rc = network_room_open(&s->network, o->vocoder, o->device, o->threads ? o->threads : thread_cores(), err);
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

/* The filters over frames, then the transforms that reach a sample. */
static int stage_context(const void *stage)
{
    const Config *cfg = &((const Stage *)stage)->network.m.cfg;
    const int reach = VOCODER_KERNEL / 2;
    return reach + reach * cfg->vocoder_layers + (cfg->n_fft / 2 + cfg->hop_length - 1) / cfg->hop_length;
}

static uint64_t mel_bytes(const Stage *s, int64_t frames)
{
    return round_up((uint64_t)frames * (uint64_t)s->network.m.cfg.n_mels * sizeof(float), LENGTH_BYTES);
}

/* Memory for a mel of so many frames on its way. */
static int fit(Stage *s, int64_t frames, Err *err)
{
    NetworkRoom *n = &s->network;
    if (frames <= s->frames)
        return 0;
    const int64_t wanted = (int64_t)round_up((uint64_t)frames, FRAME_STEP);
    const uint64_t bytes =
        LENGTH_BYTES + mel_bytes(s, wanted) + pass_bytes(&n->m, n->ops, 1, 0, (int)wanted, 0);
    if (s->memory)
        device_free(n->device, s->memory, s->bytes);
    s->memory = NULL;
    s->frames = 0;
    int rc = device_alloc(n->device, &s->memory, bytes, err);
    if (rc)
        return rc;
    s->bytes = bytes;
    s->frames = wanted;
    return 0;
}

static int check_sound(const float *samples, int64_t count, Err *err)
{
    int bad = 0;
    for (int64_t i = 0; i < count; i++)
        bad |= !isfinite(samples[i]);
    return bad ? err_set(err, ERR_DATA, "the vocoder made numbers that are not finite of this mel") : 0;
}

/* One pass without a batch: one row, as long as the mel. */
static int stage_run(void *stage, float *samples, const float *log_mel, int64_t frames, Err *err)
{
    Stage *s = stage;
    NetworkRoom *n = &s->network;
    const DeviceOps *d = n->device->ops;
    const int64_t count = stage_samples(s, frames);
    if (frames < LEAST_FRAMES || frames > INT32_MAX / n->m.cfg.hop_length)
        return err_set(err, ERR_DATA, "a mel of %lld frame%s cannot become sound", (long long)frames,
                       plural((uint64_t)frames));
    int rc = fit(s, frames, err);
    if (rc)
        return rc;
    int32_t length = (int32_t)frames;
    uint8_t *memory = s->memory;
    float *mel = (float *)(void *)(memory + LENGTH_BYTES);
    ModelInput in = {.B = 1, .M = length, .mel_length = (const int32_t *)s->memory, .mel = mel};
    Pass *pass;
    PassOutput made;
    rc = pass_open(&pass, &n->m, &in, memory + LENGTH_BYTES + mel_bytes(s, frames), 0, err);
    if (rc)
        return rc;
    rc = d->copy_in(n->stream, s->memory, &length, sizeof length, err);
    if (!rc)
        rc = d->copy_in(n->stream, mel, log_mel, (size_t)frames * (size_t)n->m.cfg.n_mels * sizeof *mel, err);
    /* The ops of a simulated device run in this thread, its copies do not. */
    if (!rc)
        rc = d->stream_wait_idle(n->stream, err);
    if (!rc) {
        pass_forward(pass, 0);
        pass_output(pass, &made);
        rc = ops_check(&n->c, err);
    }
    if (!rc)
        rc = d->copy_out(n->stream, samples, made.wave, (size_t)count * sizeof *samples, err);
    /* Also after an error: what was enqueued reads from here. */
    int waited = d->stream_wait_idle(n->stream, rc ? NULL : err);
    pass_close(pass);
    rc = rc ? rc : waited;
    return rc ? rc : check_sound(samples, count, err);
}

const SoundKind sound_vocoder = {.name = "vocoder",
                                 .open = stage_open,
                                 .samples = stage_samples,
                                 .run = stage_run,
                                 .context = stage_context,
                                 .close = stage_close};
