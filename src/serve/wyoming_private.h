/* wyoming_private.h - what the files wyoming_*.c share: one connection's speech. */
#ifndef MYXTTS_WYOMING_PRIVATE_H
#define MYXTTS_WYOMING_PRIVATE_H

#include <jansson.h>
#include <stdint.h>

#include "base/mem.h"
#include "serve/typed.h"
#include "serve/wyoming.h"
#include "serve/wyoming_event.h"

enum { WYOMING_OUT = 256 << 10 }; /* bytes that may wait for a client to take them; then nothing is made */

/* What a connection says at the moment. */
typedef struct WyomingSpeech {
    Studio *studio;
    const WyomingOptions *o;
    void (*ready)(void *arg); /* of TalkOrder */
    void *arg;

    int active; /* begun, and not yet over */
    Typed typed;
    char *speaker;               /* NULL: the first */
    char language[LANGUAGE_MAX]; /* "": none was asked for */
    int begun;                   /* audio-start was sent */
    int64_t count;               /* samples sent */
    Buf samples;                 /* of the last piece, 16 bits */
} WyomingSpeech;

/* The data of `info`. NULL: no memory. */
json_t *wyoming_info(Studio *s, const WyomingOptions *o);

/* synthesize (streams 0) or synthesize-start. ERR_MISSING: no such voice. */
int wyoming_speech_begin(WyomingSpeech *s, const WyomingEvent *e, int streams, Err *err);
/* synthesize-chunk; ERR_DATA: the text is too long. */
int wyoming_speech_add(WyomingSpeech *s, const WyomingEvent *e, Err *err);
void wyoming_speech_complete(WyomingSpeech *s); /* synthesize-stop */
/* Appends the events that are ready to out, until it is full. At the end `active` is 0. */
int wyoming_speech_more(WyomingSpeech *s, Buf *out, Err *err);
void wyoming_speech_end(WyomingSpeech *s); /* at any moment */
void wyoming_speech_close(WyomingSpeech *s);

#endif
