/* speech.h - the handler of /v1/audio/speech: a request becomes a talk (studio.h), its pieces become bytes of
 * a sound file or events, and go out while the rest is made. */
#ifndef MYXTTS_SPEECH_H
#define MYXTTS_SPEECH_H

#include "serve/http.h"

int speech_answer(HttpRequest *r, void *arg, Err *err);

#endif
