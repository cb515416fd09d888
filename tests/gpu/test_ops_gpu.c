/* test_ops_gpu.c - the ops on a real GPU: every case of ops_cases.h in float and bf16 against the host in
 * double, padding, equal bits of two runs, numbers that change from step to step, capture as a graph; then
 * the time of each op on the shapes of a training step. Built by build.sh, needs no library on the machine it
 * runs on but the CUDA driver and cuBLAS. test_ops_gpu [check|speed [WORD]]   both without an argument; WORD:
 * only the checks whose name has it Exit code 0, 1 when a check failed, 77 when there is no GPU. */
#include <string.h>

#include "device/cuda_graph.h"
#include "device/cuda_library.h"
#include "ops/ops_open.h"
#include "support/ops_cases.h"

#define F32_TOLERANCE 1e-5
#define BF16_TOLERANCE 1.2e-2

static int passed, failed;
static double worst_f32, worst_bf16; /* errors relative to the largest number of a tensor */

static void report(const char *what, const char *name, int ok, const char *problem)
{
    if (ok) {
        passed++;
        return;
    }
    failed++;
    printf("FAILED %s: %s: %s\n", what, name, problem);
}

#define MUST(call) \
    do { \
        Err err = {0}; \
        if (call) { \
            printf("FAILED %s:%d: %s: %s %s\n", __FILE__, __LINE__, #call, err.msg, err.hint); \
            exit(1); \
        } \
    } while (0)

/* Shapes that only matter here: whole tiles, rows in registers, rows longer than that, chunks of a
 * convolution, strips of symbols. */
static const OpsCase gpu_cases[] = {
    {"linear 64x1x96", LINEAR(64, 1, 96, ACT_RELU, 1, 0, 1), 0, 0},
    {"linear 65x3x40 accumulated", LINEAR(65, 3, 40, ACT_NONE, 1, 1, 1), 0, 0},
    {"linear 256x128x64 relu", LINEAR(256, 128, 64, ACT_RELU, 1, 0, 1), 0, 0},
    {"linear 200x80x136 relu, no bias", LINEAR(200, 80, 136, ACT_RELU, 0, 0, 1), 0, 0},
    {"linear 4096x1024x512 relu, timed", LINEAR(4096, 1024, 512, ACT_RELU, 1, 0, 1), 0, 0},
    {"norm 37x256", NORM(37, 256, 1, 10, 1), 0, 0},
    {"norm 37x512", NORM(37, 512, 0, 0, 1), 0, 0},
    {"norm 61x768", NORM(61, 768, 1, 10, 1), 0, 0},
    {"norm 19x1024", NORM(19, 1024, 1, 50, 0), 0, 0},
    {"norm 19x1000", NORM(19, 1000, 1, 0, 1), 0, 0},
    {"norm 9x1536", NORM(9, 1536, 1, 10, 1), 0, 0},
    {"norm 9x1029", NORM(9, 1029, 1, 10, 1), 0, 0},
    {"attention 64, one key", ATTENTION(2, 2, 64, 1, 1, 0, 0), 0, 0},
    {"attention 64, exact tiles", ATTENTION(1, 2, 64, 128, 128, 0, 1), 0, 0},
    {"attention 64, exact tiles, cross", ATTENTION(1, 2, 64, 128, 64, 0, 0), 0, 0},
    {"attention 64, mixed, packed", ATTENTION(6, 2, 64, 133, 133, 1, 1), 0, 0},
    {"attention 64, mixed, cross", ATTENTION(6, 2, 64, 150, 77, 1, 0), 0, 0},
    {"attention 64, mixed, more keys", ATTENTION(6, 1, 64, 33, 261, 1, 0), 0, 0},
    {"attention 64, mixed, more queries", ATTENTION(6, 1, 64, 261, 35, 1, 0), 0, 0},
    {"attention 64, many keys", ATTENTION(4, 2, 64, 800, 800, 1, 1), 0, 0},
    {"attention 128", ATTENTION(3, 2, 128, 21, 35, 1, 0), 0, 0},
    {"embed wide", EMBED(3, 50, 264, 9, 1, 20, 1), 0, 0},
    {"embed long", EMBED(1, 1030, 16, 0, 0, 0, 0), 0, 0},
    {"conv 16 to 264, tanh", CONV(5, 37, 16, 264, 3, ACT_TANH, 1, 1), 0, 0},
    {"conv 24 to 16", CONV(5, 37, 24, 16, 5, ACT_RELU, 1, 1), 0, 0},
    {"add_vector wide", OTHER_BACK(add_vector, 5, 19, 264, 1, 0), 0, 0},
    {"pool wide", OTHER_BACK(pool, 5, 19, 520, 1), 0, 0},
    {"conv 64 to 192, 3, relu", CONV(6, 75, 64, 192, 3, ACT_RELU, 1, 1), 0, 0},
    {"conv 384 to 1152, 3, relu, timed", CONV(3, 700, 384, 1152, 3, ACT_RELU, 1, 1), 0, 0},
    {"align 128 symbols", OTHER(align, 5, 128, 300, 4, 1, 1), 1, 0},
    {"align 129 symbols", OTHER(align, 11, 129, 257, 3, 1, 1), 1, 0},
    {"align 300 symbols", OTHER(align, 5, 300, 700, 2, 1, 1), 1, 0},
    {"align 777 symbols", OTHER(align, 3, 777, 800, 3, 1, 1), 1, 0},
    {"align 1100 symbols", OTHER(align, 5, 1100, 1300, 2, 1, 1), 1, 0},
    {"align 4096 frames", OTHER(align, 2, 260, 4096, 2, 1, 1), 1, 0},
    {"align 100 symbols, 80 bands", OTHER(align, 6, 100, 640, 80, 0, 1), 0, 0},
    {"repeat, many", OTHER_BACK(repeat, 7, 120, 640, 384), 0, 0},
    {"add_traits, many", OTHER_BACK(traits, 7, 120, 384, 0), 0, 0},
    {"align_loss, many", OTHER_BACK(align_loss, 7, 120, 640, 80), 0, 0},
};
#define GPU_CASES ((int)(sizeof gpu_cases / sizeof gpu_cases[0]))

static void open_ops(OpsContext *c, const Ops *ops, Device *d, Stream *s)
{
    memset(c, 0, sizeof *c);
    c->threads = 8;
    MUST(ops->open(c, d, s, &err));
    c->workspace_bytes = ops->workspace_bytes;
    if (c->workspace_bytes)
        MUST(device_alloc(d, &c->workspace, c->workspace_bytes, &err));
}

static void close_ops(OpsContext *c)
{
    c->ops->close(c);
    if (c->workspace)
        device_free(c->device, c->workspace, c->workspace_bytes);
}

/* ---- checks ---- */

static void check_case(OpsContext *gpu, OpsContext *host, const OpsCase *k, double tolerance)
{
    char problem[400], what[64];
    double *worst = gpu->ops->real == REAL_F32 ? &worst_f32 : &worst_bf16;
    const char *type = gpu->ops->real == REAL_F32 ? "f32" : "bf16";
    snprintf(what, sizeof what, "%s against the host", type);
    report(what, k->name, ops_compare(gpu, host, k, 11, tolerance, worst, problem, sizeof problem) == 0,
           problem);
    snprintf(what, sizeof what, "%s, two runs", type);
    OpsCase twice = *k;
    twice.exact = 1;
    report(what, k->name, ops_compare(gpu, gpu, &twice, 12, 0, NULL, problem, sizeof problem) == 0, problem);
    snprintf(what, sizeof what, "%s, padding", type);
    report(what, k->name, ops_check_hidden(gpu, k, 13, problem, sizeof problem) >= 0, problem);
}

/* The same call with the seed in OpsStep and with the seed in the argument. */
static void check_step(OpsContext *c)
{
    enum { N = 4096 };
    float *host = malloc(N * sizeof *host), *first = malloc(N * sizeof *first);
    void *in, *out, *step;
    OpsStep numbers = {.seed = 77, .number = 5, .lr = 0.5f};
    MUST(device_alloc(c->device, &in, N * sizeof(float), &err));
    MUST(device_alloc(c->device, &out, N * sizeof(float), &err));
    MUST(device_alloc(c->device, &step, sizeof numbers, &err));
    for (int i = 0; i < N; i++)
        host[i] = (float)(i % 7 + 1);
    MUST(c->device->ops->copy_in(c->stream, in, host, N * sizeof(float), &err));
    MUST(c->device->ops->copy_in(c->stream, step, &numbers, sizeof numbers, &err));
    for (int turn = 0; turn < 2; turn++) {
        c->step = turn ? step : NULL;
        c->ops->dropout_forward(c, out, in, N, (Dropout){0.25f, turn ? 1000 : 1077});
        MUST(c->device->ops->copy_out(c->stream, turn ? host : first, out, N * sizeof(float), &err));
        MUST(c->device->ops->stream_wait_idle(c->stream, &err));
    }
    c->step = NULL;
    int dropped = 0;
    for (int i = 0; i < N; i++)
        dropped += first[i] == 0.0f;
    report("step", "seed", memcmp(host, first, N * sizeof(float)) == 0,
           "dropout does not follow the seed of the step");
    report("step", "share", dropped > N / 5 && dropped < N * 3 / 10, "dropout does not drop its share");
    device_free(c->device, in, N * sizeof(float));
    device_free(c->device, out, N * sizeof(float));
    device_free(c->device, step, sizeof numbers);
    free(host);
    free(first);
}

/* A captured forward and backward, launched on fresh inputs, gives the bits of the direct calls. */
static void check_graph(OpsContext *c, const OpsCase *k)
{
    char problem[400] = "";
    OpsRun direct, captured;
    Err why = {0};
    CudaGraphGet get = (CudaGraphGet)cuda_library_symbol(c->device, CUDA_GRAPH_SYMBOL, &why);
    const CudaGraphOps *graphs = get ? get() : NULL;
    int rc = !graphs || ops_run_open(&direct, c, k, 21) || ops_run_open(&captured, c, k, 21) ||
             ops_run(&direct, 1) || ops_upload(&captured);
    void *graph = NULL;
    if (!rc)
        rc = graphs->begin(c->stream, &why);
    if (!rc) {
        k->forward(&captured, k->shape);
        if (k->backward)
            k->backward(&captured, k->shape);
        rc = graphs->end(c->stream, &graph, &why);
    }
    if (!rc)
        rc = graphs->launch(graph, c->stream, &why) || ops_download(&captured);
    snprintf(problem, sizeof problem, "%s %s", why.msg, captured.problem);
    for (int s = 0; s < OPS_TENSORS && !rc; s++)
        if (ops_is_result(&direct.t[s]) &&
            memcmp(direct.t[s].result, captured.t[s].result, (size_t)direct.t[s].n * sizeof(double)) != 0) {
            snprintf(problem, sizeof problem, "%s differs", direct.t[s].name);
            rc = -1;
        }
    report("graph", k->name, rc == 0, problem);
    if (graph)
        graphs->destroy(graph);
    ops_run_close(&direct);
    ops_run_close(&captured);
}

/* The search cuts what its workspace does not hold into chunks of frames; the result is the same. */
static void check_chunks(OpsContext *c, OpsContext *host, const OpsCase *k)
{
    char problem[400];
    size_t all = c->workspace_bytes;
    c->workspace_bytes = all - (134u << 20);
    report("in chunks, against the host", k->name,
           ops_compare(c, host, k, 11, F32_TOLERANCE, NULL, problem, sizeof problem) == 0, problem);
    c->workspace_bytes = all;
}

static void check_all(OpsContext *f32, OpsContext *b16, OpsContext *host, const char *word)
{
    for (int i = 0; i < ops_case_count + GPU_CASES; i++) {
        const OpsCase *k = i < ops_case_count ? &ops_cases[i] : &gpu_cases[i - ops_case_count];
        if (!strstr(k->name, word))
            continue;
        check_case(f32, host, k, F32_TOLERANCE);
        check_case(b16, host, k, BF16_TOLERANCE);
        check_graph(b16, k);
        if (k->build == align_build)
            check_chunks(f32, host, k);
    }
    check_step(f32);
    Err why = {0}; /* every shape was used before it was captured */
    int (*untimed)(const OpsContext *) =
        (int (*)(const OpsContext *))cuda_library_symbol(b16->device, "myxtts_cuda_ops_untimed", &why);
    report("graph", "products", untimed && untimed(b16) == 0,
           untimed ? "some were captured before they were timed" : why.msg);
    printf("checks: %d passed, %d failed; largest errors: f32 %.2g, bf16 %.2g\n", passed, failed, worst_f32,
           worst_bf16);
}

/* ---- speed ---- */

#define MOST_TAKEN 48

typedef struct Speed {
    OpsContext *c;
    Event *begin, *end;
    uint16_t *noise; /* bf16 numbers */
    double step_ms;
    void *taken[MOST_TAKEN];
    size_t sizes[MOST_TAKEN];
    int count;
} Speed;

#define NOISE (1 << 20)

/* n random bf16 numbers on the device. */
static void *take(Speed *s, int64_t n)
{
    void *p;
    size_t bytes = (size_t)n * 2;
    MUST(device_alloc(s->c->device, &p, bytes, &err));
    for (size_t at = 0; at < bytes; at += NOISE * 2)
        MUST(s->c->device->ops->copy_in(s->c->stream, (char *)p + at, s->noise,
                                        bytes - at < NOISE * 2 ? bytes - at : NOISE * 2, &err));
    s->taken[s->count] = p;
    s->sizes[s->count++] = bytes;
    return p;
}

static void *take_floats(Speed *s, int64_t n)
{
    void *p;
    MUST(device_alloc(s->c->device, &p, (size_t)n * 4, &err));
    MUST(s->c->device->ops->fill_zero(s->c->stream, p, (size_t)n * 4, &err));
    s->taken[s->count] = p;
    s->sizes[s->count++] = (size_t)n * 4;
    return p;
}

static int32_t *take_lengths(Speed *s, int B, int T)
{
    int32_t len[64];
    for (int b = 0; b < B; b++)
        len[b] = T;
    void *p = take_floats(s, B);
    MUST(s->c->device->ops->copy_in(s->c->stream, p, len, (size_t)B * sizeof *len, &err));
    MUST(s->c->device->ops->stream_wait_idle(s->c->stream, &err));
    return p;
}

static void give_back(Speed *s)
{
    while (s->count > 0) {
        s->count--;
        device_free(s->c->device, s->taken[s->count], s->sizes[s->count]);
    }
}

/* Times the statement; its share of a step is `times` such calls. flops and bytes: of one call, 0 = not said.
 */
#define TIME(s, name, times, flops, bytes, statement) \
    do { \
        const DeviceOps *o_ = (s)->c->device->ops; \
        enum { ROUNDS = 20 }; \
        for (int i_ = 0; i_ < 3; i_++) \
            statement; \
        MUST(o_->event_record((s)->begin, (s)->c->stream, &err)); \
        for (int i_ = 0; i_ < ROUNDS; i_++) \
            statement; \
        MUST(o_->event_record((s)->end, (s)->c->stream, &err)); \
        MUST(o_->event_wait((s)->end, &err)); \
        MUST(ops_check((s)->c, &err)); \
        print_time(s, name, times, flops, bytes, o_->event_seconds((s)->begin, (s)->end) / ROUNDS); \
    } while (0)

static void print_time(Speed *s, const char *name, int times, double flops, double bytes, double seconds)
{
    s->step_ms += times * seconds * 1e3;
    printf("  %-46s %3d x %8.1f us = %6.2f ms", name, times, seconds * 1e6, times * seconds * 1e3);
    if (flops > 0)
        printf("  %6.0f TFLOP/s", flops / seconds * 1e-12);
    if (bytes > 0)
        printf("  %6.0f GB/s", bytes / seconds * 1e-9);
    printf("\n");
}

/* bias_apart: its gradient comes from elsewhere (the norm that follows). */
static void speed_linear(Speed *s, const char *name, int times, int64_t M, int N, int K, Activation act,
                         int bias_apart)
{
    const Ops *o = s->c->ops;
    void *in = take(s, M * K), *w = take(s, (int64_t)N * K), *bias = take(s, N), *out = take(s, M * N),
         *dout = take(s, M * N);
    void *din = take(s, M * K), *dw = take_floats(s, (int64_t)N * K),
         *dbias = bias_apart ? NULL : take_floats(s, N);
    char label[96];
    double flops = 2.0 * (double)M * N * K;
    snprintf(label, sizeof label, "linear %s %ldx%dx%d forward", name, (long)M, N, K);
    TIME(s, label, times, flops, 0, o->linear_forward(s->c, out, in, w, bias, M, N, K, act, 0));
    snprintf(label, sizeof label, "linear %s backward", name);
    TIME(s, label, times, 2 * flops, 0,
         o->linear_backward(s->c, din, dw, dbias, dout, out, in, w, M, N, K, act, 0));
    give_back(s);
}

static void speed_norm(Speed *s, int times, int64_t R, int C)
{
    const Ops *o = s->c->ops;
    int64_t n = R * C;
    void *x = take(s, n), *y = take(s, n), *sum = take(s, n), *out = take(s, n), *dx = take(s, n),
         *dy = take(s, n), *dout = take(s, n);
    void *w = take(s, C), *b = take(s, C), *mean = take_floats(s, R), *rstd = take_floats(s, R),
         *dw = take_floats(s, C);
    void *db = take_floats(s, C), *dy_sum = take_floats(s, C), *dsum = take(s, n);
    char label[96];
    Dropout drop = {0.1f, 5};
    snprintf(label, sizeof label, "norm %ldx%d forward", (long)R, C);
    TIME(s, label, times, 0, 8.0 * (double)n,
         o->norm_forward(s->c, sum, out, mean, rstd, x, y, w, b, R, C, drop));
    snprintf(label, sizeof label, "norm %ldx%d backward", (long)R, C);
    TIME(s, label, times, 0, 10.0 * (double)n,
         o->norm_backward(s->c, dx, dy, dw, db, dy_sum, dout, dsum, sum, mean, rstd, w, R, C, drop));
    give_back(s);
}

static void speed_attention(Speed *s, const char *name, int times, int B, int H, int T)
{
    const Ops *o = s->c->ops;
    int64_t wide = (int64_t)H * 64, row = 3 * wide;
    char *q = take(s, B * T * row), *dq = take(s, B * T * row);
    char *k = q + 2 * wide, *v = k + 2 * wide, *dk = dq + 2 * wide, *dv = dk + 2 * wide;
    void *out = take(s, B * T * wide), *dout = take(s, B * T * wide),
         *lse = take_floats(s, (int64_t)B * H * T);
    AttentionShape a = {
        .batch = B, .heads = H, .head_size = 64, .tq = T, .tk = T, .ldq = row, .ldk = row, .ldv = row};
    a.ldo = wide, a.scale = 0.125f;
    a.q_len = a.k_len = take_lengths(s, B, T);
    double flops = 4.0 * B * H * 64 * (double)T * T;
    char label[96];
    snprintf(label, sizeof label, "attention %s %d forward", name, T);
    TIME(s, label, times, flops, 0, o->attention_forward(s->c, out, lse, q, k, v, &a));
    snprintf(label, sizeof label, "attention %s %d backward", name, T);
    TIME(s, label, times, 2.5 * flops, 0,
         o->attention_backward(s->c, dq, dk, dv, dout, out, lse, q, k, v, &a));
    give_back(s);
}

static void speed_conv(Speed *s, const char *name, int times, int B, int T, int C, int N, int K,
                       Activation act)
{
    const Ops *o = s->c->ops;
    int64_t rows = (int64_t)B * T, weights = (int64_t)N * K * C;
    void *in = take(s, rows * C), *w = take(s, weights), *bias = take(s, N), *out = take(s, rows * N);
    void *dout = take(s, rows * N), *din = take(s, rows * C), *dw = take_floats(s, weights),
         *db = take_floats(s, N);
    int32_t *len = take_lengths(s, B, T);
    double flops = 2.0 * (double)rows * (double)weights;
    char label[96];
    snprintf(label, sizeof label, "conv %s %d to %d, %d forward", name, C, N, K);
    TIME(s, label, times, flops, 0, o->conv_forward(s->c, out, NULL, in, w, bias, len, B, T, C, N, K, act));
    snprintf(label, sizeof label, "conv %s %d to %d, %d backward", name, C, N, K);
    TIME(s, label, times, 2 * flops, 0,
         o->conv_backward(s->c, din, dw, db, dout, out, in, NULL, w, len, B, T, C, N, K, act));
    give_back(s);
}

/* The feed-forward part of a layer: a convolution with a ReLU, a linear, and what the first keeps for the way
 * back. */
static void speed_feed(Speed *s, const char *name, int times, int B, int T, int C, int N, int K)
{
    const Ops *o = s->c->ops;
    int64_t rows = (int64_t)B * T, weights = (int64_t)N * K * C;
    void *in = take(s, rows * C), *up = take(s, weights), *bias = take(s, N), *h = take(s, rows * N);
    void *down = take(s, (int64_t)N * C), *y = take(s, rows * C), *dy = take(s, rows * C);
    void *dh = take(s, rows * N), *din = take(s, rows * C), *dup = take_floats(s, weights);
    void *db = take_floats(s, N), *ddown = take_floats(s, (int64_t)N * C);
    void *unfolded = take_floats(s, (int64_t)o->unfolded_bytes(rows, C, K) / 4);
    int32_t *len = take_lengths(s, B, T);
    double flops = 2.0 * (double)rows * (double)weights;
    char label[96];
    snprintf(label, sizeof label, "conv %s up %d to %d, %d forward", name, C, N, K);
    TIME(s, label, times, flops, 0,
         o->conv_forward(s->c, h, unfolded, in, up, bias, len, B, T, C, N, K, ACT_RELU));
    snprintf(label, sizeof label, "linear %s down %lldx%dx%d forward", name, (long long)rows, C, N);
    TIME(s, label, times, flops / K, 0, o->linear_forward(s->c, y, h, down, bias, rows, C, N, ACT_NONE, 0));
    snprintf(label, sizeof label, "linear %s down backward", name);
    TIME(s, label, times, 2 * flops / K, 0,
         o->linear_backward(s->c, dh, ddown, NULL, dy, NULL, h, down, rows, C, N, ACT_NONE, 0));
    snprintf(label, sizeof label, "conv %s up %d to %d, %d backward", name, C, N, K);
    TIME(s, label, times, 2 * flops, 0,
         o->conv_backward(s->c, din, dup, db, dh, h, in, unfolded, up, len, B, T, C, N, K, ACT_RELU));
    give_back(s);
}

/* Between symbols and frames: T symbols of Ct channels, M frames of n bands and C channels. */
static void speed_symbols(Speed *s, int B, int T, int M, int n, int Ct, int C)
{
    const Ops *o = s->c->ops;
    void *mu = take(s, (int64_t)B * T * n), *dmu = take(s, (int64_t)B * T * n),
         *mel = take_floats(s, (int64_t)B * M * n);
    void *states = take(s, (int64_t)B * T * C), *frames = take(s, (int64_t)B * M * C),
         *memory = take(s, (int64_t)B * T * Ct);
    void *pitch = take_floats(s, (int64_t)B * T), *energy = take_floats(s, (int64_t)B * T),
         *values = take_floats(s, TRAIT_COUNT);
    void *pred = take(s, (int64_t)B * T * TRAIT_COUNT), *cost = take_floats(s, B),
         *f0 = take_floats(s, (int64_t)B * M);
    void *w = take(s, Ct), *dw = take_floats(s, Ct), *dw2 = take_floats(s, Ct),
         *groups = take(s, (int64_t)B * M * n);
    Durations d = {take_floats(s, (int64_t)B * T), take_floats(s, (int64_t)B * T),
                   take_floats(s, (int64_t)B * M)};
    int32_t *text = take_lengths(s, B, T), *length = take_lengths(s, B, M);
    const float weight[TRAIT_COUNT] = {1e-6f, 1e-6f, 1e-6f};
    double all = (double)B * M * n, wide = (double)B * M * C;
    o->unconvert(s->c, mel, groups, (int64_t)B * M * n); /* noise: durations as they come */
    TIME(s, "align_search", 1, 2 * all * T, 0,
         o->align_search(s->c, d.frames, cost, mu, mel, text, length, B, T, M, n));
    TIME(s, "durations_place", 1, 0, 0, o->durations_place(s->c, &d, NULL, text, B, T, M));
    TIME(s, "band_mean", 1, 0, 4 * all, o->band_mean(s->c, f0, mel, (int64_t)B * M, n));
    TIME(s, "symbol_means", 2, 0, 0, o->symbol_means(s->c, pitch, f0, &d, B, T, M));
    TIME(s, "add_traits forward", 1, 0, 4.0 * B * T * Ct,
         o->add_traits_forward(s->c, memory, memory, pitch, energy, w, w, (int64_t)B * T, Ct));
    TIME(s, "add_traits backward", 1, 0, 2.0 * B * T * Ct,
         o->add_traits_backward(s->c, dw, dw2, memory, pitch, energy, text, B, T, Ct));
    TIME(s, "repeat forward", 1, 0, 2 * wide, o->repeat_forward(s->c, frames, states, &d, B, T, M, C));
    TIME(s, "repeat backward", 1, 0, 2 * wide, o->repeat_backward(s->c, states, frames, &d, B, T, M, C));
    TIME(s, "align_loss", 1, 0, 4 * all,
         o->align_loss(s->c, values, dmu, mu, mel, &d, text, B, T, M, n, 1e-6f));
    TIME(s, "traits_loss", 1, 0, 0,
         o->traits_loss(s->c, values, pred, pred, d.frames, pitch, energy, text, B, T, weight));
    TIME(s, "group_frames", 1, 0, 6 * all, o->group_frames(s->c, groups, mel, length, B, M, 4, n));
    give_back(s);
}

static void speed_rest(Speed *s, int B, int T, int C, int64_t parameters)
{
    const Ops *o = s->c->ops;
    int64_t n = (int64_t)B * T * C;
    double size = (double)n;
    void *x = take(s, n), *y = take(s, n), *z = take(s, n), *v = take(s, (int64_t)B * C), *alpha = take(s, 1);
    void *dalpha = take_floats(s, 1), *target = take_floats(s, (int64_t)B * T * 80),
         *value = take_floats(s, 1);
    void *table = take(s, 200 * 256), *dtable = take_floats(s, 200 * 256);
    int32_t *len = take_lengths(s, B, T), *id = take_floats(s, (int64_t)B * 200),
            *text_len = take_lengths(s, B, 200);
    int32_t text[64 * 200]; /* every sixth a space, as in English */
    for (int i = 0; i < B * 200; i++)
        text[i] = i % 6 ? 5 + i * 7919 % 60 : 4;
    MUST(s->c->device->ops->copy_in(s->c->stream, id, text, (size_t)B * 200 * sizeof *text, &err));
    MUST(s->c->device->ops->stream_wait_idle(s->c->stream, &err));
    Dropout drop = {0.1f, 5};
    TIME(s, "embed decoder forward", 1, 0, 4 * size,
         o->embed_forward(s->c, y, NULL, NULL, x, alpha, B, T, C, drop));
    TIME(s, "embed decoder backward", 1, 0, 4 * size,
         o->embed_backward(s->c, NULL, y, dalpha, x, NULL, len, B, T, C, 0, drop));
    TIME(s, "embed text forward", 1, 0, 0,
         o->embed_forward(s->c, y, id, table, NULL, alpha, B, 200, 256, drop));
    TIME(s, "embed text backward", 1, 0, 0,
         o->embed_backward(s->c, dtable, NULL, dalpha, x, id, text_len, B, 200, 256, 200, drop));
    TIME(s, "add", 3, 0, 6.0 * B * T * 80, o->add_forward(s->c, z, x, y, (int64_t)B * T * 80));
    TIME(s, "dropout", 2, 0, 4 * size, o->dropout_forward(s->c, y, x, n, drop));
    TIME(s, "add_vector forward", 1, 0, 4 * size, o->add_vector_forward(s->c, y, x, v, B, T, C));
    TIME(s, "add_vector backward", 1, 0, 2 * size, o->add_vector_backward(s->c, v, x, len, B, T, C, 0));
    TIME(s, "loss L1 with gradient", 2, 0, 8.0 * B * T * 80,
         o->loss_forward(s->c, value, y, x, target, len, B, T, 80, LOSS_L1, 1, 1e-6f, 0));
    give_back(s);
    void *master = take_floats(s, parameters), *m = take_floats(s, parameters),
         *moment = take_floats(s, parameters);
    void *grad = take_floats(s, parameters), *decay = take_floats(s, parameters / 4 + 1),
         *real = take(s, parameters);
    void *norm = take_floats(s, 1), *finite = take_floats(s, 1), *scale = take_floats(s, 1);
    float one = 1.0f;
    MUST(s->c->device->ops->copy_in(s->c->stream, scale, &one, sizeof one, &err));
    double count = (double)parameters;
    TIME(s, "gradient norm", 1, 0, 4 * count, o->norm2(s->c, norm, finite, grad, parameters));
    OpsGuard *guard = take_floats(s, sizeof *guard / 4);
    TIME(s, "guard", 1, 0, 0, o->guard(s->c, guard, norm, norm, finite, scale, 1, 4));
    TIME(s, "AdamW", 1, 0, 31 * count,
         o->adamw(s->c, master, real, m, moment, grad, decay, scale, parameters, 1e-3f, 0.9f, 0.98f, 1e-8f,
                  0.01f, 3));
    TIME(s, "gradients to zero", 1, 0, 4 * count,
         MUST(s->c->device->ops->fill_zero(s->c->stream, grad, (size_t)parameters * 4, &err)));
    give_back(s);
}

/* Bands of equal width over a spectrum, each overlapping its neighbours by half. */
static SoundBands take_bands(Speed *s, int bins, int count)
{
    enum { MOST = 128 };
    int32_t first[MOST], width[MOST], at[MOST], step = bins / (count + 1);
    for (int b = 0; b < count; b++) {
        first[b] = b * step;
        width[b] = 2 * step;
        at[b] = b * 2 * step;
    }
    const size_t bytes = (size_t)count * sizeof *first;
    int32_t *on[3];
    const int32_t *from[3] = {first, width, at};
    for (int i = 0; i < 3; i++) {
        on[i] = take_floats(s, count);
        MUST(s->c->device->ops->copy_in(s->c->stream, on[i], from[i], bytes, &err));
    }
    MUST(s->c->device->ops->stream_wait_idle(s->c->stream, &err));
    return (SoundBands){count, on[0], on[1], on[2], take_floats(s, (int64_t)count * 2 * step), 1e-5f};
}

/* The parts of a vocoder that a voice has not: B segments of T frames. */
static void speed_sound(Speed *s, int B, int T, int C, int hop)
{
    const Ops *o = s->c->ops;
    enum { K = 7, N = 1024, LD = N + 8 };
    const int64_t n = (int64_t)B * T * C, samples = (int64_t)(T - 1) * hop;
    void *in = take(s, n), *out = take(s, n), *din = take(s, n), *w = take(s, K * C), *bias = take(s, C);
    void *deep = take(s, n), *dout = take(s, n), *ddeep = take(s, n), *add = take(s, n);
    void *mean = take_floats(s, n / C), *rstd = take_floats(s, n / C), *value = take_floats(s, 1);
    int32_t *len = take_lengths(s, B, T);
    const FilterNorms f1 = {1,
                            take_floats(s, K * C),
                            take_floats(s, C),
                            take_floats(s, C),
                            take_floats(s, C),
                            in,
                            deep,
                            dout,
                            ddeep,
                            mean,
                            rstd,
                            0,
                            n,
                            n / C};
    TIME(s, "filters and norm, forward", 8, 0, 6.0 * (double)n,
         o->filter_norm_forward(s->c, out, deep, mean, rstd, in, w, bias, bias, bias, len, B, T, C, K));
    TIME(s, "filters and norm, backward", 8, 0, 10.0 * (double)n,
         o->filter_norm_backward(s->c, din, add, &f1, w, bias, len, B, T, C, K));
    TIME(s, "filters and norm, weights", 8, 0, 8.0 * (double)n,
         o->filter_norm_weights(s->c, &f1, len, B, T, C, K));
    give_back(s);
    void *spectrum = take(s, (int64_t)B * T * LD), *dspectrum = take(s, (int64_t)B * T * LD);
    float *prior = take_floats(s, (int64_t)B * T * (N / 2 + 1)), *target = take_floats(s, B * samples);
    void *wave = take_floats(s, B * samples), *dwave = take_floats(s, B * samples);
    SoundFrames f = {N, hop, take_floats(s, 2 * N)};
    value = take_floats(s, 1);
    o->sound_tables(s->c, (void *)f.tables, N, N);
    TIME(s, "wave forward", 1, 0, 0, o->wave_forward(s->c, wave, spectrum, LD, prior, &f, B, T));
    TIME(s, "wave backward", 1, 0, 0,
         o->wave_backward(s->c, dspectrum, dwave, spectrum, LD, prior, &f, B, T));
    const int resolutions[][2] = {{2048, 80}, {1024, 80}, {512, 40}, {256, 20}};
    SoundScale scales[SOUND_SCALES];
    for (int i = 0; i < 4; i++) {
        const int points = resolutions[i][0];
        scales[i] = (SoundScale){{points, points / 4, take_floats(s, 2 * points)},
                                 take_bands(s, points / 2 + 1, resolutions[i][1]),
                                 1.0f};
        o->sound_tables(s->c, (void *)scales[i].frames.tables, points, points);
    }
    TIME(s, "spectral loss", 1, 0, 0,
         o->spectral_loss(s->c, value, dwave, wave, target, NULL, scales, 4, B, (int)samples));
    give_back(s);
}

/* A network of middle size (docs/MODEL.md): batch 48, 128 symbols, 640 frames; decoder 384 x 6 layers, text
 * 384 x 4, voice (160 groups of four frames) 256 x 2, F = 3 C. */
static void speed_all(OpsContext *b16)
{
    Speed s = {.c = b16, .noise = malloc(NOISE * 2)};
    Rng rng;
    rng_seed(&rng, 3);
    for (int i = 0; i < NOISE; i++)
        ops_store(s.noise, KIND_REAL, 2, i, 0.5 * rng_normal(&rng));
    MUST(b16->device->ops->event_open(b16->device, &s.begin, 1, &err));
    MUST(b16->device->ops->event_open(b16->device, &s.end, 1, &err));
    const int B = 48, mel = 640, text = 128, groups = mel / 4, M = B * mel, L = B * text, G = B * groups;
    printf("bf16, batch %d, text %d, mel %d: calls of a step x time of one\n", B, text, mel);
    speed_linear(&s, "qkv", 6, M, 1152, 384, ACT_NONE, 0);
    speed_linear(&s, "out", 6, M, 384, 384, ACT_NONE, 1);
    speed_feed(&s, "decoder", 6, B, mel, 384, 1152, 3);
    speed_linear(&s, "text qkv", 4, L, 1152, 384, ACT_NONE, 0);
    speed_linear(&s, "text out", 4, L, 384, 384, ACT_NONE, 1);
    speed_feed(&s, "text", 4, B, text, 384, 1152, 3);
    speed_conv(&s, "voice in", 1, B, groups, 320, 256, 5, ACT_RELU);
    speed_linear(&s, "voice qkv", 2, G, 768, 256, ACT_NONE, 0);
    speed_linear(&s, "voice out", 2, G, 256, 256, ACT_NONE, 1);
    speed_feed(&s, "voice", 2, B, groups, 256, 768, 3);
    speed_conv(&s, "predictor", 2, B, text, 384, 256, 3, ACT_RELU);
    speed_linear(&s, "traits", 1, L, TRAIT_COUNT, 256, ACT_NONE, 0);
    speed_linear(&s, "prior", 1, L, 80, 384, ACT_NONE, 0);
    speed_linear(&s, "lift", 1, L, 384, 384, ACT_NONE, 0);
    speed_linear(&s, "mel head", 1, M, 80, 384, ACT_NONE, 0);
    speed_norm(&s, 13, M, 384);
    speed_norm(&s, 9, L, 384);
    speed_norm(&s, 5, G, 256);
    speed_attention(&s, "decoder", 6, B, 6, mel);
    speed_attention(&s, "text", 4, B, 6, text);
    speed_attention(&s, "voice", 2, B, 4, groups);
    speed_symbols(&s, B, text, mel, 80, 384, 384);
    speed_rest(&s, B, mel, 384, 30000000);
    printf("  all of it: %.2f ms\n", s.step_ms);
    s.step_ms = 0;
    printf("bf16, a vocoder's batch of 32 segments of 48 frames, 512 channels\n");
    speed_sound(&s, 32, 48, 512, 200);
    speed_linear(&s, "up", 8, 32 * 48, 1536, 512, ACT_RELU, 0);
    speed_linear(&s, "down", 8, 32 * 48, 512, 1536, ACT_NONE, 0);
    speed_linear(&s, "head", 1, 32 * 48, 1032, 512, ACT_NONE, 0);
    speed_norm(&s, 10, 32 * 48, 512);
    printf("  all of it: %.2f ms\n", s.step_ms);
    b16->device->ops->event_close(s.begin);
    b16->device->ops->event_close(s.end);
    free(s.noise);
}

int main(int argc, char **argv)
{
    Device *gpu, *cpu;
    Err why = {0};
    setvbuf(stdout, NULL, _IOLBF, 0);
    DeviceOptions options = {0};
    if (device_open(&gpu, "0", &options, &why)) {
        printf("SKIPPED: %s\n", why.msg);
        return 77;
    }
    const Ops *f32_table = ops_table(gpu, 0, &why), *b16_table = ops_table(gpu, 1, &why);
    if (!f32_table || !b16_table) {
        printf("FAILED: %s\n", why.msg);
        return 1;
    }
    Stream *stream, *host_stream;
    OpsContext f32, b16, host;
    MUST(device_open(&cpu, "cpu", &options, &err));
    MUST(gpu->ops->stream_open(gpu, &stream, "the ops", &err));
    MUST(cpu->ops->stream_open(cpu, &host_stream, "the ops", &err));
    open_ops(&f32, f32_table, gpu, stream);
    open_ops(&b16, b16_table, gpu, stream);
    open_ops(&host, &ops_host_f64, cpu, host_stream);
    printf("device: %s\n", gpu->model);
    if (argc < 2 || !strcmp(argv[1], "check"))
        check_all(&f32, &b16, &host, argc > 2 ? argv[2] : "");
    if (argc < 2 || !strcmp(argv[1], "speed"))
        speed_all(&b16);
    close_ops(&f32);
    close_ops(&b16);
    close_ops(&host);
    gpu->ops->stream_close(stream);
    cpu->ops->stream_close(host_stream);
    device_close(gpu);
    device_close(cpu);
    printf("%d passed, %d failed\n", passed, failed);
    return failed ? 1 : 0;
}
