/* embed_cuda.cu - symbols to vectors with sinusoidal positions. The gradient of the table is a sum over the
 * places where a symbol stands: a block for each symbol and each share of the text looks for them, so no two
 * blocks write the same number. */
#include "ops/cuda/ops_cuda.h"

#define THREADS 256
#define WARPS (THREADS / 32)
#define MOST_SHARES 16                  /* of the text */
#define LOG2_LONGEST 13.287712379549449 /* log2(10000): the slowest channel, in steps per radian */

/* Channel c at time t: sin for even c, cos for odd, of t * frequency. The angle is reduced in double: sinf
 * alone is off by 1e-4 at t = 1000. */
__device__ __forceinline__ double frequency(int c, int C)
{
    return exp2(-LOG2_LONGEST * (double)(c / 2 * 2) / (double)C);
}

__device__ __forceinline__ float position(int t, int c, double f)
{
    double turns = (double)t * f * 0.15915494309189535;
    float angle = (float)((turns - rint(turns)) * 6.283185307179586);
    return c % 2 ? cosf(angle) : sinf(angle);
}

/* A thread keeps its V channels and walks over time; a position serves all its items of the batch. */
template <typename T, int V>
__global__ void __launch_bounds__(THREADS)
    embed_forward_kernel(T *out, const int32_t *id, const T *table, const T *in, const T *alpha, int B,
                         int T_rows, int C, DropoutCuda drop)
{
    int c = (blockIdx.x * 32 + threadIdx.x % 32) * V;
    if (c >= C)
        return;
    float scale = to_float(*alpha);
    const DropoutDraw draw = dropout_draw(drop);
    double f[V];
#pragma unroll
    for (int j = 0; j < V; j++)
        f[j] = frequency(c + j, C);
    for (int t = blockIdx.y * WARPS + threadIdx.x / 32; t < T_rows; t += gridDim.y * WARPS) {
        float at[V];
#pragma unroll
        for (int j = 0; j < V; j++)
            at[j] = scale * position(t, c + j, f[j]);
#pragma unroll 4
        for (int b = blockIdx.z; b < B; b += gridDim.z) {
            int64_t row = (int64_t)b * T_rows + t;
            float x[V];
            load_some<V>(x, id ? table + (int64_t)id[row] * C + c : in + row * C + c);
#pragma unroll
            for (int j = 0; j < V; j++)
                x[j] += at[j];
            drop_some<V>(x, drop, draw, row * C + c);
            store_some<V>(out + row * C + c, x);
        }
    }
}

/* din (may be NULL), and partial [blocks]: sums of the gradient times the position, for alpha. */
template <typename T, int V>
__global__ void __launch_bounds__(THREADS)
    embed_backward_kernel(T *din, float *partial, const T *dout, const int32_t *len, int B, int T_rows, int C,
                          DropoutCuda drop)
{
    __shared__ float shared[32];
    int c = (blockIdx.x * 32 + threadIdx.x % 32) * V;
    const DropoutDraw draw = dropout_draw(drop);
    float sum = 0.0f;
    if (c < C) {
        double f[V];
#pragma unroll
        for (int j = 0; j < V; j++)
            f[j] = frequency(c + j, C);
        for (int t = blockIdx.y * WARPS + threadIdx.x / 32; t < T_rows; t += gridDim.y * WARPS) {
            float at[V];
#pragma unroll
            for (int j = 0; j < V; j++)
                at[j] = position(t, c + j, f[j]);
#pragma unroll 4
            for (int b = blockIdx.z; b < B; b += gridDim.z) {
                int64_t row = (int64_t)b * T_rows + t;
                float d[V];
                if (len && t >= len[b]) {
#pragma unroll
                    for (int j = 0; j < V; j++)
                        d[j] = 0.0f;
                } else {
                    load_some<V>(d, dout + row * C + c);
                    drop_some<V>(d, drop, draw, row * C + c);
#pragma unroll
                    for (int j = 0; j < V; j++)
                        sum += d[j] * at[j];
                }
                if (din)
                    store_some<V>(din + row * C + c, d);
            }
        }
    }
    sum = block_sum(sum, shared);
    if (partial && threadIdx.x == 0)
        partial[(blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x] = sum;
}

/* partial [shares, V, C]: the gradient of each symbol's row from one share of the text. blockIdx: symbol,
 * share. */
template <typename T>
__global__ void __launch_bounds__(THREADS)
    embed_table_kernel(float *partial, const T *dout, const int32_t *id, const int32_t *len, int64_t rows,
                       int T_rows, int C, int V, DropoutCuda drop)
{
    __shared__ int found[THREADS], counts[WARPS];
    int symbol = blockIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const DropoutDraw draw = dropout_draw(drop);
    int64_t share = (rows + gridDim.y - 1) / gridDim.y, from = blockIdx.y * share,
            to = min(from + share, rows);
    float *sums = partial + ((int64_t)blockIdx.y * V + symbol) * C;
    for (int c0 = 0; c0 < C; c0 += THREADS) {
        int c = c0 + threadIdx.x;
        float sum = 0.0f;
        for (int64_t row0 = from; row0 < to; row0 += THREADS) {
            int64_t row = row0 + threadIdx.x;
            int here = row < to && id[row] == symbol && !(len && row % T_rows >= len[row / T_rows]);
            /* Places of this symbol among the next THREADS rows, listed in their order: the sum does not
             * depend on who finds them. */
            unsigned mask = __ballot_sync(0xFFFFFFFFu, here);
            if (lane == 0)
                counts[warp] = __popc(mask);
            __syncthreads();
            int before = 0, all = 0;
            for (int w = 0; w < WARPS; w++) {
                before += w < warp ? counts[w] : 0;
                all += counts[w];
            }
            if (here)
                found[before + __popc(mask & ((1u << lane) - 1))] = threadIdx.x;
            __syncthreads();
            if (c < C)
#pragma unroll 4
                for (int i = 0; i < all; i++) {
                    int64_t at = (row0 + found[i]) * C + c;
                    float d = to_float(dout[at]);
                    drop_some<1>(&d, drop, draw, at);
                    sum += d;
                }
            __syncthreads();
        }
        if (c < C)
            sums[c] = sum;
    }
}

/* Channels, time, and shares of the batch as far as they are needed to fill the GPU. */
static dim3 embed_grid(const CudaOps *o, unsigned across, int T_rows, int B)
{
    int64_t wanted = (int64_t)o->processors * 8,
            times = at_most(divide_up(T_rows, WARPS), divide_up(wanted, across));
    return dim3(across, (unsigned)times, (unsigned)at_most(B, divide_up(wanted, across * times)));
}

template <typename T>
static void embed_forward(OpsContext *c, void *out, const int32_t *id, const void *table, const void *in,
                          const void *alpha, int B, int T_rows, int C, Dropout drop)
{
    CudaOps *o = ops_enter(c);
    int64_t rows = (int64_t)B * T_rows;
    if (rows == 0)
        return;
    int even = C % 8 == 0 && is_aligned(out) && is_aligned(id ? table : in);
    unsigned across = (unsigned)divide_up(C, even ? 256 : 32);
    dim3 grid = embed_grid(o, across, T_rows, B);
    auto launch = [&](auto kernel) {
        LAUNCH(o, "embed forward", grid, THREADS, 0, kernel, (T *)out, id, (const T *)table, (const T *)in,
               (const T *)alpha, B, T_rows, C, dropout_cuda(c, drop, rows * C));
    };
    if (even)
        launch(embed_forward_kernel<T, 8>);
    else
        launch(embed_forward_kernel<T, 1>);
}

template <typename T>
static void embed_backward(OpsContext *c, void *dtable, void *din, void *dalpha, const void *dout,
                           const int32_t *id, const int32_t *len, int B, int T_rows, int C, int V,
                           Dropout drop)
{
    CudaOps *o = ops_enter(c);
    int64_t rows = (int64_t)B * T_rows;
    if (rows == 0)
        return;
    DropoutCuda d = dropout_cuda(c, drop, rows * C);
    float *partial = (float *)ops_scratch(c);
    T *to = id ? NULL : (T *)din;
    /* Positions and input; then the table, which only symbols have. */
    if (dalpha || to) {
        int even = C % 8 == 0 && is_aligned(dout) && is_aligned(to);
        unsigned across = (unsigned)divide_up(C, even ? 256 : 32);
        dim3 grid = embed_grid(o, across, T_rows, B);
        auto launch = [&](auto kernel) {
            LAUNCH(o, "embed backward", grid, THREADS, 0, kernel, to, dalpha ? partial : NULL,
                   (const T *)dout, len, B, T_rows, C, d);
        };
        if (even)
            launch(embed_backward_kernel<T, 8>);
        else
            launch(embed_backward_kernel<T, 1>);
        if (dalpha)
            ops_add_partials(o, (float *)dalpha, partial, (int)(grid.x * grid.y * grid.z), 1, 1, 1.0f, 1);
    }
    if (id) {
        /* As many shares of the text as the scratch holds whole tables for. */
        int64_t most = (int64_t)(ops_scratch_bytes(c) / sizeof(float)) / ((int64_t)V * C);
        assert(most >= 1);
        int shares = at_most(divide_up(rows, THREADS), at_most(most, MOST_SHARES));
        dim3 grid((unsigned)V, (unsigned)shares);
        LAUNCH(o, "embed backward", grid, THREADS, 0, embed_table_kernel<T>, partial, (const T *)dout, id,
               len, rows, T_rows, C, V, d);
        ops_add_partials(o, (float *)dtable, partial, shares, (int64_t)V * C, (int64_t)V * C, 1.0f, 1);
    }
}

template <typename T> void embed_fill(Ops *ops)
{
    ops->embed_forward = embed_forward<T>;
    ops->embed_backward = embed_backward<T>;
}

template void embed_fill<float>(Ops *ops);
template void embed_fill<bf16>(Ops *ops);
