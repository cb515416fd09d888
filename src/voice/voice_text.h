/* voice_text.h - a text to be spoken -> its parts, one after the other: sentences, and where a sentence is
 * longer than what the network has learned from also pieces of it. It is cut when numbers and abbreviations
 * are in words, at marks of pauses, else between words; a word that is too long for the network's memory is
 * cut between syllables. Nothing is dropped but what has no sound; what should have one is listed.
 * Threads: one at a time for each TextEngine. */
#ifndef MYXTTS_VOICE_TEXT_H
#define MYXTTS_VOICE_TEXT_H

#include <stddef.h>

#include "base/err.h"
#include "base/log.h"
#include "text/text.h"
#include "voice/voice_losses.h"
#include "voice/voice_network.h"

/* Text that is still to be spoken. The first three fields are set by the caller, the others zeroed; then
 * voice_text_close. */
typedef struct VoiceText {
    const char *p; /* [n] UTF-8 */
    size_t n;
    const char *language; /* as LanguageWish has it */
    size_t taken;         /* bytes of p that have been read */
    size_t from;          /* of p, where the block begins */
    TextBlock block;      /* a paragraph, or a part of one, in words */
    size_t said;          /* bytes of the block that have been spoken */
} VoiceText;
void voice_text_close(VoiceText *t); /* a zeroed one is fine */
int voice_text_is_over(const VoiceText *t);

/* Bytes of the first sentence of a text, or all of it; its mark counts when a blank or the end follows. */
size_t voice_text_sentence(const char *p, size_t n);

/* What limits the symbols of a part. */
typedef struct VoiceLimits {
    int usual; /* longer sentences are cut where there is a place */
    int most;  /* nothing is longer */
} VoiceLimits;

/* Reads the next part: 1 and *part with its tokens, but no mel; 0 at the end; or an error. column: the
 * language it is read in, "" where the engine decides. What is left out is added to losses and warned of. */
int voice_text_next(VoiceText *text, VoicePart *part, TextEngine *engine, const char *column,
                    const VoiceLimits *limits, VoiceLosses *losses, Log *log, Err *err);

/* What will be left out of a text, without speaking it. */
int voice_text_losses(VoiceLosses *losses, const char *p, size_t n, TextEngine *engine, const char *column,
                      Err *err);

#endif
