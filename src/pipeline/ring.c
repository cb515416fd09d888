/* ring.c - see ring.h. */
#include "pipeline/ring.h"

#include <stdlib.h>
#include <time.h>

#include "base/check.h"
#include "base/mem.h"

/* Closed (zeroed) after a failure. */
int ring_open(Ring *r, int slots, int rows, int64_t batches, Err *err)
{
    *r = (Ring){.count = slots, .end = batches};
    ASSERT(slots > 0 && rows > 0);
    r->slots = mem_calloc((size_t)slots, sizeof *r->slots);
    int rc = r->slots ? 0 : ERR_NOMEM;
    for (int i = 0; i < slots && !rc; i++) {
        r->slots[i].items = mem_calloc((size_t)rows, sizeof *r->slots[i].items);
        rc = r->slots[i].items ? 0 : ERR_NOMEM;
    }
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    /* ring_take counts on the clock that nobody can set. */
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_init(&r->mutex, NULL);
    pthread_cond_init(&r->work, &attr);
    pthread_cond_init(&r->ready, &attr);
    pthread_condattr_destroy(&attr);
    r->is_open = 1;
    if (rc) {
        ring_close(r);
        return err_set(err, ERR_NOMEM, "no memory for %d host slots", slots);
    }
    return 0;
}

void ring_close(Ring *r)
{
    if (!r->is_open)
        return;
    for (int i = 0; r->slots && i < r->count; i++)
        free(r->slots[i].items);
    free(r->slots);
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

Slot *ring_find_work_locked(Ring *r)
{
    /* The oldest batch first: it is needed first. */
    for (int64_t k = r->taken; k < r->opened; k++) {
        Slot *s = &r->slots[k % r->count];
        if (s->state == SLOT_FILLING && s->claimed < s->info.count)
            return s;
    }
    /* Slots are used in turn, so the next one is FREE as soon as its last batch was released. */
    if (r->opened < r->end && r->opened < r->released + r->count) {
        Slot *s = &r->slots[r->opened % r->count];
        ASSERT_CMP(s->state, ==, SLOT_FREE);
        return s;
    }
    return NULL;
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
        Slot *s = &r->slots[r->taken % r->count];
        if (r->taken < r->opened && s->state == SLOT_READY) {
            s->state = SLOT_IN_USE;
            r->taken++;
            *out = s;
            break;
        }
        if (pthread_cond_timedwait(&r->ready, &r->mutex, &until)) {
            rc = 1;
            break;
        }
    }
    pthread_mutex_unlock(&r->mutex);
    return rc;
}

/* A free slot is work for somebody. */
void ring_release(Ring *r, Slot *s)
{
    pthread_mutex_lock(&r->mutex);
    ASSERT_CMP(s->state, ==, SLOT_IN_USE);
    ASSERT(s == &r->slots[r->released % r->count]);
    s->state = SLOT_FREE;
    r->released++;
    pthread_cond_broadcast(&r->work);
    pthread_mutex_unlock(&r->mutex);
}

/* Only those in a row from the next one on. */
int ring_ready_count(Ring *r)
{
    pthread_mutex_lock(&r->mutex);
    int n = 0;
    for (int64_t k = r->taken; k < r->opened && r->slots[k % r->count].state == SLOT_READY; k++)
        n++;
    pthread_mutex_unlock(&r->mutex);
    return n;
}
