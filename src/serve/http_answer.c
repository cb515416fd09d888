/* http_answer.c - what handlers see of a request, and how they answer. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "serve/http_private.h"

#define JSON_TYPE "application/json"
#define STREAM_BLOCK 16384 /* bytes that a stream hands over at once */

/* --- the request --- */

const char *http_path(const HttpRequest *r) { return r->path; }

const char *http_rest(const HttpRequest *r)
{
    size_t n = r->route ? strlen(r->route->path) : 0;
    return n && r->route->path[n - 1] == '*' ? r->path + n - 1 : "";
}

int http_has_body(const HttpRequest *r) { return r->route->takes_body; }

const char *http_query(HttpRequest *r, const char *name)
{
    return MHD_lookup_connection_value(r->mhd, MHD_GET_ARGUMENT_KIND, name);
}

const char *http_header(HttpRequest *r, const char *name)
{
    return MHD_lookup_connection_value(r->mhd, MHD_HEADER_KIND, name);
}

int http_is_live(const HttpRequest *r) { return r->live.wanted; }

const char *http_body(const HttpRequest *r, size_t *size)
{
    *size = r->body.size;
    return r->body.data ? r->body.data : "";
}

int http_take_body(HttpRequest *r, Buf *out)
{
    pthread_mutex_lock(&r->h->lock);
    if (r->body.size)
        buf_add(out, r->body.data, r->body.size);
    buf_clear(&r->body);
    const int whole = r->whole;
    pthread_mutex_unlock(&r->h->lock);
    return whole;
}

void http_drop_body(HttpRequest *r)
{
    buf_free(&r->body);
    pthread_mutex_lock(&r->h->lock);
    r->h->body_bytes -= r->body_counted;
    r->body_counted = 0;
    pthread_mutex_unlock(&r->h->lock);
}

void http_keep(HttpRequest *r, void *kept, void (*release)(void *kept))
{
    r->kept = kept;
    r->release = release;
}

void *http_kept(const HttpRequest *r) { return r->kept; }

/* --- counting --- */

void http_count(Http *h, const HttpRequest *r, int status)
{
    const char *path = r && r->route ? r->route->path : "other",
               *method = r && r->route ? r->route->method : "any";
    for (size_t i = 0; i < h->count_count; i++) {
        HttpCount *c = &h->counts[i];
        if (c->status == status && strcmp(c->path, path) == 0 && strcmp(c->method, method) == 0) {
            c->count++;
            return;
        }
    }
    if (mem_grow(&h->counts, &h->count_cap, h->count_count + 1, sizeof *h->counts))
        return;
    h->counts[h->count_count++] = (HttpCount){path, method, status, 1};
}

int http_counts(Http *h, HttpCount *counts, int cap)
{
    pthread_mutex_lock(&h->lock);
    int n = (int)h->count_count < cap ? (int)h->count_count : cap;
    memcpy(counts, h->counts, (size_t)n * sizeof *counts);
    pthread_mutex_unlock(&h->lock);
    return n;
}

int http_connections(Http *h)
{
    pthread_mutex_lock(&h->lock);
    int n = h->connection_count;
    pthread_mutex_unlock(&h->lock);
    return n;
}

/* --- the answer --- */

void http_add_header(HttpRequest *r, const char *name, const char *value)
{
    for (const char *p = value; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7F)
            return;
    char *copy = r->header_count < HTTP_HEADERS ? strdup(value) : NULL;
    if (!copy)
        return;
    r->header[r->header_count].name = name;
    r->header[r->header_count++].value = copy;
}

/* Queues the response and gives it up; NULL: memory was short. */
static int queue(HttpRequest *r, int status, const char *type, struct MHD_Response *response)
{
    if (!response)
        return ERR_NOMEM;
    if (type)
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    for (int i = 0; i < r->header_count; i++)
        MHD_add_response_header(response, r->header[i].name, r->header[i].value);
    if (r->h->stopping)
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    enum MHD_Result queued = MHD_queue_response(r->mhd, (unsigned)status, response);
    MHD_destroy_response(response);
    if (queued != MHD_YES)
        return ERR_IO;
    r->answered = 1;
    r->status = status;
    pthread_mutex_lock(&r->h->lock);
    http_count(r->h, r, status);
    pthread_mutex_unlock(&r->h->lock);
    return 0;
}

static struct MHD_Response *from_memory(const void *p, size_t n, enum MHD_ResponseMemoryMode mode)
{
    void *data;
    memcpy(&data, &p, sizeof data); /* the library's pointer is not const; it only reads */
    return MHD_create_response_from_buffer(n, data, mode);
}

int http_answer(HttpRequest *r, int status, const char *type, const void *p, size_t n)
{
    if (r->live.taken)
        return live_answer(r, status, type, p, n);
    return queue(r, status, type, from_memory(p, n, MHD_RESPMEM_MUST_COPY));
}

/* The client has this content already. */
static int is_known(HttpRequest *r, const char *etag)
{
    const char *known = http_header(r, MHD_HTTP_HEADER_IF_NONE_MATCH);
    return known && etag && strstr(known, etag);
}

int http_answer_static(HttpRequest *r, const char *type, const void *p, size_t n, const char *etag)
{
    if (etag) {
        http_add_header(r, MHD_HTTP_HEADER_ETAG, etag);
        http_add_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-cache");
    }
    if (r->live.taken)
        return live_answer(r, 200, type, p, n);
    if (is_known(r, etag))
        return queue(r, 304, NULL, from_memory("", 0, MHD_RESPMEM_PERSISTENT));
    return queue(r, 200, type, from_memory(p, n, MHD_RESPMEM_PERSISTENT));
}

/* Takes the text, which was malloc'd. */
static int answer_text(HttpRequest *r, int status, char *text)
{
    if (!text)
        return ERR_NOMEM;
    http_add_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    if (r->live.taken) {
        int rc = live_answer(r, status, JSON_TYPE, text, strlen(text));
        free(text);
        return rc;
    }
    struct MHD_Response *response = from_memory(text, strlen(text), MHD_RESPMEM_MUST_FREE);
    if (!response)
        free(text);
    return queue(r, status, JSON_TYPE, response);
}

int http_answer_json(HttpRequest *r, int status, json_t *o)
{
    char *text = o ? json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(o);
    return answer_text(r, status, text);
}

char *http_error_text(int status, const char *param, const char *code, const char *message)
{
    const char *type = status == 429   ? "rate_limit_error"
                       : status >= 500 ? "server_error"
                                       : "invalid_request_error";
    json_t *o = json_pack("{s:{s:o, s:s, s:o, s:o}}", "error", "message", json_from_text(message), "type",
                          type, "param", param ? json_from_text(param) : json_null(), "code",
                          code ? json_from_text(code) : json_null());
    char *text = o ? json_dumps(o, JSON_COMPACT) : NULL;
    json_decref(o);
    return text;
}

int http_refuse(HttpRequest *r, int status, const char *code, const char *message)
{
    return answer_text(r, status, http_error_text(status, NULL, code, message));
}

int http_answer_error(HttpRequest *r, int status, const char *param, const char *code, const char *fmt, ...)
{
    char message[2048];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(message, sizeof message, fmt, ap);
    va_end(ap);
    return answer_text(r, status, http_error_text(status, param, code, message));
}

int http_refuse_late(HttpRequest *r)
{
    http_add_header(r, MHD_HTTP_HEADER_RETRY_AFTER, "10");
    return http_refuse(r, 503, "timeout", "the answer took too long: the server is overloaded");
}

/* What is wrong with the request handlers have said themselves. */
int http_fail(HttpRequest *r, int rc, const Err *err)
{
    log_error(r->h->o.log, "%s %s: %s", r->route->method, r->path, err->msg[0] ? err->msg : "out of memory");
    return http_refuse(r, rc == ERR_NOMEM ? 503 : 500, "server_error",
                       err->msg[0] ? err->msg : "out of memory");
}

void http_head(Buf *out, const HttpRequest *r, int status, const char *type, size_t length)
{
    buf_printf(out,
               "HTTP/1.1 %d %s\r\nConnection: close\r\nContent-Type: %s\r\n"
               "X-Content-Type-Options: nosniff\r\n",
               status, MHD_get_reason_phrase_for((unsigned)status), type);
    for (int i = 0; r && i < r->header_count; i++)
        buf_printf(out, "%s: %s\r\n", r->header[i].name, r->header[i].value);
    if (length == SIZE_MAX)
        buf_str(out, "Transfer-Encoding: chunked\r\n\r\n");
    else
        buf_printf(out, "Content-Length: %zu\r\n\r\n", length);
}

/* --- streams --- */

/* One block of it. It waits, suspended, if nothing is ready. */
static ssize_t read_stream(void *arg, uint64_t position, char *block, size_t most)
{
    HttpRequest *r = arg;
    Err err = {0};
    guard_moved(r);
    while (r->out_at == r->out.size && !r->ended) {
        buf_clear(&r->out);
        r->out_at = 0;
        if (r->gone || r->late || r->h->ending)
            return MHD_CONTENT_READER_END_WITH_ERROR;
        int rc = r->stream.more(r->stream.arg, &r->out, &err);
        if (rc < 0 || r->out.failed) {
            log_warn(r->h->o.log, "an answer was cut short: %s", err.msg[0] ? err.msg : "out of memory");
            return MHD_CONTENT_READER_END_WITH_ERROR;
        }
        r->ended = rc == HTTP_STREAM_END;
        if (rc == HTTP_STREAM_LATER && r->out.size == 0 && guard_wait(r))
            return 0;
    }
    size_t n = r->out.size - r->out_at;
    if (n == 0)
        return MHD_CONTENT_READER_END_OF_STREAM;
    n = n < most ? n : most;
    memcpy(block, r->out.data + r->out_at, n);
    r->out_at += n;
    return (ssize_t)n;
}

int http_answer_stream(HttpRequest *r, const char *type, const HttpStream *s)
{
    pthread_mutex_lock(&r->h->lock);
    r->stream = *s;
    r->streams = 1;
    r->moved = clock_now();
    pthread_mutex_unlock(&r->h->lock);
    http_add_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    if (r->live.taken)
        return live_answer_stream(r, type);
    return queue(r, 200, type,
                 MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK, read_stream, r, NULL));
}
