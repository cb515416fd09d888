/* speech_request.h - parses a client's request, JSON, text or a query string, into a checked struct. It does
 * not depend on HTTP or voices. Threads: any. */
#ifndef MYXTTS_SPEECH_REQUEST_H
#define MYXTTS_SPEECH_REQUEST_H

#include <stddef.h>

#include "audio/sound_format.h"
#include "base/mem.h"
#include "text/markup/format.h"

#define SPEECH_NOT_TEXT "the text is not UTF-8, or has a NUL"

typedef struct SpeechLimits {
    int text;      /* characters */
    size_t upload; /* bytes of a recording */
} SpeechLimits;

typedef struct SpeechRequest {
    Block memory;      /* of the strings */
    const char *input; /* NULL: it comes later */
    size_t input_size;
    const char *model, *voice, *language; /* NULL: not given */
    int force_language;
    SoundFormat format;
    int sample_rate; /* of the sound; 0: the voice's own */
    double speed, pitch;
    Buf recording;
    int has_recording;
    int events;  /* stream_format sse */
    int details; /* events for the parts of the text */
    TextFormat text_format;
} SpeechRequest;

/* The fault in a request, for the answer. */
typedef struct SpeechFault {
    int status;
    const char *param, *code; /* may be NULL */
    char message[900];
} SpeechFault;

/* 0, or -1 and the fault. Call speech_request_free either way. */
int speech_request_parse(SpeechRequest *q, const char *body, size_t size, const SpeechLimits *limits,
                         SpeechFault *fault);
/* The same from a query string; get returns NULL for a missing value. */
typedef const char *(*SpeechGet)(void *arg, const char *name);
int speech_request_query(SpeechRequest *q, SpeechGet get, void *arg, const SpeechLimits *limits,
                         SpeechFault *fault);
/* The same from a body of text and a query string without an input. text NULL: it comes later, and input
 * stays NULL. */
int speech_request_text(SpeechRequest *q, const char *text, size_t size, SpeechGet get, void *arg,
                        const SpeechLimits *limits, SpeechFault *fault);
/* Text as speech can be made of: UTF-8 without a NUL. Returns the length of its valid beginning. */
size_t speech_request_valid(const char *text, size_t size);
void speech_request_free(SpeechRequest *q);

#endif
