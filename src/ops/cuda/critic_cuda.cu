/* critic_cuda.cu - what critics see of mels, and what is learned from their scores. Blocks leave partial
 * sums, a second kernel adds them to the values. */
#include "ops/cuda/ops_cuda.h"

#define THREADS 256
#define BLOCKS_PER_PROCESSOR 8

/* A thread for each number of the view; blockIdx.y: its row. */
template <typename T>
__global__ void __launch_bounds__(THREADS)
    view_kernel(T *out, int32_t *view_len, const T *in, const float *mel, const int32_t *len, int T_rows,
                int n, CriticView v)
{
    const int row = blockIdx.y, b = row / v.windows, window = row - b * v.windows, rows = T_rows / v.pool;
    const int frames = min(len[b], T_rows) / v.pool, first = CRITIC_VIEW_FIRST(v, n, window);
    const uint32_t i = blockIdx.x * THREADS + threadIdx.x, m = i / (uint32_t)v.channels;
    const int channel = (int)(i - m * v.channels);
    if (i == 0)
        view_len[row] = frames;
    if (m >= (uint32_t)rows)
        return;
    float x = 0.0f;
    if ((int)m < frames && channel < v.width) {
        const int64_t at = ((int64_t)b * T_rows + (int64_t)m * v.pool) * n + first + channel;
        for (int k = 0; k < v.pool; k++)
            x += in ? to_float(in[at + (int64_t)k * n]) : mel[at + (int64_t)k * n];
        x /= (float)v.pool;
    } else if ((int)m < frames && v.windows > 1 && channel == v.width + window) {
        x = 1.0f;
    }
    out[((int64_t)row * rows + m) * v.channels + channel] = from_float<T>(x);
}

/* A thread for each number of the mel, which adds up the windows that see it; blockIdx.y: the item. */
template <typename T>
__global__ void __launch_bounds__(THREADS)
    view_back_kernel(T *din, const T *dout, const int32_t *len, int T_rows, int n, CriticView v)
{
    const int b = blockIdx.y, rows = T_rows / v.pool, frames = min(len[b], T_rows) / v.pool;
    const uint32_t i = blockIdx.x * THREADS + threadIdx.x, t = i / (uint32_t)n;
    const int band = (int)(i - t * n), m = (int)t / v.pool;
    if (m >= frames)
        return;
    float sum = 0.0f;
    for (int window = 0; window < v.windows; window++) {
        const int channel = band - CRITIC_VIEW_FIRST(v, n, window);
        if (channel >= 0 && channel < v.width)
            sum += to_float(dout[(((int64_t)b * v.windows + window) * rows + m) * v.channels + channel]);
    }
    T *at = din + ((int64_t)b * T_rows + t) * n + band;
    *at = from_float<T>(to_float(*at) + sum / (float)v.pool);
}

template <typename T>
static void view_forward(OpsContext *c, void *out, int32_t *view_len, const void *in, const float *mel,
                         const int32_t *len, int B, int T_rows, int n, CriticView v)
{
    CudaOps *o = ops_enter(c);
    const int64_t work = (int64_t)(T_rows / v.pool) * v.channels;
    if (B == 0 || work == 0)
        return;
    dim3 grid((unsigned)divide_up(work, THREADS), (unsigned)(B * v.windows));
    LAUNCH(o, "view of a mel", grid, THREADS, 0, view_kernel<T>, (T *)out, view_len, (const T *)in, mel, len,
           T_rows, n, v);
}

template <typename T>
static void view_backward(OpsContext *c, void *din, const void *dout, const int32_t *len, int B, int T_rows,
                          int n, CriticView v)
{
    CudaOps *o = ops_enter(c);
    if (B == 0 || T_rows == 0)
        return;
    dim3 grid((unsigned)divide_up((int64_t)T_rows * n, THREADS), (unsigned)B);
    LAUNCH(o, "gradient of a view", grid, THREADS, 0, view_back_kernel<T>, (T *)din, (const T *)dout, len,
           T_rows, n, v);
}

/* partial [blocks, 2], weights in them. */
template <typename T>
__global__ void __launch_bounds__(THREADS)
    critic_kernel(float *partial, T *dcritic, T *dvoice, const T *score, const int32_t *len, uint32_t half,
                  int T_rows, float critic, float voice)
{
    __shared__ float shared[32];
    float critics = 0.0f, voices = 0.0f;
    for (uint32_t i = blockIdx.x * THREADS + threadIdx.x; i < half; i += gridDim.x * THREADS) {
        const uint32_t r = i / (uint32_t)T_rows;
        const int counts = (int)(i - r * T_rows) < len[r];
        const float missing = 1.0f - to_float(score[i]), taken = to_float(score[half + i]),
                    left = 1.0f - taken;
        if (counts) {
            critics += missing * missing + taken * taken;
            voices += left * left;
        }
        dcritic[i] = from_float<T>(counts ? -2.0f * critic * missing : 0.0f);
        dcritic[half + i] = from_float<T>(counts ? 2.0f * critic * taken : 0.0f);
        dvoice[i] = from_float<T>(counts ? -2.0f * voice * left : 0.0f);
    }
    critics = block_sum(critics, shared);
    voices = block_sum(voices, shared);
    if (threadIdx.x == 0) {
        partial[2 * blockIdx.x] = critic * critics;
        partial[2 * blockIdx.x + 1] = voice * voices;
    }
}

template <typename T>
static void critic_loss(OpsContext *c, void *values, void *dcritic, void *dvoice, const void *score,
                        const int32_t *len, int R, int T_rows, float critic, float voice)
{
    CudaOps *o = ops_enter(c);
    const int64_t half = (int64_t)R * T_rows;
    assert(half < (int64_t)1 << 30);
    if (half == 0)
        return;
    int blocks = fill_blocks(o, divide_up(half, THREADS), BLOCKS_PER_PROCESSOR);
    float *partial = (float *)ops_scratch(c);
    LAUNCH(o, "loss of a critic", blocks, THREADS, 0, critic_kernel<T>, partial, (T *)dcritic, (T *)dvoice,
           (const T *)score, len, (uint32_t)half, T_rows, critic, voice);
    ops_add_partials(o, (float *)values, partial, blocks, 2, 2, 1.0f, 1);
}

/* blockIdx.y: the row of the view; its valid frames lie side by side. */
template <typename T, int V>
__global__ void __launch_bounds__(THREADS)
    feature_kernel(float *partial, T *din, const T *in, const T *target, const int32_t *len, int T_rows,
                   int C, float weight)
{
    __shared__ float shared[32];
    const int64_t first = (int64_t)blockIdx.y * T_rows * C, valid = (int64_t)min(len[blockIdx.y], T_rows) * C;
    float sum = 0.0f;
    for (int64_t i = ((int64_t)blockIdx.x * THREADS + threadIdx.x) * V; i < valid;
         i += (int64_t)gridDim.x * THREADS * V) {
        float x[V], y[V], g[V];
        load_some<V>(x, in + first + i);
        load_some<V>(y, target + first + i);
        load_some<V>(g, din + first + i);
#pragma unroll
        for (int j = 0; j < V; j++) {
            const float d = x[j] - y[j];
            sum += fabsf(d);
            g[j] += d > 0.0f ? weight : d < 0.0f ? -weight : d;
        }
        store_some<V>(din + first + i, g);
    }
    sum = block_sum(sum, shared);
    if (threadIdx.x == 0)
        partial[blockIdx.y * gridDim.x + blockIdx.x] = sum;
}

template <typename T>
static void feature_loss(OpsContext *c, void *value, void *din, const void *in, const void *target,
                         const int32_t *len, int R, int T_rows, int C, float weight)
{
    CudaOps *o = ops_enter(c);
    if (R == 0 || T_rows == 0)
        return;
    const int even = C % 8 == 0 && is_aligned(din) && is_aligned(in) && is_aligned(target);
    const int64_t work = divide_up((int64_t)T_rows * C, THREADS * (even ? 8 : 1));
    dim3 grid((unsigned)fill_blocks(o, work, (int)divide_up(BLOCKS_PER_PROCESSOR, R)), (unsigned)R);
    float *partial = (float *)ops_scratch(c);
    auto kernel = even ? feature_kernel<T, 8> : feature_kernel<T, 1>;
    LAUNCH(o, "loss of features", grid, THREADS, 0, kernel, partial, (T *)din, (const T *)in,
           (const T *)target, len, T_rows, C, weight);
    ops_add_partials(o, (float *)value, partial, (int)(grid.x * grid.y), 1, 1, weight, 1);
}

template <typename T> void critic_fill(Ops *ops)
{
    ops->view_forward = view_forward<T>;
    ops->view_backward = view_backward<T>;
    ops->critic_loss = critic_loss<T>;
    ops->feature_loss = feature_loss<T>;
}

template void critic_fill<float>(Ops *ops);
template void critic_fill<bf16>(Ops *ops);
