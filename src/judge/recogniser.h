/* recogniser.h - what a stranger hears: speech to words by PocketSphinx, which nobody here trained.
 * Its library is loaded when a recogniser is opened and is not needed to build: libpocketsphinx.so.3
 * (0.8+5prealpha, Debian and Ubuntu) or .so.5, or the one that MYXTTS_POCKETSPHINX_LIBRARY names. The English
 * model is the folder MYXTTS_POCKETSPHINX_MODEL, or share/pocketsphinx/en-us beside the program's folder (a
 * bundle), or pocketsphinx/model/en-us in /usr/share or /usr/local/share; in it are en-us/, en-us.lm.bin and
 * cmudict-en-us.dict.
 * Settings are the library's own. Its floor is high: it gets three in ten of flite's words wrong
 * (bench/judge.c), so compare with what it hears in recordings.
 * Same sound, same words, whatever was heard before.
 * Threads: one at a time for each Recogniser; any number of Recognisers side by side. */
#ifndef MYXTTS_RECOGNISER_H
#define MYXTTS_RECOGNISER_H

#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"

#define RECOGNISER_SECONDS 300 /* the longest clip */

typedef struct Recogniser Recogniser;

/* language: "en" or "en-..."; no other has a model. ERR_MISSING when the language, the library or the model
 * is not there, with what to install; ERR_FORMAT when the library cannot use the model; ERR_NOMEM. *r is NULL
 * then. It takes about half a second and 90 MB. */
int recogniser_open(Recogniser **r, const char *language, Err *err);
void recogniser_close(Recogniser *r); /* NULL is fine */

const char *recogniser_name(const Recogniser *r); /* "PocketSphinx 0.8+5prealpha, en-us" */

/* What is heard in samples [n] at rate Hz: words in lower case with one blank between them, in heard, which
 * is cleared first and ends with NUL. The sound is resampled to 16 kHz, its peak set to 0.7 and a quarter of
 * a second of silence put before and behind it. No samples, or none above -100 dBFS: no words. Samples that
 * are no number, or beyond 1e30, count as 0. ERR_DATA for a rate that is none and for clips longer than
 * RECOGNISER_SECONDS; ERR_NOMEM; ERR_WORKER when the library gives up, and for every clip after that. */
int recogniser_listen(Recogniser *r, Buf *heard, const float *samples, int64_t n, int rate, Err *err);

#endif
