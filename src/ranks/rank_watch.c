/* rank_watch.c - the thread that every rank has: it sends heartbeats, listens for those of others, and brings
 * the run to an end when a rank fails. Rank 0 hears from all ranks and decides; the others hear rank 0. When
 * rank 0 itself is lost, the lowest rank that is left says so. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/drafts.h"
#include "ranks/ranks_private.h"

#define BEAT_SECONDS 0.5
#define AWAY_SECONDS 2.0  /* the thread itself did not run for so long: others cannot be judged */
#define ECHO_SECONDS 1.0  /* how long rank 0 may take to pass on a fault */
#define ASK_SECONDS 0.5   /* how long to look for a lower rank that is alive */
#define GRACE_SECONDS 1.0 /* for the rest of the process to end on its own */
#define LINGER_SECONDS 0.8
#define TERM_SECONDS 0.5 /* after SIGTERM, to learn why */
#define BYE_SECONDS 3.0

enum { EXIT_FAULT = 3 };

typedef struct Watch {
    Ranks *r;
    RankState *states; /* [count] of rank 0; others: [0] */
    Buf *in;           /* [count] */
    struct pollfd *polls;
    int peers;      /* connections: count - 1 of rank 0, 1 of others */
    int lost_0;     /* rank 0 is gone: others may ask whether we are alive */
    double beat_at; /* when the next heartbeat is due */
    double round_at;
    double fault_at, own_at, closing_at, term_at; /* when these began; 0: not yet */
} Watch;

/* Rank of a connection. */
static int peer_rank(const Watch *w, int i) { return w->r->place.rank == 0 ? i + 1 : 0; }

/* ---- SIGTERM ---- */

/* A launcher sends it to all ranks as soon as one has ended. It would keep the survivors from saying why. A
 * handler cannot reach anything but these. */
static int terminated; /* both atomic */
static int term_wake = -1;

static void on_term(int signal_number)
{
    uint64_t one = 1;
    int e = errno;
    __atomic_store_n(&terminated, 1, __ATOMIC_RELAXED);
    int fd = __atomic_load_n(&term_wake, __ATOMIC_RELAXED);
    if (fd >= 0 && write(fd, &one, sizeof one) < 0) {
        /* the thread looks twice a second anyway */
    }
    errno = e;
}

/* Only if the program has no other handler for the signal. */
static void catch_term(Ranks *r)
{
    struct sigaction action = {.sa_handler = on_term};
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_RESTART;
    if (!drafts_have(SIGTERM))
        return;
    __atomic_store_n(&terminated, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&term_wake, r->wake, __ATOMIC_RELAXED);
    r->catches = sigaction(SIGTERM, &action, NULL) == 0;
}

static int is_terminated(const Ranks *r)
{
    return r->catches && __atomic_load_n(&terminated, __ATOMIC_RELAXED);
}

static void release_term(Ranks *r)
{
    struct sigaction old;
    if (r->catches && sigaction(SIGTERM, NULL, &old) == 0 && old.sa_handler == on_term)
        signal(SIGTERM, SIG_DFL);
    __atomic_store_n(&term_wake, -1, __ATOMIC_RELAXED);
    r->catches = 0;
}

/* ---- faults ---- */

static void wake(int fd)
{
    uint64_t one = 1;
    if (write(fd, &one, sizeof one) < 0) {
        /* only if it is full, and then it is readable */
    }
}

/* From here on every wait of this process ends. */
static void become_failed(Watch *w, const Err *fault)
{
    Ranks *r = w->r;
    pthread_mutex_lock(&r->lock);
    r->fault = *fault;
    r->fault.code = ERR_RANKS;
    __atomic_store_n(&r->failed, 1, __ATOMIC_RELEASE);
    pthread_cond_broadcast(&r->told);
    pthread_mutex_unlock(&r->lock);
    wake(r->stop);
    w->fault_at = clock_now();
}

static void print_fault(Ranks *r, const Err *fault)
{
    Err shown = *fault;
    shown.code = ERR_WORKER; /* log_err is silent about ERR_RANKS */
    log_err(r->log, &shown);
}

static WireFault travelling(const Err *fault)
{
    WireFault f = {.code = ERR_RANKS};
    memcpy(f.msg, fault->msg, sizeof f.msg);
    memcpy(f.hint, fault->hint, sizeof f.hint);
    return f;
}

static Err arrived(const WireFault *f)
{
    Err fault = {.code = ERR_RANKS};
    memcpy(fault.msg, f->msg, sizeof fault.msg - 1);
    memcpy(fault.hint, f->hint, sizeof fault.hint - 1);
    return fault;
}

/* Rank 0 tells all ranks. The first fault counts; the others follow from it. */
static void fail_all(Watch *w, const Err *fault)
{
    Ranks *r = w->r;
    if (w->fault_at > 0)
        return;
    WireFault f = travelling(fault);
    print_fault(r, fault);
    for (int rank = 1; rank < r->wire.count; rank++) {
        wire_send(r->wire.control[rank], WIRE_FAULT, &f, sizeof f);
        if (r->wire.control[rank] >= 0)
            shutdown(r->wire.control[rank], SHUT_WR);
    }
    become_failed(w, fault);
}

/* The others, without rank 0: the lowest of them speaks. */
static void fail_without_0(Watch *w, const Err *fault)
{
    Ranks *r = w->r;
    if (w->fault_at > 0)
        return;
    WireFault f = travelling(fault);
    wire_send(r->wire.control[0], WIRE_FAULT, &f, sizeof f); /* it may be frozen only */
    w->lost_0 = 1;
    if (!wire_any_alive(&r->wire, 1, r->place.rank - 1, ASK_SECONDS))
        print_fault(r, fault);
    become_failed(w, fault);
}

static void fail(Watch *w, const Err *fault)
{
    if (w->r->place.rank == 0)
        fail_all(w, fault);
    else
        fail_without_0(w, fault);
}

static void say_ended(Err *err, const WireHost *host, int rank)
{
    err_set(err, ERR_WORKER, "rank %d on %s ended without a message: it was killed, or crashed", rank,
            host->host);
    err_hint(err, "`dmesg` on %s shows whether the kernel killed it for lack of memory", host->host);
}

static void lose_peer(Watch *w, int rank)
{
    Err fault = {0};
    Ranks *r = w->r;
    int gone = w->states[rank].gone;
    close(r->wire.control[rank]);
    r->wire.control[rank] = -1;
    if (gone || w->closing_at > 0 || w->fault_at > 0)
        return;
    say_ended(&fault, &r->wire.hosts[rank], rank);
    fail(w, &fault);
}

/* ---- what arrives ---- */

static void handle(Watch *w, int rank, int kind, const void *p, size_t bytes, double now)
{
    Ranks *r = w->r;
    RankBeat beat;
    WireFault f;
    if (kind == WIRE_BEAT && bytes == sizeof beat) {
        memcpy(&beat, p, sizeof beat);
        rank_state_beat(&w->states[rank], &beat, now);
        __atomic_store_n(&r->heard[rank], beat.step, __ATOMIC_RELAXED);
    } else if (kind == WIRE_BYE) {
        w->states[rank].gone = 1;
    } else if (kind == WIRE_FAULT && bytes == sizeof f && w->fault_at == 0) {
        memcpy(&f, p, sizeof f);
        Err fault = arrived(&f);
        /* A rank's own fault, which rank 0 is to tell; or one that has been told. */
        if (r->place.rank == 0 && f.code != ERR_RANKS) {
            err_prefix(&fault, "rank %d on %s", rank, r->wire.hosts[rank].host);
            fail_all(w, &fault);
        } else {
            become_failed(w, &fault);
        }
    }
}

static void hear(Watch *w, int rank, double now)
{
    Buf *in = &w->in[rank];
    size_t at = 0, bytes;
    const void *p;
    int alive = wire_receive(w->r->wire.control[rank], in), kind;
    for (;;) {
        kind = wire_next(in, &at, &p, &bytes);
        if (kind <= 0)
            break;
        handle(w, rank, kind, p, bytes, now);
    }
    if (at) {
        memmove(in->data, in->data + at, in->size - at);
        in->size -= at;
    }
    if (!alive || kind < 0)
        lose_peer(w, rank);
}

/* ---- what leaves ---- */

static RankBeat own_beat(const Ranks *r)
{
    RankBeat b = {.doing = __atomic_load_n(&r->doing, __ATOMIC_RELAXED),
                  .steps = __atomic_load_n(&r->steps, __ATOMIC_RELAXED),
                  .step = __atomic_load_n(&r->step, __ATOMIC_RELAXED),
                  .moved = __atomic_load_n(&r->moved, __ATOMIC_RELAXED),
                  .longest = 1e-6 * (double)__atomic_load_n(&r->longest_us, __ATOMIC_RELAXED)};
    for (int lane = 0; lane < WIRE_LANES; lane++) {
        b.call[lane] = __atomic_load_n(&r->calls[lane], __ATOMIC_ACQUIRE);
        b.entered[lane] = __atomic_load_n(&r->entered[lane], __ATOMIC_ACQUIRE);
    }
    return b;
}

static void beat(Watch *w, double now)
{
    Ranks *r = w->r;
    RankBeat b = own_beat(r);
    if (r->place.rank == 0)
        rank_state_beat(&w->states[0], &b, now);
    for (int i = 0; i < w->peers; i++)
        wire_send(r->wire.control[peer_rank(w, i)], WIRE_BEAT, &b, sizeof b);
    w->beat_at = now + BEAT_SECONDS;
}

/* ---- judging ---- */

static void judge(Watch *w, double now)
{
    Ranks *r = w->r;
    Err fault = {0};
    if (r->place.rank == 0) {
        if (rank_verdict(&fault, w->states, r->wire.hosts, r->wire.count, now, r->patience) >= 0)
            fail_all(w, &fault);
        return;
    }
    const RankState *zero = &w->states[0];
    if (zero->gone || now - zero->heard <= r->patience)
        return;
    err_set(
        &fault, ERR_WORKER,
        "rank 0 on %s has not answered for %.0f s: it was stopped, is being swapped out, or its network is "
        "gone",
        r->wire.hosts[0].host, now - zero->heard);
    fail_without_0(w, &fault);
}

/* What other threads ask for: to pass on a fault, to end. */
static void take_requests(Watch *w, double now)
{
    Ranks *r = w->r;
    pthread_mutex_lock(&r->lock);
    Err own = r->own_fault;
    int everyones = r->everyones, closing = r->closing;
    pthread_mutex_unlock(&r->lock);
    if (closing && w->closing_at == 0) {
        w->closing_at = now;
        if (w->fault_at == 0)
            beat(w, now); /* the last calls of this rank */
        for (int i = 0; i < w->peers && w->fault_at == 0; i++)
            wire_send(r->wire.control[peer_rank(w, i)], WIRE_BYE, NULL, 0);
    }
    if (!own.code || w->fault_at > 0)
        return;
    if (r->place.rank == 0) {
        if (!everyones)
            err_prefix(&own, "rank 0 on %s", r->place.host);
        fail_all(w, &own);
    } else if (w->own_at == 0) {
        WireFault f = travelling(&own);
        f.code = own.code;
        w->own_at = now;
        if (!everyones) /* rank 0 says it and sends it back */
            wire_send(r->wire.control[0], WIRE_FAULT, &f, sizeof f);
    } else if (now - w->own_at > ECHO_SECONDS) {
        if (!everyones)
            err_prefix(&own, "rank %d on %s", r->place.rank, r->place.host);
        fail_without_0(w, &own);
    }
}

/* A process that was stopped, or a machine that slept, must not blame the others for its own absence. */
static void forgive_absence(Watch *w, double now)
{
    if (now - w->round_at > AWAY_SECONDS)
        for (int rank = 0; rank < w->r->wire.count; rank++)
            w->states[rank].heard = w->states[rank].moved = now;
    w->round_at = now;
}

/* ---- the end ---- */

/* Have all the others hung up? What they have not read of us yet would be lost if we left before them. */
static int all_hung_up(const Watch *w)
{
    for (int i = 0; i < w->peers; i++)
        if (w->r->wire.control[peer_rank(w, i)] >= 0)
            return 0;
    return 1;
}

static int all_gone(const Watch *w)
{
    for (int i = 0; i < w->peers; i++)
        if (!w->states[peer_rank(w, i)].gone && w->r->wire.control[peer_rank(w, i)] >= 0)
            return 0;
    return 1;
}

/* 1 when the thread may end. */
static int is_over(Watch *w, double now)
{
    Ranks *r = w->r;
    if (w->fault_at > 0) {
        double since = now - w->fault_at;
        if (since > GRACE_SECONDS) {
            drafts_remove_all();
            _exit(EXIT_FAULT);
        }
        if (w->closing_at == 0)
            return 0;
        if (r->place.rank == 0)
            return all_hung_up(w) || since > LINGER_SECONDS;
        return !w->lost_0 || since > LINGER_SECONDS;
    }
    if (is_terminated(r)) {
        w->term_at = w->term_at > 0 ? w->term_at : now;
        if (now - w->term_at > TERM_SECONDS) {
            drafts_remove_all();
            signal(SIGTERM, SIG_DFL);
            kill(getpid(), SIGTERM);
            w->term_at = now + 3600;
        }
    }
    return w->closing_at > 0 && (all_gone(w) || now - w->closing_at > BYE_SECONDS);
}

static int wait_ms(const Watch *w, double now)
{
    double until = w->beat_at;
    if (w->fault_at > 0 || w->own_at > 0 || w->closing_at > 0 || is_terminated(w->r))
        until = now + 0.05;
    return until > now ? (int)((until - now) * 1000) + 1 : 0;
}

static void wait_for_events(Watch *w)
{
    Ranks *r = w->r;
    int n = 0;
    w->polls[n++] = (struct pollfd){.fd = r->wake, .events = POLLIN};
    w->polls[n++] = (struct pollfd){.fd = r->wire.listener, .events = POLLIN};
    for (int i = 0; i < w->peers; i++)
        w->polls[n++] = (struct pollfd){.fd = r->wire.control[peer_rank(w, i)], .events = POLLIN};
    if (poll(w->polls, (nfds_t)n, wait_ms(w, clock_now())) < 0)
        memset(w->polls, 0, sizeof *w->polls * (size_t)n);
    uint64_t count;
    if (w->polls[0].revents && read(r->wake, &count, sizeof count) < 0) {
        /* another round will find it empty */
    }
    if (w->polls[1].revents)
        wire_answer(r->wire.listener);
}

static void *watch_main(void *arg)
{
    Watch *w = arg;
    Ranks *r = w->r;
    for (;;) {
        wait_for_events(w);
        double now = clock_now();
        forgive_absence(w, now);
        for (int i = 0; i < w->peers; i++) {
            int rank = peer_rank(w, i);
            if (w->polls[2 + i].revents && r->wire.control[rank] >= 0)
                hear(w, rank, now);
        }
        take_requests(w, now);
        if (is_over(w, now))
            break;
        if (w->fault_at > 0 || w->closing_at > 0)
            continue;
        if (now >= w->beat_at)
            beat(w, now);
        if (w->own_at == 0)
            judge(w, now);
    }
    for (int i = 0; i < r->wire.count; i++)
        buf_free(&w->in[i]);
    free(w->in);
    free(w->states);
    free(w->polls);
    free(w);
    return NULL;
}

/* ---- for the other files ---- */

int rank_watch_open(Ranks *r, Err *err)
{
    size_t n = (size_t)r->wire.count;
    Watch *w = mem_calloc(1, sizeof *w);
    RankState *states = mem_calloc(n, sizeof *states);
    Buf *in = mem_calloc(n, sizeof *in);
    struct pollfd *polls = mem_calloc(n + 2, sizeof *polls);
    int rc = 0;
    if (!w || !states || !in || !polls)
        rc = err_set(err, ERR_NOMEM, "no memory for %d ranks", r->wire.count);
    if (!rc) {
        *w = (Watch){.r = r, .states = states, .in = in, .polls = polls};
        w->peers = r->wire.count == 1 ? 0 : r->place.rank == 0 ? r->wire.count - 1 : 1;
        w->round_at = clock_now();
        for (size_t i = 0; i < n; i++)
            states[i].heard = states[i].moved = w->round_at;
        catch_term(r);
        rc = thread_start(&r->thread, "ranks", watch_main, w, err);
    }
    if (rc) {
        release_term(r);
        free(w);
        free(states);
        free(in);
        free(polls);
        return rc;
    }
    return 0;
}

void rank_watch_close(Ranks *r)
{
    pthread_mutex_lock(&r->lock);
    r->closing = 1;
    pthread_mutex_unlock(&r->lock);
    wake(r->wake);
    thread_join(&r->thread);
    release_term(r);
}

/* Waits until there is a fault; 0 when time is up first. */
static int await_fault(Ranks *r, double seconds)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    int64_t ns = until.tv_nsec + (int64_t)(seconds * 1e9);
    until.tv_sec += (time_t)(ns / 1000000000);
    until.tv_nsec = (long)(ns % 1000000000);
    int rc = 0;
    while (!__atomic_load_n(&r->failed, __ATOMIC_ACQUIRE) && rc != ETIMEDOUT)
        rc = pthread_cond_timedwait(&r->told, &r->lock, &until);
    return __atomic_load_n(&r->failed, __ATOMIC_ACQUIRE);
}

void rank_watch_fail(Ranks *r, Err *err, int everyones)
{
    pthread_mutex_lock(&r->lock);
    if (!r->own_fault.code) {
        r->own_fault = *err;
        r->own_fault.code = err->code ? err->code : ERR_WORKER;
        r->everyones = everyones;
    }
    wake(r->wake);
    if (await_fault(r, ECHO_SECONDS + ASK_SECONDS + 0.5))
        *err = r->fault;
    pthread_mutex_unlock(&r->lock);
}

int rank_watch_fault(Ranks *r, double seconds, Err *err)
{
    int rc = 0;
    pthread_mutex_lock(&r->lock);
    if (await_fault(r, seconds)) {
        if (err)
            *err = r->fault;
        rc = ERR_RANKS;
    }
    pthread_mutex_unlock(&r->lock);
    return rc;
}
