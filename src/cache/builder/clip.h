/* clip.h - what the stores made from recordings (mel, audio) have in common: the samples, the key, the length
 * of the source. Both read a clip through here, so that they see the same samples and reject the same clips.
 * Private to src/cache. Threads: one ClipReader per thread. */
#ifndef MYXTTS_CLIP_H
#define MYXTTS_CLIP_H

#include "audio/measure.h"
#include "audio/process.h"
#include "base/hash.h"
#include "cache/builder/builder.h"

typedef struct ClipReader {
    const Config *cfg;
    AudioProcessor *processor;
    AudioBuffer audio;
    AudioMeter *meter;
    AudioMeasure measure; /* of the last clip, as its file has it */
} ClipReader;

int clip_reader_open(ClipReader *r, const Config *cfg, Err *err);
void clip_reader_close(ClipReader *r); /* a zeroed one is allowed */

/* Decodes the file, resamples it to sample_rate, trims and levels it, as the settings say. Afterwards
 * *samples
 * [*n] are valid until the next call, and out->extra is set. If that fails, out has the reason, *n is 0. */
void clip_read(ClipReader *r, const float **samples, int64_t *n, Produced *out, const ProducerInput *in);
/* The reason of a clip for which there is no memory. */
void clip_no_memory(Produced *out);

/* Producer.key and Producer.accept of these stores. */
Hash128 clip_key(Hash128 settings, const Utterance *u, Hash128 audio);
RejectReason clip_accept(const Config *cfg, const StoreEntry *e, char *detail, size_t cap);

#endif
