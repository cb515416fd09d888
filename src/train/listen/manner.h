/* manner.h - how a voice's prosody differs from the recordings' on the whole, and what makes up for it.
 * Durations and pitch are predicted as averages, so that sentences come out somewhat flat, and, where a small
 * corpus was learned by heart, too short. Both are measured on held-out clips at every validation; synthesis
 * corrects them (synthesis.h). */
#ifndef MYXTTS_MANNER_H
#define MYXTTS_MANNER_H

#include "train/step/engine.h"

typedef struct MannerSums {
    int clips;
    double frames, predicted_frames;
    double pitch, predicted_pitch; /* squares of the distance from a sentence's mean, over its frames */
} MannerSums;

void manner_add(MannerSums *s, const EngineLook *clip); /* one without symbols adds nothing */
/* Factors: 1 where too little was measured, and within what a working network can need. */
void manner_measure(const MannerSums *s, double *pace, double *spread);

#endif
