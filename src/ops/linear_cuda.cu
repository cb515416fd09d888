/* linear_cuda.cu - matrix products through cuBLASLt: bf16 in, float sums, bias and ReLU in the product itself. What the library's own rules
 * choose for a shape is asked once and kept. A large product is timed at its first use outside of a graph's capture: of the algorithms proposed, the
 * fastest of those that give the same bits as the first one stays, so that timing never changes a result. Shapes it does not take (odd row lengths of bf16) go
 * through a plain kernel, products with very few columns through those of thin_cuda.cu. */
#include <stdlib.h>
#include <string.h>

#include "device/cuda_error.h"
#include "ops/cublas_cuda.h"
#include "ops/ops_cuda.h"

#define PLANS 256
#define CANDIDATES 8
#define TUNE_WORK 1e9 /* multiplications from which a product is timed */
#define TUNE_ROUNDS 5
#define TUNE_GAIN 0.98f /* of the first one's time, at most, to replace it */

/* All that the choice of an algorithm depends on. No padding: compared as bytes. */
typedef struct PlanKey {
    int64_t rows, columns, inner;
    int32_t a_transposed, b_transposed, d_acc, beta, act, bias, real, alignment;
} PlanKey;

typedef struct Plan {
    PlanKey key;
    cublasLtMatmulDesc_t product;
    cublasLtMatrixLayout_t a, b, d;
    cublasLtMatmulAlgo_t algorithms[CANDIDATES];
    size_t workspaces[CANDIDATES];
    int count;  /* of algorithms; 0: the library has none for it */
    int chosen; /* of them */
    int tuned;
} Plan;

struct Blas {
    Cublas api;
    cublasLtHandle_t handle;
    Plan plans[PLANS];
    int count, next; /* next: which one makes way when all are taken */
};

int blas_open(Blas **out, Err *err)
{
    Blas *b = (Blas *)calloc(1, sizeof *b);
    *out = b;
    if (!b)
        return cuda_err(err, ERR_NOMEM, "no memory for the matrix products");
    int rc = cublas_load(&b->api, err);
    if (rc == 0) {
        cublasStatus_t status = b->api.cublasLtCreate(&b->handle);
        if (status != CUBLAS_STATUS_SUCCESS)
            rc = cuda_err(err, ERR_DEVICE, "cuBLASLt does not open: status %d", (int)status);
    }
    if (rc) {
        free(b);
        *out = NULL;
    }
    return rc;
}

static void plan_close(Blas *b, Plan *p)
{
    if (p->product)
        b->api.cublasLtMatmulDescDestroy(p->product);
    if (p->a)
        b->api.cublasLtMatrixLayoutDestroy(p->a);
    if (p->b)
        b->api.cublasLtMatrixLayoutDestroy(p->b);
    if (p->d)
        b->api.cublasLtMatrixLayoutDestroy(p->d);
    memset(p, 0, sizeof *p);
}

void blas_close(Blas *b)
{
    if (!b)
        return;
    for (int i = 0; i < b->count; i++)
        plan_close(b, &b->plans[i]);
    b->api.cublasLtDestroy(b->handle);
    free(b);
}

/* cuBLASLt counts in column-major matrices: d^T [columns, rows] = op(b)^T op(a)^T, so its first matrix is our b. */
static cublasStatus_t plan_make(Blas *b, Plan *p, const PlanKey *key, const void *bias)
{
    const Cublas &api = b->api;
    p->key = *key;
    cudaDataType_t real = key->real == REAL_BF16 ? CUDA_R_16BF : CUDA_R_32F, result = key->d_acc ? CUDA_R_32F : real;
    cublasOperation_t first = key->b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N, second = key->a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasLtEpilogue_t epilogue = key->bias ? key->act == ACT_RELU ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS
                                  : key->act == ACT_RELU ? CUBLASLT_EPILOGUE_RELU
                                                         : CUBLASLT_EPILOGUE_DEFAULT;
    uint64_t m = (uint64_t)key->columns, n = (uint64_t)key->rows, k = (uint64_t)key->inner;
    cublasStatus_t status = api.cublasLtMatmulDescCreate(&p->product, CUBLAS_COMPUTE_32F, CUDA_R_32F);
#define STEP(call) \
    if (status == CUBLAS_STATUS_SUCCESS) \
    status = call
#define SET(attribute, value) STEP(api.cublasLtMatmulDescSetAttribute(p->product, attribute, &value, sizeof value))
    SET(CUBLASLT_MATMUL_DESC_TRANSA, first);
    SET(CUBLASLT_MATMUL_DESC_TRANSB, second);
    SET(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
    if (key->bias) {
        SET(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
        SET(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, real);
    }
    STEP(api.cublasLtMatrixLayoutCreate(&p->a, real, first == CUBLAS_OP_N ? m : k, first == CUBLAS_OP_N ? k : m,
                                        (int64_t)(first == CUBLAS_OP_N ? m : k)));
    STEP(api.cublasLtMatrixLayoutCreate(&p->b, real, second == CUBLAS_OP_N ? k : n, second == CUBLAS_OP_N ? n : k,
                                        (int64_t)(second == CUBLAS_OP_N ? k : n)));
    STEP(api.cublasLtMatrixLayoutCreate(&p->d, result, m, n, (int64_t)m));
    cublasLtMatmulPreference_t preference = NULL;
    STEP(api.cublasLtMatmulPreferenceCreate(&preference));
    size_t workspace = BLAS_WORKSPACE;
    uint32_t alignment = (uint32_t)key->alignment;
#define PREFER(attribute, value) STEP(api.cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value))
    PREFER(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace);
    PREFER(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment);
    PREFER(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment);
    PREFER(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment);
    PREFER(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment);
    cublasLtMatmulHeuristicResult_t found[CANDIDATES] = {};
    int count = 0;
    if (status == CUBLAS_STATUS_SUCCESS) {
        cublasStatus_t asked = api.cublasLtMatmulAlgoGetHeuristic(b->handle, p->product, p->a, p->b, p->d, p->d, preference,
                                                                  CANDIDATES, found, &count);
        for (int i = 0; asked == CUBLAS_STATUS_SUCCESS && i < count; i++)
            if (found[i].state == CUBLAS_STATUS_SUCCESS) {
                p->algorithms[p->count] = found[i].algo;
                p->workspaces[p->count++] = found[i].workspaceSize;
            }
    }
    if (preference)
        api.cublasLtMatmulPreferenceDestroy(preference);
#undef PREFER
#undef SET
#undef STEP
    return status;
}

static Plan *plan_of(CudaOps *o, const PlanKey *key, const void *bias)
{
    Blas *b = o->blas;
    for (int i = 0; i < b->count; i++)
        if (memcmp(&b->plans[i].key, key, sizeof *key) == 0)
            return &b->plans[i];
    Plan *p;
    if (b->count < PLANS) {
        p = &b->plans[b->count++];
    } else {
        p = &b->plans[b->next];
        b->next = (b->next + 1) % PLANS;
        plan_close(b, p);
    }
    cublasStatus_t status = plan_make(b, p, key, bias);
    if (status != CUBLAS_STATUS_SUCCESS && !o->broken_blas)
        o->broken_blas = (int)status, o->operation = "plan a matrix product";
    return p;
}

static cublasStatus_t plan_run(OpsContext *c, Plan *p, int which, void *d, const void *a, const void *b)
{
    CudaOps *o = (CudaOps *)c->own;
    float one = 1.0f, beta = (float)p->key.beta;
    return o->blas->api.cublasLtMatmul(o->blas->handle, p->product, &one, b, p->a, a, p->b, &beta, d, p->d, d, p->d,
                                       &p->algorithms[which], c->workspace, p->workspaces[which], o->stream);
}

/* *sum += a number that depends on every bit of x and on its place. Whole numbers: the order does not matter. */
static __global__ void __launch_bounds__(256) fingerprint_kernel(unsigned long long *sum, const uint32_t *x, int64_t n)
{
    unsigned long long own = 0;
    for (int64_t i = (int64_t)blockIdx.x * 256 + threadIdx.x; i < n; i += (int64_t)gridDim.x * 256)
        own += (x[i] + 0x9E3779B97F4A7C15ull) * (2 * (unsigned long long)i + 1);
    for (int step = 16; step > 0; step >>= 1)
        own += __shfl_xor_sync(0xFFFFFFFFu, own, step);
    if (threadIdx.x % 32 == 0)
        atomicAdd(sum, own);
}

/* Seconds of one run, or a negative number when it fails or its result is not that of the first algorithm. */
static float plan_time(OpsContext *c, Plan *p, int which, void *d, const void *a, const void *b, unsigned long long *first,
                       cudaEvent_t begin, cudaEvent_t end)
{
    CudaOps *o = (CudaOps *)c->own;
    unsigned long long *sum = (unsigned long long *)((uint8_t *)c->workspace + BLAS_WORKSPACE), got = 0;
    int64_t words = p->key.rows * p->key.columns * (p->key.real == REAL_BF16 && !p->key.d_acc ? 2 : 4) / 4;
    float ms = 0;
    if (plan_run(c, p, which, d, a, b) != CUBLAS_STATUS_SUCCESS || cudaMemsetAsync(sum, 0, sizeof *sum, o->stream) != cudaSuccess)
        return -1;
    LAUNCH(o, "look at a product", fill_blocks(o, divide_up(words, 256), 8), 256, 0, fingerprint_kernel, sum, (const uint32_t *)d,
           words);
    int failed = cudaMemcpyAsync(&got, sum, sizeof got, cudaMemcpyDeviceToHost, o->stream) != cudaSuccess ||
                 cudaEventRecord(begin, o->stream) != cudaSuccess;
    for (int i = 0; i < TUNE_ROUNDS && !failed; i++)
        failed = plan_run(c, p, which, d, a, b) != CUBLAS_STATUS_SUCCESS;
    failed = failed || cudaEventRecord(end, o->stream) != cudaSuccess || cudaEventSynchronize(end) != cudaSuccess ||
             cudaEventElapsedTime(&ms, begin, end) != cudaSuccess;
    if (which == 0)
        *first = got;
    return failed || got != *first ? -1 : ms;
}

/* Chooses among the algorithms of a plan; see the top of the file. Only for results that running again leaves as they are. */
static void plan_tune(OpsContext *c, Plan *p, void *d, const void *a, const void *b)
{
    CudaOps *o = (CudaOps *)c->own;
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    if (cudaStreamIsCapturing(o->stream, &capture) != cudaSuccess || capture != cudaStreamCaptureStatusNone)
        return;
    p->tuned = 1;
    if (c->deterministic || p->count < 2 || p->key.beta || p->key.columns % 2 ||
        (double)p->key.rows * p->key.columns * p->key.inner < TUNE_WORK)
        return;
    cudaEvent_t begin = NULL, end = NULL;
    if (cudaEventCreate(&begin) == cudaSuccess && cudaEventCreate(&end) == cudaSuccess) {
        unsigned long long bits = 0;
        float first = plan_time(c, p, 0, d, a, b, &bits, begin, end), best = first * TUNE_GAIN;
        for (int i = 1; i < p->count && first > 0; i++) {
            float now = plan_time(c, p, i, d, a, b, &bits, begin, end);
            if (now > 0 && now < best)
                best = now, p->chosen = i;
        }
    }
    if (begin)
        cudaEventDestroy(begin);
    if (end)
        cudaEventDestroy(end);
    (void)cudaGetLastError(); /* what fails here is not needed */
}

/* ---- the plain kernel ---- */

#define PLAIN_TILE 64
#define PLAIN_DEPTH 16

/* d(i, j) = beta d + act(sum over k of a(i, k) b(j, k) + bias(j)); a and b with strides of both indices. A thread makes 4 x 4. */
template <typename T, typename D>
__global__ void __launch_bounds__(256)
    plain_product_kernel(D *d, const T *a, const T *b, const T *bias, int64_t rows, int64_t columns, int64_t inner, int64_t a_row,
                         int64_t a_inner, int64_t b_column, int64_t b_inner, int beta, int relu)
{
    __shared__ float as[PLAIN_DEPTH][PLAIN_TILE + 1], bs[PLAIN_DEPTH][PLAIN_TILE + 1];
    int64_t row0 = (int64_t)blockIdx.x * PLAIN_TILE, column0 = (int64_t)blockIdx.y * PLAIN_TILE;
    int ty = threadIdx.x / 16, tx = threadIdx.x % 16;
    float sum[4][4] = {};
    for (int64_t k0 = 0; k0 < inner; k0 += PLAIN_DEPTH) {
        for (int i = threadIdx.x; i < PLAIN_TILE * PLAIN_DEPTH; i += 256) {
            int ka = a_inner == 1 ? i % PLAIN_DEPTH : i / PLAIN_TILE, ra = a_inner == 1 ? i / PLAIN_DEPTH : i % PLAIN_TILE;
            int kb = b_inner == 1 ? i % PLAIN_DEPTH : i / PLAIN_TILE, cb = b_inner == 1 ? i / PLAIN_DEPTH : i % PLAIN_TILE;
            int64_t r = row0 + ra, c = column0 + cb;
            as[ka][ra] = r < rows && k0 + ka < inner ? to_float(a[r * a_row + (k0 + ka) * a_inner]) : 0.0f;
            bs[kb][cb] = c < columns && k0 + kb < inner ? to_float(b[c * b_column + (k0 + kb) * b_inner]) : 0.0f;
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < PLAIN_DEPTH; k++)
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++)
                    sum[i][j] += as[k][ty + 16 * i] * bs[k][tx + 16 * j];
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            int64_t r = row0 + ty + 16 * i, c = column0 + tx + 16 * j;
            if (r >= rows || c >= columns)
                continue;
            float x = sum[i][j] + (bias ? to_float(bias[c]) : 0.0f);
            if (relu && x < 0.0f)
                x = 0.0f;
            D *to = d + r * columns + c;
            *to = from_float<D>(beta ? to_float(*to) + x : x);
        }
}

template <typename T, typename D>
static void plain_product(CudaOps *o, void *d, const void *a, const void *b, const void *bias, const Product *p)
{
    dim3 grid((unsigned)divide_up(p->rows, PLAIN_TILE), (unsigned)divide_up(p->columns, PLAIN_TILE));
    auto kernel = plain_product_kernel<T, D>;
    LAUNCH(o, "plain matrix product", grid, 256, 0, kernel, (D *)d, (const T *)a, (const T *)b, (const T *)bias, p->rows,
           p->columns, p->inner, p->a_transposed ? 1 : p->inner, p->a_transposed ? p->rows : 1, p->b_transposed ? p->inner : 1,
           p->b_transposed ? 1 : p->columns, p->beta, p->act == ACT_RELU);
}

static int alignment_of(const void *p)
{
    uintptr_t low = (uintptr_t)p & 15;
    return low == 0 ? 16 : (int)(low & (~low + 1));
}

void blas_product(OpsContext *c, void *d, const void *a, const void *b, const void *bias, const Product *p)
{
    CudaOps *o = (CudaOps *)c->own;
    assert(p->act != ACT_TANH && (p->beta == 0 || p->act == ACT_NONE));
    if (p->rows == 0 || p->columns == 0 || p->inner == 0)
        return;
    int aligned = alignment_of(a), of_b = alignment_of(b), of_d = alignment_of(d);
    aligned = of_b < aligned ? of_b : aligned;
    aligned = of_d < aligned ? of_d : aligned;
    PlanKey key = {p->rows, p->columns, p->inner,     p->a_transposed, p->b_transposed, p->d_acc,
                   p->beta, p->act,     bias != NULL, c->ops->real,    aligned};
    Plan *plan = plan_of(o, &key, bias);
    if (plan->count == 0) {
        if (c->ops->real == REAL_F32)
            plain_product<float, float>(o, d, a, b, bias, p);
        else if (p->d_acc)
            plain_product<bf16, float>(o, d, a, b, bias, p);
        else
            plain_product<bf16, bf16>(o, d, a, b, bias, p);
        return;
    }
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    if (bias)
        status = o->blas->api.cublasLtMatmulDescSetAttribute(plan->product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias);
    if (status == CUBLAS_STATUS_SUCCESS && !plan->tuned)
        plan_tune(c, plan, d, a, b);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = plan_run(c, plan, plan->chosen, d, a, b);
    if (status != CUBLAS_STATUS_SUCCESS && !o->broken_blas)
        o->broken_blas = (int)status, o->operation = "matrix product";
}

/* ---- linear ---- */

/* What the fused product does to its result, as a pass of its own. */
template <typename T> __global__ void __launch_bounds__(256) bias_kernel(T *out, const T *bias, int64_t n, int N, int act)
{
    for (int64_t i = (int64_t)blockIdx.x * 256 + threadIdx.x; i < n; i += (int64_t)gridDim.x * 256) {
        float x = to_float(out[i]) + (bias ? to_float(bias[i % N]) : 0.0f);
        out[i] = from_float<T>(act == ACT_RELU ? fmaxf(x, 0.0f) : act == ACT_TANH ? tanhf(x) : x);
    }
}

template <typename T>
static void linear_forward(OpsContext *c, void *out, const void *in, const void *w, const void *bias, int64_t M, int N, int K,
                           Activation act, int accumulate)
{
    ops_enter(c);
    assert(M >= 0 && N > 0 && K > 0 && !(accumulate && act != ACT_NONE));
    if (M == 0)
        return;
    if (N <= THIN) {
        thin_linear_forward(c, out, in, w, bias, M, N, K, act, accumulate);
        return;
    }
    Product p = {M, N, K, 0, 1, 0, accumulate != 0, act == ACT_RELU ? ACT_RELU : ACT_NONE};
    if (c->unfused && !accumulate && (bias || act != ACT_NONE)) {
        p.act = ACT_NONE;
        blas_product(c, out, in, w, NULL, &p);
        LAUNCH(ops_enter(c), "bias and activation", fill_blocks((CudaOps *)c->own, divide_up(M * N, 256), 16), 256, 0,
               bias_kernel<T>, (T *)out, (const T *)bias, M * N, N, (int)act);
        return;
    }
    blas_product(c, out, in, w, bias, &p);
    if (act == ACT_TANH)
        ops_finish_rows(c, out, M, N, ACT_TANH, NULL, 0);
}

template <typename T>
static void linear_backward(OpsContext *c, void *din, void *dw, void *dbias, void *dout, const void *out, const void *in,
                            const void *w, int64_t M, int N, int K, Activation act, int accumulate)
{
    ops_enter(c);
    assert(M >= 0 && N > 0 && K > 0);
    if (M == 0)
        return;
    if (act != ACT_NONE || dbias)
        ops_activation_backward(c, dout, dbias, out, M, N, act, NULL, 0);
    if (N <= THIN) {
        thin_linear_backward(c, din, dw, dout, in, w, M, N, K, accumulate);
        return;
    }
    Product weight = {N, K, M, 1, 0, 1, 1, ACT_NONE};
    blas_product(c, dw, dout, in, NULL, &weight);
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
