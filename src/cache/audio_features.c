/* audio_features.c - what a record of the audio store holds: settings, payload. */
#include <math.h>
#include <string.h>

#include "cache/audio_features.h"
#include "cache/features.h"
#include "config/bindings.h"

#define AUDIO_FEATURES_VERSION 1 /* raised when the same file would give other samples */
#define FULL_SCALE 32768.0f      /* what files of 16 bits call 1.0: their samples come through unchanged */
#define MOST 32767

/* Everything that changes a sample; what only matters to the mel is not in it. */
Hash128 audio_settings_hash(const Config *cfg)
{
    Hasher h;
    if (hasher_open(&h))
        return (Hash128){0};
    hasher_str(&h, "audio");
    hasher_u64(&h, AUDIO_FEATURES_VERSION);
    config_hash_bound(&h, cfg, BOUND_AUDIO_CACHE);
    return hasher_close(&h);
}

/* The record's format is the scale: it is in the index too, so that opening a corpus touches no payload. */
int audio_view(AudioView *v, const StoreEntry *e)
{
    if (e->payload_size != (uint64_t)e->items * sizeof(int16_t) || e->items == 0)
        return ERR_DAMAGED;
    *v = (AudioView){.data = (const int16_t *)(const void *)e->payload,
                     .count = e->items,
                     .source_seconds = source_seconds(e)};
    memcpy(&v->scale, &e->format, sizeof v->scale);
    return v->scale > 0 && isfinite(v->scale) ? 0 : ERR_DAMAGED;
}

void audio_samples(float *out, const int16_t *data, float scale, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = scale * (float)data[i];
}

/* Louder than full scale (resampled, or a file of floats): the whole clip is stored softer, and nothing is
 * clipped. */
static float scale_of(const float *samples, int64_t n)
{
    float peak = 0;
    for (int64_t i = 0; i < n; i++) {
        float a = fabsf(samples[i]);
        peak = a > peak ? a : peak;
    }
    return peak * FULL_SCALE > MOST ? peak / MOST : 1 / FULL_SCALE;
}

int audio_encode_payload(Produced *out, const float *samples, int64_t n)
{
    Buf *to = &out->payload;
    float scale = scale_of(samples, n);
    buf_clear(to);
    if (n > INT32_MAX)
        return ERR_NOMEM;
    buf_zero(to, (size_t)n * sizeof(int16_t));
    if (to->failed)
        return ERR_NOMEM;
    int16_t *data = (int16_t *)(void *)to->data;
    for (int64_t i = 0; i < n; i++) {
        long v = lrintf(samples[i] / scale);
        data[i] = (int16_t)(v > MOST ? MOST : v < -MOST - 1 ? -MOST - 1 : v);
    }
    out->items = (uint32_t)n;
    memcpy(&out->format, &scale, sizeof scale);
    return 0;
}
