/* cuda_graph.h - capture of a stream's work as a CUDA graph, so that a training step of many small kernels is
 * one launch. The table is found in libmyxtts_cuda.so under the name CUDA_GRAPH_SYMBOL; other devices have
 * none. Between begin and end nothing runs: what is enqueued on the stream (and on streams that wait for its
 * events) is only written down. Only copies from pinned memory, no waiting and no allocation may happen in
 * between. Failure: 0 or ERR_DEVICE with CUDA's own words; a capture that failed leaves the stream usable.
 * Threads: as the stream's; a graph may be launched by one thread at a time. */
#ifndef MYXTTS_CUDA_GRAPH_H
#define MYXTTS_CUDA_GRAPH_H

#include "base/err.h"
#include "device/device.h"

#define CUDA_GRAPH_SYMBOL "myxtts_cuda_graph_ops"

typedef struct CudaGraphOps {
    int (*begin)(Stream *s, Err *err);
    int (*end)(Stream *s, void **graph, Err *err); /* the caller destroys *graph */
    int (*launch)(void *graph, Stream *s, Err *err);
    void (*destroy)(void *graph); /* NULL is fine; its launches must have ended */
} CudaGraphOps;

typedef const CudaGraphOps *(*CudaGraphGet)(void);

#endif
