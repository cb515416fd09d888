/* thin_cuda.cu - linears with very few outputs (what is predicted for every symbol): a matrix product would
 * compute mostly nothing, these run at the speed of memory. */
#include <type_traits>

#include "ops/cuda/ops_cuda.h"

#define THREADS 256
#define WARPS (THREADS / 32)
#define ROWS_AT_ONCE 4

/* out [M,N]; a warp for each row, V inputs of a lane at once. */
template <typename T, int V, int N>
__global__ void __launch_bounds__(THREADS) thin_forward_kernel(T *out, const T *in, const T *w, const T *bias,
                                                               int64_t M, int K, int act, int accumulate)
{
    int lane = threadIdx.x % 32;
    int64_t row = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
    if (row >= M)
        return;
    float sum[N] = {};
#pragma unroll 4
    for (int k = lane * V; k < K; k += 32 * V) {
        float x[V], y[V];
        load_some<V>(x, in + row * K + k);
#pragma unroll
        for (int n = 0; n < N; n++) {
            load_some<V>(y, w + (int64_t)n * K + k);
#pragma unroll
            for (int j = 0; j < V; j++)
                sum[n] += x[j] * y[j];
        }
    }
#pragma unroll
    for (int n = 0; n < N; n++) {
        /* One lane finishes the row: bias, activation, the sum with what is there. */
        float x = warp_sum(sum[n]);
        if (lane != 0)
            continue;
        x += bias ? to_float(bias[n]) : 0.0f;
        x = act == ACT_RELU ? fmaxf(x, 0.0f) : act == ACT_TANH ? tanhf(x) : x;
        T *to = out + row * N + n;
        *to = from_float<T>(accumulate ? to_float(*to) + x : x);
    }
}

/* din [M,K] from dout [M,N] and w [N,K]; a warp for each row. */
template <typename T, int V, int N>
__global__ void __launch_bounds__(THREADS)
    thin_input_kernel(T *din, const T *dout, const T *w, int64_t M, int K, int accumulate)
{
    int lane = threadIdx.x % 32;
    int64_t row = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
    if (row >= M)
        return;
    /* The few gradients of the row stay in registers; the weights come from the cache. */
    float d[N];
#pragma unroll
    for (int n = 0; n < N; n++)
        d[n] = to_float(dout[row * N + n]);
#pragma unroll 4
    for (int k = lane * V; k < K; k += 32 * V) {
        T *to = din + row * K + k;
        float x[V], y[V];
        if (accumulate) {
            load_some<V>(x, to);
        } else {
#pragma unroll
            for (int j = 0; j < V; j++)
                x[j] = 0.0f;
        }
#pragma unroll
        for (int n = 0; n < N; n++) {
            load_some<V>(y, w + (int64_t)n * K + k);
#pragma unroll
            for (int j = 0; j < V; j++)
                x[j] += d[n] * y[j];
        }
        store_some<V>(to, x);
    }
}

/* partial [shares of the rows, N, K] of dw; a block for 32 V inputs and a share of the rows, four rows of a
 * warp on their way at once. */
template <typename T, int V, int N>
__global__ void __launch_bounds__(THREADS)
    thin_weight_kernel(float *partial, const T *dout, const T *in, int64_t M, int K)
{
    __shared__ float sums[WARPS][32 * V];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, k = (blockIdx.x * 32 + lane) * V;
    const int64_t stride = (int64_t)gridDim.y * WARPS;
    float sum[N][V] = {};
    if (k < K)
        for (int64_t row0 = (int64_t)blockIdx.y * WARPS + warp; row0 < M; row0 += ROWS_AT_ONCE * stride) {
            float x[ROWS_AT_ONCE][V], d[ROWS_AT_ONCE][N];
#pragma unroll
            for (int u = 0; u < ROWS_AT_ONCE; u++) {
                int64_t row = row0 + u * stride;
                if (row >= M)
                    row = row0; /* counted with weight 0 */
                load_some<V>(x[u], in + row * K + k);
#pragma unroll
                for (int n = 0; n < N; n++)
                    d[u][n] = row0 + u * stride < M ? to_float(dout[row * N + n]) : 0.0f;
            }
#pragma unroll
            for (int u = 0; u < ROWS_AT_ONCE; u++)
#pragma unroll
                for (int n = 0; n < N; n++)
#pragma unroll
                    for (int j = 0; j < V; j++)
                        sum[n][j] += x[u][j] * d[u][n];
        }
#pragma unroll
    for (int n = 0; n < N; n++) {
        __syncthreads();
#pragma unroll
        for (int j = 0; j < V; j++)
            sums[warp][j * 32 + lane] = sum[n][j]; /* one bank for each lane */
        __syncthreads();
        for (int at = threadIdx.x; at < 32 * V; at += THREADS) {
            int to = (blockIdx.x * 32 + at % 32) * V + at / 32;
            float total = 0.0f;
            for (int i = 0; i < WARPS; i++)
                total += sums[i][at];
            if (to < K)
                partial[((int64_t)blockIdx.y * N + n) * K + to] = total;
        }
    }
}

/* Calls f with V and N as constants. */
template <int V, typename F> static void with_outputs(int N, F f)
{
    static_assert(THIN == 4, "one case for each");
    typedef std::integral_constant<int, V> Width;
    switch (N) {
    case 1:
        return f(Width(), std::integral_constant<int, 1>());
    case 2:
        return f(Width(), std::integral_constant<int, 2>());
    case 3:
        return f(Width(), std::integral_constant<int, 3>());
    default:
        return f(Width(), std::integral_constant<int, 4>());
    }
}

/* Eight inputs at once where addresses allow it. */
template <typename F> static void with_thin(int even, int N, F f)
{
    if (even)
        with_outputs<8>(N, f);
    else
        with_outputs<1>(N, f);
}

template <typename T>
static void forward(OpsContext *c, T *out, const T *in, const T *w, const T *bias, int64_t M, int N, int K,
                    Activation act, int accumulate)
{
    CudaOps *o = (CudaOps *)c->own;
    unsigned blocks = (unsigned)divide_up(M, WARPS);
    with_thin(K % 8 == 0 && is_aligned(in) && is_aligned(w), N, [&](auto v, auto n) {
        auto kernel = thin_forward_kernel<T, decltype(v)::value, decltype(n)::value>;
        LAUNCH(o, "linear forward", blocks, THREADS, 0, kernel, out, in, w, bias, M, K, (int)act, accumulate);
    });
}

template <typename T>
static void backward(OpsContext *c, T *din, float *dw, const T *dout, const T *in, const T *w, int64_t M,
                     int N, int K, int accumulate)
{
    CudaOps *o = (CudaOps *)c->own;
    int even = K % 8 == 0 && is_aligned(in) && is_aligned(w) && is_aligned(din);
    unsigned across = (unsigned)divide_up(K, even ? 256 : 32), blocks = (unsigned)divide_up(M, WARPS);
    /* Shares of the rows: enough to fill the GPU, no more than the scratch holds sums for. */
    int64_t wanted = divide_up((int64_t)o->processors * 4, across), numbers = (int64_t)N * K;
    int shares = at_most(divide_up(M, WARPS),
                         at_most(wanted, (int64_t)(ops_scratch_bytes(c) / sizeof(float)) / numbers));
    float *partial = (float *)ops_scratch(c);
    with_thin(even, N, [&](auto v, auto n) {
        auto weight = thin_weight_kernel<T, decltype(v)::value, decltype(n)::value>;
        auto input = thin_input_kernel<T, decltype(v)::value, decltype(n)::value>;
        LAUNCH(o, "linear backward", dim3(across, (unsigned)shares), THREADS, 0, weight, partial, dout, in, M,
               K);
        ops_add_partials(o, dw, partial, shares, numbers, numbers, 1.0f, 1);
        if (din)
            LAUNCH(o, "linear backward", blocks, THREADS, 0, input, din, dout, w, M, K, accumulate);
    });
}

void thin_linear_forward(OpsContext *c, void *out, const void *in, const void *w, const void *bias, int64_t M,
                         int N, int K, Activation act, int accumulate)
{
    if (c->ops->real == REAL_F32)
        forward<float>(c, (float *)out, (const float *)in, (const float *)w, (const float *)bias, M, N, K,
                       act, accumulate);
    else
        forward<bf16>(c, (bf16 *)out, (const bf16 *)in, (const bf16 *)w, (const bf16 *)bias, M, N, K, act,
                      accumulate);
}

void thin_linear_backward(OpsContext *c, void *din, void *dw, const void *dout, const void *in, const void *w,
                          int64_t M, int N, int K, int accumulate)
{
    if (c->ops->real == REAL_F32)
        backward<float>(c, (float *)din, (float *)dw, (const float *)dout, (const float *)in,
                        (const float *)w, M, N, K, accumulate);
    else
        backward<bf16>(c, (bf16 *)din, (float *)dw, (const bf16 *)dout, (const bf16 *)in, (const bf16 *)w, M,
                       N, K, accumulate);
}
