/* attention_hopper_cuda.cu - what attention_cuda.cu does, with Hopper's warpgroup products (sm_90a). A
 * warpgroup owns 64 rows, takes the other side 64 rows at a time straight out of shared memory, and keeps its sums in registers. Several
 * warpgroups share a multiprocessor, so that the products of one run during the exponentials of another.
 * Fetching runs one round ahead; one barrier in each round says both that a tile has come and that the one before it is free. */
#include "ops/attention_cuda.h"
#include "ops/wgmma_cuda.h"

#define STEP 64 /* rows of the other side in one round */
#define TILE (64 * TILE_WIDTH)
#define ALIGNMENT 1024 /* of tiles */

#define SLACK 8.0f       /* powers of two by which a score may pass the base of the exponents */
#define FORWARD_GROUPS 3 /* warpgroups of a block */
#define BACKWARD_GROUPS 4

#define SHARED_FOR(tiles, floats) (ALIGNMENT + (tiles)*TILE * sizeof(bf16) + (floats) * sizeof(float))
#define FORWARD_SHARED SHARED_FOR(FORWARD_GROUPS + 4, 0)
#define BACKWARD_SHARED SHARED_FOR(2 * BACKWARD_GROUPS + 4 + 2 * BACKWARD_GROUPS, 4 * STEP)

/* wgmma exists for sm_90a alone, not for what comes after it: elsewhere the kernels are empty and are never called. */
#if defined(__CUDA_ARCH_FEAT_SM90_ALL) || !defined(__CUDA_ARCH__)
#define HOPPER 1
#else
#define HOPPER 0
#endif

/* Has shared memory of its own where the others have code. */
static __global__ void probe_kernel(int *out)
{
#if HOPPER
    __shared__ int there[32];
    there[threadIdx.x % 32] = (int)threadIdx.x;
    __syncthreads();
    *out = there[(threadIdx.x + 1) % 32];
#endif
}

#if HOPPER

/* ROWS rows from `from` on into tiles; rows at or past `end` are zeros. */
template <int ROWS, int THREADS> __device__ __forceinline__ void fetch(bf16 *tile, const bf16 *base, int64_t ld, int from, int end)
{
#pragma unroll
    for (int i = threadIdx.x; i < ROWS * 8; i += THREADS) {
        int row = i / 8, piece = i % 8, valid = from + row < end;
        copy_async16(tile + tile_at(row, piece), base + (valid ? (from + row) * ld : 0) + piece * 8, valid);
    }
}

/* The warp's 16 x 64 sums through its rows of a tile to memory; rows at or past `valid` become zeros, those at or past `end` are none. */
__device__ __forceinline__ void put(bf16 *to, int64_t ld, bf16 *tile, const float c[8][4], int row0, int first, int valid, int end)
{
    int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
#pragma unroll
    for (int n = 0; n < 8; n++) {
        *(uint32_t *)(tile + tile_at(row0 + g, n) + 2 * t) = pack_bf16(c[n][0], c[n][1]);
        *(uint32_t *)(tile + tile_at(row0 + g + 8, n) + 2 * t) = pack_bf16(c[n][2], c[n][3]);
    }
    __syncwarp();
#pragma unroll
    for (int i = lane; i < 16 * 8; i += 32) {
        int row = row0 + i / 8, piece = i % 8;
        if (first + row >= end)
            continue;
        uint4 x = *(const uint4 *)(tile + tile_at(row, piece));
        if (first + row >= valid)
            x = make_uint4(0, 0, 0, 0);
        *(uint4 *)(to + (first + row) * ld + piece * 8) = x;
    }
}

/* Rows first ... end - 1. */
template <int THREADS> __device__ __forceinline__ void put_zeros(bf16 *to, int64_t ld, int first, int end)
{
    for (int i = threadIdx.x; i < (end - first) * 8; i += THREADS)
        *(uint4 *)(to + (first + i / 8) * ld + i % 8 * 8) = make_uint4(0, 0, 0, 0);
}

__device__ __forceinline__ void clear(float c[8][4])
{
#pragma unroll
    for (int n = 0; n < 8; n++)
#pragma unroll
        for (int i = 0; i < 4; i++)
            c[n][i] = 0.0f;
}

__device__ __forceinline__ bf16 *tiles_begin(unsigned char *shared)
{
    return (bf16 *)(shared + (ALIGNMENT - shared_address(shared) % ALIGNMENT) % ALIGNMENT);
}

/* 2^-d^2 of the guide, d counted from `base` on for columns + c. */
__device__ __forceinline__ float guide_rest(float base, float rate, float c)
{
    float d = base + c * rate;
    return exp2_fast(-d * d);
}

#endif

/* ---- forward ---- */

template <bool GUIDE> __global__ void __launch_bounds__(WGMMA_GROUP *FORWARD_GROUPS, 1) forward_kernel(AttentionArgs a)
{
#if HOPPER
    enum { THREADS = WGMMA_GROUP * FORWARD_GROUPS, ROWS = 64 * FORWARD_GROUPS };
    SHARED_BYTES(shared);
    bf16 *qs = tiles_begin(shared), *ks = qs + FORWARD_GROUPS * TILE, *vs = ks + 2 * TILE;
    const Place p = place_of(a);
    int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    int first = (gridDim.x - 1 - blockIdx.x) * ROWS; /* with causal, the longest rows start first */
    int row0 = threadIdx.x / 32 * 16, mine = first + row0, group = first + threadIdx.x / WGMMA_GROUP * 64;
    bf16 *o = a.o + (int64_t)p.b * a.tq * a.ldo + p.h * TILE_WIDTH;
    if (first >= p.q_len) {
        put_zeros<THREADS>(o, a.ldo, first, min(first + ROWS, a.tq));
        for (int i = first + threadIdx.x; i < min(first + ROWS, a.tq); i += THREADS) {
            a.lse[p.row + i] = 0.0f;
            if (a.guide_sum)
                a.guide_sum[p.row + i] = 0.0f;
        }
        return;
    }
    const bf16 *k = a.k + (int64_t)p.b * a.tk * a.ldk + p.h * TILE_WIDTH;
    const bf16 *v = a.v + (int64_t)p.b * a.tk * a.ldv + p.h * TILE_WIDTH;
    int end = a.causal ? min(p.k_len, min(first + ROWS, p.q_len)) : p.k_len;
    int active = group < p.q_len, last = a.causal ? group + 63 : end; /* keys after `last` are not for this warpgroup */
    fetch<ROWS, THREADS>(qs, a.q + (int64_t)p.b * a.tq * a.ldq + p.h * TILE_WIDTH, a.ldq, first, p.q_len);
    fetch<STEP, THREADS>(ks, k, a.ldk, 0, p.k_len);
    copy_commit();

    /* base: exponents are counted from it, in powers of two; it follows the largest score only when that is far ahead. */
    float out[8][4], base[2] = {-INFINITY, -INFINITY}, total[2] = {0.0f, 0.0f}, rest[2] = {0.0f, 0.0f};
    clear(out);
    float scale2 = a.scale * LOG2E, row_guide[2] = {(float)(mine + g) * p.guide_q, (float)(mine + g + 8) * p.guide_q};
    uint64_t left = wgmma_tile(qs + threadIdx.x / WGMMA_GROUP * TILE);
    /* Scores s of the keys from key0 on are there; those of the next keys are made meanwhile. */
    auto round = [&](float(&s)[8][4], float(&next)[8][4], int key0, int stage) {
        copy_wait<0>(); /* keys of the next round, values of this one */
        wgmma_publish();
        __syncthreads();
        if (key0 + 2 * STEP < end)
            fetch<STEP, THREADS>(ks + stage * TILE, k, a.ldk, key0 + 2 * STEP, p.k_len);
        if (key0 + STEP < end)
            fetch<STEP, THREADS>(vs + (stage ^ 1) * TILE, v, a.ldv, key0 + STEP, p.k_len);
        copy_commit();
        if (!active || key0 > last)
            return;
        wgmma_begin();
        wgmma_dot(next, left, wgmma_tile(ks + (stage ^ 1) * TILE)); /* after the last keys: of no use, never read */
        if (key0 + STEP > p.k_len || (a.causal && key0 + STEP - 1 > mine))
#pragma unroll
            for (int n = 0; n < 8; n++)
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    int row = mine + g + i / 2 * 8, key = key0 + 8 * n + 2 * t + i % 2;
                    if (key >= p.k_len || (a.causal && key > row))
                        s[n][i] = -INFINITY;
                }
        float most[2];
#pragma unroll
        for (int r = 0; r < 2; r++) {
            most[r] = fmaxf(s[0][2 * r], s[0][2 * r + 1]);
#pragma unroll
            for (int n = 1; n < 8; n++)
                most[r] = fmaxf(most[r], fmaxf(s[n][2 * r], s[n][2 * r + 1]));
            most[r] = quad_max(most[r]) * scale2;
        }
        if (__any_sync(0xFFFFFFFFu, most[0] > base[0] + SLACK || most[1] > base[1] + SLACK))
#pragma unroll
            for (int r = 0; r < 2; r++) {
                float now = fmaxf(base[r], most[r]), fix = exp2_fast(base[r] - now);
                base[r] = now;
                total[r] *= fix;
                rest[r] *= fix;
#pragma unroll
                for (int n = 0; n < 8; n++) {
                    out[n][2 * r] *= fix;
                    out[n][2 * r + 1] *= fix;
                }
            }
#pragma unroll
        for (int r = 0; r < 2; r++) {
            float guide = (float)(key0 + 2 * t) * p.guide_k - row_guide[r];
#pragma unroll
            for (int n = 0; n < 8; n++)
#pragma unroll
                for (int j = 0; j < 2; j++) {
                    float weight = exp2_fast(s[n][2 * r + j] * scale2 - base[r]);
                    s[n][2 * r + j] = weight;
                    total[r] += weight;
                    if (GUIDE)
                        rest[r] += weight * guide_rest(guide, p.guide_k, (float)(8 * n + j));
                }
        }
        uint32_t weights[4][4];
#pragma unroll
        for (int step = 0; step < 4; step++)
            as_left<8>(weights[step], s, step);
        wgmma_begin();
        wgmma_add(out, weights, wgmma_tile(vs + stage * TILE));
        wgmma_wait<0>();
        wgmma_finish(next);
        wgmma_finish(out);
    };
    float even[8][4], odd[8][4];
    copy_wait<0>();
    wgmma_publish();
    __syncthreads();
    fetch<STEP, THREADS>(vs, v, a.ldv, 0, p.k_len);
    if (STEP < end)
        fetch<STEP, THREADS>(ks + TILE, k, a.ldk, STEP, p.k_len);
    copy_commit();
    wgmma_begin();
    wgmma_dot(even, left, wgmma_tile(ks));
    wgmma_wait<0>();
    wgmma_finish(even);
    for (int key0 = 0; key0 < end; key0 += 2 * STEP) {
        round(even, odd, key0, 0);
        if (key0 + STEP < end)
            round(odd, even, key0 + STEP, 1);
    }
    copy_wait<0>();
#pragma unroll
    for (int r = 0; r < 2; r++) {
        float sum = quad_sum(total[r]), inverse = sum > 0.0f ? 1.0f / sum : 0.0f;
        float guide = GUIDE ? 1.0f - quad_sum(rest[r]) * inverse : 0.0f;
        int row = mine + g + 8 * r;
        if (t == 0 && row < a.tq) {
            int valid = row < p.q_len;
            a.lse[p.row + row] = valid ? base[r] * (1.0f / LOG2E) + logf(sum) : 0.0f;
            if (a.guide_sum)
                a.guide_sum[p.row + row] = valid ? guide : 0.0f;
        }
#pragma unroll
        for (int n = 0; n < 8; n++) {
            out[n][2 * r] *= inverse;
            out[n][2 * r + 1] *= inverse;
        }
    }
    __syncthreads();
    put(o, a.ldo, qs, out, row0, first, p.q_len, a.tq);
#endif
}

/* ---- backward ---- */

/* delta [B,H,tq] from a.first on: dout . o + guide_weight * guide_sum, 0 in padding. Eight lanes for each row of a head. */
__global__ void __launch_bounds__(256) delta_kernel(AttentionArgs a, int64_t rows)
{
    int64_t i = ((int64_t)blockIdx.x * 256 + threadIdx.x) / 8; /* head after head within a row of the batch: neighbours in memory */
    int lane = threadIdx.x % 8, h = (int)(i % a.heads);
    int64_t row = i / a.heads;
    int b = a.first + (int)(row / a.tq), t = (int)(row % a.tq);
    float x[8], y[8], sum = 0.0f;
    int valid = i < rows && t < a.q_len[b];
    if (valid) {
        int64_t at = ((int64_t)b * a.tq + t) * a.ldo + h * TILE_WIDTH + lane * 8;
        load8(x, a.out + at);
        load8(y, a.dout + at);
#pragma unroll
        for (int j = 0; j < 8; j++)
            sum += x[j] * y[j];
    }
    sum += __shfl_xor_sync(0xFFFFFFFFu, sum, 1);
    sum += __shfl_xor_sync(0xFFFFFFFFu, sum, 2);
    sum += __shfl_xor_sync(0xFFFFFFFFu, sum, 4);
    if (valid && a.guide_sum)
        sum += a.guide_weight * a.guide_sum[((int64_t)b * a.heads + h) * a.tq + t];
    if (lane == 0 && i < rows)
        a.delta[((int64_t)(b - a.first) * a.heads + h) * a.tq + t] = sum;
}

/* A block for one head at a time. It takes 256 keys, 64 for each warpgroup, and walks over the queries: dk and dv stay in registers. Products are
 * turned over (rows are keys, columns are queries), 32 queries at once. dq of 64 queries is the work of one warpgroup in turn, a round
 * later, out of what all four left in shared memory; while more keys follow, it waits in `kept` [blocks, tiles of queries, 8, 128, 4], always touched
 * by the same threads. */
template <bool GUIDE>
__global__ void __launch_bounds__(WGMMA_GROUP *BACKWARD_GROUPS, 1) backward_kernel(AttentionArgs a, float *kept, int items)
{
#if HOPPER
    enum { THREADS = WGMMA_GROUP * BACKWARD_GROUPS, KEYS = 64 * BACKWARD_GROUPS };
    SHARED_BYTES(shared);
    bf16 *ks = tiles_begin(shared), *vs = ks + BACKWARD_GROUPS * TILE, *qs = vs + BACKWARD_GROUPS * TILE, *ds = qs + 2 * TILE,
         *gradients = ds + 2 * TILE; /* [2][groups] tiles: rows are keys, columns are queries */
    float *lses = (float *)(gradients + 2 * BACKWARD_GROUPS * TILE), *deltas = lses + 2 * STEP;
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4, group = threadIdx.x / WGMMA_GROUP;
    const int row0 = threadIdx.x / 32 * 16, row_in_group = row0 % 64;
    const int tiles = (a.tq + STEP - 1) / STEP;
    const float scale2 = a.scale * LOG2E, guide_weight = GUIDE ? a.guide_weight : 0.0f;
    const uint64_t left_k = wgmma_tile(ks + group * TILE), left_v = wgmma_tile(vs + group * TILE);
    float4 *mine = (float4 *)kept + (int64_t)blockIdx.x * tiles * 8 * WGMMA_GROUP + threadIdx.x % WGMMA_GROUP;
    for (int item = blockIdx.x; item < items; item += gridDim.x) {
        const Place p = place_at(a, item);
        bf16 *dq = a.dq + (int64_t)p.b * a.tq * a.ldq + p.h * TILE_WIDTH;
        const bf16 *q = a.q + (int64_t)p.b * a.tq * a.ldq + p.h * TILE_WIDTH;
        const bf16 *dout = a.dout + (int64_t)p.b * a.tq * a.ldo + p.h * TILE_WIDTH;
        const float *lse = a.lse + p.row, *delta = a.delta + ((int64_t)(p.b - a.first) * a.heads + p.h) * a.tq;
        auto fetch_queries = [&](int query0, int stage) {
            fetch<STEP, THREADS>(qs + stage * TILE, q, a.ldq, query0, p.q_len);
            fetch<STEP, THREADS>(ds + stage * TILE, dout, a.ldo, query0, p.q_len);
            if (threadIdx.x < 2 * STEP) {
                int i = threadIdx.x % STEP, valid = query0 + i < p.q_len;
                const float *from = threadIdx.x < STEP ? lse : delta;
                float *to = threadIdx.x < STEP ? lses : deltas;
                copy_async4(to + stage * STEP + i, from + (valid ? query0 + i : 0), valid);
            }
        };
        /* What 64 queries get from keys `base` ... + KEYS - 1. */
        auto finish_queries = [&](int base, int query0, int buffer) {
            int tile = query0 / STEP;
            if (tile % BACKWARD_GROUPS != group)
                return;
            int end = a.causal ? min(p.k_len, query0 + STEP) : p.k_len; /* keys that count for them */
            int last = base + KEYS >= end;
            float sum[8][4];
            uint64_t left = wgmma_tile(gradients + buffer * BACKWARD_GROUPS * TILE), right = wgmma_tile(ks);
            wgmma_begin();
#pragma unroll
            for (int step = 0; step < 4 * BACKWARD_GROUPS; step++)
                wgmma_columns(sum, left + 128 * step, right + 128 * step, step > 0);
            wgmma_commit();
            wgmma_wait<0>();
            wgmma_finish(sum);
            if (base > 0)
#pragma unroll
                for (int n = 0; n < 8; n++) {
                    float4 x = mine[(tile * 8 + n) * WGMMA_GROUP];
                    sum[n][0] += x.x, sum[n][1] += x.y, sum[n][2] += x.z, sum[n][3] += x.w;
                }
            if (!last) {
#pragma unroll
                for (int n = 0; n < 8; n++)
                    mine[(tile * 8 + n) * WGMMA_GROUP] = make_float4(sum[n][0], sum[n][1], sum[n][2], sum[n][3]);
                return;
            }
#pragma unroll
            for (int r = 0; r < 2; r++) {
                int row = query0 + row_in_group + g + 8 * r, valid = row < p.q_len;
                if (row < a.tq)
#pragma unroll
                    for (int n = 0; n < 8; n++)
                        *(uint32_t *)(dq + row * a.ldq + 8 * n + 2 * t) =
                            valid ? pack_bf16(sum[n][2 * r] * a.scale, sum[n][2 * r + 1] * a.scale) : 0;
            }
        };
        put_zeros<THREADS>(dq, a.ldq, (p.q_len + STEP - 1) / STEP * STEP, a.tq);
        put_zeros<THREADS>(a.dk + (int64_t)p.b * a.tk * a.ldk + p.h * TILE_WIDTH, a.ldk, (p.k_len + KEYS - 1) / KEYS * KEYS, a.tk);
        put_zeros<THREADS>(a.dv + (int64_t)p.b * a.tk * a.ldv + p.h * TILE_WIDTH, a.ldv, (p.k_len + KEYS - 1) / KEYS * KEYS, a.tk);
        for (int base = 0; base < p.k_len; base += KEYS) {
            const int begin = a.causal ? base : 0, keys = base + group * 64,
                      key = base + row0 + g; /* key: of this lane's first row */
            __syncthreads();
            fetch<KEYS, THREADS>(ks, a.k + (int64_t)p.b * a.tk * a.ldk + p.h * TILE_WIDTH, a.ldk, base, p.k_len);
            fetch<KEYS, THREADS>(vs, a.v + (int64_t)p.b * a.tk * a.ldv + p.h * TILE_WIDTH, a.ldv, base, p.k_len);
            if (begin < p.q_len)
                fetch_queries(begin, 0);
            copy_commit();
            float sum_k[8][4], sum_v[8][4];
            clear(sum_k);
            clear(sum_v);
            const float key_guide = (float)key * p.guide_k;
            int stage = 0;
            for (int query0 = begin; query0 < p.q_len; query0 += STEP, stage ^= 1) {
                copy_wait<0>();
                wgmma_publish();
                __syncthreads();
                if (query0 + STEP < p.q_len) {
                    fetch_queries(query0 + STEP, stage ^ 1);
                    copy_commit();
                }
                if (query0 > begin)
                    finish_queries(base, query0 - STEP, stage ^ 1);
                bf16 *to = gradients + (stage * BACKWARD_GROUPS + group) * TILE;
                if (keys >= p.k_len || (a.causal && query0 + STEP - 1 < keys)) {
#pragma unroll
                    for (int i = threadIdx.x % WGMMA_GROUP; i < TILE / 8; i += WGMMA_GROUP)
                        ((uint4 *)to)[i] = make_uint4(0, 0, 0, 0);
                    continue;
                }
#pragma unroll 1
                for (int half = 0; half < 2; half++) {
                    const int first = query0 + 32 * half;
                    const float *ls = lses + stage * STEP + 32 * half + 2 * t, *dl = deltas + stage * STEP + 32 * half + 2 * t;
                    uint64_t queries = wgmma_tile(qs + stage * TILE) + 256 * half,
                             douts = wgmma_tile(ds + stage * TILE) + 256 * half;
                    float s[4][4], d[4][4];
                    wgmma_begin();
                    wgmma_dot32(s, left_k, queries);
                    wgmma_dot32(d, left_v, douts);
                    wgmma_wait<1>();
                    wgmma_finish(s);
#pragma unroll
                    for (int n = 0; n < 4; n++) {
                        float2 l = *(const float2 *)(ls + 8 * n);
#pragma unroll
                        for (int i = 0; i < 4; i++)
                            s[n][i] = exp2_fast(s[n][i] * scale2 - (i % 2 ? l.y : l.x) * LOG2E);
                    }
                    if (first + 32 > p.q_len || (a.causal && first < key - g + 15))
#pragma unroll
                        for (int n = 0; n < 4; n++)
#pragma unroll
                            for (int i = 0; i < 4; i++) {
                                int row = first + 8 * n + 2 * t + i % 2;
                                if (row >= p.q_len || (a.causal && key + i / 2 * 8 > row))
                                    s[n][i] = 0.0f;
                            }
                    uint32_t weights[2][4];
#pragma unroll
                    for (int step = 0; step < 2; step++)
                        as_left<4>(weights[step], s, step);
                    wgmma_begin();
                    wgmma_add(sum_v, weights, douts);
                    wgmma_wait<1>();
                    wgmma_finish(d);
                    const float guide = key_guide - (float)(first + 2 * t) * p.guide_q;
#pragma unroll
                    for (int n = 0; n < 4; n++) {
                        float2 l = *(const float2 *)(dl + 8 * n);
#pragma unroll
                        for (int i = 0; i < 4; i++) {
                            float gradient = d[n][i] - ((i % 2 ? l.y : l.x) - guide_weight);
                            if (GUIDE)
                                gradient -= guide_weight * guide_rest(i < 2 ? guide : guide + 8.0f * p.guide_k, -p.guide_q,
                                                                      (float)(8 * n + i % 2));
                            s[n][i] *= gradient;
                        }
                    }
                    uint32_t changes[2][4];
#pragma unroll
                    for (int step = 0; step < 2; step++) {
                        as_left<4>(changes[step], s, step);
#pragma unroll
                        for (int part = 0; part < 4; part++) /* rows g and g + 8, columns of 8 */
                            *(uint32_t *)(to + tile_at(row_in_group + g + part % 2 * 8, 4 * half + 2 * step + part / 2) + 2 * t) =
                                changes[step][part];
                    }
                    wgmma_begin();
                    wgmma_add(sum_k, changes, queries);
                    wgmma_wait<0>();
                    wgmma_finish(sum_v);
                    wgmma_finish(sum_k);
                }
            }
            copy_wait<0>();
            wgmma_publish();
            __syncthreads();
            if (begin < p.q_len)
                finish_queries(base, (p.q_len - 1) / STEP * STEP, stage ^ 1);
            __syncthreads(); /* the keys have been read */
#pragma unroll
            for (int n = 0; n < 8; n++)
#pragma unroll
                for (int i = 0; i < 4; i++)
                    sum_k[n][i] *= a.scale;
            put(a.dk + (int64_t)p.b * a.tk * a.ldk + p.h * TILE_WIDTH, a.ldk, ks, sum_k, row0, base, p.k_len, a.tk);
            put(a.dv + (int64_t)p.b * a.tk * a.ldv + p.h * TILE_WIDTH, a.ldv, vs, sum_v, row0, base, p.k_len, a.tk);
        }
    }
#endif
}

/* ---- what attention_cuda.cu calls ---- */

int hopper_attention(CudaOps *o)
{
    if (o->hopper == 0) {
        int major = 0;
        cudaFuncAttributes probe = {};
        cudaError_t e = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, o->device);
        if (e == cudaSuccess && major == 9)
            e = cudaFuncGetAttributes(&probe, probe_kernel);
        o->hopper = e == cudaSuccess && major == 9 && probe.sharedSizeBytes > 0 ? 1 : -1;
        if (o->hopper == 1) {
            allow_shared(o, forward_kernel<false>, FORWARD_SHARED);
            allow_shared(o, forward_kernel<true>, FORWARD_SHARED);
            allow_shared(o, backward_kernel<false>, BACKWARD_SHARED);
            allow_shared(o, backward_kernel<true>, BACKWARD_SHARED);
        }
    }
    return o->hopper == 1;
}

void hopper_attention_forward(CudaOps *o, const AttentionArgs *a, int batch)
{
    dim3 grid((unsigned)divide_up(a->tq, 64 * FORWARD_GROUPS),
              (unsigned)(batch * a->heads)); /* blocks that share keys run together */
    auto kernel = a->guide_weight != 0.0f ? forward_kernel<true> : forward_kernel<false>;
    LAUNCH(o, "attention forward", grid, WGMMA_GROUP * FORWARD_GROUPS, FORWARD_SHARED, kernel, *a);
}

size_t hopper_attention_kept(const CudaOps *o, const AttentionArgs *a)
{
    return (size_t)o->processors * (size_t)divide_up(a->tq, STEP) * STEP * TILE_WIDTH * sizeof(float);
}

void hopper_attention_backward(CudaOps *o, const AttentionArgs *a, float *kept, int batch)
{
    int64_t rows = (int64_t)batch * a->tq * a->heads;
    int items = batch * a->heads;
    auto kernel = a->guide_weight != 0.0f ? backward_kernel<true> : backward_kernel<false>;
    if (rows > 0)
        LAUNCH(o, "attention backward", (unsigned)divide_up(rows, 256 / 8), 256, 0, delta_kernel, *a, rows);
    LAUNCH(o, "attention backward", at_most(items, o->processors), WGMMA_GROUP * BACKWARD_GROUPS, BACKWARD_SHARED, kernel, *a, kept,
           items);
}
