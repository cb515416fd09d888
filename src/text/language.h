/* language.h - which language a line is in, which espeak-ng voice speaks it, and the languages of a voice.
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
/* The language that a text is in beyond doubt, of those that the program knows (or that such a one is the
 * neighbour of): 1 and its code, else 0. Names, titles, loanwords and short texts are in none. n bytes of
 * UTF-8; ERR_NOMEM counts as doubt. */
int language_sure(char out[LANGUAGE_MAX], const char *text, size_t n);

/* Languages in a fixed order, which gives them their numbers. Plain data: it is copied and sent as it is. */
#define LANGUAGES_MOST 128
typedef struct LanguageList {
    int count;
    char codes[LANGUAGES_MOST][LANGUAGE_MAX];
} LanguageList;

/* The number of a code: of itself, or of another that the same espeak-ng voice speaks ("en", "en-us"); -1: it
 * is not there. */
int language_list_find(const LanguageList *l, const char *code);
/* The same for display: "en-gb" is happy with "en", and "en" with "en-gb". */
int language_list_near(const LanguageList *l, const char *code);
/* Its number, after it was added where it was missing; -1: the list is full. */
int language_list_add(LanguageList *l, const char *code);
void language_list_sort(LanguageList *l);
/* "de, en" */
void language_list_show(const LanguageList *l, char *out, size_t cap);

#endif
