/* test_ring.c - the host slots by themselves: batches stay in order while slots are added, who is asked to
 * add them and when, and threads that do all of it at once. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/clock.h"
#include "pipeline/ring.h"

enum { FEW = 2, MOST = 16, ROWS_OF_BATCH = 3, WORKERS = 3, ENOUGH = 200000 };

/* Opens the next batch, as a worker does. NULL: there is no slot for it. */
static Slot *open_next_locked(Ring *r)
{
    Slot *s = ring_find_work_locked(r);
    if (!s || s->state != SLOT_FREE)
        return s;
    s->info = (BatchInfo){.number = r->opened, .count = ROWS_OF_BATCH};
    ring_opened_locked(r, s);
    return s;
}

/* Loads one batch from the first row to the last. 0: there was no slot. */
static int load_one(Ring *r)
{
    const LostRows none = {0};
    pthread_mutex_lock(&r->mutex);
    Slot *s = open_next_locked(r);
    if (s)
        s->claimed = ROWS_OF_BATCH;
    pthread_mutex_unlock(&r->mutex);
    if (!s)
        return 0;
    assert_int_equal(ring_filled(r, s, ROWS_OF_BATCH, &none), 1);
    ring_ready(r, s);
    return 1;
}

static int load_all(Ring *r)
{
    int n = 0;
    while (load_one(r))
        n++;
    return n;
}

static int is_asked(Ring *r, int *slots)
{
    pthread_mutex_lock(&r->mutex);
    int asked = ring_should_add_locked(r, slots);
    pthread_mutex_unlock(&r->mutex);
    return asked;
}

/* Takes and gives back all that is loaded, then finds that there is nothing: the next slot is starved. */
static int64_t drain(Ring *r, int64_t next)
{
    Slot *s;
    Err err = {0};
    while (ring_take(r, &s, 0, &err) == 0) {
        assert_int_equal(s->info.number, next++);
        ring_release(r, s);
    }
    return next;
}

/* The model device waited for that batch, whose slot was starved. */
static int64_t wait_for_one(Ring *r, int64_t next)
{
    Slot *s;
    Err err = {0};
    next = drain(r, next);
    assert_int_equal(load_one(r), 1);
    assert_int_equal(ring_take(r, &s, 0, &err), 0);
    assert_int_equal(s->info.number, next);
    assert_int_equal(s->starved, 1);
    ring_release(r, s);
    ring_waited(r, next);
    return next + 1;
}

static int count_of(Ring *r)
{
    int most;
    int64_t at;
    return ring_count(r, &most, &at);
}

static void test_growing(void **state)
{
    (void)state;
    Ring r;
    Err err = {0};
    int slots = 0, most;
    int64_t next = 0, at;
    assert_int_equal(ring_open(&r, FEW, MOST, ROWS_OF_BATCH, INT64_MAX, &err), 0);
    /* Nobody was ever ahead: waiting asks for nothing. */
    for (int i = 0; i < 3; i++)
        next = wait_for_one(&r, next);
    assert_int_equal(load_all(&r), FEW);
    assert_int_equal(is_asked(&r, &slots), 0); /* but now all slots are loaded */
    next = wait_for_one(&r, next);             /* once may be an accident */
    assert_int_equal(load_all(&r), FEW);
    assert_int_equal(is_asked(&r, &slots), 0);
    next = wait_for_one(&r, next);
    assert_int_equal(is_asked(&r, &slots), 0); /* there is no time for it now */
    assert_int_equal(load_all(&r), FEW);
    assert_int_equal(is_asked(&r, &slots), 1);
    assert_int_equal(slots, 2 * FEW);
    assert_int_equal(is_asked(&r, &slots), 0); /* one worker is enough */
    assert_int_equal(load_all(&r), 0);
    ring_added(&r, slots, 1);
    assert_int_equal(ring_count(&r, &most, &at), 2 * FEW);
    assert_int_equal(most, MOST);
    assert_int_equal(at, next + FEW);
    assert_int_equal(load_all(&r), FEW); /* the new ones */
    assert_int_equal(ring_ready_count(&r), 2 * FEW);
    /* From here on every wait doubles them. */
    for (int want = 4 * FEW; want <= MOST; want *= 2) {
        assert_int_equal(is_asked(&r, &slots), 0);
        next = wait_for_one(&r, next);
        load_all(&r);
        assert_int_equal(is_asked(&r, &slots), 1);
        assert_int_equal(slots, want);
        ring_added(&r, slots, 1);
        load_all(&r);
        assert_int_equal(ring_ready_count(&r), want);
    }
    is_asked(&r, &slots);
    next = wait_for_one(&r, next);
    load_all(&r);
    assert_int_equal(is_asked(&r, &slots), 0); /* as many as there may be */
    drain(&r, next);
    ring_close(&r);
}

static void test_no_memory(void **state)
{
    (void)state;
    Ring r;
    Err err = {0};
    int slots = 0, most;
    int64_t next = 0, at;
    assert_int_equal(ring_open(&r, FEW, MOST, ROWS_OF_BATCH, INT64_MAX, &err), 0);
    for (int i = 0; i < 2; i++) {
        load_all(&r);
        assert_int_equal(is_asked(&r, &slots), 0);
        next = wait_for_one(&r, next);
    }
    load_all(&r);
    assert_int_equal(is_asked(&r, &slots), 1);
    ring_added(&r, slots, 0);
    assert_int_equal(ring_count(&r, &most, &at), FEW);
    assert_int_equal(most, FEW);
    assert_int_equal(at, 0);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(is_asked(&r, &slots), 0); /* never again */
        next = wait_for_one(&r, next);
        load_all(&r);
    }
    ring_close(&r);
}

/* The last batches leave slots empty: that is no shortage. */
static void test_end(void **state)
{
    (void)state;
    Ring r;
    Err err = {0};
    Slot *s;
    int slots = 0;
    assert_int_equal(ring_open(&r, FEW, MOST, ROWS_OF_BATCH, 6, &err), 0);
    int64_t next = 0;
    for (int i = 0; i < 2; i++) {
        load_all(&r);
        is_asked(&r, &slots);
        next = wait_for_one(&r, next);
    }
    assert_int_equal(load_all(&r), 0);
    assert_int_equal(next, 6);
    assert_int_equal(is_asked(&r, &slots), 0);
    assert_int_equal(ring_take(&r, &s, 0, &err), ERR_STOPPED);
    ring_close(&r);
}

/* Workers that load, and add slots when they are asked to. */
static void *work(void *arg)
{
    Ring *r = arg;
    const LostRows none = {0};
    pthread_mutex_lock(&r->mutex);
    while (!r->stopped) {
        Slot *s = open_next_locked(r);
        int slots;
        if (!s && ring_should_add_locked(r, &slots)) {
            int now = r->count;
            pthread_mutex_unlock(&r->mutex);
            for (int i = now; i < slots; i++)
                r->slots[i].memory = calloc(1, sizeof(int64_t));
            ring_added(r, slots, 1);
            pthread_mutex_lock(&r->mutex);
            continue;
        }
        if (!s) {
            pthread_cond_wait(&r->work, &r->mutex);
            continue;
        }
        int row = s->claimed++;
        pthread_cond_broadcast(&r->work);
        pthread_mutex_unlock(&r->mutex);
        if (row == 0)
            *(int64_t *)(void *)s->memory = s->info.number;
        if (ring_filled(r, s, 1, &none))
            ring_ready(r, s);
        pthread_mutex_lock(&r->mutex);
    }
    pthread_mutex_unlock(&r->mutex);
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    Ring r;
    Err err = {0};
    pthread_t threads[WORKERS];
    assert_int_equal(ring_open(&r, FEW, MOST, ROWS_OF_BATCH, INT64_MAX, &err), 0);
    for (int i = 0; i < FEW; i++)
        assert_non_null(r.slots[i].memory = calloc(1, sizeof(int64_t)));
    for (int i = 0; i < WORKERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, &r), 0);
    int64_t k = 0;
    for (; k < ENOUGH && (count_of(&r) < MOST || k % (8 * MOST)); k++) {
        Slot *s;
        /* Now and then the consumer lets them fill up, and then waits. */
        while (k % MOST == 0 && ring_ready_count(&r) < count_of(&r))
            clock_sleep(1e-5);
        assert_int_equal(ring_take(&r, &s, 20, &err), 0);
        assert_int_equal(s->info.number, k);
        assert_int_equal(*(int64_t *)(void *)s->memory, k);
        ring_release(&r, s);
        if (k % MOST == MOST - 1)
            ring_waited(&r, k);
    }
    assert_int_equal(count_of(&r), MOST);
    ring_stop(&r, NULL);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < MOST; i++)
        free(r.slots[i].memory);
    ring_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_growing),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_end),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
