/* norm_cuda.cu - residual, dropout and layer norm in one pass; forward a warp for each row, backward a block.
 * Rows of up to 1024 channels stay in registers between the sums; longer or odd ones are read again. */
#include <type_traits>

#include "ops/cuda/ops_cuda.h"

#define NORM_WARPS 8
#define BACKWARD_WARPS 4
#define NORM_EPS 1e-5f
#define NORM_MOST 1024 /* channels of a row in registers */
/* Warps of the backward kernel on a multiprocessor; all its blocks run at once. */
#define RESIDENT_WARPS(T) (sizeof(T) == 2 ? 24 : 16)

/* A row in registers, normalised, scaled and shifted, to `out`: the mean first, then squares of differences,
 * so that nothing cancels out. total: this lane's sum. */
template <typename T, int P>
__device__ __forceinline__ void normalise_row(T *out, float *mean, float *rstd, float kept[P][8], float total,
                                              const T *w, const T *b, int64_t row, int C)
{
    int lane = threadIdx.x % 32;
    float average = warp_sum(total) / (float)C, square = 0.0f;
#pragma unroll
    for (int pass = 0; pass < P; pass++) {
        if ((pass * 32 + lane) * 8 >= C)
            continue;
#pragma unroll
        for (int j = 0; j < 8; j++)
            square += (kept[pass][j] - average) * (kept[pass][j] - average);
    }
    float r = rsqrtf(warp_sum(square) / (float)C + NORM_EPS);
#pragma unroll
    for (int pass = 0; pass < P; pass++) {
        int c = (pass * 32 + lane) * 8;
        float *v = kept[pass], scale[8], shift[8];
        if (c >= C)
            continue;
        load8(scale, w + c);
        load8(shift, b + c);
#pragma unroll
        for (int j = 0; j < 8; j++)
            v[j] = (v[j] - average) * r * scale[j] + shift[j];
        store8(out + row * C + c, v);
    }
    if (lane == 0) {
        mean[row] = average;
        rstd[row] = r;
    }
}

/* Rows in registers: P pieces of a lane, all of them asked for before the first is used. */
template <typename T, int P>
__global__ void __launch_bounds__(32 * NORM_WARPS)
    norm_forward_kernel(T *sum, T *out, float *mean, float *rstd, const T *x, const T *y, const T *w,
                        const T *b, int64_t R, int C, DropoutCuda drop)
{
    int lane = threadIdx.x % 32;
    int64_t row = (int64_t)blockIdx.x * NORM_WARPS + threadIdx.x / 32;
    if (row >= R)
        return;
    Piece<T> px[P], py[P];
#pragma unroll
    for (int pass = 0; pass < P; pass++) {
        int c = (pass * 32 + lane) * 8;
        if (c < C) {
            px[pass].load(x + row * C + c);
            if (y)
                py[pass].load(y + row * C + c);
        }
    }
    /* The sum of the stream and the branch, rounded as it is stored, so that the backward pass sees the same
     * numbers. */
    const DropoutDraw draw = dropout_draw(drop);
    float kept[P][8], total = 0.0f;
#pragma unroll
    for (int pass = 0; pass < P; pass++) {
        int c = (pass * 32 + lane) * 8;
        int64_t i = row * C + c;
        float *v = kept[pass];
        if (c >= C)
            continue;
        px[pass].unpack(v);
        if (y) {
            float d[8];
            py[pass].unpack(d);
            drop_some<8>(d, drop, draw, i);
#pragma unroll
            for (int j = 0; j < 8; j++)
                v[j] = rounded<T>(v[j] + d[j]);
        }
        if (y || (sum && sum != x))
            store8(sum + i, v);
#pragma unroll
        for (int j = 0; j < 8; j++)
            total += v[j];
    }
    normalise_row<T, P>(out, mean, rstd, kept, total, w, b, row, C);
}

/* Any row: every pass reads it again. V: elements of one access. */
template <typename T, int V>
__global__ void __launch_bounds__(32 * NORM_WARPS)
    norm_forward_any_kernel(T *sum, T *out, float *mean, float *rstd, const T *x, const T *y, const T *w,
                            const T *b, int64_t R, int C, DropoutCuda drop)
{
    int lane = threadIdx.x % 32;
    int64_t row = (int64_t)blockIdx.x * NORM_WARPS + threadIdx.x / 32;
    if (row >= R)
        return;
    const DropoutDraw draw = dropout_draw(drop);
    float v[V], total = 0.0f, square = 0.0f;
    const T *again = y ? sum : x; /* where a second pass finds the row */
    for (int c = lane * V; c < C; c += 32 * V) {
        int64_t i = row * C + c;
        load_some<V>(v, x + i);
        if (y) {
            float d[V];
            load_some<V>(d, y + i);
            drop_some<V>(d, drop, draw, i);
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
    float average = warp_sum(total) / (float)C;
    for (int c = lane * V; c < C; c += 32 * V) {
        load_some<V>(v, again + row * C + c);
#pragma unroll
        for (int j = 0; j < V; j++)
            square += (v[j] - average) * (v[j] - average);
    }
    float r = rsqrtf(warp_sum(square) / (float)C + NORM_EPS);
    for (int c = lane * V; c < C; c += 32 * V) {
        float scale[V], shift[V];
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

/* A piece of a row: n becomes normalised, g is weighted; what they give to dw and db, and to two sums over
 * the row. */
__device__ __forceinline__ void weigh(float g[8], float n[8], float dw[8], float db[8], const float scale[8],
                                      float average, float r, float *sum1, float *sum2)
{
#pragma unroll
    for (int j = 0; j < 8; j++) {
        n[j] = (n[j] - average) * r;
        dw[j] += g[j] * n[j];
        db[j] += g[j];
        g[j] *= scale[j];
        *sum1 += g[j];
        *sum2 += g[j] * n[j];
    }
}

/* d becomes the branch's gradient: the same through its dropout. */
template <typename T>
__device__ __forceinline__ void through_dropout(T *dy, float d[8], float dys[8], const DropoutCuda &drop,
                                                const DropoutDraw &draw, int64_t i)
{
#pragma unroll
    for (int j = 0; j < 8; j++)
        d[j] = rounded<T>(d[j]);
    drop_some<8>(d, drop, draw, i);
    store8(dy + i, d);
#pragma unroll
    for (int j = 0; j < 8; j++)
        dys[j] += d[j];
}

/* Both sums over the block: across the warp, then across its warps, through a place for each of them. The
 * caller takes turns between two buffers, so one barrier is enough. */
__device__ __forceinline__ void block_sums(float *sum1, float *sum2, float2 *places, int warps)
{
    *sum1 = warp_sum(*sum1);
    *sum2 = warp_sum(*sum2);
    if (warps > 1) {
        if (threadIdx.x % 32 == 0)
            places[threadIdx.x / 32] = make_float2(*sum1, *sum2);
        __syncthreads();
        *sum1 = *sum2 = 0.0f;
        for (int i = 0; i < warps; i++) {
            *sum1 += places[i].x;
            *sum2 += places[i].y;
        }
    }
}

/* A block has a thread for every eight channels and takes one row after the other. partial [blocks, 3, C]:
 * sums of dout * normalised, of dout, and of dy over the block's rows (`wanted` of them: 2 or 3). What the
 * next row needs is asked for before the sums over the present one. */
template <typename T>
__global__ void __launch_bounds__(NORM_MOST / 8, RESIDENT_WARPS(T) / (NORM_MOST / 256))
    norm_backward_kernel(T *dx, T *dy, float *partial, int wanted, const T *dout, const T *dsum, const T *sum,
                         const float *mean, const float *rstd, const T *w, int64_t R, int C, DropoutCuda drop)
{
    __shared__ float2 sums[2][NORM_MOST / 256];
    const int c = threadIdx.x * 8, warps = blockDim.x / 32, has = c < C;
    const DropoutDraw draw = dropout_draw(drop);
    const float share = 1.0f / (float)C;
    float dw[8] = {}, db[8] = {}, dys[8] = {}, scale[8] = {}, next_mean, next_rstd;
    Piece<T> next_g, next_n, next_d;
    auto ask = [&](int64_t row) {
        next_mean = mean[row];
        next_rstd = rstd[row];
        if (has) {
            next_g.load(dout + row * C + c);
            next_n.load(sum + row * C + c);
            if (dsum)
                next_d.load(dsum + row * C + c);
        }
    };
    if (has)
        load8(scale, w + c);
    ask(blockIdx.x);
    int turn = 0;
    for (int64_t row = blockIdx.x; row < R; row += gridDim.x, turn ^= 1) {
        /* The next row is on its way while this one is worked on. */
        float average = next_mean, r = next_rstd, g[8], n[8], d[8], sum1 = 0.0f, sum2 = 0.0f;
        next_g.unpack(g);
        next_n.unpack(n);
        if (dsum)
            next_d.unpack(d);
        if (row + gridDim.x < R)
            ask(row + gridDim.x);
        if (has)
            weigh(g, n, dw, db, scale, average, r, &sum1, &sum2);
        block_sums(&sum1, &sum2, sums[turn], warps);
        if (!has)
            continue;
        sum1 *= share;
        sum2 *= share;
        int64_t i = row * C + c;
#pragma unroll
        for (int j = 0; j < 8; j++)
            /* dx = rstd (g - mean(g) - n mean(g n)), g being dout times the weight. */
            d[j] = (dsum ? d[j] : 0.0f) + r * (g[j] - sum1 - n[j] * sum2);
        store8(dx + i, d);
        if (dy)
            through_dropout(dy, d, dys, drop, draw, i);
    }
    if (has) {
        /* The block's share of dw, db and the sum of dy. */
        float *to = partial + (int64_t)blockIdx.x * wanted * C + c;
        store8(to, dw);
        store8(to + C, db);
        if (wanted > 2)
            store8(to + 2 * C, dys);
    }
}

/* Any row, read twice; the sums for dw and db are left to norm_columns_kernel. */
template <typename T, int V>
__global__ void __launch_bounds__(32 * BACKWARD_WARPS)
    norm_backward_any_kernel(T *dx, T *dy, float *, int, const T *dout, const T *dsum, const T *sum,
                             const float *mean, const float *rstd, const T *w, int64_t R, int C,
                             DropoutCuda drop)
{
    int lane = threadIdx.x % 32;
    int64_t row = (int64_t)blockIdx.x * BACKWARD_WARPS + threadIdx.x / 32;
    if (row >= R)
        return;
    const DropoutDraw draw = dropout_draw(drop);
    float average = mean[row], r = rstd[row], sum1 = 0.0f, sum2 = 0.0f, g[V], n[V], scale[V];
    for (int c = lane * V; c < C; c += 32 * V) {
        load_some<V>(g, dout + row * C + c);
        load_some<V>(n, sum + row * C + c);
        load_some<V>(scale, w + c);
#pragma unroll
        for (int j = 0; j < V; j++) {
            sum1 += g[j] * scale[j];
            sum2 += g[j] * scale[j] * (n[j] - average) * r;
        }
    }
    sum1 = warp_sum(sum1) / (float)C;
    sum2 = warp_sum(sum2) / (float)C;
    for (int c = lane * V; c < C; c += 32 * V) {
        int64_t i = row * C + c;
        float d[V];
        load_some<V>(g, dout + i);
        load_some<V>(n, sum + i);
        load_some<V>(scale, w + c);
        if (dsum)
            load_some<V>(d, dsum + i);
#pragma unroll
        for (int j = 0; j < V; j++)
            d[j] = (dsum ? d[j] : 0.0f) + r * (g[j] * scale[j] - sum1 - (n[j] - average) * r * sum2);
        store_some<V>(dx + i, d);
        if (dy) {
#pragma unroll
            for (int j = 0; j < V; j++)
                d[j] = rounded<T>(d[j]);
            drop_some<V>(d, drop, draw, i);
            store_some<V>(dy + i, d);
        }
    }
}

/* The same partial sums, for rows that do not fit into registers: a block for 32 columns and a share of the
 * rows. */
template <typename T>
__global__ void __launch_bounds__(32 * NORM_WARPS)
    norm_columns_kernel(float *partial, const T *dout, const T *sum, const float *mean, const float *rstd,
                        int64_t R, int C)
{
    __shared__ float dw[NORM_WARPS][32], db[NORM_WARPS][32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, c = blockIdx.x * 32 + lane;
    float a = 0.0f, b = 0.0f;
    if (c < C)
        for (int64_t row = (int64_t)blockIdx.y * NORM_WARPS + warp; row < R;
             row += (int64_t)gridDim.y * NORM_WARPS) {
            float g = to_float(dout[row * C + c]);
            a += g * (to_float(sum[row * C + c]) - mean[row]) * rstd[row];
            b += g;
        }
    dw[warp][lane] = a;
    db[warp][lane] = b;
    __syncthreads();
    if (warp != 0 || c >= C)
        return;
    for (int i = 1; i < NORM_WARPS; i++) {
        a += dw[i][lane];
        b += db[i][lane];
    }
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

/* A warp per row; in registers where the row fits and lies evenly. */
template <typename T>
static void norm_forward(OpsContext *c, void *sum, void *out, void *mean, void *rstd, const void *x,
                         const void *y, const void *w, const void *b, int64_t R, int C, Dropout drop)
{
    CudaOps *o = ops_enter(c);
    assert(R >= 0 && C > 0);
    if (R == 0)
        return;
    unsigned blocks = (unsigned)divide_up(R, NORM_WARPS);
    DropoutCuda d = dropout_cuda(c, drop, R * C);
    auto launch = [&](auto kernel) {
        LAUNCH(o, "norm forward", blocks, 32 * NORM_WARPS, 0, kernel, (T *)sum, (T *)out, (float *)mean,
               (float *)rstd, (const T *)x, (const T *)y, (const T *)w, (const T *)b, R, C, d);
    };
    /* Eight channels in one access need widths and addresses that are multiples of it. */
    int even = C % 8 == 0 && is_aligned(sum) && is_aligned(out) && is_aligned(x) && is_aligned(y) &&
               is_aligned(w) && is_aligned(b);
    if (even && C <= NORM_MOST)
        with_passes((C + 255) / 256, [&](auto p) { launch(norm_forward_kernel<T, decltype(p)::value>); });
    else if (even)
        launch(norm_forward_any_kernel<T, 8>);
    else
        launch(norm_forward_any_kernel<T, 1>);
}

/* Rows that fit into registers need one kernel; others one for columns and one for rows. */
template <typename T>
static void norm_backward(OpsContext *c, void *dx, void *dy, void *dw, void *db, void *dy_sum,
                          const void *dout, const void *dsum, const void *sum, const void *mean,
                          const void *rstd, const void *w, int64_t R, int C, Dropout drop)
{
    CudaOps *o = ops_enter(c);
    assert(R >= 0 && C > 0);
    if (R == 0)
        return;
    float *partial = (float *)ops_scratch(c);
    DropoutCuda d = dropout_cuda(c, drop, R * C);
    int wanted = dy && dy_sum ? 3 : 2;
    /* As many blocks as the scratch holds partial sums for. */
    int64_t most = (int64_t)(ops_scratch_bytes(c) / (3 * sizeof(float) * (size_t)C));
    int warps = (C + 255) / 256, rows = at_most(fill_blocks(o, R, RESIDENT_WARPS(T) / warps), most);
    auto launch = [&](auto kernel, int blocks, int threads) {
        LAUNCH(o, "norm backward", blocks, threads, 0, kernel, (T *)dx, (T *)dy, partial, wanted,
               (const T *)dout, (const T *)dsum, (const T *)sum, (const float *)mean, (const float *)rstd,
               (const T *)w, R, C, d);
    };
    int even = C % 8 == 0 && is_aligned(dx) && is_aligned(dy) && is_aligned(dout) && is_aligned(dsum) &&
               is_aligned(sum) && is_aligned(w);
    if (even && C <= NORM_MOST) {
        launch(norm_backward_kernel<T>, rows, 32 * warps);
        ops_add_partial_sums(o, (float *)dw, (float *)db, (float *)dy_sum, partial, rows, C, wanted);
    } else {
        rows = at_most(divide_up(R, NORM_WARPS), at_most(most, 64));
        dim3 grid((unsigned)divide_up(C, 32), (unsigned)rows);
        LAUNCH(o, "norm backward", grid, 32 * NORM_WARPS, 0, norm_columns_kernel<T>, partial, (const T *)dout,
               (const T *)sum, (const float *)mean, (const float *)rstd, R, C);
        if (even)
            launch(norm_backward_any_kernel<T, 8>, (int)divide_up(R, BACKWARD_WARPS), 32 * BACKWARD_WARPS);
        else
            launch(norm_backward_any_kernel<T, 1>, (int)divide_up(R, BACKWARD_WARPS), 32 * BACKWARD_WARPS);
        ops_add_partial_sums(o, (float *)dw, (float *)db, NULL, partial, rows, C, 2);
        if (wanted > 2)
            ops_activation_backward(c, dy, dy_sum, NULL, R, C, ACT_NONE, NULL, 0);
    }
}

template <typename T> void norm_fill(Ops *ops)
{
    ops->norm_forward = norm_forward<T>;
    ops->norm_backward = norm_backward<T>;
}

template void norm_fill<float>(Ops *ops);
template void norm_fill<bf16>(Ops *ops);
