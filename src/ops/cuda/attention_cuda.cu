/* attention_cuda.cu - attention with head size 64 in bf16 on the matrix units, after Dao, "FlashAttention-2"
 * (2023): blocks of scores live in registers only, softmax is corrected as larger scores come up. Backward
 * computes the scores again, in two passes that each own what they write: one over queries (dq), one over
 * keys (dk, dv). Nothing is added by two blocks, so equal inputs give equal bits. A warp owns 32 rows (two
 * fragments), which halves what is read from shared memory for each product. */
#include "ops/cuda/attention_cuda.h"

#define WARPS 4
#define THREADS (32 * WARPS)
#define ROWS 128 /* of a block: queries, or keys in the last kernel */
#define WARP_ROWS 32
#define STEP 64          /* keys of one round, forward */
#define BACKWARD_STEP 32 /* of one round, backward */

/* n rows from `from` on into a tile; rows at or past `end` are zeros. */
template <int N>
__device__ __forceinline__ void fetch(bf16 *tile, const bf16 *base, int64_t ld, int from, int end)
{
#pragma unroll
    for (int i = threadIdx.x; i < N * 8; i += THREADS) {
        int row = i / 8, piece = i % 8, valid = from + row < end;
        copy_async16(tile + tile_at(row, piece), base + (valid ? (from + row) * ld : 0) + piece * 8, valid);
    }
}

/* The warp's 32 x 64 accumulators through its rows of a tile to memory; rows at or past `valid` become zeros,
 * those at or past `end` are none. */
__device__ __forceinline__ void put(bf16 *to, int64_t ld, bf16 *tile, const float c[2][8][4], int row0,
                                    int first, int valid, int end)
{
    int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    __syncwarp();
#pragma unroll
    for (int m = 0; m < 2; m++)
#pragma unroll
        for (int n = 0; n < 8; n++) {
            *(uint32_t *)(tile + tile_at(row0 + 16 * m + g, n) + 2 * t) = pack_bf16(c[m][n][0], c[m][n][1]);
            *(uint32_t *)(tile + tile_at(row0 + 16 * m + g + 8, n) + 2 * t) =
                pack_bf16(c[m][n][2], c[m][n][3]);
        }
    __syncwarp();
#pragma unroll
    for (int i = lane; i < WARP_ROWS * 8; i += 32) {
        int row = row0 + i / 8, piece = i % 8;
        if (first + row >= end)
            continue;
        uint4 x = *(const uint4 *)(tile + tile_at(row, piece));
        if (first + row >= valid)
            x = make_uint4(0, 0, 0, 0);
        *(uint4 *)(to + (first + row) * ld + piece * 8) = x;
    }
}

__device__ __forceinline__ void put_zeros(bf16 *to, int64_t ld, int first, int end)
{
    for (int i = threadIdx.x; i < ROWS * 8; i += THREADS)
        if (first + i / 8 < end)
            *(uint4 *)(to + (first + i / 8) * ld + i % 8 * 8) = make_uint4(0, 0, 0, 0);
}

__device__ __forceinline__ void clear(float c[2][8][4])
{
#pragma unroll
    for (int m = 0; m < 2; m++)
#pragma unroll
        for (int n = 0; n < 8; n++)
#pragma unroll
            for (int i = 0; i < 4; i++)
                c[m][n][i] = 0.0f;
}

/* c [32 rows, 16 S columns of d] += left [32, 16 S'] times rows of a tile; left comes as accumulators. */
template <int STEPS>
__device__ __forceinline__ void add_product(float c[2][8][4], const float left[2][2 * STEPS][4],
                                            const bf16 *tile)
{
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int step = 0; step < STEPS; step++) {
        uint32_t a[2][4], b[4];
        as_left<2 * STEPS>(a[0], left[0], step);
        as_left<2 * STEPS>(a[1], left[1], step);
#pragma unroll
        for (int pair = 0; pair < 4; pair++) {
            load_b_from_kn(b, tile, 16 * step, pair, lane);
#pragma unroll
            for (int m = 0; m < 2; m++) {
                mma_bf16(c[m][2 * pair], a[m], b[0], b[1]);
                mma_bf16(c[m][2 * pair + 1], a[m], b[2], b[3]);
            }
        }
    }
}

/* c [32, 8 N] = the warp's rows of `left` (a tile) times the rows of `right`, both along d. */
template <int N>
__device__ __forceinline__ void dot_rows(float c[2][N][4], const bf16 *left, int row0, const bf16 *right)
{
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int m = 0; m < 2; m++)
#pragma unroll
        for (int n = 0; n < N; n++)
#pragma unroll
            for (int i = 0; i < 4; i++)
                c[m][n][i] = 0.0f;
#pragma unroll
    for (int step = 0; step < 4; step++) {
        uint32_t a[2][4], b[4];
        load_a(a[0], left, row0, step, lane);
        load_a(a[1], left, row0 + 16, step, lane);
#pragma unroll
        for (int pair = 0; pair < N / 2; pair++) {
            load_b_from_nk(b, right, 16 * pair, step, lane);
#pragma unroll
            for (int m = 0; m < 2; m++) {
                mma_bf16(c[m][2 * pair], a[m], b[0], b[1]);
                mma_bf16(c[m][2 * pair + 1], a[m], b[2], b[3]);
            }
        }
    }
}

/* ---- forward ---- */

#define FORWARD_SHARED ((ROWS + 4 * STEP) * TILE_WIDTH * sizeof(bf16))

/* Scores of 32 queries and 64 keys from key0 on become weights: online softmax. A larger score scales down
 * what was summed before. */
__device__ __forceinline__ void soften(float s[2][8][4], float out[2][8][4], float most[2][2],
                                       float total[2][2], float scale2, int key0, int k_len)
{
    int t = threadIdx.x % 4;
    /* The last round may have keys that are padding. */
    if (key0 + STEP > k_len)
#pragma unroll
        for (int m = 0; m < 2; m++)
#pragma unroll
            for (int n = 0; n < 8; n++)
#pragma unroll
                for (int i = 0; i < 4; i++)
                    if (key0 + 8 * n + 2 * t + i % 2 >= k_len)
                        s[m][n][i] = -INFINITY;
#pragma unroll
    for (int m = 0; m < 2; m++)
#pragma unroll
        for (int r = 0; r < 2; r++) {
            float now = most[m][r];
#pragma unroll
            for (int n = 0; n < 8; n++)
                now = fmaxf(now, fmaxf(s[m][n][2 * r], s[m][n][2 * r + 1]));
            now = quad_max(now);
            /* Finite: some key is visible. */
            float base = now * scale2, fix = exp2_fast(most[m][r] * scale2 - base);
            most[m][r] = now;
            total[m][r] *= fix;
#pragma unroll
            for (int n = 0; n < 8; n++) {
                out[m][n][2 * r] *= fix;
                out[m][n][2 * r + 1] *= fix;
#pragma unroll
                for (int i = 2 * r; i < 2 * r + 2; i++) {
                    s[m][n][i] = exp2_fast(s[m][n][i] * scale2 - base);
                    total[m][r] += s[m][n][i];
                }
            }
        }
}

/* The rows' sums divided by their weights', and their lse. */
__device__ __forceinline__ void divide_sums(const AttentionArgs &a, const Place &p, float out[2][8][4],
                                            const float most[2][2], const float total[2][2], int mine)
{
    int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
#pragma unroll
    for (int m = 0; m < 2; m++)
#pragma unroll
        for (int r = 0; r < 2; r++) {
            /* Four lanes share a row. */
            float sum = quad_sum(total[m][r]), inverse = sum > 0.0f ? 1.0f / sum : 0.0f;
            int row = mine + 16 * m + g + 8 * r;
            if (t == 0 && row < a.tq)
                a.lse[p.row + row] = row < p.q_len ? most[m][r] * a.scale + logf(sum) : 0.0f;
#pragma unroll
            for (int n = 0; n < 8; n++) {
                out[m][n][2 * r] *= inverse;
                out[m][n][2 * r + 1] *= inverse;
            }
        }
}

static __global__ void __launch_bounds__(THREADS, 2) attention_forward_kernel(AttentionArgs a)
{
    SHARED_BYTES(shared);
    bf16 *qs = (bf16 *)shared, *ks = qs + ROWS * TILE_WIDTH, *vs = ks + 2 * STEP * TILE_WIDTH;
    const Place p = place_of(a);
    int first = blockIdx.x * ROWS, row0 = threadIdx.x / 32 * WARP_ROWS, mine = first + row0;
    /* Rows past the length: zeros, and done. */
    bf16 *o = head_of(a.o, p, a.tq, a.ldo);
    if (first >= p.q_len) {
        put_zeros(o, a.ldo, first, a.tq);
        for (int i = first + threadIdx.x; i < min(first + ROWS, a.tq); i += THREADS)
            a.lse[p.row + i] = 0.0f;
        return;
    }
    const bf16 *q = head_of(a.q, p, a.tq, a.ldq);
    const bf16 *k = head_of(a.k, p, a.tk, a.ldk);
    const bf16 *v = head_of(a.v, p, a.tk, a.ldv);
    auto fetch_keys = [&](int key0, int stage) {
        fetch<STEP>(ks + stage * STEP * TILE_WIDTH, k, a.ldk, key0, p.k_len);
        fetch<STEP>(vs + stage * STEP * TILE_WIDTH, v, a.ldv, key0, p.k_len);
        copy_commit();
    };
    /* Queries once; keys and values in two stages, the next on its way while this one is used. */
    fetch<ROWS>(qs, q, a.ldq, first, p.q_len);
    fetch_keys(0, 0);

    float out[2][8][4], most[2][2], total[2][2];
    clear(out);
#pragma unroll
    for (int m = 0; m < 2; m++)
#pragma unroll
        for (int r = 0; r < 2; r++) {
            most[m][r] = -INFINITY;
            total[m][r] = 0.0f;
        }
    float scale2 = a.scale * LOG2E;
    for (int key0 = 0, stage = 0; key0 < p.k_len; key0 += STEP, stage ^= 1) {
        if (key0 + STEP < p.k_len) {
            fetch_keys(key0 + STEP, stage ^ 1);
            copy_wait<1>();
        } else {
            copy_wait<0>();
        }
        __syncthreads();
        if (mine < p.q_len) {
            float s[2][8][4]; /* of 32 queries and 64 keys, in registers */
            dot_rows<8>(s, qs, row0, ks + stage * STEP * TILE_WIDTH);
            soften(s, out, most, total, scale2, key0, p.k_len);
            add_product<4>(out, s, vs + stage * STEP * TILE_WIDTH);
        }
        __syncthreads();
    }
    divide_sums(a, p, out, most, total, mine);
    put(o, a.ldo, qs, out, row0, first, p.q_len, a.tq);
}

/* ---- backward: queries ---- */

#define QUERY_SHARED ((2 * ROWS + 4 * BACKWARD_STEP) * TILE_WIDTH * sizeof(bf16))

/* lse in powers of two and delta of this lane's four rows. */
__device__ __forceinline__ void load_rows(float lse2[2][2], float minus[2][2], const float *lse,
                                          const float *delta, int mine, int q_len)
{
    int g = threadIdx.x % 32 / 4;
#pragma unroll
    for (int m = 0; m < 2; m++)
#pragma unroll
        for (int r = 0; r < 2; r++) {
            int row = mine + 16 * m + g + 8 * r, valid = row < q_len;
            lse2[m][r] = valid ? lse[row] * LOG2E : 0.0f;
            minus[m][r] = valid ? delta[row] : 0.0f;
        }
}

/* Weights and gradients of a round's scores become the gradient: dS = P (dP - delta); the scale comes at the
 * end. */
__device__ __forceinline__ void score_gradients(float s[2][4][4], const float d[2][4][4],
                                                const float lse2[2][2], const float minus[2][2], float scale2,
                                                int key0, int k_len)
{
    int t = threadIdx.x % 4, masked = key0 + BACKWARD_STEP > k_len;
#pragma unroll
    for (int m = 0; m < 2; m++)
#pragma unroll
        for (int n = 0; n < 4; n++)
#pragma unroll
            for (int i = 0; i < 4; i++) {
                float weight = exp2_fast(s[m][n][i] * scale2 - lse2[m][i / 2]),
                      gradient = d[m][n][i] - minus[m][i / 2];
                int visible = !masked || key0 + 8 * n + 2 * t + i % 2 < k_len;
                s[m][n][i] = visible ? weight * gradient : 0.0f;
            }
}

/* c is scaled. */
__device__ __forceinline__ void scale_sums(float c[2][8][4], float scale)
{
#pragma unroll
    for (int m = 0; m < 2; m++)
#pragma unroll
        for (int n = 0; n < 8; n++)
#pragma unroll
            for (int i = 0; i < 4; i++)
                c[m][n][i] *= scale;
}

/* dq, and delta = dout . o for the next kernel. */
static __global__ void __launch_bounds__(THREADS, 2) attention_query_kernel(AttentionArgs a)
{
    SHARED_BYTES(shared);
    bf16 *qs = (bf16 *)shared, *ds = qs + ROWS * TILE_WIDTH, *ks = ds + ROWS * TILE_WIDTH,
         *vs = ks + 2 * BACKWARD_STEP * TILE_WIDTH;
    const Place p = place_of(a);
    int first = blockIdx.x * ROWS, row0 = threadIdx.x / 32 * WARP_ROWS, mine = first + row0;
    bf16 *dq = head_of(a.dq, p, a.tq, a.ldq);
    if (first >= p.q_len) {
        put_zeros(dq, a.ldq, first, a.tq);
        return;
    }
    const bf16 *q = head_of(a.q, p, a.tq, a.ldq);
    const bf16 *k = head_of(a.k, p, a.tk, a.ldk);
    const bf16 *v = head_of(a.v, p, a.tk, a.ldv);
    const bf16 *dout = head_of(a.dout, p, a.tq, a.ldo);
    const bf16 *out = head_of(a.out, p, a.tq, a.ldo);
    float *delta = a.delta + ((int64_t)(p.b - a.first) * a.heads + p.h) * a.tq;
    auto fetch_keys = [&](int key0, int stage) {
        fetch<BACKWARD_STEP>(ks + stage * BACKWARD_STEP * TILE_WIDTH, k, a.ldk, key0, p.k_len);
        fetch<BACKWARD_STEP>(vs + stage * BACKWARD_STEP * TILE_WIDTH, v, a.ldv, key0, p.k_len);
        copy_commit();
    };
    fetch<ROWS>(qs, q, a.ldq, first, p.q_len);
    fetch<ROWS>(ds, dout, a.ldo, first, p.q_len);
    fetch_keys(0, 0);

    row_deltas<WARP_ROWS>(delta, out, dout, a.ldo, mine, p.q_len);
    float lse2[2][2], minus[2][2], scale2 = a.scale * LOG2E;
    load_rows(lse2, minus, a.lse + p.row, delta, mine, p.q_len);

    float sum[2][8][4];
    clear(sum);
    for (int key0 = 0, stage = 0; key0 < p.k_len; key0 += BACKWARD_STEP, stage ^= 1) {
        if (key0 + BACKWARD_STEP < p.k_len) {
            fetch_keys(key0 + BACKWARD_STEP, stage ^ 1);
            copy_wait<1>();
        } else {
            copy_wait<0>();
        }
        __syncthreads();
        if (mine < p.q_len) {
            const bf16 *kt = ks + stage * BACKWARD_STEP * TILE_WIDTH,
                       *vt = vs + stage * BACKWARD_STEP * TILE_WIDTH;
            float s[2][4][4], d[2][4][4];
            /* Scores and dout . v of the round. */
            dot_rows<4>(s, qs, row0, kt);
            dot_rows<4>(d, ds, row0, vt);
            score_gradients(s, d, lse2, minus, scale2, key0, p.k_len);
            add_product<2>(sum, s, kt);
        }
        __syncthreads();
    }
    scale_sums(sum, a.scale);
    put(dq, a.ldq, qs, sum, row0, first, p.q_len, a.tq);
}

/* ---- backward: keys ---- */

#define KEY_SHARED \
    ((2 * ROWS + 4 * BACKWARD_STEP) * TILE_WIDTH * sizeof(bf16) + 4 * BACKWARD_STEP * sizeof(float))

/* lse and delta of a round's queries, to where this round's numbers are. */
__device__ __forceinline__ void fetch_numbers(float *lses, float *deltas, const float *lse,
                                              const float *delta, int query0, int q_len)
{
    if (threadIdx.x < 2 * BACKWARD_STEP) {
        int i = threadIdx.x % BACKWARD_STEP, valid = query0 + i < q_len;
        const float *from = threadIdx.x < BACKWARD_STEP ? lse : delta;
        float *to = threadIdx.x < BACKWARD_STEP ? lses : deltas;
        copy_async4(to + i, from + (valid ? query0 + i : 0), valid);
    }
}

/* Scores of 32 keys and the round's queries become weights; ls: lse of the queries. */
__device__ __forceinline__ void key_weights(float s[2][4][4], const float *ls, float scale2, int query0,
                                            int q_len)
{
    int t = threadIdx.x % 4, masked = query0 + BACKWARD_STEP > q_len;
#pragma unroll
    for (int n = 0; n < 4; n++) {
        float2 l = *(const float2 *)(ls + 8 * n + 2 * t);
#pragma unroll
        for (int m = 0; m < 2; m++)
#pragma unroll
            for (int i = 0; i < 4; i++) {
                float weight = exp2_fast(s[m][n][i] * scale2 - (i % 2 ? l.y : l.x) * LOG2E);
                int visible = !masked || query0 + 8 * n + 2 * t + i % 2 < q_len;
                s[m][n][i] = visible ? weight : 0.0f;
            }
    }
}

/* Weights become the gradients of the scores; d: those of the weights, dl: delta of the queries. */
__device__ __forceinline__ void key_gradients(float s[2][4][4], const float d[2][4][4], const float *dl)
{
    int t = threadIdx.x % 4;
#pragma unroll
    for (int n = 0; n < 4; n++) {
        float2 l = *(const float2 *)(dl + 8 * n + 2 * t);
#pragma unroll
        for (int m = 0; m < 2; m++)
#pragma unroll
            for (int i = 0; i < 4; i++)
                s[m][n][i] *= d[m][n][i] - (i % 2 ? l.y : l.x);
    }
}

/* dk and dv. All products are turned over: rows are keys, columns are queries. */
static __global__ void __launch_bounds__(THREADS, 2) attention_key_kernel(AttentionArgs a)
{
    SHARED_BYTES(shared);
    bf16 *ks = (bf16 *)shared, *vs = ks + ROWS * TILE_WIDTH, *qs = vs + ROWS * TILE_WIDTH,
         *ds = qs + 2 * BACKWARD_STEP * TILE_WIDTH;
    float *lses = (float *)(ds + 2 * BACKWARD_STEP * TILE_WIDTH), *deltas = lses + 2 * BACKWARD_STEP;
    const Place p = place_of(a);
    int first = blockIdx.x * ROWS, row0 = threadIdx.x / 32 * WARP_ROWS, mine = first + row0;
    bf16 *dk = head_of(a.dk, p, a.tk, a.ldk), *dv = head_of(a.dv, p, a.tk, a.ldv);
    if (first >= p.k_len) {
        put_zeros(dk, a.ldk, first, a.tk);
        put_zeros(dv, a.ldv, first, a.tk);
        return;
    }
    const bf16 *q = head_of(a.q, p, a.tq, a.ldq);
    const bf16 *k = head_of(a.k, p, a.tk, a.ldk);
    const bf16 *v = head_of(a.v, p, a.tk, a.ldv);
    const bf16 *dout = head_of(a.dout, p, a.tq, a.ldo);
    const float *lse = a.lse + p.row, *delta = a.delta + ((int64_t)(p.b - a.first) * a.heads + p.h) * a.tq;
    auto fetch_queries = [&](int query0, int stage) {
        fetch<BACKWARD_STEP>(qs + stage * BACKWARD_STEP * TILE_WIDTH, q, a.ldq, query0, p.q_len);
        fetch<BACKWARD_STEP>(ds + stage * BACKWARD_STEP * TILE_WIDTH, dout, a.ldo, query0, p.q_len);
        fetch_numbers(lses + stage * BACKWARD_STEP, deltas + stage * BACKWARD_STEP, lse, delta, query0,
                      p.q_len);
        copy_commit();
    };
    fetch<ROWS>(ks, k, a.ldk, first, p.k_len);
    fetch<ROWS>(vs, v, a.ldv, first, p.k_len);
    fetch_queries(0, 0);

    float sum_k[2][8][4], sum_v[2][8][4], scale2 = a.scale * LOG2E;
    clear(sum_k);
    clear(sum_v);
    for (int query0 = 0, stage = 0; query0 < p.q_len; query0 += BACKWARD_STEP, stage ^= 1) {
        if (query0 + BACKWARD_STEP < p.q_len) {
            fetch_queries(query0 + BACKWARD_STEP, stage ^ 1);
            copy_wait<1>();
        } else {
            copy_wait<0>();
        }
        __syncthreads();
        if (mine < p.k_len) {
            const bf16 *qt = qs + stage * BACKWARD_STEP * TILE_WIDTH,
                       *dt = ds + stage * BACKWARD_STEP * TILE_WIDTH;
            const float *ls = lses + stage * BACKWARD_STEP, *dl = deltas + stage * BACKWARD_STEP;
            float s[2][4][4], d[2][4][4];
            dot_rows<4>(s, ks, row0, qt);
            key_weights(s, ls, scale2, query0, p.q_len);
            add_product<2>(sum_v, s, dt);
            dot_rows<4>(d, vs, row0, dt);
            key_gradients(s, d, dl);
            add_product<2>(sum_k, s, qt);
        }
        __syncthreads();
    }
    scale_sums(sum_k, a.scale);
    put(dk, a.ldk, ks, sum_k, row0, first, p.k_len, a.tk);
    put(dv, a.ldv, vs, sum_v, row0, first, p.k_len, a.tk);
}

/* ---- the table's functions ---- */

static int fits(const AttentionShape *s, const void *a, const void *b, const void *c, const void *d)
{
    return s->head_size == TILE_WIDTH && ((s->ldq | s->ldk | s->ldv | s->ldo) & 7) == 0 && is_aligned(a) &&
           is_aligned(b) && is_aligned(c) && is_aligned(d);
}

static void attention_forward_bf16(OpsContext *c, void *o, void *lse, const void *q, const void *k,
                                   const void *v, const AttentionShape *s)
{
    if (!fits(s, o, q, k, v)) {
        attention_any_forward<bf16>(c, o, lse, q, k, v, s);
        return;
    }
    CudaOps *ops = ops_enter(c);
    if (s->batch == 0 || s->tq == 0)
        return;
    AttentionArgs a = make_args(s);
    a.o = (bf16 *)o;
    a.q = (const bf16 *)q;
    a.k = (const bf16 *)k;
    a.v = (const bf16 *)v;
    a.lse = (float *)lse;
    int most = attention_items(s, s->batch);
    for (a.first = 0; a.first < s->batch; a.first += most) {
        int items = s->batch - a.first < most ? s->batch - a.first : most;
        dim3 grid((unsigned)divide_up(s->tq, ROWS),
                  (unsigned)(items * s->heads)); /* blocks that share keys run together */
        if (hopper_attention(ops))
            hopper_attention_forward(ops, &a, items);
        else
            LAUNCH(ops, "attention forward", grid, THREADS, FORWARD_SHARED, attention_forward_kernel, a);
    }
}

static void attention_backward_bf16(OpsContext *c, void *dq, void *dk, void *dv, const void *dout,
                                    const void *o, const void *lse, const void *q, const void *k,
                                    const void *v, const AttentionShape *s)
{
    if (!fits(s, o, q, k, v) || !fits(s, dout, dq, dk, dv)) {
        attention_any_backward<bf16>(c, dq, dk, dv, dout, o, lse, q, k, v, s);
        return;
    }
    CudaOps *ops = ops_enter(c);
    AttentionArgs a = make_args(s);
    a.dq = (bf16 *)dq;
    a.dk = (bf16 *)dk;
    a.dv = (bf16 *)dv;
    a.q = (const bf16 *)q;
    a.k = (const bf16 *)k;
    a.v = (const bf16 *)v;
    a.dout = (const bf16 *)dout;
    a.out = (const bf16 *)o;
    a.lse = (float *)lse;
    a.delta = (float *)ops_scratch(c);
    if (!hopper_attention(ops))
        allow_shared(ops, attention_key_kernel, KEY_SHARED);
    int64_t numbers = (int64_t)s->heads * (s->tq > 0 ? s->tq : 1); /* of an item */
    int most = attention_items(s, (int64_t)(ops_scratch_bytes(c) / (2 * sizeof(float))) / numbers);
    a.lse2 = a.delta + most * numbers;
    for (a.first = 0; a.first < s->batch; a.first += most) {
        int items = s->batch - a.first < most ? s->batch - a.first : most;
        dim3 queries((unsigned)divide_up(s->tq, ROWS), (unsigned)(items * s->heads));
        dim3 keys((unsigned)divide_up(s->tk, ROWS), (unsigned)(items * s->heads));
        if (hopper_attention(ops)) {
            hopper_attention_backward(ops, &a, items);
            continue;
        }
        if (s->tq > 0)
            LAUNCH(ops, "attention backward", queries, THREADS, QUERY_SHARED, attention_query_kernel, a);
        if (s->tk > 0)
            LAUNCH(ops, "attention backward", keys, THREADS, KEY_SHARED, attention_key_kernel, a);
    }
}

template <> void attention_fill<bf16>(Ops *ops)
{
    ops->attention_forward = attention_forward_bf16;
    ops->attention_backward = attention_backward_bf16;
}

template <> void attention_fill<float>(Ops *ops)
{
    ops->attention_forward = attention_any_forward<float>;
    ops->attention_backward = attention_any_backward<float>;
}
