/* wyoming.h - the Wyoming protocol on a TCP port, by which Home Assistant finds voices and lets them speak:
 * describe, synthesize, the streaming form (synthesize-start, -chunk, -stop), ping. Events are in
 * wyoming_event.h. Text that comes in chunks is spoken sentence by sentence, while more of it comes; the
 * sound is that of the whole text.
 *
 * An error is told by an error event, and ends the connection: clients wait for audio-stop, and only for
 * that. Threads: one of its own serves all connections. The functions here belong to one thread at a time. */
#ifndef MYXTTS_WYOMING_H
#define MYXTTS_WYOMING_H

#include <stddef.h>

#include "base/err.h"
#include "base/log.h"
#include "studio/studio.h"

typedef struct Wyoming Wyoming;

typedef struct WyomingOptions { /* what it points to must outlive the Wyoming */
    const char *listen;         /* "127.0.0.1:10200"; port 0: any that is free */
    int open;                   /* another address than loopback is allowed: there is no token */
    const char *const *names;   /* [studio_voice_count] what the voices are called */
    const char *version;        /* of the program */
    int max_connections;        /* more are turned away; 0: 64 */
    size_t max_text;            /* characters of a request; 0: 20,000 */
    double timeout;             /* seconds in which an event must come, and sound must be taken; 0: 60 */
    double stop_seconds;        /* how long wyoming_close waits for what is being spoken */
    Log *log;
} WyomingOptions;

/* Whether it may listen there, before voices are loaded. ERR_USAGE: no address, or one that others reach
 * without `open`. */
int wyoming_check(const WyomingOptions *o, Err *err);
/* As wyoming_check. ERR_IO: the port is taken. */
int wyoming_open(Wyoming **w, Studio *s, const WyomingOptions *o, Err *err);
const char *wyoming_address(const Wyoming *w); /* "127.0.0.1:10200": with the port in use */
int wyoming_port(const Wyoming *w);
/* Accepts nothing more and begins to end, without waiting. */
void wyoming_stop(Wyoming *w);
/* The same, waits, and frees. Before studio_close. NULL is fine. */
void wyoming_close(Wyoming *w);

#endif
