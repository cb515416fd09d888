/* rank_worker.c - see rank_worker.h. Scenarios:
 *   check                every collective call, its results compared with what one process computes; prints
 *                        "sums HASH", the same for every transport, rank and run with as many ranks
 *   steps N WHAT RANK    N steps with a sum each; in step 20 RANK does WHAT: kill, stop, fail, hang, exit,
 *                        crash, leave (closes), none. Prints "stopped PID" before it stops
 *   wait SECONDS         rank 0 sleeps, the others wait for it in a barrier; prints "waited SECONDS CPU"
 *   agree KEY VALUE...   the rank's own of the values (the last counts for the rest)
 *   mismatch             rank 1 makes another call than the others
 *   lanes                two threads sum and gather at once */
#include "rank_worker.h"

#include <arpa/inet.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bf16.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/rng.h"
#include "ranks/ranks.h"

enum { BROADCAST_BYTES = 50000000, WRONG = 1 };

/* OpenMPI and what it loads keep memory until the process ends. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libmpi\nleak:libopen-\nleak:libpmix\nleak:mca_\nleak:libevent\nleak:libhwloc\nleak:dlopen\n"
           "leak:_dl_\nleak:libdl\nleak:libc.so\nleak:libmpich\nleak:ucs_\nleak:libuc\nleak:libfabric\n";
}
static int wrong(Ranks *r, const char *what)
{
    fprintf(stderr, "rank %d: %s is wrong\n", ranks_rank(r), what);
    return WRONG;
}

/* Rank r's number i: of very different sizes, so that the order of additions shows. */
static float number_of(int rank, int64_t i)
{
    uint64_t h = ((uint64_t)rank * 1000003 + (uint64_t)i) * 0x9E3779B97F4A7C15u;
    h ^= h >> 29;
    h *= 0xBF58476D1CE4E5B9u;
    h ^= h >> 32;
    double x = (double)(h & 0xFFFFFF) / 0x1000000 - 0.5;
    return (float)ldexp(x, (int)(h >> 40 & 31) - 10);
}

static float sum_of(int count, int64_t i, SumType type)
{
    float sum = 0;
    for (int k = 0; k < count; k++) {
        float x = number_of(k, i);
        x = type == SUM_BF16 ? bf16_to_float(bf16_from_float(x)) : x;
        sum = k ? sum + x : x;
    }
    return sum;
}

static int same_bits(float a, float b) { return memcmp(&a, &b, sizeof a) == 0; }

/* One length, one type. */
static int check_sum(Ranks *r, int64_t n, SumType type, Hasher *hash, Err *err)
{
    int count = ranks_count(r), rank = ranks_rank(r), rc, bad = 0;
    float *p = malloc((size_t)n * sizeof *p + 64);
    char *scratch = malloc(ranks_sum_scratch(r, n, type) + 1);
    for (int64_t i = 0; i < n; i++)
        p[i] = number_of(rank, i);
    p[n] = 12345; /* nothing behind the end is touched */
    rc = ranks_sum(r, p, n, type, scratch, err);
    for (int64_t i = 0; !rc && i < n; i++) {
        float sum = sum_of(count, i, type);
        bad |= !same_bits(p[i], type == SUM_BF16 ? bf16_to_float(bf16_from_float(sum)) : sum);
    }
    bad |= !rc && p[n] != 12345;
    hasher_bytes(hash, p, (size_t)n * sizeof *p);
    free(p);
    free(scratch);
    return rc ? rc : bad ? wrong(r, type == SUM_BF16 ? "a sum in bf16" : "a sum") : 0;
}

static int check_sums(Ranks *r, Err *err)
{
    int count = ranks_count(r), rc = 0;
    int64_t lengths[] = {0,    1,     2,     count - 1, count,  count + 1, 17,
                         1009, 65535, 65536, 65537,     131071, 300007,    1250000};
    Hasher hash;
    if (hasher_open(&hash))
        return ERR_NOMEM;
    for (size_t i = 0; !rc && i < sizeof lengths / sizeof *lengths; i++)
        rc = check_sum(r, lengths[i], SUM_FP32, &hash, err);
    for (size_t i = 0; !rc && i < sizeof lengths / sizeof *lengths; i++)
        rc = check_sum(r, lengths[i], SUM_BF16, &hash, err);
    Hash128 h = hasher_close(&hash);
    if (!rc)
        printf("sums %016llx%016llx\n", (unsigned long long)h.hi, (unsigned long long)h.lo);
    return rc;
}

static int check_gathers(Ranks *r, Err *err)
{
    int count = ranks_count(r), rank = ranks_rank(r), rc = 0, bad = 0;
    uint32_t mine[3] = {(uint32_t)rank, 7, (uint32_t)rank * 3}, *all = calloc((size_t)count, sizeof mine);
    size_t *sizes = calloc((size_t)count, sizeof *sizes), at = 0;
    Buf any = {0};
    rc = ranks_gather(r, all, mine, sizeof mine, err);
    for (int i = 0; i < count; i++)
        bad |= all[i * 3] != (uint32_t)i || all[i * 3 + 2] != (uint32_t)i * 3;
    if (!rc)
        rc = ranks_gather(r, NULL, NULL, 0, err);
    /* Small pieces, then large ones, some empty. */
    for (size_t unit = 1; !rc && unit < 4000000; unit *= 1000) {
        size_t bytes = (size_t)rank * unit;
        char *piece = malloc(bytes + 1);
        memset(piece, 'a' + rank, bytes);
        rc = ranks_gather_any(r, &any, sizes, piece, bytes, err);
        at = 0;
        for (int i = 0; !rc && i < count; i++) {
            bad |= sizes[i] != (size_t)i * unit;
            for (size_t k = 0; k < sizes[i]; k += 97)
                bad |= any.data[at + k] != 'a' + i;
            at += sizes[i];
        }
        bad |= !rc && at != any.size;
        free(piece);
    }
    if (!rc)
        rc = ranks_gather_any(r, &any, sizes, NULL, 0, err);
    bad |= !rc && any.size != 0;
    buf_free(&any);
    free(sizes);
    free(all);
    return rc ? rc : bad ? wrong(r, "a gather") : 0;
}

static int check_broadcasts(Ranks *r, Err *err)
{
    int rc = 0, bad = 0;
    size_t most = ranks_count(r) > 3 ? BROADCAST_BYTES / 10 : BROADCAST_BYTES;
    size_t sizes[] = {0, 1, 1000003, most};
    unsigned char *p = malloc(most);
    for (int from = 0; from < ranks_count(r) && !rc; from++) {
        size_t bytes = sizes[from ? from % 3 : 3]; /* all sizes, the largest from rank 0 */
        if (from == ranks_count(r) - 1)
            bytes = most / 3;
        for (size_t i = 0; i < bytes; i++)
            p[i] = ranks_rank(r) == from ? (unsigned char)(i * 31 + (size_t)from) : 0;
        rc = ranks_broadcast(r, p, bytes, from, err);
        for (size_t i = 0; i < bytes; i++)
            bad |= p[i] != (unsigned char)(i * 31 + (size_t)from);
    }
    free(p);
    return rc ? rc : bad ? wrong(r, "a broadcast") : 0;
}

static int check(Ranks *r, Err *err)
{
    int rc = check_gathers(r, err);
    if (!rc)
        rc = check_broadcasts(r, err);
    if (!rc)
        rc = check_sums(r, err);
    if (!rc)
        rc = ranks_agree(r, "the weather", "fine", err);
    if (!rc)
        rc = ranks_barrier(r, err);
    if (!rc && (ranks_locals(r) < 1 || ranks_local(r) >= ranks_locals(r) || !ranks_host(r, 0)[0]))
        rc = wrong(r, "the host");
    return rc;
}

/* ---- faults ---- */

static int misbehave(Ranks *r, const char *what, Err *err)
{
    if (!strcmp(what, "kill"))
        raise(SIGKILL);
    if (!strcmp(what, "crash")) {
        signal(SIGABRT, SIG_DFL);
        raise(SIGABRT);
    }
    if (!strcmp(what, "exit"))
        _exit(0);
    if (!strcmp(what, "stop")) {
        printf("stopped %d\n", (int)getpid());
        fflush(stdout);
        raise(SIGSTOP);
    }
    while (!strcmp(what, "hang"))
        clock_sleep(0.1); /* for ever */
    if (!strcmp(what, "fail")) {
        err_set(err, ERR_NOMEM, "no memory for 17 spoons");
        ranks_fail(r, err);
        return err->code;
    }
    return 0;
}

static int run_steps(Ranks *r, int argc, char **argv, Err *err)
{
    int steps = argc > 0 ? atoi(argv[0]) : 10, rc = 0, who = argc > 2 ? atoi(argv[2]) : 0;
    const char *what = argc > 1 ? argv[1] : "none";
    float sums[1000];
    char *scratch = malloc(ranks_sum_scratch(r, 1000, SUM_FP32) + 1);
    for (int step = 1; !rc && step <= steps; step++) {
        ranks_doing(r, RANK_STEPPING, step);
        clock_sleep(0.005);
        for (int i = 0; i < 1000; i++)
            sums[i] = (float)step;
        if (step == 20 && ranks_rank(r) == who) {
            rc = misbehave(r, what, err);
            if (!strcmp(what, "leave"))
                break;
        }
        ranks_doing(r, RANK_SUMMING, step);
        if (!rc)
            rc = ranks_sum(r, sums, 1000, SUM_FP32, scratch, err);
        if (!rc && sums[999] != (float)(step * ranks_count(r)))
            rc = wrong(r, "a step's sum");
    }
    free(scratch);
    return rc;
}

static int run_wait(Ranks *r, double seconds, Err *err)
{
    int rc = ranks_barrier(r, err);
    double cpu = clock_cpu(), since = clock_now();
    if (ranks_rank(r) == 0)
        clock_sleep(seconds);
    if (!rc)
        rc = ranks_barrier(r, err);
    if (!rc)
        printf("waited %.3f %.4f\n", clock_now() - since, clock_cpu() - cpu);
    return rc;
}

static int run_mismatch(Ranks *r, Err *err)
{
    char all[64];
    float p[4] = {0};
    if (ranks_rank(r) == 1)
        return ranks_broadcast(r, p, sizeof p, 0, err);
    return ranks_gather(r, all, "x", 1, err);
}

typedef struct Summer {
    Ranks *r;
    Err err;
    int rc;
} Summer;

static void *sum_beside(void *arg)
{
    Summer *s = arg;
    enum { N = 20011 };
    static float p[N];
    char *scratch = malloc(ranks_sum_scratch(s->r, N, SUM_FP32) + 1);
    for (int k = 0; k < 200 && !s->rc; k++) {
        for (int i = 0; i < N; i++)
            p[i] = (float)(i % 100 + k);
        s->rc = ranks_sum(s->r, p, N, SUM_FP32, scratch, &s->err);
        for (int i = 0; i < N && !s->rc; i++)
            if (p[i] != (float)((i % 100 + k) * ranks_count(s->r)))
                s->rc = wrong(s->r, "a sum beside gathers");
    }
    free(scratch);
    return NULL;
}

static int run_lanes(Ranks *r, Err *err)
{
    Summer s = {.r = r};
    pthread_t thread;
    int rc = 0, all[64];
    if (pthread_create(&thread, NULL, sum_beside, &s))
        return WRONG;
    for (int k = 0; k < 300 && !rc; k++) {
        int mine = ranks_rank(r) * 1000 + k;
        rc = ranks_gather(r, all, &mine, sizeof mine, err);
        for (int i = 0; i < ranks_count(r) && !rc; i++)
            if (all[i] != i * 1000 + k)
                rc = wrong(r, "a gather beside sums");
    }
    pthread_join(thread, NULL);
    if (s.rc && !rc) {
        rc = s.rc;
        *err = s.err;
    }
    return rc;
}

int rank_worker(int argc, char **argv)
{
    Log log;
    Err err = {0};
    RankPlace place;
    Ranks *r = NULL;
    const char *scenario = argc > 1 ? argv[1] : "check";
    log_init(&log, LOG_WARN);
    int rc = rank_place_read(&place, &err);
    if (!rc)
        rc = ranks_open(&r, &place, &log, &err);
    if (rc) {
    } else if (!strcmp(scenario, "check"))
        rc = check(r, &err);
    else if (!strcmp(scenario, "steps"))
        rc = run_steps(r, argc - 2, argv + 2, &err);
    else if (!strcmp(scenario, "wait"))
        rc = run_wait(r, argc > 2 ? atof(argv[2]) : 1, &err);
    else if (!strcmp(scenario, "mismatch"))
        rc = run_mismatch(r, &err);
    else if (!strcmp(scenario, "lanes"))
        rc = run_lanes(r, &err);
    else if (!strcmp(scenario, "agree") && argc > 3)
        rc = ranks_agree(r, argv[2], argv[3 + ranks_rank(r) < argc ? 3 + ranks_rank(r) : argc - 1], &err);
    else
        rc = WRONG;
    if (rc < 0) {
        ranks_fail(r, &err);
        log_err(&log, &err);
    }
    ranks_close(r);
    fflush(stdout);
    return rc < 0 ? err_exit_code(rc) : rc;
}

int free_port(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET};
    socklen_t size = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT(fd >= 0 && bind(fd, (struct sockaddr *)&a, size) == 0 &&
           getsockname(fd, (struct sockaddr *)&a, &size) == 0);
    close(fd);
    return ntohs(a.sin_port);
}
