/* product_cuda.cu - matrix products through cuBLASLt: bf16 in, float sums, bias and ReLU in the product
 * itself. At the first use of a shape the library is asked for algorithms, and a large product is timed with
 * each: the fastest stays for as long as the ops are open, so that equal inputs give equal bits within a run.
 * Another run may choose differently; with `deterministic` nothing is timed and the library's first proposal
 * is taken. What is first used during a graph's capture cannot be timed and keeps that proposal, too. Shapes
 * the library does not take (odd row lengths of bf16) go through a plain kernel. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda_error.h"
#include "ops/cuda/cublas_cuda.h"
#include "ops/cuda/ops_cuda.h"

#define CANDIDATES 32
#define FINALISTS 4
#define GROUPS 3       /* of timed runs: the fastest counts, as the GPU may also work for others */
#define FIRST_ROUNDS 1 /* runs of a group, for each candidate, then for each finalist */
#define LAST_ROUNDS 4
#define TUNE_WORK 1e8   /* multiplications from which a product is timed */
#define TUNE_GAIN 0.98f /* of the first one's time, at most, to replace it */
#define TABLE_SIZE 1024 /* at first; a power of two */

/* All that the choice of an algorithm depends on. No padding: compared as bytes. */
typedef struct PlanKey {
    int64_t rows, columns, inner, a_step, b_step, d_step;
    int32_t a_transposed, b_transposed, d_acc, beta, act, bias, sums, real, alignment, batch;
} PlanKey;

typedef struct Plan {
    PlanKey key;
    cublasLtMatmulDesc_t product;
    cublasLtMatrixLayout_t a, b, d;
    cublasLtMatmulAlgo_t algorithm; /* the one that is used */
    size_t workspace;
    int usable; /* 0: the library has none for it, or another way is faster */
    float ms;   /* its time; 0: not timed */
} Plan;

struct Blas {
    Cublas api;
    cublasLtHandle_t handle;
    Plan **table; /* [size] by the hash of the key, the next free place where that is taken */
    int size, count;
    int untimed; /* products that were first used during a capture and would have been timed otherwise */
};

/* ---- the table ---- */

int blas_open(Blas **out, Err *err)
{
    *out = NULL;
    Blas *b = (Blas *)calloc(1, sizeof *b);
    Plan **table = (Plan **)calloc(TABLE_SIZE, sizeof *table);
    if (!b || !table) {
        free(b);
        free(table);
        return cuda_err(err, ERR_NOMEM, "no memory for the matrix products");
    }
    b->table = table;
    b->size = TABLE_SIZE;
    int rc = cublas_load(&b->api, err);
    if (rc == 0) {
        cublasStatus_t status = b->api.cublasLtCreate(&b->handle);
        if (status != CUBLAS_STATUS_SUCCESS)
            rc = cuda_err(err, ERR_DEVICE, "cuBLASLt does not open: status %d", (int)status);
    }
    if (rc) {
        free(b->table);
        free(b);
        return rc;
    }
    *out = b;
    return 0;
}

static void plan_close(Blas *b, Plan *p)
{
    if (!p)
        return;
    if (p->product)
        b->api.cublasLtMatmulDescDestroy(p->product);
    if (p->a)
        b->api.cublasLtMatrixLayoutDestroy(p->a);
    if (p->b)
        b->api.cublasLtMatrixLayoutDestroy(p->b);
    if (p->d)
        b->api.cublasLtMatrixLayoutDestroy(p->d);
    free(p);
}

void blas_close(Blas *b)
{
    if (!b)
        return;
    for (int i = 0; i < b->size; i++)
        plan_close(b, b->table[i]);
    b->api.cublasLtDestroy(b->handle);
    free(b->table);
    free(b);
}

int blas_untimed(const Blas *b) { return b->untimed; }

/* The place of a key: its plan, or the free place where it belongs. */
static Plan **plan_place(Plan **table, int size, const PlanKey *key)
{
    const uint8_t *bytes = (const uint8_t *)key;
    uint64_t hash = 14695981039346656037ull; /* FNV-1a */
    for (size_t i = 0; i < sizeof *key; i++)
        hash = (hash ^ bytes[i]) * 1099511628211ull;
    for (uint64_t i = hash ^ hash >> 32;; i++) {
        Plan **place = &table[i & (uint64_t)(size - 1)];
        if (!*place || memcmp(&(*place)->key, key, sizeof *key) == 0)
            return place;
    }
}

/* Also when it cannot be told. */
static int is_capturing(const CudaOps *o)
{
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    return cudaStreamIsCapturing(o->stream, &capture) != cudaSuccess ||
           capture != cudaStreamCaptureStatusNone;
}

/* Room for one more plan: twice as many places when half of them are taken, during a capture not before they
 * are nearly all taken. 0: there is no memory for it. */
static int table_grow(Blas *b, int capturing)
{
    if (b->count < (capturing ? b->size - b->size / 8 : b->size / 2))
        return 1;
    Plan **larger = (Plan **)calloc(2 * (size_t)b->size, sizeof *larger);
    if (!larger)
        return b->count < b->size - 1;
    for (int i = 0; i < b->size; i++)
        if (b->table[i])
            *plan_place(larger, 2 * b->size, &b->table[i]->key) = b->table[i];
    free(b->table);
    b->table = larger;
    b->size *= 2;
    return 1;
}

/* ---- one plan ---- */

/* cuBLASLt counts in column-major matrices: d^T [columns, rows] = op(b)^T op(a)^T, so its first matrix is our
 * b. */
static cublasStatus_t plan_describe(Blas *b, Plan *p, const PlanKey *key, const void *bias)
{
    const Cublas &api = b->api;
    p->key = *key;
    cudaDataType_t real = key->real == REAL_BF16 ? CUDA_R_16BF : CUDA_R_32F,
                   result = key->d_acc ? CUDA_R_32F : real;
    cudaDataType_t bias_type = key->sums ? result : real;
    cublasOperation_t first = key->b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N,
                      second = key->a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    /* What the product does to its result before it is written. */
    cublasLtEpilogue_t epilogue =
        key->sums              ? CUBLASLT_EPILOGUE_BGRADB
        : key->bias            ? key->act == ACT_RELU ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS
        : key->act == ACT_RELU ? CUBLASLT_EPILOGUE_RELU
                               : CUBLASLT_EPILOGUE_DEFAULT;
    uint64_t m = (uint64_t)key->columns, n = (uint64_t)key->rows, k = (uint64_t)key->inner;
    cublasStatus_t status = api.cublasLtMatmulDescCreate(&p->product, CUBLAS_COMPUTE_32F, CUDA_R_32F);
#define STEP(call) \
    if (status == CUBLAS_STATUS_SUCCESS) \
    status = call
#define SET(attribute, value) \
    STEP(api.cublasLtMatmulDescSetAttribute(p->product, attribute, &value, sizeof value))
    SET(CUBLASLT_MATMUL_DESC_TRANSA, first);
    SET(CUBLASLT_MATMUL_DESC_TRANSB, second);
    SET(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
    if (key->bias || key->sums) {
        SET(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
        SET(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, bias_type);
    }
#undef SET
    STEP(api.cublasLtMatrixLayoutCreate(&p->a, real, first == CUBLAS_OP_N ? m : k,
                                        first == CUBLAS_OP_N ? k : m,
                                        (int64_t)(first == CUBLAS_OP_N ? m : k)));
    STEP(api.cublasLtMatrixLayoutCreate(&p->b, real, second == CUBLAS_OP_N ? k : n,
                                        second == CUBLAS_OP_N ? n : k,
                                        (int64_t)(second == CUBLAS_OP_N ? k : n)));
    STEP(api.cublasLtMatrixLayoutCreate(&p->d, result, m, n, (int64_t)m));
    /* Several products in one: the library's first matrix is our b. */
    const cublasLtMatrixLayout_t layouts[] = {p->a, p->b, p->d};
    const int64_t steps[] = {key->b_step, key->a_step, key->d_step};
    for (int i = 0; i < 3 && key->batch > 1; i++) {
        STEP(api.cublasLtMatrixLayoutSetAttribute(layouts[i], CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &key->batch,
                                                  sizeof key->batch));
        STEP(api.cublasLtMatrixLayoutSetAttribute(layouts[i], CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                                  &steps[i], sizeof steps[i]));
    }
#undef STEP
    return status;
}

/* What the library proposes, the best first, `most` at most. Split sums over k are among it; all its ways
 * to add them are sequential. */
static int plan_ask(Blas *b, const Plan *p, cublasLtMatmulHeuristicResult_t *found, int most)
{
    const Cublas &api = b->api;
    cublasLtMatmulPreference_t preference = NULL;
    size_t workspace = BLAS_WORKSPACE;
    uint32_t alignment = (uint32_t)p->key.alignment;
    cublasStatus_t status = api.cublasLtMatmulPreferenceCreate(&preference);
#define PREFER(attribute, value) \
    if (status == CUBLAS_STATUS_SUCCESS) \
    status = api.cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value)
    PREFER(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace);
    PREFER(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment);
    PREFER(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment);
    PREFER(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment);
    PREFER(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment);
#undef PREFER
    int count = 0, good = 0;
    if (status == CUBLAS_STATUS_SUCCESS)
        status = api.cublasLtMatmulAlgoGetHeuristic(b->handle, p->product, p->a, p->b, p->d, p->d, preference,
                                                    most, found, &count);
    /* Only those that can run. */
    for (int i = 0; status == CUBLAS_STATUS_SUCCESS && i < count; i++)
        if (found[i].state == CUBLAS_STATUS_SUCCESS)
            found[good++] = found[i];
    if (preference)
        api.cublasLtMatmulPreferenceDestroy(preference);
    return good;
}

/* d = product + beta add, on the stream. */
static cublasStatus_t plan_run(OpsContext *c, const Plan *p, const cublasLtMatmulAlgo_t *algorithm,
                               size_t workspace, void *d, const void *add, const void *a, const void *b)
{
    CudaOps *o = (CudaOps *)c->own;
    float one = 1.0f, beta = (float)p->key.beta;
    return o->blas->api.cublasLtMatmul(o->blas->handle, p->product, &one, b, p->a, a, p->b, &beta, add, p->d,
                                       d, p->d, algorithm, ops_workspace(c), workspace, o->stream);
}

/* ---- timing ---- */

typedef struct Watch {
    cudaStream_t stream;
    cudaEvent_t at[GROUPS + 1]; /* where each group begins, and the last one ends */
} Watch;

static int watch_open(Watch *w, const CudaOps *o)
{
    *w = {o->stream, {}};
    for (cudaEvent_t &at : w->at)
        if (cudaEventCreate(&at) != cudaSuccess)
            return 0;
    return 1;
}

static void watch_close(Watch *w)
{
    for (cudaEvent_t at : w->at)
        if (at)
            cudaEventDestroy(at);
    (void)cudaGetLastError(); /* what fails while timing is not needed */
}

/* Milliseconds of one call of run() in the fastest of the groups of `rounds`, after one that does not count;
 * negative when it fails. */
template <typename F> static float watch(const Watch *w, int rounds, F run)
{
    int failed = !run() || cudaEventRecord(w->at[0], w->stream) != cudaSuccess;
    for (int g = 0; g < GROUPS && !failed; g++) {
        for (int i = 0; i < rounds && !failed; i++)
            failed = !run();
        failed = failed || cudaEventRecord(w->at[g + 1], w->stream) != cudaSuccess;
    }
    failed = failed || cudaEventSynchronize(w->at[GROUPS]) != cudaSuccess;
    float least = INFINITY;
    for (int g = 0; g < GROUPS && !failed; g++) {
        float ms = 0;
        failed = cudaEventElapsedTime(&ms, w->at[g], w->at[g + 1]) != cudaSuccess;
        least = fminf(least, ms);
    }
    return failed ? -1.0f : least / (float)rounds;
}

/* Workspace for `bytes`, after what a product reads there; NULL where there is too little. */
static void *free_room(OpsContext *c, size_t bytes, const void *a, size_t a_bytes, const void *b,
                       size_t b_bytes)
{
    uintptr_t begin = (uintptr_t)ops_scratch(c), end = begin + ops_scratch_bytes(c), at = begin;
    const uintptr_t from[] = {(uintptr_t)a, (uintptr_t)b},
                    past[] = {(uintptr_t)a + a_bytes, (uintptr_t)b + b_bytes};
    for (int i = 0; i < 2; i++)
        if (from[i] < end && past[i] > at)
            at = past[i];
    at = (at + 255) & ~(uintptr_t)255;
    return at < end && end - at >= bytes ? (void *)at : NULL;
}

/* Smaller ones are not worth timing. */
static int is_large(const PlanKey *k)
{
    return (double)k->rows * (double)k->columns * (double)k->inner * k->batch >= TUNE_WORK;
}

/* Chooses among the algorithms found. A result that is added to goes elsewhere meanwhile. */
static void plan_tune(OpsContext *c, Plan *p, const cublasLtMatmulHeuristicResult_t *found, int count,
                      void *d, const void *a, const void *b)
{
    CudaOps *o = (CudaOps *)c->own;
    const PlanKey *k = &p->key;
    const size_t real = c->ops->real_bytes, result = k->d_acc ? sizeof(float) : real;
    /* Into room of its own, zeroed; if there is none, the first proposal stands. */
    if (k->beta) {
        const int64_t more = k->batch - 1;
        size_t bytes = (size_t)(more * k->d_step + k->rows * k->columns) * result;
        d = free_room(c, bytes, a, (size_t)(more * k->a_step + k->rows * k->inner) * real, b,
                      (size_t)(more * k->b_step + k->inner * k->columns) * real);
        if (!d || cudaMemsetAsync(d, 0, bytes, o->stream) != cudaSuccess)
            return;
    }
    Watch w = {};
    if (cudaStreamSynchronize(o->stream == o->side ? o->whole : o->side) == cudaSuccess &&
        watch_open(&w, o)) {
        float ms[CANDIDATES];
        int best[FINALISTS], finalists = 0;
        auto time = [&](int i, int rounds) {
            return watch(&w, rounds, [&] {
                return plan_run(c, p, &found[i].algo, found[i].workspaceSize, d, d, a, b) ==
                       CUBLAS_STATUS_SUCCESS;
            });
        };
        /* Two heats: all candidates shortly, then the best of them for longer. */
        for (int i = 0; i < count; i++)
            ms[i] = time(i, FIRST_ROUNDS);
        /* The first proposal and the fastest others. */
        for (best[finalists++] = 0; finalists < FINALISTS && finalists < count; finalists++) {
            int next = -1;
            for (int i = 1; i < count; i++) {
                int taken = ms[i] < 0;
                for (int j = 1; j < finalists; j++)
                    taken |= best[j] == i;
                if (!taken && (next < 0 || ms[i] < ms[next]))
                    next = i;
            }
            if (next < 0)
                break;
            best[finalists] = next;
        }
        /* Another than the first proposal must be faster by TUNE_GAIN, more than what timing wavers by. */
        float first = time(0, LAST_ROUNDS), limit = first * TUNE_GAIN;
        p->ms = first;
        for (int j = 1; j < finalists && first > 0; j++) {
            float now = time(best[j], LAST_ROUNDS);
            if (now > 0 && now < limit) {
                limit = p->ms = now;
                p->algorithm = found[best[j]].algo;
                p->workspace = found[best[j]].workspaceSize;
            }
        }
        if (p->ms < 0)
            p->ms = 0;
    }
    watch_close(&w);
}

/* The plan of a product, made and decided at its first use; NULL without memory for it. */
static Plan *plan_of(OpsContext *c, const PlanKey *key, void *d, const void *a, const void *b,
                     const void *bias)
{
    CudaOps *o = (CudaOps *)c->own;
    Blas *blas = o->blas;
    Plan *known = *plan_place(blas->table, blas->size, key);
    if (known)
        return known;
    /* During the capture of a graph nothing can be timed: the first proposal is used, and counted. */
    int capturing = is_capturing(o);
    Plan *p = table_grow(blas, capturing) ? (Plan *)calloc(1, sizeof *p) : NULL;
    if (!p) {
        if (o->broken == cudaSuccess) {
            o->broken = cudaErrorMemoryAllocation;
            o->operation = "plan a matrix product";
        }
        return NULL;
    }
    *plan_place(blas->table, blas->size, key) = p;
    blas->count++;
    cublasStatus_t status = plan_describe(blas, p, key, bias);
    if (status != CUBLAS_STATUS_SUCCESS) {
        if (!key->sums && !o->broken_blas) {
            o->broken_blas = (int)status;
            o->operation = "plan a matrix product";
        }
        return p;
    }
    cublasLtMatmulHeuristicResult_t found[CANDIDATES] = {};
    /* The library takes its time over every proposal: if nothing is timed, one will do. */
    int timed = !c->deterministic && is_large(key), count = timed ? 0 : plan_ask(blas, p, found, 1);
    if (count == 0)
        count = plan_ask(blas, p, found, CANDIDATES);
    if (count == 0)
        return p;
    p->usable = 1;
    p->algorithm = found[0].algo;
    p->workspace = found[0].workspaceSize;
    if (timed && capturing)
        blas->untimed++;
    else if (timed)
        plan_tune(c, p, found, count, d, a, b);
    return p;
}

/* ---- the plain kernel ---- */

#define PLAIN_TILE 64
#define PLAIN_DEPTH 16

/* d(i, j) = beta d + act(sum over k of a(i, k) b(j, k) + bias(j)); a and b with strides of both indices. A
 * thread makes 4 x 4. */
template <typename T, typename D>
__global__ void __launch_bounds__(256)
    plain_product_kernel(D *d, const T *a, const T *b, const T *bias, int64_t rows, int64_t columns,
                         int64_t inner, int64_t a_row, int64_t a_inner, int64_t b_column, int64_t b_inner,
                         int beta, int relu)
{
    __shared__ float as[PLAIN_DEPTH][PLAIN_TILE + 1], bs[PLAIN_DEPTH][PLAIN_TILE + 1];
    int64_t row0 = (int64_t)blockIdx.x * PLAIN_TILE, column0 = (int64_t)blockIdx.y * PLAIN_TILE;
    int ty = threadIdx.x / 16, tx = threadIdx.x % 16;
    float sum[4][4] = {};
    for (int64_t k0 = 0; k0 < inner; k0 += PLAIN_DEPTH) {
        for (int i = threadIdx.x; i < PLAIN_TILE * PLAIN_DEPTH; i += 256) {
            /* Neighbouring threads read neighbouring memory, whichever index is contiguous. */
            int ka = a_inner == 1 ? i % PLAIN_DEPTH : i / PLAIN_TILE,
                ra = a_inner == 1 ? i / PLAIN_DEPTH : i % PLAIN_TILE;
            int kb = b_inner == 1 ? i % PLAIN_DEPTH : i / PLAIN_TILE,
                cb = b_inner == 1 ? i / PLAIN_DEPTH : i % PLAIN_TILE;
            int64_t r = row0 + ra, c = column0 + cb;
            as[ka][ra] = r < rows && k0 + ka < inner ? to_float(a[r * a_row + (k0 + ka) * a_inner]) : 0.0f;
            bs[kb][cb] =
                c < columns && k0 + kb < inner ? to_float(b[c * b_column + (k0 + kb) * b_inner]) : 0.0f;
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
            /* Bias, ReLU, and what is there. */
            float x = sum[i][j] + (bias ? to_float(bias[c]) : 0.0f);
            if (relu && x < 0.0f)
                x = 0.0f;
            D *to = d + r * columns + c;
            *to = from_float<D>(beta ? to_float(*to) + x : x);
        }
}

template <typename T, typename D>
static void plain_product(CudaOps *o, void *d, const void *a, const void *b, const void *bias,
                          const Product *p)
{
    dim3 grid((unsigned)divide_up(p->rows, PLAIN_TILE), (unsigned)divide_up(p->columns, PLAIN_TILE));
    auto kernel = plain_product_kernel<T, D>;
    LAUNCH(o, "plain matrix product", grid, 256, 0, kernel, (D *)d, (const T *)a, (const T *)b,
           (const T *)bias, p->rows, p->columns, p->inner, p->a_transposed ? 1 : p->inner,
           p->a_transposed ? p->rows : 1, p->b_transposed ? p->inner : 1, p->b_transposed ? 1 : p->columns,
           p->beta, p->act == ACT_RELU);
}

/* ---- what the ops call ---- */

/* The largest power of two up to 16 that divides the address. */
static int alignment_of(const void *p)
{
    uintptr_t low = (uintptr_t)p & 15;
    return low == 0 ? 16 : (int)(low & (~low + 1));
}

/* All that a plan depends on; the alignment is the worst of the three. */
static PlanKey key_of(const OpsContext *c, const Product *p, const void *d, const void *a, const void *b,
                      int bias, int sums)
{
    int aligned = alignment_of(a), of_b = alignment_of(b), of_d = alignment_of(d);
    aligned = of_b < aligned ? of_b : aligned;
    aligned = of_d < aligned ? of_d : aligned;
    int of_added = alignment_of(p->add); /* 16 if there is none */
    aligned = of_added < aligned ? of_added : aligned;
    PlanKey key = {p->rows,   p->columns,   p->inner,        p->a_step,
                   p->b_step, p->d_step,    p->a_transposed, p->b_transposed,
                   p->d_acc,  p->beta,      p->act,          bias,
                   sums,      c->ops->real, aligned,         p->batch > 1 ? p->batch : 1};
    return key;
}

/* bias: what is added, or where the sums of a's columns go. */
static void plan_use(OpsContext *c, const Plan *p, void *d, const void *add, const void *a, const void *b,
                     const void *bias)
{
    CudaOps *o = (CudaOps *)c->own;
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    if (bias)
        status = o->blas->api.cublasLtMatmulDescSetAttribute(p->product, CUBLASLT_MATMUL_DESC_BIAS_POINTER,
                                                             &bias, sizeof bias);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = plan_run(c, p, &p->algorithm, p->workspace, d, add, a, b);
    if (status != CUBLAS_STATUS_SUCCESS && !o->broken_blas) {
        o->broken_blas = (int)status;
        o->operation = "matrix product";
    }
}

/* One product without the library, which does not take it. */
static void plain(OpsContext *c, void *d, const void *a, const void *b, const void *bias, const Product *p)
{
    CudaOps *o = (CudaOps *)c->own;
    const size_t result = p->d_acc ? sizeof(float) : c->ops->real_bytes;
    if (p->add && p->add != d) {
        cudaError_t e = cudaMemcpyAsync(d, p->add, (size_t)(p->rows * p->columns) * result,
                                        cudaMemcpyDeviceToDevice, o->stream);
        if (e != cudaSuccess && o->broken == cudaSuccess) {
            o->broken = e;
            o->operation = "copy what a product is added to";
        }
    }
    if (c->ops->real == REAL_F32)
        plain_product<float, float>(o, d, a, b, bias, p);
    else if (p->d_acc)
        plain_product<bf16, float>(o, d, a, b, bias, p);
    else
        plain_product<bf16, bf16>(o, d, a, b, bias, p);
}

void blas_product(OpsContext *c, void *d, const void *a, const void *b, const void *bias, const Product *p)
{
    assert(p->act != ACT_TANH && (p->beta == 0 || p->act == ACT_NONE) && (p->beta || !p->add));
    assert(p->batch <= 1 || (!bias && !p->add));
    if (p->rows == 0 || p->columns == 0 || p->inner == 0)
        return;
    /* A plan without a usable algorithm leaves the product to the plain kernel. */
    PlanKey key = key_of(c, p, d, a, b, bias != NULL, 0);
    const Plan *plan = plan_of(c, &key, d, a, b, bias);
    if (!plan)
        return;
    if (plan->usable)
        plan_use(c, plan, d, p->add ? p->add : d, a, b, bias);
    else
        for (int i = 0; i < (p->batch > 1 ? p->batch : 1); i++)
            plain(c, (char *)d + (size_t)(i * p->d_step) * (p->d_acc ? sizeof(float) : c->ops->real_bytes),
                  (const char *)a + (size_t)(i * p->a_step) * c->ops->real_bytes,
                  (const char *)b + (size_t)(i * p->b_step) * c->ops->real_bytes, bias, p);
}

/* ---- weight gradients with the sums of dout's columns ---- */

/* Whether the sums that the product makes on the way are those of the pass that they replace, number by
 * number. */
static int sums_agree(CudaOps *o, const float *sums, const float *want, int N)
{
    float *host = (float *)malloc(2 * (size_t)N * sizeof *host);
    int agree = host &&
                cudaMemcpyAsync(host, sums, (size_t)N * sizeof *host, cudaMemcpyDeviceToHost, o->stream) ==
                    cudaSuccess &&
                cudaMemcpyAsync(host + N, want, (size_t)N * sizeof *host, cudaMemcpyDeviceToHost,
                                o->stream) == cudaSuccess &&
                cudaStreamSynchronize(o->stream) == cudaSuccess;
    float most = 0.0f;
    for (int i = 0; i < N && agree; i++)
        most = fmaxf(most, fabsf(host[N + i]));
    for (int i = 0; i < N && agree; i++)
        agree = fabsf(host[i] - host[N + i]) <= 1e-3f * most;
    free(host);
    return agree && most > 0.0f; /* zeros prove nothing */
}

/* One product with the sums, against a product and a pass over dout: the faster one is used, once it is known
 * to be right. */
static void sums_decide(OpsContext *c, Plan *p, float alone, const void *dout, const void *in, int64_t M,
                        int N, int K)
{
    CudaOps *o = (CudaOps *)c->own;
    const size_t numbers = ((size_t)N + 63) / 64 * 64, matrix = (size_t)N * (size_t)K;
    float *sums = (float *)ops_scratch(c) + ops_scratch_bytes(c) / sizeof(float) / 64 * 64 - 2 * numbers,
          *want = sums + numbers;
    float *room = (float *)free_room(c, (matrix + 2 * numbers + 64) * sizeof(float), dout,
                                     (size_t)M * (size_t)N * c->ops->real_bytes, in,
                                     (size_t)M * (size_t)K * c->ops->real_bytes);
    Watch w;
    int better = 0;
    if (room && alone > 0 && p->ms > 0 && watch_open(&w, o)) {
        float pass = watch(&w, LAST_ROUNDS, [&] {
            ops_activation_backward(c, (void *)dout, want, NULL, M, N, ACT_NONE, NULL, 0);
            return true;
        });
        better = pass > 0 && p->ms < TUNE_GAIN * (alone + pass);
        if (better) {
            better = cudaMemsetAsync(want, 0, numbers * sizeof *want, o->stream) == cudaSuccess;
            ops_activation_backward(c, (void *)dout, want, NULL, M, N, ACT_NONE, NULL, 0);
            plan_use(c, p, room, room, dout, in, sums);
            better = better && sums_agree(o, sums, want, N);
        }
        watch_close(&w);
    }
    p->usable = better;
}

int blas_weight_sums(OpsContext *c, void *dw, void *dbias, const void *dout, const void *in, int64_t M, int N,
                     int K)
{
    CudaOps *o = (CudaOps *)c->own;
    Product weight = {N, K, M, 1, 0, 1, 1, ACT_NONE};
    PlanKey key = key_of(c, &weight, dw, dout, in, 0, 1);
    float *sums = (float *)ops_scratch(c);
    if (c->deterministic || !is_large(&key) || (size_t)N * sizeof(float) > ops_scratch_bytes(c))
        return 0;
    Plan *p = *plan_place(o->blas->table, o->blas->size, &key);
    if (!p) {
        /* The product alone first: it is what this one is compared with, and what is used if it loses. */
        PlanKey plain = key_of(c, &weight, dw, dout, in, 0, 0);
        const Plan *without = plan_of(c, &plain, dw, dout, in, NULL);
        float alone = without ? without->ms : 0.0f;
        int untimed = o->blas->untimed;
        p = without ? plan_of(c, &key, dw, dout, in, sums) : NULL;
        o->blas->untimed = untimed; /* counted once */
        if (p && p->usable)
            sums_decide(c, p, alone, dout, in, M, N, K);
    }
    if (!p || !p->usable)
        return 0;
    plan_use(c, p, dw, dw, dout, in, sums);
    ops_add_partials(o, (float *)dbias, sums, 1, N, N, 1.0f, 1);
    return 1;
}
