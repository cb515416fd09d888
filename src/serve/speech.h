/* speech.h - the handler of /v1/audio/speech: a request becomes a text that is spoken (typed.h), its pieces
 * become bytes of a sound file or events, and go out while the rest is made, and while more of the text
 * comes. */
#ifndef MYXTTS_SPEECH_H
#define MYXTTS_SPEECH_H

#include "serve/http.h"

#define SPEECH_TEXT_TYPE "text/plain" /* of a body that is the text; in chunks it is a live request */

int speech_answer(HttpRequest *r, void *arg, Err *err);

#endif
