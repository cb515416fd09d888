/* batch.h - one batch: what the loader fills and the model sees.
 * The memory of a batch is large enough for the largest shape of the pipeline, so that it is allocated once;
 * a smaller batch uses the beginning of it. Here and everywhere after the sampler, a batch is a share of what
 * the sampler calls a batch (policy_shares); alone and with global_batch_size 0 that is all of it. Letters: B
 * rows (of a share; rows beyond `count` are empty: lengths 0), T tokens, M mel frames, S samples. Threads:
 * see ring.h for who owns a batch when. */
#ifndef MYXTTS_BATCH_H
#define MYXTTS_BATCH_H

#include <stddef.h>
#include <stdint.h>

#include "base/file.h"
#include "base/hash.h"
#include "config/config.h"

/* Sizes of the memory of one batch. */
typedef struct BatchShape {
    int rows;        /* B */
    int text;        /* T */
    int frames;      /* M */
    int bands;       /* n_mels */
    int64_t samples; /* S per row; 0 if mels come from the cache */
    int mel_bytes;   /* of one value in the host slot: 4, or 2 if the cache stores halves */
    /* hop_length if rows are segments for a vocoder, whose device batch has samples too; else 0. A segment of
     * M frames is (M - 1) * hop samples; frame t lies around sample t * hop. */
    int hop;
    int brings_mel; /* 1: a segment comes with a mel that a voice made: the host slot has samples and mels */
} BatchShape;

/* The hop of a BatchShape: hop_length for a vocoder, else 0. */
int batch_hop(const Config *cfg);
/* Samples per row that a device batch of M = frames has; 0 unless rows are segments. */
int64_t batch_kept_samples(const BatchShape *s, int frames);

/* Numbers about a batch, passed along with its memory through ring and feeder. */
typedef struct BatchInfo {
    int64_t number; /* of this share among those of its rank, since the start of training */
    int64_t whole;  /* of the batch that it is a share of: epoch * batches_per_epoch + index; seeds are drawn
                       from it, because it does not depend on the shares */
    int64_t epoch, index;
    int share;        /* which share of the batch, counted over all ranks */
    int last;         /* 1: the rank has no more of the same batch */
    int clips;        /* with the last share: utterances of the batch over all ranks; else 0 */
    int count;        /* utterances, <= rows; 0 in shares that the end of an epoch leaves empty */
    int lost;         /* how many of these could not be loaded; their rows are empty */
    int text, frames; /* padded sizes of this batch (a bucket's shape, or the fixed one) */
    int64_t samples;
    int64_t real_tokens, real_frames; /* without padding and without lost rows */
} BatchInfo;

/* Offsets of the arrays in one block of memory, a host slot or a device buffer; 256-byte aligned. A host slot
 * has mels as the cache stores them, samples, or both (brings_mel); a device batch has mels as float.
 * Segments have neither tokens nor pitch (T is 0, the pitch 0.0); all have the same length. */
typedef struct BatchLayout {
    size_t tokens;        /* int32 [B, T] 0-padded */
    size_t text_length;   /* int32 [B] */
    size_t mel_length;    /* int32 [B] */
    size_t speaker;       /* int32 [B] */
    size_t language;      /* int32 [B] number among Corpus.languages */
    size_t utterance;     /* int32 [B] index in the dataset; -1 for empty rows */
    size_t augment;       /* float [B, AUGMENT_COUNT] */
    size_t sample_length; /* int32 [B] */
    /* The row whose mel is this row's voice reference: the other one of its pair (policy_partner) if that is
     * of the same speaker; the row itself if not, or if one of the two is lost. */
    size_t reference; /* int32 [B] */
    size_t pitch;     /* float [B, M] log F0, normalised over the corpus; 0-padded in the device batch */
    size_t mel;       /* [B, M, n_mels] as stored (host) or float, normalised, 0-padded (device); the mel of a
                         segment is not normalised */
    size_t samples; /* float [B, S] (host and raw device buffer: on_the_fly and segments; device: segments) */
    size_t bytes;   /* of the whole block */
} BatchLayout;

/* The layout for the padded sizes of one batch. Rows are packed for its T and M, so that only what is used is
 * copied. */
void batch_layout_host(BatchLayout *l, const BatchShape *s, int text, int frames, int64_t samples);
void batch_layout_device(BatchLayout *l, const BatchShape *s, int text, int frames);
/* A hash of the arrays of a device batch, which has been copied to the host; not of the unused bytes between
 * them. */
Hash128 batch_hash(const uint8_t *memory, const BatchLayout *l, const BatchInfo *info, const BatchShape *s);

#endif
