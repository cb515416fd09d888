/* device.h - the machine: one function table, three implementations.
 *   host  "cpu"            the CPU; streams run their commands at once, in the calling thread
 *   sim   "sim0", "sim1"   GPUs made of threads: own memory with a cap, streams, events, copy engines with a bandwidth and a latency,
 *                          kernels that take a set time (sim.h); they do the real work too, so results are the same bytes
 *   cuda  "0", "1", ...    streams, events, peer copies; in libmyxtts_cuda.so, loaded at run time
 * Memory handed out by a device may be touched only by commands on its streams (host: by anyone).
 * Work is ordered within a stream; streams are ordered by events alone. Nothing here synchronises a whole device.
 * Errors of enqueued work come back from the next event_wait/stream_wait_idle on that device, and stick.
 * Threads: a Device from any; a Stream from one thread at a time. */
#ifndef MYXTTS_DEVICE_H
#define MYXTTS_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/log.h"

typedef struct Device Device;
typedef struct Stream Stream;
typedef struct Event Event;
struct Sim;

typedef enum { DEVICE_HOST, DEVICE_SIM, DEVICE_CUDA } DeviceKind;

typedef struct DeviceMemory {
    uint64_t cap;   /* bytes this process may take; 0 = all there is */
    uint64_t used;  /* bytes taken now */
    uint64_t total; /* bytes of the device; 0 = unknown */
} DeviceMemory;

/* How two devices can exchange memory. */
typedef enum { PEER_SAME, PEER_DIRECT, PEER_STAGED } PeerPath;

/* The function table. `impl` is the implementation's own. Functions that can fail return 0 or a negative code. */
typedef struct DeviceOps {
    DeviceKind kind;
    void (*close)(Device *d);
    int (*memory_alloc)(Device *d, void **p, size_t bytes, Err *err); /* 256-byte aligned; the cap is enforced by device_alloc */
    void (*memory_free)(Device *d, void *p);
    int (*pinned_alloc)(Device *d, void **p, size_t bytes, Err *err); /* host memory that copies of this device reach directly */
    void (*pinned_free)(Device *d, void *p);
    int (*stream_open)(Device *d, Stream **s, const char *name, Err *err);
    void (*stream_close)(Stream *s); /* waits for its work */
    int (*stream_wait_idle)(Stream *s, Err *err);
    int (*event_open)(Device *d, Event **e, int timed, Err *err);
    void (*event_close)(Event *e);
    int (*event_record)(Event *e, Stream *s, Err *err); /* the event happens when the stream gets here; may be recorded again */
    int (*event_happened)(Event *e);                    /* 1, 0, or a negative code; an event never recorded has happened */
    int (*event_wait)(Event *e, Err *err);              /* blocks the calling thread */
    double (*event_seconds)(Event *a, Event *b);        /* from a to b, both timed and happened */
    int (*stream_wait_event)(Stream *s, Event *e, Err *err); /* the stream waits, not the caller; e may be another device's */
    int (*copy_in)(Stream *s, void *dst, const void *src, size_t bytes, Err *err);  /* host -> device */
    int (*copy_out)(Stream *s, void *dst, const void *src, size_t bytes, Err *err); /* device -> host */
    int (*copy_peer)(Stream *s, void *dst, Device *dst_device, const void *src, size_t bytes,
                     Err *err); /* s: of the source device */
    int (*fill_zero)(Stream *s, void *dst, size_t bytes, Err *err);
    PeerPath (*peer_path)(Device *d, Device *other);
    /* Host and sim: runs fn(arg) as a kernel of the stream. arg is copied (at most DEVICE_ARG_BYTES). cuda: NULL; its kernels are
     * launched by the .cu files that know them, on stream_native(s). sim_stage: which sim time applies, or -1. */
    int (*run)(Stream *s, void (*fn)(void *arg), const void *arg, size_t arg_bytes, int sim_stage, Err *err);
    void *(*stream_native)(Stream *s); /* cuda: the cudaStream_t; others NULL */
    void (*memory_info)(Device *d, DeviceMemory *m);
} DeviceOps;

#define DEVICE_ARG_BYTES 256

struct Device {
    const DeviceOps *ops;
    char name[16];   /* as the user writes it: cpu, sim0, 0 */
    char model[96];  /* "NVIDIA H200", "CPU with 16 cores", "simulated GPU" */
    int index;       /* number within its kind */
    uint64_t cap;    /* bytes; 0 = none */
    uint64_t used;   /* bytes taken through device_alloc; atomic */
    struct Sim *sim; /* sim only: the machine it belongs to */
    void *impl;
};

typedef struct DeviceOptions {
    uint64_t memory_cap; /* bytes; 0 = none */
    struct Sim *sim;     /* needed for simN */
    Log *log;
} DeviceOptions;

/* name: cpu, simN, N, or auto (the first GPU, else cpu, and a line on the log says which and why). ERR_DEVICE with what is missing: no
 * driver, no such GPU, a GPU too old (below sm_80), no libmyxtts_cuda.so. */
int device_open(Device **d, const char *name, const DeviceOptions *options, Err *err);
void device_close(Device *d); /* NULL is fine; all its streams, events and memory must be closed before */
/* Within the cap, or ERR_DEVICE that names the device, the cap, what is in use and what was asked for. */
int device_alloc(Device *d, void **p, size_t bytes, Err *err);
void device_free(Device *d, void *p, size_t bytes);
int device_same(const Device *a, const Device *b); /* one physical device */

#endif
