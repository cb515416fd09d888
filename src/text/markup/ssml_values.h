/* ssml_values.h - values of attributes of SSML, and texts of say-as in a form that is read as it is meant.
 * Private to ssml.c. Threads: any. */
#ifndef MYXTTS_SSML_VALUES_H
#define MYXTTS_SSML_VALUES_H

#include "text/markup/markup.h"

#define SSML_LONGEST_BREAK 60.0 /* seconds */
#define SSML_MOST_SILENCE 600.0 /* seconds of all breaks: a short document must not make hours of sound */

/* Each is 1, or 0 where the value has no meaning; m is then left as it is. */
int ssml_rate(MarkupManner *m, const char *value);     /* "slow", "120%", "+10%", "1.5" */
int ssml_pitch(MarkupManner *m, const char *value);    /* "high", "+2st", "-10%", "+5Hz", "200Hz" */
int ssml_volume(MarkupManner *m, const char *value);   /* "soft", "+6dB", "80", "-20%" */
int ssml_emphasis(MarkupManner *m, const char *value); /* "strong", "moderate", "reduced", "none" */
int ssml_time(double *seconds, const char *value);     /* "2s", "500ms" */
int ssml_strength(double *seconds, const char *value); /* "none" .. "x-strong" */

/* Appends the text as it is to be read. language: a primary code. phonemes: as TextFormatUse. 0: interpret_as
 * is not known, and the text stays as it is. */
int ssml_say_as(Buf *out, const char *text, size_t n, const char *interpret_as, const char *format,
                const char *language, int phonemes);

#endif
