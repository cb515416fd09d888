/* follow.h - follows a text through hours of sound: which units are read, and from where to where.
 * A path goes through the sound frame by frame. It is either inside a unit, at one of its states, or
 * between two units, where silence and sound that no text explains are passed over. Units begin and end in
 * pauses and come in the order of the text; a path may leave some out. The best path is found by dynamic
 * programming over all units near those of the best paths so far; where none fits for a while, over the whole
 * text. Memory: 12 bytes for each state of the text, and what the best paths share. */
#ifndef MYXTTS_FOLLOW_H
#define MYXTTS_FOLLOW_H

#include <stdint.h>

#include "base/err.h"
#include "base/log.h"
#include "corpus/listening.h"
#include "corpus/phone_models.h"

/* The states of all units, one after the other: two for each sound, and between words a silence that may be
 * left out. */
typedef struct Chain {
    uint16_t *states;
    int64_t count;
    size_t cap;
    int64_t *first; /* [units + 1]; a unit without states is never found */
    int units;
} Chain;

/* A unit that was found; frames, end exclusive. */
typedef struct Found {
    int unit;
    int64_t begin, end;
} Found;

/* stray: the score (phone_models_score) above which a frame speaks for a text rather than for something else:
 * between those of right and of wrong texts. *found: malloc'd, in order. ERR_NOMEM. */
int follow(Found **found, int *count, const Listening *l, const PhoneModels *m, const Chain *chain,
           float stray, Log *log, Err *err);

#endif
