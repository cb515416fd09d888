/* align_cuda.cu - align_search: which frames belong to which symbol (docs/MODEL.md, "Alignment").
 * The scores of all pairs go to the workspace, frame by frame. Then one warp walks over the frames of an
 * item, the best sums of all symbols in its registers: a lane has S neighbours, so that one exchange between
 * lanes serves a frame. For every pair it leaves a bit that says whether the best path came from the symbol
 * before; 32 frames of a symbol are a word. Walking back reads 32 symbols of 32 frames at once, more than the
 * path can leave in that time. What is too large for the workspace is cut: into strips of symbols that hand
 * over the sums of their last one, and into chunks of frames. With several chunks a first pass keeps only the
 * sums at their borders, a second one takes them from the end and makes the bits. */
#include <math.h>

#include "ops/cuda/mma_cuda.h"
#include "ops/cuda/ops_cuda.h"

#define FRAME_TILE 128 /* of the scores' kernel */
#define SYMBOL_TILE 64
#define DEPTH 16
#define SCORE_THREADS 256
#define COST_THREADS 1024

#define GROUP 32                       /* frames in a word of bits; chunks are multiples of it */
#define STRIP_MOST 1024                /* symbols in registers */
#define SHARED_MOST (size_t(64) << 10) /* bits of decisions in shared memory */

typedef struct AlignArgs {
    float *score;   /* [items, rows, ld]: the frames of a chunk, the symbols of a strip */
    uint32_t *bits; /* [items, rows / GROUP, width]; NULL: they are not wanted, or stand in shared memory */
    const float *enter;   /* [items, width]: sums before the chunk; NULL: it is the first */
    float *leave;         /* after it; NULL: not wanted */
    const float *edge_in; /* [items, edge]: sums of the symbol before the strip, of the frame before each;
                             NULL: it is the first */
    float *edge_out;      /* of its last symbol */
    int32_t *path;        /* [items, path_ld]: the symbol of each frame */
    int32_t *at;          /* [items]: where walking back goes on */
    int32_t *frames;      /* [B,T], the result */
    const float *mel;
    const int32_t *text_len, *mel_len;
    int first, T, M, n;            /* first: the batch item of block 0 */
    int frame0, rows, symbol0, ld; /* of this chunk and strip */
    int width, edge, path_ld;
    int shared_bits, clear, walk; /* clear: frames begin as zeros. walk: all symbols have their bits now */
} AlignArgs;

/* Symbols and frames of an item; symbols that can have no frame do not take part. */
__device__ __forceinline__ int2 align_size(const AlignArgs &a, int b)
{
    int frames = max(0, min(a.mel_len[b], a.M)), text = max(0, min(a.text_len[b], a.T));
    return make_int2(min(text, frames), text > 0 ? frames : 0);
}

/* score(m, t) = mel[m] . mu[t] - |mu[t]|^2 / 2. A thread has 8 frames x 4 symbols. Tiles in which no path can
 * be are left as they are: no sum that counts depends on them. */
template <typename T> __global__ void __launch_bounds__(SCORE_THREADS) score_kernel(AlignArgs a, const T *mu)
{
    __shared__ __align__(16) float ms[DEPTH][FRAME_TILE + 4], us[DEPTH][SYMBOL_TILE + 4];
    const int item = blockIdx.z, b = a.first + item;
    const int2 size = align_size(a, b);
    const int m0 = a.frame0 + blockIdx.y * FRAME_TILE,
              m_end = min(m0 + FRAME_TILE, min(size.y, a.frame0 + a.rows));
    const int t0 = a.symbol0 + blockIdx.x * SYMBOL_TILE,
              t_end = min(t0 + SYMBOL_TILE, min(size.x, a.symbol0 + a.ld));
    if (m0 >= m_end || t0 >= t_end || t0 > m_end - 1 || size.x - t_end > size.y - 1 - m0)
        return;
    const float *mel = a.mel + ((int64_t)b * a.M + m0) * a.n;
    mu += ((int64_t)b * a.T + t0) * a.n;
    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    float sum[8][4] = {}, square[4] = {};
    for (int k0 = 0; k0 < a.n; k0 += DEPTH) {
#pragma unroll
        for (int i = threadIdx.x; i < FRAME_TILE * DEPTH; i += SCORE_THREADS) {
            int k = i % DEPTH, row = i / DEPTH;
            ms[k][row] = row < m_end - m0 && k0 + k < a.n ? mel[(int64_t)row * a.n + k0 + k] : 0.0f;
        }
#pragma unroll
        for (int i = threadIdx.x; i < SYMBOL_TILE * DEPTH; i += SCORE_THREADS) {
            int k = i % DEPTH, row = i / DEPTH;
            us[k][row] = row < t_end - t0 && k0 + k < a.n ? to_float(mu[(int64_t)row * a.n + k0 + k]) : 0.0f;
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < DEPTH; k++) {
            float x[8], y[4];
            *(float4 *)x = *(const float4 *)&ms[k][8 * ty];
            *(float4 *)(x + 4) = *(const float4 *)&ms[k][8 * ty + 4];
            *(float4 *)y = *(const float4 *)&us[k][4 * tx];
#pragma unroll
            for (int j = 0; j < 4; j++) {
                square[j] += y[j] * y[j];
#pragma unroll
                for (int i = 0; i < 8; i++)
                    sum[i][j] += x[i] * y[j];
            }
        }
        __syncthreads();
    }
    const int column = t0 - a.symbol0 + 4 * tx;
    if (column >= a.ld)
        return;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        int m = m0 + 8 * ty + i;
        if (m >= m_end)
            break;
        float4 x = {sum[i][0] - 0.5f * square[0], sum[i][1] - 0.5f * square[1], sum[i][2] - 0.5f * square[2],
                    sum[i][3] - 0.5f * square[3]};
        *(float4 *)(a.score + ((int64_t)item * a.rows + (m - a.frame0)) * a.ld + column) = x;
    }
}

/* Scores on their way: STAGES times FRAMES rows of a strip in shared memory. Each lane loads what it uses
 * itself, so no lane waits for others. */
template <int S> struct Ahead {
    enum {
        FRAMES = S <= 4    ? 16
                 : S <= 16 ? 8
                           : 4,
        STAGES = S <= 8 ? 3 : 2,
        ROW = 32 * S,
        BYTES = FRAMES * STAGES * ROW * 4
    };
};

/* The next scores of a lane on their way into a stage of its ring. */
template <int S> __device__ __forceinline__ void align_fetch(float *stage, const float *row, int64_t ld)
{
    typedef Ahead<S> A;
#pragma unroll
    for (int u = 0; u < A::FRAMES; u++)
#pragma unroll
        for (int j = 0; j < S; j += 4)
            copy_async16(stage + u * A::ROW + j, row + (int64_t)u * ld + j, 1);
}

/* The sums q of a lane's symbols take in one frame: staying, or moving on from the symbol on the left. moved:
 * one bit more for each of them. edge: the sum left of the strip. */
template <int S>
__device__ __forceinline__ void align_frame(float q[S], uint32_t moved[S], const float *scores, float edge)
{
    float left = __shfl_up_sync(0xFFFFFFFFu, q[S - 1], 1);
    if (threadIdx.x == 0)
        left = edge;
#pragma unroll
    for (int j0 = S - 4; j0 >= 0; j0 -= 4) {
        float4 four = *(const float4 *)(scores + j0);
        const float score[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (int j = j0 + 3; j >= j0; j--) { /* the exchange is on its way meanwhile */
            float stay = q[j], move = j > 0 ? q[j - 1] : left;
            /* The sign says whether moving is better; of two infinities it says no, which t == m overrules.
             */
            moved[j] = __funnelshift_l(__float_as_uint(stay - move), moved[j], 1);
            q[j] = fmaxf(stay, move) + score[j - j0];
        }
    }
}

/* The sums of one strip over the frames of one chunk, in whole groups: what comes after the item's end is
 * not used, nor is what stands right of its last symbol. Infinities stand for symbols that cannot be reached
 * yet. */
template <int S, bool STRIPS>
__device__ __forceinline__ void align_advance(const AlignArgs &a, uint32_t *bits, float *ring, int item,
                                              int text, int count)
{
    typedef Ahead<S> A;
    const int lane = threadIdx.x, mine = a.symbol0 + lane * S;
    const bool active = mine < text;
    float q[S];
    uint32_t moved[S];
#pragma unroll
    for (int j = 0; j < S; j++) {
        q[j] = a.enter && active ? a.enter[(int64_t)item * a.width + mine + j] : -INFINITY;
        moved[j] = 0;
    }
    const float *row = a.score + (int64_t)item * a.rows * a.ld + lane * S;
    ring += lane * S;
    auto fetch = [&](int stage) {
        if (active)
            align_fetch<S>(ring + stage * A::FRAMES * A::ROW, row, a.ld);
        row += (int64_t)A::FRAMES * a.ld;
        copy_commit();
    };
#pragma unroll
    for (int stage = 0; stage < A::STAGES - 1; stage++)
        fetch(stage);
    const float *edge_in = STRIPS && a.edge_in ? a.edge_in + (int64_t)item * a.edge : NULL;
    float *edge_out = STRIPS ? a.edge_out + (int64_t)item * a.edge : NULL;
    if (STRIPS && lane == 31)
        edge_out[0] = q[S - 1];
    int stage = 0;
    for (int m = 0; m < count; m += GROUP) {
        float edges = STRIPS && edge_in ? edge_in[m + lane] : -INFINITY;
#pragma unroll 1
        for (int k = 0; k < GROUP; k += A::FRAMES) {
            copy_wait<A::STAGES - 2>();
            fetch(stage > 0 ? stage - 1 : A::STAGES - 1); /* the one that was used last */
            const float *scores = ring + stage * A::FRAMES * A::ROW;
            stage = stage + 1 < A::STAGES ? stage + 1 : 0;
#pragma unroll
            for (int u = 0; u < A::FRAMES; u++) {
                float edge = STRIPS ? __shfl_sync(0xFFFFFFFFu, edges, k + u) : -INFINITY;
                if (u == 0 && m + k == 0 && a.frame0 == 0 && a.symbol0 == 0)
                    edge = 0.0f; /* every path begins here */
                align_frame<S>(q, moved, scores + u * A::ROW, edge);
                if (STRIPS && lane == 31)
                    edge_out[m + k + u + 1] = q[S - 1];
            }
        }
        if (bits && active)
#pragma unroll
            for (int j = 0; j < S; j += 4)
                *(uint4 *)(bits + (int64_t)(m / GROUP) * a.width + mine + j) =
                    make_uint4(moved[j], moved[j + 1], moved[j + 2], moved[j + 3]);
    }
    copy_wait<0>();
    if (a.leave && active)
#pragma unroll
        for (int j = 0; j < S; j++)
            a.leave[(int64_t)item * a.width + mine + j] = q[j];
}

/* The path through a chunk, from its end; every frame is counted for its symbol. */
__device__ __forceinline__ void align_walk(const AlignArgs &a, const uint32_t *bits, int item, int text,
                                           int frames, int count)
{
    const int lane = threadIdx.x;
    int32_t *path = a.path + (int64_t)item * a.path_ld + a.frame0,
            *durations = a.frames + (int64_t)(a.first + item) * a.T;
    int t = frames <= a.frame0 + a.rows ? text - 1 : a.at[item];
    for (int group = (count - 1) / GROUP; group >= 0; group--) {
        const int here = min(GROUP, count - group * GROUP), m0 = a.frame0 + group * GROUP;
        const uint32_t own = lane <= t ? bits[(int64_t)group * a.width + t - lane] : 0;
        int back = 0, mine = 0;
#pragma unroll
        for (int f = GROUP - 1; f >= 0; f--) {
            uint32_t better = __ballot_sync(0xFFFFFFFFu, own >> (GROUP - 1 - f) & 1); /* of symbol t - lane */
            int now = t - back;
            mine = lane == f ? now : mine;
            back += (f < here) & (now > 0) & ((int)(better >> back & 1) | (now == m0 + f));
        }
        if (lane < here) {
            path[group * GROUP + lane] = mine;
            atomicAdd(durations + mine, 1);
        }
        t -= back;
    }
    if (lane == 0)
        a.at[item] = t;
}

/* One warp for each item. */
template <int S, bool STRIPS> __global__ void __launch_bounds__(32) search_kernel(AlignArgs a)
{
    SHARED_BYTES(shared);
    float *ring = (float *)shared;
    const int item = blockIdx.x, b = a.first + item;
    const int2 size = align_size(a, b);
    const int count = min(a.rows, size.y - a.frame0);
    if (a.clear)
        for (int t = threadIdx.x; t < a.T; t += 32)
            a.frames[(int64_t)b * a.T + t] = 0;
    if (count <= 0)
        return;
    uint32_t *bits = a.shared_bits ? (uint32_t *)(shared + Ahead<S>::BYTES) : a.bits;
    if (bits && !a.shared_bits)
        bits += (int64_t)item * (a.rows / GROUP) * a.width;
    if (a.symbol0 < size.x)
        align_advance<S, STRIPS>(a, bits, ring, item, size.x, count);
    __syncwarp();
    if (a.walk)
        align_walk(a, bits, item, size.x, size.y, count);
}

/* cost [B]: a block for each item, a warp for 32 frames at a time. */
template <typename T>
__global__ void __launch_bounds__(COST_THREADS) cost_kernel(AlignArgs a, float *cost, const T *mu)
{
    __shared__ float shared[32];
    const int item = blockIdx.x, b = a.first + item, lane = threadIdx.x % 32;
    const int2 size = align_size(a, b);
    const float *mel = a.mel + (int64_t)b * a.M * a.n;
    const int32_t *path = a.path + (int64_t)item * a.path_ld;
    mu += (int64_t)b * a.T * a.n;
    float sum = 0.0f;
    for (int m = threadIdx.x / 32; m < size.y; m += COST_THREADS / 32) {
        const float *x = mel + (int64_t)m * a.n;
        const T *y = mu + (int64_t)path[m] * a.n;
#pragma unroll 4
        for (int k = lane; k < a.n; k += 32) {
            float d = x[k] - to_float(y[k]);
            sum += d * d;
        }
    }
    sum = block_sum(sum, shared);
    if (threadIdx.x == 0)
        cost[b] = size.y > 0 ? sum / ((float)size.y * (float)a.n) : 0.0f;
}

static int64_t up(int64_t n, int64_t unit) { return divide_up(n, unit) * unit; }

/* How the problem is cut, and what an item needs of the workspace. */
typedef struct AlignPlan {
    int strip, rows, chunks, ld, width, edge, path_ld, shared_bits;
    int64_t score, bits, sums, item; /* numbers of 4 bytes: of one item; sums: at all borders */
} AlignPlan;

static AlignPlan align_plan(int64_t room, int T, int M)
{
    AlignPlan p = {};
    p.strip = T <= 128 ? 128 : T <= 256 ? 256 : T <= 512 ? 512 : STRIP_MOST;
    p.ld = (int)up(T < p.strip ? T : p.strip, 4);
    p.width = (int)up(T, 32);
    p.path_ld = (int)up(M > 0 ? M : 1, 4);
    for (p.rows = (int)up(p.path_ld, GROUP);; p.rows = (int)up(p.rows / 2, GROUP)) {
        p.chunks = (int)divide_up(M > 0 ? M : 1, p.rows);
        p.edge = p.rows + GROUP;
        p.score = (int64_t)p.rows * p.ld;
        p.bits = (int64_t)(p.rows / GROUP) * p.width;
        p.shared_bits = T <= p.strip && (size_t)p.bits * 4 <= SHARED_MOST;
        p.sums = (int64_t)(p.chunks - 1) * p.width;
        p.item =
            p.score + (p.shared_bits ? 0 : p.bits) + p.sums + (T > p.strip ? 2 * p.edge : 0) + p.path_ld + 4;
        if (p.item <= room || p.rows == GROUP)
            return p;
    }
}

static void search(CudaOps *o, const AlignArgs *a, const AlignPlan *p, int items)
{
    auto launch = [&](auto kernel, size_t ahead) {
        size_t shared = ahead + (a->shared_bits ? (size_t)p->bits * 4 : 0);
        if (shared > size_t(48) << 10)
            allow_shared(o, kernel, shared);
        LAUNCH(o, "align symbols", (unsigned)items, 32, shared, kernel, *a);
    };
    if (p->strip == 128)
        launch(search_kernel<4, false>, Ahead<4>::BYTES);
    else if (p->strip == 256)
        launch(search_kernel<8, false>, Ahead<8>::BYTES);
    else if (p->strip == 512)
        launch(search_kernel<16, false>, Ahead<16>::BYTES);
    else if (a->T <= STRIP_MOST)
        launch(search_kernel<32, false>, Ahead<32>::BYTES);
    else
        launch(search_kernel<32, true>, Ahead<32>::BYTES);
}

/* One chunk, strip by strip. keep: bits are made, and the path through it is walked. */
template <typename T>
static void align_chunk(CudaOps *o, AlignArgs a, const AlignPlan *p, const T *mu, float *const edges[2],
                        float *sums, int items, int chunk, int keep)
{
    a.frame0 = chunk * p->rows;
    a.enter = chunk > 0 ? sums + (int64_t)(chunk - 1) * items * p->width : NULL;
    a.leave = keep ? NULL : sums + (int64_t)chunk * items * p->width;
    a.shared_bits = keep && p->shared_bits;
    a.bits = keep && !p->shared_bits ? a.bits : NULL;
    int frames = a.M - a.frame0 < p->rows ? a.M - a.frame0 : p->rows, strips = (int)divide_up(a.T, p->strip);
    for (int i = 0; i < strips; i++) {
        a.symbol0 = i * p->strip;
        a.edge_in = i > 0 ? edges[i % 2] : NULL;
        a.edge_out = edges[(i + 1) % 2];
        a.clear = keep && i == 0 && chunk == p->chunks - 1;
        a.walk = keep && i == strips - 1;
        dim3 grid((unsigned)divide_up(p->ld, SYMBOL_TILE), (unsigned)divide_up(frames, FRAME_TILE),
                  (unsigned)items);
        if (frames > 0)
            LAUNCH(o, "align scores", grid, SCORE_THREADS, 0, score_kernel<T>, a, mu);
        search(o, &a, p, items);
    }
}

template <typename T>
static void align_search(OpsContext *c, int32_t *frames, float *cost, const void *mu, const float *mel,
                         const int32_t *text_len, const int32_t *mel_len, int B, int T_rows, int M, int n)
{
    CudaOps *o = ops_enter(c);
    assert(T_rows >= 0 && M >= 0 && n > 0);
    if (B == 0 || T_rows == 0)
        return;
    /* Scores are fetched ahead of their use, past the last item's end. */
    int64_t room = (int64_t)(ops_scratch_bytes(c) / 4) - 2 * GROUP * (int64_t)STRIP_MOST;
    AlignPlan p = align_plan(room, T_rows, M);
    int most = at_most(at_most(room / p.item, B), 65535);
    assert(most >= 1);
    AlignArgs a = {};
    a.frames = frames;
    a.mel = mel;
    a.text_len = text_len;
    a.mel_len = mel_len;
    a.T = T_rows;
    a.M = M;
    a.n = n;
    a.rows = p.rows;
    a.ld = p.ld;
    a.width = p.width;
    a.edge = p.edge;
    a.path_ld = p.path_ld;
    for (int first = 0; first < B; first += most) {
        int items = B - first < most ? B - first : most;
        float *at = (float *)ops_scratch(c), *edges[2] = {NULL, NULL};
        auto take = [&](int64_t numbers) {
            float *taken = at;
            at += up(numbers * items, 4);
            return taken;
        };
        a.first = first;
        a.path = (int32_t *)take(p.path_ld);
        a.at = (int32_t *)take(1);
        float *sums = take(p.sums);
        if (T_rows > p.strip) {
            edges[0] = take(p.edge);
            edges[1] = take(p.edge);
        }
        a.bits = p.shared_bits ? NULL : (uint32_t *)take(p.bits);
        a.score = take(p.score); /* the last: what is fetched ahead is past its end */
        for (int chunk = 0; chunk < p.chunks - 1; chunk++)
            align_chunk(o, a, &p, (const T *)mu, edges, sums, items, chunk, 0);
        for (int chunk = p.chunks - 1; chunk >= 0; chunk--)
            align_chunk(o, a, &p, (const T *)mu, edges, sums, items, chunk, 1);
        if (cost)
            LAUNCH(o, "align cost", (unsigned)items, COST_THREADS, 0, cost_kernel<T>, a, cost, (const T *)mu);
    }
}

/* ---- durations_place ---- */

#define PLACE_THREADS 256
#define PLACE_WARPS (PLACE_THREADS / 32)

/* A block for each item: running sums of durations, 256 symbols at a time; a warp writes the frames of its 32
 * symbols. */
static __global__ void __launch_bounds__(PLACE_THREADS)
    place_kernel(Durations d, int32_t *length, const int32_t *text_len, int T, int M)
{
    __shared__ int sums[PLACE_WARPS];
    const int b = blockIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32, text = min(text_len[b], T);
    int32_t *symbol = d.symbol + (int64_t)b * M;
    int begin = 0; /* of these symbols; never more than M */
    for (int t0 = 0; t0 < T; t0 += PLACE_THREADS) {
        int t = t0 + threadIdx.x, own = t < text ? max(0, min(d.frames[(int64_t)b * T + t], M)) : 0,
            sum = own;
        for (int step = 1; step < 32; step *= 2) {
            int below = __shfl_up_sync(0xFFFFFFFFu, sum, step);
            sum += lane >= step ? below : 0;
        }
        if (lane == 31)
            sums[warp] = sum;
        __syncthreads();
        int before = begin, all = begin;
        for (int w = 0; w < PLACE_WARPS; w++) {
            before += w < warp ? sums[w] : 0;
            all += sums[w];
        }
        __syncthreads();
        int from = min(before + sum - own, M), end = min(before + sum, M);
        if (t < T)
            d.start[(int64_t)b * T + t] = from;
        for (int i = 0; i < 32; i++) {
            int first = __shfl_sync(0xFFFFFFFFu, from, i), last = __shfl_sync(0xFFFFFFFFu, end, i);
            for (int m = first + lane; m < last; m += 32)
                symbol[m] = t0 + warp * 32 + i;
        }
        begin = min(all, M);
    }
    for (int m = begin + (int)threadIdx.x; m < M; m += PLACE_THREADS)
        symbol[m] = -1;
    if (length && threadIdx.x == 0)
        length[b] = begin;
}

static void durations_place(OpsContext *c, const Durations *d, int32_t *length, const int32_t *text_len,
                            int B, int T_rows, int M)
{
    CudaOps *o = ops_enter(c);
    if (B > 0)
        LAUNCH(o, "place durations", (unsigned)B, PLACE_THREADS, 0, place_kernel, *d, length, text_len,
               T_rows, M);
}

template <typename T> void align_fill(Ops *ops)
{
    ops->align_search = align_search<T>;
    ops->durations_place = durations_place;
}

template void align_fill<float>(Ops *ops);
template void align_fill<bf16>(Ops *ops);
