/* spectral_cuda.cu - the spectral loss: all resolutions in one launch. A block transforms its frames, of the
 * wave and of the target at once, in shared memory, compares their bands, and leaves the gradients of the
 * frames in the workspace; a second kernel adds them up, sample by sample and in their order. And the bands
 * themselves, for critics. */
#include "ops/cuda/fft_cuda.h"

#define THREADS 256
#define TINY 1e-12f /* a magnitude below it has no direction */
#define LANES 4     /* of a band */

/* One resolution. */
typedef struct ScaleCuda {
    FramesCuda f;
    SoundBands bands;
    float weight;
    const void *dbands;   /* [items, frames, bands] */
    float more;           /* of dbands, in parts of the weight */
    int frames;           /* of an item */
    int first;            /* block of the launch that has all resolutions; -1: another kernel does it */
    int losses_at, count; /* its sums, a block's each */
    int64_t gradients_at; /* [items, frames, n] */
} ScaleCuda;

typedef struct ScalesCuda {
    int count, samples, losses;
    ScaleCuda s[SOUND_SCALES];
} ScalesCuda;

__device__ static int mirrored(int i, int n) { return i < 0 ? -i : i >= n ? 2 * (n - 1) - i : i; }

/* A bin of the wave's spectrum, of a transform with the wave in the real and the target in the imaginary
 * part, and of the target's: from the bin and the one that mirrors it. */
__device__ __forceinline__ float2 ours_of(float2 a, float2 m)
{
    return make_float2((a.x + m.x) / 2, (a.y - m.y) / 2);
}
__device__ __forceinline__ float2 theirs_of(float2 a, float2 m)
{
    return make_float2((a.y + m.y) / 2, (m.x - a.x) / 2);
}
__device__ __forceinline__ float size_of(float2 x)
{
    float square = x.x * x.x + x.y * x.y;
    return square > 0.0f ? square * rsqrtf(square) : 0.0f;
}

/* How far a band of the wave is from that of the target; *slope: what one more of the wave's changes. */
__device__ __forceinline__ float compare(float ours, float theirs, float floor, float *slope)
{
    float difference = logf(fmaxf(ours, floor)) - logf(fmaxf(theirs, floor));
    *slope = ours > floor && difference != 0.0f ? __fdividef(copysignf(1.0f, difference), ours) : 0.0f;
    return fabsf(difference);
}

/* What dbands adds to a slope; frame: over all items. Bands at the floor, as of frames that do not count,
 * have none. */
template <typename T>
__device__ __forceinline__ float more_slope(const ScaleCuda &scale, int frame, int band, float ours)
{
    if (!scale.dbands || !(ours > scale.bands.floor))
        return 0.0f;
    return __fdividef(
        scale.more * to_float(((const T *)scale.dbands)[(int64_t)frame * scale.bands.count + band]), ours);
}

__device__ __forceinline__ float lanes_sum(float x)
{
#pragma unroll
    for (int d = LANES / 2; d > 0; d >>= 1)
        x += __shfl_xor_sync(0xFFFFFFFFu, x, d, LANES);
    return x;
}

/* ---- 256 to 2048 points ---- */

/* Shared memory of a block: points; magnitudes of both, and what one more of them changes; bands. */
static size_t scale_shared(const ScaleCuda *s)
{
    int frames = fft_frames(&s->f);
    return sizeof(float2) * FFT_ROOM + sizeof(float) * (size_t)(frames * 3 * (s->f.n / 2 + 1)) +
           sizeof(int) * (size_t)((3 + frames) * s->bands.count);
}

/* A block of one resolution, as a thread of it sees it, which has points, bins and bands of one frame. */
template <int LOG2> struct Spectrum {
    enum { N = 1 << LOG2, T = N / 16, G = FFT_THREADS / T, BINS = N / 2 + 1, SUBS = T / LANES };
    int t;                         /* of the frame's threads */
    int frame, item, start;        /* start: of the frame, in samples of its item */
    bool inside;                   /* frames behind the last one are none */
    float2 *z;                     /* points */
    float *ours, *theirs, *change; /* [BINS] */
    int *place;                    /* [bands][first, width, at] */
    float *slopes;                 /* [bands] */

    /* `block` counts groups of frames over all items. */
    __device__ __forceinline__ Spectrum(const ScaleCuda &scale, int block, int items, unsigned char *shared)
    {
        const int g = threadIdx.x / T, all = items * scale.frames;
        t = threadIdx.x % T;
        frame = block * G + g;
        inside = frame < all;
        item = inside ? frame / scale.frames : 0;
        start = inside ? frame % scale.frames * scale.f.hop - N / 2 : -N / 2;
        float *bins = (float *)((float2 *)shared + FFT_ROOM);
        z = (float2 *)shared + g * (N + N / 16);
        ours = bins + g * BINS;
        theirs = ours + G * BINS;
        change = theirs + G * BINS;
        place = (int *)(bins + 3 * G * BINS);
        slopes = (float *)(place + 3 * scale.bands.count) + g * scale.bands.count;
    }
};

__device__ __forceinline__ void fetch_places(int *place, const SoundBands &bands)
{
    for (int b = threadIdx.x; b < bands.count; b += FFT_THREADS) {
        place[3 * b] = bands.first[b];
        place[3 * b + 1] = bands.width[b];
        place[3 * b + 2] = bands.at[b];
    }
}

/* The magnitudes of a transform of both. */
template <int LOG2> __device__ __forceinline__ void magnitudes(const Spectrum<LOG2> &o)
{
#pragma unroll
    for (int r = 0; r < 9; r++) {
        int i = o.t + r * o.T;
        if (r == 8 && o.t > 0)
            break;
        float2 a = o.z[fft_at(i)], m = o.z[fft_at((o.N - i) & (o.N - 1))];
        o.ours[i] = size_of(ours_of(a, m));
        o.theirs[i] = size_of(theirs_of(a, m));
        o.change[i] = 0.0f;
    }
}

/* This thread's share of the loss; what the bands change is left in `change`, of those with odd numbers in
 * `slopes`. Four lanes have a band. Those with even numbers do not overlap, and every lane has either even or
 * odd ones. */
template <typename T, int LOG2>
__device__ __forceinline__ float compare_bands(const Spectrum<LOG2> &o, const ScaleCuda &scale)
{
    const SoundBands &bands = scale.bands;
    static_assert(Spectrum<LOG2>::SUBS % 2 == 0, "lanes of even and odd bands");
    const int lane = o.t % LANES, sub = o.t / LANES, odd = sub % 2;
    float loss = 0.0f;
    for (int b0 = 0; b0 < bands.count; b0 += o.SUBS) {
        const int b = min(b0 + sub, bands.count - 1), first = o.place[3 * b], width = o.place[3 * b + 1];
        const float *weight = bands.weights + o.place[3 * b + 2];
        float a = 0.0f, c = 0.0f, slope;
#pragma unroll 2
        for (int i = lane; i < width; i += LANES) {
            a += weight[i] * o.ours[first + i];
            c += weight[i] * o.theirs[first + i];
        }
        /* Frames that do not count have zeros on both sides. */
        a = lanes_sum(a);
        float apart = compare(a, lanes_sum(c), bands.floor, &slope);
        if (b0 + sub >= bands.count)
            continue;
        slope += more_slope<T>(scale, o.frame, b, a);
        loss += lane == 0 ? apart : 0.0f;
        if (odd)
            o.slopes[b] = slope;
        else
            for (int i = lane; i < width; i += LANES)
                o.change[first + i] = slope * weight[i];
    }
    return loss;
}

/* What the bands with odd numbers change comes on top. */
template <int LOG2>
__device__ __forceinline__ void add_odd_bands(const Spectrum<LOG2> &o, const SoundBands &bands)
{
    const int lane = o.t % LANES, sub = o.t / LANES, odd = sub % 2;
    for (int b = sub; b < bands.count && odd; b += o.SUBS) {
        const float *weight = bands.weights + o.place[3 * b + 2];
        const float slope = o.slopes[b];
        for (int i = lane; i < o.place[3 * b + 1]; i += LANES)
            o.change[o.place[3 * b] + i] += slope * weight[i];
    }
}

/* Nothing is read in a branch, so that all of it is on its way at once. */
template <typename T, int LOG2>
__device__ __forceinline__ void scale_block(float *losses, float *gradients, const float *wave,
                                            const float *target, const int32_t *len, const ScaleCuda &scale,
                                            int samples, int block, int items, unsigned char *shared,
                                            float *sums)
{
    const Spectrum<LOG2> o(scale, block, items, shared);
    const FramesCuda f = scale.f;
    const SoundBands bands = scale.bands;
    const bool counts = o.inside && !(len && len[o.item] == 0);
    const float *w = wave + (int64_t)o.item * samples, *y = target + (int64_t)o.item * samples;
    fetch_places(o.place, bands);
    fft_some<LOG2, 1>(
        o.z, o.t, f.turn,
        [&](int i) {
            int s = mirrored(o.start + i, samples);
            float a = w[s] * f.window[i], b = y[s] * f.window[i];
            return make_float2(counts ? a : 0.0f, counts ? b : 0.0f);
        },
        [&](int i, float2 x) { o.z[fft_at(i)] = x; });
    __syncthreads();
    magnitudes(o);
    __syncthreads();
    float loss = block_sum(compare_bands<T>(o, scale), sums);
    if (threadIdx.x == 0)
        losses[scale.losses_at + block] = scale.weight * loss;
    if (!gradients)
        return;
    add_odd_bands(o, bands);
    __syncthreads();
    float *to = gradients + scale.gradients_at + (int64_t)o.frame * o.N;
    fft_some<LOG2, -1>(
        o.z, o.t, f.turn,
        [&](int i) {
            int k = i < o.BINS ? i : 0;
            float2 x = ours_of(o.z[fft_at(k)], o.z[fft_at((o.N - k) & (o.N - 1))]);
            float size = o.ours[k], d = size > TINY && i < o.BINS ? __fdividef(o.change[k], size) : 0.0f;
            return make_float2(d * x.x, d * x.y);
        },
        [&](int i, float2 x) {
            if (o.inside)
                to[i] = scale.weight * x.x * f.window[i];
        });
}

template <typename T>
static __global__ void __launch_bounds__(FFT_THREADS, 5)
    scales_kernel(float *losses, float *gradients, const float *wave, const float *target, const int32_t *len,
                  const __grid_constant__ ScalesCuda scales, int items)
{
    SHARED_BYTES(shared);
    __shared__ float sums[32];
    int k = 0;
    for (int i = 1; i < scales.count; i++)
        if (scales.s[i].first >= 0 && (int)blockIdx.x >= scales.s[i].first)
            k = i;
    const ScaleCuda &s = scales.s[k];
    const int block = (int)blockIdx.x - s.first;
    switch (s.f.log2) {
    case 8:
        return scale_block<T, 8>(losses, gradients, wave, target, len, s, scales.samples, block, items,
                                 shared, sums);
    case 9:
        return scale_block<T, 9>(losses, gradients, wave, target, len, s, scales.samples, block, items,
                                 shared, sums);
    case 10:
        return scale_block<T, 10>(losses, gradients, wave, target, len, s, scales.samples, block, items,
                                  shared, sums);
    default:
        return scale_block<T, 11>(losses, gradients, wave, target, len, s, scales.samples, block, items,
                                  shared, sums);
    }
}

/* ---- other sizes ---- */

/* The gradient of the wave's spectrum, for every second band from `from` on. A warp has a band. */
__device__ static void spread_bands(float2 *g, const float2 *z, const float *slope, const SoundBands &bands,
                                    int n, int from)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int b = from + 2 * warp; b < bands.count; b += 2 * ((int)blockDim.x / 32)) {
        const float *weight = bands.weights + bands.at[b];
        for (int i = lane; i < bands.width[b]; i += 32) {
            int bin = bands.first[b] + i;
            float2 x = ours_of(z[bin], z[(n - bin) & (n - 1)]);
            float size = size_of(x), d = size > TINY ? slope[b] * weight[i] / size : 0.0f;
            g[bin].x += d * x.x;
            g[bin].y += d * x.y;
        }
    }
    __syncthreads();
}

/* A block has a frame. blockIdx.x: the frame, blockIdx.y: the item. */
template <typename T>
static __global__ void __launch_bounds__(TRANSFORM_MOST)
    scale_kernel(float *losses, float *gradients, const float *wave, const float *target, const int32_t *len,
                 const __grid_constant__ ScaleCuda scale, int samples)
{
    SHARED_BYTES(shared);
    __shared__ float sums[32];
    const FramesCuda &f = scale.f;
    const SoundBands &bands = scale.bands;
    int64_t at = (int64_t)blockIdx.y * gridDim.x + blockIdx.x;
    losses += scale.losses_at;
    if (gradients)
        gradients += scale.gradients_at + at * f.n;
    if (len && len[blockIdx.y] == 0) {
        if (threadIdx.x == 0)
            losses[at] = 0.0f;
        for (int i = threadIdx.x; gradients && i < f.n; i += blockDim.x)
            gradients[i] = 0.0f;
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
        float ours = 0.0f, theirs = 0.0f, change;
        for (int i = lane; i < bands.width[b]; i += 32) {
            float2 a = z[bands.first[b] + i], m = z[(n - bands.first[b] - i) & (n - 1)];
            ours += w[i] * size_of(ours_of(a, m));
            theirs += w[i] * size_of(theirs_of(a, m));
        }
        ours = warp_sum(ours);
        float apart = compare(ours, warp_sum(theirs), bands.floor, &change);
        if (lane == 0) {
            loss += apart;
            slope[b] = change + more_slope<T>(scale, (int)at, b, ours);
        }
    }
    loss = block_sum(loss, sums);
    if (threadIdx.x == 0)
        losses[at] = scale.weight * loss;
    if (!gradients)
        return;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        g[i] = make_float2(0.0f, 0.0f);
    __syncthreads();
    spread_bands(g, z, slope, bands, n, 0);
    spread_bands(g, z, slope, bands, n, 1);
    g = transform(g, z, f, -1.0f);
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        gradients[i] = scale.weight * g[i].x * f.window[i];
}

/* ---- sums ---- */

/* dwave = the frames' gradients of all resolutions, at the sample and where it was mirrored to; one block
 * more adds the losses up. blockIdx.y: the item. */
static __global__ void __launch_bounds__(THREADS)
    scales_sum_kernel(float *value, float *dwave, const float *losses, const float *gradients,
                      const __grid_constant__ ScalesCuda scales)
{
    __shared__ float sums[32];
    const int samples = scales.samples;
    if (blockIdx.x == 0) {
        if (blockIdx.y > 0)
            return;
        float sum = 0.0f;
        for (int i = threadIdx.x; i < scales.losses; i += THREADS)
            sum += losses[i];
        sum = block_sum(sum, sums);
        if (threadIdx.x == 0)
            *value += sum;
        return;
    }
    int s = ((int)blockIdx.x - 1) * THREADS + threadIdx.x;
    if (s >= samples)
        return;
    float sum = 0.0f;
    for (int k = 0; k < scales.count; k++) {
        const FramesCuda &f = scales.s[k].f;
        const int frames = scales.s[k].frames;
        const float *from = gradients + scales.s[k].gradients_at + (int64_t)blockIdx.y * frames * f.n;
        sum += sum_frames(from, f, frames, s);
        if (s > 0 && s <= f.n / 2)
            sum += sum_frames(from, f, frames, -s);
        if (s < samples - 1 && 2 * (samples - 1) - s < (frames - 1) * f.hop + f.n / 2)
            sum += sum_frames(from, f, frames, 2 * (samples - 1) - s);
    }
    dwave[(int64_t)blockIdx.y * samples + s] = sum;
}

/* Where everything lies for this many items; returns the blocks of scales_kernel. */
static int lay_out(ScalesCuda *all, int items)
{
    int blocks = 0;
    int64_t at = 0;
    all->losses = 0;
    for (int i = 0; i < all->count; i++) {
        ScaleCuda *s = &all->s[i];
        int64_t frames = (int64_t)items * s->frames;
        s->count = (int)(fft_takes(&s->f) ? divide_up(frames, fft_frames(&s->f)) : frames);
        s->first = fft_takes(&s->f) ? blocks : -1;
        blocks += fft_takes(&s->f) ? s->count : 0;
        s->losses_at = all->losses;
        all->losses += s->count;
        s->gradients_at = at;
        at += frames * s->f.n;
    }
    return blocks;
}

template <typename T>
static void spectral_loss(OpsContext *c, void *value, void *dwave, const void *wave, const float *target,
                          const int32_t *len, const SoundScale *scales, int count, int B, int samples)
{
    CudaOps *o = ops_enter(c);
    ScalesCuda all = {};
    size_t shared = 0;
    int64_t row = 0; /* numbers of an item in the workspace */
    assert(count <= SOUND_SCALES);
    all.count = count;
    all.samples = samples;
    for (int i = 0; i < count; i++) {
        ScaleCuda *s = &all.s[i];
        assert(samples > scales[i].frames.n / 2);
        s->f = frames_cuda(&scales[i].frames);
        s->bands = scales[i].bands;
        s->weight = scales[i].weight;
        s->more = scales[i].dbands ? scales[i].dbands_scale / s->weight : 0.0f;
        s->frames = samples / s->f.hop + 1;
        row += (int64_t)s->frames * (1 + s->f.n);
        if (fft_takes(&s->f) && scale_shared(s) > shared)
            shared = scale_shared(s);
    }
    int items = at_most((int64_t)(ops_scratch_bytes(c) / sizeof(float) - 64) / row, 65535);
    assert(items >= 1 && (int64_t)items * row < INT32_MAX);
    for (int b = 0; b < B; b += items) {
        int n = B - b < items ? B - b : items, blocks = lay_out(&all, n);
        float *losses = (float *)ops_scratch(c), *gradients = losses + (all.losses + 63) / 64 * 64;
        const float *w = (const float *)wave + (int64_t)b * samples, *y = target + (int64_t)b * samples;
        const int32_t *l = len ? len + b : NULL;
        for (int i = 0; i < count; i++)
            if (scales[i].dbands)
                all.s[i].dbands =
                    (const T *)scales[i].dbands + (int64_t)b * all.s[i].frames * all.s[i].bands.count;
        if (blocks > 0) {
            allow_shared(o, scales_kernel<T>, shared);
            LAUNCH(o, "spectral loss", blocks, FFT_THREADS, shared, scales_kernel<T>, losses,
                   dwave ? gradients : NULL, w, y, l, all, n);
        }
        for (int i = 0; i < count; i++) {
            const ScaleCuda *s = &all.s[i];
            if (s->first >= 0)
                continue;
            size_t room = 2 * sizeof(float2) * (size_t)s->f.n + sizeof(float) * (size_t)s->bands.count;
            allow_shared(o, scale_kernel<T>, room);
            LAUNCH(o, "spectral loss", dim3((unsigned)s->frames, (unsigned)n), transform_threads(s->f.n),
                   room, scale_kernel<T>, losses, dwave ? gradients : NULL, w, y, l, *s, samples);
        }
        dim3 sums(1 + (unsigned)(dwave ? divide_up(samples, THREADS) : 0), dwave ? (unsigned)n : 1);
        LAUNCH(o, "sums of the spectral loss", sums, THREADS, 0, scales_sum_kernel, (float *)value,
               (float *)dwave + (dwave ? (int64_t)b * samples : 0), losses, gradients, all);
    }
}

/* ---- what critics see ---- */

template <typename T, int LOG2>
__device__ __forceinline__ void see_block(T *ours, T *theirs, const float *wave, const float *target,
                                          const int32_t *len, const ScaleCuda &scale, int samples, int items,
                                          float shift, float factor, unsigned char *shared)
{
    const Spectrum<LOG2> o(scale, (int)blockIdx.x, items, shared);
    const FramesCuda f = scale.f;
    const SoundBands bands = scale.bands;
    const bool counts = o.inside && !(len && len[o.item] == 0);
    const float *w = wave + (int64_t)o.item * samples, *y = target + (int64_t)o.item * samples;
    const int lane = o.t % LANES, sub = o.t / LANES;
    fetch_places(o.place, bands);
    fft_some<LOG2, 1>(
        o.z, o.t, f.turn,
        [&](int i) {
            int s = mirrored(o.start + i, samples);
            float a = w[s] * f.window[i], b = y[s] * f.window[i];
            return make_float2(a, b);
        },
        [&](int i, float2 x) { o.z[fft_at(i)] = x; });
    __syncthreads();
    magnitudes(o);
    __syncthreads();
    for (int b0 = 0; b0 < bands.count; b0 += o.SUBS) {
        const int b = min(b0 + sub, bands.count - 1);
        const float *weight = bands.weights + o.place[3 * b + 2];
        float a = 0.0f, c = 0.0f;
        for (int i = lane; i < o.place[3 * b + 1]; i += LANES) {
            a += weight[i] * o.ours[o.place[3 * b] + i];
            c += weight[i] * o.theirs[o.place[3 * b] + i];
        }
        a = lanes_sum(a);
        c = lanes_sum(c);
        if (b0 + sub >= bands.count || !o.inside || lane > 1)
            continue;
        T *to = (lane ? theirs : ours) + (int64_t)o.frame * bands.count + b;
        const float seen = (logf(fmaxf(lane ? c : a, bands.floor)) + shift) * factor;
        *to = from_float<T>(counts ? seen : 0.0f);
    }
}

template <typename T>
static __global__ void __launch_bounds__(FFT_THREADS)
    see_kernel(T *ours, T *theirs, int32_t *rows, const float *wave, const float *target, const int32_t *len,
               const __grid_constant__ ScaleCuda s, int samples, int items, float shift, float factor)
{
    SHARED_BYTES(shared);
    for (int b = threadIdx.x; blockIdx.x == 0 && b < items; b += FFT_THREADS)
        rows[b] = len && len[b] == 0 ? 0 : s.frames;
    switch (s.f.log2) {
    case 8:
        return see_block<T, 8>(ours, theirs, wave, target, len, s, samples, items, shift, factor, shared);
    case 9:
        return see_block<T, 9>(ours, theirs, wave, target, len, s, samples, items, shift, factor, shared);
    case 10:
        return see_block<T, 10>(ours, theirs, wave, target, len, s, samples, items, shift, factor, shared);
    default:
        return see_block<T, 11>(ours, theirs, wave, target, len, s, samples, items, shift, factor, shared);
    }
}

template <typename T>
static void sound_bands(OpsContext *c, void *ours, void *theirs, int32_t *rows, const void *wave,
                        const float *target, const int32_t *len, const SoundScale *scale, int B, int samples,
                        float shift, float factor)
{
    CudaOps *o = ops_enter(c);
    ScaleCuda s = {};
    s.f = frames_cuda(&scale->frames);
    s.bands = scale->bands;
    s.frames = samples / s.f.hop + 1;
    assert(fft_takes(&s.f) && samples > s.f.n / 2 && (int64_t)B * s.frames < INT32_MAX);
    if (B == 0)
        return;
    const size_t shared = scale_shared(&s);
    allow_shared(o, see_kernel<T>, shared);
    LAUNCH(o, "bands of a sound", (unsigned)divide_up((int64_t)B * s.frames, fft_frames(&s.f)), FFT_THREADS,
           shared, see_kernel<T>, (T *)ours, (T *)theirs, rows, (const float *)wave, target, len, s, samples,
           B, shift, factor);
}

template <typename T> void spectral_fill(Ops *ops)
{
    ops->spectral_loss = spectral_loss<T>;
    ops->sound_bands = sound_bands<T>;
}

template void spectral_fill<float>(Ops *ops);
template void spectral_fill<bf16>(Ops *ops);
