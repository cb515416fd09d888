/* sampler.h - which utterances form which batch: a pure function of (seed, epoch).
 * Utterances are put into length buckets (a few fixed padded shapes, chosen for the least padding), shuffled
 * within the bucket and cut into batches. What is left over in a bucket moves to the next longer one, so that
 * an epoch has at most one batch that is not full. The batches are then shuffled. Without drop_last, every
 * utterance is in exactly one batch of an epoch.
 *
 * A batch is the same for any number of ranks, which share its rows out (policy_shares). Rows come in pairs
 * that stay together, in an order that gives every share about the same number of frames (policy_spread).
 *
 * With several speakers, utterances of the same one go into a batch in pairs, because a row takes its voice
 * from another row of its speaker: with 60 speakers and 48 rows drawn at random, nearly half of the rows
 * would be alone. What finds no partner in its bucket is what moves to the next longer one.
 *
 * To resume, epoch and index of the next batch (and the same settings) suffice.
 *
 * Threads: only one thread at a time may call sampler_epoch. While it plans epoch e, any thread may call
 * sampler_batch for e - 1. */
#ifndef MYXTTS_SAMPLER_H
#define MYXTTS_SAMPLER_H

#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"

#define SAMPLER_MAX_BUCKETS 64
#define SAMPLER_TEXT_MULTIPLE 8  /* texts are padded to a multiple of this many tokens */
#define SAMPLER_FRAME_MULTIPLE 8 /* the frame_multiple that the program uses; tests use others */

/* Length of one utterance. */
typedef struct SampleLength {
    uint32_t tokens, frames;
} SampleLength;

typedef struct SamplerOptions {
    int batch_size; /* of all ranks together */
    int buckets;    /* 1 .. SAMPLER_MAX_BUCKETS; ignored if fixed_frames is set */
    /* > 0: every batch has this many frames, and the tokens of the longest text (setting
     * pad_to_fixed_length); 0: the shapes are buckets. */
    int fixed_frames;
    int frame_multiple; /* clips are padded to a multiple of this many frames */
    uint64_t seed;
    int drop_last; /* leave out enough utterances that all batches are full; a different selection in each
                      epoch */
    /* [count] 0 .. speaker_count - 1, not kept; NULL, or one speaker: the order does not depend on them. */
    const int32_t *speakers;
    int32_t speaker_count;
} SamplerOptions;

typedef struct SamplerBucket {
    int tokens, frames; /* padded shape */
    uint32_t utterances;
} SamplerBucket;

typedef struct Sampler Sampler;
/* lengths [count] is not kept. ERR_DATA if there are too few utterances for one batch (with drop_last), or
 * one does not fit the fixed shape. */
int sampler_open(Sampler **s, const SamplerOptions *o, const SampleLength *lengths, uint32_t count, Err *err);
void sampler_close(Sampler *s);
int sampler_bucket_count(const Sampler *s);
const SamplerBucket *sampler_bucket(const Sampler *s, int i);
int64_t sampler_batches(const Sampler *s); /* per epoch; the same in every epoch */
/* The fraction of an epoch's frames that is padding, 0 .. 1; approximate with drop_last. */
double sampler_padding(const Sampler *s);
/* Plans an epoch (O(n log batch_size), no allocation) unless it is planned already. Plans are kept for two
 * epochs, in slot epoch % 2: planning e discards e - 2. */
void sampler_epoch(Sampler *s, int64_t epoch);
/* Returns the utterances [*count] of batch `index` of a planned epoch in the order of its rows, and the
 * batch's bucket. The pointer is valid until the plan of that epoch is replaced. */
const uint32_t *sampler_batch(const Sampler *s, int64_t epoch, int64_t index, int *count, int *bucket);

#endif
