/* cuda_graph.h - captures the work of a stream as a CUDA graph, so that a training step of many small kernels
 * is a single launch. libmyxtts_cuda.so exports the table as CUDA_GRAPH_SYMBOL; other devices have none.
 *
 * Between begin and end, commands on the stream (and on streams that wait for its events) are recorded, not
 * run. Meanwhile copies must be from pinned memory, and neither waiting nor allocation is allowed.
 *
 * Functions return 0, or ERR_DEVICE with CUDA's message; after a failed capture the stream is usable.
 * Threads: those of the stream; one thread at a time may launch a graph. */
#ifndef MYXTTS_CUDA_GRAPH_H
#define MYXTTS_CUDA_GRAPH_H

#include "base/err.h"
#include "device/device.h"

#define CUDA_GRAPH_SYMBOL "myxtts_cuda_graph_ops"

typedef struct CudaGraphOps {
    int (*begin)(Stream *s, Err *err);
    int (*end)(Stream *s, void **graph, Err *err); /* the caller destroys *graph */
    int (*launch)(void *graph, Stream *s, Err *err);
    void (*destroy)(void *graph); /* its launches must have ended; NULL is allowed */
} CudaGraphOps;

typedef const CudaGraphOps *(*CudaGraphGet)(void);

#endif
