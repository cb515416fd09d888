/* ops_cuda.cu - the tables of ops.h for CUDA, float and bf16, and what opens them. */
#include <stdlib.h>

#include "device/cuda_error.h"
#include "ops/cuda/ops_cuda.h"

#define PARTIAL_COLUMNS 32
#define PARTIAL_GROUPS 32
#define LAYERS_AT_ONCE 4 /* products of this many fill the GPU, and the others run meanwhile */

/* A block for 32 columns; groups of threads take every 32nd row, then their sums are added in order. Every
 * `width` columns have their own place. */
__global__ void __launch_bounds__(PARTIAL_COLUMNS *PARTIAL_GROUPS)
    add_partials_kernel(float *to, float *to2, float *to3, const float *from, int rows, int64_t stride,
                        int64_t n, int64_t width, float scale, int accumulate)
{
    __shared__ float sums[PARTIAL_GROUPS][PARTIAL_COLUMNS];
    int column = threadIdx.x % PARTIAL_COLUMNS, group = threadIdx.x / PARTIAL_COLUMNS;
    int64_t i = (int64_t)blockIdx.x * PARTIAL_COLUMNS + column;
    float sum = 0.0f;
    if (i < n)
#pragma unroll 8
        for (int r = group; r < rows; r += PARTIAL_GROUPS)
            sum += from[r * stride + i];
    sums[group][column] = sum;
    __syncthreads();
    if (group != 0 || i >= n)
        return;
#pragma unroll
    for (int g = 1; g < PARTIAL_GROUPS; g++)
        sum += sums[g][column];
    /* Up to three results, `width` columns each. */
    float *d = i < width ? to + i : i < 2 * width ? to2 + (i - width) : to3 + (i - 2 * width);
    *d = accumulate ? *d + scale * sum : scale * sum;
}

void ops_add_partials(CudaOps *o, float *to, const float *from, int rows, int64_t stride, int64_t n,
                      float scale, int accumulate)
{
    LAUNCH(o, "add partial sums", (unsigned)divide_up(n, PARTIAL_COLUMNS), PARTIAL_COLUMNS * PARTIAL_GROUPS,
           0, add_partials_kernel, to, (float *)NULL, (float *)NULL, from, rows, stride, n, n, scale,
           accumulate);
}

void ops_add_partial_sums(CudaOps *o, float *to, float *to2, float *to3, const float *from, int rows,
                          int64_t n, int count)
{
    LAUNCH(o, "add partial sums", (unsigned)divide_up(count * n, PARTIAL_COLUMNS),
           PARTIAL_COLUMNS * PARTIAL_GROUPS, 0, add_partials_kernel, to, to2, to3, from, rows, count * n,
           count * n, n, 1.0f, 1);
}

/* As add_partials_kernel; blockIdx.y: the layer. */
static __global__ void __launch_bounds__(PARTIAL_COLUMNS *PARTIAL_GROUPS)
    add_layers_kernel(SumPlaces places, const float *from, int rows, int64_t n)
{
    __shared__ float sums[PARTIAL_GROUPS][PARTIAL_COLUMNS];
    int column = threadIdx.x % PARTIAL_COLUMNS, group = threadIdx.x / PARTIAL_COLUMNS;
    int64_t i = (int64_t)blockIdx.x * PARTIAL_COLUMNS + column;
    float sum = 0.0f;
    from += (int64_t)blockIdx.y * rows * n;
    if (i < n)
#pragma unroll 4
        for (int r = group; r < rows; r += PARTIAL_GROUPS)
            sum += from[r * n + i];
    sums[group][column] = sum;
    __syncthreads();
    if (group != 0 || i >= n)
        return;
#pragma unroll
    for (int g = 1; g < PARTIAL_GROUPS; g++)
        sum += sums[g][column];
#pragma unroll
    for (int p = 0; p < PLACES; p++) {
        if (i >= 0 && i < places.n[p])
            places.to[p][blockIdx.y * places.step + i] += sum;
        i -= places.n[p];
    }
}

void ops_add_layer_sums(CudaOps *o, const SumPlaces *places, const float *from, int rows, int layers)
{
    int64_t n = 0;
    for (int p = 0; p < PLACES; p++)
        n += places->n[p];
    dim3 grid((unsigned)divide_up(n, PARTIAL_COLUMNS), (unsigned)layers);
    LAUNCH(o, "add partial sums", grid, PARTIAL_COLUMNS * PARTIAL_GROUPS, 0, add_layers_kernel, *places, from,
           rows, n);
}

/* Also of one that was opened in part. */
static void cuda_ops_close(OpsContext *c)
{
    CudaOps *o = (CudaOps *)c->own;
    if (!o)
        return;
    if (cudaSetDevice(o->device) == cudaSuccess) {
        if (o->side)
            cudaStreamDestroy(o->side);
        if (o->forked)
            cudaEventDestroy(o->forked);
        if (o->ended)
            cudaEventDestroy(o->ended);
        for (int i = 0; i < SIDE_NOTES; i++)
            if (o->notes[i])
                cudaEventDestroy(o->notes[i]);
        blas_close(o->blas);
    }
    free(o);
    c->own = NULL;
}

static int cuda_ops_open(OpsContext *c, const Ops *ops, Device *d, Stream *s, Err *err)
{
    c->ops = ops;
    c->device = d;
    c->stream = s;
    c->own = NULL;
    CudaOps *o = (CudaOps *)calloc(1, sizeof *o);
    if (!o)
        return cuda_err(err, ERR_NOMEM, "no memory for the ops of GPU %d", d->index);
    o->device = d->index;
    o->whole = o->stream = (cudaStream_t)d->ops->stream_native(s);
    /* The side stream and the events between it and the main one; all without timing, which would cost. */
    cudaError_t e = cudaSetDevice(o->device);
    if (e == cudaSuccess)
        e = cudaStreamCreateWithFlags(&o->side, cudaStreamNonBlocking);
    if (e == cudaSuccess)
        e = cudaEventCreateWithFlags(&o->forked, cudaEventDisableTiming);
    if (e == cudaSuccess)
        e = cudaEventCreateWithFlags(&o->ended, cudaEventDisableTiming);
    for (int i = 0; i < SIDE_NOTES && e == cudaSuccess; i++)
        e = cudaEventCreateWithFlags(&o->notes[i], cudaEventDisableTiming);
    if (e == cudaSuccess)
        e = cudaDeviceGetAttribute(&o->processors, cudaDevAttrMultiProcessorCount, o->device);
    int rc = e == cudaSuccess ? blas_open(&o->blas, err) : cuda_err_call(err, o->device, "open the ops", e);
    c->own = o;
    if (rc)
        cuda_ops_close(c);
    return rc;
}

/* ---- the side lane ---- */

/* The first failure is kept for check; nothing can be returned here. */
static void side_try(CudaOps *o, cudaError_t e)
{
    if (e != cudaSuccess && o->broken == cudaSuccess) {
        o->broken = e;
        o->operation = "switch to the side lane";
    }
}

/* Under capture the side stream joins the graph by its first wait, and leaves it by the last. */
static void side_begin(OpsContext *c)
{
    CudaOps *o = ops_enter(c);
    side_try(o, cudaEventRecord(o->forked, o->whole));
    side_try(o, cudaStreamWaitEvent(o->side, o->forked, 0));
    o->stream = o->side;
}

static void side_end(OpsContext *c)
{
    CudaOps *o = ops_enter(c);
    o->stream = o->whole;
}

static void side_note(OpsContext *c, int note)
{
    CudaOps *o = ops_enter(c);
    side_try(o, cudaEventRecord(o->notes[note], o->side));
    o->noted[note] = 1;
}

static void side_await(OpsContext *c, int note)
{
    CudaOps *o = ops_enter(c);
    if (o->noted[note])
        side_try(o, cudaStreamWaitEvent(o->whole, o->notes[note], 0));
}

static void side_join(OpsContext *c)
{
    CudaOps *o = ops_enter(c);
    for (int i = 0; i < SIDE_NOTES; i++)
        o->noted[i] = 0; /* a note of one graph cannot be waited for in the next */
    side_try(o, cudaEventRecord(o->ended, o->side));
    side_try(o, cudaStreamWaitEvent(o->whole, o->ended, 0));
}

/* An event may be recorded again: who waits for it waits for what it was when the wait was enqueued. */
static void side_follow(OpsContext *c, Stream *s, int side)
{
    CudaOps *o = ops_enter(c);
    cudaStream_t to = (cudaStream_t)c->device->ops->stream_native(s);
    side_try(o, cudaEventRecord(o->forked, o->whole));
    side_try(o, cudaStreamWaitEvent(to, o->forked, 0));
    if (!side)
        return;
    side_try(o, cudaEventRecord(o->ended, o->side));
    side_try(o, cudaStreamWaitEvent(to, o->ended, 0));
}

static int cuda_ops_check(OpsContext *c, Err *err)
{
    CudaOps *o = (CudaOps *)c->own;
    if (o->broken != cudaSuccess)
        return cuda_err_call(err, o->device, o->operation, o->broken);
    if (o->broken_blas)
        return cuda_err(err, ERR_DEVICE, "GPU %d: %s: cuBLASLt says status %d", o->device, o->operation,
                        o->broken_blas);
    return 0;
}

static int cuda_f32_open(OpsContext *c, Device *d, Stream *s, Err *err)
{
    return cuda_ops_open(c, myxtts_cuda_ops(REAL_F32), d, s, err);
}

static int cuda_bf16_open(OpsContext *c, Device *d, Stream *s, Err *err)
{
    return cuda_ops_open(c, myxtts_cuda_ops(REAL_BF16), d, s, err);
}

/* Each family fills in its own ops. */
template <typename T> static Ops make_table(RealType real)
{
    Ops ops = {};
    ops.real = real;
    ops.real_bytes = sizeof(T);
    ops.acc_bytes = sizeof(float);
    ops.open = real == REAL_F32 ? cuda_f32_open : cuda_bf16_open;
    ops.close = cuda_ops_close;
    ops.check = cuda_ops_check;
    ops.layers_at_once = LAYERS_AT_ONCE;
    ops.workspace_bytes = BLAS_ALL + SCRATCH_BYTES + SIDE_BYTES;
    ops.side_begin = side_begin;
    ops.side_end = side_end;
    ops.side_note = side_note;
    ops.side_await = side_await;
    ops.side_join = side_join;
    ops.side_follow = side_follow;
    linear_fill<T>(&ops);
    norm_fill<T>(&ops);
    attention_fill<T>(&ops);
    embed_fill<T>(&ops);
    conv_fill<T>(&ops);
    depthwise_fill<T>(&ops);
    sound_fill<T>(&ops);
    spectral_fill<T>(&ops);
    pointwise_fill<T>(&ops);
    rows_fill<T>(&ops);
    loss_fill<T>(&ops);
    align_fill<T>(&ops);
    symbols_fill<T>(&ops);
    critic_fill<T>(&ops);
    adamw_fill<T>(&ops);
    fill_fill(&ops);
    return ops;
}

/* For tests and for finding out why a step is slow; not in the table. */
extern "C" int myxtts_cuda_ops_untimed(const OpsContext *c)
{
    return blas_untimed(((const CudaOps *)c->own)->blas);
}

extern "C" int myxtts_cuda_ops_abi(void) { return OPS_ABI; }

extern "C" const Ops *myxtts_cuda_ops(RealType real)
{
    static const Ops f32 = make_table<float>(REAL_F32), b16 = make_table<bf16>(REAL_BF16);
    return real == REAL_F32 ? &f32 : real == REAL_BF16 ? &b16 : NULL;
}
