/* device_host.c - the device "cpu": every command runs at once in the calling thread, so a stream is always
 * idle and an event is the moment at which it was recorded. See device.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "device/device.h"

#define ALIGNMENT 256

typedef struct HostEvent {
    Event base;
    double at; /* clock_now() of the last record */
} HostEvent;

/* The one thing that can go wrong on this device. */
static int no_memory(size_t bytes, Err *err)
{
    return err_set(err, ERR_NOMEM, "device cpu: no memory for %.1f MB", (double)bytes / (double)(1 << 20));
}

static void host_close(Device *d) { free(d); }

/* Also the pinned memory: there is no copy engine that could not reach the rest. */
static int host_alloc(Device *d, void **p, size_t bytes, Err *err)
{
    *p = mem_aligned(ALIGNMENT, bytes ? bytes : 1, 1);
    return *p ? 0 : no_memory(bytes, err);
}

static void host_free(Device *d, void *p) { free(p); }

/* A stream holds nothing: the name and the batch number matter only to other devices. */
static int host_stream_open(Device *d, Stream **s, const char *name, Err *err)
{
    *s = mem_calloc(1, sizeof **s);
    if (!*s)
        return no_memory(sizeof **s, err);
    (*s)->device = d;
    return 0;
}

static void host_stream_close(Stream *s) { free(s); }

static int host_stream_wait_idle(Stream *s, Err *err) { return 0; }

static void host_stream_batch(Stream *s, int64_t batch, uint64_t bytes) {}

/* Every event is timed; a clock is cheap. */
static int host_event_open(Device *d, Event **e, int timed, Err *err)
{
    *e = NULL;
    HostEvent *event = mem_calloc(1, sizeof *event);
    if (!event)
        return no_memory(sizeof *event, err);
    event->base.device = d;
    *e = &event->base;
    return 0;
}

static void host_event_close(Event *e) { free(e); }

static int host_event_record(Event *e, Stream *s, Err *err)
{
    ASSERT(e->device == s->device);
    /* Another thread may be about to ask for it: a double is written whole. */
    double now = clock_now();
    __atomic_store(&((HostEvent *)e)->at, &now, __ATOMIC_RELEASE);
    return 0;
}

/* Whatever was enqueued before an event has been done by then. */
static int host_event_happened(Event *e) { return 1; }

static int host_event_wait(Event *e, Err *err) { return 0; }

/* May be asked by another thread than the one that records. */
static double host_event_seconds(Event *a, Event *b)
{
    double from, to;
    __atomic_load(&((HostEvent *)a)->at, &from, __ATOMIC_ACQUIRE);
    __atomic_load(&((HostEvent *)b)->at, &to, __ATOMIC_ACQUIRE);
    return to - from;
}

/* An event of another device is waited for by the caller, who is the stream. */
static int host_stream_wait_event(Stream *s, Event *e, Err *err)
{
    return e->device->ops->event_wait(e, err);
}

static int host_copy(Stream *s, void *dst, const void *src, size_t bytes, Err *err)
{
    memmove(dst, src, bytes); /* a caller may hand over memory in place */
    return 0;
}

/* Another kind of device has to fetch it itself. */
static int host_copy_peer(Stream *s, void *dst, Device *dst_device, const void *src, size_t bytes, Err *err)
{
    if (dst_device->ops->kind != DEVICE_HOST)
        return err_set(err, ERR_DEVICE, "device cpu: a copy to device %s has to go through a stream of %s",
                       dst_device->name, dst_device->name);
    memmove(dst, src, bytes);
    return 0;
}

static int host_fill_zero(Stream *s, void *dst, size_t bytes, Err *err)
{
    memset(dst, 0, bytes);
    return 0;
}

static PeerPath host_peer_path(Device *d, Device *other)
{
    return other->ops->kind == DEVICE_HOST ? PEER_SAME : PEER_STAGED;
}

/* The argument is copied here as on the other devices, so that a kernel may change its own. */
static int host_run(Stream *s, void (*fn)(void *arg), const void *arg, size_t arg_bytes, int sim_stage,
                    Err *err)
{
    _Alignas(16) char copy[DEVICE_ARG_BYTES];
    ASSERT_CMP(arg_bytes, <=, sizeof copy);
    if (arg_bytes)
        memcpy(copy, arg, arg_bytes);
    fn(copy);
    return 0;
}

static void *host_stream_native(Stream *s) { return NULL; }

/* All memory of the machine, or what ulimit -v leaves of it; 0 when the system does not say. */
static uint64_t machine_memory(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    const uint64_t all = pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : 0;
    const uint64_t left = mem_left_of_limit();
    return all < left ? all : left;
}

/* All memory of the machine, whichever process uses it. */
static void host_memory_info(Device *d, DeviceMemory *m)
{
    *m = (DeviceMemory){d->cap, __atomic_load_n(&d->used, __ATOMIC_RELAXED), machine_memory()};
}

static const DeviceOps host_ops = {
    .kind = DEVICE_HOST,
    .close = host_close,
    .memory_alloc = host_alloc,
    .memory_free = host_free,
    .pinned_alloc = host_alloc,
    .pinned_free = host_free,
    .stream_open = host_stream_open,
    .stream_close = host_stream_close,
    .stream_wait_idle = host_stream_wait_idle,
    .stream_batch = host_stream_batch,
    .event_open = host_event_open,
    .event_close = host_event_close,
    .event_record = host_event_record,
    .event_happened = host_event_happened,
    .event_wait = host_event_wait,
    .event_seconds = host_event_seconds,
    .stream_wait_event = host_stream_wait_event,
    .copy_in = host_copy,
    .copy_out = host_copy,
    .copy_peer = host_copy_peer,
    .fill_zero = host_fill_zero,
    .peer_path = host_peer_path,
    .run = host_run,
    .stream_native = host_stream_native,
    .memory_info = host_memory_info,
};

/* The CPU has no index: there is one. */
int device_host_open(Device **d, const DeviceOptions *options, Err *err)
{
    *d = NULL;
    Device *device = mem_calloc(1, sizeof *device);
    if (!device)
        return no_memory(sizeof *device, err);
    device->ops = &host_ops;
    device->cap = options->memory_cap;
    snprintf(device->name, sizeof device->name, "cpu");
    int cores = thread_cores();
    snprintf(device->model, sizeof device->model, "CPU with %d core%s", cores, cores == 1 ? "" : "s");
    *d = device;
    return 0;
}
