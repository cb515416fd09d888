/* Devices without a GPU: memory and its cap, copies, order by events, the times of the simulated GPU,
 * failures, opening and closing. Times are asserted on the events' own clock, which does not depend on how
 * busy this machine is; real work in these tests is far shorter than the modelled times. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/rng.h"
#include "base/thread.h"
#include "device/device.h"
#include "device/sim.h"

#define EXACT 1e-9 /* seconds: times that follow from the model alone */

typedef struct Machine {
    Sim sim;
    Device *a, *b; /* sim0, sim1 */
} Machine;

static Machine machine_open(const char *spec)
{
    Machine m = {0};
    Err err = {0};
    if (sim_parse(&m.sim, spec, &err))
        fail_msg("%s", err.msg);
    return m;
}

/* Devices keep a pointer to the Sim, so they are opened where it stays. */
static void machine_start(Machine *m)
{
    DeviceOptions o = {.sim = &m->sim};
    assert_int_equal(device_open(&m->a, "sim0", &o, NULL), 0);
    assert_int_equal(device_open(&m->b, "sim1", &o, NULL), 0);
}

static void machine_close(Machine *m)
{
    device_close(m->a);
    device_close(m->b);
    sim_close(&m->sim);
}

static Stream *stream_of(Device *d)
{
    Stream *s;
    assert_int_equal(d->ops->stream_open(d, &s, "test", NULL), 0);
    return s;
}

static Event *event_of(Device *d)
{
    Event *e;
    assert_int_equal(d->ops->event_open(d, &e, 1, NULL), 0);
    return e;
}

static void *memory_of(Device *d, size_t bytes)
{
    void *p;
    Err err = {0};
    if (device_alloc(d, &p, bytes, &err))
        fail_msg("%s", err.msg);
    return p;
}

static void no_work(void *arg) {}

/* ---- names and memory ---- */

static void test_names(void **state)
{
    Device *d;
    Err err = {0};
    static const char *const wrong[] = {"",   "gpu", "sim", "simx",  "sim1x",
                                        "-1", "0x1", "CPU", "sim-1", "99999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(device_open(&d, wrong[i], NULL, &err), ERR_DEVICE);
        assert_null(d);
        assert_non_null(strstr(err.msg, wrong[i]));
        assert_non_null(strstr(err.hint, "sim0"));
    }
    Device *cpu, *sim, *again;
    assert_int_equal(device_open(&cpu, "cpu", NULL, &err), 0);
    assert_int_equal(device_open(&sim, "sim12", NULL, &err), 0);
    assert_int_equal(device_open(&again, "sim12", NULL, &err), 0);
    assert_string_equal(cpu->name, "cpu");
    assert_string_equal(sim->name, "sim12");
    assert_int_equal(sim->index, 12);
    assert_true(device_same(sim, again) && device_same(cpu, cpu));
    assert_false(device_same(sim, cpu));
    device_close(cpu);
    device_close(sim);
    device_close(again);
    device_close(NULL);
}

/* Where no GPU can be used: a sentence for its number, and `auto` warns of it where the machine has one. */
static void test_no_gpu(void **state)
{
    Device *d;
    Err err = {0};
    if (device_open(&d, "0", NULL, &err) == 0) {
        device_close(d);
        print_message("SKIPPED: there is a GPU here, so the sentences for having none are not tested\n");
        skip();
    }
    assert_int_equal(err.code, ERR_DEVICE);
    assert_true(strlen(err.msg) > 20);
    char *text = NULL;
    size_t size = 0;
    Log log;
    log_init(&log, LOG_INFO);
    log.out = open_memstream(&text, &size);
    assert_int_equal(device_open(&d, "auto", &(DeviceOptions){.log = &log}, &err), 0);
    fclose(log.out);
    assert_string_equal(d->name, "cpu");
    assert_non_null(strstr(text, "device: cpu (CPU with"));
    if (access("/dev/nvidia0", F_OK) && access("/dev/nvidiactl", F_OK) && access("/dev/dxg", F_OK)) {
        assert_non_null(strstr(text, "), no GPU here"));
        assert_null(strstr(text, "warning"));
    } else {
        assert_non_null(strstr(text, "warning: device: cpu"));
        assert_non_null(strstr(text, err.msg));
    }
    free(text);
    device_close(d);
}

static void check_cap(const char *name)
{
    Device *d;
    Err err = {0};
    const size_t mb = 1 << 20;
    assert_int_equal(device_open(&d, name, &(DeviceOptions){.memory_cap = 10 * mb}, &err), 0);
    void *six = memory_of(d, 6 * mb), *three = memory_of(d, 3 * mb), *two, *last;
    assert_int_equal((uintptr_t)six % 256, 0);
    assert_int_equal((uintptr_t)three % 256, 0);
    assert_int_equal(device_alloc(d, &two, 2 * mb, &err), ERR_DEVICE);
    assert_null(two);
    char sentence[200];
    snprintf(sentence, sizeof sentence,
             "device %s: 2.0 MB requested, but 9.0 MB are in use and its memory limit is 10.0 MB", name);
    assert_string_equal(err.msg, sentence);
    assert_int_equal(device_alloc(d, &two, SIZE_MAX - 100, &err), ERR_DEVICE);
    last = memory_of(d, 1 * mb); /* exactly full */
    assert_int_equal(device_alloc(d, &two, 1, &err), ERR_DEVICE);
    DeviceMemory m;
    d->ops->memory_info(d, &m);
    assert_int_equal(m.used, 10 * mb);
    assert_int_equal(m.cap, 10 * mb);
    assert_true(m.total > 0);
    device_free(d, six, 6 * mb);
    device_free(d, last, 1 * mb);
    device_free(d, three, 3 * mb);
    device_free(d, NULL, 5);
    two = memory_of(d, 10 * mb);
    device_free(d, two, 10 * mb);
    void *pinned; /* host memory: outside the cap */
    assert_int_equal(d->ops->pinned_alloc(d, &pinned, 20 * mb, &err), 0);
    memset(pinned, 1, 20 * mb);
    d->ops->pinned_free(d, pinned);
    d->ops->memory_info(d, &m);
    assert_int_equal(m.used, 0);
    device_close(d);
}

static void test_memory_cap(void **state)
{
    check_cap("cpu");
    check_cap("sim0");
}

static void test_simulated_memory_ends(void **state)
{
    Machine m = machine_open("memory_gb=0.01");
    machine_start(&m);
    Err err = {0};
    void *p = memory_of(m.a, 6 << 20), *q;
    assert_int_equal(device_alloc(m.a, &q, 6 << 20, &err), ERR_DEVICE);
    assert_non_null(strstr(err.msg, "sim0 is out of memory: 6.0 MB requested, 6.0 of 10.2 MB in use"));
    assert_int_equal(m.a->used, 6 << 20); /* what was not given is not counted */
    q = memory_of(m.b, 6 << 20);          /* the other device has its own */
    device_free(m.a, p, 6 << 20);
    device_free(m.b, q, 6 << 20);
    machine_close(&m);
}

typedef struct Taker {
    Device *d;
    int got;
    Thread thread;
} Taker;

static void *take_blocks(void *arg)
{
    Taker *t = arg;
    void *p;
    for (int i = 0; i < 1000; i++)
        t->got += device_alloc(t->d, &p, 64, NULL) == 0 ? (t->d->ops->memory_free(t->d, p), 1)
                                                        : 0; /* the account keeps them */
    return NULL;
}

/* Threads that take memory at once never get more than the cap together. */
static void test_cap_with_threads(void **state)
{
    Device *d;
    assert_int_equal(device_open(&d, "cpu", &(DeviceOptions){.memory_cap = 64 * 1500}, NULL), 0);
    Taker takers[3];
    for (int i = 0; i < 3; i++) {
        takers[i] = (Taker){d, 0, {0}};
        assert_int_equal(thread_start(&takers[i].thread, "taker", take_blocks, &takers[i], NULL), 0);
    }
    for (int i = 0; i < 3; i++)
        thread_join(&takers[i].thread);
    assert_int_equal(takers[0].got + takers[1].got + takers[2].got, 1500);
    device_close(d);
}

/* ---- copies and kernels ---- */

typedef struct AddArgs {
    uint8_t *x;
    size_t n;
    int add;
} AddArgs;

static void add_kernel(void *arg)
{
    AddArgs *a = arg;
    for (size_t i = 0; i < a->n; i++)
        a->x[i] = (uint8_t)(a->x[i] + a->add);
}

static void check_round_trip(Device *from, Device *to)
{
    enum { N = 100000 };
    uint8_t *in = malloc(N), *out = calloc(1, N);
    Rng rng;
    rng_seed(&rng, 5);
    for (int i = 0; i < N; i++)
        in[i] = (uint8_t)rng_u64(&rng);
    Stream *s = stream_of(from), *t = stream_of(to);
    Event *copied = event_of(from);
    uint8_t *x = memory_of(from, N), *y = memory_of(to, N);
    AddArgs args = {x, N, 7};
    assert_int_equal(from->ops->copy_in(s, x, in, N, NULL), 0);
    assert_int_equal(from->ops->run(s, add_kernel, &args, sizeof args, -1, NULL), 0);
    args = (AddArgs){NULL, 0, 0}; /* the argument was copied */
    assert_int_equal(from->ops->copy_peer(s, y, to, x, N, NULL), 0);
    assert_int_equal(from->ops->fill_zero(s, x, N, NULL), 0);
    assert_int_equal(from->ops->event_record(copied, s, NULL), 0);
    assert_int_equal(to->ops->stream_wait_event(t, copied, NULL), 0);
    assert_int_equal(to->ops->run(t, add_kernel, &(AddArgs){y, N, 1}, sizeof(AddArgs), -1, NULL), 0);
    assert_int_equal(to->ops->copy_out(t, out, y, N, NULL), 0);
    assert_int_equal(to->ops->stream_wait_idle(t, NULL), 0);
    for (int i = 0; i < N; i++)
        assert_int_equal(out[i], (uint8_t)(in[i] + 8));
    assert_int_equal(from->ops->copy_out(s, out, x, N, NULL), 0);
    assert_int_equal(from->ops->stream_wait_idle(s, NULL), 0);
    for (int i = 0; i < N; i++)
        assert_int_equal(out[i], 0);
    from->ops->event_close(copied);
    from->ops->stream_close(s);
    to->ops->stream_close(t);
    device_free(from, x, N);
    device_free(to, y, N);
    free(in);
    free(out);
}

static void test_copies(void **state)
{
    Machine m = machine_open("h2d_gbps=10,peer_gbps=20,h2d_us=100,jitter=0.5");
    machine_start(&m);
    Device *cpu;
    assert_int_equal(device_open(&cpu, "cpu", NULL, NULL), 0);
    check_round_trip(cpu, cpu);
    check_round_trip(m.a, m.a);
    check_round_trip(m.a, m.b);
    assert_int_equal(m.a->ops->peer_path(m.a, m.a), PEER_SAME);
    assert_int_equal(m.a->ops->peer_path(m.a, m.b), PEER_DIRECT);
    assert_int_equal(m.a->ops->peer_path(m.a, cpu), PEER_STAGED);
    assert_int_equal(cpu->ops->peer_path(cpu, m.a), PEER_STAGED);
    /* kinds do not mix in copy_peer */
    Err err = {0};
    Stream *s = stream_of(m.a), *h = stream_of(cpu);
    char x = 0;
    assert_int_equal(m.a->ops->copy_peer(s, &x, cpu, &x, 1, &err), ERR_DEVICE);
    assert_int_equal(cpu->ops->copy_peer(h, &x, m.a, &x, 1, &err), ERR_DEVICE);
    assert_non_null(strstr(err.msg, "sim0"));
    m.a->ops->stream_close(s);
    cpu->ops->stream_close(h);
    device_close(cpu);
    machine_close(&m);
}

/* Fresh simulated memory is not zero, so that work that relies on it shows. */
static void test_fresh_memory_is_garbage(void **state)
{
    Machine m = machine_open("");
    machine_start(&m);
    float *x = memory_of(m.a, 4000), out[1000];
    Stream *s = stream_of(m.a);
    m.a->ops->copy_out(s, out, x, sizeof out, NULL);
    m.a->ops->stream_wait_idle(s, NULL);
    for (int i = 0; i < 1000; i++)
        assert_true(isnan(out[i]));
    m.a->ops->stream_close(s);
    device_free(m.a, x, 4000);
    machine_close(&m);
}

/* ---- order ---- */

typedef struct Mark {
    int *order, *next, who;
} Mark;

static void mark_kernel(void *arg)
{
    Mark *m = arg;
    m->order[__atomic_fetch_add(m->next, 1, __ATOMIC_RELAXED)] = m->who;
}

/* Three streams on two devices, each waiting for the one before; enqueued last first, the slow one at the
 * beginning. */
static void test_order_by_events(void **state)
{
    Machine m = machine_open("preprocess_ms=5,step_ms=1");
    machine_start(&m);
    int order[64], next = 0;
    Stream *first = stream_of(m.a), *second = stream_of(m.b), *third = stream_of(m.a);
    Event *one = event_of(m.a), *two = event_of(m.b), *end = event_of(m.a);
    for (int round = 0; round < 8; round++) {
        m.a->ops->run(first, mark_kernel, &(Mark){order, &next, 0}, sizeof(Mark), STAGE_PREPROCESS, NULL);
        m.a->ops->event_record(one, first,
                               NULL); /* recorded again in every round, perhaps before it has happened */
        m.b->ops->stream_wait_event(second, one, NULL);
        m.b->ops->run(second, mark_kernel, &(Mark){order, &next, 1}, sizeof(Mark), STAGE_STEP, NULL);
        m.b->ops->event_record(two, second, NULL);
        m.a->ops->stream_wait_event(third, two, NULL);
        m.a->ops->run(third, mark_kernel, &(Mark){order, &next, 2}, sizeof(Mark), -1, NULL);
        m.a->ops->event_record(end, third, NULL);
        m.a->ops->stream_wait_event(first, end, NULL);
    }
    assert_int_equal(m.a->ops->event_wait(end, NULL), 0);
    assert_int_equal(m.a->ops->event_happened(end), 1);
    assert_int_equal(next, 24);
    for (int i = 0; i < 24; i++)
        assert_int_equal(order[i], i % 3);
    m.a->ops->event_close(one); /* their commands may still be on their way out */
    m.b->ops->event_close(two);
    m.a->ops->event_close(end);
    m.a->ops->stream_close(first);
    m.b->ops->stream_close(second);
    m.a->ops->stream_close(third);
    machine_close(&m);
}

static void test_event_states(void **state)
{
    Machine m = machine_open("step_ms=3600000");
    machine_start(&m);
    Stream *s = stream_of(m.a), *other = stream_of(m.a);
    Event *e = event_of(m.a), *never = event_of(m.a);
    assert_int_equal(m.a->ops->event_happened(never), 1); /* never recorded */
    assert_int_equal(m.a->ops->event_wait(never, NULL), 0);
    assert_int_equal(m.a->ops->stream_wait_event(other, never, NULL), 0);
    assert_int_equal(m.a->ops->stream_wait_idle(other, NULL), 0);
    m.a->ops->run(s, no_work, NULL, 0, STAGE_STEP, NULL);
    m.a->ops->event_record(e, s, NULL);
    assert_int_equal(m.a->ops->event_happened(e), 0); /* in an hour */
    m.a->ops->event_close(e);                         /* closed while it is waited for */
    m.a->ops->event_close(never);
    m.a->ops->stream_close(s); /* does not take the hour */
    m.a->ops->stream_close(other);
    machine_close(&m);
}

/* The CPU among simulated GPUs: it waits for their events, and they take its events as happened. */
static void test_host_and_sim(void **state)
{
    Machine m = machine_open("step_ms=3");
    machine_start(&m);
    Device *cpu;
    assert_int_equal(device_open(&cpu, "cpu", NULL, NULL), 0);
    Stream *h = stream_of(cpu), *s = stream_of(m.a);
    Event *he = event_of(cpu), *he2 = event_of(cpu), *se = event_of(m.a);
    int order[4], next = 0;
    cpu->ops->stream_batch(h, 3, 0);
    cpu->ops->event_record(he, h, NULL);
    assert_int_equal(cpu->ops->event_happened(he), 1);
    m.a->ops->stream_wait_event(s, he, NULL);
    m.a->ops->run(s, mark_kernel, &(Mark){order, &next, 0}, sizeof(Mark), STAGE_STEP, NULL);
    m.a->ops->event_record(se, s, NULL);
    assert_int_equal(cpu->ops->stream_wait_event(h, se, NULL), 0);
    cpu->ops->run(h, mark_kernel, &(Mark){order, &next, 1}, sizeof(Mark), STAGE_STEP, NULL);
    cpu->ops->event_record(he2, h, NULL);
    assert_int_equal(cpu->ops->event_wait(he2, NULL), 0);
    assert_int_equal(cpu->ops->stream_wait_idle(h, NULL), 0);
    assert_true(order[0] == 0 && order[1] == 1);
    assert_true(cpu->ops->event_seconds(he, he2) >= 3e-3); /* the wait took the step's time */
    cpu->ops->event_close(he);
    cpu->ops->event_close(he2);
    m.a->ops->event_close(se);
    cpu->ops->stream_close(h);
    m.a->ops->stream_close(s);
    device_close(cpu);
    machine_close(&m);
}

/* ---- times ---- */

/* Holds a stream until everything that is measured is enqueued, so that times depend on the model and not on
 * this thread. */
typedef struct Gate {
    int entered, released;
    double enqueued, late; /* late: at most this long after its virtual start did the gate really begin */
} Gate;

static void gate_kernel(void *arg)
{
    Gate *g = *(Gate **)arg;
    __atomic_store_n(&g->entered, 1, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&g->released, __ATOMIC_ACQUIRE))
        clock_sleep(1e-4);
}

static void gate_close(Gate *g, Stream *s)
{
    *g = (Gate){.enqueued = clock_now()};
    s->device->ops->run(s, gate_kernel, &g, sizeof g, -1, NULL);
    while (!__atomic_load_n(&g->entered, __ATOMIC_ACQUIRE))
        clock_sleep(1e-4);
    g->late = clock_now() - g->enqueued;
}

/* The gate ends, on the events' clock, after the last command was enqueued. */
static void gate_release(Gate *g)
{
    clock_sleep(g->late);
    __atomic_store_n(&g->released, 1, __ATOMIC_RELEASE);
}

/* Kernels in a row take exactly their times, however late the thread wakes up. */
static void test_kernels_in_a_row(void **state)
{
    Machine m = machine_open("step_ms=10,jitter=0.3,seed=1,stall=step:5:7");
    machine_start(&m);
    Stream *s = stream_of(m.a);
    Event *e[21];
    Gate gate;
    gate_close(&gate, s);
    e[0] = event_of(m.a);
    m.a->ops->event_record(e[0], s, NULL);
    double sum = 0;
    for (int i = 0; i < 20; i++) {
        e[i + 1] = event_of(m.a);
        m.a->ops->stream_batch(s, i, 0);
        m.a->ops->run(s, no_work, NULL, 0, STAGE_STEP, NULL);
        m.a->ops->event_record(e[i + 1], s, NULL);
    }
    gate_release(&gate);
    assert_int_equal(m.a->ops->stream_wait_idle(s, NULL), 0);
    for (int i = 0; i < 20; i++) {
        double expected = sim_seconds(&m.sim, STAGE_STEP, i, 0);
        assert_float_equal(m.a->ops->event_seconds(e[i], e[i + 1]), expected, EXACT);
        sum += expected;
    }
    assert_float_equal(m.a->ops->event_seconds(e[0], e[20]), sum, 20 * EXACT);
    for (int i = 0; i <= 20; i++)
        m.a->ops->event_close(e[i]);
    m.a->ops->stream_close(s);
    machine_close(&m);
}

/* Two streams behind one starting event: their times are independent of each other, or not when they share a
 * copy engine. */
typedef struct Pair {
    Stream *s[2];
    Event *begin, *end[2];
    Stream *first;
    Gate gate;
} Pair;

static void pair_open(Pair *p, Device *d)
{
    *p = (Pair){{stream_of(d), stream_of(d)}, event_of(d), {event_of(d), event_of(d)}, stream_of(d), {0}};
    gate_close(&p->gate, p->first);
    d->ops->event_record(p->begin, p->first, NULL);
    d->ops->stream_wait_event(p->s[0], p->begin, NULL);
    d->ops->stream_wait_event(p->s[1], p->begin, NULL);
}

static void pair_end(Pair *p, Device *d, double took[2])
{
    for (int i = 0; i < 2; i++)
        d->ops->event_record(p->end[i], p->s[i], NULL);
    gate_release(&p->gate);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(d->ops->event_wait(p->end[i], NULL), 0);
        took[i] = d->ops->event_seconds(p->begin, p->end[i]);
    }
    for (int i = 0; i < 2; i++) {
        d->ops->event_close(p->end[i]);
        d->ops->stream_close(p->s[i]);
    }
    d->ops->event_close(p->begin);
    d->ops->stream_close(p->first);
}

static void test_copy_and_kernel_overlap(void **state)
{
    Machine m = machine_open("step_ms=20,h2d_us=1000,h2d_gbps=0.1");
    machine_start(&m);
    uint8_t host[100000] = {0}, *x = memory_of(m.a, sizeof host);
    double took[2];
    Pair p;
    pair_open(&p, m.a);
    for (int i = 0; i < 5; i++) {
        m.a->ops->run(p.s[0], no_work, NULL, 0, STAGE_STEP, NULL);
        m.a->ops->copy_in(p.s[1], x, host, sizeof host, NULL); /* 1 ms + 100,000 bytes at 0.1e9 a second */
    }
    pair_end(&p, m.a, took);
    assert_float_equal(took[0], 5 * 20e-3, 10 * EXACT);
    assert_float_equal(took[1], 5 * 2e-3, 10 * EXACT);
    device_free(m.a, x, sizeof host);
    machine_close(&m);
}

static void test_copy_engines(void **state)
{
    Machine m = machine_open("h2d_us=4000,peer_us=3000");
    machine_start(&m);
    char host[16] = {0};
    void *x = memory_of(m.a, 16), *y = memory_of(m.b, 16);
    double took[2];

    Pair p;
    pair_open(&p, m.a); /* one direction, two streams: one after the other */
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 2; k++)
            m.a->ops->copy_in(p.s[k], (char *)x + 8 * k, host, 8, NULL);
    pair_end(&p, m.a, took);
    assert_float_equal(fmax(took[0], took[1]), 8 * 4e-3, 10 * EXACT);
    assert_true(fmin(took[0], took[1]) >= 4 * 4e-3 - EXACT);

    pair_open(&p, m.a); /* in and out: at once */
    for (int i = 0; i < 4; i++) {
        m.a->ops->copy_in(p.s[0], x, host, 8, NULL);
        m.a->ops->copy_out(p.s[1], host + 8, (char *)x + 8, 8, NULL);
    }
    pair_end(&p, m.a, took);
    assert_float_equal(took[0], 4 * 4e-3, 10 * EXACT);
    assert_float_equal(took[1], 4 * 4e-3, 10 * EXACT);

    pair_open(&p, m.a); /* in and to a peer: at once */
    for (int i = 0; i < 4; i++) {
        m.a->ops->copy_in(p.s[0], x, host, 8, NULL);
        m.a->ops->copy_peer(p.s[1], y, m.b, (char *)x + 8, 8, NULL);
    }
    pair_end(&p, m.a, took);
    assert_float_equal(took[0], 4 * 4e-3, 10 * EXACT);
    assert_float_equal(took[1], 4 * 3e-3, 10 * EXACT);

    device_free(m.a, x, 16);
    device_free(m.b, y, 16);
    machine_close(&m);
}

/* A stream that waits for another's event continues from the event's time. */
static void test_times_across_devices(void **state)
{
    Machine m = machine_open("preprocess_ms=12,step_ms=20");
    machine_start(&m);
    Stream *s = stream_of(m.a), *t = stream_of(m.b);
    Event *begin = event_of(m.a), *made = event_of(m.a), *done = event_of(m.b);
    Gate gate;
    gate_close(&gate, s);
    m.a->ops->event_record(begin, s, NULL);
    m.a->ops->run(s, no_work, NULL, 0, STAGE_PREPROCESS, NULL);
    m.a->ops->event_record(made, s, NULL);
    m.b->ops->stream_wait_event(t, made, NULL);
    m.b->ops->run(t, no_work, NULL, 0, STAGE_STEP, NULL);
    m.b->ops->event_record(done, t, NULL);
    gate_release(&gate);
    assert_int_equal(m.b->ops->event_wait(done, NULL), 0);
    assert_float_equal(m.b->ops->event_seconds(begin, done), 32e-3, EXACT);
    m.a->ops->event_close(begin);
    m.a->ops->event_close(made);
    m.b->ops->event_close(done);
    m.a->ops->stream_close(s);
    m.b->ops->stream_close(t);
    machine_close(&m);
}

/* More commands than the queue holds: the caller waits for room, nothing is lost. */
static void test_full_queue(void **state)
{
    Machine m = machine_open("preprocess_ms=20");
    machine_start(&m);
    Stream *s = stream_of(m.a);
    uint8_t *x = memory_of(m.a, 4), out[4];
    m.a->ops->fill_zero(s, x, 4, NULL);
    m.a->ops->run(s, no_work, NULL, 0, STAGE_PREPROCESS, NULL);
    for (int i = 0; i < 20005; i++)
        m.a->ops->run(s, add_kernel, &(AddArgs){x, 1, 1}, sizeof(AddArgs), -1, NULL);
    m.a->ops->copy_out(s, out, x, 4, NULL);
    assert_int_equal(m.a->ops->stream_wait_idle(s, NULL), 0);
    assert_int_equal(out[0], (uint8_t)20005);
    m.a->ops->stream_close(s);
    device_free(m.a, x, 4);
    machine_close(&m);
}

/* ---- failures ---- */

static void test_failure(void **state)
{
    static const char *const specs[] = {"fail=h2d:5", "fail=preprocess:5", "fail=peer:5"};
    static const char *const stages[] = {"h2d", "preprocess", "peer"};
    for (int k = 0; k < 3; k++) {
        Machine m = machine_open(specs[k]);
        machine_start(&m);
        Err err = {0};
        Stream *s = stream_of(m.a), *t = stream_of(m.b), *apart = stream_of(m.a);
        Event *copied = event_of(m.a), *done = event_of(m.b);
        uint8_t host[4] = {1, 2, 3, 4}, *x = memory_of(m.a, 4), *y = memory_of(m.b, 4);
        int order[32], next = 0;
        for (int i = 0; i < 10; i++) {
            m.a->ops->stream_batch(s, i, 0);
            m.b->ops->stream_batch(t, i, 0);
            assert_int_equal(m.a->ops->copy_in(s, x, host, 4, NULL), 0);
            assert_int_equal(m.a->ops->run(s, no_work, NULL, 0, STAGE_PREPROCESS, NULL), 0);
            assert_int_equal(m.a->ops->copy_peer(s, y, m.b, x, 4, NULL), 0);
            assert_int_equal(m.a->ops->event_record(copied, s, NULL), 0);
            assert_int_equal(m.b->ops->stream_wait_event(t, copied, NULL), 0);
            assert_int_equal(
                m.b->ops->run(t, mark_kernel, &(Mark){order, &next, i}, sizeof(Mark), STAGE_STEP, NULL), 0);
            assert_int_equal(m.b->ops->event_record(done, t, NULL), 0);
            int rc = m.b->ops->event_wait(done, &err); /* the failure came over with the event */
            assert_int_equal(rc, i < 5 ? 0 : ERR_DEVICE);
            assert_int_equal(m.b->ops->event_happened(done), i < 5 ? 1 : ERR_DEVICE);
        }
        char sentence[100];
        snprintf(sentence, sizeof sentence, "device sim0: simulated failure of stage %s at batch 5",
                 stages[k]);
        assert_string_equal(err.msg, sentence);
        assert_int_equal(next, 5); /* no step after it */
        err_clear(&err);
        assert_int_equal(m.a->ops->event_wait(copied, &err),
                         ERR_DEVICE); /* it sticks, on every stream of the device */
        assert_string_equal(err.msg, sentence);
        assert_int_equal(m.a->ops->stream_wait_idle(apart, &err), ERR_DEVICE);
        assert_int_equal(m.a->ops->stream_wait_idle(s, NULL), ERR_DEVICE);
        m.a->ops->event_close(copied);
        m.b->ops->event_close(done);
        m.a->ops->stream_close(s);
        m.a->ops->stream_close(apart);
        m.b->ops->stream_close(t);
        device_free(m.a, x, 4);
        device_free(m.b, y, 4);
        machine_close(&m);
    }
}

/* Work of no batch (tables, before the first) neither fails nor stalls. */
static void test_no_failure_without_a_batch(void **state)
{
    Machine m = machine_open("fail=h2d:0,stall=h2d:1:3600000");
    machine_start(&m);
    Stream *s = stream_of(m.a);
    char host = 3, *x = memory_of(m.a, 1);
    m.a->ops->copy_in(s, x, &host, 1, NULL);
    assert_int_equal(m.a->ops->stream_wait_idle(s, NULL), 0);
    m.a->ops->stream_batch(s, 0, 0);
    m.a->ops->copy_in(s, x, &host, 1, NULL);
    assert_int_equal(m.a->ops->stream_wait_idle(s, NULL), ERR_DEVICE);
    m.a->ops->stream_close(s);
    device_free(m.a, x, 1);
    machine_close(&m);
}

/* ---- stopping anywhere ---- */

/* What random work is done with; stream i and event i are those of device i % 2. */
typedef struct Work {
    Device *devices[2];
    char *memory[2]; /* 64 bytes for each stream, and 64 more */
    Stream *s[4];
    Event *e[6];
    char host[64], out[4][64];
} Work;

enum { WORK_STREAMS = 4, WORK_EVENTS = 6, WORK_BYTES = 64 * (WORK_STREAMS + 1) };

static void work_command(Work *w, Rng *rng, int batch)
{
    int i = (int)rng_below(rng, WORK_STREAMS), n = (int)rng_below(rng, WORK_EVENTS);
    const DeviceOps *ops = w->s[i]->device->ops;
    char *own = w->memory[i % 2] + 64 * i, *other = w->memory[1 - i % 2] + 64 * i;
    ops->stream_batch(w->s[i], batch, 0);
    switch (rng_below(rng, 7)) {
    case 0:
        ops->copy_in(w->s[i], own, w->host, 64, NULL);
        break;
    case 1:
        ops->copy_out(w->s[i], w->out[i], own, 64, NULL);
        break;
    case 2:
        ops->copy_peer(w->s[i], other, w->devices[1 - i % 2], own, 64, NULL);
        break;
    case 3:
        ops->run(w->s[i], no_work, NULL, 0, rng_below(rng, 2) ? STAGE_PREPROCESS : STAGE_STEP, NULL);
        break;
    case 4:
        ops->event_record(w->e[n], w->s[n % 2], NULL);
        break;
    case 5:
        ops->stream_wait_event(w->s[i], w->e[n], NULL);
        break;
    default:
        ops->event_happened(w->e[n]);
    }
}

static void work_close(Work *w, Rng *rng)
{
    int events_first = (int)rng_below(rng, 2), start = (int)rng_below(rng, 2);
    for (int i = 0; events_first && i < WORK_EVENTS; i++)
        w->e[i]->device->ops->event_close(w->e[i]);
    for (int i = 0; i < WORK_STREAMS; i++)
        w->s[i ^ start]->device->ops->stream_close(w->s[i ^ start]);
    for (int i = 0; !events_first && i < WORK_EVENTS; i++)
        w->e[i]->device->ops->event_close(w->e[i]);
    for (int i = 0; i < 2; i++)
        device_free(w->devices[i], w->memory[i], WORK_BYTES);
}

/* Random work on two devices, closed at a random moment in a random order: nothing hangs or is lost. */
static void test_closing_at_any_moment(void **state)
{
    for (int run = 0; run < 200; run++) {
        Rng rng;
        rng_seed(&rng, 100 + (uint64_t)run);
        char spec[200];
        snprintf(spec, sizeof spec, "h2d_us=200,peer_us=100,preprocess_ms=0.3,step_ms=%d,jitter=1,seed=%d%s",
                 run % 10 == 0 ? 600000 : 1, run, run % 3 == 0 ? ",fail=h2d:7" : "");
        Machine m = machine_open(spec);
        machine_start(&m);
        Work w = {.devices = {m.a, m.b}, .memory = {memory_of(m.a, WORK_BYTES), memory_of(m.b, WORK_BYTES)}};
        for (int i = 0; i < WORK_STREAMS; i++)
            w.s[i] = stream_of(w.devices[i % 2]);
        for (int i = 0; i < WORK_EVENTS; i++)
            w.e[i] = event_of(w.devices[i % 2]);
        int commands = (int)rng_below(&rng, 60);
        for (int k = 0; k < commands; k++)
            work_command(&w, &rng, k);
        if (rng_below(&rng, 2))
            clock_sleep(1e-3 * rng_uniform(&rng));
        work_close(&w, &rng);
        machine_close(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_no_gpu),
        cmocka_unit_test(test_memory_cap),
        cmocka_unit_test(test_simulated_memory_ends),
        cmocka_unit_test(test_cap_with_threads),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_fresh_memory_is_garbage),
        cmocka_unit_test(test_order_by_events),
        cmocka_unit_test(test_event_states),
        cmocka_unit_test(test_host_and_sim),
        cmocka_unit_test(test_kernels_in_a_row),
        cmocka_unit_test(test_copy_and_kernel_overlap),
        cmocka_unit_test(test_copy_engines),
        cmocka_unit_test(test_times_across_devices),
        cmocka_unit_test(test_full_queue),
        cmocka_unit_test(test_failure),
        cmocka_unit_test(test_no_failure_without_a_batch),
        cmocka_unit_test(test_closing_at_any_moment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
