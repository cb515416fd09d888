/* producers.h - the kinds of cache that exist; prepare.c builds them in order. */
#ifndef MYXTTS_PRODUCERS_H
#define MYXTTS_PRODUCERS_H

#include "cache/builder/builder.h"

extern const Producer text_producer;  /* tokens of each line */
extern const Producer mel_producer;   /* log mel and pitch of each clip; statistics of the corpus */
extern const Producer audio_producer; /* samples of each clip */

#endif
