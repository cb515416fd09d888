/* speech_load.c - see speech_load.h. */
#include "speech_load.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"

#define WAV_HEADER 44
#define PATIENCE 120.0 /* seconds without a byte from anybody: the server hangs */
enum { HEAD_SIZE = 4096, EVENTS = 64 };

/* Where an answer is. */
typedef enum { IN_HEAD, IN_SIZE, IN_CHUNK, BEHIND_CHUNK, IN_TRAILER, IN_LENGTH, TO_END } Place;

typedef struct LoadClient {
    int fd; /* -1: none */
    int busy;
    const LoadText *text;
    Buf request;
    size_t sent;
    double began, first; /* first: 0 until there is sound */
    Place place;
    char line[HEAD_SIZE]; /* the head, or the line that has begun */
    size_t line_size;
    int status, closes;
    int retry;    /* seconds to wait before asking again */
    double again; /* when it asks again; 0: it is asking */
    size_t left;  /* of the chunk, or of the body */
    size_t bytes; /* of the body so far */
    int differs;
    uint32_t rate;
    char body[200]; /* the beginning of an error */
} LoadClient;

typedef struct Load {
    const LoadOptions *o;
    LoadResult *r;
    LoadClient *clients;
    struct addrinfo *address;
    int epoll;
    double began;
    int64_t begun;
    size_t first_count, first_cap;
} Load;

/* --- asking --- */

static void add_json_string(Buf *b, const char *s)
{
    buf_str(b, "\"");
    for (; *s; s++) {
        if (*s == '"' || *s == '\\')
            buf_printf(b, "\\%c", *s);
        else if ((unsigned char)*s < 0x20)
            buf_printf(b, "\\u%04x", (unsigned char)*s);
        else
            buf_add(b, s, 1);
    }
    buf_str(b, "\"");
}

static void make_request(const Load *l, LoadClient *c)
{
    Buf body = {0};
    buf_str(&body, "{\"response_format\": \"wav\", \"input\": ");
    add_json_string(&body, c->text->text);
    buf_str(&body, "}");
    buf_clear(&c->request);
    buf_printf(&c->request, "POST /v1/audio/speech HTTP/1.1\r\nHost: %s\r\n", l->o->host);
    if (l->o->token)
        buf_printf(&c->request, "Authorization: Bearer %s\r\n", l->o->token);
    buf_printf(&c->request, "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n", body.size);
    buf_add(&c->request, body.data, body.size);
    buf_free(&body);
}

static int connect_client(const Load *l, LoadClient *c, Err *err)
{
    const int on = 1;
    c->fd = socket(l->address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0 || connect(c->fd, l->address->ai_addr, l->address->ai_addrlen) != 0)
        return err_set_errno(err, ERR_IO, "cannot connect to %s:%s", l->o->host, l->o->port);
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    fcntl(c->fd, F_SETFL, fcntl(c->fd, F_GETFL) | O_NONBLOCK);
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
    if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, c->fd, &e) != 0)
        return err_set_errno(err, ERR_IO, "cannot wait for a connection");
    return 0;
}

static void disconnect(LoadClient *c)
{
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
}

/* A request is small: that the socket does not take it at once is all but impossible. */
static void send_request(const Load *l, LoadClient *c)
{
    ssize_t n = send(c->fd, c->request.data + c->sent, c->request.size - c->sent, MSG_NOSIGNAL);
    if (n > 0)
        c->sent += (size_t)n;
    struct epoll_event e = {.events = EPOLLIN | (c->sent < c->request.size ? EPOLLOUT : 0), .data.ptr = c};
    epoll_ctl(l->epoll, EPOLL_CTL_MOD, c->fd, &e);
}

/* The next request, if there is to be one. */
static int begin(Load *l, LoadClient *c, Err *err)
{
    const LoadOptions *o = l->o;
    c->busy = o->requests ? l->begun < o->requests : clock_now() - l->began < o->seconds;
    if (!c->busy)
        return 0;
    c->text = &o->texts[l->begun++ % o->text_count];
    make_request(l, c);
    if (c->request.failed)
        return err_set(err, ERR_NOMEM, "no memory for a request");
    if (c->fd < 0) {
        int rc = connect_client(l, c, err);
        if (rc)
            return rc;
    }
    c->sent = 0;
    c->place = IN_HEAD;
    c->line_size = 0;
    c->status = 0;
    c->closes = 0;
    c->retry = 0;
    c->again = 0;
    c->bytes = 0;
    c->differs = 0;
    c->first = 0;
    c->body[0] = 0;
    c->began = clock_now();
    send_request(l, c);
    return 0;
}

/* --- the answer --- */

static int add_first(Load *l, double seconds)
{
    if (mem_grow(&l->r->first, &l->first_cap, l->first_count + 1, sizeof *l->r->first))
        return ERR_NOMEM;
    l->r->first[l->first_count++] = seconds;
    return 0;
}

/* An answer is over. why: NULL, or what went wrong with the connection. */
static int finish(Load *l, LoadClient *c, const char *why, Err *err)
{
    LoadResult *r = l->r;
    if (!why && c->status == 429 && c->retry > 0) {
        const double now = clock_now();
        r->refused++;
        r->slowest_refusal = fmax(r->slowest_refusal, now - c->began);
        c->again = now + c->retry;
        if (c->closes)
            disconnect(c);
        return 0;
    }
    r->requests++;
    if (why || c->status != 200 || c->bytes <= WAV_HEADER) {
        if (!r->errors++)
            snprintf(r->message, sizeof r->message, "status %d after %zu bytes: %s", c->status, c->bytes,
                     why ? why : c->body);
        disconnect(c);
    } else {
        if (add_first(l, c->first - c->began))
            return err_set(err, ERR_NOMEM, "no memory for figures");
        r->wrong += c->text->wav && (c->differs || c->bytes != c->text->size);
        r->speech += (double)(c->bytes - WAV_HEADER) / 2 / (c->rate ? c->rate : 1);
    }
    if (c->closes)
        disconnect(c);
    return begin(l, c, err);
}

static void take_body(LoadClient *c, const uint8_t *p, size_t n)
{
    const LoadText *t = c->text;
    if (c->status != 200) {
        size_t have = strlen(c->body), some = n < sizeof c->body - 1 - have ? n : sizeof c->body - 1 - have;
        memcpy(c->body + have, p, some);
        c->body[have + some] = 0;
    }
    if (t->wav && (c->bytes + n > t->size || memcmp(p, t->wav + c->bytes, n) != 0))
        c->differs = 1;
    for (size_t i = 0; i < n && c->bytes + i < 28; i++) /* the rate is a number of the header */
        if (c->bytes + i >= 24)
            ((uint8_t *)&c->rate)[c->bytes + i - 24] = p[i];
    c->bytes += n;
    if (!c->first && c->bytes > WAV_HEADER)
        c->first = clock_now();
}

/* A line that has ended, without its end. 1: the answer is over. */
static int take_line(LoadClient *c, char *line)
{
    switch (c->place) {
    case IN_SIZE:
        c->left = strtoul(line, NULL, 16);
        c->place = c->left ? IN_CHUNK : IN_TRAILER;
        return 0;
    case BEHIND_CHUNK:
        c->place = IN_SIZE;
        return 0;
    case IN_TRAILER:
        return !*line;
    default:
        break;
    }
    if (!c->status) { /* "HTTP/1.1 200 OK" */
        c->status = strlen(line) > 9 ? atoi(line + 9) : -1;
        c->left = SIZE_MAX;
        return 0;
    }
    if (strncasecmp(line, "transfer-encoding: chunked", 26) == 0)
        c->left = SIZE_MAX - 1;
    else if (strncasecmp(line, "content-length:", 15) == 0)
        c->left = strtoul(line + 15, NULL, 10);
    else if (strncasecmp(line, "retry-after:", 12) == 0)
        c->retry = atoi(line + 12);
    else if (strncasecmp(line, "connection: close", 17) == 0)
        c->closes = 1;
    if (*line)
        return 0;
    c->place = c->left == SIZE_MAX ? TO_END : c->left == SIZE_MAX - 1 ? IN_SIZE : IN_LENGTH;
    return c->place == IN_LENGTH && !c->left;
}

/* Takes bytes of an answer; returns how many, *over: it has ended. */
static size_t take_bytes(LoadClient *c, const uint8_t *p, size_t n, int *over)
{
    size_t at = 0;
    *over = 0;
    while (at < n && !*over) {
        if (c->place == IN_CHUNK || c->place == IN_LENGTH || c->place == TO_END) {
            size_t some = c->place == TO_END || n - at < c->left ? n - at : c->left;
            take_body(c, p + at, some);
            at += some;
            c->left -= c->place == TO_END ? 0 : some;
            if (c->place == IN_CHUNK && !c->left)
                c->place = BEHIND_CHUNK;
            *over = c->place == IN_LENGTH && !c->left;
            continue;
        }
        char b = (char)p[at++];
        if (b != '\n') {
            if (c->line_size < sizeof c->line - 1)
                c->line[c->line_size++] = b;
            continue;
        }
        c->line_size -= c->line_size && c->line[c->line_size - 1] == '\r';
        c->line[c->line_size] = 0;
        c->line_size = 0;
        *over = take_line(c, c->line);
    }
    return at;
}

static int receive(Load *l, LoadClient *c, Err *err)
{
    static uint8_t bytes[256 << 10];
    ssize_t n = recv(c->fd, bytes, sizeof bytes, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (!c->busy) { /* a connection of keep-alive that the server has closed */
        disconnect(c);
        return 0;
    }
    if (n <= 0) {
        const char *why = n < 0 ? strerror(errno) : "the connection has ended";
        c->closes = 1;
        return finish(l, c, c->place == TO_END && n == 0 ? NULL : why, err);
    }
    int over;
    take_bytes(c, bytes, (size_t)n, &over);
    return over ? finish(l, c, NULL, err) : 0;
}

/* --- all of them --- */

static int is_busy(const Load *l)
{
    for (int i = 0; i < l->o->clients; i++)
        if (l->clients[i].busy)
            return 1;
    return 0;
}

/* Those who were refused ask again when their time has come. *next: when it comes for the first of the rest.
 */
static int ask_again(Load *l, double *next, Err *err)
{
    int rc = 0;
    *next = INFINITY;
    for (int i = 0; i < l->o->clients && !rc; i++) {
        LoadClient *c = &l->clients[i];
        if (c->again > 0 && c->again <= clock_now()) {
            c->again = 0;
            rc = begin(l, c, err);
        } else if (c->again > 0) {
            *next = fmin(*next, c->again);
        }
    }
    return rc;
}

static int serve_clients(Load *l, Err *err)
{
    struct epoll_event events[EVENTS];
    double next;
    int rc = 0;
    while (!rc && is_busy(l)) {
        rc = ask_again(l, &next, err);
        if (rc || !is_busy(l)) /* there was no time left to ask in */
            break;
        int n = epoll_wait(l->epoll, events, EVENTS,
                           (int)(1000 * fmin(PATIENCE, fmax(next - clock_now(), 0) + 0.001)));
        if (n == 0 && isinf(next))
            return err_set(err, ERR_IO, "the server has sent nothing for %g s", PATIENCE);
        for (int i = 0; i < n; i++) {
            LoadClient *c = events[i].data.ptr;
            if (c->fd < 0)
                continue;
            if (events[i].events & EPOLLOUT)
                send_request(l, c);
            if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
                rc = receive(l, c, err);
            if (rc)
                break;
        }
    }
    return rc;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int load_run(LoadResult *r, const LoadOptions *o, Err *err)
{
    Load l = {.o = o, .r = r, .epoll = epoll_create1(EPOLL_CLOEXEC)};
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    int rc = 0;
    memset(r, 0, sizeof *r);
    l.clients = mem_calloc((size_t)o->clients, sizeof *l.clients);
    if (l.epoll < 0 || !l.clients)
        rc = err_set(err, ERR_NOMEM, "no memory for %d clients", o->clients);
    if (!rc && getaddrinfo(o->host, o->port, &hints, &l.address) != 0)
        rc = err_set(err, ERR_IO, "there is no %s:%s", o->host, o->port);
    for (int i = 0; l.clients && i < o->clients; i++)
        l.clients[i].fd = -1;
    for (int i = 0; !rc && i < o->clients; i++)
        rc = connect_client(&l, &l.clients[i], err);
    l.began = clock_now();
    for (int i = 0; !rc && i < o->clients; i++)
        rc = begin(&l, &l.clients[i], err);
    if (!rc)
        rc = serve_clients(&l, err);
    r->elapsed = clock_now() - l.began;
    if (l.first_count)
        qsort(r->first, l.first_count, sizeof *r->first, compare);
    for (int i = 0; l.clients && i < o->clients; i++) {
        disconnect(&l.clients[i]);
        buf_free(&l.clients[i].request);
    }
    if (l.address)
        freeaddrinfo(l.address);
    if (l.epoll >= 0)
        close(l.epoll);
    free(l.clients);
    return rc;
}

void load_result_free(LoadResult *r)
{
    free(r->first);
    memset(r, 0, sizeof *r);
}

double load_percentile(const LoadResult *r, double share)
{
    const int64_t n = r->requests - r->errors;
    return n > 0 ? r->first[(int64_t)ceil(share * (double)n) - (share > 0)] : NAN;
}
