/* test_gpu.c - the CUDA part on a real GPU: device, copies, events, peer paths, graphs, and the preprocessing
 * bit by bit against the host. A program of its own, without cmocka: it is built with nothing but gcc and
 * nvcc (build.sh), because machines with GPUs have little else. Prints a table, and `N passed, N failed`.
 * Exit code 0, 1 when a check failed, 77 when there is no GPU. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audio/mel.h"
#include "base/clock.h"
#include "device/cuda_graph.h"
#include "device/cuda_library.h"
#include "support/preprocess_testing.h"

static int passed, failed;

#define CHECK(condition, ...) \
    do { \
        if (condition) { \
            passed++; \
        } else { \
            failed++; \
            printf("FAILED %s:%d: %s: ", __FILE__, __LINE__, #condition); \
            printf(__VA_ARGS__); \
            printf("\n"); \
        } \
    } while (0)

/* For calls that return 0: stops the program when there is no point in going on. */
#define MUST(call) \
    do { \
        Err err = {0}; \
        if (call) { \
            printf("FAILED %s:%d: %s: %s\n", __FILE__, __LINE__, #call, err.msg); \
            exit(1); \
        } \
        passed++; \
    } while (0)

static Device *open_gpu(uint64_t cap)
{
    Device *d;
    DeviceOptions o = {.memory_cap = cap};
    MUST(device_open(&d, "0", &o, &err));
    return d;
}

static void *gpu_memory(Device *d, size_t bytes)
{
    void *p;
    MUST(device_alloc(d, &p, bytes, &err));
    return p;
}

static void *host_memory(size_t bytes)
{
    void *p = malloc(bytes);
    if (!p)
        abort();
    return p;
}

static void fill_random(uint8_t *p, size_t n, uint64_t seed)
{
    Rng rng;
    rng_seed(&rng, seed);
    for (size_t i = 0; i + 8 <= n; i += 8) {
        uint64_t v = rng_u64(&rng);
        memcpy(p + i, &v, 8);
    }
    for (size_t i = n / 8 * 8; i < n; i++)
        p[i] = (uint8_t)rng_u64(&rng);
}

/* ---- the device ---- */

static void test_open(void)
{
    Device *d, *second;
    Err why = {0};
    CHECK(device_open(&d, "99", NULL, &why) == ERR_DEVICE && strstr(why.msg, "99") &&
              strstr(why.msg, "shows"),
          "%s", why.msg);
    printf("  no such GPU: %s\n", why.msg);
    MUST(device_open(&d, "auto", NULL, &err));
    CHECK(d->ops->kind == DEVICE_CUDA, "auto is %s", d->name);
    second = open_gpu(0);
    CHECK(device_same(d, second) && d->ops->peer_path(d, second) == PEER_SAME, "path %d",
          d->ops->peer_path(d, second));
    DeviceMemory m;
    d->ops->memory_info(d, &m);
    CHECK(m.total > 1u << 30 && m.used == 0 && m.cap == 0, "total %llu", (unsigned long long)m.total);
    printf("  device %s: %s, %.1f GB\n", d->name, d->model, (double)m.total / 1e9);
    device_close(second);
    device_close(d);
}

static void test_cap(void)
{
    const size_t mb = 1 << 20;
    Device *d = open_gpu(64 * mb);
    Err why = {0};
    void *a = gpu_memory(d, 48 * mb), *b;
    CHECK((uintptr_t)a % 256 == 0, "%p", a);
    CHECK(device_alloc(d, &b, 32 * mb, &why) == ERR_DEVICE && !b, "over the cap");
    printf("  over the cap: %s\n", why.msg);
    b = gpu_memory(d, 16 * mb);
    device_free(d, a, 48 * mb);
    a = gpu_memory(d, 48 * mb);
    device_free(d, a, 48 * mb);
    device_free(d, b, 16 * mb);
    CHECK(d->used == 0, "%llu", (unsigned long long)d->used);
    device_close(d);
    d = open_gpu(0);
    CHECK(device_alloc(d, &a, (size_t)1 << 50, &why) == ERR_DEVICE, "a petabyte");
    printf("  more than there is: %s\n", why.msg);
    CHECK(d->used == 0, "%llu", (unsigned long long)d->used);
    a = gpu_memory(d, mb); /* a refused allocation breaks nothing */
    device_free(d, a, mb);
    device_close(d);
}

static void test_copies(void)
{
    Device *d = open_gpu(0);
    Stream *s;
    MUST(d->ops->stream_open(d, &s, "copies", &err));
    const size_t sizes[] = {1, 3, 4096, (1 << 20) + 1, (33 << 20) + 7};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int pinned = 0; pinned < 2; pinned++) {
            size_t n = sizes[i];
            void *in, *out, *memory = gpu_memory(d, n);
            if (pinned) {
                MUST(d->ops->pinned_alloc(d, &in, n, &err));
                MUST(d->ops->pinned_alloc(d, &out, n, &err));
            } else {
                in = host_memory(n);
                out = host_memory(n);
            }
            fill_random(in, n, n);
            memset(out, POISON, n);
            MUST(d->ops->copy_in(s, memory, in, n, &err));
            MUST(d->ops->copy_out(s, out, memory, n, &err));
            MUST(d->ops->stream_wait_idle(s, &err));
            CHECK(memcmp(in, out, n) == 0, "%zu bytes, pinned %d", n, pinned);
            MUST(d->ops->fill_zero(s, memory, n, &err));
            MUST(d->ops->copy_out(s, out, memory, n, &err));
            MUST(d->ops->stream_wait_idle(s, &err));
            memset(in, 0, n);
            CHECK(memcmp(in, out, n) == 0, "%zu zeros, pinned %d", n, pinned);
            if (pinned) {
                d->ops->pinned_free(d, in);
                d->ops->pinned_free(d, out);
            } else {
                free(in);
                free(out);
            }
            device_free(d, memory, n);
        }
    d->ops->stream_close(s);
    device_close(d);
}

/* What one stream writes, another reads after it, because of an event alone. */
static void test_events(void)
{
    enum { ROUNDS = 50 };
    const size_t n = 4 << 20;
    Device *d = open_gpu(0);
    Stream *a, *b;
    Event *written, *read, *never, *start, *end;
    MUST(d->ops->stream_open(d, &a, "a", &err));
    MUST(d->ops->stream_open(d, &b, "b", &err));
    MUST(d->ops->event_open(d, &written, 0, &err));
    MUST(d->ops->event_open(d, &read, 0, &err));
    MUST(d->ops->event_open(d, &never, 0, &err));
    MUST(d->ops->event_open(d, &start, 1, &err));
    MUST(d->ops->event_open(d, &end, 1, &err));
    CHECK(d->ops->event_happened(never) == 1, "an event never recorded has happened");
    MUST(d->ops->event_wait(never, &err));
    MUST(d->ops->stream_wait_event(b, never, &err));
    void *x = gpu_memory(d, n), *y = gpu_memory(d, n), *in, *out;
    MUST(d->ops->pinned_alloc(d, &in, n * ROUNDS, &err));
    MUST(d->ops->pinned_alloc(d, &out, n * ROUNDS, &err));
    fill_random(in, n * ROUNDS, 3);
    memset(out, POISON, n * ROUNDS);
    double began = clock_now();
    Err why = {0};
    int rc = d->ops->event_record(start, a, &why);
    for (size_t i = 0; i < ROUNDS && !rc; i++) { /* nobody waits on the host */
        rc = d->ops->stream_wait_event(a, read, &why);
        rc = rc ? rc : d->ops->copy_in(a, x, (uint8_t *)in + i * n, n, &why);
        rc = rc ? rc : d->ops->event_record(written, a, &why);
        rc = rc ? rc : d->ops->stream_wait_event(b, written, &why);
        rc = rc ? rc : d->ops->copy_peer(b, y, d, x, n, &why);
        rc = rc ? rc : d->ops->event_record(read, b, &why);
        rc = rc ? rc : d->ops->copy_out(b, (uint8_t *)out + i * n, y, n, &why);
    }
    rc = rc ? rc : d->ops->event_record(end, b, &why);
    CHECK(!rc, "%s", why.msg);
    int happened_at_once = d->ops->event_happened(end);
    MUST(d->ops->event_wait(end, &err));
    double wall = clock_now() - began, device = d->ops->event_seconds(start, end);
    CHECK(d->ops->event_happened(end) == 1, "after the wait");
    CHECK(memcmp(in, out, n * ROUNDS) == 0, "a stream did not wait for an event");
    CHECK(device > 0 && device <= wall * 1.01 + 1e-4, "device %g s, wall %g s", device, wall);
    printf(
        "  %d rounds over two streams: %.2f ms on the device, %.2f ms on the wall; last event at once: %d\n",
        ROUNDS, device * 1e3, wall * 1e3, happened_at_once);
    d->ops->pinned_free(d, in);
    d->ops->pinned_free(d, out);
    device_free(d, x, n);
    device_free(d, y, n);
    Event *events[] = {written, read, never, start, end};
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        d->ops->event_close(events[i]);
    d->ops->stream_close(a);
    d->ops->stream_close(b);
    device_close(d);
}

/* A stream that somebody else has opened, wrapped: the same stream, and not ours to close. */
static void test_wrapped_stream(void)
{
    const size_t n = 8 << 20;
    Device *d = open_gpu(0);
    Stream *theirs, *ours;
    Event *written;
    void *before = device_visit_begin();
    MUST(d->ops->stream_open(d, &theirs, "theirs", &err));
    MUST(d->ops->stream_wrap(d, &ours, d->ops->stream_native(theirs), &err));
    MUST(d->ops->event_open(d, &written, 0, &err));
    CHECK(d->ops->stream_native(ours) == d->ops->stream_native(theirs), "another stream");
    void *x = gpu_memory(d, n), *in, *out = host_memory(n);
    MUST(d->ops->pinned_alloc(d, &in, n, &err));
    fill_random(in, n, 5);
    memset(out, POISON, n);
    MUST(d->ops->copy_in(theirs, x, in, n, &err));
    MUST(d->ops->event_record(written, ours, &err));
    MUST(d->ops->event_wait(written, &err));
    d->ops->stream_close(ours);
    MUST(d->ops->copy_out(theirs, out, x, n, &err));
    MUST(d->ops->stream_wait_idle(theirs, &err));
    CHECK(memcmp(in, out, n) == 0, "other bytes");
    device_visit_end(before);
    CHECK(device_visit_begin() == before, "the thread's current GPU is another one");
    d->ops->event_close(written);
    d->ops->pinned_free(d, in);
    free(out);
    device_free(d, x, n);
    d->ops->stream_close(theirs);
    device_close(d);
}

/* The way through the host, on one GPU that is opened twice. */
static void test_staged(void)
{
    setenv("MYXTTS_CUDA_PEER", "staged", 1);
    Device *from = open_gpu(0), *to = open_gpu(0);
    unsetenv("MYXTTS_CUDA_PEER");
    CHECK(from->ops->peer_path(from, to) == PEER_STAGED, "path %d", from->ops->peer_path(from, to));
    Stream *s, *t;
    MUST(from->ops->stream_open(from, &s, "s", &err));
    MUST(from->ops->stream_open(from, &t, "t", &err));
    const size_t sizes[] = {5, 2 << 20, (2 << 20) + 1, (17 << 20) + 3};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t n = sizes[i];
        uint8_t *in = host_memory(2 * n), *out = host_memory(2 * n);
        uint8_t *x = gpu_memory(from, 2 * n), *y = gpu_memory(to, 2 * n);
        fill_random(in, 2 * n, 10 + i);
        for (int round = 0; round < 3; round++) { /* two streams share the way */
            memset(out, POISON, 2 * n);
            in[0]++, in[n]++;
            MUST(from->ops->fill_zero(s, y, n, &err));
            MUST(from->ops->fill_zero(t, y + n, n, &err));
            MUST(from->ops->copy_in(s, x, in, n, &err));
            MUST(from->ops->copy_in(t, x + n, in + n, n, &err));
            MUST(from->ops->copy_peer(s, y, to, x, n, &err));
            MUST(from->ops->copy_peer(t, y + n, to, x + n, n, &err));
            MUST(from->ops->copy_out(s, out, y, n,
                                     &err)); /* behind the copy in the same stream: it has to have arrived */
            MUST(from->ops->copy_out(t, out + n, y + n, n, &err));
            MUST(from->ops->stream_wait_idle(s, &err));
            MUST(from->ops->stream_wait_idle(t, &err));
            CHECK(memcmp(in, out, 2 * n) == 0, "%zu bytes", n);
        }
        device_free(from, x, 2 * n);
        device_free(to, y, 2 * n);
        free(in);
        free(out);
    }
    from->ops->stream_close(s);
    from->ops->stream_close(t);
    device_close(from);
    device_close(to);
}

/* Waiting for an event inside a capture is refused by CUDA at once, and harms nothing else. */
static void test_errors_stick(void)
{
    Device *d = open_gpu(0);
    Stream *s;
    Event *e;
    CudaGraphGet get;
    void *graph;
    Err why = {0};
    MUST(d->ops->stream_open(d, &s, "s", &err));
    MUST(d->ops->event_open(d, &e, 0, &err));
    *(void **)&get = cuda_library_symbol(d, CUDA_GRAPH_SYMBOL, &why);
    MUST(!get || get()->begin(s, &err));
    MUST(d->ops->event_record(e, s, &err));
    CHECK(d->ops->event_wait(e, &why) == ERR_DEVICE, "a wait inside a capture");
    printf("  %s\n", why.msg);
    CHECK(get()->end(s, &graph, &why) == ERR_DEVICE && !graph, "the capture goes on");
    printf("  %s\n", why.msg);
    CHECK(d->ops->stream_wait_idle(s, &why) == ERR_DEVICE && strstr(why.msg, "work that was waited for"),
          "%s", why.msg);
    CHECK(d->ops->stream_wait_idle(s, &why) == ERR_DEVICE, "the error is still there");
    d->ops->event_close(e);
    d->ops->stream_close(s);
    device_close(d);
    d = open_gpu(0); /* opened again, the same GPU works */
    MUST(d->ops->stream_open(d, &s, "s", &err));
    MUST(d->ops->stream_wait_idle(s, &err));
    d->ops->stream_close(s);
    device_close(d);
}

/* ---- the preprocessing ---- */

typedef struct Bench { /* what runs of the preprocessing on a device need */
    Device *d;
    Stream *s;
    Preprocess *p;
    uint8_t *raw, *out;
    PreprocessArgs args; /* with addresses on the device */
} Bench;

static void bench_open(Bench *k, Device *d, const TestBatch *b, const Config *cfg, int normalise)
{
    *k = (Bench){.d = d, .args = b->args};
    MUST(d->ops->stream_open(d, &k->s, "preprocess", &err));
    MUST(preprocess_open(&k->p, d, cfg, normalise ? b->mean : NULL, normalise ? b->deviation : NULL, &err));
    k->raw = gpu_memory(d, b->args.in_layout.bytes);
    k->out = gpu_memory(d, b->args.out_layout.bytes);
    k->args.raw = k->raw;
    k->args.out = k->out;
    MUST(d->ops->copy_in(k->s, k->raw, b->raw, b->args.in_layout.bytes, &err));
    uint8_t *poison = host_memory(b->args.out_layout.bytes);
    memset(poison, POISON, b->args.out_layout.bytes);
    MUST(d->ops->copy_in(k->s, k->out, poison, b->args.out_layout.bytes, &err));
    MUST(d->ops->stream_wait_idle(k->s, &err));
    free(poison);
}

static void bench_result(Bench *k, uint8_t *out)
{
    MUST(k->d->ops->copy_out(k->s, out, k->out, k->args.out_layout.bytes, &err));
    MUST(k->d->ops->stream_wait_idle(k->s, &err));
}

static void bench_close(Bench *k)
{
    preprocess_close(k->p);
    device_free(k->d, k->raw, k->args.in_layout.bytes);
    device_free(k->d, k->out, k->args.out_layout.bytes);
    k->d->ops->stream_close(k->s);
}

/* The host's result into b->out. */
static void run_host(TestBatch *b, const Config *cfg, int normalise)
{
    Device *d;
    MUST(device_open(&d, "cpu", NULL, &err));
    Stream *s;
    Preprocess *p;
    MUST(d->ops->stream_open(d, &s, "host", &err));
    MUST(preprocess_open(&p, d, cfg, normalise ? b->mean : NULL, normalise ? b->deviation : NULL, &err));
    MUST(preprocess_run(p, s, &b->args, &err));
    preprocess_close(p);
    d->ops->stream_close(s);
    device_close(d);
}

/* Largest difference of the log mel, and relative one of the mel itself. */
static void compare_mel(const PreprocessArgs *a, const uint8_t *x, const uint8_t *y, double *log_most,
                        double *linear_most)
{
    const float *p = (const float *)(const void *)(x + a->out_layout.mel),
                *q = (const float *)(const void *)(y + a->out_layout.mel);
    *log_most = *linear_most = 0;
    for (size_t i = 0; i < (size_t)a->rows * (size_t)a->frames * (size_t)a->bands; i++) {
        double log_difference = fabs((double)p[i] - (double)q[i]),
               linear = fabs(expm1((double)p[i] - (double)q[i]));
        if (!(log_difference <= 1e9))
            log_difference = linear = INFINITY;
        *log_most = fmax(*log_most, log_difference);
        *linear_most = fmax(*linear_most, linear);
    }
}

typedef struct Case {
    const char *name;
    int n_fft, win, hop, bands;
    int rows, text, frames, mel_bytes, from_samples, augment, normalise;
    int segments; /* for a vocoder */
} Case;

static const Case cases[] = {
    {"cache f32", 1024, 1024, 256, 80, 32, 120, 800, 4, 0, 0, 1},
    {"cache f16", 1024, 1024, 256, 80, 32, 120, 800, 2, 0, 0, 1},
    {"cache f32, odd sizes", 1024, 1024, 256, 79, 7, 33, 101, 4, 0, 0, 1},
    {"cache f16, odd sizes", 1024, 1024, 256, 13, 5, 1, 77, 2, 0, 0, 1},
    {"cache f16, not normalised", 1024, 1024, 256, 80, 3, 17, 65, 2, 0, 0, 0},
    {"cache, one frame", 1024, 1024, 256, 80, 1, 1, 1, 4, 0, 0, 1},
    {"cache f32, augmented", 1024, 1024, 256, 80, 32, 50, 400, 4, 0, 1, 1},
    {"cache f16, augmented, odd", 1024, 1024, 256, 21, 9, 50, 131, 2, 0, 1, 1},
    {"mel 1024/256", 1024, 1024, 256, 80, 32, 100, 570, 4, 1, 0, 0},
    {"mel 1024/256, normalised", 1024, 1024, 256, 80, 17, 100, 333, 4, 1, 0, 1},
    {"mel 1024/256, augmented", 1024, 1024, 256, 80, 17, 100, 333, 4, 1, 1, 1},
    {"mel 1024/300, window 800", 1024, 800, 300, 100, 5, 10, 41, 4, 1, 0, 0},
    {"mel 1024, one frame", 1024, 1024, 256, 80, 3, 1, 1, 4, 1, 0, 0},
    {"mel 512/100", 512, 400, 100, 80, 8, 10, 60, 4, 1, 0, 0},
    {"mel 2048/300", 2048, 1200, 300, 80, 4, 10, 60, 4, 1, 0, 1},
    {"mel 4096/1024", 4096, 4096, 1024, 128, 3, 10, 25, 4, 1, 0, 1},
    {"mel 1000/250, augmented", 1000, 1000, 250, 80, 5, 10, 40, 4, 1, 1, 1},
    {"mel 255/64 (odd)", 255, 255, 64, 20, 4, 10, 37, 4, 1, 0, 1},
    {"mel 202/50 (a prime)", 202, 202, 50, 16, 4, 10, 37, 4, 1, 0, 1},
    {"segments", 1024, 1024, 256, 80, 32, 0, 48, 4, 1, 0, 0, 1},
    {"segments, odd sizes", 1024, 1000, 251, 79, 7, 0, 33, 4, 1, 0, 0, 1},
    {"segments 2048/300", 2048, 1200, 300, 100, 5, 0, 9, 4, 1, 0, 0, 1},
};

static void test_preprocess(void)
{
    Device *d = open_gpu(0);
    printf("  %-28s %10s %10s %12s %12s\n", "case", "values", "differ", "log mel", "linear");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const Case *c = &cases[i];
        Config cfg = mel_settings(c->n_fft, c->win, c->hop, c->bands);
        if (c->augment) {
            cfg.augment_gain_db = cfg.augment_noise_db = 10;
            cfg.augment_speed = 0.5;
        }
        cfg.network = c->segments ? NETWORK_VOCODER : NETWORK_VOICE;
        int64_t samples = c->segments       ? (int64_t)(c->frames - 1) * c->hop
                          : c->from_samples ? (int64_t)c->frames * c->hop - (int64_t)(i % 2)
                                            : 0;
        TestBatch b;
        batch_make(&b, &cfg, c->rows, c->text, c->frames, c->mel_bytes, samples, (uint64_t)(1000 + i));
        run_host(&b, &cfg, c->normalise);
        Bench k;
        bench_open(&k, d, &b, &cfg, c->normalise);
        uint8_t *out = host_memory(b.args.out_layout.bytes);
        MUST(preprocess_run(k.p, k.s, &k.args, &err));
        bench_result(&k, out);
        int64_t differ = batch_differences(&b.args, b.out, out);
        double log_most, linear_most;
        compare_mel(&b.args, b.out, out, &log_most, &linear_most);
        printf("  %-28s %10lld %10lld %12.3g %12.3g\n", c->name, (long long)c->rows * c->frames * c->bands,
               (long long)differ, log_most, linear_most);
        CHECK(differ == 0, "%s: %lld values are not those of the host", c->name, (long long)differ);
        CHECK(log_most <= 1e-4 && linear_most <= 1e-4, "%s", c->name);
        CHECK(preprocess_bytes(k.p) > 0, "%s", c->name);
        bench_close(&k);
        free(out);
        batch_free(&b);
    }
    CHECK(d->used == 0, "%llu bytes are still taken", (unsigned long long)d->used);
    device_close(d);
}

static void test_too_large(void)
{
    Device *d = open_gpu(0);
    Config cfg = mel_settings(16383, 16383, 4096, 80);
    TestBatch b;
    Bench k;
    Err why = {0};
    batch_make(&b, &cfg, 2, 3, 3, 4, 3 * 4096, 1);
    bench_open(&k, d, &b, &cfg, 0);
    CHECK(preprocess_run(k.p, k.s, &k.args, &why) == ERR_DEVICE && strstr(why.msg, "16383"), "%s", why.msg);
    printf("  an n_fft too large: %s\n", why.msg);
    bench_close(&k);
    batch_free(&b);
    device_close(d);
}

/* The preprocessing captured as a graph gives the same, as often as it is launched. */
static void test_graph(void)
{
    Device *d = open_gpu(0);
    Config cfg = mel_settings(1024, 1024, 256, 80);
    TestBatch b;
    Bench k;
    batch_make(&b, &cfg, 6, 20, 50, 4, 50 * 256, 5);
    run_host(&b, &cfg, 1);
    bench_open(&k, d, &b, &cfg, 1);
    CudaGraphGet get;
    Err why = {0};
    *(void **)&get = cuda_library_symbol(d, CUDA_GRAPH_SYMBOL, &why);
    CHECK(get != NULL, "%s", why.msg);
    CHECK(cuda_library_symbol(d, "no_such_function", &why) == NULL && strstr(why.msg, "no_such_function"),
          "%s", why.msg);
    const CudaGraphOps *g = get();
    void *graph;
    MUST(g->begin(k.s, &err));
    MUST(preprocess_run(k.p, k.s, &k.args, &err));
    MUST(g->end(k.s, &graph, &err));
    uint8_t *out = host_memory(b.args.out_layout.bytes);
    bench_result(&k, out);
    CHECK(out[b.args.out_layout.mel] == POISON, "a capture runs nothing");
    for (int i = 0; i < 2; i++) {
        MUST(d->ops->fill_zero(k.s, k.out, b.args.out_layout.bytes, &err));
        MUST(g->launch(graph, k.s, &err));
        bench_result(&k, out);
        CHECK(batch_differences(&b.args, b.out, out) == 0, "launch %d", i);
    }
    g->destroy(graph);
    g->destroy(NULL);
    free(out);
    bench_close(&k);
    batch_free(&b);
    device_close(d);
}

/* ---- how fast ---- */

/* Median of `times` device times of `batches` runs that rotate among `sets` inputs. */
static double time_runs(Bench *k, uint8_t **raws, int sets, int batches, int times)
{
    const DeviceOps *o = k->d->ops;
    Event *a, *b;
    double all[32];
    MUST(o->event_open(k->d, &a, 1, &err));
    MUST(o->event_open(k->d, &b, 1, &err));
    for (int t = -1; t < times; t++) { /* the first is not counted */
        Err err = {0};
        int rc = o->event_record(a, k->s, &err);
        for (int i = 0; i < batches && !rc; i++) {
            k->args.raw = raws[i % sets];
            rc = preprocess_run(k->p, k->s, &k->args, &err);
        }
        rc = rc ? rc : o->event_record(b, k->s, &err);
        rc = rc ? rc : o->event_wait(b, &err);
        CHECK(!rc, "%s", err.msg);
        double seconds = o->event_seconds(a, b);
        int at = t;
        for (; at > 0 && all[at - 1] > seconds; at--)
            all[at] = all[at - 1];
        if (t >= 0)
            all[at] = seconds;
    }
    o->event_close(a);
    o->event_close(b);
    printf("    %d times: %.3f ms .. %.3f ms\n", times, all[0] * 1e3, all[times - 1] * 1e3);
    return all[times / 2];
}

static double speed_of(const char *name, const Config *cfg, int rows, int frames, int mel_bytes,
                       int64_t samples, int batches)
{
    enum { SETS = 6 }; /* together larger than the caches */
    Device *d = open_gpu(0);
    TestBatch b;
    Bench k;
    batch_make(&b, cfg, rows, 120, frames, mel_bytes, samples, 77);
    for (int r = 0; r < rows; r++) { /* all full */
        if (samples) {
            ints(b.raw, b.args.in_layout.sample_length)[r] = (int32_t)samples;
            memmove(floats(b.raw, b.args.in_layout.samples) + r * samples,
                    floats(b.raw, b.args.in_layout.samples), (size_t)samples * 4);
        } else {
            size_t row = (size_t)frames * (size_t)cfg->n_mels * (size_t)mel_bytes;
            ints(b.raw, b.args.in_layout.mel_length)[r] = frames;
            memmove(b.raw + b.args.in_layout.mel + (size_t)r * row, b.raw + b.args.in_layout.mel, row);
        }
    }
    bench_open(&k, d, &b, cfg, 1);
    uint8_t *raws[SETS] = {k.raw};
    for (int i = 1; i < SETS; i++) {
        raws[i] = gpu_memory(d, b.args.in_layout.bytes);
        MUST(d->ops->copy_in(k.s, raws[i], b.raw, b.args.in_layout.bytes, &err));
    }
    MUST(d->ops->stream_wait_idle(k.s, &err));
    printf("  %s: %d batches of %d\n", name, batches, rows);
    double seconds = time_runs(&k, raws, SETS, batches, 9);
    for (int i = 1; i < SETS; i++)
        device_free(d, raws[i], b.args.in_layout.bytes);
    bench_close(&k);
    batch_free(&b);
    device_close(d);
    return seconds;
}

static void measure_speed(void)
{
    Config cfg = mel_settings(1024, 1024, 256, 80);
    const int rows = 32, batches = (13100 + 31) / 32;
    const int64_t samples = (int64_t)(6.6 * 22050);
    const int frames = (int)(1 + samples / 256);
    double s = speed_of("mel of 13,100 clips of 6.6 s", &cfg, rows, frames, 4, samples, batches);
    printf("    %.1f ms of device time, %.1f million frames/s (%d frames each)\n", s * 1e3,
           (double)batches * rows * frames / s / 1e6, frames);
    CHECK(s > 0, "no time");
    s = speed_of("cached mels, half, 800 frames", &cfg, rows, 800, 2, 0, batches);
    printf("    %.1f us a batch, %.0f utterances/s, %.0f GB/s read and written\n", s / batches * 1e6,
           (double)batches * rows / s, (double)batches * rows * 800 * 80 * 6 / s / 1e9);
    cfg.augment_gain_db = cfg.augment_noise_db = 20;
    s = speed_of("the same with gain and noise", &cfg, rows, 800, 2, 0, batches);
    printf("    %.1f us a batch, %.0f utterances/s\n", s / batches * 1e6, (double)batches * rows / s);
    cfg = mel_settings(512, 400, 100, 80);
    s = speed_of("mel with n_fft 512, hop 100", &cfg, rows, 570, 4, 570 * 100 - 1, 40);
    printf("    %.1f million frames/s\n", 40.0 * rows * 570 / s / 1e6);
}

static void measure_bandwidth(void)
{
    const size_t n = (size_t)256 << 20;
    Device *d = open_gpu(0);
    const DeviceOps *o = d->ops;
    Stream *s;
    Event *a, *b;
    MUST(o->stream_open(d, &s, "copy", &err));
    MUST(o->event_open(d, &a, 1, &err));
    MUST(o->event_open(d, &b, 1, &err));
    void *memory = gpu_memory(d, n), *other = gpu_memory(d, n), *pinned, *pageable = host_memory(n);
    MUST(o->pinned_alloc(d, &pinned, n, &err));
    fill_random(pinned, n, 1);
    memcpy(pageable, pinned, n);
    const char *names[] = {"host to device, pinned", "host to device, pageable", "device to host, pinned",
                           "within the device"};
    for (int kind = 0; kind < 4; kind++) {
        double best = 1e9;
        for (int i = 0; i < 5; i++) {
            MUST(o->event_record(a, s, &err));
            if (kind < 2)
                MUST(o->copy_in(s, memory, kind ? pageable : pinned, n, &err));
            else if (kind == 2)
                MUST(o->copy_out(s, pinned, memory, n, &err));
            else
                MUST(o->copy_peer(s, other, d, memory, n, &err));
            MUST(o->event_record(b, s, &err));
            MUST(o->event_wait(b, &err));
            best = fmin(best, o->event_seconds(a, b));
        }
        printf("  %-28s %8.2f GB/s\n", names[kind], (double)n / best / 1e9);
    }
    free(pageable);
    o->pinned_free(d, pinned);
    device_free(d, memory, n);
    device_free(d, other, n);
    o->event_close(a);
    o->event_close(b);
    o->stream_close(s);
    device_close(d);
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    Device *d;
    Err err = {0};
    if (device_open(&d, "0", NULL, &err)) {
        printf("SKIPPED: %s\n", err.msg);
        if (err.hint[0])
            printf("  hint: %s\n", err.hint);
        return 77;
    }
    device_close(d);
    const struct {
        const char *name;
        void (*run)(void);
    } tests[] = {
        {"open", test_open},
        {"memory cap", test_cap},
        {"copies", test_copies},
        {"events", test_events},
        {"somebody else's stream", test_wrapped_stream},
        {"staged copies", test_staged},
        {"preprocessing, GPU against host", test_preprocess},
        {"n_fft too large", test_too_large},
        {"graph", test_graph},
        {"speed of the preprocessing", measure_speed},
        {"speed of copies", measure_bandwidth},
        {"errors stick", test_errors_stick},
    };
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        int before = failed;
        printf("%s\n", tests[i].name);
        tests[i].run();
        printf("%s: %s\n", tests[i].name, failed == before ? "ok" : "FAILED");
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
