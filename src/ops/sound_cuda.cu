/* sound_cuda.cu - from spectra to sound and back. A block transforms one frame in shared memory and leaves it
 * in the workspace; a second kernel adds the frames up, sample by sample and in their order. */
#include "ops/ops_cuda.h"

#define THREADS 256
#define MOST_THREADS 512 /* of a block that transforms */
#define MOST_POINTS 4096
#define TINY 1e-12f /* a magnitude below it has no direction */

typedef struct FramesCuda {
    int n, hop, log2;
    const float2 *turn; /* [n / 2] exp(-2 pi i k / n) */
    const float *window;
} FramesCuda;

static FramesCuda frames_cuda(const SoundFrames *f)
{
    assert(f->n >= 4 && f->n <= MOST_POINTS && (f->n & (f->n - 1)) == 0 && f->hop >= 1 && f->hop <= f->n / 2);
    FramesCuda r = {f->n, f->hop, 0, (const float2 *)f->tables, (const float *)f->tables + f->n};
    while (1 << r.log2 < f->n)
        r.log2++;
    return r;
}

/* A thread for each part of a pass, but whole warps, and not too few for the bands. */
static unsigned transform_threads(int n)
{
    int threads = n / 4;
    return (unsigned)(threads < 64 ? 64 : threads > MOST_THREADS ? MOST_THREADS : threads);
}

static __global__ void tables_kernel(float *tables, int n)
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
    tables[n + k] = (float)(0.5 - 0.5 * c);
}

__device__ static float2 add2(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }
__device__ static float2 sub2(float2 a, float2 b) { return make_float2(a.x - b.x, a.y - b.y); }
__device__ static float2 mul2(float2 a, float2 b)
{
    return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

/* Transforms z [n], with other [n] as scratch (Stockham's order, radix 4, and 2 once where n is no power of
 * four); returns which of the two holds the result. sign 1: exp(-i ...), -1: exp(+i ...). Not scaled. All
 * threads of the block; ends with a barrier. */
__device__ static float2 *transform(float2 *z, float2 *other, const FramesCuda &f, float sign)
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

/* The first frame that reaches a position (which may be before the first or past the last sample). */
__device__ static int first_frame(const FramesCuda &f, int position)
{
    int from = position - f.n / 2 + 1;
    return from <= 0 ? 0 : (from + f.hop - 1) / f.hop;
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

/* The sum of all frames [T, n] at a position. */
__device__ static float sum_frames(const float *frames, const FramesCuda &f, int T, int position)
{
    float sum = 0.0f;
    for (int t = first_frame(f, position); t < T && t * f.hop <= position + f.n / 2; t++) {
        int k = position + f.n / 2 - t * f.hop;
        if (k >= 0 && k < f.n)
            sum += frames[(int64_t)t * f.n + k];
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

/* blockIdx.x: the frame, blockIdx.y: the item. frames [B, T, n]. */
template <typename T>
__global__ void __launch_bounds__(MOST_THREADS)
    wave_frames_kernel(float *frames, const T *spectrum, int ld, const float *prior, FramesCuda f)
{
    SHARED_BYTES(shared);
    int F = f.n / 2 + 1;
    int64_t at = (int64_t)blockIdx.y * gridDim.x + blockIdx.x;
    const T *row = spectrum + at * ld;
    float2 *z = (float2 *)shared;
    for (int i = threadIdx.x; i < f.n; i += blockDim.x) {
        float2 x = {0.0f, 0.0f};
        if (i < F) {
            int edge = i == 0 || i == f.n / 2;
            float m = fminf(expf(to_float(row[i]) + prior[at * F + i]), (float)SOUND_LOUDEST), c, s;
            sincosf(to_float(row[F + i]), &s, &c);
            x = edge ? make_float2(m * c, 0.0f) : make_float2(2.0f * m * c, 2.0f * m * s);
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

/* blockIdx.x: the frame, blockIdx.y: the item. */
template <typename T>
__global__ void __launch_bounds__(MOST_THREADS)
    wave_backward_kernel(T *dspectrum, const float *dwave, const T *spectrum, int ld, const float *prior,
                         FramesCuda f)
{
    SHARED_BYTES(shared);
    int F = f.n / 2 + 1, frames = gridDim.x, samples = (frames - 1) * f.hop;
    int64_t at = (int64_t)blockIdx.y * frames + blockIdx.x;
    const T *row = spectrum + at * ld;
    float2 *z = (float2 *)shared;
    for (int i = threadIdx.x; i < f.n; i += blockDim.x) {
        int s = (int)blockIdx.x * f.hop + i - f.n / 2;
        float g = 0.0f;
        if (s >= 0 && s < samples)
            g = f.window[i] * dwave[(int64_t)blockIdx.y * samples + s] / overlap(f, frames, s);
        z[i] = make_float2(g, 0.0f);
    }
    z = transform(z, z + f.n, f, 1.0f);
    for (int i = threadIdx.x; i < F; i += blockDim.x) {
        int edge = i == 0 || i == f.n / 2;
        float m = expf(to_float(row[i]) + prior[at * F + i]), c, s, scale = (edge ? 1.0f : 2.0f) / (float)f.n;
        int loud = !(m < (float)SOUND_LOUDEST);
        m = loud ? (float)SOUND_LOUDEST : m;
        sincosf(to_float(row[F + i]), &s, &c);
        float dre = z[i].x * scale, dim = edge ? 0.0f : z[i].y * scale;
        dspectrum[at * ld + i] = from_float<T>(loud ? 0.0f : m * (dre * c + dim * s));
        dspectrum[at * ld + F + i] = from_float<T>(m * (dim * c - dre * s));
    }
    for (int i = 2 * F + threadIdx.x; i < ld; i += blockDim.x)
        dspectrum[at * ld + i] = from_float<T>(0.0f);
}

static void sound_tables(OpsContext *c, void *tables, int n)
{
    CudaOps *o = ops_enter(c);
    LAUNCH(o, "tables of sound", (unsigned)divide_up(n, THREADS), THREADS, 0, tables_kernel, (float *)tables,
           n);
}

template <typename T>
static void wave_forward(OpsContext *c, void *wave, const void *spectrum, int ld, const float *prior,
                         const SoundFrames *shape, int B, int frames)
{
    CudaOps *o = ops_enter(c);
    FramesCuda f = frames_cuda(shape);
    assert(frames >= 2 && ld >= f.n + 2);
    size_t shared = 2 * sizeof(float2) * (size_t)f.n;
    allow_shared(o, wave_frames_kernel<T>, shared);
    int64_t row = (int64_t)frames * f.n, samples = (int64_t)(frames - 1) * f.hop;
    int items = at_most((int64_t)(ops_scratch_bytes(c) / sizeof(float)) / row, 65535);
    assert(items >= 1);
    for (int b = 0; b < B; b += items) {
        int n = B - b < items ? B - b : items;
        dim3 grid((unsigned)frames, (unsigned)n), sums((unsigned)divide_up(samples, THREADS), (unsigned)n);
        float *scratch = (float *)ops_scratch(c);
        LAUNCH(o, "frames of sound", grid, transform_threads(f.n), shared, wave_frames_kernel<T>, scratch,
               (const T *)spectrum + (int64_t)b * frames * ld, ld,
               prior + (int64_t)b * frames * (f.n / 2 + 1), f);
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
    assert(frames >= 2 && ld >= f.n + 2 && B <= 65535);
    if (B == 0)
        return;
    size_t shared = 2 * sizeof(float2) * (size_t)f.n;
    allow_shared(o, wave_backward_kernel<T>, shared);
    LAUNCH(o, "sound backward", dim3((unsigned)frames, (unsigned)B), transform_threads(f.n), shared,
           wave_backward_kernel<T>, (T *)dspectrum, (const float *)dwave, (const T *)spectrum, ld, prior, f);
}

/* ---- spectral loss ---- */

__device__ static int mirrored(int i, int n) { return i < 0 ? -i : i >= n ? 2 * (n - 1) - i : i; }

/* Bin i of the wave's spectrum, of a transform with the wave in the real and the target in the imaginary
 * part; and of the target's. */
__device__ static float2 ours_at(const float2 *z, int n, int i)
{
    float2 a = z[i], m = z[(n - i) & (n - 1)];
    return make_float2((a.x + m.x) / 2, (a.y - m.y) / 2);
}
__device__ static float2 theirs_at(const float2 *z, int n, int i)
{
    float2 a = z[i], m = z[(n - i) & (n - 1)];
    return make_float2((a.y + m.y) / 2, (m.x - a.x) / 2);
}
__device__ static float size_of(float2 x) { return hypotf(x.x, x.y); }

/* The gradient of the wave's spectrum, for every second band from `from` on: those do not overlap. A warp has
 * a band. */
__device__ static void spread_bands(float2 *g, const float2 *z, const float *slope, const SoundBands &bands,
                                    int n, int from)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int b = from + 2 * warp; b < bands.count; b += 2 * ((int)blockDim.x / 32)) {
        const float *weight = bands.weights + bands.at[b];
        for (int i = lane; i < bands.width[b]; i += 32) {
            int bin = bands.first[b] + i;
            float2 x = ours_at(z, n, bin);
            float size = size_of(x), d = size > TINY ? slope[b] * weight[i] / size : 0.0f;
            g[bin].x += d * x.x;
            g[bin].y += d * x.y;
        }
    }
    __syncthreads();
}

/* blockIdx.x: the frame, blockIdx.y: the item. losses [B, frames]; gradients [B, frames, n], NULL: none. */
static __global__ void __launch_bounds__(MOST_THREADS)
    bands_kernel(float *losses, float *gradients, const float *wave, const float *target, const int32_t *len,
                 FramesCuda f, SoundBands bands, int samples, float weight)
{
    SHARED_BYTES(shared);
    __shared__ float sums[32];
    int64_t at = (int64_t)blockIdx.y * gridDim.x + blockIdx.x;
    if (len && len[blockIdx.y] == 0) {
        if (threadIdx.x == 0)
            losses[at] = 0.0f;
        for (int i = threadIdx.x; gradients && i < f.n; i += blockDim.x)
            gradients[at * f.n + i] = 0.0f;
        return;
    }
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, n = f.n;
    float2 *z = (float2 *)shared, *g;
    float *slope = (float *)(z + 2 * n);
    wave += (int64_t)blockIdx.y * samples;
    target += (int64_t)blockIdx.y * samples;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        int s = mirrored((int)blockIdx.x * f.hop + i - n / 2, samples);
        z[i] = make_float2(wave[s] * f.window[i], target[s] * f.window[i]);
    }
    float2 *start = z;
    z = transform(z, z + n, f, 1.0f);
    g = z == start ? start + n : start;
    float loss = 0.0f;
    for (int b = warp; b < bands.count; b += (int)blockDim.x / 32) {
        const float *w = bands.weights + bands.at[b];
        float ours = 0.0f, theirs = 0.0f;
        for (int i = lane; i < bands.width[b]; i += 32) {
            ours += w[i] * size_of(ours_at(z, n, bands.first[b] + i));
            theirs += w[i] * size_of(theirs_at(z, n, bands.first[b] + i));
        }
        ours = warp_sum(ours);
        theirs = warp_sum(theirs);
        float difference = logf(fmaxf(ours, bands.floor)) - logf(fmaxf(theirs, bands.floor));
        if (lane == 0) {
            loss += fabsf(difference);
            slope[b] = ours > bands.floor && difference != 0.0f ? copysignf(1.0f, difference) / ours : 0.0f;
        }
    }
    loss = block_sum(loss, sums);
    if (threadIdx.x == 0)
        losses[at] = loss;
    if (!gradients)
        return;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        g[i] = make_float2(0.0f, 0.0f);
    __syncthreads();
    spread_bands(g, z, slope, bands, n, 0);
    spread_bands(g, z, slope, bands, n, 1);
    g = transform(g, z, f, -1.0f);
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        gradients[at * n + i] = weight * g[i].x * f.window[i];
}

/* dwave += the frames' gradients, at the sample and where it was mirrored to. blockIdx.y: the item. */
static __global__ void __launch_bounds__(THREADS)
    bands_sum_kernel(float *dwave, const float *gradients, FramesCuda f, int frames, int samples)
{
    int s = blockIdx.x * THREADS + threadIdx.x;
    if (s >= samples)
        return;
    gradients += (int64_t)blockIdx.y * frames * f.n;
    float sum = sum_frames(gradients, f, frames, s);
    if (s > 0 && s <= f.n / 2)
        sum += sum_frames(gradients, f, frames, -s);
    if (s < samples - 1 && 2 * (samples - 1) - s < (frames - 1) * f.hop + f.n / 2)
        sum += sum_frames(gradients, f, frames, 2 * (samples - 1) - s);
    dwave[(int64_t)blockIdx.y * samples + s] += sum;
}

/* One block: value += weight * the sum of all losses. */
static __global__ void __launch_bounds__(THREADS)
    losses_kernel(float *value, const float *losses, int64_t n, float weight)
{
    __shared__ float sums[32];
    float sum = 0.0f;
    for (int64_t i = threadIdx.x; i < n; i += THREADS)
        sum += losses[i];
    sum = block_sum(sum, sums);
    if (threadIdx.x == 0)
        *value += weight * sum;
}

static void spectral_loss(OpsContext *c, void *value, void *dwave, const void *wave, const float *target,
                          const int32_t *len, const SoundFrames *shape, const SoundBands *bands, int B,
                          int samples, float weight)
{
    CudaOps *o = ops_enter(c);
    FramesCuda f = frames_cuda(shape);
    assert(samples > f.n / 2);
    int frames = samples / f.hop + 1;
    size_t shared = 2 * sizeof(float2) * (size_t)f.n + sizeof(float) * (size_t)bands->count;
    allow_shared(o, bands_kernel, shared);
    int64_t row = (int64_t)frames * (1 + f.n);
    int items = at_most((int64_t)(ops_scratch_bytes(c) / sizeof(float)) / row, 65535);
    assert(items >= 1);
    for (int b = 0; b < B; b += items) {
        int n = B - b < items ? B - b : items;
        float *losses = (float *)ops_scratch(c), *gradients = losses + (int64_t)n * frames;
        dim3 grid((unsigned)frames, (unsigned)n), sums((unsigned)divide_up(samples, THREADS), (unsigned)n);
        LAUNCH(o, "spectral loss", grid, transform_threads(f.n), shared, bands_kernel, losses,
               dwave ? gradients : NULL, (const float *)wave + (int64_t)b * samples,
               target + (int64_t)b * samples, len ? len + b : NULL, f, *bands, samples, weight);
        LAUNCH(o, "sum of losses", 1, THREADS, 0, losses_kernel, (float *)value, losses, (int64_t)n * frames,
               weight);
        if (dwave)
            LAUNCH(o, "spectral gradient", sums, THREADS, 0, bands_sum_kernel,
                   (float *)dwave + (int64_t)b * samples, gradients, f, frames, samples);
    }
}

template <typename T> void sound_fill(Ops *ops)
{
    ops->scale_frames = scale_frames<T>;
    ops->log_spread = log_spread;
    ops->sound_tables = sound_tables;
    ops->wave_forward = wave_forward<T>;
    ops->wave_backward = wave_backward<T>;
    ops->spectral_loss = spectral_loss;
}

template void sound_fill<float>(Ops *ops);
template void sound_fill<bf16>(Ops *ops);
