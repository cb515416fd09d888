/* sampler.h - which utterances form which batch: a pure function of (seed, epoch).
 * Utterances are put into length buckets (a few static shapes that waste least), shuffled within the bucket,
 * cut into batches; what is left over in a bucket moves to the next longer one, so that an epoch has at most
 * one batch that is not full. The batches are then shuffled. Every utterance comes exactly once an epoch.
 * State to resume from: epoch and index (and the settings). Threads: sampler_batch from any; the plan of an
 * epoch is made by sampler_epoch, which one thread calls. */
#ifndef MYXTTS_SAMPLER_H
#define MYXTTS_SAMPLER_H

#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"

#define SAMPLER_MAX_BUCKETS 64
#define SAMPLER_TEXT_MULTIPLE 8  /* texts of a bucket are padded to a multiple of this */
#define SAMPLER_FRAME_MULTIPLE 8 /* and its clips, in frames */

typedef struct SampleLength {
    uint32_t tokens, frames; /* of one utterance */
} SampleLength;

typedef struct SamplerOptions {
    int batch_size;
    int buckets;                  /* 1 .. SAMPLER_MAX_BUCKETS; ignored with fixed_text */
    int fixed_text, fixed_frames; /* > 0: one static shape (pad_to_fixed_length) */
    int multiple;                 /* padded frames are rounded up to a multiple of this */
    uint64_t seed;
    int rank, ranks; /* this process takes batches rank, rank + ranks, ...; the others' are skipped */
    int drop_last;   /* no batch that is not full: a few utterances, others in every epoch, are left out */
} SamplerOptions;

typedef struct SamplerBucket {
    int text, frames; /* padded shape */
    uint32_t utterances;
} SamplerBucket;

typedef struct Sampler Sampler;
int sampler_open(Sampler **s, const SamplerOptions *o, const SampleLength *lengths, uint32_t count, Err *err);
void sampler_close(Sampler *s);
int sampler_bucket_count(const Sampler *s);
const SamplerBucket *sampler_bucket(const Sampler *s, int i);
int64_t sampler_batches(const Sampler *s); /* per epoch and rank; the same in every epoch */
/* Share of padded frames that are padding, over an epoch; with drop_last about that. */
double sampler_padding(const Sampler *s);
/* Plans an epoch (O(n), no allocation); batches of this and of the epoch before may be asked for (two plans
 * are kept). */
void sampler_epoch(Sampler *s, int64_t epoch);
/* Utterances [*count] of batch `index` of `epoch`, and its bucket. The pointer lives until that epoch's plan
 * is replaced. */
const uint32_t *sampler_batch(const Sampler *s, int64_t epoch, int64_t index, int *count, int *bucket);

#endif
