/* clip.c - see clip.h. */
#include "cache/builder/clip.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cache/accept.h"
#include "cache/features.h"

/* StoreRecord.extra: the length in the low bits, the share of clipped samples above it, both whole numbers,
 * so that the index has no floats. Records that were made before clipping was counted have zeros there. */
#define MICROSECONDS 1e6 /* in a second */
#define LENGTH_BITS 48
#define MOST_SHARE 65535 /* stands for 1 */

#define CONSTANT_RANGE 1e-4f /* what the last bits of a constant may do: -80 dB */

/* Rounded, not cut off: a clip of exactly min_audio_length would be too short. */
static uint64_t extra_of(const AudioBuffer *a)
{
    const uint64_t length = (uint64_t)llround((double)a->frames / a->rate * MICROSECONDS);
    const double clipped =
        a->frames > 0 ? (double)audio_clipped(a->samples, a->frames) / (double)a->frames : 0;
    return length | (uint64_t)llround(clipped * MOST_SHARE) << LENGTH_BITS;
}

static double seconds_of(uint64_t extra)
{
    return (double)(extra & ((UINT64_C(1) << LENGTH_BITS) - 1)) / MICROSECONDS;
}

int clip_reader_open(ClipReader *r, const Config *cfg, Err *err)
{
    *r = (ClipReader){.cfg = cfg};
    int rc = audio_processor_open(&r->processor, cfg, err);
    return rc ? rc : audio_meter_open(&r->meter, err);
}

void clip_reader_close(ClipReader *r)
{
    audio_processor_close(r->processor);
    audio_meter_close(r->meter);
    audio_buffer_free(&r->audio);
    *r = (ClipReader){0};
}

/* A microphone that is not plugged in may give a constant, which is loud and no sound. NaN is for others. */
static int is_constant(const AudioBuffer *a)
{
    const float first = a->frames > 0 ? a->samples[0] : 0;
    if (fabsf(first) <= CONSTANT_RANGE)
        return 0;
    for (int64_t i = 1; i < a->frames; i++)
        if (!(fabsf(a->samples[i] - first) <= CONSTANT_RANGE))
            return 0;
    return 1;
}

void clip_read(ClipReader *r, const float **samples, int64_t *n, Produced *out, const ProducerInput *in)
{
    const Config *cfg = r->cfg;
    *samples = NULL;
    *n = 0;
    out->reason = audio_decode(&r->audio, in->bytes, in->size, in->path, cfg->max_audio_length, out->detail,
                               sizeof out->detail);
    if (out->reason != REJECT_NONE)
        return;
    out->extra = extra_of(&r->audio);
    if (is_constant(&r->audio)) {
        out->reason = REJECT_AUDIO_SILENT;
        snprintf(out->detail, sizeof out->detail, "all samples are about %.3f, which makes no sound",
                 (double)r->audio.samples[0]);
        return;
    }
    if (audio_measure(&r->measure, r->meter, &r->audio)) {
        clip_no_memory(out);
        return;
    }
    out->reason = audio_process(r->processor, samples, n, &r->audio, cfg->trim_silence,
                                cfg->enable_loudness_normalization, out->detail, sizeof out->detail);
    if (out->reason != REJECT_NONE)
        *n = 0;
    if (out->reason == REJECT_AUDIO_SILENT && r->measure.mix_db < AUDIO_CANCELLED_DB) {
        const size_t used = strlen(out->detail);
        snprintf(out->detail + used, sizeof out->detail - used, ": its channels cancel each other out");
    }
}

void clip_no_memory(Produced *out)
{
    out->reason = REJECT_NO_MEMORY;
    snprintf(out->detail, sizeof out->detail, "no memory for a clip of %.0f s", seconds_of(out->extra));
}

double source_seconds(const StoreEntry *e) { return seconds_of(e->extra); }

double source_clipped(const StoreEntry *e) { return (double)(e->extra >> LENGTH_BITS) / MOST_SHARE; }

/* The id is in the key: a file under another id is another entry. */
Hash128 clip_key(Hash128 settings, const Utterance *u, Hash128 audio)
{
    Hash128 parts[3] = {settings, hash_bytes(u->id.p, u->id.n), audio};
    return hash_bytes(parts, sizeof parts);
}

RejectReason clip_accept(const Config *cfg, const StoreEntry *e, char *detail, size_t cap)
{
    return accept_seconds(cfg, source_seconds(e), detail, cap);
}
