/* attention_any_cuda.cu - attention in float arithmetic for either type, any head size up to ATTENTION_MOST
 * and any alignment: exact rather than fast. A warp for each query (or key, for dk and dv); rounds of 32
 * keys, of which each lane has one while scores are made, and each lane has every 32nd channel while they are
 * used. The rows of a round stand in shared memory, for all warps of the block. */
#include <math.h>

#include "ops/cuda/ops_cuda.h"

#define WARPS 8
#define THREADS (32 * WARPS)
#define ROUND 32
#define PITCH (ATTENTION_MOST + 1)     /* lanes that read one column of 32 rows meet in no bank */
#define CHANNELS (ATTENTION_MOST / 32) /* of a lane */

template <typename T> struct AnyArgs {
    T *o, *dq, *dk, *dv;
    const T *q, *k, *v, *dout, *out;
    float *lse, *delta;
    AttentionShape s;
    int first;
};

/* The batch item and head of a block. */
typedef struct AnyPlace {
    int b, h, q_len, k_len;
    int64_t row; /* of [B,H,tq] arrays */
} AnyPlace;

template <typename T> __device__ __forceinline__ AnyPlace any_place(const AnyArgs<T> &a)
{
    AnyPlace p;
    p.b = a.first + blockIdx.y / a.s.heads;
    p.h = blockIdx.y % a.s.heads;
    p.q_len = min(a.s.q_len[p.b], a.s.tq);
    p.k_len = min(a.s.k_len[p.b], a.s.tk);
    if (p.q_len <= 0 || p.k_len <= 0)
        p.q_len = p.k_len = 0;
    p.row = ((int64_t)p.b * a.s.heads + p.h) * a.s.tq;
    return p;
}

/* `count` rows from `from` on into shared memory; rows at or past `end` are zeros. */
template <typename T>
__device__ __forceinline__ void any_fetch(float *to, const T *base, int64_t ld, int from, int count, int end,
                                          int D)
{
    for (int i = threadIdx.x; i < count * D; i += THREADS) {
        int row = i / D, d = i % D;
        to[row * PITCH + d] = from + row < end ? to_float(base[(from + row) * ld + d]) : 0.0f;
    }
}

/* Along the head size, in order. */
__device__ __forceinline__ float any_dot(const float *a, const float *b, int D)
{
    float sum = 0.0f;
    for (int d = 0; d < D; d++)
        sum += a[d] * b[d];
    return sum;
}

__device__ __forceinline__ float warp_max(float x)
{
    for (int d = 16; d > 0; d >>= 1)
        x = fmaxf(x, __shfl_xor_sync(0xFFFFFFFFu, x, d));
    return x;
}

/* sums[i] += the sum over the round's rows r of x (of lane r) * rows[r][lane + 32 i]. */
__device__ __forceinline__ void any_add(float sums[CHANNELS], float x, const float *rows, int D)
{
    int lane = threadIdx.x % 32;
    for (int r = 0; r < ROUND; r++) {
        float y = __shfl_sync(0xFFFFFFFFu, x, r);
#pragma unroll
        for (int i = 0; i < CHANNELS; i++)
            if (lane + 32 * i < D)
                sums[i] += y * rows[r * PITCH + lane + 32 * i];
    }
}

/* The lanes' channels to a row of memory. */
template <typename T>
__device__ __forceinline__ void any_put(T *to, const float sums[CHANNELS], float scale, int D)
{
#pragma unroll
    for (int i = 0; i < CHANNELS; i++)
        if ((int)threadIdx.x % 32 + 32 * i < D)
            to[threadIdx.x % 32 + 32 * i] = from_float<T>(sums[i] * scale);
}

/* o and lse. A row past the length gives zeros. */
template <typename T> __global__ void __launch_bounds__(THREADS) any_forward_kernel(AnyArgs<T> a)
{
    __shared__ float ks[ROUND * PITCH], vs[ROUND * PITCH], qs[WARPS * PITCH];
    const AttentionShape &s = a.s;
    const AnyPlace p = any_place(a);
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, D = s.head_size, first = blockIdx.x * WARPS,
        row = first + warp;
    const T *k = a.k + (int64_t)p.b * s.tk * s.ldk + (int64_t)p.h * D,
            *v = a.v + (int64_t)p.b * s.tk * s.ldv + (int64_t)p.h * D;
    any_fetch(qs, a.q + (int64_t)p.b * s.tq * s.ldq + (int64_t)p.h * D, s.ldq, first, WARPS, p.q_len, D);
    float most = -INFINITY, total = 0.0f, sums[CHANNELS] = {};
    int end = first >= p.q_len ? 0 : p.k_len;
    for (int key0 = 0; key0 < end; key0 += ROUND) {
        __syncthreads();
        any_fetch(ks, k, s.ldk, key0, ROUND, p.k_len, D);
        any_fetch(vs, v, s.ldv, key0, ROUND, p.k_len, D);
        __syncthreads();
        int visible = key0 + lane < p.k_len;
        float score = visible ? any_dot(qs + warp * PITCH, ks + lane * PITCH, D) * s.scale : -INFINITY;
        /* Online softmax: when a larger score comes up, what was summed is scaled down to it. */
        float now = fmaxf(most, warp_max(score));
        float fix = expf(most - now), weight = visible ? expf(score - now) : 0.0f;
        most = now;
        total = total * fix + weight;
#pragma unroll
        for (int i = 0; i < CHANNELS; i++)
            sums[i] *= fix;
        any_add(sums, weight, vs, D);
    }
    total = warp_sum(total);
    if (row >= s.tq)
        return;
    int valid = row < p.q_len;
    any_put(a.o + ((int64_t)p.b * s.tq + row) * s.ldo + (int64_t)p.h * D, sums, valid ? 1.0f / total : 0.0f,
            D);
    if (lane == 0)
        a.lse[p.row + row] = valid ? most + logf(total) : 0.0f;
}

/* dq and delta. */
template <typename T> __global__ void __launch_bounds__(THREADS) any_query_kernel(AnyArgs<T> a)
{
    __shared__ float ks[ROUND * PITCH], vs[ROUND * PITCH], qs[WARPS * PITCH], ds[WARPS * PITCH];
    const AttentionShape &s = a.s;
    const AnyPlace p = any_place(a);
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, D = s.head_size, first = blockIdx.x * WARPS,
        row = first + warp;
    int64_t q_at = (int64_t)p.b * s.tq * s.ldq + (int64_t)p.h * D,
            o_at = (int64_t)p.b * s.tq * s.ldo + (int64_t)p.h * D;
    const T *k = a.k + (int64_t)p.b * s.tk * s.ldk + (int64_t)p.h * D,
            *v = a.v + (int64_t)p.b * s.tk * s.ldv + (int64_t)p.h * D;
    any_fetch(qs, a.q + q_at, s.ldq, first, WARPS, p.q_len, D);
    any_fetch(ds, a.dout + o_at, s.ldo, first, WARPS, p.q_len, D);
    __syncthreads();
    float delta = 0.0f, lse = 0.0f, sums[CHANNELS] = {};
    if (row < p.q_len) {
        for (int d = lane; d < D; d += 32)
            delta += ds[warp * PITCH + d] * to_float(a.out[o_at + row * s.ldo + d]);
        lse = a.lse[p.row + row];
    }
    delta = warp_sum(delta);
    if (lane == 0 && row < p.q_len)
        a.delta[((int64_t)(p.b - a.first) * s.heads + p.h) * s.tq + row] = delta;
    int end = first >= p.q_len ? 0 : p.k_len;
    for (int key0 = 0; key0 < end; key0 += ROUND) {
        __syncthreads();
        any_fetch(ks, k, s.ldk, key0, ROUND, p.k_len, D);
        any_fetch(vs, v, s.ldv, key0, ROUND, p.k_len, D);
        __syncthreads();
        float x = 0.0f;
        if (row < p.q_len && key0 + lane < p.k_len) {
            /* The weight again from lse, and its gradient. */
            float weight = expf(any_dot(qs + warp * PITCH, ks + lane * PITCH, D) * s.scale - lse);
            x = weight * (any_dot(ds + warp * PITCH, vs + lane * PITCH, D) - delta);
        }
        any_add(sums, x, ks, D);
    }
    if (row < s.tq)
        any_put(a.dq + q_at + row * s.ldq, sums, s.scale, D);
}

/* dk and dv; delta is there from the kernel before. */
template <typename T> __global__ void __launch_bounds__(THREADS) any_key_kernel(AnyArgs<T> a)
{
    __shared__ float qs[ROUND * PITCH], ds[ROUND * PITCH], ks[WARPS * PITCH], vs[WARPS * PITCH];
    const AttentionShape &s = a.s;
    const AnyPlace p = any_place(a);
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, D = s.head_size, first = blockIdx.x * WARPS,
        key = first + warp;
    int64_t k_at = (int64_t)p.b * s.tk * s.ldk + (int64_t)p.h * D,
            v_at = (int64_t)p.b * s.tk * s.ldv + (int64_t)p.h * D;
    const T *q = a.q + (int64_t)p.b * s.tq * s.ldq + (int64_t)p.h * D,
            *dout = a.dout + (int64_t)p.b * s.tq * s.ldo + (int64_t)p.h * D;
    const float *delta = a.delta + ((int64_t)(p.b - a.first) * s.heads + p.h) * s.tq;
    any_fetch(ks, a.k + k_at, s.ldk, first, WARPS, p.k_len, D);
    any_fetch(vs, a.v + v_at, s.ldv, first, WARPS, p.k_len, D);
    float sum_k[CHANNELS] = {}, sum_v[CHANNELS] = {};
    int end = first >= p.k_len ? 0 : p.q_len;
    for (int query0 = 0; query0 < end; query0 += ROUND) {
        __syncthreads();
        any_fetch(qs, q, s.ldq, query0, ROUND, p.q_len, D);
        any_fetch(ds, dout, s.ldo, query0, ROUND, p.q_len, D);
        __syncthreads();
        int row = query0 + lane;
        float weight = 0.0f, x = 0.0f;
        if (row < p.q_len && key < p.k_len) {
            weight = expf(any_dot(qs + lane * PITCH, ks + warp * PITCH, D) * s.scale - a.lse[p.row + row]);
            x = weight * (any_dot(ds + lane * PITCH, vs + warp * PITCH, D) - delta[row]);
        }
        any_add(sum_k, x, qs, D);
        any_add(sum_v, weight, ds, D);
    }
    if (key >= s.tk)
        return;
    any_put(a.dk + k_at + key * s.ldk, sum_k, s.scale, D);
    any_put(a.dv + v_at + key * s.ldv, sum_v, 1.0f, D);
}

template <typename T>
static AnyArgs<T> any_args(const void *q, const void *k, const void *v, const AttentionShape *s)
{
    assert(s->head_size <= ATTENTION_MOST);
    AnyArgs<T> a = {};
    a.s = *s;
    a.q = (const T *)q;
    a.k = (const T *)k;
    a.v = (const T *)v;
    return a;
}

template <typename T>
void attention_any_forward(OpsContext *c, void *o, void *lse, const void *q, const void *k, const void *v,
                           const AttentionShape *s)
{
    CudaOps *ops = ops_enter(c);
    if (s->batch == 0 || s->tq == 0)
        return;
    AnyArgs<T> a = any_args<T>(q, k, v, s);
    a.o = (T *)o;
    a.lse = (float *)lse;
    /* blockIdx.y counts items and heads, and has a limit. */
    int most = attention_items(s, s->batch);
    for (a.first = 0; a.first < s->batch; a.first += most) {
        unsigned heads = (unsigned)((s->batch - a.first < most ? s->batch - a.first : most) * s->heads);
        LAUNCH(ops, "attention forward", dim3((unsigned)divide_up(s->tq, WARPS), heads), THREADS, 0,
               any_forward_kernel<T>, a);
    }
}

template <typename T>
void attention_any_backward(OpsContext *c, void *dq, void *dk, void *dv, const void *dout, const void *o,
                            const void *lse, const void *q, const void *k, const void *v,
                            const AttentionShape *s)
{
    CudaOps *ops = ops_enter(c);
    AnyArgs<T> a = any_args<T>(q, k, v, s);
    a.dq = (T *)dq;
    a.dk = (T *)dk;
    a.dv = (T *)dv;
    a.dout = (const T *)dout;
    a.out = (const T *)o;
    a.lse = (float *)lse;
    a.delta = (float *)ops_scratch(c);
    int64_t numbers = (int64_t)s->heads * (s->tq > 0 ? s->tq : 1); /* of an item */
    int most = attention_items(s, (int64_t)(ops_scratch_bytes(c) / sizeof(float)) / numbers);
    for (a.first = 0; a.first < s->batch; a.first += most) {
        unsigned heads = (unsigned)((s->batch - a.first < most ? s->batch - a.first : most) * s->heads);
        if (s->tq > 0)
            LAUNCH(ops, "attention backward", dim3((unsigned)divide_up(s->tq, WARPS), heads), THREADS, 0,
                   any_query_kernel<T>, a);
        if (s->tk > 0)
            LAUNCH(ops, "attention backward", dim3((unsigned)divide_up(s->tk, WARPS), heads), THREADS, 0,
                   any_key_kernel<T>, a);
    }
}

#define INSTANCES(T) \
    template void attention_any_forward<T>(OpsContext *, void *, void *, const void *, const void *, \
                                           const void *, const AttentionShape *); \
    template void attention_any_backward<T>(OpsContext *, void *, void *, void *, const void *, \
                                            const void *, const void *, const void *, const void *, \
                                            const void *, const AttentionShape *);
INSTANCES(float)
INSTANCES(bf16)
