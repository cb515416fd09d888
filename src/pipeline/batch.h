/* batch.h - one batch: what the loader fills and the model sees.
 * Every array has the fixed capacity of the pipeline's largest shape, so that all memory is taken once; a
 * batch uses the front. Legend: B rows (batch_size; rows beyond `count` are empty: lengths 0), T text
 * positions, M mel frames, n_mels bands, S samples. Threads: see ring.h for who owns a batch when. */
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
    int64_t samples; /* S per row; 0 when mels come from the cache */
    int mel_bytes;   /* of one value in the host slot: 4, or 2 when the cache stores halves */
} BatchShape;

/* What a batch is, in numbers; travels beside the memory through ring and feeder. */
typedef struct BatchInfo {
    int64_t number; /* batches since the start of training: epoch * batches_per_epoch + index */
    int64_t epoch, index;
    int count;        /* utterances, <= rows */
    int lost;         /* of these, how many could not be loaded: their rows are empty */
    int text, frames; /* padded sizes of this batch (a bucket's shape, or the fixed one) */
    int64_t samples;
    int64_t real_tokens, real_frames; /* without padding and without what is lost */
} BatchInfo;

/* Offsets of the arrays inside one block of memory, host slot or device buffer; 256-byte aligned.
 * Host slot: tokens, lengths, ids, pitch, then mels as stored (or samples). Device batch: the same with mels
 * as float. */
typedef struct BatchLayout {
    size_t tokens;        /* int32 [B, T] 0-padded */
    size_t text_length;   /* int32 [B] */
    size_t mel_length;    /* int32 [B] */
    size_t speaker;       /* int32 [B] */
    size_t utterance;     /* int32 [B] index in the dataset; -1 for empty rows */
    size_t augment;       /* float [B, 4] gain, noise, speed, seed as bits */
    size_t sample_length; /* int32 [B] */
    /* Row whose mel is this row's voice reference: another of the same speaker, drawn from (seed, batch
     * number, row); the row itself when it is alone, lost or empty. */
    size_t reference; /* int32 [B] */
    size_t pitch;     /* float [B, M] log F0, normalised over the corpus; 0-padded in the device batch */
    size_t mel;       /* [B, M, n_mels] as stored (host) or float, normalised, 0-padded (device) */
    size_t samples;   /* float [B, S] (host and raw device buffer, on_the_fly only) */
    size_t bytes;     /* of the whole block */
} BatchLayout;

/* Layout for the padded sizes of one batch: rows are packed for T and M of this batch, so that only what is
 * used is copied. */
void batch_layout_host(BatchLayout *l, const BatchShape *s, int text, int frames, int64_t samples);
/* Hash of everything a device batch says (copied to the host): the arrays, not the unused bytes between them.
 */
Hash128 batch_hash(const uint8_t *memory, const BatchLayout *l, const BatchInfo *info, const BatchShape *s);
void batch_layout_device(BatchLayout *l, const BatchShape *s, int text, int frames);

#endif
