/* random_text.h - texts of anything that Unicode has, between words that must be heard: for tests and
 * benchmarks of what becomes of a text before it is spoken. */
#ifndef MYXTTS_RANDOM_TEXT_H
#define MYXTTS_RANDOM_TEXT_H

#include <stddef.h>

#include "base/mem.h"
#include "base/rng.h"
#include "text/text.h"
#include "voice/voice_text.h"

typedef struct RandomItem {
    size_t at, size; /* bytes of the text */
    int has_sound;   /* a letter, a digit or a sign is in it */
} RandomItem;

/* "bravo X bravo Y ... bravo": the word, and items between. Zero-initialise, reuse. */
typedef struct RandomText {
    Buf text;
    Buf items; /* RandomItem */
    Buf heard; /* what the tokens of its parts say */
    size_t parts;
} RandomText;
void random_text_free(RandomText *t);

/* Of at most this many characters. lines 0: without newlines. */
void random_text_make(RandomText *t, Rng *r, size_t characters, int lines);

/* Reads it as a voice would, without speaking. 0 or an error. */
int random_text_read(RandomText *t, VoiceLosses *losses, TextEngine *engine, const VoiceLimits *limits,
                     Err *err);

typedef struct RandomFaults {
    size_t items, words; /* looked at */
    size_t lost_words;   /* of the words between which the items stand: a sentence was lost */
    size_t silent;       /* items with a sound that are neither heard nor named */
    size_t named;        /* items of which something is left out and named */
} RandomFaults;
/* Adds what became of it. The first item that is missing is put into why. */
void random_text_check(const RandomText *t, RandomFaults *f, const VoiceLosses *losses, char *why,
                       size_t cap);

#endif
