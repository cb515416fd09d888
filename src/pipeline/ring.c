/* ring.c - see ring.h. */
#include "pipeline/ring.h"

#include <stdlib.h>
#include <time.h>

#include "base/check.h"
#include "base/mem.h"

/* Closed (zeroed) after a failure. */
int ring_open(Ring *r, int slots, int most, int rows, int64_t batches, Err *err)
{
    *r = (Ring){.count = slots, .most = most, .limit = most};
    ASSERT(slots > 0 && most >= slots && rows > 0);
    r->slots = mem_calloc((size_t)most, sizeof *r->slots);
    r->slot_of = mem_calloc((size_t)most, sizeof *r->slot_of);
    r->free = mem_calloc((size_t)most, sizeof *r->free);
    int rc = r->slots && r->slot_of && r->free ? 0 : ERR_NOMEM;
    if (!rc)
        ring_restart(r, batches);
    for (int i = 0; i < most && !rc; i++) {
        r->slots[i].items = mem_calloc((size_t)rows, sizeof *r->slots[i].items);
        rc = r->slots[i].items ? 0 : ERR_NOMEM;
    }
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    /* ring_take uses the monotonic clock. */
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_init(&r->mutex, NULL);
    pthread_cond_init(&r->work, &attr);
    pthread_cond_init(&r->ready, &attr);
    pthread_condattr_destroy(&attr);
    r->is_open = 1;
    if (rc) {
        ring_close(r);
        return err_set(err, ERR_NOMEM, "no memory for %d host slots", most);
    }
    return 0;
}

void ring_restart(Ring *r, int64_t batches)
{
    r->wanted = r->count;
    r->end = batches;
    r->free_count = r->filling = r->adding = r->starving = r->stopped = 0;
    r->opened = r->taken = r->released = r->added_at = 0;
    r->window = (SlotWindow){0};
    err_clear(&r->error);
    /* The last one that is free is used next: begin with slot 0. */
    for (int i = r->count - 1; i >= 0; i--) {
        r->slots[i].state = SLOT_FREE;
        r->free[r->free_count++] = i;
    }
}

void ring_close(Ring *r)
{
    if (!r->is_open)
        return;
    for (int i = 0; r->slots && i < r->most; i++)
        free(r->slots[i].items);
    free(r->slots);
    free(r->slot_of);
    free(r->free);
    pthread_mutex_destroy(&r->mutex);
    pthread_cond_destroy(&r->work);
    pthread_cond_destroy(&r->ready);
    *r = (Ring){0};
}

/* Everyone who waits is woken, and finds it stopped. */
void ring_stop(Ring *r, const Err *err)
{
    pthread_mutex_lock(&r->mutex);
    if (err && err->code && !r->error.code)
        r->error = *err;
    r->stopped = 1;
    pthread_cond_broadcast(&r->work);
    pthread_cond_broadcast(&r->ready);
    pthread_mutex_unlock(&r->mutex);
}

/* The first error, or an orderly stop. */
static int check_locked(Ring *r, Err *err)
{
    if (!r->stopped)
        return 0;
    if (!r->error.code)
        return err_set(err, ERR_STOPPED, "stopped");
    if (err)
        *err = r->error;
    return r->error.code;
}

int ring_check(Ring *r, Err *err)
{
    pthread_mutex_lock(&r->mutex);
    int rc = check_locked(r, err);
    pthread_mutex_unlock(&r->mutex);
    return rc;
}

static Slot *slot_of(const Ring *r, int64_t batch) { return &r->slots[r->slot_of[batch % r->most]]; }

Slot *ring_find_work_locked(Ring *r)
{
    /* The oldest batch first: it is needed first. */
    for (int64_t k = r->taken; k < r->opened; k++) {
        Slot *s = slot_of(r, k);
        if (s->state == SLOT_FILLING && s->claimed < s->info.count)
            return s;
    }
    if (r->opened >= r->end || r->free_count == 0)
        return NULL;
    Slot *s = &r->slots[r->free[r->free_count - 1]];
    ASSERT_CMP(s->state, ==, SLOT_FREE);
    return s;
}

void ring_opened_locked(Ring *r, Slot *s)
{
    int i = r->free[--r->free_count];
    ASSERT(s == &r->slots[i]);
    r->slot_of[r->opened++ % r->most] = i;
    s->claimed = s->done = s->starved = 0;
    s->state = SLOT_FILLING;
    r->filling++;
}

/* Rows that others still fill are no stock: only when everything is loaded, more slots would hold more. */
int ring_should_add_locked(Ring *r, int *slots)
{
    if (r->opened >= r->end || r->free_count > 0 || r->filling > 0)
        return 0;
    r->window.full = 1;
    if (r->adding || r->wanted <= r->count)
        return 0;
    r->adding = 1;
    *slots = r->wanted;
    return 1;
}

void ring_added(Ring *r, int slots, int ok)
{
    pthread_mutex_lock(&r->mutex);
    ASSERT(r->adding && slots <= r->most);
    r->adding = 0;
    if (ok) {
        while (r->count < slots)
            r->free[r->free_count++] = r->count++;
        r->added_at = r->opened;
        pthread_cond_broadcast(&r->work);
    } else {
        r->wanted = r->limit = r->count;
    }
    pthread_mutex_unlock(&r->mutex);
}

/* Rows that are lost take their tokens and frames out of the batch's sums. */
int ring_filled(Ring *r, Slot *s, int rows, const LostRows *lost)
{
    pthread_mutex_lock(&r->mutex);
    s->done += rows;
    s->info.lost += lost->rows;
    s->info.real_tokens -= lost->tokens;
    s->info.real_frames -= lost->frames;
    ASSERT_CMP(s->done, <=, s->info.count);
    int complete = s->done == s->info.count;
    pthread_mutex_unlock(&r->mutex);
    return complete;
}

void ring_ready(Ring *r, Slot *s)
{
    pthread_mutex_lock(&r->mutex);
    ASSERT_CMP(s->done, ==, s->info.count);
    s->state = SLOT_READY;
    r->filling--;
    pthread_cond_broadcast(&r->ready);
    pthread_mutex_unlock(&r->mutex);
}

int ring_take(Ring *r, Slot **out, double seconds, Err *err)
{
    /* An absolute time: being woken up for nothing does not make the wait longer. */
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)seconds;
    until.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&r->mutex);
    int rc = 0;
    for (;;) {
        rc = check_locked(r, err);
        if (rc)
            break;
        if (r->taken >= r->end) {
            rc = err_set(err, ERR_STOPPED, "the last batch has been taken");
            break;
        }
        /* In order: a later batch that is ready has to wait for this one. */
        Slot *s = r->taken < r->opened ? slot_of(r, r->taken) : NULL;
        if (s && s->state == SLOT_READY) {
            s->state = SLOT_IN_USE;
            s->starved = r->starving;
            r->starving = 0;
            r->taken++;
            *out = s;
            break;
        }
        r->starving = 1;
        if (pthread_cond_timedwait(&r->ready, &r->mutex, &until)) {
            rc = 1;
            break;
        }
    }
    pthread_mutex_unlock(&r->mutex);
    return rc;
}

/* A free slot means work for one of the workers. */
void ring_release(Ring *r, Slot *s)
{
    pthread_mutex_lock(&r->mutex);
    ASSERT_CMP(s->state, ==, SLOT_IN_USE);
    ASSERT(s == slot_of(r, r->released));
    s->state = SLOT_FREE;
    r->released++;
    r->free[r->free_count++] = (int)(s - r->slots);
    pthread_cond_broadcast(&r->work);
    pthread_mutex_unlock(&r->mutex);
}

/* Only those in a row from the next one on. */
int ring_ready_count(Ring *r)
{
    pthread_mutex_lock(&r->mutex);
    int n = 0;
    for (int64_t k = r->taken; k < r->opened && slot_of(r, k)->state == SLOT_READY; k++)
        n++;
    pthread_mutex_unlock(&r->mutex);
    return n;
}

int ring_count(Ring *r, int *most, int64_t *added_at)
{
    pthread_mutex_lock(&r->mutex);
    int n = r->count;
    *most = r->limit;
    *added_at = r->added_at;
    pthread_mutex_unlock(&r->mutex);
    return n;
}

void ring_waited(Ring *r, int64_t batch)
{
    pthread_mutex_lock(&r->mutex);
    /* What was asked for already is on its way. */
    if (r->wanted == r->count)
        r->wanted = policy_slots_wanted(&r->window, batch, r->count, r->limit);
    pthread_mutex_unlock(&r->mutex);
}
