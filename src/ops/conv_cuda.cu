/* conv_cuda.cu - convolution over time as a matrix product: the K rows that an output row sees are laid side by side in the workspace
 * ("unfolded"), a few batch items at a time, so that they are still in the GPU's cache when the product reads them. */
#include "ops/ops_cuda.h"

#define THREADS 256
#define CHUNK_BYTES (size_t(132) << 20) /* unfolded at once; large products, few launches */

/* columns [items, T, K, C]: row t of item b, tap k holds input row t + k - K / 2, or zeros outside the item's length. An input row is read once
 * and goes to all the places that see it; K / 2 rows before and behind an item are there for their zeros. */
template <typename T, int V>
__global__ void __launch_bounds__(THREADS)
    unfold_kernel(T *columns, const T *in, const int32_t *len, int first, int items, int T_rows, int C, int K)
{
    const uint32_t pieces = (uint32_t)C / V, rows = (uint32_t)(T_rows + K - 1), n = (uint32_t)items * rows * pieces;
    for (uint32_t i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) {
        uint32_t row = i / pieces, item = row / rows;
        int c = (int)(i - row * pieces) * V, t = (int)(row - item * rows) - K / 2, b = first + (int)item;
        float x[V];
        if (t >= 0 && t < T_rows && t < len[b]) {
            load_some<V>(x, in + ((int64_t)b * T_rows + t) * C + c);
        } else {
#pragma unroll
            for (int j = 0; j < V; j++)
                x[j] = 0.0f;
        }
        for (int k = 0; k < K; k++) {
            int to = t - (k - K / 2);
            if (to >= 0 && to < T_rows)
                store_some<V>(columns + (((int64_t)item * T_rows + to) * K + k) * C + c, x);
        }
    }
}

/* The way back: din row t is the sum over taps of columns row t - (k - K / 2), tap k. */
template <typename T, int V>
__global__ void __launch_bounds__(THREADS)
    fold_kernel(T *din, const T *columns, const int32_t *len, int first, int items, int T_rows, int C, int K)
{
    uint32_t n = (uint32_t)items * T_rows * C;
    for (uint32_t i = (blockIdx.x * THREADS + threadIdx.x) * V; i < n; i += gridDim.x * THREADS * V) {
        uint32_t row = i / (uint32_t)C, item = row / (uint32_t)T_rows;
        int c = (int)(i - row * C), t = (int)(row - item * T_rows), b = first + (int)item;
        float x[V], y[V];
#pragma unroll
        for (int j = 0; j < V; j++)
            x[j] = 0.0f;
        if (t < len[b])
            for (int k = 0; k < K; k++) {
                int from = t - (k - K / 2);
                if (from < 0 || from >= T_rows || from >= len[b]) /* the gradient of rows of padding is zero */
                    continue;
                load_some<V>(y, columns + (((int64_t)item * T_rows + from) * K + k) * C + c);
#pragma unroll
                for (int j = 0; j < V; j++)
                    x[j] += y[j];
            }
        store_some<V>(din + (int64_t)first * T_rows * C + i, x);
    }
}

/* Items whose unfolded rows go into the workspace at once. */
static int chunk_items(const OpsContext *c, size_t real, int B, int T_rows, int C, int K)
{
    size_t item = real * (size_t)T_rows * (size_t)C * (size_t)K, most = ops_scratch_bytes(c);
    assert(item <= most && item < (size_t)1 << 31); /* the kernels count in 32 bits */
    size_t wanted = most < CHUNK_BYTES ? most : CHUNK_BYTES;
    int64_t items = (int64_t)(wanted / item);
    return at_most(items < 1 ? 1 : items, B);
}

template <typename T>
static void unfold(OpsContext *c, T *columns, const void *in, const int32_t *len, int first, int items, int T_rows, int C, int K)
{
    CudaOps *o = (CudaOps *)c->own;
    int even = C % 8 == 0 && is_aligned(in);
    int blocks = fill_blocks(o, divide_up((int64_t)items * (T_rows + K - 1) * C, THREADS * (even ? 8 : 1)), 32);
    auto launch = [&](auto kernel) {
        LAUNCH(o, "unfold", blocks, THREADS, 0, kernel, columns, (const T *)in, len, first, items, T_rows, C, K);
    };
    if (even)
        launch(unfold_kernel<T, 8>);
    else
        launch(unfold_kernel<T, 1>);
}

template <typename T>
static void fold(OpsContext *c, void *din, const T *columns, const int32_t *len, int first, int items, int T_rows, int C, int K)
{
    CudaOps *o = (CudaOps *)c->own;
    int even = C % 8 == 0 && is_aligned(din);
    int blocks = fill_blocks(o, divide_up((int64_t)items * T_rows * C, THREADS * (even ? 8 : 1)), 16);
    auto launch = [&](auto kernel) {
        LAUNCH(o, "fold", blocks, THREADS, 0, kernel, (T *)din, columns, len, first, items, T_rows, C, K);
    };
    if (even)
        launch(fold_kernel<T, 8>);
    else
        launch(fold_kernel<T, 1>);
}

template <typename T>
static void conv_forward(OpsContext *c, void *out, const void *in, const void *w, const void *bias, const int32_t *len, int B,
                         int T_rows, int C, int N, int K, Activation act)
{
    ops_enter(c);
    assert(K % 2 == 1 && C > 0 && N > 0);
    if (B == 0 || T_rows == 0)
        return;
    T *columns = (T *)ops_scratch(c);
    int items = chunk_items(c, sizeof(T), B, T_rows, C, K);
    for (int first = 0; first < B; first += items) {
        int now = B - first < items ? B - first : items;
        unfold<T>(c, columns, in, len, first, now, T_rows, C, K);
        Product p = {(int64_t)now * T_rows, N, (int64_t)K * C, 0, 1, 0, 0, act == ACT_RELU ? ACT_RELU : ACT_NONE};
        blas_product(c, (T *)out + (int64_t)first * T_rows * N, columns, w, bias, &p);
    }
    ops_finish_rows(c, out, (int64_t)B * T_rows, N, act, len, T_rows);
}

template <typename T>
static void conv_backward(OpsContext *c, void *din, void *dw, void *dbias, void *dout, const void *out, const void *in,
                          const void *w, const int32_t *len, int B, int T_rows, int C, int N, int K, Activation act)
{
    ops_enter(c);
    assert(K % 2 == 1 && C > 0 && N > 0);
    if (B == 0 || T_rows == 0)
        return;
    ops_activation_backward(c, dout, dbias, out, (int64_t)B * T_rows, N, act, len, T_rows);
    T *columns = (T *)ops_scratch(c);
    int items = chunk_items(c, sizeof(T), B, T_rows, C, K);
    for (int first = 0; first < B; first += items) {
        int now = B - first < items ? B - first : items;
        const T *part = (const T *)dout + (int64_t)first * T_rows * N;
        unfold<T>(c, columns, in, len, first, now, T_rows, C, K);
        Product weight = {N, (int64_t)K * C, (int64_t)now * T_rows, 1, 0, 1, 1, ACT_NONE};
        blas_product(c, dw, part, columns, NULL, &weight);
        if (!din)
            continue;
        Product input = {(int64_t)now * T_rows, (int64_t)K * C, N, 0, 0, 0, 0, ACT_NONE};
        blas_product(c, columns, part, w, NULL, &input);
        fold<T>(c, din, columns, len, first, now, T_rows, C, K);
    }
}

template <typename T> void conv_fill(Ops *ops)
{
    ops->conv_forward = conv_forward<T>;
    ops->conv_backward = conv_backward<T>;
}

template void conv_fill<float>(Ops *ops);
template void conv_fill<bf16>(Ops *ops);
