/* attention_cuda.h - what the two sets of attention kernels for head size 64 share: attention_cuda.cu (sm_80
 * and above) and attention_hopper_cuda.cu (sm_90a). Private to them. */
#ifndef MYXTTS_ATTENTION_CUDA_H
#define MYXTTS_ATTENTION_CUDA_H

#include "ops/cuda/mma_cuda.h"
#include "ops/cuda/ops_cuda.h"

#define LOG2E 1.4426950408889634f

typedef struct AttentionArgs {
    bf16 *o, *dq, *dk, *dv;
    const bf16 *q, *k, *v, *dout, *out;
    float *lse, *delta; /* [B,H,tq]; delta: sum over j of P dP, from `first` on */
    float *lse2;        /* room like delta's, for Hopper's kernels */
    const int32_t *q_len, *k_len;
    int64_t ldq, ldk, ldv, ldo;
    int heads, tq, tk, first; /* first: batch item of block 0 */
    float scale;
} AttentionArgs;

/* Where a block is. */
typedef struct Place {
    int b, h, q_len, k_len;
    int64_t row; /* of [B,H,tq] arrays */
} Place;

__device__ __forceinline__ Place place_of(const AttentionArgs &a)
{
    Place p;
    p.b = a.first + blockIdx.y / a.heads;
    p.h = blockIdx.y % a.heads;
    p.q_len = min(a.q_len[p.b], a.tq);
    p.k_len = min(a.k_len[p.b], a.tk);
    if (p.q_len <= 0 || p.k_len <= 0)
        p.q_len = p.k_len = 0;
    p.row = ((int64_t)p.b * a.heads + p.h) * a.tq;
    return p;
}

/* The head's part of an item's rows in one of the arrays. */
template <typename T> __device__ __forceinline__ T *head_of(T *x, const Place &p, int rows, int64_t ld)
{
    return x + (int64_t)p.b * rows * ld + p.h * TILE_WIDTH;
}

/* delta = dout . o of a warp's rows, from `mine` on: eight lanes for each of them. */
template <int ROWS>
__device__ __forceinline__ void row_deltas(float *delta, const bf16 *out, const bf16 *dout, int64_t ld,
                                           int mine, int q_len)
{
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < ROWS; i += 4) {
        int row = mine + i + lane / 8;
        float x[8], y[8], sum = 0.0f;
        if (row < q_len) {
            load8(x, out + row * ld + lane % 8 * 8);
            load8(y, dout + row * ld + lane % 8 * 8);
#pragma unroll
            for (int j = 0; j < 8; j++)
                sum += x[j] * y[j];
        }
        sum += __shfl_xor_sync(0xFFFFFFFFu, sum, 1);
        sum += __shfl_xor_sync(0xFFFFFFFFu, sum, 2);
        sum += __shfl_xor_sync(0xFFFFFFFFu, sum, 4);
        if (lane % 8 == 0 && row < q_len)
            delta[row] = sum;
    }
    __syncwarp();
}

/* The accumulators of columns 16 step ... + 15, as the left side of the next product. */
template <int N> __device__ __forceinline__ void as_left(uint32_t a[4], const float c[N][4], int step)
{
    a[0] = pack_bf16(c[2 * step][0], c[2 * step][1]);
    a[1] = pack_bf16(c[2 * step][2], c[2 * step][3]);
    a[2] = pack_bf16(c[2 * step + 1][0], c[2 * step + 1][1]);
    a[3] = pack_bf16(c[2 * step + 1][2], c[2 * step + 1][3]);
}

__device__ __forceinline__ float quad_sum(float x)
{
    x += __shfl_xor_sync(0xFFFFFFFFu, x, 1);
    return x + __shfl_xor_sync(0xFFFFFFFFu, x, 2);
}

__device__ __forceinline__ float quad_max(float x)
{
    x = fmaxf(x, __shfl_xor_sync(0xFFFFFFFFu, x, 1));
    return fmaxf(x, __shfl_xor_sync(0xFFFFFFFFu, x, 2));
}

static inline AttentionArgs make_args(const AttentionShape *s)
{
    AttentionArgs a = {};
    a.q_len = s->q_len;
    a.k_len = s->k_len;
    a.ldq = s->ldq;
    a.ldk = s->ldk;
    a.ldv = s->ldv;
    a.ldo = s->ldo;
    a.heads = s->heads;
    a.tq = s->tq;
    a.tk = s->tk;
    a.scale = s->scale;
    return a;
}

/* The kernels for Hopper; 0 when this GPU or this build has none. */
int hopper_attention(CudaOps *o);
/* `batch` items from a->first on; a->delta and a->lse2 have room for them. */
void hopper_attention_forward(CudaOps *o, const AttentionArgs *a, int batch);
void hopper_attention_backward(CudaOps *o, const AttentionArgs *a, int batch);

#endif
