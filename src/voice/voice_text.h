/* voice_text.h - a text to be spoken, plain or marked up -> its parts, one after the other: sentences, or
 * pieces of a sentence that is longer than what the network has learned from. It is cut after numbers and
 * abbreviations are written out, at marks of pauses, otherwise between words; a word that is too long for the
 * network's memory is cut between syllables. Only what has no sound is dropped; whatever should have one is
 * listed. Threads: one at a time for each TextEngine. */
#ifndef MYXTTS_VOICE_TEXT_H
#define MYXTTS_VOICE_TEXT_H

#include <stddef.h>

#include "base/err.h"
#include "base/log.h"
#include "text/markup/format.h"
#include "text/text.h"
#include "voice/voice_losses.h"
#include "voice/voice_network.h"

/* Text that is still to be spoken. The first three fields are set by the caller, the others zeroed, then
 * voice_text_mark_up where the text may be marked up; then voice_text_close. The caller's text must stay. */
typedef struct VoiceText {
    const char *p; /* [n] UTF-8; of a marked-up text its words */
    size_t n;
    const char *language; /* as LanguageWish has it */
    const char *source;   /* the marked-up text; NULL: it is plain */
    const Markup *markup; /* its words and how they are said; NULL: it is plain */
    Markup own;           /* the same, where it is freed with this */
    uint32_t control;     /* number of the next control */
    MarkupManner manner;  /* in force where the next part begins */
    double break_seconds; /* to come before it */
    int after_break;      /* the part before it has ended with one */
    VoiceWishes waiting;  /* marks that belong to its beginning */
    size_t taken;         /* bytes of p that have been read */
    size_t from;          /* of p, where the block begins */
    TextBlock block;      /* a paragraph, or a part of one, in words */
    size_t said;          /* bytes of the block that have been spoken */
} VoiceText;
void voice_text_close(VoiceText *t); /* a zeroed one is fine */
int voice_text_is_over(const VoiceText *t);

/* Reads the markup of a text that was just set. ERR_DATA: it is not well-formed; the sentence has line and
 * column. What has no effect is warned of. */
int voice_text_mark_up(VoiceText *t, TextFormat format, const TextFormatUse *use, Log *log, Err *err);
/* The text as it was given. */
const char *voice_text_source(const VoiceText *t);

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
int voice_text_losses(VoiceLosses *losses, const VoiceText *text, TextEngine *engine, const char *column,
                      Err *err);

#endif
