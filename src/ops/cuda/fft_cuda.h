/* fft_cuda.h - transforms of frames of sound inside a block, for the .cu files that need them: `transform`
 * for any power of two, fft_some for 256 to 2048 points, where a thread has 16 points in its registers and
 * they meet in shared memory twice at most. */
#ifndef MYXTTS_FFT_CUDA_H
#define MYXTTS_FFT_CUDA_H

#include "ops/cuda/ops_cuda.h"

#define TRANSFORM_MOST 512 /* threads of a block that calls transform */
#define TRANSFORM_POINTS 4096
#define FFT_THREADS 128 /* of a block that calls fft_some; it has several short frames, or a long one */
#define FFT_LEAST 8     /* log2 of the points that fft_some takes */
#define FFT_MOST 11
#define FFT_ROOM 2176 /* float2 of shared memory for the frames of a block */

typedef struct FramesCuda {
    int n, hop, log2;
    const float2 *turn; /* [n / 2] exp(-2 pi i k / n) */
    const float *window;
} FramesCuda;

static inline FramesCuda frames_cuda(const SoundFrames *f)
{
    assert(f->n >= 4 && f->n <= TRANSFORM_POINTS && (f->n & (f->n - 1)) == 0 && f->hop >= 1 &&
           f->hop <= f->n / 2);
    FramesCuda r = {f->n, f->hop, 0, (const float2 *)f->tables, (const float *)f->tables + f->n};
    while (1 << r.log2 < f->n)
        r.log2++;
    return r;
}

static inline int fft_takes(const FramesCuda *f) { return f->log2 >= FFT_LEAST && f->log2 <= FFT_MOST; }

/* Frames of a block of fft_some. */
static inline int fft_frames(const FramesCuda *f) { return 16 * FFT_THREADS >> f->log2; }

/* A thread for each part of a pass of `transform`, but whole warps, and not too few for the bands. */
static inline unsigned transform_threads(int n)
{
    int threads = n / 4;
    return (unsigned)(threads < 64 ? 64 : threads > TRANSFORM_MOST ? TRANSFORM_MOST : threads);
}

__device__ __forceinline__ float2 add2(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }
__device__ __forceinline__ float2 sub2(float2 a, float2 b) { return make_float2(a.x - b.x, a.y - b.y); }
__device__ __forceinline__ float2 mul2(float2 a, float2 b)
{
    return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

/* ---- any power of two ---- */

/* Transforms z [n], with other [n] as scratch (Stockham's order, radix 4, and 2 once where n is no power of
 * four); returns which of the two holds the result. sign 1: exp(-i ...), -1: exp(+i ...). Not scaled. All
 * threads of the block; ends with a barrier. */
__device__ static inline float2 *transform(float2 *z, float2 *other, const FramesCuda &f, float sign)
{
    __syncthreads();
    int pass = 0;
    for (; pass + 2 <= f.log2; pass += 2) {
        int stride = 1 << pass, quarter = f.n >> (pass + 2);
        for (int i = threadIdx.x; i < f.n / 4; i += blockDim.x) {
            int p = i >> pass, q = i & (stride - 1);
            const float2 *from = z + q + stride * p;
            float2 *to = other + q + stride * 4 * p;
            float2 a = from[0], b = from[stride * quarter], c = from[stride * 2 * quarter],
                   d = from[stride * 3 * quarter];
            float2 w = f.turn[p << pass], w2 = f.turn[2 * p << pass];
            w.y *= sign;
            w2.y *= sign;
            float2 ac = add2(a, c), bd = add2(b, d), less = sub2(a, c), turned = sub2(b, d);
            turned = make_float2(-sign * turned.y, sign * turned.x);
            to[0] = add2(ac, bd);
            to[stride] = mul2(w, sub2(less, turned));
            to[2 * stride] = mul2(w2, sub2(ac, bd));
            to[3 * stride] = mul2(mul2(w, w2), add2(less, turned));
        }
        __syncthreads();
        float2 *swap = z;
        z = other;
        other = swap;
    }
    if (pass == f.log2)
        return z;
    for (int i = threadIdx.x; i < f.n / 2; i += blockDim.x) {
        float2 a = z[i], b = z[i + f.n / 2];
        other[i] = add2(a, b);
        other[i + f.n / 2] = sub2(a, b);
    }
    __syncthreads();
    return other;
}

/* ---- 256 to 2048 points ---- */

/* Where point i lies in shared memory: no two threads of a warp meet in a bank. */
__device__ __forceinline__ int fft_at(int i) { return i + (i >> 4); }

/* Transforms of 2 and 4 points in registers. SIGN as in `transform`. */
template <int SIGN> __device__ __forceinline__ void fft_2(float2 &a, float2 &b)
{
    float2 sum = add2(a, b);
    b = sub2(a, b);
    a = sum;
}

template <int SIGN> __device__ __forceinline__ void fft_4(float2 &a, float2 &b, float2 &c, float2 &d)
{
    float2 ac = add2(a, c), bd = add2(b, d), less = sub2(a, c), turned = sub2(b, d);
    turned = make_float2(-SIGN * turned.y, SIGN * turned.x);
    a = add2(ac, bd);
    b = sub2(less, turned);
    c = sub2(ac, bd);
    d = add2(less, turned);
}

/* x exp(-SIGN 2 pi i k / 16); k is a constant after unrolling. */
template <int SIGN> __device__ __forceinline__ float2 fft_turned(float2 x, int k)
{
    const float cosine[] = {1.0f,          0.923879533f,  0.707106781f,  0.382683432f, 0.0f,
                            -0.382683432f, -0.707106781f, -0.923879533f, -1.0f,        -0.923879533f};
    const float sine[] = {0.0f,         0.382683432f, 0.707106781f, 0.923879533f, 1.0f,
                          0.923879533f, 0.707106781f, 0.382683432f, 0.0f,         -0.382683432f};
    return mul2(x, make_float2(cosine[k], -SIGN * sine[k]));
}

/* R points in registers, R 2, 4, 8 or 16; result k is then at fft_place<R>(k). */
template <int R> __device__ __forceinline__ constexpr int fft_place(int k)
{
    return R <= 4 ? k : R == 8 ? 4 * (k % 2) + k / 2 : 4 * (k % 4) + k / 4;
}

template <int R, int SIGN> __device__ __forceinline__ void fft_points(float2 *v)
{
    if constexpr (R == 2) {
        fft_2<SIGN>(v[0], v[1]);
    } else if constexpr (R == 4) {
        fft_4<SIGN>(v[0], v[1], v[2], v[3]);
    } else {
#pragma unroll
        for (int i = 0; i < 4; i++)
            if constexpr (R == 8)
                fft_2<SIGN>(v[i], v[4 + i]);
            else
                fft_4<SIGN>(v[i], v[4 + i], v[8 + i], v[12 + i]);
#pragma unroll
        for (int k = 0; k < R / 4; k++) {
#pragma unroll
            for (int i = 1; i < 4; i++)
                if (k > 0)
                    v[4 * k + i] = fft_turned<SIGN>(v[4 * k + i], i * k * (16 / R));
            fft_4<SIGN>(v[4 * k], v[4 * k + 1], v[4 * k + 2], v[4 * k + 3]);
        }
    }
}

/* v[r] times w to the power of r. */
template <int R, int SIGN> __device__ __forceinline__ void fft_twist(float2 *v, float2 w)
{
    w.y *= SIGN;
    float2 power[4] = {make_float2(1.0f, 0.0f), w, mul2(w, w), mul2(mul2(w, w), w)},
           four = mul2(power[2], power[2]), now = four;
#pragma unroll
    for (int r = 1; r < R && r < 4; r++)
        v[r] = mul2(v[r], power[r]);
#pragma unroll
    for (int high = 4; high < R; high += 4) {
        v[high] = mul2(v[high], now);
#pragma unroll
        for (int r = 1; r < 4; r++)
            v[high + r] = mul2(v[high + r], mul2(now, power[r]));
        now = mul2(now, four);
    }
}

/* One frame of 2^LOG2 points, by 2^LOG2 / 16 threads, t the number of the thread among them; s: the frame's
 * part of shared memory, points at fft_at. Every thread calls in(i) for the points i that it has (those that
 * are t modulo the threads), and out(i, x) for the results, which are not scaled. in may read s: all threads
 * have done so before anything is written there. All threads of the block; out is behind the last barrier. */
template <int LOG2, int SIGN, typename In, typename Out>
__device__ __forceinline__ void fft_some(float2 *s, int t, const float2 *turn, In in, Out out)
{
    constexpr int N = 1 << LOG2, T = N / 16, LAST = N / 256;
    float2 v[16];
#pragma unroll
    for (int r = 0; r < 16; r++)
        v[r] = in(t + r * T);
    __syncthreads();
    fft_points<16, SIGN>(v);
#pragma unroll
    for (int k = 0; k < 16; k++)
        s[fft_at(16 * t + k)] = v[fft_place<16>(k)];
    __syncthreads();
#pragma unroll
    for (int r = 0; r < 16; r++)
        v[r] = s[fft_at(t + r * T)];
    fft_twist<16, SIGN>(v, turn[t % 16 * LAST]);
    fft_points<16, SIGN>(v);
    __syncthreads();
    if constexpr (LAST == 1) {
#pragma unroll
        for (int k = 0; k < 16; k++)
            out(t + 16 * k, v[fft_place<16>(k)]);
    } else {
#pragma unroll
        for (int k = 0; k < 16; k++)
            s[fft_at(t / 16 * 256 + t % 16 + 16 * k)] = v[fft_place<16>(k)];
        __syncthreads();
#pragma unroll
        for (int m = 0; m < 16 / LAST; m++) {
            float2 *w = v + m * LAST;
#pragma unroll
            for (int r = 0; r < LAST; r++)
                w[r] = s[fft_at(t + m * T + 256 * r)];
            fft_twist<LAST, SIGN>(w, turn[t + m * T]);
            fft_points<LAST, SIGN>(w);
        }
        /* A thread writes where it alone has read. */
#pragma unroll
        for (int m = 0; m < 16 / LAST; m++)
#pragma unroll
            for (int k = 0; k < LAST; k++)
                out(t + m * T + 256 * k, v[m * LAST + fft_place<LAST>(k)]);
    }
}

/* ---- frames ---- */

/* The first frame that reaches a position (which may be before the first or past the last sample). */
__device__ static inline int first_frame(const FramesCuda &f, int position)
{
    int from = position - f.n / 2 + 1;
    return from <= 0 ? 0 : (from + f.hop - 1) / f.hop;
}

/* The sum of all frames [T, n] at a position. */
__device__ static inline float sum_frames(const float *frames, const FramesCuda &f, int T, int position)
{
    float sum = 0.0f;
    for (int t = first_frame(f, position); t < T && t * f.hop <= position + f.n / 2; t++) {
        int k = position + f.n / 2 - t * f.hop;
        if (k >= 0 && k < f.n)
            sum += frames[(int64_t)t * f.n + k];
    }
    return sum;
}

#endif
