/* conv_cuda.cu - convolution over time as a matrix product: the K rows that an output row sees are laid side
 * by side in the workspace ("unfolded"), a few batch items at a time, so that they are still in the GPU's
 * cache when the product reads them. */
#include <type_traits>

#include "ops/cuda/ops_cuda.h"

#define THREADS 256
/* Unfolded at once: large products, few launches. What is left of the workspace serves timing
 * (product_cuda.cu). */
#define CHUNK_BYTES (size_t(96) << 20)
#define MOST_ITEMS 65535 /* blockIdx.y */

/* columns [items, T, K, C]: row t of item b, tap k holds input row t + k - K / 2, or zeros outside the item's
 * length. An input row is read once and goes to all the places that see it; K / 2 rows before and after an
 * item are there for their zeros. blockIdx.y: the item. TAPS: K, or 0 for any. */
template <typename T, int V, int TAPS>
__global__ void __launch_bounds__(THREADS)
    unfold_kernel(T *columns, const T *in, const int32_t *len, int first, int T_rows, int C, int K)
{
    const int taps = TAPS ? TAPS : K, b = first + (int)blockIdx.y, length = min(len[b], T_rows);
    const uint32_t pieces = (uint32_t)C / V, i = blockIdx.x * THREADS + threadIdx.x, row = i / pieces;
    const int c = (int)(i - row * pieces) * V, t = (int)row - taps / 2;
    if (row >= (uint32_t)(T_rows + taps - 1))
        return;
    typename PieceOf<V, T>::type x;
    if (t >= 0 && t < length)
        x.load(in + ((int64_t)b * T_rows + t) * C + c);
    else
        x.clear();
    columns += (int64_t)blockIdx.y * T_rows * taps * C + c;
#pragma unroll
    for (int k = 0; k < taps; k++) {
        int to = (int)row - k;
        if (to >= 0 && to < T_rows)
            x.store(columns + ((int64_t)to * taps + k) * C);
    }
}

/* The backward pass: din row t is the sum over taps of columns row t - (k - K / 2), tap k. */
template <typename T, int V, int TAPS>
__global__ void __launch_bounds__(THREADS)
    fold_kernel(T *din, const T *columns, const int32_t *len, int first, int T_rows, int C, int K)
{
    const int taps = TAPS ? TAPS : K, b = first + (int)blockIdx.y, length = min(len[b], T_rows);
    const uint32_t pieces = (uint32_t)C / V, i = blockIdx.x * THREADS + threadIdx.x, row = i / pieces;
    const int c = (int)(i - row * pieces) * V, t = (int)row;
    if (t >= T_rows)
        return;
    columns += (int64_t)blockIdx.y * T_rows * taps * C + c;
    float sum[V];
#pragma unroll
    for (int j = 0; j < V; j++)
        sum[j] = 0.0f;
    if (t < length)
#pragma unroll
        for (int k = 0; k < taps; k++) {
            int from = t + taps / 2 - k;
            float x[V];
            typename PieceOf<V, T>::type p;
            if (from >= 0 && from < length) /* the gradient of rows of padding is zero */
                p.load(columns + ((int64_t)from * taps + k) * C);
            else
                p.clear();
            p.unpack(x);
#pragma unroll
            for (int j = 0; j < V; j++)
                sum[j] += x[j];
        }
    store_some<V>(din + ((int64_t)b * T_rows + t) * C + c, sum);
}

/* Items whose unfolded rows go into the workspace at once. */
static int chunk_items(const OpsContext *c, size_t real, int B, int T_rows, int C, int K)
{
    size_t item = real * (size_t)T_rows * (size_t)C * (size_t)K, most = ops_scratch_bytes(c);
    /* The kernels count an item in 32 bits. */
    assert(item <= most && (size_t)(T_rows + K) * (size_t)C < (size_t)1 << 31);
    size_t wanted = most < CHUNK_BYTES ? most : CHUNK_BYTES;
    int64_t items = (int64_t)(wanted / item);
    return at_most(items < 1 ? 1 : at_most(items, MOST_ITEMS), B);
}

/* Calls f with V and K as constants. */
template <typename F> static void with_shape(int even, int K, F f)
{
    typedef std::integral_constant<int, 8> Eight;
    if (!even)
        f(std::integral_constant<int, 1>(), std::integral_constant<int, 0>());
    else if (K == 3)
        f(Eight(), std::integral_constant<int, 3>());
    else if (K == 5)
        f(Eight(), std::integral_constant<int, 5>());
    else
        f(Eight(), std::integral_constant<int, 0>());
}

template <typename T>
static void unfold(OpsContext *c, T *columns, const void *in, const int32_t *len, int first, int items,
                   int T_rows, int C, int K)
{
    CudaOps *o = (CudaOps *)c->own;
    with_shape(C % 8 == 0 && is_aligned(in), K, [&](auto v, auto taps) {
        enum { V = decltype(v)::value };
        dim3 grid((unsigned)divide_up((int64_t)(T_rows + K - 1) * (C / V), THREADS), (unsigned)items);
        auto kernel = unfold_kernel<T, V, decltype(taps)::value>;
        LAUNCH(o, "unfold", grid, THREADS, 0, kernel, columns, (const T *)in, len, first, T_rows, C, K);
    });
}

template <typename T>
static void fold(OpsContext *c, void *din, const T *columns, const int32_t *len, int first, int items,
                 int T_rows, int C, int K)
{
    CudaOps *o = (CudaOps *)c->own;
    with_shape(C % 8 == 0 && is_aligned(din), K, [&](auto v, auto taps) {
        enum { V = decltype(v)::value };
        dim3 grid((unsigned)divide_up((int64_t)T_rows * (C / V), THREADS), (unsigned)items);
        auto kernel = fold_kernel<T, V, decltype(taps)::value>;
        LAUNCH(o, "fold", grid, THREADS, 0, kernel, (T *)din, columns, len, first, T_rows, C, K);
    });
}

template <typename T> static uint64_t unfolded_bytes(int64_t rows, int C, int K)
{
    return (uint64_t)rows * (uint64_t)C * (uint64_t)K * sizeof(T);
}

template <typename T>
static void conv_forward(OpsContext *c, void *out, void *unfolded, const void *in, const void *w,
                         const void *bias, const int32_t *len, int B, int T_rows, int C, int N, int K,
                         Activation act)
{
    ops_enter(c);
    assert(K % 2 == 1 && C > 0 && N > 0);
    if (B == 0 || T_rows == 0)
        return;
    /* Kept for the backward pass where there is room, else in the workspace, chunk by chunk. */
    int items = unfolded ? at_most(B, MOST_ITEMS) : chunk_items(c, sizeof(T), B, T_rows, C, K);
    for (int first = 0; first < B; first += items) {
        int now = B - first < items ? B - first : items;
        int64_t row = (int64_t)first * T_rows;
        T *columns = unfolded ? (T *)unfolded + row * K * C : (T *)ops_scratch(c);
        unfold<T>(c, columns, in, len, first, now, T_rows, C, K);
        Product p = {
            (int64_t)now * T_rows, N, (int64_t)K * C, 0, 1, 0, 0, act == ACT_RELU ? ACT_RELU : ACT_NONE};
        blas_product(c, (T *)out + row * N, columns, w, bias, &p);
    }
    ops_finish_rows(c, out, (int64_t)B * T_rows, N, act, len, T_rows);
}

template <typename T>
static void conv_backward(OpsContext *c, void *din, void *dw, void *dbias, void *dout, const void *out,
                          const void *in, const void *unfolded, const void *w, const int32_t *len, int B,
                          int T_rows, int C, int N, int K, Activation act)
{
    ops_enter(c);
    assert(K % 2 == 1 && C > 0 && N > 0);
    if (B == 0 || T_rows == 0)
        return;
    const int64_t inner = (int64_t)K * C, rows = (int64_t)B * T_rows;
    if (act != ACT_NONE || dbias)
        ops_activation_backward(c, dout, dbias, out, rows, N, act, len, T_rows);
    else /* only zeros for the padding */
        ops_finish_rows(c, dout, rows, N, ACT_NONE, len, T_rows);
    /* The input is still unfolded from the forward pass: one product for all items. */
    if (dw && unfolded) {
        Product weight = {N, inner, rows, 1, 0, 1, 1, ACT_NONE};
        blas_product(c, dw, dout, unfolded, NULL, &weight);
    }
    const int unfolding = dw && !unfolded;
    if (!unfolding && !din)
        return;
    /* A chunk is unfolded for dw; then din's columns take its place and are folded. */
    T *columns = (T *)ops_scratch(c);
    int items = chunk_items(c, sizeof(T), B, T_rows, C, K);
    for (int first = 0; first < B; first += items) {
        int now = B - first < items ? B - first : items;
        const T *part = (const T *)dout + (int64_t)first * T_rows * N;
        if (unfolding) {
            unfold<T>(c, columns, in, len, first, now, T_rows, C, K);
            Product weight = {N, inner, (int64_t)now * T_rows, 1, 0, 1, 1, ACT_NONE};
            blas_product(c, dw, part, columns, NULL, &weight);
        }
        if (!din)
            continue;
        Product input = {(int64_t)now * T_rows, inner, N, 0, 0, 0, 0, ACT_NONE};
        blas_product(c, columns, part, w, NULL, &input);
        fold<T>(c, din, columns, len, first, now, T_rows, C, K);
    }
}

template <typename T> void conv_fill(Ops *ops)
{
    ops->conv_forward = conv_forward<T>;
    ops->conv_backward = conv_backward<T>;
    ops->unfolded_bytes = unfolded_bytes<T>;
}

template void conv_fill<float>(Ops *ops);
template void conv_fill<bf16>(Ops *ops);
