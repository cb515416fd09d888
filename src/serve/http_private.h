/* http_private.h - what the files http_*.c share: the server, its connections and requests.
 * One lock guards all that several threads touch: it is held only briefly, and of libmicrohttpd only suspend
 * and resume are called under it. */
#ifndef MYXTTS_HTTP_PRIVATE_H
#define MYXTTS_HTTP_PRIVATE_H

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/thread.h"
#include "serve/http.h"

#define HTTP_HEADERS 12 /* most that a handler may add */

typedef enum {
    HTTP_IDLE,     /* between requests, or the first has not begun */
    HTTP_READING,  /* a request has begun */
    HTTP_ANSWERING /* all of it is there */
} HttpPhase;

/* A connection, known to the guard (http_guard.c) from its first to its last moment. */
typedef struct HttpConnection {
    struct HttpConnection *prev, *next;
    Http *h;
    int fd;
    HttpPhase phase;
    HttpRequest *request;
    double deadline; /* of its phase, on clock_now */
    int used;        /* a request was answered */
    int cut;         /* the guard has ended it */
} HttpConnection;

struct HttpRequest {
    Http *h;
    HttpConnection *connection;
    struct MHD_Connection *mhd;
    const HttpRoute *route; /* NULL: none fits */
    const char *path;
    int head;
    int bad_uri;
    int begun, whole, answered; /* the header, all of it; an answer is on its way */
    int status;
    Buf body;
    size_t body_counted; /* of the server's body_bytes */
    void *kept;
    void (*release)(void *kept);
    struct {
        const char *name;
        char *value;
    } header[HTTP_HEADERS];
    int header_count;
    HttpStream stream;
    int streams; /* the stream is in use */
    Buf out;     /* of it, not yet taken: from out_at on */
    size_t out_at;
    int ended; /* the stream has given everything */
    /* under the lock */
    int waits;        /* suspended */
    int woken;        /* http_wake came before it was suspended */
    atomic_int gone;  /* the client has left, or the server ends */
    atomic_int late;  /* took too long */
    int answering;    /* counted in the server's answering */
    double moved;     /* when the stream was last taken from */
    double time_left; /* of a stream that waits: what its client has left when it continues */
};

struct Http {
    HttpOptions o;
    struct MHD_Daemon *daemon;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a connection came, or the guard has to end */
    Thread guard;
    HttpConnection *connections;
    int connection_count, answering;
    size_t body_bytes; /* of all requests that are in memory */
    atomic_int stopping, ending;
    int guard_ends;
    HttpCount *counts;
    size_t count_count, count_cap;
};

/* http_guard.c: time limits of connections, and clients that leave while they wait */
int guard_open(Http *h, Err *err);
void guard_close(Http *h);
void guard_notify(void *arg, struct MHD_Connection *c, void **context,
                  enum MHD_ConnectionNotificationCode code);
void guard_reading(HttpRequest *r);
int guard_answering(HttpRequest *r); /* 0: it was cut off meanwhile, and nothing may be sent */
void guard_idle(HttpRequest *r);     /* its request is over */
/* Sends a whole answer past libmicrohttpd, which cannot answer in the middle of a body, and ends the
 * connection. */
void guard_cut(HttpRequest *r, int status, const char *message);
void guard_moved(HttpRequest *r); /* a client takes more of its stream */
/* Suspends the connection until http_wake. 0: not now, ask again. */
int guard_wait(HttpRequest *r);

/* http_answer.c */
int http_refuse(HttpRequest *r, int status, const char *code, const char *message);
void http_count(Http *h, const HttpRequest *r, int status); /* under the lock */

/* http_check.c: may this request be answered? 0, or it has been refused. */
int http_check(HttpRequest *r, const char *method);

#endif
