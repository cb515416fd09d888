/* voice_text.h - a text to be spoken -> its parts, one after the other: sentences, and where a sentence is
 * longer than the network can speak also pieces of it, cut at commas or between words.
 * Threads: one at a time for each TextEngine. */
#ifndef MYXTTS_VOICE_TEXT_H
#define MYXTTS_VOICE_TEXT_H

#include <stddef.h>

#include "base/err.h"
#include "base/log.h"
#include "text/text.h"
#include "voice/voice_network.h"

/* Text that is still to be spoken. */
typedef struct VoiceText {
    const char *p; /* UTF-8 */
    size_t n;
    const char *language; /* as LanguageWish has it */
} VoiceText;

/* Bytes of the first sentence of a text, or all of it; its mark counts when a blank or the end follows. */
size_t voice_text_sentence(const char *p, size_t n);

/* Reads the next part: 1 and *part with its tokens, but no mel; 0 at the end; or an error. column: the
 * language it is read in, "" where the engine decides. most: symbols that are spoken at once. Pieces that
 * cannot be spoken, and words too long for that, are warned of and counted in *left_out. */
int voice_text_next(VoiceText *text, VoicePart *part, TextEngine *engine, const char *column, int most,
                    int *left_out, Log *log, Err *err);

#endif
