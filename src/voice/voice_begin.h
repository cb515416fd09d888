/* voice_begin.h - examines a text before a voice speaks its first word: its markup, its languages, its
 * speakers. Threads: any. */
#ifndef MYXTTS_VOICE_BEGIN_H
#define MYXTTS_VOICE_BEGIN_H

#include "base/err.h"
#include "base/log.h"
#include "voice/checkpoint.h"
#include "voice/voice_language.h"
#include "voice/voice_text.h"

/* t: p, n and language are set. ERR_DATA as voice_text_mark_up, ERR_LANGUAGE as voice_language_check, which
 * also judges the languages that the markup names, and voice_language_of_text, where neither it nor the wish
 * names any. A speaker who is not there is warned of, and the words are
 * spoken by the one of the whole text. */
int voice_begin(VoiceText *t, const Checkpoint *file, TextFormat format, const LanguageWish *wish, Log *log,
                Err *err);

#endif
