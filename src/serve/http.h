/* http.h - an HTTP server: a table of routes, and what their handlers see of a request and how they answer.
 * It runs a few threads, none for a connection. A handler must not block: where it has to wait it returns
 * HTTP_LATER and calls http_wake from wherever the waiting ends. An answer that is made bit by bit is a
 * stream.
 *
 *     static int health(HttpRequest *r, void *arg, Err *err)
 *     {
 *         return http_answer_json(r, 200, json_pack("{s:s}", "status", "ok"));
 *     }
 *     const HttpRoute routes[] = {{"GET", "/health", health, .open = 1}, ...};
 *
 * The server itself answers: 400 and 431 for what is no HTTP, 401, 403, 404, 405 with Allow, 408, 411, 413,
 * 415, and 503 while it stops. Errors are JSON as OpenAI's: {"error": {message, type, param, code}}.
 * Threads: handlers run in any of the server's; of one request nothing runs at the same time. */
#ifndef MYXTTS_HTTP_H
#define MYXTTS_HTTP_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"

typedef struct Http Http;
typedef struct HttpRequest HttpRequest;

enum { HTTP_LATER = 1 };

typedef struct HttpRoute {
    const char *method; /* "GET" is HEAD too, unless no_head says otherwise */
    const char *path;   /* "/v1/models"; with a star at the end ("/runs/" and the star) all that begins so */
    /* Returns what an http_answer_ function returned, HTTP_LATER (it is called again after http_wake), or an
     * error, which becomes a 500 with its sentence. The whole body is there when it is called. arg: that of
     * HttpOptions. */
    int (*answer)(HttpRequest *r, void *arg, Err *err);
    const char *body_type; /* media type that a body must have: "application/json"; NULL: any */
    int takes_body;        /* 0: a body is 413 */
    int no_head;           /* what a HEAD would tell is not known without the work of a GET */
    int open;              /* without a token too: nothing of the user's is shown */
} HttpRoute;

/* --- the request; strings live as long as it does --- */

const char *http_path(const HttpRequest *r); /* unescaped, UTF-8; begins with / */
const char *http_rest(const HttpRequest *r); /* the path behind the route's; "" where it has no star */
int http_has_body(const HttpRequest *r);     /* its route takes one */
/* From the query string, unescaped; NULL: not there. It may not be UTF-8. */
const char *http_query(HttpRequest *r, const char *name);
const char *http_header(HttpRequest *r, const char *name);
const char *http_body(const HttpRequest *r, size_t *size);
void http_drop_body(HttpRequest *r); /* it is not needed any more: its memory is free for others */
/* Something of the handler's that belongs to the request; `release` is called when it is over, however it
 * ended. */
void http_keep(HttpRequest *r, void *kept, void (*release)(void *kept));
void *http_kept(const HttpRequest *r);
/* Any thread, while the request lives: calls the handler, or the stream, that returned HTTP_LATER again. */
void http_wake(HttpRequest *r);

/* --- the answer: one of these, once. All return 0, or an error when memory is short. --- */

/* Before the answer. Values with control characters are left out. */
void http_add_header(HttpRequest *r, const char *name, const char *value);
int http_answer(HttpRequest *r, int status, const char *type, const void *p, size_t n); /* copies */
/* p stays as long as the program; etag: a name of this content ("\"3f\""), answers 304 to who has it; may be
 * NULL. */
int http_answer_static(HttpRequest *r, const char *type, const void *p, size_t n, const char *etag);
int http_answer_json(HttpRequest *r, int status, json_t *o); /* takes o; NULL: memory was short */
/* param, code: may be NULL. The type follows from the status. */
int http_answer_error(HttpRequest *r, int status, const char *param, const char *code, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
/* The JSON text of such an error, malloc'd; NULL: memory is short. */
char *http_error_text(int status, const char *param, const char *code, const char *message);

enum { HTTP_STREAM_END = 0, HTTP_STREAM_MORE = 1, HTTP_STREAM_LATER = 2 };
typedef struct HttpStream {
    /* Appends what is ready to out: HTTP_STREAM_MORE, _LATER (it is called again after http_wake) or _END; an
     * error: the answer breaks off. */
    int (*more)(void *arg, Buf *out, Err *err);
    void *arg;
    int paced; /* 1: it ends when the client is so slow that http_extend has not kept up with time */
} HttpStream;
/* 200. What `more` needs is freed by http_keep's release. */
int http_answer_stream(HttpRequest *r, const char *type, const HttpStream *s);
/* Of a paced stream: it may take so many seconds more. */
void http_extend(HttpRequest *r, double seconds);

/* --- the server --- */

typedef struct HttpOptions {
    int fd;                  /* a listening socket (http_listen); the server closes it */
    const HttpRoute *routes; /* [count]; they stay */
    int count;
    void *arg;           /* for the handlers */
    const char *token;   /* NULL: none is wanted */
    int max_connections; /* further ones wait to be accepted */
    size_t max_body;
    double timeout; /* seconds to send a request, to wait for an answer, and to stand still */
    Log *log;
} HttpOptions;

int http_open(Http **h, const HttpOptions *o, Err *err);
/* Accepts nothing more, waits until what is being answered is, for so many seconds at most, and breaks off
 * the rest. */
void http_stop(Http *h, double seconds);
void http_close(Http *h); /* NULL is fine */

/* A listening socket. address: "127.0.0.1:8000", "[::1]:8000", "localhost:0"; port 0: any that is free.
 * loopback: whether it is reached from this machine alone. shown [shown_size] gets the address and the port
 * in use, "127.0.0.1:41235". */
typedef struct HttpAddress {
    char shown[128];
    int port;
    int loopback;
} HttpAddress;
/* Looks the address up, and opens nothing. */
int http_address(HttpAddress *a, const char *address, Err *err);
int http_listen(int *fd, HttpAddress *a, const char *address, Err *err);

/* How often each route gave each status. */
typedef struct HttpCount {
    const char *path; /* of the route; "other" where there was none */
    const char *method;
    int status;
    uint64_t count;
} HttpCount;
/* Fills counts [cap]; returns how many there are. */
int http_counts(Http *h, HttpCount *counts, int cap);
int http_connections(Http *h);

#endif
