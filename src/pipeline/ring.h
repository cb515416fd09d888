/* ring.h - host slots between the loader's workers and the feeder.
 *
 *     FREE -> FILLING -> READY -> IN_USE -> FREE
 *
 * A slot holds one batch. Batches are opened, taken and released in the order of their numbers; several
 * workers fill the rows of a batch, in any order. Invariant: released <= taken <= opened <= released + count.
 * Every wait ends on ring_stop; the first error passed to it is kept.
 *
 * Slots may be added while the ring runs, up to `most`. The consumer's side asks for them (ring_waited), and
 * the worker that finds all slots loaded adds them: there is stock for the time that takes.
 *
 * Threads: functions lock the ring themselves; those named ..._locked must be called with the lock held. */
#ifndef MYXTTS_RING_H
#define MYXTTS_RING_H

#include <pthread.h>
#include <stdint.h>

#include "base/err.h"
#include "pipeline/batch.h"
#include "pipeline/counters.h"
#include "pipeline/policy.h"

typedef enum { SLOT_FREE, SLOT_FILLING, SLOT_READY, SLOT_IN_USE } SlotState;

typedef struct Slot {
    SlotState state;
    BatchInfo info;
    uint32_t *items;   /* [rows] corpus items, info.count of them in use */
    int claimed, done; /* number of rows claimed by workers, and of rows filled */
    int starved;       /* ring_take had to wait for it */
    BatchLayout layout;
    uint8_t *memory; /* the host slot */
    uint8_t *block;  /* what to free: the memory of this slot and of some after it; else NULL */
    uint8_t *batch;  /* the preprocessed batch, if the workers preprocess (data device cpu); else NULL */
} Slot;

typedef struct Ring {
    pthread_mutex_t mutex;
    pthread_cond_t work;  /* a slot became free, or rows became claimable */
    pthread_cond_t ready; /* a slot became READY */
    Slot *slots;          /* [most], of which `count` are in use */
    int *slot_of;         /* [most] batch k is in slot slot_of[k % most] */
    int *free;            /* [most] slots that are FREE, free_count of them */
    int count, most, free_count;
    int limit;         /* as most; less after adding has failed */
    int filling;       /* number of slots that are FILLING */
    int wanted;        /* number of slots that there should be */
    int adding;        /* 1: slots are being added */
    int64_t added_at;  /* the first batch that may have gone into an added slot; 0: none was added */
    SlotWindow window; /* observations: are there enough slots? */
    int starving;      /* ring_take has been waiting for the next slot */
    int64_t opened, taken, released; /* number of batches since the start */
    int64_t end;                     /* number of batches in all; INT64_MAX = for ever */
    int stopped;
    Err error; /* the first one passed to ring_stop */
    int is_open;
} Ring;

/* `most` is the maximum of slots; the memory of the slots is the caller's business. */
int ring_open(Ring *r, int slots, int most, int rows, int64_t batches, Err *err);
/* Puts the ring back into the state after ring_open, for this many batches; the slots and their memory are
 * kept. No thread may be using it. */
void ring_restart(Ring *r, int64_t batches);
void ring_close(Ring *r); /* a zeroed ring is allowed; no thread may be using it */

/* Ends every wait, now and later. err may be NULL (an orderly end). */
void ring_stop(Ring *r, const Err *err);
/* 0 while the ring runs; after a stop ERR_STOPPED, or the code of the first error, with its text in err. */
int ring_check(Ring *r, Err *err);

/* Finds work for a loader: the oldest slot with unclaimed rows; otherwise a FREE slot, for which the caller
 * fills in info and items of the next batch and calls ring_opened_locked before it unlocks; otherwise
 * NULL. */
Slot *ring_find_work_locked(Ring *r);
void ring_opened_locked(Ring *r, Slot *s); /* the slot now is FILLING with the next batch */
/* For a worker that has found no work. Returns 1 if it has to add slots, and how many there shall be in
 * *slots: the worker prepares those after the first `count`, without the lock, and calls ring_added. */
int ring_should_add_locked(Ring *r, int *slots);
/* Ends the adding. ok 1: there are this many slots now; ok 0: it failed, and no worker is asked again. */
void ring_added(Ring *r, int slots, int ok);
/* Rows that could not be loaded. */
typedef struct LostRows {
    int rows;
    int64_t tokens, frames; /* that they would have had */
} LostRows;
/* Reports that `rows` more rows of the slot are filled (or left empty because they are lost). Returns 1 when
 * these were the last: the batch then belongs to the caller, which adds what depends on all rows and calls
 * ring_ready. */
int ring_filled(Ring *r, Slot *s, int rows, const LostRows *lost);
void ring_ready(Ring *r, Slot *s); /* makes the slot READY; the caller no longer owns it */

/* Takes the next slot in order, which becomes IN_USE; waits for it at most `seconds`. Returns 0; ERR_STOPPED
 * at the end or after a stop; 1 if the time is over. */
int ring_take(Ring *r, Slot **s, double seconds, Err *err);
void ring_release(Ring *r, Slot *s); /* slots must be released in the order in which they were taken */
int ring_ready_count(Ring *r);       /* number of consecutive READY slots that could be taken now */
int ring_count(Ring *r, int *most, int64_t *added_at); /* number of slots in use; see Ring */
/* The model device has waited for the batch with this number since the start, and its slot was starved: are
 * there enough slots? */
void ring_waited(Ring *r, int64_t batch);

#endif
