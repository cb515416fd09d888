/* wyoming.c - the connections, all served by one thread that never waits for one of them. */
#include "serve/wyoming.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/thread.h"
#include "serve/http.h"
#include "serve/wyoming_private.h"

#define LINGER 2.0      /* seconds in which a client may read why its connection ends */
#define LOOK_EVERY 1.0  /* seconds, at deadlines */
#define STOP_EVERY 0.05 /* seconds, at the time to stop */
enum { USUAL_CONNECTIONS = 64, USUAL_TEXT = 20000, USUAL_TIMEOUT = 60 };
enum { AHEAD = 64 << 10 }; /* bytes of events that are read while another is being answered */
enum { TURNED_AWAY = 16 }; /* connections above the limit, to be told so */
enum { ACCEPTED = 32 };    /* connections at a time, so that the others are served too */
enum { OTHERS = 2 };       /* descriptors beside those of connections */

typedef struct Connection {
    Wyoming *w;
    int fd;
    WyomingReader in;
    Buf out;
    size_t sent;      /* of out */
    int last;         /* nothing more is read: when out is empty it ends */
    int shut;         /* all was sent; bytes that still come are thrown away */
    int no_more;      /* the client sends nothing more */
    double since;     /* when it last did what is expected of it */
    atomic_int ready; /* its speech goes on; set by threads of the studio */
    WyomingSpeech speech;
} Connection;

struct Wyoming {
    Studio *studio;
    WyomingOptions o;
    HttpAddress address;
    int listener, wake;
    Thread thread;
    atomic_int stopping;
    Connection **connections; /* [room] */
    struct pollfd *polled;    /* [OTHERS + room] */
    int count, room;
    double accept_after; /* descriptors have run out: not before then */
};

/* --- connections --- */

static void wake(Wyoming *w)
{
    const uint64_t one = 1;
    ssize_t ignored = write(w->wake, &one, sizeof one);
    (void)ignored; /* full is as good */
}

static void speech_ready(void *arg)
{
    Connection *c = arg;
    atomic_store(&c->ready, 1);
    wake(c->w);
}

static void connection_close(Connection *c)
{
    wyoming_speech_close(&c->speech);
    close(c->fd);
    wyoming_reader_free(&c->in);
    buf_free(&c->out);
    free(c);
}

/* What is sent is the last that the client hears. */
static void say_goodbye(Connection *c, const Err *err)
{
    static const struct {
        int code;
        const char *name;
    } codes[] = {{ERR_BUSY, "busy"},
                 {ERR_MISSING, "not-found"},
                 {ERR_LANGUAGE, "not-found"},
                 {ERR_DATA, "bad-request"}};
    const char *name = "failed";
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (err->code == codes[i].code)
            name = codes[i].name;
    Buf text = {0};
    buf_printf(&text, "%s%s%s", err->msg, *err->hint ? "; " : "", err->hint);
    wyoming_event_write(
        &c->out, "error",
        json_pack("{s:o*, s:s}", "text", json_from_text(text.data ? text.data : ""), "code", name), NULL, 0,
        NULL);
    buf_free(&text);
    log_debug(c->w->o.log, "Wyoming: %s", err->msg);
    wyoming_speech_end(&c->speech);
    c->last = 1;
}

/* Takes fd. */
static void add_connection(Wyoming *w, int fd)
{
    const int on = 1;
    Connection *c = w->count < w->room ? mem_calloc(1, sizeof *c) : NULL;
    if (!c) {
        close(fd);
        return;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    c->w = w;
    c->fd = fd;
    c->since = clock_now();
    c->speech = (WyomingSpeech){.studio = w->studio, .o = &w->o, .ready = speech_ready, .arg = c};
    w->connections[w->count++] = c;
    if (w->count > w->o.max_connections) {
        Err err = {0};
        err_set(&err, ERR_BUSY, "%d connections are open already, which is the limit", w->o.max_connections);
        say_goodbye(c, &err);
    }
}

/* Without descriptors a connection stays in the queue, and asking at once would be asking for ever. */
static void accept_some(Wyoming *w)
{
    for (int i = 0; i < ACCEPTED; i++) {
        int fd = accept4(w->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) {
            if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
                w->accept_after = clock_now() + LOOK_EVERY;
            return;
        }
        add_connection(w, fd);
    }
}

/* --- events --- */

static int answer_ping(Connection *c, const WyomingEvent *e, Err *err)
{
    const char *text = wyoming_event_text(e, "text");
    json_t *data = json_pack("{s:o}", "text", text ? json_from_text(text) : json_null());
    return wyoming_event_write(&c->out, "pong", data, NULL, 0, err);
}

/* Home Assistant sends the whole text as `synthesize`, too, before it ends a stream: for those who know no
 * streams. What we do not know is passed over, as the protocol wants it. */
static int answer(Connection *c, const WyomingEvent *e, Err *err)
{
    WyomingSpeech *s = &c->speech;
    if (strcmp(e->type, "describe") == 0)
        return wyoming_event_write(&c->out, "info", wyoming_info(c->w->studio, &c->w->o), NULL, 0, err);
    if (strcmp(e->type, "ping") == 0)
        return answer_ping(c, e, err);
    if (strcmp(e->type, "synthesize") == 0)
        return s->active ? 0 : wyoming_speech_begin(s, e, 0, err);
    if (strcmp(e->type, "synthesize-start") == 0)
        return s->active ? err_set(err, ERR_DATA, "synthesize-start in the middle of a stream")
                         : wyoming_speech_begin(s, e, 1, err);
    if (strcmp(e->type, "synthesize-chunk") == 0 || strcmp(e->type, "synthesize-stop") == 0) {
        if (!s->active)
            return err_set(err, ERR_DATA, "%s without synthesize-start", e->type);
        if (strcmp(e->type, "synthesize-chunk") == 0)
            return wyoming_speech_add(s, e, err);
        wyoming_speech_complete(s);
    }
    return 0;
}

static size_t waiting(const Connection *c) { return c->out.size - c->sent; }

/* While a text is being spoken the next events wait, but for those that belong to it. */
static int may_answer(const Connection *c)
{
    const int text_comes = c->speech.typed.streams && !c->speech.typed.whole;
    return !c->last && waiting(c) < WYOMING_OUT && (!c->speech.active || text_comes);
}

/* Pieces of a text that are empty, without end, hold no connection. */
static int says_nothing(const WyomingEvent *e)
{
    const char *text = wyoming_event_text(e, "text");
    return strcmp(e->type, "synthesize-chunk") == 0 && text && !*text;
}

/* Answers what can be answered now. */
static void go_on(Connection *c)
{
    Err err = {0};
    int rc = 1;
    while (rc > 0) {
        WyomingEvent e;
        rc = wyoming_speech_more(&c->speech, &c->out, &err);
        if (rc || !may_answer(c))
            break;
        rc = wyoming_reader_next(&c->in, &e, &err);
        if (rc <= 0)
            break;
        if (!says_nothing(&e))
            c->since = clock_now();
        int failed = answer(c, &e, &err);
        wyoming_event_free(&e);
        rc = failed ? failed : 1;
    }
    if (rc < 0)
        say_goodbye(c, &err);
    if (!rc && c->no_more && may_answer(c)) /* the rest of an event or of a text will not come */
        c->last = 1;
}

/* --- bytes --- */

/* 0: the connection is over. */
static int receive(Connection *c)
{
    char bytes[16 << 10];
    ssize_t n = recv(c->fd, bytes, sizeof bytes, 0);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    if (c->shut)
        return n > 0;
    if (n == 0) {
        c->no_more = 1;
        return 1;
    }
    if (c->last)
        return 1;
    if (wyoming_reader_is_empty(&c->in) && !c->speech.active)
        c->since = clock_now();
    return wyoming_reader_add(&c->in, bytes, (size_t)n, NULL) == 0;
}

/* 0: the connection is over. */
static int send_out(Connection *c)
{
    while (waiting(c)) {
        ssize_t n = send(c->fd, c->out.data + c->sent, waiting(c), MSG_NOSIGNAL);
        if (n < 0)
            return errno == EAGAIN || errno == EINTR;
        c->sent += (size_t)n;
        c->since = clock_now();
    }
    buf_clear(&c->out);
    c->sent = 0;
    if (c->last && !c->shut) {
        shutdown(c->fd, SHUT_WR);
        c->shut = 1;
    }
    return !(c->shut && c->no_more);
}

/* Bytes that are gone make room for others. */
static void forget_sent(Connection *c)
{
    if (!c->sent)
        return;
    memmove(c->out.data, c->out.data + c->sent, waiting(c));
    c->out.size -= c->sent;
    c->sent = 0;
}

/* What a connection waits for: its client, unless the studio is at work for it. 0: it has waited too long. */
static int is_in_time(Connection *c, double now)
{
    if (c->shut)
        return now - c->since < LINGER;
    if (c->speech.typed.talks && !waiting(c))
        c->since = now;
    return now - c->since < c->w->o.timeout;
}

/* events: of poll. 0: the connection is over. */
static int serve(Connection *c, int events, double now)
{
    if (events & (POLLERR | POLLNVAL))
        return 0;
    if (events & (POLLIN | POLLHUP) && !receive(c))
        return 0;
    const int goes_on = atomic_exchange(&c->ready, 0);
    if (c->out.failed)
        return 0;
    if (events || goes_on) {
        /* As long as the client takes all that there is. */
        int full;
        do {
            go_on(c);
            full = waiting(c) >= WYOMING_OUT;
            if (c->out.failed || !send_out(c))
                return 0;
            forget_sent(c);
        } while (full && !waiting(c) && !c->last);
    }
    return is_in_time(c, now);
}

static short wanted(const Connection *c)
{
    const int full = c->in.in.size - c->in.at > AHEAD && !may_answer(c);
    return (short)((full || (c->no_more && !c->shut) ? 0 : POLLIN) | (waiting(c) ? POLLOUT : 0));
}

/* --- the thread --- */

/* Connections that speak, or have not taken all of their sound. */
static int count_busy(const Wyoming *w)
{
    int busy = 0;
    for (int i = 0; i < w->count; i++)
        busy += w->connections[i]->speech.active || waiting(w->connections[i]);
    return busy;
}

static void serve_all(Wyoming *w, const struct pollfd *polled, int count)
{
    const double now = clock_now();
    int kept = 0;
    for (int i = 0; i < count; i++) {
        Connection *c = w->connections[i];
        if (serve(c, polled[i].revents, now))
            w->connections[kept++] = c;
        else
            connection_close(c);
    }
    for (int i = count; i < w->count; i++)
        w->connections[kept++] = w->connections[i];
    w->count = kept;
}

/* Waits for something to do, and does it. */
static void turn(Wyoming *w, int stopping)
{
    struct pollfd *p = w->polled;
    const int count = w->count, accepts = !stopping && clock_now() >= w->accept_after;
    uint64_t times;
    p[0] = (struct pollfd){.fd = w->wake, .events = POLLIN};
    p[1] = (struct pollfd){.fd = accepts ? w->listener : -1, .events = POLLIN};
    for (int i = 0; i < count; i++)
        p[OTHERS + i] = (struct pollfd){.fd = w->connections[i]->fd, .events = wanted(w->connections[i])};
    poll(p, (nfds_t)(OTHERS + count), (int)(1000 * (stopping ? STOP_EVERY : LOOK_EVERY)));
    if (p[0].revents & POLLIN) {
        ssize_t ignored = read(w->wake, &times, sizeof times);
        (void)ignored;
    }
    serve_all(w, p + OTHERS, count);
    if (p[1].revents & POLLIN)
        accept_some(w);
}

static void *run(void *arg)
{
    Wyoming *w = arg;
    double until = 0;
    for (;;) {
        const int stopping = atomic_load(&w->stopping);
        if (stopping && !until) {
            until = clock_now() + w->o.stop_seconds;
            close(w->listener);
            w->listener = -1;
        }
        if (stopping && (!count_busy(w) || clock_now() >= until))
            break;
        turn(w, stopping);
    }
    for (int i = 0; i < w->count; i++)
        connection_close(w->connections[i]);
    w->count = 0;
    return NULL;
}

/* --- opening --- */

int wyoming_check(const WyomingOptions *o, Err *err)
{
    HttpAddress a;
    int rc = http_address(&a, o->listen, err);
    if (rc || a.loopback || o->open)
        return rc;
    err_set(err, ERR_USAGE, "other machines can reach %s, and the Wyoming protocol has no token", a.shown);
    return err_hint(err, "--wyoming-open allows it: then anyone who can reach the port can make it speak; "
                         "127.0.0.1 keeps it on this machine");
}

int wyoming_open(Wyoming **out, Studio *s, const WyomingOptions *o, Err *err)
{
    *out = NULL;
    Wyoming *w = mem_calloc(1, sizeof *w);
    if (!w)
        return err_set(err, ERR_NOMEM, "no memory for the Wyoming port");
    w->studio = s;
    w->o = *o;
    w->o.max_connections = o->max_connections ? o->max_connections : USUAL_CONNECTIONS;
    w->o.max_text = o->max_text ? o->max_text : USUAL_TEXT;
    w->o.timeout = o->timeout > 0 ? o->timeout : USUAL_TIMEOUT;
    w->room = w->o.max_connections + TURNED_AWAY;
    w->listener = -1;
    w->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    w->connections = mem_calloc((size_t)w->room, sizeof(Connection *));
    w->polled = mem_calloc((size_t)w->room + OTHERS, sizeof *w->polled);
    int rc = 0;
    if (w->wake < 0 || !w->connections || !w->polled)
        rc = err_set_errno(err, ERR_NOMEM, "no room for the Wyoming port");
    if (!rc)
        rc = wyoming_check(&w->o, err);
    if (!rc)
        rc = http_listen(&w->listener, &w->address, w->o.listen, err);
    if (!rc)
        rc = thread_start(&w->thread, "wyoming", run, w, err);
    if (rc) {
        wyoming_close(w);
        return rc;
    }
    *out = w;
    return 0;
}

const char *wyoming_address(const Wyoming *w) { return w->address.shown; }

int wyoming_port(const Wyoming *w) { return w->address.port; }

void wyoming_stop(Wyoming *w)
{
    atomic_store(&w->stopping, 1);
    wake(w);
}

void wyoming_close(Wyoming *w)
{
    if (!w)
        return;
    if (w->thread.running) {
        wyoming_stop(w);
        thread_join(&w->thread);
    }
    if (w->listener >= 0)
        close(w->listener);
    if (w->wake >= 0)
        close(w->wake);
    free(w->connections);
    free(w->polled);
    free(w);
}
