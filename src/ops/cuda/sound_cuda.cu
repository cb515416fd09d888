/* sound_cuda.cu - from spectra to sound and back. A block transforms one frame in shared memory and leaves it
 * in the workspace; a second kernel adds the frames up, sample by sample and in their order. */
#include <type_traits>

#include "audio/griffin_lim_rule.h"
#include "ops/cuda/fft_cuda.h"

#define THREADS 256

static __global__ void tables_kernel(float *tables, int n, int window)
{
    int k = blockIdx.x * THREADS + threadIdx.x;
    if (k >= n)
        return;
    double c, s;
    sincospi(2.0 * k / n, &s, &c);
    if (k < n / 2) {
        tables[2 * k] = (float)c;
        tables[2 * k + 1] = (float)-s;
    }
    int i = k - (n - window) / 2;
    tables[n + k] = i < 0 || i >= window ? 0.0f : (float)(0.5 - 0.5 * cospi(2.0 * i / window));
}

/* Sum of the squared windows at a sample. */
__device__ static float overlap(const FramesCuda &f, int T, int sample)
{
    float sum = 0.0f;
    for (int t = first_frame(f, sample); t < T && t * f.hop <= sample + f.n / 2; t++) {
        int k = sample + f.n / 2 - t * f.hop;
        if (k >= 0 && k < f.n)
            sum += f.window[k] * f.window[k];
    }
    return sum;
}

/* ---- frames of a mel ---- */

/* blockIdx.y: the item. */
template <typename T>
__global__ void __launch_bounds__(THREADS)
    scale_kernel(T *out, const float *in, const int32_t *len, int rows, int n, float shift, float scale)
{
    int64_t all = (int64_t)rows * n, valid = (int64_t)(len ? len[blockIdx.y] : rows) * n;
    in += blockIdx.y * all;
    out += blockIdx.y * all;
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < all; i += (int64_t)gridDim.x * THREADS)
        out[i] = from_float<T>(i < valid ? (in[i] + shift) * scale : 0.0f);
}

/* A block has a row. */
static __global__ void __launch_bounds__(THREADS)
    spread_kernel(float *out, const float *in, SoundBands bands, int n, float shift)
{
    SHARED_BYTES(shared);
    float *power = (float *)shared;
    in += (int64_t)blockIdx.x * n;
    out += (int64_t)blockIdx.x * bands.count;
    for (int i = threadIdx.x; i < n; i += THREADS)
        power[i] = expf(in[i]);
    __syncthreads();
    for (int k = threadIdx.x; k < bands.count; k += THREADS) {
        const float *weight = bands.weights + bands.at[k];
        float sum = 0.0f;
        for (int i = 0; i < bands.width[k]; i++)
            sum += weight[i] * power[bands.first[k] + i];
        out[k] = shift + logf(fmaxf(sum, bands.floor));
    }
}

template <typename T>
static void scale_frames(OpsContext *c, void *out, const float *in, const int32_t *len, int B, int rows,
                         int n, float shift, float scale)
{
    CudaOps *o = ops_enter(c);
    if (B == 0 || rows == 0)
        return;
    assert(B <= 65535);
    dim3 grid((unsigned)at_most(divide_up((int64_t)rows * n, THREADS), 1024), (unsigned)B);
    LAUNCH(o, "scaled frames", grid, THREADS, 0, scale_kernel<T>, (T *)out, in, len, rows, n, shift, scale);
}

static void log_spread(OpsContext *c, float *out, const float *in, const SoundBands *bands, int64_t rows,
                       int n, float shift)
{
    CudaOps *o = ops_enter(c);
    if (rows == 0)
        return;
    assert(rows <= INT_MAX && (size_t)n * sizeof(float) <= 48 << 10);
    LAUNCH(o, "spread of bands", (unsigned)rows, THREADS, sizeof(float) * (size_t)n, spread_kernel, out, in,
           *bands, n, shift);
}

/* ---- wave ---- */

/* The magnitude of a bin, and what its phase makes of it. */
__device__ __forceinline__ float2 bin_of(float log_magnitude, float phase)
{
    float m = fminf(expf(log_magnitude), (float)SOUND_LOUDEST), c, s;
    sincosf(phase, &s, &c);
    return make_float2(m * c, m * s);
}

/* The gradients of a bin's logarithm and phase, from those of its real and imaginary part. */
__device__ __forceinline__ float2 bin_gradient(float log_magnitude, float phase, float dre, float dim)
{
    float m = expf(log_magnitude), c, s;
    int loud = !(m < (float)SOUND_LOUDEST);
    m = loud ? (float)SOUND_LOUDEST : m;
    sincosf(phase, &s, &c);
    return make_float2(loud ? 0.0f : m * (dre * c + dim * s), m * (dim * c - dre * s));
}

/* The bins of a thread of fft_some, all of them asked for at once. */
template <typename T, int LOG2> struct MyBins {
    enum { F = (1 << LOG2) / 2 + 1, STEP = (1 << LOG2) / 16, COUNT = 9 };
    float log_magnitude[COUNT], phase[COUNT];
    __device__ __forceinline__ MyBins(const T *row, const float *prior, int t)
    {
#pragma unroll
        for (int r = 0; r < COUNT; r++) {
            int i = min(t + r * STEP, F - 1);
            log_magnitude[r] = to_float(row[i]) + prior[i];
            phase[r] = to_float(row[F + i]);
        }
    }
};

/* A block has several frames of 2^LOG2 points, counted over all items. frames [all, n]. */
template <typename T, int LOG2>
__global__ void __launch_bounds__(FFT_THREADS)
    wave_some_kernel(float *frames, const T *spectrum, int ld, const float *prior, FramesCuda f, int all)
{
    __shared__ float2 shared[FFT_ROOM];
    constexpr int N = 1 << LOG2, THREADS_EACH = N / 16, F = N / 2 + 1;
    const int g = threadIdx.x / THREADS_EACH, t = threadIdx.x % THREADS_EACH;
    const int64_t frame = (int64_t)blockIdx.x * (FFT_THREADS / THREADS_EACH) + g,
                  at = frame < all ? frame : all - 1; /* the last block repeats the last frame */
    const MyBins<T, LOG2> bins(spectrum + at * ld, prior + at * F, t);
    fft_some<LOG2, -1>(
        shared + g * (N + N / 16), t, f.turn,
        [&](int i) {
            const int r = (i - t) / THREADS_EACH, edge = i == 0 || i == N / 2;
            float2 x = {0.0f, 0.0f};
            if (i < F)
                x = bin_of(bins.log_magnitude[r], bins.phase[r]);
            return make_float2(edge ? x.x : 2.0f * x.x, edge ? 0.0f : 2.0f * x.y);
        },
        [&](int i, float2 x) { frames[at * N + i] = x.x * f.window[i] / (float)N; });
}

/* The same for any number of points: a block has a frame. */
template <typename T>
__global__ void __launch_bounds__(TRANSFORM_MOST)
    wave_any_kernel(float *frames, const T *spectrum, int ld, const float *prior, FramesCuda f)
{
    SHARED_BYTES(shared);
    int F = f.n / 2 + 1;
    int64_t at = blockIdx.x;
    const T *row = spectrum + at * ld;
    float2 *z = (float2 *)shared;
    for (int i = threadIdx.x; i < f.n; i += blockDim.x) {
        float2 x = {0.0f, 0.0f};
        if (i < F) {
            int edge = i == 0 || i == f.n / 2;
            x = bin_of(to_float(row[i]) + prior[at * F + i], to_float(row[F + i]));
            x = edge ? make_float2(x.x, 0.0f) : make_float2(2.0f * x.x, 2.0f * x.y);
        }
        z[i] = x;
    }
    z = transform(z, z + f.n, f, -1.0f);
    for (int i = threadIdx.x; i < f.n; i += blockDim.x)
        frames[at * f.n + i] = z[i].x * f.window[i] / (float)f.n;
}

/* blockIdx.y: the item. */
static __global__ void __launch_bounds__(THREADS)
    wave_sum_kernel(float *wave, const float *frames, FramesCuda f, int T)
{
    int s = blockIdx.x * THREADS + threadIdx.x, samples = (T - 1) * f.hop;
    if (s < samples)
        wave[(int64_t)blockIdx.y * samples + s] =
            sum_frames(frames + (int64_t)blockIdx.y * T * f.n, f, T, s) / overlap(f, T, s);
}

/* scaled = dwave, divided by the windows over each sample. blockIdx.y: the item. */
static __global__ void __launch_bounds__(THREADS)
    wave_share_kernel(float *scaled, const float *dwave, FramesCuda f, int T)
{
    int s = blockIdx.x * THREADS + threadIdx.x, samples = (T - 1) * f.hop;
    int64_t at = (int64_t)blockIdx.y * samples + s;
    if (s < samples)
        scaled[at] = dwave[at] / overlap(f, T, s);
}

/* The gradients of bin i of a row of the spectrum, x being that of the transformed gradient of the frame. */
template <typename T>
__device__ __forceinline__ void put_gradient(T *drow, int n, int i, float log_magnitude, float phase,
                                             float2 x)
{
    int edge = i == 0 || i == n / 2;
    float scale = (edge ? 1.0f : 2.0f) / (float)n;
    float2 d = bin_gradient(log_magnitude, phase, x.x * scale, edge ? 0.0f : x.y * scale);
    drow[i] = from_float<T>(d.x);
    drow[n / 2 + 1 + i] = from_float<T>(d.y);
}

/* As wave_some_kernel; `frames` of an item. */
template <typename T, int LOG2>
__global__ void __launch_bounds__(FFT_THREADS)
    wave_some_backward_kernel(T *dspectrum, const float *scaled, const T *spectrum, int ld,
                              const float *prior, FramesCuda f, int frames, int all)
{
    __shared__ float2 shared[FFT_ROOM];
    constexpr int N = 1 << LOG2, THREADS_EACH = N / 16;
    const int g = threadIdx.x / THREADS_EACH, t = threadIdx.x % THREADS_EACH, samples = (frames - 1) * f.hop;
    const int frame = (int)blockIdx.x * (FFT_THREADS / THREADS_EACH) + g, at = frame < all ? frame : all - 1,
              start = at % frames * f.hop - N / 2;
    const int64_t row = (int64_t)at * ld;
    const MyBins<T, LOG2> bins(spectrum + row, prior + (int64_t)at * (N / 2 + 1), t);
    float2 *z = shared + g * (N + N / 16);
    scaled += (int64_t)(at / frames) * samples;
    fft_some<LOG2, 1>(
        z, t, f.turn,
        [&](int i) {
            int s = start + i, inside = s >= 0 && s < samples;
            float x = f.window[i] * scaled[inside ? s : 0];
            return make_float2(inside ? x : 0.0f, 0.0f);
        },
        [&](int i, float2 x) { z[fft_at(i)] = x; });
    __syncthreads();
#pragma unroll
    for (int r = 0; r < 9; r++)
        if (r < 8 || t == 0)
            put_gradient(dspectrum + row, N, t + r * THREADS_EACH, bins.log_magnitude[r], bins.phase[r],
                         z[fft_at(t + r * THREADS_EACH)]);
    for (int i = N + 2 + t; i < ld; i += THREADS_EACH)
        dspectrum[row + i] = from_float<T>(0.0f);
}

template <typename T>
__global__ void __launch_bounds__(TRANSFORM_MOST)
    wave_any_backward_kernel(T *dspectrum, const float *scaled, const T *spectrum, int ld, const float *prior,
                             FramesCuda f, int frames)
{
    SHARED_BYTES(shared);
    const int samples = (frames - 1) * f.hop;
    const int64_t at = blockIdx.x, row = at * ld;
    float2 *z = (float2 *)shared;
    scaled += at / frames * samples;
    for (int i = threadIdx.x; i < f.n; i += blockDim.x) {
        int s = (int)(at % frames) * f.hop + i - f.n / 2;
        z[i] = make_float2(s >= 0 && s < samples ? f.window[i] * scaled[s] : 0.0f, 0.0f);
    }
    z = transform(z, z + f.n, f, 1.0f);
    for (int i = threadIdx.x, F = f.n / 2 + 1; i < F; i += blockDim.x)
        put_gradient(dspectrum + row, f.n, i, to_float(spectrum[row + i]) + prior[at * F + i],
                     to_float(spectrum[row + F + i]), z[i]);
    for (int i = f.n + 2 + threadIdx.x; i < ld; i += blockDim.x)
        dspectrum[row + i] = from_float<T>(0.0f);
}

/* Calls f with the logarithm of the points as a constant, for what fft_some takes. */
template <typename F> static void with_points(int log2, F f)
{
    switch (log2) {
    case 8:
        return f(std::integral_constant<int, 8>());
    case 9:
        return f(std::integral_constant<int, 9>());
    case 10:
        return f(std::integral_constant<int, 10>());
    default:
        return f(std::integral_constant<int, 11>());
    }
}

static void sound_tables(OpsContext *c, void *tables, int n, int window)
{
    CudaOps *o = ops_enter(c);
    LAUNCH(o, "tables of sound", (unsigned)divide_up(n, THREADS), THREADS, 0, tables_kernel, (float *)tables,
           n, window);
}

/* As many items as the workspace has room for, `row` numbers each. */
static int items_at_once(OpsContext *c, int64_t row, int B)
{
    int items = at_most((int64_t)(ops_scratch_bytes(c) / sizeof(float)) / row, at_most(B, 65535));
    assert(items >= 1 || B == 0);
    return items;
}

template <typename T>
static void wave_forward(OpsContext *c, void *wave, const void *spectrum, int ld, const float *prior,
                         const SoundFrames *shape, int B, int frames)
{
    CudaOps *o = ops_enter(c);
    FramesCuda f = frames_cuda(shape);
    assert(frames >= 2 && ld >= f.n + 2);
    size_t shared = 2 * sizeof(float2) * (size_t)f.n;
    int64_t samples = (int64_t)(frames - 1) * f.hop;
    int items = items_at_once(c, (int64_t)frames * f.n, B);
    float *scratch = (float *)ops_scratch(c);
    for (int b = 0; b < B; b += items) {
        int n = B - b < items ? B - b : items, all = n * frames;
        dim3 sums((unsigned)divide_up(samples, THREADS), (unsigned)n);
        const T *from = (const T *)spectrum + (int64_t)b * frames * ld;
        const float *guess = prior + (int64_t)b * frames * (f.n / 2 + 1);
        if (fft_takes(&f)) {
            with_points(f.log2, [&](auto log2) {
                auto kernel = wave_some_kernel<T, decltype(log2)::value>;
                LAUNCH(o, "frames of sound", (unsigned)divide_up(all, fft_frames(&f)), FFT_THREADS, 0, kernel,
                       scratch, from, ld, guess, f, all);
            });
        } else {
            allow_shared(o, wave_any_kernel<T>, shared);
            LAUNCH(o, "frames of sound", (unsigned)all, transform_threads(f.n), shared, wave_any_kernel<T>,
                   scratch, from, ld, guess, f);
        }
        LAUNCH(o, "sum of frames", sums, THREADS, 0, wave_sum_kernel, (float *)wave + b * samples, scratch, f,
               frames);
    }
}

template <typename T>
static void wave_backward(OpsContext *c, void *dspectrum, const void *dwave, const void *spectrum, int ld,
                          const float *prior, const SoundFrames *shape, int B, int frames)
{
    CudaOps *o = ops_enter(c);
    FramesCuda f = frames_cuda(shape);
    assert(frames >= 2 && ld >= f.n + 2);
    size_t shared = 2 * sizeof(float2) * (size_t)f.n;
    int64_t samples = (int64_t)(frames - 1) * f.hop;
    int items = items_at_once(c, samples, B);
    float *scratch = (float *)ops_scratch(c);
    for (int b = 0; b < B; b += items) {
        int n = B - b < items ? B - b : items, all = n * frames;
        dim3 shares((unsigned)divide_up(samples, THREADS), (unsigned)n);
        int64_t row = (int64_t)b * frames * ld;
        const float *guess = prior + (int64_t)b * frames * (f.n / 2 + 1);
        LAUNCH(o, "sound backward", shares, THREADS, 0, wave_share_kernel, scratch,
               (const float *)dwave + b * samples, f, frames);
        if (fft_takes(&f)) {
            with_points(f.log2, [&](auto log2) {
                auto kernel = wave_some_backward_kernel<T, decltype(log2)::value>;
                LAUNCH(o, "sound backward", (unsigned)divide_up(all, fft_frames(&f)), FFT_THREADS, 0, kernel,
                       (T *)dspectrum + row, scratch, (const T *)spectrum + row, ld, guess, f, frames, all);
            });
        } else {
            allow_shared(o, wave_any_backward_kernel<T>, shared);
            LAUNCH(o, "sound backward", (unsigned)all, transform_threads(f.n), shared,
                   wave_any_backward_kernel<T>, (T *)dspectrum + row, scratch, (const T *)spectrum + row, ld,
                   guess, f, frames);
        }
    }
}

/* ---- rounds of Griffin-Lim ---- */

#define TINY 1e-12f /* a magnitude below it has no direction */

__device__ static int mirrored(int i, int n) { return i < 0 ? -i : i >= n ? 2 * (n - 1) - i : i; }

__device__ static float size_of(float2 x) { return hypotf(x.x, x.y); }

/* sums, cover [n / 2 + 1]: what every magnitude of z should be multiplied by, times the sum of its weights,
 * and that sum. ratio [count]. Bands that are not neighbours do not overlap. */
__device__ static void want_bands(float *sums, float *cover, float *ratio, const float2 *z, const float *mel,
                                  const SoundBands &bands, int n)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = (int)blockDim.x / 32;
    for (int i = threadIdx.x; i <= n / 2; i += blockDim.x)
        sums[i] = cover[i] = 0.0f;
    for (int b = warp; b < bands.count; b += warps) {
        const float *w = bands.weights + bands.at[b];
        float have = 0.0f;
        for (int i = lane; i < bands.width[b]; i += 32)
            have += w[i] * size_of(z[bands.first[b] + i]);
        have = warp_sum(have);
        float given = mel[b] > logf(bands.floor) + GRIFFIN_LIM_ABOVE_FLOOR
                          ? expf(fminf(mel[b], GRIFFIN_LIM_LOUDEST))
                          : GRIFFIN_LIM_BELOW_FLOOR * bands.floor;
        if (lane == 0)
            ratio[b] = given / (have + TINY);
    }
    for (int parity = 0; parity < 2; parity++) {
        __syncthreads();
        for (int b = 2 * warp + parity; b < bands.count; b += 2 * warps) {
            const float *w = bands.weights + bands.at[b];
            for (int i = lane; i < bands.width[b]; i += 32) {
                sums[bands.first[b] + i] += w[i] * ratio[b];
                cover[bands.first[b] + i] += w[i];
            }
        }
    }
    __syncthreads();
}

/* One round of a frame. blockIdx.x: the frame, blockIdx.y: the item. frames [B, T, n], previous [B, T, F]. */
static __global__ void __launch_bounds__(TRANSFORM_MOST)
    round_kernel(float *frames, float2 *previous, const float *wave, const float *mel, FramesCuda f,
                 SoundBands bands, float momentum)
{
    SHARED_BYTES(shared);
    int n = f.n, F = n / 2 + 1, samples = ((int)gridDim.x - 1) * f.hop;
    int64_t at = (int64_t)blockIdx.y * gridDim.x + blockIdx.x;
    float2 *z = (float2 *)shared, *start = z, *g;
    float *sums = (float *)(z + 2 * n), *cover = sums + F, *ratio = cover + F;
    wave += (int64_t)blockIdx.y * samples;
    previous += at * F;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        int s = mirrored((int)blockIdx.x * f.hop + i - n / 2, samples);
        z[i] = make_float2(wave[s] * f.window[i], 0.0f);
    }
    z = transform(z, z + n, f, 1.0f);
    g = z == start ? start + n : start;
    want_bands(sums, cover, ratio, z, mel + at * bands.count, bands, n);
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        float2 x = {0.0f, 0.0f};
        if (i < F) {
            float2 d = z[i];
            if (momentum > 0.0f) {
                d.x -= momentum * previous[i].x;
                d.y -= momentum * previous[i].y;
            }
            previous[i] = z[i];
            float size = size_of(d), factor = cover[i] > 0.0f ? sums[i] / cover[i] : 1.0f,
                  scale = size > TINY ? size_of(z[i]) * factor / size : 0.0f;
            /* The other half of the spectrum is the mirror image of this one. */
            x = i == 0 || i == n / 2 ? make_float2(d.x * scale, 0.0f)
                                     : make_float2(2.0f * d.x * scale, 2.0f * d.y * scale);
        }
        g[i] = x;
    }
    g = transform(g, z, f, -1.0f);
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        frames[at * n + i] = g[i].x * f.window[i] / (float)n;
}

static uint64_t sound_refine_bytes(int B, int T, int n)
{
    return (uint64_t)B * (uint64_t)T * ((uint64_t)n * sizeof(float) + ((uint64_t)n / 2 + 1) * sizeof(float2));
}

static void sound_refine(OpsContext *c, void *wave, void *room, const float *mel, const SoundFrames *shape,
                         const SoundBands *bands, int B, int T, int rounds)
{
    CudaOps *o = ops_enter(c);
    FramesCuda f = frames_cuda(shape);
    int samples = (T - 1) * f.hop;
    assert(samples > f.n / 2 && B >= 1 && B <= 65535);
    size_t shared =
        2 * sizeof(float2) * (size_t)f.n + sizeof(float) * (2 * ((size_t)f.n / 2 + 1) + (size_t)bands->count);
    allow_shared(o, round_kernel, shared);
    float2 *previous = (float2 *)room;
    float *frames = (float *)(previous + (int64_t)B * T * (f.n / 2 + 1));
    dim3 grid((unsigned)T, (unsigned)B), sums((unsigned)divide_up(samples, THREADS), (unsigned)B);
    for (int i = 0; i < rounds; i++) {
        LAUNCH(o, "round of frames", grid, transform_threads(f.n), shared, round_kernel, frames, previous,
               (const float *)wave, mel, f, *bands, i ? (float)GRIFFIN_LIM_SHARE : 0.0f);
        LAUNCH(o, "sum of frames", sums, THREADS, 0, wave_sum_kernel, (float *)wave, frames, f, T);
    }
}

template <typename T> void sound_fill(Ops *ops)
{
    ops->scale_frames = scale_frames<T>;
    ops->log_spread = log_spread;
    ops->sound_tables = sound_tables;
    ops->wave_forward = wave_forward<T>;
    ops->wave_backward = wave_backward<T>;
    ops->sound_refine = sound_refine;
    ops->sound_refine_bytes = sound_refine_bytes;
}

template void sound_fill<float>(Ops *ops);
template void sound_fill<bf16>(Ops *ops);
