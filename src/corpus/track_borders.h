/* track_borders.h - where the sound of each tracked unit begins and ends exactly: at the edges of pauses, and
 * with the words that its models did not recognise (names read in another way than espeak-ng reads them). */
#ifndef MYXTTS_TRACK_BORDERS_H
#define MYXTTS_TRACK_BORDERS_H

#include "corpus/follow.h"
#include "corpus/listening.h"
#include "corpus/text_track.h"

/* units: in order of time. */
void track_borders_mend(TrackedUnit *units, int count, const Listening *l, const Chain *c);

/* Levels with sound in [begin, end). */
int64_t track_sound(const Listening *l, int64_t begin, int64_t end);

#endif
