/* manner.h - how a voice's prosody differs from the recordings' overall, and what makes up for it.
 * Durations and pitch are predicted as averages, so that sentences come out somewhat flat, and, where a small
 * corpus was learned by heart, too short. Both are measured at every validation, on what is predicted for
 * held-out texts; synthesis corrects them (synthesis.h). Pitch is compared with the recordings of these
 * texts. Durations are compared with how long their symbols usually last: a few recordings are read faster or
 * more slowly than the rest by more than the voice is wrong. */
#ifndef MYXTTS_MANNER_H
#define MYXTTS_MANNER_H

#include "model/synthesis.h"
#include "train/listen/alignment.h"
#include "train/step/engine.h"

/* Zeroed: none are known. */
typedef struct UsualLengths {
    double *frames, *count; /* [symbols] of the table */
    double all_frames, all;
} UsualLengths;

int usual_lengths_open(UsualLengths *u, int symbols, Err *err); /* zeroed and ERR_NOMEM after a failure */
void usual_lengths_close(UsualLengths *u);
/* An AlignmentSink of a clip; arg: the UsualLengths. */
int usual_lengths_add(void *arg, const ClipAlignment *clip, Err *err);

typedef struct MannerSums {
    const UsualLengths *usual; /* NULL, or none known: the recordings' own */
    int clips;
    double frames, predicted_frames;
    double pitch, predicted_pitch; /* squares of the distance from a sentence's mean, over its frames */
} MannerSums;

void manner_add(MannerSums *s, const EngineLook *clip); /* one without symbols adds nothing */
/* Sets pace and spread: 1 where too little was measured, and within what a working network can need. */
void manner_measure(const MannerSums *s, Manner *out);

#endif
