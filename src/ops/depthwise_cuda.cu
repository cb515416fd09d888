/* depthwise_cuda.cu - convolution over time with one filter for each channel. A thread has V neighbouring
 * channels and STRIP rows of them: an input row is loaded once and added to all the outputs that see it. */
#include "ops/ops_cuda.h"

#define THREADS 128
#define STRIP 8         /* rows of a thread */
#define MOST_TAPS 15    /* of a filter */
#define SUM_ROWS 64     /* least rows of a partial sum */
#define SUM_BLOCKS 1024 /* most partial sums */

/* to[t] = start + the sum over taps of from[t + step * (k - K / 2)] w[k]; rows past the length are zero. */
template <typename T, int V>
__global__ void __launch_bounds__(THREADS) filter_kernel(T *to, const T *from, const T *w, const T *start,
                                                         const int32_t *len, int rows, int C, int K, int step)
{
    int c = (blockIdx.x * THREADS + threadIdx.x) * V, t0 = blockIdx.y * STRIP, b = blockIdx.z;
    if (c >= C)
        return;
    int length = len ? min(max(len[b], 0), rows) : rows, half = K / 2;
    from += (int64_t)b * rows * C + c;
    to += (int64_t)b * rows * C + c;
    float sum[STRIP][V];
    float begin[V] = {};
    if (start)
        load_some<V>(begin, start + c);
#pragma unroll
    for (int j = 0; j < STRIP; j++)
#pragma unroll
        for (int v = 0; v < V; v++)
            sum[j][v] = begin[v];
    for (int t = max(t0 - half, 0); t < min(t0 + STRIP + half, length); t++) {
        float x[V];
        load_some<V>(x, from + (int64_t)t * C);
#pragma unroll
        for (int j = 0; j < STRIP; j++) {
            int k = step * (t - t0 - j) + half;
            if (k < 0 || k >= K)
                continue;
            float f[V];
            load_some<V>(f, w + (int64_t)k * C + c);
#pragma unroll
            for (int v = 0; v < V; v++)
                sum[j][v] += x[v] * f[v];
        }
    }
    const float zero[V] = {};
#pragma unroll
    for (int j = 0; j < STRIP; j++)
        if (t0 + j < rows)
            store_some<V>(to + (int64_t)(t0 + j) * C, t0 + j < length ? sum[j] : zero);
}

/* partial [gridDim.y][K + 1][C]: the gradients of w and bias over the rows of one part. */
template <typename T, int V>
__global__ void __launch_bounds__(THREADS)
    weights_kernel(float *partial, const T *dout, const T *in, const int32_t *len, int B, int rows, int C,
                   int K, int part_rows)
{
    int c = (blockIdx.x * THREADS + threadIdx.x) * V;
    if (c >= C)
        return;
    float sum[MOST_TAPS + 1][V] = {};
    int64_t first = (int64_t)blockIdx.y * part_rows, end = min(first + part_rows, (int64_t)B * rows);
    for (int64_t row = first; row < end; row++) {
        int b = (int)(row / rows), t = (int)(row % rows), length = len ? min(max(len[b], 0), rows) : rows;
        if (t >= length)
            continue;
        float g[V];
        load_some<V>(g, dout + row * C + c);
#pragma unroll
        for (int k = 0; k < MOST_TAPS; k++) {
            int at = t + k - K / 2;
            if (k >= K || at < 0 || at >= length)
                continue;
            float x[V];
            load_some<V>(x, in + (row - t + at) * C + c);
#pragma unroll
            for (int v = 0; v < V; v++)
                sum[k][v] += x[v] * g[v];
        }
#pragma unroll
        for (int v = 0; v < V; v++)
            sum[MOST_TAPS][v] += g[v];
    }
    float *to = partial + (int64_t)blockIdx.y * (K + 1) * C + c;
#pragma unroll
    for (int k = 0; k < MOST_TAPS; k++)
        if (k < K)
#pragma unroll
            for (int v = 0; v < V; v++)
                to[(int64_t)k * C + v] = sum[k][v];
#pragma unroll
    for (int v = 0; v < V; v++)
        to[(int64_t)K * C + v] = sum[MOST_TAPS][v];
}

template <typename T>
static void filter(CudaOps *o, const char *name, void *to, const void *from, const void *w, const void *start,
                   const int32_t *len, int B, int rows, int C, int K, int step)
{
    int wide = C % 8 == 0 && is_aligned(to) && is_aligned(from) && is_aligned(w) && is_aligned(start);
    dim3 grid((unsigned)divide_up(C, THREADS * (wide ? 8 : 1)), (unsigned)divide_up(rows, STRIP),
              (unsigned)B);
    if (wide)
        LAUNCH(o, name, grid, THREADS, 0, (filter_kernel<T, 8>), (T *)to, (const T *)from, (const T *)w,
               (const T *)start, len, rows, C, K, step);
    else
        LAUNCH(o, name, grid, THREADS, 0, (filter_kernel<T, 1>), (T *)to, (const T *)from, (const T *)w,
               (const T *)start, len, rows, C, K, step);
}

template <typename T>
static void depthwise_forward(OpsContext *c, void *out, const void *in, const void *w, const void *bias,
                              const int32_t *len, int B, int rows, int C, int K)
{
    CudaOps *o = ops_enter(c);
    assert(K % 2 == 1 && K <= MOST_TAPS);
    if (B == 0 || rows == 0)
        return;
    filter<T>(o, "depthwise", out, in, w, bias, len, B, rows, C, K, 1);
}

template <typename T>
static void depthwise_backward(OpsContext *c, void *din, void *dw, void *dbias, const void *dout,
                               const void *in, const void *w, const int32_t *len, int B, int rows, int C,
                               int K)
{
    CudaOps *o = ops_enter(c);
    assert(K % 2 == 1 && K <= MOST_TAPS);
    if (B == 0 || rows == 0)
        return;
    if (din)
        filter<T>(o, "depthwise backward", din, dout, w, NULL, len, B, rows, C, K, -1);
    int64_t all = (int64_t)B * rows, room = (int64_t)(ops_scratch_bytes(c) / sizeof(float)) / ((K + 1) * C);
    int parts = at_most(at_most(divide_up(all, SUM_ROWS), SUM_BLOCKS), room);
    assert(parts >= 1);
    int part_rows = (int)divide_up(all, parts);
    float *partial = (float *)ops_scratch(c);
    int wide = C % 8 == 0 && is_aligned(dout) && is_aligned(in);
    dim3 grid((unsigned)divide_up(C, THREADS * (wide ? 8 : 1)), (unsigned)divide_up(all, part_rows));
    if (wide)
        LAUNCH(o, "depthwise weights", grid, THREADS, 0, (weights_kernel<T, 8>), partial, (const T *)dout,
               (const T *)in, len, B, rows, C, K, part_rows);
    else
        LAUNCH(o, "depthwise weights", grid, THREADS, 0, (weights_kernel<T, 1>), partial, (const T *)dout,
               (const T *)in, len, B, rows, C, K, part_rows);
    int64_t stride = (int64_t)(K + 1) * C;
    ops_add_partials(o, (float *)dw, partial, (int)grid.y, stride, (int64_t)K * C, 1.0f, 1);
    ops_add_partials(o, (float *)dbias, partial + (int64_t)K * C, (int)grid.y, stride, C, 1.0f, 1);
}

template <typename T> void depthwise_fill(Ops *ops)
{
    ops->depthwise_forward = depthwise_forward<T>;
    ops->depthwise_backward = depthwise_backward<T>;
}

template void depthwise_fill<float>(Ops *ops);
template void depthwise_fill<bf16>(Ops *ops);
