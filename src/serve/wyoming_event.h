/* wyoming_event.h - events of the Wyoming protocol as bytes: a line of JSON, {"type": ..., "data_length": N,
 * "payload_length": M}, then N bytes of JSON and M bytes of payload. Threads: one per reader. */
#ifndef MYXTTS_WYOMING_EVENT_H
#define MYXTTS_WYOMING_EVENT_H

#include <jansson.h>
#include <stddef.h>

#include "base/err.h"
#include "base/mem.h"

/* Bytes of what others send. A payload is read and thrown away: nothing that we understand has one. */
enum { WYOMING_LINE = 64 << 10, WYOMING_DATA = 1 << 20, WYOMING_PAYLOAD = 1 << 20 };

typedef struct WyomingReader { /* zero-initialise */
    Buf in;
    size_t at;            /* of it, what has been read */
    size_t scanned;       /* of the line that has not ended */
    json_t *head;         /* of the event that is being read */
    size_t data, payload; /* bytes of it that are still to come */
} WyomingReader;

typedef struct WyomingEvent {
    json_t *head; /* owns the rest */
    const char *type;
    json_t *data; /* an object, perhaps an empty one */
} WyomingEvent;

/* Bytes that came; ERR_NOMEM. */
int wyoming_reader_add(WyomingReader *r, const void *p, size_t n, Err *err);
/* 1 and *e, to be freed with wyoming_event_free; 0: more bytes are needed; ERR_DATA: no event, and nothing
 * behind it can be read. */
int wyoming_reader_next(WyomingReader *r, WyomingEvent *e, Err *err);
int wyoming_reader_is_empty(const WyomingReader *r); /* no event has begun */
void wyoming_reader_free(WyomingReader *r);
void wyoming_event_free(WyomingEvent *e);

/* A member of the data as a string; NULL: it is not there, or none. */
const char *wyoming_event_text(const WyomingEvent *e, const char *key);

/* Appends an event. Takes data, which is NULL if there is none. ERR_NOMEM. */
int wyoming_event_write(Buf *out, const char *type, json_t *data, const void *payload, size_t size, Err *err);

#endif
