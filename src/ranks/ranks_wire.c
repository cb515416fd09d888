/* ranks_wire.c - collective calls over the TCP star, for launchers without MPI. Everything goes through rank
 * 0, which adds what it receives in the order of ranks: simple, and slower than MPI the more ranks there are.
 * Large sums flow in chunks, so that rank 0 receives the next while it sends the last. */
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "ranks/rank_numbers.h"
#include "ranks/ranks_private.h"

enum { CHUNK = 1 << 16 }; /* numbers */

/* What every rank tells rank 0 before a call, so that calls that do not match are found. */
typedef struct CallHead {
    uint32_t call;
    int32_t from; /* of a broadcast; sums: the type */
    uint64_t number;
    uint64_t size; /* bytes, sums: numbers */
} CallHead;

typedef struct WireLane {
    WireMove *moves; /* [2 * count] */
    struct pollfd *polls;
    CallHead *heads; /* [count] */
    int n;           /* moves that have been added */
} WireLane;

typedef struct WireLanes {
    WireLane lane[WIRE_LANES];
    const void **parts; /* [count] */
} WireLanes;

static WireLane *lane_of(Ranks *r, int lane) { return &((WireLanes *)r->own)->lane[lane]; }

/* ---- moving ---- */

static void add_move(Ranks *r, int lane, int rank, int out, const void *p, size_t bytes)
{
    WireLane *l = lane_of(r, lane);
    if (bytes)
        l->moves[l->n++] = (WireMove){.fd = r->wire.lane[lane][rank],
                                      .out = out,
                                      .rank = rank,
                                      .p = (char *)(uintptr_t)p,
                                      .bytes = bytes};
}

static void add_send(Ranks *r, int lane, int rank, const void *p, size_t bytes)
{
    add_move(r, lane, rank, 1, p, bytes);
}

static void add_receive(Ranks *r, int lane, int rank, void *p, size_t bytes)
{
    add_move(r, lane, rank, 0, p, bytes);
}

static void send_to_others(Ranks *r, int lane, int but, const void *p, size_t bytes)
{
    for (int rank = 1; rank < r->place.count; rank++)
        if (rank != but)
            add_send(r, lane, rank, p, bytes);
}

static int move_all(Ranks *r, int lane, Err *err)
{
    WireLane *l = lane_of(r, lane);
    int n = l->n;
    l->n = 0;
    return wire_move(l->moves, n, l->polls, r->stop, &r->moved, err);
}

/* ---- matching ---- */

static int say_mismatch(Ranks *r, const CallHead *zero, const CallHead *other, int rank, Err *err)
{
    static const char *const words[] = {"no call", "gather",  "broadcast", "sum",
                                        "reduce",  "collect", "close"};
    enum { WORDS = sizeof words / sizeof *words };
    Err own = {0};
    err_set(&own, ERR_WORKER,
            "the ranks are out of step: call %llu is %s (%llu) on rank 0, but call %llu is %s (%llu) on rank "
            "%d (%s)",
            (unsigned long long)zero->number, words[zero->call], (unsigned long long)zero->size,
            (unsigned long long)other->number, other->call < WORDS ? words[other->call] : "unknown",
            (unsigned long long)other->size, rank, r->wire.hosts[rank].host);
    err_hint(&own, "check that all ranks run the same program with the same settings");
    rank_watch_fail(r, &own, 1);
    if (err)
        *err = own;
    return own.code;
}

/* Rank 0 learns that every rank is in the same call. */
static int match(Ranks *r, int lane, int from, uint64_t size, Err *err)
{
    CallHead head = {(uint32_t)r->calls[lane], from, r->entered[lane], size};
    CallHead *heads = lane_of(r, lane)->heads;
    if (r->place.rank != 0) {
        heads[0] = head;
        add_send(r, lane, 0, heads, sizeof head);
        return move_all(r, lane, err);
    }
    for (int rank = 1; rank < r->place.count; rank++)
        add_receive(r, lane, rank, &heads[rank], sizeof head);
    int rc = move_all(r, lane, err);
    for (int rank = 1; !rc && rank < r->place.count; rank++)
        if (memcmp(&heads[rank], &head, sizeof head) != 0)
            rc = say_mismatch(r, &head, &heads[rank], rank, err);
    return rc;
}

/* ---- gather and broadcast ---- */

static int wire_gather(Ranks *r, void *all, const void *mine, size_t bytes, Err *err)
{
    int count = r->place.count;
    int rc = match(r, LANE_TALK, 0, bytes, err);
    if (rc || !bytes)
        return rc;
    if (r->place.rank != 0) {
        add_send(r, LANE_TALK, 0, mine, bytes);
        rc = move_all(r, LANE_TALK, err);
        add_receive(r, LANE_TALK, 0, all, bytes * (size_t)count);
        return rc ? rc : move_all(r, LANE_TALK, err);
    }
    memmove(all, mine, bytes);
    for (int rank = 1; rank < count; rank++)
        add_receive(r, LANE_TALK, rank, (char *)all + (size_t)rank * bytes, bytes);
    rc = move_all(r, LANE_TALK, err);
    if (rc)
        return rc;
    send_to_others(r, LANE_TALK, 0, all, bytes * (size_t)count);
    return move_all(r, LANE_TALK, err);
}

/* Rank 0 passes on what another has, chunk by chunk. */
static int relay(Ranks *r, char *p, size_t bytes, int from, Err *err)
{
    enum { PIECE = CHUNK * 4 };
    size_t last = 0;
    int rc = 0;
    for (size_t at = 0; !rc && (at < bytes || last); at += PIECE) {
        size_t piece = at >= bytes ? 0 : bytes - at < PIECE ? bytes - at : PIECE;
        add_receive(r, LANE_TALK, from, p + at, piece);
        send_to_others(r, LANE_TALK, from, p + at - PIECE, last);
        rc = move_all(r, LANE_TALK, err);
        last = piece;
    }
    return rc;
}

static int wire_broadcast(Ranks *r, void *p, size_t bytes, int from, Err *err)
{
    int rc = match(r, LANE_TALK, from, bytes, err);
    if (rc || !bytes)
        return rc;
    if (r->place.rank == 0 && from != 0)
        return relay(r, p, bytes, from, err);
    if (r->place.rank == 0)
        send_to_others(r, LANE_TALK, 0, p, bytes);
    else
        add_move(r, LANE_TALK, 0, r->place.rank == from, p, bytes);
    return move_all(r, LANE_TALK, err);
}

/* ---- sums ---- */

static size_t width_of(SumType type) { return type == SUM_BF16 ? sizeof(uint16_t) : sizeof(float); }

static int64_t chunk_of(int64_t n) { return n < CHUNK ? n : CHUNK; }

/* Of bf16 scratch holds first the rounded numbers, on rank 0 two chunks of sums in turn. */
static size_t rounded_bytes(int64_t n, SumType type)
{
    int64_t most = n > 2 * chunk_of(n) ? n : 2 * chunk_of(n);
    return type == SUM_BF16 ? (size_t)most * sizeof(uint16_t) : 0;
}

/* Then a chunk of every other rank. */
static size_t wire_scratch(const Ranks *r, int64_t n, SumType type)
{
    return rounded_bytes(n, type) + (size_t)(r->place.count - 1) * (size_t)chunk_of(n) * width_of(type);
}

/* Sends all numbers of this rank to rank 0 and takes the result, which begins to come while the
 * last ones leave. */
static int give_and_take(Ranks *r, float *p, int64_t n, SumType type, void *scratch, Err *err)
{
    char *numbers = type == SUM_BF16 ? scratch : (void *)p;
    if (type == SUM_BF16)
        rank_numbers_round(scratch, p, n);
    add_send(r, LANE_SUM, 0, numbers, (size_t)n * width_of(type));
    add_receive(r, LANE_SUM, 0, numbers, (size_t)n * width_of(type));
    int rc = move_all(r, LANE_SUM, err);
    if (!rc && type == SUM_BF16)
        rank_numbers_widen(p, scratch, n);
    return rc;
}

/* Adds what has come of one chunk to rank 0's own numbers. rounded: working space for bf16, in which the sums
 * are left. */
static void add_chunk(Ranks *r, float *p, int64_t m, SumType type, char *chunks, uint16_t *rounded)
{
    const void **parts = ((WireLanes *)r->own)->parts;
    size_t each = (size_t)m * width_of(type);
    parts[0] = p;
    if (type == SUM_BF16) {
        rank_numbers_round(rounded, p, m);
        parts[0] = rounded;
    }
    for (int rank = 1; rank < r->place.count; rank++)
        parts[rank] = chunks + (size_t)(rank - 1) * each;
    rank_numbers_add(p, parts, r->place.count, m, type);
    if (type == SUM_BF16) {
        rank_numbers_round(rounded, p, m);
        rank_numbers_widen(p, rounded, m);
    }
}

/* A chunk's sums to all others. rounded: these in bf16; NULL: they leave as they are. */
static void send_back(Ranks *r, const float *p, const uint16_t *rounded, int64_t m)
{
    for (int rank = 1; rank < r->place.count; rank++)
        if (rounded)
            add_send(r, LANE_SUM, rank, rounded, (size_t)m * sizeof *rounded);
        else
            add_send(r, LANE_SUM, rank, p, (size_t)m * sizeof *p);
}

/* Rank 0's part: receives chunk after chunk of all ranks, adds, sends back. */
static int add_for_all(Ranks *r, float *p, int64_t n, SumType type, void *scratch, Err *err)
{
    int64_t chunk = chunk_of(n), last = 0;
    uint16_t *rounded = scratch, *now = NULL, *before = NULL;
    char *chunks = (char *)scratch + rounded_bytes(n, type);
    int rc = 0, turn = 0;
    for (int64_t at = 0; !rc && (at < n || last); at += chunk) {
        int64_t m = at >= n ? 0 : n - at < chunk ? n - at : chunk;
        size_t each = (size_t)m * width_of(type);
        if (type == SUM_BF16) {
            before = now;
            now = rounded + chunk * turn;
            turn = !turn;
        }
        for (int rank = 1; rank < r->place.count; rank++)
            add_receive(r, LANE_SUM, rank, chunks + (size_t)(rank - 1) * each, each);
        if (last)
            send_back(r, p + (at - chunk), before, last);
        rc = move_all(r, LANE_SUM, err);
        if (!rc && m)
            add_chunk(r, p + at, m, type, chunks, now);
        last = m;
    }
    return rc;
}

static int wire_sum(Ranks *r, float *p, int64_t n, SumType type, void *scratch, Err *err)
{
    int rc = match(r, LANE_SUM, (int)type, (uint64_t)n, err);
    if (rc || !n)
        return rc;
    return r->place.rank == 0 ? add_for_all(r, p, n, type, scratch, err)
                              : give_and_take(r, p, n, type, scratch, err);
}

/* ---- opening ---- */

static void wire_transport_close(Ranks *r, int orderly)
{
    WireLanes *own = r->own;
    if (!own)
        return;
    for (int i = 0; i < WIRE_LANES; i++) {
        free(own->lane[i].moves);
        free(own->lane[i].polls);
        free(own->lane[i].heads);
    }
    free(own->parts);
    free(own);
    r->own = NULL;
}

const RankTransport ranks_wire_transport = {
    .name = "TCP",
    .gather = wire_gather,
    .broadcast = wire_broadcast,
    .sum = wire_sum,
    .scratch = wire_scratch,
    .close = wire_transport_close,
};

int ranks_wire_open(Ranks *r, Err *err)
{
    size_t n = (size_t)r->place.count;
    WireLanes *own = mem_calloc(1, sizeof *own);
    int ok = own != NULL;
    r->transport = &ranks_wire_transport;
    r->own = own;
    if (own)
        own->parts = mem_calloc(n, sizeof *own->parts);
    for (int i = 0; own && i < WIRE_LANES; i++) {
        WireLane *l = &own->lane[i];
        l->moves = mem_calloc(2 * n, sizeof *l->moves);
        l->polls = mem_calloc(2 * n + 1, sizeof *l->polls);
        l->heads = mem_calloc(n, sizeof *l->heads);
        ok = ok && l->moves && l->polls && l->heads;
    }
    if (!ok || !own->parts)
        return err_set(err, ERR_NOMEM, "no memory for %d ranks", r->place.count); /* ranks_open closes it */
    if (r->place.rank == 0 && n > 1)
        log_info(r->log,
                 "ranks: %d by TCP through rank 0 (started by %s; mpirun would use MPI, which is faster)",
                 r->place.count, launcher_name(r->place.launcher));
    return 0;
}
