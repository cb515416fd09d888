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

/* What was asked for is there and visible to the matrix unit, and every thread is done with what was there
 * before it. */
__device__ __forceinline__ void wait_for_tiles()
{
    copy_wait<0>();
    wgmma_publish();
    __syncthreads();
}

/* A round over keys: its tiles are there, and the next round's are asked for at once. */
__device__ __forceinline__ void begin_round(Rows &keys, Rows &values, int key0, int stage, int k_len)
{
    wait_for_tiles();
    if (key0 + STEP < k_len) {
        keys.fetch(k_len, (stage ^ 1) * TILE_BYTES);
        values.fetch(k_len, (stage ^ 1) * TILE_BYTES);
        copy_commit();
    }
}

/* The last round may have padding on the other side: those of its 64 columns get this value. */
__device__ __forceinline__ void hide_padding(float s[8][4], int first, int end, float value)
{
    int t = threadIdx.x % 4;
    if (first + STEP > end)
#pragma unroll
        for (int n = 0; n < 8; n++)
#pragma unroll
            for (int i = 0; i < 4; i++)
                if (first + 8 * n + 2 * t + i % 2 >= end)
                    s[n][i] = value;
}

/* s as the left side of the next product. */
__device__ __forceinline__ void all_left(uint32_t left[4][4], const float s[8][4])
{
#pragma unroll
    for (int step = 0; step < 4; step++)
        as_left<8>(left[step], s, step);
}

__device__ __forceinline__ void scale_sums(float c[8][4], float scale)
{
#pragma unroll
    for (int n = 0; n < 8; n++)
#pragma unroll
        for (int i = 0; i < 4; i++)
            c[n][i] *= scale;
}

/* Scores of 64 queries and 64 keys become weights. base: exponents are counted from it, in powers of two; it
 * follows the largest score only when that is far ahead. */
__device__ __forceinline__ void soften(float s[8][4], float out[8][4], float base[2], float total[2],
                                       float scale2)
{
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
}

/* The rows' sums divided by their weights', and their lse. */
__device__ __forceinline__ void divide_sums(const AttentionArgs &a, const Place &p, float out[8][4],
                                            const float base[2], const float total[2], int mine)
{
    int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
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
    int first = blockIdx.x * 64, row0 = threadIdx.x / 32 * 16, mine = first + row0;
    bf16 *o = head_of(a.o, p, a.tq, a.ldo);
    /* Rows past the length: zeros, and done. */
    if (first >= p.q_len) {
        put_zeros(o, a.ldo, first, min(first + 64, a.tq));
        for (int i = first + threadIdx.x; i < min(first + 64, a.tq); i += THREADS)
            a.lse[p.row + i] = 0.0f;
        return;
    }
    Rows q_rows(head_of(a.q, p, a.tq, a.ldq), a.ldq, first, qs);
    Rows k_rows(head_of(a.k, p, a.tk, a.ldk), a.ldk, 0, ks);
    Rows v_rows(head_of(a.v, p, a.tk, a.ldv), a.ldv, 0, vs);
    q_rows.fetch(p.q_len);
    k_rows.fetch(p.k_len);
    v_rows.fetch(p.k_len);
    copy_commit();

    float out[8][4], base[2] = {-INFINITY, -INFINITY}, total[2] = {0.0f, 0.0f};
    clear(out);
    const float scale2 = a.scale * LOG2E;
    const uint32_t left = wgmma_tile(qs), keys = wgmma_tile(ks), values = wgmma_tile(vs);
    for (int key0 = 0, stage = 0; key0 < p.k_len; key0 += STEP, stage ^= 1) {
        begin_round(k_rows, v_rows, key0, stage, p.k_len);
        float s[8][4]; /* scores of 64 queries and 64 keys */
        wgmma_begin();
        wgmma_dot(s, left, keys + stage * WGMMA_TILE);
        wgmma_wait<0>();
        wgmma_finish(s);
        hide_padding(s, key0, p.k_len, -INFINITY);
        soften(s, out, base, total, scale2);
        uint32_t weights[4][4];
        all_left(weights, s);
        wgmma_begin();
        wgmma_add(out, weights, values + stage * WGMMA_TILE);
        wgmma_wait<0>();
        wgmma_finish(out);
    }
    divide_sums(a, p, out, base, total, mine);
    __syncthreads();
    put(o, a.ldo, qs, out, row0, first, p.q_len, a.tq);
#endif
}

/* ---- backward: queries ---- */

#if HOPPER

/* lse in powers of two, which also goes to the next kernel, and delta of this lane's two rows. */
__device__ __forceinline__ void load_rows(const AttentionArgs &a, const Place &p, float lse2[2],
                                          float minus[2], const float *delta, int mine)
{
    int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
#pragma unroll
    for (int r = 0; r < 2; r++) {
        int row = mine + g + 8 * r, valid = row < p.q_len;
        lse2[r] = valid ? a.lse[p.row + row] * LOG2E : 0.0f;
        minus[r] = valid ? delta[row] : 0.0f;
        if (t == 0 && valid)
            a.lse2[delta - a.delta + row] = lse2[r];
    }
}

/* Scores become weights. */
__device__ __forceinline__ void row_weights(float s[8][4], const float lse2[2], float scale2, int key0,
                                            int k_len)
{
#pragma unroll
    for (int n = 0; n < 8; n++)
#pragma unroll
        for (int i = 0; i < 4; i++)
            s[n][i] = exp2_fast(s[n][i] * scale2 - lse2[i / 2]);
    hide_padding(s, key0, k_len, 0.0f);
}

/* Weights become gradients of the scores: dS = P (dP - delta). */
__device__ __forceinline__ void row_gradients(float s[8][4], const float d[8][4], const float minus[2])
{
#pragma unroll
    for (int n = 0; n < 8; n++)
#pragma unroll
        for (int i = 0; i < 4; i++)
            s[n][i] *= d[n][i] - minus[i / 2];
}

#endif

/* dq; and for the next kernel delta = dout . o, and lse in powers of two. */
static __global__ void __launch_bounds__(THREADS, 4) query_kernel(AttentionArgs a)
{
#if HOPPER
    SHARED_BYTES(shared);
    bf16 *qs = tiles_begin(shared), *ds = qs + TILE, *ks = ds + TILE, *vs = ks + 2 * TILE;
    const Place p = place_of(a);
    int first = blockIdx.x * 64, row0 = threadIdx.x / 32 * 16, mine = first + row0;
    bf16 *dq = head_of(a.dq, p, a.tq, a.ldq);
    if (first >= p.q_len) {
        put_zeros(dq, a.ldq, first, min(first + 64, a.tq));
        return;
    }
    const bf16 *dout = head_of(a.dout, p, a.tq, a.ldo);
    const bf16 *out = head_of(a.out, p, a.tq, a.ldo);
    float *delta = a.delta + ((int64_t)(p.b - a.first) * a.heads + p.h) * a.tq;
    Rows q_rows(head_of(a.q, p, a.tq, a.ldq), a.ldq, first, qs), d_rows(dout, a.ldo, first, ds);
    Rows k_rows(head_of(a.k, p, a.tk, a.ldk), a.ldk, 0, ks);
    Rows v_rows(head_of(a.v, p, a.tk, a.ldv), a.ldv, 0, vs);
    q_rows.fetch(p.q_len);
    d_rows.fetch(p.q_len);
    k_rows.fetch(p.k_len);
    v_rows.fetch(p.k_len);
    copy_commit();

    row_deltas<16>(delta, out, dout, a.ldo, mine, p.q_len);
    float lse2[2], minus[2], scale2 = a.scale * LOG2E;
    load_rows(a, p, lse2, minus, delta, mine);

    float sum[8][4];
    clear(sum);
    const uint32_t left_q = wgmma_tile(qs), left_d = wgmma_tile(ds), all_keys = wgmma_tile(ks),
                   values = wgmma_tile(vs);
    for (int key0 = 0, stage = 0; key0 < p.k_len; key0 += STEP, stage ^= 1) {
        begin_round(k_rows, v_rows, key0, stage, p.k_len);
        float s[8][4], d[8][4];
        uint32_t keys = all_keys + stage * WGMMA_TILE;
        wgmma_begin();
        wgmma_dot(s, left_q, keys);
        wgmma_dot(d, left_d, values + stage * WGMMA_TILE);
        /* The exponentials of the scores while the second product still runs. */
        wgmma_wait<1>();
        wgmma_finish(s);
        row_weights(s, lse2, scale2, key0, p.k_len);
        wgmma_wait<0>();
        wgmma_finish(d);
        row_gradients(s, d, minus);
        uint32_t gradients[4][4];
        all_left(gradients, s);
        wgmma_begin();
        wgmma_add(sum, gradients, keys);
        wgmma_wait<0>();
        wgmma_finish(sum);
    }
    scale_sums(sum, a.scale);
    __syncthreads();
    put(dq, a.ldq, qs, sum, row0, first, p.q_len, a.tq);
#endif
}

/* ---- backward: keys ---- */

#if HOPPER

/* The same where columns are queries, whose numbers are in shared memory. */
__device__ __forceinline__ void column_weights(float s[8][4], const float *lse2, float scale2, int query0,
                                               int q_len)
{
    int t = threadIdx.x % 4;
#pragma unroll
    for (int n = 0; n < 8; n++) {
        float2 l = *(const float2 *)(lse2 + 8 * n + 2 * t);
#pragma unroll
        for (int i = 0; i < 4; i++)
            s[n][i] = exp2_fast(s[n][i] * scale2 - (i % 2 ? l.y : l.x));
    }
    hide_padding(s, query0, q_len, 0.0f);
}

__device__ __forceinline__ void column_gradients(float s[8][4], const float d[8][4], const float *delta)
{
    int t = threadIdx.x % 4;
#pragma unroll
    for (int n = 0; n < 8; n++) {
        float2 l = *(const float2 *)(delta + 8 * n + 2 * t);
#pragma unroll
        for (int i = 0; i < 4; i++)
            s[n][i] *= d[n][i] - (i % 2 ? l.y : l.x);
    }
}

/* A round: dv += weights dout, and meanwhile dS = P (dP - delta), then dk += dS q. */
__device__ __forceinline__ void add_queries(float (&sum_k)[8][4], float (&sum_v)[8][4], uint32_t left_k,
                                            uint32_t left_v, uint32_t queries, uint32_t douts,
                                            const float *lse2, const float *delta, float scale2, int query0,
                                            int q_len)
{
    float s[8][4], d[8][4];
    wgmma_begin();
    wgmma_dot(s, left_k, queries);
    wgmma_dot(d, left_v, douts);
    wgmma_wait<1>();
    wgmma_finish(s);
    column_weights(s, lse2, scale2, query0, q_len);
    uint32_t weights[4][4], gradients[4][4];
    all_left(weights, s);
    wgmma_begin();
    wgmma_add(sum_v, weights, douts);
    wgmma_wait<1>();
    wgmma_finish(d);
    column_gradients(s, d, delta);
    all_left(gradients, s);
    wgmma_begin();
    wgmma_add(sum_k, gradients, queries);
    wgmma_wait<0>();
    wgmma_finish(sum_v);
    wgmma_finish(sum_k);
}

#endif

/* dk and dv. All products are turned over: rows are keys, columns are queries. */
static __global__ void __launch_bounds__(THREADS, 3) key_kernel(AttentionArgs a)
{
#if HOPPER
    SHARED_BYTES(shared);
    bf16 *ks = tiles_begin(shared), *vs = ks + TILE, *qs = vs + TILE, *ds = qs + 2 * TILE;
    float *lses = (float *)(ds + 2 * TILE), *deltas = lses + 2 * STEP;
    const Place p = place_of(a);
    int first = blockIdx.x * 64, row0 = threadIdx.x / 32 * 16;
    bf16 *dk = head_of(a.dk, p, a.tk, a.ldk), *dv = head_of(a.dv, p, a.tk, a.ldv);
    if (first >= p.k_len) {
        put_zeros(dk, a.ldk, first, min(first + 64, a.tk));
        put_zeros(dv, a.ldv, first, min(first + 64, a.tk));
        return;
    }
    const int64_t numbers_at = ((int64_t)(p.b - a.first) * a.heads + p.h) * a.tq;
    Rows k_rows(head_of(a.k, p, a.tk, a.ldk), a.ldk, first, ks);
    Rows v_rows(head_of(a.v, p, a.tk, a.ldv), a.ldv, first, vs);
    Rows q_rows(head_of(a.q, p, a.tq, a.ldq), a.ldq, 0, qs);
    Rows d_rows(head_of(a.dout, p, a.tq, a.ldo), a.ldo, 0, ds);
    /* Half of the threads bring lse, the others delta. */
    const float *numbers = (threadIdx.x < STEP ? a.lse2 : a.delta) + numbers_at + threadIdx.x % STEP;
    float *numbers_to = (threadIdx.x < STEP ? lses : deltas) + threadIdx.x % STEP;
    auto fetch_queries = [&](int query0, int stage) {
        q_rows.fetch(p.q_len, stage * TILE_BYTES);
        d_rows.fetch(p.q_len, stage * TILE_BYTES);
        static_assert(THREADS == 2 * STEP, "a thread for each number");
        copy_async4(numbers_to + stage * STEP, numbers + query0, query0 + (int)threadIdx.x % STEP < p.q_len);
        copy_commit();
    };
    k_rows.fetch(p.k_len);
    v_rows.fetch(p.k_len);
    fetch_queries(0, 0);

    float sum_k[8][4], sum_v[8][4], scale2 = a.scale * LOG2E;
    clear(sum_k);
    clear(sum_v);
    const uint32_t left_k = wgmma_tile(ks), left_v = wgmma_tile(vs), all_queries = wgmma_tile(qs),
                   all_douts = wgmma_tile(ds);
    for (int query0 = 0, stage = 0; query0 < p.q_len; query0 += STEP, stage ^= 1) {
        wait_for_tiles();
        if (query0 + STEP < p.q_len)
            fetch_queries(query0 + STEP, stage ^ 1);
        add_queries(sum_k, sum_v, left_k, left_v, all_queries + stage * WGMMA_TILE,
                    all_douts + stage * WGMMA_TILE, lses + stage * STEP, deltas + stage * STEP, scale2,
                    query0, p.q_len);
    }
    scale_sums(sum_k, a.scale);
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
