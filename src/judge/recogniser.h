/* recogniser.h - speech -> words by an independent listener (recogniser_kind.h): PocketSphinx.
 *
 * The library is loaded when a recogniser is opened and is not needed to build: the one named by
 * MYXTTS_POCKETSPHINX_LIBRARY, or libpocketsphinx.so.3 (0.8+5prealpha, Debian and Ubuntu) or .so.5. The
 * English model is the folder named by MYXTTS_POCKETSPHINX_MODEL, or share/pocketsphinx/en-us next to the
 * program's folder (a bundle), or pocketsphinx/model/en-us in /usr/share or /usr/local/share; it contains
 * en-us/, en-us.lm.bin and cmudict-en-us.dict.
 *
 * The library's default settings are used. It makes many errors (three in ten of flite's words,
 * bench/judge.c), so compare with what it recognises in recordings. The same sound gives the same words,
 * whatever came before.
 *
 * Threads: one at a time per Recogniser; several Recognisers may be used in parallel. */
#ifndef MYXTTS_RECOGNISER_H
#define MYXTTS_RECOGNISER_H

#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"

#define RECOGNISER_SECONDS 300 /* maximum length of a clip */

typedef struct Recogniser Recogniser;

/* language: "en" or "en-..."; there is no model for others. Takes about half a second and 90 MB. ERR_MISSING
 * if there is no model for the language, or the library or model is not installed (the hint says what to
 * install); ERR_FORMAT if the library cannot use the model; ERR_NOMEM. *r is then NULL. */
int recogniser_open(Recogniser **r, const char *language, Err *err);
void recogniser_close(Recogniser *r); /* NULL is allowed */

const char *recogniser_name(const Recogniser *r); /* "PocketSphinx 0.8+5prealpha, en-us" */

/* Replaces `heard` by the words recognised in samples [n] at `rate` Hz, in lower case, separated by single
 * spaces, NUL-terminated. The sound is resampled to 16 kHz, scaled to a peak of 0.7, and a quarter of a
 * second of silence is added before and after it. NaN and samples beyond 1e30 count as 0. If no sample is
 * above -100 dBFS, there are no words. ERR_DATA for an impossible rate and for clips longer than
 * RECOGNISER_SECONDS; ERR_NOMEM; ERR_WORKER if the library gives up, then also for all later clips. */
int recogniser_listen(Recogniser *r, Buf *heard, const float *samples, int64_t n, int rate, Err *err);

#endif
