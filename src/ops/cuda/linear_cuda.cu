/* linear_cuda.cu - linear layers: products (product_cuda.cu) with bias and activation, and what their
 * gradients need. Very few outputs go through thin_cuda.cu. */
#include "ops/cuda/ops_cuda.h"

/* What the fused product does to its result, as a separate pass. */
template <typename T>
__global__ void __launch_bounds__(256) bias_kernel(T *out, const T *bias, int64_t n, int N, int act)
{
    for (int64_t i = (int64_t)blockIdx.x * 256 + threadIdx.x; i < n; i += (int64_t)gridDim.x * 256) {
        float x = to_float(out[i]) + (bias ? to_float(bias[i % N]) : 0.0f);
        out[i] = from_float<T>(act == ACT_RELU ? fmaxf(x, 0.0f) : act == ACT_TANH ? tanhf(x) : x);
    }
}

template <typename T>
static void linear_forward(OpsContext *c, void *out, const void *in, const void *w, const void *bias,
                           int64_t M, int N, int K, Activation act, int accumulate)
{
    ops_enter(c);
    assert(M >= 0 && N > 0 && K > 0 && !(accumulate && act != ACT_NONE));
    if (M == 0)
        return;
    if (N <= THIN) {
        thin_linear_forward(c, out, in, w, bias, M, N, K, act, accumulate);
        return;
    }
    /* ReLU is part of the product; tanh is a pass of its own. */
    Product p = {M, N, K, 0, 1, 0, accumulate != 0, act == ACT_RELU ? ACT_RELU : ACT_NONE};
    /* For comparisons: the product alone, then the rest. */
    if (c->unfused && !accumulate && (bias || act != ACT_NONE)) {
        p.act = ACT_NONE;
        blas_product(c, out, in, w, NULL, &p);
        LAUNCH(ops_enter(c), "bias and activation", fill_blocks((CudaOps *)c->own, divide_up(M * N, 256), 16),
               256, 0, bias_kernel<T>, (T *)out, (const T *)bias, M * N, N, (int)act);
        return;
    }
    blas_product(c, out, in, w, bias, &p);
    if (act == ACT_TANH)
        ops_finish_rows(c, out, M, N, ACT_TANH, NULL, 0);
}

template <typename T>
static void linear_backward(OpsContext *c, void *din, void *dw, void *dbias, void *dout, const void *out,
                            const void *in, const void *w, int64_t M, int N, int K, Activation act,
                            int accumulate)
{
    ops_enter(c);
    assert(M >= 0 && N > 0 && K > 0 && (dw || (!dbias && N > THIN)));
    if (M == 0)
        return;
    /* The sums of dout's columns come with the weights' product where that was found to be faster. */
    int summed = act == ACT_NONE && dbias && N > THIN && blas_weight_sums(c, dw, dbias, dout, in, M, N, K);
    if (act != ACT_NONE || (dbias && !summed))
        ops_activation_backward(c, dout, dbias, out, M, N, act, NULL, 0);
    if (N <= THIN) {
        thin_linear_backward(c, din, dw, dout, in, w, M, N, K, accumulate);
        return;
    }
    /* dw += dout^T in; din = dout w. */
    if (dw && !summed) {
        Product weight = {N, K, M, 1, 0, 1, 1, ACT_NONE};
        blas_product(c, dw, dout, in, NULL, &weight);
    }
    if (din) {
        Product input = {M, K, N, 0, 0, 0, accumulate != 0, ACT_NONE};
        blas_product(c, din, dout, w, NULL, &input);
    }
}

static void linear_add(OpsContext *c, void *out, const void *add, const void *in, const void *w,
                       const void *bias, int64_t M, int N, int K)
{
    ops_enter(c);
    Product p = {M, N, K, 0, 1, 0, 1, ACT_NONE, add};
    if (M > 0)
        blas_product(c, out, in, w, bias, &p);
}

/* ---- gradients of the weights of several layers ---- */

#define SUM_COLUMNS 32 /* threads side by side */
#define SUM_GROUPS 32  /* of rows */

/* dbias [N] of every layer += the sums over dout's columns. A block has all rows of its columns, a thread
 * every 32nd row of V of them; groups are added in their order. blockIdx.y: the layer. */
template <typename T, int V>
__global__ void __launch_bounds__(SUM_COLUMNS *SUM_GROUPS)
    columns_kernel(float *dbias, const T *dout, int64_t M, int N, int64_t param_step, int64_t step)
{
    __shared__ float sums[SUM_GROUPS][SUM_COLUMNS * V];
    int across = threadIdx.x % SUM_COLUMNS, group = threadIdx.x / SUM_COLUMNS;
    int column = (blockIdx.x * SUM_COLUMNS + across) * V;
    dout += blockIdx.y * step + column;
    float sum[V] = {};
    if (column < N)
#pragma unroll 8
        for (int64_t row = group; row < M; row += SUM_GROUPS) {
            if constexpr (V == 2 && sizeof(T) == 2) {
                float2 both = __bfloat1622float2(*(const __nv_bfloat162 *)(dout + row * N));
                sum[0] += both.x;
                sum[1] += both.y;
            } else {
#pragma unroll
                for (int j = 0; j < V; j++)
                    sum[j] += to_float(dout[row * N + j]);
            }
        }
#pragma unroll
    for (int j = 0; j < V; j++)
        sums[group][j * SUM_COLUMNS + across] = sum[j];
    __syncthreads();
    if (group >= V)
        return;
    int to = (blockIdx.x * SUM_COLUMNS + across) * V + group;
    float total = 0.0f;
#pragma unroll
    for (int g = 0; g < SUM_GROUPS; g++)
        total += sums[g][group * SUM_COLUMNS + across];
    if (to < N)
        dbias[blockIdx.y * param_step + to] += total;
}

/* The columns' sums of all layers. */
template <typename T> static void sum_columns(OpsContext *c, const Linears *l, int64_t M, int N)
{
    CudaOps *o = (CudaOps *)c->own;
    int even = N % 2 == 0 && l->dout_step % 2 == 0 && is_aligned(l->dout);
    assert(l->count <= 65535);
    dim3 grid((unsigned)divide_up(N, SUM_COLUMNS * (even ? 2 : 1)), (unsigned)l->count);
    auto kernel = even ? columns_kernel<T, 2> : columns_kernel<T, 1>;
    LAUNCH(o, "sums of columns", grid, SUM_COLUMNS * SUM_GROUPS, 0, kernel, (float *)l->dbias,
           (const T *)l->dout, M, N, l->param_step, l->dout_step);
}

template <typename T> static void linear_weights(OpsContext *c, const Linears *l, int64_t M, int N, int K)
{
    ops_enter(c);
    if (M == 0 || l->count == 0)
        return;
    sum_columns<T>(c, l, M, N);
    Product p = {N, K, M, 1, 0, 1, 1, ACT_NONE, NULL, l->count, l->dout_step, l->in_step, l->param_step};
    blas_product(c, l->dw, l->dout, l->in, NULL, &p);
}

template <typename T> void linear_fill(Ops *ops)
{
    ops->linear_forward = linear_forward<T>;
    ops->linear_backward = linear_backward<T>;
    ops->linear_add = linear_add;
    ops->linear_weights = linear_weights<T>;
}

template void linear_fill<float>(Ops *ops);
template void linear_fill<bf16>(Ops *ops);
