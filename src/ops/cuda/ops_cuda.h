/* ops_cuda.h - what the .cu files of the ops share: the state behind OpsContext.own, launching, vectors of
 * eight elements, reductions. Everything is enqueued on one stream or on the side lane's stream, which has
 * its own workspace: it is free again for the next op as soon as an op has been enqueued. Sums over rows have
 * two stages: blocks leave partial sums in the workspace, a second kernel adds them in a fixed order. */
#ifndef MYXTTS_OPS_CUDA_H
#define MYXTTS_OPS_CUDA_H

#include <assert.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <stdint.h>

#include "ops/ops.h"
#include "ops/philox.h"

typedef __nv_bfloat16 bf16;

#define BLAS_WORKSPACE (size_t(32) << 20) /* what cuBLASLt wants on Hopper */
#define SCRATCH_BYTES (size_t(136) << 20) /* partial sums, unfolded input of convolutions */
#define SIDE_SCRATCH (size_t(64) << 20)   /* the same for the side lane; products there are smaller */

#define BLAS_ALL (BLAS_WORKSPACE + 4096) /* with a few numbers of our own after it */
#define SIDE_BYTES (BLAS_ALL + SIDE_SCRATCH)

struct Blas; /* product_cuda.cu */

typedef struct CudaOps {
    int device;
    int processors;            /* multiprocessors of the GPU */
    int hopper;                /* kernels of sm_90a: 1 there are, -1 there are none, 0 not asked yet */
    cudaStream_t stream;       /* where ops are enqueued now: one of the next two */
    cudaStream_t whole, side;  /* the caller's stream, and ours: the side lane */
    cudaEvent_t forked, ended; /* where the side's work begins and ends */
    cudaEvent_t notes[SIDE_NOTES];
    int noted[SIDE_NOTES]; /* since the last join */
    cudaError_t broken;    /* the first failure to enqueue; it sticks */
    int broken_blas;       /* a cublasStatus_t */
    const char *operation;
    struct Blas *blas;
} CudaOps;

/* The state of c, with its GPU selected for the calling thread. */
static inline CudaOps *ops_enter(OpsContext *c)
{
    CudaOps *o = (CudaOps *)c->own;
    cudaError_t e = cudaSetDevice(o->device);
    if (e != cudaSuccess && o->broken == cudaSuccess) {
        o->broken = e;
        o->operation = "select the GPU";
    }
    return o;
}

static inline void ops_launched(CudaOps *o, const char *operation)
{
    cudaError_t e = cudaGetLastError();
    if (e != cudaSuccess && o->broken == cudaSuccess) {
        o->broken = e;
        o->operation = operation;
    }
}

#ifndef LAUNCH
#define LAUNCH(o, operation, grid, block, shared, kernel, ...) \
    do { \
        kernel<<<grid, block, shared, (o)->stream>>>(__VA_ARGS__); \
        ops_launched(o, operation); \
    } while (0)
#define SHARED_BYTES(name) extern __shared__ __align__(16) unsigned char name[]
#endif

/* More shared memory than a kernel gets unasked. */
template <typename K> static inline void allow_shared(CudaOps *o, K kernel, size_t bytes)
{
    cudaError_t e = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
    if (e != cudaSuccess && o->broken == cudaSuccess) {
        o->broken = e;
        o->operation = "ask for shared memory";
    }
}

/* The workspace: of cuBLASLt, then scratch. The side lane has its own at the end. */
static inline int ops_on_side(const OpsContext *c)
{
    const CudaOps *o = (const CudaOps *)c->own;
    return o->stream == o->side;
}

static inline uint8_t *ops_workspace(const OpsContext *c)
{
    return (uint8_t *)c->workspace + (ops_on_side(c) ? c->workspace_bytes - SIDE_BYTES : 0);
}

static inline void *ops_scratch(OpsContext *c) { return ops_workspace(c) + BLAS_ALL; }

static inline size_t ops_scratch_bytes(const OpsContext *c)
{
    return (ops_on_side(c) ? SIDE_BYTES : c->workspace_bytes - SIDE_BYTES) - BLAS_ALL;
}

static inline int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }
static inline int at_most(int64_t n, int64_t most) { return (int)(n < most ? n : most); }
static inline int is_aligned(const void *p) { return ((uintptr_t)p & 15) == 0; }

/* Enough blocks to fill the GPU `times` over, and no more than there is work for. */
static inline int fill_blocks(const CudaOps *o, int64_t work, int times)
{
    int64_t n = at_most(work, (int64_t)o->processors * times);
    return n < 1 ? 1 : (int)n;
}

/* ---- elements ---- */

__device__ __forceinline__ float to_float(float x) { return x; }
__device__ __forceinline__ float to_float(bf16 x) { return __bfloat162float(x); }
template <typename T> __device__ __forceinline__ T from_float(float x);
template <> __device__ __forceinline__ float from_float<float>(float x) { return x; }
template <> __device__ __forceinline__ bf16 from_float<bf16>(float x) { return __float2bfloat16_rn(x); }

/* x as it will be read back. */
template <typename T> __device__ __forceinline__ float rounded(float x) { return to_float(from_float<T>(x)); }

__device__ __forceinline__ uint32_t pack_bf16(float low, float high)
{
    __nv_bfloat162 p = __floats2bfloat162_rn(low, high);
    return *(uint32_t *)&p;
}

__device__ __forceinline__ float low_bf16(uint32_t p) { return __uint_as_float(p << 16); }
__device__ __forceinline__ float high_bf16(uint32_t p) { return __uint_as_float(p & 0xFFFF0000u); }

/* Eight neighbours, in 16-byte accesses. */
__device__ __forceinline__ void load8(float x[8], const bf16 *p)
{
    uint4 u = *(const uint4 *)p;
    x[0] = low_bf16(u.x);
    x[1] = high_bf16(u.x);
    x[2] = low_bf16(u.y);
    x[3] = high_bf16(u.y);
    x[4] = low_bf16(u.z);
    x[5] = high_bf16(u.z);
    x[6] = low_bf16(u.w);
    x[7] = high_bf16(u.w);
}

__device__ __forceinline__ void load8(float x[8], const float *p)
{
    float4 a = *(const float4 *)p, b = *(const float4 *)(p + 4);
    x[0] = a.x;
    x[1] = a.y;
    x[2] = a.z;
    x[3] = a.w;
    x[4] = b.x;
    x[5] = b.y;
    x[6] = b.z;
    x[7] = b.w;
}

__device__ __forceinline__ void store8(bf16 *p, const float x[8])
{
    uint4 u = {pack_bf16(x[0], x[1]), pack_bf16(x[2], x[3]), pack_bf16(x[4], x[5]), pack_bf16(x[6], x[7])};
    *(uint4 *)p = u;
}

__device__ __forceinline__ void store8(float *p, const float x[8])
{
    float4 a = {x[0], x[1], x[2], x[3]}, b = {x[4], x[5], x[6], x[7]};
    *(float4 *)p = a, *(float4 *)(p + 4) = b;
}

/* Eight neighbours as they lie in memory: loads can be started long before they are used. */
template <typename T> struct Piece;

template <> struct Piece<bf16> {
    uint4 u;
    __device__ __forceinline__ void load(const bf16 *p) { u = *(const uint4 *)p; }
    __device__ __forceinline__ void store(bf16 *p) const { *(uint4 *)p = u; }
    __device__ __forceinline__ void clear() { u = make_uint4(0, 0, 0, 0); }
    __device__ __forceinline__ void unpack(float x[8]) const
    {
        x[0] = low_bf16(u.x);
        x[1] = high_bf16(u.x);
        x[2] = low_bf16(u.y);
        x[3] = high_bf16(u.y);
        x[4] = low_bf16(u.z);
        x[5] = high_bf16(u.z);
        x[6] = low_bf16(u.w);
        x[7] = high_bf16(u.w);
    }
};

template <> struct Piece<float> {
    float4 a, b;
    __device__ __forceinline__ void load(const float *p)
    {
        a = *(const float4 *)p;
        b = *(const float4 *)(p + 4);
    }
    __device__ __forceinline__ void store(float *p) const { *(float4 *)p = a, *(float4 *)(p + 4) = b; }
    __device__ __forceinline__ void clear() { a = b = make_float4(0.0f, 0.0f, 0.0f, 0.0f); }
    __device__ __forceinline__ void unpack(float x[8]) const
    {
        x[0] = a.x;
        x[1] = a.y;
        x[2] = a.z;
        x[3] = a.w;
        x[4] = b.x;
        x[5] = b.y;
        x[6] = b.z;
        x[7] = b.w;
    }
};

/* One element, by the same names. */
template <typename T> struct Single {
    T x;
    __device__ __forceinline__ void load(const T *p) { x = *p; }
    __device__ __forceinline__ void store(T *p) const { *p = x; }
    __device__ __forceinline__ void clear() { x = from_float<T>(0.0f); }
    __device__ __forceinline__ void unpack(float *y) const { y[0] = to_float(x); }
};

template <int V, typename T> struct PieceOf {
    typedef Single<T> type;
};
template <typename T> struct PieceOf<8, T> {
    typedef Piece<T> type;
};

/* V neighbours: V = 8 as above, V = 1 for odd shapes. */
template <int V, typename T> __device__ __forceinline__ void load_some(float *x, const T *p)
{
    if constexpr (V == 8)
        load8(x, p);
    else
        x[0] = to_float(*p);
}

template <int V, typename T> __device__ __forceinline__ void store_some(T *p, const float *x)
{
    if constexpr (V == 8)
        store8(p, x);
    else
        *p = from_float<T>(x[0]);
}

/* ---- dropout ---- */

typedef struct DropoutCuda {
    uint64_t seed;
    const OpsStep *step;
    int64_t n;          /* elements of the whole call */
    uint32_t threshold; /* 0: everything is kept */
    float scale;
} DropoutCuda;

static inline DropoutCuda dropout_cuda(const OpsContext *c, Dropout d, int64_t n)
{
    uint32_t threshold = d.p > 0.0f ? philox_threshold(d.p) : 0;
    DropoutCuda r = {d.seed, c->step, n, threshold, philox_scale(threshold)};
    return r;
}

/* What is known when the kernel runs: the seed of the step, and the number of the first element. */
typedef struct DropoutDraw {
    uint64_t seed, first;
} DropoutDraw;

__device__ __forceinline__ DropoutDraw dropout_draw(const DropoutCuda &d)
{
    DropoutDraw r = {d.seed, 0};
    if (d.step) {
        r.seed += d.step->seed;
        r.first = (uint64_t)d.step->share * (uint64_t)d.n;
    }
    return r;
}

/* x[0..V) are the elements from i on; with V = 8, i and d.n are multiples of 8. */
template <int V>
__device__ __forceinline__ void drop_some(float *x, const DropoutCuda &d, const DropoutDraw &draw, int64_t i)
{
    if (d.threshold == 0)
        return;
    if constexpr (V == 8) {
        uint32_t w[4];
        philox4x32(w, (draw.first + (uint64_t)i) / 8, draw.seed, PHILOX_ROUNDS);
#pragma unroll
        for (int j = 0; j < 8; j++)
            x[j] = philox_bits(w, j) >= d.threshold ? x[j] * d.scale : 0.0f;
    } else {
        x[0] = philox_keep(draw.first + (uint64_t)i, draw.seed, d.threshold) ? x[0] * d.scale : 0.0f;
    }
}

/* ---- sums ---- */

__device__ __forceinline__ float warp_sum(float x)
{
#pragma unroll
    for (int d = 16; d > 0; d >>= 1)
        x += __shfl_xor_sync(0xFFFFFFFFu, x, d);
    return x;
}

/* The sum over the block, for every thread; blocks have whole warps. `shared` has 32 floats. */
__device__ __forceinline__ float block_sum(float x, float *shared)
{
    x = warp_sum(x);
    int warps = blockDim.x / 32;
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        shared[threadIdx.x / 32] = x;
    __syncthreads();
    float sum = 0.0f;
    for (int w = 0; w < warps; w++)
        sum += shared[w];
    return sum;
}

/* to[n] += (accumulate) or = scale * the sum over r of from[r * stride + n]; ops_cuda.cu. */
void ops_add_partials(CudaOps *o, float *to, const float *from, int rows, int64_t stride, int64_t n,
                      float scale, int accumulate);
/* Two or three sums at once: from [rows][count][n], each added to its own. */
void ops_add_partial_sums(CudaOps *o, float *to, float *to2, float *to3, const float *from, int rows,
                          int64_t n, int count);
/* The sums of several layers: from [layers][rows][numbers of all places], each added to its own place, which
 * is `step` further on for every layer. */
#define PLACES 4
typedef struct SumPlaces {
    float *to[PLACES];
    int64_t n[PLACES]; /* numbers; 0: there is no such place */
    int64_t step;
} SumPlaces;
void ops_add_layer_sums(CudaOps *o, const SumPlaces *places, const float *from, int rows, int layers);

/* ---- matrix products; product_cuda.cu ---- */

int blas_open(struct Blas **b, Err *err);
void blas_close(struct Blas *b);
/* Products that were first used during a graph's capture, so that none of their algorithms could be timed. */
int blas_untimed(const struct Blas *b);

/* Row major: d [rows, columns] = beta * d + op(a) op(b), a [rows, inner] or stored transposed, b [inner,
 * columns] or stored transposed, all without gaps; beta 0 or 1. bias [columns] or NULL; act NONE or RELU. a,
 * b, bias are `real`; d is `real`, or acc when d_acc. add: what is there instead of d where beta is 1; NULL:
 * d. batch: this many products, 0 and 1 alike, of a, b and d that are this many elements apart. */
typedef struct Product {
    int64_t rows, columns, inner;
    int a_transposed, b_transposed, d_acc, beta;
    Activation act;
    const void *add;
    int batch;
    int64_t a_step, b_step, d_step;
} Product;

void blas_product(OpsContext *c, void *d, const void *a, const void *b, const void *bias, const Product *p);
/* dw [N,K] += dout^T in and dbias [N] += the sums of dout's columns, in one product, where the library can
 * and that is faster. 0: nothing was done. Not for inputs in the workspace. */
int blas_weight_sums(OpsContext *c, void *dw, void *dbias, const void *dout, const void *in, int64_t M, int N,
                     int K);

/* linear_forward and the products of linear_backward (dout is before the activation already) for N <= THIN;
 * thin_cuda.cu. */
#define THIN 4
void thin_linear_forward(OpsContext *c, void *out, const void *in, const void *w, const void *bias, int64_t M,
                         int N, int K, Activation act, int accumulate);
void thin_linear_backward(OpsContext *c, void *din, void *dw, const void *dout, const void *in, const void *w,
                          int64_t M, int N, int K, int accumulate);

/* dout [M,N] to the gradient before the activation, rows at or past the length to zero (len may be NULL; T
 * rows for each), and its column sums added to dbias (may be NULL). */
void ops_activation_backward(OpsContext *c, void *dout, void *dbias, const void *out, int64_t M, int N,
                             Activation act, const int32_t *len, int T);
/* out [M,N] = tanh(out) where act is TANH, rows at or past the length to zero (len may be NULL; T rows for
 * each). */
void ops_finish_rows(OpsContext *c, void *out, int64_t M, int N, Activation act, const int32_t *len, int T);

/* ---- the tables' functions ---- */

/* Each file fills in its own, for one type. */
template <typename T> void linear_fill(Ops *ops);
template <typename T> void norm_fill(Ops *ops);
template <typename T> void attention_fill(Ops *ops);
template <typename T> void embed_fill(Ops *ops);
template <typename T> void conv_fill(Ops *ops);
template <typename T> void depthwise_fill(Ops *ops);
template <typename T> void sound_fill(Ops *ops);
template <typename T> void spectral_fill(Ops *ops);
template <typename T> void pointwise_fill(Ops *ops);
template <typename T> void rows_fill(Ops *ops);
template <typename T> void loss_fill(Ops *ops);
template <typename T> void align_fill(Ops *ops);
template <typename T> void symbols_fill(Ops *ops);
template <typename T> void critic_fill(Ops *ops);
template <typename T> void adamw_fill(Ops *ops);
void fill_fill(Ops *ops);

/* Attention for any type, head size up to ATTENTION_MOST and alignment; attention_any_cuda.cu. */
#define ATTENTION_MOST 128
/* Batch items of one launch, at most `most`: a grid has 65535 blocks in y, and heads take as many. */
static inline int attention_items(const AttentionShape *s, int64_t most)
{
    most = at_most(at_most(most, 65535 / s->heads), s->batch);
    assert(most >= 1 || s->batch == 0);
    return (int)most;
}

template <typename T>
void attention_any_forward(OpsContext *c, void *o, void *lse, const void *q, const void *k, const void *v,
                           const AttentionShape *s);
template <typename T>
void attention_any_backward(OpsContext *c, void *dq, void *dk, void *dv, const void *dout, const void *o,
                            const void *lse, const void *q, const void *k, const void *v,
                            const AttentionShape *s);

#endif
