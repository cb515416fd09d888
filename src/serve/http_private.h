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
    HTTP_IDLE,      /* between requests, or the first has not begun */
    HTTP_READING,   /* a request has begun */
    HTTP_ANSWERING, /* all of it is there */
    HTTP_LIVE       /* it is answered while its body comes */
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

/* What a live request waits for: its client's text, its handler's work, its client's ears. */
typedef enum { LIVE_BODY, LIVE_WORK, LIVE_TAKER } LiveWait;

/* The live part of a request (http_live.c). Under the lock, but for `wanted`. */
typedef struct HttpLive {
    int wanted;                          /* it is one */
    int taken;                           /* the thread has it, but for its first call of the handler */
    HttpRequest *prev, *next, *next_due; /* in the lists of the thread */
    int due;                             /* there may be something to do */
    int polled;                          /* where among the sockets that are waited for; 0: it is not */
    LiveWait waits_for;
    double left;         /* seconds that its client may still take to listen, if the stream is paced */
    double taking;       /* since when the client has had something to take */
    int late;            /* it has waited too long */
    int refused;         /* status for a body that cannot be taken; 0: it can */
    const char *refusal; /* why */
    int over;            /* all was sent, or cut short: what still comes is thrown away */
    Buf piece;           /* the last chunk; of the thread alone */
} HttpLive;

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
    HttpLive live;
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
    struct {
        Thread thread;
        int wake;                      /* an eventfd */
        HttpRequest *all, *due, *last; /* live requests; those with something to do, in their order */
        HttpRequest *current;          /* being served */
        pthread_cond_t served;
        struct pollfd *polled; /* [1 + max_connections] */
        int ends;
    } live;
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

/* http.c. Under the lock: counts a part of a body. NULL; else why it is refused, and with which status. */
const char *http_admit(HttpRequest *r, size_t size, int *status);

/* http_live.c: answers past libmicrohttpd, which does not answer before a body has ended. All of these but
 * open and close are for requests that are live. */
int live_open(Http *h, Err *err);
void live_close(Http *h);
/* Its handler waits for its body. 0: the guard has ended the connection. */
int live_begin(HttpRequest *r);
void live_take(HttpRequest *r, const char *data, size_t size); /* a part of its body; with size 0 its end */
void live_leave(HttpRequest *r);                               /* the request ends */
void live_overdue(HttpRequest *r);                             /* under the lock */
void live_due(HttpRequest *r);                                 /* under the lock: look at it again */
int live_answer(HttpRequest *r, int status, const char *type, const void *p, size_t n);
int live_answer_stream(HttpRequest *r, const char *type);

/* http_answer.c */
/* The head of an answer that is written past libmicrohttpd. length: SIZE_MAX: chunks. */
void http_head(Buf *out, const HttpRequest *r, int status, const char *type, size_t length);
int http_refuse_late(HttpRequest *r);
int http_fail(HttpRequest *r, int rc, const Err *err); /* an error of a handler */
int http_refuse(HttpRequest *r, int status, const char *code, const char *message);
void http_count(Http *h, const HttpRequest *r, int status); /* under the lock */

/* http_check.c: may this request be answered? 0, or it has been refused. */
int http_check(HttpRequest *r, const char *method, const char *version);

#endif
