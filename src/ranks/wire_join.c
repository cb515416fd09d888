/* wire_join.c - how the ranks of a run find each other: rank 0 listens, the others connect and say who they
 * are. Strangers and processes of other runs are turned away. When all have connected, every rank gets the
 * table of hosts. */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/plural.h"
#include "ranks/wire.h"
#include "ranks/wire_private.h"

static const char magic[8] = "myxttsR1";

/* What a rank says first on each of its connections. */
typedef struct Hello {
    char magic[8];
    unsigned char token[16];
    uint32_t rank, count;
    uint32_t lane; /* 0: control, 1 ..: data */
    int32_t port;  /* where it answers */
    int32_t pid;
    char host[64];
} Hello;

typedef enum { WELCOME = 1, OTHER_RUN, OTHER_COUNT, TAKEN } Verdict;

typedef struct Answer {
    char magic[8];
    uint32_t verdict;
    uint32_t count; /* ranks that rank 0 expects */
} Answer;

/* A connection that has not said who it is. */
typedef struct Guest {
    int fd;
    double since;
    size_t got;
    Hello hello;
} Guest;

enum { MOST_GUESTS = 256, GUEST_SECONDS = 5, ANSWER_SECONDS = 3 };

/* Waits until fd is ready; 0 when time is up. */
static int wait_for(int fd, short events, double until)
{
    for (;;) {
        double left = until - clock_now();
        struct pollfd p = {.fd = fd, .events = events};
        int n = poll(&p, 1, left > 0 ? (int)(left * 1000) + 1 : 0);
        if (n > 0)
            return 1;
        if (left <= 0 || (n < 0 && errno != EINTR))
            return 0;
    }
}

/* ---- rank 0 ---- */

typedef struct Gathering {
    Wire *w;
    const WireMeeting *m;
    Guest guests[MOST_GUESTS];
    int guest_count;
    int arrived; /* connections */
    struct pollfd *polls;
} Gathering;

static int *connections(Wire *w, int lane) { return lane ? w->lane[lane - 1] : w->control; }

static void turn_away(Gathering *g, int guest)
{
    close(g->guests[guest].fd);
    g->guests[guest] = g->guests[--g->guest_count];
}

static void let_in(Gathering *g, int guest, const Hello *h)
{
    Wire *w = g->w;
    int fd = g->guests[guest].fd;
    connections(w, (int)h->lane)[h->rank] = fd;
    g->guests[guest] = g->guests[--g->guest_count];
    g->arrived++;
    if (h->lane)
        return;
    WireHost *host = &w->hosts[h->rank];
    struct sockaddr_storage from;
    socklen_t size = sizeof from;
    memcpy(host->host, h->host, sizeof host->host);
    host->host[sizeof host->host - 1] = 0;
    host->port = h->port;
    host->pid = h->pid;
    if (getpeername(fd, (struct sockaddr *)&from, &size) == 0 &&
        getnameinfo((struct sockaddr *)&from, size, host->address, sizeof host->address, NULL, 0,
                    NI_NUMERICHOST) != 0)
        host->address[0] = 0;
    /* An IPv4 address seen through an IPv6 socket. */
    if (!strncmp(host->address, "::ffff:", 7))
        memmove(host->address, host->address + 7, strlen(host->address + 7) + 1);
}

static Verdict judge(const Gathering *g, const Hello *h)
{
    const WireMeeting *m = g->m;
    if (memcmp(h->magic, magic, sizeof magic) != 0 || memcmp(h->token, m->token, sizeof h->token) != 0)
        return OTHER_RUN;
    if (h->count != (uint32_t)m->count || h->lane > (uint32_t)m->lanes)
        return OTHER_COUNT;
    if (h->rank == 0 || h->rank >= h->count || connections(g->w, (int)h->lane)[h->rank] >= 0)
        return TAKEN;
    return WELCOME;
}

/* Reads from a guest: a connection that has not yet said which rank it is. 1 if it stays a guest. */
static int hear_guest(Gathering *g, int guest)
{
    Guest *a = &g->guests[guest];
    ssize_t n = recv(a->fd, (char *)&a->hello + a->got, sizeof a->hello - a->got, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 1;
    if (n > 0)
        a->got += (size_t)n;
    /* A stranger is known by its first bytes. */
    size_t known = a->got < sizeof magic ? a->got : sizeof magic;
    if (n <= 0 || memcmp(a->hello.magic, magic, known) != 0) {
        turn_away(g, guest);
        return 0;
    }
    if (a->got < sizeof a->hello)
        return 1;
    Hello h = a->hello;
    Answer answer = {.verdict = (uint32_t)judge(g, &h), .count = (uint32_t)g->m->count};
    memcpy(answer.magic, magic, sizeof magic);
    int sent = send(a->fd, &answer, sizeof answer, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof answer;
    if (sent && answer.verdict == WELCOME)
        let_in(g, guest, &h);
    else
        turn_away(g, guest);
    return 0;
}

static void take_guests(Gathering *g)
{
    for (;;) {
        int fd = accept4(g->w->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0)
            return;
        if (g->guest_count == MOST_GUESTS) { /* the oldest of them is a stranger */
            int oldest = 0;
            for (int i = 1; i < MOST_GUESTS; i++)
                if (g->guests[i].since < g->guests[oldest].since)
                    oldest = i;
            turn_away(g, oldest);
        }
        wire_tune(fd);
        g->guests[g->guest_count++] = (Guest){.fd = fd, .since = clock_now()};
    }
}

/* "rank 3", "ranks 2 and 5", "ranks 1, 2, 3 and 40 more" */
static void list_ranks(char *out, size_t cap, const int *ranks, int n)
{
    int shown = n > 8 ? 6 : n;
    size_t at = (size_t)snprintf(out, cap, "rank%s ", plural((uint64_t)n));
    for (int i = 0; i < shown && at < cap; i++) {
        const char *joint = i == 0 ? "" : i == n - 1 ? " and " : ", ";
        at += (size_t)snprintf(out + at, cap - at, "%s%d", joint, ranks[i]);
    }
    if (shown < n && at < cap)
        snprintf(out + at, cap - at, " and %d more", n - shown);
}

static int say_who_is_missing(const Gathering *g, Err *err)
{
    const Wire *w = g->w;
    char names[160];
    int n = 0, *missing = mem_calloc((size_t)w->count, sizeof *missing);
    if (!missing)
        return err_set(err, ERR_NOMEM, "no memory for a list of ranks");
    for (int rank = 1; rank < w->count; rank++)
        if (w->control[rank] < 0)
            missing[n++] = rank;
    for (int rank = 1; rank < w->count && !n; rank++) /* between its first connection and its last */
        if (w->lane[0][rank] < 0 || w->lane[1][rank] < 0)
            missing[n++] = rank;
    list_ranks(names, sizeof names, missing, n);
    free(missing);
    err_set(err, ERR_MISSING, "%s of %d %s not connected to %s, port %d, within %.0f s", names, w->count,
            n == 1 ? "has" : "have", g->m->host, g->m->port, g->m->seconds);
    return err_hint(err, "check that they started and that their hosts can reach this port; MYXTTS_ADDRESS "
                         "and MYXTTS_PORT choose another, MYXTTS_JOIN_SECONDS waits longer");
}

/* A rank that has connected sends nothing until all have: if its connection can be read, it has ended.
 * */
static int check_arrived(const Gathering *g, int rank, Err *err)
{
    char c;
    if (recv(g->w->control[rank], &c, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    return err_set(err, ERR_WORKER, "rank %d on %s ended before the others had connected", rank,
                   g->w->hosts[rank].host);
}

/* One round of waiting: new guests, what they say, who has left. */
static int wait_round(Gathering *g, double until, Err *err)
{
    Wire *w = g->w;
    int n = 0, guests = g->guest_count;
    double left = until - clock_now();
    g->polls[n++] = (struct pollfd){.fd = w->listener, .events = POLLIN};
    for (int i = 0; i < guests; i++)
        g->polls[n++] = (struct pollfd){.fd = g->guests[i].fd, .events = POLLIN};
    for (int rank = 1; rank < w->count; rank++)
        g->polls[n++] = (struct pollfd){.fd = w->control[rank], .events = POLLIN};
    int wait_ms = left > 0.5 ? 500 : left > 0 ? (int)(left * 1000) + 1 : 0;
    if (poll(g->polls, (nfds_t)n, wait_ms) < 0 && errno != EINTR)
        return err_set_errno(err, ERR_IO, "cannot wait for other ranks");
    for (int rank = 1; rank < w->count; rank++)
        if (g->polls[guests + rank].revents && check_arrived(g, rank, err) < 0)
            return ERR_WORKER;
    double now = clock_now();
    for (int i = guests - 1; i >= 0; i--) { /* backwards: one that goes is replaced by the last */
        int stays = !g->polls[1 + i].revents || hear_guest(g, i);
        if (stays && now - g->guests[i].since > GUEST_SECONDS)
            turn_away(g, i);
    }
    take_guests(g);
    return 0;
}

/* A connection for every rank takes more descriptors than are usual. */
static void raise_descriptors(int needed)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= (rlim_t)needed + 512)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* The table of a thousand ranks is longer than a socket's buffer. */
static int send_table(const Wire *w, int fd)
{
    size_t table = (size_t)w->count * sizeof *w->hosts;
    WireHead head = {WIRE_TABLE, (uint32_t)table};
    struct iovec parts[2] = {{&head, sizeof head}, {w->hosts, table}};
    double until = clock_now() + GUEST_SECONDS;
    for (size_t i = 0; i < 2; i++) {
        for (size_t done = 0; done < parts[i].iov_len;) {
            ssize_t n = send(fd, (char *)parts[i].iov_base + done, parts[i].iov_len - done,
                             MSG_NOSIGNAL | MSG_DONTWAIT);
            if (n < 0 && (errno == EAGAIN || errno == EINTR) && wait_for(fd, POLLOUT, until))
                continue;
            if (n < 0)
                return 0;
            done += (size_t)n;
        }
    }
    return 1;
}

static int gather_ranks(Wire *w, const WireMeeting *m, Err *err)
{
    int all = (w->count - 1) * (1 + m->lanes), rc = 0;
    double until = clock_now() + m->seconds;
    Gathering *g = mem_calloc(1, sizeof *g);
    if (g)
        g->polls = mem_calloc((size_t)w->count + MOST_GUESTS + 1, sizeof *g->polls);
    if (!g || !g->polls) {
        free(g);
        return err_set(err, ERR_NOMEM, "no memory for %d ranks", w->count);
    }
    g->w = w;
    g->m = m;
    raise_descriptors(all);
    while (!rc && g->arrived < all) {
        if (clock_now() >= until)
            rc = say_who_is_missing(g, err);
        else
            rc = wait_round(g, until, err);
    }
    while (g->guest_count)
        turn_away(g, 0);
    free(g->polls);
    free(g);
    /* Every rank learns of the others, or why there is no run. */
    WireFault fault = {.code = rc};
    if (rc && err) {
        memcpy(fault.msg, err->msg, sizeof fault.msg);
        memcpy(fault.hint, err->hint, sizeof fault.hint);
    }
    for (int rank = 1; rank < w->count; rank++) {
        if (rc)
            wire_send(w->control[rank], WIRE_FAULT, &fault, sizeof fault);
        else if (!send_table(w, w->control[rank]))
            return err_set(err, ERR_WORKER, "rank %d on %s ended before the others had connected", rank,
                           w->hosts[rank].host);
    }
    return rc;
}

/* ---- the others ---- */

/* One connection to one address: its socket, or -1 with errno; *verdict is rank 0's, 0 if there is none. */
static int call(const struct addrinfo *to, const Hello *h, Answer *answer)
{
    double until = clock_now() + ANSWER_SECONDS;
    size_t got = 0;
    int fd = wire_connect(to->ai_addr, to->ai_addrlen), e = 0;
    socklen_t size = sizeof e;
    memset(answer, 0, sizeof *answer);
    if (fd < 0)
        return -1;
    if (!wait_for(fd, POLLOUT, until))
        e = ETIMEDOUT;
    else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &e, &size) < 0)
        e = errno;
    else if (!e && send(fd, h, sizeof *h, MSG_NOSIGNAL | MSG_DONTWAIT) != sizeof *h)
        e = errno;
    while (!e && got < sizeof *answer) {
        if (!wait_for(fd, POLLIN, until)) {
            e = ETIMEDOUT;
            break;
        }
        ssize_t n = recv(fd, (char *)answer + got, sizeof *answer - got, MSG_DONTWAIT);
        if (n > 0)
            got += (size_t)n;
        else if (n == 0)
            e = ECONNRESET;
        else if (errno != EAGAIN && errno != EINTR)
            e = errno;
    }
    if (!e && memcmp(answer->magic, magic, sizeof magic) != 0)
        e = EPROTO;
    if (!e)
        return fd;
    close(fd);
    memset(answer, 0, sizeof *answer);
    errno = e;
    return -1;
}

/* What rank 0 has against this process; 0 if nothing. */
static int refused(const Answer *a, const WireMeeting *m, Err *err)
{
    switch (a->verdict) {
    case OTHER_COUNT:
        err_set(err, ERR_USAGE, "rank %d on %s was started as one of %d ranks, rank 0 as one of %u", m->rank,
                m->host, m->count, a->count);
        return err_hint(err, "start all ranks in the same way");
    case TAKEN:
        err_set(err, ERR_USAGE, "there is already another rank %d, besides the one on %s", m->rank, m->host);
        return err_hint(err, "every process needs a different rank; check how they were started");
    default:
        return 0;
    }
}

static Hello hello_of(const WireMeeting *m, int port, int lane)
{
    Hello h = {.rank = (uint32_t)m->rank,
               .count = (uint32_t)m->count,
               .lane = (uint32_t)lane,
               .port = port,
               .pid = (int32_t)getpid()};
    memcpy(h.magic, magic, sizeof magic);
    memcpy(h.token, m->token, sizeof h.token);
    snprintf(h.host, sizeof h.host, "%s", m->host);
    return h;
}

/* The other connections, to where the first got through. */
static int connect_lanes(Wire *w, const WireMeeting *m, const struct addrinfo *to, int port, Err *err)
{
    for (int lane = 1; lane <= m->lanes; lane++) {
        Hello h = hello_of(m, port, lane);
        Answer a;
        int fd = call(to, &h, &a);
        if (fd >= 0 && a.verdict != WELCOME) {
            close(fd);
            fd = -1;
            errno = EPROTO;
        }
        if (fd < 0)
            return err_set_errno(err, ERR_IO, "rank %d on %s lost the connection to rank 0 while joining",
                                 m->rank, m->host);
        connections(w, lane)[0] = fd;
    }
    return 0;
}

/* Tries one name of rank 0. 1: connected, 0: not there (*why), negative: refused. */
static int try_address(Wire *w, const WireMeeting *m, const char *name, int port, const char **why, Err *err)
{
    char service[16];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    snprintf(service, sizeof service, "%d", m->port);
    int rc = getaddrinfo(name, service, &hints, &found);
    if (rc) {
        *why = gai_strerror(rc);
        return 0;
    }
    Hello h = hello_of(m, port, 0);
    int done = 0;
    for (struct addrinfo *to = found; to && !done; to = to->ai_next) {
        Answer a;
        int fd = call(to, &h, &a);
        if (fd < 0) {
            *why = errno == EPROTO ? "something else answers there" : strerror(errno);
            continue;
        }
        if (a.verdict == WELCOME) {
            w->control[0] = fd;
            getnameinfo(to->ai_addr, to->ai_addrlen, w->center, sizeof w->center, NULL, 0, NI_NUMERICHOST);
            done = connect_lanes(w, m, to, port, err);
            done = done ? done : 1;
            break;
        }
        close(fd);
        *why = "what answers there is not part of this run";
        done = refused(&a, m, err);
    }
    freeaddrinfo(found);
    return done;
}

static int reach_rank_0(Wire *w, const WireMeeting *m, int port, Err *err)
{
    const char *why = "no address";
    double until = clock_now() + m->seconds;
    for (;;) {
        for (int i = 0; i < m->address_count; i++) {
            int rc = try_address(w, m, m->addresses[i], port, &why, err);
            if (rc)
                return rc < 0 ? rc : 0;
        }
        if (clock_now() >= until)
            break;
        clock_sleep(0.1);
    }
    err_set(err, ERR_MISSING, "rank %d on %s cannot reach rank 0 at %s, port %d, within %.0f s: %s", m->rank,
            m->host, m->addresses[0], m->port, m->seconds, why);
    return err_hint(err, "check that rank 0 started and that this host can reach that port; MYXTTS_ADDRESS "
                         "and MYXTTS_PORT choose another, MYXTTS_JOIN_SECONDS waits longer");
}

/* Exactly this many bytes: what follows is for the thread that reads this connection later. */
static int read_exactly(int fd, void *p, size_t bytes, double until)
{
    for (size_t got = 0; got < bytes;) {
        if (!wait_for(fd, POLLIN, until))
            return 0;
        ssize_t n = recv(fd, (char *)p + got, bytes - got, MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
            return 0;
        got += n > 0 ? (size_t)n : 0;
    }
    return 1;
}

/* Rank 0 sends the table when all are there, or says why not. */
static int await_table(Wire *w, Err *err, double until)
{
    WireHead head = {0};
    size_t table = (size_t)w->count * sizeof *w->hosts;
    WireFault fault;
    int fd = w->control[0], arrived = read_exactly(fd, &head, sizeof head, until);
    if (arrived && head.kind == WIRE_TABLE && head.bytes == table && read_exactly(fd, w->hosts, table, until))
        return 0;
    if (arrived && head.kind == WIRE_FAULT && head.bytes == sizeof fault &&
        read_exactly(fd, &fault, sizeof fault, until)) {
        err_set(err, ERR_RANKS, "%.*s", (int)sizeof fault.msg - 1, fault.msg);
        return err_hint(err, "%.*s", (int)sizeof fault.hint - 1, fault.hint);
    }
    return err_set(err, ERR_WORKER, "rank 0 ended before all %d ranks had connected", w->count);
}

static int find_rank_0(Wire *w, const WireMeeting *m, Err *err)
{
    int port = 0;
    int rc = wire_listen(&w->listener, &port, err);
    if (!rc)
        rc = reach_rank_0(w, m, port, err);
    if (!rc)
        rc = await_table(w, err, clock_now() + m->seconds + GUEST_SECONDS);
    return rc;
}

/* ---- both ---- */

static int make_room(Wire *w, const WireMeeting *m)
{
    size_t n = (size_t)m->count;
    w->hosts = mem_calloc(n, sizeof *w->hosts);
    w->control = mem_calloc(n, sizeof *w->control);
    int ok = w->hosts && w->control;
    for (int i = 0; i < m->lanes; i++) {
        w->lane[i] = mem_calloc(n, sizeof *w->lane[i]);
        ok = ok && w->lane[i];
    }
    for (int lane = 0; lane <= m->lanes; lane++)
        for (size_t i = 0; connections(w, lane) && i < n; i++)
            connections(w, lane)[i] = -1;
    return ok;
}

int wire_join(Wire *w, int listener, const WireMeeting *m, Err *err)
{
    ASSERT(m->lanes == 0 || m->lanes == WIRE_LANES);
    *w = (Wire){.rank = m->rank, .count = m->count, .listener = listener};
    int rc = make_room(w, m) ? 0 : err_set(err, ERR_NOMEM, "no memory for %d ranks", m->count);
    if (!rc && m->rank == 0) {
        snprintf(w->hosts[0].host, sizeof w->hosts[0].host, "%s", m->host);
        w->hosts[0].pid = (int32_t)getpid();
        rc = gather_ranks(w, m, err);
        if (!rc && listener >= 0) {
            close(listener);
            w->listener = -1;
        }
    } else if (!rc) {
        rc = find_rank_0(w, m, err);
    }
    if (rc)
        wire_close(w);
    return rc;
}
