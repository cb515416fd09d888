/* http_live.c - answers that begin while the body still comes. libmicrohttpd reads the body and hands it over
 * (live_take), but it does not answer before the body has ended. So one thread writes the answer past it, to
 * the socket, and libmicrohttpd itself never answers. The thread runs handlers and streams of all live
 * requests, one step of one request at a time, and waits for the sockets that are full.
 *
 * When the answer is over, the socket is shut for writing, and libmicrohttpd closes it as soon as the client
 * has closed its side, or after LINGER. To close it at once, while the client still sends, would take from
 * the client what it has not read yet. */
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "serve/http_private.h"

#define LINGER 2.0 /* seconds */

/* --- what there is to do; all of it under the lock --- */

static void rouse(Http *h)
{
    const uint64_t one = 1;
    ssize_t ignored = write(h->live.wake, &one, sizeof one);
    (void)ignored; /* full is as good */
}

void live_due(HttpRequest *r)
{
    Http *h = r->h;
    if (r->live.due || r->live.over)
        return;
    r->live.due = 1;
    r->live.next_due = NULL;
    if (h->live.last) {
        h->live.last->live.next_due = r;
    } else {
        h->live.due = r;
        rouse(h);
    }
    h->live.last = r;
}

static HttpRequest *next_due(Http *h)
{
    HttpRequest *r = h->live.due;
    if (!r)
        return NULL;
    h->live.due = r->live.next_due;
    if (!h->live.due)
        h->live.last = NULL;
    r->live.due = 0;
    return r;
}

static void forget_due(HttpRequest *r)
{
    Http *h = r->h;
    HttpRequest *before = NULL;
    if (!r->live.due)
        return;
    for (HttpRequest *q = h->live.due; q != r; q = q->live.next_due)
        before = q;
    if (before)
        before->live.next_due = r->live.next_due;
    else
        h->live.due = r->live.next_due;
    if (h->live.last == r)
        h->live.last = before;
}

/* It has gone on, so its time starts over. */
static void set_deadline(HttpRequest *r, double now)
{
    r->live.late = 0;
    r->connection->deadline = now + r->h->o.timeout;
}

void live_overdue(HttpRequest *r)
{
    r->live.late = 1;
    r->connection->deadline = (double)INFINITY;
    live_due(r);
}

/* --- the body, from libmicrohttpd's threads --- */

int live_begin(HttpRequest *r)
{
    Http *h = r->h;
    HttpLive *l = &r->live;
    HttpConnection *k = r->connection;
    /* Its clock only sees what it reads itself. */
    MHD_set_connection_option(r->mhd, MHD_CONNECTION_OPTION_TIMEOUT, 0U);
    setsockopt(k->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    pthread_mutex_lock(&h->lock);
    const int may = !k->cut;
    if (may) {
        l->taken = 1;
        l->left = h->o.timeout;
        set_deadline(r, clock_now());
        k->phase = HTTP_LIVE;
        r->answering = 1;
        h->answering++;
        l->next = h->live.all;
        if (l->next)
            l->next->live.prev = r;
        h->live.all = r;
    }
    pthread_mutex_unlock(&h->lock);
    return may;
}

void live_take(HttpRequest *r, const char *data, size_t size)
{
    HttpLive *l = &r->live;
    pthread_mutex_lock(&r->h->lock);
    if (!size)
        r->whole = 1;
    if (size && !l->over && !l->refused) {
        l->refusal = http_admit(r, size, &l->refused);
        if (!l->refused)
            buf_add(&r->body, data, size);
        if (l->waits_for == LIVE_BODY)
            set_deadline(r, clock_now());
    }
    live_due(r);
    pthread_mutex_unlock(&r->h->lock);
}

void live_leave(HttpRequest *r)
{
    Http *h = r->h;
    HttpLive *l = &r->live;
    pthread_mutex_lock(&h->lock);
    while (h->live.current == r)
        pthread_cond_wait(&h->live.served, &h->lock);
    l->over = 1; /* its talk may still say that it is ready */
    forget_due(r);
    if (l->prev)
        l->prev->live.next = l->next;
    else
        h->live.all = l->next;
    if (l->next)
        l->next->live.prev = l->prev;
    pthread_mutex_unlock(&h->lock);
    buf_free(&l->piece);
}

/* --- the answer --- */

static void count_answer(HttpRequest *r, int status)
{
    r->answered = 1;
    r->status = status;
    pthread_mutex_lock(&r->h->lock);
    http_count(r->h, r, status);
    pthread_mutex_unlock(&r->h->lock);
}

int live_answer(HttpRequest *r, int status, const char *type, const void *p, size_t n)
{
    http_head(&r->out, r, status, type, n);
    buf_add(&r->out, p, n);
    r->ended = 1;
    count_answer(r, status);
    return r->out.failed ? ERR_NOMEM : 0;
}

int live_answer_stream(HttpRequest *r, const char *type)
{
    http_head(&r->out, r, 200, type, SIZE_MAX);
    count_answer(r, 200);
    return r->out.failed ? ERR_NOMEM : 0;
}

/* One chunk of the stream. */
static int make_chunk(HttpRequest *r)
{
    Err err = {0};
    Buf *piece = &r->live.piece, *out = &r->out;
    buf_clear(piece);
    int rc = r->stream.more(r->stream.arg, piece, &err);
    if (piece->size) {
        buf_printf(out, "%zx\r\n", piece->size);
        buf_add(out, piece->data, piece->size);
        buf_str(out, "\r\n");
    }
    r->ended = rc == HTTP_STREAM_END;
    if (r->ended)
        buf_str(out, "0\r\n\r\n");
    if (rc >= 0 && !piece->failed && !out->failed)
        return rc;
    log_warn(r->h->o.log, "an answer was cut short: %s", err.msg[0] ? err.msg : "out of memory");
    return -1;
}

/* --- one step of one request, in the thread --- */

enum { GOES_ON = -1, IS_OVER = -2 }; /* beside what a request waits for */

/* Nothing more is sent. Without the last chunk the client knows that something is missing. */
static void finish(HttpRequest *r)
{
    Http *h = r->h;
    shutdown(r->connection->fd, SHUT_WR);
    if (r->release)
        r->release(r->kept);
    r->release = NULL;
    pthread_mutex_lock(&h->lock);
    r->live.over = 1;
    r->connection->deadline = clock_now() + LINGER;
    h->answering -= r->answering;
    r->answering = 0;
    pthread_mutex_unlock(&h->lock);
}

/* went_on: bytes were taken, or made. */
static void wait_for(HttpRequest *r, LiveWait what, int went_on)
{
    HttpLive *l = &r->live;
    pthread_mutex_lock(&r->h->lock);
    const double now = clock_now();
    if (l->waits_for == LIVE_TAKER && what != LIVE_TAKER)
        l->left -= now - l->taking;
    if (l->waits_for != LIVE_TAKER && what == LIVE_TAKER)
        l->taking = now;
    if (what != l->waits_for || went_on)
        set_deadline(r, now);
    if (what == LIVE_TAKER && r->stream.paced)
        r->connection->deadline = fmin(r->connection->deadline, l->taking + l->left);
    l->waits_for = what;
    pthread_mutex_unlock(&r->h->lock);
}

/* 0: the client has hung up. */
static int send_out(HttpRequest *r, int *went_on)
{
    while (r->out_at < r->out.size) {
        ssize_t n = send(r->connection->fd, r->out.data + r->out_at, r->out.size - r->out_at,
                         MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR)
            return errno == EAGAIN;
        r->out_at += n > 0 ? (size_t)n : 0;
        *went_on |= n > 0;
    }
    buf_clear(&r->out);
    r->out_at = 0;
    return 1;
}

static int ask_handler(HttpRequest *r)
{
    Err err = {0};
    int rc = r->route->answer(r, r->h->o.arg, &err);
    if (!r->answered && (rc == HTTP_LATER || rc == HTTP_MORE_BODY))
        return rc == HTTP_LATER ? LIVE_WORK : LIVE_BODY;
    if (!r->answered)
        rc = http_fail(r, rc, &err);
    return r->answered && !rc ? GOES_ON : IS_OVER;
}

static int make_more(HttpRequest *r, int *went_on)
{
    if (!r->answered)
        return ask_handler(r);
    const int rc = make_chunk(r);
    *went_on |= r->out.size > 0;
    return rc < 0                    ? IS_OVER
           : rc == HTTP_STREAM_LATER ? LIVE_WORK
           : rc == HTTP_STREAM_BODY  ? LIVE_BODY
                                     : GOES_ON;
}

/* The client, or the server, has taken too long, or the body is not wanted. */
static int refuse(HttpRequest *r, int late, int refused)
{
    if (late && r->live.waits_for == LIVE_BODY)
        return http_refuse(r, 408, "request_timeout", "the text was not complete in time");
    if (late)
        return http_refuse_late(r);
    return http_refuse(r, refused, refused == 413 ? "body_too_large" : "server_error", r->live.refusal);
}

static void take_step(HttpRequest *r, int late, int refused)
{
    int went_on = 0, rc = GOES_ON;
    if ((late || refused) && (r->answered || refuse(r, late, refused)))
        rc = IS_OVER;
    for (int made = 0; rc != IS_OVER; made = 1) {
        if (!send_out(r, &went_on))
            break;
        if (r->out.size > 0) {
            wait_for(r, LIVE_TAKER, went_on);
            return;
        }
        if (r->answered && r->ended)
            break;
        if (rc != GOES_ON) {
            wait_for(r, rc, went_on);
            return;
        }
        if (made) { /* others come first */
            pthread_mutex_lock(&r->h->lock);
            live_due(r);
            pthread_mutex_unlock(&r->h->lock);
            return;
        }
        rc = make_more(r, &went_on);
    }
    finish(r);
}

/* --- the thread --- */

/* Under the lock, but not while it waits. */
static void wait_for_sockets(Http *h)
{
    struct pollfd *fds = h->live.polled;
    uint64_t times;
    int n = 1;
    fds[0] = (struct pollfd){.fd = h->live.wake, .events = POLLIN};
    for (HttpRequest *r = h->live.all; r; r = r->live.next) {
        r->live.polled = 0;
        if (r->live.waits_for == LIVE_TAKER && !r->live.over && n <= h->o.max_connections) {
            fds[n] = (struct pollfd){.fd = r->connection->fd, .events = POLLOUT};
            r->live.polled = n++;
        }
    }
    pthread_mutex_unlock(&h->lock);
    poll(fds, (nfds_t)n, -1);
    if (fds[0].revents) {
        ssize_t ignored = read(h->live.wake, &times, sizeof times);
        (void)ignored;
    }
    pthread_mutex_lock(&h->lock);
    for (HttpRequest *r = h->live.all; r; r = r->live.next)
        if (r->live.polled && fds[r->live.polled].revents)
            live_due(r);
}

static void *live_main(void *arg)
{
    Http *h = arg;
    pthread_mutex_lock(&h->lock);
    while (!h->live.ends) {
        HttpRequest *r = next_due(h);
        if (!r) {
            wait_for_sockets(h);
            continue;
        }
        if (r->live.over) /* since it was due */
            continue;
        const int late = r->live.late, refused = r->live.refused;
        h->live.current = r;
        pthread_mutex_unlock(&h->lock);
        take_step(r, late, refused);
        pthread_mutex_lock(&h->lock);
        h->live.current = NULL;
        pthread_cond_broadcast(&h->live.served);
    }
    pthread_mutex_unlock(&h->lock);
    return NULL;
}

int live_open(Http *h, Err *err)
{
    pthread_cond_init(&h->live.served, NULL);
    h->live.polled = mem_calloc((size_t)h->o.max_connections + 1, sizeof *h->live.polled);
    h->live.wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (!h->live.polled || h->live.wake < 0)
        return err_set_errno(err, ERR_NOMEM, "no room for requests that are answered while they come");
    return thread_start(&h->live.thread, "http-live", live_main, h, err);
}

/* After the daemon has ended. */
void live_close(Http *h)
{
    if (h->live.thread.running) {
        pthread_mutex_lock(&h->lock);
        h->live.ends = 1;
        rouse(h);
        pthread_mutex_unlock(&h->lock);
        thread_join(&h->live.thread);
    }
    if (h->live.polled)
        pthread_cond_destroy(&h->live.served);
    if (h->live.wake > 0)
        close(h->live.wake);
    free(h->live.polled);
}
