/* model_card.h - MODEL_CARD beside a voice that is passed on: what it was made of, what may be done with it,
 * and how it was judged, for people to read. Threads: any. */
#ifndef MYXTTS_MODEL_CARD_H
#define MYXTTS_MODEL_CARD_H

#include "voice/share/piper_voice.h"

/* Whose MODEL_CARD and tokens.txt lie in the folder of path. */
typedef enum { CARD_OF_NOBODY, CARD_OF_VOICE, CARD_OF_OTHERS } CardOwner;
CardOwner model_card_look(const PiperVoice *p, const char *path);

/* Writes MODEL_CARD into the folder of path. */
int model_card_write(const PiperVoice *p, const Checkpoint *vocoder, const char *path, Err *err);

#endif
