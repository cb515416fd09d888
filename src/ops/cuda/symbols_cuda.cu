/* symbols_cuda.cu - what passes between symbols and their frames: repeating, means, pitch and energy, and the
 * losses of symbols. A symbol's frames are neighbours, so every sum over them belongs to one thread, in the
 * order of the frames. */
#include "ops/cuda/ops_cuda.h"

#define THREADS 256
#define WARPS (THREADS / 32)
#define BLOCKS_PER_PROCESSOR 16

/* Frames of symbol i of [B,T]: x up to, not including, y. */
__device__ __forceinline__ int2 frames_of(const Durations &d, int64_t i, int M)
{
    int from = d.start[i], count = d.frames[i];
    return make_int2(from, min(count, M - from) + from);
}

/* ---- repeat ---- */

/* blockIdx.y: the batch item. */
template <typename T, int V>
__global__ void __launch_bounds__(THREADS)
    repeat_kernel(T *out, const T *in, const int32_t *symbol, int T_rows, int M, int C)
{
    const uint32_t pieces = (uint32_t)C / V, n = (uint32_t)M * pieces;
    out += (int64_t)blockIdx.y * M * C;
    in += (int64_t)blockIdx.y * T_rows * C;
    symbol += (int64_t)blockIdx.y * M;
    for (uint32_t i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) {
        /* 32-bit division: the 64-bit one costs more than the copy. */
        uint32_t m = i / pieces, c = (i - m * pieces) * V;
        int t = symbol[m];
        float x[V];
        if (t >= 0) {
            load_some<V>(x, in + (int64_t)t * C + c);
        } else {
#pragma unroll
            for (int j = 0; j < V; j++)
                x[j] = 0.0f;
        }
        store_some<V>(out + (int64_t)m * C + c, x);
    }
}

/* A thread sums V channels over the frames of a symbol. blockIdx.y: the batch item. */
template <typename T, int V>
__global__ void __launch_bounds__(THREADS)
    repeat_backward_kernel(T *din, const T *dout, Durations d, int T_rows, int M, int C)
{
    const uint32_t pieces = (uint32_t)C / V, n = (uint32_t)T_rows * pieces;
    const int64_t row0 = (int64_t)blockIdx.y * T_rows;
    dout += (int64_t)blockIdx.y * M * C;
    for (uint32_t i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) {
        uint32_t t = i / pieces, c = (i - t * pieces) * V;
        int2 range = frames_of(d, row0 + t, M);
        float sum[V], x[V];
#pragma unroll
        for (int j = 0; j < V; j++)
            sum[j] = 0.0f;
#pragma unroll 16 /* a symbol may have hundreds of frames while the alignment is not learned */
        for (int m = range.x; m < range.y; m++) {
            load_some<V>(x, dout + (int64_t)m * C + c);
#pragma unroll
            for (int j = 0; j < V; j++)
                sum[j] += x[j];
        }
        store_some<V>(din + (row0 + t) * C + c, sum);
    }
}

/* Blocks for `rows` rows of each item; the kernels count in 32 bits. */
static dim3 item_grid(const CudaOps *o, int B, int rows, int C, int V)
{
    assert((int64_t)rows * (C / V) < (int64_t)1 << 31 && B <= 65535);
    int64_t all = divide_up((int64_t)rows * (C / V), THREADS);
    return dim3((unsigned)fill_blocks(o, all, (int)divide_up(BLOCKS_PER_PROCESSOR, B)), (unsigned)B);
}

template <typename T>
static void repeat_forward(OpsContext *c, void *out, const void *in, const Durations *d, int B, int T_rows,
                           int M, int C)
{
    CudaOps *o = ops_enter(c);
    if (B == 0 || M == 0)
        return;
    int even = C % 8 == 0 && is_aligned(out) && is_aligned(in);
    auto kernel = even ? repeat_kernel<T, 8> : repeat_kernel<T, 1>;
    LAUNCH(o, "repeat symbols", item_grid(o, B, M, C, even ? 8 : 1), THREADS, 0, kernel, (T *)out,
           (const T *)in, d->symbol, T_rows, M, C);
}

template <typename T>
static void repeat_backward(OpsContext *c, void *din, const void *dout, const Durations *d, int B, int T_rows,
                            int M, int C)
{
    CudaOps *o = ops_enter(c);
    if (B == 0 || T_rows == 0)
        return;
    int even = C % 8 == 0 && is_aligned(din) && is_aligned(dout);
    auto kernel = even ? repeat_backward_kernel<T, 8> : repeat_backward_kernel<T, 1>;
    LAUNCH(o, "repeat symbols backward", item_grid(o, B, T_rows, C, even ? 8 : 1), THREADS, 0, kernel,
           (T *)din, (const T *)dout, *d, T_rows, M, C);
}

/* ---- means ---- */

/* A thread for each symbol. */
static __global__ void __launch_bounds__(THREADS)
    symbol_means_kernel(float *out, const float *in, Durations d, int symbols, int T_rows, int M)
{
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= symbols)
        return;
    const float *item = in + (int64_t)(i / T_rows) * M;
    int2 range = frames_of(d, i, M);
    float sum = 0.0f;
#pragma unroll 16
    for (int m = range.x; m < range.y; m++)
        sum += item[m];
    out[i] = range.y > range.x ? sum / (float)(range.y - range.x) : 0.0f;
}

static void symbol_means(OpsContext *c, float *out, const float *in, const Durations *d, int B, int T_rows,
                         int M)
{
    CudaOps *o = ops_enter(c);
    int64_t symbols = (int64_t)B * T_rows;
    assert(symbols < (int64_t)1 << 31);
    if (symbols > 0)
        LAUNCH(o, "means of symbols", (unsigned)divide_up(symbols, THREADS), THREADS, 0, symbol_means_kernel,
               out, in, *d, (int)symbols, T_rows, M);
}

/* ---- pitch and energy ---- */

/* A lane keeps its V channels; a warp for each row. */
template <typename T, int V>
__global__ void __launch_bounds__(THREADS)
    traits_kernel(T *out, const T *in, const float *pitch, const float *energy, const T *w_pitch,
                  const T *w_energy, int64_t rows, int C)
{
    const int c = (blockIdx.x * 32 + threadIdx.x % 32) * V;
    if (c >= C)
        return;
    float wp[V], we[V];
    load_some<V>(wp, w_pitch + c);
    load_some<V>(we, w_energy + c);
#pragma unroll 2
    for (int64_t row = (int64_t)blockIdx.y * WARPS + threadIdx.x / 32; row < rows;
         row += (int64_t)gridDim.y * WARPS) {
        float x[V], p = pitch[row], e = energy[row];
        load_some<V>(x, in + row * C + c);
#pragma unroll
        for (int j = 0; j < V; j++)
            x[j] = x[j] + p * wp[j] + e * we[j];
        store_some<V>(out + row * C + c, x);
    }
}

/* partial [shares of the rows, 2, C]. */
template <typename T, int V>
__global__ void __launch_bounds__(THREADS)
    traits_backward_kernel(float *partial, const T *dout, const float *pitch, const float *energy,
                           const int32_t *len, uint32_t rows, int T_rows, int C)
{
    __shared__ float sums[WARPS][32 * V];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, c = (blockIdx.x * 32 + lane) * V;
    float sum[2][V] = {};
    if (c < C)
#pragma unroll 4
        for (uint32_t row = blockIdx.y * WARPS + warp; row < rows; row += gridDim.y * WARPS) {
            uint32_t b = row / (uint32_t)T_rows;
            if ((int)(row - b * T_rows) >= len[b])
                continue;
            float d[V], p = pitch[row], e = energy[row];
            load_some<V>(d, dout + (int64_t)row * C + c);
#pragma unroll
            for (int j = 0; j < V; j++) {
                sum[0][j] += p * d[j];
                sum[1][j] += e * d[j];
            }
        }
        /* Pitch, then energy, through the same shared memory. */
#pragma unroll
    for (int which = 0; which < 2; which++) {
        __syncthreads();
#pragma unroll
        for (int j = 0; j < V; j++)
            sums[warp][j * 32 + lane] = sum[which][j]; /* one bank for each lane */
        __syncthreads();
        for (int at = threadIdx.x; at < 32 * V; at += THREADS) {
            int to = (blockIdx.x * 32 + at % 32) * V + at / 32;
            float total = 0.0f;
            for (int w = 0; w < WARPS; w++)
                total += sums[w][at];
            if (to < C)
                partial[((int64_t)blockIdx.y * 2 + which) * C + to] = total;
        }
    }
}

template <typename T>
static void add_traits_forward(OpsContext *c, void *out, const void *in, const float *pitch,
                               const float *energy, const void *w_pitch, const void *w_energy, int64_t rows,
                               int C)
{
    CudaOps *o = ops_enter(c);
    if (rows == 0)
        return;
    int even = C % 8 == 0 && is_aligned(out) && is_aligned(in) && is_aligned(w_pitch) && is_aligned(w_energy);
    unsigned across = (unsigned)divide_up(C, even ? 256 : 32);
    dim3 grid(across,
              (unsigned)at_most(divide_up(rows, WARPS), divide_up((int64_t)o->processors * 8, across)));
    auto kernel = even ? traits_kernel<T, 8> : traits_kernel<T, 1>;
    LAUNCH(o, "pitch and energy", grid, THREADS, 0, kernel, (T *)out, (const T *)in, pitch, energy,
           (const T *)w_pitch, (const T *)w_energy, rows, C);
}

template <typename T>
static void add_traits_backward(OpsContext *c, void *dw_pitch, void *dw_energy, const void *dout,
                                const float *pitch, const float *energy, const int32_t *len, int B,
                                int T_rows, int C)
{
    CudaOps *o = ops_enter(c);
    int64_t rows = (int64_t)B * T_rows;
    assert(rows < (int64_t)1 << 31);
    if (rows == 0)
        return;
    int even = C % 8 == 0 && is_aligned(dout);
    unsigned across = (unsigned)divide_up(C, even ? 256 : 32);
    /* Shares of the rows: enough to fill the GPU, no more than the scratch holds sums for. */
    int64_t wanted = divide_up((int64_t)o->processors * 4, across),
            most = (int64_t)(ops_scratch_bytes(c) / sizeof(float)) / (2 * C);
    int shares = at_most(divide_up(rows, WARPS), at_most(wanted, most));
    float *partial = (float *)ops_scratch(c);
    auto kernel = even ? traits_backward_kernel<T, 8> : traits_backward_kernel<T, 1>;
    LAUNCH(o, "pitch and energy backward", dim3(across, (unsigned)shares), THREADS, 0, kernel, partial,
           (const T *)dout, pitch, energy, len, (uint32_t)rows, T_rows, C);
    ops_add_partial_sums(o, (float *)dw_pitch, (float *)dw_energy, NULL, partial, shares, C, 2);
}

/* ---- losses ---- */

/* partial [blocks]; a warp for each symbol. */
template <typename T>
__global__ void __launch_bounds__(THREADS)
    align_loss_kernel(float *partial, T *dmu, const T *mu, const float *mel, Durations d,
                      const int32_t *text_len, uint32_t symbols, int T_rows, int M, int n, float weight)
{
    __shared__ float shared[32];
    const int lane = threadIdx.x % 32;
    float sum = 0.0f;
    for (uint32_t i = blockIdx.x * WARPS + threadIdx.x / 32; i < symbols; i += gridDim.x * WARPS) {
        uint32_t b = i / (uint32_t)T_rows;
        /* Padding has no frames, hence no loss and a zero gradient. */
        int2 range = {0, 0};
        if ((int)(i - b * T_rows) < text_len[b])
            range = frames_of(d, i, M);
        const float *item = mel + (int64_t)b * M * n;
        for (int k = lane; k < n; k += 32) {
            float centre = range.y > range.x ? to_float(mu[(int64_t)i * n + k]) : 0.0f, gradient = 0.0f;
#pragma unroll 16
            for (int m = range.x; m < range.y; m++) {
                float difference = centre - item[(int64_t)m * n + k];
                sum += difference * difference;
                gradient += difference;
            }
            if (dmu)
                dmu[(int64_t)i * n + k] = from_float<T>(2.0f * weight * gradient);
        }
    }
    sum = block_sum(sum, shared);
    if (threadIdx.x == 0)
        partial[blockIdx.x] = sum;
}

template <typename T>
static void align_loss(OpsContext *c, void *value, void *dmu, const void *mu, const float *mel,
                       const Durations *d, const int32_t *text_len, int B, int T_rows, int M, int n,
                       float weight)
{
    CudaOps *o = ops_enter(c);
    int64_t symbols = (int64_t)B * T_rows;
    assert(symbols < (int64_t)1 << 31);
    if (symbols == 0)
        return;
    int blocks = fill_blocks(o, divide_up(symbols, WARPS), BLOCKS_PER_PROCESSOR);
    float *partial = (float *)ops_scratch(c);
    LAUNCH(o, "align loss", blocks, THREADS, 0, align_loss_kernel<T>, partial, (T *)dmu, (const T *)mu, mel,
           *d, text_len, (uint32_t)symbols, T_rows, M, n, weight);
    ops_add_partials(o, (float *)value, partial, blocks, 1, 1, weight, 1);
}

/* By value to the kernel. */
typedef struct TraitWeights {
    float of[TRAIT_COUNT];
} TraitWeights;

/* partial [blocks, TRAIT_COUNT], weights in them; a thread for each symbol. */
template <typename T>
__global__ void __launch_bounds__(THREADS)
    traits_loss_kernel(float *partial, T *dpred, const T *pred, const int32_t *frames, const float *pitch,
                       const float *energy, const int32_t *len, uint32_t symbols, int T_rows,
                       TraitWeights weight)
{
    __shared__ float shared[32];
    float sum[TRAIT_COUNT] = {};
    for (uint32_t i = blockIdx.x * THREADS + threadIdx.x; i < symbols; i += gridDim.x * THREADS) {
        uint32_t b = i / (uint32_t)T_rows;
        float g[TRAIT_COUNT] = {};
        if ((int)(i - b * T_rows) < len[b]) {
            const T *p = pred + (int64_t)i * TRAIT_COUNT;
            /* Duration: the Poisson deviance over 2; pitch and energy: squares. As in symbols_host.c. */
            float l = to_float(p[TRAIT_DURATION]), d = (float)max(frames[i], 1), e = expf(l);
            float dp = to_float(p[TRAIT_PITCH]) - pitch[i], de = to_float(p[TRAIT_ENERGY]) - energy[i];
            sum[TRAIT_DURATION] += e - d + d * (logf(d) - l);
            sum[TRAIT_PITCH] += dp * dp;
            sum[TRAIT_ENERGY] += de * de;
            g[TRAIT_DURATION] = weight.of[TRAIT_DURATION] * (e - d);
            g[TRAIT_PITCH] = weight.of[TRAIT_PITCH] * 2.0f * dp;
            g[TRAIT_ENERGY] = weight.of[TRAIT_ENERGY] * 2.0f * de;
        }
        if (dpred)
#pragma unroll
            for (int k = 0; k < TRAIT_COUNT; k++)
                dpred[(int64_t)i * TRAIT_COUNT + k] = from_float<T>(g[k]);
    }
#pragma unroll
    for (int k = 0; k < TRAIT_COUNT; k++) {
        float all = block_sum(sum[k], shared);
        if (threadIdx.x == 0)
            partial[blockIdx.x * TRAIT_COUNT + k] = weight.of[k] * all;
    }
}

template <typename T>
static void traits_loss(OpsContext *c, void *values, void *dpred, const void *pred, const int32_t *frames,
                        const float *pitch, const float *energy, const int32_t *len, int B, int T_rows,
                        const float weight[TRAIT_COUNT])
{
    CudaOps *o = ops_enter(c);
    int64_t symbols = (int64_t)B * T_rows;
    assert(symbols < (int64_t)1 << 31);
    if (symbols == 0)
        return;
    TraitWeights w;
    for (int k = 0; k < TRAIT_COUNT; k++)
        w.of[k] = weight[k];
    int blocks = fill_blocks(o, divide_up(symbols, THREADS), BLOCKS_PER_PROCESSOR);
    float *partial = (float *)ops_scratch(c);
    LAUNCH(o, "loss of traits", blocks, THREADS, 0, traits_loss_kernel<T>, partial, (T *)dpred,
           (const T *)pred, frames, pitch, energy, len, (uint32_t)symbols, T_rows, w);
    ops_add_partials(o, (float *)values, partial, blocks, TRAIT_COUNT, TRAIT_COUNT, 1.0f, 1);
}

template <typename T> void symbols_fill(Ops *ops)
{
    ops->repeat_forward = repeat_forward<T>;
    ops->repeat_backward = repeat_backward<T>;
    ops->symbol_means = symbol_means;
    ops->add_traits_forward = add_traits_forward<T>;
    ops->add_traits_backward = add_traits_backward<T>;
    ops->align_loss = align_loss<T>;
    ops->traits_loss = traits_loss<T>;
}

template void symbols_fill<float>(Ops *ops);
template void symbols_fill<bf16>(Ops *ops);
