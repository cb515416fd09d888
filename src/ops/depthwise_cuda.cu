/* depthwise_cuda.cu - convolution over time with one filter for each channel. A batch of segments is short,
 * so a thread has few rows of one or two channels, and keeps the taps, or the rows around its own, in
 * registers. Filters with fewer taps than TAPS are filled up with zeros. */
#include "ops/ops_cuda.h"

#define THREADS 128
#define TAPS 7
#define HALF (TAPS / 2)
#define STRIP 8      /* rows of a thread */
#define PART_ROWS 16 /* least rows of a partial sum */
#define PARTS 2048   /* most partial sums */

template <int V, typename T> __device__ __forceinline__ void load_pair(float *x, const T *p)
{
    if constexpr (V == 1) {
        x[0] = to_float(*p);
    } else if constexpr (sizeof(T) == 2) {
        float2 v = __bfloat1622float2(*(const __nv_bfloat162 *)p);
        x[0] = v.x;
        x[1] = v.y;
    } else {
        float2 v = *(const float2 *)p;
        x[0] = v.x;
        x[1] = v.y;
    }
}

template <int V, typename T> __device__ __forceinline__ void store_pair(T *p, const float *x)
{
    if constexpr (V == 1)
        *p = from_float<T>(x[0]);
    else if constexpr (sizeof(T) == 2)
        *(__nv_bfloat162 *)p = __floats2bfloat162_rn(x[0], x[1]);
    else
        *(float2 *)p = make_float2(x[0], x[1]);
}

/* to[t] = start + the sum over taps of from[t + step * (k - K / 2)] w[k]; rows past the length are zero. */
template <typename T, int V>
__global__ void __launch_bounds__(THREADS) filter_kernel(T *to, const T *from, const T *w, const T *start,
                                                         const int32_t *len, int rows, int C, int K, int step)
{
    int c = (blockIdx.x * THREADS + threadIdx.x) * V, t0 = blockIdx.y * STRIP, b = blockIdx.z;
    if (c >= C)
        return;
    int length = len ? min(max(len[b], 0), rows) : rows;
    from += (int64_t)b * rows * C + c;
    to += (int64_t)b * rows * C + c;
    float x[STRIP + TAPS - 1][V] = {}, tap[TAPS][V] = {}, begin[V] = {};
#pragma unroll
    for (int j = 0; j < STRIP + TAPS - 1; j++) {
        int t = t0 + j - HALF;
        if (t >= 0 && t < length)
            load_pair<V>(x[j], from + (int64_t)t * C);
    }
#pragma unroll
    for (int k = 0; k < TAPS; k++) {
        int at = step * (k - HALF) + K / 2;
        if (at >= 0 && at < K)
            load_pair<V>(tap[k], w + (int64_t)at * C + c);
    }
    if (start)
        load_pair<V>(begin, start + c);
#pragma unroll
    for (int j = 0; j < STRIP; j++) {
        float sum[V];
#pragma unroll
        for (int v = 0; v < V; v++) {
            sum[v] = begin[v];
#pragma unroll
            for (int k = 0; k < TAPS; k++)
                sum[v] += x[j + k][v] * tap[k][v];
            sum[v] = t0 + j < length ? sum[v] : 0.0f;
        }
        if (t0 + j < rows)
            store_pair<V>(to + (int64_t)(t0 + j) * C, sum);
    }
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
    float sum[TAPS + 1][V] = {};
    int64_t first = (int64_t)blockIdx.y * part_rows, end = min(first + part_rows, (int64_t)B * rows);
    /* A part may reach over several items. */
    for (int64_t row = first; row < end;) {
        int b = (int)(row / rows), t0 = (int)(row % rows), length = len ? min(max(len[b], 0), rows) : rows;
        int stop = (int)min((int64_t)rows, t0 + end - row), last = min(stop, length);
        const T *x_at = in + (int64_t)b * rows * C + c, *g_at = dout + (int64_t)b * rows * C + c;
        float x[TAPS][V] = {}; /* rows t - HALF .. t + HALF */
#pragma unroll
        for (int k = 0; k < TAPS - 1; k++)
            if (t0 + k - HALF >= 0 && t0 + k - HALF < length)
                load_pair<V>(x[k + 1], x_at + (int64_t)(t0 + k - HALF) * C);
#pragma unroll 8
        for (int t = t0; t < last; t++) {
            float g[V], next[V] = {};
            load_pair<V>(g, g_at + (int64_t)t * C);
            if (t + HALF < length)
                load_pair<V>(next, x_at + (int64_t)(t + HALF) * C);
#pragma unroll
            for (int v = 0; v < V; v++) {
#pragma unroll
                for (int k = 0; k < TAPS - 1; k++)
                    x[k][v] = x[k + 1][v];
                x[TAPS - 1][v] = next[v];
#pragma unroll
                for (int k = 0; k < TAPS; k++)
                    sum[k][v] += x[k][v] * g[v];
                sum[TAPS][v] += g[v];
            }
        }
        row += stop - t0;
    }
    float *to = partial + (int64_t)blockIdx.y * (K + 1) * C + c;
#pragma unroll
    for (int k = 0; k < TAPS; k++) {
        int at = k - HALF + K / 2;
        if (at >= 0 && at < K)
#pragma unroll
            for (int v = 0; v < V; v++)
                to[(int64_t)at * C + v] = sum[k][v];
    }
#pragma unroll
    for (int v = 0; v < V; v++)
        to[(int64_t)K * C + v] = sum[TAPS][v];
}

template <typename T>
static void filter(CudaOps *o, const char *name, void *to, const void *from, const void *w, const void *start,
                   const int32_t *len, int B, int rows, int C, int K, int step)
{
    int wide = C % 2 == 0 && is_aligned(to) && is_aligned(from) && is_aligned(w) && is_aligned(start);
    dim3 grid((unsigned)divide_up(C, THREADS * (wide ? 2 : 1)), (unsigned)divide_up(rows, STRIP),
              (unsigned)B);
    if (wide)
        LAUNCH(o, name, grid, THREADS, 0, (filter_kernel<T, 2>), (T *)to, (const T *)from, (const T *)w,
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
    assert(K % 2 == 1 && K <= TAPS && B <= 65535);
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
    assert(K % 2 == 1 && K <= TAPS && B <= 65535);
    if (B == 0 || rows == 0)
        return;
    if (din)
        filter<T>(o, "depthwise backward", din, dout, w, NULL, len, B, rows, C, K, -1);
    int64_t all = (int64_t)B * rows, room = (int64_t)(ops_scratch_bytes(c) / sizeof(float)) / ((K + 1) * C);
    int parts = at_most(at_most(divide_up(all, PART_ROWS), PARTS), room);
    assert(parts >= 1);
    int part_rows = (int)divide_up(all, parts);
    float *partial = (float *)ops_scratch(c);
    int wide = C % 2 == 0 && is_aligned(dout) && is_aligned(in);
    dim3 grid((unsigned)divide_up(C, THREADS * (wide ? 2 : 1)), (unsigned)divide_up(all, part_rows));
    if (wide)
        LAUNCH(o, "depthwise weights", grid, THREADS, 0, (weights_kernel<T, 2>), partial, (const T *)dout,
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
