/* preprocess_host.c - preprocessing on the CPU, for the devices cpu and simN. preprocess_math.h has the
 * arithmetic for one value. */
#include <string.h>

#include "base/check.h"
#include "cache/half.h"
#include "pipeline/preprocess_math.h"
#include "pipeline/preprocess_private.h"

/* One row of the batch. */
typedef struct Row {
    const PreprocessHost *h;
    const PreprocessArgs *a;
    size_t index;
    const void *stored; /* its mel as stored, or its samples, when they are elsewhere; NULL: in raw */
    Drawn drawn;
} Row;

/* The arrays of a batch have no type of their own; memcpy needs none. */
static int32_t int_at(const uint8_t *memory, size_t array, size_t row)
{
    int32_t v;
    memcpy(&v, memory + array + row * sizeof v, sizeof v);
    return v;
}

static void put_int(uint8_t *memory, size_t array, size_t row, int32_t v)
{
    memcpy(memory + array + row * sizeof v, &v, sizeof v);
}

/* Tokens and numbers go through as they are, but what lies behind the tokens is always 0. */
static void copy_numbers(const Row *r)
{
    const PreprocessArgs *a = r->a;
    const BatchLayout *in = &a->in_layout, *out = &a->out_layout;
    size_t text = (size_t)a->text, row = r->index;
    int32_t length = int_at(a->raw, in->text_length, row);
    size_t tokens = length < 0 ? 0 : (size_t)length > text ? text : (size_t)length;
    uint8_t *to = a->out + out->tokens + row * text * 4;
    memcpy(to, a->raw + in->tokens + row * text * 4, tokens * 4);
    memset(to + tokens * 4, 0, (text - tokens) * 4);
    put_int(a->out, out->text_length, row, length);
    put_int(a->out, out->speaker, row, int_at(a->raw, in->speaker, row));
    put_int(a->out, out->language, row, int_at(a->raw, in->language, row));
    put_int(a->out, out->utterance, row, int_at(a->raw, in->utterance, row));
    put_int(a->out, out->reference, row, int_at(a->raw, in->reference, row));
    const size_t augment = sizeof r->drawn;
    memcpy(a->out + out->augment + row * augment, a->raw + in->augment + row * augment, augment);
}

/* Log mel to what the model sees. */
static void finish_mel(const Row *r, float *mel, int frames)
{
    const PreprocessTables *t = &r->h->tables;
    int bands = r->a->bands;
    int64_t values = (int64_t)frames * bands;
    const float noise = r->drawn.v[AUGMENT_NOISE];
    double level = 0.0;
    if (preprocess_keeps_mel(&r->drawn)) {
        normaliser_mel(mel, mel, t->mean, t->deviation, frames, bands);
        return;
    }
    /* The level of the noise follows from the clip after its gain: the GPU has the same order. */
    for (int64_t i = 0; i < values; i++)
        mel[i] = preprocess_value(mel[i], &r->drawn);
    if (noise != 0.0f && values > 0) {
        uint64_t sum = 0;
        for (int64_t i = 0; i < values; i++)
            sum += preprocess_loudness(mel[i]);
        level = preprocess_noise_level(sum, values, noise);
    }
    /* Noise and normalisation in one pass. */
    uint32_t seed = exact_bitsf(r->drawn.v[AUGMENT_SEED]);
    for (int f = 0; f < frames; f++, mel += bands)
        for (int b = 0; b < bands; b++) {
            float x = noise != 0.0f ? preprocess_noise(mel[b], level, seed, f, b) : mel[b];
            mel[b] = normaliser_value(x, t->mean[b], t->deviation[b]);
        }
}

/* The finished mel of the row into out. Returns its frames. */
static int cached_mel(const Row *r, float *out)
{
    const PreprocessArgs *a = r->a;
    int32_t length = int_at(a->raw, a->in_layout.mel_length, r->index);
    /* A length from outside is cut to the row; a damaged record must not write past it. */
    size_t frames = length < 0           ? 0
                    : length > a->frames ? (size_t)a->frames
                                         : (size_t)length,
           bands = (size_t)a->bands;
    const void *in = r->stored;
    if (!in)
        in = a->raw + a->in_layout.mel + r->index * (size_t)a->frames * bands * (size_t)a->mel_bytes;
    put_int(a->out, a->out_layout.mel_length, r->index, (int32_t)frames);
    put_int(a->out, a->out_layout.sample_length, r->index,
            int_at(a->raw, a->in_layout.sample_length, r->index));
    /* Nothing but normalising: one pass from where it lies. */
    if (a->mel_bytes == 4 && preprocess_keeps_mel(&r->drawn)) {
        normaliser_mel(out, (const float *)in, r->h->tables.mean, r->h->tables.deviation, (int64_t)frames,
                       a->bands);
        return (int)frames;
    }
    if (a->mel_bytes == 2)
        half_to_float(out, (const uint16_t *)in, frames * bands);
    else
        memcpy(out, in, frames * bands * sizeof *out);
    finish_mel(r, out, (int)frames);
    return (int)frames;
}

/* What changes recordings first, then the mel, then what changes mels. */
static int mel_of_samples(const Row *r, float *out)
{
    const PreprocessArgs *a = r->a;
    const PreprocessHost *h = r->h;
    const float *x = r->stored;
    if (!x)
        x = (const float *)(const void *)(a->raw + a->in_layout.samples) + r->index * (size_t)a->samples;
    Clip clip;
    preprocess_clip(&clip, x, int_at(a->raw, a->in_layout.sample_length, r->index), &r->drawn, a->samples,
                    a->frames, h->tables.mel->hop, h->tables.mel->n_fft % 2);
    if (!preprocess_is_plain(&clip)) {
        ASSERT_CMP(clip.n, <=, h->samples_cap);
        for (int64_t i = 0; i < clip.n; i++)
            h->samples[i] = preprocess_sample(&clip, i);
        x = h->samples;
    }
    if (clip.n > 0)
        mel_compute(h->plan, h->scratch, out, x, clip.n);
    put_int(a->out, a->out_layout.mel_length, r->index, clip.frames);
    put_int(a->out, a->out_layout.sample_length, r->index, (int32_t)clip.n);
    finish_mel(r, out, clip.frames);
    return clip.frames;
}

/* The samples of a segment, which the model compares its own with. */
static void keep_samples(const Row *r)
{
    const PreprocessArgs *a = r->a;
    int32_t length = int_at(a->out, a->out_layout.sample_length, r->index);
    size_t row_bytes = (size_t)a->samples * 4, used = (size_t)length * 4;
    uint8_t *to = a->out + a->out_layout.samples + r->index * row_bytes;
    memcpy(to, a->raw + a->in_layout.samples + r->index * row_bytes, used);
    memset(to + used, 0, row_bytes - used);
}

/* The pitch as the loader made it, and zeros behind the frames of the mel. */
static void copy_pitch(const Row *r, size_t frames)
{
    size_t row_bytes = (size_t)r->a->frames * 4, used = frames * 4;
    uint8_t *to = r->a->out + r->a->out_layout.pitch + r->index * row_bytes;
    memcpy(to, r->a->raw + r->a->in_layout.pitch + r->index * row_bytes, used);
    memset(to + used, 0, row_bytes - used);
}

/* Everything of one row, and zeros behind it. */
void preprocess_host_row(const PreprocessTask *task, int row, const void *stored)
{
    const PreprocessArgs *a = &task->args;
    size_t row_values = (size_t)a->frames * (size_t)a->bands;
    Row r = {.h = task->host, .a = a, .index = (size_t)row, .stored = stored};
    memcpy(&r.drawn, a->raw + a->in_layout.augment + (size_t)row * sizeof r.drawn, sizeof r.drawn);
    preprocess_drawn(&r.drawn, task->host->tables.on);
    float *mel = (float *)(void *)(a->out + a->out_layout.mel) + (size_t)row * row_values;
    copy_numbers(&r);
    const int computes = a->samples > 0 && !a->brings_mel;
    size_t frames = (size_t)(computes ? mel_of_samples(&r, mel) : cached_mel(&r, mel)),
           used = frames * (size_t)a->bands;
    copy_pitch(&r, frames);
    if (a->keeps_samples)
        keep_samples(&r);
    memset(mel + used, 0, (row_values - used) * sizeof *mel);
}

/* The whole batch, as a kernel of a stream. */
void preprocess_host_kernel(void *arg)
{
    const PreprocessTask *task = arg;
    for (int row = 0; row < task->args.rows; row++)
        preprocess_host_row(task, row, NULL);
}
