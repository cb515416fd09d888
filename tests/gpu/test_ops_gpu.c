/* test_ops_gpu.c - the ops on a real GPU: every case of ops_cases.h in float and bf16 against the host in double, padding, equal bits of two runs,
 * numbers that change from step to step, capture as a graph; then the time of each op on the shapes of the tiny model.
 * Built by build.sh, needs no library on the machine it runs on but the CUDA driver and cuBLAS.
 *   test_ops_gpu [check|speed [WORD]]   both without an argument; WORD: only the checks whose name has it
 * Exit code 0, 1 when a check failed, 77 when there is no GPU. */
#include <string.h>

#include "device/cuda_graph.h"
#include "device/cuda_library.h"
#include "ops/ops_open.h"
#include "ops_cases.h"

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

/* Shapes that only matter here: whole tiles, rows in registers, rows longer than that, chunks of a convolution. */
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
    {"attention 64, one key", ATTENTION(2, 2, 64, 1, 1, 0, 0, 0, 0, 1), 0, 0},
    {"attention 64, exact tiles", ATTENTION(1, 2, 64, 128, 128, 1, 0, 0, 1, 1), 0, 0},
    {"attention 64, exact tiles, guided", ATTENTION(1, 2, 64, 128, 64, 0, 1, 0, 0, 1), 0, 0},
    {"attention 64, mixed, packed", ATTENTION(6, 2, 64, 133, 133, 1, 0, 1, 1, 1), 0, 0},
    {"attention 64, mixed, cross, guided", ATTENTION(6, 2, 64, 150, 77, 0, 1, 1, 0, 1), 0, 0},
    {"attention 64, mixed, more keys", ATTENTION(6, 1, 64, 33, 261, 0, 0, 1, 0, 1), 0, 0},
    {"attention 64, causal, more keys", ATTENTION(6, 1, 64, 33, 161, 1, 1, 1, 0, 1), 0, 0},
    {"attention 64, causal, more queries", ATTENTION(6, 1, 64, 261, 35, 1, 1, 1, 0, 1), 0, 0},
    {"attention 64, causal, many keys", ATTENTION(4, 2, 64, 800, 800, 1, 0, 1, 1, 0), 0, 0},
    {"attention 64, guided, many keys", ATTENTION(6, 2, 64, 330, 530, 0, 1, 1, 0, 1), 0, 0},
    {"attention 64, causal, guided, many keys", ATTENTION(4, 1, 64, 300, 600, 1, 1, 1, 0, 0), 0, 0},
    {"attention 128", ATTENTION(3, 2, 128, 21, 35, 0, 1, 1, 0, 1), 0, 0},
    {"embed wide", EMBED(3, 50, 264, 9, 1, 20, 1), 0, 0},
    {"embed long", EMBED(1, 1030, 16, 0, 0, 0, 0), 0, 0},
    {"conv 16 to 264, tanh", CONV(5, 37, 16, 264, 3, ACT_TANH, 1, 1), 0, 0},
    {"conv 24 to 16", CONV(5, 37, 24, 16, 5, ACT_RELU, 1, 1), 0, 0},
    {"add_vector wide", OTHER_BACK(add_vector, 5, 19, 264, 1, 0), 0, 0},
    {"pool wide", OTHER_BACK(pool, 5, 19, 520, 1), 0, 0},
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
    report(what, k->name, ops_compare(gpu, host, k, 11, tolerance, worst, problem, sizeof problem) == 0, problem);
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
    report("step", "seed", memcmp(host, first, N * sizeof(float)) == 0, "dropout does not follow the seed of the step");
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
    int rc = !graphs || ops_run_open(&direct, c, k, 21) || ops_run_open(&captured, c, k, 21) || ops_run(&direct, 1) ||
             ops_upload(&captured);
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

static void check_all(OpsContext *f32, OpsContext *b16, OpsContext *host, const char *word)
{
    for (int i = 0; i < OPS_CASES + GPU_CASES; i++) {
        const OpsCase *k = i < OPS_CASES ? &ops_cases[i] : &gpu_cases[i - OPS_CASES];
        if (!strstr(k->name, word))
            continue;
        check_case(f32, host, k, F32_TOLERANCE);
        check_case(b16, host, k, BF16_TOLERANCE);
        check_graph(b16, k);
    }
    check_step(f32);
    printf("checks: %d passed, %d failed; largest errors: f32 %.2g, bf16 %.2g\n", passed, failed, worst_f32, worst_bf16);
}

/* ---- speed ---- */

typedef struct Speed {
    OpsContext *c;
    Event *begin, *end;
    uint16_t *noise; /* bf16 numbers */
    double step_ms;
    void *taken[24];
    size_t sizes[24];
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
        MUST(s->c->device->ops->copy_in(s->c->stream, (char *)p + at, s->noise, bytes - at < NOISE * 2 ? bytes - at : NOISE * 2,
                                        &err));
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

/* Times the statement; its share of a step is `times` such calls. flops and bytes: of one call, 0 = not said. */
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
static void speed_linear(Speed *s, const char *name, int times, int64_t M, int N, int K, Activation act, int bias_apart)
{
    const Ops *o = s->c->ops;
    void *in = take(s, M * K), *w = take(s, (int64_t)N * K), *bias = take(s, N), *out = take(s, M * N), *dout = take(s, M * N);
    void *din = take(s, M * K), *dw = take_floats(s, (int64_t)N * K), *dbias = bias_apart ? NULL : take_floats(s, N);
    char label[96];
    double flops = 2.0 * (double)M * N * K;
    snprintf(label, sizeof label, "linear %s %ldx%dx%d forward", name, (long)M, N, K);
    TIME(s, label, times, flops, 0, o->linear_forward(s->c, out, in, w, bias, M, N, K, act, 0));
    snprintf(label, sizeof label, "linear %s backward", name);
    TIME(s, label, times, 2 * flops, 0, o->linear_backward(s->c, din, dw, dbias, dout, out, in, w, M, N, K, act, 0));
    give_back(s);
}

static void speed_norm(Speed *s, int times, int64_t R, int C)
{
    const Ops *o = s->c->ops;
    int64_t n = R * C;
    void *x = take(s, n), *y = take(s, n), *sum = take(s, n), *out = take(s, n), *dx = take(s, n), *dy = take(s, n),
         *dout = take(s, n);
    void *w = take(s, C), *b = take(s, C), *mean = take_floats(s, R), *rstd = take_floats(s, R), *dw = take_floats(s, C);
    void *db = take_floats(s, C), *dy_sum = take_floats(s, C), *dsum = take(s, n);
    char label[96];
    Dropout drop = {0.1f, 5};
    snprintf(label, sizeof label, "norm %ldx%d forward", (long)R, C);
    TIME(s, label, times, 0, 8.0 * (double)n, o->norm_forward(s->c, sum, out, mean, rstd, x, y, w, b, R, C, drop));
    snprintf(label, sizeof label, "norm %ldx%d backward", (long)R, C);
    TIME(s, label, times, 0, 10.0 * (double)n,
         o->norm_backward(s->c, dx, dy, dw, db, dy_sum, dout, dsum, sum, mean, rstd, w, R, C, drop));
    give_back(s);
}

static void speed_attention(Speed *s, const char *name, int times, int B, int H, int tq, int tk, int causal, int guided)
{
    const Ops *o = s->c->ops;
    int64_t wide = (int64_t)H * 64, q_row = causal ? 3 * wide : wide, k_row = causal ? 3 * wide : 2 * wide;
    char *q = take(s, B * tq * q_row), *k = causal ? q + 2 * wide : take(s, B * tk * k_row), *v = k + 2 * wide;
    char *dq = take(s, B * tq * q_row), *dk = causal ? dq + 2 * wide : take(s, B * tk * k_row), *dv = dk + 2 * wide;
    void *out = take(s, B * tq * wide), *dout = take(s, B * tq * wide), *lse = take_floats(s, (int64_t)B * H * tq);
    void *guide = take_floats(s, (int64_t)B * H * tq);
    AttentionShape a = {.batch = B, .heads = H, .head_size = 64, .tq = tq, .tk = tk, .ldq = q_row, .ldk = k_row, .ldv = k_row};
    a.ldo = wide, a.causal = causal, a.scale = 0.125f, a.guide_weight = guided ? 0.01f : 0, a.guide_width = 0.25f;
    a.q_len = take_lengths(s, B, tq), a.k_len = take_lengths(s, B, tk);
    double flops = 4.0 * B * H * 64 * (double)tq * tk / (causal ? 2 : 1);
    char label[96];
    snprintf(label, sizeof label, "attention %s %dx%d forward", name, tq, tk);
    TIME(s, label, times, flops, 0, o->attention_forward(s->c, out, lse, guided ? guide : NULL, q, k, v, &a));
    snprintf(label, sizeof label, "attention %s %dx%d backward", name, tq, tk);
    TIME(s, label, times, 2.5 * flops, 0,
         o->attention_backward(s->c, dq, dk, dv, dout, out, lse, guided ? guide : NULL, q, k, v, &a));
    give_back(s);
}

static void speed_conv(Speed *s, int times, int B, int T, int C, int N, Activation act)
{
    const Ops *o = s->c->ops;
    int64_t rows = (int64_t)B * T;
    void *in = take(s, rows * C), *w = take(s, (int64_t)N * 5 * C), *bias = take(s, N), *out = take(s, rows * N);
    void *dout = take(s, rows * N), *din = take(s, rows * C), *dw = take_floats(s, (int64_t)N * 5 * C), *db = take_floats(s, N);
    int32_t *len = take_lengths(s, B, T);
    double flops = 2.0 * (double)rows * N * 5 * C;
    char label[96];
    snprintf(label, sizeof label, "conv %d to %d, 5 forward", C, N);
    TIME(s, label, times, flops, 0, o->conv_forward(s->c, out, in, w, bias, len, B, T, C, N, 5, act));
    snprintf(label, sizeof label, "conv %d to %d, 5 backward", C, N);
    TIME(s, label, times, 2 * flops, 0, o->conv_backward(s->c, din, dw, db, dout, out, in, w, len, B, T, C, N, 5, act));
    give_back(s);
}

static void speed_rest(Speed *s, int B, int T, int C, int64_t parameters)
{
    const Ops *o = s->c->ops;
    int64_t n = (int64_t)B * T * C;
    double size = (double)n;
    void *x = take(s, n), *y = take(s, n), *z = take(s, n), *v = take(s, (int64_t)B * C), *alpha = take(s, 1);
    void *dalpha = take_floats(s, 1), *target = take_floats(s, (int64_t)B * T * 80), *value = take_floats(s, 1);
    void *table = take(s, 200 * 256), *dtable = take_floats(s, 200 * 256);
    int32_t *len = take_lengths(s, B, T), *id = take_floats(s, (int64_t)B * 200), *text_len = take_lengths(s, B, 200);
    int32_t text[64 * 200]; /* every sixth a space, as in English */
    for (int i = 0; i < B * 200; i++)
        text[i] = i % 6 ? 5 + i * 7919 % 60 : 4;
    MUST(s->c->device->ops->copy_in(s->c->stream, id, text, (size_t)B * 200 * sizeof *text, &err));
    MUST(s->c->device->ops->stream_wait_idle(s->c->stream, &err));
    Dropout drop = {0.1f, 5};
    TIME(s, "embed decoder forward", 1, 0, 4 * size, o->embed_forward(s->c, y, NULL, NULL, x, alpha, B, T, C, drop));
    TIME(s, "embed decoder backward", 1, 0, 4 * size, o->embed_backward(s->c, NULL, y, dalpha, x, NULL, len, B, T, C, 0, drop));
    TIME(s, "embed text forward", 1, 0, 0, o->embed_forward(s->c, y, id, table, NULL, alpha, B, 200, 256, drop));
    TIME(s, "embed text backward", 1, 0, 0, o->embed_backward(s->c, dtable, NULL, dalpha, x, id, text_len, B, 200, 256, 200, drop));
    TIME(s, "add", 3, 0, 6.0 * B * T * 80, o->add_forward(s->c, z, x, y, (int64_t)B * T * 80));
    TIME(s, "dropout", 2, 0, 4 * size, o->dropout_forward(s->c, y, x, n, drop));
    TIME(s, "add_vector forward", 1, 0, 4 * size, o->add_vector_forward(s->c, y, x, v, B, T, C));
    TIME(s, "add_vector backward", 1, 0, 2 * size, o->add_vector_backward(s->c, v, x, len, B, T, C, 0));
    TIME(s, "loss L1 with gradient", 2, 0, 8.0 * B * T * 80,
         o->loss_forward(s->c, value, y, x, target, len, B, T, 80, LOSS_L1, 1, 1e-6f, 0));
    TIME(s, "stop loss", 1, 0, 0, o->stop_loss(s->c, value, y, x, len, B, T, 3, 5, 1e-6f));
    TIME(s, "shift_frames", 1, 0, 0, o->shift_frames(s->c, y, target, len, B, T, 1, 80));
    give_back(s);
    void *master = take_floats(s, parameters), *m = take_floats(s, parameters), *moment = take_floats(s, parameters);
    void *grad = take_floats(s, parameters), *decay = take_floats(s, parameters / 4 + 1), *real = take(s, parameters);
    void *norm = take_floats(s, 1), *finite = take_floats(s, 1), *scale = take_floats(s, 1);
    float one = 1.0f;
    MUST(s->c->device->ops->copy_in(s->c->stream, scale, &one, sizeof one, &err));
    double count = (double)parameters;
    TIME(s, "gradient norm", 1, 0, 4 * count, o->norm2(s->c, norm, finite, grad, parameters));
    OpsGuard *guard = take_floats(s, sizeof *guard / 4);
    TIME(s, "guard", 1, 0, 0, o->guard(s->c, guard, norm, norm, finite, scale, 1, 4));
    TIME(s, "AdamW", 1, 0, 31 * count,
         o->adamw(s->c, master, real, m, moment, grad, decay, scale, parameters, 1e-3f, 0.9f, 0.98f, 1e-8f, 0.01f, 3));
    TIME(s, "gradients to zero", 1, 0, 4 * count,
         MUST(s->c->device->ops->fill_zero(s->c->stream, grad, (size_t)parameters * 4, &err)));
    give_back(s);
}

/* The tiny model: batch 32, text 200, mel 800, r = 1; decoder 768 x 8 layers, text and voice encoder (200 groups of 4 frames) 256 x 4 layers each, post-net of
 * five convolutions. */
static void speed_all(OpsContext *b16)
{
    Speed s = {.c = b16, .noise = malloc(NOISE * 2)};
    Rng rng;
    rng_seed(&rng, 3);
    for (int i = 0; i < NOISE; i++)
        ops_store(s.noise, KIND_REAL, 2, i, 0.5 * rng_normal(&rng));
    MUST(b16->device->ops->event_open(b16->device, &s.begin, 1, &err));
    MUST(b16->device->ops->event_open(b16->device, &s.end, 1, &err));
    const int B = 32, mel = 800, text = 200, M = B * mel, L = B * text;
    printf("tiny, bf16, batch %d, text %d, mel %d: calls of a step x time of one\n", B, text, mel);
    speed_linear(&s, "qkv", 8, M, 2304, 768, ACT_NONE, 0);
    speed_linear(&s, "out, cross out", 16, M, 768, 768, ACT_NONE, 1);
    speed_linear(&s, "cross q", 8, M, 768, 768, ACT_NONE, 0);
    speed_linear(&s, "cross kv", 8, L, 1536, 256, ACT_NONE, 0);
    speed_linear(&s, "up", 8, M, 3072, 768, ACT_RELU, 0);
    speed_linear(&s, "down", 8, M, 768, 3072, ACT_NONE, 1);
    speed_linear(&s, "text, voice qkv", 8, L, 768, 256, ACT_NONE, 0);
    speed_linear(&s, "text, voice out", 8, L, 256, 256, ACT_NONE, 1);
    speed_linear(&s, "text, voice up", 8, L, 1024, 256, ACT_RELU, 0);
    speed_linear(&s, "text, voice down", 8, L, 256, 1024, ACT_NONE, 1);
    speed_linear(&s, "voice in", 1, L, 256, 320, ACT_NONE, 0);
    speed_linear(&s, "pre-net 1", 1, M, 256, 80, ACT_RELU, 0);
    speed_linear(&s, "pre-net 2", 1, M, 768, 256, ACT_RELU, 0);
    speed_linear(&s, "mel head", 1, M, 80, 768, ACT_NONE, 0);
    speed_linear(&s, "stop, pitch, energy heads", 3, M, 1, 768, ACT_NONE, 0);
    speed_norm(&s, 25, M, 768);
    speed_norm(&s, 18, L, 256);
    speed_attention(&s, "causal", 8, B, 12, mel, mel, 1, 0);
    speed_attention(&s, "cross, guided", 8, B, 12, mel, text, 0, 1);
    speed_attention(&s, "text, voice", 8, B, 4, text, text, 0, 0);
    speed_conv(&s, 1, B, mel, 80, 512, ACT_TANH);
    speed_conv(&s, 3, B, mel, 512, 512, ACT_TANH);
    speed_conv(&s, 1, B, mel, 512, 80, ACT_NONE);
    speed_rest(&s, B, mel, 768, 100000000);
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
