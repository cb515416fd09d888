/* attention_hopper_cuda.cu - what attention_cuda.cu does, with Hopper's warpgroup products (sm_90a). A
 * block is one warpgroup: it owns 64 rows, takes the other side 64 rows at a time straight out of shared
 * memory, and keeps its sums in registers. Several blocks share a multiprocessor, so that the products of one
 * run during the exponentials of another. Fetching runs one round ahead; one barrier in each round says both
 * that a tile has come and that the one before it is free. */
#include "ops/cuda/attention_cuda.h"
#include "ops/cuda/wgmma_cuda.h"

#define STEP 64 /* rows of the other side in one round */
#define TILE (64 * TILE_WIDTH)
#define TILE_BYTES (TILE * 2)
#define THREADS WGMMA_GROUP
#define ALIGNMENT 1024 /* of tiles */

#define SLACK 8.0f /* powers of two by which a score may pass the base of the exponents */

#define SHARED_FOR(tiles, floats) (ALIGNMENT + (tiles)*TILE * sizeof(bf16) + (floats) * sizeof(float))
#define FORWARD_SHARED SHARED_FOR(5, 0)
#define QUERY_SHARED SHARED_FOR(6, 0)
#define KEY_SHARED SHARED_FOR(6, 4 * STEP)

/* wgmma exists for sm_90a alone, not for what comes after it: elsewhere the kernels are empty and are never
 * called. */
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

/* Rows of memory on their way into tiles: eight neighbouring threads bring a row, each always the same piece.
 */
struct Rows {
    const bf16 *at; /* this thread's piece of the next row it brings */
    int64_t apart;  /* elements between the rows of one thread */
    int row;
    uint32_t to; /* its place in the first tile, in shared memory */

    __device__ __forceinline__ Rows(const bf16 *base, int64_t ld, int first, const bf16 *tile)
    {
        row = first + threadIdx.x / 8;
        apart = ld * (THREADS / 8);
        at = base + row * ld + threadIdx.x % 8 * 8;
        to = shared_address(tile + tile_at(threadIdx.x / 8, threadIdx.x % 8));
        asm volatile("" : "+r"(to)); /* kept, not computed again in every round */
    }

    /* The next 64 rows, `further` bytes after the first tile; those at or past `end` are zeros. */
    __device__ __forceinline__ void fetch(int end, uint32_t further = 0)
    {
        enum { APART = THREADS / 8 }; /* a multiple of 8: the place within a row does not change */
#pragma unroll
        for (int i = 0; i < 64 / APART; i++) {
            copy_async16_shared(to + further + i * APART * TILE_WIDTH * 2, at, row + i * APART < end);
            at += apart;
        }
        row += 64;
    }
};

/* The warp's 16 x 64 sums through its rows of a tile to memory; rows at or past `valid` become zeros, those
 * at or past `end` are none. */
__device__ __forceinline__ void put(bf16 *to, int64_t ld, bf16 *tile, const float c[8][4], int row0,
                                    int first, int valid, int end)
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
__device__ __forceinline__ void put_zeros(bf16 *to, int64_t ld, int first, int end)
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

#endif

/* ---- forward ---- */

static __global__ void __launch_bounds__(THREADS, 4) forward_kernel(AttentionArgs a)
{
#if HOPPER
    SHARED_BYTES(shared);
    /* One tile of queries; keys and values have two stages each. */
    bf16 *qs = tiles_begin(shared), *ks = qs + TILE, *vs = ks + 2 * TILE;
    const Place p = place_of(a);
    int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    int first = blockIdx.x * 64, row0 = threadIdx.x / 32 * 16, mine = first + row0;
    bf16 *o = a.o + (int64_t)p.b * a.tq * a.ldo + p.h * TILE_WIDTH;
    /* Rows past the length: zeros, and done. */
    if (first >= p.q_len) {
        put_zeros(o, a.ldo, first, min(first + 64, a.tq));
        for (int i = first + threadIdx.x; i < min(first + 64, a.tq); i += THREADS)
            a.lse[p.row + i] = 0.0f;
        return;
    }
    const bf16 *k = a.k + (int64_t)p.b * a.tk * a.ldk + p.h * TILE_WIDTH;
    const bf16 *v = a.v + (int64_t)p.b * a.tk * a.ldv + p.h * TILE_WIDTH;
    Rows q_rows(a.q + (int64_t)p.b * a.tq * a.ldq + p.h * TILE_WIDTH, a.ldq, first, qs);
    Rows k_rows(k, a.ldk, 0, ks), v_rows(v, a.ldv, 0, vs);
    q_rows.fetch(p.q_len);
    k_rows.fetch(p.k_len);
    v_rows.fetch(p.k_len);
    copy_commit();

    /* base: exponents are counted from it, in powers of two; it follows the largest score only when that is
     * far ahead. */
    float out[8][4], base[2] = {-INFINITY, -INFINITY}, total[2] = {0.0f, 0.0f};
    clear(out);
    const float scale2 = a.scale * LOG2E;
    const uint32_t left = wgmma_tile(qs), keys = wgmma_tile(ks), values = wgmma_tile(vs);
    for (int key0 = 0, stage = 0; key0 < p.k_len; key0 += STEP, stage ^= 1) {
        /* This round's tiles are there and visible to the matrix unit; the next round's are asked for at
         * once. */
        copy_wait<0>();
        wgmma_publish();
        __syncthreads();
        if (key0 + STEP < p.k_len) {
            k_rows.fetch(p.k_len, (stage ^ 1) * TILE_BYTES);
            v_rows.fetch(p.k_len, (stage ^ 1) * TILE_BYTES);
            copy_commit();
        }
        /* Scores of 64 queries and 64 keys. */
        float s[8][4];
        wgmma_begin();
        wgmma_dot(s, left, keys + stage * WGMMA_TILE);
        wgmma_wait<0>();
        wgmma_finish(s);
        /* The last round may have keys that are padding. */
        if (key0 + STEP > p.k_len)
#pragma unroll
            for (int n = 0; n < 8; n++)
#pragma unroll
                for (int i = 0; i < 4; i++)
                    if (key0 + 8 * n + 2 * t + i % 2 >= p.k_len)
                        s[n][i] = -INFINITY;
        /* The largest score of either row, in powers of two. */
        float most[2];
#pragma unroll
        for (int r = 0; r < 2; r++) {
            most[r] = fmaxf(s[0][2 * r], s[0][2 * r + 1]);
#pragma unroll
            for (int n = 1; n < 8; n++)
                most[r] = fmaxf(most[r], fmaxf(s[n][2 * r], s[n][2 * r + 1]));
            most[r] = quad_max(most[r]) * scale2;
        }
        /* Rare after the first round: the sums move to the new base. */
        if (__any_sync(0xFFFFFFFFu, most[0] > base[0] + SLACK || most[1] > base[1] + SLACK))
#pragma unroll
            for (int r = 0; r < 2; r++) {
                float now = fmaxf(base[r], most[r]), fix = exp2_fast(base[r] - now);
                base[r] = now;
                total[r] *= fix;
#pragma unroll
                for (int n = 0; n < 8; n++) {
                    out[n][2 * r] *= fix;
                    out[n][2 * r + 1] *= fix;
                }
            }
#pragma unroll
        for (int n = 0; n < 8; n++)
#pragma unroll
            for (int i = 0; i < 4; i++) {
                s[n][i] = exp2_fast(s[n][i] * scale2 - base[i / 2]);
                total[i / 2] += s[n][i];
            }
        /* The weights as the left side of the next product. */
        uint32_t weights[4][4];
#pragma unroll
        for (int step = 0; step < 4; step++)
            as_left<8>(weights[step], s, step);
        wgmma_begin();
        wgmma_add(out, weights, values + stage * WGMMA_TILE);
        wgmma_wait<0>();
        wgmma_finish(out);
    }
#pragma unroll
    for (int r = 0; r < 2; r++) {
        /* Four lanes share a row. */
        float sum = quad_sum(total[r]), inverse = sum > 0.0f ? 1.0f / sum : 0.0f;
        int row = mine + g + 8 * r;
        if (t == 0 && row < a.tq)
            a.lse[p.row + row] = row < p.q_len ? base[r] * (1.0f / LOG2E) + logf(sum) : 0.0f;
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

/* ---- backward: queries ---- */

/* dq; and for the next kernel delta = dout . o, and lse in powers of two. */
static __global__ void __launch_bounds__(THREADS, 4) query_kernel(AttentionArgs a)
{
#if HOPPER
    SHARED_BYTES(shared);
    bf16 *qs = tiles_begin(shared), *ds = qs + TILE, *ks = ds + TILE, *vs = ks + 2 * TILE;
    const Place p = place_of(a);
    int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    int first = blockIdx.x * 64, row0 = threadIdx.x / 32 * 16, mine = first + row0;
    bf16 *dq = a.dq + (int64_t)p.b * a.tq * a.ldq + p.h * TILE_WIDTH;
    if (first >= p.q_len) {
        put_zeros(dq, a.ldq, first, min(first + 64, a.tq));
        return;
    }
    const bf16 *dout = a.dout + (int64_t)p.b * a.tq * a.ldo + p.h * TILE_WIDTH;
    const bf16 *out = a.out + (int64_t)p.b * a.tq * a.ldo + p.h * TILE_WIDTH;
    float *delta = a.delta + ((int64_t)(p.b - a.first) * a.heads + p.h) * a.tq;
    Rows q_rows(a.q + (int64_t)p.b * a.tq * a.ldq + p.h * TILE_WIDTH, a.ldq, first, qs),
        d_rows(dout, a.ldo, first, ds);
    Rows k_rows(a.k + (int64_t)p.b * a.tk * a.ldk + p.h * TILE_WIDTH, a.ldk, 0, ks);
    Rows v_rows(a.v + (int64_t)p.b * a.tk * a.ldv + p.h * TILE_WIDTH, a.ldv, 0, vs);
    q_rows.fetch(p.q_len);
    d_rows.fetch(p.q_len);
    k_rows.fetch(p.k_len);
    v_rows.fetch(p.k_len);
    copy_commit();

    /* Eight lanes for each of the warp's rows. */
#pragma unroll
    for (int i = 0; i < 16; i += 4) {
        int row = mine + i + lane / 8;
        float x[8], y[8], sum = 0.0f;
        if (row < p.q_len) {
            load8(x, out + row * a.ldo + lane % 8 * 8);
            load8(y, dout + row * a.ldo + lane % 8 * 8);
#pragma unroll
            for (int j = 0; j < 8; j++)
                sum += x[j] * y[j];
        }
        sum += __shfl_xor_sync(0xFFFFFFFFu, sum, 1);
        sum += __shfl_xor_sync(0xFFFFFFFFu, sum, 2);
        sum += __shfl_xor_sync(0xFFFFFFFFu, sum, 4);
        if (lane % 8 == 0 && row < p.q_len)
            delta[row] = sum;
    }
    __syncwarp();
    /* Of this lane's two rows; lse goes to the next kernel in powers of two. */
    float lse2[2], minus[2], scale2 = a.scale * LOG2E;
#pragma unroll
    for (int r = 0; r < 2; r++) {
        int row = mine + g + 8 * r, valid = row < p.q_len;
        lse2[r] = valid ? a.lse[p.row + row] * LOG2E : 0.0f;
        minus[r] = valid ? delta[row] : 0.0f;
        if (t == 0 && valid)
            a.lse2[delta - a.delta + row] = lse2[r];
    }

    float sum[8][4];
    clear(sum);
    const uint32_t left_q = wgmma_tile(qs), left_d = wgmma_tile(ds), all_keys = wgmma_tile(ks),
                   values = wgmma_tile(vs);
    for (int key0 = 0, stage = 0; key0 < p.k_len; key0 += STEP, stage ^= 1) {
        copy_wait<0>();
        wgmma_publish();
        __syncthreads();
        if (key0 + STEP < p.k_len) {
            k_rows.fetch(p.k_len, (stage ^ 1) * TILE_BYTES);
            v_rows.fetch(p.k_len, (stage ^ 1) * TILE_BYTES);
            copy_commit();
        }
        float s[8][4], d[8][4];
        uint32_t keys = all_keys + stage * WGMMA_TILE;
        wgmma_begin();
        wgmma_dot(s, left_q, keys);
        wgmma_dot(d, left_d, values + stage * WGMMA_TILE);
        /* The exponentials of the scores while the second product still runs. */
        wgmma_wait<1>();
        wgmma_finish(s);
#pragma unroll
        for (int n = 0; n < 8; n++)
#pragma unroll
            for (int i = 0; i < 4; i++)
                s[n][i] = exp2_fast(s[n][i] * scale2 - lse2[i / 2]);
        if (key0 + STEP > p.k_len)
#pragma unroll
            for (int n = 0; n < 8; n++)
#pragma unroll
                for (int i = 0; i < 4; i++)
                    if (key0 + 8 * n + 2 * t + i % 2 >= p.k_len)
                        s[n][i] = 0.0f;
        wgmma_wait<0>();
        wgmma_finish(d);
#pragma unroll
        for (int n = 0; n < 8; n++)
#pragma unroll
            for (int i = 0; i < 4; i++)
                s[n][i] *= d[n][i] - minus[i / 2];
        uint32_t gradients[4][4];
#pragma unroll
        for (int step = 0; step < 4; step++)
            as_left<8>(gradients[step], s, step);
        wgmma_begin();
        wgmma_add(sum, gradients, keys);
        wgmma_wait<0>();
        wgmma_finish(sum);
    }
#pragma unroll
    for (int n = 0; n < 8; n++)
#pragma unroll
        for (int i = 0; i < 4; i++)
            sum[n][i] *= a.scale;
    __syncthreads();
    put(dq, a.ldq, qs, sum, row0, first, p.q_len, a.tq);
#endif
}

/* ---- backward: keys ---- */

/* dk and dv. All products are turned over: rows are keys, columns are queries. */
static __global__ void __launch_bounds__(THREADS, 3) key_kernel(AttentionArgs a)
{
#if HOPPER
    SHARED_BYTES(shared);
    bf16 *ks = tiles_begin(shared), *vs = ks + TILE, *qs = vs + TILE, *ds = qs + 2 * TILE;
    float *lses = (float *)(ds + 2 * TILE), *deltas = lses + 2 * STEP;
    const Place p = place_of(a);
    int t = threadIdx.x % 4, first = blockIdx.x * 64, row0 = threadIdx.x / 32 * 16;
    bf16 *dk = a.dk + (int64_t)p.b * a.tk * a.ldk + p.h * TILE_WIDTH,
         *dv = a.dv + (int64_t)p.b * a.tk * a.ldv + p.h * TILE_WIDTH;
    if (first >= p.k_len) {
        put_zeros(dk, a.ldk, first, min(first + 64, a.tk));
        put_zeros(dv, a.ldv, first, min(first + 64, a.tk));
        return;
    }
    const int64_t numbers_at = ((int64_t)(p.b - a.first) * a.heads + p.h) * a.tq;
    Rows k_rows(a.k + (int64_t)p.b * a.tk * a.ldk + p.h * TILE_WIDTH, a.ldk, first, ks);
    Rows v_rows(a.v + (int64_t)p.b * a.tk * a.ldv + p.h * TILE_WIDTH, a.ldv, first, vs);
    Rows q_rows(a.q + (int64_t)p.b * a.tq * a.ldq + p.h * TILE_WIDTH, a.ldq, 0, qs);
    Rows d_rows(a.dout + (int64_t)p.b * a.tq * a.ldo + p.h * TILE_WIDTH, a.ldo, 0, ds);
    /* Half of the threads bring lse, the others delta. */
    const float *numbers = (threadIdx.x < STEP ? a.lse2 : a.delta) + numbers_at + threadIdx.x % STEP;
    float *numbers_to = (threadIdx.x < STEP ? lses : deltas) + threadIdx.x % STEP;
    auto fetch_queries = [&](int query0, int stage) {
        q_rows.fetch(p.q_len, stage * TILE_BYTES);
        d_rows.fetch(p.q_len, stage * TILE_BYTES);
        static_assert(THREADS == 2 * STEP, "a thread for each number");
        copy_async4(numbers_to + stage * STEP, numbers + query0, query0 + (int)threadIdx.x % STEP < p.q_len);
    };
    k_rows.fetch(p.k_len);
    v_rows.fetch(p.k_len);
    fetch_queries(0, 0);
    copy_commit();

    float sum_k[8][4], sum_v[8][4], scale2 = a.scale * LOG2E;
    clear(sum_k);
    clear(sum_v);
    const uint32_t left_k = wgmma_tile(ks), left_v = wgmma_tile(vs), all_queries = wgmma_tile(qs),
                   all_douts = wgmma_tile(ds);
    for (int query0 = 0, stage = 0; query0 < p.q_len; query0 += STEP, stage ^= 1) {
        copy_wait<0>();
        wgmma_publish();
        __syncthreads();
        if (query0 + STEP < p.q_len) {
            fetch_queries(query0 + STEP, stage ^ 1);
            copy_commit();
        }
        const float *ls = lses + stage * STEP + 2 * t, *dl = deltas + stage * STEP + 2 * t;
        uint32_t queries = all_queries + stage * WGMMA_TILE, douts = all_douts + stage * WGMMA_TILE;
        float s[8][4], d[8][4];
        wgmma_begin();
        wgmma_dot(s, left_k, queries);
        wgmma_dot(d, left_v, douts);
        wgmma_wait<1>();
        wgmma_finish(s);
#pragma unroll
        for (int n = 0; n < 8; n++) {
            float2 l = *(const float2 *)(ls + 8 * n);
#pragma unroll
            for (int i = 0; i < 4; i++)
                s[n][i] = exp2_fast(s[n][i] * scale2 - (i % 2 ? l.y : l.x));
        }
        if (query0 + STEP > p.q_len)
#pragma unroll
            for (int n = 0; n < 8; n++)
#pragma unroll
                for (int i = 0; i < 4; i++)
                    if (query0 + 8 * n + 2 * t + i % 2 >= p.q_len)
                        s[n][i] = 0.0f;
        /* dv += weights dout, and meanwhile dS = P (dP - delta), then dk += dS q. */
        uint32_t weights[4][4], gradients[4][4];
#pragma unroll
        for (int step = 0; step < 4; step++)
            as_left<8>(weights[step], s, step);
        wgmma_begin();
        wgmma_add(sum_v, weights, douts);
        wgmma_wait<1>();
        wgmma_finish(d);
#pragma unroll
        for (int n = 0; n < 8; n++) {
            float2 l = *(const float2 *)(dl + 8 * n);
#pragma unroll
            for (int i = 0; i < 4; i++)
                s[n][i] *= d[n][i] - (i % 2 ? l.y : l.x);
        }
#pragma unroll
        for (int step = 0; step < 4; step++)
            as_left<8>(gradients[step], s, step);
        wgmma_begin();
        wgmma_add(sum_k, gradients, queries);
        wgmma_wait<0>();
        wgmma_finish(sum_v);
        wgmma_finish(sum_k);
    }
#pragma unroll
    for (int n = 0; n < 8; n++)
#pragma unroll
        for (int i = 0; i < 4; i++)
            sum_k[n][i] *= a.scale;
    __syncthreads();
    put(dk, a.ldk, ks, sum_k, row0, first, p.k_len, a.tk);
    put(dv, a.ldv, vs, sum_v, row0, first, p.k_len, a.tk);
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
            allow_shared(o, forward_kernel, FORWARD_SHARED);
            allow_shared(o, query_kernel, QUERY_SHARED);
            allow_shared(o, key_kernel, KEY_SHARED);
        }
    }
    return o->hopper == 1;
}

void hopper_attention_forward(CudaOps *o, const AttentionArgs *a, int batch)
{
    dim3 grid((unsigned)divide_up(a->tq, 64),
              (unsigned)(batch * a->heads)); /* blocks that share keys run together */
    LAUNCH(o, "attention forward", grid, THREADS, FORWARD_SHARED, forward_kernel, *a);
}

void hopper_attention_backward(CudaOps *o, const AttentionArgs *a, int batch)
{
    dim3 queries((unsigned)divide_up(a->tq, 64), (unsigned)(batch * a->heads));
    dim3 keys((unsigned)divide_up(a->tk, 64), (unsigned)(batch * a->heads));
    if (a->tq > 0)
        LAUNCH(o, "attention backward", queries, THREADS, QUERY_SHARED, query_kernel, *a);
    if (a->tk > 0)
        LAUNCH(o, "attention backward", keys, THREADS, KEY_SHARED, key_kernel, *a);
}
