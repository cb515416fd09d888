/* mel_features.c - what a record of the mel store holds: settings, key, payload, statistics. */
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "cache/features.h"
#include "cache/half.h"
#include "cache/mel_features.h"
#include "config/bindings.h"

#define MEL_FEATURES_VERSION 2 /* raised when the same samples would give other features */

/* Everything that changes a mel or a pitch; what only chooses among clips is not in it. Which settings these
 * are is marked in the option table. */
Hash128 mel_settings_hash(const Config *cfg)
{
    Hasher h;
    if (hasher_open(&h))
        return (Hash128){0};
    hasher_str(&h, "mel");
    hasher_u64(&h, MEL_FEATURES_VERSION);
    config_hash_bound(&h, cfg, BOUND_MEL_CACHE);
    return hasher_close(&h);
}

/* format of a mel record: storage in the low byte, bands above. */
uint32_t mel_format(MelStorage storage, int bands) { return (uint32_t)storage | (uint32_t)bands << 8; }

/* Frames of mel, zeros to 8, pitch, zeros to 8, sums: the sizes must add up to the payload's. */
int mel_view(MelView *v, const StoreEntry *e)
{
    uint32_t bands = e->format >> 8, width = (e->format & 0xFF) == STORE_FLOAT16 ? 2 : 4;
    uint64_t data = round_up((uint64_t)e->items * bands * width, 8),
             sums = data + round_up((uint64_t)e->items * 4, 8);
    if (bands == 0 || (e->format & 0xFF) > STORE_FLOAT16 ||
        sums + (uint64_t)bands * 16 + 16 != e->payload_size)
        return ERR_DAMAGED;
    *v = (MelView){.data = e->payload,
                   .frames = e->items,
                   .bands = bands,
                   .storage = (MelStorage)(e->format & 0xFF),
                   .pitch = (const float *)(const void *)(e->payload + data),
                   .sum = (const double *)(const void *)(e->payload + sums),
                   .source_seconds = source_seconds(e)};
    v->sum_squares = v->sum + bands;
    v->pitch_sums = v->sum_squares + bands;
    return 0;
}

/* As mel_view reads it. The sums are those of the exact values, not of the halves that are stored. */
int mel_encode_payload(Buf *out, const float *mel, const float *pitch, int64_t frames, int bands,
                       MelStorage storage)
{
    size_t n = (size_t)frames * (size_t)bands;
    buf_clear(out);
    if (storage == STORE_FLOAT16) {
        buf_zero(out, round_up(n * 2, 8));
        if (!out->failed)
            half_from_float((uint16_t *)(void *)out->data, mel, n);
    } else {
        buf_add(out, mel, n * 4);
        buf_zero(out, round_up(n * 4, 8) - n * 4);
    }
    buf_add(out, pitch, (size_t)frames * 4);
    buf_zero(out, round_up(out->size, 8) - out->size);
    size_t sums = out->size;
    buf_zero(out, (size_t)bands * 16 + 16);
    if (out->failed)
        return ERR_NOMEM;
    /* In the order of the frames: the same clip gives the same bytes. */
    double *sum = (double *)(void *)(out->data + sums), *squares = sum + bands, *pitch_sums = squares + bands;
    for (int64_t f = 0; f < frames; f++) {
        pitch_sums[0] += pitch[f];
        pitch_sums[1] += (double)pitch[f] * pitch[f];
        for (int b = 0; b < bands; b++) {
            double x = mel[f * bands + b];
            sum[b] += x;
            squares[b] += x * x;
        }
    }
    return 0;
}

int mel_statistics(MelStatistics *head, const double **mean, const double **deviation, const Store *s)
{
    if (s->blob_size < sizeof *head)
        return ERR_DAMAGED;
    memcpy(head, s->blob, sizeof *head);
    if (sizeof *head + (uint64_t)head->bands * 16 != s->blob_size)
        return ERR_DAMAGED;
    *mean = (const double *)(const void *)(s->blob + sizeof *head);
    *deviation = *mean + head->bands;
    return 0;
}
