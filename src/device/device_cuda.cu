/* device_cuda.cu - the function table of device.h on CUDA. Part of libmyxtts_cuda.so, which the program loads
 * at run time; it is linked with the static CUDA runtime and needs nothing but the driver. GPUs of compute
 * capability 8.0 and above. */
#include <mutex>
#include <new>
#include <stdlib.h>
#include <string.h>

#include "device/cuda_error.h"
#include "device/cuda_graph.h"
#include "device/device.h"

#define MAX_GPUS 64
#define BOUNCE_BYTES (size_t(2) << 20) /* of one half: large enough to run PCIe at its full speed */

enum { PEER_UNKNOWN, PEER_YES, PEER_NO };

typedef struct CudaDevice {
    Device device;
    int index;
    int force_staged;   /* MYXTTS_CUDA_PEER=staged: for tests, and for machines whose direct path is broken */
    uint64_t total;     /* bytes of memory */
    int peer[MAX_GPUS]; /* PEER_*: whether this one reaches that one; atomic */

    /* Copies from a GPU that does not reach this one go through pinned memory: while one half is filled by
     * the source, the other is drained by this GPU. The mutexes are held while a copy is enqueued, leave
     * before arrive; the events keep the order on the GPUs. */
    std::mutex leave, arrive;
    cudaEvent_t filled[2]; /* of copies that leave this GPU; under leave */
    uint8_t *bounce; /* [2][BOUNCE_BYTES]; NULL when every other GPU reaches this one. It and the rest: under
                        arrive */
    cudaEvent_t drained[2]; /* of copies that arrive here */
    cudaStream_t import;

    std::mutex mutex;   /* of the two below */
    cudaError_t broken; /* the first error of enqueued work; it sticks */
    char operation[64]; /* during which it was noticed */
} CudaDevice;

typedef struct CudaStream {
    Stream base;
    CudaDevice *d;
    cudaStream_t stream;
    int is_foreign; /* another library's */
    char name[32];
} CudaStream;

typedef struct CudaEvent {
    Event base;
    CudaDevice *d;
    cudaEvent_t event;
} CudaEvent;

static CudaDevice *of(Device *d) { return (CudaDevice *)d->impl; }
static CudaStream *of(Stream *s) { return (CudaStream *)s; }
static CudaEvent *of(Event *e) { return (CudaEvent *)e; }

/* The calling thread's current GPU. The runtime keeps it per thread and does nothing when it
 * is set already. */
static cudaError_t enter(const CudaDevice *d) { return cudaSetDevice(d->index); }

/* The failure of enqueued work that was noticed first, if there was one. */
static int report_broken(CudaDevice *d, Err *err)
{
    std::lock_guard<std::mutex> lock(d->mutex);
    return d->broken == cudaSuccess ? 0 : cuda_err_call(err, d->index, d->operation, d->broken);
}

/* For work on streams: remembers the first failure. */
static int check(CudaDevice *d, cudaError_t e, const char *operation, Err *err)
{
    if (e == cudaSuccess)
        return 0;
    cudaGetLastError(); /* an error that does not break the context would be seen again by the next call */
    std::lock_guard<std::mutex> lock(d->mutex);
    if (d->broken == cudaSuccess) {
        d->broken = e;
        snprintf(d->operation, sizeof d->operation, "%s", operation);
    }
    return cuda_err_call(err, d->index, operation, e);
}

#define TRY(d, call, operation, err) \
    do { \
        int rc_ = check(d, call, operation, err); \
        if (rc_) \
            return rc_; \
    } while (0)

/* ---- memory ---- */

/* A GPU that is full is worth a sentence with numbers; anything else is the runtime's own. */
static int cuda_memory_alloc(Device *dev, void **p, size_t bytes, Err *err)
{
    CudaDevice *d = of(dev);
    *p = NULL;
    cudaError_t e = enter(d);
    if (e == cudaSuccess)
        e = cudaMalloc(p, bytes ? bytes : 1); /* aligned to 256 bytes at the least */
    if (e == cudaSuccess)
        return 0;
    cudaGetLastError();
    size_t free_bytes = 0, total = 0;
    if (e == cudaErrorMemoryAllocation && cudaMemGetInfo(&free_bytes, &total) == cudaSuccess)
        return cuda_err(err, ERR_DEVICE, "GPU %d (%s): no memory for %.1f MB; %.1f of %.1f MB are free",
                        d->index, d->device.model, (double)bytes / 1e6, (double)free_bytes / 1e6,
                        (double)total / 1e6);
    return cuda_err_call(err, d->index, "allocate memory", e);
}

static void cuda_memory_free(Device *dev, void *p)
{
    if (p && enter(of(dev)) == cudaSuccess)
        cudaFree(p);
}

/* Portable: the other GPU may copy from it too. */
static int cuda_pinned_alloc(Device *dev, void **p, size_t bytes, Err *err)
{
    CudaDevice *d = of(dev);
    *p = NULL;
    cudaError_t e = enter(d);
    if (e == cudaSuccess)
        e = cudaHostAlloc(p, bytes ? bytes : 1, cudaHostAllocPortable);
    if (e == cudaSuccess)
        return 0;
    cudaGetLastError();
    return cuda_err(err, ERR_NOMEM, "GPU %d: no page-locked host memory of %.1f MB: %s", d->index,
                    (double)bytes / 1e6, cudaGetErrorString(e));
}

static void cuda_pinned_free(Device *dev, void *p)
{
    if (p && enter(of(dev)) == cudaSuccess)
        cudaFreeHost(p);
}

static void cuda_memory_info(Device *dev, DeviceMemory *m)
{
    m->cap = dev->cap;
    m->used = __atomic_load_n(&dev->used, __ATOMIC_RELAXED);
    m->total = of(dev)->total;
}

/* ---- streams and events ---- */

/* Non-blocking: a stream must not wait for the default stream, which libraries use. */
static int cuda_stream_open(Device *dev, Stream **out, const char *name, Err *err)
{
    CudaDevice *d = of(dev);
    *out = NULL;
    CudaStream *s = (CudaStream *)calloc(1, sizeof *s);
    if (!s)
        return cuda_err(err, ERR_NOMEM, "no memory for a stream");
    s->base.device = dev;
    s->d = d;
    snprintf(s->name, sizeof s->name, "%s", name && *name ? name : "wait for a stream");
    cudaError_t e = enter(d);
    if (e == cudaSuccess)
        e = cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking);
    if (e != cudaSuccess) {
        free(s);
        cudaGetLastError();
        return cuda_err_call(err, d->index, "open a stream", e);
    }
    *out = &s->base;
    return 0;
}

static int cuda_stream_wrap(Device *dev, Stream **out, void *native, Err *err)
{
    *out = NULL;
    CudaStream *s = (CudaStream *)calloc(1, sizeof *s);
    if (!s)
        return cuda_err(err, ERR_NOMEM, "no memory for a stream");
    s->base.device = dev;
    s->d = of(dev);
    s->stream = (cudaStream_t)native;
    s->is_foreign = 1;
    snprintf(s->name, sizeof s->name, "wait for the consumer");
    *out = &s->base;
    return 0;
}

static int cuda_stream_wait_idle(Stream *stream, Err *err)
{
    CudaStream *s = of(stream);
    TRY(s->d, enter(s->d), "select the GPU", err);
    TRY(s->d, cudaStreamSynchronize(s->stream), s->name, err);
    return report_broken(s->d, err);
}

static void cuda_stream_close(Stream *stream)
{
    if (!stream)
        return;
    if (!of(stream)->is_foreign) {
        cuda_stream_wait_idle(stream, NULL);
        cudaStreamDestroy(of(stream)->stream);
    }
    free(stream);
}

/* Real work takes the time it takes. */
static void cuda_stream_batch(Stream *s, int64_t batch, uint64_t bytes)
{
    (void)s;
    (void)batch;
    (void)bytes;
}

/* Blocking: a thread that waits sleeps, because others need the core. */
static int cuda_event_open(Device *dev, Event **out, int timed, Err *err)
{
    CudaDevice *d = of(dev);
    *out = NULL;
    CudaEvent *v = (CudaEvent *)calloc(1, sizeof *v);
    if (!v)
        return cuda_err(err, ERR_NOMEM, "no memory for an event");
    v->base.device = dev;
    v->d = d;
    cudaError_t e = enter(d);
    if (e == cudaSuccess)
        e = cudaEventCreateWithFlags(&v->event, cudaEventBlockingSync | (timed ? 0 : cudaEventDisableTiming));
    if (e != cudaSuccess) {
        free(v);
        cudaGetLastError();
        return cuda_err_call(err, d->index, "open an event", e);
    }
    *out = &v->base;
    return 0;
}

static void cuda_event_close(Event *event)
{
    if (!event)
        return;
    if (enter(of(event)->d) == cudaSuccess)
        cudaEventDestroy(of(event)->event);
    free(event);
}

static int cuda_event_record(Event *event, Stream *stream, Err *err)
{
    CudaStream *s = of(stream);
    TRY(s->d, enter(s->d), "select the GPU", err);
    TRY(s->d, cudaEventRecord(of(event)->event, s->stream), "record an event", err);
    return 0;
}

/* "Not ready" is an answer and no error. */
static int cuda_event_happened(Event *event)
{
    CudaEvent *v = of(event);
    cudaError_t e = cudaEventQuery(v->event);
    if (e == cudaErrorNotReady) {
        cudaGetLastError();
        return 0;
    }
    int rc = check(v->d, e, "look at an event", NULL);
    return rc ? rc : 1;
}

static int cuda_event_wait(Event *event, Err *err)
{
    CudaEvent *v = of(event);
    TRY(v->d, enter(v->d), "select the GPU", err);
    TRY(v->d, cudaEventSynchronize(v->event), "work that was waited for", err);
    return report_broken(v->d, err);
}

/* 0 when an event was never recorded: nothing has been measured. */
static double cuda_event_seconds(Event *a, Event *b)
{
    float ms = 0.0f;
    if (enter(of(a)->d) != cudaSuccess ||
        cudaEventElapsedTime(&ms, of(a)->event, of(b)->event) != cudaSuccess) {
        cudaGetLastError();
        return 0.0;
    }
    return (double)ms * 1e-3;
}

/* An event of the host or of a simulated GPU cannot be waited for by a GPU: then the caller waits, as the
 * host's streams do. */
static int cuda_stream_wait_event(Stream *stream, Event *event, Err *err)
{
    CudaStream *s = of(stream);
    if (event->device->ops->kind != DEVICE_CUDA)
        return event->device->ops->event_wait(event, err);
    TRY(s->d, enter(s->d), "select the GPU", err);
    TRY(s->d, cudaStreamWaitEvent(s->stream, of(event)->event, 0), "make a stream wait", err);
    return 0;
}

static void *cuda_stream_native(Stream *s) { return (void *)of(s)->stream; }

/* ---- copies ---- */

/* From pinned memory this returns at once; from any other the runtime copies first. */
static int cuda_copy_in(Stream *stream, void *dst, const void *src, size_t bytes, Err *err)
{
    CudaStream *s = of(stream);
    TRY(s->d, enter(s->d), "select the GPU", err);
    TRY(s->d, cudaMemcpyAsync(dst, src, bytes, cudaMemcpyHostToDevice, s->stream), "copy to the device", err);
    return 0;
}

static int cuda_copy_out(Stream *stream, void *dst, const void *src, size_t bytes, Err *err)
{
    CudaStream *s = of(stream);
    TRY(s->d, enter(s->d), "select the GPU", err);
    TRY(s->d, cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDeviceToHost, s->stream), "copy from the device",
        err);
    return 0;
}

static int cuda_fill_zero(Stream *stream, void *dst, size_t bytes, Err *err)
{
    CudaStream *s = of(stream);
    TRY(s->d, enter(s->d), "select the GPU", err);
    TRY(s->d, cudaMemsetAsync(dst, 0, bytes, s->stream), "fill with zeros", err);
    return 0;
}

/* Whether d reaches the memory of GPU `other`; opens the way on the first call. */
static int reaches(CudaDevice *d, int other)
{
    if (other < 0 || other >= MAX_GPUS)
        return 0;
    int known = __atomic_load_n(&d->peer[other], __ATOMIC_ACQUIRE), can = 0;
    if (known != PEER_UNKNOWN)
        return known == PEER_YES;
    /* Asked once for each pair: opening the way takes milliseconds. */
    if (cudaDeviceCanAccessPeer(&can, d->index, other) != cudaSuccess)
        can = 0;
    if (can && enter(d) == cudaSuccess) {
        cudaError_t e = cudaDeviceEnablePeerAccess(other, 0);
        can = e == cudaSuccess || e == cudaErrorPeerAccessAlreadyEnabled;
    }
    cudaGetLastError();
    __atomic_store_n(&d->peer[other], can ? PEER_YES : PEER_NO, __ATOMIC_RELEASE);
    return can;
}

/* How a copy to the other device goes. */
static PeerPath cuda_peer_path(Device *dev, Device *other)
{
    CudaDevice *d = of(dev);
    if (other->ops->kind != DEVICE_CUDA || d->force_staged)
        return PEER_STAGED;
    if (d->index == of(other)->index)
        return PEER_SAME;
    return reaches(d, of(other)->index) ? PEER_DIRECT : PEER_STAGED;
}

/* Neither the caller nor a GPU waits for longer than the other half takes. */
static int copy_staged(CudaStream *s, uint8_t *dst, CudaDevice *to, const uint8_t *src, size_t bytes,
                       Err *err)
{
    static const char *const operation = "copy between GPUs through the host";
    CudaDevice *d = s->d;
    if (!to->bounce)
        return cuda_err(err, ERR_DEVICE,
                        "GPU %d does not reach GPU %d, and there is no memory to go through the host",
                        d->index, to->index);
    std::lock_guard<std::mutex> leave(d->leave), arrive(to->arrive);
    /* One half is filled while the other is drained. */
    int half = 0;
    for (size_t at = 0; at < bytes; at += BOUNCE_BYTES, half ^= 1) {
        size_t n = bytes - at < BOUNCE_BYTES ? bytes - at : BOUNCE_BYTES;
        uint8_t *bounce = to->bounce + (size_t)half * BOUNCE_BYTES;
        TRY(d, enter(d), operation, err);
        TRY(d, cudaStreamWaitEvent(s->stream, to->drained[half], 0), operation, err);
        TRY(d, cudaMemcpyAsync(bounce, src + at, n, cudaMemcpyDeviceToHost, s->stream), operation, err);
        TRY(d, cudaEventRecord(d->filled[half], s->stream), operation, err);
        TRY(to, enter(to), operation, err);
        TRY(to, cudaStreamWaitEvent(to->import, d->filled[half], 0), operation, err);
        TRY(to, cudaMemcpyAsync(dst + at, bounce, n, cudaMemcpyHostToDevice, to->import), operation, err);
        TRY(to, cudaEventRecord(to->drained[half], to->import), operation, err);
    }
    TRY(d, enter(d), operation, err);
    TRY(d, cudaStreamWaitEvent(s->stream, to->drained[half ^ 1], 0), operation,
        err); /* the last chunk's: then all have arrived */
    return 0;
}

/* Within one GPU, directly, or through the host. */
static int cuda_copy_peer(Stream *stream, void *dst, Device *dst_device, const void *src, size_t bytes,
                          Err *err)
{
    CudaStream *s = of(stream);
    if (bytes == 0)
        return 0;
    if (dst_device->ops->kind != DEVICE_CUDA)
        return cuda_err(err, ERR_DEVICE, "GPU %d: a copy to device %s has to be a copy to host memory",
                        s->d->index, dst_device->name);
    CudaDevice *to = of(dst_device);
    PeerPath path = cuda_peer_path(&s->d->device, dst_device);
    if (path == PEER_STAGED)
        return copy_staged(s, (uint8_t *)dst, to, (const uint8_t *)src, bytes, err);
    TRY(s->d, enter(s->d), "select the GPU", err);
    if (path == PEER_SAME)
        TRY(s->d, cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDeviceToDevice, s->stream),
            "copy within the device", err);
    else
        TRY(s->d, cudaMemcpyPeerAsync(dst, to->index, src, s->d->index, bytes, s->stream),
            "copy between GPUs", err);
    return 0;
}

/* ---- opening ---- */

/* Streams and events that only staged copies use; a GPU that is lost cannot be cleaned up. */
static void cuda_close(Device *dev)
{
    CudaDevice *d = of(dev);
    if (enter(d) == cudaSuccess) {
        if (d->import) {
            cudaStreamSynchronize(d->import);
            cudaStreamDestroy(d->import);
        }
        for (int half = 0; half < 2; half++) {
            if (d->filled[half])
                cudaEventDestroy(d->filled[half]);
            if (d->drained[half])
                cudaEventDestroy(d->drained[half]);
        }
        if (d->bounce)
            cudaFreeHost(d->bounce);
        cudaGetLastError();
    }
    delete d;
}

static DeviceOps make_ops(void)
{
    DeviceOps o = {};
    o.kind = DEVICE_CUDA;
    o.close = cuda_close;
    o.memory_alloc = cuda_memory_alloc;
    o.memory_free = cuda_memory_free;
    o.pinned_alloc = cuda_pinned_alloc;
    o.pinned_free = cuda_pinned_free;
    o.stream_open = cuda_stream_open;
    o.stream_wrap = cuda_stream_wrap;
    o.stream_close = cuda_stream_close;
    o.stream_wait_idle = cuda_stream_wait_idle;
    o.stream_batch = cuda_stream_batch;
    o.event_open = cuda_event_open;
    o.event_close = cuda_event_close;
    o.event_record = cuda_event_record;
    o.event_happened = cuda_event_happened;
    o.event_wait = cuda_event_wait;
    o.event_seconds = cuda_event_seconds;
    o.stream_wait_event = cuda_stream_wait_event;
    o.copy_in = cuda_copy_in;
    o.copy_out = cuda_copy_out;
    o.copy_peer = cuda_copy_peer;
    o.fill_zero = cuda_fill_zero;
    o.peer_path = cuda_peer_path;
    o.stream_native = cuda_stream_native;
    o.memory_info = cuda_memory_info;
    return o;
}
static const DeviceOps cuda_ops = make_ops();

static void hint(Err *err, const char *text)
{
    if (err)
        snprintf(err->hint, sizeof err->hint, "%s", text);
}

/* How many GPUs there are, or a sentence about why there is none. */
static int count_gpus(int *count, Err *err)
{
    *count = 0;
    cudaError_t e = cudaGetDeviceCount(count);
    if (e == cudaSuccess && *count > 0)
        return 0;
    cudaGetLastError();
    int driver = 0, runtime = 0, rc;
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    if (e == cudaSuccess || e == cudaErrorNoDevice)
        rc = cuda_err(err, ERR_DEVICE, "no GPU can be used: the NVIDIA driver is there, but it shows no GPU");
    else if (driver == 0)
        rc = cuda_err(err, ERR_DEVICE, "no GPU can be used: there is no NVIDIA driver on this machine");
    else if (e == cudaErrorInsufficientDriver)
        rc = cuda_err(
            err, ERR_DEVICE,
            "no GPU can be used: the NVIDIA driver is for CUDA %d.%d, this program was built with CUDA %d.%d",
            driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
    else
        rc = cuda_err(err, ERR_DEVICE, "no GPU can be used: %s (%s)", cudaGetErrorString(e),
                      cudaGetErrorName(e));
    hint(err, driver == 0 ? "install the driver, or use the device cpu"
              : e == cudaErrorInsufficientDriver
                  ? "install a newer driver, or use the device cpu"
                  : "see what nvidia-smi says and CUDA_VISIBLE_DEVICES holds, or use the device cpu");
    return rc;
}

/* Whether some other GPU cannot write here directly. */
static int needs_bounce(const CudaDevice *d, int count)
{
    for (int other = 0; other < count && !d->force_staged; other++) {
        int can = 0;
        if (other != d->index && (cudaDeviceCanAccessPeer(&can, other, d->index) != cudaSuccess || !can))
            return 1;
    }
    return d->force_staged;
}

static cudaError_t open_exchange(CudaDevice *d, int count)
{
    cudaError_t e = cudaSuccess;
    for (int half = 0; half < 2 && e == cudaSuccess; half++)
        e = cudaEventCreateWithFlags(&d->filled[half], cudaEventDisableTiming);
    if (e != cudaSuccess || !needs_bounce(d, count))
        return e;
    for (int half = 0; half < 2 && e == cudaSuccess; half++)
        e = cudaEventCreateWithFlags(&d->drained[half], cudaEventDisableTiming);
    if (e == cudaSuccess)
        e = cudaStreamCreateWithFlags(&d->import, cudaStreamNonBlocking);
    if (e == cudaSuccess)
        e = cudaHostAlloc((void **)&d->bounce, 2 * BOUNCE_BYTES, cudaHostAllocPortable);
    return e;
}

extern "C" int myxtts_cuda_abi(void) { return DEVICE_CUDA_ABI; }

extern "C" int myxtts_cuda_device_open(Device **out, int index, const DeviceOptions *options, Err *err)
{
    *out = NULL;
    int count = 0, rc = count_gpus(&count, err);
    if (rc)
        return rc;
    if (index < 0 || index >= count || index >= MAX_GPUS)
        return cuda_err(err, ERR_DEVICE,
                        count == 1 ? "there is no GPU %d: this machine shows %d GPU, number 0"
                                   : "there is no GPU %d: this machine shows %d GPUs, numbered from 0",
                        index, count);
    cudaDeviceProp properties;
    cudaError_t e = cudaGetDeviceProperties(&properties, index);
    if (e != cudaSuccess)
        return cuda_err_call(err, index, "ask for its properties", e);
    if (properties.major < 8) {
        rc = cuda_err(err, ERR_DEVICE, "GPU %d (%s) has compute capability %d.%d; 8.0 or above is needed",
                      index, properties.name, properties.major, properties.minor);
        hint(err, "GPUs since 2020 (A100, RTX 30) have it; use another one, or the device cpu");
        return rc;
    }
    CudaDevice *d = new (std::nothrow) CudaDevice();
    if (!d)
        return cuda_err(err, ERR_NOMEM, "no memory for a device");
    const char *peer = getenv("MYXTTS_CUDA_PEER");
    d->index = index;
    d->force_staged = peer && !strcmp(peer, "staged");
    d->total = properties.totalGlobalMem;
    d->device.ops = &cuda_ops;
    d->device.index = index;
    d->device.cap = options ? options->memory_cap : 0;
    d->device.impl = d;
    snprintf(d->device.name, sizeof d->device.name, "%d", index);
    snprintf(d->device.model, sizeof d->device.model, "%.95s", properties.name);
    /* A thread that waits for the GPU sleeps: the cores belong to the workers of the loader. */
    e = cudaInitDevice(index, cudaDeviceScheduleBlockingSync, cudaInitDeviceFlagsAreValid);
    if (e == cudaSuccess)
        e = enter(d);
    if (e == cudaSuccess)
        e = open_exchange(d, count);
    if (e != cudaSuccess) {
        cudaGetLastError();
        rc = cuda_err_call(err, index, "open", e);
        cuda_close(&d->device);
        return rc;
    }
    *out = &d->device;
    return 0;
}

/* ---- graphs ---- */

static int graph_begin(Stream *stream, Err *err)
{
    CudaStream *s = of(stream);
    TRY(s->d, enter(s->d), "select the GPU", err);
    TRY(s->d, cudaStreamBeginCapture(s->stream, cudaStreamCaptureModeThreadLocal), "begin to capture a graph",
        err);
    return 0;
}

/* A failed capture has run nothing, so it does not break the device. */
static int graph_end(Stream *stream, void **out, Err *err)
{
    CudaStream *s = of(stream);
    *out = NULL;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    const char *operation = "end the capture of a graph";
    cudaError_t e = enter(s->d);
    if (e == cudaSuccess)
        e = cudaStreamEndCapture(s->stream, &graph);
    if (e == cudaSuccess) {
        operation = "make a captured graph ready to run";
        e = cudaGraphInstantiate(&exec, graph, 0);
    }
    if (graph)
        cudaGraphDestroy(graph);
    if (e != cudaSuccess) {
        cudaGetLastError();
        return cuda_err_call(err, s->d->index, operation, e);
    }
    *out = exec;
    return 0;
}

static int graph_launch(void *graph, Stream *stream, Err *err)
{
    CudaStream *s = of(stream);
    TRY(s->d, enter(s->d), "select the GPU", err);
    TRY(s->d, cudaGraphLaunch((cudaGraphExec_t)graph, s->stream), "launch a graph", err);
    return 0;
}

static void graph_destroy(void *graph)
{
    if (graph)
        cudaGraphExecDestroy((cudaGraphExec_t)graph);
}

static const CudaGraphOps graph_ops = {graph_begin, graph_end, graph_launch, graph_destroy};
extern "C" const CudaGraphOps *myxtts_cuda_graph_ops(void) { return &graph_ops; }
