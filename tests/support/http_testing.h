/* http_testing.h - `myxtts serve` as a process of its own, and a client that sends what it is told, byte for
 * byte. On top of train_process.h. */
#ifndef TESTS_HTTP_TESTING_H
#define TESTS_HTTP_TESTING_H

#include <jansson.h>

#include "train_process.h"

/* ---- the server ---- */

typedef struct ServeRun {
    Run run;
    int port;
} ServeRun;

/* `serve --listen 127.0.0.1:0 --json` with these arguments; waits until it listens. */
void serve_start(ServeRun *s, const char *const *args);
void serve_drain(ServeRun *s); /* what it logs is read: a full pipe would hold it up */
/* SIGTERM, and its exit code must be 0. */
void serve_stop(ServeRun *s);

/* A voice of a few steps with a vocoder nobody has trained: RUN, RUN/vocoder. */
void make_served_voice(Corpus *c, const char *run);

typedef struct ServeLab {
    Corpus *c;
    char run[256]; /* a served voice in it */
} ServeLab;
int serve_lab_open(ServeLab *l); /* for a group's setup: 0, or -1 */
int serve_lab_close(ServeLab *l);

/* What `synth` writes into a pipe. option: one of its own with its value, or NULL. */
Buf synth_sound(const char *run, const char *text, const char *option, const char *value);
double serve_metric(int port, const char *name); /* of GET /metrics */

#define LONG_TEXT "old hill. green hill. old stone, green stone. the hill is old. the stone is green. "

/* ---- the client ---- */

typedef struct Reply {
    int status; /* 0: the connection ended without an answer */
    Buf head, body;
    int whole; /* the body ended as its head says */
} Reply;

int dial(int port);                                       /* reading waits 30 s at most */
int send_bytes(int fd, const void *p, size_t n);          /* 0, or -1 when the server has hung up */
int send_text(int fd, const char *text);                  /* the same */
void read_reply(int fd, Reply *r);                        /* one answer; what follows it stays unread */
void read_reply_to(int fd, Reply *r, const char *method); /* the answer to HEAD has no body */
void reply_free(Reply *r);
json_t *reply_object(Reply *r, int status); /* of an answer with this status, which is freed */
const char *reply_header(const Reply *r, const char *name); /* valid until the next call; NULL: not there */

/* One request on a connection of its own. type: NULL for none. more: header lines with \r\n, may be NULL. */
void ask(Reply *r, int port, const char *method, const char *path, const char *more, const void *body,
         size_t size);
void post_json(Reply *r, int port, const char *json);  /* to /v1/audio/speech */
void send_speech(int fd, const char *text, int times); /* asks for a WAV of the text this many times over */

/* A text that is sent while it is being written, in chunks; its head is sent. query: "?voice=...", or "". */
int type_open(int port, const char *query, const char *more);
int type_bytes(int fd, const void *p, size_t n); /* one chunk */
int type_text(int fd, const char *text);
int type_end(int fd);

#endif
