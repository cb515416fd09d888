/* rows_cuda.cu - small ops over the rows of a batch: gathering, lengths in groups, means of mel bands. */
#include "ops/cuda/ops_cuda.h"

#define THREADS 256
#define BLOCKS_PER_PROCESSOR 16

/* Row blockIdx.y of out. */
template <typename T>
__global__ void __launch_bounds__(THREADS) gather_kernel(T *out, const T *in, const int32_t *index, int C)
{
    const T *from = in + (int64_t)index[blockIdx.y] * C;
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < C; i += gridDim.x * THREADS)
        out[(int64_t)blockIdx.y * C + i] = from[i];
}

/* Row blockIdx.y of din: the sum over those that took it, in their order. */
template <typename T>
__global__ void __launch_bounds__(THREADS)
    gather_backward_kernel(T *din, const T *dout, const int32_t *index, int B, int C)
{
    int i = blockIdx.x * THREADS + threadIdx.x, row = blockIdx.y;
    if (i >= C)
        return;
    float sum = 0.0f;
    for (int b = 0; b < B; b++)
        if (index[b] == row)
            sum += to_float(dout[(int64_t)b * C + i]);
    din[(int64_t)row * C + i] = from_float<T>(sum);
}

/* One warp. */
static __global__ void __launch_bounds__(32)
    length_groups_kernel(int32_t *out, float *total, const int32_t *len, int B, int r)
{
    long long sum = 0;
    for (int b = threadIdx.x; b < B; b += 32) {
        out[b] = (len[b] + r - 1) / r;
        sum += len[b];
    }
    for (int d = 16; d > 0; d >>= 1)
        sum += __shfl_xor_sync(0xFFFFFFFFu, sum, d);
    if (total && threadIdx.x == 0)
        *total += (float)sum;
}

/* A warp for each row. */
static __global__ void __launch_bounds__(THREADS)
    band_mean_kernel(float *out, const float *in, int64_t rows, int n)
{
    int lane = threadIdx.x % 32;
    for (int64_t row = (int64_t)blockIdx.x * (THREADS / 32) + threadIdx.x / 32; row < rows;
         row += (int64_t)gridDim.x * (THREADS / 32)) {
        float sum = 0.0f;
        for (int k = lane; k < n; k += 32)
            sum += in[row * n + k];
        sum = warp_sum(sum);
        if (lane == 0)
            out[row] = sum / (float)n;
    }
}

template <typename T>
static void gather_forward(OpsContext *c, void *out, const void *in, const int32_t *index, int B, int C)
{
    CudaOps *o = ops_enter(c);
    if (B == 0 || C == 0)
        return;
    dim3 grid((unsigned)divide_up(C, THREADS), (unsigned)B);
    LAUNCH(o, "gather", grid, THREADS, 0, gather_kernel<T>, (T *)out, (const T *)in, index, C);
}

template <typename T>
static void gather_backward(OpsContext *c, void *din, const void *dout, const int32_t *index, int B, int C)
{
    CudaOps *o = ops_enter(c);
    if (B == 0 || C == 0)
        return;
    dim3 grid((unsigned)divide_up(C, THREADS), (unsigned)B);
    LAUNCH(o, "gather backward", grid, THREADS, 0, gather_backward_kernel<T>, (T *)din, (const T *)dout,
           index, B, C);
}

static void length_groups(OpsContext *c, int32_t *out, void *total, const int32_t *len, int B, int r)
{
    CudaOps *o = ops_enter(c);
    assert(r >= 1);
    LAUNCH(o, "groups of lengths", 1, 32, 0, length_groups_kernel, out, (float *)total, len, B, r);
}

static void band_mean(OpsContext *c, float *out, const float *in, int64_t rows, int n)
{
    CudaOps *o = ops_enter(c);
    if (rows == 0)
        return;
    LAUNCH(o, "means of bands", fill_blocks(o, divide_up(rows, THREADS / 32), BLOCKS_PER_PROCESSOR), THREADS,
           0, band_mean_kernel, out, in, rows, n);
}

template <typename T> void rows_fill(Ops *ops)
{
    ops->gather_forward = gather_forward<T>;
    ops->gather_backward = gather_backward<T>;
    ops->length_groups = length_groups;
    ops->band_mean = band_mean;
}

template void rows_fill<float>(Ops *ops);
template void rows_fill<bf16>(Ops *ops);
