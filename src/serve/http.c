/* http.c - the server: libmicrohttpd, its callbacks, and how it stops. */
#include "serve/http_private.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"

#define THREADS 4
#define POOL_BYTES 32768 /* of a connection: header and buffers */
#define BODIES 4         /* bodies of maximum size that may be in memory at once */
enum { OTHER_DESCRIPTORS = 256 };

/* --- a request --- */

/* The first that is known of a request: its line. */
static void *begin_request(void *arg, const char *uri, struct MHD_Connection *c)
{
    Http *h = arg;
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    HttpConnection *k = info ? info->socket_context : NULL;
    HttpRequest *r = k ? calloc(1, sizeof *r) : NULL;
    if (!r)
        return NULL;
    r->h = h;
    r->connection = k;
    r->mhd = c;
    r->bad_uri = strstr(uri, "%00") != NULL;
    guard_reading(r);
    return r;
}

static void end_request(void *arg, struct MHD_Connection *c, void **context,
                        enum MHD_RequestTerminationCode code)
{
    HttpRequest *r = *context;
    if (!r)
        return;
    *context = NULL;
    if (r->live.taken)
        live_leave(r);
    /* It is not woken any more after this. */
    if (r->release)
        r->release(r->kept);
    guard_idle(r);
    for (int i = 0; i < r->header_count; i++)
        free(r->header[i].value);
    buf_free(&r->body);
    buf_free(&r->out);
    free(r);
}

const char *http_admit(HttpRequest *r, size_t size, int *status)
{
    Http *h = r->h;
    *status = 413;
    if (r->body_counted + size > h->o.max_body || !r->route->takes_body)
        return "the body is too large";
    *status = 503;
    if (h->body_bytes + size > BODIES * h->o.max_body)
        return "too many large requests at once: try again later";
    *status = 0;
    h->body_bytes += size;
    r->body_counted += size;
    return NULL;
}

static enum MHD_Result take_body(HttpRequest *r, const char *data, size_t *size)
{
    int status;
    pthread_mutex_lock(&r->h->lock);
    const char *why = http_admit(r, *size, &status);
    pthread_mutex_unlock(&r->h->lock);
    if (!why)
        buf_add(&r->body, data, *size);
    if (r->body.failed) {
        status = 503;
        why = "there is no memory for the request";
    }
    if (why) {
        guard_cut(r, status, why);
        return MHD_NO;
    }
    *size = 0;
    return MHD_YES;
}

/* Until it has answered, or waits. */
static enum MHD_Result run_handler(HttpRequest *r)
{
    for (;;) {
        Err err = {0};
        if (r->gone || r->h->ending)
            return MHD_NO;
        if (r->late)
            return http_refuse_late(r) ? MHD_NO : MHD_YES;
        int rc = r->route->answer(r, r->h->o.arg, &err);
        if (rc == HTTP_LATER) {
            if (guard_wait(r))
                return MHD_YES;
            continue;
        }
        if (!r->answered)
            rc = http_fail(r, rc, &err);
        return r->answered && !rc ? MHD_YES : MHD_NO;
    }
}

static int has_body(struct MHD_Connection *c)
{
    const char *length = MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
    return (length && strcmp(length, "0") != 0) ||
           MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_TRANSFER_ENCODING);
}

/* The handler hears of it before its body comes. */
static enum MHD_Result begin_live(HttpRequest *r)
{
    Err err = {0};
    int rc = r->route->answer(r, r->h->o.arg, &err);
    if (rc == HTTP_LATER || rc == HTTP_MORE_BODY)
        return live_begin(r) ? MHD_YES : MHD_NO;
    if (!r->answered)
        rc = http_fail(r, rc, &err);
    return !rc && guard_answering(r) ? MHD_YES : MHD_NO;
}

/* A part of its body, or its end; again after every wait. */
static enum MHD_Result go_on_live(HttpRequest *r, const char *data, size_t *size)
{
    const int ended = *size == 0;
    live_take(r, data, *size);
    *size = 0;
    while (ended && !guard_wait(r))
        if (r->gone || r->h->ending)
            return MHD_NO;
    return MHD_YES;
}

/* Called when the header is there, with parts of the body, and when all is there; again after every wait. An
 * answer in the first call ends the connection: that is right only for a body that is not wanted.
 * */
static enum MHD_Result on_access(void *arg, struct MHD_Connection *c, const char *url, const char *method,
                                 const char *version, const char *data, size_t *size, void **context)
{
    HttpRequest *r = *context;
    if (!r)
        return MHD_NO;
    if (!r->begun) {
        r->begun = 1;
        r->path = url;
        r->head = strcmp(method, "HEAD") == 0;
        if (!has_body(c))
            return MHD_YES;
        if (http_check(r, method, version))
            return r->answered && guard_answering(r) ? MHD_YES : MHD_NO;
        return r->live.wanted ? begin_live(r) : MHD_YES;
    }
    if (r->live.taken)
        return go_on_live(r, data, size);
    if (r->answered) { /* the rest of a body that was refused */
        *size = 0;
        return MHD_YES;
    }
    if (*size)
        return take_body(r, data, size);
    if (!r->whole) {
        r->whole = 1;
        if (!guard_answering(r))
            return MHD_NO;
        if (!r->route && http_check(r, method, version))
            return r->answered ? MHD_YES : MHD_NO;
    }
    return run_handler(r);
}

/* --- the server --- */

static void log_library(void *arg, const char *fmt, va_list ap)
{
    Http *h = arg;
    char line[512];
    vsnprintf(line, sizeof line, fmt, ap);
    line[strcspn(line, "\n")] = 0;
    log_debug(h->o.log, "http: %s", line);
}

/* Each connection needs a descriptor, and voices, files and workers need some. Returns how many connections
 * there may be. */
static int allow_descriptors(int connections, Log *log)
{
    struct rlimit l;
    const rlim_t wanted = (rlim_t)connections + OTHER_DESCRIPTORS;
    if (getrlimit(RLIMIT_NOFILE, &l) != 0 || l.rlim_cur >= wanted)
        return connections;
    l.rlim_cur = l.rlim_max == RLIM_INFINITY || l.rlim_max > wanted ? wanted : l.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &l) != 0)
        getrlimit(RLIMIT_NOFILE, &l);
    if (l.rlim_cur >= wanted)
        return connections;
    const rlim_t others = l.rlim_cur / 2 < OTHER_DESCRIPTORS ? l.rlim_cur / 2 : OTHER_DESCRIPTORS;
    const int fit = (int)(l.rlim_cur - others);
    log_warn(log,
             "%d connections can be open at once, not the %d of --max-connections: this process may have %ld "
             "files open; `ulimit -Hn %ld`, or LimitNOFILE of its systemd service, allows all of them",
             fit, connections, (long)l.rlim_cur, (long)wanted);
    return fit;
}

/* Its threads take no signals: those belong to the program. */
static struct MHD_Daemon *start_daemon(Http *h)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    struct MHD_Daemon *d = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, NULL, NULL,
        on_access, h, MHD_OPTION_EXTERNAL_LOGGER, log_library, h, MHD_OPTION_LISTEN_SOCKET, h->o.fd,
        MHD_OPTION_THREAD_POOL_SIZE, (unsigned)THREADS, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)h->o.max_connections, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)POOL_BYTES,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)(h->o.timeout * 1.5 + 1), MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_URI_LOG_CALLBACK, begin_request, h, MHD_OPTION_NOTIFY_COMPLETED, end_request, h,
        MHD_OPTION_NOTIFY_CONNECTION, guard_notify, h, MHD_OPTION_END);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return d;
}

int http_open(Http **out, const HttpOptions *o, Err *err)
{
    Http *h = calloc(1, sizeof *h);
    *out = NULL;
    if (!h) {
        close(o->fd);
        return err_set(err, ERR_NOMEM, "no memory for a server");
    }
    h->o = *o;
    h->o.max_connections = allow_descriptors(o->max_connections, o->log);
    int rc = guard_open(h, err);
    if (!rc)
        rc = live_open(h, err);
    *out = h; /* handlers may look for it as soon as there are any */
    if (!rc) {
        h->daemon = start_daemon(h);
        if (!h->daemon)
            rc = err_set(err, ERR_IO, "cannot start the HTTP server");
    }
    if (rc) {
        close(o->fd);
        live_close(h);
        guard_close(h);
        free(h);
        *out = NULL;
    }
    return rc;
}

static int still_answering(Http *h)
{
    pthread_mutex_lock(&h->lock);
    int n = h->answering;
    pthread_mutex_unlock(&h->lock);
    return n;
}

void http_stop(Http *h, double seconds)
{
    double until = clock_now() + seconds;
    pthread_mutex_lock(&h->lock);
    h->stopping = 1;
    pthread_mutex_unlock(&h->lock);
    int fd = MHD_quiesce_daemon(h->daemon);
    if (fd >= 0)
        close(fd);
    while (still_answering(h) && clock_now() < until)
        clock_sleep(0.02);
    /* All waiting requests are woken, and none starts to wait any more. */
    pthread_mutex_lock(&h->lock);
    h->ending = 1;
    for (HttpConnection *k = h->connections; k; k = k->next)
        if (k->request) {
            k->request->gone = 1;
            if (k->request->waits) {
                k->request->waits = 0;
                MHD_resume_connection(k->request->mhd);
            }
        }
    pthread_mutex_unlock(&h->lock);
    MHD_stop_daemon(h->daemon);
    h->daemon = NULL;
}

void http_close(Http *h)
{
    if (!h)
        return;
    if (h->daemon)
        http_stop(h, 0);
    live_close(h);
    guard_close(h);
    free(h->counts);
    free(h);
}
