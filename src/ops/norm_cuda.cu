/* norm_cuda.cu - residual, dropout and layer norm in one pass; a warp for each row. Rows of up to 1024 channels stay in registers between
 * the sums; longer or odd ones are read again. */
#include <type_traits>

#include "ops/ops_cuda.h"

#define NORM_WARPS 8
#define BACKWARD_WARPS 4
#define NORM_EPS 1e-5f
#define NORM_MOST 1024 /* channels of a row in registers */

/* V: elements of one access; P: accesses of a lane for a row, 0 = as many as it takes, with every pass reading again. */
template <typename T, int V, int P>
__global__ void __launch_bounds__(32 * NORM_WARPS)
    norm_forward_kernel(T *sum, T *out, float *mean, float *rstd, const T *x, const T *y, const T *w, const T *b, int64_t R, int C,
                        DropoutCuda drop)
{
    int lane = threadIdx.x % 32;
    int64_t row = (int64_t)blockIdx.x * NORM_WARPS + threadIdx.x / 32;
    if (row >= R)
        return;
    uint64_t seed = dropout_seed(drop);
    const int passes = P ? P : (C + 32 * V - 1) / (32 * V);
    float kept[P ? P : 1][V], total = 0.0f;
    const T *again = y && !P ? sum : x; /* where a second pass finds the row */
#pragma unroll
    for (int pass = 0; pass < passes; pass++) {
        int c = (pass * 32 + lane) * V;
        float *v = kept[P ? pass : 0];
        if (c >= C) {
            for (int j = 0; j < V; j++)
                v[j] = 0.0f;
            continue;
        }
        int64_t i = row * C + c;
        load_some<V>(v, x + i);
        if (y) {
            float d[V];
            load_some<V>(d, y + i);
            drop_some<V>(d, drop, seed, i);
#pragma unroll
            for (int j = 0; j < V; j++)
                v[j] = rounded<T>(v[j] + d[j]);
        }
        if (y || (sum && sum != x))
            store_some<V>(sum + i, v);
#pragma unroll
        for (int j = 0; j < V; j++)
            total += v[j];
    }
    float average = warp_sum(total) / (float)C, square = 0.0f;
#pragma unroll
    for (int pass = 0; pass < passes; pass++) {
        int c = (pass * 32 + lane) * V;
        float *v = kept[P ? pass : 0];
        if (c >= C)
            continue;
        if (!P)
            load_some<V>(v, again + row * C + c);
#pragma unroll
        for (int j = 0; j < V; j++)
            square += (v[j] - average) * (v[j] - average);
    }
    float r = rsqrtf(warp_sum(square) / (float)C + NORM_EPS);
#pragma unroll
    for (int pass = 0; pass < passes; pass++) {
        int c = (pass * 32 + lane) * V;
        float *v = kept[P ? pass : 0], scale[V], shift[V];
        if (c >= C)
            continue;
        if (!P)
            load_some<V>(v, again + row * C + c);
        load_some<V>(scale, w + c);
        load_some<V>(shift, b + c);
#pragma unroll
        for (int j = 0; j < V; j++)
            v[j] = (v[j] - average) * r * scale[j] + shift[j];
        store_some<V>(out + row * C + c, v);
    }
    if (lane == 0) {
        mean[row] = average;
        rstd[row] = r;
    }
}

/* partial [blocks, 2, C]: sums of dout * normalised and of dout over the rows of a block. With P = 0 they are left to column kernels. */
template <typename T, int V, int P>
__global__ void __launch_bounds__(32 * BACKWARD_WARPS, P == 4   ? 2
                                                       : P == 3 ? 3
                                                                : 4)
    norm_backward_kernel(T *dx, T *dy, float *partial, const T *dout, const T *dsum, const T *sum, const float *mean,
                         const float *rstd, const T *w, int64_t R, int C, DropoutCuda drop)
{
    __shared__ float columns[P ? 2 * NORM_MOST : 1];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    uint64_t seed = dropout_seed(drop);
    const int passes = P ? P : (C + 32 * V - 1) / (32 * V);
    float dw[P ? P : 1][V], db[P ? P : 1][V];
#pragma unroll
    for (int pass = 0; pass < (P ? P : 1); pass++)
#pragma unroll
        for (int j = 0; j < V; j++)
            dw[pass][j] = db[pass][j] = 0.0f;
    for (int64_t row = (int64_t)blockIdx.x * BACKWARD_WARPS + warp; row < R; row += (int64_t)gridDim.x * BACKWARD_WARPS) {
        float average = mean[row], r = rstd[row], sum1 = 0.0f, sum2 = 0.0f;
        float g[P ? P : 1][V], n[P ? P : 1][V]; /* gradient of the normalised row, and that row */
#pragma unroll
        for (int pass = 0; pass < passes; pass++) {
            int c = (pass * 32 + lane) * V, at = P ? pass : 0;
            if (c >= C)
                continue;
            float scale[V];
            load_some<V>(g[at], dout + row * C + c);
            load_some<V>(n[at], sum + row * C + c);
            load_some<V>(scale, w + c);
#pragma unroll
            for (int j = 0; j < V; j++) {
                n[at][j] = (n[at][j] - average) * r;
                dw[at][j] += g[at][j] * n[at][j];
                db[at][j] += g[at][j];
                g[at][j] *= scale[j];
                sum1 += g[at][j];
                sum2 += g[at][j] * n[at][j];
            }
        }
        sum1 = warp_sum(sum1) / (float)C;
        sum2 = warp_sum(sum2) / (float)C;
#pragma unroll
        for (int pass = 0; pass < passes; pass++) {
            int c = (pass * 32 + lane) * V, at = P ? pass : 0;
            if (c >= C)
                continue;
            int64_t i = row * C + c;
            if (!P) {
                float scale[V];
                load_some<V>(g[at], dout + i);
                load_some<V>(n[at], sum + i);
                load_some<V>(scale, w + c);
#pragma unroll
                for (int j = 0; j < V; j++) {
                    n[at][j] = (n[at][j] - average) * r;
                    g[at][j] *= scale[j];
                }
            }
            float d[V];
            if (dsum)
                load_some<V>(d, dsum + i);
#pragma unroll
            for (int j = 0; j < V; j++)
                d[j] = (dsum ? d[j] : 0.0f) + r * (g[at][j] - sum1 - n[at][j] * sum2);
            store_some<V>(dx + i, d);
            if (dy) {
#pragma unroll
                for (int j = 0; j < V; j++)
                    d[j] = rounded<T>(d[j]);
                drop_some<V>(d, drop, seed, i);
                store_some<V>(dy + i, d);
            }
        }
    }
    if constexpr (P > 0) {
        for (int turn = 0; turn < BACKWARD_WARPS; turn++) {
            if (turn == warp)
#pragma unroll
                for (int pass = 0; pass < P; pass++) {
                    int c = (pass * 32 + lane) * V;
                    if (c >= C)
                        continue;
#pragma unroll
                    for (int j = 0; j < V; j++) {
                        columns[c + j] = (turn ? columns[c + j] : 0.0f) + dw[pass][j];
                        columns[NORM_MOST + c + j] = (turn ? columns[NORM_MOST + c + j] : 0.0f) + db[pass][j];
                    }
                }
            __syncthreads();
        }
        for (int c = threadIdx.x; c < C; c += blockDim.x) {
            partial[(int64_t)blockIdx.x * 2 * C + c] = columns[c];
            partial[(int64_t)blockIdx.x * 2 * C + C + c] = columns[NORM_MOST + c];
        }
    }
}

/* The same partial sums, for rows that do not fit into registers: a block for 32 columns and a share of the rows. */
template <typename T>
__global__ void __launch_bounds__(32 * NORM_WARPS)
    norm_columns_kernel(float *partial, const T *dout, const T *sum, const float *mean, const float *rstd, int64_t R, int C)
{
    __shared__ float dw[NORM_WARPS][32], db[NORM_WARPS][32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, c = blockIdx.x * 32 + lane;
    float a = 0.0f, b = 0.0f;
    if (c < C)
        for (int64_t row = (int64_t)blockIdx.y * NORM_WARPS + warp; row < R; row += (int64_t)gridDim.y * NORM_WARPS) {
            float g = to_float(dout[row * C + c]);
            a += g * (to_float(sum[row * C + c]) - mean[row]) * rstd[row];
            b += g;
        }
    dw[warp][lane] = a, db[warp][lane] = b;
    __syncthreads();
    if (warp != 0 || c >= C)
        return;
    for (int i = 1; i < NORM_WARPS; i++)
        a += dw[i][lane], b += db[i][lane];
    partial[(int64_t)blockIdx.y * 2 * C + c] = a;
    partial[(int64_t)blockIdx.y * 2 * C + C + c] = b;
}

/* Calls f with the number of accesses per lane as a constant. */
template <typename F> static void with_passes(int passes, F f)
{
    switch (passes) {
    case 1:
        return f(std::integral_constant<int, 1>());
    case 2:
        return f(std::integral_constant<int, 2>());
    case 3:
        return f(std::integral_constant<int, 3>());
    default:
        return f(std::integral_constant<int, 4>());
    }
}

template <typename T>
static void norm_forward(OpsContext *c, void *sum, void *out, void *mean, void *rstd, const void *x, const void *y, const void *w,
                         const void *b, int64_t R, int C, Dropout drop)
{
    CudaOps *o = ops_enter(c);
    assert(R >= 0 && C > 0);
    if (R == 0)
        return;
    unsigned blocks = (unsigned)divide_up(R, NORM_WARPS);
    DropoutCuda d = dropout_cuda(c, drop);
    auto launch = [&](auto kernel) {
        LAUNCH(o, "norm forward", blocks, 32 * NORM_WARPS, 0, kernel, (T *)sum, (T *)out, (float *)mean, (float *)rstd,
               (const T *)x, (const T *)y, (const T *)w, (const T *)b, R, C, d);
    };
    int even = C % 8 == 0 && is_aligned(sum) && is_aligned(out) && is_aligned(x) && is_aligned(y) && is_aligned(w) && is_aligned(b);
    if (even && C <= NORM_MOST)
        with_passes((C + 255) / 256, [&](auto p) { launch(norm_forward_kernel<T, 8, decltype(p)::value>); });
    else if (even)
        launch(norm_forward_kernel<T, 8, 0>);
    else
        launch(norm_forward_kernel<T, 1, 0>);
}

template <typename T>
static void norm_backward(OpsContext *c, void *dx, void *dy, void *dw, void *db, const void *dout, const void *dsum,
                          const void *sum, const void *mean, const void *rstd, const void *w, int64_t R, int C, Dropout drop)
{
    CudaOps *o = ops_enter(c);
    assert(R >= 0 && C > 0);
    if (R == 0)
        return;
    float *partial = (float *)ops_scratch(c);
    DropoutCuda d = dropout_cuda(c, drop);
    int64_t most = (int64_t)(ops_scratch_bytes(c) / (2 * sizeof(float) * (size_t)C));
    int resident = C > 768 ? 2 : C > 512 ? 3 : 4; /* blocks of a multiprocessor, as in the launch bounds */
    int rows = at_most(fill_blocks(o, divide_up(R, BACKWARD_WARPS), resident), most);
    auto launch = [&](auto kernel, int blocks) {
        LAUNCH(o, "norm backward", blocks, 32 * BACKWARD_WARPS, 0, kernel, (T *)dx, (T *)dy, partial, (const T *)dout,
               (const T *)dsum, (const T *)sum, (const float *)mean, (const float *)rstd, (const T *)w, R, C, d);
    };
    int even =
        C % 8 == 0 && is_aligned(dx) && is_aligned(dy) && is_aligned(dout) && is_aligned(dsum) && is_aligned(sum) && is_aligned(w);
    if (even && C <= NORM_MOST) {
        with_passes((C + 255) / 256, [&](auto p) { launch(norm_backward_kernel<T, 8, decltype(p)::value>, rows); });
    } else {
        rows = at_most(divide_up(R, NORM_WARPS), at_most(most, 64));
        dim3 grid((unsigned)divide_up(C, 32), (unsigned)rows);
        LAUNCH(o, "norm backward", grid, 32 * NORM_WARPS, 0, norm_columns_kernel<T>, partial, (const T *)dout, (const T *)sum,
               (const float *)mean, (const float *)rstd, R, C);
        if (even)
            launch(norm_backward_kernel<T, 8, 0>, (int)divide_up(R, BACKWARD_WARPS));
        else
            launch(norm_backward_kernel<T, 1, 0>, (int)divide_up(R, BACKWARD_WARPS));
    }
    ops_add_partials(o, (float *)dw, partial, rows, 2 * C, C, 1.0f, 1);
    ops_add_partials(o, (float *)db, partial + C, rows, 2 * C, C, 1.0f, 1);
}

template <typename T> void norm_fill(Ops *ops)
{
    ops->norm_forward = norm_forward<T>;
    ops->norm_backward = norm_backward<T>;
}

template void norm_fill<float>(Ops *ops);
template void norm_fill<bf16>(Ops *ops);
