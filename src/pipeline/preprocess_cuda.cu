/* preprocess_cuda.cu - the preprocessing on a GPU. Part of libmyxtts_cuda.so; preprocess_host.c is its model,
 * bit by bit. Cache:      numbers_kernel, [level_kernel,] finish_kernel. On the fly: numbers_kernel, mel
 * kernel (gain and normalisation included), or with noise: mel kernel, level_kernel, finish_kernel. Segments:
 * as on the fly, or as from the cache where they bring their mels, and samples_kernel. */
#include <cuda_fp16.h>
#include <stdlib.h>
#include <string.h>

#include "audio/mel_cuda.h"
#include "device/cuda_error.h"
#include "pipeline/preprocess_math.h"
#include "pipeline/preprocess_private.h"

#define ANY_THREADS 128 /* of mel_any_kernel */
#define LEVEL_THREADS 1024
#define FINISH_THREADS 256
#define FINISH_STEPS 4 /* groups of values that a thread finishes */

/* What every kernel is told; by value. */
typedef struct Batch {
    PreprocessArgs a;
    const float *mean, *deviation; /* [bands] */
    uint64_t *sums;                /* [max_rows] of level_kernel */
    int on[AUGMENT_SEED];
    int hop, odd;
} Batch;

typedef struct State {
    int device;
    MelCuda mel;
    Batch batch; /* all but a */
    int is_fast, max_rows;
    size_t any_shared; /* of mel_any_kernel; 0: n_fft is too large for it */
    size_t any_most;
} State;

template <typename T> EXACT T *array(const uint8_t *memory, size_t offset) { return (T *)(memory + offset); }

/* As in preprocess_host_row. */
EXACT Drawn row_drawn(const Batch &b, int row)
{
    Drawn d = array<const Drawn>(b.a.raw, b.a.in_layout.augment)[row];
    preprocess_drawn(&d, b.on);
    return d;
}

/* The samples of a row and what becomes of them. */
EXACT Clip row_clip(const Batch &b, int row)
{
    Clip c;
    const Drawn d = row_drawn(b, row);
    preprocess_clip(&c, array<const float>(b.a.raw, b.a.in_layout.samples) + row * b.a.samples,
                    array<const int32_t>(b.a.raw, b.a.in_layout.sample_length)[row], &d, b.a.samples,
                    b.a.frames, b.hop, b.odd);
    return c;
}

/* 1: the mel is made of the samples. */
EXACT int computes_mel(const PreprocessArgs &a) { return a.samples > 0 && !a.brings_mel; }

EXACT int row_frames(const Batch &b, int row) /* in the cache */
{
    int n = array<const int32_t>(b.a.raw, b.a.in_layout.mel_length)[row];
    return n < 0 ? 0 : n > b.a.frames ? b.a.frames : n;
}

/* Tokens, lengths, numbers and pitch; a block for each row. */
__global__ void numbers_kernel(Batch b)
{
    const PreprocessArgs &a = b.a;
    const BatchLayout &in = a.in_layout, &out = a.out_layout;
    int row = blockIdx.x, length = array<const int32_t>(a.raw, in.text_length)[row];
    const int32_t *from = array<const int32_t>(a.raw, in.tokens) + (size_t)row * a.text;
    int32_t *to = array<int32_t>(a.out, out.tokens) + (size_t)row * a.text;
    /* What lies behind the tokens is always 0. */
    for (int i = threadIdx.x; i < a.text; i += blockDim.x)
        to[i] = i < length ? from[i] : 0;
    int frames, samples;
    if (computes_mel(a)) {
        Clip c = row_clip(b, row);
        frames = c.frames, samples = (int)c.n;
    } else {
        frames = row_frames(b, row), samples = array<const int32_t>(a.raw, in.sample_length)[row];
    }
    /* The pitch comes finished from the loader. */
    const float *pitch = array<const float>(a.raw, in.pitch) + (size_t)row * a.frames;
    float *pitch_to = array<float>(a.out, out.pitch) + (size_t)row * a.frames;
    for (int i = threadIdx.x; i < a.frames; i += blockDim.x)
        pitch_to[i] = i < frames ? pitch[i] : 0.0f;
    if (threadIdx.x < AUGMENT_COUNT)
        array<uint32_t>(a.out, out.augment)[row * AUGMENT_COUNT + threadIdx.x] =
            array<const uint32_t>(a.raw, in.augment)[row * AUGMENT_COUNT + threadIdx.x];
    if (threadIdx.x != 0)
        return;
    array<int32_t>(a.out, out.text_length)[row] = length;
    array<int32_t>(a.out, out.speaker)[row] = array<const int32_t>(a.raw, in.speaker)[row];
    array<int32_t>(a.out, out.language)[row] = array<const int32_t>(a.raw, in.language)[row];
    array<int32_t>(a.out, out.utterance)[row] = array<const int32_t>(a.raw, in.utterance)[row];
    array<int32_t>(a.out, out.reference)[row] = array<const int32_t>(a.raw, in.reference)[row];
    array<int32_t>(a.out, out.mel_length)[row] = frames;
    array<int32_t>(a.out, out.sample_length)[row] = samples;
}

/* The samples of segments, and zeros behind them. blockIdx.y is the row. */
__global__ void __launch_bounds__(FINISH_THREADS) samples_kernel(Batch b)
{
    const PreprocessArgs &a = b.a;
    int row = blockIdx.y, used = (int)row_clip(b, row).n;
    const float *from = array<const float>(a.raw, a.in_layout.samples) + row * a.samples;
    float *to = array<float>(a.out, a.out_layout.samples) + row * a.samples;
#pragma unroll
    for (int step = 0; step < FINISH_STEPS; step++) {
        int i = (blockIdx.x * FINISH_STEPS + step) * FINISH_THREADS + threadIdx.x;
        if (i < a.samples)
            to[i] = i < used ? from[i] : 0.0f;
    }
}

/* ---- mel from samples ---- */

struct ClipSamples {
    Clip clip;
    int64_t n;
    __device__ __forceinline__ float at(int64_t i) const { return preprocess_sample(&clip, i); }
    __device__ __forceinline__ const float *direct(int64_t first, int64_t count) const
    {
        return preprocess_is_plain(&clip) && first >= 0 && first + count <= n ? clip.x + first : NULL;
    }
};

/* Stores one value of the mel: as it is when noise comes later, else finished. */
EXACT void store_mel(const Batch &b, float *out, float x, int band, const Drawn &d)
{
    out[band] = b.on[AUGMENT_NOISE] ? x
                                    : normaliser_value(preprocess_value(x, &d), __ldg(b.mean + band),
                                                       __ldg(b.deviation + band));
}

/* A warp for each frame; sizes that the fast transform knows. */
__global__ void __launch_bounds__(32 * MEL_FAST_WARPS, 4) mel_fast_kernel(MelCuda m, Batch b)
{
    __shared__ double2 points[MEL_FAST_WARPS][MEL_FAST_STORED];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, row = blockIdx.y;
    int64_t frame = (int64_t)blockIdx.x * MEL_FAST_WARPS + warp;
    if (frame >= b.a.frames)
        return;
    Clip clip = row_clip(b, row);
    float *out = array<float>(b.a.out, b.a.out_layout.mel) + ((size_t)row * b.a.frames + frame) * m.n_bands;
    if (frame >= clip.frames) {
        for (int band = lane; band < m.n_bands; band += 32)
            out[band] = 0.0f;
        return;
    }
    ClipSamples samples = {clip, clip.n};
    mel_fast_frame(m, points[warp], samples, frame, lane);
    const Drawn d = row_drawn(b, row);
    for (int band = lane; band < m.n_bands; band += 32)
        store_mel(b, out, mel_band(m, (const double *)points[warp], band), band, d);
}

/* A block for each frame; any n_fft that fits into shared memory. */
__global__ void __launch_bounds__(ANY_THREADS) mel_any_kernel(MelCuda m, Batch b)
{
    extern __shared__ double2 shared[];
    int row = blockIdx.y;
    int64_t frame = blockIdx.x;
    Clip clip = row_clip(b, row);
    float *out = array<float>(b.a.out, b.a.out_layout.mel) + ((size_t)row * b.a.frames + frame) * m.n_bands;
    if (frame >= clip.frames) {
        for (int band = threadIdx.x; band < m.n_bands; band += blockDim.x)
            out[band] = 0.0f;
        return;
    }
    ClipSamples samples = {clip, clip.n};
    double *magnitudes;
    mel_any_frame(m, shared, &magnitudes, samples, frame);
    const Drawn d = row_drawn(b, row);
    for (int band = threadIdx.x; band < m.n_bands; band += blockDim.x)
        store_mel(b, out, mel_band(m, magnitudes, band), band, d);
}

/* ---- from log mel to what the model sees ---- */

EXACT float value_of(float x) { return x; }
EXACT float value_of(__half x) { return __half2float(x); }

/* Where finish_kernel and level_kernel read: the raw mel of the cache, or the mel just computed, which has
 * its frames in the batch. */
template <typename T> EXACT const T *source(const Batch &b, int row, int *frames)
{
    size_t at = (size_t)row * b.a.frames * b.a.bands;
    if (computes_mel(b.a)) {
        *frames = array<const int32_t>(b.a.out, b.a.out_layout.mel_length)[row];
        return array<const T>(b.a.out, b.a.out_layout.mel) + at;
    }
    *frames = row_frames(b, row);
    return array<const T>(b.a.raw, b.a.in_layout.mel) + at;
}

/* Sum of the loudness of a clip; a block for each row. */
template <typename T> __global__ void __launch_bounds__(LEVEL_THREADS) level_kernel(Batch b)
{
    __shared__ uint64_t parts[LEVEL_THREADS / 32];
    int row = blockIdx.x, frames;
    const T *x = source<T>(b, row, &frames);
    const Drawn d = row_drawn(b, row);
    if (d.v[AUGMENT_NOISE] == 0.0f)
        return;
    uint64_t sum = 0;
    for (int i = threadIdx.x, n = frames * b.a.bands; i < n; i += LEVEL_THREADS)
        sum += preprocess_loudness(preprocess_value(value_of(x[i]), &d));
    /* Sums of integers: the same in any order. */
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_down_sync(0xFFFFFFFFu, sum, step);
    if (threadIdx.x % 32 == 0)
        parts[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 1; i < LEVEL_THREADS / 32; i++)
            sum += parts[i];
        b.sums[row] = sum;
    }
}

template <typename T, int WIDTH> struct Vector;
template <typename T> struct Vector<T, 1> {
    T v[1];
};
template <> struct __align__(16) Vector<float, 4> { float v[4]; };
template <> struct __align__(8) Vector<__half, 4> { __half v[4]; };

/* WIDTH values at a time; WIDTH divides bands. blockIdx.y is the row. Not __restrict__: on the fly it works
 * in place. */
template <typename T, int WIDTH> __global__ void __launch_bounds__(FINISH_THREADS) finish_kernel(Batch b)
{
    int row = blockIdx.y, frames, bands = b.a.bands;
    const T *x = source<T>(b, row, &frames);
    float *out = array<float>(b.a.out, b.a.out_layout.mel) + (size_t)row * b.a.frames * bands;
    const Drawn d = row_drawn(b, row);
    const float noise = d.v[AUGMENT_NOISE];
    uint32_t seed = exact_bitsf(d.v[AUGMENT_SEED]);
    int used = frames * bands, all = b.a.frames * bands;
    double level = noise != 0.0f && used > 0 ? preprocess_noise_level(b.sums[row], used, noise) : 0.0;
#pragma unroll
    for (int step = 0; step < FINISH_STEPS; step++) {
        /* Neighbouring threads read neighbouring values. */
        int i = ((blockIdx.x * FINISH_STEPS + step) * FINISH_THREADS + threadIdx.x) * WIDTH;
        if (i >= all)
            return;
        Vector<float, WIDTH> y = {};
        if (i < used) {
            Vector<T, WIDTH> in = *(const Vector<T, WIDTH> *)(x + i);
            int frame = i / bands, band = i % bands;
            Vector<float, WIDTH> mean = *(const Vector<float, WIDTH> *)(b.mean + band);
            Vector<float, WIDTH> deviation = *(const Vector<float, WIDTH> *)(b.deviation + band);
#pragma unroll
            for (int k = 0; k < WIDTH; k++) {
                float v = preprocess_value(value_of(in.v[k]), &d);
                if (noise != 0.0f)
                    v = preprocess_noise(v, level, seed, frame, band + k);
                y.v[k] = normaliser_value(v, mean.v[k], deviation.v[k]);
            }
        }
        *(Vector<float, WIDTH> *)(out + i) = y;
    }
}

/* ---- the table ---- */

static size_t up(size_t n) { return (n + 255) / 256 * 256; }

/* Tables of the mel, mean and deviation, a sum for each row. */
static uint64_t cuda_bytes(const PreprocessTables *t)
{
    MelCuda m;
    return mel_cuda_layout(&m, t->mel, NULL, NULL) + 2 * up((size_t)t->bands * sizeof(float)) +
           up((size_t)t->max_rows * sizeof(uint64_t));
}

/* The general kernel may need more shared memory than is given without asking. */
static cudaError_t prepare(State *s)
{
    cudaError_t e = cudaSuccess;
    int most = 0;
    if (!s->is_fast) {
        e = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, s->device);
        s->any_most = (size_t)most;
        if (e == cudaSuccess && mel_cuda_any_shared(&s->mel) <= s->any_most) {
            s->any_shared = mel_cuda_any_shared(&s->mel);
            e = cudaFuncSetAttribute(mel_any_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     (int)s->any_shared);
        }
    }
    return e;
}

static int cuda_open(void **out, const PreprocessTables *t, int device, void *memory, Err *err)
{
    *out = NULL;
    size_t bytes = cuda_bytes(t);
    State *s = (State *)calloc(1, sizeof *s);
    uint8_t *image = (uint8_t *)calloc(1, bytes), *there = (uint8_t *)memory;
    if (!s || !image) {
        free(s);
        free(image);
        return cuda_err(err, ERR_NOMEM, "no memory for the tables of the preprocessing");
    }
    s->device = device;
    s->is_fast = mel_cuda_is_fast(t->mel);
    s->max_rows = t->max_rows;
    /* The tables are put together on the host and copied once. */
    size_t at = mel_cuda_layout(&s->mel, t->mel, image, there), floats = (size_t)t->bands * sizeof(float);
    memcpy(image + at, t->mean, floats);
    s->batch.mean = (const float *)(there + at);
    at += up(floats);
    memcpy(image + at, t->deviation, floats);
    s->batch.deviation = (const float *)(there + at);
    at += up(floats);
    s->batch.sums = (uint64_t *)(there + at);
    memcpy(s->batch.on, t->on, sizeof t->on);
    s->batch.hop = t->mel->hop, s->batch.odd = t->mel->n_fft % 2;
    cudaError_t e = cudaSetDevice(device);
    if (e == cudaSuccess)
        e = cudaMemcpy(memory, image, bytes, cudaMemcpyHostToDevice);
    if (e == cudaSuccess) /* from pageable memory it may return before the last part has arrived */
        e = cudaStreamSynchronize(0);
    if (e == cudaSuccess)
        e = prepare(s);
    free(image);
    if (e != cudaSuccess) {
        free(s);
        cudaGetLastError();
        return cuda_err_call(err, device, "copy the tables of the preprocessing", e);
    }
    *out = s;
    return 0;
}

static void cuda_close(void *state) { free(state); }

/* Four values at a time where the bands allow it. */
template <typename T> static void launch_finish(const Batch &b, cudaStream_t stream)
{
    int values = b.a.frames * b.a.bands, width = b.a.bands % 4 == 0 ? 4 : 1;
    int each = FINISH_THREADS * FINISH_STEPS * width;
    dim3 grid((unsigned)((values + each - 1) / each), (unsigned)b.a.rows);
    if (b.on[AUGMENT_NOISE])
        level_kernel<T><<<b.a.rows, LEVEL_THREADS, 0, stream>>>(b);
    if (width == 4)
        finish_kernel<T, 4><<<grid, FINISH_THREADS, 0, stream>>>(b);
    else
        finish_kernel<T, 1><<<grid, FINISH_THREADS, 0, stream>>>(b);
}

static int cuda_run(void *state, void *native_stream, const PreprocessArgs *args, Err *err)
{
    State *s = (State *)state;
    cudaStream_t stream = (cudaStream_t)native_stream;
    const int computes = args->samples > 0 && !args->brings_mel;
    if (computes && !s->is_fast && s->any_shared == 0)
        return cuda_err(err, ERR_DEVICE,
                        "GPU %d cannot compute a mel with n_fft %d: it needs %zu bytes of memory close to a "
                        "processor, there are %zu; "
                        "set preprocessing_mode to precompute",
                        s->device, s->mel.n_fft, mel_cuda_any_shared(&s->mel), s->any_most);
    if (args->rows == 0)
        return 0;
    Batch b = s->batch;
    b.a = *args;
    cudaError_t e = cudaSetDevice(s->device);
    if (e != cudaSuccess)
        return cuda_err_call(err, s->device, "preprocess", e);
    numbers_kernel<<<args->rows, 128, 0, stream>>>(b);
    if (args->keeps_samples) {
        const int each = FINISH_THREADS * FINISH_STEPS;
        dim3 grid((unsigned)((args->samples + each - 1) / each), (unsigned)args->rows);
        samples_kernel<<<grid, FINISH_THREADS, 0, stream>>>(b);
    }
    if (args->frames > 0 && computes) {
        if (s->is_fast) {
            dim3 grid((unsigned)((args->frames + MEL_FAST_WARPS - 1) / MEL_FAST_WARPS), (unsigned)args->rows);
            mel_fast_kernel<<<grid, 32 * MEL_FAST_WARPS, 0, stream>>>(s->mel, b);
        } else {
            dim3 grid((unsigned)args->frames, (unsigned)args->rows);
            mel_any_kernel<<<grid, ANY_THREADS, s->any_shared, stream>>>(s->mel, b);
        }
        if (b.on[AUGMENT_NOISE])
            launch_finish<float>(b, stream);
    } else if (args->frames > 0) {
        if (args->mel_bytes == 2)
            launch_finish<__half>(b, stream);
        else
            launch_finish<float>(b, stream);
    }
    e = cudaGetLastError();
    return e == cudaSuccess ? 0 : cuda_err_call(err, s->device, "preprocess", e);
}

static const PreprocessCudaOps ops = {cuda_bytes, cuda_open, cuda_run, cuda_close};
extern "C" const PreprocessCudaOps *myxtts_cuda_preprocess(void) { return &ops; }
