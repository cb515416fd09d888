/* http_guard.c - time limits of connections, and clients that leave while their answer is made. libmicrohttpd
 * notices neither: its own limit starts again with every byte and does not cover a suspended connection. So
 * one thread looks at all of them now and then. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/clock.h"
#include "serve/http_private.h"

#define SEND_BYTES (128 << 10) /* that wait in a socket */
#define LOOK_EVERY 0.1         /* seconds */

/* --- phases of a connection --- */

/* A connection begins or ends. At its end the socket is still open. */
void guard_notify(void *arg, struct MHD_Connection *c, void **context,
                  enum MHD_ConnectionNotificationCode code)
{
    Http *h = arg;
    HttpConnection *k = *context;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
        k = calloc(1, sizeof *k);
        *context = k;
        if (!k)
            return;
        k->h = h;
        k->fd = info ? info->connect_fd : -1;
        k->deadline = clock_now() + h->o.timeout;
        /* Else the system keeps megabytes for a client that does not read. */
        setsockopt(k->fd, SOL_SOCKET, SO_SNDBUF, &(int){SEND_BYTES}, sizeof(int));
        pthread_mutex_lock(&h->lock);
        k->next = h->connections;
        if (k->next)
            k->next->prev = k;
        h->connections = k;
        h->connection_count++;
        if (!k->next)
            pthread_cond_signal(&h->changed);
        pthread_mutex_unlock(&h->lock);
        return;
    }
    if (!k)
        return;
    pthread_mutex_lock(&h->lock);
    if (k->prev)
        k->prev->next = k->next;
    else
        h->connections = k->next;
    if (k->next)
        k->next->prev = k->prev;
    h->connection_count--;
    pthread_mutex_unlock(&h->lock);
    free(k);
}

/* The time for the first request began with the connection. */
void guard_reading(HttpRequest *r)
{
    HttpConnection *k = r->connection;
    pthread_mutex_lock(&r->h->lock);
    if (k->used)
        k->deadline = clock_now() + r->h->o.timeout;
    k->phase = HTTP_READING;
    k->request = r;
    pthread_mutex_unlock(&r->h->lock);
}

int guard_answering(HttpRequest *r)
{
    HttpConnection *k = r->connection;
    pthread_mutex_lock(&r->h->lock);
    int may = !k->cut;
    if (may) {
        k->phase = HTTP_ANSWERING;
        k->deadline = clock_now() + r->h->o.timeout;
        r->answering = 1;
        r->h->answering++;
    }
    pthread_mutex_unlock(&r->h->lock);
    return may;
}

void guard_idle(HttpRequest *r)
{
    HttpConnection *k = r->connection;
    pthread_mutex_lock(&r->h->lock);
    k->phase = HTTP_IDLE;
    k->request = NULL;
    k->used = 1;
    k->deadline = clock_now() + 2 * r->h->o.timeout;
    r->h->answering -= r->answering;
    r->h->body_bytes -= r->body_counted;
    pthread_mutex_unlock(&r->h->lock);
}

void http_extend(HttpRequest *r, double seconds)
{
    pthread_mutex_lock(&r->h->lock);
    if (r->live.taken)
        r->live.left += seconds;
    else
        r->connection->deadline += seconds;
    pthread_mutex_unlock(&r->h->lock);
}

void guard_moved(HttpRequest *r)
{
    pthread_mutex_lock(&r->h->lock);
    r->moved = clock_now();
    pthread_mutex_unlock(&r->h->lock);
}

/* --- waiting --- */

int guard_wait(HttpRequest *r)
{
    Http *h = r->h;
    pthread_mutex_lock(&h->lock);
    int waits = !r->woken && !r->gone && !r->late && !h->ending;
    r->woken = 0;
    if (waits) {
        MHD_suspend_connection(r->mhd);
        r->waits = 1;
        if (r->streams &&
            !r->live.taken) { /* a listener's time stands still while there is nothing to take */
            double now = clock_now();
            r->time_left = r->connection->deadline - now;
            r->connection->deadline = now + h->o.timeout;
        }
    }
    pthread_mutex_unlock(&h->lock);
    return waits;
}

/* Under the lock. */
static void wake(HttpRequest *r)
{
    if (r->waits) {
        r->waits = 0;
        if (r->streams && !r->live.taken) {
            r->moved = clock_now();
            r->connection->deadline = r->moved + r->time_left;
        }
        MHD_resume_connection(r->mhd);
    } else {
        r->woken = 1;
    }
}

void http_wake(HttpRequest *r)
{
    pthread_mutex_lock(&r->h->lock);
    if (r->live.taken)
        live_due(r);
    else
        wake(r);
    pthread_mutex_unlock(&r->h->lock);
}

/* --- ending a connection --- */

/* Under the lock. What does not fit into the socket's buffer is lost, as is the connection. */
static void cut(HttpConnection *k, int status, const char *message)
{
    char *body =
        message ? http_error_text(status, NULL, status == 408 ? "request_timeout" : NULL, message) : NULL;
    k->cut = 1;
    if (body) {
        Buf b = {0};
        http_head(&b, NULL, status, "application/json", strlen(body));
        buf_str(&b, body);
        ssize_t sent = b.failed ? 0 : send(k->fd, b.data, b.size, MSG_DONTWAIT | MSG_NOSIGNAL);
        (void)sent;
        buf_free(&b);
        http_count(k->h, k->request, status);
    }
    free(body);
    shutdown(k->fd, SHUT_RDWR);
}

void guard_cut(HttpRequest *r, int status, const char *message)
{
    pthread_mutex_lock(&r->h->lock);
    if (!r->connection->cut)
        cut(r->connection, status, message);
    pthread_mutex_unlock(&r->h->lock);
}

/* Under the lock: a stream whose client has not taken anything for too long. */
static int stands_still(const HttpConnection *k, double now)
{
    const HttpRequest *r = k->request;
    return k->phase == HTTP_ANSWERING && r && r->streams && !r->waits && now > r->moved + k->h->o.timeout;
}

/* Under the lock: the deadline of a phase is over. */
static void overdue(HttpConnection *k)
{
    HttpRequest *r = k->request;
    if (k->phase == HTTP_READING || (k->phase == HTTP_IDLE && !k->used)) {
        cut(k, 408, "the request was not complete in time");
    } else if (k->phase == HTTP_IDLE) {
        cut(k, 0, NULL);
    } else if (k->phase == HTTP_LIVE) {
        if (r->live.over)
            cut(k, 0, NULL);
        else
            live_overdue(r);
    } else if (r->waits) {
        r->late = 1;
        wake(r);
    } else if (r->streams && r->stream.paced) {
        cut(k, 0, NULL);
    }
}

/* --- the thread --- */

/* libmicrohttpd does not look at a suspended connection, nor does it see an end that comes together with the
 * last bytes before it. */
static int may_leave(const HttpConnection *k)
{
    const HttpRequest *r = k->request;
    return r && (r->waits || (k->phase == HTTP_LIVE && !r->live.over && !k->cut));
}

/* Under the lock: for who has left no answer is made. */
static void look_for_leavers(Http *h, struct pollfd *fds, HttpRequest **who, int cap)
{
    int n = 0;
    for (HttpConnection *k = h->connections; k && n < cap; k = k->next)
        if (may_leave(k)) {
            fds[n] = (struct pollfd){.fd = k->fd, .events = POLLRDHUP};
            who[n++] = k->request;
        }
    if (n == 0 || poll(fds, (nfds_t)n, 0) <= 0)
        return;
    for (int i = 0; i < n; i++) {
        if (!(fds[i].revents & (POLLRDHUP | POLLHUP | POLLERR)))
            continue;
        if (who[i]->waits) {
            who[i]->gone = 1;
            wake(who[i]);
        } else {
            cut(who[i]->connection, 0, NULL);
        }
    }
}

static void *guard_main(void *arg)
{
    Http *h = arg;
    const int cap = h->o.max_connections;
    struct pollfd *fds = mem_calloc((size_t)cap, sizeof *fds);
    HttpRequest **who = mem_calloc((size_t)cap, sizeof *who);
    pthread_mutex_lock(&h->lock);
    while (!h->guard_ends) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += (long)(LOOK_EVERY * 1e9);
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        if (h->connections)
            pthread_cond_timedwait(&h->changed, &h->lock, &until);
        else
            pthread_cond_wait(&h->changed, &h->lock);
        if (h->guard_ends)
            break;
        double now = clock_now();
        for (HttpConnection *k = h->connections; k; k = k->next)
            if (!k->cut && (now > k->deadline || stands_still(k, now)))
                overdue(k);
        if (fds && who)
            look_for_leavers(h, fds, who, cap);
    }
    pthread_mutex_unlock(&h->lock);
    free(fds);
    free(who);
    return NULL;
}

int guard_open(Http *h, Err *err)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return thread_start(&h->guard, "http-guard", guard_main, h, err);
}

/* After the daemon has ended. */
void guard_close(Http *h)
{
    pthread_mutex_lock(&h->lock);
    h->guard_ends = 1;
    pthread_cond_signal(&h->changed);
    pthread_mutex_unlock(&h->lock);
    thread_join(&h->guard);
    pthread_cond_destroy(&h->changed);
    pthread_mutex_destroy(&h->lock);
}
