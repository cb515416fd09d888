/* ranks_mpi.c - collective calls by MPI, where mpirun or mpiexec started us. The library is loaded at run
 * time and no header of it is needed: its handles are pointers to objects of the library (OpenMPI) or fixed
 * numbers (MPICH and those with its binary interface, such as Intel MPI), which fit into a pointer.
 *
 * Every call is nonblocking, followed by MPI_Test and short sleeps: ranks may share cores with each other,
 * and a fault ends the wait. A lock around each call lets two threads work on two lanes (separate
 * communicators) with a library that allows only one thread at a time.
 *
 * A sum: each rank receives its slice from all ranks, adds these in the order of ranks, and all gather the
 * sums.
 * */
#include <dlfcn.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/clock.h"
#include "ranks/rank_numbers.h"
#include "ranks/ranks_private.h"

typedef void *Handle; /* communicators, types, requests */

enum {
    THREAD_SERIALIZED = 2,
    ERROR_TEXT = 1024,
    STEP = 1 << 20,           /* numbers of each slice in one go: a slow network shows that it gets ahead */
    BROADCAST_BYTES = 8 << 20 /* the same */
};

#define YIELD_SECONDS 100e-6 /* of waiting, in which other processes are let in but no sleep is made */
#define SHORTEST_SLEEP 20e-6
#define LONGEST_SLEEP 1e-3
#define SLEEP_SHARE 0.02 /* of the time waited so far */

typedef struct MpiCalls {
    int (*init)(int *argc, char ***argv, int required, int *provided);
    int (*finalize)(void);
    int (*comm_rank)(Handle comm, int *rank);
    int (*comm_size)(Handle comm, int *size);
    int (*comm_dup)(Handle comm, Handle *copy);
    int (*comm_set_errhandler)(Handle comm, Handle handler);
    int (*error_string)(int code, char *text, int *length);
    int (*test)(Handle *request, int *done, void *status);
    int (*iallgather)(const void *send, int n, Handle type, void *receive, int each, Handle receive_type,
                      Handle comm, Handle *request);
    int (*ibcast)(void *p, int n, Handle type, int root, Handle comm, Handle *request);
    int (*ialltoallv)(const void *send, const int *counts, const int *places, Handle type, void *receive,
                      const int *receive_counts, const int *receive_places, Handle receive_type, Handle comm,
                      Handle *request);
    int (*iallgatherv)(const void *send, int n, Handle type, void *receive, const int *counts,
                       const int *places, Handle receive_type, Handle comm, Handle *request);
} MpiCalls;

typedef struct Mpi {
    MpiCalls f;
    Handle world, errors_return, byte, wide, narrow;
    void *in_place, *no_status;
    pthread_mutex_t lock;
    Handle lane[WIRE_LANES];
    int *counts, *places, *own_counts, *own_places; /* [count] */
    const void **parts;                             /* [count] */
} Mpi;

static const struct {
    const char *name;
    size_t offset; /* in MpiCalls */
} calls[] = {
    {"MPI_Init_thread", offsetof(MpiCalls, init)},
    {"MPI_Finalize", offsetof(MpiCalls, finalize)},
    {"MPI_Comm_rank", offsetof(MpiCalls, comm_rank)},
    {"MPI_Comm_size", offsetof(MpiCalls, comm_size)},
    {"MPI_Comm_dup", offsetof(MpiCalls, comm_dup)},
    {"MPI_Comm_set_errhandler", offsetof(MpiCalls, comm_set_errhandler)},
    {"MPI_Error_string", offsetof(MpiCalls, error_string)},
    {"MPI_Test", offsetof(MpiCalls, test)},
    {"MPI_Iallgather", offsetof(MpiCalls, iallgather)},
    {"MPI_Ibcast", offsetof(MpiCalls, ibcast)},
    {"MPI_Ialltoallv", offsetof(MpiCalls, ialltoallv)},
    {"MPI_Iallgatherv", offsetof(MpiCalls, iallgatherv)},
};

/* A handle: the address of a symbol, or the number that MPICH has for it. */
typedef struct HandleRow {
    size_t offset; /* in Mpi */
    const char *symbol;
    uintptr_t number;
} HandleRow;

static const HandleRow handles[] = {
    {offsetof(Mpi, world), "ompi_mpi_comm_world", 0x44000000},
    {offsetof(Mpi, errors_return), "ompi_mpi_errors_return", 0x54000001},
    {offsetof(Mpi, byte), "ompi_mpi_byte", 0x4c00010d},
    {offsetof(Mpi, wide), "ompi_mpi_float", 0x4c00040a},
    {offsetof(Mpi, narrow), "ompi_mpi_short", 0x4c000203},
};

/* ---- loading ---- */

/* MYXTTS_MPI, then the names under which the launcher's library is known. */
static void *load_library(Launcher launcher, const char **tried)
{
    static const char *const openmpi[] = {"libmpi.so.40", NULL};
    static const char *const mpich[] = {"libmpi.so.12", "libmpich.so.12", NULL};
    const char *const *names = launcher == LAUNCHER_PMI ? mpich : openmpi, *chosen = getenv("MYXTTS_MPI");
    const char *const only[] = {chosen, NULL};
    void *library = NULL;
    for (const char *const *name = chosen ? only : names; *name && !library; name++) {
        *tried = *name;
        /* Global: OpenMPI's plug-ins look for its symbols. */
        library = dlopen(*name, RTLD_NOW | RTLD_GLOBAL);
    }
    return library;
}

static int find_calls(Mpi *m, void *library, const char *name, Err *err)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        void *f = dlsym(library, calls[i].name);
        if (!f)
            return err_set(err, ERR_MISSING, "%s has no %s: it is too old", name, calls[i].name);
        memcpy((char *)&m->f + calls[i].offset, &f, sizeof f);
    }
    int is_openmpi = dlsym(library, handles[0].symbol) != NULL;
    for (size_t i = 0; i < sizeof handles / sizeof *handles; i++) {
        Handle h = is_openmpi ? dlsym(library, handles[i].symbol) : (Handle)handles[i].number;
        if (!h)
            return err_set(err, ERR_MISSING, "%s has no %s: it is too old", name, handles[i].symbol);
        memcpy((char *)m + handles[i].offset, &h, sizeof h);
    }
    m->in_place = is_openmpi ? (void *)1 : (void *)-1; /* MPI_IN_PLACE */
    m->no_status = is_openmpi ? NULL : (void *)1;      /* MPI_STATUS_IGNORE */
    return 0;
}

static int load(Mpi *m, const RankPlace *p, Err *err)
{
    const char *name = "libmpi";
    void *library = load_library(p->launcher, &name); /* stays: MPI cannot be started twice */
    if (library)
        return find_calls(m, library, name, err);
    const char *why = dlerror();
    err_set(err, ERR_MISSING, "%d ranks were started by %s, but %s cannot be loaded: %s", p->count,
            launcher_name(p->launcher), name, why ? why : "not found");
    return err_hint(err, "install %s (Debian, Ubuntu) on %s, or name the library in MYXTTS_MPI",
                    p->launcher == LAUNCHER_PMI ? "libmpich12" : "libopenmpi3", p->host);
}

/* ---- waiting ---- */

static int failure(const Mpi *m, int code, const char *what, Err *err)
{
    char text[ERROR_TEXT] = "";
    int length = 0;
    m->f.error_string(code, text, &length);
    return err_set(err, ERR_IO, "MPI: %s: %s", what, text);
}

/* The longer it has taken, the longer the next sleep: quick answers are seen quickly, and those who wait for
 * a slow rank leave it the cores. */
static void rest(double waited)
{
    if (waited < YIELD_SECONDS) {
        sched_yield();
        return;
    }
    double sleep = waited * SLEEP_SHARE;
    clock_sleep(sleep < SHORTEST_SLEEP ? SHORTEST_SLEEP : sleep > LONGEST_SLEEP ? LONGEST_SLEEP : sleep);
}

/* code: of the call that began it. */
static int finish(Ranks *r, int code, Handle *request, const char *what, Err *err)
{
    Mpi *m = r->own;
    int done = 0;
    double since = clock_now();
    while (!code && !done) {
        pthread_mutex_lock(&m->lock);
        code = m->f.test(request, &done, m->no_status);
        pthread_mutex_unlock(&m->lock);
        if (code || done)
            break;
        if (ranks_failed(r))
            return err_set(err, ERR_RANKS, "another rank has failed");
        rest(clock_now() - since);
    }
    __atomic_fetch_add(&r->moved, 1, __ATOMIC_RELAXED);
    return code ? failure(m, code, what, err) : 0;
}

/* ---- calls ---- */

static int mpi_gather(Ranks *r, void *all, const void *mine, size_t bytes, Err *err)
{
    Mpi *m = r->own;
    Handle request = NULL;
    if (bytes > INT_MAX)
        return err_set(err, ERR_DATA, "cannot gather %zu bytes from every rank: that is too much", bytes);
    pthread_mutex_lock(&m->lock);
    int code =
        m->f.iallgather(mine, (int)bytes, m->byte, all, (int)bytes, m->byte, m->lane[LANE_TALK], &request);
    pthread_mutex_unlock(&m->lock);
    return finish(r, code, &request, "gather", err);
}

static int mpi_broadcast(Ranks *r, void *p, size_t bytes, int from, Err *err)
{
    Mpi *m = r->own;
    int rc = 0;
    for (size_t at = 0; !rc && at < bytes; at += BROADCAST_BYTES) {
        Handle request = NULL;
        int piece = bytes - at < BROADCAST_BYTES ? (int)(bytes - at) : BROADCAST_BYTES;
        pthread_mutex_lock(&m->lock);
        int code = m->f.ibcast((char *)p + at, piece, m->byte, from, m->lane[LANE_TALK], &request);
        pthread_mutex_unlock(&m->lock);
        rc = finish(r, code, &request, "broadcast", err);
    }
    return rc;
}

static size_t width_of(SumType type) { return type == SUM_BF16 ? sizeof(uint16_t) : sizeof(float); }

static int64_t longest_slice(const Ranks *r, int64_t n) { return (n + r->place.count - 1) / r->place.count; }

static int64_t step_of(const Ranks *r, int64_t n)
{
    int64_t longest = longest_slice(r, n);
    return longest < STEP ? longest : STEP;
}

/* First this rank's slice from every rank, then for bf16 all numbers, rounded. */
static size_t mpi_scratch(const Ranks *r, int64_t n, SumType type)
{
    size_t pieces = (size_t)r->place.count * (size_t)step_of(r, n) * width_of(type);
    return pieces + (type == SUM_BF16 ? (size_t)n * sizeof(uint16_t) : 0);
}

static uint16_t *rounded_in(const Ranks *r, void *scratch, int64_t n)
{
    return (uint16_t *)scratch + (size_t)r->place.count * (size_t)step_of(r, n);
}

/* The numbers of every rank's slice that are dealt with in one go: where they are in p. */
static void find_pieces(const Ranks *r, int64_t n, int64_t at, int *counts, int *places)
{
    int64_t step = step_of(r, n);
    for (int rank = 0; rank < r->place.count; rank++) {
        int64_t from, to;
        ranks_slice(r, n, rank, &from, &to);
        from = from + at < to ? from + at : to;
        counts[rank] = (int)(to - from < step ? to - from : step);
        places[rank] = (int)from;
    }
}

static int mpi_reduce(Ranks *r, float *p, int64_t n, SumType type, void *scratch, Err *err)
{
    Mpi *m = r->own;
    Handle number = type == SUM_BF16 ? m->narrow : m->wide;
    int64_t step = step_of(r, n), longest = longest_slice(r, n);
    int me = r->place.rank, count = r->place.count, rc = 0;
    const void *from = p;
    if (type == SUM_BF16) {
        rank_numbers_round(rounded_in(r, scratch, n), p, n);
        from = rounded_in(r, scratch, n);
    }
    for (int64_t at = 0; !rc && at < longest; at += step) {
        Handle request = NULL;
        find_pieces(r, n, at, m->counts, m->places);
        int mine = m->counts[me];
        for (int rank = 0; rank < count; rank++) {
            m->own_counts[rank] = mine;
            m->own_places[rank] = (int)(step * rank);
            m->parts[rank] = (char *)scratch + (size_t)(step * rank) * width_of(type);
        }
        pthread_mutex_lock(&m->lock);
        int code = m->f.ialltoallv(from, m->counts, m->places, number, scratch, m->own_counts, m->own_places,
                                   number, m->lane[LANE_SUM], &request);
        pthread_mutex_unlock(&m->lock);
        rc = finish(r, code, &request, "sum", err);
        if (!rc)
            rank_numbers_add(p + m->places[me], m->parts, count, mine, type);
    }
    return rc;
}

static int mpi_collect(Ranks *r, float *p, int64_t n, SumType type, void *scratch, Err *err)
{
    Mpi *m = r->own;
    Handle number = type == SUM_BF16 ? m->narrow : m->wide;
    int64_t step = step_of(r, n), longest = longest_slice(r, n), begin, end;
    void *all = p;
    int rc = 0;
    ranks_slice(r, n, r->place.rank, &begin, &end);
    if (type == SUM_BF16) {
        all = rounded_in(r, scratch, n);
        rank_numbers_round((uint16_t *)all + begin, p + begin, end - begin);
    }
    for (int64_t at = 0; !rc && at < longest; at += step) {
        Handle request = NULL;
        find_pieces(r, n, at, m->counts, m->places);
        pthread_mutex_lock(&m->lock);
        int code = m->f.iallgatherv(m->in_place, 0, number, all, m->counts, m->places, number,
                                    m->lane[LANE_SUM], &request);
        pthread_mutex_unlock(&m->lock);
        rc = finish(r, code, &request, "sum", err);
    }
    if (!rc && type == SUM_BF16)
        rank_numbers_widen(p, all, n);
    return rc;
}

static int mpi_sum(Ranks *r, float *p, int64_t n, SumType type, void *scratch, Err *err)
{
    int rc = mpi_reduce(r, p, n, type, scratch, err);
    return rc ? rc : mpi_collect(r, p, n, type, scratch, err);
}

/* ---- opening ---- */

/* MPI_Finalize waits for all ranks, busily: after a fault it would wait for ever. */
static void mpi_close(Ranks *r, int orderly)
{
    Mpi *m = r->own;
    if (orderly)
        m->f.finalize();
    pthread_mutex_destroy(&m->lock);
    free(m->counts);
    free(m->parts);
    free(m);
    r->own = NULL;
}

static const RankTransport mpi_transport = {
    .name = "MPI",
    .gather = mpi_gather,
    .broadcast = mpi_broadcast,
    .sum = mpi_sum,
    .scratch = mpi_scratch,
    .close = mpi_close,
};

static int start(Mpi *m, const RankPlace *p, Err *err)
{
    int provided = 0, rank = -1, count = -1;
    int code = m->f.init(NULL, NULL, THREAD_SERIALIZED, &provided);
    if (code)
        return failure(m, code, "start", err);
    if (provided < THREAD_SERIALIZED)
        return err_set(err, ERR_MISSING, "this MPI library was built without thread support");
    m->f.comm_rank(m->world, &rank);
    m->f.comm_size(m->world, &count);
    if (rank != p->rank || count != p->count) {
        err_set(err, ERR_USAGE, "the environment says that this is rank %d of %d, but MPI says %d of %d",
                p->rank, p->count, rank, count);
        return err_hint(err,
                        "is this the library of the MPI whose %s started the ranks? MYXTTS_MPI names another",
                        launcher_name(p->launcher));
    }
    for (int lane = 0; !code && lane < WIRE_LANES; lane++) {
        code = m->f.comm_dup(m->world, &m->lane[lane]);
        if (!code)
            code = m->f.comm_set_errhandler(m->lane[lane], m->errors_return);
    }
    return code ? failure(m, code, "start", err) : 0;
}

int ranks_mpi_open(Ranks *r, Err *err)
{
    size_t n = (size_t)r->place.count;
    Mpi *m = mem_calloc(1, sizeof *m);
    if (!m)
        return err_set(err, ERR_NOMEM, "no memory for %d ranks", r->place.count);
    m->counts = mem_calloc(4 * n, sizeof *m->counts);
    m->parts = mem_calloc(n, sizeof *m->parts);
    int rc = m->counts && m->parts ? load(m, &r->place, err)
                                   : err_set(err, ERR_NOMEM, "no memory for %d ranks", r->place.count);
    if (!rc)
        rc = start(m, &r->place, err);
    if (rc) {
        free(m->counts);
        free(m->parts);
        free(m);
        return rc;
    }
    m->places = m->counts + n;
    m->own_counts = m->places + n;
    m->own_places = m->own_counts + n;
    pthread_mutex_init(&m->lock, NULL);
    r->own = m;
    r->transport = &mpi_transport;
    return 0;
}
