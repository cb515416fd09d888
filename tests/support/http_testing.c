/* http_testing.c - see http_testing.h. */
#include "http_testing.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <strings.h>
#include <sys/socket.h>

#include "vocoder_testing.h"

#define SMALL "\"vocoder_dim\": 16, \"vocoder_layers\": 2, " SMALL_MEL

/* ---- the server ---- */

void serve_start(ServeRun *s, const char *const *more)
{
    const char *args[MAX_ARGS] = {"serve", "--listen", "127.0.0.1:0", "--json"};
    char line[256] = "";
    size_t n = 0;
    for (int i = 0; more[i]; i++)
        args[4 + i] = more[i];
    run_start(&s->run, args, NULL);
    while (n + 1 < sizeof line && !strchr(line, '\n')) {
        ssize_t got = read(s->run.out, line + n, sizeof line - 1 - n);
        if (got <= 0) {
            run_wait(&s->run, 10);
            fail_msg("the server ended with %d: %s", s->run.code, (const char *)s->run.stderr_text.data);
        }
        n += (size_t)got;
    }
    json_t *o = json_loads(line, 0, NULL);
    assert_non_null(o);
    s->port = (int)json_integer_value(json_object_get(o, "port"));
    char address[64];
    snprintf(address, sizeof address, "127.0.0.1:%d", s->port);
    assert_string_equal(json_string_value(json_object_get(o, "address")), address);
    json_decref(o);
    fcntl(s->run.err, F_SETFL, O_NONBLOCK);
}

void serve_drain(ServeRun *s)
{
    char piece[65536];
    for (ssize_t n; (n = read(s->run.err, piece, sizeof piece)) > 0;)
        buf_add(&s->run.stderr_text, piece, (size_t)n);
}

void serve_stop(ServeRun *s)
{
    kill(s->run.pid, SIGTERM);
    run_wait(&s->run, 90);
    if (s->run.code != 0)
        fail_msg("the server ended with %d: %s", s->run.code, (const char *)s->run.stderr_text.data);
    run_free(&s->run);
}

void make_served_voice(Corpus *c, const char *run)
{
    char vocoder[512];
    make_voice_corpus(c);
    train_to_end(c, run, 20, 20, NULL, 0);
    snprintf(vocoder, sizeof vocoder, "%s/vocoder", run);
    assert_int_equal(file_make_dirs(vocoder, NULL), 0);
    write_vocoder(path_of(vocoder, "step-00000007.safetensors"), SMALL, NULL);
}

int serve_lab_open(ServeLab *l)
{
    void *made = NULL;
    if (corpus_setup(&made))
        return -1;
    l->c = made;
    snprintf(l->run, sizeof l->run, "%s/run", l->c->root);
    make_served_voice(l->c, l->run);
    return 0;
}

int serve_lab_close(ServeLab *l)
{
    void *made = l->c;
    return corpus_teardown(&made);
}

Buf synth_sound(const char *run, const char *text, const char *option, const char *value)
{
    const char *args[MAX_ARGS] = {"synth", "--checkpoint", run, "--text", text, "--output", "-"};
    args[7] = option;
    args[8] = option ? value : NULL;
    Run r;
    run_program_env(&r, args, NULL);
    assert_int_equal(r.code, 0);
    Buf out = {0};
    buf_add(&out, r.stdout_text.data, r.stdout_text.size);
    run_free(&r);
    return out;
}

double serve_metric(int port, const char *name)
{
    Reply r;
    double x = -1;
    ask(&r, port, "GET", "/metrics", NULL, NULL, 0);
    assert_int_equal(r.status, 200);
    for (const char *p = r.body.data; p && *p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL)
        if (strncmp(p, name, strlen(name)) == 0 && p[strlen(name)] == ' ')
            x = atof(p + strlen(name));
    if (x < 0)
        fail_msg("%s is not in the metrics: %s", name, r.body.data);
    reply_free(&r);
    return x;
}

/* ---- the client ---- */

int dial(int port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    struct timeval limit = {.tv_sec = 30};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (connect(fd, (struct sockaddr *)&a, sizeof a) != 0)
        fail_msg("no connection to port %d: %s", port, strerror(errno));
    return fd;
}

int send_bytes(int fd, const void *p, size_t n)
{
    const char *at = p;
    while (n) {
        ssize_t k = send(fd, at, n, MSG_NOSIGNAL);
        if (k <= 0)
            return -1;
        at += k;
        n -= (size_t)k;
    }
    return 0;
}

int send_text(int fd, const char *text) { return send_bytes(fd, text, strlen(text)); }

/* One byte, or -1. */
static int get(int fd)
{
    unsigned char c;
    return recv(fd, &c, 1, 0) == 1 ? c : -1;
}

static int get_many(int fd, Buf *out, size_t n)
{
    char piece[65536];
    while (n) {
        ssize_t k = recv(fd, piece, n < sizeof piece ? n : sizeof piece, 0);
        if (k <= 0)
            return -1;
        buf_add(out, piece, (size_t)k);
        n -= (size_t)k;
    }
    return 0;
}

static int get_line(int fd, Buf *out)
{
    for (int c; (c = get(fd)) >= 0;) {
        const char byte = (char)c;
        buf_add(out, &byte, 1);
        if (c == '\n')
            return 0;
    }
    return -1;
}

const char *reply_header(const Reply *r, const char *name)
{
    static char value[1024];
    size_t n = strlen(name);
    for (const char *p = r->head.data; p && *p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL)
        if (strncasecmp(p, name, n) == 0 && p[n] == ':') {
            p += n + 1 + strspn(p + n + 1, " ");
            snprintf(value, sizeof value, "%.*s", (int)strcspn(p, "\r\n"), p);
            return value;
        }
    return NULL;
}

static int read_chunks(int fd, Buf *out)
{
    for (;;) {
        Buf line = {0};
        int rc = get_line(fd, &line);
        if (!rc && !isxdigit((unsigned char)line.data[0]))
            rc = -1;
        size_t n = rc ? 0 : strtoull(line.data, NULL, 16);
        buf_free(&line);
        if (rc || (n && get_many(fd, out, n)) || get_line(fd, &line))
            return buf_free(&line), -1;
        buf_free(&line);
        if (!n)
            return 0;
    }
}

void read_reply_to(int fd, Reply *r, const char *method)
{
    *r = (Reply){0};
    size_t before;
    do {
        before = r->head.size;
        if (get_line(fd, &r->head))
            break;
    } while (r->head.size - before > 2);
    if (r->head.size < 12 || sscanf(r->head.data, "HTTP/1.%*d %d", &r->status) != 1) {
        r->status = 0;
        return;
    }
    const char *length = reply_header(r, "Content-Length");
    const size_t n = length ? strtoull(length, NULL, 10) : 0;
    if (r->status == 100) { /* the answer itself follows */
        buf_free(&r->head);
        read_reply_to(fd, r, method);
    } else if (strcmp(method, "HEAD") == 0 || r->status == 204 || r->status == 304) {
        r->whole = 1;
    } else if (length) {
        r->whole = get_many(fd, &r->body, n) == 0;
    } else if (reply_header(r, "Transfer-Encoding")) {
        r->whole = read_chunks(fd, &r->body) == 0;
    } else {
        get_many(fd, &r->body, SIZE_MAX);
        r->whole = 1;
    }
    buf_add(&r->body, "", 0);
}

void read_reply(int fd, Reply *r) { read_reply_to(fd, r, "GET"); }

void reply_free(Reply *r)
{
    buf_free(&r->head);
    buf_free(&r->body);
    *r = (Reply){0};
}

json_t *reply_object(Reply *r, int status)
{
    if (r->status != status)
        fail_msg("status %d where %d was expected: %s", r->status, status, r->body.data ? r->body.data : "");
    json_t *o = json_loadb(r->body.data ? r->body.data : "", r->body.size, 0, NULL);
    if (!o)
        fail_msg("no JSON: %s", r->body.data ? r->body.data : "");
    reply_free(r);
    return o;
}

void ask(Reply *r, int port, const char *method, const char *path, const char *more, const void *body,
         size_t size)
{
    Buf b = {0};
    buf_printf(&b, "%s %s HTTP/1.1\r\nHost: localhost\r\n%s", method, path, more ? more : "");
    if (body)
        buf_printf(&b, "Content-Length: %zu\r\n", size);
    buf_str(&b, "\r\n");
    if (body)
        buf_add(&b, body, size);
    int fd = dial(port);
    send_bytes(fd, b.data, b.size);
    read_reply_to(fd, r, method);
    close(fd);
    buf_free(&b);
}

void post_json(Reply *r, int port, const char *json)
{
    ask(r, port, "POST", "/v1/audio/speech", "Content-Type: application/json\r\n", json, strlen(json));
}

void send_speech(int fd, const char *text, int times)
{
    Buf body = {0}, b = {0};
    buf_str(&body, "{\"response_format\":\"wav\",\"input\":\"");
    for (int i = 0; i < times; i++)
        buf_str(&body, text);
    buf_str(&body, "\"}");
    buf_printf(&b,
               "POST /v1/audio/speech HTTP/1.1\r\nHost: [::1]:1\r\nContent-Type: application/json; "
               "charset=utf-8\r\nContent-Length: %zu\r\n\r\n%s",
               body.size, body.data);
    assert_int_equal(send_bytes(fd, b.data, b.size), 0);
    buf_free(&body);
    buf_free(&b);
}

int type_open(int port, const char *query, const char *more)
{
    Buf b = {0};
    int fd = dial(port);
    buf_printf(&b,
               "POST /v1/audio/speech%s HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
               "Transfer-Encoding: chunked\r\n%s\r\n",
               query, more ? more : "");
    send_bytes(fd, b.data, b.size);
    buf_free(&b);
    return fd;
}

int type_bytes(int fd, const void *p, size_t n)
{
    Buf b = {0};
    buf_printf(&b, "%zx\r\n", n);
    buf_add(&b, p, n);
    buf_str(&b, "\r\n");
    int rc = send_bytes(fd, b.data, b.size);
    buf_free(&b);
    return rc;
}

int type_text(int fd, const char *text) { return type_bytes(fd, text, strlen(text)); }

int type_end(int fd) { return send_text(fd, "0\r\n\r\n"); }
