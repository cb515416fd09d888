/* server.h - the server: what the handlers of its HTTP routes (http.h) share.
 * A new route is a handler (HttpRoute.answer in http.h) and a line in server.c; arg is the Server. */
#ifndef MYXTTS_SERVER_H
#define MYXTTS_SERVER_H

#include "base/err.h"
#include "base/log.h"
#include "serve/catalogue.h"
#include "serve/http.h"
#include "serve/record/recorder.h"
#include "serve/renewal.h"
#include "serve/runs.h"

#include "serve/metrics.h"
#include "studio/studio.h"

typedef struct ServeOptions {
    const char *runs;       /* a folder of trainings to show; NULL: none */
    const char *record;     /* a folder to record into; NULL: none */
    const char *sentences;  /* a file of sentences to read; NULL: the built-in list of the language */
    const char *language;   /* of the recordings */
    const char *listen;     /* HOST:PORT */
    const char *token_file; /* NULL: anyone on this machine may send requests */
    int max_connections;    /* open connections at most; further ones wait */
    int max_requests;       /* texts spoken at once, at most */
    int max_queue;          /* of these without any sound so far, at most */
    double max_wait;        /* seconds that a request may have to wait for others, at most */
    int max_text;           /* characters of a request, at most */
    size_t max_body;        /* bytes of a request, at most */
    size_t max_upload;      /* bytes of a recording, at most */
    double request_timeout; /* seconds */
    Log *log;
} ServeOptions;

typedef struct Server {
    ServeOptions o;
    Studio *studio;      /* the voices; NULL: none, only trainings and recordings */
    HttpAddress address; /* where it listens */
    int fd;              /* the listening socket until the HTTP server takes it over, then -1 */
    Http *http;
    Runs *runs;         /* NULL: none are shown */
    Recorder *recorder; /* NULL: nothing is recorded */
    Catalogue catalogue;
    Renewal *renewal; /* NULL: there are no voices */
    Metrics metrics;
    char *token; /* NULL: none */
    double began;
} Server;

/* Listens at the address; clients that connect now have to wait for server_start. ERR_USAGE if other machines
 * can reach the address and there is no token. After a failure nothing is left open. */
int server_open(Server *s, const ServeOptions *o, Err *err);
/* Starts to answer. voices: the options that the studio's voices were opened with; their strings must outlive
 * server_close, and so must studio, which may be NULL. */
int server_begin(Server *s, Studio *studio, const StudioVoice *voices, Err *err);
/* Checks whether files of voices have changed (renewal.h). To be called regularly, from one thread. */
void server_look(Server *s);
/* Finishes the requests in progress, within this many seconds. */
void server_stop(Server *s, double seconds);
void server_close(Server *s); /* a zeroed or closed one is allowed */

#endif
