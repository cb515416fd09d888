/* wire.c - see wire.h. Joining is in wire_join.c. */
#include "ranks/wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "ranks/wire_private.h"

enum { RECEIVE_PIECE = 1 << 16, MOVE_PIECE = 1 << 18, MOST_ASKED = 64 };

/* ---- sockets ---- */

static int listen_on(int family, int *port)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } a;
    memset(&a, 0, sizeof a);
    a.any.sa_family = (sa_family_t)family;
    if (family == AF_INET6)
        a.v6.sin6_port = htons((uint16_t)*port);
    else
        a.v4.sin_port = htons((uint16_t)*port);
    socklen_t size = family == AF_INET6 ? sizeof a.v6 : sizeof a.v4;
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1, off = 0;
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on); /* connections of an earlier run linger */
    if (family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (bind(fd, &a.any, size) < 0 || listen(fd, SOMAXCONN) < 0 || getsockname(fd, &a.any, &size) < 0) {
        int e = errno;
        close(fd);
        errno = e;
        return -1;
    }
    *port = ntohs(family == AF_INET6 ? a.v6.sin6_port : a.v4.sin_port);
    return fd;
}

int wire_listen(int *fd, int *port, Err *err)
{
    *fd = listen_on(AF_INET6, port); /* takes IPv4 too */
    if (*fd < 0 && errno != EADDRINUSE && errno != EACCES)
        *fd = listen_on(AF_INET, port);
    if (*fd >= 0)
        return 0;
    int taken = errno == EADDRINUSE;
    int rc = err_set_errno(err, ERR_IO, "rank 0 cannot listen on port %d", *port);
    if (taken)
        err_hint(
            err,
            "another run on this host may use it; MYXTTS_PORT, the same on every rank, sets another port");
    return rc;
}

void wire_own_addresses(WireMeeting *m)
{
    struct ifaddrs *all = NULL;
    m->address_count = 0;
    if (getifaddrs(&all) < 0)
        all = NULL;
    for (struct ifaddrs *i = all; i && m->address_count < WIRE_ADDRESSES - 1; i = i->ifa_next) {
        if (!i->ifa_addr || !(i->ifa_flags & IFF_UP) || i->ifa_flags & IFF_LOOPBACK)
            continue;
        int family = i->ifa_addr->sa_family;
        const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)i->ifa_addr;
        if (family != AF_INET && (family != AF_INET6 || IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr)))
            continue;
        socklen_t size = family == AF_INET ? sizeof(struct sockaddr_in) : sizeof *six;
        char *to = m->addresses[m->address_count];
        if (getnameinfo(i->ifa_addr, size, to, sizeof m->addresses[0], NULL, 0, NI_NUMERICHOST) == 0)
            m->address_count++;
    }
    if (all)
        freeifaddrs(all);
    snprintf(m->addresses[m->address_count++], sizeof m->addresses[0], "127.0.0.1");
}

void wire_tune(int fd)
{
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

int wire_connect(const struct sockaddr *to, socklen_t size)
{
    int fd = socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    wire_tune(fd);
    if (connect(fd, to, size) == 0 || errno == EINPROGRESS)
        return fd;
    int e = errno;
    close(fd);
    errno = e;
    return -1;
}

void wire_close(Wire *w)
{
    int *sets[] = {w->control, w->lane[0], w->lane[1]};
    for (size_t s = 0; s < sizeof sets / sizeof *sets; s++) {
        for (int i = 0; sets[s] && i < w->count; i++)
            if (sets[s][i] >= 0)
                close(sets[s][i]);
        free(sets[s]);
    }
    if (w->count && w->listener >= 0)
        close(w->listener);
    free(w->hosts);
    *w = (Wire){.listener = -1};
}

/* ---- messages ---- */

int wire_send(int fd, WireKind kind, const void *p, size_t bytes)
{
    if (fd < 0)
        return -1;
    WireHead head = {(uint32_t)kind, (uint32_t)bytes};
    struct iovec parts[2] = {{&head, sizeof head}, {(void *)(uintptr_t)p, bytes}};
    struct msghdr m = {.msg_iov = parts, .msg_iovlen = bytes ? 2 : 1};
    ssize_t n;
    do
        n = sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)(sizeof head + bytes) ? 0 : -1;
}

int wire_receive(int fd, Buf *in)
{
    char piece[RECEIVE_PIECE];
    for (;;) {
        ssize_t n = recv(fd, piece, sizeof piece, MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN || errno == EWOULDBLOCK;
        if (n == 0)
            return 0;
        buf_add(in, piece, (size_t)n);
        if (in->failed)
            return 0;
    }
}

int wire_next(const Buf *in, size_t *at, const void **p, size_t *bytes)
{
    WireHead head;
    if (in->size - *at < sizeof head)
        return 0;
    memcpy(&head, in->data + *at, sizeof head);
    if (head.bytes > WIRE_MESSAGE_MOST || head.kind < WIRE_TABLE || head.kind > WIRE_BYE)
        return -1;
    if (in->size - *at < sizeof head + head.bytes)
        return 0;
    *p = in->data + *at + sizeof head;
    *bytes = head.bytes;
    *at += sizeof head + head.bytes;
    return (int)head.kind;
}

/* ---- bulk data ---- */

/* As much as goes now. -1: the connection is broken. */
static int move_some(WireMove *m, uint64_t *moved)
{
    while (m->bytes) {
        size_t piece = m->bytes < MOVE_PIECE ? m->bytes : MOVE_PIECE;
        ssize_t n = m->out ? send(m->fd, m->p, piece, MSG_NOSIGNAL | MSG_DONTWAIT)
                           : recv(m->fd, m->p, piece, MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return 0;
        if (n <= 0)
            return -1;
        m->p += n;
        m->bytes -= (size_t)n;
        __atomic_fetch_add(moved, 1, __ATOMIC_RELAXED);
    }
    return 0;
}

int wire_move(WireMove *m, int n, struct pollfd *polls, int stop, uint64_t *moved, Err *err)
{
    for (;;) {
        int left = 0;
        for (int i = 0; i < n; i++) {
            if (move_some(&m[i], moved) < 0)
                return err_set(err, ERR_IO, "the connection with rank %d broke", m[i].rank);
            if (m[i].bytes)
                polls[left++] = (struct pollfd){.fd = m[i].fd, .events = m[i].out ? POLLOUT : POLLIN};
        }
        if (!left)
            return 0;
        polls[left] = (struct pollfd){.fd = stop, .events = POLLIN};
        if (poll(polls, (nfds_t)left + 1, -1) < 0 && errno != EINTR)
            return err_set_errno(err, ERR_IO, "cannot wait for other ranks");
        if (polls[left].revents & POLLIN)
            return err_set(err, ERR_RANKS, "another rank has failed");
    }
}

/* ---- is somebody there? ---- */

void wire_answer(int listener)
{
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return;
    if (send(fd, "!", 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
        /* who asked has gone away again */
    }
    close(fd);
}

/* -1 when there is no use in trying. */
static int ask(const Wire *w, int rank)
{
    const WireHost *h = &w->hosts[rank];
    /* What rank 0 reached by loopback is on rank 0's host. */
    int is_loopback = !strncmp(h->address, "127.", 4) || !strcmp(h->address, "::1");
    const char *address = is_loopback ? w->center : h->address;
    char port[16];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST}, *found = NULL;
    snprintf(port, sizeof port, "%d", h->port);
    if (!h->port || getaddrinfo(address, port, &hints, &found))
        return -1;
    int fd = wire_connect(found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    return fd;
}

int wire_any_alive(const Wire *w, int first, int last, double seconds)
{
    struct pollfd asked[MOST_ASKED + 1];
    int n = 0, alive = 0;
    double end = clock_now() + seconds;
    for (int rank = first; rank <= last && n < MOST_ASKED; rank++) {
        int fd = ask(w, rank);
        if (fd >= 0)
            asked[n++] = (struct pollfd){.fd = fd, .events = POLLIN};
    }
    asked[n] = (struct pollfd){.fd = w->listener, .events = POLLIN};
    for (int open = n; open && !alive;) {
        double left = end - clock_now();
        if (left <= 0 || (poll(asked, (nfds_t)n + 1, (int)(left * 1000) + 1) < 0 && errno != EINTR))
            break;
        if (asked[n].revents & POLLIN)
            wire_answer(w->listener);
        for (int i = 0; i < n && !alive; i++) {
            char c;
            if (asked[i].fd < 0 || !asked[i].revents)
                continue;
            alive = recv(asked[i].fd, &c, 1, MSG_DONTWAIT) == 1;
            close(asked[i].fd);
            asked[i].fd = -1;
            open--;
        }
    }
    for (int i = 0; i < n; i++)
        if (asked[i].fd >= 0)
            close(asked[i].fd);
    return alive;
}
