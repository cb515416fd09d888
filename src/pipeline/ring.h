/* ring.h - host slots between the loader's workers and the feeder.
 *
 *     FREE -> FILLING -> READY -> IN_USE -> FREE
 *
 * A slot holds one batch. Batches are opened, filled and taken in the order of their numbers; the items (utterances) of a batch are filled by any
 * worker in any order, several workers at once. Invariant: released <= taken <= ready <= opened <= released + slots.
 * Every wait also returns on ring_stop; the first error passed to it wins. Threads: any. */
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
    const uint32_t *items; /* [info.count] corpus items */
    int claimed, done;     /* items handed to workers, items filled */
    int lost;              /* items that could not be loaded: their rows are empty */
    BatchLayout layout;
    uint8_t *memory; /* of the host slot, pinned when asked for */
} Slot;

typedef struct Ring {
    pthread_mutex_t mutex;
    pthread_cond_t work, ready; /* workers wait for work, the taker for a READY slot */
    Slot *slots;                /* [count]; batch k is in slot k % count */
    int count;
    int64_t opened, taken, released; /* batches */
    int64_t first;                   /* number of the first batch */
    int stopped;
    Err error; /* of the first ring_stop with one */
    int open;
} Ring;

int ring_open(Ring *r, int slots, int64_t first_batch, Err *err);
void ring_close(Ring *r); /* no thread may be inside */
/* Ends every wait, now and later. err may be NULL (an orderly end). */
void ring_stop(Ring *r, const Err *err);
int ring_stopped(Ring *r);

#endif
