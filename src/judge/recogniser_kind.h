/* recogniser_kind.h - a recogniser as a table of functions: what recogniser.c needs to know of it. Private to
 * src/judge. Another one is a file with such a table, a line here, and its place in recogniser.c. */
#ifndef MYXTTS_RECOGNISER_KIND_H
#define MYXTTS_RECOGNISER_KIND_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define RECOGNISER_RATE 16000                   /* of the samples that it hears */
#define RECOGNISER_MARGIN (RECOGNISER_RATE / 4) /* samples of silence before and after the clip */

typedef struct RecogniserKind {
    const char *title, *languages; /* for messages */
    int (*knows)(const char *code);
    int (*open)(void **own, Err *err); /* ERR_MISSING: library or model; *own is then NULL */
    void (*close)(void *own);
    const char *(*name)(const void *own);
    /* *words: those of samples [count], with blanks between them, its own until the next call; may be NULL.
     * ERR_WORKER when it gives up, then also for all later clips. */
    int (*listen)(void *own, const char **words, const int16_t *samples, size_t count, Err *err);
} RecogniserKind;

extern const RecogniserKind recogniser_sphinx;

#endif
