/* voice_language.h - the languages of a voice: which one a text is read in, and whether the voice was ever
 * trained on it. A file that does not say what it was trained on is assumed to speak the language of its
 * settings, and nothing is refused: it may know more. Threads: any. */
#ifndef MYXTTS_VOICE_LANGUAGE_H
#define MYXTTS_VOICE_LANGUAGE_H

#include <stddef.h>

#include "base/err.h"
#include "base/log.h"
#include "voice/checkpoint.h"

/* The text to speak, and its language. */
typedef struct LanguageWish {
    const char *language; /* a code or a name; NULL or "": what the settings say, or the text itself */
    int force;            /* speak also what was never learned */
    int goes_on;          /* a text before this one was spoken: its language is not looked for */
} LanguageWish;

/* ERR_LANGUAGE, with the languages there are: the voice was never trained on the one asked for, or more
 * than half of the letters are in scripts that none of its texts was in. text NULL: only the wish is looked
 * at. */
int voice_language_check(const Checkpoint *file, const LanguageWish *wish, const char *text, size_t n,
                         Log *log, Err *err);
/* ERR_LANGUAGE: no language is asked for, and the text is in one that the voice was never trained on, beyond
 * doubt (language_sure). */
int voice_language_of_text(const Checkpoint *file, const LanguageWish *wish, const char *text, size_t n,
                           Log *log, Err *err);
/* The language that a text is to be read in, for text_process; "": its settings decide. */
void voice_language_column(char out[LANGUAGE_MAX], const Checkpoint *file, const char *wished);
/* The number that the network has for a text that was read in this language, or for the nearest there is. */
int voice_language_number(const Checkpoint *file, const char *code);

#endif
