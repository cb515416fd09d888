/* language.h - which language a line is in, and which espeak-ng voice speaks it.
 * Codes are lower case with a dash: "en", "en-us", "pt-br". The language column decides. Without one, the
 * setting language_detection_method does: the setting `language`, a code in the id, or the text itself
 * (script, then CLD2 among the supported languages). Threads: any. */
#ifndef MYXTTS_LANGUAGE_H
#define MYXTTS_LANGUAGE_H

#include "config/config.h"
#include "dataset/dataset.h"

#define LANGUAGE_MAX 16 /* bytes of a code with its NUL */

/* "EN_us" -> "en-us", "Persian" -> "fa". Returns 0, or -1 if it cannot be a code. */
int language_normalise(char out[LANGUAGE_MAX], const char *code, size_t n);
/* "pt-br" -> "pt", "cmn" -> "zh". Numbers, abbreviations and lower case depend on the primary code only. */
void language_primary(char out[LANGUAGE_MAX], const char *code);
/* The name of the espeak-ng voice for a code: "en" -> "en-us", "zh-cn" -> "cmn-latn-pinyin". If there is no
 * entry for it, the code itself. */
const char *language_voice(const char *code);

/* Determines the language of a line. out always gets a code; if the column holds none, its
 * text, cut short. */
void language_choose(char out[LANGUAGE_MAX], const Config *cfg, Str column, Str id, const char *text,
                     size_t n);
/* Used by language_choose. Return 1 and a code, or 0 if nothing was found. */
int language_from_id(char out[LANGUAGE_MAX], const StringList *supported, Str id);
int language_from_text(char out[LANGUAGE_MAX], const StringList *supported, const char *text, size_t n);

#endif
