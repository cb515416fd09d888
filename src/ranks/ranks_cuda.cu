/* ranks_cuda.cu - see ranks_cuda.h. The arithmetic is that of the host (rank_numbers.c, base/bf16.h), so that
 * sums over GPUs have the bits of sums over CPUs. */
#include <cuda_runtime.h>

#include "device/cuda_error.h"
#include "ranks/ranks_cuda.h"

enum { THREADS = 256, MOST_BLOCKS = 2048 };

__device__ static float widened(uint16_t half) { return __uint_as_float((unsigned)half << 16); }

__device__ static uint16_t rounded(float x)
{
    unsigned bits = __float_as_uint(x);
    if ((bits & 0x7FFFFFFF) > 0x7F800000)
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

__global__ static void add_kernel(float *sum, const void *parts, int count, int64_t stride, int64_t n,
                                  int narrow)
{
    const float *wide = (const float *)parts;
    const uint16_t *half = (const uint16_t *)parts;
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n;
         i += gridDim.x * (int64_t)blockDim.x) {
        float acc = narrow ? widened(half[i]) : wide[i];
        for (int k = 1; k < count; k++)
            acc += narrow ? widened(half[k * stride + i]) : wide[k * stride + i];
        sum[i] = acc;
    }
}

__global__ static void round_kernel(uint16_t *to, const float *from, int64_t n)
{
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n;
         i += gridDim.x * (int64_t)blockDim.x)
        to[i] = rounded(from[i]);
}

__global__ static void widen_kernel(float *to, const uint16_t *from, int64_t n)
{
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n;
         i += gridDim.x * (int64_t)blockDim.x)
        to[i] = widened(from[i]);
}

static unsigned blocks_for(int64_t n)
{
    int64_t blocks = (n + THREADS - 1) / THREADS;
    return (unsigned)(blocks < MOST_BLOCKS ? blocks : MOST_BLOCKS);
}

static cudaStream_t native(Stream *s) { return (cudaStream_t)s->device->ops->stream_native(s); }

static int launched(Stream *s, const char *operation, Err *err)
{
    cudaError_t e = cudaGetLastError();
    return e == cudaSuccess ? 0 : cuda_err_call(err, s->device->index, operation, e);
}

static int cuda_select(Device *d, Err *err)
{
    cudaError_t e = cudaSetDevice(d->index);
    return e == cudaSuccess ? 0 : cuda_err_call(err, d->index, "select the GPU", e);
}

static int cuda_add(Stream *s, float *sum, const void *parts, int count, int64_t stride, int64_t n,
                    int narrow, Err *err)
{
    if (n > 0)
        add_kernel<<<blocks_for(n), THREADS, 0, native(s)>>>(sum, parts, count, stride, n, narrow);
    return launched(s, "add the numbers of all ranks", err);
}

static int cuda_round(Stream *s, uint16_t *to, const float *from, int64_t n, Err *err)
{
    if (n > 0)
        round_kernel<<<blocks_for(n), THREADS, 0, native(s)>>>(to, from, n);
    return launched(s, "round numbers to bf16", err);
}

static int cuda_widen(Stream *s, float *to, const uint16_t *from, int64_t n, Err *err)
{
    if (n > 0)
        widen_kernel<<<blocks_for(n), THREADS, 0, native(s)>>>(to, from, n);
    return launched(s, "widen numbers from bf16", err);
}

static const RanksCudaOps ops = {cuda_select, cuda_add, cuda_round, cuda_widen};
extern "C" const RanksCudaOps *myxtts_cuda_ranks(void) { return &ops; }
