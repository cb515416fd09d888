/* server.c - the table of routes, and how the server begins and ends. */
#include "serve/server.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "serve/page.h"
#include "serve/runs_routes.h"

static int answer_health(HttpRequest *r, void *arg, Err *err)
{
    return http_answer_json(r, 200, json_pack("{s:s}", "status", "ok"));
}

static const HttpRoute routes[] = {
    {"GET", "/health", answer_health, .open = 1},      {"GET", "/v1/runs", runs_answer_list, .open = 0},
    {"GET", "/v1/runs/*", runs_answer_one, .open = 0}, {"GET", "/", page_answer, .open = 1},
    {"GET", "/runs", page_answer, .open = 1},          {"GET", "/page/*", page_answer, .open = 1},
};

/* One line of at least 16 printable characters. */
static int read_token(Server *s, const char *path, Err *err)
{
    Buf text = {0};
    int rc = file_read(&text, path, 4096, err);
    size_t n = text.size;
    while (n && strchr("\r\n \t", text.data[n - 1]))
        n--;
    for (size_t i = 0; i < n && !rc; i++)
        if (text.data[i] <= ' ' || text.data[i] > '~')
            rc = err_set(err, ERR_USAGE, "%s: a token is one line of printable characters without blanks",
                         path);
    if (!rc && n < 16)
        rc = err_set(err, ERR_USAGE, "%s: the token has %zu characters; 16 are the fewest", path, n);
    if (!rc) {
        s->token = strndup(text.data, n);
        if (!s->token)
            rc = err_set(err, ERR_NOMEM, "no memory for a token");
    } else if (err) {
        err_hint(err, "make one: head -c 24 /dev/urandom | base64 >%s", path);
    }
    buf_free(&text);
    return rc;
}

int server_open(Server *s, const ServeOptions *o, Err *err)
{
    int fd = -1, rc = 0;
    *s = (Server){.o = *o, .began = clock_now()};
    if (o->token_file)
        rc = read_token(s, o->token_file, err);
    if (!rc)
        rc = http_address(&s->address, o->listen, err);
    if (!rc && !s->address.loopback && !s->token) {
        rc = err_set(err, ERR_USAGE, "%s can be reached by others: a server there needs --token-file F",
                     o->listen);
        err_hint(err, "make a token: head -c 24 /dev/urandom | base64 >F; clients send it as their API key");
    }
    if (!rc && o->runs)
        rc = runs_open(&s->runs, o->runs, err);
    if (!rc)
        rc = http_listen(&fd, &s->address, o->listen, err);
    HttpOptions http = {.fd = fd,
                        .routes = routes,
                        .count = sizeof routes / sizeof *routes,
                        .arg = s,
                        .token = s->token,
                        .max_connections = o->max_connections,
                        .max_body = o->max_body,
                        .timeout = o->request_timeout,
                        .log = o->log};
    if (!rc)
        rc = http_open(&s->http, &http, err);
    if (rc)
        server_close(s);
    return rc;
}

void server_stop(Server *s, double seconds, const volatile int *at_once)
{
    http_stop(s->http, seconds, at_once);
}

void server_close(Server *s)
{
    http_close(s->http);
    runs_close(s->runs);
    free(s->token);
    *s = (Server){0};
}
