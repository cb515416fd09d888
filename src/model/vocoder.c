/* vocoder.c - a vocoder that makes sound: one row through the network, without anything of training. */
#include "model/vocoder.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"
#include "model/network.h"
#include "model/vocoder_tables.h"

struct Vocoder {
    Model *m;
    int frames;   /* most */
    void *memory; /* device: of a pass, and what goes into it */
    uint64_t bytes;
    int32_t *length; /* [1] device */
    float *mel;      /* [frames, n_mels] device */
    void *pass;      /* device */
    float *wave;     /* [(frames - 1) * hop_length] device */
    void *room;      /* device: of the rounds */
};

/* The memory, or only its size. */
static void cut(Vocoder *v, const Model *m, const Ops *ops, Cut *c)
{
    v->length = cut_take(c, sizeof *v->length);
    v->mel = cut_take(c, (uint64_t)v->frames * (uint64_t)m->cfg.n_mels * sizeof *v->mel);
    v->pass = cut_take(c, pass_bytes(m, ops, 1, 0, v->frames, 0));
    v->wave = cut_take(c, (uint64_t)(v->frames - 1) * (uint64_t)m->cfg.hop_length * sizeof *v->wave);
    v->room = cut_take(c, ops->sound_refine_bytes(1, v->frames, m->cfg.n_fft));
}

uint64_t vocoder_bytes(const Model *m, const Ops *ops, int frames)
{
    Vocoder v = {.frames = frames};
    Cut c = {0};
    cut(&v, m, ops, &c);
    return c.used;
}

int vocoder_open(Vocoder **out, Model *m, int frames, Err *err)
{
    Vocoder *v = *out = mem_calloc(1, sizeof *v);
    if (!v)
        return err_set(err, ERR_NOMEM, "no memory for a vocoder");
    ASSERT(m->cfg.network == NETWORK_VOCODER && frames >= 2);
    v->m = m;
    v->frames = frames;
    v->bytes = vocoder_bytes(m, m->c->ops, frames);
    int rc = device_alloc(m->c->device, &v->memory, v->bytes, err);
    if (rc) {
        vocoder_close(v);
        *out = NULL;
        return rc;
    }
    Cut c = {.base = v->memory};
    cut(v, m, m->c->ops, &c);
    return 0;
}

void vocoder_close(Vocoder *v)
{
    if (!v)
        return;
    if (v->memory)
        device_free(v->m->c->device, v->memory, v->bytes);
    free(v);
}

static int check_finite(const float *samples, int64_t n, Err *err)
{
    int bad = 0;
    for (int64_t i = 0; i < n; i++)
        bad |= !(fabsf(samples[i]) <= FLT_MAX);
    return bad ? err_set(err, ERR_DATA, "the vocoder's output for this mel is not finite") : 0;
}

int vocoder_run(Vocoder *v, float *samples, const float *mel, int frames, Err *err)
{
    Model *m = v->m;
    const DeviceOps *d = m->c->device->ops;
    Stream *stream = m->c->stream;
    const int32_t length = frames;
    const int64_t n = (int64_t)(frames - 1) * m->cfg.hop_length;
    const ModelInput in = {.B = 1, .M = frames, .mel_length = v->length, .mel = v->mel};
    PassOutput o;
    Pass *pass;
    ASSERT(frames >= 2 && frames <= v->frames);
    ASSERT_CMP(m->c->ops->acc_bytes, ==, sizeof(float));
    int rc = pass_open(&pass, m, &in, v->pass, 0, err);
    if (rc)
        return rc;
    rc = d->copy_in(stream, v->length, &length, sizeof length, err);
    if (!rc)
        rc = d->copy_in(stream, v->mel, mel, (size_t)frames * (size_t)m->cfg.n_mels * sizeof *mel, err);
    /* Ops of a simulated device do not wait for its copies. */
    if (!rc)
        rc = d->stream_wait_idle(stream, err);
    if (!rc) {
        pass_forward(pass, 0);
        pass_output(pass, &o);
        rc = ops_check(m->c, err);
    }
    if (!rc)
        rc = d->copy_out(stream, samples, o.wave, (size_t)n * sizeof *samples, err);
    /* Also after an error: what was enqueued reads from here. */
    int waited = d->stream_wait_idle(stream, rc ? NULL : err);
    pass_close(pass);
    if (rc || waited)
        return rc ? rc : waited;
    return check_finite(samples, n, err);
}

int vocoder_refine(Vocoder *v, float *samples, const float *mel, int frames, int rounds, Err *err)
{
    Model *m = v->m;
    const DeviceOps *d = m->c->device->ops;
    const Ops *ops = m->c->ops;
    Stream *stream = m->c->stream;
    const int64_t n = (int64_t)(frames - 1) * m->cfg.hop_length;
    const SoundFrames f = vocoder_mel_frames(m, ops);
    const SoundBands bands = vocoder_mel_bands(m);
    ASSERT(frames >= 2 && frames <= v->frames && rounds >= 0);
    if (rounds == 0 || n <= m->cfg.n_fft / 2)
        return 0;
    int rc = d->copy_in(stream, v->wave, samples, (size_t)n * sizeof *samples, err);
    if (!rc)
        rc = d->copy_in(stream, v->mel, mel, (size_t)frames * (size_t)m->cfg.n_mels * sizeof *mel, err);
    if (!rc)
        rc = d->stream_wait_idle(stream, err);
    if (!rc) {
        ops->sound_refine(m->c, v->wave, v->room, v->mel, &f, &bands, 1, frames, rounds);
        rc = ops_check(m->c, err);
    }
    if (!rc)
        rc = d->copy_out(stream, samples, v->wave, (size_t)n * sizeof *samples, err);
    int waited = d->stream_wait_idle(stream, rc ? NULL : err);
    return rc || waited ? (rc ? rc : waited) : check_finite(samples, n, err);
}

/* The input's convolution and that of every block reach so far, and windows of the transform lie over the
 * samples. */
int vocoder_context(const Config *cfg)
{
    const int reach = VOCODER_KERNEL / 2;
    return reach + reach * cfg->vocoder_layers + (cfg->n_fft / 2 + cfg->hop_length - 1) / cfg->hop_length;
}

/* A round mixes what lies under windows that have a sample in common; the last frame has no sound behind it.
 */
int vocoder_refine_context(const Config *cfg, int rounds)
{
    return rounds ? rounds * ((cfg->win_length + cfg->hop_length - 1) / cfg->hop_length) + 1 : 0;
}
