/* device.h - the machine: one table of functions, three implementations.
 *   - host  "cpu"          the CPU; streams run their commands at once, in the calling thread
 *   - sim   "sim0", ...    GPUs simulated by threads, with the times of sim.h; they compute real results,
 *                          the same bytes as the CPU
 *   - cuda  "0", "1", ...  real GPUs, in libmyxtts_cuda.so, which is loaded at run time
 *
 * Memory of a device may be accessed only by commands on its streams (host: by anyone). Commands of a stream
 * run in order; streams are ordered by events only. Nothing here synchronises a whole device.
 *
 * Errors of enqueued work are returned by the next event_wait or stream_wait_idle on that device, and
 * persist: later commands are skipped, but events still happen, so that no one waits for ever. A sim stream
 * that waits for an event of a failed device fails too.
 *
 * Threads: any may use a Device; one at a time may use a Stream. */
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

#ifdef __cplusplus
extern "C" {
#endif

/* Every implementation's streams and events begin with these. */
struct Stream {
    Device *device;
};
struct Event {
    Device *device;
};

/* For the implementations and for tests; all other code uses the traits. */
typedef enum { DEVICE_HOST, DEVICE_SIM, DEVICE_CUDA } DeviceKind;

/* Properties of a kind of device, a row of the table in device.c. Code outside src/device depends on these
 * and not on the kind. What two devices can do together is answered by peer_path. */
typedef struct DeviceTraits {
    int host_memory;     /* its memory is the host's: any thread may access it, no copies are needed */
    int inline_streams;  /* a stream runs its commands at once, in the thread that enqueues them */
    int simulated;       /* times are those of --sim; a step needs no network */
    int library_kernels; /* its kernels are in libmyxtts_cuda.so, and `run` is NULL */
    int graphs;          /* work on a stream can be captured and run again as a graph */
    int bf16;            /* mixed_precision has an effect */
    int tunes_shapes;    /* the first steps of a shape are slower, because kernels are being chosen */
    int nvml;            /* NVML can monitor it, under its index */
} DeviceTraits;

typedef struct DeviceMemory {
    uint64_t cap;   /* bytes that this process may use; 0 = all */
    uint64_t used;  /* bytes in use */
    uint64_t total; /* bytes of the device; 0 = unknown */
} DeviceMemory;

/* How two devices can exchange memory. */
typedef enum { PEER_SAME, PEER_DIRECT, PEER_STAGED } PeerPath;

/* The table of functions. Those that return an int return 0 or a negative code, unless stated otherwise. */
typedef struct DeviceOps {
    DeviceKind kind;
    void (*close)(Device *d);
    /* 256-byte aligned. Use device_alloc, which enforces the cap. */
    int (*memory_alloc)(Device *d, void **p, size_t bytes, Err *err);
    void (*memory_free)(Device *d, void *p);
    /* Host memory that this device can access directly in copies. */
    int (*pinned_alloc)(Device *d, void **p, size_t bytes, Err *err);
    void (*pinned_free)(Device *d, void *p);
    int (*stream_open)(Device *d, Stream **s, const char *name, Err *err);
    /* A Stream for a cudaStream_t on the same GPU that other code of this process opened and will close.
     * stream_close leaves that alone. NULL if there are none. */
    int (*stream_wrap)(Device *d, Stream **s, void *native, Err *err);
    /* Finishes its work first, a simulated stream without its simulated delays. */
    void (*stream_close)(Stream *s);
    int (*stream_wait_idle)(Stream *s, Err *err);
    /* Sets the batch, and its size, that the following commands belong to, for simulated times, stalls and
     * failures; -1, the initial value: none. Only sim uses it. */
    void (*stream_batch)(Stream *s, int64_t batch, uint64_t bytes);
    int (*event_open)(Device *d, Event **e, int timed, Err *err);
    void (*event_close)(Event *e);
    /* The event happens when the stream gets here. It may be recorded again, on the same stream or after it
     * has happened. A wait is for the last record made before the call that waits. */
    int (*event_record)(Event *e, Stream *s, Err *err);
    int (*event_happened)(Event *e); /* 1, 0, or a negative code; an event never recorded has happened */
    int (*event_wait)(Event *e, Err *err);       /* blocks the calling thread */
    double (*event_seconds)(Event *a, Event *b); /* time from a to b, both timed and happened */
    /* Makes the stream wait, not the caller. e may belong to another device of the same kind;
     * device_stream_wait takes any event. */
    int (*stream_wait_event)(Stream *s, Event *e, Err *err);
    int (*copy_in)(Stream *s, void *dst, const void *src, size_t bytes, Err *err);  /* host -> device */
    int (*copy_out)(Stream *s, void *dst, const void *src, size_t bytes, Err *err); /* device -> host */
    /* s is a stream of the source device, both devices are of the same kind; device_copy takes any two. */
    int (*copy_peer)(Stream *s, void *dst, Device *dst_device, const void *src, size_t bytes, Err *err);
    int (*fill_zero)(Stream *s, void *dst, size_t bytes, Err *err);
    PeerPath (*peer_path)(Device *d, Device *other);
    /* Runs fn(arg) as a kernel of the stream (host and sim). arg is copied (at most DEVICE_ARG_BYTES).
     * sim_stage is the StageId whose simulated time applies, or STAGE_NONE. cuda: NULL; .cu files launch
     * their kernels on stream_native(s). */
    int (*run)(Stream *s, void (*fn)(void *arg), const void *arg, size_t arg_bytes, int sim_stage, Err *err);
    void *(*stream_native)(Stream *s); /* cuda: the cudaStream_t; others NULL */
    void (*memory_info)(Device *d, DeviceMemory *m);
} DeviceOps;

#define DEVICE_ARG_BYTES 320

struct Device {
    const DeviceOps *ops;
    DeviceTraits traits; /* of its kind; set by device_open */
    char name[16];       /* as in the settings: cpu, sim0, 0 */
    char model[96];      /* "NVIDIA H200", "CPU with 16 cores", "simulated GPU" */
    int index;           /* number within its kind */
    uint64_t cap;        /* bytes; 0 = none */
    uint64_t used;       /* bytes allocated by device_alloc; atomic */
    struct Sim *sim;     /* sim only: the machine it belongs to, never NULL */
    void *impl;          /* private to the implementation */
};

typedef struct DeviceOptions {
    uint64_t memory_cap; /* bytes; 0 = none */
    struct Sim *sim;     /* for simN; must outlive the device. NULL: a machine that takes no time */
    int first;           /* for auto: the GPU that is tried before all others */
    Log *log;            /* may be NULL */
} DeviceOptions;

/* name: cpu, simN, N, or auto (the first GPU, else cpu; a line of the log says which and why). ERR_DEVICE
 * says what is missing: no driver, no such GPU, a GPU too old (below sm_80), no libmyxtts_cuda.so. *d is NULL
 * after a failure. */
int device_open(Device **d, const char *name, const DeviceOptions *options, Err *err);
/* Its streams, events and memory must have been closed. NULL is allowed. */
void device_close(Device *d);
/* Fails with ERR_DEVICE if the cap would be exceeded; the message has the device, the cap, the bytes in use
 * and the bytes asked for. */
int device_alloc(Device *d, void **p, size_t bytes, Err *err);
void device_free(Device *d, void *p, size_t bytes);
int device_same(const Device *a, const Device *b); /* 1 if they are the same physical device */

/* Calls into a device from a thread of a program that uses the library come between these two: such a thread
 * has a current GPU, which a call may change. `before` is what visit_begin returned. */
void *device_visit_begin(void);
void device_visit_end(void *before);

/* Makes the stream wait for an event of any device. If the devices are of different kinds, the calling thread
 * waits. */
int device_stream_wait(Stream *s, Event *e, Err *err);
/* Copies between any two devices. s is a stream of the source if both are of the same kind, otherwise of the
 * one whose memory is not the host's. */
int device_copy(Stream *s, void *dst, Device *to, const void *src, Device *from, size_t bytes, Err *err);

/* The implementations, for device_open. */
int device_host_open(Device **d, const DeviceOptions *options, Err *err);
int device_sim_open(Device **d, int index, const DeviceOptions *options, Err *err);
/* On a simulated stream: part of the work of a stage on its batch, which takes this share of its time: parts
 * of a step, buckets of a sum. */
int device_sim_pass(Stream *s, int sim_stage, double share, Err *err);

/* What libmyxtts_cuda.so exports. Raise the number whenever a structure of this header or one of these
 * functions changes. The library sets Device.name to the index ("0"); its errors say what is wrong: no
 * driver, no such GPU, a GPU below sm_80. */
#define DEVICE_CUDA_ABI (6 << 16 | (int)(sizeof(DeviceOps) + sizeof(Device)))
int myxtts_cuda_abi(void);
int myxtts_cuda_device_open(Device **d, int index, const DeviceOptions *options, Err *err);

#ifdef __cplusplus
}
#endif

#endif
