/* ranks.c - see ranks.h. */
#include "ranks/ranks.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/hash.h"
#include "ranks/ranks_private.h"

enum { PADDED_MOST = 1 << 20 }; /* bytes: up to this, pieces are gathered in one go */

#define JOIN_SECONDS 60.0
#define QUIET_SECONDS 0.3
#define CLOCKS_APART 5.0   /* seconds */
#define BROKEN_SECONDS 2.0 /* for the thread to find out why a connection broke */
#define FADING 0.9         /* of the longest step, with every step */

/* ---- opening ---- */

/* Seconds from the environment; `usual` if it does not say. */
static double seconds_from(const char *name, double usual)
{
    const char *text = getenv(name);
    char *end;
    double value = text ? strtod(text, &end) : 0;
    return text && end != text && !*end && value > 0 ? value : usual;
}

/* Where rank 0 is. Under MPI it says so itself. */
static int agree_on_meeting(Ranks *r, WireMeeting *m, int *listener, Err *err)
{
    const RankPlace *p = &r->place;
    int by_mpi = r->transport != NULL, rc = 0;
    *listener = -1;
    if (!by_mpi) {
        RankMeeting place;
        rc = rank_place_meeting(&place, p, err);
        snprintf(m->addresses[0], sizeof m->addresses[0], "%s", place.address);
        m->address_count = 1;
        m->port = place.port;
        memcpy(m->token, place.token, sizeof m->token);
    }
    if (!rc && p->rank == 0 && p->count > 1)
        rc = wire_listen(listener, &m->port, err);
    if (rc || !by_mpi)
        return rc;
    if (p->rank == 0) {
        wire_own_addresses(m);
        if (getrandom(m->token, sizeof m->token, 0) != sizeof m->token)
            rc = err_set_errno(err, ERR_IO, "no random numbers");
    }
    WireMeeting told = *m;
    int told_rc = r->transport->broadcast(r, &told, sizeof told, 0, err);
    if (!told_rc && p->rank != 0) {
        memcpy(m->addresses, told.addresses, sizeof m->addresses);
        memcpy(m->token, told.token, sizeof m->token);
        m->address_count = told.address_count;
        m->port = told.port;
    }
    return rc ? rc : told_rc;
}

/* Of many ranks that miss the same, one on each host says so. The others leave it the time: a launcher ends
 * all as soon as one has gone. */
static int leave_it_to_others(const RankPlace *p, int rc, Err *err)
{
    if (p->local == 0)
        return rc;
    clock_sleep(QUIET_SECONDS);
    if (err)
        err->code = ERR_RANKS;
    return ERR_RANKS;
}

static int join(Ranks *r, Err *err)
{
    const RankPlace *p = &r->place;
    WireMeeting m = {.rank = p->rank,
                     .count = p->count,
                     .lanes = r->transport ? 0 : WIRE_LANES,
                     .seconds = seconds_from("MYXTTS_JOIN_SECONDS", JOIN_SECONDS)};
    memcpy(m.host, p->host, sizeof m.host);
    int listener;
    int rc = agree_on_meeting(r, &m, &listener, err);
    if (rc) {
        if (listener >= 0)
            close(listener);
        return rc;
    }
    rc = wire_join(&r->wire, listener, &m, err);
    return rc == ERR_MISSING && p->rank > 1 ? leave_it_to_others(p, rc, err) : rc;
}

/* The launcher need not say how many ranks are on this host. */
static void count_locals(Ranks *r)
{
    r->local = r->place.local;
    r->locals = r->place.locals;
    if (r->locals)
        return;
    for (int i = 0; i < r->place.count; i++)
        r->locals += !strcmp(r->wire.hosts[i].host, r->place.host);
}

/* Files are compared by their times. */
static int compare_clocks(Ranks *r, Err *err)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    double mine = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
    double *all = mem_calloc((size_t)r->place.count, sizeof *all);
    if (!all)
        return err_set(err, ERR_NOMEM, "no memory for %d ranks", r->place.count);
    int rc = ranks_gather(r, all, &mine, sizeof mine, err);
    for (int i = 1; !rc && i < r->place.count && r->place.rank == 0; i++) {
        double ahead = all[i] - all[0];
        if (ahead < CLOCKS_APART && ahead > -CLOCKS_APART)
            continue;
        log_warn(r->log, "the clock of %s (rank %d) is %.0f s %s the clock of %s", r->wire.hosts[i].host, i,
                 ahead < 0 ? -ahead : ahead, ahead < 0 ? "behind" : "ahead of", r->wire.hosts[0].host);
        break;
    }
    free(all);
    return rc;
}

static int open_watch_tools(Ranks *r, Err *err)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&r->told, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_init(&r->lock, NULL);
    r->patience = seconds_from("MYXTTS_RANK_SECONDS", RANK_PATIENCE);
    r->wire.listener = -1;
    r->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    r->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    r->heard = mem_calloc((size_t)r->place.count, sizeof *r->heard);
    if (!r->heard)
        return err_set(err, ERR_NOMEM, "no memory for %d ranks", r->place.count);
    return r->wake < 0 || r->stop < 0 ? err_set_errno(err, ERR_IO, "cannot open an event for ranks") : 0;
}

static void free_ranks(Ranks *r)
{
    wire_close(&r->wire);
    if (r->wake >= 0)
        close(r->wake);
    if (r->stop >= 0)
        close(r->stop);
    pthread_mutex_destroy(&r->lock);
    pthread_cond_destroy(&r->told);
    free(r->heard);
    free(r);
}

static int wants_mpi(const RankPlace *p)
{
    const char *transport = getenv("MYXTTS_TRANSPORT");
    if (transport && !strcmp(transport, "tcp"))
        return 0;
    return p->launcher == LAUNCHER_OPENMPI || p->launcher == LAUNCHER_PMI;
}

int ranks_open(Ranks **out, const RankPlace *p, Log *log, Err *err)
{
    const char *forced = getenv("MYXTTS_RANKS");
    *out = NULL;
    if (p->count == 1 && !(forced && !strcmp(forced, "1")))
        return 0;
    Ranks *r = mem_calloc(1, sizeof *r);
    if (!r)
        return err_set(err, ERR_NOMEM, "no memory for ranks");
    r->place = *p;
    r->log = log;
    int rc = open_watch_tools(r, err);
    if (!rc && wants_mpi(p)) {
        rc = ranks_mpi_open(r, err);
        rc = rc == ERR_MISSING ? leave_it_to_others(p, rc, err) : rc;
    }
    if (!rc)
        rc = join(r, err);
    if (!rc && !r->transport)
        rc = ranks_wire_open(r, err);
    if (!rc)
        rc = rank_watch_open(r, err);
    if (rc) {
        if (r->transport)
            r->transport->close(r, 0);
        free_ranks(r);
        return rc;
    }
    count_locals(r);
    rc = compare_clocks(r, err);
    if (rc) {
        ranks_close(r);
        return rc;
    }
    *out = r;
    return 0;
}

/* ---- collective calls ---- */

static int call_begin(Ranks *r, int lane, RankCall call, Err *err)
{
    ASSERT(__atomic_load_n(&r->calls[lane], __ATOMIC_RELAXED) == CALL_NONE); /* one thread at a time */
    if (ranks_failed(r))
        return rank_watch_fault(r, 0, err);
    __atomic_fetch_add(&r->entered[lane], 1, __ATOMIC_RELEASE);
    __atomic_store_n(&r->calls[lane], (int)call, __ATOMIC_RELEASE);
    __atomic_fetch_add(&r->moved, 1, __ATOMIC_RELAXED);
    return 0;
}

/* A connection that broke is the consequence of something: the thread will know. */
static int call_end(Ranks *r, int lane, int rc, Err *err)
{
    __atomic_store_n(&r->calls[lane], CALL_NONE, __ATOMIC_RELEASE);
    __atomic_fetch_add(&r->moved, 1, __ATOMIC_RELAXED);
    if (rc && rank_watch_fault(r, BROKEN_SECONDS, err))
        return ERR_RANKS;
    return rc;
}

void ranks_close(Ranks *r)
{
    if (!r)
        return;
    int failed = 1;
    char *all = mem_calloc((size_t)r->place.count, 1);
    ranks_doing(r, RANK_ENDING, r->step);
    if (all && !call_begin(r, LANE_TALK, CALL_CLOSE, NULL))
        failed = call_end(r, LANE_TALK, r->transport->gather(r, all, "", 1, NULL), NULL) != 0;
    free(all);
    r->transport->close(r, !failed);
    rank_watch_close(r);
    free_ranks(r);
}

int ranks_gather(Ranks *r, void *all, const void *mine, size_t bytes, Err *err)
{
    if (!r) {
        if (bytes)
            memmove(all, mine, bytes);
        return 0;
    }
    int rc = call_begin(r, LANE_TALK, CALL_GATHER, err);
    return rc ? rc : call_end(r, LANE_TALK, r->transport->gather(r, all, mine, bytes, err), err);
}

int ranks_broadcast(Ranks *r, void *p, size_t bytes, int from, Err *err)
{
    ASSERT(from >= 0 && from < ranks_count(r));
    if (!r)
        return 0;
    int rc = call_begin(r, LANE_TALK, CALL_BROADCAST, err);
    return rc ? rc : call_end(r, LANE_TALK, r->transport->broadcast(r, p, bytes, from, err), err);
}

int ranks_barrier(Ranks *r, Err *err)
{
    if (!r)
        return 0;
    char *all = mem_calloc((size_t)r->place.count, 1);
    if (!all)
        return err_set(err, ERR_NOMEM, "no memory for %d ranks", r->place.count);
    int rc = ranks_gather(r, all, "", 1, err);
    free(all);
    return rc;
}

/* Small pieces in one go, each padded to the longest. */
static int gather_padded(Ranks *r, char *all, const size_t *sizes, size_t longest, const void *mine, Err *err)
{
    int count = r->place.count;
    char *padded = mem_calloc((size_t)count + 1, longest), *to = all;
    if (!padded)
        return err_set(err, ERR_NOMEM, "no memory for what %d ranks say", count);
    char *own = padded + (size_t)count * longest;
    if (sizes[r->place.rank])
        memcpy(own, mine, sizes[r->place.rank]);
    int rc = ranks_gather(r, padded, own, longest, err);
    for (int i = 0; !rc && i < count; i++) {
        memcpy(to, padded + (size_t)i * longest, sizes[i]);
        to += sizes[i];
    }
    free(padded);
    return rc;
}

static int gather_by_broadcasts(Ranks *r, char *all, const size_t *sizes, const void *mine, Err *err)
{
    int rc = 0;
    for (int i = 0; !rc && i < r->place.count; i++) {
        if (i == r->place.rank && sizes[i])
            memcpy(all, mine, sizes[i]);
        if (sizes[i])
            rc = ranks_broadcast(r, all, sizes[i], i, err);
        all += sizes[i];
    }
    return rc;
}

int ranks_gather_any(Ranks *r, Buf *all, size_t *sizes, const void *mine, size_t bytes, Err *err)
{
    size_t longest = 0, sum = 0;
    int rc = ranks_gather(r, sizes, &bytes, sizeof bytes, err);
    if (rc)
        return rc;
    for (int i = 0; i < ranks_count(r); i++) {
        sum += sizes[i];
        longest = sizes[i] > longest ? sizes[i] : longest;
    }
    buf_clear(all);
    buf_zero(all, sum);
    if (all->failed) {
        Err own = {0};
        err_set(&own, ERR_NOMEM, "no memory for %zu bytes of all ranks", sum);
        ranks_fail(r, &own);
        if (err)
            *err = own;
        return own.code;
    }
    if (!sum)
        return 0;
    if (!r) {
        memcpy(all->data, mine, bytes);
        return 0;
    }
    if (longest * (size_t)r->place.count <= PADDED_MOST)
        return gather_padded(r, all->data, sizes, longest, mine, err);
    return gather_by_broadcasts(r, all->data, sizes, mine, err);
}

/* The message about values that differ, made from those of all ranks. */
static int say_they_differ(Ranks *r, const char *what, const char *value, Err *err)
{
    int count = r->place.count;
    Buf all = {0};
    size_t *sizes = mem_calloc((size_t)count, sizeof *sizes);
    int rc = sizes ? ranks_gather_any(r, &all, sizes, value, strlen(value) + 1, err)
                   : err_set(err, ERR_NOMEM, "no memory for %d ranks", count);
    const char *first = all.data, *other = all.data;
    for (int i = 0; !rc && i < count; i++) {
        if (strcmp(other, first) != 0) {
            rc = err_set(err, ERR_CONFIG,
                         "%s differs between ranks: %.200s on rank 0 (%s), %.200s on rank %d (%s)", what,
                         first, ranks_host(r, 0), other, i, ranks_host(r, i));
            err_hint(err, "all ranks need the same program, settings and data");
            break;
        }
        other += sizes[i];
    }
    free(sizes);
    buf_free(&all);
    return rc;
}

int ranks_agree(Ranks *r, const char *what, const char *value, Err *err)
{
    if (!r)
        return 0;
    Err own = {0};
    int count = r->place.count, differ = 0;
    Hash128 mine = hash_bytes(value, strlen(value)), *all = mem_calloc((size_t)count, sizeof *all);
    if (!all)
        return err_set(err, ERR_NOMEM, "no memory for %d ranks", count);
    int rc = ranks_gather(r, all, &mine, sizeof mine, &own);
    for (int i = 1; !rc && i < count; i++)
        differ |= !hash_equal(all[i], all[0]);
    free(all);
    if (differ) {
        rc = say_they_differ(r, what, value, &own);
        if (rc != ERR_RANKS)
            rank_watch_fail(r, &own, 1);
        rc = own.code;
    }
    if (rc && err)
        *err = own;
    return rc;
}

/* ---- sums ---- */

static int on_sum_lane(Ranks *r, RankCall call, int (*run)(Ranks *, float *, int64_t, SumType, void *, Err *),
                       float *p, int64_t n, SumType type, void *scratch, Err *err)
{
    ASSERT(n >= 0 && n < INT_MAX);
    int rc = call_begin(r, LANE_SUM, call, err);
    return rc ? rc : call_end(r, LANE_SUM, run(r, p, n, type, scratch, err), err);
}

int ranks_sum(Ranks *r, float *p, int64_t n, SumType type, void *scratch, Err *err)
{
    return r ? on_sum_lane(r, CALL_SUM, r->transport->sum, p, n, type, scratch, err) : 0;
}

size_t ranks_sum_scratch(const Ranks *r, int64_t n, SumType type)
{
    return r ? r->transport->scratch(r, n, type) : 0;
}

void ranks_slice(const Ranks *r, int64_t n, int rank, int64_t *from, int64_t *to)
{
    int64_t count = ranks_count(r), each = (n + count - 1) / count;
    *from = each * rank < n ? each * rank : n;
    *to = each * (rank + 1) < n ? each * (rank + 1) : n;
}

/* ---- faults ---- */

static int is_part_of_a_step(int doing)
{
    return doing == RANK_WAITING_FOR_DATA || doing == RANK_STEPPING || doing == RANK_SUMMING;
}

/* How long steps take is counted here, without what comes between them: it is the measure for a hang. */
void ranks_doing(Ranks *r, RankDoing doing, int64_t step)
{
    if (!r)
        return;
    uint64_t now = (uint64_t)(clock_now() * 1e6);
    uint64_t since = __atomic_exchange_n(&r->doing_since_us, now, __ATOMIC_RELAXED);
    int before = __atomic_exchange_n(&r->doing, (int)doing, __ATOMIC_RELAXED);
    int64_t last = __atomic_exchange_n(&r->step, step, __ATOMIC_RELAXED);
    uint64_t spent = __atomic_load_n(&r->step_us, __ATOMIC_RELAXED);
    if (since && now > since && is_part_of_a_step(before))
        spent += now - since;
    if (step != last) {
        uint64_t longest = (uint64_t)(FADING * (double)__atomic_load_n(&r->longest_us, __ATOMIC_RELAXED));
        __atomic_store_n(&r->longest_us, spent > longest ? spent : longest, __ATOMIC_RELAXED);
        __atomic_fetch_add(&r->steps, 1, __ATOMIC_RELAXED);
        spent = 0;
    }
    __atomic_store_n(&r->step_us, spent, __ATOMIC_RELAXED);
    __atomic_fetch_add(&r->moved, 1, __ATOMIC_RELAXED);
}

void ranks_fail(Ranks *r, Err *err)
{
    if (r && err->code != ERR_RANKS)
        rank_watch_fail(r, err, 0);
}

int64_t ranks_step(const Ranks *r, int rank)
{
    return r ? __atomic_load_n(&r->heard[rank], __ATOMIC_RELAXED) : 0;
}

int ranks_failed(const Ranks *r) { return r ? __atomic_load_n(&r->failed, __ATOMIC_ACQUIRE) : 0; }

/* ---- who is who ---- */

int ranks_rank(const Ranks *r) { return r ? r->place.rank : 0; }
int ranks_count(const Ranks *r) { return r ? r->place.count : 1; }
int ranks_local(const Ranks *r) { return r ? r->local : 0; }
int ranks_locals(const Ranks *r) { return r ? r->locals : 1; }
int ranks_are_hurried(const Ranks *r) { return r && r->place.launcher == LAUNCHER_OPENMPI; }
const char *ranks_transport(const Ranks *r) { return r ? r->transport->name : "none"; }

const char *ranks_host(const Ranks *r, int rank)
{
    ASSERT(rank >= 0 && rank < ranks_count(r));
    return r ? r->wire.hosts[rank].host : "this host";
}
