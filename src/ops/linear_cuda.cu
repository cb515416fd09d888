/* linear_cuda.cu - linear layers: products (product_cuda.cu) with bias and activation, and what their
 * gradients need. Very few outputs go through thin_cuda.cu. */
#include "ops/ops_cuda.h"

/* What the fused product does to its result, as a pass of its own. */
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
    /* For whoever compares: the product alone, then the rest. */
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

template <typename T> void linear_fill(Ops *ops)
{
    ops->linear_forward = linear_forward<T>;
    ops->linear_backward = linear_backward<T>;
}

template void linear_fill<float>(Ops *ops);
template void linear_fill<bf16>(Ops *ops);
