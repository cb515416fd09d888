/* loss_cuda.cu - losses and their gradients in one pass; blocks leave partial sums, a second kernel adds them to the value. */
#include "ops/ops_cuda.h"

#define THREADS 256
#define BLOCKS_PER_PROCESSOR 8

template <typename T>
__global__ void __launch_bounds__(THREADS)
    loss_kernel(float *partial, T *dpred, const T *pred, const float *target, const int32_t *len, int64_t count, int T_rows, int n,
                int kind, float delta, float weight, int accumulate)
{
    __shared__ float shared[32];
    float sum = 0.0f;
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < count; i += (int64_t)gridDim.x * THREADS) {
        int64_t row = i / n;
        float g = 0.0f;
        if (row % T_rows < len[row / T_rows]) {
            float d = to_float(pred[i]) - target[i], size = fabsf(d);
            if (kind == LOSS_L1) {
                sum += size;
                g = d > 0.0f ? 1.0f : d < 0.0f ? -1.0f : d;
            } else if (kind == LOSS_MSE) {
                sum += d * d;
                g = 2.0f * d;
            } else if (size <= delta) {
                sum += 0.5f * d * d;
                g = d;
            } else {
                sum += delta * (size - 0.5f * delta);
                g = d > 0.0f ? delta : d < 0.0f ? -delta : d;
            }
            g *= weight;
        }
        if (dpred)
            dpred[i] = from_float<T>(accumulate ? to_float(dpred[i]) + g : g);
    }
    sum = block_sum(sum, shared);
    if (threadIdx.x == 0)
        partial[blockIdx.x] = sum;
}

template <typename T>
__global__ void __launch_bounds__(THREADS) stop_kernel(float *partial, T *dlogits, const T *logits, const int32_t *len,
                                                       int64_t count, int T_rows, int after, float positive, float weight)
{
    __shared__ float shared[32];
    float sum = 0.0f;
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < count; i += (int64_t)gridDim.x * THREADS) {
        int length = len[i / T_rows];
        int64_t t = i % T_rows;
        float g = 0.0f;
        if (length > 0 && t < (int64_t)length + after) {
            float x = to_float(logits[i]), e = expf(-fabsf(x));
            float sigmoid = x >= 0.0f ? 1.0f / (1.0f + e) : e / (1.0f + e);
            int stop = t >= length - 1;
            sum += (stop ? positive : 1.0f) * (fmaxf(stop ? -x : x, 0.0f) + log1pf(e));
            g = weight * (stop ? positive * (sigmoid - 1.0f) : sigmoid);
        }
        if (dlogits)
            dlogits[i] = from_float<T>(g);
    }
    sum = block_sum(sum, shared);
    if (threadIdx.x == 0)
        partial[blockIdx.x] = sum;
}

static __global__ void __launch_bounds__(THREADS)
    guide_kernel(float *partial, const float *guide_sum, const int32_t *len, int64_t count, int H, int T_rows)
{
    __shared__ float shared[32];
    float sum = 0.0f;
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < count; i += (int64_t)gridDim.x * THREADS)
        if (i % T_rows < len[i / ((int64_t)H * T_rows)])
            sum += guide_sum[i];
    sum = block_sum(sum, shared);
    if (threadIdx.x == 0)
        partial[blockIdx.x] = sum;
}

template <typename T>
static void loss_forward(OpsContext *c, void *value, void *dpred, const void *pred, const float *target, const int32_t *len, int B,
                         int T_rows, int n, LossKind kind, float delta, float weight, int accumulate)
{
    CudaOps *o = ops_enter(c);
    int64_t count = (int64_t)B * T_rows * n;
    if (count == 0)
        return;
    int blocks = fill_blocks(o, divide_up(count, THREADS), BLOCKS_PER_PROCESSOR);
    float *partial = (float *)ops_scratch(c);
    LAUNCH(o, "loss", blocks, THREADS, 0, loss_kernel<T>, partial, (T *)dpred, (const T *)pred, target, len, count, T_rows, n,
           (int)kind, delta, weight, accumulate);
    ops_add_partials(o, (float *)value, partial, blocks, 1, 1, weight, 1);
}

template <typename T>
static void stop_loss(OpsContext *c, void *value, void *dlogits, const void *logits, const int32_t *len, int B, int T_rows,
                      int after, float positive, float weight)
{
    CudaOps *o = ops_enter(c);
    int64_t count = (int64_t)B * T_rows;
    if (count == 0)
        return;
    int blocks = fill_blocks(o, divide_up(count, THREADS), BLOCKS_PER_PROCESSOR);
    float *partial = (float *)ops_scratch(c);
    LAUNCH(o, "stop loss", blocks, THREADS, 0, stop_kernel<T>, partial, (T *)dlogits, (const T *)logits, len, count, T_rows, after,
           positive, weight);
    ops_add_partials(o, (float *)value, partial, blocks, 1, 1, weight, 1);
}

static void guide_loss(OpsContext *c, void *value, const void *guide_sum, const int32_t *len, int B, int H, int T_rows,
                       float weight)
{
    CudaOps *o = ops_enter(c);
    int64_t count = (int64_t)B * H * T_rows;
    if (count == 0)
        return;
    int blocks = fill_blocks(o, divide_up(count, THREADS), BLOCKS_PER_PROCESSOR);
    float *partial = (float *)ops_scratch(c);
    LAUNCH(o, "guide loss", blocks, THREADS, 0, guide_kernel, partial, (const float *)guide_sum, len, count, H, T_rows);
    ops_add_partials(o, (float *)value, partial, blocks, 1, 1, weight, 1);
}

template <typename T> void loss_fill(Ops *ops)
{
    ops->loss_forward = loss_forward<T>;
    ops->stop_loss = stop_loss<T>;
    ops->guide_loss = guide_loss;
}

template void loss_fill<float>(Ops *ops);
template void loss_fill<bf16>(Ops *ops);
