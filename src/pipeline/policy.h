/* policy.h - the rules of the pipeline as pure functions: how many slots, buffers and rows, and when to grow.
 * The loader, the feeder and the plan of memory follow them; the doctor and the forecast ask them what the
 * pipeline would do with other settings. Nothing here reads a clock, allocates or fails. Threads: any. */
#ifndef MYXTTS_POLICY_H
#define MYXTTS_POLICY_H

#include <stdint.h>

#include "config/config.h"

#define POLICY_START_BUFFERS 3  /* device buffers at the start: preparing, ready, training */
#define POLICY_MOST_BUFFERS 256 /* device buffers there can ever be */
#define POLICY_LEAST_SLOTS 2    /* host slots: one is filled while the other is copied */
#define POLICY_MOST_SLOTS 1024  /* as the setting allows */
#define POLICY_MOST_WORKERS 512 /* as the setting allows, and some more */

/* Host slots for prefetch_buffer_size: CONFIG_AUTO is max(2, min(8, 64 / batch_size)). */
int policy_slots(int prefetch_buffer_size, int batch_size);

/* Device buffers that the pipeline may grow to for pipeline_buffer_size. */
int policy_most_buffers(int pipeline_buffer_size);

/* Rows that a worker claims at once from a batch of `count` rows. */
int policy_rows_at_once(int count, int workers, int on_the_fly);

/* Mel frames to make room for: a clip of `frames` that is slowed down as far as augment_speed allows. The
 * speed of a clip is changed only on_the_fly; a mel from the cache keeps its length. */
int64_t policy_stretched_frames(int64_t frames, double augment_speed, int on_the_fly);

/* Samples that a clip of `frames` mel frames can have at most; 0 when mels come from the cache. */
int64_t policy_most_samples(int64_t frames, int hop_length, int on_the_fly);

/* What is seen of the buffers over some batches, to decide whether there are enough of them. Zeroed: a new
 * window. */
typedef struct GrowWindow {
    int takes;    /* batches the consumer took */
    int waits;    /* of these, batches the model device had to wait for */
    int shortage; /* the feeder had to wait for a buffer */
} GrowWindow;

/* 1 when the model device waits while the feeder is short of buffers, and `most` allows one more. Begins a
 * new window then, and when this one is full. */
int policy_grows(GrowWindow *w, int buffers, int most);

/* Whether taking a batch counts as a wait. A host that runs ahead may find nothing ready although its device
 * still has work: then nobody waits yet. */
int policy_device_waits(int device_idle, int batch_is_there);

#endif
