/* pointwise_cuda.cu - ops that read each element once: gradients of activations with the column sums of the
 * bias, dropout, sums, means over time, broadcasts, frames in groups, and changes of type. */
#include "ops/cuda/ops_cuda.h"

#define THREADS 256
#define WARPS (THREADS / 32)
#define BLOCKS_PER_PROCESSOR 16

/* ---- activations ---- */

/* The block's sums of columns, lane by lane, to partial [gridDim.y, N]. */
template <int V>
__device__ __forceinline__ void put_column_sums(float *partial, const float *sum, float (*sums)[32 * V],
                                                int N)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
    for (int j = 0; j < V; j++)
        sums[warp][j * 32 + lane] = sum[j]; /* one bank for each lane */
    __syncthreads();
    for (int at = threadIdx.x; at < 32 * V; at += THREADS) {
        int to = (blockIdx.x * 32 + at % 32) * V + at / 32;
        float total = 0.0f;
        for (int w = 0; w < WARPS; w++)
            total += sums[w][at];
        if (to < N)
            partial[(int64_t)blockIdx.y * N + to] = total;
    }
}

/* From the result y, as ops.h promises: ReLU and tanh need no input. */
__device__ __forceinline__ float activation_gradient(float d, float y, int act)
{
    return act == ACT_RELU ? (y > 0.0f ? d : 0.0f) : d * (1.0f - y * y);
}

/* Rows with lengths are counted in 32 bits: 64-bit division costs more than the rest. */
__device__ __forceinline__ bool is_padding(int64_t row, const int32_t *len, int T_rows)
{
    uint32_t b = (uint32_t)row / (uint32_t)T_rows;
    return (int)((uint32_t)row - b * (uint32_t)T_rows) >= len[b];
}

#define ROWS_AT_ONCE 4

/* A block for 256 columns and a share of the rows; four rows of a warp are on their way at once. */
template <typename T, int ACT, bool LENGTHS>
__global__ void __launch_bounds__(THREADS)
    activation_backward_kernel(T *dout, float *partial, const T *out, int64_t M, int N, const int32_t *len,
                               int T_rows)
{
    __shared__ float sums[WARPS][32 * 8];
    int column = (blockIdx.x * 32 + threadIdx.x % 32) * 8;
    float sum[8] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
    const int64_t stride = (int64_t)gridDim.y * WARPS;
    if (column < N)
        for (int64_t row0 = (int64_t)blockIdx.y * WARPS + threadIdx.x / 32; row0 < M;
             row0 += ROWS_AT_ONCE * stride) {
            /* All loads first, then the arithmetic: the rows wait for memory together. */
            Piece<T> pd[ROWS_AT_ONCE], py[ROWS_AT_ONCE];
            bool padding[ROWS_AT_ONCE];
#pragma unroll
            for (int u = 0; u < ROWS_AT_ONCE; u++) {
                int64_t row = row0 + u * stride;
                padding[u] = LENGTHS && row < M && is_padding(row, len, T_rows);
                if (row < M && !padding[u]) {
                    pd[u].load(dout + row * N + column);
                    if (ACT != ACT_NONE)
                        py[u].load(out + row * N + column);
                }
            }
#pragma unroll
            for (int u = 0; u < ROWS_AT_ONCE; u++) {
                int64_t row = row0 + u * stride;
                if (row >= M)
                    continue;
                /* The gradient of padding is zero, and the next product reads it. */
                if (LENGTHS && padding[u]) {
                    pd[u].clear();
                    pd[u].store(dout + row * N + column);
                    continue;
                }
                float d[8], y[8];
                pd[u].unpack(d);
                if (ACT != ACT_NONE)
                    py[u].unpack(y);
#pragma unroll
                for (int j = 0; j < 8; j++) {
                    if (ACT != ACT_NONE)
                        d[j] = rounded<T>(activation_gradient(d[j], y[j], ACT));
                    sum[j] += d[j];
                }
                if (ACT != ACT_NONE)
                    store8(dout + row * N + column, d);
            }
        }
    if (partial)
        put_column_sums<8>(partial, sum, sums, N);
}

/* The same for any number of columns; a block for 32 of them. */
template <typename T>
__global__ void __launch_bounds__(THREADS)
    activation_backward_any_kernel(T *dout, float *partial, const T *out, int64_t M, int N, int act,
                                   const int32_t *len, int T_rows)
{
    __shared__ float sums[WARPS][32];
    int column = blockIdx.x * 32 + threadIdx.x % 32;
    float sum = 0.0f;
    if (column < N)
        for (int64_t row = (int64_t)blockIdx.y * WARPS + threadIdx.x / 32; row < M;
             row += (int64_t)gridDim.y * WARPS) {
            int64_t i = row * N + column;
            int padding = len && is_padding(row, len, T_rows);
            float d = padding ? 0.0f : to_float(dout[i]);
            if (!padding && act != ACT_NONE)
                d = rounded<T>(activation_gradient(d, to_float(out[i]), act));
            if (padding || act != ACT_NONE)
                dout[i] = from_float<T>(d);
            sum += d;
        }
    if (partial)
        put_column_sums<1>(partial, &sum, sums, N);
}

/* Chooses the kernel: eight columns at once where widths and addresses allow it. Sums of columns are made
 * per share of the rows, then added in order. */
template <typename T>
static void activation_backward(OpsContext *c, void *dout, void *dbias, const void *out, int64_t M, int N,
                                Activation act, const int32_t *len, int T_rows)
{
    CudaOps *o = (CudaOps *)c->own;
    assert(!len || M < (int64_t)1 << 32);
    int even = N % 8 == 0 && is_aligned(dout) && is_aligned(out);
    unsigned across = (unsigned)divide_up(N, even ? 256 : 32);
    /* About eight blocks for every multiprocessor, as far as the scratch holds their sums. */
    int64_t wanted = divide_up((int64_t)o->processors * 8, across);
    int rows =
        at_most(divide_up(M, WARPS), at_most(wanted, (int64_t)(ops_scratch_bytes(c) / sizeof(float)) / N));
    float *partial = dbias ? (float *)ops_scratch(c) : NULL;
    dim3 grid(across, (unsigned)rows);
    auto launch = [&](auto kernel) {
        LAUNCH(o, "gradient of an activation", grid, THREADS, 0, kernel, (T *)dout, partial, (const T *)out,
               M, N, len, T_rows);
    };
    if (!even)
        LAUNCH(o, "gradient of an activation", grid, THREADS, 0, activation_backward_any_kernel<T>, (T *)dout,
               partial, (const T *)out, M, N, (int)act, len, T_rows);
    else if (act == ACT_RELU)
        len ? launch(activation_backward_kernel<T, ACT_RELU, true>)
            : launch(activation_backward_kernel<T, ACT_RELU, false>);
    else if (act == ACT_TANH)
        len ? launch(activation_backward_kernel<T, ACT_TANH, true>)
            : launch(activation_backward_kernel<T, ACT_TANH, false>);
    else
        len ? launch(activation_backward_kernel<T, ACT_NONE, true>)
            : launch(activation_backward_kernel<T, ACT_NONE, false>);
    if (dbias)
        ops_add_partials(o, (float *)dbias, partial, rows, N, N, 1.0f, 1);
}

void ops_activation_backward(OpsContext *c, void *dout, void *dbias, const void *out, int64_t M, int N,
                             Activation act, const int32_t *len, int T)
{
    if (c->ops->real == REAL_F32)
        activation_backward<float>(c, dout, dbias, out, M, N, act, len, T);
    else
        activation_backward<bf16>(c, dout, dbias, out, M, N, act, len, T);
}

/* ---- over flat memory ---- */

/* out = f(i, a, b) for groups of V elements, b may be NULL. `n` counts elements; the odd end is left to a
 * second launch. */
template <typename A, typename T, int V, typename F>
__global__ void __launch_bounds__(THREADS)
    flat_kernel(T *out, const A *a, const A *b, int64_t first, int64_t n, F f)
{
    for (int64_t i = first + ((int64_t)blockIdx.x * THREADS + threadIdx.x) * V; i < n;
         i += (int64_t)gridDim.x * THREADS * V) {
        float x[V], y[V];
        load_some<V>(x, a + i);
        if (b)
            load_some<V>(y, b + i);
        f.template apply<V>(x, y, i);
        store_some<V>(out + i, x);
    }
}

/* Groups of eight as far as they go, then the rest one by one. */
template <typename A, typename T, typename F>
static void flat(CudaOps *o, const char *operation, T *out, const A *a, const A *b, int64_t n, F f)
{
    int64_t even = is_aligned(out) && is_aligned(a) && is_aligned(b) ? n / 8 * 8 : 0;
    if (even > 0) {
        auto kernel = flat_kernel<A, T, 8, F>;
        LAUNCH(o, operation, fill_blocks(o, divide_up(even / 8, THREADS), BLOCKS_PER_PROCESSOR), THREADS, 0,
               kernel, out, a, b, (int64_t)0, even, f);
    }
    if (even < n) {
        auto kernel = flat_kernel<A, T, 1, F>;
        LAUNCH(o, operation, fill_blocks(o, divide_up(n - even, THREADS), BLOCKS_PER_PROCESSOR), THREADS, 0,
               kernel, out, a, b, even, n, f);
    }
}

/* What flat_kernel does to its elements. */
struct DropFlat {
    DropoutCuda drop;
    template <int V> __device__ __forceinline__ void apply(float *x, const float *, int64_t i) const
    {
        drop_some<V>(x, drop, dropout_draw(drop), i);
    }
};

/* A share may begin anywhere in the eight elements that one draw serves. */
struct DropFlatOdd {
    DropoutCuda drop;
    template <int V> __device__ __forceinline__ void apply(float *x, const float *, int64_t i) const
    {
        const DropoutDraw draw = dropout_draw(drop);
#pragma unroll
        for (int j = 0; j < V; j++)
            drop_some<1>(x + j, drop, draw, i + j);
    }
};

struct AddFlat {
    template <int V> __device__ __forceinline__ void apply(float *x, const float *y, int64_t) const
    {
#pragma unroll
        for (int j = 0; j < V; j++)
            x[j] += y[j];
    }
};

struct CopyFlat {
    template <int V> __device__ __forceinline__ void apply(float *, const float *, int64_t) const {}
};

struct TanhFlat {
    template <int V> __device__ __forceinline__ void apply(float *x, const float *, int64_t) const
    {
#pragma unroll
        for (int j = 0; j < V; j++)
            x[j] = tanhf(x[j]);
    }
};

/* Rows at or past the length, which lie side by side; blockIdx.y: the batch item. */
template <typename T, int V>
__global__ void __launch_bounds__(THREADS) clear_padding_kernel(T *out, const int32_t *len, int T_rows, int N)
{
    int length = max(0, min(len[blockIdx.y], T_rows));
    int64_t n = (int64_t)(T_rows - length) * N;
    typename PieceOf<V, T>::type zeros;
    zeros.clear();
    out += ((int64_t)blockIdx.y * T_rows + length) * N;
    for (int64_t i = ((int64_t)blockIdx.x * THREADS + threadIdx.x) * V; i < n;
         i += (int64_t)gridDim.x * THREADS * V)
        zeros.store(out + i);
}

/* What a product leaves undone: tanh, and zeros in the padding. */
template <typename T>
static void finish_rows(CudaOps *o, T *out, int64_t M, int N, Activation act, const int32_t *len, int T_rows)
{
    if (act == ACT_TANH)
        flat(o, "tanh", out, (const T *)out, (const T *)NULL, M * N, TanhFlat{});
    if (!len)
        return;
    int even = N % 8 == 0 && is_aligned(out);
    int64_t items = M / T_rows, work = divide_up((int64_t)T_rows * N, THREADS * (even ? 8 : 1));
    auto kernel = even ? clear_padding_kernel<T, 8> : clear_padding_kernel<T, 1>;
    dim3 grid((unsigned)fill_blocks(o, work, (int)divide_up(BLOCKS_PER_PROCESSOR, items)), (unsigned)items);
    LAUNCH(o, "clear padding", grid, THREADS, 0, kernel, out, len, T_rows, N);
}

void ops_finish_rows(OpsContext *c, void *out, int64_t M, int N, Activation act, const int32_t *len, int T)
{
    if (c->ops->real == REAL_F32)
        finish_rows<float>((CudaOps *)c->own, (float *)out, M, N, act, len, T);
    else
        finish_rows<bf16>((CudaOps *)c->own, (bf16 *)out, M, N, act, len, T);
}

template <typename T>
static void dropout_forward(OpsContext *c, void *out, const void *in, int64_t n, Dropout drop)
{
    CudaOps *o = ops_enter(c);
    if (drop.p <= 0.0f && out == in)
        return;
    const DropoutCuda d = dropout_cuda(c, drop, n);
    if (n % 8 == 0)
        flat(o, "dropout", (T *)out, (const T *)in, (const T *)NULL, n, DropFlat{d});
    else
        flat(o, "dropout", (T *)out, (const T *)in, (const T *)NULL, n, DropFlatOdd{d});
}

template <typename T>
static void add_forward(OpsContext *c, void *out, const void *a, const void *b, int64_t n)
{
    flat(ops_enter(c), "add", (T *)out, (const T *)a, (const T *)b, n, AddFlat{});
}

template <typename T> static void convert(OpsContext *c, void *real_out, const void *acc_in, int64_t n)
{
    flat(ops_enter(c), "convert", (T *)real_out, (const float *)acc_in, (const float *)NULL, n, CopyFlat{});
}

template <typename T> static void unconvert(OpsContext *c, void *acc_out, const void *real_in, int64_t n)
{
    flat(ops_enter(c), "convert", (float *)acc_out, (const T *)real_in, (const T *)NULL, n, CopyFlat{});
}

/* ---- over time ---- */

/* out [B,T,C] = (in or nothing) + scale * v [B,C]; `means`: scale is 1 / len and rows at or past the length
 * are zero. */
template <typename T, int V>
__global__ void __launch_bounds__(THREADS)
    spread_kernel(T *out, const T *in, const T *v, const int32_t *len, int B, int T_rows, int C, int means)
{
    int64_t n = (int64_t)B * T_rows * C;
    for (int64_t i = ((int64_t)blockIdx.x * THREADS + threadIdx.x) * V; i < n;
         i += (int64_t)gridDim.x * THREADS * V) {
        int64_t row = i / C;
        int c = (int)(i - row * C), b = (int)(row / T_rows), t = (int)(row - (int64_t)b * T_rows);
        float x[V], y[V];
        load_some<V>(y, v + (int64_t)b * C + c);
        if (in)
            load_some<V>(x, in + i);
        /* A scale of 0 must not meet an infinity in v. */
        float scale = !means ? 1.0f : t < len[b] ? 1.0f / (float)min(len[b], T_rows) : 0.0f;
#pragma unroll
        for (int j = 0; j < V; j++)
            x[j] = (in ? x[j] : 0.0f) + (scale == 0.0f ? 0.0f : scale * y[j]);
        store_some<V>(out + i, x);
    }
}

/* Eight channels at once where the width allows it. */
template <typename T>
static void spread(CudaOps *o, void *out, const void *in, const void *v, const int32_t *len, int B,
                   int T_rows, int C, int means)
{
    int even = C % 8 == 0 && is_aligned(out) && is_aligned(in) && is_aligned(v);
    int64_t groups = (int64_t)B * T_rows * C / (even ? 8 : 1);
    if (groups == 0)
        return;
    int blocks = fill_blocks(o, divide_up(groups, THREADS), BLOCKS_PER_PROCESSOR);
    auto launch = [&](auto kernel) {
        LAUNCH(o, "add a vector", blocks, THREADS, 0, kernel, (T *)out, (const T *)in, (const T *)v, len, B,
               T_rows, C, means);
    };
    if (even)
        launch(spread_kernel<T, 8>);
    else
        launch(spread_kernel<T, 1>);
}

/* out [B,C] = (accumulate: out +) the sum over t < len[b] of in, or the mean. A block for 32 * V channels of
 * one b. */
template <typename T, int V>
__global__ void __launch_bounds__(THREADS)
    gather_kernel(T *out, const T *in, const int32_t *len, int T_rows, int C, int means, int accumulate)
{
    /* Every warp takes each eighth row; then their sums are added in order. */
    __shared__ float sums[WARPS][32 * V];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, c = (blockIdx.x * 32 + lane) * V, b = blockIdx.y;
    int rows = len ? min(len[b], T_rows) : T_rows;
    float sum[V], x[V];
#pragma unroll
    for (int j = 0; j < V; j++)
        sum[j] = 0.0f;
    if (c < C)
#pragma unroll 4
        for (int t = warp; t < rows; t += WARPS) {
            load_some<V>(x, in + ((int64_t)b * T_rows + t) * C + c);
#pragma unroll
            for (int j = 0; j < V; j++)
                sum[j] += x[j];
        }
#pragma unroll
    for (int j = 0; j < V; j++)
        sums[warp][j * 32 + lane] = sum[j];
    __syncthreads();
    for (int at = threadIdx.x; at < 32 * V; at += THREADS) {
        int channel = (blockIdx.x * 32 + at % 32) * V + at / 32;
        if (channel >= C)
            continue;
        float total = 0.0f;
        for (int w = 0; w < WARPS; w++)
            total += sums[w][at];
        if (means)
            total = rows > 0 ? total / (float)rows : 0.0f;
        T *to = out + (int64_t)b * C + channel;
        *to = from_float<T>(accumulate ? to_float(*to) + total : total);
    }
}

template <typename T>
static void gather(CudaOps *o, void *out, const void *in, const int32_t *len, int B, int T_rows, int C,
                   int means, int accumulate)
{
    int even = C % 8 == 0 && is_aligned(in) && C >= 256;
    dim3 grid((unsigned)divide_up(C, even ? 256 : 32), (unsigned)B);
    auto launch = [&](auto kernel) {
        LAUNCH(o, "sum over time", grid, THREADS, 0, kernel, (T *)out, (const T *)in, len, T_rows, C, means,
               accumulate);
    };
    if (even)
        launch(gather_kernel<T, 8>);
    else
        launch(gather_kernel<T, 1>);
}

template <typename T>
static void add_vector_forward(OpsContext *c, void *out, const void *in, const void *v, int B, int T_rows,
                               int C)
{
    spread<T>(ops_enter(c), out, in, v, NULL, B, T_rows, C, 0);
}

template <typename T>
static void add_vector_backward(OpsContext *c, void *dv, const void *dout, const int32_t *len, int B,
                                int T_rows, int C, int accumulate)
{
    gather<T>(ops_enter(c), dv, dout, len, B, T_rows, C, 0, accumulate);
}

template <typename T>
static void pool_forward(OpsContext *c, void *out, const void *in, const int32_t *len, int B, int T_rows,
                         int C)
{
    gather<T>(ops_enter(c), out, in, len, B, T_rows, C, 1, 0);
}

template <typename T>
static void pool_backward(OpsContext *c, void *din, const void *dout, const int32_t *len, int B, int T_rows,
                          int C)
{
    spread<T>(ops_enter(c), din, NULL, dout, len, B, T_rows, C, 1);
}

/* ---- broadcast and groups of frames ---- */

/* B copies of N numbers. */
template <typename T>
__global__ void __launch_bounds__(THREADS) broadcast_kernel(T *out, const T *in, int B, int64_t N)
{
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < B * N;
         i += (int64_t)gridDim.x * THREADS)
        out[i] = in[i % N];
}

/* The sum over the copies, in their order; a thread for each number. */
template <typename T>
__global__ void __launch_bounds__(THREADS)
    broadcast_backward_kernel(float *din, const T *dout, int B, int64_t N)
{
    int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= N)
        return;
    float sum = 0.0f;
    for (int b = 0; b < B; b++)
        sum += to_float(dout[b * N + i]);
    din[i] += sum;
}

template <typename T>
static void broadcast_forward(OpsContext *c, void *out, const void *in, int B, int64_t N)
{
    CudaOps *o = ops_enter(c);
    LAUNCH(o, "broadcast", fill_blocks(o, divide_up(B * N, THREADS), BLOCKS_PER_PROCESSOR), THREADS, 0,
           broadcast_kernel<T>, (T *)out, (const T *)in, B, N);
}

template <typename T>
static void broadcast_backward(OpsContext *c, void *din, const void *dout, int B, int64_t N)
{
    LAUNCH(ops_enter(c), "broadcast backward", (unsigned)divide_up(N, THREADS), THREADS, 0,
           broadcast_backward_kernel<T>, (float *)din, (const T *)dout, B, N);
}

/* blockIdx.y: the batch item. Groups are the frames as they are in memory; what is past the
 * length is zeros. */
template <typename T, int V>
__global__ void __launch_bounds__(THREADS)
    group_frames_kernel(T *out, const float *mel, const int32_t *len, int64_t in_item, int64_t out_item,
                        int T_rows, int n)
{
    int64_t valid = (int64_t)max(0, min(len[blockIdx.y], T_rows)) * n;
    mel += blockIdx.y * in_item;
    out += blockIdx.y * out_item;
    for (int64_t i = ((int64_t)blockIdx.x * THREADS + threadIdx.x) * V; i < out_item;
         i += (int64_t)gridDim.x * THREADS * V) {
        float x[V];
        if (i < valid) {
            load_some<V>(x, mel + i);
        } else {
#pragma unroll
            for (int j = 0; j < V; j++)
                x[j] = 0.0f;
        }
        store_some<V>(out + i, x);
    }
}

template <typename T>
static void group_frames(OpsContext *c, void *out, const float *mel, const int32_t *len, int B, int T_rows,
                         int r, int n)
{
    CudaOps *o = ops_enter(c);
    int64_t in_item = (int64_t)T_rows * n, out_item = divide_up(T_rows, r) * r * n;
    if (B == 0 || out_item == 0)
        return;
    int even = n % 8 == 0 && is_aligned(out) && is_aligned(mel);
    int blocks = fill_blocks(o, divide_up(out_item, THREADS * (even ? 8 : 1)), BLOCKS_PER_PROCESSOR);
    auto kernel = even ? group_frames_kernel<T, 8> : group_frames_kernel<T, 1>;
    LAUNCH(o, "group frames", dim3((unsigned)blocks, (unsigned)B), THREADS, 0, kernel, (T *)out, mel, len,
           in_item, out_item, T_rows, n);
}

template <typename T> void pointwise_fill(Ops *ops)
{
    ops->dropout_forward = dropout_forward<T>;
    ops->add_forward = add_forward<T>;
    ops->add_vector_forward = add_vector_forward<T>;
    ops->add_vector_backward = add_vector_backward<T>;
    ops->pool_forward = pool_forward<T>;
    ops->pool_backward = pool_backward<T>;
    ops->broadcast_forward = broadcast_forward<T>;
    ops->broadcast_backward = broadcast_backward<T>;
    ops->group_frames = group_frames<T>;
    ops->convert = convert<T>;
    ops->unconvert = unconvert<T>;
}

template void pointwise_fill<float>(Ops *ops);
template void pointwise_fill<bf16>(Ops *ops);
