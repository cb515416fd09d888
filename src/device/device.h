/* device.h - the machine: one function table, three implementations.
 *   host  "cpu"          the CPU; streams run their commands at once, in the calling thread
 *   sim   "sim0", ...    GPUs made of threads, with the times of sim.h; they do the real work too, so the
 *                        results are the same bytes
 *   cuda  "0", "1", ...  real GPUs; in libmyxtts_cuda.so, loaded at run time
 * Memory handed out by a device may be touched only by commands on its streams (host: by anyone).
 * Work is ordered within a stream; streams are ordered by events alone. Nothing here synchronises a whole
 * device.
 * Errors of enqueued work come back from the next event_wait or stream_wait_idle on that device, and stick:
 * commands after it are skipped, but events still happen, so nobody hangs. A sim stream that waits for an
 * event of a failed device fails with it.
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

#ifdef __cplusplus
extern "C" {
#endif

/* What every stream and event begins with, whatever the implementation. */
struct Stream {
    Device *device;
};
struct Event {
    Device *device;
};

/* For the implementations and for tests; everyone else asks for traits. */
typedef enum { DEVICE_HOST, DEVICE_SIM, DEVICE_CUDA } DeviceKind;

/* What a kind of device is like: a row of the table in device.c. Nobody else has to know the kind. What two
 * devices can do together is peer_path's to say. */
typedef struct DeviceTraits {
    int host_memory;     /* its memory is the host's: any thread may touch it, nothing has to be copied */
    int inline_streams;  /* a stream runs its commands at once, in the thread that enqueues them */
    int simulated;       /* times are those of --sim; a step needs no network */
    int library_kernels; /* its kernels are those of libmyxtts_cuda.so, and `run` is NULL */
    int graphs;          /* work on a stream can be captured and run again as a graph */
    int bf16;            /* mixed_precision has an effect */
    int tunes_shapes;    /* the first steps of a shape are slower than the rest: kernels are being chosen */
    int nvml;            /* the driver's monitor sees it, under its index */
} DeviceTraits;

typedef struct DeviceMemory {
    uint64_t cap;   /* bytes this process may take; 0 = all there is */
    uint64_t used;  /* bytes taken now */
    uint64_t total; /* bytes of the device; 0 = unknown */
} DeviceMemory;

/* How two devices can exchange memory. */
typedef enum { PEER_SAME, PEER_DIRECT, PEER_STAGED } PeerPath;

/* The function table. `impl` is the implementation's own. Functions that can fail return 0 or a negative
 * code. */
typedef struct DeviceOps {
    DeviceKind kind;
    void (*close)(Device *d);
    /* 256-byte aligned. device_alloc enforces the cap. */
    int (*memory_alloc)(Device *d, void **p, size_t bytes, Err *err);
    void (*memory_free)(Device *d, void *p);
    /* Host memory that copies of this device reach directly. */
    int (*pinned_alloc)(Device *d, void **p, size_t bytes, Err *err);
    void (*pinned_free)(Device *d, void *p);
    int (*stream_open)(Device *d, Stream **s, const char *name, Err *err);
    /* Finishes its work first; a simulated stream no longer takes its time over it. */
    void (*stream_close)(Stream *s);
    int (*stream_wait_idle)(Stream *s, Err *err);
    /* The batch that following commands belong to (its simulated times, stalls and failures); -1, as at
     * first: none. Only sim looks at it. */
    void (*stream_batch)(Stream *s, int64_t batch);
    int (*event_open)(Device *d, Event **e, int timed, Err *err);
    void (*event_close)(Event *e);
    /* The event happens when the stream gets here. May be recorded again, on the same stream or once it has
     * happened; whoever waits, waits for the last record made before the call that waits. */
    int (*event_record)(Event *e, Stream *s, Err *err);
    int (*event_happened)(Event *e); /* 1, 0, or a negative code; an event never recorded has happened */
    int (*event_wait)(Event *e, Err *err);       /* blocks the calling thread */
    double (*event_seconds)(Event *a, Event *b); /* from a to b, both timed and happened */
    /* The stream waits, not the caller. e may belong to another device of the same kind; for any event see
     * device_stream_wait. */
    int (*stream_wait_event)(Stream *s, Event *e, Err *err);
    int (*copy_in)(Stream *s, void *dst, const void *src, size_t bytes, Err *err);  /* host -> device */
    int (*copy_out)(Stream *s, void *dst, const void *src, size_t bytes, Err *err); /* device -> host */
    /* s: of the source device; both of one kind. device_copy goes between any two. */
    int (*copy_peer)(Stream *s, void *dst, Device *dst_device, const void *src, size_t bytes, Err *err);
    int (*fill_zero)(Stream *s, void *dst, size_t bytes, Err *err);
    PeerPath (*peer_path)(Device *d, Device *other);
    /* Host and sim: runs fn(arg) as a kernel of the stream. arg is copied (at most DEVICE_ARG_BYTES). cuda:
     * NULL; its kernels are launched by the .cu files that know them, on stream_native(s). sim_stage: the
     * StageId whose simulated time applies, or STAGE_NONE. */
    int (*run)(Stream *s, void (*fn)(void *arg), const void *arg, size_t arg_bytes, int sim_stage, Err *err);
    void *(*stream_native)(Stream *s); /* cuda: the cudaStream_t; others NULL */
    void (*memory_info)(Device *d, DeviceMemory *m);
} DeviceOps;

#define DEVICE_ARG_BYTES 256

struct Device {
    const DeviceOps *ops;
    DeviceTraits traits; /* of its kind; device_open fills them in */
    char name[16];       /* as the user writes it: cpu, sim0, 0 */
    char model[96];      /* "NVIDIA H200", "CPU with 16 cores", "simulated GPU" */
    int index;           /* number within its kind */
    uint64_t cap;        /* bytes; 0 = none */
    uint64_t used;       /* bytes taken through device_alloc; atomic */
    struct Sim *sim;     /* sim only: the machine it belongs to; never NULL there */
    void *impl;
};

typedef struct DeviceOptions {
    uint64_t memory_cap; /* bytes; 0 = none */
    struct Sim *sim;     /* of simN; must outlive the device. NULL: a machine that takes no time */
    Log *log;            /* may be NULL */
} DeviceOptions;

/* name: cpu, simN, N, or auto (the first GPU, else cpu, and a line on the log says which and why). ERR_DEVICE
 * with what is missing: no driver, no such GPU, a GPU too old (below sm_80), no libmyxtts_cuda.so. *d is NULL
 * after a failure. */
int device_open(Device **d, const char *name, const DeviceOptions *options, Err *err);
void device_close(Device *d); /* NULL is fine; all its streams, events and memory must be closed before */
/* Within the cap, or ERR_DEVICE that names the device, the cap, what is in use and what was asked for. */
int device_alloc(Device *d, void **p, size_t bytes, Err *err);
void device_free(Device *d, void *p, size_t bytes);
int device_same(const Device *a, const Device *b); /* one physical device */

/* Makes the stream wait for an event of any device. Between kinds of devices the calling thread waits. */
int device_stream_wait(Stream *s, Event *e, Err *err);
/* Between any two devices. s: a stream of one of them: of the source when both are of one kind, else of the
 * one whose memory is not the host's. */
int device_copy(Stream *s, void *dst, Device *to, const void *src, Device *from, size_t bytes, Err *err);

/* The implementations, for device_open. */
int device_host_open(Device **d, const DeviceOptions *options, Err *err);
int device_sim_open(Device **d, int index, const DeviceOptions *options, Err *err);

/* What libmyxtts_cuda.so exports. Raise the number whenever a structure of this header or one of these
 * functions changes. The library sets Device.name to the index ("0"), and itself says what is wrong: no
 * driver, no such GPU, a GPU below sm_80. */
#define DEVICE_CUDA_ABI (4 << 16 | (int)(sizeof(DeviceOps) + sizeof(Device)))
int myxtts_cuda_abi(void);
int myxtts_cuda_device_open(Device **d, int index, const DeviceOptions *options, Err *err);

#ifdef __cplusplus
}
#endif

#endif
