/* wire.h - the TCP connections of a run: a star with rank 0 in the middle. Every other rank has a control
 * connection with rank 0 (heartbeats, faults) and, where no MPI moves data, one for each lane of collective
 * calls. wire_join makes them; a token keeps out other runs and strangers.
 *
 * All sockets are nonblocking and closed on exec. Threads: a connection belongs to one thread at a time. */
#ifndef MYXTTS_WIRE_H
#define MYXTTS_WIRE_H

#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"

enum { WIRE_LANES = 2, WIRE_ADDRESSES = 8 };

/* How the others reach a rank. */
typedef struct WireHost {
    char host[64];
    char address[64]; /* numeric, as rank 0 sees it; may be a loopback address if they share a host */
    int32_t port;     /* where its thread answers that it is alive; rank 0: none */
    int32_t pid;
} WireHost;

typedef struct Wire {
    int rank, count;
    int listener;          /* rank 0: closed after joining (-1) */
    int *control;          /* [count] rank 0: of each other rank; others have [0] alone. -1: none */
    int *lane[WIRE_LANES]; /* the same; NULL without data connections */
    WireHost *hosts;       /* [count] */
    char center[64];       /* the address by which this rank reached rank 0 */
} Wire;

/* What every rank needs to know in order to join. */
typedef struct WireMeeting {
    int rank, count;
    int lanes; /* data connections of each rank: 0 or WIRE_LANES */
    char host[64];
    char addresses[WIRE_ADDRESSES][256]; /* of rank 0: names or numbers, tried one after the other */
    int address_count;
    int port;
    unsigned char token[16];
    double seconds; /* how long to wait for all ranks */
} WireMeeting;

/* Listens on all addresses; *port 0 becomes a free one. */
int wire_listen(int *fd, int *port, Err *err);
/* Fills in this machine's addresses: first those of its networks, then loopback. */
void wire_own_addresses(WireMeeting *m);
/* Collective. listener: rank 0's, from wire_listen; taken over even by a failure; others -1. Rank 0's error
 * names the missing ranks; those that have arrived are told and fail with ERR_RANKS. */
int wire_join(Wire *w, int listener, const WireMeeting *m, Err *err);
void wire_close(Wire *w); /* a zeroed one is allowed */

/* ---- messages on control connections ---- */

typedef enum { WIRE_TABLE = 1, WIRE_BEAT, WIRE_FAULT, WIRE_BYE } WireKind;

/* A fault as it is sent: the whole message, which rank 0 makes for all. */
typedef struct WireFault {
    int32_t code;
    char msg[sizeof((Err *)0)->msg], hint[sizeof((Err *)0)->hint];
} WireFault;

enum { WIRE_MESSAGE_MOST = 16 << 20 };

/* Never waits: a message that does not fit into the socket's buffer is lost (-1). */
int wire_send(int fd, WireKind kind, const void *p, size_t bytes);
/* Appends received bytes to `in`. 0 when the other side has closed or the connection broke, else 1. */
int wire_receive(int fd, Buf *in);
/* The first whole message in `in`, from *at on, which moves past it: its kind and payload. 0: there is none.
 * -1: this is not a message. */
int wire_next(const Buf *in, size_t *at, const void **p, size_t *bytes);

/* ---- bulk data ---- */

typedef struct WireMove {
    int fd, out;  /* out: 1 sends, 0 receives */
    int rank;     /* whose connection it is, for messages */
    char *p;      /* moves on */
    size_t bytes; /* still to be moved */
} WireMove;

struct pollfd;

/* Moves all of them at once, waiting in poll. polls [n + 1] is working space. Ends early with ERR_RANKS when
 * `stop`, an eventfd, becomes readable, and with ERR_IO when a connection breaks. *moved is increased
 * whenever something has been moved. */
int wire_move(WireMove *m, int n, struct pollfd *polls, int stop, uint64_t *moved, Err *err);

/* ---- is a rank there? ---- */

/* Answers a rank that asks at the listener. */
void wire_answer(int listener);
/* 1 when any rank from `first` to `last` answers within `seconds`. Meanwhile this one answers too. */
int wire_any_alive(const Wire *w, int first, int last, double seconds);

#endif
