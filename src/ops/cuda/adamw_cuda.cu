/* adamw_cuda.cu - the optimiser over flat memory: one pass that reads gradient, moments and master weights,
 * and writes the working copy too. */
#include <math.h>

#include "ops/cuda/ops_cuda.h"
#include "ops/guard.h"

#define THREADS 256
#define NORM_BLOCKS 8 /* of a multiprocessor */

/* partial [blocks] doubles. */
static __global__ void __launch_bounds__(THREADS)
    norm2_kernel(double *partial, const float *grad, int64_t n, int64_t groups)
{
    __shared__ double sums[THREADS];
    double sum = 0.0;
    int64_t step = (int64_t)gridDim.x * THREADS, first = (int64_t)blockIdx.x * THREADS + threadIdx.x;
#pragma unroll 4
    for (int64_t i = first; i < groups; i += step) {
        float4 g = ((const float4 *)grad)[i];
        sum += (double)g.x * g.x + (double)g.y * g.y + ((double)g.z * g.z + (double)g.w * g.w);
    }
    for (int64_t i = groups * 4 + first; i < n; i += step)
        sum += (double)grad[i] * grad[i];
    sums[threadIdx.x] = sum;
    __syncthreads();
    /* A tree over the block: always the same order. */
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        partial[blockIdx.x] = sums[0];
}

/* The blocks' sums in their order. */
static __global__ void __launch_bounds__(THREADS)
    norm2_finish_kernel(float *norm2, int32_t *finite, const double *partial, int blocks)
{
    __shared__ double sums[THREADS];
    double sum = 0.0;
    for (int i = threadIdx.x; i < blocks; i += THREADS)
        sum += partial[i];
    sums[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    for (int i = 1; i < THREADS; i++)
        sum += sums[i];
    *norm2 = (float)sum;
    if (finite)
        *finite = isfinite((float)sum) ? 1 : 0; /* a gradient that is not finite makes the sum so */
}

static void norm2_of(OpsContext *c, void *norm2, int32_t *finite, const void *grad, int64_t n)
{
    CudaOps *o = ops_enter(c);
    int64_t groups = is_aligned(grad) ? n / 4 : 0;
    int blocks = fill_blocks(o, divide_up(n, THREADS * 4), NORM_BLOCKS);
    double *partial = (double *)ops_scratch(c);
    LAUNCH(o, "gradient norm", blocks, THREADS, 0, norm2_kernel, partial, (const float *)grad, n, groups);
    LAUNCH(o, "gradient norm", 1, THREADS, 0, norm2_finish_kernel, (float *)norm2, finite, partial, blocks);
}

static __global__ void guard_kernel(OpsGuard *g, float *gscale, const float *norm2, const int32_t *finite,
                                    const float *frames, float clip, float spike)
{
    *gscale = (float)guard_decide(g, (double)*norm2, *finite, (double)*frames, (double)clip, (double)spike);
}

static void guard(OpsContext *c, OpsGuard *g, void *gscale, const void *norm2, const int32_t *finite,
                  const void *frames, float clip, float spike)
{
    CudaOps *o = ops_enter(c);
    LAUNCH(o, "watch the gradient", 1, 1, 0, guard_kernel, g, (float *)gscale, (const float *)norm2, finite,
           (const float *)frames, clip, spike);
}

typedef struct AdamNumbers {
    float lr, beta1, beta2, eps, weight_decay;
    float correction1, correction2; /* 1 / (1 - beta1^step), 1 / sqrt(1 - beta2^step) */
} AdamNumbers;

/* As in vector.c: weight decay apart from the gradient. */
__device__ __forceinline__ float adam_update(float p, float &m, float &v, float g, int decays,
                                             const AdamNumbers &a)
{
    m = a.beta1 * m + (1.0f - a.beta1) * g;
    v = a.beta2 * v + (1.0f - a.beta2) * g * g;
    if (decays)
        p -= a.lr * a.weight_decay * p;
    return p - a.lr * a.correction1 * m / (sqrtf(v) * a.correction2 + a.eps);
}

template <typename T>
__global__ void __launch_bounds__(THREADS)
    adamw_kernel(float *master, T *real_out, float *m, float *v, const float *grad, const uint8_t *decay,
                 const float *gscale, int64_t n, int64_t groups, AdamNumbers numbers, const OpsStep *step)
{
    __shared__ AdamNumbers shared;
    float scale = *gscale;
    /* The guard leaves the step out. */
    if (scale == 0.0f)
        return;
    if (threadIdx.x == 0) {
        shared = numbers;
        /* In double, by one thread of a block: 1 - beta2^step loses all its digits in float. */
        if (step) {
            shared.lr = step->lr;
            shared.correction1 = (float)(1.0 / (1.0 - pow((double)numbers.beta1, (double)step->number)));
            shared.correction2 = (float)(1.0 / sqrt(1.0 - pow((double)numbers.beta2, (double)step->number)));
        }
    }
    __syncthreads();
    AdamNumbers a = shared;
    int64_t stride = (int64_t)gridDim.x * THREADS, first = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    /* Four at a time where addresses allow it; then what is left. */
    for (int64_t i = first; i < groups; i += stride) {
        float4 g = ((const float4 *)grad)[i], p = ((float4 *)master)[i], m4 = ((float4 *)m)[i],
               v4 = ((float4 *)v)[i];
        uchar4 d = ((const uchar4 *)decay)[i];
        p.x = adam_update(p.x, m4.x, v4.x, g.x * scale, d.x, a);
        p.y = adam_update(p.y, m4.y, v4.y, g.y * scale, d.y, a);
        p.z = adam_update(p.z, m4.z, v4.z, g.z * scale, d.z, a);
        p.w = adam_update(p.w, m4.w, v4.w, g.w * scale, d.w, a);
        ((float4 *)master)[i] = p;
        ((float4 *)m)[i] = m4;
        ((float4 *)v)[i] = v4;
        if (real_out) {
            if constexpr (sizeof(T) == 2)
                ((uint2 *)real_out)[i] = make_uint2(pack_bf16(p.x, p.y), pack_bf16(p.z, p.w));
            else
                ((float4 *)real_out)[i] = p;
        }
    }
    for (int64_t i = groups * 4 + first; i < n; i += stride) {
        float mi = m[i], vi = v[i], p = adam_update(master[i], mi, vi, grad[i] * scale, decay[i], a);
        master[i] = p;
        m[i] = mi;
        v[i] = vi;
        if (real_out)
            real_out[i] = from_float<T>(p);
    }
}

template <typename T>
static void adamw(OpsContext *c, void *master, void *real_out, void *m, void *v, const void *grad,
                  const uint8_t *decay, const void *gscale, int64_t n, float lr, float beta1, float beta2,
                  float eps, float weight_decay, int64_t step)
{
    CudaOps *o = ops_enter(c);
    if (n == 0)
        return;
    AdamNumbers a = {lr,
                     beta1,
                     beta2,
                     eps,
                     weight_decay,
                     (float)(1.0 / (1.0 - pow((double)beta1, (double)step))),
                     (float)(1.0 / sqrt(1.0 - pow((double)beta2, (double)step)))};
    int even = is_aligned(master) && is_aligned(real_out) && is_aligned(m) && is_aligned(v) &&
               is_aligned(grad) && is_aligned(decay);
    int64_t groups = even ? n / 4 : 0;
    LAUNCH(o, "AdamW", fill_blocks(o, divide_up(n, THREADS * 4), 16), THREADS, 0, adamw_kernel<T>,
           (float *)master, (T *)real_out, (float *)m, (float *)v, (const float *)grad, decay,
           (const float *)gscale, n, groups, a, c->step);
}

template <typename T> void adamw_fill(Ops *ops)
{
    ops->norm2 = norm2_of;
    ops->guard = guard;
    ops->adamw = adamw<T>;
}

template void adamw_fill<float>(Ops *ops);
template void adamw_fill<bf16>(Ops *ops);
