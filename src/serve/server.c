/* server.c - the table of routes, and how the server begins and ends. */
#include "serve/server.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "serve/page.h"
#include "serve/record_routes.h"
#include "serve/runs_routes.h"
#include "serve/speech.h"

static int answer_health(HttpRequest *r, void *arg, Err *err)
{
    const Server *s = arg;
    return http_answer_json(r, 200,
                            json_pack("{s:s, s:i, s:o}", "status", "ok", "voices", s->catalogue.count,
                                      "files", s->renewal ? renewal_json(s->renewal) : json_array()));
}

static int answer_models(HttpRequest *r, void *arg, Err *err)
{
    const Server *s = arg;
    return http_answer_json(r, 200, catalogue_models(&s->catalogue));
}

/* One of the models, as OpenAI's clients retrieve it. */
static int answer_model(HttpRequest *r, void *arg, Err *err)
{
    const Server *s = arg;
    json_t *all = catalogue_models(&s->catalogue);
    int voice = catalogue_find(&s->catalogue, http_rest(r));
    json_t *one = voice < 0 ? NULL : json_array_get(json_object_get(all, "data"), (size_t)voice);
    int rc = one ? http_answer_json(r, 200, json_incref(one))
                 : http_answer_error(r, 404, "model", "model_not_found", "there is no such model");
    json_decref(all);
    return rc;
}

static int answer_voices(HttpRequest *r, void *arg, Err *err)
{
    const Server *s = arg;
    return http_answer_json(r, 200, catalogue_voices(&s->catalogue));
}

/* What may be asked for as `voice`, as programs that offer a choice ask for it. */
static int answer_choices(HttpRequest *r, void *arg, Err *err)
{
    const Server *s = arg;
    return http_answer_json(r, 200, catalogue_choices(&s->catalogue));
}

static int answer_metrics(HttpRequest *r, void *arg, Err *err)
{
    Server *s = arg;
    Buf text = {0};
    metrics_text(&s->metrics, &text, s->http, s->studio, clock_now() - s->began);
    int rc = text.failed
                 ? err_set(err, ERR_NOMEM, "no memory for the metrics")
                 : http_answer(r, 200, "text/plain; version=0.0.4; charset=utf-8", text.data, text.size);
    buf_free(&text);
    return rc;
}

/* Who only records is brought there. */
static int answer_home(HttpRequest *r, void *arg, Err *err)
{
    const Server *s = arg;
    if (!s->recorder || s->studio || s->runs)
        return page_answer(r, arg, err);
    http_add_header(r, "Location", "/record");
    return http_answer(r, 302, "text/plain", "", 0);
}

static const HttpRoute routes[] = {
    {"POST", "/v1/audio/speech", speech_answer, .takes_body = 1, .body_type = "application/json",
     .live_type = SPEECH_TEXT_TYPE},
    {"GET", "/v1/audio/speech", speech_answer, .no_head = 1},
    {"GET", "/v1/models", answer_models, .open = 0},
    {"GET", "/v1/models/*", answer_model, .open = 0},
    {"GET", "/v1/voices", answer_voices, .open = 0},
    {"GET", "/v1/audio/voices", answer_choices, .open = 0},
    {"GET", "/health", answer_health, .open = 1},
    {"GET", "/metrics", answer_metrics, .open = 0},
    {"GET", "/v1/runs", runs_answer_list, .open = 0},
    {"GET", "/v1/runs/*", runs_answer_one, .open = 0},
    {"GET", "/v1/record", record_answer_list, .open = 0},
    {"GET", "/v1/record/*", record_answer_take, .open = 0},
    {"POST", "/v1/record/*", record_answer_save, .takes_body = 1, .body_type = "audio/wav"},
    {"DELETE", "/v1/record/*", record_answer_remove, .open = 0},
    {"GET", "/", answer_home, .open = 1},
    {"GET", "/runs", page_answer, .open = 1},
    {"GET", "/record", page_answer, .open = 1},
    {"GET", "/page/*", page_answer, .open = 1},
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
            rc = err_set(err, ERR_USAGE,
                         "%s: a token must be one line of printable characters without spaces", path);
    if (!rc && n < 16)
        rc = err_set(err, ERR_USAGE, "%s: the token has %zu characters; the minimum is 16", path, n);
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
    int rc = 0;
    *s = (Server){.o = *o, .fd = -1, .began = clock_now()};
    metrics_open(&s->metrics);
    if (o->token_file)
        rc = read_token(s, o->token_file, err);
    if (!rc)
        rc = http_address(&s->address, o->listen, err);
    if (!rc && !s->address.loopback && !s->token) {
        rc = err_set(err, ERR_USAGE, "other machines can reach %s: a server there needs --token-file F",
                     o->listen);
        err_hint(err, "make a token: head -c 24 /dev/urandom | base64 >F; clients send it as their API key");
    }
    if (!rc && o->runs)
        rc = runs_open(&s->runs, o->runs, err);
    if (!rc && o->record)
        rc = recorder_open(&s->recorder, o->record, o->sentences, o->language, o->log, err);
    if (!rc)
        rc = http_listen(&s->fd, &s->address, o->listen, err);
    if (rc)
        server_close(s);
    return rc;
}

int server_begin(Server *s, Studio *studio, const StudioVoice *voices, Err *err)
{
    int rc = studio ? catalogue_open(&s->catalogue, studio, voices, err) : 0;
    if (!rc && studio)
        rc = renewal_open(&s->renewal, studio, &s->catalogue, voices, s->o.log, err);
    if (rc)
        return rc;
    s->studio = studio;
    HttpOptions http = {.fd = s->fd,
                        .routes = routes,
                        .count = sizeof routes / sizeof *routes,
                        .arg = s,
                        .token = s->token,
                        .max_connections = s->o.max_connections,
                        .max_body = s->o.max_body,
                        .timeout = s->o.request_timeout,
                        .log = s->o.log};
    s->fd = -1; /* it closes the socket, whatever happens */
    return http_open(&s->http, &http, err);
}

void server_look(Server *s)
{
    if (s->renewal)
        renewal_look(s->renewal);
}

void server_stop(Server *s, double seconds) { http_stop(s->http, seconds); }

void server_close(Server *s)
{
    if (!s->o.listen)
        return;
    http_close(s->http);
    runs_close(s->runs);
    recorder_close(s->recorder);
    if (s->fd >= 0)
        close(s->fd);
    renewal_close(s->renewal);
    catalogue_close(&s->catalogue);
    metrics_close(&s->metrics);
    free(s->token);
    *s = (Server){0};
}
