/* mel_features.c - what a record of the mel store holds: settings, key, payload, statistics. */
#include <math.h>
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

/* The end of a payload: whole numbers, so that the last bit of a logarithm does not matter. */
typedef struct StoredMeasure {
    int16_t noise, speech, soft_channel, mix; /* tenths of a dB */
    uint16_t speech_seconds, bandwidth;       /* hundredths of a second; tens of Hz */
    uint32_t zero;
} StoredMeasure;

static uint16_t stored(float x) { return (uint16_t)fminf(fmaxf(roundf(x), 0), UINT16_MAX); }

int mel_encode_measure(Buf *out, const AudioMeasure *m)
{
    const StoredMeasure s = {.noise = (int16_t)lroundf(10 * m->noise_db),
                             .speech = (int16_t)lroundf(10 * m->speech_db),
                             .soft_channel = (int16_t)lroundf(10 * m->soft_channel_db),
                             .mix = (int16_t)lroundf(10 * m->mix_db),
                             .speech_seconds = stored(100 * m->speech_seconds),
                             .bandwidth = stored(m->bandwidth_hz / 10)};
    buf_add(out, &s, sizeof s);
    return out->failed ? ERR_NOMEM : 0;
}

int mel_measure(AudioMeasure *out, const MelView *v)
{
    StoredMeasure s;
    if (!v->measure)
        return 0;
    memcpy(&s, v->measure, sizeof s);
    *out = (AudioMeasure){.noise_db = (float)s.noise / 10,
                          .speech_db = (float)s.speech / 10,
                          .soft_channel_db = (float)s.soft_channel / 10,
                          .mix_db = (float)s.mix / 10,
                          .speech_seconds = (float)s.speech_seconds / 100,
                          .bandwidth_hz = (float)s.bandwidth * 10};
    return 1;
}

/* format of a mel record: storage in the low byte, bands above. */
uint32_t mel_format(MelStorage storage, int bands) { return (uint32_t)storage | (uint32_t)bands << 8; }

/* Frames of mel, zeros to 8, pitch, zeros to 8, sums, and perhaps a measure: the sizes must add up to the
 * payload's. */
int mel_view(MelView *v, const StoreEntry *e)
{
    uint32_t bands = e->format >> 8, width = (e->format & 0xFF) == STORE_FLOAT16 ? 2 : 4;
    uint64_t data = round_up((uint64_t)e->items * bands * width, 8),
             sums = data + round_up((uint64_t)e->items * 4, 8), end = sums + (uint64_t)bands * 16 + 16;
    if (bands == 0 || (e->format & 0xFF) > STORE_FLOAT16 ||
        (end != e->payload_size && end + sizeof(StoredMeasure) != e->payload_size))
        return ERR_DAMAGED;
    *v = (MelView){.data = e->payload,
                   .frames = e->items,
                   .bands = bands,
                   .storage = (MelStorage)(e->format & 0xFF),
                   .pitch = (const float *)(const void *)(e->payload + data),
                   .sum = (const double *)(const void *)(e->payload + sums),
                   .source_seconds = source_seconds(e),
                   .measure = e->payload_size > end ? e->payload + end : NULL};
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
