/* batch.c - see batch.h. */
#include "pipeline/batch.h"

#include "base/bytes.h"
#include "base/hash.h"

#define ALIGN 256

/* The next free offset; arrays begin at multiples of ALIGN, for wide loads on any device. */
static size_t place(size_t *at, size_t bytes)
{
    size_t offset = *at;
    *at = (size_t)round_up(offset + bytes, ALIGN);
    return offset;
}

/* The arrays both layouts begin with, in the same order and at the same offsets. */
static size_t place_common(BatchLayout *l, size_t rows, size_t text, size_t frames)
{
    size_t at = 0;
    l->tokens = place(&at, rows * text * 4);
    l->text_length = place(&at, rows * 4);
    l->mel_length = place(&at, rows * 4);
    l->speaker = place(&at, rows * 4);
    l->language = place(&at, rows * 4);
    l->utterance = place(&at, rows * 4);
    l->augment = place(&at, rows * AUGMENT_COUNT * 4);
    l->sample_length = place(&at, rows * 4);
    l->reference = place(&at, rows * 4);
    l->pitch = place(&at, rows * frames * 4);
    return at;
}

int batch_hop(const Config *cfg) { return cfg->network == NETWORK_VOCODER ? cfg->hop_length : 0; }

int64_t batch_kept_samples(const BatchShape *s, int frames)
{
    return s->hop > 0 && frames > 1 ? (int64_t)(frames - 1) * s->hop : 0;
}

/* As the loader fills it: samples or stored mels; both where segments bring their mels. */
void batch_layout_host(BatchLayout *l, const BatchShape *s, int text, int frames, int64_t samples)
{
    size_t rows = (size_t)s->rows, at = place_common(l, rows, (size_t)text, (size_t)frames);
    l->mel = l->samples = at;
    if (samples > 0)
        l->samples = place(&at, rows * (size_t)samples * 4);
    if (samples == 0 || s->brings_mel)
        l->mel = place(&at, rows * (size_t)frames * (size_t)s->bands * (size_t)s->mel_bytes);
    l->bytes = at;
}

/* As the network reads it: mels in float, whatever type the cache has, and the samples of segments. */
void batch_layout_device(BatchLayout *l, const BatchShape *s, int text, int frames)
{
    size_t rows = (size_t)s->rows, at = place_common(l, rows, (size_t)text, (size_t)frames);
    l->mel = place(&at, rows * (size_t)frames * (size_t)s->bands * 4);
    l->samples = place(&at, rows * (size_t)batch_kept_samples(s, frames) * 4);
    l->bytes = at;
}

/* Over what the network sees: padding between the arrays and what only the preprocessing needs are left out.
 * */
Hash128 batch_hash(const uint8_t *memory, const BatchLayout *l, const BatchInfo *info, const BatchShape *s)
{
    size_t rows = (size_t)s->rows;
    const struct {
        size_t offset, bytes;
    } arrays[] = {{l->tokens, rows * (size_t)info->text * 4},
                  {l->text_length, rows * 4},
                  {l->mel_length, rows * 4},
                  {l->speaker, rows * 4},
                  {l->language, rows * 4},
                  {l->utterance, rows * 4},
                  {l->reference, rows * 4},
                  {l->pitch, rows * (size_t)info->frames * 4},
                  {l->mel, rows * (size_t)info->frames * (size_t)s->bands * 4},
                  {l->samples, rows * (size_t)batch_kept_samples(s, info->frames) * 4}};
    size_t count = sizeof arrays / sizeof *arrays - (s->hop == 0);
    Hash128 parts[sizeof arrays / sizeof *arrays];
    for (size_t i = 0; i < count; i++)
        parts[i] = hash_bytes(memory + arrays[i].offset, arrays[i].bytes);
    return hash_bytes(parts, count * sizeof *parts);
}
