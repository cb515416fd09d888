/* ranks_cuda.h - the kernels that sums over GPUs need beside NCCL. libmyxtts_cuda.so exports the table as
 * RANKS_CUDA_SYMBOL. They are enqueued and may be captured; 0 or ERR_DEVICE. Threads: those of the stream. */
#ifndef MYXTTS_RANKS_CUDA_H
#define MYXTTS_RANKS_CUDA_H

#include <stdint.h>

#include "base/err.h"
#include "device/device.h"

#define RANKS_CUDA_SYMBOL "myxtts_cuda_ranks"

typedef struct RanksCudaOps {
    int (*select)(Device *d, Err *err); /* makes its GPU the calling thread's, as NCCL wants it */
    /* sum [n]: parts [count][stride], of which n each, added one after the other; in bf16 if `narrow`. */
    int (*add)(Stream *s, float *sum, const void *parts, int count, int64_t stride, int64_t n, int narrow,
               Err *err);
    int (*round)(Stream *s, uint16_t *to, const float *from, int64_t n, Err *err); /* to bf16 */
    int (*widen)(Stream *s, float *to, const uint16_t *from, int64_t n, Err *err); /* from bf16 */
} RanksCudaOps;

typedef const RanksCudaOps *(*RanksCudaGet)(void);

#endif
