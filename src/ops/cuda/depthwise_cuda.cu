/* depthwise_cuda.cu - convolution over time with one filter for each channel, and the norm behind it. A block
 * has a few rows of one item: forward, they are filtered and then normalised; backward, the norm's gradient
 * of these rows and their neighbours is kept in shared memory and filtered. A batch of segments is short, so
 * the rows that neighbours share are computed twice: that costs less than another kernel. Filters with fewer
 * taps than TAPS are filled up with zeros. */
#include <type_traits>

#include "ops/cuda/ops_cuda.h"

#define THREADS 256
#define WARPS (THREADS / 32)
#define TAPS 7
#define HALF (TAPS / 2)
#define STRIP 6                   /* rows of a block */
#define AROUND (STRIP + TAPS - 1) /* with their neighbours */
#define TURNS ((AROUND + WARPS - 1) / WARPS)
#define MOST 1024 /* channels that a warp keeps in registers */
#define PART_THREADS 128
#define PART_ROWS 16 /* least rows of a partial sum */
#define NORM_EPS 1e-5f

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

/* The taps of V channels; step -1: in reverse. */
template <int V, typename T>
__device__ __forceinline__ void load_taps(float (*tap)[V], const T *w, int C, int K, int step)
{
#pragma unroll
    for (int k = 0; k < TAPS; k++) {
        int at = step * (k - HALF) + K / 2;
        if (at >= 0 && at < K)
            load_pair<V>(tap[k], w + (int64_t)at * C);
    }
}

/* ---- forward ---- */

/* The filtered rows of a strip, to shared memory and to `deep`. first: row of the item; V: channels of a
 * thread. */
template <typename T, int V>
__device__ __forceinline__ void filter_rows(T *kept, T *deep, const T *in, const T *w, const T *bias,
                                            int64_t first, int t0, int length, int rows, int C, int K)
{
    for (int c = threadIdx.x * V; c < C; c += THREADS * V) {
        float x[AROUND][V] = {}, tap[TAPS][V] = {}, begin[V];
        const T *from = in + first * C + c;
#pragma unroll
        for (int j = 0; j < AROUND; j++) {
            int t = t0 + j - HALF;
            if (t >= 0 && t < length)
                load_pair<V>(x[j], from + (int64_t)t * C);
        }
        load_taps<V>(tap, w + c, C, K, 1);
        load_pair<V>(begin, bias + c);
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
            store_pair<V>(kept + j * C + c, sum);
            if (t0 + j < rows)
                store_pair<V>(deep + (first + t0 + j) * C + c, sum);
        }
    }
}

/* A filtered row through the norm: the mean first, then squares of differences. */
template <typename T, int P>
__device__ __forceinline__ void norm_row(T *out, float *mean, float *rstd, const T *kept,
                                         const Piece<T> pw[P], const Piece<T> pb[P], int64_t row, int C)
{
    const int lane = threadIdx.x % 32;
    float x[P][8], total = 0.0f, square = 0.0f;
#pragma unroll
    for (int p = 0; p < P; p++) {
        int c = (p * 32 + lane) * 8;
        if (c >= C)
            continue;
        load8(x[p], kept + c);
#pragma unroll
        for (int i = 0; i < 8; i++)
            total += x[p][i];
    }
    float average = warp_sum(total) / (float)C;
#pragma unroll
    for (int p = 0; p < P; p++)
        if ((p * 32 + lane) * 8 < C)
#pragma unroll
            for (int i = 0; i < 8; i++)
                square += (x[p][i] - average) * (x[p][i] - average);
    float r = rsqrtf(warp_sum(square) / (float)C + NORM_EPS);
#pragma unroll
    for (int p = 0; p < P; p++) {
        int c = (p * 32 + lane) * 8;
        float scale[8], shift[8];
        if (c >= C)
            continue;
        pw[p].unpack(scale);
        pb[p].unpack(shift);
#pragma unroll
        for (int i = 0; i < 8; i++)
            x[p][i] = (x[p][i] - average) * r * scale[i] + shift[i];
        store8(out + row * C + c, x[p]);
    }
    if (lane == 0) {
        mean[row] = average;
        rstd[row] = r;
    }
}

/* blockIdx.x: the strip, blockIdx.y: the item. P: pieces of a lane; V: channels of a thread. */
template <typename T, int P, int V>
__global__ void __launch_bounds__(THREADS, P * sizeof(T) <= 4 ? 2 : 1)
    filter_norm_kernel(T *out, T *deep, float *mean, float *rstd, const T *in, const T *w, const T *bias,
                       const T *norm_w, const T *norm_b, const int32_t *len, int rows, int C, int K)
{
    SHARED_BYTES(shared);
    T *kept = (T *)shared; /* [STRIP, C] */
    const int t0 = blockIdx.x * STRIP, b = blockIdx.y, length = len ? min(max(len[b], 0), rows) : rows;
    const int64_t first = (int64_t)b * rows;
    filter_rows<T, V>(kept, deep, in, w, bias, first, t0, length, rows, C, K);
    /* What the norm needs is asked for before the barrier. */
    const int lane = threadIdx.x % 32;
    Piece<T> pw[P], pb[P];
#pragma unroll
    for (int p = 0; p < P; p++) {
        int c = (p * 32 + lane) * 8;
        if (c < C) {
            pw[p].load(norm_w + c);
            pb[p].load(norm_b + c);
        }
    }
    __syncthreads();
    /* A warp has a row. */
    for (int j = threadIdx.x / 32; j < STRIP && t0 + j < rows; j += WARPS)
        norm_row<T, P>(out, mean, rstd, kept + j * C, pw, pb, first + t0 + j, C);
}

/* ---- backward ---- */

/* A row's gradient before the norm takes from that behind it, weighted (g), the row normalised (n), and the
 * means of g and g n. */
template <typename T, int P>
__device__ __forceinline__ float2 norm_terms(float g[P][8], float n[P][8], const Piece<T> pg[P],
                                             const Piece<T> pn[P], const T *norm_w, float average, float r,
                                             int C)
{
    const int lane = threadIdx.x % 32;
    float sum1 = 0.0f, sum2 = 0.0f;
#pragma unroll
    for (int p = 0; p < P; p++) {
        int c = (p * 32 + lane) * 8;
        float scale[8];
        if (c >= C)
            continue;
        load8(scale, norm_w + c);
        pg[p].unpack(g[p]);
        pn[p].unpack(n[p]);
#pragma unroll
        for (int i = 0; i < 8; i++) {
            n[p][i] = (n[p][i] - average) * r;
            g[p][i] *= scale[i];
            sum1 += g[p][i];
            sum2 += g[p][i] * n[p][i];
        }
    }
    sum1 = warp_sum(sum1) / (float)C;
    sum2 = warp_sum(sum2) / (float)C;
    return make_float2(sum1, sum2);
}

/* The norm's gradient of the rows around the strip, to shared memory; of its own rows to ddeep, too. */
template <typename T, int P>
__device__ __forceinline__ void norm_rows(T *kept, T *ddeep, const T *dout, const T *deep, const float *mean,
                                          const float *rstd, const T *norm_w, int t0, int rows, int C)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    Piece<T> pg[TURNS][P], pn[TURNS][P];
    float averages[TURNS], rs[TURNS];
    /* All that a warp needs is asked for at once. */
#pragma unroll
    for (int turn = 0; turn < TURNS; turn++) {
        const int t = t0 - HALF + warp + turn * WARPS;
        if (t < 0 || t >= rows || warp + turn * WARPS >= AROUND)
            continue;
        averages[turn] = mean[t];
        rs[turn] = rstd[t];
#pragma unroll
        for (int p = 0; p < P; p++) {
            int c = (p * 32 + lane) * 8;
            if (c < C) {
                pg[turn][p].load(dout + (int64_t)t * C + c);
                pn[turn][p].load(deep + (int64_t)t * C + c);
            }
        }
    }
#pragma unroll
    for (int turn = 0; turn < TURNS; turn++) {
        const int j = warp + turn * WARPS, t = t0 - HALF + j;
        if (t < 0 || t >= rows || j >= AROUND)
            continue;
        float g[P][8], n[P][8];
        const float2 means = norm_terms<T, P>(g, n, pg[turn], pn[turn], norm_w, averages[turn], rs[turn], C);
#pragma unroll
        for (int p = 0; p < P; p++) {
            int c = (p * 32 + lane) * 8;
            if (c >= C)
                continue;
#pragma unroll
            for (int i = 0; i < 8; i++)
                g[p][i] = rs[turn] * (g[p][i] - means.x - n[p][i] * means.y);
            store8(kept + j * C + c, g[p]);
            if (j >= HALF && j < HALF + STRIP)
                store8(ddeep + (int64_t)t * C + c, g[p]);
        }
    }
}

template <typename T, int P, int V>
__global__ void __launch_bounds__(THREADS, P * sizeof(T) <= 4 ? 2 : 1)
    filter_norm_backward_kernel(T *din, T *ddeep, const T *add, const T *dout, const T *deep,
                                const float *mean, const float *rstd, const T *norm_w, const T *w,
                                const int32_t *len, int rows, int C, int K)
{
    SHARED_BYTES(shared);
    T *kept = (T *)shared; /* [AROUND, C] */
    const int t0 = blockIdx.x * STRIP, b = blockIdx.y, length = len ? min(max(len[b], 0), rows) : rows;
    const int64_t first = (int64_t)b * rows, at = first * C;
    /* What the filter adds to is asked for before the barrier, for the first channels of a thread. */
    const int mine = threadIdx.x * V;
    float ahead[STRIP][V], tap[TAPS][V] = {};
    if (mine < C) {
#pragma unroll
        for (int j = 0; j < STRIP; j++)
            if (t0 + j < rows)
                load_pair<V>(ahead[j], add + at + (int64_t)(t0 + j) * C + mine);
        load_taps<V>(tap, w + mine, C, K, -1);
    }
    norm_rows<T, P>(kept, ddeep + at, dout + at, deep + at, mean + first, rstd + first, norm_w, t0, rows, C);
    __syncthreads();
    for (int c = threadIdx.x * V; c < C; c += THREADS * V) {
        float x[AROUND][V] = {};
#pragma unroll
        for (int j = 0; j < AROUND; j++) {
            int t = t0 + j - HALF;
            if (t >= 0 && t < length)
                load_pair<V>(x[j], kept + j * C + c);
        }
        if (c != mine)
            load_taps<V>(tap, w + c, C, K, -1);
#pragma unroll
        for (int j = 0; j < STRIP; j++) {
            float sum[V];
            if (t0 + j >= rows)
                break;
            if (c != mine)
                load_pair<V>(ahead[j], add + at + (int64_t)(t0 + j) * C + c);
#pragma unroll
            for (int v = 0; v < V; v++) {
                float more = 0.0f;
                sum[v] = ahead[j][v];
#pragma unroll
                for (int k = 0; k < TAPS; k++)
                    more += x[j + k][v] * tap[k][v];
                sum[v] += t0 + j < length ? more : 0.0f;
            }
            store_pair<V>(din + at + (int64_t)(t0 + j) * C + c, sum);
        }
    }
}

/* ---- any number of channels: a kernel for the filter, and those of the norm ---- */

/* to[t] = start + add[t] + the sum over taps of from[t + step * (k - K / 2)] w[k]; rows past the length are
 * add[t] alone. start, add: NULL is zero. */
template <typename T>
__global__ void __launch_bounds__(THREADS)
    filter_any_kernel(T *to, const T *from, const T *w, const T *start, const T *add, const int32_t *len,
                      int rows, int C, int K, int step)
{
    int c = blockIdx.y * THREADS + threadIdx.x, t = blockIdx.x, b = blockIdx.z;
    if (c >= C)
        return;
    int length = len ? min(max(len[b], 0), rows) : rows;
    int64_t at = ((int64_t)b * rows + t) * C + c;
    float sum = add ? to_float(add[at]) : 0.0f;
    if (t < length) {
        sum += start ? to_float(start[c]) : 0.0f;
        for (int k = 0; k < K; k++) {
            int other = step * (k - K / 2);
            if (t + other >= 0 && t + other < length)
                sum += to_float(from[at + (int64_t)other * C]) * to_float(w[(int64_t)k * C + c]);
        }
    }
    to[at] = from_float<T>(sum);
}

/* The norm's gradient of a row; a warp has a row. */
template <typename T>
__global__ void __launch_bounds__(THREADS)
    norm_any_kernel(T *dx, const T *dout, const T *x, const float *mean, const float *rstd, const T *norm_w,
                    int64_t R, int C)
{
    int lane = threadIdx.x % 32;
    int64_t row = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
    if (row >= R)
        return;
    float average = mean[row], r = rstd[row], sum1 = 0.0f, sum2 = 0.0f;
    for (int c = lane; c < C; c += 32) {
        float g = to_float(dout[row * C + c]) * to_float(norm_w[c]);
        sum1 += g;
        sum2 += g * (to_float(x[row * C + c]) - average) * r;
    }
    sum1 = warp_sum(sum1) / (float)C;
    sum2 = warp_sum(sum2) / (float)C;
    for (int c = lane; c < C; c += 32) {
        float g = to_float(dout[row * C + c]) * to_float(norm_w[c]),
              n = (to_float(x[row * C + c]) - average) * r;
        dx[row * C + c] = from_float<T>(r * (g - sum1 - n * sum2));
    }
}

/* ---- parameters ---- */

/* Adds what rows t0 .. last - 1 of one item give to the gradients of the taps, and of the bias (the last of
 * them). x: rows t - HALF .. t + HALF move along. */
template <typename T, int V>
__device__ __forceinline__ void add_taps(float sum[TAPS + 1][V], const T *in, const T *ddeep, int t0,
                                         int last, int length, int C)
{
    float x[TAPS][V] = {};
#pragma unroll
    for (int k = 0; k < TAPS - 1; k++)
        if (t0 + k - HALF >= 0 && t0 + k - HALF < length)
            load_pair<V>(x[k + 1], in + (int64_t)(t0 + k - HALF) * C);
#pragma unroll 8
    for (int t = t0; t < last; t++) {
        float g[V], next[V] = {};
        load_pair<V>(g, ddeep + (int64_t)t * C);
        if (t + HALF < length)
            load_pair<V>(next, in + (int64_t)(t + HALF) * C);
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
}

/* partial [layers][gridDim.y][K + 3][C]: the gradients of w and bias, and those of the norm's, over the rows
 * of one part. blockIdx.z: the layer. */
template <typename T, int V>
__global__ void __launch_bounds__(PART_THREADS)
    weights_kernel(float *partial, const __grid_constant__ FilterNorms f, const int32_t *len, int B, int rows,
                   int C, int K, int part_rows)
{
    int c = (blockIdx.x * PART_THREADS + threadIdx.x) * V;
    if (c >= C)
        return;
    const int64_t layer = blockIdx.z * f.real_step + c;
    const T *in = (const T *)f.in + layer, *ddeep = (const T *)f.ddeep + layer,
            *dout = (const T *)f.dout + layer, *deep = (const T *)f.deep + layer;
    const float *mean = (const float *)f.mean + blockIdx.z * f.row_step,
                *rstd = (const float *)f.rstd + blockIdx.z * f.row_step;
    float sum[TAPS + 1][V] = {}, norm[2][V] = {};
    int64_t first = (int64_t)blockIdx.y * part_rows, end = min(first + part_rows, (int64_t)B * rows);
    /* A part may reach over several items. */
    for (int64_t row = first; row < end;) {
        int b = (int)(row / rows), t0 = (int)(row % rows), length = len ? min(max(len[b], 0), rows) : rows;
        int stop = (int)min((int64_t)rows, t0 + end - row), last = min(stop, length);
        add_taps<T, V>(sum, in + (int64_t)b * rows * C, ddeep + (int64_t)b * rows * C, t0, last, length, C);
        row += stop - t0;
    }
#pragma unroll 8
    for (int64_t row = first; row < end; row++) {
        float g[V], n[V];
        load_pair<V>(g, dout + row * C);
        load_pair<V>(n, deep + row * C);
#pragma unroll
        for (int v = 0; v < V; v++) {
            norm[0][v] += g[v] * (n[v] - mean[row]) * rstd[row];
            norm[1][v] += g[v];
        }
    }
    float *to = partial + ((int64_t)blockIdx.z * gridDim.y + blockIdx.y) * (K + 3) * C + c;
#pragma unroll
    for (int k = 0; k < TAPS; k++) {
        int at = k - HALF + K / 2;
        if (at >= 0 && at < K)
#pragma unroll
            for (int v = 0; v < V; v++)
                to[(int64_t)at * C + v] = sum[k][v];
    }
#pragma unroll
    for (int v = 0; v < V; v++) {
        to[(int64_t)K * C + v] = sum[TAPS][v];
        to[(int64_t)(K + 1) * C + v] = norm[0][v];
        to[(int64_t)(K + 2) * C + v] = norm[1][v];
    }
}

template <typename T>
static void filter_norm_weights(OpsContext *c, const FilterNorms *f, const int32_t *len, int B, int rows,
                                int C, int K)
{
    CudaOps *o = ops_enter(c);
    assert(K % 2 == 1 && K <= TAPS && f->count <= 65535);
    if (B == 0 || rows == 0 || f->count == 0)
        return;
    int wide = C % 2 == 0 && f->real_step % 2 == 0 && is_aligned(f->in) && is_aligned(f->deep) &&
               is_aligned(f->dout) && is_aligned(f->ddeep);
    unsigned across = (unsigned)divide_up(C, PART_THREADS * (wide ? 2 : 1));
    int64_t all = (int64_t)B * rows,
            room = (int64_t)(ops_scratch_bytes(c) / sizeof(float)) / ((int64_t)(K + 3) * C * f->count);
    int64_t wanted = divide_up((int64_t)o->processors * 3, (int64_t)across * f->count);
    int parts = at_most(at_most(divide_up(all, PART_ROWS), wanted), room);
    assert(parts >= 1);
    int part_rows = (int)divide_up(all, parts);
    dim3 grid(across, (unsigned)divide_up(all, part_rows), (unsigned)f->count);
    float *partial = (float *)ops_scratch(c);
    auto kernel = wide ? weights_kernel<T, 2> : weights_kernel<T, 1>;
    LAUNCH(o, "depthwise weights", grid, PART_THREADS, 0, kernel, partial, *f, len, B, rows, C, K, part_rows);
    SumPlaces places = {{(float *)f->dw, (float *)f->dbias, (float *)f->dnorm_w, (float *)f->dnorm_b},
                        {(int64_t)K * C, C, C, C},
                        f->param_step};
    ops_add_layer_sums(o, &places, partial, (int)grid.y, f->count);
}

/* ---- choosing ---- */

/* Calls f with the pieces of a lane as a constant. */
template <typename F> static void with_pieces(int C, F f)
{
    switch ((C + 255) / 256) {
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
static void filter_norm_forward(OpsContext *c, void *out, void *deep, void *mean, void *rstd, const void *in,
                                const void *w, const void *bias, const void *norm_w, const void *norm_b,
                                const int32_t *len, int B, int rows, int C, int K)
{
    CudaOps *o = ops_enter(c);
    assert(K % 2 == 1 && K <= TAPS && B <= 65535);
    if (B == 0 || rows == 0)
        return;
    int even = C % 8 == 0 && C <= MOST && is_aligned(out) && is_aligned(deep) && is_aligned(in) &&
               is_aligned(w) && is_aligned(bias) && is_aligned(norm_w) && is_aligned(norm_b);
    if (!even) {
        dim3 grid((unsigned)rows, (unsigned)divide_up(C, THREADS), (unsigned)B);
        LAUNCH(o, "depthwise", grid, THREADS, 0, filter_any_kernel<T>, (T *)deep, (const T *)in, (const T *)w,
               (const T *)bias, (const T *)NULL, len, rows, C, K, 1);
        c->ops->norm_forward(c, deep, out, mean, rstd, deep, NULL, norm_w, norm_b, (int64_t)B * rows, C,
                             Dropout{0, 0});
        return;
    }
    dim3 grid((unsigned)divide_up(rows, STRIP), (unsigned)B);
    size_t shared = sizeof(T) * STRIP * (size_t)C;
    with_pieces(C, [&](auto p) {
        auto kernel = filter_norm_kernel<T, decltype(p)::value, 2>;
        LAUNCH(o, "depthwise and norm", grid, THREADS, shared, kernel, (T *)out, (T *)deep, (float *)mean,
               (float *)rstd, (const T *)in, (const T *)w, (const T *)bias, (const T *)norm_w,
               (const T *)norm_b, len, rows, C, K);
    });
}

template <typename T>
static void filter_norm_backward(OpsContext *c, void *din, const void *add, const FilterNorms *f,
                                 const void *w, const void *norm_w, const int32_t *len, int B, int rows,
                                 int C, int K)
{
    CudaOps *o = ops_enter(c);
    assert(K % 2 == 1 && K <= TAPS && B <= 65535);
    if (B == 0 || rows == 0)
        return;
    int even = C % 8 == 0 && C <= MOST && is_aligned(din) && is_aligned(add) && is_aligned(f->ddeep) &&
               is_aligned(f->dout) && is_aligned(f->deep) && is_aligned(w) && is_aligned(norm_w);
    if (!even) {
        dim3 grid((unsigned)rows, (unsigned)divide_up(C, THREADS), (unsigned)B);
        int64_t R = (int64_t)B * rows;
        LAUNCH(o, "norm backward", (unsigned)divide_up(R, WARPS), THREADS, 0, norm_any_kernel<T>,
               (T *)f->ddeep, (const T *)f->dout, (const T *)f->deep, (const float *)f->mean,
               (const float *)f->rstd, (const T *)norm_w, R, C);
        LAUNCH(o, "depthwise backward", grid, THREADS, 0, filter_any_kernel<T>, (T *)din, (const T *)f->ddeep,
               (const T *)w, (const T *)NULL, (const T *)add, len, rows, C, K, -1);
        return;
    }
    dim3 grid((unsigned)divide_up(rows, STRIP), (unsigned)B);
    size_t shared = sizeof(T) * AROUND * (size_t)C;
    with_pieces(C, [&](auto p) {
        auto kernel = filter_norm_backward_kernel<T, decltype(p)::value, 2>;
        allow_shared(o, kernel, shared);
        LAUNCH(o, "depthwise and norm backward", grid, THREADS, shared, kernel, (T *)din, (T *)f->ddeep,
               (const T *)add, (const T *)f->dout, (const T *)f->deep, (const float *)f->mean,
               (const float *)f->rstd, (const T *)norm_w, (const T *)w, len, rows, C, K);
    });
}

template <typename T> void depthwise_fill(Ops *ops)
{
    ops->filter_norm_forward = filter_norm_forward<T>;
    ops->filter_norm_backward = filter_norm_backward<T>;
    ops->filter_norm_weights = filter_norm_weights<T>;
}

template void depthwise_fill<float>(Ops *ops);
template void depthwise_fill<bf16>(Ops *ops);
