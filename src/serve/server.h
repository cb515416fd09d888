/* server.h - the doors over the network: HTTP (http.h), and what its handlers share.
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
    const char *runs;       /* a folder of trainings; NULL: none is shown */
    const char *record;     /* a folder that fills with recordings; NULL: none */
    const char *sentences;  /* a file of what is read for them; NULL: the list of the language */
    const char *language;   /* of the recordings */
    const char *listen;     /* HOST:PORT */
    const char *token_file; /* NULL: everybody on this machine may ask */
    int max_connections;    /* open at once; further ones wait */
    int max_requests;       /* spoken at once */
    int max_queue;          /* of them without any sound so far */
    double max_wait;        /* seconds that one may have to wait for others */
    int max_text;           /* characters of a request */
    size_t max_body;        /* bytes of a request */
    size_t max_upload;      /* bytes of a recording */
    double request_timeout; /* seconds */
    Log *log;
} ServeOptions;

typedef struct Server {
    ServeOptions o;
    Studio *studio;      /* the voices; NULL: there are none, trainings and recordings only */
    HttpAddress address; /* where it listens */
    int fd;              /* the socket, until the HTTP server has it; -1 then */
    Http *http;
    Runs *runs;         /* NULL: none are shown */
    Recorder *recorder; /* NULL: nothing is recorded */
    Catalogue catalogue;
    Renewal *renewal; /* NULL: there are no voices */
    Metrics metrics;
    char *token; /* NULL: none */
    double began;
} Server;

/* Takes the address; clients that come now wait. ERR_USAGE for an address that others can reach without a
 * token. A failed one is closed. */
int server_open(Server *s, const ServeOptions *o, Err *err);
/* Begins to answer. voices: what the studio's were opened from, whose texts must outlive server_close.
 * studio: NULL for none; it must outlive server_close. */
int server_begin(Server *s, Studio *studio, const StudioVoice *voices, Err *err);
/* Looks whether files of voices have changed (renewal.h): now and then, from one thread. */
void server_look(Server *s);
/* Finishes what is being spoken, within so many seconds. */
void server_stop(Server *s, double seconds);
void server_close(Server *s); /* a zeroed or closed one is allowed */

#endif
