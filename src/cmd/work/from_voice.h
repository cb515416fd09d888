/* from_voice.h - `train --from-voice RUN`: the mels that the voice of RUN makes of the clips, before a
 * vocoder is trained on them. */
#ifndef MYXTTS_CMD_FROM_VOICE_H
#define MYXTTS_CMD_FROM_VOICE_H

#include "base/err.h"
#include "base/hash.h"
#include "base/log.h"
#include "config/config.h"

/* Checks that from_voice holds a voice with the mels of cfg, prepares the texts and mels it needs, and brings
 * the store of its mels up to date. *settings: those of the store, for corpus_source_follow. ERR_CONFIG when
 * the mels are not the same, with both values. Call before any thread is started. */
int from_voice_make(Hash128 *settings, const Config *cfg, Log *log, Err *err);

#endif
