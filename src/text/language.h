/* language.h - which language a line is in, and which espeak-ng voice speaks it.
 * Codes are lower case with a dash: "en", "en-us", "pt-br". A language column decides; without one the method
 * of the configuration does: the column's default, a code in the id, or the text itself (script, then CLD2
 * among the supported ones). Threads: any. */
#ifndef MYXTTS_LANGUAGE_H
#define MYXTTS_LANGUAGE_H

#include "config/config.h"
#include "dataset/dataset.h"

#define LANGUAGE_MAX 16 /* bytes of a code with its NUL */

/* "EN_us" -> "en-us", "Persian" -> "fa". 0, or -1 when it cannot be a code. */
int language_normalise(char out[LANGUAGE_MAX], const char *code, size_t n);
/* "pt-br" -> "pt", "cmn" -> "zh": what numbers, abbreviations and lower-casing go by. */
void language_primary(char out[LANGUAGE_MAX], const char *code);
/* espeak-ng's name for a code: "en" -> "en-us", "zh-cn" -> "cmn-latn-pinyin"; a code without an entry stands
 * for itself. */
const char *language_voice(const char *code);

/* The language of a line; always leaves a code in out (the column's text cut short when it is no code at
 * all). */
void language_choose(char out[LANGUAGE_MAX], const Config *cfg, Str column, Str id, const char *text,
                     size_t n);
/* The parts of it. 1 and a code, or 0 when nothing was found. */
int language_from_id(char out[LANGUAGE_MAX], const StringList *supported, Str id);
int language_from_text(char out[LANGUAGE_MAX], const StringList *supported, const char *text, size_t n);

#endif
