/* speech_events.h - speech as server-sent events, one JSON object each; docs/SERVER.md has their members. */
#ifndef MYXTTS_SPEECH_EVENTS_H
#define MYXTTS_SPEECH_EVENTS_H

#include "base/mem.h"
#include "voice/voice.h"

/* Each appends one event. */
void event_audio(Buf *out, const void *bytes, size_t n);
/* The last one. losses: what was left out of the text. */
void event_done(Buf *out, int64_t symbols, int64_t frames, const VoiceLosses *losses, const char *text);
void event_mark(Buf *out, const char *name, double at); /* of SSML; at: seconds */
void event_error(Buf *out, const char *error);          /* the JSON text of an error's answer */
/* number: of the part, from 0. at: seconds where its sound begins. */
int event_part(Buf *out, const VoicePart *p, const Checkpoint *voice, int number, double at, Err *err);

#endif
