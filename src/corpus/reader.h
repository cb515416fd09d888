/* reader.h - espeak-ng reads the book: which sounds each unit consists of, how long each is, and, for the
 * first minutes, the speech itself. libespeak-ng has one state for a process and may break on a text, so it
 * works in child processes. A unit on which it dies or hangs has no sounds; the others are read by a new
 * child. Call from a process without other threads: it forks. */
#ifndef MYXTTS_READER_H
#define MYXTTS_READER_H

#include <stdint.h>

#include "base/err.h"
#include "base/log.h"
#include "corpus/book.h"

/* A sound as espeak-ng names it ("eI", "t"). Its pauses ("_:") are left out. */
typedef struct ReadSound {
    char name[8];         /* zero-filled */
    float begin, seconds; /* of the unit's speech */
    uint8_t first;        /* of a word */
} ReadSound;

/* What was read of one unit; valid during the call. speech is NULL where it was not asked for. */
typedef struct ReadUnit {
    const ReadSound *sounds;
    int count;
    const int16_t *speech;
    int64_t samples;
    int rate;
} ReadUnit;

/* Calls take for every unit of the book, in order; an answer other than 0 stops with it. voice: of espeak-ng
 * ("en-us"). spoken: units whose speech is handed over, the first ones. ERR_MISSING (no voice data, no such
 * voice), ERR_WORKER, ERR_NOMEM. */
int reader_run(const Book *book, const char *voice, int spoken,
               int (*take)(void *user, int unit, const ReadUnit *read, Err *err), void *user, Log *log,
               Err *err);

#endif
