/* ring.h - host slots between the loader's workers and the feeder.
 *
 *     FREE -> FILLING -> READY -> IN_USE -> FREE
 *
 * A slot holds one batch. Batches are opened, taken and released in the order of their numbers; the rows of a
 * batch are filled by any worker in any order, several workers at once. Invariant: released <= taken <=
 * opened <= released + slots. Every wait also returns on ring_stop; the first error passed to it wins.
 * Threads: the functions lock the ring themselves; those named ..._locked want it held. */
#ifndef MYXTTS_RING_H
#define MYXTTS_RING_H

#include <pthread.h>
#include <stdint.h>

#include "base/err.h"
#include "pipeline/batch.h"
#include "pipeline/counters.h"

typedef enum { SLOT_FREE, SLOT_FILLING, SLOT_READY, SLOT_IN_USE } SlotState;

typedef struct Slot {
    SlotState state;
    BatchInfo info;
    uint32_t *items;   /* [rows] corpus items, info.count of them in use */
    int claimed, done; /* rows handed to workers, rows filled */
    BatchLayout layout;
    uint8_t *memory; /* the host slot */
    uint8_t *batch;  /* the finished batch, where the workers preprocess (data device cpu); NULL elsewhere */
} Slot;

typedef struct Ring {
    pthread_mutex_t mutex;
    pthread_cond_t work;  /* a slot became free, or rows became claimable */
    pthread_cond_t ready; /* a slot became READY */
    Slot *slots;          /* [count]; batch k is in slot k % count */
    int count;
    int64_t opened, taken, released; /* batches since the start */
    int64_t end;                     /* batches there will be; INT64_MAX = for ever */
    int stopped;
    Err error; /* of the first ring_stop that had one */
    int is_open;
} Ring;

int ring_open(Ring *r, int slots, int rows, int64_t batches, Err *err);
void ring_close(Ring *r); /* safe on a zeroed ring; no thread may be inside */

/* Ends every wait, now and later. err may be NULL (an orderly end). */
void ring_stop(Ring *r, const Err *err);
/* 0 while it runs; ERR_STOPPED or the first error's code, with its text in err, once stopped. */
int ring_check(Ring *r, Err *err);

/* The oldest slot with rows nobody has claimed, or a FREE slot that may be opened for the next batch (state
 * FREE: the caller fills in info and items and sets FILLING before it unlocks), or NULL when there is
 * neither. */
Slot *ring_find_work_locked(Ring *r);
/* What could not be loaded among some rows. */
typedef struct LostRows {
    int rows;
    int64_t tokens, frames; /* that they would have had */
} LostRows;
/* `rows` more rows of the slot are filled, or empty because they are lost. 1 for whoever fills the last: the
 * whole batch is then the caller's, to add what depends on all rows, until it calls ring_ready. */
int ring_filled(Ring *r, Slot *s, int rows, const LostRows *lost);
void ring_ready(Ring *r, Slot *s); /* the slot becomes READY, and another thread's */

/* The next READY slot in order, which becomes IN_USE; waits at most `seconds`. 0; ERR_STOPPED at the end or
 * when stopped; 1 when the time is over. */
int ring_take(Ring *r, Slot **s, double seconds, Err *err);
void ring_release(Ring *r, Slot *s); /* in the order of taking */
int ring_ready_count(Ring *r);       /* READY slots in a row that could be taken now */

#endif
