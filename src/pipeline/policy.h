/* policy.h - the rules of the pipeline as pure functions: how many slots, buffers and rows, and when to add
 * some. The loader, the feeder and the memory plan follow them; the doctor and the forecast use them to
 * predict what the pipeline would do with other settings. Threads: any. */
#ifndef MYXTTS_POLICY_H
#define MYXTTS_POLICY_H

#include <stdint.h>

#include "config/config.h"

#define POLICY_START_BUFFERS 3  /* device buffers at the start: preparing, ready, training */
#define POLICY_MOST_BUFFERS 256 /* maximum of device buffers */
#define POLICY_LEAST_SLOTS 2    /* minimum of host slots: one is filled while the other is copied */
#define POLICY_MOST_SLOTS 1024  /* maximum of host slots, as in the table of options */
#define POLICY_MOST_WORKERS 512 /* at least the maximum in the table of options */

/* How the rows of a batch are shared out. The batch is the same for any number of ranks: shares are
 * consecutive rows of it, as many for one as for the other, and a rank works on `micro` of them, one after
 * the other. */
typedef struct Shares {
    int batch; /* rows of the whole batch, over all ranks */
    int ranks;
    int micro; /* shares of a rank: rank r has r * micro .. r * micro + micro - 1 */
    int rows;  /* of a share; where they do not come out even, the last shares have fewer in use, or none */
} Shares;
/* Rows of a batch over all ranks: global_batch_size, or batch_size for each. */
int policy_global_batch(const Config *cfg, int ranks);
/* As few shares as give at most `most` rows each. A share with four rows or more has an even number of them,
 * so that pairs (policy_partner) stay together. */
Shares policy_shares(int batch, int ranks, int most);
/* The rows of a share that are in use when the batch has `count` of them; *first: its first row. */
int policy_share_rows(const Shares *s, int share, int count, int *first);
/* The row of a share with `count` rows in use that lends its voice to `row`, if it is of the same speaker:
 * the other one of its pair, two rows of the whole batch from an even one on. Where shares or batches have an
 * odd number of rows, one that is left alone takes its neighbour; otherwise that happens once in an epoch,
 * and nobody lends, so that it does not depend on the shares. `row` itself: nobody. */
int policy_partner(const Shares *s, int share, int row, int count);
/* The place, in the order of lengths, of the pair that comes at place i of the order of rows, for `bits` with
 * 2^bits >= number of pairs; a place beyond the last pair is left out. Neighbours in any stretch of this
 * order are spread over all lengths, so that all shares have about the same number of frames. */
uint32_t policy_spread(uint32_t i, int bits);

/* The number of host slots at the start for prefetch_buffer_size; CONFIG_AUTO is
 * max(2, min(8, 64 / batch_size)). */
int policy_slots(int prefetch_buffer_size, int batch_size);
/* The maximum of host slots. Only CONFIG_AUTO allows more than at the start: eight times as many, unless all
 * of them together, slot_bytes each, would take more than an eighth of the memory that is free. */
int policy_most_slots(int prefetch_buffer_size, int slots, uint64_t slot_bytes, uint64_t memory_bytes);

/* The maximum of device buffers for pipeline_buffer_size. */
int policy_most_buffers(int pipeline_buffer_size);

/* The number of rows that a worker claims at a time from a batch of `count` rows. */
int policy_rows_at_once(int count, int workers, int on_the_fly);

/* The length in mel frames of a clip of `frames` that is slowed down as far as augment_speed allows. Only
 * on_the_fly changes the speed; a mel from the cache keeps its length. */
int64_t policy_stretched_frames(int64_t frames, double augment_speed, int on_the_fly);

/* The maximum of samples of a clip with `frames` mel frames; 0 if mels come from the cache. */
int64_t policy_most_samples(int64_t frames, int hop_length, int on_the_fly);

/* How many segments of `segment` samples a clip of `samples` gives in an epoch: as many as it is long, so
 * that an epoch is about all of the sound. At least 1. */
uint32_t policy_segments(int64_t samples, int64_t segment);

/* Which segment. */
typedef struct SegmentDraw {
    uint64_t seed;
    int64_t epoch;
    uint32_t utterance;
    uint32_t part, parts; /* of the clip: its segments begin in this many equal parts of it */
} SegmentDraw;
/* The first sample of the segment of `segment` samples that a clip of `samples` gives in an epoch: anywhere
 * in its part of the clip, by chance, as the draw says. 0 if the clip is not longer. */
int64_t policy_segment_start(const SegmentDraw *d, int64_t samples, int64_t segment);

/* 1 if preprocessing_mode auto should take samples from the audio files (on_the_fly), 0 for mels from the
 * cache: where the mels do not fit into the memory that is free, so that every epoch reads them from the
 * disk, and the files have at most half as many bytes. 0 bytes of memory: unknown. */
int policy_prefers_audio(uint64_t mel_bytes, uint64_t audio_bytes, uint64_t memory_bytes);

/* Observations to decide how many device buffers there should be. Zero-initialise. */
typedef struct GrowWindow {
    /* Over some batches: */
    int takes;    /* number of batches that the consumer took */
    int waits;    /* number of those for which the model device had to wait */
    int counted;  /* number of batches whose way through the feeder's stages is known */
    int queued;   /* number of those that stood behind another one at a stage */
    int shortage; /* 1: the feeder had to wait for a buffer */
    /* Stalls, as in SlotWindow: */
    int full;     /* 1: since the last ebb all buffers held batches that were there */
    int ebbed;    /* 1: these were used up before, ... */
    int64_t last; /* ... the last time with this batch */
    int since;    /* number of batches since then for which the model device waited */
    int stock;    /* 1: full buffers were used up twice: more would have held more */
    /* The last growth: */
    int before;    /* number of buffers before it; 0: it has proved itself, or there was none */
    int64_t grown; /* batch */
    int useful;    /* 1: all of them were in use since, and no stage had a queue */
    int limit;     /* more than this many did not help, ... */
    int64_t again; /* ... and are not tried before this batch; 0: they were not tried */
} GrowWindow;

/* The model device waits for `batch`; call it once for each. starved: the feeder had to wait for its slot,
 * which is for host slots to mend. */
void policy_buffer_late(GrowWindow *w, int64_t batch, int starved);
/* A batch has passed the feeder's stages. queued: it had to wait behind another one. */
void policy_buffer_counted(GrowWindow *w, int queued);
/* The feeder had to wait for a buffer. full: by then all others held batches that were on the model device.
 * queued: the newest batch that was counted had to wait behind another one. */
void policy_buffer_short(GrowWindow *w, int full, int queued);
/* The number of buffers that there should be when the feeder begins `batch`. More where they help: stalls
 * have used up full buffers twice within 64 batches, or the device waits although the feeder is short of
 * buffers and no stage has a queue, so that batches are only on their way for long. As before the last growth
 * if that did not help in 64 batches. A stage that is too slow makes a queue, and gets no buffers. */
int policy_buffers_wanted(GrowWindow *w, int64_t batch, int buffers, int most);

/* Observations to decide whether there are enough host slots. Zero-initialise. */
typedef struct SlotWindow {
    int full;     /* 1: since the last ebb all slots were loaded at once: the workers could have gone on */
    int ebbed;    /* 1: all that was loaded has been used up before, ... */
    int64_t last; /* ... the last time with this batch */
    int waits;    /* number of batches since then for which the model device waited */
} SlotWindow;

/* The number of slots that there should be after the model device has waited for `batch`, which was not
 * loaded in time; call it for each such batch. Twice as many, at most `most`, when full slots were used up
 * twice within 64 batches and the device did not wait for half of the batches in between. A loader that is
 * too slow for most batches does not get faster by more slots. */
int policy_slots_wanted(SlotWindow *w, int64_t batch, int slots, int most);

/* 1 if taking a batch counts as a wait. If the host runs ahead, it may find no batch ready although its
 * device still has work: then the device does not wait. */
int policy_device_waits(int device_idle, int batch_is_there);

#endif
