/* speakable.h - replacements for characters that espeak-ng does not read, or not sensibly: a character that
 * cannot be spoken is lost by itself, never with its sentence.
 *
 *     letter of another width or font, ligature, digit of any script    the plain one: 𝐀 A, ﬁ fi, ४ 4
 *     word in a script that the voice does not read                     transliterated by ICU: Привет, Privet
 *     one such letter; a sign without a word in the voice's language    its name: "greek beta", "black star"
 *     the same sign again and again                                     named once
 *     emoji                                                             its name, once for a row of the same
 *     flag of two letters                                               the country, in the voice's language
 *     control and format characters, ornaments (─, █, ====), lone
 *     accents, shades of skin                                           no sound
 *     private, unassigned; kanji in Japanese text                       left out, and named
 *
 * Only for speaking: a text that is learned from keeps what its speaker has read. Threads: one. */
#ifndef MYXTTS_SPEAKABLE_H
#define MYXTTS_SPEAKABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "text/phonemes/phonemes.h"

typedef struct Speakable Speakable;
Speakable *speakable_open(void); /* NULL if out of memory */
void speakable_close(Speakable *s);

typedef enum {
    SAY_IT,      /* as it stands */
    SAY_TEXT,    /* what out holds, as a part of the text */
    SAY_WORDS,   /* what out holds, as words of its own */
    SAY_NOTHING, /* it has no sound */
    SAY_LOST     /* it should have one: out holds why there is none */
} SayHow;

/* What to do with the character or word at `at` of normalised text; *size: its bytes. out is cleared first.
 * code: language of the text. p: with the voice that will speak; NULL: characters are the symbols.
 * cleaned 0: signs that a cleaner may know are left to it. */
SayHow speakable_judge(Speakable *s, Buf *out, size_t *size, const char *text, size_t n, size_t at,
                       const char *code, Phonemes *p, int cleaned);

/* 0: the espeak-ng voice would call it "Chinese letter" or the like: Han for all but the Chinese voices (no
 * kanji for the Japanese one), kana for all but Japanese, Hangul for all but Korean. */
int speakable_is_read(const char *voice, uint32_t code_point);
/* What to do about text that the voice cannot read, or NULL. */
const char *speakable_hint(const char *voice);

#endif
