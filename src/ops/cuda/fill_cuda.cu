/* fill_cuda.cu - memory set to one value, or to the time. */
#include "ops/cuda/ops_cuda.h"

#define THREADS 256

static __global__ void fill_int_kernel(int32_t *out, int32_t value, int n)
{
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < n)
        out[i] = value;
}

static void fill_zero(OpsContext *c, void *p, size_t bytes)
{
    CudaOps *o = ops_enter(c);
    cudaError_t e = cudaMemsetAsync(p, 0, bytes, o->stream);
    if (e != cudaSuccess && o->broken == cudaSuccess) {
        o->broken = e;
        o->operation = "fill with zeros";
    }
}

static void fill_int(OpsContext *c, int32_t *out, int32_t value, int n)
{
    LAUNCH(ops_enter(c), "fill", (unsigned)divide_up(n, THREADS), THREADS, 0, fill_int_kernel, out, value, n);
}

static __global__ void stamp_kernel(uint64_t *at)
{
    uint64_t now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    *at = now;
}

static void stamp(OpsContext *c, uint64_t *at)
{
    LAUNCH(ops_enter(c), "read the clock", 1, 1, 0, stamp_kernel, at);
}

void fill_fill(Ops *ops)
{
    ops->fill_zero = fill_zero;
    ops->fill_int = fill_int;
    ops->stamp = stamp;
}
