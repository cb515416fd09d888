/* wyoming.h - the Wyoming protocol on a TCP port, with which Home Assistant finds voices and has them speak:
 * describe, synthesize, the streaming form (synthesize-start, -chunk, -stop), ping. Events are in
 * wyoming_event.h. Text that arrives in chunks is spoken sentence by sentence, while more of it arrives; the
 * result is the same as for the whole text.
 *
 * An error is reported by an error event and closes the connection, because clients wait only for audio-stop.
 * Threads: one thread serves all connections. The functions here belong to one thread at a time. */
#ifndef MYXTTS_WYOMING_H
#define MYXTTS_WYOMING_H

#include <stddef.h>

#include "base/err.h"
#include "base/log.h"
#include "studio/studio.h"

typedef struct Wyoming Wyoming;

typedef struct WyomingOptions { /* what it points to must outlive the Wyoming */
    const char *listen;         /* "127.0.0.1:10200"; port 0: any free port */
    int open;                   /* another address than loopback is allowed: there is no token */
    const char *const *names;   /* [studio_voice_count] the names of the voices */
    const char *version;        /* of the program */
    int max_connections;        /* maximum number of connections; 0: 64 */
    size_t max_text;            /* characters of a request; 0: 20,000 */
    double timeout;             /* seconds within which an event must arrive, or sound be taken; 0: 60 */
    double stop_seconds;        /* how long wyoming_close waits for requests in progress */
    Log *log;
} WyomingOptions;

/* Checks, before voices are loaded, whether it may listen there. ERR_USAGE: not an address, or one that other
 * machines can reach, without `open`. */
int wyoming_check(const WyomingOptions *o, Err *err);
/* As wyoming_check. ERR_IO: the port is taken. */
int wyoming_open(Wyoming **w, Studio *s, const WyomingOptions *o, Err *err);
const char *wyoming_address(const Wyoming *w); /* "127.0.0.1:10200": with the port in use */
int wyoming_port(const Wyoming *w);
/* Stops accepting connections and starts to shut down, without waiting. */
void wyoming_stop(Wyoming *w);
/* The same, waits, and frees. Before studio_close. NULL is fine. */
void wyoming_close(Wyoming *w);

#endif
