/* http_listen.c - addresses to listen at. */
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "serve/http.h"

#define BACKLOG 1024

/* "127.0.0.1:8000", "[::1]:8000", "8000" into host and port. */
static int split(const char *address, char *host, size_t cap, char *port, size_t port_cap, Err *err)
{
    const char *colon = strrchr(address, ':'), *from = address;
    size_t n = colon ? (size_t)(colon - address) : 0;
    if (n >= 2 && from[0] == '[' && from[n - 1] == ']') {
        from++;
        n -= 2;
    } else if (memchr(address, ':', n)) {
        return err_set(err, ERR_USAGE, "'%s': write an IPv6 address in brackets, such as [::1]:8000",
                       address);
    }
    const char *number = colon ? colon + 1 : address;
    char *end;
    long value = strtol(number, &end, 10);
    if (!*number || *end || *number < '0' || *number > '9' || value > 65535 || n >= cap)
        return err_set(err, ERR_USAGE, "'%s' is not an address to listen on; write it as 127.0.0.1:8000",
                       address);
    snprintf(host, cap, "%.*s", (int)n, from);
    if (!colon || !n)
        snprintf(host, cap, "127.0.0.1");
    snprintf(port, port_cap, "%ld", value);
    return 0;
}

static int is_loopback(const struct sockaddr *a)
{
    if (a->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr) >> 24 == 127;
    return a->sa_family == AF_INET6 &&
           IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr);
}

static void show(HttpAddress *a, const struct sockaddr *address, socklen_t size)
{
    char host[80] = "", port[16] = "0";
    getnameinfo(address, size, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV);
    a->port = atoi(port);
    a->loopback = is_loopback(address);
    snprintf(a->shown, sizeof a->shown, address->sa_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
}

static int look_up(struct addrinfo **found, const char *address, Err *err)
{
    char host[256], port[16];
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    int rc = split(address, host, sizeof host, port, sizeof port, err);
    if (rc)
        return rc;
    rc = getaddrinfo(host, port, &hints, found);
    return rc ? err_set(err, ERR_USAGE, "cannot listen at %s: %s", address, gai_strerror(rc)) : 0;
}

int http_address(HttpAddress *a, const char *address, Err *err)
{
    struct addrinfo *found;
    int rc = look_up(&found, address, err);
    if (rc)
        return rc;
    show(a, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    return 0;
}

int http_listen(int *fd, HttpAddress *a, const char *address, Err *err)
{
    struct addrinfo *found;
    int on = 1, rc = look_up(&found, address, err);
    *fd = -1;
    if (rc)
        return rc;
    int s = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (s >= 0)
        setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (s < 0 || bind(s, found->ai_addr, found->ai_addrlen) != 0 || listen(s, BACKLOG) != 0) {
        rc = err_set_errno(err, ERR_IO, "cannot listen at %s", address);
        err_hint(err, "another program may use this port; --listen 127.0.0.1:0 takes any free port");
        if (s >= 0)
            close(s);
    } else {
        struct sockaddr_storage used;
        socklen_t size = sizeof used;
        getsockname(s, (struct sockaddr *)&used, &size);
        show(a, (struct sockaddr *)&used, size);
        *fd = s;
    }
    freeaddrinfo(found);
    return rc;
}
