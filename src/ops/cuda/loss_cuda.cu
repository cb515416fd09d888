/* loss_cuda.cu - the loss of mel frames and its gradient in one pass; blocks leave partial sums, a second
 * kernel adds them to the value. */
#include "ops/cuda/ops_cuda.h"

#define THREADS 256
#define BLOCKS_PER_PROCESSOR 8

/* blockIdx.y: the batch item; its valid rows lie side by side, so nothing is divided. */
template <typename T, int V>
__global__ void __launch_bounds__(THREADS)
    loss_kernel(float *partial, T *dpred, const T *pred, const float *target, const int32_t *len, int T_rows,
                int n, int kind, float delta, float weight, int accumulate)
{
    __shared__ float shared[32];
    const int64_t all = (int64_t)T_rows * n, first = (int64_t)blockIdx.y * all,
                  valid = (int64_t)min(len[blockIdx.y], T_rows) * n;
    float sum = 0.0f;
    for (int64_t i = ((int64_t)blockIdx.x * THREADS + threadIdx.x) * V; i < all;
         i += (int64_t)gridDim.x * THREADS * V) {
        float g[V], x[V], y[V];
#pragma unroll
        for (int j = 0; j < V; j++)
            g[j] = 0.0f;
        if (i < valid) {
            load_some<V>(x, pred + first + i);
            load_some<V>(y, target + first + i);
#pragma unroll
            for (int j = 0; j < V; j++) {
                float d = x[j] - y[j], size = fabsf(d);
                /* Loss and slope; where the difference is 0 or NaN, the slope is the difference itself. */
                if (kind == LOSS_L1) {
                    sum += size;
                    g[j] = d > 0.0f ? 1.0f : d < 0.0f ? -1.0f : d;
                } else if (kind == LOSS_MSE) {
                    sum += d * d;
                    g[j] = 2.0f * d;
                } else if (size <= delta) {
                    sum += 0.5f * d * d;
                    g[j] = d;
                } else {
                    sum += delta * (size - 0.5f * delta);
                    g[j] = d > 0.0f ? delta : d < 0.0f ? -delta : d;
                }
                g[j] *= weight;
            }
        }
        if (!dpred)
            continue;
        /* A second loss on the same prediction adds its gradient. */
        if (accumulate) {
            load_some<V>(x, dpred + first + i);
#pragma unroll
            for (int j = 0; j < V; j++)
                g[j] += x[j];
        }
        store_some<V>(dpred + first + i, g);
    }
    sum = block_sum(sum, shared);
    if (threadIdx.x == 0)
        partial[blockIdx.y * gridDim.x + blockIdx.x] = sum;
}

template <typename T>
static void loss_forward(OpsContext *c, void *value, void *dpred, const void *pred, const float *target,
                         const int32_t *len, int B, int T_rows, int n, LossKind kind, float delta,
                         float weight, int accumulate)
{
    CudaOps *o = ops_enter(c);
    if (B == 0 || T_rows == 0 || n == 0)
        return;
    int even = n % 8 == 0 && is_aligned(pred) && is_aligned(target) && is_aligned(dpred);
    int64_t work = divide_up((int64_t)T_rows * n, THREADS * (even ? 8 : 1));
    dim3 grid((unsigned)fill_blocks(o, work, (int)divide_up(BLOCKS_PER_PROCESSOR, B)), (unsigned)B);
    float *partial = (float *)ops_scratch(c);
    auto kernel = even ? loss_kernel<T, 8> : loss_kernel<T, 1>;
    LAUNCH(o, "loss", grid, THREADS, 0, kernel, partial, (T *)dpred, (const T *)pred, target, len, T_rows, n,
           (int)kind, delta, weight, accumulate);
    ops_add_partials(o, (float *)value, partial, (int)(grid.x * grid.y), 1, 1, weight, 1);
}

template <typename T> void loss_fill(Ops *ops) { ops->loss_forward = loss_forward<T>; }

template void loss_fill<float>(Ops *ops);
template void loss_fill<bf16>(Ops *ops);
