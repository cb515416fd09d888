/* text_track.h - the text of a recording laid along its sound: espeak-ng reads it, the text is followed with
 * espeak-ng's sounds, the reader's own sounds are learned from what fits, and the text is followed again.
 * How well a unit must fit is found from texts that are certainly wrong: those of other units. */
#ifndef MYXTTS_TEXT_TRACK_H
#define MYXTTS_TEXT_TRACK_H

#include "base/err.h"
#include "base/log.h"
#include "corpus/book.h"
#include "corpus/fit.h"
#include "corpus/listening.h"

typedef struct TrackedUnit {
    int unit;           /* of the book */
    int64_t begin, end; /* levels (10 ms) of its sound, end exclusive */
    float score, worst; /* see Fit */
    int fits;           /* it is believed */
} TrackedUnit;

typedef struct TextTrack {
    TrackedUnit *units; /* in order of text and time */
    int count;
    uint8_t *silent;           /* [units of the book]: espeak-ng reads nothing there */
    float right, wrong;        /* mean score of the units, and of wrong texts in their places */
    float wrong_spread, limit; /* the units that score above limit fit */
    int believed; /* right and wrong texts can be told apart; otherwise this is the text of something else */
} TextTrack;

/* voice: of espeak-ng. Errors of reader_run; ERR_NOMEM. Finding nothing is not an error. Call without other
 * threads: it forks. */
int text_track_make(TextTrack *t, const Listening *l, const Book *book, const char *voice, Log *log,
                    Err *err);
void text_track_close(TextTrack *t);

#endif
