/* ssml.h - W3C's Speech Synthesis Markup Language 1.1, the part that people use: speak, p, s, break,
 * emphasis, prosody, phoneme, say-as, sub, lang, voice, mark. Other elements are noted, and their text is
 * spoken. Threads: any. */
#ifndef MYXTTS_SSML_H
#define MYXTTS_SSML_H

#include <stddef.h>

#include "base/err.h"
#include "text/markup/format.h"
#include "text/markup/markup.h"

int ssml_is(const char *p, size_t n); /* 1: it begins with <speak, or with what may stand before it */
/* ERR_DATA: not well-formed, or too large; the sentence has line and column. */
int ssml_read(Markup *s, const char *p, size_t n, const TextFormatUse *use, Err *err);

#endif
