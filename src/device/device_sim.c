/* device_sim.c - a GPU simulated by threads. See device.h, sim.h.
 *
 * A stream is a thread with a queue of commands. Each command does its real work and takes the time that the
 * simulated machine gives it. Time is virtual, so that a thread that wakes up late does not slow the machine
 * down:
 *
 *     start = max(end of the previous command, event waited for, time of the call, copy engine becomes free)
 *     end   = start + max(simulated time, time that the work really took)
 *
 * The thread sleeps until `end`; if it is late, it does not sleep, and so catches up. Events have these
 * times. There is one copy engine for each direction (in, out, to peers), shared by the streams of the
 * device. Kernels of two streams do not slow each other down.
 *
 * Closing a stream makes it hurry: it does all its work but no longer sleeps, and makes the streams hurry
 * whose events it waits for. So a close never waits for simulated time.
 *
 * Lifetimes: an event is freed when it is closed and no queued command refers to it, a Gpu when it is closed
 * and has no events, a SimStream when it is closed and no event was last recorded on it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "device/device_sim_private.h"

#define ALIGNMENT 256
/* Fresh memory begins with 0xFF (NaNs): a GPU's is not zero either. */
#define GARBAGE_BYTES ((size_t)64 << 20)

/* Of the host: the simulated memory has its own sentence. */
int sim_no_memory(const Device *d, const char *what, Err *err)
{
    err_set(err, ERR_NOMEM, "device %s: no memory for %s", d->name, what);
    return err_about(err, ERR_ABOUT_DEVICE, d->name);
}

/* ---- the device: failure, memory, lifetime ---- */

/* The last reference frees it: events may outlive the device they belong to. */
void sim_gpu_release(Gpu *g)
{
    if (atomic_fetch_sub(&g->references, 1) > 1)
        return;
    pthread_mutex_destroy(&g->mutex);
    sim_close(&g->own);
    free(g);
}

/* The first failure stays; what comes later is its consequence. */
void sim_gpu_fail(Gpu *g, const Err *err)
{
    pthread_mutex_lock(&g->mutex);
    if (!atomic_load(&g->failed)) {
        g->error = *err;
        atomic_store(&g->failed, 1);
    }
    pthread_mutex_unlock(&g->mutex);
}

/* 0, or the failure that sticks to the device. */
int sim_gpu_state(Gpu *g, Err *err)
{
    if (!atomic_load(&g->failed))
        return 0;
    if (err) /* written once, before `failed` */
        *err = g->error;
    return g->error.code;
}

/* Open streams would outlive their device. */
static void sim_device_close(Device *d)
{
    Gpu *g = sim_gpu(d);
    ASSERT_CMP(atomic_load(&g->streams), ==, 0);
    sim_gpu_release(g);
}

/* The size stands before the memory, so that freeing can give it back. */
static int sim_memory_alloc(Device *d, void **p, size_t bytes, Err *err)
{
    Gpu *g = sim_gpu(d);
    double mb = 1.0 / (double)(1 << 20);
    pthread_mutex_lock(&g->mutex);
    uint64_t used = g->memory_used, total = d->sim->memory;
    int fits = bytes <= total && used <= total - bytes;
    if (fits)
        g->memory_used += bytes;
    pthread_mutex_unlock(&g->mutex);
    if (!fits)
        return err_set(err, ERR_DEVICE,
                       "device %s is out of memory: %.1f MB requested, %.1f of %.1f MB in use", d->name,
                       (double)bytes * mb, (double)used * mb, (double)total * mb);
    char *block = mem_aligned(ALIGNMENT, bytes + ALIGNMENT, 1);
    if (!block) {
        pthread_mutex_lock(&g->mutex);
        g->memory_used -= bytes;
        pthread_mutex_unlock(&g->mutex);
        return sim_no_memory(d, "its simulated memory", err);
    }
    memcpy(block, &bytes, sizeof bytes);
    memset(block + ALIGNMENT, 0xFF, bytes < GARBAGE_BYTES ? bytes : GARBAGE_BYTES);
    *p = block + ALIGNMENT;
    return 0;
}

static void sim_memory_free(Device *d, void *p)
{
    if (!p)
        return;
    Gpu *g = sim_gpu(d);
    char *block = (char *)p - ALIGNMENT;
    size_t bytes;
    memcpy(&bytes, block, sizeof bytes);
    free(block);
    pthread_mutex_lock(&g->mutex);
    g->memory_used -= bytes;
    pthread_mutex_unlock(&g->mutex);
}

/* Any memory of the host will do: the copies are memmove. */
static int sim_pinned_alloc(Device *d, void **p, size_t bytes, Err *err)
{
    *p = mem_aligned(ALIGNMENT, bytes ? bytes : 1, 1);
    return *p ? 0 : sim_no_memory(d, "pinned host memory", err);
}

static void sim_pinned_free(Device *d, void *p) { free(p); }

static void sim_memory_info(Device *d, DeviceMemory *m)
{
    *m = (DeviceMemory){d->cap, __atomic_load_n(&d->used, __ATOMIC_RELAXED), d->sim->memory};
}

/* Simulated GPUs reach each other directly. */
PeerPath sim_peer_path(Device *d, Device *other)
{
    return device_same(d, other) ? PEER_SAME : other->ops->kind == DEVICE_SIM ? PEER_DIRECT : PEER_STAGED;
}

/* ---- the table ---- */

static const DeviceOps sim_ops = {
    .kind = DEVICE_SIM,
    .close = sim_device_close,
    .memory_alloc = sim_memory_alloc,
    .memory_free = sim_memory_free,
    .pinned_alloc = sim_pinned_alloc,
    .pinned_free = sim_pinned_free,
    .stream_open = sim_stream_open,
    .stream_close = sim_stream_close,
    .stream_wait_idle = sim_stream_wait_idle,
    .stream_batch = sim_stream_batch,
    .event_open = sim_event_open,
    .event_close = sim_event_close,
    .event_record = sim_event_record,
    .event_happened = sim_event_happened,
    .event_wait = sim_event_wait,
    .event_seconds = sim_event_seconds,
    .stream_wait_event = sim_stream_wait_event,
    .copy_in = sim_copy_in,
    .copy_out = sim_copy_out,
    .copy_peer = sim_copy_peer,
    .fill_zero = sim_fill_zero,
    .peer_path = sim_peer_path,
    .run = sim_run,
    .stream_native = sim_stream_native,
    .memory_info = sim_memory_info,
};

/* Without a description the machine takes no time. */
int device_sim_open(Device **d, int index, const DeviceOptions *options, Err *err)
{
    *d = NULL;
    Gpu *g = mem_calloc(1, sizeof *g);
    if (!g)
        return err_set(err, ERR_NOMEM, "no memory for the simulated GPU sim%d", index);
    int rc = options->sim ? 0 : sim_parse(&g->own, "", err);
    if (rc) {
        free(g);
        return rc;
    }
    pthread_mutex_init(&g->mutex, NULL);
    atomic_init(&g->references, 1);
    g->device = (Device){
        .ops = &sim_ops,
        .model = "simulated GPU",
        .index = index,
        .cap = options->memory_cap,
        .sim = options->sim ? options->sim : &g->own,
        .impl = g,
    };
    snprintf(g->device.name, sizeof g->device.name, "sim%d", index);
    *d = &g->device;
    return 0;
}
