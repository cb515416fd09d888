/* ranks.c - how fast ranks talk to each other: started by mpirun, torchrun or srun, or alone.
 *
 * usage: mpirun -n 4 build/bench/ranks [--floats N] [--seconds S]
 *
 * Rank 0 prints a table: how long a barrier takes, a sum of N numbers (5 MB unless given) in fp32 and bf16
 * and in two halves, a broadcast; and what share of a core a rank uses while it waits.
 * Exit status 3 when it cannot work. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "ranks/ranks.h"

typedef struct Bench {
    Ranks *r;
    int64_t n;
    double seconds; /* for each measurement */
    float *p;
    void *scratch;
    SumType type;
} Bench;

typedef int (*Work)(Bench *b, Err *err);

static int work_barrier(Bench *b, Err *err) { return ranks_barrier(b->r, err); }
static int work_sum(Bench *b, Err *err) { return ranks_sum(b->r, b->p, b->n, b->type, b->scratch, err); }

static int work_halves(Bench *b, Err *err)
{
    int rc = ranks_reduce(b->r, b->p, b->n, b->type, b->scratch, err);
    return rc ? rc : ranks_collect(b->r, b->p, b->n, b->type, b->scratch, err);
}

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
    if (!rc)
        rc = measure(b, "sum in halves, fp32", work_halves, bytes, err);
    b->type = SUM_BF16;
    if (!rc)
        rc = measure(b, "sum, bf16", work_sum, bytes, err);
    if (!rc)
        rc = measure(b, "broadcast", work_broadcast, bytes, err);
    if (!rc)
        rc = measure_waiting(b, err);
    return rc;
}

int main(int argc, char **argv)
{
    Bench b = {.n = 1250000, .seconds = 0.5};
    Log log;
    Err err = {0};
    RankPlace place;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--floats") && i + 1 < argc)
            b.n = atoll(argv[++i]);
        else if (!strcmp(argv[i], "--seconds") && i + 1 < argc)
            b.seconds = atof(argv[++i]);
        else {
            fprintf(stderr, "usage: mpirun -n 4 build/bench/ranks [--floats N] [--seconds S]\n");
            return 2;
        }
    }
    log_init(&log, LOG_WARN);
    int rc = rank_place_read(&place, &err);
    if (!rc)
        rc = ranks_open(&b.r, &place, &log, &err);
    if (!rc)
        rc = ranks_agree(b.r, "--floats", b.n == 1250000 ? "1250000" : "other", &err);
    if (!rc)
        rc = run(&b, &err);
    if (rc) {
        ranks_fail(b.r, &err);
        log_err(&log, &err);
    }
    ranks_close(b.r);
    free(b.p);
    free(b.scratch);
    return err_exit_code(rc);
}
