/* http.h - an HTTP server: a table of routes, and the functions with which handlers read a request and answer
 * it. It has a few threads, not one for each connection. A handler must not block: if it has to wait, it
 * returns HTTP_LATER, and the thread that ends the wait calls http_wake. A stream is an answer that is
 * produced piece by piece.
 *
 * A live request is one that is answered while its body is still arriving: the body comes in chunks and has
 * the route's live_type. Its handler is called first when the headers have arrived, then whenever more of the
 * body has (http_take_body) or http_wake was called. The connection ends with the answer.
 *
 *     static int health(HttpRequest *r, void *arg, Err *err)
 *     {
 *         return http_answer_json(r, 200, json_pack("{s:s}", "status", "ok"));
 *     }
 *     const HttpRoute routes[] = {{"GET", "/health", health, .open = 1}, ...};
 *
 * The server itself answers: 400 and 431 for malformed HTTP, 401, 403, 404, 405 with Allow, 408, 411, 413,
 * 415, and 503 while it stops. Errors are JSON like OpenAI's: {"error": {message, type, param, code}}.
 * Threads: handlers run in any of the server's threads, but never two at once for the same request. */
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

enum { HTTP_LATER = 1, HTTP_MORE_BODY = 2 };

typedef struct HttpRoute {
    const char *method; /* "GET" also answers HEAD, unless no_head is set */
    const char *path;   /* "/v1/models"; a star at the end matches every path with this beginning */
    /* Returns the result of an http_answer_ function, HTTP_LATER (it is called again after http_wake), or an
     * error, which becomes a 500 with its message. It is called when the whole body has been received; that
     * of a live request earlier, and may return HTTP_MORE_BODY. arg: HttpOptions.arg. */
    int (*answer)(HttpRequest *r, void *arg, Err *err);
    const char *body_type; /* media type that a body must have: "application/json"; NULL: any */
    const char *live_type; /* the other one that it may have, and then makes the request live; NULL: none */
    int takes_body;        /* 0: a body is 413 */
    int no_head;           /* 1: the headers are not known without the work of a GET, so HEAD is not
                            * supported */
    int open;              /* 1: also answered without a token, because it shows nothing of the user's */
} HttpRoute;

/* --- the request; strings live as long as it does --- */

const char *http_path(const HttpRequest *r); /* unescaped, UTF-8; begins with / */
const char *http_rest(const HttpRequest *r); /* the part of the path that the star matched; "" without a
                                              * star */
int http_has_body(const HttpRequest *r);     /* its route takes a body */
/* A value from the query string, unescaped; NULL: not given. It need not be valid UTF-8. Of a live request
 * query and headers can be read in the first call of its handler only. */
const char *http_query(HttpRequest *r, const char *name);
const char *http_header(HttpRequest *r, const char *name);
int http_has_type(HttpRequest *r, const char *type); /* its body is of this media type */
const char *http_body(const HttpRequest *r, size_t *size);
int http_is_live(const HttpRequest *r);
/* Appends to out what has come of a live body since the last call. 1: that was the rest of it. */
int http_take_body(HttpRequest *r, Buf *out);
void http_drop_body(HttpRequest *r); /* frees the memory of a body that is not needed any more */
/* Attaches the handler's data to the request; `release` is called when the request is over, however it
 * ended. */
void http_keep(HttpRequest *r, void *kept, void (*release)(void *kept));
void *http_kept(const HttpRequest *r);
/* Calls the handler or stream that returned HTTP_LATER again. Any thread may call it while the request
 * lives. */
void http_wake(HttpRequest *r);

/* --- the answer: exactly one of these calls. All return 0, or an error if memory is short. --- */

/* Before the answer. Values with control characters are left out. */
void http_add_header(HttpRequest *r, const char *name, const char *value);
int http_answer(HttpRequest *r, int status, const char *type, const void *p, size_t n); /* copies */
/* p must live as long as the program. etag: a tag for this content ("\"3f\""); a client that has it gets a
 * 304; may be NULL. */
int http_answer_static(HttpRequest *r, const char *type, const void *p, size_t n, const char *etag);
int http_answer_json(HttpRequest *r, int status, json_t *o); /* takes o; NULL: memory was short */
/* param, code: may be NULL. The type follows from the status. */
int http_answer_error(HttpRequest *r, int status, const char *param, const char *code, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
/* The JSON text of such an error, malloc'd; NULL: memory is short. */
char *http_error_text(int status, const char *param, const char *code, const char *message);

enum { HTTP_STREAM_END = 0, HTTP_STREAM_MORE = 1, HTTP_STREAM_LATER = 2, HTTP_STREAM_BODY = 3 };
typedef struct HttpStream {
    /* Appends the data that is ready to out. Returns HTTP_STREAM_MORE, _LATER (it is called again after
     * http_wake), _BODY (of a live request: when more of its body is there) or _END; an error cuts the answer
     * short. */
    int (*more)(void *arg, Buf *out, Err *err);
    void *arg;
    int paced; /* 1: the stream is cut off when the time allowed by http_extend is used up, because the client
                * is too slow */
} HttpStream;
/* 200. What `more` needs is freed by http_keep's release. */
int http_answer_stream(HttpRequest *r, const char *type, const HttpStream *s);
/* Allows a paced stream this many seconds more. */
void http_extend(HttpRequest *r, double seconds);

/* --- the server --- */

typedef struct HttpOptions {
    int fd;                  /* a listening socket (http_listen); the server closes it */
    const HttpRoute *routes; /* [count]; they stay */
    int count;
    void *arg;           /* for the handlers */
    const char *token;   /* NULL: no token is required */
    int max_connections; /* further ones wait to be accepted */
    size_t max_body;
    double timeout; /* seconds to send a request, to wait for an answer, and to stand still */
    Log *log;
} HttpOptions;

int http_open(Http **h, const HttpOptions *o, Err *err);
/* Stops accepting connections, waits at most this many seconds for the answers in progress, and breaks off
 * the rest. */
void http_stop(Http *h, double seconds);
void http_close(Http *h); /* NULL is fine */

/* A listening socket. address: "127.0.0.1:8000", "[::1]:8000", "localhost:0"; port 0: any free port.
 * loopback: whether only this machine can reach it. shown [shown_size] gets the address and the port in use,
 * "127.0.0.1:41235". */
typedef struct HttpAddress {
    char shown[128];
    int port;
    int loopback;
} HttpAddress;
/* Resolves the address without opening a socket. */
int http_address(HttpAddress *a, const char *address, Err *err);
int http_listen(int *fd, HttpAddress *a, const char *address, Err *err);

/* How often each route gave each status. */
typedef struct HttpCount {
    const char *path; /* of the route; "other" if no route matched */
    const char *method;
    int status;
    uint64_t count;
} HttpCount;
/* Fills counts [cap]; returns how many there are. */
int http_counts(Http *h, HttpCount *counts, int cap);
int http_connections(Http *h);

#endif
