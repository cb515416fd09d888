/* spin_cuda.cu - a kernel that takes a set time: the step of `myxtts bench pipeline` on a GPU.
 * One thread watches the GPU's nanosecond clock, so that copies and other kernels run beside it as they would
 * beside a real step. */
#include <cuda_runtime.h>

#include "device/cuda_error.h"
#include "device/device.h"

__global__ static void spin_kernel(unsigned long long nanoseconds)
{
    unsigned long long start, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    do {
        __nanosleep(1000);
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    } while (now - start < nanoseconds);
}

extern "C" int myxtts_cuda_spin(Stream *s, double seconds, Err *err)
{
    cudaStream_t stream = (cudaStream_t)s->device->ops->stream_native(s);
    spin_kernel<<<1, 1, 0, stream>>>((unsigned long long)(seconds * 1e9));
    cudaError_t e = cudaGetLastError();
    return e == cudaSuccess ? 0
                            : cuda_err_call(err, s->device->index, "launching the step of the benchmark", e);
}
