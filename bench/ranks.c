/* ranks.c - how fast ranks talk to each other: started by mpirun, torchrun or srun, or alone.
 *
 * usage: mpirun -n 4 build/bench/ranks [--floats N] [--seconds S] [--gpu]
 *
 * Rank 0 prints a table: how long a barrier takes, a sum of N numbers (5 MB unless given) in fp32 and
 * bf16, a broadcast; and what share of a core a rank uses while it waits. With --gpu it is NCCL
 * that sums, on the GPU that has the rank's number on its host (MYXTTS_RANKS=1 with one process), also in a
 * captured graph; every result is compared with the host's. Exit status 1 when one is wrong, 3 when it cannot
 * work. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "device/cuda_graph.h"
#include "device/cuda_library.h"
#include "device/device.h"
#include "ranks/ranks.h"
#include "ranks/ranks_nccl.h"

typedef struct Bench {
    Ranks *r;
    int64_t n;
    double seconds; /* for each measurement */
    float *p;
    void *scratch;
    SumType type;
    int wrong; /* a result of the GPU */
} Bench;

typedef int (*Work)(Bench *b, Err *err);

static int work_barrier(Bench *b, Err *err) { return ranks_barrier(b->r, err); }
static int work_sum(Bench *b, Err *err) { return ranks_sum(b->r, b->p, b->n, b->type, b->scratch, err); }

static int work_broadcast(Bench *b, Err *err)
{
    return ranks_broadcast(b->r, b->p, (size_t)b->n * sizeof *b->p, 0, err);
}

/* Every rank makes as many rounds as rank 0 thinks right. */
static int measure(Bench *b, const char *name, Work work, double bytes, Err *err)
{
    int rounds = 4, rc = 0;
    double took = 0;
    while (!rc) {
        for (int64_t i = 0; i < b->n; i++)
            b->p[i] = 1;
        rc = ranks_barrier(b->r, err);
        double since = clock_now();
        for (int i = 0; i < rounds && !rc; i++)
            rc = work(b, err);
        took = clock_now() - since;
        double slowest = took;
        if (!rc)
            rc = ranks_broadcast(b->r, &slowest, sizeof slowest, 0, err);
        if (rc || slowest >= b->seconds)
            break;
        rounds =
            slowest * 2 > b->seconds ? rounds * 2 : (int)(rounds * (b->seconds / (slowest + 1e-6)) * 1.2);
    }
    if (rc)
        return rc;
    double each = took / rounds;
    if (ranks_rank(b->r) == 0 && bytes > 0)
        printf("  %-24s %9.1f us  %8.2f GB/s\n", name, each * 1e6, bytes / each * 1e-9);
    else if (ranks_rank(b->r) == 0)
        printf("  %-24s %9.1f us\n", name, each * 1e6);
    return 0;
}

static int measure_waiting(Bench *b, Err *err)
{
    int rc = ranks_barrier(b->r, err);
    double cpu = clock_cpu(), since = clock_now();
    if (ranks_rank(b->r) == 0)
        clock_sleep(2);
    if (!rc)
        rc = ranks_barrier(b->r, err);
    double share = (clock_cpu() - cpu) / (clock_now() - since);
    if (!rc)
        rc = ranks_broadcast(b->r, &share, sizeof share, ranks_count(b->r) - 1, err);
    if (!rc && ranks_rank(b->r) == 0)
        printf("  %-24s %9.2f %% of a core\n", "waiting", share * 100);
    return rc;
}

static int run(Bench *b, Err *err)
{
    double bytes = (double)b->n * sizeof *b->p;
    size_t wide = ranks_sum_scratch(b->r, b->n, SUM_FP32), narrow = ranks_sum_scratch(b->r, b->n, SUM_BF16);
    b->p = mem_calloc((size_t)b->n + 1, sizeof *b->p);
    b->scratch = mem_calloc((wide > narrow ? wide : narrow) + 1, 1);
    if (!b->p || !b->scratch)
        return err_set(err, ERR_NOMEM, "no memory for %lld numbers", (long long)b->n);
    if (ranks_rank(b->r) == 0)
        printf("%d ranks (this is %d of %d on %s), %s; %.1f MB\n", ranks_count(b->r), ranks_local(b->r),
               ranks_locals(b->r), ranks_host(b->r, 0), ranks_transport(b->r), bytes * 1e-6);
    int rc = measure(b, "barrier", work_barrier, 0, err);
    b->type = SUM_FP32;
    if (!rc)
        rc = measure(b, "sum, fp32", work_sum, bytes, err);
    b->type = SUM_BF16;
    if (!rc)
        rc = measure(b, "sum, bf16", work_sum, bytes, err);
    if (!rc)
        rc = measure(b, "broadcast", work_broadcast, bytes, err);
    if (!rc)
        rc = measure_waiting(b, err);
    return rc;
}

/* ---- on the GPU ---- */

typedef struct Gpu {
    Bench *b;
    Device *d;
    Stream *s;
    RanksNccl *c;
    const CudaGraphOps *graphs;
    void *graph;
    float *p; /* of the device, as are: */
    void *scratch;
    size_t bytes, scratch_bytes;
} Gpu;

typedef int (*GpuWork)(Gpu *g, SumType type, Err *err);

static int gpu_sum(Gpu *g, SumType type, Err *err)
{
    return ranks_nccl_sum(g->c, g->s, g->p, g->b->n, type, g->scratch, err);
}

static int gpu_graph(Gpu *g, SumType type, Err *err)
{
    int rc = 0;
    if (!g->graph) {
        rc = g->graphs->begin(g->s, err);
        if (!rc)
            rc = gpu_sum(g, type, err);
        void *graph = NULL;
        int end = g->graphs->end(g->s, &graph, rc ? NULL : err);
        g->graph = graph;
        rc = rc ? rc : end;
    }
    return rc ? rc : g->graphs->launch(g->graph, g->s, err);
}

/* Different numbers on every rank; b->p has what the host makes of them. */
static int gpu_check(Gpu *g, GpuWork work, SumType type, int is_sum, Err *err)
{
    Bench *b = g->b;
    float *got = mem_calloc((size_t)b->n + 1, sizeof *got);
    if (!got)
        return err_set(err, ERR_NOMEM, "no memory for %lld numbers", (long long)b->n);
    for (int64_t i = 0; i < b->n; i++)
        b->p[i] = (float)((double)((i * 7919 + ranks_rank(b->r) * 104729) % 1000003) * 1e-3 - 300.0);
    int rc = g->d->ops->copy_in(g->s, g->p, b->p, g->bytes, err);
    if (!rc)
        rc = work(g, type, err);
    if (!rc)
        rc = g->d->ops->copy_out(g->s, got, g->p, g->bytes, err);
    if (!rc)
        rc = g->d->ops->stream_wait_idle(g->s, err);
    if (!rc)
        rc = is_sum ? ranks_sum(b->r, b->p, b->n, type, b->scratch, err)
                    : ranks_broadcast(b->r, b->p, g->bytes, 0, err);
    if (!rc && memcmp(got, b->p, g->bytes) != 0) {
        rc = err_set(err, ERR_DATA, "the GPU's numbers are not the host's");
        b->wrong = 1;
    }
    free(got);
    return rc;
}

static int gpu_measure(Gpu *g, const char *name, GpuWork work, SumType type, int is_sum, Err *err)
{
    int rounds = 50;
    int rc = gpu_check(g, work, type, is_sum, err);
    if (!rc)
        rc = ranks_barrier(g->b->r, err);
    double since = clock_now();
    for (int i = 0; i < rounds && !rc; i++)
        rc = work(g, type, err);
    double queued = clock_now() - since;
    if (!rc)
        rc = g->d->ops->stream_wait_idle(g->s, err);
    double each = (clock_now() - since) / rounds;
    if (!rc && ranks_rank(g->b->r) == 0)
        printf("  %-24s %9.1f us  %8.2f GB/s  (%.1f us to enqueue)\n", name, each * 1e6,
               (double)g->bytes / each * 1e-9, queued / rounds * 1e6);
    g->graphs->destroy(g->graph);
    g->graph = NULL;
    return rc;
}

static int gpu_open(Gpu *g, Log *log, Err *err)
{
    char name[16];
    CudaGraphGet get;
    DeviceOptions options = {.log = log};
    snprintf(name, sizeof name, "%d", ranks_local(g->b->r));
    int rc = device_open(&g->d, name, &options, err);
    void *symbol = rc ? NULL : cuda_library_symbol(g->d, CUDA_GRAPH_SYMBOL, err);
    if (!symbol)
        return rc ? rc : ERR_DEVICE;
    memcpy(&get, &symbol, sizeof get);
    g->graphs = get();
    rc = g->d->ops->stream_open(g->d, &g->s, "ranks", err);
    if (!rc)
        rc = ranks_nccl_open(&g->c, g->b->r, g->d, err);
    if (rc)
        return rc;
    size_t wide = ranks_nccl_scratch(g->b->r, g->b->n, SUM_FP32),
           narrow = ranks_nccl_scratch(g->b->r, g->b->n, SUM_BF16);
    g->bytes = (size_t)g->b->n * sizeof *g->p;
    g->scratch_bytes = wide > narrow ? wide : narrow;
    void *p = NULL;
    rc = device_alloc(g->d, &p, g->bytes, err);
    g->p = p;
    return rc ? rc : device_alloc(g->d, &g->scratch, g->scratch_bytes, err);
}

static int run_gpu(Bench *b, Log *log, Err *err)
{
    Gpu g = {.b = b};
    int rc = gpu_open(&g, log, err);
    if (!rc && ranks_rank(b->r) == 0)
        printf("  on %s, by NCCL:\n", g.d->model);
    if (!rc)
        rc = gpu_measure(&g, "sum, fp32", gpu_sum, SUM_FP32, 1, err);
    if (!rc)
        rc = gpu_measure(&g, "sum, bf16", gpu_sum, SUM_BF16, 1, err);
    if (!rc)
        rc = gpu_measure(&g, "sum in a graph, fp32", gpu_graph, SUM_FP32, 1, err);
    if (!rc)
        rc = gpu_measure(&g, "sum in a graph, bf16", gpu_graph, SUM_BF16, 1, err);
    if (!rc)
        ranks_nccl_close(g.c);
    if (g.p)
        device_free(g.d, g.p, g.bytes);
    if (g.scratch)
        device_free(g.d, g.scratch, g.scratch_bytes);
    if (g.s)
        g.d->ops->stream_close(g.s);
    device_close(g.d);
    return rc;
}

int main(int argc, char **argv)
{
    int gpu = 0;
    Bench b = {.n = 1250000, .seconds = 0.5};
    Log log;
    Err err = {0};
    RankPlace place;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--floats") && i + 1 < argc)
            b.n = atoll(argv[++i]);
        else if (!strcmp(argv[i], "--seconds") && i + 1 < argc)
            b.seconds = atof(argv[++i]);
        else if (!strcmp(argv[i], "--gpu"))
            gpu = 1;
        else {
            fprintf(stderr, "usage: mpirun -n 4 build/bench/ranks [--floats N] [--seconds S] [--gpu]\n");
            return 2;
        }
    }
    log_init(&log, LOG_WARN);
    int rc = rank_place_read(&place, &err);
    if (!rc)
        rc = ranks_open(&b.r, &place, &log, &err);
    char floats[32];
    snprintf(floats, sizeof floats, "%lld", (long long)b.n);
    if (!rc)
        rc = ranks_agree(b.r, "--floats", floats, &err);
    if (!rc)
        rc = run(&b, &err);
    if (!rc && gpu)
        rc = run_gpu(&b, &log, &err);
    if (rc) {
        ranks_fail(b.r, &err);
        log_err(&log, &err);
    }
    ranks_close(b.r);
    free(b.p);
    free(b.scratch);
    return b.wrong ? 1 : err_exit_code(rc);
}
