/* format.h - how a text to be spoken is written: the table of formats, and how the format of a text is
 * recognised. A format is one row of it. Threads: any. */
#ifndef MYXTTS_TEXT_FORMAT_H
#define MYXTTS_TEXT_FORMAT_H

#include <stddef.h>

#include "base/err.h"
#include "text/markup/markup.h"

typedef enum {
    TEXT_FORMAT_AUTO,
    TEXT_FORMAT_PLAIN,
    TEXT_FORMAT_SSML,
    TEXT_FORMAT_HTML,
    TEXT_FORMAT_MARKDOWN,
    TEXT_FORMATS
} TextFormat;

#define TEXT_FORMAT_NAMES "auto, plain, markdown, html or ssml" /* for messages and help */

int text_format_find(TextFormat *f, const char *name); /* 0, or -1: unknown */
/* What AUTO means for a text; any other is itself. */
TextFormat text_format_of(TextFormat f, const char *p, size_t n);

typedef struct TextFormatUse {
    int phonemes;         /* the voice speaks IPA: pronunciations in the text can be used */
    const char *language; /* that the text is read in where it says nothing else; NULL: not known */
} TextFormatUse;
/* 1 and *s: the text is marked up; 0: it is plain, and *s is left as it is. ERR_DATA has line and column. */
int text_format_read(Markup *s, TextFormat f, const char *p, size_t n, const TextFormatUse *use, Err *err);

#endif
